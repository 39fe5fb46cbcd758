/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions whose parameters travel in every way that C knows, called once each with known values. Built with -O2 (params) and
 * -O0 (params-O0). */
#include <stdbool.h>

#define KEEP __attribute__((noinline, used))
#define BARRIER __asm__ volatile("" ::: "memory")

struct small {
	int a, b;
};

struct two {
	long x;
	char c;
};

struct big {
	long v[3];
};

struct mixed {
	double d;
	int i;
};

struct packed {
	char c;
	int i;
} __attribute__((packed));

struct bits {
	unsigned a : 3, b : 7;
	int c : 5;
	unsigned long long d : 40;
};

struct three {
	char c[3];
};

enum color { RED = 1, GREEN = 5, BLUE = 200 };
enum neg { MINUS = -3, PLUS = 7 };

union both {
	int i;
	char c[4];
};

struct node {
	struct node *next;
	char name[12];
	int grid[2][3];
	struct {
		short x, y;
	};
	enum color col;
	const char *str;
	unsigned char raw[4];
};

KEEP long many(int a, unsigned char b, long c, short d, struct node *n, enum color e, int seventh, signed char eighth)
{
	BARRIER;
	return a + b + c + d + n->x + e + seventh + eighth;
}

KEEP long structs(struct small s, struct two t, struct small s2, struct three three)
{
	BARRIER;
	return s.a + s.b + t.x + t.c + s2.b + three.c[2];
}

KEEP struct big result(struct big b, int x)
{
	BARRIER;
	b.v[0] += x;
	return b;
}

KEEP double doubles(double d, int i, float f, struct mixed m, long after)
{
	BARRIER;
	return d + i + (double)f + m.d + m.i + (double)after;
}

KEEP long rare(struct bits b, union both u, bool flag, enum neg n, __int128 wide, struct two t, struct packed p)
{
	BARRIER;
	return b.a + b.b + b.c + (long)b.d + u.i + flag + n + (long)wide + t.c + p.i;
}

static __attribute__((noinline)) long own(int constant, int other)
{
	BARRIER;
	return constant * other;
}

KEEP long leaf(long x)
{
	BARRIER;
	return x + 1;
}

static inline __attribute__((always_inline)) long inlined(long x)
{
	return leaf(x) * 3;
}

KEEP long calls_inlined(long x)
{
	return inlined(x + 2) * 5;
}

int main(int argc, char **argv)
{
	struct node second = { .name = "second", .str = "end" };
	struct node first = { &second, "first", { { 1, 2, 3 }, { 4, 5, 6 } }, { 7, -8 }, BLUE, "text", { 1, 2, 3, 255 } };
	long sum;

	__asm__ volatile("" ::"r"(&first), "r"(&second) : "memory"); /* all of it is there */
	sum = many(-1, 250, 1l << 40, -4, &first, GREEN, 77, -88);
	sum += structs((struct small){ 11, -12 }, (struct two){ 1l << 33, 'c' }, (struct small){ 21, 22 },
		       (struct three){ "xyz" });
	sum += result((struct big){ { 31, 32, 33 } }, 34).v[0];
	sum += (long)doubles(1.5, 41, 2.5f, (struct mixed){ 3.5, 42 }, 43);
	sum += rare((struct bits){ 5, 100, -9, 1ull << 39 }, (union both){ 0x04030201 }, true, MINUS, ((__int128)51 << 64) | 52,
		    (struct two){ 53, 54 }, (struct packed){ 55, 56 });
	sum += own(61, argc + 61) + calls_inlined(argc);
	return sum == (long)argv;
}
