/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that get addresses, for watchpoints on arguments.
 *
 *   watcharg [--wait] ADDRESSES [ROUNDS [THREADS]]
 *
 * fill(p, n) writes n times to *p, right from its first instruction on. Each of the threads (1) calls it for each of its own
 * ADDRESSES in turn, ROUNDS (1) times, with n = 10, and once with NULL and once with an odd address and n = 0. --wait: after
 * SIGUSR1 came. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long addresses = 1, rounds = 1;

/* It starts with a nop, which the kernel does not have to step over: after a step, QEMU reports watchpoints a second time that
 * were hit before … */
__attribute__((noinline, patchable_function_entry(1))) void fill(volatile long *p, long n)
{
	for (long i = 0; i < n; i++)
		*p = i;
	__asm__ volatile("" ::: "memory");
}

static void *work(void *arg)
{
	static volatile long cells[64][64];
	volatile long(*mine)[64] = &cells[(long)arg];

	fill(NULL, 0);
	for (long r = 0; r < rounds; r++)
		for (long i = 0; i < addresses && i < 63; i++) {
			fill(&(*mine)[i], 10);
			/* … nor does it forget a watchpoint that was hit before something else is written beside it. */
			(*mine)[63] = i;
		}
	fill((volatile long *)((volatile char *)*mine + 1), 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long cnt = 1;

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
		addresses = atol(argv[1]);
	if (argc > 2)
		rounds = atol(argv[2]);
	if (argc > 3)
		cnt = atol(argv[3]);
	for (long i = 1; i < cnt && i < 64; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	work(0);
	for (long i = 1; i < cnt && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
