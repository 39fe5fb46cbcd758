/* Sessions (6.10): one link whose program runs at the entry of a function and at its return. The compiler knows nothing of them: it makes a
 * program for the kprobe and one for the kretprobe, of units that are each other's `session`, and here the two become one. */
#pragma once

#include "bpf/image.h"

/* The function of the kernel that tells the two apart, by its types; 0: there is none. */
u32 join_kfunc_id(void);

/* The image as it is to be loaded: img itself, or a copy in which the program of each session's entry is that of both, and that of its return
 * is empty (insn_cnt 0). */
const struct image *join_sessions(struct arena *a, const struct image *img);
