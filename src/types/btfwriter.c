/* SPDX-License-Identifier: GPL-2.0-only */
#include "types/btfwriter.h"

void btfwriter_init(struct btfwriter *w, struct arena *arena)
{
	*w = (struct btfwriter){ .arena = arena };
	sbuf_putc(&w->strs, 0);
}

void btfwriter_release(struct btfwriter *w)
{
	sbuf_release(&w->types);
	sbuf_release(&w->strs);
	smap_release(&w->offsets);
}

u32 btfwriter_str(struct btfwriter *w, const char *s)
{
	uintptr_t known;

	if (!s || !*s)
		return 0;
	known = (uintptr_t)smap_get(&w->offsets, s);
	if (!known) {
		known = w->strs.len + 1;
		sbuf_add(&w->strs, s, strlen(s) + 1);
		smap_put(&w->offsets, s, (void *)known);
	}
	return known - 1;
}

u32 btfwriter_type(struct btfwriter *w, enum btf_kind kind, const char *name, u32 size_or_type, u32 vlen, bool kflag)
{
	struct btf_type t = { .name_off = btfwriter_str(w, name),
			      .info = (u32)kflag << 31 | (u32)kind << 24 | vlen,
			      .size = size_or_type };

	sbuf_add(&w->types, &t, sizeof(t));
	return ++w->cnt;
}

void btfwriter_tail(struct btfwriter *w, const void *data, size_t len)
{
	sbuf_add(&w->types, data, len);
}

u32 btfwriter_int(struct btfwriter *w, const char *name, u32 size, u32 encoding)
{
	u32 id = btfwriter_type(w, BTF_KIND_INT, name, size, 0, false), tail = encoding << 24 | 8 * size;

	btfwriter_tail(w, &tail, sizeof(tail));
	return id;
}

u8 *btfwriter_finish(struct btfwriter *w, size_t *len)
{
	struct btf_header h = { .magic = BTF_MAGIC,
				.version = 1,
				.hdr_len = sizeof(h),
				.type_len = w->types.len,
				.str_off = w->types.len,
				.str_len = w->strs.len };
	u8 *data = xzalloc(sizeof(h) + w->types.len + w->strs.len);

	memcpy(data, &h, sizeof(h));
	if (w->types.len)
		memcpy(data + sizeof(h), w->types.s, w->types.len);
	memcpy(data + sizeof(h) + w->types.len, w->strs.s, w->strs.len);
	*len = sizeof(h) + w->types.len + w->strs.len;
	return data;
}

void btfwriter_read(const struct btfwriter *w, struct btfraw *b)
{
	b->first_id = 1;
	b->types = (const u8 *)w->types.s;
	b->type_len = w->types.len;
	b->strs = w->strs.s;
	b->str_len = w->strs.len;
	if (w->cnt <= b->cap)
		return;
	b->cap = MAX(w->cnt, 2 * b->cap);
	b->off = xrealloc(b->off, (size_t)b->cap * sizeof(*b->off));
}
