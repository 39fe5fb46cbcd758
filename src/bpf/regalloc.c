/* SPDX-License-Identifier: GPL-2.0-only */
/* Linear-scan register allocation.
 *
 * Instructions are numbered in layout order; instruction n reads at position 2n and writes at 2n + 1. A virtual register is live
 * in a list of ranges of positions; between them (in a branch that does not need it) others may use its machine register.
 * Registers are visited by their first position; each gets a machine register that no other one has at the same time and that is
 * not clobbered while it is live: a call clobbers r0–r5, so a value that is live across one goes to r6–r9. Hints remove moves: a
 * value whose last use is argument k of a call prefers r<k>, a sum prefers the register of its left side.
 *
 * When no register is left, the cheapest interval is spilled: each of its uses gets a short-lived register loaded from the stack
 * (or computed again, where that is one instruction), and the scan starts over. The verifier tracks spilled pointers, as long as
 * they are stored whole and aligned.
 */
#include "bpf/backend.h"

enum { R_CNT = 10, NO_REG = 255 };
enum { CALLER_SAVED = 0x3f };
enum { FIRST_POS = 2 };

struct range {
	u32 start, end; /* both included */
	u32 next;       /* the next range, which does not overlap; 0: none */
};

struct interval {
	u32 start, end; /* first and last position; start > end: never used */
	u32 ranges;     /* the first of its ranges that does not end before the scan's position */
	u32 weight;     /* uses and definitions */
	vreg same_as;   /* prefers the register of this one */
	vreg becomes;   /* its last use is as the left side of this one */
	u16 forbidden;  /* machine registers that are clobbered inside it */
	u8 reg;
	s8 hint;
	bool is_tested; /* a branch depends on it */
};

struct alloc {
	struct ir_func *f;
	struct arena *arena; /* of this attempt */
	struct interval *iv;
	u32 iv_cnt, pos_cnt;
	vec(struct range) ranges; /* number 0 is none */
	u32 given_cnt;            /* later registers were made for spilled values: they must not be spilled themselves */
};

static u16 usable_regs(void)
{
	return CALLER_SAVED | (((1u << CALLEE_SAVED_CNT) - 1) << 6);
}

/* Ranges are added from the last to the first. Overlapping ones, as at block boundaries, are merged. Adjacent ones stay separate:
 * a call may read a register at one position and write it at the next, and does not clobber it. */
static void add_range(struct alloc *al, struct interval *iv, u32 start, u32 end)
{
	struct range *next = &al->ranges.at[iv->ranges];

	iv->start = start;
	iv->end = MAX(iv->end, end);
	if (iv->ranges && end >= next->start) {
		next->start = start;
		next->end = MAX(next->end, end);
		return;
	}
	avec_push(al->arena, &al->ranges, (struct range){ start, end, iv->ranges });
	iv->ranges = al->ranges.cnt - 1;
}

/* Whether an interval overlaps another one, at whose start the scan is. Ranges that end before that are not visited again. */
static bool intersect(const struct alloc *al, const struct interval *at, struct interval *other)
{
	const struct range *ranges = al->ranges.at;
	u32 i = at->ranges, k;

	while (other->ranges && ranges[other->ranges].end < at->start)
		other->ranges = ranges[other->ranges].next;
	for (k = other->ranges; i && k;) {
		const struct range *x = &ranges[i], *y = &ranges[k];

		if (x->start <= y->end && y->start <= x->end)
			return true;
		if (x->end < y->start)
			i = x->next;
		else
			k = y->next;
	}
	return false;
}

static bool is_commutative(enum ir_op op)
{
	return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR;
}

static bool is_two_address(enum ir_op op)
{
	return (op >= IR_ADD && op <= IR_SAR) || op == IR_NEG || op == IR_PLAIN || op == IR_ZEXT || op == IR_SEXT ||
		op == IR_BSWAP || op == IR_MOV;
}

static void note_hints(struct alloc *al, const struct ir_insn *i)
{
	vreg uses[8];
	u32 n = ir_uses(i, uses);

	for (u32 u = 0; u < n; u++)
		al->iv[uses[u]].weight++;
	if (i->d) {
		struct interval *d = &al->iv[i->d];

		d->weight++;
		if (is_two_address(i->op) && !d->same_as)
			d->same_as = i->a;
		/* … and the other way round: a value that is moved prefers the destination's register. */
		if (i->op == IR_MOV && !al->iv[i->a].same_as)
			al->iv[i->a].same_as = i->d;
		if (is_two_address(i->op) && !al->iv[i->a].becomes)
			al->iv[i->a].becomes = i->d;
		if (i->op == IR_FETCH_ADD)
			d->same_as = i->b.r;
		if (i->op == IR_CALL || i->op == IR_CMPXCHG)
			d->hint = 0;
		if (i->op == IR_CTX)
			d->hint = 1;
		if (i->op == IR_ARG)
			d->hint = i->index + 1;
	}
	for (u32 k = 0; k < i->arg_cnt; k++)
		if (!i->args[k].is_imm)
			al->iv[i->args[k].r].hint = k + 1;
	if (i->op == IR_RET && !i->b.is_imm)
		al->iv[i->b.r].hint = 0;
	if (i->op == IR_CMPXCHG)
		al->iv[i->c].hint = 0;
	if (i->op == IR_BR)
		al->iv[i->a].is_tested = true;
}

/* The end of the range that is open for a register; 0: none is. And the list of registers that are or were open, so that not all
 * are searched. */
struct open_ranges {
	u32 *end;
	vreg *touched;
	u32 touched_cnt;
};

static void set_end(struct open_ranges *o, vreg v, u32 pos)
{
	if (!o->end[v])
		o->touched[o->touched_cnt++] = v;
	o->end[v] = MAX(o->end[v], pos);
}

/* The next position, from the current one on, at which registers are clobbered. */
struct destroyers {
	u32 call, cmpxchg;
};

static void add_live(struct alloc *al, vreg v, u32 start, u32 end, const struct destroyers *next)
{
	struct interval *iv = &al->iv[v];

	/* Strictly inside: an interval that begins or ends there is not affected. */
	if (next->call < end)
		iv->forbidden |= CALLER_SAVED;
	if (next->cmpxchg < end)
		iv->forbidden |= 1;
	add_range(al, iv, start, end);
}

/* Registers that an instruction excludes because of how it uses its operands. */
static void forbid_operands(struct alloc *al, const struct ir_insn *i)
{
	/* the later arguments are still in their registers */
	if (i->op == IR_ARG)
		al->iv[i->d].forbidden |= 0x3f & ~((1u << (i->index + 2)) - 1);
	/* address and new value are read after r0 was set up */
	if (i->op == IR_CMPXCHG) {
		if (i->a)
			al->iv[i->a].forbidden |= 1;
		al->iv[i->b.r].forbidden |= 1;
	}
}

/* Goes through a block from its end, which is at position pos. */
static void build_block(struct alloc *al, struct ir_block *b, u32 pos, struct open_ranges *o, struct destroyers *next)
{
	o->touched_cnt = 0;
	for (u32 n = 0; n < b->live_out_cnt; n++)
		set_end(o, b->live_out[n], pos - 1);
	for (u32 k = b->insns.cnt; k-- > 0;) {
		const struct ir_insn *i = &b->insns.at[k];
		vreg uses[8];
		u32 n = ir_uses(i, uses);

		pos -= 2;
		forbid_operands(al, i);
		if (i->d) {
			add_live(al, i->d, pos + 1, MAX(o->end[i->d], pos + 1), next);
			o->end[i->d] = 0;
		}
		for (u32 u = 0; u < n; u++)
			set_end(o, uses[u], pos);
		/* d = a - b is emitted as d = a; d -= b: b must stay live across the move. */
		if (is_two_address(i->op) && !i->b.is_imm && i->b.r && !is_commutative(i->op) && i->d != i->a)
			set_end(o, i->b.r, pos + 1);
		/* The old value replaces the operand in its register: the address must not be there. */
		if (i->op == IR_FETCH_ADD && i->a)
			set_end(o, i->a, pos + 1);
		if (i->op == IR_CALL)
			next->call = pos;
		if (i->op == IR_CMPXCHG)
			next->cmpxchg = pos;
	}
	/* values that are live into the block are live before its first instruction */
	for (u32 n = 0; n < o->touched_cnt; n++) {
		vreg v = o->touched[n];

		if (o->end[v])
			add_live(al, v, pos - 1, o->end[v], next);
		o->end[v] = 0;
	}
}

/* The most register accesses in one block. */
static u32 touched_max(const struct alloc *al)
{
	u32 most = 0;

	vec_for(b, &al->f->blocks)
		most = MAX(most, (*b)->insns.cnt);
	return al->iv_cnt + most;
}

static void build_intervals(struct alloc *al)
{
	struct ir_func *f = al->f;
	struct destroyers next = { UINT32_MAX, UINT32_MAX };
	struct open_ranges open;
	u32 pos = FIRST_POS;

	al->iv_cnt = f->vreg_cnt + 1;
	al->iv = arena_alloc(al->arena, al->iv_cnt * sizeof(*al->iv));
	open.end = arena_alloc(al->arena, al->iv_cnt * sizeof(*open.end));
	/* A register can be opened again behind its definition: once more for each. */
	open.touched = arena_alloc(al->arena, touched_max(al) * sizeof(*open.touched));
	for (u32 v = 0; v < al->iv_cnt; v++)
		al->iv[v] = (struct interval){ .start = UINT32_MAX, .hint = -1, .reg = NO_REG };
	ir_liveness(f);
	vec_for(b, &f->blocks) {
		/* from the end of each block: of two conflicting hints, the later one counts */
		for (u32 k = (*b)->insns.cnt; k-- > 0;)
			note_hints(al, &(*b)->insns.at[k]);
		pos += 2 * (*b)->insns.cnt;
	}
	al->pos_cnt = pos;
	al->ranges.at = NULL;
	al->ranges.cnt = al->ranges.cap = 0;
	avec_push(al->arena, &al->ranges, (struct range){});
	for (u32 n = f->blocks.cnt; n-- > 0;) {
		build_block(al, f->blocks.at[n], pos, &open, &next);
		pos -= 2 * f->blocks.at[n]->insns.cnt;
	}
}

/* The registers that are live anywhere, by their first position. Returns how many there are. */
static u32 sort_by_start(const struct alloc *al, vreg *order)
{
	vreg *first_at = arena_alloc(al->arena, al->pos_cnt * sizeof(*first_at)),
	     *next = arena_alloc(al->arena, al->iv_cnt * sizeof(*next));
	u32 cnt = 0;

	for (vreg v = al->iv_cnt - 1; v > 0; v--) {
		const struct interval *iv = &al->iv[v];

		if (iv->start > iv->end)
			continue;
		next[v] = first_at[iv->start];
		first_at[iv->start] = v;
	}
	for (u32 pos = 0; pos < al->pos_cnt; pos++)
		for (vreg v = first_at[pos]; v; v = next[v])
			order[cnt++] = v;
	return cnt;
}

static bool is_fresh(const struct alloc *al, vreg v)
{
	return v > al->given_cnt;
}

/* The cost of spilling per position of register pressure that it removes: the smallest is the best to spill. */
static u64 spill_cost(const struct alloc *al, vreg v)
{
	const struct interval *iv = &al->iv[v];

	if (is_fresh(al, v))
		return UINT64_MAX;
	return ((u64)iv->weight << 20) / (iv->end - iv->start + 1);
}

static u8 pick(const struct alloc *al, const struct interval *iv, u16 free)
{
	const struct interval *like = iv->same_as ? &al->iv[iv->same_as] : NULL,
			      *next = iv->becomes ? &al->iv[iv->becomes] : NULL;

	if (!free)
		return NO_REG;
	if (iv->hint >= 0 && (free >> iv->hint & 1))
		return iv->hint;
	if (like && like->reg != NO_REG && (free >> like->reg & 1))
		return like->reg;
	/* An ignored result may be anything in r0. Put the tested value in r0: no exit has to set it, and r0 is a scalar on every
	 * path, so the verifier can merge states. */
	if (al->f->is_result_free && iv->is_tested && (free & 1))
		return 0;
	/* Its successor has no register yet, but not every one is possible: if it is live across a call, prefer a register that
	 * the successor can have. */
	if (next && next->reg == NO_REG && iv->end < next->start && (free & ~next->forbidden))
		free &= ~next->forbidden;
	/* r5 to r1: the low ones are needed for arguments first. r0 last: results arrive there. */
	for (int r = 5; r >= 1; r--)
		if (free >> r & 1)
			return r;
	for (u8 r = 6; r < R_CNT; r++)
		if (free >> r & 1)
			return r;
	return 0;
}

/* One scan. Returns 0, or the register to spill. */
static vreg scan(struct alloc *al)
{
	vreg *order = arena_alloc(al->arena, al->iv_cnt * sizeof(*order));
	vreg *active = arena_alloc(al->arena, al->iv_cnt * sizeof(*active));
	u32 cnt = sort_by_start(al, order), active_cnt = 0;

	for (u32 n = 0; n < cnt; n++) {
		struct interval *iv = &al->iv[order[n]];
		u16 free = usable_regs() & ~iv->forbidden;
		u32 kept = 0;

		for (u32 k = 0; k < active_cnt; k++) {
			struct interval *o = &al->iv[active[k]];

			if (o->end < iv->start)
				continue;
			active[kept++] = active[k];
			if (intersect(al, iv, o))
				free &= ~(1u << o->reg);
		}
		active_cnt = kept;
		iv->reg = pick(al, iv, free);
		if (iv->reg == NO_REG) {
			vreg victim = order[n];

			for (u32 k = 0; k < active_cnt; k++) {
				struct interval *o = &al->iv[active[k]];

				if (!(iv->forbidden >> o->reg & 1) && intersect(al, iv, o) &&
				    spill_cost(al, active[k]) < spill_cost(al, victim))
					victim = active[k];
			}
			if (is_fresh(al, victim))
				BUG("register allocation of %s does not converge", al->f->name);
			return victim;
		}
		active[active_cnt++] = order[n];
	}
	return 0;
}

static bool is_cheap(enum ir_op op)
{
	return op == IR_IMM || op == IR_MAP || op == IR_MAPVAL || op == IR_SLOT || op == IR_FUNC;
}

static void rename_uses(struct ir_insn *i, vreg from, vreg to)
{
	if (i->a == from)
		i->a = to;
	if (!i->b.is_imm && i->b.r == from)
		i->b.r = to;
	if (i->op == IR_CMPXCHG && i->c == from)
		i->c = to;
	for (u32 k = 0; k < i->arg_cnt; k++)
		if (!i->args[k].is_imm && i->args[k].r == from)
			i->args[k].r = to;
}

/* A spilled register: its stack offset, or the instruction that computes it again wherever it is read. */
struct spilled {
	vreg v;
	s64 off;
	const struct ir_insn *again; /* NULL: on the stack */
};

static bool mentions(const struct ir_block *b, vreg v)
{
	vec_for(i, &b->insns) {
		vreg uses[8];
		u32 n = ir_uses(i, uses);

		if (i->d == v)
			return true;
		for (u32 u = 0; u < n; u++)
			if (uses[u] == v)
				return true;
	}
	return false;
}

static void spill_in_block(struct ir_func *f, struct ir_block *b, const struct spilled *s)
{
	struct arena *a = &f->mem->pass;
	vec(struct ir_insn) out = {};

	vec_for(src, &b->insns) {
		struct ir_insn i = *src;
		vreg uses[8];
		u32 n = ir_uses(&i, uses);
		bool reads = false;

		for (u32 u = 0; u < n; u++)
			reads |= uses[u] == s->v;
		if (reads) {
			struct ir_insn get = { .op = IR_LOAD, .on_stack = true, .imm = s->off, .size = 8 };

			if (s->again)
				get = *s->again;
			get.d = ir_vreg(f);
			get.span = i.span;
			avec_push(a, &out, get);
			rename_uses(&i, s->v, get.d);
		}
		if (i.d == s->v && s->again)
			continue; /* the definition itself is not needed any more */
		if (i.d == s->v) {
			i.d = ir_vreg(f);
			avec_push(a, &out, i);
			avec_push(a, &out,
				  (struct ir_insn){ .op = IR_STORE,
						    .on_stack = true,
						    .imm = s->off,
						    .size = 8,
						    .b = opnd_reg(i.d),
						    .span = i.span });
			continue;
		}
		avec_push(a, &out, i);
	}
	ir_set_code(f, b, out.at, out.cnt);
	arena_clear(a);
}

static void spill(struct ir_func *f, vreg v)
{
	struct spilled s = { .v = v };
	struct ir_insn def;
	u32 def_cnt = 0;

	vec_for(b, &f->blocks) {
		vec_for(i, &(*b)->insns) {
			if (i->d == v) {
				def_cnt++;
				def = *i;
			}
		}
	}
	if (def_cnt == 1 && is_cheap(def.op)) {
		s.again = &def;
	} else {
		f->stack_sz += 8;
		s.off = -(s64)f->stack_sz;
	}
	vec_for(b, &f->blocks)
		if (mentions(*b, v))
			spill_in_block(f, *b, &s);
}

u8 *regalloc(struct ir_func *f)
{
	struct alloc al = { .f = f, .arena = &f->mem->pass, .given_cnt = f->vreg_cnt };
	u8 *reg;
	vreg v;

	for (;;) {
		build_intervals(&al);
		v = scan(&al);
		if (!v)
			break;
		arena_clear(al.arena);
		spill(f, v);
		if (f->stack_sz > STACK_SZ)
			return NULL;
	}
	reg = arena_alloc(&f->mem->funcs, al.iv_cnt);
	for (v = 1; v < al.iv_cnt; v++)
		reg[v] = al.iv[v].reg;
	arena_clear(al.arena);
	return reg;
}
