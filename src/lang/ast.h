/* SPDX-License-Identifier: GPL-2.0-only */
/* The tree of a script. Every node has a span. The parser builds it; resolve and check annotate it in place (type, symbol);
 * nothing else changes it. Nodes live in the compilation's arena. */
#pragma once

#include "base/diag.h"
#include "types/type.h"

struct fn;
struct provider;
struct map;
struct var;
struct expr;
struct stmt;

enum unary_op { UN_NEG, UN_NOT, UN_BITNOT, UN_DEREF, UN_ADDR, UN_COMPTIME };

enum binary_op {
	BIN_ADD,
	BIN_SUB,
	BIN_MUL,
	BIN_DIV,
	BIN_MOD,
	BIN_AND,
	BIN_OR,
	BIN_XOR,
	BIN_SHL,
	BIN_SHR,
	BIN_EQ,
	BIN_NE,
	BIN_LT,
	BIN_LE,
	BIN_GT,
	BIN_GE,
	BIN_LAND,
	BIN_LOR,
	BIN_CNT
};
/* "+", "<<", "&&" … */
extern const char *const binary_op_text[BIN_CNT];

static inline bool binary_is_compare(enum binary_op op)
{
	return op >= BIN_EQ && op <= BIN_GE;
}

/* A type as written: `struct foo *[4]`, `uint8`, `string[64]`, `typeof($x)*`. */
struct type_ref {
	struct span span;
	const char *keyword; /* "struct", "union", "enum" or "" */
	const char *name;    /* NULL: typeof, of one of these two */
	struct type_ref *of_type;
	struct expr *of_expr;
	struct type_suffix {
		bool is_array; /* else a star */
		bool has_len;
		u32 len;
	} * suffixes;
	u32 suffix_cnt;
};

enum expr_kind {
	E_INT, /* 5, 0x10, 3ms, true is E_BOOL */
	E_BOOL,
	E_STR,
	E_PARAM, /* $1 $# : replaced by E_INT or E_STR in resolve */
	E_CALL,  /* f(a, b) or a bare builtin word */
	E_CONST, /* an enumerator, after resolve */
	E_VAR,   /* $x */
	E_MAP,   /* @m or @m[k1, k2] */
	E_UNARY,
	E_BINARY, /* also && and || */
	E_TERNARY,
	E_CAST,
	E_FIELD,  /* a.b, a->b */
	E_INDEX,  /* a[i] */
	E_TUPLE,  /* (a, b), also made of several keys; (x = a, y = b), a record */
	E_INCDEC, /* ++x, x++, … */
	E_SIZEOF,
	E_OFFSETOF,
	E_TYPEINFO,
	E_TYPEOF, /* typeof(x) in place of a value: the argument of a macro */
	E_BLOCK,  /* { statements; value }: also made of a macro's call */
};

struct expr {
	enum expr_kind kind;
	struct span span;
	const struct type *type; /* NULL until checked */
	struct expr *unfolded;   /* the expression that was folded into this constant, if it depends on types that may still grow;
				    see check_expr() */
	union {
		struct {
			u64 value;
			bool negative;                /* value is a negative number in two's complement */
			bool is_missing_param;        /* $N that was not given */
			const struct type *enum_type; /* E_CONST */
		} num;                                /* E_INT, E_BOOL, E_CONST */
		struct {
			const char *s;
			u32 len;
		} str;
		struct {
			u32 index; /* 1…, or 0 for $# */
		} param;
		struct {
			const char *name;
			struct expr **args;
			u32 arg_cnt;
			bool has_parens;
			bool is_statement;   /* its value is not used */
			const struct fn *fn; /* resolve */
			u32 suffix;          /* argN: N */
			void *note;          /* data that the function's check() keeps for its lower() */
			u32 reset;           /* print(@m): enum map_reset, which a later call asks for … */
			bool is_done_before; /* … and this is that call */
		} call;
		struct {
			const char *name; /* without the $ */
			struct var *var;
		} var;
		struct {
			const char *name; /* with the @ */
			struct expr *key; /* NULL: no key; several keys: an E_TUPLE */
			struct map *map;
			bool is_ref;     /* the map itself is meant: print(@m), clear(@m) */
			bool is_updated; /* by a map function: @m[k] = count() */
			bool is_added;   /* to, by a statement ++, --, += or -=, whose value is not used */
			bool is_changed; /* by one of these, or another operator */
		} map;
		struct {
			enum unary_op op;
			struct expr *a;
		} unary;
		struct {
			enum binary_op op;
			struct expr *a, *b;
			const struct type *common; /* the type both sides are compared or computed in */
		} binary;
		struct {
			struct expr *cond, *yes, *no; /* a ?: b has no yes */
			bool is_comptime;             /* cond is a constant, and only the chosen branch is compiled */
		} ternary;
		struct {
			struct type_ref *to;
			struct expr *a;
			bool is_address; /* of an array, to a pointer: the array's address, not its contents */
		} cast;
		struct {
			struct expr *base;
			const char *name; /* a member; or decimal text for a tuple: .0 */
			const struct member *member;
			u32 off;    /* of the member in the outermost struct */
			u32 derefs; /* pointers to follow before the member */
		} field;
		struct {
			struct expr *base, *index;
		} index;
		struct {
			struct expr **elems;
			const char **names; /* a record's; NULL: a tuple */
			u32 cnt;
		} tuple;
		struct {
			struct expr *target;
			bool is_dec, is_post;
		} incdec;
		struct {
			struct type_ref *ref; /* one of the two */
			struct expr *a;
			const char **path; /* E_OFFSETOF: the members, outermost first */
			u32 path_cnt;
		} of; /* E_SIZEOF, E_OFFSETOF, E_TYPEINFO; E_TYPEOF (ref only) */
		struct {
			struct block *body;
			struct expr *value; /* NULL: it has none */
			bool is_fn;         /* the call of a function: return ends it */
		} block;
	};
};

enum stmt_kind {
	S_EXPR,
	S_ASSIGN, /* also += and friends: op is set */
	S_LET,
	S_IF,
	S_BLOCK,
	S_RETURN,
	S_DISCARD, /* _ = e; */
	S_WHILE,
	S_UNROLL, /* N copies of the body (or a loop, see is_loop) */
	S_FOR,    /* over a range or the entries of a map */
	S_BREAK,
	S_CONTINUE,
};

struct block {
	struct span span;
	struct stmt **stmts;
	u32 cnt;
};

struct stmt {
	enum stmt_kind kind;
	struct span span;
	bool is_open; /* no `;` follows: at the end of a block it may be the block's value */
	union {
		struct expr *expr; /* S_EXPR, S_DISCARD */
		struct {
			struct expr *expr; /* may be NULL */
			bool is_fn;        /* from a function, not from the probe … */
			struct expr *into; /* … whose result goes to this variable, NULL if it has none */
		} ret;
		struct {
			struct expr *target, *value;
			bool has_op;
			enum binary_op op;
		} assign;
		struct {
			const char *name;
			struct span name_span;
			struct type_ref *type; /* may be NULL */
			struct expr *value;    /* may be NULL */
			struct var *var;
		} let;
		struct {
			struct expr *cond;
			struct block *yes;
			struct block *no; /* may be NULL */
			bool is_comptime;
		} if_;
		struct block *block;
		struct {
			struct expr *cond; /* while: the condition; unroll: how often */
			struct block *body;
			u64 rounds;   /* unroll … */
			bool is_loop; /* … too large to copy the body: the kernel runs the iterations */
		} loop;
		struct {
			const char *name;
			struct span name_span;
			struct expr *map;       /* a map without key; or NULL: */
			struct expr *from, *to; /* from … to - 1 */
			struct block *body;
			struct var *var;
		} for_;
	};
};

/* One attach point as written, after $N was filled in. */
struct attach_point {
	struct span span;
	const char *text;       /* "kprobe:vfs_*" */
	const char *given_name; /* name=… or NULL */
	const char **parts;     /* split on ':' with quotes removed; parts[0] is the provider's word */
	u32 part_cnt;
};

struct probe {
	struct span span;
	struct attach_point *aps;
	u32 ap_cnt;
	struct expr *pred; /* may be NULL */
	struct block *body;
	bool is_made; /* by a provider, for another probe: not shown to the user as a probe */
};

/* macro name($var, @map, expression) { … }, and fn name($var: type, …): type { … } */
struct macro {
	struct span span; /* of the name */
	const char *name;
	struct macro_param {
		struct span span;
		char kind;             /* '$', '@', or 0: any expression */
		const char *name;      /* $: without it; @: with it */
		struct type_ref *type; /* fn */
	} * params;
	u32 param_cnt;
	struct block *body;
	struct expr *value; /* may be NULL */
	bool is_fn;
	struct type_ref *result; /* fn: NULL if it has none */
};

struct config_item {
	struct span span;
	const char *name;
	enum { CONFIG_INT, CONFIG_STRING, CONFIG_BOOL, CONFIG_WORD } kind;
	u64 num;
	const char *text; /* as written, for every kind */
};

struct map_decl {
	struct span span;
	const char *map;  /* "@m" */
	const char *kind; /* "hash" … */
	u64 max_entries;
};

struct script {
	u32 src;
	vec(struct probe *) probes;
	vec(struct config_item) config;
	vec(struct map_decl) map_decls;
	vec(struct macro) macros;
};
