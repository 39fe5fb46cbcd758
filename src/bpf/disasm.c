/* Instructions as text, in the notation of the kernel's verifier and of bpftool. */
#include "bpf/backend.h"
#include "kern/uapi.h"

static const char *const alu_text[16] = { "+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=" };
static const char *const jmp_text[16] = { "", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=" };
static const char *const size_text[4] = { "u32", "u16", "u8", "u64" };

static const char *const helper_names[HELPER_CNT] = {
#define HELPER_ROW(name, number) [number] = #name,
#include "kern/helper.def"
#undef HELPER_ROW
};

const char *helper_name(u32 number)
{
	return number < HELPER_CNT && helper_names[number] ? helper_names[number] : "unknown";
}

static void print_alu(const struct insn *i, struct sbuf *out)
{
	char r = (i->code & 7) == BPF_ALU64 ? 'r' : 'w';
	u8 op = i->code & 0xf0;

	if (op == BPF_NEG)
		sbuf_printf(out, "%c%u = -%c%u", r, i->dst, r, i->dst);
	else if (op == BPF_END)
		sbuf_printf(out, "r%u = %s%d r%u", i->dst, i->code & BPF_TO_BE ? "be" : "le", i->imm, i->dst);
	else if (i->code & BPF_X)
		sbuf_printf(out, "%c%u %s %c%u", r, i->dst, alu_text[op >> 4], r, i->src);
	else
		sbuf_printf(out, "%c%u %s %d", r, i->dst, alu_text[op >> 4], i->imm);
}

static void print_jmp(const struct insn *i, struct sbuf *out)
{
	char r = (i->code & 7) == BPF_JMP ? 'r' : 'w';
	u8 op = i->code & 0xf0;

	if (op == BPF_CALL) {
		if (i->src == 0 && (u32)i->imm < ARRAY_CNT(helper_names) && helper_names[i->imm])
			sbuf_printf(out, "call %s#%d", helper_names[i->imm], i->imm);
		else
			sbuf_printf(out, "call pc%+d", i->imm);
	} else if (op == BPF_EXIT) {
		sbuf_puts(out, "exit");
	} else if (op == BPF_JA) {
		sbuf_printf(out, "goto pc%+d", i->off);
	} else if (i->code & BPF_X) {
		sbuf_printf(out, "if %c%u %s %c%u goto pc%+d", r, i->dst, jmp_text[op >> 4], r, i->src, i->off);
	} else {
		sbuf_printf(out, "if %c%u %s %d goto pc%+d", r, i->dst, jmp_text[op >> 4], i->imm, i->off);
	}
}

static void print_atomic(const struct insn *i, struct sbuf *out)
{
	const char *size = size_text[i->code >> 3 & 3];

	if (i->imm == BPF_CMPXCHG)
		sbuf_printf(out, "r0 = cmpxchg(%s *)(r%u %+d), r0, r%u", size, i->dst, i->off, i->src);
	else if (i->imm & BPF_FETCH)
		sbuf_printf(out, "r%u = fetch_add(%s *)(r%u %+d), r%u", i->src, size, i->dst, i->off, i->src);
	else
		sbuf_printf(out, "lock *(%s *)(r%u %+d) %s r%u", size, i->dst, i->off, alu_text[i->imm >> 4 & 15], i->src);
}

void insn_print(const struct insn *i, struct sbuf *out)
{
	const char *size = size_text[i->code >> 3 & 3];

	switch (i->code & 7) {
	case BPF_ALU: case BPF_ALU64:
		print_alu(i, out);
		return;
	case BPF_JMP: case BPF_JMP32:
		print_jmp(i, out);
		return;
	case BPF_LDX:
		sbuf_printf(out, "r%u = *(%s *)(r%u %+d)", i->dst, size, i->src, i->off);
		return;
	case BPF_ST:
		sbuf_printf(out, "*(%s *)(r%u %+d) = %d", size, i->dst, i->off, i->imm);
		return;
	case BPF_STX:
		if ((i->code & 0xe0) == BPF_ATOMIC)
			print_atomic(i, out);
		else
			sbuf_printf(out, "*(%s *)(r%u %+d) = r%u", size, i->dst, i->off, i->src);
		return;
	case BPF_LD:
		if (i->src == BPF_PSEUDO_MAP_FD)
			sbuf_printf(out, "r%u = map[%d]", i->dst, i->imm);
		else if (i->src == BPF_PSEUDO_MAP_VALUE)
			sbuf_printf(out, "r%u = map[%d].value + %d", i->dst, i->imm, i[1].imm);
		else if (i->src == BPF_PSEUDO_FUNC)
			sbuf_printf(out, "r%u = function pc%+d", i->dst, i->imm);
		else
			sbuf_printf(out, "r%u = 0x%llx", i->dst, (unsigned long long)((u64)(u32)i[1].imm << 32 | (u32)i->imm));
		return;
	}
}
