/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of BPF instructions: each form once, then every code, so that none is without a text or reads past the program. */
#include <stdlib.h>

#include "image/disasm.h"
#include "vm_asm.h"

static const char *text_of(const struct insn *i, u32 left)
{
	static struct sbuf b;

	sbuf_reset(&b);
	insn_print(i, left, &b);
	return sbuf_str(&b);
}

static void test_forms(void)
{
	static const struct {
		struct insn insn[2];
		const char *text;
	} forms[] = {
		{ { MOV(1, -5) }, "r1 = -5" },
		{ { MOVR(6, 1) }, "r6 = r1" },
		{ { INSN(BPF_ALU | BPF_MOV | BPF_X, 6, 1, 0, 0) }, "w6 = w1" },
		{ { INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 8, 0) }, "r6 = (s8)r1" },
		{ { INSN(BPF_ALU | BPF_MOV | BPF_X, 6, 1, 16, 0) }, "w6 = (s16)w1" },
		{ { ALU(BPF_ADD, 2, 7) }, "r2 += 7" },
		{ { ALU(BPF_ARSH, 2, 7) }, "r2 s>>= 7" },
		{ { ALUR(BPF_DIV, 2, 3) }, "r2 /= r3" },
		{ { INSN(BPF_ALU64 | BPF_DIV | BPF_X, 2, 3, 1, 0) }, "r2 s/= r3" },
		{ { INSN(BPF_ALU | BPF_MOD | BPF_K, 2, 0, 1, 9) }, "w2 s%= 9" },
		{ { INSN(BPF_ALU64 | BPF_NEG, 4, 0, 0, 0) }, "r4 = -r4" },
		{ { INSN(BPF_ALU | BPF_END | BPF_TO_BE, 4, 0, 0, 16) }, "r4 = be16 r4" },
		{ { INSN(BPF_ALU | BPF_END | BPF_TO_LE, 4, 0, 0, 64) }, "r4 = le64 r4" },
		{ { INSN(BPF_ALU64 | BPF_END, 4, 0, 0, 32) }, "r4 = bswap32 r4" },
		{ { LDX(BPF_DW, 1, 2, 8) }, "r1 = *(u64 *)(r2 +8)" },
		{ { LDSX(BPF_H, 1, 2, -8) }, "r1 = *(s16 *)(r2 -8)" },
		{ { STX(BPF_B, 10, -1, 3) }, "*(u8 *)(r10 -1) = r3" },
		{ { ST(BPF_W, 10, -4, -1) }, "*(u32 *)(r10 -4) = -1" },
		{ { ATOMIC(BPF_DW, BPF_ADD, 1, 0, 2) }, "lock *(u64 *)(r1 +0) += r2" },
		{ { ATOMIC(BPF_W, BPF_XOR, 1, 4, 2) }, "lock *(u32 *)(r1 +4) ^= r2" },
		{ { ATOMIC(BPF_DW, BPF_ADD | BPF_FETCH, 1, 0, 2) }, "r2 = fetch_add(u64 *)(r1 +0), r2" },
		{ { ATOMIC(BPF_DW, BPF_OR | BPF_FETCH, 1, 0, 2) }, "r2 = fetch_or(u64 *)(r1 +0), r2" },
		{ { ATOMIC(BPF_DW, BPF_XCHG, 1, 0, 2) }, "r2 = xchg(u64 *)(r1 +0), r2" },
		{ { ATOMIC(BPF_DW, BPF_CMPXCHG, 1, 0, 2) }, "r0 = cmpxchg(u64 *)(r1 +0), r0, r2" },
		{ { ATOMIC(BPF_DW, 0xf0, 1, 0, 2) }, "atomic 0xf0 *(u64 *)(r1 +0), r2" },
		{ { LD64(1, 0x123456789abcdef0) }, "r1 = 0x123456789abcdef0" },
		{ { MAP(1, 3) }, "r1 = map[3]" },
		{ { MAPVAL(1, 3, 16) }, "r1 = map[3].value + 16" },
		{ { FUNC(2, 5) }, "r2 = function pc+5" },
		{ { JMP(BPF_JSLE, 1, -1, 3) }, "if r1 s<= -1 goto pc+3" },
		{ { INSN(BPF_JMP32 | BPF_JSET | BPF_X, 1, 2, -3, 0) }, "if w1 & w2 goto pc-3" },
		{ { JA(-2) }, "goto pc-2" },
		{ { INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 70000) }, "goto pc+70000" },
		{ { CALL(ktime_get_ns) }, "call ktime_get_ns#5" },
		{ { INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 99999) }, "call unknown#99999" },
		{ { INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 7) }, "call kfunc#7" },
		{ { CALLFN(-7) }, "call pc-7" },
		{ { EXIT }, "exit" },
	};

	for (u32 i = 0; i < ARRAY_CNT(forms); i++) {
		const char *got = text_of(forms[i].insn, 2);

		CHECK(str_eq(got, forms[i].text), "%s, not %s", got, forms[i].text);
	}
}

static void test_every_code(void)
{
	struct insn *one = xzalloc(sizeof(*one)); /* the sanitizer sees a read behind it */

	for (u32 code = 0; code < 256; code++)
		for (u32 src = 0; src < 16; src++) {
			*one = INSN(code, 1, src, 1, code);
			if (!*text_of(one, 1) || strstr(text_of(one, 1), "(null)"))
				CHECK(!"text", "code 0x%x, register %u: %s", code, src, text_of(one, 1));
		}
	CHECK(str_eq(text_of(&INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 9), 1), "r1 = 0x9"));
	free(one);
}

int main(void)
{
	test_forms();
	test_every_code();
	return check_end();
}
