/* Debug information: symbols and types that are in the file, beside it, far from it, packed, or broken. The files are made by the compiler and
 * objcopy when the test runs. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "out_check.h"
#include "sym/debugfile.h"
#include "sym/dwarf.h"
#include "sym/elf.h"

static char dir[] = "/tmp/test_debug_XXXXXX";

/* Runs a command in the test's directory. */
static bool sh(const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;
	int status;

	sbuf_printf(&b, "cd %s && exec 2>err && ", dir);
	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	status = system(b.s);
	if (status)
		printf("failed: %s\n", b.s);
	sbuf_release(&b);
	return !status;
}

static void write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
	free(path);
}

static const char *in_dir(const char *name)
{
	return arena_printf(&arena, "%s/%s", dir, name);
}

/* A function that only the full symbol table has. */
static bool has_hidden(const char *name)
{
	struct sym_elf *e;
	bool ok;

	if (sym_elf_open(in_dir(name), &e))
		return false;
	ok = sym_elf_find(e, "hidden");
	sym_elf_free(e);
	return ok;
}

static void test_separate(void)
{
	write_file("a.c", "static __attribute__((noinline,used)) int hidden(int x) { return x + 1; } int variable = 5; int main(void) { return hidden(2); }");
	CHECK(sh("cc -g -O1 -Wl,--build-id=sha1 -o full a.c"));
	CHECK(has_hidden("full"));
	CHECK(sh("objcopy --strip-all full bare"));
	CHECK(!has_hidden("bare"));
	/* By name, beside it or in .debug; the checksum decides where there is no build id. */
	CHECK(sh("objcopy --only-keep-debug full link.dbg && objcopy --strip-all --add-gnu-debuglink=link.dbg full linked"));
	CHECK(has_hidden("linked"));
	CHECK(sh("mkdir -p .debug && mv link.dbg .debug/"));
	CHECK(has_hidden("linked"));
	CHECK(sh("objcopy --remove-section=.note.gnu.build-id linked noid"));
	CHECK(has_hidden("noid"));
	CHECK(sh("printf x >>.debug/link.dbg"));
	CHECK(!has_hidden("noid"));
	CHECK(has_hidden("linked"));
	/* Another program's */
	CHECK(sh("sed s/hidden/other/g a.c >b.c && cc -g -Wl,--build-id=sha1 -o b b.c && objcopy --only-keep-debug b .debug/link.dbg"));
	CHECK(!has_hidden("linked") && !has_hidden("noid"));
	CHECK(sh("rm .debug/link.dbg"));
	CHECK(!has_hidden("linked"));
	/* In a directory of --debuginfo: by build id, by path, by name */
	CHECK(sh("id=$(readelf -n full | sed -n 's/.*Build ID: //p'); mkdir -p dbg/.build-id/$(echo $id | cut -c-2); "
		 "objcopy --only-keep-debug full dbg/.build-id/$(echo $id | cut -c-2)/$(echo $id | cut -c3-).debug"));
	CHECK(!has_hidden("bare"));
	debugfile_set_path(in_dir("dbg"));
	CHECK(has_hidden("bare") && has_hidden("linked") && !has_hidden("noid"));
	CHECK(sh("rm -r dbg && mkdir -p dbg%s && objcopy --only-keep-debug full dbg%s/bare.debug", dir, dir));
	CHECK(has_hidden("bare"));
	debugfile_set_path(arena_printf(&arena, "+/nowhere:%s:x", in_dir("dbg")));
	CHECK(has_hidden("bare"));
	CHECK(sh("mv dbg%s/bare.debug dbg/", dir));
	CHECK(has_hidden("bare"));
	debugfile_set_path("dbg");
	CHECK(has_hidden("bare"));
	debugfile_set_path("");
	CHECK(!has_hidden("bare"));
}

static void test_packed(void)
{
	if (system("command -v xz >/dev/null")) {
		printf("skipped: there is no xz\n");
		return;
	}
	CHECK(sh("objcopy --strip-all full bare && nm full | awk '$2 == \"t\" { print $3 }' >keep && "
		 "objcopy -S --remove-section=.gdb_index --remove-section=.comment --keep-symbols=keep full mini && xz -k -f mini && "
		 "objcopy --add-section .gnu_debugdata=mini.xz bare packed"));
#ifdef HAVE_LZMA
	CHECK(has_hidden("packed"));
#endif
	CHECK(sh("head -c 300 mini.xz >cut.xz && objcopy --add-section .gnu_debugdata=cut.xz bare cut"));
	CHECK(!has_hidden("cut"));
	CHECK(sh("echo hello >cut.xz && objcopy --add-section .gnu_debugdata=cut.xz bare cut"));
	CHECK(!has_hidden("cut"));
}

static void test_fetched(void)
{
	char *path = xasprintf("%s/bin:%s", dir, getenv("PATH"));
	struct objfile file, debug;

	CHECK(sh("mkdir -p bin && objcopy --only-keep-debug full fetched.debug && "
		 "printf '#!/bin/sh\\necho \"$@\" >%s/asked\\necho %s/fetched.debug\\n' >bin/debuginfod-find && chmod +x bin/debuginfod-find", dir, dir));
	setenv("PATH", path, 1);
	CHECK(!objfile_open(&file, in_dir("bare"), 0, 0));
	unsetenv("DEBUGINFOD_URLS");
	CHECK(debugfile_open(&file, in_dir("bare"), true, &debug));
	setenv("DEBUGINFOD_URLS", "http://nowhere.invalid/", 1);
	CHECK(debugfile_open(&file, in_dir("bare"), false, &debug));
	CHECK(!debugfile_open(&file, in_dir("bare"), true, &debug) && objfile_find_section(&debug, ".debug_info"));
	objfile_release(&debug);
	CHECK(sh("test \"$(cat asked)\" = \"debuginfo $(readelf -n full | sed -n 's/.*Build ID: //p')\""));
	CHECK(sh("objcopy --only-keep-debug b fetched.debug"));
	CHECK(debugfile_open(&file, in_dir("bare"), true, &debug)); /* not what was asked for */
	unsetenv("DEBUGINFOD_URLS");
	objfile_release(&file);
	free(path);
}

/* Files inside of others, and files that are none. */
static void test_open(void)
{
	struct objfile o;
	struct bytes b;
	char *text, *part;
	size_t len;

	CHECK(!io_read_file(in_dir("full"), &text, &len));
	for (u32 off = 0; off <= 8192; off += 64 + 40 * (off == 64)) {
		char *path = xasprintf("%s/inside", dir);
		FILE *f = fopen(path, "w");
		int err;

		for (u32 i = 0; i < off; i++)
			fputc('x', f);
		fwrite(text, 1, len, f);
		fputs("behind", f);
		fclose(f);
		err = objfile_open(&o, path, off, len);
		CHECK(!err);
		if (!err) {
			CHECK(objfile_build_id(&o).len == 20 && o.len == len);
			b = objfile_section_named(&o, ".comment");
			CHECK(b.len && bytes_str(b, 0) && !bytes_str(b, b.len) && !bytes_str(b, UINT64_MAX));
			objfile_release(&o);
		}
		CHECK(objfile_open(&o, path, off + len + 10, 0) == -ENOEXEC);
		CHECK(objfile_open(&o, path, off, len + 10) == -ENOEXEC);
		free(path);
	}
	for (size_t n = 0; n < 200; n++) {
		part = memcpy(malloc(n + 1), text, n);
		if (!objfile_from_memory(&o, part, n))
			objfile_release(&o);
	}
	CHECK(objfile_open(&o, dir, 0, 0) == -EISDIR);
	CHECK(objfile_open(&o, "/dev/null", 0, 0) == -ENOEXEC);
	CHECK(objfile_open(&o, in_dir("a.c"), 0, 0) == -ENOEXEC);
	CHECK(objfile_open(&o, in_dir("nothing"), 0, 0) == -ENOENT);
	free(text);
}

/* ---- lines ---- */

static const char lines_c[] =
	"#define KEEP __attribute__((noinline, used))\n"
	"static volatile int sink;\n"
	"static inline __attribute__((always_inline)) void both(int x)\n"
	"{\n"
	"	sink = x * 3;\n" /* 5 */
	"}\n"
	"KEEP void one(int x)\n"
	"{\n"
	"	both(x + 1); sink += x;\n"
	"}\n" /* 10 */
	"KEEP int two(int x)\n"
	"{\n"
	"	both(x);\n"
	"	for (int i = 0; i < x; i++)\n"
	"		sink++;\n" /* 15 */
	"	return sink;\n"
	"}\n"
	"\n"
	"int main(void)\n"
	"{\n" /* 20 */
	"	one(1);\n"
	"	return two(2) ? 0 : 1;\n"
	"}\n";

/* Addresses of a line, each with the function that the symbol table has there. */
static void expect_line(int at, struct dbg *d, const char *prog, const char *file, u32 line, u32 col, const char *want)
{
	struct dbg_lines found;
	struct sbuf got = {};
	struct sym_elf *e;

	CHECK(!sym_elf_open(in_dir(prog), &e));
	dbg_find_line(d, file, line, col, &found);
	vec_for(p, &found.at) {
		const struct sym_func *f = sym_elf_at(e, p->addr);
		struct dbg_place back;

		sbuf_printf(&got, "%s:%u %s in %s\n", strrchr(p->file, '/') + 1, p->line, p->func, f ? f->name : "?");
		CHECK(dbg_line_at(d, p->addr, &back) && str_eq(back.file, p->file) && (back.line == p->line || col));
	}
	if (!found.at.cnt)
		sbuf_printf(&got, "%s, next %u\n", found.is_file_known ? "nothing" : "no such file", found.next_line);
	check_text(__FILE__, at, sbuf_str(&got), want);
	vec_free(&found.at);
	sbuf_release(&got);
	sym_elf_free(e);
}

static void test_lines(void)
{
	static const char *const how[] = { "cc -gdwarf-5", "cc -gdwarf-4", "cc -gdwarf-4 -gz", "cc -gdwarf-5 -gz", "clang -gdwarf-5", "clang -gdwarf-4" };
	bool has_clang = !system("command -v clang >/dev/null");

	CHECK(sh("mkdir -p src"));
	write_file("src/lines.c", lines_c);
	for (u32 i = 0; i < 2 * ARRAY_CNT(how); i++) {
		const char *cc = how[i / 2], *opt = i % 2 ? "-O2" : "-O0";
		struct dbg_lines none;
		struct dbg *d;
		int err;

		if (str_starts(cc, "clang") && !has_clang)
			continue;
		CHECK(sh("%s %s -o lines src/lines.c", cc, opt));
		err = dbg_open(in_dir("lines"), &d);
		CHECK(!err);
		if (err)
			continue;
		expect_line(__LINE__, d, "lines", "lines.c", 21, 0, "lines.c:21 main in main\n");
		expect_line(__LINE__, d, "lines", "src/lines.c", 21, 0, "lines.c:21 main in main\n");
		expect_line(__LINE__, d, "lines", "./lines.c", 21, 0, "lines.c:21 main in main\n");
		expect_line(__LINE__, d, "lines", in_dir("src/lines.c"), 21, 0, "lines.c:21 main in main\n");
		expect_line(__LINE__, d, "lines", "ines.c", 21, 0, "no such file, next 0\n");
		expect_line(__LINE__, d, "lines", "other.c", 21, 0, "no such file, next 0\n");
		expect_line(__LINE__, d, "lines", "", 21, 0, "no such file, next 0\n");
		dbg_find_line(d, "lines.c", 18, 0, &none);
		CHECK(!none.at.cnt && none.is_file_known && (none.next_line == 19 || none.next_line == 20)); /* where main starts: compilers differ */
		expect_line(__LINE__, d, "lines", "lines.c", 24, 0, "nothing, next 0\n");
		/* A loop's line is cut into pieces; what was inlined twice is in two places. */
		expect_line(__LINE__, d, "lines", "lines.c", 14, 0, "lines.c:14 two in two\n");
		expect_line(__LINE__, d, "lines", "lines.c", 5, 0, "lines.c:5 both in one\nlines.c:5 both in two\n");
		expect_line(__LINE__, d, "lines", "lines.c", 21, 99, "nothing, next 22\n");
		CHECK(!dbg_line_at(d, 1, &(struct dbg_place){}));
		dbg_close(d);
	}
}

/* ---- hostile files ---- */

/* Asks everything that can be asked; answers do not matter. */
static void ask_all(struct dbg *d)
{
	struct dbg_lines found;

	dbg_find_line(d, "lines.c", 5, 0, &found);
	vec_free(&found.at);
	dbg_find_line(d, "lines.c", 9, 2, &found);
	vec_free(&found.at);
	for (u64 a = 0x1000; a < 0x1400; a += 16)
		dbg_line_at(d, a, &(struct dbg_place){});
}

/* Each debug section in turn is cut, or has bytes changed. */
static void test_hostile(const char *prog, u32 rounds)
{
	char *path = xasprintf("%s/hostile", dir), *text;
	struct objfile o;
	u32 seed = 7;
	size_t len;

	CHECK(!io_read_file(in_dir(prog), &text, &len) && !objfile_open(&o, in_dir(prog), 0, 0));
	for (u32 round = 0; round < rounds; round++) {
		char *copy = memcpy(malloc(len), text, len);
		struct dbg *d;
		FILE *f;

		for (u32 i = 1; i < o.sh_cnt; i++) {
			Elf64_Shdr *sh = (Elf64_Shdr *)(copy + o.eh->e_shoff) + i;
			u32 changes = round % 5 == 4 ? 0 : 1 + round % 7;

			if (!str_starts(objfile_section_name(&o, i), ".debug_") || !sh->sh_size)
				continue;
			for (u32 k = 0; k < changes; k++) {
				seed = seed * 1103515245 + 12345;
				copy[sh->sh_offset + (seed >> 4) % sh->sh_size] = round & 1 ? (char)(seed >> 20) : (seed & 0x10000 ? 0xff : 0);
			}
			seed = seed * 1103515245 + 12345;
			if (!changes && (seed >> 16) % 3 == 0)
				sh->sh_size = (seed >> 4) % sh->sh_size;
		}
		f = fopen(path, "w");
		fwrite(copy, 1, len, f);
		fclose(f);
		if (!dbg_open(path, &d)) {
			ask_all(d);
			dbg_close(d);
		}
		free(copy);
	}
	passed++;
	objfile_release(&o);
	free(text);
	free(path);
}

int main(void)
{
	world_init();
	if (!mkdtemp(dir) || system("command -v cc >/dev/null && command -v objcopy >/dev/null")) {
		printf("skipped: there is no compiler\n");
		return world_end();
	}
	unsetenv("DEBUGINFOD_URLS");
	test_separate();
	test_packed();
	test_fetched();
	test_open();
	test_lines();
	CHECK(sh("cc -gdwarf-5 -O2 -o v5 src/lines.c && cc -gdwarf-4 -O2 -o v4 src/lines.c"));
	test_hostile("v5", 300);
	test_hostile("v4", 300);
	if (!failed)
		CHECK(sh("cd / && rm -r %s", dir));
	return world_end();
}
