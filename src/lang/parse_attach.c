/* SPDX-License-Identifier: GPL-2.0-only */
/* Attach points: raw text, not tokens, because paths, C++ names and wildcards do not look like the rest of the language.
 *
 * The text of one goes up to an unquoted `{`, `,` or whitespace, or to the `/` of a predicate. Before the first `:` no attach
 * point has a `/`, so there it begins a predicate (`begin/pid == 1/ {`); behind it, it belongs to a path
 * (`uprobe:/bin/bash:readline`). Double quotes protect everything up to the next one; inside them `\x` is x.
 *
 * `$N` outside of quotes is replaced by positional parameter N before the text is split on `:`, so a parameter may bring several
 * parts.
 */
#include "lang/parse.h"

#include <ctype.h>

static int raw(const struct parser *p)
{
	return p->lex.pos < p->lex.len ? (u8)p->lex.text[p->lex.pos] : -1;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static struct span here(const struct parser *p, u32 len)
{
	return (struct span){ p->lex.src, p->lex.pos, p->lex.pos + len };
}

/* The length of what stands at pos: a word up to the next blank or brace, or a single byte. */
static u32 word_len(const struct parser *p)
{
	const char *s = p->lex.text + p->lex.pos;
	u32 n = 0, left = p->lex.len - p->lex.pos;

	while (n < left && n < 32 && (isalnum((u8)s[n]) || strchr("_:*.-", s[n])) && s[n])
		n++;
	return MAX(n, MIN(1, left));
}

/* How messages show what stands at pos. */
static const char *describe_raw(struct parser *p)
{
	int c = raw(p);

	if (c < 0)
		return "the end of the script";
	if (c < 0x20 || c >= 0x7f)
		return arena_printf(p->arena, "byte 0x%02x", c);
	return arena_printf(p->arena, "'%.*s'", (int)word_len(p), p->lex.text + p->lex.pos);
}

/* Whether the byte at pos may stand in an attach point; reports if not. */
static bool check_byte(struct parser *p)
{
	int c = raw(p), next = p->lex.pos + 1 < p->lex.len ? (u8)p->lex.text[p->lex.pos + 1] : -1;

	if (c < 0x20 || c == 0x7f) {
		diag_error(p->diag, here(p, 1), E_SYNTAX, "unexpected byte 0x%02x in an attach point", c);
		return false;
	}
	if (c == '$' && !(next >= '1' && next <= '9')) {
		diag_error(p->diag, here(p, 1), E_SYNTAX, "'$' in an attach point must be followed by a number from 1 on");
		diag_hint(p->diag, "$1 is the first positional parameter; put a name that has a '$' in double quotes");
		return false;
	}
	return true;
}

/* pos is at the opening quote. Ends behind the closing one. */
static bool scan_quoted(struct parser *p)
{
	u32 begin = p->lex.pos++;

	for (; raw(p) >= 0 && raw(p) != '\n'; p->lex.pos++) {
		if (raw(p) == '"') {
			p->lex.pos++;
			return true;
		}
		if (raw(p) == '\\' && p->lex.pos + 1 < p->lex.len && p->lex.text[p->lex.pos + 1] != '\n')
			p->lex.pos++;
		if (!raw(p)) {
			diag_error(p->diag, here(p, 1), E_SYNTAX, "unexpected byte 0x00 in an attach point");
			return false;
		}
	}
	diag_error(p->diag, (struct span){ p->lex.src, begin, p->lex.pos }, E_UNTERMINATED, "this quoted name is not closed");
	diag_hint(p->diag, "add a '\"' at its end");
	return false;
}

/* Moves over the raw text of one attach point. */
static bool scan(struct parser *p)
{
	bool has_colon = false;
	int c;

	while ((c = raw(p)) >= 0 && c != '{' && c != ',' && !is_blank(c) && (c != '/' || has_colon)) {
		if (c == '"') {
			if (!scan_quoted(p))
				return false;
			continue;
		}
		if (!check_byte(p))
			return false;
		has_colon |= c == ':';
		p->lex.pos++;
	}
	return true;
}

/* "name=" before an attach point, or NULL. */
static const char *scan_given_name(struct parser *p)
{
	struct lex l = p->lex;
	u32 begin = l.pos, end;

	while (l.pos < l.len && (l.text[l.pos] == '_' || isalnum((u8)l.text[l.pos])))
		l.pos++;
	end = l.pos;
	while (l.pos < l.len && is_blank(l.text[l.pos]))
		l.pos++;
	if (end == begin || l.pos >= l.len || l.text[l.pos] != '=')
		return NULL;
	p->lex.pos = l.pos + 1;
	while (is_blank(raw(p)))
		p->lex.pos++;
	return arena_strndup(p->arena, l.text + begin, end - begin);
}

/* Appends the parameter that the `$N` at *s names, and moves *s behind it. */
static void fill_param(struct parser *p, const char **s, struct span at, struct sbuf *out)
{
	u64 n = 0;

	for (++*s; isdigit((u8) * *s); ++*s)
		n = MIN(n * 10 + (**s - '0'), 1000000000);
	if (n <= p->c->param_cnt) {
		sbuf_puts(out, p->c->params[n - 1]);
		return;
	}
	/* Each is reported once. */
	if (p->missing_params & 1ull << MIN(n, 63))
		return;
	p->missing_params |= 1ull << MIN(n, 63);
	diag_warn(p->diag, at, W_MISSING_PARAM, "positional parameter $%llu was not given: it is replaced by an empty text",
		  (unsigned long long)n);
}

static const char *fill_params(struct parser *p, const char *s, struct span at)
{
	struct sbuf b = {};
	bool in_quotes = false;
	const char *text;

	while (*s) {
		if (*s == '$' && !in_quotes) {
			fill_param(p, &s, at, &b);
			continue;
		}
		if (in_quotes && *s == '\\' && s[1])
			sbuf_putc(&b, *s++);
		else if (*s == '"')
			in_quotes = !in_quotes;
		sbuf_putc(&b, *s++);
	}
	text = arena_strdup(p->arena, sbuf_str(&b));
	sbuf_release(&b);
	return text;
}

static void split(struct parser *p, struct attach_point *ap)
{
	vec(const char *) parts = {};
	struct sbuf b = {};
	bool in_quotes = false;

	for (const char *s = ap->text;; s++) {
		if (!*s || (*s == ':' && !in_quotes)) {
			avec_push(p->arena, &parts, arena_strdup(p->arena, sbuf_str(&b)));
			sbuf_reset(&b);
			if (!*s)
				break;
		} else if (*s == '"') {
			in_quotes = !in_quotes;
		} else {
			if (in_quotes && *s == '\\' && s[1])
				s++;
			sbuf_putc(&b, *s);
		}
	}
	sbuf_release(&b);
	ap->parts = parts.at;
	ap->part_cnt = parts.cnt;
}

/* attach = [ name "=" ] raw text ; */
static bool attach_point(struct parser *p, struct attach_point *ap)
{
	u32 begin;

	ap->given_name = scan_given_name(p);
	begin = p->lex.pos;
	if (!scan(p))
		return false;
	if (p->lex.pos == begin) {
		diag_error(p->diag, here(p, word_len(p)), E_SYNTAX, "expected an attach point, found %s", describe_raw(p));
		return false;
	}
	ap->span = (struct span){ p->lex.src, begin, p->lex.pos };
	ap->text = arena_strndup(p->arena, p->lex.text + begin, p->lex.pos - begin);
	ap->text = fill_params(p, ap->text, ap->span);
	split(p, ap);
	return true;
}

/* attach { "," attach } [ "," ] */
bool parse_attach_points(struct parser *p, struct probe *pr)
{
	vec(struct attach_point) aps = {};
	struct attach_point ap;

	do {
		ap = (struct attach_point){};
		if (!attach_point(p, &ap))
			return false;
		avec_push(p->arena, &aps, ap);
		lex_skip_space(&p->lex);
		if (raw(p) != ',')
			break;
		p->lex.pos++;
		lex_skip_space(&p->lex);
	} while (raw(p) != '{' && raw(p) != '/');
	pr->aps = aps.at;
	pr->ap_cnt = aps.cnt;
	if (raw(p) == '{' || raw(p) == '/')
		return true;
	if (raw(p) >= 0 || parse_end_is_news(p)) {
		diag_error(p->diag, raw(p) >= 0 ? here(p, word_len(p)) : ap.span, E_SYNTAX,
			   "expected ',', '/' or '{' after the attach point '%s', found %s", ap.text, describe_raw(p));
		if (ap.part_cnt > 1 && strchr(ap.parts[ap.part_cnt - 1], '/'))
			diag_hint(p->diag,
				  "a '/' directly after a name is part of the name; put a space before the predicate's '/'");
		else
			diag_hint(p->diag, "a probe looks like this: kprobe:vfs_read /pid == 1/ { @reads = count(); }");
	}
	return false;
}
