/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading, sorting and changing maps, the -c command, and whole runs, with a made-up object in place of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agg/hist.h"
#include "agg/rank.h"
#include "base/io.h"
#include "lang/fn.h"
#include "out_check.h"
#include "lang/provider.h"
#include "run/child.h"
#include "run/mapread.h"
#include "store/cells.h"
#include "store/hash.h"
#include "store/scalar.h"

struct fake {
	struct object base;
	_Alignas(64) u8 data[SHARED_SZ + 4 * CPU_SZ];
	struct map_dump hash;
	u32 deleted, updated;
	int read_err;
	vec(struct sbuf) ring;
	int ring_fd;
	void (*on_run)(struct fake *f, u32 prog);
};

static void *fake_mem(struct object *o, u32 map)
{
	return map == MAP_IDX_DATA ? ((struct fake *)o)->data : NULL;
}

static int fake_read(struct object *o, u32 map, struct map_dump *d)
{
	struct fake *f = (struct fake *)o;

	(void)map;
	if (f->read_err)
		return f->read_err;
	*d = f->hash;
	if (!d->keys)
		d->cnt = 0; /* a test keeps something else in it */
	d->keys = d->values = NULL;
	if (!d->cnt)
		return 0;
	d->keys = memcpy(xzalloc((size_t)d->cnt * d->key_sz + 1), f->hash.keys, (size_t)d->cnt * d->key_sz);
	d->values = memcpy(xzalloc((size_t)d->cnt * d->stride + 1), f->hash.values, (size_t)d->cnt * d->stride);
	return 0;
}

static int fake_find(struct fake *f, const void *key)
{
	for (u32 i = 0; i < f->hash.cnt; i++)
		if (!memcmp(f->hash.keys + i * f->hash.key_sz, key, f->hash.key_sz))
			return (int)i;
	return -ENOENT;
}

static int fake_lookup(struct object *o, u32 map, const void *key, void *value)
{
	struct fake *f = (struct fake *)o;
	int i = fake_find(f, key);

	(void)map;
	if (i >= 0)
		memcpy(value, f->hash.values + (u32)i * f->hash.stride, f->hash.stride);
	return MIN(i, 0);
}

static int fake_delete(struct object *o, u32 map, const void *keys, u32 cnt)
{
	(void)map;
	((struct fake *)o)->deleted += cnt;
	return fake_find((struct fake *)o, keys) < 0 ? -ENOENT : 0;
}

static int fake_update(struct object *o, u32 map, const void *key, const void *value, u64 flags)
{
	struct fake *f = (struct fake *)o;
	int i = fake_find(f, key);

	(void)map, (void)flags;
	f->updated++;
	if (i >= 0)
		memcpy(f->hash.values + (u32)i * f->hash.stride, value, f->hash.stride);
	return MIN(i, 0);
}

static int fake_consume(struct object *o, object_record_fn fn, void *arg)
{
	struct fake *f = (struct fake *)o;
	u32 cnt = f->ring.cnt;
	u64 n;

	for (u32 i = 0; i < cnt; i++) {
		fn(arg, (u8 *)f->ring.at[i].s, (u32)f->ring.at[i].len);
		sbuf_release(&f->ring.at[i]);
	}
	f->ring.cnt = 0;
	if (f->ring_fd >= 0 && read(f->ring_fd, &n, sizeof(n)) < 0)
		n = 0; /* it was empty */
	return (int)cnt;
}

static int fake_poll_fd(struct object *o)
{
	return ((struct fake *)o)->ring_fd;
}

static int fake_run(struct object *o, u32 prog, u32 *result)
{
	(void)result;
	((struct fake *)o)->on_run((struct fake *)o, prog);
	return 0;
}

static int fake_prog_fd(struct object *o, u32 prog)
{
	(void)o;
	return 1000 + (int)prog;
}

static const struct object_ops fake_ops = {
	.name = "fake",
	.prog_run = fake_run,
	.map_mem = fake_mem,
	.map_read = fake_read,
	.map_lookup = fake_lookup,
	.map_delete = fake_delete,
	.map_update = fake_update,
	.consume = fake_consume,
	.poll_fd = fake_poll_fd,
	.prog_fd = fake_prog_fd,
};
static void fake_init(struct fake *f)
{
	*f = (struct fake){ .base = { &fake_ops, &image }, .ring_fd = -1 };
}

static void fake_add(struct fake *f, u32 key_sz, const void *key, u32 value_sz, u32 cpus, const void *values)
{
	struct map_dump *d = &f->hash;

	d->key_sz = key_sz;
	d->value_sz = value_sz;
	d->cpu_cnt = cpus;
	d->stride = value_sz * cpus;
	d->keys = xrealloc(d->keys, (size_t)(d->cnt + 1) * key_sz);
	d->values = xrealloc(d->values, (size_t)(d->cnt + 1) * d->stride);
	memcpy(d->keys + (size_t)d->cnt * key_sz, key, key_sz);
	memcpy(d->values + (size_t)d->cnt * d->stride, values, d->stride);
	d->cnt++;
}

#define CHECK_MAP(format, map, top, div, want)                                                                                   \
	do {                                                                                                                     \
		const char *got_;                                                                                                \
		session.out.sink = sink_find(format);                                                                            \
		session_print_map(&session, map, MAP_KEEP, top, div);                                                            \
		got_ = written();                                                                                                \
		CHECK_TEXT(got_, want);                                                                                          \
		CHECK(str_eq(format, "text") || json_valid(got_));                                                               \
	} while (0)

static struct hash_layer hash = { .base.store = &store_hash }, percpu_hash = { .base.store = &store_hash, .is_percpu = true };

static void test_hash_maps(void)
{
	struct script_map m = { .name = "@x", .key = &type_s64, .val = &type_s64, .top = &hash.base };
	const struct type *key2 = type_tuple(&arena, (const struct type *[]){ type_string(&arena, 8), &type_s32 }, NULL, 2);
	struct {
		char s[8];
		s32 n;
	} k2;
	struct fake f;

	fake_init(&f);
	session_open(&f.base, "text");
	CHECK_MAP("text", &m, 0, 0, "");
	CHECK_MAP("json", &m, 0, 0, "");
	fake_add(&f, 8, &(s64){ 5 }, 8, 1, &(s64){ 1 });
	fake_add(&f, 8, &(s64){ 6 }, 8, 1, &(s64){ 3 });
	fake_add(&f, 8, &(s64){ 7 }, 8, 1, &(s64){ -2 });
	fake_add(&f, 8, &(s64){ 256 }, 8, 1, &(s64){ 1 });
	fake_add(&f, 8, &(s64){ -1 }, 8, 1, &(s64){ 1 });
	CHECK_MAP("text", &m, 0, 0, "@x[7]: -2\n@x[-1]: 1\n@x[5]: 1\n@x[256]: 1\n@x[6]: 3\n");
	CHECK_MAP("text", &m, 2, 0, "@x[256]: 1\n@x[6]: 3\n");
	CHECK_MAP("text", &m, 100, 2, "@x[7]: -1\n@x[-1]: 0\n@x[5]: 0\n@x[256]: 0\n@x[6]: 1\n");
	CHECK_MAP("json", &m, 2, 0, "{\"type\": \"map\", \"data\": {\"@x\": {\"256\": 1, \"6\": 3}}}\n");
	m.val = &type_bool; /* one byte of it; not sorted by value */
	CHECK_MAP("text", &m, 0, 0, "@x[-1]: true\n@x[5]: true\n@x[6]: true\n@x[7]: true\n@x[256]: true\n");
	m.val = &type_s64;
	session_print_key(&session, &m, &(s64){ 6 });
	session_print_key(&session, &m, &(s64){ 66 });
	CHECK_TEXT(written(), "3\n0\n");
	session_reset_map(&session, &m, MAP_CLEAR);
	CHECK(f.deleted == 5);
	session_reset_map(&session, &m, MAP_ZERO);
	CHECK(f.updated == 5);
	CHECK_MAP("text", &m, 0, 0, "@x[-1]: 0\n@x[5]: 0\n@x[6]: 0\n@x[7]: 0\n@x[256]: 0\n");
	f.read_err = -EPERM;
	CHECK_MAP("text", &m, 0, 0, "");
	CHECK(strstr(written_err(), "WARNING: cannot read map @x: Operation not permitted\n"));
	map_dump_release(&f.hash);

	/* bpftrace 0.17: @c["b",1]=(1,2); @c["a",2]=(1,2); @c["a",1]=(1,1); print(@c); */
	fake_init(&f);
	m = (struct script_map){ .name = "@c", .key = key2, .val = type_string(&arena, 8), .top = &hash.base };
	memset(&k2, 0, sizeof(k2));
	strcpy(k2.s, "b"), k2.n = 1;
	fake_add(&f, 12, &k2, 8, 1, "one\0\0\0\0");
	strcpy(k2.s, "a"), k2.n = 2;
	fake_add(&f, 12, &k2, 8, 1, "two\0\0\0\0");
	k2.n = -1;
	fake_add(&f, 12, &k2, 8, 1, "a \"q\"\0\0");
	strcpy(k2.s, "a b"), k2.n = 0;
	fake_add(&f, 12, &k2, 8, 1, "four\0\0\0");
	CHECK_MAP("text", &m, 0, 0, "@c[a, -1]: a \"q\"\n@c[a, 2]: two\n@c[a b, 0]: four\n@c[b, 1]: one\n");
	CHECK_MAP("json", &m, 0, 0,
		  "{\"type\": \"map\", \"data\": {\"@c\": {\"a,-1\": \"a \\\"q\\\"\", "
		  "\"a,2\": \"two\", \"a b,0\": \"four\", \"b,1\": \"one\"}}}\n");
	CHECK_MAP("text", &m, 1, 0, "@c[b, 1]: one\n");
	map_dump_release(&f.hash);
	session_close();
}

/* A cell of CPU `cpu`, or of the table that all share: as programs leave it. */
static void fake_cell(struct fake *f, const struct script_map *m, u32 cpu, u32 i, s64 mark, const void *key, const void *value)
{
	const struct cells *t = cells_of(m->top);
	u8 *cell = f->data + (t->is_percpu ? SHARED_SZ + cpu * CPU_SZ : 0) + t->off + i * t->size;

	memcpy(cell, &mark, 8);
	if (key)
		memcpy(cell + 8, key, m->key->size);
	memcpy(cell + t->val_off, value, m->val->size);
}

static void test_cells(void)
{
	struct cells_layer y = { .base = { &store_cpu_cells, &hash.base },
				 .cells = { .cnt = 4, .size = 24, .is_percpu = true, .val_off = 8 } };
	struct script_map m = { .name = "@s", .key = &type_u32, .top = &y.base };
	struct fake f;

	/* Key 1 is in two CPUs' cells and in the hash map, 2 in one cell, 3 in the hash map, 0 and 4 nowhere. */
	fake_init(&f);
	session_open(&f.base, "text");
	m.val = agg_type("min", true);
	fake_cell(&f, &m, 0, 3, 1 + 1, NULL, (u64[]){ agg_rank(true, true, 5), 1 });
	fake_cell(&f, &m, 2, 3, 1 + 1, NULL, (u64[]){ agg_rank(true, true, -7), 1 });
	fake_cell(&f, &m, 1, 0, 2 + 1, NULL, (u64[]){ agg_rank(true, true, 9), 1 });
	fake_cell(&f, &m, 1, 1, 4 + 1, NULL, (u64[]){ 0, 0 });
	fake_add(&f, 4, &(u32){ 1 }, 16, 1, (u64[]){ agg_rank(true, true, 2), 1 });
	fake_add(&f, 4, &(u32){ 3 }, 16, 1, (u64[]){ agg_rank(true, true, 4), 1 });
	CHECK_MAP("text", &m, 0, 0, "@s[1]: -7\n@s[3]: 4\n@s[2]: 9\n");
	CHECK_MAP("text", &m, 1, 0, "@s[2]: 9\n");
	session_reset_map(&session, &m, MAP_CLEAR);
	CHECK(f.deleted == 2);
	map_dump_release(&f.hash);
	CHECK_MAP("text", &m, 0, 0, "");
	/* The keys have their cells still. */
	f.hash = (struct map_dump){ .key_sz = 4, .cpu_cnt = 1, .value_sz = 16, .stride = 16 };
	fake_cell(&f, &m, 0, 3, 1 + 1, NULL, (u64[]){ agg_rank(true, true, 6), 1 });
	CHECK_MAP("text", &m, 0, 0, "@s[1]: 6\n");

	/* A value for each CPU in the hash map. */
	fake_init(&f);
	y.base.behind = &percpu_hash.base;
	m.val = agg_type("avg", false);
	fake_cell(&f, &m, 3, 1, 8 + 1, NULL, (u64[]){ 30, 2 });
	fake_add(&f, 4, &(u32){ 8 }, 16, 3, (u64[]){ 5, 1, 0, 0, 25, 1 });
	fake_add(&f, 4, &(u32){ 9 }, 16, 3, (u64[]){ 1, 1, 0, 0, 2, 2 });
	CHECK_MAP("text", &m, 0, 0, "@s[9]: 1\n@s[8]: 15\n");
	map_dump_release(&f.hash);

	/* Larger keys; one is being taken. A sum of 0 counts. */
	fake_init(&f);
	y = (struct cells_layer){ .base = { &store_cpu_cells, &hash.base },
				  .cells = { .cnt = 2, .size = 32, .is_percpu = true, .val_off = 24 } };
	m = (struct script_map){ .name = "@w", .key = type_string(&arena, 12), .val = agg_type("sum", true), .top = &y.base };
	fake_cell(&f, &m, 0, 0, CELL_CLAIMED, "one\0\0\0\0\0\0\0\0", &(s64){ 0 });
	fake_cell(&f, &m, 0, 1, CELL_BEING_CLAIMED, "half\0\0\0\0\0\0\0", &(s64){ 0 });
	fake_cell(&f, &m, 1, 0, CELL_CLAIMED, "some letter", &(s64){ -4 });
	fake_cell(&f, &m, 3, 1, CELL_CLAIMED, "some letter", &(s64){ -5 });
	fake_add(&f, 12, "one\0\0\0\0\0\0\0\0", 8, 1, &(s64){ 0 });
	CHECK_MAP("text", &m, 0, 0, "@w[some letter]: -9\n@w[one]: 0\n");
	map_dump_release(&f.hash);

	/* Numbers that are only added to. */
	fake_init(&f);
	y.cells = (struct cells){ .cnt = 4, .size = 16, .is_percpu = true, .val_off = 8 };
	m = (struct script_map){ .name = "@n", .key = &type_u32, .val = &type_s64, .top = &y.base };
	fake_cell(&f, &m, 0, 2, 5 + 1, NULL, &(s64){ -7 });
	fake_cell(&f, &m, 1, 2, 5 + 1, NULL, &(s64){ 3 });
	fake_cell(&f, &m, 1, 3, 6 + 1, NULL, &(s64){ 0 });
	fake_add(&f, 4, &(u32){ 5 }, 8, 1, &(s64){ 2 });
	CHECK_MAP("text", &m, 0, 0, "@n[5]: -2\n@n[6]: 0\n");
	map_dump_release(&f.hash);

	/* Values that are not added up: one table, and a key is in one place. */
	fake_init(&f);
	y = (struct cells_layer){ .base = { &store_shared_cells, &hash.base },
				  .cells = { .cnt = 4, .off = 32, .size = 16, .val_off = 8 } };
	m = (struct script_map){ .name = "@v", .key = &type_s32, .val = &type_u32, .top = &y.base };
	fake_cell(&f, &m, 0, 0, 1ll + UINT32_MAX, NULL, &(u32){ 7 });
	fake_cell(&f, &m, 0, 1, -(1 + 5), NULL, &(u32){ 8 });
	fake_cell(&f, &m, 0, 3, 1 + 0, NULL, &(u32){ 9 });
	fake_add(&f, 4, &(s32){ 6 }, 4, 1, &(u32){ 1 });
	CHECK_MAP("text", &m, 0, 0, "@v[6]: 1\n@v[-1]: 7\n@v[0]: 9\n");
	session_reset_map(&session, &m, MAP_CLEAR);
	CHECK(f.deleted == 1);
	f.hash.cnt = 0;
	CHECK_MAP("text", &m, 0, 0, "");
	map_dump_release(&f.hash);
	session_close();
}

static void test_percpu_maps(void)
{
	struct script_map m = { .name = "@s", .key = &type_u32, .top = &percpu_hash.base };
	const struct type *hist = hist_type(&arena, 0);
	u64 *counts = xzalloc(3 * hist->size);
	u32 n = hist->cnt;
	struct fake f;

	fake_init(&f);
	session_open(&f.base, "text");
	fake_add(&f, 4, &(u32){ 1 }, 16, 3, (u64[]){ 9, 1, 0, 0, 0, 0 });
	fake_add(&f, 4, &(u32){ 2 }, 16, 3, (u64[]){ 2, 1, 4, 1, 0, 0 });
	m.val = agg_type("stats", false);
	CHECK_MAP("text", &m, 0, 0,
		  "@s[2]: { .count = 2, .average = 3, .total = 6 }\n@s[1]: { .count = 1, .average = 9, .total = 9 }\n");
	CHECK_MAP("text", &m, 1, 2, "@s[1]: { .count = 1, .average = 4, .total = 9 }\n");
	CHECK_MAP("json", &m, 1, 0,
		  "{\"type\": \"stats\", \"data\": {\"@s\": {\"1\": {\"count\": 1, \"average\": 9, \"total\": 9}}}}\n");
	m.val = agg_type("avg", false);
	CHECK_MAP("text", &m, 0, 0, "@s[2]: 3\n@s[1]: 9\n");
	CHECK_MAP("json", &m, 0, 0, "{\"type\": \"stats\", \"data\": {\"@s\": {\"2\": 3, \"1\": 9}}}\n");
	session_print_key(&session, &m, &(u32){ 2 });
	CHECK_TEXT(written(), "{\"type\": \"value\", \"data\": 3}\n");
	map_dump_release(&f.hash);

	fake_init(&f);
	m.val = agg_type("min", true);
	fake_add(&f, 4, &(u32){ 1 }, 16, 2, (u64[]){ agg_rank(true, true, 5), 1, 0, 0 });
	fake_add(&f, 4, &(u32){ 2 }, 16, 2, (u64[]){ agg_rank(true, true, -5), 1, agg_rank(true, true, 2), 1 });
	fake_add(&f, 4, &(u32){ 3 }, 16, 2, (u64[4]){}); /* after zero() */
	session.obj = &f.base;
	CHECK_MAP("text", &m, 0, 0, "@s[2]: -5\n@s[3]: 0\n@s[1]: 5\n");
	map_dump_release(&f.hash);

	fake_init(&f);
	m.val = hist;
	m.name = "@h";
	counts[3] = 3;
	counts[n + 4] = 2;
	fake_add(&f, 4, &(u32){ 1 }, hist->size, 3, counts);
	memset(counts, 0, 3 * hist->size);
	counts[2 * n + 12] = 4;
	fake_add(&f, 4, &(u32){ 2 }, hist->size, 3, counts);
	CHECK_MAP("text", &m, 0, 0,
		  "@h[2]:\n[1K, 2K)               4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n"
		  "@h[1]:\n[2, 4)                 3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		  "[4, 8)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@                  |\n\n");
	CHECK_MAP("json", &m, 1, 0,
		  "{\"type\": \"hist\", \"data\": {\"@h\": {\"1\": "
		  "[{\"min\": 2, \"max\": 3, \"count\": 3},{\"min\": 4, \"max\": 7, \"count\": 2}]}}}\n");
	map_dump_release(&f.hash);
	free(counts);
	session_close();
}

static void test_scalar_maps(void)
{
	struct scalar_layer y = { .base.store = &store_scalar, .data_off = 64, .flag_off = 128 };
	struct script_map m = { .name = "@x", .val = &type_s64, .top = &y.base };
	struct map_snap snap;
	struct fake f;
	u64 *cpu[4];

	fake_init(&f);
	for (u32 i = 0; i < 4; i++)
		cpu[i] = (u64 *)(f.data + SHARED_SZ + i * CPU_SZ + 16);
	session_open(&f.base, "text");
	CHECK(!map_snap_read(&snap, &f.base, &m, 0, 0) && snap.view.cnt == 0);
	map_snap_release(&snap);
	CHECK_MAP("text", &m, 0, 0, "@x: 0\n"); /* print() of what was never set */
	*(s64 *)(f.data + 64) = -5;
	CHECK_MAP("text", &m, 0, 0, "@x: 0\n");
	f.data[128] = 1;
	CHECK_MAP("text", &m, 0, 0, "@x: -5\n");
	CHECK_MAP("json", &m, 0, 0, "{\"type\": \"map\", \"data\": {\"@x\": -5}}\n");
	session_reset_map(&session, &m, MAP_ZERO);
	CHECK(f.data[128] == 1 && *(s64 *)(f.data + 64) == 0);
	*(s64 *)(f.data + 64) = 7;
	session_reset_map(&session, &m, MAP_CLEAR);
	CHECK(f.data[128] == 0 && *(s64 *)(f.data + 64) == 0);

	y.base.store = &store_shares;
	y.data_off = 16;
	m.val = agg_type("count", false);
	CHECK(!map_snap_read(&snap, &f.base, &m, 0, 0) && snap.view.cnt == 0);
	map_snap_release(&snap);
	*cpu[0] = 2, *cpu[3] = 40;
	CHECK_MAP("text", &m, 0, 0, "@x: 42\n");
	CHECK_MAP("text", &m, 0, 10, "@x: 4\n");
	session_reset_map(&session, &m, MAP_ZERO);
	CHECK(*cpu[0] == 0 && *cpu[3] == 0);
	CHECK(!map_snap_read(&snap, &f.base, &m, 0, 0) && snap.view.cnt == 1); /* zero is a value */
	map_snap_release(&snap);
	session_reset_map(&session, &m, MAP_CLEAR);
	CHECK(!map_snap_read(&snap, &f.base, &m, 0, 0) && snap.view.cnt == 0);
	map_snap_release(&snap);

	m.val = agg_type("sum", true);
	*cpu[1] = -3ull, *cpu[2] = 3;
	f.data[128] = 1;
	CHECK_MAP("text", &m, 0, 0, "@x: 0\n");
	CHECK(!map_snap_read(&snap, &f.base, &m, 0, 0) && snap.view.cnt == 1);
	map_snap_release(&snap);
	session_reset_map(&session, &m, MAP_CLEAR);

	m.val = agg_type("stats", false);
	CHECK_MAP("text", &m, 0, 0, "@x: { .count = 0, .average = 0, .total = 0 }\n");
	cpu[0][0] = 5, cpu[0][1] = 1, cpu[1][0] = 7, cpu[1][1] = 1;
	CHECK_MAP("text", &m, 0, 0, "@x: { .count = 2, .average = 6, .total = 12 }\n");
	CHECK_MAP("json", &m, 0, 0, "{\"type\": \"stats\", \"data\": {\"@x\": {\"count\": 2, \"average\": 6, \"total\": 12}}}\n");
	session_reset_map(&session, &m, MAP_CLEAR);

	m.val = hist_type(&arena, 0);
	cpu[0][2] = 1, cpu[2][2] = 1, cpu[1][4] = 1; /* hist of 1, 1, 6 */
	CHECK_MAP("text", &m, 0, 0,
		  "@x:\n[1]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		  "[2, 4)                 0 |                                                    |\n"
		  "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n\n");
	CHECK_MAP("json", &m, 0, 0,
		  "{\"type\": \"hist\", \"data\": {\"@x\": [{\"min\": 1, \"max\": 1, \"count\": 2},"
		  "{\"min\": 2, \"max\": 3, \"count\": 0},{\"min\": 4, \"max\": 7, \"count\": 1}]}}\n");
	session_reset_map(&session, &m, MAP_ZERO);
	CHECK_MAP("json", &m, 0, 0, "{\"type\": \"hist\", \"data\": {\"@x\": []}}\n");
	session_close();
}

static void test_order(void)
{
	const u32 cnt = 200000;
	struct script_map m = { .name = "@x", .key = type_string(&arena, 16), .val = &type_u64, .top = &hash.base };
	const struct type *arr = type_array(&arena, &type_s32, 2), *ptr = type_pointer(&arena, &type_void, AS_KERNEL);
	struct map_snap snap;
	bool in_order = true;
	struct fake f;

	fake_init(&f);
	f.hash = (struct map_dump){ .cnt = cnt, .key_sz = 16, .value_sz = 8, .stride = 8 };
	f.hash.keys = xzalloc(cnt * 16);
	f.hash.values = xzalloc(cnt * 8);
	for (u32 i = 0; i < cnt; i++) {
		snprintf((char *)f.hash.keys + i * 16, 16, "key%u", (i * 7919u) % cnt);
		*(u64 *)(f.hash.values + i * 8) = i % 5;
	}
	for (u32 by_key = 0; by_key < 2; by_key++) {
		m.val = by_key ? type_string(&arena, 8) : &type_u64;
		CHECK(!map_snap_read(&snap, &f.base, &m, 0, 0) && snap.view.cnt == cnt);
		for (u32 i = 1; i < cnt; i++) {
			const struct map_entry *a = &snap.view.entries[i - 1], *b = &snap.view.entries[i];
			u64 va = by_key ? 0 : *(u64 *)a->val, vb = by_key ? 0 : *(u64 *)b->val;

			if (va > vb || (va == vb && strcmp((char *)a->key, (char *)b->key) >= 0))
				in_order = false;
		}
		CHECK(in_order);
		map_snap_release(&snap);
	}
	m.val = &type_u64;
	CHECK(!map_snap_read(&snap, &f.base, &m, 3, 0) && snap.view.cnt == 3);
	for (u32 i = 0; i < 3; i++)
		CHECK(*(u64 *)snap.view.entries[i].val == 4);
	map_snap_release(&snap);
	map_dump_release(&f.hash);

	CHECK(map_key_compare(arr, (u8 *)(s32[]){ 1, -1 }, (u8 *)(s32[]){ 1, 1 }) < 0);
	CHECK(map_key_compare(ptr, (u8 *)&(u64){ 1 }, (u8 *)&(u64){ -1ull }) < 0);
	CHECK(map_key_compare(&type_u64, (u8 *)&(u64){ 1 }, (u8 *)&(u64){ -1ull }) > 0); /* integers as signed */
	CHECK(map_key_compare(&type_u32, (u8 *)&(u32){ 1 }, (u8 *)&(u32){ -1u }) < 0);
	CHECK(map_key_compare(type_string(&arena, 4), (u8 *)"abc", (u8 *)"ab\xff") < 0);
}

static void test_child(void)
{
	static const struct {
		const char *cmd, *words;
	} cases[] = {
		{ "ls", "<ls>" },
		{ "  ls  -l\t/tmp\n", "<ls><-l></tmp>" },
		{ "a 'b c' d", "<a><b c><d>" },
		{ "a \"b c\"d", "<a><b cd>" },
		{ "a '' \"\"", "<a><><>" },
		{ "a\\ b c\\\\", "<a b><c\\>" },
		{ "x '\\n'", "<x><\\n>" },
		{ "x \"\\n\\\"\\$\"", "<x><\\n\"$>" },
		{ "sh -c 'echo \"$x\" | cat'", "<sh><-c><echo \"$x\" | cat>" },
		{ "a 'b", NULL },
		{ "a \"b", NULL },
		{ "", NULL },
		{ "  ", NULL },
		{ "it'\"'s", "<it\"s>" },
		{ "a \\\nb", "<a><b>" },
		{ "\\", "<\\>" },
	};
	struct sbuf b = {};
	struct child *c;
	char *file;

	for (u32 i = 0; i < ARRAY_CNT(cases); i++) {
		const char *why;
		u32 cnt;
		char **words = child_split(cases[i].cmd, &cnt, &why);

		CHECK(!words == !cases[i].words);
		if (!words || !cases[i].words)
			continue;
		sbuf_reset(&b);
		for (u32 w = 0; w < cnt; w++)
			sbuf_printf(&b, "<%s>", words[w]);
		CHECK(!words[cnt]);
		CHECK_TEXT(b.s, cases[i].words);
		free(words);
	}
	file = child_find("sh");
	CHECK(file && strchr(file, '/'));
	free(file);
	CHECK(!child_find("no_such_command_anywhere") && errno == ENOENT);
	CHECK(!child_find("/") && errno == EACCES);
	sbuf_reset(&b);
	CHECK(!child_start("no_such_command_anywhere -x", NULL, &b));
	CHECK_TEXT(b.s, "cannot run 'no_such_command_anywhere': there is no such command");
	sbuf_reset(&b);
	c = child_start("sh -c 'exit 7'", NULL, &b);
	CHECK(c && c->pid > 0 && !child_has_ended(c));
	CHECK(child_resume(c, &b) == 0);
	for (u32 i = 0; i < 2000 && !child_has_ended(c); i++)
		usleep(1000);
	CHECK(c->is_reaped && WIFEXITED(c->status) && WEXITSTATUS(c->status) == 7);
	child_free(c);
	c = child_start("sleep 100", NULL, &b); /* never resumed */
	child_free(c);
	c = child_start("sleep 100", NULL, &b);
	CHECK(child_resume(c, &b) == 0);
	child_kill(c);
	CHECK(c->is_reaped && WIFSIGNALED(c->status) && WTERMSIG(c->status) == SIGTERM);
	child_free(c);
	sbuf_release(&b);
}

/* Whole runs: begin (0), two probes (1, 2), end (3). */

static char run_log[256];
static struct fake *running;

static void send_text(struct fake *f, u32 id, const char *s)
{
	struct sbuf b = {};

	sbuf_add(&b, &(struct rec_head){ .id = id }, sizeof(struct rec_head));
	sbuf_add(&b, s, strlen(s) + 1);
	vec_push(&f->ring, b);
	if (f->ring_fd >= 0 && write(f->ring_fd, &(u64){ 1 }, 8) < 0)
		perror("eventfd");
}

static void on_text(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	(void)rec, (void)len;
	s->out.sink->text(&s->out, "printf", (const char *)data + 8, strlen((const char *)data + 8));
}

static void send_exit(struct fake *f, u32 id)
{
	struct sbuf b = {};

	sbuf_add(&b, &(struct rec_head){ .id = id }, sizeof(struct rec_head));
	sbuf_add(&b, "3\0\0\0\0\0\0", 8);
	vec_push(&f->ring, b);
}

static void on_exit_call(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	(void)rec, (void)len;
	session_exit(s, atoi((const char *)data + 8));
}

static void on_signal_call(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	(void)s, (void)rec, (void)data, (void)len;
	kill(getpid(), SIGINT);
	kill(getpid(), SIGINT); /* as timeout(1) does it */
}

static int fake_attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	int fd = dup(2);

	vec_push(&ctx->fds, fd);
	snprintf(run_log + strlen(run_log), sizeof(run_log) - strlen(run_log), "attach %s %d; ", u->name, prog_fd);
	if (str_eq(u->name, "p2")) { /* attached last: now things happen */
		send_text(running, 0, "one\n");
		send_exit(running, running->hash.cnt); /* exit or signal, as the test wants */
		send_text(running, 0, "late\n");
	}
	return (int)u->site_cnt;
}

static void fake_prog(struct fake *f, u32 prog)
{
	snprintf(run_log + strlen(run_log), sizeof(run_log) - strlen(run_log), "run %u; ", prog);
	send_text(f, 0, prog ? "bye\n" : "hello\n");
	if (prog == 3) {
		((struct data_head *)f->data)->lost_events = 4;
		*(u64 *)(f->data + 200) = 9;
	}
}

static void test_run(void)
{
	static const struct provider begin = { .name = "begin", .flags = PROV_SELF };
	static const struct provider end = { .name = "end", .flags = PROV_SELF | PROV_END };
	static const struct provider rev = { .name = "kprobe", .flags = PROV_REVERSE, .attach = fake_attach };
	static const struct fn text_fn = { .name = "printf", .event = on_text };
	static const struct fn exit_fn = { .name = "exit", .event = on_exit_call };
	static const struct fn signal_fn = { .name = "signal", .event = on_signal_call };
	struct image_prog progs[] = {
		{ .provider = &begin, .flags = begin.flags, .name = "begin", .site_cnt = 1 },
		{ .provider = &rev, .flags = rev.flags, .name = "p2", .site_cnt = 5 },
		{ .provider = &rev, .flags = rev.flags, .name = "p1", .site_cnt = 1 },
		{ .provider = &end, .flags = end.flags, .name = "end", .site_cnt = 1 },
	};
	struct rec recs[] = {
		{ .fn = &text_fn, .fixed_sz = 8 },
		{ .fn = &exit_fn, .fixed_sz = 16, .is_ctrl = true },
		{ .fn = &signal_fn, .fixed_sz = 16, .is_ctrl = true },
	};
	struct rec *rec_ptrs[] = { &recs[0], &recs[1], &recs[2] };
	struct scalar_layer b = { .base.store = &store_scalar, .data_off = 64, .flag_off = 128 };
	struct scalar_layer a = { .base.store = &store_scalar, .data_off = 72, .flag_off = 129 };
	struct scalar_layer unset = { .base.store = &store_scalar, .data_off = 80, .flag_off = 130 };
	struct hash_layer lossy = { .base.store = &store_hash, .lost_off = 200 };
	struct script_map maps[] = {
		{ .name = "@b", .val = &type_s64, .top = &b.base },
		{ .name = "@a", .val = &type_s64, .top = &a.base },
		{ .name = "@c", .val = &type_s64, .top = &unset.base },
		{ .name = "@d", .key = &type_s64, .val = &type_s64, .top = &lossy.base, .max_entries = 5 },
	};
	char path[] = "/tmp/test_out_XXXXXX", *got;
	struct session_opts opts = { .output_path = path, .quiet = true };
	struct sbuf why = {};
	struct fake f;
	int saved_err = dup(2), fd = mkstemp(path), err_fd;

	close(fd);
	err_fd = open("/dev/null", O_WRONLY);
	dup2(err_fd, 2); /* losses are reported there */
	image.progs.at = progs, image.progs.cnt = 4;
	image.recs.at = rec_ptrs, image.recs.cnt = 3;
	image.script_maps.at = maps, image.script_maps.cnt = ARRAY_CNT(maps);
	image.config.print_maps_on_exit = true;
	for (u32 how = 1; how <= 2; how++) { /* ends by exit(3), by SIGINT */
		fake_init(&f);
		f.on_run = fake_prog;
		f.hash.cnt = how;
		f.ring_fd = eventfd(0, EFD_NONBLOCK);
		f.data[128] = f.data[129] = 1;
		running = &f;
		run_log[0] = 0;
		CHECK(session_run_object(&f.base, &diag, &opts) == (how == 2 ? 0 : 3));
		CHECK_TEXT(run_log, "run 0; attach p1 1002; attach p2 1001; run 3; ");
		CHECK(io_read_file(path, &got, NULL) == 0);
		/* Nothing counts after exit(), except end; after a signal everything that was sent does. */
		CHECK_TEXT(got, how != 2 ? "hello\none\nbye\n\n\n@a: 0\n@b: 0\n" : "hello\none\nlate\nbye\n\n\n@a: 0\n@b: 0\n");
		CHECK(((struct data_head *)f.data)->start_ns > 0);
		free(got);
		close(f.ring_fd);
		vec_free(&f.ring);
	}
	/* Dry run: attached and detached, nothing said, nothing run. */
	opts.dry_run = true;
	fake_init(&f);
	f.on_run = fake_prog;
	running = &f;
	run_log[0] = 0;
	CHECK(session_run_object(&f.base, &diag, &opts) == 0);
	CHECK_TEXT(run_log, "attach p1 1002; attach p2 1001; ");
	CHECK(io_read_file(path, &got, NULL) == 0 && !*got);
	free(got);
	vec_for(r, &f.ring)
		sbuf_release(r);
	vec_free(&f.ring);
	opts.dry_run = false;
	/* begin and end only: comes to an end by itself; no maps wanted; JSON. */
	progs[1] = progs[3];
	image.progs.cnt = 2;
	image.config.print_maps_on_exit = false;
	opts.format = "json";
	opts.quiet = false;
	fake_init(&f);
	f.on_run = fake_prog;
	CHECK(session_run_object(&f.base, &diag, &opts) == 0);
	CHECK(io_read_file(path, &got, NULL) == 0);
	CHECK_TEXT(got,
		   "{\"type\": \"attached_probes\", \"count\": 2, \"data\": {\"probes\": 2}}\n"
		   "{\"type\": \"printf\", \"data\": \"hello\\n\"}\n{\"type\": \"printf\", \"data\": \"bye\\n\"}\n");
	free(got);
	vec_free(&f.ring);
	/* With -c it waits for the command. */
	opts.child = child_start("sleep 0.05", NULL, &why);
	CHECK(opts.child);
	fake_init(&f);
	f.on_run = fake_prog;
	CHECK(session_run_object(&f.base, &diag, &opts) == 0);
	CHECK(opts.child->is_reaped && WIFEXITED(opts.child->status));
	child_free(opts.child);
	opts.child = NULL;
	vec_free(&f.ring);
	/* A full disk is an error, an unknown process and format too. */
	opts.output_path = "/dev/full";
	fake_init(&f);
	f.on_run = fake_prog;
	CHECK(session_run_object(&f.base, &diag, &opts) == 1);
	vec_free(&f.ring);
	opts.output_path = path;
	opts.pid = 0x3fffff;
	CHECK(session_run_object(&f.base, &diag, &opts) == 1);
	opts.pid = 0;
	opts.format = "xml";
	CHECK(session_run_object(&f.base, &diag, &opts) == 1);
	opts.format = NULL;
	opts.output_path = "/no/such/directory/file";
	CHECK(session_run_object(&f.base, &diag, &opts) == 1);
	sbuf_release(&why);
	dup2(saved_err, 2);
	close(saved_err);
	close(err_fd);
	unlink(path);
}

static int wait_status(int pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void nap(void)
{
	usleep(400000);
}

/* A descriptor that takes some seconds to close: a connection whose other end does not read, and that lingers. */
static int slow_fd(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { 1, 5 };
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char junk[65536];

	if (bind(server, (struct sockaddr *)&at, len) || listen(server, 1) || getsockname(server, (struct sockaddr *)&at, &len) ||
	    connect(fd, (struct sockaddr *)&at, len) || accept(server, NULL, NULL) < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	while (send(fd, junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	return fd;
}

static int slow_attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	for (u32 i = 0; i < 8; i++) {
		int fd = slow_fd();

		CHECK(fd >= 0);
		vec_push(&ctx->fds, fd);
	}
	return (int)u->site_cnt;
}

/* Detaching takes long, and a signal comes meanwhile: the maps are shown, whether tracing ended by another signal or with the
 * command. */
static void test_slow_detach(void)
{
	static const struct provider probe = { .name = "kprobe", .attach = slow_attach };
	struct image_prog prog = { .provider = &probe, .name = "p", .site_cnt = 8 };
	struct scalar_layer a = { .base.store = &store_scalar, .data_off = 72, .flag_off = 129 };
	struct script_map map = { .name = "@a", .val = &type_s64, .top = &a.base };
	char path[] = "/tmp/test_out_XXXXXX", *got = NULL;
	int fd = mkstemp(path), null = open("/dev/null", O_WRONLY), pid, status;
	struct session_opts opts = { .quiet = true, .output_path = path };
	struct sbuf why = {};
	struct fake f;

	close(fd);
	fake_init(&f);
	f.data[129] = 1;
	image.progs.at = &prog, image.progs.cnt = 1;
	image.recs.cnt = 0;
	image.script_maps.at = &map, image.script_maps.cnt = 1;
	image.config.print_maps_on_exit = true;
	for (u32 by_command = 0; by_command < 2; by_command++) {
		pid = fork();
		if (!pid) {
			dup2(null, 2);
			opts.child = by_command ? child_start("true", NULL, &why) : NULL;
			_exit(session_run_object(&f.base, &diag, &opts));
		}
		for (u32 i = by_command; i < 2; i++) {
			nap();
			kill(pid, SIGINT);
		}
		status = wait_status(pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		CHECK(!io_read_file(path, &got, NULL));
		CHECK_TEXT(got, "\n\n@a: 0\n");
		free(got);
	}
	close(null);
	unlink(path);
}

/* What needs a process of its own. Each returns the exit status of the part that runs there. */

static void slow_prog(struct fake *f, u32 prog)
{
	(void)f;
	if (prog) /* end */
		for (u32 i = 0; i < 100; i++)
			usleep(100000);
}

static void many_lines(struct fake *f, u32 prog)
{
	for (u32 i = 0; i < 20000 && !prog; i++)
		send_text(f, 0, "a line of text for a reader that is not there any more\n");
}

static void test_processes(void)
{
	static const struct provider begin = { .name = "begin", .flags = PROV_SELF };
	static const struct provider end = { .name = "end", .flags = PROV_SELF | PROV_END };
	static const struct fn text_fn = { .name = "printf", .event = on_text };
	struct image_prog progs[] = {
		{ .provider = &begin, .flags = begin.flags, .name = "begin", .site_cnt = 1 },
		{ .provider = &end, .flags = end.flags, .name = "end", .site_cnt = 1 },
	};
	struct rec rec = { .fn = &text_fn, .fixed_sz = 8 }, *recs[] = { &rec };
	struct session_opts opts = { .quiet = true };
	int pid, status, fds[2];
	struct fake f;

	fake_init(&f);
	image.progs.at = progs, image.progs.cnt = 2;
	image.recs.at = recs, image.recs.cnt = 1;
	image.script_maps.cnt = 0;
	fflush(stdout);

	/* The reader goes away: a quiet end. */
	CHECK(!pipe(fds));
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		close(fds[0]), close(fds[1]);
		f.on_run = many_lines;
		status = session_run_object(&f.base, &diag, &opts);
		_exit(status);
	}
	close(fds[0]), close(fds[1]);
	status = wait_status(pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);

	/* One signal is heard and `end` runs. One more gives nothing up but waits, for it may come from somebody who does not
	 * know that the end has begun; the third one ends it at once. */
	pid = fork();
	if (!pid) {
		opts.pid = (u32)getppid(); /* which does not end */
		f.on_run = slow_prog;
		_exit(session_run_object(&f.base, &diag, &opts));
	}
	nap();
	for (u32 i = 0; i < 3; i++) {
		CHECK(waitpid(pid, &status, WNOHANG) == 0);
		kill(pid, SIGINT);
		nap();
	}
	status = wait_status(pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);

	/* -p: ends with that process. */
	pid = fork();
	if (!pid)
		_exit((usleep(50000), 0));
	f.on_run = many_lines;
	opts.pid = (u32)pid;
	opts.output_path = "/dev/null";
	CHECK(session_run_object(&f.base, &diag, &opts) == 0);
	wait_status(pid);
	vec_free(&f.ring);

	/* A tracer that is killed takes a waiting and a running command with it. */
	for (u32 is_running = 0; is_running < 2; is_running++) {
		int child_pid = 0, gone = 0;

		CHECK(!pipe(fds));
		pid = fork();
		if (!pid) {
			struct sbuf why = {};
			struct child *c = child_start("sleep 100", NULL, &why);

			if (is_running)
				child_resume(c, &why);
			if (write(fds[1], &c->pid, sizeof(c->pid)) < 0)
				_exit(1);
			pause();
			_exit(0);
		}
		CHECK(read(fds[0], &child_pid, sizeof(child_pid)) == sizeof(child_pid));
		close(fds[0]), close(fds[1]);
		kill(pid, SIGKILL);
		wait_status(pid);
		for (u32 i = 0; i < 2000 && !gone; i++) {
			char *path = xasprintf("/proc/%d/stat", child_pid), *stat = NULL;

			gone = io_read_file(path, &stat, NULL) || strstr(stat, ") Z ");
			free(stat);
			free(path);
			usleep(1000);
		}
		CHECK(gone);
	}
}

int main(void)
{
	world_init();
	test_hash_maps();
	test_cells();
	test_percpu_maps();
	test_scalar_maps();
	test_order();
	test_child();
	test_run();
	test_slow_detach();
	test_processes();
	return world_end();
}
