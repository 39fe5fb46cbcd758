/* SPDX-License-Identifier: GPL-2.0-only */
/* The text form of intermediate code, and the check that it is well-formed. */
#include "ir/ir.h"

const char *const ir_op_text[IR_OP_CNT] = {
#define IR_OP(name, text, shape) [name] = text,
#include "ir/op.def"
#undef IR_OP
};

const char *const ir_cond_text[] = { "eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "set" };

enum shape {
	SHAPE_IMM,
	SHAPE_UN,
	SHAPE_ALU,
	SHAPE_EXT,
	SHAPE_LOAD,
	SHAPE_STORE,
	SHAPE_CMPXCHG,
	SHAPE_FETCH,
	SHAPE_DEF,
	SHAPE_INDEX,
	SHAPE_MAP,
	SHAPE_SLOT,
	SHAPE_CALL,
	SHAPE_JMP,
	SHAPE_BR,
	SHAPE_RET,
	SHAPE_RELEASE
};

static const enum shape shapes[IR_OP_CNT] = {
#define IR_OP(name, text, shape) [name] = SHAPE_##shape,
#include "ir/op.def"
#undef IR_OP
};

static void print_opnd(struct opnd o, struct sbuf *out)
{
	if (o.is_imm)
		sbuf_printf(out, "%lld", (long long)o.imm);
	else
		sbuf_printf(out, "%%%u", o.r);
}

static void print_insn(const struct ir_insn *i, struct sbuf *out)
{
	const char *op = ir_op_text[i->op];

	sbuf_puts(out, "    ");
	switch (shapes[i->op]) {
	case SHAPE_IMM:
		sbuf_printf(out, "%%%u = %s %lld", i->d, op, (long long)i->imm);
		break;
	case SHAPE_UN:
		sbuf_printf(out, "%%%u = %s %%%u", i->d, op, i->a);
		break;
	case SHAPE_ALU:
		sbuf_printf(out, "%%%u = %s %%%u, ", i->d, op, i->a);
		print_opnd(i->b, out);
		break;
	case SHAPE_EXT:
		sbuf_printf(out, "%%%u = %s%u %%%u", i->d, op, 8 * i->size, i->a);
		break;
	case SHAPE_LOAD:
		sbuf_printf(out, "%%%u = %s%u [%%%u%+lld]", i->d, op, 8 * i->size, i->a, (long long)i->imm);
		break;
	case SHAPE_STORE:
		sbuf_printf(out, "%s%u [%%%u%+lld], ", op, 8 * i->size, i->a, (long long)i->imm);
		print_opnd(i->b, out);
		break;
	case SHAPE_FETCH:
		sbuf_printf(out, "%%%u = %s%u [%%%u%+lld], ", i->d, op, 8 * i->size, i->a, (long long)i->imm);
		print_opnd(i->b, out);
		break;
	case SHAPE_CMPXCHG:
		sbuf_printf(out, "%%%u = %s%u [%%%u%+lld], %%%u, ", i->d, op, 8 * i->size, i->a, (long long)i->imm, i->c);
		print_opnd(i->b, out);
		break;
	case SHAPE_DEF:
		sbuf_printf(out, "%%%u = %s", i->d, op);
		break;
	case SHAPE_INDEX:
		sbuf_printf(out, "%%%u = %s %u", i->d, op, i->index);
		break;
	case SHAPE_MAP:
		sbuf_printf(out, "%%%u = %s #%u%+lld", i->d, op, i->index, (long long)i->imm);
		break;
	case SHAPE_SLOT:
		sbuf_printf(out, "%%%u = %s s%u%+lld", i->d, op, i->index, (long long)i->imm);
		break;
	case SHAPE_CALL:
		sbuf_printf(out, "%%%u = %s %lld(", i->d, op, (long long)i->imm);
		for (u32 k = 0; k < i->arg_cnt; k++) {
			if (k)
				sbuf_puts(out, ", ");
			print_opnd(i->args[k], out);
		}
		sbuf_putc(out, ')');
		break;
	case SHAPE_JMP:
		sbuf_printf(out, "%s b%u", op, i->yes->id);
		break;
	case SHAPE_BR:
		sbuf_printf(out, "%s %s %%%u, ", op, ir_cond_text[i->cond], i->a);
		print_opnd(i->b, out);
		sbuf_printf(out, " ? b%u : b%u", i->yes->id, i->no->id);
		break;
	case SHAPE_RELEASE:
		sbuf_printf(out, "%s %%%u", op, i->a);
		break;
	case SHAPE_RET:
		sbuf_printf(out, "%s ", op);
		print_opnd(i->b, out);
		break;
	}
	sbuf_putc(out, '\n');
}

void ir_print(const struct ir_func *f, struct sbuf *out)
{
	if (f == f->main)
		sbuf_printf(out, "func %s\n", f->name);
	for (u32 i = 0; i < f->slots.cnt; i++)
		sbuf_printf(out, "  slot s%u size %u align %u\n", i, f->slots.at[i].size, f->slots.at[i].align);
	vec_for(blk, &f->blocks) {
		sbuf_printf(out, "  b%u:\n", (*blk)->id);
		vec_for(i, &(*blk)->insns)
			print_insn(i, out);
	}
	for (u32 i = 0; i < f->subs.cnt; i++) {
		sbuf_printf(out, "func %s_%u\n", f->name, i);
		ir_print(f->subs.at[i], out);
	}
}

static bool is_placed(const struct ir_func *f, const struct ir_block *b)
{
	return b && b->id < f->blocks.cnt && f->blocks.at[b->id] == b;
}

const char *ir_verify(const struct ir_func *f)
{
	bool *has_def = arena_alloc(&f->mem->pass, f->vreg_cnt + 1);

	vec_for(blk, &f->blocks)
		vec_for(i, &(*blk)->insns)
			has_def[i->d] = true;
	if (!f->blocks.cnt)
		return "no block";
	vec_for(pb, &f->blocks) {
		const struct ir_block *b = *pb;

		if (!b->insns.cnt || !ir_is_end(b->insns.at[b->insns.cnt - 1].op))
			return arena_printf(&f->mem->funcs, "b%u does not end in a jump", b->id);
		for (u32 k = 0; k < b->insns.cnt; k++) {
			const struct ir_insn *i = &b->insns.at[k];
			vreg uses[8];
			u32 n = ir_uses(i, uses);

			if (ir_is_end(i->op) && k + 1 < b->insns.cnt)
				return arena_printf(&f->mem->funcs, "b%u goes on after a jump", b->id);
			for (u32 u = 0; u < n; u++)
				if (!uses[u] || uses[u] > f->vreg_cnt || !has_def[uses[u]])
					return arena_printf(&f->mem->funcs, "b%u: %s reads %%%u, which nothing defines", b->id,
							    ir_op_text[i->op], uses[u]);
			if (i->op == IR_JMP && !is_placed(f, i->yes))
				return arena_printf(&f->mem->funcs, "b%u jumps to a block that is not placed", b->id);
			if (i->op == IR_BR && (!is_placed(f, i->yes) || !is_placed(f, i->no)))
				return arena_printf(&f->mem->funcs, "b%u branches to a block that is not placed", b->id);
			if (i->op == IR_SLOT && i->index >= f->main->slots.cnt)
				return arena_printf(&f->mem->funcs, "b%u: no slot s%u", b->id, i->index);
			if (i->op == IR_FUNC && i->index >= f->main->subs.cnt)
				return arena_printf(&f->mem->funcs, "b%u: no subprogram %u", b->id, i->index);
		}
	}
	arena_clear(&f->mem->pass);
	return NULL;
}
