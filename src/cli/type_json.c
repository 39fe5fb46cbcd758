#include "cli/type.h"
#include "out/sink.h"

static void text(struct sbuf *out, const char *label, const char *s)
{
	sbuf_printf(out, "\"%s\": ", label);
	json_string(out, s, strlen(s));
}

static void body(struct type_view *v, u32 id, struct sbuf *out, const struct ctype_chain *chain);

static void member(struct type_view *v, const struct layout_member *m, struct sbuf *out, const struct ctype_chain *chain)
{
	u32 inner = ctype_inner_anon(v->b, m->type);
	const struct btf_type *t;
	struct sbuf type = {};

	if (!inner && v->expand) {
		inner = ctype_strip(v->b, m->type, true);
		t = btfraw_type(v->b, inner);
		if (!t || (btf_kind(t) != BTF_KIND_STRUCT && btf_kind(t) != BTF_KIND_UNION))
			inner = 0;
	}
	sbuf_putc(out, '{');
	text(out, "name", m->name);
	ctype_name(v->b, m->type, &type);
	sbuf_puts(out, ", ");
	text(out, "type", sbuf_str(&type));
	sbuf_release(&type);
	sbuf_printf(out, ", \"offset\": %u, \"size\": %u", m->off, m->sz);
	if (m->bit_sz)
		sbuf_printf(out, ", \"bit_offset\": %u, \"bits\": %u", m->bit_off - 8 * m->off, m->bit_sz);
	if (m->hole)
		sbuf_printf(out, ", \"hole\": %u", m->hole);
	if (m->bit_hole)
		sbuf_printf(out, ", \"bit_hole\": %u", m->bit_hole);
	if (m->inner_padding)
		sbuf_printf(out, ", \"inner_padding\": %u", m->inner_padding);
	if (m->align)
		sbuf_printf(out, ", \"aligned\": %u", m->align);
	if (inner && !ctype_chain_has(chain, inner)) {
		sbuf_puts(out, ", ");
		body(v, inner, out, chain);
	}
	sbuf_putc(out, '}');
}

/* What a struct, union or enum has inside, as fields of an object that the caller opened. */
static void body(struct type_view *v, u32 id, struct sbuf *out, const struct ctype_chain *chain)
{
	const struct btf_type *t = btfraw_type(v->b, id);
	struct ctype_chain here = { id, chain };
	struct layout l = {};

	if (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64) {
		sbuf_puts(out, "\"values\": [");
		for (u32 i = 0; i < btf_vlen(t); i++) {
			s64 value;

			sbuf_puts(out, i ? ", {" : "{");
			text(out, "name", ctype_enumerator(v->b, t, i, &value));
			sbuf_puts(out, ", \"value\": ");
			ctype_enum_value(t, value, out);
			sbuf_putc(out, '}');
		}
		sbuf_putc(out, ']');
		return;
	}
	layout_get(&l, &v->aligns, id, v->cacheline);
	sbuf_puts(out, "\"members\": [");
	for (u32 i = 0; i < l.cnt; i++) {
		if (i)
			sbuf_puts(out, ", ");
		member(v, &l.at[i], out, &here);
	}
	sbuf_putc(out, ']');
	if (!l.is_union)
		sbuf_printf(out, ", \"cachelines\": %u, \"holes\": %u, \"hole_bytes\": %u, \"bit_holes\": %u, \"padding\": %u, \"packed\": %s",
			    (u32)(((u64)l.sz + v->cacheline - 1) / v->cacheline), l.hole_cnt, l.hole_sum, l.bit_hole_cnt, l.padding,
			    l.is_packed ? "true" : "false");
	layout_release(&l);
}

void type_json(struct type_view *v, u32 id, struct sbuf *out)
{
	const struct btf_type *t = btfraw_type(v->b, id);
	const char *word = ctype_keyword(t), *file;
	u32 line;

	sbuf_printf(out, "{\"type\": \"%s\", ", word ? word : btf_kind(t) == BTF_KIND_TYPEDEF ? "typedef" : "base");
	text(out, "name", btfraw_str(v->b, t->name_off));
	sbuf_printf(out, ", \"size\": %u", ctype_size(v->b, id));
	if (type_place(v, id, &file, &line)) {
		sbuf_puts(out, ", ");
		text(out, "file", file);
		sbuf_printf(out, ", \"line\": %u", line);
	}
	if (word && btf_kind(t) != BTF_KIND_FWD) {
		sbuf_puts(out, ", ");
		body(v, id, out, NULL);
	} else if (btf_kind(t) == BTF_KIND_TYPEDEF) {
		u32 inner = ctype_inner_anon(v->b, t->type);
		struct sbuf to = {};

		ctype_name(v->b, t->type, &to);
		sbuf_puts(out, ", ");
		text(out, "of", sbuf_str(&to));
		sbuf_release(&to);
		if (inner && inner == t->type) {
			sbuf_puts(out, ", ");
			body(v, inner, out, NULL);
		}
	}
	sbuf_puts(out, "}\n");
}
