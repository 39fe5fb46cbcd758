/* Types by name, types that hold several others, and what can be asked about a type (reference 2.4, 2.9). */
#include "lang/check.h"

#include "probe/provider.h"

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

	/* A literal is as wide as its value needs as a signed number; it takes the other's sign, and an unsigned type of the same size holds it. */
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
		return x->size >= y->size ? x : y;
	if (x->kind == T_BUFFER && y->kind == T_BUFFER)
		return x->size >= y->size ? x : y;
	if (type_is_stack(x) && x->kind == y->kind && x->stack_mode == y->stack_mode)
		return x->cnt >= y->cnt ? x : y;
	if (x->kind == T_TUPLE && y->kind == T_TUPLE)
		return join_tuples(a, x, y);
	return type_equal(x, y) ? x : NULL;
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

static const struct {
	const char *name;
	const struct type *type;
} type_words[] = {
	{ "bool", &type_bool }, { "int8", &type_s8 }, { "int16", &type_s16 }, { "int32", &type_s32 }, { "int64", &type_s64 },
	{ "uint8", &type_u8 }, { "uint16", &type_u16 }, { "uint32", &type_u32 }, { "uint64", &type_u64 }, { "void", &type_void },
	/* C's own words, which no BTF is needed for */
	{ "char", &type_s8 }, { "signed char", &type_s8 }, { "unsigned char", &type_u8 }, { "short", &type_s16 },
	{ "unsigned short", &type_u16 }, { "int", &type_s32 }, { "unsigned int", &type_u32 }, { "unsigned", &type_u32 },
	{ "long", &type_s64 }, { "unsigned long", &type_u64 }, { "long long", &type_s64 }, { "unsigned long long", &type_u64 },
	{ "int8_t", &type_s8 }, { "int16_t", &type_s16 }, { "int32_t", &type_s32 }, { "int64_t", &type_s64 },
	{ "uint8_t", &type_u8 }, { "uint16_t", &type_u16 }, { "uint32_t", &type_u32 }, { "uint64_t", &type_u64 },
	{ "u8", &type_u8 }, { "u16", &type_u16 }, { "u32", &type_u32 }, { "u64", &type_u64 }, { "s8", &type_s8 }, { "s16", &type_s16 },
	{ "s32", &type_s32 }, { "s64", &type_s64 }, { "size_t", &type_u64 }, { "uintptr_t", &type_u64 },
};

const struct type *type_of_word(const char *name)
{
	for (u32 w = 0; w < ARRAY_CNT(type_words); w++)
		if (str_eq(name, type_words[w].name))
			return type_words[w].type;
	return NULL;
}

static enum addr_space default_space(const struct check *k)
{
	return k->unit->provider->as;
}

/* typeof(expression), which is not executed. */
static const struct type *type_of_expr(struct check *k, struct expr *e)
{
	check_expr(k, e);
	if (e->type->kind == T_INT && e->type->is_flexible)
		return expr_is_int(e) ? type_int(e->type->size, true) : &type_s64;
	return type_settle_deep(check_arena(k), e->type);
}

const struct type *check_type_ref(struct check *k, const struct type_ref *ref)
{
	struct type_source *types = compile_types(k->c);
	const struct type *t = NULL;
	u32 i = 0;

	if (!ref->name) {
		t = ref->of_type ? check_type_ref(k, ref->of_type) : type_of_expr(k, ref->of_expr);
		if (t->kind == T_ERROR)
			return t;
	} else if (!*ref->keyword && (str_eq(ref->name, "string") || str_eq(ref->name, "buffer"))) {
		u32 len = k->max_strlen;

		if (ref->suffix_cnt && ref->suffixes[0].is_array) {
			if (ref->suffixes[0].has_len)
				len = ref->suffixes[0].len;
			i = 1;
		}
		t = str_eq(ref->name, "string") ? type_string(check_arena(k), len) : type_buffer(check_arena(k), len);
	}
	if (!t && !*ref->keyword)
		t = type_of_word(ref->name);
	if (!t && types)
		t = types->find(types, ref->keyword, ref->name);
	if (!t) {
		diag_error(k->c->diag, ref->span, E_UNKNOWN_TYPE, "Unknown type: '%s%s%s'", ref->keyword, *ref->keyword ? " " : "", ref->name);
		if (!k->c->target->types)
			diag_hint(k->c->diag, "this system has no kernel type information (/sys/kernel/btf/vmlinux)");
		else if (!*ref->keyword && types->find(types, "struct", ref->name))
			diag_hint(k->c->diag, "did you mean 'struct %s'?", ref->name);
		return &type_error;
	}
	for (; i < ref->suffix_cnt; i++) {
		if (!ref->suffixes[i].is_array)
			t = type_pointer(check_arena(k), t, default_space(k));
		else
			t = type_array(check_arena(k), t, ref->suffixes[i].len);
	}
	return t;
}

