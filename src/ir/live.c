/* SPDX-License-Identifier: GPL-2.0-only */
/* Which registers hold a value that is still needed, at the end of each block.
 *
 * Each register that a block reads before it sets it is followed backwards from there, to the blocks that set it. The time is
 * proportional to the size of the result: most registers are live inside one block only, and most others cross only one block
 * boundary. */
#include "ir/ir.h"

struct place {
	u32 block, next;
};

/* Blocks by register: lists that begin at first[v] and end with number 0. */
struct places {
	u32 *first;
	vec(struct place) all;
};

struct live {
	struct ir_func *f;
	struct arena *arena;
	struct places reads; /* before anything there sets the register */
	struct places sets;
	u32 *pred_end, *preds; /* those of block n end at pred_end[n], where those of n + 1 begin */
	/* by block: the last register that was found live at its start; at its end; that is set there */
	vreg *in, *out, *set;
	u32 *todo, todo_cnt;
	vec(struct found {
		u32 block;
		vreg v;
	}) found;
};

static void places_init(struct live *l, struct places *p, u32 room)
{
	p->first = arena_alloc(l->arena, (l->f->vreg_cnt + 1) * sizeof(*p->first));
	p->all.at = arena_alloc(l->arena, (room + 1) * sizeof(*p->all.at));
	p->all.cap = room + 1;
	p->all.cnt = 1;
}

/* Blocks come in order. */
static bool is_last_place(const struct places *p, vreg v, u32 block)
{
	return p->first[v] && p->all.at[p->first[v]].block == block;
}

static void add_place(struct live *l, struct places *p, vreg v, u32 block)
{
	u32 before = p->first[v];

	if (is_last_place(p, v, block))
		return;
	p->first[v] = p->all.cnt;
	avec_push(l->arena, &p->all, (struct place){ block, before });
}

static void find_places(struct live *l)
{
	u32 insn_cnt = 0;

	vec_for(b, &l->f->blocks)
		insn_cnt += (*b)->insns.cnt;
	places_init(l, &l->sets, insn_cnt);
	places_init(l, &l->reads, 0); /* of which there are few */
	for (u32 n = 0; n < l->f->blocks.cnt; n++) {
		vec_for(i, &l->f->blocks.at[n]->insns) {
			vreg uses[8];
			u32 cnt = ir_uses(i, uses);

			for (u32 u = 0; u < cnt; u++)
				if (!is_last_place(&l->sets, uses[u], n))
					add_place(l, &l->reads, uses[u], n);
			if (i->d)
				add_place(l, &l->sets, i->d, n);
		}
	}
}

static void find_preds(struct live *l)
{
	const struct ir_func *f = l->f;

	l->pred_end = arena_alloc(l->arena, (f->blocks.cnt + 1) * sizeof(*l->pred_end));
	l->preds = arena_alloc(l->arena, 2 * f->blocks.cnt * sizeof(*l->preds));
	/* Numbers of predecessors, then where they begin, then, when all are in, where they end. */
	for (u32 pass = 0; pass < 2; pass++) {
		for (u32 n = 0; n < f->blocks.cnt; n++) {
			const struct ir_block *b = f->blocks.at[n];
			const struct ir_insn *end = &b->insns.at[b->insns.cnt - 1];
			const struct ir_block *next[] = { end->yes, end->no };

			for (u32 k = 0; k < ARRAY_CNT(next); k++) {
				if (next[k] && pass == 0)
					l->pred_end[next[k]->id + 1]++;
				else if (next[k])
					l->preds[l->pred_end[next[k]->id]++] = n;
			}
		}
		for (u32 n = 0; pass == 0 && n < f->blocks.cnt; n++)
			l->pred_end[n + 1] += l->pred_end[n];
	}
}

/* The value of v is needed at the start of a block. */
static void need(struct live *l, vreg v, u32 block)
{
	if (l->in[block] == v)
		return;
	l->in[block] = v;
	l->todo[l->todo_cnt++] = block;
}

static void follow(struct live *l, vreg v)
{
	for (u32 n = l->sets.first[v]; n; n = l->sets.all.at[n].next)
		l->set[l->sets.all.at[n].block] = v;
	for (u32 n = l->reads.first[v]; n; n = l->reads.all.at[n].next)
		need(l, v, l->reads.all.at[n].block);
	while (l->todo_cnt) {
		u32 block = l->todo[--l->todo_cnt];

		for (u32 k = block ? l->pred_end[block - 1] : 0; k < l->pred_end[block]; k++) {
			u32 pred = l->preds[k];

			if (l->out[pred] == v)
				continue;
			l->out[pred] = v;
			avec_push(l->arena, &l->found, (struct found){ pred, v });
			if (l->set[pred] != v)
				need(l, v, pred);
		}
	}
}

/* Distributes the result to the blocks. */
static void hand_out(struct live *l)
{
	vreg *all = arena_alloc(l->arena, l->found.cnt * sizeof(*all));

	vec_for(b, &l->f->blocks)
		(*b)->live_out_cnt = 0;
	vec_for(p, &l->found)
		l->f->blocks.at[p->block]->live_out_cnt++;
	vec_for(b, &l->f->blocks) {
		(*b)->live_out = all;
		all += (*b)->live_out_cnt;
		(*b)->live_out_cnt = 0;
	}
	vec_for(p, &l->found) {
		struct ir_block *b = l->f->blocks.at[p->block];

		b->live_out[b->live_out_cnt++] = p->v;
	}
}

void ir_liveness(struct ir_func *f)
{
	struct live l = { .f = f, .arena = &f->mem->pass };
	u32 **by_block[] = { &l.in, &l.out, &l.set, &l.todo };

	for (u32 k = 0; k < ARRAY_CNT(by_block); k++)
		*by_block[k] = arena_alloc(l.arena, f->blocks.cnt * sizeof(**by_block[k]));
	find_places(&l);
	find_preds(&l);
	for (vreg v = 1; v <= f->vreg_cnt; v++)
		if (l.reads.first[v])
			follow(&l, v);
	hand_out(&l);
}
