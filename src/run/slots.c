#include "run/slots.h"

#include <errno.h>
#include <stdlib.h>

#include "run/agg.h"
#include "run/mapread.h"
#include "run/stackids.h"

/* The table of one CPU, or the one that all share. */
struct tables {
	u8 *first;
	size_t stride;
	u32 cnt;
};

static bool find_tables(struct object *obj, const struct map *m, struct tables *t)
{
	const struct data_layout *lay = &obj->image->data;
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);

	if (!data)
		return false;
	if (m->slots.is_percpu)
		*t = (struct tables){ data + lay->shared_sz + m->slots.off, lay->cpu_sz, lay->cpu_cnt };
	else
		*t = (struct tables){ data + m->slots.off, 0, 1 };
	return true;
}

static u8 *slot_at(const struct map *m, const struct tables *t, u32 table, u32 i)
{
	return t->first + table * t->stride + (size_t)i * m->slots.size;
}

/* The key of a slot that has a value; NULL: it has none. *small holds a key that is not in memory. */
static const u8 *key_of(const struct map *m, const u8 *slot, u32 *small)
{
	s64 mark = __atomic_load_n((const s64 *)slot, __ATOMIC_ACQUIRE);

	if (!slot_key_is_small(m->key))
		return mark == SLOT_TAKEN ? slot + 8 : NULL;
	*small = (u32)(mark - 1);
	return mark > 0 ? (const u8 *)small : NULL;
}

/* How many frames a stack has is not known where the kernel's number stands for it, so no stack of the map ends with an address of 0. */
static void trim_stack(const struct map *m, u8 *key)
{
	u8 *cnt_at = key + m->slots.key_sz - 8, *frames = key + m->slots.key_sz;
	u64 cnt, frame;

	memcpy(&cnt, cnt_at, 8);
	for (; cnt; cnt--) {
		memcpy(&frame, frames + 8 * (cnt - 1), 8);
		if (frame)
			break;
	}
	memcpy(cnt_at, &cnt, 8);
}

/* The key of the hash map, of one that ends in a stack's number. */
static void expand_stack(const struct object *obj, const struct map *m, const u8 *head, u8 *key)
{
	u32 head_sz = m->slots.key_sz;
	u64 id, cnt = (m->key->size - head_sz) / 8;
	const u64 *frames;

	memcpy(&id, head + head_sz - 8, 8);
	frames = stack_ids_frames(obj->stack_ids, m, id);
	BUG_ON(!frames); /* or programs would not have used the number */
	memcpy(key, head, head_sz - 8);
	memcpy(key + head_sz - 8, &cnt, 8);
	memcpy(key + head_sz, frames, 8 * cnt);
	trim_stack(m, key);
}

/* An aggregation has one as soon as something was added; a sum, which may be 0 all the same, is never cleared, see lay_out_slots(). */
static bool has_value(const struct map *m, const u8 *value)
{
	u8 total[m->val->size];

	return !type_is_agg(m->val) || m->val->kind == T_SUM || agg_sum(m->val, value, 0, 1, total);
}

static void add_value(const struct type *t, u8 *to, const u8 *value)
{
	u64 a, b;

	if (type_is_agg(t)) {
		agg_add(t, to, value);
		return;
	}
	memcpy(&a, to, 8);
	memcpy(&b, value, 8);
	a += b;
	memcpy(to, &a, 8);
}

/* Which entry of a dump has a key: a table of as many as there are slots, with 1 + index. */
struct index {
	u32 *at;
	u32 mask;
};

static u32 hash_of(const u8 *key, u32 size)
{
	u64 h = 0;

	for (u32 i = 0; i < size; i += 8) {
		u64 word = 0;

		memcpy(&word, key + i, MIN(8, size - i));
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return (u32)h;
}

/* Where the entry with this key is, or where it would be. */
static u32 *find(const struct index *x, const struct map_dump *d, const u8 *key)
{
	u32 i = hash_of(key, d->key_sz) & x->mask;

	while (x->at[i] && memcmp(d->keys + (size_t)(x->at[i] - 1) * d->key_sz, key, d->key_sz) != 0)
		i = (i + 1) & x->mask;
	return &x->at[i];
}

static void add_entry(struct map_dump *d, const u8 *key, const u8 *value, u32 value_sz)
{
	memcpy(d->keys + (size_t)d->cnt * d->key_sz, key, d->key_sz);
	memset(d->values + (size_t)d->cnt * d->stride, 0, d->stride);
	memcpy(d->values + (size_t)d->cnt * d->stride, value, value_sz);
	d->cnt++;
}

/* Entries of the tables, those of one key added up, go to the start of the dump. */
static void gather(const struct object *obj, const struct map *m, const struct tables *t, const struct index *x, struct map_dump *d)
{
	u8 *whole = m->stack_ids.cnt ? xrealloc(NULL, m->key->size) : NULL;

	for (u32 table = 0; table < t->cnt; table++)
		for (u32 i = 0; i < m->slots.cnt; i++) {
			const u8 *slot = slot_at(m, t, table, i), *value = slot + m->slots.val_off;
			u32 small, *place;
			const u8 *key = key_of(m, slot, &small);

			if (!key || !has_value(m, value))
				continue;
			if (whole) {
				expand_stack(obj, m, key, whole);
				key = whole;
			}
			place = find(x, d, key);
			if (*place) {
				add_value(m->val, d->values + (size_t)(*place - 1) * d->stride, value);
				continue;
			}
			add_entry(d, key, value, m->val->size);
			*place = d->cnt;
		}
	free(whole);
}

int slots_read(struct object *obj, const struct map *m, struct map_dump *d)
{
	struct map_dump hash = *d;
	struct index x;
	struct tables t;
	u32 most;

	if (!find_tables(obj, m, &t))
		return -ENODATA;
	most = t.cnt * m->slots.cnt;
	x.mask = 2 * pow2_up(most + (m->stack_ids.cnt ? hash.cnt : 0)) - 1;
	x.at = xzalloc(((size_t)x.mask + 1) * sizeof(*x.at));
	d->cnt = 0;
	d->keys = xrealloc(NULL, ((size_t)most + hash.cnt) * d->key_sz);
	d->values = xrealloc(NULL, ((size_t)most + hash.cnt) * d->stride);
	gather(obj, m, &t, &x, d);
	for (u32 i = 0; i < hash.cnt; i++) {
		u8 *key = hash.keys + (size_t)i * hash.key_sz;
		const u8 *value = hash.values + (size_t)i * hash.stride;
		u32 *place;

		if (m->stack_ids.cnt)
			trim_stack(m, key);
		place = m->slots.is_percpu ? find(&x, d, key) : NULL;
		if (!place || !*place) {
			add_entry(d, key, value, hash.stride);
			if (m->stack_ids.cnt) /* what was trimmed may be there twice */
				*place = d->cnt;
			continue;
		}
		for (u32 cpu = 0; cpu < hash.cpu_cnt; cpu++)
			add_value(m->val, d->values + (size_t)(*place - 1) * d->stride, value + (size_t)cpu * hash.value_sz);
	}
	free(x.at);
	map_dump_release(&hash);
	return 0;
}

int slots_clear(struct object *obj, const struct map *m)
{
	struct tables t;

	if (!find_tables(obj, m, &t))
		return -ENODATA;
	for (u32 table = 0; table < t.cnt; table++)
		for (u32 i = 0; i < m->slots.cnt; i++) {
			u8 *slot = slot_at(m, &t, table, i);
			s64 mark = __atomic_load_n((s64 *)slot, __ATOMIC_RELAXED);

			if (m->slots.is_percpu)
				zero_shared(slot + m->slots.val_off, m->val->size);
			else if (mark > 0) /* a value that comes meanwhile changes it back */
				__atomic_compare_exchange_n((s64 *)slot, &mark, -mark, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		}
	return 0;
}
