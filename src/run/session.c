/* SPDX-License-Identifier: GPL-2.0-only */
/* A run from begin to the printed maps:
 *
 *   output → signals → load → begin → attach → "Attached" → child → events → detach → end → maps → losses
 *
 * Records of begin are handled after attaching, as elsewhere, so that "Attached" is the first thing that a reader of JSON sees.
 */
#include "run/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "image/need.h"
#include "image/store.h"
#include "kern/rcu.h"
#include "kern/sys.h"
#include "run/attach.h"
#include "run/child.h"
#include "run/command.h"
#include "run/cost.h"
#include "run/detach.h"
#include "run/loop.h"
#include "run/losses.h"
#include "run/mapread.h"
#include "run/privilege.h"
#include "run/suite.h"
#include "run/symbols.h"
#include "run/unwind.h"

#define OUT_BUF_SZ (64 << 10)
#define LOOK_AT_MAX 1000 /* descriptors that are asked every few seconds what was missed; with more it would take too long */
#define MANY_SITES 200   /* attach points that may need more descriptors than the usual limit */

struct run {
	struct session s;
	const struct session_opts *opts;
	struct attach_ctx attach;
	u32 probe_cnt;                 /* that were attached */
	bool is_left_attached;         /* a signal came before all of them were detached */
	vec(struct attached) attached; /* in the order of attach.fds */
	FILE *own_file;                /* -o */
	u32 diag_seen;                 /* messages of the diag that were printed, or are not ours */
	int pid_fd;                    /* -p */
	struct cost *cost;             /* --cost, --max-cpu; NULL: nobody asked */
	bool is_guest;                 /* the caller goes on after it: session_run_object() */
	u64 tell_ns;                   /* when tell_missed() was called, or 0 */
};

static char out_buf[OUT_BUF_SZ]; /* a stdio buffer has to live as long as stdout */

static PRINTF_LIKE(2, 3) void fail(struct run *r, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	out_message(&r->s.out, DIAG_ERROR, NULL, NULL, sbuf_str(&b));
	sbuf_release(&b);
}

static PRINTF_LIKE(3, 4) void warn_at(struct run *r, const struct span *at, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	out_message(&r->s.out, DIAG_WARNING, r->s.diag, at, sbuf_str(&b));
	sbuf_release(&b);
}

/* What loading or attaching had to say. */
static void print_new_messages(struct run *r)
{
	const struct diag *d = r->s.diag;
	struct sbuf text = {};

	for (; r->diag_seen < d->msgs.cnt; r->diag_seen++) {
		struct diag one = *d;

		one.msgs.at = &d->msgs.at[r->diag_seen];
		one.msgs.cnt = 1;
		diag_print(&one, one.msgs.at->level,
			   (r->s.out.colour ? DIAG_COLOUR : 0) | (r->s.out.err_is_terminal ? DIAG_ESCAPE : 0), &text);
	}
	if (text.len) {
		out_flush(&r->s.out);
		progress_hide();
		fwrite(text.s, 1, text.len, r->s.out.err);
		fflush(r->s.out.err);
	}
	sbuf_release(&text);
}

static bool open_output(struct run *r)
{
	const struct session_opts *o = r->opts;
	const char *mode = o->buffering ? o->buffering : "line", *format = o->format ? o->format : "text";
	struct out *out = &r->s.out;

	out->file = stdout;
	out->err = stderr;
	out->err_is_terminal = !o->raw_strings && isatty(STDERR_FILENO);
	out->colour = o->colour;
	out->no_warnings = o->no_warnings;
	out->sink = sink_find(format);
	if (!out->sink) {
		fail(r, "there is no output format '%s'", format);
		return false;
	}
	if (!str_eq(mode, "line") && !str_eq(mode, "full") && !str_eq(mode, "none")) {
		fail(r, "there is no buffering mode '%s': line, full or none", mode);
		return false;
	}
	if (o->output_path) {
		r->own_file = fopen(o->output_path, "we");
		if (!r->own_file) {
			fail(r, "cannot write to %s: %s", o->output_path, strerror(errno));
			return false;
		}
		out->file = r->own_file;
	}
	out->is_terminal = !o->raw_strings && isatty(r->own_file ? fileno(r->own_file) : STDOUT_FILENO);
	out->naming.escapes = out->is_terminal && str_eq(format, "text");
	/* "line" is a full buffer that is flushed after each batch of events: nobody sees the difference, but one write()
	 * serves many lines. */
	r->s.flushes = str_eq(mode, "line");
	if (str_eq(mode, "none"))
		setvbuf(out->file, NULL, _IONBF, 0);
	else
		setvbuf(out->file, out_buf, _IOFBF, sizeof(out_buf));
	return true;
}

static void set_clocks(struct session *s)
{
	u64 before = clock_ns(CLOCK_BOOTTIME), real = clock_ns(CLOCK_REALTIME), after = clock_ns(CLOCK_BOOTTIME);

	s->out.naming.boot_to_real_ns = (s64)(real - (before + (after - before) / 2));
	/* whole seconds: the two clocks are not read at the same moment */
	s->out.naming.tai_ahead_ns = ((s64)(clock_ns(CLOCK_TAI) - real) + 500000000) / 1000000000 * 1000000000;
	if (s->head)
		s->head->start_ns = after;
}

static bool open_pid(struct run *r)
{
	if (!r->opts->pid)
		return true;
	r->pid_fd = (int)syscall(SYS_pidfd_open, r->opts->pid, 0);
	if (r->pid_fd >= 0)
		return true;
	fail(r, "cannot trace process %u: %s", r->opts->pid, errno == ESRCH ? "there is no such process" : strerror(errno));
	return false;
}

static bool open_signals(struct run *r)
{
	int err = signals_begin();

	if (err)
		fail(r, "cannot wait for signals: %s", strerror(-err));
	return !err;
}

static u32 flags_of(const struct run *r, u32 prog)
{
	return r->s.image->progs.at[prog].flags;
}

static bool run_prog(struct run *r, u32 prog)
{
	int err = r->s.obj->ops->prog_run(r->s.obj, prog, NULL);

	if (!err)
		return true;
	if (r->diag_seen == r->s.diag->msgs.cnt)
		fail(r, "cannot run the %s probe: %s", provider_name(r->s.image->progs.at[prog].provider), strerror(-err));
	print_new_messages(r);
	return false;
}

/* begin or end. */
static bool run_self(struct run *r, bool is_end)
{
	for (u32 i = 0; i < r->s.image->progs.cnt; i++) {
		u32 flags = flags_of(r, i);

		if (!(flags & PROV_SELF) || flags & (PROV_TRIGGER | PROV_TEST | PROV_BENCH) || !(flags & PROV_END) == is_end)
			continue;
		if (!run_prog(r, i))
			return false;
		if (is_end || r->opts->use_vm)
			session_drain(&r->s);
	}
	return true;
}

static bool has_others(const struct run *r)
{
	for (u32 i = 0; i < r->s.image->progs.cnt; i++)
		if (!(flags_of(r, i) & (PROV_SELF | PROV_ITER)) || flags_of(r, i) & PROV_TRIGGER)
			return true;
	return false;
}

static bool has_iter(const struct run *r)
{
	for (u32 i = 0; i < r->s.image->progs.cnt; i++)
		if (flags_of(r, i) & PROV_ITER)
			return true;
	return false;
}

static bool has_trigger(const struct run *r)
{
	for (u32 i = 0; i < r->s.image->progs.cnt; i++)
		if (flags_of(r, i) & PROV_TRIGGER)
			return true;
	return false;
}

static bool run_triggered(void *arg)
{
	struct run *r = arg;

	for (u32 i = 0; i < r->s.image->progs.cnt; i++)
		if (flags_of(r, i) & PROV_TRIGGER && !run_prog(r, i))
			return false;
	return true;
}

static void raise_fd_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur == lim.rlim_max)
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim); /* if not: attaching says what is missing */
}

/* missing_probes = "ignore" says that they are not wanted where they cannot be. */
static void leave_out(struct run *r, u32 prog, u32 cnt)
{
	if (r->s.image->config.missing_probes != MISSING_IGNORE)
		account_add(&r->s.account, ACCOUNT_LEFT_OUT, &r->s.image->progs.at[prog].span, losses_probe(&r->s, prog),
			    "the kernel cannot attach them", cnt);
}

/* Attaches program i if it is one of those. Adds to *cnt. */
static bool attach_one(struct run *r, u32 i, bool is_reverse, u32 *cnt)
{
	const struct image_prog *p = &r->s.image->progs.at[i];
	struct object *obj = r->s.obj;
	u32 before;
	int n, fd;

	if ((p->flags & PROV_SELF) || !(p->flags & PROV_REVERSE) == is_reverse)
		return true;
	if (p->is_joined) /* it is attached with the other half of its session */
		return true;
	if (signals_caught())
		return false;
	fd = obj->ops->prog_fd ? obj->ops->prog_fd(obj, i) : kern_object_prog_fd(obj, i);
	if (fd < 0) { /* the kernel does not want a program there, and loading said so if it matters */
		leave_out(r, i, p->site_cnt);
		return true;
	}
	before = r->attach.fds.cnt;
	memset(&r->attach.left_out, 0, sizeof(r->attach.left_out));
	n = probe_attach(&r->attach, p, fd);
	vec_push(&r->attached, (struct attached){ i, r->attach.fds.cnt - before });
	if (n < 0 && r->diag_seen == r->s.diag->msgs.cnt)
		fail(r, "cannot attach %s: %s", p->name, strerror(-n));
	print_new_messages(r);
	if (n < 0 || ((u32)n < p->site_cnt && signals_caught()))
		return false;
	if ((u32)n + r->attach.left_out.sites < p->site_cnt && r->s.image->config.missing_probes == MISSING_ERROR)
		return false;
	leave_out(r, i, p->site_cnt - MIN((u32)n, p->site_cnt) + r->attach.left_out.places);
	n += (int)r->attach.left_out.more;
	for (u32 k = 0; k < p->site_cnt && n > 0; k++)
		n -= r->s.image->sites.at[p->site_first + k].is_more;
	*cnt += p->session ? 2 * (u32)n : (u32)n;
	return true;
}

static bool attach_programs(struct run *r, u32 *cnt)
{
	u32 prog_cnt = r->s.image->progs.cnt;

	for (u32 i = prog_cnt; i-- > 0;)
		if (!attach_one(r, i, true, cnt))
			return false;
	for (u32 i = 0; i < prog_cnt; i++)
		if (!attach_one(r, i, false, cnt))
			return false;
	return true;
}

static bool attach_all(struct run *r, u32 *cnt)
{
	u32 prog_cnt = r->s.image->progs.cnt;
	bool ok;

	*cnt = 0;
	if (r->s.image->sites.cnt > MANY_SITES)
		raise_fd_limit();
	progress_begin("Attaching", r->s.image->sites.cnt);
	ok = attach_programs(r, cnt);
	progress_end();
	r->probe_cnt = *cnt;
	if (!ok)
		return false;
	for (u32 i = 0; i < prog_cnt; i++)
		if (flags_of(r, i) & PROV_SELF)
			*cnt += r->s.image->progs.at[i].site_cnt;
	if (!*cnt) {
		fail(r, "Attachment failed for all probes.");
		return false;
	}
	return true;
}

/* Asks the links, while they are there, what never got as far as a program. */
static void count_missed(struct run *r)
{
	u32 at = 0;

	if (!r->attach.fds.cnt)
		return;
	vec_for(a, &r->attached) {
		if (!a->is_detached)
			a->missed = probe_missed(&r->attach, &r->s.image->progs.at[a->prog], at, a->fd_cnt);
		at += a->fd_cnt;
	}
}

/* -v: tells while tracing what report_losses() tells at the end, if there is something new. */
static void tell_missed(struct run *r)
{
	struct session *s = &r->s;

	if (r->attach.fds.cnt > LOOK_AT_MAX)
		return;
	count_missed(r);
	vec_for(a, &r->attached) {
		const struct image_prog *p = &s->image->progs.at[a->prog];
		u64 cnt = a->missed + (s->obj->ops->prog_missed ? s->obj->ops->prog_missed(s->obj, a->prog) : 0);

		if (cnt > a->told)
			warn_at(r, &p->span, "the kernel skipped %llu hit%s of %s since %s", (unsigned long long)(cnt - a->told),
				cnt - a->told == 1 ? "" : "s", losses_probe(s, a->prog),
				a->told ? "the last message" : "the start");
		a->told = cnt;
	}
}

/* --max-cpu: the probe that takes most has to go. */
static void detach_one(struct run *r, u32 which)
{
	struct attached *a = &r->attached.at[which];
	u32 first = 0;

	for (u32 i = 0; i < which; i++)
		first += r->attached.at[i].fd_cnt;
	a->missed = probe_missed(&r->attach, &r->s.image->progs.at[a->prog], first, a->fd_cnt);
	probe_detach_some(&r->attach, first, a->fd_cnt);
	a->fd_cnt = 0;
	a->is_detached = true;
	cost_detached(r->cost, a->prog);
}

/* Whether a probe is left that is hit by what others do. */
static bool has_attached(const struct run *r)
{
	vec_for(a, &r->attached)
		if (!a->is_detached && !(flags_of(r, a->prog) & PROV_RARE))
			return true;
	return false;
}

static void on_tick(void *arg)
{
	struct run *r = arg;
	u64 now = clock_ns(CLOCK_MONOTONIC);
	u32 which;

	if (r->opts->verbose && now - r->tell_ns >= LOOP_TICK_MS * 1000000ull) {
		tell_missed(r);
		r->tell_ns = now;
	}
	if (!r->cost || !cost_is_too_high(r->cost, r->attached.at, r->attached.cnt, &which))
		return;
	detach_one(r, which);
	if (!has_attached(r)) {
		warn_at(r, NULL, "tracing ends: --max-cpu has left no probe attached");
		r->s.exiting = true;
	}
}

static void detach(struct run *r)
{
	cost_end(r->cost);
	count_missed(r);
	while (r->attach.iters.cnt)
		close(r->attach.iters.at[--r->attach.iters.cnt]);
	vec_free(&r->attach.iters);
	if (!detach_all(&r->attach, r->probe_cnt))
		r->is_left_attached = true;
}

/* A signal wants the end now: commands that wait are not run any more, nor are those that events still ask for. Otherwise they
 * are part of what was asked for before the end. */
static void end_commands(struct run *r)
{
	if (!signals_caught()) {
		commands_finish(&r->s);
		return;
	}
	commands_give_up(&r->s);
	commands_refuse(&r->s, true);
}

/* Runs the iterators to their end. Each object that was visited is a byte: where the script prints, one is asked for at a time,
 * so that what it sends always finds room. */
static bool read_iters(struct run *r)
{
	size_t want = r->s.image->recs.cnt ? 1 : 4096;
	bool ok = true;
	char buf[4096];

	vec_for(fd, &r->attach.iters) {
		ssize_t n = 1;

		while (n && ok && !r->s.exiting && !signals_caught()) {
			n = read(*fd, buf, want);
			if (n < 0 && errno != EAGAIN && errno != EINTR) {
				fail(r, "cannot read the iterator: %s", strerror(errno));
				ok = false;
			}
			session_drain(&r->s);
		}
	}
	if (r->s.flushes)
		out_flush(&r->s.out);
	return ok;
}

/* Tables of dw_ustack, for the processes that were named. */
static bool start_unwinding(struct run *r)
{
	const struct session_opts *o = r->opts;
	struct unwind *u = r->s.unwind = unwind_new(&r->s);
	const char *last = NULL;

	if (!u)
		return true;
	if (!r->s.symbols || !symbols_tell(r->s.symbols, u))
		warn_at(r, NULL,
			"the kernel does not report new memory mappings: dw_ustack unwinds only the code that was mapped when tracing started");
	for (u32 i = 0; i < o->unwind_pid_cnt + 1; i++) {
		u32 pid = i ? o->unwind_pids[i - 1] : o->pid;
		int err = pid ? unwind_add(u, pid) : 0;

		if (err) {
			fail(r, "cannot read the memory mappings of process %u: %s", pid, strerror(-err));
			return false;
		}
	}
	if (o->child) {
		unwind_prepare(u, o->child->file);
		unwind_expect(u, (u32)o->child->pid);
	}
	/* What is probed will be on stacks, whoever runs it. */
	vec_for(p, &r->s.image->progs) {
		for (u32 i = 0; p->flags & PROV_USER_FILE && i < p->site_cnt; i++) {
			const char *file = r->s.image->sites.at[p->site_first + i].target;

			if (!file || (last && str_eq(last, file)))
				continue;
			last = file;
			unwind_prepare(u, file);
		}
	}
	return true;
}

/* From here on, what the script needs is enough. A kernel without a part of this is no reason not to trace. */
static void give_up_privileges(struct run *r, int (*how)(u32 needs))
{
	int err = r->opts->keep_privileges || r->is_guest ? 0 : how(privilege_needs(image_needs(r->s.image), r->opts));

	if (err && (err != -ENOSYS || r->opts->verbose))
		warn_at(r, NULL, "privileges that are not needed any more are kept: %s", strerror(-err));
}

/* Loading, attaching and detaching is all there is to a dry run. */
static bool trace(struct run *r)
{
	struct child *child = r->opts->child;
	struct loop loop = { .s = &r->s, .pid_fd = child ? child->pid_fd : r->pid_fd };
	struct sbuf why = {};
	u32 cnt;

	loop.arg = r;
	r->tell_ns = clock_ns(CLOCK_MONOTONIC);
	if (r->opts->verbose || r->opts->max_cpu_ppm) {
		loop.on_tick = on_tick;
		loop.tick_ms = r->opts->max_cpu_ppm ? COST_CHECK_MS : 0;
	}
	/* From here on, so that a signal that comes while we attach is not the end. */
	if (has_trigger(r)) {
		signals_take_usr1();
		loop.on_usr1 = run_triggered;
	}
	if (!r->opts->dry_run && !run_self(r, false))
		return false;
	if (!start_unwinding(r) || !attach_all(r, &cnt))
		return false;
	cost_begin(r->cost);
	if (r->opts->dry_run)
		return true;
	if (!r->opts->quiet) {
		r->s.out.sink->attached(&r->s.out, cnt);
		if (r->s.flushes)
			out_flush(&r->s.out);
	}
	give_up_privileges(r, privilege_drop);
	stores_start(r->s.obj);
	give_up_privileges(r, privilege_seal);
	if (child && child_resume(child, &why)) {
		fail(r, "%s", sbuf_str(&why));
		sbuf_release(&why);
		return false;
	}
	if (r->s.symbols)
		symbols_remember(r->s.symbols, child ? (u32)child->pid : r->opts->pid);
	if (!read_iters(r))
		return false;
	/* A script of begin and end only has nothing to wait for, unless there is a process whose end it was asked to wait
	 * for. Of an iterator, -p says what it visits. */
	loop.is_brief = !has_others(r) && (loop.pid_fd < 0 || (has_iter(r) && !child));
	loop_run(&loop);
	signals_stopping();
	end_commands(r); /* while everything is attached: commands are part of what is traced */
	stores_stop(r->s.obj);
	detach(r);
	session_drain(&r->s);
	end_commands(r);
	return true;
}

/* In the interpreter nothing is attached: each program runs once. */
static bool trace_in_vm(struct run *r)
{
	if (r->opts->dry_run)
		return true;
	if (!run_self(r, false))
		return false;
	for (u32 i = 0; i < r->s.image->progs.cnt && !r->s.exiting && !signals_caught(); i++) {
		if (flags_of(r, i) & PROV_SELF && !(flags_of(r, i) & PROV_TRIGGER))
			continue;
		if (!run_prog(r, i))
			return false;
		session_drain(&r->s);
	}
	end_commands(r);
	return true;
}

/* begin, tests or benchmarks, end. */
static bool run_suite(struct run *r)
{
	bool ok;

	if (!run_self(r, false))
		return false;
	session_drain(&r->s);
	commands_finish(&r->s);
	ok = suite_run(&r->s);
	ok = run_self(r, true) && ok;
	commands_finish(&r->s);
	return ok;
}

static void report_losses(struct run *r)
{
	struct session *s = &r->s;

	faults_tell(s, true);
	losses_collect(s, r->attached.at, r->attached.cnt);
	account_show(&s->account, &s->out, s->diag);
	cost_show(r->cost);
}

/* After tracing: end, maps, losses. */
static bool finish(struct run *r)
{
	struct session *s = &r->s;
	bool ok;

	s->ignoring = false;
	if (s->commands)
		commands_refuse(s, false);
	if (s->head)
		full_maps_look(s); /* `end` may clear them */
	if (r->is_left_attached)
		warn_at(r, NULL, "not all of the %u probes are detached yet: the results are those of this moment", r->probe_cnt);
	ok = run_self(r, true);
	commands_finish(s);
	progress_begin("Reading maps and symbols", 0);
	if (!s->out.write_err)
		session_print_maps(s);
	out_flush(&s->out);
	progress_end();
	report_losses(r);
	return ok;
}

/* Closes the output and says what went wrong with it; std_end() does that for standard output. A reader that went away is no
 * error. */
static bool close_output(struct run *r)
{
	struct out *out = &r->s.out;

	if (!out->file)
		return true;
	out_flush(out);
	if (r->own_file && fclose(r->own_file) && !out->write_err)
		out->write_err = errno;
	if (!out->write_err || out->write_err == EPIPE)
		return true;
	if (r->own_file)
		fprintf(out->err, "ERROR: cannot write to %s: %s\n", r->opts->output_path, strerror(out->write_err));
	return false;
}

static const char *name_site(const void *sites, u64 id, enum site_show show)
{
	const struct image *img = sites;

	return id <= img->sites.cnt ? site_text(&img->sites.at[id - 1], show) : NULL;
}

void session_naming(const struct image *img, struct naming *n)
{
	n->site = name_site;
	n->sites = img;
	n->trunc_trailer = img->config.str_trunc_trailer;
}

static int run(const struct image *img, struct diag *d, struct object *obj, const struct session_opts *opts)
{
	struct run r = {
		.s = { .image = img,
		       .diag = d,
		       .out.naming = opts->naming,
		       .is_verbose = opts->verbose,
		       .is_quiet = opts->quiet,
		       .is_dry_run = opts->dry_run },
		.opts = opts,
		.attach = { .image = img,
			    .diag = d,
			    .has_child = opts->child,
			    .may_hasten = opts->may_hasten,
			    .verbose = opts->verbose },
		.diag_seen = d->msgs.cnt,
		.is_guest = obj,
		.pid_fd = -1,
	};
	struct object *own = NULL;
	bool ok = false;
	char *why = NULL;
	int status;

	r.s.out.naming.shown = &r.s.shown;
	session_naming(img, &r.s.out.naming);
	r.s.attach = opts->use_vm ? NULL : &r.attach;
	r.attach.filter_pid = opts->pid ? opts->pid : opts->child ? (u32)opts->child->pid : 0;
	if (!open_output(&r) || !open_pid(&r) || !open_signals(&r))
		goto out;
	if (!obj) {
		if (!opts->use_vm)
			rcu_recover();
		progress_begin("Loading", 0);
		own = opts->use_vm ? vm_object_load(img, d) : kern_object_load(img, d, opts->verbose);
		progress_end();
		print_new_messages(&r);
		obj = own;
	}
	if (!obj)
		goto out;
	r.s.obj = obj;
	if (img->has_user_addrs && !opts->naming.uframe) {
		r.s.symbols = symbols_new(!opts->use_vm, &img->config);
		symbols_naming(r.s.symbols, &r.s.out.naming);
	}
	r.cost = cost_new(&r.s, opts->cost, opts->max_cpu_ppm, &why);
	if (why) {
		fail(&r, "%s", why);
		goto out;
	}
	r.s.head = obj->ops->map_mem(obj, MAP_IDX_DATA);
	stores_open(obj);
	set_clocks(&r.s);
	if (img->mode != RUN_TRACE)
		ok = opts->dry_run || run_suite(&r);
	else
		ok = opts->use_vm ? trace_in_vm(&r) : trace(&r);
	signals_stopping();
	detach(&r);
	if (!ok) {
		r.s.ignoring = true;
		session_drain(&r.s); /* nobody is left waiting for us: FN_AWAITED */
	}
	if (opts->child)
		child_kill(opts->child);
	if (img->mode != RUN_TRACE)
		report_losses(&r);
	else if (ok && !opts->dry_run)
		ok = finish(&r);
out:
	commands_free(&r.s);
	if (opts->child)
		child_kill(opts->child);
	if (!close_output(&r))
		ok = false;
	if (obj)
		stores_close(obj);
	cost_free(r.cost);
	free(why);
	if (own)
		own->ops->free(own);
	signals_end();
	if (r.pid_fd >= 0)
		close(r.pid_fd);
	symbols_free(r.s.symbols);
	unwind_free(r.s.unwind);
	vec_free(&r.attached);
	free(r.s.faults_told);
	free(r.s.lossy);
	sbuf_release(&r.s.text);
	sbuf_release(&r.s.whole);
	sbuf_release(&r.s.out.buf);
	status = !ok ? 1 : opts->strict && !account_is_empty(&r.s.account) ? EXIT_LOSSES : r.s.exit_code & 0xff;
	account_release(&r.s.account);
	return status;
}

int session_run(const struct image *img, struct diag *d, const struct session_opts *opts)
{
	return run(img, d, NULL, opts);
}

int session_run_object(struct object *obj, struct diag *d, const struct session_opts *opts)
{
	return run(obj->image, d, obj, opts);
}
