/* Aggregations as programs keep them per CPU, and how they are summed up.
 *
 * min and max keep a rank in place of the value, so that zeroed memory means "nothing yet" and one rule (the larger rank wins)
 * serves both, signed and unsigned:   max: rank(v) = v (unsigned), v ^ 2^63 (signed);   min: the complement of that.
 * The programs raise the rank by compare-and-exchange; `is_set` is stored afterwards.
 */
#pragma once

#include "lang/type.h"

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

/* Bytes of one CPU's value, and of the sum. */
u32 agg_cpu_size(const struct type *t);
u32 agg_total_size(const struct type *t);
/* Adds one CPU's value to another. */
void agg_add(const struct type *t, u8 *to, const u8 *value);
/* Adds up cpu_cnt values that lie stride bytes apart into out (agg_total_size bytes; may be cpu0). False: nothing was ever
 * recorded, as far as the numbers tell (a sum of 0 looks the same); out is then all zero. */
bool agg_sum(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out);
