/* Expressions of C, for array lengths, enumerators, sizeof and typeof: each has a type, and a value if that is known. */
#include "c/number.h"
#include "c/parse.h"

#define MAX_NEST 200

enum builtin {
	BI_OFFSETOF = 1, BI_CONSTANT_P, BI_TYPES_COMPATIBLE, BI_CHOOSE, BI_EXPECT, BI_CLZ, BI_CLZL, BI_CTZ, BI_FFS, BI_POPCOUNT, BI_BSWAP16,
	BI_BSWAP32, BI_BSWAP64, BI_OBJECT_SIZE, BI_UNREACHABLE,
};

static const struct {
	const char *name;
	enum builtin id;
} builtins[] = {
	{ "__builtin_offsetof", BI_OFFSETOF }, { "__builtin_constant_p", BI_CONSTANT_P }, { "__builtin_types_compatible_p", BI_TYPES_COMPATIBLE },
	{ "__builtin_choose_expr", BI_CHOOSE }, { "__builtin_expect", BI_EXPECT }, { "__builtin_clz", BI_CLZ }, { "__builtin_clzl", BI_CLZL },
	{ "__builtin_clzll", BI_CLZL }, { "__builtin_ctz", BI_CTZ }, { "__builtin_ctzl", BI_CTZ }, { "__builtin_ctzll", BI_CTZ },
	{ "__builtin_ffs", BI_FFS }, { "__builtin_ffsl", BI_FFS }, { "__builtin_ffsll", BI_FFS }, { "__builtin_popcount", BI_POPCOUNT },
	{ "__builtin_popcountl", BI_POPCOUNT }, { "__builtin_popcountll", BI_POPCOUNT }, { "__builtin_bswap16", BI_BSWAP16 },
	{ "__builtin_bswap32", BI_BSWAP32 }, { "__builtin_bswap64", BI_BSWAP64 }, { "__builtin_object_size", BI_OBJECT_SIZE },
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
	struct ctok *t = cparse_tok(p);

	pp_error(p->pp, "expected %s in an expression, found '%.*s'", what, (int)MIN(t->len, 40u), t->kind == CTOK_END ? "" : t->s);
	return false;
}

static bool expect(struct cparse *p, u32 op, const char *what)
{
	return cparse_accept(p, op) || fail(p, what);
}

static struct cvalue constant(struct cty *type, s64 v)
{
	return (struct cvalue){ .type = type, .is_const = true, .v = v };
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
	case 1: return t->is_signed ? (s8)v : (u8)v;
	case 2: return t->is_signed ? (s16)v : (u16)v;
	case 4: return t->is_signed ? (s32)v : (s64)(u32)v;
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
	case BI_OBJECT_SIZE: case BI_UNREACHABLE:
		*out = unknown(&cty_ulong);
		while (!cparse_at(p, ')') && cparse_tok(p)->kind != CTOK_END) {
			if (cparse_at(p, '('))
				cparse_skip_balanced(p);
			else
				cparse_advance(p);
		}
		break;
	case BI_CONSTANT_P: case BI_CLZ: case BI_CLZL: case BI_CTZ: case BI_FFS: case BI_POPCOUNT: case BI_BSWAP16: case BI_BSWAP32: case BI_BSWAP64:
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
	if (!cnumber_parse(t.s, t.len, &n))
		return fail(p, "a number");
	if (n.is_float) {
		*out = constant(&cty_double, n.value);
		return true;
	}
	if (n.longs || n.value > (n.is_unsigned || !n.is_decimal ? UINT32_MAX : INT32_MAX))
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

static bool primary(struct cparse *p, struct cvalue *out)
{
	struct ctok t = *cparse_tok(p);

	if (t.kind == CTOK_NUM)
		return number(p, out);
	if (t.kind == CTOK_STR)
		return string(p, out);
	if (t.kind == CTOK_CHAR) {
		cparse_advance(p);
		*out = constant(&cty_int, cchar_value(t.s, t.len));
		return true;
	}
	if (t.kind == CTOK_IDENT) {
		if (t.sym->keyword == CKW_BUILTIN) {
			cparse_advance(p);
			return builtin(p, t.sym->builtin, out);
		}
		if (t.sym->keyword == CKW_GENERIC)
			return generic(p, out);
		if (t.sym->keyword != CKW_NONE)
			return fail(p, "a value");
		cparse_advance(p);
		if (t.sym->is_const)
			*out = constant(t.sym->is_huge ? &cty_ulong : t.sym->value == (s32)t.sym->value ? &cty_int : &cty_long, t.sym->value);
		else
			*out = unknown(t.sym->var ? t.sym->var : &cty_int);
		return true;
	}
	if (ctok_is(&t, '(')) {
		cparse_fill(p, 2);
		if (ctok_is(&p->buf[1], '{')) { /* ({ statements }) */
			cparse_skip_balanced(p);
			*out = unknown(&cty_int);
			return true;
		}
		cparse_advance(p);
		do {
			if (!cexpr(p, out))
				return false;
		} while (cparse_accept(p, ','));
		return expect(p, ')', "')'");
	}
	return fail(p, "a value");
}

static bool postfix(struct cparse *p, struct cvalue *out)
{
	for (;;) {
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
				pp_error(p->pp, "no member '%s'", cparse_tok(p)->sym->name);
				return false;
			}
			cparse_advance(p);
			/* Of ((struct x *)0)->y the address is known: it is how headers wrote offsetof. */
			*out = unknown(m->type);
			out->v = base + bits / 8;
		} else if (cparse_at(p, '(')) {
			cparse_skip_balanced(p);
			if (t->kind == CTY_PTR)
				t = cty_strip(t->of);
			*out = unknown(t->kind == CTY_FUNC ? t->of : &cty_int);
		} else if (cparse_accept(p, COP_INC) || cparse_accept(p, COP_DEC)) {
			out->is_const = false;
		} else {
			return true;
		}
	}
}

/* sizeof and _Alignof: of a type, or of what an expression would have. */
static bool size_operator(struct cparse *p, bool is_align, struct cvalue *out)
{
	struct cty *t = NULL;
	struct cvalue v;

	cparse_advance(p);
	if (cparse_at(p, '(')) {
		cparse_fill(p, 2);
		if (p->buf[1].kind == CTOK_IDENT) {
			struct ctok paren = p->buf[0];

			cparse_advance(p);
			if (cparse_at_type(p)) {
				t = cparse_type_name(p);
				if (!t || !expect(p, ')', "')'"))
					return false;
				/* sizeof(type){…} does not happen in headers. */
			} else {
				/* Give it back. */
				memmove(p->buf + 1, p->buf, p->buf_cnt * sizeof(*p->buf));
				p->buf[0] = paren;
				p->buf_cnt++;
			}
		}
	}
	if (!t) {
		if (!unary(p, &v))
			return false;
		t = v.type;
	}
	*out = constant(&cty_ulong, is_align ? cty_align(t) : cty_size(t));
	return true;
}

static bool cast_or_paren(struct cparse *p, struct cvalue *out, bool *is_cast)
{
	struct ctok paren = *cparse_tok(p);
	struct cty *t;

	*is_cast = false;
	cparse_fill(p, 2);
	if (p->buf[1].kind != CTOK_IDENT)
		return true;
	cparse_advance(p);
	if (!cparse_at_type(p)) {
		memmove(p->buf + 1, p->buf, p->buf_cnt * sizeof(*p->buf));
		p->buf[0] = paren;
		p->buf_cnt++;
		return true;
	}
	*is_cast = true;
	t = cparse_type_name(p);
	if (!t || !expect(p, ')', "')'"))
		return false;
	if (cparse_at(p, '{')) { /* a literal of a struct */
		cparse_skip_balanced(p);
		*out = unknown(t);
		return postfix(p, out);
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
	bool ok, is_cast;

	if (++p->nest > MAX_NEST) {
		p->nest--;
		return fail(p, "less nesting");
	}
	if (kw == CKW_EXTENSION) {
		cparse_advance(p);
		ok = unary(p, out);
	} else if (kw == CKW_SIZEOF || kw == CKW_ALIGNOF) {
		ok = size_operator(p, kw == CKW_ALIGNOF, out);
	} else if (cparse_accept(p, '-')) {
		ok = unary(p, out);
		if (ok) {
			out->type = promote(out->type);
			out->v = cut(out->type, (s64)(0 - (u64)out->v));
		}
	} else if (cparse_accept(p, '+')) {
		ok = unary(p, out);
		if (ok)
			out->type = promote(out->type);
	} else if (cparse_accept(p, '~')) {
		ok = unary(p, out);
		if (ok) {
			out->type = promote(out->type);
			out->v = cut(out->type, ~out->v);
		}
	} else if (cparse_accept(p, '!')) {
		ok = unary(p, out);
		if (ok) {
			out->type = &cty_int;
			out->v = !out->v;
		}
	} else if (cparse_accept(p, '*')) {
		ok = unary(p, out);
		if (ok) {
			struct cty *t = cty_strip(out->type);

			*out = unknown(t->kind == CTY_PTR || t->kind == CTY_ARRAY ? t->of : t->kind == CTY_FUNC ? t : &cty_int);
		}
	} else if (cparse_accept(p, '&')) {
		ok = unary(p, out);
		if (ok) {
			out->type = cty_pointer(p->arena, out->type);
			out->is_const = out->v != 0; /* offsetof by hand */
		}
	} else if (cparse_accept(p, COP_INC) || cparse_accept(p, COP_DEC)) {
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
		if (op.op == COP_ANDAND || op.op == COP_OROR) {
			/* One side may decide alone. */
			bool decided = l->is_const && (op.op == COP_ANDAND ? !l->v : l->v != 0);

			*l = (struct cvalue){ &cty_int, decided || (l->is_const && r.is_const), cbinary(op.op, l->v, r.v, false) };
			continue;
		}
		if (cty_strip(decay(p, l->type))->kind == CTY_PTR || cty_strip(decay(p, r.type))->kind == CTY_PTR) {
			bool is_difference = op.op == '-' && cty_strip(decay(p, r.type))->kind == CTY_PTR;

			type = prec <= 7 ? &cty_int : is_difference ? &cty_long : cty_strip(decay(p, l->type))->kind == CTY_PTR ? decay(p, l->type) : decay(p, r.type);
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
		l->is_const = l->is_const && r.is_const && !((op.op == '/' || op.op == '%') && !r.v);
		l->type = prec == 6 || prec == 7 ? &cty_int : type;
	}
}

static bool ternary(struct cparse *p, struct cvalue *out)
{
	struct cvalue c, a, b;
	bool has_middle;

	if (!binary(p, 1, &c))
		return false;
	if (!cparse_accept(p, '?')) {
		*out = c;
		return true;
	}
	has_middle = !cparse_at(p, ':');
	a = c;
	if (has_middle && !cexpr(p, &a))
		return false;
	if (!expect(p, ':', "':'") || !ternary(p, &b))
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
	if (!ternary(p, out))
		return false;
	if (!out->is_const)
		pp_error(p->pp, "a number that is not known");
	return out->is_const;
}

bool cexpr_const(struct cparse *p, s64 *v)
{
	struct cvalue e = {};
	bool ok = cexpr_constant(p, &e);

	*v = e.v;
	return ok;
}
