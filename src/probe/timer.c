/* SPDX-License-Identifier: GPL-2.0-only */
/* interval and profile: programs that run at a steady rate, on one CPU or on every CPU.
 *
 * Both are perf events of the software clock. The kernel turns a frequency into a fixed period for this clock anyway, so the
 * period is computed here: it is then not subject to kernel.perf_event_max_sample_rate, which the kernel lowers by itself on a
 * busy machine. site.num is the period in nanoseconds.
 */
#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/glob.h"
#include "kern/machine.h"
#include "image/uapi.h"
#include "probe/probe.h"

/* sorted, as -l shows them */
static const struct {
	const char *name;
	u64 ns; /* of one; 0: a frequency */
} time_units[] = { { "hz", 0 }, { "ms", 1000000 }, { "s", 1000000000 }, { "us", 1000 } };

/* The shortest accepted period: the kernel itself rounds up to 10 µs. */
#define MIN_PERIOD_NS 1000
/* the longest period of perf */
#define MAX_PERIOD_NS (~0ull >> 1)

/* A hint for a text that is not a duration: s, 99hz. */
static void hint_duration(struct diag *d, const char *provider, const char *text)
{
	size_t digits = strspn(text, "0123456789");

	for (u32 i = 0; i < ARRAY_CNT(time_units); i++) {
		if (!strcasecmp(text, time_units[i].name)) {
			diag_hint(d, "the number is missing: %s:%s:1", provider, time_units[i].name);
			return;
		}
	}
	if (digits && !strcasecmp(text + digits, "hz"))
		diag_hint(d, "a frequency is written %s:hz:%.*s", provider, (int)digits, text);
	else
		diag_hint(d, "write %s:100ms or %s:ms:100", provider, provider);
}

/* Reads the parts. With d NULL nothing is reported. *shown: unit and count, as `probe` has them. */
static bool read_parts(struct diag *d, const struct attach_point *ap, u64 *period, const char **shown_unit, u64 *shown)
{
	const char *provider = provider_find(ap->parts[0])->name;
	u64 n, ns = 0;
	u32 i;

	if (ap->part_cnt == 2) {
		/* interval:100ms; a bare number is nanoseconds */
		if (!probe_number(ap->parts[1], period)) {
			if (d) {
				diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a duration",
					   *ap->parts[1] ? ap->parts[1] : "\"\"");
				hint_duration(d, provider, ap->parts[1]);
			}
			return false;
		}
		if (*period < MIN_PERIOD_NS || *period > MAX_PERIOD_NS) {
			if (d)
				diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: %s is out of range", provider, ap->parts[1]);
			if (d && *period < MIN_PERIOD_NS)
				diag_hint(d, "a bare number is in nanoseconds; the shortest duration is 1us");
			return false;
		}
		*shown_unit = "us";
		*shown = *period / 1000;
		*period = *shown * 1000;
		return true;
	}
	for (i = 0; i < ARRAY_CNT(time_units) && !str_eq(ap->parts[1], time_units[i].name); i++)
		;
	if (i == ARRAY_CNT(time_units)) {
		if (d) {
			diag_error(d, ap->span, E_ATTACH_POINT, "%s is not an accepted unit of time", ap->parts[1]);
			diag_hint(d, "accepted units are hz, us, ms and s");
		}
		return false;
	}
	if (!probe_number(ap->parts[2], &n)) {
		if (d)
			diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a number", *ap->parts[2] ? ap->parts[2] : "\"\"");
		return false;
	}
	if (!n || (!time_units[i].ns && n > 1000000000 / MIN_PERIOD_NS) ||
	    (time_units[i].ns && (__builtin_mul_overflow(n, time_units[i].ns, &ns) || ns > MAX_PERIOD_NS))) {
		if (d)
			diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: %s %s is out of range", provider, ap->parts[2],
				   ap->parts[1]);
		return false;
	}
	*period = time_units[i].ns ? ns : 1000000000 / n;
	*shown_unit = time_units[i].name;
	*shown = n;
	return true;
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const char *unit;
	u64 period, n;

	for (u32 i = 1; i < ap->part_cnt; i++) {
		if (has_wildcard(ap->parts[i])) {
			diag_error(d, ap->span, E_ATTACH_POINT, "wildcards are not allowed for %s probe type",
				   provider_find(ap->parts[0])->name);
			return false;
		}
	}
	return probe_part_cnt(d, ap, 1, 2) && read_parts(d, ap, &period, &unit, &n);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *unit;
	struct site *s;
	u64 period, n;

	(void)d;
	if (!sink->c) {
		for (u32 i = 0; i < ARRAY_CNT(time_units); i++)
			if (ap->part_cnt < 2 || glob_match(ap->parts[1], time_units[i].name))
				sink->add(sink, arena_printf(sink->arena, "%s:%s:", p->name, time_units[i].name));
		return 0;
	}
	if (!read_parts(NULL, ap, &period, &unit, &n))
		return 0;
	s = sink->add(sink, arena_printf(sink->arena, "%s:%s:%llu", p->name, unit, (unsigned long long)n));
	s->num = period;
	return 0;
}

static void clock_event(struct perf_event_attr *ev, u64 period)
{
	*ev = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
	};
}

static int attach_interval(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0, cnt, *cpus = machine_online(&cnt), first = cnt ? cpus[0] : 0;

	free(cpus);
	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		struct perf_event_attr ev;
		int err;

		clock_event(&ev, s->num);
		err = probe_perf_attach(ctx, &ev, -1, first, prog_fd, u->site_first + i);
		if (err)
			probe_attach_failed(ctx, s, err, "cannot start the timer", NULL);
		else
			done++;
	}
	return done;
}

static int attach_profile(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		struct perf_event_attr ev;
		int err;

		clock_event(&ev, s->num);
		err = probe_perf_attach_all(ctx, &ev, prog_fd, u->site_first + i);
		if (err)
			probe_attach_failed(ctx, s, err, "cannot start the timer", NULL);
		else
			done++;
	}
	return done;
}

const struct provider provider_interval = {
	.name = "interval",
	.alias = "i",
	.spec = "interval:hz|s|ms|us:COUNT or interval:DURATION",
	.doc = "Runs at a steady rate on one CPU.",
	.example = "tracepoint:sched:sched_switch { @n = count(); } interval:s:1 { print(@n); clear(@n); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_LIST_EXPLICIT | PROV_RARE,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.lower_reg = probe_regs_reg,
	.attr = probe_perf_attr,
	.attach = attach_interval,
};

const struct provider provider_profile = {
	.name = "profile",
	.alias = "p",
	.spec = "profile:hz|s|ms|us:COUNT or profile:DURATION",
	.doc = "Runs at a steady rate on every CPU; with -p, only while the process runs.",
	.example = "profile:hz:99 { @[comm] = count(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_LIST_EXPLICIT | PROV_SAMPLES,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.lower_reg = probe_regs_reg,
	.attr = probe_perf_attr,
	.attach = attach_profile,
};
