/* SPDX-License-Identifier: GPL-2.0-only */
/* The conditions of #if and #elif: expressions of C, in which a name that is not defined is 0. */
#include "c/parse.h"
#include "c/pp_int.h"

/* `defined X`, `defined(X)` */
static bool defined(struct cparse *p, struct cvalue *out)
{
	bool in_parens = cparse_accept(p, '(');
	const struct ctok *t = cparse_tok(p);

	if (t->kind != CTOK_IDENT) {
		pp_report(p->pp, &p->prev, E_SYNTAX, "a name must follow 'defined'");
		return false;
	}
	out->v = t->sym->macro || (!p->host && str_starts(t->sym->name, "__has_"));
	cparse_advance(p);
	if (!in_parens || cparse_accept(p, ')'))
		return true;
	pp_report(p->pp, &p->prev, E_SYNTAX, "expected ')' after the name");
	return false;
}

/* __has_include(…), __has_attribute(x) and the like; at the "(". Headers do without every attribute and builtin, so we have none.
 */
static bool has(struct cparse *p, const struct csym *what, struct cvalue *out)
{
	struct pp *pp = p->pp;
	const struct frame *f = pp_source_frame(pp);
	bool is_next = what == pp->s_has_include_next, is_quoted = false;
	struct toks inside = {};
	u32 depth = 0;
	const char *name;

	do {
		depth += cparse_at(p, '(');
		depth -= cparse_at(p, ')');
		vec_push(&inside.v, *cparse_tok(p));
		cparse_advance(p);
	} while (depth && cparse_tok(p)->kind != CTOK_END);
	name = pp_header_name(pp, inside.v.at + 1, inside.v.cnt - 1, &is_quoted);
	vec_free(&inside.v);
	if (what != pp->s_has_include && !is_next)
		return true;
	if (!name)
		pp_report(pp, &p->prev, E_SYNTAX, "expected the name of a header here");
	else
		out->v = pp_find_file(pp, name, is_quoted && f ? f->file->folder : NULL, is_next && f ? f->file->dir : 0) != NULL;
	return name != NULL;
}

bool pp_if_name(struct cparse *p, const struct ctok *t, struct cvalue *out)
{
	*out = (struct cvalue){ .type = &cty_long, .is_const = true };
	if (t->sym == p->pp->s_defined)
		return defined(p, out);
	if (!cparse_at(p, '(')) {
		out->v = p->host && str_eq(t->sym->name, "true"); /* scripts have a word for 1 */
		return true;
	}
	if (!p->host && str_starts(t->sym->name, "__has_"))
		return has(p, t->sym, out);
	pp_report(p->pp, t, E_SYNTAX, "no macro of this name has parameters");
	return false;
}

bool pp_condition(struct pp *pp, const struct ctok *at)
{
	struct cparse p = { .pp = pp, .arena = pp->arena, .host = pp->host, .is_plain = true, .is_if = true, .prev = *at };
	u32 bottom = pp->bottom;
	struct cvalue v = {};
	bool ok;

	/* Without an expression: the place behind the word. */
	p.prev.off += p.prev.len;
	p.prev.len = 0;
	pp->bottom = pp->frames.cnt;
	pp_push_line(pp);
	ok = cexpr_constant(&p, &v);
	if (ok && cparse_tok(&p)->kind != CTOK_END) {
		pp_report(pp, cparse_tok(&p), E_SYNTAX, "the condition should end here");
		ok = false;
	}
	pp_pop_to(pp, pp->bottom);
	pp->bottom = bottom;
	/* As GNU does with a macro that is not there: false. */
	return ok && v.v;
}
