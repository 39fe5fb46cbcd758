/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "probe/user.h"
#include "sym/archive.h"
#include "sym/ldcache.h"
#include "sym/proc.h"

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

/* The prefix that makes a path of the process valid for us: "" or "/proc/PID/root". In the arena. */
static const char *root_of(struct site_sink *sink, u32 pid)
{
	return other_mounts(pid) ? arena_printf(sink->arena, "/proc/%u/root", pid) : "";
}

static void add_file(struct site_sink *sink, user_files *out, const char *root, const char *shown)
{
	struct user_file f = { .shown = arena_strdup(sink->arena, shown) };

	f.path = *root && *shown == '/' ? arena_printf(sink->arena, "%s%s", root, shown) : f.shown;
	f.whole = archive_name_len(f.path) ? arena_strndup(sink->arena, f.path, archive_name_len(f.path)) : f.path;
	vec_push(out, f);
}

/* ---- what is mapped ---- */

struct mapped {
	struct site_sink *sink;
	user_files *out;
	u32 pid;
	const char *root;
	vec(struct stat) seen; /* one file may have several paths */
};

static void add_mapped(void *arg, const struct proc_map *m)
{
	static const char gone[] = " (deleted)";
	struct mapped *w = arg;
	size_t len = m->path_len;
	struct user_file f;
	struct stat st;

	if (!m->ino || *m->path != '/')
		return;
	if (len >= sizeof(gone) && str_eq(m->path + len + 1 - sizeof(gone), gone)) {
		/* A file that was replaced or removed while it runs can still be reached through its mapping. */
		f.shown = arena_strndup(w->sink->arena, m->path, len + 1 - sizeof(gone));
		f.path = arena_printf(w->sink->arena, "/proc/%u/map_files/%llx-%llx", w->pid, (unsigned long long)m->start,
				      (unsigned long long)m->end);
	} else {
		f.shown = arena_strdup(w->sink->arena, m->path);
		f.path = *w->root ? arena_printf(w->sink->arena, "%s%s", w->root, m->path) : f.shown;
	}
	f.whole = f.path;
	if (stat(f.path, &st) || !S_ISREG(st.st_mode))
		return;
	vec_for(s, &w->seen)
		if (s->st_dev == st.st_dev && s->st_ino == st.st_ino)
			return;
	vec_push(&w->seen, st);
	vec_push(w->out, f);
}

static void look_at_process(struct mapped *w, u32 pid)
{
	w->pid = pid;
	w->root = root_of(w->sink, pid);
	proc_maps_each(pid, add_mapped, w); /* one that has ended has none */
}

void user_files_mapped(struct site_sink *sink, user_files *out)
{
	struct mapped w = { .sink = sink, .out = out };
	struct dirent *ent;
	DIR *dir;

	if (sink->target->filter_pid) {
		look_at_process(&w, sink->target->filter_pid);
	} else if ((dir = opendir("/proc"))) {
		while ((ent = readdir(dir)))
			if (ent->d_name[0] >= '1' && ent->d_name[0] <= '9' && atol(ent->d_name) != getpid())
				look_at_process(&w, (u32)atol(ent->d_name));
		closedir(dir);
	}
	vec_free(&w.seen);
}

void user_files_exe(struct site_sink *sink, user_files *out)
{
	char exe[64], path[4096];
	struct user_file f;
	ssize_t n;

	snprintf(exe, sizeof(exe), "/proc/%u/exe", sink->target->filter_pid);
	n = readlink(exe, path, sizeof(path) - 1);
	if (n <= 0) {
		sink->why = errno == EACCES ?
			arena_printf(sink->arena, "This user cannot look into process %u without CAP_SYS_PTRACE",
				     sink->target->filter_pid) :
			arena_printf(sink->arena, "The program of process %u cannot be found", sink->target->filter_pid);
		return;
	}
	path[n] = 0;
	/* The link leads to the file itself, whatever namespace it is in and whether it still has that name. */
	f.shown = arena_strdup(sink->arena, path);
	f.path = f.whole = arena_strdup(sink->arena, exe);
	vec_push(out, f);
}

/* ---- by name ---- */

static void add_globbed(struct site_sink *sink, user_files *out, const char *pattern)
{
	const char *root = *pattern == '/' ? root_of(sink, sink->target->filter_pid) : "";
	const char *full = arena_printf(sink->arena, "%s%s", root, pattern);
	glob_t g;

	if (!glob(full, 0, NULL, &g)) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			add_file(sink, out, root, g.gl_pathv[i] + strlen(root));
		globfree(&g);
	}
	if (!out->cnt)
		sink->why = arena_printf(sink->arena, "There is no file %s", pattern);
}

void user_files_find(struct site_sink *sink, user_files *out, const char *text, struct diag *d)
{
	const char *root;
	char *found;
	u32 hits;

	if (str_eq(text, "*")) {
		user_files_mapped(sink, out);
		return;
	}
	if (has_wildcard(text)) {
		add_globbed(sink, out, text);
		return;
	}
	root = root_of(sink, sink->target->filter_pid);
	if (strchr(text, '/')) {
		add_file(sink, out, root, text);
	} else if (str_starts(text, "lib") && (found = sym_find_library(text, sink->target->filter_pid))) {
		add_file(sink, out, root, found);
		free(found);
	} else if ((found = sym_find_program(text, root, &hits))) {
		add_file(sink, out, root, found);
		if (hits > 1 && d)
			diag_warn(d, sink->ap->span, W_MISSING_PROBE, "attaching to %s target file '%s' but matched %u binaries",
				  provider_find(sink->ap->parts[0])->name, found, hits);
		free(found);
	} else {
		sink->why = arena_printf(sink->arena, "There is no %s '%s'",
					 str_starts(text, "lib") ? "library" : "program in PATH called", text);
	}
}

void user_files_failed(struct site_sink *sink, const user_files *files, const struct user_file *f, int err)
{
	/* Of many files, those that are not programs are skipped. */
	if (files->cnt != 1)
		return;
	if (err == -ENOEXEC)
		sink->why = arena_printf(sink->arena, "%s is not a program or library of this machine", f->shown);
	else if (err == -EILSEQ)
		sink->why = arena_printf(sink->arena, "%.*s is not a ZIP archive", (int)archive_name_len(f->shown), f->shown);
	else if (err == -ENOTSUP)
		sink->why = arena_printf(sink->arena, "%s is compressed, so no process can run it from there", f->shown);
	else if (err == -ENOENT && archive_name_len(f->shown) && !access(f->whole, F_OK))
		sink->why = arena_printf(sink->arena, "There is no %s", f->shown);
	else
		sink->why = arena_printf(sink->arena, "%s: %s", f->shown, strerror(-err));
}
