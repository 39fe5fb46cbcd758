/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations of C.
 *
 * Reads everything that the preprocessor hands out and keeps the types: structs, unions, enums, typedefs, and what variables and
 * functions are of. Bodies of functions and initialisers are skipped. Whatever is not understood is left out up to the next `;`
 * or `}`, with a message: a header of which one line is strange still gives the rest.
 *
 * A script is read one definition at a time, and more strictly: nothing is defined twice, every type must be known, and the first
 * error ends a definition. Its constants have 64 bits.
 */
#pragma once

#include "c/ctype.h"
#include "c/pp.h"

#define CPARSE_BUF 8

struct cparse {
	struct pp *pp;
	struct arena *arena;
	const struct chost *host;    /* NULL: headers */
	bool is_plain;               /* expressions are of integers only, of 64 bits */
	bool is_if;                  /* … and belong to #if */
	struct ctok buf[CPARSE_BUF]; /* the next ones; buf[0] is the one to look at */
	u32 buf_cnt;
	struct ctok prev; /* the one before */
	u32 braces;       /* open ones */
	struct ctok open; /* the outermost "{" of a struct in this definition */
	u32 nest;
	struct ctok zero_at;       /* where the expression divides by zero */
	bool has_tagged_members;   /* `struct tag;` inside of a struct is a member, as -fms-extensions has it */
	vec(struct cty *) defined; /* structs, unions, enums with a body, and typedefs, in order */
};

void cparse_init(struct cparse *p, struct pp *pp, struct arena *arena);
void cparse_release(struct cparse *p);
/* Reads until the preprocessor ends. */
void cparse_all(struct cparse *p);
/* Reads one struct, union, enum or typedef with its `;`, between pp_enter() and pp_leave(). False: reported, and skipped.
 * *is_cut: the struct at p->open is not closed. The caller reports that instead of the other errors, which follow from it. */
bool cparse_definition(struct cparse *p, bool *is_cut);
/* Everything that was defined, as BTF, malloc'ed. A struct, union or enum without a body is a forward declaration. The BTF of a
 * script (see btf_open_own() in types/btf.h) has two things more: a typedef of the host's has the kind_flag and no type; a struct
 * whose alignment does not follow from its size is followed by a DECL_TAG "align:N". */
u8 *cparse_to_btf(struct cparse *p, size_t *len);

/* ---- between parse.c and expr.c ---- */

static inline struct ctok *cparse_tok(struct cparse *p);
void cparse_fill(struct cparse *p, u32 cnt);
void cparse_advance(struct cparse *p);
bool cparse_accept(struct cparse *p, u32 op);
enum ckeyword cparse_keyword(struct cparse *p);
/* Reports "expected …, found …" at tok. Returns false. */
bool cparse_fail(struct cparse *p, const char *what);
/* Where to report that something is missing: tok, or the last token if there are no more. */
const struct ctok *cparse_place(struct cparse *p);
/* tok is an opening bracket: moves behind the matching one. False: there is none; reported. */
bool cparse_skip_balanced(struct cparse *p);
/* Does a type begin here? */
bool cparse_at_type(struct cparse *p);
/* A type without a name, as in a cast or sizeof. NULL: reported. */
struct cty *cparse_type_name(struct cparse *p);
/* Takes size and alignment of a struct, union or enum without a body from the host. False: the host has none. */
bool cparse_complete(struct cparse *p, struct cty *t);

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
/* The value of the name t, which was read, in #if. */
bool pp_if_name(struct cparse *p, const struct ctok *t, struct cvalue *out);

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
