/* Output formats: one sink each.
 *
 * To add one: write out/x.c ending in its `const struct sink`, and name it in out/all.c. A sink turns typed bytes into text;
 * it knows nothing of rings, maps in the kernel or programs.
 */
#pragma once

#include <stdio.h>

#include "base/sbuf.h"
#include "lang/compile.h"
#include "lang/type.h"

/* What turns addresses and ids into text. Every pointer may be NULL: numbers are then shown. */
struct naming {
	const struct compile *compile;                                           /* sites, config */
	bool (*ksym)(void *self, u64 addr, struct sbuf *out);                     /* name, without offset */
	bool (*usym)(void *self, u64 addr, u32 pid, struct sbuf *out);
	void (*username)(void *self, u32 uid, struct sbuf *out);                  /* nothing if nobody has it */
	/* "hierarchy:path", comma-separated; pattern: only such hierarchies, NULL: all */
	void (*cgroup_path)(void *self, u64 id, const char *pattern, struct sbuf *out);
	/* A frame of a stack: name+offset, of a user frame in want_module also " (file)". at is where the name is looked up: addr, or the byte
	 * before it when addr is where a call returns to, which may be the start of the next function. */
	bool (*kframe)(void *self, u64 addr, u64 at, struct sbuf *out);
	bool (*khidden)(void *self, u64 addr); /* a frame of tracing itself, which is left away at the top of a stack */
	bool (*uframe)(void *self, u32 pid, u64 addr, u64 at, bool want_module, struct sbuf *out);
	void *self;
	s64 boot_to_real_ns; /* add to a boot-clock stamp to get wall-clock time */
	s64 tai_ahead_ns;    /* TAI minus wall-clock time: some dozen seconds, or 0 where nobody told the kernel */
};

/* A map as it is printed: entries in order, aggregations summed up over the CPUs (see run/agg.h):
 * count, sum, min, max: s64/u64; avg, stats: u64 total, count; hist, lhist: u64 buckets; others: their bytes. */
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
	FILE *file;         /* stdout, or -o */
	FILE *err;          /* stderr */
	struct naming naming;
	struct sbuf buf;    /* scratch of the sink */
	bool colour;        /* messages on err are coloured */
	bool no_warnings;   /* report() shows errors only */
	u32 error_cnt;      /* errors that report() was given: errorf, runtime_error */
	int write_err;      /* errno of the first write that failed; nothing is written after it */
};

/* --test and --bench: what they found so far. */
struct suite_result {
	const char *name;
	enum { SUITE_WAITS, SUITE_PASSED, SUITE_FAILED, SUITE_SKIPPED } state;
	u64 ns;        /* of a test; of one run of a benchmark */
	u32 times;     /* runs of a benchmark */
	char *output;  /* what it printed */
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
};

const struct sink *sink_find(const char *name); /* NULL if none */
const struct sink *sink_at(u32 i);               /* NULL past the last */

/* Everything that goes to o->file goes through these two: they keep the first error in write_err. */
void out_write(struct out *o, const void *p, size_t n);
void out_flush(struct out *o);
/* A message in the compiler's shape on o->err, after what was written to o->file so far. at or d may be NULL: no place is
 * shown then. */
void out_message(struct out *o, enum diag_level level, const struct diag *d, const struct span *at, const char *msg);

/* The text form of a value, as print(), %s and the text sink show it. Aggregations: summed up, as in struct map_entry. More in
 * out/value.h. */
void value_text(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out);
/* Its JSON form. */
void value_json(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out);
void json_string(struct sbuf *out, const char *s, size_t len);
