/* SPDX-License-Identifier: GPL-2.0-only */
/* The C in a script: the adapter between the script's parser and src/c, which reads it.
 *
 * cpp_run() goes over a source before it is parsed. Preprocessor lines, and branches of #if that are not read, become spaces in
 * the text that the parser gets, so every offset keeps its meaning. Names of macros stay: the parser asks for them where it reads
 * an expression.
 */
#pragma once

#include "c/parse.h"
#include "lang/lex.h"

struct compile;
struct parser;

struct cpp {
	struct compile *c;
	struct parser *parser; /* of the current source, for #include */
	struct lex *lex;       /* of the current definition … */
	u32 msgs, errors;      /* … and the messages that stay if the definition is not closed */
	struct chost host;
	struct pp *pp;
	struct cparse types; /* what C definitions made */
	bool has_types;
};

void cpp_init(struct cpp *c, struct compile *compile, struct parser *parser);
void cpp_release(struct cpp *c);
/* The source's text without its preprocessor lines; of the same length, and a NUL behind it. */
const char *cpp_run(struct cpp *c, u32 src);
/* A lexer over the value of a macro. */
struct lex cpp_lex(const struct cpp *c, const struct cmacro *m);
/* See pp_call(): `at` is behind the name, *text becomes a lexer over the expansion, *end the offset behind the arguments. */
enum pp_call cpp_call(struct cpp *c, struct cmacro *m, struct span name, const struct lex *at, struct lex *text, u32 *end);
