/* SPDX-License-Identifier: GPL-2.0-only */
/* A summary of the verifier's log: the instruction that it rejected, and why. */
#pragma once

#include "base/base.h"

struct vlog {
	s64 insn;         /* the instruction that the log ends at, or -1 */
	const char *text; /* the essential line, inside of the log (not NUL-terminated), or NULL */
	u32 len;
	bool is_about_place; /* not the program is refused, but the function that it is to be attached to … */
	bool has_no_address; /* … because the kernel has no address of it */
};

struct vlog vlog_explain(const char *log);
