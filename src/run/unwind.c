/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/smap.h"
#include "image/uapi.h"
#include "image/unwind.h"
#include "sym/cfi.h"
#include "sym/ldcache.h"
#include "sym/proc.h"

#define TRIES 200     /* to get memory for an element … */
#define TRY_NS 50000  /* … with this between them */
#define NEEDED_MAX 64 /* libraries whose tables are made beforehand */

struct proc {
	u32 pid;
	u32 part_cnt;  /* that are in the map */
	bool is_stale; /* its mappings are to be read anew */
};

struct unwind {
	struct session *s;
	struct arena arena;
	struct smap by_id;             /* "DEVICE INODE PATH" → index + 1 into files */
	vec(struct unwind_file) files; /* those without tables have no .eh_frame, or cannot be read */
	vec(struct proc) procs;
	u32 pid;                         /* that is being read … */
	vec(struct unwind_mapping) maps; /* … and what was found */
	u32 chunk_cnt;                   /* next number; 0 is none */
	u8 *chunk;                       /* of rows, being filled */
	u32 row_cnt;                     /* in it */
	u64 total_rows;
	bool is_full, told_full, told_many;
};

_Static_assert(sizeof(struct unwind_part) == UNWIND_CHUNK_SZ, "a part is as large as a chunk");

static PRINTF_LIKE(2, 3) void warn(struct unwind *u, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	out_message(&u->s->out, DIAG_WARNING, NULL, NULL, sbuf_str(&b));
	sbuf_release(&b);
}

/* The kernel keeps only a few elements in stock, and gets new ones when nothing else is to be done. */
static bool put(struct unwind *u, u32 map, const void *key, const void *value)
{
	struct timespec nap = { .tv_nsec = TRY_NS };
	int err = -ENOMEM;

	for (u32 i = 0; err == -ENOMEM && i < TRIES; i++) {
		if (i)
			nanosleep(&nap, NULL);
		err = u->s->obj->ops->map_update(u->s->obj, map, key, value, BPF_ANY);
	}
	return !err;
}

/* ---- tables of files ---- */

static void put_chunk(struct unwind *u, u64 number, const void *bytes)
{
	if (number >= UNWIND_CHUNKS_MAX || !put(u, u->s->image->unwind.chunks, &number, bytes))
		u->is_full = true;
}

static void end_rows(struct unwind *u)
{
	if (!u->row_cnt)
		return;
	put_chunk(u, u->chunk_cnt++, u->chunk);
	memset(u->chunk, 0, UNWIND_CHUNK_SZ);
	u->row_cnt = 0;
}

static u64 pack(const struct cfi_row *r, u32 low)
{
	return (u64)low << UNWIND_PC | (u64)r->cfa << UNWIND_CFA | (u64)r->bp << UNWIND_BP |
		(u64)(u16)r->bp_off << UNWIND_BP_OFF | (u64)(u32)r->cfa_off << UNWIND_CFA_OFF;
}

/* The rows of the block at `start`, of which at[0] is in force there. Returns the index's entry. */
static u32 put_block(struct unwind *u, const struct cfi_row *at, u32 cnt, u64 start)
{
	u64 *rows = (u64 *)u->chunk, first = pack(at, 0);

	/* Long functions have blocks in which nothing changes: the row is the last one that was put. */
	if (cnt == 1 && u->row_cnt && rows[u->row_cnt - 1] == first)
		return u->chunk_cnt << UNWIND_ROW_BITS | (u->row_cnt - 1);
	if (u->row_cnt + cnt > UNWIND_ROWS)
		end_rows(u);
	for (u32 i = 0; i < cnt; i++)
		rows[u->row_cnt + i] = i ? pack(&at[i], (u32)(at[i].pc - start)) : first;
	u->row_cnt += cnt;
	u->total_rows += cnt;
	return (cnt - 1) << UNWIND_POS_BITS | u->chunk_cnt << UNWIND_ROW_BITS | (u->row_cnt - cnt);
}

/* The table for the addresses from base on. Rows go to new chunks, the index behind them. */
static void make_table(struct unwind *u, const struct cfi *c, struct unwind_table *t, u64 base)
{
	static const struct cfi_row none = { .cfa = CFI_NONE };
	u32 *entries = xzalloc(ALIGN_UP(t->blocks, UNWIND_ENTRIES) * sizeof(*entries)), at = 0;

	for (u32 i = 0; i < t->blocks; i++) {
		u64 start = base + (u64)i * UNWIND_BLOCK;
		u32 end;

		while (at < c->rows.cnt && c->rows.at[at].pc <= start)
			at++;
		for (end = at; end < c->rows.cnt && c->rows.at[end].pc - start < UNWIND_BLOCK; end++)
			;
		if (at) {
			entries[i] = put_block(u, &c->rows.at[at - 1], end - at + 1, start);
		} else { /* before the first function */
			struct cfi_row few[UNWIND_BLOCK] = { none };

			for (u32 k = at; k < end && k + 1 < UNWIND_BLOCK; k++)
				few[k + 1] = c->rows.at[k];
			entries[i] = put_block(u, few, MIN(end + 1, UNWIND_BLOCK), start);
		}
	}
	end_rows(u);
	t->index = u->chunk_cnt;
	for (u32 i = 0; i < t->blocks; i += UNWIND_ENTRIES) {
		u8 chunk[UNWIND_CHUNK_SZ] = {};

		memcpy(chunk, entries + i, UNWIND_ENTRIES * sizeof(*entries));
		put_chunk(u, u->chunk_cnt++, chunk);
	}
	free(entries);
}

/* A file that is opened by a path of ours, and called `name`. */
static void read_file(struct unwind *u, struct unwind_file *f, const char *path, const char *name)
{
	struct objfile o;
	struct cfi c;
	u32 cnt = 0;

	if (u->is_full || objfile_open(&o, path, 0, 0))
		return;
	cfi_read(&o, &c);
	if (!c.func_cnt)
		warn(u, "%s has no unwind tables (.eh_frame): dw_ustack follows frame pointers in its code", name);
	for (u32 i = 0; i < o.ph_cnt && c.func_cnt && cnt < UNWIND_TABLES; i++) {
		const Elf64_Phdr *ph = &o.ph[i];
		u64 base = ph->p_vaddr & ~(u64)(UNWIND_BLOCK - 1);
		struct unwind_table t = { ph->p_offset, ph->p_filesz, ph->p_offset - (ph->p_vaddr - base) };

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz || ph->p_filesz > o.len)
			continue;
		t.blocks = (u32)((ph->p_vaddr - base + ph->p_filesz + UNWIND_BLOCK - 1) >> UNWIND_BLOCK_BITS);
		make_table(u, &c, &t, base);
		if (!u->is_full)
			f->tables[cnt++] = t;
	}
	if (u->is_full && !u->told_full)
		warn(u,
		     "the memory for unwind tables is full: dw_ustack stacks end at functions of %s and of files loaded later; trace fewer processes",
		     name);
	u->told_full |= u->is_full;
	cfi_release(&c);
	objfile_release(&o);
}

/* The file of a descriptor, which is closed. */
static struct unwind_file *file_of(struct unwind *u, u64 dev, u64 ino, const char *name, int fd)
{
	char *key = xasprintf("%llx %llu %s", (unsigned long long)dev, (unsigned long long)ino, name), path[64];
	uintptr_t i = (uintptr_t)smap_get(&u->by_id, key);

	if (!i && fd >= 0) {
		vec_push(&u->files, (struct unwind_file){});
		i = u->files.cnt;
		smap_put(&u->by_id, arena_strdup(&u->arena, key), (void *)i);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		read_file(u, &u->files.at[i - 1], path, name);
		/* The kernel has 20 bits for the minor number of a device. */
		if (!put(u, u->s->image->unwind.files, &(struct unwind_file_key){ dev >> 32 << 20 | (dev & 0xfffff), ino },
			 &u->files.at[i - 1]))
			u->is_full = true;
	}
	if (fd >= 0)
		close(fd);
	free(key);
	return i ? &u->files.at[i - 1] : NULL;
}

static struct unwind_file *vdso_file(struct unwind *u)
{
	struct unwind_file *f = file_of(u, 0, 0, "[vdso]", -1);

	return f ? f : file_of(u, 0, 0, "[vdso]", proc_vdso_fd());
}

/* ---- processes ---- */

static void on_map(void *arg, const struct proc_map *m)
{
	struct unwind *u = arg;
	struct unwind_mapping add = { .start = m->start, .len = m->end - m->start },
			      *last = u->maps.cnt ? &u->maps.at[u->maps.cnt - 1] : NULL;
	const struct unwind_file *f = NULL;

	if (str_eq(m->path, "[vdso]")) {
		f = vdso_file(u);
	} else if (str_eq(m->path, "[uprobes]")) {
		add.index = UNWIND_FOR_UPROBES;
	} else if (*m->path == '/' && !str_starts(m->path, "//")) {
		f = file_of(u, m->dev, m->ino, m->path, -1);
		f = f ? f : file_of(u, m->dev, m->ino, m->path, proc_mapped_fd(u->pid, m->start, m->end, m->path, m->ino));
	}
	for (u32 i = 0; f && i < UNWIND_TABLES; i++) {
		const struct unwind_table *t = &f->tables[i];

		if (!t->size || m->off + add.len <= t->off || m->off >= t->off + t->size)
			continue;
		add.index = t->index;
		add.blocks = t->blocks;
		add.bias = m->start - m->off + t->base;
	}
	/* What is compiled at run time lies in many small pieces. */
	if (last && !last->blocks && !add.blocks && last->index == add.index && last->start + last->len == add.start)
		last->len += add.len;
	else
		vec_push(&u->maps, add);
}

/* What was read, to the map. */
static void put_proc(struct unwind *u, struct proc *p)
{
	u32 cnt = MIN(u->maps.cnt, UNWIND_PARTS * UNWIND_MAPPINGS), parts = (cnt + UNWIND_MAPPINGS - 1) / UNWIND_MAPPINGS;
	struct unwind_part part = {};

	if (cnt < u->maps.cnt && !u->told_many)
		warn(u, "process %u has %u executable mappings: dw_ustack uses the first %u, and its stacks end in the others",
		     p->pid, u->maps.cnt, cnt);
	u->told_many |= cnt < u->maps.cnt;
	/* The first part last, because it leads to the others. */
	for (u32 i = parts; i-- > 0;) {
		struct unwind_part_key key = { p->pid, i };

		part.cnt = MIN(cnt - i * UNWIND_MAPPINGS, UNWIND_MAPPINGS);
		memcpy(part.maps, u->maps.at + i * UNWIND_MAPPINGS, part.cnt * sizeof(*part.maps));
		for (u32 k = 1; k < UNWIND_PARTS && !i; k++)
			part.later[k - 1] = k < parts ? u->maps.at[k * UNWIND_MAPPINGS].start : UINT64_MAX;
		if (!put(u, u->s->image->unwind.procs, &key, &part) && !u->told_many) {
			warn(u,
			     "the memory for process mappings is full: dw_ustack cannot unwind process %u; trace fewer processes",
			     p->pid);
			u->told_many = true;
		}
	}
	for (u32 i = parts; i < p->part_cnt; i++)
		u->s->obj->ops->map_delete(u->s->obj, u->s->image->unwind.procs, &(struct unwind_part_key){ p->pid, i }, 1);
	p->part_cnt = parts;
}

static int read_proc(struct unwind *u, struct proc *p)
{
	int err;

	p->is_stale = false;
	u->maps.cnt = 0;
	u->pid = p->pid;
	err = proc_maps_each(p->pid, on_map, u);
	/* One that has ended keeps what it had: events of its may be under way. */
	if (u->maps.cnt)
		put_proc(u, p);
	return err;
}

static struct proc *find_proc(struct unwind *u, u32 pid)
{
	vec_for(p, &u->procs)
		if (p->pid == pid)
			return p;
	return NULL;
}

int unwind_add(struct unwind *u, u32 pid)
{
	unwind_expect(u, pid);
	return read_proc(u, find_proc(u, pid));
}

void unwind_expect(struct unwind *u, u32 pid)
{
	if (!find_proc(u, pid))
		vec_push(&u->procs, (struct proc){ .pid = pid });
}

void unwind_mapped(struct unwind *u, u32 pid)
{
	struct proc *p = find_proc(u, pid);

	if (p)
		p->is_stale = true;
}

void unwind_forked(struct unwind *u, u32 pid, u32 parent)
{
	if (find_proc(u, parent))
		unwind_expect(u, pid);
	unwind_mapped(u, pid);
}

void unwind_refresh(struct unwind *u)
{
	vec_for(p, &u->procs)
		if (p->is_stale)
			read_proc(u, p);
}

/* ---- beforehand ---- */

/* The name that an entry of the dynamic section leads to: DT_NEEDED of the given number. */
static const char *needed(struct objfile *o, u32 n)
{
	struct bytes dyn = objfile_section_named(o, ".dynamic"), str = objfile_section_named(o, ".dynstr");
	const Elf64_Dyn *d = (const void *)dyn.at;

	if ((uintptr_t)d & 7)
		return NULL;
	for (u32 i = 0; i < dyn.len / sizeof(*d) && d[i].d_tag != DT_NULL; i++)
		if (d[i].d_tag == DT_NEEDED && !n--)
			return bytes_str(str, d[i].d_un.d_val);
	return NULL;
}

void unwind_prepare(struct unwind *u, const char *path)
{
	vec(char *) paths = {};

	vdso_file(u);
	vec_push(&paths, realpath(path, NULL));
	for (u32 i = 0; i < paths.cnt && paths.at[i]; i++) {
		struct proc_map m;
		struct objfile o;
		const char *name;

		if (objfile_open(&o, paths.at[i], 0, 0))
			continue;
		if (proc_own_map(o.data, &m)) /* as /proc/PID/maps will call it */
			file_of(u, m.dev, m.ino, paths.at[i], open(paths.at[i], O_PATH | O_CLOEXEC));
		for (u32 k = 0; paths.cnt < NEEDED_MAX && (name = needed(&o, k)); k++) {
			char *lib = sym_find_library(name, 0), *real = lib ? realpath(lib, NULL) : NULL;
			bool is_new = real;

			vec_for(p, &paths)
				is_new &= !real || !str_eq(*p, real);
			if (is_new)
				vec_push(&paths, real);
			else
				free(real);
			free(lib);
		}
		objfile_release(&o);
	}
	vec_for(p, &paths)
		free(*p);
	vec_free(&paths);
}

/* ---- */

struct unwind *unwind_new(struct session *s)
{
	struct unwind *u;

	if (!s->image->unwind.chunks)
		return NULL;
	u = xzalloc(sizeof(*u));
	u->s = s;
	u->chunk_cnt = 1;
	u->chunk = xzalloc(UNWIND_CHUNK_SZ);
	arena_init(&u->arena);
	return u;
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	vec_free(&u->files);
	vec_free(&u->procs);
	vec_free(&u->maps);
	smap_release(&u->by_id);
	arena_release(&u->arena);
	free(u->chunk);
	free(u);
}
