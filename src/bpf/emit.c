/* SPDX-License-Identifier: GPL-2.0-only */
/* Emits instructions for intermediate code, after register allocation. */
#include "bpf/backend.h"
#include "image/uapi.h"

enum { FP = 10, UNUSED_REG = 255 };

struct emit {
	const u8 *reg;
	vec(struct insn) out;
	vec(struct line_info) lines;
	u32 *block_at;  /* first instruction of each block */
	bool *lacks_r0; /* by block: r0 may be uninitialised at its start */
	vec(struct fixup {
		u32 insn;
		u32 block;
		struct span span;
	}) fixups;
	vec(struct func_ref {
		u32 insn;
		u32 sub;
	}) func_refs; /* instructions that need the address of a subprogram */
	struct span span;
	struct span far; /* of a jump that is too long */
};

static void put(struct emit *e, u8 code, u8 dst, u8 src, s16 off, s32 imm)
{
	struct line_info *last = e->lines.cnt ? &e->lines.at[e->lines.cnt - 1] : NULL;

	if (!last || last->span.begin != e->span.begin || last->span.src != e->span.src) {
		if (last && last->insn == e->out.cnt)
			last->span = e->span;
		else
			vec_push(&e->lines, (struct line_info){ e->out.cnt, e->span });
	}
	vec_push(&e->out, (struct insn){ .code = code, .dst = dst, .src = src, .off = off, .imm = imm });
}

static u8 reg_of(const struct emit *e, vreg v)
{
	BUG_ON(!v || e->reg[v] == UNUSED_REG);
	return e->reg[v];
}

static void put_mov(struct emit *e, u8 dst, u8 src)
{
	if (dst != src)
		put(e, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void put_imm(struct emit *e, u8 dst, s64 v)
{
	if (v == (s32)v) {
		put(e, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, (s32)v);
	} else if (v == (s64)(u32)v) {
		put(e, BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, (s32)v); /* the 32-bit move clears the upper half */
	} else {
		put(e, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (s32)v);
		put(e, 0, 0, 0, 0, (s32)(v >> 32));
	}
}

static u8 size_bits(u32 size)
{
	switch (size) {
	case 1:
		return BPF_B;
	case 2:
		return BPF_H;
	case 4:
		return BPF_W;
	case 8:
		return BPF_DW;
	}
	BUG("access of %u bytes", size);
}

static u8 alu_bits(enum ir_op op)
{
	switch (op) {
	case IR_ADD:
		return BPF_ADD;
	case IR_SUB:
		return BPF_SUB;
	case IR_MUL:
		return BPF_MUL;
	case IR_DIV:
		return BPF_DIV;
	case IR_MOD:
		return BPF_MOD;
	case IR_AND:
		return BPF_AND;
	case IR_OR:
		return BPF_OR;
	case IR_XOR:
		return BPF_XOR;
	case IR_SHL:
		return BPF_LSH;
	case IR_SHR:
		return BPF_RSH;
	case IR_SAR:
		return BPF_ARSH;
	default:
		BUG("%s is not arithmetic", ir_op_text[op]);
	}
}

static u8 cond_bits(enum ir_cond c)
{
	switch (c) {
	case C_EQ:
		return BPF_JEQ;
	case C_NE:
		return BPF_JNE;
	case C_ULT:
		return BPF_JLT;
	case C_ULE:
		return BPF_JLE;
	case C_UGT:
		return BPF_JGT;
	case C_UGE:
		return BPF_JGE;
	case C_SLT:
		return BPF_JSLT;
	case C_SLE:
		return BPF_JSLE;
	case C_SGT:
		return BPF_JSGT;
	case C_SGE:
		return BPF_JSGE;
	case C_SET:
		return BPF_JSET;
	}
	BUG("condition %d", c);
}

static void put_alu(struct emit *e, const struct ir_insn *i)
{
	u8 d = reg_of(e, i->d), a = reg_of(e, i->a), bits = alu_bits(i->op);

	if (i->b.is_imm) {
		BUG_ON(i->b.imm != (s32)i->b.imm);
		put_mov(e, d, a);
		put(e, BPF_ALU64 | bits | BPF_K, d, 0, 0, i->b.imm);
	} else {
		u8 b = reg_of(e, i->b.r);

		if (d == b && d != a) {
			u8 swap = a;

			BUG_ON(i->op == IR_SUB || i->op == IR_DIV || i->op == IR_MOD || i->op == IR_SHL || i->op == IR_SHR ||
			       i->op == IR_SAR);
			a = b;
			b = swap;
		}
		put_mov(e, d, a);
		put(e, BPF_ALU64 | bits | BPF_X, d, b, 0, 0);
	}
}

static void put_ext(struct emit *e, const struct ir_insn *i)
{
	u8 d = reg_of(e, i->d), a = reg_of(e, i->a);
	s32 shift = 64 - 8 * i->size;

	if (i->op == IR_ZEXT && i->size == 4) {
		put(e, BPF_ALU | BPF_MOV | BPF_X, d, a, 0, 0);
		return;
	}
	put_mov(e, d, a);
	if (i->size == 8 && i->op != IR_BSWAP)
		return;
	if (i->op == IR_ZEXT) {
		put(e, BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i->size == 1 ? 0xff : 0xffff);
	} else if (i->op == IR_SEXT) {
		put(e, BPF_ALU64 | BPF_LSH | BPF_K, d, 0, 0, shift);
		put(e, BPF_ALU64 | BPF_ARSH | BPF_K, d, 0, 0, shift);
	} else {
		put(e, BPF_ALU | BPF_END | BPF_TO_BE, d, 0, 0, 8 * i->size);
	}
}

/* Moves the arguments to r1…r5, all at once: a register may be both source and destination. */
static void put_args(struct emit *e, const struct ir_insn *i)
{
	u8 from[6]; /* by destination; UNUSED_REG: done or constant */
	bool again = true;

	for (u32 k = 0; k < i->arg_cnt; k++) {
		from[k + 1] = i->args[k].is_imm ? UNUSED_REG : reg_of(e, i->args[k].r);
		if (from[k + 1] == k + 1)
			from[k + 1] = UNUSED_REG;
	}
	while (again) {
		again = false;
		for (u8 d = 1; d <= i->arg_cnt; d++) {
			bool is_source = false;

			if (from[d] == UNUSED_REG)
				continue;
			for (u8 o = 1; o <= i->arg_cnt; o++)
				is_source |= o != d && from[o] == d;
			/* An argument that stays in its register counts as a source, too. */
			if (is_source) {
				again = true;
				continue;
			}
			put_mov(e, d, from[d]);
			from[d] = UNUSED_REG;
			again = true;
			goto next_round;
		}
		if (!again)
			break;
		/* Only cycles are left: break one through r0, which no argument needs now (a source in r0 would not be in a
		 * cycle). */
		for (u8 d = 1; d <= i->arg_cnt; d++) {
			if (from[d] == UNUSED_REG)
				continue;
			put_mov(e, 0, d);
			for (u8 o = 1; o <= i->arg_cnt; o++)
				if (from[o] == d)
					from[o] = 0;
			break;
		}
	next_round:;
	}
	for (u32 k = 0; k < i->arg_cnt; k++)
		if (i->args[k].is_imm)
			put_imm(e, k + 1, i->args[k].imm);
}

static void put_jump(struct emit *e, const struct ir_block *to)
{
	vec_push(&e->fixups, (struct fixup){ e->out.cnt, to->id, e->span });
	put(e, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

static void put_branch(struct emit *e, const struct ir_insn *i, const struct ir_block *next)
{
	struct ir_block *yes = i->yes, *no = i->no;
	enum ir_cond cond = i->cond;

	if (yes == next && cond != C_SET) {
		cond = ir_cond_negate(cond);
		yes = no;
		no = i->yes;
	}
	vec_push(&e->fixups, (struct fixup){ e->out.cnt, yes->id, e->span });
	if (i->b.is_imm) {
		BUG_ON(i->b.imm != (s32)i->b.imm);
		put(e, BPF_JMP | cond_bits(cond) | BPF_K, reg_of(e, i->a), 0, 0, i->b.imm);
	} else {
		put(e, BPF_JMP | cond_bits(cond) | BPF_X, reg_of(e, i->a), reg_of(e, i->b.r), 0, 0);
	}
	if (no != next)
		put_jump(e, no);
}

/* Whether r0 may be uninitialised after an instruction, which the verifier does not allow at the exit. */
static bool lacks_r0_after(const struct emit *e, const struct ir_insn *i, bool before)
{
	if (i->op == IR_CALL)
		return i->imm == HELPER_ringbuf_submit; /* the only one of ours without result */
	return before && i->op != IR_CMPXCHG && (!i->d || e->reg[i->d] != 0);
}

static bool lacks_r0_at_end(const struct emit *e, const struct ir_block *b)
{
	bool lacks = e->lacks_r0[b->id];

	vec_for(i, &b->insns)
		lacks = lacks_r0_after(e, i, lacks);
	return lacks;
}

static void find_r0(struct emit *e, struct ir_func *f)
{
	bool changed = true;

	e->lacks_r0 = arena_alloc(&f->mem->pass, f->blocks.cnt * sizeof(*e->lacks_r0));
	e->lacks_r0[0] = true;
	while (changed) {
		changed = false;
		vec_for(pb, &f->blocks) {
			const struct ir_insn *end = &(*pb)->insns.at[(*pb)->insns.cnt - 1];
			struct ir_block *next[] = { end->yes, end->no };

			for (u32 k = 0; k < ARRAY_CNT(next); k++) {
				if (!next[k] || e->lacks_r0[next[k]->id] || !lacks_r0_at_end(e, *pb))
					continue;
				e->lacks_r0[next[k]->id] = changed = true;
			}
		}
	}
}

static void put_insn(struct emit *e, const struct ir_insn *i, const struct ir_block *next, bool needs_result)
{
	u8 base = i->on_stack ? FP : i->a ? e->reg[i->a] : 0;

	e->span = i->span;
	if (i->op == IR_LOAD || i->op == IR_STORE || i->op == IR_ATOMIC_ADD || i->op == IR_FETCH_ADD || i->op == IR_CMPXCHG)
		BUG_ON(i->imm != (s16)i->imm);
	switch (i->op) {
	case IR_IMM:
		put_imm(e, reg_of(e, i->d), i->imm);
		break;
	case IR_MOV:
		put_mov(e, reg_of(e, i->d), reg_of(e, i->a));
		break;
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_DIV:
	case IR_MOD:
	case IR_AND:
	case IR_OR:
	case IR_XOR:
	case IR_SHL:
	case IR_SHR:
	case IR_SAR:
		put_alu(e, i);
		break;
	case IR_NEG:
		put_mov(e, reg_of(e, i->d), reg_of(e, i->a));
		put(e, BPF_ALU64 | BPF_NEG, reg_of(e, i->d), 0, 0, 0);
		break;
	case IR_PLAIN:
		/* A conversion to the machine's own byte order: it emits no machine code, but the verifier treats the result as
		 * an unknown scalar. */
		put_mov(e, reg_of(e, i->d), reg_of(e, i->a));
		put(e, BPF_ALU | BPF_END | BPF_TO_LE, reg_of(e, i->d), 0, 0, 64);
		break;
	case IR_ZEXT:
	case IR_SEXT:
	case IR_BSWAP:
		put_ext(e, i);
		break;
	case IR_LOAD:
		put(e, BPF_LDX | BPF_MEM | size_bits(i->size), reg_of(e, i->d), base, i->imm, 0);
		break;
	case IR_STORE:
		if (i->b.is_imm) {
			BUG_ON(i->b.imm != (s32)i->b.imm);
			put(e, BPF_ST | BPF_MEM | size_bits(i->size), base, 0, i->imm, i->b.imm);
		} else {
			put(e, BPF_STX | BPF_MEM | size_bits(i->size), base, reg_of(e, i->b.r), i->imm, 0);
		}
		break;
	case IR_ATOMIC_ADD:
		put(e, BPF_STX | BPF_ATOMIC | size_bits(i->size), base, reg_of(e, i->b.r), i->imm, BPF_ADD);
		break;
	case IR_FETCH_ADD:
		put_mov(e, reg_of(e, i->d), reg_of(e, i->b.r));
		put(e, BPF_STX | BPF_ATOMIC | size_bits(i->size), base, reg_of(e, i->d), i->imm, BPF_ADD | BPF_FETCH);
		break;
	case IR_CMPXCHG:
		put_mov(e, 0, reg_of(e, i->c));
		put(e, BPF_STX | BPF_ATOMIC | size_bits(i->size), base, reg_of(e, i->b.r), i->imm, BPF_CMPXCHG);
		put_mov(e, reg_of(e, i->d), 0);
		break;
	case IR_CTX:
		put_mov(e, reg_of(e, i->d), 1);
		break;
	case IR_MAP:
	case IR_MAPVAL:
		put(e, BPF_LD | BPF_IMM | BPF_DW, reg_of(e, i->d), i->op == IR_MAP ? BPF_PSEUDO_MAP_FD : BPF_PSEUDO_MAP_VALUE, 0,
		    i->index);
		put(e, 0, 0, 0, 0, i->op == IR_MAP ? 0 : (s32)i->imm);
		break;
	case IR_ARG:
		put_mov(e, reg_of(e, i->d), i->index + 1);
		break;
	case IR_FUNC:
		vec_push(&e->func_refs, (struct func_ref){ e->out.cnt, i->index });
		put(e, BPF_LD | BPF_IMM | BPF_DW, reg_of(e, i->d), BPF_PSEUDO_FUNC, 0, 0);
		put(e, 0, 0, 0, 0, 0);
		break;
	case IR_SLOT:
		put_mov(e, reg_of(e, i->d), FP);
		put(e, BPF_ALU64 | BPF_ADD | BPF_K, reg_of(e, i->d), 0, 0, i->imm);
		break;
	case IR_CALL:
		put_args(e, i);
		put(e, BPF_JMP | BPF_CALL, 0, 0, 0, i->imm);
		if (i->d && e->reg[i->d] != UNUSED_REG)
			put_mov(e, reg_of(e, i->d), 0);
		break;
	case IR_JMP:
		if (i->yes != next)
			put_jump(e, i->yes);
		break;
	case IR_BR:
		put_branch(e, i, next);
		break;
	case IR_RET:
		if (!needs_result)
			; /* what r0 holds */
		else if (i->b.is_imm)
			put_imm(e, 0, i->b.imm);
		else
			put_mov(e, 0, reg_of(e, i->b.r));
		put(e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		break;
	case IR_SCRATCH:
	case IR_SCRATCH_AT:
	case IR_UNSCRATCH:
	case IR_OP_CNT:
		BUG("%s survived frame_expand()", ir_op_text[i->op]);
	}
}

/* Appends one function. */
static bool put_func(struct emit *e, struct ir_func *f, const u8 *reg)
{
	bool fits = true;

	e->reg = reg;
	e->fixups.cnt = 0;
	e->block_at = arena_alloc(&f->mem->pass, (f->blocks.cnt + 1) * sizeof(*e->block_at));
	if (f->is_result_free)
		find_r0(e, f);
	for (u32 n = 0; n < f->blocks.cnt; n++) {
		const struct ir_block *b = f->blocks.at[n], *next = n + 1 < f->blocks.cnt ? f->blocks.at[n + 1] : NULL;
		bool needs_result = !f->is_result_free || lacks_r0_at_end(e, b);

		e->block_at[n] = e->out.cnt;
		vec_for(i, &b->insns)
			put_insn(e, i, next, needs_result);
	}
	vec_for(fix, &e->fixups) {
		s64 off = (s64)e->block_at[fix->block] - fix->insn - 1;

		if (fits && off != (s16)off) {
			fits = false;
			e->far = fix->span;
		}
		e->out.at[fix->insn].off = off;
	}
	arena_clear(&f->mem->pass);
	return fits;
}

static bool put_funcs(struct emit *e, struct arena *a, struct ir_func *f, u8 *const *regs, struct image_prog *prog)
{
	u32 *starts = arena_alloc(&f->mem->funcs, (f->subs.cnt + 1) * sizeof(*starts));

	avec_push(a, &prog->func_starts, 0);
	if (!put_func(e, f, regs[0]))
		return false;
	for (u32 i = 0; i < f->subs.cnt; i++) {
		if (!f->subs.at[i]->is_used)
			continue;
		starts[i] = e->out.cnt;
		avec_push(a, &prog->func_starts, e->out.cnt);
		if (!put_func(e, f->subs.at[i], regs[i + 1]))
			return false;
	}
	vec_for(ref, &e->func_refs)
		e->out.at[ref->insn].imm = starts[ref->sub] - ref->insn - 1;
	return true;
}

bool emit(struct arena *a, struct ir_func *f, u8 *const *regs, struct image_prog *prog, struct span *far)
{
	struct emit e = {};
	bool fits = put_funcs(&e, a, f, regs, prog);

	prog->insns = arena_memdup(a, e.out.at, e.out.cnt * sizeof(*e.out.at));
	prog->insn_cnt = e.out.cnt;
	prog->lines = arena_memdup(a, e.lines.at, e.lines.cnt * sizeof(*e.lines.at));
	prog->line_cnt = e.lines.cnt;
	*far = e.far;
	vec_free(&e.out);
	vec_free(&e.lines);
	vec_free(&e.fixups);
	vec_free(&e.func_refs);
	return fits;
}
