#include "hand.h"

HASH(by_comm, BPF_MAP_TYPE_PERCPU_HASH, struct comm, __u64);

SEC("tp/syscalls/sys_enter_getppid")
int probe(void *ctx)
{
	struct comm comm;

	bpf_get_current_comm(&comm, sizeof(comm));
	add(&by_comm, &comm, 1);
	return 0;
}
