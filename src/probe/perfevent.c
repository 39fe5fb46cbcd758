/* software and hardware: events that the kernel or the CPU counts; the program runs each time the count reaches the period.
 * site.num is the period, site.variant the row of the table. */
#include <errno.h>
#include <linux/perf_event.h>

#include "base/glob.h"
#include "kern/uapi.h"
#include "probe/probe.h"

struct event {
	const char *name;
	const char *alias;
	u32 config;
	u32 period; /* when none is given */
};

/* sorted by name, as -l shows them */
static const struct event software_events[] = {
	{ "alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1 },
	{ "bpf-output", NULL, PERF_COUNT_SW_BPF_OUTPUT, 1 },
	{ "context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 1000 },
	{ "cpu-clock", "cpu", PERF_COUNT_SW_CPU_CLOCK, 1000000 },
	{ "cpu-migrations", NULL, PERF_COUNT_SW_CPU_MIGRATIONS, 1 },
	{ "dummy", NULL, PERF_COUNT_SW_DUMMY, 1 },
	{ "emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, 1 },
	{ "major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
	{ "minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100 },
	{ "page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, 100 },
	{ "task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, 1 },
};

static const struct event hardware_events[] = {
	{ "backend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000 },
	{ "branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000 },
	{ "branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, 100000 },
	{ "bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, 100000 },
	{ "cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, 1000000 },
	{ "cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, 1000000 },
	{ "cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES, 1000000 },
	{ "frontend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000 },
	{ "instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, 1000000 },
	{ "ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000 },
};

extern const struct provider provider_software, provider_hardware;

static const struct event *table(const struct provider *p, u32 *cnt)
{
	bool is_sw = p == &provider_software;

	*cnt = is_sw ? ARRAY_CNT(software_events) : ARRAY_CNT(hardware_events);
	return is_sw ? software_events : hardware_events;
}

static const struct event *find_event(const struct provider *p, const char *name)
{
	u32 cnt;
	const struct event *ev = table(p, &cnt);

	for (u32 i = 0; i < cnt; i++)
		if (str_eq(ev[i].name, name) || (ev[i].alias && str_eq(ev[i].alias, name)))
			return &ev[i];
	return NULL;
}

/* A count may be left out, also behind its colon. */
static bool has_count(const struct attach_point *ap)
{
	return ap->part_cnt == 3 && *ap->parts[2];
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);
	u64 n;

	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	if (has_wildcard(ap->parts[1])) {
		diag_error(d, ap->span, E_ATTACH_POINT, "wildcards are not allowed for %s probe type", p->name);
		return false;
	}
	if (!find_event(p, ap->parts[1])) {
		const char *names[2 * ARRAY_CNT(software_events)], *near;
		u32 cnt, n_names = 0;
		const struct event *ev = table(p, &cnt);

		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a %s probe", *ap->parts[1] ? ap->parts[1] : "\"\"", p->name);
		for (u32 i = 0; i < cnt; i++) {
			names[n_names++] = ev[i].name;
			if (ev[i].alias)
				names[n_names++] = ev[i].alias;
		}
		near = nearest_name(ap->parts[1], names, n_names);
		if (near)
			diag_hint(d, "did you mean %s:%s?", p->name, near);
		else
			diag_hint(d, "list them with -l '%s:*'", p->name);
		return false;
	}
	if (has_count(ap) && !str_eq(ap->parts[2], "*") && (!probe_number(ap->parts[2], &n) || !n || n > ~0ull >> 1)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a count of events", ap->parts[2]);
		return false;
	}
	return true;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const struct event *ev;
	struct site *s;
	u64 n = 0;
	u32 cnt;

	(void)d;
	if (!sink->c) {
		ev = table(p, &cnt);
		for (u32 i = 0; i < cnt; i++)
			if (ap->part_cnt < 2 || glob_match(ap->parts[1], ev[i].name) ||
			    (ev[i].alias && glob_match(ap->parts[1], ev[i].alias)))
				sink->add(sink, arena_printf(sink->arena, "%s:%s:", p->name, ev[i].name));
		return 0;
	}
	ev = find_event(p, ap->parts[1]);
	if (has_count(ap) && probe_number(ap->parts[2], &n))
		s = sink->add(sink, arena_printf(sink->arena, "%s:%s:%llu", p->name, ap->parts[1], (unsigned long long)n));
	else
		s = sink->add(sink, arena_printf(sink->arena, "%s:%s", p->name, ap->parts[1]));
	s->num = n ? n : ev->period;
	s->variant = ev - table(p, &cnt);
	return 0;
}

static int attr(struct compile *c, const struct unit *u, struct prog_attr *attr, struct diag *d)
{
	(void)c, (void)u, (void)d;
	attr->type = BPF_PROG_TYPE_PERF_EVENT;
	return 0;
}

static int attach(struct attach_ctx *ctx, const struct unit *u, int prog_fd)
{
	bool is_sw = u->provider == &provider_software;
	const struct event *ev;
	u32 done = 0, cnt;

	ev = table(u->provider, &cnt);
	for (u32 i = 0; i < u->site_cnt; i++) {
		struct site *s = unit_site(ctx, u, i);
		struct perf_event_attr pe = {
			.type = is_sw ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
			.config = ev[s->variant].config,
			.sample_period = s->num,
		};
		const char *hint = NULL;
		int err;

		err = probe_perf_attach_all(ctx, &pe, prog_fd, u->site_first + i);
		if (!err) {
			done++;
			continue;
		}
		if (!is_sw && (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV))
			hint = "this machine does not count that event (a virtual machine often has no hardware counters)";
		probe_attach_failed(ctx, s, err, "cannot open the perf event", hint);
	}
	return done;
}

const struct provider provider_software = {
	.name = "software",
	.alias = "s",
	.spec = "software:EVENT[:COUNT]",
	.doc = "Runs after every COUNT events that the kernel counts: page-faults, context-switches, ….",
	.example = "software:page-faults:1 { @[comm] = count(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_hardware = {
	.name = "hardware",
	.alias = "h",
	.spec = "hardware:EVENT[:COUNT]",
	.doc = "Runs after every COUNT events that the CPU counts: cache-misses, cpu-cycles, ….",
	.example = "hardware:cache-misses:1000000 { @[comm] = count(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
};
