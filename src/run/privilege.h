/* SPDX-License-Identifier: GPL-2.0-only */
/* The privileges of the tracer itself. Once everything is attached, it needs few of them: it gives up the rest, so that an error
 * in what reads the data of others cannot do more than that. image/need.h says what a script needs. */
#pragma once

#include "base/base.h"

struct session_opts;

/* The needs of a script, and of how it is run. */
u32 privilege_needs(u32 script, const struct session_opts *o);

/* Whether system calls are restricted while tracing: not if the script runs commands. */
bool privilege_is_filtered(u32 needs);

/* Gives up all capabilities: for what is run as another user. Returns 0 or -errno. */
int privilege_clear(void);
/* Gives up all capabilities but those that are kept, and CAP_SYS_NICE: threads that start now may use it. Returns 0 or -errno. */
int privilege_drop(u32 needs);
/* Gives up that one, too, and restricts the system calls of all threads to those that reading needs: others fail with EPERM. The
 * restriction is inherited and cannot be undone. Returns 0 or -errno; -ENOSYS: this kernel cannot restrict them. */
int privilege_seal(u32 needs);
