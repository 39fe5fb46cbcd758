/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the checker; the check() hooks of functions use them too.
 *
 * The type of a variable or map is the join of the types of all values assigned to it. So the checker walks every unit again
 * until no type changes (messages are muted), and then once more to report. Each expression ends up with a type; one that is
 * wrong gets type_error, which silences everything that depends on it.
 */
#pragma once

#include "lang/fn.h"
#include "lang/compile.h"

/* A variable that is in scope. */
struct visible {
	struct var *v;
	u32 hash;  /* of its name */
	u32 outer; /* 1 + the index of the variable of the same name that it hides; 0: none */
};

struct check {
	struct compile *c;
	struct unit *unit;
	vec(struct visible) visible; /* a scope is all behind those that were there when it began */
	struct htab visible_by_name; /* 1 + index of the innermost one of a name */
	bool changed;                /* a type grew in this pass */
	bool is_last;                /* messages are shown */
	u32 dead;                    /* number of enclosing branches whose condition is known to be false */
	u32 max_strlen;
	u32 loops;    /* number of enclosing loops */
	bool guesses; /* variables and maps without an assignment count as integers; before that, nothing that depends on them is
			 reported */
	bool saw_unknown;        /* a map was read that has no assignment yet */
	const struct stmt *loop; /* the innermost one whose body becomes a function of its own: for, while, a long unroll */
	u64 size;                /* of the code so far, in expressions; those of an unrolled body count once for each iteration */
};

#define check_arena(k) ((k)->c->arena)

void check_expr(struct check *k, struct expr *e);
/* The same, and e must have a value (not a bare aggregation or none). */
void check_value(struct check *k, struct expr *e);
/* { statements; value } */
void check_block_expr(struct check *k, struct expr *e);
/* check_type.c */
void check_cast(struct check *k, struct expr *e);
/* check_const.c: each becomes a constant. */
void check_sizeof(struct check *k, struct expr *e);
void check_offsetof(struct check *k, struct expr *e);
void check_typeinfo(struct check *k, struct expr *e);
void check_comptime(struct check *k, struct expr *e);
/* The value of a checked expression, if it is a constant. */
bool check_eval(const struct expr *e, u64 *v);
/* Which branch of an `if comptime` exists. Unknown: an error was reported, or more rounds are needed. */
enum comptime_choice { COMPTIME_UNKNOWN, COMPTIME_YES, COMPTIME_NO };
enum comptime_choice check_comptime_cond(struct check *k, struct expr *cond);
void check_comptime_if(struct check *k, struct expr *e);
/* A copy of e, for the `unfolded` of the constant that it becomes. */
struct expr *check_keep(struct check *k, const struct expr *e);
/* The sign that two integers are computed or compared in. A literal follows the other side. */
bool common_is_signed(const struct type *a, const struct type *b);
/* A op b in 64 bits; is_signed is for comparisons. */
u64 fold_binary(enum binary_op op, u64 a, u64 b, bool is_signed);
/* A hint after "no field named …". */
void check_suggest_field(struct check *k, const struct type *t, const char *name);
/* Usable as a condition. */
void check_cond(struct check *k, struct expr *e);
void check_call(struct check *k, struct expr *e);
/* str(a). */
struct expr *check_as_str(struct check *k, struct expr *a);
/* Key and existence of a map access; the value's type is left to the caller. */
void check_map_key(struct check *k, struct expr *e);
/* Finds or makes the map; is_keyed says how it is used here. */
struct map *check_map(struct check *k, struct expr *e, bool is_keyed);
/* The map's value type grows to hold t. False after an error. */
bool check_map_value(struct check *k, struct expr *map_expr, const struct type *t, struct span at);
/* e, an E_VAR, is assigned a value of type t: declares it if need be, and its type grows. */
void check_var_assign(struct check *k, struct expr *e, const struct type *t, struct span at);
const struct type *check_type_ref(struct check *k, const struct type_ref *ref);

/* The type that holds values of both, or NULL. */
const struct type *type_join(struct arena *a, const struct type *x, const struct type *y);
/* The final type for a literal's flexible one: the type of a variable or key made from it. */
const struct type *type_settle(const struct type *t);
/* The same for each element of a tuple. */
const struct type *type_settle_deep(struct arena *a, const struct type *t);

/* Warns if e is joined to a type that cannot represent all values of its own: uint64 in int64. Once, if is_told is not NULL. */
void check_sign(struct check *k, const struct type *whole, const struct expr *e, bool *is_told);

/* The address space of the object that e is part of: that of the pointer through which it is read. */
enum addr_space check_space_of(const struct expr *e);

/* The type of a checked expression, as sizeof and its like see it: a literal has its own size, a variable or map that holds
 * nothing but literals is 64 bits wide. */
const struct type *type_in_question(struct check *k, const struct expr *e);
/* The type of an expression that is not executed, for typeof, sizeof and their like; of a map with keys that is that of its key.
 */
const struct type *check_type_of(struct check *k, struct expr *e);

/* Reports and poisons. */
void check_fail(struct check *k, struct expr *e, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(4, 5);
void expr_become_int(struct expr *e, u64 value, bool negative);
/* e is an integer literal (after folding). */
static inline bool expr_is_int(const struct expr *e)
{
	return e->kind == E_INT || e->kind == E_CONST || e->kind == E_BOOL;
}
static inline bool is_poisoned(const struct expr *e)
{
	return e->type && e->type->kind == T_ERROR;
}
