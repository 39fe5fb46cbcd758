/* A hash map from strings to pointers. Keys are not copied: they must outlive the map. */
#pragma once

#include "base/base.h"

struct smap_slot {
	const char *key;
	void *val;
};

struct smap {
	struct smap_slot *slot;
	u32 cnt, cap; /* cap is a power of two or 0 */
};

void smap_release(struct smap *m);
/* NULL when absent. */
void *smap_get(const struct smap *m, const char *key);
/* Adds or replaces. val must not be NULL. */
void smap_put(struct smap *m, const char *key, void *val);
u32 str_hash(const char *s);
