/* SPDX-License-Identifier: GPL-2.0-only */
#include "out/cost.h"

#include "out/sink.h"

static void put_row(FILE *f, const char *hits, const char *each, double percent, const char *what)
{
	fprintf(f, "%12s %10s %8.2f %%  %s\n", hits, each, percent, what);
}

static void print_table(struct out *o, const struct cost_view *v)
{
	u64 total = v->own_ns;

	out_flush(o);
	fprintf(o->err, "\nCost of tracing in %.1f s (100 %% is all the time of %u CPU%s):\n%12s %10s %10s  %s\n",
		(double)v->elapsed_ns / 1e9, v->cpus, v->cpus == 1 ? "" : "s", "hits", "ns per hit", "CPU", "probe");
	for (u32 i = 0; i < v->cnt; i++) {
		const struct cost_row *r = &v->rows[i];
		char hits[24], each[24];

		snprintf(hits, sizeof(hits), "%llu", (unsigned long long)r->hits);
		snprintf(each, sizeof(each), "%llu", (unsigned long long)(r->hits ? r->ns / r->hits : 0));
		put_row(o->err, hits, each, cost_percent(r->ns, v->elapsed_ns, v->cpus), r->probe);
		total += r->ns;
	}
	put_row(o->err, "", "", cost_percent(v->own_ns, v->elapsed_ns, v->cpus), "sonde itself");
	put_row(o->err, "", "", cost_percent(total, v->elapsed_ns, v->cpus), "all of it");
	fflush(o->err);
}

void cost_print(struct out *o, const struct cost_view *v, const struct diag *d)
{
	if (o->sink->cost)
		o->sink->cost(o, v, d);
	else
		print_table(o, v);
}
