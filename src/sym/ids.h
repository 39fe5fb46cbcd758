/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of this system's user IDs and cgroup IDs. The functions have the signatures of struct naming (out/sink.h); results are
 * cached. */
#pragma once

#include "base/sbuf.h"

/* By /etc/passwd; nothing is added if no line has it. */
void ids_username(void *self, u32 uid, struct sbuf *out);
/* "hierarchy:path" for each hierarchy that has a cgroup with this id, comma-separated. Version 2 is called unified and comes
 * first, others are called after their controllers. pattern: only hierarchies whose name matches; NULL: all. */
void ids_cgroup_path(void *self, u64 id, const char *pattern, struct sbuf *out);
