/* SPDX-License-Identifier: GPL-2.0-only */
/* Output formats: one sink each.
 *
 * To add one: write out/x.c ending in its `const struct sink`, and name it in out/all.c. A sink turns typed bytes into text;
 * it knows nothing of rings, maps in the kernel or programs.
 */
#pragma once

#include <stdio.h>

#include "base/diag.h"
#include "out/account.h"
#include "out/cost.h"
#include "types/naming.h"

/* A map as it is printed: entries in order, aggregations summed up over the CPUs (their totals, see types/agg.h). */
struct map_entry {
	const u8 *key; /* NULL in a map without key */
	const u8 *val;
};

struct map_view {
	const char *name;       /* "@x" */
	const struct type *key; /* NULL: no key */
	const struct type *val;
	struct map_entry *entries;
	u32 cnt;
	u64 div;         /* 0 or 1: none */
	bool value_only; /* print(@m[k]): the value of the one entry, without name and key */
};

struct out {
	const struct sink *sink;
	FILE *file; /* stdout, or -o */
	FILE *err;  /* stderr */
	struct naming naming;
	struct sbuf buf;                   /* scratch of the sink */
	bool colour;                       /* messages on err are coloured */
	bool is_terminal, err_is_terminal; /* file or err is one, and control characters of others must not reach it */
	bool no_warnings;                  /* report() shows errors only */
	u32 error_cnt;                     /* errors that report() was given: errorf, runtime_error */
	int write_err;                     /* errno of the first write that failed; nothing is written after it */
	struct sbuf *held;                 /* not NULL: output is kept there for now, see run/command.h */
};

/* --test and --bench: what they found so far. */
struct suite_result {
	const char *name;
	enum { SUITE_WAITS, SUITE_PASSED, SUITE_FAILED, SUITE_SKIPPED } state;
	u64 ns;       /* of a test; of one run of a benchmark */
	u32 times;    /* runs of a benchmark */
	char *output; /* what it printed */
	size_t output_len;
};

struct suite {
	bool is_bench;
	struct suite_result *results;
	u32 cnt, at; /* the one at hand */
};

enum suite_step { SUITE_BEGIN, SUITE_RUN, SUITE_DONE, SUITE_END };

struct sink {
	const char *name;
	const char *doc;
	void (*attached)(struct out *o, u32 probes);
	/* Finished text of printf, time, cat, join, syscall (system()): `kind` is that word. The last two end in a newline that
	 * belongs to the text format; JSON drops it. */
	void (*text)(struct out *o, const char *kind, const char *s, size_t len);
	void (*value)(struct out *o, const struct type *t, const u8 *data); /* print(value) */
	void (*map)(struct out *o, const struct map_view *v);
	/* print(@m[k]) of a hist or of an aggregation goes through map() with one entry and value_only */
	void (*lost)(struct out *o, u64 events);
	/* A run-time warning or error: place is "file:line:col-col", may be NULL. kind: "runtime_error", "helper_error",
	 * "errorf", "warnf" */
	void (*report)(struct out *o, const char *kind, struct span at, const struct diag *d, const char *msg);
	/* The kind "helper_error" with what the kernel's helper said. */
	void (*helper_error)(struct out *o, struct span at, const struct diag *d, const char *msg, const char *helper,
			     int retcode);
	/* Once, before the maps at the end. */
	void (*before_maps)(struct out *o);
	/* Before all tests or benchmarks, before and after each, after all. */
	void (*suite)(struct out *o, const struct suite *s, enum suite_step step);
	/* The closing account, if there is something in it. NULL: the messages on o->err are enough. */
	void (*account)(struct out *o, const struct account *a, const struct diag *d);
	/* --cost. NULL: a table on o->err. */
	void (*cost)(struct out *o, const struct cost_view *v, const struct diag *d);
};

const struct sink *sink_find(const char *name); /* NULL if none */
const struct sink *sink_at(u32 i);              /* NULL past the last */

/* Everything that goes to o->file goes through these two: they keep the first error in write_err. */
void out_write(struct out *o, const void *p, size_t n);
void out_flush(struct out *o);
/* A message in the compiler's shape on o->err, after what was written to o->file so far. at or d may be NULL: no place is
 * shown then. */
void out_message(struct out *o, enum diag_level level, const struct diag *d, const struct span *at, const char *msg);
/* The same with a message that the script has made, and whose control characters are its own. */
void out_own_message(struct out *o, enum diag_level level, const struct diag *d, const struct span *at, const char *msg);

/* The text form of a value, as print(), %s and the text sink show it. Aggregations: summed up, as in struct map_entry. More in
 * out/value.h. */
void value_text(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out);
/* Its JSON form. */
void value_json(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out);
