/* SPDX-License-Identifier: GPL-2.0-only */
/* BPF instructions as text: -d bpf, and what the interpreter reports. */
#pragma once

#include "image/image.h"
#include "image/uapi.h"

/* Loads a constant of 64 bits, or the address of a map or function. Takes the place of two instructions. */
static inline bool insn_is_wide(const struct insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* One instruction, in the notation of the kernel's verifier and of bpftool: "r1 = *(u64 *)(r2 +8)". left: the number of
 * instructions from i to the end. The code may be invalid. */
void insn_print(const struct insn *i, u32 left, struct sbuf *out);
