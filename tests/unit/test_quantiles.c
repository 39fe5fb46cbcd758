/* SPDX-License-Identifier: GPL-2.0-only */
/* quantiles() against exact order statistics: scripts take numbers from the test's memory, run in the interpreter on several
 * CPUs, and print JSON. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "base/io.h"
#include "bpf/build.h"
#include "run/session.h"
#include "types/agg.h"
#include "vm/vm.h"

enum { CPUS = 4, MAX_CNT = 6000 };

static u64 numbers[MAX_CNT];

/* ---- running a script ---- */

static char *run_script(const char *script, u32 runs)
{
	char path[] = "/tmp/test_quantiles_XXXXXX", *param = xasprintf("0x%llx", (unsigned long long)(uintptr_t)numbers),
	     *text = NULL;
	struct session_opts opts = { .no_warnings = true, .quiet = true, .use_vm = true, .output_path = path, .format = "json" };
	struct target target = { .ncpus = CPUS };
	struct object *obj = NULL;
	int fd = mkstemp(path);
	struct sbuf errors = {};
	struct arena arena;
	struct compile c;
	struct diag diag;
	size_t len;

	arena_init(&arena);
	diag_init(&diag, &arena);
	c = (struct compile){
		.arena = &arena, .diag = &diag, .target = &target, .config = config_defaults, .params = &param, .param_cnt = 1
	};
	if (lang_parse(&c, diag_add_source(&diag, "stdin", script, strlen(script))) && lang_config(&c) && lang_expand(&c) &&
	    lang_check(&c) && image_build(&c))
		obj = vm_object_load(c.image, c.diag);
	for (u32 i = 1; obj && i < runs; i++) {
		vm_object_env(obj)->cpu = (s32)(i % CPUS);
		if (obj->ops->prog_run(obj, 0, NULL))
			break;
	}
	if (obj) {
		vm_object_env(obj)->cpu = 0;
		session_run_object(obj, &diag, &opts);
		if (io_read_file(path, &text, &len))
			text = NULL;
		obj->ops->free(obj);
	}
	diag_print(&diag, DIAG_ERROR, false, &errors);
	if (errors.len)
		printf("%s\n", errors.s);
	sbuf_release(&errors);
	arena_release(&arena);
	close(fd);
	unlink(path);
	free(param);
	return text ? text : strdup("");
}

/* The integer behind "name": (large ones are strings). */
static bool find_number(const char *json, const char *name, u64 *v)
{
	char *word = xasprintf("\"%s\": ", name);
	const char *at = strstr(json, word);

	if (at) {
		at += strlen(word);
		at += *at == '"';
		*v = *at == '-' ? (u64)strtoll(at, NULL, 10) : strtoull(at, NULL, 10);
	}
	free(word);
	return at != NULL;
}

/* ---- exact results ---- */

static bool sorts_signed;

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a ^ (sorts_signed ? 1ull << 63 : 0), y = *(const u64 *)b ^ (sorts_signed ? 1ull << 63 : 0);

	return x < y ? -1 : x > y;
}

static __int128 wide(u64 v, bool is_signed)
{
	return is_signed ? (__int128)(s64)v : (__int128)v;
}

static bool is_near(u64 shown, u64 exact, bool is_signed)
{
	__int128 off = wide(shown, is_signed) - wide(exact, is_signed), of = wide(exact, is_signed);

	return (off < 0 ? -off : off) * 32 <= (of < 0 ? -of : of);
}

/* As the head of agg/quantiles.c, and the documentation, have it. */
static s64 bucket_of(u64 v, bool is_signed)
{
	bool is_negative = is_signed && (s64)v < 0;
	u64 n = is_negative ? -v : v;
	s64 number = (s64)n, top = 63;

	if (n >= 64) {
		while (!(n >> top))
			top--;
		number = 64 + 16 * (top - 6) + (s64)(n >> (top - 4) & 15);
	}
	return is_negative ? -number : number;
}

/* All numbers of "buckets", which are in order, and none of which is empty. */
static void check_buckets(const char *json, u64 *sorted, u32 cnt, bool is_signed)
{
	const char *at = strstr(json, "\"buckets\": [");
	bool ok = at != NULL;
	u32 i = 0;

	for (at = ok ? at + strlen("\"buckets\": [") : ""; *at == '[' || *at == ','; at++) {
		s64 number;
		u64 n;
		char *end;

		at += *at == ',';
		number = strtoll(at + 1, &end, 10);
		ok &= *end == ',';
		n = strtoull(end + 1, &end, 10);
		ok &= n && *end == ']' && i + n <= cnt;
		at = end;
		for (; n && i < cnt; n--, i++)
			ok &= bucket_of(sorted[i], is_signed) == number;
	}
	CHECK(ok && i == cnt && str_starts(at, "]}"));
}

static void check_result(const char *what, const char *json, u64 *values, u32 cnt, bool is_signed)
{
	static const struct {
		const char *name;
		u32 share, of;
	} quantiles[] = {
		{ "p50", 50, 100 },
		{ "p90", 90, 100 },
		{ "p99", 99, 100 },
		{ "p99.9", 999, 1000 },
	};
	u64 v;

	sorts_signed = is_signed;
	qsort(values, cnt, sizeof(*values), compare);
	CHECK(find_number(json, "count", &v) && v == cnt);
	CHECK(find_number(json, "max", &v) && v == values[cnt - 1]);
	for (u32 i = 0; i < ARRAY_CNT(quantiles); i++) {
		u64 exact = values[((u64)cnt * quantiles[i].share + quantiles[i].of - 1) / quantiles[i].of - 1];
		bool ok = find_number(json, quantiles[i].name, &v) && is_near(v, exact, is_signed) &&
			wide(v, is_signed) <= wide(values[cnt - 1], is_signed);

		CHECK(ok);
		if (!ok)
			printf("%s: %s of %u is shown as %lld, but is %lld\n", what, quantiles[i].name, cnt, (long long)v,
			       (long long)exact);
	}
	check_buckets(json, values, cnt, is_signed);
}

/* ---- distributions ---- */

static u64 state = 88172645463325252ull;

static u64 random_u64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static u64 uniform(void)
{
	return random_u64() % 1000000;
}

/* As many of each magnitude: times are like that. */
static u64 exponential(void)
{
	return random_u64() >> (1 + random_u64() % 63);
}

static u64 small(void)
{
	return random_u64() % 70;
}

static u64 negative(void)
{
	return -exponential();
}

static u64 mixed(void)
{
	return random_u64() & 1 ? exponential() : negative();
}

static u64 whole(void)
{
	return random_u64();
}

static u64 extreme(void)
{
	static const u64 all[] = {
		(u64)INT64_MIN, (u64)INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, 0, 1, -1ull, 63, 64, 65, -63ull, -64ull,
		-65ull,         1ull << 62
	};

	return all[random_u64() % ARRAY_CNT(all)];
}

static u64 edge(void)
{
	return (1ull << random_u64() % 64) + random_u64() % 3 - 1;
}

static const struct {
	const char *name;
	u64 (*next)(void);
} shapes[] = {
	{ "uniform", uniform }, { "exponential", exponential }, { "small", small }, { "negative", negative }, { "mixed", mixed },
	{ "whole", whole },     { "extreme", extreme },         { "edge", edge },
};

/* The numbers as a value of the type has them. */
static u64 cut(u64 v, u32 size, bool is_signed)
{
	u32 shift = 64 - 8 * size;

	return is_signed ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

static void test_distributions(void)
{
	static const u32 sizes[] = { 1, 2, 4, 8 }, cnts[] = { 1, 2, 10, 101, 3000 };
	u64 *values = xzalloc(sizeof(numbers));

	for (u32 s = 0; s < ARRAY_CNT(shapes); s++) {
		for (u32 k = 0; k < 2 * ARRAY_CNT(sizes); k++) {
			for (u32 c = 0; c < ARRAY_CNT(cnts); c++) {
				bool is_signed = k & 1;
				u32 size = sizes[k / 2], cnt = cnts[c];
				char *script, *json;

				for (u32 i = 0; i < cnt; i++) {
					numbers[i] = shapes[s].next();
					values[i] = cut(numbers[i], size, is_signed);
				}
				script = xasprintf(
					"begin { $p = (uint64 *)$1; for ($i : 0..%u) { @ = quantiles((%sint%u)$p[$i]); } }", cnt,
					is_signed ? "" : "u", 8 * size);
				json = run_script(script, 1);
				check_result(script, json, values, cnt, is_signed);
				free(json);
				free(script);
			}
		}
	}
	free(values);
}

/* Four CPUs, each with a share of its own (no key), or one that they share. */
static void test_cpus(void)
{
	static const char *const targets[] = { "@", "@[1]", "@[comm, 2]" };
	u64 *values = xzalloc(sizeof(numbers));

	for (u32 t = 0; t < ARRAY_CNT(targets); t++) {
		enum { CNT = 500 };
		char *script = xasprintf("begin { $p = (int64 *)$1; for ($i : 0..%u) { %s = quantiles($p[$i] - 1000 * cpu); } }",
					 CNT, targets[t]),
		     *json;
		u32 cnt = 0;

		for (u32 i = 0; i < CNT; i++)
			numbers[i] = mixed() % 5000;
		for (s64 run = 0; run < 2 * CPUS; run++)
			for (u32 i = 0; i < CNT; i++)
				values[cnt++] = numbers[i] - 1000 * (u64)(run % CPUS);
		json = run_script(script, 2 * CPUS);
		check_result(script, json, values, cnt, true);
		free(json);
		free(script);
	}
	free(values);
}

/* A map whose updates have several types holds them all. */
static void test_joined(void)
{
	static const struct {
		const char *a, *b;
		s64 x, y;
		bool is_signed;
	} cases[] = {
		{ "uint8", "uint32", 255, 4294967295, false }, { "int8", "uint8", -128, 255, true },
		{ "uint16", "int64", 65535, INT64_MIN, true }, { "int32", "uint32", INT32_MIN, 4294967295, true },
		{ "uint64", "int8", INT64_MAX, -128, true },   { "int16", "int16", -32768, 32767, true },
		{ "uint32", "int8", 4294967295, -128, true },  { "uint64", "int8", -1, 5, true },
	};

	for (u32 i = 0; i < ARRAY_CNT(cases); i++) {
		char *script = xasprintf("begin { $p = (uint64 *)$1; @ = quantiles((%s)$p[0]); @ = quantiles((%s)$p[1]); }",
					 cases[i].a, cases[i].b),
		     *json;
		u64 values[2] = { (u64)cases[i].x, (u64)cases[i].y };

		memcpy(numbers, values, sizeof(values));
		json = run_script(script, 1);
		check_result(script, json, values, 2, cases[i].is_signed);
		free(json);
		free(script);
	}
}

int main(void)
{
	test_distributions();
	test_cpus();
	test_joined();
	return check_end();
}
