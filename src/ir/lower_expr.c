/* SPDX-License-Identifier: GPL-2.0-only */
/* Expressions. */
#include "ir/lower.h"

#include "image/image.h"
#include "lang/fn.h"
#include "image/uapi.h"
#include "lang/provider.h"

/* An address of unknown space is read by the helper that guesses. */
static enum addr_space space_of(const struct type *ptr)
{
	return ptr->kind != T_POINTER || ptr->as == AS_NONE ? AS_ANY : ptr->as;
}

/* Code from here on belongs to e; returns the argument for leave(). */
static struct span enter(struct lower *l, const struct expr *e)
{
	struct span outer = l->at;

	l->at = e->span;
	return outer;
}

static void leave(struct lower *l, struct span outer)
{
	l->at = outer;
}

/* e's value, which is at m. */
static vreg load_value(struct lower *l, const struct expr *e, struct mem m)
{
	struct span outer = enter(l, e);
	vreg v = lower_load(l, m, e->type);

	leave(l, outer);
	return v;
}

struct opnd lower_scalar(struct lower *l, struct expr *e)
{
	struct val v = lower_expr(l, e, NULL);

	if (v.kind == VAL_MEM)
		return opnd_reg(load_value(l, e, v.mem));
	BUG_ON(v.kind != VAL_REG);
	return v.r;
}

enum addr_space lower_space(const struct lower *l, const struct expr *e)
{
	enum addr_space as = e->type->kind == T_POINTER || e->type->kind == T_ARRAY ? e->type->as : l->unit->provider->as;

	return as == AS_NONE ? AS_ANY : as;
}

vreg lower_reg(struct lower *l, struct expr *e)
{
	return lower_force(l, lower_scalar(l, e));
}

/* A pointer, in a register; *btf: the type that it is known to point to, or NULL. */
static vreg lower_ptr(struct lower *l, struct expr *e, const struct type **btf)
{
	struct val v = lower_known_ptr(l, e, NULL);

	*btf = v.btf;
	return v.kind == VAL_MEM ? load_value(l, e, v.mem) : lower_force(l, v.r);
}

struct mem lower_mem(struct lower *l, struct expr *e)
{
	struct mem dst;
	struct val v = lower_expr(l, e, NULL);
	struct span outer;

	if (v.kind == VAL_MEM && v.mem.as == AS_NONE)
		return v.mem;
	dst = lower_temp(l, MAX(1, e->type->size), 8);
	outer = enter(l, e);
	if (v.kind == VAL_MEM)
		lower_read(l, v.mem, e->type->size, dst);
	else
		ir_store(&l->b, dst.base, dst.off, e->type->size, v.r);
	leave(l, outer);
	return dst;
}

static void store_scalar(struct lower *l, struct mem dst, u32 size, struct opnd v)
{
	if (dst.off < INT16_MIN || dst.off + (s64)size > INT16_MAX)
		dst = (struct mem){ .base = lower_addr(l, dst) };
	if (v.is_imm && v.imm != (s32)v.imm)
		v = opnd_reg(ir_imm(&l->b, v.imm));
	ir_store(&l->b, dst.base, dst.off, size, v);
}

/* The text of a literal, truncated or padded with zeros to `size` bytes. */
static void store_literal(struct lower *l, const struct expr *e, u32 size, struct mem dst)
{
	u32 used = MIN(size, e->str.len + 1), rounded = MIN(size, ALIGN_UP(used, 8));
	u8 *text = arena_alloc(l->c->arena, ALIGN_UP(size, 8) + 8);

	memcpy(text, e->str.s, MIN(used, e->str.len));
	if (rounded <= 64) {
		for (u32 at = 0; at < rounded;) {
			u32 w = 8;
			u64 v = 0;

			while (w > rounded - at || (dst.off + at) % w)
				w /= 2;
			memcpy(&v, text + at, w);
			/* A store of eight bytes takes a constant of 32 bits; two of four are shorter than loading it first. */
			if (w == 8 && (s64)v != (s32)v)
				w = 4;
			v = 0;
			memcpy(&v, text + at, w);
			store_scalar(l, (struct mem){ dst.base, dst.off + at }, w, opnd_imm(w == 4 ? (s32)v : (s64)v));
			at += w;
		}
	} else {
		vreg from = ir_mapval(&l->b, MAP_IDX_CONST, lower_const(l, text, rounded, 8));

		lower_read(l, (struct mem){ .base = from }, rounded, dst);
	}
	if (size > rounded)
		lower_zero(l, (struct mem){ dst.base, dst.off + rounded }, size - rounded);
}

/* Copies a string of `size` bytes up to its NUL, to zeroed memory: bytes after the NUL are not copied. A string without a NUL,
 * which was truncated, is copied whole. */
static void copy_text(struct lower *l, struct mem src, u32 size, struct mem dst)
{
	struct ir_block *full = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	u32 helper = src.as == AS_USER ? HELPER_probe_read_user_str :
		src.as == AS_ANY       ? HELPER_probe_read_str :
					 HELPER_probe_read_kernel_str;
	vreg len = ir_call_of(&l->b, helper, opnd_reg(lower_addr(l, dst)), opnd_imm(size), opnd_reg(lower_addr(l, src)));

	if (src.as != AS_NONE)
		lower_check_read(l, helper, len);
	ir_br(&l->b, C_EQ, len, opnd_imm(size), full, done);
	ir_place(&l->b, full);
	src.off += size - 1;
	dst.off += size - 1;
	lower_copy(l, src, dst, 1);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

/* The bytes after the NUL are undefined: str() leaves the old contents there, and they are copied along from variable to map to
 * tuple; in an array of a traced program they can be anything, too. The kernel pads comm with zeros. */
static bool has_dirty_tail(const struct expr *e)
{
	switch (e->kind) {
	case E_CALL:
		return e->type != &type_comm;
	case E_VAR:
	case E_MAP:
	case E_CAST:
	case E_BLOCK:
	case E_FIELD:
	case E_INDEX:
	case E_UNARY:
		return true;
	case E_INT:
	case E_BOOL:
	case E_STR:
	case E_PARAM:
	case E_CONST:
	case E_BINARY:
	case E_TERNARY:
	case E_TUPLE:
	case E_INCDEC:
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		break;
	}
	return false;
}

static void store_string(struct lower *l, struct expr *e, const struct type *t, struct mem dst)
{
	bool must_clean = l->zero_tails && has_dirty_tail(e);
	u32 size = MIN(e->type->size, t->size);
	struct val v;

	if (e->kind == E_STR) {
		store_literal(l, e, t->size, dst);
		return;
	}
	if (e->type->kind == T_SITE) {
		lower_site_text(l, lower_scalar(l, e), e->type, dst, t);
		return;
	}
	/* The rest of a longer destination is cleared; bytes after the NUL matter only in keys. */
	if (must_clean)
		lower_zero(l, dst, t->size);
	else if (t->size > size)
		lower_zero(l, (struct mem){ dst.base, dst.off + size }, t->size - size);
	/* A call writes nothing after the NUL; a value that is copied from elsewhere must be copied as text. A value that may be
	 * longer than the destination is built elsewhere, and truncated. */
	v = lower_expr(l, e, (must_clean && e->kind != E_CALL) || e->type->size > t->size ? NULL : &dst);
	BUG_ON(v.kind != VAL_MEM);
	if (v.mem.base == dst.base && v.mem.off == dst.off && v.mem.as == AS_NONE)
		return;
	if (must_clean)
		copy_text(l, v.mem, size, dst);
	else
		lower_copy(l, v.mem, dst, size);
}

/* Tuples of one shape differ in the size of their members. */
void lower_convert(struct lower *l, struct mem src, const struct type *from, struct mem dst, const struct type *to)
{
	u32 at = 0, size = MIN(from->size, to->size);

	if (type_is_scalar(to) && from->size != to->size) {
		store_scalar(l, dst, to->size, opnd_reg(lower_load(l, src, from)));
		return;
	}
	if (to->kind == T_STRING && from->kind == T_SITE) {
		lower_site_text(l, opnd_reg(lower_load(l, src, from)), from, dst, to);
		return;
	}
	if (to->kind == T_STRING && l->zero_tails) {
		lower_zero(l, dst, to->size);
		copy_text(l, src, size, dst);
		return;
	}
	if (to->kind != T_TUPLE || (type_equal(from, to) && !l->zero_tails)) {
		lower_copy(l, src, dst, size);
		if (to->size > size)
			lower_zero(l, (struct mem){ dst.base, dst.off + size }, to->size - size);
		return;
	}
	for (u32 i = 0; i < to->member_cnt; i++) {
		const struct member *f = type_tuple_member(from, to, i), *m = &to->members[i];

		if (m->off > at)
			lower_zero(l, (struct mem){ dst.base, dst.off + at }, m->off - at);
		lower_convert(l, (struct mem){ src.base, src.off + f->off }, f->type, (struct mem){ dst.base, dst.off + m->off },
			      m->type);
		at = m->off + m->type->size;
	}
	if (to->size > at)
		lower_zero(l, (struct mem){ dst.base, dst.off + at }, to->size - at);
}

static bool is_pinned(const struct lower *l, const struct expr *e)
{
	vec_for(p, &l->pins)
		if (p->e == e)
			return true;
	return false;
}

static bool has_order_of(const struct expr *e, const struct type *t)
{
	for (u32 i = 0; e->tuple.names && i < e->tuple.cnt; i++)
		if (!str_eq(e->tuple.names[i], t->members[i].name))
			return false;
	return true;
}

/* Tuples: the members, and zeroes between them. */
static void store_tuple(struct lower *l, struct expr *e, const struct type *t, struct mem dst)
{
	u32 at = 0;

	/* A record whose fields stand in another order is evaluated in its own. */
	if (e->kind != E_TUPLE || is_pinned(l, e) || !has_order_of(e, t)) {
		lower_convert(l, lower_mem(l, e), e->type, dst, t);
		return;
	}
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i];

		if (m->off > at)
			lower_zero(l, (struct mem){ dst.base, dst.off + at }, m->off - at);
		lower_store(l, e->tuple.elems[i], m->type, (struct mem){ dst.base, dst.off + m->off });
		at = m->off + m->type->size;
	}
	if (t->size > at)
		lower_zero(l, (struct mem){ dst.base, dst.off + at }, t->size - at);
}

static void store(struct lower *l, struct expr *e, const struct type *t, struct mem dst)
{
	struct val v;

	if (type_is_scalar(t)) {
		struct opnd o = lower_scalar(l, e);

		/* !!x: whatever is not zero is true */
		if (t->kind == T_BOOL && e->type->kind != T_BOOL)
			o = opnd_reg(lower_to_bool(l, o));
		if (o.is_imm && t->size < 8) /* as the store will cut it */
			o.imm = t->size == 4 ? (s32)o.imm : t->size == 2 ? (s16)o.imm : (s8)o.imm;
		store_scalar(l, dst, t->size, o);
		return;
	}
	if (t->kind == T_STRING) {
		store_string(l, e, t, dst);
		return;
	}
	if (t->kind == T_TUPLE) {
		store_tuple(l, e, t, dst);
		return;
	}
	if (t->kind == T_BUFFER && l->zero_tails)
		lower_zero(l, dst, t->size);
	/* it writes no more in place than its own type has; all frames of a stack are written, used or not */
	if ((type_is_stack(t) || (t->kind == T_BUFFER && !l->zero_tails)) && t->size > e->type->size)
		lower_zero(l, (struct mem){ dst.base, dst.off + e->type->size }, t->size - e->type->size);
	v = lower_expr(l, e, &dst);
	if (v.kind == VAL_NONE || (v.kind == VAL_MEM && v.mem.base == dst.base && v.mem.off == dst.off && v.mem.as == AS_NONE))
		return;
	BUG_ON(v.kind != VAL_MEM);
	lower_copy(l, v.mem, dst, MIN(t->size, e->type->size));
	if (t->size > e->type->size)
		lower_zero(l, (struct mem){ dst.base, dst.off + e->type->size }, t->size - e->type->size);
}

void lower_store(struct lower *l, struct expr *e, const struct type *t, struct mem dst)
{
	struct span outer = enter(l, e);

	store(l, e, t, dst);
	leave(l, outer);
}

struct reader {
	const void *of; /* struct var or struct map */
	bool found;
};

static void find_reader(struct expr *e, void *arg)
{
	struct reader *r = arg;

	r->found |= (e->kind == E_VAR && e->var.var == r->of) || (e->kind == E_MAP && e->map.map == r->of);
}

void lower_store_over(struct lower *l, struct expr *e, const void *owner, const struct type *t, struct mem dst)
{
	struct reader r = { .of = owner };
	struct mem tmp;

	if (!type_is_scalar(t))
		expr_walk(e, find_reader, &r);
	if (!r.found) {
		lower_store(l, e, t, dst);
		return;
	}
	tmp = lower_temp(l, MAX(1, t->size), 8);
	lower_store(l, e, t, tmp);
	lower_copy(l, tmp, dst, t->size);
}

/* Conditions */

vreg lower_to_bool(struct lower *l, struct opnd v)
{
	struct ir_block *one = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f), r = lower_force(l, v);

	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_NE, r, opnd_imm(0), one, done);
	ir_place(&l->b, one);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return d;
}

static enum ir_cond compare_cond(enum binary_op op, bool is_signed)
{
	switch (op) {
	case BIN_EQ:
		return C_EQ;
	case BIN_NE:
		return C_NE;
	case BIN_LT:
		return is_signed ? C_SLT : C_ULT;
	case BIN_LE:
		return is_signed ? C_SLE : C_ULE;
	case BIN_GT:
		return is_signed ? C_SGT : C_UGT;
	case BIN_GE:
		return is_signed ? C_SGE : C_UGE;
	case BIN_ADD:
	case BIN_SUB:
	case BIN_MUL:
	case BIN_DIV:
	case BIN_MOD:
	case BIN_AND:
	case BIN_OR:
	case BIN_XOR:
	case BIN_SHL:
	case BIN_SHR:
	case BIN_LAND:
	case BIN_LOR:
	case BIN_CNT:
		break;
	}
	BUG("%s does not compare", binary_op_text[op]);
}

static enum ir_cond swap_cond(enum ir_cond c)
{
	switch (c) {
	case C_EQ:
	case C_NE:
	case C_SET:
		return c;
	case C_ULT:
		return C_UGT;
	case C_ULE:
		return C_UGE;
	case C_UGT:
		return C_ULT;
	case C_UGE:
		return C_ULE;
	case C_SLT:
		return C_SGT;
	case C_SLE:
		return C_SGE;
	case C_SGT:
		return C_SLT;
	case C_SGE:
		return C_SLE;
	}
	return c;
}

/* A site compared with a text: the numbers of the sites with that name are known at compile time. */
static void branch_site(struct lower *l, struct expr *e, struct ir_block *yes, struct ir_block *no)
{
	struct expr *site = e->binary.a->type->kind == T_SITE ? e->binary.a : e->binary.b;
	struct expr *text = site == e->binary.a ? e->binary.b : e->binary.a;
	struct opnd r = lower_scalar(l, site);
	/* A variable or a map may hold one of any probe. */
	bool is_here = site->kind == E_CALL;
	u32 last = UINT32_MAX, first = is_here ? l->unit->site_first : 0, cnt = is_here ? l->unit->site_cnt : l->c->sites.cnt;

	for (u32 id = first; id < first + cnt; id++) {
		struct ir_block *next;

		if (!str_eq(site_text(&l->c->sites.at[id], site->type->show), text->str.s) ||
		    site_value(l->c, id, site->type->show) == last)
			continue;
		last = site_value(l->c, id, site->type->show);
		next = ir_block_new(l->b.f);
		ir_br(&l->b, C_EQ, lower_force(l, r), opnd_imm(last), yes, next);
		ir_place(&l->b, next);
	}
	ir_jmp(&l->b, no);
}

static void branch_compare(struct lower *l, struct expr *e, struct ir_block *yes, struct ir_block *no)
{
	struct expr *a = e->binary.a, *b = e->binary.b;
	enum ir_cond cond;
	struct opnd x, y;

	if ((a->type->kind == T_SITE && b->kind == E_STR) || (b->type->kind == T_SITE && a->kind == E_STR)) {
		if (e->binary.op == BIN_NE)
			branch_site(l, e, no, yes);
		else
			branch_site(l, e, yes, no);
		return;
	}
	if (type_compares_as_key(a->type)) {
		/* the same layout with zeroed padding, as in keys: equal values are equal bytes */
		struct mem m[2];
		bool outer = l->zero_tails;

		l->zero_tails = true;
		for (u32 i = 0; i < 2; i++) {
			m[i] = lower_temp(l, MAX(1, e->binary.common->size), 8);
			lower_store(l, i ? b : a, e->binary.common, m[i]);
		}
		l->zero_tails = outer;
		lower_mem_branch(l, m[0], m[1], e->binary.common->size, false, e->binary.op == BIN_EQ ? yes : no,
				 e->binary.op == BIN_EQ ? no : yes);
		return;
	}
	if (a->type->kind == T_STRING || a->type->kind == T_ARRAY) {
		lower_string_branch(l, a, b, MIN(a->type->size, b->type->size), a->type->kind == T_STRING,
				    e->binary.op == BIN_EQ ? yes : no, e->binary.op == BIN_EQ ? no : yes);
		return;
	}
	cond = compare_cond(e->binary.op, e->binary.common && e->binary.common->is_signed);
	x = lower_scalar(l, a);
	y = lower_scalar(l, b);
	if (x.is_imm && !y.is_imm) {
		struct opnd swap = x;

		x = y;
		y = swap;
		cond = swap_cond(cond);
	}
	if (y.is_imm && y.imm != (s32)y.imm)
		y = opnd_reg(ir_imm(&l->b, y.imm));
	ir_br(&l->b, cond, lower_force(l, x), y, yes, no);
}

/* Goes to yes or no; the current block is closed afterwards. */
void lower_branch(struct lower *l, struct expr *e, struct ir_block *yes, struct ir_block *no)
{
	if (e->kind == E_UNARY && e->unary.op == UN_NOT) {
		lower_branch(l, e->unary.a, no, yes);
		return;
	}
	if (e->kind == E_BINARY && (e->binary.op == BIN_LAND || e->binary.op == BIN_LOR)) {
		struct ir_block *mid = ir_block_new(l->b.f);
		u32 mark;

		if (e->binary.op == BIN_LAND)
			lower_branch(l, e->binary.a, mid, no);
		else
			lower_branch(l, e->binary.a, yes, mid);
		/* Values computed by the right side are not available on every path to yes and no. */
		mark = lower_mark(l);
		ir_place(&l->b, mid);
		lower_branch(l, e->binary.b, yes, no);
		lower_forget(l, mark);
		return;
	}
	if (e->kind == E_BINARY && binary_is_compare(e->binary.op)) {
		branch_compare(l, e, yes, no);
		return;
	}
	ir_br(&l->b, C_NE, lower_reg(l, e), opnd_imm(0), yes, no);
}

/* A condition as a value, 0 or 1. */
static struct val cond_value(struct lower *l, struct expr *e)
{
	struct ir_block *yes = ir_block_new(l->b.f), *no = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f);
	u32 mark;

	lower_branch(l, e, yes, no);
	mark = lower_mark(l);
	ir_place(&l->b, yes);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, no);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return val_reg(d);
}

static struct val lower_ternary(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct ir_block *yes = ir_block_new(l->b.f), *no = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	bool is_scalar = type_is_scalar(e->type), has_value = e->type->kind != T_NONE;
	struct mem m = {};
	vreg d = 0;
	u32 mark;

	if (!has_value)
		;
	else if (is_scalar)
		d = ir_vreg(l->b.f);
	else
		m = dst ? *dst : lower_temp(l, e->type->size, 8);
	if (e->ternary.yes) {
		lower_branch(l, e->ternary.cond, yes, no);
	} else { /* a condition is a scalar */
		ir_mov_to(&l->b, d, lower_scalar(l, e->ternary.cond));
		ir_br(&l->b, C_NE, d, opnd_imm(0), done, no);
	}
	mark = lower_mark(l);
	for (u32 i = e->ternary.yes ? 0 : 1; i < 2; i++) {
		struct expr *branch = i ? e->ternary.no : e->ternary.yes;

		ir_place(&l->b, i ? no : yes);
		if (!has_value)
			lower_expr(l, branch, NULL);
		else if (is_scalar)
			ir_mov_to(&l->b, d, lower_scalar(l, branch));
		else
			lower_store(l, branch, e->type, m);
		lower_forget(l, mark);
		ir_jmp(&l->b, done);
	}
	ir_place(&l->b, done);
	return !has_value ? val_none() : is_scalar ? val_reg(d) : val_mem(m);
}

static struct val lower_binary(struct lower *l, struct expr *e)
{
	struct expr *a = e->binary.a, *b = e->binary.b;
	struct opnd x, y;

	if (binary_is_compare(e->binary.op) || e->binary.op == BIN_LAND || e->binary.op == BIN_LOR)
		return cond_value(l, e);
	x = lower_scalar(l, a);
	y = lower_scalar(l, b);
	/* Pointers step by the size of what they point to. */
	if (a->type->kind == T_POINTER && a->type->elem->size > 1)
		y = y.is_imm ? opnd_imm(y.imm * a->type->elem->size) :
			       opnd_reg(ir_alu(&l->b, IR_MUL, y.r, opnd_imm(a->type->elem->size)));
	else if (b->type->kind == T_POINTER && b->type->elem->size > 1)
		x = x.is_imm ? opnd_imm(x.imm * b->type->elem->size) :
			       opnd_reg(ir_alu(&l->b, IR_MUL, x.r, opnd_imm(b->type->elem->size)));
	return val_reg(lower_arith(l, e->binary.op, x, y, e->span));
}

static vreg lower_address(struct lower *l, struct expr *a)
{
	u32 slot = ir_slot_new_at(l->b.f, 8, 8, SLOT_IN_SCRATCH);
	struct map *m = a->kind == E_MAP ? a->map.map : NULL;
	vreg p, at;

	if (!m)
		p = lower_var_mem(l, a->var.var).base;
	else if (a->map.key)
		p = lower_map_find(l, a);
	else
		p = lower_map_whole(l, m);
	/* In and out of memory of which the verifier knows nothing, it becomes a number that everything can be done with. */
	at = ir_slot_addr(&l->b, slot, 0);
	ir_store(&l->b, at, 0, 8, opnd_reg(p));
	return ir_load(&l->b, at, 0, 8);
}

static struct val lower_unary(struct lower *l, struct expr *e)
{
	switch (e->unary.op) {
	case UN_NEG:
		return val_reg(ir_neg(&l->b, lower_reg(l, e->unary.a)));
	case UN_BITNOT:
		return val_reg(ir_alu(&l->b, IR_XOR, lower_reg(l, e->unary.a), opnd_imm(-1)));
	case UN_NOT:
		return cond_value(l, e);
	case UN_DEREF: {
		struct mem m = { .as = space_of(e->unary.a->type) };

		m.base = lower_ptr(l, e->unary.a, &m.btf);

		return type_is_scalar(e->type) ? val_reg(lower_load(l, m, e->type)) : val_mem(m);
	}
	case UN_ADDR:
		return val_reg(lower_address(l, e->unary.a));
	case UN_COMPTIME:
		break;
	}
	BUG("unary operator %d", e->unary.op);
}

static struct val lower_cast(struct lower *l, struct expr *e)
{
	struct expr *a = e->cast.a;
	const struct type *to = e->type, *from = a->type;
	struct opnd v;

	if (to->kind == T_STRING || (to->kind == T_ARRAY && from->kind == T_STRING)) {
		struct mem m = lower_temp(l, to->size, 8);
		bool outer = l->zero_tails;

		/* as bytes: those after the NUL count, too */
		l->zero_tails |= to->kind == T_ARRAY;
		lower_store(l, a, to->kind == T_ARRAY ? from : to, m);
		l->zero_tails = outer;
		return val_mem(m);
	}
	if (e->cast.is_address) {
		struct val place = lower_expr(l, a, NULL);

		BUG_ON(place.kind != VAL_MEM || place.mem.as == AS_NONE);
		return val_reg(lower_addr(l, place.mem));
	}
	if (from->kind == T_ARRAY && to->kind != T_ARRAY) {
		struct mem m = lower_temp(l, 8, 8);

		ir_store(&l->b, m.base, m.off, 8, opnd_imm(0));
		lower_store(l, a, from, m);
		if (to->kind == T_BOOL)
			return val_reg(lower_to_bool(l, opnd_reg(lower_load(l, m, &type_u64))));
		return val_reg(lower_load(l, m, to));
	}
	if (from->kind == T_STRING && to->kind == T_BOOL)
		return val_reg(lower_to_bool(l, opnd_reg(lower_load(l, lower_mem(l, a), &type_u8))));
	if (!type_is_scalar(from)) /* to its own type */
		return lower_expr(l, a, NULL);
	v = lower_scalar(l, a);
	if (to->kind == T_ARRAY) {
		struct mem m = lower_temp(l, 8, 8);

		ir_store(&l->b, m.base, m.off, 8, v.is_imm && v.imm != (s32)v.imm ? opnd_reg(ir_imm(&l->b, v.imm)) : v);
		return val_mem(m);
	}
	if (to->kind == T_BOOL && from->kind != T_BOOL)
		return val_reg(lower_to_bool(l, v));
	/* Widening is done already: registers hold values extended by their own type. */
	if (type_is_integral(to) && to->size < 8 && !(from->size <= to->size && from->is_signed == to->is_signed)) {
		if (v.is_imm) {
			u32 shift = 64 - 8 * to->size;
			u64 cut = (u64)v.imm << shift;

			return val_imm(to->is_signed ? (s64)cut >> shift : (s64)(cut >> shift));
		}
		return val_reg(ir_ext(&l->b, to->is_signed ? IR_SEXT : IR_ZEXT, v.r, to->size));
	}
	return (struct val){ VAL_REG, .r = v };
}

/* A field of the context. The memory behind the pointer is not what its type says (the kernel translates loads), so it is loaded
 * directly; for perf events in whole words only. */
static vreg load_ctx(struct lower *l, u32 off, const struct type *t)
{
	vreg v = ir_load(&l->b, l->ctx, off & ~7u, 8);

	if (off % 8)
		v = ir_alu(&l->b, IR_SHR, v, opnd_imm(off % 8 * 8));
	return t->size == 8 ? v : ir_ext(&l->b, type_is_integral(t) && t->is_signed ? IR_SEXT : IR_ZEXT, v, t->size);
}

static struct val member_value(struct lower *l, struct mem m, const struct member *member)
{
	if (m.base == l->ctx && m.as != AS_NONE && l->unit->provider->flags & PROV_CTX && type_is_scalar(member->type) &&
	    !member->bit_sz && m.off % 8 + member->type->size <= 8)
		return val_reg(load_ctx(l, m.off, member->type));
	if (!member->bit_sz && lower_can_follow(m, member->type))
		return lower_follow(l, m, member->type);
	if (member->bit_sz)
		return val_reg(lower_load_bits(l, m, member->type, member->bit_off, member->bit_sz));
	if (type_is_scalar(member->type))
		return val_reg(lower_load(l, m, member->type));
	return val_mem(m);
}

static struct val lower_field(struct lower *l, struct expr *e)
{
	struct expr *base = e->field.base;
	struct mem m;

	if (base->kind == E_CALL && base->call.fn->flags & FN_CTX && l->unit->provider->lower_ctx_member)
		return l->unit->provider->lower_ctx_member(l, e->field.member, e->field.off);
	if (base->kind == E_CALL && base->call.fn->flags & FN_ARGS)
		return l->unit->provider->lower_arg_member(l, e->field.member, e->field.off);
	if (e->field.derefs) {
		const struct type *t = base->type, *btf;
		vreg p = lower_ptr(l, base, &btf);

		/* every pointer but the last is followed by a read of its own */
		for (u32 i = 1; i < e->field.derefs; i++) {
			p = lower_load(l, (struct mem){ .base = p, .as = space_of(t) }, t->elem);
			t = t->elem;
		}
		m = (struct mem){ .base = p, .off = e->field.off, .as = space_of(t), .btf = btf };
		if (p != l->ctx && t->elem->kind == T_STRUCT && str_eq(t->elem->name, "bpf_perf_event_data")) {
			diag_error(l->c->diag, e->span, E_NOT_ALLOWED_HERE,
				   "the context of this probe can only be read through ctx itself");
			diag_hint(l->c->diag, "write ctx.regs.ip, not $c = ctx; $c.regs.ip");
		}
	} else {
		struct val v = lower_known_ptr(l, base, NULL);

		BUG_ON(v.kind != VAL_MEM);
		m = v.mem;
		m.off += e->field.off;
	}
	return member_value(l, m, e->field.member);
}

/* Element idx of an array in memory of ours; zero if there is no such element. */
static struct val index_own(struct lower *l, struct expr *e, struct mem m, vreg idx, u32 cnt)
{
	struct ir_block *in = ir_block_new(l->b.f), *out = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	bool is_scalar = type_is_scalar(e->type);
	struct mem copy = {};
	u32 mark = lower_mark(l), place = (u32)m.off | e->type->size | 8, align = place & -place;
	vreg d = 0, at;

	if (is_scalar)
		d = ir_vreg(l->b.f);
	if (!is_scalar || align < e->type->size)
		copy = lower_temp(l, e->type->size, 8);
	ir_br(&l->b, C_ULT, idx, opnd_imm(cnt), in, out);
	ir_place(&l->b, in);
	at = ir_alu(&l->b, IR_ADD, lower_addr(l, m), opnd_reg(ir_alu(&l->b, IR_MUL, idx, opnd_imm(e->type->size))));
	if (is_scalar && align >= e->type->size) {
		ir_mov_to(&l->b, d, opnd_reg(lower_load(l, (struct mem){ .base = at }, e->type)));
	} else {
		lower_copy_by(l, (struct mem){ .base = at }, copy, e->type->size, align);
		if (is_scalar)
			ir_mov_to(&l->b, d, opnd_reg(lower_load(l, copy, e->type)));
	}
	ir_jmp(&l->b, done);
	ir_place(&l->b, out);
	lower_runtime_error(l, e->span, "Array access out of bounds: 0 is being used as the result.");
	lower_forget(l, mark);
	if (is_scalar)
		ir_mov_to(&l->b, d, opnd_imm(0));
	else
		lower_zero(l, copy, e->type->size);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return is_scalar ? val_reg(d) : val_mem(copy);
}

/* Whether an index is known to be below cnt. */
static bool is_below(const struct expr *i, u32 cnt)
{
	const struct expr *b = i->kind == E_BINARY ? i->binary.b : NULL;
	const struct var *v = i->kind == E_VAR ? i->var.var : NULL;

	if (b && b->kind == E_INT && i->binary.op == BIN_AND)
		return b->num.value < cnt;
	if (b && b->kind == E_INT && i->binary.op == BIN_MOD)
		return b->num.value && b->num.value <= cnt && !i->binary.a->type->is_signed;
	if (v && v->range && v->assign_cnt == 1 && !v->needs_init)
		return v->range->for_.from->kind == E_INT && v->range->for_.to->kind == E_INT &&
			v->range->for_.from->num.value < cnt && v->range->for_.to->num.value <= cnt;
	return i->type->kind == T_INT && !i->type->is_signed && i->type->size == 1 && cnt > UINT8_MAX;
}

/* Element idx of an array in memory of others. What follows the array there is something else: the value is zero then. An element
 * that is read member by member gets a null pointer, so that its reads fail. */
static struct val index_far(struct lower *l, struct expr *e, struct mem m, vreg idx, u32 cnt)
{
	struct ir_block *in = ir_block_new(l->b.f), *out = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg first = lower_addr(l, m), d = ir_vreg(l->b.f), at;
	u32 mark = lower_mark(l);

	ir_br(&l->b, C_ULT, idx, opnd_imm(cnt), in, out);
	ir_place(&l->b, in);
	at = ir_alu(&l->b, IR_ADD, first, opnd_reg(ir_alu(&l->b, IR_MUL, idx, opnd_imm(e->type->size))));
	if (type_is_scalar(e->type))
		at = lower_load(l, (struct mem){ .base = at, .as = m.as }, e->type);
	ir_mov_to(&l->b, d, opnd_reg(at));
	ir_jmp(&l->b, done);
	lower_forget(l, mark);
	ir_place(&l->b, out);
	lower_runtime_error(l, e->span, "Array access out of bounds: 0 is being used as the result.");
	lower_forget(l, mark);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return type_is_scalar(e->type) ? val_reg(d) : val_mem((struct mem){ .base = d, .as = m.as });
}

static struct val lower_index(struct lower *l, struct expr *e)
{
	struct expr *base = e->index.base;
	const struct type *t = base->type;
	u32 cnt = t->kind == T_ARRAY ? t->cnt : t->kind == T_STRING ? t->size : 0;
	struct opnd i;
	struct mem m;

	if (t->kind == T_POINTER) {
		m = (struct mem){ .base = lower_reg(l, base), .as = space_of(t) };
	} else {
		struct val v = lower_known_ptr(l, base, NULL);

		BUG_ON(v.kind != VAL_MEM);
		m = v.mem;
	}
	i = lower_scalar(l, e->index.index);
	if (i.is_imm) {
		m.off += i.imm * e->type->size;
	} else {
		vreg idx = i.r;

		/* The context can be read at constant offsets only: the array is copied first. */
		if (m.base == lower_ctx(l)) {
			struct mem copy = lower_temp(l, t->size, 8);

			ir_call_of(&l->b, HELPER_probe_read_kernel, opnd_reg(lower_addr(l, copy)), opnd_imm(t->size),
				   opnd_reg(lower_addr(l, m)));
			m = copy;
		}
		/* An access to our own memory must be provably in bounds: past the end it is a warning, and zero. */
		if (m.as == AS_NONE)
			return index_own(l, e, m, idx, cnt);
		/* One element stands for any number of them in old C. */
		if (cnt > 1 && !is_below(e->index.index, cnt))
			return index_far(l, e, m, idx, cnt);
		m = (struct mem){ .base = lower_addr(l, m), .as = m.as };
		m.base = ir_alu(&l->b, IR_ADD, m.base, opnd_reg(ir_alu(&l->b, IR_MUL, idx, opnd_imm(e->type->size))));
	}
	if (lower_can_follow(m, e->type))
		return lower_follow(l, m, e->type);
	return type_is_scalar(e->type) ? val_reg(lower_load(l, m, e->type)) : val_mem(m);
}

static struct val lower_incdec(struct lower *l, struct expr *e)
{
	struct expr *t = e->incdec.target;
	s64 step = e->type->kind == T_POINTER ? MAX(1, e->type->elem->size) : 1;
	struct var *v;
	vreg old, new;

	if (e->incdec.is_dec)
		step = -step;
	if (t->kind == E_MAP) {
		old = lower_map_add(l, t, opnd_imm(step), true);
		return val_reg(e->incdec.is_post ? old : ir_alu(&l->b, IR_ADD, old, opnd_imm(step)));
	}
	v = t->var.var;
	old = lower_var_get(l, v);
	new = ir_alu(&l->b, IR_ADD, old, opnd_imm(step));
	new = lower_var_cut(l, v, new);
	lower_var_set(l, v, opnd_reg(new));
	return val_reg(e->incdec.is_post ? old : new);
}

static struct val lower_var(struct lower *l, struct expr *e)
{
	struct var *v = e->var.var;

	BUG_ON(lower_var_is_new(l, v));
	if (type_is_scalar(v->type))
		return (struct val){ VAL_REG, .r = opnd_reg(lower_var_get(l, v)), .btf = v->btf };
	return val_mem(lower_var_mem(l, v));
}

static struct val lower_literal(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 8);

	store_literal(l, e, e->type->size, m);
	return val_mem(m);
}

static struct val lower_tuple(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct mem m = dst ? *dst : lower_temp(l, MAX(1, e->type->size), 8);

	store_tuple(l, e, e->type, m);
	return val_mem(m);
}

static bool expr_is_constant(const struct expr *e)
{
	return e->kind == E_INT || e->kind == E_BOOL || e->kind == E_CONST || e->kind == E_STR;
}

void lower_pin(struct lower *l, struct expr *e)
{
	struct val v;

	if (expr_is_constant(e))
		return;
	if (type_is_scalar(e->type))
		v = (struct val){ VAL_REG, .r = lower_scalar(l, e) };
	else
		v = val_mem(lower_mem(l, e));
	avec_push(l->c->arena, &l->pins, (struct pin){ e, v });
}

void lower_pin_to(struct lower *l, struct expr *e, struct val v)
{
	avec_push(l->c->arena, &l->pins, (struct pin){ e, v });
}

void lower_unpin(struct lower *l, struct expr *e)
{
	u32 kept = 0;

	for (u32 i = 0; i < l->pins.cnt; i++)
		if (l->pins.at[i].e != e)
			l->pins.at[kept++] = l->pins.at[i];
	l->pins.cnt = kept;
}

struct val lower_expr(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct val v = lower_known_ptr(l, e, dst);

	if (v.kind == VAL_REG && v.btf)
		v = val_reg(ir_plain(&l->b, v.r.r));
	return v;
}

static struct val lower_node(struct lower *l, struct expr *e, const struct mem *dst)
{
	vec_for(p, &l->pins)
		if (p->e == e)
			return p->v;
	switch (e->kind) {
	case E_INT:
	case E_BOOL:
	case E_CONST:
		return val_imm(e->num.value);
	case E_STR:
		return lower_literal(l, e, dst);
	case E_CALL:
		return e->call.fn->lower(l, e, dst);
	case E_VAR:
		return lower_var(l, e);
	case E_MAP:
		return lower_map_read(l, e, dst);
	case E_UNARY:
		return lower_unary(l, e);
	case E_BINARY:
		return lower_binary(l, e);
	case E_TERNARY:
		return lower_ternary(l, e, dst);
	case E_CAST:
		return lower_cast(l, e);
	case E_FIELD:
		return lower_field(l, e);
	case E_INDEX:
		return lower_index(l, e);
	case E_TUPLE:
		return lower_tuple(l, e, dst);
	case E_INCDEC:
		return lower_incdec(l, e);
	case E_BLOCK: {
		struct span at = l->b.span;
		struct mem tail = l->tail;
		bool zero_tails = l->zero_tails;

		/* These requests concern the value, not the statements. */
		l->tail = (struct mem){};
		l->zero_tails = false;
		if (e->block.is_fn)
			lower_fn_body(l, e->block.body);
		else
			lower_block(l, e->block.body);
		l->tail = tail;
		l->zero_tails = zero_tails;
		l->b.span = at;
		return e->block.value ? lower_expr(l, e->block.value, dst) : val_none();
	}
	case E_PARAM:
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		break;
	}
	BUG("expression of kind %d was not resolved", e->kind);
}

struct val lower_known_ptr(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct span outer = enter(l, e);
	struct val v = lower_node(l, e, dst);

	leave(l, outer);
	return v;
}
