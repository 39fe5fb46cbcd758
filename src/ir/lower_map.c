/* Maps.
 *
 * A map without key is memory in the data map: a plain value in the shared part, an aggregation in each CPU's part. So is an aggregation by
 * probe. Any other map with key is a hash map whose key has its natural size; many have slots in front (lower_slots.c).
 *
 * Exactness: ++, += and the aggregations never lose an update. On memory, they are atomic instructions. In a hash map, the element is
 * looked up and changed in place atomically; when it is missing, it is inserted only if still missing (BPF_NOEXIST), and when another
 * CPU was faster, the update goes to the element that it inserted. Aggregations are atomic even where each CPU has a value of its own: an interrupt
 * on the same CPU may update it in between. What does not fit is counted and reported at the end: assignments in a counter
 * (map.lost_off); the others in a value of their own that takes all of them (map.spill_off).
 */
#include "ir/lower.h"

#include "bpf/image.h"
#include "fn/fn.h"
#include "kern/uapi.h"
#include "probe/provider.h"

static bool is_scalar_map(const struct map *m)
{
	return m->storage == MAP_SCALAR || m->storage == MAP_SCALAR_PERCPU;
}

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

static vreg lookup_in(struct lower *l, const struct map *m, struct mem key)
{
	vreg map = ir_map(&l->b, m->image_map);

	return ir_call_of(&l->b, HELPER_map_lookup_elem, opnd_reg(map), opnd_reg(lower_addr(l, key)));
}

vreg lower_map_find(struct lower *l, struct expr *e)
{
	const struct map *m = e->map.map;
	struct ir_block *hit, *none, *other, *done;
	struct slot s;
	u32 mark;
	vreg p;

	if (!m->slots.cnt)
		return lookup_in(l, m, lower_map_key(l, e));
	p = ir_vreg(l->b.f);
	hit = ir_block_new(l->b.f);
	none = ir_block_new(l->b.f);
	other = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	s = lower_slot(l, e);
	mark = lower_mark(l);
	lower_slot_look(l, &s, hit, none, other);
	ir_place(&l->b, other);
	ir_mov_to(&l->b, p, opnd_reg(lookup_in(l, m, lower_slot_key(l, &s))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, none);
	ir_mov_to(&l->b, p, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, hit);
	ir_mov_to(&l->b, p, opnd_reg(lower_addr(l, lower_slot_value(&s))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return p;
}

/* What was read
 *
 * /@start[tid]/ { … nsecs - @start[tid] … } looks for one element twice; the second time its value is known. That holds until the program changes
 * the map, and for keys that cannot change in one run. In loops nothing is kept: what stands further down may have run before. */

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
		if (l->known.at[i].what == e->map.map && lower_is_same_key((const struct expr *)(uintptr_t)l->known.at[i].key, e->map.key))
			return l->known.at[i].r;
	return 0;
}

static void know_value(struct lower *l, const struct expr *e, vreg value)
{
	if (!l->loop_end && lower_is_same_key(e->map.key, e->map.key))
		lower_know(l, e->map.map, (uintptr_t)e->map.key, value);
}

/* Not cut off: what is known besides stays so, and other places have counted it. */
static void forget_values(struct lower *l, const struct map *m)
{
	vec_for(k, &l->known)
		if (k->what == m)
			k->what = NULL;
}

static vreg update_in(struct lower *l, const struct map *m, struct mem key, struct mem val)
{
	vreg map = ir_map(&l->b, m->image_map);

	return ir_call_of(&l->b, HELPER_map_update_elem, opnd_reg(map), opnd_reg(lower_addr(l, key)), opnd_reg(lower_addr(l, val)),
			  opnd_imm(BPF_ANY));
}

static void count_lost(struct lower *l, const struct map *m)
{
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, m->lost_off), 0, 8, opnd_imm(1));
}

/* In the scalar maps of which zero is a value like others, a byte says whether anything was assigned. */
static void mark_set(struct lower *l, const struct map *m)
{
	ir_store(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, m->flag_off), 0, 1, opnd_imm(1));
}

/* Aggregations: their value, in the kernel. */

/* acc = what one CPU's slot contributes. */
static void fold_cpu(struct lower *l, const struct type *t, vreg slot, vreg acc, vreg acc2)
{
	vreg v = ir_load(&l->b, slot, 0, 8);

	switch (t->kind) {
	case T_COUNT: case T_SUM:
		ir_alu_to(&l->b, IR_ADD, acc, acc, opnd_reg(v));
		return;
	case T_AVG:
		ir_alu_to(&l->b, IR_ADD, acc, acc, opnd_reg(v));
		ir_alu_to(&l->b, IR_ADD, acc2, acc2, opnd_reg(ir_load(&l->b, slot, 8, 8)));
		return;
	case T_MIN: case T_MAX: {
		struct ir_block *take = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);

		ir_alu_to(&l->b, IR_OR, acc2, acc2, opnd_reg(ir_load(&l->b, slot, 8, 8)));
		ir_br(&l->b, C_UGT, v, opnd_reg(acc), take, done);
		ir_place(&l->b, take);
		ir_mov_to(&l->b, acc, opnd_reg(v));
		ir_jmp(&l->b, done);
		ir_place(&l->b, done);
		return;
	}
	case T_ERROR: case T_NONE: case T_VOID: case T_BOOL: case T_INT: case T_ENUM: case T_POINTER: case T_STRING: case T_BUFFER: case T_ARRAY:
	case T_STRUCT: case T_TUPLE: case T_SITE: case T_KSYM: case T_USYM: case T_TIMESTAMP: case T_STATS: case T_HIST: case T_LHIST: case T_TSERIES:
	case T_INET: case T_MAC: case T_USERNAME: case T_CGROUP_PATH:
	case T_KSTACK: case T_USTACK:
	case T_KIND_CNT:
		break;
	}
	BUG("aggregation of kind %d has no single value", t->kind);
}

/* The number that acc and acc2 stand for. */
static vreg finish_fold(struct lower *l, const struct type *t, vreg acc, vreg acc2)
{
	struct ir_block *some = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg d, v;

	if (t->kind == T_COUNT || t->kind == T_SUM)
		return acc;
	d = ir_vreg(l->b.f);
	ir_mov_to(&l->b, d, opnd_imm(0));
	ir_br(&l->b, C_NE, acc2, opnd_imm(0), some, done);
	ir_place(&l->b, some);
	if (t->kind == T_AVG && t->is_signed) {
		/* The machine divides unsigned numbers: (|total| / count), with the sign put back by x ^ s - s, s being 0 or -1. */
		vreg s = ir_neg(&l->b, ir_alu(&l->b, IR_SHR, acc, opnd_imm(63)));

		v = ir_alu(&l->b, IR_SUB, ir_alu(&l->b, IR_XOR, acc, opnd_reg(s)), opnd_reg(s));
		v = ir_alu(&l->b, IR_DIV, v, opnd_reg(acc2));
		v = ir_alu(&l->b, IR_SUB, ir_alu(&l->b, IR_XOR, v, opnd_reg(s)), opnd_reg(s));
	} else if (t->kind == T_AVG) {
		v = ir_alu(&l->b, IR_DIV, acc, opnd_reg(acc2));
	} else { /* undo agg_rank() */
		v = t->kind == T_MIN ? ir_alu(&l->b, IR_XOR, acc, opnd_imm(-1)) : acc;
		if (t->is_signed)
			v = ir_alu(&l->b, IR_XOR, v, opnd_reg(ir_imm(&l->b, INT64_MIN)));
	}
	ir_mov_to(&l->b, d, opnd_reg(v));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return d;
}

/* All CPUs share one value. */
static vreg read_shared(struct lower *l, const struct map *m, struct mem key)
{
	struct ir_block *found = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg acc = ir_vreg(l->b.f), acc2 = ir_vreg(l->b.f), p;
	u32 mark;

	ir_mov_to(&l->b, acc, opnd_imm(0));
	ir_mov_to(&l->b, acc2, opnd_imm(0));
	p = lookup_in(l, m, key);
	mark = lower_mark(l);
	ir_br(&l->b, C_EQ, p, opnd_imm(0), done, found);
	ir_place(&l->b, found);
	fold_cpu(l, m->val, p, acc, acc2);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return finish_fold(l, m->val, acc, acc2);
}

vreg lower_map_sum(struct lower *l, const struct map *m, struct mem key)
{
	const struct data_layout *lay = &l->image->data;
	struct ir_block *loop, *next, *done;
	vreg cpu, acc, acc2;
	u32 mark;

	if (m->storage == MAP_HASH)
		return read_shared(l, m, key);
	loop = ir_block_new(l->b.f);
	next = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	cpu = ir_vreg(l->b.f);
	acc = ir_vreg(l->b.f);
	acc2 = ir_vreg(l->b.f);
	ir_mov_to(&l->b, cpu, opnd_imm(0));
	ir_mov_to(&l->b, acc, opnd_imm(0));
	ir_mov_to(&l->b, acc2, opnd_imm(0));
	mark = lower_mark(l);
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	if (m->has_key) {
		struct ir_block *found = ir_block_new(l->b.f);
		vreg slot = ir_call_of(&l->b, HELPER_map_lookup_percpu_elem, opnd_reg(ir_map(&l->b, m->image_map)),
				       opnd_reg(lower_addr(l, key)), opnd_reg(cpu));

		ir_br(&l->b, C_EQ, slot, opnd_imm(0), done, found);
		ir_place(&l->b, found);
		fold_cpu(l, m->val, slot, acc, acc2);
	} else {
		vreg off = ir_alu(&l->b, IR_MUL, cpu, opnd_imm(lay->cpu_sz));

		fold_cpu(l, m->val, ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_DATA, lay->shared_sz + m->data_off), opnd_reg(off)), acc, acc2);
	}
	ir_jmp(&l->b, next);
	ir_place(&l->b, next);
	ir_alu_to(&l->b, IR_ADD, cpu, cpu, opnd_imm(1));
	ir_br(&l->b, C_ULT, cpu, opnd_imm(l->c->target->ncpus), loop, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return finish_fold(l, m->val, acc, acc2);
}

/* Reading */

/* d = the value, if it is in the key's slot. Otherwise the code goes on with what the hash map has. *mark: what is known in either case. */
static vreg read_slot(struct lower *l, struct expr *e, vreg d, u32 *mark, struct ir_block *missing, struct ir_block *done)
{
	struct ir_block *hit = ir_block_new(l->b.f), *other = ir_block_new(l->b.f);
	const struct map *m = e->map.map;
	struct slot s = lower_slot(l, e);

	*mark = lower_mark(l);
	lower_slot_look(l, &s, hit, missing, other);
	ir_place(&l->b, hit);
	ir_mov_to(&l->b, d, opnd_reg(lower_load(l, lower_slot_value(&s), m->val)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, other);
	return lookup_in(l, m, lower_slot_key(l, &s));
}

struct val lower_map_read(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct map *m = e->map.map;
	struct ir_block *found, *missing, *done;
	bool is_scalar = type_is_scalar(m->val);
	struct mem out = {};
	vreg p, d = 0;
	u32 mark;

	if (type_is_agg(m->val))
		return val_reg(lower_map_sum(l, m, m->has_key ? lower_map_key(l, e) : (struct mem){}));
	if (is_scalar_map(m)) {
		struct mem at = { .base = ir_mapval(&l->b, MAP_IDX_DATA, m->data_off) };

		return is_scalar ? val_reg(lower_load(l, at, m->val)) : val_mem(at);
	}
	if (is_scalar && !l->c->warns_more && (d = known_value(l, e)))
		return val_reg(d);
	found = ir_block_new(l->b.f);
	missing = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	if (is_scalar)
		d = ir_vreg(l->b.f);
	else
		out = dst ? *dst : lower_temp(l, m->val->size, 8);
	if (m->slots.cnt) {
		p = read_slot(l, e, d, &mark, missing, done);
	} else {
		p = lookup_in(l, m, lower_map_key(l, e));
		mark = lower_mark(l);
	}
	ir_br(&l->b, C_EQ, p, opnd_imm(0), missing, found);
	ir_place(&l->b, found);
	if (is_scalar)
		ir_mov_to(&l->b, d, opnd_reg(lower_load(l, (struct mem){ .base = p }, m->val)));
	else
		lower_copy(l, (struct mem){ .base = p }, out, m->val->size);
	ir_jmp(&l->b, done);
	ir_place(&l->b, missing);
	if (l->c->warns_more)
		lower_helper_error(l, e->span, HELPER_map_lookup_elem, opnd_imm(0), "Can't lookup map element because it does not exist.");
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

static void check_full(struct lower *l, const struct map *m, vreg err)
{
	struct ir_block *lost = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);

	ir_br(&l->b, C_NE, err, opnd_imm(0), lost, done);
	ir_place(&l->b, lost);
	count_lost(l, m);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

/* *p = the address of the element with this key. Goes to found, or to missing. */
static void look_for(struct lower *l, vreg map, vreg key, vreg p, struct ir_block *found, struct ir_block *missing)
{
	ir_mov_to(&l->b, p, opnd_reg(ir_call_of(&l->b, HELPER_map_lookup_elem, opnd_reg(map), opnd_reg(key))));
	ir_br(&l->b, C_NE, p, opnd_imm(0), found, missing);
}

/* A missing element is inserted, zeroed, unless another CPU is faster, and looked up again: nobody removes what was just inserted (and if somebody does, the
 * update may go the way of the element). What does not fit goes to the map's spill slot, where it is counted. */
static void insert_missing(struct lower *l, const struct map *m, vreg map, vreg key, vreg p, struct ir_block *found)
{
	struct ir_block *full = ir_block_new(l->b.f);
	vreg zeroes = ir_mapval(&l->b, MAP_IDX_CONST, lower_const_zeroes(l, m->val->size));

	ir_call_of(&l->b, HELPER_map_update_elem, opnd_reg(map), opnd_reg(key), opnd_reg(zeroes), opnd_imm(BPF_NOEXIST));
	look_for(l, map, key, p, found, full);
	ir_place(&l->b, full);
	ir_mov_to(&l->b, p, opnd_reg(ir_mapval(&l->b, MAP_IDX_DATA, m->spill_off)));
	ir_jmp(&l->b, found);
}

/* The address of the element with this key, in *p: that of a new one, if need be. The code goes on with *p set. */
static void find_or_insert_in(struct lower *l, const struct map *m, struct mem key, vreg p)
{
	struct ir_block *missing = ir_block_new(l->b.f), *found = ir_block_new(l->b.f);
	vreg map = ir_map(&l->b, m->image_map), at = lower_addr(l, key);
	u32 mark = lower_mark(l);

	look_for(l, map, at, p, found, missing);
	ir_place(&l->b, missing);
	insert_missing(l, m, map, at, p, found);
	ir_place(&l->b, found);
	lower_forget(l, mark);
}

/* The same where the key ends in a stack: short ones have a map of their own. What comes after the first look is one piece of code for both maps, which are in a
 * register there: the kernel calls what works on the map through a pointer then, and a key is new only once. */
static void find_or_insert_stack(struct lower *l, const struct map *m, struct mem key, vreg p)
{
	struct ir_block *few = ir_block_new(l->b.f), *many = ir_block_new(l->b.f), *missing = ir_block_new(l->b.f), *found = ir_block_new(l->b.f);
	vreg map = ir_vreg(l->b.f), at = lower_addr(l, key);
	u32 mark = lower_mark(l);

	ir_br(&l->b, C_ULE, lower_frames(l, (struct mem){ key.base, key.off + m->short_cnt_off }), opnd_imm(m->short_max), few, many);
	ir_place(&l->b, few);
	ir_mov_to(&l->b, map, opnd_reg(ir_map(&l->b, m->short_map)));
	look_for(l, map, at, p, found, missing);
	ir_place(&l->b, many);
	ir_mov_to(&l->b, map, opnd_reg(ir_map(&l->b, m->image_map)));
	look_for(l, map, at, p, found, missing);
	ir_place(&l->b, missing);
	insert_missing(l, m, map, at, p, found);
	ir_place(&l->b, found);
	lower_forget(l, mark);
}

static void find_or_insert(struct lower *l, const struct map *m, struct mem key, vreg p)
{
	forget_values(l, m);
	if (m->short_map)
		find_or_insert_stack(l, m, key, p);
	else
		find_or_insert_in(l, m, key, p);
}

/* MAP_SITES_PERCPU: nothing to look up. */
static void update_of_site(struct lower *l, const struct map *m, struct expr *key, struct expr *call)
{
	struct ir_block *known = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	struct opnd site = lower_scalar(l, key);
	struct mem at = { .base = lower_cpu_data(l), .off = m->data_off };
	u32 mark = lower_mark(l);

	if (site.is_imm) {
		at.off += site.imm * m->val->size;
		call->call.fn->update(l, call, at);
		return;
	}
	/* It always is; the verifier wants to see it. */
	ir_br(&l->b, C_ULT, site.r, opnd_imm(m->max_entries), known, done);
	ir_place(&l->b, known);
	at.base = ir_alu(&l->b, IR_ADD, at.base, opnd_reg(ir_alu(&l->b, IR_MUL, site.r, opnd_imm(m->val->size))));
	call->call.fn->update(l, call, at);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
}

/* Where it would not pay, the hash map alone will do: user space adds both up. */
static bool uses_slot(const struct lower *l, const struct map *m)
{
	return m->slots.cnt && !unit_is_rare(l->unit);
}

/* Ends what looked for an element: *p is the value in the slot for those who come by `mine`; others have set it. */
static void meet_at_slot(struct lower *l, const struct slot *s, vreg p, struct ir_block *mine)
{
	struct ir_block *done = ir_block_new(l->b.f);

	ir_jmp(&l->b, done);
	ir_place(&l->b, mine);
	ir_mov_to(&l->b, p, opnd_reg(lower_addr(l, lower_slot_value(s))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

/* In the key's slot, or in the hash map. */
static void find_or_insert_behind(struct lower *l, const struct map *m, const struct slot *s, vreg p)
{
	struct ir_block *mine = ir_block_new(l->b.f), *other = ir_block_new(l->b.f);

	lower_slot_claim(l, s, mine, other);
	ir_place(&l->b, other);
	find_or_insert_in(l, m, lower_slot_key(l, s), p);
	meet_at_slot(l, s, p, mine);
}

/* The same where the kernel's number can stand for the stack in the key. */
static void find_or_insert_by_stack_id(struct lower *l, const struct map *m, struct mem key, const struct stack_id *id, vreg p)
{
	struct ir_block *mine = ir_block_new(l->b.f), *other = ir_block_new(l->b.f);
	u32 mark = lower_mark(l);
	struct slot s;

	lower_stack_id_claim(l, key, id, &s, mine, other);
	ir_place(&l->b, other);
	lower_stack_id_frames(l, id);
	find_or_insert(l, m, key, p);
	lower_forget(l, mark);
	meet_at_slot(l, &s, p, mine);
}

/* Aggregations: the element is updated in place. */
static void update_agg(struct lower *l, struct expr *target, struct expr *call)
{
	const struct map *m = target->map.map;
	bool has_slot = uses_slot(l, m), is_by_stack = has_slot && m->stack_ids.cnt;
	vreg p = ir_vreg(l->b.f);
	struct stack_id id = {};
	struct mem key = {};
	struct slot s;
	u32 mark;

	if (m->storage == MAP_SCALAR_PERCPU) {
		call->call.fn->update(l, call, (struct mem){ .base = lower_cpu_data(l), .off = m->data_off });
		if (m->val->kind == T_SUM)
			mark_set(l, m);
		return;
	}
	if (m->storage == MAP_SITES_PERCPU) {
		update_of_site(l, m, target->map.key, call);
		return;
	}
	if (is_by_stack)
		key = lower_key_by_stack_id(l, target, &id);
	else if (has_slot)
		s = lower_slot(l, target);
	else
		key = lower_map_key(l, target);
	/* Arguments are evaluated before: they may call helpers, and the less that happens with the element in hand the better. */
	for (u32 i = 0; i < call->call.arg_cnt; i++)
		lower_pin(l, call->call.args[i]);
	if (id.r)
		find_or_insert_by_stack_id(l, m, key, &id, p);
	else if (has_slot && !is_by_stack)
		find_or_insert_behind(l, m, &s, p);
	else
		find_or_insert(l, m, key, p);
	mark = lower_mark(l);
	call->call.fn->update(l, call, (struct mem){ .base = p });
	lower_forget(l, mark);
	for (u32 i = 0; i < call->call.arg_cnt; i++)
		lower_unpin(l, call->call.args[i]);
}

static void assign_to_slot(struct lower *l, struct expr *target, struct expr *value)
{
	const struct map *m = target->map.map;
	struct ir_block *mine = ir_block_new(l->b.f), *other = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg v = ir_vreg(l->b.f);
	struct mem key, val;
	struct slot s;
	u32 mark;

	/* A register of its own: the key may change a variable. */
	ir_mov_to(&l->b, v, lower_scalar(l, value));
	s = lower_slot(l, target);
	forget_values(l, m);
	mark = lower_mark(l);
	lower_slot_claim(l, &s, mine, other);
	ir_place(&l->b, other);
	key = lower_slot_key(l, &s);
	val = lower_temp(l, m->val->size, 8);
	ir_store(&l->b, val.base, val.off, m->val->size, opnd_reg(v));
	check_full(l, m, update_in(l, m, key, val));
	ir_jmp(&l->b, done);
	ir_place(&l->b, mine);
	lower_slot_fill(l, &s, v);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
}

void lower_map_assign(struct lower *l, struct expr *target, struct expr *value)
{
	const struct map *m = target->map.map;
	struct mem key, val;

	if (value->kind == E_CALL && (value->call.fn->flags & FN_AGG)) {
		update_agg(l, target, value);
		return;
	}
	if (is_scalar_map(m)) {
		lower_store_over(l, value, m, m->val, (struct mem){ .base = ir_mapval(&l->b, MAP_IDX_DATA, m->data_off) });
		mark_set(l, m);
		return;
	}
	if (m->slots.cnt) {
		assign_to_slot(l, target, value);
		return;
	}
	/* The value first: it may read the same map, or hold calls; then the key. */
	val = lower_temp(l, MAX(1, m->val->size), 8);
	lower_store(l, value, m->val, val);
	key = lower_map_key(l, target);
	forget_values(l, m);
	check_full(l, m, update_in(l, m, key, val));
}

vreg lower_map_add(struct lower *l, struct expr *target, struct opnd delta, bool want_old)
{
	struct map *m = target->map.map;
	vreg p, old = 0;

	if (is_scalar_map(m)) {
		p = ir_mapval(&l->b, MAP_IDX_DATA, m->data_off);
		if (want_old)
			old = ir_fetch_add(&l->b, p, 0, delta);
		else
			ir_atomic_add(&l->b, p, 0, 8, delta);
		mark_set(l, m);
		return old;
	}
	m->spills_sums |= !delta.is_imm || delta.imm != 1;
	p = ir_vreg(l->b.f);
	if (uses_slot(l, m)) {
		struct slot s = lower_slot(l, target);

		find_or_insert_behind(l, m, &s, p);
	} else {
		find_or_insert(l, m, lower_map_key(l, target), p);
	}
	if (want_old)
		return ir_fetch_add(&l->b, p, 0, delta);
	ir_atomic_add(&l->b, p, 0, 8, delta);
	return 0;
}

/* Takes away every CPU's share of an aggregation without key. Returns 1 if there was something; of a histogram, always. */
static vreg clear_shares(struct lower *l, const struct map *m)
{
	const struct data_layout *lay = &l->image->data;
	struct ir_block *loop = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	bool is_hist = m->val->kind == T_HIST || m->val->kind == T_LHIST || m->val->kind == T_TSERIES;
	vreg cpu = ir_vreg(l->b.f), any = ir_vreg(l->b.f), slot;
	u32 mark;

	ir_mov_to(&l->b, cpu, opnd_imm(0));
	if (m->val->kind == T_SUM) /* which may well be 0 */
		ir_mov_to(&l->b, any, opnd_reg(ir_load(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, m->flag_off), 0, 1)));
	else
		ir_mov_to(&l->b, any, opnd_imm(is_hist));
	mark = lower_mark(l);
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	slot = ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_DATA, lay->shared_sz + m->data_off),
		      opnd_reg(ir_alu(&l->b, IR_MUL, cpu, opnd_imm(lay->cpu_sz))));
	if (!is_hist && m->val->kind != T_SUM) /* the last word is a count, or "is set" */
		ir_alu_to(&l->b, IR_OR, any, any, opnd_reg(ir_load(&l->b, slot, m->val->size - 8, 8)));
	lower_zero(l, (struct mem){ .base = slot }, m->val->size);
	ir_alu_to(&l->b, IR_ADD, cpu, cpu, opnd_imm(1));
	ir_br(&l->b, C_ULT, cpu, opnd_imm(l->c->target->ncpus), loop, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return lower_to_bool(l, opnd_reg(any));
}

static vreg delete_in(struct lower *l, const struct map *m, struct mem key, bool want_missing)
{
	vreg err = ir_call_of(&l->b, HELPER_map_delete_elem, opnd_reg(ir_map(&l->b, m->image_map)), opnd_reg(lower_addr(l, key)));

	return want_missing ? err : ir_alu(&l->b, IR_XOR, lower_to_bool(l, opnd_reg(err)), opnd_imm(1));
}

static vreg delete_from_slot(struct lower *l, struct expr *e, bool want_missing)
{
	const struct map *m = e->map.map;
	struct ir_block *hit = ir_block_new(l->b.f), *none = ir_block_new(l->b.f), *other = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	struct slot s = lower_slot(l, e);
	vreg r = ir_vreg(l->b.f);
	u32 mark = lower_mark(l);

	lower_slot_look(l, &s, hit, none, other);
	ir_place(&l->b, other);
	ir_mov_to(&l->b, r, opnd_reg(delete_in(l, m, lower_slot_key(l, &s), want_missing)));
	ir_jmp(&l->b, done);
	ir_place(&l->b, none);
	ir_mov_to(&l->b, r, opnd_imm(want_missing));
	ir_jmp(&l->b, done);
	ir_place(&l->b, hit);
	if (want_missing) {
		lower_slot_empty(l, &s);
		ir_mov_to(&l->b, r, opnd_imm(0));
	} else { /* who asks may depend on it that only one is told */
		ir_mov_to(&l->b, r, opnd_reg(lower_slot_empty_once(l, &s)));
	}
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
	return r;
}

vreg lower_map_delete(struct lower *l, struct expr *e, bool want_missing)
{
	const struct map *m = e->map.map;
	vreg gone;

	if (is_scalar_map(m)) {
		vreg had = m->storage == MAP_SCALAR_PERCPU ? clear_shares(l, m)
							   : ir_load(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, m->flag_off), 0, 1);

		if (m->storage == MAP_SCALAR)
			lower_zero(l, (struct mem){ .base = ir_mapval(&l->b, MAP_IDX_DATA, m->data_off) }, m->val->size);
		ir_store(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, m->flag_off), 0, 1, opnd_imm(0));
		return want_missing ? ir_alu(&l->b, IR_XOR, had, opnd_imm(1)) : had;
	}
	gone = m->slots.cnt ? delete_from_slot(l, e, want_missing) : delete_in(l, m, lower_map_key(l, e), want_missing);
	forget_values(l, m);
	return gone;
}
