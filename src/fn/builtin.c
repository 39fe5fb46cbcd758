/* SPDX-License-Identifier: GPL-2.0-only */
/* Builtins: the context in which a probe fires. */
#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/feature.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "arch/abi.h"
#include "lang/provider.h"

/* A helper without arguments, called once per run. */
static vreg call_once(struct lower *l, u32 helper)
{
	static const char what;
	vreg r = lower_known(l, &what, helper);

	if (!r) {
		r = ir_call(&l->b, helper, NULL, 0);
		lower_know(l, &what, helper, r);
	}
	return r;
}

/* tgid << 32 | pid, of the initial namespace or, in two words, of the tracer's own. */
static vreg pid_tgid(struct lower *l, bool want_tgid, bool want_init)
{
	static const char what;
	const struct target *t = l->c->target;
	struct mem ns, at;
	vreg r;

	if (!t->pidns_ino || want_init) {
		if (lower_task_member(l, want_tgid ? "tgid" : "pid", 4, &at))
			return ir_load(&l->b, at.base, at.off, 4);
		r = call_once(l, HELPER_get_current_pid_tgid);
		return want_tgid ? ir_alu(&l->b, IR_SHR, r, opnd_imm(32)) : ir_ext(&l->b, IR_ZEXT, r, 4);
	}
	r = lower_known(l, &what, want_tgid);
	if (r)
		return r;
	ns = lower_temp(l, 8, 8); /* struct bpf_pidns_info { u32 pid, tgid; } */
	lower_zero(l, ns, 8);
	ir_call_of(&l->b, HELPER_get_ns_current_pid_tgid, opnd_imm(t->pidns_dev), opnd_imm(t->pidns_ino),
		   opnd_reg(lower_addr(l, ns)), opnd_imm(8));
	for (u32 i = 0; i < 2; i++)
		lower_know(l, &what, i, ir_load(&l->b, ns.base, ns.off + 4 * i, 4));
	return lower_known(l, &what, want_tgid);
}

vreg lower_pid(struct lower *l)
{
	return pid_tgid(l, true, false);
}

static bool is_init(const struct expr *e)
{
	return e->call.arg_cnt && str_eq(e->call.args[0]->str.s, "init");
}

static void check_pid(struct check *k, struct expr *e)
{
	e->type = &type_u32;
	if (e->call.arg_cnt && !is_init(e) && !str_eq(e->call.args[0]->str.s, "curr_ns")) {
		check_fail(k, e->call.args[0], E_ARG_TYPE, "%s() has no PID namespace '%s'", e->call.name,
			   e->call.args[0]->str.s);
		diag_hint(k->c->diag, "use curr_ns (the tracer's namespace) or init (the initial one)");
		e->type = &type_error;
	}
}

static struct val lower_pid_row(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(pid_tgid(l, true, is_init(e)));
}

static struct val lower_tid_row(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(pid_tgid(l, false, is_init(e)));
}

static struct val lower_uid(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(ir_ext(&l->b, IR_ZEXT, call_once(l, HELPER_get_current_uid_gid), 4));
}

static struct val lower_gid(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(ir_alu(&l->b, IR_SHR, call_once(l, HELPER_get_current_uid_gid), opnd_imm(32)));
}

static const struct clock {
	const char *word;
	enum nsecs_clock clock;
	u32 helper;
} clocks[] = {
	{ "boot", NSECS_BOOT, HELPER_ktime_get_boot_ns },
	{ "monotonic", NSECS_MONOTONIC, HELPER_ktime_get_ns },
	{ "tai", NSECS_TAI, HELPER_ktime_get_tai_ns },
	{ "sw_tai", NSECS_SW_TAI, HELPER_ktime_get_boot_ns },
};

static const struct clock *clock_of(const struct expr *e)
{
	if (!e->call.arg_cnt)
		return &clocks[0];
	for (u32 i = 0; i < ARRAY_CNT(clocks); i++)
		if (str_eq(clocks[i].word, e->call.args[0]->str.s))
			return &clocks[i];
	return NULL;
}

static void check_nsecs(struct check *k, struct expr *e)
{
	e->type = &type_u64;
	if (clock_of(e))
		return;
	check_fail(k, e->call.args[0], E_ARG_TYPE, "nsecs() has no clock '%s'", e->call.args[0]->str.s);
	diag_hint(k->c->diag, "use monotonic, boot, tai or sw_tai");
	e->type = &type_error;
}

/* The clock advances while the program runs: every use reads it again. */
static struct val lower_nsecs(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct clock *c = clock_of(e);
	vreg now = ir_call(&l->b, c->helper, NULL, 0);

	/* TAI in software: its offset from the boot clock when the script was compiled. */
	if (c->clock == NSECS_SW_TAI)
		now = ir_alu(&l->b, IR_ADD, now, opnd_reg(ir_imm(&l->b, lower_boot_to_tai(l))));
	return val_reg(now);
}

enum nsecs_clock nsecs_clock(const struct expr *e)
{
	if (e->kind != E_CALL || !e->call.fn || e->call.fn->lower != lower_nsecs)
		return CLOCK_NONE;
	return clock_of(e)->clock;
}

static struct val lower_elapsed(struct lower *l, struct expr *e, const struct mem *dst)
{
	vreg now = ir_call(&l->b, HELPER_ktime_get_boot_ns, NULL, 0);
	vreg start = ir_load(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, offsetof(struct data_head, start_ns)), 0, 8);

	return val_reg(ir_alu(&l->b, IR_SUB, now, opnd_reg(start)));
}

static struct val lower_cpu_row(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(lower_cpu(l));
}

static struct val lower_ncpus(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_imm(l->c->target->ncpus);
}

static void check_cpid(struct check *k, struct expr *e)
{
	e->type = &type_u64;
	if (k->is_last && !k->dead && !k->c->target->child_pid && !k->c->target->is_check && !k->c->target->is_for_later)
		diag_warn(k->c->diag, e->span, W_UNUSED, "cpid is 0: no command was given by -c");
}

/* In an image for later it is a constant that is filled in when it runs. */
struct val fn_child_pid(struct lower *l)
{
	static const u8 mark[8] = { 0xff, 0xc1, 0xd0, 0xfe, 0xc1, 0xd0, 0xfe, 0xff }; /* no other constant shares its place */

	if (!l->c->target->is_for_later)
		return val_imm(l->c->target->child_pid);
	if (!l->image->late.child_pid)
		l->image->late.child_pid = 1 + lower_const(l, mark, sizeof(mark), sizeof(mark));
	return val_reg(ir_load(&l->b, ir_mapval(&l->b, MAP_IDX_CONST, l->image->late.child_pid - 1), 0, 8));
}

static struct val lower_cpid(struct lower *l, struct expr *e, const struct mem *dst)
{
	return fn_child_pid(l);
}

static struct val lower_rand(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(ir_ext(&l->b, IR_ZEXT, ir_call(&l->b, HELPER_get_prandom_u32, NULL, 0), 4));
}

static struct val lower_cgroup(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(call_once(l, HELPER_get_current_cgroup_id));
}

static struct val lower_numaid(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(call_once(l, HELPER_get_numa_node_id));
}

static struct val lower_jiffies(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(ir_call(&l->b, HELPER_jiffies64, NULL, 0));
}

static void check_curtask(struct check *k, struct expr *e)
{
	struct type_source *src = compile_types(k->c);
	const struct type *t = src ? src->find(src, "struct", "task_struct") : NULL;

	e->type = t ? type_pointer(check_arena(k), t, AS_KERNEL) : &type_u64;
}

static struct val lower_curtask(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(call_once(l, HELPER_get_current_task));
}

/* Builtins that read the probe's context. */

static bool need(struct check *k, struct expr *e, u32 flag, const char *where)
{
	if (k->unit->provider->flags & flag)
		return true;
	check_fail(k, e, E_NOT_ALLOWED_HERE, "The %s builtin can only be used with %s probes", e->call.name, where);
	return false;
}

static void check_argn(struct check *k, struct expr *e)
{
	e->type = &type_u64;
	if (!need(k, e, PROV_ARGN, "kprobe, rawtracepoint, uprobe and usdt")) {
		if (k->unit->provider->flags & PROV_ARGS)
			diag_hint(k->c->diag, "this probe names its arguments: args.NAME; `sonde -lv` shows them");
		else if (k->unit->provider->flags & PROV_RETVAL)
			diag_hint(k->c->diag,
				  "arguments are not available when a function returns; store them in a map at its entry");
	} else if (k->unit->provider->check_argn && k->unit->provider->check_argn(k, e, e->call.suffix)) {
		return;
	} else if (e->call.suffix >= abi.arg_cnt) {
		check_fail(k, e, E_NO_ARGS, "arg%u does not exist: %u arguments are passed in registers on %s", e->call.suffix,
			   abi.arg_cnt, abi.name);
		diag_hint(k->c->diag, "further ones are on the stack: *(uint64 *)(reg(\"sp\") + 8), …");
	}
}

/* sargN of older versions: what the caller put on the stack, in words. */
static void check_sargn(struct check *k, struct expr *e)
{
	const u32 entry = PROV_ARGN | PROV_REG | PROV_FUNC; /* of a function */

	e->type = &type_u64;
	if ((k->unit->provider->flags & entry) != entry)
		check_fail(k, e, E_NOT_ALLOWED_HERE, "The %s builtin can only be used with kprobe and uprobe probes",
			   e->call.name);
	else if (e->call.suffix > 255)
		check_fail(k, e, E_NO_ARGS, "%s does not exist: sarg255 is the last one", e->call.name);
}

static struct val lower_sargn(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct val sp = l->unit->provider->lower_reg(l, abi.sp_off);

	return val_reg(lower_load(
		l,
		(struct mem){ lower_force(l, sp.r), (abi.ret_on_stack ? 8 : 0) + 8 * (s64)e->call.suffix, l->unit->provider->as },
		&type_u64));
}

static struct val lower_argn(struct lower *l, struct expr *e, const struct mem *dst)
{
	return l->unit->provider->lower_argn(l, e->call.suffix);
}

static void check_retval(struct check *k, struct expr *e)
{
	const struct provider *p = k->unit->provider;
	u32 errors = k->c->diag->error_cnt;

	e->type = &type_u64;
	if (!need(k, e, PROV_RETVAL, "fexit, kretprobe and uretprobe")) {
		if (p->flags & PROV_ARGS)
			diag_hint(k->c->diag,
				  p->flags & PROV_FUNC ? "a function has a return value when it returns: use fexit" :
							 "the result of a system call is args.ret of its sys_exit tracepoint");
		return;
	}
	if (!p->retval || k->unit->is_assumed)
		return;
	e->type = p->retval(k->c, k->unit);
	if (e->type)
		return;
	e->type = &type_error;
	if (k->c->diag->error_cnt == errors)
		check_fail(k, e, E_NO_ARGS, "%s returns no value", k->c->sites.at[k->unit->site_first].name);
}

static struct val lower_retval(struct lower *l, struct expr *e, const struct mem *dst)
{
	return l->unit->provider->lower_retval(l);
}

/* args as one value: a member that holds the location of data stays a number, because the data is not in the struct. Its fields
 * are in unit.args. */
static const struct type *whole_args(struct check *k, const struct type *t)
{
	struct type *whole;
	bool any = false;

	for (u32 i = 0; i < t->member_cnt; i++)
		any |= t->members[i].is_data_loc;
	if (!any)
		return t;
	whole = arena_new(check_arena(k), struct type);
	*whole = *t;
	whole->members = arena_alloc(check_arena(k), t->member_cnt * sizeof(*t->members));
	for (u32 i = 0; i < t->member_cnt; i++) {
		whole->members[i] = t->members[i];
		if (t->members[i].is_data_loc)
			whole->members[i].type = &type_u32;
	}
	return whole;
}

static void check_args(struct check *k, struct expr *e)
{
	if (!need(k, e, PROV_ARGS, "fentry, fexit, rawtracepoint, tracepoint and uprobe")) {
		u32 flags = k->unit->provider->flags;
		bool is_kernel = k->unit->provider->as == AS_KERNEL;

		if (flags & PROV_ARGN)
			diag_hint(k->c->diag, "its arguments are arg0, arg1, …%s",
				  is_kernel ? "; fentry probes have the arguments of kernel functions by name" : "");
		else if (flags & PROV_RETVAL && is_kernel)
			diag_hint(k->c->diag, "fexit probes have the arguments by name, and retval");
		return;
	}
	if (k->unit->is_assumed) {
		e->type = &type_error; /* it is unknown, so no error is reported */
		return;
	}
	if (!k->unit->args) {
		check_fail(k, e, E_NO_ARGS, "the arguments of this probe are not known");
		return;
	}
	e->type = whole_args(k, k->unit->args);
}

/* All arguments at once: a struct with the value of each member. */
static struct val lower_args(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct type *t = e->type;
	struct mem m = dst ? *dst : lower_temp(l, MAX(t->size, 8), 8);

	lower_zero(l, m, MAX(t->size, dst ? 0 : 8));
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *member = &t->members[i];
		struct mem to = { .base = m.base, .off = m.off + member->off };
		struct val v = member->is_data_loc ? val_reg(ir_load(&l->b, lower_ctx(l), member->off, 4)) :
						     l->unit->provider->lower_arg_member(l, member, member->off);
		u32 size = member->type->size;
		vreg r;

		if (v.kind == VAL_MEM && v.mem.as == AS_NONE) {
			lower_copy(l, v.mem, to, size);
		} else if (v.kind == VAL_MEM) {
			lower_read(l, v.mem, size, to);
		} else if (v.kind == VAL_REG && !member->bit_sz) {
			r = lower_force(l, v.r);
			ir_store(&l->b, to.base, to.off, size, opnd_reg(v.btf ? ir_plain(&l->b, r) : r));
		}
	}
	return val_mem(m);
}

static void check_ctx(struct check *k, struct expr *e)
{
	const struct provider *p = k->unit->provider;
	struct type_source *src = compile_types(k->c);
	const struct type *t;

	if (!need(k, e, PROV_CTX, "iter, kprobe, uprobe, profile, interval, software and hardware")) {
		if (p->flags & PROV_ARGS)
			diag_hint(k->c->diag, "use args instead of ctx");
		return;
	}
	if (p->ctx_type)
		t = p->ctx_type(k->c, k->unit);
	else
		t = src && p->ctx_struct ? src->find(src, "struct", p->ctx_struct) : NULL;
	e->type = type_pointer(check_arena(k), t ? t : &type_void, AS_KERNEL);
}

static struct val lower_ctx_row(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(lower_ctx(l));
}

static const struct type *site_type(struct check *k, enum site_show show)
{
	struct unit *u = k->unit;
	u32 *size = &u->site_text_sz[show];

	u->uses_site = true;
	for (u32 i = *size ? u->site_cnt : 0; i < u->site_cnt; i++) {
		const char *text = site_text(&k->c->sites.at[u->site_first + i], show);

		*size = MAX(*size, strlen(text) + 1);
	}
	return type_site(check_arena(k), show, *size);
}

static void check_probe(struct check *k, struct expr *e)
{
	e->type = site_type(k, SITE_PROBE);
}

static void check_func(struct check *k, struct expr *e)
{
	e->type = site_type(k, SITE_FUNC);
	need(k, e, PROV_FUNC, "fentry, fexit, kprobe, kretprobe, uprobe and uretprobe");
}

/* func in a map of ksym() values: the address of the function. */
static struct val lower_func_addr(struct lower *l)
{
	const struct unit *u = l->unit;
	const struct target *t = l->c->target;
	u64 *table = arena_alloc(l->c->arena, u->site_cnt * sizeof(*table));
	struct ir_block *known = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f), i;

	for (u32 n = 0; n < u->site_cnt; n++) {
		const char *func = l->c->sites.at[u->site_first + n].func;

		table[n] = func ? target_kaddr(t, func) : 0;
	}
	l->c->is_of_boot = true;
	if (u->site_cnt == 1)
		return val_reg(ir_imm(&l->b, table[0]));
	i = ir_alu(&l->b, IR_ADD, lower_force(l, lower_site(l)), opnd_imm(-(s64)u->site_first));
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_ULT, i, opnd_imm(u->site_cnt), known, done);
	ir_place(&l->b, known);
	i = ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_CONST, lower_const(l, table, u->site_cnt * sizeof(*table), 8)),
		   opnd_reg(ir_alu(&l->b, IR_SHL, i, opnd_imm(3))));
	ir_mov_to(&l->b, d, opnd_reg(ir_load(&l->b, i, 0, 8)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

/* Sites with the same name (two probes on one function, say) have one number as values, so that they are one key. */
static struct val lower_site_row(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct unit *u = l->unit;
	u16 *table = arena_alloc(l->c->arena, u->site_cnt * sizeof(*table));
	struct ir_block *known, *done;
	bool is_same = true;
	vreg d, i, at;

	if (e->type->opaque == type_ksym.opaque)
		return lower_func_addr(l);
	if (u->site_cnt == 1)
		return val_imm(site_value(l->c, u->site_first, e->type->show));
	for (u32 n = 0; n < u->site_cnt; n++) {
		table[n] = site_value(l->c, u->site_first + n, e->type->show);
		is_same &= table[n] == 1 + u->site_first + n;
	}
	if (is_same || l->c->sites.cnt >= UINT16_MAX)
		return val_reg(ir_alu(&l->b, IR_ADD, lower_force(l, lower_site(l)), opnd_imm(1)));
	known = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	d = ir_vreg(l->b.f);
	i = ir_alu(&l->b, IR_ADD, lower_force(l, lower_site(l)), opnd_imm(-(s64)u->site_first));
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_ULT, i, opnd_imm(u->site_cnt), known, done);
	ir_place(&l->b, known);
	at = ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_CONST, lower_table_u16(l, table, u->site_cnt)),
		    opnd_reg(ir_alu(&l->b, IR_SHL, i, opnd_imm(1))));
	ir_mov_to(&l->b, d, opnd_reg(ir_load(&l->b, at, 0, 2)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

static void check_reg(struct check *k, struct expr *e)
{
	const char *name = e->call.args[0]->str.s, *near;
	u32 off;

	e->type = &type_u64;
	if (!need(k, e, PROV_REG, "kprobe, uprobe, profile, interval, software and hardware"))
		return;
	if (!abi_find_reg(name, &off)) {
		near = abi_nearest_reg(name);
		check_fail(k, e, E_UNKNOWN_SYMBOL, "'%s' is not a register of %s", name, abi.name);
		if (near)
			diag_hint(k->c->diag, "did you mean \"%s\"?", near);
	}
}

static struct val lower_reg_row(struct lower *l, struct expr *e, const struct mem *dst)
{
	u32 off = 0;

	abi_find_reg(e->call.args[0]->str.s, &off);
	return l->unit->provider->lower_reg(l, off);
}

static const struct fn rows[] = {
	{ "pid", "(?word namespace) uint32",
	  "process ID (what the kernel calls tgid), in the tracer's PID namespace; pid(init): in the initial one",
	  "begin { @ = pid }", FN_WORD | FN_PURE | FN_TASK, check_pid, .lower = lower_pid_row },
	{ "tid", "(?word namespace) uint32", "thread ID, in the tracer's PID namespace; tid(init): in the initial one",
	  "begin { @ = tid }", FN_WORD | FN_PURE | FN_TASK, check_pid, .lower = lower_tid_row },
	{ "cpid", "() uint64", "process ID of the command that -c started, or 0", "begin { @ = cpid }", FN_WORD | FN_PURE,
	  check_cpid, lower_cpid },
	{ "uid", "() uint64", "user ID, in the initial user namespace", "begin { @ = uid }", FN_WORD | FN_PURE,
	  .lower = lower_uid },
	{ "gid", "() uint64", "group ID, in the initial user namespace", "begin { @ = gid }", FN_WORD | FN_PURE,
	  .lower = lower_gid },
	{ "nsecs", "(?word clock) uint64",
	  "nanoseconds since boot, including suspend; the argument selects another clock: monotonic, boot, tai or sw_tai",
	  "begin { @ = nsecs }", FN_WORD | FN_SMALL, check_nsecs, .lower = lower_nsecs },
	{ "elapsed", "() uint64", "nanoseconds since tracing began", "begin { @ = elapsed }", FN_WORD | FN_SMALL,
	  .lower = lower_elapsed },
	{ "cpu", "() uint64", "number of the current CPU", "begin { @ = cpu }", FN_WORD | FN_PURE | FN_SMALL,
	  .lower = lower_cpu_row },
	{ "ncpus", "() uint64", "number of possible CPUs", "begin { @ = ncpus }", FN_WORD | FN_PURE | FN_SMALL,
	  .lower = lower_ncpus },
	{ "numaid", "() uint64", "number of the current NUMA node", "begin { @ = numaid }", FN_WORD | FN_PURE | FN_SMALL,
	  .lower = lower_numaid },
	{ "jiffies", "() uint64", "the kernel's tick counter", "begin { @ = jiffies }", FN_WORD, .lower = lower_jiffies },
	{ "curtask", "() struct task_struct *", "the current task", "begin { @ = curtask.pid }", FN_WORD | FN_PURE, check_curtask,
	  lower_curtask, .features = KF_BIT(BTF) },
	{ "rand", "() uint64", "a random number of 32 bits", "begin { @ = rand % 6 }", FN_WORD, .lower = lower_rand },
	{ "cgroup", "() uint64", "ID of the current cgroup (version 2)", "begin { @ = cgroup }", FN_WORD | FN_PURE,
	  .lower = lower_cgroup },
	{ "argN", "() uint64", "argument number N of the traced function or static probe, counted from 0",
	  "kprobe:vfs_read { @ = hist(arg2) }", FN_WORD | FN_SUFFIX, check_argn, lower_argn },
	{ "retval", "() uint64", "return value of the traced function", "kretprobe:vfs_read { @ = hist(retval) }", FN_WORD,
	  check_retval, lower_retval },
	{ "sargN", "() uint64",
	  "word N of what the caller of the traced function put on the stack: the arguments after those in registers",
	  "kprobe:vfs_read { @ = sarg0 }", FN_WORD | FN_SUFFIX, check_sargn, lower_sargn },
	{ "args", "() struct", "the named arguments of a function or tracepoint: args.NAME",
	  "tracepoint:sched:sched_switch { @[args.next_pid] = count() }", FN_WORD | FN_ARGS, check_args, lower_args },
	{ "ctx", "() pointer", "the context that the kernel passes to the probe's program", "profile:hz:99 { @ = ctx }",
	  FN_WORD | FN_CTX, check_ctx, lower_ctx_row },
	{ "probe", "() string", "full name of the attach point that fired", "tracepoint:sched:sched_* { @[probe] = count() }",
	  FN_WORD, check_probe, lower_site_row },
	{ "func", "() string", "name of the traced function", "kprobe:vfs_* { @[func] = count() }", FN_WORD, check_func,
	  lower_site_row },
	{ "reg", "(strlit name) uint64", "value of a register of the traced code", "kprobe:vfs_read { @ = reg(\"sp\") }", 0,
	  check_reg, lower_reg_row },
};

FN_FAMILY(fn_builtins, rows);
