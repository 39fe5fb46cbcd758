/* SPDX-License-Identifier: GPL-2.0-only */
/* Diagnostics: what is wrong with a script, where, and what to do about it.
 *
 * A span names bytes of one source. Errors and warnings are collected, in the order they were found, and printed together by
 * diag_print() in bpftrace's shape:
 *
 *     open.bt:3:5-16: ERROR: @start has a string key here
 *         @start["a"] = nsecs;
 *         ~~~~~~~~~~~
 *     HINT: first used with an integer key at line 2
 *
 * For an error in a macro's body or in an imported file, the places that led there follow: "expanded from", "imported from".
 *
 * Every error carries a tag, a row of base/error.def: it names the test case and the entry in the error index.
 */
#pragma once

#include "base/htab.h"
#include "base/sbuf.h"
#include "base/vec.h"

struct span {
	u32 src;        /* index into diag.sources */
	u32 begin, end; /* byte offsets, end exclusive */
	u32 via;        /* in an expanded macro body: 1 + index into diag.calls of the call that it replaced; else 0 */
};

struct source {
	const char *name; /* as printed: a path, or "stdin" for -e and - */
	const char *text;
	u32 len;
	bool is_imported;
	struct span from; /* … by this */
	/* diag_locate() continues from its last result: most lookups come in the order of the text. */
	u32 seen_begin, seen_lines; /* offset of a line, and the number of lines before it */
};

enum diag_tag {
#define ERROR_ROW(tag, summary) tag,
#include "base/error.def"
#undef ERROR_ROW
	DIAG_TAG_CNT
};

enum diag_level { DIAG_ERROR, DIAG_WARNING };

struct diag_msg {
	enum diag_level level;
	enum diag_tag tag;
	struct span span;
	bool has_span;
	const char *text;
	vec(const char *) hints;
};

struct diag {
	struct arena *arena;
	vec(struct source) sources;
	vec(struct diag_msg) msgs;
	struct htab known;      /* 1 + index into msgs */
	vec(struct span) calls; /* of macros */
	u32 error_cnt;
	bool muted; /* drops everything: for passes that run again until types are stable */
};

void diag_init(struct diag *d, struct arena *arena);
/* Both are copied. Returns the source's index. */
u32 diag_add_source(struct diag *d, const char *name, const char *text, u32 len);
/* Records a macro call. Returns span.via of its expanded body: messages about such a span show the call, too. */
u32 diag_add_call(struct diag *d, struct span at);

/* An identical message at the same place is kept once. */
void diag_error(struct diag *d, struct span at, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(4, 5);
void diag_warn(struct diag *d, struct span at, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* For errors that have no place in a script (a missing file, a missing privilege). */
void diag_error_nowhere(struct diag *d, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds advice to the message given last. */
void diag_hint(struct diag *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* 1-based line and column of a span's begin. */
void diag_locate(const struct diag *d, struct span at, u32 *line, u32 *col);
/* "file:line:col-col", as messages start. */
void diag_format_place(const struct diag *d, struct span at, struct sbuf *out);
/* Appends all messages of a level. */
enum diag_style { DIAG_PLAIN, DIAG_COLOUR = 1, DIAG_ESCAPE = 2 /* control characters are made visible: base/escape.h */ };
void diag_print(const struct diag *d, enum diag_level level, u32 style, struct sbuf *out);

static inline struct span span_join(struct span a, struct span b)
{
	a.end = b.end > a.end ? b.end : a.end;
	return a;
}

/* "E_UNKNOWN_FIELD" */
const char *diag_tag_name(enum diag_tag tag);

/* The name that a user may have meant ("did you mean"), or NULL: the nearest by edit distance, at most a third of the length,
 * without leading underscores and without everything after a dot; or a name that continues `name` by one word. */
const char *nearest_name(const char *name, const char *const *names, u32 cnt);
