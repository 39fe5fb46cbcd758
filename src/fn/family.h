/* SPDX-License-Identifier: GPL-2.0-only */
/* Families of functions, one file each; all.c lists them. */
#pragma once

#include "lang/fn.h"
#include "ir/lower.h"

#include <stdlib.h>

extern const struct fn_family fn_builtins, fn_comm, fn_output, fn_maps, fn_aggregations, fn_memory, fn_stacks, fn_system;
extern const struct fn_family fn_strings, fn_net, fn_tasks, fn_meta, fn_params, fn_typed, fn_packets, fn_watch;

/* The clock that a call of nsecs() reads; CLOCK_NONE if e is no such call. */
enum nsecs_clock { CLOCK_NONE, NSECS_BOOT, NSECS_MONOTONIC, NSECS_TAI, NSECS_SW_TAI };
enum nsecs_clock nsecs_clock(const struct expr *e);

/* cpid. */
struct val fn_child_pid(struct lower *l);

/* Sends a signal by one of the kernel's helpers; that it could not be sent is told with the place. */
void signal_send(struct lower *l, struct span at, u32 helper, struct opnd sig);

/* system() formats as printf() does. */
void printf_check(struct check *k, struct expr *e);
struct val printf_lower(struct lower *l, struct expr *e, const struct mem *dst);
