/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks as text: a newline, then a line for each frame.
 *
 *   bpftrace          vfs_read+5
 *   perf      \tffffffff8134a0c5 vfs_read+5        a user frame also has its file: (/usr/bin/bash)
 *   raw       ffffffff8134a0c5
 *   build_id  8c9e…40 digits 0x1234                 build id of the file, and offset in it; an address where that is not known
 */
#include "base/escape.h"
#include "base/num.h"
#include "out/value.h"

static bool put_name(const struct naming *n, const struct type *t, u32 pid, u64 addr, u64 at, struct sbuf *out)
{
	bool is_user = t->kind == T_USTACK, is_put = false;
	size_t start = out->len;

	if (is_user ? !n->uframe : !n->kframe)
		return false;
	if (is_user)
		is_put = n->uframe(n->self, pid, addr, at, t->stack_mode == STACK_PERF, out);
	else
		is_put = n->kframe(n->self, addr, at, out);
	/* Where only the file is known, the address stands for the name. */
	if (n->shown && (!is_put || str_starts(out->s + start, "0x")))
		n->shown->nameless[is_user]++;
	if (n->escapes)
		escape_from(out, start, false);
	return is_put;
}

static void put_build_id(const u8 *frame, struct sbuf *out)
{
	u32 status;
	u64 at;

	memcpy(&status, frame, 4);
	memcpy(&at, frame + 24, 8);
	for (u32 i = 0; status == 1 && i < 20; i++)
		sbuf_printf(out, "%02x", frame[4 + i]);
	sbuf_printf(out, status == 1 ? " 0x%llx\n" : "%llx\n", (unsigned long long)at);
}

void stack_text(const struct naming *n, const struct type *t, const u8 *data, u32 len, struct sbuf *out)
{
	u32 head = type_stack_head(t), pid = 0;
	bool at_top = t->kind == T_KSTACK;
	u64 cnt = 0, addr;

	if (len >= head)
		memcpy(&cnt, data + head - 8, 8);
	if (len >= head && t->kind == T_USTACK)
		memcpy(&pid, data, 4);
	cnt = MIN(cnt, t->cnt);
	cnt = MIN(cnt, len >= head ? (len - head) >> type_frame_shift(t) : 0);
	sbuf_putc(out, '\n');
	for (u32 i = 0; i < cnt; i++) {
		if (t->stack_mode == STACK_BUILD_ID) {
			put_build_id(data + head + 32 * (size_t)i, out);
			continue;
		}
		memcpy(&addr, data + head + 8 * (size_t)i, 8);
		/* A limit may end the stack before the traced code: the last frame says more than none. */
		if (at_top && i + 1 < cnt && n->khidden && n->khidden(n->self, addr))
			continue;
		at_top = false;
		switch (t->stack_mode) {
		case STACK_BPFTRACE:
			sbuf_puts(out, "        ");
			break;
		case STACK_PERF:
			sbuf_printf(out, "\t%llx ", (unsigned long long)addr);
			break;
		case STACK_RAW:
			sbuf_printf(out, "%llx\n", (unsigned long long)addr);
			continue;
		case STACK_BUILD_ID:
			continue; /* not here */
		}
		/* All but the innermost are addresses that calls return to: the call itself is before them. A function that ends
		 * in a call which never returns would otherwise be taken for the one that follows it. */
		if (!put_name(n, t, pid, addr, i && addr ? addr - 1 : addr, out)) {
			num_put_addr(out, addr);
			if (t->stack_mode == STACK_PERF && t->kind == T_USTACK)
				sbuf_puts(out, " ([unknown])");
		}
		sbuf_putc(out, '\n');
	}
}
