/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/sbuf.h"

enum { DEPTH_MAX = 4, FIRST_MS = 1000, NEXT_MS = 200 };

struct step {
	const char *what;
	u32 total, done;
	u64 begin_ms;
};

bool progress_is_on;
static bool is_enabled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static pthread_t ticker;
static struct step steps[DEPTH_MAX];
static u32 depth;
static u64 quiet_ms; /* when something else was written last */
static bool is_shown;

void progress_enable(bool on)
{
	is_enabled = on;
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

static void put(const char *text, size_t len)
{
	if (write(STDERR_FILENO, text, len) < 0)
		is_shown = false; /* nobody is there to see it */
}

static void clear(void)
{
	if (is_shown)
		put("\r\033[K", 4);
	is_shown = false;
}

static void show(const struct step *s, u64 now)
{
	u32 done = __atomic_load_n(&s->done, __ATOMIC_RELAXED);
	struct sbuf b = {};

	sbuf_printf(&b, "\r%s", s->what);
	if (s->total) {
		sbuf_puts(&b, ": ");
		num_put_grouped(&b, MIN(done, s->total));
		sbuf_puts(&b, " of ");
		num_put_grouped(&b, s->total);
	}
	sbuf_printf(&b, ", %llu s\033[K", (unsigned long long)(now - s->begin_ms) / 1000);
	is_shown = true;
	put(b.s, b.len);
	sbuf_release(&b);
}

static void *tick(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (depth) {
		const struct step *s = &steps[MIN(depth, DEPTH_MAX) - 1];
		u64 now = now_ms(), since = MAX(s->begin_ms, quiet_ms), next = since + FIRST_MS;
		struct timespec until;

		if (now >= next) {
			show(s, now);
			next = now + NEXT_MS;
		}
		until = (struct timespec){ (time_t)(next / 1000), (long)(next % 1000 * 1000000) };
		pthread_cond_timedwait(&wake, &lock, &until);
	}
	clear();
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Signals are for the thread that knows what to do with them. */
static bool start(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	bool ok;

	sigfillset(&all);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ok = !pthread_create(&ticker, NULL, tick, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ok;
}

void progress_begin(const char *what, u32 total)
{
	if (!is_enabled)
		return;
	pthread_mutex_lock(&lock);
	if (depth++ < DEPTH_MAX)
		steps[depth - 1] = (struct step){ what, total, 0, now_ms() };
	if (!progress_is_on) {
		progress_is_on = start();
		if (!progress_is_on)
			is_enabled = false;
	}
	pthread_mutex_unlock(&lock);
}

void progress_end(void)
{
	bool is_last;

	if (!progress_is_on)
		return;
	pthread_mutex_lock(&lock);
	is_last = !--depth;
	if (is_last)
		pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	pthread_join(ticker, NULL);
	pthread_cond_destroy(&wake);
	progress_is_on = false;
}

static u32 *done_of_step(void)
{
	return &steps[MIN(depth, DEPTH_MAX) - 1].done;
}

void progress_add(u32 cnt)
{
	if (progress_is_on)
		__atomic_fetch_add(done_of_step(), cnt, __ATOMIC_RELAXED);
}

void progress_set(u32 cnt)
{
	if (progress_is_on)
		__atomic_store_n(done_of_step(), cnt, __ATOMIC_RELAXED);
}

void progress_clear(void)
{
	pthread_mutex_lock(&lock);
	clear();
	quiet_ms = now_ms();
	pthread_mutex_unlock(&lock);
}
