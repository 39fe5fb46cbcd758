/* SPDX-License-Identifier: GPL-2.0-only */
#include "ir/ir.h"

void ir_mem_release(struct ir_mem *m)
{
	arena_release(&m->funcs);
	arena_release(&m->code);
	arena_release(&m->pass);
}

struct ir_func *ir_func_new(struct ir_mem *m, const char *name)
{
	struct ir_func *f = arena_new(&m->funcs, struct ir_func);

	f->mem = m;
	f->name = name;
	f->main = f;
	return f;
}

struct ir_func *ir_sub_new(struct ir_func *main)
{
	struct ir_func *f = ir_func_new(main->mem, main->name);

	f->main = main;
	avec_push(&main->mem->funcs, &main->subs, f);
	return f;
}

struct ir_block *ir_block_new(struct ir_func *f)
{
	return arena_new(&f->mem->funcs, struct ir_block);
}

void ir_place(struct ir_build *b, struct ir_block *blk)
{
	if (b->cur)
		avec_trim(&b->f->mem->code, &b->cur->insns);
	blk->id = b->f->blocks.cnt;
	avec_push(&b->f->mem->funcs, &b->f->blocks, blk);
	b->cur = blk;
}

vreg ir_vreg(struct ir_func *f)
{
	return ++f->vreg_cnt;
}

u32 ir_slot_new_at(struct ir_func *f, u32 size, u32 align, enum slot_place place)
{
	struct ir_func *m = f->main;

	avec_push(&m->mem->funcs, &m->slots,
		  (struct ir_slot){
			  .size = size, .align = align, .place = place, .owner = f, .open = m->clock++, .close = UINT32_MAX });
	return m->slots.cnt - 1;
}

u32 ir_slot_new_since(struct ir_func *f, u32 size, u32 align, u32 open)
{
	u32 slot = ir_slot_new_at(f, size, align, SLOT_IN_SCRATCH);

	f->main->slots.at[slot].open = open;
	return slot;
}

u32 ir_slot_new(struct ir_func *f, u32 size, u32 align)
{
	return ir_slot_new_at(f, size, align, SLOT_ANYWHERE);
}

bool ir_is_closed(const struct ir_build *b)
{
	return b->cur->insns.cnt && ir_is_end(b->cur->insns.at[b->cur->insns.cnt - 1].op);
}

static void append(struct ir_build *b, struct ir_insn i)
{
	/* Code after a jump, as in `return; print(1);`: it goes into a block that nothing reaches. */
	if (ir_is_closed(b))
		ir_place(b, ir_block_new(b->f));
	i.span = b->span;
	avec_push(&b->f->mem->code, &b->cur->insns, i);
}

vreg ir_imm(struct ir_build *b, s64 imm)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_IMM, .d = d, .imm = imm });
	return d;
}

void ir_mov_to(struct ir_build *b, vreg d, struct opnd a)
{
	if (a.is_imm)
		append(b, (struct ir_insn){ .op = IR_IMM, .d = d, .imm = a.imm });
	else
		append(b, (struct ir_insn){ .op = IR_MOV, .d = d, .a = a.r });
}

void ir_alu_to(struct ir_build *b, enum ir_op op, vreg d, vreg a, struct opnd rhs)
{
	append(b, (struct ir_insn){ .op = op, .d = d, .a = a, .b = rhs });
}

vreg ir_alu(struct ir_build *b, enum ir_op op, vreg a, struct opnd rhs)
{
	vreg d = ir_vreg(b->f);

	ir_alu_to(b, op, d, a, rhs);
	return d;
}

vreg ir_ext(struct ir_build *b, enum ir_op op, vreg a, u32 size)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = op, .d = d, .a = a, .size = size });
	return d;
}

vreg ir_neg(struct ir_build *b, vreg a)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_NEG, .d = d, .a = a });
	return d;
}

vreg ir_plain(struct ir_build *b, vreg a)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_PLAIN, .d = d, .a = a });
	return d;
}

vreg ir_load(struct ir_build *b, vreg base, s64 off, u32 size)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_LOAD, .d = d, .a = base, .imm = off, .size = size });
	return d;
}

void ir_store(struct ir_build *b, vreg base, s64 off, u32 size, struct opnd v)
{
	append(b, (struct ir_insn){ .op = IR_STORE, .a = base, .imm = off, .size = size, .b = v });
}

void ir_atomic_add(struct ir_build *b, vreg base, s64 off, u32 size, struct opnd v)
{
	if (v.is_imm)
		v = opnd_reg(ir_imm(b, v.imm)); /* the instruction takes registers only */
	append(b, (struct ir_insn){ .op = IR_ATOMIC_ADD, .a = base, .imm = off, .size = size, .b = v });
}

vreg ir_fetch_add(struct ir_build *b, vreg base, s64 off, struct opnd v)
{
	vreg d = ir_vreg(b->f);

	if (v.is_imm)
		v = opnd_reg(ir_imm(b, v.imm));
	append(b, (struct ir_insn){ .op = IR_FETCH_ADD, .d = d, .a = base, .imm = off, .size = 8, .b = v });
	return d;
}

vreg ir_cmpxchg(struct ir_build *b, vreg base, s64 off, vreg expected, vreg desired)
{
	vreg d = ir_vreg(b->f);

	append(b,
	       (struct ir_insn){
		       .op = IR_CMPXCHG, .d = d, .a = base, .imm = off, .size = 8, .b = opnd_reg(desired), .c = expected });
	return d;
}

vreg ir_ctx(struct ir_build *b)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_CTX, .d = d });
	return d;
}

vreg ir_map(struct ir_build *b, u32 map)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_MAP, .d = d, .index = map });
	return d;
}

vreg ir_mapval(struct ir_build *b, u32 map, s64 off)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_MAPVAL, .d = d, .index = map, .imm = off });
	return d;
}

vreg ir_slot_addr(struct ir_build *b, u32 slot, s64 off)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_SLOT, .d = d, .index = slot, .imm = off });
	return d;
}

vreg ir_arg(struct ir_build *b, u32 index)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_ARG, .d = d, .index = index });
	return d;
}

vreg ir_func_addr(struct ir_build *b, const struct ir_func *sub)
{
	vreg d = ir_vreg(b->f);
	u32 index = 0;

	while (sub->main->subs.at[index] != sub)
		index++;
	append(b, (struct ir_insn){ .op = IR_FUNC, .d = d, .index = index });
	return d;
}

vreg ir_call(struct ir_build *b, u32 helper, const struct opnd *args, u32 cnt)
{
	struct ir_insn i = { .op = IR_CALL, .d = ir_vreg(b->f), .imm = helper, .arg_cnt = cnt };

	BUG_ON(cnt > IR_ARGS_MAX);
	if (cnt)
		i.args = arena_memdup(&b->f->mem->funcs, args, cnt * sizeof(*args));
	append(b, i);
	return i.d;
}

vreg ir_append_scratch(struct ir_build *b, struct ir_block *none_left)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_SCRATCH, .d = d, .no = none_left });
	b->f->scratch_block = b->cur;
	return d;
}

vreg ir_append_scratch_at(struct ir_build *b, vreg at)
{
	vreg d = ir_vreg(b->f);

	append(b, (struct ir_insn){ .op = IR_SCRATCH_AT, .d = d, .a = at });
	return d;
}

void ir_append_unscratch(struct ir_build *b, vreg scratch)
{
	append(b, (struct ir_insn){ .op = IR_UNSCRATCH, .a = scratch });
}

void ir_jmp(struct ir_build *b, struct ir_block *to)
{
	append(b, (struct ir_insn){ .op = IR_JMP, .yes = to });
}

void ir_br(struct ir_build *b, enum ir_cond cond, vreg a, struct opnd rhs, struct ir_block *yes, struct ir_block *no)
{
	append(b, (struct ir_insn){ .op = IR_BR, .cond = cond, .a = a, .b = rhs, .yes = yes, .no = no });
}

void ir_ret(struct ir_build *b, struct opnd v)
{
	append(b, (struct ir_insn){ .op = IR_RET, .b = v });
}

void ir_set_code(struct ir_func *f, struct ir_block *b, const struct ir_insn *code, u32 cnt)
{
	if (cnt > b->insns.cap) {
		b->insns.at = arena_alloc(&f->mem->code, cnt * sizeof(*code));
		b->insns.cap = cnt;
	}
	memcpy(b->insns.at, code, cnt * sizeof(*code));
	b->insns.cnt = cnt;
}

enum ir_cond ir_cond_negate(enum ir_cond c)
{
	switch (c) {
	case C_EQ:
		return C_NE;
	case C_NE:
		return C_EQ;
	case C_ULT:
		return C_UGE;
	case C_ULE:
		return C_UGT;
	case C_UGT:
		return C_ULE;
	case C_UGE:
		return C_ULT;
	case C_SLT:
		return C_SGE;
	case C_SLE:
		return C_SGT;
	case C_SGT:
		return C_SLE;
	case C_SGE:
		return C_SLT;
	case C_SET:
		break;
	}
	BUG("C_SET has no negation");
}
