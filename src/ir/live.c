/* Which registers hold a value that is still needed, at the borders of each block: the classic backward data-flow problem, solved by
 * sweeping the blocks in reverse until nothing changes.
 *
 * Most registers live and die inside of one block. Only the others have a bit, so that the sets stay small however long the program is. */
#include "ir/ir.h"

static void set_bit(u64 *set, u32 n)
{
	set[n / 64] |= 1ull << (n % 64);
}

static void clear_bit(u64 *set, u32 n)
{
	set[n / 64] &= ~(1ull << (n % 64));
}

static bool add_all(u64 *into, const u64 *from, u32 words)
{
	bool changed = false;

	for (u32 w = 0; w < words; w++) {
		u64 merged = into[w] | from[w];

		changed |= merged != into[w];
		into[w] = merged;
	}
	return changed;
}

/* Gives numbers to the registers that cross the border of a block: seen in two of them, or used in one before it is set there. */
static void find_crossing(struct ir_func *f, u32 *bit_of)
{
	u32 *home = arena_alloc(f->arena, (f->vreg_cnt + 1) * sizeof(*home)), *set_in = arena_alloc(f->arena, (f->vreg_cnt + 1) * sizeof(*set_in));

	f->live_cnt = 0;
	f->live_vregs = arena_alloc(f->arena, (f->vreg_cnt + 1) * sizeof(*f->live_vregs));
	for (u32 n = 0; n < f->blocks.cnt; n++) {
		vec_for(i, &f->blocks.at[n]->insns) {
			vreg seen[9];
			u32 cnt = ir_uses(i, seen), use_cnt = cnt;

			if (i->d)
				seen[cnt++] = i->d;
			for (u32 k = 0; k < cnt; k++) {
				vreg v = seen[k];
				bool is_use = k < use_cnt;

				if (!bit_of[v] && ((home[v] && home[v] != n + 1) || (is_use && set_in[v] != n + 1))) {
					f->live_vregs[f->live_cnt++] = v;
					bit_of[v] = f->live_cnt;
				}
				home[v] = n + 1;
				if (!is_use)
					set_in[v] = n + 1;
			}
		}
	}
}

void ir_liveness(struct ir_func *f)
{
	u32 *bit_of = arena_alloc(f->arena, (f->vreg_cnt + 1) * sizeof(*bit_of)), words; /* 1 + the bit; 0: none */
	bool changed = true;
	u64 *live;

	find_crossing(f, bit_of);
	words = f->live_words = (f->live_cnt + 63) / 64;
	live = arena_alloc(f->arena, (words + 1) * sizeof(*live));
	vec_for(b, &f->blocks) {
		(*b)->live_in = arena_alloc(f->arena, (words + 1) * sizeof(u64));
		(*b)->live_out = arena_alloc(f->arena, (words + 1) * sizeof(u64));
	}
	while (changed) {
		changed = false;
		for (u32 n = f->blocks.cnt; n-- > 0;) {
			struct ir_block *b = f->blocks.at[n];
			const struct ir_insn *end = &b->insns.at[b->insns.cnt - 1];

			if (end->yes)
				add_all(b->live_out, end->yes->live_in, words);
			if (end->no)
				add_all(b->live_out, end->no->live_in, words);
			memcpy(live, b->live_out, words * sizeof(*live));
			for (u32 k = b->insns.cnt; k-- > 0;) {
				const struct ir_insn *i = &b->insns.at[k];
				vreg uses[8];
				u32 cnt = ir_uses(i, uses);

				if (i->d && bit_of[i->d])
					clear_bit(live, bit_of[i->d] - 1);
				for (u32 u = 0; u < cnt; u++)
					if (bit_of[uses[u]])
						set_bit(live, bit_of[uses[u]] - 1);
			}
			changed |= add_all(b->live_in, live, words);
		}
	}
}
