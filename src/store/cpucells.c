/* SPDX-License-Identifier: GPL-2.0-only */
/* Aggregations, and numbers that are only added to, with a small key: a table of cells for each CPU (store/cells.h). The same key
 * may be in the tables of several CPUs and in the hash map, which it uses when an interrupt comes while its cell is being
 * claimed; user space adds them up. */
#include "lang/provider.h"
#include "store/cells.h"
#include "store/hash.h"

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	return y->behind && y->behind->store == &store_hash && store_hash.is_sound(img, m, y->behind) && cells_of(y)->is_percpu &&
		cells_of(y)->key_sz == m->key->size && cells_are_sound(img, m, cells_of(y));
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	return cells_read(obj, m, y, NULL, MAP_KEEP, d);
}

static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	return cells_read(obj, m, y, NULL, how, d);
}

/* What programs do with the map is to add to values. A sum that is 0 and one that was cleared would look the same. */
static bool is_summed(const struct map *m)
{
	bool is_sum = agg_may_be_0(m->val) || (m->val->kind == T_INT && m->val->size == 8);

	return m->is_busy && !m->other_uses && (is_sum ? !m->is_cleared : type_is_agg(m->val) && m->val->agg->add);
}

static bool plan(const struct compile *c, const struct map *m, struct cells *t)
{
	*t = (struct cells){ .is_percpu = true, .key_sz = m->key->size };
	return cells_plan(m, cells_bytes(c, true), t);
}

static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	struct cells t;

	return !front && m->has_key && !m->decl && is_summed(m) && plan(c, m, &t);
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	struct cells_layer *y = arena_new(c->arena, struct cells_layer);
	struct cells t;

	plan(c, m, &t);
	cells_lay_out(c, m, room, &store_cpu_cells, &t, y);
	return &y->base;
}

/* In the key's cell, or behind. */
static void element_of(struct lower *l, struct layer *y, const struct cell *s, vreg p)
{
	struct ir_block *mine = ir_block_new(l->b.f), *other = ir_block_new(l->b.f);

	cell_claim(l, s, mine, other);
	ir_place(&l->b, other);
	y->behind->store->code->element(l, y->behind, s->map, cell_key(l, s), p);
	cell_meet(l, s, p, mine);
}

/* Where a program runs rarely, cells would not pay, and what lies behind is used: user space adds both up. */
static void update(struct lower *l, struct layer *y, struct expr *e, struct expr *call)
{
	struct cell s;
	vreg p;

	if (unit_is_rare(l->unit)) {
		lower_update_by_key(l, y->behind, e, call);
		return;
	}
	p = ir_vreg(l->b.f);
	s = cell_of(l, y, e);
	lower_pin_args(l, call);
	element_of(l, y, &s, p);
	lower_update_at(l, call, p);
}

static vreg add(struct lower *l, struct layer *y, struct expr *e, struct opnd delta, bool want_old)
{
	struct cell s;
	vreg p;

	if (unit_is_rare(l->unit))
		return lower_add_by_key(l, y->behind, e, delta, want_old);
	p = ir_vreg(l->b.f);
	s = cell_of(l, y, e);
	element_of(l, y, &s, p);
	return lower_add_at(l, p, delta, want_old);
}

static const struct store_code code = {
	.keeps_cpus_apart = true, .fits = fits, .lay_out = lay_out, .add = add, .update = update
};

const struct store store_cpu_cells = {
	.name = "cpu_cells",
	.code = &code,
	.layer_sz = sizeof(struct cells_layer),
	.pack = cells_pack,
	.is_sound = is_sound,
	.read = read_map,
	.take = take,
};
