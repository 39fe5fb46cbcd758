/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaching the programs of an image. The probe types do it (probe/); this is what a run knows of them. */
#pragma once

#include "image/image.h"

struct watch;

/* An event of tracefs that attaching made (probe/events.h). */
struct trace_event {
	char *name; /* "group/event", malloc'ed */
	const struct image_prog *prog;
};

/* What attaching works with. fds are closed, newest first, to detach. */
struct attach_ctx {
	const struct image *image;
	struct diag *diag;
	vec(int) fds;
	vec(int) iters;                 /* PROV_ITER: to be read to the end; each run writes a byte */
	vec(struct watch *) watches;    /* what is set while tracing: probe/watch.h */
	vec(struct trace_event) events; /* removed after the fds were closed */
	u32 filter_pid;                 /* -p or the -c child: 0 if none */
	bool has_child;                 /* it is the -c child, which is still a copy of ours */
	bool may_hasten; /* waits of the kernel may be made short while many probes are detached, where KF_RCU_EXPEDITED is there
			  */
	bool verbose;
	u32 *done; /* NULL, or: counts up to probe_waits() while everything is detached */
	/* What the program that was attached last does without. A wildcard does without what the kernel refuses, and a name that
	 * several functions have does without some of these. */
	struct {
		u32 sites;
		u32 more;   /* of these: do not make it a probe less, as with is_more */
		u32 places; /* that are no sites of their own */
	} left_out;
};

/* Attaches a program to all its sites. Returns the number of sites attached or -errno; what fails is reported in ctx->diag with
 * the site's name (severity by missing_probes). */
int probe_attach(struct attach_ctx *ctx, const struct image_prog *p, int prog_fd);
/* Undoes everything that probe_attach() did. */
void probe_detach(struct attach_ctx *ctx);
/* Closes cnt descriptors, ctx->fds[first] and those behind it, and removes them there: what they attached is hit no more. */
void probe_detach_some(struct attach_ctx *ctx, u32 first, u32 cnt);
/* For how many things the kernel may have to wait while everything is detached. */
u32 probe_waits(const struct attach_ctx *ctx);
/* Closes all descriptors, and leaves the rest of probe_detach() to another process that has them, too. */
void probe_leave(struct attach_ctx *ctx);
/* Hits of the program that the kernel never ran it for, as its cnt descriptors from ctx->fds[first] on, or its events, tell. */
u64 probe_missed(const struct attach_ctx *ctx, const struct image_prog *p, u32 first, u32 cnt);
