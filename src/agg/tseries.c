/* SPDX-License-Identifier: GPL-2.0-only */
#include "agg/tseries.h"

#include <stdio.h>
#include <time.h>

#include "agg/agg.h"
#include "agg/rank.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "base/json.h"
#include "base/num.h"
#include "out/value.h"

enum {
	GRAPH_WIDTH = 53,  /* with its borders */
	SERIES_MAX = 1000, /* a value of a per-CPU map has 32 KiB at most */
};

extern const struct agg agg_row_tseries;

const struct type *tseries_type(struct arena *a, u64 interval, u32 cnt, enum series_fold fold, bool is_signed)
{
	struct type *t = type_agg(a, &agg_row_tseries, cnt, cnt * sizeof(struct series_bucket));

	t->param[SERIES_INTERVAL] = interval;
	t->param[SERIES_FOLD] = fold;
	t->is_signed = is_signed;
	return t;
}

static bool is_sound(const struct type *t)
{
	return t->cnt && t->cnt <= SERIES_MAX && t->size == t->cnt * sizeof(struct series_bucket) &&
		t->param[SERIES_INTERVAL] > 0 && t->param[SERIES_FOLD] >= 0 && t->param[SERIES_FOLD] <= FOLD_MAX;
}

static enum series_fold fold_of(const struct type *t)
{
	return t->param[SERIES_FOLD];
}

/* ---- code ---- */

static const char *const fold_words[] = {
	[FOLD_LAST] = "", [FOLD_SUM] = "sum", [FOLD_AVG] = "avg", [FOLD_MIN] = "min", [FOLD_MAX] = "max"
};

static void check_tseries(struct check *k, struct expr *e)
{
	struct expr **args = e->call.args;
	u64 interval = args[1]->num.value, cnt = args[2]->num.value;
	u32 fold = FOLD_LAST;

	e->type = &type_error;
	if ((s64)interval <= 0) {
		check_fail(k, args[1], E_ARG_TYPE, "tseries() interval must be at least one nanosecond (%lld provided)",
			   (long long)interval);
		return;
	}
	if ((s64)cnt <= 0 || cnt > SERIES_MAX) {
		check_fail(k, args[2], E_ARG_TYPE, "tseries() keeps 1 to %d intervals (%lld provided)", SERIES_MAX,
			   (long long)cnt);
		return;
	}
	if (e->call.arg_cnt > 3) {
		for (fold = FOLD_SUM; fold < ARRAY_CNT(fold_words) && !str_eq(fold_words[fold], args[3]->str.s);)
			fold++;
		if (fold == ARRAY_CNT(fold_words)) {
			check_fail(k, args[3], E_ARG_TYPE, "tseries() cannot combine values by '%s'", args[3]->str.s);
			diag_hint(k->c->diag, "use avg, max, min or sum; without it, each interval keeps its last value");
			return;
		}
	}
	e->type = tseries_type(check_arena(k), interval, cnt, fold, agg_arg_is_signed(e));
}

/* The bucket has an interval of a round before, or none: it starts anew. An interrupt on this CPU may do all of this in between,
 * and put its value there; so nothing is changed that is not as it was found. */
static void renew_bucket(struct lower *l, vreg bucket, vreg found, vreg epoch)
{
	vreg zero = ir_imm(&l->b, 0), value = ir_load(&l->b, bucket, 8, 8), meta = ir_load(&l->b, bucket, 16, 8);

	ir_cmpxchg(&l->b, bucket, 8, value, zero);
	ir_cmpxchg(&l->b, bucket, 16, meta, zero);
	ir_cmpxchg(&l->b, bucket, 0, found, epoch);
}

static void update_tseries(struct lower *l, struct expr *e, struct mem share)
{
	const struct type *t = e->type;
	struct ir_block *clamp = ir_block_new(l->b.f), *inside = ir_block_new(l->b.f), *renew = ir_block_new(l->b.f),
			*put = ir_block_new(l->b.f);
	vreg v = lower_reg(l, e->call.args[0]), now, epoch, i = ir_vreg(l->b.f), bucket, found;

	now = ir_call(&l->b, HELPER_ktime_get_boot_ns, NULL, 0);
	now = ir_alu(&l->b, IR_ADD, now, agg_opnd(l, lower_boot_to_tai(l)));
	epoch = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_DIV, now, agg_opnd(l, t->param[SERIES_INTERVAL])), opnd_imm(1));
	ir_mov_to(&l->b, i, opnd_reg(ir_alu(&l->b, IR_MOD, epoch, opnd_imm(t->cnt))));
	ir_br(&l->b, C_ULT, i, opnd_imm(t->cnt), inside, clamp);
	ir_place(&l->b, clamp); /* for the verifier: it cannot be */
	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_jmp(&l->b, inside);
	ir_place(&l->b, inside);
	bucket = ir_alu(&l->b, IR_ADD, lower_addr(l, share),
			opnd_reg(ir_alu(&l->b, IR_MUL, i, opnd_imm(sizeof(struct series_bucket)))));
	found = ir_load(&l->b, bucket, 0, 8);
	ir_br(&l->b, C_EQ, found, opnd_reg(epoch), put, renew);
	ir_place(&l->b, renew);
	renew_bucket(l, bucket, found, epoch);
	ir_jmp(&l->b, put);
	ir_place(&l->b, put);
	switch (fold_of(t)) {
	case FOLD_LAST:
		ir_store(&l->b, bucket, 8, 8, opnd_reg(v));
		lower_fence(l, bucket, 16);
		ir_store(&l->b, bucket, 16, 8, opnd_reg(now));
		return;
	case FOLD_SUM:
		ir_atomic_add(&l->b, bucket, 8, 8, opnd_reg(v));
		return;
	case FOLD_AVG:
		ir_atomic_add(&l->b, bucket, 8, 8, opnd_reg(v));
		ir_atomic_add(&l->b, bucket, 16, 8, opnd_imm(1));
		return;
	case FOLD_MIN:
	case FOLD_MAX:
		v = agg_rank_of(l, v, fold_of(t) == FOLD_MIN, t->is_signed);
		agg_raise_or_set(l, bucket, 8, v);
		return;
	}
}

/* ---- adding up ---- */

static struct series_bucket read_bucket(const u8 *p)
{
	struct series_bucket b = { .epoch = agg_word(p), .meta = agg_word(p + 16) };

	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the value is at least as new: a program stores it first */
	b.value = agg_word(p + 8);
	return b;
}

/* A program gives a bucket its epoch before it puts the first value there: until then there is nothing. A sum of nothing is 0. */
static bool bucket_has_value(enum series_fold fold, const struct series_bucket *b)
{
	switch (fold) {
	case FOLD_LAST:
	case FOLD_AVG:
		return b->meta;
	case FOLD_MIN:
	case FOLD_MAX:
		return b->value || b->meta;
	case FOLD_SUM:
		break;
	}
	return true;
}

/* One interval: of the CPUs' buckets those with the newest epoch count. */
static struct series_bucket sum_bucket(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt)
{
	enum series_fold fold = fold_of(t);
	struct series_bucket all = {};

	for (u32 cpu = 0; cpu < cpu_cnt; cpu++) {
		struct series_bucket b = read_bucket(cpu0 + (size_t)cpu * stride);

		if (!b.epoch || b.epoch < all.epoch || !bucket_has_value(fold, &b))
			continue;
		if (b.epoch > all.epoch) {
			all = b;
			continue;
		}
		switch (fold) {
		case FOLD_LAST:
			if (b.meta > all.meta)
				all = b;
			break;
		case FOLD_SUM:
		case FOLD_AVG:
			all.value += b.value;
			all.meta += b.meta;
			break;
		case FOLD_MIN:
		case FOLD_MAX:
			all.value = MAX(all.value, b.value);
			break;
		}
	}
	if (fold == FOLD_AVG && all.meta)
		all.value = t->is_signed ? (u64)((s64)all.value / (s64)all.meta) : all.value / all.meta;
	else if ((fold == FOLD_MIN || fold == FOLD_MAX) && all.epoch)
		all.value = agg_unrank(fold == FOLD_MIN, t->is_signed, all.value);
	return all;
}

static bool sum_series(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	bool any = false;

	for (u32 i = 0; i < t->cnt; i++) {
		struct series_bucket b = sum_bucket(t, cpu0 + i * sizeof(b), stride, cpu_cnt);

		any |= b.epoch != 0;
		memcpy(out + i * sizeof(b), &b, sizeof(b));
	}
	return any;
}

/* Nobody counts them: how many intervals there are just says that there are some. */
static u64 updates_of_series(const struct type *t, const u8 *share, bool *is_exact)
{
	u64 cnt = 0;

	for (u32 i = 0; i < t->cnt; i++)
		cnt += read_bucket(share + i * sizeof(struct series_bucket)).epoch != 0;
	*is_exact = !cnt;
	return cnt;
}

/* ---- text ---- */

static struct series_bucket bucket(const u8 *data, u64 i)
{
	return read_bucket(data + i * sizeof(struct series_bucket));
}

/* The last interval that has a value, 0: none has. Series of one map are shown up to the same one. */
static u64 end_of(const struct type *t, const u8 *data)
{
	u64 end = 0;

	for (u32 i = 0; i < t->cnt; i++)
		end = MAX(end, bucket(data, i).epoch);
	return end;
}

/* The value of interval `epoch`; false: nothing came, or it is too old and another one has its place. */
static bool value_at(const struct type *t, const u8 *data, u64 epoch, u64 *v)
{
	struct series_bucket b = bucket(data, epoch % t->cnt);

	*v = b.value;
	return b.epoch == epoch;
}

/* The first interval with a value, of the t->cnt ones up to end. */
static u64 first_of(const struct type *t, const u8 *data, u64 end)
{
	u64 e = end >= t->cnt ? end - t->cnt + 1 : 1, v;

	while (e <= end && !value_at(t, data, e, &v))
		e++;
	return e;
}

/* When an interval began, by the wall clock. */
static bool start_of(const struct naming *n, const struct type *t, u64 epoch, bool is_utc, struct tm *tm, u32 *frac)
{
	s64 ns = (s64)((epoch - 1) * (u64)t->param[SERIES_INTERVAL]) - n->tai_ahead_ns, sec = ns / 1000000000;
	time_t when;

	*frac = (u32)(ns % 1000000000 + 1000000000) % 1000000000;
	when = ns < 0 && *frac ? sec - 1 : sec;
	return is_utc ? gmtime_r(&when, tm) != NULL : localtime_r(&when, tm) != NULL;
}

/* How finely times are shown: digits behind the seconds, and what stands above them. */
static u32 digits_of(const struct type *t, const char **head)
{
	if (t->param[SERIES_INTERVAL] % 1000000000 == 0) {
		*head = "hh:mm:ss";
		return 0;
	}
	if (t->param[SERIES_INTERVAL] % 1000000 == 0) {
		*head = "hh:mm:ss.ms ";
		return 3;
	}
	*head = t->param[SERIES_INTERVAL] % 1000 == 0 ? "hh:mm:ss.μs    " : "hh:mm:ss.ns       ";
	return t->param[SERIES_INTERVAL] % 1000 == 0 ? 6 : 9;
}

static void put_time(const struct naming *n, const struct type *t, u64 epoch, u32 digits, struct sbuf *out)
{
	struct tm tm = {};
	char text[16];
	u32 frac;

	start_of(n, t, epoch, false, &tm, &frac);
	sbuf_printf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (!digits)
		return;
	snprintf(text, sizeof(text), "%09u", frac);
	sbuf_putc(out, '.');
	sbuf_add(out, text, digits);
}

static long double as_real(u64 v, bool is_signed)
{
	return is_signed ? (long double)(s64)v : (long double)v;
}

struct scale {
	u64 min, max;
	bool is_signed;
};

static u32 column(const struct scale *s, u64 v)
{
	long double min = as_real(s->min, s->is_signed);

	return (u32)((as_real(v, s->is_signed) - min) / (as_real(s->max, s->is_signed) - min) * (GRAPH_WIDTH - 1));
}

static struct scale scale_of(const struct type *t, const u8 *data, u64 first, u64 end)
{
	struct scale s = { .is_signed = t->is_signed };
	u64 v, lowest = t->is_signed ? (u64)INT64_MIN : 0, highest = t->is_signed ? INT64_MAX : UINT64_MAX;
	bool any = false;

	for (u64 e = first; e <= end; e++) {
		if (!value_at(t, data, e, &v))
			continue;
		if (!any || as_real(v, s.is_signed) < as_real(s.min, s.is_signed))
			s.min = v;
		if (!any || as_real(v, s.is_signed) > as_real(s.max, s.is_signed))
			s.max = v;
		any = true;
	}
	if (s.min == s.max) { /* all values are the same: in the middle */
		s.min -= s.min != lowest;
		s.max += s.max != highest;
	}
	return s;
}

/* The smallest value at the left end of the graph, the largest at the right one. */
static void put_bounds(const struct scale *s, u32 indent, struct sbuf *out)
{
	struct sbuf max = {};
	size_t start;

	num_put(&max, s->max, s->is_signed);
	sbuf_fill(out, ' ', indent);
	start = out->len;
	num_put(out, s->min, s->is_signed);
	while (out->len - start + max.len < GRAPH_WIDTH)
		sbuf_putc(out, ' ');
	sbuf_add(out, max.s, max.len);
	sbuf_putc(out, '\n');
	sbuf_release(&max);
}

static void put_row(const struct scale *s, bool has_value, u64 v, struct sbuf *out)
{
	char row[GRAPH_WIDTH];

	memset(row, ' ', sizeof(row));
	row[0] = row[GRAPH_WIDTH - 1] = '|';
	if (s->is_signed && (s64)s->min < 0 && (s64)s->max > 0)
		row[column(s, 0)] = '.';
	if (has_value)
		row[column(s, v)] = '*';
	sbuf_add(out, row, sizeof(row));
	sbuf_putc(out, ' ');
	if (has_value)
		num_put(out, v, s->is_signed);
	else
		sbuf_putc(out, '-');
	sbuf_putc(out, '\n');
}

static void put_edge(char end, struct sbuf *out)
{
	sbuf_putc(out, end);
	sbuf_fill(out, '_', GRAPH_WIDTH - 2);
	sbuf_putc(out, end);
	sbuf_putc(out, '\n');
}

/* A line for each interval, from the first that has a value. */
static void text_series(const struct show *w, const struct type *t, const u8 *data)
{
	u64 end = w->extent ? w->extent : end_of(t, data), first = first_of(t, data, end), v;
	struct sbuf *out = w->out;
	const char *head;
	struct scale s;
	u32 digits, indent;

	if (!end || first > end) {
		sbuf_puts(out, "<no data>\n");
		return;
	}
	s = scale_of(t, data, first, end);
	digits = digits_of(t, &head);
	indent = 8 + (digits ? 1 + digits : 0) + 1;
	put_bounds(&s, indent, out);
	sbuf_puts(out, head);
	sbuf_putc(out, ' ');
	put_edge('|', out);
	for (u64 e = first; e <= end; e++) {
		bool has_value = value_at(t, data, e, &v);

		put_time(w->n, t, e, digits, out);
		sbuf_putc(out, ' ');
		put_row(&s, has_value, v, out);
	}
	sbuf_fill(out, ' ', indent);
	put_edge('v', out);
	put_bounds(&s, indent, out);
}

static void json_series(const struct show *w, const struct type *t, const u8 *data)
{
	struct json j = json_on(w->out, JSON_TIGHT);
	u64 end = end_of(t, data), v;

	json_open_array(&j, NULL);
	for (u64 e = end ? first_of(t, data, end) : 1; e <= end; e++) {
		struct tm tm = {};
		char start[96];
		u32 frac;

		if (!value_at(t, data, e, &v))
			continue;
		start_of(w->n, t, e, true, &tm, &frac);
		snprintf(start, sizeof(start), "%04d-%02d-%02d %02d:%02d:%02d.%09u", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			 tm.tm_hour, tm.tm_min, tm.tm_sec, frac);
		json_open_object(&j, NULL);
		json_put_text(&j, "interval_start", start);
		json_put_int(&j, "value", v, t->is_signed);
		json_close_object(&j);
	}
	json_close_array(&j);
}

static const struct fn fn_tseries = {
	"tseries",
	"(int n, lit interval, lit intervals, ?strlit fold) tseries",
	"values over time, one for each of the last intervals: its last value, or with fold the avg, max, min or sum of its values",
	"begin { @ = tseries(5, 1s, 10, \"sum\") }",
	FN_AGG,
	check_tseries,
	agg_never_lowered,
	update_tseries,
};

const struct agg agg_row_tseries = {
	.name = "tseries",
	.fn = &fn_tseries,
	.flags = AGG_ROWS,
	.json_kind = "tseries",
	.sum = sum_series,
	.updates = updates_of_series,
	.extent = end_of,
	.is_sound = is_sound,
	.text = text_series,
	.json = json_series,
};
