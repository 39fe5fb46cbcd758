/* SPDX-License-Identifier: GPL-2.0-only */
/* Types by name, joins of types, and casts (reference 2.4, 2.9). */
#include "lang/check.h"

#include "lang/provider.h"
#include "types/agg.h"
#include "types/btf.h"

enum { SIZED_MAX = 1 << 20, ARRAY_MAX = 1 << 28 };

/* Joining types */

const struct type *type_settle(const struct type *t)
{
	if (t->kind == T_INT && t->is_flexible)
		return type_int(8, t->is_signed || t->size < 8 ? true : t->is_signed);
	return t;
}

static const struct type *join_ints(const struct type *x, const struct type *y)
{
	u32 size = MAX(x->size, y->size);

	/* A literal is as wide as its value needs as a signed number; it takes the other's sign, and an unsigned type of the same
	 * size holds it. */
	if (x->is_flexible && y->is_flexible)
		return x->size >= y->size ? x : y;
	if (x->is_flexible != y->is_flexible) {
		const struct type *lit = x->is_flexible ? x : y, *fixed = x->is_flexible ? y : x;

		return type_int(MAX(lit->size, fixed->size), lit->size == 8 && !lit->is_signed ? false : fixed->is_signed);
	}
	if (x->is_signed == y->is_signed)
		return type_int(size, x->is_signed);
	/* Mixed signs: the next larger signed type that holds both. */
	u32 unsigned_sz = x->is_signed ? y->size : x->size, signed_sz = x->is_signed ? x->size : y->size;

	return type_int(MIN(8, MAX(2 * unsigned_sz, signed_sz)), true);
}

static const struct type *as_int(const struct type *t)
{
	if (t->kind == T_BOOL)
		return &type_u8;
	if (t->kind == T_ENUM)
		return type_int(t->size, t->is_signed);
	return t;
}

/* A tuple of the given element types, with the names of t if that is a record. */
static const struct type *tuple_like(struct arena *a, const struct type *t, const struct type *const *elems)
{
	const char **names = NULL;

	if (type_is_record(t)) {
		names = arena_alloc(a, t->member_cnt * sizeof(*names));
		for (u32 i = 0; i < t->member_cnt; i++)
			names[i] = t->members[i].name;
	}
	return type_tuple(a, elems, names, t->member_cnt);
}

/* Element by element; fields of records by their names, in the order of the first. */
static const struct type *join_tuples(struct arena *a, const struct type *x, const struct type *y)
{
	const struct type **elems;

	if (x->member_cnt != y->member_cnt || type_is_record(x) != type_is_record(y))
		return NULL;
	elems = arena_alloc(a, x->member_cnt * sizeof(*elems));
	for (u32 i = 0; i < x->member_cnt; i++) {
		const struct member *other = type_tuple_member(y, x, i);

		elems[i] = other ? type_join(a, x->members[i].type, other->type) : NULL;
		if (!elems[i])
			return NULL;
	}
	return tuple_like(a, x, elems);
}

const struct type *type_join(struct arena *a, const struct type *x, const struct type *y)
{
	if (x->kind == T_ERROR || y->kind == T_ERROR)
		return &type_error;
	if (type_is_integral(x) && type_is_integral(y)) {
		if (x->kind == y->kind && x->kind != T_INT && type_equal(x, y))
			return x;
		return join_ints(as_int(x), as_int(y));
	}
	if (x->kind == T_POINTER && y->kind == T_POINTER)
		return type_equal(x, y) || y->elem->kind == T_VOID ? x : x->elem->kind == T_VOID ? y : x;
	if (x->kind == T_POINTER && type_is_integral(y))
		return x;
	if (y->kind == T_POINTER && type_is_integral(x))
		return y;
	if (x->kind == T_STRING && y->kind == T_STRING)
		return x->size > y->size || (x->size == y->size && x->is_fillable) ? x : y;
	/* Probe names stay numbers as long as they are joined only with each other. */
	if (x->kind == T_SITE && type_equal(x, y))
		return x->cnt >= y->cnt ? x : y;
	if (x->kind == T_SITE && y->kind == T_STRING)
		return type_string(a, MAX(x->cnt, y->size));
	if (x->kind == T_STRING && y->kind == T_SITE)
		return type_string(a, MAX(y->cnt, x->size));
	if (x->kind == T_BUFFER && y->kind == T_BUFFER)
		return x->size >= y->size ? x : y;
	if (type_is_stack(x) && x->kind == y->kind && x->stack_mode == y->stack_mode)
		return x->cnt >= y->cnt ? x : y;
	if (x->kind == T_TUPLE && y->kind == T_TUPLE)
		return join_tuples(a, x, y);
	return type_equal(x, y) ? x : NULL;
}

static bool is_small(const struct expr *e);

/* None of these operators makes an unsigned number larger. */
static bool result_is_small(const struct expr *e)
{
	const struct expr *a = e->binary.a, *b = e->binary.b;
	bool is_unsigned = !e->type->is_signed, has_number = expr_is_int(b) && !b->num.negative;

	switch (e->binary.op) {
	case BIN_AND:
		return is_small(a) || is_small(b);
	case BIN_MOD:
		return is_small(a) || (is_unsigned && is_small(b));
	case BIN_DIV:
		return is_unsigned && (is_small(a) || (has_number && b->num.value > 1));
	case BIN_SHR:
		return is_small(a) || (is_unsigned && has_number && b->num.value > 0);
	case BIN_ADD:
	case BIN_SUB:
	case BIN_MUL:
	case BIN_SHL:
	case BIN_OR:
	case BIN_XOR:
	case BIN_EQ:
	case BIN_NE:
	case BIN_LT:
	case BIN_LE:
	case BIN_GT:
	case BIN_GE:
	case BIN_LAND:
	case BIN_LOR:
	case BIN_CNT:
		break;
	}
	return false;
}

/* Whether e, an integer, is provably from 0 to 2^63 - 1. */
static bool is_small(const struct expr *e)
{
	if (e->type->kind != T_INT)
		return false;
	if (!e->type->is_signed && e->type->size < 8)
		return true;
	switch (e->kind) {
	case E_INT:
	case E_CONST:
		return !e->num.negative && e->num.value <= INT64_MAX;
	case E_CAST:
		return e->type->size == 8 && is_small(e->cast.a);
	case E_CALL:
		return e->call.fn->flags & FN_SMALL;
	case E_TERNARY:
		return is_small(e->ternary.yes ? e->ternary.yes : e->ternary.cond) && is_small(e->ternary.no);
	case E_BINARY:
		return result_is_small(e);
	case E_BOOL:
	case E_STR:
	case E_PARAM:
	case E_VAR:
	case E_MAP:
	case E_BLOCK:
	case E_FIELD:
	case E_INDEX:
	case E_UNARY:
	case E_TUPLE:
	case E_INCDEC:
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		break;
	}
	return false;
}

/* Whether a value of type t may change when it is converted to `whole`, its join with other types. e: its source, if known. */
static bool loses_sign(const struct type *whole, const struct type *t, const struct expr *e)
{
	if (whole->kind == T_TUPLE && t->kind == T_TUPLE) {
		for (u32 i = 0; i < whole->member_cnt; i++) {
			const struct member *m = type_tuple_member(t, whole, i);

			if (m &&
			    loses_sign(whole->members[i].type, m->type,
				       e && e->kind == E_TUPLE ? e->tuple.elems[m - t->members] : NULL))
				return true;
		}
		return false;
	}
	return whole->kind == T_INT && t->kind == T_INT && whole->is_signed && !whole->is_flexible && !t->is_signed &&
		t->size == 8 && !(e && is_small(e));
}

void check_sign(struct check *k, const struct type *whole, const struct expr *e, bool *is_told)
{
	const struct type *t = e->type;

	if (!k->is_last || (is_told && *is_told) || !loses_sign(whole, t, e))
		return;
	if (is_told)
		*is_told = true;
	diag_warn(k->c->diag, e->span, W_SIGN, "%s is converted to %s: values above 9223372036854775807 become negative",
		  type_str(check_arena(k), t), type_str(check_arena(k), whole));
	diag_hint(k->c->diag, "cast either side to make the conversion explicit");
}

/* A literal in a key settles to 64 bits, in every element of a tuple. */
const struct type *type_settle_deep(struct arena *a, const struct type *t)
{
	const struct type **elems;

	if (t->kind != T_TUPLE)
		return type_settle(t);
	elems = arena_alloc(a, t->member_cnt * sizeof(*elems));
	for (u32 i = 0; i < t->member_cnt; i++)
		elems[i] = type_settle_deep(a, t->members[i].type);
	return tuple_like(a, t, elems);
}

/* Types by name */

static enum addr_space default_space(const struct check *k)
{
	return k->unit->provider->as;
}

const struct type *type_in_question(struct check *k, const struct expr *e)
{
	const struct type **elems;

	if (e->kind == E_TUPLE) {
		elems = arena_alloc(check_arena(k), e->tuple.cnt * sizeof(*elems));
		for (u32 i = 0; i < e->tuple.cnt; i++)
			elems[i] = type_in_question(k, e->tuple.elems[i]);
		return type_tuple(check_arena(k), elems, e->tuple.names, e->tuple.cnt);
	}
	if (e->type->kind == T_INT && e->type->is_flexible && expr_is_int(e))
		return type_int(e->type->size, true);
	return type_settle_deep(check_arena(k), e->type);
}

/* The key of the map that e names without one, if it has keys; NULL if it has none, type_error if that is not known yet. */
static const struct type *key_in_question(struct check *k, struct expr *e)
{
	struct map *m = e->kind == E_MAP && !e->map.key ? compile_map(k->c, e->map.name) : NULL;

	if (e->kind != E_MAP || e->map.key || (m && m->key_known && !m->has_key))
		return NULL;
	if (m && m->key) {
		e->map.map = m;
		e->type = type_settle_deep(check_arena(k), m->key);
		return e->type;
	}
	if (k->is_last || k->guesses)
		return NULL;
	k->saw_unknown = true;
	return e->type = &type_error;
}

const struct type *check_type_of(struct check *k, struct expr *e)
{
	const struct type *key = key_in_question(k, e);

	if (key)
		return key;
	check_expr(k, e);
	return is_poisoned(e) ? &type_error : type_in_question(k, e);
}

/* Names of types whose size is written as that of an array. */
static const struct type *sized_type(struct check *k, const struct type_ref *ref, u32 *used)
{
	const struct type_suffix *first = ref->suffix_cnt && ref->suffixes[0].is_array ? &ref->suffixes[0] : NULL;
	bool is_string = str_eq(ref->name, "string"), is_buffer = str_eq(ref->name, "buffer");
	const struct opaque *o = *ref->keyword ? NULL : opaque_of_word(ref->name);
	u32 len = first && first->has_len ? first->len : k->max_strlen;

	if (o && !(o->flags & OPAQUE_SIZED))
		o = NULL;
	if (*ref->keyword || (!is_string && !is_buffer && !o))
		return NULL;
	*used = first != NULL;
	if (o)
		return o->type;
	if (len < 1 || len > SIZED_MAX) {
		diag_error(k->c->diag, ref->span, E_BAD_LITERAL, "%s[%u] is not possible: the size is from 1 to %u", ref->name,
			   len, SIZED_MAX);
		return &type_error;
	}
	return is_string ? type_string(check_arena(k), len) : type_buffer(check_arena(k), len);
}

/* "count_t", "usum_t": the type of an aggregation that has no parameters. */
static bool is_agg_word(struct arena *a, const char *name)
{
	const struct agg *agg;

	for (u32 i = 0; (agg = agg_at(i)); i++)
		for (u32 is_signed = 0; agg->types && is_signed < 2; is_signed++)
			if (str_eq(name, type_str(a, &agg->types[is_signed])))
				return true;
	return false;
}

static const struct type *unknown_type(struct check *k, const struct type_ref *ref)
{
	const struct provider *p = k->unit->provider;
	bool is_agg = !*ref->keyword && is_agg_word(check_arena(k), ref->name);

	/* Types that the language has, but of which no more is known than their name. */
	if (is_agg || (!*ref->keyword && opaque_of_word(ref->name))) {
		diag_error(k->c->diag, ref->span, E_NOT_ALLOWED_HERE, "%s cannot be written as a type here", ref->name);
		diag_hint(k->c->diag,
			  is_agg ? "only a map can hold this type: @ = …;" : "leave out the type: it follows from the value");
		return &type_error;
	}
	diag_error(k->c->diag, ref->span, E_UNKNOWN_TYPE, "Unknown type: '%s%s%s'", ref->keyword, *ref->keyword ? " " : "",
		   ref->name);
	if (p->types && !k->unit->is_assumed && !p->types(k->c, k->unit))
		diag_hint(k->c->diag, "%s has no debug information (DWARF); the script can define the type itself",
			  k->unit->site_cnt > 1 ? "the probed file" : k->c->sites.at[k->unit->site_first].target);
	else if (!target_types(k->c->target))
		diag_hint(k->c->diag, "this system has no kernel type information (/sys/kernel/btf/vmlinux)");
	return &type_error;
}

/* The script's types come first, then those of the probed program, then the kernel's. */
static const struct type *find_type(struct check *k, const char *keyword, const char *name)
{
	const struct provider *p = k->unit->provider;
	const struct type *t = k->c->script_types ? btf_find_own(k->c->script_types, keyword, name) : NULL;
	struct type_source *src = !t && p->types && !k->unit->is_assumed ? p->types(k->c, k->unit) : NULL;

	if (src)
		t = src->find(src, keyword, name);
	src = compile_types(k->c);
	return t || !src ? t : src->find(src, keyword, name);
}

static const char *const tag_words[] = { "struct", "union", "enum" };

/* from: what is cast to this type, or NULL. It gives `T[]` its length. */
static const struct type *resolve(struct check *k, const struct type_ref *ref, const struct type *from)
{
	struct type_source *types = compile_types(k->c);
	const struct type *t = NULL;
	u32 i = 0;
	s64 unused;

	if (!ref->name)
		t = ref->of_type ? resolve(k, ref->of_type, NULL) : check_type_of(k, ref->of_expr);
	if (!t)
		t = sized_type(k, ref, &i);
	if (!t && !*ref->keyword)
		t = type_of_word(ref->name);
	if (!t)
		t = find_type(k, ref->keyword, ref->name);
	/* sizeof(GREEN): an enumerator is the only value that looks like a type */
	if (!t && types && !*ref->keyword && !ref->suffix_cnt)
		types->constant(types, ref->name, &unused, &t);
	/* The word may be left out, as in C++. */
	for (u32 w = 0; w < ARRAY_CNT(tag_words) && !t && !*ref->keyword; w++)
		t = find_type(k, tag_words[w], ref->name);
	if (!t)
		return unknown_type(k, ref);
	for (; i < ref->suffix_cnt && t->kind != T_ERROR; i++) {
		const struct type_suffix *s = &ref->suffixes[i];
		u32 len = s->len;

		if (!s->is_array) {
			t = type_pointer(check_arena(k), t, default_space(k));
			continue;
		}
		type_complete(t);
		if (!s->has_len && from && i + 1 == ref->suffix_cnt && t->size && from->size % t->size == 0) {
			len = from->size / t->size;
		} else if (!s->has_len) {
			diag_error(k->c->diag, ref->span, E_BAD_LITERAL, "this array needs a length");
			if (from)
				diag_hint(k->c->diag, "the size of %s is not a multiple of %u bytes",
					  type_str(check_arena(k), from), t->size);
			else
				diag_hint(k->c->diag, "only a cast may leave it out: (uint8[])…");
			return &type_error;
		}
		if (t->kind == T_VOID || (u64)len * t->size > ARRAY_MAX) {
			diag_error(k->c->diag, ref->span, E_TOO_BIG,
				   t->kind == T_VOID ? "an array of void is not possible: void has no size" :
						       "this array is too big");
			return &type_error;
		}
		t = type_array(check_arena(k), t, len);
	}
	return t;
}

const struct type *check_type_ref(struct check *k, const struct type_ref *ref)
{
	return resolve(k, ref, NULL);
}

/* Casts */

static bool is_number(const struct type *t)
{
	return type_is_integral(t) || t->kind == T_POINTER;
}

static bool is_number_array(const struct type *t)
{
	return t->kind == T_ARRAY && type_is_integral(t->elem);
}

/* Bytes of a number and of an array, in the order that they have in memory. */
static bool array_fits(const struct type *num, const struct type *array)
{
	return array->size == num->size || (array->size > num->size && array->size <= 8);
}

static bool is_enumerator(const struct type *t, s64 v)
{
	type_complete(t);
	for (u32 i = 0; i < t->const_cnt; i++)
		if (t->consts[i].value == v)
			return true;
	return false;
}

static bool has_bytes(const struct type *t)
{
	return t->kind == T_STRING || t->kind == T_ARRAY;
}

/* Whether e is read through a pointer, and so has an address in the kernel or in a program. A probe's arguments are copies, or in
 * its context. */
static bool lies_elsewhere(const struct expr *e)
{
	for (;;) {
		if (e->kind == E_UNARY)
			return e->unary.op == UN_DEREF;
		if (e->kind == E_FIELD && e->field.base->kind == E_CALL && e->field.base->call.fn->flags & (FN_ARGS | FN_CTX))
			return false;
		if (e->kind == E_FIELD && !e->field.derefs)
			e = e->field.base;
		else if (e->kind == E_INDEX && e->index.base->type->kind != T_POINTER)
			e = e->index.base;
		else
			return e->kind == E_FIELD || e->kind == E_INDEX;
	}
}

static bool can_cast(const struct type *from, const struct type *to)
{
	bool from_num = is_number(from) || from->kind == T_SITE || type_has(from, OPAQUE_TO_INT);

	if (from_num && is_number(to))
		return true;
	if (is_number(from) && is_number_array(to))
		return array_fits(from, to);
	if (is_number_array(from) && is_number(to))
		return from->size == to->size && to->kind != T_BOOL;
	if (from->kind == T_STRING && to->kind == T_BOOL) /* is there any text? */
		return true;
	if (from->kind == T_STRING && to->kind == T_ARRAY)
		return to->elem->kind == T_INT && to->elem->size == 1 && to->cnt == from->size;
	if (from->kind == T_STRING && to->kind == T_STRING)
		return to->size >= from->size;
	if (type_is_integral(from) && type_has(to, OPAQUE_FROM_INT))
		return true;
	return to->kind != T_STRUCT && type_equal(from, to);
}

static void bad_cast(struct check *k, struct expr *e, const struct type *from, const struct type *to)
{
	check_fail(k, e, E_BAD_CAST, "Cannot cast from \"%s\" to \"%s\"", type_str(check_arena(k), from),
		   type_str(check_arena(k), to));
	if (to->kind == T_STRUCT)
		diag_hint(k->c->diag, "cast to a pointer: (%s *)", type_str(check_arena(k), to));
	else if (to->kind == T_POINTER && from->kind == T_STRING)
		diag_hint(k->c->diag, "only a field that is read through a pointer has an address: ((struct name *)…)->field");
	else if ((is_number(from) && is_number_array(to)) || (is_number_array(from) && is_number(to)))
		diag_hint(k->c->diag, "they must have the same size, but have %u and %u bytes", from->size, to->size);
	else if (from->kind == T_STRING && to->kind == T_STRING)
		diag_hint(k->c->diag, "a cast cannot make a string shorter: str(…, %u) reads less", to->size - 1);
	else if (from->kind == T_STRING && is_number(to))
		diag_hint(k->c->diag, "the bytes of a string are an array: (int8[])…");
}

void check_cast(struct check *k, struct expr *e)
{
	struct expr *a = e->cast.a;
	const struct type *to, *from;

	check_value(k, a);
	if (is_poisoned(a)) {
		e->type = &type_error;
		return;
	}
	from = a->type;
	to = resolve(k, e->cast.to, type_in_question(k, a));
	if (to->kind == T_ERROR) {
		e->type = &type_error;
		return;
	}
	/* A pointer keeps its address space; an integer gets the probe's. */
	if (to->kind == T_POINTER && from->kind == T_POINTER)
		to = type_pointer(check_arena(k), to->elem, from->as);
	/* As in C, an array decays to its address where a pointer is needed. */
	e->cast.is_address = to->kind == T_POINTER && has_bytes(from) && lies_elsewhere(a);
	if (e->cast.is_address) {
		e->type = type_pointer(check_arena(k), to->elem, check_space_of(a));
		return;
	}
	if (!can_cast(from, to)) {
		bad_cast(k, e, from, to);
		return;
	}
	if (to->kind == T_ENUM && a->kind == E_INT && !is_enumerator(to, a->num.value)) {
		check_fail(k, e, E_BAD_CAST, "%s has no enumerator with the value %s%llu", type_str(check_arena(k), to),
			   a->num.negative ? "-" : "", (unsigned long long)(a->num.negative ? -a->num.value : a->num.value));
		return;
	}
	/* The cast of a literal stays one: as a literal it would lose its type. */
	e->type = to;
}
