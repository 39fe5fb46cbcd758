/* SPDX-License-Identifier: GPL-2.0-only */
/* From a checked script to an image, pass by pass. cli/main.c shows them all in order.
 *
 *	build_begin()      maps get their places
 *	build_lower()      tree → intermediate code
 *	build_simplify()   constants and copies are carried forward, code without effect is dropped
 *	build_frames()     each stack slot gets a place: on the stack, or in the scratch area
 *	build_registers()  each virtual register gets a machine register, or is spilled
 *	build_emit()       instructions, and the rest of the image: compile.image
 *
 * A pass returns false after it has reported an error. build_end() releases what they worked with, in any case.
 */
#pragma once

#include "bpf/backend.h"
#include "lang/compile.h"

struct build_prog {
	struct ir_func *main;
	struct scratch_place scratch;
	u8 **regs; /* of each of its functions */
};

struct build {
	struct compile *c;
	struct ir_mem mem;
	struct build_prog *progs; /* one for each unit */
	u32 scratch_sz;
	u32 errors_before;
};

void build_begin(struct build *b, struct compile *c);
bool build_lower(struct build *b);
bool build_simplify(struct build *b);
bool build_frames(struct build *b);
bool build_registers(struct build *b);
bool build_emit(struct build *b);
void build_end(struct build *b);

/* -d ir, after build_simplify(). */
void build_print_ir(const struct build *b, struct sbuf *out);

/* lang_uses() and all of these. */
bool image_build(struct compile *c);
