/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* A number at *p, which must be followed by `end`; *p moves behind that. */
static bool number(const char **p, const char *limit, u32 base, char end, u64 *v)
{
	const char *s = *p;

	for (*v = 0; s < limit; s++) {
		u32 d = *s >= '0' && *s <= '9' ? (u32)(*s - '0') : *s >= 'a' && *s <= 'f' ? (u32)(*s - 'a') + 10 : 99;

		if (d >= base)
			break;
		if (*v > (UINT64_MAX - d) / base)
			return false;
		*v = *v * base + d;
	}
	if (s == *p || s == limit || *s != end)
		return false;
	*p = s + 1;
	return true;
}

bool proc_map_parse(const char *line, size_t len, struct proc_map *out)
{
	const char *p = line, *limit = line + len;
	u64 major, minor;

	*out = (struct proc_map){};
	if (!number(&p, limit, 16, '-', &out->start) || !number(&p, limit, 16, ' ', &out->end) || out->end <= out->start)
		return false;
	if (limit - p < 5 || p[4] != ' ')
		return false;
	out->is_exec = p[2] == 'x';
	p += 5;
	if (!number(&p, limit, 16, ' ', &out->off) || !number(&p, limit, 16, ':', &major) || !number(&p, limit, 16, ' ', &minor))
		return false;
	out->dev = major << 32 | (minor & 0xffffffff);
	/* The inode is the last word of a line without path; a blank follows all the same. */
	if (!number(&p, limit, 10, ' ', &out->ino)) {
		for (; p < limit; p++) {
			if (*p < '0' || *p > '9')
				return false;
			out->ino = 10 * out->ino + (u64)(*p - '0');
		}
	}
	while (p < limit && *p == ' ')
		p++;
	out->path = p;
	out->path_len = limit - p;
	return true;
}

static int each_map(const char *path, proc_map_fn fn, void *arg)
{
	char *text;
	size_t len;
	int err = io_read_file(path, &text, &len);

	if (err)
		return err;
	for (char *line = text, *end; line < text + len; line = end + 1) {
		struct proc_map m;

		end = memchr(line, '\n', text + len - line);
		if (!end)
			break;
		*end = 0;
		if (proc_map_parse(line, end - line, &m))
			fn(arg, &m);
	}
	free(text);
	return len ? 0 : -ESRCH; /* kernel threads and zombies have none */
}

struct exec_maps {
	proc_map_fn fn;
	void *arg;
};

static void if_exec(void *arg, const struct proc_map *m)
{
	const struct exec_maps *e = arg;

	if (m->is_exec)
		e->fn(e->arg, m);
}

int proc_maps_each(u32 pid, proc_map_fn fn, void *arg)
{
	struct exec_maps e = { fn, arg };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	return each_map(path, if_exec, &e);
}

struct map_search {
	u64 addr;
	struct proc_map found;
};

static void if_there(void *arg, const struct proc_map *m)
{
	struct map_search *s = arg;

	if (s->addr >= m->start && s->addr < m->end) {
		s->found = *m;
		s->found.path = NULL;
	}
}

bool proc_own_map(const void *at, struct proc_map *out)
{
	struct map_search s = { .addr = (uintptr_t)at };

	each_map("/proc/self/maps", if_there, &s);
	*out = s.found;
	return out->end;
}

u32 proc_inner_pid(u32 pid)
{
	char path[64], *text, *at, *end;
	u32 inner = pid;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (io_read_file(path, &text, NULL))
		return pid;
	at = strstr(text, "\nNSpid:");
	if (at) {
		/* From the outermost namespace to the innermost. */
		at += strlen("\nNSpid:");
		for (;; at = end) {
			unsigned long v = strtoul(at, &end, 10);

			if (end == at || (*end != '\t' && *end != '\n'))
				break;
			inner = (u32)v;
			if (*end == '\n')
				break;
		}
	}
	free(text);
	return inner;
}

/* Opens a file and compares its inode: stacked file systems show the same inode, but not the same device. */
static bool is_same(int fd, u64 ino)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && (!ino || (u32)st.st_ino == (u32)ino);
}

int proc_mapped_fd(u32 pid, u64 start, u64 end, const char *path, u64 ino)
{
	char *ways[] = {
		xasprintf("/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start, (unsigned long long)end),
		xasprintf("/proc/%u/root%s", pid, path),
		xstrdup(path),
	};
	int fd = -1;

	for (u32 i = 0; i < ARRAY_CNT(ways); i++) {
		if (fd < 0) {
			fd = open(ways[i], O_PATH | O_CLOEXEC);
			if (fd >= 0 && !is_same(fd, ino)) {
				close(fd);
				fd = -1;
			}
		}
		free(ways[i]);
	}
	return fd;
}

int proc_vdso_fd(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR), start = 0, end = 0;
	char *text, *line;
	int fd = -1;

	if (!base || io_read_file("/proc/self/maps", &text, NULL))
		return -1;
	line = strstr(text, "[vdso]");
	while (line && line > text && line[-1] != '\n')
		line--;
	if (line && sscanf(line, "%lx-%lx", &start, &end) == 2 && start == base)
		fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && io_write_all(fd, (void *)base, end - start)) {
		close(fd);
		fd = -1;
	}
	free(text);
	return fd;
}
