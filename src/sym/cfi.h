/* SPDX-License-Identifier: GPL-2.0-only */
/* How to get from a function to its caller: the call frame information of a file (.eh_frame), for x86-64.
 *
 * The section holds, for every function, a program that describes for each of its instructions where the caller's registers are.
 * A stack walk needs only two of them: where the caller's stack begins (the CFA; the return address is the word below it), and
 * where the caller's frame pointer is. cfi_read() runs all programs and keeps these as rows sorted by address: a row is valid up
 * to the next one.
 *
 * Compilers describe nearly everything by the stack pointer or the frame pointer and an offset. The format also allows
 * expressions; the few that linkers and libraries use are recognised: stubs of the procedure linkage table, frames of signal
 * handlers, realigned stacks.
 */
#pragma once

#include "base/vec.h"
#include "sym/objfile.h"

enum cfi_cfa {
	CFI_NONE,     /* the address is not described */
	CFI_SP,       /* stack pointer + cfa_off */
	CFI_BP,       /* frame pointer + cfa_off */
	CFI_BP_DEREF, /* the word at frame pointer + cfa_off */
	CFI_PLT,      /* stack pointer + cfa_off, and 8 more from byte bp_off of the 16 that a stub has */
	CFI_SIGNAL,   /* the kernel called a handler here: its struct ucontext is at the stack pointer */
	CFI_END,      /* there is no caller */
	CFI_OTHER,    /* described in a form that is not supported */
};

enum cfi_bp {
	CFI_BP_SAME,  /* it is still in its register */
	CFI_BP_AT,    /* at CFA + bp_off */
	CFI_BP_AT_BP, /* at frame pointer + bp_off */
	CFI_BP_LOST,
};

struct cfi_row {
	u64 pc; /* as the file is linked */
	u8 cfa; /* enum cfi_cfa */
	u8 bp;  /* enum cfi_bp */
	s16 bp_off;
	s32 cfa_off;
};

struct cfi {
	vec(struct cfi_row) rows; /* by pc; no two adjacent rows are equal */
	u32 func_cnt;             /* functions that were described */
	u32 bad_cnt;              /* malformed descriptions, which are skipped */
};

/* Fills *out, also when there is no such section (no rows then). */
void cfi_read(struct objfile *o, struct cfi *out);
void cfi_release(struct cfi *c);
/* The row that is valid at the address; NULL: none. */
const struct cfi_row *cfi_find(const struct cfi *c, u64 pc);
