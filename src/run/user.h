/* SPDX-License-Identifier: GPL-2.0-only */
/* --user: whom the command of -c runs as. */
#pragma once

#include "base/sbuf.h"

struct user {
	u32 uid, gid;
	u32 *groups; /* supplementary ones */
	u32 group_cnt;
	char *name, *home, *shell; /* name NULL: a number that /etc/passwd does not have */
};

/* By name or number. NULL and a message in *why if there is none, or if this process cannot become another user. */
struct user *user_find(const char *text, struct sbuf *why);
void user_free(struct user *u); /* NULL is fine */
/* Becomes that user: groups, IDs, no capabilities, HOME, USER, LOGNAME and SHELL. Returns 0 or -errno. */
int user_become(const struct user *u);
