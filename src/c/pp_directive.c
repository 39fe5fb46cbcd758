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

void pp_define_line(struct pp *pp, struct csource *src)
{
	struct ctok name = ctok_next(src, &pp->syms, true), t;
	struct cmacro *m = arena_new(pp->arena, struct cmacro);
	vec(struct csym *) params = {};
	struct toks body = {};

	if (name.kind != CTOK_IDENT) {
		pp_error(pp, "#define without a name");
		return;
	}
	m->sym = name.sym;
	if (*src->p == '(') {
		m->is_function = true;
		ctok_next(src, &pp->syms, true);
		for (;;) {
			t = ctok_next(src, &pp->syms, true);
			if (t.kind == CTOK_END || ctok_is(&t, ')'))
				break;
			if (ctok_is(&t, ',') || m->is_variadic)
				continue;
			if (ctok_is(&t, COP_ELLIPSIS)) {
				m->is_variadic = true;
				/* `args...` names them; `...` alone is __VA_ARGS__ */
				if (!(params.cnt && t.s > src->p - 64 && t.s[-1] != ',' && t.s[-1] != '(' && t.s[-1] != ' '))
					vec_push(&params, pp->s_va_args);
			} else if (t.kind == CTOK_IDENT) {
				vec_push(&params, t.sym);
			}
		}
	}
	pp_line_tokens(pp, src, &body);
	if (body.v.cnt) {
		body.v.at[0].has_space = false;
		m->text = body.v.at[0].s;
		m->text_len = body.v.at[body.v.cnt - 1].s + body.v.at[body.v.cnt - 1].len - m->text;
	}
	m->body = (struct ctok *)pp_keep(pp, &body);
	m->body_cnt = body.v.cnt;
	m->param_cnt = params.cnt;
	m->params = arena_alloc(pp->arena, (params.cnt + 1) * sizeof(*m->params));
	if (params.cnt)
		memcpy(m->params, params.at, params.cnt * sizeof(*m->params));
	vec_free(&body.v);
	vec_free(&params);
	m->sym->macro = m;
}

const char *pp_header_name(struct pp *pp, const struct ctok *toks, u32 cnt, bool *is_quoted, u32 *used)
{
	struct sbuf b = {};
	const char *name;
	u32 i;

	if (!cnt)
		return NULL;
	if (toks[0].kind == CTOK_STR && toks[0].len >= 2) {
		*is_quoted = true;
		*used = 1;
		return arena_strndup(pp->arena, toks[0].s + 1, toks[0].len - 2);
	}
	if (!ctok_is(&toks[0], '<'))
		return NULL;
	for (i = 1; i < cnt && !ctok_is(&toks[i], '>'); i++) {
		if (i > 1 && toks[i].has_space)
			sbuf_putc(&b, ' ');
		sbuf_add(&b, toks[i].s, toks[i].len);
	}
	*is_quoted = false;
	*used = i + 1;
	name = arena_strdup(pp->arena, sbuf_str(&b));
	sbuf_release(&b);
	return i < cnt ? name : NULL;
}

void pp_expand_list(struct pp *pp, const struct ctok *toks, u32 cnt, bool keep_defined, struct toks *out)
{
	u32 stop = pp->frames.cnt;
	struct toks copy = {};
	const struct ctok *list;

	for (u32 i = 0; i < cnt; i++) {
		struct ctok t = toks[i];

		if (keep_defined && i && t.kind == CTOK_IDENT) {
			const struct ctok *before = &toks[i - 1];

			if (ctok_is(before, '(') && i > 1)
				before = &toks[i - 2];
			if (before->kind == CTOK_IDENT && (before->sym == pp->s_defined || str_starts(before->sym->name, "__has_")))
				t.is_fixed = true;
		}
		vec_push(&copy.v, t);
	}
	list = pp_keep(pp, &copy);
	pp_push_list(pp, list, copy.v.cnt, NULL, false);
	vec_free(&copy.v);
	for (;;) {
		struct ctok t = pp_next_expanded(pp, stop);

		if (t.kind == CTOK_END)
			break;
		vec_push(&out->v, t);
	}
}

static void include_directive(struct pp *pp, struct frame *f, bool is_next)
{
	struct toks line = {}, full = {};
	const struct ctok *toks;
	const char *name, *folder = f->file->folder;
	u32 used, first = is_next ? f->file->dir : 0;
	bool is_quoted = false;

	pp_line_tokens(pp, &f->src, &line);
	toks = pp_keep(pp, &line);
	name = pp_header_name(pp, toks, line.v.cnt, &is_quoted, &used);
	if (!name) {
		pp_expand_list(pp, toks, line.v.cnt, false, &full);
		name = pp_header_name(pp, full.v.at, full.v.cnt, &is_quoted, &used);
	}
	if (!name)
		pp_error(pp, "#include without a name");
	else if (!pp_include_from(pp, name, is_quoted && !is_next ? folder : NULL, first))
		pp_error(pp, "cannot find %s", name);
	vec_free(&line.v);
	vec_free(&full.v);
}

/* ---- conditions ---- */

static void skip_line(struct csource *src, struct csyms *syms)
{
	while (ctok_next(src, syms, true).kind != CTOK_END)
		;
}

/* Everything up to the #else, #elif or #endif that belongs to the innermost condition. */
static void skip_branch(struct pp *pp)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
	struct csource *src = &f->src;
	u32 depth = 0;

	for (;;) {
		struct ctok t;
		struct cond *c = &pp->conds.at[pp->conds.cnt - 1];

		csource_skip_to_directive(src);
		t = ctok_next(src, &pp->syms, false);
		if (t.kind == CTOK_END)
			return; /* pop() says so */
		t = ctok_next(src, &pp->syms, true);
		if (t.kind != CTOK_IDENT)
			continue;
		if (str_starts(t.sym->name, "if") && (t.len == 2 || str_eq(t.sym->name, "ifdef") || str_eq(t.sym->name, "ifndef"))) {
			depth++;
		} else if (str_eq(t.sym->name, "endif")) {
			if (!depth) {
				f->guard_closed |= c->is_guard;
				pp->conds.cnt--;
				skip_line(src, &pp->syms);
				return;
			}
			depth--;
		} else if (!depth && str_eq(t.sym->name, "else")) {
			c->is_guard = false;
			if (!c->is_taken && !c->was_else) {
				c->is_taken = c->was_else = true;
				skip_line(src, &pp->syms);
				return;
			}
			c->was_else = true;
		} else if (!depth && (str_eq(t.sym->name, "elif") || str_eq(t.sym->name, "elifdef") || str_eq(t.sym->name, "elifndef"))) {
			bool is_true = false;

			c->is_guard = false;
			if (c->is_taken || c->was_else)
				continue;
			if (str_eq(t.sym->name, "elif")) {
				is_true = pp_condition(pp, f);
				f = &pp->frames.at[pp->frames.cnt - 1]; /* evaluating may have moved the frames */
				src = &f->src;
				c = &pp->conds.at[pp->conds.cnt - 1];
			} else {
				bool want = str_eq(t.sym->name, "elifdef");

				t = ctok_next(src, &pp->syms, true);
				is_true = t.kind == CTOK_IDENT && (t.sym->macro != NULL) == want;
			}
			if (is_true) {
				c->is_taken = true;
				return;
			}
		}
	}
}

static void begin_cond(struct pp *pp, bool is_true, bool is_guard)
{
	vec_push(&pp->conds, (struct cond){ .is_taken = is_true, .is_guard = is_guard });
	if (!is_true)
		skip_branch(pp);
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
		if (str_eq(t.sym->name, "push")) {
			vec_push(&pp->packs, pp->pack);
		} else if (str_eq(t.sym->name, "pop")) {
			pp->pack = pp->packs.cnt ? pp->packs.at[--pp->packs.cnt] : 0;
		}
	}
	if (n || !has_word)
		pp->pack = n;
}

void pp_directive(struct pp *pp)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
	struct ctok t = ctok_next(&f->src, &pp->syms, true), name;
	const char *word;

	if (t.kind != CTOK_IDENT) {
		skip_line(&f->src, &pp->syms); /* `#` alone, `# 12 "file"` */
		return;
	}
	word = t.sym->name;
	if (!str_eq(word, "ifndef") && pp->conds.cnt == f->cond_base && !str_eq(word, "pragma"))
		f->saw_token = true;
	if (str_eq(word, "define")) {
		pp_define_line(pp, &f->src);
	} else if (str_eq(word, "undef")) {
		name = ctok_next(&f->src, &pp->syms, true);
		if (name.kind == CTOK_IDENT)
			name.sym->macro = NULL;
	} else if (str_eq(word, "include") || str_eq(word, "import")) {
		include_directive(pp, f, false);
		return;
	} else if (str_eq(word, "include_next")) {
		include_directive(pp, f, true);
		return;
	} else if (str_eq(word, "ifdef") || str_eq(word, "ifndef")) {
		bool is_first = str_eq(word, "ifndef") && !f->saw_token && !f->guard && pp->conds.cnt == f->cond_base;

		name = ctok_next(&f->src, &pp->syms, true);
		skip_line(&f->src, &pp->syms);
		if (is_first && name.kind == CTOK_IDENT)
			f->guard = name.sym;
		else if (pp->conds.cnt == f->cond_base)
			f->saw_token = true;
		begin_cond(pp, name.kind == CTOK_IDENT && (name.sym->macro != NULL) == str_eq(word, "ifdef"), is_first);
		return;
	} else if (str_eq(word, "if")) {
		begin_cond(pp, pp_condition(pp, f), false);
		return;
	} else if (str_eq(word, "else") || str_starts(word, "elif")) {
		if (pp->conds.cnt == f->cond_base) {
			pp_error(pp, "#%s without #if", word);
			skip_line(&f->src, &pp->syms);
			return;
		}
		/* The branch before it was read: the rest is not. */
		pp->conds.at[pp->conds.cnt - 1].is_guard = false;
		pp->conds.at[pp->conds.cnt - 1].was_else |= str_eq(word, "else");
		skip_line(&f->src, &pp->syms);
		skip_branch(pp);
		return;
	} else if (str_eq(word, "endif")) {
		if (pp->conds.cnt == f->cond_base) {
			pp_error(pp, "#endif without #if");
		} else {
			f->guard_closed |= pp->conds.at[pp->conds.cnt - 1].is_guard;
			pp->conds.cnt--;
		}
	} else if (str_eq(word, "pragma")) {
		name = ctok_next(&f->src, &pp->syms, true);
		if (name.kind == CTOK_IDENT && str_eq(name.sym->name, "once"))
			f->file->is_once = true;
		else if (name.kind == CTOK_IDENT && str_eq(name.sym->name, "pack"))
			pragma_pack(pp, &f->src);
	} else if (str_eq(word, "error")) {
		pp_error(pp, "#error%.*s", (int)strcspn(f->src.p, "\n"), f->src.p);
	}
	skip_line(&f->src, &pp->syms);
}
