/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/cells.h"

#include <errno.h>

#include "image/pack.h"
#include "image/shared.h"

/* ---- user space ---- */

void cells_pack(struct packer *p, struct layer *y)
{
	struct cells *t = &((struct cells_layer *)y)->cells;

	pack_value(p, &t->cnt);
	pack_value(p, &t->size);
	pack_value(p, &t->off);
	pack_value(p, &t->key_sz);
	pack_value(p, &t->val_off);
	pack_value(p, &t->is_percpu);
}

bool cells_can_add(const struct type *val)
{
	return type_is_agg(val) ? val->agg->add != NULL : val->size == 8;
}

bool cells_are_sound(const struct image *img, const struct script_map *m, const struct cells *t)
{
	u32 head = cell_key_is_small(m->key) ? 8 : 8 + t->key_sz;

	return is_pow2(t->cnt) && t->key_sz <= m->key->size && t->key_sz <= CELL_KEY_MAX && head <= t->val_off && !(t->off % 8) &&
		!(t->val_off % 8) && is_within(t->val_off, m->val->size, t->size) && !(t->size % 8) &&
		(!t->is_percpu || cells_can_add(m->val)) &&
		is_within(t->off, (u64)t->cnt * t->size, t->is_percpu ? img->data.cpu_sz : img->data.shared_sz);
}

/* The table of one CPU, or the one that all share. */
struct tables {
	u8 *first;
	size_t stride;
	u32 cnt;
};

static bool find_tables(struct object *obj, const struct cells *c, struct tables *t)
{
	const struct data_layout *lay = &obj->image->data;
	u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);

	if (!data)
		return false;
	if (c->is_percpu)
		*t = (struct tables){ data + lay->shared_sz + c->off, lay->cpu_sz, lay->cpu_cnt };
	else
		*t = (struct tables){ data + c->off, 0, 1 };
	return true;
}

static u8 *cell_at(const struct cells *c, const struct tables *t, u32 table, u32 i)
{
	return t->first + table * t->stride + (size_t)i * c->size;
}

/* The key of a cell that has a value; NULL: it has none. *small holds a key that is not in memory. */
static const u8 *key_of(const struct script_map *m, const u8 *cell, u32 *small)
{
	s64 mark = __atomic_load_n((const s64 *)cell, __ATOMIC_ACQUIRE);

	if (!cell_key_is_small(m->key))
		return mark == CELL_CLAIMED ? cell + 8 : NULL;
	*small = (u32)(mark - 1);
	return mark > 0 ? (const u8 *)small : NULL;
}

/* An aggregation has one as soon as something was added; a sum, which may be 0 all the same, is never cleared, see
 * store/cpucells.c. */
static bool has_value(const struct script_map *m, const u8 *value)
{
	u8 total[m->val->size];

	return !type_is_agg(m->val) || agg_may_be_0(m->val) || agg_sum(m->val, value, 0, 1, total);
}

static void add_value(const struct type *t, u8 *to, const u8 *value)
{
	u64 a, b;

	if (type_is_agg(t)) {
		t->agg->add(t, to, value);
		return;
	}
	memcpy(&a, to, 8);
	b = shared_word(value);
	a += b;
	memcpy(to, &a, 8);
}

/* Which entry of a dump has a key: a table of as many as there are cells, with 1 + index. */
struct index {
	u32 *at;
	u32 mask;
};

static u32 hash_of(const u8 *key, u32 size)
{
	u64 h = 0;

	for (u32 i = 0; i < size; i += 8) {
		u64 word = 0;

		memcpy(&word, key + i, MIN(8, size - i));
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return (u32)h;
}

/* Where the entry with this key is, or where it would be. */
static u32 *find(const struct index *x, const struct map_dump *d, const u8 *key)
{
	u32 i = hash_of(key, d->key_sz) & x->mask;

	while (x->at[i] && memcmp(d->keys + (size_t)(x->at[i] - 1) * d->key_sz, key, d->key_sz) != 0)
		i = (i + 1) & x->mask;
	return &x->at[i];
}

static void add_entry(struct map_dump *d, const u8 *key, const u8 *value, u32 value_sz)
{
	memcpy(d->keys + (size_t)d->cnt * d->key_sz, key, d->key_sz);
	memset(d->values + (size_t)d->cnt * d->stride, 0, d->stride);
	shared_copy(d->values + (size_t)d->cnt * d->stride, value, value_sz);
	d->cnt++;
}

struct gathering {
	struct object *obj;
	const struct script_map *map;
	const struct layer *layer;
	const struct cell_keys *keys;
	enum map_reset how;
	struct index x;
	struct map_dump *d;
};

/* The value of a cell, which is taken away unless it is kept. Keys keep their cells, since programs may be about to use them. In
 * a cell that all CPUs share, the mark says that there is a value, and goes first: an assignment meanwhile sets it again. */
static void load_value(const struct gathering *g, u8 *cell, u8 *value)
{
	const struct cells *c = cells_of(g->layer);
	s64 mark = __atomic_load_n((s64 *)cell, __ATOMIC_RELAXED);

	if (g->how != MAP_KEEP && c->is_percpu) {
		shared_take(value, cell + c->val_off, g->map->val->size);
		return;
	}
	if (g->how != MAP_KEEP && mark > 0)
		__atomic_compare_exchange_n((s64 *)cell, &mark, -mark, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	shared_copy(value, cell + c->val_off, g->map->val->size);
}

/* Entries of the tables, those of one key added up, go to the start of the dump. */
static void gather(const struct gathering *g, const struct tables *t)
{
	const struct script_map *m = g->map;
	const struct cells *c = cells_of(g->layer);
	struct map_dump *d = g->d;
	u8 *whole = g->keys ? xrealloc(NULL, m->key->size) : NULL, *value = xzalloc(ALIGN_UP(m->val->size, 8));

	for (u32 table = 0; table < t->cnt; table++)
		for (u32 i = 0; i < c->cnt; i++) {
			u8 *cell = cell_at(c, t, table, i);
			u32 small, *place;
			const u8 *key = key_of(m, cell, &small);

			if (!key)
				continue;
			load_value(g, cell, value);
			if (!has_value(m, value))
				continue;
			if (g->keys) {
				g->keys->expand(g->obj, m, g->layer, key, whole);
				g->keys->normalize(m, g->layer, whole);
				key = whole;
			}
			place = find(&g->x, d, key);
			if (*place) {
				add_value(m->val, d->values + (size_t)(*place - 1) * d->stride, value);
				continue;
			}
			add_entry(d, key, value, m->val->size);
			*place = d->cnt;
		}
	free(whole);
	free(value);
}

/* What was read from behind. */
static void add_behind(const struct gathering *g, const struct map_dump *behind)
{
	const struct script_map *m = g->map;
	struct map_dump *d = g->d;

	for (u32 i = 0; i < behind->cnt; i++) {
		u8 *key = behind->keys + (size_t)i * behind->key_sz;
		const u8 *value = behind->values + (size_t)i * behind->stride;
		u32 *place;

		if (g->keys)
			g->keys->normalize(m, g->layer, key);
		place = cells_of(g->layer)->is_percpu ? find(&g->x, d, key) : NULL;
		if (!place || !*place) {
			add_entry(d, key, value, behind->stride);
			if (g->keys) /* two keys may have become the same */
				*place = d->cnt;
			continue;
		}
		for (u32 cpu = 0; cpu < behind->cpu_cnt; cpu++)
			add_value(m->val, d->values + (size_t)(*place - 1) * d->stride, value + (size_t)cpu * behind->value_sz);
	}
}

int cells_read(struct object *obj, const struct script_map *m, const struct layer *y, const struct cell_keys *k,
	       enum map_reset how, struct map_dump *d)
{
	const struct store *behind_store = y->behind->store;
	struct gathering g = { .obj = obj, .map = m, .layer = y, .keys = k, .how = how, .d = d };
	int err = how == MAP_KEEP ? behind_store->read(obj, m, y->behind, d) : behind_store->take(obj, m, y->behind, how, d);
	struct map_dump behind = *d;
	struct tables t;
	u32 most;

	if (!err && !find_tables(obj, cells_of(y), &t))
		err = -ENODATA;
	if (err) {
		map_dump_release(d);
		return err;
	}
	most = t.cnt * cells_of(y)->cnt;
	g.x.mask = 2 * pow2_up(most + (k ? behind.cnt : 0)) - 1;
	g.x.at = xzalloc(((size_t)g.x.mask + 1) * sizeof(*g.x.at));
	d->cnt = 0;
	d->keys = xrealloc(NULL, ((size_t)most + behind.cnt) * d->key_sz);
	d->values = xrealloc(NULL, ((size_t)most + behind.cnt) * d->stride);
	gather(&g, &t);
	add_behind(&g, &behind);
	free(g.x.at);
	map_dump_release(&behind);
	return 0;
}

/* ---- layout ---- */

u32 cells_bytes(const struct compile *c, bool is_percpu)
{
	enum { CPU_BYTES = 16 << 10, ALL_CPUS_BYTES = 512 << 10, SHARED_BYTES = 64 << 10 };

	return is_percpu ? MIN(CPU_BYTES, ALL_CPUS_BYTES / c->image->data.cpu_cnt) : SHARED_BYTES;
}

bool cells_plan(const struct map *m, u32 bytes, struct cells *t)
{
	enum { LEAST = 16, SHARE = 16 };

	if (t->key_sz > CELL_KEY_MAX)
		return false;
	t->val_off = 8 + (cell_key_is_small(m->key) ? 0 : ALIGN_UP(t->key_sz, 8));
	t->size = t->val_off + ALIGN_UP(m->val->size, 8);
	t->cnt = pow2_up(bytes / t->size / 2 + 1);
	return t->cnt >= LEAST && t->cnt <= m->lay.max_entries / SHARE;
}

void cells_lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *s, const struct cells *t,
		   struct cells_layer *y)
{
	y->base.store = s;
	y->base.behind = store_lay_out(c, m, room, s);
	y->cells = *t;
	y->cells.off = data_take(t->is_percpu ? &room->cpu : &room->shared, t->cnt * t->size, 64);
}

/* ---- programs ---- */

/* The key's words, most significant first, are the digits of a number; the high bits of its product with the second constant
 * depend on all of them. */
#define MIX 0x2c1b3c6d
#define SCATTER ((s64)0x9e3779b97f4a7c15)

enum { KEY_WORDS = CELL_KEY_MAX / 8 };

struct words {
	vreg at[KEY_WORDS];
	u32 off[KEY_WORDS], size[KEY_WORDS];
	u32 cnt;
};

/* Loads of the largest size that fits: a remainder of 3 bytes takes two. */
static void load_words(struct lower *l, const struct cell *s, struct words *w)
{
	u32 size = s->table->key_sz, n;

	*w = (struct words){};
	for (u32 off = 0; off < size; off += n) {
		for (n = 8; n > size - off;)
			n /= 2;
		w->off[w->cnt] = off;
		w->size[w->cnt] = n;
		w->at[w->cnt++] = ir_load(&l->b, s->key.base, s->key.off + off, n);
	}
}

static vreg table_of(struct lower *l, const struct cells *t)
{
	return t->is_percpu ? lower_cpu_data(l) : ir_mapval(&l->b, MAP_IDX_DATA, t->off);
}

/* The address of the cell that the words select. */
static vreg choose(struct lower *l, const struct cells *t, const vreg *words, u32 cnt)
{
	vreg h = words[0], first = table_of(l, t);

	for (u32 i = 1; i < cnt; i++)
		h = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_MUL, h, opnd_imm(MIX)), opnd_reg(words[i]));
	h = ir_alu(&l->b, IR_MUL, h, opnd_reg(ir_imm(&l->b, SCATTER)));
	h = ir_alu(&l->b, IR_SHR, h, opnd_imm(64 - __builtin_ctz(t->cnt)));
	h = ir_alu(&l->b, IR_MUL, h, opnd_imm(t->size));
	if (t->is_percpu && t->off)
		first = ir_alu(&l->b, IR_ADD, first, opnd_imm(t->off));
	return ir_alu(&l->b, IR_ADD, first, opnd_reg(h));
}

/* Later accesses with the same key reuse the result of the first. */
static vreg known_cell(const struct lower *l, const struct layer *y, const struct expr *e)
{
	for (u32 i = l->known.cnt; !l->loop_end && i-- > l->known_first;)
		if (l->known.at[i].what == y && lower_is_same_key((const struct expr *)(uintptr_t)l->known.at[i].key, e->map.key))
			return l->known.at[i].r;
	return 0;
}

static struct cell cell_of_small(struct lower *l, struct layer *y, struct expr *e)
{
	const struct type *t = e->map.key->type;
	const struct map *m = e->map.map;
	struct cell s = { .map = m, .table = cells_of(y), .at = known_cell(l, y, e) };
	vreg key = lower_reg(l, e->map.key);

	if (!s.at)
		table_of(l, s.table); /* which may be a call: while only the key is live */
	if (t->is_signed || t->size > m->key->size)
		key = ir_ext(&l->b, IR_ZEXT, key, m->key->size);
	/* A separate register: that of a variable may change before the cell is used. */
	s.mark = ir_alu(&l->b, IR_ADD, key, opnd_imm(1));
	if (!s.at) {
		s.at = choose(l, s.table, &s.mark, 1);
		if (!l->loop_end && lower_is_same_key(e->map.key, e->map.key))
			lower_know(l, y, (uintptr_t)e->map.key, s.at);
	}
	return s;
}

struct cell cell_of(struct lower *l, struct layer *y, struct expr *e)
{
	if (cell_key_is_small(e->map.map->key))
		return cell_of_small(l, y, e);
	return cell_by_key(l, y, e->map.map, lower_map_key(l, e));
}

struct cell cell_by_key(struct lower *l, struct layer *y, const struct map *m, struct mem key)
{
	struct cell s = { .map = m, .table = cells_of(y), .key = key };
	struct words w;

	table_of(l, s.table);
	load_words(l, &s, &w);
	s.at = choose(l, s.table, w.at, w.cnt);
	return s;
}

struct mem cell_key(struct lower *l, const struct cell *s)
{
	struct mem key = s->key;

	if (cell_key_is_small(s->map->key)) {
		/* All eight bytes: after a partial store the verifier would keep the old contents of the rest as a separate
		 * state, and walk the code that follows again. */
		key = lower_temp(l, 8, 8);
		ir_store(&l->b, key.base, key.off, 8, opnd_reg(ir_alu(&l->b, IR_SUB, s->mark, opnd_imm(1))));
	}
	return key;
}

struct mem cell_value(const struct cell *s)
{
	return (struct mem){ .base = s->at, .off = s->table->val_off };
}

static void claim_small(struct lower *l, const struct cell *s, struct ir_block *mine, struct ir_block *other)
{
	struct ir_block *not_mine = ir_block_new(l->b.f), *nobodys = ir_block_new(l->b.f), *late, *filled;
	vreg mark = ir_load(&l->b, s->at, 0, 8), old;

	ir_br(&l->b, C_EQ, mark, opnd_reg(s->mark), mine, not_mine);
	ir_place(&l->b, not_mine);
	if (!s->table->is_percpu) {
		struct ir_block *not_empty = ir_block_new(l->b.f);

		ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_ADD, mark, opnd_reg(s->mark)), opnd_imm(0), mine, not_empty);
		ir_place(&l->b, not_empty);
	}
	ir_br(&l->b, C_EQ, mark, opnd_imm(0), nobodys, other);
	ir_place(&l->b, nobodys);
	if (s->table->is_percpu) {
		old = ir_cmpxchg(&l->b, s->at, 0, ir_imm(&l->b, 0), s->mark);
		ir_br(&l->b, C_EQ, old, opnd_imm(0), mine, other);
		return;
	}
	/* Claimed without a value at first. Another CPU may have been faster, also for the same key. */
	late = ir_block_new(l->b.f);
	filled = ir_block_new(l->b.f);
	mark = ir_neg(&l->b, s->mark);
	old = ir_cmpxchg(&l->b, s->at, 0, ir_imm(&l->b, 0), mark);
	ir_br(&l->b, C_EQ, old, opnd_imm(0), mine, late);
	ir_place(&l->b, late);
	ir_br(&l->b, C_EQ, old, opnd_reg(mark), mine, filled);
	ir_place(&l->b, filled);
	ir_br(&l->b, C_EQ, old, opnd_reg(s->mark), mine, other);
}

static void claim_large(struct lower *l, const struct cell *s, struct ir_block *mine, struct ir_block *other)
{
	struct ir_block *taken = ir_block_new(l->b.f), *not_taken = ir_block_new(l->b.f), *nobodys = ir_block_new(l->b.f),
			*claimed = ir_block_new(l->b.f);
	vreg mark = ir_load(&l->b, s->at, 0, 8), old;
	struct words w;

	ir_br(&l->b, C_EQ, mark, opnd_imm(CELL_CLAIMED), taken, not_taken);
	ir_place(&l->b, taken);
	load_words(l, s, &w);
	for (u32 i = 0; i < w.cnt; i++) {
		struct ir_block *same = i + 1 < w.cnt ? ir_block_new(l->b.f) : mine;

		ir_br(&l->b, C_EQ, ir_load(&l->b, s->at, 8 + w.off[i], w.size[i]), opnd_reg(w.at[i]), same, other);
		if (same != mine)
			ir_place(&l->b, same);
	}
	ir_place(&l->b, not_taken);
	ir_br(&l->b, C_EQ, mark, opnd_imm(0), nobodys, other);
	ir_place(&l->b, nobodys);
	old = ir_cmpxchg(&l->b, s->at, 0, ir_imm(&l->b, 0), ir_imm(&l->b, CELL_BEING_CLAIMED));
	ir_br(&l->b, C_EQ, old, opnd_imm(0), claimed, other);
	ir_place(&l->b, claimed);
	load_words(l, s, &w);
	for (u32 i = 0; i < w.cnt; i++)
		ir_store(&l->b, s->at, 8 + w.off[i], w.size[i], opnd_reg(w.at[i]));
	/* Publishes the key: it is fully ordered, on every architecture. */
	ir_fetch_add(&l->b, s->at, 0, opnd_reg(ir_imm(&l->b, CELL_CLAIMED - CELL_BEING_CLAIMED)));
	ir_jmp(&l->b, mine);
}

void cell_claim(struct lower *l, const struct cell *s, struct ir_block *mine, struct ir_block *other)
{
	if (cell_key_is_small(s->map->key))
		claim_small(l, s, mine, other);
	else
		claim_large(l, s, mine, other);
}

void cell_meet(struct lower *l, const struct cell *s, vreg p, struct ir_block *mine)
{
	struct ir_block *done = ir_block_new(l->b.f);

	ir_jmp(&l->b, done);
	ir_place(&l->b, mine);
	ir_mov_to(&l->b, p, opnd_reg(lower_addr(l, cell_value(s))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}
