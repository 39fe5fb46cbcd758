/* One compilation: what is compiled, for which machine, and everything that the stages add on the way from text to image. */
#pragma once

#include "base/smap.h"
#include "lang/ast.h"
#include "lang/config.h"

struct image;

/* A macro of a header, as text: the macros in it are replaced, its own parameters are not. */
struct header_macro {
	const char *text;
	bool is_function;
	const char **params;
	u32 param_cnt;
};

/* C headers that a script includes. See kern/headers.h. */
struct header_set {
	struct type_source src; /* types: of headers that the script's author has, of the kernel, of the system's headers, in this order */
	/* Takes a header on: a path, or the name of one of the system's. False: there is none. */
	bool (*add)(struct header_set *h, const char *name, bool is_path);
	/* The value of an enumerator or macro: of the author's headers, or of the system's, which may have to be read for it. */
	bool (*constant)(struct header_set *h, const char *name, bool of_system, s64 *value);
	bool (*macro)(struct header_set *h, struct arena *arena, const char *name, struct header_macro *out);
	/* What was not understood in the file at that path: a message, or NULL. */
	const char *(*trouble)(struct header_set *h, const char *path);
	bool is_used;
};

/* What the compiler may ask of the machine that the script will run on. Tests use a fixed one (never the machine's own). */
struct target {
	u32 ncpus;                 /* possible CPUs */
	u64 features;              /* bits of enum kern_feature that it has, see kern/feature.h … */
	u64 askable;               /* … and of those that has() knows: finding out costs system calls, so nobody asks in vain */
	bool (*has)(u32 feature);
	struct type_source *types; /* kernel types; NULL: none */
	struct header_set *headers; /* NULL: #include reads nothing */
	/* The address of a kernel symbol, 0 if unknown. NULL: no symbols. */
	u64 (*kaddr)(void *self, const char *name);
	void *kaddr_self;
	/* The id of the cgroup (version 2) at a path, or -errno. */
	s64 (*cgroup_id)(const char *path);
	s64 boot_to_tai_ns; /* TAI minus the boot clock */
	u64 pidns_dev, pidns_ino; /* of the tracer's PID namespace; ino 0: the initial one */
	u32 filter_pid;           /* -p, else 0 */
	u32 child_pid;            /* -c, else 0 */
	const char *child_exe;    /* -c: the file that will be run, else NULL */
	bool has_unwind_pids;     /* there are processes whose stacks dw_ustack can unwind: -p, -c, --dwarf-pid */
	bool allow_unsafe;        /* --unsafe */
	bool is_check;            /* --check: what this system does not tell is taken as written */
};

/* A scratch variable of one unit. */
struct var {
	const char *name;
	const struct type *type; /* NULL until something is assigned */
	struct span decl;
	bool is_fixed;    /* declared with a type */
	bool is_assigned;
	bool is_read;
	bool needs_init;  /* read outside of its block, as scripts before 0.22 do: zero at the start … */
	bool is_told;     /* … which was said */
	bool sign_told;   /* … and that it mixes int64 and uint64 */
	const struct stmt *loop; /* whose body declares it: the innermost one, NULL if none */
	bool is_shared;   /* other loops than that use it, or its address is taken: it lives in memory that all of them reach */
	/* lowering */
	u32 home;         /* virtual register, or 1 + slot for objects in memory */
	bool in_memory;
	const struct ir_func *home_in; /* whose register or stack that is */
	u32 assign_cnt;   /* places that assign to it */
	bool is_zeroed;   /* lowering: it was declared without a value */
	const struct type *btf; /* lowering: see struct mem */
};

enum map_storage {
	MAP_SCALAR,        /* in the shared part of the data map */
	MAP_SCALAR_PERCPU, /* aggregation without key: in each CPU's part of the data map */
	MAP_SITES_PERCPU,  /* aggregation by probe: there, too, one for each site */
	MAP_HASH,
	MAP_HASH_PERCPU,
};

/* Memory in front of a hash map, see ir/lower_slots.c. */
struct map_slots {
	u32 cnt;     /* a power of two; 0: there are none */
	u32 size;    /* bytes of one: a mark, the key if it is not in the mark, the value */
	bool is_percpu; /* a table for each CPU: values of one key are added up. Else one that all share */
	u32 off;     /* where they are: in each CPU's part of the data map, or in the shared part */
	u32 key_sz;  /* bytes of the key: those before the frames where it ends in a stack that has a number */
	u32 val_off; /* of the value, in a slot */
};

/* Numbers that the kernel gives to the stacks that a map's keys end in, see ir/lower_stackid.c. */
struct map_stack_ids {
	u32 cnt;       /* numbers below this, a power of two; 0: stacks have none */
	u32 image_map; /* the kernel's table of stacks */
	u32 off;       /* of struct stack_ids_head, in the shared part of the data map */
};

/* Names are found by lists of those with the same hash: scripts that programs write have thousands. */
enum { NAME_LISTS = 256 };

static inline u32 name_list(const char *name)
{
	return str_hash(name) % NAME_LISTS;
}

/* A map of the script, @name. */
struct map {
	const char *name; /* with the @ */
	struct map *next_named; /* in its list */
	struct span first_use;
	const struct type *key; /* NULL: no key */
	const struct type *val;
	bool has_key;
	bool key_known; /* has_key is decided */
	const struct map_decl *decl;
	bool is_churned;  /* entries are deleted one by one */
	u32 other_uses;   /* besides updates by map functions, statements that add to it, print(@m) and clear(@m) */
	u32 element_uses; /* that go to an element in place, or to all of them: neither of these, nor a value read, assigned or deleted by its key */
	bool is_cleared;  /* all at once */
	bool is_busy;     /* updated by a map function, or added to, where that may happen often */
	bool is_by_stack; /* is_busy, by a key that ends in a stack that the kernel has a number for */
	bool is_poisoned; /* what was to be assigned to it is wrong: nothing more is said about it */
	bool key_sign_told, val_sign_told; /* that these mix int64 and uint64 was said */
	bool is_hurried;  /* one run of a program may make more keys than the kernel has memory at hand for */
	const struct unit *writer; /* the last one that assigns to it, … */
	u32 write_cnt;             /* … and in how many places */
	/* layout, by lower */
	enum map_storage storage;
	u32 image_map;  /* hash kinds: index into image.maps */
	u32 short_map;  /* hash kinds: the same of a map for keys that end in a stack of few frames, without the others; 0: none */
	u32 short_cnt_off; /* where in the key the number of frames is, … */
	u32 short_max;     /* … up to which they are few */
	struct map_slots slots; /* hash kinds */
	struct map_stack_ids stack_ids; /* hash kinds with slots */
	u32 data_off;   /* scalar kinds: offset in the shared part, or in each CPU's part */
	u32 flag_off;   /* scalar kinds: offset in the shared part of the "was set" byte */
	u32 lost_off;   /* hash kinds: offset in the shared part of the counter of assignments that did not fit … */
	u32 spill_off;  /* … and of a value that takes the updates which did not fit */
	bool spills_sums; /* more than ++ goes there: its value is not the number of updates */
	u32 max_entries;
};

/* A place where a program is attached. Its index in compile.sites is its id and attach cookie. */
struct site {
	const struct provider *provider;
	const char *name;   /* the value of `probe`: "kprobe:vfs_read" */
	const char *func;   /* the value of `func`, or NULL */
	bool is_assumed;    /* --check: not looked up */
	const char *target; /* module, path, tracepoint category, or NULL */
	u64 addr;           /* address or file offset, if given by number or resolved */
	u64 off;            /* +offset */
	u64 num;            /* frequency or period, system call number, event id, file offset of a semaphore, BTF id */
	bool is_wild;       /* one of many that a wildcard matched: the kernel may refuse it without harm */
	u32 variant;        /* provider's own */
	const void *data;   /* provider's own, in the arena */
	bool is_more;       /* one more place of a probe that has several: for the user it is one probe */
	u32 ap_index;       /* attach point of the probe it came from */
	struct span span;
};

/* What `probe` or `func` shows of it: empty if it has no such thing. */
static inline const char *site_text(const struct site *s, enum site_show show)
{
	const char *text = show == SITE_PROBE ? s->name : s->func;

	return text ? text : "";
}

/* One program: a probe's body for the sites that can share the code. */
struct unit {
	const struct probe *probe;
	const struct provider *provider;
	const char *name; /* of the program, as the kernel's tools show it */
	u32 site_first, site_cnt;
	struct expr *pred;        /* the probe's, or copies, checked for this unit's types */
	struct block *body;
	const struct type *args;  /* struct behind `args`, or NULL */
	u32 variant;              /* provider's own: which way this unit is attached */
	struct unit *session;     /* one link can serve this unit and that one, entry and return of the same functions … */
	bool is_joined;           /* … and this is the return: the entry's program is that of both (kern/join.h) */
	bool writes_seq;          /* printf() writes to the file that the kernel runs the program for: provider->lower_seq() */
	bool has_loop;            /* other than unroll */
	bool has_wide_vars;       /* one of its variables is read outside of the block that assigns to it */
	bool uses_site;           /* needs to know at run time which site fired */
	u32 site_text_sz[2];      /* by enum site_show: bytes that the longest name of its sites takes; 0: nobody has asked yet */
	bool is_assumed;          /* --check: the site was not looked up, and the body uses arguments that are not known */
	vec(struct var *) vars;
};

/* An option that the script asks for: getopt(). */
struct script_opt {
	const char *name, *doc; /* doc may be NULL */
	const struct expr *def; /* a literal, or NULL: false */
	struct span first;
};

/* What the script is run for. */
enum run_mode { RUN_TRACE, RUN_TESTS, RUN_BENCHES };

struct compile {
	struct arena *arena;
	struct diag *diag;
	const struct target *target;
	struct config config;
	char **params; /* positional parameters $1… */
	u32 param_cnt;
	enum run_mode mode;
	const char *probe_filter; /* --probe-filter: an expression that names of sites must match; NULL: none */
	bool parse_only; /* --fmt: nothing but the source itself is read, and macros stay */
	char **named;  /* --name or --name=value, for the script */
	u32 named_cnt;
	vec(struct script_opt) opts; /* that it asks for; lang_check() fills it */
	struct script *script;
	struct type_source *script_types; /* what the script defines, and behind it target->types; NULL: it defines nothing */
	vec(struct site) sites;
	u32 *site_values[2]; /* by enum site_show: see site_value() */
	vec(struct unit *) units;
	bool needs_guard; /* one is where our own programs pass while they hold a lock: only one program runs on a CPU at a time */
	vec(struct map *) maps; /* in order of first use */
	struct map *map_first[NAME_LISTS]; /* the same, by name */
	struct image *image;
	bool warns_more;       /* -k: failed reads of memory, and of keys that are not there, are told with their place */
	const char *missing;   /* probes that nothing matched and missing_probes allows, as "kprobe:a, kprobe:b"; NULL: none */
	struct sbuf *ir_text; /* -d ir: the intermediate code is added here; NULL: not */
};

/* The machine that is compiled for has it (enum kern_feature). Whoever compiles asks this, not kern_has(): tests compile for a fixed machine. */
static inline bool target_has(const struct compile *c, u32 feature)
{
	const struct target *t = c->target;

	return t->features >> feature & 1 || (t->askable >> feature & 1 && t->has(feature));
}

/* Each stage returns false when it reported errors; the driver stops there. */
bool lang_parse(struct compile *c, u32 src);   /* text → script */
bool lang_macros(struct compile *c);           /* calls of macros → what they stand for; lang_parse() does it */
bool lang_config(struct compile *c);           /* config block and environment → config */
bool lang_expand(struct compile *c);           /* attach points → sites and units; asks the providers */
bool lang_check(struct compile *c);            /* names, types, constants */

/* `-- --help`: the script's options are to be shown, not the script run. */
bool lang_wants_help(const struct compile *c);
void lang_print_opts(const struct compile *c, struct sbuf *out);

/* --check: the arguments of a probe are not known, so the types are incomplete and nothing can be compiled. */
bool lang_is_partial(const struct compile *c);

/* Where types are found by name: the script's, then the kernel's. NULL if there are neither. */
static inline struct type_source *compile_types(const struct compile *c)
{
	if (c->script_types)
		return c->script_types;
	if (!c->target)
		return NULL;
	return c->target->headers && c->target->headers->is_used ? &c->target->headers->src : c->target->types;
}

struct map *compile_map(struct compile *c, const char *name); /* NULL if not known */

/* The hint to the error that a map is not defined. */
void compile_hint_undefined(struct compile *c);

/* -d ast and -d types */
void lang_print(const struct compile *c, struct sbuf *out);
void lang_print_types(const struct compile *c, struct sbuf *out);

/* Deep copies, for units. */
struct expr *expr_copy(struct arena *a, const struct expr *e);
struct block *block_copy(struct arena *a, const struct block *b);
/* Copies with changes. replace() sees every expression before it is copied, and may return what to put in its place; declare() sees every
 * statement after it was copied, and may change the names that it declares. */
struct copy_hooks {
	struct expr *(*replace)(const struct expr *e, void *arg); /* NULL: copy it */
	struct type_ref *(*replace_type)(const struct type_ref *ref, void *arg); /* the same for types */
	const char *(*replace_member)(const char *name, void *arg);               /* and the members of an offsetof */
	void (*declare)(struct stmt *s, void *arg);
	void *arg;
	u32 via; /* what the copies' spans have there */
};
/* Sets the hooks for all copies from now on, NULL for none; returns those before. */
const struct copy_hooks *copy_set_hooks(const struct copy_hooks *hooks);
/* The last part of a map's key: of (a, b), b. */
static inline struct expr *expr_last_of_key(struct expr *key)
{
	return key->kind == E_TUPLE && key->tuple.cnt ? key->tuple.elems[key->tuple.cnt - 1] : key;
}

/* Calls fn on e and everything below it. */
void expr_walk(struct expr *e, void (*fn)(struct expr *e, void *arg), void *arg);
void block_walk(struct block *b, void (*fn)(struct expr *e, void *arg), void *arg);
