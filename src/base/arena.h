/* An arena hands out zeroed memory that is released all at once. The compiler allocates from one arena per compilation
 * and never frees; pointers stay valid until arena_release(). What only one step needs goes to an arena of its own, which
 * is cleared after each step. */
#pragma once

#include "base/base.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunk; /* newest first */
	char *at, *end;            /* free part of the newest chunk … */
	char *clean;               /* … of which all from here on is zero */
	size_t chunk_sz;           /* of the newest chunk, unless one allocation needs more */
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);
/* Takes everything back, but keeps the memory: as much as was in use this time is in one piece the next time. */
void arena_clear(struct arena *a);

/* Zeroed, aligned for any type. Never returns NULL. */
void *arena_alloc(struct arena *a, size_t sz);
/* More room for an allocation: in its place if nothing else was allocated since and the chunk has room, else it moves. */
void *arena_grow(struct arena *a, void *p, size_t old_sz, size_t sz);
/* Gives the end of an allocation back if nothing else was allocated since. */
void arena_shrink(struct arena *a, void *p, size_t old_sz, size_t sz);
void *arena_memdup(struct arena *a, const void *p, size_t sz);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
