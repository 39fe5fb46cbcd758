/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/htab.h"

#include <stdlib.h>

enum { CAP_MIN = 16 };

/* FNV-1a, both. */
u32 str_hash(const char *s)
{
	u32 h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (u8)*s) * 16777619u;
	return h;
}

u32 bytes_hash(const void *p, size_t len)
{
	u32 h = 2166136261u;

	for (const u8 *b = p; len; b++, len--)
		h = (h ^ *b) * 16777619u;
	return h;
}

void htab_release(struct htab *t)
{
	if (!t->arena)
		free(t->cell);
	*t = (struct htab){ .arena = t->arena };
}

void htab_clear(struct htab *t)
{
	if (t->cnt)
		memset(t->cell, 0, t->cap * sizeof(*t->cell));
	t->cnt = 0;
}

static inline void put(struct htab *t, struct htab_cell c)
{
	u32 i = c.hash & (t->cap - 1);

	while (t->cell[i].val)
		i = (i + 1) & (t->cap - 1);
	t->cell[i] = c;
}

static void resize(struct htab *t, u32 cap)
{
	struct htab old = *t;
	u32 first = 0;

	t->cap = cap;
	t->cell = t->arena ? arena_alloc(t->arena, cap * sizeof(*t->cell)) : xzalloc(cap * sizeof(*t->cell));
	/* From behind an empty cell on, once around: equal hashes stay in their order. */
	while (first < old.cap && old.cell[first].val)
		first++;
	for (u32 i = 0; i < old.cap; i++) {
		const struct htab_cell *c = &old.cell[(first + i) & (old.cap - 1)];

		if (c->val)
			put(t, *c);
	}
	if (!t->arena)
		free(old.cell);
}

/* At most five of eight cells are taken. */
static inline bool is_enough(u32 cap, u32 cnt)
{
	return cnt <= cap / 8 * 5;
}

void htab_reserve(struct htab *t, u32 cnt)
{
	u32 cap = MAX(t->cap, (u32)CAP_MIN);

	while (!is_enough(cap, cnt))
		cap *= 2;
	if (cap != t->cap)
		resize(t, cap);
}

void htab_add(struct htab *t, u32 hash, u32 val)
{
	BUG_ON(!val);
	if (!is_enough(t->cap, t->cnt + 1))
		htab_reserve(t, t->cnt + 1);
	t->cnt++;
	put(t, (struct htab_cell){ hash, val });
}

void htab_remove(struct htab *t, u32 *p)
{
	u32 mask = t->cap - 1, hole = (u32)((struct htab_cell *)((char *)p - offsetof(struct htab_cell, val)) - t->cell);

	/* What follows moves up, unless it would come to stand before its own place. */
	for (u32 i = (hole + 1) & mask; t->cell[i].val; i = (i + 1) & mask) {
		u32 home = t->cell[i].hash & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->cell[hole] = t->cell[i];
		hole = i;
	}
	t->cell[hole] = (struct htab_cell){};
	t->cnt--;
}
