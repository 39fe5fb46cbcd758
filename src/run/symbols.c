/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/symbols.h"

#include <dirent.h>
#include <stdlib.h>
#include <time.h>

#include "kern/taskmaps.h"
#include "run/loop.h"
#include "run/unwind.h"
#include "sym/demangle.h"
#include "sym/dwarf.h"
#include "sym/user.h"

#define REST_NS 2000000ull  /* between two looks at the kernel's notices */
#define SLICE_NS 2000000ull /* how long the reading of /proc keeps events waiting */
#define CROWD 16384         /* processes that are known, half a kilobyte each, before those that have ended are forgotten */

struct symbols {
	struct usyms *user;
	bool demangle;
	DIR *proc; /* being read: processes that lived at the start */
	u64 updated_ns;
	u32 crowd;              /* how many processes are too many */
	struct unwind *unwind;  /* is told, too; NULL: nobody */
	struct taskmaps *watch; /* NULL: not possible; processes are looked at when an address is to be named */
};

struct symbols *symbols_new(bool has_kernel, const struct config *config)
{
	struct symbols *s = xzalloc(sizeof(*s));

	s->demangle = config->cpp_demangle;
	s->crowd = CROWD;
	s->user = usyms_new(config->show_debug_info);
	s->watch = has_kernel ? taskmaps_open() : NULL;
	if (s->watch)
		usyms_watched(s->user);
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	if (s->proc)
		closedir(s->proc);
	taskmaps_close(s->watch);
	usyms_free(s->user);
	free(s);
}

static void on_mmap(void *arg, const struct task_mmap *m, u64 ns)
{
	bool is_anon = !strcmp(m->path, "//anon");
	struct symbols *s = arg;

	if (s->unwind)
		unwind_mapped(s->unwind, m->pid);
	usyms_add(s->user, m->pid,
		  &(struct proc_map){ .start = m->start,
				      .end = m->start + m->len,
				      .off = m->off,
				      .ino = m->ino,
				      .dev = m->dev,
				      .is_exec = true,
				      .path = is_anon ? "" : m->path,
				      .path_len = is_anon ? 0 : strlen(m->path) },
		  ns);
}

static void on_fork(void *arg, u32 pid, u32 parent, u64 ns)
{
	struct symbols *s = arg;

	if (s->unwind)
		unwind_forked(s->unwind, pid, parent);
	usyms_fork(s->user, pid, parent, ns);
}

int symbols_fd(const struct symbols *s, int *timeout)
{
	u64 now;

	if (!s || !s->watch)
		return -1;
	/* Notices come at once, but where programs start by the hundred they are taken together. */
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - s->updated_ns >= REST_NS || s->unwind)
		return taskmaps_fd(s->watch);
	if (*timeout < 0 || *timeout > (int)(REST_NS / 1000000))
		*timeout = (int)(REST_NS / 1000000);
	return -1;
}

u64 symbols_lost(const struct symbols *s)
{
	return s && s->watch ? taskmaps_lost(s->watch) : 0;
}

void symbols_update(struct symbols *s)
{
	static const struct taskmaps_ops ops = { on_mmap, on_fork };

	if (!s || !s->watch)
		return;
	taskmaps_drain(s->watch, &ops, s);
	if (s->unwind)
		unwind_refresh(s->unwind);
	s->updated_ns = clock_ns(CLOCK_MONOTONIC);
}

bool symbols_are_crowded(const struct symbols *s)
{
	return s && usyms_proc_cnt(s->user) >= s->crowd;
}

struct wanted {
	const u32 *pids;
	u32 cnt;
};

static int by_number(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static bool is_wanted(void *arg, u32 pid)
{
	const struct wanted *w = arg;

	return w->cnt && bsearch(&pid, w->pids, w->cnt, sizeof(pid), by_number);
}

void symbols_forget(struct symbols *s, u32 *pids, u32 cnt, bool is_known)
{
	if (cnt)
		qsort(pids, cnt, sizeof(*pids), by_number);
	if (is_known)
		usyms_forget(s->user, is_wanted, &(struct wanted){ pids, cnt });
	s->crowd = MAX(CROWD, 2 * usyms_proc_cnt(s->user));
}

bool symbols_tell(struct symbols *s, struct unwind *u)
{
	s->unwind = u;
	return s->watch;
}

void symbols_remember(struct symbols *s, u32 pid)
{
	symbols_update(s);
	if (pid)
		usyms_remember(s->user, pid);
	else if (!s->proc)
		s->proc = opendir("/proc");
}

bool symbols_go_on(struct symbols *s)
{
	u64 start;
	struct dirent *ent = NULL;

	if (!s || !s->proc)
		return false;
	start = clock_ns(CLOCK_MONOTONIC);
	do {
		ent = readdir(s->proc);
		if (ent && ent->d_name[0] >= '1' && ent->d_name[0] <= '9')
			usyms_remember(s->user, (u32)strtoul(ent->d_name, NULL, 10));
	} while (ent && clock_ns(CLOCK_MONOTONIC) - start < SLICE_NS);
	if (!ent) {
		closedir(s->proc);
		s->proc = NULL;
	}
	return ent;
}

static void put_name(const struct symbols *s, const char *name, struct sbuf *out)
{
	char *text = s->demangle ? sym_demangle(name) : NULL;

	sbuf_puts(out, text ? text : name);
	free(text);
}

#define INLINED_MAX 16

/* Functions that were inlined where the frame is, a line each; leaves out at the end what the frame itself is to show. */
static void put_inlined(struct symbols *s, const struct dbg_place *frames, u32 cnt, bool is_perf, u64 addr, struct sbuf *out)
{
	for (u32 i = 0; i + 1 < cnt; i++) {
		const char *name = frames[i].func ? frames[i].func : "?";

		if (!is_perf)
			sbuf_puts(out, "[inlined] ");
		put_name(s, name, out);
		if (is_perf)
			sbuf_printf(out, " (inlined)\n\t%llx ", (unsigned long long)addr);
		else
			sbuf_printf(out, "@%s:%u\n        ", frames[i].file, frames[i].line);
	}
}

static bool name_uframe(void *self, u32 pid, u64 addr, u64 at, bool want_module, struct sbuf *out)
{
	struct dbg_place frames[INLINED_MAX];
	struct symbols *s = self;
	struct usym sym;
	u32 cnt;

	symbols_update(s);
	if (!usyms_find(s->user, pid, at, &sym) || (!sym.name && !want_module))
		return false;
	cnt = usyms_frames(s->user, pid, at, frames, INLINED_MAX);
	put_inlined(s, frames, cnt, want_module, addr, out);
	if (sym.name) {
		put_name(s, sym.name, out);
		sbuf_printf(out, "+%llu", (unsigned long long)(addr - sym.start));
	} else {
		sbuf_printf(out, "0x%llx", (unsigned long long)addr);
	}
	if (cnt && !want_module)
		sbuf_printf(out, "@%s:%u", frames[cnt - 1].file, frames[cnt - 1].line);
	if (want_module)
		sbuf_printf(out, " (%s)", sym.file ? sym.file : "[unknown]");
	return true;
}

static bool name_usym(void *self, u64 addr, u32 pid, struct sbuf *out)
{
	struct symbols *s = self;
	struct usym sym;

	symbols_update(s);
	if (!usyms_find(s->user, pid, addr, &sym) || !sym.name)
		return false;
	put_name(s, sym.name, out);
	return true;
}

void symbols_naming(struct symbols *s, struct naming *n)
{
	n->uframe = name_uframe;
	n->usym = name_usym;
	n->self = s;
}
