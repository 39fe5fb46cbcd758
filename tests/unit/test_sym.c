/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of addresses: mappings of processes, symbols, the kernel's notices, and stacks in scripts (in the interpreter). */
#include <linux/perf_event.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "bpf/build.h"
#include "kern/taskmaps.h"
#include "out/value.h"
#include "out_check.h"
#include "run/symbols.h"
#include "sym/demangle.h"
#include "sym/elf.h"
#include "sym/user.h"
#include "vm/vm.h"

/* ---- /proc/PID/maps ---- */

static void test_parse(void)
{
	static const char *const bad[] = {
		"",
		"-",
		"1",
		"1-",
		"1-2",
		"1-2 ",
		"1-2 r-xp",
		"1-2 r-xp ",
		"2-1 r-xp 0 0:0 0",
		"1-1 r-xp 0 0:0 0",
		"g-h r-xp 0 0:0 0",
		"1-2 r-xp0 0:0 0",
		"1-2 r-xp 0 0 0",
		"1-2 r-xp 0 0:0 x",
		"10000000000000000-20000000000000000 r-xp 0 0:0 0",
		"1-2 r-xp 0 0:0 1x /a",
	};
	static const char line[] = "7f00-8f00 r-xp 00001000 fe:01 4711                       /usr/lib/a b.so";
	struct proc_map m;

	CHECK(proc_map_parse(line, strlen(line), &m));
	CHECK(m.start == 0x7f00 && m.end == 0x8f00 && m.off == 0x1000 && m.ino == 4711 && m.is_exec);
	CHECK(m.path_len == 15 && !memcmp(m.path, "/usr/lib/a b.so", 15));
	CHECK(proc_map_parse("1-2 rw-p 0 00:00 0", 18, &m) && !m.is_exec && !m.path_len && !m.ino);
	CHECK(proc_map_parse("1-2 rw-p 0 00:00 0 ", 19, &m) && !m.path_len);
	CHECK(proc_map_parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", 66, &m) && m.is_exec &&
	      m.path_len == 10);
	for (u32 i = 0; i < ARRAY_CNT(bad); i++)
		CHECK(!proc_map_parse(bad[i], strlen(bad[i]), &m));
	/* Cut anywhere: an answer, and no byte behind the end is read. */
	for (size_t n = 0; n < strlen(line); n++) {
		char *copy = memcpy(malloc(n + 1), line, n);

		proc_map_parse(copy, n, &m);
		free(copy);
	}
}

static u32 seen;

static void count_map(void *arg, const struct proc_map *m)
{
	CHECK(m->is_exec && m->path[m->path_len] == 0);
	seen++;
}

static void test_own_maps(void)
{
	CHECK(!proc_maps_each((u32)getpid(), count_map, NULL));
	CHECK(seen > 0);
	CHECK(proc_maps_each(0x7fffffff, count_map, NULL) < 0);
	CHECK(proc_inner_pid((u32)getpid()) == (u32)getpid());
	CHECK(proc_inner_pid(0x7fffffff) == 0x7fffffff);
}

/* ---- user symbols ---- */

__attribute__((noinline)) static int some_function(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

static void test_find(void)
{
	struct usyms *u = usyms_new(false);
	u64 addr = (u64)(uintptr_t)some_function, base = getauxval(AT_SYSINFO_EHDR);
	u32 pid = (u32)getpid();
	struct usym s;

	CHECK(usyms_find(u, pid, addr, &s) && s.name && str_eq(s.name, "some_function") && s.start == addr);
	CHECK(usyms_find(u, pid, addr + 1, &s) && s.name && s.start == addr);
	CHECK(s.file && strstr(s.file, "test_sym"));
	CHECK(!usyms_find(u, pid, 8, &s));
	CHECK(!usyms_find(u, 0, addr, &s));
	CHECK(!usyms_find(u, 0x7fffffff, addr, &s));
	/* A function of a library, at whatever address it is. */
	CHECK(usyms_find(u, pid, (u64)(uintptr_t)getpid, &s) && s.name && strstr(s.name, "getpid"));
	if (base) {
		u32 named = 0;

		for (u64 off = 0; off < 8192; off += 16)
			named += usyms_find(u, pid, base + off, &s) && s.name;
		CHECK(named > 0);
		CHECK(s.file && str_eq(s.file, "[vdso]"));
	}
	usyms_free(u);
}

/* Made-up processes that map this program. */
static void test_generations(void)
{
	struct usyms *u = usyms_new(false);
	const u32 parent = 0x7ffffff0, child = 0x7ffffff1;
	struct proc_map own = {}, other = { .start = 0x1000, .end = 0x2000, .path = "/nowhere/a", .path_len = 10, .ino = 5 };
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe));
	struct sym_elf *elf;
	const struct sym_func *f;
	struct usym s;
	u64 off = 0;

	CHECK(n > 0 && n < (ssize_t)sizeof(exe));
	exe[n] = 0;
	CHECK(!sym_elf_open(exe, &elf));
	f = sym_elf_find(elf, "some_function");
	CHECK(f && sym_elf_offset(elf, f->addr, &off));
	own = (struct proc_map){ .start = 0x100000, .end = 0x100000 + (1 << 30), .off = 0, .path = exe, .path_len = (size_t)n };
	usyms_watched(u);
	usyms_add(u, parent, &own, 10);
	usyms_fork(u, child, parent, 20);
	CHECK(usyms_find(u, child, 0x100000 + off, &s) && s.name && str_eq(s.name, "some_function"));
	/* exec: the new mapping hides the old one where they meet, and only there */
	usyms_add(u, child, &other, 30);
	CHECK(usyms_find(u, child, 0x1800, &s) && !s.name && str_eq(s.file, "/nowhere/a"));
	CHECK(usyms_find(u, child, 0x100000 + off, &s) && s.name);
	other.start = 0x100000;
	other.end = 0x100000 + (1 << 30);
	usyms_add(u, child, &other, 40);
	CHECK(usyms_find(u, child, 0x100000 + off, &s) && !s.name);
	CHECK(usyms_find(u, parent, 0x100000 + off, &s) && s.name);
	/* The parent's later mappings are not the child's. */
	other = (struct proc_map){ .start = 0x8000, .end = 0x9000, .path = "/nowhere/b", .path_len = 10 };
	usyms_add(u, parent, &other, 50);
	CHECK(!usyms_find(u, child, 0x8800, &s));
	/* The ID is used again: the newer process comes first, the older one is not forgotten. */
	usyms_fork(u, child, parent, 60);
	CHECK(usyms_find(u, child, 0x8800, &s) && str_eq(s.file, "/nowhere/b"));
	CHECK(usyms_find(u, child, 0x1800, &s) && str_eq(s.file, "/nowhere/a"));
	/* The birth is told after the first mapping. */
	usyms_add(u, 0x7ffffff2, &(struct proc_map){ .start = 1, .end = 2, .path = "/c", .path_len = 2 }, 100);
	usyms_fork(u, 0x7ffffff2, parent, 90);
	CHECK(usyms_find(u, 0x7ffffff2, 1, &s) && str_eq(s.file, "/c"));
	CHECK(usyms_find(u, 0x7ffffff2, 0x8800, &s) && str_eq(s.file, "/nowhere/b"));
	/* Its own parent, and a long chain */
	usyms_fork(u, parent, parent, 200);
	for (u32 i = 0; i < 10000; i++)
		usyms_fork(u, 0x70000001 + i, 0x70000000 + i, 300 + i);
	CHECK(!usyms_find(u, 0x70000000 + 10000, 0x123456, &s));
	sym_elf_free(elf);
	usyms_free(u);
}

static bool is_wanted(void *arg, u32 pid)
{
	return pid == *(const u32 *)arg;
}

/* Processes that have ended, a child that inherited from one of them, and one that lives. */
static void test_forgetting(void)
{
	enum { FIRST = 0x7ff00000, CNT = 5000, HEIR = 0x7fe00000 };
	struct proc_map m = { .start = 0x1000, .end = 0x2000, .is_exec = true, .path = "/nowhere/x", .path_len = 10 };
	struct usyms *u = usyms_new(false);
	u32 wanted = FIRST + 77, self = (u32)getpid(), cnt;
	struct usym s;

	usyms_watched(u);
	usyms_add(u, self, &m, 1);
	for (u32 round = 0; round < 2; round++)
		for (u32 i = 0; i < CNT; i++) {
			usyms_fork(u, FIRST + i, self, 10 + i + round * CNT);
			m.start = 0x10000 * (1 + round);
			m.end = m.start + 0x1000;
			usyms_add(u, FIRST + i, &m, 11 + i + round * CNT);
		}
	usyms_fork(u, HEIR, FIRST + 5, 100000);
	cnt = usyms_proc_cnt(u);
	CHECK(cnt == 2 * CNT + 2);
	/* What has just ended is kept for once. */
	usyms_forget(u, is_wanted, &wanted);
	CHECK(usyms_proc_cnt(u) == cnt);
	usyms_fork(u, FIRST + CNT, self, 200000);
	usyms_forget(u, is_wanted, &wanted);
	/* The wanted ID was used twice; the last to end is kept for once. */
	CHECK(usyms_proc_cnt(u) == 4, "%u", usyms_proc_cnt(u));
	CHECK(usyms_find(u, self, 0x1010, &s) && str_eq(s.file, "/nowhere/x"));
	CHECK(usyms_find(u, wanted, 0x20010, &s) && str_eq(s.file, "/nowhere/x"));
	CHECK(usyms_find(u, wanted, 0x10010, &s) && str_eq(s.file, "/nowhere/x"));
	CHECK(usyms_find(u, wanted, 0x1010, &s) && str_eq(s.file, "/nowhere/x"));
	CHECK(!usyms_find(u, FIRST + 5, 0x20010, &s));
	/* A child of a process that has ended has its mappings still. */
	wanted = HEIR;
	usyms_fork(u, FIRST + 9, self, 300000);
	usyms_add(u, FIRST + 9, &m, 300001);
	usyms_fork(u, HEIR, FIRST + 9, 300002);
	usyms_forget(u, is_wanted, &wanted);
	usyms_forget(u, is_wanted, &wanted);
	CHECK(usyms_proc_cnt(u) == 3, "%u", usyms_proc_cnt(u));
	CHECK(usyms_find(u, HEIR, 0x20010, &s) && str_eq(s.file, "/nowhere/x"));
	usyms_free(u);
}

static void test_perf_map(void)
{
	struct usyms *u = usyms_new(false);
	const u32 pid = 0x7ffffff7;
	char path[64];
	struct usym s;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	f = fopen(path, "w");
	if (!f) {
		printf("skipped: cannot write to /tmp\n");
		return;
	}
	fputs("garbage\n1000 20 first one\n\nzz 1 x\n2000 0 empty\n3000\n4000 10 ffff\n1020 10 second\n5000 10", f);
	fclose(f);
	CHECK(usyms_find(u, pid, 0x1010, &s) && str_eq(s.name, "first one") && s.start == 0x1000);
	CHECK(usyms_find(u, pid, 0x1020, &s) && str_eq(s.name, "second"));
	CHECK(!usyms_find(u, pid, 0x1030, &s));
	CHECK(!usyms_find(u, pid, 0x2000, &s));
	unlink(path);
	usyms_free(u);
}

static void test_demangle(void)
{
	char *text = sym_demangle("_ZN3foo3barEi");

	CHECK(!sym_demangle("main") && !sym_demangle("") && !sym_demangle("_") && !sym_demangle("_Z"));
	if (!text) {
		printf("skipped: built without libiberty\n");
		return;
	}
	CHECK_TEXT(text, "foo::bar(int)");
	free(text);
	text = sym_demangle("_ZN4core3fmt5write17h0123456789abcdefE");
	CHECK(text && str_starts(text, "core::fmt::write"));
	free(text);
	text = sym_demangle("_RNvC6_123foo3bar");
	CHECK(text && str_eq(text, "123foo::bar"));
	free(text);
}

/* ---- hostile files ---- */

static void test_hostile_elf(void)
{
	char path[] = "/tmp/test_sym_XXXXXX", *text;
	int fd = mkstemp(path);
	u32 seed = 1;
	size_t len;

	CHECK(!io_read_file("/proc/self/exe", &text, &len));
	for (u32 round = 0; round < 60; round++) {
		struct sym_elf *elf;
		size_t n = round < 20 ? len * round / 20 : len;
		char *copy = memcpy(malloc(n + 1), text, n);

		for (u32 k = 0; round >= 20 && k < 40; k++) {
			seed = seed * 1103515245 + 12345;
			/* Headers are what matters most: half of the changes are there. */
			copy[k & 1 ? (seed >> 3) % n : n - 1 - (seed >> 3) % 3000] ^= (char)(1u << (seed >> 28 & 7));
		}
		CHECK(!ftruncate(fd, 0) && pwrite(fd, copy, n, 0) == (ssize_t)n);
		if (!sym_elf_open(path, &elf)) {
			for (u64 a = 0; a < 1 << 20; a += 4096) {
				u64 off;

				sym_elf_near(elf, a);
				sym_elf_offset(elf, a, &off);
				sym_elf_addr(elf, a, &off);
			}
			sym_elf_free(elf);
		}
		free(copy);
	}
	passed++;
	close(fd);
	unlink(path);
	free(text);
}

/* ---- notices ---- */

static u32 mmaps, forks;

static void on_mmap(void *arg, const struct task_mmap *m, u64 ns)
{
	mmaps++;
	if (arg)
		CHECK(str_eq(m->path, "/a") && m->pid == 5 && ns == 77);
}

static void on_fork(void *arg, u32 pid, u32 parent, u64 ns)
{
	forks++;
}

static void test_notices(void)
{
	static const struct taskmaps_ops ops = { on_mmap, on_fork };
	struct {
		struct perf_event_header h;
		u32 pid, tid;
		u64 addr, len, pgoff;
		u32 maj, min;
		u64 ino, gen;
		u32 prot, flags;
		char name[8];
		u64 ns;
	} m = { { PERF_RECORD_MMAP2, 0, sizeof(m) }, 5, 5, 0x1000, 0x1000, 0, 1, 1, 9, 0, 5, 0, "/a", 77 };
	struct {
		struct perf_event_header h;
		u32 pid, ppid, tid, ptid;
		u64 time, ns;
	} f = { { PERF_RECORD_FORK, 0, sizeof(f) }, 7, 5, 7, 5, 1, 1 };

	CHECK(taskmaps_parse(&m, sizeof(m), &ops, (void *)1) && mmaps == 1);
	m.addr = UINT64_MAX;
	CHECK(!taskmaps_parse(&m, sizeof(m), &ops, NULL));
	m.addr = 0;
	memset(m.name, 'x', sizeof(m.name));
	CHECK(!taskmaps_parse(&m, sizeof(m), &ops, NULL));
	for (u32 n = 0; n < sizeof(m); n++) {
		CHECK(!taskmaps_parse(&m, n, &ops, NULL));
		m.h.size = (u16)n;
		CHECK(!taskmaps_parse(&m, sizeof(m), &ops, NULL));
	}
	CHECK(taskmaps_parse(&f, sizeof(f), &ops, NULL) && forks == 1);
	f.ppid = 7;
	CHECK(!taskmaps_parse(&f, sizeof(f), &ops, NULL)); /* a thread */
	CHECK(mmaps == 1 && forks == 1);
}

/* ---- stacks in scripts ---- */

static bool fake_kframe(void *self, u64 addr, u64 at, struct sbuf *out)
{
	if (at < 0x100)
		return false;
	sbuf_printf(out, "k%llx+%llu", (unsigned long long)(at & ~0xffull), (unsigned long long)(addr - (at & ~0xffull)));
	return true;
}

static bool fake_uframe(void *self, u32 pid, u64 addr, u64 at, bool want_module, struct sbuf *out)
{
	if (at < 0x100)
		return false;
	sbuf_printf(out, "u%u:%llx%s", pid, (unsigned long long)addr, want_module ? " (file)" : "");
	return true;
}

static bool fake_usym(void *self, u64 addr, u32 pid, struct sbuf *out)
{
	sbuf_printf(out, "sym%u:%llx", pid, (unsigned long long)addr);
	return true;
}

static bool fake_hidden(void *self, u64 addr)
{
	return addr == 0x999;
}

static void run_script(const char *script, const char *format, struct sbuf *out)
{
	static const u64 kstack[] = { 0x999, 0x110, 0x200, 0x7 }, ustack[] = { 0x300, 0x400, 0x9 };
	char path[] = "/tmp/test_sym_XXXXXX", *text;
	struct session_opts opts = {
		.quiet = true,
		.use_vm = true,
		.output_path = path,
		.format = format,
		.naming = { .kframe = fake_kframe, .uframe = fake_uframe, .usym = fake_usym, .khidden = fake_hidden }
	};
	struct target two = { .ncpus = 2 };
	struct object *obj;
	struct arena a;
	struct diag d;
	struct compile c;
	int fd = mkstemp(path);
	size_t len;

	arena_init(&a);
	diag_init(&d, &a);
	c = (struct compile){ .arena = &a, .diag = &d, .target = &two, .config = config_defaults };
	if (lang_parse(&c, diag_add_source(&d, "stdin", script, strlen(script))) && lang_config(&c) && lang_expand(&c) &&
	    lang_check(&c) && image_build(&c) && (obj = vm_object_load(c.image, &d))) {
		struct vm_env *env = vm_object_env(obj);

		env->pid = env->ns_pid = 1000;
		env->kstack = kstack;
		env->kstack_cnt = ARRAY_CNT(kstack);
		env->ustack = ustack;
		env->ustack_cnt = ARRAY_CNT(ustack);
		session_run_object(obj, c.diag, &opts);
		if (!io_read_file(path, &text, &len)) {
			sbuf_add(out, text, len);
			free(text);
		}
		obj->ops->free(obj);
	} else {
		diag_print(&d, DIAG_ERROR, false, out);
	}
	arena_release(&a);
	close(fd);
	unlink(path);
}

static void expect(int line, const char *script, const char *format, const char *want)
{
	struct sbuf out = {};

	run_script(script, format, &out);
	check_text(script, line, sbuf_str(&out), want);
	sbuf_release(&out);
}

#define EXPECT(script, want) expect(__LINE__, script, NULL, want)

static void test_scripts(void)
{
	/* The frame at 0x200 is one that a call returns to: the call before it belongs to k100. */
	EXPECT("begin { print(kstack) }", "\n        k100+16\n        k100+256\n        0x7\n\n\n\n");
	EXPECT("begin { print(kstack(2)) }", "\n        k100+16\n\n\n\n");
	EXPECT("begin { print(kstack(10)) }",
	       "\n        k100+16\n        k100+256\n        0x7\n\n\n\n"); /* on the program's stack, with a tail */
	EXPECT("begin { print(kstack(perf)) }", "\n\t110 k100+16\n\t200 k100+256\n\t7 0x7\n\n\n\n");
	EXPECT("begin { print(kstack(raw, 3)) }", "\n110\n200\n\n\n\n");
	EXPECT("begin { print(ustack) }", "\n        u1000:300\n        u1000:400\n        0x9\n\n\n\n");
	EXPECT("begin { print(ustack(perf)) }", "\n\t300 u1000:300 (file)\n\t400 u1000:400 (file)\n\t9 0x9 ([unknown])\n\n\n\n");
	EXPECT("begin { print(ustack(build_id)) }", "\n300\n400\n9\n\n\n\n");
	EXPECT("begin { print(ustack(build_id, 2)); @[ustack(build_id, 1)] = len(ustack(build_id)) }",
	       "\n300\n400\n\n\n\n@[\n300\n]: 3\n");
	EXPECT("begin { $s = ustack(build_id, 2); printf(\"%s%d\\n\", $s, len($s)) }", "\n300\n400\n2\n\n\n");
	EXPECT("config = { stack_mode = raw } begin { print(ustack(1)) }", "\n300\n\n\n\n");
	EXPECT("begin { printf(\"a%sb%s%d\\n\", ustack(1), ustack(raw, 100), 5) }",
	       "a\n        u1000:300\nb\n300\n400\n9\n5\n\n\n");
	EXPECT("begin { $s = ustack; printf(\"%d %s%d\\n\", len($s), $s, len(ustack(2))) }",
	       "3 \n        u1000:300\n        u1000:400\n        0x9\n2\n\n\n");
	EXPECT("begin { @[ustack(1)] = count(); @[ustack(2)] = count(); @[ustack(1)] = count() }",
	       "\n\n@[\n        u1000:300\n        u1000:400\n]: 1\n@[\n        u1000:300\n]: 2\n");
	EXPECT("begin { @[ustack(1), 7, kstack(2)] = 5 }", "\n\n@[\n        u1000:300\n, 7, \n        k100+16\n]: 5\n");
	EXPECT("begin { @ = ustack(1); @n = len(@) }", "\n\n@: \n        u1000:300\n\n@n: 1\n");
	EXPECT("begin { @[1] = ustack; @n = len(@[1]); @e = len(@) }",
	       "\n\n@[1]: \n        u1000:300\n        u1000:400\n        0x9\n\n@e: 1\n@n: 3\n");
	EXPECT("begin { $t = (1, ustack(1)); @[$t] = 2; print($t.1) }",
	       "\n        u1000:300\n\n\n\n@[1, \n        u1000:300\n]: 2\n");
	EXPECT("begin { $x = 1 ? ustack(1) : ustack(2); print($x) }", "\n        u1000:300\n\n\n\n");
	EXPECT("begin { print(usym(18)); @[usym(19)] = 1 }", "sym1000:12\n\n\n@[sym1000:13]: 1\n");
	expect(__LINE__, "begin { @[kstack(2)] = 1; print(ustack(1)) }", "json",
	       "{\"type\": \"value\", \"data\": \"\\n        u1000:300\\n\"}\n"
	       "{\"type\": \"map\", \"data\": {\"@\": {\"\\n        k100+16\\n\": 1}}}\n");
}

/* Frames without a name are in the closing account; raw addresses are what was asked for. */
static void test_nameless(void)
{
	struct sbuf out = {};

	run_script("begin { print(kstack); print(kstack); print(ustack(perf)); print(kstack(raw)); @[ustack] = 1 }", "json",
		   &out);
	CHECK(strstr(sbuf_str(&out),
		     "{\"kind\": \"unnamed_frames\", \"count\": 1, \"subject\": \"@\", \"reason\": \"no file with symbols"));
	CHECK(strstr(sbuf_str(&out), "\"count\": 1, \"subject\": \"print()\", \"reason\": \"no symbol of the kernel"));
	CHECK(strstr(sbuf_str(&out), "\"count\": 1, \"subject\": \"print()\", \"reason\": \"no file with symbols"));
	sbuf_reset(&out);
	run_script("begin { print(kstack(2)); print(kstack(raw)); print(ustack(build_id)); print(ustack(2)) }", "json", &out);
	CHECK(!strstr(sbuf_str(&out), "losses"));
	sbuf_release(&out);
}

static void test_build_id(void)
{
	const struct type *t = type_stack(&arena, true, STACK_BUILD_ID, 2);
	struct {
		u64 pid, cnt;
		struct {
			u32 status;
			u8 id[20];
			u64 at;
		} frames[2];
	} s = { 5, 2, { { 1, { 0xab, 1, [19] = 0xff }, 0x1234 }, { 2, {}, 0x7f0012345678 } } };
	struct sbuf out = {};

	CHECK(t->size == sizeof(s));
	stack_text(&naming, t, (u8 *)&s, sizeof(s), &out);
	CHECK_TEXT(out.s, "\nab010000000000000000000000000000000000ff 0x1234\n7f0012345678\n");
	sbuf_release(&out);
}

/* Bytes that no program of ours sends. */
static void test_short_stacks(void)
{
	const struct type *t = type_stack(&arena, true, STACK_RAW, 2);
	u64 bytes[4] = { 1, 1000, 0x10, 0x20 };
	struct sbuf out = {};

	for (u32 len = 0; len <= sizeof(bytes); len++) {
		u8 *copy = memcpy(malloc(len + 1), bytes, len);

		sbuf_reset(&out);
		stack_text(&naming, t, copy, len, &out);
		CHECK(str_eq(sbuf_str(&out), len < 24 ? "\n" : len < 32 ? "\n10\n" : "\n10\n20\n"));
		free(copy);
	}
	sbuf_release(&out);
}

int main(void)
{
	world_init();
	CHECK(some_function(1) == 2);
	test_parse();
	test_own_maps();
	test_find();
	test_generations();
	test_forgetting();
	test_perf_map();
	test_demangle();
	test_hostile_elf();
	test_notices();
	test_scripts();
	test_nameless();
	test_short_stacks();
	test_build_id();
	return world_end();
}
