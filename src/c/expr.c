/* SPDX-License-Identifier: GPL-2.0-only */
/* Expressions of C, for array lengths, enumerators, sizeof and typeof: each has a type, and a value if that is known. */
#include "c/number.h"
#include "c/parse.h"
#include "c/pp_int.h"

#define MAX_NEST 200

enum builtin {
	BI_OFFSETOF = 1,
	BI_CONSTANT_P,
	BI_TYPES_COMPATIBLE,
	BI_CHOOSE,
	BI_EXPECT,
	BI_CLZ,
	BI_CLZL,
	BI_CTZ,
	BI_FFS,
	BI_POPCOUNT,
	BI_BSWAP16,
	BI_BSWAP32,
	BI_BSWAP64,
	BI_OBJECT_SIZE,
	BI_UNREACHABLE,
};

static const struct {
	const char *name;
	enum builtin id;
} builtins[] = {
	{ "__builtin_offsetof", BI_OFFSETOF },
	{ "__builtin_constant_p", BI_CONSTANT_P },
	{ "__builtin_types_compatible_p", BI_TYPES_COMPATIBLE },
	{ "__builtin_choose_expr", BI_CHOOSE },
	{ "__builtin_expect", BI_EXPECT },
	{ "__builtin_clz", BI_CLZ },
	{ "__builtin_clzl", BI_CLZL },
	{ "__builtin_clzll", BI_CLZL },
	{ "__builtin_ctz", BI_CTZ },
	{ "__builtin_ctzl", BI_CTZ },
	{ "__builtin_ctzll", BI_CTZ },
	{ "__builtin_ffs", BI_FFS },
	{ "__builtin_ffsl", BI_FFS },
	{ "__builtin_ffsll", BI_FFS },
	{ "__builtin_popcount", BI_POPCOUNT },
	{ "__builtin_popcountl", BI_POPCOUNT },
	{ "__builtin_popcountll", BI_POPCOUNT },
	{ "__builtin_bswap16", BI_BSWAP16 },
	{ "__builtin_bswap32", BI_BSWAP32 },
	{ "__builtin_bswap64", BI_BSWAP64 },
	{ "__builtin_object_size", BI_OBJECT_SIZE },
	{ "__builtin_unreachable", BI_UNREACHABLE },
};

void cexpr_init(struct csyms *syms)
{
	for (u32 i = 0; i < ARRAY_CNT(builtins); i++) {
		struct csym *s = csym_get(syms, builtins[i].name, strlen(builtins[i].name));

		s->keyword = CKW_BUILTIN;
		s->builtin = builtins[i].id;
	}
}

static bool ternary(struct cparse *p, struct cvalue *out);
static bool unary(struct cparse *p, struct cvalue *out);

static bool fail(struct cparse *p, const char *what)
{
	pp_report(p->pp, cparse_place(p), E_SYNTAX, "expected %s here", what);
	return false;
}

/* Counts a level; false: there are too many. */
static bool enter(struct cparse *p)
{
	if (p->nest >= MAX_NEST) {
		pp_report(p->pp, cparse_place(p), E_SYNTAX, "this expression is nested too deeply");
		return false;
	}
	p->nest++;
	return true;
}

static bool expect(struct cparse *p, u32 op, const char *what)
{
	return cparse_accept(p, op) || fail(p, what);
}

static struct cvalue constant(struct cty *type, s64 v)
{
	return (struct cvalue){ .type = type, .is_const = true, .v = v };
}

/* What comparisons have. */
static struct cty *int_type(const struct cparse *p)
{
	return p->is_plain ? &cty_long : &cty_int;
}

static struct cvalue unknown(struct cty *type)
{
	return (struct cvalue){ .type = type };
}

/* The value as the type holds it. */
static s64 cut(struct cty *type, s64 v)
{
	struct cty *t = cty_strip(type);

	if (t->kind == CTY_BOOL)
		return v != 0;
	if (t->kind != CTY_INT && t->kind != CTY_ENUM)
		return v;
	switch (t->size) {
	case 1:
		return t->is_signed ? (s8)v : (u8)v;
	case 2:
		return t->is_signed ? (s16)v : (u16)v;
	case 4:
		return t->is_signed ? (s32)v : (s64)(u32)v;
	}
	return v;
}

/* int at least; an enum is an int or wider. */
static struct cty *promote(struct cty *t)
{
	t = cty_strip(t);
	if (t->kind == CTY_ENUM)
		return t->size > 4 ? (t->is_signed ? &cty_long : &cty_ulong) : t->is_signed ? &cty_int : &cty_uint;
	return (t->kind == CTY_INT || t->kind == CTY_BOOL) && t->size < 4 ? &cty_int : t;
}

static struct cty *common(struct cty *a, struct cty *b)
{
	a = promote(a);
	b = promote(b);
	if (a->kind == CTY_FLOAT || b->kind == CTY_FLOAT)
		return a->kind != CTY_FLOAT ? b : b->kind != CTY_FLOAT || a->size >= b->size ? a : b;
	if (a->kind != CTY_INT)
		return a;
	if (b->kind != CTY_INT)
		return b;
	if (a->size != b->size)
		return a->size > b->size ? a : b;
	return !a->is_signed ? a : b;
}

/* An array or function where a pointer is wanted. */
static struct cty *decay(struct cparse *p, struct cty *t)
{
	struct cty *s = cty_strip(t);

	if (s->kind == CTY_ARRAY)
		return cty_pointer(p->arena, s->of);
	if (s->kind == CTY_FUNC)
		return cty_pointer(p->arena, s);
	return t;
}

/* ---- builtins ---- */

/* type, a.b[3].c */
static bool offsetof_(struct cparse *p, struct cvalue *out)
{
	struct cty *t = cparse_type_name(p);
	u64 bits = 0;

	if (!t || !expect(p, ',', "','"))
		return false;
	for (;;) {
		struct ctok tok = *cparse_tok(p);
		const struct cmember *m = tok.kind == CTOK_IDENT ? cty_member(t, tok.sym->name, &bits) : NULL;

		if (!m)
			return fail(p, "a member");
		cparse_advance(p);
		t = m->type;
		while (cparse_accept(p, '[')) {
			s64 i;

			if (!cexpr_const(p, &i) || !expect(p, ']', "']'"))
				return false;
			t = cty_strip(t);
			if (t->kind != CTY_ARRAY)
				return fail(p, "an array");
			t = t->of;
			bits += 8 * cty_size(t) * i;
		}
		if (!cparse_accept(p, '.'))
			break;
	}
	*out = constant(&cty_ulong, bits / 8);
	return true;
}

static bool is_same(struct cty *a, struct cty *b)
{
	a = cty_strip(a);
	b = cty_strip(b);
	if (a == b)
		return true;
	if (a->kind != b->kind)
		return false;
	if (a->kind == CTY_PTR || a->kind == CTY_ARRAY)
		return a->cnt == b->cnt && is_same(a->of, b->of);
	return false;
}

static bool builtin(struct cparse *p, enum builtin id, struct cvalue *out)
{
	struct cvalue a = {}, b;

	if (!expect(p, '(', "'('"))
		return false;
	switch (id) {
	case BI_OFFSETOF:
		if (!offsetof_(p, out))
			return false;
		break;
	case BI_TYPES_COMPATIBLE: {
		struct cty *x = cparse_type_name(p), *y;

		if (!x || !expect(p, ',', "','"))
			return false;
		y = cparse_type_name(p);
		if (!y)
			return false;
		*out = constant(&cty_int, is_same(x, y));
		break;
	}
	case BI_CHOOSE:
		if (!cexpr(p, &a) || !expect(p, ',', "','") || !cexpr(p, out) || !expect(p, ',', "','") || !cexpr(p, &b))
			return false;
		if (a.is_const && !a.v)
			*out = b;
		break;
	case BI_EXPECT:
		if (!cexpr(p, out) || !expect(p, ',', "','") || !cexpr(p, &b))
			return false;
		break;
	case BI_OBJECT_SIZE:
	case BI_UNREACHABLE:
		*out = unknown(&cty_ulong);
		while (!cparse_at(p, ')') && cparse_tok(p)->kind != CTOK_END) {
			if (!cparse_at(p, '('))
				cparse_advance(p);
			else if (!cparse_skip_balanced(p))
				return false;
		}
		break;
	case BI_CONSTANT_P:
	case BI_CLZ:
	case BI_CLZL:
	case BI_CTZ:
	case BI_FFS:
	case BI_POPCOUNT:
	case BI_BSWAP16:
	case BI_BSWAP32:
	case BI_BSWAP64:
		if (!cexpr(p, &a))
			return false;
		*out = a.is_const ? constant(&cty_int, 0) : unknown(&cty_int);
		if (id == BI_CONSTANT_P)
			*out = constant(&cty_int, a.is_const);
		else if (!a.is_const)
			break;
		else if (id == BI_CLZ)
			out->v = (u32)a.v ? __builtin_clz(a.v) : 32;
		else if (id == BI_CLZL)
			out->v = a.v ? __builtin_clzll(a.v) : 64;
		else if (id == BI_CTZ)
			out->v = a.v ? __builtin_ctzll(a.v) : 64;
		else if (id == BI_FFS)
			out->v = __builtin_ffsll(a.v);
		else if (id == BI_POPCOUNT)
			out->v = __builtin_popcountll(a.v);
		else if (id == BI_BSWAP16)
			*out = constant(&cty_ushort, __builtin_bswap16(a.v));
		else if (id == BI_BSWAP32)
			*out = constant(&cty_uint, __builtin_bswap32(a.v));
		else
			*out = constant(&cty_ulong, __builtin_bswap64(a.v));
		break;
	}
	return expect(p, ')', "')'");
}

/* ---- operands ---- */

static bool number(struct cparse *p, struct cvalue *out)
{
	struct ctok t = *cparse_tok(p);
	struct cnumber n;

	cparse_advance(p);
	if (p->host) {
		*out = constant(&cty_long, p->host->number(p->host->arg, &t));
		return true;
	}
	if (!cnumber_parse(t.s, t.len, &n) || (p->is_if && n.is_float)) {
		pp_report(p->pp, &t, E_BAD_LITERAL, "this is no whole number");
		return false;
	}
	if (n.is_float) {
		*out = constant(&cty_double, n.value);
		return true;
	}
	if (n.longs || p->is_plain || n.value > (n.is_unsigned || !n.is_decimal ? UINT32_MAX : INT32_MAX))
		*out = constant(n.is_unsigned || n.value >> 63 ? &cty_ulong : &cty_long, n.value);
	else
		*out = constant(n.is_unsigned || n.value > INT32_MAX ? &cty_uint : &cty_int, n.value);
	return true;
}

static bool string(struct cparse *p, struct cvalue *out)
{
	u64 len = 1;

	while (cparse_tok(p)->kind == CTOK_STR) {
		struct ctok *t = cparse_tok(p);

		for (u32 i = 1; i + 1 < t->len; i++, len++)
			i += t->s[i] == '\\';
		cparse_advance(p);
	}
	*out = unknown(cty_array(p->arena, &cty_char, len));
	return true;
}

/* _Generic(x, type: expr, …, default: expr) */
static bool generic(struct cparse *p, struct cvalue *out)
{
	struct cvalue x, e;
	bool found = false, has_default = false;
	struct cvalue by_default = {};

	cparse_advance(p);
	if (!expect(p, '(', "'('") || !cexpr(p, &x))
		return false;
	while (cparse_accept(p, ',')) {
		struct ctok *t = cparse_tok(p);
		struct cty *type = NULL;

		if (t->kind == CTOK_IDENT && str_eq(t->sym->name, "default"))
			cparse_advance(p);
		else if (!(type = cparse_type_name(p)))
			return false;
		if (!expect(p, ':', "':'") || !cexpr(p, &e))
			return false;
		if (!type) {
			by_default = e;
			has_default = true;
		} else if (!found && is_same(decay(p, x.type), type)) {
			*out = e;
			found = true;
		}
	}
	if (!found)
		*out = has_default ? by_default : unknown(&cty_int);
	return expect(p, ')', "')'");
}

/* The value of a name. */
static bool name(struct cparse *p, const struct ctok *t, struct cvalue *out)
{
	const struct csym *sym = t->sym;

	if (p->is_if)
		return pp_if_name(p, t, out);
	if (sym->is_const) {
		*out = constant(sym->is_huge ? &cty_ulong : sym->value == (s32)sym->value ? int_type(p) : &cty_long, sym->value);
		return true;
	}
	*out = unknown(sym->var ? sym->var : &cty_int);
	if (!p->host)
		return true;
	*out = constant(&cty_long, 0);
	if (p->host->constant(p->host->arg, sym->name, &out->v))
		return true;
	pp_report(p->pp, t, E_UNKNOWN_IDENTIFIER, "Unknown constant: '%s'", sym->name);
	diag_hint(p->host->diag, "#define it, or write the number");
	return false;
}

static bool primary(struct cparse *p, struct cvalue *out)
{
	struct ctok t = *cparse_tok(p);
	enum ckeyword kw = cparse_keyword(p);

	if (t.kind == CTOK_NUM)
		return number(p, out);
	if (t.kind == CTOK_STR && !p->is_plain)
		return string(p, out);
	if (t.kind == CTOK_CHAR) {
		cparse_advance(p);
		*out = constant(int_type(p), cchar_value(t.s, t.len));
		return true;
	}
	if (kw == CKW_GENERIC)
		return generic(p, out);
	if (t.kind == CTOK_IDENT && *t.s != '$' && (kw == CKW_NONE || kw == CKW_BUILTIN)) {
		cparse_advance(p);
		return kw == CKW_BUILTIN ? builtin(p, t.sym->builtin, out) : name(p, &t, out);
	}
	if (ctok_is(&t, '(')) {
		cparse_fill(p, 2);
		if (ctok_is(&p->buf[1], '{')) { /* ({ statements }) */
			*out = unknown(&cty_int);
			return cparse_skip_balanced(p);
		}
		cparse_advance(p);
		do {
			if (!cexpr(p, out))
				return false;
		} while (cparse_accept(p, ','));
		return expect(p, ')', "')'");
	}
	return fail(p, "a constant integer expression");
}

static bool postfix(struct cparse *p, struct cvalue *out)
{
	while (!p->is_plain) {
		struct cty *t = cty_strip(out->type);

		if (cparse_accept(p, '[')) {
			struct cvalue i;

			if (!cexpr(p, &i) || !expect(p, ']', "']'"))
				return false;
			*out = unknown(t->kind == CTY_ARRAY || t->kind == CTY_PTR ? t->of : &cty_int);
		} else if (cparse_at(p, '.') || cparse_at(p, COP_ARROW)) {
			bool is_arrow = cparse_at(p, COP_ARROW);
			const struct cmember *m;
			u64 bits = 0;
			s64 base = out->v;

			cparse_advance(p);
			if (is_arrow)
				t = t->kind == CTY_PTR || t->kind == CTY_ARRAY ? cty_strip(t->of) : t;
			if (cparse_tok(p)->kind != CTOK_IDENT)
				return fail(p, "a member");
			m = cty_member(t, cparse_tok(p)->sym->name, &bits);
			if (!m) {
				pp_report(p->pp, cparse_tok(p), E_UNKNOWN_FIELD, "no member '%s'", cparse_tok(p)->sym->name);
				return false;
			}
			cparse_advance(p);
			/* Of ((struct x *)0)->y the address is known: it is how headers wrote offsetof. */
			*out = unknown(m->type);
			out->v = base + bits / 8;
		} else if (cparse_at(p, '(')) {
			if (!cparse_skip_balanced(p))
				return false;
			if (t->kind == CTY_PTR)
				t = cty_strip(t->of);
			*out = unknown(t->kind == CTY_FUNC ? t->of : &cty_int);
		} else if (cparse_accept(p, COP_INC) || cparse_accept(p, COP_DEC)) {
			out->is_const = false;
		} else {
			break;
		}
	}
	return true;
}

/* "(" type ")", if that stands at tok; else *t is NULL. False: reported. */
static bool type_in_parens(struct cparse *p, struct cty **t)
{
	struct ctok paren = *cparse_tok(p);

	*t = NULL;
	if (!ctok_is(&paren, '('))
		return true;
	cparse_fill(p, 2);
	if (p->buf[1].kind != CTOK_IDENT)
		return true;
	cparse_advance(p);
	if (!cparse_at_type(p)) { /* gives it back */
		memmove(p->buf + 1, p->buf, p->buf_cnt++ * sizeof(*p->buf));
		p->buf[0] = paren;
		return true;
	}
	*t = cparse_type_name(p);
	return *t && expect(p, ')', "')'");
}

/* sizeof and _Alignof: of a type, or of what an expression would have. */
static bool size_operator(struct cparse *p, bool is_align, struct cvalue *out)
{
	struct cvalue v = {};
	struct cty *t;

	cparse_advance(p);
	if (p->host) { /* only types */
		if (!cparse_accept(p, '('))
			return cparse_fail(p, "'(' after sizeof");
		t = cparse_type_name(p);
		if (!t)
			return false;
		if (!cparse_accept(p, ')'))
			return cparse_fail(p, "')' after the type");
		cparse_complete(p, t);
	} else if (!type_in_parens(p, &t) || (!t && !unary(p, &v))) {
		return false;
	}
	t = t ? t : v.type;
	*out = constant(&cty_ulong, is_align ? cty_align(t) : cty_size(t));
	return true;
}

static bool cast_or_paren(struct cparse *p, struct cvalue *out, bool *is_cast)
{
	struct cty *t;

	if (!type_in_parens(p, &t))
		return false;
	*is_cast = t != NULL;
	if (!t)
		return true;
	if (cparse_at(p, '{')) { /* a literal of a struct */
		*out = unknown(t);
		return cparse_skip_balanced(p) && postfix(p, out);
	}
	if (!unary(p, out))
		return false;
	out->v = cut(t, out->v);
	/* The address of a member of nothing, see postfix(). */
	out->type = t;
	return true;
}

static bool unary(struct cparse *p, struct cvalue *out)
{
	enum ckeyword kw = cparse_keyword(p);
	struct ctok t = *cparse_tok(p);
	bool ok, is_cast;

	if (!enter(p))
		return false;
	if (kw == CKW_EXTENSION) {
		cparse_advance(p);
		ok = unary(p, out);
	} else if (kw == CKW_SIZEOF || kw == CKW_ALIGNOF) {
		ok = size_operator(p, kw == CKW_ALIGNOF, out);
	} else if (t.kind == CTOK_PUNCT && (t.op == '-' || t.op == '+' || t.op == '~' || t.op == '!')) {
		cparse_advance(p);
		ok = unary(p, out);
		if (ok) {
			out->type = t.op == '!' ? int_type(p) : promote(out->type);
			out->v = cut(out->type,
				     t.op == '-'         ? (s64)(0 - (u64)out->v) :
					     t.op == '~' ? ~out->v :
					     t.op == '!' ? !out->v :
							   out->v);
		}
	} else if (!p->is_plain && cparse_accept(p, '*')) {
		ok = unary(p, out);
		if (ok) {
			struct cty *t = cty_strip(out->type);

			*out = unknown(t->kind == CTY_PTR || t->kind == CTY_ARRAY ? t->of : t->kind == CTY_FUNC ? t : &cty_int);
		}
	} else if (!p->is_plain && cparse_accept(p, '&')) {
		ok = unary(p, out);
		if (ok) {
			out->type = cty_pointer(p->arena, out->type);
			out->is_const = out->v != 0; /* offsetof by hand */
		}
	} else if (!p->is_plain && (cparse_accept(p, COP_INC) || cparse_accept(p, COP_DEC))) {
		ok = unary(p, out);
		if (ok)
			out->is_const = false;
	} else if (cparse_at(p, '(')) {
		ok = cast_or_paren(p, out, &is_cast);
		if (ok && !is_cast)
			ok = primary(p, out) && postfix(p, out);
	} else {
		ok = primary(p, out) && postfix(p, out);
	}
	p->nest--;
	return ok;
}

static bool binary(struct cparse *p, u32 min, struct cvalue *l)
{
	if (!unary(p, l))
		return false;
	for (;;) {
		struct ctok op = *cparse_tok(p);
		u32 prec = op.kind == CTOK_PUNCT ? cprecedence(op.op) : 0;
		struct cvalue r;
		struct cty *type;
		bool is_unsigned;

		if (!prec || prec < min)
			return true;
		cparse_advance(p);
		if (!binary(p, prec + 1, &r))
			return false;
		if ((op.op == '/' || op.op == '%') && r.is_const && !r.v) {
			p->zero_at = *cparse_place(p);
			r.is_const = false;
		}
		if (op.op == COP_ANDAND || op.op == COP_OROR) {
			/* One side may decide alone. */
			bool decided = l->is_const && (op.op == COP_ANDAND ? !l->v : l->v != 0);

			*l = (struct cvalue){ int_type(p), decided || (l->is_const && r.is_const),
					      cbinary(op.op, l->v, r.v, false) };
			continue;
		}
		if (cty_strip(decay(p, l->type))->kind == CTY_PTR || cty_strip(decay(p, r.type))->kind == CTY_PTR) {
			bool is_difference = op.op == '-' && cty_strip(decay(p, r.type))->kind == CTY_PTR;

			type = prec <= 7                                      ? &cty_int :
				is_difference                                 ? &cty_long :
				cty_strip(decay(p, l->type))->kind == CTY_PTR ? decay(p, l->type) :
										decay(p, r.type);
			*l = (struct cvalue){ type, l->is_const && r.is_const && prec <= 7, cbinary(op.op, l->v, r.v, true) };
			continue;
		}
		type = prec == 8 ? promote(l->type) : common(l->type, r.type);
		is_unsigned = type->kind == CTY_INT && !type->is_signed;
		if (prec != 8) {
			l->v = cut(type, l->v);
			r.v = cut(type, r.v);
		}
		l->v = cut(type, cbinary(op.op, l->v, r.v, is_unsigned));
		l->is_const = l->is_const && r.is_const;
		l->type = prec == 6 || prec == 7 ? int_type(p) : type;
	}
}

static bool ternary(struct cparse *p, struct cvalue *out)
{
	struct cvalue c, a, b;
	bool ok;

	if (!binary(p, 1, &c))
		return false;
	if (!cparse_accept(p, '?')) {
		*out = c;
		return true;
	}
	if (!enter(p))
		return false;
	a = c;
	ok = (cparse_at(p, ':') || cexpr(p, &a)) && expect(p, ':', "':'") && ternary(p, &b);
	p->nest--;
	if (!ok)
		return false;
	*out = c.is_const ? (c.v ? a : b) : unknown(a.type);
	if (cty_is_int(a.type) && cty_is_int(b.type))
		out->type = common(a.type, b.type);
	else if (cty_strip(a.type)->kind == CTY_PTR && cty_strip(cty_strip(a.type)->of)->kind != CTY_VOID)
		out->type = a.type;
	else if (cty_strip(b.type)->kind == CTY_PTR)
		/* `1 ? (void *)x : (int *)0` has the other's type if x is the null pointer: how headers test for a constant. */
		out->type = a.is_const && !a.v ? b.type : a.type;
	return true;
}

bool cexpr(struct cparse *p, struct cvalue *out)
{
	if (!ternary(p, out))
		return false;
	/* An assignment has the left side's type, and no value that we know. */
	while (cparse_at(p, '=') || cparse_at(p, COP_ASSIGN_OP)) {
		struct cvalue right;

		cparse_advance(p);
		if (!ternary(p, &right))
			return false;
		out->is_const = false;
	}
	return true;
}

bool cexpr_constant(struct cparse *p, struct cvalue *out)
{
	struct ctok at = *cparse_place(p);

	p->zero_at = (struct ctok){};
	if (!ternary(p, out))
		return false;
	if (!out->is_const && p->zero_at.kind)
		pp_report(p->pp, &p->zero_at, E_SYNTAX, "division by zero in a constant expression");
	else if (!out->is_const)
		pp_report(p->pp, &at, E_SYNTAX, "expected a constant integer expression here");
	return out->is_const;
}

bool cexpr_const(struct cparse *p, s64 *v)
{
	struct cvalue e = {};
	bool ok = cexpr_constant(p, &e);

	*v = e.v;
	return ok;
}
