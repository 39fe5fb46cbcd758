/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/store.h"

static u32 store_cnt(void)
{
	u32 cnt = 0;

	while (store_at(cnt))
		cnt++;
	return cnt;
}

void stores_open(struct object *obj)
{
	const struct store *s;

	obj->works = xzalloc(store_cnt() * sizeof(*obj->works));
	for (u32 i = 0; (s = store_at(i)); i++)
		if (s->open)
			obj->works[i] = s->open(obj);
}

void stores_start(struct object *obj)
{
	const struct store *s;

	for (u32 i = 0; obj->works && (s = store_at(i)); i++)
		if (obj->works[i])
			s->start(obj->works[i]);
}

void stores_stop(struct object *obj)
{
	const struct store *s;

	for (u32 i = 0; obj->works && (s = store_at(i)); i++)
		if (obj->works[i])
			s->stop(obj->works[i]);
}

void stores_close(struct object *obj)
{
	const struct store *s;

	for (u32 i = 0; obj->works && (s = store_at(i)); i++)
		if (obj->works[i])
			s->close(obj->works[i]);
	free(obj->works);
	obj->works = NULL;
}

void *store_work(const struct object *obj, const struct store *s)
{
	const struct store *row;

	for (u32 i = 0; obj->works && (row = store_at(i)); i++)
		if (row == s)
			return obj->works[i];
	return NULL;
}
