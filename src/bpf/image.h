/* The result of a compilation: programs, maps, records, sites. It holds everything that the kernel (kern/object.h) or the interpreter
 * (vm/vm.h) needs to run the script and that run/ needs to understand what comes back.
 *
 * Instructions refer to maps by index: an LD_IMM64 whose src_reg is BPF_PSEUDO_MAP_FD or BPF_PSEUDO_MAP_VALUE has the index into
 * image.maps in its first imm; the loader replaces it by a file descriptor. Calls of subprograms (src_reg BPF_PSEUDO_CALL) are relative
 * within the program already.
 */
#pragma once

#include "lang/compile.h"

struct fmt;

/* One BPF instruction, as the kernel has it. */
struct insn {
	u8 code;
	u8 dst : 4, src : 4;
	s16 off;
	s32 imm;
};

/* The first maps of every image. */
enum { MAP_IDX_DATA, MAP_IDX_RING, MAP_IDX_CTRL, MAP_IDX_SCRATCH, MAP_IDX_CONST /* literals and tables, read-only */, MAP_IDX_USER };

struct image_map {
	const char *name;      /* at most 15 characters, as the kernel wants */
	u32 type;              /* enum bpf_map_type of kern/uapi.h; 0: this image does not need it */
	u32 key_sz, value_sz, max_entries, flags;
	const void *init;      /* array maps: initial bytes of the value, or NULL */
	u32 init_sz;
	const struct map *map; /* the script's map, or NULL */
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
	u64 failed_reads;  /* reads of memory that failed: what was to be read is zero */
	u64 guarded;       /* runs given up because a program was running on that CPU: compile.needs_guard */
	u64 reserved;
};

/* Trouble that programs notice. Each place has a counter behind the CPUs' parts, so that nothing has to be sent: a probe that divides by zero a
 * million times a second costs no room in the ring. run/faults.c tells about them. */
struct fault {
	struct span span;
	const char *text;   /* NULL: what strerror() says of the helper's result */
	const char *helper; /* the kernel's function that failed, or NULL */
	u32 off;            /* of its struct fault_count in the data map */
};

struct fault_count {
	u64 cnt;
	s64 err; /* the helper's last result */
};

struct data_layout {
	u32 shared_sz; /* head and shared scalars, multiple of 64 */
	u32 cpu_sz;    /* each CPU's part, multiple of 64; 0: none */
	u32 cpu_cnt;
	u32 guard_off; /* in each CPU's part: the word that says that a program is running, compile.needs_guard */
	u32 total_sz;
};

/* Slots in front of hash maps, see ir/lower_slots.c. The mark of one that has a larger key: */
enum slot_mark { SLOT_FREE, SLOT_BEING_TAKEN, SLOT_TAKEN };
enum { SLOT_KEY_MAX = 32 };

/* The mark is the key plus one. */
static inline bool slot_key_is_small(const struct type *key)
{
	return (key->kind == T_INT || key->kind == T_ENUM) && key->size <= 4;
}

/* What is known of the numbers of stacks: this, then a byte for each. Programs mark those that they see, user space those that it knows. */
struct stack_ids_head {
	u64 refusal; /* 0, or STACK_IDS_REFUSED while programs are not to ask for numbers */
};
enum { STACK_ID_FRAMES = 127 }; /* of a stack that can have a number: the kernel's own limit, unless it was changed */
enum stack_id_state { STACK_ID_NEW, STACK_ID_SEEN, STACK_ID_KNOWN };
#define STACK_IDS_REFUSED (1ull << 63) /* a flag that the kernel's function does not know: it returns at once */

struct line_info {
	u32 insn;
	struct span span;
};

struct image_prog {
	const struct unit *unit;
	struct insn *insns;
	u32 insn_cnt;
	struct line_info *lines;
	u32 line_cnt;
	vec(u32) func_starts; /* first instruction of each subprogram; [0] is 0 */
	u32 stack_sz;
};

/* Records: what programs send. In the ring each starts with its id; the fixed part follows, then the tail: the bytes of its variable
 * fields, one after the other. A variable field has its byte count (u32) at its offset in the fixed part; the last one takes what is left. In the control ring, eight bytes
 * follow: the data ring's producer position when the record was sent, so that the order of both can be restored. */
struct rec_head {
	u32 id;  /* index into image.recs */
	u32 pad;
};

struct rec_field {
	const struct type *type;
	u32 off; /* from the start of the record, head included */
	bool is_var;
	bool is_rest; /* the last of these: nothing in the fixed part */
};

struct rec {
	const struct fn *fn;
	struct span span;
	struct rec_field *fields;
	u32 field_cnt;
	u32 fixed_sz; /* head included; where the tail begins */
	u32 fixed_end; /* where its last field ends */
	const struct fmt *fmt; /* printf family */
	const char *text;      /* time(): format; join(): separator */
	const struct map *map; /* print, clear, zero */
	s64 num[2];            /* print: top, div; watched arguments: site, offset in the data map */
	bool is_ctrl;          /* must not get lost */
};

/* Indexes of the maps that bpf/unwind.h describes; 0: the script has no dw_ustack. */
struct image_unwind {
	u32 chunks, procs, files;
};

struct image {
	struct compile *compile;
	vec(struct image_map) maps;
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
	bool has_user_addrs; /* values that are named after programs: ustack, usym */
};

/* Lowers, optimises and emits all units of a checked script. */
bool image_build(struct compile *c);
/* As the kernel's headers have it, without bpf_; a static string, the same for each number. */
const char *helper_name(u32 number);
/* -d ir is printed on the way (NULL: not); -d bpf from the image. */
void image_print(const struct image *img, struct sbuf *out);
