/* SPDX-License-Identifier: GPL-2.0-only */
#include "probe/uargs.h"

#include <stdlib.h>

#include "arch/abi.h"
#include "sym/dwarf.h"
#include "sym/elf.h"

/* The struct of args: its members are the available parameters. */
struct uargs {
	struct type type; /* must be first: unit.args points to it */
	const struct dbg_func *func;
	const struct dbg_param **params; /* of each member */
};

/* The debug information of the function whose entry the site is; NULL: *why is the reason. */
static const struct dbg_func *func_of(const struct site *s, const char **why)
{
	struct dbg *d;
	const struct dbg_func *f;
	u64 addr = 0, start;

	if (!s->func || s->off) {
		*why = "they are known at the entry of a function, not inside it";
		return NULL;
	}
	d = dbg_of(s->target, why);
	if (!d)
		return NULL;
	start = s->variant & (UP_GO | UP_GO_STACK) ? *(const u64 *)s->data : s->addr;
	f = dbg_addr_of_offset(d, start, &addr) ? dbg_func_at(d, addr, s->func) : NULL;
	if (!f)
		*why = dbg_is_split(d, addr) ? "its debug information is in a separate file (.dwo), which is not read" :
					       "the debug information of the file lacks this function";
	return f;
}

const struct type *uargs_type(struct compile *c, const struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];
	const char *why = NULL;
	const struct dbg_func *f = func_of(s, &why);
	struct uargs *a;
	u32 off = 0;

	if (!f) {
		diag_error(c->diag, s->span, E_NO_ARGS, "the names of the arguments of %s are unknown: %s", s->name, why);
		diag_hint(c->diag, "arg0, arg1, … read the registers of the calling convention");
		return NULL;
	}
	a = arena_new(c->arena, struct uargs);
	a->func = f;
	a->type = (struct type){ .kind = T_STRUCT, .name = "args", .align = 8 };
	a->type.members = arena_alloc(c->arena, MAX(f->param_cnt, 1) * sizeof(*a->type.members));
	a->params = arena_alloc(c->arena, MAX(f->param_cnt, 1) * sizeof(*a->params));
	for (u32 i = 0; i < f->param_cnt; i++) {
		const struct dbg_param *p = &f->params[i];

		if (!p->piece_cnt || !*p->name)
			continue;
		a->params[a->type.member_cnt] = p;
		a->type.members[a->type.member_cnt++] = (struct member){ .name = p->name, .type = p->type, .off = off };
		off += ALIGN_UP(p->type->size, 8);
	}
	a->type.size = off;
	return &a->type;
}

const char *uargs_missing(struct compile *c, const struct unit *u, const char *name)
{
	const struct uargs *a = (const struct uargs *)u->args;

	(void)c;
	for (u32 i = 0; i < a->func->param_cnt; i++)
		if (str_eq(a->func->params[i].name, name) && !a->func->params[i].piece_cnt)
			return a->func->params[i].why;
	return NULL;
}

static u64 mix(u64 h, u64 v)
{
	return (h ^ v) * 0x100000001b3ull;
}

/* Functions whose arguments have the same names and types, in the same places, can share a program. */
u64 uargs_share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	u64 h = mix(0xcbf29ce484222325ull, s->variant);
	const struct dbg_func *f;
	const char *why;

	if (!uses->args)
		return user_share_key(c, s, uses);
	f = func_of(s, &why);
	h = mix(h, str_hash(s->target)); /* types of different files are different, even with the same name */
	for (u32 i = 0; f && i < f->param_cnt; i++) {
		const struct dbg_param *p = &f->params[i];

		h = mix(mix(h, str_hash(p->name)), (u64)(uintptr_t)p->type);
		for (u32 k = 0; k < p->piece_cnt; k++)
			h = mix(mix(mix(mix(h, p->pieces[k].where), p->pieces[k].reg), (u64)p->pieces[k].num), p->pieces[k].size);
	}
	return h;
}

/* ---- code ---- */

static vreg load_reg(struct lower *l, u16 reg)
{
	BUG_ON(reg >= abi.dwarf_cnt);
	return ir_load(&l->b, lower_ctx(l), abi.dwarf_off[reg], 8);
}

/* The value of a piece that is not in memory. */
static vreg piece_value(struct lower *l, const struct dbg_piece *p)
{
	switch (p->where) {
	case DBG_REG:
		return load_reg(l, p->reg);
	case DBG_REG_SUM:
		return ir_alu(&l->b, IR_ADD, load_reg(l, p->reg), opnd_imm(p->num));
	case DBG_CONST:
		return ir_imm(&l->b, p->num);
	case DBG_MEM:
		break;
	}
	BUG("a piece in memory has no register");
}

static struct mem piece_mem(struct lower *l, const struct dbg_piece *p)
{
	return (struct mem){ .base = load_reg(l, p->reg), .off = p->num, .as = AS_USER };
}

/* Stores the low bytes of a register; sizes that are no power of two in steps. */
static void store_bytes(struct lower *l, struct mem to, vreg v, u32 size)
{
	for (u32 done = 0; done < size;) {
		u32 n = 8;

		while (n > size - done)
			n /= 2;
		ir_store(&l->b, to.base, to.off + done, n, opnd_reg(done ? ir_alu(&l->b, IR_SHR, v, opnd_imm(8 * done)) : v));
		done += n;
	}
}

struct val uargs_member(struct lower *l, const struct member *m, u32 off)
{
	const struct uargs *a = (const struct uargs *)l->unit->args;
	const struct type *t = m->type;
	const struct dbg_param *p = NULL;
	struct mem to;
	vreg v;

	for (u32 i = 0; i < a->type.member_cnt; i++)
		if (a->type.members[i].off == off)
			p = a->params[i];
	BUG_ON(!p);
	if (p->piece_cnt == 1 && p->pieces[0].where == DBG_MEM)
		return type_is_scalar(t) ? val_reg(lower_load(l, piece_mem(l, &p->pieces[0]), t)) :
					   val_mem(piece_mem(l, &p->pieces[0]));
	if (type_is_scalar(t) && p->piece_cnt == 1) {
		v = piece_value(l, &p->pieces[0]);
		/* Only the low bytes of the register are the argument. */
		return val_reg(t->size < 8 ? ir_ext(&l->b, t->is_signed ? IR_SEXT : IR_ZEXT, v, t->size) : v);
	}
	to = lower_temp(l, ALIGN_UP(t->size, 8), 8);
	lower_zero(l, to, ALIGN_UP(t->size, 8));
	for (u32 i = 0; i < p->piece_cnt; i++) {
		const struct dbg_piece *at = &p->pieces[i];
		struct mem part = { to.base, to.off + at->off, AS_NONE };

		if (at->where == DBG_MEM)
			lower_read(l, piece_mem(l, at), at->size, part);
		else
			store_bytes(l, part, piece_value(l, at), at->size);
	}
	return type_is_scalar(t) ? val_reg(lower_load(l, to, t)) : val_mem(to);
}

/* ---- types ---- */

struct type_source *uargs_types(struct compile *c, const struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];
	const char *why;
	struct dbg *d = s->target ? dbg_of(s->target, &why) : NULL;
	u64 addr = 0;

	for (u32 i = 1; i < u->site_cnt; i++)
		if (!str_eq(s[i].target, s->target))
			return NULL; /* it would be ambiguous */
	if (!d)
		return NULL;
	dbg_addr_of_offset(d, s->addr, &addr);
	return dbg_types(d, addr);
}

/* ---- -lv ---- */

static void put_type(const struct type *t, const char *spelling, struct sbuf *out)
{
	sbuf_puts(out, "    ");
	if (spelling)
		sbuf_puts(out, spelling);
	else
		type_print(t, out);
}

void uargs_list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	const char *target = strchr(site_name, ':') + 1, *func = strrchr(site_name, ':') + 1, *why;
	char *path = xasprintf("%.*s", (int)(func > target ? func - target - 1 : 0), target);
	bool is_ret = str_starts(site_name, "uretprobe:");
	const struct sym_func *s;
	const struct dbg_func *f = NULL;
	struct sym_elf *elf;
	struct dbg *d = dbg_of(path, &why);

	(void)t;
	if (d && !sym_elf_open(path, &elf)) {
		s = sym_elf_find(elf, func);
		f = s ? dbg_func_at(d, s->addr, s->name) : NULL;
		sym_elf_free(elf);
	}
	for (u32 i = 0; f && !is_ret && i < f->param_cnt; i++) {
		put_type(f->params[i].type, f->params[i].spelling, out);
		sbuf_printf(out, " %s%s%s\n", f->params[i].name, f->params[i].piece_cnt ? "" : "    // ",
			    f->params[i].piece_cnt ? "" : f->params[i].why);
	}
	if (f && is_ret && f->ret->kind != T_VOID) {
		put_type(f->ret, f->ret_spelling, out);
		sbuf_puts(out, " retval\n");
	}
	free(path);
}
