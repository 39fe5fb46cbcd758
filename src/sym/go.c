/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/go.h"

#include <stdlib.h>

#include "sym/gopclntab.h"
#include "sym/insn.h"

#define REGISTERS_SINCE 17 /* Go 1.17 passes arguments in registers */

/* "go1.19.8" → 19; 0: something else ("devel …") */
static u32 minor_version(struct bytes text)
{
	u32 v = 0;

	if (text.len < 5 || memcmp(text.at, "go1.", 4) != 0)
		return 0;
	for (size_t i = 4; i < text.len && text.at[i] >= '0' && text.at[i] <= '9' && v < 1000; i++)
		v = 10 * v + (text.at[i] - '0');
	return v;
}

/* The section .go.buildinfo: 14 bytes of magic, size of pointers, flags; then (flag 2, since Go 1.18) the version at byte 32,
 * length first; or the address of a Go string, which is an address and a length. */
static u32 go_version(struct sym_elf *e)
{
	static const char magic[14] = "\xff Go buildinf:";
	struct bytes b = objfile_section_named(sym_elf_file(e), ".go.buildinfo"), s;
	u64 addr, str[2];

	if (b.len < 34 || memcmp(b.at, magic, sizeof(magic)) != 0)
		return 0;
	if (b.at[15] & 2) /* its length is below 128, so it takes one byte */
		return minor_version((struct bytes){ b.at + 33, MIN(b.at[32], b.len - 33) });
	memcpy(&addr, b.at + 16, sizeof(addr));
	s = sym_elf_bytes(e, addr, sizeof(str));
	if (s.len < sizeof(str))
		return 0;
	memcpy(str, s.at, sizeof(str));
	return minor_version(sym_elf_bytes(e, str[0], str[1]));
}

void go_file_look(struct sym_elf *e, struct go_file *out)
{
	const struct objfile *o = sym_elf_file(e);
	struct go_table table;
	u64 size;
	u32 minor;

	*out = (struct go_file){ .text_hi = UINT64_MAX };
	for (u32 i = 1; i < o->sh_cnt && !out->is_go; i++) {
		const char *name = objfile_section_name(o, i);

		/* .gopclntab is called .data.rel.ro.gopclntab in position-independent files */
		out->is_go = str_eq(name, ".go.buildinfo") || strstr(name, ".gopclntab");
	}
	if (!out->is_go)
		return;
	minor = go_version(e);
	out->on_stack = minor && minor < REGISTERS_SINCE;
	if (sym_elf_symbol(e, "runtime.text", &out->text_lo, &size) && sym_elf_symbol(e, "runtime.etext", &out->text_hi, &size))
		return;
	if (go_table_open(sym_elf_file(e), &table)) {
		out->text_lo = table.lo;
		out->text_hi = table.hi;
	} else {
		out->text_lo = 0;
		out->text_hi = UINT64_MAX;
	}
}

bool go_has(const struct go_file *g, const struct sym_func *f)
{
	return g->is_go && f->addr >= g->text_lo && f->addr < g->text_hi;
}

bool go_on_stack(const struct go_file *g, const struct sym_func *f)
{
	size_t len = strlen(f->name);

	return go_has(g, f) && (g->on_stack || (len > 5 && str_eq(f->name + len - 5, ".abi0")));
}

u64 go_entry(struct sym_elf *e, const struct sym_func *f)
{
#if defined(__x86_64__)
	/* cmp 0x10(%r14),%rsp or %r12, into which an earlier instruction put how far down a large frame reaches (before 1.17
	 * 0x10(%rcx), and %rax); jbe */
	static const u8 looks[][4] = {
		{ 0x49, 0x3b, 0x66, 0x10 }, { 0x4d, 0x3b, 0x66, 0x10 }, { 0x48, 0x3b, 0x61, 0x10 }, { 0x48, 0x3b, 0x41, 0x10 }
	};
	struct bytes b = sym_elf_bytes(e, f->addr, f->size);

	for (u32 at = 0, n, tries = 8; tries > 0 && at < b.len && (n = insn_decode(b.at + at, b.len - at).len);
	     at += n, tries--) {
		const u8 *p = b.at + at;
		bool is_look = false;

		for (u32 i = 0; n == 4 && b.len - at >= 10 && i < ARRAY_CNT(looks); i++)
			is_look |= !memcmp(p, looks[i], 4);
		if (!is_look)
			continue;
		if (p[4] == 0x76)
			return f->addr + at + 6;
		if (p[4] == 0x0f && p[5] == 0x86)
			return f->addr + at + 10;
		break;
	}
#endif
	return f->addr;
}

bool go_returns(struct sym_elf *e, const struct sym_func *f, go_addrs *out)
{
	struct bytes b = sym_elf_bytes(e, f->addr, f->size);

	if (!b.len)
		return false;
	for (u64 at = 0; at < b.len;) {
		struct machine_insn insn = insn_decode(b.at + at, b.len - at);

		if (!insn.len)
			return false;
		if (insn.is_return)
			vec_push(out, f->addr + at);
		at += insn.len;
	}
	return true;
}
