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
 * Where something in a macro's body is wrong, or in a file that was imported, the places that led there follow: "expanded from", "imported
 * from".
 *
 * Every error carries a tag, a row of lang/error.def: it names the test case and the entry in the error index.
 */
#pragma once

#include "base/arena.h"
#include "base/sbuf.h"
#include "base/vec.h"

struct span {
	u32 src;        /* index into diag.sources */
	u32 begin, end; /* byte offsets, end exclusive */
	u32 via;        /* in the body of a macro: 1 + index into diag.calls of the call that it was put in place of; else 0 */
};

struct source {
	const char *name; /* as printed: a path, or "stdin" for -e and - */
	const char *text;
	u32 len;
	bool is_imported;
	struct span from; /* … by this */
	/* Where the last question about a place led: most come in the order of the text. */
	u32 seen_begin, seen_lines; /* offset of a line, and how many there are before it */
};

enum diag_tag {
#define ERROR_ROW(tag, summary) tag,
#include "lang/error.def"
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
	vec(struct span) calls; /* of macros */
	u32 error_cnt;
	bool muted; /* drops everything: for passes that run again until types are stable */
};

void diag_init(struct diag *d, struct arena *arena);
/* The text must outlive the diag. Returns the source's index. */
u32 diag_add_source(struct diag *d, const char *name, const char *text, u32 len);
/* A macro is called here: what its body's spans have in via. Messages about such a span show the call, too. */
u32 diag_add_call(struct diag *d, struct span at);

/* An identical message at the same place is kept once. */
void diag_error(struct diag *d, struct span at, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(4, 5);
void diag_warn(struct diag *d, struct span at, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* For what has no place in a script (a missing file, a missing privilege). */
void diag_error_nowhere(struct diag *d, enum diag_tag tag, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds advice to the message given last. */
void diag_hint(struct diag *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* 1-based line and column of a span's begin. */
void diag_locate(const struct diag *d, struct span at, u32 *line, u32 *col);
/* "file:line:col-col", as messages start. */
void diag_format_place(const struct diag *d, struct span at, struct sbuf *out);
/* Appends all messages of a level; colour switches escape codes on. */
void diag_print(const struct diag *d, enum diag_level level, bool colour, struct sbuf *out);

static inline struct span span_join(struct span a, struct span b)
{
	a.end = b.end > a.end ? b.end : a.end;
	return a;
}

/* "E_UNKNOWN_FIELD" */
const char *diag_tag_name(enum diag_tag tag);
const char *diag_tag_summary(enum diag_tag tag);

/* Of the cnt names, the one nearest to `name` (edit distance, at most a third of its length; underscores in front do not count, nor what is
 * behind a dot), or one that is `name` and a word more; or NULL: "did you mean". */
const char *nearest_name(const char *name, const char *const *names, u32 cnt);
