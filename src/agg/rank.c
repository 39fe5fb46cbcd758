/* SPDX-License-Identifier: GPL-2.0-only */
#include "agg/rank.h"

vreg agg_rank_of(struct lower *l, vreg v, bool is_min, bool is_signed)
{
	if (is_signed)
		v = ir_alu(&l->b, IR_XOR, v, opnd_reg(ir_imm(&l->b, INT64_MIN)));
	return is_min ? ir_alu(&l->b, IR_XOR, v, opnd_imm(-1)) : v;
}

vreg agg_value_of(struct lower *l, vreg rank, bool is_min, bool is_signed)
{
	vreg v = is_min ? ir_alu(&l->b, IR_XOR, rank, opnd_imm(-1)) : rank;

	return is_signed ? ir_alu(&l->b, IR_XOR, v, opnd_reg(ir_imm(&l->b, INT64_MIN))) : v;
}

void agg_raise(struct lower *l, vreg base, s64 off, vreg rank)
{
	enum { TRIES = 4 }; /* interrupts are not nested deeper */
	struct ir_block *loop = ir_block_new(l->b.f), *try = ir_block_new(l->b.f), *again = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	vreg tries = ir_vreg(l->b.f), cur, seen;

	ir_mov_to(&l->b, tries, opnd_imm(TRIES));
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	cur = ir_load(&l->b, base, off, 8);
	ir_br(&l->b, C_UGE, cur, opnd_reg(rank), done, try);
	ir_place(&l->b, try);
	seen = ir_cmpxchg(&l->b, base, off, cur, rank);
	ir_br(&l->b, C_EQ, seen, opnd_reg(cur), done, again);
	ir_place(&l->b, again);
	ir_alu_to(&l->b, IR_ADD, tries, tries, opnd_imm(-1));
	ir_br(&l->b, C_NE, tries, opnd_imm(0), loop, done);
	ir_place(&l->b, done);
}

void agg_raise_or_set(struct lower *l, vreg base, s64 off, vreg rank)
{
	struct ir_block *some = ir_block_new(l->b.f), *none = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);

	none->is_seldom = true;
	ir_br(&l->b, C_NE, rank, opnd_imm(0), some, none);
	ir_place(&l->b, none);
	ir_store(&l->b, base, off + 8, 8, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, some);
	agg_raise(l, base, off, rank);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}
