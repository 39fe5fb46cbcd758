/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of BTF as C definitions: for -lv 'struct path'. How a declaration is spelt is types/btfc's; the bodies are here. */
#include "types/btf.h"
#include "types/btfc.h"

/* What is left to spell out of structs in structs. They share members in a file that is broken: without a limit, one of 32 levels
 * would be printed two to the power of 32 times. */
struct nest {
	u32 levels, members;
};

static const struct nest nest_max = { 32, 20000 };

static void put_body(const struct btfraw *b, const struct btf_type *t, u32 indent, struct nest *n, struct sbuf *out);

/* One declaration, without its `;`. What has no name is spelt out. */
static void put_decl(const struct btfraw *b, u32 id, const char *name, u32 indent, struct nest *n, struct sbuf *out)
{
	u32 inner = btfc_inner_anon(b, id);
	size_t from = out->len;
	struct sbuf body = {};
	char *hole;

	btfc_declare(b, id, name, out);
	hole = inner && n->levels && out->s ? strstr(out->s + from, "{...}") : NULL;
	if (!hole || btf_vlen(btfraw_type(b, inner)) >= n->members)
		return;
	/* `struct {...} *x[2]`: the body takes the place of the dots. */
	n->levels--;
	n->members -= 1 + btf_vlen(btfraw_type(b, inner));
	put_body(b, btfraw_type(b, inner), indent, n, &body);
	n->levels++;
	sbuf_puts(&body, hole + strlen("{...}"));
	out->len = hole - out->s;
	sbuf_add(out, sbuf_str(&body), body.len);
	sbuf_release(&body);
}

static void put_members(const struct btfraw *b, const struct btf_type *t, u32 indent, struct nest *n, struct sbuf *out)
{
	const struct btf_member *m = btfc_members(t);

	for (u32 i = 0; i < btf_vlen(t); i++) {
		u32 bits = btf_member_bit_sz(t, &m[i]);

		sbuf_fill(out, '\t', indent);
		put_decl(b, m[i].type, btfraw_str(b, m[i].name_off), indent, n, out);
		if (bits)
			sbuf_printf(out, ": %u", bits);
		sbuf_puts(out, ";\n");
	}
}

static void put_consts(const struct btfraw *b, const struct btf_type *t, u32 indent, struct sbuf *out)
{
	for (u32 i = 0; i < btf_vlen(t); i++) {
		s64 v;

		sbuf_fill(out, '\t', indent);
		sbuf_printf(out, "%s = ", btfc_enumerator(b, t, i, &v));
		btfc_enum_value(t, v, out);
		sbuf_puts(out, ",\n");
	}
}

/* "{ … }" behind the name, the members set in by one more. */
static void put_body(const struct btfraw *b, const struct btf_type *t, u32 indent, struct nest *n, struct sbuf *out)
{
	sbuf_puts(out, "{\n");
	if (btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION)
		put_members(b, t, indent + 1, n, out);
	else if (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64)
		put_consts(b, t, indent + 1, out);
	sbuf_fill(out, '\t', indent);
	sbuf_putc(out, '}');
}

void btfraw_print_c(const struct btfraw *b, u32 id, struct sbuf *out)
{
	const struct btf_type *t = btfraw_type(b, id);
	struct nest n = nest_max;
	const char *name;

	if (!t || !btfc_keyword(t))
		return;
	name = btfraw_str(b, t->name_off);
	sbuf_printf(out, "%s %s%s", btfc_keyword(t), name, *name ? " " : "");
	put_body(b, t, 0, &n, out);
	sbuf_puts(out, ";\n");
}

static void put_line(const struct btfraw *b, u32 id, const char *name, struct sbuf *out)
{
	sbuf_puts(out, "    ");
	btfc_name(b, id, out);
	sbuf_printf(out, " %s\n", name);
}

void btf_func_print(const struct btf_func *f, bool is_ret, struct sbuf *out)
{
	const struct btfraw *b = f->raw;
	const struct btf_type *t = btfraw_type(b, f->proto);
	const struct btf_param *p = (const void *)(t + 1);

	if (is_ret && t->type)
		put_line(b, t->type, "retval", out);
	for (u32 i = 0; !is_ret && i < f->param_cnt; i++)
		put_line(b, p[f->first + i].type, f->params[i].name, out);
}
