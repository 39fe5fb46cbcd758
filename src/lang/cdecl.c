/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/cdecl.h"

#include <stdlib.h>

#include "lang/compile.h"
#include "types/btf.h"

/* ---- what is not the script's ---- */

static bool host_find(void *arg, const char *keyword, const char *name, struct cty *out)
{
	struct type_source *outer = compile_outer_types(((struct cpp *)arg)->c);
	const struct type *t = *keyword ? NULL : type_of_word(name);

	if (!t && outer)
		t = outer->find(outer, keyword, name);
	if (!t)
		return false;
	type_complete(t);
	out->kind = t->kind == T_BOOL ? CTY_BOOL :
		t->kind == T_ENUM     ? CTY_ENUM :
		t->kind == T_INT      ? CTY_INT :
		t->kind == T_VOID     ? CTY_VOID :
					CTY_STRUCT;
	out->size = t->size;
	out->align = t->align;
	out->is_signed = t->is_signed;
	/* One that the kernel only declares has no size. */
	return t->kind != T_STRUCT || t->size || t->member_cnt;
}

static void host_unknown_type(void *arg, const struct ctok *name, bool is_tag)
{
	struct compile *c = ((struct cpp *)arg)->c;
	struct type_source *outer = compile_outer_types(c);
	struct diag *diag = c->diag;

	diag_error(diag, ctok_span(name), E_UNKNOWN_TYPE, "Unknown type: '%s'", name->sym->name);
	if (is_tag || (outer && outer->find(outer, "struct", name->sym->name)))
		diag_hint(diag, "did you mean 'struct %s'?", name->sym->name);
	else if (!outer)
		diag_hint(diag, "this system has no kernel type information (/sys/kernel/btf/vmlinux)");
}

static bool host_constant(void *arg, const char *name, s64 *value)
{
	struct type_source *outer = compile_outer_types(((struct cpp *)arg)->c);

	return (outer && outer->constant && outer->constant(outer, name, value, NULL)) || header_constant(name, value);
}

static u64 host_number(void *arg, const struct ctok *t)
{
	struct cpp *c = arg;
	struct lex l = { .arena = c->c->arena, .diag = c->c->diag, .src = t->src - 1, .text = t->s - t->off };

	l.pos = t->off;
	l.len = t->off + t->len;
	return lex_next(&l).num;
}

static void keep_messages(struct cpp *c)
{
	c->msgs = c->c->diag->msgs.cnt;
	c->errors = c->c->diag->error_cnt;
}

static u32 host_stray(void *arg, u32 off)
{
	struct cpp *c = arg;
	u32 next;

	c->lex->pos = off;
	next = lex_next(c->lex).span.begin;
	keep_messages(c);
	return next;
}

const struct chost cdecl_host = { .number = host_number,
				  .stray = host_stray,
				  .find = host_find,
				  .constant = host_constant,
				  .unknown_type = host_unknown_type };

/* ---- definitions ---- */

void cdecl_parse(struct cpp *c, struct lex *l)
{
	struct diag *diag = c->c->diag;
	bool is_cut;

	if (!c->has_types)
		cparse_init(&c->types, c->pp, c->c->arena);
	c->has_types = true;
	c->lex = l;
	keep_messages(c);
	/* --fmt does not know the kernel's types, and does not need them. */
	diag->muted = c->c->parse_only;
	pp_enter(c->pp, (struct csource){ .p = l->text + l->pos, .end = l->text + l->len, .base = l->text, .src = l->src + 1 });
	cparse_definition(&c->types, &is_cut);
	if (is_cut) {
		/* Other errors in it follow from that. */
		diag->msgs.cnt = c->msgs;
		diag->error_cnt = c->errors;
		diag_error(diag, ctok_span(&c->types.open), E_UNTERMINATED, "this '{' is not closed");
	}
	diag->muted = false;
	l->pos = pp_leave(c->pp, c->types.buf_cnt);
	l->after_dot = false;
}

static void close_types(void *types)
{
	btf_close(types);
}

struct type_source *cdecl_types(struct cpp *c)
{
	struct type_source *types;
	size_t len;
	u8 *data;

	if (!c->has_types)
		return NULL;
	data = cparse_to_btf(&c->types, &len);
	types = btf_open_own(data, len, compile_outer_types(c->c));
	free(data);
	arena_defer(c->c->arena, close_types, types);
	return types;
}
