/* SPDX-License-Identifier: GPL-2.0-only */
/* A compiled script: programs, maps, records, sites. It holds everything that the kernel (kern/object.c) or the interpreter
 * (vm/object.c) needs to run the script, and that run/ needs to understand what comes back. It knows nothing of the compiler that
 * made it: everything is here by value, by index, or as the name of a row.
 *
 * The compiler fills one in its own memory. image_pack() writes it as bytes, image_unpack() makes an image of its own from them
 * (image/pack.h). Every run goes that way, whether or not the bytes were in a file in between (image/file.h), so the memory of
 * the compiler is released before anything is attached.
 *
 * Instructions refer to maps by index: an LD_IMM64 whose src_reg is BPF_PSEUDO_MAP_FD or BPF_PSEUDO_MAP_VALUE has the index into
 * image.maps in its first imm; the loader replaces it by a file descriptor. Calls of subprograms (src_reg BPF_PSEUDO_CALL) are
 * relative within the program already.
 */
#pragma once

#include "base/diag.h"
#include "image/config.h"
#include "types/type.h"

struct fmt;
struct fn;
struct layer;
struct provider;

/* One BPF instruction, as the kernel has it. */
struct insn {
	u8 code;
	u8 dst : 4, src : 4;
	s16 off;
	s32 imm;
};

/* ---- maps of the kernel ---- */

/* The first maps of every image. */
enum {
	MAP_IDX_DATA,
	MAP_IDX_RING,
	MAP_IDX_CTRL,
	MAP_IDX_SCRATCH,
	MAP_IDX_CONST /* literals and tables, read-only */,
	MAP_IDX_USER
};

struct image_map {
	const char *name; /* at most 15 characters, as the kernel wants */
	u32 type;         /* enum bpf_map_type of image/uapi.h; 0: this image does not need it */
	u32 key_sz, value_sz, max_entries, flags;
	const void *init; /* array maps: initial bytes of the value, or NULL */
	u32 init_sz;
	u32 script_map; /* 1 + index into image.script_maps of the map that it serves; 0: none */
};

/* The data map's value (an mmapable array of one entry):
 *
 *   struct data_head | shared scalars | pad to 64 | CPU 0's part | CPU 1's part | … | counters of faults
 *
 * cpu_cnt is a power of two, so that `cpu & (cpu_cnt - 1)` indexes safely. */
struct data_head {
	u64 start_ns;      /* boot clock when tracing began: elapsed */
	u64 lost_events;   /* records that did not fit the ring */
	u64 lost_ctrl;     /* control records that fit neither ring */
	u64 scratch_busy;  /* runs given up because too many programs were nested on one CPU */
	u64 failed_stacks; /* stacks that the kernel could not take: they count as empty */
	u64 guarded;       /* runs given up because a program was running on that CPU: compile.needs_guard */
	u64 reserved[2];
};

struct data_layout {
	u32 shared_sz; /* head and shared scalars, multiple of 64 */
	u32 cpu_sz;    /* each CPU's part, multiple of 64; 0: none */
	u32 cpu_cnt;
	u32 guard_off; /* in each CPU's part: the word that says that a program is running, compile.needs_guard */
	u32 total_sz;
};

/* ---- maps of the script ---- */

/* A map of the script, @name: what it holds and how it is stored. */
struct script_map {
	const char *name; /* with the @ */
	struct span first_use;
	const struct type *key; /* NULL: no key */
	const struct type *val;
	struct layer *top; /* how it is stored: the first of its layers (image/store.h) */
	u32 max_entries;
	bool adds_sums; /* programs add other numbers than 1: a value is not the number of its updates */
};

/* ---- programs and where they are attached ---- */

/* A place where a program is attached. Its index in image.sites is its id and attach cookie. */
struct site {
	const char *name;   /* the value of `probe`: "kprobe:vfs_read" */
	const char *func;   /* the value of `func`, or NULL */
	const char *target; /* module, path, tracepoint category, or NULL */
	u64 addr;           /* address or file offset, if given by number or resolved */
	u64 off;            /* +offset */
	u64 num;            /* frequency or period, system call number, event id, file offset of a semaphore, BTF id */
	bool is_wild;       /* one of many that a wildcard matched: the kernel may refuse it without harm */
	bool is_more;       /* one more place of a probe that has several: for the user it is one probe */
	u32 variant;        /* provider's own */
	struct span span;
	/* Of use to the compiler only: */
	const struct provider *provider; /* its row */
	const void *data;                /* provider's own, in the arena */
	bool is_assumed;                 /* --check: not looked up */
	u32 ap_index;                    /* attach point of the probe it came from */
};

/* What `probe` or `func` shows of it: empty if it has no such thing. */
static inline const char *site_text(const struct site *s, enum site_show show)
{
	const char *text = show == SITE_PROBE ? s->name : s->func;

	return text ? text : "";
}

/* How a program is loaded. */
struct prog_attr {
	u32 type;           /* enum bpf_prog_type of image/uapi.h */
	u32 attach_type;    /* expected_attach_type */
	u32 attach_btf_id;  /* in the kernel's types, or in those of … */
	const char *module; /* … this module, or of … */
	u32 prog_id;        /* … this BPF program */
	bool is_sleepable;
};

struct line_info {
	u32 insn;
	struct span span;
};

/* One program: a probe's body for the sites that can share the code. */
struct image_prog {
	const char *name;                /* as the kernel's tools show it */
	const struct provider *provider; /* its row, and … */
	u32 flags;                       /* … enum provider_flags of it */
	struct span span;                /* of the probe */
	u32 site_first, site_cnt;
	u32 variant;    /* provider's own: which way this program is attached */
	u32 session;    /* 1 + index of another program: one link can serve both, entry and return of the same functions … */
	bool is_joined; /* … and this is the return: the entry's program is that of both (kern/join.h) */
	bool uses_site; /* needs to know at run time which site fired */
	struct prog_attr attr;
	struct insn *insns;
	u32 insn_cnt;
	struct line_info *lines;
	u32 line_cnt;
	vec(u32) func_starts; /* first instruction of each subprogram; [0] is 0 */
	u32 stack_sz;
};

/* The script's place of an instruction; of -1: the probe's. */
static inline struct span image_prog_span(const struct image_prog *p, s64 insn)
{
	struct span at = p->span;

	for (u32 i = 0; i < p->line_cnt && (s64)p->lines[i].insn <= insn; i++)
		at = p->lines[i].span;
	return at;
}

/* What a probe type is, for the checker, the code generator and the run. */
enum provider_flags {
	PROV_ARGN = 1 << 0, /* arg0 … */
	PROV_RETVAL = 1 << 1,
	PROV_ARGS = 1 << 2, /* args.x */
	PROV_REG = 1 << 3,  /* reg("ax") */
	PROV_FUNC = 1 << 4,
	PROV_CTX = 1 << 5,        /* ctx */
	PROV_PID_FILTER = 1 << 6, /* -p becomes a condition in the program */
	PROV_OVERRIDE = 1 << 7,
	PROV_SIGNAL = 1 << 8,
	PROV_SELF = 1 << 9,           /* runs in the tracer itself: begin, end, … */
	PROV_RETURNS_1 = 1 << 10,     /* the program's result is 1, not 0 */
	PROV_LIST_EXPLICIT = 1 << 11, /* -l shows it only when it is named */
	PROV_END = 1 << 12,           /* of the PROV_SELF ones: runs when tracing ends */
	PROV_REVERSE = 1 << 13,   /* the kernel runs what was attached last first: to run in source order, attach in reverse */
	PROV_USER_FILE = 1 << 14, /* probes files of user space: -l looks there when one is named, or with -p */
	PROV_REENTRANT = 1 << 15, /* programs on one CPU may be preempted by others of the same unit: uprobes; the kernel guards
				     all others */
	PROV_TRIGGER = 1 << 16,   /* of the PROV_SELF ones: runs when the tracer gets SIGUSR1 */
	PROV_TEST = 1 << 17,      /* … with --test */
	PROV_BENCH = 1 << 18,     /* … with --bench */
	PROV_AT_SITE = 1 << 19,   /* the instruction pointer is the site's address */
	PROV_BTF_NULL = 1 << 20,  /* known pointers (struct mem) may be NULL, and the verifier wants that to be tested */
	PROV_ITER = 1 << 21,      /* the session makes it run, by reading attach_ctx.iters, and is done then */
	PROV_TYPED = 1 << 22,     /* the program's type is TRACING: pointers of known type, and the helpers that take them */
	PROV_RARE = 1 << 23,      /* runs once, or at a pace that somebody set: what it sends does not come in thousands */
	PROV_SAMPLES = 1 << 24, /* runs as often as a clock or a counter is full: what a run costs matters less than what it takes
				   to begin */
};

/* ---- what programs send and count ---- */

/* Records. In the ring each starts with its id; the fixed part follows, then the tail: the bytes of its variable
 * fields, one after the other. A variable field has its byte count (u32) at its offset in the fixed part; the last one takes what
 * is left. In the control ring, eight bytes follow: the data ring's producer position when the record was sent, so that the order
 * of both can be restored. */
struct rec_head {
	u32 id; /* index into image.recs */
	u32 pad;
};

struct rec_field {
	const struct type *type;
	u32 off; /* from the start of the record, head included */
	bool is_var;
	bool is_rest; /* the last of these: nothing in the fixed part */
	bool is_own;  /* the script's own text or number, which reaches a terminal as it is */
};

/* What happens to all values of a map at once. */
enum map_reset { MAP_KEEP, MAP_CLEAR, MAP_ZERO };

struct rec {
	const struct fn *fn; /* the row of the function that sends it */
	struct span span;
	struct rec_field *fields;
	u32 field_cnt;
	u32 fixed_sz;          /* head included; where the tail begins */
	u32 fixed_end;         /* where its last field ends */
	const struct fmt *fmt; /* printf family */
	const char *text;      /* time(): format; join(): separator */
	u32 map;               /* print, clear, zero: 1 + index into image.script_maps; 0: none */
	s64 num[2];            /* print: top, div; watched arguments: site, offset in the data map */
	u8 reset;              /* print: enum map_reset, in one step with reading the map */
	bool is_ctrl;          /* must not get lost */
	bool is_awaited;       /* a process waits until it was handled, whether or not anybody still wants to know of it */
};

/* Trouble that programs notice. Each place has a counter behind the CPUs' parts, so that nothing has to be sent: a probe that
 * divides by zero a million times a second costs no room in the ring. run/faults.c reports them. */
struct fault {
	struct span span;
	const char *text;   /* NULL: what strerror() says of the helper's result */
	const char *helper; /* the kernel's function that failed, or NULL */
	u32 off;            /* of its struct fault_count in the data map */
	bool is_read;       /* memory could not be read, and what was to be read is zero; the error is stored with -k only */
};

struct fault_count {
	u64 cnt;
	s64 err; /* the helper's last result */
};

/* ---- the whole ---- */

/* What the script is run for. */
enum run_mode { RUN_TRACE, RUN_TESTS, RUN_BENCHES };

/* Indexes of the maps that image/unwind.h describes; 0: the script has no dw_ustack. */
struct image_unwind {
	u32 chunks, procs, files;
};

/* What must be the same where the image runs as where it was made, beside the kernel itself. */
struct image_home {
	u32 ncpus;                /* possible CPUs */
	u64 pidns_dev, pidns_ino; /* the tracer's PID namespace; ino 0: the initial one */
	u32 filter_pid;           /* -p, else 0 */
	bool is_of_boot;          /* has addresses or ids that are good until the next boot */
};

/* Values that are known only when the image runs: where in the constants they are, 8 bytes each. 0: not used, or compiled in. (No
 * constant is at offset 0 where there are such values.) */
struct image_late {
	u32 child_pid;
};

struct image {
	struct config config;
	enum run_mode mode;
	bool warns_more; /* -k: failed reads of memory, and of keys that are not there, are reported with their place */
	struct image_home home;
	struct image_late late;
	vec(struct image_map) maps;
	vec(struct script_map) script_maps; /* in order of first use */
	vec(struct site) sites;
	vec(struct image_prog) progs;
	vec(struct rec *) recs;
	vec(struct fault) faults;
	struct data_layout data;
	u8 *const_data; /* literals and tables: the value of MAP_IDX_CONST */
	u32 const_sz, const_cap;
	u32 max_rec_sz;
	bool sends_often; /* records come from probes that may be hit often, or from loops */
	u64 rare_sz;      /* what all others send, each place once, in bytes of the ring */
	struct image_unwind unwind;
	bool waits;          /* a store waits for the end of running programs: object_ops.quiesce */
	bool has_user_addrs; /* values that are named after programs: ustack, usym */
	u32 needs;           /* of the functions that it calls: bits of enum need, see image/need.h */
	struct arena *arena; /* image_unpack(): everything above, and the image itself; NULL: the compiler's */
};

/* Rows, which go by their names where an image is written down. Defined where the rows are: probe/all.c, fn/all.c. */
const char *provider_name(const struct provider *p);
const struct provider *provider_named(const char *name); /* NULL if there is none; so the next */
const char *fn_name(const struct fn *fn);
const struct fn *fn_named(const char *name);
/* What they need of the system: bits of enum need. */
u32 provider_needs(const struct provider *p);
u32 fn_needs(const struct fn *fn);

/* The script's map that a record is about. */
static inline const struct script_map *image_rec_map(const struct image *img, const struct rec *rec)
{
	return rec->map ? &img->script_maps.at[rec->map - 1] : NULL;
}

/* As the kernel's headers have it, without bpf_; a static string, the same for each number. */
const char *helper_name(u32 number);
/* -d bpf. d: where the script's lines are. */
void image_print(const struct image *img, const struct diag *d, struct sbuf *out);
