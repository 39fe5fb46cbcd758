/* SPDX-License-Identifier: GPL-2.0-only */
/* Opaque values: bytes that become text when they are shown, such as addresses with a name. One row each.
 *
 * To add one: write its `struct opaque` in the file of the function that makes such values, and name it in that family
 * (FN_FAMILY_OF in fn/family.h). Nothing else knows one opaque type from another, except for ksym: whoever has a value of type
 * T_OPAQUE asks type->opaque. The parameters of a type are in type.name and type.cnt, and mean what its row says.
 */
#pragma once

#include "base/base.h"

struct show;
struct type;

enum opaque_flags {
	OPAQUE_SCALAR = 1 << 0,   /* fits one register */
	OPAQUE_EQUAL = 1 << 1,    /* not a scalar, but two values compare by == as keys do */
	OPAQUE_TO_INT = 1 << 2,   /* can be cast to an integer */
	OPAQUE_FROM_INT = 1 << 3, /* an integer can be cast to it */
	OPAQUE_SIZED = 1 << 4,    /* its word may have a size behind it, word[16], which means nothing */
	OPAQUE_USER = 1 << 5,     /* an address of a process, whose id is the u64 behind it */
	OPAQUE_OWN = 1 << 7,      /* its text is made of numbers and of what the script says: it needs no escapes on a terminal */
	OPAQUE_PARAM = 1 << 6,    /* has parameters: scripts cannot write the type, though it has a word */
};

/* How two keys are ordered. */
enum opaque_order {
	ORDER_BYTES,
	ORDER_NUMBER,  /* an unsigned number of the type's size */
	ORDER_ADDRESS, /* the u64 that it begins with, and nothing else */
};

struct opaque {
	const char *name;        /* of the type, in messages */
	const char *word;        /* how scripts write the type; NULL: they cannot */
	const struct type *type; /* without parameters */
	u32 flags;
	enum opaque_order order;
	/* The text. JSON has it as a string. */
	void (*text)(const struct show *w, const struct type *t, const u8 *data);
};

/* By the name of the row, or by the word; NULL: there is none. Defined in fn/all.c. */
const struct opaque *opaque_find(const char *name);
const struct opaque *opaque_of_word(const char *word);
/* All rows: i = 0…; NULL past the last. */
const struct opaque *opaque_at(u32 i);
