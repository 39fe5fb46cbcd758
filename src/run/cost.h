/* SPDX-License-Identifier: GPL-2.0-only */
/* What tracing costs: --cost shows it at the end, --max-cpu keeps it below a limit.
 *
 * Measured are the runs of the programs, by the kernel's clock, and the CPU time of this process. Not measured is how a hit gets
 * to its program: the trap of a uprobe, the record that a tracepoint fills. */
#pragma once

#include "run/losses.h"

struct cost;

/* Starts measuring. NULL: neither option was given, or it failed, and *why says so (malloc'ed). max_ppm 0: no limit; 10000 is one
 * percent of the time of all CPUs. */
struct cost *cost_new(struct session *s, bool is_shown, u32 max_ppm, char **why);
void cost_free(struct cost *c); /* NULL is fine; so for all others */
/* Probes are attached now, and not any more. What the runs of begin and end take does not count. */
void cost_begin(struct cost *c);
void cost_end(struct cost *c);

enum { COST_CHECK_MS = 500 };
/* Every COST_CHECK_MS. True: too much was used, several times in a row, and this program (an index of attached) should go. */
bool cost_is_too_high(struct cost *c, const struct attached *attached, u32 cnt, u32 *which);
/* It was detached: says so, and in the account. */
void cost_detached(struct cost *c, u32 prog);
/* --cost, after cost_end(). */
void cost_show(struct cost *c);
