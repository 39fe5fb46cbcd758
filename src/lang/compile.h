/* SPDX-License-Identifier: GPL-2.0-only */
/* One compilation: what is compiled, for which machine, and everything that the stages add on the way from text to image. */
#pragma once

#include "base/smap.h"
#include "image/image.h"
#include "image/target.h"
#include "lang/ast.h"

/* A scratch variable of one unit. */
struct var {
	const char *name;
	const struct type *type; /* NULL until something is assigned */
	struct span decl;
	bool is_fixed; /* declared with a type */
	bool is_assigned;
	bool is_read;
	bool needs_init;         /* read outside of its block, as scripts before 0.22 do: zero at the start … */
	bool is_told;            /* … which was said */
	bool sign_told;          /* … and that it mixes int64 and uint64 */
	const struct stmt *loop; /* whose body declares it: the innermost one, NULL if none */
	bool is_shared; /* other loops than that use it, or its address is taken: it lives in memory that all of them reach */
	/* lowering */
	u32 home; /* virtual register, or 1 + slot for objects in memory */
	bool in_memory;
	const struct ir_func *home_in; /* whose register or stack that is */
	u32 assign_cnt;                /* places that assign to it */
	const struct stmt *range;      /* the loop over a range whose variable it is, or NULL */
	u32 own_cnt;                   /* … text or numbers of the script: expr_is_own() */
	bool is_zeroed;                /* lowering: it was declared without a value */
	const struct type *btf;        /* lowering: see struct mem */
};

/* Whether the value is the script's own text or number: written in it, or given to it on the command line. Not what it reads from
 * the traced system, which somebody else may choose. After the last check. */
bool expr_is_own(const struct expr *e);

/* A map of the script, @name. */
struct map {
	const char *name; /* with the @ */
	u32 index;        /* in compile.maps */
	struct span first_use;
	const struct type *key; /* NULL: no key */
	const struct type *val;
	bool has_key;
	bool key_known; /* has_key is decided */
	const struct map_decl *decl;
	bool is_churned;  /* entries are deleted one by one */
	u32 other_uses;   /* besides updates by map functions, statements that add to it, print(@m) and clear(@m) */
	u32 element_uses; /* that go to an element in place, or to all of them: neither of these, nor a value read, assigned or
			     deleted by its key */
	bool is_cleared;  /* all at once */
	bool is_taken;    /* printed and then cleared or zeroed in one step, while programs update it: lang/resets.c */
	bool is_busy;     /* updated by a map function, or added to, where that may happen often */
	bool is_by_stack; /* is_busy, by a key that ends in a stack that the kernel has a number for */
	bool is_poisoned; /* what was to be assigned to it is wrong: nothing more is said about it */
	bool key_sign_told, val_sign_told; /* that these mix int64 and uint64 was said */
	bool is_hurried;                   /* one run of a program may make more keys than the kernel has memory at hand for */
	const struct unit *writer;         /* the last one that assigns to it, … */
	u32 write_cnt;                     /* … and in how many places */
	struct script_map
		lay; /* where it is kept: image_build() decides. Its name and types are filled in when the image is packed */
};

/* One program: a probe's body for the sites that can share the code. */
struct unit {
	const struct probe *probe;
	const struct provider *provider;
	const char *name; /* of the program, as the kernel's tools show it */
	u32 site_first, site_cnt;
	struct expr *pred; /* the probe's, or copies, checked for this unit's types */
	struct block *body;
	const struct type *args; /* struct behind `args`, or NULL */
	u32 variant;             /* provider's own: which way this unit is attached */
	struct unit *session;    /* one link can serve this unit and that one, entry and return of the same functions … */
	bool is_joined;          /* … and this is the return: the entry's program is that of both (kern/join.h) */
	bool writes_seq;         /* printf() writes to the file that the kernel runs the program for: provider->lower_seq() */
	bool has_loop;           /* other than unroll */
	bool has_big_pred;       /* its predicate needs the scratch area */
	bool has_wide_vars;      /* one of its variables is read outside of the block that assigns to it */
	bool uses_site;          /* needs to know at run time which site fired */
	u32 site_text_sz[2];     /* by enum site_show: bytes that the longest name of its sites takes; 0: nobody has asked yet */
	bool is_assumed;         /* --check: the site was not looked up, and the body uses arguments that are not known */
	vec(struct var *) vars;
};

/* An option that the script asks for: getopt(). */
struct script_opt {
	const char *name, *doc; /* doc may be NULL */
	const struct expr *def; /* a literal, or NULL: false */
	struct span first;
};

struct compile {
	struct arena *arena;
	struct diag *diag;
	const struct target *target;
	struct config config;
	char **params; /* positional parameters $1… */
	u32 param_cnt;
	enum run_mode mode;
	const char *probe_filter; /* --probe-filter: an expression that names of sites must match; NULL: none */
	bool parse_only;          /* --fmt: nothing but the source itself is read, and macros stay */
	char **named;             /* --name or --name=value, for the script */
	u32 named_cnt;
	vec(struct script_opt) opts; /* that it asks for; lang_check() fills it */
	struct script *script;
	struct type_source
		*script_types; /* what the script defines, and behind it those of the target; NULL: it defines nothing */
	vec(struct site) sites;
	u32 *site_values[2]; /* by enum site_show: see site_value() */
	vec(struct unit *) units;
	bool needs_guard; /* one is where our own programs pass while they hold a lock: only one program runs on a CPU at a time
			   */
	vec(struct map *) maps;   /* in order of first use */
	struct htab map_by_name;  /* the same: 1 + index. Scripts that programs write have thousands */
	struct htab fault_places; /* 1 + index into image.faults, by span */
	struct image *image;
	bool is_of_boot;          /* addresses or ids of the kernel are in the code: they are good until the next boot */
	bool warns_more;          /* -k: failed reads of memory, and of keys that are not there, are told with their place */
	u32 needs;                /* of the functions that are called: bits of enum need */
	u64 features;             /* … and bits of enum kern_feature */
	vec(const char *) unsafe; /* functions and attach points that need --unsafe, each once */
	const char *missing;      /* probes that nothing matched and missing_probes allows, as "kprobe:a, kprobe:b"; NULL: none */
};

/* The machine that is compiled for has it (enum kern_feature). Whoever compiles asks this, not kern_has(): tests compile for a
 * fixed machine. */
static inline bool target_has(const struct compile *c, u32 feature)
{
	return target_feature(c->target, feature);
}

/* Each stage returns false when it reported errors; the driver stops there. */
bool lang_parse(struct compile *c, u32 src); /* text → script */
bool lang_macros(struct compile *c);         /* calls of macros → what they stand for; lang_parse() does it */
bool lang_config(struct compile *c);         /* config block and environment → config */
bool lang_expand(struct compile *c);         /* attach points → sites and units; asks the providers */
bool lang_check(struct compile *c);          /* names, types, constants */
void lang_uses(struct compile *c);           /* what bodies do with maps */
void lang_resets(struct unit *u);            /* its part for maps that are printed and emptied */

/* `-- --help`: the script's options are to be shown, not the script run. */
bool lang_wants_help(const struct compile *c);
void lang_print_opts(const struct compile *c, struct sbuf *out);

/* --check: the arguments of a probe are not known, so the types are incomplete and nothing can be compiled. */
bool lang_is_partial(const struct compile *c);

/* Where types are found by name that the script does not define. NULL if there are none. */
static inline struct type_source *compile_outer_types(const struct compile *c)
{
	if (!c->target)
		return NULL;
	return c->target->headers && c->target->headers->is_used ? &c->target->headers->src : target_types(c->target);
}

/* The script's, then these. NULL if there are neither. */
static inline struct type_source *compile_types(const struct compile *c)
{
	return c->script_types ? c->script_types : compile_outer_types(c);
}

/* A function or attach point needs --unsafe: --needs shows its name. */
void compile_note_unsafe(struct compile *c, const char *name);

struct map *compile_map(struct compile *c, const char *name); /* NULL if not known */

/* The hint to the error that a map is not defined. */
void compile_hint_undefined(struct compile *c);

/* -d ast and -d types */
void lang_print(const struct compile *c, struct sbuf *out);
void lang_print_types(const struct compile *c, struct sbuf *out);

/* Deep copies, for units. */
struct expr *expr_copy(struct arena *a, const struct expr *e);
struct block *block_copy(struct arena *a, const struct block *b);
/* Copies with changes. replace() sees every expression before it is copied, and may return what to put in its place; declare()
 * sees every statement after it was copied, and may change the names that it declares. */
struct copy_hooks {
	struct expr *(*replace)(const struct expr *e, void *arg);                /* NULL: copy it */
	struct type_ref *(*replace_type)(const struct type_ref *ref, void *arg); /* the same for types */
	const char *(*replace_member)(const char *name, void *arg);              /* and the members of an offsetof */
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
