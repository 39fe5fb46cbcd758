/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/sbuf.h"
#include "base/vec.h"
#include "image/image.h"
#include "kern/lines.h"
#include "kern/machine.h"
#include "kern/sys.h"

static int open_list(void)
{
	char *fixture = machine_fixture("kallsyms");
	int fd = open(fixture ? fixture : "/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	free(fixture);
	return fd;
}

/* ---- parsing ---- */

/* "ffffffff81000000 T _stext" or "ffffffffc0000000 t foo<tab>[module]"; cuts the line into its words. */
static bool parse_line(char *line, struct ksym *out, char *type)
{
	char *p = line, *tab;
	u64 addr = 0;

	for (; *p && *p != ' '; p++) {
		u32 c = *p, digit = c - '0';

		if (digit > 9) {
			digit = (c | 0x20) - 'a';
			if (digit > 5)
				return false;
			digit += 10;
		}
		addr = addr << 4 | digit;
	}
	if (p == line || !*p || !p[1] || p[2] != ' ' || !p[3])
		return false;
	*type = p[1];
	*out = (struct ksym){ .addr = addr, .name = p + 3 };
	tab = strchr(p + 3, '\t');
	if (tab) {
		*tab++ = 0;
		if (*tab == '[' && (p = strchr(tab, ']'))) {
			*p = 0;
			out->module = tab + 1;
		}
	}
	return true;
}

struct each_arg {
	ksym_fn fn;
	void *arg;
};

static bool each_line(void *arg, char *line, u32 len)
{
	struct each_arg *e = arg;
	struct ksym sym;
	char type;

	if (!parse_line(line, &sym, &type))
		return true;
	return e->fn(e->arg, &sym, type);
}

int kallsyms_each(ksym_fn fn, void *arg)
{
	struct each_arg e = { fn, arg };
	int fd = open_list(), err;

	if (fd < 0)
		return -errno;
	err = lines_each_fd(fd, each_line, &e);
	close(fd);
	return err;
}

/* ---- one symbol ---- */

u64 kallsyms_scan(const char *text, size_t len, const char *name)
{
	size_t n = strlen(name);
	const char *p = text, *end = text + len;

	if (!n)
		return 0;
	while ((p = memmem(p, end - p, name, n))) {
		const char *line = p, *after = p + n;

		/* A whole name: "ADDR T name\n" or "ADDR T name\t[module]". The line must start in the text for the address to be
		 * there. */
		if ((after == end || *after == '\n' || *after == '\t') && p - text >= 3 && p[-1] == ' ' && p[-3] == ' ') {
			while (line > text && line[-1] != '\n')
				line--;
			return strtoull(line, NULL, 16);
		}
		p++;
	}
	return 0;
}

#define ADDR_NAME_SZ 128

struct addr_ctx {
	char name[ADDR_NAME_SZ];
	u64 addr;
};

/* A program of the kind that runs in the caller's context: bpf_kallsyms_lookup_name(ctx->name, …, &ctx->addr), by way of the
 * stack, as the helper takes no context memory. It obeys the same restrictions as /proc/kallsyms. */
static int lookup_prog(void)
{
	static int fd = -EAGAIN;
	struct insn insns[2 * (ADDR_NAME_SZ / 8) + 16];
	struct bpf_prog_load_attr a = {
		.prog_type = BPF_PROG_TYPE_SYSCALL,
		.insns = (u64)(uintptr_t)insns,
		.license = (u64)(uintptr_t) "GPL",
		.prog_flags = BPF_F_SLEEPABLE,
		.prog_name = "kaddr",
	};
	struct insn *p = insns;

	if (fd != -EAGAIN)
		return fd;
	*p++ = (struct insn){ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0 };
	for (u32 i = 0; i < ADDR_NAME_SZ; i += 8) {
		*p++ = (struct insn){ BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_6, i, 0 };
		*p++ = (struct insn){ BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_1, i - ADDR_NAME_SZ - 8, 0 };
	}
	*p++ = (struct insn){ BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0 };
	*p++ = (struct insn){ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0 };
	*p++ = (struct insn){ BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -ADDR_NAME_SZ - 8 };
	*p++ = (struct insn){ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, ADDR_NAME_SZ };
	*p++ = (struct insn){ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0 };
	*p++ = (struct insn){ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_10, 0, 0 };
	*p++ = (struct insn){ BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, -8 };
	*p++ = (struct insn){ BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_kallsyms_lookup_name };
	*p++ = (struct insn){ BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_10, -8, 0 };
	*p++ = (struct insn){ BPF_STX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, offsetof(struct addr_ctx, addr), 0 };
	*p++ = (struct insn){ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 };
	a.insn_cnt = p - insns;
	fd = kern_prog_load(&a);
	return fd;
}

/* Returns 0 with *addr 0 for "no such symbol", or -errno when the kernel does not allow the lookup. */
static int ask_kernel(const char *name, u64 *addr)
{
	struct addr_ctx ctx = {};
	size_t n = strlen(name);
	int fd, err;
	u32 ret;

	if (n >= sizeof(ctx.name))
		return -E2BIG;
	fd = lookup_prog();
	if (fd < 0)
		return fd;
	memcpy(ctx.name, name, n);
	err = kern_prog_run_ctx(fd, &ctx, sizeof(ctx), &ret);
	if (err)
		return err;
	if (ret && (s32)ret != -ENOENT)
		return (s32)ret;
	*addr = ret ? 0 : ctx.addr;
	return 0;
}

static int scan_file(const char *name, u64 *addr)
{
	const size_t chunk = 64 * 1024;
	int fd = open_list(), err = 0;
	char *buf = xzalloc(chunk + 1), *nl;
	size_t have = 0;

	*addr = 0;
	if (fd < 0)
		err = -errno;
	while (!err) {
		ssize_t r = read(fd, buf + have, chunk - have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			err = -errno;
		if (r > 0)
			have += r;
		/* Only whole lines: a partial one waits for its rest. Several blocks are collected, because memmem is faster on
		 * long texts. */
		if (r > 0 && have < chunk / 2)
			continue;
		nl = memrchr(buf, '\n', have);
		if (!nl)
			break;
		*addr = kallsyms_scan(buf, nl + 1 - buf, name);
		have -= nl + 1 - buf;
		memmove(buf, nl + 1, have);
		if (*addr || r <= 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	free(buf);
	return err;
}

u64 kallsyms_addr(const char *name)
{
	char *fixture = machine_fixture("kallsyms");
	u64 addr = 0;

	if (fixture || ask_kernel(name, &addr))
		scan_file(name, &addr);
	free(fixture);
	return addr;
}

/* ---- all symbols, by address ---- */

struct entry {
	u64 addr;
	u32 name_off;
	u32 module; /* index + 1; 0: none */
};

struct kallsyms {
	vec(struct entry) entries;
	struct sbuf names; /* one after the other, NUL-terminated */
	vec(char *) modules;
	bool is_sorted;
	u64 core_end; /* behind the kernel itself; 0: it has no symbols */
	bool has_end; /* from a symbol, not guessed */
};

/* Symbols have no sizes. An address this far after the last symbol of a module or BPF program does not belong to it. */
#define MODULE_REACH (4ull << 20)
/* Modules and BPF programs come and go: the table is read again for an address that may be in a new one, but at most this
 * often. */
#define REREAD_NS 1000000000ull

static u32 module_index(struct kallsyms *k, const char *name)
{
	/* Symbols of one module stand together. */
	for (u32 i = k->modules.cnt; i > 0; i--)
		if (str_eq(k->modules.at[i - 1], name))
			return i;
	vec_push(&k->modules, xstrdup(name));
	return k->modules.cnt;
}

static bool table_add(void *arg, const struct ksym *sym, char type)
{
	struct kallsyms *k = arg;

	/* Absolute symbols are offsets in the per-CPU area, no addresses. */
	if (!sym->addr || type == 'a' || type == 'A')
		return true;
	if (!sym->module && !k->has_end) {
		k->has_end = str_eq(sym->name, "_end");
		k->core_end = k->has_end ? sym->addr : MAX(k->core_end, sym->addr + MODULE_REACH);
	}
	if (k->entries.cnt && k->entries.at[k->entries.cnt - 1].addr > sym->addr)
		k->is_sorted = false;
	vec_push(&k->entries, (struct entry){ sym->addr, k->names.len, sym->module ? module_index(k, sym->module) : 0 });
	sbuf_add(&k->names, sym->name, strlen(sym->name) + 1);
	return true;
}

/* By address, then in the file's order: of several names for one place the kernel itself shows the first. */
static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

static void table_finish(struct kallsyms *k)
{
	if (!k->is_sorted && k->entries.cnt)
		qsort(k->entries.at, k->entries.cnt, sizeof(*k->entries.at), entry_cmp);
	k->is_sorted = true;
}

struct kallsyms *kallsyms_new(const char *text, size_t len)
{
	struct kallsyms *k = xzalloc(sizeof(*k));
	struct each_arg e = { table_add, k };

	k->is_sorted = true;
	lines_each_text(text, len, each_line, &e);
	table_finish(k);
	return k;
}

void kallsyms_free(struct kallsyms *k)
{
	vec_for(m, &k->modules)
		free(*m);
	vec_free(&k->modules);
	vec_free(&k->entries);
	sbuf_release(&k->names);
	free(k);
}

bool kallsyms_table_find(const struct kallsyms *k, u64 addr, struct ksym *out)
{
	const struct entry *at = k->entries.at;
	u32 lo = 0, hi = k->entries.cnt;

	/* The first entry above addr is at hi in the end. */
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (at[mid].addr > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (!hi)
		return false;
	hi--;
	if (at[hi].module ? addr - at[hi].addr >= MODULE_REACH : k->core_end && addr >= k->core_end)
		return false;
	while (hi && at[hi - 1].addr == at[hi].addr)
		hi--;
	*out = (struct ksym){
		.addr = at[hi].addr,
		.name = k->names.s + at[hi].name_off,
		.module = at[hi].module ? k->modules.at[at[hi].module - 1] : NULL,
	};
	return true;
}

static struct kallsyms *read_table(void)
{
	struct kallsyms *k = xzalloc(sizeof(*k));

	k->is_sorted = true;
	/* Part of the list would give wrong names: an address belongs to the last symbol before it. Without a list, frames are
	 * shown as addresses, which is reported. */
	if (kallsyms_each(table_add, k)) {
		kallsyms_free(k);
		k = xzalloc(sizeof(*k));
	}
	table_finish(k);
	return k;
}

bool kallsyms_find(u64 addr, struct ksym *out)
{
	/* older: the previous table, which has programs that have ended since. seen: addresses looked up since then. */
	static struct kallsyms *table, *older;
	static u64 read_ns, seen[256];
	u64 *slot = &seen[addr * 0x9e3779b97f4a7c15ull >> 56], now;
	struct ksym old;
	struct timespec ts;
	bool found;

	if (!(addr >> 63)) /* the upper half of the address space is the kernel's */
		return false;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
	if (!table) {
		table = read_table();
		read_ns = now;
	} else if (table->core_end && addr >= table->core_end && *slot != addr && now - read_ns >= REREAD_NS) {
		if (older)
			kallsyms_free(older);
		older = table;
		table = read_table();
		read_ns = now;
		memset(seen, 0, sizeof(seen));
	}
	*slot = addr;
	found = kallsyms_table_find(table, addr, out);
	if (older && kallsyms_table_find(older, addr, &old) && old.module && (!found || old.addr > out->addr)) {
		*out = old;
		found = true;
	}
	return found;
}
