/* SPDX-License-Identifier: GPL-2.0-only */
/* Arenas: memory is zero however often it was used, and what is handed out never overlaps. */
#include <string.h>

#include "base/vec.h"
#include "check.h"

static bool is_zero(const void *p, size_t sz)
{
	for (size_t i = 0; i < sz; i++)
		if (((const char *)p)[i])
			return false;
	return true;
}

static void test_clear(void)
{
	struct arena a;
	void *first = NULL;

	arena_init(&a);
	arena_clear(&a);
	/* Sizes grow, so that chunks are added; the third round finds room for all in one piece. */
	for (u32 round = 0; round < 4; round++) {
		for (u32 sz = 1; sz < 200000; sz = 3 * sz + 1) {
			char *p = arena_alloc(&a, sz);

			if (sz == 1 && round == 2)
				first = p;
			CHECK(sz != 1 || round != 3 || p == first, "the memory is not used again");
			CHECK(is_zero(p, sz), "%u bytes in round %u", sz, round);
			memset(p, 0xaa, sz);
		}
		arena_clear(&a);
	}
	arena_release(&a);
}

static void test_grow(void)
{
	struct arena a;
	char *p, *moved;

	arena_init(&a);
	p = arena_alloc(&a, 100);
	memset(p, 1, 100);
	CHECK(arena_grow(&a, p, 100, 200) == p);
	CHECK(p[99] == 1 && is_zero(p + 112, 88));
	memset(p, 1, 200);
	arena_shrink(&a, p, 200, 50);
	moved = arena_alloc(&a, 100);
	CHECK(moved == p + 64, "what was given back is not used");
	CHECK(is_zero(moved, 100));
	CHECK(p[49] == 1);
	/* Something else is behind it now. */
	arena_shrink(&a, p, 50, 10);
	CHECK(arena_alloc(&a, 1) > (void *)moved);
	moved = arena_grow(&a, p, 50, 60);
	CHECK(moved != p && !memcmp(moved, p, 50) && is_zero(moved + 50, 10));
	/* More than a chunk has. */
	p = arena_grow(&a, moved, 60, 3 << 20);
	CHECK(p != moved && !memcmp(moved, p, 50) && is_zero(p + 60, (3 << 20) - 60));
	arena_release(&a);
}

static void test_vec(void)
{
	struct arena a;
	vec(u32) one = {}, two = {};
	u32 wrong = 0;

	arena_init(&a);
	for (u32 i = 0; i < 1000; i++) {
		avec_push(&a, &one, i);
		if (i % 3 == 0)
			avec_push(&a, &two, i);
		if (i % 100 == 0)
			avec_trim(&a, &one);
	}
	for (u32 i = 0; i < 1000; i++)
		wrong += one.at[i] != i || (i % 3 == 0 && two.at[i / 3] != i);
	CHECK(!wrong, "%u elements", wrong);
	arena_release(&a);
}

static void note(void *arg)
{
	++*(u32 *)arg;
}

static void test_defer(void)
{
	struct arena a;
	u32 first = 0, second = 0;

	arena_init(&a);
	arena_defer(&a, note, &first);
	CHECK(!first);
	arena_clear(&a);
	CHECK(first == 1, "called %u times when the arena was cleared", first);
	arena_defer(&a, note, &second);
	arena_release(&a);
	CHECK(first == 1 && second == 1, "called %u and %u times", first, second);
}

int main(void)
{
	test_clear();
	test_grow();
	test_defer();
	test_vec();
	return check_end();
}
