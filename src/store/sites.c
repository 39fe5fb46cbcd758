/* SPDX-License-Identifier: GPL-2.0-only */
/* An aggregation by probe: a share for each site, in each CPU's part of the data map. The number of sites is known at compile
 * time, so the key is an index, and nothing is looked up. A share of zeroes is no entry. So a sum, which may be 0, is not stored
 * this way. */
#include <errno.h>

#include "image/pack.h"
#include "image/shared.h"
#include "ir/store.h"

extern const struct store store_sites;

/* script_map.max_entries is the number of sites. */
struct sites_layer {
	struct layer base;
	u32 data_off; /* of the first share, in each CPU's part of the data map */
};

static const struct sites_layer *layer_of(const struct layer *y)
{
	return (const struct sites_layer *)y;
}

/* ---- user space ---- */

static void pack(struct packer *p, struct layer *y)
{
	pack_value(p, &((struct sites_layer *)y)->data_off);
}

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	u32 off = layer_of(y)->data_off;

	return !y->behind && m->key && m->key->size == sizeof(u32) && type_is_agg(m->val) && !(off % 8) &&
		is_within(off, (u64)m->val->size * m->max_entries, img->data.cpu_sz);
}

/* As a hash map would have them: those that have a value. */
static void gather(const struct script_map *m, const u8 *first, u32 stride, u32 cpu_cnt, struct map_dump *d)
{
	*d = (struct map_dump){ .key_sz = m->key->size, .stride = store_total_size(m->val), .is_total = true };
	d->keys = xzalloc((size_t)m->max_entries * d->key_sz);
	d->values = xzalloc((size_t)m->max_entries * d->stride);
	for (u32 site = 0; site < m->max_entries; site++) {
		if (!agg_sum(m->val, first + (size_t)site * m->val->size, stride, cpu_cnt,
			     d->values + (size_t)d->cnt * d->stride))
			continue;
		memcpy(d->keys + (size_t)d->cnt * d->key_sz, &site, d->key_sz);
		d->cnt++;
	}
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	const struct data_layout *lay = &obj->image->data;
	const u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);

	if (!data)
		return -ENODATA;
	gather(m, data + lay->shared_sz + layer_of(y)->data_off, lay->cpu_sz, lay->cpu_cnt, d);
	return 0;
}

static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	u32 size = m->max_entries * m->val->size;
	u8 *shares = store_take_shares(obj, layer_of(y)->data_off, size);

	if (!shares)
		return -ENODATA;
	gather(m, shares, size, obj->image->data.cpu_cnt, d);
	free(shares);
	return 0;
}

/* ---- programs ---- */

/* They begin with 0, which is no site, see site_value(). */
static u32 site_value_cnt(const struct compile *c)
{
	return c->sites.cnt + 1;
}

/* Nothing but updates and user space may look at the map. */
static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	enum { CPU_BYTES_MAX = 8 << 10 };

	return !front && m->has_key && m->key->kind == T_SITE && type_is_agg(m->val) && !agg_may_be_0(m->val) &&
		m->val->agg->add && !m->decl && !m->other_uses && site_value_cnt(c) <= c->config.max_map_keys &&
		site_value_cnt(c) <= CPU_BYTES_MAX / m->val->size;
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	struct sites_layer *y = arena_new(c->arena, struct sites_layer);

	y->base.store = &store_sites;
	m->lay.max_entries = site_value_cnt(c);
	y->data_off = data_take(&room->cpu, m->lay.max_entries * m->val->size, 8);
	return &y->base;
}

static void update(struct lower *l, struct layer *y, struct expr *e, struct expr *call)
{
	struct ir_block *known = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	const struct map *m = e->map.map;
	struct opnd site = lower_scalar(l, e->map.key);
	struct mem at = { .base = lower_cpu_data(l), .off = layer_of(y)->data_off };
	u32 mark = lower_mark(l);

	if (site.is_imm) {
		at.off += site.imm * m->val->size;
		call->call.fn->update(l, call, at);
		return;
	}
	/* It always is; the verifier wants to see it. */
	ir_br(&l->b, C_ULT, site.r, opnd_imm(m->lay.max_entries), known, done);
	ir_place(&l->b, known);
	at.base = ir_alu(&l->b, IR_ADD, at.base, opnd_reg(ir_alu(&l->b, IR_MUL, site.r, opnd_imm(m->val->size))));
	call->call.fn->update(l, call, at);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
}

static const struct store_code code = { .fits = fits, .lay_out = lay_out, .update = update };

const struct store store_sites = {
	.name = "sites",
	.code = &code,
	.layer_sz = sizeof(struct sites_layer),
	.pack = pack,
	.is_sound = is_sound,
	.read = read_map,
	.take = take,
};
