/* SPDX-License-Identifier: GPL-2.0-only */
/* min() and max(): u64 rank, u64 is_set (agg/rank.h); the total is the value. */
#include "agg/agg.h"
#include "agg/rank.h"

extern const struct agg agg_row_min, agg_row_max;

static bool is_min(const struct type *t)
{
	return t->agg == &agg_row_min;
}

static void check_min(struct check *k, struct expr *e)
{
	agg_check_sign(e, &agg_row_min);
}

static void check_max(struct check *k, struct expr *e)
{
	agg_check_sign(e, &agg_row_max);
}

static void update_extreme(struct lower *l, struct expr *e, struct mem share)
{
	vreg rank = agg_rank_of(l, lower_reg(l, e->call.args[0]), is_min(e->type), e->type->is_signed), base = agg_base(l, share);

	agg_raise_or_set(l, base, agg_off(share), rank);
}

static void fold_extreme(struct lower *l, const struct type *t, vreg share, vreg acc, vreg acc2)
{
	struct ir_block *take = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg rank = ir_load(&l->b, share, 0, 8);

	ir_alu_to(&l->b, IR_OR, acc2, acc2, opnd_reg(rank));
	ir_alu_to(&l->b, IR_OR, acc2, acc2, opnd_reg(ir_load(&l->b, share, 8, 8)));
	ir_br(&l->b, C_UGT, rank, opnd_reg(acc), take, done);
	ir_place(&l->b, take);
	ir_mov_to(&l->b, acc, opnd_reg(rank));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

static vreg finish_extreme(struct lower *l, const struct type *t, vreg acc, vreg acc2)
{
	return agg_value_of(l, acc, is_min(t), t->is_signed);
}

/* False: the share has no value. */
static bool read_rank(const u8 *share, u64 *rank)
{
	*rank = agg_word(share);
	return *rank || agg_word(share + 8);
}

static bool sum_extreme(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	u64 best = 0, rank, v;
	bool any = false;

	for (u32 cpu = 0; cpu < cpu_cnt; cpu++) {
		if (!read_rank(cpu0 + (size_t)cpu * stride, &rank))
			continue;
		best = any ? MAX(best, rank) : rank;
		any = true;
	}
	v = any ? agg_unrank(is_min(t), t->is_signed, best) : 0;
	memcpy(out, &v, 8);
	return any;
}

static void add_extreme(const struct type *t, u8 *to, const u8 *share)
{
	u64 words[2];

	for (u32 i = 0; i < 2; i++) {
		words[i] = MAX(agg_word(to + 8 * i), agg_word(share + 8 * i));
		memcpy(to + 8 * i, &words[i], 8);
	}
}

static u64 updates_of_extreme(const struct type *t, const u8 *share, bool *is_exact)
{
	u64 rank;
	bool any = read_rank(share, &rank);

	*is_exact = !any;
	return any;
}

static const struct fn fn_min = {
	"min", "(int n) min", "the smallest value", "begin { @ = min(5) }", FN_AGG, check_min, agg_never_lowered, update_extreme,
};
static const struct fn fn_max = {
	"max", "(int n) max", "the largest value", "begin { @ = max(5) }", FN_AGG, check_max, agg_never_lowered, update_extreme,
};
static const struct agg_number number = { fold_extreme, finish_extreme };

#define EXTREME(row, word, function)                                                                                             \
	{                                                                                                                        \
		.name = word, .fn = &function, .number = &number, .flags = AGG_SIGNED, .types = AGG_TYPES(row, 16),              \
		.total_sz = 8, .set_words = 1 << 0 | 1 << 1, .sum = sum_extreme, .add = add_extreme,                             \
		.updates = updates_of_extreme, .rank = agg_rank_number, .text = agg_text_number, .json = agg_json_number,        \
	}

const struct agg agg_row_min = EXTREME(agg_row_min, "min", fn_min);
const struct agg agg_row_max = EXTREME(agg_row_max, "max", fn_max);
