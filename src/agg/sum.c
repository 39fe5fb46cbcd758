/* SPDX-License-Identifier: GPL-2.0-only */
/* sum(): a u64, which may be 0 although there were values. */
#include "agg/agg.h"

extern const struct agg agg_row_sum;

static void check_sum(struct check *k, struct expr *e)
{
	agg_check_sign(e, &agg_row_sum);
}

static void update_sum(struct lower *l, struct expr *e, struct mem share)
{
	struct opnd v = lower_scalar(l, e->call.args[0]);

	ir_atomic_add(&l->b, agg_base(l, share), agg_off(share), 8, v);
}

static u64 updates_of_sum(const struct type *t, const u8 *share, bool *is_exact)
{
	*is_exact = !agg_word(share);
	return agg_word(share);
}

static const struct fn fn_sum = {
	"sum", "(int n) sum", "the sum of all values", "begin { @ = sum(5) }", FN_AGG, check_sum, agg_never_lowered, update_sum,
};

const struct agg agg_row_sum = {
	.name = "sum",
	.fn = &fn_sum,
	.number = &agg_number_word,
	.flags = AGG_SIGNED | AGG_MAY_BE_0,
	.types = AGG_TYPES(agg_row_sum, 8),
	.sharing_cpus = AGG_FEW_CPUS,
	.sum = agg_sum_words,
	.add = agg_add_words,
	.updates = updates_of_sum,
	.rank = agg_rank_number,
	.text = agg_text_number,
	.json = agg_json_number,
};
