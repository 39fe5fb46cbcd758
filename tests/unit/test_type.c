/* SPDX-License-Identifier: GPL-2.0-only */
/* `sonde type` on damaged BTF: whatever the bytes are, it ends, and stays inside of the data. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "base/io.h"
#include "type/query.h"
#include "types/btf.h"

static u64 seed = 1;

static u32 rnd(u32 below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

/* Shows everything there is in every way. Returns how much came out. */
static size_t show_all(u8 *data, size_t len)
{
	static const struct type_query queries[] = {
		{ QUERY_SIZES }, { QUERY_HOLES }, { QUERY_CONTAINS, "fix_point" }, { QUERY_MEMBER, "*" }
	};
	struct type_view v = { .cacheline = 64 };
	u8 *copy = xzalloc(len ? len : 1);
	struct sbuf out = {};
	struct btfraw b;
	size_t n = 0;

	memcpy(copy, data, len);
	if (btfraw_init(&b, copy, len, false, NULL)) {
		btfraw_release(&b);
		return 0;
	}
	v.b = &b;
	btfc_aligns_init(&v.aligns, &b);
	for (u32 id = 1; btfraw_type(&b, id); id++) {
		v.expand = id & 1;
		type_text(&v, id, &out);
		type_json(&v, id, &out);
		n += out.len;
		sbuf_reset(&out);
	}
	for (u32 i = 0; i < ARRAY_CNT(queries); i++) {
		type_query(&v, &queries[i], NULL, 0, i & 1, &out);
		n += out.len;
		sbuf_reset(&out);
	}
	type_diff(&v, &v, NULL, 0, false, &out);
	sbuf_release(&out);
	btfc_aligns_release(&v.aligns);
	btfraw_release(&b);
	return n;
}

static bool print_one(void *arg, const char *module, const char *name, u32 id)
{
	struct sbuf *text = ((void **)arg)[1];

	btf_print_c(((void **)arg)[0], module, id, text);
	return false;
}

/* Each of 30 anonymous structs has the next one twice: spelt out, that would be 2^30 members. */
static void test_shared_nest(void)
{
	enum { LEVELS = 30, TEXT_MAX = 64 << 20 };
	struct btfwriter w;
	struct arena arena;
	struct sbuf text = {};
	struct type_source *src;
	size_t len;
	u8 *data;
	int err;

	arena_init(&arena);
	btfwriter_init(&w, &arena);
	for (u32 i = 1; i <= LEVELS; i++) {
		struct btf_member m = { .type = i + 1 };

		btfwriter_type(&w, BTF_KIND_STRUCT, i == 1 ? "outer" : "", 8, 2, false);
		btfwriter_tail(&w, &m, sizeof(m));
		btfwriter_tail(&w, &m, sizeof(m));
	}
	btfwriter_int(&w, "int", 4, BTF_INT_SIGNED);
	data = btfwriter_finish(&w, &len);
	src = btf_open_mem(data, len, &err);
	CHECK(src);
	btf_each(src, BTF_KIND_STRUCT, print_one, (void *[]){ src, &text });
	CHECK(text.len && text.len < TEXT_MAX, "%zu bytes", text.len);
	btf_close(src);
	free(data);
	sbuf_release(&text);
	btfwriter_release(&w);
	arena_release(&arena);
}

int main(void)
{
	const char *path = getenv("SONDE_FIXTURE_BTF");
	char *good;
	size_t len, whole;

	if (!path || io_read_file(path, &good, &len)) {
		printf("SONDE_FIXTURE_BTF names no file\n0 passed, 1 failed\n");
		return 1;
	}
	if (!freopen("/dev/null", "w", stderr)) /* "no struct contains…" */
		return 1;
	test_shared_nest();
	whole = show_all((u8 *)good, len);
	CHECK(whole > 10000);
	for (u32 i = 0; i < 3000; i++) {
		u8 *bad = xzalloc(len);
		size_t bad_len = i % 5 ? len : rnd(len);

		memcpy(bad, good, len);
		for (u32 cnt = 1 + rnd(4); cnt; cnt--) {
			u32 at = rnd(len);

			/* Mostly small numbers: type numbers, kinds and counts that almost fit. */
			bad[at] = rnd(3) ? rnd(64) : rnd(256);
		}
		CHECK(show_all(bad, bad_len) < 64 << 20);
		free(bad);
	}
	free(good);
	return check_end();
}
