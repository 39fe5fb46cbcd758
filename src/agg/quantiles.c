/* SPDX-License-Identifier: GPL-2.0-only */
/* quantiles(): how values are distributed, with a relative error of at most 1/32.
 *
 * Buckets. A number from 0 to 63 has a bucket of its own. Above that each power of two has 16 buckets of equal width, so that the
 * middle of a bucket is at most 1/32 from any of its numbers. The bucket of n has the number n n < 64 64 + 16 * (position of the
 * highest bit - 6) + the 4 bits after it       n >= 64 and that of -n has the same number with a minus sign. These numbers do not
 * depend on the type, so results of different scripts, or of different machines, can be merged by adding the counts of buckets of
 * the same number (JSON has them).
 *
 * A share: u64 rank[words], then u64 count[cnt], buckets in the order of their numbers. Only as many buckets exist as the type of
 * the argument needs: 992 for uint64, 1,952 for int64, 480 and 928 for 32 bits. That is 8 or 16 KB, far too much to keep it for
 * each CPU and key, so all CPUs share the value of a key. Each CPU raises a rank of its own (agg/rank.h), so the largest value is
 * exact, as it is in max(): nobody but an interrupt on the same CPU interferes. In a total, all ranks but the first are 0.
 */
#include "agg/agg.h"
#include "agg/rank.h"
#include "base/json.h"
#include "base/num.h"
#include "lang/check.h"
#include "out/value.h"

enum {
	EXACT = 64, /* numbers below this have buckets of their own */
	EXACT_BITS = 6,
	SUB_BITS = 4, /* larger ones have 2^4 buckets for each power of two */
	SUB_CNT = 1 << SUB_BITS,
	WORDS_MAX = 256, /* with more CPUs, some share a rank */
};

/* type.param */
enum { PARAM_BITS /* 8 to 64: those of the largest argument */, PARAM_WORDS };

extern const struct agg agg_row_quantiles;

/* ---- buckets ---- */

/* The number of the bucket of n, which is not negative. */
static u32 number_of(u64 n)
{
	u32 top;

	if (n < EXACT)
		return n;
	top = 63 - __builtin_clzll(n);
	return EXACT + ((top - EXACT_BITS) << SUB_BITS) + (n >> (top - SUB_BITS) & (SUB_CNT - 1));
}

/* The first of the numbers in a bucket, and how many there are. */
static u64 first_of(u32 number, u64 *width)
{
	u32 shift;

	*width = 1;
	if (number < EXACT)
		return number;
	shift = EXACT_BITS - SUB_BITS + ((number - EXACT) >> SUB_BITS);
	*width = 1ull << shift;
	return (u64)(SUB_CNT + (number & (SUB_CNT - 1))) << shift;
}

static u32 negative_cnt(const struct type *t)
{
	return t->is_signed ? number_of(1ull << (t->param[PARAM_BITS] - 1)) : 0;
}

static u32 bucket_cnt(u32 bits, bool is_signed)
{
	u64 largest = ~0ull >> (64 - bits + is_signed);

	return number_of(largest) + 1 + (is_signed ? number_of(largest + 1) : 0);
}

static const struct type *make_type(struct arena *a, u32 bits, bool is_signed, u32 words)
{
	u32 cnt = bucket_cnt(bits, is_signed);
	struct type *t = type_agg(a, &agg_row_quantiles, cnt, 8 * (words + cnt));

	t->is_signed = is_signed;
	t->param[PARAM_BITS] = bits;
	t->param[PARAM_WORDS] = words;
	return t;
}

static bool is_sound(const struct type *t)
{
	s64 bits = t->param[PARAM_BITS], words = t->param[PARAM_WORDS];

	return bits >= 8 && bits <= 64 && words >= 1 && words <= WORDS_MAX && is_pow2(words) &&
		t->cnt == bucket_cnt(bits, t->is_signed) && t->size == 8 * (words + t->cnt);
}

static u32 counts_off(const struct type *t)
{
	return 8 * t->param[PARAM_WORDS];
}

/* ---- code ---- */

static void check_quantiles(struct check *k, struct expr *e)
{
	u32 words = pow2_up(MIN(k->c->target->ncpus, WORDS_MAX));

	e->type = make_type(check_arena(k), 8 * e->call.args[0]->type->size, agg_arg_is_signed(e), words);
}

/* The type that holds both, as C would have it. */
static const struct type *join_quantiles(struct arena *a, const struct type *x, const struct type *y)
{
	u32 bits = MAX(x->param[PARAM_BITS], y->param[PARAM_BITS]);
	const struct type *positive = x->is_signed ? y : x;

	if (x->is_signed != y->is_signed && positive->param[PARAM_BITS] == bits)
		bits = MIN(2 * bits, 64);
	return make_type(a, bits, x->is_signed || y->is_signed, x->param[PARAM_WORDS]);
}

/* number_of(n) in code. */
static vreg lower_number(struct lower *l, vreg n)
{
	struct ir_block *small = ir_block_new(l->b.f), *large = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg number = ir_vreg(l->b.f), top, shift, low;

	ir_br(&l->b, C_ULT, n, opnd_imm(EXACT), small, large);
	ir_place(&l->b, small);
	ir_mov_to(&l->b, number, opnd_reg(n));
	ir_jmp(&l->b, done);
	ir_place(&l->b, large);
	top = agg_log2(l, ir_alu(&l->b, IR_SHR, n, opnd_imm(1))); /* of n, minus 1: agg_log2() takes no number of 64 bits */
	shift = ir_alu(&l->b, IR_AND, ir_alu(&l->b, IR_ADD, top, opnd_imm(1 - SUB_BITS)),
		       opnd_imm(63)); /* for the verifier: it is not negative */
	low = ir_alu(&l->b, IR_AND, ir_alu(&l->b, IR_SHR, n, opnd_reg(shift)), opnd_imm(SUB_CNT - 1));
	top = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_SHL, top, opnd_imm(SUB_BITS)), opnd_reg(low));
	ir_alu_to(&l->b, IR_ADD, number, top, opnd_imm(EXACT + ((1 - EXACT_BITS) * SUB_CNT)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return number;
}

static void update_quantiles(struct lower *l, struct expr *e, struct mem share)
{
	const struct type *t = e->type;
	struct ir_block *over = ir_block_new(l->b.f), *count = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), n = v, sign = 0, bucket = ir_vreg(l->b.f), word;

	if (t->is_signed) { /* |v| is (v ^ sign) - sign, sign being 0 or -1 */
		sign = ir_alu(&l->b, IR_SAR, v, opnd_imm(63));
		n = ir_alu(&l->b, IR_SUB, ir_alu(&l->b, IR_XOR, v, opnd_reg(sign)), opnd_reg(sign));
	}
	n = lower_number(l, n);
	if (t->is_signed) {
		n = ir_alu(&l->b, IR_SUB, ir_alu(&l->b, IR_XOR, n, opnd_reg(sign)), opnd_reg(sign));
		n = ir_alu(&l->b, IR_ADD, n, opnd_imm(negative_cnt(t)));
	}
	ir_mov_to(&l->b, bucket, opnd_reg(n));
	ir_br(&l->b, C_ULT, bucket, opnd_imm(t->cnt), count, over);
	ir_place(&l->b, over);
	ir_mov_to(&l->b, bucket, opnd_imm(t->cnt - 1)); /* for the verifier: it cannot be */
	ir_jmp(&l->b, count);
	ir_place(&l->b, count);
	agg_count_at(l, (struct mem){ .base = share.base, .off = share.off + counts_off(t) }, bucket);
	word = ir_alu(&l->b, IR_SHL, ir_alu(&l->b, IR_AND, lower_cpu(l), opnd_imm(t->param[PARAM_WORDS] - 1)), opnd_imm(3));
	word = ir_alu(&l->b, IR_ADD, agg_base(l, share), opnd_reg(word));
	agg_raise(l, word, agg_off(share), agg_rank_of(l, v, false, t->is_signed));
}

/* ---- adding up ---- */

static u64 largest_rank(const struct type *t, const u8 *share)
{
	u64 rank = 0;

	for (u32 off = 0; off < counts_off(t); off += 8)
		rank = MAX(rank, agg_word(share + off));
	return rank;
}

static u64 count_at(const struct type *t, const u8 *share, u32 bucket)
{
	return agg_word(share + counts_off(t) + 8 * (size_t)bucket);
}

static u64 count_of(const struct type *t, const u8 *share)
{
	u64 cnt = 0;

	for (u32 b = 0; b < t->cnt; b++)
		cnt += count_at(t, share, b);
	return cnt;
}

static bool sum_quantiles(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	u64 rank = 0;

	for (u32 cpu = 0; cpu < cpu_cnt; cpu++)
		rank = MAX(rank, largest_rank(t, cpu0 + (size_t)cpu * stride));
	agg_sum_words(t, cpu0, stride, cpu_cnt, out);
	memset(out, 0, counts_off(t));
	if (!count_of(t, out))
		return false;
	memcpy(out, &rank, 8);
	return true;
}

static void add_quantiles(const struct type *t, u8 *to, const u8 *share)
{
	u64 rank = MAX(largest_rank(t, to), largest_rank(t, share));

	agg_add_words(t, to, share);
	memset(to, 0, counts_off(t));
	memcpy(to, &rank, 8);
}

static u64 updates_of_quantiles(const struct type *t, const u8 *share, bool *is_exact)
{
	return count_of(t, share);
}

/* ---- text ---- */

static const struct quantile {
	const char *name;
	u32 share, of; /* of all values */
} quantiles[] = { { "p50", 50, 100 }, { "p90", 90, 100 }, { "p99", 99, 100 }, { "p99.9", 999, 1000 } };

/* Which of cnt sorted values it is, counted from 1. */
static u64 rank_of(const struct quantile *q, u64 cnt)
{
	return ((unsigned __int128)cnt * q->share + q->of - 1) / q->of;
}

struct summary {
	u64 cnt;
	u64 values[ARRAY_CNT(quantiles)];
	u64 max;
};

/* The values of a bucket, from lo to hi, by the sign of the type; the result is the one in the middle. */
static u64 bucket_values(const struct type *t, u32 bucket, u64 *lo, u64 *hi)
{
	s32 number = (s32)bucket - (s32)negative_cnt(t);
	u64 width, first = first_of(number < 0 ? -number : number, &width), last = first + width - 1,
		   middle = first + (width - 1) / 2;

	if (bucket == 0 && number < 0)
		last = middle = first; /* the type's smallest value is the only one */
	*lo = number < 0 ? -last : first;
	*hi = number < 0 ? -first : last;
	return number < 0 ? -middle : middle;
}

static bool is_less(const struct type *t, u64 a, u64 b)
{
	return t->is_signed ? (s64)a < (s64)b : a < b;
}

/* A program may be between counting a value and raising the rank, or user space may have zeroed one but not yet the other: the
 * largest value is taken as one of the last bucket that has any. */
static u64 largest_of(const struct type *t, const u8 *total)
{
	u64 max = agg_unrank(false, t->is_signed, largest_rank(t, total)), lo, hi;
	u32 last = t->cnt - 1;

	while (last && !count_at(t, total, last))
		last--;
	bucket_values(t, last, &lo, &hi);
	return is_less(t, max, lo) ? lo : is_less(t, hi, max) ? hi : max;
}

/* A quantile is the middle of the first bucket up to which there are as many values as it says. Where that takes all of them, it
 * is the largest value. */
static void sum_up(const struct type *t, const u8 *total, struct summary *s)
{
	u64 seen = 0, lo, hi;
	u32 q = 0;

	*s = (struct summary){ .cnt = count_of(t, total) };
	if (!s->cnt)
		return;
	s->max = largest_of(t, total);
	for (u32 b = 0; b < t->cnt && q < ARRAY_CNT(quantiles); b++) {
		seen += count_at(t, total, b);
		for (; q < ARRAY_CNT(quantiles) && seen >= rank_of(&quantiles[q], s->cnt); q++) {
			s->values[q] = bucket_values(t, b, &lo, &hi);
			if (rank_of(&quantiles[q], s->cnt) == s->cnt || is_less(t, s->max, s->values[q]))
				s->values[q] = s->max;
		}
	}
}

static void text_quantiles(const struct show *w, const struct type *t, const u8 *total)
{
	struct summary s;

	sum_up(t, total, &s);
	sbuf_puts(w->out, "count ");
	num_put_u64(w->out, s.cnt);
	if (!s.cnt)
		return;
	for (u32 q = 0; q < ARRAY_CNT(quantiles); q++) {
		sbuf_printf(w->out, ", %s ", quantiles[q].name);
		num_put(w->out, value_div(s.values[q], w->div, t->is_signed), t->is_signed);
	}
	sbuf_puts(w->out, ", max ");
	num_put(w->out, value_div(s.max, w->div, t->is_signed), t->is_signed);
}

static void put_json(struct json *j, const struct show *w, const struct type *t, const char *name, const struct summary *s, u64 v)
{
	if (s->cnt)
		json_put_int(j, name, value_div(v, w->div, t->is_signed), t->is_signed);
	else
		sbuf_puts(json_value(j, name), "null");
}

static void json_quantiles(const struct show *w, const struct type *t, const u8 *total)
{
	struct json j = json_on(w->out, JSON_TIGHT_ARRAYS);
	struct summary s;

	sum_up(t, total, &s);
	json_open_object(&j, NULL);
	json_put_int(&j, "count", s.cnt, false);
	for (u32 q = 0; q < ARRAY_CNT(quantiles); q++)
		put_json(&j, w, t, quantiles[q].name, &s, s.values[q]);
	put_json(&j, w, t, "max", &s, s.max);
	json_open_array(&j, "buckets");
	for (u32 b = 0; b < t->cnt; b++) {
		if (!count_at(t, total, b))
			continue;
		json_open_array(&j, NULL);
		json_put_int(&j, NULL, (s64)b - negative_cnt(t), true);
		json_put_int(&j, NULL, count_at(t, total, b), false);
		json_close_array(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
}

static const struct fn fn_quantiles = {
	"quantiles",
	"(int n) quantiles",
	"count, median, other quantiles and maximum of all values; quantiles have a relative error of at most 1/32",
	"begin { @ = quantiles(5) }",
	FN_AGG,
	check_quantiles,
	agg_never_lowered,
	update_quantiles,
};

const struct agg agg_row_quantiles = {
	.name = "quantiles",
	.fn = &fn_quantiles,
	.sharing_cpus = UINT32_MAX,
	.json_kind = "quantiles",
	.join = join_quantiles,
	.sum = sum_quantiles,
	.add = add_quantiles,
	.updates = updates_of_quantiles,
	.rank = count_of,
	.is_sound = is_sound,
	.text = text_quantiles,
	.json = json_quantiles,
};
