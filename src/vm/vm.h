/* SPDX-License-Identifier: GPL-2.0-only */
/* A BPF interpreter in user space: runs the programs that our compiler emits, without privileges.
 *
 * It is also a second verifier. Instructions are checked when a program is created (unknown codes, reserved fields, jumps out of
 * a function, code that is never reached), and a run ends with a fault where the kernel's verifier would reject the program:
 * access to memory that a program may not touch, stack bytes or registers that were never written, a stack access that is not
 * aligned, more than 512 bytes of stack over all frames of a call chain, a ring reservation that is neither submitted nor
 * discarded. A fault never harms the process.
 *
 * Addresses in registers are the process's own, except for regions that were given another address by vm_region_add(). Nothing
 * here is thread-safe.
 *
 * A machine is made by vm_new(), then gets its maps (index by index, as in image.maps), then its programs. vm_object_load() of
 * image/object.h does that for an image.
 */
#pragma once

#include "image/image.h"

struct object;
struct vm;
struct vm_map;
struct vm_prog;

enum { VM_COMM_SZ = 16, VM_MAX_FRAMES = 8, VM_CTX_WORDS = 64 };

/* The environment that programs can query. vm_env_init() takes it from this process; tests set it to get the same result
 * every time. */
struct vm_env {
	u32 pid, tid; /* as user space calls them: the kernel's tgid and pid */
	u32 ns_pid, ns_tid;
	u64 pidns_dev, pidns_ino; /* the one namespace that get_ns_current_pid_tgid() knows; ino 0: any */
	u32 uid, gid;
	char comm[VM_COMM_SZ];
	s32 cpu; /* on which programs run; -1: the real one. May be changed between runs */
	u32 numa_node;
	bool clock_fixed; /* then all clocks derive from clock_ns, which grows by clock_step_ns with every reading */
	u64 clock_ns, clock_step_ns;
	u64 boot_off_ns, tai_off_ns; /* added for the boot and TAI clocks when fixed */
	u64 rand;                    /* state of the generator; 0: real random numbers */
	u64 cgroup_id;
	u64 task;                   /* "address" of the current task; vm_region_add() can put something there */
	u64 regs;                   /* address of its struct pt_regs, for task_pt_regs(); 0: none */
	u64 cookie;                 /* get_attach_cookie() */
	u64 func_ip;                /* get_func_ip() */
	const u64 *kstack, *ustack; /* for get_stack(), innermost first; none: it fails */
	u32 kstack_cnt, ustack_cnt;
	u64 max_steps; /* instructions that one run may take */
	/* Effects of programs: written by runs, never reset by them. */
	u32 signal, signal_cnt; /* the last one, and how many; nothing is sent */
	bool signal_to_thread;
	u64 override_ret;
	u32 override_cnt;
	u64 steps; /* instructions of the last run */
};

void vm_env_init(struct vm_env *env);

/* Why a program was refused, or where its run ended. */
struct vm_fault {
	bool has_insn;
	u32 insn;
	char text[320]; /* names the instruction, if there is one */
};

/* ncpus: per-CPU maps have that many values. */
struct vm *vm_new(u32 ncpus);
void vm_free(struct vm *vm); /* maps too; programs must be gone */
struct vm_env *vm_env(struct vm *vm);

/* Memory that programs may use beside their own. Programs see it at addr; it is at host (not copied). Kernel and user memory is
 * only reached by the probe_read family, as in the kernel; the process's own memory needs no region for that. */
enum vm_region_flags {
	VM_REGION_READ = 1 << 0,   /* by plain loads */
	VM_REGION_WRITE = 1 << 1,  /* by plain stores */
	VM_REGION_KERNEL = 1 << 2, /* by probe_read_kernel() … */
	VM_REGION_USER = 1 << 3,   /* by probe_read_user() … */
};
void vm_region_add(struct vm *vm, u64 addr, void *host, u64 size, u32 flags);
void vm_region_drop(struct vm *vm, u64 addr);

/* Maps. vm_map_add() returns the new map's index or -errno, under the kernel's rules; a def of type 0 takes an index and nothing
 * else. As in the kernel, an update of a hash map's element makes a new element (per-CPU kinds are written in place): a pointer
 * that a program got before refers to the old one. The memory of an element that is gone stays accessible until the run ends. */
int vm_map_add(struct vm *vm, const struct image_map *def);
struct vm_map *vm_map(struct vm *vm, u32 index); /* NULL if there is none */
bool vm_map_is_percpu(const struct vm_map *m);
u32 vm_map_cnt(const struct vm_map *m); /* elements of a hash map */
/* As user space sees it: per-CPU values are one after the other, each rounded up to 8 bytes. 0 or -errno. */
int vm_map_lookup(struct vm_map *m, const void *key, void *value);
int vm_map_update(struct vm_map *m, const void *key, const void *value, u64 flags);
int vm_map_delete(struct vm_map *m, const void *key);
u32 vm_map_stride(const struct vm_map *m); /* bytes of that value */
/* Calls fn for each element, stops when it returns false. The value has the form above. */
void vm_map_walk(struct vm_map *m, bool (*fn)(void *arg, const void *key, const void *value), void *arg);
/* All elements of an array map; NULL for other kinds. */
void *vm_map_mem(struct vm_map *m);

/* Ring buffers: the oldest record that was submitted and not discarded. It stays until vm_ring_pop(). */
bool vm_ring_peek(struct vm_map *m, const u8 **data, u32 *len);
void vm_ring_pop(struct vm_map *m);
u64 vm_ring_consumer(const struct vm_map *m); /* position */

/* Checks the instructions, which must stay as they are while the program exists. NULL and fault when they are not well-formed. */
struct vm_prog *vm_prog_new(struct vm *vm, const struct insn *insns, u32 cnt, struct vm_fault *fault);
void vm_prog_free(struct vm_prog *p);

enum vm_run_flags { VM_CTX_WRITABLE = 1 << 0 };
/* Runs a program. ctx may be NULL (size 0). 0 and *result (may be NULL), or -EFAULT and the fault. */
int vm_run(struct vm *vm, const struct vm_prog *p, void *ctx, u32 ctx_sz, u32 flags, u64 *result, struct vm_fault *fault);

/* Of an object that vm_object_load() made. */
struct vm_env *vm_object_env(struct object *o);
struct vm *vm_object_vm(struct object *o);
