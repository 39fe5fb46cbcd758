/* SPDX-License-Identifier: GPL-2.0-only */
#include "arch/syscall.h"

static const struct syscall_row rows[] = {
#if defined(__x86_64__)
#define SYSCALL_ROW(nr, event, call) { nr, #event, #call },
#include "arch/syscall_x86_64.def"
#undef SYSCALL_ROW
#endif
	{},
};

const struct syscall_row *syscall_table(u32 *cnt)
{
	*cnt = ARRAY_CNT(rows) - 1;
	return rows;
}

int syscall_nr(const char *event)
{
	for (const struct syscall_row *r = rows; r->event; r++)
		if (str_eq(r->event, event))
			return r->nr;
	return -1;
}
