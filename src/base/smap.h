/* SPDX-License-Identifier: GPL-2.0-only */
/* A map from strings to pointers: a hash table (base/htab.h) over a list. Keys are not copied: they must outlive the map. */
#pragma once

#include "base/htab.h"
#include "base/vec.h"

struct smap_entry {
	const char *key;
	void *val;
};

struct smap {
	struct htab table;              /* 1 + index into entries */
	vec(struct smap_entry) entries; /* in the order in which their keys were added */
};

void smap_release(struct smap *m);
/* NULL when absent. */
void *smap_get(const struct smap *m, const char *key);
/* Adds or replaces. val must not be NULL. */
void smap_put(struct smap *m, const char *key, void *val);
