/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/perfmap.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
	const struct jit_sym *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void perfmap_parse(struct arena *a, char *text, struct perfmap *out)
{
	char *save, *line;

	out->syms.cnt = 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at, *end;
		struct jit_sym s;

		s.start = strtoull(line, &at, 16);
		if (at == line || *at != ' ')
			continue;
		s.size = strtoull(at, &end, 16);
		if (end == at || *end != ' ' || !s.size)
			continue;
		s.name = arena_strdup(a, end + strspn(end, " "));
		vec_push(&out->syms, s);
	}
	if (out->syms.cnt)
		qsort(out->syms.at, out->syms.cnt, sizeof(*out->syms.at), by_start);
}

const struct jit_sym *perfmap_find(const struct perfmap *m, u64 addr)
{
	u32 lo = 0, hi = m->syms.cnt;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (m->syms.at[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - m->syms.at[lo - 1].start < m->syms.at[lo - 1].size ? &m->syms.at[lo - 1] : NULL;
}
