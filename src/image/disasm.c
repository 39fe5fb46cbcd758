/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/disasm.h"

/* By BPF_OP() of the code, or of the immediate for atomic operations. NULL: no such operation. */
static const char *const alu_text[16] = {
	[BPF_ADD >> 4] = "+=", [BPF_SUB >> 4] = "-=",  [BPF_MUL >> 4] = "*=",  [BPF_DIV >> 4] = "/=",
	[BPF_MOD >> 4] = "%=", [BPF_OR >> 4] = "|=",   [BPF_AND >> 4] = "&=",  [BPF_XOR >> 4] = "^=",
	[BPF_MOV >> 4] = "=",  [BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=", [BPF_ARSH >> 4] = "s>>=",
};
static const char *const jmp_text[16] = {
	[BPF_JEQ >> 4] = "==",   [BPF_JNE >> 4] = "!=",  [BPF_JSET >> 4] = "&",   [BPF_JGT >> 4] = ">",
	[BPF_JGE >> 4] = ">=",   [BPF_JLT >> 4] = "<",   [BPF_JLE >> 4] = "<=",   [BPF_JSGT >> 4] = "s>",
	[BPF_JSGE >> 4] = "s>=", [BPF_JSLT >> 4] = "s<", [BPF_JSLE >> 4] = "s<=",
};
static const char *const fetch_text[16] = {
	[BPF_ADD >> 4] = "fetch_add", [BPF_OR >> 4] = "fetch_or", [BPF_AND >> 4] = "fetch_and",
	[BPF_XOR >> 4] = "fetch_xor", [BPF_XCHG >> 4] = "xchg",
};

static const char *const helper_names[HELPER_CNT] = {
#define HELPER_ROW(name, number) [number] = #name,
#include "image/helper.def"
#undef HELPER_ROW
};

const char *helper_name(u32 number)
{
	return number < HELPER_CNT && helper_names[number] ? helper_names[number] : "unknown";
}

static const char *size_text(u8 code)
{
	return BPF_SIZE(code) == BPF_B ? "8" : BPF_SIZE(code) == BPF_H ? "16" : BPF_SIZE(code) == BPF_W ? "32" : "64";
}

static void print_unknown(const struct insn *i, struct sbuf *out)
{
	sbuf_printf(out, "code 0x%02x", i->code);
}

/* The right-hand side: a register or a constant. */
static void print_rhs(const struct insn *i, char r, struct sbuf *out)
{
	if (BPF_SRC(i->code) == BPF_X)
		sbuf_printf(out, "%c%u", r, i->src);
	else
		sbuf_printf(out, "%d", i->imm);
}

static void print_alu(const struct insn *i, struct sbuf *out)
{
	bool is_64 = BPF_CLASS(i->code) == BPF_ALU64;
	char r = is_64 ? 'r' : 'w';
	u8 op = BPF_OP(i->code);

	if (op == BPF_NEG) {
		sbuf_printf(out, "%c%u = -%c%u", r, i->dst, r, i->dst);
	} else if (op == BPF_END) {
		sbuf_printf(out, "r%u = %s%d r%u", i->dst,
			    is_64                                 ? "bswap" :
				    BPF_SRC(i->code) == BPF_TO_BE ? "be" :
								    "le",
			    i->imm, i->dst);
	} else if (op == BPF_MOV && i->off) {
		sbuf_printf(out, "%c%u = (s%d)", r, i->dst, i->off);
		print_rhs(i, r, out);
	} else if (alu_text[op >> 4]) {
		sbuf_printf(out, "%c%u %s%s ", r, i->dst, i->off ? "s" : "", alu_text[op >> 4]);
		print_rhs(i, r, out);
	} else {
		print_unknown(i, out);
	}
}

static void print_jmp(const struct insn *i, struct sbuf *out)
{
	bool is_64 = BPF_CLASS(i->code) == BPF_JMP;
	char r = is_64 ? 'r' : 'w';
	u8 op = BPF_OP(i->code);

	if (op == BPF_CALL) {
		if (i->src == BPF_PSEUDO_CALL)
			sbuf_printf(out, "call pc%+d", i->imm);
		else
			sbuf_printf(out, "call %s#%d", i->src ? "kfunc" : helper_name(i->imm), i->imm);
	} else if (op == BPF_EXIT) {
		sbuf_puts(out, "exit");
	} else if (op == BPF_JA) {
		sbuf_printf(out, "goto pc%+d", is_64 ? i->off : i->imm);
	} else if (jmp_text[op >> 4]) {
		sbuf_printf(out, "if %c%u %s ", r, i->dst, jmp_text[op >> 4]);
		print_rhs(i, r, out);
		sbuf_printf(out, " goto pc%+d", i->off);
	} else {
		print_unknown(i, out);
	}
}

static void print_atomic(const struct insn *i, struct sbuf *out)
{
	const char *size = size_text(i->code);
	u8 op = BPF_OP(i->imm);

	if (i->imm == BPF_CMPXCHG)
		sbuf_printf(out, "r0 = cmpxchg(u%s *)(r%u %+d), r0, r%u", size, i->dst, i->off, i->src);
	else if (i->imm & BPF_FETCH && fetch_text[op >> 4])
		sbuf_printf(out, "r%u = %s(u%s *)(r%u %+d), r%u", i->src, fetch_text[op >> 4], size, i->dst, i->off, i->src);
	else if (!(i->imm & BPF_FETCH) && alu_text[op >> 4])
		sbuf_printf(out, "lock *(u%s *)(r%u %+d) %s r%u", size, i->dst, i->off, alu_text[op >> 4], i->src);
	else
		sbuf_printf(out, "atomic 0x%x *(u%s *)(r%u %+d), r%u", i->imm, size, i->dst, i->off, i->src);
}

static void print_wide(const struct insn *i, u32 left, struct sbuf *out)
{
	u32 high = left > 1 ? (u32)i[1].imm : 0;

	if (i->src == BPF_PSEUDO_MAP_FD)
		sbuf_printf(out, "r%u = map[%d]", i->dst, i->imm);
	else if (i->src == BPF_PSEUDO_MAP_VALUE)
		sbuf_printf(out, "r%u = map[%d].value + %d", i->dst, i->imm, (s32)high);
	else if (i->src == BPF_PSEUDO_FUNC)
		sbuf_printf(out, "r%u = function pc%+d", i->dst, i->imm);
	else
		sbuf_printf(out, "r%u = 0x%llx", i->dst, (unsigned long long)((u64)high << 32 | (u32)i->imm));
}

void insn_print(const struct insn *i, u32 left, struct sbuf *out)
{
	const char *size = size_text(i->code);

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		print_alu(i, out);
		return;
	case BPF_JMP:
	case BPF_JMP32:
		print_jmp(i, out);
		return;
	case BPF_LDX:
		sbuf_printf(out, "r%u = *(%c%s *)(r%u %+d)", i->dst, BPF_MODE(i->code) == BPF_MEMSX ? 's' : 'u', size, i->src,
			    i->off);
		return;
	case BPF_ST:
		sbuf_printf(out, "*(u%s *)(r%u %+d) = %d", size, i->dst, i->off, i->imm);
		return;
	case BPF_STX:
		if (BPF_MODE(i->code) == BPF_ATOMIC)
			print_atomic(i, out);
		else
			sbuf_printf(out, "*(u%s *)(r%u %+d) = r%u", size, i->dst, i->off, i->src);
		return;
	case BPF_LD:
		if (insn_is_wide(i))
			print_wide(i, left, out);
		else
			print_unknown(i, out);
		return;
	}
}
