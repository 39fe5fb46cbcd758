/* SPDX-License-Identifier: GPL-2.0-only */
/* A loaded image in the kernel: its maps, its programs, and what comes out of its rings (image/object.h). */
#include "image/object.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/disasm.h"
#include "image/btfgen.h"
#include "kern/join.h"
#include "kern/kallsyms.h"
#include "kern/machine.h"
#include "kern/progstats.h"
#include "kern/rcu.h"
#include "kern/ring.h"
#include "kern/sys.h"
#include "kern/types.h"
#include "kern/vlog.h"

/* Verifier logs end with what matters; a log that does not fit is asked for again in a larger buffer, up to this. */
#define LOG_MAX (64u << 20)

struct kmap {
	int fd; /* -1: not needed */
	void *mem;
	size_t mem_sz;
};

struct kobject {
	struct object base; /* must be first */
	struct kmap *maps;
	int *progs;
	int btf_fd, epoll_fd;
	struct ring data, ctrl;
	bool has_data, has_ctrl;
	struct rcu_waiter waiter;
	bool has_waiter;
};

/* What loading needs to know besides the object. */
struct loader {
	struct kobject *o;
	const struct image *img;
	struct diag *diag;
	bool verbose;
	struct arena arena;
	struct btf_blob btf;
};

static const char *errno_text(int err)
{
	if (-err == ENOTSUPP_)
		return "Operation not supported";
	return -err == E2BIG ? "it is too big" : strerror(-err);
}

static bool is_percpu(u32 type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* Bytes of one value as user space sees it: for all CPUs, if the map is per CPU. */
static u32 value_stride(const struct image_map *m)
{
	return is_percpu(m->type) ? ALIGN_UP(m->value_sz, 8) * machine_cpus() : m->value_sz;
}

/* ---- maps ---- */

static size_t array_sz(const struct image_map *m)
{
	return ALIGN_UP((size_t)ALIGN_UP(m->value_sz, 8) * m->max_entries, (size_t)sysconf(_SC_PAGESIZE));
}

static void *map_memory(struct kobject *o, u32 map)
{
	const struct image_map *m = &o->base.image->maps.at[map];
	struct kmap *k = &o->maps[map];
	void *p;

	if (k->mem)
		return k->mem;
	if (k->fd < 0 || m->type != BPF_MAP_TYPE_ARRAY || !(m->flags & BPF_F_MMAPABLE))
		return NULL;
	p = mmap(NULL, array_sz(m), PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	k->mem = p;
	k->mem_sz = array_sz(m);
	return p;
}

static int map_init(struct kobject *o, u32 map)
{
	const struct image_map *m = &o->base.image->maps.at[map];
	u32 zero = 0, freeze_fd;
	u8 *value;
	void *mem;
	int err;

	if (!m->init)
		return 0;
	/* A constant map is frozen, so that the verifier knows what is in it; that needs it not to be mapped for writing. */
	mem = m->flags & BPF_F_RDONLY_PROG ? NULL : map_memory(o, map);
	if (mem) {
		memcpy(mem, m->init, m->init_sz);
		return 0;
	}
	value = xzalloc(m->value_sz);
	memcpy(value, m->init, MIN(m->init_sz, m->value_sz));
	err = kern_map_update(o->maps[map].fd, &zero, value, BPF_ANY);
	free(value);
	freeze_fd = o->maps[map].fd;
	if (!err && m->flags & BPF_F_RDONLY_PROG)
		err = kern_bpf(BPF_MAP_FREEZE, &freeze_fd, sizeof(freeze_fd));
	return err;
}

static void report_map(struct loader *l, const struct image_map *m, int err)
{
	const struct script_map *of = m->script_map ? &l->img->script_maps.at[m->script_map - 1] : NULL;

	if (err == -EPERM && !machine_may_trace(l->diag))
		return;
	if (of)
		diag_error(l->diag, of->first_use, E_LOAD, "the kernel cannot create the map %s: %s", of->name, errno_text(err));
	else
		diag_error_nowhere(l->diag, E_LOAD, "the kernel cannot create the map %s: %s", m->name, errno_text(err));
	if (err == -E2BIG || err == -ENOMEM || err == -EINVAL)
		diag_hint(l->diag, "the map has %u entries of %u bytes: lower max_map_keys, or use shorter strings",
			  m->max_entries, m->key_sz + value_stride(m));
}

static bool create_maps(struct loader *l)
{
	for (u32 i = 0; i < l->img->maps.cnt; i++) {
		const struct image_map *m = &l->img->maps.at[i];
		struct bpf_map_create_attr a = {
			.map_type = m->type,
			.key_size = m->key_sz,
			.value_size = m->value_sz,
			.max_entries = m->max_entries,
			.map_flags = m->flags,
		};
		int fd, err;

		if (!m->type)
			continue;
		btfgen_name(a.map_name, sizeof(a.map_name), m->name ? m->name : "");
		fd = kern_map_create(&a);
		if (fd < 0) {
			report_map(l, m, fd);
			return false;
		}
		l->o->maps[i].fd = fd;
		err = map_init(l->o, i);
		if (err) {
			report_map(l, m, err);
			return false;
		}
	}
	/* While tracing, when op_quiesce() is called, maps cannot be made any more. */
	if (l->img->waits)
		l->o->has_waiter = !rcu_waiter_open(&l->o->waiter);
	return true;
}

static bool open_ring(struct loader *l, u32 map, struct ring *r, bool *has)
{
	struct kobject *o = l->o;
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = map };
	int err;

	if (map >= l->img->maps.cnt || o->maps[map].fd < 0)
		return true;
	err = ring_init(r, o->maps[map].fd, l->img->maps.at[map].max_entries);
	if (!err) {
		*has = true;
		if (o->epoll_fd < 0)
			o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (o->epoll_fd < 0 || epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, o->maps[map].fd, &ev))
			err = -errno;
	}
	if (err)
		diag_error_nowhere(l->diag, E_LOAD, "cannot map the event buffer: %s", errno_text(err));
	return !err;
}

/* ---- programs ---- */

/* Map indexes become descriptors. */
static struct insn *patched_insns(struct loader *l, const struct image_prog *p)
{
	struct insn *insns = arena_alloc(&l->arena, p->insn_cnt * sizeof(*insns));

	memcpy(insns, p->insns, p->insn_cnt * sizeof(*insns));
	for (u32 i = 0; i < p->insn_cnt; i++) {
		struct insn *in = &insns[i];

		if (!insn_is_wide(in))
			continue;
		if (in->src == BPF_PSEUDO_MAP_FD || in->src == BPF_PSEUDO_MAP_VALUE) {
			u32 map = in->imm;

			BUG_ON(map >= l->img->maps.cnt || l->o->maps[map].fd < 0);
			in->imm = l->o->maps[map].fd;
		}
		i++; /* the second half */
	}
	return insns;
}

static void report_prog(struct loader *l, const struct image_prog *p, int err, const char *log)
{
	struct vlog v = vlog_explain(log);
	struct span at = image_prog_span(p, v.insn);

	if (err == -EPERM && !*log) {
		if (!machine_may_trace(l->diag))
			return;
		diag_error(l->diag, at, E_LOAD, "the kernel does not permit programs for %s probes: Operation not permitted",
			   provider_name(p->provider));
		return;
	}
	if (!v.text) {
		diag_error(l->diag, at, E_LOAD, "the kernel refused the program for %s (%u instructions): %s", p->name,
			   p->insn_cnt, errno_text(err));
	} else {
		diag_error(l->diag, at, E_LOAD, "the kernel refused the program for %s at instruction %lld: %.*s", p->name,
			   (long long)v.insn, (int)v.len, v.text);
		/* The one thing that the checks leave to the kernel. */
		if (strstr(log, "infinite loop") || strstr(log, "program is too large") || strstr(log, "too complex"))
			diag_hint(
				l->diag,
				"the verifier follows every iteration of a loop to its end: use a constant limit, and do less in each iteration");
		else
			diag_hint(l->diag, "the script passed all checks, so this is a bug in sonde, or a limit of this kernel");
	}
	if (*log && l->verbose)
		diag_hint(l->diag, "the verifier's log:\n%s", log);
	else if (*log)
		diag_hint(l->diag, "-v shows the verifier's log");
}

struct renamed {
	const char *func;
	char *found; /* malloc'ed */
};

static bool look_for_renamed(void *arg, const struct ksym *sym, char type)
{
	struct renamed *r = arg;
	size_t len = strlen(r->func);

	if (!ksym_is_text(type) || strncmp(sym->name, r->func, len) || sym->name[len] != '.')
		return true;
	r->found = xstrdup(sym->name);
	return false;
}

static void hint_kprobe(struct loader *l, const struct image_prog *p, const char *func)
{
	if (p->attr.attach_type == BPF_TRACE_FENTRY || p->attr.attach_type == BPF_TRACE_FEXIT)
		diag_hint(l->diag, "probe it by %s:%s", p->attr.attach_type == BPF_TRACE_FEXIT ? "kretprobe" : "kprobe", func);
}

/* Says why the kernel attaches no program there: not the program is refused, but its place. Returns the function by which a
 * kprobe may be possible, malloc'ed, or NULL. */
static char *explain_place(struct loader *l, const struct site *s, struct vlog v, const char **why)
{
	struct renamed r = { s->func };

	if (!v.has_no_address || !s->func) {
		*why = v.text ? arena_printf(l->diag->arena, "the kernel refuses programs there: %.*s", (int)v.len, v.text) :
				"the kernel refuses programs there";
		return s->func ? xstrdup(s->func) : NULL;
	}
	*why = "the kernel has types for the function, but no address: the compiler has inlined or renamed it";
	kallsyms_each(look_for_renamed, &r);
	return r.found;
}

/* As missing_probes wants it. False: that ends the run. */
static bool report_place(struct loader *l, const struct image_prog *p, struct vlog v)
{
	const struct site *s = &l->img->sites.at[p->site_first];
	enum missing_probes missing = l->img->config.missing_probes;
	const char *why;
	char *other;

	if (s->is_wild || missing == MISSING_IGNORE)
		return true;
	other = explain_place(l, s, v, &why);
	if (missing == MISSING_WARN)
		diag_warn(l->diag, s->span, W_MISSING_PROBE, "Unable to attach probe: %s. %s. Skipping.", s->name, why);
	else
		diag_error(l->diag, s->span, E_LOAD, "Unable to attach probe: %s. %s.", s->name, why);
	if (other)
		hint_kprobe(l, p, other);
	if (missing == MISSING_ERROR)
		diag_hint(l->diag, "If this is expected, set the 'missing_probes' config variable to 'warn'.");
	free(other);
	return missing == MISSING_WARN;
}

/* Whether the kernel has refused not the program but where it is to go. Of what a wildcard matched, nothing else is likely. */
static bool is_about_place(const struct loader *l, const struct image_prog *p, int err, struct vlog v)
{
	if (p->site_cnt != 1 || !p->attr.attach_btf_id || v.insn >= 0)
		return false;
	if (err != -EINVAL && err != -ENOENT && err != -EBUSY && err != -EOPNOTSUPP && err != -ENOTSUPP_)
		return false;
	return !v.text || v.is_about_place || l->img->sites.at[p->site_first].is_wild;
}

/* Loads again with a log. Returns what loading returned; *log is malloc'ed. */
static int load_with_log(struct loader *l, struct bpf_prog_load_attr *a, char **log)
{
	u64 want = l->img->config.log_size;
	u32 sz = MAX(64u << 10, (u32)MIN(want, LOG_MAX));
	int r;

	a->log_level = BPF_LOG_LEVEL1 | (l->verbose ? BPF_LOG_LEVEL2 : 0);
	*log = NULL;
	for (;; sz *= 4) {
		/* Not touched beforehand: what the kernel does not write costs no memory. */
		*log = xrealloc(*log, sz);
		**log = 0;
		a->log_buf = (u64)(uintptr_t)*log;
		a->log_size = sz;
		r = kern_prog_load(a);
		if (r != -ENOSPC || sz >= LOG_MAX)
			break;
	}
	(*log)[sz - 1] = 0;
	a->log_buf = a->log_size = a->log_level = 0;
	return r;
}

static void set_btf(struct loader *l, struct bpf_prog_load_attr *a, u32 prog, bool with_lines)
{
	const struct btfgen_prog *b = &l->btf.progs[prog];

	if (l->o->btf_fd < 0)
		return;
	a->prog_btf_fd = l->o->btf_fd;
	a->func_info_rec_size = sizeof(*b->funcs);
	a->func_info = (u64)(uintptr_t)b->funcs;
	a->func_info_cnt = b->func_cnt;
	a->line_info_rec_size = with_lines ? sizeof(*b->lines) : 0;
	a->line_info = with_lines ? (u64)(uintptr_t)b->lines : 0;
	a->line_info_cnt = with_lines ? b->line_cnt : 0;
}

/* A descriptor of the module or program that the program's attach_btf_id is of; 0: the kernel itself. -errno after reporting. */
static int owner_fd(struct loader *l, const struct image_prog *p)
{
	const struct prog_attr *a = &p->attr;
	int fd = a->prog_id ? kern_fd_by_id(BPF_PROG_GET_FD_BY_ID, a->prog_id) : a->module ? kern_btf_module_fd(a->module) : 0;

	if (fd < 0)
		diag_error(l->diag, p->span, E_LOAD, "%s is no longer loaded: %s", l->img->sites.at[p->site_first].name,
			   strerror(-fd));
	return fd;
}

static bool load_prog(struct loader *l, u32 prog)
{
	const struct image_prog *p = &l->img->progs.at[prog];
	struct bpf_prog_load_attr a = {
		.insns = (u64)(uintptr_t)patched_insns(l, p),
		.insn_cnt = p->insn_cnt,
		.license = (u64)(uintptr_t)(l->img->config.license ? l->img->config.license : "GPL"),
	};
	bool goes_on = true;
	char *log = NULL;
	int fd, of_fd = owner_fd(l, p);

	if (of_fd < 0)
		return false;
	a.prog_type = p->attr.type;
	a.expected_attach_type = p->attr.attach_type;
	a.attach_btf_id = p->attr.attach_btf_id;
	a.attach_btf_obj_fd = of_fd;
	a.prog_flags = p->attr.is_sleepable ? BPF_F_SLEEPABLE : 0;
	btfgen_name(a.prog_name, sizeof(a.prog_name), p->name ? p->name : "");
	set_btf(l, &a, prog, true);
	fd = kern_prog_load(&a);
	if (fd < 0) {
		int err = fd;

		fd = load_with_log(l, &a, &log);
		/* Lines are a comfort: should a kernel not like ours, go on without. */
		if (fd < 0 && (strstr(log, "line_info") || strstr(log, "linfo"))) {
			set_btf(l, &a, prog, false);
			free(log);
			fd = load_with_log(l, &a, &log);
		}
		err = fd == -ENOSPC ? err : fd;
		if (fd < 0 && is_about_place(l, p, err, vlog_explain(log)))
			goes_on = report_place(l, p, vlog_explain(log));
		else if (fd < 0) {
			report_prog(l, p, err, log);
			goes_on = false;
		}
		free(log);
	}
	if (of_fd)
		close(of_fd);
	l->o->progs[prog] = fd;
	return goes_on;
}

/* ---- struct object_ops ---- */

static int op_prog_run(struct object *base, u32 prog, u32 *result)
{
	return kern_prog_run(((struct kobject *)base)->progs[prog], -1, result);
}

static int by_value(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return (x > y) - (x < y);
}

/* The program and the empty one in turns, so that a machine that gets faster or slower meanwhile does so for both; and of all
 * turns the median, which an interrupt does not move. */
static int op_prog_time(struct object *base, u32 prog, u32 times, u64 *ns)
{
	int stats_fd = progstats_enable(), empty_fd = progstats_load_empty();
	u32 turn = MIN(times, 64), turns = times / turn;
	s64 *took = xzalloc(turns * sizeof(*took));
	u64 with, without;
	int err = stats_fd < 0 ? stats_fd : empty_fd < 0 ? empty_fd : 0;

	for (u32 i = 0; i < turns && !err; i++) {
		err = progstats_run(((struct kobject *)base)->progs[prog], turn, &with);
		if (!err)
			err = progstats_run(empty_fd, turn, &without);
		took[i] = (s64)(with - without);
	}
	qsort(took, turns, sizeof(*took), by_value);
	*ns = err || took[turns / 2] < 0 ? 0 : (u64)took[turns / 2] * times / turn;
	free(took);
	if (stats_fd >= 0)
		close(stats_fd);
	if (empty_fd >= 0)
		close(empty_fd);
	return err;
}

static void *op_map_mem(struct object *base, u32 map)
{
	return map_memory((struct kobject *)base, map);
}

/* Room for cap entries. */
static void dump_grow(struct map_dump *d, u32 cap)
{
	d->keys = xrealloc(d->keys, (size_t)cap * d->key_sz);
	d->values = xrealloc(d->values, (size_t)cap * d->stride);
}

/* One key after the other: for maps that know no batches. Keys that are deleted meanwhile may make it start over, hence the
 * limit. */
static int read_one_by_one(int fd, const struct image_map *m, struct map_dump *d)
{
	u8 *key = xzalloc(m->key_sz), *next = xzalloc(m->key_sz);
	u32 cap = 0;
	int err;

	d->cnt = 0;
	err = kern_map_next_key(fd, NULL, next);
	while (!err && d->cnt < m->max_entries) {
		if (d->cnt == cap)
			dump_grow(d, cap = MAX(64, 2 * cap));
		err = kern_map_lookup(fd, next, d->values + (size_t)d->cnt * d->stride);
		if (!err)
			memcpy(d->keys + (size_t)d->cnt++ * d->key_sz, next, d->key_sz);
		else if (err != -ENOENT)
			break;
		memcpy(key, next, m->key_sz);
		err = kern_map_next_key(fd, key, next);
	}
	free(key);
	free(next);
	return err == -ENOENT ? 0 : err;
}

static int read_batches(int fd, const struct image_map *m, struct map_dump *d)
{
	/* The kernel keeps its place in 4 bytes (a bucket) or in a key. */
	u8 *in = xzalloc(MAX(4, m->key_sz)), *out = xzalloc(MAX(4, m->key_sz));
	u32 cap = MIN(m->max_entries, 256), batch = cap;
	bool first = true;
	int err;

	dump_grow(d, cap);
	for (;;) {
		u32 cnt = batch;

		if (d->cnt + cnt > cap)
			dump_grow(d, cap = MAX(d->cnt + cnt, 2 * cap));
		cnt = cap - d->cnt;
		err = kern_map_lookup_batch(fd, first ? NULL : in, out, d->keys + (size_t)d->cnt * d->key_sz,
					    d->values + (size_t)d->cnt * d->stride, &cnt);
		d->cnt += cnt;
		if (err == -ENOSPC) {
			batch = MAX(2 * batch, 2 * (cap - d->cnt)); /* a bucket with more entries than that */
			continue;
		}
		if (err)
			break;
		first = false;
		memcpy(in, out, MAX(4, m->key_sz));
	}
	free(in);
	free(out);
	return err == -ENOENT ? 0 : err;
}

static int op_map_read(struct object *base, u32 map, struct map_dump *d)
{
	struct kobject *o = (struct kobject *)base;
	const struct image_map *m = &base->image->maps.at[map];
	int err;

	*d = (struct map_dump){ .key_sz = m->key_sz, .stride = value_stride(m) };
	d->cpu_cnt = is_percpu(m->type) ? machine_cpus() : 1;
	d->value_sz = d->stride / d->cpu_cnt;
	if (o->maps[map].fd < 0)
		return -ENOENT;
	err = read_batches(o->maps[map].fd, m, d);
	if (err == -ENOTSUPP_ || err == -EOPNOTSUPP || err == -EINVAL)
		err = read_one_by_one(o->maps[map].fd, m, d);
	if (err)
		map_dump_release(d);
	return err;
}

static int op_map_lookup(struct object *base, u32 map, const void *key, void *value)
{
	return kern_map_lookup(((struct kobject *)base)->maps[map].fd, key, value);
}

static int op_map_delete(struct object *base, u32 map, const void *keys, u32 cnt)
{
	int fd = ((struct kobject *)base)->maps[map].fd;
	u32 key_sz = base->image->maps.at[map].key_sz;
	bool has_batches = true;

	for (u32 i = 0; i < cnt;) {
		const u8 *key = (const u8 *)keys + (size_t)i * key_sz;
		u32 done = cnt - i;
		int err = has_batches ? kern_map_delete_batch(fd, key, &done) : -ENOTSUPP_;

		if (err == -ENOTSUPP_ || err == -EOPNOTSUPP || err == -EINVAL) {
			has_batches = false;
			done = 0;
			err = kern_map_delete(fd, key);
		}
		if (err && err != -ENOENT)
			return err;
		/* It stopped at a key that a program was faster to delete, or that one was deleted by itself. */
		i += done + (err || !has_batches);
	}
	return 0;
}

static int op_map_update(struct object *base, u32 map, const void *key, const void *value, u64 flags)
{
	return kern_map_update(((struct kobject *)base)->maps[map].fd, key, value, flags);
}

static int op_consume(struct object *base, object_record_fn fn, void *arg)
{
	struct kobject *o = (struct kobject *)base;

	return rings_consume(o->has_data ? &o->data : NULL, o->has_ctrl ? &o->ctrl : NULL, fn, arg);
}

static int op_poll_fd(struct object *base)
{
	return ((struct kobject *)base)->epoll_fd;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void op_free(struct object *base)
{
	struct kobject *o = (struct kobject *)base;

	for (u32 i = 0; i < base->image->progs.cnt; i++)
		close_fd(o->progs[i]);
	ring_release(&o->data);
	ring_release(&o->ctrl);
	for (u32 i = 0; i < base->image->maps.cnt; i++) {
		if (o->maps[i].mem)
			munmap(o->maps[i].mem, o->maps[i].mem_sz);
		close_fd(o->maps[i].fd);
	}
	close_fd(o->epoll_fd);
	close_fd(o->btf_fd);
	if (o->has_waiter)
		rcu_waiter_close(&o->waiter);
	free(o->maps);
	free(o->progs);
	free(o);
}

static int op_prog_fd(struct object *base, u32 prog)
{
	return kern_object_prog_fd(base, prog);
}

static u64 op_prog_missed(struct object *base, u32 prog)
{
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);

	return kern_obj_info(kern_object_prog_fd(base, prog), &info, &len) ? 0 : info.recursion_misses;
}

static int op_quiesce(struct object *base)
{
	struct kobject *o = (struct kobject *)base;

	return o->has_waiter ? rcu_wait(&o->waiter) : -EOPNOTSUPP;
}

static const struct object_ops kern_ops = {
	.name = "kernel",
	.prog_run = op_prog_run,
	.prog_time = op_prog_time,
	.map_mem = op_map_mem,
	.map_read = op_map_read,
	.map_lookup = op_map_lookup,
	.map_delete = op_map_delete,
	.map_update = op_map_update,
	.consume = op_consume,
	.poll_fd = op_poll_fd,
	.free = op_free,
	.prog_fd = op_prog_fd,
	.prog_missed = op_prog_missed,
	.quiesce = op_quiesce,
};

/* ---- loading ---- */

static struct kobject *object_new(const struct image *img)
{
	struct kobject *o = xzalloc(sizeof(*o));

	o->base.ops = &kern_ops;
	o->base.image = img;
	o->btf_fd = o->epoll_fd = -1;
	o->maps = xzalloc(img->maps.cnt * sizeof(*o->maps));
	o->progs = xzalloc(img->progs.cnt * sizeof(*o->progs));
	for (u32 i = 0; i < img->maps.cnt; i++)
		o->maps[i].fd = -1;
	for (u32 i = 0; i < img->progs.cnt; i++)
		o->progs[i] = -1;
	return o;
}

static bool load_all(struct loader *l)
{
	bool ok = true;

	/* Each program needs one for itself and one for its link. */
	if (!machine_may_open(l->diag, l->img->maps.cnt + 2 * l->img->progs.cnt))
		return false;
	if (!create_maps(l) || !open_ring(l, MAP_IDX_RING, &l->o->data, &l->o->has_data) ||
	    !open_ring(l, MAP_IDX_CTRL, &l->o->ctrl, &l->o->has_ctrl))
		return false;
	l->img = join_sessions(&l->arena, l->img);
	btfgen_build(l->img, l->diag, &l->arena, &l->btf);
	/* Refused (a kernel without BTF): programs without callbacks do not need it. */
	l->o->btf_fd = kern_btf_load(l->btf.data, l->btf.len, NULL, 0);
	/* All of them, so that all trouble is reported at once; but a missing privilege is the same for each. */
	for (u32 i = 0; i < l->img->progs.cnt; i++) {
		if (l->img->progs.at[i].insn_cnt && !load_prog(l, i))
			ok = false;
		if (!ok && i >= 3)
			break;
	}
	return ok;
}

struct object *kern_object_load(const struct image *img, struct diag *diag, bool verbose)
{
	struct loader l = { .o = object_new(img), .img = img, .diag = diag, .verbose = verbose };
	bool ok;

	arena_init(&l.arena);
	ok = load_all(&l);
	arena_release(&l.arena);
	if (ok)
		return &l.o->base;
	op_free(&l.o->base);
	return NULL;
}

int kern_object_prog_fd(const struct object *o, u32 prog)
{
	return ((const struct kobject *)o)->progs[prog];
}
