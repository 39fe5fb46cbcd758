/* SPDX-License-Identifier: GPL-2.0-only */
/* The helpers that our code generator calls, with the kernel's results. An argument that the verifier would reject (a bad
 * pointer, a map of the wrong kind) is a fault; where the kernel returns an error code, the same code is returned. */
#include "vm/internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

enum { MAX_LOOPS = 8 << 20, HZ = 250 };

typedef u64 (*helper_fn)(struct vm_run *r, const u64 a[5]);

#define ERR(e) ((u64)(s64)(e))

/* ---- arguments ---- */

enum map_kinds { MK_HASH = 1, MK_ARRAY = 2, MK_RING = 4, MK_PERCPU = 8 /* no others */, MK_STACKS = 16 };

static struct vm_map *map_arg(struct vm_run *r, u64 v, u32 kinds)
{
	vec_for(at, &r->vm->maps) {
		struct vm_map *m = *at;
		u32 kind = m->def.type == BPF_MAP_TYPE_STACK_TRACE ? MK_STACKS :
			vm_map_is_hash(m)                          ? MK_HASH :
			vm_map_is_array(m)                         ? MK_ARRAY :
								     MK_RING;

		if ((u64)m != v || !m->def.type)
			continue;
		if ((kinds & kind) && (!(kinds & MK_PERCPU) || vm_map_is_percpu(m)))
			return m;
		vm_fail(r, "the helper cannot be used on map %s, which is of another kind", m->def.name);
		return NULL;
	}
	vm_fail(r, "0x%llx is not a map", (unsigned long long)v);
	return NULL;
}

/* The verifier bounds sizes: a huge one is a negative number. */
static bool size_arg(struct vm_run *r, u64 v, bool may_be_zero)
{
	if (v > INT32_MAX || (!v && !may_be_zero)) {
		vm_fail(r, "bad size %lld", (long long)v);
		return false;
	}
	return true;
}

static u8 *mem_arg(struct vm_run *r, u64 addr, u64 size, enum vm_access acc)
{
	static u8 nothing;

	if (!size_arg(r, size, true))
		return NULL;
	return size ? vm_access(r, addr, size, acc) : &nothing;
}

static bool ctx_arg(struct vm_run *r, u64 v)
{
	if (v != (u64)r->ctx)
		vm_fail(r, "the first argument is not the context");
	return v == (u64)r->ctx;
}

static bool func_arg(struct vm_run *r, u64 v, u32 *pc)
{
	*pc = (u32)v;
	if (v >> 32 != VM_FUNC_TAG || *pc >= r->prog->cnt) {
		vm_fail(r, "0x%llx is not a function", (unsigned long long)v);
		return false;
	}
	return true;
}

/* ---- maps ---- */

static u64 h_map_lookup_elem(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_HASH | MK_ARRAY);
	u8 *key = m ? mem_arg(r, a[1], m->def.key_sz, VM_IN) : NULL;

	return key ? (u64)vm_map_find(m, key, r->cpu) : 0;
}

static u64 h_map_lookup_percpu_elem(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_HASH | MK_ARRAY | MK_PERCPU);
	u8 *key = m ? mem_arg(r, a[1], m->def.key_sz, VM_IN) : NULL;

	return key && (u32)a[2] < r->vm->ncpus ? (u64)vm_map_find(m, key, (u32)a[2]) : 0;
}

static u64 h_map_update_elem(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_HASH | MK_ARRAY);
	u8 *key = m ? mem_arg(r, a[1], m->def.key_sz, VM_IN) : NULL;
	u8 *value = key ? mem_arg(r, a[2], m->def.value_sz, VM_IN) : NULL;

	return value ? ERR(vm_map_set(m, key, value, r->cpu, a[3])) : 0;
}

static u64 h_map_delete_elem(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_HASH | MK_ARRAY);
	u8 *key = m ? mem_arg(r, a[1], m->def.key_sz, VM_IN) : NULL;

	return key ? ERR(vm_map_remove(m, key)) : 0;
}

static u64 h_for_each_map_elem(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_HASH | MK_ARRAY);
	u64 seq = r->vm->seq, seen = 0, stop = 0;
	u32 pc;

	if (!m || !func_arg(r, a[1], &pc))
		return 0;
	if (a[3])
		return ERR(-EINVAL);
	/* Elements that the callback adds are not visited, so this ends. There may be more of them meanwhile. */
	for (u32 i = 0; i < vm_map_elems(m) && !stop; i++) {
		u8 *key, *value;
		bool ok;

		if (!vm_map_elem(m, i, seq, r->cpu, &key, &value))
			continue;
		if (!key) { /* an array's key is a number of ours, readable while the callback runs */
			vec_push(&r->reservations, (struct vm_reservation){ NULL, (u8 *)&i, sizeof(i) });
			key = (u8 *)&i;
		}
		ok = vm_call(r, pc, (u64[]){ (u64)m, (u64)key, (u64)value, a[2] }, 4, &stop);
		if (key == (u8 *)&i) {
			u32 k = r->reservations.cnt;

			while (r->reservations.at[--k].data != (u8 *)&i)
				;
			r->reservations.at[k] = r->reservations.at[--r->reservations.cnt];
		}
		if (!ok)
			return 0;
		seen++;
	}
	return seen;
}

static u64 h_loop(struct vm_run *r, const u64 a[5])
{
	u32 pc, cnt = (u32)a[0];
	u64 i = 0, stop = 0;

	if (!func_arg(r, a[1], &pc))
		return 0;
	if (a[3])
		return ERR(-EINVAL);
	if (cnt > MAX_LOOPS)
		return ERR(-E2BIG);
	for (; i < cnt && !stop; i++)
		if (!vm_call(r, pc, (u64[]){ i, a[2] }, 2, &stop))
			return 0;
	return i;
}

/* ---- ring buffers ---- */

static u64 h_ringbuf_output(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_RING);
	u8 *data = m ? mem_arg(r, a[1], a[2], VM_IN) : NULL, *rec;

	if (!data)
		return 0;
	if (a[3] & ~(u64)(BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP))
		return ERR(-EINVAL);
	rec = vm_ring_reserve(m, a[2]);
	if (!rec)
		return ERR(-EAGAIN);
	memcpy(rec, data, a[2]);
	vm_ring_commit(m, rec, false);
	return 0;
}

static u64 h_ringbuf_reserve(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_RING);
	u8 *rec;

	if (!m || !size_arg(r, a[1], true) || a[2])
		return 0;
	rec = vm_ring_reserve(m, a[1]);
	if (rec)
		vec_push(&r->reservations, (struct vm_reservation){ m, rec, (u32)a[1] });
	return (u64)rec;
}

static u64 give_back(struct vm_run *r, u64 addr, bool discard)
{
	vec_for(res, &r->reservations) {
		if (!res->ring || (u64)res->data != addr)
			continue;
		vm_ring_commit(res->ring, res->data, discard);
		*res = r->reservations.at[--r->reservations.cnt];
		return 0;
	}
	return vm_fail(r, "0x%llx is not a reserved ring record", (unsigned long long)addr);
}

static u64 h_ringbuf_submit(struct vm_run *r, const u64 a[5])
{
	return give_back(r, a[0], false);
}

static u64 h_ringbuf_discard(struct vm_run *r, const u64 a[5])
{
	return give_back(r, a[0], true);
}

static u64 h_ringbuf_query(struct vm_run *r, const u64 a[5])
{
	struct vm_map *m = map_arg(r, a[0], MK_RING);

	return m ? vm_ring_query(m, a[1]) : 0;
}

/* ---- memory at addresses that may be wrong ---- */

static u64 probe_read(struct vm_run *r, const u64 a[5], u32 spaces)
{
	u8 *dst = mem_arg(r, a[0], a[1], VM_OUT);
	int err;

	if (!dst)
		return 0;
	err = vm_probe(r, dst, a[2], a[1], spaces);
	if (err)
		memset(dst, 0, a[1]);
	return ERR(err);
}

static u64 probe_read_str(struct vm_run *r, const u64 a[5], u32 spaces)
{
	u8 *dst = mem_arg(r, a[0], a[1], VM_OUT);
	int len;

	if (!dst)
		return 0;
	len = vm_probe_str(r, (char *)dst, a[2], a[1], spaces);
	if (len < 0)
		memset(dst, 0, a[1]);
	return ERR(len);
}

static u64 h_probe_read(struct vm_run *r, const u64 a[5])
{
	return probe_read(r, a, VM_REGION_KERNEL | VM_REGION_USER);
}

static u64 h_probe_read_kernel(struct vm_run *r, const u64 a[5])
{
	return probe_read(r, a, VM_REGION_KERNEL);
}

static u64 h_probe_read_user(struct vm_run *r, const u64 a[5])
{
	return probe_read(r, a, VM_REGION_USER);
}

static u64 h_probe_read_str(struct vm_run *r, const u64 a[5])
{
	return probe_read_str(r, a, VM_REGION_KERNEL | VM_REGION_USER);
}

static u64 h_probe_read_kernel_str(struct vm_run *r, const u64 a[5])
{
	return probe_read_str(r, a, VM_REGION_KERNEL);
}

static u64 h_probe_read_user_str(struct vm_run *r, const u64 a[5])
{
	return probe_read_str(r, a, VM_REGION_USER);
}

static u64 h_strncmp(struct vm_run *r, const u64 a[5])
{
	const u8 *s1 = size_arg(r, a[1], false) ? mem_arg(r, a[0], a[1], VM_IN) : NULL;

	for (u64 i = 0; s1 && i < a[1]; i++) {
		const u8 *c = mem_arg(r, a[2] + i, 1, VM_IN);

		if (!c)
			return 0;
		if (s1[i] != *c)
			return ERR(s1[i] < *c ? -1 : 1);
		if (!*c)
			return 0;
	}
	return 0;
}

/* ---- clocks ---- */

static u64 clock_read(struct vm_run *r, clockid_t id, u64 fixed_off)
{
	struct vm_env *e = &r->vm->env;
	struct timespec ts = {};

	if (e->clock_fixed) {
		u64 now = e->clock_ns + fixed_off;

		e->clock_ns += e->clock_step_ns;
		return now;
	}
	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static u64 h_ktime_get_ns(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return clock_read(r, CLOCK_MONOTONIC, 0);
}

static u64 h_ktime_get_coarse_ns(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return clock_read(r, CLOCK_MONOTONIC_COARSE, 0);
}

static u64 h_ktime_get_boot_ns(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return clock_read(r, CLOCK_BOOTTIME, r->vm->env.boot_off_ns);
}

static u64 h_ktime_get_tai_ns(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return clock_read(r, CLOCK_TAI, r->vm->env.tai_off_ns);
}

static u64 h_jiffies64(struct vm_run *r, const u64 a[5])
{
	(void)a;
	/* As the kernel's, which start 5 minutes before they would wrap in 32 bits. */
	return clock_read(r, CLOCK_MONOTONIC, 0) / (1000000000 / HZ) + (u32)(-300 * HZ);
}

/* ---- who and where ---- */

static u64 h_get_prandom_u32(struct vm_run *r, const u64 a[5])
{
	u64 *state = &r->vm->env.rand, z;
	u32 real;

	(void)a;
	if (!*state)
		return getrandom(&real, sizeof(real), 0) == sizeof(real) ? real : 0;
	z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	if (!*state)
		*state = 1;
	return (u32)(z ^ z >> 31);
}

static u64 h_get_smp_processor_id(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return r->cpu;
}

static u64 h_get_numa_node_id(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return r->vm->env.numa_node;
}

static u64 h_get_current_pid_tgid(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return (u64)r->vm->env.pid << 32 | r->vm->env.tid;
}

static u64 h_get_current_uid_gid(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return (u64)r->vm->env.gid << 32 | r->vm->env.uid;
}

static u64 h_get_current_comm(struct vm_run *r, const u64 a[5])
{
	char *buf = size_arg(r, a[1], false) ? (char *)mem_arg(r, a[0], a[1], VM_OUT) : NULL;

	if (buf) {
		u32 n = MIN(strnlen(r->vm->env.comm, VM_COMM_SZ - 1), a[1] - 1);

		memset(buf, 0, a[1]);
		memcpy(buf, r->vm->env.comm, n);
	}
	return 0;
}

static u64 h_get_current_task(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return r->vm->env.task;
}

static u64 h_task_pt_regs(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return r->vm->env.regs;
}

/* There is no process behind a run that could have mappings. */
static u64 h_find_vma(struct vm_run *r, const u64 a[5])
{
	(void)r;
	(void)a;
	return ERR(-ENOENT);
}

static u64 h_get_current_cgroup_id(struct vm_run *r, const u64 a[5])
{
	(void)a;
	return r->vm->env.cgroup_id;
}

static u64 h_get_ns_current_pid_tgid(struct vm_run *r, const u64 a[5])
{
	const struct vm_env *e = &r->vm->env;
	u8 *out = size_arg(r, a[3], false) ? mem_arg(r, a[2], a[3], VM_OUT) : NULL;
	u32 pid_tgid[2] = { e->ns_tid, e->ns_pid };

	if (!out)
		return 0;
	memset(out, 0, a[3]);
	if (a[3] != sizeof(pid_tgid))
		return ERR(-EINVAL);
	if (e->pidns_ino && (a[0] != e->pidns_dev || a[1] != e->pidns_ino))
		return ERR(-EINVAL);
	memcpy(out, pid_tgid, sizeof(pid_tgid));
	return 0;
}

static u64 h_get_attach_cookie(struct vm_run *r, const u64 a[5])
{
	return ctx_arg(r, a[0]) ? r->vm->env.cookie : 0;
}

static u64 h_get_func_ip(struct vm_run *r, const u64 a[5])
{
	return ctx_arg(r, a[0]) ? r->vm->env.func_ip : 0;
}

static u64 h_get_stack(struct vm_run *r, const u64 a[5])
{
	const struct vm_env *e = &r->vm->env;
	const u64 *pc = a[3] & BPF_F_USER_STACK ? e->ustack : e->kstack;
	u32 cnt = a[3] & BPF_F_USER_STACK ? e->ustack_cnt : e->kstack_cnt, skip = a[3] & BPF_F_SKIP_FIELD_MASK, sz;
	u8 *buf = ctx_arg(r, a[0]) ? mem_arg(r, a[1], a[2], VM_OUT) : NULL;
	bool has_ids = a[3] & BPF_F_USER_BUILD_ID;
	u32 frame = has_ids ? 32 : 8;

	if (!buf)
		return 0;
	memset(buf, 0, a[2]);
	if (a[2] % frame || (a[3] & ~(u64)(BPF_F_SKIP_FIELD_MASK | BPF_F_USER_STACK | BPF_F_USER_BUILD_ID)))
		return ERR(-EINVAL);
	if (has_ids && !(a[3] & BPF_F_USER_STACK))
		return ERR(-EINVAL);
	if (skip >= cnt)
		return ERR(-EFAULT);
	/* There are no files here: every frame is an address. */
	if (has_ids) {
		for (sz = 0; skip < cnt && sz + frame <= a[2]; skip++, sz += frame) {
			buf[sz] = 2;
			memcpy(buf + sz + 24, pc + skip, 8);
		}
		return sz;
	}
	sz = MIN((cnt - skip) * 8ull, a[2]);
	memcpy(buf, pc + skip, sz);
	return sz;
}

/* As in the kernel, the position in the table depends on all frames, and an occupied position is not given to another stack. */
static u64 h_get_stackid(struct vm_run *r, const u64 a[5])
{
	const struct vm_env *e = &r->vm->env;
	const u64 *pc = a[2] & BPF_F_USER_STACK ? e->ustack : e->kstack;
	u32 cnt = a[2] & BPF_F_USER_STACK ? e->ustack_cnt : e->kstack_cnt, skip = a[2] & BPF_F_SKIP_FIELD_MASK, id = 0;
	struct vm_map *m = ctx_arg(r, a[0]) ? map_arg(r, a[1], MK_STACKS) : NULL;
	u8 *found, *frames;
	int err = 0;

	if (!m)
		return 0;
	if (a[2] & ~(u64)(BPF_F_SKIP_FIELD_MASK | BPF_F_USER_STACK))
		return ERR(-EINVAL);
	if (skip >= cnt)
		return ERR(-EFAULT);
	cnt = MIN(cnt - skip, m->def.value_sz / 8);
	for (u32 i = 0; i < cnt; i++)
		id = (id ^ (u32)pc[skip + i]) * 0x9e3779b1;
	id = id >> 16 & (m->def.max_entries - 1);
	frames = xzalloc(m->def.value_sz);
	memcpy(frames, pc + skip, cnt * 8);
	found = vm_map_find(m, &id, 0);
	if (!found)
		err = vm_map_set(m, &id, frames, 0, BPF_ANY);
	else if (memcmp(found, frames, m->def.value_sz) != 0)
		err = -EEXIST;
	free(frames);
	return err ? ERR(err) : id;
}

/* ---- acts: recorded, not done ---- */

static u64 send_signal(struct vm_run *r, u64 sig, bool to_thread)
{
	struct vm_env *e = &r->vm->env;

	if ((u32)sig > 64)
		return ERR(-EINVAL);
	e->signal = (u32)sig;
	e->signal_to_thread = to_thread;
	e->signal_cnt++;
	return 0;
}

static u64 h_send_signal(struct vm_run *r, const u64 a[5])
{
	return send_signal(r, a[0], false);
}

static u64 h_send_signal_thread(struct vm_run *r, const u64 a[5])
{
	return send_signal(r, a[0], true);
}

static u64 h_override_return(struct vm_run *r, const u64 a[5])
{
	if (!ctx_arg(r, a[0]))
		return 0;
	r->vm->env.override_ret = a[1];
	r->vm->env.override_cnt++;
	return 0;
}

/* For looking into programs while developing: integers of any length, %s, %p, %c. */
static u64 h_trace_printk(struct vm_run *r, const u64 a[5])
{
	const char *fmt = size_arg(r, a[1], false) ? (const char *)mem_arg(r, a[0], a[1], VM_IN) : NULL;
	char spec[24], text[256];
	u32 arg = 2;

	if (!fmt)
		return 0;
	if (fmt[a[1] - 1])
		return ERR(-EINVAL);
	for (; *fmt; fmt++) {
		u32 n = 0;

		if (*fmt != '%' || fmt[1] == '%') {
			fputc(*fmt, stderr);
			fmt += *fmt == '%';
			continue;
		}
		spec[n++] = *fmt++;
		for (; *fmt && strchr("-+ #0123456789hl", *fmt); fmt++)
			if (n < 16 && *fmt != 'h' && *fmt != 'l')
				spec[n++] = *fmt;
		if (!*fmt || !strchr("diuxXpcs", *fmt) || arg > 4)
			return ERR(-EINVAL);
		if (*fmt == 's') {
			if (vm_probe_str(r, text, a[arg++], sizeof(text), VM_REGION_KERNEL | VM_REGION_USER) < 0)
				text[0] = 0;
			fputs(text, stderr);
			continue;
		}
		if (*fmt == 'c') {
			fputc((char)a[arg++], stderr);
			continue;
		}
		if (*fmt == 'p')
			fputs("0x", stderr);
		snprintf(spec + n, sizeof(spec) - n, "ll%c", *fmt == 'p' ? 'x' : *fmt);
		fprintf(stderr, spec, (long long)a[arg++]);
	}
	fflush(stderr);
	return 0;
}

/* ---- dispatch ---- */

#define ROW(name, args) [HELPER_##name] = { h_##name, args }

static const struct {
	helper_fn fn;
	int args;
} helpers[HELPER_CNT] = {
	ROW(map_lookup_elem, 2),
	ROW(map_update_elem, 4),
	ROW(map_delete_elem, 2),
	ROW(map_lookup_percpu_elem, 3),
	ROW(for_each_map_elem, 4),
	ROW(loop, 4),
	ROW(ringbuf_output, 4),
	ROW(ringbuf_reserve, 3),
	ROW(ringbuf_submit, 2),
	ROW(ringbuf_discard, 2),
	ROW(ringbuf_query, 2),
	ROW(probe_read, 3),
	ROW(probe_read_kernel, 3),
	ROW(probe_read_user, 3),
	ROW(probe_read_str, 3),
	ROW(probe_read_kernel_str, 3),
	ROW(probe_read_user_str, 3),
	[HELPER_copy_from_user] = { h_probe_read_user, 3 },
	ROW(strncmp, 3),
	ROW(ktime_get_ns, 0),
	ROW(ktime_get_coarse_ns, 0),
	ROW(ktime_get_boot_ns, 0),
	ROW(ktime_get_tai_ns, 0),
	ROW(jiffies64, 0),
	ROW(get_prandom_u32, 0),
	ROW(get_smp_processor_id, 0),
	ROW(get_numa_node_id, 0),
	ROW(get_current_pid_tgid, 0),
	ROW(get_current_uid_gid, 0),
	ROW(get_current_comm, 2),
	ROW(get_current_task, 0),
	[HELPER_get_current_task_btf] = { h_get_current_task, 0 },
	ROW(task_pt_regs, 1),
	ROW(find_vma, 5),
	ROW(get_current_cgroup_id, 0),
	ROW(get_ns_current_pid_tgid, 4),
	ROW(get_attach_cookie, 1),
	ROW(get_func_ip, 1),
	ROW(get_stack, 4),
	ROW(get_stackid, 3),
	ROW(send_signal, 1),
	ROW(send_signal_thread, 1),
	ROW(override_return, 2),
	ROW(trace_printk, 2),
};

int vm_helper_args(u32 number)
{
	return number < HELPER_CNT && helpers[number].fn ? helpers[number].args : -1;
}

u64 vm_helper(struct vm_run *r, u32 number, const u64 a[5])
{
	return helpers[number].fn(r, a);
}
