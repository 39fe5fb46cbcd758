/* What the programs written by hand share: the context of a system call's tracepoint, and maps of the usual kinds. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char license_name[] SEC("license") = "GPL";

struct enter_ctx {
	__u64 common;
	__s64 number;
	__u64 args[6];
};

struct comm {
	char name[16];
};

#define HASH(name, kind, key_type, value_type)		\
	struct {					\
		__uint(type, kind);			\
		__uint(max_entries, 4096);		\
		__type(key, key_type);			\
		__type(value, value_type);		\
	} name SEC(".maps")

#define ARRAY(name, kind, cnt)				\
	struct {					\
		__uint(type, kind);			\
		__uint(max_entries, cnt);		\
		__type(key, __u32);			\
		__type(value, __u64);			\
	} name SEC(".maps")

#define RING(name)					\
	struct {					\
		__uint(type, BPF_MAP_TYPE_RINGBUF);	\
		__uint(max_entries, 1 << 22);		\
	} name SEC(".maps")

/* Which power of two: bucket 0 is for 0, bucket n for 2^(n-1) and up. */
static __always_inline __u32 log2_bucket(__u64 v)
{
	__u32 n = 0;

	if (!v)
		return 0;
	for (__u32 step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			n += step;
		}
	}
	return n + 1;
}

static __always_inline void add(void *map, const void *key, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(map, key);

	if (v)
		*v += n;
	else
		bpf_map_update_elem(map, key, &n, BPF_ANY);
}
