#include "hand.h"

HASH(by_pid, BPF_MAP_TYPE_PERCPU_HASH, __u32, __u64);

SEC("tp/syscalls/sys_enter_getppid")
int probe(void *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	add(&by_pid, &pid, 1);
	return 0;
}
