/* The preprocessor's part of a script: #define, #ifdef and their like.
 *
 * cpp_run() goes over a source before it is parsed. Lines of the preprocessor, and what a condition leaves out, become spaces in the text
 * that the parser gets, so every offset still names its place in the source. What #include names is the caller's business. Names that are defined are kept for the parser (an expression for a name) and for C declarations (tokens for a name).
 */
#pragma once

#include "lang/lex.h"

struct define {
	const char *name;
	struct span at;   /* of the name */
	const char *text; /* the source's, where the value is the bytes from begin to end */
	u32 begin, end;
	bool is_function; /* NAME(x) */
	const char **params;
	u32 param_cnt;
	bool is_variadic; /* the last parameter, __VA_ARGS__, takes the rest */
};

struct cpp {
	struct arena *arena;
	struct diag *diag;
	vec(struct define) defines;
	/* Called for #include, at its place; may be NULL. */
	void (*include)(void *arg, const char *name, bool is_quoted, struct span at);
	void *include_arg;
};

void cpp_init(struct cpp *c, struct arena *arena, struct diag *diag);
/* Defines NAME as a number. */
void cpp_predefine(struct cpp *c, const char *name, u64 value);
/* The source's text without its preprocessor lines; of the same length. */
const char *cpp_run(struct cpp *c, u32 src);
/* NULL if there is none. */
const struct define *cpp_find(const struct cpp *c, const char *name);
/* `name`, where a macro with parameters was found: if arguments follow it at `at`, *text is a lexer over what the call becomes, with
 * nothing left to replace, and *end the offset behind its `)`. Failed: reported. */
enum cpp_call { CPP_NO_CALL, CPP_CALL, CPP_FAILED };
enum cpp_call cpp_call(const struct cpp *c, const struct define *d, struct span name, const struct lex *at, struct lex *text, u32 *end);
/* A lexer over the definition's value. */
struct lex cpp_lex(const struct cpp *c, const struct define *d);

/* Tokens of C, with names that are defined replaced by what they stand for. Can be copied, to come back to a place. */
#define CSTREAM_DEPTH 16
/* Past this many, names stay as they are: definitions that mention definitions grow fast. */
#define CSTREAM_REPLACED_MAX 20000
struct cstream {
	const struct cpp *cpp;
	struct lex lex;    /* of the text itself */
	struct token tok;  /* the one to look at */
	struct span prev;  /* of the token before it */
	u32 at;            /* where tok, or the name that it came from, begins in the text */
	u32 braces;        /* open ones before tok */
	bool is_raw;       /* replace nothing */
	struct {
		struct lex lex;
		const char *name;
	} inner[CSTREAM_DEPTH];
	u32 depth;
	u32 replaced; /* names so far */
};

/* l is where to begin; reads the first token. */
void cstream_init(struct cstream *s, const struct cpp *cpp, const struct lex *l);
void cstream_advance(struct cstream *s);
bool cstream_accept(struct cstream *s, enum token_kind kind);

/* The value of a name or of `sizeof`, which tok is at; moves behind it. False: reported. */
typedef bool (*cstream_name_fn)(struct cstream *s, void *arg, s64 *value);
/* A constant expression of C, computed in 64 bits. False: reported. */
bool cstream_constant(struct cstream *s, cstream_name_fn name, void *arg, s64 *value);
