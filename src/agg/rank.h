/* SPDX-License-Identifier: GPL-2.0-only */
/* The largest or smallest value: a rank is kept in place of it, so that zeroed memory means "nothing yet" and one rule (the
 * larger rank wins) serves both, signed and unsigned:   max: rank(v) = v (unsigned), v ^ 2^63 (signed);   min: the complement of
 * that. Programs raise the rank by compare-and-exchange. One value has rank 0. It sets the u64 behind the rank instead. So each
 * update changes one word, and there is a value as soon as one of the two words is not 0: whoever reads or clears them meanwhile
 * sees an update whole or not at all.
 */
#pragma once

#include "ir/lower.h"

static inline u64 agg_rank(bool is_min, bool is_signed, u64 v)
{
	u64 r = is_signed ? v ^ (1ull << 63) : v;

	return is_min ? ~r : r;
}

static inline u64 agg_unrank(bool is_min, bool is_signed, u64 rank)
{
	u64 r = is_min ? ~rank : rank;

	return is_signed ? r ^ (1ull << 63) : r;
}

/* The same in code. */
vreg agg_rank_of(struct lower *l, vreg v, bool is_min, bool is_signed);
vreg agg_value_of(struct lower *l, vreg rank, bool is_min, bool is_signed);
/* Raises the rank at base + off to at least `rank`. Only an interrupt on this CPU may do so at the same time. */
void agg_raise(struct lower *l, vreg base, s64 off, vreg rank);
/* The same with the word behind it, which rank 0 sets. */
void agg_raise_or_set(struct lower *l, vreg base, s64 off, vreg rank);
