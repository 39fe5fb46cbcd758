/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/PID/maps: what a process has mapped. */
#pragma once

#include "base/base.h"

struct proc_map {
	u64 start, end; /* addresses: [start, end) */
	u64 off;        /* of start in the file */
	u64 ino;        /* 0: no file */
	u64 dev;        /* major << 32 | minor */
	bool is_exec;
	const char *path; /* "[vdso]", "" for anonymous memory; not NUL-terminated when parsed */
	size_t path_len;
};

/* Parses one line, without its newline; path points into it. False if it is malformed. */
bool proc_map_parse(const char *line, size_t len, struct proc_map *out);
/* Calls fn for each mapping of a process that can be executed; path is NUL-terminated. Returns 0 or -errno. */
typedef void (*proc_map_fn)(void *arg, const struct proc_map *m);
int proc_maps_each(u32 pid, proc_map_fn fn, void *arg);
/* What this process has mapped at an address, without its path. The device and inode of a file are the same here as in each
 * process that maps it, but not always those of stat(): overlayfs (before 6.8) and btrfs differ. */
bool proc_own_map(const void *at, struct proc_map *out);
/* The process's ID in its own PID namespace; pid itself if that is unknown. */
u32 proc_inner_pid(u32 pid);

/* Opens the file of a mapping: directly, even if it has no name any more; else by its name in the process's file system; else in
 * ours. An O_PATH descriptor, or -1. */
int proc_mapped_fd(u32 pid, u64 start, u64 end, const char *path, u64 ino);
/* The image of the vdso, as a file: it is the same in every process. -1: there is none. */
int proc_vdso_fd(void);
