/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash table against a plain list: a walk visits the values of one hash in the order in which they were added. Entries are
 * added, overwritten and removed in between, and the table grows. */
#include "base/htab.h"
#include "base/smap.h"
#include "check.h"

static u64 state = 88172645463325252ull;

static u32 rnd(u32 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

typedef vec(struct htab_cell) list;

static bool is_same(const struct htab *t, const list *l, u32 hash)
{
	u32 at = 0;

	htab_for(p, t, hash) {
		while (at < l->cnt && l->at[at].hash != hash)
			at++;
		if (at == l->cnt || l->at[at++].val != *p)
			return false;
	}
	while (at < l->cnt && l->at[at].hash != hash)
		at++;
	return at == l->cnt;
}

/* hash_of: what hashes are made of numbers. Few different ones, neighbours, the end of the table, all over the place. */
static void test_against_list(u32 (*hash_of)(u32), struct arena *arena)
{
	struct htab t = { .arena = arena };
	list l = {};
	u32 wrong = 0;

	for (u32 round = 0; round < 4000; round++) {
		u32 hash = hash_of(rnd(200)), val = 1 + rnd(1000), nth = rnd(3), seen = 0;
		bool grows = round / 500 % 2 == 0;

		if (rnd(10) < (grows ? 8 : 2)) {
			htab_add(&t, hash, val);
			vec_push(&l, (struct htab_cell){ hash, val });
		} else {
			htab_for(p, &t, hash) {
				u32 i = 0;

				if (seen++ < nth)
					continue;
				/* the same one in the list */
				for (u32 left = nth; l.at[i].hash != hash || left--; i++)
					;
				if (rnd(4)) {
					htab_remove(&t, p);
					memmove(&l.at[i], &l.at[i + 1], (--l.cnt - i) * sizeof(*l.at));
				} else {
					*p = l.at[i].val = val;
				}
				break;
			}
		}
		wrong += t.cnt != l.cnt || !is_same(&t, &l, hash) || !is_same(&t, &l, hash_of(rnd(200)));
	}
	CHECK(!wrong, "%u of 4000 times", wrong);
	for (u32 i = 0; i < 200; i++)
		wrong += !is_same(&t, &l, hash_of(i));
	CHECK(!wrong && l.cnt, "%u of 200 at the end, %u entries", wrong, l.cnt);
	htab_clear(&t);
	l.cnt = 0;
	for (u32 i = 0; i < 200; i++)
		wrong += !is_same(&t, &l, hash_of(i));
	CHECK(!wrong && !t.cnt);
	htab_release(&t);
	CHECK(is_same(&t, &l, 0));
	vec_free(&l);
}

static u32 few(u32 i)
{
	return i % 5;
}

static u32 neighbours(u32 i)
{
	return i;
}

static u32 at_the_end(u32 i)
{
	return ~(i % 8) << (i % 3);
}

static u32 scattered(u32 i)
{
	return u64_hash(i);
}

static void test_reserve(void)
{
	struct htab t = {};
	u32 cap;

	CHECK(!htab_next(&t, 0, &(u32){ 0 }));
	htab_reserve(&t, 1000);
	cap = t.cap;
	for (u32 i = 1; i <= 1000; i++)
		htab_add(&t, u64_hash(i), i);
	CHECK(t.cap == cap && is_pow2(cap) && cap < 4000);
	htab_reserve(&t, 10);
	CHECK(t.cap == cap && t.cnt == 1000);
	htab_release(&t);
}

static void test_smap(void)
{
	static char names[3000][8];
	struct smap m = {};
	u32 wrong = 0;

	CHECK(!smap_get(&m, "v1"));
	for (u32 i = 0; i < ARRAY_CNT(names); i++) {
		snprintf(names[i], sizeof(names[i]), "v%u", i);
		smap_put(&m, names[i], names[i]);
	}
	smap_put(&m, "v7", names[8]);
	for (u32 i = 0; i < ARRAY_CNT(names); i++)
		wrong += smap_get(&m, names[i]) != names[i == 7 ? 8 : i] || m.entries.at[i].val != names[i == 7 ? 8 : i];
	CHECK(!wrong && m.entries.cnt == ARRAY_CNT(names), "%u of %u", wrong, m.entries.cnt);
	CHECK(!smap_get(&m, "v3000") && !smap_get(&m, ""));
	smap_release(&m);
	CHECK(!smap_get(&m, "v1"));
}

int main(void)
{
	struct arena a;

	arena_init(&a);
	test_against_list(few, NULL);
	test_against_list(neighbours, NULL);
	test_against_list(at_the_end, NULL);
	test_against_list(scattered, NULL);
	test_against_list(scattered, &a);
	arena_release(&a);
	test_reserve();
	test_smap();
	CHECK(str_hash("") == bytes_hash("x", 0) && str_hash("name") == bytes_hash("names", 4) && str_hash("a") != str_hash("b"));
	return check_end();
}
