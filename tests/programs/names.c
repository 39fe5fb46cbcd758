/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions with names that are hard to write: of C++ as the compiler mangles them, of several versions; and source lines. */
#include <stdlib.h>

#define KEEP static __attribute__((noinline, noclone, used))

KEEP int a_get_int(void *self, int v) __asm__("_ZNK2ns1A3getEi");            /* ns::A::get(int) const */
KEEP int a_get_text(void *self, const char *s) __asm__("_ZNK2ns1A3getEPKc"); /* ns::A::get(char const*) const */
KEEP long get(int a, long b) __asm__("_ZN2ns3getEil");                       /* ns::get(int, long) */
KEEP long tf(long v) __asm__("_ZN2ns2tfIlEET_S1_");                          /* long ns::tf<long>(long) */

static int a_get_int(void *self, int v)
{
	__asm__ volatile("" ::"r"(self));
	return v + 1;
}

static int a_get_text(void *self, const char *s)
{
	__asm__ volatile("" ::"r"(self));
	return *s;
}

static long get(int a, long b)
{
	__asm__ volatile("");
	return a + b;
}

static long tf(long v)
{
	__asm__ volatile("");
	return v;
}

/* Begins with an instruction that the kernel would take for a jump. Nobody calls it. */
__asm__(".globl vector_first\n"
	".type vector_first, @function\n"
	"vector_first:\n"
	"\tvzeroupper\n"
	"\tret\n"
	".size vector_first, . - vector_first\n");

/* Lines 1000 to 1004 of a file that there is not. */
KEEP int lines(int v)
#line 1000 "lines/source.c"
{
	v *= 3;
	__asm__ volatile("" : "+r"(v));
	/* nothing */
	v += 4;
	__asm__ volatile("" : "+r"(v));
	return v;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;
	long sum = 0;

	for (int i = 0; i < times; i++)
		sum += a_get_int(&times, 5) + a_get_text(&times, "x") + get(1, 2) + tf(3) + lines(i);
	return sum == 42;
}
