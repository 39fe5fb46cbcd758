/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash map of the kernel. Other stores lie in front of it. */
#pragma once

#include "ir/store.h"

extern const struct store store_hash;

struct hash_layer {
	struct layer base;
	u32 image_map;  /* index into image.maps */
	bool is_percpu; /* a value for each CPU */
	/* In the shared part of the data map; 0: none. */
	u32 lost_off;  /* a counter of assignments that did not fit … */
	u32 spill_off; /* … and a value that takes the updates which did not fit */
};

static inline const struct hash_layer *hash_layer(const struct layer *y)
{
	return (const struct hash_layer *)y;
}

/* ---- a map of the kernel ---- */

/* For is_sound(): it is there, and is a hash map with these sizes. */
bool hash_map_is(const struct image *img, u32 image_map, u32 key_sz, u32 value_sz, bool is_percpu);
/* Deletes all keys. Returns 0 or -errno. */
int hash_map_clear(struct object *obj, u32 image_map);
/* Keys come and go all the time: nearly full is full. */
bool hash_map_is_full(struct object *obj, u32 image_map, u32 max_entries);

/* Code, where map and key are in registers. p = the address of the element with this key; goes to found, or to missing. */
void hash_look_for(struct lower *l, vreg map, vreg key, vreg p, struct ir_block *found, struct ir_block *missing);
/* The same of one that is missing: p is that of a new one. Goes to found. */
void hash_insert_missing(struct lower *l, const struct layer *y, const struct map *m, vreg map, vreg key, vreg p,
			 struct ir_block *found);
