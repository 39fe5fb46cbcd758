/* Names of numbers that this system gave away: users, cgroups. Shaped as struct naming (out/sink.h) wants them; what was found is remembered. */
#pragma once

#include "base/sbuf.h"

/* By /etc/passwd; nothing is added if no line has it. */
void ids_username(void *self, u32 uid, struct sbuf *out);
/* "hierarchy:path" for each hierarchy that has a cgroup with this id, comma-separated. Version 2 is called unified and comes first,
 * others are called after their controllers. pattern: only hierarchies whose name matches; NULL: all. */
void ids_cgroup_path(void *self, u64 id, const char *pattern, struct sbuf *out);
