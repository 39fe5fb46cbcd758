/* SPDX-License-Identifier: GPL-2.0-only */
/* The placement of stack objects.
 *
 * A BPF program has 512 bytes of stack. Small objects are there; big ones (strings, long keys) are in the scratch area, an array
 * map.
 *
 * For most program types the kernel does not run a program on a CPU where it is already running (prog->active of raw tracepoints,
 * bpf_prog_active of kprobes, tracepoints and perf events): each such program has a private part of the area for each CPU.
 * Programs of uprobes have no such guard: a thread can be preempted inside one, and the next thread on that CPU runs the same
 * program. They share parts: a run acquires one by setting its busy word with compare-and-exchange, and releases it at the end.
 *
 * A program whose loops are callbacks has several functions. Each has its own stack frame, 512 bytes for all that are active at a
 * time; they share one scratch area.
 *
 * Objects of different statements may share memory: slots carry the interval of the lowering clock in which they are in use.
 */
#include "bpf/backend.h"
#include "image/uapi.h"

static bool overlap(const struct ir_slot *a, const struct ir_slot *b)
{
	return a->open < b->close && b->open < a->close;
}

/* Slots that are placed and may overlap later ones. */
struct placed {
	u32 *at, cnt;
	u32 *first_open; /* by slot: the earliest `open` of it and all later slots */
};

static void placed_init(struct placed *p, struct ir_func *f)
{
	u32 first = UINT32_MAX;

	p->at = arena_alloc(&f->mem->pass, (f->slots.cnt + 1) * sizeof(*p->at));
	p->first_open = arena_alloc(&f->mem->pass, (f->slots.cnt + 1) * sizeof(*p->first_open));
	p->cnt = 0;
	for (u32 n = f->slots.cnt; n-- > 0;) {
		first = MIN(first, f->slots.at[n].open);
		p->first_open[n] = first;
	}
}

/* Drops those that overlap neither slot n nor a later one. */
static void placed_trim(struct placed *p, const struct ir_func *f, u32 n)
{
	u32 kept = 0;

	for (u32 k = 0; k < p->cnt; k++)
		if (f->slots.at[p->at[k]].close > p->first_open[n])
			p->at[kept++] = p->at[k];
	p->cnt = kept;
}

/* Places slot n at the lowest offset where it overlaps no slot of the same area that is in use at the same time. Returns its
 * end. */
static u32 place(struct ir_func *f, const struct placed *p, u32 n, u32 base, u32 limit)
{
	struct ir_slot *s = &f->slots.at[n];
	u32 align = MAX(s->align, 8);
	u32 off = ALIGN_UP(base, align);
	bool moved = true;

	while (moved) {
		moved = false;
		for (u32 k = 0; k < p->cnt; k++) {
			struct ir_slot *o = &f->slots.at[p->at[k]];

			if (o->in_scratch != s->in_scratch || (!s->in_scratch && o->owner != s->owner) || !overlap(s, o))
				continue;
			if (off < (u32)o->off + o->size && (u32)o->off < off + s->size) {
				off = ALIGN_UP((u32)o->off + o->size, align);
				moved = true;
			}
		}
		if (off + s->size > limit)
			return UINT32_MAX;
	}
	s->off = off;
	return off + s->size;
}

/* Marks f and all functions that it refers to as used. Returns the maximum call depth. */
static u32 mark_used(struct ir_func *f, bool *slots)
{
	u32 deepest = 0;

	f->is_used = true;
	vec_for(b, &f->blocks) {
		vec_for(i, &(*b)->insns) {
			if (i->op == IR_SLOT)
				slots[i->index] = true;
			if (i->op == IR_FUNC)
				deepest = MAX(deepest, mark_used(f->main->subs.at[i->index], slots));
			/* it passes the area on, even if no slot turns out to be there */
			if (i->op == IR_SCRATCH_AT)
				f->main->scratch_sz = SCRATCH_HEAD;
		}
	}
	return 1 + deepest;
}

static void mark_reached(struct ir_func *f)
{
	if (f->is_used)
		return;
	f->is_used = true;
	vec_for(b, &f->blocks)
		vec_for(i, &(*b)->insns)
			if (i->op == IR_FUNC)
				mark_reached(f->main->subs.at[i->index]);
}

void frame_drop_unused(struct ir_func *f)
{
	f->is_used = false;
	for (u32 i = 0; i < f->subs.cnt; i++)
		f->subs.at[i]->is_used = false;
	mark_reached(f);
}

/* The frames of a call chain share the stack: the deeper the chain, the fewer bytes each frame has for slots. Half of it is for
 * spilled registers. */
static u32 slots_limit(u32 depth)
{
	return depth == 1 ? STACK_FOR_SLOTS : MIN(STACK_FOR_SLOTS, STACK_SZ / depth / 2 / 8 * 8);
}

u32 frame_stack(const struct ir_func *f)
{
	u32 deepest = 0;

	vec_for(b, &f->blocks)
		vec_for(i, &(*b)->insns)
			if (i->op == IR_FUNC)
				deepest = MAX(deepest, frame_stack(f->main->subs.at[i->index]));
	return ALIGN_UP(MAX(1, f->stack_sz), 32) + deepest;
}

void frame_layout(struct ir_func *f)
{
	bool *used = arena_alloc(&f->mem->pass, f->slots.cnt + 1);
	u32 limit = slots_limit(mark_used(f, used)), end;
	struct placed placed;

	placed_init(&placed, f);
	for (u32 n = 0; n < f->slots.cnt; n++) {
		struct ir_slot *s = &f->slots.at[n];

		if (!used[n])
			s->size = 0;

		if (!s->size)
			continue;
		s->size = ALIGN_UP(s->size, 8);
		placed_trim(&placed, f, n);
		placed.at[placed.cnt] = n; /* counts once it is placed */
		if (s->place == SLOT_ON_STACK || (s->place == SLOT_ANYWHERE && s->size <= ON_STACK_MAX)) {
			end = place(f, &placed, n, 0, s->place == SLOT_ON_STACK ? STACK_SZ : limit);
			if (end != UINT32_MAX) {
				s->owner->stack_sz = MAX(s->owner->stack_sz, end);
				placed.cnt++;
				continue;
			}
		}
		s->in_scratch = true;
		end = place(f, &placed, n, SCRATCH_HEAD, UINT32_MAX - 1);
		f->scratch_sz = MAX(f->scratch_sz, end);
		placed.cnt++;
	}
	/* So far offsets grew from 0; on the stack they count down from r10. */
	for (u32 n = 0; n < f->slots.cnt; n++) {
		struct ir_slot *s = &f->slots.at[n];

		if (s->size && !s->in_scratch)
			s->off -= (s32)s->owner->stack_sz;
	}
	f->scratch_sz = ALIGN_UP(f->scratch_sz, 64);
	arena_clear(&f->mem->pass);
}

static struct ir_insn *find_op(struct ir_block *b, enum ir_op op)
{
	vec_for(i, &b->insns)
		if (i->op == op)
			return i;
	return NULL;
}

static void insert_block(struct ir_func *f, u32 at, struct ir_block *b)
{
	avec_push(&f->mem->funcs, &f->blocks, b);
	memmove(&f->blocks.at[at + 1], &f->blocks.at[at], (f->blocks.cnt - 1 - at) * sizeof(*f->blocks.at));
	f->blocks.at[at] = b;
	for (u32 n = 0; n < f->blocks.cnt; n++)
		f->blocks.at[n]->id = n;
}

/* The base of a part points to its busy word; if the part is private, to the first slot, whose address then needs no addition. */
static u32 first_slot(const struct scratch_place *at)
{
	return at->is_shared ? 0 : SCRATCH_HEAD;
}

static vreg cpu_part(struct ir_build *b, const struct scratch_place *at, u32 stride)
{
	vreg cpu = ir_call(b, HELPER_get_smp_processor_id, NULL, 0);

	cpu = ir_alu(b, IR_AND, cpu, opnd_imm(at->cpu_cnt - 1));
	cpu = ir_alu(b, IR_MUL, cpu, opnd_imm(stride));
	return ir_alu(b, IR_ADD, ir_mapval(b, MAP_IDX_SCRATCH, at->off + first_slot(at)), opnd_reg(cpu));
}

/* Replaces the marker at the end of the builder's block by a search: base = a part of this CPU whose busy word could be set. If
 * there is none, the run is counted and given up. */
static void acquire(struct ir_func *f, struct ir_build *bld, const struct ir_insn *mark, const struct scratch_place *at,
		    struct ir_block *go_on)
{
	struct ir_block *try = ir_block_new(f), *next = ir_block_new(f), *give_up = ir_block_new(f);
	vreg base = ir_vreg(f), tries = ir_vreg(f), zero, one, old;
	u32 block = bld->cur->id;

	/* A new register with one definition, so that offsets from it fold. */
	avec_push(&f->mem->code, &go_on->insns, (struct ir_insn){ .op = IR_MOV, .d = mark->d, .a = base, .span = mark->span });
	memmove(&go_on->insns.at[1], &go_on->insns.at[0], (go_on->insns.cnt - 1) * sizeof(*go_on->insns.at));
	go_on->insns.at[0] = (struct ir_insn){ .op = IR_MOV, .d = mark->d, .a = base, .span = mark->span };

	ir_mov_to(bld, base, opnd_reg(cpu_part(bld, at, at->size * SCRATCH_LEVELS)));
	ir_mov_to(bld, tries, opnd_imm(SCRATCH_LEVELS));
	ir_jmp(bld, try);
	insert_block(f, block + 1, try);
	bld->cur = try;
	zero = ir_imm(bld, 0);
	one = ir_imm(bld, 1);
	old = ir_cmpxchg(bld, base, 0, zero, one);
	ir_br(bld, C_EQ, old, opnd_imm(0), go_on, next);
	insert_block(f, block + 2, next);
	bld->cur = next;
	ir_alu_to(bld, IR_ADD, base, base, opnd_imm(at->size));
	ir_alu_to(bld, IR_ADD, tries, tries, opnd_imm(-1));
	ir_br(bld, C_NE, tries, opnd_imm(0), try, give_up);
	insert_block(f, block + 3, give_up);
	bld->cur = give_up;
	ir_atomic_add(bld, ir_mapval(bld, MAP_IDX_DATA, offsetof(struct data_head, scratch_busy)), 0, 8, opnd_imm(1));
	ir_jmp(bld, mark->no);
}

/* The marker becomes the code that finds this run's part. */
static void expand_mark(struct ir_func *f, struct ir_block *b, u32 at_insn, const struct scratch_place *at)
{
	struct ir_block *go_on = ir_block_new(f);
	struct ir_insn mark = b->insns.at[at_insn];
	struct ir_build bld = { .f = f, .cur = b, .span = mark.span };

	for (u32 k = at_insn + 1; k < b->insns.cnt; k++)
		avec_push(&f->mem->code, &go_on->insns, b->insns.at[k]);
	b->insns.cnt = at_insn;
	insert_block(f, b->id + 1, go_on);
	if (at->is_shared) {
		acquire(f, &bld, &mark, at, go_on);
	} else {
		ir_mov_to(&bld, mark.d, opnd_reg(cpu_part(&bld, at, at->size)));
		ir_jmp(&bld, go_on);
	}
}

/* Expands IR_SCRATCH; if no scratch is needed it stays, for the caller to drop. Returns the register that it sets; 0: there is
 * none. */
static vreg expand_scratch(struct ir_func *f, const struct scratch_place *at)
{
	struct ir_block *b = f->scratch_block;
	struct ir_insn *mark = b ? find_op(b, IR_SCRATCH) : NULL;
	vreg base;

	f->scratch_block = NULL;
	if (mark) {
		base = mark->d;
		if (f->main->scratch_sz)
			expand_mark(f, b, mark - b->insns.at, at);
		return base;
	}
	vec_for(pb, &f->blocks) {
		mark = find_op(*pb, IR_SCRATCH_AT);
		if (mark) {
			*mark = (struct ir_insn){ .op = IR_LOAD, .d = mark->d, .a = mark->a, .size = 8, .span = mark->span };
			return mark->d;
		}
	}
	return 0;
}

/* An access relative to a slot on the stack uses r10 itself. A slot's address has one definition by construction. */
static void use_frame(struct ir_func *f)
{
	const struct ir_slot *slots = f->main->slots.at;
	struct ir_insn **slot_of = arena_alloc(&f->mem->pass, (f->vreg_cnt + 1) * sizeof(*slot_of));

	vec_for(b, &f->blocks)
		vec_for(k, &(*b)->insns)
			if (k->op == IR_SLOT)
				slot_of[k->d] = k;
	vec_for(b, &f->blocks) {
		vec_for(k, &(*b)->insns) {
			struct ir_insn *def = k->a ? slot_of[k->a] : NULL;

			if (!def || slots[def->index].in_scratch)
				continue;
			if (k->op == IR_LOAD || k->op == IR_STORE || k->op == IR_ATOMIC_ADD) {
				k->imm += def->imm + slots[def->index].off;
				k->on_stack = true;
				k->a = 0;
			}
		}
	}
	arena_clear(&f->mem->pass);
}

void frame_expand(struct ir_func *f, const struct scratch_place *at)
{
	const struct ir_slot *slots = f->main->slots.at;
	bool is_given_back = f->main->scratch_sz && at->is_shared;
	vreg base;

	use_frame(f);
	base = expand_scratch(f, at);
	vec_for(b, &f->blocks) {
		u32 kept = 0;

		vec_for(k, &(*b)->insns) {
			if (k->op == IR_SCRATCH || (k->op == IR_UNSCRATCH && !is_given_back))
				continue;
			if (k->op == IR_UNSCRATCH)
				*k = (struct ir_insn){ .op = IR_STORE, .a = k->a, .size = 8, .b = opnd_imm(0), .span = k->span };
			/* Scratch slots become base + offset; stack slots keep their op, which emit() turns into r10 + offset. */
			if (k->op == IR_SLOT && slots[k->index].in_scratch) {
				BUG_ON(!base);
				*k = (struct ir_insn){ .op = IR_ADD,
						       .d = k->d,
						       .a = base,
						       .span = k->span,
						       .b = opnd_imm(k->imm + slots[k->index].off - first_slot(at)) };
			} else if (k->op == IR_SLOT) {
				k->imm += slots[k->index].off;
			}
			if (&(*b)->insns.at[kept++] != k)
				(*b)->insns.at[kept - 1] = *k;
		}
		(*b)->insns.cnt = kept;
	}
}
