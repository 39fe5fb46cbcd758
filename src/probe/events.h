/* SPDX-License-Identifier: GPL-2.0-only */
/* Many probes as a few events of tracefs, for kernels without a link for many probes. See events.c. */
#pragma once

#include "probe/probe.h"

/* site.variant of a provider that uses events has the number of the event from this bit on. */
enum { EVENT_GROUP_SHIFT = 8 };

static inline u32 event_group(const struct site *s)
{
	return s->variant >> EVENT_GROUP_SHIFT;
}

/* Where events can be made (KF_TRACE_EVENTS), they are used from MIN sites on, where they pay; a unit can have at most MAX sites.
 */
enum { EVENT_SITES_MIN = 8, EVENT_SITES_MAX = UINT16_MAX };
/* Divides the sites of a unit into events in which the low bits of site.addr are different; for plan(). */
void events_group(struct compile *c, struct unit *u);
/* The number of the site that was hit. address() emits code for the address of the hit. */
struct opnd events_lower_site(struct lower *l, vreg (*address)(struct lower *l));

/* Creates events, or adds probes to them, by lines in the syntax of dynamic_events. Returns 0 or -errno: the lines before the bad
 * one may have taken effect. */
int events_write(const char *lines, size_t len);
/* Removes the events that a killed Sonde left behind. */
void events_remove_stale(void);
void event_remove(const char *name);
/* "group/event", malloc'ed. first, the number of a site, makes the name unique; cnt does so for events that are tried again. */
char *event_name(u32 first, u32 cnt);
/* Opens an event that was made for the unit, attaches the program, and keeps link and event in ctx. Returns 0 or -errno, and then
 * the event is removed. name becomes its property in any case. */
int event_open(struct attach_ctx *ctx, const struct image_prog *u, char *name, s32 pid, s32 cpu, int prog_fd, u64 cookie);
/* Hits that the kernel has missed at all places of the unit's events. False: it has none, or they are not kprobes. */
bool events_missed(const struct attach_ctx *ctx, const struct image_prog *u, u64 *missed);
