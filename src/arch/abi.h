/* SPDX-License-Identifier: GPL-2.0-only */
/* The offsets, in bytes, of a function's arguments, its result and the machine's registers in struct pt_regs, where a probe saves
 * them. The table is that of the machine that Sonde was built for. */
#pragma once

#include "base/base.h"

struct abi_reg {
	const char *name; /* as reg() takes it */
	u16 off;
};

struct abi {
	const char *name; /* "x86_64" */
	const struct abi_reg *regs;
	u32 reg_cnt;
	/* Function calls: the arguments that are passed in registers. */
	u16 arg_off[8];
	u32 arg_cnt;
	/* The same in Go, since 1.17. */
	u16 go_arg_off[16];
	u32 go_arg_cnt;
	u16 ret_off, ip_off, sp_off;
	bool ret_on_stack; /* a call pushes the return address on the stack */
	/* By DWARF register number. */
	u16 dwarf_off[32];
	u32 dwarf_cnt;
	/* System calls: always six arguments. */
	u16 sys_arg_off[6];
	u16 sys_nr_off; /* where the number is while the call runs */
};

extern const struct abi abi;

/* False when there is no register of that name. */
bool abi_find_reg(const char *name, u32 *off);
/* "did you mean": the register nearest to the name, or NULL. */
const char *abi_nearest_reg(const char *name);
