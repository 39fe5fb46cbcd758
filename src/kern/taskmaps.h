/* Notices of the kernel: which process maps what to execute, and which process is born of which.
 *
 * A process may be gone when an address of its is to be named, and /proc/PID/maps with it. The kernel tells what is needed
 * while the process lives: a perf event without events of its own on each CPU carries PERF_RECORD_MMAP2 and PERF_RECORD_FORK of the
 * whole system. That costs some hundred bytes for each program that is started, and nothing for each traced event.
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
/* Readable when there are notices. */
int taskmaps_fd(const struct taskmaps *t);
/* Hands over all notices, in order of time. */
void taskmaps_drain(struct taskmaps *t, const struct taskmaps_ops *ops, void *arg);
/* Notices that did not fit. */
u64 taskmaps_lost(const struct taskmaps *t);

/* One record of a perf buffer; for tests. False: malformed, or none of ours. */
bool taskmaps_parse(const void *rec, u32 len, const struct taskmaps_ops *ops, void *arg);
