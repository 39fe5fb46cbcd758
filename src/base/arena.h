/* SPDX-License-Identifier: GPL-2.0-only */
/* An arena hands out zeroed memory that is released all at once. The compiler allocates from one arena per compilation
 * and never frees; pointers stay valid until arena_release(). Memory that only one pass needs comes from a second arena,
 * which is cleared after the pass. */
#pragma once

#include "base/base.h"

struct arena_chunk;
struct arena_defer;

struct arena {
	struct arena_chunk *chunk; /* newest first */
	char *at, *end;            /* free part of the newest chunk … */
	char *clean;               /* … of which all from here on is zero */
	size_t chunk_sz;           /* of the newest chunk, unless one allocation needs more */
	struct arena_defer *defer; /* newest first */
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);
/* Frees all allocations but keeps the memory. The next use gets one chunk as large as this use needed in total. */
void arena_clear(struct arena *a);
/* Calls fn before the memory goes: for what lives as long, but elsewhere. */
void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg);

/* Zeroed, aligned for any type. Never returns NULL. */
void *arena_alloc(struct arena *a, size_t sz);
/* Grows an allocation: in place if it was the last one and the chunk has room, else the contents move. */
void *arena_grow(struct arena *a, void *p, size_t old_sz, size_t sz);
/* Returns the end of an allocation to the arena, if it was the last one. */
void arena_shrink(struct arena *a, void *p, size_t old_sz, size_t sz);
void *arena_memdup(struct arena *a, const void *p, size_t sz);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
