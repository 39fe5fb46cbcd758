/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/vlog.h"

#include <ctype.h>
#include <stdlib.h>

/* A line of the log that is about the whole run, not about the error. */
static bool is_summary(const char *p, u32 len)
{
	static const char *const starts[] = { "processed ", "verification time", "stack depth",
					      "max_states", "mark_precise",      "propagating" };

	for (u32 i = 0; i < ARRAY_CNT(starts); i++)
		if (len >= strlen(starts[i]) && !strncmp(p, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* "12: (bf) r6 = r1" is instruction 12; "12: R1=ctx() R10=fp0" is the state before it; "; text @ file:3" a source line. */
static s64 insn_of(const char *p, u32 len)
{
	char *end;
	u64 n;

	if (!len || !isdigit((u8)*p))
		return -1;
	n = strtoul(p, &end, 10);
	return end + 1 < p + len && *end == ':' && end[1] == ' ' ? (s64)n : -1;
}

static bool is_state(const char *p, u32 len)
{
	/* "from 5 to 9: R0=…", "R0=inv(id=0) R1_w=…" */
	if (len > 5 && !strncmp(p, "from ", 5))
		return true;
	return len > 3 && *p == 'R' && isdigit((u8)p[1]) && (p[2] == '=' || (p[2] == '_' && len > 4));
}

/* "unreachable insn 7", "back-edge from insn 5 to 2" */
static s64 insn_in_text(const char *p, u32 len)
{
	const char *at = memmem(p, len, "insn ", 5);

	return at && at + 5 < p + len && isdigit((u8)at[5]) ? (s64)strtoul(at + 5, NULL, 10) : -1;
}

#define NO_ADDRESS "cannot be found"

/* What the kernel says of a function that no program can be attached to, before it looks at the program: "The address of function
 * %s cannot be found", "The function %s has %d arguments. Too many.", "Attaching tracing programs to function '%s' is rejected."
 */
static bool is_about_place(const char *p, u32 len)
{
	static const char *const texts[] = { NO_ADDRESS,      "The function ", "Attaching ",         "is not a function",
					     "doesn't exist", "JITed",         "recursively attach", "is not sleepable" };

	for (u32 i = 0; i < ARRAY_CNT(texts); i++)
		if (memmem(p, len, texts[i], strlen(texts[i])))
			return true;
	return false;
}

struct vlog vlog_explain(const char *log)
{
	struct vlog v = { .insn = -1 };
	const char *p = log;

	while (*p) {
		const char *nl = strchrnul(p, '\n');
		u32 len = nl - p;
		s64 insn = insn_of(p, len);

		if (insn >= 0) {
			v.insn = insn;
			/* An error follows its instruction: an earlier candidate is not the error. */
			v.text = NULL;
		} else if (len && *p != ';' && !is_summary(p, len) && !is_state(p, len)) {
			/* The first line after an instruction is the error, explanations follow. Without instructions: the last
			 * line. */
			if (!v.text || v.insn < 0) {
				v.text = p;
				v.len = len;
			}
		}
		p = *nl ? nl + 1 : nl;
	}
	if (v.text && v.insn < 0)
		v.insn = insn_in_text(v.text, v.len);
	v.has_no_address = v.text && memmem(v.text, v.len, NO_ADDRESS, strlen(NO_ADDRESS));
	v.is_about_place = v.text && v.insn < 0 && is_about_place(v.text, v.len);
	return v;
}
