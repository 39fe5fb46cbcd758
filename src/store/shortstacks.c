/* SPDX-License-Identifier: GPL-2.0-only */
/* Aggregations by stack. The kernel hashes and compares whole keys, and a stack that has room for 127 frames is a kilobyte, most
 * of it zeroes. So stacks of few frames have a separate hash map. Its key is a prefix of the full key. */
#include "image/pack.h"
#include "store/stacks.h"

/* ---- user space ---- */

static void pack(struct packer *p, struct layer *y)
{
	struct short_layer *s = (struct short_layer *)y;

	pack_value(p, &s->maps);
	pack_value(p, &s->cnt_off);
	pack_value(p, &s->max);
}

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	const struct short_layer *s = short_layer(y);
	const struct type *t;
	u32 off;

	if (!y->behind || y->behind->store != &store_hash || !store_hash.is_sound(img, m, y->behind))
		return false;
	t = key_last_stack(m->key, &off);
	return t && s->max <= t->cnt && s->cnt_off == off + type_stack_head(t) - 8 &&
		hash_maps_are(img, &s->maps, off + type_stack_head(t) + (s->max << type_frame_shift(t)), m->val->size,
			      hash_layer(y->behind)->is_percpu);
}

/* Keys that lack the frames at their end, which are zero. */
static void add_short(const struct script_map *m, const struct map_dump *few, struct map_dump *d)
{
	u64 cnt = (u64)d->cnt + few->cnt;

	d->key_sz = m->key->size;
	d->stride = few->stride;
	d->cpu_cnt = few->cpu_cnt;
	d->value_sz = few->value_sz;
	d->keys = xrealloc(d->keys, cnt * d->key_sz);
	d->values = xrealloc(d->values, cnt * d->stride);
	memcpy(d->values + (size_t)d->cnt * d->stride, few->values, (size_t)few->cnt * few->stride);
	for (u32 i = 0; i < few->cnt; i++) {
		u8 *key = d->keys + (size_t)(d->cnt + i) * d->key_sz;

		memcpy(key, few->keys + (size_t)i * few->key_sz, few->key_sz);
		memset(key + few->key_sz, 0, d->key_sz - few->key_sz);
	}
	d->cnt = cnt;
}

static u32 map_in_use(const struct object *obj, const struct layer *y)
{
	return hash_map_in_use(obj, y->behind, &short_layer(y)->maps);
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	struct map_dump few = {};
	int err = y->behind->store->read(obj, m, y->behind, d);

	if (!err)
		err = obj->ops->map_read(obj, map_in_use(obj, y), &few);
	if (!err && few.cnt)
		add_short(m, &few, d);
	map_dump_release(&few);
	if (err)
		map_dump_release(d);
	return err;
}

/* Both maps at once: one wait serves both. */
static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	u32 few_map = map_in_use(obj, y), all_map = hash_map_in_use(obj, y->behind, &hash_layer(y->behind)->maps);
	struct map_dump few = {}, all = {};
	int err = read_map(obj, m, y, d);

	if (err || !d->cnt)
		return err;
	map_dump_release(d);
	err = store_change_turn(obj, hash_layer(y->behind)->turn_off);
	if (!err)
		err = obj->ops->map_read(obj, few_map, &few);
	if (!err)
		err = obj->ops->map_read(obj, all_map, &all);
	if (!err)
		err = obj->ops->map_delete(obj, few_map, few.keys, few.cnt);
	if (!err)
		err = obj->ops->map_delete(obj, all_map, all.keys, all.cnt);
	if (!err && few.cnt)
		add_short(m, &few, &all);
	map_dump_release(&few);
	*d = all;
	if (err)
		map_dump_release(d);
	return err;
}

static bool is_full(struct object *obj, const struct script_map *m, const struct layer *y)
{
	return hash_map_is_full(obj, map_in_use(obj, y), m->max_entries);
}

/* ---- programs ---- */

enum { FEW_FRAMES = 24 };

/* Nothing but updates and user space knows of the second map. */
static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	u32 off;
	const struct type *t = m->has_key ? key_last_stack(m->key, &off) : NULL;

	return t && t->cnt >= 2 * FEW_FRAMES && type_is_agg(m->val) && !m->decl && !m->other_uses;
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	struct short_layer *y = arena_new(c->arena, struct short_layer);
	u32 off;
	const struct type *t = key_last_stack(m->key, &off);

	y->base.store = &store_short_stacks;
	y->base.behind = store_hash.code->lay_out(c, m, room, front);
	y->cnt_off = off + type_stack_head(t) - 8;
	y->max = FEW_FRAMES;
	return &y->base;
}

static void add_maps(struct compile *c, struct map *m, struct layer *y)
{
	struct image_map few = c->image->maps.at[hash_layer(y->behind)->maps.at[0]];
	struct short_layer *s = (struct short_layer *)y;
	u32 off;

	few.key_sz = s->cnt_off + 8 + (s->max << type_frame_shift(key_last_stack(m->key, &off)));
	hash_add_maps(c, y->behind, &few, &s->maps);
}

/* The code after the first lookup is shared by both maps. The map pointer is not constant there, so the helper is called
 * indirectly. That is acceptable: a key is inserted once. */
static void element(struct lower *l, struct layer *y, const struct map *m, struct mem key, vreg p)
{
	struct ir_block *few = ir_block_new(l->b.f), *many = ir_block_new(l->b.f), *missing = ir_block_new(l->b.f),
			*found = ir_block_new(l->b.f);
	const struct short_layer *s = short_layer(y);
	vreg map = ir_vreg(l->b.f), at = lower_addr(l, key);
	u32 mark = lower_mark(l);

	ir_br(&l->b, C_ULE, lower_frames(l, (struct mem){ key.base, key.off + s->cnt_off }), opnd_imm(s->max), few, many);
	ir_place(&l->b, few);
	hash_look_in(l, y->behind, &s->maps, map, at, p, found, missing);
	ir_place(&l->b, many);
	hash_look_in(l, y->behind, &hash_layer(y->behind)->maps, map, at, p, found, missing);
	ir_place(&l->b, missing);
	hash_insert_missing(l, y->behind, m, map, at, p, found);
	ir_place(&l->b, found);
	lower_forget(l, mark);
}

static const struct store_code code = { .fits = fits, .lay_out = lay_out, .add_maps = add_maps, .element = element };

const struct store store_short_stacks = {
	.name = "short_stacks",
	.code = &code,
	.layer_sz = sizeof(struct short_layer),
	.pack = pack,
	.is_sound = is_sound,
	.read = read_map,
	.take = take,
	.is_full = is_full,
};
