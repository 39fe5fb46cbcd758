/* SPDX-License-Identifier: GPL-2.0-only */
/* Machine code, as far as probes need it: how long instructions are, so that a probe is not put into the middle of one, and which
 * of them return from the function. */
#pragma once

#include "base/base.h"

struct machine_insn {
	u32 len;        /* 0: there is none, or it goes on behind what can be read */
	bool is_return; /* from a function */
	/* x86-64 */
	u8 op;          /* the opcode's first byte; behind a vector prefix: the opcode */
	bool is_vector; /* VEX, EVEX or XOP */
	bool has_lock;  /* or a segment prefix that means nothing (es, cs, ss, ds) */
};

/* The instruction at p, of which len bytes can be read. */
struct machine_insn insn_decode(const u8 *p, size_t len);

/* Whether an instruction starts at off, counted from code, where one starts. UNKNOWN: the code before it cannot be decoded. */
enum insn_start { INSN_START, INSN_INSIDE, INSN_UNKNOWN };
enum insn_start insn_starts_at(const u8 *code, size_t len, u64 off);
