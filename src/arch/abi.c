/* SPDX-License-Identifier: GPL-2.0-only */
/* To add an architecture: one block of tables below. The offsets are those of the kernel's struct pt_regs (x86-64) or struct
 * user_pt_regs (arm64), which is what BPF programs of the kprobe and perf_event kinds get as their context; both are part of the
 * kernel's stable interface. */
#include "arch/abi.h"

#include "base/diag.h"

#if defined(__x86_64__)

static const struct abi_reg regs[] = {
	{ "r15", 0 },  { "r14", 8 },     { "r13", 16 }, { "r12", 24 },       { "bp", 32 },  { "bx", 40 },
	{ "r11", 48 }, { "r10", 56 },    { "r9", 64 },  { "r8", 72 },        { "ax", 80 },  { "cx", 88 },
	{ "dx", 96 },  { "si", 104 },    { "di", 112 }, { "orig_rax", 120 }, { "ip", 128 }, { "pc", 128 },
	{ "cs", 136 }, { "flags", 144 }, { "sp", 152 }, { "ss", 160 },
};

const struct abi abi = {
	.name = "x86_64",
	.regs = regs,
	.reg_cnt = ARRAY_CNT(regs),
	.arg_off = { 112, 104, 96, 88, 72, 64 }, /* di si dx cx r8 r9 */
	.arg_cnt = 6,
	.go_arg_off = { 80, 40, 88, 112, 104, 72, 64, 56, 48 }, /* ax bx cx di si r8 r9 r10 r11 */
	.go_arg_cnt = 9,
	.ret_off = 80,
	.ip_off = 128,
	.sp_off = 152,
	.ret_on_stack = true,
	.dwarf_off = { 80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0 }, /* ax dx cx bx si di bp sp r8 … r15 */
	.dwarf_cnt = 16,
	.sys_arg_off = { 112, 104, 96, 56, 72, 64 }, /* di si dx r10 r8 r9: the syscall instruction needs cx for itself */
	.sys_nr_off = 120,
};

#elif defined(__aarch64__)

static const struct abi_reg regs[] = {
	{ "r0", 0 },    { "r1", 8 },    { "r2", 16 },   { "r3", 24 },   { "r4", 32 },   { "r5", 40 },      { "r6", 48 },
	{ "r7", 56 },   { "r8", 64 },   { "r9", 72 },   { "r10", 80 },  { "r11", 88 },  { "r12", 96 },     { "r13", 104 },
	{ "r14", 112 }, { "r15", 120 }, { "r16", 128 }, { "r17", 136 }, { "r18", 144 }, { "r19", 152 },    { "r20", 160 },
	{ "r21", 168 }, { "r22", 176 }, { "r23", 184 }, { "r24", 192 }, { "r25", 200 }, { "r26", 208 },    { "r27", 216 },
	{ "r28", 224 }, { "r29", 232 }, { "r30", 240 }, { "sp", 248 },  { "pc", 256 },  { "pstate", 264 },
};

const struct abi abi = {
	.name = "arm64",
	.regs = regs,
	.reg_cnt = ARRAY_CNT(regs),
	.arg_off = { 0, 8, 16, 24, 32, 40, 48, 56 },
	.arg_cnt = 8,
	.go_arg_off = { 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120 },
	.go_arg_cnt = 16,
	.ret_off = 0,
	.ip_off = 256,
	.sp_off = 248,
	.dwarf_off = { 0,   8,   16,  24,  32,  40,  48,  56,  64,  72,  80,  88,  96,  104, 112, 120,
		       128, 136, 144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248 },
	.dwarf_cnt = 32,
	.sys_arg_off = { 272, 8, 16, 24, 32, 40 }, /* orig_x0: x0 becomes the result */
	.sys_nr_off = 280,
};

#else
#error "no register table for this architecture"
#endif

bool abi_find_reg(const char *name, u32 *off)
{
	for (u32 i = 0; i < abi.reg_cnt; i++) {
		if (str_eq(abi.regs[i].name, name)) {
			*off = abi.regs[i].off;
			return true;
		}
	}
	return false;
}

const char *abi_nearest_reg(const char *name)
{
	const char *names[64];

	BUG_ON(abi.reg_cnt > ARRAY_CNT(names));
	for (u32 i = 0; i < abi.reg_cnt; i++)
		names[i] = abi.regs[i].name;
	return nearest_name(name, names, abi.reg_cnt);
}
