/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash table of the whole tree: open addressing with linear probing. Single entries need no allocation.
 *
 * The table maps a hash to numbers other than 0: an ID, or 1 + an index into a vector of the caller. The caller owns the keys and
 * compares them:
 *
 *	htab_for(p, &t, str_hash(name))
 *		if (str_eq(names.at[*p - 1], name))
 *			return *p;
 *
 * A walk visits the values of one hash in the order in which they were added. The caller may overwrite *p. Pointers are valid
 * until the next htab_add() or htab_remove().
 *
 * base/smap.h maps strings to pointers.
 */
#pragma once

#include "base/arena.h"

struct htab_cell {
	u32 hash;
	u32 val; /* 0: empty */
};

struct htab {
	struct htab_cell *cell;
	u32 cnt, cap;        /* cap is a power of two or 0 */
	struct arena *arena; /* where the memory comes from; NULL: the heap, and the owner calls htab_release() */
};

void htab_release(struct htab *t);
/* Removes all entries and keeps the memory. */
void htab_clear(struct htab *t);
/* Room for cnt entries. */
void htab_reserve(struct htab *t, u32 cnt);

/* Several entries may have the same hash, and the same value. */
void htab_add(struct htab *t, u32 hash, u32 val);
/* p: from htab_for(). */
void htab_remove(struct htab *t, u32 *p);

/* The next value with this hash, NULL: no more. *at is the hash at first. */
static inline u32 *htab_next(const struct htab *t, u32 hash, u32 *at)
{
	while (t->cap) {
		struct htab_cell *c = &t->cell[(*at)++ & (t->cap - 1)];

		if (!c->val)
			break;
		if (c->hash == hash)
			return &c->val;
	}
	return NULL;
}

#define htab_for(p, t, h) for (u32 hash_ = (h), at_ = hash_, *p; (p = htab_next((t), hash_, &at_));)

/* Hashes for keys. */
u32 str_hash(const char *s);
u32 bytes_hash(const void *p, size_t len); /* equals str_hash() of a string of these bytes */

static inline u32 u64_hash(u64 v)
{
	return (v * 0x9e3779b97f4a7c15ull) >> 32;
}
