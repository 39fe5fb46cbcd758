/* Series of values over time: tseries(). */
#pragma once

#include "out/sink.h"

/* The last interval that has a value, 0: none has. Series of one map are shown up to the same one. */
u64 tseries_end(const struct type *t, const u8 *data);
/* A line for each interval, from the first that has a value. end 0: up to the last that has. */
void tseries_text(const struct naming *n, const struct type *t, const u8 *data, u64 end, struct sbuf *out);
void tseries_json(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out);
