/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of out/ and run/ share: checks, a small world (an image with two sites), a JSON validator, and
 * a session that writes to memory. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "run/session.h"
#include "types/agg.h"

#define CHECK_TEXT(got, want) check_text(__FILE__, __LINE__, got, want)

static inline void check_text(const char *file, int line, const char *got, const char *want)
{
	if (str_eq(got, want)) {
		passed++;
		return;
	}
	failed++;
	printf("%s:%d:\n--- wanted\n%s\n--- got\n%s\n---\n", file, line, want, got);
}

static struct arena arena;
static struct diag diag;
static struct image image;
static struct naming naming;

#define CPU_SZ 1024
#define SHARED_SZ 256

static inline void world_init(void)
{
	static const char script[] = "BEGIN { @x++; }";
	static struct site sites[8] = { { .name = "begin" }, { .name = "kprobe:vfs_read", .func = "vfs_read" } };

	setenv("TZ", "UTC", 1);
	arena_init(&arena);
	diag_init(&diag, &arena);
	diag_add_source(&diag, "stdin", script, sizeof(script) - 1);
	image = (struct image){ .home.ncpus = 3, .data = { SHARED_SZ, CPU_SZ, 4, SHARED_SZ + 4 * CPU_SZ } };
	image.config.str_trunc_trailer = "..";
	image.sites.at = sites, image.sites.cnt = 2;
	naming = (struct naming){};
	session_naming(&image, &naming);
}

/* The type of an aggregation without parameters. */
static inline const struct type *agg_type(const char *name, bool is_signed)
{
	return &agg_find(name)->types[is_signed];
}

static inline int world_end(void)
{
	arena_release(&arena);
	return check_end();
}

/* A small JSON checker: RFC 8259, one value, UTF-8 checked for bytes that cannot occur. */
static inline const char *json_skip(const char *s);

static inline const char *json_skip_string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if ((u8)*s < 0x20 || (u8)*s == 0xc0 || (u8)*s == 0xc1 || (u8)*s > 0xf4)
			return NULL;
		if (*s != '\\')
			continue;
		if (*++s == 'u') {
			for (int i = 0; i < 4; i++)
				if (!*++s || !strchr("0123456789abcdefABCDEF", *s))
					return NULL;
		} else if (!*s || !strchr("\"\\/bfnrt", *s)) {
			return NULL;
		}
	}
	return s + 1;
}

static inline const char *json_skip_list(const char *s, char end, bool has_names)
{
	if (*s == end)
		return s + 1;
	for (;; s++) {
		while (*s == ' ')
			s++;
		if (has_names) {
			s = json_skip_string(s);
			if (!s || *s++ != ':')
				return NULL;
		}
		s = json_skip(s);
		if (!s || (*s != ',' && *s != end))
			return NULL;
		if (*s == end)
			return s + 1;
	}
}

static inline const char *json_skip(const char *s)
{
	static const char *const words[] = { "true", "false", "null" };
	char *end;

	while (*s == ' ')
		s++;
	if (*s == '{' || *s == '[')
		return json_skip_list(s + 1, *s == '{' ? '}' : ']', *s == '{');
	if (*s == '"')
		return json_skip_string(s);
	for (u32 i = 0; i < ARRAY_CNT(words); i++)
		if (str_starts(s, words[i]))
			return s + strlen(words[i]);
	if (*s != '-' && (*s < '0' || *s > '9'))
		return NULL;
	if (s[*s == '-'] == '0' && s[1 + (*s == '-')] >= '0' && s[1 + (*s == '-')] <= '9')
		return NULL;
	strtod(s, &end);
	return end > s ? end : NULL;
}

/* Every line is one valid value. */
static inline bool json_valid(const char *s)
{
	while (s && *s) {
		s = json_skip(s);
		if (s && *s == '\n')
			s++;
		else if (s && *s)
			return false;
	}
	return s != NULL;
}

/* What a session writes goes to memory. */
static struct session session;
static char *out_text, *err_text;
static size_t out_len, err_len, out_seen, err_seen;

static inline void session_open(struct object *obj, const char *format)
{
	out_seen = err_seen = 0;
	session = (struct session){ .image = &image, .diag = &diag, .obj = obj };
	session.out = (struct out){ .sink = sink_find(format),
				    .naming = naming,
				    .file = open_memstream(&out_text, &out_len),
				    .err = open_memstream(&err_text, &err_len) };
}

/* Text since the last call. */
static inline const char *since(FILE *file, char **text, size_t *len, size_t *seen, char **last)
{
	fflush(file);
	free(*last);
	*last = xzalloc(*len - *seen + 1);
	memcpy(*last, *text + *seen, *len - *seen);
	*seen = *len;
	return *last;
}

static inline const char *written(void)
{
	static char *last;

	return since(session.out.file, &out_text, &out_len, &out_seen, &last);
}

static inline const char *written_err(void)
{
	static char *last;

	return since(session.out.err, &err_text, &err_len, &err_seen, &last);
}

static inline void session_close(void)
{
	fclose(session.out.file);
	fclose(session.out.err);
	free(out_text);
	free(err_text);
	out_text = err_text = NULL;
	sbuf_release(&session.out.buf);
	sbuf_release(&session.text);
	sbuf_release(&session.whole);
}
