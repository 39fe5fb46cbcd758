/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/token.h"

/* ---- names ---- */

void csyms_init(struct csyms *t, struct arena *arena, u32 cap)
{
	*t = (struct csyms){ .arena = arena };
	htab_reserve(&t->table, cap);
}

void csyms_release(struct csyms *t)
{
	htab_release(&t->table);
	vec_free(&t->syms);
}

static struct csym *find(const struct csyms *t, const char *s, u32 len, u32 hash)
{
	htab_for(p, &t->table, hash) {
		struct csym *sym = t->syms.at[*p - 1];

		if (sym->len == len && !memcmp(sym->name, s, len))
			return sym;
	}
	return NULL;
}

struct csym *csym_find(const struct csyms *t, const char *s, u32 len)
{
	return find(t, s, len, bytes_hash(s, len));
}

struct csym *csym_get(struct csyms *t, const char *s, u32 len)
{
	u32 hash = bytes_hash(s, len);
	struct csym *sym = find(t, s, len, hash);

	if (sym)
		return sym;
	sym = arena_new(t->arena, struct csym);
	sym->name = arena_strndup(t->arena, s, len);
	sym->len = len;
	vec_push(&t->syms, sym);
	htab_add(&t->table, hash, t->syms.cnt);
	return sym;
}

/* ---- text ---- */

struct csource csource_new(struct arena *a, const char *text, size_t len)
{
	char *to = arena_alloc(a, len + 2), *p = to;
	const char *end = text + len;
	u32 joined = 0;

	/* The newlines that a joined line loses follow at its end, so that lines keep their numbers. */
	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		size_t n = (nl ? nl : end) - text;
		size_t body = n && text[n - 1] == '\r' ? n - 1 : n;

		if (nl && body && text[body - 1] == '\\') {
			memcpy(p, text, body - 1);
			p += body - 1;
			joined++;
		} else {
			memcpy(p, text, body);
			p += body;
			for (joined += nl != NULL; joined; joined--)
				*p++ = '\n';
		}
		text += n + (nl != NULL);
	}
	*p++ = '\n';
	*p = 0;
	return (struct csource){ .p = to, .end = p, .base = to, .line = 1, .at_line_begin = true };
}

static bool is_digit(u8 c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of identifiers and numbers: 1 always, 2 in headers only. In a script $ begins a name but does not continue one. */
static const u8 word_bytes[256] = { ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['_'] = 1,
				    ['a' ... 'z'] = 1, ['$'] = 2,         [0x80 ... 0xff] = 2 };

static bool is_word(const struct csource *s, u8 c)
{
	return word_bytes[c] == 1 || (word_bytes[c] && !s->src);
}

/* Behind spaces and comments, or at a comment that does not end. True if there was any. Stops at a newline when in_line. */
static bool skip_space(struct csource *s, bool in_line)
{
	const char *begin = s->p;

	for (;;) {
		if (*s->p == ' ' || *s->p == '\t' || *s->p == '\f' || *s->p == '\v' || *s->p == '\r') {
			s->p++;
		} else if (*s->p == '\n' && s->p < s->end) {
			if (in_line)
				break;
			s->p++;
			s->line++;
			s->at_line_begin = true;
		} else if (s->p[0] == '/' && s->p[1] == '*') {
			const char *close = memchr(s->p + 2, '*', s->end - s->p - 2);

			while (close && close[1] != '/')
				close = memchr(close + 1, '*', s->end - close - 1);
			if (!close)
				break;
			for (const char *c = s->p; c < close; c++)
				s->line += *c == '\n';
			s->p = close + 2;
		} else if (s->p[0] == '/' && s->p[1] == '/') {
			s->p = memchr(s->p, '\n', s->end - s->p);
			s->p = s->p ? s->p : s->end;
		} else {
			break;
		}
	}
	return s->p != begin;
}

static const struct {
	char s[4];
	u16 op;
} puncts[] = {
	{ "...", COP_ELLIPSIS }, { "<<=", COP_ASSIGN_OP }, { ">>=", COP_ASSIGN_OP }, { "->", COP_ARROW },
	{ "++", COP_INC },       { "--", COP_DEC },        { "<<", COP_SHL },        { ">>", COP_SHR },
	{ "<=", COP_LE },        { ">=", COP_GE },         { "==", COP_EQ },         { "!=", COP_NE },
	{ "&&", COP_ANDAND },    { "||", COP_OROR },       { "##", COP_HASHHASH },   { "+=", COP_ASSIGN_OP },
	{ "-=", COP_ASSIGN_OP }, { "*=", COP_ASSIGN_OP },  { "/=", COP_ASSIGN_OP },  { "%=", COP_ASSIGN_OP },
	{ "&=", COP_ASSIGN_OP }, { "|=", COP_ASSIGN_OP },  { "^=", COP_ASSIGN_OP },
};

static u32 punct_len(const char *s, u16 *op)
{
	for (u32 i = 0; i < ARRAY_CNT(puncts); i++) {
		u32 n = puncts[i].s[2] ? 3 : 2;

		if (*s == puncts[i].s[0] && !strncmp(s, puncts[i].s, n)) {
			*op = puncts[i].op;
			return n;
		}
	}
	*op = (u8)*s;
	return 1;
}

/* A string or character constant, from its quote on; ends with the line at the latest. */
static u32 quoted_len(const char *s, const char *end)
{
	const char *p = s + 1;

	while (p < end && *p != '\n' && *p != *s)
		p += *p == '\\' && p + 1 < end && p[1] != '\n' ? 2 : 1;
	return p - s + (p < end && *p == *s);
}

struct ctok ctok_next(struct csource *s, struct csyms *syms, bool in_line)
{
	struct ctok t = { .src = s->src };

	t.has_space = skip_space(s, in_line);
	t.at_line_begin = s->at_line_begin;
	s->at_line_begin = false;
	t.s = s->p;
	t.off = s->p - s->base;
	if (s->p >= s->end || *s->p == '\n' || !*s->p) {
		if (*s->p == 0 && s->p < s->end) { /* a NUL byte in the file */
			s->p++;
			t.kind = CTOK_OTHER;
			t.len = 1;
			return t;
		}
		if (in_line)
			s->at_line_begin = t.at_line_begin;
		return t; /* CTOK_END */
	}
	if ((is_word(s, *s->p) && !is_digit(*s->p)) || *s->p == '$') {
		const char *p = s->p;

		/* L"wide", u8"text" */
		if ((*p == 'L' || *p == 'u' || *p == 'U') &&
		    (p[1] == '"' || p[1] == '\'' || (*p == 'u' && p[1] == '8' && p[2] == '"'))) {
			p += p[1] == '8' ? 2 : 1;
			t.kind = *p == '"' ? CTOK_STR : CTOK_CHAR;
			t.len = p - s->p + quoted_len(p, s->end);
		} else {
			while (is_word(s, *++p))
				;
			t.kind = CTOK_IDENT;
			t.len = p - s->p;
			t.sym = csym_get(syms, s->p, t.len);
		}
	} else if (is_digit(*s->p) || (*s->p == '.' && is_digit(s->p[1]))) {
		const char *p = s->p;

		while (is_word(s, *p) || (*p == '.' && p[1] != '.') || /* 0..n is a range of a script */
		       ((*p == '+' || *p == '-') && strchr("eEpP", p[-1]) &&
			!(s->p[0] == '0' && (s->p[1] | 32) == 'x' && (p[-1] | 32) == 'e')))
			p++;
		t.kind = CTOK_NUM;
		t.len = p - s->p;
	} else if (*s->p == '"' || *s->p == '\'') {
		t.kind = *s->p == '"' ? CTOK_STR : CTOK_CHAR;
		t.len = quoted_len(s->p, s->end);
	} else if (s->p[0] == '/' && s->p[1] == '*') { /* skip_space() has found no end */
		t.kind = CTOK_OTHER;
		t.len = 2;
		s->p = s->end - 2;
	} else if (*s->p == '@') { /* the name of a map, not of a macro */
		t.kind = CTOK_OTHER;
		while (is_word(s, s->p[++t.len]))
			;
	} else if (strchr("{}[]()#;:,.?~!+-*/%^&|=<>", *s->p)) {
		t.kind = CTOK_PUNCT;
		t.len = punct_len(s->p, &t.op);
	} else {
		t.kind = CTOK_OTHER;
		t.len = 1;
	}
	s->p += t.len;
	return t;
}

void csource_skip_to_directive(struct csource *s)
{
	for (;;) {
		if (!s->at_line_begin) {
			/* Comments may hide newlines, strings may hide comments: go token by token to the end of the line. */
			while (s->p < s->end && *s->p != '\n') {
				if (s->p[0] == '/' && (s->p[1] == '*' || s->p[1] == '/'))
					s->p = skip_space(s, true) ? s->p : s->end;
				else if (*s->p == '"' || *s->p == '\'')
					s->p += quoted_len(s->p, s->end);
				else
					s->p++;
			}
			if (s->p >= s->end)
				return;
			s->p++;
			s->line++;
			s->at_line_begin = true;
		}
		skip_space(s, false);
		if (s->p >= s->end || *s->p == '#')
			return;
		s->at_line_begin = false;
	}
}
