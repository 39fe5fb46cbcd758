/* SPDX-License-Identifier: GPL-2.0-only */
/* The interpreter (src/vm): instructions against C, what must be refused, maps, rings, callbacks, helpers, the object interface.
 */
#include "vm_asm.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/object.h"

static struct vm *vm;
static struct vm_fault fault;
static u64 ctx[16];

/* -1: refused when made, -2: fault while running, 0: *r0 */
static int run_insns(const struct insn *insns, u32 cnt, u64 *r0)
{
	struct vm_prog *p;
	int err;

	memset(&fault, 0, sizeof(fault));
	p = vm_prog_new(vm, insns, cnt, &fault);
	if (!p)
		return -1;
	err = vm_run(vm, p, ctx, sizeof(ctx), 0, r0, &fault);
	vm_prog_free(p);
	return err ? -2 : 0;
}

#define RUN(r0, ...) run_insns((struct insn[]){ __VA_ARGS__ }, sizeof((struct insn[]){ __VA_ARGS__ }) / sizeof(struct insn), r0)

/* The program runs and returns want. */
#define GIVES(want, ...)                                                                                                         \
	do {                                                                                                                     \
		u64 got_ = 0;                                                                                                    \
		int err_ = RUN(&got_, __VA_ARGS__);                                                                              \
		if (err_)                                                                                                        \
			printf("%s\n", fault.text);                                                                              \
		CHECK_EQ(err_, 0);                                                                                               \
		CHECK_EQ(got_, want);                                                                                            \
	} while (0)

/* It does not: kind is -1 or -2, the message has text in it and names instruction pc. */
#define REFUSED(kind, pc, text_, ...)                                                                                            \
	do {                                                                                                                     \
		u64 got_;                                                                                                        \
		int err_ = RUN(&got_, __VA_ARGS__);                                                                              \
		CHECK_EQ(err_, kind);                                                                                            \
		if (err_ && (fault.insn != (pc) || !strstr(fault.text, text_)))                                                  \
			printf("%s:%d: %s\n", __FILE__, __LINE__, fault.text);                                                   \
		CHECK(strstr(fault.text, text_) && fault.insn == (pc));                                                          \
	} while (0)

/* ---- instructions against C ---- */

/* Written apart from vm/alu.c, over 128 bits so that no special case of the division by -1 is needed. */
static u64 ref_alu(u8 op, u32 bits, bool is_signed, u64 a, u64 b)
{
	u64 mask = bits == 64 ? ~0ull : 0xffffffff;
	__int128 ua = a & mask, ub = b & mask;
	__int128 sa = bits == 64 ? (s64)a : (s32)a, sb = bits == 64 ? (s64)b : (s32)b, res = 0;
	u32 sh = b % bits;

	switch (op) {
	case BPF_ADD:
		res = ua + ub;
		break;
	case BPF_SUB:
		res = ua - ub;
		break;
	case BPF_MUL:
		res = (__int128)((unsigned __int128)ua * (unsigned __int128)ub);
		break;
	case BPF_DIV:
		res = !ub ? 0 : is_signed ? sa / sb : ua / ub;
		break;
	case BPF_MOD:
		res = !ub ? ua : is_signed ? sa % sb : ua % ub;
		break;
	case BPF_OR:
		res = ua | ub;
		break;
	case BPF_AND:
		res = ua & ub;
		break;
	case BPF_XOR:
		res = ua ^ ub;
		break;
	case BPF_LSH:
		res = (__int128)((unsigned __int128)ua << sh);
		break;
	case BPF_RSH:
		res = ua >> sh;
		break;
	case BPF_ARSH:
		res = sa >> sh;
		break;
	case BPF_NEG:
		res = -ua;
		break;
	case BPF_MOV:
		res = ub;
		break;
	}
	return (u64)res & mask;
}

static void test_alu_random(void)
{
	static const u8 ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND, BPF_LSH,
				  BPF_RSH, BPF_NEG, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH };

	for (u32 n = 0; n < 20000; n++) {
		u8 op = ops[n % ARRAY_CNT(ops)];
		u32 bits = rnd() % 2 ? 64 : 32;
		bool is_signed = (op == BPF_DIV || op == BPF_MOD) && rnd() % 2, is_x = op != BPF_NEG && rnd() % 2;
		u64 a = rnd_value(), b = rnd_value(), got;
		s32 imm = op == BPF_NEG ? 0 : (s32)b;
		int err;

		if (!is_x) {
			if ((op == BPF_DIV || op == BPF_MOD) && !imm)
				imm = 7;
			if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
				imm &= bits - 1;
			b = (u64)(s64)imm;
		}
		err = RUN(&got, LD64(1, a), LD64(2, b),
			  INSN((bits == 64 ? BPF_ALU64 : BPF_ALU) | op | (is_x ? BPF_X : BPF_K), 1, is_x ? 2 : 0, is_signed,
			       is_x ? 0 : imm),
			  MOVR(0, 1), EXIT);
		CHECK_EQ(err, 0);
		CHECK_EQ(got, ref_alu(op, bits, is_signed, a, b));
	}
}

static bool ref_cond(u8 op, u32 bits, u64 a, u64 b)
{
	u64 ua = bits == 64 ? a : (u32)a, ub = bits == 64 ? b : (u32)b;
	s64 sa = bits == 64 ? (s64)a : (s32)a, sb = bits == 64 ? (s64)b : (s32)b;

	switch (op) {
	case BPF_JEQ:
		return ua == ub;
	case BPF_JNE:
		return ua != ub;
	case BPF_JGT:
		return ua > ub;
	case BPF_JGE:
		return ua >= ub;
	case BPF_JLT:
		return ua < ub;
	case BPF_JLE:
		return ua <= ub;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	case BPF_JSET:
		return ua & ub;
	}
	return false;
}

static void test_jmp_random(void)
{
	for (u32 n = 0; n < 10000; n++) {
		u8 op = conds[n % ARRAY_CNT(conds)];
		u32 bits = rnd() % 2 ? 64 : 32;
		bool is_x = rnd() % 2;
		u64 a = rnd_value(), b = rnd() % 4 ? rnd_value() : a, got;
		u8 cls = bits == 64 ? BPF_JMP : BPF_JMP32;
		int err;

		if (!is_x)
			b = (u64)(s64)(s32)b;
		err = RUN(&got, LD64(1, a), LD64(2, b), MOV(0, 1),
			  INSN(cls | op | (is_x ? BPF_X : BPF_K), 1, is_x ? 2 : 0, 1, is_x ? 0 : b), MOV(0, 0), EXIT);
		CHECK_EQ(err, 0);
		CHECK_EQ(got, ref_cond(op, bits, a, b));
	}
}

static void test_moves(void)
{
	u64 v = 0x8182838485868788;

	GIVES(v, LD64(0, v), EXIT);
	GIVES(0xfffffffffffffff0, MOV(0, -16), EXIT);
	GIVES(0xfffffff0, INSN(BPF_ALU | BPF_MOV | BPF_K, 0, 0, 0, -16), EXIT);
	GIVES(0x85868788, LD64(1, v), INSN(BPF_ALU | BPF_MOV | BPF_X, 0, 1, 0, 0), EXIT);
	GIVES(0xffffffffffffff88, LD64(1, v), INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 8, 0), EXIT);
	GIVES(0xffffffffffff8788, LD64(1, v), INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 16, 0), EXIT);
	GIVES(0xffffffff85868788, LD64(1, v), INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 32, 0), EXIT);
	GIVES(0xffffff88, LD64(1, v), INSN(BPF_ALU | BPF_MOV | BPF_X, 0, 1, 8, 0), EXIT);
	GIVES(0xffff8788, LD64(1, v), INSN(BPF_ALU | BPF_MOV | BPF_X, 0, 1, 16, 0), EXIT);
	GIVES(0x8887, LD64(0, v), INSN(BPF_ALU64 | BPF_END, 0, 0, 0, 16), EXIT);
	GIVES(0x88878685, LD64(0, v), INSN(BPF_ALU64 | BPF_END, 0, 0, 0, 32), EXIT);
	GIVES(0x8887868584838281, LD64(0, v), INSN(BPF_ALU64 | BPF_END, 0, 0, 0, 64), EXIT);
	GIVES(0x8887, LD64(0, v), INSN(BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, 16), EXIT);
	GIVES(0x8887868584838281, LD64(0, v), INSN(BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, 64), EXIT);
	GIVES(0x8788, LD64(0, v), INSN(BPF_ALU | BPF_END | BPF_TO_LE, 0, 0, 0, 16), EXIT);
	GIVES(0x85868788, LD64(0, v), INSN(BPF_ALU | BPF_END | BPF_TO_LE, 0, 0, 0, 32), EXIT);
	GIVES(v, LD64(0, v), INSN(BPF_ALU | BPF_END | BPF_TO_LE, 0, 0, 0, 64), EXIT);
	/* gotol, and a loop that runs backwards */
	GIVES(7, INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 2), MOV(0, 7), EXIT, JA(-3));
	GIVES(55, MOV(0, 0), MOV(1, 10), ALUR(BPF_ADD, 0, 1), ALU(BPF_SUB, 1, 1), JMP(BPF_JNE, 1, 0, -3), EXIT);
}

static void test_memory(void)
{
	u64 v = 0x8182838485868788;

	ctx[1] = v;
	GIVES(v, LDX(BPF_DW, 0, 1, 8), EXIT);
	GIVES(0x85868788, LDX(BPF_W, 0, 1, 8), EXIT);
	GIVES(0x8384, LDX(BPF_H, 0, 1, 12), EXIT);
	GIVES(0x81, LDX(BPF_B, 0, 1, 15), EXIT);
	GIVES(0xffffffff85868788, LDSX(BPF_W, 0, 1, 8), EXIT);
	GIVES(0xffffffffffff8788, LDSX(BPF_H, 0, 1, 8), EXIT);
	GIVES(0xffffffffffffff88, LDSX(BPF_B, 0, 1, 8), EXIT);
	GIVES(0xfffffffffffffffe, ST(BPF_DW, 10, -8, -2), LDX(BPF_DW, 0, 10, -8), EXIT);
	GIVES(0x55001122, ST(BPF_DW, 10, -512, 0), ST(BPF_B, 10, -509, 0x55), ST(BPF_H, 10, -512, 0x1122),
	      LDX(BPF_DW, 0, 10, -512), EXIT);
	GIVES(0x88, LD64(2, v), STX(BPF_B, 10, -1, 2), LDX(BPF_B, 0, 10, -1), EXIT);
}

static void test_atomics(void)
{
	static const struct {
		u32 op;
		u64 want; /* of 0xff0f op 0x0ff1 in 8 bytes */
	} rows[] = { { BPF_ADD, 0x10f00 }, { BPF_OR, 0xffff }, { BPF_AND, 0x0f01 }, { BPF_XOR, 0xf0fe } };
	u64 big = 0xaaaaaaaaffffffff;

	for (u32 i = 0; i < ARRAY_CNT(rows); i++) {
		u32 op = rows[i].op;

		GIVES(rows[i].want, ST(BPF_DW, 10, -8, 0xff0f), MOV(2, 0x0ff1), ATOMIC(BPF_DW, op, 10, -8, 2),
		      LDX(BPF_DW, 0, 10, -8), EXIT);
		GIVES(0x0ff1, ST(BPF_DW, 10, -8, 0xff0f), MOV(2, 0x0ff1), ATOMIC(BPF_DW, op, 10, -8, 2), MOVR(0, 2), EXIT);
		GIVES(0xff0f, ST(BPF_DW, 10, -8, 0xff0f), MOV(2, 0x0ff1), ATOMIC(BPF_DW, op | BPF_FETCH, 10, -8, 2), MOVR(0, 2),
		      EXIT);
		GIVES(rows[i].want, ST(BPF_DW, 10, -8, 0xff0f), MOV(2, 0x0ff1), ATOMIC(BPF_W, op | BPF_FETCH, 10, -8, 2),
		      LDX(BPF_DW, 0, 10, -8), EXIT);
	}
	/* 4 bytes: the other 4 stay, what is fetched is zero-extended */
	GIVES(0xaaaaaaaa00000001, LD64(3, big), STX(BPF_DW, 10, -8, 3), LD64(2, 0x1100000002), ATOMIC(BPF_W, BPF_ADD, 10, -8, 2),
	      LDX(BPF_DW, 0, 10, -8), EXIT);
	GIVES(0xffffffff, LD64(3, big), STX(BPF_DW, 10, -8, 3), MOV(2, -1), ATOMIC(BPF_W, BPF_XCHG, 10, -8, 2), MOVR(0, 2), EXIT);
	GIVES(5, ST(BPF_DW, 10, -8, 5), MOV(2, 9), ATOMIC(BPF_DW, BPF_XCHG, 10, -8, 2), MOVR(0, 2), EXIT);
	/* cmpxchg: met and not met */
	GIVES(9, ST(BPF_DW, 10, -8, 5), MOV(2, 9), MOV(0, 5), ATOMIC(BPF_DW, BPF_CMPXCHG, 10, -8, 2), LDX(BPF_DW, 0, 10, -8),
	      EXIT);
	GIVES(5, ST(BPF_DW, 10, -8, 5), MOV(2, 9), MOV(0, 6), ATOMIC(BPF_DW, BPF_CMPXCHG, 10, -8, 2), LDX(BPF_DW, 0, 10, -8),
	      EXIT);
	GIVES(5, ST(BPF_DW, 10, -8, 5), MOV(2, 9), MOV(0, 6), ATOMIC(BPF_DW, BPF_CMPXCHG, 10, -8, 2), EXIT);
	GIVES(0xaaaaaaaa00000009, LD64(3, big), STX(BPF_DW, 10, -8, 3), MOV(2, 9), MOV(0, -1),
	      ATOMIC(BPF_W, BPF_CMPXCHG, 10, -8, 2), LDX(BPF_DW, 0, 10, -8), EXIT);
	GIVES(0xffffffff, LD64(3, big), STX(BPF_DW, 10, -8, 3), MOV(2, 9), MOV(0, -1), ATOMIC(BPF_W, BPF_CMPXCHG, 10, -8, 2),
	      EXIT);
}

/* ---- what must be refused ---- */

static void test_malformed(void)
{
	struct vm_prog *p = vm_prog_new(vm, &EXIT, 0, &fault);

	CHECK(!p);
	REFUSED(-1, 0, "unknown operation", INSN(BPF_ALU64 | 0xe0, 0, 0, 0, 0), EXIT);
	REFUSED(-1, 0, "unknown operation", INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT);
	REFUSED(-1, 0, "unused fields", INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 1, 0, 5), EXIT);
	REFUSED(-1, 0, "register", INSN(BPF_ALU64 | BPF_MOV | BPF_K, 11, 0, 0, 5), EXIT);
	REFUSED(-1, 0, "r10", MOV(10, 0), EXIT);
	REFUSED(-1, 1, "r10", MOV(0, 0), ATOMIC(BPF_DW, BPF_XCHG, 1, 0, 10), EXIT);
	REFUSED(-1, 1, "constant zero", MOV(0, 1), ALU(BPF_DIV, 0, 0), EXIT);
	REFUSED(-1, 1, "shift", MOV(0, 1), ALU(BPF_LSH, 0, 64), EXIT);
	REFUSED(-1, 1, "shift", MOV(0, 1), INSN(BPF_ALU | BPF_RSH | BPF_K, 0, 0, 0, 32), EXIT);
	REFUSED(-1, 1, "swap", MOV(0, 1), INSN(BPF_ALU | BPF_END, 0, 0, 0, 8), EXIT);
	REFUSED(-1, 0, "offset", INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 4, 0), EXIT);
	REFUSED(-1, 0, "atomic", ATOMIC(BPF_B, BPF_ADD, 1, 0, 1), EXIT);
	REFUSED(-1, 0, "atomic", ATOMIC(BPF_DW, 0x70, 1, 0, 1), EXIT);
	REFUSED(-1, 0, "kind of access", LDSX(BPF_DW, 0, 1, 0), EXIT);
	REFUSED(-1, 0, "out of the program", JA(5), EXIT);
	REFUSED(-1, 0, "out of the program", JA(-2), EXIT);
	REFUSED(-1, 0, "middle", JA(1), LD64(0, 1), EXIT);
	REFUSED(-1, 1, "second half", MOV(0, 0), INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0));
	REFUSED(-1, 0, "no map", MAP(1, 77), EXIT);
	REFUSED(-1, 2, "never reached", MOV(0, 0), EXIT, MOV(0, 1), EXIT);
	REFUSED(-1, 0, "not exit", MOV(0, 0));
	REFUSED(-1, 0, "another function", JMP(BPF_JEQ, 1, 0, 2), CALLFN(1), EXIT, MOV(0, 0), EXIT);
	REFUSED(-1, 0, "no helper skb_store_bytes (9)", CALL(skb_store_bytes), EXIT);
	REFUSED(-1, 0, "no helper unknown (9999)", INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 9999), EXIT);
	REFUSED(-1, 0, "kernel functions", INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1), EXIT);
}

static void test_violations(void)
{
	REFUSED(-2, 1, "NULL pointer", MOV(2, 0), LDX(BPF_DW, 0, 2, 0), EXIT);
	REFUSED(-2, 2, "may not touch", LD64(2, 0xffff888000000000), STX(BPF_DW, 2, 0, 2), EXIT);
	REFUSED(-2, 2, "may not touch", LD64(2, (u64)&passed), LDX(BPF_W, 0, 2, 0), EXIT);
	REFUSED(-2, 0, "outside of its 512", ST(BPF_DW, 10, 0, 0), MOV(0, 0), EXIT);
	REFUSED(-2, 0, "outside of its 512", ST(BPF_DW, 10, -520, 0), MOV(0, 0), EXIT);
	REFUSED(-2, 1, "outside of its 512", MOVR(2, 10), ST(BPF_DW, 2, -516, 0), MOV(0, 0), EXIT);
	REFUSED(-2, 0, "misaligned stack", ST(BPF_DW, 10, -12, 0), MOV(0, 0), EXIT);
	REFUSED(-2, 0, "misaligned context", LDX(BPF_DW, 0, 1, 4), EXIT);
	REFUSED(-2, 0, "may not touch", LDX(BPF_DW, 0, 1, sizeof(ctx)), EXIT);
	REFUSED(-2, 0, "context is written", ST(BPF_DW, 1, 0, 1), MOV(0, 0), EXIT);
	/* never written: registers and stack bytes */
	REFUSED(-2, 0, "r0 is read", EXIT);
	REFUSED(-2, 0, "r6 is read", MOVR(0, 6), EXIT);
	REFUSED(-2, 1, "a call clobbers", CALL(ktime_get_ns), MOVR(0, 1), EXIT);
	REFUSED(-2, 0, "r10-8 of frame 0 is read but was never written", LDX(BPF_DW, 0, 10, -8), EXIT);
	REFUSED(-2, 1, "r10-4 of frame 0 is read", ST(BPF_W, 10, -8, 0), LDX(BPF_DW, 0, 10, -8), EXIT);
	REFUSED(-2, 1, "never written", MOV(2, 1), ATOMIC(BPF_DW, BPF_ADD, 10, -8, 2), MOV(0, 0), EXIT);
	REFUSED(-2, 2, "misaligned atomic", MAPVAL(2, 0, 4), ATOMIC(BPF_DW, BPF_ADD, 2, 0, 1), MOV(0, 0), EXIT);
	/* without end */
	vm_env(vm)->max_steps = 1000;
	REFUSED(-2, 0, "more than 1000 instructions", JA(-1));
	vm_env(vm)->max_steps = 10000000;
	REFUSED(-2, 0, "more than 10000000 instructions", JA(-1));
	CHECK_EQ(vm_env(vm)->steps, 10000001);
}

/* ---- calls ---- */

static void test_calls(void)
{
	/* r6-r9 survive, the callee has its own frame, a caller's frame can be written through a pointer */
	GIVES(5 + 7 + 100, MOV(6, 100), MOV(1, 5), MOV(2, 7), CALLFN(2), ALUR(BPF_ADD, 0, 6), EXIT,
	      /* f */ MOV(6, 1), MOVR(0, 1), ALUR(BPF_ADD, 0, 2), EXIT);
	GIVES(3, ST(BPF_DW, 10, -8, 1), MOVR(1, 10), ALU(BPF_ADD, 1, -8), CALLFN(2), LDX(BPF_DW, 0, 10, -8), EXIT,
	      /* f */ ST(BPF_DW, 10, -8, 9), ST(BPF_DW, 1, 0, 3), MOV(0, 0), EXIT);
	/* what the caller did not set is not there; its registers are not either; the arguments are spent */
	REFUSED(-2, 2, "r2 is read", CALLFN(1), EXIT, MOVR(0, 2), EXIT);
	REFUSED(-2, 3, "r6 is read", MOV(6, 1), CALLFN(1), EXIT, MOVR(0, 6), EXIT);
	REFUSED(-2, 1, "r1 is read", CALLFN(2), MOVR(0, 1), EXIT, MOV(0, 0), EXIT);
	REFUSED(-2, 2, "r10-8 of frame 1", CALLFN(1), EXIT, LDX(BPF_DW, 0, 10, -8), EXIT);
	/* 8 frames are allowed (main and 7), not 9 */
	GIVES(0, MOV(1, 7), CALLFN(1), EXIT, MOV(0, 0), JMP(BPF_JEQ, 1, 0, 0), ALU(BPF_SUB, 1, 1), JMP(BPF_JEQ, 1, 0, 1),
	      CALLFN(-5), EXIT);
	REFUSED(-2, 7, "deeper than 8", MOV(1, 8), CALLFN(1), EXIT, MOV(0, 0), JMP(BPF_JEQ, 1, 0, 0), ALU(BPF_SUB, 1, 1),
		JMP(BPF_JEQ, 1, 0, 1), CALLFN(-5), EXIT);
	/* 512 bytes of stack for the whole chain */
	GIVES(0, ST(BPF_DW, 10, -256, 0), CALLFN(1), EXIT, ST(BPF_DW, 10, -256, 0), MOV(0, 0), EXIT);
	REFUSED(-2, 3, "use 544 bytes of stack together", ST(BPF_DW, 10, -264, 0), CALLFN(1), EXIT, ST(BPF_DW, 10, -256, 0),
		MOV(0, 0), EXIT);
}

static void test_loop(void)
{
	/* the callback adds its index to what its context points to, and stops at 9 */
	GIVES(10 * 1000 + 45, ST(BPF_DW, 10, -8, 0), MOV(1, 100), FUNC(2, 9), MOVR(3, 10), ALU(BPF_ADD, 3, -8), MOV(4, 0),
	      CALL(loop), ALU(BPF_MUL, 0, 1000), LDX(BPF_DW, 1, 10, -8), ALUR(BPF_ADD, 0, 1), EXIT,
	      /* f */ LDX(BPF_DW, 3, 2, 0), ALUR(BPF_ADD, 3, 1), STX(BPF_DW, 2, 0, 3), MOV(0, 0), JMP(BPF_JNE, 1, 9, 1),
	      MOV(0, 1), EXIT);
	GIVES(0, MOV(1, 0), FUNC(2, 5), MOV(3, 0), MOV(4, 0), CALL(loop), EXIT, MOV(0, 0), EXIT);
	GIVES(-E2BIG, MOV(1, (8 << 20) + 1), FUNC(2, 5), MOV(3, 0), MOV(4, 0), CALL(loop), EXIT, MOV(0, 0), EXIT);
	GIVES(-EINVAL, MOV(1, 1), FUNC(2, 5), MOV(3, 0), MOV(4, 1), CALL(loop), EXIT, MOV(0, 0), EXIT);
	REFUSED(-2, 5, "the callback returns 2", MOV(1, 1), FUNC(2, 5), MOV(3, 0), MOV(4, 0), CALL(loop), EXIT, MOV(0, 2), EXIT);
	REFUSED(-2, 4, "not a function", MOV(1, 1), MOV(2, 0), MOV(3, 0), MOV(4, 0), CALL(loop), EXIT);
}

/* ---- maps ---- */

enum { M_DATA, M_HASH, M_PHASH, M_LRU, M_ARRAY, M_PARRAY, M_RING, M_NONE, M_RO, NCPUS = 3 };

static void add_maps(void)
{
	static const u32 init[2] = { 11, 22 };
	struct image_map defs[] = {
		[M_DATA] = { "data", BPF_MAP_TYPE_ARRAY, 4, 20, 1, BPF_F_MMAPABLE, init, sizeof(init), 0 },
		[M_HASH] = { "hash", BPF_MAP_TYPE_HASH, 8, 12, 4, BPF_F_NO_PREALLOC, NULL, 0, 0 },
		[M_PHASH] = { "phash", BPF_MAP_TYPE_PERCPU_HASH, 8, 8, 4, 0, NULL, 0, 0 },
		[M_LRU] = { "lru", BPF_MAP_TYPE_LRU_HASH, 8, 8, 3, 0, NULL, 0, 0 },
		[M_ARRAY] = { "array", BPF_MAP_TYPE_ARRAY, 4, 8, 4, 0, NULL, 0, 0 },
		[M_PARRAY] = { "parray", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 2, 0, NULL, 0, 0 },
		[M_RING] = { "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0, NULL, 0, 0 },
		[M_NONE] = { "none", 0, 0, 0, 0, 0, NULL, 0, 0 },
		[M_RO] = { "ro", BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_RDONLY_PROG, NULL, 0, 0 },
	};

	for (u32 i = 0; i < ARRAY_CNT(defs); i++)
		CHECK_EQ(vm_map_add(vm, &defs[i]), i);
}

/* r1 = map, r2 = &key, which is an 8-byte slot at r10-8 */
#define KEY(m, k) ST(BPF_DW, 10, -8, k), MOVR(2, 10), ALU(BPF_ADD, 2, -8), MAP(1, m)
#define UPDATE(m, k, v, flags)                                                                                                   \
	ST(BPF_DW, 10, -16, 0), ST(BPF_DW, 10, -24, v), MOVR(3, 10), ALU(BPF_ADD, 3, -24), MOV(4, flags), KEY(m, k),             \
		CALL(map_update_elem)
#define LOOKUP(m, k) KEY(m, k), CALL(map_lookup_elem)
/* 0 when absent, else the first 8 bytes of the value */
#define VALUE(m, k) LOOKUP(m, k), JMP(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 0)

static void test_map_defs(void)
{
	struct image_map bad_key = { "x", BPF_MAP_TYPE_ARRAY, 8, 8, 1, 0, NULL, 0, 0 };
	struct image_map no_value = { "x", BPF_MAP_TYPE_HASH, 8, 0, 1, 0, NULL, 0, 0 };
	struct image_map bad_ring = { "x", BPF_MAP_TYPE_RINGBUF, 0, 0, 5000, 0, NULL, 0, 0 };
	struct image_map lru = { "x", BPF_MAP_TYPE_LRU_HASH, 8, 8, 1, BPF_F_NO_PREALLOC, NULL, 0, 0 };
	struct image_map big = { "x", BPF_MAP_TYPE_PERCPU_HASH, 8, 40000, 1, 0, NULL, 0, 0 };
	struct image_map queue = { "x", BPF_MAP_TYPE_QUEUE, 0, 8, 1, 0, NULL, 0, 0 };
	struct image_map stacks = { "x", BPF_MAP_TYPE_STACK_TRACE, 4, 12, 1, 0, NULL, 0, 0 };
	struct image_map name = { "a_name_of_16_chr", BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0, NULL, 0, 0 };

	CHECK_EQ(vm_map_add(vm, &bad_key), -EINVAL);
	CHECK_EQ(vm_map_add(vm, &no_value), -EINVAL);
	CHECK_EQ(vm_map_add(vm, &bad_ring), -EINVAL);
	CHECK_EQ(vm_map_add(vm, &lru), -ENOTSUP);
	CHECK_EQ(vm_map_add(vm, &big), -E2BIG);
	CHECK_EQ(vm_map_add(vm, &queue), -ENOTSUP);
	CHECK_EQ(vm_map_add(vm, &stacks), -EINVAL);
	CHECK_EQ(vm_map_add(vm, &name), -EINVAL);
	CHECK(!vm_map(vm, M_NONE) && !vm_map(vm, 99));
}

static void test_hash(void)
{
	struct vm_map *m = vm_map(vm, M_HASH);
	u64 key;
	u8 value[12];

	GIVES(0, VALUE(M_HASH, 1), EXIT);
	GIVES(-ENOENT, UPDATE(M_HASH, 1, 10, BPF_EXIST), EXIT);
	GIVES(0, UPDATE(M_HASH, 1, 10, BPF_NOEXIST), EXIT);
	GIVES(-EEXIST, UPDATE(M_HASH, 1, 11, BPF_NOEXIST), EXIT);
	GIVES(10, VALUE(M_HASH, 1), EXIT);
	GIVES(0, UPDATE(M_HASH, 1, 12, BPF_EXIST), EXIT);
	GIVES(12, VALUE(M_HASH, 1), EXIT);
	GIVES(-EINVAL, UPDATE(M_HASH, 1, 12, 3), EXIT);
	for (u32 k = 2; k <= 4; k++)
		GIVES(0, UPDATE(M_HASH, k, k, BPF_ANY), EXIT);
	GIVES(-E2BIG, UPDATE(M_HASH, 5, 5, BPF_ANY), EXIT);
	GIVES(0, UPDATE(M_HASH, 4, 44, BPF_ANY), EXIT);
	CHECK_EQ(vm_map_cnt(m), 4);
	GIVES(0, KEY(M_HASH, 2), CALL(map_delete_elem), EXIT);
	GIVES(-ENOENT, KEY(M_HASH, 2), CALL(map_delete_elem), EXIT);
	GIVES(0, VALUE(M_HASH, 2), EXIT);
	GIVES(0, UPDATE(M_HASH, 5, 5, BPF_ANY), EXIT);
	/* values can be written in place and stay */
	GIVES(8, LOOKUP(M_HASH, 3), JMP(BPF_JEQ, 0, 0, 3), MOV(1, 5), ATOMIC(BPF_DW, BPF_ADD, 0, 0, 1), LDX(BPF_DW, 0, 0, 0),
	      EXIT);
	GIVES(8, VALUE(M_HASH, 3), EXIT);
	/* an update makes a new element: the old pointer is good for reading the old value, as in the kernel */
	GIVES(8, LOOKUP(M_HASH, 3), MOVR(6, 0), UPDATE(M_HASH, 3, 99, BPF_ANY), LDX(BPF_DW, 0, 6, 0), EXIT);
	GIVES(99, VALUE(M_HASH, 3), EXIT);
	/* a deleted element's memory stays until the end of the run, also when others come */
	GIVES(99, LOOKUP(M_HASH, 3), MOVR(6, 0), KEY(M_HASH, 3), CALL(map_delete_elem), UPDATE(M_HASH, 9, 1, BPF_ANY),
	      LDX(BPF_DW, 0, 6, 0), EXIT);
	/* bounds of the value; keys that are not all written; wrong kinds of pointers */
	REFUSED(-2, 6, "past the end of the value", LOOKUP(M_HASH, 1), LDX(BPF_DW, 0, 0, 8), EXIT);
	REFUSED(-2, 6, "past the end of the value", LOOKUP(M_HASH, 1), LDX(BPF_B, 0, 0, 12), EXIT);
	REFUSED(-2, 6, "past the end of the key", LOOKUP(M_HASH, 1), LDX(BPF_B, 0, 0, -8), EXIT);
	REFUSED(-2, 6, "NULL pointer", LOOKUP(M_HASH, 77), LDX(BPF_DW, 0, 0, 0), EXIT);
	REFUSED(-2, 5, "never written", ST(BPF_W, 10, -8, 0), MOVR(2, 10), ALU(BPF_ADD, 2, -8), MAP(1, M_HASH),
		CALL(map_lookup_elem), EXIT);
	REFUSED(-2, 3, "not a map", ST(BPF_DW, 10, -8, 0), MOV(1, 0), MOVR(2, 10), CALL(map_lookup_elem), EXIT);
	REFUSED(-2, 5, "another kind", KEY(M_RING, 1), CALL(map_lookup_elem), EXIT);
	REFUSED(-2, 2, "may not touch", MAP(1, M_HASH), LDX(BPF_DW, 0, 1, 0), EXIT);
	/* from user space */
	key = 1;
	CHECK_EQ(vm_map_lookup(m, &key, value), 0);
	CHECK_EQ(value[0], 12);
	CHECK_EQ(vm_map_delete(m, &key), 0);
	CHECK_EQ(vm_map_lookup(m, &key, value), -ENOENT);
	CHECK_EQ(vm_map_update(m, &key, value, BPF_NOEXIST), 0);
	GIVES(12, VALUE(M_HASH, 1), EXIT);
}

static void test_lru(void)
{
	for (u32 k = 1; k <= 3; k++)
		GIVES(0, UPDATE(M_LRU, k, k, BPF_ANY), EXIT);
	GIVES(1, VALUE(M_LRU, 1), EXIT); /* 2 is now the oldest */
	GIVES(0, UPDATE(M_LRU, 4, 4, BPF_ANY), EXIT);
	GIVES(0, VALUE(M_LRU, 2), EXIT);
	GIVES(1, VALUE(M_LRU, 1), EXIT);
	GIVES(4, VALUE(M_LRU, 4), EXIT);
	CHECK_EQ(vm_map_cnt(vm_map(vm, M_LRU)), 3);
}

static void test_percpu(void)
{
	struct vm_map *m = vm_map(vm, M_PHASH);
	u64 key = 7, all[NCPUS] = { 1, 2, 3 };

	CHECK_EQ(vm_map_stride(m), 8 * NCPUS);
	for (s32 cpu = 0; cpu < NCPUS; cpu++) {
		vm_env(vm)->cpu = cpu;
		GIVES(cpu, CALL(get_smp_processor_id), EXIT);
		if (cpu == 1)
			GIVES(0, UPDATE(M_PHASH, 1, 50, BPF_ANY), EXIT);
	}
	vm_env(vm)->cpu = 0;
	GIVES(0, VALUE(M_PHASH, 1), EXIT); /* others start with zero */
	vm_env(vm)->cpu = 1;
	GIVES(50, VALUE(M_PHASH, 1), EXIT);
	GIVES(0, UPDATE(M_PHASH, 1, 51, BPF_EXIST), EXIT);
	vm_env(vm)->cpu = 2;
	GIVES(51, KEY(M_PHASH, 1), MOV(3, 1), CALL(map_lookup_percpu_elem), JMP(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 0), EXIT);
	GIVES(0, KEY(M_PHASH, 1), MOV(3, NCPUS), CALL(map_lookup_percpu_elem), EXIT);
	REFUSED(-2, 6, "another kind", KEY(M_HASH, 1), MOV(3, 0), CALL(map_lookup_percpu_elem), EXIT);
	CHECK_EQ(vm_map_update(m, &key, all, BPF_ANY), 0);
	GIVES(3, VALUE(M_PHASH, 7), EXIT);
	memset(all, 0, sizeof(all));
	CHECK_EQ(vm_map_lookup(m, &key, all), 0);
	CHECK(all[0] == 1 && all[1] == 2 && all[2] == 3);
	GIVES(0, UPDATE(M_PARRAY, 1, 5, BPF_ANY), EXIT);
	vm_env(vm)->cpu = 0;
	GIVES(0, VALUE(M_PARRAY, 1), EXIT);
	GIVES(5, KEY(M_PARRAY, 1), MOV(3, 2), CALL(map_lookup_percpu_elem), JMP(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 0), EXIT);
	REFUSED(-2, 6, "past the end of the value", LOOKUP(M_PARRAY, 1), LDX(BPF_DW, 0, 0, 8), EXIT);
}

static void test_array(void)
{
	u32 *data = vm_map_mem(vm_map(vm, M_DATA));

	CHECK(data && data[0] == 11 && data[1] == 22);
	GIVES(22, MAPVAL(1, M_DATA, 4), LDX(BPF_W, 0, 1, 0), EXIT);
	GIVES(0, MAPVAL(1, M_DATA, 0), ST(BPF_W, 1, 16, 33), MOV(0, 0), EXIT);
	CHECK_EQ(data[4], 33);
	data[4] = 34;
	GIVES(34, MAPVAL(1, M_DATA, 0), LDX(BPF_W, 0, 1, 16), EXIT);
	REFUSED(-2, 2, "past the end of the value", MAPVAL(1, M_DATA, 0), LDX(BPF_DW, 0, 1, 16), EXIT);
	REFUSED(-2, 2, "past the last element", MAPVAL(1, M_DATA, 0), LDX(BPF_DW, 0, 1, 24), EXIT);
	REFUSED(-2, 2, "may not touch", MAPVAL(1, M_DATA, 0), LDX(BPF_W, 0, 1, -4), EXIT);
	REFUSED(-1, 0, "outside of map data", MAPVAL(1, M_DATA, 20), EXIT);
	REFUSED(-1, 0, "one element", MAPVAL(1, M_ARRAY, 0), EXIT);
	REFUSED(-2, 2, "read-only map", MAPVAL(1, M_RO, 0), ST(BPF_W, 1, 0, 1), MOV(0, 0), EXIT);
	GIVES(0, UPDATE(M_ARRAY, 3, 7, BPF_ANY), EXIT);
	GIVES(7, VALUE(M_ARRAY, 3), EXIT);
	GIVES(0, LOOKUP(M_ARRAY, 4), EXIT);
	GIVES(-E2BIG, UPDATE(M_ARRAY, 4, 7, BPF_ANY), EXIT);
	GIVES(-EEXIST, UPDATE(M_ARRAY, 3, 7, BPF_NOEXIST), EXIT);
	GIVES(-EINVAL, KEY(M_ARRAY, 3), CALL(map_delete_elem), EXIT);
}

static void test_for_each(void)
{
	for (u64 k = 0; k < 20; k++)
		vm_map_delete(vm_map(vm, M_HASH), &k);
	for (u32 k = 0; k < 4; k++) {
		u64 key = k;
		u8 value[12] = { 10 * k };

		CHECK_EQ(vm_map_update(vm_map(vm, M_HASH), &key, value, BPF_ANY), 0);
		CHECK_EQ(vm_map_update(vm_map(vm, M_ARRAY), &k, &(u64){ 100 * k }, BPF_ANY), 0);
	}
	/* sum of keys and values at *ctx; returns how many */
#define FOR_EACH(m, ksz)                                                                                                         \
	ST(BPF_DW, 10, -8, 0), MAP(1, m), FUNC(2, 9), MOVR(3, 10), ALU(BPF_ADD, 3, -8), MOV(4, 0), CALL(for_each_map_elem),      \
		ALU(BPF_MUL, 0, 10000), LDX(BPF_DW, 1, 10, -8), ALUR(BPF_ADD, 0, 1), EXIT, LDX(BPF_DW, 5, 4, 0),                 \
		LDX(ksz, 2, 2, 0), ALUR(BPF_ADD, 5, 2), LDX(BPF_DW, 3, 3, 0), ALUR(BPF_ADD, 5, 3), STX(BPF_DW, 4, 0, 5),         \
		MOV(0, 0), EXIT
	GIVES(40000 + 6 + 60, FOR_EACH(M_HASH, BPF_DW));
	GIVES(40000 + 6 + 600, FOR_EACH(M_ARRAY, BPF_W));
	/* keys are read-only, also an array's */
	REFUSED(-2, 8, "write to the key", MAP(1, M_HASH), FUNC(2, 5), MOV(3, 0), MOV(4, 0), CALL(for_each_map_elem), EXIT,
		ST(BPF_B, 2, 0, 1), MOV(0, 0), EXIT);
	REFUSED(-2, 8, "may not touch", MAP(1, M_ARRAY), FUNC(2, 5), MOV(3, 0), MOV(4, 0), CALL(for_each_map_elem), EXIT,
		ST(BPF_B, 2, 0, 1), MOV(0, 0), EXIT);
	/* every element deletes itself; the callback's map argument is the map */
	GIVES(4, MAP(1, M_HASH), FUNC(2, 5), MOV(3, 0), MOV(4, 0), CALL(for_each_map_elem), EXIT, CALL(map_delete_elem), EXIT);
	CHECK_EQ(vm_map_cnt(vm_map(vm, M_HASH)), 0);
}

/* ---- rings ---- */

static void test_ring(void)
{
	struct vm_map *m = vm_map(vm, M_RING);
	const u8 *data;
	u32 len;

	GIVES(16, MAP(1, M_RING), MOV(2, 12), MOV(3, 0), CALL(ringbuf_reserve), JMP(BPF_JEQ, 0, 0, 6), ST(BPF_DW, 0, 0, 7),
	      ST(BPF_W, 0, 8, 8), MOVR(1, 0), MOV(2, 0), CALL(ringbuf_submit), MOV(0, 16), EXIT);
	GIVES(0, MAP(1, M_RING), MOV(2, 8), MOV(3, 0), CALL(ringbuf_reserve), MOVR(1, 0), MOV(2, 0), CALL(ringbuf_discard),
	      MOV(0, 0), EXIT);
	GIVES(0, ST(BPF_DW, 10, -8, 9), MOVR(2, 10), ALU(BPF_ADD, 2, -8), MOV(3, 8), MOV(4, 0), MAP(1, M_RING),
	      CALL(ringbuf_output), EXIT);
	GIVES(24 + 16 + 16, MAP(1, M_RING), MOV(2, BPF_RB_PROD_POS), CALL(ringbuf_query), EXIT);
	CHECK(vm_ring_peek(m, &data, &len) && len == 12 && data[0] == 7 && data[8] == 8);
	vm_ring_pop(m);
	CHECK_EQ(vm_ring_consumer(m), 24);
	CHECK(vm_ring_peek(m, &data, &len) && len == 8 && data[0] == 9);
	vm_ring_pop(m);
	CHECK(!vm_ring_peek(m, &data, &len));
	GIVES(0, MAP(1, M_RING), MOV(2, BPF_RB_AVAIL_DATA), CALL(ringbuf_query), EXIT);
	GIVES(4096, MAP(1, M_RING), MOV(2, BPF_RB_RING_SIZE), CALL(ringbuf_query), EXIT);
}

static void test_ring_errors(void)
{
	struct vm_map *m = vm_map(vm, M_RING);
	const u8 *data;
	u32 len, cnt = 0;

	REFUSED(-2, 5, "ring memory that is not reserved", MAP(1, M_RING), MOV(2, 8), MOV(3, 0), CALL(ringbuf_reserve),
		ST(BPF_DW, 0, 8, 1), EXIT);
	REFUSED(-2, 5, "without submitting or discarding a ring record of 8", MAP(1, M_RING), MOV(2, 8), MOV(3, 0),
		CALL(ringbuf_reserve), EXIT);
	REFUSED(-2, 9, "not reserved", MAP(1, M_RING), MOV(2, 8), MOV(3, 0), CALL(ringbuf_reserve), MOVR(6, 0), MOVR(1, 0),
		MOV(2, 0), CALL(ringbuf_submit), ST(BPF_DW, 6, 0, 1), MOV(0, 0), EXIT);
	REFUSED(-2, 2, "not a reserved ring record", MOV(1, 0), MOV(2, 0), CALL(ringbuf_submit), MOV(0, 0), EXIT);
	/* the records of failed runs are discarded */
	while (vm_ring_peek(m, &data, &len)) {
		vm_ring_pop(m);
		cnt++;
	}
	CHECK_EQ(cnt, 1);
	/* full, with one byte less than the size waiting at most; records run over the end of the memory */
	for (u32 lap = 0; lap < 5; lap++) {
		u64 r0 = 0;

		for (cnt = 0; !r0; cnt++)
			CHECK_EQ(
				RUN(&r0, MAPVAL(2, M_DATA, 0), MOV(3, 20), MOV(4, 0), MAP(1, M_RING), CALL(ringbuf_output), EXIT),
				0);
		CHECK_EQ(r0, -EAGAIN);
		CHECK_EQ(cnt - 1, 4095 / 32);
		for (cnt = 0; vm_ring_peek(m, &data, &len); cnt++) {
			CHECK(len == 20 && data[0] == 11);
			vm_ring_pop(m);
		}
		CHECK_EQ(cnt, 4095 / 32);
	}
	GIVES(0, MAP(1, M_RING), MOV(2, 4090), MOV(3, 0), CALL(ringbuf_reserve), EXIT);
}

/* ---- other helpers ---- */

static void test_env(void)
{
	static const u64 kstack[] = { 100, 200, 300 };
	struct vm_env *e = vm_env(vm);
	u64 r0, r1;

	CHECK_EQ(e->pid, getpid());
	CHECK_EQ(e->uid, getuid());
	e->pid = 1000;
	e->tid = 1001;
	e->ns_pid = 10;
	e->ns_tid = 11;
	e->uid = 5;
	e->gid = 6;
	e->cgroup_id = 77;
	e->cookie = 88;
	e->func_ip = 99;
	memcpy(e->comm, "tester", 7);
	GIVES(1000ull << 32 | 1001, CALL(get_current_pid_tgid), EXIT);
	GIVES(6ull << 32 | 5, CALL(get_current_uid_gid), EXIT);
	GIVES(77, CALL(get_current_cgroup_id), EXIT);
	GIVES(88, CALL(get_attach_cookie), EXIT);
	GIVES(99, CALL(get_func_ip), EXIT);
	REFUSED(-2, 1, "not the context", MOVR(1, 10), CALL(get_func_ip), EXIT);
	GIVES(e->task, CALL(get_current_task), EXIT);
	/* comm is padded with zeroes, cut with a NUL */
#define COMM(sz)                                                                                                                 \
	ST(BPF_DW, 10, -8, -1), MOVR(1, 10), ALU(BPF_ADD, 1, -8), MOV(2, sz), CALL(get_current_comm), LDX(BPF_DW, 0, 10, -8), EXIT
	GIVES(0x0000726574736574, COMM(8));
	GIVES(0xffffffff00736574, COMM(4));
	REFUSED(-2, 4, "bad size", COMM(0));
#define NS_PID(sz)                                                                                                               \
	MOVR(3, 10), ALU(BPF_ADD, 3, -16), MOV(1, 1), MOV(2, 2), MOV(4, sz), CALL(get_ns_current_pid_tgid),                      \
		JMP(BPF_JNE, 0, 0, 1), LDX(BPF_DW, 0, 10, -16), EXIT
	GIVES(10ull << 32 | 11, NS_PID(8));
	GIVES(-EINVAL, NS_PID(12));
	e->pidns_ino = 3;
	GIVES(-EINVAL, NS_PID(8));
	/* clocks and random numbers, real and fixed */
	CHECK(RUN(&r0, CALL(ktime_get_ns), EXIT) == 0 && RUN(&r1, CALL(ktime_get_ns), EXIT) == 0 && r0 && r1 >= r0);
	e->clock_fixed = true;
	e->clock_ns = 500;
	e->clock_step_ns = 3;
	e->boot_off_ns = 10000;
	GIVES(500, CALL(ktime_get_ns), EXIT);
	GIVES(10503, CALL(ktime_get_boot_ns), EXIT);
	GIVES(506, CALL(ktime_get_coarse_ns), EXIT);
	GIVES(509, CALL(ktime_get_tai_ns), EXIT);
	e->rand = 42;
	CHECK_EQ(RUN(&r0, CALL(get_prandom_u32), EXIT), 0);
	CHECK_EQ(RUN(&r1, CALL(get_prandom_u32), EXIT), 0);
	CHECK(r0 != r1);
	e->rand = 42;
	GIVES(r0, CALL(get_prandom_u32), EXIT);
	/* acts are recorded */
	GIVES(0, MOV(1, 9), CALL(send_signal), EXIT);
	CHECK(e->signal == 9 && e->signal_cnt == 1 && !e->signal_to_thread);
	GIVES(0, MOV(2, -12), CALL(override_return), EXIT);
	CHECK(e->override_ret == (u64)-12 && e->override_cnt == 1);
#define STACK(flags)                                                                                                             \
	MOVR(2, 10), ALU(BPF_ADD, 2, -16), MOV(3, 16), MOV(4, flags), CALL(get_stack), LDX(BPF_DW, 1, 10, -16),                  \
		ALUR(BPF_ADD, 0, 1), EXIT
	GIVES(-EFAULT, STACK(0));
	e->kstack = kstack;
	e->kstack_cnt = 3;
	GIVES(16 + 100, STACK(0));
	GIVES(8 + 300, STACK(2));
	GIVES(-EFAULT, STACK(BPF_F_USER_STACK));
}

/* dst at r10-16, 16 bytes of ones */
#define READ(helper, sz, addr)                                                                                                   \
	ST(BPF_DW, 10, -8, -1), ST(BPF_DW, 10, -16, -1), MOVR(1, 10), ALU(BPF_ADD, 1, -16), MOV(2, sz), LD64(3, addr),           \
		CALL(helper)
#define READ_DW(helper, sz, addr) READ(helper, sz, addr), LDX(BPF_DW, 0, 10, -16), EXIT

static void test_probe_read(void)
{
	static u64 word = 0x1122334455667788;
	static char text[] = "hello world, this is long";
	u8 *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 fake = 0xffff888012340000;

	GIVES(0, READ(probe_read_kernel, 8, (u64)&word), EXIT);
	GIVES(word, READ_DW(probe_read_kernel, 8, (u64)&word));
	GIVES(word, READ_DW(probe_read_user, 8, (u64)&word));
	GIVES(word, READ_DW(copy_from_user, 8, (u64)&word));
	GIVES(0xffffffff55667788, READ_DW(probe_read, 4, (u64)&word));
	/* failed reads: -EFAULT and zeroes */
	GIVES(-EFAULT, READ(probe_read_kernel, 8, fake), EXIT);
	GIVES(0, READ_DW(probe_read_kernel, 8, fake));
	GIVES(-ERANGE, READ(probe_read_kernel, 8, 16), EXIT);
	GIVES(-EFAULT, READ(probe_read, 8, 16), EXIT);
	GIVES(0xffffffff00000000, READ_DW(probe_read_user, 4, 16));
	GIVES(0, READ(probe_read_kernel, 0, 16), EXIT);
	/* strings: length with NUL; cut; up to the end of the last page there is */
	GIVES(6, READ(probe_read_user_str, 6, (u64)text), EXIT);
	GIVES(0xffffff006c6c6568, READ_DW(probe_read_kernel_str, 5, (u64)text));
	GIVES(16, READ(probe_read_str, 16, (u64)text), EXIT);
	memcpy(page + 4096 - 4, "end", 4);
	munmap(page + 4096, 4096);
	GIVES(4, READ(probe_read_user_str, 16, (u64)page + 4096 - 4), EXIT);
	GIVES(-EFAULT, READ(probe_read_user, 8, (u64)page + 4096 - 4), EXIT);
	page[4095] = 'x';
	GIVES(-EFAULT, READ(probe_read_user_str, 16, (u64)page + 4096 - 4), EXIT);
	munmap(page, 4096);
	/* regions: another address, one address space, plain access only when allowed */
	vm_region_add(vm, fake, text, sizeof(text), VM_REGION_KERNEL);
	GIVES(7, READ(probe_read_kernel_str, 16, fake + sizeof(text) - 7), EXIT);
	GIVES(-EFAULT, READ(probe_read_user_str, 16, fake), EXIT);
	GIVES(-EFAULT, READ(probe_read_kernel, 16, fake + sizeof(text) - 7), EXIT);
	REFUSED(-2, 2, "may not touch", LD64(1, fake), LDX(BPF_B, 0, 1, 0), EXIT);
	vm_region_drop(vm, fake);
	GIVES(-EFAULT, READ(probe_read_kernel, 8, fake), EXIT);
	vm_region_add(vm, fake, text, sizeof(text), VM_REGION_READ | VM_REGION_WRITE);
	GIVES('h', LD64(1, fake), LDX(BPF_B, 0, 1, 0), ST(BPF_B, 1, 0, 'j'), EXIT);
	CHECK_EQ(text[0], 'j');
	REFUSED(-2, 2, "may not touch", LD64(1, fake), LDX(BPF_DW, 0, 1, sizeof(text) - 7), EXIT);
	vm_region_drop(vm, fake);
	/* our stack and maps are kernel memory */
	GIVES(0, ST(BPF_DW, 10, -8, 5), MOVR(1, 10), ALU(BPF_ADD, 1, -16), MOV(2, 8), MOVR(3, 10), ALU(BPF_ADD, 3, -8),
	      CALL(probe_read_kernel), EXIT);
	GIVES(-EFAULT, ST(BPF_DW, 10, -8, 5), MOVR(1, 10), ALU(BPF_ADD, 1, -16), MOV(2, 8), MOVR(3, 10), ALU(BPF_ADD, 3, -8),
	      CALL(probe_read_user), EXIT);
	/* the destination is checked like any memory */
	REFUSED(-2, 4, "outside of its 512", MOVR(1, 10), ALU(BPF_ADD, 1, -4), MOV(2, 8), MOV(3, 0), CALL(probe_read_kernel),
		EXIT);
	REFUSED(-2, 3, "bad size -1", MOVR(1, 10), MOV(2, -1), MOV(3, 0), CALL(probe_read_kernel), EXIT);
	/* strncmp */
	memcpy(vm_map_mem(vm_map(vm, M_DATA)), "abcd\0abd\0", 10);
	GIVES(-1, MAPVAL(1, M_DATA, 0), MOV(2, 5), MAPVAL(3, M_DATA, 5), CALL(strncmp), EXIT);
	GIVES(0, MAPVAL(1, M_DATA, 0), MOV(2, 2), MAPVAL(3, M_DATA, 5), CALL(strncmp), EXIT);
	GIVES(1, MAPVAL(1, M_DATA, 5), MOV(2, 4), MAPVAL(3, M_DATA, 0), CALL(strncmp), EXIT);
}

/* ---- the object interface ---- */

static struct object *resend;
static u8 seen[64];
static u32 seen_cnt;

static void see(void *arg, const u8 *data, u32 len)
{
	CHECK(arg == seen && len >= sizeof(struct rec_head));
	if (seen_cnt < sizeof(seen))
		seen[seen_cnt++] = ((const struct rec_head *)data)->id;
	/* Sending while receiving must not go on for ever. */
	if (resend)
		CHECK_EQ(resend->ops->prog_run(resend, 0, NULL), 0);
}

/* r6 = the data ring's position; a data record with this id; a control record with this id and the position */
#define DATA_REC(id)                                                                                                             \
	ST(BPF_DW, 10, -8, id), MAP(1, MAP_IDX_RING), MOVR(2, 10), ALU(BPF_ADD, 2, -8), MOV(3, 8), MOV(4, 0), CALL(ringbuf_output)
#define CTRL_REC(id)                                                                                                             \
	MAP(1, MAP_IDX_RING), MOV(2, BPF_RB_PROD_POS), CALL(ringbuf_query), STX(BPF_DW, 10, -8, 0), ST(BPF_DW, 10, -16, id),     \
		MAP(1, MAP_IDX_CTRL), MOVR(2, 10), ALU(BPF_ADD, 2, -16), MOV(3, 16), MOV(4, 0), CALL(ringbuf_output)

static struct object *load(struct image *img, struct diag *d, struct insn *insns, u32 cnt)
{
	static struct line_info lines[] = { { 0, { 0, 0, 5 } }, { 2, { 0, 6, 11 } } };

	img->progs.cnt = 0;
	vec_push(&img->progs,
		 (struct image_prog){ .insns = insns, .insn_cnt = cnt, .lines = lines, .line_cnt = ARRAY_CNT(lines) });
	return vm_object_load(img, d);
}

#define LOAD(...) load(&img, &d, (struct insn[]){ __VA_ARGS__ }, sizeof((struct insn[]){ __VA_ARGS__ }) / sizeof(struct insn))

static void test_object(void)
{
	static const u8 order[] = { 1, 101, 2, 3, 102, 103, 4, 104 };
	const struct image_map defs[MAP_IDX_USER + 1] = {
		[MAP_IDX_DATA] = { .name = "data", .type = BPF_MAP_TYPE_ARRAY, .key_sz = 4, .value_sz = 128, .max_entries = 1 },
		[MAP_IDX_RING] = { .name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 4096 },
		[MAP_IDX_CTRL] = { .name = "ctrl", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 4096 },
		[MAP_IDX_USER] = { .name = "@x",
				   .type = BPF_MAP_TYPE_PERCPU_HASH,
				   .key_sz = 8,
				   .value_sz = 5,
				   .max_entries = 10 },
	};
	const char *script = "first\nsecond\n";
	struct image img = { .home.ncpus = 2 };
	struct map_dump dump;
	struct sbuf text = {};
	struct arena arena;
	struct object *o;
	struct diag d;
	u64 key = 3, value[2] = { 4, 5 }, result;

	arena_init(&arena);
	diag_init(&d, &arena);
	diag_add_source(&d, "x.bt", script, strlen(script));
	for (u32 i = 0; i < ARRAY_CNT(defs); i++)
		vec_push(&img.maps, defs[i]);
	/* both rings in the order of their writing, in one go and from the second run on too */
	o = LOAD(DATA_REC(1), CTRL_REC(101), DATA_REC(2), DATA_REC(3), CTRL_REC(102), CTRL_REC(103), DATA_REC(4), CTRL_REC(104),
		 EXIT);
	CHECK(o && d.error_cnt == 0);
	for (u32 i = 0; o && i < 3; i++) {
		seen_cnt = 0;
		CHECK_EQ(o->ops->prog_run(o, 0, NULL), 0);
		CHECK_EQ(o->ops->consume(o, see, seen), sizeof(order));
		CHECK(seen_cnt == sizeof(order) && memcmp(seen, order, sizeof(order)) == 0);
		CHECK_EQ(o->ops->consume(o, see, seen), 0);
	}
	CHECK_EQ(o->ops->poll_fd(o), -1);
	CHECK_EQ(o->ops->prog_run(o, 0, NULL), 0);
	resend = o;
	CHECK_EQ(o->ops->consume(o, see, seen), sizeof(order));
	resend = NULL;
	CHECK_EQ(o->ops->consume(o, see, seen), sizeof(order) * sizeof(order));
	/* maps */
	CHECK(o->ops->map_mem(o, MAP_IDX_DATA) && !o->ops->map_mem(o, MAP_IDX_RING) && !o->ops->map_mem(o, MAP_IDX_SCRATCH));
	CHECK_EQ(o->ops->map_update(o, MAP_IDX_USER, &key, value, BPF_ANY), 0);
	CHECK_EQ(o->ops->map_read(o, MAP_IDX_USER, &dump), 0);
	CHECK(dump.cnt == 1 && dump.key_sz == 8 && dump.cpu_cnt == 2 && dump.value_sz == 8 && dump.stride == 16);
	CHECK(dump.keys[0] == 3 && dump.values[0] == 4 && dump.values[8] == 5);
	map_dump_release(&dump);
	value[0] = 0;
	CHECK(o->ops->map_lookup(o, MAP_IDX_USER, &key, value) == 0 && value[0] == 4);
	CHECK_EQ(o->ops->map_delete(o, MAP_IDX_USER, &key, 1), 0);
	CHECK_EQ(o->ops->map_delete(o, MAP_IDX_USER, &key, 1), 0);
	CHECK_EQ(o->ops->map_read(o, MAP_IDX_USER, &dump), 0);
	CHECK_EQ(dump.cnt, 0);
	map_dump_release(&dump);
	CHECK_EQ(o->ops->map_read(o, MAP_IDX_RING, &dump), -EINVAL);
	o->ops->free(o);
	/* a context of the caller's; faults have the place in the script */
	o = LOAD(LDX(BPF_DW, 0, 1, 8), MOVR(2, 0), LDX(BPF_DW, 0, 2, 0), EXIT);
	CHECK_EQ(vm_object_run_ctx(o, 0, value, 8, &result), -EFAULT);
	value[1] = 1;
	CHECK_EQ(vm_object_run_ctx(o, 0, value, 16, &result), -EFAULT);
	CHECK_EQ(o->ops->prog_run(o, 5, NULL), -EINVAL);
	vm_object_env(o)->pid = 4;
	CHECK_EQ(vm_env(vm_object_vm(o))->pid, 4);
	o->ops->free(o);
	CHECK(!LOAD(MOV(0, 0), EXIT, MOV(0, 1), EXIT));
	img.maps.at[MAP_IDX_RING].max_entries = 100;
	CHECK(!LOAD(MOV(0, 0), EXIT));
	diag_print(&d, DIAG_ERROR, false, &text);
	CHECK_EQ(d.error_cnt, 4);
	CHECK(strstr(sbuf_str(&text),
		     "x.bt:1:1-6: ERROR: program ? in the interpreter: instruction 0 (r0 = *(u64 *)(r1 +8)): read of 8 bytes"));
	CHECK(strstr(
		sbuf_str(&text),
		"x.bt:2:1-6: ERROR: program ? in the interpreter: instruction 2 (r0 = *(u64 *)(r2 +0)): read of 8 bytes at 0x1"));
	CHECK(strstr(sbuf_str(&text), "instruction 2 (r0 = 1): this instruction is never reached"));
	CHECK(strstr(sbuf_str(&text), "ERROR: cannot create map ring in the interpreter: Invalid argument"));
	sbuf_release(&text);
	vec_free(&img.maps);
	vec_free(&img.progs);
	arena_release(&arena);
}

/* Anything at all may be handed in: it is refused or it runs, but never harms us. */
static void test_garbage(void)
{
	struct insn insns[24];
	u32 made = 0;
	u64 r0;

	vm_env(vm)->max_steps = 5000;
	for (u32 n = 0; n < 200000; n++) {
		u32 cnt = 1 + rnd() % (ARRAY_CNT(insns) - 1);

		for (u32 i = 0; i < cnt; i++) {
			u64 v = rnd();

			memcpy(&insns[i], &v, sizeof(v));
			insns[i].dst %= 11;
			insns[i].src = rnd() % 3 ? insns[i].src % 3 : 0;
			insns[i].off = rnd() % 3 ? 0 : -(s16)(rnd() % 64) + 8;
			insns[i].imm = rnd() % 3 ? 0 : insns[i].imm >> (rnd() % 32);
			if (rnd() % 3 == 0)
				insns[i] = rnd() % 2 ? MOV(rnd() % 10, rnd() % 40) : MOVR(rnd() % 10, 10);
		}
		insns[cnt] = EXIT;
		made += run_insns(insns, cnt + 1, &r0) != -1;
	}
	CHECK(made > 1000);
}

int main(void)
{
	setlinebuf(stdout);
	vm = vm_new(NCPUS);
	vm_env(vm)->cpu = 0;
	add_maps();
	test_alu_random();
	test_jmp_random();
	test_moves();
	test_memory();
	test_atomics();
	test_malformed();
	test_violations();
	test_calls();
	test_loop();
	test_map_defs();
	test_hash();
	test_lru();
	test_percpu();
	test_array();
	test_for_each();
	test_ring();
	test_ring_errors();
	test_env();
	test_probe_read();
	test_object();
	test_garbage();
	vm_free(vm);
	return check_end();
}
