/* SPDX-License-Identifier: GPL-2.0-only */
/* An image as bytes, and back. The form is that of the machine that runs it: little-endian, and good for the version of Sonde
 * that wrote it. */
#pragma once

#include "image/image.h"

/* Appends the image. */
void image_pack(const struct image *img, struct sbuf *out);
/* Makes an image with memory of its own of len bytes, which may be anybody's: every index and size in it is checked. NULL: *why
 * says what is wrong with them (static text). */
struct image *image_unpack(const void *bytes, size_t len, const char **why);
void image_free(struct image *img); /* of image_unpack(); NULL is fine */

/* What is wrong with it, NULL: nothing. All indexes are in range, and what user space reads lies inside of the maps. */
const char *image_unsound(const struct image *img);

/* size bytes at off lie inside of `whole` bytes. */
static inline bool is_within(u64 off, u64 size, u64 whole)
{
	return off <= whole && size <= whole - off;
}

/* The same form for what is written beside an image (image/file.c). One function describes a struct for both directions: it is
 * called for each member in turn, and copies it to the bytes or from them. After the first error nothing more is read: all
 * further members are zero. */
struct packer {
	struct sbuf *out;               /* writing; NULL: reading */
	size_t start;                   /* writing: where in out it begins */
	const u8 *at, *end;             /* reading: what is left */
	struct arena *arena;            /* reading: where things go */
	const char *why;                /* set: the bytes are wrong */
	vec(const struct type *) types; /* those seen so far, in order */
	u32 depth;                      /* of types in types */
};

void pack_bytes(struct packer *p, void *at, size_t n);
/* cnt elements that have no pointers. Reading leaves them where they are: the bytes must live as long as what is read. */
void pack_plain(struct packer *p, void *ptr, u32 *cnt, size_t size);
void pack_str(struct packer *p, const char **s); /* may be NULL; reading leaves it where it is, too */
/* The number of elements of an array, each of which takes at least a byte; 0 if there cannot be so many. */
u32 pack_cnt(struct packer *p, u32 cnt);
void pack_end(struct packer *p); /* releases what writing or reading needed */

void pack_bool(struct packer *p, bool *v); /* whose byte may be anything else in a damaged file */

/* A value without pointers, of a type without bools inside. */
#define pack_value(p, v) _Generic((v), bool * : pack_bool((p), (bool *)(v)), default : pack_bytes((p), (v), sizeof(*(v))))
/* A vec whose elements go by fn(p, &element). */
#define pack_vec(p, v, fn)                                                                                                       \
	do {                                                                                                                     \
		u32 cnt_ = pack_cnt((p), (v)->cnt);                                                                              \
		if (!(p)->out) {                                                                                                 \
			(v)->at = arena_alloc((p)->arena, (cnt_ + 1) * sizeof(*(v)->at));                                        \
			(v)->cnt = (v)->cap = cnt_;                                                                              \
		}                                                                                                                \
		for (u32 i_ = 0; i_ < cnt_; i_++)                                                                                \
			fn((p), &(v)->at[i_]);                                                                                   \
	} while (0)
/* The same of a pointer and a count. */
#define pack_array(p, ptr, cnt, fn)                                                                                              \
	do {                                                                                                                     \
		u32 cnt_ = pack_cnt((p), *(cnt));                                                                                \
		if (!(p)->out) {                                                                                                 \
			*(ptr) = arena_alloc((p)->arena, (cnt_ + 1) * sizeof(**(ptr)));                                          \
			*(cnt) = cnt_;                                                                                           \
		}                                                                                                                \
		for (u32 i_ = 0; i_ < cnt_; i_++)                                                                                \
			fn((p), &(*(ptr))[i_]);                                                                                  \
	} while (0)
