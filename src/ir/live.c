/* Which registers hold a value that is still needed, at the borders of each block: the classic backward data-flow problem, solved by
 * sweeping the blocks in reverse until nothing changes. */
#include "ir/ir.h"

static void set_bit(u64 *set, vreg r)
{
	set[r / 64] |= 1ull << (r % 64);
}

static void clear_bit(u64 *set, vreg r)
{
	set[r / 64] &= ~(1ull << (r % 64));
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

void ir_liveness(struct ir_func *f)
{
	u32 words = f->vreg_cnt / 64 + 1;
	u64 *live = arena_alloc(f->arena, words * sizeof(*live));
	bool changed = true;

	vec_for(b, &f->blocks) {
		(*b)->live_in = arena_alloc(f->arena, words * sizeof(u64));
		(*b)->live_out = arena_alloc(f->arena, words * sizeof(u64));
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

				if (i->d)
					clear_bit(live, i->d);
				for (u32 u = 0; u < cnt; u++)
					set_bit(live, uses[u]);
			}
			changed |= add_all(b->live_in, live, words);
		}
	}
}
