/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scripts of EVENTS in bench/scripts.py, as C that one would write by hand: for each a function of its name, or two, NAME_enter
 * and NAME_exit. bench/loader.c loads one script.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define PROG(name, event) SEC("tp/syscalls/" event) int name(struct enter_ctx *ctx)
#define PID (bpf_get_current_pid_tgid() >> 32)
#define MAP(name, kind, cnt, key_type, value_type)	\
	struct {					\
		__uint(type, kind);			\
		__uint(max_entries, cnt);		\
		__type(key, key_type);			\
		__type(value, value_type);		\
	} name SEC(".maps")

enum { NAME_SZ = 256 };
struct enter_ctx { __u64 common, number, args[6]; };
struct comm { char name[16]; };
struct two { struct comm comm; __u32 pid; };
struct stack { __u64 frames[127]; };

char license_name[] SEC("license") = "GPL";
volatile __u64 last;

MAP(total, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, __u64);
MAP(buckets, BPF_MAP_TYPE_PERCPU_ARRAY, 65, __u32, __u64);
MAP(by_number, BPF_MAP_TYPE_PERCPU_HASH, 4096, __u32, __u64);
MAP(by_comm, BPF_MAP_TYPE_PERCPU_HASH, 4096, struct comm, __u64);
MAP(by_two, BPF_MAP_TYPE_PERCPU_HASH, 4096, struct two, __u64);
MAP(starts, BPF_MAP_TYPE_HASH, 4096, __u32, __u64);
MAP(stacks, BPF_MAP_TYPE_STACK_TRACE, 4096, __u32, struct stack);
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 22); } ring SEC(".maps");

static __always_inline int add(void *map, const void *key, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(map, key);

	if (v)
		*v += n;
	else
		bpf_map_update_elem(map, key, &n, BPF_ANY);
	return 0;
}

static __always_inline int count_at(void *array, __u32 i)
{
	__u64 *v = bpf_map_lookup_elem(array, &i);

	if (v)
		(*v)++;
	return 0;
}

/* Bucket 0 is for 0, bucket n for 2^(n-1) and up. */
static __always_inline __u32 log2_bucket(__u64 v)
{
	__u32 n = 1;

	if (!v)
		return 0;
	for (__u32 step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			n += step;
		}
	}
	return n;
}

PROG(empty, "sys_enter_getppid") { return 0; }
PROG(filter, "sys_enter_getppid") { return PID == 1 ? count_at(&total, 0) : 0; }
PROG(count, "sys_enter_getppid") { return count_at(&total, 0); }
PROG(hist, "sys_enter_getppid") { return count_at(&buckets, log2_bucket(bpf_ktime_get_boot_ns())); }
PROG(assign, "sys_enter_getppid") { last = bpf_ktime_get_boot_ns(); return 0; }
PROG(count_pid, "sys_enter_getppid") { __u32 pid = PID; return add(&by_number, &pid, 1); }
PROG(kstack, "sys_enter_getppid") { __u32 id = bpf_get_stackid(ctx, &stacks, 0); return add(&by_number, &id, 1); }
PROG(ustack, "sys_enter_getppid") { __u32 id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK); return add(&by_number, &id, 1); }

PROG(count_comm, "sys_enter_getppid")
{
	struct comm comm;

	bpf_get_current_comm(&comm, sizeof(comm));
	return add(&by_comm, &comm, 1);
}

PROG(sum_two, "sys_enter_close")
{
	__u32 fd = ctx->args[0];
	struct two key;

	if (fd <= 1000000)
		return 0;
	bpf_get_current_comm(&key.comm, sizeof(key.comm));
	key.pid = PID;
	return add(&by_two, &key, fd);
}

PROG(latency_enter, "sys_enter_getppid")
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&starts, &tid, &now, BPF_ANY);
	return 0;
}

PROG(latency_exit, "sys_exit_getppid")
{
	__u32 tid = bpf_get_current_pid_tgid(), bucket;
	__u64 *start = bpf_map_lookup_elem(&starts, &tid);

	if (!start)
		return 0;
	bucket = log2_bucket(bpf_ktime_get_boot_ns() - *start);
	bpf_map_delete_elem(&starts, &tid);
	return count_at(&buckets, bucket);
}

PROG(print, "sys_enter_getppid")
{
	struct two *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return 0;
	r->pid = PID;
	bpf_get_current_comm(&r->comm, sizeof(r->comm));
	bpf_ringbuf_submit(r, 0);
	return 0;
}

PROG(filename, "sys_enter_swapoff")
{
	char *name = bpf_ringbuf_reserve(&ring, NAME_SZ, 0);

	if (!name)
		return 0;
	bpf_probe_read_user_str(name, NAME_SZ, (void *)ctx->args[0]);
	bpf_ringbuf_submit(name, 0);
	return 0;
}
