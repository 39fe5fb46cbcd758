/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs, statements, and the tools that all lowering uses. */
#include "ir/lower.h"

#include "image/image.h"
#include "image/uapi.h"
#include "lang/provider.h"

/* What is known */

/* Values of the function around a loop reach the loop's body through memory: the body runs after the code emitted so far. */
static vreg bring_in(struct lower *l, const struct known *k)
{
	u32 at = k - l->known.at, slot;
	struct around *a = l->around;
	vreg r;

	while (at < a->known_first)
		a = a->up;
	slot = ir_slot_new_since(l->b.f, 8, 8, a->clock);
	ir_store(&a->b, ir_slot_addr(&a->b, slot, 0), 0, 8, opnd_reg(k->r));
	r = ir_load(&l->b, ir_slot_addr(&l->b, slot, 0), 0, 8);
	lower_know_number(l, k->what, k->key, r);
	return r;
}

vreg lower_known(struct lower *l, const void *what, u64 key)
{
	for (u32 i = l->known.cnt; i-- > 0;) {
		const struct known *k = &l->known.at[i];

		if (k->what != what || k->key != key)
			continue;
		if (i >= l->known_first)
			return k->r;
		if (k->is_number && l->around)
			return bring_in(l, k);
	}
	return 0;
}

void lower_know(struct lower *l, const void *what, u64 key, vreg r)
{
	avec_push(l->c->arena, &l->known, (struct known){ what, key, r });
}

bool lower_in_tail(const struct lower *l, struct mem dst)
{
	return dst.base && dst.base == l->tail.base && dst.off == l->tail.off;
}

static const char frames_known; /* only its address matters */

void lower_put_frames(struct lower *l, struct mem at, vreg cnt)
{
	ir_store(&l->b, at.base, at.off, 8, opnd_reg(cnt));
	lower_know(l, &frames_known, (u64)at.base << 32 | (u32)at.off, cnt);
}

vreg lower_frames(struct lower *l, struct mem at)
{
	vreg cnt = lower_known(l, &frames_known, (u64)at.base << 32 | (u32)at.off);

	return cnt ? cnt : ir_load(&l->b, at.base, at.off, 8);
}

void lower_know_number(struct lower *l, const void *what, u64 key, vreg r)
{
	avec_push(l->c->arena, &l->known, (struct known){ what, key, r, true });
}

u32 lower_mark(const struct lower *l)
{
	return l->known.cnt;
}

void lower_forget(struct lower *l, u32 mark)
{
	l->known.cnt = mark;
}

/* Memory */

struct mem lower_temp(struct lower *l, u32 size, u32 align)
{
	u32 slot = ir_slot_new(l->b.f, size, align);

	avec_push(l->c->arena, &l->temps, slot);
	return (struct mem){ .base = ir_slot_addr(&l->b, slot, 0) };
}

/* Temporaries from `mark` on can be reused from here on. */
static void close_temps(struct lower *l, u32 mark)
{
	struct ir_func *f = l->b.f->main;
	u32 now = f->clock++;

	for (u32 i = mark; i < l->temps.cnt; i++)
		f->slots.at[l->temps.at[i]].close = now;
	l->temps.cnt = mark;
}

vreg lower_force(struct lower *l, struct opnd o)
{
	return o.is_imm ? ir_imm(&l->b, o.imm) : o.r;
}

vreg lower_addr(struct lower *l, struct mem m)
{
	if (m.btf)
		m.base = ir_plain(&l->b, m.base);
	return m.off ? ir_alu(&l->b, IR_ADD, m.base, opnd_imm(m.off)) : m.base;
}

/* Offsets of instructions have 16 bits. */
static struct mem near(struct lower *l, struct mem m, u32 size)
{
	if (m.off < INT16_MIN || m.off + (s64)size > INT16_MAX) {
		m.base = lower_addr(l, m);
		m.off = 0;
		m.btf = NULL;
	}
	return m;
}

static void store_bytes(struct lower *l, struct mem m, u32 size, struct opnd v)
{
	m = near(l, m, size);
	if (v.is_imm && v.imm != (s32)v.imm)
		v = opnd_reg(ir_imm(&l->b, v.imm));
	ir_store(&l->b, m.base, m.off, size, v);
}

enum { UNROLL_MAX = 128 };

void lower_zero(struct lower *l, struct mem m, u32 size)
{
	u32 at = 0;

	if (size > UNROLL_MAX) {
		vreg zeroes = ir_mapval(&l->b, MAP_IDX_CONST, lower_const_zeroes(l, size));

		ir_call_of(&l->b, HELPER_probe_read_kernel, opnd_reg(lower_addr(l, m)), opnd_imm(size), opnd_reg(zeroes));
		return;
	}
	while (at < size) {
		/* as wide as the alignment and the remaining size allow; the stack requires aligned accesses */
		u32 w = 8;

		while (w > size - at || (m.off + at) % w)
			w /= 2;
		store_bytes(l, (struct mem){ m.base, m.off + at }, w, opnd_imm(0));
		at += w;
	}
}

static u32 common_align(s64 a, s64 b, u32 left, u32 w)
{

	while (w > left || a % w || b % w)
		w /= 2;
	return w;
}

void lower_copy(struct lower *l, struct mem src, struct mem dst, u32 size)
{
	lower_copy_by(l, src, dst, size, 8);
}

void lower_copy_by(struct lower *l, struct mem src, struct mem dst, u32 size, u32 align)
{
	if (size > UNROLL_MAX || src.as != AS_NONE) {
		lower_read(l, src, size, dst);
		return;
	}
	for (u32 at = 0; at < size;) {
		u32 w = common_align(src.off + at, dst.off + at, size - at, align);
		struct mem from = near(l, (struct mem){ src.base, src.off + at }, w);
		vreg v = ir_load(&l->b, from.base, from.off, w);

		store_bytes(l, (struct mem){ dst.base, dst.off + at }, w, opnd_reg(v));
		at += w;
	}
}

static u32 read_helper(enum addr_space as)
{
	switch (as) {
	case AS_NONE:
	case AS_KERNEL:
		return HELPER_probe_read_kernel;
	case AS_USER:
		return HELPER_probe_read_user;
	case AS_ANY:
		return HELPER_probe_read;
	}
	return HELPER_probe_read;
}

void lower_read(struct lower *l, struct mem src, u32 size, struct mem dst)
{
	vreg from = lower_addr(l, src), to = lower_addr(l, dst), err;

	err = ir_call_of(&l->b, read_helper(src.as), opnd_reg(to), opnd_imm(size), opnd_reg(from));
	if (src.as != AS_NONE)
		lower_check_read(l, read_helper(src.as), err);
}

static vreg extend(struct lower *l, vreg v, const struct type *t)
{
	/* Loads zero-extend; the sign extension is done here. */
	if ((t->kind == T_INT || t->kind == T_ENUM) && t->is_signed && t->size < 8)
		return ir_ext(&l->b, IR_SEXT, v, t->size);
	return v;
}

struct val val_typed_ptr(struct lower *l, vreg r, const struct type *t)
{
	bool is_known = type_is_struct_ptr(t) && t->as == AS_KERNEL && !t->is_percpu && t->elem->size;

	/* How the verifier treats pointers to other types differs between kernels. */
	return (struct val){ VAL_REG, .r = opnd_reg(is_known ? r : ir_plain(&l->b, r)), .btf = is_known ? t->elem : NULL };
}

/* The verifier looks the member up by offset and size alone: it must find the same member. */
bool lower_can_follow(struct mem src, const struct type *t)
{
	return src.btf && src.off >= 0 && src.off + (s64)t->size <= INT16_MAX && type_is_scalar(t) &&
		type_has_scalar(src.btf, src.off, t);
}

struct val lower_follow(struct lower *l, struct mem src, const struct type *t)
{
	bool may_be_null = l->unit->provider->flags & PROV_BTF_NULL;
	struct ir_block *there = NULL, *done = NULL;
	vreg d = 0, v;

	BUG_ON(!lower_can_follow(src, t));
	if (may_be_null) {
		there = ir_block_new(l->b.f);
		done = ir_block_new(l->b.f);
		d = ir_vreg(l->b.f);
		ir_mov_to(&l->b, d, opnd_imm(0));
		ir_br(&l->b, C_NE, src.base, opnd_imm(0), there, done);
		ir_place(&l->b, there);
	}
	v = extend(l, ir_load(&l->b, src.base, src.off, t->size), t);
	if (may_be_null) {
		ir_mov_to(&l->b, d, opnd_reg(v));
		ir_jmp(&l->b, done);
		ir_place(&l->b, done);
		v = d;
	}
	return t->kind == T_POINTER ? val_typed_ptr(l, v, t) : val_reg(v);
}

vreg lower_load(struct lower *l, struct mem src, const struct type *t)
{
	BUG_ON(!type_is_scalar(t));
	if (lower_can_follow(src, t)) {
		struct val v = lower_follow(l, src, t);

		return v.btf ? ir_plain(&l->b, v.r.r) : v.r.r;
	}
	if (src.as != AS_NONE) {
		struct mem tmp = lower_temp(l, 8, 8);

		lower_read(l, src, t->size, tmp);
		src = tmp;
	} else if (src.off % t->size) { /* a member of a packed struct; the stack requires aligned accesses */
		struct mem tmp = lower_temp(l, 8, 8);

		lower_copy(l, src, tmp, t->size);
		src = tmp;
	}
	src = near(l, src, t->size);
	return extend(l, ir_load(&l->b, src.base, src.off, t->size), t);
}

vreg lower_load_bits(struct lower *l, struct mem src, const struct type *t, u32 bit_off, u32 bit_sz)
{
	u32 bytes = (bit_off % 8 + bit_sz + 7) / 8;
	struct mem tmp = lower_temp(l, bytes > 8 ? 16 : 8, 8);
	vreg v;

	/* A bit-field may begin at any bit: load only its own bytes, so that no byte after the struct is read. */
	src.off += bit_off / 8;
	bit_off %= 8;
	store_bytes(l, tmp, 8, opnd_imm(0));
	if (src.as == AS_NONE)
		lower_copy(l, src, tmp, bytes);
	else
		lower_read(l, src, bytes, tmp);
	v = ir_load(&l->b, tmp.base, tmp.off, 8);
	if (bytes > 8) { /* a long one in a packed struct */
		vreg high = ir_alu(&l->b, IR_SHL, ir_load(&l->b, tmp.base, tmp.off + 8, 1), opnd_imm(64 - bit_off));

		v = ir_alu(&l->b, IR_OR, ir_alu(&l->b, IR_SHR, v, opnd_imm(bit_off)), opnd_reg(high));
		bit_off = 0;
	}
	v = ir_alu(&l->b, IR_SHL, v, opnd_imm(64 - bit_off - bit_sz));
	return ir_alu(&l->b, t->is_signed ? IR_SAR : IR_SHR, v, opnd_imm(64 - bit_sz));
}

s64 lower_boot_to_tai(struct lower *l)
{
	l->c->is_of_boot = true;
	return l->c->target->boot_to_tai_ns;
}

/* Constants */

u32 lower_const(struct lower *l, const void *bytes, u32 len, u32 align)
{
	struct image *img = l->image;
	u32 off = ALIGN_UP(img->const_sz, align);

	for (u32 at = 0; at + len <= img->const_sz; at += align)
		if (!memcmp(img->const_data + at, bytes, len))
			return at;
	if (off + len > img->const_cap) {
		u32 cap = MAX(2 * img->const_cap, off + len + 256);
		u8 *grown = arena_alloc(l->c->arena, cap);

		if (img->const_sz)
			memcpy(grown, img->const_data, img->const_sz);
		img->const_data = grown;
		img->const_cap = cap;
	}
	memcpy(img->const_data + off, bytes, len);
	img->const_sz = off + len;
	return off;
}

u32 lower_const_zeroes(struct lower *l, u32 len)
{
	return lower_const(l, arena_alloc(l->c->arena, len), len, 8);
}

u32 lower_table_u16(struct lower *l, const u16 *entries, u32 cnt)
{
	return lower_const(l, entries, cnt * sizeof(*entries), 8);
}

/* The program's surroundings */

vreg lower_ctx(struct lower *l)
{
	return l->ctx;
}

static const char task_known; /* only its address matters */

vreg lower_task(struct lower *l)
{
	vreg r = lower_known(l, &task_known, 0);

	if (!r) {
		r = ir_call(&l->b, HELPER_get_current_task_btf, NULL, 0);
		lower_know(l, &task_known, 0, r);
	}
	return r;
}

bool lower_task_member(struct lower *l, const char *name, u32 size, struct mem *at)
{
	struct type_source *types = target_types(l->c->target);
	vreg r = lower_known(l, &task_known, 0);
	const struct type *task = r && types ? types->find(types, "struct", "task_struct") : NULL;
	const struct member *m;
	u32 off;

	m = task ? type_member(type_complete(task), name, &off) : NULL;
	if (!m || m->type->size != size || off % MIN(size, 8u) || off + size > INT16_MAX)
		return false;
	*at = (struct mem){ .base = r, .off = off };
	return true;
}

vreg lower_cpu(struct lower *l)
{
	static const char what;
	vreg r = lower_known(l, &what, 0);

	if (!r) {
		r = ir_call(&l->b, HELPER_get_smp_processor_id, NULL, 0);
		lower_know(l, &what, 0, r);
	}
	return r;
}

void lower_fence(struct lower *l, vreg base, s64 off)
{
	if (l->c->target->is_weakly_ordered)
		ir_fetch_add(&l->b, base, off, opnd_imm(0));
}

vreg lower_acquire(struct lower *l, vreg base, s64 off)
{
	return l->c->target->is_weakly_ordered ? ir_fetch_add(&l->b, base, off, opnd_imm(0)) : ir_load(&l->b, base, off, 8);
}

vreg lower_cpu_data(struct lower *l)
{
	static const char what;
	vreg r = lower_known(l, &what, 0);
	const struct data_layout *d = &l->image->data;

	if (!r) {
		vreg off = ir_alu(&l->b, IR_AND, lower_cpu(l), opnd_imm(d->cpu_cnt - 1));

		off = ir_alu(&l->b, IR_MUL, off, opnd_imm(d->cpu_sz));
		r = ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_DATA, d->shared_sz), opnd_reg(off));
		lower_know(l, &what, 0, r);
	}
	return r;
}

vreg lower_cookie(struct lower *l)
{
	static const char what;
	vreg r = lower_known(l, &what, 0);

	if (!r) {
		r = ir_call_of(&l->b, HELPER_get_attach_cookie, opnd_reg(l->ctx));
		lower_know(l, &what, 0, r);
	}
	return r;
}

struct opnd lower_site_by_cookie(struct lower *l)
{
	const struct unit *u = l->unit;

	if (u->is_joined) /* the cookies are the entry's */
		return opnd_reg(ir_alu(&l->b, IR_ADD, lower_cookie(l), opnd_imm((s64)u->site_first - u->session->site_first)));
	return opnd_reg(lower_cookie(l));
}

struct opnd lower_site(struct lower *l)
{
	if (l->unit->site_cnt == 1)
		return opnd_imm(l->unit->site_first);
	if (l->unit->provider->lower_site)
		return l->unit->provider->lower_site(l);
	return lower_site_by_cookie(l);
}

/* Statements */

vreg lower_var_cut(struct lower *l, const struct var *v, vreg r)
{
	if (v->is_fixed && v->type->size < 8 && type_is_integral(v->type) && v->type->kind != T_BOOL)
		return ir_ext(&l->b, v->type->is_signed ? IR_SEXT : IR_ZEXT, r, v->type->size);
	return r;
}

bool lower_var_is_new(const struct lower *l, const struct var *v)
{
	return !v->home || (!v->is_shared && v->home_in != l->b.f);
}

/* Assigns storage, if it has none: a register; memory if it does not fit one; memory that all functions can reach if several use
 * it. */
static void give_home(struct lower *l, struct var *v)
{
	if (!lower_var_is_new(l, v))
		return;
	v->in_memory = v->is_shared || !type_is_scalar(v->type);
	v->home_in = l->b.f;
	if (v->in_memory)
		v->home = ir_slot_new_at(l->b.f, MAX(8, v->type->size), 8, v->is_shared ? SLOT_IN_SCRATCH : SLOT_ANYWHERE) + 1;
	else
		v->home = ir_vreg(l->b.f);
}

struct mem lower_var_mem(struct lower *l, struct var *v)
{
	give_home(l, v);
	BUG_ON(!v->in_memory);
	return (struct mem){ .base = ir_slot_addr(&l->b, v->home - 1, 0) };
}

/* A copy: the variable may change before the value is used ($x + $x++). Most copies fold away. */
vreg lower_var_get(struct lower *l, struct var *v)
{
	vreg copy;

	if (v->in_memory)
		return ir_load(&l->b, lower_var_mem(l, v).base, 0, 8);
	copy = ir_vreg(l->b.f);
	ir_mov_to(&l->b, copy, opnd_reg(v->home));
	return copy;
}

void lower_var_set(struct lower *l, struct var *v, struct opnd o)
{
	give_home(l, v);
	if (v->in_memory)
		store_bytes(l, lower_var_mem(l, v), 8, o);
	else
		ir_mov_to(&l->b, v->home, o);
}

void lower_var_assign(struct lower *l, struct var *v, struct expr *value)
{
	if (type_is_scalar(v->type)) {
		struct opnd o;

		/* It is in a register, and assigned exactly once: it points to what that value points to. */
		if (v->assign_cnt == 1 && !v->is_shared && !v->needs_init && !v->is_zeroed && v->type->kind == T_POINTER) {
			struct val known = lower_known_ptr(l, value, NULL);

			v->btf = known.kind == VAL_REG ? known.btf : NULL;
			lower_var_set(l, v, known.kind == VAL_REG ? known.r : opnd_reg(lower_load(l, known.mem, value->type)));
			return;
		}
		o = lower_scalar(l, value);

		lower_var_set(l, v, v->is_fixed ? opnd_reg(lower_var_cut(l, v, lower_force(l, o))) : o);
		return;
	}
	lower_store_over(l, value, v, v->type, lower_var_mem(l, v));
}

/* Zero: the value of a variable that was only declared. */
void lower_var_init(struct lower *l, struct var *v)
{
	if (!v->type)
		return;
	v->is_zeroed = true;
	if (type_is_scalar(v->type))
		lower_var_set(l, v, opnd_imm(0));
	else
		lower_zero(l, lower_var_mem(l, v), ALIGN_UP(v->type->size, 8));
}

static enum ir_op arith_op(enum binary_op op)
{
	switch (op) {
	case BIN_ADD:
		return IR_ADD;
	case BIN_SUB:
		return IR_SUB;
	case BIN_MUL:
		return IR_MUL;
	case BIN_DIV:
		return IR_DIV;
	case BIN_MOD:
		return IR_MOD;
	case BIN_AND:
		return IR_AND;
	case BIN_OR:
		return IR_OR;
	case BIN_XOR:
		return IR_XOR;
	case BIN_SHL:
		return IR_SHL;
	case BIN_SHR:
		return IR_SHR;
	case BIN_EQ:
	case BIN_NE:
	case BIN_LT:
	case BIN_LE:
	case BIN_GT:
	case BIN_GE:
	case BIN_LAND:
	case BIN_LOR:
	case BIN_CNT:
		break;
	}
	BUG("%s is not arithmetic", binary_op_text[op]);
}

/* Division and modulo by zero give 1 and a warning; shifts use the low six bits, as the machine does. */
vreg lower_arith(struct lower *l, enum binary_op op, struct opnd a, struct opnd b, struct span at)
{
	struct ir_block *zero, *good, *done;
	vreg d;

	if ((op != BIN_DIV && op != BIN_MOD) || (b.is_imm && b.imm)) {
		if (b.is_imm && b.imm != (s32)b.imm)
			b = opnd_reg(ir_imm(&l->b, b.imm));
		return ir_alu(&l->b, arith_op(op), lower_force(l, a), b);
	}
	zero = ir_block_new(l->b.f);
	good = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	d = ir_vreg(l->b.f);
	a = opnd_reg(lower_force(l, a));
	ir_br(&l->b, C_EQ, lower_force(l, b), opnd_imm(0), zero, good);
	ir_place(&l->b, good);
	ir_mov_to(&l->b, d, opnd_reg(ir_alu(&l->b, arith_op(op), a.r, opnd_reg(lower_force(l, b)))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, zero);
	u32 mark = lower_mark(l);

	lower_runtime_error(
		l, at, "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.");
	lower_forget(l, mark);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return d;
}

static void lower_compound(struct lower *l, struct stmt *s)
{
	struct expr *t = s->assign.target, *value = s->assign.value;
	enum binary_op op = s->assign.op;

	if (t->kind == E_MAP && (op == BIN_ADD || op == BIN_SUB)) {
		const struct type *val = t->map.map->val;
		struct opnd delta = lower_scalar(l, value);

		if (val->kind == T_POINTER && val->elem->size > 1)
			delta = delta.is_imm ? opnd_imm(delta.imm * val->elem->size) :
					       opnd_reg(ir_alu(&l->b, IR_MUL, delta.r, opnd_imm(val->elem->size)));
		if (op == BIN_SUB)
			delta = delta.is_imm ? opnd_imm(-delta.imm) : opnd_reg(ir_neg(&l->b, delta.r));
		lower_map_add(l, t, delta, false);
		return;
	}
	if (t->kind == E_MAP) {
		/* the others are a load, a computation and a store */
		struct expr *sum = arena_new(l->c->arena, struct expr);

		*sum = (struct expr){ .kind = E_BINARY, .span = s->span, .type = &type_s64 };
		sum->binary.op = op;
		sum->binary.a = t;
		sum->binary.b = value;
		sum->binary.common = &type_s64;
		lower_map_assign(l, t, sum);
		return;
	}
	struct var *v = t->var.var;
	struct opnd rhs = lower_scalar(l, value);

	if (v->type->kind == T_POINTER && v->type->elem->size > 1)
		rhs = opnd_reg(ir_alu(&l->b, IR_MUL, lower_force(l, rhs), opnd_imm(v->type->elem->size)));
	lower_var_set(l, v, opnd_reg(lower_var_cut(l, v, lower_arith(l, op, opnd_reg(lower_var_get(l, v)), rhs, s->span))));
}

static void lower_if(struct lower *l, struct stmt *s)
{
	struct ir_block *yes = ir_block_new(l->b.f), *no = s->if_.no ? ir_block_new(l->b.f) : NULL, *done = ir_block_new(l->b.f);
	u32 mark;

	lower_branch(l, s->if_.cond, yes, no ? no : done);
	mark = lower_mark(l);
	ir_place(&l->b, yes);
	lower_block(l, s->if_.yes);
	lower_forget(l, mark);
	ir_jmp(&l->b, done);
	if (no) {
		ir_place(&l->b, no);
		lower_block(l, s->if_.no);
		lower_forget(l, mark);
		ir_jmp(&l->b, done);
	}
	ir_place(&l->b, done);
}

static void lower_stmt(struct lower *l, struct stmt *s)
{
	u32 temps = l->temps.cnt;

	l->b.span = l->at = s->span;
	switch (s->kind) {
	case S_EXPR:
	case S_DISCARD:
		/* If its value is not used, x++ need not fetch the old value. */
		if (s->expr->kind == E_INCDEC && s->expr->incdec.target->kind == E_MAP) {
			s64 step = s->expr->type->kind == T_POINTER ? MAX(1, s->expr->type->elem->size) : 1;

			lower_map_add(l, s->expr->incdec.target, opnd_imm(s->expr->incdec.is_dec ? -step : step), false);
		} else {
			lower_expr(l, s->expr, NULL);
		}
		break;
	case S_ASSIGN:
		if (s->assign.has_op)
			lower_compound(l, s);
		else if (s->assign.target->kind == E_MAP)
			lower_map_assign(l, s->assign.target, s->assign.value);
		else
			lower_var_assign(l, s->assign.target->var.var, s->assign.value);
		break;
	case S_LET:
		if (s->let.value)
			lower_var_assign(l, s->let.var, s->let.value);
		else
			lower_var_init(l, s->let.var);
		break;
	case S_IF:
		lower_if(l, s);
		break;
	case S_BLOCK:
		lower_block(l, s->block);
		break;
	case S_WHILE:
		lower_while(l, s);
		break;
	case S_UNROLL:
		lower_unroll(l, s);
		break;
	case S_FOR:
		lower_for(l, s);
		break;
	case S_BREAK:
		ir_jmp(&l->b, l->loop_end);
		break;
	case S_CONTINUE:
		ir_jmp(&l->b, l->loop_next);
		break;
	case S_RETURN:
		lower_return(l, s);
		break;
	}
	close_temps(l, temps);
}

void lower_block(struct lower *l, struct block *b)
{
	u32 first = l->known.cnt;

	for (u32 i = 0; i < b->cnt; i++) {
		lower_stmt(l, b->stmts[i]);
		/* Drop stale facts, so that later statements need not skip them. Entries from before the block stay: marks index
		 * them. */
		while (l->known.cnt > first && !l->known.at[l->known.cnt - 1].what)
			l->known.cnt--;
	}
}

/* Continues only if no program of the script is running on this CPU, and keeps others out until the end, where the word is
 * released. */
static void take_guard(struct lower *l)
{
	struct ir_block *busy = ir_block_new(l->b.f), *go_on = ir_block_new(l->b.f);
	vreg zero = ir_imm(&l->b, 0), one = ir_imm(&l->b, 1);

	l->guard = lower_cpu_data(l);
	ir_br(&l->b, C_EQ, ir_cmpxchg(&l->b, l->guard, l->image->data.guard_off, zero, one), opnd_imm(0), go_on, busy);
	ir_place(&l->b, busy);
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, offsetof(struct data_head, guarded)), 0, 8, opnd_imm(1));
	ir_jmp(&l->b, l->leave_plain);
	ir_place(&l->b, go_on);
	l->leave_plain = ir_block_new(l->b.f);
}

/* The set-up code of loops is inserted directly after it, see lower_loops_end(). */
static void take_scratch(struct lower *l)
{
	if (l->c->needs_guard)
		take_guard(l);
	l->scratch = ir_append_scratch(&l->b, l->leave_plain);
	l->start = ir_block_new(l->b.f);
	l->after_start = ir_block_new(l->b.f);
	ir_jmp(&l->b, l->start);
	ir_place(&l->b, l->start);
	ir_place(&l->b, l->after_start);
}

static void lower_pid_filter(struct lower *l)
{
	struct ir_block *go_on = ir_block_new(l->b.f);
	vreg pid = lower_pid(l);

	ir_br(&l->b, C_EQ, pid, opnd_imm(l->c->target->filter_pid), go_on, l->leave_plain);
	ir_place(&l->b, go_on);
}

struct ir_func *lower_unit(struct compile *c, struct unit *u, struct ir_mem *mem)
{
	struct lower l = { .c = c, .image = c->image, .unit = u };
	struct ir_func *f = ir_func_new(mem, u->name);
	struct ir_block *end;
	bool early = u->has_big_pred;
	s64 result = u->provider->flags & PROV_RETURNS_1 ? 1 : 0;

	l.b = (struct ir_build){ .f = f, .span = u->probe->span };
	l.leave = ir_block_new(f);
	end = l.leave_plain = ir_block_new(f);
	ir_place(&l.b, ir_block_new(f));
	l.ctx = ir_ctx(&l.b);
	if (u->provider->lower_entry)
		u->provider->lower_entry(&l);
	if (c->target->filter_pid && (u->provider->flags & PROV_PID_FILTER))
		lower_pid_filter(&l);
	vec_for(v, &u->vars)
		early |= (*v)->needs_init && (*v)->type && ((*v)->is_shared || !type_is_scalar((*v)->type));
	if (early)
		take_scratch(&l);
	vec_for(v, &u->vars)
		if ((*v)->needs_init)
			lower_var_init(&l, *v);
	if (u->pred) {
		struct ir_block *body = ir_block_new(f);

		l.b.span = l.at = u->pred->span;
		lower_branch(&l, u->pred, body, early ? l.leave : l.leave_plain);
		close_temps(&l, 0);
		ir_place(&l.b, body);
	}
	if (!early)
		take_scratch(&l);
	lower_block(&l, u->body);
	if (!ir_is_closed(&l.b))
		lower_leave(&l);
	l.b.span = l.at = u->probe->span;
	lower_loops_end(&l);
	ir_place(&l.b, l.leave);
	ir_append_unscratch(&l.b, l.scratch);
	ir_jmp(&l.b, l.leave_plain);
	ir_place(&l.b, l.leave_plain);
	if (c->needs_guard) {
		ir_store(&l.b, l.guard, c->image->data.guard_off, 8, opnd_imm(0));
		ir_jmp(&l.b, end);
		ir_place(&l.b, end);
	}
	ir_ret(&l.b, opnd_imm(result));
	return f;
}
