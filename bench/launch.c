/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch COMMAND...: runs a command with its output thrown away and prints what it cost, on one line:
 *
 *   wall time (ns)  user + system time (µs)  largest resident set (KiB)  exit status
 *
 * The largest resident set includes that of the process that forked. So this is a small program, not the interpreter.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long long start = now(), took, cpu_us;
	struct rusage use;
	int status;
	pid_t pid = argc > 1 ? fork() : -1;

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid)
		return 2;
	took = now() - start;
	cpu_us = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000ll + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
	printf("%lld %lld %ld %d\n", took, cpu_us, use.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
