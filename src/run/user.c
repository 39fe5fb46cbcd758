/* SPDX-License-Identifier: GPL-2.0-only */
/* The files are read directly: getpwnam() would load libraries, which a static program cannot do. */
#include "run/user.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "image/need.h"
#include "kern/machine.h"
#include "run/privilege.h"

static bool read_uid(const char *text, u32 *uid)
{
	char *end;
	unsigned long v;

	if (!isdigit((u8)*text))
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	*uid = (u32)v;
	return !*end && !errno && v < UINT32_MAX; /* the last one means "unchanged" */
}

static bool read_passwd(struct user *u, const char *text, bool is_number)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p = NULL;

	while (f && (p = fgetpwent(f)))
		if (str_eq(p->pw_name, text) || (is_number && p->pw_uid == u->uid))
			break;
	if (p) {
		u->uid = p->pw_uid;
		u->gid = p->pw_gid;
		u->name = xstrdup(p->pw_name);
		u->home = xstrdup(*p->pw_dir ? p->pw_dir : "/");
		u->shell = xstrdup(*p->pw_shell ? p->pw_shell : "/bin/sh");
	}
	if (f)
		fclose(f);
	return p;
}

static void read_groups(struct user *u)
{
	FILE *f = fopen("/etc/group", "re");
	vec(u32) ids = {};
	const struct group *g;

	vec_push(&ids, u->gid);
	while (f && (g = fgetgrent(f)))
		for (char **m = g->gr_mem; *m; m++)
			if (str_eq(*m, u->name) && g->gr_gid != u->gid)
				vec_push(&ids, g->gr_gid);
	if (f)
		fclose(f);
	u->groups = ids.at;
	u->group_cnt = ids.cnt;
}

struct user *user_find(const char *text, struct sbuf *why)
{
	u64 missing = needs_start(NEED_BIT(OTHER_USER)) & ~machine_caps();
	struct user *u;
	bool is_number;

	if (missing) {
		sbuf_puts(why, "--user needs ");
		capability_names(missing, " and ", why);
		sbuf_puts(why, ", which this process does not have");
		return NULL;
	}
	u = xzalloc(sizeof(*u));
	is_number = read_uid(text, &u->uid);
	if (read_passwd(u, text, is_number)) {
		read_groups(u);
	} else if (is_number) {
		u->gid = u->uid;
		u->home = xstrdup("/");
	} else {
		sbuf_printf(why, "there is no user '%s' in /etc/passwd", text);
		user_free(u);
		return NULL;
	}
	return u;
}

void user_free(struct user *u)
{
	if (!u)
		return;
	free(u->groups);
	free(u->name);
	free(u->home);
	free(u->shell);
	free(u);
}

int user_become(const struct user *u)
{
	if (setgroups(u->group_cnt, u->groups) || setresgid(u->gid, u->gid, u->gid) || setresuid(u->uid, u->uid, u->uid))
		return -errno;
	setenv("HOME", u->home, 1);
	if (u->name) {
		setenv("USER", u->name, 1);
		setenv("LOGNAME", u->name, 1);
		setenv("SHELL", u->shell, 1);
	} else {
		unsetenv("USER");
		unsetenv("LOGNAME");
		unsetenv("SHELL");
	}
	/* The kernel clears them only if root becomes somebody else. To become root is to have what root has. */
	return u->uid ? privilege_clear() : 0;
}
