/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/check.h"

/* Types only grow, and each pass propagates them over one more assignment. The limit allows scripts that assign hundreds of maps
 * to each other. */
#define ROUNDS_MAX 1000

#include "lang/provider.h"
#include "types/agg.h"

void compile_hint_undefined(struct compile *c)
{
	if (c->missing)
		diag_hint(c->diag, "no probe assigns to it, apart from probes that do not exist on this machine: %s", c->missing);
	else
		diag_hint(c->diag, "no statement assigns a value to it");
}

struct map *compile_map(struct compile *c, const char *name)
{
	htab_for(p, &c->map_by_name, str_hash(name))
		if (str_eq(c->maps.at[*p - 1]->name, name))
			return c->maps.at[*p - 1];
	return NULL;
}

void check_fail(struct check *k, struct expr *e, enum diag_tag tag, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	diag_error(k->c->diag, e->span, tag, "%s", sbuf_str(&b));
	sbuf_release(&b);
	e->type = &type_error;
}

/* Maps */

struct map *check_map(struct check *k, struct expr *e, bool is_keyed)
{
	struct map *m = e->map.map ? e->map.map : compile_map(k->c, e->map.name);

	if (!m) {
		m = arena_new(check_arena(k), struct map);
		m->name = e->map.name;
		m->index = k->c->maps.cnt;
		m->first_use = e->span;
		vec_for(d, &k->c->script->map_decls)
			if (str_eq(d->map, m->name))
				m->decl = d;
		avec_push(check_arena(k), &k->c->maps, m);
		htab_add(&k->c->map_by_name, str_hash(m->name), k->c->maps.cnt);
	}
	e->map.map = m;
	if (!m->key_known) {
		m->key_known = true;
		m->has_key = is_keyed;
	} else if (m->has_key != is_keyed) {
		u32 line, col;

		diag_locate(k->c->diag, m->first_use, &line, &col);
		check_fail(k, e, E_KEY_MISMATCH,
			   is_keyed ? "%s is used with a key here, but without one elsewhere" :
				      "%s is used without a key here, but with one elsewhere",
			   m->name);
		diag_hint(k->c->diag, "first used at line %u, column %u; a map has a key everywhere or nowhere", line, col);
		m->is_poisoned |= k->is_last;
		return NULL;
	}
	return m;
}

/* Whether `joined` is the type that a variable or map already has: equal types can still differ in their range of values. */
static bool is_settled(const struct type *t, const struct type *joined)
{
	if (!type_equal(t, joined) || t->is_flexible != joined->is_flexible || t->is_fillable != joined->is_fillable)
		return false;
	for (u32 i = 0; t->kind == T_TUPLE && i < t->member_cnt; i++)
		if (!is_settled(t->members[i].type, joined->members[i].type))
			return false;
	return true;
}

void check_map_key(struct check *k, struct expr *e)
{
	const struct type *t, *joined;
	struct map *m;

	if (e->map.key)
		check_value(k, e->map.key);
	m = check_map(k, e, e->map.key != NULL);
	if (!m || !e->map.key) {
		if (!m)
			e->type = &type_error;
		return;
	}
	t = e->map.key->type;
	if (t->kind == T_ERROR) {
		e->type = &type_error;
		return;
	}
	joined = m->key ? type_join(check_arena(k), m->key, t) : t;
	if (!joined) {
		u32 line, col;

		diag_locate(k->c->diag, m->first_use, &line, &col);
		diag_error(k->c->diag, e->map.key->span, E_KEY_MISMATCH, "%s has a key of type %s here, but of type %s elsewhere",
			   m->name, type_str(check_arena(k), t), type_str(check_arena(k), m->key));
		diag_hint(k->c->diag,
			  "first used at line %u, column %u; all keys of a map have one type, so use another map for this one",
			  line, col);
		e->type = &type_error;
		return;
	}
	if (!m->key || !is_settled(m->key, joined)) {
		m->key = joined;
		k->changed = true;
	}
	check_sign(k, m->key, e->map.key, &m->key_sign_told);
}

/* Aggregations of one kind go together; those of values of both signs are signed, as integers are. */
static const struct type *join_aggs(struct arena *a, const struct type *x, const struct type *y)
{
	if (x->agg != y->agg)
		return NULL;
	if (x->agg->join)
		return x->agg->join(a, x, y);
	if (x->agg->flags & AGG_SIGNED)
		return x->is_signed ? x : y;
	return type_equal(x, y) ? x : NULL;
}

/* Each CPU has a free list for new entries of a map: four at first, some dozens later. The kernel refills it from irq_work. In a
 * program that runs in an interrupt itself, such as interval, the refill happens only after the program has ended. */
enum { ENTRIES_AT_HAND = 4 };

static void note_write(const struct check *k, struct map *m)
{
	if (!k->is_last || k->unit->provider->flags & PROV_SELF)
		return;
	m->write_cnt = m->writer == k->unit ? m->write_cnt + 1 : 1;
	m->writer = k->unit;
	m->is_hurried |= k->loops || m->write_cnt > ENTRIES_AT_HAND;
}

bool check_map_value(struct check *k, struct expr *map_expr, const struct type *t, struct span at)
{
	struct map *m = map_expr->map.map;
	const struct type *joined;

	if (!m || t->kind == T_ERROR)
		return false;
	if (t->kind == T_INT) /* numbers in maps are 64 bits wide; the sign of literals is that of the others */
		t = t->is_flexible ? &type_literal64 : type_int(8, t->is_signed);
	if (type_is_agg(t) || (m->val && type_is_agg(m->val)))
		joined = m->val ? join_aggs(check_arena(k), m->val, t) : t;
	else
		joined = m->val ? type_join(check_arena(k), m->val, t) : t;
	if (!joined) {
		if (type_is_agg(t) && t->agg == m->val->agg)
			diag_error(k->c->diag, at, E_TYPE_MISMATCH,
				   "%s holds %s with other parameters: all arguments but the value must be the same everywhere",
				   m->name, type_str(check_arena(k), t));
		else
			diag_error(k->c->diag, at, E_TYPE_MISMATCH,
				   "%s holds values of type %s, but is given one of type %s here", m->name,
				   type_str(check_arena(k), m->val), type_str(check_arena(k), t));
		diag_hint(k->c->diag, "all values of a map have one type; use another map for this one");
		return false;
	}
	if (joined->kind == T_INT && joined->size < 8)
		joined = type_int(8, joined->is_signed);
	if (!m->val || !is_settled(m->val, joined)) {
		m->val = joined;
		k->changed = true;
	}
	note_write(k, m);
	return true;
}

/* Variables */

/* The name of a macro's variable begins with the call: "swap#2.tmp". */
static const char *as_written(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot + 1 : name;
}

static u32 *find_visible(const struct check *k, const char *name, u32 hash)
{
	htab_for(p, &k->visible_by_name, hash)
		if (str_eq(k->visible.at[*p - 1].v->name, name))
			return p;
	return NULL;
}

static struct var *find_var(const struct check *k, const char *name)
{
	const u32 *p = find_visible(k, name, str_hash(name));

	return p ? k->visible.at[*p - 1].v : NULL;
}

/* Ends a scope. cnt: the number of variables that were visible at its start. */
static void leave_scope(struct check *k, u32 cnt)
{
	while (k->visible.cnt > cnt) {
		const struct visible *last = &k->visible.at[k->visible.cnt - 1];

		htab_for(p, &k->visible_by_name, last->hash) {
			if (*p != k->visible.cnt)
				continue;
			if (last->outer)
				*p = last->outer;
			else
				htab_remove(&k->visible_by_name, p);
			break;
		}
		k->visible.cnt--;
	}
}

/* A variable that is read outside of the blocks that assign to it (see check_var_read): there is one for all of them. */
static struct var *find_probe_wide(const struct check *k, const char *name)
{
	if (!k->unit->has_wide_vars)
		return NULL;
	vec_for(v, &k->unit->vars)
		if ((*v)->needs_init && str_eq((*v)->name, name))
			return *v;
	return NULL;
}

static struct var *declare(struct check *k, struct var *v, const char *name, struct span at)
{
	u32 hash = str_hash(name), *hidden = find_visible(k, name, hash);

	if (!v) {
		v = arena_new(check_arena(k), struct var);
		v->name = name;
		v->decl = at;
		v->loop = k->loop;
		avec_push(check_arena(k), &k->unit->vars, v);
	}
	avec_push(check_arena(k), &k->visible, (struct visible){ v, hash, hidden ? *hidden : 0 });
	if (hidden)
		*hidden = k->visible.cnt;
	else
		htab_add(&k->visible_by_name, hash, k->visible.cnt);
	return v;
}

/* Bodies of loops are separate functions with their own registers: a variable that several use cannot be in a register. */
static void touch(const struct check *k, struct var *v)
{
	v->is_shared |= v->loop != k->loop;
}

/* Grows the variable's type. */
static void assign_var(struct check *k, struct var *v, const struct type *t, struct span at)
{
	const struct type *joined;

	if (t->kind == T_ERROR)
		return;
	v->is_assigned = true;
	v->assign_cnt++;
	if (v->is_fixed) {
		if (!type_join(check_arena(k), v->type, t))
			goto mismatch;
		return;
	}
	joined = v->type ? type_join(check_arena(k), v->type, t) : t;
	if (!joined)
		goto mismatch;
	if (!v->type || !is_settled(v->type, joined)) {
		v->type = joined;
		k->changed = true;
	}
	return;
mismatch:
	diag_error(k->c->diag, at, E_TYPE_MISMATCH, "$%s is of type %s, but is given a value of type %s here",
		   as_written(v->name), type_str(check_arena(k), v->type), type_str(check_arena(k), t));
	if (as_written(v->name) == v->name) /* not a parameter */
		diag_hint(k->c->diag, "use another variable for this value");
}

void check_var_assign(struct check *k, struct expr *e, const struct type *t, struct span at)
{
	struct var *v = find_var(k, e->var.name);

	if (!v) {
		v = find_probe_wide(k, e->var.name);
		v = declare(k, v ? v : e->var.var, e->var.name, e->span);
	}
	e->var.var = v;
	touch(k, v);
	assign_var(k, v, t, at);
	e->type = v->type ? v->type : &type_error;
}

void check_var_read(struct check *k, struct expr *e)
{
	struct var *v = find_var(k, e->var.name);

	if (!v) {
		/* Before block scopes (0.22) a variable was visible until the end of its probe. Such scripts still work. */
		v = find_probe_wide(k, e->var.name);
		for (u32 i = k->unit->vars.cnt; i-- > 0 && !v;)
			if (str_eq(k->unit->vars.at[i]->name, e->var.name) && k->unit->vars.at[i]->decl.begin < e->span.begin)
				v = k->unit->vars.at[i];
		if (v) {
			k->changed |= !v->needs_init;
			v->needs_init = v->is_assigned = k->unit->has_wide_vars = true;
			v->is_shared |= v->loop != NULL; /* it is set to zero outside */
			if (k->is_last && !v->is_told)
				diag_warn(k->c->diag, e->span, W_OLD_SPELLING,
					  "$%s is used outside of the block that it was assigned in", v->name);
			v->is_told |= k->is_last;
		}
	}
	if (!v) {
		u32 cnt = k->unit->vars.cnt;
		const char **names = arena_alloc(check_arena(k), (cnt + 1) * sizeof(*names)), *near;

		for (u32 i = 0; i < cnt; i++)
			names[i] = k->unit->vars.at[i]->name;
		check_fail(k, e, E_UNDEFINED_VARIABLE, "Undefined or undeclared variable: $%s", as_written(e->var.name));
		near = nearest_name(e->var.name, names, cnt);
		if (near && !str_eq(near, e->var.name))
			diag_hint(k->c->diag, "did you mean $%s?", near);
		else
			diag_hint(k->c->diag, "assign to it before it is read: $%s = …", as_written(e->var.name));
		return;
	}
	v->is_read = true;
	e->var.var = v;
	touch(k, v);
	if (!v->type && k->is_last)
		v->type = &type_s64; /* it has no assignment */
	if (!v->is_assigned && k->is_last)
		diag_warn(k->c->diag, e->span, W_UNASSIGNED, "Variable used before it was assigned: $%s", as_written(v->name));
	e->type = v->type ? v->type : k->guesses ? &type_s64 : &type_error;
}

/* Statements */

static void check_block(struct check *k, struct block *b);

static bool is_agg_call(const struct expr *e)
{
	return e->kind == E_CALL && e->call.fn && (e->call.fn->flags & FN_AGG);
}

static void check_storable(struct check *k, struct expr *value)
{
	if (is_poisoned(value))
		return;
	if (value->type->kind == T_NONE || value->type->kind == T_VOID)
		check_fail(k, value, E_NO_VALUE, "this expression has no value to assign");
}

/* A literal that a variable of declared type cannot hold is an error; other values are truncated. */
static void check_literal_fits(struct check *k, const struct var *v, struct expr *value)
{
	u32 bits = v->type ? 8 * v->type->size : 0;
	u64 n = value->num.value;

	if (v->is_fixed && v->type->kind == T_STRING && value->kind == E_STR && value->str.len >= v->type->size) {
		check_fail(k, value, E_BAD_LITERAL, "this text does not fit $%s, which is of type %s", as_written(v->name),
			   type_str(check_arena(k), v->type));
		diag_hint(k->c->diag, "the text has %u characters, and its NUL takes one more", value->str.len);
		return;
	}
	if (!v->is_fixed || v->type->kind != T_INT || value->kind != E_INT)
		return;
	if (v->type->is_signed ? (value->num.negative ? -n <= 1ull << (bits - 1) : n < 1ull << (bits - 1)) :
				 !value->num.negative && (bits == 64 || n < 1ull << bits))
		return;
	check_fail(k, value, E_BAD_LITERAL, "%s%llu does not fit $%s, which is of type %s", value->num.negative ? "-" : "",
		   (unsigned long long)(value->num.negative ? -n : n), as_written(v->name), type_str(check_arena(k), v->type));
	diag_hint(k->c->diag, "a cast truncates it: (%s)", type_str(check_arena(k), v->type));
}

/* func is the name of a site. In a map of ksym() values it is the address of the function, so that one map can hold both. */
static void func_as_ksym(struct check *k, struct map *m, struct expr *value)
{
	if (!m->val)
		return;
	if (m->val->opaque == type_ksym.opaque && value->kind == E_CALL && value->type->kind == T_SITE &&
	    value->type->show == SITE_FUNC)
		value->type = &type_ksym;
	if (m->val->kind == T_SITE && m->val->show == SITE_FUNC && value->type->opaque == type_ksym.opaque) {
		m->val = &type_ksym;
		k->changed = true;
	}
}

/* What a map that holds `val` (NULL: nothing yet) holds after `op=` with a value of type t. */
static const struct type *op_type(enum binary_op op, const struct type *val, const struct type *t)
{
	if (!type_is_integral(t) || (val && !type_is_integral(val)))
		return t;
	return op == BIN_SUB || !val ? &type_s64 : type_int(8, common_is_signed(val, t));
}

/* x op= value, where x is of type t (NULL: not known yet). Integers are allowed, and a pointer may be moved. */
static bool check_op(struct check *k, struct stmt *s, const struct type *t)
{
	struct expr *target = s->assign.target, *value = s->assign.value;
	bool is_moved = t && t->kind == T_POINTER && (s->assign.op == BIN_ADD || s->assign.op == BIN_SUB);
	bool is_bad_target = t && !type_is_integral(t) && !is_moved;

	if (type_is_integral(value->type) && !is_bad_target)
		return true;
	check_fail(k, is_bad_target ? target : value, E_BAD_OPERAND, "The %s= operator can not be used on %s",
		   binary_op_text[s->assign.op], type_str(check_arena(k), is_bad_target ? t : value->type));
	return false;
}

/* The aggregation that a block yields, or a block in it; NULL: another value. */
static struct expr *agg_of_block(const struct expr *e)
{
	struct expr *value = e->kind == E_BLOCK && !e->block.is_fn ? e->block.value : NULL;
	u32 suffix;
	const struct fn *fn = value && value->kind == E_CALL ? fn_find(value->call.name, &suffix) : NULL;

	if (value && value->kind == E_BLOCK)
		return agg_of_block(value) ? value : NULL;
	return fn && fn->flags & FN_AGG ? value : NULL;
}

/* `@m = { …; avg(x) }` becomes `{ …; @m = avg(x) }`: an aggregation is not a value by itself. False: it is something else. */
static bool move_into_block(struct check *k, struct stmt *s)
{
	struct expr *block = s->assign.value, *value = agg_of_block(block);
	struct block *all;
	struct stmt *last;

	if (!value || s->assign.has_op || s->assign.target->kind != E_MAP)
		return false;
	last = arena_new(check_arena(k), struct stmt);
	*last = *s;
	last->assign.value = value;
	all = arena_new(check_arena(k), struct block);
	*all = *block->block.body;
	all->stmts = arena_alloc(check_arena(k), (all->cnt + 1) * sizeof(*all->stmts));
	memcpy(all->stmts, block->block.body->stmts, all->cnt * sizeof(*all->stmts));
	all->stmts[all->cnt++] = last;
	s->kind = S_BLOCK;
	s->block = all;
	return true;
}

static void check_assign(struct check *k, struct stmt *s)
{
	struct expr *target = s->assign.target, *value = s->assign.value;

	target->type = NULL; /* an error of an earlier pass may be gone by now */
	if (target->kind == E_MAP) {
		check_map_key(k, target);
		check_expr(k, value);
		if (!is_poisoned(value))
			check_storable(k, value);
		if (is_poisoned(target) || is_poisoned(value)) {
			if (k->is_last && target->map.map)
				target->map.map->is_poisoned = true;
			return;
		}
		if (s->assign.has_op && (is_agg_call(value) || (target->map.map->val && type_is_agg(target->map.map->val)))) {
			check_fail(k, target, E_AGGREGATION, "%s= cannot be used on a map that holds %s",
				   binary_op_text[s->assign.op],
				   target->map.map->val ? type_str(check_arena(k), target->map.map->val) : "an aggregation");
			return;
		}
		/* Its current value is a number, which is assigned if the other map is known to hold numbers. */
		if (!s->assign.has_op && !is_agg_call(value) && value->kind == E_MAP && value->map.map && value->map.map->val &&
		    type_is_agg(value->map.map->val) && !(target->map.map->val && type_is_integral(target->map.map->val))) {
			check_fail(k, value, E_AGGREGATION, "%s holds an aggregation, which cannot be copied to another map",
				   value->map.name);
			diag_hint(k->c->diag, "a cast reads its current value as a number: (int64)%s%s", value->map.name,
				  value->map.key ? "[…]" : "");
			target->map.map->is_poisoned |= k->is_last;
			return;
		}
		if (s->assign.has_op && !check_op(k, s, target->map.map->val))
			return;
		func_as_ksym(k, target->map.map, value);
		if (check_map_value(k, target,
				    s->assign.has_op ? op_type(s->assign.op, target->map.map->val, value->type) : value->type,
				    value->span)) {
			if (!s->assign.has_op)
				check_sign(k, target->map.map->val, value, &target->map.map->val_sign_told);
			target->type = target->map.map->val;
			target->map.is_updated = is_agg_call(value);
			target->map.is_changed = s->assign.has_op;
			target->map.is_added = s->assign.has_op && (s->assign.op == BIN_ADD || s->assign.op == BIN_SUB);
			if (is_agg_call(value)) /* all updates of a map are of one kind, whatever the sign of their argument */
				value->type = target->type;
		}
		return;
	}
	if (target->kind != E_VAR) {
		check_expr(k, target);
		check_fail(k, target, E_NOT_ASSIGNABLE, "only variables ($x) and maps (@x) can be assigned to");
		return;
	}
	if (s->assign.has_op)
		check_var_read(k, target);
	check_value(k, value);
	if (!is_poisoned(value))
		check_storable(k, value);
	if (is_poisoned(value) || is_poisoned(target)) {
		/* The variable is declared nevertheless: the error in its value was reported. */
		if (k->is_last && !find_var(k, target->var.name))
			declare(k, target->var.var, target->var.name, target->span)->type = &type_error;
		return;
	}
	if (s->assign.has_op) {
		struct var *v = target->var.var;

		if (!check_op(k, s, v->type))
			return;
		if (v->type && v->type->kind != T_POINTER)
			assign_var(k, v, type_int(8, s->assign.op == BIN_SUB || common_is_signed(v->type, value->type)),
				   value->span);
		target->type = v->type;
		return;
	}
	check_var_assign(k, target, value->type, value->span);
	if (!target->var.var->is_fixed && !is_poisoned(target))
		check_sign(k, target->type, value, &target->var.var->sign_told);
	check_literal_fits(k, target->var.var, value);
	target->var.var->own_cnt += expr_is_own(value);
}

static void check_let(struct check *k, struct stmt *s)
{
	struct var *old = find_var(k, s->let.name);
	const struct type *fixed = NULL;

	if (s->let.type)
		fixed = check_type_ref(k, s->let.type);
	if (fixed && (fixed->kind == T_VOID || fixed->kind == T_NONE)) {
		diag_error(k->c->diag, s->let.type->span, E_NO_VALUE, "a variable cannot have the type %s",
			   type_str(check_arena(k), fixed));
		fixed = &type_error;
	}
	if (s->let.value)
		check_value(k, s->let.value);
	if (old && old != s->let.var) {
		u32 line, col;

		diag_locate(k->c->diag, old->decl, &line, &col);
		diag_error(k->c->diag, s->let.name_span, E_REDECLARED, "Variable $%s was already declared",
			   as_written(s->let.name));
		diag_hint(k->c->diag, "the other one is at line %u, column %u; use another name", line, col);
		return;
	}
	s->let.var = declare(k, s->let.var, s->let.name, s->let.name_span);
	if (fixed && fixed->kind == T_STRING && s->let.type->name && !s->let.type->suffix_cnt) {
		/* `string` without a size is as long as what is assigned */
		if (!s->let.var->type)
			s->let.var->type = type_string(check_arena(k), 1);
	} else if (fixed && fixed->kind != T_ERROR) {
		s->let.var->type = fixed;
		s->let.var->is_fixed = true;
	}
	if (s->let.value && !is_poisoned(s->let.value))
		check_storable(k, s->let.value);
	if (s->let.value && !is_poisoned(s->let.value)) {
		assign_var(k, s->let.var, s->let.value->type, s->let.value->span);
		check_literal_fits(k, s->let.var, s->let.value);
		s->let.var->own_cnt += expr_is_own(s->let.value);
	} else if (s->let.value && k->is_last && !s->let.var->type) {
		s->let.var->type = &type_error;
	}
}

/* if comptime: the branch that is not taken is not checked, and removed after the last pass. */
static void check_comptime_stmt(struct check *k, struct stmt *s)
{
	enum comptime_choice choice = check_comptime_cond(k, s->if_.cond);
	struct block *taken = choice == COMPTIME_YES ? s->if_.yes : choice == COMPTIME_NO ? s->if_.no : NULL;

	if (taken)
		check_block(k, taken);
	if (!k->is_last)
		return;
	s->kind = S_BLOCK;
	s->block = taken ? taken : arena_new(check_arena(k), struct block);
}

/* from..to: the type of the loop's variable. */
static const struct type *check_range(struct check *k, struct stmt *s)
{
	struct expr *ends[] = { s->for_.from, s->for_.to };
	bool ok = true;

	for (u32 i = 0; i < 2; i++) {
		check_value(k, ends[i]);
		if (!is_poisoned(ends[i]) && !type_is_integral(ends[i]->type))
			check_fail(k, ends[i], E_TYPE_MISMATCH, "both ends of a range must be integers; this is %s",
				   type_str(check_arena(k), ends[i]->type));
		ok &= !is_poisoned(ends[i]);
	}
	return ok ? type_int(8, common_is_signed(ends[0]->type, ends[1]->type)) : &type_error;
}

/* Every entry of a map: (key, value). */
static const struct type *check_entries(struct check *k, struct stmt *s)
{
	struct expr *e = s->for_.map;
	struct map *m = compile_map(k->c, e->map.name);
	const struct type *pair[2];

	e->type = NULL;
	e->map.is_ref = true;
	if (m && m->key_known && !m->has_key) {
		check_fail(k, e, E_KEY_MISMATCH, "%s has no keys, so there is nothing to loop over", m->name);
		diag_hint(k->c->diag, "a map with keys is assigned to as in %s[key] = value", m->name);
		m->is_poisoned |= k->is_last;
		return &type_error;
	}
	m = check_map(k, e, true);
	e->type = m && m->val ? m->val : &type_s64;
	if (!m || !m->key || !m->val)
		return &type_error; /* not known yet; or never, which is said at the end */
	if (type_is_agg(m->val) && !type_is_number_agg(m->val)) {
		check_fail(k, e, E_AGGREGATION, "a loop cannot read the values of %s, which are of type %s", m->name,
			   type_str(check_arena(k), m->val));
		diag_hint(k->c->diag, "print it: print(%s);", m->name);
		return &type_error;
	}
	pair[0] = type_settle_deep(check_arena(k), m->key);
	pair[1] = type_is_agg(m->val) ? type_int(8, m->val->is_signed) : type_settle_deep(check_arena(k), m->val);
	return type_tuple(check_arena(k), pair, NULL, 2);
}

static void check_for(struct check *k, struct stmt *s)
{
	const struct type *t = s->for_.map ? check_entries(k, s) : check_range(k, s);
	struct var *old = find_var(k, s->for_.name);
	u32 scope = k->visible.cnt;
	const struct stmt *outer = k->loop;

	if (old && old != s->for_.var) {
		u32 line, col;

		diag_locate(k->c->diag, old->decl, &line, &col);
		diag_error(k->c->diag, s->for_.name_span, E_REDECLARED, "Variable $%s was already declared",
			   as_written(s->for_.name));
		diag_hint(k->c->diag, "the other one is at line %u, column %u; use another name for the loop variable", line,
			  col);
	}
	k->loop = s;
	k->loops++;
	s->for_.var = declare(k, s->for_.var, s->for_.name, s->for_.name_span);
	s->for_.var->is_assigned = true;
	s->for_.var->range = s->for_.map ? NULL : s;
	if (t->kind != T_ERROR)
		assign_var(k, s->for_.var, t, s->for_.name_span);
	else if (k->is_last && !s->for_.var->type)
		s->for_.var->type = &type_error;
	check_block(k, s->for_.body);
	k->loops--;
	k->loop = outer;
	leave_scope(k, scope);
}

static void check_while(struct check *k, struct stmt *s)
{
	const struct stmt *outer = k->loop;

	k->loop = s;
	k->loops++;
	check_cond(k, s->loop.cond);
	check_block(k, s->loop.body);
	k->loops--;
	k->loop = outer;
}

/* The most expressions that unroll may produce. The verifier walks each of them, which takes seconds for some ten thousand. */
enum { UNROLLED_MAX = 2000 };

static void check_unroll(struct check *k, struct stmt *s)
{
	const struct stmt *outer = k->loop;
	struct expr *n = s->loop.cond;
	u64 before, size;

	check_value(k, n);
	if (!is_poisoned(n) && !(type_is_integral(n->type) && check_eval(n, &s->loop.rounds)))
		check_fail(k, n, E_ARG_TYPE, "unroll takes a number that is known when the script is compiled, not %s",
			   type_str(check_arena(k), n->type));
	else if (!is_poisoned(n) && (s->loop.rounds < 1 || s->loop.rounds > 100)) /* negative numbers are large here */
		check_fail(k, n, E_ARG_TYPE, "unroll takes a number from 1 to 100");
	before = k->size;
	if (s->loop.is_loop)
		k->loop = s;
	k->loops++;
	check_block(k, s->loop.body);
	k->loops--;
	k->loop = outer;
	if (s->loop.is_loop || is_poisoned(n))
		return;
	size = (k->size - before) * s->loop.rounds;
	/* Not in the last pass: the function that each variable belongs to must be known before it. */
	if (size > UNROLLED_MAX && !k->is_last)
		s->loop.is_loop = k->changed = true;
	else
		k->size = before + size;
}

static void check_return(struct check *k, struct stmt *s)
{
	struct expr *e = s->ret.expr;

	check_value(k, e);
	if (is_poisoned(e))
		return;
	if (s->ret.into) {
		const struct var *result = find_var(k, s->ret.into->var.name);

		if (result && result->type && !type_join(check_arena(k), result->type, e->type)) {
			check_fail(k, e, E_TYPE_MISMATCH, "the function returns %s, but this is %s",
				   type_str(check_arena(k), result->type), type_str(check_arena(k), e->type));
			return;
		}
		check_var_assign(k, s->ret.into, e->type, e->span);
		check_literal_fits(k, s->ret.into->var.var, e);
	} else if (!type_is_integral(e->type)) {
		check_fail(k, e, E_TYPE_MISMATCH, "return takes an integer, not %s", type_str(check_arena(k), e->type));
	}
}

static void check_stmt(struct check *k, struct stmt *s)
{
	struct expr *cond;
	bool never, always;

	switch (s->kind) {
	case S_EXPR:
		if (s->expr->kind == E_CALL)
			s->expr->call.is_statement = true;
		if (s->expr->kind == E_INCDEC && s->expr->incdec.target->kind == E_MAP)
			s->expr->incdec.target->map.is_added = true;
		check_expr(k, s->expr);
		if (is_agg_call(s->expr) && !is_poisoned(s->expr)) {
			check_fail(k, s->expr, E_AGGREGATION, "%s() should be assigned to a map", s->expr->call.name);
			diag_hint(k->c->diag, "write: @ = %s(…);", s->expr->call.name);
		}
		if (k->is_last && s->expr->type && s->expr->type->kind != T_NONE && s->expr->type->kind != T_ERROR &&
		    s->expr->kind != E_INCDEC && s->expr->kind != E_BLOCK &&
		    !(s->expr->kind == E_CALL && s->expr->call.fn->flags & FN_EFFECT))
			diag_warn(k->c->diag, s->expr->span, W_UNUSED, "Return value discarded.");
		return;
	case S_DISCARD:
		check_expr(k, s->expr);
		return;
	case S_ASSIGN:
		if (move_into_block(k, s))
			check_block(k, s->block);
		else
			check_assign(k, s);
		return;
	case S_LET:
		check_let(k, s);
		return;
	case S_IF:
		cond = s->if_.cond;
		if (s->if_.is_comptime) {
			check_comptime_stmt(k, s);
			return;
		}
		check_cond(k, cond);
		never = expr_is_int(cond) && !cond->num.value;
		always = expr_is_int(cond) && cond->num.value;
		k->dead += never;
		check_block(k, s->if_.yes);
		k->dead += always - never;
		if (s->if_.no)
			check_block(k, s->if_.no);
		k->dead -= always;
		return;
	case S_BLOCK:
		check_block(k, s->block);
		return;
	case S_WHILE:
		k->unit->has_loop = true;
		check_while(k, s);
		return;
	case S_FOR:
		k->unit->has_loop = true;
		check_for(k, s);
		return;
	case S_UNROLL:
		check_unroll(k, s);
		return;
	case S_BREAK:
	case S_CONTINUE:
		if (!k->loops)
			diag_error(k->c->diag, s->span, E_NOT_ALLOWED_HERE, "'%s' outside of a loop",
				   s->kind == S_BREAK ? "break" : "continue");
		return;
	case S_RETURN:
		if (s->ret.expr)
			check_return(k, s);
		return;
	}
}

/* Nothing after it in its block is ever reached. */
static bool stmt_leaves(const struct stmt *s)
{
	return s->kind == S_RETURN || s->kind == S_BREAK || s->kind == S_CONTINUE ||
		(s->kind == S_EXPR && s->expr->kind == E_CALL && s->expr->call.fn && s->expr->call.fn->flags & FN_ENDS);
}

static void check_stmts(struct check *k, struct block *b)
{
	for (u32 i = 0; i < b->cnt; i++) {
		check_stmt(k, b->stmts[i]);
		/* A return after exit() is common in old scripts, where exit() alone did not end the program. */
		if (stmt_leaves(b->stmts[i]) && i + 1 < b->cnt &&
		    (b->stmts[i]->kind != S_EXPR || b->stmts[i + 1]->kind != S_RETURN))
			diag_warn(k->c->diag, b->stmts[i + 1]->span, W_UNREACHABLE, "Unreachable statement.");
	}
}

static void check_block(struct check *k, struct block *b)
{
	u32 scope = k->visible.cnt;

	check_stmts(k, b);
	leave_scope(k, scope);
}

void check_block_expr(struct check *k, struct expr *e)
{
	struct expr *value = e->block.value;
	u32 loops = k->loops, scope = k->visible.cnt;

	if (e->block.is_fn) /* whose break is not the caller's */
		k->loops = 0;
	check_stmts(k, e->block.body);
	if (value)
		check_expr(k, value);
	k->loops = loops;
	leave_scope(k, scope);
	e->type = value ? value->type : &type_none;
	if (value && is_agg_call(value) && !is_poisoned(value))
		check_fail(k, e, E_AGGREGATION, "%s() should be assigned directly to a map", value->call.name);
}

static void check_unit(struct check *k, struct unit *u)
{
	k->unit = u;
	vec_for(v, &u->vars)
		(*v)->is_assigned = false, (*v)->assign_cnt = (*v)->own_cnt = 0;
	if (u->pred)
		check_cond(k, u->pred);
	check_block(k, u->body);
	leave_scope(k, 0);
}

static void check_map_decls(struct compile *c)
{
	static const char *const kinds[] = { "hash", "lruhash", "percpuhash", "percpulruhash" };

	vec_for(d, &c->script->map_decls) {
		bool known = false;

		for (u32 i = 0; i < ARRAY_CNT(kinds); i++)
			known |= str_eq(d->kind, kinds[i]);
		if (!known) {
			diag_error(c->diag, d->span, E_UNKNOWN_TYPE, "Invalid bpf map type: %s", d->kind);
			diag_hint(c->diag, "one of: hash, lruhash, percpuhash, percpulruhash");
		} else if (!d->max_entries) {
			diag_error(c->diag, d->span, E_BAD_LITERAL, "a map needs room for at least one entry");
		}
		const struct map *m = compile_map(c, d->map);

		if (!m)
			diag_warn(c->diag, d->span, W_UNUSED, "Unused map: %s", d->map);
		else if (known && m->val && type_is_agg(m->val) != str_starts(d->kind, "percpu")) {
			bool is_agg = type_is_agg(m->val);

			diag_error(c->diag, d->span, E_TYPE_MISMATCH, "%s is declared as a %s, but holds %s", m->name, d->kind,
				   type_str(c->arena, m->val));
			if (is_agg)
				diag_hint(c->diag, "an aggregation needs percpuhash or percpulruhash");
			else
				diag_hint(c->diag, "the percpu kinds are for aggregations; use %s", d->kind + strlen("percpu"));
		}
	}
}

static void check_maps(struct compile *c)
{
	vec_for(pm, &c->maps) {
		struct map *m = *pm;

		if (m->key)
			m->key = type_settle_deep(c->arena, m->key);
		if (!m->val && m->is_poisoned) {
			continue;
		} else if (!m->val) {
			diag_error(c->diag, m->first_use, E_UNDEFINED_VARIABLE, "Undefined map: %s", m->name);
			compile_hint_undefined(c);
		} else if (m->has_key && !m->key && !c->diag->error_cnt) {
			diag_error(c->diag, m->first_use, E_KEY_MISMATCH,
				   "the type of the key of %s is unknown: no statement uses a key with it", m->name);
		} else {
			m->val = type_settle(m->val);
		}
	}
}

struct missing_params {
	struct compile *c;
	u64 told; /* bit n: of $n */
};

static void warn_missing_param(struct expr *e, void *arg)
{
	struct missing_params *m = arg;
	u64 bit = e->kind == E_PARAM && e->param.index < 64 ? 1ull << e->param.index : 0;

	if (e->kind != E_PARAM || e->param.index <= m->c->param_cnt || m->told & bit)
		return;
	m->told |= bit;
	diag_warn(m->c->diag, e->span, W_MISSING_PARAM, "positional parameter $%u was not given: it is 0, or an empty string",
		  e->param.index);
}

bool lang_is_partial(const struct compile *c)
{
	vec_for(u, &c->units)
		if ((*u)->is_assumed)
			return true;
	return false;
}

static bool is_known_opt(const struct compile *c, const char *word)
{
	size_t n = strcspn(word + 2, "=");

	vec_for(o, &c->opts)
		if (strlen(o->name) == n && !strncmp(o->name, word + 2, n))
			return true;
	return false;
}

bool lang_wants_help(const struct compile *c)
{
	for (u32 i = 0; i < c->named_cnt; i++)
		if (str_eq(c->named[i], "--help") && !is_known_opt(c, "--help"))
			return true;
	return false;
}

void lang_print_opts(const struct compile *c, struct sbuf *out)
{
	if (!c->opts.cnt)
		sbuf_puts(out, "The script has no options.\n");
	vec_for(o, &c->opts) {
		const struct expr *d = o->def;
		size_t start = out->len;

		sbuf_printf(out, "    --%s", o->name);
		if (d && d->kind == E_STR)
			sbuf_puts(out, "=STRING");
		else if (d && d->kind != E_BOOL)
			sbuf_puts(out, "=NUMBER");
		while (out->len - start < 26)
			sbuf_putc(out, ' ');
		if (o->doc)
			sbuf_printf(out, " %s", o->doc);
		if (!d || d->kind == E_BOOL)
			sbuf_printf(out, " (default: %s)\n", d && d->num.value ? "true" : "false");
		else if (d->kind == E_STR)
			sbuf_printf(out, " (default: \"%s\")\n", d->str.s);
		else
			sbuf_printf(out, " (default: %lld)\n", (long long)d->num.value);
	}
}

/* Options after `--` that no getopt() reads. */
static void check_named(struct compile *c)
{
	struct sbuf bad = {}, known = {};

	for (u32 i = 0; i < c->named_cnt; i++)
		if (!is_known_opt(c, c->named[i]))
			sbuf_printf(&bad, "%s%.*s", bad.len ? ", " : "", (int)strcspn(c->named[i], "="), c->named[i]);
	vec_for(o, &c->opts)
		sbuf_printf(&known, "%s--%s", known.len ? ", " : "", o->name);
	if (bad.len) {
		diag_error_nowhere(c->diag, E_ARG_COUNT, "unexpected program command line options: %s", sbuf_str(&bad));
		if (known.len)
			diag_hint(c->diag, "expected program options: %s", sbuf_str(&known));
		else
			diag_hint(c->diag, "the script declares no options (it does not call getopt())");
	}
	sbuf_release(&bad);
	sbuf_release(&known);
}

/* Until no type changes. */
static bool check_rounds(struct check *k)
{
	for (u32 round = 0; round < ROUNDS_MAX; round++) {
		k->changed = false;
		vec_for(u, &k->c->units)
			check_unit(k, *u);
		if (!k->changed)
			return true;
	}
	return false;
}

static void settle_tuples(struct compile *c)
{
	vec_for(u, &c->units)
		vec_for(v, &(*u)->vars)
			if ((*v)->type && (*v)->type->kind == T_TUPLE)
				(*v)->type = type_settle_deep(c->arena, (*v)->type);
	vec_for(m, &c->maps)
		if ((*m)->val && (*m)->val->kind == T_TUPLE)
			(*m)->val = type_settle_deep(c->arena, (*m)->val);
}

bool lang_check(struct compile *c)
{
	bool is_stable;
	struct check k = { .c = c, .visible_by_name.arena = c->arena, .max_strlen = c->config.max_strlen };
	struct missing_params missing = { .c = c };
	u32 before = c->diag->error_cnt;

	c->map_by_name.arena = c->arena;
	/* Before the first round, which puts values in the place of parameters; on the probes, of which units may be copies. */
	vec_for(p, &c->script->probes) {
		if ((*p)->pred)
			expr_walk((*p)->pred, warn_missing_param, &missing);
		block_walk((*p)->body, warn_missing_param, &missing);
	}
	c->diag->muted = true;
	/* First the types that follow from assignments, in any order; then those of variables and maps without one. */
	is_stable = check_rounds(&k);
	k.guesses = true;
	/* Tuples get their final layout before expressions take their types from them; types that are built from their elements
	 * may grow by that. */
	is_stable &= check_rounds(&k);
	settle_tuples(c);
	is_stable &= check_rounds(&k);
	c->diag->muted = false;
	if (!is_stable)
		diag_error_nowhere(
			c->diag, E_TOO_BIG,
			"the types of this script cannot be resolved: too many variables and maps are assigned to each other");
	k.is_last = true;
	vec_for(u, &c->units)
		check_unit(&k, *u);
	vec_for(u, &c->units)
		vec_for(v, &(*u)->vars)
			if ((*v)->type)
				(*v)->type = type_settle_deep(c->arena, (*v)->type);
	/* Types that depend on unknown arguments are incomplete. */
	if (!lang_is_partial(c))
		check_maps(c);
	check_map_decls(c);
	if (!lang_wants_help(c))
		check_named(c);
	return c->diag->error_cnt == before;
}
