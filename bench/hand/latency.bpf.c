#include "hand.h"

HASH(starts, BPF_MAP_TYPE_HASH, __u32, __u64);
ARRAY(buckets, BPF_MAP_TYPE_PERCPU_ARRAY, 65);

SEC("tp/syscalls/sys_enter_getppid")
int enter(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&starts, &tid, &now, BPF_ANY);
	return 0;
}

SEC("tp/syscalls/sys_exit_getppid")
int leave(void *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid(), bucket;
	__u64 *start = bpf_map_lookup_elem(&starts, &tid), *v;

	if (!start)
		return 0;
	bucket = log2_bucket(bpf_ktime_get_boot_ns() - *start);
	bpf_map_delete_elem(&starts, &tid);
	v = bpf_map_lookup_elem(&buckets, &bucket);
	if (v)
		(*v)++;
	return 0;
}
