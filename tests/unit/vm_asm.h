/* SPDX-License-Identifier: GPL-2.0-only */
/* For the tests of the interpreter: checks, an assembler, random numbers with a fixed seed. */
#pragma once

#include <stdio.h>

#include "check.h"
#include "image/uapi.h"
#include "vm/vm.h"

#define CHECK_EQ(a, b)                                                                                                           \
	do {                                                                                                                     \
		u64 a_ = (u64)(a), b_ = (u64)(b);                                                                                \
		if (a_ == b_) {                                                                                                  \
			CHECK_PASSED();                                                                                          \
		} else {                                                                                                         \
			failed++;                                                                                                \
			printf("%s:%d: %s is 0x%llx, not 0x%llx\n", __FILE__, __LINE__, #a, (unsigned long long)a_,              \
			       (unsigned long long)b_);                                                                          \
		}                                                                                                                \
	} while (0)

/* ---- assembler ---- */

#define INSN(c, d, s, o, i) ((struct insn){ .code = (u8)(c), .dst = (d), .src = (s), .off = (s16)(o), .imm = (s32)(i) })
#define MOV(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU(op, d, i) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALUR(op, d, s) INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LD64_KIND(d, kind, lo, hi) INSN(BPF_LD | BPF_IMM | BPF_DW, d, kind, 0, lo), INSN(0, 0, 0, 0, hi)
#define LD64(d, v) LD64_KIND(d, 0, (u32)(v), (u32)((u64)(v) >> 32))
#define MAP(d, m) LD64_KIND(d, BPF_PSEUDO_MAP_FD, m, 0)
#define MAPVAL(d, m, off) LD64_KIND(d, BPF_PSEUDO_MAP_VALUE, m, off)
#define FUNC(d, rel) LD64_KIND(d, BPF_PSEUDO_FUNC, rel, 0)
#define LDX(sz, d, s, o) INSN(BPF_LDX | BPF_MEM | (sz), d, s, o, 0)
#define LDSX(sz, d, s, o) INSN(BPF_LDX | BPF_MEMSX | (sz), d, s, o, 0)
#define STX(sz, d, o, s) INSN(BPF_STX | BPF_MEM | (sz), d, s, o, 0)
#define ST(sz, d, o, i) INSN(BPF_ST | BPF_MEM | (sz), d, 0, o, i)
#define ATOMIC(sz, op, d, o, s) INSN(BPF_STX | BPF_ATOMIC | (sz), d, s, o, op)
#define JMP(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JA(o) INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(h) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_##h)
#define CALLFN(rel) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static u64 rng = 88172645463325252ull;

static inline u64 rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/* Numbers with a liking for the edges. */
static inline u64 rnd_value(void)
{
	static const u64 edges[] = { 0,
				     1,
				     2,
				     ~0ull,
				     ~1ull,
				     1ull << 63,
				     (1ull << 63) - 1,
				     1ull << 31,
				     (1ull << 31) - 1,
				     0xffffffff,
				     1ull << 32,
				     0xffffffff80000000,
				     0x7f,
				     0x80,
				     0xff,
				     0x7fff,
				     0x8000,
				     0xffff,
				     63,
				     64,
				     31,
				     32 };

	switch (rnd() % 4) {
	case 0:
		return edges[rnd() % ARRAY_CNT(edges)];
	case 1:
		return rnd() >> (rnd() % 64);
	case 2:
		return (u64) - (s64)(rnd() % 300);
	}
	return rnd();
}

static const u8 conds[] = {
	BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE, BPF_JLT, BPF_JLE, BPF_JSLT, BPF_JSLE
};
