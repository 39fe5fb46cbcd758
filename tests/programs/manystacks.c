/* SPDX-License-Identifier: GPL-2.0-only */
/* manystacks THREADS BITS ROUNDS: each thread calls getppid() once in a round from each of 2^BITS stacks, which differ in the
 * functions on them, and waits a millisecond for the next. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bits, rounds;

static long left(int path, int level);
static long right(int path, int level);

static inline __attribute__((always_inline)) long down(int path, int level)
{
	long result = !level ? syscall(SYS_getppid) : path >> (level - 1) & 1 ? right(path, level - 1) : left(path, level - 1);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return result;
}

__attribute__((noinline, noclone)) static long left(int path, int level)
{
	return down(path, level);
}

__attribute__((noinline, noclone)) static long right(int path, int level)
{
	return down(path, level) + 1;
}

static void *work(void *arg)
{
	for (int round = 0; round < rounds; round++) {
		for (int path = 0; path < 1 << bits; path++)
			left(path, bits);
		usleep(1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int cnt = argc == 4 ? atoi(argv[1]) : 0;
	pthread_t threads[64];

	if (cnt < 1 || cnt > 64)
		return 2;
	bits = atoi(argv[2]);
	rounds = atoi(argv[3]);
	for (int i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
