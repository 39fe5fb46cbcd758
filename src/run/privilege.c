/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter is a list of system calls that are allowed, in classic BPF:
 *
 *   the machine is another one → EPERM
 *   bpf(2): commands that work on descriptors that we have → allowed, others → EPERM
 *   ioctl(2): questions about a terminal → allowed, others → EPERM
 *   one of the list → allowed
 *   EPERM
 *
 * It fails calls and does not kill: a library that tries something optional goes on without it, and results are never lost. */
#include "run/privilege.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/need.h"
#include "image/uapi.h"
#include "run/session.h"

u32 privilege_needs(u32 script, const struct session_opts *o)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (o->cmd)
		script |= NEED_BIT(CHILD);
	if (o->user)
		script |= NEED_BIT(OTHER_USER);
	if (o->cost || o->max_cpu_ppm)
		script |= NEED_BIT(STATISTICS);
	if (script & NEED_BIT(USER_NAMES) && urls && *urls)
		script |= NEED_BIT(FETCHES);
	return script;
}

bool privilege_is_filtered(u32 needs)
{
	return !(needs & (NEED_BIT(COMMANDS) | NEED_BIT(FETCHES)));
}

/* ---- capabilities ---- */

static int limit_caps(u64 caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &h, data))
		return -errno;
	for (u32 i = 0; i < 2; i++) {
		u32 part = (u32)(caps >> 32 * i);

		data[i].effective &= part;
		data[i].permitted &= part;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &h, data) ? -errno : 0;
}

int privilege_clear(void)
{
	return limit_caps(0);
}

int privilege_drop(u32 needs)
{
	/* What system() runs gets what we have. */
	return needs & NEED_BIT(COMMANDS) ? 0 : limit_caps(needs_kept(needs) | 1ull << CAP_SYS_NICE);
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ARCH AUDIT_ARCH_PPC64LE
#endif

/* Leak detection of the sanitizers traces its own process. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Older headers lack some; these have the same number on all machines. */
enum { NR_OPENAT2 = 437, NR_FACCESSAT2 = 439, NR_CLOSE_RANGE = 436, NR_CLONE3 = 435, NR_FUTEX_WAITV = 449 };

static const u16 allowed[] = {
	/* data */
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	NR_CLOSE_RANGE,
	/* files and what is known of them */
	SYS_openat,
	NR_OPENAT2,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	NR_FACCESSAT2,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_getcwd,
	SYS_flock,
	SYS_ftruncate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_mkdirat,
	SYS_name_to_handle_at,
	SYS_fadvise64,
	SYS_memfd_create,
	/* waiting */
	SYS_ppoll,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
	SYS_pipe2,
	SYS_dup,
	SYS_dup3,
	SYS_fcntl,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
	SYS_restart_syscall,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	/* threads, and the process that detaches */
	SYS_clone,
	NR_CLONE3,
	SYS_futex,
	NR_FUTEX_WAITV,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_rseq,
	SYS_set_tid_address,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sched_getparam,
	SYS_sched_getscheduler,
	SYS_membarrier,
	SYS_prctl,
	SYS_exit,
	SYS_exit_group,
	SYS_wait4,
	SYS_waitid,
	SYS_pidfd_open,
	SYS_pidfd_send_signal,
	/* signals */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigpending,
	SYS_rt_sigtimedwait,
	SYS_sigaltstack,
	SYS_kill,
	SYS_tgkill,
	/* who and where we are */
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_uname,
	SYS_sysinfo,
	SYS_getrusage,
	SYS_prlimit64,
	SYS_getrandom,
	SYS_getcpu,
	SYS_capget,
#ifdef SYS_open /* calls that newer machines do not have */
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_mkdir,
	SYS_poll,
	SYS_epoll_wait,
	SYS_pipe,
	SYS_dup2,
	SYS_getrlimit,
	SYS_time,
#endif
};

/* They work on maps and programs whose descriptors we have, and load nothing. */
static const u16 bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM,  BPF_MAP_UPDATE_ELEM,  BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY,
	BPF_MAP_LOOKUP_BATCH, BPF_MAP_DELETE_BATCH, BPF_PROG_TEST_RUN,   BPF_OBJ_GET_INFO_BY_FD,
};

#define TCGETS2_ 0x802c542au /* isatty() of newer libraries */
static const u32 ioctls[] = { TCGETS, TCGETS2_, TIOCGWINSZ };

/* As <linux/filter.h> has them, which cannot be included beside our header of the other BPF. */
struct classic_insn {
	u16 code;
	u8 jt, jf;
	u32 k;
};
enum { LOAD = 0x20, JUMP = 0x05, JUMP_EQ = 0x15, RETURN = 0x06 };

struct filter {
	u16 cnt;
	struct classic_insn *code; /* sock_fprog ends here */
	struct classic_insn room[256];
};

static void put(struct filter *f, struct classic_insn insn)
{
	BUG_ON(f->cnt == ARRAY_CNT(f->room));
	f->code[f->cnt++] = insn;
}

static void put_load(struct filter *f, u32 off)
{
	put(f, (struct classic_insn){ LOAD, .k = off });
}

static void put_end(struct filter *f, u32 action)
{
	put(f, (struct classic_insn){ RETURN, .k = action });
}

/* The value that was loaded is v: allowed. */
static void put_allow(struct filter *f, u32 v)
{
	put(f, (struct classic_insn){ JUMP_EQ, 0, 1, v });
	put_end(f, SECCOMP_RET_ALLOW);
}

/* If it is, the instructions up to land() follow; returns what land() wants. */
static u16 put_if(struct filter *f, u32 v)
{
	put(f, (struct classic_insn){ JUMP_EQ, 0, 0, v });
	return f->cnt;
}

static void land(struct filter *f, u16 from)
{
	BUG_ON(f->cnt - from > 255);
	f->code[from - 1].jf = (u8)(f->cnt - from);
}

#ifdef OWN_ARCH
static void build(struct filter *f, u32 needs)
{
	const u32 deny = SECCOMP_RET_ERRNO | EPERM;
	u16 at;

	_Static_assert(ARRAY_CNT(allowed) <= UINT8_MAX, "jumps of classic BPF reach 255 instructions");
	put_load(f, offsetof(struct seccomp_data, arch));
	put(f, (struct classic_insn){ JUMP_EQ, 1, 0, OWN_ARCH });
	put_end(f, deny);
	put_load(f, offsetof(struct seccomp_data, nr));
	for (u32 i = 0; i < ARRAY_CNT(allowed); i++)
		put(f, (struct classic_insn){ JUMP_EQ, (u8)(ARRAY_CNT(allowed) - i), 0, allowed[i] });
	put(f, (struct classic_insn){ JUMP, .k = 1 });
	put_end(f, SECCOMP_RET_ALLOW);
	if (needs & NEED_BIT(WATCHES))
		put_allow(f, SYS_perf_event_open);
	at = put_if(f, SYS_bpf);
	put_load(f, offsetof(struct seccomp_data, args[0]));
	for (u32 i = 0; i < ARRAY_CNT(bpf_commands); i++)
		put_allow(f, bpf_commands[i]);
	if (needs & NEED_BIT(WATCHES))
		put_allow(f, BPF_LINK_CREATE);
	put_end(f, deny);
	land(f, at);
	at = put_if(f, SYS_ioctl);
	put_load(f, offsetof(struct seccomp_data, args[1]));
	for (u32 i = 0; i < ARRAY_CNT(ioctls); i++)
		put_allow(f, ioctls[i]);
	land(f, at);
	put_end(f, deny);
}
#endif

int privilege_seal(u32 needs)
{
	int err = needs & NEED_BIT(COMMANDS) ? 0 : limit_caps(needs_kept(needs));
#ifdef OWN_ARCH
	struct filter f = { .code = f.room };

	if (err || !privilege_is_filtered(needs) || IS_SANITIZED)
		return err;
	build(&f, needs);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* A thread that exists has the same filter from now on. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &f))
		return errno == EINVAL ? -ENOSYS : -errno;
#endif
	return err;
}
