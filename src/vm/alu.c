/* SPDX-License-Identifier: GPL-2.0-only */
/* Arithmetic, conditions and atomic operations, with the kernel's results where C leaves them undefined: a division by zero
 * yields 0, a remainder by zero leaves the operand, shift counts are taken modulo the width, and the smallest number divided by
 * -1 is itself.
 */
#include "vm/internal.h"

static u64 div64(u64 a, u64 b, bool is_signed)
{
	if (!b)
		return 0;
	if (!is_signed)
		return a / b;
	return b == ~0ull ? -a : (u64)((s64)a / (s64)b);
}

static u64 mod64(u64 a, u64 b, bool is_signed)
{
	if (!b)
		return a;
	if (!is_signed)
		return a % b;
	return b == ~0ull ? 0 : (u64)((s64)a % (s64)b);
}

static u32 div32(u32 a, u32 b, bool is_signed)
{
	if (!b)
		return 0;
	if (!is_signed)
		return a / b;
	return b == ~0u ? -a : (u32)((s32)a / (s32)b);
}

static u32 mod32(u32 a, u32 b, bool is_signed)
{
	if (!b)
		return a;
	if (!is_signed)
		return a % b;
	return b == ~0u ? 0 : (u32)((s32)a % (s32)b);
}

static u64 extend(u64 v, u32 bits)
{
	switch (bits) {
	case 8:
		return (u64)(s64)(s8)v;
	case 16:
		return (u64)(s64)(s16)v;
	case 32:
		return (u64)(s64)(s32)v;
	}
	return v;
}

/* BPF_ALU: to little endian (we are: cuts) or to big endian; BPF_ALU64: swaps always. */
static u64 end(const struct insn *i, u64 v)
{
	bool swap = BPF_CLASS(i->code) == BPF_ALU64 || BPF_SRC(i->code) == BPF_TO_BE;

	switch (i->imm) {
	case 16:
		return swap ? __builtin_bswap16(v) : (u16)v;
	case 32:
		return swap ? __builtin_bswap32(v) : (u32)v;
	}
	return swap ? __builtin_bswap64(v) : v;
}

static u64 alu64(const struct insn *i, u64 a, u64 b)
{
	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return div64(a, b, i->off == 1);
	case BPF_MOD:
		return mod64(a, b, i->off == 1);
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 63);
	case BPF_RSH:
		return a >> (b & 63);
	case BPF_ARSH:
		return (u64)((s64)a >> (b & 63));
	case BPF_NEG:
		return -a;
	case BPF_MOV:
		return extend(b, i->off);
	}
	BUG("ALU operation 0x%x", i->code);
}

static u32 alu32(const struct insn *i, u32 a, u32 b)
{
	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return div32(a, b, i->off == 1);
	case BPF_MOD:
		return mod32(a, b, i->off == 1);
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31);
	case BPF_RSH:
		return a >> (b & 31);
	case BPF_ARSH:
		return (u32)((s32)a >> (b & 31));
	case BPF_NEG:
		return -a;
	case BPF_MOV:
		return (u32)extend(b, i->off);
	}
	BUG("ALU operation 0x%x", i->code);
}

u64 vm_alu(const struct insn *i, u64 dst, u64 src)
{
	if (BPF_OP(i->code) == BPF_END)
		return end(i, dst);
	return BPF_CLASS(i->code) == BPF_ALU64 ? alu64(i, dst, src) : alu32(i, (u32)dst, (u32)src);
}

bool vm_cond(u8 op, bool is_32, u64 a, u64 b)
{
	s64 sa, sb;

	if (is_32) {
		a = (u32)a;
		b = (u32)b;
		sa = (s32)a;
		sb = (s32)b;
	} else {
		sa = (s64)a;
		sb = (s64)b;
	}
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	}
	BUG("condition 0x%x", op);
}

/* Runs never overlap, so plain loads and stores are atomic enough. */
void vm_atomic(struct vm_frame *f, const struct insn *i, u8 *p)
{
	u32 size = BPF_SIZE(i->code) == BPF_DW ? 8 : 4;
	u64 old = 0, new = 0, src = f->r[i->src];

	memcpy(&old, p, size);
	switch (i->imm & ~BPF_FETCH) {
	case BPF_ADD:
		new = old + src;
		break;
	case BPF_OR:
		new = old | src;
		break;
	case BPF_AND:
		new = old &src;
		break;
	case BPF_XOR:
		new = old ^ src;
		break;
	case BPF_XCHG & ~BPF_FETCH:
		new = src;
		break;
	case BPF_CMPXCHG & ~BPF_FETCH:
		new = old == (size == 8 ? f->r[0] : (u32)f->r[0]) ? src : old;
		memcpy(p, &new, size);
		f->r[0] = old;
		return;
	}
	memcpy(p, &new, size);
	if (i->imm & BPF_FETCH)
		f->r[i->src] = old;
}
