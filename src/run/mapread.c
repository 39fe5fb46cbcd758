/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/mapread.h"

#include <errno.h>
#include <stdlib.h>

#include "out/value.h"
#include "image/store.h"

#define SIGN_BIT ((u64)1 << 63)

static int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

/* Integers compare as signed numbers, u64 too: as it is done elsewhere. Smaller unsigned ones are never negative. */
static bool is_signed_key(const struct type *t)
{
	return t->is_signed || (t->size == 8 && (t->kind == T_INT || t->kind == T_ENUM));
}

static u64 number_rank(const struct type *t, const u8 *data)
{
	u64 v = value_load(t, data);

	return is_signed_key(t) ? v ^ SIGN_BIT : v;
}

static int compare_strings(const u8 *a, const u8 *b, u32 size)
{
	u32 a_len = strnlen((const char *)a, size), b_len = strnlen((const char *)b, size);
	int r = memcmp(a, b, MIN(a_len, b_len));

	return r ? r : compare_u64(a_len, b_len);
}

static int compare_buffers(const struct type *t, const u8 *a, const u8 *b)
{
	const u8 *a_bytes, *b_bytes;
	u32 a_cnt, b_cnt;
	int r;

	value_bytes(t, a, t->size, &a_bytes, &a_cnt);
	value_bytes(t, b, t->size, &b_bytes, &b_cnt);
	r = memcmp(a_bytes, b_bytes, MIN(a_cnt, b_cnt));
	return r ? r : compare_u64(a_cnt, b_cnt);
}

static int compare_opaque(const struct type *t, const u8 *a, const u8 *b)
{
	return t->opaque->order == ORDER_BYTES ? memcmp(a, b, t->size) : compare_u64(value_load(t, a), value_load(t, b));
}

int map_key_compare(const struct type *t, const u8 *a, const u8 *b)
{
	int r = 0;

	switch (t->kind) {
	case T_BOOL:
	case T_INT:
	case T_ENUM:
	case T_POINTER:
	case T_SITE:
		return compare_u64(number_rank(t, a), number_rank(t, b));
	case T_OPAQUE:
		return compare_opaque(t, a, b);
	case T_STRING:
		return compare_strings(a, b, t->size);
	case T_BUFFER:
		return compare_buffers(t, a, b);
	case T_ARRAY:
		for (u32 i = 0; !r && i < t->cnt; i++)
			r = map_key_compare(t->elem, a + (size_t)i * t->elem->size, b + (size_t)i * t->elem->size);
		return r;
	case T_TUPLE:
		for (u32 i = 0; !r && i < t->member_cnt; i++)
			r = map_key_compare(t->members[i].type, a + t->members[i].off, b + t->members[i].off);
		return r;
	case T_KSTACK:
	case T_USTACK:
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_STRUCT:
	case T_AGG:
	case T_KIND_CNT:
		return memcmp(a, b, t->size);
	}
	return 0;
}

/* The start of a key in a form whose bytes compare as the keys do: numbers with the highest byte first and their sign turned,
 * strings without what is behind their NUL. Comparing two of them decides nearly always, without a look at the keys. */
struct prefix {
	u8 bytes[16];
	u32 len; /* of the whole key; more than 16: the prefix does not decide alone */
};

static void prefix_add(struct prefix *p, const void *bytes, u32 used, u32 size)
{
	if (p->len < sizeof(p->bytes))
		memcpy(p->bytes + p->len, bytes, MIN(used, sizeof(p->bytes) - p->len));
	p->len += size;
}

static void prefix_add_number(struct prefix *p, u64 v, u32 size)
{
	v = __builtin_bswap64(v << (64 - 8 * size));
	prefix_add(p, &v, size, size);
}

static void prefix_add_key(struct prefix *p, const struct type *t, const u8 *key)
{
	if (p->len >= sizeof(p->bytes)) {
		p->len = UINT32_MAX / 2;
		return;
	}
	switch (t->kind) {
	case T_BOOL:
	case T_INT:
	case T_ENUM:
	case T_POINTER:
	case T_SITE:
		if (is_signed_key(t))
			prefix_add_number(p, value_load(t, key) ^ (u64)1 << (8 * t->size - 1), t->size);
		else
			prefix_add_number(p, value_load(t, key), t->size);
		return;
	case T_OPAQUE:
		if (t->opaque->order != ORDER_BYTES)
			prefix_add_number(p, value_load(t, key), MIN(t->size, 8));
		if (t->opaque->order == ORDER_NUMBER)
			return;
		break;
	case T_STRING:
		prefix_add(p, key, strnlen((const char *)key, MIN(t->size, sizeof(p->bytes))), t->size);
		return;
	case T_ARRAY:
		for (u32 i = 0; i < t->cnt && p->len < sizeof(p->bytes); i++)
			prefix_add_key(p, t->elem, key + (size_t)i * t->elem->size);
		break;
	case T_TUPLE:
		for (u32 i = 0; i < t->member_cnt && p->len <= sizeof(p->bytes); i++)
			prefix_add_key(p, t->members[i].type, key + t->members[i].off);
		return;
	case T_BUFFER:
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_STRUCT:
	case T_AGG:
	case T_KIND_CNT:
	case T_KSTACK:
	case T_USTACK:
		break;
	}
	p->len = UINT32_MAX / 2; /* left to map_key_compare() */
}

static bool sorts_by_value(const struct type *val)
{
	return val->kind == T_INT || val->kind == T_ENUM || (type_is_agg(val) && val->agg->rank);
}

static u64 value_rank(const struct type *val, const u8 *data)
{
	if (type_is_agg(val))
		return val->agg->rank(val, data);
	return value_load(val, data) ^ (val->is_signed ? SIGN_BIT : 0);
}

struct item {
	u64 value_rank, key_rank[2];
	u32 index;
};

struct order {
	const struct type *key;
	const u8 *keys;
	u32 key_sz;
	bool key_is_exact; /* key_rank decides alone */
};

static bool item_is_less(const struct item *a, const struct item *b, const struct order *o)
{
	const u8 *ka, *kb;
	int r;

	if (a->value_rank != b->value_rank)
		return a->value_rank < b->value_rank;
	if (a->key_rank[0] != b->key_rank[0])
		return a->key_rank[0] < b->key_rank[0];
	if (a->key_rank[1] != b->key_rank[1])
		return a->key_rank[1] < b->key_rank[1];
	if (o->key_is_exact)
		return false;
	ka = o->keys + (size_t)a->index * o->key_sz;
	kb = o->keys + (size_t)b->index * o->key_sz;
	r = map_key_compare(o->key, ka, kb);
	return r ? r < 0 : memcmp(ka, kb, o->key_sz) < 0;
}

/* Merges sorted runs, short ones made by insertion: qsort() would spend more on calling the comparison than on comparing, which
 * shows with a million keys. spare has room for as many items. Returns which of the two holds the result. */
static struct item *sort_items(struct item *items, struct item *spare, u32 cnt, const struct order *o)
{
	const u32 run = 12;

	for (u32 i = 1; i < cnt; i++) {
		struct item it = items[i];
		u32 j = i;

		for (; j % run && item_is_less(&it, &items[j - 1], o); j--)
			items[j] = items[j - 1];
		items[j] = it;
	}
	for (u64 width = run; width < cnt; width *= 2) {
		struct item *swap = items;

		for (u64 at = 0; at < cnt; at += 2 * width) {
			struct item *a = items + at, *a_end = items + MIN(at + width, cnt);
			struct item *b = a_end, *b_end = items + MIN(at + 2 * width, cnt), *to = spare + at;

			while (a < a_end && b < b_end)
				*to++ = item_is_less(b, a, o) ? *b++ : *a++;
			memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
			to += a_end - a;
			memcpy(to, b, (size_t)(b_end - b) * sizeof(*b));
		}
		items = spare;
		spare = swap;
	}
	return items;
}

/* The items above `at` are a heap, the least on top: makes `at` and them one. */
static void sink_item(struct item *items, u32 at, u32 cnt, const struct order *o)
{
	struct item it = items[at];

	for (u32 child; (child = 2 * at + 1) < cnt; at = child) {
		if (child + 1 < cnt && item_is_less(&items[child + 1], &items[child], o))
			child++;
		if (!item_is_less(&items[child], &it, o))
			break;
		items[at] = items[child];
	}
	items[at] = it;
}

static struct item make_item(const struct map_snap *s, u32 i, struct order *o)
{
	const struct map_dump *d = &s->dump;
	struct prefix p = {};
	u64 half[2];

	prefix_add_key(&p, s->view.key, d->keys + (size_t)i * d->key_sz);
	memcpy(half, p.bytes, sizeof(half));
	o->key_is_exact = p.len <= sizeof(p.bytes);
	return (struct item){
		.value_rank = sorts_by_value(s->view.val) ? value_rank(s->view.val, d->values + (size_t)i * d->stride) : 0,
		.key_rank = { __builtin_bswap64(half[0]), __builtin_bswap64(half[1]) },
		.index = i,
	};
}

/* Fills view.entries in order, with all entries or the `top` largest. Those that are too small for them are never kept, let alone
 * sorted: a few of a million cost no more than a look at each. Values lie stride bytes apart and are summed up already. */
static void order_entries(struct map_snap *s, u64 top)
{
	const struct map_dump *d = &s->dump;
	u32 cnt = top && top < d->cnt ? (u32)top : d->cnt;
	struct item *memory = xrealloc(NULL, 2 * (size_t)cnt * sizeof(*memory)), *items = memory;
	struct order o = { .key = s->view.key, .keys = d->keys, .key_sz = d->key_sz };

	for (u32 i = 0; i < cnt; i++)
		items[i] = make_item(s, i, &o);
	for (u32 i = cnt < d->cnt ? cnt / 2 : 0; i-- > 0;)
		sink_item(items, i, cnt, &o);
	for (u32 i = cnt; i < d->cnt; i++) {
		struct item it = make_item(s, i, &o);

		if (!item_is_less(&items[0], &it, &o))
			continue;
		items[0] = it;
		sink_item(items, 0, cnt, &o);
	}
	items = sort_items(items, memory + cnt, cnt, &o);
	s->view.cnt = cnt;
	s->view.entries = xrealloc(NULL, (size_t)cnt * sizeof(*s->view.entries));
	for (u32 i = 0; i < cnt; i++)
		s->view.entries[i] = (struct map_entry){
			.key = d->keys + (size_t)items[i].index * d->key_sz,
			.val = d->values + (size_t)items[i].index * d->stride,
		};
	free(memory);
}

static void sum_in_place(struct map_dump *d, const struct type *val)
{
	for (u32 i = 0; i < d->cnt; i++) {
		u8 *v = d->values + (size_t)i * d->stride;

		agg_sum(val, v, d->value_sz, MAX(1, d->cpu_cnt), v);
	}
}

static void snap_init(struct map_snap *s, const struct script_map *m, s64 div)
{
	*s = (struct map_snap){ .view = { .name = m->name, .key = m->key, .val = m->val, .div = div > 0 ? (u64)div : 0 } };
}

int map_snap_take(struct map_snap *s, struct object *obj, const struct script_map *m, enum map_reset reset, s64 top, s64 div)
{
	int err;

	snap_init(s, m, div);
	if (reset == MAP_KEEP)
		err = m->top->store->read(obj, m, m->top, &s->dump);
	else
		err = m->top->store->take ? m->top->store->take(obj, m, m->top, reset, &s->dump) : -EOPNOTSUPP;
	if (err)
		return err;
	if (type_is_agg(m->val) && !s->dump.is_total)
		sum_in_place(&s->dump, m->val);
	if (!m->key) {
		s->one.val = s->dump.values;
		s->view.entries = &s->one;
		s->view.cnt = s->dump.cnt;
	} else if (s->dump.cnt) {
		order_entries(s, top > 0 ? (u64)top : 0);
	}
	return 0;
}

int map_snap_read(struct map_snap *s, struct object *obj, const struct script_map *m, s64 top, s64 div)
{
	return map_snap_take(s, obj, m, MAP_KEEP, top, div);
}

/* The value of a missing key. */
static void take_zero(struct map_dump *d, const struct type *val)
{
	*d = (struct map_dump){ .cnt = 1, .stride = store_total_size(val), .is_total = true };
	d->values = xzalloc(d->stride);
}

int map_snap_read_key(struct map_snap *s, struct object *obj, const struct script_map *m, const void *key)
{
	const struct store *store = m->top->store;
	int err;

	snap_init(s, m, 0);
	s->view.value_only = true;
	if (!m->key)
		err = store->read(obj, m, m->top, &s->dump);
	else
		err = store->read_key ? store->read_key(obj, m, m->top, key, &s->dump) : -EOPNOTSUPP;
	if (err && err != -ENOENT)
		return err;
	if (err)
		take_zero(&s->dump, m->val);
	else if (type_is_agg(m->val) && !s->dump.is_total)
		sum_in_place(&s->dump, m->val);
	s->one = (struct map_entry){ .key = key, .val = s->dump.values };
	s->view.entries = &s->one;
	s->view.cnt = 1;
	return 0;
}

void map_snap_default(struct map_snap *s, const struct script_map *m)
{
	if (m->key || s->view.cnt)
		return;
	memset(s->dump.values, 0, s->dump.stride);
	s->view.cnt = 1;
}

void map_snap_release(struct map_snap *s)
{
	if (s->view.entries != &s->one)
		free(s->view.entries);
	map_dump_release(&s->dump);
	*s = (struct map_snap){};
}

u64 map_lost(const struct script_map *m, const u8 *data, bool *is_exact)
{
	u64 lost = 0;

	*is_exact = true;
	for (const struct layer *y = m->top; y; y = y->behind) {
		bool is_layer_exact = true;

		if (y->store->lost)
			lost += y->store->lost(m, y, data, &is_layer_exact);
		*is_exact &= is_layer_exact;
	}
	return lost;
}

bool map_is_full(struct object *obj, const struct script_map *m)
{
	for (const struct layer *y = m->top; y; y = y->behind)
		if (y->store->is_full && y->store->is_full(obj, m, y))
			return true;
	return false;
}
