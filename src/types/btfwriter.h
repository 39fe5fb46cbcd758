/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes BTF: types of C headers and of DWARF take this form, so that one reader serves them all. */
#pragma once

#include "base/arena.h"
#include "base/sbuf.h"
#include "base/smap.h"
#include "types/btfraw.h"

struct btfwriter {
	struct arena *arena;
	struct sbuf types, strs;
	struct smap offsets; /* string → 1 + its offset */
	u32 cnt;             /* types so far; the next one's number is cnt + 1 */
};

/* Strings that are handed in must live as long as the arena. */
void btfwriter_init(struct btfwriter *w, struct arena *arena);
void btfwriter_release(struct btfwriter *w);
/* The whole, malloc'ed. */
u8 *btfwriter_finish(struct btfwriter *w, size_t *len);
/* Lets b (zero before the first call) read what was written so far. The memory stays the writer's: what b hands out is valid
 * until more is written. */
void btfwriter_read(const struct btfwriter *w, struct btfraw *b);

u32 btfwriter_str(struct btfwriter *w, const char *s);
/* A record; what belongs to it follows by btfwriter_tail(). Returns its number. */
u32 btfwriter_type(struct btfwriter *w, enum btf_kind kind, const char *name, u32 size_or_type, u32 vlen, bool kflag);
void btfwriter_tail(struct btfwriter *w, const void *data, size_t len);
u32 btfwriter_int(struct btfwriter *w, const char *name, u32 size, u32 encoding);
