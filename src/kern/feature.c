/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/feature.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io.h"
#include "image/image.h"
#include "kern/join.h"
#include "kern/machine.h"
#include "kern/sys.h"
#include "kern/tracefs.h"
#include "kern/types.h"

static const struct insn exit_0[] = {
	{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
	{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
};

static int load(u32 type, u32 attach_type, u32 btf_id, const struct insn *insns, u32 cnt)
{
	struct bpf_prog_load_attr a = {
		.prog_type = type,
		.expected_attach_type = attach_type,
		.attach_btf_id = btf_id,
		.insns = (u64)(uintptr_t)insns,
		.insn_cnt = cnt,
		.license = (u64)(uintptr_t) "GPL",
	};

	return kern_prog_load(&a);
}

static bool loads(u32 type, u32 attach_type, u32 btf_id, const struct insn *insns, u32 cnt)
{
	int fd = load(type, attach_type, btf_id, insns, cnt);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool has_pmu(const char *path)
{
	return !access(path, R_OK);
}

/* A link whose argument is at an address that cannot be read: only a kernel that knows the kind of link gets as far as reading
 * it. */
static bool knows_link(u32 attach_type)
{
	int prog = load(BPF_PROG_TYPE_KPROBE, attach_type, 0, exit_0, ARRAY_CNT(exit_0)), err;
	struct bpf_link_create_attr a = { .prog_fd = prog, .attach_type = attach_type };
	const u64 nowhere = 8;
	u64 offset = 0;
	bool is_uprobe = attach_type == BPF_TRACE_UPROBE_MULTI || attach_type == BPF_TRACE_UPROBE_SESSION;

	if (prog < 0)
		return false;
	if (is_uprobe) {
		/* A directory is not a file to put a probe into: EBADF. */
		a.uprobe_multi.path = (u64)(uintptr_t) "/";
		a.uprobe_multi.offsets = (u64)(uintptr_t)&offset;
		a.uprobe_multi.cnt = 1;
	} else {
		a.kprobe_multi.addrs = nowhere;
		a.kprobe_multi.cnt = 1;
	}
	err = kern_link_create(&a);
	close(prog);
	if (err >= 0)
		close(err);
	return err >= 0 || err == (is_uprobe ? -EBADF : -EFAULT);
}

static bool probe_override(void)
{
	static const struct insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_override_return },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	return loads(BPF_PROG_TYPE_KPROBE, 0, 0, insns, ARRAY_CNT(insns));
}

static bool probe_v4(void)
{
	/* r0 = (s8)r0 */
	static const struct insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_0, BPF_REG_0, 8, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	return loads(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, insns, ARRAY_CNT(insns));
}

/* The kernel itself must have BTF (it checks the number), whatever file our types come from. */
static bool loads_tracing(u32 attach_type, const char *name, enum btf_kind kind)
{
	u32 id = kern_btf_find_id(name, kind);

	return id && loads(BPF_PROG_TYPE_TRACING, attach_type, id, exit_0, ARRAY_CNT(exit_0));
}

static bool release_is_at_least(unsigned want_major, unsigned want_minor)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > want_major || (major == want_major && minor >= want_minor);
}

/* Since 7.0 a raw tracepoint's program can be preempted. Until it is resumed, the kernel skips it for every other thread on that
 * CPU. */
static bool raw_tp_is_exact(void)
{
	struct utsname u;

	return !release_is_at_least(7, 0) || (!uname(&u) && !strstr(u.version, "PREEMPT"));
}

/* A table of stacks that are as deep as they can be. */
static bool has_stack_ids(void)
{
	struct bpf_map_create_attr a = {
		.map_type = BPF_MAP_TYPE_STACK_TRACE, .key_size = 4, .value_size = 8 * STACK_ID_FRAMES, .max_entries = 1
	};
	int fd = kern_map_create(&a);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool probe(enum kern_feature f)
{
	switch (f) {
	case KF_KPROBE:
		return has_pmu("/sys/bus/event_source/devices/kprobe/type");
	case KF_UPROBE:
		return has_pmu("/sys/bus/event_source/devices/uprobe/type");
	case KF_KPROBE_MULTI:
		return knows_link(BPF_TRACE_KPROBE_MULTI);
	case KF_UPROBE_MULTI:
		return knows_link(BPF_TRACE_UPROBE_MULTI);
	case KF_KPROBE_SESSION:
		/* Before 6.14 the kernel follows a fixed number of calls at once, and runs nothing at the entry of the others. */
		return release_is_at_least(6, 14) && knows_link(BPF_TRACE_KPROBE_SESSION) && join_kfunc_id();
	case KF_UPROBE_SESSION:
		return knows_link(BPF_TRACE_UPROBE_SESSION) && join_kfunc_id();
	case KF_BTF:
		return kern_types() != NULL;
	case KF_OVERRIDE:
		return probe_override();
	case KF_TP_BTF:
		return loads_tracing(BPF_TRACE_RAW_TP, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	case KF_FENTRY:
		return loads_tracing(BPF_TRACE_FENTRY, "vfs_read", BTF_KIND_FUNC);
	case KF_JMP32_V4:
		return probe_v4();
	case KF_RAW_TP_COOKIE:
		/* No such program: EBADF. A kernel without cookies does not look that far. */
		return kern_raw_tp_open("sched_switch", -1, 1) == -EBADF;
	case KF_COMM_PADDED:
		return release_is_at_least(6, 3);
	case KF_ENTRY_CALLER:
		return release_is_at_least(6, 12);
	case KF_RAW_TP_EXACT:
		return raw_tp_is_exact();
	case KF_FENTRY_STACK:
		return release_is_at_least(6, 6);
	case KF_LINK_MISSED:
		return release_is_at_least(6, 7);
	case KF_RCU_EXPEDITED:
		return !access("/sys/kernel/rcu_expedited", W_OK);
	case KF_STACK_IDS:
		return has_stack_ids();
	case KF_TRACE_EVENTS:
		return tracefs_can_make_events();
	case KF_CNT:
		break;
	}
	return false;
}

/* The features of a made-up machine. */
static u64 read_fixture(char *path)
{
	char *text, *word, *save;
	u64 has = 0;

	if (!io_read_file(path, &text, NULL)) {
		for (word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
			for (u32 f = 0; f < KF_CNT; f++)
				if (str_eq(word, kern_feature_name((enum kern_feature)f)))
					has |= 1ull << f;
		free(text);
	}
	free(path);
	return has;
}

bool kern_has(enum kern_feature f)
{
	static u64 known, has;
	char *fixture;

	if (!known && (fixture = machine_fixture("features"))) {
		known = ~0ull;
		has = read_fixture(fixture);
	}
	if (!(known >> f & 1)) {
		known |= 1ull << f;
		if (probe(f))
			has |= 1ull << f;
	}
	return has >> f & 1;
}

u64 kern_features(u64 wanted)
{
	u64 bits = 0;

	for (u32 f = 0; f < KF_CNT; f++)
		if (wanted >> f & 1 && kern_has((enum kern_feature)f))
			bits |= 1ull << f;
	return bits;
}

/* Whom the answer comes from. */
enum asked { BY_BPF, BY_SYSFS, BY_SYSFS_WRITE, BY_TRACEFS, BY_RELEASE };

static enum asked asked_by(enum kern_feature f)
{
	switch (f) {
	case KF_KPROBE:
	case KF_UPROBE:
	case KF_BTF:
		return BY_SYSFS;
	case KF_RCU_EXPEDITED:
		return BY_SYSFS_WRITE;
	case KF_TRACE_EVENTS:
		return BY_TRACEFS;
	case KF_COMM_PADDED:
	case KF_ENTRY_CALLER:
	case KF_RAW_TP_EXACT:
	case KF_FENTRY_STACK:
	case KF_LINK_MISSED:
		return BY_RELEASE;
	case KF_KPROBE_MULTI:
	case KF_UPROBE_MULTI:
	case KF_KPROBE_SESSION:
	case KF_UPROBE_SESSION:
	case KF_OVERRIDE:
	case KF_TP_BTF:
	case KF_FENTRY:
	case KF_JMP32_V4:
	case KF_RAW_TP_COOKIE:
	case KF_STACK_IDS:
	case KF_CNT:
		break;
	}
	return BY_BPF;
}

const char *kern_feature_unknown(enum kern_feature f)
{
	enum asked by = asked_by(f);
	char *fixture = machine_fixture("features");

	free(fixture);
	if (fixture || kern_has(f) || by == BY_RELEASE)
		return NULL;
	if (by != BY_BPF && by != BY_TRACEFS && machine_hidden_by())
		return machine_hidden_by();
	if (by == BY_BPF)
		return machine_has_caps() ? NULL : "needs root, or CAP_BPF and CAP_PERFMON";
	if (by == BY_TRACEFS)
		return tracefs_dir() == -EACCES || tracefs_dir() == -EPERM || geteuid() ? "needs root" : NULL;
	return by == BY_SYSFS_WRITE && geteuid() ? "needs root" : NULL;
}

const char *kern_feature_name(enum kern_feature f)
{
	static const char *const names[] = {
#define FEATURE_ROW(name, doc) #name,
#include "image/feature.def"
#undef FEATURE_ROW
	};

	return names[f];
}

const char *kern_feature_doc(enum kern_feature f)
{
	static const char *const docs[] = {
#define FEATURE_ROW(name, doc) doc,
#include "image/feature.def"
#undef FEATURE_ROW
	};

	return docs[f];
}
