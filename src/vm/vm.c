/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine: life cycle, runs, and the loop over instructions. */
#include "vm/internal.h"

#include <errno.h>
#include <sched.h>

struct vm *vm_new(u32 ncpus)
{
	struct vm *vm = xzalloc(sizeof(*vm));

	vm->ncpus = MAX(ncpus, 1u);
	vm_env_init(&vm->env);
	return vm;
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	vec_for(m, &vm->maps)
		vm_map_free(*m);
	vec_free(&vm->maps);
	vec_free(&vm->regions);
	free(vm);
}

struct vm_env *vm_env(struct vm *vm)
{
	return &vm->env;
}

struct vm_prog *vm_prog_new(struct vm *vm, const struct insn *insns, u32 cnt, struct vm_fault *fault)
{
	struct vm_prog *p = xzalloc(sizeof(*p));

	*p = (struct vm_prog){ .vm = vm, .insns = insns, .cnt = cnt };
	if (!vm_check(p, fault)) {
		vm_prog_free(p);
		return NULL;
	}
	return p;
}

void vm_prog_free(struct vm_prog *p)
{
	if (!p)
		return;
	free(p->uses);
	free(p);
}

u64 vm_fail(struct vm_run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->failed)
		return 0;
	r->failed = true;
	va_start(ap, fmt);
	vm_fault_set(r->fault, r->prog, r->pc, fmt, ap);
	va_end(ap);
	return 0;
}

/* ---- instructions ---- */

static u32 access_size(u8 code)
{
	return BPF_SIZE(code) == BPF_B ? 1 : BPF_SIZE(code) == BPF_H ? 2 : BPF_SIZE(code) == BPF_W ? 4 : 8;
}

static void set_reg(struct vm_frame *f, u32 reg, u64 v)
{
	f->r[reg] = v;
	f->reg_init |= 1 << reg;
}

static u64 sign_extend(u64 v, u32 size)
{
	u32 shift = 64 - 8 * size;

	return (u64)((s64)(v << shift) >> shift);
}

static bool do_load(struct vm_run *r, struct vm_frame *f, const struct insn *i)
{
	u32 size = access_size(i->code);
	u8 *p = vm_access(r, f->r[i->src] + i->off, size, VM_LOAD);
	u64 v = 0;

	if (!p)
		return false;
	memcpy(&v, p, size);
	set_reg(f, i->dst, BPF_MODE(i->code) == BPF_MEMSX ? sign_extend(v, size) : v);
	return true;
}

static bool do_store(struct vm_run *r, struct vm_frame *f, const struct insn *i)
{
	bool is_atomic = BPF_CLASS(i->code) == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC;
	u64 v = BPF_CLASS(i->code) == BPF_ST ? (u64)(s64)i->imm : f->r[i->src];
	u32 size = access_size(i->code);
	u8 *p = vm_access(r, f->r[i->dst] + i->off, size, is_atomic ? VM_ATOMIC : VM_STORE);

	if (!p)
		return false;
	if (is_atomic)
		vm_atomic(f, i, p);
	else
		memcpy(p, &v, size);
	return true;
}

static void do_ld_imm64(struct vm_run *r, struct vm_frame *f, const struct insn *i, u32 pc)
{
	u64 v = (u32)i->imm | (u64)(u32)i[1].imm << 32;

	switch (i->src) {
	case BPF_PSEUDO_MAP_FD:
		v = (u64)vm_map(r->vm, i->imm);
		break;
	case BPF_PSEUDO_MAP_VALUE:
		v = (u64)vm_map(r->vm, i->imm)->mem + (u32)i[1].imm;
		break;
	case BPF_PSEUDO_FUNC:
		v = VM_FUNC_TAG << 32 | (pc + 1 + i->imm);
		break;
	}
	set_reg(f, i->dst, v);
}

static bool exec(struct vm_run *r, u32 pc);

/* A fresh frame on top. */
static struct vm_frame *push_frame(struct vm_run *r)
{
	struct vm_frame *f;

	if (r->depth + 1 == VM_MAX_FRAMES) {
		vm_fail(r, "calls are nested deeper than %u frames", VM_MAX_FRAMES);
		return NULL;
	}
	f = &r->frames[++r->depth];
	memset(f->mem, VM_POISON, sizeof(f->mem));
	memset(f->is_init, 0, sizeof(f->is_init));
	f->used = 0;
	f->reg_init = 0;
	set_reg(f, 10, (u64)(f->mem + MAX_BPF_STACK));
	return f;
}

/* As after every call: r0 is the result, r1-r5 are clobbered. */
static void set_result(struct vm_frame *f, u64 result)
{
	f->reg_init &= ~0x3e;
	set_reg(f, 0, result);
}

static bool do_subprogram(struct vm_run *r, struct vm_frame *f, u32 to)
{
	struct vm_frame *callee = push_frame(r);
	bool ok;

	if (!callee)
		return false;
	memcpy(&callee->r[1], &f->r[1], 5 * sizeof(f->r[0]));
	callee->reg_init |= f->reg_init & 0x3e;
	ok = exec(r, to);
	r->depth--;
	if (ok)
		set_result(f, callee->r[0]);
	return ok;
}

bool vm_call(struct vm_run *r, u32 to, const u64 *args, u32 arg_cnt, u64 *result)
{
	struct vm_frame *callee = push_frame(r);
	u32 pc = r->pc;
	bool ok;

	if (!callee)
		return false;
	for (u32 i = 0; i < arg_cnt; i++)
		set_reg(callee, 1 + i, args[i]);
	ok = exec(r, to);
	r->depth--;
	if (!ok)
		return false;
	r->pc = pc;
	*result = callee->r[0];
	if (*result > 1) {
		vm_fail(r, "the callback returns %lld, only 0 and 1 are allowed", (long long)*result);
		return false;
	}
	return true;
}

static bool do_call(struct vm_run *r, struct vm_frame *f, const struct insn *i, u32 pc)
{
	u64 args[5], result;

	if (i->src == BPF_PSEUDO_CALL)
		return do_subprogram(r, f, pc + 1 + i->imm);
	for (u32 k = 0; k < 5; k++)
		args[k] = f->reg_init & 2 << k ? f->r[1 + k] : 0;
	result = vm_helper(r, i->imm, args);
	if (r->failed)
		return false;
	set_result(f, result);
	return true;
}

/* A register that was not written, or that a call clobbered. */
static bool fail_register(struct vm_run *r, u16 missing)
{
	u32 reg = __builtin_ctz(missing);

	vm_fail(r, "r%u is read but was not written%s", reg, reg >= 1 && reg <= 5 ? " (a call clobbers r1-r5)" : "");
	return false;
}

/* Runs the function at pc in the topmost frame until it exits. False: the run has failed. */
static bool exec(struct vm_run *r, u32 pc)
{
	struct vm_frame *f = &r->frames[r->depth];

	for (;; pc++) {
		const struct insn *i = &r->prog->insns[pc];
		u8 cls = BPF_CLASS(i->code), op = BPF_OP(i->code);
		u16 missing = r->prog->uses[pc] & ~f->reg_init;
		u64 rhs = BPF_SRC(i->code) == BPF_X ? f->r[i->src % 11] : (u64)(s64)i->imm;

		r->pc = pc;
		if (r->steps++ == r->vm->env.max_steps) {
			vm_fail(r, "more than %llu instructions in one run", (unsigned long long)r->vm->env.max_steps);
			return false;
		}
		if (missing)
			return fail_register(r, missing);
		switch (cls) {
		case BPF_LD:
			do_ld_imm64(r, f, i, pc);
			pc++;
			break;
		case BPF_LDX:
			if (!do_load(r, f, i))
				return false;
			break;
		case BPF_ST:
		case BPF_STX:
			if (!do_store(r, f, i))
				return false;
			break;
		case BPF_ALU:
		case BPF_ALU64:
			set_reg(f, i->dst, vm_alu(i, f->r[i->dst], rhs));
			break;
		case BPF_JMP:
		case BPF_JMP32:
			if (op == BPF_EXIT)
				return true;
			if (op == BPF_CALL) {
				if (!do_call(r, f, i, pc))
					return false;
			} else if (op == BPF_JA) {
				pc += cls == BPF_JMP32 ? i->imm : i->off;
			} else if (vm_cond(op, cls == BPF_JMP32, f->r[i->dst], rhs)) {
				pc += i->off;
			}
			break;
		}
	}
}

/* ---- runs ---- */

static u32 current_cpu(const struct vm *vm)
{
	int cpu = vm->env.cpu;

	if (cpu < 0)
		cpu = MAX(sched_getcpu(), 0);
	return (u32)cpu % vm->ncpus;
}

/* A reservation that is left over would block the ring for ever. */
static void drop_reservations(struct vm_run *r)
{
	vec_for(res, &r->reservations)
		if (res->ring)
			vm_ring_commit(res->ring, res->data, true);
	if (r->reservations.cnt && !r->failed)
		vm_fail(r, "the program ends without submitting or discarding a ring record of %u bytes",
			r->reservations.at[0].size);
	vec_free(&r->reservations);
}

int vm_run(struct vm *vm, const struct vm_prog *p, void *ctx, u32 ctx_sz, u32 flags, u64 *result, struct vm_fault *fault)
{
	struct vm_run *r = xzalloc(sizeof(*r));
	static u64 no_ctx;
	int err;

	r->vm = vm;
	r->prog = p;
	r->ctx = ctx ? ctx : (u8 *)&no_ctx;
	r->ctx_sz = ctx ? ctx_sz : 0;
	r->ctx_writable = flags & VM_CTX_WRITABLE;
	r->cpu = current_cpu(vm);
	r->fault = fault;
	r->depth = ~0u; /* the first frame becomes 0 */
	push_frame(r);
	set_reg(&r->frames[0], 1, (u64)r->ctx);
	vm->running++;
	exec(r, 0);
	drop_reservations(r);
	if (--vm->running == 0)
		vec_for(m, &vm->maps)
			vm_map_reclaim(*m);
	if (result)
		*result = r->failed ? 0 : r->frames[0].r[0];
	vm->env.steps = r->steps;
	err = r->failed ? -EFAULT : 0;
	free(r);
	return err;
}
