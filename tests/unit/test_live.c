/* SPDX-License-Identifier: GPL-2.0-only */
/* Which registers live on behind a block, held against the plain way to find out: sets of all registers, until nothing changes.
 */
#include <string.h>

#include "check.h"
#include "ir/ir.h"

enum { BLOCKS_MAX = 24, VREGS = 40 };

static u64 seed = 1;

static u32 rnd(u32 below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

static vreg any_reg(void)
{
	return 1 + rnd(VREGS);
}

static void put_any(struct ir_build *b)
{
	struct opnd args[] = { opnd_reg(any_reg()), opnd_imm(1), opnd_reg(any_reg()) };

	switch (rnd(5)) {
	case 0:
		ir_mov_to(b, any_reg(), opnd_imm(1));
		break;
	case 1:
		ir_mov_to(b, any_reg(), opnd_reg(any_reg()));
		break;
	case 2:
		ir_alu_to(b, IR_ADD, any_reg(), any_reg(), opnd_reg(any_reg()));
		break;
	case 3:
		ir_store(b, any_reg(), 0, 8, opnd_reg(any_reg()));
		break;
	case 4:
		ir_mov_to(b, any_reg(), opnd_reg(ir_call(b, 1, args, rnd(4))));
		break;
	}
}

static struct ir_func *any_func(struct ir_mem *mem)
{
	struct ir_func *f = ir_func_new(mem, "any");
	struct ir_build b = { .f = f };
	struct ir_block *blocks[BLOCKS_MAX];
	u32 cnt = 1 + rnd(BLOCKS_MAX);

	for (u32 v = 0; v < VREGS; v++)
		ir_vreg(f);
	for (u32 n = 0; n < cnt; n++)
		blocks[n] = ir_block_new(f);
	for (u32 n = 0; n < cnt; n++) {
		ir_place(&b, blocks[n]);
		for (u32 k = rnd(6); k > 0; k--)
			put_any(&b);
		switch (rnd(4)) {
		case 0:
			ir_ret(&b, opnd_reg(any_reg()));
			break;
		case 1:
			ir_jmp(&b, blocks[rnd(cnt)]);
			break;
		default:
			ir_br(&b, C_EQ, any_reg(), opnd_imm(0), blocks[rnd(cnt)], blocks[n + 1 < cnt ? n + 1 : 0]);
			break;
		}
	}
	return f;
}

typedef bool reg_set[VREGS + 1 + 6 * BLOCKS_MAX]; /* a call has a register of its own */

/* What is needed at the start of a block, given what is at its end. Whether that is news. */
static bool find_needs(const struct ir_block *b, const reg_set out, reg_set in)
{
	static reg_set before;

	memcpy(before, in, sizeof(reg_set));
	memcpy(in, out, sizeof(reg_set));
	for (u32 k = b->insns.cnt; k-- > 0;) {
		vreg uses[8];
		u32 n = ir_uses(&b->insns.at[k], uses);

		in[b->insns.at[k].d] = false;
		for (u32 u = 0; u < n; u++)
			in[uses[u]] = true;
	}
	return memcmp(before, in, sizeof(reg_set));
}

static void check_func(struct ir_func *f, u32 number)
{
	static reg_set in[BLOCKS_MAX], out[BLOCKS_MAX];
	bool changed = true;

	memset(in, 0, sizeof(in));
	memset(out, 0, sizeof(out));
	while (changed) {
		changed = false;
		for (u32 n = 0; n < f->blocks.cnt; n++) {
			const struct ir_block *b = f->blocks.at[n];
			const struct ir_insn *end = &b->insns.at[b->insns.cnt - 1];

			for (u32 v = 1; v <= f->vreg_cnt; v++) {
				out[n][v] |= end->yes && in[end->yes->id][v];
				out[n][v] |= end->no && in[end->no->id][v];
			}
			changed |= find_needs(b, out[n], in[n]);
		}
	}
	ir_liveness(f);
	vec_for(pb, &f->blocks) {
		const struct ir_block *b = *pb;
		u32 at = 0;
		bool same = true;

		for (u32 v = 1; v <= f->vreg_cnt; v++)
			if (out[b->id][v])
				same &= at < b->live_out_cnt && b->live_out[at++] == v;
		CHECK(same && at == b->live_out_cnt, "function %u, block %u", number, b->id);
	}
	arena_clear(&f->mem->pass);
}

int main(void)
{
	struct ir_mem mem = {};

	for (u32 i = 0; i < 300; i++)
		check_func(any_func(&mem), i);
	ir_mem_release(&mem);
	return check_end();
}
