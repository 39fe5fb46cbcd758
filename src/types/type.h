/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of the language, and the bytes that a value of each has in maps and records.
 *
 * Types are immutable once built, live in the compilation's arena (common ones are static) and are compared with
 * type_equal(), not by address. A struct read from BTF is completed lazily: use type_members().
 *
 * In memory (little endian, as the kernel has it):
 *   bool 1 byte; int/enum/pointer their size; string[N] N bytes, NUL-terminated unless all N are text (then it was cut);
 *   buffer: u32 length, then `cnt` bytes; array and struct as in C; tuple: members at their offsets, padding zero;
 *   site: u32 index into image.sites; opaque values: as their rows say (types/opaque.h), aggregations too (types/agg.h);
 *   kstack: u64 frames, then `cnt` addresses, innermost first, unused ones zero; ustack: the same after u32 pid, u32 0; in the
 * mode build_id a frame is the kernel's struct bpf_stack_build_id: u32 status (1: valid, 2: only the address is known), u8 build
 * id[20], u64 offset or address.
 */
#pragma once

#include "base/arena.h"
#include "base/sbuf.h"
#include "types/opaque.h"

enum type_kind {
	T_ERROR, /* poisoned: an error was reported, nothing more is said about it */
	T_NONE,  /* a call that yields nothing */
	T_VOID,  /* only as a pointer's target */
	T_BOOL,
	T_INT,
	T_ENUM,
	T_POINTER,
	T_STRING,
	T_BUFFER,
	T_ARRAY,
	T_STRUCT, /* and union */
	T_TUPLE,  /* and record: then members have names */
	T_SITE, /* an attach site, shown as its probe name or its function; cnt: bytes that the longest of them takes as a string
		 */
	T_KSTACK,
	T_USTACK,
	T_OPAQUE, /* a value with a text of its own, see types/opaque.h: `opaque` is its row */
	T_AGG,    /* an aggregation, see types/agg.h: `agg` is its row */
	T_KIND_CNT
};

/* AS_ANY: an address of which nothing is known; the kernel guesses by its value. */
enum addr_space { AS_NONE, AS_KERNEL, AS_USER, AS_ANY };

enum site_show { SITE_PROBE, SITE_FUNC };

/* How a stack is shown: symbols; address, symbol and module; addresses; build id of the file and offset in it. */
enum stack_mode { STACK_BPFTRACE, STACK_PERF, STACK_RAW, STACK_BUILD_ID };

struct agg;
struct type;

struct member {
	const char *name; /* "" for an anonymous struct or union, NULL in a tuple */
	const struct type *type;
	u32 off;          /* bytes */
	u8 bit_off;       /* bit-field: bits from `off` */
	u8 bit_sz;        /* 0: not a bit-field */
	bool is_data_loc; /* tracepoint __data_loc: the member holds offset and length of the data */
};

struct enum_const {
	const char *name;
	s64 value;
};

/* Where named types come from: BTF of the kernel, a fixture in tests. Implemented outside of lang/. */
struct type_source {
	/* keyword: "struct", "union", "enum", or "" for a typedef or base type. NULL when unknown. */
	const struct type *(*find)(struct type_source *src, const char *keyword, const char *name);
	/* Fills members, member_cnt (and consts of an enum). */
	void (*complete)(struct type_source *src, struct type *t);
	/* An enumerator by name. */
	bool (*constant)(struct type_source *src, const char *name, s64 *value, const struct type **enum_type);
	/* NULL if the source has neither: the number of a function, as a call of it wants it (0: none), and the type of a
	 * variable of each CPU. */
	u32 (*func_id)(struct type_source *src, const char *name);
	const struct type *(*percpu_var)(struct type_source *src, const char *name);
};

struct type {
	enum type_kind kind;
	bool is_signed;
	bool is_union;
	bool is_percpu;   /* pointer: to something of which each CPU has its own; programs cannot just follow it */
	bool is_fillable; /* string: the bytes of a char array, which may do without a NUL */
	bool is_flexible; /* an integer literal whose sign follows the other operand */
	enum addr_space as;
	enum site_show show;
	enum stack_mode stack_mode;
	u32 size;
	u32 align;
	const struct type *elem; /* pointer: target; array: element; enum: none */
	u32 cnt; /* array: elements; buffer: capacity; stack: frames at most; aggregation: its parts; opaque: see its row */
	const char *name;            /* struct, enum: tag ("" if anonymous); opaque: see its row */
	const struct opaque *opaque; /* opaque value: its row */
	const struct agg *agg;       /* aggregation: its row … */
	s64 param[3];                /* … and what its function was given besides the value */
	/* struct, tuple */
	struct member *members;
	u32 member_cnt;
	struct enum_const *consts;
	u32 const_cnt;
	struct type_source *src; /* who completes it; NULL when complete */
	u32 src_id;
};

extern const struct type type_error, type_none, type_void, type_bool;
extern const struct type type_s8, type_s16, type_s32, type_s64, type_u8, type_u16, type_u32, type_u64;
extern const struct type type_ksym;      /* opaque, defined with its row; func is one of these in a map that holds them */
extern const struct type type_comm;      /* string[16] */
extern const struct type type_literal64; /* an integer literal, in 64 bits */

/* A type by a name that needs no declaration: int32, u64, unsigned long. NULL if it is none. */
const struct type *type_of_word(const char *name);
const struct type *type_int(u32 size, bool is_signed);
const struct type *type_site(struct arena *a, enum site_show show, u32 text_sz);
const struct type *type_string(struct arena *a, u32 size);
/* What an array of char is: a string that no NUL has to end. */
const struct type *type_char_array(struct arena *a, u32 cnt);
const struct type *type_buffer(struct arena *a, u32 cap);
const struct type *type_pointer(struct arena *a, const struct type *elem, enum addr_space as);
const struct type *type_array(struct arena *a, const struct type *elem, u32 cnt);
const struct type *type_stack(struct arena *a, bool is_user, enum stack_mode mode, u32 limit);
/* The plain type of an opaque value, and one with parameters. */
#define OPAQUE_TYPE(row, bytes, alignment)                                                                                       \
	{                                                                                                                        \
		.kind = T_OPAQUE, .opaque = &row, .size = bytes, .align = alignment                                              \
	}
const struct type *type_opaque(struct arena *a, const struct opaque *row, const char *name, u32 cnt);
/* Lays out a tuple (or record, if names is not NULL) as C would. */
const struct type *type_tuple(struct arena *a, const struct type *const *elems, const char *const *names, u32 cnt);
/* An aggregation with parameters, which are the caller's to set before anybody else sees it. */
struct type *type_agg(struct arena *a, const struct agg *agg, u32 cnt, u32 size);

/* Places the bit-field m, bit_sz bits from bit `bit` of a struct on: bytes to load at m->off, and its bits in them. As the
 * compiler had it, in the aligned unit of its type; but in a packed struct that unit may reach past the end, or the bits may lie
 * across two units: then earlier, or in a wider one. False: it cannot be. */
bool type_place_bits(u32 outer_sz, struct member *m, u64 bit, u32 bit_sz);
bool type_equal(const struct type *a, const struct type *b);
/* Completes a lazily read struct or enum. */
const struct type *type_complete(const struct type *t);
/* The member called `name`, looking into anonymous ones; *off is its offset from the outermost struct. NULL if none. */
const struct member *type_member(const struct type *t, const char *name, u32 *off);
/* The offset of a member of a member … of the struct called `name`, and its type (NULL: not wanted). Of arrays the first element
 * is meant. False if there is none of these names. */
bool type_path(struct type_source *src, const char *name, const char *const path[], u32 *off, const struct type **type);
#define TYPE_PATH(...) ((const char *const[]){ __VA_ARGS__, NULL })
/* The member of tuple t that goes with member i of another tuple: that of its name in a record, else the one at its place. NULL
 * if none. */
const struct member *type_tuple_member(const struct type *t, const struct type *other, u32 i);
/* Whether the first member that is at `off`, as deep as there are any, is just as large as t, and a pointer to the same struct if
 * t is one. So the kernel looks for members: of a union it sees the first that reaches that far. */
bool type_has_scalar(const struct type *outer, u32 off, const struct type *t);
/* As messages show it: "int32", "struct task_struct *", "string[16]", "(int64,string[16])". */
void type_print(const struct type *t, struct sbuf *out);
const char *type_str(struct arena *a, const struct type *t);

static inline bool type_is_agg(const struct type *t)
{
	return t->kind == T_AGG;
}

/* An aggregation whose value is one number, which programs can read. */
bool type_is_number_agg(const struct type *t);

/* Fits one register. */
static inline bool type_is_scalar(const struct type *t)
{
	switch (t->kind) {
	case T_BOOL:
	case T_INT:
	case T_ENUM:
	case T_POINTER:
	case T_SITE:
		return true;
	case T_OPAQUE:
		return t->opaque->flags & OPAQUE_SCALAR;
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_STRING:
	case T_BUFFER:
	case T_ARRAY:
	case T_STRUCT:
	case T_TUPLE:
	case T_AGG:
	case T_KSTACK:
	case T_USTACK:
	case T_KIND_CNT:
		return false;
	}
	return false;
}

static inline bool type_is_integral(const struct type *t)
{
	return t->kind == T_INT || t->kind == T_BOOL || t->kind == T_ENUM;
}

static inline bool type_is_stack(const struct type *t)
{
	return t->kind == T_KSTACK || t->kind == T_USTACK;
}

/* Bytes before a stack's addresses; the last 8 of them are the number of frames. */
static inline u32 type_stack_head(const struct type *t)
{
	return t->kind == T_USTACK ? 16 : 8;
}

/* An opaque value whose row has this flag. */
static inline bool type_has(const struct type *t, enum opaque_flags flag)
{
	return t->kind == T_OPAQUE && (t->opaque->flags & flag);
}

/* Two values are equal if they make the same key. */
static inline bool type_compares_as_key(const struct type *t)
{
	return t->kind == T_TUPLE || t->kind == T_BUFFER || type_has(t, OPAQUE_EQUAL);
}

/* A tuple whose members have names. */
static inline bool type_is_record(const struct type *t)
{
	return t->kind == T_TUPLE && t->member_cnt && t->members[0].name;
}

/* Bytes of a frame, as a power of two. */
static inline u32 type_frame_shift(const struct type *t)
{
	return t->stack_mode == STACK_BUILD_ID ? 5 : 3;
}

static inline bool type_is_struct_ptr(const struct type *t)
{
	return t->kind == T_POINTER && t->elem->kind == T_STRUCT;
}
