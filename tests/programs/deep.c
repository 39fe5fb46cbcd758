/* SPDX-License-Identifier: GPL-2.0-only */
/* deep DEPTH...: calls getppid() under so many calls of one function, once for each depth. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline, noclone, used)) static long down(int depth)
{
	long result = depth ? down(depth - 1) : syscall(SYS_getppid);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return result;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		down(atoi(argv[i]));
	return 0;
}
