/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sealed process can do, and what not. Each case is a process of its own, which exits with the errno of one call. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "image/need.h"
#include "image/uapi.h"
#include "run/privilege.h"
#include "run/session.h"

static int bpf(enum bpf_cmd cmd)
{
	struct bpf_map_elem_attr a = { .map_fd = (u32)-1 };

	return (int)syscall(SYS_bpf, cmd, &a, sizeof(a));
}

static int try_lookup(void)
{
	return bpf(BPF_MAP_LOOKUP_ELEM);
}

static int try_create(void)
{
	return bpf(BPF_MAP_CREATE);
}

static int try_load(void)
{
	return bpf(BPF_PROG_LOAD);
}

static int try_link(void)
{
	return bpf(BPF_LINK_CREATE);
}

static int try_perf(void)
{
	return (int)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

static int try_exec(void)
{
	return execl("/no/such/program", "x", NULL);
}

static int try_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int try_unlink(void)
{
	return unlink("/no/such/file");
}

static int try_open(void)
{
	return open("/proc/self/status", O_RDONLY);
}

static int try_ptrace(void)
{
	return (int)syscall(SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, getppid(), 0, 0);
}

static void *nothing(void *arg)
{
	return arg;
}

static int try_thread(void)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, nothing, NULL);

	if (!err)
		err = pthread_join(t, NULL);
	errno = err;
	return err ? -1 : 0;
}

static int try_fork(void)
{
	int status, pid = fork();

	if (!pid)
		_exit(0);
	return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}

static int try_caps(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &h, data))
		return -1;
	errno = EEXIST;
	return data[0].permitted | data[1].permitted ? -1 : 0;
}

/* The errno of a call of a process that has given up what these needs do not keep; 0: it succeeded. */
static int after_seal(u32 needs, int (*call)(void))
{
	int status = 0, pid = fork();

	if (!pid) {
		if (privilege_drop(needs) || privilege_seal(needs))
			_exit(200);
		_exit(call() < 0 ? errno : 0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_calls(void)
{
	const u32 plain = NEED_BIT(PROGRAMS), watches = plain | NEED_BIT(WATCHES), commands = plain | NEED_BIT(COMMANDS);

	CHECK(after_seal(plain, try_open) == 0);
	CHECK(after_seal(plain, try_lookup) == EBADF);
	CHECK(after_seal(plain, try_thread) == 0);
	CHECK(after_seal(plain, try_fork) == 0);
	CHECK(after_seal(plain, try_caps) == 0);
	CHECK(after_seal(commands, try_exec) == ENOENT);
	CHECK(after_seal(commands, try_unlink) == ENOENT);
#ifndef __SANITIZE_ADDRESS__ /* which has no filter */
	CHECK(after_seal(plain, try_create) == EPERM);
	CHECK(after_seal(plain, try_load) == EPERM);
	CHECK(after_seal(plain, try_link) == EPERM);
	CHECK(after_seal(plain, try_perf) == EPERM);
	CHECK(after_seal(plain, try_exec) == EPERM);
	CHECK(after_seal(plain, try_socket) == EPERM);
	CHECK(after_seal(plain, try_unlink) == EPERM);
	CHECK(after_seal(plain, try_ptrace) == EPERM);
	CHECK(after_seal(watches, try_exec) == EPERM);
	CHECK(after_seal(watches, try_create) == EPERM);
#endif
	CHECK(after_seal(watches, try_perf) == EFAULT);
	CHECK(after_seal(watches, try_link) == EBADF);
}

static void test_needs(void)
{
	struct session_opts plain = {}, with = { .cmd = "true", .user = "nobody", .cost = true };
	u32 needs = privilege_needs(NEED_BIT(PROGRAMS), &with);

	CHECK(privilege_needs(NEED_BIT(PROGRAMS), &plain) == NEED_BIT(PROGRAMS));
	CHECK(needs_start(NEED_BIT(PROGRAMS)) == (CAP(BPF) | CAP(PERFMON)));
	CHECK(!needs_kept(NEED_BIT(PROGRAMS)));
	CHECK(needs_kept(needs) == CAP(KILL));
	CHECK(needs_start(needs) == (CAP(BPF) | CAP(PERFMON) | CAP(SETUID) | CAP(SETGID) | CAP(SYS_ADMIN)));
	CHECK(privilege_is_filtered(needs));
	CHECK(!privilege_is_filtered(needs | NEED_BIT(COMMANDS)));
	setenv("DEBUGINFOD_URLS", "http://localhost", 1);
	CHECK(privilege_is_filtered(privilege_needs(NEED_BIT(PROGRAMS), &plain)));
	CHECK(!privilege_is_filtered(privilege_needs(NEED_BIT(USER_NAMES), &plain)));
	unsetenv("DEBUGINFOD_URLS");
	/* Each capability has a name. */
	for (u32 i = 0; i < NEED_CNT; i++) {
		u64 caps = need_table[i].kept == CAPS_ALL ? 0 : need_table[i].start | need_table[i].kept;

		while (capability_name(&caps))
			;
		CHECK(!caps);
	}
}

int main(void)
{
	test_needs();
	test_calls();
	return check_end();
}
