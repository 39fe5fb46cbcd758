/* SPDX-License-Identifier: GPL-2.0-only */
/* Loops, and the statements that leave them.
 *
 * The verifier follows every iteration of a loop of jumps, and must reach its end. So only unroll, which has no backward jump,
 * stays in its function, unless it is long. The body of every other loop becomes a separate function, which the kernel calls
 * (bpf_loop, bpf_for_each_map_elem) and the verifier walks once. It gets the address of a few bytes on the main function's stack.
 * They hold the address of the scratch area and the context, whose types the verifier keeps when they are loaded again. Variables
 * that several functions use are in the scratch area, whose contents the verifier does not track: if it knew that $n is 1 in the
 * first iteration and 2 in the second, it would have to walk all iterations.
 *
 * A body returns 0 to continue and 1 to end the loop. If it leaves more than the loop (return, exit), it first stores that in
 * memory, and each function on the way out checks it.
 */
#include "ir/lower.h"

#include "image/image.h"
#include "image/uapi.h"

enum { FRAME_SCRATCH = 0, FRAME_CTX = 8, FRAME_SZ = 16 };

/* How a body leaves more than its loop. 0: it does not. */
enum leave { LEAVE_PROBE = 1, LEAVE_WITH_VALUE, LEAVE_FN /* and how many functions there are around */ };
enum { LEAVE_HOW = 0, LEAVE_VALUE = 8, LEAVE_SZ = 16 };

/* A function of the script is inlined where it is called. */
struct fn_call {
	struct fn_call *up;
	const struct ir_func *f; /* where its code begins and ends: loops in it are elsewhere */
	struct ir_block *end;
	u32 leave; /* enum leave */
};

/* The most iterations of bpf_loop(). */
enum { ROUNDS_MAX = 8 << 20 };

enum { FRAMES_MAX = 8 };

/* Leaving */

static struct mem leave_mem(struct lower *l)
{
	if (!l->leave_slot)
		l->leave_slot = ir_slot_new_since(l->b.f, LEAVE_SZ, 8, 0) + 1; /* lower_loops_end() sets it at the start */
	return (struct mem){ .base = ir_slot_addr(&l->b, l->leave_slot - 1, 0) };
}

/* In the body of a loop: leaves it, and the enclosing ones as far as `how` says. */
static void leave_loop(struct lower *l, enum leave how)
{
	ir_store(&l->b, leave_mem(l).base, LEAVE_HOW, 8, opnd_imm(how));
	ir_ret(&l->b, opnd_imm(1));
	l->leaves |= 1ull << how;
}

struct ir_block *lower_leave_block(struct lower *l)
{
	l->leaves |= 1ull << LEAVE_PROBE;
	return l->scratch ? l->leave : l->leave_plain;
}

void lower_leave(struct lower *l)
{
	ir_jmp(&l->b, lower_leave_block(l));
}

static void return_value(struct lower *l, struct opnd v)
{
	if (l->scratch)
		ir_append_unscratch(&l->b, l->scratch);
	ir_ret(&l->b, v);
}

void lower_return(struct lower *l, struct stmt *s)
{
	struct opnd v;

	if (s->ret.is_fn) {
		if (s->ret.expr)
			lower_var_assign(l, s->ret.into->var.var, s->ret.expr);
		if (l->fn->f == l->b.f)
			ir_jmp(&l->b, l->fn->end);
		else
			leave_loop(l, l->fn->leave);
		return;
	}
	if (!s->ret.expr) {
		lower_leave(l);
		return;
	}
	v = lower_scalar(l, s->ret.expr);
	if (l->around) {
		ir_store(&l->b, leave_mem(l).base, LEAVE_VALUE, 8, opnd_reg(lower_force(l, v)));
		leave_loop(l, LEAVE_WITH_VALUE);
	} else {
		return_value(l, v);
	}
}

void lower_fn_body(struct lower *l, struct block *b)
{
	struct fn_call fn = {
		.up = l->fn, .f = l->b.f, .end = ir_block_new(l->b.f), .leave = l->fn ? l->fn->leave + 1 : LEAVE_FN
	};
	u32 mark = lower_mark(l);

	BUG_ON(fn.leave >= 64);
	l->fn = &fn;
	lower_block(l, b);
	ir_jmp(&l->b, fn.end);
	ir_place(&l->b, fn.end);
	lower_forget(l, mark); /* return may have skipped it */
	l->fn = fn.up;
}

/* Behind a loop: functions that its body returned from, and that are called here. */
static void follow_returns(struct lower *l, vreg how, u64 *leaves)
{
	for (struct fn_call *fn = l->fn; fn && fn->f == l->b.f; fn = fn->up) {
		struct ir_block *yes = ir_block_new(l->b.f), *no = ir_block_new(l->b.f);

		if (!(*leaves >> fn->leave & 1))
			continue;
		*leaves &= ~(1ull << fn->leave);
		ir_br(&l->b, C_EQ, how, opnd_imm(fn->leave), yes, no);
		ir_place(&l->b, yes);
		ir_store(&l->b, leave_mem(l).base, LEAVE_HOW, 8, opnd_imm(0));
		ir_jmp(&l->b, fn->end);
		ir_place(&l->b, no);
	}
}

/* Behind a loop whose body can leave more than itself. */
static void follow_leaves(struct lower *l, u64 leaves)
{
	struct ir_block *left = ir_block_new(l->b.f), *go_on = ir_block_new(l->b.f);
	vreg how;

	if (!leaves)
		return;
	how = ir_load(&l->b, leave_mem(l).base, LEAVE_HOW, 8);
	ir_br(&l->b, C_EQ, how, opnd_imm(0), go_on, left);
	ir_place(&l->b, left);
	follow_returns(l, how, &leaves);
	if (!leaves) {
		ir_jmp(&l->b, go_on); /* it cannot have been left in another way */
	} else if (l->around) {
		l->leaves |= leaves;
		ir_ret(&l->b, opnd_imm(1));
	} else {
		if (leaves >> LEAVE_WITH_VALUE & 1) {
			struct ir_block *with = ir_block_new(l->b.f), *without = ir_block_new(l->b.f);

			ir_br(&l->b, C_EQ, how, opnd_imm(LEAVE_WITH_VALUE), with, without);
			ir_place(&l->b, with);
			return_value(l, opnd_reg(ir_load(&l->b, leave_mem(l).base, LEAVE_VALUE, 8)));
			ir_place(&l->b, without);
		}
		lower_leave(l);
	}
	ir_place(&l->b, go_on);
}

void lower_loops_end(struct lower *l)
{
	l->b.cur = l->start;
	if (l->leave_slot)
		ir_store(&l->b, leave_mem(l).base, LEAVE_HOW, 8, opnd_imm(0));
	ir_jmp(&l->b, l->after_start);
}

/* Bodies as functions */

/* The last argument of a body. */
static vreg frame_addr(struct lower *l)
{
	vreg p;

	if (l->around)
		return l->frame;
	if (!l->frame_slot)
		l->frame_slot = ir_slot_new_at(l->b.f, FRAME_SZ, 8, SLOT_ON_STACK) + 1;
	p = ir_slot_addr(&l->b, l->frame_slot - 1, 0);
	ir_store(&l->b, p, FRAME_SCRATCH, 8, opnd_reg(l->scratch));
	ir_store(&l->b, p, FRAME_CTX, 8, opnd_reg(l->ctx));
	return p;
}

/* The kernel allows a call depth of eight functions. */
static void check_depth(struct lower *l, u32 more)
{
	u32 depth = 1 + more;

	for (const struct around *a = l->around; a; a = a->up)
		depth++;
	if (depth <= FRAMES_MAX || depth > FRAMES_MAX + more) /* once: not again in the loops inside */
		return;
	diag_error(l->c->diag, l->b.span, E_TOO_BIG, "loops are nested too deeply");
	diag_hint(l->c->diag, "the kernel allows %d levels%s", FRAMES_MAX - 1, more > 1 ? ", and this takes two" : "");
}

/* From here on code goes into a separate function. */
static void enter_body(struct lower *l, struct around *a, vreg *args, u32 arg_cnt)
{
	struct ir_func *f = ir_sub_new(l->b.f->main);

	*a = (struct around){ .up = l->around,
			      .b = l->b,
			      .ctx = l->ctx,
			      .scratch = l->scratch,
			      .frame = l->frame,
			      .leave = l->leave,
			      .leave_plain = l->leave_plain,
			      .loop_next = l->loop_next,
			      .loop_end = l->loop_end,
			      .known_first = l->known_first,
			      .clock = f->main->clock,
			      .leaves = l->leaves };
	l->around = a;
	l->b.f = f;
	l->known_first = l->known.cnt;
	l->leaves = 0;
	l->b.cur = NULL; /* it continues after the loop: if it were trimmed, each loop would copy all code before it */
	ir_place(&l->b, ir_block_new(f));
	for (u32 i = 0; i < arg_cnt; i++)
		args[i] = ir_arg(&l->b, i);
	l->frame = args[arg_cnt - 1];
	l->scratch = ir_append_scratch_at(&l->b, l->frame);
	l->ctx = ir_load(&l->b, l->frame, FRAME_CTX, 8);
	l->leave = l->leave_plain = ir_block_new(f);
	l->loop_next = ir_block_new(f);
	l->loop_end = ir_block_new(f);
}

static void begin_body(struct lower *l, struct around *a, vreg *args, u32 arg_cnt)
{
	check_depth(l, 1);
	enter_body(l, a, args, arg_cnt);
}

/* Returns the function; *leaves is how it can be left. */
static struct ir_func *end_body(struct lower *l, u64 *leaves)
{
	struct around *a = l->around;
	struct ir_func *f = l->b.f;

	if (!ir_is_closed(&l->b))
		ir_jmp(&l->b, l->loop_next);
	ir_place(&l->b, l->loop_next);
	ir_ret(&l->b, opnd_imm(0));
	ir_place(&l->b, l->loop_end);
	ir_ret(&l->b, opnd_imm(1));
	if (l->leaves >> LEAVE_PROBE & 1) {
		ir_place(&l->b, l->leave);
		leave_loop(l, LEAVE_PROBE);
	}
	*leaves = l->leaves;
	lower_forget(l, l->known_first);
	l->around = a->up;
	l->b = a->b;
	l->ctx = a->ctx;
	l->scratch = a->scratch;
	l->frame = a->frame;
	l->leave = a->leave;
	l->leave_plain = a->leave_plain;
	l->loop_next = a->loop_next;
	l->loop_end = a->loop_end;
	l->known_first = a->known_first;
	l->leaves = a->leaves;
	return f;
}

struct mem lower_before_loops(struct lower *l, struct expr *e,
			      struct val (*lower)(struct lower *l, struct expr *e, const struct mem *dst))
{
	struct lower inside = *l;
	struct around *a = l->around;
	u32 mark = lower_mark(l), slot;
	struct mem dst;

	while (a->up)
		a = a->up;
	slot = ir_slot_new_since(l->b.f, e->type->size, 8, a->clock);
	l->around = NULL;
	l->b = a->b;
	l->ctx = a->ctx;
	l->scratch = a->scratch;
	l->known_first = mark; /* which facts hold at that point is not known here */
	dst = (struct mem){ .base = ir_slot_addr(&l->b, slot, 0) };
	lower(l, e, &dst);
	lower_forget(l, mark);
	a->b = l->b;
	l->around = inside.around;
	l->b = inside.b;
	l->ctx = inside.ctx;
	l->scratch = inside.scratch;
	l->known_first = inside.known_first;
	return (struct mem){ .base = ir_slot_addr(&l->b, slot, 0) };
}

static void call_loop(struct lower *l, struct opnd rounds, const struct ir_func *body, u64 leaves)
{
	vreg frame = frame_addr(l);

	ir_call_of(&l->b, HELPER_loop, rounds, opnd_reg(ir_func_addr(&l->b, body)), opnd_reg(frame), opnd_imm(0));
	follow_leaves(l, leaves);
}

void lower_body_begin(struct lower *l, struct lower_body *body, vreg *args, u32 arg_cnt)
{
	enter_body(l, &body->around, args, arg_cnt);
}

vreg lower_body_frame(struct lower *l)
{
	return frame_addr(l);
}

const struct ir_func *lower_body_end(struct lower *l)
{
	u64 leaves;
	const struct ir_func *f = end_body(l, &leaves);

	BUG_ON(leaves);
	return f;
}

void lower_body_loop(struct lower *l, struct opnd rounds, const struct ir_func *body, u32 depth)
{
	check_depth(l, depth);
	call_loop(l, rounds, body, 0);
}

struct ir_func *lower_counter(struct lower *l)
{
	struct ir_build b = { .f = ir_sub_new(l->b.f->main), .span = l->b.span };

	check_depth(l, 1);
	ir_place(&b, ir_block_new(b.f));
	ir_ret(&b, opnd_imm(0));
	return b.f;
}

/* The loops */

void lower_while(struct lower *l, struct stmt *s)
{
	struct ir_block *too_many, *go_on, *body;
	const struct ir_func *f;
	struct around a;
	vreg args[2];
	u64 leaves;
	u32 mark;

	begin_body(l, &a, args, 2);
	too_many = ir_block_new(l->b.f);
	go_on = ir_block_new(l->b.f);
	body = ir_block_new(l->b.f);
	ir_br(&l->b, C_EQ, args[0], opnd_imm(ROUNDS_MAX - 1), too_many, go_on);
	ir_place(&l->b, too_many);
	mark = lower_mark(l);
	lower_runtime_error(l, s->span, "The loop was stopped after 8388607 iterations, the most that a loop can have.");
	lower_forget(l, mark);
	ir_jmp(&l->b, l->loop_end);
	ir_place(&l->b, go_on);
	lower_branch(l, s->loop.cond, body, l->loop_end);
	ir_place(&l->b, body);
	lower_block(l, s->loop.body);
	f = end_body(l, &leaves);
	call_loop(l, opnd_imm(ROUNDS_MAX), f, leaves);
}

static void lower_rounds(struct lower *l, struct stmt *s)
{
	const struct ir_func *f;
	struct around a;
	vreg args[2];
	u64 leaves;

	begin_body(l, &a, args, 2);
	lower_block(l, s->loop.body);
	f = end_body(l, &leaves);
	call_loop(l, opnd_imm(s->loop.rounds), f, leaves);
}

void lower_unroll(struct lower *l, struct stmt *s)
{
	struct ir_block *outer_next = l->loop_next, *outer_end = l->loop_end;
	u32 mark = lower_mark(l);

	if (s->loop.is_loop) {
		lower_rounds(l, s);
		return;
	}
	l->loop_end = ir_block_new(l->b.f);
	for (u64 i = 0; i < s->loop.rounds; i++) {
		l->loop_next = ir_block_new(l->b.f);
		lower_block(l, s->loop.body);
		/* `continue` may skip what the iteration computed */
		lower_forget(l, mark);
		ir_jmp(&l->b, l->loop_next);
		ir_place(&l->b, l->loop_next);
	}
	ir_jmp(&l->b, l->loop_end);
	ir_place(&l->b, l->loop_end);
	l->loop_next = outer_next;
	l->loop_end = outer_end;
}

/* The number of iterations of from..to: a constant, or a scalar whose value the verifier does not know. If it knows (since 6.8)
 * that the number is 0, it treats the body as dead code, removes it, and then fails to find it. */
static struct opnd count_rounds(struct lower *l, struct stmt *s, struct opnd from, struct opnd to, bool is_signed)
{
	struct ir_block *some, *many, *done;
	vreg n, at;
	u32 mark;

	if (from.is_imm && to.is_imm && (is_signed ? from.imm >= to.imm : (u64)from.imm >= (u64)to.imm))
		return opnd_imm(0);
	if (from.is_imm && to.is_imm && (u64)to.imm - from.imm <= ROUNDS_MAX)
		return opnd_imm(to.imm - from.imm);
	some = ir_block_new(l->b.f);
	many = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	n = ir_vreg(l->b.f);
	ir_mov_to(&l->b, n, opnd_imm(0));
	ir_br(&l->b, is_signed ? C_SGT : C_UGT, lower_force(l, to), opnd_reg(lower_force(l, from)), some, done);
	ir_place(&l->b, some);
	ir_alu_to(&l->b, IR_SUB, n, lower_force(l, to), opnd_reg(lower_force(l, from)));
	ir_br(&l->b, C_UGT, n, opnd_imm(ROUNDS_MAX), many, done);
	ir_place(&l->b, many);
	mark = lower_mark(l);
	lower_runtime_error(l, s->for_.from->span, "The range is too long: the loop ends after 8388608 iterations.");
	lower_forget(l, mark);
	ir_mov_to(&l->b, n, opnd_imm(ROUNDS_MAX));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	at = ir_slot_addr(&l->b, ir_slot_new_at(l->b.f, 8, 8, SLOT_IN_SCRATCH), 0);
	ir_store(&l->b, at, 0, 8, opnd_reg(n));
	return opnd_reg(ir_load(&l->b, at, 0, 8));
}

static void lower_range(struct lower *l, struct stmt *s)
{
	struct opnd from = lower_scalar(l, s->for_.from), to = lower_scalar(l, s->for_.to);
	struct opnd rounds = count_rounds(l, s, from, to, s->for_.var->type->is_signed);
	vreg args[2];
	const struct ir_func *f;
	struct around a;
	u32 slot = 0;
	u64 leaves;

	if (rounds.is_imm && !rounds.imm)
		return;
	if (!from.is_imm) {
		slot = ir_slot_new_at(l->b.f, 8, 8, SLOT_IN_SCRATCH);
		ir_store(&l->b, ir_slot_addr(&l->b, slot, 0), 0, 8, from);
	}
	begin_body(l, &a, args, 2);
	if (!from.is_imm)
		from = opnd_reg(ir_load(&l->b, ir_slot_addr(&l->b, slot, 0), 0, 8));
	lower_var_set(l, s->for_.var, opnd_reg(ir_alu(&l->b, IR_ADD, lower_force(l, from), opnd_reg(args[0]))));
	lower_block(l, s->for_.body);
	f = end_body(l, &leaves);
	call_loop(l, rounds, f, leaves);
}

/* The pair ($kv.0, $kv.1) of the current element. It is copied, because the body may delete the element. */
static void take_entry(struct lower *l, const struct map *m, struct var *kv, vreg key, vreg value)
{
	const struct member *k = &kv->type->members[0], *v = &kv->type->members[1];
	struct mem at = lower_var_mem(l, kv), val = { .base = at.base, .off = v->off };
	u32 end = v->off + v->type->size;

	lower_convert(l, (struct mem){ .base = key }, m->key, at, k->type);
	if (v->off > k->type->size)
		lower_zero(l, (struct mem){ .base = at.base, .off = k->type->size }, v->off - k->type->size);
	if (type_is_agg(m->val))
		ir_store(&l->b, val.base, val.off, 8, opnd_reg(lower_map_sum(l, m, at)));
	else
		lower_convert(l, (struct mem){ .base = value }, m->val, val, v->type);
	if (kv->type->size > end)
		lower_zero(l, (struct mem){ .base = at.base, .off = end }, kv->type->size - end);
}

static void lower_entries(struct lower *l, struct stmt *s)
{
	const struct map *m = s->for_.map->map.map;
	const struct ir_func *f;
	struct around a;
	vreg args[4], frame;
	u64 leaves;

	begin_body(l, &a, args, 4); /* map, key, value */
	take_entry(l, m, s->for_.var, args[1], args[2]);
	lower_block(l, s->for_.body);
	f = end_body(l, &leaves);
	frame = frame_addr(l);
	lower_map_each(l, m, f, opnd_reg(frame));
	follow_leaves(l, leaves);
}

void lower_for(struct lower *l, struct stmt *s)
{
	if (s->for_.map)
		lower_entries(l, s);
	else
		lower_range(l, s);
}
