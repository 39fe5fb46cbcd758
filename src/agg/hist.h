/* SPDX-License-Identifier: GPL-2.0-only */
/* Buckets of hist() and lhist(): their ranges and labels.
 *
 * hist with k extra bits: bucket 0 holds everything below zero. After it, bucket 1 + v is the value v itself for v < 2^k;
 * above that each power of two has 2^k buckets of equal width. The number of a bucket after the first set of 2^k is
 *     1 + ((position of the highest bit - k + 1) << k | the k bits after the highest one).
 * lhist: bucket 0 is below min, the last one from max on; step values each between them.
 *
 * type.cnt is the number of buckets, each a u64.
 */
#pragma once

#include "types/agg.h"

/* type.param of a hist, and of an lhist. */
enum { HIST_BITS };
enum { LHIST_MIN, LHIST_MAX, LHIST_STEP };

const struct type *hist_type(struct arena *a, u32 bits);
const struct type *lhist_type(struct arena *a, s64 min, s64 max, s64 step);

/* The values that bucket b counts, both ends included. */
struct hist_range {
	bool has_lo, has_hi;
	bool is_signed; /* lo and hi are s64 */
	u64 lo, hi;
};

/* The bucket of a value, as the programs compute it. */
u32 hist_bucket(const struct type *t, s64 v);
struct hist_range hist_range(const struct type *t, u32 b);
/* "[4, 8)", "[5]", "(..., 0)", "[100, ...)" */
void hist_label(const struct type *t, u32 b, struct sbuf *out);
