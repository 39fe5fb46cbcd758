/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/parse.h"
#include "base/htab.h"
#include "c/pp_int.h"

#define MAX_NEST 100
#define MAX_DIMS 8
#define MAX_SIZE (1ull << 40)
#define MAX_HOST_SIZE (1ull << 28)
#define MAX_NAMES 65535            /* of an enum or a struct, as BTF has it */
#define MAX_BITS_SIZE (1ull << 21) /* of a struct with bit-fields, as BTF has it */

static const struct {
	const char *name;
	enum ckeyword keyword;
} keywords[] = {
	{ "struct", CKW_STRUCT },
	{ "union", CKW_UNION },
	{ "enum", CKW_ENUM },
	{ "typedef", CKW_TYPEDEF },
	{ "const", CKW_CONST },
	{ "__const", CKW_CONST },
	{ "__const__", CKW_CONST },
	{ "volatile", CKW_VOLATILE },
	{ "__volatile", CKW_VOLATILE },
	{ "__volatile__", CKW_VOLATILE },
	{ "restrict", CKW_RESTRICT },
	{ "__restrict", CKW_RESTRICT },
	{ "__restrict__", CKW_RESTRICT },
	{ "_Atomic", CKW_RESTRICT },
	{ "extern", CKW_STORAGE },
	{ "static", CKW_STORAGE },
	{ "register", CKW_STORAGE },
	{ "auto", CKW_STORAGE },
	{ "_Thread_local", CKW_STORAGE },
	{ "__thread", CKW_STORAGE },
	{ "_Noreturn", CKW_STORAGE },
	{ "inline", CKW_INLINE },
	{ "__inline", CKW_INLINE },
	{ "__inline__", CKW_INLINE },
	{ "__extension__", CKW_EXTENSION },
	{ "__attribute__", CKW_ATTRIBUTE },
	{ "__attribute", CKW_ATTRIBUTE },
	{ "asm", CKW_ASM },
	{ "__asm__", CKW_ASM },
	{ "__asm", CKW_ASM },
	{ "typeof", CKW_TYPEOF },
	{ "__typeof__", CKW_TYPEOF },
	{ "__typeof", CKW_TYPEOF },
	{ "typeof_unqual", CKW_TYPEOF },
	{ "__typeof_unqual__", CKW_TYPEOF },
	{ "_Alignas", CKW_ALIGNAS },
	{ "_Static_assert", CKW_STATIC_ASSERT },
	{ "static_assert", CKW_STATIC_ASSERT },
	{ "void", CKW_VOID },
	{ "char", CKW_CHAR },
	{ "short", CKW_SHORT },
	{ "int", CKW_INT },
	{ "long", CKW_LONG },
	{ "float", CKW_FLOAT },
	{ "double", CKW_DOUBLE },
	{ "_Float32", CKW_FLOAT },
	{ "_Float64", CKW_DOUBLE },
	{ "_Float32x", CKW_DOUBLE },
	{ "_Float64x", CKW_FLOAT128 },
	{ "_Float128", CKW_FLOAT128 },
	{ "__float128", CKW_FLOAT128 },
	{ "signed", CKW_SIGNED },
	{ "__signed", CKW_SIGNED },
	{ "__signed__", CKW_SIGNED },
	{ "unsigned", CKW_UNSIGNED },
	{ "_Bool", CKW_BOOL },
	{ "__int128", CKW_INT128 },
	{ "sizeof", CKW_SIZEOF },
	{ "_Alignof", CKW_ALIGNOF },
	{ "__alignof__", CKW_ALIGNOF },
	{ "__alignof", CKW_ALIGNOF },
	{ "_Complex", CKW_COMPLEX },
	{ "__complex__", CKW_COMPLEX },
	{ "__auto_type", CKW_AUTO_TYPE },
	{ "_Generic", CKW_GENERIC },
	/* The kernel's headers define these; text that was copied from them has no definition. */
	{ "__user", CKW_RESTRICT },
	{ "__kernel", CKW_RESTRICT },
	{ "__rcu", CKW_RESTRICT },
	{ "__iomem", CKW_RESTRICT },
	{ "__percpu", CKW_RESTRICT },
	{ "__force", CKW_RESTRICT },
	{ "__packed", CKW_PACKED },
	{ "__aligned", CKW_ALIGNED },
};

/* Type names that scripts and their headers use without a declaration: the kernel's, and those of user space. The language
 * defines those before the empty row. */
static const struct {
	const char *name;
	struct cty *type;
} words[] = {
	{ "u8", &cty_uchar },           { "u16", &cty_ushort },      { "u32", &cty_uint },         { "u64", &cty_ullong },
	{ "s8", &cty_schar },           { "s16", &cty_short },       { "s32", &cty_int },          { "s64", &cty_llong },
	{ "uint8", &cty_uchar },        { "uint16", &cty_ushort },   { "uint32", &cty_uint },      { "uint64", &cty_ulong },
	{ "int8", &cty_schar },         { "int16", &cty_short },     { "int32", &cty_int },        { "int64", &cty_long },
	{ "bool", &cty_bool },          { "uint8_t", &cty_uchar },   { "uint16_t", &cty_ushort },  { "uint32_t", &cty_uint },
	{ "uint64_t", &cty_ulong },     { "int8_t", &cty_schar },    { "int16_t", &cty_short },    { "int32_t", &cty_int },
	{ "int64_t", &cty_long },       { "size_t", &cty_ulong },    { "uintptr_t", &cty_ulong },  { "", NULL },
	{ "__u8", &cty_uchar },         { "__u16", &cty_ushort },    { "__u32", &cty_uint },       { "__u64", &cty_ullong },
	{ "__s8", &cty_schar },         { "__s16", &cty_short },     { "__s32", &cty_int },        { "__s64", &cty_llong },
	{ "__int8_t", &cty_schar },     { "__uint8_t", &cty_uchar }, { "__int16_t", &cty_short },  { "__uint16_t", &cty_ushort },
	{ "__int32_t", &cty_int },      { "__uint32_t", &cty_uint }, { "__int64_t", &cty_long },   { "__uint64_t", &cty_ulong },
	{ "__be16", &cty_ushort },      { "__be32", &cty_uint },     { "__be64", &cty_ullong },    { "__le16", &cty_ushort },
	{ "__le32", &cty_uint },        { "__le64", &cty_ullong },   { "ssize_t", &cty_long },     { "off_t", &cty_long },
	{ "loff_t", &cty_llong },       { "ptrdiff_t", &cty_long },  { "intptr_t", &cty_long },    { "pid_t", &cty_int },
	{ "uid_t", &cty_uint },         { "gid_t", &cty_uint },      { "mode_t", &cty_uint },      { "time_t", &cty_long },
	{ "dev_t", &cty_ulong },        { "ino_t", &cty_ulong },     { "clockid_t", &cty_int },    { "socklen_t", &cty_uint },
	{ "sa_family_t", &cty_ushort }, { "in_addr_t", &cty_uint },  { "in_port_t", &cty_ushort }, { "uint", &cty_uint },
	{ "ulong", &cty_ulong },        { "ushort", &cty_ushort },   { "u_char", &cty_uchar },     { "u_short", &cty_ushort },
	{ "u_int", &cty_uint },         { "u_long", &cty_ulong },    { "gfp_t", &cty_uint },       { "sector_t", &cty_ulong },
	{ "dma_addr_t", &cty_ulong },
};

void cparse_init(struct cparse *p, struct pp *pp, struct arena *arena)
{
	struct csym *sym;
	bool is_of_language = true;

	*p = (struct cparse){ .pp = pp, .arena = arena, .host = pp->host, .is_plain = pp->host };
	for (u32 i = 0; i < ARRAY_CNT(keywords); i++)
		csym_get(&pp->syms, keywords[i].name, strlen(keywords[i].name))->keyword = keywords[i].keyword;
	for (u32 i = 0; i < ARRAY_CNT(words); i++) {
		sym = csym_get(&pp->syms, words[i].name, strlen(words[i].name));
		sym->word = words[i].type;
		sym->is_of_language = is_of_language = is_of_language && words[i].type;
	}
	/* 24 bytes: two numbers and two pointers. */
	sym = csym_get(&pp->syms, "__builtin_va_list", 17);
	sym->type = cty_new(arena,
			    (struct cty){ .kind = CTY_TYPEDEF,
					  .name = sym->name,
					  .of = cty_array(arena, cty_array(arena, &cty_ulong, 3), 1) });
	cexpr_init(&pp->syms);
}

void cparse_release(struct cparse *p)
{
	vec_free(&p->defined);
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
	p->prev = p->buf[0];
	if (ctok_is(&p->prev, '{'))
		p->braces++;
	else if (ctok_is(&p->prev, '}') && p->braces)
		p->braces--;
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

	return t->kind == CTOK_IDENT && !p->is_if ? t->sym->keyword : CKW_NONE;
}

const struct ctok *cparse_place(struct cparse *p)
{
	return cparse_tok(p)->kind == CTOK_END ? &p->prev : cparse_tok(p);
}

bool cparse_fail(struct cparse *p, const char *what)
{
	struct ctok *t = cparse_tok(p);

	if (t->kind == CTOK_END)
		pp_report(p->pp, &p->prev, E_SYNTAX, "expected %s, found the end%s", what, p->host ? " of the script" : "");
	else if (t->kind == CTOK_STR)
		pp_report(p->pp, t, E_SYNTAX, "expected %s, found a string", what);
	else
		pp_report(p->pp, t, E_SYNTAX, "expected %s, found '%.*s%s'", what, (int)MIN(t->len, 32u), t->s,
			  t->len > 32 ? "..." : "");
	return false;
}

static bool expect(struct cparse *p, u32 op, const char *what)
{
	return cparse_accept(p, op) || cparse_fail(p, what);
}

static bool enter(struct cparse *p, const struct ctok *at)
{
	if (p->nest == MAX_NEST) {
		pp_report(p->pp, at, E_TOO_BIG, "too many levels of nesting");
		return false;
	}
	p->nest++;
	return true;
}

/* A struct, union or enum; only these have a keyword. */
static const char *keyword_of(const struct cty *t)
{
	return t->kind == CTY_STRUCT ? "struct" : t->kind == CTY_UNION ? "union" : "enum";
}

static bool is_open_bracket(const struct ctok *t)
{
	return ctok_is(t, '(') || ctok_is(t, '[') || ctok_is(t, '{');
}

static bool is_close_bracket(const struct ctok *t)
{
	return ctok_is(t, ')') || ctok_is(t, ']') || ctok_is(t, '}');
}

/* False: no bracket matches. In a header any kind does: an open parenthesis must not swallow the rest of the file. */
static bool skip_brackets(struct cparse *p)
{
	u32 open = cparse_tok(p)->op, close = open == '(' ? ')' : open == '[' ? ']' : '}', depth = 0;

	do {
		struct ctok *t = cparse_tok(p);

		if (t->kind == CTOK_END)
			return false;
		depth += p->host ? ctok_is(t, open) : is_open_bracket(t);
		depth -= p->host ? ctok_is(t, close) : is_close_bracket(t);
		cparse_advance(p);
	} while (depth);
	return true;
}

/* Moves to one of these outside of brackets. */
static void skip_to(struct cparse *p, u32 op, u32 other)
{
	while (!cparse_at(p, op) && !cparse_at(p, other) && cparse_tok(p)->kind != CTOK_END) {
		if (is_open_bracket(cparse_tok(p)))
			skip_brackets(p);
		else
			cparse_advance(p);
	}
}

bool cparse_skip_balanced(struct cparse *p)
{
	struct ctok open = *cparse_tok(p);

	if (skip_brackets(p))
		return true;
	pp_report(p->pp, &open, E_UNTERMINATED, "this '%c' is not closed", open.op);
	return false;
}

/* ---- attributes ---- */

static bool attr_is(const struct csym *s, const char *name)
{
	size_t n = strlen(name);

	return str_eq(s->name, name) || (s->len == n + 4 && str_starts(s->name, "__") && !strncmp(s->name + 2, name, n));
}

static bool align_argument(struct cparse *p, struct cattrs *a)
{
	struct ctok at = *cparse_place(p);
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
	if (p->host && (n < 1 || n > 4096 || !is_pow2(n))) {
		pp_report(p->pp, &at, E_BAD_LITERAL, "an alignment is a power of two, up to 4096");
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
	} modes[] = { { "QI", 1 },  { "HI", 2 },   { "SI", 4 },   { "DI", 8 },
		      { "TI", 16 }, { "word", 8 }, { "byte", 1 }, { "pointer", 8 } };

	for (u32 i = 0; i < ARRAY_CNT(modes); i++)
		if (attr_is(s, modes[i].name))
			return modes[i].size;
	return 0;
}

/* "(" "(" [ name [ "(" … ")" ] { "," … } ] ")" ")" */
static bool attribute_list(struct cparse *p, struct cattrs *a)
{
	static const char begin[] = "'((' after __attribute__", end[] = "'))' to close __attribute__((";

	if (!expect(p, '(', begin) || !expect(p, '(', begin))
		return false;
	while (!cparse_at(p, ')')) {
		struct ctok t = *cparse_tok(p);

		if (t.kind == CTOK_END || (p->host && t.kind != CTOK_IDENT && !ctok_is(&t, ',')))
			return cparse_fail(p, end);
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
		} else if (cparse_at(p, '(') && !cparse_skip_balanced(p)) {
			return false;
		}
	}
	return expect(p, ')', end) && expect(p, ')', end);
}

/* Any number of __attribute__((…)), asm("name"), _Alignas(…), __packed, __aligned(…). */
static bool attributes(struct cparse *p, struct cattrs *a)
{
	for (;;) {
		enum ckeyword kw = cparse_keyword(p);

		if (kw != CKW_ALIGNAS && kw != CKW_ASM && kw != CKW_EXTENSION && kw != CKW_ATTRIBUTE && kw != CKW_PACKED &&
		    kw != CKW_ALIGNED)
			return true;
		cparse_advance(p);
		a->is_packed |= kw == CKW_PACKED;
		if ((kw == CKW_ALIGNAS || kw == CKW_ALIGNED) && !align_argument(p, a))
			return false;
		if (kw == CKW_ASM) {
			while (cparse_keyword(p) == CKW_VOLATILE || cparse_keyword(p) == CKW_INLINE)
				cparse_advance(p);
			if (cparse_at(p, '(') && !cparse_skip_balanced(p))
				return false;
		}
		if (kw == CKW_ATTRIBUTE && !attribute_list(p, a))
			return false;
	}
}

/* ---- specifiers ---- */

static struct cty *tagged(struct cparse *p);

struct specs {
	struct cty *type;
	struct cattrs attrs;
	bool is_typedef;
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

/* cnt: how often each word is there. */
static struct cty *of_words(const u8 *cnt)
{
	bool is_unsigned = cnt[CKW_UNSIGNED];

	if (cnt[CKW_FLOAT])
		return &cty_float;
	if (cnt[CKW_DOUBLE])
		return cnt[CKW_LONG] ? &cty_ldouble : &cty_double;
	if (cnt[CKW_INT128])
		return is_unsigned ? &cty_uint128 : &cty_int128;
	if (cnt[CKW_CHAR])
		return is_unsigned ? &cty_uchar : cnt[CKW_SIGNED] ? &cty_schar : &cty_char;
	if (cnt[CKW_SHORT])
		return is_unsigned ? &cty_ushort : &cty_short;
	if (cnt[CKW_LONG])
		return cnt[CKW_LONG] > 1 ? (is_unsigned ? &cty_ullong : &cty_llong) : is_unsigned ? &cty_ulong : &cty_long;
	return is_unsigned ? &cty_uint : &cty_int;
}

static struct cty *of_size(u32 size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? &cty_schar : &cty_uchar;
	case 2:
		return is_signed ? &cty_short : &cty_ushort;
	case 4:
		return is_signed ? &cty_int : &cty_uint;
	case 16:
		return is_signed ? &cty_int128 : &cty_uint128;
	}
	return is_signed ? &cty_long : &cty_ulong;
}

/* A type of the host's by its name. NULL: there is none. */
static struct cty *outside_type(struct cparse *p, const char *name)
{
	struct cty of = { .name = "", .is_defined = true };

	if (!p->host->find(p->host->arg, "", name, &of))
		return NULL;
	if (of.kind == CTY_BOOL)
		return &cty_bool;
	if (of.kind == CTY_INT)
		return of_size(of.size, of.is_signed);
	return cty_new(p->arena,
		       (struct cty){ .kind = CTY_TYPEDEF, .name = name, .of = cty_new(p->arena, of), .is_outside = true });
}

/* The type that the word at tok names; NULL: none. In a header a word without a declaration counts only before a declarator. */
static struct cty *named_type(struct cparse *p)
{
	struct csym *sym = cparse_tok(p)->sym;
	struct cty *t = sym->type;

	if (!t && p->host)
		t = sym->is_of_language ? sym->word : outside_type(p, sym->name);
	if (t || p->host)
		return t ? t : sym->word;
	cparse_fill(p, 2);
	return p->buf[1].kind == CTOK_IDENT || ctok_is(&p->buf[1], '*') ? sym->word : NULL;
}

bool cparse_complete(struct cparse *p, struct cty *t)
{
	struct cty out = {};

	t = cty_strip(t);
	if ((t->kind != CTY_STRUCT && t->kind != CTY_UNION && t->kind != CTY_ENUM) || t->is_defined || t->is_outside)
		return true;
	if (!p->host || t->is_open || !p->host->find(p->host->arg, keyword_of(t), t->name, &out))
		return t->kind == CTY_ENUM;
	t->size = out.size;
	t->align = out.align;
	t->is_signed = out.is_signed;
	t->is_outside = true;
	return true;
}

/* { storage | qualifier | attribute | type } ; false: reported. */
static bool specifiers(struct cparse *p, struct specs *s)
{
	static struct cty *const whole[CKW_CNT] = {
		[CKW_VOID] = &cty_void, [CKW_BOOL] = &cty_bool, [CKW_FLOAT128] = &cty_ldouble, [CKW_AUTO_TYPE] = &cty_int
	};
	u8 cnt[CKW_CNT] = {};
	bool has_words = false;

	*s = (struct specs){};
	for (;;) {
		const struct ctok *t;
		enum ckeyword kw;

		if (!attributes(p, &s->attrs))
			return false;
		t = cparse_tok(p);
		if (t->kind != CTOK_IDENT)
			break;
		kw = t->sym->keyword;
		if (kw == CKW_NONE) {
			if (!s->type && !has_words)
				s->type = named_type(p);
			else
				break;
			if (!s->type && p->host) {
				p->host->unknown_type(p->host->arg, cparse_tok(p), cparse_tok(p)->sym->tag[0] != NULL);
				return false;
			}
			if (!s->type)
				break;
			cparse_advance(p);
		} else if (kw == CKW_STRUCT || kw == CKW_UNION || kw == CKW_ENUM || kw == CKW_TYPEOF) {
			if (s->type)
				break;
			s->type = kw == CKW_TYPEOF ? typeof_type(p) : tagged(p);
			if (!s->type)
				return false;
		} else if (kw == CKW_SIZEOF || kw == CKW_ALIGNOF || kw == CKW_STATIC_ASSERT || kw == CKW_BUILTIN ||
			   kw == CKW_GENERIC) {
			break;
		} else {
			cparse_advance(p);
			cnt[kw] = MIN(cnt[kw] + 1, 2);
			has_words |= kw >= CKW_CHAR && kw <= CKW_INT128;
			s->type = whole[kw] ? whole[kw] : s->type;
		}
	}
	s->is_typedef = cnt[CKW_TYPEDEF];
	if (!s->type && !has_words)
		return cparse_fail(p, "a type");
	/* Scripts have no floating point: an integer of the same size stands for it. */
	if (!s->type && p->host && !cnt[CKW_LONG])
		s->type = cnt[CKW_FLOAT] ? &cty_uint : cnt[CKW_DOUBLE] ? &cty_ulong : NULL;
	if (!s->type)
		s->type = of_words(cnt);
	if (s->attrs.mode_size && cty_is_int(s->type))
		s->type = of_size(s->attrs.mode_size, cty_strip(s->type)->is_signed);
	if (cnt[CKW_VOLATILE])
		s->type = cty_new(p->arena, (struct cty){ .kind = CTY_VOLATILE, .of = s->type });
	if (cnt[CKW_CONST])
		s->type = cty_new(p->arena, (struct cty){ .kind = CTY_CONST, .of = s->type });
	return true;
}

bool cparse_at_type(struct cparse *p)
{
	const struct ctok *t = cparse_tok(p);
	enum ckeyword kw = cparse_keyword(p);

	if (t->kind != CTOK_IDENT || p->is_if)
		return false;
	return kw == CKW_NONE ? t->sym->type || (p->host && t->sym->word) : kw >= CKW_ATTRIBUTE && kw <= CKW_INT128;
}

/* ---- declarators ---- */

/* What a declarator declares. */
struct dname {
	const char *s;  /* "": nothing */
	struct ctok at; /* the name, or where it could be */
};

static struct cty *declared(struct cparse *p, struct cty *type, struct cattrs *a, struct dname *name);

static struct cty *parameters(struct cparse *p, struct cty *result)
{
	struct cty *t = cty_new(p->arena, (struct cty){ .kind = CTY_FUNC, .of = result, .align = 1, .size = 1 });
	vec(struct cmember) params = {};

	while (!cparse_at(p, ')')) {
		struct specs s;
		struct dname name = { "" };
		struct cmember m = { .name = "" };

		if (cparse_accept(p, COP_ELLIPSIS)) {
			t->is_variadic = true;
		} else if (cparse_at_type(p) || cparse_keyword(p) == CKW_STORAGE) {
			if (!specifiers(p, &s))
				return NULL;
			m.type = declared(p, s.type, &s.attrs, &name);
			if (!m.type)
				return NULL;
			m.name = name.s;
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
			cparse_fail(p, "a parameter");
			return NULL;
		}
		if (!cparse_accept(p, ','))
			break;
	}
	t->members = params.at;
	t->member_cnt = params.cnt;
	return expect(p, ')', "')' after the parameters") ? t : NULL;
}

#define NO_LENGTH INT64_MIN

static struct cty *array_of(struct cparse *p, struct cty *of, s64 cnt)
{
	u64 max = p->host ? MAX_HOST_SIZE : MAX_SIZE;

	cparse_complete(p, of);
	if (cnt != NO_LENGTH && (cnt < 0 || (cty_size(of) && (u64)cnt > max / cty_size(of)))) {
		pp_report(p->pp, &p->prev, E_BAD_LITERAL,
			  cnt < 0 ? "an array cannot have a negative length" : "this array is too big");
		return NULL;
	}
	if (cty_strip(of)->kind == CTY_VOID) {
		pp_report(p->pp, &p->prev, E_UNKNOWN_TYPE, "there are no arrays of void");
		return NULL;
	}
	return cty_array(p->arena, of, cnt == NO_LENGTH ? -1 : cnt);
}

/* { "[" [ n ] "]" } | "(" parameters ")" behind a name. */
static struct cty *suffixes(struct cparse *p, struct cty *type)
{
	s64 dims[MAX_DIMS];
	u32 cnt = 0;

	/* For a script a pointer to a function is a void pointer. */
	if (cparse_at(p, '(') && p->host)
		return cparse_skip_balanced(p) ?
			cty_new(p->arena, (struct cty){ .kind = CTY_FUNC, .of = type, .align = 1, .size = 1 }) :
			NULL;
	if (cparse_accept(p, '('))
		return parameters(p, type);
	while (cparse_accept(p, '[')) {
		if (cnt == MAX_DIMS) {
			pp_report(p->pp, &p->prev, E_TOO_BIG, "too many dimensions");
			return NULL;
		}
		dims[cnt] = NO_LENGTH;
		while (cparse_keyword(p) == CKW_STORAGE || cparse_keyword(p) == CKW_CONST || cparse_keyword(p) == CKW_RESTRICT)
			cparse_advance(p);
		if (!cparse_at(p, ']') && !cexpr_const(p, &dims[cnt]))
			return NULL;
		cnt++;
		if (!expect(p, ']', "']' after the length"))
			return NULL;
	}
	/* int x[2][3] is an array of 2 arrays of 3. */
	while (cnt && type)
		type = array_of(p, type, dims[--cnt]);
	return type;
}

/* Behind "*": qualifiers and attributes. */
static struct cty *pointer_to(struct cparse *p, struct cty *type, struct cattrs *a)
{
	type = cty_pointer(p->arena, type);
	for (;;) {
		enum ckeyword kw = cparse_keyword(p);
		struct cattrs own = {};

		if (kw == CKW_ATTRIBUTE) {
			if (!attributes(p, &own))
				return NULL;
			a->align = MAX(a->align, own.align);
			continue;
		}
		if (kw != CKW_CONST && kw != CKW_VOLATILE && kw != CKW_RESTRICT)
			return type;
		cparse_advance(p);
		if (kw != CKW_RESTRICT)
			type = cty_new(p->arena, (struct cty){ .kind = kw == CKW_CONST ? CTY_CONST : CTY_VOLATILE, .of = type });
	}
}

/* A parenthesis around a declarator, not the parameters of a function without a name. */
static bool at_inner(struct cparse *p)
{
	const struct ctok *t = &p->buf[1];

	if (!cparse_at(p, '('))
		return false;
	cparse_fill(p, 2);
	return ctok_is(t, '*') || ctok_is(t, '(') || ctok_is(t, '^') ||
		(t->kind == CTOK_IDENT && (t->sym->keyword == CKW_ATTRIBUTE || (t->sym->keyword == CKW_NONE && !t->sym->type)));
}

/* "(" declarator ")" suffixes: the inner declarator is of a type that is known only after the parenthesis. */
static struct cty *inner_declared(struct cparse *p, struct cty *type, struct cattrs *a, struct dname *name)
{
	struct cty hole = { .kind = CTY_INT, .align = 1 }, *inner, *outer, *t;

	cparse_advance(p);
	inner = declared(p, &hole, a, name);
	if (!inner || !expect(p, ')', "')'"))
		return NULL;
	outer = suffixes(p, type);
	if (!outer || inner == &hole)
		return outer;
	for (t = inner; t->of != &hole;)
		t = t->of;
	t->of = outer;
	return inner;
}

static struct cty *declarator(struct cparse *p, struct cty *type, struct cattrs *a, struct dname *name)
{
	if (!attributes(p, a))
		return NULL;
	while (type && cparse_accept(p, '*'))
		type = pointer_to(p, type, a);
	if (!type || !attributes(p, a))
		return NULL;
	if (at_inner(p)) {
		type = inner_declared(p, type, a, name);
	} else {
		if (cparse_tok(p)->kind == CTOK_IDENT && cparse_keyword(p) == CKW_NONE) {
			name->s = cparse_tok(p)->sym->name;
			name->at = *cparse_tok(p);
			cparse_advance(p);
		}
		type = suffixes(p, type);
	}
	return type && attributes(p, a) ? type : NULL;
}

/* { "*" } ( name | "(" declarator ")" | nothing ) suffixes. name->s stays as it is without one. NULL: reported. */
static struct cty *declared(struct cparse *p, struct cty *type, struct cattrs *a, struct dname *name)
{
	name->at = *cparse_place(p);
	if (!enter(p, &name->at))
		return NULL;
	type = declarator(p, type, a, name);
	p->nest--;
	return type;
}

struct cty *cparse_type_name(struct cparse *p)
{
	struct dname name = { "" };
	struct specs s;
	struct cty *t;

	if (!enter(p, cparse_place(p)))
		return NULL;
	t = specifiers(p, &s) ? declared(p, s.type, &s.attrs, &name) : NULL;
	p->nest--;
	return t;
}

/* ---- struct, union, enum ---- */

static bool static_assert_(struct cparse *p)
{
	cparse_advance(p);
	return !cparse_at(p, '(') || cparse_skip_balanced(p);
}

/* Whether a struct is packed may stand behind its "}", and its layout depends on it: members are collected first. */
struct raws {
	vec(struct {
		struct dname name;
		struct cty *type;
		s64 bits; /* -1: not a bit-field */
		struct cattrs attrs;
	}) at;
	struct htab names; /* 1 + index */
};

/* Whether a struct can have this member. */
static bool check_member(struct cparse *p, struct raws *to, const struct dname *name, struct cty *t)
{
	struct cty *content = cty_strip(t);

	while (content->kind == CTY_ARRAY)
		content = cty_strip(content->of);
	if (content->kind == CTY_VOID || content->kind == CTY_FUNC) {
		pp_report(p->pp, &name->at, E_UNKNOWN_TYPE, "'%s' cannot be of type void", *name->s ? name->s : "a member");
		return false;
	}
	if (!cparse_complete(p, content)) {
		pp_report(p->pp, &name->at, E_UNKNOWN_TYPE,
			  content->is_open ? "%s %s cannot be a member of itself" : "Unknown type: '%s %s'", keyword_of(content),
			  content->name);
		return false;
	}
	if (!p->host || !*name->s)
		return true;
	htab_for(i, &to->names, u64_hash((uintptr_t)name->s)) {
		if (to->at.at[*i - 1].name.s == name->s) {
			pp_report(p->pp, &name->at, E_REDECLARED, "there is a member '%s' already", name->s);
			return false;
		}
	}
	htab_add(&to->names, u64_hash((uintptr_t)name->s), to->at.cnt + 1);
	return true;
}

/* ":" n behind a member. */
static bool bit_field(struct cparse *p, const struct dname *name, struct cty *t, s64 *bits, struct cattrs *a)
{
	u32 max = 8 * cty_size(t);

	if (!cexpr_const(p, bits) || !attributes(p, a))
		return false;
	if (!cty_is_int(t) || max > 64) {
		pp_report(p->pp, &name->at, E_TYPE_MISMATCH, "a bit-field must be an integer");
		return false;
	}
	if (*bits < 0 || *bits > max || (!*bits && *name->s)) {
		pp_report(p->pp, &name->at, E_BAD_LITERAL, "a bit-field of this type has 1 to %u bits", max);
		return false;
	}
	return true;
}

static bool member(struct cparse *p, struct raws *to)
{
	struct dname name = { "", *cparse_place(p) };
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
			vec_push(&to->at, (typeof(*to->at.at)){ name, s.type, -1, s.attrs });
		cparse_advance(p);
		return true;
	}
	do {
		struct cattrs a = s.attrs;
		struct cty *t = s.type;
		s64 bits = -1;

		name.s = "";
		if (!cparse_at(p, ':'))
			t = declared(p, t, &a, &name);
		if (!t)
			return false;
		if (!*name.s && !cparse_at(p, ':'))
			return cparse_fail(p, "the name of a member");
		if (!check_member(p, to, &name, t) || (cparse_accept(p, ':') && !bit_field(p, &name, t, &bits, &a)))
			return false;
		vec_push(&to->at, (typeof(*to->at.at)){ name, t, bits, a });
	} while (cparse_accept(p, ','));
	/* C compilers accept it, with a warning, that the last one has none. */
	return cparse_at(p, '}') || expect(p, ';', "';' after the member");
}

static bool lay_out(struct cparse *p, struct cty *t, const struct raws *raws, const struct cattrs *a)
{
	struct clayout l = { .arena = p->arena, .type = t, .is_packed = a->is_packed, .pack = p->pp->pack, .align = 1 };
	u64 max = p->host ? MAX_HOST_SIZE : MAX_SIZE;

	vec_for(m, &raws->at) {
		if (m->bits > 0)
			max = MAX_BITS_SIZE;
		clayout_add(&l, m->name.s, m->type, m->bits, &m->attrs);
		if (l.bytes > max) {
			pp_report(p->pp, &m->name.at, E_TOO_BIG, "this struct is too big");
			return false;
		}
		if (l.members.cnt > MAX_NAMES) {
			pp_report(p->pp, &m->name.at, E_TOO_BIG, "this struct has more than %d members", MAX_NAMES);
			return false;
		}
	}
	clayout_end(&l, a);
	return true;
}

/* After a member with an error the offsets are not known: a struct of a header stays without a body then. */
static bool struct_body(struct cparse *p, struct cty *t, struct cattrs *a)
{
	struct raws raws = {};
	bool ok = true;

	if (!p->braces)
		p->open = *cparse_tok(p);
	cparse_advance(p);
	while ((ok || !p->host) && !cparse_at(p, '}') && cparse_tok(p)->kind != CTOK_END) {
		if (!member(p, &raws)) {
			ok = false;
			if (!p->host) {
				skip_to(p, ';', '}');
				cparse_accept(p, ';');
			}
		}
	}
	if (ok || !p->host)
		ok = expect(p, '}', "'}'") && attributes(p, a) && ok && lay_out(p, t, &raws, a);
	vec_free(&raws.at);
	htab_release(&raws.names);
	return ok || !p->host;
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
			return cparse_fail(p, "the name of a constant");
		if (p->host && sym->is_const) {
			pp_report(p->pp, cparse_tok(p), E_REDECLARED, "there is a constant '%s' already", sym->name);
			return false;
		}
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
		if (consts.cnt == MAX_NAMES) {
			pp_report(p->pp, &p->prev, E_TOO_BIG, "this enum has more than %d constants", MAX_NAMES);
			return false;
		}
		avec_push(p->arena, &consts, (struct cenumerator){ sym->name, next });
		min = MIN(min, is_this_huge ? 0 : next);
		max = MAX(max, next);
		next++;
		if (!cparse_accept(p, ','))
			break;
	}
	if (!expect(p, '}', "',' or '}' after the constant") || !attributes(p, a))
		return false;
	t->is_signed = min < 0;
	is_big = is_huge || min < INT32_MIN || max > (t->is_signed ? INT32_MAX : (s64)UINT32_MAX);
	t->size = t->align = is_big ? 8 : 4;
	if (a->is_packed) {
		t->size = min >= INT8_MIN && max <= (t->is_signed ? INT8_MAX : UINT8_MAX)  ? 1 :
			min >= INT16_MIN && max <= (t->is_signed ? INT16_MAX : UINT16_MAX) ? 2 :
											     t->size;
		t->align = t->size;
	}
	t->align = MAX(t->align, a->align);
	t->enums = consts.at;
	t->enum_cnt = consts.cnt;
	t->is_defined = true;
	return true;
}

/* At the "{" of t. False: reported. */
static bool body(struct cparse *p, struct cty *t, struct cattrs *a, const struct ctok *at)
{
	bool ok;

	if (!enter(p, at)) {
		if (!p->host)
			skip_brackets(p);
		return false;
	}
	if (!t->is_defined && !t->is_open) {
		t->is_open = true;
		ok = t->kind == CTY_ENUM ? enum_body(p, t, a) : struct_body(p, t, a);
		t->is_open = false;
		if (ok && t->is_defined)
			vec_push(&p->defined, t);
	} else if (p->host) {
		pp_report(p->pp, at, E_REDECLARED, "%s %s is defined twice", keyword_of(t), t->name);
		ok = false;
	} else {
		/* The same header twice, in another way: the first one stays. */
		ok = skip_brackets(p) && attributes(p, a);
	}
	p->nest--;
	return ok;
}

static struct cty *tagged(struct cparse *p)
{
	enum ckeyword kw = cparse_keyword(p);
	enum cty_kind kind = kw == CKW_STRUCT ? CTY_STRUCT : kw == CKW_UNION ? CTY_UNION : CTY_ENUM;
	struct ctok at = *cparse_tok(p);
	struct cattrs a = {};
	struct csym *sym = NULL;
	struct cty *t = NULL;

	cparse_advance(p);
	if (!attributes(p, &a))
		return NULL;
	if (cparse_tok(p)->kind == CTOK_IDENT && cparse_keyword(p) == CKW_NONE) {
		at = *cparse_tok(p);
		sym = at.sym;
		t = sym->tag[kind - CTY_STRUCT];
		cparse_advance(p);
		if (!attributes(p, &a))
			return NULL;
	}
	if (!t) {
		t = cty_new(p->arena,
			    (struct cty){ .kind = kind,
					  .name = sym ? sym->name : "",
					  .align = kind == CTY_ENUM ? 4 : 1,
					  .size = kind == CTY_ENUM ? 4 : 0 });
		if (sym)
			sym->tag[kind - CTY_STRUCT] = t;
	}
	if (kind == CTY_ENUM && cparse_accept(p, ':')) { /* enum x : u8 */
		struct cty *of = cparse_type_name(p);

		if (!of)
			return NULL;
		t->size = cty_size(of);
		t->align = cty_align(of);
	}
	if (cparse_at(p, '{'))
		return body(p, t, &a, &at) ? t : NULL;
	return sym ? t : (cparse_fail(p, "a name or '{'"), NULL);
}

/* ---- declarations ---- */

/* Skips the rest of a declaration: to behind a `;`, or behind the `}` that closes it and what belongs to that. Parentheses are
 * ignored: an open one would swallow the rest of the file. */
static void recover(struct cparse *p)
{
	u32 braces = 1;

	do {
		if (cparse_tok(p)->kind == CTOK_END)
			return;
		braces = p->braces;
		cparse_advance(p);
		if (ctok_is(&p->prev, ';') && !braces)
			return;
	} while (!ctok_is(&p->prev, '}') || braces > 1);
	while (cparse_keyword(p) == CKW_ATTRIBUTE) {
		cparse_advance(p);
		if (cparse_at(p, '('))
			skip_brackets(p);
	}
	cparse_accept(p, ';');
}

static bool declaration(struct cparse *p)
{
	struct specs s;

	if (!specifiers(p, &s))
		return false;
	if (!p->host && cparse_accept(p, ';'))
		return true;
	do {
		struct cattrs a = s.attrs;
		struct dname name = { "" };
		struct cty *t = declared(p, s.type, &a, &name);
		struct csym *sym;

		if (!t)
			return false;
		if (!*name.s)
			return cparse_fail(p, s.is_typedef ? "the name of the new type" : "a name");
		sym = csym_get(&p->pp->syms, name.s, strlen(name.s));
		if (s.is_typedef) {
			if (a.mode_size && cty_is_int(t))
				t = of_size(a.mode_size, cty_strip(t)->is_signed);
			if (!sym->type) {
				sym->type = cty_new(p->arena,
						    (struct cty){ .kind = CTY_TYPEDEF,
								  .name = name.s,
								  .of = t,
								  .align = a.align > cty_align(t) ? a.align : 0 });
				vec_push(&p->defined, sym->type);
			}
			continue;
		}
		sym->var = t;
		if (t->kind == CTY_FUNC && cparse_at(p, '{')) {
			skip_brackets(p);
			return true;
		}
		if (cparse_accept(p, '='))
			skip_to(p, ',', ';');
	} while (cparse_accept(p, ','));
	return expect(p, ';', s.is_typedef ? "';' after the typedef" : "';'");
}

void cparse_all(struct cparse *p)
{
	p->buf_cnt = 0; /* the end of what was read before */
	while (cparse_tok(p)->kind != CTOK_END) {
		p->nest = 0;
		p->braces = 0;
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

bool cparse_definition(struct cparse *p, bool *is_cut)
{
	bool ok;

	p->buf_cnt = p->nest = p->braces = 0;
	p->open = (struct ctok){};
	if (cparse_keyword(p) == CKW_TYPEDEF) {
		ok = declaration(p);
	} else {
		ok = tagged(p) != NULL;
		/* Variables that are declared along with it mean nothing here. */
		if (ok)
			cparse_accept(p, ';');
	}
	if (!ok) {
		p->pp->is_quiet = true;
		recover(p);
	}
	*is_cut = !ok && p->open.kind && p->braces && cparse_tok(p)->kind == CTOK_END;
	return ok;
}
