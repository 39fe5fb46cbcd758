/* SPDX-License-Identifier: GPL-2.0-only */
/* Debug information: symbols and types that are in the file, beside it, far from it, packed, or broken. The files are made by the
 * compiler and objcopy when the test runs. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "out_check.h"
#include "sym/debugfile.h"
#include "sym/dwarf.h"
#include "sym/elf.h"
#include "types/btfraw.h"

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
	write_file(
		"a.c",
		"static __attribute__((noinline,used)) int hidden(int x) { return x + 1; } int variable = 5; int main(void) { return hidden(2); }");
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
	CHECK(sh(
		"sed s/hidden/other/g a.c >b.c && cc -g -Wl,--build-id=sha1 -o b b.c && objcopy --only-keep-debug b .debug/link.dbg"));
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
	CHECK(sh(
		"objcopy --strip-all full bare && nm full | awk '$2 == \"t\" { print $3 }' >keep && "
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

	CHECK(sh(
		"mkdir -p bin && objcopy --only-keep-debug full fetched.debug && "
		"printf '#!/bin/sh\\necho \"$@\" >%s/asked\\necho %s/fetched.debug\\n' >bin/debuginfod-find && chmod +x bin/debuginfod-find",
		dir, dir));
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

static const char lines_c[] = "#define KEEP __attribute__((noinline, used))\n"
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

static bool path_is(const char *path, const char *name)
{
	return str_eq(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, name);
}

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

/* Line 5 is in what was inlined, line 9 or 13 in the function around it. */
static void check_frames(struct dbg *d)
{
	struct dbg_place frames[4];
	struct dbg_lines found;

	dbg_find_line(d, "lines.c", 5, 0, &found);
	vec_for(p, &found.at) {
		u32 cnt = dbg_frames_at(d, p->addr, frames, ARRAY_CNT(frames));

		CHECK(cnt == 2);
		if (cnt == 2)
			CHECK(str_eq(frames[0].func, "both") && frames[0].line == 5 && path_is(frames[1].file, "lines.c") &&
			      (str_eq(frames[1].func, "one") ? frames[1].line == 9 : frames[1].line == 13));
		CHECK(dbg_frames_at(d, p->addr, frames, 1) == 1 && dbg_frames_at(d, p->addr, frames, 0) == 0);
	}
	vec_free(&found.at);
	CHECK(dbg_frames_at(d, 1, frames, 4) == 0);
}

static void test_lines(void)
{
	static const char *const how[] = { "cc -gdwarf-5",     "cc -gdwarf-4",    "cc -gdwarf-4 -gz",
					   "cc -gdwarf-5 -gz", "clang -gdwarf-5", "clang -gdwarf-4" };
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
		CHECK(!none.at.cnt && none.is_file_known &&
		      (none.next_line == 19 || none.next_line == 20)); /* where main starts: compilers differ */
		expect_line(__LINE__, d, "lines", "lines.c", 24, 0, "nothing, next 0\n");
		/* A loop's line is cut into pieces; what was inlined twice is in two places. */
		expect_line(__LINE__, d, "lines", "lines.c", 14, 0, "lines.c:14 two in two\n");
		expect_line(__LINE__, d, "lines", "lines.c", 5, 0, "lines.c:5 both in one\nlines.c:5 both in two\n");
		expect_line(__LINE__, d, "lines", "lines.c", 21, 99, "nothing, next 22\n");
		CHECK(!dbg_line_at(d, 1, &(struct dbg_place){}));
		check_frames(d);
		dbg_close(d);
	}
}

/* ---- functions and types ---- */

static const char funcs_c[] =
	"#define KEEP __attribute__((noinline, used, visibility(\"default\")))\n"
	"struct small { int a, b; }; struct two { long x; char c; }; struct big { long v[3]; }; struct mixed { double d; int i; };\n"
	"struct floats { float f[2]; }; struct packed { char c; int i; } __attribute__((packed));\n"
	"struct bits { unsigned a : 3, b : 7; int c : 5; unsigned long long d : 40; };\n"
	"enum color { RED = 1, GREEN = 5, BLUE = 200 }; enum neg { MINUS = -3, PLUS = 7 };\n"
	"union u { int i; char c[4]; };\n"
	"typedef struct small small_t;\n"
	"struct opaque;\n"
	"struct node { struct node *next; char name[12]; int grid[2][3]; struct { int x, y; }; enum color col; struct opaque *o; void (*fn)(int);\n"
	"	const char *const str; unsigned char raw[4]; char flex[]; };\n"
	"KEEP int ints(int a, unsigned char b, long c, short d, struct node *n, enum color e, int seventh, long eighth) { return a + b + c + d + e + seventh + eighth + !n; }\n"
	"KEEP long structs(struct small s, struct two t, small_t s2) { return s.a + t.x + s2.b; }\n"
	"KEEP struct big result(struct big b, int x) { b.v[0] += x; return b; }\n"
	"KEEP double doubles(double d, int i, float f, struct mixed s, struct floats fl, long after) { return d + i + f + s.d + fl.f[0] + after; }\n"
	"KEEP int varargs(const char *fmt, ...) { return fmt[0]; }\n"
	"KEEP int rare(struct bits b, union u u, _Bool flag, enum neg n, __int128 wide, struct two t, struct packed p) { return b.a + u.i + flag + n + (int)wide + t.c + p.i; }\n"
	"KEEP int nothing(void) { return 1; }\n"
	"static __attribute__((noinline)) int clone(int a, int b, int unused) { __asm__ volatile(\"\"); return a * b; }\n"
	"int main(int argc, char **argv) { struct node n = {}; return ints(1, 2, 3, 4, &n, GREEN, 7, 8) + structs((struct small){ 1 }, (struct two){ 3 }, (small_t){ 5 }) +\n"
	"	result((struct big){}, 4).v[0] + doubles(1, 2, 3, (struct mixed){ 4 }, (struct floats){}, 5) + varargs(\"x\", 1) +\n"
	"	rare((struct bits){ 1 }, (union u){ 3 }, 1, MINUS, 5, (struct two){ 1 }, (struct packed){}) + nothing() + clone(3, argc, 1); }\n";

static void put_func(struct dbg *d, struct sym_elf *e, const char *name, struct sbuf *out)
{
	const struct sym_func *s = sym_elf_find(e, name);
	const struct dbg_func *f = s ? dbg_func_at(d, s->addr, s->name) : NULL;

	sbuf_printf(out, "%s", name);
	for (u32 i = 0; f && i < f->param_cnt; i++) {
		const struct dbg_param *p = &f->params[i];

		sbuf_printf(out, "%s%s %s ", i ? ", " : "(", type_str(&arena, p->type), p->name);
		if (!p->piece_cnt)
			sbuf_printf(out, strstr(p->why, "floating") ? "float" : strstr(p->why, "away") ? "away" : "unknown");
		for (u32 k = 0; k < p->piece_cnt; k++) {
			static const char *const regs[] = { "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9" };
			const struct dbg_piece *at = &p->pieces[k];
			const char *reg = at->reg < ARRAY_CNT(regs) ? regs[at->reg] : "?";

			sbuf_puts(out, k ? "+" : "");
			if (p->piece_cnt > 1)
				sbuf_printf(out, "%u:", at->off);
			switch (at->where) {
			case DBG_REG:
				sbuf_printf(out, "%s", reg);
				break;
			case DBG_MEM:
				sbuf_printf(out, "[%s+%lld]", reg, (long long)at->num);
				break;
			case DBG_REG_SUM:
				sbuf_printf(out, "%s+%lld", reg, (long long)at->num);
				break;
			case DBG_CONST:
				sbuf_printf(out, "=%lld", (long long)at->num);
				break;
			}
		}
	}
	sbuf_printf(out, f ? "%s) %s\n" : " ?\n",
		    f && f->is_variadic        ? ", ..." :
			    f && !f->param_cnt ? "(" :
						 "",
		    f ? type_str(&arena, f->ret) : "");
}

static void put_struct(struct dbg *d, const char *keyword, const char *name, struct sbuf *out)
{
	struct type_source *src = dbg_types(d, 0);
	const struct type *t = src->find(src, keyword, name);

	if (!t) {
		sbuf_printf(out, "no %s %s\n", keyword, name);
		return;
	}
	t = type_complete(t);
	sbuf_printf(out, "%s %u:", type_str(&arena, t), t->size);
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i];

		sbuf_printf(out, " %u %s %s", m->off, type_str(&arena, m->type), m->name);
		if (m->bit_sz)
			sbuf_printf(out, " %u:%u", m->bit_off, m->bit_sz);
		sbuf_puts(out, i + 1 < t->member_cnt ? "," : "");
	}
	for (u32 i = 0; i < t->const_cnt; i++)
		sbuf_printf(out, " %s=%lld", t->consts[i].name, (long long)t->consts[i].value);
	sbuf_putc(out, '\n');
}

static struct dbg *open_both(const char *prog, struct sym_elf **e)
{
	struct dbg *d = NULL;

	CHECK(!sym_elf_open(in_dir(prog), e));
	CHECK(!dbg_open(in_dir(prog), &d));
	return d;
}

#ifdef __x86_64__
static void test_functions(void)
{
	static const char *const how[] = { "cc -gdwarf-5", "cc -gdwarf-4", "clang -gdwarf-5", "clang -gdwarf-4" };
	static const char *const names[] = { "ints", "structs", "result", "doubles", "varargs", "rare", "nothing" };
	static const char want[] =
		"ints(int32 a di, uint8 b si, int64 c dx, int16 d cx, struct node * n r8, enum color e r9, int32 seventh [sp+8], int64 eighth [sp+16]) int32\n"
		"structs(struct small s di, struct two t 0:si+8:dx, struct small s2 cx) int64\n"
		"result(struct big b [sp+8], int32 x si) struct big\n"
		"doubles(int64 d float, int32 i di, int32 f float, struct mixed s float, struct floats fl float, int64 after dx) int64\n"
		"varargs(int8 * fmt di, ...) int32\n"
		"rare(struct bits b di, union u u si, bool flag dx, enum neg n cx, uint64[2] wide 0:r8+8:r9, struct two t [sp+8], struct packed p [sp+24]) int32\n"
		"nothing() int32\n";
	bool has_clang = !system("command -v clang >/dev/null");

	write_file("src/funcs.c", funcs_c);
	for (u32 i = 0; i < 2 * ARRAY_CNT(how); i++) {
		const char *cc = how[i / 2], *opt = i % 2 ? "-O2" : "-O0";
		struct sbuf got = {};
		struct sym_elf *e;
		struct dbg *d;
		s64 v;
		const struct type *t;

		if (str_starts(cc, "clang") && !has_clang)
			continue;
		CHECK(sh("%s %s -o funcs src/funcs.c", cc, opt));
		d = open_both("funcs", &e);
		for (u32 k = 0; k < ARRAY_CNT(names); k++)
			put_func(d, e, names[k], &got);
		check_text(cc, __LINE__, sbuf_str(&got), want);
		/* A copy for the only caller: constants are constants, the rest may be in other registers. */
		if (i % 2 && sym_elf_find(e, "clone.constprop.0")) {
			sbuf_reset(&got);
			put_func(d, e, "clone.constprop.0", &got);
			CHECK(strstr(got.s, "int32 b di") && strstr(got.s, "int32 a =3"));
		} else if (!(i % 2)) {
			sbuf_reset(&got);
			put_func(d, e, "clone", &got);
			CHECK_TEXT(got.s, "clone(int32 a di, int32 b si, int32 unused dx) int32\n");
		}
		sbuf_reset(&got);
		put_struct(d, "struct", "node", &got);
		put_struct(d, "struct", "bits", &got);
		put_struct(d, "", "small_t", &got);
		put_struct(d, "union", "u", &got);
		put_struct(d, "enum", "color", &got);
		put_struct(d, "enum", "neg", &got);
		put_struct(d, "struct", "opaque", &got);
		put_struct(d, "struct", "color", &got);
		put_struct(d, "", "node", &got);
		put_struct(d, "", "float", &got);
		CHECK_TEXT(
			got.s,
			"struct node 88: 0 struct node * next, 8 string[12] name, 20 int32[3][2] grid, 44 struct (anonymous) , 52 enum color col, "
			"56 struct opaque * o, 64 void * fn, 72 int8 * str, 80 uint8[4] raw, 84 int8[0] flex\n"
			"struct bits 8: 0 uint32 a 0:3, 0 uint32 b 3:7, 0 int32 c 10:5, 0 uint64 d 15:40\n"
			"struct small 8: 0 int32 a, 4 int32 b\n"
			"union u 4: 0 int32 i, 0 string[4] c\n"
			"enum color 4: RED=1 GREEN=5 BLUE=200\n"
			"enum neg 4: MINUS=-3 PLUS=7\n"
			"no struct opaque\nno struct color\nno  node\nint32 4:\n");
		CHECK(dbg_types(d, 0)->constant(dbg_types(d, 0), "BLUE", &v, &t) && v == 200 && !t->is_signed);
		CHECK(dbg_types(d, 0)->constant(dbg_types(d, 0), "MINUS", &v, &t) && v == -3 && t->is_signed);
		CHECK(!dbg_types(d, 0)->constant(dbg_types(d, 0), "WHITE", &v, &t));
		CHECK(!dbg_func_at(d, 1, ""));
		sbuf_release(&got);
		dbg_close(d);
		sym_elf_free(e);
	}
}

static const char classes_cc[] =
	"#define KEEP __attribute__((noinline, used))\n"
	"namespace net { namespace { struct hidden { int h; }; }\n"
	"struct base { long id; virtual ~base() {} };\n"
	"struct owner { int *p; owner(int *q) : p(q) {} owner(const owner &o) : p(o.p) {} ~owner() { p = 0; } };\n"
	"class conn : public base { public: int fd; static int count; struct inner { short s; } in; enum class state : unsigned char { idle = 1, busy = 200 } st;\n"
	"	KEEP int send(const char *data, unsigned long len) const; KEEP static int make(conn &c, hidden *h); conn *next; };\n"
	"int conn::count;\n"
	"int conn::send(const char *data, unsigned long len) const { return fd + (int)len; }\n"
	"int conn::make(conn &c, hidden *h) { return c.fd + h->h; }\n"
	"template <typename T> KEEP T twice(T a) { return a + a; }\n"
	"KEEP int take(int before, owner o, int after) { return *o.p + before + after; } }\n"
	"int main() { net::conn c; int x = 5; c.fd = 3; net::hidden h{4}; c.send(\"hi\", 2); net::conn::make(c, &h); net::twice<int>(3);\n"
	"	return net::take(1, net::owner(&x), 2); }\n";

static void test_classes(void)
{
	static const char *const how[] = { "g++ -O0", "g++ -O2", "clang++ -O0", "clang++ -O2" };

	write_file("src/classes.cc", classes_cc);
	for (u32 i = 0; i < ARRAY_CNT(how); i++) {
		struct sbuf got = {};
		struct sym_elf *e;
		struct dbg *d;

		if (system(arena_printf(&arena, "command -v %.*s >/dev/null", (int)strcspn(how[i], " "), how[i])))
			continue;
		CHECK(sh("%s -g -o classes src/classes.cc", how[i]));
		d = open_both("classes", &e);
		put_func(d, e, "_ZNK3net4conn4sendEPKcm", &got);
		put_func(d, e, "_ZN3net4conn4makeERS0_PNS_12_GLOBAL__N_16hiddenE", &got);
		put_func(d, e, "_ZN3net5twiceIiEET_S1_", &got);
		put_func(d, e, "_ZN3net4takeEiNS_5ownerEi", &got);
		put_struct(d, "struct", "conn", &got);
		put_struct(d, "", "net::conn::inner", &got);
		put_struct(d, "struct", "net::hidden", &got);
		put_struct(d, "struct", "inner::conn", &got);
		put_struct(d, "struct", "onn", &got);
		put_struct(d, "enum", "net::conn::state", &got);
		CHECK_TEXT(
			got.s,
			"_ZNK3net4conn4sendEPKcm(struct net::conn * this di, int8 * data si, uint64 len dx) int32\n"
			"_ZN3net4conn4makeERS0_PNS_12_GLOBAL__N_16hiddenE(struct net::conn * c di, struct net::hidden * h si) int32\n"
			"_ZN3net5twiceIiEET_S1_(int32 a di) int32\n"
			"_ZN3net4takeEiNS_5ownerEi(int32 before di, struct net::owner o [si+0], int32 after dx) int32\n"
			"struct net::conn 32: 0 struct net::base , 16 int32 fd, 20 struct net::conn::inner in, 22 enum net::conn::state st, 24 struct net::conn * next\n"
			"struct net::conn::inner 2: 0 int16 s\n"
			"struct net::hidden 4: 0 int32 h\n"
			"no struct inner::conn\nno struct onn\n"
			"enum net::conn::state 1: idle=1 busy=200\n");
		sbuf_release(&got);
		dbg_close(d);
		sym_elf_free(e);
	}
}

/* A struct that is defined in another unit than where it is used. */
static void test_declared(void)
{
	struct sbuf got = {};
	struct sym_elf *e;
	struct dbg *d;
	const struct type *t;
	const struct dbg_func *f;

	write_file(
		"src/d1.c",
		"struct far; int use(struct far *f) { return f != 0; } struct same { int a; } s1; int main(void) { return use(0); }");
	write_file(
		"src/d2.c",
		"struct far { int x; struct far *next; } far_one; struct same { long a, b; } s2; int use2(void) { return 1; }");
	CHECK(sh("cc -g -o declared src/d1.c src/d2.c"));
	d = open_both("declared", &e);
	f = dbg_func_at(d, sym_elf_find(e, "use")->addr, "use");
	t = f && f->param_cnt == 1 && f->params[0].type->kind == T_POINTER ? type_complete(f->params[0].type->elem) : &type_void;
	CHECK(t->kind == T_STRUCT && t->size == 16 && t->member_cnt == 2 && str_eq(t->members[1].name, "next"));
	/* One name, two structs: that of the unit which is probed */
	for (u32 i = 0; i < 2; i++) {
		struct type_source *src = dbg_types(d, sym_elf_find(e, i ? "use" : "use2")->addr);

		t = src->find(src, "struct", "same");
		CHECK(t && t->size == (i ? 4 : 16));
	}
	/* The same in a debug file of its own */
	CHECK(sh(
		"objcopy --only-keep-debug declared declared.debug && objcopy --strip-all --add-gnu-debuglink=declared.debug declared decl2"));
	dbg_close(d);
	CHECK(!dbg_open(in_dir("decl2"), &d));
	put_struct(d, "struct", "far", &got);
	CHECK_TEXT(sbuf_str(&got), "struct far 16: 0 int32 x, 8 struct far * next\n");
	sbuf_release(&got);
	dbg_close(d);
	sym_elf_free(e);
	CHECK(sh("rm declared.debug"));
	CHECK(dbg_open(in_dir("decl2"), &d) == -ENOENT);
}
#endif

/* ---- types that no compiler here writes ---- */

/* Attributes of each kind of entry are in .debug_abbrev below; a type is named by the label before it. */
static const char made_up_s[] =
	"	.macro base name, size, enc\n	.uleb128 2\n	.asciz \"\\name\"\n	.uleb128 \\size\n	.byte \\enc\n	.endm\n"
	"	.macro begin name, size\n	.uleb128 3\n	.asciz \"\\name\"\n	.uleb128 \\size\n	.endm\n"
	"	.macro member name, type, off\n	.uleb128 4\n	.asciz \"\\name\"\n	.long \\type - cu\n	.uleb128 \\off\n	.endm\n"
	"	.macro field name, type, bit, width\n	.uleb128 5\n	.asciz \"\\name\"\n	.long \\type - cu\n	.uleb128 \\bit, \\width\n	.endm\n"
	"	.macro alias name, type\n	.uleb128 6\n	.asciz \"\\name\"\n	.long \\type - cu\n	.endm\n"
	"	.macro array type\n	.uleb128 7\n	.long \\type - cu\n	.endm\n"
	"	.macro dim cnt\n	.uleb128 8, \\cnt\n	.endm\n"
	"	.macro function\n	.uleb128 9\n	.endm\n"
	"	.macro param type\n	.uleb128 10\n	.long \\type - cu\n	.endm\n"
	"	.macro enumeration name, size\n	.uleb128 11\n	.asciz \"\\name\"\n	.uleb128 \\size\n	.endm\n"
	"	.macro constant name, value\n	.uleb128 12\n	.asciz \"\\name\"\n	.sleb128 \\value\n	.endm\n"
	"	.macro offset_of type\n	.uleb128 13\n	.long \\type - cu\n	.endm\n"
	"	.macro variants\n	.uleb128 14\n	.endm\n	.macro variant\n	.uleb128 15\n	.endm\n"
	"	.macro end\n	.byte 0\n	.endm\n"
	"	.section .debug_info,\"\",@progbits\n"
	"cu:	.long cu_end - cu - 4\n	.short 5\n	.byte 1, 8\n	.long 0\n"
	"	.uleb128 1\n	.byte 0x0c\n	.asciz \"made.up\"\n"
	"int:	base int, 4, 5\nchar:	base char, 1, 6\nrune:	base char, 4, 16\nunit:	base char, 1, 16\nwide:	base wide, 40, 7\nlong:	base long, 8, 5\n"
	/* Text is what C calls so. */
	"chars:	array char\n	dim 3\n	end\nrunes:	array rune\n	dim 3\n	end\nunits:	array unit\n	dim 3\n	end\n"
	"deep:	array int\n	.rept 16\n	dim 1\n	.endr\n	end\nabyss:	array int\n	.rept 17\n	dim 1\n	.endr\n	end\n"
	"many:	array char\n	dim 0x100000003\n	end\n"
	"place:	offset_of int\n"
	"	begin odd, 96\n	member chars, chars, 0\n	member runes, runes, 4\n	member units, units, 16\n	member wide, wide, 24\n	member deep, deep, 64\n"
	"	member abyss, abyss, 68\n	member many, many, 68\n	member place, place, 72\n	end\n"
	/* Structs that contain themselves, at once and by way of another; one that does not end soon enough to be walked. */
	"self:	begin self, 8\n	member x, int, 0\n	member me, self, 0\n	end\n"
	"ping:	begin ping, 8\n	member pong, pong, 0\n	end\npong:	begin pong, 8\n	member ping, ping, 0\n	end\n"
	"	begin holder, 16\n	member x, int, 0\n	member bad, self, 8\n	end\n"
	"n0:	begin n0, 4\n	member x, int, 0\n	end\n"
	"	.altmacro\n	.macro level i, j\nn\\i:	begin n\\i, 4\n	member , n\\j, 0\n	member , n\\j, 0\n	end\n	.endm\n"
	"	.set i, 1\n	.rept 40\n	level %i, %i - 1\n	.set i, i + 1\n	.endr\n	.noaltmacro\n"
	/* A typedef of itself; a function that takes itself, often. */
	"loop:	alias loop, loop\nfn:	function\n	.rept 200\n	param fn\n	.endr\n	end\nfn_t:	alias fn_t, fn\n"
	"	begin cycles, 16\n	member loop, loop, 0\n	member fn, fn_t, 0\n	member x, int, 8\n	end\n"
	"	begin outside, 4\n	member x, int, 0\n	member y, int, 4\n	end\n"
	/* Farther from the start than BTF can tell of a bit-field. */
	"color:	enumeration color, 4\n	constant RED, 1\n	constant LOW, -2\n	end\n"
	"pad:	array char\n	dim 0x400000\n	end\n"
	"	begin far, 0x400010\n	member pad, pad, 0\n	field a, int, 0x2000000, 5\n	field b, color, 0x2000005, 3\n	field c, long, 0x2000028, 40\n	"
	"member x, int, 0x40000c\n	end\n"
	"	enumeration huge, 4\n	constant HUGE, 0x123456789\n	end\n"
	"	begin shape, 8\n	variants\n	member tag, int, 0\n	variant\n	member one, int, 4\n	end\n	variant\n	member two, char, 4\n	end\n	end\n	end\n"
	"	end\ncu_end:\n"
	"	.section .debug_abbrev,\"\",@progbits\n"
	"	.byte 1, 0x11, 1, 0x13, 0x0b, 3, 8, 0, 0\n	.byte 2, 0x24, 0, 3, 8, 0x0b, 0x0f, 0x3e, 0x0b, 0, 0\n	.byte 3, 0x13, 1, 3, 8, 0x0b, 0x0f, 0, 0\n"
	"	.byte 4, 0x0d, 0, 3, 8, 0x49, 0x13, 0x38, 0x0f, 0, 0\n	.byte 5, 0x0d, 0, 3, 8, 0x49, 0x13, 0x6b, 0x0f, 0x0d, 0x0f, 0, 0\n"
	"	.byte 6, 0x16, 0, 3, 8, 0x49, 0x13, 0, 0\n	.byte 7, 0x01, 1, 0x49, 0x13, 0, 0\n	.byte 8, 0x21, 0, 0x37, 0x0f, 0, 0\n	.byte 9, 0x15, 1, 0, 0\n"
	"	.byte 10, 0x05, 0, 0x49, 0x13, 0, 0\n	.byte 11, 0x04, 1, 3, 8, 0x0b, 0x0f, 0, 0\n	.byte 12, 0x28, 0, 3, 8, 0x1c, 0x0d, 0, 0\n"
	"	.byte 13, 0x1f, 0, 0x49, 0x13, 0, 0\n	.byte 14, 0x33, 1, 0, 0\n	.byte 15, 0x19, 1, 0, 0\n	.byte 0\n";

static void test_made_up(void)
{
	static const char *const structs[] = {
		"odd", "self", "ping", "pong", "holder", "n3", "n40", "cycles", "outside", "shape"
	};
	static const char *const far[] = { "a", "b", "c", "x", "y" };
	struct dbg_places places = {};
	struct sbuf got = {};
	const struct type *t;
	struct btfraw raw;
	struct dbg *d;
	size_t len;
	s64 v = 0;
	u8 *btf;

	write_file("made.s", made_up_s);
	CHECK(sh("cc -c -o made.o made.s"));
	CHECK(!dbg_open(in_dir("made.o"), &d));
	for (u32 i = 0; i < ARRAY_CNT(structs); i++)
		put_struct(d, "struct", structs[i], &got);
	put_struct(d, "enum", "huge", &got);
	CHECK_TEXT(got.s,
		   "struct odd 96: 0 string[3] chars, 4 uint32[3] runes, 16 uint8[3] units, 24 uint64[5] wide, "
		   "64 int32[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1] deep, 68 void abyss, 68 void many, 72 uint64 place\n"
		   "struct self 8:\nstruct ping 8:\nstruct pong 8:\nstruct holder 16:\n"
		   "struct n3 4: 0 struct n2 , 0 struct n2 \nstruct n40 4:\n"
		   "struct cycles 16: 0 void loop, 0 void fn, 8 int32 x\n"
		   "struct outside 4:\n"
		   "struct shape 8: 0 int32 tag, 4 int32 one, 4 int8 two\n"
		   "enum huge 4: HUGE=4886718345\n");
	sbuf_reset(&got);
	t = dbg_types(d, 0)->find(dbg_types(d, 0), "struct", "far");
	for (u32 i = 0; t && i < ARRAY_CNT(far); i++) {
		u32 off = 0;
		const struct member *m = type_member(t, far[i], &off);

		sbuf_printf(&got, m ? "%s %x %s %u:%u\n" : "no %s\n", far[i], off, m ? type_str(&arena, m->type) : "",
			    m ? m->bit_off : 0, m ? m->bit_sz : 0);
	}
	CHECK_TEXT(sbuf_str(&got),
		   "a 400000 int32 0:5\nb 400000 enum color 5:3\nc 400005 int64 0:40\nx 40000c int32 0:0\nno y\n");
	CHECK(dbg_types(d, 0)->constant(dbg_types(d, 0), "LOW", &v, &t) && v == -2 && t->is_signed);
	/* All at once: a function of itself must not be spelled out. */
	btf = dbg_to_btf(d, &len, &places);
	CHECK(!btfraw_init(&raw, btf, len, false, NULL) && !btfraw_check(&raw) && raw.cnt < 500 && raw.cnt == places.at.cnt);
	CHECK(btfraw_find(&raw, BTF_BIT(BTF_KIND_STRUCT), "self") && btfraw_find(&raw, BTF_BIT(BTF_KIND_ENUM64), "huge"));
	btfraw_release(&raw);
	vec_free(&places.at);
	sbuf_release(&got);
	dbg_close(d);
}

/* ---- hostile files ---- */

/* As deep as printing would go: by-value members, and one step along pointers. */
static void walk_type(const struct type *t, u32 depth)
{
	CHECK(depth < 200);
	if (depth >= 200)
		return;
	if (t->kind == T_ARRAY) {
		walk_type(t->elem, depth + 1);
	} else if (t->kind == T_STRUCT || t->kind == T_ENUM) {
		t = type_complete(t);
		for (u32 i = 0; i < t->member_cnt; i++) {
			const struct member *m = &t->members[i];

			if (m->off > t->size || m->type->size > t->size - m->off)
				CHECK(!"member outside of its struct");
			walk_type(m->type, depth + 1);
			if (m->type->kind == T_POINTER && m->type->elem->kind == T_STRUCT)
				type_complete(m->type->elem);
		}
	}
}

/* Asks everything that can be asked; answers do not matter. */
static void ask_all(struct dbg *d)
{
	static const char *const names[] = { "int", "node", "small_t", "conn", "net::conn", "bits", "BLUE", "hidden" };
	struct dbg_places places = {};
	struct dbg_lines found;
	struct btfraw raw;
	size_t len;
	u8 *btf;

	dbg_find_line(d, "lines.c", 5, 0, &found);
	vec_free(&found.at);
	dbg_find_line(d, "lines.c", 9, 2, &found);
	vec_free(&found.at);
	for (u64 a = 0x1000; a < 0x1400; a += 16)
		dbg_frames_at(d, a, (struct dbg_place[4]){}, 4);
	for (u64 a = 0x1000; a < 0x1400; a++)
		dbg_func_at(d, a, "f");
	for (u32 i = 0; i < ARRAY_CNT(names); i++) {
		struct type_source *src = dbg_types(d, 0);
		const struct type *t = src->find(src, i % 2 ? "struct" : "", names[i]);

		if (t)
			walk_type(t, 0);
		src->constant(src, names[i], &(s64){ 0 }, NULL);
	}
	btf = dbg_to_btf(d, &len, &places);
	if (btfraw_init(&raw, btf, len, false, NULL) || btfraw_check(&raw) || raw.cnt != places.at.cnt)
		CHECK(!"types that cannot be read");
	btfraw_release(&raw);
	vec_free(&places.at);
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
				copy[sh->sh_offset + (seed >> 4) % sh->sh_size] = round & 1 ? (char)(seed >> 20) :
											      (seed & 0x10000 ? 0xff : 0);
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
	test_hostile("v5", 100);
	test_hostile("v4", 100);
#ifdef __x86_64__
	test_functions();
	test_classes();
	test_declared();
#endif
	test_made_up();
	CHECK(sh("cc -gdwarf-5 -O2 -o v5 src/funcs.c && cc -gdwarf-4 -O0 -o v4 src/funcs.c"));
	test_hostile("v5", 200);
	test_hostile("v4", 200);
	if (!system("command -v g++ >/dev/null")) {
		CHECK(sh("g++ -g -O2 -o cpp src/classes.cc"));
		test_hostile("cpp", 200);
	}
	if (!failed)
		CHECK(sh("cd / && rm -r %s", dir));
	return world_end();
}
