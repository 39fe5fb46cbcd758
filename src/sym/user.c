/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/user.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/htab.h"
#include "base/io.h"
#include "base/smap.h"
#include "base/vec.h"
#include "sym/dwarf.h"
#include "sym/elf.h"
#include "sym/perfmap.h"

#define REREAD_NS 50000000ull /* the least time between two reads of /proc/PID/maps for unknown addresses */
#define PERF_MAP_MAX (256u << 20)
#define INHERIT_MAX 4096 /* generations that a search follows */
#define HELD_MAX 4096    /* files that are kept open */
#define NONE UINT32_MAX

struct file {
	const char *path;
	u64 ino;
	int fd; /* keeps the file open, while there are not too many; -1: closed */
	struct sym_elf *elf;
	struct dbg *dbg; /* NULL: none, or not wanted */
	bool is_tried;
};

struct mapping {
	u64 start, end, off;
	u32 file; /* index into files */
};

struct proc {
	u32 pid;
	u32 older;  /* the process that had this ID before, or NONE */
	u32 parent; /* whose first parent_cnt mappings it inherited, or NONE */
	u32 parent_cnt;
	u64 since_ns;             /* of the first notice */
	u64 read_ns;              /* when /proc was read; 0: never */
	bool is_new;              /* its mappings are known from the start */
	bool is_over;             /* usyms_forget() found that it has ended */
	vec(struct mapping) maps; /* oldest first */
	struct perfmap jit;
	u64 jit_size; /* of the file when it was read */
};

struct usyms {
	struct arena arena;
	vec(struct file) files;
	struct smap by_id; /* "DEVICE INODE PATH" → index + 1 into files */
	u32 held;          /* files with a descriptor */
	vec(struct proc) procs;
	struct htab by_pid; /* 1 + index of the newest process of an ID */
	bool is_watched, with_lines;
};

struct usyms *usyms_new(bool with_lines)
{
	struct usyms *u = xzalloc(sizeof(*u));

	u->with_lines = with_lines;
	arena_init(&u->arena);
	return u;
}

void usyms_free(struct usyms *u)
{
	if (!u)
		return;
	vec_for(f, &u->files) {
		sym_elf_free(f->elf);
		dbg_close(f->dbg);
		if (f->fd >= 0)
			close(f->fd);
	}
	vec_for(p, &u->procs) {
		vec_free(&p->maps);
		vec_free(&p->jit.syms);
	}
	vec_free(&u->files);
	vec_free(&u->procs);
	smap_release(&u->by_id);
	htab_release(&u->by_pid);
	arena_release(&u->arena);
	free(u);
}

void usyms_watched(struct usyms *u)
{
	u->is_watched = true;
}

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* ---- processes ---- */

static u32 *proc_place(const struct usyms *u, u32 pid)
{
	htab_for(p, &u->by_pid, u64_hash(pid))
		if (u->procs.at[*p - 1].pid == pid)
			return p;
	return NULL;
}

static u32 proc_find(const struct usyms *u, u32 pid)
{
	const u32 *place = proc_place(u, pid);

	return place ? *place - 1 : NONE;
}

/* From now on, i is the newest process of its ID. */
static void proc_index(struct usyms *u, u32 i)
{
	u32 pid = u->procs.at[i].pid, *place = proc_place(u, pid);

	if (place)
		*place = i + 1;
	else
		htab_add(&u->by_pid, u64_hash(pid), i + 1);
}

/* A new process with this ID; the previous one is kept after it in the chain. */
static u32 proc_add(struct usyms *u, u32 pid, u64 ns)
{
	vec_push(&u->procs, (struct proc){ .pid = pid, .older = proc_find(u, pid), .parent = NONE, .since_ns = ns });
	proc_index(u, u->procs.cnt - 1);
	return u->procs.cnt - 1;
}

/* Files of a container disappear with its last process, and others may be replaced: so files are opened when they are first
 * seen. */
static void hold(struct usyms *u, struct file *f, u32 pid, const struct proc_map *m)
{
	if (u->held >= HELD_MAX || *f->path != '/' || str_starts(f->path, "//"))
		return;
	f->fd = proc_mapped_fd(pid, m->start, m->end, f->path, f->ino);
	u->held += f->fd >= 0;
}

static u32 file_index(struct usyms *u, u32 pid, const struct proc_map *m)
{
	static const char deleted[] = " (deleted)";
	size_t len = m->path_len, cut = sizeof(deleted) - 1;
	char *key, *kept;
	void *found;

	if (len > cut && !memcmp(m->path + len - cut, deleted, cut))
		len -= cut;
	key = xasprintf("%llx %llu %.*s", (unsigned long long)m->dev, (unsigned long long)m->ino, (int)len, m->path);
	found = smap_get(&u->by_id, key);
	if (found) {
		struct file *f = &u->files.at[(uintptr_t)found - 1];

		free(key);
		/* The previous process with this ID may have ended already. */
		if (!f->elf && f->fd < 0) {
			hold(u, f, pid, m);
			f->is_tried &= f->fd < 0;
		}
		return (u32)(uintptr_t)found - 1;
	}
	kept = arena_strdup(&u->arena, key);
	free(key);
	key = kept;
	vec_push(&u->files, (struct file){ .path = strchr(strchr(key, ' ') + 1, ' ') + 1, .ino = m->ino, .fd = -1 });
	smap_put(&u->by_id, key, (void *)(uintptr_t)u->files.cnt);
	hold(u, &u->files.at[u->files.cnt - 1], pid, m);
	return u->files.cnt - 1;
}

/* The mapping that has the address: of this process alone. */
static const struct mapping *own_mapping(const struct usyms *u, u32 proc, u64 addr)
{
	u32 cnt = u->procs.at[proc].maps.cnt;

	for (u32 depth = 0; proc != NONE && depth < INHERIT_MAX; depth++) {
		const struct proc *p = &u->procs.at[proc];

		for (u32 i = MIN(cnt, p->maps.cnt); i-- > 0;)
			if (addr >= p->maps.at[i].start && addr < p->maps.at[i].end)
				return &p->maps.at[i];
		proc = p->parent;
		cnt = p->parent_cnt;
	}
	return NULL;
}

static void mapping_add(struct usyms *u, u32 proc, const struct proc_map *m)
{
	struct mapping add = { m->start, m->end, m->off, file_index(u, u->procs.at[proc].pid, m) };
	const struct mapping *old = own_mapping(u, proc, m->start);

	/* A known mapping needs no second entry. */
	if (old && old->start == add.start && old->end == add.end && old->off == add.off && old->file == add.file)
		return;
	vec_push(&u->procs.at[proc].maps, add);
}

struct reading {
	struct usyms *u;
	u32 proc;
};

static void on_map(void *arg, const struct proc_map *m)
{
	struct reading *r = arg;

	mapping_add(r->u, r->proc, m);
}

static void proc_read(struct usyms *u, u32 proc)
{
	struct reading r = { u, proc };

	u->procs.at[proc].read_ns = now_ns();
	proc_maps_each(u->procs.at[proc].pid, on_map, &r);
}

void usyms_remember(struct usyms *u, u32 pid)
{
	u32 i = proc_find(u, pid);

	if (i == NONE)
		i = proc_add(u, pid, 0);
	if (!u->procs.at[i].read_ns && !u->procs.at[i].is_new)
		proc_read(u, i);
}

void usyms_add(struct usyms *u, u32 pid, const struct proc_map *m, u64 ns)
{
	u32 i = proc_find(u, pid);

	if (i == NONE) {
		i = proc_add(u, pid, ns);
		proc_read(u, i); /* its earlier mappings, if it is still alive */
	}
	mapping_add(u, i, m);
}

void usyms_fork(struct usyms *u, u32 pid, u32 parent, u64 ns)
{
	u32 i = proc_find(u, pid), from = proc_find(u, parent);
	struct proc *p;

	if (from == NONE) {
		usyms_remember(u, parent);
		from = proc_find(u, parent);
	}
	/* Notifications come from several CPUs: the child's first one may come before the fork. */
	if (i == NONE || u->procs.at[i].since_ns <= ns)
		i = proc_add(u, pid, ns);
	p = &u->procs.at[i];
	p->parent = from == i ? NONE : from;
	p->parent_cnt = u->procs.at[from].maps.cnt;
	p->is_new = true;
}

u32 usyms_proc_cnt(const struct usyms *u)
{
	return u->procs.cnt;
}

static bool lives(u32 pid)
{
	return !kill((pid_t)pid, 0) || errno != ESRCH;
}

/* Moves the processes that stay to their new index in `to` (NONE: dropped). */
static void procs_move(struct usyms *u, const u32 *to)
{
	u32 cnt = 0;

	for (u32 i = 0; i < u->procs.cnt; i++) {
		struct proc *p = &u->procs.at[i];

		if (to[i] == NONE) {
			vec_free(&p->maps);
			vec_free(&p->jit.syms);
			continue;
		}
		p->parent = p->parent == NONE ? NONE : to[p->parent];
		while (p->older != NONE && to[p->older] == NONE)
			p->older = u->procs.at[p->older].older;
		p->older = p->older == NONE ? NONE : to[p->older];
		cnt++;
	}
	for (u32 i = 0; i < u->procs.cnt; i++)
		if (to[i] != NONE)
			u->procs.at[to[i]] = u->procs.at[i];
	u->procs.cnt = cnt;
	htab_clear(&u->by_pid);
	for (u32 i = 0; i < cnt; i++)
		proc_index(u, i);
}

void usyms_forget(struct usyms *u, bool (*is_wanted)(void *arg, u32 pid), void *arg)
{
	u32 *to = xzalloc((u->procs.cnt + 1) * sizeof(*to)), cnt = 0;

	for (u32 i = 0; i < u->procs.cnt; i++) {
		struct proc *p = &u->procs.at[i];
		bool was_over = p->is_over;

		p->is_over = !(proc_find(u, p->pid) == i && lives(p->pid)) && !is_wanted(arg, p->pid);
		/* The processes whose mappings it inherited stay, too. */
		for (u32 k = was_over && p->is_over ? NONE : i; k != NONE && !to[k]; k = u->procs.at[k].parent)
			to[k] = 1;
	}
	for (u32 i = 0; i < u->procs.cnt; i++)
		to[i] = to[i] ? cnt++ : NONE;
	procs_move(u, to);
	free(to);
}

/* ---- files ---- */

static struct sym_elf *open_vdso(void)
{
	struct sym_elf *elf = NULL;
	int fd = proc_vdso_fd();
	char path[64];

	if (fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (sym_elf_open(path, &elf))
		elf = NULL;
	close(fd);
	return elf;
}

static struct sym_elf *file_open(struct usyms *u, u32 pid, const struct mapping *m)
{
	struct file *f = &u->files.at[m->file];
	char *path;
	int fd;

	if (f->is_tried)
		return f->elf;
	f->is_tried = true;
	if (str_eq(f->path, "[vdso]"))
		return f->elf = open_vdso();
	if (*f->path != '/' || str_starts(f->path, "//"))
		return NULL;
	fd = f->fd >= 0 ? f->fd : proc_mapped_fd(pid, m->start, m->end, f->path, f->ino);
	if (fd < 0)
		return NULL;
	path = xasprintf("/proc/self/fd/%d", fd);
	if (sym_elf_open_as(path, f->path, pid, &f->elf))
		f->elf = NULL;
	if (f->elf && u->with_lines && dbg_open_as(path, f->path, pid, &f->dbg))
		f->dbg = NULL;
	free(path);
	close(fd);
	u->held -= f->fd >= 0;
	f->fd = -1;
	return f->elf;
}

/* ---- code that was compiled at run time ---- */

static void read_perf_map(struct usyms *u, struct proc *p)
{
	char paths[2][96], *text;
	int fd = -1;
	struct stat st;

	snprintf(paths[0], sizeof(paths[0]), "/proc/%u/root/tmp/perf-%u.map", p->pid, proc_inner_pid(p->pid));
	snprintf(paths[1], sizeof(paths[1]), "/tmp/perf-%u.map", p->pid);
	for (u32 i = 0; i < 2 && fd < 0; i++)
		fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	/* Every user may write to /tmp: only a regular file of limited size is read. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= PERF_MAP_MAX && (u64)st.st_size != p->jit_size &&
	    !io_read_fd(fd, &text, NULL)) {
		p->jit_size = st.st_size;
		perfmap_parse(&u->arena, text, &p->jit);
		free(text);
	}
	close(fd);
}

static bool jit_name(struct usyms *u, struct proc *p, u64 addr, struct usym *out)
{
	const struct jit_sym *s = perfmap_find(&p->jit, addr);

	if (!s) {
		read_perf_map(u, p);
		s = perfmap_find(&p->jit, addr);
	}
	if (!s)
		return false;
	out->name = s->name;
	out->start = s->start;
	return true;
}

/* ---- from an address to its name ---- */

static const struct mapping *find_mapping(struct usyms *u, u32 *proc, u64 addr)
{
	const struct mapping *m = own_mapping(u, *proc, addr);
	struct proc *p = &u->procs.at[*proc];

	if (m)
		return m;
	if (!p->is_new && !(u->is_watched && p->read_ns) && now_ns() - p->read_ns > REREAD_NS) {
		proc_read(u, *proc);
		m = own_mapping(u, *proc, addr);
	}
	/* Process IDs are used again. */
	for (u32 i = u->procs.at[*proc].older; !m && i != NONE; i = u->procs.at[i].older) {
		m = own_mapping(u, i, addr);
		if (m)
			*proc = i;
	}
	return m;
}

static const struct mapping *mapping_of(struct usyms *u, u32 pid, u64 addr, u32 *proc)
{
	*proc = proc_find(u, pid);
	if (*proc == NONE) {
		usyms_remember(u, pid);
		*proc = proc_find(u, pid);
	}
	return find_mapping(u, proc, addr);
}

u32 usyms_frames(struct usyms *u, u32 pid, u64 addr, struct dbg_place *frames, u32 max)
{
	u32 proc;
	const struct mapping *m = pid && u->with_lines ? mapping_of(u, pid, addr, &proc) : NULL;
	struct sym_elf *elf = m ? file_open(u, pid, m) : NULL;
	u64 vaddr;

	if (!elf || !u->files.at[m->file].dbg || !sym_elf_addr(elf, addr - m->start + m->off, &vaddr))
		return 0;
	return dbg_frames_at(u->files.at[m->file].dbg, vaddr, frames, max);
}

bool usyms_find(struct usyms *u, u32 pid, u64 addr, struct usym *out)
{
	const struct sym_func *f;
	const struct mapping *m;
	struct sym_elf *elf;
	u64 vaddr;
	u32 proc;

	*out = (struct usym){};
	if (!pid)
		return false;
	m = mapping_of(u, pid, addr, &proc);
	if (m && *u->files.at[m->file].path)
		out->file = u->files.at[m->file].path;
	elf = m ? file_open(u, pid, m) : NULL;
	if (!elf)
		return jit_name(u, &u->procs.at[proc], addr, out) || out->file;
	if (!sym_elf_addr(elf, addr - m->start + m->off, &vaddr))
		return true;
	f = sym_elf_near(elf, vaddr);
	if (f) {
		out->name = f->name;
		out->start = addr - (vaddr - f->addr);
	}
	return true;
}
