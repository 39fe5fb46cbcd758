/* SPDX-License-Identifier: GPL-2.0-only */
/* comm: names of threads. That of the current thread comes from a helper, or directly from the task in programs that have it;
 * that of another thread is looked up in the kernel's table of PIDs. */
#include "fn/family.h"
#include "ir/lower.h"
#include "image/feature.h"
#include "image/uapi.h"
#include "lang/check.h"

enum { COMM_SZ = 16 };

/* In keys all bytes count. Those after the end of the name are zero in the task, but kernels before 6.3 do not copy them. */
static void fetch_current(struct lower *l, struct mem to, bool want_tail)
{
	struct mem from;

	if (lower_task_member(l, "comm", COMM_SZ, &from)) {
		lower_copy(l, from, to, COMM_SZ);
		return;
	}
	if (want_tail && !target_has(l->c, KF_COMM_PADDED))
		lower_zero(l, to, COMM_SZ);
	ir_call_of(&l->b, HELPER_get_current_comm, opnd_reg(lower_addr(l, to)), opnd_imm(COMM_SZ));
}

/* Fetched once into a separate buffer; a first use that has a destination fetches directly to it. */
static struct val lower_current(struct lower *l, const struct mem *dst)
{
	static const char what;
	u32 slot = lower_known(l, &what, 0);

	if (dst && !slot) {
		fetch_current(l, *dst, l->zero_tails);
		return val_mem(*dst);
	}
	if (!slot) {
		slot = ir_slot_new(l->b.f, COMM_SZ, 8) + 1;
		fetch_current(l, (struct mem){ .base = ir_slot_addr(&l->b, slot - 1, 0) }, true);
		lower_know(l, &what, 0, slot);
	}
	return val_mem((struct mem){ .base = ir_slot_addr(&l->b, slot - 1, 0) });
}

/* comm(pid). The kernel has a function that returns the task of a PID (bpf_task_from_pid), but only since 6.2, and for few
 * program types. Its table of PIDs is a tree of nodes that can be read from anywhere: from the root, follow the slot that the
 * next bits of the PID select, until it holds a struct pid instead of a node. The memory may change meanwhile; but it is not
 * reused while a program runs, and the task that is found must have the right PID. */

#define NODE_MARK 2 /* low bits of a slot that leads to another node */
#define PID_BITS 22 /* of the largest number that a thread can have */

/* Offsets in bytes. */
struct pid_table {
	u32 thread_pid, task_pid, task_comm, task_link; /* of a task; task_link: how its struct pid refers to it */
	u32 first_ns;                                   /* struct pid: the initial namespace, to which every number belongs */
	u32 first_task;                                 /* struct pid */
	u32 root;                                       /* struct pid_namespace */
	u32 shift, slots;                               /* struct xa_node */
	u32 slot_bits;
};

static bool find_table(struct type_source *src, struct pid_table *t)
{
	const struct type *slots;

	if (!src || !type_path(src, "task_struct", TYPE_PATH("thread_pid"), &t->thread_pid, NULL) ||
	    !type_path(src, "task_struct", TYPE_PATH("pid"), &t->task_pid, NULL) ||
	    !type_path(src, "task_struct", TYPE_PATH("comm"), &t->task_comm, NULL) ||
	    !type_path(src, "task_struct", TYPE_PATH("pid_links"), &t->task_link, NULL) ||
	    !type_path(src, "pid", TYPE_PATH("numbers", "ns"), &t->first_ns, NULL) ||
	    !type_path(src, "pid", TYPE_PATH("tasks", "first"), &t->first_task, NULL) ||
	    !type_path(src, "pid_namespace", TYPE_PATH("idr", "idr_rt", "xa_head"), &t->root, NULL) ||
	    !type_path(src, "xa_node", TYPE_PATH("shift"), &t->shift, NULL) ||
	    !type_path(src, "xa_node", TYPE_PATH("slots"), &t->slots, &slots))
		return false;
	t->slot_bits = slots->kind == T_ARRAY ? __builtin_ctz(slots->cnt) : 0;
	return t->slot_bits != 0;
}

static void check_comm(struct check *k, struct expr *e)
{
	struct pid_table *t;

	e->type = &type_comm;
	if (!e->call.arg_cnt)
		return;
	t = arena_new(check_arena(k), struct pid_table);
	e->call.note = t;
	if (find_table(target_types(k->c->target), t))
		return;
	check_fail(k, e, E_KERNEL_FEATURE, "comm(pid) needs the kernel's types (BTF), which %s",
		   target_types(k->c->target) ? "describe the table of processes in a form that is not supported" :
						"are not available");
	if (!target_types(k->c->target))
		diag_hint(k->c->diag, "the kernel must be built with CONFIG_DEBUG_INFO_BTF");
}

/* Eight bytes, or fewer, of the kernel's; 0 if they cannot be read. */
static vreg peek(struct lower *l, vreg at, u32 off, u32 size, struct mem tmp)
{
	ir_call_of(&l->b, HELPER_probe_read_kernel, opnd_reg(lower_addr(l, tmp)), opnd_imm(size),
		   opnd_reg(ir_alu(&l->b, IR_ADD, at, opnd_imm(off))));
	return ir_load(&l->b, tmp.base, tmp.off, size);
}

/* Goes on if the condition holds, else to `none`. */
static void only_if(struct lower *l, enum ir_cond cond, vreg a, struct opnd b, struct ir_block *none)
{
	struct ir_block *next = ir_block_new(l->b.f);

	ir_br(&l->b, cond, a, b, next, none);
	ir_place(&l->b, next);
}

static struct val lower_of_pid(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct pid_table *t = e->call.note;
	struct ir_block *none = ir_block_new(l->b.f), *found = ir_block_new(l->b.f), *next;
	struct mem tmp = lower_temp(l, 8, 8), m = dst ? *dst : lower_temp(l, 16, 8);
	vreg pid = ir_ext(&l->b, IR_ZEXT, lower_reg(l, e->call.args[0]), 4), at = ir_vreg(l->b.f), shift, index;
	u32 mask = (1u << t->slot_bits) - 1, mark = lower_mark(l);

	lower_zero(l, m, 16);
	ir_mov_to(&l->b, at, opnd_reg(ir_call(&l->b, HELPER_get_current_task, NULL, 0)));
	ir_mov_to(&l->b, at, opnd_reg(peek(l, at, t->thread_pid, 8, tmp)));
	ir_mov_to(&l->b, at, opnd_reg(peek(l, at, t->first_ns, 8, tmp)));
	ir_mov_to(&l->b, at, opnd_reg(peek(l, at, t->root, 8, tmp)));
	for (u32 depth = 0; depth * t->slot_bits < PID_BITS; depth++) {
		next = ir_block_new(l->b.f);
		ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_AND, at, opnd_imm(3)), opnd_imm(NODE_MARK), next, found);
		ir_place(&l->b, next);
		ir_alu_to(&l->b, IR_SUB, at, at, opnd_imm(NODE_MARK));
		/* A valid shift is less than 64; the verifier requires the check. */
		shift = ir_alu(&l->b, IR_AND, peek(l, at, t->shift, 1, tmp), opnd_imm(63));
		index = ir_alu(&l->b, IR_SHR, pid, opnd_reg(shift));
		if (depth)
			index = ir_alu(&l->b, IR_AND, index, opnd_imm(mask));
		else
			only_if(l, C_ULE, index, opnd_imm(mask), none); /* the tree is only as high as its largest number needs */
		ir_alu_to(&l->b, IR_ADD, at, at, opnd_reg(ir_alu(&l->b, IR_SHL, index, opnd_imm(3))));
		ir_mov_to(&l->b, at, opnd_reg(peek(l, at, t->slots, 8, tmp)));
	}
	ir_jmp(&l->b, found);
	ir_place(&l->b, found);
	only_if(l, C_NE, at, opnd_imm(0), none);
	only_if(l, C_EQ, ir_alu(&l->b, IR_AND, at, opnd_imm(3)), opnd_imm(0), none);
	ir_mov_to(&l->b, at, opnd_reg(peek(l, at, t->first_task, 8, tmp)));
	only_if(l, C_NE, at, opnd_imm(0), none);
	ir_alu_to(&l->b, IR_SUB, at, at, opnd_imm(t->task_link));
	only_if(l, C_EQ, peek(l, at, t->task_pid, 4, tmp), opnd_reg(pid), none);
	ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(lower_addr(l, m)), opnd_imm(16),
		   opnd_reg(ir_alu(&l->b, IR_ADD, at, opnd_imm(t->task_comm))));
	ir_jmp(&l->b, none);
	ir_place(&l->b, none);
	lower_forget(l, mark);
	return val_mem(m);
}

static struct val lower_comm(struct lower *l, struct expr *e, const struct mem *dst)
{
	return e->call.arg_cnt ? lower_of_pid(l, e, dst) : lower_current(l, dst);
}

static const struct fn rows[] = {
	{ "comm", "(?int tid) string[16]",
	  "name of the current thread, or of the thread with this ID in the initial PID namespace; empty if there is no such thread",
	  "begin { @[comm] = count(); print(comm(1)) }", FN_WORD | FN_TASK, check_comm, lower_comm },
};

FN_FAMILY(fn_comm, rows);
