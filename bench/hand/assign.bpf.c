#include "hand.h"

volatile __u64 last;

SEC("tp/syscalls/sys_enter_getppid")
int probe(void *ctx)
{
	last = bpf_ktime_get_boot_ns();
	return 0;
}
