/* SPDX-License-Identifier: GPL-2.0-only */
/* What `sonde type` shows, and its forms. */
#pragma once

#include "sym/dwarf.h"
#include "type/layout.h"

struct type_view {
	struct btfraw *b;
	const struct dbg_places *places; /* where types are defined; NULL: not known */
	struct btfc_aligns aligns;
	u32 cacheline;
	bool expand; /* structs inside of structs are spelt out */
};

/* A struct, union, enum, typedef or integer in pahole's form: members with offset and size, holes, cache lines, a summary. */
void type_text(struct type_view *v, u32 id, struct sbuf *out);
/* "file:line" of a type's definition; false: unknown. */
static inline bool type_place(const struct type_view *v, u32 id, const char **file, u32 *line)
{
	if (!v->places || id > v->places->at.cnt || !v->places->at.at[id - 1].file)
		return false;
	*file = v->places->at.at[id - 1].file;
	*line = v->places->at.at[id - 1].line;
	return true;
}
/* The same as one line of JSON. */
void type_json(struct type_view *v, u32 id, struct sbuf *out);
