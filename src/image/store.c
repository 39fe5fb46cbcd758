/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/store.h"

#include <errno.h>

#include "image/shared.h"

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

static u64 *turn_at(const struct object *obj, u32 turn_off)
{
	u8 *data = turn_off ? obj->ops->map_mem((struct object *)obj, MAP_IDX_DATA) : NULL;

	return data ? (u64 *)(data + turn_off) : NULL;
}

u32 store_turn(const struct object *obj, u32 turn_off)
{
	const u64 *turn = turn_at(obj, turn_off);

	return turn && __atomic_load_n(turn, __ATOMIC_RELAXED);
}

int store_change_turn(struct object *obj, u32 turn_off)
{
	u64 *turn = turn_at(obj, turn_off);
	int err;

	if (!turn)
		return 0;
	__atomic_store_n(turn, !*turn, __ATOMIC_SEQ_CST);
	err = obj->ops->quiesce ? obj->ops->quiesce(obj) : -EOPNOTSUPP;
	if (err) /* both may be in use */
		__atomic_store_n(turn, !*turn, __ATOMIC_SEQ_CST);
	return err;
}

u8 *store_take_shares(struct object *obj, u32 off, u32 size)
{
	const struct data_layout *lay = &obj->image->data;
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA), *shares;

	if (!data)
		return NULL;
	shares = xzalloc((size_t)lay->cpu_cnt * size);
	for (u32 cpu = 0; cpu < lay->cpu_cnt; cpu++)
		shared_take(shares + (size_t)cpu * size, data + lay->shared_sz + (size_t)cpu * lay->cpu_sz + off, size);
	return shares;
}
