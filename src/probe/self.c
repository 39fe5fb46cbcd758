/* begin and end: programs that the tracer runs itself, before anything is attached and after everything is detached. They are raw
 * tracepoint programs that are attached to nothing and run by BPF_PROG_TEST_RUN, so pid, comm and their like are the tracer's. */
#include "kern/uapi.h"
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

static int attr(struct compile *c, const struct unit *u, struct prog_attr *attr, struct diag *d)
{
	(void)c, (void)u, (void)d;
	attr->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	return 0;
}

/* Nothing to do: the session runs the program. Each counts as one attached probe. */
static int attach(struct attach_ctx *ctx, const struct unit *u, int prog_fd)
{
	(void)ctx, (void)prog_fd;
	return u->site_cnt;
}

const struct provider provider_begin = {
	.name = "begin",
	.spec = "begin",
	.doc = "Runs once, before any other probe is attached.",
	.example = "begin { printf(\"tracing\\n\"); }",
	.flags = PROV_SELF | PROV_LIST_EXPLICIT,
	.parse = parse,
	.expand = expand,
	.attr = attr,
	.attach = attach,
};

const struct provider provider_end = {
	.name = "end",
	.spec = "end",
	.doc = "Runs once, after all other probes were detached.",
	.example = "interval:s:1 { @n++; exit(); } end { print(@n); clear(@n); }",
	.flags = PROV_SELF | PROV_END | PROV_LIST_EXPLICIT,
	.parse = parse,
	.expand = expand,
	.attr = attr,
	.attach = attach,
};
