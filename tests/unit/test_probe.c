/* SPDX-License-Identifier: GPL-2.0-only */
/* Probe types: attach points from text to sites and units, listing, event tables, ELF symbols, library search. Needs no
 * privilege; what the system does not let us see is skipped with a line that says so. */
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "base/io.h"
#include "kern/machine.h"
#include "kern/tracefs.h"
#include "arch/abi.h"
#include "probe/probe.h"
#include "arch/syscall.h"
#include "sym/elf.h"
#include "sym/ldcache.h"

#define CHECK_TEXT(got, want) check_text(__LINE__, got, want)

static void check_text(int line, const char *got, const char *want)
{
	if (got && str_eq(got, want)) {
		passed++;
		return;
	}
	failed++;
	printf("%s:%d:\n  got:  %s\n  want: %s\n", __FILE__, line, got ? got : "(null)", want);
}

/* ---- a compilation for a made-up machine ---- */

#define MACHINE (KF_BIT(KPROBE) | KF_BIT(UPROBE) | KF_BIT(UPROBE_MULTI) | KF_BIT(KPROBE_MULTI))

static u64 kaddr(const char *name)
{
	static const char *const names[] = { "vfs_read", "vfs_write", "__traceiter_sched_switch",
					     "__traceiter_sched_process_fork" };

	for (u32 i = 0; i < ARRAY_CNT(names); i++)
		if (str_eq(names[i], name))
			return 0xffffffff81000000 + 0x100 * i;
	return 0;
}

/* Tracepoints and functions are those of this machine. */
static struct machine machine;

struct trial {
	struct arena arena;
	struct diag diag;
	struct target target;
	struct compile c;
	bool ok;
	struct sbuf errors, warnings;
};

static void trial_init(struct trial *t)
{
	*t = (struct trial){ .target = { .ncpus = 2, .features = MACHINE, .machine = &machine } };
	arena_init(&t->arena);
	diag_init(&t->diag, &t->arena);
	t->c = (struct compile){ .arena = &t->arena, .diag = &t->diag, .target = &t->target, .config = config_defaults };
}

static void trial_run(struct trial *t, const char *text)
{
	u32 src = diag_add_source(&t->diag, "stdin", text, strlen(text));

	t->ok = lang_parse(&t->c, src) && lang_expand(&t->c);
	diag_print(&t->diag, DIAG_ERROR, false, &t->errors);
	diag_print(&t->diag, DIAG_WARNING, false, &t->warnings);
}

static void trial_release(struct trial *t)
{
	sbuf_release(&t->errors);
	sbuf_release(&t->warnings);
	arena_release(&t->arena);
}

/* The script is refused, the first message begins so, with this tag, and a hint says that (NULL: whatever). */
static void refuse(int line, const char *script, enum diag_tag tag, const char *begin, const char *hint)
{
	const struct diag_msg *m = NULL;
	bool has_hint = !hint;
	struct trial t;

	trial_init(&t);
	trial_run(&t, script);
	vec_for(msg, &t.diag.msgs)
		if (!m && msg->level == DIAG_ERROR)
			m = msg;
	if (m && hint)
		vec_for(h, &m->hints)
			has_hint |= strstr(*h, hint) != NULL;
	if (!t.ok && m && m->tag == tag && str_starts(m->text, begin) && has_hint) {
		passed++;
	} else {
		failed++;
		printf("%s:%d: %s: wanted %s \"%s\"%s%s, got%s\n%s", __FILE__, line, script, diag_tag_name(tag), begin,
		       hint ? " with hint " : "", hint ? hint : "", t.ok ? " no error" : "", sbuf_str(&t.errors));
	}
	trial_release(&t);
}

#define REFUSE(script, tag, begin, hint) refuse(__LINE__, script, tag, begin, hint)

/* The names of all sites, separated by spaces. */
static void accept(int line, const char *script, const char *names)
{
	struct sbuf got = {};
	struct trial t;

	trial_init(&t);
	trial_run(&t, script);
	vec_for(s, &t.c.sites)
		sbuf_printf(&got, "%s%s", got.len ? " " : "", s->name);
	if (t.ok && str_eq(sbuf_str(&got), names)) {
		passed++;
	} else {
		failed++;
		printf("%s:%d: %s\n  got:  %s\n  want: %s\n%s", __FILE__, line, script, sbuf_str(&got), names,
		       sbuf_str(&t.errors));
	}
	sbuf_release(&got);
	trial_release(&t);
}

#define ACCEPT(script, names) accept(__LINE__, script, names)

/* ---- an ELF file of our own ----
 *
 * Code is loaded at 0x401000 from offset 0x200, data at 0x600000 from 0x400.
 */
static char elf_path[] = "/tmp/test_probe_elf_XXXXXX";

struct fixture_sym {
	const char *name;
	u64 addr, size;
	u8 bind, type;
};

static const struct fixture_sym fixture_syms[] = {
	{ "alpha", 0x401000, 16, STB_GLOBAL, STT_FUNC },       { "__alpha", 0x401000, 16, STB_GLOBAL, STT_FUNC },
	{ "__libc_alpha", 0x401000, 16, STB_LOCAL, STT_FUNC }, { "beta", 0x401010, 32, STB_GLOBAL, STT_FUNC },
	{ "copy@@V2", 0x401030, 16, STB_GLOBAL, STT_FUNC },    { "copy@V1", 0x401040, 16, STB_GLOBAL, STT_FUNC },
	{ "operator+1", 0x401050, 16, STB_GLOBAL, STT_FUNC },  { "picked", 0x401060, 16, STB_GLOBAL, STT_GNU_IFUNC },
	{ "not_loaded", 0x500000, 16, STB_GLOBAL, STT_FUNC },  { "a_variable", 0x600000, 8, STB_GLOBAL, STT_OBJECT },
	{ "undefined", 0, 0, STB_GLOBAL, STT_FUNC },
};

static void write_elf(void)
{
	u32 n = ARRAY_CNT(fixture_syms) + 1;
	struct sbuf strs = {}, file = {};
	Elf64_Sym syms[ARRAY_CNT(fixture_syms) + 1] = {};
	static const char shstrs[] = "\0.symtab\0.strtab\0.shstrtab\0.text";
	Elf64_Phdr ph[] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = 0x200,
		  .p_vaddr = 0x401000,
		  .p_filesz = 0x100,
		  .p_memsz = 0x100 },
		{ .p_type = PT_LOAD, .p_offset = 0x400, .p_vaddr = 0x600000, .p_filesz = 0x10, .p_memsz = 0x1000 },
	};
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
#if defined(__x86_64__)
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = 0x500,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = ARRAY_CNT(ph),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 5,
		.e_shstrndx = 3,
	};
	u64 sym_off = 0x500 + 5 * sizeof(Elf64_Shdr), str_off = sym_off + n * sizeof(Elf64_Sym), shstr_off;
	int fd;

	sbuf_putc(&strs, 0);
	for (u32 i = 1; i < n; i++) {
		const struct fixture_sym *s = &fixture_syms[i - 1];

		syms[i] = (Elf64_Sym){ .st_name = strs.len,
				       .st_info = ELF64_ST_INFO(s->bind, s->type),
				       .st_shndx = s->addr ? 4 : SHN_UNDEF,
				       .st_value = s->addr,
				       .st_size = s->size };
		sbuf_add(&strs, s->name, strlen(s->name) + 1);
	}
	shstr_off = str_off + strs.len;
	{
		Elf64_Shdr sh[5] = {
			{},
			{ .sh_name = 1,
			  .sh_type = SHT_SYMTAB,
			  .sh_offset = sym_off,
			  .sh_size = n * sizeof(Elf64_Sym),
			  .sh_link = 2,
			  .sh_info = 1,
			  .sh_addralign = 8,
			  .sh_entsize = sizeof(Elf64_Sym) },
			{ .sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = str_off, .sh_size = strs.len },
			{ .sh_name = 17, .sh_type = SHT_STRTAB, .sh_offset = shstr_off, .sh_size = sizeof(shstrs) },
			{ .sh_name = 27,
			  .sh_type = SHT_PROGBITS,
			  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			  .sh_addr = 0x401000,
			  .sh_offset = 0x200,
			  .sh_size = 0x100,
			  .sh_addralign = 16 },
		};

		sbuf_add(&file, &eh, sizeof(eh));
		sbuf_add(&file, ph, sizeof(ph));
		sbuf_fill(&file, (char)0x90, 0x500 - file.len);
		file.s[0x210] = (char)0xb8; /* beta begins with an instruction of five bytes */
		sbuf_add(&file, sh, sizeof(sh));
		sbuf_add(&file, syms, sizeof(syms));
		sbuf_add(&file, strs.s, strs.len);
		sbuf_add(&file, shstrs, sizeof(shstrs));
	}
	fd = mkstemp(elf_path);
	CHECK(fd >= 0 && !io_write_all(fd, file.s, file.len));
	close(fd);
	sbuf_release(&strs);
	sbuf_release(&file);
}

static void test_elf(void)
{
	const struct sym_func *f;
	struct sym_elf *e;
	u64 off, addr;
	u32 cnt;

	CHECK(sym_elf_open("/nonexistent", &e) == -ENOENT);
	CHECK(sym_elf_open("/etc/passwd", &e) == -ENOEXEC);
	CHECK(sym_elf_open("/", &e) < 0);
	if (sym_elf_open(elf_path, &e)) {
		CHECK(!"the fixture opens");
		return;
	}
	f = sym_elf_find(e, "beta");
	CHECK(f && f->addr == 0x401010 && f->size == 32);
	CHECK(f && sym_elf_offset(e, f->addr, &off) && off == 0x210);
	CHECK(sym_elf_addr(e, 0x210, &addr) && addr == 0x401010);
	CHECK(!sym_elf_offset(e, 0x401100, &off) && !sym_elf_offset(e, 0x400fff, &off));
	CHECK(!sym_elf_offset(e, 0x600010, &off)); /* in memory only */
	CHECK(!sym_elf_find(e, "bet") && !sym_elf_find(e, "betaa") && !sym_elf_find(e, ""));
	CHECK(!sym_elf_find(e, "a_variable") && !sym_elf_find(e, "undefined"));
	/* versions */
	f = sym_elf_find(e, "copy");
	CHECK(f && f->addr == 0x401030);
	f = sym_elf_find(e, "copy@V1");
	CHECK(f && f->addr == 0x401040);
	f = sym_elf_find(e, "copy@@V2");
	CHECK(f && f->addr == 0x401030);
	CHECK(!sym_elf_find(e, "copy@V3"));
	f = sym_elf_find(e, "picked");
	CHECK(f && f->is_ifunc);
	/* sorted, each name once */
	f = sym_elf_funcs(e, &cnt);
	CHECK(cnt == 8);
	for (u32 i = 1; i < cnt; i++)
		CHECK(strcmp(f[i - 1].name, f[i].name) < 0);
	f = sym_elf_at(e, 0x40101f);
	CHECK(f && str_eq(f->name, "beta"));
	f = sym_elf_at(e, 0x401000);
	CHECK(f && f->bind == STB_GLOBAL && f->addr == 0x401000);
	CHECK(!sym_elf_at(e, 0x401070) && !sym_elf_at(e, 0x400000));
	CHECK_TEXT(sym_elf_nearest(e, "alpa"), "alpha");
	CHECK(!sym_elf_nearest(e, "something_else"));
	sym_elf_free(e);
	/* our own program, position-independent or not */
	if (sym_elf_open("/proc/self/exe", &e)) {
		CHECK(!"our own program opens");
		return;
	}
	f = sym_elf_find(e, "main");
	if (f)
		CHECK(sym_elf_offset(e, f->addr, &off) && off > 0);
	else
		printf("skipped: this program has no symbols\n");
	sym_elf_free(e);
}

/* ---- libraries and programs ---- */

static void add_entry(struct sbuf *entries, struct sbuf *strs, u32 strs_at, u32 flags, const char *name, const char *path,
		      u64 hwcap)
{
	u32 entry[4] = { flags, strs_at + strs->len, 0, 0 };

	sbuf_add(strs, name, strlen(name) + 1);
	entry[2] = strs_at + strs->len;
	sbuf_add(strs, path, strlen(path) + 1);
	sbuf_add(entries, entry, sizeof(entry));
	sbuf_add(entries, &hwcap, 8);
}

static void make_cache(struct sbuf *out, bool with_old)
{
#if defined(__x86_64__)
	const u32 ours = 0x303;
#else
	const u32 ours = 0xa03;
#endif
	struct sbuf entries = {}, strs = {};
	u32 head[7] = {}, at = 48 + 7 * 24;

	add_entry(&entries, &strs, at, 0x003, "libc.so.6", "/lib32/libc.so.6", 0);
	add_entry(&entries, &strs, at, ours, "libfoo.so.2", "/lib/special/libfoo.so.2", 1ull << 62);
	add_entry(&entries, &strs, at, ours, "libfoo.so.2", "/lib/libfoo.so.2", 0);
	add_entry(&entries, &strs, at, ours, "libfoo.so.1", "/lib/libfoo.so.1", 0);
	add_entry(&entries, &strs, at, ours, "libc++.so.1", "/lib/libc++.so.1", 0);
	add_entry(&entries, &strs, at, ours, "libc.so.6", "/lib/libc.so.6", 0);
	add_entry(&entries, &strs, at, ours, "libonly.so.3", "/lib/special/libonly.so.3", 1);
	if (with_old) {
		u32 one = 1;

		sbuf_add(out, "ld.so-1.7.0\0", 12);
		sbuf_add(out, &one, 4);
		sbuf_fill(out, 0, 12 + 4);
	}
	head[0] = 7;
	head[1] = strs.len;
	sbuf_add(out, "glibc-ld.so.cache1.1", 20);
	sbuf_add(out, head, sizeof(head));
	sbuf_add(out, entries.s, entries.len);
	sbuf_add(out, strs.s, strs.len);
	sbuf_release(&entries);
	sbuf_release(&strs);
}

static void check_lookup(int line, const struct sbuf *cache, const char *name, const char *want)
{
	char *got = sym_ldcache_lookup(cache->s, cache->len, name);

	if (got || want)
		check_text(line, got, want ? want : "(none)");
	else
		passed++;
	free(got);
}

static void test_ldcache(void)
{
	for (u32 with_old = 0; with_old < 2; with_old++) {
		struct sbuf cache = {};

		make_cache(&cache, with_old);
		check_lookup(__LINE__, &cache, "libc", "/lib/libc.so.6");
		check_lookup(__LINE__, &cache, "libc.so", "/lib/libc.so.6");
		check_lookup(__LINE__, &cache, "libc.so.6", "/lib/libc.so.6");
		check_lookup(__LINE__, &cache, "libfoo", "/lib/libfoo.so.2");
		check_lookup(__LINE__, &cache, "libfoo.so.1", "/lib/libfoo.so.1");
		check_lookup(__LINE__, &cache, "libonly", "/lib/special/libonly.so.3");
		check_lookup(__LINE__, &cache, "libc++", "/lib/libc++.so.1");
		check_lookup(__LINE__, &cache, "libfo", NULL);
		check_lookup(__LINE__, &cache, "libbar", NULL);
		/* Cut anywhere, it must not read outside. */
		for (size_t len = 0; len < cache.len; len++) {
			char *cut = malloc(len ? len : 1);

			memcpy(cut, cache.s, len);
			free(sym_ldcache_lookup(cut, len, "libonly"));
			free(cut);
		}
		sbuf_release(&cache);
	}
}

static void test_programs(void)
{
	char dir[] = "/tmp/test_probe_dir_XXXXXX", *path, *file, *other, *old = xstrdup(getenv("PATH") ? getenv("PATH") : ""),
	     *found;
	u32 hits = 99;
	int fd;

	CHECK(mkdtemp(dir) != NULL);
	file = xasprintf("%s/tool", dir);
	other = xasprintf("%s/text", dir);
	fd = open(file, O_CREAT | O_WRONLY, 0755);
	close(fd);
	fd = open(other, O_CREAT | O_WRONLY, 0644);
	close(fd);
	path = xasprintf("/nonexistent:%s:%s/.", dir, dir);
	setenv("PATH", path, 1);
	found = sym_find_program("tool", "", &hits);
	CHECK_TEXT(found, file);
	CHECK(hits == 1); /* the same file twice */
	free(found);
	CHECK(!sym_find_program("text", "", &hits) && hits == 0);
	CHECK(!sym_find_program("nothing", "", NULL));
	setenv("PATH", old, 1);
	unlink(file);
	unlink(other);
	rmdir(dir);
	free(path);
	free(file);
	free(other);
	free(old);
	found = sym_find_library("libc", 0);
	if (!found)
		printf("skipped: this system has no shared libc\n");
	else
		CHECK(strstr(found, "libc.") != NULL);
	free(found);
	CHECK(!sym_find_library("libno_such_library_anywhere", getpid()));
}

/* ---- tables ---- */

/* Headers of an older system lack the newest calls: for those only the order is checked. */
#if defined(__x86_64__)
#ifndef __NR_uretprobe
#define __NR_uretprobe 335
#endif
#ifndef __NR_uprobe
#define __NR_uprobe 336
#endif
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#define __NR_getxattrat 464
#define __NR_listxattrat 465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif
#ifndef __NR_listns
#define __NR_listns 470
#endif
#ifndef __NR_rseq_slice_yield
#define __NR_rseq_slice_yield 471
#endif
#endif

static void check_event(void *arg, const char *category, const char *event)
{
	(void)category;
	if (syscall_nr(event + strlen("sys_enter_")) < 0) {
		printf("%s has no row: it goes by perf\n", event);
		++*(u32 *)arg;
	}
}

static void test_syscalls(void)
{
	u32 cnt, unknown = 0;
	const struct syscall_row *r = syscall_table(&cnt);
	int n;

#if defined(__x86_64__)
#define SYSCALL_ROW(nr, event, call) CHECK(nr == __NR_##call);
#include "arch/syscall_x86_64.def"
#undef SYSCALL_ROW
	CHECK(cnt >= 360);
	CHECK(syscall_nr("openat") == 257 && syscall_nr("newstat") == 4 && syscall_nr("umount") == 166);
	CHECK(syscall_nr("stat") == -1); /* its tracepoint is called newstat */
#endif
	CHECK(syscall_nr("no_such_call") == -1 && syscall_nr("") == -1);
	for (u32 i = 1; i < cnt; i++)
		CHECK(r[i - 1].nr < r[i].nr);
	n = tracefs_each_event("syscalls", "sys_enter_*", check_event, &unknown);
	if (n < 0)
		printf("skipped: tracefs: %s\n", strerror(-n));
	else if (cnt)
		CHECK(unknown <= 10); /* a much newer kernel may have a few more */
}

static void test_abi(void)
{
	u32 off;

#if defined(__x86_64__)
	CHECK(abi_find_reg("di", &off) && off == offsetof(struct pt_regs, rdi));
	CHECK(abi_find_reg("ax", &off) && off == offsetof(struct pt_regs, rax));
	CHECK(abi_find_reg("orig_rax", &off) && off == offsetof(struct pt_regs, orig_rax));
	CHECK(abi_find_reg("ip", &off) && off == offsetof(struct pt_regs, rip) && off == abi.ip_off);
	CHECK(abi_find_reg("sp", &off) && off == offsetof(struct pt_regs, rsp) && off == abi.sp_off);
	CHECK(abi_find_reg("ss", &off) && off == offsetof(struct pt_regs, ss));
	CHECK(abi_find_reg("r15", &off) && off == offsetof(struct pt_regs, r15));
	CHECK(abi_find_reg("flags", &off) && off == offsetof(struct pt_regs, eflags));
	CHECK(abi.arg_cnt == 6 && abi.arg_off[3] == offsetof(struct pt_regs, rcx) &&
	      abi.arg_off[5] == offsetof(struct pt_regs, r9));
	CHECK(abi.sys_arg_off[3] == offsetof(struct pt_regs, r10) && abi.sys_nr_off == offsetof(struct pt_regs, orig_rax));
	CHECK(abi.ret_off == offsetof(struct pt_regs, rax));
#endif
	CHECK(!abi_find_reg("zz", &off) && !abi_find_reg("", &off));
	CHECK(abi_nearest_reg("spp") && str_eq(abi_nearest_reg("spp"), "sp"));
}

static void test_providers(void)
{
	static const struct {
		const char *word, *name;
	} rows[] = {
		{ "k", "kprobe" },
		{ "kr", "kretprobe" },
		{ "u", "uprobe" },
		{ "ur", "uretprobe" },
		{ "t", "tracepoint" },
		{ "p", "profile" },
		{ "i", "interval" },
		{ "s", "software" },
		{ "h", "hardware" },
		{ "BEGIN", "begin" },
		{ "End", "end" },
		{ "KProbe", "kprobe" },
		{ "TRACEPOINT", "tracepoint" },
	};
	static const char *const none[] = { "", "K", "UR", "T", "kprob", "kprobes", "*", "P" };
	const struct provider *p, *prev = NULL;

	for (u32 i = 0; i < ARRAY_CNT(rows); i++) {
		p = provider_find(rows[i].word);
		CHECK_TEXT(p ? p->name : NULL, rows[i].name);
	}
	for (u32 i = 0; i < ARRAY_CNT(none); i++)
		CHECK(!provider_find(none[i]));
	for (u32 i = 0; (p = provider_at(i)); prev = p, i++) {
		CHECK(!prev || strcmp(prev->name, p->name) < 0);
		CHECK(p->spec && p->doc && p->example && p->parse && p->expand && p->attr && p->attach);
		CHECK(!(p->flags & PROV_ARGN) || p->lower_argn);
		CHECK(!(p->flags & PROV_RETVAL) || p->lower_retval);
		CHECK(!(p->flags & PROV_ARGS) || (p->args && p->lower_arg_member));
		CHECK(!(p->flags & PROV_REG) || p->lower_reg);
		CHECK(!(p->flags & PROV_CTX) || p->ctx_struct || p->ctx_type);
	}
	CHECK(!provider_at(1000));
}

static void check_number(int line, const char *s, bool ok, u64 want)
{
	u64 v = 0;

	if (probe_number(s, &v) == ok && (!ok || v == want)) {
		passed++;
		return;
	}
	failed++;
	printf("%s:%d: number %s: %llu\n", __FILE__, line, s, (unsigned long long)v);
}

static void test_numbers(void)
{
	check_number(__LINE__, "0", true, 0);
	check_number(__LINE__, "99", true, 99);
	check_number(__LINE__, "0x1F", true, 31);
	check_number(__LINE__, "0b101", true, 5);
	check_number(__LINE__, "0755", true, 0755);
	check_number(__LINE__, "1_000_000", true, 1000000);
	check_number(__LINE__, "1e6", true, 1000000);
	check_number(__LINE__, "18446744073709551615", true, ~0ull);
	check_number(__LINE__, "5ul", true, 5);
	check_number(__LINE__, "5ms", true, 5000000);
	check_number(__LINE__, "2d", true, 2 * 86400000000000);
	check_number(__LINE__, "1e3us", true, 1000000);
	check_number(__LINE__, "18446744073709551616", false, 0);
	check_number(__LINE__, "", false, 0);
	check_number(__LINE__, "0x", false, 0);
	check_number(__LINE__, "0b2", false, 0);
	check_number(__LINE__, "1_", false, 0);
	check_number(__LINE__, "_1", false, 0);
	check_number(__LINE__, "5x", false, 0);
	check_number(__LINE__, "1e30", false, 0);
	check_number(__LINE__, "-1", false, 0);
	check_number(__LINE__, "1e11d", false, 0);
	check_number(__LINE__, "0xfs", false, 0);
}

/* ---- attach points ---- */

static void test_refused(void)
{
	REFUSE("kprob:f {}", E_UNKNOWN_PROVIDER, "Invalid probe type: kprob", "did you mean kprobe?");
	REFUSE("K:f {}", E_UNKNOWN_PROVIDER, "Invalid probe type: K", NULL);
	REFUSE("*:nosuch* {}", E_NO_MATCH, "No matches for *:nosuch*.", NULL);
	REFUSE("begin:x {}", E_ATTACH_POINT, "begin/end probes should not have a target", NULL);
	REFUSE("end:x {}", E_ATTACH_POINT, "begin/end probes should not have a target", NULL);

	REFUSE("interval {}", E_ATTACH_POINT, "interval probe type requires 1 to 2 arguments, found 0",
	       "interval:hz|s|ms|us:COUNT");
	REFUSE("interval:s:1:2 {}", E_ATTACH_POINT, "interval probe type requires 1 to 2 arguments, found 3", NULL);
	REFUSE("interval:foo:1 {}", E_ATTACH_POINT, "foo is not an accepted unit of time", "hz, us, ms and s");
	REFUSE("interval:s:x {}", E_ATTACH_POINT, "x is not a number", NULL);
	REFUSE("interval:s: {}", E_ATTACH_POINT, "\"\" is not a number", NULL);
	REFUSE("profile:s:0 {}", E_ATTACH_POINT, "profile probe: 0 s is out of range", NULL);
	REFUSE("profile:hz:2000000 {}", E_ATTACH_POINT, "profile probe: 2000000 hz is out of range", NULL);
	REFUSE("profile:s:18446744073709551615 {}", E_ATTACH_POINT, "profile probe:", NULL);
	REFUSE("interval:999 {}", E_ATTACH_POINT, "interval probe: 999 is out of range", "nanoseconds");
	REFUSE("interval:abc {}", E_ATTACH_POINT, "abc is not a duration", "interval:100ms");
	REFUSE("interval:* {}", E_ATTACH_POINT, "wildcards are not allowed for interval probe type", NULL);

	REFUSE("software {}", E_ATTACH_POINT, "software probe type requires 1 to 2 arguments", NULL);
	REFUSE("software:page-fault:1 {}", E_ATTACH_POINT, "page-fault is not a software probe", "page-faults");
	REFUSE("software:xyzzy {}", E_ATTACH_POINT, "xyzzy is not a software probe", "-l 'software:*'");
	REFUSE("software:faults:x {}", E_ATTACH_POINT, "x is not a count of events", NULL);
	REFUSE("software:faults:0 {}", E_ATTACH_POINT, "0 is not a count of events", NULL);
	REFUSE("hardware:* {}", E_ATTACH_POINT, "wildcards are not allowed for hardware probe type", NULL);
	REFUSE("hardware:faults {}", E_ATTACH_POINT, "faults is not a hardware probe", NULL);

	REFUSE("tracepoint {}", E_ATTACH_POINT, "tracepoint probe type requires 2 arguments, found 0",
	       "tracepoint:CATEGORY:EVENT");
	REFUSE("tracepoint:foo {}", E_ATTACH_POINT, "tracepoint probe type requires 2 arguments, found 1", NULL);
	REFUSE("tracepoint:a:b:c {}", E_ATTACH_POINT, "tracepoint probe type requires 2 arguments, found 3", NULL);
	REFUSE("tracepoint::x {}", E_ATTACH_POINT, "tracepoint probe: the category is missing", NULL);
	REFUSE("tracepoint:x: {}", E_ATTACH_POINT, "tracepoint probe: the event is missing", NULL);

	REFUSE("kprobe {}", E_ATTACH_POINT, "kprobe probe type requires 1 to 2 arguments", NULL);
	REFUSE("kprobe:a:b:c {}", E_ATTACH_POINT, "kprobe probe type requires 1 to 2 arguments", NULL);
	REFUSE("kprobe: {}", E_ATTACH_POINT, "kprobe probe: the function is missing", NULL);
	REFUSE("kprobe::f {}", E_ATTACH_POINT, "kprobe probe: the module is missing", NULL);
	REFUSE("kprobe:vfs_read+x {}", E_ATTACH_POINT, "Invalid offset: x", NULL);
	REFUSE("kprobe:vfs_*+4 {}", E_ATTACH_POINT, "an offset needs one function", NULL);
	REFUSE("kretprobe:vfs_read+4 {}", E_ATTACH_POINT, "Offset not allowed", NULL);
	REFUSE("kprobe:0xffffffff81000000 {}", E_UNSAFE, "Probing by address requires --unsafe", NULL);
	REFUSE("kprobe:0x12zz {}", E_ATTACH_POINT, "0x12zz is not the name of a function", NULL);
	REFUSE("kprobe:no_such_function_here {}", E_NO_MATCH, "No matches for kprobe no_such_function_here.", "missing_probes");
	REFUSE("kprobe:no_such_module:f {}", E_NO_MATCH, "No matches for kprobe no_such_module:f.", NULL);

	REFUSE("uprobe {}", E_ATTACH_POINT, "uprobe probe type requires 1 to 3 arguments", NULL);
	REFUSE("uprobe:f {}", E_ATTACH_POINT, "uprobe probe type requires 2 arguments, found 1", "-p");
	REFUSE("uprobe:/bin/x: {}", E_ATTACH_POINT, "uprobe probe: the function is missing", NULL);
	REFUSE("uprobe::f {}", E_ATTACH_POINT, "uprobe probe: the target is missing", NULL);
	REFUSE("uprobe:/nonexistent:f {}", E_NO_MATCH, "No matches for uprobe /nonexistent:f. /nonexistent: No such file", NULL);
	REFUSE("uprobe:/etc/passwd:f {}", E_NO_MATCH, "No matches for uprobe /etc/passwd:f. /etc/passwd is not a program", NULL);
	REFUSE("uprobe:no_such_program:f {}", E_NO_MATCH, "No matches for uprobe no_such_program:f. There is no program in PATH",
	       NULL);
	REFUSE("uprobe:libno_such:f {}", E_NO_MATCH, "No matches for uprobe libno_such:f. There is no library", NULL);
	REFUSE("uprobe:a:cpp:f::g {}", E_ATTACH_POINT, "uprobe probe: there are colons in the name",
	       "double quotes: uprobe:a:cpp:");
	REFUSE("uprobe:a:rust:f {}", E_ATTACH_POINT, "uprobe probe: 'rust' is not a language", "cpp");
	REFUSE("uprobe:/bin/sh@main.c:f {}", E_ATTACH_POINT, "uprobe probe: '/bin/sh@main.c:f' is not a line", "@FILE:LINE");
	REFUSE("uprobe:/bin/sh@main.c:0 {}", E_ATTACH_POINT, "uprobe probe: '/bin/sh@main.c:0' is not a line", NULL);
	REFUSE("uprobe:/bin/sh@main.c:1:x {}", E_ATTACH_POINT, "uprobe probe: '/bin/sh@main.c:1:x' is not a line", NULL);
	REFUSE("uprobe:/bin/sh@:1 {}", E_ATTACH_POINT, "uprobe probe: '/bin/sh@:1' is not a line", NULL);
	REFUSE("uprobe:/bin/sh*@main.c:1 {}", E_ATTACH_POINT, "Wildcards are not allowed for source locations", NULL);
	REFUSE("uretprobe:/bin/sh@main.c:1 {}", E_ATTACH_POINT, "uretprobe probe: a line of a source file has no return",
	       "name the function");
	REFUSE("uretprobe:/bin/sh:f+8 {}", E_ATTACH_POINT, "Offset not allowed", NULL);
}

/* Scripts with the fixture's path in place of %s. */
static const char *with_elf(const char *fmt)
{
	static char buf[1024];
	struct sbuf b = {};

	for (const char *p = fmt; *p; p++) {
		if (p[0] == '%' && p[1] == 's') {
			sbuf_puts(&b, elf_path);
			p++;
		} else {
			sbuf_putc(&b, *p);
		}
	}
	snprintf(buf, sizeof(buf), "%s", sbuf_str(&b));
	sbuf_release(&b);
	return buf;
}

#define REFUSE_ELF(script, tag, begin, hint) refuse(__LINE__, strdupa(with_elf(script)), tag, strdupa(with_elf(begin)), hint)
#define ACCEPT_ELF(script, names) accept(__LINE__, strdupa(with_elf(script)), strdupa(with_elf(names)))

static void test_accepted(void)
{
	ACCEPT("BEGIN {} END {}", "begin end");
	ACCEPT("interval:s:1, i:ms:10, interval:hz:5, interval:us:100 {}",
	       "interval:s:1 interval:ms:10 interval:hz:5 interval:us:100");
	ACCEPT("interval:1s, profile:100ms, p:1e6 {}", "interval:us:1000000 profile:us:100000 profile:us:1000");
	ACCEPT("s:faults {} s:faults: {} s:faults:* {} s:cs:1e3 {}",
	       "software:faults software:faults software:faults software:cs:1000");
	ACCEPT("h:cache-misses:1_000 {}", "hardware:cache-misses:1000");
	ACCEPT("mine=s:faults:1 {}", "mine");
	ACCEPT("kprobe:vfs_read, kr:vfs_write, k:vfs_read+16 {}", "kprobe:vfs_read kretprobe:vfs_write kprobe:vfs_read+16");

	ACCEPT_ELF("uprobe:%s:alpha, ur:%s:beta {}", "uprobe:%s:alpha uretprobe:%s:beta");
	ACCEPT_ELF("u:%s:beta+0x5 {}", "uprobe:%s:beta+5");
	ACCEPT_ELF("u:%s:\"operator+1\" {}", "uprobe:%s:operator+1");
	ACCEPT_ELF("u:%s:0x401015 {}", "uprobe:%s:4198421");
	ACCEPT_ELF("u:%s:\"copy@V1\" {}", "uprobe:%s:copy");
	/* three names, one place */
	ACCEPT_ELF("u:%s:*alpha {}", "uprobe:%s:alpha");
	ACCEPT_ELF("u:%s:__* {}", "uprobe:%s:__alpha");
	ACCEPT_ELF("u:%s:* {}", "uprobe:%s:alpha uprobe:%s:beta uprobe:%s:copy uprobe:%s:operator+1");
	ACCEPT_ELF("u:%s*:beta {}", "uprobe:%s:beta");
	REFUSE_ELF("u:%s:alpa {}", E_NO_MATCH, "No matches for uprobe %s:alpa.", "alpha?");
	REFUSE_ELF("u:%s:beta+32 {}", E_ATTACH_POINT, "Offset outside the function bounds ('beta' size is 32)", "--unsafe");
	REFUSE_ELF("u:%s:beta+3 {}", E_ATTACH_POINT, "'beta+3' is in the middle of an instruction", "--unsafe");
	REFUSE_ELF("u:%s:0x401013 {}", E_ATTACH_POINT, "'beta+3' is in the middle of an instruction", "--unsafe");
	REFUSE_ELF("u:%s:cpp:\"f(int)\" {}", E_NO_MATCH, "No matches for uprobe %s:cpp:f(int). %s has no C++ functions", NULL);
	REFUSE_ELF("u:%s@main.c:1 {}", E_NO_MATCH, "No matches for uprobe %s@main.c:1. %s", "compiled with -g");
	REFUSE_ELF("u:%s:not_loaded {}", E_NO_MATCH, "No matches for uprobe %s:not_loaded. not_loaded is not in the loaded part",
		   NULL);
	REFUSE_ELF("u:%s:0x10 {}", E_NO_MATCH, "No matches for uprobe %s:0x10. %s has no code at address 0x10", NULL);
	REFUSE_ELF("u:%s:zz* {}", E_NO_MATCH, "No matches for uprobe %s:zz*.", NULL);
}

static void test_sites(void)
{
	struct trial t;

	trial_init(&t);
	trial_run(&t, strdupa(with_elf("interval:hz:99 {} u:%s:beta+5 {} software:cs {} hardware:cycles:5 {} interval:1ms {}")));
	CHECK(t.ok && t.c.sites.cnt == 5 && t.c.units.cnt == 5);
	if (t.ok) {
		CHECK(t.c.sites.at[0].num == 1000000000 / 99);
		CHECK(t.c.sites.at[1].addr == 0x215 && t.c.sites.at[1].off == 5);
		CHECK_TEXT(t.c.sites.at[1].func, "beta");
		CHECK_TEXT(t.c.sites.at[1].target, elf_path);
		CHECK(t.c.sites.at[2].num == 1000);
		CHECK(t.c.sites.at[3].num == 5);
		CHECK(t.c.sites.at[4].num == 1000000);
	}
	trial_release(&t);
}

static void test_units(void)
{
	struct trial t;

	/* Sites of one program are neighbours, in the order they were written. */
	trial_init(&t);
	trial_run(&t,
		  "kprobe:vfs_read, interval:s:1, kprobe:vfs_write, kprobe:vfs_read+4, interval:s:2 { @ = 1 } begin { @ = 2 }");
	CHECK(t.ok && t.c.units.cnt == 4);
	if (t.ok && t.c.units.cnt == 4) {
		struct unit **u = t.c.units.at;

		CHECK(u[0]->site_first == 0 && u[0]->site_cnt == 2 && str_eq(t.c.sites.at[1].name, "kprobe:vfs_write"));
		CHECK(u[1]->site_first == 2 && u[1]->site_cnt == 2 && str_eq(t.c.sites.at[3].name, "interval:s:2"));
		CHECK(u[2]->site_first == 4 && u[2]->site_cnt == 1 && str_eq(t.c.sites.at[4].name, "kprobe:vfs_read+4"));
		CHECK(u[3]->site_first == 5 && str_eq(t.c.sites.at[5].name, "begin"));
		CHECK(u[0]->variant != u[2]->variant); /* by one link; by a perf event */
		CHECK(t.c.sites.at[1].ap_index == 2 && t.c.sites.at[3].ap_index == 4);
		CHECK(u[0]->body != u[1]->body && u[0]->body->cnt == 1 && u[0]->body->stmts[0] != u[1]->body->stmts[0]);
		CHECK(u[0]->probe == u[2]->probe && u[0]->probe != u[3]->probe);
		CHECK_TEXT(u[0]->name, "k_vfs_read");
		CHECK_TEXT(u[1]->name, "i_s_1");
		CHECK_TEXT(u[3]->name, "begin");
		for (u32 i = 0; i < 4; i++)
			CHECK(strlen(u[i]->name) <= 15);
	}
	trial_release(&t);
}

static void test_site_values(void)
{
	struct trial t;

	trial_init(&t);
	trial_run(&t,
		  "kprobe:vfs_write {} kprobe:vfs_read {} kretprobe:vfs_read {} kprobe:vfs_read {} mine=i:s:1, mine=i:s:2 {}");
	CHECK(t.ok && t.c.sites.cnt == 6);
	if (t.ok && t.c.sites.cnt == 6) {
		CHECK(site_value(&t.c, 0, SITE_PROBE) == 1 && site_value(&t.c, 2, SITE_PROBE) == 3);
		CHECK(site_value(&t.c, 2, SITE_FUNC) == 2 && site_value(&t.c, 3, SITE_FUNC) == 2);
		CHECK(site_value(&t.c, 3, SITE_PROBE) == 2);
		CHECK(site_value(&t.c, 5, SITE_PROBE) == 5);
	}
	trial_release(&t);
}

static void test_missing(void)
{
	static const char script[] = "kprobe:no_such_function_here {} begin {}";
	struct trial t;

	trial_init(&t);
	t.c.config.missing_probes = MISSING_WARN;
	trial_run(&t, script);
	CHECK(t.ok && t.c.units.cnt == 1);
	CHECK(strstr(sbuf_str(&t.warnings), "WARNING: No matches for kprobe no_such_function_here. Skipping.") != NULL);
	trial_release(&t);

	trial_init(&t);
	t.c.config.missing_probes = MISSING_IGNORE;
	trial_run(&t, script);
	CHECK(t.ok && t.c.units.cnt == 1 && !t.diag.msgs.cnt);
	trial_release(&t);

	trial_init(&t);
	t.c.config.missing_probes = MISSING_IGNORE;
	trial_run(&t, "kprobe:no_such_function_here {}");
	CHECK(!t.ok && strstr(sbuf_str(&t.errors), "ERROR: No probes to attach") != NULL);
	trial_release(&t);

	/* a machine without kprobes */
	trial_init(&t);
	t.target.features = 0;
	trial_run(&t, "kprobe:vfs_read {}");
	CHECK(!t.ok && strstr(sbuf_str(&t.errors), "This kernel has no kprobes (CONFIG_KPROBES is not set)") != NULL);
	trial_release(&t);
}

static void test_limits(void)
{
	struct trial t;

	trial_init(&t);
	t.c.config.max_probes = 2;
	trial_run(&t, "interval:s:1, interval:s:2 {} interval:s:3 {}");
	CHECK(!t.ok &&
	      strstr(sbuf_str(&t.errors), "Can't attach to 3 probes because it exceeds the current limit of 2 probes.") != NULL);
	trial_release(&t);

	trial_init(&t);
	t.c.config.max_bpf_progs = 1;
	trial_run(&t, "interval:s:1 {} interval:s:3 {}");
	CHECK(!t.ok && strstr(sbuf_str(&t.errors), "needs 2 programs, which exceeds the current limit of 1") != NULL);
	trial_release(&t);

	trial_init(&t);
	t.target.allow_unsafe = true;
	trial_run(&t, strdupa(with_elf("kprobe:0x1000, u:%s:beta+99 {}")));
	CHECK(t.ok && t.c.sites.cnt == 2 && t.c.sites.at[0].addr == 0x1000);
	CHECK(strstr(sbuf_str(&t.warnings), "Offset outside") != NULL);
	trial_release(&t);
}

static void test_tracepoints(void)
{
	struct trial t;
	int id = tracefs_event_id("syscalls", "sys_enter_openat");

	if (id < 0) {
		printf("skipped: tracepoints: %s\n", strerror(-id));
		return;
	}
	ACCEPT("t:sched:sched_switch {}", "tracepoint:sched:sched_switch");
	ACCEPT("t:syscalls:sys_enter_openat* {}", "tracepoint:syscalls:sys_enter_openat tracepoint:syscalls:sys_enter_openat2");
	ACCEPT("t:sys*:sys_enter_openat {}", "tracepoint:syscalls:sys_enter_openat");
	ACCEPT("t:*sys_enter_openat {}", "tracepoint:syscalls:sys_enter_openat");
	REFUSE("t:sched:sched_swich {}", E_NO_MATCH, "No matches for tracepoint sched:sched_swich.",
	       "tracepoint:sched:sched_switch");
	REFUSE("t:sched:xyzzy* {}", E_NO_MATCH, "No matches for tracepoint sched:xyzzy*.", NULL);
	REFUSE("t:..:x {}", E_NO_MATCH, "No matches for tracepoint ..:x.", NULL);

	/* All entries share a program; arguments split them by what they look like; exits look alike. */
	trial_init(&t);
	trial_run(&t, "t:syscalls:sys_enter_open* { @ = count(); }");
	CHECK(t.ok && t.c.units.cnt == 1 && t.c.units.at[0]->site_cnt > 3);
	trial_release(&t);
	trial_init(&t);
	trial_run(&t,
		  "t:syscalls:sys_enter_open, t:syscalls:sys_enter_openat, t:syscalls:sys_enter_creat { print(args.pathname); }");
	CHECK(t.ok && t.c.units.cnt == 3 && t.c.units.at[0]->args);
	trial_release(&t);
	trial_init(&t);
	trial_run(&t, "t:syscalls:sys_exit_open* { print(args.ret); }");
	CHECK(t.ok && t.c.units.cnt == 1 && t.c.units.at[0]->args && type_member(t.c.units.at[0]->args, "ret", &(u32){ 0 }));
	trial_release(&t);

	/* Without arguments a raw tracepoint does; which one fired is known only where those have cookies. */
	trial_init(&t);
	t.target.features |= KF_BIT(RAW_TP_EXACT);
	trial_run(&t, "t:sched:sched_switch, t:sched:sched_process_fork { @[probe] = count(); }");
	CHECK(t.ok && t.c.units.cnt == 2);
	trial_release(&t);
	trial_init(&t);
	t.target.features |= KF_BIT(RAW_TP_EXACT) | KF_BIT(RAW_TP_COOKIE);
	trial_run(&t, "t:sched:sched_switch, t:sched:sched_process_fork { @[probe] = count(); }");
	CHECK(t.ok && t.c.units.cnt == 1);
	trial_release(&t);
}

/* ---- listing ---- */

static struct target here;

static void list(int line, const char *pattern, int want_cnt, const char *want, const char *want_error)
{
	struct sbuf out = {}, errors = {};
	struct arena arena;
	struct diag d;
	int n;

	arena_init(&arena);
	diag_init(&d, &arena);
	n = probe_list(pattern, false, &here, &d, &out);
	diag_print(&d, DIAG_ERROR, false, &errors);
	if (n == want_cnt && (!want || str_eq(sbuf_str(&out), want)) &&
	    (want_error ? strstr(sbuf_str(&errors), want_error) != NULL : !errors.len)) {
		passed++;
	} else {
		failed++;
		printf("%s:%d: -l %s: %d\n%s%s", __FILE__, line, pattern, n, sbuf_str(&out), sbuf_str(&errors));
	}
	sbuf_release(&out);
	sbuf_release(&errors);
	arena_release(&arena);
}

static bool lists(const char *pattern, const char *line)
{
	struct sbuf out = {};
	bool found;

	probe_list(pattern, false, &here, NULL, &out);
	found = strstr(sbuf_str(&out), line) != NULL;
	sbuf_release(&out);
	return found;
}

static void test_list(void)
{
	machine_target(&here);
	list(__LINE__, "profile:*", 4, "profile:hz:\nprofile:ms:\nprofile:s:\nprofile:us:\n", NULL);
	list(__LINE__, "i:*s", 3, "interval:ms:\ninterval:s:\ninterval:us:\n", NULL);
	list(__LINE__, "software:c*", 5,
	     "software:context-switches:\nsoftware:cpu-clock:\nsoftware:cpu-migrations:\nsoftware:cpu:\nsoftware:cs:\n", NULL);
	list(__LINE__, "hardware:cycles", 1, "hardware:cycles:\n", NULL);
	list(__LINE__, "s:dummy, h:instructions", 2, "software:dummy:\nhardware:instructions:\n", NULL);
	list(__LINE__, "h*:bus-cycles", 1, "hardware:bus-cycles:\n", NULL);
	list(__LINE__, "bpf-outpu*", 1, "software:bpf-output:\n", NULL);
	list(__LINE__, "foo:bar", -EINVAL, "", "Invalid probe type: foo");
	list(__LINE__, "zz*:bar", 0, "", "No matches for zz*:bar");
	list(__LINE__, "begin", 0, "", "No matches for begin");
	list(__LINE__, "begin:*", 1, "begin\n", NULL);
	list(__LINE__, with_elf("uprobe:%s:*alpha"), 3, NULL, NULL);
	list(__LINE__, strdupa(with_elf("u*:%s:beta")), 1, strdupa(with_elf("uprobe:%s:beta\n")), NULL);
	list(__LINE__, strdupa(with_elf("uretprobe:%s:beta")), 1, strdupa(with_elf("uretprobe:%s:beta\n")), NULL);
	list(__LINE__, "uprobe:/nonexistent:*", 0, "", "/nonexistent: No such file");
	list(__LINE__, "uprobe:a:b:c:d", 0, "", "No matches for uprobe:a:b:c:d");
	list(__LINE__, "", 0, "", NULL);
	CHECK(lists(NULL, "software:page-faults:\n") && lists("*:*", "hardware:instructions:\n") &&
	      lists("*", "software:dummy:\n"));
	CHECK(!lists(NULL, "\nbegin\n") && !lists(NULL, "\nprofile:") && !lists(NULL, "\nuprobe:"));
	if (tracefs_event_id("sched", "sched_switch") > 0) {
		CHECK(lists("tracepoint:sched:*", "tracepoint:sched:sched_switch\n") &&
		      lists("*sched_switch*", "tracepoint:sched:sched_switch\n"));
		CHECK(lists("t:sched_switch", "tracepoint:sched:sched_switch\n"));
	}
}

int main(void)
{
	machine = kern_machine;
	machine.kaddr = kaddr;
	write_elf();
	test_elf();
	test_ldcache();
	test_programs();
	test_syscalls();
	test_abi();
	test_providers();
	test_numbers();
	test_refused();
	test_accepted();
	test_sites();
	test_units();
	test_site_values();
	test_missing();
	test_limits();
	test_tracepoints();
	test_list();
	unlink(elf_path);
	return check_end();
}
