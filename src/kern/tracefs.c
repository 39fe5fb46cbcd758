/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/io.h"
#include "kern/eventtypes.h"
#include "kern/kallsyms.h"
#include "kern/lines.h"
#include "kern/machine.h"

#define TRACEFS_MAGIC 0x74726163

/* <sys/mount.h> of glibc before 2.36 lacks these. */
enum { FSCONFIG_CMD_CREATE_ = 6, FSOPEN_CLOEXEC_ = 1, FSMOUNT_CLOEXEC_ = 1 };

static int open_mounted(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd < 0)
		return -errno;
	if (!fstatfs(fd, &st) && st.f_type == TRACEFS_MAGIC)
		return fd;
	close(fd);
	return -ENOENT;
}

static int mount_detached(void)
{
	int fs = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC_), fd = -1, err;

	if (fs < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE_, NULL, NULL, 0))
		fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC_, 0);
	err = -errno;
	close(fs);
	return fd < 0 ? err : fd;
}

int tracefs_dir(void)
{
	static int fd = -EAGAIN;
	char *fixture;
	int err;

	if (fd != -EAGAIN)
		return fd;
	fixture = machine_fixture("tracing");
	if (fixture) {
		fd = open(fixture, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		free(fixture);
		return fd;
	}
	fd = open_mounted("/sys/kernel/tracing");
	if (fd >= 0 || fd == -EACCES)
		return fd;
	/* Before the path in debugfs: opening that one makes the kernel mount tracefs there for all processes. */
	err = fd = mount_detached();
	if (fd < 0)
		fd = open_mounted("/sys/kernel/debug/tracing");
	/* "Not permitted" is a better message than "no such file". */
	if (fd == -ENOENT)
		fd = err;
	return fd;
}

int tracefs_read(const char *path, char **text, size_t *len)
{
	int dir = tracefs_dir();

	return dir < 0 ? dir : io_read_at(dir, path, text, len);
}

bool tracefs_can_make_events(void)
{
	int dir = tracefs_dir();

	return dir >= 0 && !faccessat(dir, TRACEFS_EVENTS_FILE, W_OK, 0);
}

/* ---- events ---- */

struct events_arg {
	const char *category, *event;
	tracefs_event_fn fn;
	void *arg;
	int found;
};

static bool event_line(void *arg, char *line, u32 len)
{
	struct events_arg *e = arg;
	char *colon = memchr(line, ':', len);

	if (!colon)
		return true;
	*colon = 0;
	if (glob_match(e->category, line) && glob_match(e->event, colon + 1)) {
		e->fn(e->arg, line, colon + 1);
		e->found++;
	}
	return true;
}

static bool uses_types;

void tracefs_use_types(void)
{
	uses_types = true;
}

static bool is_in_types(const char *category, const char *event)
{
	char *text = uses_types && !has_wildcard(category) && !has_wildcard(event) ? event_format_of_types(event) : NULL;

	free(text);
	return text;
}

int tracefs_each_event(const char *category, const char *event, tracefs_event_fn fn, void *arg)
{
	struct events_arg e = { category, event, fn, arg, 0 };
	int dir = tracefs_dir(), fd, err;

	if (dir < 0 && is_in_types(category, event)) {
		fn(arg, category, event);
		return 1;
	}
	if (dir < 0)
		return dir;
	/* One name needs no listing. */
	if (!has_wildcard(category) && !has_wildcard(event)) {
		err = tracefs_event_id(category, event);
		if (err < 0)
			return err == -EACCES ? err : 0;
		fn(arg, category, event);
		return 1;
	}
	/* One file with all names: ten times faster than to walk the directories, and without the events of ftrace itself, to
	 * which nothing can be attached. */
	fd = openat(dir, "available_events", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = lines_each_fd(fd, event_line, &e);
	close(fd);
	return err ? err : e.found;
}

/* A name becomes part of a path: it must not escape the directory. */
static bool is_plain_name(const char *s)
{
	return *s && *s != '.' && !strchr(s, '/') && strlen(s) < 256;
}

static int event_file(const char *category, const char *event, const char *file, char **text)
{
	char *path;
	int err;

	if (!is_plain_name(category) || !is_plain_name(event))
		return -ENOENT;
	path = xasprintf("events/%s/%s/%s", category, event, file);
	err = tracefs_read(path, text, NULL);
	free(path);
	return err;
}

int tracefs_event_id(const char *category, const char *event)
{
	char *text;
	int err = event_file(category, event, "id", &text);

	if (err)
		return err;
	err = atoi(text);
	free(text);
	return err > 0 ? err : -EINVAL;
}

int tracefs_event_format(const char *category, const char *event, char **text)
{
	if (tracefs_dir() >= 0 || !uses_types)
		return event_file(category, event, "format", text);
	*text = event_format_of_types(event);
	return *text ? 0 : tracefs_dir();
}

/* ---- functions ---- */

struct functions_arg {
	tracefs_function_fn fn;
	void *arg;
	u32 seen;
};

static bool function_line(void *arg, char *line, u32 len)
{
	struct functions_arg *f = arg;
	char *p = line, *module = NULL, *end;

	/* "name", "name [module]"; places whose code is gone have invented names. */
	while (*p && *p != ' ' && *p != '\t')
		p++;
	if (*p) {
		*p++ = 0;
		while (*p == ' ' || *p == '\t')
			p++;
		if (*p == '[' && (end = strchr(p, ']'))) {
			*end = 0;
			module = p + 1;
		}
	}
	if (!*line || str_starts(line, "__ftrace_invalid_address___"))
		return true;
	f->seen++;
	return f->fn(f->arg, line, module);
}

static bool function_symbol(void *arg, const struct ksym *sym, char type)
{
	struct functions_arg *f = arg;

	return ksym_is_text(type) ? f->fn(f->arg, sym->name, sym->module) : true;
}

static const char *functions_path;

void tracefs_set_functions(const char *path)
{
	functions_path = path;
}

bool tracefs_functions_are_set(void)
{
	return functions_path;
}

static int open_functions(void)
{
	int dir = functions_path ? AT_FDCWD : tracefs_dir();

	if (dir < 0 && !functions_path)
		return dir;
	return openat(dir, functions_path ? functions_path : "available_filter_functions", O_RDONLY | O_CLOEXEC);
}

/* The kernel looks up all names at each read, which takes tens of milliseconds. A second request is likely to be followed by more
 * (a script with many wildcards), so from then on the list is kept in memory; after a single request it is not. */
static bool functions_again(struct functions_arg *f)
{
	static char *list;
	static size_t len;
	static u32 asked;
	int fd;

	if (!asked++)
		return false;
	if (!list && (fd = open_functions()) >= 0) {
		if (io_read_fd(fd, &list, &len))
			list = NULL;
		close(fd);
	}
	if (list)
		lines_each_text(list, len, function_line, f);
	return f->seen;
}

int tracefs_each_function(tracefs_function_fn fn, void *arg)
{
	struct functions_arg f = { fn, arg, 0 };
	int fd, err;

	if (functions_again(&f))
		return 0;
	fd = open_functions();
	if (fd >= 0) {
		err = lines_each_fd(fd, function_line, &f);
		close(fd);
		if (f.seen || functions_path)
			return err;
	}
	return kallsyms_each(function_symbol, &f);
}

struct functions_at_arg {
	bool (*fn)(void *arg, const char *name, u64 at);
	void *arg;
};

/* "ffffffff81000004 name", "ffffffffc0000004 name [module]" */
static bool function_at_line(void *arg, char *line, u32 len)
{
	struct functions_at_arg *f = arg;
	char *name;
	u64 at = strtoull(line, &name, 16);

	if (*name != ' ')
		return true;
	name[1 + strcspn(name + 1, " \t")] = 0;
	return f->fn(f->arg, name + 1, at);
}

int tracefs_each_function_at(bool (*fn)(void *arg, const char *name, u64 at), void *arg)
{
	struct functions_at_arg f = { fn, arg };
	int dir = tracefs_dir(), fd, err;

	if (dir < 0)
		return dir;
	if (functions_path) /* of another machine */
		return -ENOENT;
	fd = openat(dir, "available_filter_functions_addrs", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = lines_each_fd(fd, function_at_line, &f);
	close(fd);
	return err;
}

void tracefs_parse_functions(const char *text, size_t len, tracefs_function_fn fn, void *arg)
{
	struct functions_arg f = { fn, arg, 0 };

	lines_each_text(text, len, function_line, &f);
}
