/* SPDX-License-Identifier: GPL-2.0-only */
/* Probe types: one row each.
 *
 * To add one: write probe/x.c ending in its `const struct provider`, and name it in probe/all.c. The row's spec, doc and example
 * feed the reference, --help and -l. Nothing else knows a provider by name.
 *
 * The life of an attach point: parse() looks at the parts as written and reports what is malformed; expand() finds what on the
 * target matches and adds sites (also serves -l); the driver groups the sites that can share a program into units: two sites
 * share if share_key() gives the same number for both; args() gives the struct behind `args` of a unit; the lower hooks generate
 * code for what the context offers; attr() says how the program is loaded; attach() attaches all sites of a unit.
 *
 * All but attach() ask struct target, never the running kernel: the script may be compiled for another machine.
 */
#pragma once

#include "lang/compile.h"
#include "run/attach.h"

struct check;
struct lower;
struct opnd;
struct val;

#define BODY_ARGN_MAX 64

/* What a probe's body asks for, found before anything has a type: calls of functions whose rows have the flag. */
struct body_uses {
	bool args; /* FN_ARGS */
	bool task; /* FN_TASK */
	u64 argn;  /* bit n: argN, up to BODY_ARGN_MAX */
};

/* Receives what expand() finds. name: what `probe` says and -l prints. Returns the new site for the provider to fill in, or NULL
 * when only listing (the sink then has printed or counted it). */
struct site_sink {
	struct site *(*add)(struct site_sink *s, const char *name);
	const struct target *target; /* whom to ask, also when listing */
	struct compile *c;           /* NULL when listing */
	struct arena *arena;         /* strings of sites live here */
	const struct attach_point *ap;
	u32 found;
	const char *hint; /* expand() may say here why it found nothing, or what was meant; NULL: nothing to say */
	const char *why;  /* the same, as the reason in place of "No matches" (a missing file, …) */
	bool cannot_tell; /* nothing was found because this system does not have such probes at all */
};

struct provider {
	const char *name;
	const char *alias;    /* or NULL */
	const char *old_name; /* as older scripts have it, or NULL */
	const char *spec;     /* "kprobe[:MODULE]:FUNCTION[+OFFSET]" */
	const char *doc;
	const char *example;
	u32 flags;
	u32 needs;          /* bits of enum need (image/need.h), beside NEED_PROGRAMS */
	u64 features;       /* bits of enum kern_feature without which there are no such probes */
	enum addr_space as; /* of pointers that arguments hold */
	/* Reports malformed parts, by looking at them alone. */
	bool (*parse)(struct diag *d, const struct attach_point *ap);
	/* Adds a site per match; the parts may hold wildcards. Returns 0, or -errno when the system could not be asked. Finding
	 * nothing is not an error here: the driver looks at sink->found and says so, with sink->why and sink->hint where
	 * expand() set them. What is wrong with the attach point itself, now that the system was asked, it reports in d (NULL
	 * when listing). */
	int (*expand)(struct site_sink *sink, const struct attach_point *ap, struct diag *d);
	/* Sites with equal keys can share a program. NULL: all can. */
	u64 (*share_key)(struct compile *c, const struct site *s, const struct body_uses *uses);
	/* Called when a unit has all its sites: chooses how it is attached (unit.variant). May add probes to the script that it
	 * needs besides (probe.is_made). NULL: there is only one way. */
	void (*plan)(struct compile *c, struct unit *u, const struct body_uses *uses);
	/* The type of *args; NULL and an error in diag if there is none. */
	const struct type *(*args)(struct compile *c, const struct unit *u);
	/* Reports an argN that this unit does not have, and may give it another type than u64. False, or NULL: it is a function
	 * of C, whose arguments travel in registers. */
	bool (*check_argn)(struct check *k, struct expr *e, u32 n);
	/* The type of retval; NULL: there is none, which args() or this hook reports. No hook: uint64. */
	const struct type *(*retval)(struct compile *c, const struct unit *u);
	/* Why args has no such member although the function has such a parameter; NULL: it has none. No hook: nothing can be
	 * said. */
	const char *(*missing_arg)(struct compile *c, const struct unit *u, const char *name);
	/* Types by name besides the script's and the kernel's, which come after them. NULL: none. No hook: the same. */
	struct type_source *(*types)(struct compile *c, const struct unit *u);
	/* Type of ctx's target, or NULL. */
	const char *ctx_struct;
	/* The same where it depends on the attach point. */
	const struct type *(*ctx_type)(struct compile *c, const struct unit *u);
	/* Code at the program's start, e.g. a filter; may end the program by lower_leave(). */
	void (*lower_entry)(struct lower *l);
	struct val (*lower_argn)(struct lower *l, u32 n);
	struct val (*lower_retval)(struct lower *l);
	/* The value of member m of args (off: its offset from the start). */
	struct val (*lower_arg_member)(struct lower *l, const struct member *m, u32 off);
	/* The same of *ctx, where that is typed; NULL: ctx is a pointer like others. */
	struct val (*lower_ctx_member)(struct lower *l, const struct member *m, u32 off);
	struct val (*lower_reg)(struct lower *l, u32 reg_off); /* offset in struct pt_regs */
	u32 (*lower_seq)(struct lower *l);                     /* unit.writes_seq: the struct seq_file */
	struct opnd (*lower_site)(struct lower *l);            /* NULL: bpf_get_attach_cookie(ctx) */
	/* Frames that kstack has to leave out at the top because they belong to tracing itself. NULL: none. */
	u32 (*stack_skip)(const struct unit *u);
	/* All sites are first instructions of user functions: there is no frame yet, and frame pointers do not lead to the
	 * caller. NULL: no. */
	bool (*at_entry)(const struct compile *c, const struct unit *u);
	/* How the unit's program is loaded. */
	void (*attr)(struct compile *c, const struct unit *u, struct prog_attr *attr);
	/* Attaches the loaded program to all its sites; adds descriptors to ctx->fds. Returns the number of
	 * sites attached or -errno; what fails is reported in diag with the site's name (severity by missing_probes). */
	int (*attach)(struct attach_ctx *ctx, const struct image_prog *p, int prog_fd);
	/* -lv: parameters, a line each, indented by 4 spaces; NULL: none. */
	void (*list_params)(const struct target *t, const char *site_name, struct sbuf *out);
};

/* Its program does not run often, and goes through its body once: time is no matter there. */
static inline bool unit_is_rare(const struct unit *u)
{
	return u->provider->flags & PROV_RARE && !u->has_loop;
}

/* The number of a site as a value of `probe` or `func`: 1 + the first site that shows the same, as sites that differ only in how
 * they came about (a function probed twice, a name given to a wildcard) are one for the script. 0 is the empty name of what was
 * never set. */
u32 site_value(struct compile *c, u32 site, enum site_show show);

/* By name (in any case) or alias (as it is spelled); NULL if none. */
const struct provider *provider_find(const char *word);
const struct provider *provider_at(u32 i); /* NULL past the last */

/* -l PATTERN (NULL: all): prints each match on the target; with params when verbose. "struct NAME", "union NAME" and "enum NAME"
 * are types, with their definitions when verbose. Returns the number of matches or -errno. */
int probe_list(const char *pattern, bool verbose, const struct target *t, struct diag *d, struct sbuf *out);
