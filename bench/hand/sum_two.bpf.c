#include "hand.h"

struct key {
	struct comm comm;
	__u32 pid;
};

HASH(sums, BPF_MAP_TYPE_PERCPU_HASH, struct key, __u64);

SEC("tp/syscalls/sys_enter_close")
int probe(struct enter_ctx *ctx)
{
	struct key key;

	if ((__u32)ctx->args[0] <= 1000000)
		return 0;
	bpf_get_current_comm(&key.comm, sizeof(key.comm));
	key.pid = bpf_get_current_pid_tgid() >> 32;
	add(&sums, &key, (__u32)ctx->args[0]);
	return 0;
}
