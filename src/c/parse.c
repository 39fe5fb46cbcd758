#include "c/parse.h"

#define MAX_NEST 100
#define MAX_SIZE (1ull << 40)

static const struct {
	const char *name;
	enum ckeyword keyword;
} keywords[] = {
	{ "struct", CKW_STRUCT }, { "union", CKW_UNION }, { "enum", CKW_ENUM }, { "typedef", CKW_TYPEDEF }, { "const", CKW_CONST },
	{ "__const", CKW_CONST }, { "__const__", CKW_CONST }, { "volatile", CKW_VOLATILE }, { "__volatile", CKW_VOLATILE },
	{ "__volatile__", CKW_VOLATILE }, { "restrict", CKW_RESTRICT }, { "__restrict", CKW_RESTRICT }, { "__restrict__", CKW_RESTRICT },
	{ "_Atomic", CKW_RESTRICT }, { "extern", CKW_STORAGE }, { "static", CKW_STORAGE }, { "register", CKW_STORAGE }, { "auto", CKW_STORAGE },
	{ "_Thread_local", CKW_STORAGE }, { "__thread", CKW_STORAGE }, { "_Noreturn", CKW_STORAGE }, { "inline", CKW_INLINE },
	{ "__inline", CKW_INLINE }, { "__inline__", CKW_INLINE }, { "__extension__", CKW_EXTENSION }, { "__attribute__", CKW_ATTRIBUTE },
	{ "__attribute", CKW_ATTRIBUTE }, { "asm", CKW_ASM }, { "__asm__", CKW_ASM }, { "__asm", CKW_ASM }, { "typeof", CKW_TYPEOF },
	{ "__typeof__", CKW_TYPEOF }, { "__typeof", CKW_TYPEOF }, { "typeof_unqual", CKW_TYPEOF }, { "__typeof_unqual__", CKW_TYPEOF },
	{ "_Alignas", CKW_ALIGNAS }, { "_Static_assert", CKW_STATIC_ASSERT }, { "static_assert", CKW_STATIC_ASSERT }, { "void", CKW_VOID },
	{ "char", CKW_CHAR }, { "short", CKW_SHORT }, { "int", CKW_INT }, { "long", CKW_LONG }, { "float", CKW_FLOAT }, { "double", CKW_DOUBLE },
	{ "_Float32", CKW_FLOAT }, { "_Float64", CKW_DOUBLE }, { "_Float32x", CKW_DOUBLE }, { "_Float64x", CKW_FLOAT128 },
	{ "_Float128", CKW_FLOAT128 }, { "__float128", CKW_FLOAT128 }, { "signed", CKW_SIGNED }, { "__signed", CKW_SIGNED }, { "__signed__", CKW_SIGNED },
	{ "unsigned", CKW_UNSIGNED }, { "_Bool", CKW_BOOL }, { "__int128", CKW_INT128 }, { "sizeof", CKW_SIZEOF }, { "_Alignof", CKW_ALIGNOF },
	{ "__alignof__", CKW_ALIGNOF }, { "__alignof", CKW_ALIGNOF }, { "_Complex", CKW_COMPLEX }, { "__complex__", CKW_COMPLEX },
	{ "__auto_type", CKW_AUTO_TYPE }, { "_Generic", CKW_GENERIC },
};

static struct cty *typedef_new(struct cparse *p, const char *name, struct cty *of, u32 align)
{
	struct cty *t = arena_new(p->arena, struct cty);

	*t = (struct cty){ .kind = CTY_TYPEDEF, .name = name, .of = of, .align = align };
	return t;
}

void cparse_init(struct cparse *p, struct pp *pp, struct arena *arena)
{
	struct csym *va;

	*p = (struct cparse){ .pp = pp, .arena = arena };
	for (u32 i = 0; i < ARRAY_CNT(keywords); i++)
		csym_get(pp_syms(pp), keywords[i].name, strlen(keywords[i].name))->keyword = keywords[i].keyword;
	/* 24 bytes: two numbers and two pointers. */
	va = csym_get(pp_syms(pp), "__builtin_va_list", 17);
	va->type = typedef_new(p, va->name, cty_array(arena, cty_array(arena, &cty_ulong, 3), 1), 0);
	cexpr_init(pp_syms(pp));
}

/* ---- tokens ---- */

void cparse_fill(struct cparse *p, u32 cnt)
{
	while (p->buf_cnt < cnt)
		p->buf[p->buf_cnt++] = pp_next(p->pp);
}

void cparse_advance(struct cparse *p)
{
	if (!p->buf_cnt)
		cparse_fill(p, 1);
	memmove(p->buf, p->buf + 1, --p->buf_cnt * sizeof(*p->buf));
}

bool cparse_accept(struct cparse *p, u32 op)
{
	if (!cparse_at(p, op))
		return false;
	cparse_advance(p);
	return true;
}

enum ckeyword cparse_keyword(struct cparse *p)
{
	struct ctok *t = cparse_tok(p);

	return t->kind == CTOK_IDENT ? t->sym->keyword : CKW_NONE;
}

static bool fail(struct cparse *p, const char *what)
{
	struct ctok *t = cparse_tok(p);

	if (t->kind == CTOK_END)
		pp_error(p->pp, "expected %s, found the end", what);
	else
		pp_error(p->pp, "expected %s, found '%.*s'", what, (int)MIN(t->len, 40u), t->s);
	return false;
}

static bool expect(struct cparse *p, u32 op, const char *what)
{
	return cparse_accept(p, op) || fail(p, what);
}

static bool is_open_bracket(const struct ctok *t)
{
	return ctok_is(t, '(') || ctok_is(t, '[') || ctok_is(t, '{');
}

static bool is_close_bracket(const struct ctok *t)
{
	return ctok_is(t, ')') || ctok_is(t, ']') || ctok_is(t, '}');
}

void cparse_skip_balanced(struct cparse *p)
{
	u32 depth = 0;

	do {
		struct ctok *t = cparse_tok(p);

		if (t->kind == CTOK_END)
			return;
		depth += is_open_bracket(t);
		depth -= is_close_bracket(t);
		cparse_advance(p);
	} while (depth);
}

/* ---- attributes ---- */

static bool attr_is(const struct csym *s, const char *name)
{
	size_t n = strlen(name);

	return str_eq(s->name, name) || (s->len == n + 4 && str_starts(s->name, "__") && !strncmp(s->name + 2, name, n));
}

static bool align_argument(struct cparse *p, struct cattrs *a)
{
	s64 n = 16;

	if (cparse_accept(p, '(')) {
		if (cparse_at_type(p)) { /* _Alignas(type) */
			struct cty *t = cparse_type_name(p);

			if (!t)
				return false;
			n = cty_align(t);
		} else if (!cexpr_const(p, &n)) {
			return false;
		}
		if (!expect(p, ')', "')'"))
			return false;
	}
	if (n > 0 && n <= 1 << 28 && is_pow2(n))
		a->align = MAX(a->align, n);
	return true;
}

static u32 mode_size(const struct csym *s)
{
	static const struct {
		const char *name;
		u32 size;
	} modes[] = { { "QI", 1 }, { "HI", 2 }, { "SI", 4 }, { "DI", 8 }, { "TI", 16 }, { "word", 8 }, { "byte", 1 }, { "pointer", 8 } };

	for (u32 i = 0; i < ARRAY_CNT(modes); i++)
		if (attr_is(s, modes[i].name))
			return modes[i].size;
	return 0;
}

/* Any number of __attribute__((…)), asm("name"), _Alignas(…). */
static bool attributes(struct cparse *p, struct cattrs *a)
{
	for (;;) {
		enum ckeyword kw = cparse_keyword(p);

		if (kw != CKW_ALIGNAS && kw != CKW_ASM && kw != CKW_EXTENSION && kw != CKW_ATTRIBUTE)
			return true;
		cparse_advance(p);
		if (kw == CKW_ALIGNAS && !align_argument(p, a))
			return false;
		if (kw == CKW_ASM) {
			while (cparse_keyword(p) == CKW_VOLATILE || cparse_keyword(p) == CKW_INLINE)
				cparse_advance(p);
			if (cparse_at(p, '('))
				cparse_skip_balanced(p);
		}
		if (kw != CKW_ATTRIBUTE)
			continue;
		if (!expect(p, '(', "'(('") || !expect(p, '(', "'(('"))
			return false;
		while (!cparse_at(p, ')')) {
			struct ctok t = *cparse_tok(p);

			if (t.kind == CTOK_END)
				return fail(p, "'))'");
			cparse_advance(p);
			if (t.kind != CTOK_IDENT)
				continue;
			if (attr_is(t.sym, "packed"))
				a->is_packed = true;
			if (attr_is(t.sym, "aligned")) {
				if (!align_argument(p, a))
					return false;
			} else if (attr_is(t.sym, "mode") && cparse_accept(p, '(')) {
				if (cparse_tok(p)->kind == CTOK_IDENT)
					a->mode_size = mode_size(cparse_tok(p)->sym);
				while (cparse_tok(p)->kind != CTOK_END && !cparse_accept(p, ')'))
					cparse_advance(p);
			} else if (cparse_at(p, '(')) {
				cparse_skip_balanced(p);
			}
		}
		if (!expect(p, ')', "'))'") || !expect(p, ')', "'))'"))
			return false;
	}
}

/* ---- specifiers ---- */

static struct cty *tagged(struct cparse *p);

struct specs {
	struct cty *type;
	struct cattrs attrs;
	bool is_typedef, is_const, is_volatile;
};

static struct cty *typeof_type(struct cparse *p)
{
	struct cvalue v;
	struct cty *t = NULL;

	cparse_advance(p);
	if (!expect(p, '(', "'(' after typeof"))
		return NULL;
	if (cparse_at_type(p))
		t = cparse_type_name(p);
	else if (cexpr(p, &v))
		t = v.type;
	return t && expect(p, ')', "')' after typeof(…") ? t : NULL;
}

static struct cty *of_words(u32 longs, u32 shorts, u32 chars, u32 ints, u32 doubles, u32 floats, u32 bigs, int sign)
{
	if (floats)
		return &cty_float;
	if (doubles)
		return longs ? &cty_ldouble : &cty_double;
	if (bigs)
		return sign == 0 ? &cty_uint128 : &cty_int128;
	if (chars)
		return sign < 0 ? &cty_char : sign ? &cty_schar : &cty_uchar;
	if (shorts)
		return sign == 0 ? &cty_ushort : &cty_short;
	if (longs > 1)
		return sign == 0 ? &cty_ullong : &cty_llong;
	if (longs)
		return sign == 0 ? &cty_ulong : &cty_long;
	return sign == 0 ? &cty_uint : &cty_int;
}

static struct cty *of_size(u32 size, bool is_signed)
{
	switch (size) {
	case 1: return is_signed ? &cty_schar : &cty_uchar;
	case 2: return is_signed ? &cty_short : &cty_ushort;
	case 4: return is_signed ? &cty_int : &cty_uint;
	case 16: return is_signed ? &cty_int128 : &cty_uint128;
	}
	return is_signed ? &cty_long : &cty_ulong;
}

static struct cty *qualified(struct cparse *p, struct cty *of, enum cty_kind kind)
{
	struct cty *t = arena_new(p->arena, struct cty);

	*t = (struct cty){ .kind = kind, .of = of };
	return t;
}

/* Names that headers of scripts use without saying where they are from: the kernel's, and the language's. */
static struct cty *common_word(const char *name)
{
	static const struct {
		const char *name;
		struct cty *type;
	} words[] = {
		{ "u8", &cty_uchar }, { "u16", &cty_ushort }, { "u32", &cty_uint }, { "u64", &cty_ullong }, { "s8", &cty_schar },
		{ "s16", &cty_short }, { "s32", &cty_int }, { "s64", &cty_llong }, { "uint8", &cty_uchar }, { "uint16", &cty_ushort },
		{ "uint32", &cty_uint }, { "uint64", &cty_ulong }, { "int8", &cty_schar }, { "int16", &cty_short }, { "int32", &cty_int },
		{ "int64", &cty_long }, { "bool", &cty_bool }, { "uint8_t", &cty_uchar }, { "uint16_t", &cty_ushort }, { "uint32_t", &cty_uint },
		{ "uint64_t", &cty_ulong }, { "int8_t", &cty_schar }, { "int16_t", &cty_short }, { "int32_t", &cty_int }, { "int64_t", &cty_long },
		{ "__u8", &cty_uchar }, { "__u16", &cty_ushort }, { "__u32", &cty_uint }, { "__u64", &cty_ullong }, { "__s8", &cty_schar },
		{ "__s16", &cty_short }, { "__s32", &cty_int }, { "__s64", &cty_llong }, { "size_t", &cty_ulong }, { "ssize_t", &cty_long },
		{ "pid_t", &cty_int }, { "uid_t", &cty_uint }, { "gid_t", &cty_uint }, { "loff_t", &cty_llong }, { "off_t", &cty_long },
		{ "uintptr_t", &cty_ulong }, { "intptr_t", &cty_long },
	};

	for (u32 i = 0; i < ARRAY_CNT(words); i++)
		if (str_eq(words[i].name, name))
			return words[i].type;
	return NULL;
}

/* Is the word at tok, which nobody declared, a type? It is if something that is declared follows. */
static bool is_undeclared_type(struct cparse *p)
{
	cparse_fill(p, 2);
	return (p->buf[1].kind == CTOK_IDENT || ctok_is(&p->buf[1], '*')) && common_word(p->buf[0].sym->name);
}

/* { storage | qualifier | attribute | type } ; false: reported. */
static bool specifiers(struct cparse *p, struct specs *s)
{
	u32 longs = 0, shorts = 0, chars = 0, ints = 0, doubles = 0, floats = 0, bigs = 0;
	int sign = -1;
	bool any_word = false;

	*s = (struct specs){};
	for (;;) {
		struct ctok *t;
		enum ckeyword kw;

		if (!attributes(p, &s->attrs))
			return false;
		t = cparse_tok(p);
		if (t->kind != CTOK_IDENT)
			break;
		kw = t->sym->keyword;
		if (kw == CKW_NONE) {
			if (s->type || any_word || (!t->sym->type && !is_undeclared_type(p)))
				break;
			t = cparse_tok(p);
			s->type = t->sym->type ? t->sym->type : common_word(t->sym->name);
			cparse_advance(p);
			continue;
		}
		if (kw == CKW_STRUCT || kw == CKW_UNION || kw == CKW_ENUM) {
			if (s->type)
				break;
			s->type = tagged(p);
			if (!s->type)
				return false;
			continue;
		}
		if (kw == CKW_TYPEOF) {
			if (s->type)
				break;
			s->type = typeof_type(p);
			if (!s->type)
				return false;
			continue;
		}
		if (kw == CKW_SIZEOF || kw == CKW_ALIGNOF || kw == CKW_STATIC_ASSERT || kw == CKW_BUILTIN || kw == CKW_GENERIC)
			break;
		cparse_advance(p);
		s->is_typedef |= kw == CKW_TYPEDEF;
		s->is_const |= kw == CKW_CONST;
		s->is_volatile |= kw == CKW_VOLATILE;
		longs += kw == CKW_LONG;
		shorts += kw == CKW_SHORT;
		chars += kw == CKW_CHAR;
		ints += kw == CKW_INT;
		doubles += kw == CKW_DOUBLE;
		floats += kw == CKW_FLOAT;
		bigs += kw == CKW_INT128;
		if (kw == CKW_SIGNED || kw == CKW_UNSIGNED)
			sign = kw == CKW_SIGNED;
		if (kw == CKW_VOID)
			s->type = &cty_void;
		if (kw == CKW_BOOL)
			s->type = &cty_bool;
		if (kw == CKW_FLOAT128)
			s->type = &cty_ldouble;
		if (kw == CKW_AUTO_TYPE)
			s->type = &cty_int;
		any_word = longs || shorts || chars || ints || doubles || floats || bigs || sign >= 0;
	}
	if (!s->type && !any_word)
		return fail(p, "a type");
	if (!s->type)
		s->type = of_words(longs, shorts, chars, ints, doubles, floats, bigs, sign);
	if (s->attrs.mode_size && cty_is_int(s->type))
		s->type = of_size(s->attrs.mode_size, cty_strip(s->type)->is_signed);
	if (s->is_volatile)
		s->type = qualified(p, s->type, CTY_VOLATILE);
	if (s->is_const)
		s->type = qualified(p, s->type, CTY_CONST);
	return true;
}

bool cparse_at_type(struct cparse *p)
{
	struct ctok *t = cparse_tok(p);

	if (t->kind != CTOK_IDENT)
		return false;
	switch (t->sym->keyword) {
	case CKW_STRUCT: case CKW_UNION: case CKW_ENUM: case CKW_CONST: case CKW_VOLATILE: case CKW_RESTRICT: case CKW_TYPEOF: case CKW_VOID:
	case CKW_CHAR: case CKW_SHORT: case CKW_INT: case CKW_LONG: case CKW_FLOAT: case CKW_DOUBLE: case CKW_SIGNED: case CKW_UNSIGNED:
	case CKW_BOOL: case CKW_INT128: case CKW_FLOAT128: case CKW_COMPLEX: case CKW_ATTRIBUTE: case CKW_EXTENSION:
		return true;
	case CKW_NONE:
		return t->sym->type != NULL;
	case CKW_TYPEDEF: case CKW_STORAGE: case CKW_INLINE: case CKW_ASM: case CKW_ALIGNAS: case CKW_STATIC_ASSERT: case CKW_SIZEOF:
	case CKW_ALIGNOF: case CKW_AUTO_TYPE: case CKW_BUILTIN: case CKW_GENERIC:
		return false;
	}
	return false;
}

/* ---- declarators ---- */

static struct cty *declared(struct cparse *p, struct cty *type, struct cattrs *a, const char **name);

static struct cty *parameters(struct cparse *p, struct cty *result)
{
	struct cty *t = arena_new(p->arena, struct cty);
	vec(struct cmember) params = {};

	*t = (struct cty){ .kind = CTY_FUNC, .of = result, .align = 1, .size = 1 };
	while (!cparse_at(p, ')')) {
		struct specs s;
		struct cmember m = { .name = "" };

		if (cparse_accept(p, COP_ELLIPSIS)) {
			t->is_variadic = true;
		} else if (cparse_at_type(p) || cparse_keyword(p) == CKW_STORAGE) {
			if (!specifiers(p, &s))
				return NULL;
			m.type = declared(p, s.type, &s.attrs, &m.name);
			if (!m.type)
				return NULL;
			if (cty_strip(m.type)->kind == CTY_ARRAY)
				m.type = cty_pointer(p->arena, cty_strip(m.type)->of);
			else if (cty_strip(m.type)->kind == CTY_FUNC)
				m.type = cty_pointer(p->arena, m.type);
			if (m.type->kind != CTY_VOID)
				avec_push(p->arena, &params, m);
		} else if (cparse_tok(p)->kind == CTOK_IDENT) {
			cparse_advance(p); /* f(a, b) of old; or a type that nobody declared */
			while (cparse_accept(p, '*') || cparse_tok(p)->kind == CTOK_IDENT)
				if (cparse_tok(p)->kind == CTOK_IDENT)
					cparse_advance(p);
			m.type = &cty_int;
			avec_push(p->arena, &params, m);
		} else {
			fail(p, "a parameter");
			return NULL;
		}
		if (!cparse_accept(p, ','))
			break;
	}
	t->members = params.at;
	t->member_cnt = params.cnt;
	return expect(p, ')', "')' after the parameters") ? t : NULL;
}

/* [n] and (parameters) behind a name. */
static struct cty *suffixes(struct cparse *p, struct cty *type)
{
	if (cparse_accept(p, '(')) {
		struct cty *fn = parameters(p, type);

		return fn;
	}
	if (cparse_accept(p, '[')) {
		s64 cnt = -1;

		while (cparse_keyword(p) == CKW_STORAGE || cparse_keyword(p) == CKW_CONST || cparse_keyword(p) == CKW_RESTRICT)
			cparse_advance(p);
		if (!cparse_at(p, ']')) {
			if (!cexpr_const(p, &cnt))
				return NULL;
			if (cnt < 0 || (cty_size(type) && (u64)cnt > MAX_SIZE / cty_size(type))) {
				pp_error(p->pp, "an array of %lld elements", (long long)cnt);
				return NULL;
			}
		}
		if (!expect(p, ']', "']'"))
			return NULL;
		/* int x[2][3] is an array of 2 arrays of 3. */
		type = suffixes(p, type);
		return type ? cty_array(p->arena, type, cnt) : NULL;
	}
	return type;
}

/* { "*" } ( name | "(" declarator ")" | nothing ) suffixes. *name stays as it is without one. NULL: reported. */
static struct cty *declared(struct cparse *p, struct cty *type, struct cattrs *a, const char **name)
{
	struct cty *result;

	if (++p->nest > MAX_NEST) {
		pp_error(p->pp, "nested too deeply");
		p->nest--;
		return NULL;
	}
	if (!attributes(p, a))
		goto failed;
	while (cparse_accept(p, '*')) {
		type = cty_pointer(p->arena, type);
		for (;;) {
			enum ckeyword kw = cparse_keyword(p);
			struct cattrs of_pointer = {};

			if (kw == CKW_CONST || kw == CKW_VOLATILE || kw == CKW_RESTRICT) {
				cparse_advance(p);
				if (kw != CKW_RESTRICT)
					type = qualified(p, type, kw == CKW_CONST ? CTY_CONST : CTY_VOLATILE);
				continue;
			}
			if (kw != CKW_ATTRIBUTE)
				break;
			if (!attributes(p, &of_pointer))
				goto failed;
			a->align = MAX(a->align, of_pointer.align);
		}
	}
	if (!attributes(p, a))
		goto failed;
	if (cparse_at(p, '(')) {
		cparse_fill(p, 2);
		/* A parenthesis around a declarator, not the parameters of a function without a name. */
		if (ctok_is(&p->buf[1], '*') || ctok_is(&p->buf[1], '(') || ctok_is(&p->buf[1], '^') ||
		    (p->buf[1].kind == CTOK_IDENT && (p->buf[1].sym->keyword == CKW_ATTRIBUTE || (p->buf[1].sym->keyword == CKW_NONE && !p->buf[1].sym->type)))) {
			struct cty hole = { .kind = CTY_VOID, .align = 1 }, *inner, *outer;

			cparse_advance(p);
			/* The inner declarator is of a type that is known only after the parenthesis. */
			inner = declared(p, &hole, a, name);
			if (!inner || !expect(p, ')', "')'"))
				goto failed;
			outer = suffixes(p, type);
			if (!outer)
				goto failed;
			p->nest--;
			if (inner == &hole)
				return attributes(p, a) ? outer : NULL;
			for (struct cty *t = inner;; t = t->of)
				if (t->of == &hole) {
					t->of = outer;
					break;
				}
			return attributes(p, a) ? inner : NULL;
		}
	}
	if (cparse_tok(p)->kind == CTOK_IDENT && cparse_keyword(p) == CKW_NONE) {
		*name = cparse_tok(p)->sym->name;
		cparse_advance(p);
	}
	result = suffixes(p, type);
	p->nest--;
	return result && attributes(p, a) ? result : NULL;
failed:
	p->nest--;
	return NULL;
}

struct cty *cparse_type_name(struct cparse *p)
{
	struct specs s;
	const char *name = "";

	return specifiers(p, &s) ? declared(p, s.type, &s.attrs, &name) : NULL;
}

/* ---- struct, union, enum ---- */

static bool static_assert_(struct cparse *p)
{
	cparse_advance(p);
	if (cparse_at(p, '('))
		cparse_skip_balanced(p);
	return true;
}

/* Whether a struct is packed may stand behind its "}", and its layout depends on it: members are collected first. */
struct raws {
	vec(struct {
		const char *name;
		struct cty *type;
		s64 bits; /* -1: not a bit-field */
		struct cattrs attrs;
	}) at;
};

static bool member(struct cparse *p, struct raws *to)
{
	struct specs s;

	if (cparse_accept(p, ';'))
		return true;
	if (cparse_keyword(p) == CKW_STATIC_ASSERT)
		return static_assert_(p);
	if (!specifiers(p, &s))
		return false;
	if (cparse_at(p, ';')) {
		struct cty *t = s.type;

		while (t->kind == CTY_CONST || t->kind == CTY_VOLATILE)
			t = t->of;
		/* A struct or union without a name of its own here: its members are this one's. */
		if ((t->kind == CTY_STRUCT || t->kind == CTY_UNION) && (!*t->name || (p->has_tagged_members && t->is_defined)))
			vec_push(&to->at, (typeof(*to->at.at)){ "", s.type, -1, s.attrs });
		cparse_advance(p);
		return true;
	}
	do {
		struct cattrs a = s.attrs;
		const char *name = "";
		struct cty *t = s.type, *content;
		s64 bits = -1;

		if (!cparse_at(p, ':'))
			t = declared(p, t, &a, &name);
		if (!t)
			return false;
		if (cparse_accept(p, ':')) {
			if (!cexpr_const(p, &bits) || !attributes(p, &a))
				return false;
			if (bits < 0 || (u64)bits > 8 * cty_size(t)) {
				pp_error(p->pp, "a bit-field of %lld bits", (long long)bits);
				return false;
			}
		}
		for (content = cty_strip(t); content->kind == CTY_ARRAY;)
			content = cty_strip(content->of);
		if ((content->kind == CTY_STRUCT || content->kind == CTY_UNION) && !content->is_defined) {
			pp_error(p->pp, "'%s' is of a struct that is not defined here: %s", name, content->name);
			return false;
		}
		vec_push(&to->at, (typeof(*to->at.at)){ name, t, bits, a });
	} while (cparse_accept(p, ','));
	/* C compilers accept it, with a warning, that the last one has none. */
	return cparse_at(p, '}') || expect(p, ';', "';' after the member");
}

/* To the end of a member that is not understood. */
static void skip_member(struct cparse *p)
{
	for (;;) {
		struct ctok *t = cparse_tok(p);

		if (t->kind == CTOK_END || ctok_is(t, '}'))
			return;
		if (is_open_bracket(t)) {
			cparse_skip_balanced(p);
			continue;
		}
		cparse_advance(p);
		if (t->kind == CTOK_PUNCT && t->op == ';')
			return;
	}
}

static bool struct_body(struct cparse *p, struct cty *t, struct cattrs *a)
{
	struct clayout l = { .arena = p->arena, .type = t, .pack = pp_pack(p->pp), .align = 1 };
	struct raws raws = {};
	bool ok = true;

	cparse_advance(p);
	while (!cparse_at(p, '}') && cparse_tok(p)->kind != CTOK_END) {
		if (!member(p, &raws)) {
			/* Where the rest lies is not known: the struct stays without a body. */
			ok = false;
			skip_member(p);
		}
	}
	ok = expect(p, '}', "'}'") && attributes(p, a) && ok;
	if (ok) {
		l.is_packed = a->is_packed;
		vec_for(m, &raws.at) {
			clayout_add(&l, m->name, m->type, m->bits, &m->attrs);
			if (l.bytes > MAX_SIZE) {
				pp_error(p->pp, "a struct that is too big");
				ok = false;
				break;
			}
		}
		if (ok)
			clayout_end(&l, a);
	}
	vec_free(&raws.at);
	return true;
}

static bool enum_body(struct cparse *p, struct cty *t, struct cattrs *a)
{
	vec(struct cenumerator) consts = {};
	s64 next = 0, min = 0, max = 0;
	bool is_big = false, is_this_huge = false, is_huge = false; /* huge: above what a signed number holds */

	cparse_advance(p);
	while (!cparse_at(p, '}')) {
		struct csym *sym = cparse_tok(p)->sym;
		struct cattrs ignored = {};

		if (cparse_tok(p)->kind != CTOK_IDENT)
			return fail(p, "the name of a constant");
		cparse_advance(p);
		if (!attributes(p, &ignored))
			return false;
		if (cparse_accept(p, '=')) {
			struct cvalue v;

			if (!cexpr_constant(p, &v))
				return false;
			next = v.v;
			is_this_huge = next < 0 && !cty_strip(v.type)->is_signed;
		} else if (is_this_huge && !next) {
			is_this_huge = false;
		}
		is_huge |= is_this_huge;
		sym->is_const = true;
		sym->is_huge = is_this_huge;
		sym->value = next;
		avec_push(p->arena, &consts, (struct cenumerator){ sym->name, next });
		min = MIN(min, is_this_huge ? 0 : next);
		max = MAX(max, next);
		next++;
		if (!cparse_accept(p, ','))
			break;
	}
	if (!expect(p, '}', "',' or '}'") || !attributes(p, a))
		return false;
	t->is_signed = min < 0;
	is_big = is_huge || min < INT32_MIN || max > (t->is_signed ? INT32_MAX : (s64)UINT32_MAX);
	t->size = t->align = is_big ? 8 : 4;
	if (a->is_packed) {
		t->size = min >= INT8_MIN && max <= (t->is_signed ? INT8_MAX : UINT8_MAX) ? 1 :
			  min >= INT16_MIN && max <= (t->is_signed ? INT16_MAX : UINT16_MAX) ? 2 : t->size;
		t->align = t->size;
	}
	t->align = MAX(t->align, a->align);
	t->enums = consts.at;
	t->enum_cnt = consts.cnt;
	t->is_defined = true;
	return true;
}

static struct cty *tagged(struct cparse *p)
{
	enum ckeyword kw = cparse_keyword(p);
	enum cty_kind kind = kw == CKW_STRUCT ? CTY_STRUCT : kw == CKW_UNION ? CTY_UNION : CTY_ENUM;
	struct cattrs a = {};
	struct csym *sym = NULL;
	struct cty *t = NULL;

	cparse_advance(p);
	if (!attributes(p, &a))
		return NULL;
	if (cparse_tok(p)->kind == CTOK_IDENT && cparse_keyword(p) == CKW_NONE) {
		sym = cparse_tok(p)->sym;
		t = sym->tag[kind - CTY_STRUCT];
		cparse_advance(p);
		if (!attributes(p, &a))
			return NULL;
	}
	if (!t) {
		t = arena_new(p->arena, struct cty);
		*t = (struct cty){ .kind = kind, .name = sym ? sym->name : "", .align = kind == CTY_ENUM ? 4 : 1, .size = kind == CTY_ENUM ? 4 : 0 };
		if (sym)
			sym->tag[kind - CTY_STRUCT] = t;
	}
	if (kind == CTY_ENUM && cparse_at(p, ':')) { /* enum x : u8 */
		struct cty *of;

		cparse_advance(p);
		of = cparse_type_name(p);
		if (!of)
			return NULL;
		t->size = cty_size(of);
		t->align = cty_align(of);
	}
	if (!cparse_at(p, '{'))
		return sym ? t : (fail(p, "a name or '{'"), NULL);
	if (++p->nest > MAX_NEST) {
		pp_error(p->pp, "nested too deeply");
		cparse_skip_balanced(p);
		p->nest--;
		return NULL;
	}
	if (t->is_defined) {
		/* The same header twice, in another way: the first one stays. */
		cparse_skip_balanced(p);
		p->nest--;
		return attributes(p, &a) ? t : NULL;
	}
	if (!(kind == CTY_ENUM ? enum_body(p, t, &a) : struct_body(p, t, &a))) {
		p->nest--;
		return NULL;
	}
	p->nest--;
	if (t->is_defined)
		vec_push(&p->defined, t);
	return t;
}

/* ---- declarations ---- */

/* To the end of what is not understood: behind a `;`, or behind `{…}`. */
static void recover(struct cparse *p)
{
	for (;;) {
		struct ctok t = *cparse_tok(p);

		if (t.kind == CTOK_END)
			return;
		if (ctok_is(&t, '{')) {
			cparse_skip_balanced(p);
			cparse_accept(p, ';');
			return;
		}
		/* Parentheses are not looked at: one that is not closed would take the rest of the file with it. */
		cparse_advance(p);
		if (ctok_is(&t, ';') || ctok_is(&t, '}'))
			return;
	}
}

/* `= …` up to the "," or ";" that ends it. */
static void skip_initializer(struct cparse *p)
{
	while (!cparse_at(p, ',') && !cparse_at(p, ';') && cparse_tok(p)->kind != CTOK_END) {
		if (is_open_bracket(cparse_tok(p)))
			cparse_skip_balanced(p);
		else
			cparse_advance(p);
	}
}

static bool declaration(struct cparse *p)
{
	struct specs s;

	if (!specifiers(p, &s))
		return false;
	if (cparse_accept(p, ';'))
		return true;
	do {
		struct cattrs a = s.attrs;
		const char *name = "";
		struct cty *t = declared(p, s.type, &a, &name);
		struct csym *sym;

		if (!t)
			return false;
		if (!*name)
			return fail(p, "a name");
		sym = csym_get(pp_syms(p->pp), name, strlen(name));
		if (s.is_typedef) {
			if (a.mode_size && cty_is_int(t))
				t = of_size(a.mode_size, cty_strip(t)->is_signed);
			if (!sym->type) {
				sym->type = typedef_new(p, name, t, a.align > cty_align(t) ? a.align : 0);
				vec_push(&p->defined, sym->type);
			}
			continue;
		}
		sym->var = t;
		if (t->kind == CTY_FUNC && cparse_at(p, '{')) {
			cparse_skip_balanced(p);
			return true;
		}
		if (cparse_accept(p, '='))
			skip_initializer(p);
	} while (cparse_accept(p, ','));
	return expect(p, ';', "';'");
}

void cparse_all(struct cparse *p)
{
	p->buf_cnt = 0; /* the end of what was read before */
	for (;;) {
		struct ctok *t = cparse_tok(p);

		if (t->kind == CTOK_END)
			return;
		p->nest = 0;
		if (cparse_accept(p, ';'))
			continue;
		if (cparse_keyword(p) == CKW_STATIC_ASSERT) {
			static_assert_(p);
			continue;
		}
		if (cparse_keyword(p) == CKW_ASM) {
			struct cattrs ignored = {};

			attributes(p, &ignored);
			continue;
		}
		if (!declaration(p))
			recover(p);
	}
}
