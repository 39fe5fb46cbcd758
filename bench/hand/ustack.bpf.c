#include "hand.h"

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

HASH(by_stack, BPF_MAP_TYPE_PERCPU_HASH, __u32, __u64);

SEC("tp/syscalls/sys_enter_getppid")
int probe(void *ctx)
{
	__u32 id = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);

	add(&by_stack, &id, 1);
	return 0;
}
