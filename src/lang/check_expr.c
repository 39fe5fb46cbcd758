/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of expressions (reference 2.8 to 2.10), and constant folding. */
#include "lang/check.h"

#include "lang/lex.h"
#include "lang/provider.h"

void check_var_read(struct check *k, struct expr *e); /* check.c */

/* The verifier keeps the branches of a comparison in a list of 8,192. */
enum { COMPARED_MAX = 16384 };

/* The smallest signed type that holds the value; above INT64_MAX it is unsigned. */
static const struct type *literal_type(u64 value, bool negative)
{
	static const struct type flex[] = {
		{ .kind = T_INT, .size = 1, .align = 1, .is_signed = true, .is_flexible = true },
		{ .kind = T_INT, .size = 2, .align = 2, .is_signed = true, .is_flexible = true },
		{ .kind = T_INT, .size = 4, .align = 4, .is_signed = true, .is_flexible = true },
		{ .kind = T_INT, .size = 8, .align = 8, .is_signed = true, .is_flexible = true },
	};
	s64 v = (s64)value;

	if (!negative && v < 0)
		return &type_u64;
	if (negative)
		return v >= INT8_MIN ? &type_s8 : v >= INT16_MIN ? &type_s16 : v >= INT32_MIN ? &type_s32 : &type_s64;
	return v <= INT8_MAX ? &flex[0] : v <= INT16_MAX ? &flex[1] : v <= INT32_MAX ? &flex[2] : &flex[3];
}

void expr_become_int(struct expr *e, u64 value, bool negative)
{
	struct span span = e->span;

	*e = (struct expr){ .kind = E_INT, .span = span };
	e->num.value = value;
	e->num.negative = negative;
	e->type = literal_type(value, negative);
}

void check_value(struct check *k, struct expr *e)
{
	check_expr(k, e);
	if (is_poisoned(e))
		return;
	if (e->type->kind == T_NONE || e->type->kind == T_VOID) {
		check_fail(k, e, E_NO_VALUE, "this expression has no value");
	} else if (type_is_agg(e->type) && e->kind == E_CALL) {
		check_fail(k, e, E_AGGREGATION, "%s() should be assigned directly to a map", e->call.name);
		diag_hint(k->c->diag, "write: @ = %s(…);", e->call.name);
	}
}

void check_cond(struct check *k, struct expr *e)
{
	bool is_string;

	check_value(k, e);
	if (is_poisoned(e) || type_is_integral(e->type) || e->type->kind == T_POINTER)
		return;
	is_string = e->type->kind == T_STRING;
	if (e->kind == E_STR) { /* whether str($1) was given, say */
		struct expr *question = check_keep(k, e);

		expr_become_int(e, e->str.len > 0, false);
		e->unfolded = question;
		return;
	}
	check_fail(k, e, E_TYPE_MISMATCH, "a condition must be an integer, a bool or a pointer, not %s",
		   type_str(check_arena(k), e->type));
	if (is_string)
		diag_hint(k->c->diag, "compare it: … == \"text\"");
}

static void check_param(struct check *k, struct expr *e)
{
	u32 n = e->param.index;
	const char *text;
	struct number num;
	bool negative;

	if (n == 0) {
		expr_become_int(e, k->c->param_cnt, false);
		return;
	}
	if (n > k->c->param_cnt) {
		expr_become_int(e, 0, false);
		e->num.is_missing_param = true;
		return;
	}
	text = k->c->params[n - 1];
	negative = *text == '-';
	num = number_parse(check_arena(k), text + negative, strlen(text + negative), true);
	if (text[negative] && !num.why && (!negative || num.value <= (u64)INT64_MAX + 1)) {
		expr_become_int(e, negative ? -num.value : num.value, negative && num.value);
	} else {
		e->kind = E_STR;
		e->str.s = arena_strdup(check_arena(k), text);
		e->str.len = strlen(text);
		e->type = type_string(check_arena(k), e->str.len + 1);
	}
}

u64 fold_binary(enum binary_op op, u64 a, u64 b, bool is_signed)
{
	switch (op) {
	case BIN_ADD:
		return a + b;
	case BIN_SUB:
		return a - b;
	case BIN_MUL:
		return a * b;
	case BIN_DIV:
		return b ? a / b : 1;
	case BIN_MOD:
		return b ? a % b : 1;
	case BIN_AND:
		return a & b;
	case BIN_OR:
		return a | b;
	case BIN_XOR:
		return a ^ b;
	case BIN_SHL:
		return a << (b & 63); /* as the machine does it */
	case BIN_SHR:
		return a >> (b & 63);
	case BIN_EQ:
		return a == b;
	case BIN_NE:
		return a != b;
	case BIN_LT:
		return is_signed ? (s64)a < (s64)b : a < b;
	case BIN_LE:
		return is_signed ? (s64)a <= (s64)b : a <= b;
	case BIN_GT:
		return is_signed ? (s64)a > (s64)b : a > b;
	case BIN_GE:
		return is_signed ? (s64)a >= (s64)b : a >= b;
	case BIN_LAND:
		return a && b;
	case BIN_LOR:
		return a || b;
	case BIN_CNT:
		break;
	}
	return 0;
}

/* Numbers in the script are computed exactly, with their signs, not as the machine would. False if the result fits no type. */
static bool fold_exactly(enum binary_op op, const struct expr *a, const struct expr *b, u64 *out, bool *negative)
{
	__int128 x = a->num.negative ? (__int128)(s64)a->num.value : (__int128)a->num.value;
	__int128 y = b->num.negative ? (__int128)(s64)b->num.value : (__int128)b->num.value, r = 0;

	switch (op) {
	case BIN_ADD:
		r = x + y;
		break;
	case BIN_SUB:
		r = x - y;
		break;
	case BIN_MUL: /* two numbers of 64 bits fit 128, but for the sign */
		if (__builtin_mul_overflow(x, y, &r))
			return false;
		break;
	case BIN_DIV:
		r = x / y;
		break;
	case BIN_MOD:
		r = x % y;
		break;
	case BIN_AND:
		r = x & y;
		break;
	case BIN_OR:
		r = x | y;
		break;
	case BIN_XOR:
		r = x ^ y;
		break;
	case BIN_SHL:
	case BIN_SHR:
		if (y < 0 || y > 63)
			return false;
		if (op == BIN_SHR)
			r = x >> y;
		else
			r = x < 0 ? (__int128)(s64)(a->num.value << y) : (__int128)(a->num.value << y);
		break;
	case BIN_EQ:
	case BIN_NE:
	case BIN_LT:
	case BIN_LE:
	case BIN_GT:
	case BIN_GE:
	case BIN_LAND:
	case BIN_LOR:
	case BIN_CNT:
		return false;
	}
	if (r < INT64_MIN || r > UINT64_MAX)
		return false;
	*out = (u64)r;
	*negative = r < 0;
	return true;
}

static void become_bool(struct expr *e, bool v)
{
	struct span span = e->span;

	*e = (struct expr){ .kind = E_BOOL, .span = span, .type = &type_bool };
	e->num.value = v;
}

/* A value computed from a provisional constant is provisional, too. */
static void fold(struct check *k, struct expr *e, const struct expr *a, const struct expr *b, u64 value, bool negative,
		 bool is_bool)
{
	struct expr *question = a->unfolded || (b && b->unfolded) ? check_keep(k, e) : NULL;

	if (is_bool)
		become_bool(e, value);
	else
		expr_become_int(e, value, negative);
	e->unfolded = question;
}

static void bad_operand(struct check *k, struct expr *e, const struct type *t)
{
	enum binary_op op = e->binary.op;

	check_fail(k, e, E_BAD_OPERAND, "The %s operator can not be used on expressions of type '%s'", binary_op_text[op],
		   type_str(check_arena(k), t));
	if (t->kind == T_STRING && binary_is_compare(op))
		diag_hint(k->c->diag, "strings can only be equal (==) or not (!=)");
	else if (t->kind == T_STRING && (op == BIN_LAND || op == BIN_LOR))
		diag_hint(k->c->diag, "compare it: … == \"text\"");
}

bool common_is_signed(const struct type *a, const struct type *b)
{
	if (a->is_flexible && b->is_flexible)
		return true;
	if (a->is_flexible)
		return b->is_signed;
	if (b->is_flexible)
		return a->is_signed;
	return a->is_signed || b->is_signed;
}

static void check_int_binary(struct check *k, struct expr *e)
{
	struct expr *a = e->binary.a, *b = e->binary.b;
	enum binary_op op = e->binary.op;
	bool is_signed = common_is_signed(a->type, b->type);

	if (op == BIN_LAND || op == BIN_LOR) {
		if (expr_is_int(a) && expr_is_int(b))
			fold(k, e, a, b, fold_binary(op, a->num.value, b->num.value, false), false, true);
		else
			e->type = &type_bool;
		return;
	}
	if (expr_is_int(a) && expr_is_int(b) && !((op == BIN_DIV || op == BIN_MOD) && !b->num.value)) {
		bool negative;
		u64 v;

		if (binary_is_compare(op)) {
			fold(k, e, a, b, fold_binary(op, a->num.value, b->num.value, is_signed), false, true);
		} else if (fold_exactly(op, a, b, &v, &negative)) {
			fold(k, e, a, b, v, negative, false);
		} else {
			check_fail(k, e, E_BAD_LITERAL, "unable to fold literals due to overflow or underflow");
			if (op == BIN_SHL || op == BIN_SHR)
				diag_hint(k->c->diag, "a shift takes 0 to 63 bits");
			else
				diag_hint(k->c->diag, "the result has to fit 64 bits");
			e->type = &type_error;
		}
		return;
	}
	e->binary.common = type_int(8, is_signed);
	if (binary_is_compare(op)) {
		e->type = &type_bool;
		return;
	}
	if ((op == BIN_DIV || op == BIN_MOD) && k->is_last && is_signed &&
	    !type_equal(type_settle(a->type), type_settle(b->type)) && !(b->type->is_flexible && a->type->is_flexible))
		diag_warn(k->c->diag, e->span, W_SIGN,
			  "signed operands for '%s' can lead to undefined behavior (cast to unsigned to silence warning)",
			  binary_op_text[op]);
	e->type = type_int(8, op == BIN_SUB || is_signed);
}

static bool is_known_space(enum addr_space as)
{
	return as == AS_KERNEL || as == AS_USER;
}

/* A comparison of two pointers. It is possible for any types, but rarely intended. */
static void check_pointers_meet(struct check *k, struct expr *e)
{
	const struct type *a = e->binary.a->type, *b = e->binary.b->type;

	if (!k->is_last)
		return;
	if (!type_equal(a->elem, b->elem) && a->elem->kind != T_VOID && b->elem->kind != T_VOID)
		diag_warn(k->c->diag, e->span, W_POINTER, "comparison of pointers to different types: %s and %s",
			  type_str(check_arena(k), a), type_str(check_arena(k), b));
	else if (is_known_space(a->as) && is_known_space(b->as) && a->as != b->as)
		diag_warn(k->c->diag, e->span, W_POINTER, "comparison of a kernel pointer with a user-space pointer");
}

static void check_binary(struct check *k, struct expr *e)
{
	struct expr *a = e->binary.a, *b = e->binary.b;
	enum binary_op op = e->binary.op;

	check_value(k, a);
	check_value(k, b);
	if (is_poisoned(a) || is_poisoned(b)) {
		e->type = &type_error;
		return;
	}
	if (type_is_integral(a->type) && type_is_integral(b->type)) {
		check_int_binary(k, e);
		return;
	}
	bool ptr_a = a->type->kind == T_POINTER, ptr_b = b->type->kind == T_POINTER;
	bool int_a = type_is_integral(a->type), int_b = type_is_integral(b->type);

	if ((ptr_a || int_a) && (ptr_b || int_b)) {
		if (ptr_a && ptr_b && binary_is_compare(op))
			check_pointers_meet(k, e);
		if (binary_is_compare(op) || op == BIN_LAND || op == BIN_LOR) {
			e->binary.common = &type_u64;
			e->type = &type_bool;
		} else if (ptr_a && int_b && (op == BIN_ADD || op == BIN_SUB)) {
			e->type = a->type;
		} else if (int_a && ptr_b && op == BIN_ADD) {
			e->type = b->type;
		} else {
			bad_operand(k, e, ptr_a ? a->type : b->type);
			diag_hint(k->c->diag, "cast the pointer to uint64 first");
		}
		return;
	}
	if (op != BIN_EQ && op != BIN_NE) {
		bad_operand(k, e, type_is_integral(a->type) || ptr_a ? b->type : a->type);
		return;
	}
	if (type_compares_as_key(a->type) && a->type->kind == b->type->kind) {
		e->binary.common = type_join(check_arena(k), a->type, b->type);
		if (e->binary.common) {
			e->type = &type_bool;
			return;
		}
	}
	/* A probe name is compared with a literal by number, with any other string by text. */
	if (a->type->kind == T_SITE && b->type->kind == T_STRING && b->kind != E_STR)
		a = e->binary.a = check_as_str(k, a);
	else if (b->type->kind == T_SITE && a->type->kind == T_STRING && a->kind != E_STR)
		b = e->binary.b = check_as_str(k, b);
	if (a->type->kind == T_STRING && b->type->kind == T_STRING && a->kind != E_STR && b->kind != E_STR &&
	    MIN(a->type->size, b->type->size) > COMPARED_MAX) {
		check_fail(k, e, E_TOO_BIG, "strings of more than %u bytes cannot be compared", COMPARED_MAX);
		return;
	}
	/* Sites are shown as text, and compare as text: the numbers of all matching sites are known here. */
	if ((a->type->kind == T_SITE && b->kind == E_STR) || (a->kind == E_STR && b->type->kind == T_SITE) ||
	    (a->type->kind == T_STRING && b->type->kind == T_STRING) ||
	    (a->type->kind == b->type->kind && a->type->kind != T_STRING && type_equal(a->type, b->type) &&
	     type_is_scalar(a->type)) ||
	    (a->type->kind == T_ARRAY && type_equal(a->type, b->type))) {
		e->type = &type_bool;
		return;
	}
	check_fail(k, e, E_TYPE_MISMATCH, "Type mismatch for '%s': comparing %s with %s", binary_op_text[op],
		   type_str(check_arena(k), a->type), type_str(check_arena(k), b->type));
	if (a->type->kind == T_STRING || b->type->kind == T_STRING)
		diag_hint(k->c->diag, "a string compares with a string: use str() on a pointer to one");
}

/* &@m: of a map with keys it is the kernel's own struct, else that of its value; &@m[k]: that of the entry's value, 0 if there is
 * none. */
static const struct type *check_map_address(struct check *k, struct expr *e)
{
	struct expr *a = e->unary.a;
	struct map *m = compile_map(k->c, a->map.name);
	struct type_source *src = compile_types(k->c);
	const struct type *t;

	a->type = NULL;
	a->map.is_ref = true;
	if (a->map.key)
		check_map_key(k, a);
	else
		check_map(k, a, m && m->key_known && m->has_key);
	m = a->map.map;
	if (is_poisoned(a))
		return NULL;
	a->type = m->val ? m->val : &type_s64;
	if (m->has_key && !a->map.key) {
		t = src ? src->find(src, "struct", "bpf_map") : NULL;
		return t ? t : &type_void;
	}
	if (!type_is_agg(a->type))
		return a->type;
	check_fail(k, e, E_AGGREGATION, "%s holds %s, which is stored per CPU and has no single address", m->name,
		   type_str(check_arena(k), m->val));
	return NULL;
}

static void check_address(struct check *k, struct expr *e)
{
	struct expr *a = e->unary.a;
	const struct type *t = NULL;

	if (a->kind == E_VAR) {
		check_var_read(k, a);
		if (!is_poisoned(a)) {
			a->var.var->is_shared = true; /* a register has no address */
			t = type_settle_deep(check_arena(k), a->type);
		}
	} else if (a->kind == E_MAP) {
		t = check_map_address(k, e);
	} else {
		check_value(k, a);
		if (!is_poisoned(a)) {
			check_fail(k, e, E_BAD_OPERAND, "only variables and maps have an address");
			diag_hint(k->c->diag, "assign it to a variable first: $x = …; … &$x");
		}
	}
	e->type = t ? type_pointer(check_arena(k), t, AS_KERNEL) : &type_error;
}

static void check_unary(struct check *k, struct expr *e)
{
	struct expr *a = e->unary.a;

	if (e->unary.op == UN_COMPTIME) {
		check_comptime(k, e);
		return;
	}
	if (e->unary.op == UN_ADDR) {
		check_address(k, e);
		return;
	}
	check_value(k, a);
	if (is_poisoned(a)) {
		e->type = &type_error;
		return;
	}
	switch (e->unary.op) {
	case UN_NEG:
		if (!type_is_integral(a->type))
			goto bad;
		if (a->kind == E_INT && !a->num.negative && a->num.value > 1ull << 63) {
			check_fail(k, e, E_BAD_LITERAL, "negative value will underflow");
			diag_hint(k->c->diag, "the smallest number is -9223372036854775808");
			e->type = &type_error;
		} else if (a->kind == E_INT) {
			u64 v = -a->num.value;

			fold(k, e, a, NULL, v, !a->num.negative && (s64)v < 0, false);
		} else {
			e->type = &type_s64;
		}
		return;
	case UN_BITNOT:
		if (!type_is_integral(a->type))
			goto bad;
		if (a->kind == E_INT)
			fold(k, e, a, NULL, ~a->num.value, a->num.negative && (s64)~a->num.value < 0, false);
		else
			e->type = type_int(8, a->type->is_signed);
		return;
	case UN_NOT:
		if (!type_is_integral(a->type) && a->type->kind != T_POINTER)
			goto bad;
		if (expr_is_int(a))
			fold(k, e, a, NULL, !a->num.value, false, true);
		else
			e->type = &type_bool;
		return;
	case UN_DEREF:
		if (a->type->kind == T_POINTER && a->type->elem->kind != T_VOID) {
			e->type = type_complete(a->type->elem);
		} else if (type_is_integral(a->type)) {
			e->type = &type_u64; /* an address as a plain number: eight bytes there */
		} else {
			check_fail(k, e, E_BAD_OPERAND, "only pointers can be dereferenced, this is %s",
				   type_str(check_arena(k), a->type));
			if (a->type->kind == T_POINTER)
				diag_hint(k->c->diag, "cast it to a pointer to a type with a size: *(uint64 *)…");
		}
		return;
	case UN_ADDR:
	case UN_COMPTIME:
		return;
	}
bad:
	check_fail(k, e, E_BAD_OPERAND, "The %s operator can not be used on expressions of type '%s'",
		   e->unary.op == UN_NEG         ? "-" :
			   e->unary.op == UN_NOT ? "!" :
						   "~",
		   type_str(check_arena(k), a->type));
}

static void check_ternary(struct check *k, struct expr *e)
{
	struct expr *yes = e->ternary.yes ? e->ternary.yes : e->ternary.cond, *no = e->ternary.no;

	if (e->ternary.is_comptime) {
		check_comptime_if(k, e);
		return;
	}
	check_cond(k, e->ternary.cond);
	if (e->ternary.yes)
		check_expr(k, yes);
	check_expr(k, no);
	if (is_poisoned(e->ternary.cond) || is_poisoned(yes) || is_poisoned(no)) {
		e->type = &type_error;
		return;
	}
	if (type_is_agg(yes->type) || type_is_agg(no->type)) {
		check_fail(k, e, E_AGGREGATION, "an aggregation can only be assigned directly to a map");
		return;
	}
	e->type = type_join(check_arena(k), yes->type, no->type);
	if (!e->type) {
		check_fail(k, e, E_TYPE_MISMATCH, "the branches of ?: must have one type, not %s and %s",
			   type_str(check_arena(k), yes->type), type_str(check_arena(k), no->type));
	} else {
		check_sign(k, e->type, yes, NULL);
		check_sign(k, e->type, no, NULL);
	}
}

void check_suggest_field(struct check *k, const struct type *t, const char *name)
{
	const char **names = arena_alloc(check_arena(k), (t->member_cnt + 1) * sizeof(*names)), *near;
	u32 cnt = 0;

	for (u32 i = 0; i < t->member_cnt; i++)
		if (t->members[i].name && *t->members[i].name)
			names[cnt++] = t->members[i].name;
	near = nearest_name(name, names, cnt);
	if (near) {
		diag_hint(k->c->diag, "did you mean '%s'?", near);
	} else if (cnt && cnt <= 16) {
		struct sbuf b = {};

		for (u32 i = 0; i < cnt; i++)
			sbuf_printf(&b, "%s%s", i ? ", " : "", names[i]);
		diag_hint(k->c->diag, "it has: %s", sbuf_str(&b));
		sbuf_release(&b);
	}
}

enum addr_space check_space_of(const struct expr *e)
{
	while (e->type->as == AS_NONE) {
		if (e->kind == E_FIELD)
			e = e->field.base;
		else if (e->kind == E_INDEX)
			e = e->index.base;
		else if (e->kind == E_UNARY && e->unary.op == UN_DEREF)
			e = e->unary.a;
		else
			break;
	}
	return e->type->as;
}

/* A field of a record of literals, such as config.max_strlen, is that literal. */
static void take_literal(struct expr *e)
{
	const struct expr *base = e->field.base;
	struct span span = e->span;
	u32 n = base->kind == E_TUPLE && base->tuple.names ? base->tuple.cnt : 0;

	for (u32 i = 0; i < n; i++)
		if (!expr_is_int(base->tuple.elems[i]) && base->tuple.elems[i]->kind != E_STR)
			return;
	for (u32 i = 0; i < n; i++) {
		if (str_eq(base->tuple.names[i], e->field.name)) {
			*e = *base->tuple.elems[i];
			e->span = span;
			return;
		}
	}
}

static void check_field(struct check *k, struct expr *e)
{
	const struct type *t;
	u32 derefs = 0;

	check_value(k, e->field.base);
	if (is_poisoned(e->field.base)) {
		e->type = &type_error;
		return;
	}
	t = e->field.base->type;
	if (e->field.base->kind == E_CALL && (e->field.base->call.fn->flags & FN_ARGS))
		t = k->unit->args;
	for (; t->kind == T_POINTER; t = t->elem)
		derefs++;
	if (t->kind == T_TUPLE) {
		char *end;
		unsigned long n = strtoul(e->field.name, &end, 10);

		if (type_is_record(t)) {
			for (n = 0; n < t->member_cnt && !str_eq(t->members[n].name, e->field.name);)
				n++;
			if (n == t->member_cnt) {
				check_fail(k, e, E_UNKNOWN_FIELD, "%s has no field named '%s'", type_str(check_arena(k), t),
					   e->field.name);
				check_suggest_field(k, t, e->field.name);
				return;
			}
		} else if (*end || n >= t->member_cnt) {
			check_fail(k, e, E_UNKNOWN_FIELD, "the tuple %s has no element .%s", type_str(check_arena(k), t),
				   e->field.name);
			return;
		}
		e->field.member = &t->members[n];
		e->field.off = t->members[n].off;
		e->field.derefs = derefs;
		e->type = t->members[n].type;
		if (!derefs)
			take_literal(e);
		return;
	}
	if (t->kind != T_STRUCT) {
		check_fail(k, e, E_BAD_OPERAND, "cannot read the field '%s': this is %s, which has no fields", e->field.name,
			   type_str(check_arena(k), e->field.base->type));
		if (type_is_integral(e->field.base->type) || t->kind == T_VOID)
			diag_hint(k->c->diag, "cast it to a pointer to a struct first: ((struct name *)…)->%s", e->field.name);
		return;
	}
	e->field.member = type_member(t, e->field.name, &e->field.off);
	if (!e->field.member) {
		bool is_args = e->field.base->kind == E_CALL && (e->field.base->call.fn->flags & FN_ARGS);
		const struct provider *p = k->unit->provider;
		const char *why = is_args && p->missing_arg ? p->missing_arg(k->c, k->unit, e->field.name) : NULL;

		if (why) {
			check_fail(k, e, E_NO_ARGS, "the argument '%s' cannot be read: %s", e->field.name, why);
			return;
		}
		check_fail(k, e, E_UNKNOWN_FIELD, "%s has no field named '%s'",
			   is_args ? k->c->sites.at[k->unit->site_first].name : type_str(check_arena(k), t), e->field.name);
		check_suggest_field(k, t, e->field.name);
		return;
	}
	e->field.derefs = derefs;
	e->type = e->field.member->type;
	/* A field inherits the address space of the struct that it was found in, if it has none of its own. */
	if (e->type->kind == T_POINTER && e->type->as == AS_NONE && check_space_of(e->field.base) != AS_NONE)
		e->type = type_pointer(check_arena(k), e->type->elem, check_space_of(e->field.base));
}

static void check_index(struct check *k, struct expr *e)
{
	struct expr *base = e->index.base, *i = e->index.index;
	const struct type *t;

	check_value(k, base);
	check_value(k, i);
	if (is_poisoned(base) || is_poisoned(i)) {
		e->type = &type_error;
		return;
	}
	t = base->type;
	if (!type_is_integral(i->type)) {
		check_fail(k, i, E_TYPE_MISMATCH, "an index must be an integer, not %s", type_str(check_arena(k), i->type));
		e->type = &type_error;
		return;
	}
	if (t->kind == T_ARRAY || t->kind == T_STRING) {
		u32 cnt = t->kind == T_ARRAY ? t->cnt : t->size;

		e->type = t->kind == T_ARRAY ? t->elem : &type_s8;
		/* Length 0 is a flexible array member: its real length is not known. */
		if (expr_is_int(i) && cnt && i->num.value >= cnt) {
			check_fail(k, e, E_OUT_OF_BOUNDS,
				   i->num.negative ? "the index %lld is out of bounds: there are %u elements" :
						     "the index %llu is out of bounds: there are %u elements",
				   (unsigned long long)i->num.value, cnt);
			return;
		}
	} else if (t->kind == T_POINTER && t->elem->kind != T_VOID) {
		e->type = t->elem;
	} else if (type_is_record(t)) {
		check_fail(k, e, E_BAD_OPERAND, "the fields of a record have names: write .%s", t->members[0].name);
	} else if (t->kind == T_TUPLE && !expr_is_int(i)) {
		check_fail(k, i, E_TYPE_MISMATCH, "the index of a tuple must be a literal, because its elements differ in type");
		e->type = &type_error;
	} else if (t->kind == T_TUPLE && i->num.value >= t->member_cnt) {
		check_fail(k, e, E_OUT_OF_BOUNDS, "the index %llu is out of bounds: the tuple has %u element%s",
			   (unsigned long long)i->num.value, t->member_cnt, t->member_cnt == 1 ? "" : "s");
	} else if (t->kind == T_TUPLE) {
		struct expr *b = base;
		const char *name = arena_printf(check_arena(k), "%llu", (unsigned long long)i->num.value);

		*e = (struct expr){ .kind = E_FIELD, .span = e->span };
		e->field.base = b;
		e->field.name = name;
		check_field(k, e);
	} else {
		check_fail(k, e, E_BAD_OPERAND, "only arrays and pointers can be indexed; this is %s",
			   type_str(check_arena(k), t));
	}
}

static void check_incdec(struct check *k, struct expr *e)
{
	struct expr *t = e->incdec.target;

	t->type = NULL;
	if (t->kind == E_MAP) {
		check_map_key(k, t);
		if (is_poisoned(t)) {
			e->type = &type_error;
			return;
		}
		if (t->map.map->val && !type_is_integral(t->map.map->val) && t->map.map->val->kind != T_POINTER) {
			check_fail(k, e, E_AGGREGATION, "%s cannot be used on %s, which holds %s", e->incdec.is_dec ? "--" : "++",
				   t->map.name, type_str(check_arena(k), t->map.map->val));
			return;
		}
		if (!t->map.map->val || t->map.map->val->kind != T_POINTER)
			check_map_value(k, t,
					!e->incdec.is_dec && t->map.map->val && t->map.map->val->kind == T_INT ? t->map.map->val :
														 &type_s64,
					e->span);
		e->type = t->type = t->map.map->val;
		return;
	}
	if (t->kind != E_VAR) {
		check_fail(k, e, E_NOT_ASSIGNABLE, "++ and -- need a variable or a map");
		return;
	}
	check_var_read(k, t);
	if (is_poisoned(t)) {
		e->type = &type_error;
		return;
	}
	if (!type_is_integral(t->type) && t->type->kind != T_POINTER) {
		check_fail(k, e, E_BAD_OPERAND, "++ and -- can not be used on %s", type_str(check_arena(k), t->type));
		return;
	}
	if (t->type->kind != T_POINTER && !t->var.var->is_fixed) {
		const struct type *wide = type_int(8, e->incdec.is_dec || t->type->is_flexible || t->type->is_signed);

		/* A variable has no type yet if that of its declaration is unknown, which was reported. */
		if (!t->var.var->type || !type_equal(wide, t->var.var->type) || t->var.var->type->is_flexible) {
			t->var.var->type = wide;
			k->changed = true;
		}
	}
	t->var.var->is_assigned = true;
	t->var.var->assign_cnt++;
	e->type = t->type = t->var.var->type;
}

static void check_tuple(struct check *k, struct expr *e)
{
	const struct type **elems = arena_alloc(check_arena(k), (e->tuple.cnt + 1) * sizeof(*elems));
	bool bad = false;

	for (u32 i = 0; i < e->tuple.cnt; i++) {
		check_value(k, e->tuple.elems[i]);
		bad |= is_poisoned(e->tuple.elems[i]);
		if (!bad && type_is_agg(e->tuple.elems[i]->type)) {
			check_fail(k, e->tuple.elems[i], E_AGGREGATION, "an aggregation cannot be part of a key or a tuple");
			bad = true;
		}
		elems[i] = e->tuple.elems[i]->type;
	}
	e->type = bad ? &type_error : type_tuple(check_arena(k), elems, e->tuple.names, e->tuple.cnt);
}

static void check_map_read(struct check *k, struct expr *e)
{
	struct map *m;

	check_map_key(k, e);
	if (is_poisoned(e))
		return;
	m = e->map.map;
	if (!m->val) {
		/* Assigned further down, perhaps. Reported at the end if never. */
		k->saw_unknown = true;
		e->type = k->guesses ? &type_s64 : &type_error;
		return;
	}
	e->type = m->val;
	if (type_is_agg(m->val)) {
		/* The sum over all CPUs is a number. */
		if (!type_is_number_agg(m->val)) {
			check_fail(k, e, E_AGGREGATION, "%s holds %s, which cannot be read in an expression", m->name,
				   type_str(check_arena(k), m->val));
			diag_hint(k->c->diag, "print it: print(%s);", m->name);
			return;
		}
		e->type = type_int(8, m->val->is_signed);
	}
}

/* The type of a text: the one of the last round, if it has been through one. */
static const struct type *text_type(struct check *k, const struct expr *e, const struct type *before)
{
	u32 size = e->str.len + 1;

	if (before && before->kind == T_STRING && before->size == size && !before->is_fillable)
		return before;
	return type_string(check_arena(k), size);
}

void check_expr(struct check *k, struct expr *e)
{
	const struct type *before = e->type;

	if (e->unfolded)
		*e = *e->unfolded;
	e->type = NULL;
	k->size++;
	switch (e->kind) {
	case E_INT:
		e->type = literal_type(e->num.value, e->num.negative);
		break;
	case E_BOOL:
		e->type = &type_bool;
		break;
	case E_STR:
		e->type = text_type(k, e, before);
		break;
	case E_PARAM:
		check_param(k, e);
		break;
	case E_CONST:
		BUG_ON(!e->num.enum_type);
		e->type = e->num.enum_type;
		break;
	case E_CALL:
		check_call(k, e);
		break;
	case E_VAR:
		check_var_read(k, e);
		break;
	case E_MAP:
		check_map_read(k, e);
		break;
	case E_UNARY:
		check_unary(k, e);
		break;
	case E_BINARY:
		check_binary(k, e);
		break;
	case E_TERNARY:
		check_ternary(k, e);
		break;
	case E_CAST:
		check_cast(k, e);
		break;
	case E_FIELD:
		check_field(k, e);
		break;
	case E_INDEX:
		check_index(k, e);
		break;
	case E_TUPLE:
		check_tuple(k, e);
		break;
	case E_INCDEC:
		check_incdec(k, e);
		break;
	case E_BLOCK:
		check_block_expr(k, e);
		break;
	case E_SIZEOF:
		check_sizeof(k, e);
		break;
	case E_OFFSETOF:
		check_offsetof(k, e);
		break;
	case E_TYPEINFO:
		check_typeinfo(k, e);
		break;
	case E_TYPEOF:
		check_fail(k, e, E_NO_VALUE, "a type is not a value");
		diag_hint(k->c->diag, "typeof is for casts, 'let', sizeof and the arguments of macros");
		break;
	}
	BUG_ON(!e->type);
}
