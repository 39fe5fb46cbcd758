/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF types as C sees them: size, alignment and spelling.
 *
 * types/btf.h turns BTF into types of the language and drops what the language does not use (typedefs, const, names of
 * integers). This view keeps the C, for `sonde type` and listings.
 *
 * Damaged BTF may have types that contain themselves. Nothing here follows more than BTFC_DEPTH of them.
 */
#pragma once

#include "base/sbuf.h"
#include "types/btfraw.h"

#define BTFC_DEPTH 64

/* The type below const, volatile, restrict and tags; with `typedefs` below those too. 0 for void. */
u32 btfc_strip(const struct btfraw *b, u32 id, bool typedefs);
/* Bytes; 0 for void, functions, and what is only declared. */
u32 btfc_size(const struct btfraw *b, u32 id);
/* Alignments of structs, each worked out once. */
struct btfc_aligns {
	const struct btfraw *b;
	u8 *log2; /* by type number; see btfc.c */
	u32 cap;
};
void btfc_aligns_init(struct btfc_aligns *a, struct btfraw *b);
void btfc_aligns_release(struct btfc_aligns *a);
/* As the x86-64 and arm64 ABIs align it when nobody says otherwise; 0 for what has no size. */
u32 btfc_align(struct btfc_aligns *a, u32 id);

/* `unsigned int`, `struct list_head *`, `void (*)(int)`. A struct without a name is `struct {...}`. */
void btfc_name(const struct btfraw *b, u32 id, struct sbuf *out);
/* A declaration in two halves, so that a caller can align the second: `void` and `(*fn)(int)`; `char` and `name[16]`. */
void btfc_decl(const struct btfraw *b, u32 id, const char *name, struct sbuf *left, struct sbuf *right);
/* The struct, union or enum without a name that a declaration of this type would have to spell out, or 0. Arrays, pointers and
 * qualifiers are looked through (typedefs are not: they are a name). */
u32 btfc_inner_anon(const struct btfraw *b, u32 id);

/* The types that are being spelt out, innermost first: damaged BTF has structs that contain themselves. */
struct btfc_chain {
	u32 id;
	const struct btfc_chain *up;
};

static inline bool btfc_chain_has(const struct btfc_chain *c, u32 id)
{
	for (; c; c = c->up)
		if (c->id == id)
			return true;
	return false;
}

/* The same in one piece, as a C programmer writes it: `struct path *p`, `char name[16]`. */
void btfc_declare(const struct btfraw *b, u32 id, const char *name, struct sbuf *out);

/* Enumerator number i of an enum of either size: its name, its value, and that as text. */
const char *btfc_enumerator(const struct btfraw *b, const struct btf_type *t, u32 i, s64 *value);
void btfc_enum_value(const struct btf_type *t, s64 value, struct sbuf *out);

/* "struct", "union", "enum"; NULL for kinds that have no such word. */
const char *btfc_keyword(const struct btf_type *t);

static inline const struct btf_member *btfc_members(const struct btf_type *t)
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
