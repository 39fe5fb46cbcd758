/* SPDX-License-Identifier: GPL-2.0-only */
/* Intermediate code: functions of basic blocks over virtual registers. Not SSA: a register may be assigned in several places
 * (script variables are), but most have one definition. Every block ends in exactly one of jmp, br, ret. Blocks are laid out in
 * list order; blocks[0] is the entry.
 *
 * The main function may have subprograms: bodies of loops, which the kernel calls back. They share the list of slots and its
 * clock.
 *
 * Stack objects are slots. Where a slot lives (the program's stack, or the per-CPU scratch area for big ones) is decided by
 * bpf/frame.c after lowering.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/sbuf.h"
#include "base/vec.h"

typedef u32 vreg; /* 0: none */

enum ir_op {
#define IR_OP(name, text, shape) name,
#include "ir/op.def"
#undef IR_OP
	IR_OP_CNT
};

enum ir_cond { C_EQ, C_NE, C_ULT, C_ULE, C_UGT, C_UGE, C_SLT, C_SLE, C_SGT, C_SGE, C_SET /* a & b */ };

/* A register or a constant. */
struct opnd {
	bool is_imm;
	vreg r;
	s64 imm;
};

static inline struct opnd opnd_reg(vreg r)
{
	return (struct opnd){ .r = r };
}

static inline struct opnd opnd_imm(s64 imm)
{
	return (struct opnd){ .is_imm = true, .imm = imm };
}

struct ir_block;

enum { IR_ARGS_MAX = 5 };

/* One cache line, because every pass goes over all instructions. Fields that no single operation uses together share storage. */
struct ir_insn {
	enum ir_op op : 8;
	enum ir_cond cond : 8; /* br */
	u8 size;               /* load, store, atomic, ext: 1 2 4 8 */
	u8 arg_cnt : 7;        /* call */
	bool on_stack : 1;     /* load, store: the base is the frame, not a (bpf/frame.c) */
	vreg d, a;
	union {
		vreg c;    /* cmpxchg */
		u32 index; /* map, slot, argument or subprogram */
	};
	struct opnd b;
	union {
		struct {
			s64 imm;           /* imm, offsets, helper number */
			struct opnd *args; /* call only */
		};
		struct {
			struct ir_block *yes, *no; /* jmp, br; scratch has no */
		};
	};
	struct span span;
};
_Static_assert(sizeof(struct ir_insn) == 64, "struct ir_insn is one line of the cache");

struct ir_block {
	u32 id;
	bool is_seldom; /* placed after all other blocks: the common path is one straight line, which the verifier walks first */
	vec(struct ir_insn) insns;
	/* ir_liveness(): registers whose value is needed after the block, in order */
	vreg *live_out;
	u32 live_out_cnt;
};

enum slot_place { SLOT_ANYWHERE, SLOT_ON_STACK, SLOT_IN_SCRATCH };

struct ir_slot {
	u32 size, align;
	enum slot_place place; /* where it must be: all functions of a program share only the scratch area */
	struct ir_func *owner;
	/* Slots whose [open, close) do not overlap may share memory. The numbers are values of ir_func.clock. */
	u32 open, close;
	/* bpf/frame.c */
	bool in_scratch;
	s32 off; /* from r10 (negative), or into the scratch area */
};

/* The memory of a script's functions. It is released when the programs are emitted. */
struct ir_mem {
	struct arena funcs; /* functions, blocks, slots, arguments */
	struct arena code;  /* only instructions, so that the current block can grow in place */
	struct arena pass;  /* temporary memory of a pass, which clears it at its end */
};

struct ir_func {
	struct ir_mem *mem;
	const char *name;
	vec(struct ir_block *) blocks;
	u32 vreg_cnt;                   /* registers are 1…vreg_cnt */
	struct ir_block *scratch_block; /* the one with IR_SCRATCH, if any */
	struct ir_func *main;           /* itself, or the function that it is a subprogram of */
	u32 stack_sz;                   /* bytes of slots on the stack, then of spilled registers too */
	bool is_used;                   /* frame_layout(): it is referred to */
	bool is_result_free;            /* the result is ignored: r0 only has to be initialised */
	/* of the main function */
	vec(struct ir_func *) subs;
	vec(struct ir_slot) slots;
	u32 clock;
	u32 scratch_sz; /* frame_layout(): bytes of the scratch area that all of them need */
};

/* Building. All emitters append to `cur`. */
struct ir_build {
	struct ir_func *f;
	struct ir_block *cur;
	struct span span; /* of the source that is being lowered */
};

void ir_mem_release(struct ir_mem *m);
struct ir_func *ir_func_new(struct ir_mem *m, const char *name);
struct ir_func *ir_sub_new(struct ir_func *main); /* the last of main->subs */
struct ir_block *ir_block_new(struct ir_func *f); /* not yet in the layout */
/* Appends the block to the layout and makes it the current one. */
void ir_place(struct ir_build *b, struct ir_block *blk);
vreg ir_vreg(struct ir_func *f);
u32 ir_slot_new(struct ir_func *f, u32 size, u32 align);
u32 ir_slot_new_at(struct ir_func *f, u32 size, u32 align, enum slot_place place);
/* A slot in the scratch area that is in use since `open`, a value of the clock. */
u32 ir_slot_new_since(struct ir_func *f, u32 size, u32 align, u32 open);

vreg ir_imm(struct ir_build *b, s64 imm);
void ir_mov_to(struct ir_build *b, vreg d, struct opnd a);
vreg ir_alu(struct ir_build *b, enum ir_op op, vreg a, struct opnd rhs);
void ir_alu_to(struct ir_build *b, enum ir_op op, vreg d, vreg a, struct opnd rhs);
vreg ir_ext(struct ir_build *b, enum ir_op op, vreg a, u32 size);
vreg ir_neg(struct ir_build *b, vreg a);
vreg ir_plain(struct ir_build *b, vreg a);
vreg ir_load(struct ir_build *b, vreg base, s64 off, u32 size);
void ir_store(struct ir_build *b, vreg base, s64 off, u32 size, struct opnd v);
void ir_atomic_add(struct ir_build *b, vreg base, s64 off, u32 size, struct opnd v);
vreg ir_fetch_add(struct ir_build *b, vreg base, s64 off, struct opnd v);
vreg ir_cmpxchg(struct ir_build *b, vreg base, s64 off, vreg expected, vreg desired);
vreg ir_ctx(struct ir_build *b);
vreg ir_map(struct ir_build *b, u32 map);
vreg ir_mapval(struct ir_build *b, u32 map, s64 off);
vreg ir_slot_addr(struct ir_build *b, u32 slot, s64 off);
vreg ir_arg(struct ir_build *b, u32 index);
vreg ir_func_addr(struct ir_build *b, const struct ir_func *sub);
vreg ir_call(struct ir_build *b, u32 helper, const struct opnd *args, u32 cnt);
#define ir_call_of(b, helper, ...)                                                                                               \
	ir_call((b), (helper), (struct opnd[]){ __VA_ARGS__ }, sizeof((struct opnd[]){ __VA_ARGS__ }) / sizeof(struct opnd))
vreg ir_append_scratch(struct ir_build *b, struct ir_block *none_left);
vreg ir_append_scratch_at(struct ir_build *b, vreg at);
void ir_append_unscratch(struct ir_build *b, vreg scratch);
void ir_jmp(struct ir_build *b, struct ir_block *to);
void ir_br(struct ir_build *b, enum ir_cond cond, vreg a, struct opnd rhs, struct ir_block *yes, struct ir_block *no);
void ir_ret(struct ir_build *b, struct opnd v);
/* The current block has its jmp, br or ret already. */
bool ir_is_closed(const struct ir_build *b);

/* Replaces the instructions of a block. */
void ir_set_code(struct ir_func *f, struct ir_block *b, const struct ir_insn *code, u32 cnt);

/* Text form: prints. */
void ir_print(const struct ir_func *f, struct sbuf *out);
/* NULL when well-formed, else what is wrong. */
const char *ir_verify(const struct ir_func *f);

/* Passes */
void ir_simplify(struct ir_func *f); /* constants, copies, dead code, jumps */
void ir_liveness(struct ir_func *f); /* fills live_out of the blocks, from mem->pass */
void ir_drop_unreachable(struct ir_func *f);

enum ir_cond ir_cond_negate(enum ir_cond c);
extern const char *const ir_op_text[IR_OP_CNT];
extern const char *const ir_cond_text[];

/* The registers that the instruction reads. */
static inline u32 ir_uses(const struct ir_insn *i, vreg out[8])
{
	u32 n = 0;

	if (i->a)
		out[n++] = i->a;
	if (!i->b.is_imm && i->b.r)
		out[n++] = i->b.r;
	if (i->op == IR_CMPXCHG)
		out[n++] = i->c;
	for (u32 k = 0; k < i->arg_cnt; k++)
		if (!i->args[k].is_imm)
			out[n++] = i->args[k].r;
	return n;
}

static inline bool ir_is_end(enum ir_op op)
{
	return op == IR_JMP || op == IR_BR || op == IR_RET;
}
