/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/ids.h"

#include <fts.h>
#include <mntent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/glob.h"
#include "base/vec.h"

/* The file is read directly: getpwuid() would load libraries, which a static program cannot do. */
void ids_username(void *self, u32 uid, struct sbuf *out)
{
	static vec(struct user {
		u32 uid;
		const char *name;
	}) users;
	static bool is_read;

	if (!is_read) {
		FILE *f = fopen("/etc/passwd", "re");
		struct passwd *p;

		while (f && (p = fgetpwent(f)))
			vec_push(&users, ((struct user){ p->pw_uid, xasprintf("%s", p->pw_name) }));
		if (f)
			fclose(f);
		is_read = true;
	}
	vec_for(u, &users)
		if (u->uid == uid) {
			sbuf_puts(out, u->name);
			return;
		}
}

struct hierarchy {
	bool is_v2;
	char *name, *root;
};

typedef vec(struct hierarchy) hierarchies;

/* Version 1: as its mount point is called, which is after its controllers. */
static char *hierarchy_name(const char *dir)
{
	const char *last = strrchr(dir, '/');

	return xasprintf("%s", last ? last + 1 : dir);
}

/* Version 2 first, the others by name. */
static int compare_hierarchies(const void *a, const void *b)
{
	const struct hierarchy *x = a, *y = b;

	return x->is_v2 != y->is_v2 ? y->is_v2 - x->is_v2 : strcmp(x->name, y->name);
}

static const hierarchies *all_hierarchies(void)
{
	static hierarchies all;
	static bool is_read;
	struct mntent *m;
	FILE *f;

	if (is_read)
		return &all;
	is_read = true;
	f = setmntent("/proc/self/mounts", "re");
	while (f && (m = getmntent(f))) {
		bool is_v2 = str_eq(m->mnt_type, "cgroup2");

		if (is_v2 || str_eq(m->mnt_type, "cgroup"))
			vec_push(&all,
				 ((struct hierarchy){ is_v2, is_v2 ? xasprintf("unified") : hierarchy_name(m->mnt_dir),
						      xasprintf("%s", m->mnt_dir) }));
	}
	if (f)
		endmntent(f);
	if (all.cnt)
		qsort(all.at, all.cnt, sizeof(*all.at), compare_hierarchies);
	return &all;
}

/* The path below `root` of the directory with this inode number, which is the cgroup's id; NULL if there is none. */
static char *find_by_inode(const char *root, u64 id)
{
	char *const roots[] = { (char *)root, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	char *path = NULL;
	FTSENT *e;

	while (fts && !path && (e = fts_read(fts)))
		if (e->fts_info == FTS_D && e->fts_statp->st_ino == id)
			path = xasprintf("%s", e->fts_path[strlen(root)] ? e->fts_path + strlen(root) : "/");
	if (fts)
		fts_close(fts);
	return path;
}

static const char *find_path(const struct hierarchy *h, u64 id)
{
	static vec(struct found {
		const struct hierarchy *h;
		u64 id;
		char *path;
	}) cache;
	char *path;

	vec_for(f, &cache)
		if (f->h == h && f->id == id)
			return f->path;
	path = find_by_inode(h->root, id);
	if (path) /* a missing one may be created later */
		vec_push(&cache, ((struct found){ h, id, path }));
	return path;
}

void ids_cgroup_path(void *self, u64 id, const char *pattern, struct sbuf *out)
{
	bool any = false;

	vec_for(h, all_hierarchies()) {
		const char *path;

		if (pattern && !glob_match(pattern, h->name))
			continue;
		path = find_path(h, id);
		if (!path)
			continue;
		if (any)
			sbuf_putc(out, ',');
		sbuf_puts(out, h->name);
		sbuf_putc(out, ':');
		sbuf_puts(out, path);
		any = true;
	}
}
