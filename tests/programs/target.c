/* A program to put probes into: known functions, called with known arguments, a known number of times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline, noclone, used))

KEEP long target_add(long a, long b, long c, long d, long e, long f)
{
	__asm__ volatile("" ::: "memory");
	return a + b + c + d + e + f;
}

KEEP const char *target_name(const char *name)
{
	__asm__ volatile("" ::: "memory");
	return name;
}

KEEP int target_negative(int v)
{
	__asm__ volatile("" ::: "memory");
	return -v;
}

/* An instruction inside of the function that a probe with an offset can name. */
KEEP void target_nops(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;
	long sum = 0;

	for (int i = 0; i < times; i++) {
		sum += target_add(1, 2, 3, 4, 5, i);
		sum += (long)strlen(target_name("a name"));
		sum += target_negative(7);
		target_nops();
	}
	return sum == 12345 ? 1 : 0;
}
