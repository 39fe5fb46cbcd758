/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of vm/ share. */
#pragma once

#include "image/uapi.h"
#include "vm/vm.h"

/* Guard bytes around stack frames and map values: an access slightly outside its object hits no other object. */
enum { VM_GUARD = 256 };
/* Fills memory that the kernel would hand out uninitialised, so that reads of unwritten bytes show in results. */
enum { VM_POISON = 0xa5 };
/* Upper half of the value that LD_IMM64 of a function yields. It is not a readable address. */
#define VM_FUNC_TAG 0x636e7566ull

struct vm_region {
	u64 addr, size;
	u8 *host;
	u32 flags;
};

struct vm {
	struct vm_env env;
	u32 ncpus;
	u32 running; /* nested vm_run() */
	u64 seq;     /* counts map insertions */
	vec(struct vm_map *) maps;
	vec(struct vm_region) regions;
};

struct vm_prog {
	struct vm *vm;
	const struct insn *insns;
	u32 cnt;
	u16 *uses; /* bit set of the registers that each instruction reads */
};

struct vm_frame {
	u8 guard[VM_GUARD];
	u8 mem[MAX_BPF_STACK];
	u8 guard_end[VM_GUARD];
	u8 is_init[MAX_BPF_STACK];
	u64 r[11];
	u16 reg_init; /* bit set */
	u32 used;     /* bytes below r10 that were touched */
};

/* A ring record between reserve and submit. */
struct vm_reservation {
	struct vm_map *ring; /* NULL: a helper's memory, lent to a callback for reading */
	u8 *data;
	u32 size;
};

/* One run. */
struct vm_run {
	struct vm *vm;
	const struct vm_prog *prog;
	u8 *ctx;
	u32 ctx_sz;
	bool ctx_writable;
	u32 cpu;
	u64 steps;
	u32 pc;    /* of the instruction that is being executed */
	u32 depth; /* of the current frame */
	bool failed;
	struct vm_fault *fault;
	vec(struct vm_reservation) reservations;
	struct vm_frame frames[VM_MAX_FRAMES];
};

/* Ends the run: the first fault is kept. Returns 0 for the convenience of helpers. */
u64 vm_fail(struct vm_run *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Calls a subprogram as a callback. False: the run has failed. */
bool vm_call(struct vm_run *r, u32 pc, const u64 *args, u32 arg_cnt, u64 *result);

/* mem.c */
enum vm_access {
	VM_LOAD,
	VM_STORE,
	VM_ATOMIC, /* load and store, aligned */
	VM_IN,     /* a helper reads */
	VM_OUT,    /* a helper writes all of it */
};
/* The host address of size > 0 bytes that a program may access this way, or NULL and the run has failed. */
u8 *vm_access(struct vm_run *r, u64 addr, u32 size, enum vm_access acc);
/* Stack, maps and rings: memory that has kernel addresses in the kernel. */
bool vm_is_internal(const struct vm_run *r, u64 addr);
/* Copies bytes as probe_read does. -EFAULT, or -ERANGE as x86 has it, when any cannot be read. */
int vm_probe(struct vm_run *r, void *dst, u64 addr, u32 size, u32 spaces);
/* Copies a string of at most size bytes, its NUL included. Its length with the NUL, or the same errors. */
int vm_probe_str(struct vm_run *r, char *dst, u64 addr, u32 size, u32 spaces);

/* alu.c */
/* The result of an ALU or ALU64 instruction on dst and src (the immediate's value for BPF_K). */
u64 vm_alu(const struct insn *i, u64 dst, u64 src);
bool vm_cond(u8 op, bool is_32, u64 a, u64 b);
void vm_atomic(struct vm_frame *f, const struct insn *i, u8 *p);

/* check.c: the registers that an instruction reads, and whether a program is well-formed */
bool vm_check(struct vm_prog *p, struct vm_fault *fault);
void vm_fault_set(struct vm_fault *f, const struct vm_prog *p, u32 pc, const char *fmt, va_list ap);

/* helper.c */
u64 vm_helper(struct vm_run *r, u32 number, const u64 a[5]);
/* How many registers a helper reads, -1 if we do not have it. */
int vm_helper_args(u32 number);

/* map.c */
enum vm_elem_state { VM_ELEM_FREE, VM_ELEM_LIVE, VM_ELEM_DEAD };

struct vm_elem {
	u8 state;
	u32 hash, next;         /* in its bucket: 1 + index */
	u32 lru_prev, lru_next; /* 1 + index */
	u64 seq;
};

struct vm_map {
	struct vm *vm;
	struct image_map def;
	u8 *mem;
	u64 mem_sz;
	u32 cpu_cnt;    /* 1 unless per-CPU */
	u32 val_stride; /* from one CPU's value to the next */
	u32 val_off, elem_stride;
	/* hash kinds */
	u32 elem_cnt, cnt;
	u32 *buckets, bucket_mask;
	vec(struct vm_elem) elems; /* those that were ever used */
	vec(u32) free, dead;
	u32 lru_first, lru_last; /* least recently used first; 1 + index */
	/* ring */
	u64 prod, cons;
};

bool vm_map_is_hash(const struct vm_map *m);
bool vm_map_is_array(const struct vm_map *m);
void vm_map_free(struct vm_map *m);
/* Releases deleted elements: no run has pointers to them any more. */
void vm_map_reclaim(struct vm_map *m);
/* NULL when size bytes at addr (inside m->mem) belong to one key or value, else the reason why not. */
const char *vm_map_locate(const struct vm_map *m, u64 addr, u32 size, bool write);
/* The address of the value for a CPU, or NULL. */
u8 *vm_map_find(struct vm_map *m, const void *key, u32 cpu);
/* cpu -1: value holds all CPUs' values. */
int vm_map_set(struct vm_map *m, const void *key, const void *value, s32 cpu, u64 flags);
int vm_map_remove(struct vm_map *m, const void *key);
/* The key of element i and this CPU's value, if it exists and is not newer than seq. */
bool vm_map_elem(struct vm_map *m, u32 i, u64 seq, u32 cpu, u8 **key, u8 **value);
u32 vm_map_elems(const struct vm_map *m);

/* ring.c */
u8 *vm_ring_reserve(struct vm_map *m, u64 size);
void vm_ring_commit(struct vm_map *m, u8 *data, bool discard);
u64 vm_ring_query(const struct vm_map *m, u64 what);
