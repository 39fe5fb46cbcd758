/* SPDX-License-Identifier: GPL-2.0-only */
/* An aggregation without key: a share in each CPU's part of the data map. Updates never contend. Most aggregations tell by their
 * share whether there is a value; for the others, and after zero(), a byte in the shared part says so. */
#include <errno.h>

#include "image/pack.h"
#include "image/shared.h"
#include "ir/store.h"
#include "store/scalar.h"

/* ---- user space ---- */

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	const struct scalar_layer *s = scalar_layer(y);

	return !y->behind && !m->key && type_is_agg(m->val) && s->flag_off < img->data.shared_sz && !(s->data_off % 8) &&
		is_within(s->data_off, m->val->size, img->data.cpu_sz);
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	const struct data_layout *lay = &obj->image->data;
	const u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);
	u32 size = store_total_size(m->val);
	bool is_set, any;

	if (!data)
		return -ENODATA;
	*d = (struct map_dump){ .stride = size, .is_total = true, .values = xzalloc(size) };
	is_set = __atomic_load_n(data + scalar_layer(y)->flag_off, __ATOMIC_ACQUIRE);
	any = agg_sum(m->val, data + lay->shared_sz + scalar_layer(y)->data_off, lay->cpu_sz, lay->cpu_cnt, d->values);
	d->cnt = is_set || (any && !agg_may_be_0(m->val));
	return 0;
}

static void zero_shares(struct object *obj, const struct script_map *m, const struct layer *y, u8 *data)
{
	const struct data_layout *lay = &obj->image->data;

	for (u32 cpu = 0; cpu < lay->cpu_cnt; cpu++)
		shared_zero(data + lay->shared_sz + (size_t)cpu * lay->cpu_sz + scalar_layer(y)->data_off, m->val->size);
}

static int clear(struct object *obj, const struct script_map *m, const struct layer *y)
{
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);

	if (!data)
		return -ENODATA;
	__atomic_store_n(data + scalar_layer(y)->flag_off, 0, __ATOMIC_RELEASE);
	zero_shares(obj, m, y, data);
	return 0;
}

static int zero(struct object *obj, const struct script_map *m, const struct layer *y)
{
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);
	struct map_dump d;
	int err = read_map(obj, m, y, &d);

	if (err)
		return err;
	zero_shares(obj, m, y, data);
	if (d.cnt)
		__atomic_store_n(data + scalar_layer(y)->flag_off, 1,
				 __ATOMIC_RELEASE); /* an aggregation of nothing would look unset */
	map_dump_release(&d);
	return 0;
}

/* ---- programs ---- */

static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	return !m->has_key && type_is_agg(m->val);
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	return scalar_layer_new(c->arena, &store_shares, data_take(&room->cpu, m->val->size, 8), room->flag_off);
}

static vreg flag(struct lower *l, struct layer *y)
{
	return ir_mapval(&l->b, MAP_IDX_DATA, scalar_layer(y)->flag_off);
}

static void update(struct lower *l, struct layer *y, struct expr *e, struct expr *call)
{
	struct mem at = { .base = lower_cpu_data(l), .off = scalar_layer(y)->data_off };

	call->call.fn->update(l, call, at);
	if (!agg_may_be_0(e->map.map->val))
		return;
	lower_fence(l, lower_addr(l, at), 0);
	ir_store(&l->b, flag(l, y), 0, 1, opnd_imm(1));
}

static vreg share_of(struct lower *l, const struct layer *y, vreg cpu)
{
	const struct data_layout *lay = &l->image->data;
	vreg off = ir_alu(&l->b, IR_MUL, cpu, opnd_imm(lay->cpu_sz));

	return ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_DATA, lay->shared_sz + scalar_layer(y)->data_off), opnd_reg(off));
}

static vreg share(struct lower *l, const struct share_source *s, vreg cpu, struct ir_block *none)
{
	return share_of(l, s->layer, cpu);
}

static vreg read_agg(struct lower *l, struct layer *y, const struct map *m, struct mem key)
{
	return lower_sum_shares(l, m->val, &(struct share_source){ .share = share, .layer = y });
}

/* Resets every CPU's share. Returns 1 if there was a value; for a histogram, always. */
static vreg clear_shares(struct lower *l, struct layer *y, const struct map *m)
{
	struct ir_block *loop = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	u32 set_words = m->val->agg->set_words;
	vreg cpu = ir_vreg(l->b.f), any = ir_vreg(l->b.f), at;
	u32 mark;

	ir_mov_to(&l->b, cpu, opnd_imm(0));
	if (agg_may_be_0(m->val))
		ir_mov_to(&l->b, any, opnd_reg(ir_load(&l->b, flag(l, y), 0, 1)));
	else
		ir_mov_to(&l->b, any, opnd_imm(!set_words));
	mark = lower_mark(l);
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	at = share_of(l, y, cpu);
	for (u32 i = 0; set_words >> i; i++)
		if (set_words >> i & 1)
			ir_alu_to(&l->b, IR_OR, any, any, opnd_reg(ir_load(&l->b, at, 8 * i, 8)));
	lower_zero(l, (struct mem){ .base = at }, m->val->size);
	ir_alu_to(&l->b, IR_ADD, cpu, cpu, opnd_imm(1));
	ir_br(&l->b, C_ULT, cpu, opnd_imm(l->c->target->ncpus), loop, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return lower_to_bool(l, opnd_reg(any));
}

static vreg remove_value(struct lower *l, struct layer *y, struct expr *e, bool want_missing)
{
	vreg had = clear_shares(l, y, e->map.map);

	ir_store(&l->b, flag(l, y), 0, 1, opnd_imm(0));
	return want_missing ? ir_alu(&l->b, IR_XOR, had, opnd_imm(1)) : had;
}

static const struct store_code code = {
	.fits = fits,
	.lay_out = lay_out,
	.update = update,
	.remove = remove_value,
	.read_agg = read_agg,
};

const struct store store_shares = {
	.name = "shares",
	.code = &code,
	.layer_sz = sizeof(struct scalar_layer),
	.pack = scalar_pack,
	.is_sound = is_sound,
	.read = read_map,
	.clear = clear,
	.zero = zero,
};
