/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines that start with #: #define, #include, the branches of #if, #pragma. */
#include "c/pp_int.h"

#include "c/number.h"

void pp_line_tokens(struct pp *pp, struct csource *src, struct toks *out)
{
	for (;;) {
		struct ctok t = ctok_next(src, &pp->syms, true);

		if (t.kind == CTOK_END)
			return;
		vec_push(&out->v, t);
	}
}

/* [ name { "," name } ] [ [ name ] "..." ] ")" ; behind the "(". Returns an error message, or NULL. */
static const char *define_params(struct pp *pp, struct csource *src, struct cmacro *m)
{
	struct ctok t = ctok_next(src, &pp->syms, true);
	vec(struct csym *) params = {};
	const char *why = NULL;

	while (!why && !(ctok_is(&t, ')') && !params.cnt)) {
		bool is_rest = ctok_is(&t, COP_ELLIPSIS);

		if (!is_rest && t.kind != CTOK_IDENT) {
			why = "the parameters of this macro are no list of names";
			break;
		}
		avec_push(pp->arena, &params, is_rest ? pp->s_va_args : t.sym);
		m->is_variadic = is_rest;
		t = ctok_next(src, &pp->syms, true);
		if (!is_rest && ctok_is(&t, COP_ELLIPSIS)) { /* `args...` gives the rest a name */
			m->is_variadic = true;
			t = ctok_next(src, &pp->syms, true);
		}
		if (ctok_is(&t, ')'))
			break;
		if (!ctok_is(&t, ',') || m->is_variadic)
			why = "the parameters of this macro are not closed by ')'";
		t = ctok_next(src, &pp->syms, true);
	}
	m->params = params.at;
	m->param_cnt = params.cnt;
	return why;
}

void pp_define_line(struct pp *pp, struct csource *src, const struct ctok *at)
{
	struct ctok name = ctok_next(src, &pp->syms, true);
	struct cmacro *m = arena_new(pp->arena, struct cmacro);
	struct toks body = {};

	if (name.kind != CTOK_IDENT || *name.s == '$') {
		pp_report(pp, at, E_SYNTAX, "a name must follow #define");
		return;
	}
	m->sym = name.sym;
	m->is_function = *src->p == '(';
	if (m->is_function) {
		const char *why;

		src->p++;
		why = define_params(pp, src, m);
		if (why) {
			pp_report(pp, &name, E_SYNTAX, "%s", why);
			return;
		}
	}
	pp_line_tokens(pp, src, &body);
	m->src = src->src;
	m->text = src->base;
	m->begin = m->end = src->end - src->base;
	if (body.v.cnt) {
		body.v.at[0].has_space = false;
		m->begin = body.v.at[0].off;
	}
	m->body = (struct ctok *)pp_keep(pp, &body);
	m->body_cnt = body.v.cnt;
	vec_free(&body.v);
	m->sym->macro = m;
}

const char *pp_header_name(struct pp *pp, const struct ctok *toks, u32 cnt, bool *is_quoted)
{
	struct sbuf b = {};
	const char *name;

	if (!cnt)
		return NULL;
	*is_quoted = toks[0].kind == CTOK_STR;
	if (*is_quoted) /* which may not be closed */
		return arena_strndup(pp->arena, toks[0].s + 1, strcspn(toks[0].s + 1, "\"\n"));
	if (!ctok_is(&toks[0], '<'))
		return NULL;
	for (u32 i = 1; i < cnt && !ctok_is(&toks[i], '>'); i++) {
		if (i > 1 && toks[i].has_space)
			sbuf_putc(&b, ' ');
		sbuf_add(&b, toks[i].s, toks[i].len);
	}
	name = arena_strdup(pp->arena, sbuf_str(&b));
	sbuf_release(&b);
	return name;
}

void pp_push_line(struct pp *pp)
{
	struct toks line = {};
	const struct ctok *list;
	bool in_name = false; /* between < and > of __has_include */

	pp_line_tokens(pp, &pp->frames.at[pp->frames.cnt - 1].src, &line);
	for (u32 i = 1; i < line.v.cnt; i++) {
		const struct ctok *before = &line.v.at[i - 1];

		/* The operand of `defined` and of __has_… stays. */
		if (ctok_is(before, '(') && i > 1)
			before--;
		if (before->kind == CTOK_IDENT && (before->sym == pp->s_defined || str_starts(before->sym->name, "__has_"))) {
			line.v.at[i].is_fixed = true;
			in_name = ctok_is(&line.v.at[i], '<');
		}
		in_name &= !ctok_is(&line.v.at[i], '>');
		line.v.at[i].is_fixed |= in_name;
	}
	list = pp_keep(pp, &line);
	pp_push_list(pp, list, line.v.cnt, NULL, line.v.cnt ? &list[0] : NULL);
	vec_free(&line.v);
}

static void include_directive(struct pp *pp, const struct ctok *at, bool is_next)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
	const char *name, *folder = f->file->folder;
	u32 stop = pp->frames.cnt, first = is_next ? f->file->dir : 0;
	struct toks line = {};
	bool is_quoted = false;
	struct csource begin = f->src;

	pp_line_tokens(pp, &f->src, &line);
	name = pp_header_name(pp, line.v.at, line.v.cnt, &is_quoted);
	if (!name) {
		f->src = begin;
		line.v.cnt = 0;
		pp_push_line(pp);
		pp_expand_to(pp, stop, &line);
		name = pp_header_name(pp, line.v.at, line.v.cnt, &is_quoted);
	}
	vec_free(&line.v);
	if (pp->host) {
		if (name)
			pp->host->include(pp->host->arg, name, is_quoted, ctok_span(at));
	} else if (!name) {
		pp_report(pp, at, E_SYNTAX, "#include without a name");
	} else if (!pp_include_from(pp, name, is_quoted && !is_next ? folder : NULL, first)) {
		pp_report(pp, at, E_IMPORT, "cannot find %s", name);
	}
}

/* The name behind #ifdef and #undef. NULL: reported. */
static struct csym *take_name(struct pp *pp, struct csource *src, const struct ctok *at)
{
	struct ctok t = ctok_next(src, &pp->syms, true);

	if (t.kind == CTOK_IDENT)
		return t.sym;
	pp_report(pp, at, E_SYNTAX, "a name must follow");
	return NULL;
}

/* ---- conditions ---- */

/* Behind the word of #if, #elif, #ifdef, #elifndef and their like: does it hold? */
static bool holds(struct pp *pp, const char *word, const struct ctok *at, struct csym **name)
{
	if (str_eq(word, "if") || str_eq(word, "elif"))
		return pp_condition(pp, at);
	*name = take_name(pp, &pp->frames.at[pp->frames.cnt - 1].src, at);
	return *name && ((*name)->macro != NULL) == (strstr(word, "ifdef") != NULL);
}

static void begin_cond(struct pp *pp, const char *word, const struct ctok *at)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
	struct cond c = { .at = *at, .was_on = pp_is_on(pp) };
	bool is_outer = pp->conds.cnt == f->cond_base;
	struct csym *name = NULL;

	c.is_guard = str_eq(word, "ifndef") && is_outer && !f->saw_token && !f->guard;
	c.is_on = c.is_taken = c.was_on && holds(pp, word, at, &name);
	f = &pp->frames.at[pp->frames.cnt - 1]; /* computing may have moved the frames */
	if (c.is_guard)
		f->guard = name;
	c.is_guard &= name != NULL;
	f->saw_token |= is_outer && !c.is_guard;
	vec_push(&pp->conds, c);
}

/* #else, #elif, #endif */
static void next_branch(struct pp *pp, const char *word, const struct ctok *at)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
	struct cond *c = pp->conds.cnt > f->cond_base ? &pp->conds.at[pp->conds.cnt - 1] : NULL;
	bool is_else = str_eq(word, "else"), is_on;
	struct csym *name;

	if (!c) {
		pp_report(pp, at, E_SYNTAX, "there is no #if that this belongs to");
		return;
	}
	if (str_eq(word, "endif")) {
		f->guard_closed |= c->is_guard;
		pp->conds.cnt--;
		return;
	}
	if (c->was_else)
		pp_report(pp, at, E_SYNTAX, "this #if has had its #else");
	c->is_guard = false;
	c->was_else |= is_else;
	is_on = c->was_on && !c->is_taken && (is_else || holds(pp, word, at, &name));
	c = &pp->conds.at[pp->conds.cnt - 1];
	c->is_on = is_on;
	c->is_taken |= is_on;
}

/* "(" [ "push" | "pop" ] [ [ "," ] n ] ")" */
static void pragma_pack(struct pp *pp, struct csource *src)
{
	bool has_word = false;
	u32 n = 0;

	for (;;) {
		struct ctok t = ctok_next(src, &pp->syms, true);
		struct cnumber num;

		if (t.kind == CTOK_END || ctok_is(&t, ')'))
			break;
		if (t.kind == CTOK_NUM && cnumber_parse(t.s, t.len, &num) && is_pow2(num.value) && num.value <= 16)
			n = num.value;
		if (t.kind != CTOK_IDENT)
			continue;
		has_word = true;
		if (str_eq(t.sym->name, "push"))
			vec_push(&pp->packs, pp->pack);
		else if (str_eq(t.sym->name, "pop"))
			pp->pack = pp->packs.cnt ? pp->packs.at[--pp->packs.cnt] : 0;
	}
	if (n || !has_word)
		pp->pack = n;
}

bool pp_directive(struct pp *pp, const struct ctok *hash)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
	struct ctok t = ctok_next(&f->src, &pp->syms, true), at = *hash;
	const char *word = t.kind == CTOK_IDENT ? t.sym->name : "";
	bool is_on = pp_is_on(pp), is_known = true;
	struct csym *name;

	at.len = t.off + (*word ? t.len : 0) - at.off;
	if (is_on && *word && !str_eq(word, "ifndef") && pp->conds.cnt == f->cond_base && !str_eq(word, "pragma"))
		f->saw_token = true;
	if (str_eq(word, "if") || str_eq(word, "ifdef") || str_eq(word, "ifndef")) {
		begin_cond(pp, word, &at);
	} else if (str_eq(word, "else") || str_eq(word, "endif") || str_eq(word, "elif") || str_eq(word, "elifdef") ||
		   str_eq(word, "elifndef")) {
		next_branch(pp, word, &at);
	} else if (!is_on) {
		return true;
	} else if (str_eq(word, "define")) {
		pp_define_line(pp, &f->src, &at);
	} else if (str_eq(word, "undef")) {
		name = take_name(pp, &f->src, &at);
		if (name)
			name->macro = NULL;
	} else if (str_eq(word, "include") || (!pp->host && (str_eq(word, "import") || str_eq(word, "include_next")))) {
		include_directive(pp, &at, str_eq(word, "include_next"));
		return true;
	} else if (str_eq(word, "error")) {
		t = ctok_next(&f->src, &pp->syms, true);
		pp_report(pp, &at, E_SYNTAX, "#error %.*s", t.kind == CTOK_END ? 0 : (int)strcspn(t.s, "\n"), t.s);
	} else if (str_eq(word, "pragma") && !pp->host) {
		t = ctok_next(&f->src, &pp->syms, true);
		if (t.kind == CTOK_IDENT && str_eq(t.sym->name, "once"))
			f->file->is_once = true;
		else if (t.kind == CTOK_IDENT && str_eq(t.sym->name, "pack"))
			pragma_pack(pp, &f->src);
	} else {
		is_known = str_eq(word, "pragma") || str_eq(word, "warning") || str_eq(word, "line");
	}
	f = &pp->frames.at[pp->frames.cnt - 1]; /* computing may have moved the frames */
	while (ctok_next(&f->src, &pp->syms, true).kind != CTOK_END)
		;
	return is_known;
}
