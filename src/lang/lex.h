/* SPDX-License-Identifier: GPL-2.0-only */
/* From text to tokens, one at a time: the parser asks for the next token only where the grammar has tokens, because attach points
 * are raw text. It may move `pos` back and lex again; an error in a token is reported only the first time.
 *
 * The input may hold any bytes, NUL included. A malformed literal is reported and yields a token of its kind all the same, so
 * that the parser has nothing more to say about it; bytes that begin no token are reported and skipped. */
#pragma once

#include "base/diag.h"

enum token_kind {
#define TOKEN_ROW(kind, text) kind,
#define KEYWORD_ROW(kind, text) kind,
#define OPERATOR_ROW(kind, text) kind,
#include "lang/token.def"
#undef TOKEN_ROW
#undef KEYWORD_ROW
#undef OPERATOR_ROW
	TOKEN_KIND_CNT
};

struct token {
	enum token_kind kind;
	struct span span;
	/* A name or keyword; a variable without its $, a map with its @; a string with its escapes resolved. NUL-terminated; a
	 * string may hold further NULs. NULL for other kinds. */
	const char *text;
	u32 len;
	u64 num; /* TOK_INT: the value, durations in nanoseconds. TOK_PARAM: N of $N, 0 for $# */
};

struct lex {
	struct arena *arena;
	struct diag *diag;
	u32 src;
	const char *text;
	u32 len;
	u32 pos;        /* where the next token begins, after blanks */
	bool after_dot; /* the token before was a `.`: digits are a member (`.0.1` is no fraction) */
	bool quiet;     /* report nothing: text that is skipped after an error */
	bool cut_short; /* an unterminated string or comment was reported: tokens that seem to be missing at the end may be inside
			   it */
	u32 cut_end;    /* … where the last such string ends */
	u32 reported;   /* offsets below this were lexed before: errors there are not reported again */
};

/* Starts at the beginning of source `src`, behind a byte order mark and a `#!` line. */
void lex_init(struct lex *l, struct arena *arena, struct diag *diag, u32 src);
struct token lex_next(struct lex *l);
/* Moves over whitespace and comments. */
void lex_skip_space(struct lex *l);

/* As messages show it: 'foo', '+=', the end of the script. In the arena. */
const char *token_describe(const struct lex *l, const struct token *t);
/* The row's text: "+=", "a number". */
const char *token_kind_text(enum token_kind kind);
static inline bool token_is_keyword(enum token_kind kind)
{
	return kind >= TOK_BREAK && kind <= TOK_WHILE;
}

/* The result of reading a number: why is NULL if it is one; else a message, and hint (may be NULL) says what to write. */
struct number {
	u64 value;
	const char *why, *hint;
};
/* Reads the len bytes at s as one number: decimal, 0x, octal, 5e6, `_`, suffixes u ul ull l ll, durations ns us ms s m h d (as
 * nanoseconds). 0b is for attach points, parameters and the environment only, where binary_ok is set. */
struct number number_parse(struct arena *a, const char *s, u32 len, bool binary_ok);
