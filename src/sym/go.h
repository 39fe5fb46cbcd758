/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs built by Go's own compiler, which breaks conventions that probes rely on:
 *
 * - Stacks of goroutines start small and are moved when they are too small. A return probe of the kernel replaces the return
 * address on the stack; Go's runtime finds an address there that belongs to no function and ends the program. So the return
 * instructions themselves are probed.
 * - A function first checks whether the stack is large enough; if not, it has the stack moved and starts over. A probe on the
 * first instruction would see such a call twice, so it is placed after that check.
 * - Arguments and results are passed in other registers than in C; before Go 1.17, and in assembly (names that end in .abi0), on
 * the stack.
 */
#pragma once

#include "base/vec.h"
#include "sym/elf.h"

struct go_file {
	bool is_go;
	bool on_stack;        /* made before Go 1.17 */
	u64 text_lo, text_hi; /* Go's code; there may be C's as well */
};

void go_file_look(struct sym_elf *e, struct go_file *out);
/* The function was compiled by Go. */
bool go_has(const struct go_file *g, const struct sym_func *f);
/* … and takes its arguments from the stack. */
bool go_on_stack(const struct go_file *g, const struct sym_func *f);

/* The first instruction that runs once for each call. */
u64 go_entry(struct sym_elf *e, const struct sym_func *f);
/* The addresses of its return instructions. False: its code cannot be followed. */
typedef vec(u64) go_addrs;
bool go_returns(struct sym_elf *e, const struct sym_func *f, go_addrs *out);
