/* Types of BTF as C declarations: for -lv 'struct path'.
 *
 * C writes a declaration around its name: pointers before it, arrays and parameters behind it. So it is put together from the inside: each
 * level of the type adds to the text of what is declared, and the innermost type goes in front of it all. */
#include "kern/btf.h"
#include "kern/btfraw.h"

#define NEST_MAX 32

static void put_body(const struct btfraw *b, const struct btf_type *t, u32 indent, u32 depth, struct sbuf *out);

static const char *name_of(const struct btfraw *b, const struct btf_type *t)
{
	return btfraw_str(b, t->name_off);
}

static const char *keyword_of(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
		return "struct ";
	case BTF_KIND_UNION:
		return "union ";
	case BTF_KIND_ENUM: case BTF_KIND_ENUM64:
		return "enum ";
	case BTF_KIND_FWD:
		return btf_kflag(t) ? "union " : "struct ";
	case BTF_KIND_UNKN: case BTF_KIND_INT: case BTF_KIND_PTR: case BTF_KIND_ARRAY: case BTF_KIND_TYPEDEF: case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST: case BTF_KIND_RESTRICT: case BTF_KIND_FUNC: case BTF_KIND_FUNC_PROTO: case BTF_KIND_VAR: case BTF_KIND_DATASEC:
	case BTF_KIND_FLOAT: case BTF_KIND_DECL_TAG: case BTF_KIND_TYPE_TAG: case BTF_KIND_CNT:
		return "";
	}
	return "";
}

/* Puts text in front of what is there. */
static void prepend(struct sbuf *s, const char *text)
{
	struct sbuf whole = {};

	sbuf_puts(&whole, text);
	sbuf_add(&whole, sbuf_str(s), s->len);
	sbuf_release(s);
	*s = whole;
}

static void put_decl(const struct btfraw *b, u32 id, const char *name, u32 indent, u32 depth, struct sbuf *out);

static void put_params(const struct btfraw *b, const struct btf_type *t, u32 depth, struct sbuf *out)
{
	const struct btf_param *p = (const void *)(t + 1);

	sbuf_putc(out, '(');
	for (u32 i = 0; i < btf_vlen(t); i++) {
		sbuf_puts(out, i ? ", " : "");
		if (!p[i].type)
			sbuf_puts(out, "...");
		else
			put_decl(b, p[i].type, btfraw_str(b, p[i].name_off), 0, depth + 1, out);
	}
	sbuf_puts(out, btf_vlen(t) ? ")" : "void)");
}

static bool needs_parens(const struct btfraw *b, u32 id)
{
	const struct btf_type *t = btfraw_type(b, id);

	return t && (btf_kind(t) == BTF_KIND_ARRAY || btf_kind(t) == BTF_KIND_FUNC_PROTO);
}

static const char *word_of(const struct btf_type *t)
{
	return btf_kind(t) == BTF_KIND_CONST ? "const" : btf_kind(t) == BTF_KIND_VOLATILE ? "volatile" : "restrict";
}

/* One declaration, without its `;`. */
static void put_decl(const struct btfraw *b, u32 id, const char *name, u32 indent, u32 depth, struct sbuf *out)
{
	struct sbuf what = {}, words = {}, params = {};
	const struct btf_type *t = NULL;

	sbuf_puts(&what, name);
	for (u32 level = 0; level < 64; level++) {
		t = btfraw_type(b, id);
		if (!t || depth > NEST_MAX)
			break;
		switch (btf_kind(t)) {
		case BTF_KIND_PTR:
			prepend(&what, words.len ? " " : "");
			prepend(&what, sbuf_str(&words));
			sbuf_reset(&words);
			prepend(&what, "*");
			if (needs_parens(b, t->type)) {
				prepend(&what, "(");
				sbuf_putc(&what, ')');
			}
			break;
		case BTF_KIND_ARRAY:
			sbuf_printf(&what, "[%u]", ((const struct btf_array *)(t + 1))->nelems);
			id = ((const struct btf_array *)(t + 1))->type;
			continue;
		case BTF_KIND_FUNC_PROTO:
			sbuf_reset(&params);
			put_params(b, t, depth, &params);
			sbuf_puts(&what, sbuf_str(&params));
			break;
		case BTF_KIND_CONST: case BTF_KIND_VOLATILE: case BTF_KIND_RESTRICT:
			sbuf_printf(&words, "%s%s", words.len ? " " : "", word_of(t));
			break;
		case BTF_KIND_TYPE_TAG: case BTF_KIND_DECL_TAG:
			break;
		case BTF_KIND_UNKN: case BTF_KIND_INT: case BTF_KIND_STRUCT: case BTF_KIND_UNION: case BTF_KIND_ENUM: case BTF_KIND_FWD: case BTF_KIND_TYPEDEF:
		case BTF_KIND_FUNC: case BTF_KIND_VAR: case BTF_KIND_DATASEC: case BTF_KIND_FLOAT: case BTF_KIND_ENUM64: case BTF_KIND_CNT:
			goto named;
		}
		id = t->type;
	}
named:
	if (words.len)
		sbuf_printf(out, "%s ", sbuf_str(&words));
	if (!t) {
		sbuf_puts(out, "void");
	} else {
		sbuf_puts(out, keyword_of(t));
		if (*name_of(b, t))
			sbuf_puts(out, name_of(b, t));
		else if (depth <= NEST_MAX)
			put_body(b, t, indent, depth + 1, out);
	}
	if (what.len)
		sbuf_printf(out, " %s", sbuf_str(&what));
	sbuf_release(&what);
	sbuf_release(&words);
	sbuf_release(&params);
}

static void put_members(const struct btfraw *b, const struct btf_type *t, u32 indent, u32 depth, struct sbuf *out)
{
	const struct btf_member *m = (const void *)(t + 1);

	for (u32 i = 0; i < btf_vlen(t); i++) {
		u32 bits = btf_kflag(t) ? m[i].offset >> 24 : 0;

		sbuf_fill(out, '\t', indent);
		put_decl(b, m[i].type, btfraw_str(b, m[i].name_off), indent, depth, out);
		if (bits)
			sbuf_printf(out, ": %u", bits);
		sbuf_puts(out, ";\n");
	}
}

static void put_consts(const struct btfraw *b, const struct btf_type *t, u32 indent, struct sbuf *out)
{
	for (u32 i = 0; i < btf_vlen(t); i++) {
		sbuf_fill(out, '\t', indent);
		if (btf_kind(t) == BTF_KIND_ENUM) {
			const struct btf_enum *e = (const struct btf_enum *)(t + 1) + i;

			if (btf_kflag(t))
				sbuf_printf(out, "%s = %d,\n", btfraw_str(b, e->name_off), e->val);
			else
				sbuf_printf(out, "%s = %u,\n", btfraw_str(b, e->name_off), (u32)e->val);
		} else {
			const struct btf_enum64 *e = (const struct btf_enum64 *)(t + 1) + i;
			u64 v = (u64)e->hi << 32 | e->lo;

			if (btf_kflag(t))
				sbuf_printf(out, "%s = %lld,\n", btfraw_str(b, e->name_off), (long long)v);
			else
				sbuf_printf(out, "%s = %llu,\n", btfraw_str(b, e->name_off), (unsigned long long)v);
		}
	}
}

/* "{ … }" behind the name, the members set in by one more. */
static void put_body(const struct btfraw *b, const struct btf_type *t, u32 indent, u32 depth, struct sbuf *out)
{
	sbuf_puts(out, "{\n");
	if (btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION)
		put_members(b, t, indent + 1, depth, out);
	else if (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64)
		put_consts(b, t, indent + 1, out);
	sbuf_fill(out, '\t', indent);
	sbuf_putc(out, '}');
}

void btfraw_print_c(const struct btfraw *b, u32 id, struct sbuf *out)
{
	const struct btf_type *t = btfraw_type(b, id);

	if (!t)
		return;
	sbuf_printf(out, "%s%s%s", keyword_of(t), name_of(b, t), *name_of(b, t) ? " " : "");
	put_body(b, t, 0, 0, out);
	sbuf_puts(out, ";\n");
}

static void put_line(const struct btfraw *b, u32 id, const char *name, struct sbuf *out)
{
	sbuf_puts(out, "    ");
	put_decl(b, id, "", 0, 0, out);
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
