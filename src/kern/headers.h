/* C headers that scripts include.
 *
 * Two kinds. Headers of the script's author (#include "x.h", or found by -I) are read at once, and what they define wins over
 * everything but the script itself. Headers of the system (<linux/sched.h>, <netinet/in.h>) are read when something is asked for that
 * neither they nor the kernel's own types (BTF) explain: most scripts include headers of which BTF has everything, and do not wait for
 * thousands of files. Of the system's, those that the kernel's tree has are read as kernel code, the others as a program's.
 */
#pragma once

#include "lang/compile.h"

/* types: the kernel's, or NULL. One set per process; it stays. */
struct header_set *kern_headers(struct type_source *types);
/* -I and --include; before kern_headers(). */
void kern_headers_add_dir(const char *dir);
void kern_headers_include(const char *name);
