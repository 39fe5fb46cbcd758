#include "hand.h"

ARRAY(buckets, BPF_MAP_TYPE_PERCPU_ARRAY, 65);

SEC("tp/syscalls/sys_enter_getppid")
int probe(void *ctx)
{
	__u32 bucket = log2_bucket(bpf_ktime_get_boot_ns());
	__u64 *v = bpf_map_lookup_elem(&buckets, &bucket);

	if (v)
		(*v)++;
	return 0;
}
