/* SPDX-License-Identifier: GPL-2.0-only */
/* software and hardware: events that the kernel or the CPU counts; the program runs each time the count reaches the period.
 * site.num is the period, site.target the event's name.
 *
 * Besides the names that all machines share, a hardware event can be a cache event, a number (rNNN), or an event of one of the
 * processor's PMUs: see kern/pmu.h. */
#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "kern/machine.h"
#include "kern/pmu.h"
#include "image/uapi.h"
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

/* Caches of the processor, with the names that perf(1) gives them: L1-dcache-loads, L1-dcache-load-misses, … */
static const struct {
	const char *name;
	u32 id;
	const char *ops; /* those that make sense: r, w, p */
} caches[] = {
	{ "L1-dcache", PERF_COUNT_HW_CACHE_L1D, "rwp" }, { "L1-icache", PERF_COUNT_HW_CACHE_L1I, "rp" },
	{ "LLC", PERF_COUNT_HW_CACHE_LL, "rwp" },        { "branch", PERF_COUNT_HW_CACHE_BPU, "r" },
	{ "dTLB", PERF_COUNT_HW_CACHE_DTLB, "rwp" },     { "iTLB", PERF_COUNT_HW_CACHE_ITLB, "r" },
	{ "node", PERF_COUNT_HW_CACHE_NODE, "rwp" },
};

static const struct {
	char letter;
	u32 id;
	const char *accesses, *misses;
} cache_ops[] = {
	{ 'r', PERF_COUNT_HW_CACHE_OP_READ, "loads", "load-misses" },
	{ 'w', PERF_COUNT_HW_CACHE_OP_WRITE, "stores", "store-misses" },
	{ 'p', PERF_COUNT_HW_CACHE_OP_PREFETCH, "prefetches", "prefetch-misses" },
};
#define CACHE_PERIOD 1000000
#define PMU_PERIOD 1000000

extern const struct provider provider_software, provider_hardware;

/* An event as perf_event_open(2) wants it. */
struct found {
	struct pmu_event ev;
	u64 period;
};

static const struct event *table(const struct provider *p, u32 *cnt)
{
	bool is_sw = p == &provider_software;

	*cnt = is_sw ? ARRAY_CNT(software_events) : ARRAY_CNT(hardware_events);
	return is_sw ? software_events : hardware_events;
}

/* Calls fn with the name of each cache event, until it returns true. */
static bool each_cache(bool (*fn)(void *arg, const char *name, u64 config), void *arg)
{
	char name[64];

	for (u32 i = 0; i < ARRAY_CNT(caches); i++) {
		for (u32 k = 0; k < ARRAY_CNT(cache_ops); k++) {
			if (!strchr(caches[i].ops, cache_ops[k].letter))
				continue;
			for (u32 missed = 0; missed < 2; missed++) {
				snprintf(name, sizeof(name), "%s-%s", caches[i].name,
					 missed ? cache_ops[k].misses : cache_ops[k].accesses);
				if (fn(arg, name,
				       caches[i].id | cache_ops[k].id << 8 |
					       (u64)(missed ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS)
						       << 16))
					return true;
			}
		}
	}
	return false;
}

struct search {
	const char *name;
	u64 config;
	char *pmu; /* malloc'ed */
};

static bool is_cache(void *arg, const char *name, u64 config)
{
	struct search *s = arg;

	s->config = config;
	return str_eq(s->name, name);
}

/* rNNN: an event by its number, as the processor's manual has it. */
static bool read_raw(const char *name, u64 *config)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((u8)name[1]))
		return false;
	*config = strtoull(name + 1, &end, 16);
	return !*end && end - name <= 17;
}

static void match_pmu(void *arg, const char *pmu, const char *name)
{
	struct search *s = arg;

	if (!s->pmu && str_eq(s->name, name))
		s->pmu = xstrdup(pmu);
}

/* "cpu/event=0x3c,umask=1/": *terms is malloc'ed, and the unit's name in front of it. */
static bool split_pmu(const char *name, char **pmu, char **terms)
{
	size_t len = strlen(name);
	const char *slash = strchr(name, '/');

	if (!slash || len < 2 || name[len - 1] != '/' || slash == name + len - 1)
		return false;
	*pmu = xstrdup(name);
	(*pmu)[slash - name] = 0;
	*terms = *pmu + (slash - name) + 1;
	(*pmu)[len - 1] = 0;
	return true;
}

/* 0, or -errno: no event has this name; *why may say more. */
static int find_event(const struct machine *m, const struct provider *p, const char *name, struct found *f, struct sbuf *why)
{
	struct search s = { .name = name };
	char *pmu, *terms;
	const struct event *ev;
	u32 cnt;
	int err;

	ev = table(p, &cnt);
	for (u32 i = 0; i < cnt; i++) {
		if (str_eq(ev[i].name, name) || (ev[i].alias && str_eq(ev[i].alias, name))) {
			*f = (struct found){ { p == &provider_software ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
					       { ev[i].config } },
					     ev[i].period };
			return 0;
		}
	}
	if (p == &provider_software)
		return -ENOENT;
	if (each_cache(is_cache, &s)) {
		*f = (struct found){ { PERF_TYPE_HW_CACHE, { s.config } }, CACHE_PERIOD };
		return 0;
	}
	f->period = PMU_PERIOD;
	if (read_raw(name, &s.config)) {
		f->ev = (struct pmu_event){ PERF_TYPE_RAW, { s.config } };
		return 0;
	}
	if (split_pmu(name, &pmu, &terms)) {
		err = m->pmu_event(pmu, terms, &f->ev, why);
		free(pmu);
		return err;
	}
	/* A name alone belongs to the first PMU that has it. */
	m->each_pmu_event(match_pmu, &s);
	if (!s.pmu)
		return -ENOENT;
	err = m->pmu_event(s.pmu, name, &f->ev, why);
	free(s.pmu);
	return err;
}

/* The count may be left out, also after its colon. */
static bool has_count(const struct attach_point *ap)
{
	return ap->part_cnt == 3 && *ap->parts[2];
}

struct names {
	struct arena *arena;
	vec(const char *) all;
};

static bool add_cache(void *arg, const char *name, u64 config)
{
	struct names *n = arg;

	(void)config;
	avec_push(n->arena, &n->all, arena_strdup(n->arena, name));
	return false;
}

static void unknown_event(struct diag *d, const struct provider *p, const struct attach_point *ap, const char *why)
{
	struct names n = { .arena = d->arena };
	const char *near;
	u32 cnt;
	const struct event *ev = table(p, &cnt);

	diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a %s probe%s%s", *ap->parts[1] ? ap->parts[1] : "\"\"", p->name,
		   *why ? ": " : "", why);
	for (u32 i = 0; i < cnt; i++) {
		avec_push(n.arena, &n.all, ev[i].name);
		if (ev[i].alias)
			avec_push(n.arena, &n.all, ev[i].alias);
	}
	if (p == &provider_hardware)
		each_cache(add_cache, &n);
	near = nearest_name(ap->parts[1], n.all.at, n.all.cnt);
	if (near)
		diag_hint(d, "did you mean %s:%s?", p->name, near);
	else
		diag_hint(d, "list them with -l '%s:*'", p->name);
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);

	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	if (has_wildcard(ap->parts[1])) {
		diag_error(d, ap->span, E_ATTACH_POINT, "wildcards are not allowed for %s probe type", p->name);
		diag_hint(d, "list the events with -l '%s:%s'", p->name, ap->parts[1]);
		return false;
	}
	return true;
}

struct listing {
	struct site_sink *sink;
	const struct provider *p;
	const char *pattern; /* NULL: all */
};

static void list_one(struct listing *l, const char *name, const char *alias)
{
	if (!l->pattern || glob_match(l->pattern, name) || (alias && glob_match(l->pattern, alias)))
		l->sink->add(l->sink, arena_printf(l->sink->arena, "%s:%s:", l->p->name, name));
}

static bool list_cache(void *arg, const char *name, u64 config)
{
	(void)config;
	list_one(arg, name, NULL);
	return false;
}

static void list_pmu(void *arg, const char *pmu, const char *name)
{
	struct listing *l = arg;

	list_one(l, arena_printf(l->sink->arena, "%s/%s/", pmu, name), name);
}

static int list(struct site_sink *sink, const struct provider *p, const struct attach_point *ap)
{
	struct listing l = { sink, p, ap->part_cnt < 2 ? NULL : ap->parts[1] };
	u32 cnt;
	const struct event *ev = table(p, &cnt);

	for (u32 i = 0; i < cnt; i++) {
		list_one(&l, ev[i].name, NULL);
		if (ev[i].alias)
			list_one(&l, ev[i].alias, NULL);
	}
	if (p == &provider_hardware) {
		each_cache(list_cache, &l);
		sink->target->machine->each_pmu_event(list_pmu, &l);
	}
	return 0;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	struct sbuf why = {};
	struct found f = {};
	struct site *s;
	u64 n = 0;
	int err;

	if (!sink->c)
		return list(sink, p, ap);
	err = find_event(sink->target->machine, p, ap->parts[1], &f, &why);
	if (err)
		unknown_event(d, p, ap, sbuf_str(&why));
	sbuf_release(&why);
	if (err)
		return 0;
	if (has_count(ap) && !str_eq(ap->parts[2], "*") && (!probe_number(ap->parts[2], &n) || !n || n > ~0ull >> 1)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a count of events", ap->parts[2]);
		return 0;
	}
	if (has_count(ap) && probe_number(ap->parts[2], &n))
		s = sink->add(sink, arena_printf(sink->arena, "%s:%s:%llu", p->name, ap->parts[1], (unsigned long long)n));
	else
		s = sink->add(sink, arena_printf(sink->arena, "%s:%s", p->name, ap->parts[1]));
	s->num = n ? n : f.period;
	s->target = ap->parts[1];
	return 0;
}

static const char *hint_of(const struct provider *p, int err)
{
	if (p != &provider_hardware)
		return NULL;
	switch (-err) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENXIO:
		return pmu_has_core(PMU_ROOT) ? "this machine's processor does not count that event" :
						"this machine has no hardware counters; a virtual machine often has none";
	case EINVAL:
		return "this PMU may be able to count, but not to interrupt; or its event needs other terms";
	}
	return NULL;
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		struct sbuf why = {};
		struct found f = {};
		struct perf_event_attr pe = {};
		int err = find_event(&kern_machine, u->provider, s->target, &f, &why);

		pe.type = f.ev.type;
		pe.config = f.ev.config[0];
		pe.config1 = f.ev.config[1];
		pe.config2 = f.ev.config[2];
		pe.sample_period = s->num;
		if (!err)
			err = probe_perf_attach_all(ctx, &pe, prog_fd, u->site_first + i);
		if (err)
			probe_attach_failed(ctx, s, err, "cannot open the perf event", hint_of(u->provider, err));
		else
			done++;
		sbuf_release(&why);
	}
	return done;
}

const struct provider provider_software = {
	.name = "software",
	.alias = "s",
	.spec = "software:EVENT[:COUNT]",
	.doc = "Runs after every COUNT events that the kernel counts: page-faults, context-switches, ….",
	.example = "software:page-faults:1 { @[comm] = count(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_SAMPLES,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.lower_reg = probe_regs_reg,
	.attr = probe_perf_attr,
	.attach = attach,
};

const struct provider provider_hardware = {
	.name = "hardware",
	.alias = "h",
	.spec = "hardware:EVENT[:COUNT]",
	.doc = "Runs after every COUNT events that the CPU counts. EVENT is a generic event (cache-misses, cpu-cycles, …), a cache event (L1-dcache-load-misses, …), rNNN with "
	       "an event number from the processor's manual, or PMU/NAME/ or PMU/TERM=VALUE,…/ as in /sys/bus/event_source/devices (in quotes if it has a comma).",
	.example = "hardware:cache-misses:1000000 { @[comm] = count(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_SAMPLES,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.lower_reg = probe_regs_reg,
	.attr = probe_perf_attr,
	.attach = attach,
};
