/* SPDX-License-Identifier: GPL-2.0-only */
/* Macros and functions: a call becomes a copy of the body.
 *
 * $x stands for the variable that was passed, @m for the map; a plain name for the whole expression, at each use. Variables of
 * the body are renamed for each call, so that they do not clash with the caller's. A body may use only the maps that were passed.
 * Arguments are expanded before they are substituted, so a macro that occurs while it is being expanded calls itself.
 *
 * A function's parameters and its result are variables with the declared types, and it may use all maps. */
#include "lang/compile.h"

#include "lang/fn.h"

/* Limits that keep the recursion of later stages inside the stack, and bound the size of the script. */
#define NODES_MAX 200000
#define DEPTH_MAX 32

struct expander {
	struct compile *c;
	struct htab by_name;            /* 1 + index into the script's macros */
	vec(const struct macro *) open; /* those whose bodies we are in */
	u32 call_cnt;
	u32 node_cnt;
};

/* One call. */
struct expansion {
	struct expander *x;
	const struct macro *m;
	struct expr **args;
	u32 number;
	u32 via; /* of the spans in its body */
	bool has_return;
};

static void expand(struct expr *e, void *arg);

static void count_node(struct expr *e, void *arg)
{
	++*(u32 *)arg;
}

static bool is_too_big(struct expander *x, struct span at)
{
	if (x->node_cnt <= NODES_MAX)
		return false;
	diag_error(x->c->diag, at, E_TOO_BIG, "the macros of this script expand to too much code");
	return true;
}

static struct expr *arg_copy(struct expansion *n, u32 i)
{
	const struct copy_hooks *hooks = copy_set_hooks(NULL);
	/* Too large: any expression will do, because the script is rejected. */
	struct expr *copy = is_too_big(n->x, n->m->span) ? arena_new(n->x->c->arena, struct expr) :
							   expr_copy(n->x->c->arena, n->args[i]);

	expr_walk(copy, count_node, &n->x->node_cnt);
	copy_set_hooks(hooks);
	return copy;
}

static const struct macro_param *find_param(const struct macro *m, char kind, const char *name)
{
	for (u32 i = 0; i < m->param_cnt; i++)
		if (m->params[i].kind == kind && str_eq(m->params[i].name, name))
			return &m->params[i];
	return NULL;
}

static const char *local_name(struct expansion *n, const char *name)
{
	const struct macro_param *param = n->m->is_fn ? NULL : find_param(n->m, '$', name);

	if (param)
		return n->args[param - n->m->params]->var.name;
	return arena_printf(n->x->c->arena, "%s#%u.%s", n->m->name, n->number, name);
}

static struct expr *replace_map(struct expansion *n, const struct expr *e)
{
	const struct macro_param *param = find_param(n->m, '@', e->map.name);
	struct span at = e->span;
	struct expr *copy;

	at.via = n->via;
	if (n->m->is_fn)
		return NULL;
	if (!param) {
		diag_error(n->x->c->diag, at, E_NOT_ALLOWED_HERE, "the macro %s uses %s, which is not one of its parameters",
			   n->m->name, e->map.name);
		diag_hint(n->x->c->diag, "make it a parameter: macro %s(%s…)", n->m->name, e->map.name);
		return NULL;
	}
	copy = arena_new(n->x->c->arena, struct expr);
	*copy = *e;
	copy->span = at;
	copy->map.name = n->args[param - n->m->params]->map.name;
	copy->map.key = expr_copy(n->x->c->arena, e->map.key);
	return copy;
}

/* In a type, a parameter stands for the type that was passed, typeof(T), or for that of the expression. */
static struct type_ref *replace_type(const struct type_ref *ref, void *arg)
{
	struct expansion *n = arg;
	const struct macro_param *param = ref->name && !*ref->keyword ? find_param(n->m, 0, ref->name) : NULL;
	struct type_ref *copy;
	struct expr *given;

	if (!param)
		return NULL;
	given = arg_copy(n, param - n->m->params);
	copy = arena_new(n->x->c->arena, struct type_ref);
	*copy = *ref;
	copy->name = NULL;
	if (given->kind == E_TYPEOF)
		copy->of_type = given->of.ref;
	else
		copy->of_expr = given;
	return copy;
}

/* offsetof(T, m): a member may be a parameter, too, that stands for a bare name. */
static const char *replace_member(const char *name, void *arg)
{
	struct expansion *n = arg;
	const struct macro_param *param = find_param(n->m, 0, name);
	const struct expr *given = param ? n->args[param - n->m->params] : NULL;

	return given && given->kind == E_CALL && !given->call.has_parens ? given->call.name : name;
}

static struct expr *replace(const struct expr *e, void *arg)
{
	struct expansion *n = arg;
	const struct macro_param *param;
	struct expr *copy;

	n->x->node_cnt++;
	if (e->kind == E_MAP)
		return replace_map(n, e);
	if (e->kind == E_CALL && !e->call.has_parens) {
		param = find_param(n->m, 0, e->call.name);
		return param ? arg_copy(n, param - n->m->params) : NULL;
	}
	if (e->kind != E_VAR)
		return NULL;
	copy = arena_new(n->x->c->arena, struct expr);
	*copy = *e;
	copy->span.via = n->via;
	copy->var.name = local_name(n, e->var.name);
	return copy;
}

static struct expr *var_expr(struct expansion *n, const char *name, struct span at)
{
	struct expr *e = arena_new(n->x->c->arena, struct expr);

	*e = (struct expr){ .kind = E_VAR, .span = at };
	e->var.name = local_name(n, name);
	return e;
}

static void declare_return(struct expansion *n, struct stmt *s)
{
	struct diag *d = n->x->c->diag;

	if (!n->m->is_fn) {
		diag_error(d, s->span, E_NOT_ALLOWED_HERE, "a macro cannot return from the probe that uses it");
		diag_hint(d, "its value is its last expression, without ';'");
	} else if (n->m->result && !s->ret.expr) {
		n->has_return = true;
		diag_error(d, s->span, E_NO_VALUE, "the function %s has to return a value", n->m->name);
	} else if (!n->m->result && s->ret.expr) {
		diag_error(d, s->ret.expr->span, E_TYPE_MISMATCH, "the function %s returns no value", n->m->name);
		diag_hint(d, "declare one: fn %s(…): int64", n->m->name);
	} else {
		s->ret.is_fn = n->has_return = true;
		if (n->m->result)
			s->ret.into = var_expr(n, "result", s->span);
	}
}

/* Whether the break or continue at this place is in no loop of the block's own. */
static bool leaves_loop(const struct block *b, struct span at)
{
	for (u32 i = 0; b && i < b->cnt; i++) {
		const struct stmt *s = b->stmts[i];

		if ((s->kind == S_BREAK || s->kind == S_CONTINUE) && s->span.begin == at.begin && s->span.src == at.src)
			return true;
		if (s->kind == S_IF && (leaves_loop(s->if_.yes, at) || leaves_loop(s->if_.no, at)))
			return true;
		if (s->kind == S_BLOCK && leaves_loop(s->block, at))
			return true;
	}
	return false;
}

static void declare(struct stmt *s, void *arg)
{
	struct expansion *n = arg;

	switch (s->kind) {
	case S_LET:
		s->let.name = local_name(n, s->let.name);
		break;
	case S_FOR:
		s->for_.name = local_name(n, s->for_.name);
		break;
	case S_RETURN:
		declare_return(n, s);
		break;
	case S_BREAK:
	case S_CONTINUE:
		if (n->m->is_fn || !leaves_loop(n->m->body, s->span))
			break;
		diag_error(n->x->c->diag, s->span, E_NOT_ALLOWED_HERE,
			   "'break' and 'continue' in a macro need a loop in the macro itself");
		break;
	case S_EXPR:
	case S_ASSIGN:
	case S_IF:
	case S_BLOCK:
	case S_DISCARD:
	case S_WHILE:
	case S_UNROLL:
		break;
	}
}

/* ---- choosing ---- */

static bool arg_fits(const struct macro_param *param, const struct expr *arg)
{
	if (param->type)
		return true;
	return param->kind == '$' ? arg->kind == E_VAR : param->kind == '@' ? arg->kind == E_MAP && !arg->map.key : true;
}

static u32 misfits(const struct macro *m, const struct expr *call)
{
	u32 cnt = 0;

	for (u32 i = 0; i < m->param_cnt; i++)
		cnt += !arg_fits(&m->params[i], call->call.args[i]);
	return cnt;
}

/* Selects the macro by the number of arguments, then by their kinds. *is_macro: whether there is any of that name. */
static const struct macro *choose(const struct expander *x, const struct expr *call, bool *is_macro)
{
	const struct macro *best = NULL;

	htab_for(p, &x->by_name, str_hash(call->call.name)) {
		const struct macro *m = &x->c->script->macros.at[*p - 1];

		if (!str_eq(m->name, call->call.name))
			continue;
		*is_macro = true;
		if (m->param_cnt == call->call.arg_cnt && (!best || misfits(m, call) < misfits(best, call)))
			best = m;
	}
	return best;
}

static void fail(struct expr *e)
{
	*e = (struct expr){ .kind = E_INT, .span = e->span };
}

static bool check_args(struct expander *x, const struct macro *m, const struct expr *call)
{
	for (u32 i = 0; i < m->param_cnt; i++) {
		const struct macro_param *param = &m->params[i];

		if (arg_fits(param, call->call.args[i]))
			continue;
		diag_error(x->c->diag, call->call.args[i]->span, E_ARG_TYPE, "the macro %s expects a %s here, for %s%s", m->name,
			   param->kind == '$' ? "variable" : "map", param->kind == '$' ? "$" : "", param->name);
		return false;
	}
	return true;
}

static const char *kind_of(const struct macro *m)
{
	return m->is_fn ? "function" : "macro";
}

static bool may_enter(struct expander *x, const struct macro *m, const struct expr *call)
{
	vec_for(o, &x->open) {
		if (*o != m)
			continue;
		diag_error(x->c->diag, call->span, E_NOT_ALLOWED_HERE, "the %s %s %s itself", kind_of(m), m->name,
			   m->is_fn ? "calls" : "uses");
		if (m->is_fn)
			diag_hint(x->c->diag, "functions cannot be recursive: each call is replaced by the body; use a loop");
		return false;
	}
	if (x->open.cnt < DEPTH_MAX)
		return !is_too_big(x, m->span);
	diag_error(x->c->diag, call->span, E_TOO_BIG, "macro calls are nested too deeply");
	diag_hint(x->c->diag, "the limit is %u levels", DEPTH_MAX);
	return false;
}

/* ---- expanding ---- */

static struct stmt *let_stmt(struct expansion *n, const char *name, struct span at, struct type_ref *type, struct expr *value)
{
	struct stmt *s = arena_new(n->x->c->arena, struct stmt);

	*s = (struct stmt){ .kind = S_LET, .span = at };
	s->let.name = local_name(n, name);
	s->let.name_span = at;
	s->let.type = type;
	s->let.value = value;
	return s;
}

/* { let $result: type; let $a: type = argument; … { body } $result } */
static struct expr fn_call(struct expansion *n, struct block *body, struct span at)
{
	struct arena *a = n->x->c->arena;
	struct expr e = { .kind = E_BLOCK, .span = at };
	struct block *b = arena_new(a, struct block);
	struct stmt *inner = arena_new(a, struct stmt);

	b->span = at;
	b->stmts = arena_alloc(a, (n->m->param_cnt + 2) * sizeof(*b->stmts));
	if (n->m->result) {
		b->stmts[b->cnt++] = let_stmt(n, "result", at, n->m->result, NULL);
		e.block.value = var_expr(n, "result", at);
	}
	for (u32 i = 0; i < n->m->param_cnt; i++)
		b->stmts[b->cnt++] = let_stmt(n, n->m->params[i].name, n->args[i]->span, n->m->params[i].type, n->args[i]);
	*inner = (struct stmt){ .kind = S_BLOCK, .span = at };
	inner->block = body;
	b->stmts[b->cnt++] = inner;
	e.block.body = b;
	e.block.is_fn = true;
	return e;
}

static void expand_call(struct expander *x, const struct macro *m, struct expr *e)
{
	struct expansion n = { .x = x, .m = m, .args = e->call.args, .number = ++x->call_cnt };
	struct copy_hooks hooks = { replace, replace_type, replace_member, declare, &n };
	const struct copy_hooks *before;
	struct block *body;
	struct expr *value;

	for (u32 i = 0; i < e->call.arg_cnt; i++)
		expr_walk(e->call.args[i], expand, x);
	if (!check_args(x, m, e) || !may_enter(x, m, e)) {
		fail(e);
		return;
	}
	hooks.via = n.via = diag_add_call(x->c->diag, e->span);
	before = copy_set_hooks(&hooks);
	body = block_copy(x->c->arena, m->body);
	value = expr_copy(x->c->arena, m->value);
	copy_set_hooks(before);
	avec_push(x->c->arena, &x->open, m);
	block_walk(body, expand, x);
	expr_walk(value, expand, x);
	x->open.cnt--;
	if (m->is_fn && m->result && !n.has_return) {
		diag_error(x->c->diag, m->span, E_NO_VALUE, "the function %s has to return a value", m->name);
		fail(e);
		return;
	}
	if (m->is_fn) {
		*e = fn_call(&n, body, e->span);
		return;
	}
	if (value && !body->cnt) {
		*e = *value;
		return;
	}
	*e = (struct expr){ .kind = E_BLOCK, .span = e->span };
	e->block.body = body;
	e->block.value = value;
}

static bool is_fn_name(const struct script *s, const char *name)
{
	vec_for(m, &s->macros)
		if (m->is_fn && str_eq(m->name, name))
			return true;
	return false;
}

static void expand(struct expr *e, void *arg)
{
	struct expander *x = arg;
	bool is_macro = false;
	const struct macro *m;
	u32 suffix;

	if (e->kind != E_CALL)
		return;
	m = choose(x, e, &is_macro);
	if (m) {
		expand_call(x, m, e);
	} else if (is_macro && !fn_find(e->call.name, &suffix)) {
		diag_error(x->c->diag, e->span, E_ARG_COUNT, "no %s %s takes %u argument%s",
			   is_fn_name(x->c->script, e->call.name) ? "function" : "macro", e->call.name, e->call.arg_cnt,
			   e->call.arg_cnt == 1 ? "" : "s");
		fail(e);
	}
}

static bool is_same(const struct macro *a, const struct macro *b)
{
	if (!str_eq(a->name, b->name))
		return false;
	if (a->is_fn || b->is_fn)
		return true;
	if (a->param_cnt != b->param_cnt)
		return false;
	for (u32 i = 0; i < a->param_cnt; i++)
		if (a->params[i].kind != b->params[i].kind)
			return false;
	return true;
}

/* Adds each to the table after those before it were compared with it. */
static void check_macros(struct expander *x)
{
	struct compile *c = x->c;

	vec_for(m, &c->script->macros) {
		u32 line, col, suffix, hash = str_hash(m->name);

		htab_for(p, &x->by_name, hash) {
			const struct macro *o = &c->script->macros.at[*p - 1];

			if (!is_same(o, m))
				continue;
			diag_locate(c->diag, o->span, &line, &col);
			diag_error(c->diag, m->span, E_REDECLARED, "the %s %s is defined twice", kind_of(m), m->name);
			diag_hint(c->diag,
				  m->is_fn || o->is_fn ?
					  "the other one is at line %u, column %u" :
					  "the other one is at line %u, column %u; macros of one name differ in their parameters",
				  line, col);
		}
		htab_add(&x->by_name, hash, m - c->script->macros.at + 1);
		for (u32 i = 0; i < m->param_cnt; i++) {
			const struct fn *fn = m->params[i].kind ? NULL : fn_find(m->params[i].name, &suffix);

			if ((fn && fn->flags & FN_WORD) || (!m->params[i].kind && type_of_word(m->params[i].name)))
				diag_error(c->diag, m->params[i].span, E_REDECLARED,
					   "a parameter cannot be called '%s': that is the name of a builtin or a type",
					   m->params[i].name);
		}
	}
}

bool lang_macros(struct compile *c)
{
	struct expander x = { .c = c, .by_name = { .arena = c->arena } };
	u32 before = c->diag->error_cnt;

	if (!c->script->macros.cnt)
		return true;
	check_macros(&x);
	vec_for(p, &c->script->probes) {
		if ((*p)->pred)
			expr_walk((*p)->pred, expand, &x);
		block_walk((*p)->body, expand, &x);
	}
	return c->diag->error_cnt == before;
}
