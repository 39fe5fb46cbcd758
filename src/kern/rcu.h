/* Waits for quiet points, and how to make them short.
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

/* Waiting until every BPF program that is running now has ended (not those that may sleep). The kernel has no call for it, but promises it to who replaces
 * a map in a map of maps. */
struct rcu_waiter {
	int inner, outer; /* maps */
};

/* Returns 0 or -errno. */
int rcu_waiter_open(struct rcu_waiter *w);
int rcu_wait(const struct rcu_waiter *w);
void rcu_waiter_close(struct rcu_waiter *w);
