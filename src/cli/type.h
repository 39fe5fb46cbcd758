/* What `sonde type` shows, and its forms. */
#pragma once

#include "kern/layout.h"

struct type_view {
	struct btfraw *b;
	struct ctype_aligns aligns;
	u32 cacheline;
	bool expand; /* structs inside of structs are spelt out */
};

/* A struct, union, enum, typedef or integer in pahole's form: members with offset and size, holes, cache lines, a summary. */
void type_text(struct type_view *v, u32 id, struct sbuf *out);
/* The same as one line of JSON. */
void type_json(struct type_view *v, u32 id, struct sbuf *out);
