/* SPDX-License-Identifier: GPL-2.0-only */
/* Images as bytes: what is read is what was written, damaged ones are refused or harmless, and one runs where it was made for. */
#include <stdio.h>

#include "check.h"
#include "bpf/build.h"
#include "image/file.h"
#include "image/object.h"
#include "image/feature.h"
#include "image/pack.h"
#include "image/store.h"

static struct target target = { .ncpus = 4, .is_check = true, .features = KF_BIT(STACK_IDS) };

static const char *const scripts[] = {
	"begin { exit(); }",
	"begin { printf(\"%d %-5s %p|%%\\n\", 1, \"two\", 3); print((1, \"two\", (3, 4))); }",
	"begin { @a = count(); @b[1, \"x\"] = sum(-2); @c = hist(3); @d = lhist(5, 0, 10, 1); @e[probe] = count(); @f[pid]++; }",
	"begin { @a[tid] = nsecs; delete(@a[tid]); @m = min(1); @x = max(2); @v = avg(3); @s = stats(4); @t = tseries(5, 1s, 3); }",
	"kprobe:f { @s[tid] = nsecs; delete(@s, tid); @h[comm, pid, cpu, tid, nsecs] = 1; @p[pid] = max(tid); @i[kstack, 1] = count(); }",
	"begin { @l[kstack] = count(); }",
	"kprobe:f { @[kstack] = count(); @u[ustack(5)] = count(); @k = ksym(arg0); @s[comm, kstack(100)] = sum(1); }",
	"kprobe:f { printf(\"%s\\n\", str(arg0)); print(strftime(\"%H\", nsecs)); join(arg1); cat(\"/proc/version\"); }",
	"struct p { int x; char name[4]; struct { u8 a[3]; } in; } begin { $p = (struct p *)0; print(*$p); @[$p->x] = *$p; }",
	"enum e { A, B = 7 } begin { print((enum e)7); for ($i : 0..3) { @[$i] = $i; } print(@); clear(@); zero(@); print(@[1]); }",
	"begin { @[tid] = count(); @l[kstack] = count(); @t = tseries(5, 1s, 3); print(@); clear(@); print(@l); clear(@l); print(@t); zero(@t); }",
	"macro m($x) { $x + 1 } begin { $v = 1; print(m($v) / $v); @z[1 / $v] = 1; } interval:s:1 { print(ntop(0x01020304)); } end { }",
};

static struct arena arena;
static struct diag diag;
static struct compile c;

static bool begin(const char *script)
{
	struct sbuf why = {};
	bool ok;

	arena_init(&arena);
	diag_init(&diag, &arena);
	c = (struct compile){ .arena = &arena, .diag = &diag, .target = &target, .config = config_defaults };
	ok = lang_parse(&c, diag_add_source(&diag, "a.bt", script, strlen(script))) && lang_config(&c) && lang_expand(&c) &&
		lang_check(&c) && image_build(&c);
	diag_print(&diag, DIAG_ERROR, false, &why);
	CHECK(ok, "%s: %s", script, sbuf_str(&why));
	sbuf_release(&why);
	return ok;
}

static void test_round(void)
{
	struct sbuf once = {}, twice = {};
	const char *why = "";
	struct image *img;

	image_pack(c.image, &once);
	img = image_unpack(once.s, once.len, &why);
	CHECK(img, "%s", why);
	if (img)
		image_pack(img, &twice);
	CHECK(once.len == twice.len && !memcmp(once.s, twice.s, once.len));
	image_free(img);
	sbuf_release(&once);
	sbuf_release(&twice);
}

static u32 seed = 1;

static u32 rnd(u32 below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % below;
}

/* What is accepted can be loaded and printed: in the interpreter a program can do no harm. */
static void use(const struct image *img)
{
	struct diag own;
	struct arena a;

	arena_init(&a);
	diag_init(&own, &a);
	struct object *obj = img->home.ncpus <= 64 && img->data.total_sz < 1 << 20 ? vm_object_load(img, &own) : NULL;

	if (obj)
		obj->ops->free(obj);
	arena_release(&a);
}

static void test_damage(void)
{
	enum { ROUNDS = 300 };
	struct sbuf good = {}, bad = {};
	u32 refused = 0;

	image_pack(c.image, &good);
	for (u32 i = 0; i < ROUNDS; i++) {
		const char *why = NULL;
		struct image *img;

		sbuf_reset(&bad);
		sbuf_add(&bad, good.s, i % 3 ? good.len : rnd(good.len));
		for (u32 k = 0; i % 3 && k <= i % 4; k++)
			bad.s[rnd(bad.len)] = i % 5 ? (char)rnd(256) : (char)0xff;
		img = image_unpack(bad.s, bad.len, &why);
		if (img)
			use(img);
		else
			refused++;
		if (!img && !why)
			CHECK(false, "refused without a reason");
		image_free(img);
	}
	CHECK(refused >= ROUNDS / 3, "%u refused", refused);
	sbuf_release(&good);
	sbuf_release(&bad);
}

static bool seen[64]; /* for each store: a map was stored so */

static void see(const struct layer *y)
{
	for (u32 i = 0; i < ARRAY_CNT(seen) && store_at(i); i++)
		seen[i] |= store_at(i) == y->store;
}

/* All that user space does with a map. */
static void use_map(struct object *obj, const struct script_map *m)
{
	const struct store *s = m->top->store;
	struct map_dump d = {};
	bool is_exact;

	CHECK(!s->read(obj, m, m->top, &d));
	map_dump_release(&d);
	for (const struct layer *y = m->top; y; y = y->behind) {
		if (y->store->lost)
			y->store->lost(m, y, obj->ops->map_mem(obj, MAP_IDX_DATA), &is_exact);
		if (y->store->is_full)
			y->store->is_full(obj, m, y);
	}
	s->take(obj, m, m->top, MAP_CLEAR, &d);
	map_dump_release(&d);
}

static void pack_back(struct layer *y, const struct sbuf *bytes)
{
	struct packer p = { .at = (const u8 *)bytes->s, .end = (const u8 *)bytes->s + bytes->len, .arena = &arena };

	y->store->pack(&p, y);
	CHECK(!p.why && p.at == p.end);
}

/* Each byte of a layer's description in turn: it is refused, or user space can work with it. */
static void test_layer(const struct image *img, struct object *obj, const struct script_map *m, struct layer *y)
{
	static const u8 values[] = { 0, 1, 8, 0x7f, 0x80, 0xff };
	struct sbuf good = {}, bad = {};
	struct packer p = { .out = &good };
	u32 refused = 0;

	y->store->pack(&p, y);
	for (u32 i = 0; i < good.len * ARRAY_CNT(values); i++) {
		sbuf_reset(&bad);
		sbuf_add(&bad, good.s, good.len);
		bad.s[i / ARRAY_CNT(values)] = (char)values[i % ARRAY_CNT(values)];
		pack_back(y, &bad);
		if (m->top->store->is_sound(img, m, m->top))
			use_map(obj, m);
		else
			refused++;
	}
	CHECK(refused >= good.len, "%s: %u of %u", y->store->name, refused, (u32)good.len);
	pack_back(y, &good);
	CHECK(m->top->store->is_sound(img, m, m->top));
	sbuf_release(&good);
	sbuf_release(&bad);
}

static void test_layers(void)
{
	struct sbuf bytes = {};
	const char *why = "";
	struct image *img;
	struct object *obj;

	image_pack(c.image, &bytes);
	img = image_unpack(bytes.s, bytes.len, &why);
	obj = img ? vm_object_load(img, &diag) : NULL;
	CHECK(obj, "%s", why);
	if (obj) {
		stores_open(obj);
		vec_for(m, &img->script_maps)
			for (struct layer *y = m->top; y; y = y->behind) {
				see(y);
				test_layer(img, obj, m, y);
			}
		stores_close(obj);
		obj->ops->free(obj);
	}
	image_free(img);
	sbuf_release(&bytes);
}

static void test_file(void)
{
	struct image_origin made = { "x86_64", "6.1", "#1", 5, 6, "boot" }, read = {}, here;
	struct image_home home = { .ncpus = 4 };
	struct sbuf bytes = {};
	const char *why = NULL;
	struct image *img;
	struct diag d;

	diag_init(&d, &arena);
	image_file_write(c.image, &diag, &made, &bytes);
	CHECK(image_file_is(bytes.s, bytes.len) && !image_file_is("begin {}", 8));
	img = image_file_read(bytes.s, bytes.len, &d, &read, &why);
	CHECK(img, "%s", why);
	if (!img)
		return;
	CHECK(d.sources.cnt == diag.sources.cnt && d.sources.at[0].len == diag.sources.at[0].len &&
	      !memcmp(d.sources.at[0].text, diag.sources.at[0].text, d.sources.at[0].len));
	CHECK(str_eq(read.release, "6.1") && read.build == 5 && read.types == 6);
	CHECK(!image_misfit(&arena, img, &read, &made, &home));
#define MISFIT(change, word)                                                                                                     \
	do {                                                                                                                     \
		const char *text;                                                                                                \
		here = made;                                                                                                     \
		change;                                                                                                          \
		text = image_misfit(&arena, img, &made, &here, &home);                                                           \
		CHECK(text &&strstr(text, word), "%s", text ? text : "no reason");                                               \
	} while (0)
	MISFIT(here.machine = "aarch64", "aarch64");
	MISFIT(here.release = "6.12", "Linux 6.12");
	MISFIT(here.version = "#2", "another build");
	MISFIT(here.build = 1, "another build");
	MISFIT(here.types = 1, "BTF");
	MISFIT(home.ncpus = 2, "4 CPUs");
	home.ncpus = 4;
	MISFIT(home.pidns_ino = 3, "PID namespace");
	home.pidns_ino = 0;
	MISFIT(home.filter_pid = 3, "without -p");
	home.filter_pid = 0;
	here = made;
	here.boot_id = "another";
	CHECK(!image_misfit(&arena, img, &made, &here, &home) ==
	      !img->home.is_of_boot); /* tseries has what TAI is ahead of the boot clock */
	img->home.is_of_boot = true;
	MISFIT(here.boot_id = "another", "boots");
	image_free(img);
	bytes.s[bytes.len - 1] ^= 1;
	diag_init(&d, &arena);
	CHECK(!image_file_read(bytes.s, bytes.len, &d, &read, &why) && str_eq(why, "it is damaged"));
	bytes.s[8]++;
	CHECK(!image_file_read(bytes.s, bytes.len, &d, &read, &why) && strstr(why, "wrote it"));
	CHECK(!image_file_read(bytes.s, 20, &d, &read, &why) && strstr(why, "too early"));
	sbuf_release(&bytes);
}

/* What is mapped into the tracer on a large machine: the data and the rings. docs/losses.md has the limit for all of it. */
static void test_many_cpus(void)
{
	static const char keyed[] = "kprobe:f { @[comm] = count(); printf(\"%d\\n\", pid); }";

	target.ncpus = 256;
	for (u32 i = 0; i <= ARRAY_CNT(scripts); i++) {
		const char *script = i < ARRAY_CNT(scripts) ? scripts[i] : keyed;
		u64 mapped;

		if (begin(script)) {
			const struct image_map *m = c.image->maps.at;

			mapped = (u64)m[MAP_IDX_DATA].value_sz + m[MAP_IDX_RING].max_entries + m[MAP_IDX_CTRL].max_entries;
			CHECK(mapped < 40 << 20, "%s: %llu bytes", script, (unsigned long long)mapped);
		}
		arena_release(&arena);
	}
	target.ncpus = 4;
}

int main(void)
{
	for (u32 i = 0; i < ARRAY_CNT(scripts); i++) {
		if (begin(scripts[i])) {
			test_round();
			test_damage();
			test_layers();
			test_file();
		}
		arena_release(&arena);
	}
	for (u32 i = 0; store_at(i); i++)
		CHECK(seen[i], "no map is stored as %s", store_at(i)->name);
	test_many_cpus();
	return check_end();
}
