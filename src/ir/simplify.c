/* SPDX-License-Identifier: GPL-2.0-only */
/* Simplification: constants and copies are propagated, operations on constants are folded, dead code is removed, jumps to jumps
 * are shortened. Facts are kept for registers with one definition. That definition dominates every use, because lowering never
 * reads a register that was not written on the same path (variables may be, but they have several definitions).
 */
#include "ir/ir.h"

struct simplify {
	struct ir_func *f;
	const struct ir_insn **def; /* by register: its only definition, or NULL */
	u32 *uses;
	bool *has_def;
	bool changed;
	bool is_cut; /* a branch became a jump: blocks may have become unreachable */
};

static bool fits_s32(s64 v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static void find_defs(struct simplify *s)
{
	u32 cnt = s->f->vreg_cnt + 1;

	memset(s->def, 0, cnt * sizeof(*s->def));
	memset(s->uses, 0, cnt * sizeof(*s->uses));
	memset(s->has_def, 0, cnt * sizeof(*s->has_def));
	vec_for(b, &s->f->blocks) {
		vec_for(i, &(*b)->insns) {
			vreg uses[8];
			u32 n = ir_uses(i, uses);

			for (u32 u = 0; u < n; u++)
				s->uses[uses[u]]++;
			if (!i->d)
				continue;
			s->def[i->d] = s->has_def[i->d] ? NULL : i;
			s->has_def[i->d] = true;
		}
	}
}

static bool is_const(const struct simplify *s, vreg r, s64 *v)
{
	if (!r || !s->def[r] || s->def[r]->op != IR_IMM)
		return false;
	*v = s->def[r]->imm;
	return true;
}

/* The register that r is a copy of. Only copies of registers with one definition count: others may have changed since. */
static vreg origin(const struct simplify *s, vreg r)
{
	while (r && s->def[r] && s->def[r]->op == IR_MOV) {
		vreg a = s->def[r]->a;

		if (!s->def[a])
			break;
		r = a;
	}
	return r;
}

static bool fold_alu(enum ir_op op, u64 a, u64 b, u64 *out)
{
	switch (op) {
	case IR_ADD:
		*out = a + b;
		return true;
	case IR_SUB:
		*out = a - b;
		return true;
	case IR_MUL:
		*out = a * b;
		return true;
	case IR_DIV:
		*out = b ? a / b : 0;
		return true;
	case IR_MOD:
		*out = b ? a % b : a;
		return true;
	case IR_AND:
		*out = a & b;
		return true;
	case IR_OR:
		*out = a | b;
		return true;
	case IR_XOR:
		*out = a ^ b;
		return true;
	case IR_SHL:
		*out = a << (b & 63);
		return true;
	case IR_SHR:
		*out = a >> (b & 63);
		return true;
	case IR_SAR:
		*out = (u64)((s64)a >> (b & 63));
		return true;
	default:
		return false; /* not an ALU operation */
	}
}

static bool fold_cond(enum ir_cond c, u64 a, u64 b)
{
	switch (c) {
	case C_EQ:
		return a == b;
	case C_NE:
		return a != b;
	case C_ULT:
		return a < b;
	case C_ULE:
		return a <= b;
	case C_UGT:
		return a > b;
	case C_UGE:
		return a >= b;
	case C_SLT:
		return (s64)a < (s64)b;
	case C_SLE:
		return (s64)a <= (s64)b;
	case C_SGT:
		return (s64)a > (s64)b;
	case C_SGE:
		return (s64)a >= (s64)b;
	case C_SET:
		return (a & b) != 0;
	}
	return false;
}

static u64 fold_ext(enum ir_op op, u64 a, u32 size)
{
	u32 shift = 64 - 8 * size;

	if (size == 8)
		return a;
	return op == IR_SEXT ? (u64)((s64)(a << shift) >> shift) : a << shift >> shift;
}

static bool is_alu(enum ir_op op)
{
	return op >= IR_ADD && op <= IR_SAR;
}

static void become_imm(struct simplify *s, struct ir_insn *i, s64 v)
{
	*i = (struct ir_insn){ .op = IR_IMM, .d = i->d, .imm = v, .span = i->span };
	s->changed = true;
}

static void become_mov(struct simplify *s, struct ir_insn *i, vreg a)
{
	*i = (struct ir_insn){ .op = IR_MOV, .d = i->d, .a = a, .span = i->span };
	s->changed = true;
}

static void replace_reg(struct simplify *s, vreg *r)
{
	vreg to = origin(s, *r);

	if (to != *r) {
		*r = to;
		s->changed = true;
	}
}

static void simplify_opnd(struct simplify *s, struct opnd *o, bool any_const)
{
	s64 v;

	if (o->is_imm || !o->r)
		return;
	replace_reg(s, &o->r);
	if (is_const(s, o->r, &v) && (any_const || fits_s32(v))) {
		*o = opnd_imm(v);
		s->changed = true;
	}
}

/* base + constant, as an address: goes into the offset of the access. */
static void fold_address(struct simplify *s, struct ir_insn *i)
{
	const struct ir_insn *d = i->a ? s->def[i->a] : NULL;

	if (!d || d->op != IR_ADD || !d->b.is_imm || !d->a || !s->def[d->a])
		return;
	if (i->imm + d->b.imm < INT16_MIN || i->imm + d->b.imm > INT16_MAX)
		return;
	i->imm += d->b.imm;
	i->a = d->a;
	s->changed = true;
}

static void simplify_alu(struct simplify *s, struct ir_insn *i)
{
	const struct ir_insn *d;
	s64 a, b;
	u64 v;

	if (is_const(s, i->a, &a)) {
		if (i->b.is_imm && fold_alu(i->op, a, i->b.imm, &v)) {
			become_imm(s, i, v);
			return;
		}
		/* constant op register: swap where the order does not matter */
		if (!i->b.is_imm && fits_s32(a) &&
		    (i->op == IR_ADD || i->op == IR_MUL || i->op == IR_AND || i->op == IR_OR || i->op == IR_XOR)) {
			i->a = i->b.r;
			i->b = opnd_imm(a);
			s->changed = true;
		}
	}
	if (!i->b.is_imm)
		return;
	/* The machine takes the low six bits of a count; of a constant, the verifier takes no more than those. */
	if (i->op == IR_SHL || i->op == IR_SHR || i->op == IR_SAR)
		i->b.imm &= 63;
	b = i->b.imm;
	if (b == 0 &&
	    (i->op == IR_ADD || i->op == IR_SUB || i->op == IR_OR || i->op == IR_XOR || i->op == IR_SHL || i->op == IR_SHR ||
	     i->op == IR_SAR)) {
		become_mov(s, i, i->a);
	} else if (b == 1 && (i->op == IR_MUL || i->op == IR_DIV)) {
		become_mov(s, i, i->a);
	} else if (b == 0 && (i->op == IR_MUL || i->op == IR_AND)) {
		become_imm(s, i, 0);
	} else if (i->op == IR_SUB && fits_s32(-b)) {
		i->op = IR_ADD; /* one form for address arithmetic */
		i->b.imm = -b;
		s->changed = true;
	} else if (i->op == IR_MUL && is_pow2(b)) {
		i->op = IR_SHL;
		i->b.imm = __builtin_ctzll(b);
		s->changed = true;
	} else if (i->op == IR_DIV && is_pow2(b)) {
		i->op = IR_SHR;
		i->b.imm = __builtin_ctzll(b);
		s->changed = true;
	} else if (i->op == IR_MOD && is_pow2(b)) {
		i->op = IR_AND;
		i->b.imm = b - 1;
		s->changed = true;
	} else if (i->op == IR_ADD && (d = s->def[i->a]) && d->op == IR_ADD && d->b.is_imm && s->def[d->a] &&
		   fits_s32(b + d->b.imm)) {
		i->a = d->a;
		i->b.imm = b + d->b.imm;
		s->changed = true;
	} else if (i->op == IR_ADD && (d = s->def[i->a]) && d->op == IR_SLOT) {
		*i = (struct ir_insn){ .op = IR_SLOT, .d = i->d, .index = d->index, .imm = d->imm + b, .span = i->span };
		s->changed = true;
	} else if (i->op == IR_AND && (d = s->def[i->a]) && d->op == IR_LOAD && d->size < 8 && b > 0 &&
		   (u64)b == (1ull << (8 * d->size)) - 1) {
		become_mov(s, i, i->a);
	}
}

/* How many low bytes of r can be nonzero, according to its definition. */
static u32 known_width(const struct simplify *s, vreg r)
{
	const struct ir_insn *d = s->def[r];

	if (!d)
		return 8;
	if (d->op == IR_LOAD || d->op == IR_ZEXT)
		return d->size;
	if (d->op == IR_AND && d->b.is_imm && d->b.imm >= 0)
		return d->b.imm < 256 ? 1 : d->b.imm < 65536 ? 2 : 4;
	if (d->op == IR_SHR && d->b.is_imm)
		return d->b.imm >= 56 ? 1 : d->b.imm >= 48 ? 2 : d->b.imm >= 32 ? 4 : 8;
	return 8;
}

static void simplify_ext(struct simplify *s, struct ir_insn *i)
{
	s64 a;

	if (i->op == IR_BSWAP)
		return;
	if (is_const(s, i->a, &a))
		become_imm(s, i, fold_ext(i->op, a, i->size));
	else if (i->size == 8 || (i->op == IR_ZEXT && known_width(s, i->a) <= i->size))
		become_mov(s, i, i->a);
	else if (i->op == IR_SEXT && known_width(s, i->a) < i->size)
		become_mov(s, i, i->a);
	else if (s->def[i->a] && s->def[i->a]->op == i->op && s->def[i->a]->size <= i->size)
		become_mov(s, i, i->a); /* already extended from that size or less */
}

static void simplify_insn(struct simplify *s, struct ir_insn *i)
{
	s64 a;

	if (i->a)
		replace_reg(s, &i->a);
	if (i->op == IR_CMPXCHG)
		replace_reg(s, &i->c);
	/* The store and atomic instructions differ: an immediate of 32 bits can be stored, but not added atomically. */
	if (i->op == IR_ATOMIC_ADD || i->op == IR_FETCH_ADD || i->op == IR_CMPXCHG)
		replace_reg(s, &i->b.r);
	else if (i->b.r)
		simplify_opnd(s, &i->b, i->op == IR_RET);
	for (u32 k = 0; k < i->arg_cnt; k++)
		simplify_opnd(s, &i->args[k], true);

	/* Bytes that a store truncates need not be extended first. */
	if (i->op == IR_STORE && !i->b.is_imm && s->def[i->b.r]) {
		const struct ir_insn *d = s->def[i->b.r];

		if ((d->op == IR_ZEXT || d->op == IR_SEXT) && d->size >= i->size && s->def[d->a]) {
			i->b.r = d->a;
			s->changed = true;
		}
	}
	if (is_alu(i->op))
		simplify_alu(s, i);
	else if (i->op == IR_ZEXT || i->op == IR_SEXT || i->op == IR_BSWAP)
		simplify_ext(s, i);
	else if (i->op == IR_LOAD || i->op == IR_STORE || i->op == IR_ATOMIC_ADD || i->op == IR_FETCH_ADD || i->op == IR_CMPXCHG)
		fold_address(s, i);
	else if (i->op == IR_MOV && is_const(s, i->a, &a))
		become_imm(s, i, a);
	else if (i->op == IR_NEG && is_const(s, i->a, &a))
		become_imm(s, i, -(u64)a);
	if (i->op == IR_BR && i->b.is_imm && is_const(s, i->a, &a)) {
		*i = (struct ir_insn){ .op = IR_JMP, .yes = fold_cond(i->cond, a, i->b.imm) ? i->yes : i->no, .span = i->span };
		s->changed = s->is_cut = true;
	} else if (i->op == IR_BR && i->yes == i->no) {
		*i = (struct ir_insn){ .op = IR_JMP, .yes = i->yes, .span = i->span };
		s->changed = true;
	}
}

static bool has_effect(enum ir_op op)
{
	switch (op) {
	case IR_STORE:
	case IR_ATOMIC_ADD:
	case IR_FETCH_ADD:
	case IR_CMPXCHG:
	case IR_CALL:
	case IR_JMP:
	case IR_BR:
	case IR_RET:
	case IR_SCRATCH:
	case IR_SCRATCH_AT:
	case IR_UNSCRATCH:
		return true;
	case IR_IMM:
	case IR_MOV:
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_DIV:
	case IR_MOD:
	case IR_AND:
	case IR_OR:
	case IR_XOR:
	case IR_SHL:
	case IR_SHR:
	case IR_SAR:
	case IR_NEG:
	case IR_PLAIN:
	case IR_ZEXT:
	case IR_SEXT:
	case IR_BSWAP:
	case IR_LOAD:
	case IR_CTX:
	case IR_MAP:
	case IR_MAPVAL:
	case IR_SLOT:
	case IR_ARG:
	case IR_FUNC:
	case IR_OP_CNT:
		return false;
	}
	return true;
}

static bool is_dead(const struct simplify *s, const struct ir_insn *i)
{
	return !has_effect(i->op) && (!s->uses[i->d] || (i->op == IR_MOV && i->d == i->a));
}

/* Goes backwards, so that values read only by dead code are found dead, too; loops may need another pass. */
static void drop_dead(struct simplify *s)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (u32 n = s->f->blocks.cnt; n-- > 0;) {
			struct ir_block *b = s->f->blocks.at[n];
			u32 first = b->insns.cnt; /* what stays is from here on, at first */

			for (u32 k = b->insns.cnt; k-- > 0;) {
				struct ir_insn *i = &b->insns.at[k];

				if (is_dead(s, i)) {
					vreg uses[8];
					u32 cnt = ir_uses(i, uses);

					for (u32 u = 0; u < cnt; u++)
						s->uses[uses[u]]--;
					changed = s->changed = true;
				} else if (--first != k) {
					b->insns.at[first] = *i;
				}
			}
			b->insns.cnt -= first;
			if (first)
				memmove(b->insns.at, b->insns.at + first, b->insns.cnt * sizeof(*b->insns.at));
		}
	}
}

/* IR_SCRATCH is inside a block and may jump out of it. */
static struct ir_insn *scratch_mark(const struct ir_func *f, struct ir_block *b)
{
	if (b != f->scratch_block)
		return NULL;
	vec_for(i, &b->insns)
		if (i->op == IR_SCRATCH)
			return i;
	return NULL;
}

void ir_drop_unreachable(struct ir_func *f)
{
	bool *seen = arena_alloc(&f->mem->pass, f->blocks.cnt);
	u32 *stack = arena_alloc(&f->mem->pass, f->blocks.cnt * sizeof(*stack)), top = 0, kept = 0;

	seen[0] = true;
	stack[top++] = 0;
	while (top) {
		struct ir_block *b = f->blocks.at[stack[--top]];
		const struct ir_insn *end = &b->insns.at[b->insns.cnt - 1], *mark = scratch_mark(f, b);
		struct ir_block *next[] = { end->yes, end->no, mark ? mark->no : NULL };

		for (u32 k = 0; k < ARRAY_CNT(next); k++) {
			if (next[k] && !seen[next[k]->id]) {
				seen[next[k]->id] = true;
				stack[top++] = next[k]->id;
			}
		}
	}
	for (u32 n = 0; n < f->blocks.cnt; n++)
		if (seen[n])
			f->blocks.at[kept++] = f->blocks.at[n];
	f->blocks.cnt = kept;
	for (u32 n = 0; n < kept; n++)
		f->blocks.at[n]->id = n;
}

/* The final target of a jump to b. */
static struct ir_block *final_target(struct ir_block *b)
{
	for (u32 hops = 0; hops < 64 && b->insns.cnt == 1 && b->insns.at[0].op == IR_JMP; hops++)
		b = b->insns.at[0].yes;
	return b;
}

/* The constant that a register has at the end of a block which sets it there; NULL: it is none. */
static struct ir_insn *last_constant(struct ir_block *b, vreg v)
{
	for (u32 k = b->insns.cnt; k-- > 0;)
		if (b->insns.at[k].d == v)
			return b->insns.at[k].op == IR_IMM ? &b->insns.at[k] : NULL;
	return NULL;
}

static bool is_live_out(const struct ir_block *b, vreg v)
{
	for (u32 n = 0; n < b->live_out_cnt; n++)
		if (b->live_out[n] == v)
			return true;
	return false;
}

/* Removes an instruction from its block if its result is not read. */
static void drop_unread(struct ir_block *b, const struct ir_insn *i)
{
	u32 at = i - b->insns.at;

	if (is_live_out(b, i->d))
		return;
	for (u32 k = at + 1; k < b->insns.cnt; k++) {
		vreg uses[8];
		u32 n = ir_uses(&b->insns.at[k], uses);

		for (u32 u = 0; u < n; u++)
			if (uses[u] == i->d)
				return;
	}
	for (u32 k = at + 1; k < b->insns.cnt; k++)
		b->insns.at[k - 1] = b->insns.at[k];
	b->insns.cnt--;
}

/* Jump threading: a block that sets a register to a constant and jumps to a test of it jumps directly to the test's target.
 * /@start[tid]/ is 0 where there is no such entry, which is known before the test. The constant is removed, too, if only the test
 * used it. */
static void skip_known_tests(struct ir_func *f)
{
	struct ir_insn **decided = arena_alloc(&f->mem->pass, f->blocks.cnt * sizeof(*decided));
	bool any = false;

	vec_for(pb, &f->blocks) {
		struct ir_insn *end = &(*pb)->insns.at[(*pb)->insns.cnt - 1];
		const struct ir_insn *test = end->op == IR_JMP ? &end->yes->insns.at[0] : NULL;

		if (scratch_mark(f, *pb)) /* it jumps out of the middle of a block, which liveness does not model */
			return;
		if (!test || test->op != IR_BR || !test->b.is_imm)
			continue;
		decided[(*pb)->id] = last_constant(*pb, test->a);
		any |= decided[(*pb)->id] != NULL;
	}
	if (!any)
		return;
	vec_for(pb, &f->blocks) {
		struct ir_insn *end = &(*pb)->insns.at[(*pb)->insns.cnt - 1];
		const struct ir_insn *is = decided[(*pb)->id], *test;

		if (!is)
			continue;
		test = &end->yes->insns.at[0];
		end->yes = fold_cond(test->cond, is->imm, test->b.imm) ? test->yes : test->no;
	}
	ir_liveness(f);
	vec_for(pb, &f->blocks)
		if (decided[(*pb)->id])
			drop_unread(*pb, decided[(*pb)->id]);
}

static void thread_jumps(struct ir_func *f)
{
	u32 *preds = arena_alloc(&f->mem->pass, f->blocks.cnt * sizeof(*preds));

	skip_known_tests(f);
	vec_for(pb, &f->blocks) {
		struct ir_insn *end = &(*pb)->insns.at[(*pb)->insns.cnt - 1];

		if (end->yes)
			end->yes = final_target(end->yes);
		if (end->no)
			end->no = final_target(end->no);
		if (scratch_mark(f, *pb))
			scratch_mark(f, *pb)->no = final_target(scratch_mark(f, *pb)->no);
		if (end->op == IR_BR && end->yes == end->no)
			*end = (struct ir_insn){ .op = IR_JMP, .yes = end->yes, .span = end->span };
	}
	ir_drop_unreachable(f);
	vec_for(pb, &f->blocks) {
		struct ir_insn *end = &(*pb)->insns.at[(*pb)->insns.cnt - 1];

		if (end->yes)
			preds[end->yes->id]++;
		if (end->no)
			preds[end->no->id]++;
		if (scratch_mark(f, *pb))
			preds[scratch_mark(f, *pb)->no->id]++;
	}
	/* A block that only one jump reaches is merged into the block of that jump. */
	vec_for(pb, &f->blocks) {
		struct ir_block *b = *pb;

		for (;;) {
			struct ir_insn *end = b->insns.cnt ? &b->insns.at[b->insns.cnt - 1] : NULL;
			struct ir_block *next = end && end->op == IR_JMP ? end->yes : NULL;

			if (!next || next == b || next->id == 0 || preds[next->id] != 1)
				break;
			b->insns.cnt--;
			vec_for(i, &next->insns)
				avec_push(&f->mem->code, &b->insns, *i);
			if (next == f->scratch_block)
				f->scratch_block = b;
			/* next is unreachable now: give it a valid terminator */
			next->insns.cnt = 1;
			next->insns.at[0] = (struct ir_insn){ .op = IR_RET, .b = opnd_imm(0) };
			preds[next->id] = 0;
		}
	}
	ir_drop_unreachable(f);
}

/* Values that one instruction computes without operands. */
struct cheap {
	enum ir_op op;
	u32 index;
	s64 imm;
};

/* Rewrites a block so that each instruction follows the cheap ones that it reads: sunk[v] is 1 + the index of the one that sets
 * v, 0: none. */
static void sink_into(struct ir_func *f, struct ir_block *b, const u32 *sunk, const struct cheap *cheap)
{
	vec(struct ir_insn) out = {};

	vec_for(i, &b->insns) {
		vreg uses[8];
		u32 n = ir_uses(i, uses);

		if (i->d && sunk[i->d])
			continue;
		for (u32 u = 0; u < n; u++) {
			const struct cheap *c = sunk[uses[u]] ? &cheap[sunk[uses[u]] - 1] : NULL;

			if (c)
				avec_push(&f->mem->pass, &out,
					  (struct ir_insn){
						  .op = c->op, .d = uses[u], .index = c->index, .imm = c->imm, .span = i->span });
		}
		avec_push(&f->mem->pass, &out, *i);
	}
	ir_set_code(f, b, out.at, out.cnt);
	arena_shrink(&f->mem->pass, out.at, out.cap * sizeof(*out.at), 0);
}

/* Constants and addresses that one instruction reads are computed right before it: until then they need no register. */
static void sink_cheap(struct simplify *s)
{
	struct ir_func *f = s->f;
	u32 *sunk = arena_alloc(&f->mem->pass, (f->vreg_cnt + 1) * sizeof(*sunk));
	vec(struct cheap) cheap = {};

	for (vreg v = 1; v <= f->vreg_cnt; v++) {
		const struct ir_insn *d = s->def[v];

		if (d && s->uses[v] == 1 && (d->op == IR_IMM || d->op == IR_SLOT || d->op == IR_MAP || d->op == IR_MAPVAL)) {
			avec_push(&f->mem->pass, &cheap, (struct cheap){ d->op, d->index, d->imm });
			sunk[v] = cheap.cnt;
		}
	}
	vec_for(b, &f->blocks)
		sink_into(f, *b, sunk, cheap.at);
}

static bool is_access(enum ir_op op)
{
	return op == IR_LOAD || op == IR_STORE || op == IR_ATOMIC_ADD;
}

/* An access to the memory of a map uses an address that is already in a register, if there is one. After sink_cheap() an address
 * that is read once is directly before its reader, with at most the stored constant between them. Across a call an address would
 * occupy a saved register: there it is computed again. Uses are those that sink_cheap() counted. */
static void share_addresses(const struct simplify *s)
{
	vec_for(pb, &s->f->blocks) {
		struct ir_block *b = *pb;
		const struct ir_insn *last = NULL; /* the address at hand */
		u32 kept = 0;

		for (u32 k = 0; k < b->insns.cnt; k++) {
			struct ir_insn *i = &b->insns.at[k], *reader = i + 1;

			if (i->op == IR_CALL || i->op == IR_SCRATCH)
				last = NULL;
			if (i->op == IR_MAPVAL && s->def[i->d]) {
				s64 far = INT64_MAX;

				if (reader->op == IR_IMM)
					reader++;
				if (last && last->index == i->index && is_access(reader->op) && reader->a == i->d &&
				    s->uses[i->d] == 1)
					far = reader->imm + i->imm - last->imm;
				if (far >= INT16_MIN && far <= INT16_MAX) {
					reader->a = last->d;
					reader->imm = far;
					continue;
				}
				last = &b->insns.at[kept];
			}
			if (kept != k)
				b->insns.at[kept] = *i;
			kept++;
		}
		b->insns.cnt = kept;
	}
}

static void move_seldom(struct ir_func *f)
{
	struct ir_block **seldom = arena_alloc(&f->mem->pass, f->blocks.cnt * sizeof(struct ir_block *));
	u32 kept = 0, cnt = 0;

	vec_for(b, &f->blocks) {
		if ((*b)->is_seldom)
			seldom[cnt++] = *b;
		else
			f->blocks.at[kept++] = *b;
	}
	for (u32 n = 0; n < cnt; n++)
		f->blocks.at[kept + n] = seldom[n];
	for (u32 n = 0; n < f->blocks.cnt; n++)
		f->blocks.at[n]->id = n;
}

void ir_simplify(struct ir_func *f)
{
	u32 cnt = f->vreg_cnt + 1;
	struct arena *a = &f->mem->pass;
	struct simplify s = {
		.f = f,
		.def = arena_alloc(a, cnt * sizeof(*s.def)),
		.uses = arena_alloc(a, cnt * sizeof(*s.uses)),
		.has_def = arena_alloc(a, cnt * sizeof(*s.has_def)),
		.changed = true,
	};

	ir_drop_unreachable(f);
	for (u32 round = 0; s.changed && round < 16; round++) {
		s.changed = s.is_cut = false;
		find_defs(&s);
		vec_for(b, &f->blocks)
			vec_for(i, &(*b)->insns)
				simplify_insn(&s, i);
		if (s.is_cut)
			ir_drop_unreachable(f);
		/* If nothing has changed, the facts are still valid. */
		if (s.changed)
			find_defs(&s);
		drop_dead(&s);
	}
	if (s.changed)
		find_defs(&s);
	sink_cheap(&s);
	thread_jumps(f);
	share_addresses(&s);
	move_seldom(f);
	arena_clear(a);
}
