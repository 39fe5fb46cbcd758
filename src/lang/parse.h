/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the parser, shared by parse.c (program, config), parse_attach.c (attach points), parse_stmt.c (blocks) and
 * parse_expr.c (expressions, types). All other code calls lang_parse() of compile.h.
 *
 * Recursive descent over one token of look-ahead, `tok`; where more is needed the lexer is wound back (parse_mark). A rule is
 * entered with tok at its first token and left with tok behind its last one. A rule that returns NULL or false has reported why;
 * the statement around it skips to its end and parsing goes on, so one run shows several errors.
 *
 * Between the items of a program there is no token: attach points are raw text, so `lex.pos` itself is the position. An item
 * calls parse_advance() to get its first token.
 */
#pragma once

#include "lang/cdecl.h"
#include "lang/compile.h"
#include "lang/lex.h"

/* Limits that keep the recursion of this and later stages inside the stack. A bracket, block, prefix operator or cast costs
 * NEST_COST, an `else if` costs 1; operators of one statement, which may all lean to one side of the tree, are counted apart. */
#define NEST_COST 5
#define NEST_MAX (200 * NEST_COST)
#define LINKS_MAX 2000
/* Parsing stops after this many errors: later ones are probably consequences of earlier ones. */
#define ERRORS_MAX 50

struct parser {
	struct compile *c;
	struct arena *arena;
	struct diag *diag;
	struct script *script;
	struct cpp *cpp;         /* C: what is #defined, and types; NULL where no name is left to replace */
	struct imports *imports; /* files that were read */
	struct lex lex;
	struct token tok;            /* the current token */
	struct span prev;            /* of the token before it */
	vec(const char *) expanding; /* #defined names whose value is being read */
	u32 nest;
	u32 links;         /* operators in this statement so far */
	u32 grouping_at;   /* offset of a `(` that cannot begin a cast to an unknown name: that of `if (x) …`; or NOWHERE */
	bool in_predicate; /* `/` before `{` is its end */
	bool end_reported; /* an unexpected end of the text was reported */
	bool has_config;
	bool is_import;     /* not the script itself, but a file that it imports */
	u64 missing_params; /* bit N: a missing $N was reported */
	u32 errors_before;  /* errors there were before this script */
};
#define NOWHERE UINT32_MAX

struct parse_mark {
	u32 pos;
	bool after_dot;
	struct token tok;
	struct span prev;
};

/* ---- parse.c ---- */

void parse_advance(struct parser *p);
struct parse_mark parse_save(const struct parser *p);
void parse_restore(struct parser *p, const struct parse_mark *m);
/* The token behind tok. */
struct token parse_peek(struct parser *p);

bool parse_accept(struct parser *p, enum token_kind kind);
/* Reports "expected '<kind>' <where>, found …" when tok is another one. */
bool parse_expect(struct parser *p, enum token_kind kind, const char *where);
/* Whether to report a token that is missing at the end of the text: once, and not when an unterminated string may contain it. */
bool parse_end_is_news(struct parser *p);
/* Whether tok follows an unterminated string, which may contain the expected token. */
bool parse_is_after_cut(const struct parser *p);
/* "expected <what>, found …" at tok. False when nothing was reported, because the cause was reported before: then no hint
 * follows. */
bool parse_expected(struct parser *p, const char *what);
/* The same where an expression ended: an '=' here was meant to be '=='. */
bool parse_expected_after_expr(struct parser *p, const char *what);
/* Reports a part of the language that is not supported, "<what> not supported yet". */
void parse_unsupported(struct parser *p, struct span at, const char *what);

/* Counts a level of nesting; false, and an error, when there are too many. parse_leave() takes the same cost. */
bool parse_enter(struct parser *p, u32 cost);
void parse_leave(struct parser *p, u32 cost);

/* tok is an opening bracket: moves to the closing one of its kind, silently. False, and an error, if there is none. */
bool parse_skip_inside(struct parser *p);
/* The same, and behind it. */
void parse_skip_balanced(struct parser *p);
/* Silently moves to the next `{` and behind its `}`, or behind a `;`, or to a `}` that closes what is around. */
void parse_skip_to_block_end(struct parser *p);

/* Parses a whole source into the script. */
void parse_items(struct parser *p, u32 src);

/* ---- import.c ---- */

/* import = "import" string ";" ; lex.pos is at it. */
void parse_import(struct parser *p);
/* #include "name": reads the file if there is one beside the source. */
void parse_include(struct parser *p, const char *name, bool is_quoted, struct span at);

struct imports {
	vec(const char *) paths; /* of files that were read, absolute */
	u32 depth;
};
/* Marks a source as read. */
void imports_add(struct parser *p, u32 src);

/* ---- parse_attach.c ---- */

/* At the first attach point, raw. Fills pr->aps; false: reported. Ends at the `/` or `{` that follows them. */
bool parse_attach_points(struct parser *p, struct probe *pr);

/* ---- parse_stmt.c ---- */

/* tok is at `{`. Leaves tok AT the closing `}`, because the text behind a probe's is raw; or at the end of the text. */
struct block *parse_block(struct parser *p);

/* tok is at `{` or `if` where an expression is meant. */
struct expr *parse_block_expr(struct parser *p);
struct expr *parse_if_expr(struct parser *p);
/* Takes the value off the block's end: its last expression, if no `;` follows it. NULL if there is none. */
struct expr *parse_take_value(struct parser *p, struct block *b);

/* ---- parse_expr.c ---- */

struct expr *parse_expr(struct parser *p);
struct type_ref *parse_type(struct parser *p);
