/* SPDX-License-Identifier: GPL-2.0-only */
/* Values, histograms, aggregations and messages as text and JSON, and printf. Expected text is what the reference shows, or
 * what bpftrace 0.17 prints where the format is the same today. */
#include "agg/hist.h"
#include "agg/rank.h"
#include "agg/tseries.h"
#include "base/json.h"
#include "image/fmt.h"
#include "out/value.h"
#include <time.h>

#include "out_check.h"

static const char *text_of(const struct type *t, const void *data)
{
	static struct sbuf b;

	sbuf_reset(&b);
	value_text(&naming, t, data, &b);
	return sbuf_str(&b);
}

static const char *json_of(const struct type *t, const void *data)
{
	static struct sbuf b;

	sbuf_reset(&b);
	value_json(&naming, t, data, &b);
	CHECK(json_valid(sbuf_str(&b)));
	return sbuf_str(&b);
}

#define CHECK_VALUE(t, data, text, json)                                                                                         \
	do {                                                                                                                     \
		CHECK_TEXT(text_of(t, data), text);                                                                              \
		CHECK_TEXT(json_of(t, data), json);                                                                              \
	} while (0)

static bool ksym(void *self, u64 addr, struct sbuf *out)
{
	(void)self;
	if (addr != 0xffffffff81000000)
		return false;
	sbuf_puts(out, "do_nothing");
	return true;
}

static bool usym(void *self, u64 addr, u32 pid, struct sbuf *out)
{
	(void)self;
	if (pid != 7)
		return false;
	sbuf_printf(out, "user_%llx", (unsigned long long)addr);
	return true;
}

static void test_scalars(void)
{
	struct enum_const consts[] = { { "RED", 0 }, { "BLUE", 7 }, { "NONE", -1 } };
	struct type color = { .kind = T_ENUM, .size = 4, .align = 4, .name = "color", .consts = consts, .const_cnt = 3 };
	const struct type *ptr = type_pointer(&arena, &type_void, AS_KERNEL);
	struct {
		u64 addr;
		u32 pid, site;
	} us = { 0x401000, 7, 0 };

	CHECK_VALUE(&type_s8, (&(s8){ -1 }), "-1", "-1");
	CHECK_VALUE(&type_u8, (&(u8){ 255 }), "255", "255");
	CHECK_VALUE(&type_s16, (&(s16){ -300 }), "-300", "-300");
	CHECK_VALUE(&type_u16, (&(u16){ 65535 }), "65535", "65535");
	CHECK_VALUE(&type_s32, (&(s32){ INT32_MIN }), "-2147483648", "-2147483648");
	CHECK_VALUE(&type_u32, (&(u32){ UINT32_MAX }), "4294967295", "4294967295");
	CHECK_VALUE(&type_s64, (&(s64){ INT64_MIN }), "-9223372036854775808", "-9223372036854775808");
	CHECK_VALUE(&type_s64, (&(s64){ INT64_MAX }), "9223372036854775807", "\"9223372036854775807\"");
	CHECK_VALUE(&type_u64, (&(u64){ UINT64_MAX }), "18446744073709551615", "\"18446744073709551615\"");
	CHECK_VALUE(&type_u64, (&(u64){ 1ull << 53 }), "9007199254740992", "9007199254740992");
	CHECK_VALUE(&type_u64, (&(u64){ (1ull << 53) + 1 }), "9007199254740993", "\"9007199254740993\"");
	CHECK_VALUE(&type_u64, (&(u64){ 0 }), "0", "0");
	CHECK_VALUE(&type_bool, (&(u8){ 1 }), "true", "true");
	CHECK_VALUE(&type_bool, (&(u8){ 0 }), "false", "false");
	CHECK_VALUE(ptr, (&(u64){ 0 }), "0x0", "0");
	CHECK_VALUE(ptr, (&(u64){ 0xffff888012345678 }), "0xffff888012345678", "\"18446612682375452280\"");
	CHECK_VALUE(&color, (&(u32){ 7 }), "BLUE", "7");
	CHECK_VALUE(&color, (&(u32){ 3 }), "3", "3");
	CHECK_VALUE(&color, (&(u32){ UINT32_MAX }), "NONE", "4294967295");
	CHECK_VALUE(&type_none, "", "null", "null");
	CHECK_VALUE(&type_ksym, (&(u64){ 0xffffffff81000000 }), "do_nothing", "\"do_nothing\"");
	CHECK_VALUE(&type_ksym, (&(u64){ 0xabc }), "0xabc", "\"0xabc\"");
	CHECK_VALUE(opaque_find("usym_t")->type, &us, "user_401000", "\"user_401000\"");
	us.pid = 8;
	CHECK_VALUE(opaque_find("usym_t")->type, &us, "0x401000", "\"0x401000\"");
	CHECK_VALUE(type_site(&arena, SITE_PROBE, 16), (&(u32){ 2 }), "kprobe:vfs_read", "\"kprobe:vfs_read\"");
	CHECK_VALUE(type_site(&arena, SITE_FUNC, 16), (&(u32){ 2 }), "vfs_read", "\"vfs_read\"");
	CHECK_VALUE(type_site(&arena, SITE_FUNC, 16), (&(u32){ 1 }), "", "\"\"");
	CHECK_VALUE(type_site(&arena, SITE_PROBE, 16), (&(u32){ 0 }), "", "\"\"");
	CHECK_VALUE(type_site(&arena, SITE_PROBE, 16), (&(u32){ 9 }), "9", "\"9\"");
}

static void test_strings(void)
{
	struct {
		u32 len;
		char s[8];
	} buf = { 5, "a\xff\\\"b" };
	static const struct {
		const char *in;
		u32 len;
		const char *json;
	} cases[] = {
		{ "plain", 5, "\"plain\"" },
		{ "q\"b\\n\n\r\t", 8, "\"q\\\"b\\\\n\\n\\r\\t\"" },
		{ "\x01\x1f\x7f", 3, "\"\\u0001\\u001f\x7f\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" },
		{ "caf\xc3\xa9", 5, "\"caf\xc3\xa9\"" },
		{ "\xe2\x82\xac\xf0\x9f\x90\x9d", 7, "\"\xe2\x82\xac\xf0\x9f\x90\x9d\"" },
		{ "\xff\xfe", 2, "\"\\\\xff\\\\xfe\"" },
		{ "\xc3", 1, "\"\\\\xc3\"" }, /* cut in the middle */
		{ "\xc3(", 2, "\"\\\\xc3(\"" },
		{ "\xc0\x80", 2, "\"\\\\xc0\\\\x80\"" }, /* overlong */
		{ "\xe0\x80\xaf", 3, "\"\\\\xe0\\\\x80\\\\xaf\"" },
		{ "\xed\xa0\x80", 3, "\"\\\\xed\\\\xa0\\\\x80\"" },            /* surrogate */
		{ "\xf4\x90\x80\x80", 4, "\"\\\\xf4\\\\x90\\\\x80\\\\x80\"" }, /* above U+10FFFF */
		{ "\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\"" },
		{ "\x80", 1, "\"\\\\x80\"" },
		{ "", 0, "\"\"" },
	};
	struct sbuf b = {};

	CHECK_VALUE(type_string(&arena, 8), "abc\0zzz", "abc", "\"abc\"");
	CHECK_VALUE(type_string(&arena, 4), "abcd", "abcd..", "\"abcd..\"");
	CHECK_VALUE(type_string(&arena, 4), "\0bcd", "", "\"\"");
	CHECK_VALUE(&type_comm, "Web Content\0\0\0\0", "Web Content", "\"Web Content\"");
	naming.trunc_trailer = "<cut>";
	CHECK_TEXT(text_of(type_string(&arena, 2), "ab"), "ab<cut>");
	naming.trunc_trailer = "";
	CHECK_TEXT(text_of(type_string(&arena, 2), "ab"), "ab");
	naming.trunc_trailer = "..";
	/* bpftrace 0.17: print(buf("a\377\\\"b", 5)) */
	CHECK_VALUE(type_buffer(&arena, 8), &buf, "a\\xff\\\"b", "[97,-1,92,34,98]");
	buf.len = 100; /* more than there is room for */
	CHECK_TEXT(text_of(type_buffer(&arena, 6), &buf), "a\\xff\\\"b\\x00");
	for (u32 i = 0; i < ARRAY_CNT(cases); i++) {
		sbuf_reset(&b);
		json_string(&b, cases[i].in, cases[i].len);
		CHECK_TEXT(b.s, cases[i].json);
		CHECK(json_valid(b.s));
	}
	for (u32 i = 0; i < 20000; i++) { /* any bytes at all */
		char junk[12];

		for (u32 j = 0; j < sizeof(junk); j++)
			junk[j] = (char)(rand() >> 7);
		sbuf_reset(&b);
		json_string(&b, junk, sizeof(junk));
		if (!json_valid(b.s))
			CHECK(!"JSON of random bytes");
	}
	sbuf_reset(&b);
	json_exact_string(&b, "\xfe \xc3\xbe \\xfe \\x5cxfe \\xg0 \\x1", 26);
	CHECK_TEXT(b.s, "\"\\\\xfe \xc3\xbe \\\\x5cxfe \\\\x5cx5cxfe \\\\xg0 \\\\x1\"");
	sbuf_release(&b);
}

static void test_compounds(void)
{
	const struct type *pair = type_tuple(&arena, (const struct type *[]){ &type_s32, type_string(&arena, 4) }, NULL, 2);
	const struct type *outer = type_tuple(&arena, (const struct type *[]){ &type_s64, pair }, NULL, 2);
	const struct type *record = type_tuple(&arena, (const struct type *[]){ &type_u8, &type_u64 },
					       (const char *[]){ "a", "b" }, 2);
	const struct type *row = type_array(&arena, &type_s16, 2), *grid = type_array(&arena, row, 2);
	struct member in[] = { { .name = "x", .type = &type_s32, .off = 0 }, { .name = "y", .type = &type_u8, .off = 4 } };
	struct type inner = { .kind = T_STRUCT, .size = 8, .align = 4, .name = "", .members = in, .member_cnt = 2 };
	struct member m[] = {
		{ .name = "flag", .type = &type_u32, .off = 0, .bit_off = 3, .bit_sz = 5 },
		{ .name = "neg", .type = &type_s32, .off = 0, .bit_off = 8, .bit_sz = 4 },
		{ .name = "", .type = &type_u32, .off = 0, .bit_off = 12, .bit_sz = 2 },
		{ .name = "", .type = &inner, .off = 4 },
		{ .name = "named", .type = &inner, .off = 4 },
		{ .name = "name", .type = type_string(&arena, 4), .off = 12 },
	};
	struct type st = { .kind = T_STRUCT, .size = 16, .align = 4, .name = "st", .members = m, .member_cnt = 6 };
	struct type empty = { .kind = T_STRUCT, .name = "empty" };
	struct member wide = { .name = "w", .type = &type_u64, .off = 0, .bit_off = 4, .bit_sz = 64 };
	struct {
		u32 bits;
		s32 x;
		u8 y, pad[3];
		char name[4];
	} v = { 21 << 3 | 0xd << 8, -5, 200, {}, "abc" };
	struct {
		s64 a;
		s32 b;
		char c[4];
	} t = { 1, 2, "x" };
	struct {
		u8 a;
		u64 b;
	} rec = { 3, 4 };
	u8 nine[9] = { 0xf0, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct sbuf b = {};

	CHECK_VALUE(outer, &t, "(1, (2, x))", "[1,[2,\"x\"]]");
	CHECK_VALUE(type_tuple(&arena, NULL, NULL, 0), "", "()", "[]");
	CHECK_VALUE(type_tuple(&arena, (const struct type *[]){ &type_u8 }, NULL, 1), "\x05", "(5)", "[5]");
	CHECK_VALUE(record, &rec, "{ .a = 3, .b = 4 }", "{\"a\": 3, \"b\": 4}");
	CHECK_VALUE(grid, ((s16[]){ 1, 2, -3, 4 }), "[[1,2],[-3,4]]", "[[1,2],[-3,4]]");
	CHECK_VALUE(&st, &v, "{ .flag = 21, .neg = -3, .x = -5, .y = 200, .named = { .x = -5, .y = 200 }, .name = abc }",
		    "{\"flag\": 21, \"neg\": -3, \"x\": -5, \"y\": 200, \"named\": {\"x\": -5, \"y\": 200}, \"name\": \"abc\"}");
	CHECK_VALUE(&empty, "", "{}", "{}");
	CHECK(value_load_member(&wide, nine) == 0x807060504030201f);
	value_key(&naming, outer, (u8 *)&t, false, &b);
	CHECK_TEXT(b.s, "1, (2, x)");
	sbuf_reset(&b);
	value_key(&naming, outer, (u8 *)&t, true, &b);
	CHECK_TEXT(b.s, "1,(2,x)");
	sbuf_reset(&b);
	value_key(&naming, record, (u8 *)&rec, true, &b);
	CHECK_TEXT(b.s, "{.a=3,.b=4}");
	sbuf_release(&b);
}

/* The bytes that the text of a part stands for. */
static size_t unescape(const char *s, size_t len, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++)
		if (is_hex_escape((const u8 *)s + i, len - i)) {
			to[n] = (char)strtoul((char[]){ s[i + 2], s[i + 3], 0 }, NULL, 16);
			i += 4;
		} else {
			to[n] = s[i++];
		}
	return n;
}

/* Keys of a map in JSON: as bpftrace writes them, and no two the same. */
static void test_json_keys(void)
{
	const struct type *text = type_string(&arena, 8), *bytes = type_buffer(&arena, 4);
	const struct type *texts = type_tuple(&arena, (const struct type *[]){ text, text }, NULL, 2);
	const struct type *mixed = type_tuple(&arena, (const struct type *[]){ text, &type_u8 }, NULL, 2);
	static const struct {
		char key[17];
		const char *json;
	} pairs[] = {
		{ "plain\0\0\0z", "plain,z" },         { "x,y\0\0\0\0\0z", "x\\x2cy,z" },
		{ "x\0\0\0\0\0\0\0y,z", "x,y\\x2cz" }, { "\xfe\0\0\0\0\0\0\0\xc3\xbe", "\\xfe,\xc3\xbe" },
		{ "\\xfe\0\0\0\0\\", "\\x5cxfe,\\" },
	};
	static const char letters[] = "\\\\x25cxfe,,\xfe\xc3\xbe\n";
	struct sbuf b = {};

	for (u32 i = 0; i < ARRAY_CNT(pairs); i++) {
		sbuf_reset(&b);
		value_key(&naming, texts, (const u8 *)pairs[i].key, true, &b);
		CHECK_TEXT(b.s, pairs[i].json);
	}
	sbuf_reset(&b);
	value_key(&naming, mixed, (const u8 *)"x,y\0\0\0\0\0\7", true, &b); /* only one part can have commas */
	CHECK_TEXT(b.s, "x,y,7");
	sbuf_reset(&b);
	value_key(&naming, bytes, (const u8 *)"\4\0\0\0\\x01", true, &b);
	sbuf_putc(&b, ' ');
	value_key(&naming, bytes, (const u8 *)"\3\0\0\0\1,\xfe", true, &b);
	CHECK_TEXT(b.s, "\\x5cx01 \\x01,\\xfe");
	for (u32 i = 0; i < 20000; i++) {
		char key[16] = {}, back[2][16] = {}, *comma;

		for (u32 k = 0; k < 14; k++)
			key[k + k / 7] = letters[(rand() >> 7) % (int)(sizeof(letters) - 1)];
		sbuf_reset(&b);
		value_key(&naming, texts, (const u8 *)key, true, &b);
		comma = strchr(b.s, ',');
		unescape(b.s, (size_t)(comma - b.s), back[0]);
		unescape(comma + 1, strlen(comma + 1), back[1]);
		if (strcmp(back[0], key) || strcmp(back[1], key + 8))
			CHECK(false, "another key than that of %s", b.s);
	}
	sbuf_release(&b);
}

static void test_timestamps(void)
{
	/* 2026-01-02 03:04:05.123456789 UTC, split between the stamp and the offset of the clocks */
	u64 boot = 1000000000000, real = 1767323045123456789;

	naming.boot_to_real_ns = (s64)(real - boot);
	CHECK_TEXT(text_of(type_opaque(&arena, opaque_find("timestamp"), "%Y-%m-%d %H:%M:%S", 0), &boot), "2026-01-02 03:04:05");
	CHECK_TEXT(text_of(type_opaque(&arena, opaque_find("timestamp"), "%S.%f %l %k %%f", 0), &boot),
		   "05.123456 123 123456789 %f");
	CHECK_TEXT(text_of(type_opaque(&arena, opaque_find("timestamp"), "", 0), &boot), "");
	CHECK_TEXT(text_of(type_opaque(&arena, opaque_find("timestamp"), "%H%", 0), &boot), "03%");
	CHECK_TEXT(json_of(type_opaque(&arena, opaque_find("timestamp"), "\"%H\"", 0), &boot), "\"\\\"03\\\"\"");
	CHECK_TEXT(text_of(opaque_find("mac")->type, "\x80\xff\x00\x01\x7f\xab"), "80:FF:00:01:7F:AB");
	CHECK_TEXT(json_of(opaque_find("mac")->type, "abcdef"), "\"61:62:63:64:65:66\"");
	CHECK_TEXT(text_of(opaque_find("inet")->type, "\x02\0\0\0\x7f\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0"), "127.0.0.1");
	CHECK_TEXT(text_of(opaque_find("inet")->type, "\x0a\0\0\0\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"), "fe80::1");
	CHECK_TEXT(text_of(opaque_find("inet")->type, "\x4d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "(?)");
	naming.boot_to_real_ns = -(s64)boot - 1; /* just before 1970 */
	CHECK_TEXT(text_of(type_opaque(&arena, opaque_find("timestamp"), "%S.%f", 0), &boot), "59.999999");
	CHECK_TEXT(text_of(type_opaque(&arena, opaque_find("timestamp"), arena_printf(&arena, "%0500d", 1), 0), &boot), "(?)");
	naming.boot_to_real_ns = 0;
}

static const char *label_of(const struct type *t, u32 b)
{
	static struct sbuf buf;

	sbuf_reset(&buf);
	hist_label(t, b, &buf);
	return buf.s;
}

static void test_buckets(void)
{
	const struct type *h0 = hist_type(&arena, 0);
	const struct type *lin = lhist_type(&arena, 0, 100, 10), *kilo = lhist_type(&arena, 0, 4 << 20, 1 << 19);
	const struct type *ones = lhist_type(&arena, -2, 2, 1), *uneven = lhist_type(&arena, 0, 25, 10);
	static const struct {
		u32 bits;
		s64 v;
		const char *label;
	} hist[] = {
		{ 0, -1, "(..., 0)" },
		{ 0, INT64_MIN, "(..., 0)" },
		{ 0, 0, "[0]" },
		{ 0, 1, "[1]" },
		{ 0, 2, "[2, 4)" },
		{ 0, 3, "[2, 4)" },
		{ 0, 6, "[4, 8)" },
		{ 0, 511, "[256, 512)" },
		{ 0, 512, "[512, 1K)" },
		{ 0, 1023, "[512, 1K)" },
		{ 0, 1024, "[1K, 2K)" },
		{ 0, 1 << 19, "[512K, 1M)" },
		{ 0, 1 << 20, "[1M, 2M)" },
		{ 0, 1 << 30, "[1G, 2G)" },
		{ 0, 1ll << 40, "[1T, 2T)" },
		{ 0, 1ll << 50, "[1P, 2P)" },
		{ 0, 1ll << 60, "[1E, 2E)" },
		{ 0, INT64_MAX, "[4E, 8E)" },
		{ 2, 3, "[3]" },
		{ 2, 4, "[4]" },
		{ 2, 7, "[7]" },
		{ 2, 8, "[8, 10)" },
		{ 2, 11, "[10, 12)" },
		{ 2, 1024, "[1024, 1280)" },
		{ 2, 3584, "[3584, 4K)" },
		{ 2, 4096, "[4K, 5K)" },
		{ 2, 5 << 20, "[5M, 6M)" },
		{ 5, 63, "[63]" },
		{ 5, 64, "[64, 66)" },
		{ 5, INT64_MAX, "[8064P, 8192P)" },
	};
	struct sbuf b = {};
	u64 *counts;

	for (u32 i = 0; i < ARRAY_CNT(hist); i++) {
		const struct type *t = hist_type(&arena, hist[i].bits);

		CHECK_TEXT(label_of(t, hist_bucket(t, hist[i].v)), hist[i].label);
	}
	/* The buckets cover all numbers without gaps, and a bucket's own ends fall into it. */
	for (u32 bits = 0; bits <= 5; bits++) {
		const struct type *t = hist_type(&arena, bits);
		u64 next = 0;

		for (u32 i = 1; i < t->cnt; i++) {
			struct hist_range r = hist_range(t, i);

			CHECK(r.lo == next && r.hi >= r.lo);
			if ((s64)r.hi >= 0)
				CHECK(hist_bucket(t, (s64)r.lo) == i && hist_bucket(t, (s64)r.hi) == i);
			next = r.hi + 1;
		}
		CHECK(next == 0); /* 2^64 */
	}
	CHECK_TEXT(label_of(h0, h0->cnt - 1), "[8E, 16E)");
	CHECK_TEXT(label_of(lin, hist_bucket(lin, -1)), "(..., 0)");
	CHECK_TEXT(label_of(lin, hist_bucket(lin, 0)), "[0, 10)");
	CHECK_TEXT(label_of(lin, hist_bucket(lin, 99)), "[90, 100)");
	CHECK_TEXT(label_of(lin, hist_bucket(lin, 100)), "[100, ...)");
	CHECK_TEXT(label_of(lin, hist_bucket(lin, INT64_MAX)), "[100, ...)");
	CHECK_TEXT(label_of(kilo, 1), "[0, 512K)");
	CHECK_TEXT(label_of(kilo, 2), "[512K, 1M)");
	CHECK_TEXT(label_of(kilo, 4), "[1536K, 2M)");
	CHECK_TEXT(label_of(kilo, kilo->cnt - 1), "[4M, ...)");
	CHECK_TEXT(label_of(ones, hist_bucket(ones, -3)), "(..., -2)");
	CHECK_TEXT(label_of(ones, hist_bucket(ones, -2)), "[-2]");
	CHECK_TEXT(label_of(ones, hist_bucket(ones, 1)), "[1]");
	CHECK_TEXT(label_of(ones, hist_bucket(ones, 2)), "[2, ...)");
	CHECK_TEXT(label_of(uneven, hist_bucket(uneven, 24)), "[20, 25)");
	CHECK_TEXT(label_of(uneven, hist_bucket(uneven, 25)), "[25, ...)");
	CHECK(hist_range(lin, 1).lo == 0 && hist_range(lin, 1).hi == 9 && (s64)hist_range(lin, 0).hi == -1);

	counts = xzalloc(h0->size);
	counts[2] = 2;
	counts[4] = 1;
	value_show_text(&(struct show){ .n = &naming, .out = &b, .div = 0 }, h0, (u8 *)counts);
	CHECK_TEXT(b.s,
		   "[1]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		   "[2, 4)                 0 |                                                    |\n"
		   "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n");
	sbuf_reset(&b);
	value_show_json(&(struct show){ .n = &naming, .out = &b, .div = 0 }, h0, (u8 *)counts);
	CHECK_TEXT(b.s,
		   "[{\"min\": 1, \"max\": 1, \"count\": 2},"
		   "{\"min\": 2, \"max\": 3, \"count\": 0},{\"min\": 4, \"max\": 7, \"count\": 1}]");
	counts[2] = 0;
	counts[4] = 4;
	sbuf_reset(&b);
	value_show_json(&(struct show){ .n = &naming, .out = &b, .div = 2 }, h0, (u8 *)counts);
	CHECK_TEXT(b.s, "[{\"min\": 4, \"max\": 7, \"count\": 2}]");
	counts[4] = 1;
	sbuf_reset(&b);
	value_show_text(&(struct show){ .n = &naming, .out = &b, .div = 5 }, h0,
			(u8 *)counts); /* nothing is left, and nothing is divided by */
	CHECK_TEXT(b.s, "[4, 8)                 0 |                                                    |\n");
	counts[4] = 0;
	counts[0] = 1;
	counts[64] = counts[65] = 1;
	sbuf_reset(&b);
	value_show_json(&(struct show){ .n = &naming, .out = &b, .div = 0 }, h0, (u8 *)counts);
	CHECK(json_valid(b.s));
	CHECK(str_starts(b.s, "[{\"max\": -1, \"count\": 1},{\"min\": 0, \"max\": 0, \"count\": 0},"));
	CHECK(strstr(b.s,
		     "{\"min\": 4611686018427387904, \"max\": \"9223372036854775807\", \"count\": 1},"
		     "{\"min\": 9223372036854775808, \"max\": \"18446744073709551615\", \"count\": 1}]"));
	memset(counts, 0, h0->size);
	sbuf_reset(&b);
	value_show_text(&(struct show){ .n = &naming, .out = &b, .div = 0 }, h0, (u8 *)counts);
	value_show_json(&(struct show){ .n = &naming, .out = &b, .div = 0 }, h0, (u8 *)counts);
	CHECK_TEXT(b.s, "[]");
	counts[3] = 10;
	counts[11] = 1;
	sbuf_reset(&b);
	value_show_json(&(struct show){ .n = &naming, .out = &b, .div = 7 }, lin, (u8 *)counts); /* lhist is not divided */
	CHECK(str_starts(b.s, "[{\"min\": 20, \"max\": 29, \"count\": 10},"));
	CHECK(strstr(b.s, ",{\"min\": 100, \"count\": 1}]"));
	free(counts);
	sbuf_release(&b);
}

static void test_aggregations(void)
{
	const struct type *umax = agg_type("max", false), *smax = agg_type("max", true);
	const struct type *umin = agg_type("min", false), *smin = agg_type("min", true);
	const struct type *savg = agg_type("avg", true), *stats = agg_type("stats", false);
	const struct type *sum = agg_type("sum", true), *count = agg_type("count", false);
	u64 v[6] = { 1, 0, 2, 0, 4, 0 }, out[2];
	struct sbuf b = {};
	struct {
		const struct type *t;
		s64 a, b, want;
	} ranks[] = {
		{ umax, 5, 9, 9 },
		{ umax, -1, 9, -1 },
		{ umax, 0, 0, 0 },
		{ smax, -5, -9, -5 },
		{ smax, -5, 3, 3 },
		{ smax, INT64_MIN, INT64_MIN, INT64_MIN },
		{ umin, 5, 9, 5 },
		{ umin, -1, 9, 9 },
		{ smin, -5, 3, -5 },
		{ smin, 7, 3, 3 },
		{ smin, INT64_MAX, INT64_MAX, INT64_MAX },
		{ umin, 0, 4, 0 },
	};

	CHECK(count->size == 8 && umax->size == 16 && agg_total_size(umax) == 8 && agg_total_size(stats) == 16);
	CHECK(agg_total_size(hist_type(&arena, 0)) == hist_type(&arena, 0)->size);
	CHECK(agg_sum(count, (u8 *)v, 16, 3, (u8 *)out) && out[0] == 7);
	v[0] = -3ull, v[2] = 1, v[4] = 0;
	CHECK(agg_sum(sum, (u8 *)v, 16, 3, (u8 *)out));
	CHECK_VALUE(sum, out, "-2", "-2");
	for (u32 i = 0; i < ARRAY_CNT(ranks); i++) {
		const struct type *t = ranks[i].t;
		bool is_min = t->agg == agg_find("min");
		u64 cpus[6] = { agg_rank(is_min, t->is_signed, ranks[i].a), 1, 0, 0, 0, 1 };

		cpus[4] = agg_rank(is_min, t->is_signed, ranks[i].b);
		CHECK(agg_sum(t, (u8 *)cpus, 16, 3, (u8 *)out) && (s64)out[0] == ranks[i].want);
	}
	memset(v, 0, sizeof(v));
	out[0] = 1;
	CHECK(!agg_sum(smin, (u8 *)v, 16, 3, (u8 *)out) && out[0] == 0);
	CHECK(!agg_sum(savg, (u8 *)v, 16, 3, (u8 *)out) && out[1] == 0);
	CHECK_VALUE(savg, out, "0", "0");
	v[0] = -10ull, v[1] = 1, v[4] = 3, v[5] = 1;
	CHECK(agg_sum(savg, (u8 *)v, 16, 3, (u8 *)out));
	CHECK_VALUE(savg, out, "-3", "-3");
	v[0] = v[4] = 0; /* avg of 0, 0 */
	CHECK(agg_sum(savg, (u8 *)v, 16, 3, (u8 *)out));
	v[0] = 5, v[4] = 7;
	CHECK(agg_sum(stats, (u8 *)v, 16, 3, (u8 *)v)); /* in place */
	CHECK_VALUE(stats, v, "{ .count = 2, .average = 6, .total = 12 }", "{\"count\": 2, \"average\": 6, \"total\": 12}");
	value_show_text(&(struct show){ .n = &naming, .out = &b, .div = 4 }, stats, (u8 *)v);
	value_show_text(&(struct show){ .n = &naming, .out = &b, .div = 4 }, savg, (u8 *)(s64[]){ -21, 2 });
	CHECK_TEXT(b.s, "{ .count = 2, .average = 1, .total = 12 }-2");
	sbuf_release(&b);
}

/* Intervals are numbered from the start of TAI; bucket 1 is the first one. */
static void test_series(void)
{
	const struct type *ms = tseries_type(&arena, 100000000, 4, FOLD_LAST, true),
			  *hour = tseries_type(&arena, 3600000000000ull, 3, FOLD_AVG, false);
	const struct type *min = tseries_type(&arena, 1000, 2, FOLD_MIN, true),
			  *sum = tseries_type(&arena, 1, 2, FOLD_SUM, false);
	struct series_bucket b[4] = { [2] = { 2, -5, 1 }, [3] = { 3, -3, 1 }, [1] = { 5, 5, 1 } }, out[4] = {};
	struct series_bucket h[3] = { [2] = { 2, 9, 1 } };
	/* two CPUs: of each interval the newer round counts */
	struct series_bucket cpus[2][4] = { { { 4, 10, 100 }, { 1, 3, 5 } }, { { 4, 20, 200 }, { 5, 4, 9 } } };
	struct series_bucket avgs[2][3] = { { { 3, 10, 3 } }, { { 3, 5, 1 } } };
	struct series_bucket mins[2][2] = { { { 2, agg_rank(true, true, -7), 1 } }, { { 2, agg_rank(true, true, 3), 1 } } };
	struct sbuf text = {};

	setenv("TZ", "UTC", 1);
	tzset();
	CHECK_TEXT(text_of(ms, b),
		   "             -5                                                  5\n"
		   "hh:mm:ss.ms  |___________________________________________________|\n"
		   "00:00:00.100 *                         .                         | -5\n"
		   "00:00:00.200 |         *               .                         | -3\n"
		   "00:00:00.300 |                         .                         | -\n"
		   "00:00:00.400 |                         .                         * 5\n"
		   "             v___________________________________________________v\n"
		   "             -5                                                  5\n");
	CHECK_TEXT(
		json_of(ms, b),
		"[{\"interval_start\":\"1970-01-01 00:00:00.100000000\",\"value\":-5},{\"interval_start\":\"1970-01-01 00:00:00.200000000\",\"value\":-3},"
		"{\"interval_start\":\"1970-01-01 00:00:00.400000000\",\"value\":5}]");
	CHECK_TEXT(text_of(hour, h),
		   "         8                                                  10\n"
		   "hh:mm:ss |___________________________________________________|\n"
		   "01:00:00 |                         *                         | 9\n"
		   "         v___________________________________________________v\n"
		   "         8                                                  10\n");
	naming.tai_ahead_ns = 37000000000;
	CHECK(strstr(text_of(hour, h), "\n00:59:23 |") != NULL);
	naming.tai_ahead_ns = 0;
	CHECK_TEXT(json_of(ms, out), "[]");
	CHECK_TEXT(text_of(ms, out), "<no data>\n");
	/* shown up to a later interval, in which others of the map have values; what is too old for the ring is gone */
	value_show_text(&(struct show){ .n = &naming, .out = &text, .extent = 6 }, ms, (u8 *)b);
	CHECK(strstr(sbuf_str(&text), "00:00:00.500 |") && !strstr(sbuf_str(&text), "00:00:00.100"));
	sbuf_release(&text);

	CHECK(agg_sum(ms, (u8 *)cpus, sizeof(cpus[0]), 2, (u8 *)out));
	CHECK(out[0].epoch == 4 && out[0].value == 20); /* the later of two */
	CHECK(out[1].epoch == 5 && out[1].value == 4);
	CHECK(out[2].epoch == 0);
	CHECK(agg_sum(hour, (u8 *)avgs, sizeof(avgs[0]), 2, (u8 *)out) && out[0].value == 3); /* 15 / 4 */
	CHECK(agg_sum(min, (u8 *)mins, sizeof(mins[0]), 2, (u8 *)out) && (s64)out[0].value == -7);
	CHECK(agg_sum(sum, (u8 *)avgs, sizeof(avgs[0]), 2, (u8 *)out) && out[0].value == 15);
	memset(cpus, 0, sizeof(cpus));
	CHECK(!agg_sum(ms, (u8 *)cpus, sizeof(cpus[0]), 2, (u8 *)out));
}

static void test_sinks(void)
{
	struct span at = { 0, 8, 12 };

	CHECK(str_eq(sink_at(0)->name, "text") && str_eq(sink_find("json")->name, "json") && !sink_find("xml") && !sink_at(1000));
	session_open(NULL, "json");
	session.out.sink->attached(&session.out, 2);
	session.out.sink->text(&session.out, "printf", "hi 5\n", 5);
	session.out.sink->text(&session.out, "time", "12:00:01\n", 9);
	session.out.sink->text(&session.out, "join", "a b\n", 4);
	session.out.sink->value(&session.out, &type_s32, (u8 *)&(s32){ 7 });
	session.out.sink->lost(&session.out, 3);
	session.out.sink->report(&session.out, "errorf", at, &diag, "bad 1");
	session.out.sink->helper_error(&session.out, at, &diag, "Bad address", "probe_read_user", -14);
	session.out.sink->report(&session.out, "runtime_error", at, NULL, "no place");
	session.out.sink->before_maps(&session.out);
	CHECK_TEXT(written(),
		   "{\"type\": \"attached_probes\", \"count\": 2, \"data\": {\"probes\": 2}}\n"
		   "{\"type\": \"printf\", \"data\": \"hi 5\\n\"}\n"
		   "{\"type\": \"time\", \"data\": \"12:00:01\\n\"}\n"
		   "{\"type\": \"join\", \"data\": \"a b\"}\n"
		   "{\"type\": \"value\", \"data\": 7}\n"
		   "{\"type\": \"lost_events\", \"count\": 3, \"data\": {\"events\": 3}}\n"
		   "{\"type\": \"errorf\", \"msg\": \"bad 1\", \"filename\": \"stdin\", \"line\": 1, \"col\": 9}\n"
		   "{\"type\": \"helper_error\", \"msg\": \"Bad address\", "
		   "\"helper\": \"probe_read_user\", \"retcode\": -14, "
		   "\"filename\": \"stdin\", \"line\": 1, \"col\": 9}\n"
		   "{\"type\": \"runtime_error\", \"msg\": \"no place\"}\n");
	CHECK_TEXT(written_err(), "");
	session.out.sink = sink_find("text");
	session.out.sink->text(&session.out, "join", "a b\n", 4);
	session.out.sink->text(&session.out, "syscall", "x\n\n", 3);
	session.out.sink->text(&session.out, "cat", "y", 1);
	session.out.sink->before_maps(&session.out);
	CHECK_TEXT(written(), "a b\nx\n\ny\n\n");
	session.out.sink->attached(&session.out, 1);
	session.out.sink->attached(&session.out, 3);
	session.out.sink->lost(&session.out, 3);
	session.out.sink->report(&session.out, "errorf", at, &diag, "bad 1");
	session.out.sink->helper_error(&session.out, at, &diag, "Map full", "map_update_elem", -7);
	CHECK_TEXT(written_err(),
		   "Attached 1 probe\nAttached 3 probes\nLost 3 events\n"
		   "stdin:1:9-13: ERROR: bad 1\nBEGIN { @x++; }\n        ~~~~\n"
		   "stdin:1:9-13: WARNING: Map full\nAdditional Info - helper: map_update_elem, retcode: -7\n"
		   "BEGIN { @x++; }\n        ~~~~\n");
	session.out.no_warnings = true;
	session.out.sink->report(&session.out, "runtime_error", at, &diag, "not shown");
	session.out.sink->helper_error(&session.out, at, &diag, "not shown", "map_update_elem", -7);
	session.out.sink->report(&session.out, "errorf", at, NULL, "shown");
	CHECK_TEXT(written_err(), "ERROR: shown\n");
	session.out.sink = sink_find("json");
	session.out.sink->report(&session.out, "runtime_error", at, &diag, "not shown");
	session.out.sink->helper_error(&session.out, at, &diag, "not shown", "map_update_elem", -7);
	CHECK_TEXT(written(), "");
	session_close();
}

struct arg {
	const struct type *type;
	const void *data;
	u32 var_len; /* not 0: sent in the tail, so many bytes */
};

static void make_record(const char *fmt, const struct arg *args, u32 cnt, struct rec *rec, struct sbuf *data)
{
	const char *why;
	u32 at, off = sizeof(struct rec_head);

	*rec = (struct rec){ .fields = arena_alloc(&arena, cnt * sizeof(*rec->fields)), .field_cnt = cnt };
	rec->fmt = fmt_parse(&arena, fmt, strlen(fmt), &why, &at);
	CHECK(rec->fmt);
	sbuf_reset(data);
	sbuf_fill(data, 0, off);
	for (u32 i = 0; i < cnt; i++) {
		rec->fields[i] = (struct rec_field){ args[i].type, (u32)data->len, args[i].var_len != 0 };
		if (args[i].var_len)
			sbuf_add(data, &args[i].var_len, 4);
		else
			sbuf_add(data, args[i].data, args[i].type->size);
	}
	rec->fixed_sz = (u32)data->len;
	for (u32 i = 0; i < cnt; i++)
		sbuf_add(data, args[i].data, args[i].var_len);
}

static const char *format_of(const char *fmt, const struct arg *args, u32 cnt)
{
	static struct sbuf out, data;
	struct rec rec;

	make_record(fmt, args, cnt, &rec, &data);
	sbuf_reset(&out);
	session_format(&session, &rec, (u8 *)data.s, (u32)data.len, &out);
	return sbuf_str(&out);
}

static void test_printf_numbers(void)
{
	static const char *const specs[] = { "%d",   "%i",     "%u",      "%x",    "%X",  "%o",    "%5d",    "%-5d|",
					     "%05d", "%+d",    "%-+8d|",  "%+08d", "%#x", "%#X",   "%#o",    "%#010x",
					     "%10x", "%-10x|", "%-#10x|", "%012u", "%3o", "%#12o", "%-08d|", "%1d" };
	static const char *const lengths[] = { "", "h", "hh", "l", "ll", "j", "z" };
	static const s64 values[] = {
		0, 1, -1, 42, -42, 255, 65535, 1ll << 31, (1ll << 31) - 1, 1ll << 40, INT64_MAX, INT64_MIN, 0x1234567890abcdef
	};
	char spec[32], want[128];

	for (u32 s = 0; s < ARRAY_CNT(specs); s++)
		for (u32 l = 0; l < ARRAY_CNT(lengths); l++)
			for (u32 v = 0; v < ARRAY_CNT(values); v++) {
				size_t at = strcspn(specs[s], "diuxXo");

				snprintf(spec, sizeof(spec), "%.*s%s%s", (int)at, specs[s], lengths[l], specs[s] + at);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
				if (l < 3) /* char and short travel as int */
					snprintf(want, sizeof(want), spec, (int)values[v]);
				else
					snprintf(want, sizeof(want), spec, (long)values[v]);
#pragma GCC diagnostic pop
				CHECK_TEXT(format_of(spec, &(struct arg){ &type_s64, &values[v], 0 }, 1), want);
			}
	CHECK_TEXT(format_of("%d", &(struct arg){ &type_s8, &(s8){ -1 }, 0 }, 1), "-1");
	CHECK_TEXT(format_of("%u", &(struct arg){ &type_s8, &(s8){ -1 }, 0 }, 1), "4294967295");
	CHECK_TEXT(format_of("%d", &(struct arg){ &type_u8, &(u8){ 255 }, 0 }, 1), "255");
	CHECK_TEXT(format_of("%llu", &(struct arg){ &type_u32, &(u32){ -1u }, 0 }, 1), "4294967295");
	CHECK_TEXT(format_of("%d %s", (struct arg[]){ { &type_bool, &(u8){ 1 }, 0 }, { &type_bool, &(u8){ 1 }, 0 } }, 2),
		   "1 true");
	CHECK_TEXT(format_of("%.3d", &(struct arg){ &type_s32, &(s32){ 5 }, 0 }, 1), "5"); /* no precision for numbers */
	CHECK_TEXT(format_of("%p %p %12p %-8p|",
			     (struct arg[]){ { &type_u64, &(u64){ 0 }, 0 },
					     { &type_u64, &(u64){ 0xffff8000 }, 0 },
					     { &type_u64, &(u64){ 0xabc }, 0 },
					     { &type_u64, &(u64){ 0xabc }, 0 } },
			     4),
		   "0 0xffff8000        0xabc 0xabc   |");
}

static void test_printf_text(void)
{
	struct {
		u32 len;
		u8 b[4];
	} buf = { 4, { 'a', 'b', 1, 0xfe } };
	const struct type *s8 = type_string(&arena, 8), *bt = type_buffer(&arena, 4);
	const struct type *pair = type_tuple(&arena, (const struct type *[]){ &type_s32, &type_s32 }, NULL, 2);
	struct enum_const consts[] = { { "RED", 3 } };
	struct type color = { .kind = T_ENUM, .size = 4, .align = 4, .name = "color", .consts = consts, .const_cnt = 1 };
	static struct sbuf data;
	struct rec rec;
	const u8 *bytes;
	u32 cnt;
	u64 v;

	CHECK_TEXT(format_of("plain 100%%\n", NULL, 0), "plain 100%\n");
	CHECK_TEXT(format_of("[%s|%5s|%-5s|%.2s|%6.2s|%-6.2s]",
			     (struct arg[]){ { s8, "abc\0\0\0\0", 0 },
					     { s8, "ab\0\0\0\0\0", 0 },
					     { s8, "ab\0\0\0\0\0", 0 },
					     { s8, "abc\0\0\0\0", 0 },
					     { s8, "abc\0\0\0\0", 0 },
					     { s8, "abc\0\0\0\0", 0 } },
			     6),
		   "[abc|   ab|ab   |ab|    ab|ab    ]");
	CHECK_TEXT(format_of("%s", &(struct arg){ s8, "abcdefgh", 0 }, 1), "abcdefgh..");
	CHECK_TEXT(format_of("%s", &(struct arg){ s8, "abcdefgh", 8 }, 1), "abcdefgh..");
	CHECK_TEXT(format_of("%s", &(struct arg){ s8, "abc", 4 }, 1), "abc");
	CHECK_TEXT(format_of("%s", &(struct arg){ s8, "abc", 3 }, 1), "abc"); /* no NUL sent, and not cut */
	CHECK_TEXT(format_of("%c%3c%-3c|",
			     (struct arg[]){ { &type_s64, &(s64){ 'A' }, 0 }, { &type_u8, "B", 0 }, { &type_u8, "C", 0 } }, 3),
		   "A  BC  |");
	CHECK_TEXT(format_of("%r|%rx|%rh|%12r|",
			     (struct arg[]){ { bt, &buf, 0 }, { bt, &buf, 0 }, { bt, &buf, 8 }, { bt, &buf, 0 } }, 4),
		   "ab\\x01\\xfe|\\x61\\x62\\x01\\xfe|61 62 01 fe|  ab\\x01\\xfe|");
	CHECK_TEXT(format_of("%s %s %8s %d",
			     (struct arg[]){ { &type_s64, &(s64){ -1 }, 0 },
					     { pair, (s32[]){ 1, 2 }, 0 },
					     { &color, &(u32){ 3 }, 0 },
					     { &color, &(u32){ 3 }, 0 } },
			     4),
		   "-1 (1, 2)      RED 3");
	CHECK_TEXT(format_of("%s %d %s %d",
			     (struct arg[]){ { s8, "one", 4 },
					     { &type_s32, &(s32){ 1 }, 0 },
					     { s8, "three\0", 6 },
					     { &type_s32, &(s32){ 3 }, 0 } },
			     4),
		   "one 1 three 3");

	make_record("%s%d%s", (struct arg[]){ { s8, "one", 4 }, { &type_s32, &(s32){ -9 }, 0 }, { s8, "three\0", 6 } }, 3, &rec,
		    &data);
	CHECK(session_field(&rec, (u8 *)data.s, data.len, 0, &bytes, &cnt) && cnt == 4 && str_eq((char *)bytes, "one"));
	CHECK(session_field(&rec, (u8 *)data.s, data.len, 2, &bytes, &cnt) && cnt == 6 && str_eq((char *)bytes, "three"));
	CHECK(session_field_int(&rec, (u8 *)data.s, data.len, 1, &v) && (s64)v == -9);
	CHECK(!session_field(&rec, (u8 *)data.s, data.len, 3, &bytes, &cnt));
	CHECK(!session_field(&rec, (u8 *)data.s, data.len - 1, 2, &bytes, &cnt)); /* its tail is cut */
	CHECK(session_field(&rec, (u8 *)data.s, data.len - 1, 0, &bytes, &cnt));
	for (u32 len = 0; len < data.len; len++) /* never reads past the end: the sanitizer watches */
		for (u32 i = 0; i < 3; i++)
			session_field(&rec, (u8 *)data.s, len, i, &bytes, &cnt);
	memset(data.s + rec.fields[0].off, 0xff, 4); /* a length that cannot be */
	CHECK(!session_field(&rec, (u8 *)data.s, data.len, 0, &bytes, &cnt));
	CHECK(!session_field(&rec, (u8 *)data.s, data.len, 2, &bytes, &cnt));
	CHECK_TEXT((session_format(&session, &rec, (u8 *)data.s, 8, &session.text), session.text.s), "!{%s}!{%d}!{%s}");
	make_record("%s", &(struct arg){ s8, "ab", 2 }, 1, &rec, &data);
	session_print_value(&session, &rec, (u8 *)data.s, data.len, 0);
	CHECK_TEXT(written(), "ab\n");
}

int main(void)
{
	world_init();
	naming.ksym = ksym;
	naming.usym = usym;
	test_scalars();
	test_strings();
	test_compounds();
	test_json_keys();
	test_timestamps();
	test_buckets();
	test_aggregations();
	test_series();
	test_sinks();
	session_open(NULL, "text");
	test_printf_numbers();
	test_printf_text();
	session_close();
	return world_end();
}
