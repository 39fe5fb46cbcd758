/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine that a script is compiled for: everything that the compiler may know of it. machine_target() of kern/machine.h
 * describes this machine; tests describe a made-up one, so that what they compile does not depend on where they run. The
 * compiler, -l included, asks nothing else of the kernel; attaching does. */
#pragma once

#include "types/type.h"

/* A macro of a header, as text: the macros in it are replaced, its own parameters are not. */
struct header_macro {
	const char *text;
	bool is_function;
	const char **params;
	u32 param_cnt;
};

/* How a header is named: by its path, as "NAME" or as <NAME>. */
enum header_form { HEADER_PATH, HEADER_QUOTED, HEADER_SYSTEM };

/* C headers that a script includes. See c/headers.h. */
struct header_set {
	struct type_source
		src; /* types: of headers that the script's author has, of the kernel, of the system's headers, in this order */
	/* Takes a header on. False: there is none, and nothing stands for it. */
	bool (*add)(struct header_set *h, const char *name, enum header_form form);
	/* The value of an enumerator or macro: of the author's headers, or of the system's, which may have to be read for it. */
	bool (*constant)(struct header_set *h, const char *name, bool of_system, s64 *value);
	bool (*macro)(struct header_set *h, struct arena *arena, const char *name, struct header_macro *out);
	/* What was not understood in the file at that path: a message, or NULL. */
	const char *(*trouble)(struct header_set *h, const char *path);
	bool is_used;
};

/* A symbol of the kernel. Whoever gets one by a callback copies the names that it keeps. */
struct ksym {
	u64 addr; /* where the symbol starts; 0: hidden */
	const char *name;
	const char *module; /* NULL: the kernel itself */
};

/* type is the letter of nm. Returns false to stop. */
typedef bool (*ksym_fn)(void *arg, const struct ksym *sym, char type);

static inline bool ksym_is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* An event of a performance monitoring unit (PMU), as perf_event_open(2) wants it. */
struct pmu_event {
	u32 type;
	u64 config[3]; /* config, config1, config2 */
};

/* The questions about the kernel and the processor that the script will run on. Nothing is read before it is asked for.
 * kern_machine of kern/machine.h answers for this machine; a test can answer for one that exists only in its memory, and leave
 * out (NULL) what its scripts do not ask. Callbacks get names that are valid during the call. An answer of -errno means that the
 * machine could not be asked. */
struct machine {
	/* Whether it has a feature (enum kern_feature). The compiler asks target_feature(). */
	bool (*has)(u32 feature);
	/* Types of the kernel and its modules, as BTF: the functions of types/btf.h take them. NULL: it has none. */
	struct type_source *(*types)(void);
	/* The address of a symbol, 0 if unknown. NULL: no symbols. */
	u64 (*kaddr)(const char *name);
	/* All symbols. Returns 0 or -errno. */
	int (*each_symbol)(ksym_fn fn, void *arg);
	/* The functions that can be traced, until fn returns false. module: NULL for the kernel itself. Returns 0 or -errno. */
	int (*each_function)(bool (*fn)(void *arg, const char *name, const char *module), void *arg);
	/* The same with the places where they are patched: at their start, or a few bytes behind it. NULL or -errno: not known.
	 */
	int (*each_function_at)(bool (*fn)(void *arg, const char *name, u64 at), void *arg);
	/* The tracepoints whose category and name match (globs), in no order. Returns how many, or -errno. */
	int (*each_event)(const char *category, const char *event, void (*fn)(void *arg, const char *category, const char *event),
			  void *arg);
	/* The format of a tracepoint's record, as the text of its file in tracefs; malloc'ed. Returns 0 or -errno. */
	int (*event_format)(const char *category, const char *event, char **text);
	/* The number of the loaded BPF program after `id`. -ENOENT: that was the last. */
	int (*next_prog)(u32 id, u32 *next);
	/* The functions of such a program, with their numbers in its BTF. None if it has no BTF, or has ended. */
	void (*each_prog_func)(u32 prog, void (*fn)(void *arg, const char *name, u32 id), void *arg);
	/* The named events of PMUs that can interrupt, sorted by PMU and name. Returns 0 or -errno. */
	int (*each_pmu_event)(void (*fn)(void *arg, const char *pmu, const char *name), void *arg);
	/* The event of that name, or the one that the terms "a=1,b" describe. Returns 0 or -errno; then *why is the reason. */
	int (*pmu_event)(const char *pmu, const char *terms, struct pmu_event *ev, struct sbuf *why);
	/* The id of the cgroup (version 2) at a path, or -errno. */
	s64 (*cgroup_id)(const char *path);
	/* What hides the features of the kernel, such as a sysfs that is not mounted. NULL (also the function): nothing. */
	const char *(*hidden_by)(void);
};

/* All that the compiler may know: facts, and whom to ask. Tests use a fixed one (never the machine's own). */
struct target {
	u32 ncpus;    /* possible CPUs */
	u64 features; /* bits of enum kern_feature that it has, see image/feature.h … */
	u64 askable;  /* … and of those that machine->has() knows: finding out costs system calls, so nobody asks in vain */
	const struct machine *machine; /* NULL: nothing is known of the kernel, and a script has no probes there */
	struct header_set *headers;    /* NULL: #include reads nothing */
	bool is_weakly_ordered;        /* its processors do not keep stores and loads in order: image/shared.h */
	bool functions_are_given;      /* --traceable: machine->each_function() lists those of another machine */
	s64 boot_to_tai_ns;            /* TAI minus the boot clock */
	u64 pidns_dev, pidns_ino;      /* of the tracer's PID namespace; ino 0: the initial one */
	u32 filter_pid;                /* -p, else 0; not the -c child, which has not executed its program yet */
	u32 child_pid;                 /* -c, else 0 */
	const char *child_exe;         /* -c: the file that will be run, else NULL */
	bool has_unwind_pids;          /* there are processes whose stacks dw_ustack can unwind: -p, -c, --dwarf-pid */
	bool allow_unsafe;             /* --unsafe */
	bool is_check;                 /* --check: what this system does not tell is taken as written */
	bool is_for_later;             /* the image goes to a file: child_pid is not known yet */
};

static inline bool target_feature(const struct target *t, u32 feature)
{
	return t->features >> feature & 1 || (t->askable >> feature & 1 && t->machine->has(feature));
}

/* Types of the kernel; NULL: none. */
static inline struct type_source *target_types(const struct target *t)
{
	return t->machine && t->machine->types ? t->machine->types() : NULL;
}

/* The address of a kernel symbol, 0 if unknown. */
static inline u64 target_kaddr(const struct target *t, const char *name)
{
	return t->machine && t->machine->kaddr ? t->machine->kaddr(name) : 0;
}
