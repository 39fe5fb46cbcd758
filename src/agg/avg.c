/* SPDX-License-Identifier: GPL-2.0-only */
/* avg() and stats(): u64 total, u64 count. */
#include "agg/agg.h"

#include "base/json.h"
#include "base/num.h"
#include "out/value.h"

extern const struct agg agg_row_avg, agg_row_stats;

static void check_avg(struct check *k, struct expr *e)
{
	agg_check_sign(e, &agg_row_avg);
}

static void check_stats(struct check *k, struct expr *e)
{
	agg_check_sign(e, &agg_row_stats);
}

static void update_total(struct lower *l, struct expr *e, struct mem share)
{
	struct opnd v = lower_scalar(l, e->call.args[0]);
	vreg base = agg_base(l, share);

	ir_atomic_add(&l->b, base, agg_off(share), 8, v);
	ir_atomic_add(&l->b, base, agg_off(share) + 8, 8, opnd_imm(1));
}

static void fold_avg(struct lower *l, const struct type *t, vreg share, vreg acc, vreg acc2)
{
	ir_alu_to(&l->b, IR_ADD, acc, acc, opnd_reg(ir_load(&l->b, share, 0, 8)));
	ir_alu_to(&l->b, IR_ADD, acc2, acc2, opnd_reg(ir_load(&l->b, share, 8, 8)));
}

static vreg finish_avg(struct lower *l, const struct type *t, vreg total, vreg cnt)
{
	vreg s, v;

	if (!t->is_signed)
		return ir_alu(&l->b, IR_DIV, total, opnd_reg(cnt));
	/* The machine divides unsigned numbers: (|total| / count), with the sign put back by x ^ s - s, s being 0 or -1. */
	s = ir_neg(&l->b, ir_alu(&l->b, IR_SHR, total, opnd_imm(63)));
	v = ir_alu(&l->b, IR_SUB, ir_alu(&l->b, IR_XOR, total, opnd_reg(s)), opnd_reg(s));
	v = ir_alu(&l->b, IR_DIV, v, opnd_reg(cnt));
	return ir_alu(&l->b, IR_SUB, ir_alu(&l->b, IR_XOR, v, opnd_reg(s)), opnd_reg(s));
}

/* The count says whether there is a value, the total may be 0. */
static bool sum_total(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	agg_sum_words(t, cpu0, stride, cpu_cnt, out);
	return agg_word(out + 8) != 0;
}

static u64 updates_of_total(const struct type *t, const u8 *share, bool *is_exact)
{
	return agg_word(share + 8);
}

static u64 average(const struct type *t, const u8 *total)
{
	u64 cnt = agg_word(total + 8);

	return cnt ? value_div(agg_word(total), cnt, t->is_signed) : 0;
}

static u64 rank_average(const struct type *t, const u8 *total)
{
	return average(t, total) ^ (t->is_signed ? (u64)1 << 63 : 0);
}

static void text_avg(const struct show *w, const struct type *t, const u8 *total)
{
	num_put(w->out, value_div(average(t, total), w->div, t->is_signed), t->is_signed);
}

static void json_avg(const struct show *w, const struct type *t, const u8 *total)
{
	json_int(w->out, value_div(average(t, total), w->div, t->is_signed), t->is_signed);
}

static void text_stats(const struct show *w, const struct type *t, const u8 *total)
{
	sbuf_puts(w->out, "{ .count = ");
	num_put_u64(w->out, agg_word(total + 8));
	sbuf_puts(w->out, ", .average = ");
	text_avg(w, t, total);
	sbuf_puts(w->out, ", .total = ");
	num_put(w->out, agg_word(total), t->is_signed);
	sbuf_puts(w->out, " }");
}

static void json_stats(const struct show *w, const struct type *t, const u8 *total)
{
	struct json j = json_on(w->out, JSON_SPACED);

	json_open_object(&j, NULL);
	json_put_int(&j, "count", agg_word(total + 8), false);
	json_value(&j, "average");
	json_avg(w, t, total);
	json_put_int(&j, "total", agg_word(total), t->is_signed);
	json_close_object(&j);
}

static const struct fn fn_avg = {
	"avg",  "(int n) avg", "the average of all values", "begin { @ = avg(5) }",
	FN_AGG, check_avg,     agg_never_lowered,           update_total,
};
static const struct fn fn_stats = {
	"stats",
	"(int n) stats",
	"count, average and total of all values",
	"begin { @ = stats(5) }",
	FN_AGG,
	check_stats,
	agg_never_lowered,
	update_total,
};
static const struct agg_number number = { fold_avg, finish_avg };

const struct agg agg_row_avg = {
	.name = "avg",
	.fn = &fn_avg,
	.number = &number,
	.flags = AGG_SIGNED,
	.types = AGG_TYPES(agg_row_avg, 16),
	.set_words = 1 << 1,
	.sharing_cpus = AGG_FEW_CPUS,
	.json_kind = "stats",
	.sum = sum_total,
	.add = agg_add_words,
	.updates = updates_of_total,
	.rank = rank_average,
	.text = text_avg,
	.json = json_avg,
};

const struct agg agg_row_stats = {
	.name = "stats",
	.fn = &fn_stats,
	.flags = AGG_SIGNED,
	.types = AGG_TYPES(agg_row_stats, 16),
	.set_words = 1 << 1,
	.sharing_cpus = AGG_FEW_CPUS,
	.json_kind = "stats",
	.sum = sum_total,
	.add = agg_add_words,
	.updates = updates_of_total,
	.rank = rank_average,
	.text = text_stats,
	.json = json_stats,
};
