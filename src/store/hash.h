/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash map of the kernel. Other stores lie in front of it. */
#pragma once

#include "ir/store.h"

extern const struct store store_hash;

/* A map of the kernel, or two that programs use in turn (store_turn()). Maps that are printed and reset in one step
 * (map.is_taken) have two. */
struct hash_maps {
	u32 at[2]; /* indexes into image.maps; the same if there is one */
};

struct hash_layer {
	struct layer base;
	struct hash_maps maps;
	bool is_percpu; /* a value for each CPU */
	/* In the shared part of the data map; 0: none. */
	u32 turn_off;  /* the turn of these maps, and of those of layers in front … */
	u32 lost_off;  /* … a counter of assignments that did not fit … */
	u32 spill_off; /* … and a value that takes the updates which did not fit */
};

static inline const struct hash_layer *hash_layer(const struct layer *y)
{
	return (const struct hash_layer *)y;
}

/* ---- a map of the kernel ---- */

/* For is_sound(): they are there, and are hash maps with these sizes. */
bool hash_maps_are(const struct image *img, const struct hash_maps *maps, u32 key_sz, u32 value_sz, bool is_percpu);
/* The one that programs use, as y (a hash layer) says. */
u32 hash_map_in_use(const struct object *obj, const struct layer *y, const struct hash_maps *maps);
/* Keys come and go all the time: nearly full is full. */
bool hash_map_is_full(struct object *obj, u32 image_map, u32 max_entries);
/* For add_maps(): adds the map, once or twice. */
void hash_add_maps(struct compile *c, const struct layer *y, const struct image_map *map, struct hash_maps *maps);

/* Code, where the key is in a register. map = the map whose turn it is, p = the address of the element with this key; goes to
 * found, or to missing. */
void hash_look_in(struct lower *l, const struct layer *y, const struct hash_maps *maps, vreg map, vreg key, vreg p,
		  struct ir_block *found, struct ir_block *missing);
/* The same of one that is missing: p is that of a new one. Goes to found. */
void hash_insert_missing(struct lower *l, const struct layer *y, const struct map *m, vreg map, vreg key, vreg p,
			 struct ir_block *found);
