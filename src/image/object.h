/* SPDX-License-Identifier: GPL-2.0-only */
/* A loaded image: maps and programs that exist somewhere. Two implementations: the kernel (kern/object.c) and the interpreter
 * (vm/object.c); run/ knows only this interface. Map indexes are those of image.maps, program indexes those of image.progs.
 * All functions return 0 or -errno unless said otherwise. */
#pragma once

#include "image/image.h"

struct object;

/* Everything in a map at one moment. Per-CPU values: value_sz is rounded up to 8 and there is one for each of cpu_cnt
 * CPUs. */
struct map_dump {
	u8 *keys, *values; /* malloc'ed: cnt keys of key_sz, cnt values of stride bytes */
	u32 cnt, key_sz, stride;
	u32 cpu_cnt, value_sz; /* stride = cpu_cnt * value_sz */
	bool is_total;         /* values of stride bytes are what is shown: the shares of an aggregation are added up */
};

static inline void map_dump_release(struct map_dump *d)
{
	free(d->keys);
	free(d->values);
	*d = (struct map_dump){};
}

/* Called for each record; data starts with struct rec_head. */
typedef void (*object_record_fn)(void *arg, const u8 *data, u32 len);

struct object_ops {
	const char *name;
	/* Runs a program that is attached to nothing (PROV_SELF) once. *result (may be NULL): what it returned. */
	int (*prog_run)(struct object *o, u32 prog, u32 *result);
	/* Runs it many times. *ns: what that took, without what is around each run. */
	int (*prog_time)(struct object *o, u32 prog, u32 times, u64 *ns);
	/* The value of an array map (data, scratch), shared with the programs. NULL: none. */
	void *(*map_mem)(struct object *o, u32 map);
	int (*map_read)(struct object *o, u32 map, struct map_dump *out);
	int (*map_lookup)(struct object *o, u32 map, const void *key, void *value); /* value: stride bytes */
	/* Keys that are not there, or not any more, are no error. */
	int (*map_delete)(struct object *o, u32 map, const void *keys, u32 cnt);
	/* flags: BPF_ANY, BPF_NOEXIST. */
	int (*map_update)(struct object *o, u32 map, const void *key, const void *value, u64 flags);
	/* Hands over all records that are ready, both rings in order. Returns how many. Must return even if programs send
	 * faster than fn works: what is sent after the call need not be handed over. */
	int (*consume)(struct object *o, object_record_fn fn, void *arg);
	/* A descriptor that becomes readable when records are ready, or -1. */
	int (*poll_fd)(struct object *o);
	void (*free)(struct object *o);
	/* How many hits the kernel did not run the program for, because one was running on that CPU already. NULL: never. */
	u64 (*prog_missed)(struct object *o, u32 prog);
	/* What providers attach. NULL: kern_object_prog_fd(). */
	int (*prog_fd)(struct object *o, u32 prog);
	/* Waits until each program that is running now has ended, but for those that may sleep. Any thread may call it, if
	 * image.waits is set. NULL: there is no way to. */
	int (*quiesce)(struct object *o);
};

struct object {
	const struct object_ops *ops;
	const struct image *image;
	void **works; /* what stores do in user space while it runs: stores_open() of image/store.h; NULL: nothing */
};

/* Creates the maps and loads the programs into the kernel. Trouble is reported in diag. NULL on failure. */
struct object *kern_object_load(const struct image *img, struct diag *diag, bool verbose);
int kern_object_prog_fd(const struct object *o, u32 prog);
/* The same in the interpreter: any user may. */
struct object *vm_object_load(const struct image *img, struct diag *diag);
/* Interpreter only: runs a program on a context of the caller's. */
int vm_object_run_ctx(struct object *o, u32 prog, void *ctx, u32 ctx_sz, u64 *result);
