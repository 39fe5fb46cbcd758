/* SPDX-License-Identifier: GPL-2.0-only */
/* tseries(): values over time. */
#pragma once

#include "types/agg.h"

/* What a bucket keeps of the values of its interval. */
enum series_fold { FOLD_LAST, FOLD_SUM, FOLD_AVG, FOLD_MIN, FOLD_MAX };

/* A ring: interval number `epoch - 1`, counted from the start of TAI, is in bucket epoch % cnt. */
struct series_bucket {
	u64 epoch; /* 0: nothing yet */
	u64 value; /* avg: the sum; min, max: a rank, see agg/rank.h; in a total: the value */
	u64 meta;  /* last: when it came; avg: how many came; min, max: is set */
};

/* type.param: nanoseconds, and enum series_fold; type.cnt is the number of buckets. */
enum { SERIES_INTERVAL, SERIES_FOLD };

const struct type *tseries_type(struct arena *a, u64 interval, u32 cnt, enum series_fold fold, bool is_signed);
