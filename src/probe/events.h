/* Many probes as a few events of tracefs, where the kernel has no link for many. See events.c. */
#pragma once

#include "probe/probe.h"

/* site.variant of a provider that uses events has the number of the event from this bit on. */
enum { EVENT_GROUP_SHIFT = 8 };

static inline u32 event_group(const struct site *s)
{
	return s->variant >> EVENT_GROUP_SHIFT;
}

/* Events can be made here. */
bool events_can(void);
/* From MIN sites on it pays to make events of them; more than MAX a unit cannot have. */
enum { EVENT_SITES_MIN = 8, EVENT_SITES_MAX = UINT16_MAX };
/* Divides the sites of a unit into events in which the low bits of site.addr are different; for plan(). */
void events_group(struct compile *c, struct unit *u);
/* The number of the site that was hit. address() makes code for where that is. */
struct opnd events_lower_site(struct lower *l, vreg (*address)(struct lower *l));

/* Makes events, or adds places to them, by lines in the language of dynamic_events. Returns 0 or -errno: then lines before the bad one may
 * have been obeyed. */
int events_write(const char *lines, size_t len);
/* Removes what a Sonde that was killed has left behind. */
void events_remove_stale(void);
void event_remove(const char *name);
/* "group/event", malloc'ed. first: number of a site, which makes it unlike others; cnt as well, for those that are tried again. */
char *event_name(u32 first, u32 cnt);
/* Opens an event that was made for the unit, attaches the program, and keeps link and event in ctx. Returns 0 or -errno, and then the event is
 * removed. name becomes its property in any case. */
int event_open(struct attach_ctx *ctx, const struct unit *u, char *name, s32 pid, s32 cpu, int prog_fd, u64 cookie);
/* Hits that the kernel has missed at all places of the unit's events. False: it has none, or they are not kprobes. */
bool events_missed(const struct attach_ctx *ctx, const struct unit *u, u64 *missed);
