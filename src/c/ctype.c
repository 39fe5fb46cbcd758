/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/ctype.h"

#define INT_TYPE(id, bytes, sign, text)                                                                                          \
	struct cty id = { .kind = CTY_INT, .align = bytes, .size = bytes, .is_signed = sign, .name = text }

struct cty cty_void = { .kind = CTY_VOID, .name = "void", .align = 1 };
struct cty cty_bool = { .kind = CTY_BOOL, .align = 1, .size = 1, .name = "_Bool" };
struct cty cty_char = { .kind = CTY_INT, .align = 1, .size = 1, .is_signed = true, .name = "char" };
INT_TYPE(cty_schar, 1, true, "signed char");
INT_TYPE(cty_uchar, 1, false, "unsigned char");
INT_TYPE(cty_short, 2, true, "short int");
INT_TYPE(cty_ushort, 2, false, "short unsigned int");
INT_TYPE(cty_int, 4, true, "int");
INT_TYPE(cty_uint, 4, false, "unsigned int");
INT_TYPE(cty_long, 8, true, "long int");
INT_TYPE(cty_ulong, 8, false, "long unsigned int");
INT_TYPE(cty_llong, 8, true, "long long int");
INT_TYPE(cty_ullong, 8, false, "long long unsigned int");
INT_TYPE(cty_int128, 16, true, "__int128");
INT_TYPE(cty_uint128, 16, false, "__int128 unsigned");
struct cty cty_float = { .kind = CTY_FLOAT, .align = 4, .size = 4, .name = "float" };
struct cty cty_double = { .kind = CTY_FLOAT, .align = 8, .size = 8, .name = "double" };
struct cty cty_ldouble = { .kind = CTY_FLOAT, .align = 16, .size = 16, .name = "long double" };

struct cty *cty_strip(struct cty *t)
{
	while (t->kind == CTY_TYPEDEF || t->kind == CTY_CONST || t->kind == CTY_VOLATILE)
		t = t->of;
	return t;
}

u64 cty_size(const struct cty *t)
{
	u64 cnt = 1;

	for (;; t = t->of) {
		if (t->kind == CTY_ARRAY) {
			if (t->cnt && cnt > UINT64_MAX / 16 / t->cnt)
				return UINT64_MAX / 16;
			cnt *= t->cnt;
		} else if (t->kind != CTY_TYPEDEF && t->kind != CTY_CONST && t->kind != CTY_VOLATILE) {
			return t->size && cnt > UINT64_MAX / 16 / t->size ? UINT64_MAX / 16 : cnt * t->size;
		}
	}
}

u32 cty_align(const struct cty *t)
{
	u32 align = 0;

	for (; t->kind == CTY_ARRAY || t->kind == CTY_TYPEDEF || t->kind == CTY_CONST || t->kind == CTY_VOLATILE; t = t->of)
		align = MAX(align, t->kind == CTY_TYPEDEF ? t->align : 0);
	return MAX(align, t->align);
}

struct cty *cty_new(struct arena *a, struct cty t)
{
	return arena_memdup(a, &t, sizeof(t));
}

struct cty *cty_pointer(struct arena *a, struct cty *to)
{
	return cty_new(a, (struct cty){ .kind = CTY_PTR, .align = 8, .size = 8, .of = to });
}

struct cty *cty_array(struct arena *a, struct cty *of, s64 cnt)
{
	return cty_new(a, (struct cty){ .kind = CTY_ARRAY, .of = of, .cnt = cnt < 0 ? 0 : cnt });
}

/* How a bit-field's or a member's alignment changes when it is packed: to that of a byte, unless it says more itself. */
static u32 member_align(const struct clayout *l, const struct cty *type, const struct cattrs *a)
{
	u32 align = MAX(l->is_packed || a->is_packed ? 1 : MAX(cty_align(type), 1u), a->align);

	/* #pragma pack has the last word. */
	return l->pack ? MIN(align, l->pack) : align;
}

void clayout_add(struct clayout *l, const char *name, struct cty *type, s64 bits, const struct cattrs *a)
{
	bool is_union = l->type->kind == CTY_UNION;
	struct cmember m = { .name = name, .type = type };
	u32 align = member_align(l, type, a);
	u64 unit = 8 * cty_size(type);

	if (is_union)
		l->bits = 0;
	if (bits < 0) {
		l->align = MAX(l->align, align);
		l->bits = ALIGN_UP(l->bits, 8 * (u64)align);
		m.bit_off = l->bits;
		l->bits += unit;
		avec_push(l->arena, &l->members, m);
	} else if (bits == 0) {
		/* `int :0` ends the unit. */
		l->bits = ALIGN_UP(l->bits, unit ? unit : 8);
	} else {
		bool is_packed = l->is_packed || a->is_packed || (l->pack && l->pack < cty_align(type));

		if (a->align)
			l->bits = ALIGN_UP(l->bits, 8 * (u64)a->align);
		/* It lies inside of one unit of its type, unless packed. */
		else if (!is_packed && unit && l->bits / unit != (l->bits + bits - 1) / unit)
			l->bits = ALIGN_UP(l->bits, unit);
		if (*name)
			l->align = MAX(l->align, align);
		m.bit_off = l->bits;
		m.bit_sz = bits;
		l->bits += bits;
		if (*name)
			avec_push(l->arena, &l->members, m);
	}
	l->bytes = MAX(l->bytes, (l->bits + 7) / 8);
}

void clayout_end(struct clayout *l, const struct cattrs *a)
{
	struct cty *t = l->type;

	l->align = MAX(MAX(l->align, 1u), a->align);
	t->align = l->align;
	t->size = ALIGN_UP(l->bytes, (u64)l->align);
	t->members = l->members.at;
	t->member_cnt = l->members.cnt;
	t->is_defined = true;
}

static const struct cmember *find_member(struct cty *t, const char *name, u64 *bit_off, u32 depth)
{
	t = cty_strip(t);
	if ((t->kind != CTY_STRUCT && t->kind != CTY_UNION) || depth > 32)
		return NULL;
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct cmember *m = &t->members[i], *found;

		if (*m->name ? str_eq(m->name, name) : false) {
			*bit_off += m->bit_off;
			return m;
		}
		if (*m->name)
			continue;
		found = find_member(m->type, name, bit_off, depth + 1);
		if (found) {
			*bit_off += m->bit_off;
			return found;
		}
	}
	return NULL;
}

const struct cmember *cty_member(struct cty *t, const char *name, u64 *bit_off)
{
	return find_member(t, name, bit_off, 0);
}
