/* Questions about types, answered when the script is compiled. With if and fail() they let a script say what it can work with. */
#include "fn/family.h"
#include "ir/lower.h"
#include "lang/check.h"

static struct val never_lowered(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() is a constant", e->call.name);
}

/* The call becomes its answer. Types grow until the last round, so that it is asked again in each. */
static void answer(struct check *k, struct expr *e, bool is)
{
	struct expr *question = check_keep(k, e);

	*e = (struct expr){ .kind = E_BOOL, .span = e->span, .type = &type_bool, .unfolded = question };
	e->num.value = is;
}

static void check_is_array(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];

	answer(k, e, a->type->kind == T_ARRAY);
}

static void check_is_integer(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];

	answer(k, e, a->type->kind == T_INT);
}

static void check_is_unsigned(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];

	answer(k, e, a->type->kind == T_INT && !a->type->is_signed);
}

static void check_is_literal(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];

	answer(k, e, expr_is_int(a) || a->kind == E_STR);
}

static void check_is_ptr(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];

	answer(k, e, a->type->kind == T_POINTER);
}

static void check_is_str(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];

	answer(k, e, a->type->kind == T_STRING);
}

static const struct fn rows[] = {
	{ "is_array", "(any value) bool", "true if the value is an array", "begin { print(is_array(pton(\"::1\"))) }", 0, check_is_array, never_lowered },
	{ "is_integer", "(any value) bool", "true if the value is an integer", "begin { print(is_integer(pid)) }", 0, check_is_integer, never_lowered },
	{ "is_unsigned_integer", "(any value) bool", "true if the value is an unsigned integer", "begin { print(is_unsigned_integer(pid)) }", 0, check_is_unsigned, never_lowered },
	{ "is_literal", "(any value) bool", "true if the value is a number or a text in the script itself", "begin { print(is_literal(5)) }", 0, check_is_literal, never_lowered },
	{ "is_ptr", "(any value) bool", "true if the value is a pointer", "begin { print(is_ptr(curtask)) }", 0, check_is_ptr, never_lowered },
	{ "is_str", "(any value) bool", "true if the value is a string", "begin { print(is_str(comm)) }", 0, check_is_str, never_lowered },
};

FN_FAMILY(fn_meta, rows);
