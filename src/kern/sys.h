/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls, thinly wrapped: every function returns a descriptor or 0, or -errno. Nothing is printed here. */
#pragma once

#include "image/uapi.h"

struct perf_event_attr;

#define ENOTSUPP_ 524 /* not in the kernel's UAPI headers, and unknown to strerror() */

int kern_bpf(enum bpf_cmd cmd, void *attr, u32 sz);

/* Maps. `value` of a per-CPU map holds one value, rounded up to 8 bytes, for each possible CPU. */
int kern_map_create(const struct bpf_map_create_attr *attr);
int kern_map_lookup(int fd, const void *key, void *value);
int kern_map_update(int fd, const void *key, const void *value, u64 flags);
int kern_map_delete(int fd, const void *key);
/* key NULL: the first. -ENOENT: there is none after it. */
int kern_map_next_key(int fd, const void *key, void *next);
/* Reads up to *cnt entries; *cnt becomes the number read. in_batch NULL: from the start; out_batch takes max(key_sz, 4) bytes and
 * is in_batch of the next call. -ENOENT: these were the last. -ENOSPC: one bucket did not fit, nothing was read. */
int kern_map_lookup_batch(int fd, const void *in_batch, void *out_batch, void *keys, void *values, u32 *cnt);
int kern_map_delete_batch(int fd, const void *keys, u32 *cnt);

/* Programs. Loading is tried again when a signal interrupted the verifier. */
int kern_prog_load(struct bpf_prog_load_attr *attr);
/* Runs a program once, without context or data. cpu -1: on this one. */
int kern_prog_run(int fd, int cpu, u32 *retval);
/* The same with a context (BPF_PROG_TYPE_SYSCALL, BPF_PROG_TYPE_RAW_TRACEPOINT). */
int kern_prog_run_ctx(int fd, void *ctx, u32 ctx_sz, u32 *retval);
int kern_btf_load(const void *btf, u32 sz, char *log, u32 log_sz);

/* Attaching. */
int kern_link_create(struct bpf_link_create_attr *attr);
/* A cookie other than 0 needs 6.9 (KF_RAW_TP_COOKIE). name NULL: a program whose target is its attach_btf_id. */
int kern_raw_tp_open(const char *name, int prog_fd, u64 cookie);
int kern_iter_create(int link_fd);
int kern_perf_open(struct perf_event_attr *attr, s32 pid, s32 cpu, int group_fd, u64 flags);
/* Attaches a program to a perf event, with a cookie, by a link. */
int kern_perf_link(int perf_fd, int prog_fd, u64 cookie);

/* Introspection. *len: size of info, then what the kernel filled in. */
int kern_obj_info(int fd, void *info, u32 *len);
/* Hits of a link's probes for which its program did not run, as far as the kernel counts them (6.7). */
u64 kern_link_missed(int fd);
/* cmd: BPF_BTF_GET_FD_BY_ID and its like */
int kern_fd_by_id(enum bpf_cmd cmd, u32 id);
/* cmd: BPF_BTF_GET_NEXT_ID and its like; -ENOENT: no more */
int kern_next_id(enum bpf_cmd cmd, u32 id, u32 *next);
