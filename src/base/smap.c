#include "base/smap.h"

#include <stdlib.h>

u32 str_hash(const char *s)
{
	u32 h = 2166136261u; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (u8)*s) * 16777619u;
	return h;
}

void smap_release(struct smap *m)
{
	free(m->slot);
	*m = (struct smap){};
}

static struct smap_slot *find(const struct smap *m, const char *key)
{
	u32 i = str_hash(key) & (m->cap - 1);

	while (m->slot[i].key && !str_eq(m->slot[i].key, key))
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

void *smap_get(const struct smap *m, const char *key)
{
	return m->cap ? find(m, key)->val : NULL;
}

void smap_put(struct smap *m, const char *key, void *val)
{
	struct smap_slot *s;

	if (2 * (m->cnt + 1) > m->cap) {
		struct smap bigger = { .cap = m->cap ? 2 * m->cap : 16 };

		bigger.slot = xzalloc(bigger.cap * sizeof(*bigger.slot));
		for (u32 i = 0; i < m->cap; i++)
			if (m->slot[i].key)
				*find(&bigger, m->slot[i].key) = m->slot[i];
		bigger.cnt = m->cnt;
		free(m->slot);
		*m = bigger;
	}
	s = find(m, key);
	if (!s->key)
		m->cnt++;
	*s = (struct smap_slot){ key, val };
}
