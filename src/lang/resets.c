/* SPDX-License-Identifier: GPL-2.0-only */
/* print(@m), and later in the same block clear(@m) or zero(@m): one step.
 *
 * Both are events for user space. If it read the map for one and emptied it for the other, updates in between would be in no
 * output. So the event of print() asks for both, and the other call sends none. Between the two there must be nothing that uses
 * the map, and nothing that ends the program, a loop or a function. */
#include "image/image.h"
#include "lang/compile.h"
#include "lang/fn.h"
#include "lang/provider.h"

/* The map that all of is the first argument of this call, a statement; NULL: none. */
static struct map *whole_map(const struct stmt *s)
{
	const struct expr *e = s->kind == S_EXPR ? s->expr : NULL, *a;

	if (!e || e->kind != E_CALL || !e->call.fn || !e->call.arg_cnt)
		return NULL;
	a = e->call.args[0];
	return a->kind == E_MAP && !a->map.key ? a->map.map : NULL;
}

static struct map *shown_by(const struct stmt *s)
{
	struct map *m = whole_map(s);

	return m && s->expr->call.fn->flags & FN_ALL_OF_MAP && !s->expr->call.fn->reset ? m : NULL;
}

static struct map *reset_by(const struct stmt *s)
{
	struct map *m = whole_map(s);

	return m && s->expr->call.fn->reset && !s->expr->call.is_done_before ? m : NULL;
}

/* Blocks of a statement, but for those in expressions. Returns how many. */
static u32 blocks_of(const struct stmt *s, struct block *at[2])
{
	at[0] = at[1] = NULL;
	switch (s->kind) {
	case S_IF:
		at[0] = s->if_.yes;
		at[1] = s->if_.no;
		return at[1] ? 2 : 1;
	case S_BLOCK:
		at[0] = s->block;
		return 1;
	case S_WHILE:
	case S_UNROLL:
		at[0] = s->loop.body;
		return 1;
	case S_FOR:
		at[0] = s->for_.body;
		return 1;
	case S_EXPR:
	case S_DISCARD:
	case S_ASSIGN:
	case S_LET:
	case S_RETURN:
	case S_BREAK:
	case S_CONTINUE:
		break;
	}
	return 0;
}

struct hindrance {
	const struct map *map;
	bool is_any;
};

static bool has_jump(const struct stmt *s)
{
	struct block *blocks[2];
	u32 cnt = blocks_of(s, blocks);

	if (s->kind == S_RETURN || s->kind == S_BREAK || s->kind == S_CONTINUE)
		return true;
	for (u32 i = 0; i < cnt; i++)
		for (u32 k = 0; k < blocks[i]->cnt; k++)
			if (has_jump(blocks[i]->stmts[k]))
				return true;
	return false;
}

static void look_for_hindrance(struct expr *e, void *arg)
{
	struct hindrance *h = arg;

	h->is_any |= e->kind == E_MAP && e->map.map == h->map;
	h->is_any |= e->kind == E_CALL && e->call.fn && e->call.fn->flags & FN_LEAVES;
	for (u32 i = 0; e->kind == E_BLOCK && e->block.body && i < e->block.body->cnt; i++)
		h->is_any |= has_jump(e->block.body->stmts[i]);
}

static bool hinders(struct stmt *s, const struct map *m)
{
	struct hindrance h = { m, has_jump(s) };

	block_walk(&(struct block){ .stmts = &s, .cnt = 1 }, look_for_hindrance, &h);
	return h.is_any;
}

static void join(const struct unit *u, struct expr *show, struct expr *reset, struct map *m)
{
	show->call.reset = reset->call.fn->reset;
	reset->call.is_done_before = true;
	m->is_taken |= !(u->provider->flags & PROV_END); /* nothing is attached then */
}

static void pair_in(const struct unit *u, struct block *b)
{
	for (u32 i = 0; i < b->cnt; i++) {
		struct map *m = shown_by(b->stmts[i]);
		struct block *blocks[2];
		u32 cnt = blocks_of(b->stmts[i], blocks), k = i + 1;

		for (u32 n = 0; n < cnt; n++)
			pair_in(u, blocks[n]);
		while (m && k < b->cnt && reset_by(b->stmts[k]) != m && !hinders(b->stmts[k], m))
			k++;
		if (m && k < b->cnt && reset_by(b->stmts[k]) == m)
			join(u, b->stmts[i]->expr, b->stmts[k]->expr, m);
	}
}

static void look_into(struct expr *e, void *arg)
{
	if (e->kind == E_BLOCK && e->block.body)
		pair_in(arg, e->block.body);
}

void lang_resets(struct unit *u)
{
	pair_in(u, u->body);
	block_walk(u->body, look_into, u);
}
