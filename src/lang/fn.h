/* SPDX-License-Identifier: GPL-2.0-only */
/* Builtins and functions of the language: one row each.
 *
 * To add one: write its row, check() if the signature does not say all, and lower() (and event(), if user space has to act on it)
 * in the file of its family under fn/; families are listed in fn/all.c. The row's doc and example feed the reference, --help and
 * the tests: the example is compiled by a test. For map functions see types/agg.h, for a new type of value types/opaque.h.
 *
 * A name is looked up in one place, fn_find(). Nothing compares function names.
 */
#pragma once

#include "base/base.h"

struct check;
struct compile;
struct expr;
struct lower;
struct mem;
struct rec;
struct session;
struct type;
struct unit;
struct val;

enum fn_flags {
	FN_WORD = 1 << 0,     /* may be written without parentheses (a builtin) */
	FN_SUFFIX = 1 << 1,   /* the name ends in a number: argN */
	FN_UNSAFE = 1 << 2,   /* needs --unsafe */
	FN_AGG = 1 << 3,      /* a map function: only as `@m[k] = f(…)` */
	FN_ASYNC = 1 << 4,    /* user space acts when it reads the event */
	FN_PURE = 1 << 5,     /* one value per program run: computed once */
	FN_ARGS = 1 << 6,     /* args: sites share a program only if their arguments look the same */
	FN_CTRL = 1 << 7,     /* FN_ASYNC: its record must not get lost */
	FN_EFFECT = 1 << 8,   /* yields a value, but changes something, too */
	FN_CTX = 1 << 9,      /* ctx: its members may be the provider's to load */
	FN_SITE = 1 << 10,    /* takes the name of a probe as the number that it is, not as a string */
	FN_AWAITED = 1 << 11, /* FN_ASYNC: a process waits until its event was handled, whether or not anybody still wants to know
				 of it */
	FN_ALL_OF_MAP = 1 << 12, /* user space prints or empties the map, however it is kept */
	FN_TASK = 1 << 13,       /* a member of the current task: read from there by programs that have it, see lower_task() */
	FN_SMALL = 1 << 14,      /* its value is never negative, nor too large for a signed integer of its size */
	FN_REMOVES = 1 << 15,    /* takes single entries out of its first argument, a map */
	FN_BY_KEY = 1 << 16,     /* its first argument is a map, of which it wants the entry of one key */
	FN_LEAVES = 1 << 17,     /* may end the program: later statements do not run */
	FN_ENDS = 1 << 18,       /* ends the program always: nothing after it runs */
};

/* The signature is text: parameters with their kinds, `?` marks the first optional one, `…` any number more.
 * Kinds: int, ptr, str, lit (integer literal), strlit (string literal), word (a bare word, which
 * check() sees as a string), map (the map itself), var (a variable that check()
 * assigns to), type (typeof), path (of members: a.b.c), any. Alternatives with `|`.
 *   "(ptr|int addr, ?int len) string"
 * The result word is documentation; check() sets the real type, or the default is taken: none, int, uint32 … see fn_result(). */
struct fn {
	const char *name;
	const char *sig;
	const char *doc;     /* one sentence */
	const char *example; /* a whole script */
	u32 flags;
	/* Called after the arguments were checked against the signature; sets call->type. NULL: result by signature. */
	void (*check)(struct check *c, struct expr *call);
	/* Generates code. dst: where the caller wants the value, or NULL; a value made elsewhere is copied by the caller. */
	struct val (*lower)(struct lower *l, struct expr *call, const struct mem *dst);
	/* FN_AGG: updates the aggregation whose memory starts at `slot`. */
	void (*update)(struct lower *l, struct expr *call, struct mem slot);
	/* FN_ASYNC: acts on one record. data is the whole record, its head included. */
	void (*event)(struct session *s, const struct rec *rec, const u8 *data, u32 len);
	/* FN_CTRL: more code for the case that there is no room for the record in either ring. */
	void (*lost)(struct lower *l, const struct rec *rec);
	/* May change the arguments before they are checked: they are as they were written, or as an earlier round left them.
	 * False after an error. */
	bool (*prepare)(struct check *c, struct expr *call);
	u32 needs;    /* bits of enum need (image/need.h) */
	u64 features; /* bits of enum kern_feature without which it cannot be used */
	u32 reset;    /* enum map_reset: what event() does to its first argument, a map; 0: nothing of that kind */
};

/* Rows of one subject; fn/all.c lists the families. */
struct fn_family {
	const struct fn *rows;
	u32 cnt;
	const struct fn *(*at)(u32 i);      /* instead of rows */
	const struct opaque *const *values; /* the opaque values that its functions make, if any; the last is NULL */
};

#define FN_FAMILY(name, table) const struct fn_family name = { table, sizeof(table) / sizeof((table)[0]) }
/* With the rows of opaque values. */
#define FN_FAMILY_OF(name, table, ...)                                                                                           \
	const struct fn_family name = { table, sizeof(table) / sizeof((table)[0]),                                               \
					.values = (const struct opaque *const[]){ __VA_ARGS__, NULL } }

/* NULL if there is none. *suffix receives N of argN. __builtin_NAME is NAME, too. */
const struct fn *fn_find(const char *name, u32 *suffix);
/* What the probe at the entry of a function calls whose argument is to be watched (probe/watch.h). It is no name of the language.
 */
extern const struct fn fn_watch_arg;

/* Whether this is a stack that the kernel has a number for, see store/stackids.c. */
bool fn_stack_has_id(const struct compile *c, const struct unit *u, const struct expr *e);

/* All rows, family by family: i = 0…; NULL past the last. */
const struct fn *fn_at(u32 i);
