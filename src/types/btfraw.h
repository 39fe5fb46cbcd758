/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF as bytes: finds type records by number or name, checks that all of them lie inside of the data.
 *
 * Nothing is decoded in advance. The index (type number → offset) covers the records that lookups have reached: types are
 * searched front to back, and the types that scripts use usually come early. A name is first searched by walking the records;
 * when many names are asked for (listing with parameters) a hash table of all names is built.
 *
 * Split BTF (of a module) continues the numbers and string offsets of its base.
 */
#pragma once

#include "base/htab.h"
#include "types/btfformat.h"

struct btfraw {
	const struct btfraw *base; /* NULL: this is a base */
	const u8 *data;
	size_t len;
	bool is_mapped; /* data is a mapping, not malloc'ed */
	const u8 *types;
	u32 type_len;
	const char *strs;
	u32 str_len;
	u32 first_id;  /* of our own types: 1, or where the base ends */
	u32 str_first; /* offset of our first string */
	u32 cnt;       /* types indexed so far, our own */
	u32 cap;
	u32 *off;            /* off[i]: offset in `types` of type first_id + i */
	u32 scan_off;        /* where the index goes on */
	bool is_broken;      /* the records end in garbage: the index stops before it */
	struct htab by_name; /* type numbers; empty until many names were searched */
	u32 search_cnt;
};

/* Kinds to look for, as bits. */
#define BTF_BIT(kind) (1u << (kind))

/* Takes over data (unless it fails). is_mapped: to be released by munmap(), else by free(). Returns 0 or -errno. */
int btfraw_init(struct btfraw *b, const u8 *data, size_t len, bool is_mapped, struct btfraw *base);
void btfraw_release(struct btfraw *b);
/* Reads a file into fresh memory. */
int btfraw_open(struct btfraw *b, const char *path, struct btfraw *base);
/* Maps a file of sysfs: for vmlinux since 6.16, else -errno. (An ordinary file could be truncated while it is mapped,
 * which would end the process by SIGBUS.) */
int btfraw_map(struct btfraw *b, const char *path);
/* Indexes everything; -EINVAL if the records are broken. */
int btfraw_check(struct btfraw *b);

/* Type records. NULL: there is no such type (also for 0, void). The record and all that belongs to it is inside of the data. */
const struct btf_type *btfraw_type(const struct btfraw *b, u32 id);
/* "" for offsets outside. Never NULL. */
const char *btfraw_str(const struct btfraw *b, u32 off);
/* Number of the first type of one of the kinds with that name, its own ones only; 0: none. */
u32 btfraw_find(struct btfraw *b, u32 kinds, const char *name);
/* The next type of one of the kinds after `id` (0: from the start), its own ones only; 0: no more. */
u32 btfraw_next(struct btfraw *b, u32 kinds, u32 id);

/* A struct, union or enum as C defines it, over several lines. */
struct sbuf;
void btfraw_print_c(const struct btfraw *b, u32 id, struct sbuf *out);

static inline enum btf_kind btf_kind(const struct btf_type *t)
{
	return (enum btf_kind)(t->info >> 24 & 0x1f);
}

static inline u32 btf_vlen(const struct btf_type *t)
{
	return t->info & 0xffff;
}

static inline bool btf_kflag(const struct btf_type *t)
{
	return t->info >> 31;
}

/* BTF has no alignment of a struct; the largest that the size allows is never too small. Where this guess is wrong, the BTF of a
 * script has a DECL_TAG with this name and the alignment, right behind the struct. */
#define BTF_ALIGN_TAG "align:"
static inline u32 btf_guess_align(u32 size)
{
	return size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
}

/* What follows a record. */
struct btf_array {
	u32 type, index_type, nelems;
};
struct btf_member {
	u32 name_off, type, offset; /* kflag: bits 24-31 are the bit-field's size */
};
struct btf_enum {
	u32 name_off;
	s32 val;
};
struct btf_enum64 {
	u32 name_off, lo, hi;
};
struct btf_param {
	u32 name_off, type;
};
