/* SPDX-License-Identifier: GPL-2.0-only */
/* Lengths of instructions.
 *
 *   test_insn            a table, and part of the C library as objdump reads it
 *   test_insn FILE...    whole files as objdump reads them */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "base/base.h"
#include "sym/insn.h"
#include "sym/ldcache.h"

#if defined(__x86_64__)

static u32 parse_hex(const char *s, u8 *out, u32 max)
{
	u32 n = 0;

	while (n < max) {
		char *end;
		unsigned long v;

		while (*s == ' ')
			s++;
		if (!isxdigit((u8)s[0]) || !isxdigit((u8)s[1]) || (s[2] && !isspace((u8)s[2])))
			break;
		v = strtoul(s, &end, 16);
		out[n++] = (u8)v;
		s = end;
	}
	return n;
}

static void test_table(void)
{
	static const struct {
		const char *hex;
		u32 len;
		bool is_return;
	} rows[] = {
		{ "c3", 1, true },
		{ "f3 c3", 2, true },
		{ "f2 c3", 2, true },
		{ "c2 08 00", 3, true },
		{ "cb", 1, false },
		{ "cc", 1, false },
		{ "55", 1, false },
		{ "f3 0f 1e fa", 4, false }, /* endbr64 */
		{ "48 89 e5", 3, false },
		{ "48 b8 c3 c3 c3 c3 c3 c3 c3 c3", 10, false }, /* movabs */
		{ "b8 c3 c3 c3 c3", 5, false },
		{ "66 b8 c3 c3", 4, false },
		{ "48 8b 05 c3 c3 c3 c3", 7, false },    /* rip-relative */
		{ "48 8b 04 25 c3 c3 c3 c3", 8, false }, /* SIB without base */
		{ "48 8b 44 24 c3", 5, false },
		{ "48 8b 84 24 c3 c3 c3 c3", 8, false },
		{ "f6 c3 c3", 3, false }, /* test bl, imm8 */
		{ "f6 d3", 2, false },    /* not bl */
		{ "f7 c3 c3 c3 c3 c3", 6, false },
		{ "66 f7 c3 c3 c3", 5, false },
		{ "f7 d8", 2, false },
		{ "c8 c3 c3 c3", 4, false }, /* enter */
		{ "a0 c3 c3 c3 c3 c3 c3 c3 c3", 9, false },
		{ "67 a0 c3 c3 c3 c3", 6, false },
		{ "e8 c3 c3 c3 c3", 5, false },
		{ "eb c3", 2, false },
		{ "0f 84 c3 c3 c3 c3", 6, false },
		{ "0f 05", 2, false },
		{ "66 0f 3a 0f c3 c3", 6, false }, /* palignr */
		{ "66 0f 38 00 c3", 5, false },    /* pshufb */
		{ "0f 0f c3 b4", 4, false },       /* 3DNow! */
		{ "c5 f8 77", 3, false },          /* vzeroupper */
		{ "c5 f9 70 c3 c3", 5, false },    /* vpshufd */
		{ "c4 e2 7d 00 c3", 5, false },
		{ "c4 e3 7d 0f c3 c3", 6, false },
		{ "62 f1 7c 48 10 43 c3", 7, false },       /* EVEX, disp8 */
		{ "62 f3 7d 48 25 c3 c3", 7, false },       /* EVEX, immediate */
		{ "8f c3", 2, false },                      /* pop */
		{ "8f e8 78 a2 c3 c3", 6, false },          /* XOP */
		{ "64 48 8b 04 25 28 00 00 00", 9, false }, /* %fs: */
		{ "66 66 66 66 2e 0f 1f 84 00 00 00 00 00", 13, false },
		/* none */
		{ "06", 0 },
		{ "9a c3 c3 c3 c3 c3 c3", 0 },
		{ "0f 04", 0 },
		{ "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", 0 },
		{ "48", 0 },
		{ "e8 c3 c3", 0 },
		{ "48 8b 84 24 c3", 0 },
		{ "c4", 0 },
		{ "62 f1 7c", 0 },
		{ "", 0 },
	};

	for (u32 i = 0; i < ARRAY_CNT(rows); i++) {
		u8 code[16];
		struct machine_insn insn = insn_decode(code, parse_hex(rows[i].hex, code, sizeof(code)));

		CHECK(insn.len == rows[i].len && insn.is_return == rows[i].is_return);
		if (insn.len != rows[i].len)
			printf("  %s: %u, not %u\n", rows[i].hex, insn.len, rows[i].len);
		/* Nothing behind the end is read, and what is cut is no instruction. */
		for (u32 k = 0; rows[i].len && k < rows[i].len; k++) {
			u8 *copy = memcpy(malloc(k + 1), code, k);

			CHECK(insn_decode(copy, k).len <= k);
			free(copy);
		}
	}
	CHECK(!insn_decode((const u8 *)"\x55", 1).is_vector && insn_decode((const u8 *)"\x55", 1).op == 0x55);
	CHECK(insn_decode((const u8 *)"\xc5\xf8\x77", 3).is_vector && insn_decode((const u8 *)"\xc5\xf8\x77", 3).op == 0x77);
	CHECK(insn_decode((const u8 *)"\x62\xe2\x7d\x28\x7a\xc6", 6).is_vector &&
	      insn_decode((const u8 *)"\x62\xe2\x7d\x28\x7a\xc6", 6).op == 0x7a);
	CHECK(insn_decode((const u8 *)"\xf0\xff\x0f", 3).has_lock && !insn_decode((const u8 *)"\x64\xff\x0f", 3).has_lock);
	/* push; mov; ret */
	CHECK(insn_starts_at((const u8 *)"\x55\x48\x89\xe5\xc3", 5, 0) == INSN_START);
	CHECK(insn_starts_at((const u8 *)"\x55\x48\x89\xe5\xc3", 5, 1) == INSN_START);
	CHECK(insn_starts_at((const u8 *)"\x55\x48\x89\xe5\xc3", 5, 2) == INSN_INSIDE);
	CHECK(insn_starts_at((const u8 *)"\x55\x48\x89\xe5\xc3", 5, 3) == INSN_INSIDE);
	CHECK(insn_starts_at((const u8 *)"\x55\x48\x89\xe5\xc3", 5, 4) == INSN_START);
	CHECK(insn_starts_at((const u8 *)"\x55\x48\x89\xe5\xc3", 5, 9) == INSN_UNKNOWN);
	CHECK(insn_starts_at((const u8 *)"\x06\x48\x89\xe5\xc3", 5, 1) == INSN_UNKNOWN);
}

/* Any bytes have an answer. */
static void test_garbage(void)
{
	u32 seed = 1;

	for (u32 i = 0; i < 200000; i++) {
		u8 code[20];

		for (u32 k = 0; k < sizeof(code); k++) {
			seed = seed * 1103515245 + 12345;
			code[k] = (u8)(seed >> 16);
		}
		if (insn_decode(code, sizeof(code)).len > 15)
			failed++;
	}
	passed++;
}

/* Compares with objdump. Its lines are "  401000:\tf3 0f 1e fa \tendbr64". */
static void compare(const char *file, const char *options)
{
	char *cmd = xasprintf("objdump -d -w %s '%s' 2>/dev/null", options, file), line[4096];
	u32 cnt = 0, bad = 0, returns = 0;
	FILE *in = popen(cmd, "r");

	while (in && fgets(line, sizeof(line), in)) {
		char *bytes = strchr(line, '\t'), *text = bytes ? strchr(bytes + 1, '\t') : NULL;
		struct machine_insn insn;
		u8 code[32];
		u32 n;

		if (!text)
			continue;
		text++;
		/* Bytes that are none; prefixes that objdump shows by themselves; a wait that it takes for part of what follows.
		 */
		if (strstr(text, "(bad)") || text[0] == '.')
			continue;
		n = parse_hex(bytes + 1, code, sizeof(code));
		if (code[0] == 0x9b || !strncmp(text, "rex", 3))
			continue;
		insn = insn_decode(code, n);
		if (n == 1 && !insn.len && strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", code[0]))
			continue;
		cnt++;
		returns += insn.is_return;
		if (insn.len == n &&
		    insn.is_return ==
			    (!!strstr(text, "ret") && !strstr(text, "iret") && !strstr(text, "lret") && !strstr(text, "sysret") &&
			     !strchr(text, '<')))
			continue;
		if (bad++ < 20)
			printf("  %s: %u bytes: %s", file, insn.len, line);
	}
	if (in)
		pclose(in);
	free(cmd);
	printf("%s: %u instructions, %u returns, %u differ\n", file, cnt, returns, bad);
	CHECK(cnt > 1000 && !bad);
}

int main(int argc, char **argv)
{
	char *libc = sym_find_library("libc", 0);

	if (argc == 1) {
		test_table();
		test_garbage();
		if (!system("objdump --version >/dev/null 2>&1") && libc)
			compare(libc, "--start-address=0x80000 --stop-address=0x98000");
	}
	for (int i = 1; i < argc; i++)
		compare(argv[i], "");
	free(libc);
	return check_end();
}

#else
int main(void)
{
	printf("0 passed, 0 failed\n");
	return 0;
}
#endif
