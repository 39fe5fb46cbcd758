/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions on maps: removal, membership, size; and clear and zero, which run in user space. */
#include <errno.h>

#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "run/session.h"

/* The map access that `f(@m, key)` or the older `f(@m[key])` means, as an E_MAP with its key. Kept in call->note. */
static struct expr *access_of(struct check *k, struct expr *call, struct expr *map, struct expr *key)
{
	struct expr *e = arena_new(check_arena(k), struct expr);

	*e = (struct expr){ .kind = E_MAP, .span = call->span };
	e->map.name = map->map.name;
	e->map.key = key ? key : map->map.key;
	e->map.is_ref = true;
	check_map_key(k, e);
	if (is_poisoned(e))
		return NULL;
	e->type = e->map.map->val ? e->map.map->val : &type_s64;
	return e;
}

/* Several accesses in one call, as delete(@a[1], @a[2]) had before 0.22. */
struct accesses {
	struct expr **at;
	u32 cnt;
};

static void check_delete(struct check *k, struct expr *e)
{
	struct accesses *list = arena_new(check_arena(k), struct accesses);
	struct expr **args = e->call.args, *a;
	u32 entries = 1; /* how many arguments name one; the 0.21 form takes any number of them */

	e->type = &type_bool;
	list->at = arena_alloc(check_arena(k), e->call.arg_cnt * sizeof(*list->at));
	while (args[0]->map.key && entries < e->call.arg_cnt && args[entries]->kind == E_MAP)
		entries++;
	if (entries < e->call.arg_cnt && (e->call.arg_cnt > 2 || args[0]->map.key)) {
		check_fail(k, e, E_ARG_COUNT, "delete() takes a map and one key");
		diag_hint(k->c->diag, "a key of several parts is written delete(@m, (a, b))");
		return;
	}
	for (u32 i = 0; i < entries; i++) {
		a = access_of(k, e, args[i], entries < e->call.arg_cnt ? args[1] : NULL);
		if (!a)
			goto bad;
		if (!a->map.key && a->map.map->has_key) {
			check_fail(k, e, E_ARG_COUNT, "delete() needs the key to delete from %s", a->map.name);
			diag_hint(k->c->diag, "delete(%s, key) removes one entry; clear(%s) removes all", a->map.name,
				  a->map.name);
			return;
		}
		list->at[list->cnt++] = a;
	}
	e->call.note = list;
	return;
bad:
	e->type = &type_error;
}

static void warn_missing(struct lower *l, struct expr *e, vreg is_missing)
{
	struct ir_block *missing = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);

	ir_br(&l->b, C_NE, is_missing, opnd_imm(0), missing, done);
	ir_place(&l->b, missing);
	lower_helper_error(l, e->span, HELPER_map_delete_elem, opnd_imm(-ENOENT),
			   "Can't delete map element because it does not exist.");
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

static struct val lower_delete(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct accesses *list = e->call.note;
	vreg r = 0;

	for (u32 i = 0; i < list->cnt; i++) {
		r = lower_map_delete(l, list->at[i], e->call.is_statement);
		if (e->call.is_statement)
			warn_missing(l, e, r);
	}
	return val_reg(r);
}

static void check_has_key(struct check *k, struct expr *e)
{
	struct expr *a = access_of(k, e, e->call.args[0], e->call.args[1]);

	e->type = a ? &type_bool : &type_error;
	e->call.note = a;
}

static struct val lower_has_key(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.note;
	vreg p = lower_map_find(l, a);
	struct ir_block *found = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f);

	/* Not the pointer itself: as a number it would depend on the kernel's addresses. */
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_NE, p, opnd_imm(0), found, done);
	ir_place(&l->b, found);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

/* find: a lookup that stores the value in a variable. */

static void check_find(struct check *k, struct expr *e)
{
	struct expr *a = access_of(k, e, e->call.args[0], e->call.args[1]);

	e->type = a ? &type_bool : &type_error;
	e->call.note = a;
	if (!a)
		return;
	if (type_is_agg(a->type)) {
		check_fail(k, e->call.args[0], E_AGGREGATION, "%s holds %s, which find() cannot copy to a variable", a->map.name,
			   type_str(check_arena(k), a->type));
		diag_hint(k->c->diag, "has_key(%s, key) reports whether the key exists", a->map.name);
		e->type = &type_error;
		return;
	}
	/* The type of the map may follow from a later statement. */
	k->saw_unknown |= !a->map.map->val;
	check_var_assign(k, e->call.args[2], a->map.map->val || k->guesses ? a->type : &type_error, e->span);
}

static struct val lower_find(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.note;
	struct var *v = e->call.args[2]->var.var;
	struct ir_block *found = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f), p;
	u32 mark;

	/* A missing key leaves the variable unchanged: zero, if this is its first use. */
	if (lower_var_is_new(l, v))
		lower_var_init(l, v);
	p = lower_map_find(l, a);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_NE, p, opnd_imm(0), found, done);
	mark = lower_mark(l);
	ir_place(&l->b, found);
	lower_pin_to(l, a, val_mem((struct mem){ .base = p }));
	lower_var_assign(l, v, a);
	lower_unpin(l, a);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return val_reg(d);
}

/* The map argument of clear() and its like, known or not. */
static bool check_map_arg(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[0];

	if (a->map.key) {
		check_fail(k, a, E_ARG_TYPE, "%s() works on a whole map: leave out the key", e->call.name);
		e->type = &type_error;
		return false;
	}
	if (!a->map.map) {
		if (k->is_last) {
			check_fail(k, a, E_UNDEFINED_VARIABLE, "Undefined map: %s", a->map.name);
			compile_hint_undefined(k->c);
		}
		e->type = k->is_last ? &type_error : &type_none;
		return false;
	}
	return true;
}

static void check_len(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[0];

	e->type = &type_s64;
	if (type_is_stack(a->type))
		return;
	if (a->kind != E_MAP) {
		check_fail(k, a, E_ARG_TYPE, "len() expects a map or a stack (%s provided)", type_str(check_arena(k), a->type));
		e->type = &type_error;
		return;
	}
	if (!check_map_arg(k, e))
		return;
	if (!e->call.args[0]->map.map->has_key) {
		check_fail(k, e->call.args[0], E_ARG_TYPE, "len() expects a map with keys; %s has none",
			   e->call.args[0]->map.name);
		e->type = &type_error;
	}
}

static struct val lower_len(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0];

	if (type_is_stack(a->type) && !(a->kind == E_MAP && !a->map.key && a->map.map->has_key)) {
		struct mem m = lower_mem(l, a);

		m.off += type_stack_head(a->type) - 8;
		return val_reg(lower_load(l, m, &type_u64));
	}
	/* It returns how many elements it visited; the callback has nothing to do. */
	return val_reg(lower_map_each(l, a->map.map, lower_counter(l), opnd_imm(0)));
}

static void check_whole_map(struct check *k, struct expr *e)
{
	e->type = &type_none;
	check_map_arg(k, e);
}

static struct val lower_map_event(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct rec *r;

	if (e->call.is_done_before)
		return val_none();
	r = lower_rec_new(l, e);
	r->map = e->call.args[0]->map.map->index + 1;
	lower_emit(l, r, NULL, 0);
	return val_none();
}

static void event_reset(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	session_reset_map(s, image_rec_map(s->image, rec), rec->fn->reset);
}

static const struct fn rows[] = {
	{ "delete", "(map m, ?any key, …) bool", "removes an entry from a map; true if the entry existed",
	  "begin { @a[1] = 2; delete(@a, 1) }", FN_EFFECT | FN_REMOVES | FN_BY_KEY, check_delete, lower_delete },
	{ "has_key", "(map m, any key) bool", "true if the map has an entry with this key",
	  "begin { @a[1] = 2; if (has_key(@a, 1)) { print(1) } }", FN_BY_KEY, check_has_key, lower_has_key },
	{ "find", "(map m, any key, var v) bool", "true if the map has an entry with this key; its value is then in the variable",
	  "begin { @a[1] = 2; if (find(@a, 1, $v)) { print($v) } }", FN_EFFECT | FN_BY_KEY, check_find, lower_find },
	{ "len", "(map|any m) int64", "number of entries of a map, or of frames of a stack",
	  "begin { @a[1] = 2; print(len(@a)); print(len(kstack)) }", 0, check_len, lower_len },
	{ "clear", "(map m) none", "removes all entries of a map", "begin { @a[1] = 2; clear(@a) }",
	  FN_ASYNC | FN_CTRL | FN_ALL_OF_MAP, check_whole_map, lower_map_event, .event = event_reset, .reset = MAP_CLEAR },
	{ "zero", "(map m) none", "sets all values of a map to zero", "begin { @a[1] = 2; zero(@a) }", FN_ASYNC | FN_CTRL,
	  check_whole_map, lower_map_event, .event = event_reset, .reset = MAP_ZERO },
};

FN_FAMILY(fn_maps, rows);
