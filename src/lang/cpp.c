/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/cdecl.h"

#include <ctype.h>

#include "lang/parse.h"

static void include(void *arg, const char *name, bool is_quoted, struct span at)
{
	parse_include(((struct cpp *)arg)->parser, name, is_quoted, at);
}

void cpp_init(struct cpp *c, struct compile *compile, struct parser *parser)
{
	*c = (struct cpp){ .c = compile, .parser = parser, .host = cdecl_host };
	c->host.diag = compile->diag;
	c->host.include = include;
	c->host.arg = c;
	c->pp = pp_new(compile->arena, &c->host);
	if (compile->target && target_types(compile->target))
		pp_define(c->pp, "BPFTRACE_HAVE_BTF", "1");
}

void cpp_release(struct cpp *c)
{
	if (c->has_types)
		cparse_release(&c->types);
	pp_free(c->pp);
}

/* ---- macros ---- */

struct lex cpp_lex(const struct cpp *c, const struct cmacro *m)
{
	return (struct lex){ .arena = c->c->arena,
			     .diag = c->c->diag,
			     .src = m->src ? m->src - 1 : 0,
			     .text = m->text,
			     .pos = m->begin,
			     .len = m->end };
}

enum pp_call cpp_call(struct cpp *c, struct cmacro *m, struct span name, const struct lex *at, struct lex *text, u32 *end)
{
	struct csource src = { .p = at->text + at->pos, .end = at->text + at->len, .base = at->text, .src = at->src + 1 };
	u32 made;
	enum pp_call r = pp_call(c->pp, m, name, &src, &made);

	*end = src.p - at->text;
	if (r == PP_CALL) {
		lex_init(text, at->arena, at->diag, made);
		text->pos = 0;
		text->quiet = at->quiet;
	}
	return r;
}

/* ---- lines ---- */

struct scan {
	u32 src;
	char *text; /* the source, with continued lines joined */
	char *out;
	u32 len, pos;
};

/* Moves over a comment if there is one. One without an end is none: the text may be an attach point with a path. */
static bool skip_comment(struct scan *s)
{
	const char *at = s->text + s->pos, *end;

	if (s->len - s->pos < 2 || at[0] != '/')
		return false;
	if (at[1] == '/') {
		while (s->pos < s->len && s->text[s->pos] != '\n')
			s->pos++;
		return true;
	}
	if (at[1] != '*')
		return false;
	end = memmem(at + 2, s->len - s->pos - 2, "*/", 2);
	if (!end)
		return false;
	s->pos = end + 2 - s->text;
	return true;
}

static void skip_quoted(struct scan *s)
{
	for (s->pos++; s->pos < s->len && s->text[s->pos] != '"' && s->text[s->pos] != '\n'; s->pos++)
		if (s->text[s->pos] == '\\' && s->pos + 1 < s->len && s->text[s->pos + 1] != '\n')
			s->pos++;
	if (s->pos < s->len && s->text[s->pos] == '"')
		s->pos++;
}

/* Over a string, a comment or a byte. */
static void step(struct scan *s)
{
	if (s->text[s->pos] == '"')
		skip_quoted(s);
	else if (!skip_comment(s))
		s->pos++;
}

/* To the end of a preprocessor line, over the ends of lines that are continued. */
static void skip_line(struct scan *s)
{
	while (s->pos < s->len && s->text[s->pos] != '\n') {
		if (s->text[s->pos] == '\\' && s->pos + 1 < s->len && s->text[s->pos + 1] == '\n') {
			s->text[s->pos] = s->text[s->pos + 1] = ' ';
			s->pos += 2;
		} else {
			step(s);
		}
	}
}

static void blank(struct scan *s, u32 begin, u32 end)
{
	for (u32 i = begin; i < end; i++)
		if (s->out[i] != '\n')
			s->out[i] = ' ';
}

static void hash_line(struct cpp *c, struct scan *s)
{
	struct csource line = { .p = s->text + s->pos, .base = s->text, .src = s->src + 1 };
	u32 begin = s->pos;

	skip_line(s);
	line.end = s->text + s->pos;
	/* The parser reports a directive that does not exist. */
	if (pp_line(c->pp, line))
		blank(s, begin, s->pos);
}

const char *cpp_run(struct cpp *c, u32 src)
{
	const struct source *source = &c->c->diag->sources.at[src];
	struct scan s = { .src = src, .len = source->len };
	bool at_line_start = true;

	s.text = arena_strndup(c->c->arena, source->text, source->len);
	if (s.len > 1 && s.text[0] == '#' && s.text[1] == '!')
		while (s.pos < s.len && s.text[s.pos] != '\n')
			s.pos++;
	if (!memchr(s.text + s.pos, '#', s.len - s.pos))
		return s.text;
	s.out = arena_strndup(c->c->arena, source->text, source->len);
	pp_begin(c->pp);
	while (s.pos < s.len) {
		u32 begin = s.pos;
		u8 first = s.text[begin];

		if (at_line_start && first == '#') {
			hash_line(c, &s);
			continue;
		}
		step(&s);
		/* A comment may stand before the #. */
		at_line_start = first == '\n' || (at_line_start && (isspace(first) || (first == '/' && s.pos > begin + 1)));
		if (!pp_is_on(c->pp))
			blank(&s, begin, s.pos);
	}
	pp_end(c->pp);
	return s.out;
}
