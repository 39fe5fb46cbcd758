/* SPDX-License-Identifier: GPL-2.0-only */
/* What a run has lost, on its way to the closing account (out/account.h). */
#pragma once

#include "run/session.h"

/* Descriptors of one program, and what they and the program tell of hits that never ran it. */
struct attached {
	u32 prog, fd_cnt;
	u64 missed;
	u64 told;         /* of missed and skipped ones together, -v */
	bool is_detached; /* before the end: --max-cpu */
};

/* How messages name the probe of a program: by its first place. Lives as long as the diag. */
const char *losses_probe(const struct session *s, u32 prog);

/* What was shown just now, of `where` (a map, a function), had strings that were cut, or frames without a name: adds them. */
void losses_shown(struct session *s, const struct span *at, const char *where);

/* At the end: adds what programs, maps and rings have counted. */
void losses_collect(struct session *s, const struct attached *attached, u32 attached_cnt);
