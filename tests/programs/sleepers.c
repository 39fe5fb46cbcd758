/* SPDX-License-Identifier: GPL-2.0-only */
/* sleepers THREADS TIMES: each of THREADS threads reads 7 bytes from a pipe, TIMES times. The bytes come when all threads sleep
 * in read(): so many calls are in progress at once. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX = 1000, SIZE = 7 };

static int gate[2], times;
static _Atomic int tids[MAX];
static atomic_int reads;
static pthread_barrier_t all_have_read;

static void *sleeper(void *arg)
{
	char bytes[SIZE];

	*(_Atomic int *)arg = gettid();
	for (int i = 0; i < times; i++) {
		reads++;
		if (read(gate[0], bytes, SIZE) != SIZE)
			exit(1);
		pthread_barrier_wait(&all_have_read);
	}
	return NULL;
}

/* After it has counted, a thread sleeps nowhere else. */
static int is_asleep(int tid)
{
	char path[64], text[128] = "", *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		exit(1);
	close(fd);
	state = strchr(text, ')');
	return state && state[2] == 'S';
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t ids[MAX];

	times = argc > 2 ? atoi(argv[2]) : 1;
	if (threads > MAX || pipe(gate))
		return 1;
	pthread_barrier_init(&all_have_read, NULL, threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, sleeper, &tids[i]))
			return 1;
	for (int round = 1; round <= times; round++) {
		while (reads < threads * round)
			sched_yield();
		for (int i = 0; i < threads; i++)
			while (!is_asleep(tids[i]))
				sched_yield();
		for (int i = 0; i < threads; i++)
			if (write(gate[1], "1234567", SIZE) != SIZE)
				return 1;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
