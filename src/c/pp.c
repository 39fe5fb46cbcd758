#include "c/pp_int.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/io.h"

#define MAX_DEPTH 180      /* files inside of files */
#define MAX_TOKENS (64u << 20) /* made by macros: a bomb ends here */
#define MAX_ERRORS_KEPT 20
#define MAX_FILE (32u << 20)

enum special_macro { SPECIAL_NONE, SPECIAL_LINE, SPECIAL_FILE, SPECIAL_COUNTER };

struct csyms *pp_syms(struct pp *pp)
{
	return &pp->syms;
}

u32 pp_error_cnt(const struct pp *pp)
{
	return pp->error_cnt;
}

const char *pp_errors(const struct pp *pp)
{
	return sbuf_str(&pp->errors);
}

u32 pp_file_cnt(const struct pp *pp)
{
	return pp->file_cnt;
}

u32 pp_pack(const struct pp *pp)
{
	return pp->pack;
}

struct frame *pp_source_frame(struct pp *pp)
{
	for (u32 i = pp->frames.cnt; i-- > 0;)
		if (pp->frames.at[i].file)
			return &pp->frames.at[i];
	return NULL;
}

void pp_error(struct pp *pp, const char *fmt, ...)
{
	struct frame *f = pp_source_frame(pp);
	va_list ap;

	if (pp->error_cnt++ >= MAX_ERRORS_KEPT)
		return;
	if (f)
		sbuf_printf(&pp->errors, "%s:%u: ", f->file->path, f->src.line);
	va_start(ap, fmt);
	sbuf_vprintf(&pp->errors, fmt, ap);
	va_end(ap);
	sbuf_putc(&pp->errors, '\n');
}

/* ---- life ---- */

static void define_special(struct pp *pp, const char *name, enum special_macro special)
{
	struct csym *sym = csym_get(&pp->syms, name, strlen(name));

	sym->macro = arena_new(pp->arena, struct cmacro);
	*sym->macro = (struct cmacro){ .sym = sym, .special = special };
}

struct pp *pp_new(struct arena *arena)
{
	struct pp *pp = xzalloc(sizeof(*pp));

	pp->arena = arena;
	csyms_init(&pp->syms, arena);
	pp->s_defined = csym_get(&pp->syms, "defined", 7);
	pp->s_va_args = csym_get(&pp->syms, "__VA_ARGS__", 11);
	pp->s_va_opt = csym_get(&pp->syms, "__VA_OPT__", 10);
	pp->s_has_include = csym_get(&pp->syms, "__has_include", 13);
	pp->s_has_include_next = csym_get(&pp->syms, "__has_include_next", 18);
	pp->s_pragma = csym_get(&pp->syms, "_Pragma", 7);
	define_special(pp, "__LINE__", SPECIAL_LINE);
	define_special(pp, "__FILE__", SPECIAL_FILE);
	define_special(pp, "__COUNTER__", SPECIAL_COUNTER);
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

	pp_define_line(pp, &src);
}

void pp_add_own(struct pp *pp, const char *name, const char *text)
{
	struct file *f = arena_new(pp->arena, struct file);

	*f = (struct file){ .path = arena_printf(pp->arena, "<own>/%s", name), .folder = "<own>", .text = text, .len = strlen(text) };
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

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

struct file *pp_find_file(struct pp *pp, const char *name, const char *folder, u32 first_dir)
{
	char path[4096], key[4096];
	const char *known;

	if (*name == '/')
		return is_file(name) ? load(pp, name, 0) : NULL;
	snprintf(key, sizeof(key), "%s|%u|%s", folder ? folder : "", first_dir, name);
	known = smap_get(&pp->lookups, key);
	if (known)
		return *known ? load(pp, known, 0) : NULL;
	if (folder && (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path) && is_file(path)) {
		smap_put(&pp->lookups, arena_strdup(pp->arena, key), arena_strdup(pp->arena, path));
		return load(pp, path, 0);
	}
	for (u32 i = first_dir; i < pp->dirs.cnt; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", pp->dirs.at[i], name) >= sizeof(path) || !is_file(path))
			continue;
		smap_put(&pp->lookups, arena_strdup(pp->arena, key), arena_strdup(pp->arena, path));
		return load(pp, path, i + 1);
	}
	snprintf(path, sizeof(path), "<own>/%s", name);
	known = smap_get(&pp->files, path) ? arena_strdup(pp->arena, path) : "";
	smap_put(&pp->lookups, arena_strdup(pp->arena, key), (void *)known);
	return *known ? load(pp, known, 0) : NULL;
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
		pp_error(pp, "files include each other too deeply");
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
	if (pp->token_cnt > MAX_TOKENS - cnt) {
		if (pp->token_cnt != MAX_TOKENS)
			pp_error(pp, "macros grow without end");
		pp->token_cnt = MAX_TOKENS;
		return false;
	}
	pp->token_cnt += cnt;
	return true;
}

void pp_push_list(struct pp *pp, const struct ctok *toks, u32 cnt, struct cmacro *m, bool has_space)
{
	if (!spend(pp, cnt))
		cnt = 0;
	if (m)
		m->is_busy = true;
	vec_push(&pp->frames, (struct frame){ .toks = toks, .cnt = cnt, .macro = m, .has_space = has_space });
}

/* Removes the innermost frame. */
static void pop(struct pp *pp)
{
	struct frame *f = &pp->frames.at[pp->frames.cnt - 1];

	if (f->macro)
		f->macro->is_busy = false;
	if (f->file) {
		if (pp->conds.cnt > f->cond_base)
			pp_error(pp, "#if without #endif");
		pp->conds.cnt = f->cond_base;
		if (f->guard && f->guard_closed && !f->saw_token)
			f->file->guard = f->guard;
	}
	pp->frames.cnt--;
}

/* The next token before replacement. Directives are carried out unless in_args (inside of a macro's arguments they are, too, as GNU
 * does). stop: the frame below which not to go; CTOK_END there. */
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
				t.has_space = f->has_space;
			return t;
		}
		t = ctok_next(&f->src, &pp->syms, false);
		if (t.kind == CTOK_END) {
			pop(pp);
			/* The end of a file ends what was read from it, for callers that look for a bracket. */
			continue;
		}
		if (t.at_line_begin && ctok_is(&t, '#')) {
			pp_directive(pp);
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

#define MAX_ARGS 256

/* Behind "(": the arguments, up to the matching ")". Returns their number, or -1: not closed. */
static s32 read_args(struct pp *pp, const struct cmacro *m, struct arg *args, u32 stop)
{
	struct toks cur = {};
	u32 depth = 0, cnt = 0;
	s32 result = -1;

	for (;;) {
		struct ctok t = raw_next(pp, stop);

		if (t.kind == CTOK_END)
			break;
		if (!depth && (ctok_is(&t, ')') || (ctok_is(&t, ',') && !(m->is_variadic && cnt + 1 == m->param_cnt)))) {
			if (cnt < MAX_ARGS) {
				args[cnt].toks = pp_keep(pp, &cur);
				args[cnt].cnt = cur.v.cnt;
				args[cnt].full = NULL;
				cnt++;
			}
			cur.v.cnt = 0;
			if (ctok_is(&t, ')')) {
				result = cnt;
				break;
			}
			continue;
		}
		depth += ctok_is(&t, '(');
		depth -= ctok_is(&t, ')');
		t.has_space |= t.at_line_begin;
		t.at_line_begin = false;
		if (!spend(pp, 1))
			break;
		vec_push(&cur.v, t);
	}
	vec_free(&cur.v);
	return result;
}

static void expand_arg(struct pp *pp, struct arg *a)
{
	struct toks out = {};
	u32 stop = pp->frames.cnt;

	if (a->full)
		return;
	pp_push_list(pp, a->toks, a->cnt, NULL, a->cnt && a->toks[0].has_space);
	for (;;) {
		struct ctok t = pp_next_expanded(pp, stop);

		if (t.kind == CTOK_END)
			break;
		vec_push(&out.v, t);
	}
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
	struct csource src = { .p = text, .end = text + strlen(text), .line = 1 };

	t = ctok_next(&src, &pp->syms, true);
	if (t.kind == CTOK_END || t.len != left->len + right->len) {
		vec_push(&out->v, *right);
		return;
	}
	t.has_space = left->has_space;
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

/* The body with the arguments in it, from `at` to `end`. */
static void substitute(struct pp *pp, const struct cmacro *m, struct arg *args, u32 at, u32 end, struct toks *out)
{
	u32 first = out->v.cnt;

	for (u32 i = at; i < end; i++) {
		const struct ctok *t = &m->body[i];
		s32 p = param_index(m, t);

		if (m->is_function && ctok_is(t, '#') && i + 1 < end) {
			s32 q = param_index(m, &m->body[i + 1]);

			if (q >= 0) {
				struct ctok str = stringize(pp, &args[q]);

				str.has_space = t->has_space;
				vec_push(&out->v, str);
				i++;
				continue;
			}
		}
		if (ctok_is(t, COP_HASHHASH) && i + 1 < end && i > at) {
			const struct ctok *next = &m->body[i + 1];
			s32 q = param_index(m, next);
			bool is_rest = q >= 0 && m->is_variadic && (u32)q + 1 == m->param_cnt;

			i++;
			if (q < 0) {
				if (out->v.cnt > first)
					paste(pp, out, next);
				else
					vec_push(&out->v, *next);
				continue;
			}
			/* GNU: a comma before ## and no arguments vanishes. */
			if (is_rest && out->v.cnt > first && ctok_is(&out->v.at[out->v.cnt - 1], ',')) {
				if (!args[q].cnt)
					out->v.cnt--;
				else
					append(pp, out, args[q].toks, args[q].cnt, next->has_space);
				continue;
			}
			if (args[q].cnt) {
				if (out->v.cnt > first && i >= 2)
					paste(pp, out, &args[q].toks[0]);
				else
					vec_push(&out->v, args[q].toks[0]);
				append(pp, out, args[q].toks + 1, args[q].cnt - 1, args[q].cnt > 1 && args[q].toks[1].has_space);
			}
			continue;
		}
		if (t->kind == CTOK_IDENT && t->sym == pp->s_va_opt && m->is_variadic && i + 1 < end && ctok_is(&m->body[i + 1], '(')) {
			u32 depth = 0, k = i + 1;

			for (; k < end; k++) {
				depth += ctok_is(&m->body[k], '(');
				depth -= ctok_is(&m->body[k], ')');
				if (!depth)
					break;
			}
			if (m->param_cnt && args[m->param_cnt - 1].cnt)
				substitute(pp, m, args, i + 2, k, out);
			i = k;
			continue;
		}
		if (p < 0) {
			vec_push(&out->v, *t);
			continue;
		}
		if (i + 1 < end && ctok_is(&m->body[i + 1], COP_HASHHASH)) {
			/* On the left of ##: as written. Nothing there: the right side stands alone. */
			append(pp, out, args[p].toks, args[p].cnt, t->has_space);
			if (!args[p].cnt && i + 2 < end) {
				s32 q = param_index(m, &m->body[i + 2]);

				if (q >= 0)
					append(pp, out, args[q].toks, args[q].cnt, t->has_space);
				else
					vec_push(&out->v, m->body[i + 2]);
				i += 2;
			}
			continue;
		}
		expand_arg(pp, &args[p]);
		append(pp, out, args[p].full, args[p].full_cnt, t->has_space);
	}
}

static void push_special(struct pp *pp, struct cmacro *m, bool has_space)
{
	struct frame *f = pp_source_frame(pp);
	struct ctok *t = arena_new(pp->arena, struct ctok);

	if (m->special == SPECIAL_FILE)
		t->s = arena_printf(pp->arena, "\"%s\"", f ? f->file->path : "");
	else
		t->s = arena_printf(pp->arena, "%u", m->special == SPECIAL_COUNTER ? pp->counter++ : f ? f->src.line : 0);
	t->kind = m->special == SPECIAL_FILE ? CTOK_STR : CTOK_NUM;
	t->len = strlen(t->s);
	pp_push_list(pp, t, 1, m, has_space);
}

/* The name of a macro was read: its replacement comes next. False: it is not replaced here. */
static bool replace(struct pp *pp, struct cmacro *m, const struct ctok *name, u32 stop)
{
	struct arg *args = NULL;
	struct toks out = {};
	const struct ctok *body = m->body;
	u32 cnt = m->body_cnt;

	if (m->special) {
		push_special(pp, m, name->has_space);
		return true;
	}
	if (m->is_function) {
		s32 got;

		if (!accept_paren(pp, stop))
			return false;
		args = xzalloc(MAX_ARGS * sizeof(*args));
		got = read_args(pp, m, args, stop);
		if (got < 0) {
			pp_error(pp, "the arguments of %s do not end", m->sym->name);
			free(args);
			pp_push_list(pp, NULL, 0, m, false);
			return true;
		}
		if ((u32)got > m->param_cnt && !(m->param_cnt == 0 && got == 1 && !args[0].cnt))
			pp_error(pp, "%s takes %u arguments, not %d", m->sym->name, m->param_cnt, got);
		for (u32 i = got; i < m->param_cnt; i++)
			args[i] = (struct arg){};
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
	pp_push_list(pp, body, cnt, m, name->has_space);
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
		if (!replace(pp, t.sym->macro, &t, stop))
			return t;
	}
}

bool pp_push_body(struct pp *pp, const struct cmacro *m)
{
	struct toks body = {};
	const struct ctok *list;
	u32 cnt;

	for (u32 i = 0; i < m->body_cnt; i++) {
		struct ctok t = m->body[i];

		if (m->special || ctok_is(&t, '#') || ctok_is(&t, COP_HASHHASH)) {
			vec_free(&body.v);
			return false;
		}
		t.is_fixed = param_index(m, &t) >= 0 || (t.kind == CTOK_IDENT && t.sym == m->sym);
		vec_push(&body.v, t);
	}
	list = pp_keep(pp, &body);
	cnt = body.v.cnt;
	vec_free(&body.v);
	pp_push_list(pp, list, cnt, NULL, false);
	return true;
}

struct ctok pp_next(struct pp *pp)
{
	for (;;) {
		struct ctok t = pp_next_expanded(pp, 0);

		if (t.kind != CTOK_IDENT || t.sym != pp->s_pragma)
			return t;
		if (accept_paren(pp, 0))
			do
				t = raw_next(pp, 0);
			while (t.kind != CTOK_END && !ctok_is(&t, ')'));
	}
}
