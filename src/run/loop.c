/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "run/command.h"
#include "run/losses.h"
#include "run/symbols.h"

#define LOST_REPORT_NS 1000000000ull /* at most one report of lost events in this time */
#define FAULT_LOOK_MS 1000
#define WAKE_GAP_NS 1000000ull /* wake-ups under load: at most one in this time … */
#define WAKE_RECORDS 64        /* … or for so many records, whatever is sooner */
#define INSIST_NS 300000000ull /* a further signal counts after this time: timeout(1) sends the first one twice */

u64 clock_ns(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction old_actions[ARRAY_CNT(stop_signals)], old_pipe_action;
static volatile sig_atomic_t caught, insisted;
static u64 stop_ns; /* when the end began, or the last signal that counted since then came; 0: not yet */
static int wake_fd = -1;

/* Results are given up only by who asks for it: nothing tells him apart from one who does not know that the end has begun. */
static void on_insist(int sig)
{
	static const char text[] = "\nCtrl-C again to leave without the results\n";

	insisted++;
	if (insisted == 1) {
		if (isatty(STDERR_FILENO) && write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
			insisted = 1;
		return;
	}
	signal(sig, SIG_DFL);
	raise(sig); /* takes effect when this handler returns */
}

static void on_stop(int sig)
{
	int err = errno;
	u64 now = clock_ns(CLOCK_MONOTONIC), since = __atomic_load_n(&stop_ns, __ATOMIC_RELAXED), one = 1;

	if (since && now - since > INSIST_NS) {
		__atomic_store_n(&stop_ns, now, __ATOMIC_RELAXED);
		on_insist(sig);
	} else if (!caught) {
		caught = sig;
		signals_stopping();
	}
	if (write(wake_fd, &one, sizeof(one)) < 0)
		errno = err; /* the counter is full: awake anyway */
	errno = err;
}

static volatile sig_atomic_t usr1_cnt;
static struct sigaction old_usr1_action;
static bool takes_usr1;

static void on_usr1(int sig)
{
	int err = errno;
	u64 one = 1;

	(void)sig;
	usr1_cnt++;
	if (write(wake_fd, &one, sizeof(one)) < 0)
		errno = err; /* the counter is full: awake anyway */
	errno = err;
}

static void on_pipe(int sig)
{
	(void)sig; /* the write says EPIPE. A handler, because commands that we start would inherit SIG_IGN */
}

int signals_begin(void)
{
	struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };

	caught = insisted = 0;
	stop_ns = 0;
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		return -errno;
	for (u32 i = 0; i < ARRAY_CNT(stop_signals); i++) {
		sigaction(stop_signals[i], &sa, &old_actions[i]);
		/* nohup wants SIGHUP to stay ignored. A shell ignores SIGINT in background jobs, but `kill -INT` must end us, as
		 * it ends every tracer: otherwise a script that traces in the background would never see the maps. */
		if (stop_signals[i] == SIGHUP && old_actions[i].sa_handler == SIG_IGN)
			sigaction(stop_signals[i], &old_actions[i], NULL);
	}
	sa.sa_handler = on_pipe;
	sigaction(SIGPIPE, &sa, &old_pipe_action);
	return 0;
}

void signals_take_usr1(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

	usr1_cnt = 0;
	sigaction(SIGUSR1, &sa, &old_usr1_action);
	takes_usr1 = true;
}

void signals_end(void)
{
	if (wake_fd < 0)
		return;
	if (takes_usr1)
		sigaction(SIGUSR1, &old_usr1_action, NULL);
	takes_usr1 = false;
	for (u32 i = 0; i < ARRAY_CNT(stop_signals); i++)
		sigaction(stop_signals[i], &old_actions[i], NULL);
	sigaction(SIGPIPE, &old_pipe_action, NULL);
	close(wake_fd);
	wake_fd = -1;
}

int signals_caught(void)
{
	return caught;
}

bool signals_insist(void)
{
	return insisted;
}

int signals_fd(void)
{
	return wake_fd;
}

void signals_stopping(void)
{
	u64 none = 0;

	__atomic_compare_exchange_n(&stop_ns, &none, clock_ns(CLOCK_MONOTONIC), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void on_record(void *arg, const u8 *data, u32 len)
{
	struct session *s = arg;
	struct rec_head head;
	const struct rec *rec;

	if (len < sizeof(head)) {
		s->bad_records++;
		return;
	}
	memcpy(&head, data, sizeof(head));
	if (head.id >= s->image->recs.cnt || len < s->image->recs.at[head.id]->fixed_sz) {
		s->bad_records++;
		return;
	}
	rec = s->image->recs.at[head.id];
	if ((s->ignoring || s->out.write_err) && !rec->is_awaited)
		return;
	session_event(s, rec, data, len);
	losses_shown(s, &rec->span, fn_name(rec->fn));
}

int session_drain(struct session *s)
{
	int cnt = s->obj->ops->consume(s->obj, on_record, s);

	faults_tell(s, false);
	if (s->flushes)
		out_flush(&s->out);
	if (s->out.write_err)
		s->exiting = true;
	commands_go_on(s);
	commands_make_room(s);
	return cnt;
}

void session_exit(struct session *s, int code)
{
	s->exiting = true;
	s->ignoring = true;
	if (!s->exit_called)
		s->exit_code = code;
	s->exit_called = true;
}

/* Tells of events that were lost since the last time. Returns after how many milliseconds to come back, -1: no need. */
static int report_lost(struct session *s)
{
	u64 lost, now;

	if (!s->head)
		return -1;
	lost = __atomic_load_n(&s->head->lost_events, __ATOMIC_RELAXED);
	if (lost <= s->lost_reported)
		return -1;
	now = clock_ns(CLOCK_MONOTONIC);
	if (s->last_lost_ns && now - s->last_lost_ns < LOST_REPORT_NS)
		return (int)((LOST_REPORT_NS - (now - s->last_lost_ns)) / 1000000) + 1;
	s->out.sink->lost(&s->out, lost - s->lost_reported);
	if (s->flushes)
		out_flush(&s->out);
	s->lost_reported = lost;
	s->last_lost_ns = now;
	return -1;
}

/* Calls on_tick() if it is time to. Returns the smaller of timeout and the milliseconds to the next time. */
static int tick(struct loop *l, u64 now, u64 *last, int timeout)
{
	int left, tick_ms = l->tick_ms ? l->tick_ms : LOOP_TICK_MS;

	if (!l->on_tick)
		return timeout;
	if (!*last)
		*last = now;
	if (now - *last >= (u64)tick_ms * 1000000) {
		l->on_tick(l->arg);
		*last = now;
	}
	left = tick_ms - (int)((now - *last) / 1000000);
	return timeout < 0 ? left : MIN(timeout, left);
}

/* Events that come one by one, each faster than we fall asleep, would cost a wake-up each: it is better to wait for some more.
 * Not for long, and not for so many that even a small ring could fill up. */
static void gather(u64 last_start, u64 start, int cnt)
{
	u64 now = clock_ns(CLOCK_MONOTONIC), wait;
	struct timespec nap = {};

	if (cnt <= 0 || now - start >= WAKE_GAP_NS)
		return;
	wait = MIN(WAKE_GAP_NS - (now - start), (start - last_start) / (u64)cnt * WAKE_RECORDS);
	nap.tv_nsec = (long)wait;
	nanosleep(&nap, NULL);
}

void loop_run(struct loop *l)
{
	struct session *s = l->s;
	int ring_fd = s->obj->ops->poll_fd(s->obj);
	struct pollfd fds[] = {
		{ .fd = wake_fd, .events = POLLIN },   { .fd = ring_fd, .events = POLLIN }, /* poll() passes over -1 */
		{ .fd = l->pid_fd, .events = POLLIN }, { .fd = -1, .events = POLLIN },      { .fd = -1, .events = POLLIN },
	};
	/* Faults come without an event that would wake us, and so do full maps. */
	bool looks_at_maps = !l->is_brief && full_maps_possible(s);
	int patience = faults_possible(s) || looks_at_maps ? FAULT_LOOK_MS : -1;
	u64 start = 0, last_start, last_tick = 0, woken, looked = 0;
	int usr1_done = 0;

	for (;;) {
		int timeout, cnt;

		last_start = start;
		start = clock_ns(CLOCK_MONOTONIC);
		cnt = session_drain(s);
		if (looks_at_maps && start - looked >= FAULT_LOOK_MS * 1000000ull) {
			full_maps_tell(s);
			looked = start;
		}
		timeout = report_lost(s);
		if (timeout < 0)
			timeout = patience;
		timeout = tick(l, start, &last_tick, timeout);
		if (caught)
			s->exiting = true;
		if (s->exiting || l->is_brief)
			break;
		if (symbols_go_on(s->symbols))
			timeout = 0;
		if (symbols_are_crowded(s->symbols))
			session_forget_processes(s);
		fds[3].fd = symbols_fd(s->symbols, &timeout);
		fds[4].fd = commands_fd(s->commands);
		if (poll(fds, ARRAY_CNT(fds), timeout) < 0 && errno != EINTR)
			BUG("poll: %s", strerror(errno));
		while (l->on_usr1 && usr1_done != usr1_cnt && !caught && !s->exiting) {
			usr1_done++;
			if (!l->on_usr1(l->arg))
				s->exiting = true;
		}
		/* Or poll() would return at once from now on. */
		if (fds[0].revents && !caught && read(wake_fd, &woken, sizeof(woken)) < 0)
			continue; /* it was a signal's write that we did not see yet */
		if (fds[3].revents)
			symbols_update(s->symbols);
		if (fds[4].revents)
			commands_go_on(s);
		if (fds[2].revents)
			s->exiting = true; /* what it caused is drained at the end */
		if (fds[1].revents && !s->exiting && !caught)
			gather(last_start, start, cnt);
	}
}
