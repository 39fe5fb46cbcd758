/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of C as BTF.
 *
 * Numbers are given first, to everything that can be reached from what headers define, and records written in that order: structs
 * refer to each other in circles. */
#include "c/parse.h"
#include "types/btfwriter.h"

struct numbering {
	bool has_aligns; /* alignments are written */
	vec(struct cty *) order;
	vec(struct cty *) todo;
};

/* Whether a reader would guess the alignment of a struct wrong. */
static bool is_aligned_oddly(const struct cty *t)
{
	return (t->kind == CTY_STRUCT || t->kind == CTY_UNION) && t->is_defined && t->align != btf_guess_align(t->size);
}

/* A type's number; it is put in line for one. Void, and what has no place in BTF, is 0. */
static void want(struct numbering *n, struct cty *t)
{
	if (!t || t->kind == CTY_VOID || t->btf_id)
		return;
	vec_push(&n->order, t);
	t->btf_id = n->order.cnt;
	if (n->has_aligns && is_aligned_oddly(t))
		vec_push(&n->order, NULL); /* the tag's */
	if (!t->is_outside)
		vec_push(&n->todo, t);
}

static void want_all(struct numbering *n)
{
	while (n->todo.cnt) {
		struct cty *t = n->todo.at[--n->todo.cnt];

		want(n, t->of);
		for (u32 i = 0; i < t->member_cnt; i++)
			want(n, t->members[i].type);
		if (t->kind == CTY_ARRAY)
			want(n, &cty_uint); /* what counts its elements */
	}
}

static u32 id_of(const struct cty *t)
{
	return t ? t->btf_id : 0;
}

static void write_members(struct btfwriter *w, const struct cty *t)
{
	bool kflag = false;
	u32 cnt = MIN(t->member_cnt, 0xffffu);

	for (u32 i = 0; i < cnt; i++)
		kflag |= t->members[i].bit_sz != 0;
	btfwriter_type(w, t->kind == CTY_STRUCT ? BTF_KIND_STRUCT : BTF_KIND_UNION, t->name, t->size, cnt, kflag);
	for (u32 i = 0; i < cnt; i++) {
		const struct cmember *m = &t->members[i];
		struct btf_member to = { btfwriter_str(w, m->name), id_of(m->type), (kflag ? m->bit_sz << 24 : 0) | m->bit_off };

		btfwriter_tail(w, &to, sizeof(to));
	}
}

static void write_enum(struct btfwriter *w, const struct cty *t)
{
	u32 cnt = MIN(t->enum_cnt, 0xffffu);

	btfwriter_type(w, t->size > 4 ? BTF_KIND_ENUM64 : BTF_KIND_ENUM, t->name, t->size, cnt, t->is_signed);
	for (u32 i = 0; i < cnt; i++) {
		struct btf_enum64 wide = { btfwriter_str(w, t->enums[i].name), t->enums[i].value, (u64)t->enums[i].value >> 32 };
		struct btf_enum narrow = { wide.name_off, t->enums[i].value };

		btfwriter_tail(w, t->size > 4 ? (void *)&wide : (void *)&narrow, t->size > 4 ? sizeof(wide) : sizeof(narrow));
	}
}

static void write_align(struct btfwriter *w, const struct cty *t)
{
	u32 whole = UINT32_MAX; /* not of a member */

	btfwriter_type(w, BTF_KIND_DECL_TAG, arena_printf(w->arena, BTF_ALIGN_TAG "%u", t->align), t->btf_id, 0, false);
	btfwriter_tail(w, &whole, sizeof(whole));
}

static void write_type(struct btfwriter *w, const struct cty *t)
{
	switch (t->kind) {
	case CTY_INT:
		btfwriter_int(w, t->name, t->size, t->is_signed ? BTF_INT_SIGNED : 0);
		return;
	case CTY_BOOL:
		btfwriter_int(w, t->name, t->size, BTF_INT_BOOL);
		return;
	case CTY_FLOAT:
		btfwriter_type(w, BTF_KIND_FLOAT, t->name, t->size, 0, false);
		return;
	case CTY_PTR:
		btfwriter_type(w, BTF_KIND_PTR, "", id_of(t->of), 0, false);
		return;
	case CTY_ARRAY: {
		struct btf_array a = { id_of(t->of), id_of(&cty_uint), t->cnt > UINT32_MAX ? UINT32_MAX : t->cnt };

		btfwriter_type(w, BTF_KIND_ARRAY, "", 0, 0, false);
		btfwriter_tail(w, &a, sizeof(a));
		return;
	}
	case CTY_FUNC: {
		u32 cnt = MIN(t->member_cnt, 0xfffeu);
		struct btf_param none = {};

		btfwriter_type(w, BTF_KIND_FUNC_PROTO, "", id_of(t->of), cnt + t->is_variadic, false);
		for (u32 i = 0; i < cnt; i++) {
			struct btf_param param = { btfwriter_str(w, t->members[i].name), id_of(t->members[i].type) };

			btfwriter_tail(w, &param, sizeof(param));
		}
		if (t->is_variadic)
			btfwriter_tail(w, &none, sizeof(none));
		return;
	}
	case CTY_STRUCT:
	case CTY_UNION:
		if (t->is_defined)
			write_members(w, t);
		else
			btfwriter_type(w, BTF_KIND_FWD, t->name, 0, 0, t->kind == CTY_UNION);
		return;
	case CTY_ENUM:
		write_enum(w, t);
		return;
	case CTY_TYPEDEF:
		btfwriter_type(w, BTF_KIND_TYPEDEF, t->name, t->is_outside ? 0 : id_of(t->of), 0, t->is_outside);
		return;
	case CTY_CONST:
		btfwriter_type(w, BTF_KIND_CONST, "", id_of(t->of), 0, false);
		return;
	case CTY_VOLATILE:
		btfwriter_type(w, BTF_KIND_VOLATILE, "", id_of(t->of), 0, false);
		return;
	case CTY_VOID:
		break;
	}
	BUG("a type without a number is written");
}

static struct cty *const basic[] = { &cty_bool,   &cty_char,    &cty_schar, &cty_uchar,  &cty_short,  &cty_ushort,
				     &cty_int,    &cty_uint,    &cty_long,  &cty_ulong,  &cty_llong,  &cty_ullong,
				     &cty_int128, &cty_uint128, &cty_float, &cty_double, &cty_ldouble };

u8 *cparse_to_btf(struct cparse *p, size_t *len)
{
	struct numbering n = { .has_aligns = p->host != NULL };
	struct btfwriter w;
	u8 *data;

	/* The basic types are shared by all readings: each gives them numbers of its own. */
	for (u32 i = 0; i < ARRAY_CNT(basic); i++)
		basic[i]->btf_id = 0;
	vec_for(t, &p->defined) {
		want(&n, *t);
		want_all(&n);
	}
	btfwriter_init(&w, p->arena);
	for (u32 i = 0; i < n.order.cnt; i++) {
		if (n.order.at[i])
			write_type(&w, n.order.at[i]);
		else
			write_align(&w, n.order.at[i - 1]);
	}
	data = btfwriter_finish(&w, len);
	btfwriter_release(&w);
	vec_free(&n.order);
	vec_free(&n.todo);
	return data;
}
