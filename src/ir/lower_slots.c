/* Slots in front of a hash map.
 *
 * A lookup in a hash map is a call, a hash over the key, and a walk through memory that the events in between have driven out of the cache; inserting
 * and deleting take a lock besides. Maps with small keys have a table in front, in memory that programs address directly. The key chooses one slot of
 * it. The slot belongs to the first key that comes, for good; a key whose slot belongs to another is in the hash map, as it would be
 * without the table. So a key is never searched in two places, nothing ever moves, and no value can be taken for that of another key.
 *
 * Two kinds of maps have slots, and nothing else may touch the elements of these maps (map.other_uses, map.element_uses):
 *
 *   Aggregations, and numbers that are only added to: each CPU has a table. The same key may be in the tables of several CPUs and in the hash map, where it goes when an
 *   interrupt comes while its slot is taken; user space adds them up (run/slots.c).
 *
 *   Values that are deleted by their key, as the start times of a latency are: all CPUs share the table. To delete is to change the mark; the slot stays the
 *   key's. Each operation ends in one access to one word, so that one that runs on another CPU sees it before or after, not in between.
 *
 * A slot is a mark, then the key if it has more than four bytes, then the value. The mark of a small key is the key plus one, negative while it
 * has no value; of a larger one, enum slot_mark. A mark of 0 is a slot of nobody.
 */
#include "ir/lower.h"

#include "bpf/image.h"

/* The key's words, from the most significant one on, are the digits of a number; what is far up in its product with the second constant depends on all of them. */
#define MIX      0x2c1b3c6d
#define SCATTER  ((s64)0x9e3779b97f4a7c15)

enum { KEY_WORDS = SLOT_KEY_MAX / 8 };

struct words {
	vreg at[KEY_WORDS];
	u32 off[KEY_WORDS], size[KEY_WORDS];
	u32 cnt;
};

/* By the largest accesses that its size allows: a last part of 3 bytes is two of them. */
static void load_words(struct lower *l, const struct slot *s, struct words *w)
{
	u32 size = s->map->slots.key_sz, n;

	*w = (struct words){};
	for (u32 off = 0; off < size; off += n) {
		for (n = 8; n > size - off;)
			n /= 2;
		w->off[w->cnt] = off;
		w->size[w->cnt] = n;
		w->at[w->cnt++] = ir_load(&l->b, s->key.base, s->key.off + off, n);
	}
}

static vreg table(struct lower *l, const struct map *m)
{
	return m->slots.is_percpu ? lower_cpu_data(l) : ir_mapval(&l->b, MAP_IDX_DATA, m->slots.off);
}

/* The address of the slot that the words choose. */
static vreg choose(struct lower *l, const struct map *m, const vreg *words, u32 cnt)
{
	const struct map_slots *t = &m->slots;
	vreg h = words[0], first = table(l, m);

	for (u32 i = 1; i < cnt; i++)
		h = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_MUL, h, opnd_imm(MIX)), opnd_reg(words[i]));
	h = ir_alu(&l->b, IR_MUL, h, opnd_reg(ir_imm(&l->b, SCATTER)));
	h = ir_alu(&l->b, IR_SHR, h, opnd_imm(64 - __builtin_ctz(t->cnt)));
	h = ir_alu(&l->b, IR_MUL, h, opnd_imm(t->size));
	if (m->slots.is_percpu && t->off)
		first = ir_alu(&l->b, IR_ADD, first, opnd_imm(t->off));
	return ir_alu(&l->b, IR_ADD, first, opnd_reg(h));
}

/* What one access of a program computed, others with the same key need not. */
static vreg known_slot(const struct lower *l, const struct expr *e)
{
	for (u32 i = l->known.cnt; !l->loop_end && i-- > l->known_first;)
		if (l->known.at[i].what == &e->map.map->slots && lower_is_same_key((const struct expr *)(uintptr_t)l->known.at[i].key, e->map.key))
			return l->known.at[i].r;
	return 0;
}

static struct slot slot_of_small(struct lower *l, struct expr *e)
{
	const struct type *t = e->map.key->type;
	const struct map *m = e->map.map;
	struct slot s = { .map = m, .at = known_slot(l, e) };
	vreg key = lower_reg(l, e->map.key);

	if (!s.at)
		table(l, m); /* which may be a call: before there is more in hand than the key */
	if (t->is_signed || t->size > m->key->size)
		key = ir_ext(&l->b, IR_ZEXT, key, m->key->size);
	/* A register of its own: that of a variable may change before the slot is used. */
	s.mark = ir_alu(&l->b, IR_ADD, key, opnd_imm(1));
	if (!s.at) {
		s.at = choose(l, m, &s.mark, 1);
		if (!l->loop_end && lower_is_same_key(e->map.key, e->map.key))
			lower_know(l, &m->slots, (uintptr_t)e->map.key, s.at);
	}
	return s;
}

struct slot lower_slot(struct lower *l, struct expr *e)
{
	if (slot_key_is_small(e->map.map->key))
		return slot_of_small(l, e);
	return lower_slot_by(l, e->map.map, lower_map_key(l, e));
}

struct slot lower_slot_by(struct lower *l, const struct map *m, struct mem key)
{
	struct slot s = { .map = m, .key = key };
	struct words w;

	table(l, m);
	load_words(l, &s, &w);
	s.at = choose(l, m, w.at, w.cnt);
	return s;
}

struct mem lower_slot_key(struct lower *l, const struct slot *s)
{
	struct mem key = s->key;

	if (slot_key_is_small(s->map->key)) {
		/* All eight bytes: of a part of them the verifier would think that the rest is left from before, and walk what follows once more. */
		key = lower_temp(l, 8, 8);
		ir_store(&l->b, key.base, key.off, 8, opnd_reg(ir_alu(&l->b, IR_SUB, s->mark, opnd_imm(1))));
	}
	return key;
}

struct mem lower_slot_value(const struct slot *s)
{
	return (struct mem){ .base = s->at, .off = s->map->slots.val_off };
}

static void claim_small(struct lower *l, const struct slot *s, struct ir_block *mine, struct ir_block *other)
{
	struct ir_block *not_mine = ir_block_new(l->b.f), *nobodys = ir_block_new(l->b.f), *late, *filled;
	vreg mark = ir_load(&l->b, s->at, 0, 8), old;

	ir_br(&l->b, C_EQ, mark, opnd_reg(s->mark), mine, not_mine);
	ir_place(&l->b, not_mine);
	if (!s->map->slots.is_percpu) {
		struct ir_block *not_empty = ir_block_new(l->b.f);

		ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_ADD, mark, opnd_reg(s->mark)), opnd_imm(0), mine, not_empty);
		ir_place(&l->b, not_empty);
	}
	ir_br(&l->b, C_EQ, mark, opnd_imm(0), nobodys, other);
	ir_place(&l->b, nobodys);
	if (s->map->slots.is_percpu) {
		old = ir_cmpxchg(&l->b, s->at, 0, ir_imm(&l->b, 0), s->mark);
		ir_br(&l->b, C_EQ, old, opnd_imm(0), mine, other);
		return;
	}
	/* Without a value until it has one. Another CPU may have been faster: for this key, too. */
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

static void claim_large(struct lower *l, const struct slot *s, struct ir_block *mine, struct ir_block *other)
{
	struct ir_block *taken = ir_block_new(l->b.f), *not_taken = ir_block_new(l->b.f), *nobodys = ir_block_new(l->b.f), *claimed = ir_block_new(l->b.f);
	vreg mark = ir_load(&l->b, s->at, 0, 8), old;
	struct words w;

	ir_br(&l->b, C_EQ, mark, opnd_imm(SLOT_TAKEN), taken, not_taken);
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
	old = ir_cmpxchg(&l->b, s->at, 0, ir_imm(&l->b, 0), ir_imm(&l->b, SLOT_BEING_TAKEN));
	ir_br(&l->b, C_EQ, old, opnd_imm(0), claimed, other);
	ir_place(&l->b, claimed);
	load_words(l, s, &w);
	for (u32 i = 0; i < w.cnt; i++)
		ir_store(&l->b, s->at, 8 + w.off[i], w.size[i], opnd_reg(w.at[i]));
	/* User space sees the key before the mark, on whatever machine. */
	ir_fetch_add(&l->b, s->at, 0, opnd_reg(ir_imm(&l->b, SLOT_TAKEN - SLOT_BEING_TAKEN)));
	ir_jmp(&l->b, mine);
}

void lower_slot_claim(struct lower *l, const struct slot *s, struct ir_block *mine, struct ir_block *other)
{
	if (slot_key_is_small(s->map->key))
		claim_small(l, s, mine, other);
	else
		claim_large(l, s, mine, other);
}

void lower_slot_look(struct lower *l, const struct slot *s, struct ir_block *hit, struct ir_block *none, struct ir_block *other)
{
	struct ir_block *no_hit = ir_block_new(l->b.f), *not_empty = ir_block_new(l->b.f);
	vreg mark = ir_load(&l->b, s->at, 0, 8);

	ir_br(&l->b, C_EQ, mark, opnd_reg(s->mark), hit, no_hit);
	ir_place(&l->b, no_hit);
	ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_ADD, mark, opnd_reg(s->mark)), opnd_imm(0), none, not_empty);
	ir_place(&l->b, not_empty);
	ir_br(&l->b, C_EQ, mark, opnd_imm(0), none, other);
}

void lower_slot_fill(struct lower *l, const struct slot *s, vreg value)
{
	ir_store(&l->b, s->at, s->map->slots.val_off, s->map->val->size, opnd_reg(value));
	ir_store(&l->b, s->at, 0, 8, opnd_reg(s->mark));
}

void lower_slot_empty(struct lower *l, const struct slot *s)
{
	ir_store(&l->b, s->at, 0, 8, opnd_reg(ir_neg(&l->b, s->mark)));
}

vreg lower_slot_empty_once(struct lower *l, const struct slot *s)
{
	vreg old = ir_cmpxchg(&l->b, s->at, 0, s->mark, ir_neg(&l->b, s->mark));

	return ir_alu(&l->b, IR_XOR, lower_to_bool(l, opnd_reg(ir_alu(&l->b, IR_XOR, old, opnd_reg(s->mark)))), opnd_imm(1));
}
