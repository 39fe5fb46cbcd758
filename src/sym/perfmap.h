/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of code that was compiled at run time: the text of /tmp/perf-PID.map, which the process itself writes. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

struct jit_sym {
	u64 start, size;
	const char *name;
};

struct perfmap {
	vec(struct jit_sym) syms; /* sorted; whoever has the map frees it */
};

/* Lines of "START SIZE NAME", numbers in hexadecimal; others are skipped. Replaces what was there before. The text is changed;
 * names are copied to the arena. */
void perfmap_parse(struct arena *a, char *text, struct perfmap *out);
/* NULL: nothing has the address. */
const struct jit_sym *perfmap_find(const struct perfmap *m, u64 addr);
