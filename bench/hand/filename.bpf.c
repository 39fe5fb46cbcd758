#include "hand.h"

struct record {
	char name[256];
};

RING(ring);

SEC("tp/syscalls/sys_enter_swapoff")
int probe(struct enter_ctx *ctx)
{
	struct record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return 0;
	bpf_probe_read_user_str(r->name, sizeof(r->name), (void *)ctx->args[0]);
	bpf_ringbuf_submit(r, 0);
	return 0;
}
