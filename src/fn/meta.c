/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries about types, evaluated at compile time. With if and fail() a script can check its own requirements. */
#include "fn/family.h"
#include "ir/lower.h"
#include "lang/check.h"

static struct val never_lowered(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() is a constant", e->call.name);
}

/* The call is replaced by its result. Types grow until the last pass, so it is evaluated again in each. */
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

static void check_is_scalar(struct check *k, struct expr *e)
{
	const struct map *m = e->call.args[0]->map.map;

	answer(k, e, !m || !m->has_key);
}

static void check_assert_str(struct check *k, struct expr *e)
{
	const struct expr *a = e->call.args[0];
	enum type_kind kind = a->type->kind;

	e->type = &type_none;
	if (k->is_last && !k->dead && kind != T_STRING && kind != T_ARRAY && kind != T_POINTER)
		check_fail(k, e, E_ARG_TYPE, "this must be a string, an array or a pointer (%s provided)",
			   type_str(check_arena(k), a->type));
}

static struct val lower_to_nothing(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_none();
}

static void check_default_str_length(struct check *k, struct expr *e)
{
	expr_become_int(e, k->max_strlen, false);
	e->type = &type_u64;
}

static void check_kfunc_exist(struct check *k, struct expr *e)
{
	struct type_source *src = target_types(k->c->target);

	answer(k, e, src && src->func_id && src->func_id(src, e->call.args[0]->str.s));
}

/* A script cannot call one, so a script that checks this takes its other branch. */
static void check_kfunc_allowed(struct check *k, struct expr *e)
{
	answer(k, e, false);
}

/* The configuration as a record: a field for each variable. */
static void check_config(struct check *k, struct expr *e)
{
	struct span span = e->span;
	const struct config_info *info;
	const char **names;
	struct expr **elems;
	u32 cnt;

	info = config_table(&cnt);
	names = arena_alloc(check_arena(k), cnt * sizeof(*names));
	elems = arena_alloc(check_arena(k), cnt * sizeof(*elems));
	for (u32 i = 0; i < cnt; i++) {
		const struct config_value v = config_get(&k->c->config, i);

		names[i] = info[i].name;
		elems[i] = arena_new(check_arena(k), struct expr);
		elems[i]->span = span;
		if (v.text) {
			elems[i]->kind = E_STR;
			elems[i]->str.s = v.text;
			elems[i]->str.len = strlen(v.text);
		} else {
			elems[i]->kind = v.is_bool ? E_BOOL : E_INT;
			elems[i]->num.value = v.num;
		}
	}
	*e = (struct expr){ .kind = E_TUPLE, .span = span };
	e->tuple.elems = elems;
	e->tuple.names = names;
	e->tuple.cnt = cnt;
	check_expr(k, e);
}

static struct expr *expr_at(struct check *k, enum expr_kind kind, struct span at)
{
	struct expr *e = arena_new(check_arena(k), struct expr);

	e->kind = kind;
	e->span = at;
	return e;
}

static struct type_ref *pointer_ref(struct check *k, struct type_ref ref, struct span at)
{
	struct type_ref *p = arena_new(check_arena(k), struct type_ref);

	*p = ref;
	p->keyword = "";
	p->span = at;
	p->suffixes = arena_alloc(check_arena(k), sizeof(*p->suffixes));
	p->suffix_cnt = 1;
	return p;
}

/* container_of(p, typeof(T), a.b) is (T *)((uint8 *)p - offsetof(T, a.b)). */
static void check_container_of(struct check *k, struct expr *e)
{
	struct expr *p = e->call.args[0], *type = e->call.args[1], *member = e->call.args[2];
	struct expr *bytes = expr_at(k, E_CAST, p->span), *off = expr_at(k, E_OFFSETOF, e->span),
		    *moved = expr_at(k, E_BINARY, e->span);
	struct span at = e->span;

	for (const struct expr *m = member; m; m = m->kind == E_FIELD ? m->field.base : NULL)
		off->of.path_cnt++;
	off->of.path = arena_alloc(check_arena(k), off->of.path_cnt * sizeof(*off->of.path));
	for (u32 i = off->of.path_cnt; i-- > 0; member = i ? member->field.base : NULL)
		off->of.path[i] = member->kind == E_FIELD ? member->field.name : member->call.name;
	off->of.ref = type->of.ref;
	bytes->cast.to = pointer_ref(k, (struct type_ref){ .name = "uint8" }, p->span);
	bytes->cast.a = p;
	moved->binary.op = BIN_SUB;
	moved->binary.a = bytes;
	moved->binary.b = off;
	*e = (struct expr){ .kind = E_CAST, .span = at };
	e->cast.to = pointer_ref(k, (struct type_ref){ .of_type = type->of.ref }, type->span);
	e->cast.a = moved;
	check_expr(k, e);
}

static const struct fn rows[] = {
	{ "container_of", "(ptr|int member_pointer, type T, path member) pointer",
	  "the struct that contains a member, found from a pointer to that member",
	  "struct node { struct node *next; }; struct job { u64 id; struct node list; }; begin { $j = container_of((struct node *)0, typeof(struct job), list); print($j) }",
	  0, check_container_of, never_lowered },
	{ "is_array", "(any value) bool", "true if the value is an array", "begin { print(is_array(pton(\"::1\"))) }", 0,
	  check_is_array, never_lowered },
	{ "is_integer", "(any value) bool", "true if the value is an integer", "begin { print(is_integer(pid)) }", 0,
	  check_is_integer, never_lowered },
	{ "is_unsigned_integer", "(any value) bool", "true if the value is an unsigned integer",
	  "begin { print(is_unsigned_integer(pid)) }", 0, check_is_unsigned, never_lowered },
	{ "is_literal", "(any value) bool", "true if the value is a literal number or string of the script",
	  "begin { print(is_literal(5)) }", 0, check_is_literal, never_lowered },
	{ "is_ptr", "(any value) bool", "true if the value is a pointer", "begin { print(is_ptr(curtask)) }", 0, check_is_ptr,
	  never_lowered },
	{ "is_scalar", "(map m) bool", "true if the map has no keys", "begin { @a[1] = 2; print(is_scalar(@a)) }", 0,
	  check_is_scalar, never_lowered },
	{ "assert_str", "(any value) none",
	  "stops the compilation with an error unless the value is a string, or an array or pointer that can be read as one",
	  "begin { assert_str(comm) }", 0, check_assert_str, lower_to_nothing },
	{ "default_str_length", "() uint64", "the most bytes that str() reads: max_strlen",
	  "begin { print(default_str_length()) }", 0, check_default_str_length, never_lowered },
	{ "kfunc_exist", "(strlit name) bool", "true if the kernel's BTF has a function of this name",
	  "begin { print(kfunc_exist(\"bpf_task_from_pid\")) }", 0, check_kfunc_exist, never_lowered },
	{ "kfunc_allowed", "(strlit name) bool",
	  "true if the probe can call this kernel function; always false, because scripts cannot call kernel functions",
	  "begin { print(kfunc_allowed(\"bpf_task_from_pid\")) }", 0, check_kfunc_allowed, never_lowered },
	{ "config", "() record", "the configuration variables, by name", "begin { print(config.max_strlen) }", FN_WORD,
	  check_config, never_lowered },
	{ "is_str", "(any value) bool", "true if the value is a string", "begin { print(is_str(comm)) }", 0, check_is_str,
	  never_lowered },
};

FN_FAMILY(fn_meta, rows);
