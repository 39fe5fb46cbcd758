/* SPDX-License-Identifier: GPL-2.0-only */
/* C headers that scripts include.
 *
 * Two kinds. Headers of the script's author (#include "x.h", or found by -I) are read at once, and what they define wins over
 * everything but the script itself. Headers of the system (<linux/sched.h>, <netinet/in.h>) are read only when a name is looked
 * up that neither those headers nor the kernel's own types (BTF) define: for most scripts BTF has everything, so they need not
 * wait for thousands of files. System headers that the kernel's tree has are read as kernel code, the others as user-space code.
 */
#pragma once

#include "image/target.h"

/* types: the kernel's, or NULL. One set per process; it stays. */
struct header_set *kern_headers(struct type_source *types);
/* -I and --include; before kern_headers(). */
void kern_headers_add_dir(const char *dir);
void kern_headers_include(const char *name);
