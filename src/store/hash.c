/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash map of the kernel, whose key has its natural size. It takes what no other store does.
 *
 * Exactness: an element is looked up and changed in place atomically. A missing element is inserted with BPF_NOEXIST; if another
 * CPU was faster, the update goes to the element that it inserted. Updates that do not fit the map are counted and reported at
 * the end: assignments in a counter (lost_off), the others in one extra value that takes all of them (spill_off). */
#include "store/hash.h"

#include <errno.h>

#include "image/pack.h"
#include "image/shared.h"
#include "image/uapi.h"
#include "ir/store.h"

/* ---- user space ---- */

static void pack(struct packer *p, struct layer *y)
{
	struct hash_layer *h = (struct hash_layer *)y;

	pack_value(p, &h->maps);
	pack_value(p, &h->is_percpu);
	pack_value(p, &h->turn_off);
	pack_value(p, &h->lost_off);
	pack_value(p, &h->spill_off);
}

static bool hash_map_is(const struct image *img, u32 image_map, u32 key_sz, u32 value_sz, bool is_percpu)
{
	const struct image_map *m = image_map < img->maps.cnt ? &img->maps.at[image_map] : NULL;

	if (!m || m->key_sz != MAX(1u, key_sz) || m->value_sz != MAX(1u, value_sz))
		return false;
	return is_percpu ? m->type == BPF_MAP_TYPE_PERCPU_HASH || m->type == BPF_MAP_TYPE_LRU_PERCPU_HASH :
			   m->type == BPF_MAP_TYPE_HASH || m->type == BPF_MAP_TYPE_LRU_HASH;
}

bool hash_maps_are(const struct image *img, const struct hash_maps *maps, u32 key_sz, u32 value_sz, bool is_percpu)
{
	return hash_map_is(img, maps->at[0], key_sz, value_sz, is_percpu) &&
		hash_map_is(img, maps->at[1], key_sz, value_sz, is_percpu);
}

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	const struct hash_layer *h = hash_layer(y);
	u32 shared = img->data.shared_sz;

	return !y->behind && m->key && hash_maps_are(img, &h->maps, m->key->size, m->val->size, h->is_percpu) &&
		!(h->turn_off % 8) && (!h->turn_off || is_within(h->turn_off, 8, shared)) && !(h->lost_off % 8) &&
		!(h->spill_off % 8) && (!h->lost_off || is_within(h->lost_off, 8, shared)) &&
		(!h->spill_off || is_within(h->spill_off, ALIGN_UP((u64)m->val->size, 8), shared));
}

u32 hash_map_in_use(const struct object *obj, const struct layer *y, const struct hash_maps *maps)
{
	return maps->at[store_turn(obj, hash_layer(y)->turn_off)];
}

static u32 map_in_use(const struct object *obj, const struct layer *y)
{
	return hash_map_in_use(obj, y, &hash_layer(y)->maps);
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	return obj->ops->map_read(obj, map_in_use(obj, y), d);
}

static int read_key(struct object *obj, const struct script_map *m, const struct layer *y, const void *key, struct map_dump *d)
{
	u32 cpu_cnt = hash_layer(y)->is_percpu ? obj->image->home.ncpus : 1;
	u32 size = hash_layer(y)->is_percpu ? ALIGN_UP(m->val->size, 8) : m->val->size;
	int err;

	*d = (struct map_dump){ .cnt = 1, .stride = cpu_cnt * size, .cpu_cnt = cpu_cnt, .value_sz = size };
	d->values = xzalloc(d->stride);
	err = obj->ops->map_lookup(obj, map_in_use(obj, y), key, d->values);
	if (err)
		map_dump_release(d);
	return err;
}

/* Gives keys that are in d the value zero again, unless a program was faster to put something there. */
static void insert_zeroes(struct object *obj, u32 map, const struct map_dump *d)
{
	u8 *zeroes = xzalloc(d->stride);

	for (u32 i = 0; i < d->cnt; i++)
		obj->ops->map_update(obj, map, d->keys + (size_t)i * d->key_sz, zeroes, BPF_NOEXIST);
	free(zeroes);
}

/* An empty map is not worth the wait. */
static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	u32 map = map_in_use(obj, y);
	int err = obj->ops->map_read(obj, map, d);

	if (!err && d->cnt && hash_layer(y)->turn_off) {
		map_dump_release(d);
		err = store_change_turn(obj, hash_layer(y)->turn_off);
		if (!err)
			err = obj->ops->map_read(obj, map, d);
	}
	if (!err)
		err = obj->ops->map_delete(obj, map, d->keys, d->cnt);
	if (!err && how == MAP_ZERO)
		insert_zeroes(obj, map_in_use(obj, y), d);
	if (err)
		map_dump_release(d);
	return err;
}

static u64 lost(const struct script_map *m, const struct layer *y, const u8 *data, bool *is_exact)
{
	const struct hash_layer *h = hash_layer(y);
	u64 assigned = h->lost_off ? shared_word(data + h->lost_off) : 0, spilled = 0;

	*is_exact = true;
	if (!h->spill_off)
		return assigned;
	if (type_is_agg(m->val)) {
		spilled = m->val->agg->updates(m->val, data + h->spill_off, is_exact);
	} else if (type_is_integral(m->val)) {
		spilled = shared_word(data + h->spill_off);
		*is_exact = !spilled || !m->adds_sums;
	}
	return assigned + spilled;
}

bool hash_map_is_full(struct object *obj, u32 image_map, u32 max_entries)
{
	struct map_dump d;
	bool full;

	if (obj->ops->map_read(obj, image_map, &d))
		return true;
	full = d.cnt >= max_entries - max_entries / 10;
	map_dump_release(&d);
	return full;
}

static bool is_full(struct object *obj, const struct script_map *m, const struct layer *y)
{
	return hash_map_is_full(obj, map_in_use(obj, y), m->max_entries);
}

/* ---- programs ---- */

static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	return m->has_key;
}

/* Where the updates of an aggregation go: to one value that all CPUs share, if its row allows that for so many CPUs, or to one
 * for each CPU. Where each CPU has a table in front, the CPUs seldom meet at the value behind it, however many there are. */
static bool needs_shares(const struct compile *c, const struct map *m, const struct store *front)
{
	u32 sharing_cpus = m->val->agg->sharing_cpus;
	bool is_apart = front && front->code->keeps_cpus_apart;

	return !sharing_cpus || m->decl || (c->target->ncpus > sharing_cpus && !is_apart);
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	struct hash_layer *h = arena_new(c->arena, struct hash_layer);

	h->base.store = &store_hash;
	h->lost_off = data_take(&room->shared, 8, 8);
	if (type_is_agg(m->val) || type_is_integral(m->val))
		h->spill_off = data_take(&room->shared, ALIGN_UP(m->val->size, 8), 8);
	if (m->is_taken)
		h->turn_off = data_take_turn(c, room);
	h->is_percpu = type_is_agg(m->val) && needs_shares(c, m, front);
	return &h->base;
}

static bool is_lru(const struct map *m)
{
	return m->decl && strstr(m->decl->kind, "lru");
}

static u32 kernel_type(const struct map *m, const struct hash_layer *h)
{
	if (is_lru(m))
		return h->is_percpu ? BPF_MAP_TYPE_LRU_PERCPU_HASH : BPF_MAP_TYPE_LRU_HASH;
	return h->is_percpu ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
}

/* Elements are allocated when they are needed: start-up does not pay for keys that never come. But where entries come and go with
 * every other event, as the start times of a latency do (and nothing is in front of the map), taking one from a list is quicker;
 * and a program that makes many keys in one run may not get the memory for them in time. (An LRU map has such a list anyway.) */
static bool is_preallocated(const struct map *m, const struct hash_layer *h)
{
	enum { ELEMENT_HEAD = 48, BYTES_MAX = 8 << 20 };
	u64 size = ELEMENT_HEAD + ALIGN_UP(m->key->size, 8) + ALIGN_UP(m->val->size, 8);
	bool is_first = m->lay.top == &h->base;

	if (is_lru(m))
		return true;
	return ((m->is_churned && is_first) || m->is_hurried) && !h->is_percpu && m->lay.max_entries * size <= BYTES_MAX;
}

/* "@start" is "start" to the kernel's tools; names have at most 15 letters. */
static const char *kernel_name(struct compile *c, const char *name)
{
	return arena_strndup(c->arena, name[1] ? name + 1 : "anon", MIN(15, strlen(name[1] ? name + 1 : "anon")));
}

void hash_add_maps(struct compile *c, const struct layer *y, const struct image_map *map, struct hash_maps *maps)
{
	for (u32 i = 0; i < 2; i++) {
		maps->at[i] = c->image->maps.cnt;
		if (!i || hash_layer(y)->turn_off)
			avec_push(c->arena, &c->image->maps, *map);
		else
			maps->at[i] = maps->at[0];
	}
}

static void add_maps(struct compile *c, struct map *m, struct layer *y)
{
	struct hash_layer *h = (struct hash_layer *)y;

	hash_add_maps(c, y,
		      &(struct image_map){ .name = kernel_name(c, m->name),
					   .type = kernel_type(m, h),
					   .key_sz = MAX(1, m->key->size),
					   .value_sz = MAX(1, m->val->size),
					   .max_entries = m->lay.max_entries,
					   .flags = is_preallocated(m, h) ? 0 : BPF_F_NO_PREALLOC,
					   .script_map = m->index + 1 },
		      &h->maps);
}

static vreg map_of(struct lower *l, const struct layer *y)
{
	const struct hash_layer *h = hash_layer(y);
	struct ir_block *second, *done;
	vreg map;

	if (!h->turn_off)
		return ir_map(&l->b, h->maps.at[0]);
	second = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	map = ir_vreg(l->b.f);
	lower_branch_by_turn(l, h->turn_off, second);
	ir_mov_to(&l->b, map, opnd_reg(ir_map(&l->b, h->maps.at[0])));
	ir_jmp(&l->b, done);
	ir_place(&l->b, second);
	ir_mov_to(&l->b, map, opnd_reg(ir_map(&l->b, h->maps.at[1])));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return map;
}

static void visit(struct lower *l, u32 map, vreg callback, struct opnd arg, vreg cnt)
{
	ir_mov_to(&l->b, cnt,
		  opnd_reg(ir_call_of(&l->b, HELPER_for_each_map_elem, opnd_reg(ir_map(&l->b, map)), opnd_reg(callback), arg,
				      opnd_imm(0))));
}

/* The kernel's function takes no pointer that may be one of two maps. */
static vreg each(struct lower *l, struct layer *y, vreg callback, struct opnd arg)
{
	const struct hash_layer *h = hash_layer(y);
	struct ir_block *second, *done;
	vreg cnt = ir_vreg(l->b.f);

	if (!h->turn_off) {
		visit(l, h->maps.at[0], callback, arg, cnt);
		return cnt;
	}
	second = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	lower_branch_by_turn(l, hash_layer(y)->turn_off, second);
	visit(l, h->maps.at[0], callback, arg, cnt);
	ir_jmp(&l->b, done);
	ir_place(&l->b, second);
	visit(l, h->maps.at[1], callback, arg, cnt);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return cnt;
}

static vreg whole(struct lower *l, struct layer *y)
{
	return map_of(l, y);
}

static vreg lookup(struct lower *l, struct layer *y, struct mem key)
{
	vreg map = map_of(l, y);

	return ir_call_of(&l->b, HELPER_map_lookup_elem, opnd_reg(map), opnd_reg(lower_addr(l, key)));
}

static void put(struct lower *l, struct layer *y, struct mem key, struct mem val)
{
	struct ir_block *full, *done;
	vreg map = map_of(l, y), err;

	err = ir_call_of(&l->b, HELPER_map_update_elem, opnd_reg(map), opnd_reg(lower_addr(l, key)), opnd_reg(lower_addr(l, val)),
			 opnd_imm(BPF_ANY));
	full = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	ir_br(&l->b, C_NE, err, opnd_imm(0), full, done);
	ir_place(&l->b, full);
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, hash_layer(y)->lost_off), 0, 8, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

static void look_for(struct lower *l, vreg map, vreg key, vreg p, struct ir_block *found, struct ir_block *missing)
{
	ir_mov_to(&l->b, p, opnd_reg(ir_call_of(&l->b, HELPER_map_lookup_elem, opnd_reg(map), opnd_reg(key))));
	ir_br(&l->b, C_NE, p, opnd_imm(0), found, missing);
}

/* A missing element is inserted, zeroed, unless another CPU is faster, and looked up again. An element that was just inserted is
 * normally not removed; if it is, the update may be lost with it. An update that does not fit goes to the map's spill value,
 * where it is counted. */
void hash_insert_missing(struct lower *l, const struct layer *y, const struct map *m, vreg map, vreg key, vreg p,
			 struct ir_block *found)
{
	struct ir_block *full = ir_block_new(l->b.f);
	vreg zeroes = ir_mapval(&l->b, MAP_IDX_CONST, lower_const_zeroes(l, m->val->size));

	ir_call_of(&l->b, HELPER_map_update_elem, opnd_reg(map), opnd_reg(key), opnd_reg(zeroes), opnd_imm(BPF_NOEXIST));
	look_for(l, map, key, p, found, full);
	ir_place(&l->b, full);
	ir_mov_to(&l->b, p, opnd_reg(ir_mapval(&l->b, MAP_IDX_DATA, hash_layer(y)->spill_off)));
	ir_jmp(&l->b, found);
}

/* A lookup for each map: the kernel calls the function of a constant map directly. */
void hash_look_in(struct lower *l, const struct layer *y, const struct hash_maps *maps, vreg map, vreg key, vreg p,
		  struct ir_block *found, struct ir_block *missing)
{
	struct ir_block *second = NULL;

	if (hash_layer(y)->turn_off) {
		second = ir_block_new(l->b.f);
		lower_branch_by_turn(l, hash_layer(y)->turn_off, second);
	}
	ir_mov_to(&l->b, map, opnd_reg(ir_map(&l->b, maps->at[0])));
	look_for(l, map, key, p, found, missing);
	if (!second)
		return;
	ir_place(&l->b, second);
	ir_mov_to(&l->b, map, opnd_reg(ir_map(&l->b, maps->at[1])));
	look_for(l, map, key, p, found, missing);
}

static void element(struct lower *l, struct layer *y, const struct map *m, struct mem key, vreg p)
{
	struct ir_block *missing = ir_block_new(l->b.f), *found = ir_block_new(l->b.f);
	vreg map = ir_vreg(l->b.f), at = lower_addr(l, key);
	u32 mark = lower_mark(l);

	hash_look_in(l, y, &hash_layer(y)->maps, map, at, p, found, missing);
	ir_place(&l->b, missing);
	hash_insert_missing(l, y, m, map, at, p, found);
	ir_place(&l->b, found);
	lower_forget(l, mark);
}

static vreg drop(struct lower *l, struct layer *y, struct mem key)
{
	return ir_call_of(&l->b, HELPER_map_delete_elem, opnd_reg(map_of(l, y)), opnd_reg(lower_addr(l, key)));
}

static vreg share(struct lower *l, const struct share_source *s, vreg cpu, struct ir_block *none)
{
	struct ir_block *found = ir_block_new(l->b.f);
	vreg at = ir_call_of(&l->b, HELPER_map_lookup_percpu_elem, opnd_reg(map_of(l, s->layer)), opnd_reg(lower_addr(l, s->key)),
			     opnd_reg(cpu));

	ir_br(&l->b, C_EQ, at, opnd_imm(0), none, found);
	ir_place(&l->b, found);
	return at;
}

static vreg read_agg(struct lower *l, struct layer *y, const struct map *m, struct mem key)
{
	if (!hash_layer(y)->is_percpu)
		return lower_sum_one(l, m->val, y, key);
	return lower_sum_shares(l, m->val, &(struct share_source){ .share = share, .layer = y, .key = key });
}

static const struct store_code code = {
	.fits = fits,
	.lay_out = lay_out,
	.add_maps = add_maps,
	.read_agg = read_agg,
	.each = each,
	.whole = whole,
	.lookup = lookup,
	.element = element,
	.put = put,
	.drop = drop,
};

const struct store store_hash = {
	.name = "hash",
	.code = &code,
	.layer_sz = sizeof(struct hash_layer),
	.pack = pack,
	.is_sound = is_sound,
	.read = read_map,
	.read_key = read_key,
	.take = take,
	.lost = lost,
	.is_full = is_full,
};
