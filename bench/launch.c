/*
 * launch COMMAND...: runs a command with its output thrown away and prints what it cost, on one line:
 *
 *   wall time (ns)  user + system time (µs)  largest resident set (KiB)  exit status
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

int main(int argc, char **argv)
{
	struct rusage use;
	long long start, end;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	start = now();
	pid = fork();
	if (pid < 0)
		return 2;
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &use) != pid)
		return 2;
	end = now();
	printf("%lld %lld %ld %d\n", end - start, micros(use.ru_utime) + micros(use.ru_stime), use.ru_maxrss,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
