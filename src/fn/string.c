/* SPDX-License-Identifier: GPL-2.0-only */
/* Strings: length, search, joining, and names of numbers.
 *
 * Loops over text have no branch in their body. The verifier follows every branch whose outcome it does not know, and keeps at
 * most 8,192 of them, which a few loops over 1,024 bytes would use up. So a loop checks only once for each CHUNK bytes whether it
 * is done, and works on a copy of the text that is padded with zeros, so that bytes after the NUL do not matter.
 *
 * A search goes over the text once, for any needle (the shift-and method): bit j of a word is set if the j + 1 bytes that end
 * here are the first j + 1 bytes of the needle; each byte value has a mask of its positions in the needle.
 */
#include <signal.h>

#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "arch/syscall.h"

enum { NEEDLE_MAX = 64, NAME_SZ = 64, CHUNK = 32 };

/* Arguments that are addresses of text, or arrays of bytes, are read as str() reads them. */
static bool make_string(struct check *k, struct expr *e, u32 n)
{
	struct expr *a = e->call.args[n], *str;

	if (a->type->kind == T_STRING)
		return true;
	if (a->type->elem->size != 1) {
		check_fail(k, a, E_ARG_TYPE, "%s() works on text; this is %s", e->call.name, type_str(check_arena(k), a->type));
		e->type = &type_error;
		return false;
	}
	str = e->call.args[n] = check_as_str(k, a);
	return !is_poisoned(str);
}

static void check_strlen(struct check *k, struct expr *e)
{
	e->type = &type_u64;
	make_string(k, e, 0);
}

/* Bytes of the string at m before its NUL; all `cap` of them if it has none. */
static vreg length_of(struct lower *l, struct mem m, u32 cap)
{
	struct ir_block *some = ir_block_new(l->b.f), *full = ir_block_new(l->b.f), *whole = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	struct mem copy = lower_temp(l, cap, 8), last = { .base = m.base, .off = m.off + cap - 1 };
	vreg d = ir_vreg(l->b.f), len;

	/* A copying helper is faster than a loop, and returns a number whose bounds the verifier knows. */
	len = ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(lower_addr(l, copy)), opnd_imm(cap),
			 opnd_reg(lower_addr(l, m)));
	ir_mov_to(&l->b, d, opnd_imm(0));
	len = ir_alu(&l->b, IR_ADD, len, opnd_imm(-1));
	ir_br(&l->b, C_ULT, len, opnd_imm(cap), some, done);
	ir_place(&l->b, some);
	ir_mov_to(&l->b, d, opnd_reg(len));
	ir_br(&l->b, C_EQ, d, opnd_imm(cap - 1), full, done);
	ir_place(&l->b, full);
	ir_br(&l->b, C_NE, lower_load(l, last, &type_u8), opnd_imm(0), whole, done);
	ir_place(&l->b, whole);
	ir_mov_to(&l->b, d, opnd_imm(cap));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return d;
}

static struct val lower_strlen(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0];

	if (a->kind == E_STR)
		return val_imm(a->str.len);
	return val_reg(length_of(l, lower_mem(l, a), a->type->size));
}

static struct val lower_strcap(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_imm(e->call.args[0]->type->size);
}

/* Search */

static bool check_search(struct check *k, struct expr *e)
{
	const struct expr *what;

	if (!make_string(k, e, 0) || !make_string(k, e, 1))
		return false;
	what = e->call.args[1];
	if (what->kind == E_STR && strlen(what->str.s) > NEEDLE_MAX) {
		check_fail(k, e->call.args[1], E_ARG_TYPE, "%s() searches for at most %d bytes (%u given)", e->call.name,
			   NEEDLE_MAX, (u32)strlen(what->str.s));
		e->type = &type_error;
		return false;
	}
	return true;
}

static void check_strstr(struct check *k, struct expr *e)
{
	e->type = &type_s64;
	check_search(k, e);
}

static void check_strcontains(struct check *k, struct expr *e)
{
	e->type = &type_bool;
	check_search(k, e);
}

/* A copy of a string, `size` bytes with zeroes behind its end, and its length in *len. */
static struct mem padded(struct lower *l, struct expr *e, u32 size, vreg *len)
{
	struct mem text = lower_mem(l, e), copy = lower_temp(l, size, 8);
	struct ir_block *some = ir_block_new(l->b.f), *full = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	u32 cap = MIN(e->type->size, size);
	vreg n, last;

	lower_zero(l, copy, size);
	n = ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(lower_addr(l, copy)), opnd_imm(cap),
		       opnd_reg(lower_addr(l, text)));
	n = ir_alu(&l->b, IR_ADD, n, opnd_imm(-1));
	*len = ir_vreg(l->b.f);
	ir_mov_to(&l->b, *len, opnd_imm(0));
	ir_br(&l->b, C_ULT, n, opnd_imm(cap), some, done);
	ir_place(&l->b, some);
	ir_mov_to(&l->b, *len, opnd_reg(n));
	ir_br(&l->b, C_EQ, n, opnd_imm(cap - 1), full, done);
	/* A truncated string has text where the helper put a NUL. */
	ir_place(&l->b, full);
	last = lower_load(l, (struct mem){ .base = text.base, .off = text.off + cap - 1 }, &type_u8);
	ir_store(&l->b, copy.base, copy.off + cap - 1, 1, opnd_reg(last));
	ir_alu_to(&l->b, IR_ADD, *len, *len, opnd_reg(ir_alu(&l->b, IR_SHR, ir_neg(&l->b, last), opnd_imm(63))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return copy;
}

/* The needle: masks of `width` bytes each, and its length. */
struct needle {
	vreg masks;
	u32 width;
	struct opnd last; /* length - 1 */
};

static struct needle needle_literal(struct lower *l, const char *text)
{
	u32 n = strlen(text), width = n <= 8 ? 1 : n <= 16 ? 2 : n <= 32 ? 4 : 8;
	u8 *table = arena_alloc(l->c->arena, 256 * width);

	for (u32 i = 0; i < n; i++)
		table[(u8)text[i] * width + i / 8] |= 1 << i % 8; /* little endian */
	return (struct needle){ ir_mapval(&l->b, MAP_IDX_CONST, lower_const(l, table, 256 * width, 8)), width, opnd_imm(n - 1) };
}

/* The same at run time. Jumps away if the needle is empty, or too long. */
static struct needle needle_build(struct lower *l, struct expr *e, struct ir_block *empty, struct ir_block *too_long)
{
	u32 size = MIN(ALIGN_UP(e->type->size, 8), NEEDLE_MAX + 8);
	struct ir_block *loop = ir_block_new(l->b.f), *body = ir_block_new(l->b.f), *next = ir_block_new(l->b.f),
			*some = ir_block_new(l->b.f), *ready = ir_block_new(l->b.f), *fits = ir_block_new(l->b.f);
	struct mem table = lower_temp(l, 256 * 8, 8);
	vreg i = ir_vreg(l->b.f), bit = ir_vreg(l->b.f), len, c, at, base;
	struct mem text = padded(l, e, size, &len);
	vreg from = lower_addr(l, text);

	lower_zero(l, table, 256 * 8);
	base = lower_addr(l, table);
	ir_br(&l->b, C_EQ, len, opnd_imm(0), empty, some);
	ir_place(&l->b, some);
	ir_br(&l->b, C_UGT, len, opnd_imm(NEEDLE_MAX), too_long, fits);
	ir_place(&l->b, fits);
	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_mov_to(&l->b, bit, opnd_imm(1));
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	ir_br(&l->b, C_ULE, len, opnd_reg(i), ready, body);
	ir_place(&l->b, body);
	c = ir_load(&l->b, ir_alu(&l->b, IR_ADD, from, opnd_reg(i)), 0, 1);
	at = ir_alu(&l->b, IR_ADD, base, opnd_reg(ir_alu(&l->b, IR_SHL, c, opnd_imm(3))));
	/* no bit is added twice */
	ir_store(&l->b, at, 0, 8, opnd_reg(ir_alu(&l->b, IR_ADD, ir_load(&l->b, at, 0, 8), opnd_reg(bit))));
	ir_alu_to(&l->b, IR_SHL, bit, bit, opnd_imm(1));
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(1));
	ir_br(&l->b, C_NE, ir_alu(&l->b, IR_AND, i, opnd_imm(7)), opnd_imm(0), body, next);
	ir_place(&l->b, next);
	ir_br(&l->b, C_ULT, i, opnd_imm(MIN(size, NEEDLE_MAX)), loop, ready);
	ir_place(&l->b, ready);
	ir_store(&l->b, base, 0, 8, opnd_imm(0)); /* the zeroes behind it are not looked for */
	return (struct needle){ base, 8, opnd_reg(ir_alu(&l->b, IR_ADD, len, opnd_imm(-1))) };
}

/* Where needle starts in haystack, or -1. */
static vreg search(struct lower *l, struct expr *e)
{
	struct expr *hay = e->call.args[0], *what = e->call.args[1];
	const struct expr *lit = what->kind == E_STR ? what : NULL;
	struct ir_block *loop = ir_block_new(l->b.f), *body = ir_block_new(l->b.f), *next = ir_block_new(l->b.f),
			*more = ir_block_new(l->b.f), *end = ir_block_new(l->b.f), *found = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f), *empty = ir_block_new(l->b.f), *too_long = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f), i = ir_vreg(l->b.f), state = ir_vreg(l->b.f), hit = ir_vreg(l->b.f), pos = ir_vreg(l->b.f), c,
	     at, from, len;
	u32 size = ALIGN_UP(hay->type->size, CHUNK), mark, shift;
	struct needle n;

	ir_mov_to(&l->b, d, opnd_imm(0));
	if (lit && !*lit->str.s)
		return d;
	mark = lower_mark(l);
	n = lit ? needle_literal(l, lit->str.s) : needle_build(l, what, empty, too_long);
	from = lower_addr(l, padded(l, hay, size, &len));
	shift = __builtin_ctz(n.width);
	ir_mov_to(&l->b, d, opnd_imm(-1));
	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_mov_to(&l->b, state, opnd_imm(0));
	ir_mov_to(&l->b, hit, opnd_imm(0));
	ir_mov_to(&l->b, pos, opnd_imm(0));
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	ir_br(&l->b, C_ULE, len, opnd_reg(i), end, body);
	ir_place(&l->b, body);
	c = ir_load(&l->b, ir_alu(&l->b, IR_ADD, from, opnd_reg(i)), 0, 1);
	at = ir_alu(&l->b, IR_ADD, n.masks, opnd_reg(shift ? ir_alu(&l->b, IR_SHL, c, opnd_imm(shift)) : c));
	ir_alu_to(&l->b, IR_SHL, state, state, opnd_imm(1));
	ir_alu_to(&l->b, IR_ADD, state, state, opnd_imm(1));
	ir_alu_to(&l->b, IR_AND, state, state, opnd_reg(ir_load(&l->b, at, 0, n.width)));
	/* the bit of the needle's last byte is the highest that a mask can have */
	ir_alu_to(&l->b, IR_OR, hit, hit, opnd_reg(ir_alu(&l->b, IR_SHR, state, n.last)));
	ir_alu_to(&l->b, IR_ADD, pos, pos, opnd_reg(ir_alu(&l->b, IR_XOR, hit, opnd_imm(1))));
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(1));
	ir_br(&l->b, C_NE, ir_alu(&l->b, IR_AND, i, opnd_imm(CHUNK - 1)), opnd_imm(0), body, next);
	ir_place(&l->b, next);
	ir_br(&l->b, C_NE, hit, opnd_imm(0), found, more);
	ir_place(&l->b, more);
	ir_br(&l->b, C_ULT, i, opnd_imm(size), loop, end);
	ir_place(&l->b, found);
	if (n.last.is_imm)
		ir_alu_to(&l->b, IR_ADD, d, pos, opnd_imm(-n.last.imm));
	else
		ir_alu_to(&l->b, IR_SUB, d, pos, n.last);
	ir_jmp(&l->b, done);
	ir_place(&l->b, end);
	ir_jmp(&l->b, done);
	if (!lit) {
		ir_place(&l->b, empty);
		ir_mov_to(&l->b, d, opnd_imm(0));
		ir_jmp(&l->b, done);
		ir_place(&l->b, too_long);
		lower_runtime_error(l, e->span, "The text to search for is longer than 64 bytes: the result is \"not found\".");
		ir_mov_to(&l->b, d, opnd_imm(-1));
		ir_jmp(&l->b, done);
	}
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return d;
}

static struct val lower_strstr(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_reg(search(l, e));
}

static struct val lower_strcontains(struct lower *l, struct expr *e, const struct mem *dst)
{
	vreg at = search(l, e);

	/* -1 is the only one with a sign */
	return val_reg(ir_alu(&l->b, IR_XOR, ir_alu(&l->b, IR_SHR, at, opnd_imm(63)), opnd_imm(1)));
}

/* Comparison */

static void check_memcmp(struct check *k, struct expr *e)
{
	struct expr *n = e->call.args[2];

	e->type = &type_s64;
	for (u32 i = 0; i < 2; i++) {
		const struct type *t = e->call.args[i]->type;

		if (t->kind == T_STRING || t->kind == T_ARRAY)
			continue;
		check_fail(k, e->call.args[i], E_ARG_TYPE, "memcmp() compares arrays and strings; this is %s",
			   type_str(check_arena(k), t));
		diag_hint(k->c->diag, "use buf() or str() to read the memory that a pointer points to");
		e->type = &type_error;
		return;
	}
	if (expr_is_int(n)) {
		u32 most = MIN(e->call.args[0]->type->size, e->call.args[1]->type->size);

		if (n->num.value > most) {
			check_fail(k, n, E_OUT_OF_BOUNDS, "memcmp() compares %lld bytes, but the shorter side has %u",
				   (long long)n->num.value, most);
			e->type = &type_error;
		}
	}
}

/* n bytes of e and zeroes behind them, `size` in all. */
static vreg padded_bytes(struct lower *l, struct expr *e, struct opnd n, u32 size)
{
	struct val v = lower_expr(l, e, NULL);
	struct mem copy = lower_temp(l, size, 8);
	u32 helper = v.mem.as == AS_USER ? HELPER_probe_read_user :
		v.mem.as == AS_ANY       ? HELPER_probe_read :
					   HELPER_probe_read_kernel;
	vreg err;

	lower_zero(l, copy, size);
	err = ir_call_of(&l->b, helper, opnd_reg(lower_addr(l, copy)), n, opnd_reg(lower_addr(l, v.mem)));
	if (v.mem.as != AS_NONE)
		lower_check_read(l, helper, err);
	return lower_addr(l, copy);
}

static struct val lower_memcmp(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0], *b = e->call.args[1];
	u32 most = MIN(a->type->size, b->type->size), size;
	struct ir_block *body = ir_block_new(l->b.f), *next = ir_block_new(l->b.f), *more = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f), *over = ir_block_new(l->b.f), *fits = ir_block_new(l->b.f);
	vreg pa, pb, i = ir_vreg(l->b.f), d = ir_vreg(l->b.f), x, keep;
	struct opnd cnt = lower_scalar(l, e->call.args[2]);

	if (cnt.is_imm) {
		most = MIN(most, (u64)cnt.imm);
		cnt = opnd_imm(most);
		if (!most)
			return val_imm(0);
	} else {
		vreg n = ir_vreg(l->b.f);

		ir_mov_to(&l->b, n, cnt);
		ir_br(&l->b, C_ULE, n, opnd_imm(most), fits, over);
		ir_place(&l->b, over);
		ir_mov_to(&l->b, n, opnd_imm(most));
		ir_jmp(&l->b, fits);
		ir_place(&l->b, fits);
		cnt = opnd_reg(n);
	}
	size = ALIGN_UP(most, 8);
	pa = padded_bytes(l, a, cnt, size);
	pb = padded_bytes(l, b, cnt, size);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_jmp(&l->b, body);
	ir_place(&l->b, body);
	x = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pa, opnd_reg(i)), 0, 1);
	x = ir_alu(&l->b, IR_SUB, x, opnd_reg(ir_load(&l->b, ir_alu(&l->b, IR_ADD, pb, opnd_reg(i)), 0, 1)));
	/* d += x if d is 0: the mask is (d or -d) < 0 ? 0 : -1 */
	keep = ir_alu(&l->b, IR_OR, ir_neg(&l->b, d), opnd_reg(d));
	keep = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_SHR, keep, opnd_imm(63)), opnd_imm(-1));
	ir_alu_to(&l->b, IR_ADD, d, d, opnd_reg(ir_alu(&l->b, IR_AND, x, opnd_reg(keep))));
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(1));
	ir_br(&l->b, C_NE, ir_alu(&l->b, IR_AND, i, opnd_imm(7)), opnd_imm(0), body, next);
	ir_place(&l->b, next);
	ir_br(&l->b, C_NE, d, opnd_imm(0), done, more);
	ir_place(&l->b, more);
	ir_br(&l->b, C_ULT, i, opnd_imm(size), body, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

/* Joining */

/* Room for the text and a NUL behind it. */
static u32 text_room(const struct type *t)
{
	return t->size + t->is_fillable;
}

/* The text of e, with a NUL behind it. */
static struct mem ended_text(struct lower *l, struct expr *e)
{
	struct mem m;

	if (!e->type->is_fillable)
		return lower_mem(l, e);
	m = lower_temp(l, text_room(e->type), 8);
	lower_store(l, e, type_string(l->c->arena, text_room(e->type)), m);
	return m;
}

static void check_str_concat(struct check *k, struct expr *e)
{
	u32 size, first;

	if (!make_string(k, e, 0) || !make_string(k, e, 1)) {
		e->type = &type_error;
		return;
	}
	/* Bounded: in a loop, $s = str_concat($s, …) would grow with every pass. */
	first = text_room(e->call.args[0]->type);
	size = MIN(first + text_room(e->call.args[1]->type) - 1, k->max_strlen);
	e->type = type_string(check_arena(k), MAX(size, first));
}

static struct val lower_str_concat(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct mem a = ended_text(l, e->call.args[0]), b = ended_text(l, e->call.args[1]);
	u32 a_cap = text_room(e->call.args[0]->type), b_cap = text_room(e->call.args[1]->type);
	/* Room for both, if the result is to be cut. */
	struct mem m = dst && a_cap + b_cap - 1 <= e->type->size ? *dst : lower_temp(l, MAX(e->type->size, a_cap + b_cap - 1), 8);
	struct ir_block *good = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg to = lower_addr(l, m), len;

	/* The destination of the second copy is only known at run time: all of the buffer must be initialised before. */
	lower_zero(l, m, MAX(e->type->size, a_cap + b_cap - 1));
	len = ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(to), opnd_imm(a_cap), opnd_reg(lower_addr(l, a)));
	len = ir_alu(&l->b, IR_ADD, len, opnd_imm(-1));
	ir_br(&l->b, C_ULT, len, opnd_imm(a_cap), good, done);
	ir_place(&l->b, good);
	ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(ir_alu(&l->b, IR_ADD, to, opnd_reg(len))), opnd_imm(b_cap),
		   opnd_reg(lower_addr(l, b)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_mem(m);
}

/* Names of numbers. */

static const char *error_text(struct lower *l, u32 n)
{
	return strerrordesc_np((int)n);
}

static const char *signal_text(struct lower *l, u32 n)
{
	const char *name = sigabbrev_np((int)n);

	/* as kill -l has them: the C library keeps two of the kernel's for itself */
	if (n >= 34 && n <= 49)
		return n == 34 ? "SIGRTMIN" : arena_printf(l->c->arena, "SIGRTMIN+%u", n - 34);
	if (n >= 50 && n <= 64)
		return n == 64 ? "SIGRTMAX" : arena_printf(l->c->arena, "SIGRTMAX-%u", 64 - n);
	return name ? arena_printf(l->c->arena, "SIG%s", name) : NULL;
}

static const char *syscall_text(struct lower *l, u32 n)
{
	const struct syscall_row *rows;
	u32 cnt;

	rows = syscall_table(&cnt);
	for (u32 i = 0; i < cnt; i++)
		if (rows[i].nr == n)
			return rows[i].call;
	return NULL;
}

static const struct texts error_names = { 134, error_text, "Unknown error" };
static const struct texts signal_names = { 65, signal_text, "Unknown signal" };
static const struct texts syscall_names = { 512, syscall_text, "Unknown syscall" };

static void check_name(struct check *k, struct expr *e)
{
	e->type = type_string(check_arena(k), NAME_SZ);
}

static struct val lower_name(struct lower *l, struct expr *e, const struct mem *dst, const struct texts *names)
{
	struct mem m = dst ? *dst : lower_temp(l, NAME_SZ, 8);

	lower_text_of(l, lower_scalar(l, e->call.args[0]), names, m, NAME_SZ);
	return val_mem(m);
}

static struct val lower_strerror(struct lower *l, struct expr *e, const struct mem *dst)
{
	return lower_name(l, e, dst, &error_names);
}

static struct val lower_signal_name(struct lower *l, struct expr *e, const struct mem *dst)
{
	return lower_name(l, e, dst, &signal_names);
}

static struct val lower_syscall_name(struct lower *l, struct expr *e, const struct mem *dst)
{
	return lower_name(l, e, dst, &syscall_names);
}

static const struct fn rows[] = {
	{ "strlen", "(str|ptr s) uint64", "number of bytes of a string before its NUL", "begin { print(strlen(comm)) }", 0,
	  check_strlen, lower_strlen },
	{ "strcap", "(str|ptr s) uint64", "number of bytes that a string can hold, including its NUL",
	  "begin { print(strcap(comm)) }", 0, check_strlen, lower_strcap },
	{ "strstr", "(str|ptr haystack, str|ptr needle) int64",
	  "position of needle in haystack, counted from 0; -1 if it is not found", "begin { print(strstr(comm, \"on\")) }", 0,
	  check_strstr, lower_strstr },
	{ "strcontains", "(str|ptr haystack, str|ptr needle) bool", "true if haystack contains needle",
	  "tracepoint:syscalls:sys_enter_openat /strcontains(str(args.filename), \".so\")/ { @ = count() }", 0, check_strcontains,
	  lower_strcontains },
	{ "memcmp", "(any a, any b, int n) int64",
	  "0 if the first n bytes of two arrays or strings are equal, else the difference of the first bytes that differ",
	  "begin { print(memcmp(comm, \"sonde\", 5)) }", 0, check_memcmp, lower_memcmp },
	{ "str_concat", "(str|ptr a, str|ptr b) string", "the two strings, one after the other",
	  "begin { print(str_concat(comm, \"!\")) }", 0, check_str_concat, lower_str_concat },
	{ "strerror", "(int errno) string[64]",
	  "the text of an error number; system calls return it negated: strerror(-args.ret)",
	  "tracepoint:syscalls:sys_exit_openat /args.ret < 0/ { @[strerror(-args.ret)] = count() }", 0, check_name,
	  lower_strerror },
	{ "signal_name", "(int sig) string[64]", "name of a signal", "begin { print(signal_name(9)) }", 0, check_name,
	  lower_signal_name },
	{ "syscall_name", "(int nr) string[64]", "name of a system call, by its number", "begin { print(syscall_name(59)) }", 0,
	  check_name, lower_syscall_name },
};

FN_FAMILY(fn_strings, rows);
