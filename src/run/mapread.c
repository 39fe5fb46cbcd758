#include "run/mapread.h"

#include <errno.h>
#include <stdlib.h>

#include "out/hist.h"
#include "out/value.h"
#include "run/agg.h"

#define SIGN_BIT ((u64)1 << 63)

u32 map_snap_value_size(const struct type *val)
{
	return type_is_agg(val) ? agg_total_size(val) : val->size;
}

static int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

/* Integers, and what is a number underneath, as one that compares unsigned. */
static u64 number_rank(const struct type *t, const u8 *data)
{
	u64 v = value_load(t, data);

	/* All integers as signed, also u64: as it is done elsewhere. Addresses are never negative. */
	return t->kind == T_INT || t->kind == T_ENUM ? v ^ SIGN_BIT : v;
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
	case T_ERROR: case T_NONE: case T_VOID: case T_STRUCT: case T_COUNT: case T_SUM: case T_MIN: case T_MAX: case T_AVG:
	case T_STATS: case T_HIST: case T_LHIST: case T_KIND_CNT:
		return memcmp(a, b, t->size);
	}
	return 0;
}

/* A number that never contradicts map_key_compare(); *is_exact if it decides alone. It spares most of the calls while sorting. */
static u64 key_rank(const struct type *t, const u8 *key, bool *is_exact)
{
	u64 rank = 0;

	*is_exact = false;
	switch (t->kind) {
	case T_BOOL: case T_INT: case T_ENUM: case T_POINTER: case T_SITE: case T_KSYM: case T_TIMESTAMP:
		*is_exact = true;
		return number_rank(t, key);
	case T_STRING:
		for (u32 i = 0; i < MIN(t->size, 8) && key[i]; i++)
			rank |= (u64)key[i] << (56 - 8 * i);
		return rank;
	case T_TUPLE:
		if (!t->member_cnt)
			return 0;
		rank = key_rank(t->members[0].type, key + t->members[0].off, is_exact);
		*is_exact = *is_exact && t->member_cnt == 1;
		return rank;
	case T_USYM: case T_BUFFER: case T_ARRAY: case T_ERROR: case T_NONE: case T_VOID: case T_STRUCT: case T_COUNT: case T_SUM:
	case T_MIN: case T_MAX: case T_AVG: case T_STATS: case T_HIST: case T_LHIST: case T_KIND_CNT:
		return 0;
	}
	return 0;
}

static bool sorts_by_value(const struct type *val)
{
	return val->kind == T_INT || val->kind == T_ENUM || type_is_agg(val);
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
	u64 value_rank, key_rank;
	u32 index;
};

struct order {
	const struct type *key;
	const u8 *keys;
	u32 key_sz;
	bool key_is_exact;
};

static int compare_items(const void *pa, const void *pb, void *arg)
{
	const struct item *a = pa, *b = pb;
	const struct order *o = arg;
	const u8 *ka, *kb;
	int r;

	if (a->value_rank != b->value_rank)
		return a->value_rank < b->value_rank ? -1 : 1;
	if (a->key_rank != b->key_rank)
		return a->key_rank < b->key_rank ? -1 : 1;
	if (o->key_is_exact)
		return 0;
	ka = o->keys + (size_t)a->index * o->key_sz;
	kb = o->keys + (size_t)b->index * o->key_sz;
	r = map_key_compare(o->key, ka, kb);
	return r ? r : memcmp(ka, kb, o->key_sz);
}

/* Fills view.entries in order. Values lie stride bytes apart and are summed up already. */
static void order_entries(struct map_snap *s, u64 top)
{
	const struct map_dump *d = &s->dump;
	bool by_value = sorts_by_value(s->view.val), is_exact = false;
	struct item *items = xrealloc(NULL, (size_t)d->cnt * sizeof(*items));
	struct order o = { .key = s->view.key, .keys = d->keys, .key_sz = d->key_sz };
	u32 first = top && top < d->cnt ? d->cnt - (u32)top : 0;

	for (u32 i = 0; i < d->cnt; i++) {
		items[i].index = i;
		items[i].value_rank = by_value ? value_rank(s->view.val, d->values + (size_t)i * d->stride) : 0;
		items[i].key_rank = key_rank(s->view.key, d->keys + (size_t)i * d->key_sz, &is_exact);
	}
	o.key_is_exact = is_exact;
	qsort_r(items, d->cnt, sizeof(*items), compare_items, &o);
	s->view.cnt = d->cnt - first;
	s->view.entries = xrealloc(NULL, (size_t)s->view.cnt * sizeof(*s->view.entries));
	for (u32 i = first; i < d->cnt; i++)
		s->view.entries[i - first] = (struct map_entry){
			.key = d->keys + (size_t)items[i].index * d->key_sz,
			.val = d->values + (size_t)items[i].index * d->stride,
		};
	free(items);
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
	if (m->storage == MAP_SCALAR_PERCPU) {
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
	err = obj->ops->map_read(obj, m->image_map, &s->dump);
	if (err)
		return err;
	if (!s->dump.cnt)
		return 0;
	if (type_is_agg(m->val))
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
