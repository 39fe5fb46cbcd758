/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of programs → names.
 *
 * The mappings of a process come from /proc/PID/maps and, so that processes that have ended are known too, from the kernel's
 * notifications of fork and mmap (kern/taskmaps.h), which the owner passes on. Nothing is dropped when a process ends, unless the
 * owner asks for it: of several mappings that had an address, the newest counts, then those inherited from the parent by fork,
 * then those of an earlier process with the same ID.
 *
 * Symbols of a file are read when the first address in it is asked for, once for all processes that map it. Names of code that is
 * compiled at run time come from /tmp/perf-PID.map, those of the vdso from our own.
 */
#pragma once

#include "sym/proc.h"

struct usyms;

struct usym {
	const char *name; /* NULL: only the file is known */
	u64 start;        /* the address at which the symbol starts in the process */
	const char *file; /* NULL: unknown */
};

/* with_lines: debug information is read, for usyms_frames(). */
struct usyms *usyms_new(bool with_lines);
void usyms_free(struct usyms *u);

/* pid has mapped something. ns: any clock that all notifications share. */
void usyms_add(struct usyms *u, u32 pid, const struct proc_map *m, u64 ns);
/* pid is a new process, with its parent's mappings. */
void usyms_fork(struct usyms *u, u32 pid, u32 parent, u64 ns);
/* Reads /proc/PID/maps now, if nothing is known of the process yet. */
void usyms_remember(struct usyms *u, u32 pid);
/* From now on all changes are notified: /proc is not read again for a process that was read once. */
void usyms_watched(struct usyms *u);

/* How many processes are known. */
u32 usyms_proc_cnt(const struct usyms *u);
/* Drops processes that have ended and whose ID is not wanted, if the last call found the same: events with addresses of one that
 * has just ended may still be in the buffer. */
void usyms_forget(struct usyms *u, bool (*is_wanted)(void *arg, u32 pid), void *arg);

/* The source lines of an address, and the functions that were inlined there, innermost first; see dbg_frames_at(). */
struct dbg_place;
u32 usyms_frames(struct usyms *u, u32 pid, u64 addr, struct dbg_place *frames, u32 max);

/* Names are valid until usyms_free(). False: nothing is known of the address. */
bool usyms_find(struct usyms *u, u32 pid, u64 addr, struct usym *out);
