#include "hand.h"

struct record {
	__u32 pid;
	struct comm comm;
};

RING(ring);

SEC("tp/syscalls/sys_enter_getppid")
int probe(void *ctx)
{
	struct record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return 0;
	r->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(&r->comm, sizeof(r->comm));
	bpf_ringbuf_submit(r, 0);
	return 0;
}
