/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of stores, in the order of preference: a map is stored by the first one that fits. */
#include "image/store.h"

#define STORES(ROW)                                                                                                              \
	ROW(scalar)                                                                                                              \
	ROW(shares)                                                                                                              \
	ROW(sites)                                                                                                               \
	ROW(stack_ids)                                                                                                           \
	ROW(cpu_cells)                                                                                                           \
	ROW(shared_cells)                                                                                                        \
	ROW(short_stacks)                                                                                                        \
	ROW(hash)

#define DECLARE(name) extern const struct store store_##name;
STORES(DECLARE)

#define LIST(name) &store_##name,
static const struct store *const stores[] = { STORES(LIST) };

const struct store *store_at(u32 i)
{
	return i < ARRAY_CNT(stores) ? stores[i] : NULL;
}

const struct store *store_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(stores); i++)
		if (str_eq(stores[i]->name, name))
			return stores[i];
	return NULL;
}
