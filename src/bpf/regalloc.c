/* Linear-scan register allocation.
 *
 * Instructions are numbered in layout order; instruction n reads at position 2n and writes at 2n + 1. A virtual register is live in a list of
 * ranges of positions; between them (in a branch that does not need it) others may have its machine register. Registers are visited by
 * their first position; each takes a machine register that no other one has at the same time and that nothing destroys while it is live: a
 * call destroys r0–r5, so a value that lives across one goes to r6–r9. Hints make moves vanish: a value that dies as argument k of a call
 * wants r<k>, a sum wants the register of its left side.
 *
 * When no register is left, the cheapest interval is spilled: each of its uses gets a short-lived register loaded from the stack (or
 * computed again, where that is one instruction), and the scan starts over. The verifier follows spilled pointers, as long as they are
 * stored whole and aligned.
 */
#include "bpf/backend.h"

enum { R_CNT = 10, NO_REG = 255 };
enum { CALLER_SAVED = 0x3f };
enum { FIRST_POS = 2 };

struct range {
	u32 start, end; /* both included */
};

struct interval {
	u32 start, end; /* first and last position; start > end: never used */
	vec(struct range) ranges; /* in order, none touches the next */
	u32 passed;     /* of these: how many end before the scan's position */
	u16 forbidden;  /* machine registers that something inside destroys */
	u8 reg;
	s8 hint;
	u32 weight;     /* uses and definitions */
	bool is_tested; /* a branch depends on it */
	bool is_fresh;  /* made for a spilled value: must not be spilled itself */
	vreg same_as;   /* wants the register of this one */
	vreg becomes;   /* is the left side of this one, last of all */
};

struct alloc {
	struct ir_func *f;
	struct interval *iv;
	u32 iv_cnt;
	bool *fresh; /* by vreg, survives restarts */
	u32 fresh_cap;
};

static u16 usable_regs(void)
{
	return CALLER_SAVED | (((1u << CALLEE_SAVED_CNT) - 1) << 6);
}

static void add_range(struct alloc *al, vreg v, u32 start, u32 end)
{
	struct interval *iv = &al->iv[v];

	iv->start = MIN(iv->start, start);
	iv->end = MAX(iv->end, end);
	avec_push(al->f->arena, &iv->ranges, (struct range){ start, end });
}

/* Positions by kind of what they destroy, as counts: how many are before a position. */
struct destroyers {
	u32 *before; /* one more element than there are positions */
};

static bool is_destroyed(const struct interval *iv, const struct destroyers *d)
{
	vec_for(r, &iv->ranges)
		/* strictly inside: what reads or writes there itself is not in the way */
		if (r->end > r->start && d->before[r->end] > d->before[r->start + 1])
			return true;
	return false;
}

static int by_range_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Puts the ranges in order and makes one of those that overlap, as they do at the borders of blocks. Neighbours stay apart: a call may read a register
 * at one position and write it at the next, and does not destroy it. */
static void order_ranges(struct interval *iv)
{
	u32 cnt = 0;

	if (iv->ranges.cnt < 2)
		return;
	qsort(iv->ranges.at, iv->ranges.cnt, sizeof(*iv->ranges.at), by_range_start);
	vec_for(r, &iv->ranges) {
		struct range *last = cnt ? &iv->ranges.at[cnt - 1] : NULL;

		if (last && r->start <= last->end)
			last->end = MAX(last->end, r->end);
		else
			iv->ranges.at[cnt++] = *r;
	}
	iv->ranges.cnt = cnt;
}

/* Whether an interval is live somewhere in another one, at whose start the scan is. What ends before that, nobody looks at again. */
static bool intersect(const struct interval *at, struct interval *other)
{
	u32 i = 0, k;

	while (other->passed < other->ranges.cnt && other->ranges.at[other->passed].end < at->start)
		other->passed++;
	for (k = other->passed; i < at->ranges.cnt && k < other->ranges.cnt;) {
		const struct range *x = &at->ranges.at[i], *y = &other->ranges.at[k];

		if (x->start <= y->end && y->start <= x->end)
			return true;
		if (x->end < y->start)
			i++;
		else
			k++;
	}
	return false;
}

static bool is_commutative(enum ir_op op)
{
	return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR;
}

static bool is_two_address(enum ir_op op)
{
	return (op >= IR_ADD && op <= IR_SAR) || op == IR_NEG || op == IR_PLAIN || op == IR_ZEXT || op == IR_SEXT || op == IR_BSWAP || op == IR_MOV;
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
		/* … and the other way round: what is moved wants to be computed where it goes. */
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

/* Where the range that is open for a register ends; 0: none is. And which ones are or were open, so that nobody looks at all. */
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

/* Goes through a block from its end. */
static void build_block(struct alloc *al, struct ir_block *b, u32 first, struct open_ranges *o)
{
	u32 pos = first + 2 * b->insns.cnt;

	o->touched_cnt = 0;
	for (u32 w = 0; w < al->f->live_words; w++)
		for (u64 bits = b->live_out[w]; bits; bits &= bits - 1)
			set_end(o, al->f->live_vregs[64 * w + __builtin_ctzll(bits)], pos - 1);
	for (u32 k = b->insns.cnt; k-- > 0;) {
		const struct ir_insn *i = &b->insns.at[k];
		vreg uses[8];
		u32 n = ir_uses(i, uses);

		pos -= 2;
		note_hints(al, i);
		if (i->d) {
			add_range(al, i->d, pos + 1, MAX(o->end[i->d], pos + 1));
			o->end[i->d] = 0;
		}
		for (u32 u = 0; u < n; u++)
			set_end(o, uses[u], pos);
		/* d = a - b is done as d = a; d -= b: b must outlive the move. */
		if (is_two_address(i->op) && !i->b.is_imm && i->b.r && !is_commutative(i->op) && i->d != i->a)
			set_end(o, i->b.r, pos + 1);
		/* The old value replaces the operand in its register: the address must not be there. */
		if (i->op == IR_FETCH_ADD && i->a)
			set_end(o, i->a, pos + 1);
	}
	/* what lives on from before is there before the first instruction reads anything */
	for (u32 n = 0; n < o->touched_cnt; n++) {
		vreg v = o->touched[n];

		if (o->end[v])
			add_range(al, v, first - 1, o->end[v]);
		o->end[v] = 0;
	}
}

static bool destroys_all(const struct ir_insn *i)
{
	return i->op == IR_CALL;
}

static bool destroys_r0(const struct ir_insn *i)
{
	return i->op == IR_CMPXCHG;
}

/* Forbids registers to all that live across instructions of a kind. */
static void forbid(struct alloc *al, u32 pos_cnt, bool (*is_kind)(const struct ir_insn *), u16 destroyed)
{
	struct destroyers d = { arena_alloc(al->f->arena, (pos_cnt + 2) * sizeof(*d.before)) };
	u32 pos = FIRST_POS, cnt = 0;

	vec_for(b, &al->f->blocks) {
		vec_for(i, &(*b)->insns) {
			d.before[pos] = cnt;
			cnt += is_kind(i);
			d.before[pos + 1] = cnt;
			pos += 2;
		}
	}
	d.before[pos] = d.before[pos + 1] = cnt;
	if (!cnt)
		return;
	for (u32 v = 1; v < al->iv_cnt; v++)
		if (is_destroyed(&al->iv[v], &d))
			al->iv[v].forbidden |= destroyed;
}

/* How often registers can be touched in one block. */
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
	u32 pos = FIRST_POS;
	struct open_ranges open;

	al->iv_cnt = f->vreg_cnt + 1;
	al->iv = arena_alloc(f->arena, al->iv_cnt * sizeof(*al->iv));
	open.end = arena_alloc(f->arena, al->iv_cnt * sizeof(*open.end));
	/* A register can be opened again behind its definition: once more for each. */
	open.touched = arena_alloc(f->arena, touched_max(al) * sizeof(*open.touched));
	for (u32 v = 0; v < al->iv_cnt; v++)
		al->iv[v] = (struct interval){ .start = UINT32_MAX, .hint = -1, .reg = NO_REG };
	ir_liveness(f);
	vec_for(b, &f->blocks) {
		build_block(al, *b, pos, &open);
		pos += 2 * (*b)->insns.cnt;
	}
	for (u32 v = 1; v < al->iv_cnt; v++)
		order_ranges(&al->iv[v]);
	/* What is destroyed on the way. */
	forbid(al, pos, destroys_all, CALLER_SAVED);
	forbid(al, pos, destroys_r0, 1);
	vec_for(pb, &f->blocks) {
		vec_for(i, &(*pb)->insns) {
			/* the arguments behind this one are still in their registers */
			if (i->op == IR_ARG)
				al->iv[i->d].forbidden |= 0x3f & ~((1u << (i->index + 2)) - 1);
			/* address and new value are read after r0 was set up */
			if (i->op == IR_CMPXCHG) {
				if (i->a)
					al->iv[i->a].forbidden |= 1;
				al->iv[i->b.r].forbidden |= 1;
			}
		}
	}
	for (u32 v = 1; v < al->iv_cnt; v++)
		al->iv[v].is_fresh = v < al->fresh_cap && al->fresh[v];
}

static int by_start(const void *a, const void *b, void *ctx)
{
	const struct interval *iv = ctx;
	vreg x = *(const vreg *)a, y = *(const vreg *)b;

	if (iv[x].start != iv[y].start)
		return iv[x].start < iv[y].start ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Cheap per position of register pressure that goes away: the best to spill has the smallest. */
static u64 spill_cost(const struct interval *iv)
{
	if (iv->is_fresh)
		return UINT64_MAX;
	return ((u64)iv->weight << 20) / (iv->end - iv->start + 1);
}

static u8 pick(const struct alloc *al, const struct interval *iv, u16 free)
{
	const struct interval *like = iv->same_as ? &al->iv[iv->same_as] : NULL, *next = iv->becomes ? &al->iv[iv->becomes] : NULL;

	if (!free)
		return NO_REG;
	if (iv->hint >= 0 && (free >> iv->hint & 1))
		return iv->hint;
	if (like && like->reg != NO_REG && (free >> like->reg & 1))
		return like->reg;
	/* A free result is whatever r0 holds. If what is tested on the way is there, it need not be set at the end; and it is a number on every way, so that the
	 * verifier finds their states equal where they meet. */
	if (al->f->is_result_free && iv->is_tested && (free & 1))
		return 0;
	/* What it becomes has no register yet, but cannot have every one: if that lives across a call, this had better be where that can be. */
	if (next && next->reg == NO_REG && iv->end < next->start && (free & ~next->forbidden))
		free &= ~next->forbidden;
	/* r1–r5 from the top down: the low ones are wanted as arguments soonest. r0 last among them: results arrive there. */
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
	vreg *order = arena_alloc(al->f->arena, al->iv_cnt * sizeof(*order));
	vreg *active = arena_alloc(al->f->arena, al->iv_cnt * sizeof(*active));
	u32 cnt = 0, active_cnt = 0;

	for (vreg v = 1; v < al->iv_cnt; v++)
		if (al->iv[v].start <= al->iv[v].end)
			order[cnt++] = v;
	qsort_r(order, cnt, sizeof(*order), by_start, al->iv);
	for (u32 n = 0; n < cnt; n++) {
		struct interval *iv = &al->iv[order[n]];
		u16 free = usable_regs() & ~iv->forbidden;
		u32 kept = 0;

		for (u32 k = 0; k < active_cnt; k++) {
			struct interval *o = &al->iv[active[k]];

			if (o->end < iv->start)
				continue;
			active[kept++] = active[k];
			if (intersect(iv, o))
				free &= ~(1u << o->reg);
		}
		active_cnt = kept;
		iv->reg = pick(al, iv, free);
		if (iv->reg == NO_REG) {
			vreg victim = order[n];

			for (u32 k = 0; k < active_cnt; k++) {
				struct interval *o = &al->iv[active[k]];

				if (!(iv->forbidden >> o->reg & 1) && intersect(iv, o) && spill_cost(o) < spill_cost(&al->iv[victim]))
					victim = active[k];
			}
			if (al->iv[victim].is_fresh)
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

static vreg fresh_vreg(struct alloc *al)
{
	vreg v = ir_vreg(al->f);

	if (v >= al->fresh_cap) {
		u32 cap = 2 * v + 64;
		bool *grown = arena_alloc(al->f->arena, cap);

		if (al->fresh_cap)
			memcpy(grown, al->fresh, al->fresh_cap);
		al->fresh = grown;
		al->fresh_cap = cap;
	}
	al->fresh[v] = true;
	return v;
}

static void rename_uses(struct ir_insn *i, vreg from, vreg to)
{
	if (i->a == from)
		i->a = to;
	if (!i->b.is_imm && i->b.r == from)
		i->b.r = to;
	if (i->c == from)
		i->c = to;
	for (u32 k = 0; k < i->arg_cnt; k++)
		if (!i->args[k].is_imm && i->args[k].r == from)
			i->args[k].r = to;
}

static void spill(struct alloc *al, vreg v)
{
	struct ir_func *f = al->f;
	struct ir_insn *only_def = NULL, again;
	u32 def_cnt = 0;
	s64 off = 0;

	vec_for(b, &f->blocks) {
		vec_for(i, &(*b)->insns) {
			if (i->d == v) {
				def_cnt++;
				only_def = i;
			}
		}
	}
	bool is_again = def_cnt == 1 && is_cheap(only_def->op);

	if (is_again) {
		again = *only_def;
	} else {
		f->stack_sz += 8;
		off = -(s64)f->stack_sz;
	}
	vec_for(pb, &f->blocks) {
		struct ir_block *b = *pb;
		vec(struct ir_insn) old = { b->insns.at, b->insns.cnt, b->insns.cap };

		b->insns.at = NULL;
		b->insns.cnt = b->insns.cap = 0;
		vec_for(src, &old) {
			struct ir_insn i = *src;
			vreg uses[8], t = 0;
			u32 n = ir_uses(&i, uses);
			bool reads = false;

			for (u32 u = 0; u < n; u++)
				reads |= uses[u] == v;
			if (reads) {
				t = fresh_vreg(al);
				if (is_again) {
					struct ir_insn copy = again;

					copy.d = t;
					copy.span = i.span;
					avec_push(f->arena, &b->insns, copy);
				} else {
					avec_push(f->arena, &b->insns,
						  (struct ir_insn){ .op = IR_LOAD, .d = t, .on_stack = true, .imm = off, .size = 8, .span = i.span });
				}
				rename_uses(&i, v, t);
			}
			if (i.d == v && is_again)
				continue; /* the definition itself is not needed any more */
			if (i.d == v) {
				i.d = fresh_vreg(al);
				avec_push(f->arena, &b->insns, i);
				avec_push(f->arena, &b->insns,
					  (struct ir_insn){ .op = IR_STORE, .on_stack = true, .imm = off, .size = 8, .b = opnd_reg(i.d), .span = i.span });
				continue;
			}
			avec_push(f->arena, &b->insns, i);
		}
	}
}

u8 *regalloc(struct ir_func *f)
{
	struct alloc al = { .f = f };
	u8 *reg;
	vreg v;

	for (;;) {
		build_intervals(&al);
		v = scan(&al);
		if (!v)
			break;
		spill(&al, v);
		if (f->stack_sz > STACK_SZ)
			return NULL;
	}
	reg = arena_alloc(f->arena, al.iv_cnt);
	for (v = 1; v < al.iv_cnt; v++)
		reg[v] = al.iv[v].reg;
	return reg;
}
