/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of /tmp/perf-PID.map, which any process writes. */
#include "fuzz.h"
#include "sym/perfmap.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct arena arena;
	struct perfmap map = {};
	char *text = fuzz_text(data, len);

	arena_init(&arena);
	perfmap_parse(&arena, text, &map);
	vec_for(s, &map.syms) {
		const struct jit_sym *found = perfmap_find(&map, s->start);

		if (!found || found->start != s->start)
			abort();
		perfmap_find(&map, s->start + s->size);
	}
	vec_free(&map.syms);
	arena_release(&arena);
	free(text);
	return 0;
}
