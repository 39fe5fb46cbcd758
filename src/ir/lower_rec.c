/* SPDX-License-Identifier: GPL-2.0-only */
/* Records: what a program sends to user space.
 *
 * A small record is built on the stack and copied to the ring: one call. A larger record of fixed size is reserved in the ring
 * and filled in place. A record with long strings or buffers is built in the scratch area, where each string takes only the bytes
 * that it has, and copied. Records that must not get lost (exit, print, clear …) go to the control ring when the data ring is
 * full, with the data ring's position, so that the reader can restore the order.
 */
#include "ir/lower.h"

#include "image/image.h"
#include "lang/fn.h"
#include "image/uapi.h"
#include "lang/provider.h"

enum { INLINE_MAX = 64, CTRL_POS_SZ = 8, SMALL_MAX = 64 };

static bool is_var_field(const struct type *t)
{
	return (t->kind == T_STRING || t->kind == T_BUFFER || type_is_stack(t)) && t->size > INLINE_MAX;
}

struct rec *lower_rec_new(struct lower *l, struct expr *call)
{
	struct rec *r = arena_new(l->c->arena, struct rec);

	r->fn = call->call.fn;
	r->span = call->span;
	r->is_ctrl = (call->call.fn->flags & FN_CTRL) != 0;
	r->is_awaited = (call->call.fn->flags & FN_AWAITED) != 0;
	return r;
}

static u32 rec_add(struct lower *l, struct rec *r)
{
	avec_push(l->c->arena, &l->image->recs, r);
	return l->image->recs.cnt - 1;
}

/* The bytes of a field in the fixed part; of a variable one: its length field. A buffer's size need not be a multiple of its
 * alignment. */
static u32 fixed_size(const struct rec_field *f)
{
	if (f->is_rest)
		return 0;
	return f->is_var ? 4 : ALIGN_UP(f->type->size, MAX(1, f->type->align));
}

/* Places the fields: first those whose size is a multiple of 8, then of 4, of 2, and the rest. So each begins where the one
 * before ends, and can be copied in words as wide as its size allows. Returns the maximum size of the variable fields. */
static u32 lay_out(struct lower *l, struct rec *r, struct expr **fields, u32 cnt)
{
	u32 off = sizeof(struct rec_head), tail = 0;
	struct rec_field *last = NULL;

	r->field_cnt = cnt;
	r->fields = arena_alloc(l->c->arena, (cnt + 1) * sizeof(*r->fields));
	for (u32 i = 0; i < cnt; i++) {
		const struct type *t = type_is_integral(fields[i]->type) && fields[i]->type->is_flexible ? type_int(8, true) :
													   fields[i]->type;

		r->fields[i] = (struct rec_field){ .type = t, .is_var = is_var_field(t), .is_own = expr_is_own(fields[i]) };
		if (!r->fields[i].is_var)
			continue;
		tail += t->size + 1; /* one spare byte, see lower.tail */
		last = &r->fields[i];
	}
	if (last)
		last->is_rest = true;
	for (u32 width = 8; width; width /= 2) {
		for (u32 i = 0; i < cnt; i++) {
			u32 size = fixed_size(&r->fields[i]);

			if (size % width || (width < 8 && size % (2 * width) == 0))
				continue;
			r->fields[i].off = off;
			off += size;
		}
	}
	r->fixed_end = off;
	r->fixed_sz = ALIGN_UP(off, 8);
	return tail;
}

static void put_head(struct lower *l, vreg base, u32 id)
{
	ir_store(&l->b, base, 0, 8, opnd_imm(id));
}

static void count_lost(struct lower *l, size_t counter)
{
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, counter), 0, 8, opnd_imm(1));
}

/* Goes on at done; the value of field i is stored at base. */
static void fill_fixed(struct lower *l, struct rec *r, struct expr **fields, vreg base)
{
	for (u32 i = 0; i < r->field_cnt; i++)
		if (!r->fields[i].is_var)
			lower_store(l, fields[i], r->fields[i].type, (struct mem){ .base = base, .off = r->fields[i].off });
}

/* An impossible length (a failed read) counts as 0; afterwards the verifier also knows that len <= max. */
static void zero_above(struct lower *l, vreg len, u32 max)
{
	struct ir_block *bad = ir_block_new(l->b.f), *good = ir_block_new(l->b.f);

	ir_br(&l->b, C_UGT, len, opnd_imm(max), bad, good);
	ir_place(&l->b, bad);
	ir_mov_to(&l->b, len, opnd_imm(0));
	ir_jmp(&l->b, good);
	ir_place(&l->b, good);
}

/* Copies a string field to dst; returns the number of bytes, at most the type's size, plus *plus. *plus: on entry the number of
 * bytes before it that the result may include; on return the number that it does include. */
static vreg put_string(struct lower *l, struct expr *e, struct mem dst, u32 *plus)
{
	u32 cap = e->type->size, helper;
	struct val v;
	vreg len = ir_vreg(l->b.f);
	bool in_place;

	l->tail = dst;
	l->tail_at = *plus;
	v = lower_expr(l, e, &dst);
	l->tail = (struct mem){};
	in_place = v.kind == VAL_MEM && v.mem.base == dst.base && v.mem.off == dst.off && v.mem.as == AS_NONE;

	BUG_ON(v.kind != VAL_MEM);
	*plus = v.len_plus;
	if (in_place && v.len)
		return v.len;
	if (e->kind == E_STR)
		return ir_imm(&l->b, MIN(cap, e->str.len + 1));
	/* From any address space; our own memory counts as kernel memory. */
	helper = v.mem.as == AS_USER ? HELPER_probe_read_user_str : HELPER_probe_read_kernel_str;
	ir_mov_to(
		&l->b, len,
		opnd_reg(ir_call_of(&l->b, helper, opnd_reg(lower_addr(l, dst)), opnd_imm(cap), opnd_reg(lower_addr(l, v.mem)))));
	if (v.mem.as != AS_NONE)
		lower_check_read(l, helper, len);
	zero_above(l, len, cap);
	/* The helper ends every copy with a NUL. A string without one was truncated, which must remain visible: store its last
	 * byte again. */
	if (v.mem.as == AS_NONE) {
		struct ir_block *full = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
		struct mem last = { .base = v.mem.base, .off = v.mem.off + cap - 1 };

		ir_br(&l->b, C_EQ, len, opnd_imm(cap), full, done);
		ir_place(&l->b, full);
		lower_copy(l, last, (struct mem){ .base = dst.base, .off = dst.off + cap - 1 }, 1);
		ir_jmp(&l->b, done);
		ir_place(&l->b, done);
	}
	return len;
}

/* The same for a buffer: its length and that many bytes. */
static vreg put_buffer(struct lower *l, struct expr *e, struct mem dst)
{
	struct val v;
	bool in_place;
	vreg len = ir_vreg(l->b.f);

	l->tail = dst;
	v = lower_expr(l, e, &dst);
	l->tail = (struct mem){};
	in_place = v.kind == VAL_MEM && v.mem.base == dst.base && v.mem.off == dst.off;
	BUG_ON(v.kind != VAL_MEM);
	if (!in_place)
		lower_copy(l, v.mem, dst, e->type->size);
	ir_mov_to(&l->b, len, opnd_reg(lower_load(l, dst, &type_u32)));
	ir_alu_to(&l->b, IR_ADD, len, len, opnd_imm(4));
	zero_above(l, len, e->type->size);
	return len;
}

/* The same for a stack: its head and the frames in use. */
static vreg put_stack(struct lower *l, struct expr *e, struct mem dst)
{
	u32 head = type_stack_head(e->type);
	struct val v = lower_expr(l, e, &dst);
	vreg len;

	BUG_ON(v.kind != VAL_MEM);
	if (v.mem.base == dst.base && v.mem.off == dst.off) {
		if (v.len)
			return v.len;
	} else {
		lower_copy(l, v.mem, dst, e->type->size);
	}
	len = ir_vreg(l->b.f);
	dst.off += head - 8;
	ir_mov_to(&l->b, len, opnd_reg(lower_load(l, dst, &type_u32)));
	ir_alu_to(&l->b, IR_SHL, len, len, opnd_imm(type_frame_shift(e->type)));
	ir_alu_to(&l->b, IR_ADD, len, len, opnd_imm(head));
	zero_above(l, len, e->type->size);
	return len;
}

static vreg put_var(struct lower *l, struct expr *e, struct mem dst, u32 *plus)
{
	if (e->type->kind == T_STRING)
		return put_string(l, e, dst, plus);
	*plus = 0;
	return e->type->kind == T_BUFFER ? put_buffer(l, e, dst) : put_stack(l, e, dst);
}

/* The stack holds old data, of which no byte may be sent. */
static void zero_unused(struct lower *l, const struct rec *r, vreg base)
{
	for (u32 i = 0; i < r->field_cnt; i++) {
		const struct rec_field *f = &r->fields[i];

		if (!f->is_var)
			lower_zero(l, (struct mem){ .base = base, .off = f->off + f->type->size }, fixed_size(f) - f->type->size);
	}
	lower_zero(l, (struct mem){ .base = base, .off = r->fixed_end }, r->fixed_sz - r->fixed_end);
}

/* Built in our own memory, then copied. */
static void send_copied(struct lower *l, struct rec *r, u32 id, struct expr **fields, u32 tail_max)
{
	struct mem buf = lower_temp(l, r->fixed_sz + tail_max, 8);
	struct ir_block *lost = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg base = buf.base, size = 0, err;

	put_head(l, base, id);
	zero_unused(l, r, base);
	fill_fixed(l, r, fields, base);
	/* size: bytes so far; the offset of the first string is known at compile time. */
	for (u32 i = 0; i < r->field_cnt; i++) {
		struct mem dst = { .base = base, .off = r->fixed_sz };
		u32 plus = r->fields[i].is_rest && !size ? r->fixed_sz : 0;
		vreg len;

		if (!r->fields[i].is_var)
			continue;
		if (size)
			dst = (struct mem){ .base = ir_alu(&l->b, IR_ADD, base, opnd_reg(size)) };
		len = put_var(l, fields[i], dst, &plus);
		if (!r->fields[i].is_rest)
			ir_store(&l->b, base, r->fields[i].off, 4, opnd_reg(len));
		size = size ? ir_alu(&l->b, IR_ADD, size, opnd_reg(len)) :
			      ir_alu(&l->b, IR_ADD, len, opnd_imm(r->fixed_sz - plus));
	}
	err = ir_call_of(&l->b, HELPER_ringbuf_output, opnd_reg(ir_map(&l->b, MAP_IDX_RING)), opnd_reg(base),
			 size ? opnd_reg(size) : opnd_imm(r->fixed_sz), opnd_imm(0));
	ir_br(&l->b, C_NE, err, opnd_imm(0), lost, done);
	ir_place(&l->b, lost);
	count_lost(l, offsetof(struct data_head, lost_events));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	l->image->max_rec_sz = MAX(l->image->max_rec_sz, r->fixed_sz + tail_max);
}

/* Reserve, fill, submit. is_ctrl: in the control ring, after the position of the data ring. */
static void send_reserved(struct lower *l, struct rec *r, u32 id, struct expr **fields, bool in_ctrl, struct ir_block *full,
			  struct ir_block *done)
{
	u32 map = in_ctrl ? MAP_IDX_CTRL : MAP_IDX_RING, shift = in_ctrl ? CTRL_POS_SZ : 0;
	struct ir_block *got = ir_block_new(l->b.f);
	vreg p, pos = 0;

	if (in_ctrl)
		pos = ir_call_of(&l->b, HELPER_ringbuf_query, opnd_reg(ir_map(&l->b, MAP_IDX_RING)), opnd_imm(BPF_RB_PROD_POS));
	p = ir_call_of(&l->b, HELPER_ringbuf_reserve, opnd_reg(ir_map(&l->b, map)), opnd_imm(r->fixed_sz + shift), opnd_imm(0));
	ir_br(&l->b, C_EQ, p, opnd_imm(0), full, got);
	ir_place(&l->b, got);
	put_head(l, p, id);
	fill_fixed(l, r, fields, p);
	if (in_ctrl)
		ir_store(&l->b, p, r->fixed_sz, 8, opnd_reg(pos));
	ir_call_of(&l->b, HELPER_ringbuf_submit, opnd_reg(p), opnd_imm(0));
	ir_jmp(&l->b, done);
}

static void find_effects(struct expr *e, void *arg)
{
	if (e->kind == E_INCDEC || e->kind == E_BLOCK || (e->kind == E_CALL && (e->call.fn->flags & FN_EFFECT)))
		*(bool *)arg = true;
}

void lower_emit(struct lower *l, struct rec *r, struct expr **fields, u32 cnt)
{
	struct ir_block *done = ir_block_new(l->b.f), *full = ir_block_new(l->b.f);
	u32 id = rec_add(l, r), tail_max = lay_out(l, r, fields, cnt), mark, pin_cnt = r->is_ctrl ? cnt : 0;

	if (l->unit->provider->flags & PROV_RARE && !l->loop_end)
		l->image->rare_sz += BPF_RINGBUF_HDR_SZ + ALIGN_UP(r->fixed_sz + tail_max, 8);
	else
		l->image->sends_often = true;
	/* An argument with a side effect must be evaluated even when the ring is full, and must not leave the program while a
	 * record is reserved; the arguments before it are evaluated before it. */
	for (u32 i = 0; i < cnt; i++) {
		bool has_effects = false;

		expr_walk(fields[i], find_effects, &has_effects);
		if (has_effects)
			pin_cnt = MAX(pin_cnt, i + 1);
	}
	for (u32 i = 0; i < pin_cnt; i++)
		lower_pin(l, fields[i]);
	if (tail_max || (!r->is_ctrl && r->fixed_sz <= SMALL_MAX)) {
		BUG_ON(r->is_ctrl);
		/* without a tail it ends where its last field does */
		if (!tail_max)
			r->fixed_sz = r->fixed_end;
		send_copied(l, r, id, fields, tail_max);
		goto out;
	}
	mark = lower_mark(l);
	send_reserved(l, r, id, fields, false, full, done);
	lower_forget(l, mark);
	ir_place(&l->b, full);
	if (r->is_ctrl) {
		struct ir_block *lost = ir_block_new(l->b.f);

		send_reserved(l, r, id, fields, true, lost, done);
		lower_forget(l, mark);
		ir_place(&l->b, lost);
		count_lost(l, offsetof(struct data_head, lost_ctrl));
		if (r->fn->lost)
			r->fn->lost(l, r);
	} else {
		count_lost(l, offsetof(struct data_head, lost_events));
	}
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	l->image->max_rec_sz = MAX(l->image->max_rec_sz, r->fixed_sz + CTRL_POS_SZ);
out:
	for (u32 i = 0; i < cnt; i++)
		lower_unpin(l, fields[i]);
}

/* Faults */

static u32 fault_off(struct lower *l, struct span at, const char *text, const char *helper, bool is_read)
{
	struct htab *places = &l->c->fault_places;
	struct image *img = l->image;
	u32 hash = u64_hash((u64)at.begin << 32 | at.end);

	/* One place may be lowered several times: for several units, or in an unrolled loop. */
	htab_for(p, places, hash) {
		const struct fault *f = &img->faults.at[*p - 1];

		if (f->span.src == at.src && f->span.begin == at.begin && f->span.end == at.end && f->helper == helper &&
		    f->text == text && f->is_read == is_read)
			return f->off;
	}
	avec_push(l->c->arena, &img->faults, (struct fault){ at, text, helper, img->data.total_sz, is_read });
	places->arena = l->c->arena;
	htab_add(places, hash, img->faults.cnt);
	img->data.total_sz += sizeof(struct fault_count);
	return img->data.total_sz - sizeof(struct fault_count);
}

static void count_helper_error(struct lower *l, u32 off, struct opnd err)
{
	vreg count = ir_mapval(&l->b, MAP_IDX_DATA, off);

	ir_store(&l->b, count, offsetof(struct fault_count, err), 8, err);
	lower_fence(l, count, 0);
	ir_atomic_add(&l->b, count, 0, 8, opnd_imm(1));
}

void lower_runtime_error(struct lower *l, struct span at, const char *text)
{
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, fault_off(l, at, text, NULL, false)), 0, 8, opnd_imm(1));
}

void lower_helper_error(struct lower *l, struct span at, u32 helper, struct opnd err, const char *text)
{
	count_helper_error(l, fault_off(l, at, text, helper_name(helper), false), err);
}

void lower_check_read(struct lower *l, u32 helper, vreg result)
{
	struct ir_block *bad = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);

	ir_br(&l->b, C_SLT, result, opnd_imm(0), bad, done);
	ir_place(&l->b, bad);
	lower_read_failed(l, helper, result);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

void lower_read_failed(struct lower *l, u32 helper, vreg err)
{
	u32 off = fault_off(l, l->at, NULL, helper_name(helper), true);

	/* These helpers fail with EFAULT only, so the error is stored just for -k, which shows it. */
	if (l->c->warns_more)
		count_helper_error(l, off, opnd_reg(err));
	else
		ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, off), 0, 8, opnd_imm(1));
}
