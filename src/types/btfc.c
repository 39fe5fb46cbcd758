/* SPDX-License-Identifier: GPL-2.0-only */
#include "types/btfc.h"

#include <stdlib.h>

const char *btfc_keyword(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
		return "struct";
	case BTF_KIND_UNION:
		return "union";
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return "enum";
	case BTF_KIND_FWD:
		return btf_kflag(t) ? "union" : "struct";
	case BTF_KIND_UNKN:
	case BTF_KIND_INT:
	case BTF_KIND_PTR:
	case BTF_KIND_ARRAY:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_VAR:
	case BTF_KIND_DATASEC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_DECL_TAG:
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_CNT:
		return NULL;
	}
	return NULL;
}

static const char *qualifier(enum btf_kind kind)
{
	return kind == BTF_KIND_CONST     ? "const" :
		kind == BTF_KIND_VOLATILE ? "volatile" :
		kind == BTF_KIND_RESTRICT ? "restrict" :
					    NULL;
}

static bool is_modifier(enum btf_kind kind)
{
	return qualifier(kind) || kind == BTF_KIND_TYPE_TAG;
}

u32 btfc_strip(const struct btfraw *b, u32 id, bool typedefs)
{
	for (u32 i = 0; i < BTFC_DEPTH; i++) {
		const struct btf_type *t = btfraw_type(b, id);

		if (!t || !(is_modifier(btf_kind(t)) || (typedefs && btf_kind(t) == BTF_KIND_TYPEDEF)))
			return id;
		id = t->type;
	}
	return 0;
}

static u64 size_of(const struct btfraw *b, u32 id, u32 depth)
{
	const struct btf_type *t = btfraw_type(b, btfc_strip(b, id, true));
	const struct btf_array *a;

	if (!t || depth > BTFC_DEPTH)
		return 0;
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FLOAT:
	case BTF_KIND_DATASEC:
		return t->size;
	case BTF_KIND_PTR:
		return 8;
	case BTF_KIND_ARRAY:
		a = (const void *)(t + 1);
		return (u32)size_of(b, a->type, depth + 1) * (u64)a->nelems;
	case BTF_KIND_VAR:
		return size_of(b, t->type, depth + 1);
	case BTF_KIND_UNKN:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_DECL_TAG:
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_CNT:
		return 0;
	}
	return 0;
}

u32 btfc_size(const struct btfraw *b, u32 id)
{
	u64 sz = size_of(b, id, 0);

	return sz > UINT32_MAX ? UINT32_MAX : sz;
}

void btfc_aligns_init(struct btfc_aligns *a, struct btfraw *b)
{
	btfraw_check(b);
	*a = (struct btfc_aligns){ .b = b, .cap = b->first_id + b->cnt };
	a->log2 = xzalloc(a->cap);
}

void btfc_aligns_release(struct btfc_aligns *a)
{
	free(a->log2);
	*a = (struct btfc_aligns){};
}

/* Structs that contain themselves exist in damaged BTF: the inner one counts as unaligned. */
#define ALIGN_BUSY 0xff

u32 btfc_align(struct btfc_aligns *a, u32 id)
{
	const struct btf_type *t;
	const struct btf_member *m;
	u32 max = 0;

	id = btfc_strip(a->b, id, true);
	t = btfraw_type(a->b, id);
	if (!t || id >= a->cap || a->log2[id] == ALIGN_BUSY)
		return 0;
	if (a->log2[id])
		return 1u << (a->log2[id] - 1) >> 1;
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FLOAT:
		return t->size > 16 ? 16 : t->size;
	case BTF_KIND_PTR:
		return 8;
	case BTF_KIND_ARRAY:
		a->log2[id] = ALIGN_BUSY;
		max = btfc_align(a, ((const struct btf_array *)(t + 1))->type);
		a->log2[id] = 0;
		return max;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		a->log2[id] = ALIGN_BUSY;
		m = btfc_members(t);
		for (u32 i = 0; i < btf_vlen(t); i++) {
			u32 of_member = btfc_align(a, m[i].type);

			max = of_member > max ? of_member : max;
		}
		/* 0, 1, 2, 4… are kept as 1, 2, 3, 4… */
		a->log2[id] = max ? 2 + (31 - __builtin_clz(max)) : 1;
		return max;
	case BTF_KIND_UNKN:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_VAR:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_DATASEC:
	case BTF_KIND_DECL_TAG:
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_CNT:
		return 0;
	}
	return 0;
}

u32 btfc_inner_anon(const struct btfraw *b, u32 id)
{
	for (u32 i = 0; i < BTFC_DEPTH; i++) {
		const struct btf_type *t = btfraw_type(b, id = btfc_strip(b, id, false));

		if (!t)
			return 0;
		if (btf_kind(t) == BTF_KIND_ARRAY) {
			id = ((const struct btf_array *)(t + 1))->type;
		} else if (btf_kind(t) == BTF_KIND_PTR) {
			id = t->type;
		} else {
			bool has_body = btfc_keyword(t) && btf_kind(t) != BTF_KIND_FWD;

			return has_body && !*btfraw_str(b, t->name_off) ? id : 0;
		}
	}
	return 0;
}

static void decl(const struct btfraw *b, u32 id, struct sbuf *left, struct sbuf *right, u32 depth);

/* What stands to the right of a name is written from the inside out: text already there is kept in front. */
static void wrap(struct sbuf *b, const char *before, const char *after)
{
	size_t n = strlen(before);

	sbuf_puts(b, before);
	memmove(b->s + n, b->s, b->len - n);
	memcpy(b->s, before, n);
	sbuf_puts(b, after);
}

static void params(const struct btfraw *b, const struct btf_type *t, struct sbuf *out, u32 depth)
{
	const struct btf_param *p = (const void *)(t + 1);
	u32 cnt = btf_vlen(t);

	sbuf_putc(out, '(');
	if (!cnt)
		sbuf_puts(out, "void");
	for (u32 i = 0; i < cnt; i++) {
		struct sbuf left = {}, right = {};

		if (i)
			sbuf_puts(out, ", ");
		if (!p[i].type) { /* the last: anything */
			sbuf_puts(out, "...");
			continue;
		}
		decl(b, p[i].type, &left, &right, depth + 1);
		sbuf_puts(out, sbuf_str(&left));
		if (right.len) {
			if (left.len)
				sbuf_putc(out, ' ');
			sbuf_puts(out, sbuf_str(&right));
		}
		sbuf_release(&left);
		sbuf_release(&right);
	}
	sbuf_putc(out, ')');
}

/* A pointer to a function or array: its asterisk stands in brackets around the name. */
static bool is_wrapped(const struct btfraw *b, const struct btf_type *ptr)
{
	const struct btf_type *to = btfraw_type(b, btfc_strip(b, ptr->type, false));

	return to && (btf_kind(to) == BTF_KIND_FUNC_PROTO || btf_kind(to) == BTF_KIND_ARRAY);
}

/* A broken file can have a function that takes itself, many times. */
#define STEPS_MAX 10000
static u32 steps;

/* `right` holds the declarator so far (at first the name, or nothing). */
static void decl(const struct btfraw *b, u32 id, struct sbuf *left, struct sbuf *right, u32 depth)
{
	const struct btf_type *t = btfraw_type(b, id);
	const char *word, *name;

	if (!t || depth > BTFC_DEPTH || ++steps > STEPS_MAX) {
		sbuf_puts(left, t ? "..." : "void");
		return;
	}
	name = btfraw_str(b, t->name_off);
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FUNC:
	case BTF_KIND_VAR:
	case BTF_KIND_DATASEC:
		sbuf_puts(left, name);
		return;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FWD:
		word = btfc_keyword(t);
		sbuf_printf(left, "%s %s", word, *name ? name : "{...}");
		return;
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_DECL_TAG:
		decl(b, t->type, left, right, depth + 1);
		return;
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT: {
		const struct btf_type *to = btfraw_type(b, btfc_strip(b, t->type, false));

		word = qualifier(btf_kind(t));
		if (to && btf_kind(to) == BTF_KIND_PTR) {
			if (is_wrapped(b, to)) {
				/* Behind the asterisk that the pointer will put before it. */
				wrap(right, " ", "");
				wrap(right, word, "");
				wrap(right, " ", "");
				decl(b, t->type, left, right, depth + 1);
				return;
			}
			decl(b, t->type, left, right, depth + 1);
			sbuf_printf(left, " %s", word);
			return;
		}
		/* A qualified array is an array of qualified elements, which usually says so itself. */
		if (to && btf_kind(to) == BTF_KIND_ARRAY) {
			const struct btf_type *elem = btfraw_type(b, ((const struct btf_array *)(to + 1))->type);

			if (elem && btf_kind(elem) == btf_kind(t)) {
				decl(b, t->type, left, right, depth + 1);
				return;
			}
		}
		sbuf_printf(left, "%s ", word);
		decl(b, t->type, left, right, depth + 1);
		return;
	}
	case BTF_KIND_ARRAY: {
		const struct btf_array *a = (const void *)(t + 1);

		sbuf_printf(right, "[%u]", a->nelems);
		decl(b, a->type, left, right, depth + 1);
		return;
	}
	case BTF_KIND_FUNC_PROTO:
		params(b, t, right, depth + 1);
		decl(b, t->type, left, right, depth + 1);
		return;
	case BTF_KIND_PTR:
		if (is_wrapped(b, t)) {
			wrap(right, "(*", ")");
			decl(b, t->type, left, right, depth + 1);
			return;
		}
		decl(b, t->type, left, right, depth + 1);
		sbuf_puts(left, " *");
		return;
	case BTF_KIND_UNKN:
	case BTF_KIND_CNT:
		break;
	}
	sbuf_puts(left, "void");
}

void btfc_decl(const struct btfraw *b, u32 id, const char *name, struct sbuf *left, struct sbuf *right)
{
	sbuf_puts(right, name);
	steps = 0;
	decl(b, id, left, right, 0);
}

void btfc_name(const struct btfraw *b, u32 id, struct sbuf *out)
{
	struct sbuf right = {};

	steps = 0;
	decl(b, id, out, &right, 0);
	if (right.len)
		sbuf_printf(out, " %s", sbuf_str(&right));
	sbuf_release(&right);
}

void btfc_declare(const struct btfraw *b, u32 id, const char *name, struct sbuf *out)
{
	struct sbuf left = {}, right = {};
	const char *c;

	btfc_decl(b, id, name, &left, &right);
	/* `T * *` → `T **` */
	for (c = sbuf_str(&left); *c; c++)
		if (!(*c == ' ' && c[1] == '*' && c > left.s && c[-1] == '*'))
			sbuf_putc(out, *c);
	if (right.len)
		sbuf_printf(out, "%s%s", left.len && left.s[left.len - 1] == '*' ? "" : " ", sbuf_str(&right));
	sbuf_release(&left);
	sbuf_release(&right);
}

const char *btfc_enumerator(const struct btfraw *b, const struct btf_type *t, u32 i, s64 *value)
{
	const struct btf_enum64 *wide = (const struct btf_enum64 *)(t + 1) + i;
	const struct btf_enum *e = (const struct btf_enum *)(t + 1) + i;

	if (btf_kind(t) == BTF_KIND_ENUM64) {
		*value = wide->lo | (u64)wide->hi << 32;
		return btfraw_str(b, wide->name_off);
	}
	*value = btf_kflag(t) ? e->val : (s64)(u32)e->val;
	return btfraw_str(b, e->name_off);
}

void btfc_enum_value(const struct btf_type *t, s64 value, struct sbuf *out)
{
	if (btf_kflag(t))
		sbuf_printf(out, "%lld", (long long)value);
	else
		sbuf_printf(out, "%llu", (unsigned long long)value);
}
