/* Machine code, as far as probes need it: how long instructions are, so that a probe is not put into the middle of one, and which of them
 * return from the function. */
#pragma once

#include "base/base.h"

enum insn_kind {
	INSN_OTHER,
	INSN_RETURN, /* from a function */
};

/* The length of the instruction at p, of which len bytes can be read. 0: there is none, or it goes on behind them. kind may be NULL. */
u32 insn_length(const u8 *p, size_t len, enum insn_kind *kind);

/* Whether an instruction starts at off, counted from code, where one starts. UNKNOWN: the code before it cannot be followed. */
enum insn_start { INSN_START, INSN_INSIDE, INSN_UNKNOWN };
enum insn_start insn_starts_at(const u8 *code, size_t len, u64 off);
