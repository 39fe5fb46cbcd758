/* SPDX-License-Identifier: GPL-2.0-only */
/* Watchpoints on arguments: watchpoint:FUNCTION+argN:LENGTH:MODE. The address to watch becomes known while tracing.
 *
 * Such a site creates a second probe, a uprobe on the function, which a script could not write itself: it sends the argument to
 * user space (fn/watch.c), which sets a watchpoint there. The function must not run on in the meantime, or its first accesses
 * would be missed. So the program stops the process by SIGSTOP, and user space resumes it; with asyncwatchpoint it does not
 * stop. */
#pragma once

#include "probe/probe.h"

/* site.variant, beside the bits of HW_BREAKPOINT_*: which address it is turns out while tracing. */
enum { WATCH_ARG = 1 << 8, WATCH_STOPS = 1 << 9 /* the process stands still until its watchpoint is set */ };

/* As many as x86 has debug registers. Of a processor with more, so many are used. */
#define WATCH_MAX 4

/* In the data map, for each site: state that user space publishes for the program at the function's entry. A watched address is
 * not sent again, and nothing is sent when no debug register is free, so that no process is stopped needlessly. NULL counts as
 * watched. */
struct watch_known {
	u64 addrs[WATCH_MAX];
	u64 is_full;
	u64 waiting; /* threads whose addresses are still to be handled: the process is resumed when all are */
};

/* One of those sites, while tracing. */
struct watch {
	u32 site;
	int prog_fd;               /* of the script's body; the object's */
	struct watch_known *known; /* NULL until the first address came */
	vec(int) fds[WATCH_MAX];
	bool told_full, told_other; /* these failures were reported */
};

/* parts[1] is FUNCTION+argN. func and *n may be NULL; false: it is not of that form. */
bool watch_read_arg(struct arena *a, const char *text, const char **func, u32 *n);
/* Of struct provider, for attach points of that form. */
bool watch_parse_arg(struct diag *d, const struct attach_point *ap);
void watch_expand_arg(struct site_sink *sink, const struct attach_point *ap, struct diag *d, u64 len, const char *mode, u32 bits);
void watch_plan(struct compile *c, struct unit *u, const struct body_uses *uses);
void watch_attach_later(struct attach_ctx *ctx, u32 site, int prog_fd);

/* The site stops the process until its watchpoint is set. */
bool watch_stops(const struct site *s);
/* What its addresses must be a multiple of. */
u64 watch_align(const struct site *s);
/* Watches addr for a site, in the process or on all CPUs; at_exec: from the process's next exec on. Descriptors go to ctx->fds. 0
 * or -errno … */
int watch_open(struct attach_ctx *ctx, u32 site, u64 addr, int prog_fd, bool at_exec);
/* … and advice for it, or NULL. */
const char *watch_hint(int err);

/* While tracing. NULL: nothing is attached any more. */
struct watch *watch_find(struct attach_ctx *ctx, u32 site);
/* Waits until the process has stopped: a signal stops its threads one after the other. Until then, a thread may start another one
 * that may not be watched, and a thread may send another address, whose stop would be undone together with this one. A thread
 * that waits for a device does not stop, so the wait is short. */
void watch_wait(struct attach_ctx *ctx);
/* Sets a watchpoint, unless there is one. 0, or -errno: -ENOSPC if there is no debug register for it. */
int watch_set(struct attach_ctx *ctx, struct watch *w, u64 addr);
/* One thread that waited for this site is handled: resumes the process if it was the last. */
void watch_go_on(struct attach_ctx *ctx, struct watch_known *known);
/* Frees the debug registers that watch this address for arguments. */
void watch_unset(struct attach_ctx *ctx, u64 addr);
/* The end of all: their descriptors go to ctx->fds. */
void watch_release(struct attach_ctx *ctx);
