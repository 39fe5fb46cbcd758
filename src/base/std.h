/* SPDX-License-Identifier: GPL-2.0-only */
/* Standard input, output and error of the process. */
#pragma once

#include "base/base.h"

/* To be called before anything is opened or written. A standard descriptor that is closed gets a place holder, on which reads and
 * writes fail as before, so that no file opened later takes its number. stdout and stderr wait for a slow reader, also one that
 * made the descriptor non-blocking. fileno() does not work on them. */
void std_begin(void);
/* Flushes stdout. Returns the exit status: that of the command, or 1 if output was lost, which is reported then. */
int std_end(int status);
