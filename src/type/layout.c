/* SPDX-License-Identifier: GPL-2.0-only */
#include "type/layout.h"

void layout_release(struct layout *l)
{
	vec_free(&l->mem);
}

struct layout_member layout_member_of(const struct btfraw *b, const struct btf_type *t, u32 i)
{
	const struct btf_member *m = &btfc_members(t)[i];
	struct layout_member to = { .name = btfraw_str(b, m->name_off),
				    .type = m->type,
				    .bit_off = btf_member_bit_off(t, m),
				    .bit_sz = btf_member_bit_sz(t, m),
				    .sz = btfc_size(b, m->type) };

	to.off = to.bit_off / 8;
	/* A bit-field lies in a unit of its type, at a multiple of that unit's size. */
	if (to.bit_sz && to.sz && to.sz <= 16)
		to.off = to.bit_off / (8 * to.sz) * to.sz;
	return to;
}

static void read_members(struct layout *l, const struct btfraw *b)
{
	l->mem.cnt = 0;
	for (u32 i = 0; i < btf_vlen(l->t); i++)
		vec_push(&l->mem, layout_member_of(b, l->t, i));
	l->at = l->mem.at;
	l->cnt = l->mem.cnt;
	if (l->cnt > 1 && !l->is_union) {
		struct layout_member *last = &l->at[l->cnt - 1];
		const struct btf_type *t = btfraw_type(b, btfc_strip(b, last->type, false));

		last->is_flexible = t && btf_kind(t) == BTF_KIND_ARRAY && !((const struct btf_array *)(t + 1))->nelems;
	}
}

/* Walks the bits from front to back. `seen` is the first bit that is not accounted for. Unused bits of a bit-field's storage unit
 * are a bit hole; anything else between two members is a hole. A unit may be shared with members of other sizes, so its
 * end moves when a larger one begins in the same place. */
static void find_holes(struct layout *l)
{
	u32 seen = 0, unit_end = 0, unit_bits = 0;
	bool in_unit = false;
	struct layout_member before = {}, *last = &before;

	for (u32 i = 0; i < l->cnt; i++) {
		struct layout_member *m = &l->at[i];
		u32 end = m->bit_off + (m->bit_sz ? m->bit_sz : 8 * m->sz);
		u32 bits = 0, bytes = 0;

		if (in_unit) {
			u32 rest = MIN(m->bit_off, unit_end);

			bits = rest > seen ? rest - seen : 0;
			seen = rest;
		}
		if (m->bit_sz) {
			u32 unit = 8 * m->off;

			if (seen < unit && unit <= m->bit_off) {
				bytes = m->off - seen / 8;
				seen = unit;
			}
			bits += m->bit_off > seen ? m->bit_off - seen : 0;
		} else {
			bytes = m->bit_off / 8 > seen / 8 ? m->bit_off / 8 - seen / 8 : 0;
		}
		seen = end;
		if (!m->bit_sz) {
			in_unit = false;
			unit_bits = 0;
			unit_end = end;
		} else {
			if (!in_unit || end > unit_end || 8 * m->sz > unit_bits) {
				unit_bits = 8 * m->sz;
				unit_end = 8 * m->off + unit_bits;
				if (end > unit_end) /* it began in the unit before */
					unit_end += unit_bits;
			}
			in_unit = true;
		}
		last->hole = bytes;
		last->bit_hole = bits;
		l->hole_cnt += bytes > 0;
		l->hole_sum += bytes;
		l->bit_hole_cnt += bits > 0;
		l->bit_hole_sum += bits;
		last = m;
	}
	if (in_unit) {
		u32 end = MIN(8 * l->sz, unit_end);

		l->bit_padding = end > seen ? end - seen : 0;
		seen = end;
	}
	l->pre_hole = before.hole;
	l->pre_bit_hole = before.bit_hole;
	l->padding = l->sz > seen / 8 ? l->sz - seen / 8 : 0;
}

/* Members and holes, without what needs other types. */
static void walk(struct layout *l, const struct btfraw *b, const struct btf_type *t)
{
	*l = (struct layout){
		.t = t, .sz = t->size, .is_union = btf_kind(t) == BTF_KIND_UNION, .mem = { l->mem.at, 0, l->mem.cap }
	};
	read_members(l, b);
	if (!l->is_union)
		find_holes(l);
}

static void sum_members(struct layout *l, const struct btfraw *b)
{
	struct layout inner = {};

	for (u32 i = 0; i < l->cnt; i++) {
		struct layout_member *m = &l->at[i];
		const struct btf_type *t = btfraw_type(b, btfc_strip(b, m->type, false));

		if (m->bit_sz)
			l->bitfield_sum += m->bit_sz;
		else
			l->member_sum += m->sz;
		if (!t || btf_kind(t) != BTF_KIND_STRUCT)
			continue;
		walk(&inner, b, t);
		m->inner_padding = inner.padding;
		l->inner_padding_cnt += inner.padding > 0;
		l->inner_padding_sum += inner.padding;
	}
	layout_release(&inner);
}

/* A member or struct was not aligned by hand if its offset follows from natural alignment. */
static u32 forced_align(u32 off, u32 natural, u32 from, u32 cacheline)
{
	u32 gap = off - from, align;

	if (off <= from || off % 2)
		return 0;
	align = gap >> 31 ? 0 : 1u << (32 - __builtin_clz(gap)); /* the power of two above the gap */
	if (align <= natural || align == 1)
		return 0;
	return align < cacheline && cacheline % align == 0 && off % cacheline == 0 ? cacheline : align;
}

static void infer(struct layout *l, struct btfc_aligns *a, u32 id, u32 cacheline)
{
	u32 natural = btfc_align(a, id), end = 0;

	if (!l->padding && !l->hole_cnt) {
		for (u32 i = 0; i < l->cnt; i++) {
			u32 of_member = btfc_align(a, l->at[i].type);

			if (of_member > 1 && l->at[i].off % of_member)
				l->is_packed = true;
		}
		if (natural && l->sz % natural)
			l->is_packed = true;
	}
	for (u32 i = 0; i < l->cnt; i++) {
		struct layout_member *m = &l->at[i];
		u32 of_member = btfc_align(a, m->type);

		if (!m->sz) /* an empty struct is a marker: the member after it is the aligned one */
			continue;
		m->align = forced_align(m->off, of_member, end, cacheline);
		end = m->off + m->sz;
	}
	l->align = forced_align(l->sz, natural, end, cacheline);
}

void layout_get(struct layout *l, struct btfc_aligns *a, u32 id, u32 cacheline)
{
	walk(l, a->b, btfraw_type(a->b, id));
	if (l->is_union)
		return;
	sum_members(l, a->b);
	infer(l, a, id, cacheline);
}
