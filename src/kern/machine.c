/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/machine.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "arch/order.h"
#include "base/io.h"
#include "base/sbuf.h"
#include "base/vec.h"
#include "image/need.h"
#include "kern/feature.h"
#include "kern/kallsyms.h"
#include "kern/pmu.h"
#include "kern/progs.h"
#include "kern/tracefs.h"
#include "kern/types.h"

/* The initial PID namespace has a fixed inode number (PROC_PID_INIT_INO). */
#define PIDNS_INIT_INO 0xEFFFFFFCu

bool cpu_list_each(const char *text, void (*fn)(void *arg, u32 cpu), void *arg)
{
	const char *p = text;

	for (;;) {
		unsigned long from, to;
		char *end;

		if (!isdigit((u8)*p))
			return !*p || *p == '\n';
		from = to = strtoul(p, &end, 10);
		if (*end == '-') {
			if (!isdigit((u8)end[1]))
				return false;
			to = strtoul(end + 1, &end, 10);
		}
		if (to < from || to > 65535)
			return false;
		for (; from <= to; from++)
			fn(arg, from);
		if (*end != ',')
			return !*end || *end == '\n';
		p = end + 1;
	}
}

static void count_cpu(void *arg, u32 cpu)
{
	u32 *cnt = arg;

	*cnt = MAX(*cnt, cpu + 1);
}

u32 machine_cpus(void)
{
	static u32 cnt;
	char *text;
	long n;

	if (cnt)
		return cnt;
	if (!io_read_file("/sys/devices/system/cpu/possible", &text, NULL)) {
		if (!cpu_list_each(text, count_cpu, &cnt))
			cnt = 0;
		free(text);
	}
	if (!cnt) {
		n = sysconf(_SC_NPROCESSORS_CONF);
		cnt = n > 0 ? n : 1;
	}
	return cnt;
}

typedef vec(u32) cpu_vec;

static void add_cpu(void *arg, u32 cpu)
{
	cpu_vec *v = arg;

	vec_push(v, cpu);
}

u32 *machine_online(u32 *cnt)
{
	cpu_vec v = {};
	char *text;

	if (!io_read_file("/sys/devices/system/cpu/online", &text, NULL)) {
		cpu_list_each(text, add_cpu, &v);
		free(text);
	}
	if (!v.cnt)
		for (u32 i = 0; i < machine_cpus(); i++)
			vec_push(&v, i);
	*cnt = v.cnt;
	return v.at;
}

static u64 clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (u64)t.tv_sec * 1000000000ull + t.tv_nsec;
}

char *machine_fixture(const char *file)
{
	const char *dir = getenv("SONDE_TEST_MACHINE");

	return dir && *dir ? xasprintf("%s/%s", dir, file) : NULL;
}

/* The made-up machine of a test. The defaults are 1 CPU and no feature. */
static void fixture_target(struct target *t, char *cpus)
{
	char *text;

	t->ncpus = 0;
	if (!io_read_file(cpus, &text, NULL)) {
		cpu_list_each(text, count_cpu, &t->ncpus);
		free(text);
	}
	t->ncpus = MAX(t->ncpus, 1u);
	free(cpus);
	t->features = kern_features(KF_ALL);
}

static s64 cgroup_id(const char *path)
{
	_Alignas(struct file_handle) u8 room[sizeof(struct file_handle) + sizeof(u64)] = {};
	struct file_handle *handle = (struct file_handle *)room;
	struct statfs fs;
	int mount_id;
	u64 id;

	if (statfs(path, &fs))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC)
		return -ENOTTY;
	/* The handle of a cgroup's directory is its id. */
	handle->handle_bytes = sizeof(id);
	if (name_to_handle_at(AT_FDCWD, path, handle, &mount_id, 0))
		return -errno;
	memcpy(&id, room + sizeof(*handle), sizeof(id));
	return (s64)id;
}

static bool has_feature(u32 feature)
{
	return kern_has((enum kern_feature)feature);
}

static int each_pmu_event(void (*fn)(void *arg, const char *pmu, const char *name), void *arg)
{
	return pmu_each(PMU_ROOT, fn, arg);
}

static int resolve_pmu_event(const char *pmu, const char *terms, struct pmu_event *ev, struct sbuf *why)
{
	return pmu_resolve(PMU_ROOT, pmu, terms, ev, why);
}

const char *machine_hidden_by(void)
{
	return access("/sys/kernel", F_OK) ? "sysfs is not mounted at /sys (mount -t sysfs sysfs /sys)" : NULL;
}

const struct machine kern_machine = {
	.has = has_feature,
	.types = kern_types,
	.kaddr = kallsyms_addr,
	.each_symbol = kallsyms_each,
	.each_function = tracefs_each_function,
	.each_function_at = tracefs_each_function_at,
	.each_event = tracefs_each_event,
	.event_format = tracefs_event_format,
	.next_prog = kern_next_prog,
	.each_prog_func = kern_each_prog_func,
	.each_pmu_event = each_pmu_event,
	.pmu_event = resolve_pmu_event,
	.cgroup_id = cgroup_id,
	.hidden_by = machine_hidden_by,
};

void machine_target(struct target *t)
{
	char *fixture = machine_fixture("cpus");
	struct stat st;

	if (fixture) {
		fixture_target(t, fixture);
	} else {
		t->ncpus = machine_cpus();
		t->features = 0;
		t->askable = KF_ALL;
		t->is_weakly_ordered = !ARCH_IS_TSO;
	}
	t->machine = &kern_machine;
	t->functions_are_given = tracefs_functions_are_set();
	t->boot_to_tai_ns = fixture ? 0 : (s64)(clock_ns(CLOCK_TAI) - clock_ns(CLOCK_BOOTTIME));
	t->pidns_dev = t->pidns_ino = 0;
	if (!fixture && !stat("/proc/self/ns/pid", &st) && st.st_ino != PIDNS_INIT_INO) {
		/* The kernel compares with its own encoding of the device: 12 bits of major above 20 bits of minor. */
		t->pidns_dev = (u64)major(st.st_dev) << 20 | minor(st.st_dev);
		t->pidns_ino = st.st_ino;
	}
}

/* ---- privileges ---- */

u64 machine_caps(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &h, data))
		return 0;
	return (u64)data[1].effective << 32 | data[0].effective;
}

/* "none [integrity] confidentiality": the word in brackets */
static bool is_locked_down(void)
{
	bool locked = false;
	char *text;

	if (!io_read_file("/sys/kernel/security/lockdown", &text, NULL)) {
		locked = strstr(text, "[confidentiality]") != NULL;
		free(text);
	}
	return locked;
}

static u64 missing_caps(void)
{
	u64 caps = machine_caps();

	return caps & CAP(SYS_ADMIN) ? 0 : needs_start(NEED_BIT(PROGRAMS)) & ~caps;
}

bool machine_has_caps(void)
{
	return !missing_caps();
}

bool machine_may_trace(struct diag *d)
{
	u64 missing = missing_caps();
	struct sbuf names = {};

	if (missing) {
		capability_names(missing, " and ", &names);
		diag_error_nowhere(d, E_LOAD, "tracing needs %s, which this process does not have", sbuf_str(&names));
		diag_hint(d, "run it with sudo, or as a user with the capabilities that `sonde --needs` lists");
		sbuf_release(&names);
		return false;
	}
	if (is_locked_down()) {
		diag_error_nowhere(d, E_LOAD, "the kernel is locked down (confidentiality): programs may not read kernel memory");
		diag_hint(d, "lockdown comes with Secure Boot or the boot parameter lockdown=confidentiality");
		return false;
	}
	return true;
}

bool machine_may_open(struct diag *d, u32 used)
{
	enum { OWN = 16 }; /* standard ones, events and signals to wait for, symbols, files that are read */
	rlim_t want = (rlim_t)used + OWN;
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur >= want)
		return true;
	lim.rlim_cur = MIN(want, lim.rlim_max);
	if (lim.rlim_cur == want && !setrlimit(RLIMIT_NOFILE, &lim))
		return true;
	diag_error_nowhere(d, E_LOAD, "the limit of open files is too low: tracing needs at least %llu, and %llu are allowed",
			   (unsigned long long)want, (unsigned long long)lim.rlim_max);
	diag_hint(d, "raise the limit in the shell that starts sonde: ulimit -n 1024");
	return false;
}
