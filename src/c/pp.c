/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/pp_int.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/io.h"

#define MAX_DEPTH 180              /* files inside of files */
#define MAX_TOKENS (64u << 20)     /* made by macros: a bomb ends here … */
#define MAX_HOST_TOKENS (1u << 20) /* … and here in one call or declaration of a script */
#define MAX_TEXT (1u << 16)        /* bytes that a call in a script may become */
#define MAX_ARG_DEPTH 200          /* calls in arguments of calls */
#define MAX_ERRORS_KEPT 20
#define MAX_FILE (32u << 20)

enum special_macro { SPECIAL_NONE, SPECIAL_LINE, SPECIAL_FILE, SPECIAL_COUNTER };

struct frame *pp_source_frame(struct pp *pp)
{
	for (u32 i = pp->frames.cnt; i-- > 0;)
		if (pp->frames.at[i].file)
			return &pp->frames.at[i];
	return NULL;
}

void pp_report(struct pp *pp, const struct ctok *at, enum diag_tag tag, const char *fmt, ...)
{
	struct frame *f = pp_source_frame(pp);
	struct sbuf text = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (!pp->host) {
		if (pp->error_cnt++ < MAX_ERRORS_KEPT)
			sbuf_printf(&pp->errors, "%s:%u: %s\n", f ? f->file->path : "", f ? f->src.line : 0, sbuf_str(&text));
	} else if (!pp->call.failed) {
		/* An error in a call is reported at the call: the expansion has no text yet. */
		if (pp->call.is_open)
			at = &pp->call.at;
		pp->call.failed = pp->call.is_open;
		diag_error(pp->host->diag, at->src ? ctok_span(at) : (struct span){}, tag, "%s", sbuf_str(&text));
	}
	sbuf_release(&text);
}

/* ---- life ---- */

static void define_special(struct pp *pp, const char *name, enum special_macro special)
{
	struct csym *sym = csym_get(&pp->syms, name, strlen(name));

	sym->macro = arena_new(pp->arena, struct cmacro);
	*sym->macro = (struct cmacro){ .sym = sym, .special = special };
}

struct pp *pp_new(struct arena *arena, const struct chost *host)
{
	struct pp *pp = xzalloc(sizeof(*pp));

	pp->arena = arena;
	pp->host = host;
	csyms_init(&pp->syms, arena, host ? 1 << 8 : 1 << 14);
	pp->s_defined = csym_get(&pp->syms, "defined", 7);
	pp->s_va_args = csym_get(&pp->syms, "__VA_ARGS__", 11);
	pp->s_va_opt = csym_get(&pp->syms, "__VA_OPT__", 10);
	if (!host) {
		pp->s_has_include = csym_get(&pp->syms, "__has_include", 13);
		pp->s_has_include_next = csym_get(&pp->syms, "__has_include_next", 18);
		pp->s_pragma = csym_get(&pp->syms, "_Pragma", 7);
		define_special(pp, "__LINE__", SPECIAL_LINE);
		define_special(pp, "__FILE__", SPECIAL_FILE);
		define_special(pp, "__COUNTER__", SPECIAL_COUNTER);
	}
	return pp;
}

void pp_free(struct pp *pp)
{
	if (!pp)
		return;
	csyms_release(&pp->syms);
	vec_free(&pp->dirs);
	vec_free(&pp->frames);
	vec_free(&pp->conds);
	vec_free(&pp->packs);
	smap_release(&pp->files);
	smap_release(&pp->lookups);
	sbuf_release(&pp->errors);
	free(pp);
}

bool pp_add_dir(struct pp *pp, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return false;
	vec_push(&pp->dirs, arena_strdup(pp->arena, dir));
	return true;
}

void pp_define(struct pp *pp, const char *name, const char *text)
{
	char *line = arena_printf(pp->arena, "%s %s", name, text);
	struct csource src = csource_new(pp->arena, line, strlen(line));

	pp_define_line(pp, &src, &(struct ctok){});
}

struct cmacro *pp_find_macro(struct pp *pp, const char *name)
{
	const struct csym *sym = csym_find(&pp->syms, name, strlen(name));

	return sym ? sym->macro : NULL;
}

void pp_add_own(struct pp *pp, const char *name, const char *text)
{
	struct file *f = arena_new(pp->arena, struct file);

	*f = (struct file){
		.path = arena_printf(pp->arena, "<own>/%s", name), .folder = "<own>", .text = text, .len = strlen(text)
	};
	smap_put(&pp->files, f->path, f);
}

/* ---- files ---- */

static void push_file(struct pp *pp, struct file *f)
{
	struct frame frame = { .file = f, .src = csource_new(pp->arena, f->text, f->len), .cond_base = pp->conds.cnt };

	vec_push(&pp->frames, frame);
	pp->file_cnt++;
}

static struct file *load(struct pp *pp, const char *path, u32 dir)
{
	struct file *f = smap_get(&pp->files, path);
	const char *slash;
	char *text;
	size_t len;

	if (f)
		return f;
	if (io_read_file(path, &text, &len))
		return NULL;
	f = arena_new(pp->arena, struct file);
	f->path = arena_strdup(pp->arena, path);
	slash = strrchr(f->path, '/');
	f->folder = slash ? arena_strndup(pp->arena, f->path, slash - f->path) : ".";
	f->dir = dir;
	f->text = len <= MAX_FILE ? arena_strndup(pp->arena, text, len) : "";
	f->len = len <= MAX_FILE ? len : 0;
	free(text);
	smap_put(&pp->files, f->path, f);
	return f;
}

/* Whether dir has such a file: its path. */
static bool find_in(const char *dir, const char *name, char *path, size_t sz)
{
	struct stat st;

	return (size_t)snprintf(path, sz, "%s%s%s", dir, *name == '/' ? "" : "/", name) < sz && !stat(path, &st) &&
		S_ISREG(st.st_mode);
}

struct file *pp_find_file(struct pp *pp, const char *name, const char *folder, u32 first_dir)
{
	char path[4096], key[4096];
	const char *known;
	u32 dir = 0;

	if (*name == '/')
		return find_in("", name, path, sizeof(path)) ? load(pp, path, 0) : NULL;
	snprintf(key, sizeof(key), "%s|%u|%s", folder ? folder : "", first_dir, name);
	known = smap_get(&pp->lookups, key);
	if (known)
		return *known ? load(pp, known, 0) : NULL;
	known = folder && find_in(folder, name, path, sizeof(path)) ? path : NULL;
	for (u32 i = first_dir; i < pp->dirs.cnt && !known; i++)
		if (find_in(pp->dirs.at[i], name, path, sizeof(path))) {
			known = path;
			dir = i + 1;
		}
	if (!known) {
		snprintf(path, sizeof(path), "<own>/%s", name);
		known = smap_get(&pp->files, path) ? path : "";
	}
	known = arena_strdup(pp->arena, known);
	smap_put(&pp->lookups, arena_strdup(pp->arena, key), (void *)known);
	return *known ? load(pp, known, dir) : NULL;
}

bool pp_include_from(struct pp *pp, const char *name, const char *folder, u32 first_dir)
{
	struct file *f = pp_find_file(pp, name, folder, first_dir);
	u32 depth = 0;

	if (!f)
		return false;
	if ((f->is_once && f->was_read) || (f->guard && f->guard->macro))
		return true;
	vec_for(frame, &pp->frames)
		depth += frame->file != NULL;
	if (depth >= MAX_DEPTH) {
		pp_report(pp, &(struct ctok){}, E_TOO_BIG, "files include each other too deeply");
		return true;
	}
	f->was_read = true;
	push_file(pp, f);
	return true;
}

bool pp_include(struct pp *pp, const char *path, bool is_quoted)
{
	struct frame *f = pp_source_frame(pp);

	return pp_include_from(pp, path, is_quoted ? (f ? f->file->folder : ".") : NULL, 0);
}

void pp_push_text(struct pp *pp, const char *name, const char *text, size_t len)
{
	struct file *f = arena_new(pp->arena, struct file);

	*f = (struct file){ .path = name, .folder = ".", .text = text, .len = len };
	push_file(pp, f);
}

/* ---- lists of tokens ---- */

const struct ctok *pp_keep(struct pp *pp, struct toks *t)
{
	struct ctok *to = arena_alloc(pp->arena, (t->v.cnt + 1) * sizeof(*to));

	if (t->v.cnt)
		memcpy(to, t->v.at, t->v.cnt * sizeof(*to));
	return to;
}

static bool spend(struct pp *pp, u32 cnt)
{
	u32 max = pp->host ? MAX_HOST_TOKENS : MAX_TOKENS;
	struct frame *f = pp->frames.cnt ? &pp->frames.at[pp->frames.cnt - 1] : NULL;

	if (pp->token_cnt > max - MIN(cnt, max)) {
		if (pp->call.is_open)
			pp_report(pp, &pp->call.at, E_TOO_BIG, "%s becomes too long", pp->call.at.sym->name);
		else if (pp->token_cnt != UINT32_MAX)
			pp_report(pp, f ? &f->name : &(struct ctok){}, E_TOO_BIG, "macros grow without end");
		pp->token_cnt = UINT32_MAX; /* which was reported */
		return false;
	}
	pp->token_cnt += cnt;
	return true;
}

void pp_push_list(struct pp *pp, const struct ctok *toks, u32 cnt, struct cmacro *m, const struct ctok *name)
{
	struct frame f = { .toks = toks, .cnt = cnt, .macro = m };

	if (name)
		f.name = *name;
	if (m)
		m->is_busy = true;
	vec_push(&pp->frames, f);
	if (!spend(pp, cnt))
		pp->frames.at[pp->frames.cnt - 1].cnt = 0;
}

/* Removes the innermost frame. */
static void pop(struct pp *pp)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];

	if (f->macro)
		f->macro->is_busy = false;
	if (f->file) {
		if (pp->conds.cnt > f->cond_base)
			pp_report(pp, &pp->conds.at[pp->conds.cnt - 1].at, E_UNTERMINATED, "this condition has no #endif");
		pp->conds.cnt = f->cond_base;
		if (f->guard && f->guard_closed && !f->saw_token)
			f->file->guard = f->guard;
	}
	pp->frames.cnt--;
}

void pp_pop_to(struct pp *pp, u32 cnt)
{
	while (pp->frames.cnt > cnt)
		pop(pp);
}

bool pp_is_on(const struct pp *pp)
{
	return !pp->conds.cnt || pp->conds.at[pp->conds.cnt - 1].is_on;
}

/* Skips branches that are not read. */
static void skip_off(struct pp *pp)
{
	while (!pp_is_on(pp)) {
		struct csource *src = &pp->frames.at[pp->frames.cnt - 1].src;
		struct ctok t;

		csource_skip_to_directive(src);
		t = ctok_next(src, &pp->syms, false);
		if (t.kind == CTOK_END)
			return; /* pop() says so */
		if (ctok_is(&t, '#'))
			pp_directive(pp, &t);
	}
}

/* A token in a declaration of a script that is not C, or is not closed. */
static bool is_stray(const struct ctok *t)
{
	if (t->kind == CTOK_STR || t->kind == CTOK_CHAR)
		return t->len < 2 || t->s[t->len - 1] != *t->s;
	return t->kind == CTOK_OTHER || ctok_is(t, '#') || ctok_is(t, COP_HASHHASH) || (t->kind == CTOK_IDENT && *t->s == '$');
}

/* Lets the host report it. False: reading goes on elsewhere. */
static bool keep_stray(struct pp *pp, struct frame *f, struct ctok *t)
{
	u32 next;

	if (pp->is_quiet)
		return true;
	next = pp->host->stray(pp->host->arg, t->off);
	if (t->kind == CTOK_CHAR) /* it has taken the whole line */
		next = MAX(next, t->off + 1);
	f->src.p = next > t->off ? f->src.base + next : f->src.p;
	if (t->kind == CTOK_IDENT)
		t->kind = CTOK_OTHER;
	return next == t->off;
}

/* The next token before replacement, of the frames from index stop on; CTOK_END at their end. Directives are obeyed, as GNU does
 * inside of a macro's arguments, too. */
static struct ctok raw_next(struct pp *pp, u32 stop)
{
	while (pp->frames.cnt > stop) {
		struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
		struct ctok t;

		if (!f->file) {
			if (f->at == f->cnt) {
				pop(pp);
				continue;
			}
			t = f->toks[f->at++];
			if (f->at == 1)
				t.has_space = f->name.has_space;
			if (!t.src) {
				t.src = f->name.src;
				t.off = f->name.off;
			}
			return t;
		}
		t = ctok_next(&f->src, &pp->syms, false);
		if (t.kind == CTOK_END) {
			pop(pp);
			/* The end of a file ends what was read from it, for callers that look for a bracket. */
			continue;
		}
		if (pp->host) {
			pp->last_off = t.off;
			if (f->is_declaration && is_stray(&t) && !keep_stray(pp, f, &t))
				continue;
			return t;
		}
		if (t.at_line_begin && ctok_is(&t, '#')) {
			pp_directive(pp, &t);
			skip_off(pp);
			continue;
		}
		f->saw_token |= f->guard_closed || !pp->conds.cnt || pp->conds.cnt == f->cond_base;
		return t;
	}
	return (struct ctok){};
}

/* ---- replacement ---- */

/* Looks for "(" behind a function-like macro's name without taking anything else away. */
static bool accept_paren(struct pp *pp, u32 stop)
{
	while (pp->frames.cnt > stop) {
		struct frame *f = &pp->frames.at[pp->frames.cnt - 1];
		struct csource before;
		struct ctok t;

		if (!f->file) {
			if (f->at == f->cnt) {
				pop(pp);
				continue;
			}
			if (!ctok_is(&f->toks[f->at], '('))
				return false;
			f->at++;
			return true;
		}
		before = f->src;
		t = ctok_next(&f->src, &pp->syms, false);
		if (ctok_is(&t, '('))
			return true;
		f->src = before;
		return false;
	}
	return false;
}

struct arg {
	const struct ctok *toks; /* as written */
	u32 cnt;
	const struct ctok *full; /* with its own macros replaced; NULL: not done yet */
	u32 full_cnt;
};

/* Behind "(": the arguments, up to the matching ")"; there is room for those that m has. False: not closed. */
static bool read_args(struct pp *pp, const struct cmacro *m, const struct ctok *name, struct arg *args, u32 stop)
{
	u32 depth = 0, cnt = 0, least = m->param_cnt - m->is_variadic;
	struct toks cur = {};
	bool is_closed = false;

	while (!is_closed) {
		struct ctok t = raw_next(pp, stop);

		if (t.kind == CTOK_END)
			break;
		if (!depth && (ctok_is(&t, ')') || (ctok_is(&t, ',') && !(m->is_variadic && cnt + 1 == m->param_cnt)))) {
			if (cnt < m->param_cnt) {
				args[cnt].toks = pp_keep(pp, &cur);
				args[cnt].cnt = cur.v.cnt;
			}
			is_closed = ctok_is(&t, ')');
			/* F() has no argument, or one that is empty. */
			cnt += m->param_cnt || cnt || cur.v.cnt || !is_closed;
			cur.v.cnt = 0;
			continue;
		}
		/* Scripts have lists in brackets, too: @a[1, 2]. */
		if (ctok_is(&t, '(') || (pp->host && (ctok_is(&t, '[') || ctok_is(&t, '{'))))
			depth++;
		else if (depth && (ctok_is(&t, ')') || (pp->host && (ctok_is(&t, ']') || ctok_is(&t, '}')))))
			depth--;
		t.has_space |= t.at_line_begin;
		t.at_line_begin = false;
		if (!spend(pp, 1))
			break;
		vec_push(&cur.v, t);
	}
	vec_free(&cur.v);
	if (!is_closed)
		pp_report(pp, name, E_UNTERMINATED, "the arguments of %s are not closed", m->sym->name);
	/* Headers may leave arguments out. */
	else if (cnt > m->param_cnt || (pp->host && cnt < least))
		pp_report(pp, name, E_ARG_COUNT, "%s takes %u argument%s (%u provided)", m->sym->name, m->param_cnt,
			  m->param_cnt == 1 ? "" : "s", cnt);
	return is_closed;
}

/* Counts a level of calls in arguments. False: there are too many; reported. */
static bool descend(struct pp *pp)
{
	if (pp->depth == MAX_ARG_DEPTH) {
		if (pp->call.is_open)
			pp_report(pp, &pp->call.at, E_TOO_BIG, "%s is nested too deeply", pp->call.at.sym->name);
		else
			pp_report(pp, &(struct ctok){}, E_TOO_BIG, "macros are nested too deeply");
		return false;
	}
	pp->depth++;
	return true;
}

void pp_expand_to(struct pp *pp, u32 stop, struct toks *out)
{
	for (;;) {
		struct ctok t = pp_next_expanded(pp, stop);

		if (t.kind == CTOK_END)
			return;
		vec_push(&out->v, t);
	}
}

static void expand_arg(struct pp *pp, struct arg *a)
{
	struct toks out = {};
	u32 stop = pp->frames.cnt;

	if (a->full)
		return;
	if (!descend(pp)) {
		a->full = a->toks;
		a->full_cnt = a->cnt;
		return;
	}
	pp_push_list(pp, a->toks, a->cnt, NULL, a->cnt ? &a->toks[0] : NULL);
	pp_expand_to(pp, stop, &out);
	pp->depth--;
	a->full = pp_keep(pp, &out);
	a->full_cnt = out.v.cnt;
	vec_free(&out.v);
}

/* "#": the argument's spelling as a string. */
static struct ctok stringize(struct pp *pp, const struct arg *a)
{
	struct sbuf b = {};
	struct ctok t = { .kind = CTOK_STR, .has_space = true };

	sbuf_putc(&b, '"');
	for (u32 i = 0; i < a->cnt; i++) {
		const struct ctok *x = &a->toks[i];

		if (i && x->has_space)
			sbuf_putc(&b, ' ');
		for (u32 k = 0; k < x->len; k++) {
			if ((x->kind == CTOK_STR || x->kind == CTOK_CHAR) && (x->s[k] == '"' || x->s[k] == '\\'))
				sbuf_putc(&b, '\\');
			sbuf_putc(&b, x->s[k]);
		}
	}
	sbuf_putc(&b, '"');
	t.s = arena_strndup(pp->arena, b.s, b.len);
	t.len = b.len;
	sbuf_release(&b);
	return t;
}

/* "##": one token out of two. What is no token stays two. */
static void paste(struct pp *pp, struct toks *out, const struct ctok *right)
{
	struct ctok *left = &out->v.at[out->v.cnt - 1], t;
	char *text = arena_printf(pp->arena, "%.*s%.*s\n", (int)left->len, left->s, (int)right->len, right->s);
	struct csource src = { .p = text, .end = text + left->len + right->len, .base = text, .src = left->src };

	t = ctok_next(&src, &pp->syms, true);
	if (t.kind == CTOK_END || t.len != left->len + right->len) {
		vec_push(&out->v, *right);
		return;
	}
	t.has_space = left->has_space;
	t.off = left->off;
	*left = t;
}

static s32 param_index(const struct cmacro *m, const struct ctok *t)
{
	if (t->kind != CTOK_IDENT || !m->is_function)
		return -1;
	for (u32 i = 0; i < m->param_cnt; i++)
		if (m->params[i] == t->sym)
			return i;
	return -1;
}

static void append(struct pp *pp, struct toks *out, const struct ctok *toks, u32 cnt, bool has_space)
{
	for (u32 i = 0; i < cnt && spend(pp, 1); i++) {
		vec_push(&out->v, toks[i]);
		if (!i)
			out->v.at[out->v.cnt - 1].has_space = has_space;
	}
}

/* __VA_OPT__(…) at token i of the body: the ")" that ends it. */
static u32 end_of_opt(const struct cmacro *m, u32 i, u32 end)
{
	u32 depth = 0;

	while (++i < end) {
		depth += ctok_is(&m->body[i], '(');
		depth -= ctok_is(&m->body[i], ')');
		if (!depth)
			break;
	}
	return i;
}

/* The body with the arguments in it, from `at` to `end`. */
static void substitute(struct pp *pp, const struct cmacro *m, struct arg *args, u32 at, u32 end, struct toks *out)
{
	bool is_empty = true; /* the left side of ## */

	for (u32 i = at; i < end; i++) {
		bool pastes = ctok_is(&m->body[i], COP_HASHHASH) && i > at && i + 1 < end;
		const struct ctok *t = &m->body[i += pastes], *toks = t;
		s32 p = param_index(m, t), q = i + 1 < end ? param_index(m, t + 1) : -1;
		struct ctok str;
		u32 cnt = 1;

		if (t->kind == CTOK_IDENT && t->sym == pp->s_va_opt && m->is_variadic && i + 1 < end && ctok_is(t + 1, '(')) {
			u32 close = end_of_opt(m, i, end), before = out->v.cnt;

			if (args[m->param_cnt - 1].cnt && descend(pp)) {
				substitute(pp, m, args, i + 2, close, out);
				pp->depth--;
			}
			is_empty = out->v.cnt == before;
			i = close;
			continue;
		}
		if (m->is_function && ctok_is(t, '#') && q >= 0) {
			str = stringize(pp, &args[q]);
			toks = &str;
			i++;
		} else if (p >= 0 && (pastes || (i + 1 < end && ctok_is(t + 1, COP_HASHHASH)))) {
			/* Beside ##: as written. */
			toks = args[p].toks;
			cnt = args[p].cnt;
		} else if (p >= 0) {
			expand_arg(pp, &args[p]);
			toks = args[p].full;
			cnt = args[p].full_cnt;
		}
		/* GNU: a comma before ## and no arguments vanishes. */
		if (pastes && !is_empty && p >= 0 && m->is_variadic && (u32)p + 1 == m->param_cnt &&
		    ctok_is(&out->v.at[out->v.cnt - 1], ',')) {
			if (cnt)
				append(pp, out, toks, cnt, t->has_space);
			else
				out->v.cnt--;
		} else if (pastes && !is_empty && cnt) {
			paste(pp, out, &toks[0]);
			append(pp, out, toks + 1, cnt - 1, cnt > 1 && toks[1].has_space);
		} else {
			append(pp, out, toks, cnt, t->has_space);
		}
		is_empty = !cnt && (!pastes || is_empty);
	}
}

static void push_special(struct pp *pp, struct cmacro *m, const struct ctok *name)
{
	struct frame *f = pp_source_frame(pp);
	struct ctok *t = arena_new(pp->arena, struct ctok);

	if (m->special == SPECIAL_FILE)
		t->s = arena_printf(pp->arena, "\"%s\"", f ? f->file->path : "");
	else
		t->s = arena_printf(pp->arena, "%u", m->special == SPECIAL_COUNTER ? pp->counter++ : f ? f->src.line : 0);
	t->kind = m->special == SPECIAL_FILE ? CTOK_STR : CTOK_NUM;
	t->len = strlen(t->s);
	pp_push_list(pp, t, 1, m, name);
}

/* The name of a macro was read: its replacement comes next. False: it is not replaced here. */
static bool replace(struct pp *pp, struct cmacro *m, const struct ctok *name, u32 stop)
{
	struct arg *args = NULL;
	struct toks out = {};
	const struct ctok *body = m->body;
	u32 cnt = m->body_cnt;

	if (m->special) {
		push_special(pp, m, name);
		return true;
	}
	if (m->is_function) {
		if (!accept_paren(pp, stop))
			return false;
		args = xzalloc((m->param_cnt + 1) * sizeof(*args));
		if (!read_args(pp, m, name, args, stop)) {
			free(args);
			pp_push_list(pp, NULL, 0, m, name);
			return true;
		}
	}
	for (u32 i = 0; i < m->body_cnt; i++)
		if (m->is_function || ctok_is(&m->body[i], COP_HASHHASH)) {
			substitute(pp, m, args, 0, m->body_cnt, &out);
			body = pp_keep(pp, &out);
			cnt = out.v.cnt;
			vec_free(&out.v);
			break;
		}
	free(args);
	pp_push_list(pp, body, cnt, m, name);
	return true;
}

/* ---- calls in a script ---- */

/* The name of a macro with parameters was read: see pp_call(). */
static enum pp_call call_text(struct pp *pp, struct cmacro *m, const struct ctok *name, u32 stop, u32 *src)
{
	struct diag *diag = pp->host->diag;
	struct sbuf b = {};
	const char *from;
	bool failed;
	u32 before;

	pp->call = (struct call){ .is_open = true, .at = *name };
	if (!replace(pp, m, name, stop)) {
		pp->call = (struct call){};
		return PP_NO_CALL;
	}
	before = pp->frames.cnt - 1;
	while (!pp->call.failed) {
		struct ctok t = pp_next_expanded(pp, before);

		if (t.kind == CTOK_END)
			break;
		if (b.len && t.has_space)
			sbuf_putc(&b, ' ');
		sbuf_add(&b, t.s, t.len);
		if (b.len > MAX_TEXT)
			pp_report(pp, name, E_TOO_BIG, "%s becomes too long", m->sym->name);
	}
	pp_pop_to(pp, before);
	failed = pp->call.failed;
	pp->call = (struct call){};
	pp->last_off = name->off;
	/* Messages about the expansion show it. */
	from = name->src ? diag->sources.at[name->src - 1].name : "";
	if (!failed)
		*src = diag_add_source(diag, arena_printf(pp->arena, "%s: %s", from, m->sym->name),
				       arena_strndup(pp->arena, sbuf_str(&b), b.len), b.len);
	sbuf_release(&b);
	return failed ? PP_FAILED : PP_CALL;
}

enum pp_call pp_call(struct pp *pp, struct cmacro *m, struct span name, struct csource *src, u32 *text)
{
	struct ctok at = {
		.kind = CTOK_IDENT, .sym = m->sym, .src = name.src + 1, .off = name.begin, .len = name.end - name.begin
	};
	u32 before = pp->frames.cnt;
	enum pp_call r;

	pp->token_cnt = 0;
	vec_push(&pp->frames, (struct frame){ .file = &pp->text, .src = *src, .cond_base = pp->conds.cnt });
	r = call_text(pp, m, &at, before, text);
	if (r != PP_NO_CALL)
		src->p = pp->frames.cnt > before ? pp->frames.at[before].src.p : src->end;
	pp_pop_to(pp, before);
	return r;
}

/* The same in C: the tokens of the expansion come next. */
static bool push_call(struct pp *pp, struct cmacro *m, const struct ctok *name, u32 stop)
{
	struct toks toks = {};
	const struct source *made;
	struct csource src;
	u32 text;

	if (call_text(pp, m, name, stop, &text) != PP_CALL)
		return false;
	made = &pp->host->diag->sources.at[text];
	src = (struct csource){ .p = made->text, .base = made->text, .end = made->text + made->len, .src = text + 1 };
	pp_line_tokens(pp, &src, &toks);
	vec_for(t, &toks.v)
		t->is_fixed = true;
	pp_push_list(pp, pp_keep(pp, &toks), toks.v.cnt, NULL, name);
	vec_free(&toks.v);
	return true;
}

struct ctok pp_next_expanded(struct pp *pp, u32 stop)
{
	for (;;) {
		struct ctok t = raw_next(pp, stop);

		if (t.kind != CTOK_IDENT || !t.sym->macro || t.is_fixed)
			return t;
		if (t.sym->macro->is_busy) {
			t.is_fixed = true;
			return t;
		}
		if (!(pp->host && t.sym->macro->is_function && !pp->call.is_open ? push_call : replace)(pp, t.sym->macro, &t,
													stop))
			return t;
	}
}

bool pp_push_body(struct pp *pp, const struct cmacro *m)
{
	struct ctok *body = arena_alloc(pp->arena, (m->body_cnt + 1) * sizeof(*body));

	if (m->special)
		return false;
	for (u32 i = 0; i < m->body_cnt; i++) {
		const struct ctok *t = &m->body[i];

		if (ctok_is(t, '#') || ctok_is(t, COP_HASHHASH))
			return false;
		body[i] = *t;
		body[i].is_fixed = param_index(m, t) >= 0 || (t->kind == CTOK_IDENT && t->sym == m->sym);
	}
	pp_push_list(pp, body, m->body_cnt, NULL, NULL);
	return true;
}

struct ctok pp_next(struct pp *pp)
{
	for (;;) {
		struct ctok t = pp_next_expanded(pp, pp->bottom);

		if (t.kind != CTOK_IDENT || t.sym != pp->s_pragma)
			return t;
		if (accept_paren(pp, 0))
			do
				t = raw_next(pp, 0);
			while (t.kind != CTOK_END && !ctok_is(&t, ')'));
	}
}

/* ---- a script ---- */

void pp_begin(struct pp *pp)
{
	vec_push(&pp->frames, (struct frame){ .file = &pp->text, .cond_base = pp->conds.cnt });
}

bool pp_line(struct pp *pp, struct csource line)
{
	struct csource *src = &pp->frames.at[pp->frames.cnt - 1].src;
	struct ctok hash;

	pp->token_cnt = 0;
	*src = line;
	hash = ctok_next(src, &pp->syms, true);
	return ctok_is(&hash, '#') ? pp_directive(pp, &hash) : !pp_is_on(pp);
}

void pp_end(struct pp *pp)
{
	pop(pp);
}

void pp_enter(struct pp *pp, struct csource src)
{
	pp->bottom = pp->frames.cnt;
	pp->token_cnt = 0;
	pp->is_quiet = false;
	pp->text_end = src.end - src.base;
	vec_push(&pp->frames,
		 (struct frame){ .file = &pp->text, .src = src, .cond_base = pp->conds.cnt, .is_declaration = true });
}

u32 pp_leave(struct pp *pp, bool is_ahead)
{
	const struct frame *source = pp->frames.cnt > pp->bottom ? &pp->frames.at[pp->bottom] : NULL;
	bool has_more = is_ahead;
	u32 off;

	for (u32 i = pp->bottom + 1; i < pp->frames.cnt; i++)
		has_more |= pp->frames.at[i].at < pp->frames.at[i].cnt;
	off = !source ? pp->text_end : has_more ? pp->last_off : source->src.p - source->src.base;
	pp_pop_to(pp, pp->bottom);
	pp->bottom = 0;
	return off;
}
