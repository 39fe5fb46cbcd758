/* SPDX-License-Identifier: GPL-2.0-only */
/* How often the kernel ran a program, and for how long.
 *
 * The kernel measures while somebody holds a descriptor of BPF_ENABLE_STATS (or kernel.bpf_stats_enabled is 1), of all programs
 * of the machine. It reads its clock before and after each run: that takes time, and some of it is in the result.
 * progstats_clock() finds out how much. */
#pragma once

#include "base/base.h"

struct progstats {
	u64 ns, cnt;
};

/* Switches measuring on. Returns a descriptor that switches it off when it is closed, or -errno. -EPERM: that needs
 * CAP_SYS_ADMIN. */
int progstats_enable(void);
/* The administrator has it switched on, for everyone. */
bool progstats_are_on(void);
/* 0 or -errno; zeroes then. */
int progstats_read(int prog_fd, struct progstats *st);
/* A program that does nothing: what it seems to take is what the clock takes. Its descriptor, or -errno. */
int progstats_load_empty(void);
/* Runs a program (which is attached to nothing) some times, and adds up what the kernel's clock counted. */
int progstats_run(int prog_fd, u32 times, u64 *ns);
/* What the clock adds to each run, in nanoseconds; 0 if that cannot be found out. */
u64 progstats_clock(void);
