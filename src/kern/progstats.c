/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/progstats.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "kern/sys.h"

int progstats_enable(void)
{
	struct bpf_enable_stats_attr attr = {}; /* run time */

	return kern_bpf(BPF_ENABLE_STATS, &attr, sizeof(attr));
}

bool progstats_are_on(void)
{
	char *text;
	bool is_on;

	if (io_read_file("/proc/sys/kernel/bpf_stats_enabled", &text, NULL))
		return false;
	is_on = *text == '1';
	free(text);
	return is_on;
}

int progstats_read(int prog_fd, struct progstats *st)
{
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);
	int err = kern_obj_info(prog_fd, &info, &len);

	*st = err ? (struct progstats){} : (struct progstats){ info.run_time_ns, info.run_cnt };
	return err;
}

int progstats_load_empty(void)
{
	static const u64 insns[] = { 0xb7, 0x95 }; /* r0 = 0; exit */
	struct bpf_prog_load_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insn_cnt = ARRAY_CNT(insns),
		.insns = (uintptr_t)insns,
		.license = (uintptr_t) "GPL",
	};

	return kern_prog_load(&attr);
}

int progstats_run(int prog_fd, u32 times, u64 *ns)
{
	struct progstats before, after = {};
	int err = progstats_read(prog_fd, &before);

	for (u32 i = 0; i < times && !err; i++)
		err = kern_prog_run(prog_fd, -1, NULL);
	if (!err)
		err = progstats_read(prog_fd, &after);
	*ns = after.ns - before.ns;
	return err;
}

/* The fastest of some turns: an interrupt only makes it longer. */
u64 progstats_clock(void)
{
	enum { TURNS = 8, TIMES = 16 };
	int fd = progstats_load_empty();
	u64 least = UINT64_MAX, ns;

	for (u32 i = 0; fd >= 0 && i < TURNS; i++)
		if (!progstats_run(fd, TIMES, &ns))
			least = MIN(least, ns / TIMES);
	if (fd >= 0)
		close(fd);
	return least == UINT64_MAX ? 0 : least;
}
