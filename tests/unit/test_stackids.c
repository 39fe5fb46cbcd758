/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's numbers for stacks: programs in the interpreter, which gives stacks numbers as the kernel does, and user space
 * that learns them. What a map shows must not depend on any of it. */
#include "check.h"
#include "bpf/build.h"
#include "kern/feature.h"
#include "lang/compile.h"
#include "run/mapread.h"
#include "store/hash.h"
#include "store/stacks.h"
#include "vm/vm.h"

enum { CPUS = 2 };

static struct arena arena;
static struct diag diag;
static struct target target = { .ncpus = CPUS, .is_check = true, .features = KF_BIT(STACK_IDS) };
static struct compile c;
static struct object *obj;

static bool begin(const char *script)
{
	struct sbuf why = {};

	arena_init(&arena);
	diag_init(&diag, &arena);
	c = (struct compile){ .arena = &arena, .diag = &diag, .target = &target, .config = config_defaults };
	obj = NULL;
	if (lang_parse(&c, diag_add_source(&diag, "stdin", script, strlen(script))) && lang_config(&c) && lang_expand(&c) &&
	    lang_check(&c) && image_build(&c))
		obj = vm_object_load(c.image, &diag);
	diag_print(&diag, DIAG_ERROR, false, &why);
	CHECK(obj, "%s: %s", script, sbuf_str(&why));
	sbuf_release(&why);
	if (obj)
		stores_open(obj);
	return obj;
}

static void end(void)
{
	if (obj) {
		stores_close(obj);
		obj->ops->free(obj);
	}
	arena_release(&arena);
}

static struct stack_ids *ids(void)
{
	return store_work(obj, &store_stack_ids);
}

static const struct stack_ids_layer *layer_of(const struct script_map *m)
{
	return stack_ids_layer(m->top);
}

static struct stack_ids_head *head_of(const struct script_map *m)
{
	return (struct stack_ids_head *)((u8 *)obj->ops->map_mem(obj, MAP_IDX_DATA) + layer_of(m)->off);
}

static u32 seen_cnt(const struct script_map *m, enum stack_id_state state)
{
	const u8 *states = (const u8 *)(head_of(m) + 1);
	u32 cnt = 0;

	for (u32 i = 0; i < layer_of(m)->cnt; i++)
		cnt += states[i] == state;
	return cnt;
}

/* An event with this stack, on one CPU after the other. */
static void hit(const u64 *frames, u32 cnt, u32 times)
{
	struct vm_env *e = vm_object_env(obj);

	e->kstack = e->ustack = frames;
	e->kstack_cnt = e->ustack_cnt = cnt;
	while (times--) {
		e->cpu = (s32)(times % CPUS);
		CHECK(!obj->ops->prog_run(obj, 0, NULL));
	}
}

#define HIT(times, ...) hit((const u64[]){ __VA_ARGS__ }, sizeof((u64[]){ __VA_ARGS__ }) / 8, times)

/* The value of the entry whose stack begins with these frames and has no more; how many entries there are. */
static u64 value_of(const struct script_map *m, const u64 *frames, u32 cnt, u32 *entries)
{
	u32 head = cells_of(m->top)->key_sz;
	struct map_snap s;
	u64 got = 0, have;

	CHECK(!map_snap_read(&s, obj, m, 0, 0));
	*entries = s.view.cnt;
	for (u32 i = 0; i < s.view.cnt; i++) {
		const struct map_entry *e = &s.view.entries[i];

		memcpy(&have, e->key + head - 8, 8);
		if (have == cnt && !memcmp(e->key + head, frames, 8 * cnt))
			memcpy(&got, e->val, 8);
	}
	map_snap_release(&s);
	return got;
}

#define IS(m, want, want_entries, ...)                                                                                           \
	do {                                                                                                                     \
		u32 entries;                                                                                                     \
		u64 got = value_of(m, (const u64[]){ __VA_ARGS__ }, sizeof((u64[]){ __VA_ARGS__ }) / 8, &entries);               \
                                                                                                                                 \
		CHECK(got == (want) && entries == (want_entries), "%llu in %u", (unsigned long long)got, entries);               \
	} while (0)

/* What is in the hash maps behind the cells. */
static u64 hashed(const struct script_map *m)
{
	const struct layer *behind = m->top->behind;
	bool has_short = behind->store == &store_short_stacks;
	const u32 maps[] = { hash_layer(has_short ? behind->behind : behind)->maps.at[0],
			     has_short ? short_layer(behind)->maps.at[0] : 0 };
	u64 sum = 0, v;

	for (u32 k = 0; k < 1u + has_short; k++) {
		struct map_dump d = {};

		CHECK(!obj->ops->map_read(obj, maps[k], &d));
		for (u32 i = 0; i < d.cnt; i++) {
			memcpy(&v, d.values + (size_t)i * d.stride, 8);
			sum += v;
		}
		map_dump_release(&d);
	}
	return sum;
}

static void test_learning(void)
{
	const struct script_map *m;

	if (!begin("kprobe:f { @[kstack] = count(); }"))
		return;
	m = &c.image->script_maps.at[0];
	CHECK(m->top->store == &store_stack_ids && ids());
	/* Nobody asks before there is somebody who learns. */
	HIT(3, 1, 2, 3);
	CHECK(seen_cnt(m, STACK_ID_SEEN) == 0 && head_of(m)->refusal);
	CHECK(stack_ids_learn(ids()) == 0);
	head_of(m)->refusal = 0;
	HIT(2, 1, 2, 3);
	HIT(1, 7);
	CHECK(seen_cnt(m, STACK_ID_SEEN) == 2);
	CHECK(hashed(m) == 6);
	CHECK(stack_ids_learn(ids()) == 2 && !head_of(m)->refusal);
	CHECK(seen_cnt(m, STACK_ID_KNOWN) == 2 && seen_cnt(m, STACK_ID_SEEN) == 0);
	CHECK(stack_ids_learn(ids()) == 0);
	/* From now on these are in cells, and only a third one is not. */
	HIT(4, 1, 2, 3);
	HIT(5, 7);
	HIT(1, 1, 2);
	CHECK(hashed(m) == 7);
	IS(m, 9, 3, 1, 2, 3);
	IS(m, 6, 3, 7);
	IS(m, 1, 3, 1, 2);
	/* What cannot be taken is counted as an empty one, as always. */
	hit(NULL, 0, 2);
	IS(m, 9, 4, 1, 2, 3);
	end();
}

/* As many frames as the kernel's table tells, the last of them 0. */
static void test_zero_frames(void)
{
	const struct script_map *m;

	if (!begin("kprobe:f { @[kstack] = sum(3); }"))
		return;
	m = &c.image->script_maps.at[0];
	head_of(m)->refusal = 0;
	HIT(2, 5, 6, 0);
	HIT(1, 5, 6);
	HIT(1, 5, 0, 6, 0, 0);
	IS(m, 9, 2, 5, 6);
	CHECK(stack_ids_learn(ids()) > 0);
	HIT(2, 5, 6, 0);
	HIT(4, 5, 6);
	HIT(1, 5, 0, 6, 0, 0);
	IS(m, 27, 2, 5, 6);
	IS(m, 6, 2, 5, 0, 6);
	end();
}

/* What precedes the stack is a part of the key; user stacks are those of a process. */
static void test_heads(void)
{
	u64 counts[] = { 0, 0, 0, 0 }, pid64;
	struct map_snap s;
	const struct script_map *m;

	if (!begin("kprobe:f { @[comm, ustack] = count(); }"))
		return;
	m = &c.image->script_maps.at[0];
	CHECK(m->top->store == &store_stack_ids && cells_of(m->top)->key_sz == 32);
	head_of(m)->refusal = 0;
	for (u32 round = 0; round < 3; round++) {
		for (u32 pid = 1; pid < 4; pid++) {
			vm_object_env(obj)->pid = vm_object_env(obj)->ns_pid = pid;
			HIT(pid, 10, 20);
		}
		stack_ids_learn(ids());
	}
	CHECK(hashed(m) == 1 + 2 + 3);
	CHECK(!map_snap_read(&s, obj, m, 0, 0));
	for (u32 i = 0; i < s.view.cnt; i++) {
		memcpy(&pid64, s.view.entries[i].key + 16, 8);
		memcpy(&counts[MIN(pid64, 3)], s.view.entries[i].val, 8);
	}
	CHECK(s.view.cnt == 3 && counts[1] == 3 && counts[2] == 6 && counts[3] == 9);
	map_snap_release(&s);
	end();
}

/* More stacks than the table has places: many find theirs taken, and in the end nobody asks any more. */
static void test_many(void)
{
	enum { STACKS = 4000, TIMES = 4, FEW = 500 };
	struct map_snap s;
	const struct script_map *m;
	u32 six = 0;
	int got = 0;

	if (!begin("kprobe:f { @[kstack] = count(); }"))
		return;
	m = &c.image->script_maps.at[0];
	head_of(m)->refusal = 0;
	for (u32 k = 0; k < TIMES; k++) {
		for (u32 i = 0; i < (k < 2 ? FEW : STACKS); i++) {
			HIT(k == 2 ? 3 : 1, 0xffffffff81000000 + i * 16, 0xffffffff82000000 + i % 7);
			if (i % FEW == FEW - 1 && got >= 0)
				got = stack_ids_learn(ids());
		}
		/* Most have a place to themselves, and a cell. */
		if (k == 1)
			CHECK(got >= 0 && hashed(m) > FEW && hashed(m) < FEW * 3 / 2, "%d, %llu", got,
			      (unsigned long long)hashed(m));
	}
	CHECK(got < 0 && head_of(m)->refusal);
	CHECK(seen_cnt(m, STACK_ID_KNOWN) > layer_of(m)->cnt / 2);
	CHECK(!map_snap_read(&s, obj, m, 0, 0));
	CHECK(s.view.cnt == STACKS, "%u", s.view.cnt);
	for (u32 i = 0; i < s.view.cnt; i++) {
		u64 v;

		memcpy(&v, s.view.entries[i].val, 8);
		CHECK(v == 4 || v == 6, "%llu", (unsigned long long)v);
		six += v == 6;
	}
	CHECK(six == FEW);
	map_snap_release(&s);
	end();
}

/* Maps that have no use for it. */
static void test_others(void)
{
	static const char *const scripts[] = {
		"begin { @[kstack] = count(); }",
		"profile:hz:99 { @[kstack] = count(); }",
		"kprobe:f { $s = kstack; @[$s] = count(); }",
		"kprobe:f { @[kstack, 1] = count(); }",
		"kprobe:f { @[kstack]++; }",
		"kprobe:f { @[kstack] = count(); print(@[kstack]); }",
		"kprobe:f { @[kstack] = count(); delete(@[kstack]); }",
		"kprobe:f { @[ustack(build_id)] = count(); }",
		"kprobe:f { for ($i : 0..3) { @[kstack] = count(); } }",
		"kprobe:f { @[kstack(500)] = count(); }",
		"kprobe:f { @[str(arg0), kstack] = count(); }",
	};

	for (u32 i = 0; i < ARRAY_CNT(scripts); i++) {
		if (begin(scripts[i]))
			CHECK(c.image->script_maps.at[0].top->store != &store_stack_ids && !ids(), "%s", scripts[i]);
		end();
	}
	/* Of two limits the larger one is what the kernel's table has. */
	if (begin("kprobe:f { @[kstack(2)] = count(); @[kstack(3)] = count(); }")) {
		const struct script_map *m = &c.image->script_maps.at[0];

		head_of(m)->refusal = 0;
		HIT(1, 1, 2, 3, 4);
		stack_ids_learn(ids());
		HIT(5, 1, 2, 3, 4);
		IS(m, 6, 2, 1, 2, 3);
		IS(m, 6, 2, 1, 2);
		CHECK(hashed(m) == 7);
	}
	end();
}

/* Stacks of few frames have a map of their own: when it has no room, the script's map is full. */
static void test_full(void)
{
	const struct script_map *m;
	bool is_exact;

	if (!begin("config = { max_map_keys = 20 } kprobe:f { @[kstack] = count(); }"))
		return;
	m = &c.image->script_maps.at[0];
	CHECK(m->top->store == &store_short_stacks);
	CHECK(!map_is_full(obj, m));
	for (u32 i = 1; i <= 30; i++)
		HIT(1, i);
	CHECK(map_lost(m, obj->ops->map_mem(obj, MAP_IDX_DATA), &is_exact) == 10 && is_exact);
	CHECK(map_is_full(obj, m));
	end();
}

/* The thread, and what it leaves. */
static void test_thread(void)
{
	const struct script_map *m;

	if (!begin("kprobe:f { @[kstack] = count(); }"))
		return;
	m = &c.image->script_maps.at[0];
	stores_start(obj); /* if we may */
	HIT(1, 1, 2, 3);
	stores_stop(obj);
	stores_stop(obj);
	IS(m, 1, 1, 1, 2, 3);
	end();
}

int main(void)
{
	test_learning();
	test_zero_frames();
	test_heads();
	test_many();
	test_others();
	test_full();
	test_thread();
	return check_end();
}
