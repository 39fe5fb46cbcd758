/* SPDX-License-Identifier: GPL-2.0-only */
/* From a name to a file: libraries as the dynamic linker finds them, programs as the shell finds them. */
#pragma once

#include "base/base.h"

/* "libc", "libssl.so.3", "libreadline.so" → the path of the library. First what the process `pid` has mapped (0: no process),
 * then /etc/ld.so.cache, then the usual directories. The result is malloc'ed; NULL: no such library. */
char *sym_find_library(const char *name, u32 pid);
/* The same in one step each, for tests: the text of a cache file, the entries of a directory. */
char *sym_ldcache_lookup(const char *cache, size_t len, const char *name);

/* A program by PATH. The result is malloc'ed, NULL: none. *hits (may be NULL): how many different files PATH has under that
 * name. root: where to look, "" or a directory; it is not part of the result. */
char *sym_find_program(const char *name, const char *root, u32 *hits);
