/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/eventtypes.h"

#include <stdlib.h>

#include "base/sbuf.h"
#include "kern/types.h"

#define DATA_LOC "__data_loc_"

static void put_place(struct sbuf *out, u32 off, u32 size, bool is_signed)
{
	sbuf_printf(out, "\toffset:%u;\tsize:%u;\tsigned:%u;\n", off, size, is_signed);
}

static const char *int_name(const struct type *t)
{
	static const char *const names[2][4] = { { "u8", "u16", "u32", "u64" }, { "s8", "s16", "s32", "s64" } };

	return names[t->is_signed][t->size == 1 ? 0 : t->size == 2 ? 1 : t->size == 4 ? 2 : 3];
}

/* What a member is made of, without its name. False: it is not a field, such as `ent`, the part that all records have. */
static bool put_type(struct sbuf *out, const struct type *t)
{
	if (t->kind == T_INT || t->kind == T_BOOL)
		sbuf_puts(out, t->kind == T_BOOL ? "bool" : int_name(t));
	else if (t->kind == T_ENUM && *t->name)
		sbuf_printf(out, "enum %s", t->name);
	else if (t->kind == T_ENUM)
		sbuf_puts(out, t->size == 4 ? "int" : "long");
	else if (t->kind == T_POINTER && t->elem->kind == T_STRUCT && *t->elem->name)
		sbuf_printf(out, "struct %s *", t->elem->name);
	else if (t->kind == T_POINTER)
		sbuf_puts(out, t->elem->kind == T_INT && t->elem->size == 1 ? "const char *" : "void *");
	else if (t->kind == T_STRING)
		sbuf_puts(out, "char");
	else
		return t->kind == T_ARRAY && t->elem->kind == T_INT && put_type(out, t->elem);
	return true;
}

static void put_member(struct sbuf *out, const struct member *m)
{
	bool is_array = m->type->kind == T_STRING || m->type->kind == T_ARRAY;
	size_t before = out->len;

	sbuf_puts(out, "\tfield:");
	if (str_starts(m->name, DATA_LOC)) {
		sbuf_printf(out, "__data_loc char[] %s;", m->name + strlen(DATA_LOC));
	} else if (m->type->size && put_type(out, m->type)) {
		sbuf_printf(out, " %s", m->name);
		if (is_array)
			sbuf_printf(out, "[%u]", m->type->kind == T_ARRAY ? m->type->cnt : m->type->size);
		sbuf_putc(out, ';');
	} else {
		out->len = before;
		return;
	}
	put_place(out, m->off, m->type->size, m->type->is_signed);
}

char *event_format_of_types(const char *event)
{
	struct type_source *src = kern_types();
	char *name = xasprintf("trace_event_raw_%s", event);
	const struct type *t = src ? src->find(src, "struct", name) : NULL;
	struct sbuf out = {};
	char *text;

	free(name);
	if (!t || t->kind != T_STRUCT || !type_complete(t)->member_cnt)
		return NULL;
	sbuf_printf(&out, "name: %s\nID: 1\nformat:\n", event);
	for (u32 i = 0; i < t->member_cnt; i++)
		if (!str_eq(t->members[i].name, "__data"))
			put_member(&out, &t->members[i]);
	text = xstrdup(sbuf_str(&out));
	sbuf_release(&out);
	return text;
}
