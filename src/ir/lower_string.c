/* Comparing strings and byte arrays.
 *
 * Against a literal, word by word with the literal's bytes as constants: eight bytes cost one load and one branch. Two unknown strings are
 * compared byte by byte in a loop, which the verifier walks at most max_len times.
 */
#include "ir/lower.h"

#include "bpf/image.h"
#include "kern/uapi.h"

/* Brings the first `need` bytes of e into memory of ours. */
static struct mem bring(struct lower *l, struct expr *e, u32 need)
{
	struct val v = lower_expr(l, e, NULL);
	struct mem m;

	BUG_ON(v.kind != VAL_MEM);
	if (v.mem.as == AS_NONE)
		return v.mem;
	m = lower_temp(l, ALIGN_UP(need, 8), 8);
	lower_read(l, v.mem, need, m);
	return m;
}

static void differ(struct lower *l, vreg a, s64 constant, struct ir_block *no)
{
	struct ir_block *next = ir_block_new(l->b.f);
	struct opnd b = constant == (s32)constant ? opnd_imm(constant) : opnd_reg(ir_imm(&l->b, constant));

	ir_br(&l->b, C_NE, a, b, no, next);
	ir_place(&l->b, next);
}

static void branch_literal(struct lower *l, struct expr *e, const struct expr *lit, u32 max_len, struct ir_block *yes, struct ir_block *no)
{
	u32 cap = e->type->size, n = MIN(MIN(max_len, cap), lit->str.len + 1);
	struct mem m = bring(l, e, n);
	u32 room = ALIGN_UP(cap, 8) == cap ? cap : n; /* bytes that may be loaded, if not compared */
	u8 text[8];

	for (u32 at = 0; at < n;) {
		u32 left = n - at, w = 8;
		u64 v = 0;

		while (w > left || (m.off + at) % w)
			w /= 2;
		/* three bytes are four, masked */
		if (left == 3 && (m.off + at) % 4 == 0 && at + 4 <= room) {
			memset(text, 0, sizeof(text));
			memcpy(text, lit->str.s + at, MIN(left, lit->str.len - at));
			memcpy(&v, text, 4);
			differ(l, ir_alu(&l->b, IR_AND, ir_load(&l->b, m.base, m.off + at, 4), opnd_imm(0xffffff)), v, no);
			break;
		}
		memset(text, 0, sizeof(text));
		if (at < lit->str.len)
			memcpy(text, lit->str.s + at, MIN(w, lit->str.len - at));
		memcpy(&v, text, 8);
		differ(l, ir_load(&l->b, m.base, m.off + at, w), v, no);
		at += w;
	}
	ir_jmp(&l->b, yes);
}

void lower_string_branch(struct lower *l, struct expr *a, struct expr *b, u32 max_len, bool stop_at_nul, struct ir_block *yes,
			 struct ir_block *no)
{
	struct ir_block *loop, *same, *next;
	struct mem x, y;
	vreg i, ca, cb, pa, pb;

	if (stop_at_nul && b->kind == E_STR && a->kind != E_STR) {
		branch_literal(l, a, b, MIN(max_len, MAX(a->type->size, b->type->size)), yes, no);
		return;
	}
	if (stop_at_nul && a->kind == E_STR && b->kind != E_STR) {
		branch_literal(l, b, a, MIN(max_len, MAX(a->type->size, b->type->size)), yes, no);
		return;
	}
	max_len = MIN(max_len, MIN(a->type->size, b->type->size));
	x = bring(l, a, max_len);
	y = bring(l, b, max_len);
	loop = ir_block_new(l->b.f);
	same = ir_block_new(l->b.f);
	next = ir_block_new(l->b.f);
	pa = lower_addr(l, x);
	pb = lower_addr(l, y);
	i = ir_vreg(l->b.f);
	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	ca = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pa, opnd_reg(i)), 0, 1);
	cb = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pb, opnd_reg(i)), 0, 1);
	ir_br(&l->b, C_NE, ca, opnd_reg(cb), no, same);
	ir_place(&l->b, same);
	if (stop_at_nul) {
		ir_br(&l->b, C_EQ, ca, opnd_imm(0), yes, next);
		ir_place(&l->b, next);
	}
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(1));
	ir_br(&l->b, C_ULT, i, opnd_imm(max_len), loop, yes);
}
