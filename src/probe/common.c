/* SPDX-License-Identifier: GPL-2.0-only */
#include "probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/progress.h"
#include "base/smap.h"
#include "kern/feature.h"
#include "kern/machine.h"
#include "kern/rcu.h"
#include "kern/sys.h"
#include "lang/lex.h"
#include "arch/abi.h"
#include "probe/events.h"
#include "probe/watch.h"
#include "run/loop.h"

/* ---- attach points ---- */

bool probe_number(const char *s, u64 *v)
{
	struct arena a;
	struct number n;

	arena_init(&a); /* for messages that are not shown */
	n = number_parse(&a, s, strlen(s), true);
	*v = n.value;
	arena_release(&a);
	return !n.why;
}

bool probe_func_offset(struct arena *a, const char *text, const char **func, u64 *off)
{
	const char *plus = strrchr(text, '+');

	*off = 0;
	/* C++ names may hold a plus of their own (operator+); an offset begins with a digit. */
	if (!plus || plus == text || !(plus[1] >= '0' && plus[1] <= '9')) {
		*func = arena_strdup(a, text);
		return !plus || plus[1];
	}
	*func = arena_strndup(a, text, plus - text);
	return probe_number(plus + 1, off);
}

bool probe_part_cnt(struct diag *d, const struct attach_point *ap, u32 min, u32 max)
{
	u32 cnt = ap->part_cnt - 1;
	const struct provider *p = provider_find(ap->parts[0]);

	if (cnt >= min && cnt <= max)
		return true;
	if (min == max)
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe type requires %u argument%s, found %u", p->name, min,
			   min == 1 ? "" : "s", cnt);
	else
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe type requires %u to %u arguments, found %u", p->name, min, max,
			   cnt);
	diag_hint(d, "write it as %s", p->spec);
	return false;
}

const char *probe_rest(struct arena *a, const struct attach_point *ap)
{
	struct sbuf b = {};
	const char *s;

	for (u32 i = 1; i < ap->part_cnt; i++)
		sbuf_printf(&b, "%s%s", i > 1 ? ":" : "", ap->parts[i]);
	s = arena_strdup(a, sbuf_str(&b));
	sbuf_release(&b);
	return s;
}

bool probe_is_banned(const char *name)
{
	static const char *const names[] = { "arch_cpu_idle", "default_idle", "bpf_dispatcher_xdp_func" };

	for (u32 i = 0; i < ARRAY_CNT(names); i++)
		if (str_eq(name, names[i]))
			return true;
	return str_starts(name, "__ftrace_invalid_address__") || str_starts(name, "rcu_") || strstr(name, ".part.");
}

/* ---- perf events ---- */

int probe_perf_attach(struct attach_ctx *ctx, struct perf_event_attr *attr, s32 pid, s32 cpu, int prog_fd, u64 cookie)
{
	int fd, link;

	attr->size = sizeof(*attr);
	fd = kern_perf_open(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	link = kern_perf_link(fd, prog_fd, cookie);
	close(fd); /* the link keeps the event open; without a link the event must be closed, too */
	if (link < 0)
		return link;
	vec_push(&ctx->fds, link);
	progress_add(1);
	return 0;
}

/* Closing a perf event, or the trampoline of a function, waits for an RCU grace period: tens of milliseconds for each. Threads
 * that wait at the same time share a grace period, unless a lock of the kernel serialises them. From MANY_WAITS on the grace
 * periods are also expedited. */
enum { CLOSERS = 64, MANY_WAITS = 8 };

struct closing {
	const int *fds;
	u32 cnt, next;
	u32 *done; /* see struct attach_ctx */
};

static void count_done(u32 *done, u32 cnt)
{
	if (done)
		__atomic_fetch_add(done, cnt, __ATOMIC_RELAXED);
}

static void *close_some(void *arg)
{
	struct closing *c = arg;
	u32 i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->cnt) {
		close(c->fds[c->cnt - 1 - i]);
		count_done(c->done, 1);
	}
	return NULL;
}

void probe_undo(struct attach_ctx *ctx, u32 cnt)
{
	struct closing c = { ctx->fds.at + cnt, ctx->fds.cnt - cnt, 0, ctx->done };
	u32 wanted = c.cnt > 2 ? MIN(c.cnt - 1, CLOSERS) : 0, started = 0;
	pthread_t threads[CLOSERS];

	/* A thread that cannot be started does no harm: the others, and this one, do its work. */
	while (started < wanted && !pthread_create(&threads[started], NULL, close_some, &c))
		started++;
	close_some(&c);
	while (started)
		pthread_join(threads[--started], NULL);
	ctx->fds.cnt = cnt;
}

u32 probe_waits(const struct attach_ctx *ctx)
{
	u32 waits = ctx->fds.cnt;

	vec_for(event, &ctx->events)
		waits += event->prog->site_cnt;
	return waits;
}

void probe_detach(struct attach_ctx *ctx)
{
	bool hastens = false;

	watch_release(ctx);
	if (probe_waits(ctx) >= MANY_WAITS && ctx->may_hasten && kern_has(KF_RCU_EXPEDITED))
		hastens = rcu_hasten();
	probe_undo(ctx, 0);
	vec_free(&ctx->fds);
	vec_for(event, &ctx->events) {
		event_remove(event->name);
		count_done(ctx->done, event->prog->site_cnt);
		free(event->name);
	}
	vec_free(&ctx->events);
	if (hastens)
		rcu_calm();
}

void probe_leave(struct attach_ctx *ctx)
{
	watch_release(ctx);
	while (ctx->fds.cnt)
		close(ctx->fds.at[--ctx->fds.cnt]);
	vec_free(&ctx->fds);
	vec_for(event, &ctx->events)
		free(event->name);
	vec_free(&ctx->events);
}

void probe_detach_some(struct attach_ctx *ctx, u32 first, u32 cnt)
{
	int *fds = ctx->fds.at + first, *some = xrealloc(NULL, cnt * sizeof(*some));
	u32 behind = ctx->fds.cnt - first - cnt;

	/* To the end, where probe_undo() closes. */
	memcpy(some, fds, cnt * sizeof(*fds));
	memmove(fds, fds + cnt, behind * sizeof(*fds));
	memcpy(fds + behind, some, cnt * sizeof(*fds));
	free(some);
	probe_undo(ctx, first + behind);
}

u64 probe_missed(const struct attach_ctx *ctx, const struct image_prog *u, u32 first, u32 cnt)
{
	u64 missed;

	if (events_missed(ctx, u, &missed)) /* a link to an event reports its first probe only */
		return missed;
	for (u32 i = first; i < first + cnt; i++)
		missed += kern_link_missed(ctx->fds.at[i]);
	return missed;
}

static int attach_threads(struct attach_ctx *ctx, struct perf_event_attr *attr, int prog_fd, u64 cookie)
{
	vec(int) tids = {};
	struct dirent *ent;
	int err = -ESRCH;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", ctx->filter_pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while ((ent = readdir(dir)))
		if (ent->d_name[0] != '.')
			vec_push(&tids, atoi(ent->d_name));
	closedir(dir);
	/* Threads that start later inherit the event of the one that starts them. A thread that starts meanwhile may be
	 * missed; a second look could count it twice, because it is unknown whether it has inherited the event. */
	attr->inherit = 1;
	attr->inherit_thread = 1;
	vec_for(tid, &tids) {
		int e = probe_perf_attach(ctx, attr, *tid, -1, prog_fd, cookie);

		if (!e) {
			err = 0;
		} else if (e != -ESRCH) { /* that one has ended */
			err = e;
			break;
		}
	}
	vec_free(&tids);
	return err;
}

void probe_perf_attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	(void)c, (void)u;
	attr->type = BPF_PROG_TYPE_PERF_EVENT;
}

int probe_perf_attach_all(struct attach_ctx *ctx, struct perf_event_attr *attr, int prog_fd, u64 cookie)
{
	u32 before = ctx->fds.cnt, cnt = 0, *cpus;
	int err = 0;

	if (ctx->filter_pid) {
		err = attach_threads(ctx, attr, prog_fd, cookie);
	} else {
		cpus = machine_online(&cnt);
		for (u32 i = 0; i < cnt && !err; i++) {
			err = probe_perf_attach(ctx, attr, -1, cpus[i], prog_fd, cookie);
			if (err == -ENODEV)
				err = 0; /* went offline meanwhile */
		}
		free(cpus);
		if (!err && ctx->fds.cnt == before)
			err = -ENODEV;
	}
	if (err)
		probe_undo(ctx, before);
	return err;
}

static int read_pmu(const char *pmu, const char *file, const char *fmt, u32 *v)
{
	char *path = xasprintf("/sys/bus/event_source/devices/%s/%s", pmu, file), *text;
	int err = io_read_file(path, &text, NULL);

	free(path);
	if (err)
		return err;
	err = sscanf(text, fmt, v) == 1 ? 0 : -EINVAL;
	free(text);
	return err;
}

int probe_pmu_type(const char *pmu)
{
	u32 v;
	int err = read_pmu(pmu, "type", "%u", &v);

	return err ? err : (int)v;
}

int probe_pmu_bit(const char *pmu, const char *word)
{
	char *file = xasprintf("format/%s", word);
	u32 v;
	int err = read_pmu(pmu, file, "config:%u", &v);

	free(file);
	return err ? err : (int)v;
}

/* The error may come from one site alone. */
bool probe_is_about_one(int err)
{
	switch (-err) {
	case EINVAL:
	case ENOENT:
	case ESRCH:
	case EADDRNOTAVAIL:
	case EBUSY:
	case EOPNOTSUPP:
	case EILSEQ:
	case EEXIST:
	case ENOEXEC:
	case KERNEL_ENOTSUPP:
		return true;
	default:
		return false;
	}
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? str_eq(a, b) : a == b;
}

static bool has_same_sites(const struct compile *c, const struct unit *a, const struct unit *b)
{
	if (a->site_cnt != b->site_cnt)
		return false;
	for (u32 i = 0; i < a->site_cnt; i++) {
		const struct site *x = &c->sites.at[a->site_first + i], *y = &c->sites.at[b->site_first + i];

		if (x->addr != y->addr || x->off != y->off || !is_same(x->func, y->func) || !is_same(x->target, y->target))
			return false;
	}
	return true;
}

void probe_pair(struct compile *c, struct unit *u, const struct provider *entry, const struct provider *ret, u32 session,
		u32 feature)
{
	vec_for(it, &c->units) {
		struct unit *other = *it;

		if (other->provider != (u->provider == entry ? ret : entry) || other->variant != u->variant ||
		    !has_same_sites(c, u, other) || !target_has(c, feature))
			continue;
		u->session = other;
		other->session = u;
		u->variant = other->variant = session;
		(u->provider == ret ? u : other)->is_joined = true;
		return;
	}
}

u32 probe_attach_multi(const struct multi *m, u32 lo, u32 hi)
{
	int fd;

	if (signals_caught())
		return 0;
	fd = m->link(m, lo, hi);
	if (fd >= 0) {
		vec_push(&m->ctx->fds, fd);
		progress_add(hi - lo);
		for (u32 i = lo; i < hi && m->errs; i++)
			m->errs[m->order ? m->order[i] : i] = 0;
		return hi - lo;
	}
	if (hi - lo > 1 && probe_is_about_one(fd)) {
		u32 mid = lo + (hi - lo) / 2;

		return probe_attach_multi(m, lo, mid) + probe_attach_multi(m, mid, hi);
	}
	for (u32 i = lo; i < hi; i++) {
		u32 site = m->order ? m->order[i] : i;

		if (m->errs)
			m->errs[site] = fd;
		else
			probe_attach_failed(m->ctx, unit_site(m->ctx, m->u, site), fd, m->what, m->hint ? m->hint(fd) : NULL);
	}
	return 0;
}

/* ---- reports ---- */

const char *probe_errno_hint(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return "the probe needs a capability that this process does not have: `sonde --needs` lists them";
	case EMFILE:
		return "too many open files: raise the limit with `ulimit -n`";
	case ESRCH:
		return "the process has ended";
	default:
		return NULL;
	}
}

bool probe_may_be_unsafe(struct site_sink *sink)
{
	if (sink->c)
		compile_note_unsafe(sink->c, sink->ap->text);
	return sink->target->allow_unsafe;
}

void probe_kernel_lacks(struct site_sink *sink, const char *what)
{
	const struct machine *m = sink->target->machine;
	const char *by = m && m->hidden_by ? m->hidden_by() : NULL;

	sink->why = by ? by : what;
}

void probe_tracefs_failed(struct site_sink *sink, int err)
{
	if (err != -EPERM && err != -EACCES)
		return;
	if (err == -EPERM) {
		sink->why = "tracefs is not mounted, and mounting it needs CAP_SYS_ADMIN";
		sink->hint = "as root: mount -t tracefs -o mode=750,gid=GROUP tracefs /sys/kernel/tracing";
		return;
	}
	sink->why = "this user cannot read /sys/kernel/tracing without CAP_DAC_READ_SEARCH";
	sink->hint = "run as root, or let a group read it: mount -o remount,mode=750,gid=GROUP /sys/kernel/tracing";
}

/* Which capability is missing, by the row of the probe type that the site is of. */
static const char *missing_cap(const struct attach_ctx *ctx, const struct site *s)
{
	u32 index = (u32)(s - ctx->image->sites.at), needs = 0;
	struct sbuf b = {};
	const char *hint;

	vec_for(p, &ctx->image->progs)
		if (index >= p->site_first && index - p->site_first < p->site_cnt)
			needs |= provider_needs(p->provider);
	for (u32 i = 0; i < NEED_CNT; i++) {
		u64 missing = needs >> i & 1 ? need_table[i].start & ~machine_caps() : 0;

		if (!missing)
			continue;
		sbuf_puts(&b, b.len ? "; " : "this process does not have ");
		capability_names(missing, " and ", &b);
		sbuf_printf(&b, " (to %s)", need_table[i].doc);
	}
	hint = b.len ? arena_strdup(ctx->diag->arena, b.s) :
		       "this process has the capabilities for it: a security module, a lockdown or a container forbids it";
	sbuf_release(&b);
	return hint;
}

void probe_attach_failed(struct attach_ctx *ctx, const struct site *s, int err, const char *what, const char *hint)
{
	const char *reason = !err       ? "" :
		err == -KERNEL_ENOTSUPP ? strerror(EOPNOTSUPP) :
					  strerror(-err),
		   *colon = err ? ": " : "";

	if (!hint)
		hint = err == -EPERM || err == -EACCES ? missing_cap(ctx, s) : probe_errno_hint(err);
	switch (ctx->image->config.missing_probes) {
	case MISSING_ERROR:
		diag_error(ctx->diag, s->span, E_LOAD, "Unable to attach probe: %s. %s%s%s.", s->name, what, colon, reason);
		break;
	case MISSING_WARN:
		diag_warn(ctx->diag, s->span, W_MISSING_PROBE, "Unable to attach probe: %s. %s%s%s. Skipping.", s->name, what,
			  colon, reason);
		break;
	case MISSING_IGNORE:
		return;
	}
	if (hint)
		diag_hint(ctx->diag, "%s", hint);
	if (ctx->image->config.missing_probes == MISSING_ERROR)
		diag_hint(ctx->diag, "If this is expected, set the 'missing_probes' config variable to 'warn'.");
}

enum { NAMED_MAX = 3 };

struct refused {
	struct smap attached; /* names of sites: those with an attached one … */
	struct smap seen;     /* … and those that were named or reported */
	const struct site *first;
	struct sbuf names;
	u32 name_cnt, cnt, more;
};

static bool is_first_of_name(struct refused *r, const struct site *s)
{
	if (smap_get(&r->seen, s->name))
		return false;
	smap_put(&r->seen, s->name, r);
	return true;
}

static void leave_site_out(struct refused *r, const struct site *s)
{
	r->first = r->first ? r->first : s;
	if (is_first_of_name(r, s) && r->name_cnt++ < NAMED_MAX)
		sbuf_printf(&r->names, "%s%s", r->names.len ? ", " : "", s->func);
	r->more += s->is_more || smap_get(&r->attached, s->name);
	r->cnt++;
}

static void warn_left_out(struct attach_ctx *ctx, const struct refused *r)
{
	if (r->cnt && ctx->image->config.missing_probes != MISSING_IGNORE)
		diag_warn(ctx->diag, r->first->span, W_MISSING_PROBE,
			  "the kernel cannot probe %u function%s, which %s left out: %s%s", r->cnt, r->cnt == 1 ? "" : "s",
			  r->cnt == 1 ? "is" : "are", r->names.s, r->name_cnt > NAMED_MAX ? ", …" : "");
}

u32 probe_report_refused(struct attach_ctx *ctx, const struct image_prog *u, const int *errs,
			 void (*report)(struct attach_ctx *ctx, const struct site *s, int err))
{
	struct refused r = {};
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++)
		done += !errs[i];
	if (done == u->site_cnt)
		return done;
	for (u32 i = 0; i < u->site_cnt; i++)
		if (!errs[i])
			smap_put(&r.attached, unit_site(ctx, u, i)->name, &r);
	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);

		if (!errs[i] || errs[i] == -EINTR)
			continue;
		if (probe_is_about_one(errs[i]) && (s->is_wild || smap_get(&r.attached, s->name)))
			leave_site_out(&r, s);
		else if (is_first_of_name(&r, s))
			report(ctx, s, errs[i]);
	}
	warn_left_out(ctx, &r);
	ctx->left_out.sites += r.cnt;
	ctx->left_out.more += r.more;
	sbuf_release(&r.names);
	smap_release(&r.attached);
	smap_release(&r.seen);
	return done;
}

/* ---- code ---- */

void probe_leave_if(struct lower *l, enum ir_cond cond, vreg a, struct opnd b)
{
	struct ir_block *go = ir_block_new(l->b.f);

	ir_br(&l->b, cond, a, b, l->leave_plain, go);
	ir_place(&l->b, go);
}

struct val probe_regs_argn(struct lower *l, u32 n)
{
	BUG_ON(n >= abi.arg_cnt);
	return val_reg(ir_load(&l->b, lower_ctx(l), abi.arg_off[n], 8));
}

struct val probe_regs_retval(struct lower *l)
{
	return val_reg(ir_load(&l->b, lower_ctx(l), abi.ret_off, 8));
}

struct val probe_regs_reg(struct lower *l, u32 reg_off)
{
	return val_reg(ir_load(&l->b, lower_ctx(l), reg_off, 8));
}
