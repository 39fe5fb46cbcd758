/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t sz; /* of mem */
	max_align_t mem[];
};

struct arena_defer {
	struct arena_defer *next;
	void (*fn)(void *arg);
	void *arg;
};

/* Chunks grow with the arena: memory that a small script does not need is not touched. Large ones come zeroed from the kernel,
 * page by page as they are used: calloc() does not write to them. */
enum { CHUNK_MIN = 8 << 10, CHUNK_MAX = 1 << 20 };

void arena_init(struct arena *a)
{
	*a = (struct arena){};
}

void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg)
{
	struct arena_defer *d = arena_new(a, struct arena_defer);

	*d = (struct arena_defer){ a->defer, fn, arg };
	a->defer = d;
}

static void run_deferred(struct arena *a)
{
	for (; a->defer; a->defer = a->defer->next)
		a->defer->fn(a->defer->arg);
}

void arena_release(struct arena *a)
{
	run_deferred(a);
	while (a->chunk) {
		struct arena_chunk *next = a->chunk->next;

		free(a->chunk);
		a->chunk = next;
	}
	arena_init(a);
}

static void add_chunk(struct arena *a, size_t mem_sz)
{
	struct arena_chunk *c = xzalloc(sizeof(*c) + mem_sz);

	c->sz = mem_sz;
	c->next = a->chunk;
	a->chunk = c;
	a->at = a->clean = (char *)c->mem;
	a->end = a->at + mem_sz;
}

void arena_clear(struct arena *a)
{
	struct arena_chunk *c = a->chunk;
	size_t total = 0;

	if (!c)
		return;
	run_deferred(a);
	if (c->next) {
		for (; c; c = c->next)
			total += c->sz;
		arena_release(a);
		a->chunk_sz = CHUNK_MAX;
		add_chunk(a, total);
	} else {
		a->clean = MAX(a->clean, a->at);
		a->at = (char *)c->mem;
	}
}

static size_t rounded(size_t sz)
{
	return ALIGN_UP(sz ? sz : 1, _Alignof(max_align_t));
}

/* The next sz bytes; the chunk has room for them. */
static void take(struct arena *a, size_t sz)
{
	if (a->at < a->clean)
		memset(a->at, 0, MIN(sz, (size_t)(a->clean - a->at)));
	a->at += sz;
}

void *arena_alloc(struct arena *a, size_t sz)
{
	void *p;

	sz = rounded(sz);
	if ((size_t)(a->end - a->at) < sz) {
		a->chunk_sz = a->chunk_sz ? MIN(2 * a->chunk_sz, CHUNK_MAX) : CHUNK_MIN;
		add_chunk(a, MAX(sz, a->chunk_sz - sizeof(struct arena_chunk)));
	}
	p = a->at;
	take(a, sz);
	return p;
}

void *arena_grow(struct arena *a, void *p, size_t old_sz, size_t sz)
{
	void *moved;

	if (p && (char *)p + rounded(old_sz) == a->at && (size_t)(a->end - (char *)p) >= rounded(sz)) {
		take(a, rounded(sz) - rounded(old_sz));
		return p;
	}
	moved = arena_alloc(a, sz);
	if (old_sz)
		memcpy(moved, p, old_sz);
	return moved;
}

void arena_shrink(struct arena *a, void *p, size_t old_sz, size_t sz)
{
	if (!p || (char *)p + rounded(old_sz) != a->at)
		return;
	a->clean = MAX(a->clean, a->at);
	a->at = (char *)p + rounded(sz);
}

void *arena_memdup(struct arena *a, const void *p, size_t sz)
{
	void *copy = arena_alloc(a, sz);

	if (sz)
		memcpy(copy, p, sz);
	return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n)
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
