/* SPDX-License-Identifier: GPL-2.0-only */
/* What turns addresses and ids into text. A run fills it in; values are shown by it, whoever shows them. */
#pragma once

#include "base/sbuf.h"
#include "types/type.h"

/* What showing values had to leave out since somebody looked. */
struct shown {
	u64 cut;         /* strings … */
	u32 cut_sz;      /* … and the bytes that the last of them had */
	u64 nameless[2]; /* frames of stacks: of the kernel, of programs */
};

/* Every pointer may be NULL: numbers are then shown. */
struct naming {
	/* A value of type site, which is not 0: NULL if no site has this number. */
	const char *(*site)(const void *sites, u64 id, enum site_show show);
	const void *sites;
	bool escapes;              /* on a terminal: control characters in strings and names are made visible (base/escape.h) */
	const char *trunc_trailer; /* shown after a string that was cut; NULL: ".." */
	bool (*ksym)(void *self, u64 addr, struct sbuf *out); /* name, without offset */
	bool (*usym)(void *self, u64 addr, u32 pid, struct sbuf *out);
	void (*username)(void *self, u32 uid, struct sbuf *out); /* nothing if nobody has it */
	/* "hierarchy:path", comma-separated; pattern: only such hierarchies, NULL: all */
	void (*cgroup_path)(void *self, u64 id, const char *pattern, struct sbuf *out);
	/* A frame of a stack: name+offset, of a user frame in want_module also " (file)". at is where the name is looked up:
	 * addr, or the byte before it when addr is where a call returns to, which may be the start of the next function. */
	bool (*kframe)(void *self, u64 addr, u64 at, struct sbuf *out);
	bool (*khidden)(void *self, u64 addr); /* a frame of tracing itself, which is left away at the top of a stack */
	bool (*uframe)(void *self, u32 pid, u64 addr, u64 at, bool want_module, struct sbuf *out);
	void *self;
	struct shown *shown; /* counts; not for numbers that are shown because a function is NULL */
	s64 boot_to_real_ns; /* add to a boot-clock stamp to get wall-clock time */
	s64 tai_ahead_ns;    /* TAI minus wall-clock time: some dozen seconds, or 0 where nobody told the kernel */
};

/* How a value is shown, and where. */
struct show {
	const struct naming *n;
	struct sbuf *out;
	u64 div;           /* divides integers, see print(); 0 or 1: not */
	bool compact;      /* text: without spaces between its parts */
	const char *marks; /* text: each part stands for its bytes alone, and has none of these characters; NULL: it need not */
	u64 extent;        /* the largest agg->extent() of the values that are shown together; 0: this one is shown by itself */
};
