/* SPDX-License-Identifier: GPL-2.0-only */
/* A variable to watch.
 *
 *   watched --addr                 prints its address
 *   watched --func                 prints the address of a function
 *   watched [--wait] WRITES [THREADS [READS]]
 *
 * Writes to the variable so often in each of the threads (1), then reads it, and calls the function once for each write. --wait:
 * after SIGUSR1 came. The address is the same in each run: the program is static and not position-independent. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not zero: the kernel itself writes the zeroes when a program starts. Nothing touches what is beside it. */
static struct {
	long before;
	volatile long watched;
	long beside[8];
} vars __attribute__((aligned(64))) = { 1, 1, { 1 } };
static long writes = 1, reads;

__attribute__((noinline)) void watch_func(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *work(void *arg)
{
	long sum = 0;

	for (long i = 0; i < writes; i++) {
		vars.watched = i;
		watch_func();
	}
	for (long i = 0; i < reads; i++)
		sum += vars.watched;
	return sum < 0 ? arg : NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long cnt = 1;

	if (argc > 1 && !strcmp(argv[1], "--addr"))
		return printf("0x%lx\n", (long)&vars.watched) < 0;
	if (argc > 1 && !strcmp(argv[1], "--func"))
		return printf("0x%lx\n", (long)watch_func) < 0;
	if (argc > 1 && !strcmp(argv[1], "--wait")) {
		sigset_t set;
		int sig;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		sigwait(&set, &sig);
		argc--;
		argv++;
	}
	if (argc > 1)
		writes = atol(argv[1]);
	if (argc > 2)
		cnt = atol(argv[2]);
	if (argc > 3)
		reads = atol(argv[3]);
	for (long i = 1; i < cnt && i < 64; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	work(NULL);
	for (long i = 1; i < cnt && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
