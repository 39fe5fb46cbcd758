/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps: what is common to all ways of storing them. The rest is behind the layers of the map (ir/store.h). */
#include "ir/store.h"

#include "image/uapi.h"
#include "lang/fn.h"
#include "types/agg.h"

static const struct store_code *code_of(const struct layer *y)
{
	return y->store->code;
}

/* A function that the store must have: fits() accepted a map with such a use. */
#define CODE(y, fn)                                                                                                              \
	({                                                                                                                       \
		if (!code_of(y)->fn)                                                                                             \
			BUG("the store %s has no %s()", (y)->store->name, #fn);                                                  \
		code_of(y)->fn;                                                                                                  \
	})

struct mem lower_map_key(struct lower *l, struct expr *e)
{
	const struct map *m = e->map.map;
	struct mem key = lower_temp(l, MAX(1, m->key->size), 8);
	bool outer = l->zero_tails;

	l->zero_tails = true;
	lower_store(l, e->map.key, m->key, key);
	l->zero_tails = outer;
	return key;
}

vreg lower_map_find(struct lower *l, struct expr *e)
{
	struct layer *y = e->map.map->lay.top;

	return code_of(y)->find ? code_of(y)->find(l, y, e) : CODE(y, lookup)(l, y, lower_map_key(l, e));
}

vreg lower_map_each(struct lower *l, const struct map *m, const struct ir_func *callback, struct opnd arg)
{
	return CODE(m->lay.top, each)(l, m->lay.top, ir_func_addr(&l->b, callback), arg);
}

vreg lower_map_whole(struct lower *l, const struct map *m)
{
	return CODE(m->lay.top, whole)(l, m->lay.top);
}

/* Values that were read
 *
 * /@start[tid]/ { … nsecs - @start[tid] … } looks up one element twice; the second time its value is known. The fact is valid
 * until the program changes the map, and only for keys that cannot change during a run. In loops no facts are kept: later
 * statements may have run before. */

bool lower_is_same_key(const struct expr *a, const struct expr *b)
{
	if (a->kind != b->kind || a->type != b->type)
		return false;
	if (a->kind == E_INT || a->kind == E_BOOL || a->kind == E_CONST)
		return a->num.value == b->num.value;
	if (a->kind == E_CALL)
		return a->call.fn == b->call.fn && a->call.fn->flags & FN_PURE && !a->call.arg_cnt && !b->call.arg_cnt;
	if (a->kind != E_TUPLE || a->tuple.cnt != b->tuple.cnt)
		return false;
	for (u32 i = 0; i < a->tuple.cnt; i++)
		if (!lower_is_same_key(a->tuple.elems[i], b->tuple.elems[i]))
			return false;
	return true;
}

static vreg known_value(const struct lower *l, const struct expr *e)
{
	for (u32 i = l->known.cnt; !l->loop_end && i-- > l->known_first;)
		if (l->known.at[i].what == e->map.map &&
		    lower_is_same_key((const struct expr *)(uintptr_t)l->known.at[i].key, e->map.key))
			return l->known.at[i].r;
	return 0;
}

static void know_value(struct lower *l, const struct expr *e, vreg value)
{
	if (!l->loop_end && lower_is_same_key(e->map.key, e->map.key))
		lower_know(l, e->map.map, (uintptr_t)e->map.key, value);
}

/* The entry is not removed: other facts stay valid, and marks index the list. */
void lower_map_forget(struct lower *l, const struct map *m)
{
	vec_for(k, &l->known)
		if (k->what == m)
			k->what = NULL;
}

/* The value of an aggregation, computed in the program. */

/* The number that acc and acc2 stand for. */
static vreg finish_fold(struct lower *l, const struct type *t, vreg acc, vreg acc2)
{
	struct ir_block *some = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d;

	if (!t->agg->number->finish)
		return acc;
	d = ir_vreg(l->b.f);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_NE, acc2, opnd_imm(0), some, done);
	ir_place(&l->b, some);
	ir_mov_to(&l->b, d, opnd_reg(t->agg->number->finish(l, t, acc, acc2)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return d;
}

vreg lower_sum_one(struct lower *l, const struct type *t, struct layer *y, struct mem key)
{
	struct ir_block *found = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg acc = ir_vreg(l->b.f), acc2 = ir_vreg(l->b.f), p;
	u32 mark;

	ir_mov_to(&l->b, acc, opnd_imm(0));
	ir_mov_to(&l->b, acc2, opnd_imm(0));
	p = CODE(y, lookup)(l, y, key);
	mark = lower_mark(l);
	ir_br(&l->b, C_EQ, p, opnd_imm(0), done, found);
	ir_place(&l->b, found);
	t->agg->number->fold(l, t, p, acc, acc2);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return finish_fold(l, t, acc, acc2);
}

vreg lower_sum_shares(struct lower *l, const struct type *t, const struct share_source *s)
{
	struct ir_block *loop = ir_block_new(l->b.f), *next = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg cpu = ir_vreg(l->b.f), acc = ir_vreg(l->b.f), acc2 = ir_vreg(l->b.f);
	u32 mark;

	ir_mov_to(&l->b, cpu, opnd_imm(0));
	ir_mov_to(&l->b, acc, opnd_imm(0));
	ir_mov_to(&l->b, acc2, opnd_imm(0));
	mark = lower_mark(l);
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	t->agg->number->fold(l, t, s->share(l, s, cpu, done), acc, acc2);
	ir_jmp(&l->b, next);
	ir_place(&l->b, next);
	ir_alu_to(&l->b, IR_ADD, cpu, cpu, opnd_imm(1));
	ir_br(&l->b, C_ULT, cpu, opnd_imm(l->c->target->ncpus), loop, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return finish_fold(l, t, acc, acc2);
}

vreg lower_map_sum(struct lower *l, const struct map *m, struct mem key)
{
	return CODE(m->lay.top, read_agg)(l, m->lay.top, m, key);
}

void lower_branch_by_turn(struct lower *l, u32 turn_off, struct ir_block *second)
{
	struct ir_block *first = ir_block_new(l->b.f);
	vreg turn = ir_load(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, turn_off), 0, 8);

	ir_br(&l->b, C_NE, turn, opnd_imm(0), second, first);
	ir_place(&l->b, first);
}

/* Reading */

static vreg seek_by_key(struct lower *l, struct layer *y, struct expr *e, u32 *mark)
{
	vreg p = CODE(y, lookup)(l, y, lower_map_key(l, e));

	*mark = lower_mark(l);
	return p;
}

struct val lower_map_read(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct map *m = e->map.map;
	struct layer *y = m->lay.top;
	struct ir_block *found, *missing, *done;
	bool is_scalar = type_is_scalar(m->val);
	struct mem out = {};
	vreg p, d = 0;
	u32 mark;

	if (type_is_agg(m->val))
		return val_reg(lower_map_sum(l, m, m->has_key ? lower_map_key(l, e) : (struct mem){}));
	if (code_of(y)->read)
		return code_of(y)->read(l, y, e, dst);
	if (is_scalar && !l->c->warns_more && (d = known_value(l, e)))
		return val_reg(d);
	found = ir_block_new(l->b.f);
	missing = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	if (is_scalar)
		d = ir_vreg(l->b.f);
	else
		out = dst ? *dst : lower_temp(l, m->val->size, 8);
	p = code_of(y)->seek ? code_of(y)->seek(l, y, e, d, &mark, missing, done) : seek_by_key(l, y, e, &mark);
	ir_br(&l->b, C_EQ, p, opnd_imm(0), missing, found);
	ir_place(&l->b, found);
	if (is_scalar)
		ir_mov_to(&l->b, d, opnd_reg(lower_load(l, (struct mem){ .base = p }, m->val)));
	else
		lower_copy(l, (struct mem){ .base = p }, out, m->val->size);
	ir_jmp(&l->b, done);
	ir_place(&l->b, missing);
	if (l->c->warns_more)
		lower_helper_error(l, e->span, HELPER_map_lookup_elem, opnd_imm(0),
				   "Can't lookup map element because it does not exist.");
	if (is_scalar)
		ir_mov_to(&l->b, d, opnd_imm(0));
	else
		lower_zero(l, out, m->val->size);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	if (is_scalar)
		know_value(l, e, d);
	return is_scalar ? val_reg(d) : val_mem(out);
}

/* Writing */

void lower_pin_args(struct lower *l, struct expr *call)
{
	for (u32 i = 0; i < call->call.arg_cnt; i++)
		lower_pin(l, call->call.args[i]);
}

void lower_update_at(struct lower *l, struct expr *call, vreg p)
{
	u32 mark = lower_mark(l);

	call->call.fn->update(l, call, (struct mem){ .base = p });
	lower_forget(l, mark);
	for (u32 i = 0; i < call->call.arg_cnt; i++)
		lower_unpin(l, call->call.args[i]);
}

void lower_update_by_key(struct lower *l, struct layer *y, struct expr *e, struct expr *call)
{
	vreg p = ir_vreg(l->b.f);
	struct mem key = lower_map_key(l, e);

	lower_pin_args(l, call);
	lower_map_forget(l, e->map.map);
	CODE(y, element)(l, y, e->map.map, key, p);
	lower_update_at(l, call, p);
}

static void assign_by_key(struct lower *l, struct layer *y, struct expr *e, struct expr *value)
{
	const struct map *m = e->map.map;
	struct mem key, val = lower_temp(l, MAX(1, m->val->size), 8);

	/* The value first: it may read the same map, or hold calls; then the key. */
	lower_store(l, value, m->val, val);
	key = lower_map_key(l, e);
	lower_map_forget(l, m);
	CODE(y, put)(l, y, key, val);
}

void lower_map_assign(struct lower *l, struct expr *target, struct expr *value)
{
	struct layer *y = target->map.map->lay.top;
	bool is_agg = value->kind == E_CALL && (value->call.fn->flags & FN_AGG);

	if (is_agg && code_of(y)->update)
		code_of(y)->update(l, y, target, value);
	else if (is_agg)
		lower_update_by_key(l, y, target, value);
	else if (code_of(y)->assign)
		code_of(y)->assign(l, y, target, value);
	else
		assign_by_key(l, y, target, value);
}

vreg lower_add_at(struct lower *l, vreg p, struct opnd delta, bool want_old)
{
	if (want_old)
		return ir_fetch_add(&l->b, p, 0, delta);
	ir_atomic_add(&l->b, p, 0, 8, delta);
	return 0;
}

vreg lower_add_by_key(struct lower *l, struct layer *y, struct expr *e, struct opnd delta, bool want_old)
{
	vreg p = ir_vreg(l->b.f);
	struct mem key = lower_map_key(l, e);

	lower_map_forget(l, e->map.map);
	CODE(y, element)(l, y, e->map.map, key, p);
	return lower_add_at(l, p, delta, want_old);
}

vreg lower_map_add(struct lower *l, struct expr *target, struct opnd delta, bool want_old)
{
	struct map *m = target->map.map;
	struct layer *y = m->lay.top;

	m->lay.adds_sums |= !delta.is_imm || delta.imm != 1;
	return code_of(y)->add ? code_of(y)->add(l, y, target, delta, want_old) : lower_add_by_key(l, y, target, delta, want_old);
}

vreg lower_remove_by_key(struct lower *l, struct layer *y, struct mem key, bool want_missing)
{
	vreg err = CODE(y, drop)(l, y, key);

	return want_missing ? err : ir_alu(&l->b, IR_XOR, lower_to_bool(l, opnd_reg(err)), opnd_imm(1));
}

vreg lower_map_delete(struct lower *l, struct expr *e, bool want_missing)
{
	struct layer *y = e->map.map->lay.top;
	vreg gone;

	if (code_of(y)->remove)
		gone = code_of(y)->remove(l, y, e, want_missing);
	else
		gone = lower_remove_by_key(l, y, lower_map_key(l, e), want_missing);
	lower_map_forget(l, e->map.map);
	return gone;
}
