/* BTF types as C knows them: how large, how aligned, and how they are spelt.
 *
 * kern/btf.h makes types of the language out of BTF and forgets what the language has no use for (typedefs, const, names of
 * integers). This is the other view, for people who want to see the C: `sonde type`, listings.
 *
 * Damaged BTF may have types that contain themselves. Nothing here follows more than CTYPE_DEPTH of them.
 */
#pragma once

#include "base/sbuf.h"
#include "kern/btfraw.h"

#define CTYPE_DEPTH 64

/* The type below const, volatile, restrict and tags; with `typedefs` below those too. 0 for void. */
u32 ctype_strip(const struct btfraw *b, u32 id, bool typedefs);
/* Bytes; 0 for void, functions, and what is only declared. */
u32 ctype_size(const struct btfraw *b, u32 id);
/* Alignments of structs, each worked out once. */
struct ctype_aligns {
	const struct btfraw *b;
	u8 *log2; /* by type number; see ctype.c */
	u32 cap;
};
void ctype_aligns_init(struct ctype_aligns *a, struct btfraw *b);
void ctype_aligns_release(struct ctype_aligns *a);
/* As the x86-64 and arm64 ABIs align it when nobody says otherwise; 0 for what has no size. */
u32 ctype_align(struct ctype_aligns *a, u32 id);

/* `unsigned int`, `struct list_head *`, `void (*)(int)`. A struct without a name is `struct {...}`. */
void ctype_name(const struct btfraw *b, u32 id, struct sbuf *out);
/* A declaration in two halves, so that a caller can align the second: `void` and `(*fn)(int)`; `char` and `name[16]`. */
void ctype_decl(const struct btfraw *b, u32 id, const char *name, struct sbuf *left, struct sbuf *right);
/* The struct, union or enum without a name that a declaration of this type would have to spell out, or 0. Arrays, pointers and
 * qualifiers are looked through (typedefs are not: they are a name). */
u32 ctype_inner_anon(const struct btfraw *b, u32 id);

/* The types that are being spelt out, innermost first: damaged BTF has structs that contain themselves. */
struct ctype_chain {
	u32 id;
	const struct ctype_chain *up;
};

static inline bool ctype_chain_has(const struct ctype_chain *c, u32 id)
{
	for (; c; c = c->up)
		if (c->id == id)
			return true;
	return false;
}

/* The same in one piece, as a C programmer writes it: `struct path *p`, `char name[16]`. */
void ctype_declare(const struct btfraw *b, u32 id, const char *name, struct sbuf *out);

/* Enumerator number i of an enum of either size: its name, its value, and that as text. */
const char *ctype_enumerator(const struct btfraw *b, const struct btf_type *t, u32 i, s64 *value);
void ctype_enum_value(const struct btf_type *t, s64 value, struct sbuf *out);

/* "struct", "union", "enum"; NULL for kinds that have no such word. */
const char *ctype_keyword(const struct btf_type *t);

static inline const struct btf_member *ctype_members(const struct btf_type *t)
{
	return (const void *)(t + 1);
}

static inline u32 btf_member_bit_off(const struct btf_type *t, const struct btf_member *m)
{
	return btf_kflag(t) ? m->offset & 0xffffff : m->offset;
}

static inline u32 btf_member_bit_sz(const struct btf_type *t, const struct btf_member *m)
{
	return btf_kflag(t) ? m->offset >> 24 : 0;
}
