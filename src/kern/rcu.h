/* SPDX-License-Identifier: GPL-2.0-only */
/* RCU grace periods: how to wait for one, and how to make them short.
 *
 * Before the kernel frees the memory of a probe, it waits for a grace period, until every CPU has passed a quiescent state. That
 * takes about ten milliseconds, for each of a thousand probes in turn. With /sys/kernel/rcu_expedited on, it interrupts the CPUs
 * instead: tens of microseconds. The switch affects the whole machine, so it is on only while many probes are detached, and
 * restored afterwards. */
#pragma once

#include "base/base.h"

/* Who has turned the switch on, and what it was before, is written to a file of root in /run. The last one turns it back; the
 * next run of Sonde does if that one could not. Users of the switch do not wait for each other, and no other user can make us
 * wait.
 *
 * Turns it on. False: it was not, because it cannot be written, or no file can say so. */
bool rcu_hasten(void);
void rcu_calm(void);
/* Turns it back if processes that turned it on have all ended without doing so. */
void rcu_recover(void);
/* Tests: other files than /sys/kernel/rcu_expedited and /run/sonde. */
void rcu_set_paths(const char *switch_path, const char *dir);

/* Waiting until every BPF program that is running now has ended (not those that may sleep). The kernel has no system call for it,
 * but guarantees it when a map in a map of maps is replaced. */
struct rcu_waiter {
	int inner, outer; /* maps */
};

/* Returns 0 or -errno. */
int rcu_waiter_open(struct rcu_waiter *w);
int rcu_wait(const struct rcu_waiter *w);
void rcu_waiter_close(struct rcu_waiter *w);
