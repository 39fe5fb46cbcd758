/* SPDX-License-Identifier: GPL-2.0-only */
/* The checks that need no run: is every instruction one that the kernel knows, with its unused fields zero, does control stay
 * inside of functions, and is everything reached. */
#include "vm/internal.h"

#include <stdio.h>

#include "image/disasm.h"

struct check {
	struct vm_prog *p;
	struct vm_fault *fault;
	u8 *flags; /* of each instruction */
	vec(u32) todo;
};

enum { IS_FUNC = 1, IS_TAIL = 2 /* second half of LD_IMM64 */, IS_REACHED = 4 };

void vm_fault_set(struct vm_fault *f, const struct vm_prog *p, u32 pc, const char *fmt, va_list ap)
{
	struct sbuf insn = {};
	u32 n = 0;

	f->has_insn = pc < p->cnt;
	f->insn = pc;
	if (f->has_insn) {
		insn_print(&p->insns[pc], p->cnt - pc, &insn);
		n = snprintf(f->text, sizeof(f->text), "instruction %u (%s): ", pc, sbuf_str(&insn));
		sbuf_release(&insn);
	}
	vsnprintf(f->text + n, sizeof(f->text) - n, fmt, ap);
}

static bool PRINTF_LIKE(3, 4) bad(struct check *c, u32 pc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vm_fault_set(c->fault, c->p, pc, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- single instructions ---- */

static bool check_alu(struct check *c, u32 pc, const struct insn *i)
{
	bool is_64 = BPF_CLASS(i->code) == BPF_ALU64, is_x = BPF_SRC(i->code) == BPF_X;
	u8 op = BPF_OP(i->code);

	if (op > BPF_END)
		return bad(c, pc, "unknown operation");
	if (op == BPF_END) {
		if (i->off || i->src || (is_64 && is_x))
			return bad(c, pc, "unused fields are not zero");
		if (i->imm != 16 && i->imm != 32 && i->imm != 64)
			return bad(c, pc, "cannot swap %d bits", i->imm);
		return true;
	}
	if (op == BPF_NEG) {
		if (is_x || i->off || i->src || i->imm)
			return bad(c, pc, "unused fields are not zero");
		return true;
	}
	if (is_x ? i->imm : i->src)
		return bad(c, pc, "unused fields are not zero");
	if (i->off) {
		bool is_sdiv = (op == BPF_DIV || op == BPF_MOD) && i->off == 1;
		bool is_movsx = op == BPF_MOV && is_x && (i->off == 8 || i->off == 16 || (is_64 && i->off == 32));

		if (!is_sdiv && !is_movsx)
			return bad(c, pc, "the offset %d has no meaning here", i->off);
	}
	if (!is_x && !i->imm && (op == BPF_DIV || op == BPF_MOD))
		return bad(c, pc, "division by the constant zero");
	if (!is_x && (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && (u32)i->imm >= (is_64 ? 64u : 32u))
		return bad(c, pc, "shift by %d", i->imm);
	return true;
}

static bool check_mem(struct check *c, u32 pc, const struct insn *i)
{
	u8 cls = BPF_CLASS(i->code), mode = BPF_MODE(i->code), size = BPF_SIZE(i->code);

	if (cls == BPF_STX && mode == BPF_ATOMIC) {
		if (size != BPF_W && size != BPF_DW)
			return bad(c, pc, "atomic operation on less than 4 bytes");
		switch (i->imm) {
		case BPF_ADD:
		case BPF_ADD | BPF_FETCH:
		case BPF_OR:
		case BPF_OR | BPF_FETCH:
		case BPF_AND:
		case BPF_AND | BPF_FETCH:
		case BPF_XOR:
		case BPF_XOR | BPF_FETCH:
		case BPF_XCHG:
		case BPF_CMPXCHG:
			return true;
		}
		return bad(c, pc, "unknown atomic operation 0x%x", i->imm);
	}
	if (mode != BPF_MEM && !(cls == BPF_LDX && mode == BPF_MEMSX && size != BPF_DW))
		return bad(c, pc, "unknown kind of access");
	if (cls == BPF_ST ? i->src : i->imm)
		return bad(c, pc, "unused fields are not zero");
	return true;
}

static bool check_target(struct check *c, u32 pc, s64 to)
{
	if (to < 0 || to >= c->p->cnt)
		return bad(c, pc, "goes to %lld, out of the program", (long long)to);
	if (c->flags[to] & IS_TAIL)
		return bad(c, pc, "goes into the middle of an instruction at %lld", (long long)to);
	return true;
}

static s64 jump_target(u32 pc, const struct insn *i)
{
	return (s64)pc + 1 + (i->code == (BPF_JMP32 | BPF_JA) ? i->imm : i->off);
}

static bool check_jmp(struct check *c, u32 pc, const struct insn *i)
{
	bool is_32 = BPF_CLASS(i->code) == BPF_JMP32, is_x = BPF_SRC(i->code) == BPF_X;
	u8 op = BPF_OP(i->code);

	if (op > BPF_JSLE || (is_32 && (op == BPF_CALL || op == BPF_EXIT)))
		return bad(c, pc, "unknown operation");
	if (op == BPF_CALL) {
		if (is_x || i->dst || i->off)
			return bad(c, pc, "unused fields are not zero");
		if (i->src == BPF_PSEUDO_CALL)
			return check_target(c, pc, (s64)pc + 1 + i->imm);
		if (i->src)
			return bad(c, pc, "calls of kernel functions are not supported");
		if (vm_helper_args(i->imm) < 0)
			return bad(c, pc, "the interpreter has no helper %s (%d)", helper_name(i->imm), i->imm);
		return true;
	}
	if (op == BPF_EXIT) {
		if (is_x || i->dst || i->src || i->off || i->imm)
			return bad(c, pc, "unused fields are not zero");
		return true;
	}
	if (op == BPF_JA ? is_x || i->dst || i->src || (is_32 ? i->off : i->imm) : is_x ? i->imm : i->src)
		return bad(c, pc, "unused fields are not zero");
	return check_target(c, pc, jump_target(pc, i));
}

static bool check_ld_imm64(struct check *c, u32 pc, const struct insn *i)
{
	const struct vm_map *m;

	if (!insn_is_wide(i))
		return bad(c, pc, "unknown operation");
	if (!(c->flags[pc + 1] & IS_TAIL) || i[1].code || i[1].dst || i[1].src || i[1].off || i->off)
		return bad(c, pc, "the second half of the constant is malformed");
	switch (i->src) {
	case 0:
		return true;
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
		m = vm_map(c->p->vm, i->imm);
		if (!m)
			return bad(c, pc, "there is no map %d", i->imm);
		if (i->src == BPF_PSEUDO_MAP_FD)
			return i[1].imm ? bad(c, pc, "a map has no offset") : true;
		if (m->def.type != BPF_MAP_TYPE_ARRAY || m->def.max_entries != 1)
			return bad(c, pc, "only the value of an array of one element has an address");
		if ((u32)i[1].imm >= m->def.value_sz)
			return bad(c, pc, "offset %d is outside of map %s", i[1].imm, m->def.name);
		return true;
	case BPF_PSEUDO_FUNC:
		if (i[1].imm)
			return bad(c, pc, "a function has no offset");
		return check_target(c, pc, (s64)pc + 1 + i->imm);
	}
	return bad(c, pc, "unknown kind of constant %u", i->src);
}

static bool check_insn(struct check *c, u32 pc)
{
	const struct insn *i = &c->p->insns[pc];
	u8 cls = BPF_CLASS(i->code);
	bool writes_dst = cls == BPF_LD || cls == BPF_LDX || cls == BPF_ALU || cls == BPF_ALU64;
	bool writes_src = cls == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC && (i->imm & BPF_FETCH) && i->imm != BPF_CMPXCHG;

	if (i->dst > 10 || (i->src > 10 && cls != BPF_LD))
		return bad(c, pc, "there is no such register");
	if ((writes_dst && i->dst == 10) || (writes_src && i->src == 10))
		return bad(c, pc, "r10 cannot be written");
	switch (cls) {
	case BPF_LD:
		return check_ld_imm64(c, pc, i);
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return check_mem(c, pc, i);
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(c, pc, i);
	case BPF_JMP:
	case BPF_JMP32:
		return check_jmp(c, pc, i);
	}
	BUG("class %u", cls);
}

static u16 insn_uses(const struct insn *i)
{
	u16 dst = 1 << i->dst, src = 1 << i->src, args;
	u16 rhs = BPF_SRC(i->code) == BPF_X ? src : 0;
	u8 op = BPF_OP(i->code);

	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		return 0;
	case BPF_LDX:
		return src;
	case BPF_ST:
		return dst;
	case BPF_STX:
		return dst | src | (BPF_MODE(i->code) == BPF_ATOMIC && i->imm == BPF_CMPXCHG ? 1 : 0);
	case BPF_ALU:
	case BPF_ALU64:
		if (op == BPF_MOV)
			return rhs;
		return op == BPF_END || op == BPF_NEG ? dst : dst | rhs;
	case BPF_JMP:
	case BPF_JMP32:
		if (op == BPF_EXIT)
			return 1;
		if (op == BPF_JA)
			return 0;
		if (op != BPF_CALL)
			return dst | rhs;
		if (i->src)
			return 0; /* arguments that a subprogram does not read need not be set */
		args = vm_helper_args(i->imm);
		return ((1 << args) - 1) << 1;
	}
	return 0;
}

/* ---- functions and control flow ---- */

static bool is_call(const struct insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src == BPF_PSEUDO_CALL;
}

static bool is_func_addr(const struct insn *i)
{
	return insn_is_wide(i) && i->src == BPF_PSEUDO_FUNC;
}

/* Jumps stay in their function, and control does not run over its end. */
static bool check_functions(struct check *c)
{
	const struct insn *insns = c->p->insns;
	u32 cnt = c->p->cnt;

	c->flags[0] |= IS_FUNC;
	for (u32 pc = 0; pc < cnt; pc++)
		if (!(c->flags[pc] & IS_TAIL) && (is_call(&insns[pc]) || is_func_addr(&insns[pc])))
			c->flags[pc + 1 + insns[pc].imm] |= IS_FUNC;
	for (u32 start = 0, end; start < cnt; start = end) {
		const struct insn *last;

		for (end = start + 1; end < cnt && !(c->flags[end] & IS_FUNC); end++)
			;
		last = &insns[end - 1];
		if ((c->flags[end - 1] & IS_TAIL) ||
		    (last->code != (BPF_JMP | BPF_EXIT) && last->code != (BPF_JMP | BPF_JA) &&
		     last->code != (BPF_JMP32 | BPF_JA)))
			return bad(c, end - 1, "the last instruction of a function is not exit or goto");
		for (u32 pc = start; pc < end; pc++) {
			const struct insn *i = &insns[pc];
			u8 cls = BPF_CLASS(i->code), op = BPF_OP(i->code);
			s64 to = jump_target(pc, i);

			if ((c->flags[pc] & IS_TAIL) || (cls != BPF_JMP && cls != BPF_JMP32) || op == BPF_CALL || op == BPF_EXIT)
				continue;
			if (to < start || to >= end)
				return bad(c, pc, "jumps into another function");
		}
	}
	return true;
}

static void reach(struct check *c, u32 pc)
{
	if (c->flags[pc] & IS_REACHED)
		return;
	c->flags[pc] |= IS_REACHED;
	vec_push(&c->todo, pc);
}

static bool check_reached(struct check *c)
{
	const struct insn *insns = c->p->insns;

	reach(c, 0);
	while (c->todo.cnt) {
		u32 pc = c->todo.at[--c->todo.cnt];
		const struct insn *i = &insns[pc];
		u8 cls = BPF_CLASS(i->code), op = BPF_OP(i->code);
		bool is_jump = (cls == BPF_JMP || cls == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;

		if (is_call(i) || is_func_addr(i))
			reach(c, pc + 1 + i->imm);
		if (is_jump)
			reach(c, jump_target(pc, i));
		if (i->code != (BPF_JMP | BPF_EXIT) && !(is_jump && op == BPF_JA))
			reach(c, pc + (insn_is_wide(i) ? 2 : 1));
	}
	for (u32 pc = 0; pc < c->p->cnt; pc++)
		if (!(c->flags[pc] & (IS_REACHED | IS_TAIL)))
			return bad(c, pc, "this instruction is never reached");
	return true;
}

static bool check_all(struct check *c)
{
	const struct insn *insns = c->p->insns;
	u32 cnt = c->p->cnt;

	if (!cnt || cnt > BPF_MAX_INSNS)
		return bad(c, ~0u, "a program of %u instructions", cnt);
	for (u32 pc = 0; pc < cnt; pc++) {
		if (!insn_is_wide(&insns[pc]))
			continue;
		if (pc + 1 == cnt)
			return bad(c, pc, "the second half of the constant is missing");
		c->flags[++pc] |= IS_TAIL;
	}
	for (u32 pc = 0; pc < cnt; pc++) {
		if (c->flags[pc] & IS_TAIL)
			continue;
		if (!check_insn(c, pc))
			return false;
		c->p->uses[pc] = insn_uses(&insns[pc]);
	}
	return check_functions(c) && check_reached(c);
}

bool vm_check(struct vm_prog *p, struct vm_fault *fault)
{
	struct check c = { p, fault, xzalloc(p->cnt + 1), {} };
	bool ok;

	p->uses = xzalloc(p->cnt * sizeof(*p->uses));
	ok = check_all(&c);
	free(c.flags);
	vec_free(&c.todo);
	return ok;
}
