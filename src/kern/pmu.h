/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of the performance monitoring units (PMUs) that the kernel lists in sysfs.
 *
 * /sys/bus/event_source/devices/PMU has `type`, the number for perf_event_open(2); `events/NAME`, each a list of terms such as
 * "event=0x3c,umask=0x01"; and `format/TERM`, which says which bits of which word a term's value goes to: "config:0-7,32-35". */
#pragma once

#include "image/target.h"

#define PMU_ROOT "/sys/bus/event_source/devices"

/* The event of that name, or the one that the terms "a=1,b" describe. Returns 0 or -errno; *why (a sentence, may be NULL) then
 * says what is wrong. root is PMU_ROOT, but for tests. */
int pmu_resolve(const char *root, const char *pmu, const char *terms, struct pmu_event *ev, struct sbuf *why);

/* Calls fn for each named event, sorted by PMU and name. PMUs that count for the whole system instead of a CPU are left out: they
 * cannot interrupt. Returns 0 or -errno. */
int pmu_each(const char *root, void (*fn)(void *arg, const char *pmu, const char *name), void *arg);

/* Whether sysfs has the PMU of the processor itself. */
bool pmu_has_core(const char *root);
