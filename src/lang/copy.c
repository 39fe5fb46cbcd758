/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of trees, and walks over them. Immutable parts (names, types as written, checked types) are shared. */
#include "lang/compile.h"

static const struct copy_hooks *hooks;

const struct copy_hooks *copy_set_hooks(const struct copy_hooks *new)
{
	const struct copy_hooks *old = hooks;

	hooks = new;
	return old;
}

static void mark(struct span *s)
{
	if (hooks)
		s->via = hooks->via;
}

static struct expr **exprs_copy(struct arena *a, struct expr **list, u32 cnt)
{
	struct expr **copy = arena_alloc(a, cnt * sizeof(*copy));

	for (u32 i = 0; i < cnt; i++)
		copy[i] = expr_copy(a, list[i]);
	return copy;
}

/* A type that contains an expression is not shared. */
static struct type_ref *type_ref_copy(struct arena *a, struct type_ref *ref)
{
	struct type_ref *c;

	if (!ref)
		return NULL;
	c = hooks ? hooks->replace_type(ref, hooks->arg) : NULL;
	if (c)
		return c;
	if (ref->name && !hooks)
		return ref;
	c = arena_new(a, struct type_ref);
	*c = *ref;
	mark(&c->span);
	c->of_type = type_ref_copy(a, ref->of_type);
	c->of_expr = expr_copy(a, ref->of_expr);
	return c;
}

struct expr *expr_copy(struct arena *a, const struct expr *e)
{
	struct expr *c;

	if (!e)
		return NULL;
	c = hooks ? hooks->replace(e, hooks->arg) : NULL;
	if (c)
		return c;
	c = arena_new(a, struct expr);
	*c = *e;
	mark(&c->span);
	switch (e->kind) {
	case E_INT:
	case E_BOOL:
	case E_STR:
	case E_PARAM:
	case E_CONST:
	case E_VAR:
		break;
	case E_CALL:
		c->call.args = exprs_copy(a, e->call.args, e->call.arg_cnt);
		break;
	case E_MAP:
		c->map.key = expr_copy(a, e->map.key);
		break;
	case E_UNARY:
		c->unary.a = expr_copy(a, e->unary.a);
		break;
	case E_BINARY:
		c->binary.a = expr_copy(a, e->binary.a);
		c->binary.b = expr_copy(a, e->binary.b);
		break;
	case E_TERNARY:
		c->ternary.cond = expr_copy(a, e->ternary.cond);
		c->ternary.yes = expr_copy(a, e->ternary.yes);
		c->ternary.no = expr_copy(a, e->ternary.no);
		break;
	case E_CAST:
		c->cast.to = type_ref_copy(a, e->cast.to);
		c->cast.a = expr_copy(a, e->cast.a);
		break;
	case E_FIELD:
		c->field.base = expr_copy(a, e->field.base);
		break;
	case E_INDEX:
		c->index.base = expr_copy(a, e->index.base);
		c->index.index = expr_copy(a, e->index.index);
		break;
	case E_TUPLE:
		c->tuple.elems = exprs_copy(a, e->tuple.elems, e->tuple.cnt);
		break;
	case E_INCDEC:
		c->incdec.target = expr_copy(a, e->incdec.target);
		break;
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		c->of.ref = type_ref_copy(a, e->of.ref);
		c->of.a = expr_copy(a, e->of.a);
		c->of.path = arena_alloc(a, e->of.path_cnt * sizeof(*c->of.path));
		for (u32 i = 0; i < e->of.path_cnt; i++)
			c->of.path[i] = hooks ? hooks->replace_member(e->of.path[i], hooks->arg) : e->of.path[i];
		break;
	case E_BLOCK:
		c->block.body = block_copy(a, e->block.body);
		c->block.value = expr_copy(a, e->block.value);
		break;
	}
	return c;
}

static struct stmt *stmt_copy(struct arena *a, const struct stmt *s)
{
	struct stmt *c = arena_new(a, struct stmt);

	*c = *s;
	mark(&c->span);
	switch (s->kind) {
	case S_EXPR:
	case S_DISCARD:
		c->expr = expr_copy(a, s->expr);
		break;
	case S_RETURN:
		c->ret.expr = expr_copy(a, s->ret.expr);
		c->ret.into = expr_copy(a, s->ret.into);
		break;
	case S_ASSIGN:
		c->assign.target = expr_copy(a, s->assign.target);
		c->assign.value = expr_copy(a, s->assign.value);
		break;
	case S_LET:
		mark(&c->let.name_span);
		c->let.type = type_ref_copy(a, s->let.type);
		c->let.value = expr_copy(a, s->let.value);
		break;
	case S_IF:
		c->if_.cond = expr_copy(a, s->if_.cond);
		c->if_.yes = block_copy(a, s->if_.yes);
		c->if_.no = block_copy(a, s->if_.no);
		break;
	case S_BLOCK:
		c->block = block_copy(a, s->block);
		break;
	case S_WHILE:
	case S_UNROLL:
		c->loop.cond = expr_copy(a, s->loop.cond);
		c->loop.body = block_copy(a, s->loop.body);
		break;
	case S_FOR:
		c->for_.map = expr_copy(a, s->for_.map);
		c->for_.from = expr_copy(a, s->for_.from);
		c->for_.to = expr_copy(a, s->for_.to);
		c->for_.body = block_copy(a, s->for_.body);
		break;
	case S_BREAK:
	case S_CONTINUE:
		break;
	}
	if (hooks)
		hooks->declare(c, hooks->arg);
	return c;
}

struct block *block_copy(struct arena *a, const struct block *b)
{
	struct block *c;

	if (!b)
		return NULL;
	c = arena_new(a, struct block);
	*c = *b;
	mark(&c->span);
	c->stmts = arena_alloc(a, b->cnt * sizeof(*c->stmts));
	for (u32 i = 0; i < b->cnt; i++)
		c->stmts[i] = stmt_copy(a, b->stmts[i]);
	return c;
}

static void type_ref_walk(struct type_ref *ref, void (*fn)(struct expr *e, void *arg), void *arg)
{
	if (!ref || ref->name)
		return;
	type_ref_walk(ref->of_type, fn, arg);
	expr_walk(ref->of_expr, fn, arg);
}

void expr_walk(struct expr *e, void (*fn)(struct expr *e, void *arg), void *arg)
{
	if (!e)
		return;
	fn(e, arg);
	switch (e->kind) {
	case E_INT:
	case E_BOOL:
	case E_STR:
	case E_PARAM:
	case E_CONST:
	case E_VAR:
		break;
	case E_CALL:
		for (u32 i = 0; i < e->call.arg_cnt; i++)
			expr_walk(e->call.args[i], fn, arg);
		break;
	case E_MAP:
		expr_walk(e->map.key, fn, arg);
		break;
	case E_UNARY:
		expr_walk(e->unary.a, fn, arg);
		break;
	case E_BINARY:
		expr_walk(e->binary.a, fn, arg);
		expr_walk(e->binary.b, fn, arg);
		break;
	case E_TERNARY:
		expr_walk(e->ternary.cond, fn, arg);
		expr_walk(e->ternary.yes, fn, arg);
		expr_walk(e->ternary.no, fn, arg);
		break;
	case E_CAST:
		type_ref_walk(e->cast.to, fn, arg);
		expr_walk(e->cast.a, fn, arg);
		break;
	case E_FIELD:
		expr_walk(e->field.base, fn, arg);
		break;
	case E_INDEX:
		expr_walk(e->index.base, fn, arg);
		expr_walk(e->index.index, fn, arg);
		break;
	case E_TUPLE:
		for (u32 i = 0; i < e->tuple.cnt; i++)
			expr_walk(e->tuple.elems[i], fn, arg);
		break;
	case E_INCDEC:
		expr_walk(e->incdec.target, fn, arg);
		break;
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		type_ref_walk(e->of.ref, fn, arg);
		expr_walk(e->of.a, fn, arg);
		break;
	case E_BLOCK:
		block_walk(e->block.body, fn, arg);
		expr_walk(e->block.value, fn, arg);
		break;
	}
}

static void stmt_walk(struct stmt *s, void (*fn)(struct expr *e, void *arg), void *arg)
{
	switch (s->kind) {
	case S_EXPR:
	case S_DISCARD:
		expr_walk(s->expr, fn, arg);
		break;
	case S_RETURN:
		expr_walk(s->ret.expr, fn, arg);
		expr_walk(s->ret.into, fn, arg);
		break;
	case S_ASSIGN:
		expr_walk(s->assign.target, fn, arg);
		expr_walk(s->assign.value, fn, arg);
		break;
	case S_LET:
		type_ref_walk(s->let.type, fn, arg);
		expr_walk(s->let.value, fn, arg);
		break;
	case S_IF:
		expr_walk(s->if_.cond, fn, arg);
		block_walk(s->if_.yes, fn, arg);
		block_walk(s->if_.no, fn, arg);
		break;
	case S_BLOCK:
		block_walk(s->block, fn, arg);
		break;
	case S_WHILE:
	case S_UNROLL:
		expr_walk(s->loop.cond, fn, arg);
		block_walk(s->loop.body, fn, arg);
		break;
	case S_FOR:
		expr_walk(s->for_.map, fn, arg);
		expr_walk(s->for_.from, fn, arg);
		expr_walk(s->for_.to, fn, arg);
		block_walk(s->for_.body, fn, arg);
		break;
	case S_BREAK:
	case S_CONTINUE:
		break;
	}
}

void block_walk(struct block *b, void (*fn)(struct expr *e, void *arg), void *arg)
{
	if (!b)
		return;
	for (u32 i = 0; i < b->cnt; i++)
		stmt_walk(b->stmts[i], fn, arg);
}
