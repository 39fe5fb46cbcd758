/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/cost.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kern/machine.h"
#include "kern/progstats.h"
#include "out/cost.h"
#include "run/loop.h"

#define TIMES_OVER 3 /* checks in a row: one alone may be a burst */

/* What was counted at some moment. */
struct moment {
	u64 ns, own_ns;
	struct progstats *progs;
};

struct cost {
	struct session *s;
	bool is_shown, has_ended;
	u32 max_ppm, cpus;
	int stats_fd; /* -1: the administrator has it switched on */
	u64 clock_ns; /* what the kernel's clock adds to a run */
	struct moment start, last, end;
	u64 *recent;        /* ns of each program between the last two checks */
	u32 over_cnt;       /* checks in a row that were over the limit */
	double used, limit; /* percent, at the last check */
};

static u64 own_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u64)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 + (u64)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void take(const struct cost *c, struct moment *m)
{
	struct object *obj = c->s->obj;

	m->ns = clock_ns(CLOCK_MONOTONIC);
	m->own_ns = own_ns();
	for (u32 i = 0; i < c->s->image->progs.cnt; i++) {
		int fd = obj->ops->prog_fd ? obj->ops->prog_fd(obj, i) : -1;

		/* A program that is gone, or was never loaded, counts as it did. */
		if (fd >= 0)
			progstats_read(fd, &m->progs[i]);
	}
}

static struct progstats *new_stats(const struct cost *c)
{
	return xzalloc((c->s->image->progs.cnt + 1) * sizeof(struct progstats));
}

struct cost *cost_new(struct session *s, bool is_shown, u32 max_ppm, char **why)
{
	int fd = -1;
	struct cost *c;
	u32 *online;

	*why = NULL;
	if (!is_shown && !max_ppm)
		return NULL;
	if (!s->obj->ops->prog_fd) {
		*why = xstrdup("--cost and --max-cpu measure what the kernel runs: they cannot be used with --vm");
		return NULL;
	}
	fd = progstats_enable();
	if (fd < 0 && !progstats_are_on()) {
		*why = xasprintf("cannot measure what probes cost: %s; %s", strerror(-fd),
				 fd == -EPERM ? "that needs CAP_SYS_ADMIN, or the setting kernel.bpf_stats_enabled=1" :
						"run without --cost and --max-cpu");
		return NULL;
	}
	c = xzalloc(sizeof(*c));
	*c = (struct cost){ .s = s, .is_shown = is_shown, .max_ppm = max_ppm, .stats_fd = fd };
	c->limit = max_ppm / 10000.0;
	online = machine_online(&c->cpus);
	free(online);
	c->clock_ns = progstats_clock();
	c->start.progs = new_stats(c);
	c->last.progs = new_stats(c);
	c->end.progs = new_stats(c);
	c->recent = xzalloc((s->image->progs.cnt + 1) * sizeof(*c->recent));
	return c;
}

void cost_free(struct cost *c)
{
	if (!c)
		return;
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	free(c->start.progs);
	free(c->last.progs);
	free(c->end.progs);
	free(c->recent);
	free(c);
}

void cost_begin(struct cost *c)
{
	if (!c)
		return;
	take(c, &c->start);
	take(c, &c->last);
}

void cost_end(struct cost *c)
{
	if (!c || c->has_ended)
		return;
	take(c, &c->end);
	c->has_ended = true;
}

/* ---- --max-cpu ---- */

bool cost_is_too_high(struct cost *c, const struct attached *attached, u32 cnt, u32 *which)
{
	struct moment now = { .progs = c->end.progs }; /* which is free until the end */
	u64 ns = 0, most = 0;

	if (!c->max_ppm)
		return false;
	take(c, &now);
	for (u32 i = 0; i < c->s->image->progs.cnt; i++) {
		c->recent[i] = now.progs[i].ns - c->last.progs[i].ns;
		ns += c->recent[i];
	}
	c->used = cost_percent(ns + now.own_ns - c->last.own_ns, now.ns - c->last.ns, c->cpus);
	c->end.progs = c->last.progs;
	c->last = now;
	c->over_cnt = c->used > c->limit ? c->over_cnt + 1 : 0;
	if (c->over_cnt < TIMES_OVER)
		return false;
	for (u32 i = 0; i < cnt; i++) {
		u64 took = c->recent[attached[i].prog];

		if (attached[i].fd_cnt && took > most) {
			most = took;
			*which = i;
		}
	}
	if (most)
		c->over_cnt = 0;
	return most;
}

void cost_detached(struct cost *c, u32 prog)
{
	struct session *s = c->s;
	const struct image_prog *p = &s->image->progs.at[prog];
	const char *name = losses_probe(s, prog);
	char *reason = xasprintf(
		"after %llu hits, because tracing took %.2f %% of the time of all CPUs and --max-cpu allows %.2f %%; this probe took most of it. Later hits are not counted",
		(unsigned long long)(c->last.progs[prog].cnt - c->start.progs[prog].cnt), c->used, c->limit);
	struct sbuf msg = {};

	sbuf_printf(&msg, "%s is detached %s", name, reason);
	out_message(&s->out, DIAG_WARNING, s->diag, &p->span, sbuf_str(&msg));
	sbuf_release(&msg);
	account_add(&s->account, ACCOUNT_DETACHED, &p->span, name, reason, 1);
	free(reason);
}

/* ---- --cost ---- */

static int by_time(const void *a, const void *b)
{
	const struct cost_row *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* The probe of a program: programs of one probe, for its places, are one row. */
static struct cost_row *row_of(struct cost_row *rows, u32 *cnt, const struct session *s, u32 prog)
{
	const struct image_prog *p = &s->image->progs.at[prog];

	for (u32 i = 0; i < *cnt; i++)
		if (!memcmp(&rows[i].at, &p->span, sizeof(p->span)))
			return &rows[i];
	rows[*cnt] = (struct cost_row){ .probe = losses_probe(s, prog), .at = p->span };
	return &rows[(*cnt)++];
}

void cost_show(struct cost *c)
{
	struct cost_view v = {};
	struct cost_row *rows;

	if (!c || !c->is_shown || !c->has_ended)
		return;
	rows = xzalloc((c->s->image->progs.cnt + 1) * sizeof(*rows));
	for (u32 i = 0; i < c->s->image->progs.cnt; i++) {
		u64 hits = c->end.progs[i].cnt - c->start.progs[i].cnt, ns = c->end.progs[i].ns - c->start.progs[i].ns;
		struct cost_row *r;

		if (c->s->image->progs.at[i].flags & PROV_SELF || c->s->image->progs.at[i].is_joined)
			continue;
		r = row_of(rows, &v.cnt, c->s, i);
		r->hits += hits;
		r->ns += ns - MIN(ns, hits * c->clock_ns);
	}
	qsort(rows, v.cnt, sizeof(*rows), by_time);
	v.rows = rows;
	v.own_ns = c->end.own_ns - c->start.own_ns;
	v.elapsed_ns = c->end.ns - c->start.ns;
	v.cpus = c->cpus;
	cost_print(&c->s->out, &v, c->s->diag);
	free(rows);
}
