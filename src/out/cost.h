/* SPDX-License-Identifier: GPL-2.0-only */
/* --cost: what tracing took. */
#pragma once

#include "base/diag.h"

struct out;

struct cost_row {
	const char *probe;
	struct span at;
	u64 hits, ns;
};

struct cost_view {
	const struct cost_row *rows; /* the most expensive first */
	u32 cnt;
	u64 own_ns;     /* CPU time of sonde itself, while it traced */
	u64 elapsed_ns; /* while probes were attached */
	u32 cpus;       /* online ones */
};

/* The share of all CPUs' time, in percent. */
static inline double cost_percent(u64 ns, u64 elapsed_ns, u32 cpus)
{
	return elapsed_ns && cpus ? 100.0 * (double)ns / ((double)elapsed_ns * cpus) : 0;
}

/* A table on o->err, or what the format has for it. */
void cost_print(struct out *o, const struct cost_view *v, const struct diag *d);
