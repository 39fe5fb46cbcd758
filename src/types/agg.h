/* SPDX-License-Identifier: GPL-2.0-only */
/* Aggregations: what a map function such as count() keeps. One row each.
 *
 * To add one: write agg/x.c with its `struct agg` and the `struct fn` of its function, and name it in agg/all.c. Nothing else
 * knows one aggregation from another: whoever has a value of type T_AGG asks type->agg. What distinguishes two types of one row
 * (its parameters) is in type.cnt, type.param and type.is_signed, so that a type can be stored as the name of its row and these
 * numbers.
 *
 * Programs keep a share of type.size bytes, made of u64; zeroes mean "nothing yet". Each CPU has its own, or several have one
 * together. User space adds the shares up to a total, which is what is shown. A share changes while it is read: sum() and add()
 * read each number whole.
 */
#pragma once

#include "types/naming.h"

struct agg_number;
struct fn;

enum agg_flags {
	AGG_SIGNED = 1 << 0,   /* of signed or unsigned numbers, which are different types ("usum_t"); both together are signed */
	AGG_MAY_BE_0 = 1 << 1, /* a share of zeroes may be a value: whether there is one has to be kept beside it */
	AGG_ROWS = 1 << 2,     /* its text is lines of their own */
};

/* agg.sharing_cpus of those that are small, and updated by atomic additions alone. A share for each CPU is never waited for, but
 * the kernel needs 10 µs and more to allocate one when a new key comes, and in a burst of new keys fails to; a shared one takes a
 * tenth of a microsecond. With more CPUs than this, so many might meet at one key that they would wait long for each other. */
enum { AGG_FEW_CPUS = 8 };

struct agg {
	const char *name;                /* of the function; "name_t" is the type */
	const struct fn *fn;             /* fn->update() changes a share */
	const struct agg_number *number; /* how programs read the number that it is (ir/lower.h); NULL: it is not one number */
	u32 flags;
	const struct type *types; /* the type of unsigned and of signed numbers; NULL: it has parameters */
	u32 total_sz;             /* bytes of a total; 0: as many as a share */
	u32 set_words; /* u64s of the share of which at least one is not 0 when there is a value, a bit for each; 0: these do not
			  tell */
	u32 sharing_cpus;      /* with up to so many CPUs, all of them have one share of a key; 0: each CPU always has its own */
	const char *json_kind; /* of a map of these, in JSON; NULL: "map" */
	/* Whether size, cnt and param of a type that was read from a file belong together. Rows without parameters need none. */
	bool (*is_sound)(const struct type *t);
	/* The type of a map whose updates are of these types, both of this row; NULL: there is none. Without this function they
	 * have to be equal, or to differ only by the sign, with AGG_SIGNED. */
	const struct type *(*join)(struct arena *a, const struct type *x, const struct type *y);
	/* Adds up cpu_cnt shares that lie stride bytes apart into a total (out may be cpu0). False: nothing was ever recorded, as
	 * far as the numbers tell; out is then all zero. */
	bool (*sum)(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out);
	/* Adds a share to another one. NULL: shares of one CPU cannot be in several places. */
	void (*add)(const struct type *t, u8 *to, const u8 *share);
	/* How many updates made this share, or with *is_exact false just that some did. */
	u64 (*updates)(const struct type *t, const u8 *share, bool *is_exact);
	/* Maps are shown in the order of this number. NULL: in the order of their keys. */
	u64 (*rank)(const struct type *t, const u8 *total);
	/* See show.extent. NULL: each value is shown by itself. */
	u64 (*extent)(const struct type *t, const u8 *total);
	void (*text)(const struct show *w, const struct type *t, const u8 *total);
	void (*json)(const struct show *w, const struct type *t, const u8 *total);
};

/* By the name of the row; NULL: there is none. Defined in agg/all.c. */
const struct agg *agg_find(const char *name);
/* All rows: i = 0…; NULL past the last. */
const struct agg *agg_at(u32 i);

static inline u32 agg_total_size(const struct type *t)
{
	return t->agg->total_sz ? t->agg->total_sz : t->size;
}

static inline bool agg_sum(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	return t->agg->sum(t, cpu0, stride, cpu_cnt, out);
}

static inline bool agg_type_is_sound(const struct type *t)
{
	return t->agg && (t->agg->types ? t->size == t->agg->types[0].size : t->agg->is_sound(t));
}

static inline bool agg_may_be_0(const struct type *t)
{
	return t->kind == T_AGG && (t->agg->flags & AGG_MAY_BE_0);
}
