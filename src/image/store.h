/* SPDX-License-Identifier: GPL-2.0-only */
/* How maps of the script are stored: a store for each way, one row each.
 *
 * To add one: write store/x.c, which ends in its `const struct store store_x`, and name it in store/all.c. Nothing else
 * distinguishes one store from another. A row has two halves: what user space does is here, what the compiler does is store.code
 * (ir/store.h). image/shared.h has the memory model: read it first.
 *
 * How one map is stored is a chain of layers. A layer is a store and its description for this map: offsets in the data map,
 * indexes of kernel maps. Most maps have one layer. A layer that lies in front of another one serves some keys itself, and passes
 * the rest to the one behind:
 *
 *     @[pid] = count()       cpu_cells → hash
 *     @[kstack] = count()    stack_ids → short_stacks → hash
 *
 * Whoever uses a map calls the first layer. That layer calls the one behind it where it has to.
 */
#pragma once

#include "image/object.h"
#include "types/agg.h"

struct packer;
struct store_code;

/* Each store has a struct of its own that begins with this one. */
struct layer {
	const struct store *store;
	struct layer *behind; /* NULL: this is the last one */
};

struct store {
	const char *name;              /* by which a file names it */
	const struct store_code *code; /* how programs use it: ir/store.h */

	/* Its description: a struct of layer_sz bytes. pack() is called for reading and for writing (image/pack.h), and leaves
	 * out the struct layer. */
	u32 layer_sz;
	void (*pack)(struct packer *p, struct layer *y);
	/* Whether a description from a file is possible: all that user space reads lies inside of the maps, and what lies behind
	 * fits. */
	bool (*is_sound)(const struct image *img, const struct script_map *m, const struct layer *y);

	/* User space, while programs run. Each function returns 0 or -errno. NULL: the compiler uses this store only where nobody
	 * asks for that. */
	/* Reads all entries. d is all zero before. A map without key has one value; d->cnt is 0 if it was never set. */
	int (*read)(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d);
	/* Reads one entry, with one value in d; -ENOENT: there is none. */
	int (*read_key)(struct object *obj, const struct script_map *m, const struct layer *y, const void *key,
			struct map_dump *d);
	/* Reads all entries as read() does, and removes them or sets their values to zero. Each update that programs make
	 * meanwhile is either in d, or in what a later call reads. So it is if the map is taken (struct map); of others, an
	 * update may be in neither. */
	int (*take)(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how,
		    struct map_dump *d);

	/* Losses of this layer alone. NULL: it loses nothing. */
	/* How many updates were lost, or with *is_exact false just that some were. data: the data map. */
	u64 (*lost)(const struct script_map *m, const struct layer *y, const u8 *data, bool *is_exact);
	/* Whether it has no room for new keys. */
	bool (*is_full)(struct object *obj, const struct script_map *m, const struct layer *y);

	/* Work in user space while programs run, for all maps of a script together. NULL: there is none. */
	void *(*open)(struct object *obj); /* before any program runs; NULL: no map of the script is stored this way */
	void (*start)(void *work);         /* programs are attached */
	void (*stop)(void *work);          /* programs are about to be detached. Does not wait */
	void (*close)(void *work);         /* maps are not read any more */
};

/* All rows, in the order of preference: i = 0…; NULL past the last. Defined in store/all.c. */
const struct store *store_at(u32 i);
/* By the name of the row; NULL: there is none. */
const struct store *store_find(const char *name);

/* The work of all stores, see store.open. */
void stores_open(struct object *obj);
void stores_start(struct object *obj);
void stores_stop(struct object *obj);
void stores_close(struct object *obj);
/* What open() returned. */
void *store_work(const struct object *obj, const struct store *s);

/* Two places for a map, of which programs use the one whose turn it is, and the other one is empty. turn_off: of a word in the
 * shared part of the data map, 0 or 1; 0: there is only one place.
 *
 * A program finds a value and then changes it, so what it changes in one that user space removes in between is lost. To take all
 * values, user space changes the turn and waits until programs that began before have ended: nobody uses the first place any
 * more. */
u32 store_turn(const struct object *obj, u32 turn_off);
/* Returns 0 or -errno: the turn is as it was. */
int store_change_turn(struct object *obj, u32 turn_off);

/* Takes size bytes at this offset of each CPU's part of the data map. Returns them one after the other, to be freed; NULL: there
 * is no such memory. */
u8 *store_take_shares(struct object *obj, u32 off, u32 size);

/* Bytes of a value as it is shown: the total of an aggregation, else the value itself. */
static inline u32 store_total_size(const struct type *val)
{
	return val->kind == T_AGG ? agg_total_size(val) : val->size;
}
