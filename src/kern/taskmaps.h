/* SPDX-License-Identifier: GPL-2.0-only */
/* Notifications of the kernel about executable mappings and forks of processes.
 *
 * A process may have ended, and its /proc/PID/maps with it, before one of its addresses is named. The kernel reports what is
 * needed while the process runs: a dummy perf event on each CPU carries PERF_RECORD_MMAP2 and PERF_RECORD_FORK of the whole
 * system. That costs some hundred bytes for each program that is started, and nothing for each traced event.
 */
#pragma once

#include "base/base.h"

struct taskmaps;

struct task_mmap {
	u32 pid;
	u64 start, len, off, ino;
	u64 dev;          /* major << 32 | minor */
	const char *path; /* as in /proc/PID/maps; "//anon": no file */
};

struct taskmaps_ops {
	void (*mmap)(void *arg, const struct task_mmap *m, u64 ns);
	void (*fork)(void *arg, u32 pid, u32 parent, u64 ns); /* a new process, not a thread */
};

/* NULL: not allowed here, or not possible. */
struct taskmaps *taskmaps_open(void);
void taskmaps_close(struct taskmaps *t); /* NULL is fine */
/* Readable when there are notifications. */
int taskmaps_fd(const struct taskmaps *t);
/* Passes on all notifications, in order of time. */
void taskmaps_drain(struct taskmaps *t, const struct taskmaps_ops *ops, void *arg);
/* Notifications that did not fit the buffer. */
u64 taskmaps_lost(const struct taskmaps *t);

/* One record of a perf buffer; for tests. False: malformed, or none of ours. */
bool taskmaps_parse(const void *rec, u32 len, const struct taskmaps_ops *ops, void *arg);
