/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparing strings and byte arrays; texts for numbers.
 *
 * A string is compared with a literal word by word, with the literal's bytes as constants: eight bytes cost one load and one
 * branch. Two unknown strings are compared in a loop, eight bytes at a time where their alignment allows it. The verifier walks
 * every iteration, and keeps every branch that depends on data in a list of 8,192 entries: single bytes would fill it with a few
 * strings of 1,024.
 */
#include "ir/lower.h"

#include "image/image.h"
#include "image/uapi.h"

enum { CHUNK = 64 };

/* Copies the first `need` bytes of e into our own memory. */
static struct mem bring(struct lower *l, struct expr *e, u32 need)
{
	struct val v = lower_expr(l, e, NULL);
	struct mem m;

	BUG_ON(v.kind != VAL_MEM);
	if (v.mem.as == AS_NONE)
		return v.mem;
	m = lower_temp(l, ALIGN_UP(need, 8), 8);
	lower_read(l, v.mem, need, m);
	return m;
}

static void differ(struct lower *l, vreg a, s64 constant, struct ir_block *no)
{
	struct ir_block *next = ir_block_new(l->b.f);
	struct opnd b = constant == (s32)constant ? opnd_imm(constant) : opnd_reg(ir_imm(&l->b, constant));

	ir_br(&l->b, C_NE, a, b, no, next);
	ir_place(&l->b, next);
}

static void branch_literal(struct lower *l, struct expr *e, const struct expr *lit, u32 max_len, struct ir_block *yes,
			   struct ir_block *no)
{
	u32 cap = e->type->size, n = MIN(MIN(max_len, cap), lit->str.len + 1);
	struct mem m = bring(l, e, n);
	u32 room = ALIGN_UP(cap, 8) == cap ? cap : n; /* bytes that may be loaded, if not compared */
	u8 text[8];

	for (u32 at = 0; at < n;) {
		u32 left = n - at, w = 8;
		u64 v = 0;

		while (w > left || (m.off + at) % w)
			w /= 2;
		/* three bytes are four, masked */
		if (left == 3 && (m.off + at) % 4 == 0 && at + 4 <= room) {
			memset(text, 0, sizeof(text));
			memcpy(text, lit->str.s + at, MIN(left, lit->str.len - at));
			memcpy(&v, text, 4);
			differ(l, ir_alu(&l->b, IR_AND, ir_load(&l->b, m.base, m.off + at, 4), opnd_imm(0xffffff)), v, no);
			break;
		}
		memset(text, 0, sizeof(text));
		if (at < lit->str.len)
			memcpy(text, lit->str.s + at, MIN(w, lit->str.len - at));
		memcpy(&v, text, 8);
		differ(l, ir_load(&l->b, m.base, m.off + at, w), v, no);
		at += w;
	}
	ir_jmp(&l->b, yes);
}

/* Bytes from *i up to n, one by one; goes to yes or no. */
static void compare_bytes(struct lower *l, vreg pa, vreg pb, vreg i, u32 n, bool stop_at_nul, struct ir_block *yes,
			  struct ir_block *no)
{
	struct ir_block *loop = ir_block_new(l->b.f), *same = ir_block_new(l->b.f), *next = ir_block_new(l->b.f);
	vreg ca, cb;

	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	ca = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pa, opnd_reg(i)), 0, 1);
	cb = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pb, opnd_reg(i)), 0, 1);
	ir_br(&l->b, C_NE, ca, opnd_reg(cb), no, same);
	ir_place(&l->b, same);
	if (stop_at_nul) {
		ir_br(&l->b, C_EQ, ca, opnd_imm(0), yes, next);
		ir_place(&l->b, next);
	}
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(1));
	ir_br(&l->b, C_ULT, i, opnd_imm(n), loop, yes);
}

/* n bytes, a multiple of 8, in words. Falls through when all are equal and no NUL was among them.
 *
 * (x - 0x01…01) & ~x & 0x80…80 is not zero if a byte of x is, and its lowest bit then marks the first of them; so z ^ (z - 1)
 * covers all bytes up to that one, and what differs behind it does not matter. */
static void compare_words(struct lower *l, vreg pa, vreg pb, vreg i, u32 n, bool stop_at_nul, struct ir_block *yes,
			  struct ir_block *no)
{
	struct ir_block *loop = ir_block_new(l->b.f), *next = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg x, y, z, differ, upto;

	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	x = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pa, opnd_reg(i)), 0, 8);
	y = ir_load(&l->b, ir_alu(&l->b, IR_ADD, pb, opnd_reg(i)), 0, 8);
	if (stop_at_nul) {
		struct ir_block *has_nul = ir_block_new(l->b.f), *no_nul = ir_block_new(l->b.f);

		z = ir_alu(&l->b, IR_SUB, x, opnd_reg(ir_imm(&l->b, 0x0101010101010101)));
		z = ir_alu(&l->b, IR_AND, z, opnd_reg(ir_alu(&l->b, IR_XOR, x, opnd_imm(-1))));
		z = ir_alu(&l->b, IR_AND, z, opnd_reg(ir_imm(&l->b, (s64)0x8080808080808080)));
		ir_br(&l->b, C_NE, z, opnd_imm(0), has_nul, no_nul);
		ir_place(&l->b, has_nul);
		differ = ir_alu(&l->b, IR_XOR, x, opnd_reg(y));
		upto = ir_alu(&l->b, IR_XOR, z, opnd_reg(ir_alu(&l->b, IR_ADD, z, opnd_imm(-1))));
		ir_br(&l->b, C_EQ, ir_alu(&l->b, IR_AND, differ, opnd_reg(upto)), opnd_imm(0), yes, no);
		ir_place(&l->b, no_nul);
	}
	ir_br(&l->b, C_NE, x, opnd_reg(y), no, next);
	ir_place(&l->b, next);
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(8));
	ir_br(&l->b, C_ULT, i, opnd_imm(n), loop, done);
	ir_place(&l->b, done);
}

/* n bytes, a multiple of CHUNK: the differences of a chunk are gathered, so that there is one branch for each. Falls through as
 * above. */
static void compare_chunks(struct lower *l, vreg pa, vreg pb, vreg i, u32 n, struct ir_block *no)
{
	struct ir_block *loop = ir_block_new(l->b.f), *next = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg a, b, differ = ir_vreg(l->b.f);

	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	a = ir_alu(&l->b, IR_ADD, pa, opnd_reg(i));
	b = ir_alu(&l->b, IR_ADD, pb, opnd_reg(i));
	ir_mov_to(&l->b, differ, opnd_imm(0));
	for (u32 at = 0; at < CHUNK; at += 8) {
		vreg x = ir_load(&l->b, a, at, 8), y = ir_load(&l->b, b, at, 8);

		ir_alu_to(&l->b, IR_OR, differ, differ, opnd_reg(ir_alu(&l->b, IR_XOR, x, opnd_reg(y))));
	}
	ir_br(&l->b, C_NE, differ, opnd_imm(0), no, next);
	ir_place(&l->b, next);
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(CHUNK));
	ir_br(&l->b, C_ULT, i, opnd_imm(n), loop, done);
	ir_place(&l->b, done);
}

void lower_mem_branch(struct lower *l, struct mem x, struct mem y, u32 len, bool stop_at_nul, struct ir_block *yes,
		      struct ir_block *no)
{
	u32 words = x.off % 8 || y.off % 8 ? 0 : len / 8 * 8;
	vreg pa = lower_addr(l, x), pb = lower_addr(l, y), i = ir_vreg(l->b.f);

	ir_mov_to(&l->b, i, opnd_imm(0));
	if (words >= 4 * CHUNK && !stop_at_nul)
		compare_chunks(l, pa, pb, i, words / CHUNK * CHUNK, no);
	if (words && (stop_at_nul || words < 4 * CHUNK || words % CHUNK))
		compare_words(l, pa, pb, i, words, stop_at_nul, yes, no);
	if (words < len)
		compare_bytes(l, pa, pb, i, len, stop_at_nul, yes, no);
	else
		ir_jmp(&l->b, yes);
}

void lower_string_branch(struct lower *l, struct expr *a, struct expr *b, u32 max_len, bool stop_at_nul, struct ir_block *yes,
			 struct ir_block *no)
{
	struct mem x, y;

	if (stop_at_nul && b->kind == E_STR && a->kind != E_STR) {
		branch_literal(l, a, b, MIN(max_len, MAX(a->type->size, b->type->size)), yes, no);
		return;
	}
	if (stop_at_nul && a->kind == E_STR && b->kind != E_STR) {
		branch_literal(l, b, a, MIN(max_len, MAX(a->type->size, b->type->size)), yes, no);
		return;
	}
	max_len = MIN(max_len, MIN(a->type->size, b->type->size));
	x = bring(l, a, max_len);
	y = bring(l, b, max_len);
	lower_mem_branch(l, x, y, max_len, stop_at_nul, yes, no);
}

/* A table of offsets, with one more for numbers without a text, and the texts after it. Returns its offset in the constants, and
 * where the texts start in it. */
static u32 text_table(struct lower *l, const struct texts *texts, u32 *text_off)
{
	u32 *offs = arena_alloc(l->c->arena, (texts->cnt + 1) * sizeof(*offs)), at;
	struct sbuf all = {};
	u8 *table;

	sbuf_add(&all, texts->other, strlen(texts->other) + 1);
	for (u32 i = 0; i < texts->cnt; i++) {
		const char *text = texts->text(l, i);

		offs[i] = text ? all.len : 0;
		if (text)
			sbuf_add(&all, text, strlen(text) + 1);
	}
	offs[texts->cnt] = 0;
	*text_off = (texts->cnt + 1) * sizeof(*offs);
	table = arena_alloc(l->c->arena, *text_off + all.len);
	memcpy(table, offs, *text_off);
	memcpy(table + *text_off, all.s, all.len);
	at = lower_const(l, table, *text_off + all.len, 8);
	sbuf_release(&all);
	return at;
}

void lower_text_of(struct lower *l, struct opnd n, const struct texts *texts, struct mem dst, u32 size)
{
	struct ir_block *none = ir_block_new(l->b.f), *known = ir_block_new(l->b.f);
	u32 text_off, at = text_table(l, texts, &text_off);
	vreg i = ir_vreg(l->b.f), off;

	ir_mov_to(&l->b, i, n);
	ir_br(&l->b, C_ULT, i, opnd_imm(texts->cnt), known, none);
	ir_place(&l->b, none);
	ir_mov_to(&l->b, i, opnd_imm(texts->cnt));
	ir_jmp(&l->b, known);
	ir_place(&l->b, known);
	off = ir_load(&l->b,
		      ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_CONST, at), opnd_reg(ir_alu(&l->b, IR_SHL, i, opnd_imm(2)))),
		      0, 4);
	ir_call_of(&l->b, HELPER_probe_read_kernel_str, opnd_reg(lower_addr(l, dst)), opnd_imm(size),
		   opnd_reg(ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_CONST, at + text_off), opnd_reg(off))));
}

static const char *probe_text(struct lower *l, u32 n)
{
	return n ? site_text(&l->c->sites.at[n - 1], SITE_PROBE) : "";
}

static const char *func_text(struct lower *l, u32 n)
{
	return n ? site_text(&l->c->sites.at[n - 1], SITE_FUNC) : "";
}

void lower_site_text(struct lower *l, struct opnd site, const struct type *t, struct mem dst, const struct type *to)
{
	struct texts names = { l->c->sites.cnt + 1, t->show == SITE_PROBE ? probe_text : func_text, "" };
	u32 size = MIN(t->cnt, to->size);

	if (site.is_imm) {
		const char *text = names.text(l, site.imm);
		struct expr lit = {
			.kind = E_STR, .span = l->at, .type = to, .str = { .s = text, .len = MIN(strlen(text), to->size - 1) }
		};

		lower_store(l, &lit, to, dst);
		return;
	}
	if (l->zero_tails)
		lower_zero(l, dst, to->size);
	else if (to->size > size)
		lower_zero(l, (struct mem){ dst.base, dst.off + size }, to->size - size);
	lower_text_of(l, site, &names, dst, size);
}
