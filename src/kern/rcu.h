/* Short waits for quiet points.
 *
 * Before the kernel frees what a probe used, it waits until every CPU has passed a quiet point. Left to itself that takes some ten
 * milliseconds, and for each of a thousand probes it waits anew. With /sys/kernel/rcu_expedited on, it interrupts the CPUs and asks: tens
 * of microseconds. The switch is the machine's, not ours, so it is on only while many probes are detached, and put back to what it was. */
#pragma once

#include "base/base.h"

struct rcu_haste {
	int fd; /* -1: nothing was changed */
	char before;
};

/* Waits for another Sonde that has it on, so that each finds what was there before. Failing is no harm. */
struct rcu_haste rcu_hasten(void);
void rcu_calm(struct rcu_haste *h);
