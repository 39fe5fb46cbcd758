/* SPDX-License-Identifier: GPL-2.0-only */
/* This machine as a compilation target, and whether we may trace on it. */
#pragma once

#include "base/diag.h"
#include "image/target.h"

/* Answers for this machine, or for the made-up one of a test (below). */
extern const struct machine kern_machine;

/* Fills in the machine's properties for the compiler: CPUs, whom to ask, clocks, PID namespace. The rest of *t is left alone. */
void machine_target(struct target *t);

/* Tests compile for a made-up machine, so that results do not depend on the one they run on: SONDE_TEST_MACHINE names a directory
 * with the files cpus (as sysfs writes lists), features (names of feature.def), kallsyms and tracing/ (a tracefs). The path of
 * one of these, malloc'ed; NULL: the machine is the real one. */
char *machine_fixture(const char *file);

/* Possible CPUs: the highest number + 1, as per-CPU maps count them. */
u32 machine_cpus(void);
/* The numbers of the online CPUs, in order; *cnt is how many. The result is malloc'ed. */
u32 *machine_online(u32 *cnt);
/* A list as sysfs has it, "0-3,8": calls fn for each number. False if it is malformed. */
bool cpu_list_each(const char *text, void (*fn)(void *arg, u32 cpu), void *arg);

/* The effective capabilities of this process, as bits. */
u64 machine_caps(void);
/* What hides the features of the kernel from us: see struct machine. */
const char *machine_hidden_by(void);

/* Whether BPF programs for tracing can be loaded: root, or CAP_BPF and CAP_PERFMON, and no lockdown that forbids reading kernel
 * memory. If not, reports that in diag (E_LOAD, with a hint) and returns false. */
bool machine_may_trace(struct diag *d);
/* The same, without a report. */
bool machine_has_caps(void);
/* Whether the process may have `used` descriptors for objects of the kernel, beside those that every run needs. Raises the soft
 * limit if necessary. False: reported. */
bool machine_may_open(struct diag *d, u32 used);
