#include "run/mapread.h"

#include <errno.h>
#include <stdlib.h>

#include "out/hist.h"
#include "out/value.h"
#include "run/agg.h"
#include "run/slots.h"

#define SIGN_BIT ((u64)1 << 63)

u32 map_snap_value_size(const struct type *val)
{
	return type_is_agg(val) ? agg_total_size(val) : val->size;
}

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

int map_key_compare(const struct type *t, const u8 *a, const u8 *b)
{
	int r = 0;

	switch (t->kind) {
	case T_BOOL: case T_INT: case T_ENUM: case T_POINTER: case T_SITE: case T_KSYM: case T_TIMESTAMP:
	case T_USERNAME: case T_CGROUP_PATH:
		return compare_u64(number_rank(t, a), number_rank(t, b));
	case T_USYM:
		return compare_u64(value_load(&type_u64, a), value_load(&type_u64, b));
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
	case T_KSTACK: case T_USTACK: case T_ERROR: case T_NONE: case T_VOID: case T_STRUCT: case T_COUNT: case T_SUM: case T_MIN: case T_MAX: case T_AVG:
	case T_STATS: case T_HIST: case T_LHIST: case T_TSERIES: case T_KIND_CNT:
	case T_INET: case T_MAC:
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
	case T_BOOL: case T_INT: case T_ENUM: case T_POINTER: case T_SITE: case T_KSYM: case T_TIMESTAMP:
	case T_USERNAME: case T_CGROUP_PATH:
		if (is_signed_key(t))
			prefix_add_number(p, value_load(t, key) ^ (u64)1 << (8 * t->size - 1), t->size);
		else
			prefix_add_number(p, value_load(t, key), t->size);
		return;
	case T_USYM:
		prefix_add_number(p, value_load(&type_u64, key), 8);
		p->len = UINT32_MAX / 2;
		return;
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
	case T_BUFFER: case T_ERROR: case T_NONE: case T_VOID: case T_STRUCT: case T_COUNT: case T_SUM: case T_MIN: case T_MAX:
	case T_AVG: case T_STATS: case T_HIST: case T_LHIST: case T_TSERIES: case T_KIND_CNT:
	case T_INET: case T_MAC:
	case T_KSTACK: case T_USTACK:
		break;
	}
	p->len = UINT32_MAX / 2; /* left to map_key_compare() */
}

static bool sorts_by_value(const struct type *val)
{
	return val->kind == T_INT || val->kind == T_ENUM || (type_is_agg(val) && val->kind != T_TSERIES);
}

static u64 value_rank(const struct type *val, const u8 *data)
{
	u64 v = 0;

	if (val->kind == T_HIST || val->kind == T_LHIST) {
		for (u32 b = 0; b < val->hist.bucket_cnt; b++)
			v += hist_count(data, b);
		return v;
	}
	if (val->kind == T_AVG || val->kind == T_STATS)
		v = value_average(val, data);
	else if (type_is_agg(val))
		memcpy(&v, data, 8);
	else
		v = value_load(val, data);
	return val->is_signed ? v ^ SIGN_BIT : v;
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

/* Fills view.entries in order, with all entries or the `top` largest. Those that are too small for them are never kept, let alone sorted: a few of a million
 * cost no more than a look at each. Values lie stride bytes apart and are summed up already. */
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

bool map_scalar_place(struct object *obj, const struct map *m, struct scalar_place *p)
{
	const struct data_layout *l = &obj->image->data;
	u8 *mem = obj->ops->map_mem(obj, MAP_IDX_DATA);

	if (!mem)
		return false;
	p->flag = m->flag_off ? mem + m->flag_off : NULL;
	p->value = mem + m->data_off;
	p->stride = 0;
	p->cpu_cnt = 1;
	if (m->storage == MAP_SCALAR_PERCPU || m->storage == MAP_SITES_PERCPU) {
		p->value += l->shared_sz;
		p->stride = l->cpu_sz;
		p->cpu_cnt = l->cpu_cnt;
	}
	return true;
}

static int read_scalar(struct map_snap *s, struct object *obj, const struct map *m)
{
	bool is_agg = type_is_agg(m->val), is_set;
	struct scalar_place p;

	if (!map_scalar_place(obj, m, &p))
		return -ENODATA;
	is_set = p.flag && __atomic_load_n(p.flag, __ATOMIC_ACQUIRE);
	s->scalar = xzalloc(map_snap_value_size(m->val));
	if (is_agg) {
		/* A sum may well be 0, there the byte alone decides; the others tell by themselves, and after zero() by the
		 * byte. */
		bool any = agg_sum(m->val, p.value, p.stride, p.cpu_cnt, s->scalar);

		is_set = is_set || (any && !(m->val->kind == T_SUM && p.flag));
	} else if (m->val->size == 8 && ((uintptr_t)p.value & 7) == 0) {
		u64 v = __atomic_load_n((u64 *)p.value, __ATOMIC_RELAXED);

		memcpy(s->scalar, &v, 8);
	} else {
		memcpy(s->scalar, p.value, m->val->size);
	}
	s->one.val = s->scalar;
	s->view.entries = &s->one;
	s->view.cnt = is_set;
	return 0;
}

/* As a hash map would have them: those that have a value. */
static int read_sites(struct map_dump *d, struct object *obj, const struct map *m)
{
	struct scalar_place p;

	if (!map_scalar_place(obj, m, &p))
		return -ENODATA;
	*d = (struct map_dump){ .key_sz = m->key->size, .stride = map_snap_value_size(m->val) };
	d->keys = xzalloc((size_t)m->max_entries * d->key_sz);
	d->values = xzalloc((size_t)m->max_entries * d->stride);
	for (u32 site = 0; site < m->max_entries; site++) {
		if (!agg_sum(m->val, p.value + (size_t)site * m->val->size, p.stride, p.cpu_cnt, d->values + (size_t)d->cnt * d->stride))
			continue;
		memcpy(d->keys + (size_t)d->cnt * d->key_sz, &site, d->key_sz);
		d->cnt++;
	}
	return 0;
}

/* The other half of a map by stack: keys that lack the frames at their end, which are zero. */
static int add_short(struct map_dump *d, struct object *obj, const struct map *m)
{
	struct map_dump few = {};
	int err = obj->ops->map_read(obj, m->short_map, &few);
	u64 cnt = (u64)d->cnt + few.cnt;

	if (err || !few.cnt) {
		map_dump_release(&few);
		return err;
	}
	d->key_sz = m->key->size;
	d->stride = few.stride;
	d->cpu_cnt = few.cpu_cnt;
	d->value_sz = few.value_sz;
	d->keys = xrealloc(d->keys, cnt * d->key_sz);
	d->values = xrealloc(d->values, cnt * d->stride);
	memcpy(d->values + (size_t)d->cnt * d->stride, few.values, (size_t)few.cnt * few.stride);
	for (u32 i = 0; i < few.cnt; i++) {
		u8 *key = d->keys + (size_t)(d->cnt + i) * d->key_sz;

		memcpy(key, few.keys + (size_t)i * few.key_sz, few.key_sz);
		memset(key + few.key_sz, 0, d->key_sz - few.key_sz);
	}
	d->cnt = cnt;
	map_dump_release(&few);
	return 0;
}

static int read_hash(struct map_dump *d, struct object *obj, const struct map *m)
{
	int err = obj->ops->map_read(obj, m->image_map, d);

	if (!err && m->short_map)
		err = add_short(d, obj, m);
	if (!err && m->slots.cnt)
		err = slots_read(obj, m, d);
	if (err)
		map_dump_release(d);
	return err;
}

static void sum_in_place(struct map_dump *d, const struct type *val)
{
	for (u32 i = 0; i < d->cnt; i++) {
		u8 *v = d->values + (size_t)i * d->stride;

		agg_sum(val, v, d->value_sz, MAX(1, d->cpu_cnt), v);
	}
}

static void snap_init(struct map_snap *s, const struct map *m, s64 div)
{
	*s = (struct map_snap){ .view = { .name = m->name, .key = m->key, .val = m->val, .div = div > 0 ? (u64)div : 0 } };
}

static bool is_scalar(const struct map *m)
{
	return m->storage == MAP_SCALAR || m->storage == MAP_SCALAR_PERCPU;
}

int map_snap_read(struct map_snap *s, struct object *obj, const struct map *m, s64 top, s64 div)
{
	int err;

	snap_init(s, m, div);
	if (is_scalar(m))
		return read_scalar(s, obj, m);
	err = m->storage == MAP_SITES_PERCPU ? read_sites(&s->dump, obj, m) : read_hash(&s->dump, obj, m);
	if (err)
		return err;
	if (!s->dump.cnt)
		return 0;
	if (type_is_agg(m->val) && m->storage != MAP_SITES_PERCPU)
		sum_in_place(&s->dump, m->val);
	order_entries(s, top > 0 ? (u64)top : 0);
	return 0;
}

int map_snap_read_key(struct map_snap *s, struct object *obj, const struct map *m, const void *key)
{
	bool is_percpu = m->storage == MAP_HASH_PERCPU;
	u32 cpu_cnt = is_percpu && obj->image->compile->target ? obj->image->compile->target->ncpus : 1;
	u32 cpu_sz = type_is_agg(m->val) ? agg_cpu_size(m->val) : m->val->size;
	int err;

	snap_init(s, m, 0);
	s->view.value_only = true;
	if (is_scalar(m)) {
		err = read_scalar(s, obj, m);
		if (!err)
			s->view.cnt = 1;
		return err;
	}
	if (is_percpu)
		cpu_sz = ALIGN_UP(cpu_sz, 8);
	s->scalar = xzalloc((size_t)cpu_cnt * cpu_sz);
	err = obj->ops->map_lookup(obj, m->image_map, key, s->scalar);
	if (err && err != -ENOENT) {
		free(s->scalar);
		return err;
	}
	if (err)
		memset(s->scalar, 0, (size_t)cpu_cnt * cpu_sz);
	if (type_is_agg(m->val))
		agg_sum(m->val, s->scalar, cpu_sz, cpu_cnt, s->scalar);
	s->one = (struct map_entry){ .key = key, .val = s->scalar };
	s->view.entries = &s->one;
	s->view.cnt = 1;
	return 0;
}

void map_snap_default(struct map_snap *s, const struct map *m)
{
	if (!is_scalar(m) || s->view.cnt)
		return;
	memset(s->scalar, 0, map_snap_value_size(m->val));
	s->view.cnt = 1;
}

void map_snap_release(struct map_snap *s)
{
	if (s->view.entries != &s->one)
		free(s->view.entries);
	free(s->scalar);
	map_dump_release(&s->dump);
	*s = (struct map_snap){};
}

static u64 word_at(const u8 *data, u32 off)
{
	u64 v;

	memcpy(&v, data + off, sizeof(v));
	return v;
}

u64 map_lost(const struct map *m, const u8 *data, bool *is_exact)
{
	u64 assigned = m->lost_off ? word_at(data, m->lost_off) : 0, spilled = 0;

	*is_exact = true;
	if (!m->spill_off)
		return assigned;
	switch (m->val->kind) {
	case T_AVG: case T_STATS:
		spilled = word_at(data, m->spill_off + 8);
		break;
	case T_HIST: case T_LHIST:
		for (u32 i = 0; i < m->val->hist.bucket_cnt; i++)
			spilled += word_at(data, m->spill_off + 8 * i);
		break;
	case T_MIN: case T_MAX:
		spilled = word_at(data, m->spill_off + 8);
		*is_exact = !spilled;
		break;
	case T_TSERIES:
		for (u32 i = 0; i < m->val->cnt; i++)
			spilled += word_at(data, m->spill_off + i * sizeof(struct series_bucket)) != 0;
		*is_exact = !spilled;
		break;
	case T_SUM:
		spilled = word_at(data, m->spill_off);
		*is_exact = !spilled;
		break;
	case T_COUNT:
		spilled = word_at(data, m->spill_off);
		break;
	case T_BOOL: case T_INT: case T_ENUM:
		spilled = word_at(data, m->spill_off);
		*is_exact = !spilled || !m->spills_sums;
		break;
	case T_ERROR: case T_NONE: case T_VOID: case T_POINTER: case T_STRING: case T_BUFFER: case T_ARRAY: case T_STRUCT: case T_TUPLE:
	case T_SITE: case T_KSYM: case T_USYM: case T_TIMESTAMP: case T_KIND_CNT:
	case T_INET: case T_MAC: case T_USERNAME: case T_CGROUP_PATH:
	case T_KSTACK: case T_USTACK:
		break;
	}
	return assigned + spilled;
}

void zero_shared(u8 *p, u32 size)
{
	while (size) {
		u32 n = 1;

		if (((uintptr_t)p & 7) == 0 && size >= 8) {
			__atomic_exchange_n((u64 *)p, 0, __ATOMIC_SEQ_CST);
			n = 8;
		} else if (((uintptr_t)p & 3) == 0 && size >= 4) {
			__atomic_exchange_n((u32 *)p, 0, __ATOMIC_SEQ_CST);
			n = 4;
		} else {
			__atomic_exchange_n(p, 0, __ATOMIC_SEQ_CST);
		}
		p += n;
		size -= n;
	}
}
