/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory layout of a struct: its members, holes, padding and cache lines.
 *
 * The terms are pahole's, whose users read the result: a hole is unused space before the next member, padding is unused space
 * after the last, a bit hole is the unused rest of a bit-field's storage unit. Alignments and packing
 * are not in BTF: they are inferred where the offsets cannot be explained without them.
 */
#pragma once

#include "base/vec.h"
#include "types/btfc.h"

#define CACHELINE_SZ 64

struct layout_member {
	const char *name; /* "": none */
	u32 type;
	u32 bit_off;        /* from the begin of the struct */
	u32 bit_sz;         /* of a bit-field; 0: not one */
	u32 off, sz;        /* bytes: of the member, or of the unit that a bit-field lies in */
	u32 hole, bit_hole; /* after this member */
	u32 align;          /* inferred; 0: natural */
	u32 inner_padding;  /* bytes at the end of the struct that this member is */
	bool is_flexible;   /* an array without a size, at the end */
};

struct layout {
	const struct btf_type *t;
	u32 sz;
	u32 cnt;
	struct layout_member *at;
	bool is_union;
	bool is_packed;
	u32 align;   /* inferred; 0: natural */
	u32 padding; /* bytes */
	u32 bit_padding;
	u32 pre_hole, pre_bit_hole; /* before the first member */
	u32 inner_padding_cnt, inner_padding_sum;
	u32 hole_cnt, hole_sum;
	u32 bit_hole_cnt, bit_hole_sum;
	u32 member_sum;                /* bytes of members that are no bit-fields */
	u32 bitfield_sum;              /* bits */
	vec(struct layout_member) mem; /* owns at */
};

/* Member i of a struct or union alone, without the holes around it. */
struct layout_member layout_member_of(const struct btfraw *b, const struct btf_type *t, u32 i);
/* id is a struct or union with a body. What l owns is reused by the next call; layout_release() ends that. */
void layout_get(struct layout *l, struct btfc_aligns *a, u32 id, u32 cacheline);
void layout_release(struct layout *l);
