/* SPDX-License-Identifier: GPL-2.0-only */
/* A source as pieces for the formatter: tokens, comments, attach points. It reads the same text as the parser, but keeps what the
 * parser drops (comments, preprocessor directives, both branches of an #if). It needs a little of the grammar: where an item
 * begins and ends, because attach points are not tokens; and the meaning of an operator, because that decides the blanks around
 * it. */
#include "lang/pretty.h"

#include <ctype.h>

#include "base/vec.h"

struct reader {
	struct arena *arena;
	struct lex lex;
	const char *text;
	u32 pos, len;
	u32 line_begin; /* of the line that pos is in */
	u32 newlines;   /* since the last piece */
	bool in_c;
	vec(struct piece) pieces;
};

static int byte(const struct reader *r, u32 ahead)
{
	return r->pos + (u64)ahead < r->len ? (u8)r->text[r->pos + ahead] : -1;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_word(int c)
{
	return c == '_' || (c >= 0 && isalnum(c));
}

static void skip_blanks(struct reader *r)
{
	for (; is_blank(byte(r, 0)); r->pos++) {
		if (byte(r, 0) == '\n') {
			r->newlines++;
			r->line_begin = r->pos + 1;
		}
	}
}

static u32 column_of(const struct reader *r, u32 at)
{
	u32 col = 0;

	for (u32 i = r->line_begin; i < at; i++)
		col = r->text[i] == '\t' ? (col + 8) / 8 * 8 : col + 1;
	return col;
}

/* The piece goes from pos to end. */
static struct piece *add(struct reader *r, enum piece_kind kind, u32 end)
{
	struct piece p = { .kind = kind,
			   .begin = r->pos,
			   .end = end,
			   .newlines = r->newlines,
			   .column = column_of(r, r->pos),
			   .is_c = r->in_c };

	avec_push(r->arena, &r->pieces, p);
	for (u32 i = r->pos; i < end; i++)
		if (r->text[i] == '\n')
			r->line_begin = i + 1;
	r->newlines = 0;
	r->pos = end;
	return &r->pieces.at[r->pieces.cnt - 1];
}

static u32 line_end(const struct reader *r, u32 at)
{
	while (at < r->len && r->text[at] != '\n')
		at++;
	return at;
}

static u32 without_blanks(const struct reader *r, u32 begin, u32 end)
{
	while (end > begin && is_blank((u8)r->text[end - 1]))
		end--;
	return end;
}

static bool at_line_begin(const struct reader *r)
{
	for (u32 i = r->line_begin; i < r->pos; i++)
		if (!is_blank((u8)r->text[i]))
			return false;
	return true;
}

/* Skips blanks, comments and preprocessor directives. */
static void skip_silent(struct reader *r)
{
	for (;;) {
		u32 end;

		skip_blanks(r);
		if (byte(r, 0) == '/' && byte(r, 1) == '/') {
			end = line_end(r, r->pos);
			add(r, PIECE_COMMENT, without_blanks(r, r->pos, end));
			r->pos = end;
		} else if (byte(r, 0) == '/' && byte(r, 1) == '*') {
			for (end = r->pos + 2;
			     end < r->len && !(r->text[end] == '/' && r->text[end - 1] == '*' && end > r->pos + 2); end++)
				;
			add(r, PIECE_COMMENT, MIN(end + 1, r->len));
		} else if (byte(r, 0) == '#' && at_line_begin(r)) {
			end = line_end(r, r->pos);
			while (end < r->len && end > r->pos && r->text[end - 1] == '\\')
				end = line_end(r, end + 1);
			add(r, PIECE_DIRECTIVE, without_blanks(r, r->pos, end));
			r->pos = end;
		} else {
			return;
		}
	}
}

/* The next token; NULL at the end of the text. */
static struct piece *next(struct reader *r)
{
	struct token t;
	struct piece *p;

	skip_silent(r);
	if (r->pos >= r->len)
		return NULL;
	r->lex.pos = r->pos;
	r->lex.quiet = true;
	t = lex_next(&r->lex);
	/* Bytes that are no token, in what a condition leaves out: kept as they are. */
	if (t.span.begin > r->pos || t.kind == TOK_END)
		return add(r, PIECE_RAW, without_blanks(r, r->pos, MAX(t.span.begin, r->pos + 1)));
	p = add(r, PIECE_TOKEN, t.span.end);
	p->tok = t.kind;
	return p;
}

/* The kind of the token behind pos, which stays. */
static enum token_kind peek(const struct reader *r)
{
	struct lex l = r->lex;

	l.pos = r->pos;
	l.quiet = true;
	return lex_next(&l).kind;
}

static bool word_at(const struct reader *r, const char *word)
{
	u32 n = strlen(word);

	return r->len - r->pos >= n && !memcmp(r->text + r->pos, word, n) && !is_word(byte(r, n));
}

/* Where blanks that follow `ahead` bytes end. */
static u32 behind_blanks(const struct reader *r, u32 ahead)
{
	while (is_blank(byte(r, ahead)))
		ahead++;
	return ahead;
}

/* The `{` has been read; up to its `}`. */
static void read_braces(struct reader *r)
{
	u32 depth = 1;
	struct piece *p;

	while (depth && (p = next(r)))
		depth += piece_is(p, TOK_LBRACE) - piece_is(p, TOK_RBRACE);
}

static void end_item(struct reader *r)
{
	if (r->pieces.cnt)
		r->pieces.at[r->pieces.cnt - 1].ends_item = true;
}

/* Up to a `;` outside of braces, or, if a block may end it, to the block's `}`. */
static void read_item(struct reader *r, bool ends_in_block, bool ends_in_paren)
{
	u32 parens = 0;
	struct piece *p;

	while ((p = next(r)) && !piece_is(p, TOK_SEMI)) {
		parens += piece_is(p, TOK_LPAREN);
		if (piece_is(p, TOK_RPAREN) && parens && !--parens && ends_in_paren && peek(r) != TOK_SEMI)
			break;
		if (!piece_is(p, TOK_LBRACE))
			continue;
		read_braces(r);
		if (ends_in_block)
			break;
	}
	end_item(r);
}

/* A struct, union, enum or typedef. Only a typedef needs its `;`. */
static void read_c(struct reader *r)
{
	bool is_typedef = word_at(r, "typedef");
	struct piece *p;

	r->in_c = true;
	while ((p = next(r)) && !piece_is(p, TOK_SEMI)) {
		struct lex l = r->lex;
		struct token t;

		if (!piece_is(p, TOK_LBRACE))
			continue;
		read_braces(r);
		if (is_typedef)
			continue;
		l.pos = r->pos;
		l.quiet = true;
		t = lex_next(&l);
		if (t.kind != TOK_SEMI && !(t.kind == TOK_IDENT && str_starts(t.text, "__attribute")))
			break;
	}
	r->in_c = false;
	end_item(r);
}

/* The length of `name =` and its blanks at pos, 0 if there is none; *name_len: of the name. */
static u32 given_name(const struct reader *r, u32 *name_len)
{
	u32 n = 0, eq;

	while (is_word(byte(r, n)))
		n++;
	eq = behind_blanks(r, n);
	*name_len = n;
	return n && byte(r, eq) == '=' ? behind_blanks(r, eq + 1) : 0;
}

/* The same rules as parse_attach.c. */
static u32 attach_end(const struct reader *r, u32 at)
{
	bool has_colon = false, in_quotes = false;

	for (; at < r->len; at++) {
		char c = r->text[at];

		if (in_quotes && c == '\\' && at + 1 < r->len)
			at++;
		else if (c == '"')
			in_quotes = !in_quotes;
		else if (!in_quotes && (c == '{' || c == ',' || is_blank((u8)c) || (c == '/' && !has_colon)))
			break;
		has_colon |= c == ':';
	}
	return at;
}

static void read_probe(struct reader *r)
{
	struct piece *p;
	u32 name_len, prefix;

	for (;;) {
		skip_silent(r);
		if (r->pos >= r->len || byte(r, 0) == '{' || byte(r, 0) == '/')
			break;
		if (byte(r, 0) == ',') {
			next(r);
			continue;
		}
		prefix = given_name(r, &name_len);
		if (prefix) {
			add(r, PIECE_RAW, r->pos + name_len);
			next(r)->is_prefix = true;
			skip_blanks(r);
			r->newlines = 0;
		}
		add(r, PIECE_RAW, MAX(attach_end(r, r->pos), MIN(r->pos + 1, r->len)));
	}
	if (byte(r, 0) == '/') {
		next(r)->opens_pred = true;
		while ((p = next(r)) && !(piece_is(p, TOK_SLASH) && peek(r) == TOK_LBRACE))
			;
		if (p)
			p->closes_pred = true;
	}
	if (piece_is(next(r), TOK_LBRACE))
		read_braces(r);
	end_item(r);
}

static void read_items(struct reader *r)
{
	for (;;) {
		skip_silent(r);
		if (r->pos >= r->len)
			return;
		if (word_at(r, "struct") || word_at(r, "union") || word_at(r, "enum") || word_at(r, "typedef"))
			read_c(r);
		else if (word_at(r, "config") && byte(r, behind_blanks(r, 6)) == '=')
			read_item(r, true, false);
		else if ((word_at(r, "macro") || word_at(r, "fn")) &&
			 is_word(byte(r, behind_blanks(r, word_at(r, "fn") ? 2 : 5))))
			read_item(r, true, false);
		else if (word_at(r, "import") || word_at(r, "let"))
			read_item(r, false, word_at(r, "let"));
		else
			read_probe(r);
	}
}

/* ---- what operators mean ---- */

static bool ends_operand(const struct piece *p)
{
	if (!p || p->kind != PIECE_TOKEN || p->ends_cast)
		return false;
	switch ((int)p->tok) { /* few end an operand */
	case TOK_INT:
	case TOK_STR:
	case TOK_IDENT:
	case TOK_VAR:
	case TOK_PARAM:
	case TOK_MAP:
	case TOK_TRUE:
	case TOK_FALSE:
	case TOK_RPAREN:
	case TOK_RBRACKET:
		return true;
	case TOK_PLUS_PLUS:
	case TOK_MINUS_MINUS:
		return p->is_postfix;
	}
	return false;
}

static bool begins_operand(const struct piece *p)
{
	if (!p || p->kind != PIECE_TOKEN)
		return false;
	switch ((int)p->tok) { /* few begin an operand */
	case TOK_INT:
	case TOK_STR:
	case TOK_IDENT:
	case TOK_VAR:
	case TOK_PARAM:
	case TOK_MAP:
	case TOK_TRUE:
	case TOK_FALSE:
	case TOK_SIZEOF:
	case TOK_OFFSETOF:
	case TOK_TYPEOF:
	case TOK_TYPEINFO:
		return true;
	}
	return false;
}

static const struct piece *significant(const struct pieces *ps, u32 i, int step)
{
	for (i += step; i < ps->cnt; i += step)
		if (ps->at[i].kind == PIECE_TOKEN || ps->at[i].kind == PIECE_RAW)
			return &ps->at[i];
	return NULL;
}

static bool text_is_int_type(const char *s, u32 n)
{
	static const char *const names[] = { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
					     "int",  "long",  "char",  "short", "bool",  "void",   "u8",     "u16",
					     "u32",  "u64",   "s8",    "s16",   "s32",   "s64" };

	if (n > 2 && s[n - 2] == '_' && s[n - 1] == 't')
		return true;
	for (u32 i = 0; i < ARRAY_CNT(names); i++)
		if (strlen(names[i]) == n && !memcmp(s, names[i], n))
			return true;
	return false;
}

/* Whether the parentheses from `open` to `close` hold a type that what follows is cast to. */
static bool is_cast(const struct pieces *ps, u32 open, u32 close)
{
	const struct piece *before = significant(ps, open, -1), *after = significant(ps, close, 1);
	bool is_sure = false;

	if (before && before->kind == PIECE_TOKEN &&
	    (ends_operand(before) || before->tok == TOK_SIZEOF || before->tok == TOK_OFFSETOF || before->tok == TOK_TYPEOF ||
	     before->tok == TOK_TYPEINFO))
		return false;
	for (u32 i = open + 1; i < close; i++) {
		const struct piece *p = &ps->at[i];

		if (p->kind == PIECE_COMMENT)
			continue;
		if (p->kind != PIECE_TOKEN)
			return false;
		if (p->tok == TOK_STRUCT || p->tok == TOK_UNION || p->tok == TOK_ENUM || p->tok == TOK_STAR)
			is_sure = true;
		else if (p->tok == TOK_IDENT)
			is_sure |= text_is_int_type(ps->text + p->begin, p->end - p->begin);
		else if (p->tok != TOK_LBRACKET && p->tok != TOK_RBRACKET && p->tok != TOK_INT)
			return false;
	}
	if (close == open + 1 || ps->at[open + 1].kind != PIECE_TOKEN || ps->at[open + 1].tok == TOK_INT ||
	    ps->at[open + 1].tok == TOK_STAR)
		return false;
	if (begins_operand(after))
		return true;
	return is_sure && after && after->kind == PIECE_TOKEN &&
		(after->tok == TOK_LPAREN || after->tok == TOK_MINUS || after->tok == TOK_STAR || after->tok == TOK_AMP ||
		 after->tok == TOK_TILDE || after->tok == TOK_BANG);
}

/* A `*` with nothing to multiply behind it. */
static bool is_type_star(const struct pieces *ps, u32 i)
{
	const struct piece *after = significant(ps, i, 1);

	if (ps->at[i].is_c)
		return true;
	while (piece_is(after, TOK_STAR))
		after = significant(ps, after - ps->at, 1);
	return piece_is(after, TOK_RPAREN) || piece_is(after, TOK_COMMA) || piece_is(after, TOK_ASSIGN) ||
		piece_is(after, TOK_SEMI) || piece_is(after, TOK_LBRACE) ||
		(piece_is(after, TOK_LBRACKET) && !significant(ps, i, -1));
}

static void classify(struct arena *a, struct pieces *ps)
{
	vec(u32) opens = {};
	bool annotates = false; /* behind `let`, `macro` or `fn`, before the `=` or `{` */

	for (u32 i = 0; i < ps->cnt; i++) {
		struct piece *p = &ps->at[i];
		const struct piece *before = significant(ps, i, -1);

		if (p->kind != PIECE_TOKEN || p->opens_pred || p->closes_pred || p->is_prefix)
			continue;
		if (!before || before->ends_item || piece_is(before, TOK_SEMI) || piece_is(before, TOK_LBRACE) ||
		    piece_is(before, TOK_RBRACE))
			annotates = p->tok == TOK_LET ||
				(p->tok == TOK_IDENT && p->end - p->begin == 2 && !memcmp(ps->text + p->begin, "fn", 2));
		switch ((int)p->tok) { /* those with several meanings */
		case TOK_LPAREN:
			avec_push(a, &opens, i);
			break;
		case TOK_RPAREN:
			if (opens.cnt)
				p->ends_cast = !p->is_c && is_cast(ps, opens.at[--opens.cnt], i);
			break;
		case TOK_STAR:
			p->is_star = is_type_star(ps, i);
			p->is_prefix = !p->is_star && !ends_operand(before);
			break;
		case TOK_MINUS:
		case TOK_AMP:
			p->is_prefix = !ends_operand(before);
			break;
		case TOK_BANG:
		case TOK_TILDE:
			p->is_prefix = true;
			break;
		case TOK_PLUS_PLUS:
		case TOK_MINUS_MINUS:
			p->is_postfix = ends_operand(before);
			p->is_prefix = !p->is_postfix;
			break;
		case TOK_COLON:
			p->is_annotation = annotates;
			break;
		case TOK_ASSIGN:
		case TOK_LBRACE:
			annotates = false;
			break;
		}
	}
}

struct pieces pieces_read(struct arena *a, struct diag *d, u32 src)
{
	struct reader r = { .arena = a };
	struct pieces ps;

	lex_init(&r.lex, a, d, src);
	r.text = r.lex.text;
	r.len = r.lex.len;
	/* What lex_init() moves over: a byte order mark, which is left away, and the #! line. */
	if (str_starts(r.text, "\xef\xbb\xbf"))
		r.pos = r.line_begin = 3;
	if (r.lex.pos > r.pos)
		add(&r, PIECE_DIRECTIVE, without_blanks(&r, r.pos, r.lex.pos));
	r.pos = r.lex.pos;
	read_items(&r);
	ps = (struct pieces){ r.pieces.at, r.pieces.cnt, r.text };
	classify(a, &ps);
	return ps;
}
