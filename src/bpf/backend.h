/* SPDX-License-Identifier: GPL-2.0-only */
/* From intermediate code to instructions. In this order, per program; all but the first and the last for each function of it:
 *   frame_layout()   places every slot: on the 512-byte stack, or in the scratch area
 *   frame_expand()   turns scratch and slot operations into loads, stores and address arithmetic
 *   regalloc()       assigns one of r0–r9 to every virtual register, and spills the rest
 *   emit()           writes the instructions and the line table
 */
#pragma once

#include "image/image.h"
#include "ir/ir.h"

/* The machine's limits. A build with -Dsmall_limits=true shrinks them, so that every test exercises spilling and the scratch
 * area. */
#ifdef SONDE_SMALL_LIMITS
enum { STACK_SZ = 512, STACK_FOR_SLOTS = 64, CALLEE_SAVED_CNT = 1, ON_STACK_MAX = 16 };
#else
enum { STACK_SZ = 512, STACK_FOR_SLOTS = 384, CALLEE_SAVED_CNT = 4, ON_STACK_MAX = 128 };
#endif

/* Functions of one program, as the kernel allows. */
enum { FUNCS_MAX = 256 };

/* A reentrant program acquires one of several parts of the scratch area; any other program has its own part (bpf/frame.c). */
enum { SCRATCH_LEVELS = 4, SCRATCH_HEAD = 16 };

struct scratch_place {
	u32 off;        /* in the value of the scratch map: the first CPU's part */
	u32 size;       /* bytes of one part */
	u32 cpu_cnt;    /* a power of two */
	bool is_shared; /* reentrant: SCRATCH_LEVELS parts per CPU, acquired and released */
};

/* Of a main function and its subprograms. Fills is_used and scratch_sz. */
void frame_layout(struct ir_func *f);
/* After regalloc(): the stack of f and what it calls, as the kernel counts it. */
u32 frame_stack(const struct ir_func *f);
void frame_expand(struct ir_func *f, const struct scratch_place *at);
/* After simplification: functions that nothing refers to any more are not used. The kernel refuses them. */
void frame_drop_unused(struct ir_func *f);

/* After it: reg[v] for each virtual register v, and f->stack_sz is final. Returns NULL if the stack overflows. */
u8 *regalloc(struct ir_func *f);

/* The main function, then those of its subprograms that are used. regs: the allocation of each, in the order of main->subs, the
 * main function's first. False: *far is the place of a jump that is too long. */
bool emit(struct arena *a, struct ir_func *f, u8 *const *regs, struct image_prog *prog, struct span *far);

/* Limits of the kernel that depend on the length of the script. False: one is exceeded, which is reported. */
bool limits_check(struct diag *d, struct arena *tmp, const struct image *img, const struct image_prog *p);
