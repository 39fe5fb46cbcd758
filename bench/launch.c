/*
 * launch COMMAND...: runs a command with its output thrown away and prints what it cost, on one line:
 *
 *   wall time (ns)  user + system time (µs)  largest resident set (KiB)  exit status  wall time of nothing (ns)
 *
 * The last is what a program that ends at once takes, this one without arguments, before and after the command: how slow the machine is right now.
 *
 * A small program of its own because the kernel counts the memory of the process that forked into the child's largest resident set: started
 * from an interpreter, every command would seem to need at least the interpreter's memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static long long micros(struct timeval t)
{
	return t.tv_sec * 1000000ll + t.tv_usec;
}

/* Wall time, or -1. */
static long long run(char **argv, int *status, struct rusage *use)
{
	long long start = now();
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid > 0 && wait4(pid, status, 0, use) == pid ? now() - start : -1;
}

int main(int argc, char **argv)
{
	char *nothing[] = { "/proc/self/exe", NULL };
	struct rusage use, unused;
	long long before, took, after;
	int status, ignored;

	if (argc < 2)
		return 0;
	before = run(nothing, &ignored, &unused);
	took = run(argv + 1, &status, &use);
	after = run(nothing, &ignored, &unused);
	if (before < 0 || took < 0 || after < 0)
		return 2;
	printf("%lld %lld %ld %d %lld\n", took, micros(use.ru_utime) + micros(use.ru_stime), use.ru_maxrss,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), (before + after) / 2);
	return 0;
}
