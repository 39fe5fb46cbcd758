/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of the native system calls, by the names that their tracepoints have. */
#pragma once

#include "base/base.h"

struct syscall_row {
	u16 nr;
	const char *event; /* sys_enter_EVENT */
	const char *call;  /* as <asm/unistd.h> has it */
};

/* The table, sorted by number; empty on architectures that have none yet. */
const struct syscall_row *syscall_table(u32 *cnt);
/* "newstat" → 4; -1: not in the table. */
int syscall_nr(const char *event);
