/* Watchpoints on arguments: watchpoint:FUNCTION+argN:LENGTH:MODE. Which address is watched turns out while tracing.
 *
 * Such a site makes a second probe, a uprobe on the function, which no script could write: it sends the argument to user space (fn/watch.c), which sets a
 * watchpoint there. The function must not run on meanwhile, or its first accesses would be missed. So that program stops the process by
 * SIGSTOP, and user space lets it go on; with asyncwatchpoint it does not stop. */
#pragma once

#include "probe/probe.h"

/* As many as x86 has debug registers. Of a processor with more, so many are used. */
#define WATCH_MAX 4

/* In the data map, for each site: what user space tells the program at the function's entry. An address that is watched is not sent again, and
 * when there is no debug register left nothing is: nobody is stopped in vain. NULL is taken for watched. */
struct watch_known {
	u64 addrs[WATCH_MAX];
	u64 is_full;
	u64 waiting; /* threads whose addresses are on their way: the process goes on when all are served */
};

/* One of those sites, while tracing. */
struct watch {
	u32 site;
	int prog_fd; /* of the script's body; the object's */
	struct watch_known *known; /* NULL until the first address came */
	vec(int) fds[WATCH_MAX];
	bool told_full, told_other; /* that this went wrong */
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
/* Watches addr for a site, in the process or on all CPUs; at_exec: from the process's next exec on. Descriptors go to ctx->fds. 0 or -errno … */
int watch_open(struct attach_ctx *ctx, u32 site, u64 addr, int prog_fd, bool at_exec);
/* … and advice for it, or NULL. */
const char *watch_hint(int err);

/* While tracing. NULL: nothing is attached any more. */
struct watch *watch_find(struct attach_ctx *ctx, u32 site);
/* Waits until the process has stopped: a signal stops its threads one after the other. Before that, one may start another, of which nobody could say whether it is
 * watched, and one may come with another address and have its own stop undone with this one. A thread that waits for a device does not stop: it is not
 * waited for very long. */
void watch_wait(struct attach_ctx *ctx);
/* Sets a watchpoint, unless there is one. 0, or -errno: -ENOSPC if there is no debug register for it. */
int watch_set(struct attach_ctx *ctx, struct watch *w, u64 addr);
/* One that waited for this site is served: lets the process go on if it was the last. */
void watch_go_on(struct attach_ctx *ctx, struct watch_known *known);
/* Frees the debug registers that watch this address for arguments. */
void watch_unset(struct attach_ctx *ctx, u64 addr);
/* The end of all: their descriptors go to ctx->fds. */
void watch_release(struct attach_ctx *ctx);
