/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/trust.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sbuf.h"

static void add(struct trust *t, u32 user)
{
	if (t->cnt < TRUSTED_MAX)
		t->users[t->cnt++] = user;
}

void trust_init(struct trust *t)
{
	const char *sudo = getenv("SUDO_UID");
	char *end;

	*t = (struct trust){};
	add(t, 0);
	add(t, geteuid());
	if (sudo && *sudo && !geteuid()) {
		unsigned long user = strtoul(sudo, &end, 10);

		if (!*end && user < UINT32_MAX)
			add(t, (u32)user);
	}
}

void trust_owner_of(struct trust *t, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode))
		add(t, st.st_uid);
}

static bool is_trusted(const struct trust *t, u32 user)
{
	for (u32 i = 0; i < t->cnt; i++)
		if (t->users[i] == user)
			return true;
	return false;
}

static const char *unsafe(const struct trust *t, const struct stat *st, bool is_above)
{
	bool is_sticky = is_above && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;

	if (!is_trusted(t, st->st_uid))
		return "belongs to another user";
	if (S_ISLNK(st->st_mode) || is_sticky)
		return NULL;
	if (st->st_mode & S_IWOTH)
		return "can be written by every user";
	if (st->st_mode & S_IWGRP && st->st_gid && st->st_gid != st->st_uid)
		return "can be written by its group";
	return NULL;
}

/* The parts of an absolute path, from the root on. */
static bool walk(const struct trust *t, const char *path, struct sbuf *why)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	for (size_t i = 1; i <= len && i < sizeof(part); i++) {
		const char *wrong;
		struct stat st;

		if (i > 1 && i < len && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (lstat(part, &st))
			return true; /* whoever opens it says why */
		wrong = unsafe(t, &st, i < len);
		if (wrong) {
			sbuf_printf(why, "%s %s", part, wrong);
			return false;
		}
	}
	return true;
}

bool trust_path(const struct trust *t, const char *path, struct sbuf *why)
{
	char full[PATH_MAX], *real = realpath(path, NULL);
	bool ok;

	if (!real)
		return true;
	/* As it is written, for the links on the way, and where it leads. */
	if (*path == '/')
		snprintf(full, sizeof(full), "%s", path);
	else if (getcwd(full, sizeof(full)))
		snprintf(full + strlen(full), sizeof(full) - strlen(full), "/%s", path);
	else
		snprintf(full, sizeof(full), "%s", real);
	ok = walk(t, full, why) && walk(t, real, why);
	free(real);
	return ok;
}
