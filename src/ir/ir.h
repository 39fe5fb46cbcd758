/* Intermediate code: functions of basic blocks over virtual registers. Not SSA: a register may be assigned in several places (script
 * variables are), but most have one definition. Every block ends in exactly one of jmp, br, ret. Blocks are laid out in list order;
 * blocks[0] is the entry.
 *
 * The main function may have subprograms: bodies of loops, which the kernel calls back. They share the list of slots and its clock.
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

struct ir_insn {
	enum ir_op op;
	u8 size;           /* load, store, atomic, ext: 1 2 4 8 */
	enum ir_cond cond; /* br */
	vreg d, a, c;
	struct opnd b;
	s64 imm;           /* imm, offsets, helper number */
	u32 index;         /* map, slot, argument or subprogram */
	bool on_stack;     /* load, store: the base is the frame, not a (bpf/frame.c) */
	struct opnd args[5];
	u8 arg_cnt;
	struct ir_block *yes, *no;
	struct span span;
};

struct ir_block {
	u32 id;
	bool is_seldom;     /* stands behind all others: what runs nearly always is one straight line, which the verifier walks first */
	vec(struct ir_insn) insns;
	/* analysis */
	u32 order;          /* position in the layout */
	u64 *live_in, *live_out; /* bit n: ir_func.live_vregs[n] */
};

enum slot_place { SLOT_ANYWHERE, SLOT_ON_STACK, SLOT_IN_SCRATCH };

struct ir_slot {
	u32 size, align;
	enum slot_place place; /* where it has to be: only the scratch area is the same for all functions of a program */
	struct ir_func *owner;
	/* Slots whose [open, close) do not overlap may share memory: numbers are taken from ir_func.clock. */
	u32 open, close;
	/* bpf/frame.c */
	bool in_scratch;
	s32 off; /* from r10 (negative), or into the scratch area */
};

struct ir_func {
	struct arena *arena;
	const char *name;
	vec(struct ir_block *) blocks;
	u32 vreg_cnt; /* registers are 1…vreg_cnt */
	vreg *live_vregs; /* those that live across the border of a block; see ir_liveness() */
	u32 live_cnt, live_words;
	struct ir_func *main; /* itself, or what it is a subprogram of */
	u32 stack_sz; /* bytes of slots on the stack, then of spilled registers too */
	bool is_used; /* frame_layout(): something refers to it */
	bool is_result_free; /* nobody looks at its result: r0 only has to hold something */
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

struct ir_func *ir_func_new(struct arena *a, const char *name);
struct ir_func *ir_sub_new(struct ir_func *main); /* the last of main->subs */
struct ir_block *ir_block_new(struct ir_func *f); /* not yet in the layout */
/* Puts the block at the end of the layout and goes on there. */
void ir_place(struct ir_build *b, struct ir_block *blk);
vreg ir_vreg(struct ir_func *f);
u32 ir_slot_new(struct ir_func *f, u32 size, u32 align);
u32 ir_slot_new_at(struct ir_func *f, u32 size, u32 align, enum slot_place place);
/* One in the scratch area that is in use since that time of the clock. */
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
#define ir_call_of(b, helper, ...)                                                                                     \
	ir_call((b), (helper), (struct opnd[]){ __VA_ARGS__ }, sizeof((struct opnd[]){ __VA_ARGS__ }) / sizeof(struct opnd))
vreg ir_append_scratch(struct ir_build *b, struct ir_block *none_left);
vreg ir_append_scratch_at(struct ir_build *b, vreg at);
void ir_append_unscratch(struct ir_build *b, vreg scratch);
void ir_jmp(struct ir_build *b, struct ir_block *to);
void ir_br(struct ir_build *b, enum ir_cond cond, vreg a, struct opnd rhs, struct ir_block *yes, struct ir_block *no);
void ir_ret(struct ir_build *b, struct opnd v);
/* The current block has its jmp, br or ret already. */
bool ir_is_closed(const struct ir_build *b);

/* Text form: prints. */
void ir_print(const struct ir_func *f, struct sbuf *out);
/* NULL when well-formed, else what is wrong (in the function's arena). */
const char *ir_verify(const struct ir_func *f);

/* Passes */
void ir_simplify(struct ir_func *f); /* constants, copies, dead code, jumps */
void ir_liveness(struct ir_func *f); /* fills live_in and live_out of the blocks, and live_vregs */
void ir_drop_unreachable(struct ir_func *f);

enum ir_cond ir_cond_negate(enum ir_cond c);
extern const char *const ir_op_text[IR_OP_CNT];
extern const char *const ir_cond_text[];

/* Calls fn for each register that the instruction reads. */
static inline u32 ir_uses(const struct ir_insn *i, vreg out[8])
{
	u32 n = 0;

	if (i->a)
		out[n++] = i->a;
	if (!i->b.is_imm && i->b.r)
		out[n++] = i->b.r;
	if (i->c)
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
