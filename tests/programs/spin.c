/* SPDX-License-Identifier: GPL-2.0-only */
/* spin THREADS CALLS [MS]: each thread, on a CPU of its own, calls getppid() CALLS times. Then it stays for MS milliseconds. For
 * tests that count exactly. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls;

static void *work(void *arg)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((long)arg % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (long i = 0; i < calls; i++)
		syscall(SYS_getppid);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? atol(argv[1]) : 0;
	pthread_t t[64];

	if (threads < 1 || threads > 64) {
		fprintf(stderr, "usage: spin THREADS CALLS [MS]\n");
		return 2;
	}
	calls = atol(argv[2]);
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	if (argc > 3)
		usleep((unsigned)atoi(argv[3]) * 1000);
	return 0;
}
