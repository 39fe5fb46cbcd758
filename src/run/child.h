/* SPDX-License-Identifier: GPL-2.0-only */
/* The command of -c. It is forked early, so that its pid is known to the compiler, and waits until the probes are attached:
 * child_start(), child_resume(), child_kill(), child_free(). If the tracer dies in between, the child ends too. */
#pragma once

#include "base/sbuf.h"

struct child {
	int pid;
	char *file;  /* that is run */
	int pid_fd;  /* readable when the child has ended */
	int go_fd;   /* the child waits for a byte from here */
	int fail_fd; /* errno of an exec that failed comes from here */
	bool is_reaped;
	int status; /* as waitpid() gives it, once is_reaped */
};

/* Splits a command into words as sh does: blanks separate, '…' keeps everything, "…" keeps all but \" \\ \$ \`, and a
 * backslash keeps the next character. Variables, wildcards and operators mean nothing. Returns a NULL-terminated array that
 * one free() releases, or NULL and *why (a constant). */
char **child_split(const char *cmd, u32 *cnt, const char **why);
/* The file that would be run: by PATH if name has no slash. malloc'ed; NULL and errno if there is none. */
char *child_find(const char *name);

/* The file that a command would run; malloc'ed. NULL and a message in *why if it cannot be run. */
char *child_exe(const char *cmd, struct sbuf *why);

/* Forks. user: a name or number, NULL: as we run. NULL and a message in *why if the command cannot be run. */
struct child *child_start(const char *cmd, const char *user, struct sbuf *why);
/* Lets it run. Returns when the exec has happened: 0, or -errno and a message. */
int child_resume(struct child *c, struct sbuf *why);
/* Has it ended? Reaps it. */
bool child_has_ended(struct child *c);
/* Ends it (SIGTERM, SIGKILL if that does not help at once) and reaps it. */
void child_kill(struct child *c);
void child_free(struct child *c); /* child_kill() included; NULL is fine */
