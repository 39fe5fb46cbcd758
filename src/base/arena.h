/* An arena hands out zeroed memory that is released all at once. The compiler allocates from one arena per compilation
 * and never frees; pointers stay valid until arena_release(). */
#pragma once

#include "base/base.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunk; /* newest first */
	char *at, *end;            /* free part of the newest chunk */
	size_t chunk_sz;           /* of the newest chunk, unless one allocation needs more */
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);

/* Zeroed, aligned for any type. Never returns NULL. */
void *arena_alloc(struct arena *a, size_t sz);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
