/* SPDX-License-Identifier: GPL-2.0-only */
/* sym/cfi: every row of real files as readelf reads them, descriptions made by hand, and broken ones.
 *
 *   test_cfi FILE…    compares other files
 */
#include "sym/cfi.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"

/* ---- beside readelf ---- */

/* The function that is being printed: its columns, and what its common entry says where it has no rows of its own. */
struct printed {
	char names[24][8];
	u32 cnt;
	bool is_cie;
};

static u32 compared;

static void compare(const struct cfi *c, struct printed *p, char *line)
{
	char *save, *word = strtok_r(line, " \n", &save), *cfa = strtok_r(NULL, " \n", &save), *bp = NULL, *ra = NULL;
	u64 pc = strtoull(word, NULL, 16);
	const struct cfi_row *r = cfi_find(c, pc);
	char want[64], got[64];

	for (u32 i = 0; i < p->cnt; i++) {
		do {
			word = strtok_r(NULL, " \n", &save);
		} while (word && *word == '('); /* "r5 (rdi)" */
		if (!strcmp(p->names[i], "rbp"))
			bp = word;
		if (!strcmp(p->names[i], "ra"))
			ra = word;
	}
	if (!r || !ra) {
		CHECK(false, "%llx: no row, or none understood", (unsigned long long)pc);
		return;
	}
	compared++;
	snprintf(want, sizeof(want), "%s %s", cfa, !bp || !strcmp(bp, "s") ? "u" : bp);
	switch (r->cfa) {
	case CFI_SP:
		snprintf(got, sizeof(got), "rsp%+d", r->cfa_off);
		break;
	case CFI_BP:
		snprintf(got, sizeof(got), "rbp%+d", r->cfa_off);
		break;
	case CFI_BP_DEREF:
	case CFI_PLT:
	case CFI_SIGNAL:
		snprintf(got, sizeof(got), "exp");
		break;
	case CFI_END:
		CHECK(!strcmp(ra, "u"), "%llx: %s", (unsigned long long)pc, ra);
		return;
	case CFI_OTHER: /* by another register, or by an expression that nobody knows; or the return address is not in its place
			 */
		CHECK((strncmp(cfa, "rsp", 3) && strncmp(cfa, "rbp", 3)) || strcmp(ra, "c-8"), "%llx: %s", (unsigned long long)pc,
		      want);
		return;
	default:
		snprintf(got, sizeof(got), "none");
		break;
	}
	if (r->cfa == CFI_SIGNAL || r->bp == CFI_BP_AT_BP)
		strcat(got, " exp");
	else if (r->bp == CFI_BP_AT)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), " c%+d", r->bp_off);
	else
		strcat(got, r->bp == CFI_BP_SAME ? " u" : " lost");
	CHECK(!strcmp(want, got), "%llx: %s, not %s", (unsigned long long)pc, got, want);
}

static void test_file(const char *path)
{
	char *cmd = xasprintf("LC_ALL=C readelf --debug-dump=frames-interp '%s' 2>/dev/null", path), line[512];
	struct printed p = {};
	struct objfile o;
	struct cfi c;
	FILE *f = popen(cmd, "r");
	u32 before = compared, other = 0;

	CHECK(!objfile_open(&o, path, 0, 0), "%s", path);
	cfi_read(&o, &c);
	CHECK(!c.bad_cnt, "%s: %u", path, c.bad_cnt);
	for (u32 i = 1; i < c.rows.cnt; i++)
		if (c.rows.at[i - 1].pc >= c.rows.at[i].pc)
			CHECK(false, "%s: row %u is not in order", path, i);
	while (fgets(line, sizeof(line), f)) {
		char *save, *word;

		if (strstr(line, " CIE ") || strstr(line, " FDE ")) {
			p.is_cie = strstr(line, " CIE ");
		} else if (!strncmp(line, "   LOC", 6)) {
			p.cnt = 0;
			strtok_r(line, " \n", &save);
			strtok_r(NULL, " \n", &save);
			while ((word = strtok_r(NULL, " \n", &save)) && p.cnt < ARRAY_CNT(p.names))
				snprintf(p.names[p.cnt++], sizeof(p.names[0]), "%s", word);
		} else if (!p.is_cie && strspn(line, "0123456789abcdef") == 16) {
			compare(&c, &p, line);
		}
	}
	pclose(f);
	CHECK(compared - before > 100, "%s: %u", path, compared - before);
	for (u32 i = 0; i < c.rows.cnt; i++)
		other += c.rows.at[i].cfa == CFI_OTHER;
	printf("%s: %u functions, %u rows, %u compared, %u not understood\n", path, c.func_cnt, c.rows.cnt, compared - before,
	       other);
	cfi_release(&c);
	objfile_release(&o);
	free(cmd);
}

/* ---- by hand ---- */

/* A file with one executable part at 0x1000 and this .eh_frame at 0x5000. */
struct made {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[3];
	char names[24];
	u8 frames[256];
};

static struct cfi_row row_at(const u8 *frames, u32 len, u64 pc, u32 *bad)
{
	struct made *m = xzalloc(sizeof(*m));
	struct cfi_row row = { .cfa = 99 };
	const struct cfi_row *found;
	struct objfile o;
	struct cfi c;

	memcpy(m->eh.e_ident, ELFMAG "\2\1\1", 7);
	m->eh.e_machine = EM_X86_64;
	m->eh.e_phoff = offsetof(struct made, ph);
	m->eh.e_phnum = 1;
	m->eh.e_phentsize = sizeof(m->ph);
	m->eh.e_shoff = offsetof(struct made, sh);
	m->eh.e_shnum = 3;
	m->eh.e_shentsize = sizeof(m->sh[0]);
	m->eh.e_shstrndx = 1;
	m->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x1000, .p_memsz = 0x1000 };
	memcpy(m->names, "\0.names\0.eh_frame", 18);
	m->sh[1] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct made, names), .sh_size = sizeof(m->names)
	};
	m->sh[2] = (Elf64_Shdr){ .sh_name = 8,
				 .sh_type = SHT_PROGBITS,
				 .sh_addr = 0x5000,
				 .sh_offset = offsetof(struct made, frames),
				 .sh_size = len };
	memcpy(m->frames, frames, len);
	CHECK(!objfile_from_memory(&o, m, sizeof(*m)));
	cfi_read(&o, &c);
	*bad = c.bad_cnt;
	found = cfi_find(&c, pc);
	if (found)
		row = *found;
	cfi_release(&c);
	objfile_release(&o);
	return row;
}

/* CIE with "zR" and sdata4 of absolute addresses; FDE of [0x1100, 0x1180) with the given instructions. */
static struct cfi_row run_at(const char *insns, u32 len, u64 pc, u32 *bad)
{
	u8 frames[128] = { 20,   0,    0,    0,    0,
			   0,    0,    0,    1,    'z',
			   'R',  0,    1,    0x78, 16,
			   1,    0x0b, 0x0c, 7,    8,
			   0x90, 1,    0,    0,    (u8)(13 + len),
			   0,    0,    0,    28,   0,
			   0,    0,    0x00, 0x11, 0,
			   0,    0x80, 0,    0,    0,
			   0 };

	memcpy(frames + 41, insns, len);
	return row_at(frames, 41 + len + 4, pc, bad);
}

static void check_run(u32 line, const char *insns, u32 len, u64 pc, struct cfi_row want)
{
	u32 bad;
	struct cfi_row got = run_at(insns, len, pc, &bad);

	CHECK(!bad && got.cfa == want.cfa && got.bp == want.bp && got.bp_off == want.bp_off && got.cfa_off == want.cfa_off,
	      "line %u: %u broken; cfa %u%+d, bp %u%+d", line, bad, got.cfa, got.cfa_off, got.bp, got.bp_off);
}

#define RUN(insns, pc, ...) check_run(__LINE__, insns, sizeof(insns) - 1, pc, (struct cfi_row){ __VA_ARGS__ })

static void test_programs(void)
{
	u32 bad;

	RUN("", 0x1100, .cfa = CFI_SP, .cfa_off = 8);
	RUN("", 0x117f, .cfa = CFI_SP, .cfa_off = 8);
	RUN("", 0x1180, .cfa = CFI_NONE);
	/* push %rbp; mov %rsp,%rbp; … leave */
	RUN("\x41\x0e\x10\x86\x02\x43\x0d\x06\x50\x0c\x07\x08", 0x1101, .cfa = CFI_SP, .cfa_off = 16, .bp = CFI_BP_AT,
	    .bp_off = -16);
	RUN("\x41\x0e\x10\x86\x02\x43\x0d\x06\x50\x0c\x07\x08", 0x1110, .cfa = CFI_BP, .cfa_off = 16, .bp = CFI_BP_AT,
	    .bp_off = -16);
	RUN("\x41\x0e\x10\x86\x02\x43\x0d\x06\x50\x0c\x07\x08", 0x1114, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_AT,
	    .bp_off = -16);
	/* advance by 1, 2 and 4 bytes; remember and restore; restore a register */
	RUN("\x02\x01\x0e\x18\x0a\x03\x02\x00\x0e\x20\x04\x04\x00\x00\x00\x0b", 0x1106, .cfa = CFI_SP, .cfa_off = 32);
	RUN("\x02\x01\x0e\x18\x0a\x03\x02\x00\x0e\x20\x04\x04\x00\x00\x00\x0b", 0x1107, .cfa = CFI_SP, .cfa_off = 24);
	RUN("\x86\x02\x41\xc6", 0x1101, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_SAME);
	RUN("\x86\x02\x41\x06\x06", 0x1101, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_SAME);
	/* set_loc; signed forms; the old negative one */
	RUN("\x01\x40\x11\x00\x00\x13\x7e", 0x1140, .cfa = CFI_SP, .cfa_off = 16);
	RUN("\x12\x06\x7d\x11\x06\x03", 0x1100, .cfa = CFI_BP, .cfa_off = 24, .bp = CFI_BP_AT, .bp_off = -24);
	RUN("\x05\x06\x04", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_AT, .bp_off = -32);
	RUN("\x2f\x06\x7f", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_AT, .bp_off = 1016);
	/* undefined, same, in another register, a value */
	RUN("\x07\x10", 0x1100, .cfa = CFI_END);
	RUN("\x07\x06", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_LOST);
	RUN("\x86\x02\x08\x06", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_SAME);
	RUN("\x09\x06\x03", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_LOST);
	RUN("\x14\x06\x03", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_LOST);
	RUN("\x15\x06\x7d", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_LOST);
	RUN("\x16\x06\x01\x30", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_LOST);
	RUN("\x2e\x20", 0x1100, .cfa = CFI_SP, .cfa_off = 8);
	/* an offset that does not fit a row; a register that is not followed */
	RUN("\x86\x80\x80\x02", 0x1100, .cfa = CFI_SP, .cfa_off = 8, .bp = CFI_BP_LOST);
	RUN("\x0d\x0a", 0x1100, .cfa = CFI_OTHER);
	RUN("\x0e\x80\x80\x80\x80\x10", 0x1100, .cfa = CFI_OTHER);
	/* a realigned stack; a stub of the PLT; an expression that nobody knows */
	RUN("\x10\x06\x02\x76\x00\x0f\x03\x76\x78\x06", 0x1100, .cfa = CFI_BP_DEREF, .cfa_off = -8, .bp = CFI_BP_AT_BP);
	RUN("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 0x1100, .cfa = CFI_PLT, .cfa_off = 8, .bp_off = 11);
	RUN("\x0f\x03\x77\x08\x06", 0x1100, .cfa = CFI_OTHER);
	/* broken ones are left out, and counted */
	CHECK(run_at("\x0b", 1, 0x1100, &bad).cfa == 99 && bad == 1, "restore without remember");
	CHECK(run_at("\x3d", 1, 0x1100, &bad).cfa == 99 && bad == 1, "an instruction that is none");
	CHECK(run_at("\x04\x00\x01\x00\x00", 5, 0x1100, &bad).cfa == 99 && bad == 1, "past the function's end");
	CHECK(run_at("\x0e", 1, 0x1100, &bad).cfa == 99 && bad == 1, "cut in an instruction");
}

/* ---- broken files ---- */

static void test_hostile(const char *path, u32 rounds)
{
	struct objfile o;
	u32 sec, seed = 11;
	char *text;
	size_t len;

	CHECK(!io_read_file(path, &text, &len) && !objfile_open(&o, path, 0, 0), "%s", path);
	sec = objfile_find_section(&o, ".eh_frame");
	CHECK(sec, "%s", path);
	for (u32 round = 0; round < rounds; round++) {
		char *copy = memcpy(malloc(len), text, len);
		Elf64_Shdr *sh = (Elf64_Shdr *)(copy + o.eh->e_shoff) + sec;
		struct objfile bad;
		struct cfi c;

		for (u32 k = 0; k < 1 + round % 50; k++) {
			seed = seed * 1103515245 + 12345;
			copy[sh->sh_offset + (seed >> 4) % sh->sh_size] = round & 1 ? (char)(seed >> 20) :
										      (seed & 0x10000 ? 0xff : 0);
		}
		if (round % 5 == 4)
			sh->sh_size = (seed >> 4) % sh->sh_size;
		if (objfile_from_memory(&bad, copy, len))
			continue;
		cfi_read(&bad, &c);
		for (u32 i = 1; i < c.rows.cnt; i++)
			if (c.rows.at[i - 1].pc >= c.rows.at[i].pc)
				CHECK(false, "round %u: row %u is not in order", round, i);
		cfi_release(&c);
		objfile_release(&bad);
	}
	passed++;
	objfile_release(&o);
	free(text);
}

int main(int argc, char **argv)
{
#ifdef __x86_64__
	char *libc = NULL, *line = NULL, self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t cap = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			test_file(argv[i]);
		return check_end();
	}
	self[MAX(n, 0)] = 0;
	while (getline(&line, &cap, f) > 0 && !libc)
		if (strstr(line, "/libc.so") || strstr(line, "/libc-"))
			libc = xstrdup(strchr(strtok(line, "\n"), '/'));
	fclose(f);
	free(line);
	test_programs();
	test_hostile(self, 300);
	if (system("command -v readelf >/dev/null")) {
		printf("skipped: there is no readelf\n");
		return check_end();
	}
	test_file(self);
	if (libc)
		test_file(libc);
	free(libc);
#else
	printf("skipped: stacks are unwound on x86-64 only\n");
#endif
	return check_end();
}
