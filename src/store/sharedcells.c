/* SPDX-License-Identifier: GPL-2.0-only */
/* Values that are assigned, read and deleted by a small key, such as the start times of a latency: a table of cells that all CPUs
 * share (store/cells.h). A delete changes the mark; the cell stays claimed by the key. Each operation ends in one access to one
 * word, so that another CPU sees it either before or after. */
#include "store/cells.h"
#include "store/hash.h"

/* ---- user space ---- */

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	return y->behind && y->behind->store == &store_hash && store_hash.is_sound(img, m, y->behind) &&
		!cells_of(y)->is_percpu && cell_key_is_small(m->key) && cells_are_sound(img, m, cells_of(y));
}

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	return cells_read(obj, m, y, NULL, MAP_KEEP, d);
}

static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	return cells_read(obj, m, y, NULL, how, d);
}

/* ---- programs ---- */

static bool plan(const struct compile *c, const struct map *m, struct cells *t)
{
	*t = (struct cells){ .key_sz = m->key->size };
	return cells_plan(m, cells_bytes(c, false), t);
}

static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	struct cells t;

	return !front && m->has_key && !m->decl && m->is_churned && !m->element_uses && cell_key_is_small(m->key) &&
		type_is_scalar(m->val) && m->val->kind != T_BOOL && plan(c, m, &t);
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	struct cells_layer *y = arena_new(c->arena, struct cells_layer);
	struct cells t;

	plan(c, m, &t);
	cells_lay_out(c, m, room, &store_shared_cells, &t, y);
	return &y->base;
}

static vreg lookup_behind(struct lower *l, struct layer *y, const struct cell *s)
{
	return y->behind->store->code->lookup(l, y->behind, cell_key(l, s));
}

/* Goes to `hit` if the cell has the key's value, to `none` if the key has none, to `other` if it belongs to another key. */
static void look(struct lower *l, const struct cell *s, struct ir_block *hit, struct ir_block *none, struct ir_block *other)
{
	struct ir_block *no_hit = ir_block_new(l->b.f), *not_empty = ir_block_new(l->b.f);
	vreg mark = lower_acquire(l, s->at, 0);

	ir_br(&l->b, C_EQ, mark, opnd_reg(s->mark), hit, no_hit);
	ir_place(&l->b, no_hit);
	ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_ADD, mark, opnd_reg(s->mark)), opnd_imm(0), none, not_empty);
	ir_place(&l->b, not_empty);
	ir_br(&l->b, C_EQ, mark, opnd_imm(0), none, other);
}

/* The cell, which belongs to the key, has a value from now on: the mark publishes it. */
static void fill(struct lower *l, const struct cell *s, vreg value)
{
	ir_store(&l->b, s->at, s->table->val_off, s->map->val->size, opnd_reg(value));
	lower_fence(l, s->at, 0);
	ir_store(&l->b, s->at, 0, 8, opnd_reg(s->mark));
}

/* Or none. What this program loaded from it was loaded before. */
static void empty(struct lower *l, const struct cell *s)
{
	lower_fence(l, s->at, 0);
	ir_store(&l->b, s->at, 0, 8, opnd_reg(ir_neg(&l->b, s->mark)));
}

/* Returns 1 if it was this run that did it, else 0. */
static vreg empty_once(struct lower *l, const struct cell *s)
{
	vreg old = ir_cmpxchg(&l->b, s->at, 0, s->mark, ir_neg(&l->b, s->mark));

	return ir_alu(&l->b, IR_XOR, lower_to_bool(l, opnd_reg(ir_alu(&l->b, IR_XOR, old, opnd_reg(s->mark)))), opnd_imm(1));
}

static vreg seek(struct lower *l, struct layer *y, struct expr *e, vreg d, u32 *mark, struct ir_block *missing,
		 struct ir_block *done)
{
	struct ir_block *hit = ir_block_new(l->b.f), *other = ir_block_new(l->b.f);
	struct cell s = cell_of(l, y, e);

	*mark = lower_mark(l);
	look(l, &s, hit, missing, other);
	ir_place(&l->b, hit);
	ir_mov_to(&l->b, d, opnd_reg(lower_load(l, cell_value(&s), s.map->val)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, other);
	return lookup_behind(l, y, &s);
}

static vreg find(struct lower *l, struct layer *y, struct expr *e)
{
	vreg p = ir_vreg(l->b.f);
	struct ir_block *hit = ir_block_new(l->b.f), *none = ir_block_new(l->b.f), *other = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	struct cell s = cell_of(l, y, e);
	u32 mark = lower_mark(l);

	look(l, &s, hit, none, other);
	ir_place(&l->b, other);
	ir_mov_to(&l->b, p, opnd_reg(lookup_behind(l, y, &s)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, none);
	ir_mov_to(&l->b, p, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, hit);
	ir_mov_to(&l->b, p, opnd_reg(lower_addr(l, cell_value(&s))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return p;
}

static void assign(struct lower *l, struct layer *y, struct expr *e, struct expr *value)
{
	const struct map *m = e->map.map;
	struct ir_block *mine = ir_block_new(l->b.f), *other = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg v = ir_vreg(l->b.f);
	struct mem key, val;
	struct cell s;
	u32 mark;

	/* A separate register: the key may change a variable. */
	ir_mov_to(&l->b, v, lower_scalar(l, value));
	s = cell_of(l, y, e);
	lower_map_forget(l, m);
	mark = lower_mark(l);
	cell_claim(l, &s, mine, other);
	ir_place(&l->b, other);
	key = cell_key(l, &s);
	val = lower_temp(l, m->val->size, 8);
	ir_store(&l->b, val.base, val.off, m->val->size, opnd_reg(v));
	y->behind->store->code->put(l, y->behind, key, val);
	ir_jmp(&l->b, done);
	ir_place(&l->b, mine);
	fill(l, &s, v);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
}

static vreg remove_value(struct lower *l, struct layer *y, struct expr *e, bool want_missing)
{
	struct ir_block *hit = ir_block_new(l->b.f), *none = ir_block_new(l->b.f), *other = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	struct cell s = cell_of(l, y, e);
	vreg r = ir_vreg(l->b.f);
	u32 mark = lower_mark(l);

	look(l, &s, hit, none, other);
	ir_place(&l->b, other);
	ir_mov_to(&l->b, r, opnd_reg(lower_remove_by_key(l, y->behind, cell_key(l, &s), want_missing)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, none);
	ir_mov_to(&l->b, r, opnd_imm(want_missing));
	ir_jmp(&l->b, done);
	ir_place(&l->b, hit);
	if (want_missing) {
		empty(l, &s);
		ir_mov_to(&l->b, r, opnd_imm(0));
	} else { /* the caller may rely on only one CPU getting true */
		ir_mov_to(&l->b, r, opnd_reg(empty_once(l, &s)));
	}
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return r;
}

static const struct store_code code = {
	.fits = fits,
	.lay_out = lay_out,
	.seek = seek,
	.find = find,
	.assign = assign,
	.remove = remove_value,
};

const struct store store_shared_cells = {
	.name = "shared_cells",
	.code = &code,
	.layer_sz = sizeof(struct cells_layer),
	.pack = cells_pack,
	.is_sound = is_sound,
	.read = read_map,
	.take = take,
};
