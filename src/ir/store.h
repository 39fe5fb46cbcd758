/* SPDX-License-Identifier: GPL-2.0-only */
/* How maps are stored, for the compiler: the other half of image/store.h, which says what stores and layers are.
 *
 * For each map, the first store of the list in store/all.c that fits is chosen. Its lay_out() takes memory in the data map and
 * makes the layer; a store that lies in front of another one calls store_lay_out() for what lies behind it. When the data map is
 * laid out, add_maps() adds kernel maps. Then programs are lowered: lower_map_*() of ir/lower.h call the first layer of the map.
 *
 * Exactness: ++, += and the aggregations never lose an update. On memory, they are atomic instructions. Aggregations are atomic
 * even where each CPU has its own value: an interrupt on the same CPU may update it in between. Updates that do not fit the map
 * are counted, see store.lost.
 */
#pragma once

#include "image/store.h"
#include "ir/lower.h"
#include "lang/fn.h"

/* The data map while it is laid out: bytes taken so far. */
struct data_room {
	u32 shared, cpu; /* of the shared part, of each CPU's part */
	u32 flag_off;    /* a byte in the shared part, for a store whose memory does not tell whether the map has a value */
};

/* size bytes of room.shared or room.cpu: their offset. */
static inline u32 data_take(u32 *at, u32 size, u32 align)
{
	u32 off = ALIGN_UP(*at, align);

	*at = off + size;
	return off;
}

/* A turn for a map with two places (image/store.h): its offset. */
static inline u32 data_take_turn(struct compile *c, struct data_room *room)
{
	c->image->waits = true;
	return data_take(&room->shared, 8, 8);
}

struct store_code {
	/* As the first layer: CPUs update memory of their own here, so they seldom meet at a value behind it. */
	bool keeps_cpus_apart;
	/* Whether it can store the map, from what the script does with it (struct map). front: the first layer's store, if
	 * another one is in front; else NULL. */
	bool (*fits)(const struct compile *c, const struct map *m, const struct store *front);
	/* Makes the layer, if it fits. m->lay has max_entries. */
	struct layer *(*lay_out)(struct compile *c, struct map *m, struct data_room *room, const struct store *front);
	/* Adds the kernel's maps to c->image->maps. What lies behind has added its own before. NULL: there are none. */
	void (*add_maps)(struct compile *c, struct map *m, struct layer *y);

	/* Code for one use of the map in the script. e is the access: E_MAP, with its key. NULL: fits() leaves out maps with such
	 * a use, or there is a function by key (below) that does it. */
	/* Maps without key: the value. */
	struct val (*read)(struct lower *l, struct layer *y, struct expr *e, const struct mem *dst);
	/* Maps with key: looks for the element. Returns its address, which may be NULL. Or goes to `missing`; or sets d to the
	 * value, a scalar, and goes to `done`. *mark: the facts that hold on all these paths. */
	vreg (*seek)(struct lower *l, struct layer *y, struct expr *e, vreg d, u32 *mark, struct ir_block *missing,
		     struct ir_block *done);
	vreg (*find)(struct lower *l, struct layer *y, struct expr *e); /* NULL, or the address of the value */
	void (*assign)(struct lower *l, struct layer *y, struct expr *e, struct expr *value);
	/* Returns the old value if want_old. */
	vreg (*add)(struct lower *l, struct layer *y, struct expr *e, struct opnd delta, bool want_old);
	/* An aggregation: call->call.fn->update() on its share. */
	void (*update)(struct lower *l, struct layer *y, struct expr *e, struct expr *call);
	/* See lower_map_delete(). */
	vreg (*remove)(struct lower *l, struct layer *y, struct expr *e, bool want_missing);
	/* The number of an aggregation over all CPUs. */
	vreg (*read_agg)(struct lower *l, struct layer *y, const struct map *m, struct mem key);
	/* Maps with key: the helper for_each_map_elem(), and what it returns. */
	vreg (*each)(struct lower *l, struct layer *y, vreg callback, struct opnd arg);
	/* The address of all of it, for &@m: of the kernel's map that is in use; without key, of the value. */
	vreg (*whole)(struct lower *l, struct layer *y);

	/* Code by a key that is in memory. */
	vreg (*lookup)(struct lower *l, struct layer *y, struct mem key); /* NULL, or the address of the value */
	/* p = the address of the value, of a new one if need be: never NULL. */
	void (*element)(struct lower *l, struct layer *y, const struct map *m, struct mem key, vreg p);
	void (*put)(struct lower *l, struct layer *y, struct mem key, struct mem val);
	vreg (*drop)(struct lower *l, struct layer *y, struct mem key); /* 0 if there was something, else another number */
};

/* Chooses the store for a map, or for what lies behind the layer of `front`. */
struct layer *store_lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front);
/* Adds the kernel's maps of all layers, from the last to the first. */
void store_add_maps(struct compile *c, struct map *m);

/* ---- for stores: ir/lower_map.c ---- */

/* add() and update() by element(). */
vreg lower_add_by_key(struct lower *l, struct layer *y, struct expr *e, struct opnd delta, bool want_old);
void lower_update_by_key(struct lower *l, struct layer *y, struct expr *e, struct expr *call);
/* Their end: with the address of the value in hand. */
vreg lower_add_at(struct lower *l, vreg p, struct opnd delta, bool want_old);
void lower_update_at(struct lower *l, struct expr *call, vreg p);
/* Arguments are evaluated before the element is looked up: they may call helpers, and a pointer to the element should be live as
 * shortly as possible. lower_update_at() unpins them. */
void lower_pin_args(struct lower *l, struct expr *call);
/* drop(), with the result that remove() has. */
vreg lower_remove_by_key(struct lower *l, struct layer *y, struct mem key, bool want_missing);
/* The program changes the map: values that it read before are not known any more. */
void lower_map_forget(struct lower *l, const struct map *m);

/* Goes to `second` if it is the turn of the second place (store_turn()), else on in a new block. */
void lower_branch_by_turn(struct lower *l, u32 turn_off, struct ir_block *second);

/* The number of an aggregation whose shares all CPUs have one of. share() returns the address of a CPU's, or goes to `none` if
 * there is none of any CPU. */
struct share_source {
	vreg (*share)(struct lower *l, const struct share_source *s, vreg cpu, struct ir_block *none);
	struct layer *layer;
	struct mem key;
};
vreg lower_sum_shares(struct lower *l, const struct type *t, const struct share_source *s);
/* The same of a single share, which lookup() finds. */
vreg lower_sum_one(struct lower *l, const struct type *t, struct layer *y, struct mem key);
