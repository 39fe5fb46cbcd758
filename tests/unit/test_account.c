/* SPDX-License-Identifier: GPL-2.0-only */
/* The closing account (out/account.h) as text and JSON. */
#include "out_check.h"

static struct account account;
static char *out_text, *err_text;

/* Shows the account; the texts are valid until the next call. */
static void show(const char *format, bool no_warnings)
{
	size_t out_len, err_len;
	struct out o = { .sink = sink_find(format), .no_warnings = no_warnings };

	free(out_text);
	free(err_text);
	o.file = open_memstream(&out_text, &out_len);
	o.err = open_memstream(&err_text, &err_len);
	account_show(&account, &o, &diag);
	fclose(o.file);
	fclose(o.err);
	sbuf_release(&o.buf);
}

static void empty(void)
{
	account_release(&account);
	account = (struct account){};
}

static void test_nothing(void)
{
	account_add(&account, ACCOUNT_LOST_EVENTS, NULL, NULL, NULL, 0);
	CHECK(account_is_empty(&account));
	show("text", false);
	CHECK_TEXT(out_text, "");
	CHECK_TEXT(err_text, "");
	show("json", false);
	CHECK_TEXT(out_text, "");
}

static void test_numbers(void)
{
	struct span at = { 0, 8, 10, 0 };

	account_add(&account, ACCOUNT_LOST_EVENTS, NULL, NULL, NULL, 5);
	account_add(&account, ACCOUNT_STACKS, NULL, NULL, NULL, 1);
	account_add(&account, ACCOUNT_MAP_FULL, &at, "@x", "raise it", ACCOUNT_SOME);
	account_add(&account, ACCOUNT_LOST_EVENTS, NULL, NULL, NULL, 6);
	show("text", false);
	CHECK_TEXT(out_text, "");
	/* In the order of the table, equal ones added up, with or without a number. */
	CHECK_TEXT(err_text,
		   "stdin:1:9-11: WARNING: map @x was full: updates were lost; raise it\n"
		   "BEGIN { @x++; }\n"
		   "        ~~\n"
		   "WARNING: 1 stack could not be read by the kernel and was counted as empty\n"
		   "WARNING: Total lost event count: 11; the event buffer was full: raise perf_rb_pages\n");
	show("json", false);
	CHECK(json_valid(out_text));
	CHECK_TEXT(
		out_text,
		"{\"type\": \"losses\", \"data\": [{\"kind\": \"full_maps\", \"subject\": \"@x\", \"reason\": \"raise it\", \"msg\": "
		"\"map @x was full: updates were lost; raise it\", \"filename\": \"stdin\", \"line\": 1, \"col\": 9}, "
		"{\"kind\": \"failed_stacks\", \"count\": 1, \"msg\": \"1 stack could not be read by the kernel and was counted as empty\"}, "
		"{\"kind\": \"lost_events\", \"count\": 11, \"msg\": "
		"\"Total lost event count: 11; the event buffer was full: raise perf_rb_pages\"}]}\n");
	empty();
}

/* What the user does not want to see, or has seen, is there nevertheless. */
static void test_silence(void)
{
	account_add(&account, ACCOUNT_READS, NULL, "probe_read", "EFAULT", 2);
	show("text", true);
	CHECK_TEXT(err_text, "");
	show("text", false);
	CHECK_TEXT(err_text, "WARNING: 2 memory reads failed, and the values were taken as zero or empty: EFAULT\n");
	account_told(&account, ACCOUNT_READS);
	show("text", false);
	CHECK_TEXT(err_text, "");
	show("json", true);
	CHECK(strstr(out_text, "\"failed_reads\", \"count\": 2"));
	CHECK(!account_is_empty(&account));
	empty();
}

/* A wildcard of thousands of probes must not flood the terminal. */
static void test_many(void)
{
	char name[16];
	u32 lines = 0;

	for (u32 i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "kprobe:f%u", i);
		account_add(&account, ACCOUNT_SKIPPED, NULL, name, NULL, 2);
	}
	show("text", false);
	for (const char *s = err_text; *s; s++)
		lines += *s == '\n';
	CHECK(lines == 11);
	CHECK(strstr(err_text, "the kernel skipped 2 hits of kprobe:f9: "));
	CHECK(!strstr(err_text, "kprobe:f10"));
	CHECK(strstr(err_text, "\nWARNING: 490 more messages like this, for 980 in all; -f json lists them\n"));
	show("json", false);
	CHECK(json_valid(out_text));
	CHECK(strstr(out_text, "kprobe:f499"));
	empty();
}

/* Every row is complete: what its text stands for can be put there. */
static void test_rows(void)
{
	for (u32 i = 0; i < ACCOUNT_KIND_CNT; i++) {
		struct account_row r = { .kind = i, .cnt = 2 };
		struct sbuf text = {};

		account_text(&r, &text);
		CHECK(text.len && !strpbrk(sbuf_str(&text), "{}"));
		CHECK(account_kind_name(i));
		for (u32 k = 0; k < i; k++)
			CHECK(!str_eq(account_kind_name(i), account_kind_name(k)));
		sbuf_release(&text);
	}
}

int main(void)
{
	world_init();
	test_nothing();
	test_numbers();
	test_silence();
	test_many();
	test_rows();
	free(out_text);
	free(err_text);
	return world_end();
}
