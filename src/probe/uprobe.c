/* uprobe and uretprobe: functions and instructions of programs and libraries.
 *
 * The kernel knows a uprobe as a file (its inode) and an offset in it; processes that map the file at any address run into it.
 * So names and addresses are turned into file offsets here, at expansion: site.target is the file to open, site.addr the offset
 * in it, site.func the function.
 *
 * One function often has several names (read, __read, __libc_read). A wildcard that matches more than one of them still stands
 * for one place: it gets one site, or each call would be counted several times.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/io.h"
#include "base/smap.h"
#include "kern/sys.h"
#include "probe/probe.h"
#include "sym/elf.h"
#include "sym/ldcache.h"

/* unit.variant */
enum { UP_PERF, UP_MULTI };

extern const struct provider provider_uprobe, provider_uretprobe;

/* ---- parsing ---- */

static bool is_address(const char *s)
{
	u64 v;

	return *s >= '0' && *s <= '9' && probe_number(s, &v);
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *plus, *func = ap->parts[ap->part_cnt - 1];
	u64 off;

	for (u32 i = 1; i + 1 < ap->part_cnt; i++) {
		if (str_eq(ap->parts[i], "cpp")) {
			diag_error(d, ap->span, E_UNSUPPORTED, "probing by C++ name (cpp) is not supported");
			diag_hint(d, "use the name as the symbol table has it (_Z…), with wildcards: \"*name*\"");
			return false;
		}
	}
	/* With -p the target may be left out. */
	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	if (ap->part_cnt == 3 && strchr(ap->parts[1], '@') && is_address(func) && access(ap->parts[1], F_OK)) {
		diag_error(d, ap->span, E_UNSUPPORTED, "probing by source line (FILE:LINE) is not supported");
		return false;
	}
	if (!*func || !*ap->parts[1]) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: the %s is missing", p->name,
			   !*ap->parts[1] ? "target" : "function");
		diag_hint(d, "write it as %s", p->spec);
		return false;
	}
	plus = strrchr(func, '+');
	if (!plus || plus == func)
		return true;
	if (plus[1] >= '0' && plus[1] <= '9' && p == &provider_uretprobe) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Offset not allowed");
		diag_hint(d, "a uretprobe is for the return from the whole function");
		return false;
	}
	if (plus[1] >= '0' && plus[1] <= '9' && !probe_number(plus + 1, &off)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Invalid offset: %s", plus + 1);
		return false;
	}
	return true;
}

/* ---- which files ---- */

struct file {
	const char *shown; /* as `probe` says it */
	const char *path;  /* to open: the same, or through /proc/PID/root */
};

typedef vec(struct file) file_list;

/* The process lives in another mount namespace: its paths are not ours. */
static bool other_mounts(u32 pid)
{
	char path[64], ours[64], theirs[64];
	ssize_t n, m;

	if (!pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	n = readlink("/proc/self/ns/mnt", ours, sizeof(ours));
	m = readlink(path, theirs, sizeof(theirs));
	return n > 0 && m > 0 && (n != m || memcmp(ours, theirs, n) != 0);
}

static void add_target(struct site_sink *sink, file_list *out, const char *shown)
{
	shown = arena_strdup(sink->arena, shown);
	vec_push(out, (struct file){ shown, *shown == '/' && other_mounts(sink->filter_pid)
						     ? arena_printf(sink->arena, "/proc/%u/root%s", sink->filter_pid, shown)
						     : shown });
}

/* Files that a process has mapped to execute. */
static void add_mapped(struct site_sink *sink, file_list *out, const char *pid, struct smap *seen)
{
	char *path = xasprintf("/proc/%s/maps", pid), *text, *line, *save;

	if (!io_read_file(path, &text, NULL)) {
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			char *file = strchr(line, '/'), *perms = strchr(line, ' ');

			if (!file || !perms || perms[3] != 'x' || smap_get(seen, file))
				continue;
			add_target(sink, out, file);
			smap_put(seen, out->at[out->cnt - 1].shown, seen);
		}
		free(text);
	}
	free(path);
}

static void add_all_mapped(struct site_sink *sink, file_list *out)
{
	struct smap seen = {};
	struct dirent *ent;
	char pid[16];
	DIR *dir;

	if (sink->filter_pid) {
		snprintf(pid, sizeof(pid), "%u", sink->filter_pid);
		add_mapped(sink, out, pid, &seen);
	} else if ((dir = opendir("/proc"))) {
		while ((ent = readdir(dir)))
			if (ent->d_name[0] >= '1' && ent->d_name[0] <= '9')
				add_mapped(sink, out, ent->d_name, &seen);
		closedir(dir);
	}
	smap_release(&seen);
}

static void add_globbed(struct site_sink *sink, file_list *out, const char *pattern)
{
	bool is_other = *pattern == '/' && other_mounts(sink->filter_pid);
	char *root = is_other ? xasprintf("/proc/%u/root", sink->filter_pid) : xstrdup("");
	char *full = xasprintf("%s%s", root, pattern);
	glob_t g;

	if (!glob(full, 0, NULL, &g)) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			add_target(sink, out, g.gl_pathv[i] + strlen(root));
		globfree(&g);
	}
	free(full);
	free(root);
}

static void find_targets(struct site_sink *sink, file_list *out, const char *text, const struct attach_point *ap, struct diag *d)
{
	char *found;
	u32 hits;

	if (str_eq(text, "*")) {
		add_all_mapped(sink, out);
	} else if (has_wildcard(text)) {
		add_globbed(sink, out, text);
	} else if (strchr(text, '/')) {
		add_target(sink, out, text);
	} else if (str_starts(text, "lib") && (found = sym_find_library(text, sink->filter_pid))) {
		add_target(sink, out, found);
		free(found);
	} else if ((found = sym_find_program(text, &hits))) {
		add_target(sink, out, found);
		if (hits > 1 && d)
			diag_warn(d, ap->span, W_MISSING_PROBE, "attaching to %s target file '%s' but matched %u binaries",
				  provider_find(ap->parts[0])->name, found, hits);
		free(found);
	} else {
		sink->why = arena_printf(sink->arena, "There is no %s '%s'",
					 str_starts(text, "lib") ? "library" : "program in PATH called", text);
	}
}

/* ---- which places in a file ---- */

struct place {
	const struct sym_func *func;
	u64 file_off;
};

/* The name to keep of those at one place: the one programs call. */
static int by_place(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;
	size_t ua, ub;

	if (pa->file_off != pb->file_off)
		return pa->file_off < pb->file_off ? -1 : 1;
	if (!pa->func->bind != !pb->func->bind) /* STB_LOCAL is 0 */
		return pa->func->bind ? -1 : 1;
	ua = strspn(pa->func->name, "_");
	ub = strspn(pb->func->name, "_");
	if (ua != ub)
		return ua < ub ? -1 : 1;
	return strcmp(pa->func->name, pb->func->name);
}

static int by_func(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->func->name, ((const struct place *)b)->func->name);
}

static void add(struct site_sink *sink, const struct provider *p, const struct file *t, const char *func, const char *shown,
		u64 file_off, u64 off)
{
	struct site *s = sink->add(sink, arena_printf(sink->arena, "%s:%s:%s", p->name, t->shown, shown));

	if (!s)
		return;
	s->target = t->path;
	s->func = func ? arena_strdup(sink->arena, func) : NULL;
	s->addr = file_off;
	s->off = off;
}

static void expand_wildcard(struct site_sink *sink, const struct provider *p, const struct file *t, struct sym_elf *elf,
			    const char *pattern)
{
	vec(struct place) places = {};
	const struct sym_func *f;
	u32 cnt, n = 0;
	u64 off;

	f = sym_elf_funcs(elf, &cnt);
	for (u32 i = 0; i < cnt; i++) {
		if (!glob_match(pattern, f[i].name) || !sym_elf_offset(elf, f[i].addr, &off))
			continue;
		if (!sink->c)
			add(sink, p, t, f[i].name, f[i].name, off, 0);
		else if (!f[i].is_ifunc)
			vec_push(&places, (struct place){ &f[i], off });
	}
	if (places.cnt) {
		qsort(places.at, places.cnt, sizeof(*places.at), by_place);
		for (u32 i = 0; i < places.cnt; i++)
			if (!i || places.at[i].file_off != places.at[n - 1].file_off)
				places.at[n++] = places.at[i];
		qsort(places.at, n, sizeof(*places.at), by_func);
	}
	for (u32 i = 0; i < n; i++)
		add(sink, p, t, places.at[i].func->name, places.at[i].func->name, places.at[i].file_off, 0);
	vec_free(&places);
}

static void expand_address(struct site_sink *sink, const struct provider *p, const struct file *t, struct sym_elf *elf, u64 addr)
{
	const struct sym_func *f = sym_elf_at(elf, addr);
	u64 off;

	if (!sym_elf_offset(elf, addr, &off)) {
		sink->why = arena_printf(sink->arena, "%s has nothing at address 0x%llx", t->shown, (unsigned long long)addr);
		return;
	}
	add(sink, p, t, f ? f->name : NULL, arena_printf(sink->arena, "%llu", (unsigned long long)addr), off, 0);
}

static void expand_name(struct site_sink *sink, const struct provider *p, const struct file *t, struct sym_elf *elf,
			const char *text, const struct attach_point *ap, struct diag *d)
{
	const struct sym_func *f;
	const char *name, *near;
	u64 off, file_off;

	/* A name may hold a plus itself (operator+1 is none, but who knows what languages come up with). */
	f = sym_elf_find(elf, text);
	if (f) {
		off = 0;
	} else {
		if (!probe_func_offset(sink->arena, text, &name, &off))
			return;
		f = sym_elf_find(elf, name);
		if (!f) {
			near = sym_elf_nearest(elf, name);
			if (near)
				sink->hint = arena_printf(sink->arena, "did you mean %s:%s:%s?", p->name, ap->parts[1], near);
			else
				sink->why = arena_printf(sink->arena, "%s has no function %s", t->shown, name);
			return;
		}
	}
	if (off && off >= f->size && d) {
		if (!sink->allow_unsafe) {
			diag_error(d, ap->span, E_ATTACH_POINT, "Offset outside the function bounds ('%s' size is %llu)", f->name,
				   (unsigned long long)f->size);
			diag_hint(d, "--unsafe allows any offset; one inside of an instruction can crash the traced program");
			return;
		}
		diag_warn(d, ap->span, W_MISSING_PROBE, "Offset outside the function bounds ('%s' size is %llu)", f->name,
			  (unsigned long long)f->size);
	}
	if (f->is_ifunc && d)
		diag_warn(d, ap->span, W_MISSING_PROBE,
			  "%s is chosen from several implementations when the program starts (ifunc): the probe sees only that "
			  "choice being made",
			  f->name);
	if (!sym_elf_offset(elf, f->addr + off, &file_off)) {
		sink->why = arena_printf(sink->arena, "%s is not in the loaded part of %s", f->name, t->shown);
		return;
	}
	add(sink, p, t, f->name, off ? arena_printf(sink->arena, "%s+%llu", f->name, (unsigned long long)off) : f->name, file_off,
	    off);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *func = ap->parts[ap->part_cnt - 1];
	file_list files = {};

	if (sink->c && !target_has(sink->c, KF_UPROBE)) {
		sink->why = "This kernel has no uprobes (CONFIG_UPROBE_EVENTS is not set)";
		return 0;
	}
	if (ap->part_cnt < 2 || ap->part_cnt > 3)
		return 0;
	if (ap->part_cnt == 3) {
		find_targets(sink, &files, ap->parts[1], ap, d);
	} else if (sink->filter_pid) {
		char exe[64], path[4096];
		ssize_t n;

		snprintf(exe, sizeof(exe), "/proc/%u/exe", sink->filter_pid);
		n = readlink(exe, path, sizeof(path) - 1);
		if (n > 0) {
			path[n] = 0;
			add_target(sink, &files, path);
		}
	} else if (d) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe type requires 2 arguments, found 1", p->name);
		diag_hint(d, "write it as %s; the target can be left out with -p", p->spec);
	}
	vec_for(t, &files) {
		struct sym_elf *elf;
		u64 addr;
		int err = sym_elf_open(t->path, &elf);

		if (err) {
			/* Of many files, those that are no programs are passed over. */
			if (files.cnt == 1 && err == -ENOEXEC)
				sink->why = arena_printf(sink->arena, "%s is not a program or library of this machine", t->shown);
			else if (files.cnt == 1)
				sink->why = arena_printf(sink->arena, "%s: %s", t->shown, strerror(-err));
			continue;
		}
		if (has_wildcard(func))
			expand_wildcard(sink, p, t, elf, func);
		else if (is_address(func) && probe_number(func, &addr))
			expand_address(sink, p, t, elf, addr);
		else
			expand_name(sink, p, t, elf, func, ap, d);
		sym_elf_free(elf);
	}
	vec_free(&files);
	return 0;
}

/* ---- attaching ---- */

static void plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	(void)uses;
	u->variant = target_has(c, KF_UPROBE_MULTI) ? UP_MULTI : UP_PERF;
}

static int attr(struct compile *c, const struct unit *u, struct prog_attr *attr, struct diag *d)
{
	(void)c, (void)d;
	attr->type = BPF_PROG_TYPE_KPROBE;
	attr->attach_type = u->variant == UP_MULTI ? BPF_TRACE_UPROBE_MULTI : 0;
	return 0;
}

static const char *hint_for(int err)
{
	switch (-err) {
	case EOPNOTSUPP:
	case EINVAL:
	case ENOEXEC:
		return "the kernel cannot put a probe on the instruction at this place";
	default:
		return NULL;
	}
}

/* All sites in [lo, hi) are in one file. */
static int link_multi(const struct multi *m, u32 lo, u32 hi)
{
	u64 *offsets = xzalloc((hi - lo) * sizeof(u64)), *cookies = xzalloc((hi - lo) * sizeof(u64));
	struct bpf_link_create_attr attr = {
		.prog_fd = m->prog_fd,
		.attach_type = BPF_TRACE_UPROBE_MULTI,
		.uprobe_multi = {
			.path = (u64)(uintptr_t)unit_site(m->ctx, m->u, lo)->target,
			.offsets = (u64)(uintptr_t)offsets,
			.cookies = (u64)(uintptr_t)cookies,
			.cnt = hi - lo,
			.flags = m->u->provider == &provider_uretprobe ? BPF_F_UPROBE_MULTI_RETURN : 0,
			.pid = m->ctx->filter_pid,
		},
	};
	int fd;

	for (u32 i = lo; i < hi; i++) {
		offsets[i - lo] = unit_site(m->ctx, m->u, i)->addr;
		cookies[i - lo] = m->u->site_first + i;
	}
	fd = kern_link_create(&attr);
	free(offsets);
	free(cookies);
	return fd;
}

static int attach_multi(struct attach_ctx *ctx, const struct unit *u, int prog_fd)
{
	struct multi m = { ctx, u, prog_fd, link_multi, "cannot attach to the function", hint_for };
	u32 done = 0;

	for (u32 lo = 0, hi; lo < u->site_cnt; lo = hi) {
		const char *file = unit_site(ctx, u, lo)->target;

		for (hi = lo + 1; hi < u->site_cnt && str_eq(unit_site(ctx, u, hi)->target, file); hi++)
			;
		done += probe_attach_multi(&m, lo, hi);
	}
	return done;
}

static int attach_perf(struct attach_ctx *ctx, const struct unit *u, int prog_fd)
{
	int type = probe_pmu_type("uprobe"), bit = probe_pmu_bit("uprobe", "retprobe");
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		struct site *s = unit_site(ctx, u, i);
		struct perf_event_attr ev = {
			.type = type,
			.config = u->provider == &provider_uretprobe ? 1ull << (bit & 63) : 0,
			.uprobe_path = (u64)(uintptr_t)s->target,
			.probe_offset = s->addr,
		};
		int err;

		if (type < 0 || bit < 0) {
			probe_attach_failed(ctx, s, 0, "This kernel has no uprobes (CONFIG_UPROBE_EVENTS is not set)", NULL);
			continue;
		}
		err = probe_perf_attach(ctx, &ev, ctx->filter_pid ? (s32)ctx->filter_pid : -1, ctx->filter_pid ? -1 : 0, prog_fd,
					u->site_first + i);
		if (err)
			probe_attach_failed(ctx, s, err, "cannot attach to the function", hint_for(err));
		else
			done++;
	}
	return done;
}

static int attach(struct attach_ctx *ctx, const struct unit *u, int prog_fd)
{
	return u->variant == UP_MULTI ? attach_multi(ctx, u, prog_fd) : attach_perf(ctx, u, prog_fd);
}

const struct provider provider_uprobe = {
	.name = "uprobe",
	.alias = "u",
	.spec = "uprobe:TARGET:FUNCTION[+OFFSET] or uprobe:TARGET:ADDRESS",
	.doc = "Runs when a function of a program or library is called, or an instruction of it is reached.",
	.example = "uprobe:/bin/bash:readline { @[pid] = count(); }",
	.flags = PROV_ARGN | PROV_REG | PROV_FUNC | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_USER_FILE | PROV_LIST_EXPLICIT,
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.plan = plan,
	.lower_argn = probe_regs_argn,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_uretprobe = {
	.name = "uretprobe",
	.alias = "ur",
	.spec = "uretprobe:TARGET:FUNCTION",
	.doc = "Runs when a function of a program or library returns.",
	.example = "uretprobe:/bin/bash:readline { printf(\"%s\\n\", str(retval)); }",
	.flags = PROV_RETVAL | PROV_REG | PROV_FUNC | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_LIST_EXPLICIT,
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.plan = plan,
	.lower_retval = probe_regs_retval,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
};
