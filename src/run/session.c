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

#include "kern/sys.h"
#include "probe/provider.h"
#include "run/child.h"
#include "run/loop.h"
#include "run/mapread.h"
#include "run/stackids.h"
#include "run/suite.h"
#include "run/symbols.h"
#include "run/unwind.h"

#define OUT_BUF_SZ (64 << 10)
#define PROGRESS_AFTER_NS 1000000000ull
#define LOOK_AT_MAX 1000 /* descriptors that are asked every few seconds what was missed; with more it would take too long */
#define MANY_SITES 200 /* attach points that may need more descriptors than the usual limit */

/* Descriptors of one program, and what they and the program tell of hits that never ran it. */
struct attached {
	u32 prog, fd_cnt;
	u64 missed;
	u64 told; /* of missed and skipped ones together, -v */
};

struct run {
	struct session s;
	const struct session_opts *opts;
	struct attach_ctx attach;
	u64 attach_ns;       /* when attaching began */
	bool shows_progress;
	vec(struct attached) attached; /* in the order of attach.fds */
	FILE *own_file;  /* -o */
	u32 diag_seen;   /* messages of the diag that were printed, or are not ours */
	int pid_fd;      /* -p */
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
	out_message(&r->s.out, DIAG_WARNING, r->s.c->diag, at, sbuf_str(&b));
	sbuf_release(&b);
}

/* What loading or attaching had to say. */
static void print_new_messages(struct run *r)
{
	const struct diag *d = r->s.c->diag;
	struct sbuf text = {};

	for (; r->diag_seen < d->msgs.cnt; r->diag_seen++) {
		struct diag one = *d;

		one.msgs.at = &d->msgs.at[r->diag_seen];
		one.msgs.cnt = 1;
		diag_print(&one, one.msgs.at->level, r->s.out.colour, &text);
	}
	if (text.len) {
		out_flush(&r->s.out);
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

static u32 flags_of(const struct run *r, u32 prog)
{
	return r->s.image->progs.at[prog].unit->provider->flags;
}

static bool run_prog(struct run *r, u32 prog)
{
	int err = r->s.obj->ops->prog_run(r->s.obj, prog, NULL);

	if (!err)
		return true;
	if (r->diag_seen == r->s.c->diag->msgs.cnt)
		fail(r, "cannot run the program of %s: %s", r->s.image->progs.at[prog].unit->provider->name, strerror(-err));
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

/* On a terminal, when it takes longer than one likes to wait without a word. */
static void show_progress(struct run *r, u32 done)
{
	u64 now = clock_ns(CLOCK_MONOTONIC);

	if (r->opts->quiet || now - r->attach_ns < PROGRESS_AFTER_NS || !isatty(fileno(r->s.out.err)))
		return;
	fprintf(r->s.out.err, "\rAttaching: %u of %u", done, r->s.image->progs.cnt);
	fflush(r->s.out.err);
	r->shows_progress = true;
}

static void hide_progress(struct run *r)
{
	if (r->shows_progress)
		fputs("\r\033[K", r->s.out.err);
	r->shows_progress = false;
}

/* Attaches unit i if it is one of those. Adds to *cnt. */
static bool attach_one(struct run *r, u32 i, bool is_reverse, u32 *cnt)
{
	const struct unit *u = r->s.image->progs.at[i].unit;
	struct object *obj = r->s.obj;
	u32 before;
	int n, fd;

	if ((u->provider->flags & PROV_SELF) || !(u->provider->flags & PROV_REVERSE) == is_reverse)
		return true;
	if (u->is_joined) /* it is attached with the other half of its session */
		return true;
	if (signals_caught())
		return false;
	fd = obj->ops->prog_fd ? obj->ops->prog_fd(obj, i) : kern_object_prog_fd(obj, i);
	if (fd < 0)
		return true; /* the kernel does not want a program there, and loading said so if it matters */
	before = r->attach.fds.cnt;
	n = u->provider->attach(&r->attach, u, fd);
	vec_push(&r->attached, (struct attached){ i, r->attach.fds.cnt - before });
	if (r->diag_seen == r->s.c->diag->msgs.cnt)
		show_progress(r, r->attached.cnt);
	else
		hide_progress(r);
	if (n < 0 && r->diag_seen == r->s.c->diag->msgs.cnt)
		fail(r, "cannot attach %s: %s", u->name, strerror(-n));
	print_new_messages(r);
	if (n < 0 || ((u32)n < u->site_cnt && r->s.c->config.missing_probes == MISSING_ERROR))
		return false;
	for (u32 k = 0; k < u->site_cnt && n > 0; k++)
		n -= r->s.c->sites.at[u->site_first + k].is_more;
	*cnt += u->session ? 2 * (u32)n : (u32)n;
	return true;
}

static bool attach_all(struct run *r, u32 *cnt)
{
	u32 prog_cnt = r->s.image->progs.cnt;

	r->attach_ns = clock_ns(CLOCK_MONOTONIC);
	*cnt = 0;
	if (r->s.c->sites.cnt > MANY_SITES)
		raise_fd_limit();
	for (u32 i = prog_cnt; i-- > 0;)
		if (!attach_one(r, i, true, cnt))
			return false;
	for (u32 i = 0; i < prog_cnt; i++)
		if (!attach_one(r, i, false, cnt))
			return false;
	hide_progress(r);
	for (u32 i = 0; i < prog_cnt; i++)
		if (flags_of(r, i) & PROV_SELF)
			*cnt += r->s.image->progs.at[i].unit->site_cnt;
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
		a->missed = probe_missed(&r->attach, r->s.image->progs.at[a->prog].unit, at, a->fd_cnt);
		at += a->fd_cnt;
	}
}

/* When the kernel misses the first half of a session it does not run the other either, and counts that as one; older ones (6.12) try the other
 * nevertheless, and count each that fails. */
static const char *missed_what(const struct unit *u)
{
	return u->session ? "this probe and its return" : "this probe";
}

/* -v: tells while tracing what report_losses() tells at the end, if there is something new. */
static void tell_missed(void *arg)
{
	struct run *r = arg;
	struct session *s = &r->s;

	if (r->attach.fds.cnt > LOOK_AT_MAX)
		return;
	count_missed(r);
	vec_for(a, &r->attached) {
		const struct unit *u = s->image->progs.at[a->prog].unit;
		u64 cnt = a->missed + (s->obj->ops->prog_missed ? s->obj->ops->prog_missed(s->obj, a->prog) : 0);

		if (cnt > a->told)
			warn_at(r, &u->probe->span, "the kernel skipped %llu hit%s of %s since %s", (unsigned long long)(cnt - a->told),
				cnt - a->told == 1 ? "" : "s", missed_what(u), a->told ? "the last message" : "the start");
		a->told = cnt;
	}
}

static void detach_all(struct run *r)
{
	count_missed(r);
	while (r->attach.iters.cnt)
		close(r->attach.iters.at[--r->attach.iters.cnt]);
	vec_free(&r->attach.iters);
	probe_detach(&r->attach);
}

/* Runs the iterators to their end. Each object that was visited is a byte: where the script prints, one is asked for at a time, so that what it
 * sends always finds room. */
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
		warn_at(r, NULL, "the kernel does not tell what programs map: dw_ustack knows only what was mapped when tracing began");
	for (u32 i = 0; i < o->unwind_pid_cnt + 1; i++) {
		u32 pid = i ? o->unwind_pids[i - 1] : o->pid;
		int err = pid ? unwind_add(u, pid) : 0;

		if (err) {
			fail(r, "cannot read what process %u has mapped: %s", pid, strerror(-err));
			return false;
		}
	}
	if (o->child) {
		unwind_prepare(u, o->child->file);
		unwind_expect(u, (u32)o->child->pid);
	}
	/* What is probed will be on stacks, whoever runs it. */
	vec_for(site, &r->s.c->sites) {
		if (!(site->provider->flags & PROV_USER_FILE) || !site->target || (last && str_eq(last, site->target)))
			continue;
		last = site->target;
		unwind_prepare(u, last);
	}
	return true;
}

/* Loading, attaching and detaching is all there is to a dry run. */
static bool trace(struct run *r)
{
	struct child *child = r->opts->child;
	struct loop loop = { .s = &r->s, .pid_fd = child ? child->pid_fd : r->pid_fd };
	struct sbuf why = {};
	u32 cnt;

	loop.arg = r;
	if (r->opts->verbose)
		loop.on_tick = tell_missed;
	/* From here on, so that a signal that comes while we attach is not the end. */
	if (has_trigger(r)) {
		signals_take_usr1();
		loop.on_usr1 = run_triggered;
	}
	if (!r->opts->dry_run && !run_self(r, false))
		return false;
	if (!start_unwinding(r) || !attach_all(r, &cnt))
		return false;
	if (r->opts->dry_run)
		return true;
	if (!r->opts->quiet) {
		r->s.out.sink->attached(&r->s.out, cnt);
		if (r->s.flushes)
			out_flush(&r->s.out);
	}
	if (r->s.obj->stack_ids)
		stack_ids_start(r->s.obj->stack_ids);
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
	stack_ids_stop(r->s.obj->stack_ids);
	detach_all(r);
	session_drain(&r->s);
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
	return true;
}

/* begin, tests or benchmarks, end. */
static bool run_suite(struct run *r)
{
	bool ok;

	if (!run_self(r, false))
		return false;
	session_drain(&r->s);
	ok = suite_run(&r->s);
	return run_self(r, true) && ok;
}

static void report_losses(struct run *r)
{
	struct session *s = &r->s;
	const u8 *data = (const u8 *)s->head;

	faults_tell(s, true);

	if (s->bad_records)
		warn_at(r, NULL, "%llu events were not what was expected and are not shown; this is a bug in sonde",
			(unsigned long long)s->bad_records);
	for (u32 i = 0; s->obj->ops->prog_missed && i < s->image->progs.cnt; i++) {
		const struct unit *u = s->image->progs.at[i].unit;
		u64 missed = s->obj->ops->prog_missed(s->obj, i);

		if (missed)
			warn_at(r, &u->probe->span, "the kernel skipped %llu hit%s of %s: a program was running on that CPU already",
				(unsigned long long)missed, missed == 1 ? "" : "s", missed_what(u));
	}
	vec_for(a, &r->attached) {
		const struct unit *u = s->image->progs.at[a->prog].unit;
		bool has_return = u->provider->flags & PROV_RETVAL || u->session;

		if (a->missed)
			warn_at(r, &u->probe->span, "the kernel missed %llu hit%s of %s: %s", (unsigned long long)a->missed, a->missed == 1 ? "" : "s", missed_what(u),
				has_return ? "more calls were under way than it can follow, or probes were nested" : "probes were nested");
	}
	if (symbols_lost(s->symbols))
		warn_at(r, NULL, "%llu notices of what programs map were lost: names of addresses may be missing",
			(unsigned long long)symbols_lost(s->symbols));
	if (!s->head)
		return;
	full_maps_look(s);
	for (u32 i = 0; i < s->c->maps.cnt; i++) {
		const struct map *m = s->c->maps.at[i];
		bool is_exact;
		u64 lost = map_lost(m, data, &is_exact);
		const char *cnt = is_exact ? arena_printf(s->c->arena, "%llu update%s", (unsigned long long)lost, lost == 1 ? " was" : "s were") : "updates were";

		if (lost && s->lossy[i].is_full)
			warn_at(r, &m->first_use, "map %s was full: %s lost; raise max_map_keys (it has room for %u keys)", m->name, cnt, m->max_entries);
		else if (lost)
			warn_at(r, &m->first_use, "map %s got new keys faster than the kernel had memory for them: %s lost", m->name, cnt);
	}
	if (s->head->failed_reads && !s->c->warns_more && !s->out.no_warnings)
		warn_at(r, NULL, "%llu read%s of memory failed: the value%s taken as zero, or as empty; -k shows where", (unsigned long long)s->head->failed_reads,
			s->head->failed_reads == 1 ? "" : "s", s->head->failed_reads == 1 ? " was" : "s were");
	if (s->head->scratch_busy)
		warn_at(r, NULL, "%llu events were not handled: too many programs were interrupting each other on one CPU",
			(unsigned long long)s->head->scratch_busy);
	if (s->head->guarded)
		warn_at(r, NULL, "%llu hit%s left out: a program was running on that CPU, and a probe is on what programs use themselves",
			(unsigned long long)s->head->guarded, s->head->guarded == 1 ? " was" : "s were");
	if (s->head->failed_stacks)
		warn_at(r, NULL, "%llu stack%s could not be taken and count%s as empty", (unsigned long long)s->head->failed_stacks,
			s->head->failed_stacks == 1 ? "" : "s", s->head->failed_stacks == 1 ? "s" : "");
	if (s->head->lost_ctrl)
		warn_at(r, NULL, "%llu calls of exit, print, clear or zero were lost: the buffer was full; raise perf_rb_pages",
			(unsigned long long)s->head->lost_ctrl);
	if (s->head->lost_events)
		warn_at(r, NULL, "Total lost event count: %llu", (unsigned long long)s->head->lost_events);
}

/* After tracing: end, maps, losses. */
static bool finish(struct run *r)
{
	struct session *s = &r->s;
	bool ok;

	s->ignoring = false;
	if (s->head)
		full_maps_look(s); /* `end` may clear them */
	ok = run_self(r, true);
	if (!s->out.write_err)
		session_print_maps(s);
	out_flush(&s->out);
	report_losses(r);
	return ok;
}

/* Closes the output and says what went wrong with it; a reader that went away is no error. */
static bool close_output(struct run *r)
{
	struct out *out = &r->s.out;

	if (!out->file)
		return true;
	out_flush(out);
	if (r->own_file && fclose(r->own_file) && !out->write_err)
		out->write_err = errno;
	r->own_file = NULL;
	if (!out->write_err || out->write_err == EPIPE)
		return true;
	fprintf(out->err, "ERROR: cannot write to %s: %s\n", r->opts->output_path ? r->opts->output_path : "the output",
		strerror(out->write_err));
	return false;
}

static int run(struct compile *c, struct object *obj, const struct session_opts *opts)
{
	struct run r = {
		.s = { .c = c, .image = c->image, .out.naming = opts->naming, .is_verbose = opts->verbose,
		       .is_quiet = opts->quiet, .is_dry_run = opts->dry_run },
		.opts = opts,
		.attach = { .c = c, .diag = c->diag, .verbose = opts->verbose },
		.diag_seen = c->diag->msgs.cnt,
		.pid_fd = -1,
	};
	struct object *own = NULL;
	bool ok = false;

	r.s.out.naming.compile = c;
	r.s.attach = opts->use_vm ? NULL : &r.attach;
	r.attach.filter_pid = opts->pid ? opts->pid : opts->child ? (u32)opts->child->pid : 0;
	if (!open_output(&r) || !open_pid(&r) || signals_begin())
		goto out;
	if (!obj) {
		own = opts->use_vm ? vm_object_load(c->image, c->diag) : kern_object_load(c->image, c->diag, opts->verbose);
		print_new_messages(&r);
		obj = own;
	}
	if (!obj)
		goto out;
	r.s.obj = obj;
	if (c->image->has_user_addrs && !opts->naming.uframe) {
		r.s.symbols = symbols_new(!opts->use_vm, &c->config);
		symbols_naming(r.s.symbols, &r.s.out.naming);
	}
	r.s.head = obj->ops->map_mem(obj, MAP_IDX_DATA);
	obj->stack_ids = stack_ids_new(obj, c);
	set_clocks(&r.s);
	if (c->mode != RUN_TRACE)
		ok = opts->dry_run || run_suite(&r);
	else
		ok = opts->use_vm ? trace_in_vm(&r) : trace(&r);
	signals_stopping();
	detach_all(&r);
	if (!ok) {
		r.s.ignoring = true;
		session_drain(&r.s); /* nobody is left waiting for us: FN_AWAITED */
	}
	if (opts->child)
		child_kill(opts->child);
	if (c->mode != RUN_TRACE)
		report_losses(&r);
	else if (ok && !opts->dry_run)
		ok = finish(&r);
out:
	if (opts->child)
		child_kill(opts->child);
	if (!close_output(&r))
		ok = false;
	if (obj) {
		stack_ids_free(obj->stack_ids);
		obj->stack_ids = NULL;
	}
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
	return ok ? r.s.exit_code & 0xff : 1;
}

int session_run(struct compile *c, const struct session_opts *opts)
{
	return run(c, NULL, opts);
}

int session_run_object(struct compile *c, struct object *obj, const struct session_opts *opts)
{
	return run(c, obj, opts);
}
