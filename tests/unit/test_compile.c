/* SPDX-License-Identifier: GPL-2.0-only */
/* From script to output in the interpreter, where scripts of tests/exec cannot go: memory that is read through pointers (the
 * test's own, laid out as the types of tests/fixture/make-btf.py), programs that run on several CPUs, a fixed world.
 *
 * SONDE_FIXTURE_BTF names the fixture's BTF (tests/quick makes it); without it, what needs types is skipped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "base/io.h"
#include "bpf/build.h"
#include "run/session.h"
#include "types/btf.h"
#include "vm/vm.h"

static struct type_source *types;

static struct type_source *fixture_types(void)
{
	return types;
}

static const struct machine machine = { .types = fixture_types };

static void check_text(int line, const char *script, const char *got, const char *want)
{
	if (str_eq(got, want)) {
		passed++;
		return;
	}
	failed++;
	printf("%s:%d: %s\n--- wanted\n%s--- got\n%s---\n", __FILE__, line, script, want, got);
}

/* ---- one run ---- */

enum { MAX_PARAMS = 8, CPUS = 4 };

struct trial {
	const char *script;
	char *params[MAX_PARAMS];
	u32 param_cnt;
	u32 runs; /* the first probe runs this often more, each time on the next CPU */
};

static void add_param(struct trial *t, const void *addr)
{
	t->params[t->param_cnt++] = xasprintf("0x%llx", (unsigned long long)(uintptr_t)addr);
}

/* Messages of the compiler instead of output when the script does not compile. */
static void run_compiled(struct compile *c, const struct trial *t, struct sbuf *out)
{
	char path[] = "/tmp/test_compile_XXXXXX";
	struct session_opts opts = { .no_warnings = true, .quiet = true, .use_vm = true, .output_path = path };
	struct object *obj = vm_object_load(c->image, c->diag);
	int fd = mkstemp(path);
	struct vm_env *env;
	char *text;
	size_t len;

	if (!obj || fd < 0) {
		diag_print(c->diag, DIAG_ERROR, false, out);
		goto out;
	}
	env = vm_object_env(obj);
	env->pid = env->ns_pid = 1000;
	env->tid = env->ns_tid = 1001;
	env->uid = 7;
	env->gid = 8;
	env->cgroup_id = 99;
	snprintf(env->comm, sizeof(env->comm), "tester");
	for (u32 i = 0; i < t->runs; i++) {
		env->cpu = (s32)(i % CPUS);
		if (obj->ops->prog_run(obj, 0, NULL))
			diag_print(c->diag, DIAG_ERROR, false, out);
	}
	env->cpu = 0;
	session_run_object(obj, c->diag, &opts);
	if (!io_read_file(path, &text, &len)) {
		sbuf_add(out, text, len);
		free(text);
	}
out:
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	if (obj)
		obj->ops->free(obj);
}

static void run_trial(struct trial *t, struct sbuf *out)
{
	struct target target = { .ncpus = CPUS, .machine = &machine };
	struct arena arena;
	struct diag diag;
	struct compile c;
	u32 src;

	arena_init(&arena);
	diag_init(&diag, &arena);
	c = (struct compile){ .arena = &arena,
			      .diag = &diag,
			      .target = &target,
			      .config = config_defaults,
			      .params = t->params,
			      .param_cnt = t->param_cnt };
	src = diag_add_source(&diag, "stdin", t->script, strlen(t->script));
	if (lang_parse(&c, src) && lang_config(&c) && lang_expand(&c) && lang_check(&c) && image_build(&c))
		run_compiled(&c, t, out);
	else
		diag_print(&diag, DIAG_ERROR, false, out);
	arena_release(&arena);
}

/* Parameters are addresses, up to NULL. What is wanted ends before the two newlines that come before the maps, unless the script
 * has maps that are printed. */
#define EXPECT(script, want, ...) expect(__LINE__, 0, script, want, (const void *[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define EXPECT_RUNS(runs, script, want) expect(__LINE__, runs, script, want, (const void *[]){ NULL })

static void expect(int line, u32 runs, const char *script, const char *want, const void **addrs)
{
	struct trial t = { .script = script, .runs = runs };
	struct sbuf out = {};

	for (; *addrs; addrs++)
		add_param(&t, *addrs);
	run_trial(&t, &out);
	if (!strchr(want, '@') && out.len >= 2 && str_eq(out.s + out.len - 2, "\n\n"))
		out.s[out.len -= 2] = 0;
	check_text(line, script, sbuf_str(&out), want);
	for (u32 i = 0; i < t.param_cnt; i++)
		free(t.params[i]);
	sbuf_release(&out);
}

/* ---- the fixture's types ---- */

enum fix_color { FIX_RED, FIX_GREEN = 5, FIX_BLUE };
enum fix_sign { FIX_MINUS = -1, FIX_NONE, FIX_PLUS };

struct fix_point {
	int x, y;
};

struct fix_bits {
	unsigned a : 3;
	int b : 5;
	unsigned c : 24;
	unsigned long wide : 40;
	enum fix_color color : 3;
};

struct fix_node {
	struct fix_node *next;
	unsigned long id;
	signed char tiny;
	unsigned char byte;
	short half;
	union {
		unsigned word;
		struct {
			unsigned short lo, hi;
		};
	};
	int nums[4];
	char name[16];
	struct fix_point at;
	struct fix_bits bits;
	enum fix_color color;
	enum fix_sign sign;
	struct fix_point pts[2];
	void *data;
	const char *text;
	struct fix_point *pt, **ptpt;
	union {
		long number;
		unsigned char bytes[8];
	} either;
	void *hidden;
	unsigned char grid[2][3];
	bool ok;
	enum fix_sign sign2;
	int flex[];
};

_Static_assert(sizeof(struct fix_node) == 168 && offsetof(struct fix_node, bits) == 64 && offsetof(struct fix_node, flex) == 164,
	       "as in make-btf.py");

static struct fix_point point = { 70, -80 }, *point_ptr = &point;
static struct fix_node last = { .id = 3, .name = "sixteen bytes...", .tiny = 1 };
static struct fix_node second = { .next = &last, .id = 2, .name = "second" };
static struct fix_node first = {
	.next = &second,
	.id = 0x123456789abcdef0,
	.tiny = -5,
	.byte = 250,
	.half = -300,
	.word = 0xdeadbeef,
	.nums = { 1, -2, 3, 2147483647 },
	.name = "first",
	.at = { -7, 8 },
	.bits = { .a = 5, .b = -3, .c = 0xabcdef, .wide = 0x9876543210, .color = FIX_BLUE },
	.color = FIX_GREEN,
	.sign = FIX_MINUS,
	.pts = { { 1, 2 }, { -3, 4 } },
	.data = (void *)0x1234,
	.text = "some text",
	.pt = &point,
	.ptpt = &point_ptr,
	.either.number = -2,
	.grid = { { 1, 2, 3 }, { 4, 5, 255 } },
	.ok = true,
	.sign2 = FIX_PLUS,
};

#define NODE "begin { $n = (struct fix_node *)$1; "

static void test_fields(void)
{
	EXPECT(NODE
	       "print($n->tiny); print($n->byte); print($n->half); print($n->word); print($n->lo); print($n->hi); print($n->id); }",
	       "-5\n250\n-300\n3735928559\n48879\n57005\n1311768467463790320\n", &first);
	EXPECT(NODE "print($n.tiny); print((*$n).half); print($n->at.x); print($n->at.y); print($n->either.number); }",
	       "-5\n-300\n-7\n8\n-2\n", &first);
	EXPECT(NODE "print($n->name); print($n->next->name); print($n->next->next->name); print($n->next->next->id); }",
	       "first\nsecond\nsixteen bytes...\n3\n", &first);
	EXPECT(NODE
	       "print($n->pt->x); print($n->pt.y); print($n->ptpt->x); print($n->ptpt.y); print($n->data); print(str($n->text)); }",
	       "70\n-80\n70\n-80\n0x1234\nsome text\n", &first);
	EXPECT(NODE
	       "print($n->color); print($n->sign); print($n->sign2); printf(\"%d %d %s\\n\", $n->color, $n->sign, $n->color); }",
	       "FIX_GREEN\nFIX_MINUS\nFIX_PLUS\n5 -1 FIX_GREEN\n", &first);
	EXPECT(NODE
	       "print($n->color == FIX_GREEN); print($n->sign < 0); print($n->ok); print($n->ok == true); if ($n->next) { print(1); } }",
	       "true\ntrue\ntrue\ntrue\n1\n", &first);
	/* a chain that ends in NULL reads as zero */
	EXPECT(NODE "print($n->next->next->next); print($n->next->next->next->id); print($n->next->next->next->name); }",
	       "0x0\n0\n\n", &first);
}

static void test_bit_fields(void)
{
	EXPECT(NODE "print($n->bits.a); print($n->bits.b); print($n->bits.c); print($n->bits.wide); print($n->bits.color); }",
	       "5\n-3\n11259375\n654820258320\nFIX_BLUE\n", &first);
	EXPECT(NODE "print($n->bits.a + $n->bits.b); print($n->bits.b < 0); @[$n->bits.a] = $n->bits.b; }",
	       "2\ntrue\n\n\n@[5]: -3\n", &first);
	EXPECT(NODE "print($n->bits); }", "{ .a = 5, .b = -3, .c = 11259375, .wide = 654820258320, .color = FIX_BLUE }\n",
	       &first);
}

static void test_arrays(void)
{
	EXPECT(NODE "print($n->nums[0]); print($n->nums[1]); print($n->nums[3]); $i = 1; $i++; print($n->nums[$i]); }",
	       "1\n-2\n2147483647\n3\n", &first);
	EXPECT(NODE
	       "print($n->pts[1].x); print($n->pts[0].y); print($n->grid[1][2]); print($n->grid[0][1]); print($n->either.bytes[0]); }",
	       "-3\n2\n255\n2\n254\n", &first);
	EXPECT(NODE "print($n->nums); print($n->grid); print($n->pts); print($n->at); }",
	       "[1,-2,3,2147483647]\n[[1,2,3],[4,5,255]]\n[{ .x = 1, .y = 2 },{ .x = -3, .y = 4 }]\n{ .x = -7, .y = 8 }\n",
	       &first);
	EXPECT(NODE "let $p = (int32 *)$2; print(*$p); print(*($p + 1)); print($p[3]); $p++; print(*$p); print($p[1]); }",
	       "1\n-2\n2147483647\n-2\n3\n", &first, first.nums);
	EXPECT(NODE "@[$n->nums] = 1; @v = $n->nums; @p = $n->at; @k[$n->at] = 2; }",
	       "\n\n@[[1,-2,3,2147483647]]: 1\n@k[{ .x = -7, .y = 8 }]: 2\n@p: { .x = -7, .y = 8 }\n@v: [1,-2,3,2147483647]\n",
	       &first);
	EXPECT(NODE
	       "print($n->nums == $n->nums); print($n->name == \"first\"); print($n->name != \"first\"); print($n->next->name == \"sec\"); }",
	       "true\ntrue\nfalse\nfalse\n", &first);
}

static void test_whole_structs(void)
{
	EXPECT(NODE "$p = $n->at; print($p.x); print($p); @a = *$n->pt; print(@a.y); }",
	       "-7\n{ .x = -7, .y = 8 }\n-80\n\n\n@a: { .x = 70, .y = -80 }\n", &first);
	EXPECT(NODE "$m = *$n; print($m.tiny); print($m.nums[3]); print($m.name); print($m.bits.b); print($m.next->id); }",
	       "-5\n2147483647\nfirst\n-3\n2\n", &first);
	EXPECT(NODE "@t[1] = ($n->at, $n->color, $n->name); print(@t[1].0.y); }",
	       "8\n\n\n@t[1]: ({ .x = -7, .y = 8 }, FIX_GREEN, first)\n", &first);
}

/* ---- strings in memory ---- */

static void test_str(void)
{
	static const char text[] = "abcdefghij";
	static char long_text[2000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	EXPECT("begin { print(str((uint64)$1)); print(str((uint8 *)$1)); print(str(kptr((uint64)$1))); print(str(uptr((uint64)$1))); }",
	       "abcdefghij\nabcdefghij\nabcdefghij\nabcdefghij\n", text);
	EXPECT("begin { print(str((uint64)$1, 5)); print(str((uint64)$1, 11)); print(str((uint64)$1, 10)); $n = 5; print(str((uint64)$1, $n)); }",
	       "abcd\nabcdefghij\nabcdefghi\nabcd\n", text);
	EXPECT("config = { max_strlen = 8 } begin { print(str((uint64)$1)); $s = str((uint64)$1); print($s); printf(\"%s|\\n\", $s); @s = $s; @k[$s] = 1; }",
	       "abcdefgh..\nabcdefgh..\nabcdefgh..|\n\n\n@k[abcdefgh..]: 1\n@s: abcdefgh..\n", text);
	EXPECT("config = { max_strlen = 8; str_trunc_trailer = \"[more]\" } begin { print(str((uint64)$1)); print(str((uint64)$1, 5)); $n = 9; print(str((uint64)$1, $n)); }",
	       "abcdefgh[more]\nabcd\nabcdefgh[more]\n", text);
	EXPECT("config = { max_strlen = 8; str_trunc_trailer = \"\" } begin { print(str((uint64)$1)); }", "abcdefgh\n", text);
	EXPECT("config = { max_strlen = 4 } begin { $s = str((uint64)$1); print(strlen($s)); print(strstr($s, \"cd\")); print(strstr($s, \"e\")); }",
	       "4\n2\n-1\n", text);
	EXPECT("config = { max_strlen = 11 } begin { print(str((uint64)$1)); } ", "abcdefghij\n", text);
	EXPECT("begin { print(str((uint64)$1 + 3)); print(str(0)); print(str(1)); print(str((uint64)$1 + 10)); }",
	       "defghij\n\n\n\n", text);
	EXPECT("begin { print(str((uint64)$1) == \"abcdefghij\"); print(str((uint64)$1) == \"abcdefghi\"); print(strncmp(str((uint64)$1), \"abcx\", 3)); }",
	       "true\nfalse\n0\n", text);
	EXPECT("begin { $s = str((uint64)$1); print($s == str((uint64)$2)); print($s != str((uint64)$1)); }", "false\nfalse\n",
	       text, "abcdefghi");
	/* the whole room, and one byte more than there is */
	long_text[1023] = 0;
	EXPECT("begin { $s = str((uint64)$1); if ($s == str((uint64)$1)) { printf(\"%5.3s\\n\", $s); } }", "  xxx\n", long_text);
	long_text[1023] = 'x';
	EXPECT("begin { $s = str((uint64)$1); @ = $s; print($s == @); clear(@); }", "true\n", long_text);
}

/* What an earlier text left behind the NUL must not make one key two. */
static void test_str_keys(void)
{
	static const char *const configs[] = { "", "config = { max_strlen = 16 } ", "config = { max_strlen = 40 } ",
					       "config = { max_strlen = 100 } " };
	static const char first_text[] = "long text 1", short_text[] = "ab";

	for (u32 i = 0; i < ARRAY_CNT(configs); i++) {
		char *script = xasprintf(
			"%sbegin { $s = str((uint64)$1); $s = str((uint64)$2); @a[$s] = 1; @a[\"ab\"]++; @a[str((uint64)$2)]++; "
			"@b[$s, 1] = 1; @b[\"ab\", 1]++; @b[str((uint64)$2), 1]++; $t = (str((uint64)$1), 1); $t = (str((uint64)$2), 1); @b[$t]++; "
			"@c[str((uint64)$1)] = 5; @c[str((uint64)$2)] = 6; print(@c[\"ab\"]); @d[1] = $s; print(@d[1] == \"ab\"); "
			"@e[@d[1]] = 1; @e[\"ab\"]++; clear(@c); clear(@d); }",
			configs[i]);

		EXPECT(script, "6\ntrue\n\n\n@a[ab]: 3\n@b[ab, 1]: 4\n@e[ab]: 2\n", first_text, short_text);
		free(script);
	}
}

static void test_buf(void)
{
	static const u8 bytes[] = { 1, 2, 'a', 0, 255, 'z' };

	EXPECT("begin { print(buf((uint64)$1, 6)); printf(\"%rh\\n\", buf((uint64)$1, 3)); $n = 2; print(buf((uint64)$1, $n)); @ = buf((uint64)$1, 4); }",
	       "\\x01\\x02a\\x00\\xffz\n01 02 61\n\\x01\\x02\n\n\n@: \\x01\\x02a\\x00\n", bytes);
	EXPECT(NODE "print(buf($n->grid)); print(buf($n->either.bytes, 2)); @[buf($n->grid)] = 1; }",
	       "\\x01\\x02\\x03\\x04\\x05\\xff\n\\xfe\\xff\n\n\n@[\\x01\\x02\\x03\\x04\\x05\\xff]: 1\n", &first);
	EXPECT("begin { @[buf((uint64)$1, 2)] = 1; $n = 2; @[buf((uint64)$1, $n)]++; $m = 4; @[buf((uint64)$1, $m)] = 5; print(len(@)); }",
	       "2\n\n\n@[\\x01\\x02]: 2\n@[\\x01\\x02a\\x00]: 5\n", bytes);
}

static void test_join(void)
{
	static const char *const argv[] = { "ls", "-l", "two words", NULL }, *const none[] = { NULL };
	static const char *many[20];

	for (u32 i = 0; i < ARRAY_CNT(many); i++)
		many[i] = "x";
	EXPECT("begin { join((uint8 **)$1); join((uint8 **)$1, \",\"); join((uint8 **)$2); join((uint8 **)$3, \"\"); }",
	       "ls -l two words\nls,-l,two words\n\nxxxxxxxxxxxxxxxx\n", argv, none, many);
}

static void test_integers_in_memory(void)
{
	static const u64 v = 0xfedcba9876543210;

	EXPECT("begin { print(*(uint8 *)$1); print(*(int8 *)($1 + 7)); print(*(uint16 *)$1); print(*(int16 *)($1 + 6)); print(*(uint32 *)$1); "
	       "print(*(int32 *)($1 + 4)); print(*(uint64 *)$1); print(*(int64 *)$1); print(*((uint64)$1)); }",
	       "16\n-2\n12816\n-292\n1985229328\n-19088744\n18364758544493064720\n-81985529216486896\n18364758544493064720\n",
	       &v);
}

/* ---- several CPUs ---- */

static void test_cpus(void)
{
	/* five runs on CPUs 0 1 2 3 0, then the one of the session on 0 */
	EXPECT_RUNS(
		5,
		"begin { @c = count(); @s = sum(cpu + 1); @mi = min(10 - cpu); @mx = max(cpu); @a = avg(cpu * 4); @n++; @k[cpu] = count(); }",
		"\n\n@a: 4\n@c: 6\n@k[1]: 1\n@k[2]: 1\n@k[3]: 1\n@k[0]: 3\n@mi: 7\n@mx: 3\n@n: 6\n@s: 12\n");
	EXPECT_RUNS(
		5,
		"begin { @c = count(); @k[\"a\"] = sum(2); @m = max(cpu); @i[1] = min((int64)cpu - 9); printf(\"%d %d %d %d\\n\", @c, @k[\"a\"], @m, @i[1]); clear(@c); clear(@k); "
		"clear(@m); clear(@i); }",
		"1 2 0 -9\n2 4 1 -9\n3 6 2 -9\n4 8 3 -9\n5 10 3 -9\n6 12 3 -9\n");
	EXPECT_RUNS(3, "begin { @h = hist(cpu); @l[1] = lhist(cpu, 0, 4, 2); @st = stats(cpu + 1); }",
		    "\n\n@h:\n[0]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		    "[1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		    "[2, 4)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n\n"
		    "@l[1]:\n[0, 2)                 3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		    "[2, 4)                 1 |@@@@@@@@@@@@@@@@@                                   |\n\n"
		    "@st: { .count = 4, .average = 1, .total = 7 }\n");
	/* delete() of an aggregation takes all CPUs' shares, on whichever it runs */
	EXPECT_RUNS(
		4,
		"begin { @c = count(); @s = sum(5); @keep++; if (@c == 4) { print(delete(@c)); print(delete(@s)); print(@c + 0); } }",
		"true\ntrue\n0\n\n\n@c: 1\n@keep: 5\n@s: 5\n");
}

static void test_world(void)
{
	EXPECT("begin { printf(\"%d %d %d %d %s %d %d\\n\", pid, tid, uid, gid, comm, ncpus, cgroup); print(cpu); @[comm, pid] = count(); }",
	       "1000 1001 7 8 tester 4 99\n0\n\n\n@[tester, 1000]: 1\n");
	EXPECT("begin { $a = nsecs; $b = nsecs; print($b >= $a); print(elapsed < 1h); print(probe); print(probe == \"begin\"); @[probe] = 1; }",
	       "true\ntrue\nbegin\ntrue\n\n\n@[begin]: 1\n");
	EXPECT("mine=begin { print(probe); }", "mine\n");
}

int main(void)
{
	const char *btf = getenv("SONDE_FIXTURE_BTF");
	int err;

	if (btf)
		types = btf_open_file(btf, &err);
	test_str();
	test_str_keys();
	test_join();
	test_integers_in_memory();
	test_cpus();
	test_world();
	if (types) {
		test_fields();
		test_bit_fields();
		test_arrays();
		test_whole_structs();
		test_buf();
		btf_close(types);
	} else {
		printf("skipped: no types: SONDE_FIXTURE_BTF is not set (tests/quick sets it)\n");
	}
	return check_end();
}
