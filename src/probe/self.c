/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that the tracer runs itself: begin and end, before anything is attached and after everything is detached; self, when
 * the tracer gets a signal; test and bench, in their modes. They are raw tracepoint programs that are attached to nothing and run
 * by BPF_PROG_TEST_RUN, so pid, comm and their like are the tracer's. */
#include "base/glob.h"
#include "image/uapi.h"
#include "probe/probe.h"

static bool parse(struct diag *d, const struct attach_point *ap)
{
	if (ap->part_cnt == 1)
		return true;
	diag_error(d, ap->span, E_ATTACH_POINT, "begin/end probes should not have a target");
	return false;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	(void)d;
	sink->add(sink, provider_find(ap->parts[0])->name);
	return 0;
}

static void attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	(void)c, (void)u;
	attr->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
}

/* Nothing to do: the session runs the program. Each counts as one attached probe. */
static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	(void)ctx, (void)prog_fd;
	return u->site_cnt;
}

/* ---- self ---- */

static bool parse_self(struct diag *d, const struct attach_point *ap)
{
	if (!probe_part_cnt(d, ap, 2, 2))
		return false;
	if (!str_eq(ap->parts[1], "signal")) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a supported trigger", *ap->parts[1] ? ap->parts[1] : "\"\"");
		diag_hint(d, "the only one is a signal: self:signal:SIGUSR1");
		return false;
	}
	if (!str_eq(ap->parts[2], "SIGUSR1")) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a supported signal", *ap->parts[2] ? ap->parts[2] : "\"\"");
		diag_hint(d, "the only one is SIGUSR1");
		return false;
	}
	return true;
}

static int expand_self(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	(void)d;
	if ((ap->part_cnt < 2 || glob_match(ap->parts[1], "signal")) && (ap->part_cnt < 3 || glob_match(ap->parts[2], "SIGUSR1")))
		sink->add(sink, "self:signal:SIGUSR1");
	return 0;
}

/* ---- test, bench ---- */

static bool parse_named(struct diag *d, const struct attach_point *ap)
{
	if (!probe_part_cnt(d, ap, 1, 1))
		return false;
	if (*ap->parts[1] && !has_wildcard(ap->parts[1]))
		return true;
	diag_error(d, ap->span, E_ATTACH_POINT, "a %s needs a name of its own", provider_find(ap->parts[0])->name);
	diag_hint(d, "write it as %s", provider_find(ap->parts[0])->spec);
	return false;
}

/* An attach point of the same kind and name that stands before this one, or NULL. */
static const struct attach_point *earlier(const struct script *s, const struct attach_point *ap)
{
	vec_for(p, &s->probes) {
		for (u32 i = 0; i < (*p)->ap_cnt; i++) {
			const struct attach_point *o = &(*p)->aps[i];

			if (o == ap)
				return NULL;
			if (o->part_cnt == 2 && provider_find(o->parts[0]) == provider_find(ap->parts[0]) &&
			    str_eq(o->parts[1], ap->parts[1]))
				return o;
		}
	}
	return NULL;
}

static int expand_named(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const char *kind = provider_find(ap->parts[0])->name;
	const struct attach_point *first;
	u32 line, col;

	if (!sink->c)
		return 0; /* the system has none */
	first = earlier(sink->c->script, ap);
	if (first) {
		diag_locate(d, first->span, &line, &col);
		diag_error(d, ap->span, E_REDECLARED, "there is a %s called %s already", kind, ap->parts[1]);
		diag_hint(d, "the first one is at line %u", line);
		return 0;
	}
	sink->add(sink, arena_printf(sink->arena, "%s:%s", kind, ap->parts[1]));
	return 0;
}

/* Each has its own program. */
static u64 key_of_name(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	u64 key = 1469598103934665603ull;

	(void)c, (void)uses;
	for (const char *p = s->name; *p; p++)
		key = (key ^ (u8)*p) * 1099511628211ull;
	return key;
}

const struct provider provider_self = {
	.name = "self",
	.spec = "self:signal:SIGUSR1",
	.doc = "Runs in the tracer itself, when it gets the signal SIGUSR1.",
	.example = "tracepoint:sched:sched_switch { @n = count(); } self:signal:SIGUSR1 { print(@n); }",
	.flags = PROV_SELF | PROV_TRIGGER | PROV_RARE,
	.parse = parse_self,
	.expand = expand_self,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_test = {
	.name = "test",
	.spec = "test:NAME",
	.doc = "A test of the script: runs once with --test, and only then. It passes if it returns 0, calls neither exit() with a number other than 0 nor "
	       "errorf(), and causes no run-time error.",
	.example = "test:shift { if (1 << 4 != 16) { errorf(\"wrong\"); } }",
	.flags = PROV_SELF | PROV_TEST | PROV_LIST_EXPLICIT,
	.parse = parse_named,
	.expand = expand_named,
	.share_key = key_of_name,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_bench = {
	.name = "bench",
	.spec = "bench:NAME",
	.doc = "Measures how long its statements take: runs many times with --bench, and only then. A benchmark that does not return 0 is skipped.",
	.example = "bench:count { @ = count(); }",
	.flags = PROV_SELF | PROV_BENCH | PROV_LIST_EXPLICIT,
	.parse = parse_named,
	.expand = expand_named,
	.share_key = key_of_name,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_begin = {
	.name = "begin",
	.spec = "begin",
	.doc = "Runs once, before any other probe is attached.",
	.example = "begin { printf(\"tracing\\n\"); }",
	.flags = PROV_SELF | PROV_LIST_EXPLICIT | PROV_RARE,
	.parse = parse,
	.expand = expand,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_end = {
	.name = "end",
	.spec = "end",
	.doc = "Runs once, after all other probes are detached.",
	.example = "interval:s:1 { @n++; exit(); } end { print(@n); clear(@n); }",
	.flags = PROV_SELF | PROV_END | PROV_LIST_EXPLICIT | PROV_RARE,
	.parse = parse,
	.expand = expand,
	.attr = attr,
	.attach = attach,
};
