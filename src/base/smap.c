/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/smap.h"

void smap_release(struct smap *m)
{
	htab_release(&m->table);
	vec_free(&m->entries);
}

static struct smap_entry *find(const struct smap *m, const char *key, u32 hash)
{
	htab_for(p, &m->table, hash)
		if (str_eq(m->entries.at[*p - 1].key, key))
			return &m->entries.at[*p - 1];
	return NULL;
}

void *smap_get(const struct smap *m, const char *key)
{
	const struct smap_entry *e = m->entries.cnt ? find(m, key, str_hash(key)) : NULL;

	return e ? e->val : NULL;
}

void smap_put(struct smap *m, const char *key, void *val)
{
	u32 hash = str_hash(key);
	struct smap_entry *e = find(m, key, hash);

	if (e) {
		*e = (struct smap_entry){ key, val };
		return;
	}
	vec_push(&m->entries, (struct smap_entry){ key, val });
	htab_add(&m->table, hash, m->entries.cnt);
}
