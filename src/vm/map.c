/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps. A map's memory is one reserved piece of address space, of which only what is used gets pages; an element has a place in
 * it:
 *
 *   hash:          key | guard | value | guard [| next CPU's value | guard …]
 *   array:         value            (as the kernel maps it into user space)
 *   per-CPU array: value | guard [| next CPU's value | guard …]
 *
 * so that a division finds the element of an address, and whether an access stays inside one key or value. */
#include "vm/internal.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	ELEM_GUARD = 64,
	SPARE_ELEMS = 4096, /* deleted elements that a run can still have pointers to */
	MAX_BUCKETS = 1 << 16,
	MAX_ELEM_SZ = 4 << 20,
};

bool vm_map_is_hash(const struct vm_map *m)
{
	switch (m->def.type) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
	case BPF_MAP_TYPE_STACK_TRACE: /* frames by their number */
		return true;
	}
	return false;
}

bool vm_map_is_array(const struct vm_map *m)
{
	return m->def.type == BPF_MAP_TYPE_ARRAY || m->def.type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

bool vm_map_is_percpu(const struct vm_map *m)
{
	switch (m->def.type) {
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		return true;
	}
	return false;
}

static bool is_lru(const struct vm_map *m)
{
	return m->def.type == BPF_MAP_TYPE_LRU_HASH || m->def.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* ---- life ---- */

/* The kernel's conditions. */
static int check_def(const struct vm_map *m)
{
	const struct image_map *d = &m->def;
	u32 page = sysconf(_SC_PAGESIZE);

	if (d->name && strlen(d->name) >= BPF_OBJ_NAME_LEN)
		return -EINVAL;
	if (d->type == BPF_MAP_TYPE_RINGBUF) {
		if (d->key_sz || d->value_sz || !is_pow2(d->max_entries) || d->max_entries % page || d->max_entries > 1u << 31)
			return -EINVAL;
		return d->flags & ~BPF_F_NUMA_NODE ? -EINVAL : 0;
	}
	if (!vm_map_is_hash(m) && !vm_map_is_array(m))
		return -ENOTSUP;
	if (!d->key_sz || !d->value_sz || !d->max_entries)
		return -EINVAL;
	if ((vm_map_is_array(m) || d->type == BPF_MAP_TYPE_STACK_TRACE) && d->key_sz != 4)
		return -EINVAL;
	if (d->type == BPF_MAP_TYPE_STACK_TRACE && (d->value_sz % 8 || !is_pow2(d->max_entries) || d->flags))
		return -EINVAL;
	if (vm_map_is_hash(m) && (u64)d->key_sz + d->value_sz >= MAX_ELEM_SZ)
		return -E2BIG;
	if (vm_map_is_percpu(m) && ALIGN_UP((u64)d->value_sz, 8) > BPF_MAX_PERCPU_VALUE_SZ)
		return -E2BIG;
	if ((d->flags & BPF_F_MMAPABLE) && d->type != BPF_MAP_TYPE_ARRAY)
		return -EINVAL;
	if ((d->flags & BPF_F_NO_PREALLOC) && !vm_map_is_hash(m))
		return -EINVAL;
	if ((d->flags & BPF_F_NO_PREALLOC) && is_lru(m))
		return -ENOTSUP;
	if (d->init && (d->type != BPF_MAP_TYPE_ARRAY || d->init_sz > d->value_sz))
		return -EINVAL;
	return 0;
}

static int layout(struct vm_map *m)
{
	const struct image_map *d = &m->def;
	u64 val_sz = ALIGN_UP((u64)d->value_sz, 8), elems = d->max_entries, elem, val_stride;

	if (d->type == BPF_MAP_TYPE_RINGBUF) {
		m->mem_sz = 2ull * d->max_entries; /* see ring.c */
		return 0;
	}
	m->cpu_cnt = vm_map_is_percpu(m) ? m->vm->ncpus : 1;
	val_stride = d->type == BPF_MAP_TYPE_ARRAY ? val_sz : val_sz + ELEM_GUARD;
	if (vm_map_is_hash(m)) {
		m->val_off = ALIGN_UP(d->key_sz, 8) + ELEM_GUARD;
		elems += SPARE_ELEMS;
	}
	elem = m->val_off + m->cpu_cnt * val_stride;
	if (elems > UINT32_MAX || elem > UINT32_MAX || elems > (1ull << 46) / elem)
		return -E2BIG;
	m->val_stride = val_stride;
	m->elem_stride = elem;
	m->elem_cnt = elems;
	m->mem_sz = elems * elem;
	return 0;
}

int vm_map_add(struct vm *vm, const struct image_map *def)
{
	struct vm_map *m = xzalloc(sizeof(*m));
	void *mem;
	int err;

	m->vm = vm;
	m->def = *def;
	if (!m->def.name)
		m->def.name = "?";
	if (def->type != BPF_MAP_TYPE_UNSPEC) {
		err = check_def(m);
		if (!err)
			err = layout(m);
		if (err)
			goto fail;
		/* One more guard, so that the memory that follows is not mistaken for an element. */
		mem = mmap(NULL, m->mem_sz + VM_GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);
		if (mem == MAP_FAILED) {
			err = -errno;
			goto fail;
		}
		m->mem = mem;
		m->mem_sz += VM_GUARD;
		if (def->init)
			memcpy(m->mem, def->init, def->init_sz);
	}
	if (vm_map_is_hash(m)) {
		u32 buckets = pow2_up(MIN(def->max_entries, (u32)MAX_BUCKETS));

		m->buckets = xzalloc(buckets * sizeof(*m->buckets));
		m->bucket_mask = buckets - 1;
	}
	vec_push(&vm->maps, m);
	return vm->maps.cnt - 1;
fail:
	free(m);
	return err;
}

void vm_map_free(struct vm_map *m)
{
	if (m->mem)
		munmap(m->mem, m->mem_sz);
	free(m->buckets);
	vec_free(&m->elems);
	vec_free(&m->free);
	vec_free(&m->dead);
	free(m);
}

struct vm_map *vm_map(struct vm *vm, u32 index)
{
	return index < vm->maps.cnt && vm->maps.at[index]->def.type ? vm->maps.at[index] : NULL;
}

/* ---- hash maps ----
 *
 * Not base/htab.h: as in the kernel, the size of the map fixes the number of buckets, and elements carry their own links (chain,
 * LRU). So a run never waits for a table to grow. */

static u8 *elem_key(const struct vm_map *m, u32 elem)
{
	return m->mem + (u64)elem * m->elem_stride;
}

static u8 *elem_value(const struct vm_map *m, u32 elem, u32 cpu)
{
	return elem_key(m, elem) + m->val_off + (u64)cpu * m->val_stride;
}

static u32 key_hash(const struct vm_map *m, const u8 *key)
{
	u64 h = 0xcbf29ce484222325;

	for (u32 i = 0; i < m->def.key_sz; i++)
		h = (h ^ key[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

/* 1 + index, 0: none */
static u32 find_elem(const struct vm_map *m, const void *key, u32 hash)
{
	u32 s = m->buckets[hash & m->bucket_mask];

	while (s && (m->elems.at[s - 1].hash != hash || memcmp(elem_key(m, s - 1), key, m->def.key_sz) != 0))
		s = m->elems.at[s - 1].next;
	return s;
}

static void lru_unlink(struct vm_map *m, u32 s)
{
	struct vm_elem *e = &m->elems.at[s - 1];

	*(e->lru_prev ? &m->elems.at[e->lru_prev - 1].lru_next : &m->lru_first) = e->lru_next;
	*(e->lru_next ? &m->elems.at[e->lru_next - 1].lru_prev : &m->lru_last) = e->lru_prev;
}

static void lru_append(struct vm_map *m, u32 s)
{
	struct vm_elem *e = &m->elems.at[s - 1];

	e->lru_prev = m->lru_last;
	e->lru_next = 0;
	*(m->lru_last ? &m->elems.at[m->lru_last - 1].lru_next : &m->lru_first) = s;
	m->lru_last = s;
}

static void drop_elem(struct vm_map *m, u32 s)
{
	struct vm_elem *e = &m->elems.at[s - 1];
	u32 *link = &m->buckets[e->hash & m->bucket_mask];

	while (*link != s)
		link = &m->elems.at[*link - 1].next;
	*link = e->next;
	lru_unlink(m, s);
	e->state = VM_ELEM_DEAD;
	vec_push(&m->dead, s - 1);
	m->cnt--;
	if (!m->vm->running)
		vm_map_reclaim(m);
}

void vm_map_reclaim(struct vm_map *m)
{
	vec_for(elem, &m->dead) {
		m->elems.at[*elem].state = VM_ELEM_FREE;
		vec_push(&m->free, *elem);
	}
	m->dead.cnt = 0;
}

static u32 take_elem(struct vm_map *m)
{
	u32 elem;

	if (m->free.cnt)
		return m->free.at[--m->free.cnt];
	if (m->elems.cnt < m->elem_cnt) {
		vec_push(&m->elems, (struct vm_elem){});
		return m->elems.cnt - 1;
	}
	/* More deletions in one run than there are spare elements: the oldest is reused, as may happen in the kernel. */
	elem = m->dead.at[0];
	memmove(m->dead.at, m->dead.at + 1, --m->dead.cnt * sizeof(*m->dead.at));
	return elem;
}

static u32 add_elem(struct vm_map *m, const void *key, u32 hash)
{
	u32 s = 1 + take_elem(m);
	struct vm_elem *e = &m->elems.at[s - 1];

	*e = (struct vm_elem){
		.state = VM_ELEM_LIVE, .hash = hash, .next = m->buckets[hash & m->bucket_mask], .seq = ++m->vm->seq
	};
	m->buckets[hash & m->bucket_mask] = s;
	lru_append(m, s);
	memcpy(elem_key(m, s - 1), key, m->def.key_sz);
	m->cnt++;
	return s;
}

static void write_value(struct vm_map *m, u32 elem, const u8 *value, s32 cpu, bool is_new)
{
	u32 stride = ALIGN_UP(m->def.value_sz, 8);

	for (u32 c = 0; c < m->cpu_cnt; c++) {
		u8 *v = elem_value(m, elem, c);

		if (m->cpu_cnt > 1 && cpu < 0)
			memcpy(v, value + (u64)c * stride, m->def.value_sz);
		else if (m->cpu_cnt == 1 || (u32)cpu == c)
			memcpy(v, value, m->def.value_sz);
		else if (is_new)
			memset(v, 0, m->def.value_sz);
	}
}

static int hash_set(struct vm_map *m, const void *key, const void *value, s32 cpu, u64 flags)
{
	u32 hash = key_hash(m, key), old = find_elem(m, key, hash), s;

	if (old && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!old && flags == BPF_EXIST)
		return -ENOENT;
	if (old && vm_map_is_percpu(m)) {
		if (is_lru(m)) {
			lru_unlink(m, old);
			lru_append(m, old);
		}
		write_value(m, old - 1, value, cpu, false);
		return 0;
	}
	if (!old && m->cnt >= m->def.max_entries) {
		if (!is_lru(m))
			return -E2BIG;
		drop_elem(m, m->lru_first);
	}
	/* The source may be the old value itself: it must not be reused before it is copied. */
	s = add_elem(m, key, hash);
	write_value(m, s - 1, value, cpu, true);
	if (old)
		drop_elem(m, old);
	return 0;
}

/* ---- both kinds ---- */

static u32 array_index(const void *key)
{
	u32 i;

	memcpy(&i, key, sizeof(i));
	return i;
}

u8 *vm_map_find(struct vm_map *m, const void *key, u32 cpu)
{
	u32 s;

	if (vm_map_is_array(m)) {
		s = array_index(key);
		return s < m->def.max_entries ? elem_value(m, s, m->cpu_cnt > 1 ? cpu : 0) : NULL;
	}
	s = find_elem(m, key, key_hash(m, key));
	if (!s)
		return NULL;
	if (is_lru(m)) {
		lru_unlink(m, s);
		lru_append(m, s);
	}
	return elem_value(m, s - 1, m->cpu_cnt > 1 ? cpu : 0);
}

int vm_map_set(struct vm_map *m, const void *key, const void *value, s32 cpu, u64 flags)
{
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (!vm_map_is_array(m))
		return hash_set(m, key, value, cpu, flags);
	if (array_index(key) >= m->def.max_entries)
		return -E2BIG;
	if (flags == BPF_NOEXIST)
		return -EEXIST;
	write_value(m, array_index(key), value, cpu, false);
	return 0;
}

int vm_map_remove(struct vm_map *m, const void *key)
{
	u32 s;

	if (vm_map_is_array(m))
		return -EINVAL;
	s = find_elem(m, key, key_hash(m, key));
	if (!s)
		return -ENOENT;
	drop_elem(m, s);
	return 0;
}

const char *vm_map_locate(const struct vm_map *m, u64 addr, u32 size, bool write)
{
	u64 off = addr - (u64)m->mem, in;
	u32 elem;

	if (m->def.type == BPF_MAP_TYPE_RINGBUF)
		return "ring memory that is not reserved (or was already submitted or discarded)";
	elem = off / m->elem_stride;
	in = off % m->elem_stride;
	if (elem >= m->elem_cnt)
		return "access past the last element";
	if (vm_map_is_hash(m) && (elem >= m->elems.cnt || m->elems.at[elem].state == VM_ELEM_FREE))
		return "access to an element that does not exist";
	if (in < m->val_off) {
		if (in + size > m->def.key_sz)
			return "access past the end of the key";
		return write ? "write to the key" : NULL;
	}
	in = (in - m->val_off) % m->val_stride;
	if (in + size > m->def.value_sz)
		return "access past the end of the value";
	if (write ? m->def.flags & BPF_F_RDONLY_PROG : m->def.flags & BPF_F_WRONLY_PROG)
		return write ? "write to a read-only map" : "read of a write-only map";
	return NULL;
}

u32 vm_map_elems(const struct vm_map *m)
{
	return vm_map_is_hash(m) ? m->elems.cnt : m->def.max_entries;
}

bool vm_map_elem(struct vm_map *m, u32 i, u64 seq, u32 cpu, u8 **key, u8 **value)
{
	if (vm_map_is_hash(m)) {
		if (m->elems.at[i].state != VM_ELEM_LIVE || m->elems.at[i].seq > seq)
			return false;
		*key = elem_key(m, i);
	} else {
		*key = NULL;
	}
	*value = elem_value(m, i, m->cpu_cnt > 1 ? cpu : 0);
	return true;
}

/* ---- as user space sees it ---- */

u32 vm_map_cnt(const struct vm_map *m)
{
	return vm_map_is_hash(m) ? m->cnt : m->def.max_entries;
}

u32 vm_map_stride(const struct vm_map *m)
{
	return vm_map_is_percpu(m) ? ALIGN_UP(m->def.value_sz, 8) * m->cpu_cnt : m->def.value_sz;
}

static void copy_out(const struct vm_map *m, u32 elem, u8 *out)
{
	u32 stride = ALIGN_UP(m->def.value_sz, 8);

	memset(out, 0, vm_map_stride(m));
	for (u32 c = 0; c < m->cpu_cnt; c++)
		memcpy(out + (u64)c * stride, elem_value(m, elem, c), m->def.value_sz);
}

static bool is_keyed(const struct vm_map *m)
{
	return vm_map_is_hash(m) || vm_map_is_array(m);
}

int vm_map_lookup(struct vm_map *m, const void *key, void *value)
{
	u32 s;

	if (!is_keyed(m))
		return -EINVAL;
	if (vm_map_is_array(m))
		s = array_index(key) < m->def.max_entries ? 1 + array_index(key) : 0;
	else
		s = find_elem(m, key, key_hash(m, key));
	if (!s)
		return -ENOENT;
	copy_out(m, s - 1, value);
	return 0;
}

int vm_map_update(struct vm_map *m, const void *key, const void *value, u64 flags)
{
	return is_keyed(m) ? vm_map_set(m, key, value, -1, flags) : -EINVAL;
}

int vm_map_delete(struct vm_map *m, const void *key)
{
	return is_keyed(m) ? vm_map_remove(m, key) : -EINVAL;
}

void vm_map_walk(struct vm_map *m, bool (*fn)(void *arg, const void *key, const void *value), void *arg)
{
	u64 seq = m->vm->seq;
	u8 *out, *key, *value;

	if (!is_keyed(m))
		return;
	out = xzalloc(vm_map_stride(m));
	for (u32 i = 0; i < vm_map_elems(m); i++) {
		if (!vm_map_elem(m, i, seq, 0, &key, &value))
			continue;
		copy_out(m, i, out);
		if (!fn(arg, key ? (const void *)key : &i, out))
			break;
	}
	free(out);
}

void *vm_map_mem(struct vm_map *m)
{
	return m->def.type == BPF_MAP_TYPE_ARRAY ? m->mem : NULL;
}
