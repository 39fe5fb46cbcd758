/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread reads the file, because no flag of open() keeps a file system of others (FUSE, NFS) from waiting. One that waits
 * is left behind: it ends with the process. */
#include "run/readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/loop.h"

enum { LEFT_MAX = 3, SLICE_MS = 50 };

struct job {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool is_done, is_left; /* is_left: nobody waits for it */
	char *path;
	u64 max;
	struct sbuf text;
	const char *why; /* constant, or strerror()'s */
	bool is_open;
};

static void job_free(struct job *j)
{
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->done);
	sbuf_release(&j->text);
	free(j->path);
	free(j);
}

static const char *unfit(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (S_ISFIFO(st.st_mode))
		return "it is a FIFO";
	return S_ISCHR(st.st_mode) && isatty(fd) ? "it is a terminal" : NULL;
}

static const char *read_fd(struct job *j, int fd)
{
	char chunk[4096];
	ssize_t n = 1;

	while (n > 0 && j->text.len < j->max) {
		n = read(fd, chunk, MIN(j->max - j->text.len, sizeof(chunk)));
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			sbuf_add(&j->text, chunk, (size_t)n);
	}
	return n < 0 && errno != EAGAIN ? strerror(errno) : NULL; /* EAGAIN: that is all there is now */
}

static void *work(void *arg)
{
	struct job *j = arg;
	int fd = open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why = fd < 0 ? strerror(errno) : unfit(fd);
	bool is_left;

	j->is_open = fd >= 0;
	if (!why)
		why = read_fd(j, fd);
	if (fd >= 0)
		close(fd);
	pthread_mutex_lock(&j->lock);
	j->why = why;
	j->is_done = true;
	is_left = j->is_left;
	pthread_cond_signal(&j->done);
	pthread_mutex_unlock(&j->lock);
	if (is_left)
		job_free(j);
	return NULL;
}

static bool start(struct job *j)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the thread that knows what to do with them */
	err = pthread_create(&thread, &attr, work, j);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return !err;
}

/* False: it takes too long. */
static bool wait_for(struct job *j)
{
	u64 end = clock_ns(CLOCK_MONOTONIC) + READ_LIMIT_MS * 1000000ull;
	int before = signals_caught();
	bool is_done;

	pthread_mutex_lock(&j->lock);
	while (!j->is_done && clock_ns(CLOCK_MONOTONIC) < end && signals_caught() == before && !signals_insist()) {
		u64 next = clock_ns(CLOCK_REALTIME) + SLICE_MS * 1000000ull;
		struct timespec until = { (time_t)(next / 1000000000), (long)(next % 1000000000) };

		pthread_cond_timedwait(&j->done, &j->lock, &until);
	}
	is_done = j->is_done;
	j->is_left = !is_done;
	pthread_mutex_unlock(&j->lock);
	return is_done;
}

const char *read_some(const char *path, u64 max, struct sbuf *out, bool *is_open)
{
	static u32 left;
	const char *why;
	struct job *j;

	*is_open = false;
	if (left >= LEFT_MAX)
		return "not tried, because earlier files did not answer";
	j = xzalloc(sizeof(*j));
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->done, NULL);
	j->path = xstrdup(path);
	j->max = max;
	if (!start(j)) {
		job_free(j);
		return "there is no thread to read it";
	}
	if (!wait_for(j)) {
		left++;
		return "its file system does not answer";
	}
	why = j->why;
	*is_open = j->is_open;
	if (!why)
		sbuf_add(out, sbuf_str(&j->text), j->text.len);
	job_free(j);
	return why;
}
