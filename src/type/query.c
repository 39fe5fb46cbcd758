/* SPDX-License-Identifier: GPL-2.0-only */
#include "type/query.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "base/json.h"
#include "type/flat.h"

struct row {
	u32 id;
	u32 a, b; /* to sort by, and to show */
};

static const char *name_of(const struct type_view *v, u32 id)
{
	return btfraw_str(v->b, btfraw_type(v->b, id)->name_off);
}

bool type_is_wanted(const char *name, char **names, u32 cnt)
{
	if (!*name)
		return false;
	for (u32 i = 0; i < cnt; i++)
		if (glob_match(names[i], name))
			return true;
	return !cnt;
}

/* Largest first; equal ones in the order of the file. */
static int by_first(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->a != b->a ? (a->a < b->a) - (a->a > b->a) : (a->id > b->id) - (a->id < b->id);
}

static u32 list_structs(struct type_view *v, bool holes, char **names, u32 cnt, bool json, struct sbuf *out)
{
	struct json j = json_on(out, JSON_SPACED);
	vec(struct row) rows = {};
	struct layout l = {};
	u32 n;

	for (u32 id = 0; (id = btfraw_next(v->b, BTF_BIT(BTF_KIND_STRUCT), id));) {
		if (!type_is_wanted(name_of(v, id), names, cnt))
			continue;
		layout_get(&l, &v->aligns, id, v->cacheline);
		if (!holes)
			vec_push(&rows, (struct row){ id, l.sz, l.hole_cnt });
		else if (l.hole_sum || l.bit_hole_sum)
			vec_push(&rows, (struct row){ id, l.hole_sum, l.hole_cnt });
	}
	if (rows.cnt)
		qsort(rows.at, rows.cnt, sizeof(*rows.at), by_first);
	vec_for(r, &rows) {
		u32 size = btfraw_type(v->b, r->id)->size;

		if (json) {
			json_open_object(&j, NULL);
			json_put_text(&j, "type", "struct");
			json_put_text(&j, "name", name_of(v, r->id));
			json_put_int(&j, "size", size, false);
			json_put_int(&j, "holes", r->b, false);
			if (holes)
				json_put_int(&j, "hole_bytes", r->a, false);
			json_close_object(&j);
			json_end_line(&j);
		} else if (holes) {
			sbuf_printf(out, "%s\t%u\t%u\t%u\n", name_of(v, r->id), r->b, r->a, size);
		} else {
			sbuf_printf(out, "%s\t%u\t%u\n", name_of(v, r->id), r->a, r->b);
		}
	}
	n = rows.cnt;
	vec_free(&rows);
	layout_release(&l);
	return n;
}

/* The struct or union that a member is made of, through typedefs and arrays; 0: none. */
static u32 content(const struct btfraw *b, u32 id)
{
	for (u32 i = 0; i < BTFC_DEPTH; i++) {
		const struct btf_type *t = btfraw_type(b, id = btfc_strip(b, id, true));

		if (!t)
			return 0;
		if (btf_kind(t) != BTF_KIND_ARRAY)
			return id;
		id = ((const struct btf_array *)(t + 1))->type;
	}
	return 0;
}

static bool contains(struct type_view *v, u32 type, const char *what)
{
	u32 id = btfc_strip(v->b, type, false);
	const struct btf_type *t;

	/* A typedef's name counts as well as what it stands for. */
	for (u32 i = 0; i < BTFC_DEPTH && (t = btfraw_type(v->b, id)); i++) {
		if (str_eq(btfraw_str(v->b, t->name_off), what))
			return true;
		if (btf_kind(t) != BTF_KIND_TYPEDEF && btf_kind(t) != BTF_KIND_ARRAY)
			break;
		id = btfc_strip(v->b, btf_kind(t) == BTF_KIND_ARRAY ? ((const struct btf_array *)(t + 1))->type : t->type, false);
	}
	id = content(v->b, type);
	return id && str_eq(name_of(v, id), what);
}

static u32 list_members(struct type_view *v, const struct type_query *q, char **names, u32 cnt, bool json, struct sbuf *out)
{
	struct json j = json_on(out, JSON_SPACED);
	const char *what = q->arg;
	struct flat f = {};
	u32 n = 0;

	/* `struct x` means x. */
	if (q->what == QUERY_CONTAINS)
		what = str_starts(what, "struct ") ? what + 7 :
			str_starts(what, "union ") ? what + 6 :
			str_starts(what, "enum ")  ? what + 5 :
						     what;
	for (u32 id = 0; (id = btfraw_next(v->b, BTF_BIT(BTF_KIND_STRUCT) | BTF_BIT(BTF_KIND_UNION), id));) {
		if (!type_is_wanted(name_of(v, id), names, cnt))
			continue;
		flat_get(&f, v->b, id);
		vec_for(m, &f.at) {
			struct sbuf type = {};

			if (q->what == QUERY_CONTAINS ? !contains(v, m->type, what) : !*m->name || !glob_match(what, m->name))
				continue;
			n++;
			btfc_name(v->b, m->type, &type);
			if (json) {
				json_open_object(&j, NULL);
				json_put_text(&j, "type", btfc_keyword(btfraw_type(v->b, id)));
				json_put_text(&j, "name", name_of(v, id));
				json_put_text(&j, "member", m->name);
				json_put_int(&j, "offset", m->off, false);
				json_put_int(&j, "size", m->sz, false);
				json_put_text(&j, "member_type", sbuf_str(&type));
				json_close_object(&j);
				json_end_line(&j);
			} else {
				sbuf_printf(out, "%s\t%s\t%u\t%s\n", name_of(v, id), m->name, m->off, sbuf_str(&type));
			}
			sbuf_release(&type);
		}
	}
	flat_release(&f);
	return n;
}

int type_query(struct type_view *v, const struct type_query *q, char **names, u32 cnt, bool json, struct sbuf *out)
{
	u32 n = 0;

	switch (q->what) {
	case QUERY_SIZES:
	case QUERY_HOLES:
		n = list_structs(v, q->what == QUERY_HOLES, names, cnt, json, out);
		break;
	case QUERY_CONTAINS:
	case QUERY_MEMBER:
		n = list_members(v, q, names, cnt, json, out);
		break;
	case QUERY_NONE:
		break;
	}
	if (n)
		return 0;
	if (q->arg)
		fprintf(stderr, "ERROR: no struct %s '%s'\n", q->what == QUERY_CONTAINS ? "contains" : "has a member", q->arg);
	else
		fputs("ERROR: no struct matches\n", stderr);
	return 1;
}
