/* SPDX-License-Identifier: GPL-2.0-only */
/* From the checked tree to intermediate code. The hooks of functions (fn/) and providers (probe/) generate code through this
 * interface.
 *
 * A value is a register (scalars, extended to 64 bits by their type) or memory. Memory that the program can read directly (stack
 * slot, scratch, map value, ring record) has as AS_NONE here; memory at a kernel or user address has as AS_KERNEL or AS_USER and
 * is read by lower_read() at the moment it is needed, straight into its destination.
 *
 * Pointers that the kernel hands to typed programs (fentry, raw tracepoints, iterators), and what is found through them, are
 * known to the verifier: it lets programs follow them by plain loads, and functions such as path() take nothing else. Such a
 * value has `btf` set. It is good for following only: the verifier forbids most arithmetic with it, so everybody else gets a
 * plain number (lower_expr() does that; lower_known_ptr() does not). It may be NULL where the provider has PROV_BTF_NULL.
 */
#pragma once

#include "ir/ir.h"
#include "lang/compile.h"

struct rec;
struct stack_id;

/* Some bytes: at register base + off. */
struct mem {
	vreg base;
	s64 off;
	enum addr_space as;     /* AS_NONE: ours */
	const struct type *btf; /* base is a pointer that the verifier knows to lead to this struct; NULL: a plain address */
};

enum val_kind { VAL_NONE, VAL_REG, VAL_MEM };

struct val {
	enum val_kind kind;
	vreg len; /* VAL_MEM: bytes in use, if known (at most the type's size): a string up to its NUL, which may be among them, a
		     stack's head and frames */
	u32 len_plus;           /* … and this much more, see lower.tail_at */
	struct opnd r;          /* VAL_REG */
	struct mem mem;         /* VAL_MEM */
	const struct type *btf; /* VAL_REG: see struct mem */
};

static inline struct val val_none(void)
{
	return (struct val){};
}

static inline struct val val_reg(vreg r)
{
	return (struct val){ VAL_REG, .r = opnd_reg(r) };
}

static inline struct val val_imm(s64 imm)
{
	return (struct val){ VAL_REG, .r = opnd_imm(imm) };
}

static inline struct val val_mem(struct mem m)
{
	return (struct val){ VAL_MEM, .mem = m };
}

/* A value that is computed once per program run: pid_tgid, the CPU's part of the data map, … Valid while the code that computed
 * it dominates the code that wants it: the list is cut back when a branch ends. */
struct known {
	const void *what; /* identity: a fn row, or the address of a static */
	u64 key;
	vreg r;
	bool is_number; /* not an address of ours: loops can have it from outside, see lower_know_number() */
};

/* The body of a loop is a function of its own. This keeps what belongs to the one around it meanwhile. */
struct around {
	struct around *up;
	struct ir_build b;
	vreg ctx, scratch, frame;
	struct ir_block *leave, *leave_plain, *loop_next, *loop_end;
	u32 known_first;
	u32 clock; /* when the body began */
	u64 leaves;
};

struct lower {
	struct ir_build b; /* must be first: ir_*() take &l->b */
	struct compile *c;
	struct image *image;
	struct unit *unit;
	struct span at;               /* of the expression or statement at hand: where a read that fails is reported */
	struct ir_block *leave;       /* ends the program: gives scratch back, returns */
	struct ir_block *leave_plain; /* the same before scratch was taken */
	vreg ctx;
	vec(struct known) known;
	vec(u32) temps;                        /* slots of the statement at hand */
	vreg scratch;                          /* base of the scratch area, see IR_SCRATCH */
	vreg guard;                            /* compile.needs_guard: this CPU's part of the data map, where the word is */
	bool zero_tails;                       /* keys: bytes behind a string's end must be zero */
	struct ir_block *loop_next, *loop_end; /* where continue and break go */
	/* ir/lower_loop.c */
	struct around *around;                /* NULL in the main function */
	vreg frame;                           /* what the main function shares with the bodies of its loops */
	u32 frame_slot;                       /* 1 + slot of it */
	u32 known_first;                      /* of this function */
	struct ir_block *start, *after_start; /* where memory of loops is set up */
	u32 leave_slot;                       /* 1 + slot: how a loop's body was left, if not by its end … */
	u64 leaves;                           /* … and how the one at hand can be: bits of enum leave */
	struct fn_call *fn;                   /* the innermost function whose call is being lowered */
	struct mem tail; /* where a record's tail goes on (no base: none is written): a byte longer than the value for it, of
			    which bytes behind the value do not matter */
	u32 tail_at;     /* bytes of the record before it, if the record ends with the value. A length that is computed may count
			    them, too (val.len_plus) */
	vec(struct pin {
		const struct expr *e;
		struct val v;
	}) pins;
	vec(struct lower_walk *) walks; /* ir/lower_unwind.c */
	struct stack_id *stack_id;      /* the number that is wanted instead of a stack's frames; NULL: none */
};

/* Expressions. */
struct val lower_expr(struct lower *l, struct expr *e, const struct mem *dst);
/* The same, but a pointer stays what the verifier knows it to be (val.btf, mem.btf). */
struct val lower_known_ptr(struct lower *l, struct expr *e, const struct mem *dst);
struct opnd lower_scalar(struct lower *l, struct expr *e); /* e has a scalar type */
vreg lower_reg(struct lower *l, struct expr *e);           /* the same, in a register */
/* Where the address that e is leads to: an integer's memory is that of the probe. */
enum addr_space lower_space(const struct lower *l, const struct expr *e);
/* Writes the value of e, converted to type t, to dst. Padding inside is zeroed. */
void lower_store(struct lower *l, struct expr *e, const struct type *t, struct mem dst);
/* The same to the memory of a variable or a map, of which e may read the old value. */
void lower_store_over(struct lower *l, struct expr *e, const void *owner, const struct type *t, struct mem dst);
/* The value of e in memory of ours (a new slot if need be). */
struct mem lower_mem(struct lower *l, struct expr *e);
vreg lower_force(struct lower *l, struct opnd o); /* into a register */

/* Evaluates e now; until lower_unpin(), lower_expr() gives this value instead of computing it again. */
void lower_pin(struct lower *l, struct expr *e);
void lower_unpin(struct lower *l, struct expr *e);
/* The same with a value that is there already. */
void lower_pin_to(struct lower *l, struct expr *e, struct val v);

/* Variables: gives one a value, or the one that it has when it was only declared. */
/* A declared type cuts what a variable is given to its size; otherwise the variable's type holds every value. */
vreg lower_var_cut(struct lower *l, const struct var *v, vreg r);
bool lower_var_is_new(const struct lower *l, const struct var *v); /* this function has no place for it yet */
vreg lower_var_get(struct lower *l, struct var *v);                /* scalars only */
void lower_var_set(struct lower *l, struct var *v, struct opnd o);
struct mem lower_var_mem(struct lower *l, struct var *v); /* others only */
void lower_var_assign(struct lower *l, struct var *v, struct expr *value);
void lower_var_init(struct lower *l, struct var *v);

/* Reads `size` bytes at a kernel or user address into dst; a failed read leaves zeroes there. */
void lower_read(struct lower *l, struct mem src, u32 size, struct mem dst);
/* Reads a scalar of type t at src, whatever its address space. */
vreg lower_load(struct lower *l, struct mem src, const struct type *t);
vreg lower_load_bits(struct lower *l, struct mem src, const struct type *t, u32 bit_off, u32 bit_sz);
/* The same by one load, without forgetting what a pointer leads to. Only if lower_can_follow(). */
struct val lower_follow(struct lower *l, struct mem src, const struct type *t);
bool lower_can_follow(struct mem src, const struct type *t);
/* A pointer of type t that a typed program was given, as a value that can be followed if the verifier lets us. */
struct val val_typed_ptr(struct lower *l, vreg r, const struct type *t);
void lower_zero(struct lower *l, struct mem m, u32 size);
void lower_copy(struct lower *l, struct mem src, struct mem dst, u32 size);
/* The same where src may be aligned to no more than `align`. */
void lower_copy_by(struct lower *l, struct mem src, struct mem dst, u32 size, u32 align);
/* A value in memory of ours, to a place where its type may be a wider one. */
void lower_convert(struct lower *l, struct mem src, const struct type *from, struct mem dst, const struct type *to);
vreg lower_addr(struct lower *l, struct mem m); /* base + off in one register */

/* Temporary memory, released for others when the enclosing statement ends. */
struct mem lower_temp(struct lower *l, u32 size, u32 align);

/* The address of a register in the context: ctx + off. */
vreg lower_ctx(struct lower *l);
/* Computed once: returns the register, or 0 when the caller has to compute it and call lower_know(). */
vreg lower_known(struct lower *l, const void *what, u64 key);
void lower_know(struct lower *l, const void *what, u64 key, vreg r);
/* The same for a number (no address that the verifier knows): what is computed at the program's start, and cannot be computed
 * again in the body of a loop, is found there, too. */
void lower_know_number(struct lower *l, const void *what, u64 key, vreg r);
/* Whether a value that goes to dst goes to a record's tail. */
bool lower_in_tail(const struct lower *l, struct mem dst);
/* The number of frames of a stack, stored at `at`: what was just put there need not be loaded. */
void lower_put_frames(struct lower *l, struct mem at, vreg cnt);
vreg lower_frames(struct lower *l, struct mem at);

/* The current task as the verifier knows it; the kernel must have types (KF_BTF). A program that asked for it, for whatever
 * reason, needs no helper for what is a member of it: a call costs 10 to 20 ns, a load next to nothing. */
vreg lower_task(struct lower *l);
/* Where a member of it is, if the program has asked and there is such a member of that size, aligned to it or to 8. */
bool lower_task_member(struct lower *l, const char *name, u32 size, struct mem *at);

/* Order: CPUs and user space share the data map, image/shared.h has the memory model. Where the processor keeps stores and loads
 * in order, a fence is nothing and an acquiring load a plain one. */
/* Everything before it is visible before everything after it. base + off: eight aligned bytes of the data map, which stay as they
 * are. */
void lower_fence(struct lower *l, vreg base, s64 off);
/* A load of eight bytes, before all that comes after it. */
vreg lower_acquire(struct lower *l, vreg base, s64 off);

/* The start of this CPU's part of the data map. */
vreg lower_cpu_data(struct lower *l);
vreg lower_cpu(struct lower *l);
/* The attach cookie: what attaching gave the place that was hit. */
vreg lower_cookie(struct lower *l);
/* Which site fired, as a number (constant where only one can). */
struct opnd lower_site(struct lower *l);
struct opnd lower_site_by_cookie(struct lower *l); /* where the attach cookie is the site's number */

/* Read-only data, shared by equal contents: the offset in the value of map MAP_IDX_CONST. */
u32 lower_const(struct lower *l, const void *bytes, u32 len, u32 align);
u32 lower_const_zeroes(struct lower *l, u32 len);
u32 lower_table_u16(struct lower *l, const u16 *entries, u32 cnt);

/* Maps. */
struct val lower_map_read(struct lower *l, struct expr *e, const struct mem *dst);
void lower_map_assign(struct lower *l, struct expr *target, struct expr *value);
/* target += delta, exactly. Returns the old value if wanted. */
vreg lower_map_add(struct lower *l, struct expr *target, struct opnd delta, bool want_old);
/* The key of a map access, in memory, laid out for the map. */
struct mem lower_map_key(struct lower *l, struct expr *e);
/* delete(@m, k) and delete(@m). Returns 1 if there was something, else 0; want_missing: 0 if there was something, else another
 * number. */
vreg lower_map_delete(struct lower *l, struct expr *e, bool want_missing);
/* How programs read the number that an aggregation is (agg->number). */
struct agg_number {
	/* Adds a CPU's share to acc and acc2, which begin as 0. */
	void (*fold)(struct lower *l, const struct type *t, vreg share, vreg acc, vreg acc2);
	/* The number that they stand for when acc2 is not 0; otherwise it is 0. NULL: acc is the number. */
	vreg (*finish)(struct lower *l, const struct type *t, vreg acc, vreg acc2);
};
/* The number that an aggregation has over all CPUs. */
vreg lower_map_sum(struct lower *l, const struct map *m, struct mem key);
vreg lower_map_find(struct lower *l, struct expr *e);               /* NULL or the value's address */
bool lower_is_same_key(const struct expr *a, const struct expr *b); /* in one run of a program, as far as can be told */

/* All of a map: what for_each_map_elem() takes; of a map without key the address of its value. */
vreg lower_map_whole(struct lower *l, const struct map *m); /* the address of the kernel's map; without key: of the value */
/* Calls a function for each entry of a map with key: bpf_for_each_map_elem(). Returns for how many. */
vreg lower_map_each(struct lower *l, const struct map *m, const struct ir_func *callback, struct opnd arg);

/* A key that ends in a stack may do with the kernel's number for the stack (store/stackids.c). While the key is lowered,
 * lower.stack_id asks the function that gives the stack for it. */
struct stack_id {
	struct expr *of; /* the stack */
	vreg r;          /* its number, or more than any; 0: it cannot be asked for, and the frames are in the key */
	struct mem at;   /* where in the key the stack is */
	struct layer *layer;
	/* The function calls this instead of taking the frames, and sets r to the result and `at`. flags: those of
	 * bpf_get_stackid(). */
	vreg (*ask)(struct lower *l, const struct stack_id *id, u64 flags);
};

/* Strings. */
/* What numbers mean: text() of those below cnt, `other` of all others and where it gives NULL. */
struct texts {
	u32 cnt;
	const char *(*text)(struct lower *l, u32 n);
	const char *other;
};
/* Writes the text of n to dst, cut to size bytes with its NUL. Nothing is said about the bytes behind it. */
void lower_text_of(struct lower *l, struct opnd n, const struct texts *texts, struct mem dst, u32 size);
/* The name that a site is shown by, of a value of its type; dst is a string of the type `to`. */
void lower_site_text(struct lower *l, struct opnd site, const struct type *t, struct mem dst, const struct type *to);
/* Compares at most max_len bytes of two strings (up to a NUL) or arrays and goes to yes if they are equal. */
void lower_string_branch(struct lower *l, struct expr *a, struct expr *b, u32 max_len, bool stop_at_nul, struct ir_block *yes,
			 struct ir_block *no);
/* The same of memory of ours: len bytes, or up to a NUL. */
void lower_mem_branch(struct lower *l, struct mem x, struct mem y, u32 len, bool stop_at_nul, struct ir_block *yes,
		      struct ir_block *no);
vreg lower_to_bool(struct lower *l, struct opnd v);

/* What TAI was ahead of the boot clock when the script was compiled. */
s64 lower_boot_to_tai(struct lower *l);
/* pid in the tracer's namespace. */
vreg lower_pid(struct lower *l);

vreg lower_arith(struct lower *l, enum binary_op op, struct opnd a, struct opnd b, struct span at);
/* A warning that names the place in the script. */
void lower_runtime_error(struct lower *l, struct span at, const char *text);
/* The same about a helper that failed with err; text NULL: what the error number means. */
void lower_helper_error(struct lower *l, struct span at, u32 helper, struct opnd err, const char *text);
/* Foreign memory was read, with this result of the helper: a negative one is counted, and with -k told. */
void lower_check_read(struct lower *l, u32 helper, vreg result);
/* The same where it is known to have failed. */
void lower_read_failed(struct lower *l, u32 helper, vreg err);

/* One program. */
struct ir_func *lower_unit(struct compile *c, struct unit *u, struct ir_mem *mem);

/* Control flow. */
void lower_block(struct lower *l, struct block *b);
void lower_branch(struct lower *l, struct expr *cond, struct ir_block *yes, struct ir_block *no);
u32 lower_mark(const struct lower *l);        /* what is known now … */
void lower_forget(struct lower *l, u32 mark); /* … and nothing more */

/* Records. lower_emit() lays out the record for the given values and sends it. Control records are never lost. */
struct rec *lower_rec_new(struct lower *l, struct expr *call);
void lower_emit(struct lower *l, struct rec *rec, struct expr **fields, u32 cnt);

/* Ends the program here (exit, return, failed filter). */
void lower_leave(struct lower *l);
/* Where a branch goes that ends the program. */
struct ir_block *lower_leave_block(struct lower *l);
void lower_return(struct lower *l, struct stmt *s);
/* Statements of which return leads to the end. */
void lower_fn_body(struct lower *l, struct block *b);

/* Loops. */
void lower_while(struct lower *l, struct stmt *s);
void lower_unroll(struct lower *l, struct stmt *s);
void lower_for(struct lower *l, struct stmt *s);
/* In the body of a loop: has e computed before the outermost one begins, once, by this function. */
struct mem lower_before_loops(struct lower *l, struct expr *e,
			      struct val (*lower)(struct lower *l, struct expr *e, const struct mem *dst));
/* A loop that functions of the language have inside: what is lowered between begin and end is its body, a function that returns 0
 * for another round and 1 for the end. It reaches nothing but the scratch area. */
struct lower_body {
	struct around around;
};
void lower_body_begin(struct lower *l, struct lower_body *body, vreg *args, u32 arg_cnt);
vreg lower_body_frame(struct lower *l); /* what a helper hands to it as its last argument */
const struct ir_func *lower_body_end(struct lower *l);
/* depth: how many functions the body is, itself and those that it has called back. */
void lower_body_loop(struct lower *l, struct opnd rounds, const struct ir_func *body, u32 depth);
/* The user stack of the thread at hand, found by tables: at most limit addresses to `to`, zeroes behind them. Returns how many
 * bytes they take. What goes wrong is counted for the place. */
vreg lower_unwind(struct lower *l, struct span at, struct mem to, u32 limit);
/* Once, when all code is there. */
void lower_loops_end(struct lower *l);
/* A function that for_each_map_elem() calls for nothing: its result is the number of elements. */
struct ir_func *lower_counter(struct lower *l);
