/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks and user symbols.
 *
 * A stack is a value that contains its addresses, not an id in a table of stacks, whose entries could collide. The kernel writes
 * it directly to its destination (key, variable, record) and fills the unused frames with zeros, as keys require. Addresses are
 * resolved to names when the stack is printed.
 */
#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/feature.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "base/num.h"
#include "arch/abi.h"
#include "image/need.h"
#include "lang/provider.h"
#include "sym/elf.h"
#include "types/naming.h"

enum { LIMIT_DEFAULT = 127, LIMIT_MAX = 1024 };

static bool find_mode(const char *word, enum stack_mode *mode)
{
	static const char *const words[] = {
		[STACK_BPFTRACE] = "bpftrace", [STACK_PERF] = "perf", [STACK_RAW] = "raw", [STACK_BUILD_ID] = "build_id"
	};

	for (u32 i = 0; i < ARRAY_CNT(words); i++) {
		if (str_eq(word, words[i])) {
			*mode = i;
			return true;
		}
	}
	return false;
}

static void check_stack(struct check *k, struct expr *e, bool is_user)
{
	struct expr *limit = NULL, *mode_arg = NULL, *at = e;
	const char *word = k->c->config.stack_mode ? k->c->config.stack_mode : "bpftrace";
	enum stack_mode mode = STACK_BPFTRACE;
	u64 frames = LIMIT_DEFAULT;

	for (u32 i = 0; i < e->call.arg_cnt; i++) {
		struct expr *a = e->call.args[i];

		if (a->kind == E_STR && !i)
			mode_arg = a;
		else if (a->kind != E_STR && !limit)
			limit = a;
		else
			goto order;
	}
	if (mode_arg) {
		word = mode_arg->str.s;
		at = mode_arg;
	}
	if (!find_mode(word, &mode)) {
		check_fail(k, at, E_ARG_TYPE, "Invalid stack mode: '%s'", word);
		diag_hint(k->c->diag, "the modes are bpftrace, perf, raw and build_id");
		e->type = &type_error;
		return;
	}
	if (mode == STACK_BUILD_ID && !is_user) {
		check_fail(k, at, E_ARG_TYPE, "the stack mode 'build_id' is for ustack: kernel functions are in no file");
		e->type = &type_error;
		return;
	}
	if (limit) {
		frames = limit->num.value;
		if (!frames || frames > LIMIT_MAX) {
			check_fail(k, limit, E_ARG_TYPE, "%s(): the limit must be from 1 to %d frames (%lld given)", e->call.name,
				   LIMIT_MAX, (long long)frames);
			e->type = &type_error;
			return;
		}
	}
	e->type = type_stack(check_arena(k), is_user, mode, frames);
	return;
order:
	check_fail(k, e, E_ARG_TYPE, "%s() takes a mode, a limit, or a mode and then a limit", e->call.name);
	diag_hint(k->c->diag, "%s(perf, 5)", e->call.name);
	e->type = &type_error;
}

static void check_dw_ustack(struct check *k, struct expr *e)
{
	const struct target *t = k->c->target;

	check_stack(k, e, true);
	if (e->type == &type_error)
		return;
	if (e->type->stack_mode == STACK_BUILD_ID) {
		check_fail(k, e, E_ARG_TYPE, "the stack mode 'build_id' is for ustack");
		e->type = &type_error;
	} else if (!abi.ret_on_stack) {
		check_fail(k, e, E_UNSUPPORTED, "dw_ustack is available on x86-64 only");
		diag_hint(k->c->diag, "use ustack, which follows frame pointers");
		e->type = &type_error;
	} else if (!t->has_unwind_pids && !t->is_check) {
		check_fail(k, e, E_NOT_ALLOWED_HERE,
			   "dw_ustack needs the processes to be named: it reads their unwind tables before tracing starts");
		diag_hint(
			k->c->diag,
			"name them by -p PID, -c COMMAND or --dwarf-pid PID (repeatable); the processes that they start are included");
		e->type = &type_error;
	}
}

static void check_kstack(struct check *k, struct expr *e)
{
	check_stack(k, e, false);
}

static void check_ustack(struct check *k, struct expr *e)
{
	check_stack(k, e, true);
}

/* Where code is generated for one stack. */
struct walk {
	vreg to; /* its start */
	u32 head, bytes;
	u64 flags;
	vreg got; /* bytes of frames */
	struct ir_block *bad, *good;
};

#define SMALL_STACK 128 /* bytes; larger ones are never on the stack */

/* got = get_stack(), from frame `first` on. */
static void take(struct lower *l, const struct walk *w, u32 first)
{
	vreg to = ir_alu(&l->b, IR_ADD, w->to, opnd_imm(w->head + 8 * first));

	ir_mov_to(&l->b, w->got,
		  opnd_reg(ir_call_of(&l->b, HELPER_get_stack, opnd_reg(lower_ctx(l)), opnd_reg(to),
				      opnd_imm(w->bytes - 8 * first), opnd_imm(w->flags))));
}

/* At the first instruction of a function, its stack frame does not exist yet: the frame pointer is the caller's and points to the
 * caller's caller. The return address of the function is on top of the stack; it becomes the second frame. Newer kernels do the
 * same, but only if the instruction is one that sets up a frame. */
static void take_at_entry(struct lower *l, const struct walk *w)
{
	bool may_have_it = target_has(l->c, KF_ENTRY_CALLER);
	struct ir_block *plain = ir_block_new(l->b.f), *insert = ir_block_new(l->b.f), *some = ir_block_new(l->b.f),
			*none = ir_block_new(l->b.f), *other = ir_block_new(l->b.f), *known = ir_block_new(l->b.f);
	struct mem slot = lower_temp(l, 8, 8),
		   sp = { .base = lower_force(l, l->unit->provider->lower_reg(l, abi.sp_off).r), .as = AS_USER };
	vreg ret, base = w->to;
	u32 mark = lower_mark(l);

	lower_zero(l, slot, 8);
	lower_read(l, sp, 8, slot);
	ret = ir_load(&l->b, slot.base, slot.off, 8);
	if (may_have_it)
		ir_jmp(&l->b, plain);
	else
		ir_br(&l->b, C_EQ, ret, opnd_imm(0), plain, insert);
	ir_place(&l->b, plain);
	take(l, w, 0);
	if (may_have_it) {
		ir_br(&l->b, C_UGT, w->got, opnd_imm(w->bytes), w->bad, other);
		ir_place(&l->b, other);
		ir_br(&l->b, C_EQ, w->got, opnd_imm(0), w->good, known);
		ir_place(&l->b, known);
		other = ir_block_new(l->b.f);
		ir_br(&l->b, C_EQ, ret, opnd_imm(0), w->good, other);
		ir_place(&l->b, other);
		ir_br(&l->b, C_EQ, ret, opnd_reg(ir_load(&l->b, base, w->head + 8, 8)), w->good, insert);
	} else {
		ir_br(&l->b, C_UGT, w->got, opnd_imm(w->bytes), w->bad, w->good);
	}
	ir_place(&l->b, insert);
	take(l, w, 1);
	ir_br(&l->b, C_EQ, w->got, opnd_imm(0), none, some);
	ir_place(&l->b, none);
	ir_store(&l->b, base, w->head, 8, opnd_imm(0));
	ir_br(&l->b, C_EQ, w->got, opnd_imm(0), w->good, w->bad);
	ir_place(&l->b, some);
	other = ir_block_new(l->b.f);
	ir_br(&l->b, C_UGT, w->got, opnd_imm(w->bytes - 8), none, other);
	ir_place(&l->b, other);
	ir_store(&l->b, base, w->head, 8, opnd_reg(ir_load(&l->b, base, w->head + 8, 8)));
	ir_store(&l->b, base, w->head + 8, 8, opnd_reg(ret));
	ir_alu_to(&l->b, IR_ADD, w->got, w->got, opnd_imm(8));
	ir_jmp(&l->b, w->good);
	lower_forget(l, mark);
}

/* An address that is inserted would have no build id. */
static bool is_at_entry(const struct compile *c, const struct unit *u, const struct type *t)
{
	const struct provider *p = u->provider;

	return t->kind == T_USTACK && t->stack_mode != STACK_BUILD_ID && t->cnt > 1 && p->at_entry && abi.ret_on_stack &&
		p->at_entry(c, u);
}

static struct val lower_stack(struct lower *l, struct expr *e, const struct mem *dst);

/* The body of a loop is a separate function, whose frame would be on the stack. The program of an iterator is always on it, so
 * the stack would differ between the two places that read it. */
bool fn_stack_has_id(const struct compile *c, const struct unit *u, const struct expr *e)
{
	if (u->has_loop || u->provider->flags & (PROV_SAMPLES | PROV_ITER))
		return false;
	return e->kind == E_CALL && e->call.fn && e->call.fn->lower == lower_stack && e->type->stack_mode != STACK_BUILD_ID &&
		!is_at_entry(c, u, e->type);
}

static struct val lower_stack(struct lower *l, struct expr *e, const struct mem *dst)
{
	bool is_user = e->type->kind == T_USTACK, has_build_ids = e->type->stack_mode == STACK_BUILD_ID;
	const struct provider *p = l->unit->provider;
	u32 skip = !is_user && p->stack_skip ? p->stack_skip(l->unit) : 0;
	struct mem m;
	struct walk w = {
		.head = type_stack_head(e->type),
		.bytes = e->type->cnt << type_frame_shift(e->type),
		.flags = is_user ? BPF_F_USER_STACK : skip,
		.got = ir_vreg(l->b.f),
		.bad = ir_block_new(l->b.f),
		.good = ir_block_new(l->b.f),
	};
	struct val v;

	/* If the stack begins with the program's own frames, those of the loop would be included, too. */
	if (skip && l->around)
		return val_mem(lower_before_loops(l, e, lower_stack));
	m = dst ? *dst : lower_temp(l, e->type->size, 8);
	v = val_mem(m);
	l->image->has_user_addrs |= is_user;
	lower_ctx(l);
	/* The helper of raw tracepoints and fentry is declared as reading the memory: on the stack, where small objects are, the
	 * verifier of 6.1 requires that it is initialised. */
	if (w.bytes <= SMALL_STACK)
		lower_zero(l, (struct mem){ m.base, m.off + w.head, m.as }, w.bytes);
	w.to = lower_addr(l, m);
	if (is_user)
		ir_store(&l->b, w.to, 0, 8, opnd_reg(lower_pid(l)));
	if (l->stack_id && l->stack_id->of == e && dst && fn_stack_has_id(l->c, l->unit, e)) {
		l->stack_id->at = m;
		l->stack_id->r = l->stack_id->ask(l, l->stack_id, w.flags);
		return v;
	}
	if (has_build_ids)
		w.flags |= BPF_F_USER_BUILD_ID;
	if (is_at_entry(l->c, l->unit, e->type)) {
		take_at_entry(l, &w);
	} else {
		take(l, &w, 0);
		ir_br(&l->b, C_UGT, w.got, opnd_imm(w.bytes), w.bad, w.good);
	}
	ir_place(&l->b, w.bad);
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, offsetof(struct data_head, failed_stacks)), 0, 8, opnd_imm(1));
	ir_mov_to(&l->b, w.got, opnd_imm(0));
	ir_jmp(&l->b, w.good);
	ir_place(&l->b, w.good);
	lower_put_frames(l, (struct mem){ m.base, m.off + w.head - 8 },
			 ir_alu(&l->b, IR_SHR, w.got, opnd_imm(type_frame_shift(e->type))));
	v.len = ir_alu(&l->b, IR_ADD, w.got, opnd_imm(w.head));
	return v;
}

static struct val lower_dw_ustack(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 8);
	struct val v = val_mem(m);
	u32 head = type_stack_head(e->type);
	vreg pid = lower_pid(l), bytes, to;

	l->image->has_user_addrs = true;
	bytes = lower_unwind(l, e->span, (struct mem){ m.base, m.off + head, m.as }, e->type->cnt);
	to = lower_addr(l, m);
	lower_put_frames(l, (struct mem){ m.base, m.off + head - 8 }, ir_alu(&l->b, IR_SHR, bytes, opnd_imm(3)));
	ir_store(&l->b, to, 0, 8, opnd_reg(pid));
	v.len = ir_alu(&l->b, IR_ADD, bytes, opnd_imm(head));
	return v;
}

static void text_usym(const struct show *w, const struct type *t, const u8 *data)
{
	u64 addr;
	u32 pid;

	memcpy(&addr, data, 8);
	memcpy(&pid, data + 8, 4);
	if (!w->n->usym || !w->n->usym(w->n->self, addr, pid, w->out))
		num_put_addr(w->out, addr);
}

static const struct type type_usym;
static const struct opaque usym = {
	/* u64 address, u32 pid, u32 0 */
	.name = "usym_t", .type = &type_usym, .flags = OPAQUE_USER, .order = ORDER_ADDRESS, .text = text_usym,
};
static const struct type type_usym = OPAQUE_TYPE(usym, 16, 8);

static void check_usym(struct check *k, struct expr *e)
{
	e->type = &type_usym;
}

static struct val lower_usym(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 8);
	vreg to = lower_addr(l, m);

	l->image->has_user_addrs = true;
	ir_store(&l->b, to, 0, 8, opnd_reg(lower_reg(l, e->call.args[0])));
	ir_store(&l->b, to, 8, 8, opnd_reg(lower_pid(l)));
	return val_mem(m);
}

/* uaddr: a symbol of the probed file. The load address of the file follows from the probe's own address: it differs from the
 * address in the file by the same amount as the symbol's does. */

struct place {
	bool is_fixed;
	u64 addr; /* the symbol's, or how far it is from the probe */
	const struct type *type;
};

/* Looks the symbol up; NULL after an error. */
static const struct place *find_symbol(struct check *k, struct expr *e, u64 *size)
{
	const struct site *site = &k->c->sites.at[k->unit->site_first];
	const char *name = e->call.args[0]->str.s;
	struct place *p = arena_new(check_arena(k), struct place);
	bool has_ip = k->unit->provider->flags & PROV_AT_SITE, one_file = true;
	struct sym_elf *elf;
	u64 site_addr;
	int err;

	for (u32 i = 1; i < k->unit->site_cnt; i++)
		one_file &= str_eq(site[i].target, site->target);
	err = sym_elf_open(site->target, &elf);
	if (err) {
		check_fail(k, e, E_UNKNOWN_SYMBOL, "cannot read %s: %s", site->target, strerror(-err));
		return NULL;
	}
	if (!one_file) {
		check_fail(k, e, E_UNKNOWN_SYMBOL, "uaddr() needs a probe in one file; this one matches several files");
	} else if (!sym_elf_symbol(elf, name, &p->addr, size)) {
		check_fail(k, e, E_UNKNOWN_SYMBOL, "Could not resolve symbol: %s:%s", site->target, name);
	} else if (sym_elf_is_fixed(elf)) {
		p->is_fixed = true;
		sym_elf_free(elf);
		return p;
	} else if (!has_ip || k->unit->site_cnt > 1 || !sym_elf_addr(elf, site->addr, &site_addr)) {
		check_fail(k, e, E_UNSUPPORTED,
			   "uaddr() cannot find the address here: %s is loaded at a different address in each process",
			   site->target);
		diag_hint(k->c->diag, "use it in a uprobe on one function of that file");
	} else {
		p->addr -= site_addr;
		sym_elf_free(elf);
		return p;
	}
	sym_elf_free(elf);
	return NULL;
}

static void check_uaddr(struct check *k, struct expr *e)
{
	const struct site *site = &k->c->sites.at[k->unit->site_first];
	u64 size = 8;

	if (k->unit->provider->as != AS_USER || (!site->target && !site->is_assumed)) {
		check_fail(k, e, E_NOT_ALLOWED_HERE,
			   "uaddr() can only be used with uprobe and uretprobe probes: it looks up symbols of the probed file");
		return;
	}
	if (!site->is_assumed && !e->call.note) {
		e->call.note = (void *)find_symbol(k, e, &size);
		if (!e->call.note) {
			e->type = &type_error;
			return;
		}
		e->type = type_pointer(check_arena(k), type_int(size == 1 || size == 2 || size == 4 ? size : 8, false), AS_USER);
		((struct place *)e->call.note)->type = e->type;
		return;
	}
	e->type = e->call.note ? ((const struct place *)e->call.note)->type : type_pointer(check_arena(k), &type_u64, AS_USER);
}

static struct val lower_uaddr(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct place *p = e->call.note;

	if (p->is_fixed)
		return val_reg(ir_imm(&l->b, (s64)p->addr));
	return val_reg(ir_alu(&l->b, IR_ADD, lower_force(l, l->unit->provider->lower_reg(l, abi.ip_off).r),
			      opnd_reg(ir_imm(&l->b, (s64)p->addr))));
}

static const struct fn rows[] = {
	{ "kstack", "(?word|lit mode, ?word|lit limit) kstack",
	  "the kernel stack: at most limit frames (default 127), shown in the mode bpftrace, perf or raw",
	  "kprobe:vfs_read { @[kstack] = count(); @top[kstack(perf, 3)] = count() }", FN_WORD, check_kstack, lower_stack,
	  .needs = NEED_BIT(KERNEL_NAMES) },
	{ "ustack", "(?word|lit mode, ?word|lit limit) ustack",
	  "the user stack, found by frame pointers: at most limit frames (127), shown in the mode bpftrace, perf, raw or build_id",
	  "profile:hz:99 { @[ustack(5), comm] = count() }", FN_WORD, check_ustack, lower_stack, .needs = NEED_BIT(USER_NAMES) },
	{ "dw_ustack", "(?word|lit mode, ?word|lit limit) ustack",
	  "the user stack of programs without frame pointers, found by their unwind tables; else like ustack. For the processes that -p, -c and --dwarf-pid name",
	  "profile:hz:99 { @[dw_ustack(perf, 20), comm] = count() }", FN_WORD, check_dw_ustack, lower_dw_ustack,
	  .needs = NEED_BIT(USER_NAMES) },
	{ "usym", "(int|ptr addr) usym", "name of the function at an address of the current program",
	  "profile:hz:99 { @[usym(reg(\"ip\"))] = count() }", 0, check_usym, lower_usym, .needs = NEED_BIT(USER_NAMES) },
	{ "uaddr", "(strlit name) pointer", "address of a function or variable of the probed file",
	  "uprobe:/bin/bash:readline { print(str(*uaddr(\"ps1_prompt\"))) }", 0, check_uaddr, lower_uaddr },
};

FN_FAMILY_OF(fn_stacks, rows, &usym);
