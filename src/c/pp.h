/* The C preprocessor: files in, tokens out.
 *
 * All of C11's, and of GNU's what headers use: macros of both kinds, # and ##, variable arguments (named ones and __VA_OPT__ too),
 * conditions with expressions, #include, #include_next and #import with search paths, #pragma once, __has_include, __COUNTER__.
 * Wrong input never ends the process or the run: what is broken is left out, and the first few messages are kept for those who ask.
 */
#pragma once

#include "base/sbuf.h"
#include "c/token.h"

struct cmacro {
	struct csym *sym;
	bool is_function, is_variadic;
	bool is_busy;       /* its replacement is being read: not replaced inside of itself */
	u8 special;         /* enum special_macro: __LINE__ and such */
	u32 param_cnt;      /* with the variable ones as the last */
	struct csym **params;
	u32 body_cnt;
	struct ctok *body;
	const char *text;   /* the body as it was written, for other readers */
	u32 text_len;
};

struct pp;

struct pp *pp_new(struct arena *arena);
void pp_free(struct pp *pp);
struct csyms *pp_syms(struct pp *pp);

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

/* What #pragma pack says where reading is: the largest alignment of members; 0: nothing. */
u32 pp_pack(const struct pp *pp);

/* How often something was wrong, and the first messages, one a line. */
u32 pp_error_cnt(const struct pp *pp);
const char *pp_errors(const struct pp *pp);
/* One more, at the place where reading is. For the parser. */
void pp_error(struct pp *pp, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Files that were read, for -v and tests. */
u32 pp_file_cnt(const struct pp *pp);
