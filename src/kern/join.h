/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions (6.10): one link whose program runs at the entry of a function and at its return. The compiler does not know them: it
 * makes a program for the kprobe and one for the kretprobe, of units that are each other's `session`. This module merges the
 * two. */
#pragma once

#include "image/image.h"

/* The BTF id of the kernel function that tells entry from return; 0: there is none. */
u32 join_kfunc_id(void);

/* The image to load: img itself, or a copy in which each session's entry program is the merged one, and its return program is
 * empty (insn_cnt 0). */
const struct image *join_sessions(struct arena *a, const struct image *img);
