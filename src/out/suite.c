/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests and benchmarks in the text format: tests as GoogleTest shows them, which many tools can read. */
#include <inttypes.h>

#include "out/value.h"

static void mark(struct out *o, bool is_good, const char *text)
{
	sbuf_printf(&o->buf, o->colour ? is_good ? "\033[32m%s\033[m " : "\033[31m%s\033[m " : "%s ", text);
}

static const char *plural(u32 n)
{
	return n == 1 ? "" : "s";
}

static void put_time(struct out *o, u64 ns)
{
	if (ns < 10000)
		sbuf_printf(&o->buf, " (%" PRIu64 " ns)\n", ns);
	else if (ns < 10000000)
		sbuf_printf(&o->buf, " (%" PRIu64 " us)\n", ns / 1000);
	else
		sbuf_printf(&o->buf, " (%" PRIu64 " ms)\n", ns / 1000000);
}

static void put_tests_end(struct out *o, const struct suite *s)
{
	u32 failed = 0;

	for (u32 i = 0; i < s->cnt; i++)
		failed += s->results[i].state == SUITE_FAILED;
	mark(o, true, "[==========]");
	sbuf_printf(&o->buf, "%u test%s ran.\n", s->cnt, plural(s->cnt));
	mark(o, true, "[  PASSED  ]");
	sbuf_printf(&o->buf, "%u test%s.\n", s->cnt - failed, plural(s->cnt - failed));
	if (!failed)
		return;
	mark(o, false, "[  FAILED  ]");
	sbuf_printf(&o->buf, "%u test%s, listed below:\n", failed, plural(failed));
	for (u32 i = 0; i < s->cnt; i++) {
		if (s->results[i].state != SUITE_FAILED)
			continue;
		mark(o, false, "[  FAILED  ]");
		sbuf_printf(&o->buf, "%s\n", s->results[i].name);
	}
}

static void put_output(struct out *o, const struct suite_result *r)
{
	sbuf_add(&o->buf, r->output, r->output_len);
	if (r->output_len && r->output[r->output_len - 1] != '\n')
		sbuf_putc(&o->buf, '\n');
}

static void put_tests(struct out *o, const struct suite *s, enum suite_step step)
{
	const struct suite_result *r = &s->results[s->at];

	switch (step) {
	case SUITE_BEGIN:
		mark(o, true, "[==========]");
		sbuf_printf(&o->buf, "Running %u test%s.\n", s->cnt, plural(s->cnt));
		break;
	case SUITE_RUN:
		mark(o, true, "[ RUN      ]");
		sbuf_printf(&o->buf, "%s\n", r->name);
		break;
	case SUITE_DONE:
		if (r->state == SUITE_FAILED)
			put_output(o, r);
		mark(o, r->state != SUITE_FAILED, r->state != SUITE_FAILED ? "[       OK ]" : "[  FAILED  ]");
		sbuf_puts(&o->buf, r->name);
		put_time(o, r->ns);
		break;
	case SUITE_END:
		put_tests_end(o, s);
		break;
	}
}

static void put_benches(struct out *o, const struct suite *s, enum suite_step step)
{
	const struct suite_result *r = &s->results[s->at];
	u32 width = 40;

	for (u32 i = 0; i < s->cnt; i++)
		width = MAX(width, (u32)strlen(s->results[i].name));
	width++;
	switch (step) {
	case SUITE_BEGIN:
		sbuf_printf(&o->buf, "%-*s%-15s%s\n", (int)width, "Benchmark", "Time(ns)", "Iterations");
		sbuf_fill(&o->buf, '-', width + 15 + strlen("Iterations"));
		sbuf_putc(&o->buf, '\n');
		break;
	case SUITE_RUN:
	case SUITE_END:
		break;
	case SUITE_DONE:
		sbuf_printf(&o->buf, "%-*s", (int)width, r->name);
		if (r->state == SUITE_PASSED)
			sbuf_printf(&o->buf, "%-15" PRIu64 "%u\n", r->ns, r->times);
		else
			sbuf_puts(&o->buf, r->state == SUITE_SKIPPED ? "skipped\n" : "failed\n");
		if (r->state == SUITE_FAILED)
			put_output(o, r);
		break;
	}
}

void text_suite(struct out *o, const struct suite *s, enum suite_step step)
{
	sbuf_reset(&o->buf);
	if (s->is_bench)
		put_benches(o, s, step);
	else
		put_tests(o, s, step);
	out_write(o, sbuf_str(&o->buf), o->buf.len);
}
