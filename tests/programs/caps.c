/* SPDX-License-Identifier: GPL-2.0-only */
/* caps NAME[,NAME]... COMMAND...: runs a command as nobody, with these capabilities and no others; "none" for none. As setpriv(1)
 * does it, which guests do not have. */
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534, LAST = 40 };

static const struct {
	const char *name;
	int number;
} known[] = {
	{ "dac_override", 1 }, { "dac_read_search", 2 }, { "kill", 5 },    { "setgid", 6 },   { "setuid", 7 },
	{ "sys_ptrace", 19 },  { "sys_admin", 21 },      { "syslog", 34 }, { "perfmon", 38 }, { "bpf", 39 },
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			return known[i].number;
	fprintf(stderr, "caps: no capability '%s'\n", name);
	exit(2);
}

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

int main(int argc, char **argv)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	unsigned long long set = 0;

	if (argc < 3)
		return 2;
	for (char *w = strtok(argv[1], ","); w; w = strtok(NULL, ","))
		if (strcmp(w, "none"))
			set |= 1ull << number_of(w);
	/* A capability that is not in this set cannot be had again. */
	for (int i = 0; i <= LAST; i++)
		if (!(set >> i & 1))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		fail("setresuid");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = data[i].inheritable = (unsigned)(set >> 32 * i);
	if (syscall(SYS_capset, &h, data))
		fail("capset");
	for (int i = 0; i <= LAST; i++)
		if (set >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			fail("PR_CAP_AMBIENT_RAISE");
	execvp(argv[2], argv + 2);
	fail(argv[2]);
}
