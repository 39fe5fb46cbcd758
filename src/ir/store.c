/* SPDX-License-Identifier: GPL-2.0-only */
#include "ir/store.h"

struct layer *store_lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	const struct store *s;

	for (u32 i = 0; (s = store_at(i)); i++)
		if (s->code->fits(c, m, front))
			return s->code->lay_out(c, m, room, front);
	BUG("no store fits %s", m->name);
}

static void add_maps(struct compile *c, struct map *m, struct layer *y)
{
	if (y->behind)
		add_maps(c, m, y->behind);
	if (y->store->code->add_maps)
		y->store->code->add_maps(c, m, y);
}

void store_add_maps(struct compile *c, struct map *m)
{
	add_maps(c, m, m->lay.top);
}
