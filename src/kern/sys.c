/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/sys.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static u64 ptr(const void *p)
{
	return (u64)(uintptr_t)p;
}

int kern_bpf(enum bpf_cmd cmd, void *attr, u32 sz)
{
	long r = syscall(SYS_bpf, cmd, attr, sz);

	return r < 0 ? -errno : (int)r;
}

int kern_map_create(const struct bpf_map_create_attr *attr)
{
	struct bpf_map_create_attr a = *attr;

	return kern_bpf(BPF_MAP_CREATE, &a, sizeof(a));
}

static int map_elem(enum bpf_cmd cmd, int fd, const void *key, const void *value, u64 flags)
{
	struct bpf_map_elem_attr a = { .map_fd = fd, .key = ptr(key), .value = ptr(value), .flags = flags };

	return kern_bpf(cmd, &a, sizeof(a));
}

int kern_map_lookup(int fd, const void *key, void *value)
{
	return map_elem(BPF_MAP_LOOKUP_ELEM, fd, key, value, 0);
}

int kern_map_update(int fd, const void *key, const void *value, u64 flags)
{
	return map_elem(BPF_MAP_UPDATE_ELEM, fd, key, value, flags);
}

int kern_map_delete(int fd, const void *key)
{
	return map_elem(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
}

int kern_map_next_key(int fd, const void *key, void *next)
{
	return map_elem(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0);
}

int kern_map_lookup_batch(int fd, const void *in_batch, void *out_batch, void *keys, void *values, u32 *cnt)
{
	struct bpf_map_batch_attr a = {
		.in_batch = ptr(in_batch),
		.out_batch = ptr(out_batch),
		.keys = ptr(keys),
		.values = ptr(values),
		.count = *cnt,
		.map_fd = fd,
	};
	int r = kern_bpf(BPF_MAP_LOOKUP_BATCH, &a, sizeof(a));

	/* On -EFAULT and friends the kernel does not write the count back. */
	*cnt = r && r != -ENOENT && r != -ENOSPC ? 0 : a.count;
	if (r == -ENOSPC)
		*cnt = 0;
	return r;
}

int kern_map_delete_batch(int fd, const void *keys, u32 *cnt)
{
	struct bpf_map_batch_attr a = { .keys = ptr(keys), .count = *cnt, .map_fd = fd };
	int r = kern_bpf(BPF_MAP_DELETE_BATCH, &a, sizeof(a));

	*cnt = a.count;
	return r;
}

int kern_prog_load(struct bpf_prog_load_attr *attr)
{
	int r = -EAGAIN;

	for (u32 i = 0; i < 5 && r == -EAGAIN; i++)
		r = kern_bpf(BPF_PROG_LOAD, attr, sizeof(*attr));
	return r;
}

static int test_run(struct bpf_test_run_attr *a, u32 *retval)
{
	int r = -EINTR;

	for (u32 i = 0; i < 5 && r == -EINTR; i++)
		r = kern_bpf(BPF_PROG_TEST_RUN, a, sizeof(*a));
	if (!r && retval)
		*retval = a->retval;
	return r;
}

int kern_prog_run(int fd, int cpu, u32 *retval)
{
	struct bpf_test_run_attr a = { .prog_fd = fd };

	if (cpu >= 0) {
		a.flags = BPF_F_TEST_RUN_ON_CPU;
		a.cpu = cpu;
	}
	return test_run(&a, retval);
}

int kern_prog_run_ctx(int fd, void *ctx, u32 ctx_sz, u32 *retval)
{
	struct bpf_test_run_attr a = { .prog_fd = fd, .ctx_in = ptr(ctx), .ctx_size_in = ctx_sz };

	return test_run(&a, retval);
}

int kern_btf_load(const void *btf, u32 sz, char *log, u32 log_sz)
{
	struct bpf_btf_load_attr a = { .btf = ptr(btf), .btf_size = sz };

	if (log_sz) {
		a.btf_log_buf = ptr(log);
		a.btf_log_size = log_sz;
		a.btf_log_level = BPF_LOG_LEVEL1;
	}
	return kern_bpf(BPF_BTF_LOAD, &a, sizeof(a));
}

int kern_link_create(struct bpf_link_create_attr *attr)
{
	return kern_bpf(BPF_LINK_CREATE, attr, sizeof(*attr));
}

int kern_raw_tp_open(const char *name, int prog_fd, u64 cookie)
{
	struct bpf_raw_tp_attr a = { .name = ptr(name), .prog_fd = prog_fd, .cookie = cookie };

	return kern_bpf(BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a));
}

int kern_iter_create(int link_fd)
{
	struct bpf_iter_create_attr a = { .link_fd = link_fd };

	return kern_bpf(BPF_ITER_CREATE, &a, sizeof(a));
}

int kern_perf_open(struct perf_event_attr *attr, s32 pid, s32 cpu, int group_fd, u64 flags)
{
	long r;

	if (!attr->size)
		attr->size = sizeof(*attr);
	r = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
	return r < 0 ? -errno : (int)r;
}

int kern_perf_link(int perf_fd, int prog_fd, u64 cookie)
{
	struct bpf_link_create_attr a = {
		.prog_fd = prog_fd,
		.target_fd = perf_fd,
		.attach_type = BPF_PERF_EVENT,
		.perf_event.cookie = cookie,
	};

	return kern_link_create(&a);
}

int kern_obj_info(int fd, void *info, u32 *len)
{
	struct bpf_info_attr a = { .bpf_fd = fd, .info_len = *len, .info = ptr(info) };
	int r = kern_bpf(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a));

	if (!r)
		*len = a.info_len;
	return r;
}

u64 kern_link_missed(int fd)
{
	struct bpf_link_info info = {};
	u32 len = sizeof(info);

	if (kern_obj_info(fd, &info, &len))
		return 0;
	if (info.type == BPF_LINK_TYPE_KPROBE_MULTI)
		return len >= offsetof(struct bpf_link_info, kprobe_multi.missed) + 8 ? info.kprobe_multi.missed : 0;
	if (info.type == BPF_LINK_TYPE_PERF_EVENT && (info.perf_event.type == 3 || info.perf_event.type == 4))
		return info.perf_event.kprobe.missed;
	return 0;
}

int kern_fd_by_id(enum bpf_cmd cmd, u32 id)
{
	struct bpf_id_attr a = { .id = id };

	return kern_bpf(cmd, &a, sizeof(a));
}

int kern_next_id(enum bpf_cmd cmd, u32 id, u32 *next)
{
	struct bpf_id_attr a = { .id = id };
	int r = kern_bpf(cmd, &a, sizeof(a));

	if (!r)
		*next = a.next_id;
	return r;
}
