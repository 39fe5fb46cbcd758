/* SPDX-License-Identifier: GPL-2.0-only */
/* The environment of a program that runs in this process: by default the process's own. */
#include "vm/internal.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* The id of a control group (v2) is the inode number of its directory. */
static u64 own_cgroup_id(void)
{
	char *text, *line, *end, *path;
	struct stat st = {};

	if (io_read_file("/proc/self/cgroup", &text, NULL) < 0)
		return 0;
	line = str_starts(text, "0::") ? text : strstr(text, "\n0::");
	if (line) {
		line = strstr(line, "0::") + 3;
		end = strchr(line, '\n');
		if (end)
			*end = 0;
		path = xasprintf("/sys/fs/cgroup%s", line);
		if (stat(path, &st) < 0)
			st.st_ino = 0;
		free(path);
	}
	free(text);
	return st.st_ino;
}

static void own_comm(char comm[VM_COMM_SZ])
{
	char *text;

	snprintf(comm, VM_COMM_SZ, "sonde");
	if (io_read_file("/proc/self/comm", &text, NULL) < 0)
		return;
	text[strcspn(text, "\n")] = 0;
	snprintf(comm, VM_COMM_SZ, "%s", text);
	free(text);
}

void vm_env_init(struct vm_env *env)
{
	*env = (struct vm_env){
		.pid = getpid(),
		.tid = gettid(),
		.uid = getuid(),
		.gid = getgid(),
		.cpu = -1,
		.cgroup_id = own_cgroup_id(),
		.task = 0xffff888000001000,
		.max_steps = 10000000,
	};
	env->ns_pid = env->pid;
	env->ns_tid = env->tid;
	own_comm(env->comm);
}
