/* Buckets of hist() and lhist(): what they stand for and how they are labelled.
 *
 * hist with k extra bits: bucket 0 holds everything below zero. After it, bucket 1 + v is the value v itself for v < 2^k;
 * above that each power of two has 2^k buckets of equal width. So the buckets after the first set of 2^k are numbered by
 *     1 + ((position of the highest bit - k + 1) << k | the k bits after the highest one).
 * lhist: bucket 0 is below min, the last one from max on; step values each between them.
 */
#pragma once

#include "base/sbuf.h"
#include "lang/type.h"

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

/* First and last bucket that counted something; false: none did. */
bool hist_extent(const struct type *t, const u8 *buckets, u32 *first, u32 *last);
u64 hist_count(const u8 *buckets, u32 b);
/* The rows from the first to the last bucket in use. div divides counts of hist, not of lhist; 0 or 1: none. */
void hist_text(const struct type *t, const u8 *buckets, u64 div, struct sbuf *out);
void hist_json(const struct type *t, const u8 *buckets, u64 div, struct sbuf *out);
