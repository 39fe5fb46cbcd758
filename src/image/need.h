/* SPDX-License-Identifier: GPL-2.0-only */
/* What a script needs of the system to run: the vocabulary of the rows that need it, of --needs and of run/privilege.c. */
#pragma once

#include "base/base.h"

enum need {
#define NEED_ROW(id, start, kept, unless, doc) NEED_##id,
#include "image/need.def"
#undef NEED_ROW
	NEED_CNT
};

#define NEED_BIT(id) (1u << NEED_##id)

/* The numbers of capabilities are fixed; <linux/capability.h> of older systems lacks the last three. */
enum capability {
	CAPABILITY_DAC_OVERRIDE = 1,
	CAPABILITY_DAC_READ_SEARCH = 2,
	CAPABILITY_KILL = 5,
	CAPABILITY_SETGID = 6,
	CAPABILITY_SETUID = 7,
	CAPABILITY_SYS_PTRACE = 19,
	CAPABILITY_SYS_ADMIN = 21,
	CAPABILITY_SYSLOG = 34,
	CAPABILITY_PERFMON = 38,
	CAPABILITY_BPF = 39,
	CAPABILITY_CHECKPOINT_RESTORE = 40,
};

#define CAP(name) (1ull << CAPABILITY_##name)
#define CAPS_ALL (~0ull)

struct need_info {
	u64 start, kept, unless;
	const char *doc;
};
extern const struct need_info need_table[NEED_CNT];

/* Capabilities that are needed until everything is attached, and those that are kept while tracing, for all bits of needs. */
u64 needs_start(u32 needs);
u64 needs_kept(u32 needs);

struct image;
/* The needs of a compiled script, by the rows that it uses. */
u32 image_needs(const struct image *img);
/* Features that its programs and maps were compiled for: bits of enum kern_feature. */
u64 image_features(const struct image *img);

/* Takes one out of a set, and returns its name, "CAP_BPF". NULL: none of those above is in it. */
const char *capability_name(u64 *caps);
/* Appends the names of a set, "CAP_BPF, CAP_PERFMON". */
struct sbuf;
void capability_names(u64 caps, const char *between, struct sbuf *out);
