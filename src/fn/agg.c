/* Map functions: aggregations. A slot holds one CPU's share (lang/type.h has the layout); zeroes mean "nothing yet". Updates are atomic,
 * because an interrupt on the same CPU may update the same slot. */
#include "bpf/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "kern/uapi.h"
#include "lang/check.h"
#include "lang/type.h"

static struct val never_lowered(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() outside of an assignment", e->call.name);
}

static vreg slot_addr(struct lower *l, struct mem slot)
{
	return slot.off > INT16_MAX - 16 ? lower_addr(l, slot) : slot.base;
}

static s64 slot_off(struct mem slot)
{
	return slot.off > INT16_MAX - 16 ? 0 : slot.off;
}

static void check_count(struct check *k, struct expr *e)
{
	e->type = type_agg(T_COUNT, false);
}

static void update_count(struct lower *l, struct expr *e, struct mem slot)
{
	ir_atomic_add(&l->b, slot_addr(l, slot), slot_off(slot), 8, opnd_imm(1));
}

static void check_signed_agg(struct check *k, struct expr *e, enum type_kind kind)
{
	const struct type *t = e->call.args[0]->type;

	/* Literals count as signed. */
	e->type = type_agg(kind, t->is_flexible || t->is_signed);
}

static void check_sum(struct check *k, struct expr *e)
{
	check_signed_agg(k, e, T_SUM);
}

static void update_sum(struct lower *l, struct expr *e, struct mem slot)
{
	struct opnd v = lower_scalar(l, e->call.args[0]);

	ir_atomic_add(&l->b, slot_addr(l, slot), slot_off(slot), 8, v);
}

static void check_min(struct check *k, struct expr *e)
{
	check_signed_agg(k, e, T_MIN);
}

static void check_max(struct check *k, struct expr *e)
{
	check_signed_agg(k, e, T_MAX);
}

static vreg rank_of(struct lower *l, vreg v, bool is_min, bool is_signed)
{
	if (is_signed)
		v = ir_alu(&l->b, IR_XOR, v, opnd_reg(ir_imm(&l->b, INT64_MIN)));
	return is_min ? ir_alu(&l->b, IR_XOR, v, opnd_imm(-1)) : v;
}

/* Raises the rank (run/agg.h) at base + off by compare-and-exchange, and sets the word behind it. Only an interrupt on this CPU can come in
 * between, so a few tries are plenty. */
static void raise_rank(struct lower *l, vreg base, s64 off, vreg rank)
{
	enum { TRIES = 4 };
	struct ir_block *loop = ir_block_new(l->b.f), *try = ir_block_new(l->b.f), *again = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg tries = ir_vreg(l->b.f), cur, seen;

	ir_store(&l->b, base, off + 8, 8, opnd_imm(1));
	ir_mov_to(&l->b, tries, opnd_imm(TRIES));
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	cur = ir_load(&l->b, base, off, 8);
	ir_br(&l->b, C_UGE, cur, opnd_reg(rank), done, try);
	ir_place(&l->b, try);
	seen = ir_cmpxchg(&l->b, base, off, cur, rank);
	ir_br(&l->b, C_EQ, seen, opnd_reg(cur), done, again);
	ir_place(&l->b, again);
	ir_alu_to(&l->b, IR_ADD, tries, tries, opnd_imm(-1));
	ir_br(&l->b, C_NE, tries, opnd_imm(0), loop, done);
	ir_place(&l->b, done);
}

static void update_extreme(struct lower *l, struct expr *e, struct mem slot)
{
	vreg rank = rank_of(l, lower_reg(l, e->call.args[0]), e->type->kind == T_MIN, e->type->is_signed);

	raise_rank(l, slot_addr(l, slot), slot_off(slot), rank);
}

static void check_avg(struct check *k, struct expr *e)
{
	check_signed_agg(k, e, T_AVG);
}

static void check_stats(struct check *k, struct expr *e)
{
	check_signed_agg(k, e, T_STATS);
}

static void update_total(struct lower *l, struct expr *e, struct mem slot)
{
	struct opnd v = lower_scalar(l, e->call.args[0]);
	vreg base = slot_addr(l, slot);

	ir_atomic_add(&l->b, base, slot_off(slot), 8, v);
	ir_atomic_add(&l->b, base, slot_off(slot) + 8, 8, opnd_imm(1));
}

static void check_hist(struct check *k, struct expr *e)
{
	u64 bits = e->call.arg_cnt > 1 ? e->call.args[1]->num.value : 0;

	if (bits > 5) {
		check_fail(k, e->call.args[1], E_ARG_TYPE, "hist() takes 0 to 5 extra bits (%llu provided)", (unsigned long long)bits);
		e->type = &type_error;
		return;
	}
	e->type = type_hist(check_arena(k), bits);
}

static void add_to_bucket(struct lower *l, struct mem slot, vreg bucket)
{
	vreg at = ir_alu(&l->b, IR_SHL, bucket, opnd_imm(3));

	at = ir_alu(&l->b, IR_ADD, slot.base, opnd_reg(at));
	ir_atomic_add(&l->b, slot_addr(l, (struct mem){ .base = at, .off = slot.off }), slot_off(slot), 8, opnd_imm(1));
}

/* The position of the highest bit of v (v > 0), by halving, without branches, so that the verifier walks it once and knows that it is
 * below 64:  if v >= 2^s { v >>= s; pos += s }  is  t = (2^s - 1 - v) >> 63 << log2(s); v >>= t; pos += t.
 * (Kernels before 6.10 forget what they know of a register that is or'ed with another one, but not when they add.) */
static vreg log2_of(struct lower *l, vreg v)
{
	vreg pos = 0;

	for (int s = 32; s; s /= 2) {
		vreg limit = ir_imm(&l->b, (1ll << s) - 1);
		vreg t = ir_alu(&l->b, IR_SHR, ir_alu(&l->b, IR_SUB, limit, opnd_reg(v)), opnd_imm(63));

		t = ir_alu(&l->b, IR_SHL, t, opnd_imm(__builtin_ctz(s)));
		if (s > 1)
			v = ir_alu(&l->b, IR_SHR, v, opnd_reg(t));
		pos = pos ? ir_alu(&l->b, IR_ADD, pos, opnd_reg(t)) : t;
	}
	return pos;
}

/* Plain powers of two: three halvings bring the highest set byte down, a table knows the rest. It counts as the buckets do: 1 for the value
 * 0, else 2 + the position of the highest bit; so zero needs no branch of its own. */
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
	pos = ir_alu(&l->b, IR_SUB, log2_of(l, v), opnd_imm(k)); /* v >= 2^k: not negative … */
	pos = ir_alu(&l->b, IR_AND, pos, opnd_imm(63));          /* … which the verifier does not know */
	low = ir_alu(&l->b, IR_AND, ir_alu(&l->b, IR_SHR, v, opnd_reg(pos)), opnd_imm((1 << k) - 1));
	pos = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_SHL, pos, opnd_imm(k)), opnd_reg(low));
	ir_alu_to(&l->b, IR_ADD, bucket, pos, opnd_imm(1 + (1 << k)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return bucket;
}

static void update_hist(struct lower *l, struct expr *e, struct mem slot)
{
	const struct hist_shape *h = &e->type->hist;
	struct ir_block *positive = ir_block_new(l->b.f), *over = ir_block_new(l->b.f), *count = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), bucket = ir_vreg(l->b.f);

	ir_mov_to(&l->b, bucket, opnd_imm(0));
	ir_br(&l->b, C_SLT, v, opnd_imm(0), count, positive);
	ir_place(&l->b, positive);
	ir_mov_to(&l->b, bucket, opnd_reg(h->bits ? fine_bucket(l, v, h->bits) : pow2_bucket(l, v)));
	ir_br(&l->b, C_ULT, bucket, opnd_imm(h->bucket_cnt), count, over);
	ir_place(&l->b, over);
	ir_mov_to(&l->b, bucket, opnd_imm(h->bucket_cnt - 1)); /* for the verifier: it cannot be */
	ir_jmp(&l->b, count);
	ir_place(&l->b, count);
	add_to_bucket(l, slot, bucket);
}

static void check_lhist(struct check *k, struct expr *e)
{
	s64 min = e->call.args[1]->num.value, max = e->call.args[2]->num.value, step = e->call.args[3]->num.value;

	if (step <= 0)
		check_fail(k, e->call.args[3], E_ARG_TYPE, "lhist() step must be >= 1 (%lld provided)", (long long)step);
	else if (min > max)
		check_fail(k, e->call.args[1], E_ARG_TYPE, "lhist() min must be less than max (provided min %lld and max %lld)", (long long)min, (long long)max);
	else if (max - min < step)
		check_fail(k, e->call.args[3], E_ARG_TYPE, "lhist() step is too large for the given range (provided step %lld for range %lld)", (long long)step, (long long)(max - min));
	else if ((max - min) / step > 1000)
		check_fail(k, e->call.args[3], E_ARG_TYPE, "lhist() too many buckets, must be <= 1000 (would need %lld)", (long long)((max - min) / step));
	else {
		e->type = type_lhist(check_arena(k), min, max, step);
		return;
	}
	e->type = &type_error;
}

static void update_lhist(struct lower *l, struct expr *e, struct mem slot)
{
	const struct hist_shape *h = &e->type->hist;
	struct ir_block *not_below = ir_block_new(l->b.f), *inside = ir_block_new(l->b.f), *above = ir_block_new(l->b.f), *count = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), bucket = ir_vreg(l->b.f), n;
	struct opnd min = h->min == (s32)h->min ? opnd_imm(h->min) : opnd_reg(ir_imm(&l->b, h->min));
	struct opnd max = h->max == (s32)h->max ? opnd_imm(h->max) : opnd_reg(ir_imm(&l->b, h->max));

	ir_mov_to(&l->b, bucket, opnd_imm(0));
	ir_br(&l->b, C_SLT, v, min, count, not_below);
	ir_place(&l->b, not_below);
	ir_br(&l->b, C_SGE, v, max, above, inside);
	ir_place(&l->b, above);
	ir_mov_to(&l->b, bucket, opnd_imm(h->bucket_cnt - 1));
	ir_jmp(&l->b, count);
	ir_place(&l->b, inside);
	n = ir_alu(&l->b, IR_SUB, v, opnd_reg(lower_force(l, min)));
	n = ir_alu(&l->b, IR_DIV, n, h->step == (s32)h->step ? opnd_imm(h->step) : opnd_reg(ir_imm(&l->b, h->step)));
	ir_alu_to(&l->b, IR_ADD, bucket, n, opnd_imm(1));
	/* what the comparisons above prove, but not to every verifier */
	ir_br(&l->b, C_UGE, bucket, opnd_imm(h->bucket_cnt - 1), above, count);
	ir_place(&l->b, count);
	add_to_bucket(l, slot, bucket);
}

/* tseries: a ring of intervals. */

enum { SERIES_MAX = 1000 }; /* a value of a per-CPU map has 32 KiB at most */

static const char *const fold_words[] = { [FOLD_LAST] = "", [FOLD_SUM] = "sum", [FOLD_AVG] = "avg", [FOLD_MIN] = "min", [FOLD_MAX] = "max" };

static void check_tseries(struct check *k, struct expr *e)
{
	struct expr **args = e->call.args;
	u64 interval = args[1]->num.value, cnt = args[2]->num.value;
	const struct type *t = args[0]->type;
	u32 fold = FOLD_LAST;

	e->type = &type_error;
	if ((s64)interval <= 0) {
		check_fail(k, args[1], E_ARG_TYPE, "tseries() interval must be at least one nanosecond (%lld provided)", (long long)interval);
		return;
	}
	if ((s64)cnt <= 0 || cnt > SERIES_MAX) {
		check_fail(k, args[2], E_ARG_TYPE, "tseries() keeps 1 to %d intervals (%lld provided)", SERIES_MAX, (long long)cnt);
		return;
	}
	if (e->call.arg_cnt > 3) {
		for (fold = FOLD_SUM; fold < ARRAY_CNT(fold_words) && !str_eq(fold_words[fold], args[3]->str.s);)
			fold++;
		if (fold == ARRAY_CNT(fold_words)) {
			check_fail(k, args[3], E_ARG_TYPE, "tseries() cannot put values together by '%s'", args[3]->str.s);
			diag_hint(k->c->diag, "avg, max, min or sum; without it the last value of an interval counts");
			return;
		}
	}
	e->type = type_tseries(check_arena(k), interval, cnt, fold, t->is_flexible || t->is_signed);
}

static struct opnd small_or_reg(struct lower *l, s64 v)
{
	return v == (s32)v ? opnd_imm(v) : opnd_reg(ir_imm(&l->b, v));
}

/* The bucket has an interval of a round before, or none: it starts anew. An interrupt on this CPU may do all of this in between, and put its value there;
 * so nothing is changed that is not as it was found. */
static void renew_bucket(struct lower *l, vreg bucket, vreg found, vreg epoch)
{
	vreg zero = ir_imm(&l->b, 0), value = ir_load(&l->b, bucket, 8, 8), meta = ir_load(&l->b, bucket, 16, 8);

	ir_cmpxchg(&l->b, bucket, 8, value, zero);
	ir_cmpxchg(&l->b, bucket, 16, meta, zero);
	ir_cmpxchg(&l->b, bucket, 0, found, epoch);
}

static void update_tseries(struct lower *l, struct expr *e, struct mem slot)
{
	const struct type *t = e->type;
	struct ir_block *clamp = ir_block_new(l->b.f), *inside = ir_block_new(l->b.f), *renew = ir_block_new(l->b.f), *put = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), now, epoch, i = ir_vreg(l->b.f), bucket, found;

	now = ir_call(&l->b, HELPER_ktime_get_boot_ns, NULL, 0);
	now = ir_alu(&l->b, IR_ADD, now, small_or_reg(l, l->c->target->boot_to_tai_ns));
	epoch = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_DIV, now, small_or_reg(l, t->interval)), opnd_imm(1));
	ir_mov_to(&l->b, i, opnd_reg(ir_alu(&l->b, IR_MOD, epoch, opnd_imm(t->cnt))));
	ir_br(&l->b, C_ULT, i, opnd_imm(t->cnt), inside, clamp);
	ir_place(&l->b, clamp); /* for the verifier: it cannot be */
	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_jmp(&l->b, inside);
	ir_place(&l->b, inside);
	bucket = ir_alu(&l->b, IR_ADD, lower_addr(l, slot), opnd_reg(ir_alu(&l->b, IR_MUL, i, opnd_imm(sizeof(struct series_bucket)))));
	found = ir_load(&l->b, bucket, 0, 8);
	ir_br(&l->b, C_EQ, found, opnd_reg(epoch), put, renew);
	ir_place(&l->b, renew);
	renew_bucket(l, bucket, found, epoch);
	ir_jmp(&l->b, put);
	ir_place(&l->b, put);
	switch (t->fold) {
	case FOLD_LAST:
		ir_store(&l->b, bucket, 8, 8, opnd_reg(v));
		ir_store(&l->b, bucket, 16, 8, opnd_reg(now));
		return;
	case FOLD_SUM:
		ir_atomic_add(&l->b, bucket, 8, 8, opnd_reg(v));
		return;
	case FOLD_AVG:
		ir_atomic_add(&l->b, bucket, 8, 8, opnd_reg(v));
		ir_atomic_add(&l->b, bucket, 16, 8, opnd_imm(1));
		return;
	case FOLD_MIN: case FOLD_MAX:
		raise_rank(l, bucket, 8, rank_of(l, v, t->fold == FOLD_MIN, t->is_signed));
		return;
	}
}

static const struct fn rows[] = {
	{ "count", "() count", "how often it was called", "begin { @ = count() }", FN_AGG, check_count, never_lowered, update_count },
	{ "sum", "(int n) sum", "the sum of all values", "begin { @ = sum(5) }", FN_AGG, check_sum, never_lowered, update_sum },
	{ "min", "(int n) min", "the smallest value", "begin { @ = min(5) }", FN_AGG, check_min, never_lowered, update_extreme },
	{ "max", "(int n) max", "the largest value", "begin { @ = max(5) }", FN_AGG, check_max, never_lowered, update_extreme },
	{ "avg", "(int n) avg", "the average of all values", "begin { @ = avg(5) }", FN_AGG, check_avg, never_lowered, update_total },
	{ "stats", "(int n) stats", "count, average and total of all values", "begin { @ = stats(5) }", FN_AGG, check_stats, never_lowered, update_total },
	{ "hist", "(int n, ?lit bits) hist", "a histogram with buckets by powers of two; bits (0 to 5) makes them finer", "begin { @ = hist(5) }", FN_AGG, check_hist, never_lowered, update_hist },
	{ "lhist", "(int n, lit min, lit max, lit step) lhist", "a histogram with buckets of equal width", "begin { @ = lhist(5, 0, 100, 10) }", FN_AGG, check_lhist, never_lowered, update_lhist },
	{ "tseries", "(int n, lit interval, lit intervals, ?strlit fold) tseries", "values over time, for the last so many intervals: the last value of each, or by fold avg, max, min or sum of its values", "begin { @ = tseries(5, 1s, 10, \"sum\") }", FN_AGG, check_tseries, never_lowered, update_tseries },
};

FN_FAMILY(fn_aggregations, rows);
