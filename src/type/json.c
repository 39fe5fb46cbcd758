/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/json.h"
#include "type/view.h"

static void put_u32(struct json *j, const char *key, u32 v)
{
	json_put_int(j, key, v, false);
}

static void put_type_name(struct json *j, const char *key, const struct btfraw *b, u32 id)
{
	struct sbuf name = {};

	btfc_name(b, id, &name);
	json_put_text(j, key, sbuf_str(&name));
	sbuf_release(&name);
}

static void body(struct type_view *v, u32 id, struct json *j, const struct btfc_chain *chain);

static void member(struct type_view *v, const struct layout_member *m, struct json *j, const struct btfc_chain *chain)
{
	u32 inner = btfc_inner_anon(v->b, m->type);
	const struct btf_type *t;

	if (!inner && v->expand) {
		inner = btfc_strip(v->b, m->type, true);
		t = btfraw_type(v->b, inner);
		if (!t || (btf_kind(t) != BTF_KIND_STRUCT && btf_kind(t) != BTF_KIND_UNION))
			inner = 0;
	}
	json_open_object(j, NULL);
	json_put_text(j, "name", m->name);
	put_type_name(j, "type", v->b, m->type);
	put_u32(j, "offset", m->off);
	put_u32(j, "size", m->sz);
	if (m->bit_sz) {
		put_u32(j, "bit_offset", m->bit_off - 8 * m->off);
		put_u32(j, "bits", m->bit_sz);
	}
	if (m->hole)
		put_u32(j, "hole", m->hole);
	if (m->bit_hole)
		put_u32(j, "bit_hole", m->bit_hole);
	if (m->inner_padding)
		put_u32(j, "inner_padding", m->inner_padding);
	if (m->align)
		put_u32(j, "aligned", m->align);
	if (inner && !btfc_chain_has(chain, inner))
		body(v, inner, j, chain);
	json_close_object(j);
}

static void values(struct type_view *v, const struct btf_type *t, struct json *j)
{
	json_open_array(j, "values");
	for (u32 i = 0; i < btf_vlen(t); i++) {
		s64 value;

		json_open_object(j, NULL);
		json_put_text(j, "name", btfc_enumerator(v->b, t, i, &value));
		btfc_enum_value(t, value, json_value(j, "value"));
		json_close_object(j);
	}
	json_close_array(j);
}

/* What a struct, union or enum has inside, as fields of an object that the caller opened. */
static void body(struct type_view *v, u32 id, struct json *j, const struct btfc_chain *chain)
{
	const struct btf_type *t = btfraw_type(v->b, id);
	struct btfc_chain here = { id, chain };
	struct layout l = {};

	if (btf_kind(t) == BTF_KIND_ENUM || btf_kind(t) == BTF_KIND_ENUM64) {
		values(v, t, j);
		return;
	}
	layout_get(&l, &v->aligns, id, v->cacheline);
	json_open_array(j, "members");
	for (u32 i = 0; i < l.cnt; i++)
		member(v, &l.at[i], j, &here);
	json_close_array(j);
	if (!l.is_union) {
		put_u32(j, "cachelines", ((u64)l.sz + v->cacheline - 1) / v->cacheline);
		put_u32(j, "holes", l.hole_cnt);
		put_u32(j, "hole_bytes", l.hole_sum);
		put_u32(j, "bit_holes", l.bit_hole_cnt);
		put_u32(j, "padding", l.padding);
		json_put_bool(j, "packed", l.is_packed);
	}
	layout_release(&l);
}

void type_json(struct type_view *v, u32 id, struct sbuf *out)
{
	const struct btf_type *t = btfraw_type(v->b, id);
	const char *word = btfc_keyword(t), *file;
	struct json j = json_on(out, JSON_SPACED);
	u32 line;

	json_open_object(&j, NULL);
	json_put_text(&j, "type", word ? word : btf_kind(t) == BTF_KIND_TYPEDEF ? "typedef" : "base");
	json_put_text(&j, "name", btfraw_str(v->b, t->name_off));
	put_u32(&j, "size", btfc_size(v->b, id));
	if (type_place(v, id, &file, &line)) {
		json_put_text(&j, "file", file);
		put_u32(&j, "line", line);
	}
	if (word && btf_kind(t) != BTF_KIND_FWD) {
		body(v, id, &j, NULL);
	} else if (btf_kind(t) == BTF_KIND_TYPEDEF) {
		u32 inner = btfc_inner_anon(v->b, t->type);

		put_type_name(&j, "of", v->b, t->type);
		if (inner && inner == t->type)
			body(v, inner, &j, NULL);
	}
	json_close_object(&j);
	json_end_line(&j);
}
