/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of aggregations: one is known when it is named here. Its function is listed with those of fn/all.c. */
#include "agg/agg.h"
#include "lang/fn.h"

#define AGGREGATIONS(ROW)                                                                                                        \
	ROW(count)                                                                                                               \
	ROW(sum)                                                                                                                 \
	ROW(min)                                                                                                                 \
	ROW(max)                                                                                                                 \
	ROW(avg)                                                                                                                 \
	ROW(stats)                                                                                                               \
	ROW(hist)                                                                                                                \
	ROW(lhist)                                                                                                               \
	ROW(quantiles)                                                                                                           \
	ROW(tseries)

#define DECLARE(name) extern const struct agg agg_row_##name;
AGGREGATIONS(DECLARE)

#define LIST(name) &agg_row_##name,
static const struct agg *const aggs[] = { AGGREGATIONS(LIST) };

const struct agg *agg_at(u32 i)
{
	return i < ARRAY_CNT(aggs) ? aggs[i] : NULL;
}

const struct agg *agg_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(aggs); i++)
		if (str_eq(aggs[i]->name, name))
			return aggs[i];
	return NULL;
}

static const struct fn *fn_of(u32 i)
{
	return aggs[i]->fn;
}

const struct fn_family fn_aggregations = { .at = fn_of, .cnt = ARRAY_CNT(aggs) };
