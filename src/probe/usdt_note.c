/* SPDX-License-Identifier: GPL-2.0-only */
/* A probe of USDT is a nop in the code, and a note about it in the section .note.stapsdt, which is not loaded:
 *
 *     name "stapsdt", type 3
 *     u64   address of the nop
 *     u64   address of the section .stapsdt.base
 *     u64   address of the semaphore, 0: none
 *     "provider\0" "name\0" "arguments\0"
 *
 * The addresses are those at link time. Tools that move a file's segments later (prelink) do not update this note, but they move
 * .stapsdt.base, an empty section for this purpose: its current address minus the one in the note is the distance by which
 * everything was moved.
 *
 * The semaphore is a u16 in the program's data. The program computes costly arguments only while it is not zero. The kernel
 * increments and decrements it when the probe is attached and detached, given its file offset.
 *
 * The arguments are operands in assembler syntax: the macro is inline assembler, the compiler chooses the location of each
 * argument, and the note has "N@%op":
 *
 *     8@%rax   -4@%edi   1@%ah   2@$-5   8@-24(%rbp)   -4@(%rax,%rdx,4)   4@counter(%rip)   8@table+16(,%rcx,8)   8@$name
 * 8f@%xmm0
 *
 * N is the size in bytes, negative for signed types; f marks floating-point numbers, whose registers are not available to a
 * probe. A symbol's address is known relative to the probe: both are moved by the same amount when the file is loaded, and the
 * address of the probe comes with the event.
 */
#include "probe/usdt_note.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "arch/abi.h"
#include "sym/archive.h"
#include "sym/elf.h"

#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3

/* ---- operands of x86-64 ---- */

struct reg {
	u16 off; /* in struct pt_regs */
	u8 size;
	u8 shift;
	bool is_ip;
};

/* The name behind the '%'. */
static bool find_reg(const char *s, size_t len, struct reg *out)
{
	static const struct {
		const char *names[4]; /* by size: 8, 4, 2, 1 */
		const char *abi;
	} regs[] = {
		{ { "rax", "eax", "ax", "al" }, "ax" },       { { "rbx", "ebx", "bx", "bl" }, "bx" },
		{ { "rcx", "ecx", "cx", "cl" }, "cx" },       { { "rdx", "edx", "dx", "dl" }, "dx" },
		{ { "rsi", "esi", "si", "sil" }, "si" },      { { "rdi", "edi", "di", "dil" }, "di" },
		{ { "rbp", "ebp", "bp", "bpl" }, "bp" },      { { "rsp", "esp", "sp", "spl" }, "sp" },
		{ { "r8", "r8d", "r8w", "r8b" }, "r8" },      { { "r9", "r9d", "r9w", "r9b" }, "r9" },
		{ { "r10", "r10d", "r10w", "r10b" }, "r10" }, { { "r11", "r11d", "r11w", "r11b" }, "r11" },
		{ { "r12", "r12d", "r12w", "r12b" }, "r12" }, { { "r13", "r13d", "r13w", "r13b" }, "r13" },
		{ { "r14", "r14d", "r14w", "r14b" }, "r14" }, { { "r15", "r15d", "r15w", "r15b" }, "r15" },
		{ { "rip", "eip", NULL, NULL }, "ip" },
	};
	char name[8];
	u32 off;

	if (!len || len >= sizeof(name))
		return false;
	memcpy(name, s, len);
	name[len] = 0;
	for (u32 i = 0; i < ARRAY_CNT(regs); i++) {
		for (u32 k = 0; k < 4; k++) {
			if (!regs[i].names[k] || !str_eq(regs[i].names[k], name) || !abi_find_reg(regs[i].abi, &off))
				continue;
			*out = (struct reg){ .off = (u16)off, .size = (u8)(8 >> k), .is_ip = i == ARRAY_CNT(regs) - 1 };
			return true;
		}
	}
	/* ah, bh, ch, dh */
	if (len == 2 && name[1] == 'h' && strchr("abcd", name[0])) {
		name[1] = 'x';
		if (abi_find_reg(name, &off)) {
			*out = (struct reg){ .off = (u16)off, .size = 1, .shift = 8 };
			return true;
		}
	}
	return false;
}

struct operand {
	const char *s, *end;
	struct arena *arena;
	struct usdt_resolver *resolver;
	struct usdt_arg *arg;
};

static void none(struct operand *o, const char *why)
{
	o->arg->kind = USDT_NONE;
	o->arg->why = why;
}

static bool is_symbol_char(char c)
{
	return isalnum((u8)c) || c == '_' || c == '.' || c == '$';
}

/* "12", "-0x8", "name", "name+8": adds to disp; *has_symbol becomes true with the first name. */
static bool parse_terms(struct operand *o, bool *has_symbol)
{
	bool is_first = true;

	for (; o->s < o->end && *o->s != '('; is_first = false) {
		bool is_negative = *o->s == '-';
		const char *begin;
		char *rest;

		if (*o->s == '-' || *o->s == '+')
			o->s++;
		else if (!is_first)
			return false;
		begin = o->s;
		if (o->s < o->end && isdigit((u8)*o->s)) {
			u64 v = strtoull(begin, &rest, 0);

			if (rest > o->end)
				return false;
			o->arg->disp = (s64)((u64)o->arg->disp + (is_negative ? -v : v));
			o->s = rest;
			continue;
		}
		while (o->s < o->end && is_symbol_char(*o->s))
			o->s++;
		/* No compiler writes two symbols, or subtracts one; with @ as in name@tpoff it is not an address. */
		if (o->s == begin || is_negative || *has_symbol || (o->s < o->end && !strchr("+-(", *o->s)))
			return false;
		*has_symbol = true;
		{
			const char *name = arena_strndup(o->arena, begin, o->s - begin);
			s64 from_ip;

			if (!o->resolver || !o->resolver->symbol(o->resolver, name, &from_ip)) {
				none(o, arena_printf(o->arena, "the file has no symbol %s (it may be stripped)", name));
				return true;
			}
			o->arg->disp = (s64)((u64)o->arg->disp + (u64)from_ip);
			o->arg->from_ip = true;
		}
	}
	return true;
}

static void skip_blanks(struct operand *o)
{
	while (o->s < o->end && isspace((u8)*o->s))
		o->s++;
}

static bool parse_reg(struct operand *o, struct reg *r)
{
	const char *begin;

	if (o->s >= o->end || *o->s != '%')
		return false;
	begin = ++o->s;
	while (o->s < o->end && isalnum((u8)*o->s))
		o->s++;
	return find_reg(begin, o->s - begin, r);
}

/* "(base,index,scale)", each part may be missing. */
static bool parse_parens(struct operand *o, bool has_symbol)
{
	struct reg r;

	o->s++;
	skip_blanks(o);
	if (o->s < o->end && *o->s == '%') {
		if (!parse_reg(o, &r) || r.shift || r.size < 4)
			return false;
		/* A number before (%rip) counts from the next instruction; no compiler writes that here. */
		if (r.is_ip && !has_symbol)
			return false;
		if (!r.is_ip)
			o->arg->base = r.off;
	}
	skip_blanks(o);
	if (o->s < o->end && *o->s == ',') {
		o->s++;
		skip_blanks(o);
		if (!parse_reg(o, &r) || r.is_ip || r.shift || r.size < 4)
			return false;
		o->arg->index = r.off;
		skip_blanks(o);
		if (o->s < o->end && *o->s == ',') {
			o->s++;
			skip_blanks(o);
			if (o->s >= o->end || !strchr("1248", *o->s))
				return false;
			o->arg->scale = (u8)(*o->s++ - '0');
			skip_blanks(o);
		}
	}
	if (o->s >= o->end || *o->s != ')')
		return false;
	o->s++;
	return true;
}

/* What stands behind the '@'. */
static bool parse_place(struct operand *o)
{
	struct usdt_arg *a = o->arg;
	bool has_symbol = false;
	struct reg r;

	if (*o->s == '%' && (o->end - o->s) > 3 && o->s[3] == ':') {
		none(o, "it is in thread-local memory (a segment register), which a probe cannot read");
		return true;
	}
	if (*o->s == '%') {
		const char *begin = o->s;

		if (parse_reg(o, &r)) {
			if (r.is_ip)
				return false;
			a->kind = USDT_REG;
			a->base = r.off;
			a->shift = r.shift;
			a->size = MIN(a->size, r.size);
			return o->s == o->end;
		}
		if (o->s != o->end)
			return false;
		none(o, arena_printf(o->arena, "the register %.*s is not available to a probe", (int)(o->end - begin), begin));
		return true;
	}
	if (*o->s == '$') {
		o->s++;
		if (o->s == o->end || !parse_terms(o, &has_symbol))
			return false;
		if (a->kind == USDT_NONE)
			return true;
		a->kind = has_symbol ? USDT_ADDR : USDT_CONST;
		return o->s == o->end;
	}
	if (!parse_terms(o, &has_symbol))
		return false;
	if (a->kind == USDT_NONE)
		return true;
	a->kind = USDT_MEM;
	if (o->s < o->end && !parse_parens(o, has_symbol))
		return false;
	return o->s == o->end;
}

/* "-4@%edi" */
static struct usdt_arg parse_arg(struct arena *arena, const char *s, const char *end, struct usdt_resolver *r)
{
	struct usdt_arg a = {
		.kind = USDT_CONST,
		.size = 8,
		.scale = 1,
		.base = USDT_NO_REG,
		.index = USDT_NO_REG,
		.text = arena_strndup(arena, s, end - s),
	};
	const char *at = memchr(s, '@', end - s);
	struct operand o = { .s = s, .end = end, .arena = arena, .resolver = r, .arg = &a };
	bool ok = true;

	/* Before version 3 of the notes an argument had no size. */
	if (at && (*s == '-' || isdigit((u8)*s))) {
		char *rest;
		long size = strtol(s, &rest, 10);

		a.is_signed = size < 0;
		size = size < 0 ? -size : size;
		a.is_float = *rest == 'f';
		rest += a.is_float;
		ok = rest == at && (size == 1 || size == 2 || size == 4 || size == 8);
		a.size = (u8)MIN(size, UINT8_MAX);
		o.s = at + 1;
		if (rest == at && !ok) {
			none(&o, arena_printf(arena, "it has %ld bytes", size));
			return a;
		}
	}
	if (ok && a.is_float) {
		none(&o, "it is a floating-point number, which scripts do not support");
		return a;
	}
	if (!ok || o.s >= end || !parse_place(&o))
		none(&o, "the description of its location is not supported");
	if (a.kind == USDT_CONST && a.size < 8) {
		u32 bits = 64 - 8 * a.size;

		a.disp = a.is_signed ? (s64)((u64)a.disp << bits) >> bits : (s64)((u64)a.disp << bits >> bits);
	}
	return a;
}

struct usdt_arg *usdt_parse_args(struct arena *a, const char *text, struct usdt_resolver *r, u32 *cnt)
{
	vec(struct usdt_arg) args = {};

	while (*text) {
		const char *end;
		u32 depth = 0;

		while (isspace((u8)*text))
			text++;
		if (!*text)
			break;
		for (end = text; *end && (depth || !isspace((u8)*end)); end++) {
			if (*end == '(')
				depth++;
			else if (*end == ')' && depth)
				depth--;
		}
		avec_push(a, &args, parse_arg(a, text, end, r));
		text = end;
	}
	*cnt = args.cnt;
	return args.at;
}

/* ---- notes ---- */

struct reader {
	struct usdt_resolver resolver; /* must be first */
	struct arena *arena;
	const char *path;
	struct objfile file;
	u64 file_base; /* where it begins in its archive */
	u64 base;      /* address of .stapsdt.base now */
	bool has_base;
	struct sym_elf *syms; /* opened for the first symbol */
	bool no_syms;
	u64 addr; /* of the probe at hand */
};

static bool find_symbol(struct usdt_resolver *r, const char *name, s64 *from_ip)
{
	struct reader *rd = (struct reader *)r;
	u64 addr, size;

	if (!rd->syms && !rd->no_syms)
		rd->no_syms = sym_elf_open(rd->path, &rd->syms) != 0;
	if (rd->no_syms || !sym_elf_symbol(rd->syms, name, &addr, &size))
		return false;
	*from_ip = (s64)(addr - rd->addr);
	return true;
}

/* Address → place in the file. */
static bool file_offset(const struct objfile *o, u64 addr, u64 *off)
{
	for (u32 i = 0; i < o->ph_cnt; i++) {
		if (o->ph[i].p_type == PT_LOAD && addr >= o->ph[i].p_vaddr && addr - o->ph[i].p_vaddr < o->ph[i].p_filesz) {
			*off = addr - o->ph[i].p_vaddr + o->ph[i].p_offset;
			return true;
		}
	}
	return false;
}

static const char *take_string(struct arena *a, struct bytes *b)
{
	const char *s = bytes_str(*b, 0);
	size_t len = s ? strlen(s) : 0;

	if (!s)
		return NULL;
	b->at += len + 1;
	b->len -= len + 1;
	return arena_strndup(a, s, len);
}

static void read_note(struct reader *rd, struct bytes desc, usdt_notes *out)
{
	u64 addr[3]; /* of the probe, of .stapsdt.base, of the semaphore */
	struct usdt_note n = {};
	const char *args;

	if (desc.len < sizeof(addr))
		return;
	memcpy(addr, desc.at, sizeof(addr));
	desc.at += sizeof(addr);
	desc.len -= sizeof(addr);
	n.provider = take_string(rd->arena, &desc);
	n.name = n.provider ? take_string(rd->arena, &desc) : NULL;
	if (!n.name || !*n.name)
		return;
	args = take_string(rd->arena, &desc);
	if (addr[1] && rd->has_base) {
		addr[0] += rd->base - addr[1];
		addr[2] += addr[2] ? rd->base - addr[1] : 0;
	}
	if (!file_offset(&rd->file, addr[0], &n.file_off))
		return;
	/* Without its semaphore the probe would never fire. */
	if (addr[2] && !file_offset(&rd->file, addr[2], &n.sem_off))
		return;
	n.file_off += rd->file_base;
	n.sem_off += addr[2] ? rd->file_base : 0;
	n.addr = rd->addr = addr[0];
	if (args)
		n.args = usdt_parse_args(rd->arena, args, &rd->resolver, &n.arg_cnt);
	avec_push(rd->arena, out, n);
}

static void read_notes(struct reader *rd, usdt_notes *out)
{
	struct objfile *o = &rd->file;
	struct obj_note n;

	for (u32 i = 1; i < o->sh_cnt; i++) {
		if (str_eq(objfile_section_name(o, i), ".stapsdt.base")) {
			rd->base = o->sh[i].sh_addr;
			rd->has_base = true;
		}
	}
	for (u32 i = 1; i < o->sh_cnt; i++) {
		struct bytes notes = o->sh[i].sh_type == SHT_NOTE ? objfile_section(o, i) : (struct bytes){};

		for (size_t off = 0; objfile_next_note(notes, o->sh[i].sh_addralign, &off, &n);)
			if (n.type == NOTE_TYPE && n.name.len == sizeof(NOTE_NAME) &&
			    !memcmp(n.name.at, NOTE_NAME, sizeof(NOTE_NAME)))
				read_note(rd, n.desc, out);
	}
}

int usdt_read(struct arena *a, const char *path, usdt_notes *out)
{
	struct reader rd = { .resolver = { find_symbol }, .arena = a, .path = path };
	int err = archive_open(&rd.file, path, &rd.file_base);

	if (err)
		return err;
	if (rd.file.eh->e_type != ET_EXEC && rd.file.eh->e_type != ET_DYN)
		err = -ENOEXEC;
	else
		read_notes(&rd, out);
	sym_elf_free(rd.syms);
	objfile_release(&rd.file);
	return err;
}
