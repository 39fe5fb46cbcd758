/* SPDX-License-Identifier: GPL-2.0-only */
/* A map without key: one value in the data map, or one for each CPU. */
#pragma once

#include "image/store.h"

extern const struct store store_scalar, store_shares;

struct scalar_layer {
	struct layer base;
	u32 data_off; /* of the value: in the shared part (store_scalar), or in each CPU's part (store_shares) */
	u32 flag_off; /* of a byte in the shared part: 1, something was assigned */
	u32 turn_off; /* store_shares: not 0, there are two shares, one after the other (store_turn()) */
};

void scalar_pack(struct packer *p, struct layer *y);
/* Makes the layer: a value at this offset. */
struct layer *scalar_layer_new(struct arena *a, const struct store *s, u32 data_off, u32 flag_off);

static inline const struct scalar_layer *scalar_layer(const struct layer *y)
{
	return (const struct scalar_layer *)y;
}
