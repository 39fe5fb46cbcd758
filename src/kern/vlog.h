/* What the verifier's log says, in a sentence: which instruction it did not accept and why. */
#pragma once

#include "base/base.h"

struct vlog {
	s64 insn;         /* the instruction that the log ends at, or -1 */
	const char *text; /* the essential line, inside of the log (not NUL-terminated), or NULL */
	u32 len;
};

struct vlog vlog_explain(const char *log);
