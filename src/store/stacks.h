/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys that end in a stack. */
#pragma once

#include "ir/store.h"
#include "store/cells.h"
#include "store/hash.h"

extern const struct store store_short_stacks;

/* store/shortstacks.c */
struct short_layer {
	struct layer base;
	struct hash_maps maps; /* for keys of few frames, without the others */
	u32 cnt_off;           /* where in the key the number of frames is, … */
	u32 max;               /* … up to which they are few */
};

/* store/stackids.c: numbers that the kernel gives to the stacks that a map's keys end in. */
struct stack_ids_layer {
	struct cells_layer front; /* the table, by keys that end in a number */
	u32 cnt;                  /* numbers below this, a power of two */
	u32 image_map;            /* the kernel's table of stacks */
	u32 off;                  /* of struct stack_ids_head, in the shared part of the data map */
};

/* What is known of the numbers of stacks: this, then a byte for each. Programs mark those that they see, user space those that it
 * knows. */
struct stack_ids_head {
	u64 refusal; /* 0, or STACK_IDS_REFUSED while programs are not to ask for numbers */
};
enum stack_id_state { STACK_ID_NEW, STACK_ID_SEEN, STACK_ID_KNOWN };
#define STACK_IDS_REFUSED (1ull << 63) /* a flag that the kernel's function does not know: it returns at once */

/* User space learns the numbers: store_work(). */
struct stack_ids;
/* One round of its thread: how many it has learned, or -ENOSPC if nothing more will be. */
int stack_ids_learn(struct stack_ids *s);

static inline const struct short_layer *short_layer(const struct layer *y)
{
	return (const struct short_layer *)y;
}

static inline const struct stack_ids_layer *stack_ids_layer(const struct layer *y)
{
	return (const struct stack_ids_layer *)y;
}

/* The stack that a key ends in, with its offset; NULL: none. */
static inline const struct type *key_last_stack(const struct type *key, u32 *off)
{
	const struct member *last = key->kind == T_TUPLE && key->member_cnt ? &key->members[key->member_cnt - 1] : NULL;
	const struct type *t = last ? last->type : key;

	*off = last ? last->off : 0;
	return type_is_stack(t) && *off + t->size == key->size ? t : NULL;
}
