/* SPDX-License-Identifier: GPL-2.0-only */
/* What the rows of aggregations share. See types/agg.h for what a row is, and how to add one.
 *
 * Updates are atomic, because an interrupt on the same CPU may update the same share.
 */
#pragma once

#include "lang/fn.h"
#include "ir/lower.h"
#include "types/agg.h"

struct check;

/* types: a share of so many bytes. */
#define AGG_TYPES(row, bytes)                                                                                                    \
	(const struct type[])                                                                                                    \
	{                                                                                                                        \
		{ .kind = T_AGG, .agg = &row, .size = bytes, .align = 8 },                                                       \
		{                                                                                                                \
			.kind = T_AGG, .agg = &row, .size = bytes, .align = 8, .is_signed = true                                 \
		}                                                                                                                \
	}

/* The check() of a function whose type depends on the sign of its argument alone. */
void agg_check_sign(struct expr *e, const struct agg *agg);
bool agg_arg_is_signed(const struct expr *e);
/* The lower() of all of them. */
struct val agg_never_lowered(struct lower *l, struct expr *e, const struct mem *dst);

/* Code. A share is at base + offset; instructions have room for small offsets only. */
vreg agg_base(struct lower *l, struct mem share);
s64 agg_off(struct mem share);
struct opnd agg_opnd(struct lower *l, s64 v); /* in a register if it has to be */
/* Adds 1 to one of many u64 that follow each other. */
void agg_count_at(struct lower *l, struct mem share, vreg index);
/* The position of the highest bit of v (v > 0). */
vreg agg_log2(struct lower *l, vreg v);

/* Shares that are sums of u64, or counts. */
u64 agg_word(const u8 *p);                                                                  /* programs may be changing it */
bool agg_sum_words(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out); /* false: all are 0 */
void agg_add_words(const struct type *t, u8 *to, const u8 *share);
u64 agg_words_total(const struct type *t, const u8 *words); /* of all t->size / 8 */

/* The number of a share that is one u64, to be added up. */
extern const struct agg_number agg_number_word;

/* Totals that are one number. */
u64 agg_rank_number(const struct type *t, const u8 *total);
void agg_text_number(const struct show *w, const struct type *t, const u8 *total);
void agg_json_number(const struct show *w, const struct type *t, const u8 *total);
