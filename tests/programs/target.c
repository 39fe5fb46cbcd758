/* SPDX-License-Identifier: GPL-2.0-only */
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

/* Two structs, for scripts that define them themselves. */
struct inner {
	char mark, text[7];
	unsigned lo : 4, hi : 12;
	int neg : 5;
};

struct outer {
	long number;
	struct inner in;
	struct outer *self;
	const struct inner *other;
};

/* One of everything that a struct can have. */
enum shade { DARK = 3, LIGHT = 200 };

struct __attribute__((packed)) tight {
	char a;
	int b;
	short c[3];
	unsigned char z : 3;
	unsigned long l : 62;
};

struct every {
	enum shade shade;
	_Bool yes;
	int grid[2][3];
	struct inner pair[2];
	union {
		unsigned word;
		unsigned char bytes[4];
	};
	struct tight tight;
	struct {
		short x, y;
	} at;
	const char *names[2];
	unsigned long end[];
};

KEEP void pass_every(const struct every *e)
{
	__asm__ volatile("" ::"r"(e) : "memory");
}

KEEP void pass_struct(const struct outer *o)
{
	__asm__ volatile("" ::"r"(o) : "memory");
}

/* An instruction inside of the function that a probe with an offset can name. */
KEEP void target_nops(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;
	struct outer o = { .number = -5, .in = { 'x', "hello", 9, 1234, -7 }, .self = &o, .other = &o.in };
	static struct every e = {
		.shade = LIGHT,
		.yes = 1,
		.grid = { { 1, 2, 3 }, { 4, 5, -6 } },
		.pair = { { 'a', "one", 1, 2, 3 }, { 'b', "two", 4, 5, -6 } },
		.word = 0x04030201,
		.tight = { 'q', -70000, { 1, -2, 3 }, 5, 0x2000000000000001 },
		.at = { -1, 7 },
		.names = { "first", "second" },
		.end = { 11, 22 },
	};
	long sum = 0;

	for (int i = 0; i < times; i++) {
		sum += target_add(1, 2, 3, 4, 5, i);
		sum += (long)strlen(target_name("a name"));
		sum += target_negative(7);
		target_nops();
		pass_struct(&o);
		pass_every(&e);
	}
	return sum == 12345 ? 1 : 0;
}
