/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spin: makes system calls. Each line of standard input is an order, which it answers with nanoseconds per call:
 *
 *   CALL COUNT RATE
 *
 * CALL is getppid, close (of COUNT numbers, none of them a file) or swapoff (of a file that does not exist, as a user who may not).
 * RATE is calls per second. With 0 they are made as fast as possible, and the answer is CPU time: other work does not disturb it.
 *
 * Each order runs in a new process: when the kernel frees a BPF program, RCU Tasks Trace marks every process, which makes its
 * traced calls some 20 ns longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* BURST: calls until it looks at the clock. A clock read for each call would limit the rate. */
enum { FIRST_FD = 2000000, NOBODY = 65534, BURST = 64 };

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void call(char kind, long i)
{
	if (kind == 'g')
		syscall(SYS_getppid);
	else if (kind == 'c')
		syscall(SYS_close, FIRST_FD + i);
	else
		syscall(SYS_swapoff, "/no-such-folder/and-no-such-file-in-it/x");
}

/* Returns the exit status. */
static int obey(const char *line)
{
	long cnt = 0, rate = 0;
	clockid_t clock;
	long long start;
	char name[32];

	/* The kernel refuses swapoff() at once for a user who is not allowed to, so tracing is a large part of the call. */
	if (sscanf(line, "%31s %ld %ld", name, &cnt, &rate) != 3 || cnt <= 0 || (name[0] == 's' && setuid(NOBODY)))
		return 2;
	clock = rate ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
	start = now(clock);
	for (long i = 0; i < cnt; i++) {
		call(name[0], i);
		if (rate && i % BURST == BURST - 1) {
			long long due = start + (i + 1) * 1000000000ll / rate;
			struct timespec t = { due / 1000000000, due % 1000000000 };

			if (due > now(clock))
				clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		}
	}
	printf("%.2f\n", (double)(now(clock) - start) / cnt);
	return 0;
}

int main(void)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		pid_t pid = fork();
		int status;

		if (!pid)
			exit(obey(line));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 2;
	}
	return 0;
}
