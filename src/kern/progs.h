/* SPDX-License-Identifier: GPL-2.0-only */
/* BPF programs that are loaded, as targets of fentry and fexit. */
#pragma once

#include "base/base.h"

/* The number of the program after `id` (0: the first). -ENOENT: that was the last. */
int kern_next_prog(u32 id, u32 *next);
/* Calls fn for each function of the program, with its number in the program's BTF. None if it has no BTF, or has ended. */
void kern_each_prog_func(u32 prog, void (*fn)(void *arg, const char *name, u32 id), void *arg);
