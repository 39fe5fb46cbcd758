/* SPDX-License-Identifier: GPL-2.0-only */
/* A value without key that all CPUs share: memory in the shared part of the data map. Zero is a value like others, so a byte
 * beside it says whether anything was assigned. */
#include "store/scalar.h"

#include <errno.h>

#include "image/pack.h"
#include "image/shared.h"
#include "ir/store.h"

/* ---- user space ---- */

void scalar_pack(struct packer *p, struct layer *y)
{
	struct scalar_layer *s = (struct scalar_layer *)y;

	pack_value(p, &s->data_off);
	pack_value(p, &s->flag_off);
	pack_value(p, &s->turn_off);
}

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	const struct scalar_layer *s = scalar_layer(y);

	return !y->behind && !m->key && !type_is_agg(m->val) && !s->turn_off && s->flag_off < img->data.shared_sz &&
		!(s->data_off % 8) && is_within(s->data_off, m->val->size, img->data.shared_sz);
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	const u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA), *value;

	if (!data)
		return -ENODATA;
	value = data + scalar_layer(y)->data_off;
	*d = (struct map_dump){ .stride = m->val->size, .is_total = true, .values = xzalloc(m->val->size) };
	d->cnt = __atomic_load_n(data + scalar_layer(y)->flag_off, __ATOMIC_ACQUIRE) != 0;
	shared_copy(d->values, value, m->val->size);
	return 0;
}

/* The flag first: a program that adds after the value was taken sets it again. One that sets it later than that leaves a value of
 * zero, which is one that was zeroed. */
static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA), *flag;

	if (!data)
		return -ENODATA;
	flag = data + scalar_layer(y)->flag_off;
	*d = (struct map_dump){ .stride = m->val->size, .is_total = true, .values = xzalloc(m->val->size) };
	d->cnt = how == MAP_CLEAR ? __atomic_exchange_n(flag, 0, __ATOMIC_SEQ_CST) : __atomic_load_n(flag, __ATOMIC_ACQUIRE);
	shared_take(d->values, data + scalar_layer(y)->data_off, m->val->size);
	for (u32 i = 0; i < m->val->size; i++)
		d->cnt |= d->values[i] != 0;
	return 0;
}

/* ---- programs ---- */

static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	return !m->has_key && !type_is_agg(m->val);
}

struct layer *scalar_layer_new(struct arena *a, const struct store *s, u32 data_off, u32 flag_off)
{
	struct scalar_layer *y = arena_new(a, struct scalar_layer);

	*y = (struct scalar_layer){ .base.store = s, .data_off = data_off, .flag_off = flag_off };
	return &y->base;
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	u32 off = data_take(&room->shared, ALIGN_UP(MAX(1, m->val->size), 8), 8);

	return scalar_layer_new(c->arena, &store_scalar, off, room->flag_off);
}

static vreg whole(struct lower *l, struct layer *y)
{
	return ir_mapval(&l->b, MAP_IDX_DATA, scalar_layer(y)->data_off);
}

static vreg flag(struct lower *l, struct layer *y)
{
	return ir_mapval(&l->b, MAP_IDX_DATA, scalar_layer(y)->flag_off);
}

/* Publishes the value. */
static void set_flag(struct lower *l, struct layer *y)
{
	lower_fence(l, whole(l, y), 0);
	ir_store(&l->b, flag(l, y), 0, 1, opnd_imm(1));
}

static struct val lower_scalar_read(struct lower *l, struct layer *y, struct expr *e, const struct mem *dst)
{
	const struct type *t = e->map.map->val;
	struct mem at = { .base = whole(l, y) };

	return type_is_scalar(t) ? val_reg(lower_load(l, at, t)) : val_mem(at);
}

static void assign(struct lower *l, struct layer *y, struct expr *e, struct expr *value)
{
	const struct map *m = e->map.map;

	lower_store_over(l, value, m, m->val, (struct mem){ .base = whole(l, y) });
	set_flag(l, y);
}

static vreg add(struct lower *l, struct layer *y, struct expr *e, struct opnd delta, bool want_old)
{
	vreg old = lower_add_at(l, whole(l, y), delta, want_old);

	set_flag(l, y);
	return old;
}

static vreg remove_value(struct lower *l, struct layer *y, struct expr *e, bool want_missing)
{
	vreg had = ir_load(&l->b, flag(l, y), 0, 1);

	lower_zero(l, (struct mem){ .base = whole(l, y) }, e->map.map->val->size);
	ir_store(&l->b, flag(l, y), 0, 1, opnd_imm(0));
	return want_missing ? ir_alu(&l->b, IR_XOR, had, opnd_imm(1)) : had;
}

static const struct store_code code = {
	.fits = fits,
	.lay_out = lay_out,
	.read = lower_scalar_read,
	.assign = assign,
	.add = add,
	.remove = remove_value,
	.whole = whole,
};

const struct store store_scalar = {
	.name = "scalar",
	.code = &code,
	.layer_sz = sizeof(struct scalar_layer),
	.pack = scalar_pack,
	.is_sound = is_sound,
	.read = read_map,
	.take = take,
};
