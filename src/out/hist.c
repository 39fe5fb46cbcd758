#include "out/hist.h"

#include "out/num.h"
#include "out/value.h"

#define BAR_WIDTH 52
#define LABEL_WIDTH 16
#define COUNT_WIDTH 8

u64 hist_count(const u8 *buckets, u32 b)
{
	u64 v;

	memcpy(&v, buckets + 8 * (size_t)b, 8);
	return v;
}

u32 hist_bucket(const struct type *t, s64 v)
{
	const struct hist_shape *h = &t->hist;
	u32 top;

	if (t->kind == T_LHIST) {
		if (v < h->min)
			return 0;
		if (v >= h->max)
			return h->bucket_cnt - 1;
		return 1 + (u32)(((u64)v - (u64)h->min) / (u64)h->step);
	}
	if (v < 0)
		return 0;
	if (v < 1 << h->bits)
		return 1 + (u32)v;
	top = 63 - __builtin_clzll((u64)v);
	return 1 + ((top - h->bits + 1) << h->bits | ((u32)((u64)v >> (top - h->bits)) & ((1u << h->bits) - 1)));
}

/* log2 buckets after number 0: the i-th one starts at (2^k + last k bits of i) << shift. */
static u32 log2_shift(const struct hist_shape *h, u32 i)
{
	return i >> h->bits ? (i >> h->bits) - 1 : 0;
}

static u64 log2_low(const struct hist_shape *h, u32 i)
{
	u32 n = 1u << h->bits;

	return i < n ? i : (u64)(n + (i & (n - 1))) << log2_shift(h, i);
}

static s64 linear_low(const struct hist_shape *h, u32 b)
{
	/* The last regular bucket may be narrower than the others. Unsigned: the sum may pass the largest s64 before it is
	 * cut. */
	u64 above_min = (u64)(b - 1) * (u64)h->step;

	return above_min >= (u64)h->max - (u64)h->min ? h->max : (s64)((u64)h->min + above_min);
}

struct hist_range hist_range(const struct type *t, u32 b)
{
	const struct hist_shape *h = &t->hist;
	struct hist_range r = { .has_lo = b > 0, .has_hi = true, .is_signed = true };

	if (t->kind == T_LHIST) {
		r.has_hi = b + 1 < h->bucket_cnt;
		if (r.has_lo)
			r.lo = (u64)linear_low(h, b);
		if (r.has_hi)
			r.hi = (b ? (u64)linear_low(h, b + 1) : (u64)h->min) - 1;
	} else if (b == 0) {
		r.hi = (u64)-1;
	} else {
		r.is_signed = false;
		r.lo = log2_low(h, b - 1);
		r.hi = r.lo + ((u64)1 << log2_shift(h, b - 1)) - 1;
	}
	return r;
}

/* Where the i-th log2 bucket starts, with K, M … by the power of two of the buckets' width (not of the value). */
static void log2_edge(const struct hist_shape *h, u32 i, struct sbuf *out)
{
	u32 n = 1u << h->bits, shift = log2_shift(h, i);

	if (i < n) {
		num_put_u64(out, i);
		return;
	}
	num_put_u64(out, (u64)(n + (i & (n - 1))) << shift % 10);
	if (shift >= 10)
		sbuf_putc(out, " KMGTPE"[shift / 10]);
}

static void linear_edge(const struct hist_shape *h, s64 v, struct sbuf *out)
{
	if (h->step % 1024 == 0 && v && v % (1 << 20) == 0) {
		num_put_s64(out, v / (1 << 20));
		sbuf_putc(out, 'M');
	} else if (h->step % 1024 == 0 && v && v % 1024 == 0) {
		num_put_s64(out, v / 1024);
		sbuf_putc(out, 'K');
	} else {
		num_put_s64(out, v);
	}
}

void hist_label(const struct type *t, u32 b, struct sbuf *out)
{
	const struct hist_shape *h = &t->hist;
	struct hist_range r = hist_range(t, b);
	bool is_linear = t->kind == T_LHIST;

	if (r.has_lo && r.has_hi && r.lo == r.hi) {
		sbuf_putc(out, '[');
		num_put(out, r.lo, r.is_signed);
		sbuf_putc(out, ']');
		return;
	}
	if (!r.has_lo)
		sbuf_puts(out, "(...");
	else
		sbuf_putc(out, '[');
	if (r.has_lo && is_linear)
		linear_edge(h, (s64)r.lo, out);
	else if (r.has_lo)
		log2_edge(h, b - 1, out);
	sbuf_puts(out, ", ");
	if (!r.has_hi)
		sbuf_puts(out, "...");
	else if (is_linear)
		linear_edge(h, (s64)(r.hi + 1), out);
	else
		log2_edge(h, b, out);
	sbuf_putc(out, ')');
}

bool hist_extent(const struct type *t, const u8 *buckets, u32 *first, u32 *last)
{
	bool any = false;

	for (u32 b = 0; b < t->hist.bucket_cnt; b++) {
		if (!hist_count(buckets, b))
			continue;
		if (!any)
			*first = b;
		*last = b;
		any = true;
	}
	return any;
}

static u64 shown_count(const struct type *t, const u8 *buckets, u32 b, u64 div)
{
	u64 v = hist_count(buckets, b);

	return t->kind == T_HIST && div > 1 ? v / div : v;
}

void hist_text(const struct type *t, const u8 *buckets, u64 div, struct sbuf *out)
{
	u32 first, last;
	u64 most = 0;

	if (!hist_extent(t, buckets, &first, &last))
		return;
	for (u32 b = first; b <= last; b++)
		most = MAX(most, shown_count(t, buckets, b, div));
	for (u32 b = first; b <= last; b++) {
		u64 cnt = shown_count(t, buckets, b, div);
		/* Single precision and truncated: the same width as other implementations draw. */
		u32 width = most ? (u32)((float)cnt / (float)most * BAR_WIDTH) : 0, len;
		char buf[NUM_MAX], *digits = num_dec(buf, cnt, &len);
		size_t start = out->len;

		hist_label(t, b, out);
		if (out->len - start < LABEL_WIDTH)
			sbuf_fill(out, ' ', LABEL_WIDTH - (out->len - start));
		if (len < COUNT_WIDTH)
			sbuf_fill(out, ' ', COUNT_WIDTH - len);
		sbuf_add(out, digits, len);
		sbuf_puts(out, " |");
		sbuf_fill(out, '@', MIN(width, BAR_WIDTH));
		sbuf_fill(out, ' ', BAR_WIDTH - MIN(width, BAR_WIDTH));
		sbuf_puts(out, "|\n");
	}
}

void hist_json(const struct type *t, const u8 *buckets, u64 div, struct sbuf *out)
{
	u32 first = 1, last = 0;

	hist_extent(t, buckets, &first, &last);
	sbuf_putc(out, '[');
	for (u32 b = first; b <= last; b++) {
		struct hist_range r = hist_range(t, b);

		if (b > first)
			sbuf_putc(out, ',');
		sbuf_putc(out, '{');
		if (r.has_lo) {
			sbuf_puts(out, "\"min\": ");
			json_int(out, r.lo, r.is_signed);
			sbuf_puts(out, ", ");
		}
		if (r.has_hi) {
			sbuf_puts(out, "\"max\": ");
			json_int(out, r.hi, r.is_signed);
			sbuf_puts(out, ", ");
		}
		sbuf_puts(out, "\"count\": ");
		json_int(out, shown_count(t, buckets, b, div), false);
		sbuf_putc(out, '}');
	}
	sbuf_putc(out, ']');
}
