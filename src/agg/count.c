/* SPDX-License-Identifier: GPL-2.0-only */
/* count(): a u64. */
#include "agg/agg.h"

extern const struct agg agg_row_count;

static void check_count(struct check *k, struct expr *e)
{
	e->type = &agg_row_count.types[false];
}

static void update_count(struct lower *l, struct expr *e, struct mem share)
{
	ir_atomic_add(&l->b, agg_base(l, share), agg_off(share), 8, opnd_imm(1));
}

static u64 updates_of_count(const struct type *t, const u8 *share, bool *is_exact)
{
	return agg_word(share);
}

static const struct fn fn_count = {
	"count", "() count",  "how often it was called", "begin { @ = count() }",
	FN_AGG,  check_count, agg_never_lowered,         update_count,
};

const struct agg agg_row_count = {
	.name = "count",
	.fn = &fn_count,
	.number = &agg_number_word,
	.types = AGG_TYPES(agg_row_count, 8),
	.set_words = 1 << 0,
	.sharing_cpus = AGG_FEW_CPUS,
	.sum = agg_sum_words,
	.add = agg_add_words,
	.updates = updates_of_count,
	.rank = agg_rank_number,
	.text = agg_text_number,
	.json = agg_json_number,
};
