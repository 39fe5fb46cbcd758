/* The expressions of #if and #elif. */
#include "c/pp_int.h"

#include "c/number.h"

struct eval {
	struct pp *pp;
	const struct ctok *t;
	u32 at, cnt, depth;
	bool is_bad;
};

struct num {
	s64 v;
	bool is_unsigned;
};

static struct num eval_ternary(struct eval *e);

static bool eval_accept(struct eval *e, u32 op)
{
	if (e->at >= e->cnt || !ctok_is(&e->t[e->at], op))
		return false;
	e->at++;
	return true;
}

/* `defined X`, `defined(X)`, __has_include(…), __has_attribute(x) and its like. */
static struct num eval_name(struct eval *e)
{
	const struct ctok *t = &e->t[e->at++];
	struct frame *f = pp_source_frame(e->pp);
	struct num r = {};

	if (t->sym == e->pp->s_defined) {
		bool in_parens = eval_accept(e, '(');

		if (e->at < e->cnt && e->t[e->at].kind == CTOK_IDENT) {
			struct csym *sym = e->t[e->at++].sym;

			r.v = sym->macro || str_starts(sym->name, "__has_");
		} else {
			e->is_bad = true;
		}
		if (in_parens && !eval_accept(e, ')'))
			e->is_bad = true;
		return r;
	}
	if ((t->sym == e->pp->s_has_include || t->sym == e->pp->s_has_include_next) && eval_accept(e, '(')) {
		bool is_quoted = false;
		u32 used = 0;
		const char *name = pp_header_name(e->pp, e->t + e->at, e->cnt - e->at, &is_quoted, &used);

		if (!name) {
			e->is_bad = true;
			return r;
		}
		e->at += used;
		r.v = pp_find_file(e->pp, name, is_quoted && f ? f->file->folder : NULL,
				t->sym == e->pp->s_has_include_next && f ? f->file->dir : 0) != NULL;
		eval_accept(e, ')');
		return r;
	}
	/* We have no attribute and no builtin to offer that a header could not do without. */
	if (str_starts(t->sym->name, "__has_") && eval_accept(e, '(')) {
		u32 depth = 1;

		while (e->at < e->cnt && depth) {
			depth += ctok_is(&e->t[e->at], '(');
			depth -= ctok_is(&e->t[e->at], ')');
			e->at++;
		}
		return r;
	}
	/* Every other name is 0; a call of a macro that does not exist is an error that many headers guard against. */
	return r;
}

static struct num eval_unary(struct eval *e)
{
	struct num r = {};
	const struct ctok *t;

	if (e->at >= e->cnt || ++e->depth > 400) {
		e->is_bad = true;
		return r;
	}
	t = &e->t[e->at];
	if (eval_accept(e, '-')) {
		r = eval_unary(e);
		r.v = (s64)(0 - (u64)r.v);
	} else if (eval_accept(e, '+')) {
		r = eval_unary(e);
	} else if (eval_accept(e, '!')) {
		r = eval_unary(e);
		r = (struct num){ !r.v };
	} else if (eval_accept(e, '~')) {
		r = eval_unary(e);
		r.v = ~r.v;
	} else if (eval_accept(e, '(')) {
		r = eval_ternary(e);
		if (!eval_accept(e, ')'))
			e->is_bad = true;
	} else if (t->kind == CTOK_NUM) {
		struct cnumber n;

		e->at++;
		if (!cnumber_parse(t->s, t->len, &n) || n.is_float)
			e->is_bad = true;
		r = (struct num){ n.value, n.is_unsigned };
	} else if (t->kind == CTOK_CHAR) {
		e->at++;
		r.v = cchar_value(t->s, t->len);
	} else if (t->kind == CTOK_IDENT) {
		r = eval_name(e);
	} else {
		e->is_bad = true;
		e->at++;
	}
	e->depth--;
	return r;
}

static struct num eval_binary(struct eval *e, u32 min)
{
	struct num l = eval_unary(e);

	while (e->at < e->cnt && !e->is_bad) {
		const struct ctok *op = &e->t[e->at];
		u32 prec = op->kind == CTOK_PUNCT ? cprecedence(op->op) : 0;
		struct num r;

		if (!prec || prec < min)
			break;
		e->at++;
		r = eval_binary(e, prec + 1);
		l = (struct num){ .v = cbinary(op->op, l.v, r.v, l.is_unsigned || r.is_unsigned), .is_unsigned = prec >= 8 || (prec >= 3 && prec <= 5) ? l.is_unsigned || r.is_unsigned : false };
	}
	return l;
}

static struct num eval_ternary(struct eval *e)
{
	struct num c = eval_binary(e, 1), a, b;

	if (!eval_accept(e, '?'))
		return c;
	a = eval_ternary(e);
	if (!eval_accept(e, ':')) {
		e->is_bad = true;
		return c;
	}
	b = eval_ternary(e);
	return c.v ? a : b;
}

bool pp_condition(struct pp *pp, struct frame *f)
{
	struct toks line = {}, full = {};
	const struct ctok *toks;
	struct eval e = { .pp = pp };
	struct num r;

	pp_line_tokens(pp, &f->src, &line);
	toks = pp_keep(pp, &line);
	pp_expand_list(pp, toks, line.v.cnt, true, &full);
	e.t = full.v.at;
	e.cnt = full.v.cnt;
	r = eval_ternary(&e);
	if (e.is_bad || e.at < e.cnt) {
		/* As GNU does with a macro that is not there: false. */
		pp_error(pp, "cannot compute this #if");
		r.v = 0;
	}
	vec_free(&line.v);
	vec_free(&full.v);
	return r.v != 0;
}
