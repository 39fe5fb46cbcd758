/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of all kinds that lead to leaf(), in a program without frame pointers: what a stack must show is in the names.
 *
 *   frames deep N      down() N + 1 times
 *   frames sort        a callback of qsort()
 *   frames signal      a signal handler, on the thread's stack and on one of its own
 *   frames align       a function whose stack is aligned anew, and is of a size that is known at run time
 *   frames jit         code that was made at run time, with a frame pointer
 *   frames fork        in a child
 *   frames exec        in a process that becomes this program again
 *   frames sleep       leaf() every millisecond until it is killed, five calls deep
 *   frames spin MS     computes, five calls deep
 *   frames clock       a clock that the vdso has to ask the kernel for (and not leaf())
 *   frames late        a library that is loaded while it runs (only if linked dynamically)
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNC __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

volatile int sink;

FUNC void leaf(int n)
{
	sink += n;
	__asm__ volatile("" ::: "memory");
}

#ifdef FRAMES_LIB

FUNC void in_library(void (*fn)(int))
{
	fn(6);
	sink++;
}

#else

FUNC int down(int n)
{
	char buf[48];
	int r = 0;

	__asm__ volatile("" ::"r"(buf) : "memory");
	if (n)
		r = down(n - 1) + 1;
	else
		leaf(1);
	sink++;
	return r;
}

FUNC int compare(const void *a, const void *b)
{
	leaf(2);
	sink++;
	return *(const int *)a - *(const int *)b;
}

FUNC void sort(void)
{
	int v[] = { 2, 1 };

	qsort(v, 2, sizeof(v[0]), compare);
	sink++;
}

FUNC void handler(int sig)
{
	leaf(sig == SIGUSR1 ? 3 : 4);
	sink++;
}

FUNC void interrupted(int sig)
{
	raise(sig);
	sink++;
}

FUNC void get_signals(void)
{
	static char memory[1 << 16];
	stack_t own = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction on_stack = { .sa_handler = handler }, on_own = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &on_stack, NULL);
	sigaction(SIGUSR2, &on_own, NULL);
	interrupted(SIGUSR1);
	interrupted(SIGUSR2);
}

FUNC void aligned(int n)
{
	_Alignas(64) char line[64];
	char *more = alloca(n);

	__asm__ volatile("" ::"r"(line), "r"(more) : "memory");
	leaf(5);
	sink += (long)line % 64 + (long)more % 16;
}

/* push %rbp; mov %rsp,%rbp; mov $7,%eax; xchg %rax,%rdi; call *%rax; pop %rbp; ret */
FUNC void run_made(void)
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, 7, 0, 0, 0, 0x48, 0x97, 0xff, 0xd0, 0x5d, 0xc3 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	memcpy(p, code, sizeof(code));
	((void (*)(void (*)(int)))p)(leaf);
	sink++;
}

FUNC void ask_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	sink += (int)t.tv_sec;
}

#ifdef FRAMES_STATIC
static void load_late(void)
{
}
#else
FUNC void load_late(void)
{
	void (*fn)(void (*)(int));
	char path[4096] = "";
	void *lib;

	if (readlink("/proc/self/exe", path, sizeof(path) / 2) > 0)
		strcpy(strrchr(path, '/') + 1, "libframes.so");
	lib = dlopen(path, RTLD_NOW);
	fn = lib ? dlsym(lib, "in_library") : NULL;
	usleep(300000); /* until its tables are made */
	if (fn)
		fn(leaf);
	else
		fprintf(stderr, "%s\n", dlerror());
	sink++;
}
#endif

static void spin(int ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 100; i++)
			down(5);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "deep"))
		down(argc > 2 ? atoi(argv[2]) : 3);
	else if (!strcmp(what, "sort"))
		sort();
	else if (!strcmp(what, "signal"))
		get_signals();
	else if (!strcmp(what, "align"))
		aligned(argc * 16);
	else if (!strcmp(what, "jit"))
		run_made();
	else if (!strcmp(what, "clock"))
		ask_clock();
	else if (!strcmp(what, "late"))
		load_late();
	else if (!strcmp(what, "spin"))
		spin(argc > 2 ? atoi(argv[2]) : 500);
	else if (!strcmp(what, "sleep"))
		for (;; usleep(1000))
			down(5);
	else if (!strcmp(what, "fork") && !fork())
		down(2), _exit(0);
	else if (!strcmp(what, "exec"))
		execl("/proc/self/exe", argv[0], "deep", "2", (char *)NULL);
	while (wait(NULL) > 0)
		;
	return 0;
}

#endif
