#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *next;
	max_align_t mem[];
};

/* Chunks grow with the arena: memory that a small script does not need is not touched. */
enum { CHUNK_MIN = 8 << 10, CHUNK_MAX = 64 << 10 };

void arena_init(struct arena *a)
{
	*a = (struct arena){};
}

void arena_release(struct arena *a)
{
	while (a->chunk) {
		struct arena_chunk *next = a->chunk->next;

		free(a->chunk);
		a->chunk = next;
	}
	arena_init(a);
}

void *arena_alloc(struct arena *a, size_t sz)
{
	void *p;

	sz = ALIGN_UP(sz ? sz : 1, _Alignof(max_align_t));
	if ((size_t)(a->end - a->at) < sz) {
		size_t mem_sz;
		struct arena_chunk *c;

		a->chunk_sz = a->chunk_sz ? MIN(2 * a->chunk_sz, CHUNK_MAX) : CHUNK_MIN;
		mem_sz = MAX(sz, a->chunk_sz - sizeof(*c));
		c = xzalloc(sizeof(*c) + mem_sz);
		c->next = a->chunk;
		a->chunk = c;
		a->at = (char *)c->mem;
		a->end = a->at + mem_sz;
	}
	p = a->at;
	a->at += sz;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, ap2;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(ap2, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	BUG_ON(n < 0);
	p = arena_alloc(a, n + 1);
	vsnprintf(p, n + 1, fmt, ap2);
	va_end(ap2);
	va_end(ap);
	return p;
}
