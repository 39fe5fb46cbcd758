/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading memory: strings, buffers, symbols. */
#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "base/num.h"
#include "image/need.h"
#include "out/value.h"
#include "lang/provider.h"

static u32 read_str_helper(enum addr_space as)
{
	switch (as) {
	case AS_USER:
		return HELPER_probe_read_user_str;
	case AS_NONE:
	case AS_KERNEL:
		return HELPER_probe_read_kernel_str;
	case AS_ANY:
		return HELPER_probe_read_str;
	}
	return HELPER_probe_read_str;
}

static void become_text(struct check *k, struct expr *e, const char *text, u32 len)
{
	struct span span = e->span;

	*e = (struct expr){ .kind = E_STR, .span = span };
	e->str.s = text;
	e->str.len = len;
	e->type = type_string(check_arena(k), len + 1);
}

/* str($1): the parameter as text, also when it looks like a number. str($1 + 2): the same without its first two bytes, if there
 * are more. */
static bool prepare_str(struct check *k, struct expr *call)
{
	struct expr *a = call->call.args[0], *param = a, *skip = NULL;
	const char *text;
	size_t len;

	if (a->kind == E_BINARY && a->binary.op == BIN_ADD) {
		param = a->binary.a->kind == E_PARAM ? a->binary.a : a->binary.b;
		skip = a->binary.a->kind == E_PARAM ? a->binary.b : a->binary.a;
	}
	if (param->kind != E_PARAM || !param->param.index)
		return true;
	text = param->param.index <= k->c->param_cnt ? k->c->params[param->param.index - 1] : NULL;
	if (!text) {
		check_expr(k, param); /* reports that it was not given */
		text = "";
	}
	len = strlen(text);
	if (skip) {
		check_expr(k, skip);
		if (is_poisoned(skip))
			return false;
		if (!expr_is_int(skip)) {
			check_fail(k, skip, E_ARG_TYPE,
				   "the number of characters to skip in a parameter must be known when the script is compiled");
			return false;
		}
		text += MIN(skip->num.value, len);
		len = strlen(text);
	}
	become_text(k, a, text, len);
	return true;
}

static void check_str(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[0], *n = e->call.arg_cnt > 1 ? e->call.args[1] : NULL, *question;
	u32 size = k->max_strlen;

	if (a->type->kind == T_STRING) /* there is no more of it */
		size = a->type->size;
	else if (a->type->kind == T_SITE)
		size = a->type->cnt;
	if (n && expr_is_int(n)) {
		if ((s64)n->num.value < 0) {
			check_fail(k, n, E_ARG_TYPE, "str() cannot read a negative number of bytes (%lld given)",
				   (long long)n->num.value);
			e->type = &type_error;
			return;
		}
		if (n->num.value > size && a->type->kind != T_STRING && a->type->kind != T_SITE)
			diag_warn(k->c->diag, n->span, W_UNUSED, "str() reads at most max_strlen (%u) bytes", size);
		size = MIN(size, MAX(1, n->num.value));
		if (a->kind == E_STR && a->str.len >= size)
			become_text(k, a, arena_strndup(check_arena(k), a->str.s, size - 1), size - 1);
	}
	if (a->type->kind == T_ARRAY && a->type->elem->size != 1) {
		check_fail(k, a, E_ARG_TYPE, "str() reads bytes; this is %s", type_str(check_arena(k), a->type));
		e->type = &type_error;
		return;
	}
	e->type = a->type->is_fillable && size == a->type->size ? a->type : type_string(check_arena(k), size);
	/* The result of a literal is a literal: str($1) is allowed wherever a literal is required. */
	if (a->kind == E_STR && (!n || expr_is_int(n))) {
		question = check_keep(k, e);
		become_text(k, e, a->str.s, a->str.len);
		e->unfolded = question;
	}
}

/* Reads the string at p to dst by a helper; a failed read counts as empty. With is_marked, a string longer than `cap` can be
 * recognised: its last byte is not NUL. */
static struct val read_string(struct lower *l, struct mem dst, u32 cap, struct opnd size, vreg p, enum addr_space as,
			      bool is_marked)
{
	struct ir_block *bad = ir_block_new(l->b.f), *good = ir_block_new(l->b.f), *full = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	vreg to = lower_addr(l, dst), len = ir_vreg(l->b.f), last;
	struct val v = { .kind = VAL_MEM, .mem = dst, .len = len };
	struct mem at = dst;

	/* A record has a length field, and needs no NUL. With one spare byte for the helper's NUL, a string that is too long
	 * fills the space. The verifier knows that the helper's result does not exceed the size that it was given. */
	if (lower_in_tail(l, dst) && size.is_imm && is_marked) {
		ir_mov_to(&l->b, len,
			  opnd_reg(ir_call_of(&l->b, read_str_helper(as), opnd_reg(to), opnd_imm(cap + 1), opnd_reg(p))));
		v.len_plus = l->tail_at;
		ir_alu_to(&l->b, IR_ADD, len, len, opnd_imm((s64)v.len_plus - 1));
		ir_br(&l->b, C_SLT, len, opnd_imm(v.len_plus), bad, done);
		ir_place(&l->b, bad);
		lower_read_failed(l, read_str_helper(as), ir_alu(&l->b, IR_ADD, len, opnd_imm(1 - (s64)v.len_plus)));
		ir_mov_to(&l->b, len, opnd_imm(v.len_plus));
		ir_jmp(&l->b, done);
		ir_place(&l->b, done);
		return v;
	}
	/* The number of bytes to be written is unknown: the rest must not be old data, and a length of 0 writes nothing. */
	if (!size.is_imm)
		lower_zero(l, dst, cap);
	ir_mov_to(&l->b, len, opnd_reg(ir_call_of(&l->b, read_str_helper(as), opnd_reg(to), size, opnd_reg(p))));
	ir_br(&l->b, C_UGT, len, opnd_imm(cap), bad, good);
	ir_place(&l->b, bad);
	lower_read_failed(l, read_str_helper(as), len);
	ir_store(&l->b, to, 0, 1, opnd_imm(0));
	ir_mov_to(&l->b, len, opnd_imm(1));
	ir_jmp(&l->b, good);
	ir_place(&l->b, good);
	if (!is_marked)
		return v;
	ir_br(&l->b, C_EQ, len, opnd_imm(cap), full, done);
	ir_place(&l->b, full);
	at.off += cap - 1;
	last = ir_alu(&l->b, IR_ADD, p, opnd_imm(cap - 1));
	lower_read(l, (struct mem){ .base = last, .as = as }, 1, at);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return v;
}

/* How many bytes to read: as many as there is room for, or the length n that is given; one that is only known at run time is
 * clipped. */
static struct opnd clip(struct lower *l, struct expr *n, u32 cap)
{
	struct ir_block *over, *fits;
	vreg s;

	if (!n || expr_is_int(n))
		return opnd_imm(cap);
	over = ir_block_new(l->b.f);
	fits = ir_block_new(l->b.f);
	s = ir_vreg(l->b.f);
	ir_mov_to(&l->b, s, lower_scalar(l, n));
	ir_br(&l->b, C_ULE, s, opnd_imm(cap), fits, over);
	ir_place(&l->b, over);
	ir_mov_to(&l->b, s, opnd_imm(cap));
	ir_jmp(&l->b, fits);
	ir_place(&l->b, fits);
	return opnd_reg(s);
}

static struct val lower_str(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0], *n = e->call.arg_cnt > 1 ? e->call.args[1] : NULL;
	u32 cap = e->type->size;
	/* An explicit length is not marked as truncated; truncation by max_strlen is. */
	bool is_marked = !n || !expr_is_int(n) || n->num.value > cap;
	struct mem m;
	struct val v;
	vreg p;

	if ((a->kind == E_STR || a->type->kind == T_SITE) && (!n || expr_is_int(n))) {
		m = dst ? *dst : lower_temp(l, cap, 8);
		lower_store(l, a, e->type, m);
		return val_mem(m);
	}
	if (a->type->kind == T_STRING || a->type->kind == T_ARRAY || a->type->kind == T_SITE) {
		if (a->type->kind == T_SITE) {
			v = val_mem(lower_temp(l, cap, 8));
			lower_store(l, a, e->type, v.mem);
		} else {
			v = lower_expr(l, a, NULL);
		}
		BUG_ON(v.kind != VAL_MEM);
		p = lower_addr(l, v.mem);
		if (n || v.mem.as != AS_NONE || a->type->kind == T_ARRAY) {
			enum addr_space as = v.mem.as == AS_NONE ? AS_KERNEL : v.mem.as;

			m = dst ? *dst : lower_temp(l, cap, 8);
			cap = MIN(cap, a->type->kind == T_SITE ? cap : a->type->size);
			return read_string(l, m, cap, clip(l, n, cap), p, as, is_marked);
		}
		return v;
	}
	p = lower_reg(l, a);
	m = dst ? *dst : lower_temp(l, cap, 8);
	return read_string(l, m, cap, clip(l, n, cap), p, lower_space(l, a), is_marked);
}

/* Whether it can be the memory of the kernel or of a program, where more follows. */
static bool may_go_on(const struct expr *e)
{
	return e->kind == E_FIELD || e->kind == E_INDEX || e->kind == E_UNARY;
}

static void check_buf(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[0], *n = e->call.arg_cnt > 1 ? e->call.args[1] : NULL;
	u32 cap = k->max_strlen - 4;

	if (!n) {
		if (a->type->kind != T_ARRAY && a->type->kind != T_STRING) {
			check_fail(k, e, E_ARG_COUNT, "buf() needs a length for a %s", type_str(check_arena(k), a->type));
			diag_hint(k->c->diag, "buf(%s, LENGTH)", "address");
			return;
		}
		cap = MIN(cap, a->type->size);
	} else if (expr_is_int(n)) {
		if (!n->num.value) {
			check_fail(k, n, E_ARG_TYPE, "buf() needs a length of at least 1 byte");
			e->type = &type_error;
			return;
		}
		cap = MIN(cap, n->num.value);
	} else if (!type_is_scalar(a->type) && !may_go_on(a)) {
		cap = MIN(cap, a->type->size);
	}
	e->type = type_buffer(check_arena(k), cap);
}

static struct val lower_buf(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0], *n = e->call.arg_cnt > 1 ? e->call.args[1] : NULL;
	u32 cap = e->type->cnt, helper;
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 8), src;
	struct opnd len;
	vreg to, err;

	if (type_is_scalar(a->type)) {
		src = (struct mem){ .base = lower_reg(l, a), .as = lower_space(l, a) };
	} else {
		struct val v = lower_expr(l, a, NULL);

		/* Memory of the kernel or of a program may continue after the end of its type, as in `char data[1]`. The script's
		 * own data is followed by zeros, as many as the script asks for: after a string's NUL there may be old data. */
		src = v.mem;
		if (src.as == AS_NONE && n && !expr_is_int(n))
			cap = MIN(cap, a->type->size);
		if (src.as == AS_NONE && (a->type->size < cap || (a->type->kind == T_STRING && a->kind != E_STR))) {
			struct mem clean = lower_temp(l, MAX(cap, a->type->size), 8);

			lower_zero(l, clean, MAX(cap, a->type->size));
			if (a->type->kind == T_STRING)
				ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(lower_addr(l, clean)),
					   opnd_imm(a->type->size), opnd_reg(lower_addr(l, src)));
			else
				lower_copy(l, src, clean, a->type->size);
			src = clean;
		}
	}
	len = clip(l, n, cap);
	if (!len.is_imm && !lower_in_tail(l, m))
		lower_zero(l, m, e->type->size);
	to = lower_addr(l, m);
	ir_store(&l->b, to, 0, 4, len);
	helper = src.as == AS_USER ? HELPER_probe_read_user : src.as == AS_ANY ? HELPER_probe_read : HELPER_probe_read_kernel;
	err = ir_call_of(&l->b, helper, opnd_reg(ir_alu(&l->b, IR_ADD, to, opnd_imm(4))), len, opnd_reg(lower_addr(l, src)));
	if (src.as != AS_NONE)
		lower_check_read(l, helper, err);
	return val_mem(m);
}

static void check_kaddr(struct check *k, struct expr *e)
{
	const char *name = e->call.args[0]->str.s;
	u64 addr = target_kaddr(k->c->target, name);

	if (!addr) {
		check_fail(k, e, E_UNKNOWN_SYMBOL, "Failed to resolve kernel symbol: %s", name);
		diag_hint(k->c->diag, "/proc/kallsyms lists the symbols; it shows their addresses only to those with CAP_SYSLOG");
		return;
	}
	k->c->is_of_boot = true;
	expr_become_int(e, addr, false);
	e->type = &type_u64;
}

/* percpu_kaddr: each CPU has its copy of the variable, at an offset from the symbol that the kernel's table holds. */

static u64 kernel_symbol(const struct check *k, const char *name)
{
	return target_kaddr(k->c->target, name);
}

struct percpu_var {
	u64 symbol, offsets; /* addresses: of the variable, of the table */
};

static void check_percpu_kaddr(struct check *k, struct expr *e)
{
	struct type_source *src = target_types(k->c->target);
	const char *name = e->call.args[0]->str.s;
	const struct type *t = src && src->percpu_var ? src->percpu_var(src, name) : NULL;
	struct percpu_var *v = arena_new(check_arena(k), struct percpu_var);

	if (!t) {
		check_fail(k, e->call.args[0], E_UNKNOWN_SYMBOL, "Could not resolve variable \"%s\" from BTF", name);
		diag_hint(k->c->diag, "it must be a per-CPU variable of the kernel, such as runqueues");
		e->type = &type_error;
		return;
	}
	e->type = type_pointer(check_arena(k), t, AS_KERNEL);
	e->call.note = v;
	k->c->is_of_boot = true;
	v->symbol = kernel_symbol(k, name);
	v->offsets = kernel_symbol(k, "__per_cpu_offset");
	if ((!v->symbol || !v->offsets) && !k->c->target->is_check) {
		check_fail(k, e, E_KERNEL_FEATURE, "the address of the kernel symbol %s is not available",
			   v->offsets ? name : "__per_cpu_offset");
		diag_hint(k->c->diag,
			  "it needs a kernel with CONFIG_KALLSYMS_ALL, and CAP_SYSLOG, or /proc/kallsyms hides the addresses");
	}
}

static struct val lower_percpu_kaddr(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct percpu_var *v = e->call.note;
	struct ir_block *have = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	bool is_given = e->call.arg_cnt > 1;
	struct mem slot = lower_temp(l, 8, 8);
	vreg cpu = is_given ? lower_reg(l, e->call.args[1]) : lower_cpu(l), d = ir_vreg(l->b.f), at;

	ir_mov_to(&l->b, d, opnd_imm(0)); /* for an impossible CPU */
	if (is_given) {
		ir_br(&l->b, C_ULT, cpu, opnd_imm(l->c->target->ncpus), have, done);
		ir_place(&l->b, have);
	}
	at = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_SHL, cpu, opnd_imm(3)), opnd_reg(ir_imm(&l->b, v->offsets)));
	lower_read(l, (struct mem){ .base = at, .as = AS_KERNEL }, 8, slot);
	at = ir_alu(&l->b, IR_ADD, ir_load(&l->b, slot.base, slot.off, 8), opnd_reg(ir_imm(&l->b, v->symbol)));
	ir_mov_to(&l->b, d, opnd_reg(at));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

static struct val lower_nothing(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() is a constant", e->call.name);
}

static void check_ksym(struct check *k, struct expr *e)
{
	e->type = &type_ksym;
}

static struct val lower_same(struct lower *l, struct expr *e, const struct mem *dst)
{
	return (struct val){ VAL_REG, .r = lower_scalar(l, e->call.args[0]) };
}

static void check_kptr(struct check *k, struct expr *e)
{
	const struct type *t = e->call.args[0]->type;

	e->type = type_pointer(check_arena(k), t->kind == T_POINTER ? t->elem : &type_void, AS_KERNEL);
}

static void check_uptr(struct check *k, struct expr *e)
{
	const struct type *t = e->call.args[0]->type;

	e->type = type_pointer(check_arena(k), t->kind == T_POINTER ? t->elem : &type_void, AS_USER);
}

static void check_strncmp(struct check *k, struct expr *e)
{
	e->type = &type_u64;
	if ((s64)e->call.args[2]->num.value < 0)
		check_fail(k, e->call.args[2], E_ARG_TYPE, "strncmp() cannot compare a negative number of bytes");
}

static struct val lower_strncmp(struct lower *l, struct expr *e, const struct mem *dst)
{
	u64 n = e->call.args[2]->num.value;
	struct ir_block *same = ir_block_new(l->b.f), *differ = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f);

	if (!n)
		return val_imm(0);
	lower_string_branch(l, e->call.args[0], e->call.args[1], MIN(n, UINT32_MAX), true, same, differ);
	ir_place(&l->b, differ);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, same);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

/* Pointers of the kernel that are error numbers: the last page of the address space. */
static struct val lower_is_err(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct ir_block *yes = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg p = lower_reg(l, e->call.args[0]), d = ir_vreg(l->b.f);

	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_UGE, p, opnd_imm(-4095), yes, done);
	ir_place(&l->b, yes);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

static void check_bswap(struct check *k, struct expr *e)
{
	const struct type *t = type_settle(e->call.args[0]->type);

	e->type = type_int(t->size, false);
}

static struct val lower_bswap(struct lower *l, struct expr *e, const struct mem *dst)
{
	vreg v = lower_reg(l, e->call.args[0]);

	return val_reg(e->type->size == 1 ? v : ir_ext(&l->b, IR_BSWAP, v, e->type->size));
}

static void text_ksym(const struct show *w, const struct type *t, const u8 *data)
{
	u64 addr = value_load(t, data);

	if (!w->n->ksym || !w->n->ksym(w->n->self, addr, w->out))
		num_put_addr(w->out, addr);
}

static const struct opaque ksym = {
	/* u64 address */
	.name = "ksym_t", .type = &type_ksym, .flags = OPAQUE_SCALAR | OPAQUE_TO_INT, .order = ORDER_NUMBER, .text = text_ksym,
};
const struct type type_ksym = OPAQUE_TYPE(ksym, 8, 8);

static const struct fn rows[] = {
	{ "str", "(ptr|int|str addr, ?int len) string",
	  "reads a string at an address, at most len bytes including its NUL; str($1) is a parameter as text",
	  "tracepoint:syscalls:sys_enter_openat { print(str(args.filename)) }", FN_SITE, check_str, lower_str,
	  .prepare = prepare_str },
	{ "buf", "(ptr|int|str addr, ?int len) buffer", "reads len bytes at an address; len may be left out for an array",
	  "kprobe:vfs_read { printf(\"%r\", buf(arg1, 16)) }", 0, check_buf, lower_buf },
	{ "kaddr", "(strlit name) uint64", "address of a kernel symbol", "begin { printf(\"%lx\", kaddr(\"jiffies\")) }", 0,
	  check_kaddr, lower_nothing, .needs = NEED_BIT(KERNEL_ADDRESSES) },
	{ "percpu_kaddr", "(strlit name, ?int cpu) pointer",
	  "address of a per-CPU variable of the kernel: for the current CPU, or the given one; 0 if there is no such CPU",
	  "begin { print(percpu_kaddr(\"runqueues\").nr_running) }", 0, check_percpu_kaddr, lower_percpu_kaddr,
	  .needs = NEED_BIT(KERNEL_ADDRESSES) },
	{ "ksym", "(int|ptr addr) ksym", "name of the kernel function at an address",
	  "kprobe:vfs_read { @[ksym(reg(\"ip\"))] = count() }", 0, check_ksym, lower_same, .needs = NEED_BIT(KERNEL_NAMES) },
	{ "kptr", "(int|ptr addr) pointer", "the same address, marked as kernel memory", "begin { @ = kptr(1) }", 0, check_kptr,
	  lower_same },
	{ "uptr", "(int|ptr addr) pointer", "the same address, marked as user memory", "begin { @ = uptr(1) }", 0, check_uptr,
	  lower_same },
	{ "strncmp", "(str a, str b, lit n) uint64", "0 if the first n bytes of two strings are equal",
	  "begin { if (strncmp(comm, \"so\", 2) == 0) { print(1) } }", 0, check_strncmp, lower_strncmp },
	{ "is_err", "(int|ptr p) bool", "true if a kernel pointer is an error number (-4095 to -1)",
	  "kretprobe:vfs_read { if (is_err(retval)) { print(retval) } }", 0, NULL, lower_is_err },
	{ "bswap", "(int n) uint", "reverses the bytes of an integer", "begin { @ = bswap((uint16)80) }", 0, check_bswap,
	  lower_bswap },
};

FN_FAMILY_OF(fn_memory, rows, &ksym);
