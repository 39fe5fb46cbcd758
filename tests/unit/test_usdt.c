/* SPDX-License-Identifier: GPL-2.0-only */
/* Static probes: how their arguments are written, and the notes of a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "../programs/sdt.h"
#include "base/io.h"
#include "arch/abi.h"
#include "probe/usdt_note.h"
#include "sym/objfile.h"

static struct arena arena;

static bool symbol(struct usdt_resolver *r, const char *name, s64 *from_ip)
{
	*from_ip = 1000;
	return str_eq(name, "known") || str_eq(name, "a.b$1");
}

static struct usdt_resolver resolver = { symbol };

static struct usdt_arg *one(const char *text)
{
	u32 cnt;
	struct usdt_arg *a = usdt_parse_args(&arena, text, &resolver, &cnt);

	CHECK(cnt == 1);
	return a;
}

static u32 reg(const char *name)
{
	u32 off = 0;

	CHECK(abi_find_reg(name, &off));
	return off;
}

#if defined(__x86_64__)
static void test_registers(void)
{
	static const struct {
		const char *text, *reg;
		u8 size, shift;
		bool is_signed;
	} rows[] = {
		{ "8@%rax", "ax", 8 },          { "-4@%edi", "di", 4, 0, true }, { "2@%r15w", "r15", 2 }, { "1@%bpl", "bp", 1 },
		{ "-1@%dh", "dx", 1, 8, true }, { "1@%r10d", "r10", 1 },         { "8@%eax", "ax", 4 },   { "%rsp", "sp", 8 },
		{ "8@%r8", "r8", 8 },
	};

	for (u32 i = 0; i < ARRAY_CNT(rows); i++) {
		struct usdt_arg *a = one(rows[i].text);

		CHECK(a->kind == USDT_REG && a->base == reg(rows[i].reg) && a->size == rows[i].size &&
		      a->shift == rows[i].shift && a->is_signed == rows[i].is_signed);
	}
}

static void test_memory(void)
{
	struct usdt_arg *a = one("-4@-24(%rbp)");

	CHECK(a->kind == USDT_MEM && a->base == reg("bp") && a->index == USDT_NO_REG && a->disp == -24 && a->size == 4 &&
	      a->is_signed && !a->from_ip);
	a = one("8@(%rax,%rcx,4)");
	CHECK(a->kind == USDT_MEM && a->base == reg("ax") && a->index == reg("cx") && a->scale == 4 && !a->disp);
	a = one("8@0x10( %rax , %rcx , 8 )");
	CHECK(a->kind == USDT_MEM && a->base == reg("ax") && a->index == reg("cx") && a->scale == 8 && a->disp == 16);
	a = one("1@8(,%r9,2)");
	CHECK(a->kind == USDT_MEM && a->base == USDT_NO_REG && a->index == reg("r9") && a->scale == 2 && a->disp == 8);
	a = one("4@known(%rip)");
	CHECK(a->kind == USDT_MEM && a->from_ip && a->disp == 1000 && a->base == USDT_NO_REG);
	a = one("4@known+8(%rip)");
	CHECK(a->kind == USDT_MEM && a->from_ip && a->disp == 1008);
	a = one("4@-8+known(%rip)");
	CHECK(a->kind == USDT_MEM && a->from_ip && a->disp == 992);
	a = one("4@a.b$1(%rbx,%rax)");
	CHECK(a->kind == USDT_MEM && a->from_ip && a->disp == 1000 && a->base == reg("bx") && a->index == reg("ax") &&
	      a->scale == 1);
	a = one("8@$known-4");
	CHECK(a->kind == USDT_ADDR && a->from_ip && a->disp == 996);
	a = one("8@4660");
	CHECK(a->kind == USDT_MEM && !a->from_ip && a->disp == 4660 && a->base == USDT_NO_REG);
}

static void test_constants(void)
{
	static const struct {
		const char *text;
		s64 v;
	} rows[] = {
		{ "8@$0", 0 },
		{ "-4@$-1", -1 },
		{ "4@$-1", 0xffffffff },
		{ "-1@$255", -1 },
		{ "1@$255", 255 },
		{ "2@$65537", 1 },
		{ "8@$0x10", 16 },
		{ "-8@$-9223372036854775808", INT64_MIN },
		{ "8@$18446744073709551615", -1 },
		{ "4@$1+2", 3 },
	};

	for (u32 i = 0; i < ARRAY_CNT(rows); i++)
		CHECK(one(rows[i].text)->kind == USDT_CONST && one(rows[i].text)->disp == rows[i].v);
}
#endif

static void test_refused(void)
{
	static const char *const rows[] = {
		"8f@%xmm0",
		"4f@-8(%rbp)",
		"3@%rax",
		"16@(%rax)",
		"0@%rax",
		"8@",
		"8@%",
		"8@%foo",
		"8@%rip",
		"8@(%rip)",
		"8@8(%rip)",
		"8@(%al)",
		"8@(%rax",
		"8@(%rax,)",
		"8@(%rax,%rip)",
		"8@(%rax,%rcx,3)",
		"8@(%rax,%rcx,)",
		"8@(%rax)x",
		"8@%rax,",
		"8@$",
		"8@$unknown",
		"8@unknown(%rip)",
		"8@known-known",
		"8@-known(%rip)",
		"8@known@tpoff",
		"%fs:0",
		"-4@%fs:0xfffffffffffffffc",
		"8@known?",
		"@",
		"-@%rax",
		"8x@%rax",
		"8@%xmm0",
	};

	for (u32 i = 0; i < ARRAY_CNT(rows); i++) {
		struct usdt_arg *a = one(rows[i]);

		CHECK(a->kind == USDT_NONE && a->why && *a->why && str_eq(a->text, rows[i]));
		if (a->kind != USDT_NONE)
			printf("  %s\n", rows[i]);
	}
}

/* Any text gives an answer. */
static void test_garbage(void)
{
	static const char alphabet[] = "8-4@%$(),+ raxdibp0x1fknow.";
	u32 cnt, seed = 1;

	CHECK(!usdt_parse_args(&arena, "", &resolver, &cnt) && !cnt);
	CHECK(!usdt_parse_args(&arena, "  \t ", &resolver, &cnt) && !cnt);
	usdt_parse_args(&arena, "1@%al 8@-8(%rbp, %rax) 4@$1", &resolver, &cnt);
	CHECK(cnt == 3);
	for (u32 i = 0; i < 20000; i++) {
		char text[24];
		u32 len = 0;

		for (; len < sizeof(text) - 1; len++) {
			seed = seed * 1103515245 + 12345;
			if ((seed >> 16) % 24 == 0)
				break;
			text[len] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		text[len] = 0;
		usdt_parse_args(&arena, text, &resolver, &cnt);
	}
	passed++;
}

/* ---- files ---- */

__attribute__((section(".probes"), used)) static volatile unsigned short test_semaphore;
__attribute__((used)) static volatile long test_variable;

#ifndef __clang__
__attribute__((noclone)) /* a copy would have the same notes again */
#endif
__attribute__((noinline, used)) static void
probes(void)
{
	__asm__ volatile(SDT_NOTE("unit", "plain", "0", "") SDT_NOTE(
		"unit", "counted", "test_semaphore", "-4@%edi 8@test_variable(%rip)") SDT_NOTE("unit", "plain", "0", "1@$1"));
}

static void check_notes(const char *path)
{
	usdt_notes notes = {};
	u64 from_func;

	CHECK(!usdt_read(&arena, path, &notes));
	CHECK(notes.cnt == 3);
	if (notes.cnt != 3)
		return;
	CHECK(str_eq(notes.at[0].provider, "unit") && str_eq(notes.at[0].name, "plain") && !notes.at[0].arg_cnt &&
	      !notes.at[0].sem_off);
	CHECK(str_eq(notes.at[1].name, "counted") && notes.at[1].arg_cnt == 2 && notes.at[1].sem_off);
	CHECK(str_eq(notes.at[2].name, "plain") && notes.at[2].arg_cnt == 1);
	CHECK(notes.at[0].addr + 1 == notes.at[1].addr && notes.at[0].file_off + 1 == notes.at[1].file_off);
	/* Things are as far from each other in memory as in the file; the first probe is a few bytes into the function. */
	CHECK(notes.at[1].args[1].kind == USDT_MEM);
	from_func = (u64)(uintptr_t)&test_variable - (u64)(uintptr_t)probes;
	CHECK(from_func - (u64)notes.at[1].args[1].disp < 16);
}

static void test_file(void)
{
	usdt_notes notes = {};

	check_notes("/proc/self/exe");
	CHECK(usdt_read(&arena, "/no/such/file", &notes) == -ENOENT);
	CHECK(usdt_read(&arena, "/etc/passwd", &notes) == -ENOEXEC);
	CHECK(!notes.cnt);
}

/* A file whose notes are broken anywhere has fewer probes. */
static void test_broken(void)
{
	char path[] = "/tmp/sonde-usdt-XXXXXX", *data;
	int fd = mkstemp(path), bad = 0;
	struct objfile o;
	struct bytes b;
	size_t len = 0, at;

	CHECK(fd >= 0 && !io_read_file("/proc/self/exe", &data, &len) && !objfile_open(&o, "/proc/self/exe", 0, 0));
	b = objfile_section_named(&o, ".note.stapsdt");
	CHECK(b.at && b.len > 100);
	at = b.at - o.data;
	CHECK(pwrite(fd, data, len, 0) == (ssize_t)len);
	for (size_t i = 0; i < b.len; i++) {
		static const u8 values[] = { 0, 1, 0x7f, 0xff };
		usdt_notes notes = {};
		u8 v = values[i % 4];

		CHECK(pwrite(fd, &v, 1, (off_t)(at + i)) == 1);
		bad += usdt_read(&arena, path, &notes) != 0 || notes.cnt > 3;
		CHECK(pwrite(fd, data + at + i, 1, (off_t)(at + i)) == 1);
	}
	CHECK(!bad);
	close(fd);
	unlink(path);
	objfile_release(&o);
	free(data);
}

int main(void)
{
	arena_init(&arena);
#if defined(__x86_64__)
	test_registers();
	test_memory();
	test_constants();
#endif
	test_refused();
	test_garbage();
	test_file();
	test_broken();
	arena_release(&arena);
	return check_end();
}
