/* SPDX-License-Identifier: GPL-2.0-only */
/* One walk of each body after the check: what it does with maps, and what its predicate needs. Lowering and the choice of how
 * maps are stored rely on it. */
#include "image/image.h"
#include "lang/check.h"
#include "lang/compile.h"
#include "lang/fn.h"
#include "lang/provider.h"

static void note_changes_in_place(const struct expr *e)
{
	const struct expr *of = e->kind == E_INCDEC          ? e->incdec.target :
		e->kind == E_UNARY && e->unary.op == UN_ADDR ? e->unary.a :
							       NULL;

	if (of && of->kind == E_MAP && of->map.map)
		of->map.map->element_uses++;
}

struct user {
	const struct compile *c;
	struct unit *unit;
	bool in_pred;
};

static void note_maps(const struct user *u, const struct expr *e)
{
	const struct expr *first = e->kind == E_CALL && e->call.arg_cnt ? e->call.args[0] : NULL;
	struct map *m;
	u32 flags;

	if (e->kind == E_MAP && e->map.map) {
		bool is_sum = e->map.is_updated || e->map.is_added, is_busy = is_sum && !unit_is_rare(u->unit);

		e->map.map->is_busy |= is_busy;
		e->map.map->is_by_stack |= is_busy && e->map.key && fn_stack_has_id(u->c, u->unit, expr_last_of_key(e->map.key));
		e->map.map->other_uses += !is_sum;
		e->map.map->element_uses += e->map.is_changed || !e->map.key;
	}
	note_changes_in_place(e);
	if (!first || first->kind != E_MAP || !first->map.map || !e->call.fn)
		return;
	m = first->map.map;
	flags = e->call.fn->flags;
	if (flags & FN_ALL_OF_MAP) {
		m->other_uses -= !first->map.key;
		m->element_uses += first->map.key ? 1 : -1;
	} else if (flags & FN_BY_KEY) {
		m->element_uses -= !first->map.key;
	}
	m->is_churned |= flags & FN_REMOVES;
	m->is_cleared |= e->call.fn->reset == MAP_CLEAR;
}

/* A predicate that works with long strings or buffers, or has loops, needs the scratch area before the body does. */
static bool is_big(const struct expr *e)
{
	return e->kind == E_BLOCK || (e->type && !type_is_scalar(e->type) && e->type->size > 32);
}

static void look_at(struct expr *e, void *arg)
{
	const struct user *u = arg;

	if (is_poisoned(e))
		BUG("an expression is wrong, but nothing was said about it");
	u->unit->has_big_pred |= u->in_pred && is_big(e);
	note_maps(u, e);
}

void lang_uses(struct compile *c)
{
	vec_for(it, &c->units) {
		struct unit *u = *it;

		if (u->pred)
			expr_walk(u->pred, look_at, &(struct user){ c, u, true });
		block_walk(u->body, look_at, &(struct user){ c, u, false });
		lang_resets(u);
	}
}
