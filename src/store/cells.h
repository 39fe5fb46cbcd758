/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of cells in front of a hash map.
 *
 * A lookup in a hash map is a call, a hash over the key, and a walk through memory that is often not in the cache; insert and
 * delete also take a lock. Maps with small keys have a table in front, in memory that programs address directly. The key selects
 * one cell of it. A cell is claimed by the first key that uses it, permanently; a key whose cell is claimed by another key is in
 * the hash map, as it would be without the table. So a key is never searched in two places, nothing ever moves, and no value can
 * be mistaken for that of another key.
 *
 * A cell is a mark, then the key if it has more than four bytes, then the value. The mark of a small key is the key plus one,
 * negative while it has no value; of a larger one, enum cell_mark. A mark of 0 is an unclaimed cell.
 *
 * Three stores have such a table: store/cpucells.c one for each CPU, store/sharedcells.c one that all CPUs share,
 * store/stackids.c one for each CPU by numbers of stacks. Nothing but what these stores do may touch the elements of their maps.
 */
#pragma once

#include "ir/store.h"

extern const struct store store_cpu_cells, store_shared_cells, store_stack_ids;

enum cell_mark { CELL_FREE, CELL_BEING_CLAIMED, CELL_CLAIMED };
enum { CELL_KEY_MAX = 32 };

struct cells {
	u32 cnt;        /* a power of two */
	u32 size;       /* bytes of one: a mark, the key if it is not in the mark, the value */
	u32 off;        /* of the table: in each CPU's part of the data map, or in the shared part */
	u32 key_sz;     /* bytes of the key: those before the frames where it ends in a stack that has a number */
	u32 val_off;    /* of the value, in a cell */
	bool is_percpu; /* a table for each CPU: values of one key are added up. Else one that all share */
};

struct cells_layer {
	struct layer base;
	struct cells cells;
};

static inline const struct cells *cells_of(const struct layer *y)
{
	return &((const struct cells_layer *)y)->cells;
}

/* The mark is the key plus one. */
static inline bool cell_key_is_small(const struct type *key)
{
	return (key->kind == T_INT || key->kind == T_ENUM) && key->size <= 4;
}

/* ---- user space ---- */

void cells_pack(struct packer *p, struct layer *y);
bool cells_are_sound(const struct image *img, const struct script_map *m, const struct cells *t);
/* A value of each CPU can be added to that of another one. */
bool cells_can_add(const struct type *val);

/* Where keys of cells are not those of the hash map. */
struct cell_keys {
	/* The map's key of that in a cell. */
	void (*expand)(struct object *obj, const struct script_map *m, const struct layer *y, const u8 *in_cell, u8 *key);
	/* Makes one form of several that mean the same. */
	void (*normalize)(const struct script_map *m, const struct layer *y, u8 *key);
};
/* Reads or takes what lies behind, and adds what is in the cells. k: NULL if the keys are the same. how: MAP_KEEP or MAP_CLEAR.
 */
int cells_read(struct object *obj, const struct script_map *m, const struct layer *y, const struct cell_keys *k,
	       enum map_reset how, struct map_dump *d);

/* ---- programs ---- */

/* The largest table that `bytes` have room for, for keys of key_sz bytes; they come on top of the map's limit, so they have to be
 * few beside it. False: too few, or too many. t has is_percpu and key_sz. */
bool cells_plan(const struct map *m, u32 bytes, struct cells *t);
/* How many bytes a table may have. */
u32 cells_bytes(const struct compile *c, bool is_percpu);
/* Lays out what is behind, then the table. */
void cells_lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *s, const struct cells *t,
		   struct cells_layer *y);

struct cell {
	const struct map *map;
	const struct cells *table;
	vreg at;        /* its address */
	vreg mark;      /* what stands there if it belongs to the key, and has a value */
	struct mem key; /* in memory; small keys are not, as the mark tells them */
};
struct cell cell_of(struct lower *l, struct layer *y, struct expr *e);
struct cell cell_by_key(struct lower *l, struct layer *y, const struct map *m, struct mem key); /* of a key that is not small */
struct mem cell_key(struct lower *l, const struct cell *s);                                     /* as the hash map wants it */
struct mem cell_value(const struct cell *s);
/* Claims the cell. Goes to `mine` if the key has it, now if not before, and to `other` if another key has it. */
void cell_claim(struct lower *l, const struct cell *s, struct ir_block *mine, struct ir_block *other);
/* Ends the search for an element: on the path through `mine`, p is the value in the cell; other paths have set it. */
void cell_meet(struct lower *l, const struct cell *s, vreg p, struct ir_block *mine);
