/* Families of functions, one file each; all.c lists them. */
#pragma once

#include "fn/fn.h"
#include "ir/lower.h"

#include <stdlib.h>

struct fn_family {
	const struct fn *rows;
	u32 cnt;
};

#define FN_FAMILY(name, table) const struct fn_family name = { table, sizeof(table) / sizeof((table)[0]) }

extern const struct fn_family fn_builtins, fn_comm, fn_output, fn_maps, fn_aggregations, fn_memory, fn_stacks, fn_system;
extern const struct fn_family fn_strings, fn_net, fn_tasks, fn_meta, fn_params, fn_typed, fn_packets, fn_watch;

/* The clock that a call of nsecs() reads; CLOCK_NONE if e is no such call. */
enum nsecs_clock { CLOCK_NONE, NSECS_BOOT, NSECS_MONOTONIC, NSECS_TAI, NSECS_SW_TAI };
enum nsecs_clock nsecs_clock(const struct expr *e);

/* Sends a signal by one of the kernel's helpers; that it could not be sent is told with the place. */
void signal_send(struct lower *l, struct span at, u32 helper, struct opnd sig);

/* system() formats as printf() does. */
void printf_check(struct check *k, struct expr *e);
struct val printf_lower(struct lower *l, struct expr *e, const struct mem *dst);
