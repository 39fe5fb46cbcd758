/* Tokens of C, and the names in them.
 *
 * Every identifier is interned once as a struct csym, which carries what the preprocessor and the parser know about it: a lookup is a
 * pointer. Sources are read whole; a token points into its text.
 */
#pragma once

#include "base/vec.h"

struct cmacro;
struct cty;

enum ctok_kind {
	CTOK_END,
	CTOK_IDENT,
	CTOK_NUM,    /* a number as the preprocessor sees one: 0x1fUL, 1.5e3 */
	CTOK_STR,
	CTOK_CHAR,
	CTOK_PUNCT,  /* op says which */
	CTOK_OTHER,  /* a byte that means nothing in C */
};

/* Punctuators of one character are that character. */
enum cop {
	COP_ARROW = 256, COP_INC, COP_DEC, COP_SHL, COP_SHR, COP_LE, COP_GE, COP_EQ, COP_NE, COP_ANDAND, COP_OROR, COP_ELLIPSIS,
	COP_HASHHASH, COP_ASSIGN_OP, /* += and its like */
};

/* Words that the parser knows. */
enum ckeyword {
	CKW_NONE, CKW_STRUCT, CKW_UNION, CKW_ENUM, CKW_TYPEDEF, CKW_CONST, CKW_VOLATILE, CKW_RESTRICT, CKW_STORAGE, CKW_INLINE,
	CKW_EXTENSION, CKW_ATTRIBUTE, CKW_ASM, CKW_TYPEOF, CKW_ALIGNAS, CKW_STATIC_ASSERT, CKW_VOID, CKW_CHAR, CKW_SHORT, CKW_INT, CKW_LONG,
	CKW_FLOAT, CKW_DOUBLE, CKW_SIGNED, CKW_UNSIGNED, CKW_BOOL, CKW_INT128, CKW_FLOAT128, CKW_SIZEOF, CKW_ALIGNOF, CKW_COMPLEX, CKW_AUTO_TYPE,
	CKW_BUILTIN, CKW_GENERIC,
};

struct csym {
	const char *name;
	u32 len;
	u32 hash;
	struct cmacro *macro;    /* NULL: none */
	enum ckeyword keyword;
	u8 builtin;             /* CKW_BUILTIN: which, see expr.c */
	struct cty *type;       /* a typedef's name */
	struct cty *tag[3];     /* struct, union, enum of that name */
	struct cty *var;        /* a variable's or function's type */
	bool is_const;          /* an enumerator */
	bool is_huge;           /* … whose value is above what a signed number holds */
	s64 value;
};

struct ctok {
	u8 kind;            /* enum ctok_kind */
	bool at_line_begin;
	bool has_space;     /* before it */
	bool is_fixed;      /* an identifier that is not replaced any more */
	u16 op;             /* enum cop, or a character */
	u32 len;
	const char *s;
	struct csym *sym;   /* CTOK_IDENT */
};

/* All names of a compilation. */
struct csyms {
	struct arena *arena;
	struct csym **slot;
	u32 cnt, cap;
};

void csyms_init(struct csyms *t, struct arena *arena);
void csyms_release(struct csyms *t);
struct csym *csym_get(struct csyms *t, const char *s, u32 len);

/* The text of a source: lines that end in a backslash are joined. malloc'ed memory becomes the arena's. */
struct csource {
	const char *p, *end;
	u32 line;
	bool at_line_begin;
};

/* Copies text so that it can be read by ctok_next(): joined lines; a newline and NUL at the end. */
struct csource csource_new(struct arena *a, const char *text, size_t len);
/* The next token; CTOK_END at the end. With `in_line`, CTOK_END at the end of the line as well (and the newline stays). */
struct ctok ctok_next(struct csource *s, struct csyms *syms, bool in_line);
/* Moves to the begin of the next line that starts with #, or to the end. */
void csource_skip_to_directive(struct csource *s);

static inline bool ctok_is(const struct ctok *t, u32 op)
{
	return t->kind == CTOK_PUNCT && t->op == op;
}
