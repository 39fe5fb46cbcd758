/* Declarations of C.
 *
 * Reads everything that the preprocessor hands out and keeps the types: structs, unions, enums, typedefs, and what variables and functions
 * are of. Bodies of functions and initialisers are skipped. Whatever is not understood is left out up to the next `;` or `}`, with
 * a message: a header of which one line is strange still gives the rest.
 */
#pragma once

#include "c/ctype.h"
#include "c/pp.h"

#define CPARSE_BUF 8

struct cparse {
	struct pp *pp;
	struct arena *arena;
	struct ctok buf[CPARSE_BUF]; /* the next ones; buf[0] is the one to look at */
	u32 buf_cnt;
	u32 nest;
	bool has_tagged_members;    /* `struct tag;` inside of a struct is a member, as -fms-extensions has it */
	vec(struct cty *) defined;  /* structs, unions, enums with a body, and typedefs, in order */
};

void cparse_init(struct cparse *p, struct pp *pp, struct arena *arena);
/* Reads until the preprocessor ends. */
void cparse_all(struct cparse *p);

/* ---- between parse.c and expr.c ---- */

static inline struct ctok *cparse_tok(struct cparse *p);
void cparse_fill(struct cparse *p, u32 cnt);
void cparse_advance(struct cparse *p);
bool cparse_accept(struct cparse *p, u32 op);
enum ckeyword cparse_keyword(struct cparse *p);
/* tok is at an opening bracket of any kind: behind the matching one. */
void cparse_skip_balanced(struct cparse *p);
/* Does a type begin here? */
bool cparse_at_type(struct cparse *p);
/* A type without a name, as in a cast or sizeof. NULL: reported. */
struct cty *cparse_type_name(struct cparse *p);

/* A value, as far as it is known when compiling. */
struct cvalue {
	struct cty *type;
	bool is_const;
	s64 v;
};
/* A whole expression without commas. False: reported. */
bool cexpr(struct cparse *p, struct cvalue *out);
/* Makes the builtin functions known. */
void cexpr_init(struct csyms *syms);
/* One that must be an integer known now. */
bool cexpr_constant(struct cparse *p, struct cvalue *out);
bool cexpr_const(struct cparse *p, s64 *v);

static inline struct ctok *cparse_tok(struct cparse *p)
{
	if (!p->buf_cnt)
		cparse_fill(p, 1);
	return &p->buf[0];
}

static inline bool cparse_at(struct cparse *p, u32 op)
{
	return ctok_is(cparse_tok(p), op);
}
