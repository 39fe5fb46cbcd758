/* SPDX-License-Identifier: GPL-2.0-only */
/* --mode compiler-bench: how long each stage of the compiler takes for a script. */
#include <stdio.h>
#include <time.h>

#include "bpf/build.h"
#include "cli/cli.h"

#define ENOUGH_NS 500000000ull
#define TIMES_MIN 10

enum stage { STAGE_PARSE, STAGE_EXPAND, STAGE_CHECK, STAGE_IMAGE, STAGE_CNT };

static const char *const names[] = { "parse", "match probes", "check", "generate code" };

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* One compilation from the text on; adds what each stage took. */
static bool compile_once(const struct compile *proto, u32 src, u64 took[STAGE_CNT])
{
	const struct source *s = &proto->diag->sources.at[src];
	struct compile c = *proto;
	struct arena arena;
	struct diag diag;
	u64 at[STAGE_CNT + 1];
	bool ok;

	arena_init(&arena);
	diag_init(&diag, &arena);
	c.arena = &arena;
	c.diag = &diag;
	src = diag_add_source(&diag, s->name, s->text, s->len);
	at[STAGE_PARSE] = now();
	ok = lang_parse(&c, src) && lang_config(&c);
	at[STAGE_EXPAND] = now();
	ok = ok && lang_expand(&c);
	at[STAGE_CHECK] = now();
	ok = ok && lang_check(&c);
	at[STAGE_IMAGE] = now();
	ok = ok && image_build(&c);
	at[STAGE_CNT] = now();
	for (u32 i = 0; i < STAGE_CNT; i++)
		took[i] += at[i + 1] - at[i];
	if (!ok)
		show_diag(&diag, DIAG_ERROR);
	arena_release(&arena);
	return ok;
}

int compiler_bench(const struct compile *c, u32 src)
{
	u64 took[STAGE_CNT] = {}, begin = now();
	u32 times = 0;

	if (!compile_once(c, src, took)) /* this one, too, so that files are read and memory is there */
		return 1;
	memset(took, 0, sizeof(took));
	for (; times < TIMES_MIN || now() - begin < ENOUGH_NS; times++)
		if (!compile_once(c, src, took))
			return 1;
	printf("%-41s%-15s%s\n------------------------------------------------------------------\n", "Stage", "Time(ns)",
	       "Iterations");
	for (u32 i = 0; i < STAGE_CNT; i++)
		printf("%-41s%-15llu%u\n", names[i], (unsigned long long)(took[i] / times), times);
	return 0;
}
