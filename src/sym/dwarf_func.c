/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions: their parameters, and where those are at the entry. */
#include "sym/dwarf_int.h"

/* ---- the machine ---- */

#if defined(__x86_64__)
static const u16 arg_regs[] = { 5, 4, 1, 2, 8, 9 };           /* di si dx cx r8 r9 */
static const u16 go_regs[] = { 0, 3, 2, 5, 4, 8, 9, 10, 11 }; /* ax bx cx di si r8 r9 r10 r11 */
enum {
	SP_REG = 7,
	FP_REG = 6,
	CALL_BYTES = 8 /* the return address, on the stack */,
	FP_TO_CFA = 16,
	FLOAT_REGS = 8,
	GO_FLOAT_REGS = 15,
	LAST_REG = 15
};
#elif defined(__aarch64__)
static const u16 arg_regs[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const u16 go_regs[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
enum { SP_REG = 31, FP_REG = 29, CALL_BYTES = 0, FP_TO_CFA = 16, FLOAT_REGS = 8, GO_FLOAT_REGS = 16, LAST_REG = 31 };
#endif

static const char in_float_reg[] = "it is in a floating-point register, which probes cannot read";
static const char not_told[] = "the debug information has no location for it at the function's entry";
static const char optimised_away[] = "the compiler optimised it away";

/* ---- locations ---- */

/* What an expression computes at the entry, as far as it is simple. */
enum outcome { LOC_OK, LOC_LATER /* a place that is filled after the entry */, LOC_EMPTY, LOC_UNKNOWN };

/* Where the function's frame will be, from the stack pointer at the entry. */
static enum outcome frame_base(const struct die *func, s64 *num)
{
	struct bytes b;

	if (!die_block(func, AT_frame_base, &b) || !b.len)
		return LOC_UNKNOWN;
	*num = CALL_BYTES;
	if (b.at[0] == DW_OP_call_frame_cfa)
		return LOC_OK;
	/* The frame pointer, which the function is about to set: it will be so far below the caller's frame. */
	if (b.at[0] == DW_OP_reg0 + FP_REG) {
		*num = CALL_BYTES - FP_TO_CFA;
		return LOC_OK;
	}
	/* The stack pointer, after the function has made room: how much is not said. */
	return b.at[0] == DW_OP_reg0 + SP_REG ? LOC_LATER : LOC_UNKNOWN;
}

/* One simple location: up to a piece or the end. */
static enum outcome simple(struct cur *c, const struct die *func, struct dbg_piece *p)
{
	u8 op = (u8)cur_uint(c, 1);
	s64 base;

	if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
		*p = (struct dbg_piece){ DBG_REG, op - DW_OP_reg0 };
	} else if (op == DW_OP_regx) {
		u64 reg = cur_uleb(c);

		*p = (struct dbg_piece){ DBG_REG, reg > LAST_REG ? UINT16_MAX : (u16)reg };
	} else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		*p = (struct dbg_piece){ DBG_MEM, op - DW_OP_breg0, cur_sleb(c) };
	} else if (op == DW_OP_fbreg) {
		s64 off = cur_sleb(c);

		enum outcome o = frame_base(func, &base);

		if (o != LOC_OK || off > INT32_MAX || off < INT32_MIN)
			return o == LOC_OK ? LOC_UNKNOWN : o;
		/* Below the return address is the function's own frame, which is not there yet. */
		if (base + off < CALL_BYTES)
			return LOC_LATER;
		*p = (struct dbg_piece){ DBG_MEM, SP_REG, base + off };
	} else if (op == DW_OP_call_frame_cfa) {
		*p = (struct dbg_piece){ DBG_MEM, SP_REG, CALL_BYTES };
	} else if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*p = (struct dbg_piece){ DBG_CONST, 0, op - DW_OP_lit0 };
	} else if (op >= DW_OP_const1u && op <= DW_OP_const8s) {
		u32 size = 1u << (op - DW_OP_const1u) / 2;
		u64 v = cur_uint(c, size);

		*p = (struct dbg_piece){ DBG_CONST, 0,
					 (op - DW_OP_const1u) % 2 && size < 8 ? (s64)(v << (64 - 8 * size)) >> (64 - 8 * size) :
										(s64)v };
	} else if (op == DW_OP_constu || op == DW_OP_consts) {
		*p = (struct dbg_piece){ DBG_CONST, 0, op == DW_OP_constu ? (s64)cur_uleb(c) : cur_sleb(c) };
	} else if (op == DW_OP_entry_value || op == DW_OP_GNU_entry_value) {
		struct cur in = *c;
		u64 len = cur_uleb(&in);

		*c = in;
		cur_skip(c, len);
		if (c->bad || len != 1 || *in.p < DW_OP_reg0 || *in.p > DW_OP_reg31)
			return LOC_UNKNOWN;
		*p = (struct dbg_piece){ DBG_REG_SUM, *in.p - DW_OP_reg0 };
	} else if (op == DW_OP_piece) {
		c->p--;
		return LOC_EMPTY;
	} else {
		return LOC_UNKNOWN;
	}
	for (; !cur_done(c) && *c->p != DW_OP_piece;) {
		op = (u8)cur_uint(c, 1);
		if (op == DW_OP_plus_uconst && (p->where == DBG_MEM || p->where == DBG_REG_SUM)) {
			p->num += (s64)cur_uleb(c);
		} else if (op == DW_OP_stack_value && (p->where == DBG_MEM || p->where == DBG_REG_SUM || p->where == DBG_CONST)) {
			if (p->where == DBG_MEM)
				p->where = DBG_REG_SUM;
		} else {
			return op == DW_OP_deref ? LOC_LATER : LOC_UNKNOWN;
		}
	}
	if (c->bad || p->num > INT32_MAX || p->num < INT32_MIN)
		return p->where == DBG_CONST && !c->bad ? LOC_OK : LOC_UNKNOWN;
	return p->where == DBG_CONST || p->reg <= LAST_REG ? LOC_OK : LOC_UNKNOWN;
}

static enum outcome evaluate(struct bytes expr, const struct die *func, struct dbg_param *out)
{
	struct cur c = { expr.at, expr.at + expr.len, false };
	u32 off = 0, size = out->type->size;

	out->piece_cnt = 0;
	if (!expr.len)
		return LOC_EMPTY;
	while (!cur_done(&c)) {
		struct dbg_piece *p = &out->pieces[out->piece_cnt];
		enum outcome o;
		u64 n;

		if (out->piece_cnt == ARRAY_CNT(out->pieces))
			return LOC_UNKNOWN;
		o = simple(&c, func, p);
		if (o != LOC_OK)
			return o;
		p->off = off;
		p->size = size - off;
		if (!cur_done(&c)) {
			c.p++; /* DW_OP_piece */
			n = cur_uleb(&c);
			if (c.bad || !n || n > size - off)
				return LOC_UNKNOWN;
			p->size = (u32)n;
		}
		off += p->size;
		out->piece_cnt++;
	}
	if (c.bad || off != size)
		return LOC_UNKNOWN;
	for (u32 i = 0; i < out->piece_cnt; i++)
		if (out->pieces[i].where != DBG_MEM && out->pieces[i].size > 8)
			return LOC_UNKNOWN;
	return LOC_OK;
}

/* ---- the calling convention ---- */

enum arg_class { CLASS_NONE, CLASS_INT, CLASS_FLOAT, CLASS_MEMORY, CLASS_UNKNOWN };

struct budget {
	u32 left; /* entries that may be looked at */
};

static void merge(enum arg_class *to, enum arg_class c)
{
	if (*to == CLASS_NONE || c == CLASS_MEMORY || c == CLASS_UNKNOWN)
		*to = c;
	else if (*to == CLASS_FLOAT && c == CLASS_INT)
		*to = CLASS_INT;
}

/* How many elements an array has. */
static bool array_cnt(const struct die *t, u64 *cnt)
{
	struct die range;

	if (!die_child(t, &range))
		return false;
	*cnt = die_has(&range, AT_count) ? die_uint(&range, AT_count, 0) : die_uint(&range, AT_upper_bound, UINT64_MAX) + 1;
	return true;
}

/* Adds what lies at byte off of an object of at most 16 bytes to the classes of its two halves. */
static void classify(const struct die *type, u64 off, u32 depth, struct budget *b, enum arg_class cls[2])
{
	struct die t, m, elem;
	u64 size;

	if (depth > 16 || !b->left || !die_strip(type, &t)) {
		merge(&cls[0], CLASS_UNKNOWN);
		return;
	}
	b->left--;
	size = die_uint(&t, AT_byte_size, 8);
	switch (t.tag) {
	case DW_TAG_base_type: {
		u64 enc = die_uint(&t, AT_encoding, 0);

		if (off % (size ? size : 1) || off + size > 16)
			merge(&cls[0], CLASS_MEMORY);
		else if (enc == DW_ATE_float && size <= 8)
			merge(&cls[off / 8], CLASS_FLOAT);
		else if (enc == DW_ATE_float || enc == DW_ATE_complex_float || enc == DW_ATE_imaginary_float ||
			 enc == DW_ATE_decimal_float)
			merge(&cls[0],
			      size == 16 && enc == DW_ATE_float ? CLASS_MEMORY :
								  CLASS_UNKNOWN); /* long double; others are rare */
		else
			for (u64 i = off / 8; i <= (off + size - 1) / 8 && size; i++)
				merge(&cls[i], CLASS_INT);
		return;
	}
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_unspecified_type:
		if (off % MIN(MAX(size, 1), 8) || off + size > 16)
			merge(&cls[0], CLASS_MEMORY);
		else
			merge(&cls[off / 8], CLASS_INT);
		return;
	case DW_TAG_array_type: {
		const struct type *whole = dbg_type_of(&t);
		u64 cnt;

		if (!die_ref(&t, AT_type, &elem) || !array_cnt(&t, &cnt))
			break;
		for (u64 i = 0; i < cnt && i < 16 && whole->size; i++)
			classify(&elem, off + i * whole->size, depth + 1, b, cls);
		return;
	}
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (size > 16 || die_flag(&t, AT_declaration)) {
			merge(&cls[0], size > 16 ? CLASS_MEMORY : CLASS_UNKNOWN);
			return;
		}
		if (!die_child(&t, &m))
			return;
		do {
			if (m.tag == DW_TAG_variant_part)
				merge(&cls[0], CLASS_UNKNOWN);
			if ((m.tag != DW_TAG_member && m.tag != DW_TAG_inheritance) ||
			    (die_flag(&m, AT_external) && !die_has(&m, AT_data_member_location)) || !die_ref(&m, AT_type, &elem))
				continue;
			/* A bit-field is an integer wherever it is. */
			if (die_has(&m, AT_bit_size))
				merge(&cls[MIN((off +
						(die_has(&m, AT_data_bit_offset) ? die_uint(&m, AT_data_bit_offset, 0) / 8 :
										   die_uint(&m, AT_data_member_location, 0))) /
						       8,
					       1)],
				      CLASS_INT);
			else
				classify(&elem, off + die_uint(&m, AT_data_member_location, 0), depth + 1, b, cls);
		} while (die_next(&m));
		return;
	}
	merge(&cls[0], CLASS_UNKNOWN);
}

/* Registers that were given away so far. */
struct convention {
	u32 ints, floats;
	s64 stack;    /* bytes of arguments on the stack */
	bool is_lost; /* something came that is not understood: nothing behind it is known */
	bool is_rust, is_go;
};

/* C++: objects that cannot simply be copied are passed by address. Some compilers say so of the type, others only where the
 * parameter is: at an address that is kept somewhere. */
static bool by_reference(const struct die *t, const struct die *param)
{
	struct bytes expr;
	struct die s;

	if (param && die_block(param, AT_location, &expr) && expr.len) {
		struct cur c = { expr.at, expr.at + expr.len, false };
		u8 op = (u8)cur_uint(&c, 1);

		cur_sleb(&c);
		if ((op == DW_OP_fbreg || (op >= DW_OP_breg0 && op <= DW_OP_breg31)) && cur_uint(&c, 1) == DW_OP_deref &&
		    !c.bad && c.p == c.end)
			return true;
	}
	return die_strip(t, &s) && (s.tag == DW_TAG_structure_type || s.tag == DW_TAG_class_type) &&
		die_uint(&s, AT_calling_convention, 0) == DW_CC_pass_by_reference;
}

/* The scalars that a value is made of. */
struct leaves {
	struct {
		u64 off, size;
		bool is_float;
	} at[9];
	u32 cnt; /* may be more than are there */
	bool is_unknown;
	bool has_array; /* of more than one element; it is unknown, too */
};

static void find_leaves(const struct die *type, u64 off, u32 depth, struct budget *b, struct leaves *out)
{
	struct die t, m, elem;
	u64 size, enc;

	if (depth > 16 || !b->left || !die_strip(type, &t)) {
		out->is_unknown = true;
		return;
	}
	b->left--;
	size = die_uint(&t, AT_byte_size, 8);
	enc = die_uint(&t, AT_encoding, 0);
	switch (t.tag) {
	case DW_TAG_array_type: {
		u64 cnt;

		if (!array_cnt(&t, &cnt) || !die_ref(&t, AT_type, &elem))
			break;
		if (cnt == 1)
			find_leaves(&elem, off, depth + 1, b, out);
		else if (cnt)
			out->is_unknown = out->has_array = true;
		return;
	}
	case DW_TAG_structure_type:
		if (!die_child(&t, &m))
			return;
		do {
			if (m.tag == DW_TAG_variant_part)
				out->is_unknown = true;
			if (m.tag == DW_TAG_member && die_ref(&m, AT_type, &elem))
				find_leaves(&elem, off + die_uint(&m, AT_data_member_location, 0), depth + 1, b, out);
		} while (die_next(&m));
		return;
	case DW_TAG_base_type:
	case DW_TAG_pointer_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subroutine_type:
		if (!size)
			return;
		if (size > 8 || enc == DW_ATE_complex_float)
			out->is_unknown = true;
		if (out->cnt < ARRAY_CNT(out->at)) {
			out->at[out->cnt].off = off;
			out->at[out->cnt].size = size;
			out->at[out->cnt].is_float = enc == DW_ATE_float;
		}
		out->cnt++;
		return;
	}
	out->is_unknown = true;
}

/* Rust: a value of one or two scalars takes a register for each, in the order of their places; others go in one register, or by
 * address if they do not fit. It does not promise so, but does it. */
static void place_by_rust(struct convention *cv, const struct die *type, struct dbg_param *out)
{
	struct budget b = { 1000 };
	struct leaves in = {};
	u32 size = out->type->size, first;

	find_leaves(type, 0, 0, &b, &in);
	if (!in.is_unknown && in.cnt > 2) {
		/* neither one scalar nor two */
		if (cv->ints < ARRAY_CNT(arg_regs)) {
			out->pieces[0] = (struct dbg_piece){ size > 8 ? DBG_MEM : DBG_REG, arg_regs[cv->ints++], 0, 0, size };
			out->piece_cnt = 1;
			return;
		}
		in.is_unknown = true;
	}
	if (in.is_unknown || cv->ints + in.cnt > ARRAY_CNT(arg_regs)) {
		cv->is_lost = true;
		return;
	}
	for (u32 i = 0; i < in.cnt; i++)
		if (in.at[i].is_float)
			out->why = in_float_reg;
	first = in.cnt == 2 && in.at[1].off < in.at[0].off;
	for (u32 i = 0; i < in.cnt; i++) {
		u32 k = i ^ first;

		if (in.at[k].is_float)
			cv->floats++;
		else
			out->pieces[i] = (struct dbg_piece){ DBG_REG, arg_regs[cv->ints++], 0, (u32)in.at[k].off,
							     (u32)in.at[k].size };
	}
	if (out->why != in_float_reg)
		out->piece_cnt = in.cnt;
}

/* Go, since 1.17: each scalar takes a register. What does not fit as a whole, and what has an array in it, is on the stack. */
static void place_by_go(struct convention *cv, const struct die *type, struct dbg_param *out)
{
	u32 size = out->type->size, ints = 0, floats = 0;
	struct budget b = { 1000 };
	struct leaves in = {};

	find_leaves(type, 0, 0, &b, &in);
	if (in.is_unknown && !in.has_array) {
		cv->is_lost = true;
		return;
	}
	for (u32 i = 0; i < MIN(in.cnt, ARRAY_CNT(in.at)); i++) {
		ints += !in.at[i].is_float;
		floats += in.at[i].is_float;
	}
	if (in.has_array || in.cnt > ARRAY_CNT(in.at) || cv->ints + ints > ARRAY_CNT(go_regs) ||
	    cv->floats + floats > GO_FLOAT_REGS) {
		cv->stack = ALIGN_UP(cv->stack, MAX(out->type->align, 1));
		out->pieces[0] = (struct dbg_piece){ DBG_MEM, SP_REG, CALL_BYTES + cv->stack, 0, size };
		out->piece_cnt = size ? 1 : 0;
		cv->stack += size;
		return;
	}
	cv->floats += floats;
	if (floats) {
		cv->ints += ints;
		out->why = in_float_reg;
		return;
	}
	for (u32 i = 0; i < in.cnt; i++)
		out->pieces[out->piece_cnt++] = (struct dbg_piece){ DBG_REG, go_regs[cv->ints++], 0, (u32)in.at[i].off,
								    (u32)in.at[i].size };
}

static void place_by_convention(struct convention *cv, const struct die *type, const struct die *param, struct dbg_param *out)
{
	enum arg_class cls[2] = {};
	struct budget b = { 1000 };
	u32 size = out->type->size, halves, ints = 0, floats = 0;
	struct dbg_piece *p = out->pieces;

	out->piece_cnt = 0;
	out->why = not_told;
	if (cv->is_lost)
		return;
	if (cv->is_go) {
		place_by_go(cv, type, out);
		return;
	}
	if (cv->is_rust && size <= 16) {
		place_by_rust(cv, type, out);
		return;
	}
	if (cv->is_rust || by_reference(type, param)) {
		if (cv->ints < ARRAY_CNT(arg_regs)) {
			p[0] = (struct dbg_piece){ DBG_MEM, arg_regs[cv->ints++], 0, 0, size };
			out->piece_cnt = size ? 1 : 0;
		} else {
			cv->stack += 8;
			out->why = "its address is on the stack";
		}
		return;
	}
	if (!size) { /* an empty struct of C takes no place; of one that is only declared nothing is known */
		cv->is_lost = true;
		return;
	}
	halves = size > 8 ? 2 : 1;
	if (size > 16)
		cls[0] = CLASS_MEMORY;
	else
		classify(type, 0, 0, &b, cls);
	if (cls[0] == CLASS_UNKNOWN || cls[1] == CLASS_UNKNOWN) {
		cv->is_lost = true;
		return;
	}
	for (u32 i = 0; i < halves; i++) {
		ints += cls[i] == CLASS_INT;
		floats += cls[i] == CLASS_FLOAT;
	}
#if defined(__aarch64__)
	if (cls[0] == CLASS_MEMORY && size > 16) { /* by address */
		cls[0] = CLASS_INT;
		ints = 1;
		if (cv->ints < ARRAY_CNT(arg_regs)) {
			p[0] = (struct dbg_piece){ DBG_MEM, arg_regs[cv->ints++], 0, 0, size };
			out->piece_cnt = 1;
			return;
		}
	}
#endif
	if (cls[0] == CLASS_MEMORY || cls[1] == CLASS_MEMORY || cv->ints + ints > ARRAY_CNT(arg_regs) ||
	    cv->floats + floats > FLOAT_REGS) {
		u32 align = size > 8 && out->type->align == 16 ? 16 : 8;

		cv->stack = ALIGN_UP(cv->stack, align);
		p[0] = (struct dbg_piece){ DBG_MEM, SP_REG, CALL_BYTES + cv->stack, 0, size };
		out->piece_cnt = 1;
		cv->stack += ALIGN_UP(size, 8);
		return;
	}
	cv->floats += floats;
	if (floats) {
		cv->ints += ints;
		out->why = in_float_reg;
		return;
	}
	/* A half that is all padding takes no register. */
	for (u32 i = 0; i < halves; i++)
		if (cls[i] == CLASS_INT)
			p[out->piece_cnt++] = (struct dbg_piece){ DBG_REG, arg_regs[cv->ints++], 0, 8 * i, MIN(8, size - 8 * i) };
}

/* A result that does not fit registers is written to where the caller says, in the first register. */
static void take_result(struct convention *cv, const struct die *func)
{
	enum arg_class cls[2] = {};
	struct budget b = { 1000 };
	struct die with, t, s;
	u64 size;

	if (!die_with(func, AT_type, &with) || !die_ref(&with, AT_type, &t))
		return;
	if (!die_strip(&t, &s) || (s.tag != DW_TAG_structure_type && s.tag != DW_TAG_class_type && s.tag != DW_TAG_union_type))
		return;
	size = die_uint(&s, AT_byte_size, 0);
	if (cv->is_rust) {
		struct leaves in = {};

		find_leaves(&s, 0, 0, &b, &in);
		if (size > 16 || (in.cnt > 2 && size > 8 && !in.is_unknown))
			cv->ints++;
		else if (in.is_unknown)
			cv->is_lost = true;
		return;
	}
	if (size <= 16)
		classify(&s, 0, 0, &b, cls);
#if defined(__x86_64__)
	if (size > 16 || cls[0] == CLASS_MEMORY || by_reference(&s, NULL))
		cv->ints++;
	else if (cls[0] == CLASS_UNKNOWN)
		cv->is_lost = true;
#endif
}

/* ---- parameters ---- */

/* has_rule: the calling convention holds for this function. */
static void place(const struct die *func, const struct die *p, u64 entry, bool has_rule, struct convention *cv,
		  struct dbg_param *out)
{
	struct dbg_param by_rule = *out;
	enum outcome o = LOC_EMPTY;
	struct bytes expr;
	struct die with, type;
	bool has_type = die_with(p, AT_type, &with) && die_ref(&with, AT_type, &type);

	if (has_type)
		place_by_convention(cv, &type, p, &by_rule);
	else
		cv->is_lost = true;
	if (die_has(p, AT_const_value) && out->type->size && out->type->size <= 8 && !die_block(p, AT_const_value, &expr)) {
		out->pieces[0] = (struct dbg_piece){ DBG_CONST, 0, (s64)die_uint(p, AT_const_value, 0), 0, out->type->size };
		out->piece_cnt = 1;
		return;
	}
	if (!out->type->size) {
		out->why = "its type has no size";
		return;
	}
	if (die_block(p, AT_location, &expr) || loclist_find(p, AT_location, entry, &expr))
		o = evaluate(expr, func, out);
	switch (o) {
	case LOC_OK:
		return;
	case LOC_UNKNOWN:
		out->piece_cnt = 0;
		out->why = by_rule.why == in_float_reg ? in_float_reg : not_told;
		if (has_rule)
			*out = by_rule;
		return;
	case LOC_LATER:
		*out = by_rule;
		return;
	case LOC_EMPTY:
		out->piece_cnt = 0;
		out->why = optimised_away;
		if (has_rule)
			*out = by_rule;
		return;
	}
}

/* Code that is not optimised: a parameter's place is filled by the function itself. */
static bool is_plain(const struct die *func, const struct die *first)
{
	struct die p = *first;

	do {
		struct dbg_param try = { .type = &type_u8 };
		struct bytes expr;

		if (p.tag == DW_TAG_formal_parameter && die_block(&p, AT_location, &expr) &&
		    evaluate(expr, func, &try) == LOC_LATER)
			return true;
	} while (die_next(&p));
	return false;
}

/* A function as a value is an address in Go. */
static bool is_go_func(const struct die *p)
{
	struct die type, t;

	return die_ref(p, AT_type, &type) && die_strip(&type, &t) && t.tag == DW_TAG_subroutine_type;
}

static const struct dbg_func *read_func(struct dbg *d, const struct die *func, u64 entry, const char *symbol)
{
	struct dbg_func *f = arena_new(&d->arena, struct dbg_func);
	/* What Go makes to pass a call on does not list all of its parameters. */
	struct convention cv = { .is_rust = func->u->lang == DW_LANG_Rust,
				 .is_go = func->u->lang == DW_LANG_Go,
				 .is_lost = die_flag(func, AT_trampoline) };
	struct die p, with, origin = *func;
	vec(struct dbg_param) params = {};
	/* What others can call is called by the rules. But copies that the compiler made for its own use (f.constprop.0) take
	 * other parameters. */
	bool has_rule = cv.is_go || (die_with(func, AT_external, &with) && !strchr(symbol, '.'));
	const char *name = die_name(func);

	f->name = name ? name : "";
	f->ret = dbg_type_of(func);
	f->ret_spelling = dbg_spelling_of(func);
	take_result(&cv, func);
	/* A copy of its own (abstract_origin) lists its parameters itself; one that lists none has those of its origin. */
	if (!die_child(&origin, &p) && (!die_ref(func, AT_abstract_origin, &origin) || !die_child(&origin, &p)))
		goto out;
	has_rule = has_rule || is_plain(func, &p);
	do {
		struct dbg_param add = {};

		if (p.tag == DW_TAG_unspecified_parameters)
			f->is_variadic = true;
		/* Go lists results among the parameters. */
		if (p.tag != DW_TAG_formal_parameter || die_flag(&p, AT_variable_parameter))
			continue;
		name = die_name(&p);
		add.name = name ? name : "";
		add.type = cv.is_go && is_go_func(&p) ? type_pointer(&d->arena, &type_void, AS_USER) : dbg_type_of(&p);
		add.spelling = dbg_spelling_of(&p);
		if (params.cnt == 256)
			break;
		place(func, &p, entry, has_rule, &cv, &add);
		vec_push(&params, add);
	} while (die_next(&p));
out:
	f->params = arena_alloc(&d->arena, MAX(params.cnt, 1) * sizeof(*f->params));
	if (params.cnt)
		memcpy(f->params, params.at, params.cnt * sizeof(*f->params));
	f->param_cnt = params.cnt;
	vec_free(&params);
	return f;
}

static bool find_func(const struct die *parent, u64 addr, u32 depth, struct die *out)
{
	struct die d;

	if (depth > 32 || !die_child(parent, &d))
		return false;
	do {
		u64 lo;

		switch (d.tag) {
		case DW_TAG_subprogram:
			/* The entry is where its addresses start, also when it is in several parts. */
			if (die_addr(&d, AT_entry_pc, &lo)                                  ? lo == addr :
				    die_addr(&d, AT_low_pc, &lo) && die_has(&d, AT_high_pc) ? lo == addr :
											      false) {
				*out = d;
				return true;
			}
			if (die_has(&d, AT_ranges)) {
				range_list r = {};
				bool is_it = die_ranges(&d, &r) && r.at[0].lo == addr;

				vec_free(&r);
				if (is_it) {
					*out = d;
					return true;
				}
			}
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			if (find_func(&d, addr, depth + 1, out))
				return true;
			break;
		}
	} while (die_next(&d));
	return false;
}

const struct dbg_func *dbg_func_at(struct dbg *d, u64 addr, const char *symbol)
{
	const struct dbg_func *f = dbg_map_get(&d->funcs, addr);
	struct dwarf_unit *u;
	struct die root, func;

	if (f)
		return f;
	u = dwarf_unit_of_addr(d, addr);
	if (!u || !die_read(u, u->die_off, &root) || !find_func(&root, addr, 0, &func))
		return NULL;
	f = read_func(d, &func, addr, symbol);
	dbg_map_put(&d->funcs, addr, (void *)f);
	return f;
}
