/* SPDX-License-Identifier: GPL-2.0-only */
/* --fmt: the formatter.
 *
 * Only blanks and line ends change: every token, attach point, preprocessor line and comment stays as it was written, so the
 * result means the same. The layout depends on the tokens and comments alone, and on four choices of the author: a blank line
 * between two statements stays (several become one); a block that stood on one line and holds at most one statement stays there
 * if it fits; attach points that stood on lines of their own keep them; and a comment behind something on its line stays behind
 * it.
 *
 * lang/pieces.c splits the text into pieces and classifies each; lang/pretty.c places them on lines.
 */
#pragma once

#include "lang/lex.h"

enum piece_kind {
	PIECE_TOKEN,
	PIECE_RAW,       /* an attach point, `name=` included, or bytes that are no token */
	PIECE_COMMENT,   /* of either kind */
	PIECE_DIRECTIVE, /* a line of the preprocessor, with those that it continues on; the #! line */
};

struct piece {
	enum piece_kind kind;
	enum token_kind tok;          /* PIECE_TOKEN */
	u32 begin, end;               /* bytes of the source */
	u32 newlines;                 /* line ends between the piece before and this one */
	u32 column;                   /* of its first byte in the source, from 0; a tab goes to the next multiple of 8 */
	bool is_c;                    /* inside of a C definition */
	bool is_prefix;               /* an operator that belongs to what follows: -x *p &x ++x */
	bool is_postfix;              /* x++ */
	bool is_star;                 /* of a type */
	bool ends_cast;               /* the `)` of (type)x */
	bool opens_pred, closes_pred; /* the slashes of a predicate */
	bool is_annotation;           /* the `:` of `let $x: type` and of parameters */
	bool ends_item;               /* the last piece of a probe, definition, … */
};

struct pieces {
	struct piece *at;
	u32 cnt;
	const char *text;
};

/* The source must have been parsed without errors. */
struct pieces pieces_read(struct arena *a, struct diag *d, u32 src);
static inline bool piece_is(const struct piece *p, enum token_kind tok)
{
	return p && p->kind == PIECE_TOKEN && p->tok == tok;
}

/* Appends the formatted source. False: reported (braces that are balanced only in one branch of an #if). */
bool lang_pretty(struct arena *a, struct diag *d, u32 src, struct sbuf *out);
