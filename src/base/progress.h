/* SPDX-License-Identifier: GPL-2.0-only */
/* One line on the terminal that says what a long step is doing: "Attaching: 1,204 of 5,956, 3 s". A step that takes less than a
 * second shows nothing. Where the line was not switched on (no terminal, -q), every function does nothing.
 *
 * The line is written by a thread of its own, because a single system call may take many seconds. */
#pragma once

#include "base/base.h"

/* Standard error is a terminal, and may have the line. */
void progress_enable(bool on);
/* The step that begins now, and how many parts it has (0: unknown). A step inside of another one replaces it until it ends. */
void progress_begin(const char *what, u32 total);
void progress_end(void);
/* So many more parts are done. Any thread may call it. */
void progress_add(u32 cnt);
/* So many parts are done. */
void progress_set(u32 cnt);

extern bool progress_is_on;
void progress_clear(void);
/* Before anything else is written to the terminal: removes the line. It comes back when nothing was written for a second. */
static inline void progress_hide(void)
{
	if (progress_is_on)
		progress_clear();
}
