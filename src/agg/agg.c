/* SPDX-License-Identifier: GPL-2.0-only */
#include "agg/agg.h"

#include "image/shared.h"
#include "lang/check.h"
#include "base/json.h"
#include "base/num.h"
#include "out/value.h"

bool agg_arg_is_signed(const struct expr *e)
{
	const struct type *t = e->call.args[0]->type;

	/* Literals count as signed. */
	return t->is_flexible || t->is_signed;
}

void agg_check_sign(struct expr *e, const struct agg *agg)
{
	e->type = &agg->types[agg_arg_is_signed(e)];
}

struct val agg_never_lowered(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() outside of an assignment", e->call.name);
}

vreg agg_base(struct lower *l, struct mem share)
{
	return share.off > INT16_MAX - 16 ? lower_addr(l, share) : share.base;
}

s64 agg_off(struct mem share)
{
	return share.off > INT16_MAX - 16 ? 0 : share.off;
}

struct opnd agg_opnd(struct lower *l, s64 v)
{
	return v == (s32)v ? opnd_imm(v) : opnd_reg(ir_imm(&l->b, v));
}

void agg_count_at(struct lower *l, struct mem share, vreg index)
{
	vreg at = ir_alu(&l->b, IR_SHL, index, opnd_imm(3));

	at = ir_alu(&l->b, IR_ADD, share.base, opnd_reg(at));
	ir_atomic_add(&l->b, agg_base(l, (struct mem){ .base = at, .off = share.off }), agg_off(share), 8, opnd_imm(1));
}

/* By halving, without branches, so that the verifier walks it once and knows that it is below 64:
 *     if v >= 2^s { v >>= s; pos += s }  is  t = (2^s - 1 - v) >> 63 << log2(s); v >>= t; pos += t.
 * (Kernels before 6.10 forget what they know of a register that is or'ed with another one, but not when they add.) */
vreg agg_log2(struct lower *l, vreg v)
{
	vreg pos = 0;

	for (int s = 32; s; s /= 2) {
		vreg limit = ir_imm(&l->b, (1ll << s) - 1);
		vreg t = ir_alu(&l->b, IR_SHR, ir_alu(&l->b, IR_SUB, limit, opnd_reg(v)), opnd_imm(63));

		t = ir_alu(&l->b, IR_SHL, t, opnd_imm(__builtin_ctz(s)));
		if (s > 1)
			v = ir_alu(&l->b, IR_SHR, v, opnd_reg(t));
		pos = pos ? ir_alu(&l->b, IR_ADD, pos, opnd_reg(t)) : t;
	}
	return pos;
}

u64 agg_word(const u8 *p)
{
	return shared_word(p);
}

bool agg_sum_words(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	bool any = false;

	/* Number by number, so that out may be cpu0. */
	for (u32 i = 0; i < t->size; i += 8) {
		u64 sum = 0;

		for (u32 cpu = 0; cpu < cpu_cnt; cpu++)
			sum += agg_word(cpu0 + (size_t)cpu * stride + i);
		memcpy(out + i, &sum, 8);
		any |= sum != 0;
	}
	return any;
}

void agg_add_words(const struct type *t, u8 *to, const u8 *share)
{
	for (u32 i = 0; i < t->size; i += 8) {
		u64 sum = agg_word(to + i) + agg_word(share + i);

		memcpy(to + i, &sum, 8);
	}
}

u64 agg_words_total(const struct type *t, const u8 *words)
{
	u64 total = 0;

	for (u32 i = 0; i < t->size; i += 8)
		total += agg_word(words + i);
	return total;
}

static void fold_word(struct lower *l, const struct type *t, vreg share, vreg acc, vreg acc2)
{
	ir_alu_to(&l->b, IR_ADD, acc, acc, opnd_reg(ir_load(&l->b, share, 0, 8)));
}

const struct agg_number agg_number_word = { .fold = fold_word };

u64 agg_rank_number(const struct type *t, const u8 *total)
{
	return agg_word(total) ^ (t->is_signed ? (u64)1 << 63 : 0);
}

void agg_text_number(const struct show *w, const struct type *t, const u8 *total)
{
	num_put(w->out, value_div(agg_word(total), w->div, t->is_signed), t->is_signed);
}

void agg_json_number(const struct show *w, const struct type *t, const u8 *total)
{
	json_int(w->out, value_div(agg_word(total), w->div, t->is_signed), t->is_signed);
}
