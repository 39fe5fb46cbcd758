/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that a traced program may have named: reading one must end, whatever it is. */
#pragma once

#include "base/sbuf.h"

/* Appends up to max bytes of a file. What would wait for somebody to write (a FIFO, a terminal) is not read, and a file system
 * that does not answer is given up after READ_LIMIT_MS or a signal; after a few of these, no file is tried any more. NULL, or why
 * it failed; *is_open tells whether it could be opened. */
enum { READ_LIMIT_MS = 1000 };
const char *read_some(const char *path, u64 max, struct sbuf *out, bool *is_open);
