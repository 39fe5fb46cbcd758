/* SPDX-License-Identifier: GPL-2.0-only */
/* Tokens of C, and the names in them.
 *
 * Every identifier is interned once as a struct csym, which carries what the preprocessor and the parser know about it: a lookup
 * is a pointer. Sources are read whole; a token points into its text. A token of a script also has its place there, for messages.
 */
#pragma once

#include "base/diag.h"
#include "base/htab.h"

struct cmacro;
struct cty;

enum ctok_kind {
	CTOK_END,
	CTOK_IDENT,
	CTOK_NUM, /* a number as the preprocessor sees one: 0x1fUL, 1.5e3 */
	CTOK_STR,
	CTOK_CHAR,
	CTOK_PUNCT, /* op says which */
	CTOK_OTHER, /* a byte that means nothing in C; @name of a script; a comment that does not end */
};

/* Punctuators of one character are that character. */
enum cop {
	COP_ARROW = 256,
	COP_INC,
	COP_DEC,
	COP_SHL,
	COP_SHR,
	COP_LE,
	COP_GE,
	COP_EQ,
	COP_NE,
	COP_ANDAND,
	COP_OROR,
	COP_ELLIPSIS,
	COP_HASHHASH,
	COP_ASSIGN_OP, /* += and its like */
};

/* Words that the parser knows. */
enum ckeyword {
	CKW_NONE,
	CKW_TYPEDEF,
	CKW_STORAGE,
	CKW_INLINE,
	CKW_ASM,
	CKW_ALIGNAS,
	CKW_STATIC_ASSERT,
	CKW_AUTO_TYPE,
	CKW_SIZEOF,
	CKW_ALIGNOF,
	CKW_BUILTIN,
	CKW_GENERIC,
	CKW_PACKED,
	CKW_ALIGNED,
	/* a type without a name may begin with these: ATTRIBUTE first, INT128 last */
	CKW_ATTRIBUTE,
	CKW_EXTENSION,
	CKW_CONST,
	CKW_VOLATILE,
	CKW_RESTRICT,
	CKW_STRUCT,
	CKW_UNION,
	CKW_ENUM,
	CKW_TYPEOF,
	CKW_VOID,
	CKW_BOOL,
	CKW_FLOAT128,
	CKW_COMPLEX,
	/* of these it may have several: CHAR first, INT128 last */
	CKW_CHAR,
	CKW_SHORT,
	CKW_INT,
	CKW_LONG,
	CKW_FLOAT,
	CKW_DOUBLE,
	CKW_SIGNED,
	CKW_UNSIGNED,
	CKW_INT128,
	CKW_CNT
};

struct csym {
	const char *name;
	u32 len;
	struct cmacro *macro; /* NULL: none */
	enum ckeyword keyword;
	u8 builtin;          /* CKW_BUILTIN: which, see expr.c */
	struct cty *type;    /* a typedef's name */
	struct cty *word;    /* the type of a name that needs no typedef … */
	bool is_of_language; /* … because a script's language defines it */
	struct cty *tag[3];  /* struct, union, enum of that name */
	struct cty *var;     /* a variable's or function's type */
	bool is_const;       /* an enumerator */
	bool is_huge;        /* … whose value is above what a signed number holds */
	s64 value;
};

struct ctok {
	u8 kind : 4; /* enum ctok_kind */
	bool at_line_begin : 1;
	bool has_space : 1; /* before it */
	bool is_fixed : 1;  /* an identifier that is not replaced any more */
	u16 op;             /* enum cop, or a character */
	u32 src;            /* 1 + index into diag.sources; 0: none, a header's or made by # */
	u32 off;            /* offset in the source */
	u32 len;
	const char *s;
	struct csym *sym; /* CTOK_IDENT */
};

/* Where messages point to; src is not 0. */
static inline struct span ctok_span(const struct ctok *t)
{
	return (struct span){ t->src - 1, t->off, t->off + t->len };
}

/* All names of a compilation. */
struct csyms {
	struct arena *arena;
	struct htab table; /* 1 + index into syms */
	vec(struct csym *) syms;
};

/* cap: names that there is room for to begin with. */
void csyms_init(struct csyms *t, struct arena *arena, u32 cap);
void csyms_release(struct csyms *t);
struct csym *csym_get(struct csyms *t, const char *s, u32 len);
/* NULL: not known yet. */
struct csym *csym_find(const struct csyms *t, const char *s, u32 len);

/* Text that is being read. */
struct csource {
	const char *p, *end; /* at end stands a NUL or a newline */
	const char *base;    /* ctok.off counts from here … */
	u32 src;             /* … and this is what ctok.src becomes */
	u32 line;
	bool at_line_begin;
};

/* Copies text so that it can be read by ctok_next(): lines that end in a backslash are joined; a newline and NUL at the end. */
struct csource csource_new(struct arena *a, const char *text, size_t len);
/* The next token; CTOK_END at the end. With `in_line`, CTOK_END at the end of the line as well (and the newline stays). */
struct ctok ctok_next(struct csource *s, struct csyms *syms, bool in_line);
/* Moves to the begin of the next line that starts with #, or to the end. */
void csource_skip_to_directive(struct csource *s);

static inline bool ctok_is(const struct ctok *t, u32 op)
{
	return t->kind == CTOK_PUNCT && t->op == op;
}
