/* SPDX-License-Identifier: GPL-2.0-only */
/* A test passes if its program returns 0, exit() was not called with another number, and no error was reported: by errorf() and
 * assert(), or because something went wrong inside of the program. What it prints is kept, and shown only if it failed.
 *
 * A benchmark is run more and more often, until all runs together took long enough to be worth dividing. */
#include "run/suite.h"

#include <stdlib.h>

#include "run/command.h"
#include "run/loop.h"

#define BENCH_ENOUGH_NS 1000000ull /* runs together … */
#define BENCH_TIME_NS 500000000ull /* … or so much by the clock on the wall, with what is around each run */
#define BENCH_TIMES_MAX (1u << 24)
#define BENCH_SETTLE 10 /* runs before the first one that counts */

/* Output of one run goes to memory, as text. */
struct capture {
	struct out saved;
	char *text;
	size_t len;
};

static void capture_begin(struct session *s, struct capture *c)
{
	c->saved = s->out;
	s->out.file = s->out.err = open_memstream(&c->text, &c->len);
	BUG_ON(!s->out.file);
	s->out.sink = sink_find("text");
	s->out.colour = false;
	s->out.error_cnt = 0;
	s->exiting = s->exit_called = s->ignoring = false;
	s->exit_code = 0;
	faults_reset(s);
}

/* Whether it went well. */
static bool capture_end(struct session *s, struct capture *c)
{
	bool ok = !s->exit_code && !s->out.error_cnt;

	fclose(s->out.file);
	c->saved.buf = s->out.buf;
	s->out = c->saved;
	s->exit_code = 0;
	s->exiting = s->exit_called = s->ignoring = false;
	return ok;
}

static int run_once(struct session *s, u32 prog, u32 *result)
{
	int err = s->obj->ops->prog_run(s->obj, prog, result);

	session_drain(s);
	commands_finish(s);
	return err;
}

static void run_test(struct session *s, u32 prog, struct suite_result *r)
{
	struct capture c = {};
	u64 begin;
	u32 result = 0;
	int err;

	capture_begin(s, &c);
	begin = clock_ns(CLOCK_MONOTONIC);
	err = run_once(s, prog, &result);
	r->ns = clock_ns(CLOCK_MONOTONIC) - begin;
	if (err)
		fprintf(s->out.file, "ERROR: the test could not be run: %s\n", strerror(-err));
	else if (result)
		fprintf(s->out.file, "returned %d\n", (int)result);
	r->state = capture_end(s, &c) && !err && !result ? SUITE_PASSED : SUITE_FAILED;
	r->output = c.text;
	r->output_len = c.len;
}

static void run_bench(struct session *s, u32 prog, struct suite_result *r)
{
	u64 begin = clock_ns(CLOCK_MONOTONIC), ns = 0;
	struct capture c = {};
	u32 result = 0, times;
	int err = 0;

	capture_begin(s, &c);
	for (u32 i = 0; i < BENCH_SETTLE && !err && !result && !s->out.error_cnt; i++)
		err = run_once(s, prog, &result);
	for (times = 256; !err && !result && !s->out.error_cnt; times *= 4) {
		r->times = times;
		err = s->obj->ops->prog_time(s->obj, prog, times, &ns);
		session_drain(s);
		if (ns >= BENCH_ENOUGH_NS || times >= BENCH_TIMES_MAX || clock_ns(CLOCK_MONOTONIC) - begin > BENCH_TIME_NS ||
		    s->out.error_cnt || signals_caught())
			break;
	}
	r->ns = r->times ? (ns + r->times / 2) / r->times : 0;
	if (err)
		fprintf(s->out.file, "ERROR: the benchmark could not be run: %s\n", strerror(-err));
	r->state = !capture_end(s, &c) || err ? SUITE_FAILED : result ? SUITE_SKIPPED : SUITE_PASSED;
	r->output = c.text;
	r->output_len = c.len;
}

bool suite_run(struct session *s)
{
	struct suite suite = { .is_bench = s->image->mode == RUN_BENCHES };
	u32 *progs = xzalloc(s->image->progs.cnt * sizeof(*progs));
	bool ok = true;

	suite.results = xzalloc(s->image->progs.cnt * sizeof(*suite.results));
	for (u32 i = 0; i < s->image->progs.cnt; i++) {
		const struct image_prog *p = &s->image->progs.at[i];

		if (!(p->flags & (PROV_TEST | PROV_BENCH)))
			continue; /* begin, end */
		progs[suite.cnt] = i;
		suite.results[suite.cnt++].name = strchr(s->image->sites.at[p->site_first].name, ':') + 1;
	}
	s->out.sink->suite(&s->out, &suite, SUITE_BEGIN);
	for (; suite.at < suite.cnt && !signals_caught(); suite.at++) {
		struct suite_result *r = &suite.results[suite.at];

		s->out.sink->suite(&s->out, &suite, SUITE_RUN);
		if (suite.is_bench)
			run_bench(s, progs[suite.at], r);
		else
			run_test(s, progs[suite.at], r);
		s->out.sink->suite(&s->out, &suite, SUITE_DONE);
		out_flush(&s->out);
	}
	suite.cnt = suite.at;
	s->out.sink->suite(&s->out, &suite, SUITE_END);
	for (u32 i = 0; i < suite.cnt; i++) {
		ok &= suite.results[i].state != SUITE_FAILED;
		free(suite.results[i].output);
	}
	free(suite.results);
	free(progs);
	return ok && !signals_caught();
}
