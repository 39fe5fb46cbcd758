/* Stacks and user symbols.
 *
 * A stack is a value of its own, with its addresses in it: no table of stack ids stands between, whose entries could collide. The kernel
 * writes it straight to where it is wanted (key, variable, record) and fills up the unused frames with zeroes, as keys need it. Names
 * are found when it is printed.
 */
#include "bpf/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "kern/uapi.h"
#include "lang/check.h"
#include "probe/provider.h"

enum { LIMIT_DEFAULT = 127, LIMIT_MAX = 1024 };

static bool find_mode(const char *word, enum stack_mode *mode)
{
	static const char *const words[] = { [STACK_BPFTRACE] = "bpftrace", [STACK_PERF] = "perf", [STACK_RAW] = "raw" };

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
		check_fail(k, at, E_ARG_TYPE, str_eq(word, "build_id") ? "the stack mode '%s' is not supported" : "Invalid stack mode: '%s'", word);
		diag_hint(k->c->diag, "the modes are bpftrace, perf and raw");
		e->type = &type_error;
		return;
	}
	if (limit) {
		frames = limit->num.value;
		if (!frames || frames > LIMIT_MAX) {
			check_fail(k, limit, E_ARG_TYPE, "%s(): the limit must be from 1 to %d frames (%lld given)", e->call.name, LIMIT_MAX,
				   (long long)frames);
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

static void check_kstack(struct check *k, struct expr *e)
{
	check_stack(k, e, false);
}

static void check_ustack(struct check *k, struct expr *e)
{
	check_stack(k, e, true);
}

static struct val lower_stack(struct lower *l, struct expr *e, const struct mem *dst)
{
	bool is_user = e->type->kind == T_USTACK;
	u32 head = type_stack_head(e->type), bytes = 8 * e->type->cnt, skip = 0;
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 8);
	struct ir_block *bad = ir_block_new(l->b.f), *good = ir_block_new(l->b.f);
	vreg to = lower_addr(l, m), got = ir_vreg(l->b.f);
	struct val v = val_mem(m);

	if (!is_user && l->unit->provider->stack_skip)
		skip = l->unit->provider->stack_skip(l->unit);
	ir_mov_to(&l->b, got, opnd_reg(ir_call_of(&l->b, HELPER_get_stack, opnd_reg(lower_ctx(l)), opnd_reg(ir_alu(&l->b, IR_ADD, to, opnd_imm(head))),
						  opnd_imm(bytes), opnd_imm(is_user ? BPF_F_USER_STACK : skip))));
	ir_br(&l->b, C_UGT, got, opnd_imm(bytes), bad, good);
	ir_place(&l->b, bad);
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, offsetof(struct data_head, failed_stacks)), 0, 8, opnd_imm(1));
	ir_mov_to(&l->b, got, opnd_imm(0));
	ir_jmp(&l->b, good);
	ir_place(&l->b, good);
	ir_store(&l->b, to, head - 8, 8, opnd_reg(ir_alu(&l->b, IR_SHR, got, opnd_imm(3))));
	l->image->has_user_addrs |= is_user;
	if (is_user)
		ir_store(&l->b, to, 0, 8, opnd_reg(lower_pid(l)));
	v.len = ir_alu(&l->b, IR_ADD, got, opnd_imm(head));
	return v;
}

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

static const struct fn rows[] = {
	{ "kstack", "(?word|lit mode, ?lit limit) kstack", "the kernel's stack: at most limit frames (127), shown in the mode bpftrace, perf or raw", "kprobe:vfs_read { @[kstack] = count(); @top[kstack(perf, 3)] = count() }", FN_WORD, check_kstack, lower_stack },
	{ "ustack", "(?word|lit mode, ?lit limit) ustack", "the program's stack, as frame pointers tell it: at most limit frames (127), shown in the mode bpftrace, perf or raw", "profile:hz:99 { @[ustack(5), comm] = count() }", FN_WORD, check_ustack, lower_stack },
	{ "usym", "(int|ptr addr) usym", "name of the function at an address of the current program", "profile:hz:99 { @[usym(reg(\"ip\"))] = count() }", 0, check_usym, lower_usym },
};

FN_FAMILY(fn_stacks, rows);
