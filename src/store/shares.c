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
		is_within(s->data_off, (s->turn_off ? 2ull : 1ull) * m->val->size, img->data.cpu_sz) && !(s->turn_off % 8) &&
		(!s->turn_off || is_within(s->turn_off, 8, img->data.shared_sz));
}

/* Of the share whose turn it is. */
static u32 share_off(const struct object *obj, const struct script_map *m, const struct layer *y)
{
	const struct scalar_layer *s = scalar_layer(y);

	return s->data_off + store_turn(obj, s->turn_off) * m->val->size;
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
	any = agg_sum(m->val, data + lay->shared_sz + share_off(obj, m, y), lay->cpu_sz, lay->cpu_cnt, d->values);
	d->cnt = is_set || (any && !agg_may_be_0(m->val));
	return 0;
}

/* The flag is that of store/scalar.c. An aggregation of nothing would look unset, so zero() sets it. */
static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	const struct data_layout *lay = &obj->image->data;
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA), *flag, *shares;
	u32 size = store_total_size(m->val), off = share_off(obj, m, y);
	int err = data ? store_change_turn(obj, scalar_layer(y)->turn_off) : -ENODATA;

	if (err)
		return err;
	flag = data + scalar_layer(y)->flag_off;
	*d = (struct map_dump){ .stride = size, .is_total = true, .values = xzalloc(size) };
	d->cnt = how == MAP_CLEAR ? __atomic_exchange_n(flag, 0, __ATOMIC_SEQ_CST) : __atomic_load_n(flag, __ATOMIC_ACQUIRE);
	shares = store_take_shares(obj, off, m->val->size);
	d->cnt |= agg_sum(m->val, shares, m->val->size, lay->cpu_cnt, d->values);
	free(shares);
	if (how == MAP_ZERO && d->cnt)
		__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	return 0;
}

/* ---- programs ---- */

static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	return !m->has_key && type_is_agg(m->val);
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	bool has_two = m->is_taken && !m->val->agg->add; /* its numbers belong together, and cannot be taken one by one */
	u32 off = data_take(&room->cpu, (has_two ? 2 : 1) * m->val->size, 8);
	struct layer *y = scalar_layer_new(c->arena, &store_shares, off, room->flag_off);

	if (has_two)
		((struct scalar_layer *)y)->turn_off = data_take_turn(c, room);
	return y;
}

/* first, the address of the first share; or that of the second. */
static vreg by_turn(struct lower *l, const struct layer *y, vreg first, u32 size)
{
	u32 turn_off = scalar_layer(y)->turn_off;
	struct ir_block *second, *done;
	vreg at;

	if (!turn_off)
		return first;
	second = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	at = ir_vreg(l->b.f);
	lower_branch_by_turn(l, turn_off, second);
	ir_mov_to(&l->b, at, opnd_reg(first));
	ir_jmp(&l->b, done);
	ir_place(&l->b, second);
	ir_mov_to(&l->b, at, opnd_reg(ir_alu(&l->b, IR_ADD, first, opnd_imm(size))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return at;
}

static vreg flag(struct lower *l, struct layer *y)
{
	return ir_mapval(&l->b, MAP_IDX_DATA, scalar_layer(y)->flag_off);
}

static void update(struct lower *l, struct layer *y, struct expr *e, struct expr *call)
{
	struct mem at = { .base = by_turn(l, y, lower_cpu_data(l), e->map.map->val->size), .off = scalar_layer(y)->data_off };

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
	at = by_turn(l, y, share_of(l, y, cpu), m->val->size);
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
	.take = take,
};
