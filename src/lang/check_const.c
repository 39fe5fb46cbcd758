/* SPDX-License-Identifier: GPL-2.0-only */
/* Compile-time values: sizeof, offsetof and typeinfo, `comptime`, and `if comptime`.
 *
 * Types grow from pass to pass, so such a value may change. Each constant keeps the expression that it was folded from
 * (expr.unfolded), and check_expr() evaluates that again in the next pass. A constant that is computed from such a constant keeps
 * its own expression, too. */
#include "lang/check.h"

/* e becomes a constant that is of type t. */
static void become_const(struct expr *e, u64 value, const struct type *t)
{
	struct span span = e->span;

	*e = (struct expr){ .kind = E_CONST, .span = span, .type = t };
	e->num.value = value;
	e->num.negative = t->is_signed && (s64)value < 0;
	e->num.enum_type = t;
}

struct expr *check_keep(struct check *k, const struct expr *e)
{
	struct expr *copy = arena_new(check_arena(k), struct expr);

	*copy = *e;
	copy->unfolded = NULL;
	return copy;
}

/* ---- questions about a type ---- */

/* The type that sizeof and its like are about; type_error was reported. */
static const struct type *subject(struct check *k, struct expr *e)
{
	if (e->of.ref)
		return type_complete(check_type_ref(k, e->of.ref));
	return type_complete(check_type_of(k, e->of.a));
}

void check_sizeof(struct check *k, struct expr *e)
{
	struct expr *question = check_keep(k, e);
	const struct type *t = subject(k, e);

	if (t->kind == T_ERROR) {
		e->type = &type_error;
	} else if (t->kind == T_NONE || t->kind == T_VOID) {
		check_fail(k, e, E_NO_VALUE, "%s has no size", t->kind == T_VOID ? "void" : "an expression without a value");
	} else {
		become_const(e, t->size, &type_u64);
		e->unfolded = question;
	}
}

void check_offsetof(struct check *k, struct expr *e)
{
	struct expr *question = check_keep(k, e);
	const struct type *t = subject(k, e);
	u32 off, sum = 0;

	if (t->kind == T_ERROR) {
		e->type = &type_error;
		return;
	}
	while (t->kind == T_POINTER && e->of.a)
		t = type_complete(t->elem);
	for (u32 i = 0; i < e->of.path_cnt; i++) {
		const struct member *m;

		if (t->kind != T_STRUCT && !type_is_record(t)) {
			check_fail(k, e, E_BAD_OPERAND, "offsetof needs a struct, a union or a record; %s%s%s is %s",
				   i ? "'" : "this", i ? e->of.path[i - 1] : "", i ? "'" : "", type_str(check_arena(k), t));
			return;
		}
		m = type_member(t, e->of.path[i], &off);
		if (!m) {
			check_fail(k, e, E_UNKNOWN_FIELD, "%s has no field named '%s'", type_str(check_arena(k), t),
				   e->of.path[i]);
			check_suggest_field(k, t, e->of.path[i]);
			return;
		}
		if (m->bit_sz) {
			check_fail(k, e, E_BAD_OPERAND, "'%s' is a bit-field: it has no offset in bytes", e->of.path[i]);
			return;
		}
		sum += off;
		t = type_complete(m->type);
	}
	become_const(e, sum, &type_u64);
	e->unfolded = question;
}

static const char *base_word(const struct type *t)
{
	switch (t->kind) {
	case T_INT:
		return "int";
	case T_BOOL:
		return "bool";
	case T_ENUM:
		return "enum";
	case T_POINTER:
		return "pointer";
	case T_STRING:
		return "string";
	case T_BUFFER:
		return "buffer";
	case T_ARRAY:
		return "array";
	case T_STRUCT:
		return t->is_union ? "union" : "struct";
	case T_TUPLE:
		return type_is_record(t) ? "record" : "tuple";
	case T_KSTACK:
		return "kstack";
	case T_USTACK:
		return "ustack";
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_SITE:
	case T_OPAQUE:
	case T_AGG:
	case T_KIND_CNT:
		break;
	}
	return NULL; /* the full name says all */
}

static struct expr *text_expr(struct check *k, struct span at, const char *s)
{
	struct expr *e = arena_new(check_arena(k), struct expr);

	e->kind = E_STR;
	e->span = at;
	e->str.s = s;
	e->str.len = strlen(s);
	return e;
}

/* A record (btf_id, base_type, full_type). */
void check_typeinfo(struct check *k, struct expr *e)
{
	static const char *names[] = { "btf_id", "base_type", "full_type" };
	struct expr *question = check_keep(k, e), *id;
	const struct type *t = subject(k, e);
	const char *full = type_str(check_arena(k), t);
	struct span span = e->span;

	if (t->kind == T_ERROR) {
		e->type = &type_error;
		return;
	}
	id = arena_new(check_arena(k), struct expr);
	id->span = span;
	become_const(id, t->src_id, &type_u32);
	*e = (struct expr){ .kind = E_TUPLE, .span = span };
	e->tuple.names = names;
	e->tuple.cnt = ARRAY_CNT(names);
	e->tuple.elems = arena_alloc(check_arena(k), ARRAY_CNT(names) * sizeof(*e->tuple.elems));
	e->tuple.elems[0] = id;
	e->tuple.elems[1] = text_expr(k, span, base_word(t) ? base_word(t) : full);
	e->tuple.elems[2] = text_expr(k, span, full);
	check_expr(k, e);
	e->unfolded = question;
}

/* ---- computing ---- */

/* Truncated to the type's size, as by a cast. */
static u64 cut(u64 v, const struct type *t)
{
	u32 shift = 64 - 8 * t->size;

	if (t->kind == T_BOOL)
		return v != 0;
	return t->size == 8 ? v : t->is_signed ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

/* The literal that e evaluates to, or NULL: an element of a literal record or tuple, the branch of a known condition. */
static const struct expr *literal_of(const struct expr *e)
{
	u64 v;

	switch (e->kind) {
	case E_INT:
	case E_BOOL:
	case E_CONST:
	case E_STR:
		return e;
	case E_FIELD: {
		const struct expr *base = literal_of(e->field.base);
		u32 i = 0;

		if (!base || base->kind != E_TUPLE || e->field.derefs)
			return NULL;
		while (base->type->members + i != e->field.member)
			i++;
		return literal_of(base->tuple.elems[i]);
	}
	case E_TUPLE:
		for (u32 i = 0; i < e->tuple.cnt; i++)
			if (!literal_of(e->tuple.elems[i]) && !check_eval(e->tuple.elems[i], &v))
				return NULL;
		return e;
	case E_TERNARY:
		return check_eval(e->ternary.cond, &v) ? literal_of(!v                     ? e->ternary.no :
									    e->ternary.yes ? e->ternary.yes :
											     e->ternary.cond) :
							 NULL;
	case E_BLOCK:
		return e->block.body->cnt || !e->block.value ? NULL : literal_of(e->block.value);
	case E_UNARY:
		return e->unary.op == UN_COMPTIME ? literal_of(e->unary.a) : NULL;
	case E_PARAM:
	case E_CALL:
	case E_VAR:
	case E_MAP:
	case E_BINARY:
	case E_CAST:
	case E_INDEX:
	case E_INCDEC:
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		break;
	}
	return NULL;
}

/* Whether two literals are equal. */
static bool same_literal(const struct expr *a, const struct expr *b)
{
	if (a->kind == E_STR && b->kind == E_STR)
		return a->str.len == b->str.len && !memcmp(a->str.s, b->str.s, a->str.len);
	if (a->kind != E_TUPLE || b->kind != E_TUPLE)
		return expr_is_int(a) && expr_is_int(b) && a->num.value == b->num.value;
	for (u32 i = 0; i < a->tuple.cnt; i++) {
		const struct expr *x = literal_of(a->tuple.elems[i]), *y = literal_of(b->tuple.elems[i]);

		if (!x || !y || !same_literal(x, y))
			return false;
	}
	return true;
}

static bool eval_binary(const struct expr *e, u64 *v)
{
	const struct expr *a = literal_of(e->binary.a), *b = literal_of(e->binary.b);
	enum binary_op op = e->binary.op;
	u64 x, y;

	if (a && b && a->kind == b->kind && (a->kind == E_STR || a->kind == E_TUPLE) && (op == BIN_EQ || op == BIN_NE)) {
		*v = same_literal(a, b) == (op == BIN_EQ);
		return true;
	}
	if (!check_eval(e->binary.a, &x))
		return false;
	if ((op == BIN_LAND && !x) || (op == BIN_LOR && x)) {
		*v = op == BIN_LOR;
		return true;
	}
	if (!check_eval(e->binary.b, &y))
		return false;
	*v = fold_binary(op, x, y, e->binary.common && e->binary.common->is_signed);
	return true;
}

/* The value of a checked expression of a scalar type, if it is known now. */
bool check_eval(const struct expr *e, u64 *v)
{
	const struct expr *lit;
	u64 x;

	if (!e->type || is_poisoned(e) || !(type_is_integral(e->type) || e->type->kind == T_POINTER))
		return false;
	if (e->kind == E_BINARY)
		return eval_binary(e, v);
	if (e->kind == E_CAST) {
		if (!check_eval(e->cast.a, &x))
			return false;
		*v = cut(x, e->type);
		return true;
	}
	if (e->kind == E_UNARY && e->unary.op != UN_COMPTIME) {
		if (!check_eval(e->unary.a, &x))
			return false;
		switch (e->unary.op) {
		case UN_NEG:
			*v = -x;
			return true;
		case UN_NOT:
			*v = !x;
			return true;
		case UN_BITNOT:
			*v = ~x;
			return true;
		case UN_DEREF:
		case UN_ADDR:
		case UN_COMPTIME:
			break;
		}
		return false;
	}
	if (e->kind == E_TERNARY)
		return check_eval(e->ternary.cond, &x) &&
			check_eval(!x                     ? e->ternary.no :
					   e->ternary.yes ? e->ternary.yes :
							    e->ternary.cond,
				   v);
	lit = literal_of(e);
	if (!lit || !expr_is_int(lit))
		return false;
	*v = lit->num.value;
	return true;
}

static void not_constant(struct check *k, struct expr *e)
{
	check_fail(k, e, E_NOT_CONSTANT, "the value of this expression is not known when the script is compiled");
	diag_hint(k->c->diag, "'comptime' takes literals, sizeof, offsetof, typeinfo, and expressions of these");
}

/* comptime e: becomes the constant. */
void check_comptime(struct check *k, struct expr *e)
{
	struct expr *question = check_keep(k, e), *a = e->unary.a;
	const struct expr *lit;
	struct span span = e->span;
	u64 v;

	check_value(k, a);
	if (is_poisoned(a)) {
		e->type = &type_error;
		return;
	}
	lit = literal_of(a);
	if (lit) {
		*e = *lit;
		e->span = span;
	} else if (check_eval(a, &v)) {
		become_const(e, v, a->type);
	} else {
		not_constant(k, e);
		return;
	}
	e->unfolded = question;
}

enum comptime_choice check_comptime_cond(struct check *k, struct expr *cond)
{
	bool outer = k->saw_unknown;
	enum comptime_choice choice = COMPTIME_UNKNOWN;
	u64 v;

	k->saw_unknown = false;
	check_cond(k, cond);
	if (is_poisoned(cond))
		;
	else if (k->saw_unknown && !k->is_last)
		;
	else if (check_eval(cond, &v))
		choice = v ? COMPTIME_YES : COMPTIME_NO;
	else
		not_constant(k, cond);
	k->saw_unknown = outer;
	return choice;
}

/* if comptime as an expression: the branch that is not taken is not checked, and removed after the last pass. */
void check_comptime_if(struct check *k, struct expr *e)
{
	enum comptime_choice choice = check_comptime_cond(k, e->ternary.cond);
	struct expr *taken = choice == COMPTIME_YES ? e->ternary.yes : e->ternary.no;

	if (choice == COMPTIME_UNKNOWN) {
		e->type = &type_error;
		return;
	}
	check_expr(k, taken);
	if (k->is_last)
		*e = *taken;
	else
		e->type = taken->type;
}
