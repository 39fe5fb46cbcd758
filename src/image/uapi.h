/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's BPF interface as we use it: numbers and structs.
 *
 * Our own copy, because the headers of older distributions (Debian 12 has 6.1) lack uprobe_multi and sessions, which newer
 * kernels offer at run time. The names are the kernel's, therefore <linux/bpf.h> must not be included beside it. Constants only
 * need base/: every room may include this file, also those that never talk to a kernel (bpf/, vm/).
 */
#pragma once

#include "base/base.h"

/* ---- instructions ---- */

enum {
	/* class: code & 7 */
	BPF_LD = 0x00,
	BPF_LDX = 0x01,
	BPF_ST = 0x02,
	BPF_STX = 0x03,
	BPF_ALU = 0x04,
	BPF_JMP = 0x05,
	BPF_JMP32 = 0x06,
	BPF_ALU64 = 0x07,

	/* loads and stores: size, code & 0x18 */
	BPF_W = 0x00,
	BPF_H = 0x08,
	BPF_B = 0x10,
	BPF_DW = 0x18,
	/* loads and stores: mode, code & 0xe0 */
	BPF_IMM = 0x00,
	BPF_ABS = 0x20,
	BPF_IND = 0x40,
	BPF_MEM = 0x60,
	BPF_MEMSX = 0x80, /* sign-extending load, v4 */
	BPF_ATOMIC = 0xc0,

	/* source operand */
	BPF_K = 0x00,
	BPF_X = 0x08,

	/* ALU and ALU64: code & 0xf0 */
	BPF_ADD = 0x00,
	BPF_SUB = 0x10,
	BPF_MUL = 0x20,
	BPF_DIV = 0x30,
	BPF_OR = 0x40,
	BPF_AND = 0x50,
	BPF_LSH = 0x60,
	BPF_RSH = 0x70,
	BPF_NEG = 0x80,
	BPF_MOD = 0x90,
	BPF_XOR = 0xa0,
	BPF_MOV = 0xb0,
	BPF_ARSH = 0xc0,
	BPF_END = 0xd0,
	BPF_TO_LE = 0x00,
	BPF_TO_BE = 0x08,

	/* JMP and JMP32: code & 0xf0 */
	BPF_JA = 0x00,
	BPF_JEQ = 0x10,
	BPF_JGT = 0x20,
	BPF_JGE = 0x30,
	BPF_JSET = 0x40,
	BPF_JNE = 0x50,
	BPF_JSGT = 0x60,
	BPF_JSGE = 0x70,
	BPF_CALL = 0x80,
	BPF_EXIT = 0x90,
	BPF_JLT = 0xa0,
	BPF_JLE = 0xb0,
	BPF_JSLT = 0xc0,
	BPF_JSLE = 0xd0,

	/* imm of BPF_STX | BPF_ATOMIC: BPF_ADD/AND/OR/XOR, with BPF_FETCH or not, or */
	BPF_FETCH = 0x01,
	BPF_XCHG = 0xe0 | BPF_FETCH,
	BPF_CMPXCHG = 0xf0 | BPF_FETCH,
};

#define BPF_CLASS(code) ((code)&0x07)
#define BPF_SIZE(code) ((code)&0x18)
#define BPF_MODE(code) ((code)&0xe0)
#define BPF_OP(code) ((code)&0xf0)
#define BPF_SRC(code) ((code)&0x08)

enum {
	BPF_REG_0,
	BPF_REG_1,
	BPF_REG_2,
	BPF_REG_3,
	BPF_REG_4,
	BPF_REG_5,
	BPF_REG_6,
	BPF_REG_7,
	BPF_REG_8,
	BPF_REG_9,
	BPF_REG_10, /* frame pointer, read-only */
};

enum {
	/* src_reg of LD_IMM64 */
	BPF_PSEUDO_MAP_FD = 1,
	BPF_PSEUDO_MAP_VALUE = 2,
	BPF_PSEUDO_BTF_ID = 3,
	BPF_PSEUDO_FUNC = 4, /* address of a subprogram: imm is relative, as in a call */
	BPF_PSEUDO_MAP_IDX = 5,
	BPF_PSEUDO_MAP_IDX_VALUE = 6,
	/* src_reg of BPF_JMP | BPF_CALL */
	BPF_PSEUDO_CALL = 1,
	BPF_PSEUDO_KFUNC_CALL = 2,
};

enum {
	MAX_BPF_STACK = 512,
	BPF_MAX_INSNS = 1000000,
	BPF_MAX_SUBPROGS = 256,
	BPF_OBJ_NAME_LEN = 16, /* NUL included */
	BPF_MAX_TRAMP_LINKS = 38,
	BPF_MAX_PERCPU_VALUE_SZ = 32 * 1024,
};

enum helper {
#define HELPER_ROW(name, number) HELPER_##name = number,
#include "image/helper.def"
#undef HELPER_ROW
	HELPER_CNT /* one past the last number */
};

/* ---- kinds ---- */

enum bpf_cmd {
	BPF_MAP_CREATE,
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_PROG_LOAD,
	BPF_OBJ_PIN,
	BPF_OBJ_GET,
	BPF_PROG_ATTACH,
	BPF_PROG_DETACH,
	BPF_PROG_TEST_RUN,
	BPF_PROG_GET_NEXT_ID,
	BPF_MAP_GET_NEXT_ID,
	BPF_PROG_GET_FD_BY_ID,
	BPF_MAP_GET_FD_BY_ID,
	BPF_OBJ_GET_INFO_BY_FD,
	BPF_PROG_QUERY,
	BPF_RAW_TRACEPOINT_OPEN,
	BPF_BTF_LOAD,
	BPF_BTF_GET_FD_BY_ID,
	BPF_TASK_FD_QUERY,
	BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_FREEZE,
	BPF_BTF_GET_NEXT_ID,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH,
	BPF_LINK_CREATE,
	BPF_LINK_UPDATE,
	BPF_LINK_GET_FD_BY_ID,
	BPF_LINK_GET_NEXT_ID,
	BPF_ENABLE_STATS,
	BPF_ITER_CREATE,
	BPF_LINK_DETACH,
	BPF_PROG_BIND_MAP,
};

enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC,
	BPF_MAP_TYPE_HASH,
	BPF_MAP_TYPE_ARRAY,
	BPF_MAP_TYPE_PROG_ARRAY,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY,
	BPF_MAP_TYPE_PERCPU_HASH,
	BPF_MAP_TYPE_PERCPU_ARRAY,
	BPF_MAP_TYPE_STACK_TRACE,
	BPF_MAP_TYPE_CGROUP_ARRAY,
	BPF_MAP_TYPE_LRU_HASH,
	BPF_MAP_TYPE_LRU_PERCPU_HASH,
	BPF_MAP_TYPE_LPM_TRIE,
	BPF_MAP_TYPE_ARRAY_OF_MAPS,
	BPF_MAP_TYPE_HASH_OF_MAPS,
	BPF_MAP_TYPE_DEVMAP,
	BPF_MAP_TYPE_SOCKMAP,
	BPF_MAP_TYPE_CPUMAP,
	BPF_MAP_TYPE_XSKMAP,
	BPF_MAP_TYPE_SOCKHASH,
	BPF_MAP_TYPE_CGROUP_STORAGE,
	BPF_MAP_TYPE_REUSEPORT_SOCKARRAY,
	BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE,
	BPF_MAP_TYPE_QUEUE,
	BPF_MAP_TYPE_STACK,
	BPF_MAP_TYPE_SK_STORAGE,
	BPF_MAP_TYPE_DEVMAP_HASH,
	BPF_MAP_TYPE_STRUCT_OPS,
	BPF_MAP_TYPE_RINGBUF,
	BPF_MAP_TYPE_INODE_STORAGE,
	BPF_MAP_TYPE_TASK_STORAGE,
	BPF_MAP_TYPE_BLOOM_FILTER,
	BPF_MAP_TYPE_USER_RINGBUF,
	BPF_MAP_TYPE_CGRP_STORAGE,
	BPF_MAP_TYPE_ARENA,
};

enum bpf_prog_type {
	BPF_PROG_TYPE_UNSPEC = 0,
	BPF_PROG_TYPE_SOCKET_FILTER = 1,
	BPF_PROG_TYPE_KPROBE = 2,
	BPF_PROG_TYPE_TRACEPOINT = 5,
	BPF_PROG_TYPE_PERF_EVENT = 7,
	BPF_PROG_TYPE_RAW_TRACEPOINT = 17,
	BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE = 24,
	BPF_PROG_TYPE_TRACING = 26,
	BPF_PROG_TYPE_LSM = 29,
	BPF_PROG_TYPE_SYSCALL = 31,
};

/* The kinds of attachment that tracing uses. */
enum bpf_attach_type {
	BPF_ATTACH_NONE = 0, /* ours: where the field is not looked at */
	BPF_TRACE_RAW_TP = 23,
	BPF_TRACE_FENTRY = 24,
	BPF_TRACE_FEXIT = 25,
	BPF_MODIFY_RETURN = 26,
	BPF_LSM_MAC = 27,
	BPF_TRACE_ITER = 28,
	BPF_PERF_EVENT = 41,
	BPF_TRACE_KPROBE_MULTI = 42,
	BPF_TRACE_UPROBE_MULTI = 48,   /* 6.6 */
	BPF_TRACE_KPROBE_SESSION = 56, /* 6.10 */
	BPF_TRACE_UPROBE_SESSION = 57, /* 6.13 */
};

enum bpf_link_type {
	BPF_LINK_TYPE_RAW_TRACEPOINT = 1,
	BPF_LINK_TYPE_TRACING = 2,
	BPF_LINK_TYPE_ITER = 4,
	BPF_LINK_TYPE_PERF_EVENT = 7,
	BPF_LINK_TYPE_KPROBE_MULTI = 8,
	BPF_LINK_TYPE_UPROBE_MULTI = 12,
};

/* ---- flags ---- */

enum {
	/* map update */
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_LOCK = 4,

	/* map creation */
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_NO_COMMON_LRU = 1 << 1,
	BPF_F_NUMA_NODE = 1 << 2,
	BPF_F_RDONLY = 1 << 3,
	BPF_F_WRONLY = 1 << 4,
	BPF_F_STACK_BUILD_ID = 1 << 5,
	BPF_F_ZERO_SEED = 1 << 6,
	BPF_F_RDONLY_PROG = 1 << 7,
	BPF_F_WRONLY_PROG = 1 << 8,
	BPF_F_CLONE = 1 << 9,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_F_PRESERVE_ELEMS = 1 << 11,
	BPF_F_INNER_MAP = 1 << 12,

	/* program loading */
	BPF_F_STRICT_ALIGNMENT = 1 << 0,
	BPF_F_ANY_ALIGNMENT = 1 << 1,
	BPF_F_TEST_RND_HI32 = 1 << 2,
	BPF_F_TEST_STATE_FREQ = 1 << 3,
	BPF_F_SLEEPABLE = 1 << 4,

	/* test run */
	BPF_F_TEST_RUN_ON_CPU = 1 << 0,

	/* link_create: kprobe_multi, uprobe_multi */
	BPF_F_KPROBE_MULTI_RETURN = 1 << 0,
	BPF_F_UPROBE_MULTI_RETURN = 1 << 0,

	/* get_stackid, get_stack */
	BPF_F_SKIP_FIELD_MASK = 0xff,
	BPF_F_USER_STACK = 1 << 8,
	BPF_F_FAST_STACK_CMP = 1 << 9,
	BPF_F_REUSE_STACKID = 1 << 10,
	BPF_F_USER_BUILD_ID = 1 << 11,

	/* ringbuf_output, ringbuf_submit, ringbuf_discard */
	BPF_RB_NO_WAKEUP = 1 << 0,
	BPF_RB_FORCE_WAKEUP = 1 << 1,
	/* ringbuf_query */
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
	BPF_RB_CONS_POS = 2,
	BPF_RB_PROD_POS = 3,

	/* program loading, log_level */
	BPF_LOG_LEVEL1 = 1, /* errors, and the state where paths part */
	BPF_LOG_LEVEL2 = 2, /* the state at every instruction */
	BPF_LOG_STATS = 4,
};

/* perf_event_output, perf_event_read */
#define BPF_F_CURRENT_CPU 0xffffffffull

/* Each record of a ring buffer: u32 length and state bits, u32 page offset, then the data, rounded up to 8. */
#define BPF_RINGBUF_BUSY_BIT (1u << 31)
#define BPF_RINGBUF_DISCARD_BIT (1u << 30)
#define BPF_RINGBUF_HDR_SZ 8u

/* ---- what goes into bpf(2): one struct for each command. Zero what is not used; the size passed is the struct's, older kernels
 * accept a longer one as long as what they do not know is zero. ---- */

struct bpf_map_create_attr {
	u32 map_type, key_size, value_size, max_entries, map_flags, inner_map_fd, numa_node;
	char map_name[BPF_OBJ_NAME_LEN];
	u32 map_ifindex, btf_fd, btf_key_type_id, btf_value_type_id, btf_vmlinux_value_type_id;
	u64 map_extra;
};

struct bpf_map_elem_attr {
	u32 map_fd, pad;
	u64 key;
	u64 value; /* or next_key */
	u64 flags;
};

struct bpf_map_batch_attr {
	u64 in_batch, out_batch, keys, values;
	u32 count, map_fd;
	u64 elem_flags, flags;
};

struct bpf_prog_load_attr {
	u32 prog_type, insn_cnt;
	u64 insns, license;
	u32 log_level, log_size;
	u64 log_buf;
	u32 kern_version, prog_flags;
	char prog_name[BPF_OBJ_NAME_LEN];
	u32 prog_ifindex, expected_attach_type, prog_btf_fd, func_info_rec_size;
	u64 func_info;
	u32 func_info_cnt, line_info_rec_size;
	u64 line_info;
	u32 line_info_cnt, attach_btf_id;
	u32 attach_btf_obj_fd; /* or attach_prog_fd */
	u32 core_relo_cnt;
	u64 fd_array;
};

struct bpf_obj_attr { /* BPF_OBJ_PIN, BPF_OBJ_GET */
	u64 pathname;
	u32 bpf_fd, file_flags;
};

struct bpf_test_run_attr {
	u32 prog_fd, retval, data_size_in, data_size_out;
	u64 data_in, data_out;
	u32 repeat, duration, ctx_size_in, ctx_size_out;
	u64 ctx_in, ctx_out;
	u32 flags, cpu, batch_size, pad;
};

struct bpf_id_attr { /* *_GET_NEXT_ID, *_GET_FD_BY_ID */
	u32 id, next_id, open_flags;
};

struct bpf_info_attr {
	u32 bpf_fd, info_len;
	u64 info;
};

struct bpf_raw_tp_attr {
	u64 name;
	u32 prog_fd, pad;
	u64 cookie; /* 6.9 */
};

struct bpf_btf_load_attr {
	u64 btf, btf_log_buf;
	u32 btf_size, btf_log_size, btf_log_level;
};

struct bpf_link_create_attr {
	u32 prog_fd;
	u32 target_fd;
	u32 attach_type;
	u32 flags;
	union {
		u32 target_btf_id;
		struct {
			u64 info;
			u32 info_len;
		} iter;
		struct {
			u64 cookie;
		} perf_event;
		struct {
			u32 flags, cnt;
			u64 syms, addrs, cookies;
		} kprobe_multi;
		struct {
			u32 target_btf_id, pad;
			u64 cookie;
		} tracing;
		struct {
			u64 path, offsets, ref_ctr_offsets, cookies;
			u32 cnt, flags, pid, pad;
		} uprobe_multi;
	};
};

struct bpf_iter_create_attr {
	u32 link_fd, flags;
};

struct bpf_link_detach_attr {
	u32 link_fd;
};

struct bpf_enable_stats_attr {
	u32 type; /* 0: run time */
};

/* info of a BPF_TRACE_ITER link: which objects the iterator visits. */
union bpf_iter_target {
	struct {
		u32 map_fd;
	} map;
	struct {
		u32 order, cgroup_fd;
		u64 cgroup_id;
	} cgroup;
	struct {
		u32 tid, pid, pid_fd;
	} task;
};

/* ---- what BPF_OBJ_GET_INFO_BY_FD yields (a prefix of the kernel's struct each) ---- */

struct bpf_prog_info {
	u32 type, id;
	u8 tag[8];
	u32 jited_prog_len, xlated_prog_len;
	u64 jited_prog_insns, xlated_prog_insns;
	u64 load_time;
	u32 created_by_uid, nr_map_ids;
	u64 map_ids;
	char name[BPF_OBJ_NAME_LEN];
	u32 ifindex;
	u32 gpl_compatible; /* bit 0 */
	u64 netns_dev, netns_ino;
	u32 nr_jited_ksyms, nr_jited_func_lens;
	u64 jited_ksyms, jited_func_lens;
	u32 btf_id, func_info_rec_size;
	u64 func_info;
	u32 nr_func_info, nr_line_info;
	u64 line_info, jited_line_info;
	u32 nr_jited_line_info, line_info_rec_size, jited_line_info_rec_size, nr_prog_tags;
	u64 prog_tags;
	u64 run_time_ns, run_cnt;
	u64 recursion_misses; /* runs skipped because the program was running already on that CPU */
	u32 verified_insns;
	u32 attach_btf_obj_id, attach_btf_id;
};

struct bpf_map_info {
	u32 type, id, key_size, value_size, max_entries, map_flags;
	char name[BPF_OBJ_NAME_LEN];
};

struct bpf_btf_info {
	u64 btf;
	u32 btf_size, id;
	u64 name;
	u32 name_len, kernel_btf;
};

struct bpf_link_info {
	u32 type, id, prog_id, pad;
	union {
		struct {
			u64 addrs;
			u32 count, flags;
			u64 missed; /* hits that the kernel skipped, 6.7 */
			u64 cookies;
		} kprobe_multi;
		struct {
			u64 path, offsets, ref_ctr_offsets, cookies;
			u32 path_size, count, flags, pid;
		} uprobe_multi;
		struct {
			u32 type, pad; /* enum bpf_perf_event_type: 3 kprobe, 4 kretprobe */
			union {
				struct {
					u64 func_name;
					u32 name_len, offset;
					u64 addr, missed, cookie;
				} kprobe;
			};
		} perf_event;
	};
};
