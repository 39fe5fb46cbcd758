/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared code of the providers: reading the parts of an attach point, perf events, reports of failed attachments. */
#pragma once

#include "base/vec.h"
#include "ir/lower.h"
#include "image/feature.h"
#include "image/need.h"
#include "lang/provider.h"

struct perf_event_attr;

#define KERNEL_ENOTSUPP 524 /* an error number internal to the kernel, which reaches user space nevertheless */

/* Whether a wildcard in the attach point's probe type matches this provider. A provider that is listed only by name
 * (PROV_LIST_EXPLICIT) matches if the wildcard matches no other (kret*); one of user space matches if a file is named, or with
 * -p. */
bool provider_is_meant(const struct provider *p, const struct attach_point *ap, u32 filter_pid);
/* Adds a hint for a word that is no probe type. */
void provider_hint(struct diag *d, const char *word);

/* A number as attach points have it: decimal, 0x…, 0b…, octal, 1e6, `_` between digits, C suffixes. A duration (10ms) becomes
 * nanoseconds. False: not a number, or it does not fit. */
bool probe_number(const char *s, u64 *v);

/* Splits "func+offset". *off is 0 without one. False: what follows the + is not a number. func lives in the arena. */
bool probe_func_offset(struct arena *a, const char *text, const char **func, u64 *off);

/* Checks that the attach point has min to max parts after the provider's word. False: reported. */
bool probe_part_cnt(struct diag *d, const struct attach_point *ap, u32 min, u32 max);

/* Kernel functions that wildcards skip: probes there are refused, never hit, or crash the machine. */
bool probe_is_banned(const char *func);

/* "a:b" of parts[1…], as messages name it; in the arena. */
const char *probe_rest(struct arena *a, const struct attach_point *ap);

/* Opens the event, attaches the program to it and keeps the link in ctx->fds. Returns 0 or -errno. */
int probe_perf_attach(struct attach_ctx *ctx, struct perf_event_attr *attr, s32 pid, s32 cpu, int prog_fd, u64 cookie);
/* The same on every online CPU, or, with -p, for every thread of the process, new ones included. */
void probe_perf_attr(struct compile *c, const struct unit *u, struct prog_attr *attr); /* provider.attr of perf events */
int probe_perf_attach_all(struct attach_ctx *ctx, struct perf_event_attr *attr, int prog_fd, u64 cookie);

/* Number of a perf PMU ("uprobe"), or of the bit in attr.config that a format word ("retprobe") stands for. -ENOENT: this kernel
 * has none. */
int probe_pmu_type(const char *pmu);
int probe_pmu_bit(const char *pmu, const char *word);

/* Attaches sites [lo, hi) of a unit by links that take many sites at once. `link` makes one link and returns its descriptor or
 * -errno. When the kernel refuses a whole set because of some of its members, each half is tried in turn, so that only those
 * members are skipped and reported. Returns how many sites were attached. */
struct multi {
	struct attach_ctx *ctx;
	const struct image_prog *u;
	int prog_fd;
	int (*link)(const struct multi *m, u32 lo, u32 hi);
	const char *what;             /* for messages: "cannot attach to the function" */
	const char *(*hint)(int err); /* may be NULL */
	const u32 *order;             /* lo and hi index this list of sites; NULL: the unit's own order */
	int *errs;                    /* NULL, or: for probe_report_refused() */
};
u32 probe_attach_multi(const struct multi *m, u32 lo, u32 hi);

/* Looks for the other half of a unit, return or entry of the same functions, that was planned in the same way. Both get that
 * variant then, if the kernel has the feature. */
void probe_pair(struct compile *c, struct unit *u, const struct provider *entry, const struct provider *ret, u32 session,
		u32 feature);

/* Reports what the kernel refused of a unit. errs[i] is 0 or what attaching site i returned; -EINTR: a signal came first. What a
 * wildcard matched is left out, and so are some of the functions that share a name: one warning has their number. Other sites are
 * reported one by one by report(). Returns the number of sites attached. */
u32 probe_report_refused(struct attach_ctx *ctx, const struct image_prog *u, const int *errs,
			 void (*report)(struct attach_ctx *ctx, const struct site *s, int err));
/* The kernel may have refused one place because of what is there. */
bool probe_is_about_one(int err);
/* Reports that a site could not be attached, as missing_probes wants it. what: what was tried ("cannot open the perf event");
 * err: -errno, or 0 when `what` says it all; hint: advice or NULL. */
void probe_attach_failed(struct attach_ctx *ctx, const struct site *s, int err, const char *what, const char *hint);
/* Advice for an error that does not depend on the probe type, or NULL. */
const char *probe_errno_hint(int err);
/* The kernel lacks what the probe type needs, or seems to: sets the reason. */
void probe_kernel_lacks(struct site_sink *sink, const char *what);
/* A search that failed with err needs tracefs: sets sink->why and sink->hint if we may not read it. */
void probe_tracefs_failed(struct site_sink *sink, int err);

/* The attach point needs --unsafe. Returns whether that was given. */
bool probe_may_be_unsafe(struct site_sink *sink);

/* Closes what was added to ctx->fds since it had `cnt`. */
void probe_undo(struct attach_ctx *ctx, u32 cnt);

static inline const struct site *unit_site(const struct attach_ctx *ctx, const struct image_prog *u, u32 i)
{
	return &ctx->image->sites.at[u->site_first + i];
}

/* Ends the program when the condition holds. Only for lower_entry(), where the program holds nothing that must be
 * released. */
void probe_leave_if(struct lower *l, enum ir_cond cond, vreg a, struct opnd b);

/* lower_argn, lower_retval and lower_reg of programs whose context is struct pt_regs (kprobe, uprobe) or starts with it
 * (perf_event). */
struct val probe_regs_argn(struct lower *l, u32 n);
struct val probe_regs_retval(struct lower *l);
struct val probe_regs_reg(struct lower *l, u32 reg_off);
