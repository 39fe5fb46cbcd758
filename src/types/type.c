/* SPDX-License-Identifier: GPL-2.0-only */
#include "types/type.h"

#include "types/agg.h"

#define INT_TYPE(bytes, sign)                                                                                                    \
	{                                                                                                                        \
		.kind = T_INT, .size = bytes, .align = bytes, .is_signed = sign                                                  \
	}

const struct type type_error = { .kind = T_ERROR };
const struct type type_none = { .kind = T_NONE };
const struct type type_void = { .kind = T_VOID };
const struct type type_bool = { .kind = T_BOOL, .size = 1, .align = 1 };
const struct type type_s8 = INT_TYPE(1, true), type_u8 = INT_TYPE(1, false);
const struct type type_s16 = INT_TYPE(2, true), type_u16 = INT_TYPE(2, false);
const struct type type_s32 = INT_TYPE(4, true), type_u32 = INT_TYPE(4, false);
const struct type type_s64 = INT_TYPE(8, true), type_u64 = INT_TYPE(8, false);
const struct type type_literal64 = { .kind = T_INT, .size = 8, .align = 8, .is_signed = true, .is_flexible = true };
const struct type type_comm = { .kind = T_STRING, .size = 16, .align = 1 };

static const struct {
	const char *name;
	const struct type *type;
} type_words[] = {
	{ "bool", &type_bool },
	{ "int8", &type_s8 },
	{ "int16", &type_s16 },
	{ "int32", &type_s32 },
	{ "int64", &type_s64 },
	{ "uint8", &type_u8 },
	{ "uint16", &type_u16 },
	{ "uint32", &type_u32 },
	{ "uint64", &type_u64 },
	{ "void", &type_void },
	/* C's own words, which no BTF is needed for */
	{ "char", &type_s8 },
	{ "signed char", &type_s8 },
	{ "unsigned char", &type_u8 },
	{ "short", &type_s16 },
	{ "unsigned short", &type_u16 },
	{ "int", &type_s32 },
	{ "unsigned int", &type_u32 },
	{ "unsigned", &type_u32 },
	{ "long", &type_s64 },
	{ "unsigned long", &type_u64 },
	{ "long long", &type_s64 },
	{ "unsigned long long", &type_u64 },
	{ "int8_t", &type_s8 },
	{ "int16_t", &type_s16 },
	{ "int32_t", &type_s32 },
	{ "int64_t", &type_s64 },
	{ "uint8_t", &type_u8 },
	{ "uint16_t", &type_u16 },
	{ "uint32_t", &type_u32 },
	{ "uint64_t", &type_u64 },
	{ "u8", &type_u8 },
	{ "u16", &type_u16 },
	{ "u32", &type_u32 },
	{ "u64", &type_u64 },
	{ "s8", &type_s8 },
	{ "s16", &type_s16 },
	{ "s32", &type_s32 },
	{ "s64", &type_s64 },
	{ "size_t", &type_u64 },
	{ "uintptr_t", &type_u64 },
};

const struct type *type_of_word(const char *name)
{
	const struct opaque *o;

	for (u32 w = 0; w < ARRAY_CNT(type_words); w++)
		if (str_eq(name, type_words[w].name))
			return type_words[w].type;
	o = opaque_of_word(name);
	return o && !(o->flags & (OPAQUE_PARAM | OPAQUE_SIZED)) ? o->type : NULL;
}

const struct type *type_int(u32 size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? &type_s8 : &type_u8;
	case 2:
		return is_signed ? &type_s16 : &type_u16;
	case 4:
		return is_signed ? &type_s32 : &type_u32;
	case 8:
		return is_signed ? &type_s64 : &type_u64;
	}
	BUG("integer of %u bytes", size);
}

static struct type *make(struct arena *a, enum type_kind kind, u32 size, u32 align)
{
	struct type *t = arena_new(a, struct type);

	t->kind = kind;
	t->size = size;
	t->align = align;
	return t;
}

const struct type *type_site(struct arena *a, enum site_show show, u32 text_sz)
{
	struct type *t = make(a, T_SITE, 4, 4);

	t->show = show;
	t->cnt = text_sz;
	return t;
}

const struct type *type_string(struct arena *a, u32 size)
{
	return make(a, T_STRING, size, 1);
}

const struct type *type_char_array(struct arena *a, u32 cnt)
{
	struct type *t = make(a, T_STRING, cnt, 1);

	t->is_fillable = true;
	return t;
}

const struct type *type_buffer(struct arena *a, u32 cap)
{
	struct type *t = make(a, T_BUFFER, 4 + cap, 4);

	t->cnt = cap;
	return t;
}

const struct type *type_pointer(struct arena *a, const struct type *elem, enum addr_space as)
{
	struct type *t = make(a, T_POINTER, 8, 8);

	t->elem = elem;
	t->as = as;
	return t;
}

const struct type *type_array(struct arena *a, const struct type *elem, u32 cnt)
{
	struct type *t = make(a, T_ARRAY, elem->size * cnt, elem->align ? elem->align : 1);

	t->elem = elem;
	t->cnt = cnt;
	t->as = elem->as;
	return t;
}

const struct type *type_stack(struct arena *a, bool is_user, enum stack_mode mode, u32 limit)
{
	struct type *t = make(a, is_user ? T_USTACK : T_KSTACK, 0, 8);

	t->cnt = limit;
	t->stack_mode = mode;
	t->size = type_stack_head(t) + (limit << type_frame_shift(t));
	return t;
}

const struct type *type_opaque(struct arena *a, const struct opaque *row, const char *name, u32 cnt)
{
	struct type *t = arena_new(a, struct type);

	*t = *row->type;
	t->name = name;
	t->cnt = cnt;
	return t;
}

const struct type *type_tuple(struct arena *a, const struct type *const *elems, const char *const *names, u32 cnt)
{
	struct type *t = make(a, T_TUPLE, 0, 1);
	u32 off = 0;

	t->members = arena_alloc(a, cnt * sizeof(*t->members));
	t->member_cnt = cnt;
	for (u32 i = 0; i < cnt; i++) {
		u32 align = MAX(1, elems[i]->align);

		off = ALIGN_UP(off, align);
		t->members[i] = (struct member){ .name = names ? names[i] : NULL, .type = elems[i], .off = off };
		off += elems[i]->size;
		t->align = MAX(t->align, align);
	}
	t->size = ALIGN_UP(off, t->align);
	return t;
}

struct type *type_agg(struct arena *a, const struct agg *agg, u32 cnt, u32 size)
{
	struct type *t = make(a, T_AGG, size, 8);

	t->agg = agg;
	t->cnt = cnt;
	return t;
}

bool type_is_number_agg(const struct type *t)
{
	return t->kind == T_AGG && t->agg->number;
}

bool type_place_bits(u32 outer_sz, struct member *m, u64 bit, u32 bit_sz)
{
	u32 sz = m->type->size;

	if (!type_is_integral(m->type))
		return false;
	for (; sz <= 8; sz *= 2) {
		u64 try[] = { bit / (8 * sz) * sz, MIN(bit / 8, outer_sz - (u64)MIN(sz, outer_sz)) };

		for (u32 i = 0; i < ARRAY_CNT(try); i++) {
			if (try[i] * 8 > bit || bit + bit_sz > (try[i] + sz) * 8 || try[i] + sz > outer_sz)
				continue;
			m->off = try[i];
			m->bit_off = bit - try[i] * 8;
			m->bit_sz = bit_sz;
			if (sz != m->type->size)
				m->type = type_int(sz, m->type->is_signed);
			return true;
		}
	}
	return false;
}

bool type_equal(const struct type *a, const struct type *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->size != b->size)
		return false;
	switch (a->kind) {
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_BOOL:
	case T_STRING:
	case T_BUFFER:
	case T_KIND_CNT:
		return true;
	case T_INT:
		return a->is_signed == b->is_signed;
	case T_KSTACK:
	case T_USTACK:
		return a->stack_mode == b->stack_mode;
	case T_ENUM:
		return str_eq(a->name, b->name);
	case T_POINTER:
		return type_equal(a->elem, b->elem);
	case T_ARRAY:
		return a->cnt == b->cnt && type_equal(a->elem, b->elem);
	case T_STRUCT:
		return a->is_union == b->is_union && str_eq(a->name, b->name) && (*a->name || a->src_id == b->src_id);
	case T_TUPLE:
		if (a->member_cnt != b->member_cnt)
			return false;
		if (type_is_record(a) != type_is_record(b))
			return false;
		for (u32 i = 0; i < a->member_cnt; i++)
			if (!type_equal(a->members[i].type, b->members[i].type) ||
			    (a->members[i].name && !str_eq(a->members[i].name, b->members[i].name)))
				return false;
		return true;
	case T_SITE:
		return a->show == b->show;
	case T_OPAQUE:
		return a->opaque == b->opaque && a->cnt == b->cnt &&
			(a->name && b->name ? str_eq(a->name, b->name) : a->name == b->name);
	case T_AGG:
		return a->agg == b->agg && a->is_signed == b->is_signed && a->cnt == b->cnt &&
			!memcmp(a->param, b->param, sizeof(a->param));
	}
	return false;
}

const struct type *type_complete(const struct type *t)
{
	struct type *mut = (struct type *)t; /* completion is the only change of a type after its creation */

	if (mut->src) {
		struct type_source *src = mut->src;

		mut->src = NULL;
		src->complete(src, mut);
	}
	return t;
}

const struct member *type_member(const struct type *t, const char *name, u32 *off)
{
	type_complete(t);
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i], *inner;

		if (m->name && *m->name) {
			if (str_eq(m->name, name)) {
				*off = m->off;
				return m;
			}
		} else if (m->name && m->type->kind == T_STRUCT) {
			inner = type_member(m->type, name, off);
			if (inner) {
				*off += m->off;
				return inner;
			}
		}
	}
	return NULL;
}

bool type_path(struct type_source *src, const char *name, const char *const path[], u32 *off, const struct type **type)
{
	const struct type *t = src->find(src, "struct", name);
	const struct member *m;
	u32 at;

	*off = 0;
	for (; *path; path++) {
		while (t && t->kind == T_ARRAY)
			t = t->elem;
		m = t && t->kind == T_STRUCT ? type_member(t, *path, &at) : NULL;
		if (!m)
			return false;
		*off += at;
		t = m->type;
	}
	if (type)
		*type = t;
	return true;
}

const struct member *type_tuple_member(const struct type *t, const struct type *other, u32 i)
{
	const char *name = other->members[i].name;

	if (!name)
		return i < t->member_cnt ? &t->members[i] : NULL;
	for (u32 m = 0; m < t->member_cnt; m++)
		if (t->members[m].name && str_eq(t->members[m].name, name))
			return &t->members[m];
	return NULL;
}

/* Both pointers, and to structs of one name; or neither. */
static bool is_alike(const struct type *a, const struct type *b)
{
	if (a->kind != T_POINTER || b->kind != T_POINTER)
		return a->kind != T_POINTER && b->kind != T_POINTER;
	if (a->elem->kind != T_STRUCT || b->elem->kind != T_STRUCT)
		return a->elem->kind != T_STRUCT && b->elem->kind != T_STRUCT;
	return a->elem == b->elem || (*a->elem->name && str_eq(a->elem->name, b->elem->name));
}

bool type_has_scalar(const struct type *outer, u32 off, const struct type *t)
{
	for (;;) {
		const struct member *in = NULL;

		outer = type_complete(outer);
		if (outer->kind == T_ARRAY && outer->elem->size && off < outer->size) {
			off %= outer->elem->size;
			outer = outer->elem;
			continue;
		}
		if (outer->kind == T_STRING)
			return t->size == 1 && off < outer->size;
		if (outer->kind != T_STRUCT)
			return type_is_scalar(outer) && !off && outer->size == t->size && is_alike(outer, t);
		for (u32 i = 0; i < outer->member_cnt; i++) {
			const struct member *m = &outer->members[i];

			if (off >= m->off && off < m->off + m->type->size) {
				if (m->bit_sz)
					return false;
				in = m;
				break;
			}
		}
		if (!in)
			return false;
		off -= in->off;
		outer = in->type;
	}
}

void type_print(const struct type *t, struct sbuf *out)
{
	switch (t->kind) {
	case T_ERROR:
		sbuf_puts(out, "error");
		return;
	case T_NONE:
		sbuf_puts(out, "none");
		return;
	case T_VOID:
		sbuf_puts(out, "void");
		return;
	case T_BOOL:
		sbuf_puts(out, "bool");
		return;
	case T_INT:
		sbuf_printf(out, "%sint%u", t->is_signed ? "" : "u", 8 * t->size);
		return;
	case T_ENUM:
		sbuf_printf(out, "enum %s", t->name);
		return;
	case T_POINTER:
		type_print(t->elem, out);
		sbuf_puts(out, t->elem->kind == T_POINTER ? "*" : " *");
		return;
	case T_STRING:
		sbuf_printf(out, "string[%u]", t->size);
		return;
	case T_BUFFER:
		sbuf_printf(out, "buffer[%u]", t->cnt);
		return;
	case T_ARRAY:
		type_print(t->elem, out);
		sbuf_printf(out, "[%u]", t->cnt);
		return;
	case T_STRUCT:
		sbuf_printf(out, "%s %s", t->is_union ? "union" : "struct", *t->name ? t->name : "(anonymous)");
		return;
	case T_TUPLE:
		sbuf_puts(out, type_is_record(t) ? "record { " : "(");
		for (u32 i = 0; i < t->member_cnt; i++) {
			if (i)
				sbuf_puts(out, type_is_record(t) ? ", " : ",");
			if (t->members[i].name)
				sbuf_printf(out, ".%s = ", t->members[i].name);
			type_print(t->members[i].type, out);
		}
		sbuf_puts(out, type_is_record(t) ? " }" : ")");
		return;
	case T_SITE:
		sbuf_puts(out, t->show == SITE_PROBE ? "probe" : "func");
		return;
	case T_KSTACK:
	case T_USTACK:
		sbuf_printf(out, "%cstack%s[%u]", t->kind == T_KSTACK ? 'k' : 'u',
			    t->stack_mode == STACK_PERF             ? "_perf" :
				    t->stack_mode == STACK_RAW      ? "_raw" :
				    t->stack_mode == STACK_BUILD_ID ? "_build_id" :
								      "",
			    t->cnt);
		return;
	case T_OPAQUE:
		sbuf_puts(out, t->opaque->name);
		return;
	case T_AGG:
		sbuf_printf(out, "%s%s_t", (t->agg->flags & AGG_SIGNED) && !t->is_signed ? "u" : "", t->agg->name);
		return;
	case T_KIND_CNT:
		return;
	}
}

const char *type_str(struct arena *a, const struct type *t)
{
	struct sbuf b = {};
	const char *s;

	type_print(t, &b);
	s = arena_strdup(a, sbuf_str(&b));
	sbuf_release(&b);
	return s;
}
