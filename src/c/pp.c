#include "c/pp.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/smap.h"
#include "c/number.h"

#define MAX_DEPTH 180      /* files inside of files */
#define MAX_TOKENS (64u << 20) /* made by macros: a bomb ends here */
#define MAX_ERRORS_KEPT 20
#define MAX_FILE (32u << 20)

enum special_macro { SPECIAL_NONE, SPECIAL_LINE, SPECIAL_FILE, SPECIAL_COUNTER };

/* A file that was read: kept, as the same ones come again and again. */
struct file {
	const char *path;
	const char *text;
	size_t len;
	struct csym *guard; /* of a file that is wholly inside of #ifndef GUARD … #endif */
	bool is_once;       /* #pragma once */
	bool was_read;
	u32 dir;            /* 1 + index of the directory where it was found */
	const char *folder; /* for #include "…" */
};

/* Where tokens come from: a source, or the replacement of a macro. */
struct frame {
	/* A source: */
	struct file *file;
	struct csource src;
	u32 cond_base;      /* conditions that were open before it */
	/* To find the guard: */
	bool saw_token;     /* something stands outside of the first #ifndef */
	struct csym *guard; /* candidate */
	bool guard_closed;
	/* A list: */
	const struct ctok *toks;
	u32 at, cnt;
	bool has_space;       /* before its first token */
	struct cmacro *macro; /* busy until the list ends; NULL: an argument */
};

struct cond {
	bool is_taken;   /* one of its branches was read */
	bool was_else;
	bool is_guard;
};

struct pp {
	struct arena *arena;
	struct csyms syms;
	vec(const char *) dirs;
	vec(struct frame) frames;
	vec(struct cond) conds;
	struct smap files;   /* by path */
	struct smap lookups; /* "folder|name" → path */
	u32 counter;
	u32 pack;            /* #pragma pack; 0: none */
	vec(u32) packs;      /* … that were pushed */
	u32 token_cnt;       /* made by macros */
	u32 error_cnt, file_cnt;
	struct sbuf errors;
	struct csym *s_defined, *s_va_args, *s_va_opt, *s_has_include, *s_has_include_next, *s_pragma;
};

static void directive(struct pp *pp);

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

static struct frame *source_frame(struct pp *pp)
{
	for (u32 i = pp->frames.cnt; i-- > 0;)
		if (pp->frames.at[i].file)
			return &pp->frames.at[i];
	return NULL;
}

void pp_error(struct pp *pp, const char *fmt, ...)
{
	struct frame *f = source_frame(pp);
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

static void define(struct pp *pp, struct csource *src);

void pp_define(struct pp *pp, const char *name, const char *text)
{
	char *line = arena_printf(pp->arena, "%s %s", name, text);
	struct csource src = csource_new(pp->arena, line, strlen(line));

	define(pp, &src);
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

/* folder: of the file that includes, for "…"; NULL for <…>. first_dir: where to begin in the list (#include_next). */
static struct file *find_file(struct pp *pp, const char *name, const char *folder, u32 first_dir)
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

static bool include(struct pp *pp, const char *name, const char *folder, u32 first_dir)
{
	struct file *f = find_file(pp, name, folder, first_dir);
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
	struct frame *f = source_frame(pp);

	return include(pp, path, is_quoted ? (f ? f->file->folder : ".") : NULL, 0);
}

void pp_push_text(struct pp *pp, const char *name, const char *text, size_t len)
{
	struct file *f = arena_new(pp->arena, struct file);

	*f = (struct file){ .path = name, .folder = ".", .text = text, .len = len };
	push_file(pp, f);
}

/* ---- lists of tokens ---- */

/* Tokens that are collected and then stay: in the arena once they are complete. */
struct toks {
	vec(struct ctok) v;
};

static const struct ctok *keep(struct pp *pp, struct toks *t)
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

static void push_list(struct pp *pp, const struct ctok *toks, u32 cnt, struct cmacro *m, bool has_space)
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
			directive(pp);
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
				args[cnt].toks = keep(pp, &cur);
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

static struct ctok next_expanded(struct pp *pp, u32 stop);

static void expand_arg(struct pp *pp, struct arg *a)
{
	struct toks out = {};
	u32 stop = pp->frames.cnt;

	if (a->full)
		return;
	push_list(pp, a->toks, a->cnt, NULL, a->cnt && a->toks[0].has_space);
	for (;;) {
		struct ctok t = next_expanded(pp, stop);

		if (t.kind == CTOK_END)
			break;
		vec_push(&out.v, t);
	}
	a->full = keep(pp, &out);
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
	struct frame *f = source_frame(pp);
	struct ctok *t = arena_new(pp->arena, struct ctok);

	if (m->special == SPECIAL_FILE)
		t->s = arena_printf(pp->arena, "\"%s\"", f ? f->file->path : "");
	else
		t->s = arena_printf(pp->arena, "%u", m->special == SPECIAL_COUNTER ? pp->counter++ : f ? f->src.line : 0);
	t->kind = m->special == SPECIAL_FILE ? CTOK_STR : CTOK_NUM;
	t->len = strlen(t->s);
	push_list(pp, t, 1, m, has_space);
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
			push_list(pp, NULL, 0, m, false);
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
			body = keep(pp, &out);
			cnt = out.v.cnt;
			vec_free(&out.v);
			break;
		}
	free(args);
	push_list(pp, body, cnt, m, name->has_space);
	return true;
}

static struct ctok next_expanded(struct pp *pp, u32 stop)
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
	list = keep(pp, &body);
	cnt = body.v.cnt;
	vec_free(&body.v);
	push_list(pp, list, cnt, NULL, false);
	return true;
}

struct ctok pp_next(struct pp *pp)
{
	for (;;) {
		struct ctok t = next_expanded(pp, 0);

		if (t.kind != CTOK_IDENT || t.sym != pp->s_pragma)
			return t;
		if (accept_paren(pp, 0))
			do
				t = raw_next(pp, 0);
			while (t.kind != CTOK_END && !ctok_is(&t, ')'));
	}
}

/* ---- directives ---- */

/* The rest of the line, as it is. */
static void line_tokens(struct pp *pp, struct csource *src, struct toks *out)
{
	for (;;) {
		struct ctok t = ctok_next(src, &pp->syms, true);

		if (t.kind == CTOK_END)
			return;
		vec_push(&out->v, t);
	}
}

/* Behind "#define": name, parameters, body. */
static void define(struct pp *pp, struct csource *src)
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
	line_tokens(pp, src, &body);
	if (body.v.cnt) {
		body.v.at[0].has_space = false;
		m->text = body.v.at[0].s;
		m->text_len = body.v.at[body.v.cnt - 1].s + body.v.at[body.v.cnt - 1].len - m->text;
	}
	m->body = (struct ctok *)keep(pp, &body);
	m->body_cnt = body.v.cnt;
	m->param_cnt = params.cnt;
	m->params = arena_alloc(pp->arena, (params.cnt + 1) * sizeof(*m->params));
	if (params.cnt)
		memcpy(m->params, params.at, params.cnt * sizeof(*m->params));
	vec_free(&body.v);
	vec_free(&params);
	m->sym->macro = m;
}

/* <name> or "name" out of tokens. The result is the arena's. NULL: neither. */
static const char *header_name(struct pp *pp, const struct ctok *toks, u32 cnt, bool *is_quoted, u32 *used)
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

/* Macros of a list replaced, for #if and #include NAME. keep_defined: the operand of `defined` and of __has_… stays. */
static void expand_list(struct pp *pp, const struct ctok *toks, u32 cnt, bool keep_defined, struct toks *out)
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
	list = keep(pp, &copy);
	push_list(pp, list, copy.v.cnt, NULL, false);
	vec_free(&copy.v);
	for (;;) {
		struct ctok t = next_expanded(pp, stop);

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

	line_tokens(pp, &f->src, &line);
	toks = keep(pp, &line);
	name = header_name(pp, toks, line.v.cnt, &is_quoted, &used);
	if (!name) {
		expand_list(pp, toks, line.v.cnt, false, &full);
		name = header_name(pp, full.v.at, full.v.cnt, &is_quoted, &used);
	}
	if (!name)
		pp_error(pp, "#include without a name");
	else if (!include(pp, name, is_quoted && !is_next ? folder : NULL, first))
		pp_error(pp, "cannot find %s", name);
	vec_free(&line.v);
	vec_free(&full.v);
}

/* ---- conditions ---- */

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
	struct frame *f = source_frame(e->pp);
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
		const char *name = header_name(e->pp, e->t + e->at, e->cnt - e->at, &is_quoted, &used);

		if (!name) {
			e->is_bad = true;
			return r;
		}
		e->at += used;
		r.v = find_file(e->pp, name, is_quoted && f ? f->file->folder : NULL,
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

static bool condition(struct pp *pp, struct frame *f)
{
	struct toks line = {}, full = {};
	const struct ctok *toks;
	struct eval e = { .pp = pp };
	struct num r;

	line_tokens(pp, &f->src, &line);
	toks = keep(pp, &line);
	expand_list(pp, toks, line.v.cnt, true, &full);
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
				is_true = condition(pp, f);
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

/* Behind a "#" at the begin of a line of the innermost frame, which is a source. */
static void directive(struct pp *pp)
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
		define(pp, &f->src);
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
		begin_cond(pp, condition(pp, f), false);
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
