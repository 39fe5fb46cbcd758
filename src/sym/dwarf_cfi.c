/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/cfi.h"

#include <stdlib.h>

#include "sym/dwarf_int.h"

/* Registers by the numbers of the x86-64 ABI. */
enum { REG_BP = 6, REG_SP = 7, REG_RA = 16 };

enum {
	CFA_advance_loc = 0x40,
	CFA_offset = 0x80,
	CFA_restore = 0xc0,
	CFA_nop = 0,
	CFA_set_loc = 1,
	CFA_advance_loc1 = 2,
	CFA_advance_loc2 = 3,
	CFA_advance_loc4 = 4,
	CFA_offset_extended = 5,
	CFA_restore_extended = 6,
	CFA_undefined = 7,
	CFA_same_value = 8,
	CFA_register = 9,
	CFA_remember_state = 10,
	CFA_restore_state = 11,
	CFA_def_cfa = 12,
	CFA_def_cfa_register = 13,
	CFA_def_cfa_offset = 14,
	CFA_def_cfa_expression = 15,
	CFA_expression = 16,
	CFA_offset_extended_sf = 17,
	CFA_def_cfa_sf = 18,
	CFA_def_cfa_offset_sf = 19,
	CFA_val_offset = 20,
	CFA_val_offset_sf = 21,
	CFA_val_expression = 22,
	CFA_GNU_args_size = 0x2e,
	CFA_GNU_negative_offset_extended = 0x2f,
};

/* Encoding of pointers: the low four bits are the format, the next three what they are relative to. */
enum {
	PE_absptr = 0,
	PE_uleb = 1,
	PE_udata2 = 2,
	PE_udata4 = 3,
	PE_udata8 = 4,
	PE_sleb = 9,
	PE_sdata2 = 10,
	PE_sdata4 = 11,
	PE_sdata8 = 12,
	PE_pcrel = 0x10,
	PE_aligned = 0x50,
	PE_omit = 0xff
};

enum { DEPTH_MAX = 64 }; /* of remembered states; compilers nest one or two */

/* Where a register of the caller is. */
enum where { AT_SAME, AT_CFA, AT_EXPR, AT_UNDEFINED, AT_OTHER };

struct rule {
	enum where where;
	s64 off;           /* AT_CFA */
	struct bytes expr; /* AT_EXPR: of its address */
};

/* The state of a function's program. */
struct state {
	u64 reg; /* the CFA is reg + off, or … */
	s64 off;
	struct bytes expr; /* … what this computes */
	struct rule bp, ra;
};

struct cie {
	u64 at; /* of its length in the section */
	u64 code_align, ra_reg;
	s64 data_align;
	u8 enc;
	bool is_signal, has_sizes, is_bad;
	struct state start;
};

/* One function: rows [first, first + cnt). */
struct span_rows {
	u64 pc, end;
	u32 first, cnt;
};

struct reader {
	struct objfile *o;
	struct bytes sec;
	u64 addr;             /* of the section, as linked */
	vec(struct cie) cies; /* in order of at */
	vec(struct cfi_row) rows;
	vec(struct span_rows) funcs;
	u32 bad;
};

/* ---- expressions ---- */

/* DW_OP_bregN off, and then the bytes of `rest`. */
static bool is_breg(struct bytes e, u32 reg, s64 *off, const char *rest, u32 rest_len)
{
	struct cur c = cur_at(e, 0);

	if (!e.len || cur_uint(&c, 1) != DW_OP_breg0 + reg)
		return false;
	*off = cur_sleb(&c);
	return !c.bad && (u32)(c.end - c.p) == rest_len && !memcmp(c.p, rest, rest_len);
}

/* A stub of the procedure linkage table, which makes the loader resolve a function: jmp, push, jmp, 16 bytes in all. The push
 * makes the frame larger:
 *   DW_OP_breg7 8; DW_OP_breg16 0; DW_OP_lit15; DW_OP_and; DW_OP_lit11; DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus */
static bool is_plt(struct bytes e, s64 *base, s64 *from)
{
	struct cur c = cur_at(e, 0);
	u64 lit;

	if (cur_uint(&c, 1) != DW_OP_breg0 + REG_SP)
		return false;
	*base = cur_sleb(&c);
	if (cur_uint(&c, 1) != DW_OP_breg0 + REG_RA || cur_sleb(&c) || cur_uint(&c, 2) != (DW_OP_lit0 + 15 + (0x1a << 8)))
		return false;
	lit = cur_uint(&c, 1);
	*from = (s64)lit - DW_OP_lit0;
	return !c.bad && lit >= DW_OP_lit0 && lit < DW_OP_lit0 + 16 && c.end - c.p == 4 && !memcmp(c.p, "\x2a\x33\x24\x22", 4);
}

/* The kernel's frame for a signal handler begins with struct ucontext: offsets of registers in it. */
static bool is_signal(const struct state *s)
{
	s64 sp, ra, bp;

	return is_breg(s->expr, REG_SP, &sp, "\x06", 1) && sp == 160 && s->ra.where == AT_EXPR &&
		is_breg(s->ra.expr, REG_SP, &ra, "", 0) && ra == 168 && s->bp.where == AT_EXPR &&
		is_breg(s->bp.expr, REG_SP, &bp, "", 0) && bp == 120;
}

/* ---- from a state to a row ---- */

static void row_bp(const struct state *s, struct cfi_row *r)
{
	s64 off = s->bp.off;

	switch (s->bp.where) {
	case AT_SAME:
		r->bp = CFI_BP_SAME;
		return;
	case AT_CFA:
		r->bp = CFI_BP_AT;
		break;
	case AT_EXPR:
		r->bp = is_breg(s->bp.expr, REG_BP, &off, "", 0) ? CFI_BP_AT_BP : CFI_BP_LOST;
		break;
	case AT_UNDEFINED:
	case AT_OTHER:
		r->bp = CFI_BP_LOST;
		return;
	}
	if (r->bp == CFI_BP_LOST)
		return;
	if (off == (s16)off)
		r->bp_off = (s16)off;
	else
		r->bp = CFI_BP_LOST;
}

static struct cfi_row row_of(const struct state *s, u64 pc, bool is_sig)
{
	struct cfi_row r = { .pc = pc, .cfa = CFI_OTHER };
	s64 off = s->off, from;

	if (s->ra.where == AT_UNDEFINED) {
		r.cfa = CFI_END;
		return r;
	}
	if (is_sig) {
		r.cfa = is_signal(s) ? CFI_SIGNAL : CFI_OTHER;
		return r;
	}
	if (s->ra.where != AT_CFA || s->ra.off != -8)
		return r;
	row_bp(s, &r);
	if (!s->expr.at && (s->reg == REG_SP || s->reg == REG_BP)) {
		r.cfa = s->reg == REG_SP ? CFI_SP : CFI_BP;
	} else if (is_breg(s->expr, REG_BP, &off, "\x06", 1)) {
		r.cfa = CFI_BP_DEREF;
	} else if (is_plt(s->expr, &off, &from) && r.bp == CFI_BP_SAME) {
		r.cfa = CFI_PLT;
		r.bp_off = (s16)from;
	}
	if (r.cfa == CFI_OTHER || off != (s32)off)
		return (struct cfi_row){ .pc = pc, .cfa = CFI_OTHER };
	r.cfa_off = (s32)off;
	return r;
}

static bool same_rule(const struct cfi_row *a, const struct cfi_row *b)
{
	return a->cfa == b->cfa && a->bp == b->bp && a->bp_off == b->bp_off && a->cfa_off == b->cfa_off;
}

/* ---- programs ---- */

/* A pointer at c, which is in the section. */
static u64 read_pointer(const struct reader *r, struct cur *c, u8 enc)
{
	u64 at = r->addr + (u64)(c->p - r->sec.at), v = 0;

	switch (enc & 15) {
	case PE_absptr:
	case PE_udata8:
	case PE_sdata8:
		v = cur_uint(c, 8);
		break;
	case PE_uleb:
		v = cur_uleb(c);
		break;
	case PE_sleb:
		v = (u64)cur_sleb(c);
		break;
	case PE_udata2:
		v = cur_uint(c, 2);
		break;
	case PE_udata4:
		v = cur_uint(c, 4);
		break;
	case PE_sdata2:
		v = (u64)(s64)(s16)cur_uint(c, 2);
		break;
	case PE_sdata4:
		v = (u64)(s64)(s32)cur_uint(c, 4);
		break;
	default:
		c->bad = true;
	}
	switch (enc & 0xf0) {
	case 0:
		break;
	case PE_pcrel:
		v += at;
		break;
	default:
		c->bad = true; /* relative to a run-time address, or indirect */
	}
	return v;
}

/* The register, if it is one that we track. */
static struct rule *rule_of(struct state *s, const struct cie *cie, u64 reg)
{
	return reg == REG_BP ? &s->bp : reg == cie->ra_reg ? &s->ra : NULL;
}

static void set_rule(struct state *s, const struct cie *cie, u64 reg, struct rule rule)
{
	struct rule *to = rule_of(s, cie, reg);

	if (to)
		*to = rule;
}

static struct bytes read_block(struct cur *c)
{
	u64 len = cur_uleb(c);
	struct bytes b = { c->p, len };

	cur_skip(c, len);
	return c->bad ? (struct bytes){} : b;
}

/* The progress of a function's program. */
struct walk {
	struct reader *r;
	const struct cie *cie;
	struct state s, kept[DEPTH_MAX];
	u32 kept_cnt;
	u64 pc, end;
	u32 first; /* row */
};

/* Adds a row for the current address. */
static void put_row(struct walk *w)
{
	struct cfi_row row = row_of(&w->s, w->pc, w->cie->is_signal);
	struct reader *r = w->r;

	if (r->rows.cnt > w->first && r->rows.at[r->rows.cnt - 1].pc == w->pc)
		r->rows.cnt--;
	if (r->rows.cnt == w->first || !same_rule(&r->rows.at[r->rows.cnt - 1], &row))
		vec_push(&r->rows, row);
}

static void advance(struct walk *w, struct cur *c, u64 by)
{
	put_row(w);
	if (by > w->end - w->pc)
		c->bad = true;
	else
		w->pc += by;
}

static void set_offset(struct walk *w, u64 reg, s64 factored)
{
	s64 off;

	/* Numbers of hostile files may not fit: such a row counts as not supported. */
	if (__builtin_mul_overflow(factored, w->cie->data_align, &off))
		set_rule(&w->s, w->cie, reg, (struct rule){ .where = AT_OTHER });
	else
		set_rule(&w->s, w->cie, reg, (struct rule){ .where = AT_CFA, .off = off });
}

static void set_cfa_off(struct walk *w, struct cur *c, s64 factor, s64 off)
{
	w->s.expr = (struct bytes){};
	c->bad |= __builtin_mul_overflow(off, factor, &w->s.off);
}

static void restore(struct walk *w, u64 reg)
{
	struct rule *to = rule_of(&w->s, w->cie, reg);

	if (to)
		*to = reg == REG_BP ? w->cie->start.bp : w->cie->start.ra;
}

/* One instruction. */
static void step(struct walk *w, struct cur *c)
{
	u8 op = (u8)cur_uint(c, 1);
	u64 reg;

	switch (op & 0xc0) {
	case CFA_advance_loc:
		advance(w, c, (op & 0x3f) * w->cie->code_align);
		return;
	case CFA_offset:
		set_offset(w, op & 0x3f, (s64)cur_uleb(c));
		return;
	case CFA_restore:
		restore(w, op & 0x3f);
		return;
	}
	switch (op) {
	case CFA_nop:
		return;
	case CFA_set_loc:
		reg = read_pointer(w->r, c, w->cie->enc);
		advance(w, c, reg - w->pc);
		return;
	case CFA_advance_loc1:
	case CFA_advance_loc2:
	case CFA_advance_loc4:
		advance(w, c, cur_uint(c, 1u << (op - CFA_advance_loc1)) * w->cie->code_align);
		return;
	case CFA_offset_extended:
		reg = cur_uleb(c);
		set_offset(w, reg, (s64)cur_uleb(c));
		return;
	case CFA_offset_extended_sf:
		reg = cur_uleb(c);
		set_offset(w, reg, cur_sleb(c));
		return;
	case CFA_GNU_negative_offset_extended:
		reg = cur_uleb(c);
		set_offset(w, reg, (s64)(0 - cur_uleb(c)));
		return;
	case CFA_restore_extended:
		restore(w, cur_uleb(c));
		return;
	case CFA_undefined:
		set_rule(&w->s, w->cie, cur_uleb(c), (struct rule){ .where = AT_UNDEFINED });
		return;
	case CFA_same_value:
		set_rule(&w->s, w->cie, cur_uleb(c), (struct rule){ .where = AT_SAME });
		return;
	case CFA_register:
	case CFA_val_offset:
		reg = cur_uleb(c);
		cur_uleb(c);
		set_rule(&w->s, w->cie, reg, (struct rule){ .where = AT_OTHER });
		return;
	case CFA_val_offset_sf:
		reg = cur_uleb(c);
		cur_sleb(c);
		set_rule(&w->s, w->cie, reg, (struct rule){ .where = AT_OTHER });
		return;
	case CFA_expression:
		reg = cur_uleb(c);
		set_rule(&w->s, w->cie, reg, (struct rule){ .where = AT_EXPR, .expr = read_block(c) });
		return;
	case CFA_val_expression:
		reg = cur_uleb(c);
		read_block(c);
		set_rule(&w->s, w->cie, reg, (struct rule){ .where = AT_OTHER });
		return;
	case CFA_remember_state:
		if (w->kept_cnt == DEPTH_MAX)
			c->bad = true;
		else
			w->kept[w->kept_cnt++] = w->s;
		return;
	case CFA_restore_state:
		if (!w->kept_cnt)
			c->bad = true;
		else
			w->s = w->kept[--w->kept_cnt];
		return;
	case CFA_def_cfa:
		w->s.reg = cur_uleb(c);
		set_cfa_off(w, c, 1, (s64)cur_uleb(c));
		return;
	case CFA_def_cfa_sf:
		w->s.reg = cur_uleb(c);
		set_cfa_off(w, c, w->cie->data_align, cur_sleb(c));
		return;
	case CFA_def_cfa_register:
		w->s.reg = cur_uleb(c);
		w->s.expr = (struct bytes){};
		return;
	case CFA_def_cfa_offset:
		set_cfa_off(w, c, 1, (s64)cur_uleb(c));
		return;
	case CFA_def_cfa_offset_sf:
		set_cfa_off(w, c, w->cie->data_align, cur_sleb(c));
		return;
	case CFA_def_cfa_expression:
		w->s.expr = read_block(c);
		return;
	case CFA_GNU_args_size:
		cur_uleb(c);
		return;
	}
	c->bad = true;
}

/* ---- entries ---- */

/* The letters after z say what the augmentation data holds, in their order. */
static void read_augmentation(const struct reader *r, struct cur *c, const char *letters, struct cie *cie)
{
	struct cur data;
	u64 len = cur_uleb(c);
	const u8 *start = c->p;

	cur_skip(c, len);
	data = (struct cur){ start, c->p, c->bad };
	for (; *letters && !data.bad; letters++) {
		u8 enc;

		switch (*letters) {
		case 'R':
			cie->enc = (u8)cur_uint(&data, 1);
			break;
		case 'L':
			cur_uint(&data, 1);
			break;
		case 'P':
			enc = (u8)cur_uint(&data, 1);
			if (enc != PE_omit)
				read_pointer(r, &data,
					     enc & 15); /* only its length matters: it points to C++'s personality function */
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default: /* the order of the rest is unknown, but its length is known */
			return;
		}
	}
	c->bad |= data.bad;
}

static void read_cie(struct reader *r, u64 at, struct cur c)
{
	struct cie cie = { .at = at, .start.reg = REG_SP };
	u32 version = (u32)cur_uint(&c, 1);
	const char *letters = cur_str(&c);
	struct walk w = { .r = r, .end = 0 };

	if (version != 1 && version != 3)
		c.bad = true;
	if (str_starts(letters, "eh")) /* a pointer of GCC 2 */
		cur_skip(&c, 8);
	cie.code_align = cur_uleb(&c);
	cie.data_align = cur_sleb(&c);
	cie.ra_reg = version == 1 ? cur_uint(&c, 1) : cur_uleb(&c);
	cie.has_sizes = *letters == 'z';
	if (cie.has_sizes)
		read_augmentation(r, &c, letters + 1, &cie);
	else if (*letters && !str_starts(letters, "eh"))
		c.bad = true;
	w.cie = &cie;
	w.s = cie.start;
	/* A temporary row for no function: a common entry cannot advance. */
	while (!cur_done(&c))
		step(&w, &c);
	r->rows.cnt = 0;
	cie.start = w.s;
	cie.is_bad = c.bad || w.kept_cnt;
	vec_push(&r->cies, cie);
}

static const struct cie *find_cie(const struct reader *r, u64 at)
{
	u32 lo = 0, hi = r->cies.cnt;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (r->cies.at[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->cies.cnt && r->cies.at[lo].at == at ? &r->cies.at[lo] : NULL;
}

/* All of it is code of the file. Functions that the linker threw away stay in the section, at address 0 or so. */
static bool is_code(const struct objfile *o, u64 pc, u64 len)
{
	for (u32 i = 0; i < o->ph_cnt; i++) {
		const Elf64_Phdr *ph = &o->ph[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && pc >= ph->p_vaddr && pc - ph->p_vaddr < ph->p_memsz &&
		    len <= ph->p_memsz - (pc - ph->p_vaddr))
			return true;
	}
	return false;
}

static void read_fde(struct reader *r, const struct cie *cie, struct cur c)
{
	struct walk w = { .r = r, .cie = cie, .first = r->rows.cnt };
	u64 start, len;

	if (!cie || cie->is_bad) {
		r->bad++;
		return;
	}
	start = read_pointer(r, &c, cie->enc);
	len = read_pointer(r, &c, cie->enc & 15);
	if (cie->has_sizes)
		read_block(&c);
	if (!c.bad && (!len || !is_code(r->o, start, len)))
		return;
	w.pc = start;
	w.end = start + len;
	w.s = cie->start;
	while (!cur_done(&c))
		step(&w, &c);
	if (c.bad) {
		r->rows.cnt = w.first;
		r->bad++;
		return;
	}
	if (w.pc < w.end)
		put_row(&w);
	vec_push(&r->funcs, (struct span_rows){ start, w.end, w.first, r->rows.cnt - w.first });
}

/* Calls fn with each entry: its offset, its second word, and the rest. */
static void each_entry(struct reader *r, void (*fn)(struct reader *r, u64 at, u64 id_at, u32 id, struct cur c))
{
	u64 at = 0;

	while (at + 4 <= r->sec.len) {
		struct cur c = cur_at(r->sec, at);
		u64 len = cur_uint(&c, 4), id_at;

		if (len == 0xffffffff)
			len = cur_uint(&c, 8);
		if (!len || c.bad || len > (u64)(c.end - c.p))
			return; /* the section ends with a zero */
		c.end = c.p + len;
		id_at = (u64)(c.p - r->sec.at);
		fn(r, at, id_at, (u32)cur_uint(&c, 4), c);
		at = id_at + len;
	}
}

static void take_cie(struct reader *r, u64 at, u64 id_at, u32 id, struct cur c)
{
	if (!id)
		read_cie(r, at, c);
}

static void take_fde(struct reader *r, u64 at, u64 id_at, u32 id, struct cur c)
{
	if (id)
		read_fde(r, id <= id_at ? find_cie(r, id_at - id) : NULL, c);
}

static int by_pc(const void *a, const void *b)
{
	const struct span_rows *x = a, *y = b;

	return x->pc != y->pc ? (x->pc < y->pc ? -1 : 1) : x->first < y->first ? -1 : x->first > y->first;
}

static void push_row(struct cfi *out, struct cfi_row row)
{
	if (out->rows.cnt && out->rows.at[out->rows.cnt - 1].pc == row.pc)
		out->rows.cnt--;
	if (!out->rows.cnt || !same_rule(&out->rows.at[out->rows.cnt - 1], &row))
		vec_push(&out->rows, row);
}

/* Functions in order of address; the code between them is not described. Where two overlap, the one that begins later counts. */
static void join(struct reader *r, struct cfi *out)
{
	if (r->funcs.cnt)
		qsort(r->funcs.at, r->funcs.cnt, sizeof(*r->funcs.at), by_pc);
	for (u32 i = 0; i < r->funcs.cnt; i++) {
		const struct span_rows *f = &r->funcs.at[i];
		u64 end = i + 1 < r->funcs.cnt ? MIN(f->end, r->funcs.at[i + 1].pc) : f->end;

		for (u32 k = f->first; k < f->first + f->cnt && r->rows.at[k].pc < end; k++)
			push_row(out, r->rows.at[k]);
		if (i + 1 == r->funcs.cnt || end < r->funcs.at[i + 1].pc)
			push_row(out, (struct cfi_row){ .pc = end });
	}
	out->func_cnt = r->funcs.cnt;
}

void cfi_read(struct objfile *o, struct cfi *out)
{
	struct reader r = { .o = o };
	u32 i = objfile_find_section(o, ".eh_frame");

	*out = (struct cfi){};
	if (!i || o->eh->e_machine != EM_X86_64)
		return;
	r.sec = objfile_section(o, i);
	r.addr = o->sh[i].sh_addr;
	each_entry(&r, take_cie);
	each_entry(&r, take_fde);
	join(&r, out);
	out->bad_cnt = r.bad;
	vec_free(&r.cies);
	vec_free(&r.rows);
	vec_free(&r.funcs);
}

void cfi_release(struct cfi *c)
{
	vec_free(&c->rows);
}

const struct cfi_row *cfi_find(const struct cfi *c, u64 pc)
{
	u32 lo = 0, hi = c->rows.cnt;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (c->rows.at[mid].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &c->rows.at[lo - 1] : NULL;
}
