/* SPDX-License-Identifier: GPL-2.0-only */
/* The C preprocessor: files in, tokens out. It reads headers, and the C that a script contains.
 *
 * All of C11's, and of GNU's what headers use: macros of both kinds, # and ##, variable arguments (named ones and __VA_OPT__
 * too), conditions with expressions, #include, #include_next and #import with search paths, #pragma once, __has_include,
 * __COUNTER__. Wrong input never ends the process or the run: what is broken is left out. The first errors in headers are kept as
 * text. Errors in a script go to its diag, with their spans.
 */
#pragma once

#include "base/sbuf.h"
#include "c/token.h"

struct cmacro {
	struct csym *sym;
	bool is_function, is_variadic;
	bool is_busy;  /* its replacement is being read: not replaced inside of itself */
	u8 special;    /* enum special_macro: __LINE__ and such */
	u32 param_cnt; /* with the variable ones as the last */
	struct csym **params;
	u32 body_cnt;
	struct ctok *body;
	/* The body as text, for another lexer: the bytes from begin to end of text; src as in struct ctok. */
	const char *text;
	u32 begin, end;
	u32 src;
};

struct cty;

/* The language around C: what a script provides to the C that it contains. */
struct chost {
	struct diag *diag;
	/* Handles #include. at: from the # to the end of the word. */
	void (*include)(void *arg, const char *name, bool is_quoted, struct span at);
	/* Returns the value of a number, such as 5ms; reports a malformed one. */
	u64 (*number)(void *arg, const struct ctok *t);
	/* Reports the token at offset off of a declaration, which is not C, or not closed. Returns the offset to go on from; off
	 * keeps the token. */
	u32 (*stray)(void *arg, u32 off);
	/* Finds a type that the C does not define; keyword is "struct", "union", "enum", or "" for other names. Sets kind, size,
	 * align and is_signed; CTY_STRUCT stands for everything but void and integers. False: there is none. */
	bool (*find)(void *arg, const char *keyword, const char *name, struct cty *out);
	/* Reports that no type has this name. is_tag: but a struct of the C has it. */
	void (*unknown_type)(void *arg, const struct ctok *name, bool is_tag);
	/* Finds a constant that the C does not define. */
	bool (*constant)(void *arg, const char *name, s64 *value);
	void *arg;
};

struct pp;

/* host: NULL for headers. It must outlive pp. */
struct pp *pp_new(struct arena *arena, const struct chost *host);
void pp_free(struct pp *pp);

/* Directories to search, in order. False: there is none. */
bool pp_add_dir(struct pp *pp, const char *dir);
/* A file that is found when no directory has one of that name: the compiler's own headers. */
void pp_add_own(struct pp *pp, const char *name, const char *text);
/* Defines NAME as the text; as -DNAME=TEXT does. */
void pp_define(struct pp *pp, const char *name, const char *text);

/* Reads a file next, before what is left: as #include "path" or <path> would. False: not found. */
bool pp_include(struct pp *pp, const char *path, bool is_quoted);
/* The same for text in memory, which must outlive pp. name: for messages. */
void pp_push_text(struct pp *pp, const char *name, const char *text, size_t len);
/* The body of a macro, to be read next with the macros in it replaced; its parameters stay. False: it has # or ##. */
bool pp_push_body(struct pp *pp, const struct cmacro *m);
/* The next token after replacement; CTOK_END when everything was read. */
struct ctok pp_next(struct pp *pp);

/* ---- in a script ---- */

/* Begins a text of which the caller finds the directives. Texts nest: #include may begin another. */
void pp_begin(struct pp *pp);
/* Obeys one directive: from its # to the end of the line, without newlines in between. False: there is no such directive. */
bool pp_line(struct pp *pp, struct csource line);
/* Whether #if keeps the text that follows. */
bool pp_is_on(const struct pp *pp);
/* Ends the text; reports an #if without #endif. */
void pp_end(struct pp *pp);

/* NULL: not defined. */
struct cmacro *pp_find_macro(struct pp *pp, const char *name);
/* Expands a call of m, which has parameters. name: its name, which was read. If arguments follow in *src, moves behind them and
 * adds the expansion, in which nothing is left to replace, to diag.sources: *text is its index. PP_FAILED: reported. */
enum pp_call { PP_NO_CALL, PP_CALL, PP_FAILED };
enum pp_call pp_call(struct pp *pp, struct cmacro *m, struct span name, struct csource *src, u32 *text);

/* Begins a declaration: pp_next() reads src. */
void pp_enter(struct pp *pp, struct csource src);
/* Ends it. Returns the offset of what was not used. is_ahead: the last token was not. */
u32 pp_leave(struct pp *pp, bool is_ahead);

/* Reports an error: at a token of the script, or on the current line of the header. */
void pp_report(struct pp *pp, const struct ctok *at, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(4, 5);
