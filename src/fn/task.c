/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks and their owners: parents and leaders (through the kernel's types), users, cgroups. */
#include <errno.h>

#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "base/num.h"
#include "out/value.h"
#include "arch/abi.h"
#include "lang/provider.h"

static struct expr *new_expr(struct check *k, struct expr *e, enum expr_kind kind)
{
	struct expr *n = arena_new(check_arena(k), struct expr);

	*n = (struct expr){ .kind = kind, .span = e->span };
	return n;
}

static struct expr *field_of(struct check *k, struct expr *base, const char *name)
{
	struct expr *f = new_expr(k, base, E_FIELD);

	f->field.base = base;
	f->field.name = name;
	return f;
}

/* The call stands for task.link.member, the current task if none is given. */
static void check_relative(struct check *k, struct expr *e, const char *link, const char *member)
{
	struct type_source *src = target_types(k->c->target);
	struct expr *task = e->call.arg_cnt ? e->call.args[0] : NULL;

	if (!src || !src->find(src, "struct", "task_struct")) {
		check_fail(k, e, E_KERNEL_FEATURE, "%s needs the kernel's types (BTF), which are not available", e->call.name);
		diag_hint(k->c->diag, "the kernel must be built with CONFIG_DEBUG_INFO_BTF");
		return;
	}
	if (!task) {
		task = new_expr(k, e, E_CALL);
		task->call.name = "curtask";
	} else if (!type_is_struct_ptr(task->type) || !str_eq(task->type->elem->name, "task_struct")) {
		check_fail(k, task, E_ARG_TYPE, "%s() takes a struct task_struct * (%s provided)", e->call.name,
			   type_str(check_arena(k), task->type));
		diag_hint(k->c->diag, "such as curtask, or (struct task_struct *)arg0");
		e->type = &type_error;
		return;
	}
	task = field_of(k, field_of(k, task, link), member);
	check_expr(k, task);
	e->call.note = task;
	e->type = task->type;
}

static struct val lower_relative(struct lower *l, struct expr *e, const struct mem *dst)
{
	return lower_expr(l, e->call.note, dst);
}

static void check_ppid(struct check *k, struct expr *e)
{
	check_relative(k, e, "real_parent", "tgid");
}

static void check_pcomm(struct check *k, struct expr *e)
{
	check_relative(k, e, "real_parent", "comm");
}

static void check_leader_tid(struct check *k, struct expr *e)
{
	check_relative(k, e, "group_leader", "pid");
}

static void check_leader_comm(struct check *k, struct expr *e)
{
	check_relative(k, e, "group_leader", "comm");
}

static void text_username(const struct show *w, const struct type *t, const u8 *data)
{
	if (w->n->username)
		w->n->username(w->n->self, value_load(t, data), w->out);
	else
		num_put_u64(w->out, value_load(t, data));
}

static const struct type type_username;
static const struct opaque username = {
	/* u32 uid */
	.name = "username",    .word = "username_t",  .type = &type_username, .flags = OPAQUE_SCALAR | OPAQUE_FROM_INT,
	.order = ORDER_NUMBER, .text = text_username,
};
static const struct type type_username = OPAQUE_TYPE(username, 4, 4);

static struct val lower_username(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(ir_ext(&l->b, IR_ZEXT, ir_call(&l->b, HELPER_get_current_uid_gid, NULL, 0), 4));
}

static void check_cgroupid(struct check *k, struct expr *e)
{
	const char *path = e->call.args[0]->str.s;
	const struct machine *m = k->c->target->machine;
	s64 id = m && m->cgroup_id ? m->cgroup_id(path) : -ENOSYS;

	if (id < 0 && k->c->target->is_check)
		id = 0; /* it may exist on the machine where the script will run */
	if (id < 0) {
		check_fail(k, e, E_UNKNOWN_SYMBOL, "Failed to find a cgroup at %s: %s", path,
			   id == -ENOTTY ? "it is not a cgroup" : strerror(-(int)id));
		diag_hint(k->c->diag, "the path is that of its directory, such as /sys/fs/cgroup/system.slice");
		return;
	}
	k->c->is_of_boot = true;
	expr_become_int(e, id, false);
	e->type = &type_u64;
}

static struct val never_lowered(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() is a constant", e->call.name);
}

static void text_cgroup_path(const struct show *w, const struct type *t, const u8 *data)
{
	if (w->n->cgroup_path)
		w->n->cgroup_path(w->n->self, value_load(t, data), t->name, w->out);
	else
		num_put_u64(w->out, value_load(t, data));
}

/* u64 cgroup id. type.name: which hierarchies are shown, a pattern, or NULL. */
static const struct type type_cgroup_path;
static const struct opaque cgroup_path = {
	.name = "cgroup_path",
	.word = "cgroup_path_t",
	.type = &type_cgroup_path,
	.flags = OPAQUE_SCALAR | OPAQUE_PARAM,
	.order = ORDER_NUMBER,
	.text = text_cgroup_path,
};
static const struct type type_cgroup_path = OPAQUE_TYPE(cgroup_path, 8, 8);

static void check_cgroup_path(struct check *k, struct expr *e)
{
	e->type = type_opaque(check_arena(k), &cgroup_path, e->call.arg_cnt > 1 ? e->call.args[1]->str.s : NULL, 0);
}

static struct val lower_cgroup_path(struct lower *l, struct expr *e, const struct mem *dst)
{
	return (struct val){ VAL_REG, .r = lower_scalar(l, e->call.args[0]) };
}

static struct val lower_has_cpid(struct lower *l, struct expr *e, const struct mem *dst)
{
	if (l->c->target->is_for_later)
		return val_reg(lower_to_bool(l, fn_child_pid(l).r));
	return val_imm(l->c->target->child_pid != 0);
}

/* x86: the low bits of the code segment are the privilege level. */
static struct val lower_usermode(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct ir_block *user = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d, cs;
	struct val v;
	u32 off;

	if (!(l->unit->provider->flags & PROV_REG) || !abi_find_reg("cs", &off))
		return val_imm((l->unit->provider->flags & PROV_SELF) != 0);
	v = l->unit->provider->lower_reg(l, off);
	cs = v.kind == VAL_MEM ? lower_load(l, v.mem, &type_u64) : lower_force(l, v.r);
	d = ir_vreg(l->b.f);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_AND, cs, opnd_imm(3)), opnd_imm(3), user, done);
	ir_place(&l->b, user);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

static void check_probetype(struct check *k, struct expr *e)
{
	const struct provider *p = k->unit->provider;
	struct span span = e->span;

	*e = (struct expr){ .kind = E_STR, .span = span };
	e->str.s = p->flags & PROV_TEST ? "test" :
		p->flags & PROV_BENCH   ? "benchmark" :
		p->flags & PROV_SELF    ? "special" :
					  p->name;
	e->str.len = strlen(e->str.s);
	e->type = type_string(check_arena(k), e->str.len + 1);
}

static const struct fn rows[] = {
	{ "ppid", "(?ptr task) int32",
	  "process ID of the parent of the current task, or of the given one, in the initial PID namespace", "begin { @ = ppid }",
	  FN_WORD, check_ppid, lower_relative },
	{ "pcomm", "(?ptr task) string[16]", "name of the parent of the current task, or of the given one", "begin { @ = pcomm }",
	  FN_WORD, check_pcomm, lower_relative },
	{ "leader_tid", "(?ptr task) int32", "thread ID of the first thread of the task's process, in the initial PID namespace",
	  "begin { @ = leader_tid }", FN_WORD, check_leader_tid, lower_relative },
	{ "leader_comm", "(?ptr task) string[16]", "name of the first thread of the task's process", "begin { @ = leader_comm }",
	  FN_WORD, check_leader_comm, lower_relative },
	{ "username", "() username", "name of the current user, looked up in /etc/passwd when it is shown",
	  "begin { @[username] = count() }", FN_WORD, .lower = lower_username },
	{ "cgroupid", "(strlit path) uint64", "ID of the cgroup with this directory, to compare with cgroup",
	  "begin { if (cgroup == cgroupid(\"/sys/fs/cgroup\")) { print(1) } }", 0, check_cgroupid, never_lowered },
	{ "cgroup_path", "(int id, ?strlit hierarchies) cgroup_path",
	  "path of the cgroup with this ID: hierarchy:path for each hierarchy whose name matches the pattern",
	  "begin { print(cgroup_path(cgroup)) }", 0, check_cgroup_path, lower_cgroup_path },
	{ "has_cpid", "() bool", "true if a command was given by -c", "begin { if (has_cpid) { print(cpid) } }", FN_WORD,
	  .lower = lower_has_cpid },
	{ "usermode", "() uint8", "1 if the processor was interrupted in user space, 0 if in the kernel",
	  "profile:hz:99 { @[usermode] = count() }", FN_WORD, .lower = lower_usermode },
	{ "probetype", "() string",
	  "type of the probe: kprobe, tracepoint, …; special for begin, end and self, benchmark for bench",
	  "begin { @[probetype] = count() }", FN_WORD, check_probetype, never_lowered },
};

FN_FAMILY_OF(fn_tasks, rows, &username, &cgroup_path);
