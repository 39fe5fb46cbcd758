/*
 * spin: makes system calls as it is told on standard input, and answers each line with one:
 *
 *   CALL COUNT [RATE]   -> nanoseconds that a call took, and how many were made
 *
 * CALL is getppid, close (of COUNT numbers that are no file, each another) or swapoff (of a file that is not there, by a user who may not;
 * swapoff:N with a path of N characters). RATE is calls in a second; without it they are made as fast as it goes.
 *
 * Each line is the work of a new process. One that was there while the kernel freed a BPF program, anybody's, has been looked at by RCU Tasks Trace, and the
 * mark of that makes every traced call some 20 ns longer: the figures would depend on what ran before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FD = 2000000, LONGEST = 4000, NOBODY = 65534 };

static char path[LONGEST + 1];

/* A path of that many characters, of names that are not too long. */
static void set_path(long len)
{
	for (long i = 0; i < len && i < LONGEST; i++)
		path[i] = i % 64 ? 'a' + i % 26 : '/';
	path[len < LONGEST ? len : LONGEST] = 0;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void call(char kind, long i)
{
	if (kind == 'g')
		syscall(SYS_getppid);
	else if (kind == 'c')
		syscall(SYS_close, FIRST_FD + i);
	else
		syscall(SYS_swapoff, path);
}

/* Makes the calls of one line and answers it. False when the line is not understood. */
static int obey(const char *line)
{
	/* At a rate, this many are made in a row, then it sleeps: a clock read for each would limit it. */
	enum { BURST = 64 };
	long cnt = 0, rate = 0;
	long long start, took;
	char name[32];

	if (sscanf(line, "%31s %ld %ld", name, &cnt, &rate) < 2)
		return 0;
	set_path(strchr(name, ':') ? atol(strchr(name, ':') + 1) : 40);
	/* The less swapoff() does, the better what tracing adds to it is seen: a user who is not allowed to is told so at once. */
	if (name[0] == 's' && setuid(NOBODY))
		return 0;
	start = now();
	for (long i = 0; i < cnt; i++) {
		call(name[0], i);
		if (rate && i % BURST == BURST - 1) {
			long long due = start + (i + 1) * 1000000000ll / rate;
			struct timespec t = { due / 1000000000, due % 1000000000 };

			if (due > now())
				clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		}
	}
	took = now() - start;
	printf("%.2f %ld\n", (double)took / (cnt ? cnt : 1), cnt);
	return 1;
}

int main(void)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		pid_t pid = fork();
		int status;

		if (!pid)
			exit(!obey(line));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 2;
	}
	return 0;
}
