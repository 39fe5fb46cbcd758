/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of C: what a declaration says, laid out as GCC does for x86-64. */
#pragma once

#include "c/token.h"

enum cty_kind {
	CTY_VOID,
	CTY_INT,
	CTY_BOOL,
	CTY_FLOAT,
	CTY_PTR,
	CTY_ARRAY,
	CTY_FUNC,
	CTY_STRUCT,
	CTY_UNION,
	CTY_ENUM,
	CTY_TYPEDEF,
	CTY_CONST,
	CTY_VOLATILE,
};

struct cmember {
	const char *name; /* "": none */
	struct cty *type;
	u64 bit_off;
	u32 bit_sz; /* 0: not a bit-field */
};

struct cenumerator {
	const char *name;
	s64 value;
};

struct cty {
	enum cty_kind kind;
	/* Ask cty_size() and cty_align(): what a typedef or array is of may be defined later. */
	u32 align; /* CTY_TYPEDEF: its own, or 0 */
	u64 size;
	bool is_signed;   /* CTY_INT, CTY_ENUM */
	bool is_defined;  /* CTY_STRUCT, CTY_UNION, CTY_ENUM: has a body */
	bool is_open;     /* … which is being read */
	bool is_outside;  /* these and CTY_TYPEDEF: the host's, see struct chost; size and align are known */
	bool is_variadic; /* CTY_FUNC */
	const char *name; /* tag, typedef, or the integer's; "" or NULL: none */
	struct cty *of;   /* pointer, array, function, typedef, const: what it is of */
	u64 cnt;          /* CTY_ARRAY */
	u32 member_cnt;
	struct cmember *members; /* struct, union; CTY_FUNC: parameters */
	u32 enum_cnt;
	struct cenumerator *enums;
	u32 btf_id; /* for btf.c */
};

/* Types that need no declaration. */
extern struct cty cty_void, cty_bool, cty_char, cty_schar, cty_uchar, cty_short, cty_ushort, cty_int, cty_uint, cty_long,
	cty_ulong, cty_llong, cty_ullong, cty_int128, cty_uint128, cty_float, cty_double, cty_ldouble;

/* Bytes; 0 for an array without a length and a struct without a body. */
u64 cty_size(const struct cty *t);
u32 cty_align(const struct cty *t);
/* Below const, volatile and typedefs. */
struct cty *cty_strip(struct cty *t);
struct cty *cty_new(struct arena *a, struct cty t);
struct cty *cty_pointer(struct arena *a, struct cty *to);
/* cnt < 0: without a length. */
struct cty *cty_array(struct arena *a, struct cty *of, s64 cnt);
static inline bool cty_is_int(struct cty *t)
{
	t = cty_strip(t);
	return t->kind == CTY_INT || t->kind == CTY_BOOL || t->kind == CTY_ENUM;
}

/* A struct that is being laid out. */
struct cattrs {
	u32 align; /* 0: none said */
	bool is_packed;
	u32 mode_size; /* mode(DI) and its like: bytes; 0: none */
};

struct clayout {
	struct arena *arena;
	struct cty *type;
	bool is_packed;
	u32 pack; /* #pragma pack; 0: none */
	u64 bits, bytes;
	u32 align;
	vec(struct cmember) members;
};

/* bits < 0: not a bit-field. */
void clayout_add(struct clayout *l, const char *name, struct cty *type, s64 bits, const struct cattrs *a);
/* Ends it; attrs are those of the struct. */
void clayout_end(struct clayout *l, const struct cattrs *a);
/* The member of that name, through unnamed structs; *bit_off is added to. NULL: none. */
const struct cmember *cty_member(struct cty *t, const char *name, u64 *bit_off);
