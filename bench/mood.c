/*
 * mood: says how fast the CPUs are right now.
 *
 * A virtual CPU may share its core with one of another machine. While that one works, everything takes up to half as long again here, for milliseconds
 * or for minutes, and no clock tells. A short loop of independent additions does: it takes the same time whenever the core is its own, and up to half
 * as much again when it is not.
 *
 * Each line of stdin is a number of milliseconds, after which the loop runs again and again on each CPU; 0 is never. The answer is one line, for each
 * CPU the mean of the nanoseconds that the loop took since the last line and once more now. That one counts for the next answer, too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct cpu {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change; /* of what follows */
	int is_asked, period_ms, cnt;
	double sum, mean; /* ns */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static double time_loop(void)
{
	unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
	double start = now();

	for (int i = 0; i < 8000; i++) {
		a += 1, b += 3, c += 5, d += 7, e += 9, f += 11;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	}
	return now() - start;
}

static void wait_for_change(struct cpu *cpu)
{
	struct timespec until;

	if (!cpu->period_ms) {
		pthread_cond_wait(&cpu->change, &cpu->lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += cpu->period_ms * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&cpu->change, &cpu->lock, &until);
}

static void *run_loops(void *arg)
{
	struct cpu *cpu = arg;

	pthread_mutex_lock(&cpu->lock);
	for (;;) {
		double took = time_loop();

		cpu->sum += took;
		cpu->cnt++;
		if (cpu->is_asked) {
			cpu->mean = cpu->sum / cpu->cnt;
			cpu->sum = took;
			cpu->cnt = 1;
			cpu->is_asked = 0;
			pthread_cond_broadcast(&cpu->change);
		}
		while (!cpu->is_asked) {
			int was_waiting_for = cpu->period_ms;

			wait_for_change(cpu);
			if (was_waiting_for)
				break;
		}
	}
	return NULL;
}

static void start(struct cpu *cpu, int number)
{
	/* Before whatever else runs there: waiting for a turn would be in the figure. */
	struct sched_param first = { .sched_priority = 1 };
	pthread_attr_t attr;
	cpu_set_t set;

	pthread_mutex_init(&cpu->lock, NULL);
	pthread_cond_init(&cpu->change, NULL);
	CPU_ZERO(&set);
	CPU_SET(number, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (pthread_create(&cpu->thread, &attr, run_loops, cpu))
		exit(1);
	pthread_setschedparam(cpu->thread, SCHED_FIFO, &first);
}

static double ask(struct cpu *cpu, int period_ms)
{
	double mean;

	pthread_mutex_lock(&cpu->lock);
	cpu->is_asked = 1;
	cpu->period_ms = period_ms;
	pthread_cond_broadcast(&cpu->change);
	while (cpu->is_asked)
		pthread_cond_wait(&cpu->change, &cpu->lock);
	mean = cpu->mean;
	pthread_mutex_unlock(&cpu->lock);
	return mean;
}

int main(void)
{
	static struct cpu cpus[CPU_SETSIZE];
	cpu_set_t set;
	int cnt = 0;
	int period_ms;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &set))
			start(&cpus[cnt++], i);
	}
	while (scanf("%d", &period_ms) == 1) {
		for (int i = 0; i < cnt; i++)
			printf("%.0f%c", ask(&cpus[i], period_ms), i + 1 < cnt ? ' ' : '\n');
		fflush(stdout);
	}
	return 0;
}
