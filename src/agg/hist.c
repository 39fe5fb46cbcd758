/* SPDX-License-Identifier: GPL-2.0-only */
#include "agg/hist.h"

#include "agg/agg.h"
#include "image/image.h"
#include "lang/check.h"
#include "base/json.h"
#include "base/num.h"
#include "out/value.h"

#define BAR_WIDTH 52
#define LABEL_WIDTH 16
#define COUNT_WIDTH 8
#define BITS_MAX 5

extern const struct agg agg_row_hist, agg_row_lhist;

/* ---- buckets ---- */

/* Bucket 0: below zero; 1 + v for v < 2^k; then 2^k buckets for each position of the highest bit from k to 63. */
static u32 log2_cnt(u32 bits)
{
	return 1 + (1u << bits) + ((64 - bits) << bits);
}

static u32 linear_cnt(s64 min, s64 max, s64 step)
{
	return 2 + (u32)(((u64)(max - min) + (u64)step - 1) / (u64)step);
}

const struct type *hist_type(struct arena *a, u32 bits)
{
	u32 cnt = log2_cnt(bits);
	struct type *t = type_agg(a, &agg_row_hist, cnt, 8 * cnt);

	t->param[HIST_BITS] = bits;
	return t;
}

const struct type *lhist_type(struct arena *a, s64 min, s64 max, s64 step)
{
	u32 cnt = linear_cnt(min, max, step);
	struct type *t = type_agg(a, &agg_row_lhist, cnt, 8 * cnt);

	t->param[LHIST_MIN] = min;
	t->param[LHIST_MAX] = max;
	t->param[LHIST_STEP] = step;
	return t;
}

static bool is_linear(const struct type *t)
{
	return t->agg == &agg_row_lhist;
}

static bool is_sound(const struct type *t)
{
	const s64 *p = t->param;

	if (t->size != 8ull * t->cnt)
		return false;
	if (!is_linear(t))
		return p[HIST_BITS] >= 0 && p[HIST_BITS] <= BITS_MAX && t->cnt == log2_cnt((u32)p[HIST_BITS]);
	return p[LHIST_STEP] > 0 && p[LHIST_MIN] < p[LHIST_MAX] &&
		t->cnt == linear_cnt(p[LHIST_MIN], p[LHIST_MAX], p[LHIST_STEP]);
}

static u64 count_of(const u8 *buckets, u32 b)
{
	return agg_word(buckets + 8 * (size_t)b);
}

u32 hist_bucket(const struct type *t, s64 v)
{
	u32 bits = t->param[HIST_BITS], top;

	if (is_linear(t)) {
		if (v < t->param[LHIST_MIN])
			return 0;
		if (v >= t->param[LHIST_MAX])
			return t->cnt - 1;
		return 1 + (u32)(((u64)v - (u64)t->param[LHIST_MIN]) / (u64)t->param[LHIST_STEP]);
	}
	if (v < 0)
		return 0;
	if (v < 1 << bits)
		return 1 + (u32)v;
	top = 63 - __builtin_clzll((u64)v);
	return 1 + ((top - bits + 1) << bits | ((u32)((u64)v >> (top - bits)) & ((1u << bits) - 1)));
}

/* log2 buckets after number 0: the i-th one starts at (2^k + last k bits of i) << shift. */
static u32 log2_shift(const struct type *t, u32 i)
{
	return i >> t->param[HIST_BITS] ? (i >> t->param[HIST_BITS]) - 1 : 0;
}

static u64 log2_low(const struct type *t, u32 i)
{
	u32 n = 1u << t->param[HIST_BITS];

	return i < n ? i : (u64)(n + (i & (n - 1))) << log2_shift(t, i);
}

static s64 linear_low(const struct type *t, u32 b)
{
	/* The last regular bucket may be narrower than the others. Unsigned: the sum may pass the largest s64 before it is
	 * cut. */
	u64 above_min = (u64)(b - 1) * (u64)t->param[LHIST_STEP], min = t->param[LHIST_MIN], max = t->param[LHIST_MAX];

	return (s64)(above_min >= max - min ? max : min + above_min);
}

struct hist_range hist_range(const struct type *t, u32 b)
{
	struct hist_range r = { .has_lo = b > 0, .has_hi = true, .is_signed = true };

	if (is_linear(t)) {
		r.has_hi = b + 1 < t->cnt;
		if (r.has_lo)
			r.lo = (u64)linear_low(t, b);
		if (r.has_hi)
			r.hi = (b ? (u64)linear_low(t, b + 1) : (u64)t->param[LHIST_MIN]) - 1;
	} else if (b == 0) {
		r.hi = (u64)-1;
	} else {
		r.is_signed = false;
		r.lo = log2_low(t, b - 1);
		r.hi = r.lo + ((u64)1 << log2_shift(t, b - 1)) - 1;
	}
	return r;
}

/* ---- text ---- */

/* Where the i-th log2 bucket starts, with K, M … by the power of two of the buckets' width (not of the value). */
static void log2_edge(const struct type *t, u32 i, struct sbuf *out)
{
	u32 n = 1u << t->param[HIST_BITS], shift = log2_shift(t, i);

	if (i < n) {
		num_put_u64(out, i);
		return;
	}
	num_put_u64(out, (u64)(n + (i & (n - 1))) << shift % 10);
	if (shift >= 10)
		sbuf_putc(out, " KMGTPE"[shift / 10]);
}

static void linear_edge(const struct type *t, s64 v, struct sbuf *out)
{
	bool has_units = t->param[LHIST_STEP] % 1024 == 0;

	if (has_units && v && v % (1 << 20) == 0) {
		num_put_s64(out, v / (1 << 20));
		sbuf_putc(out, 'M');
	} else if (has_units && v && v % 1024 == 0) {
		num_put_s64(out, v / 1024);
		sbuf_putc(out, 'K');
	} else {
		num_put_s64(out, v);
	}
}

void hist_label(const struct type *t, u32 b, struct sbuf *out)
{
	struct hist_range r = hist_range(t, b);

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
	if (r.has_lo && is_linear(t))
		linear_edge(t, (s64)r.lo, out);
	else if (r.has_lo)
		log2_edge(t, b - 1, out);
	sbuf_puts(out, ", ");
	if (!r.has_hi)
		sbuf_puts(out, "...");
	else if (is_linear(t))
		linear_edge(t, (s64)(r.hi + 1), out);
	else
		log2_edge(t, b, out);
	sbuf_putc(out, ')');
}

/* First and last bucket that counted something; false: none did. */
static bool extent_of(const struct type *t, const u8 *buckets, u32 *first, u32 *last)
{
	bool any = false;

	for (u32 b = 0; b < t->cnt; b++) {
		if (!count_of(buckets, b))
			continue;
		if (!any)
			*first = b;
		*last = b;
		any = true;
	}
	return any;
}

/* Counts of hist are divided, those of lhist are not. */
static u64 shown_count(const struct show *w, const struct type *t, const u8 *buckets, u32 b)
{
	u64 v = count_of(buckets, b);

	return !is_linear(t) && w->div > 1 ? v / w->div : v;
}

/* The rows from the first to the last bucket in use. */
static void text_hist(const struct show *w, const struct type *t, const u8 *buckets)
{
	struct sbuf *out = w->out;
	u32 first = 1, last = 0;
	u64 most = 0;

	if (!extent_of(t, buckets, &first, &last))
		return;
	for (u32 b = first; b <= last; b++)
		most = MAX(most, shown_count(w, t, buckets, b));
	for (u32 b = first; b <= last; b++) {
		u64 cnt = shown_count(w, t, buckets, b);
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

static void json_hist(const struct show *w, const struct type *t, const u8 *buckets)
{
	struct json j = json_on(w->out, JSON_TIGHT_ARRAYS);
	u32 first = 1, last = 0;

	extent_of(t, buckets, &first, &last);
	json_open_array(&j, NULL);
	for (u32 b = first; b <= last; b++) {
		struct hist_range r = hist_range(t, b);

		json_open_object(&j, NULL);
		if (r.has_lo)
			json_put_int(&j, "min", r.lo, r.is_signed);
		if (r.has_hi)
			json_put_int(&j, "max", r.hi, r.is_signed);
		json_put_int(&j, "count", shown_count(w, t, buckets, b), false);
		json_close_object(&j);
	}
	json_close_array(&j);
}

/* ---- code ---- */

static void check_hist(struct check *k, struct expr *e)
{
	u64 bits = e->call.arg_cnt > 1 ? e->call.args[1]->num.value : 0;

	if (bits > BITS_MAX) {
		check_fail(k, e->call.args[1], E_ARG_TYPE, "hist() takes 0 to 5 extra bits (%llu provided)",
			   (unsigned long long)bits);
		e->type = &type_error;
		return;
	}
	e->type = hist_type(check_arena(k), bits);
}

/* Plain powers of two: three halvings bring the highest set byte down, a table knows the rest. It counts as the buckets do: 1 for
 * the value 0, else 2 + the position of the highest bit; so zero needs no branch of its own. */
static vreg pow2_bucket(struct lower *l, vreg v)
{
	u8 table[256];
	vreg pos = 0, at;

	for (u32 i = 0; i < ARRAY_CNT(table); i++)
		table[i] = i ? 2 + 31 - __builtin_clz(i) : 1;
	for (int s = 32; s >= 8; s /= 2) {
		vreg limit = ir_imm(&l->b, (1ll << s) - 1);
		vreg t = ir_alu(&l->b, IR_SHR, ir_alu(&l->b, IR_SUB, limit, opnd_reg(v)), opnd_imm(63));

		t = ir_alu(&l->b, IR_SHL, t, opnd_imm(__builtin_ctz(s)));
		v = ir_alu(&l->b, IR_SHR, v, opnd_reg(t));
		pos = pos ? ir_alu(&l->b, IR_ADD, pos, opnd_reg(t)) : t;
	}
	/* below 256 already, which the verifier does not know */
	at = ir_alu(&l->b, IR_AND, v, opnd_imm(255));
	at = ir_alu(&l->b, IR_ADD, at, opnd_reg(ir_mapval(&l->b, MAP_IDX_CONST, lower_const(l, table, sizeof(table), 8))));
	return ir_alu(&l->b, IR_ADD, pos, opnd_reg(ir_load(&l->b, at, 0, 1)));
}

/* With k bits more: 1 + v below 2^k, else 1 + 2^k + (position of the highest bit - k) * 2^k + the k bits below it. */
static vreg fine_bucket(struct lower *l, vreg v, u32 k)
{
	struct ir_block *small = ir_block_new(l->b.f), *large = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg bucket = ir_vreg(l->b.f), pos, low;

	ir_br(&l->b, C_ULT, v, opnd_imm(1 << k), small, large);
	ir_place(&l->b, small);
	ir_alu_to(&l->b, IR_ADD, bucket, v, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, large);
	pos = ir_alu(&l->b, IR_SUB, agg_log2(l, v), opnd_imm(k)); /* v >= 2^k: not negative … */
	pos = ir_alu(&l->b, IR_AND, pos, opnd_imm(63));           /* … which the verifier does not know */
	low = ir_alu(&l->b, IR_AND, ir_alu(&l->b, IR_SHR, v, opnd_reg(pos)), opnd_imm((1 << k) - 1));
	pos = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_SHL, pos, opnd_imm(k)), opnd_reg(low));
	ir_alu_to(&l->b, IR_ADD, bucket, pos, opnd_imm(1 + (1 << k)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return bucket;
}

static void update_hist(struct lower *l, struct expr *e, struct mem share)
{
	u32 bits = e->type->param[HIST_BITS], cnt = e->type->cnt;
	struct ir_block *positive = ir_block_new(l->b.f), *over = ir_block_new(l->b.f), *count = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), bucket = ir_vreg(l->b.f);

	ir_mov_to(&l->b, bucket, opnd_imm(0));
	ir_br(&l->b, C_SLT, v, opnd_imm(0), count, positive);
	ir_place(&l->b, positive);
	ir_mov_to(&l->b, bucket, opnd_reg(bits ? fine_bucket(l, v, bits) : pow2_bucket(l, v)));
	ir_br(&l->b, C_ULT, bucket, opnd_imm(cnt), count, over);
	ir_place(&l->b, over);
	ir_mov_to(&l->b, bucket, opnd_imm(cnt - 1)); /* for the verifier: it cannot be */
	ir_jmp(&l->b, count);
	ir_place(&l->b, count);
	agg_count_at(l, share, bucket);
}

static void check_lhist(struct check *k, struct expr *e)
{
	s64 min = e->call.args[1]->num.value, max = e->call.args[2]->num.value, step = e->call.args[3]->num.value;

	if (step <= 0)
		check_fail(k, e->call.args[3], E_ARG_TYPE, "lhist() step must be >= 1 (%lld provided)", (long long)step);
	else if (min > max)
		check_fail(k, e->call.args[1], E_ARG_TYPE, "lhist() min must be less than max (provided min %lld and max %lld)",
			   (long long)min, (long long)max);
	else if (max - min < step)
		check_fail(k, e->call.args[3], E_ARG_TYPE,
			   "lhist() step is too large for the given range (provided step %lld for range %lld)", (long long)step,
			   (long long)(max - min));
	else if ((max - min) / step > 1000)
		check_fail(k, e->call.args[3], E_ARG_TYPE, "lhist() too many buckets, must be <= 1000 (would need %lld)",
			   (long long)((max - min) / step));
	else {
		e->type = lhist_type(check_arena(k), min, max, step);
		return;
	}
	e->type = &type_error;
}

static void update_lhist(struct lower *l, struct expr *e, struct mem share)
{
	const s64 *p = e->type->param;
	u32 cnt = e->type->cnt;
	struct ir_block *not_below = ir_block_new(l->b.f), *inside = ir_block_new(l->b.f), *above = ir_block_new(l->b.f),
			*count = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), bucket = ir_vreg(l->b.f), n;
	struct opnd min = agg_opnd(l, p[LHIST_MIN]), max = agg_opnd(l, p[LHIST_MAX]);

	ir_mov_to(&l->b, bucket, opnd_imm(0));
	ir_br(&l->b, C_SLT, v, min, count, not_below);
	ir_place(&l->b, not_below);
	ir_br(&l->b, C_SGE, v, max, above, inside);
	ir_place(&l->b, above);
	ir_mov_to(&l->b, bucket, opnd_imm(cnt - 1));
	ir_jmp(&l->b, count);
	ir_place(&l->b, inside);
	n = ir_alu(&l->b, IR_SUB, v, opnd_reg(lower_force(l, min)));
	n = ir_alu(&l->b, IR_DIV, n, agg_opnd(l, p[LHIST_STEP]));
	ir_alu_to(&l->b, IR_ADD, bucket, n, opnd_imm(1));
	/* what the comparisons above prove, but not to every verifier */
	ir_br(&l->b, C_UGE, bucket, opnd_imm(cnt - 1), above, count);
	ir_place(&l->b, count);
	agg_count_at(l, share, bucket);
}

static u64 updates_of_hist(const struct type *t, const u8 *buckets, bool *is_exact)
{
	return agg_words_total(t, buckets);
}

static const struct fn fn_hist = {
	"hist",
	"(int n, ?lit bits) hist",
	"a histogram with a bucket for each power of two; bits (0 to 5) divides each bucket into 2^bits",
	"begin { @ = hist(5) }",
	FN_AGG,
	check_hist,
	agg_never_lowered,
	update_hist,
};
static const struct fn fn_lhist = {
	"lhist",
	"(int n, lit min, lit max, lit step) lhist",
	"a histogram with buckets of equal width",
	"begin { @ = lhist(5, 0, 100, 10) }",
	FN_AGG,
	check_lhist,
	agg_never_lowered,
	update_lhist,
};

#define HISTOGRAM(word, function)                                                                                                \
	{                                                                                                                        \
		.name = word, .fn = &function, .flags = AGG_ROWS, .sharing_cpus = AGG_FEW_CPUS, .json_kind = "hist",             \
		.sum = agg_sum_words, .add = agg_add_words, .updates = updates_of_hist, .rank = agg_words_total,                 \
		.is_sound = is_sound, .text = text_hist, .json = json_hist,                                                      \
	}

const struct agg agg_row_hist = HISTOGRAM("hist", fn_hist);
const struct agg agg_row_lhist = HISTOGRAM("lhist", fn_lhist);
