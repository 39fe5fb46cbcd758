/* Macros of the preprocessor with parameters: #define MAX(a, b) ((a) > (b) ? (a) : (b)).
 *
 * As in C this is about text: arguments are put in as they are written, so `#define TWICE(x) x * 2` makes of TWICE(1 + 2) what it makes there. A call
 * becomes text in which nothing is left to replace; arguments are replaced before they are put in, the result once more, without the names
 * that it came from. #x makes a string of an argument, a ## b one word of two. */
#include "lang/cpp.h"

#include <ctype.h>

enum { TEXT_MAX = 1 << 16, ARGS_MAX = 64, DEPTH_MAX = 32 };

struct hidden {
	const char *name;
	const struct hidden *up;
};

struct expand {
	const struct cpp *c;
	struct span at;   /* of the call in the script, for messages */
	const char *name; /* of the macro that is called there */
	u32 depth;
	bool failed;
};

struct piece {
	const char *s;
	u32 len;
};

static bool is_word_start(int c)
{
	return c == '_' || isalpha(c);
}

static bool is_word(int c)
{
	return c == '_' || isalnum(c);
}

static void fail(struct expand *x, enum diag_tag tag, const char *what, const char *name)
{
	if (!x->failed)
		diag_error(x->c->diag, x->at, tag, "%s %s", name, what);
	x->failed = true;
}

/* The token at s: a word, a number, a string, $x or @x as one; spaces and comments as one; else a single character. */
static u32 token_len(const char *s, const char *end)
{
	const char *p = s;

	if (isspace((u8)*p) || (end - p >= 2 && p[0] == '/' && (p[1] == '*' || p[1] == '/'))) {
		while (p < end) {
			if (isspace((u8)*p)) {
				p++;
			} else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
				const char *close = memmem(p + 2, end - p - 2, "*/", 2);

				p = close ? close + 2 : end;
			} else if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
				while (p < end && *p != '\n')
					p++;
			} else {
				break;
			}
		}
		return p - s;
	}
	if (*p == '"') {
		for (p++; p < end && *p != '"'; p++)
			if (*p == '\\' && p + 1 < end)
				p++;
		return MIN(p + 1, end) - s;
	}
	if (*p == '$' || *p == '@')
		p++;
	else if (!is_word(*p))
		return end - p >= 2 && p[0] == '#' && p[1] == '#' ? 2 : 1;
	while (p < end && is_word(*p))
		p++;
	return p - s;
}

static bool is_blank(struct piece t)
{
	return isspace((u8)*t.s) || (t.len >= 2 && t.s[0] == '/' && (t.s[1] == '*' || t.s[1] == '/'));
}

static struct piece trim(const char *s, const char *end)
{
	const char *begin = NULL, *last = s;

	while (s < end) {
		struct piece t = { s, token_len(s, end) };

		s += t.len;
		if (is_blank(t))
			continue;
		if (!begin)
			begin = t.s;
		last = s;
	}
	return begin ? (struct piece){ begin, last - begin } : (struct piece){ s, 0 };
}

/* Arguments of a call; *s is behind the name. False: there is no `(`, or no `)` (then *s is NULL). */
static bool take_args(const char **s, const char *end, struct piece *args, u32 *cnt)
{
	const char *p = *s, *begin;
	u32 depth = 0;

	while (p < end && is_blank((struct piece){ p, token_len(p, end) }))
		p += token_len(p, end);
	if (p == end || *p != '(')
		return false;
	*cnt = 0;
	for (begin = ++p; p < end; p += token_len(p, end)) {
		if (*p == '(' || *p == '[' || *p == '{') {
			depth++;
		} else if (depth && (*p == ')' || *p == ']' || *p == '}')) {
			depth--;
		} else if (*p == ')' || (*p == ',' && !depth)) {
			if (*cnt < ARGS_MAX)
				args[(*cnt)++] = trim(begin, p);
			begin = p + 1;
			if (*p == ')') {
				*s = p + 1;
				return true;
			}
		}
	}
	*s = NULL;
	return false;
}

static void expand_text(struct expand *x, const char *s, const char *end, const struct hidden *hidden, struct sbuf *out);

static s32 find_param(const struct define *d, struct piece t)
{
	for (u32 i = 0; i < d->param_cnt; i++)
		if (strlen(d->params[i]) == t.len && !memcmp(d->params[i], t.s, t.len))
			return i;
	return -1;
}

static void put_quoted(struct sbuf *out, struct piece arg)
{
	sbuf_putc(out, '"');
	for (u32 i = 0; i < arg.len; i++) {
		if (arg.s[i] == '"' || arg.s[i] == '\\')
			sbuf_putc(out, '\\');
		sbuf_putc(out, arg.s[i]);
	}
	sbuf_putc(out, '"');
}

/* The next token behind blanks, or one of length 0. */
static struct piece peek(const char *s, const char *end)
{
	while (s < end && is_blank((struct piece){ s, token_len(s, end) }))
		s += token_len(s, end);
	return (struct piece){ s, s < end ? token_len(s, end) : 0 };
}

static bool is_paste(struct piece t)
{
	return t.len == 2 && t.s[0] == '#' && t.s[1] == '#';
}

/* The definition's text with its parameters replaced. */
static void substitute(struct expand *x, const struct define *d, const struct piece *args, const struct hidden *hidden, struct sbuf *out)
{
	const char *s = d->text + d->begin, *end = d->text + d->end;
	bool pasting = false;

	while (s < end && !x->failed) {
		struct piece t = { s, token_len(s, end) }, next;
		s32 i;

		s += t.len;
		if (is_blank(t)) {
			if (!pasting && !is_paste(peek(s, end)))
				sbuf_putc(out, ' ');
			continue;
		}
		if (is_paste(t)) {
			pasting = true;
			continue;
		}
		next = peek(s, end);
		if (t.len == 1 && *t.s == '#' && next.len && find_param(d, next) >= 0) {
			put_quoted(out, args[find_param(d, next)]);
			s = next.s + next.len;
			continue;
		}
		i = find_param(d, t);
		if (i < 0)
			sbuf_add(out, t.s, t.len);
		else if (pasting || is_paste(next))
			sbuf_add(out, args[i].s, args[i].len);
		else
			expand_text(x, args[i].s, args[i].s + args[i].len, hidden, out);
		pasting = false;
	}
}

static void expand_call(struct expand *x, const struct define *d, struct piece *args, u32 cnt, const struct hidden *hidden, struct sbuf *out)
{
	struct hidden h = { d->name, hidden };
	struct sbuf body = {};

	if (cnt == 1 && !args[0].len && !d->param_cnt)
		cnt = 0;
	if (d->is_variadic && cnt + 1 >= d->param_cnt) {
		/* the rest, with its commas */
		struct piece *rest = &args[d->param_cnt - 1];

		*rest = cnt < d->param_cnt ? (struct piece){ "", 0 } : (struct piece){ rest->s, args[cnt - 1].s + args[cnt - 1].len - rest->s };
		cnt = d->param_cnt;
	}
	if (cnt != d->param_cnt) {
		fail(x, E_ARG_COUNT, arena_printf(x->c->arena, "takes %u argument%s (%u provided)", d->param_cnt, d->param_cnt == 1 ? "" : "s", cnt),
		     d->name);
		return;
	}
	substitute(x, d, args, hidden, &body);
	expand_text(x, sbuf_str(&body), sbuf_str(&body) + body.len, &h, out);
	sbuf_release(&body);
}

static const struct define *find(const struct expand *x, struct piece t, const struct hidden *hidden)
{
	const struct define *d = is_word_start(*t.s) ? cpp_find(x->c, arena_strndup(x->c->arena, t.s, t.len)) : NULL;

	for (; d && hidden; hidden = hidden->up)
		if (str_eq(hidden->name, d->name))
			return NULL;
	return d;
}

static void expand_text(struct expand *x, const char *s, const char *end, const struct hidden *hidden, struct sbuf *out)
{
	if (++x->depth > DEPTH_MAX)
		fail(x, E_TOO_BIG, "is nested too deeply", x->name);
	while (s < end && !x->failed) {
		struct piece t = { s, token_len(s, end) }, args[ARGS_MAX];
		const struct define *d = find(x, t, hidden);
		u32 cnt;

		s += t.len;
		if (is_blank(t)) {
			sbuf_putc(out, ' ');
		} else if (!d || (d->is_function && !take_args(&s, end, args, &cnt))) {
			if (!s)
				break;
			sbuf_add(out, t.s, t.len);
		} else if (d->is_function) {
			expand_call(x, d, args, cnt, hidden, out);
		} else {
			struct hidden h = { d->name, hidden };

			expand_text(x, d->text + d->begin, d->text + d->end, &h, out);
		}
		if (out->len > TEXT_MAX)
			fail(x, E_TOO_BIG, "becomes too long", x->name);
	}
	x->depth--;
}

enum cpp_call cpp_call(const struct cpp *c, const struct define *d, struct span name, const struct lex *at, struct lex *text, u32 *end)
{
	const char *s = at->text + at->pos;
	struct expand x = { .c = c, .at = name, .name = d->name };
	struct piece args[ARGS_MAX];
	struct sbuf out = {};
	const char *done;
	u32 cnt, src;

	if (!take_args(&s, at->text + at->len, args, &cnt)) {
		if (s)
			return CPP_NO_CALL;
		diag_error(c->diag, name, E_UNTERMINATED, "the arguments of %s are not closed", d->name);
		*end = at->len;
		return CPP_FAILED;
	}
	*end = s - at->text;
	expand_call(&x, d, args, cnt, NULL, &out);
	done = arena_strndup(c->arena, sbuf_str(&out), out.len);
	cnt = out.len;
	sbuf_release(&out);
	if (x.failed)
		return CPP_FAILED;
	/* Messages about the text show it. */
	src = diag_add_source(c->diag, arena_printf(c->arena, "%s: %s", c->diag->sources.at[name.src].name, d->name), done, cnt);
	*text = (struct lex){ .arena = at->arena, .diag = at->diag, .src = src, .text = done, .len = cnt, .quiet = at->quiet };
	return CPP_CALL;
}
