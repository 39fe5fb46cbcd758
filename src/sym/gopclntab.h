/* SPDX-License-Identifier: GPL-2.0-only */
/* .gopclntab: the table from which a Go program names its own functions. Even a stripped program has it, because Go needs it to
 * walk stacks.
 *
 * It starts with a magic number that identifies one of four formats (Go 1.2, 1.16, 1.18, 1.20), and holds a sorted list of
 * addresses, each with the offset of a record, and the names. */
#pragma once

#include "sym/objfile.h"

struct go_table {
	struct bytes data, names;
	const struct go_form *form;
	u64 list, records; /* offsets in data: of the list, of what the list's offsets are counted from */
	u64 text;          /* what the list's addresses are counted from */
	u32 cnt;
	u64 lo, hi; /* the code that it describes */
};

struct go_func {
	const char *name;
	u64 addr, size;
	u32 name_off;    /* the same for functions of one name */
	bool is_asm;     /* written in assembly */
	bool is_special; /* it has a part in the runtime, or translates between calling conventions */
};

/* False: the file has none, or none of a known form. */
bool go_table_open(struct objfile *o, struct go_table *out);
/* Function i < cnt. False: its record is broken. */
bool go_table_func(const struct go_table *t, u32 i, struct go_func *out);
