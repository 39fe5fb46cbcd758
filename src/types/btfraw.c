/* SPDX-License-Identifier: GPL-2.0-only */
#include "types/btfraw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/smap.h"

/* Searching costs one walk over the records; past this many a hash table is cheaper. */
#define SEARCHES_BEFORE_HASH 12

int btfraw_init(struct btfraw *b, const u8 *data, size_t len, bool is_mapped, struct btfraw *base)
{
	const struct btf_header *h = (const void *)data;
	u64 body;

	*b = (struct btfraw){ .base = base, .data = data, .len = len, .is_mapped = is_mapped, .first_id = 1 };
	if (len < sizeof(*h) || h->magic != BTF_MAGIC || h->version != 1 || h->hdr_len < sizeof(*h) || h->hdr_len > len)
		return -EINVAL;
	body = len - h->hdr_len;
	if ((u64)h->type_off + h->type_len > body || (u64)h->str_off + h->str_len > body || (h->type_off | h->hdr_len) & 3)
		return -EINVAL;
	b->types = data + h->hdr_len + h->type_off;
	b->type_len = h->type_len;
	b->strs = (const char *)data + h->hdr_len + h->str_off;
	b->str_len = h->str_len;
	/* Every string is looked at up to its NUL, so the last byte must be one. A split BTF may have no string of its own. */
	if (b->str_len ? b->strs[b->str_len - 1] : !base)
		return -EINVAL;
	if (base) {
		if (base->base || btfraw_check(base))
			return -EINVAL;
		b->first_id = base->first_id + base->cnt;
		b->str_first = base->str_len;
	}
	/* 12 bytes is the shortest record; untouched pages of the index cost nothing. */
	b->cap = b->type_len / sizeof(struct btf_type);
	b->off = xzalloc((size_t)b->cap * sizeof(*b->off));
	return 0;
}

void btfraw_release(struct btfraw *b)
{
	if (b->is_mapped)
		munmap((void *)b->data, b->len);
	else
		free((void *)b->data);
	free(b->off);
	htab_release(&b->by_name);
	*b = (struct btfraw){};
}

int btfraw_open(struct btfraw *b, const char *path, struct btfraw *base)
{
	size_t len;
	char *data;
	int err = io_read_file(path, &data, &len);

	if (err)
		return err;
	err = btfraw_init(b, (const u8 *)data, len, false, base);
	if (err)
		btfraw_release(b);
	return err;
}

int btfraw_map(struct btfraw *b, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;
	void *data;

	if (fd < 0)
		return -errno;
	data = fstat(fd, &st) ? MAP_FAILED : mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	err = -errno;
	close(fd);
	if (data == MAP_FAILED)
		return err;
	err = btfraw_init(b, data, st.st_size, true, NULL);
	if (err)
		btfraw_release(b);
	return err;
}

/* Bytes that follow the record itself; -1: no such kind. */
static s64 tail_sz(const struct btf_type *t)
{
	u64 vlen = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
		return sizeof(struct btf_member) * vlen;
	case BTF_KIND_ENUM:
		return sizeof(struct btf_enum) * vlen;
	case BTF_KIND_ENUM64:
		return sizeof(struct btf_enum64) * vlen;
	case BTF_KIND_FUNC_PROTO:
		return sizeof(struct btf_param) * vlen;
	case BTF_KIND_UNKN:
	case BTF_KIND_CNT:
		return -1;
	}
	return -1;
}

/* Indexes one more type. NULL at the end. */
static const struct btf_type *extend(struct btfraw *b)
{
	const struct btf_type *t = (const void *)(b->types + b->scan_off);
	u32 left = b->type_len - b->scan_off;
	s64 tail;

	if (!left || b->is_broken)
		return NULL;
	tail = left >= sizeof(*t) ? tail_sz(t) : -1;
	if (tail < 0 || (u64)tail > left - sizeof(*t)) {
		b->is_broken = true;
		return NULL;
	}
	b->off[b->cnt++] = b->scan_off;
	b->scan_off += sizeof(*t) + tail;
	return t;
}

int btfraw_check(struct btfraw *b)
{
	while (extend(b))
		;
	return b->is_broken ? -EINVAL : 0;
}

const struct btf_type *btfraw_type(const struct btfraw *b, u32 id)
{
	/* The index is a cache: growing it changes nothing that a caller could see. */
	struct btfraw *grow = (struct btfraw *)b;

	if (id < b->first_id)
		return b->base ? btfraw_type(b->base, id) : NULL;
	id -= b->first_id;
	if (id >= b->cap)
		return NULL;
	while (id >= b->cnt)
		if (!extend(grow))
			return NULL;
	return (const void *)(b->types + b->off[id]);
}

const char *btfraw_str(const struct btfraw *b, u32 off)
{
	if (off < b->str_first)
		return btfraw_str(b->base, off);
	off -= b->str_first;
	return off < b->str_len ? b->strs + off : "";
}

static const struct btf_type *own_type(struct btfraw *b, u32 i)
{
	return btfraw_type(b, b->first_id + i);
}

static bool is_named(const struct btfraw *b, const struct btf_type *t, u32 kinds, const char *name)
{
	return BTF_BIT(btf_kind(t)) & kinds && str_eq(btfraw_str(b, t->name_off), name);
}

/* In the order of the numbers: the first of several equal names is found first. */
static void index_names(struct btfraw *b)
{
	btfraw_check(b);
	htab_reserve(&b->by_name, b->cnt);
	for (u32 i = 0; i < b->cnt; i++) {
		const struct btf_type *t = own_type(b, i);

		if (t->name_off)
			htab_add(&b->by_name, str_hash(btfraw_str(b, t->name_off)), b->first_id + i);
	}
}

u32 btfraw_find(struct btfraw *b, u32 kinds, const char *name)
{
	if (!*name)
		return 0;
	if (!b->by_name.cap && b->search_cnt++ >= SEARCHES_BEFORE_HASH)
		index_names(b);
	if (b->by_name.cap) {
		htab_for(p, &b->by_name, str_hash(name))
			if (is_named(b, btfraw_type(b, *p), kinds, name))
				return *p;
		return 0;
	}
	for (u32 i = 0;; i++) {
		const struct btf_type *t = own_type(b, i);

		if (!t)
			return 0;
		if (is_named(b, t, kinds, name))
			return b->first_id + i;
	}
}

u32 btfraw_next(struct btfraw *b, u32 kinds, u32 id)
{
	for (u32 i = id < b->first_id ? 0 : id - b->first_id + 1;; i++) {
		const struct btf_type *t = own_type(b, i);

		if (!t)
			return 0;
		if (BTF_BIT(btf_kind(t)) & kinds)
			return b->first_id + i;
	}
}
