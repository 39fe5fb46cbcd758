/* SPDX-License-Identifier: GPL-2.0-only */
/* An image in the interpreter: the implementation of image/object.h that needs no kernel and no privilege. */
#include "image/object.h"

#include <errno.h>
#include <time.h>

#include "vm/internal.h"

struct vm_object {
	struct object base;
	struct vm *vm;
	struct diag *diag;
	vec(struct vm_prog *) progs;
};

static const struct object_ops vm_ops;

static struct vm_object *self(struct object *o)
{
	BUG_ON(o->ops != &vm_ops);
	return (struct vm_object *)o;
}

struct vm *vm_object_vm(struct object *o)
{
	return self(o)->vm;
}

struct vm_env *vm_object_env(struct object *o)
{
	return vm_env(self(o)->vm);
}

/* Reports the fault at the place of the script that the instruction was compiled from: the last line entry at or before it. */
static void report(struct vm_object *v, u32 prog, const struct vm_fault *fault)
{
	const struct image_prog *p = &v->base.image->progs.at[prog];
	const char *name = p->name ? p->name : "?";
	const struct line_info *line = NULL;

	for (u32 i = 0; fault->has_insn && i < p->line_cnt && p->lines[i].insn <= fault->insn; i++)
		line = &p->lines[i];
	if (line && line->span.src < v->diag->sources.cnt)
		diag_error(v->diag, line->span, E_LOAD, "program %s in the interpreter: %s", name, fault->text);
	else
		diag_error_nowhere(v->diag, E_LOAD, "program %s in the interpreter: %s", name, fault->text);
}

/* Per-CPU maps have a value for each CPU that the script was compiled for. */
static u32 cpu_cnt(const struct image *img)
{
	return MAX(img->home.ncpus, 1u);
}

struct object *vm_object_load(const struct image *img, struct diag *diag)
{
	struct vm_object *v = xzalloc(sizeof(*v));
	struct vm_fault fault;

	v->base.ops = &vm_ops;
	v->base.image = img;
	v->diag = diag;
	v->vm = vm_new(cpu_cnt(img));
	vec_for(def, &img->maps) {
		int err = vm_map_add(v->vm, def);

		if (err < 0) {
			diag_error_nowhere(diag, E_LOAD, "cannot create map %s in the interpreter: %s",
					   def->name ? def->name : "?", strerror(-err));
			goto fail;
		}
	}
	for (u32 i = 0; i < img->progs.cnt; i++) {
		struct vm_prog *p = vm_prog_new(v->vm, img->progs.at[i].insns, img->progs.at[i].insn_cnt, &fault);

		if (!p) {
			report(v, i, &fault);
			goto fail;
		}
		vec_push(&v->progs, p);
	}
	return &v->base;
fail:
	vm_ops.free(&v->base);
	return NULL;
}

static void object_free(struct object *o)
{
	struct vm_object *v = self(o);

	vec_for(p, &v->progs)
		vm_prog_free(*p);
	vec_free(&v->progs);
	vm_free(v->vm);
	free(v);
}

int vm_object_run_ctx(struct object *o, u32 prog, void *ctx, u32 ctx_sz, u64 *result)
{
	struct vm_object *v = self(o);
	struct vm_fault fault;
	int err;

	if (prog >= v->progs.cnt)
		return -EINVAL;
	err = vm_run(v->vm, v->progs.at[prog], ctx, ctx_sz, 0, result, &fault);
	if (err)
		report(v, prog, &fault);
	return err;
}

static int prog_run(struct object *o, u32 prog, u32 *result)
{
	u64 ctx[VM_CTX_WORDS] = {}, value = 0;
	int err;

	/* Of a probe's sites, it is the first that fires. */
	vm_object_env(o)->cookie = prog < o->image->progs.cnt ? o->image->progs.at[prog].site_first : 0;
	err = vm_object_run_ctx(o, prog, ctx, sizeof(ctx), &value);
	if (result)
		*result = (u32)value;
	return err;
}

static int prog_time(struct object *o, u32 prog, u32 times, u64 *ns)
{
	struct timespec begin, end;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (u32 i = 0; i < times && !err; i++)
		err = prog_run(o, prog, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	*ns = (u64)(end.tv_sec - begin.tv_sec) * 1000000000 + (u64)end.tv_nsec - (u64)begin.tv_nsec;
	return err;
}

static void *map_mem(struct object *o, u32 map)
{
	struct vm_map *m = vm_map(self(o)->vm, map);

	return m ? vm_map_mem(m) : NULL;
}

struct reader {
	struct map_dump *out;
	u32 cap;
};

static bool read_one(void *arg, const void *key, const void *value)
{
	struct reader *rd = arg;
	struct map_dump *d = rd->out;

	if (d->cnt == rd->cap) {
		rd->cap = rd->cap ? 2 * rd->cap : 64;
		d->keys = xrealloc(d->keys, (size_t)rd->cap * d->key_sz);
		d->values = xrealloc(d->values, (size_t)rd->cap * d->stride);
	}
	memcpy(d->keys + (size_t)d->cnt * d->key_sz, key, d->key_sz);
	memcpy(d->values + (size_t)d->cnt * d->stride, value, d->stride);
	d->cnt++;
	return true;
}

static int map_read(struct object *o, u32 map, struct map_dump *out)
{
	struct vm_map *m = vm_map(self(o)->vm, map);
	struct reader rd = { out, 0 };

	*out = (struct map_dump){};
	if (!m || m->def.type == BPF_MAP_TYPE_RINGBUF)
		return -EINVAL;
	out->key_sz = m->def.key_sz;
	out->stride = vm_map_stride(m);
	out->cpu_cnt = m->cpu_cnt;
	out->value_sz = out->stride / m->cpu_cnt;
	vm_map_walk(m, read_one, &rd);
	return 0;
}

static int map_lookup(struct object *o, u32 map, const void *key, void *value)
{
	struct vm_map *m = vm_map(self(o)->vm, map);

	return m ? vm_map_lookup(m, key, value) : -EINVAL;
}

static int map_delete(struct object *o, u32 map, const void *keys, u32 cnt)
{
	struct vm_map *m = vm_map(self(o)->vm, map);
	int err = m ? 0 : -EINVAL;

	for (u32 i = 0; i < cnt && !err; i++) {
		err = vm_map_delete(m, (const u8 *)keys + (size_t)i * o->image->maps.at[map].key_sz);
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

static int map_update(struct object *o, u32 map, const void *key, const void *value, u64 flags)
{
	struct vm_map *m = vm_map(self(o)->vm, map);

	return m ? vm_map_update(m, key, value, flags) : -EINVAL;
}

static struct vm_map *ring_at(struct vm_object *v, u32 index)
{
	struct vm_map *m = vm_map(v->vm, index);

	return m && m->def.type == BPF_MAP_TYPE_RINGBUF ? m : NULL;
}

/* A control record's turn comes when the data records are out that were in the data ring before it. */
static bool ctrl_is_next(const struct vm_map *data, const u8 *rec, u32 len)
{
	u64 pos;

	if (!data || len < sizeof(struct rec_head) + sizeof(pos))
		return true;
	memcpy(&pos, rec + len - sizeof(pos), sizeof(pos)); /* its last eight bytes */
	return vm_ring_consumer(data) >= pos;
}

/* The next record that was sent before `end`. */
static bool peek(struct vm_map *ring, u64 end, const u8 **rec, u32 *len)
{
	return ring && vm_ring_peek(ring, rec, len) && vm_ring_consumer(ring) < end;
}

static int consume(struct object *o, object_record_fn fn, void *arg)
{
	struct vm_object *v = self(o);
	struct vm_map *data = ring_at(v, MAP_IDX_RING), *ctrl = ring_at(v, MAP_IDX_CTRL);
	/* Records that fn itself causes wait for the next call. */
	u64 data_end = data ? data->prod : 0, ctrl_end = ctrl ? ctrl->prod : 0;
	int cnt = 0;

	for (;; cnt++) {
		const u8 *rec = NULL, *ctrl_rec = NULL;
		u32 len = 0, ctrl_len = 0;
		bool has_data = peek(data, data_end, &rec, &len);
		bool has_ctrl = peek(ctrl, ctrl_end, &ctrl_rec, &ctrl_len);

		/* With nothing left in the data ring a position ahead of it must not hold the record back for ever. */
		if (has_ctrl && (!has_data || ctrl_is_next(data, ctrl_rec, ctrl_len))) {
			fn(arg, ctrl_rec, ctrl_len - MIN(ctrl_len, (u32)sizeof(u64)));
			vm_ring_pop(ctrl);
		} else if (has_data) {
			fn(arg, rec, len);
			vm_ring_pop(data);
		} else {
			return cnt;
		}
	}
}

static int poll_fd(struct object *o)
{
	(void)o;
	return -1;
}

/* Nothing can be attached to it. */
static int prog_fd(struct object *o, u32 prog)
{
	(void)o;
	(void)prog;
	return -ENOTSUP;
}

/* No program runs concurrently. */
static int quiesce(struct object *o)
{
	(void)o;
	return 0;
}

static const struct object_ops vm_ops = {
	.name = "interpreter",
	.prog_run = prog_run,
	.prog_time = prog_time,
	.map_mem = map_mem,
	.map_read = map_read,
	.map_lookup = map_lookup,
	.map_delete = map_delete,
	.map_update = map_update,
	.consume = consume,
	.poll_fd = poll_fd,
	.free = object_free,
	.prog_fd = prog_fd,
	.quiesce = quiesce,
};
