/* SPDX-License-Identifier: GPL-2.0-only */
#include "out/value.h"

#include "base/escape.h"
#include "base/num.h"
#include "types/agg.h"

static void show_value(const struct show *w, const struct type *t, const u8 *data, u32 len);

u64 value_load(const struct type *t, const u8 *data)
{
	u64 v = 0;

	switch (t->size) {
	case 1:
		return t->is_signed ? (u64)(s64)(s8)*data : *data;
	case 2:
		memcpy(&v, data, 2);
		return t->is_signed ? (u64)(s64)(s16)v : v;
	case 4:
		memcpy(&v, data, 4);
		return t->is_signed ? (u64)(s64)(s32)v : v;
	}
	memcpy(&v, data, MIN(t->size, 8));
	return v;
}

u64 value_load_member(const struct member *m, const u8 *data)
{
	unsigned __int128 bits = 0; /* a packed bit-field of 64 bits can touch nine bytes */
	u64 v;

	if (!m->bit_sz)
		return value_load(m->type, data + m->off);
	memcpy(&bits, data + m->off + m->bit_off / 8, (m->bit_off % 8 + m->bit_sz + 7) / 8);
	v = (u64)(bits >> m->bit_off % 8) << (64 - m->bit_sz);
	return m->type->is_signed ? (u64)((s64)v >> (64 - m->bit_sz)) : v >> (64 - m->bit_sz);
}

static void show_string(const struct show *w, const struct type *t, const u8 *data, u32 len)
{
	u32 n = strnlen((const char *)data, MIN(len, t->size));
	size_t start = w->out->len;

	sbuf_add(w->out, data, n);
	if (w->n->escapes)
		escape_from(w->out, start, false);
	/* No room was left for the NUL: the text was cut. */
	if (n && n == t->size && !t->is_fillable) {
		sbuf_puts(w->out, w->n->trunc_trailer ? w->n->trunc_trailer : "..");
		if (w->n->shown) {
			w->n->shown->cut++;
			w->n->shown->cut_sz = t->size;
		}
	}
}

/* A name from a file of others. */
static void show_name(const struct show *w, const char *name)
{
	size_t start = w->out->len;

	sbuf_puts(w->out, name);
	if (w->n->escapes)
		escape_from(w->out, start, false);
}

static void show_opaque(const struct show *w, const struct type *t, const u8 *data)
{
	size_t start = w->out->len;

	t->opaque->text(w, t, data);
	if (w->n->escapes && !(t->opaque->flags & OPAQUE_OWN))
		escape_from(w->out, start, false);
}

void value_bytes(const struct type *t, const u8 *data, u32 len, const u8 **bytes, u32 *cnt)
{
	u32 used;

	*bytes = data;
	*cnt = MIN(len, t->size);
	if (t->kind != T_BUFFER)
		return;
	*cnt = 0;
	if (len < 4)
		return;
	memcpy(&used, data, 4);
	*bytes = data + 4;
	*cnt = MIN(used, MIN(t->cnt, len - 4));
}

void value_put_bytes(const u8 *bytes, u32 cnt, enum bytes_style style, struct sbuf *out)
{
	static const char hex[] = "0123456789abcdef";

	for (u32 i = 0; i < cnt; i++) {
		char byte[] = { '\\', 'x', hex[bytes[i] >> 4], hex[bytes[i] & 15] };

		if (style == BYTES_HEX) {
			if (i)
				sbuf_putc(out, ' ');
			sbuf_add(out, byte + 2, 2);
		} else if (style == BYTES_TEXT && bytes[i] >= 32 && bytes[i] <= 126) {
			sbuf_putc(out, (char)bytes[i]);
		} else {
			sbuf_add(out, byte, 4);
		}
	}
}

static void show_enum(const struct show *w, const struct type *t, u64 v)
{
	u64 mask = t->size < 8 ? ((u64)1 << 8 * t->size) - 1 : ~(u64)0; /* the sign of consts need not be the type's */

	type_complete(t);
	for (u32 i = 0; i < t->const_cnt; i++) {
		if ((((u64)t->consts[i].value ^ v) & mask) == 0) {
			show_name(w, t->consts[i].name);
			return;
		}
	}
	num_put(w->out, v, t->is_signed);
}

/* Members of an anonymous struct or union are shown as members of the one around it. */
static bool show_members(const struct show *w, const struct type *t, const u8 *data, bool any)
{
	type_complete(t);
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i];

		if (m->name && !*m->name) {
			if (m->type->kind == T_STRUCT)
				any = show_members(w, m->type, data + m->off, any);
			continue; /* anything else without a name is padding */
		}
		sbuf_puts(w->out, !any ? w->compact ? "{" : "{ " : w->compact ? "," : ", ");
		any = true;
		sbuf_putc(w->out, '.');
		show_name(w, m->name ? m->name : "");
		sbuf_puts(w->out, w->compact ? "=" : " = ");
		if (m->bit_sz) {
			u64 v = value_load_member(m, data);

			if (m->type->kind == T_ENUM)
				show_enum(w, m->type, v);
			else if (m->type->kind == T_BOOL)
				sbuf_puts(w->out, v ? "true" : "false");
			else
				num_put(w->out, value_div(v, w->div, m->type->is_signed), m->type->is_signed);
		} else {
			show_value(w, m->type, data + m->off, m->type->size);
		}
	}
	return any;
}

static void show_tuple(const struct show *w, const struct type *t, const u8 *data, bool with_parens)
{
	if (with_parens)
		sbuf_putc(w->out, '(');
	for (u32 i = 0; i < t->member_cnt; i++) {
		if (i)
			sbuf_puts(w->out, w->compact ? "," : ", ");
		show_value(w, t->members[i].type, data + t->members[i].off, t->members[i].type->size);
	}
	if (with_parens)
		sbuf_putc(w->out, ')');
}

/* id: see site_value() */
static void show_site(const struct show *w, const struct type *t, u64 id)
{
	const char *text;

	if (!id) /* nothing was ever put there */
		return;
	text = w->n->site ? w->n->site(w->n->sites, id, t->show) : NULL;
	if (text)
		show_name(w, text);
	else
		num_put_u64(w->out, id);
}

static void show_buffer(const struct show *w, const struct type *t, const u8 *data, u32 len)
{
	size_t start = w->out->len;
	const u8 *bytes;
	u32 cnt;

	value_bytes(t, data, len, &bytes, &cnt);
	if (!w->marks) {
		value_put_bytes(bytes, cnt, BYTES_TEXT, w->out);
		return;
	}
	sbuf_add(w->out, bytes, cnt);
	escape_exactly_from(w->out, start, w->marks, true);
}

static void show_plainly(const struct show *w, const struct type *t, const u8 *data, u32 len)
{
	switch (t->kind) {
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_KIND_CNT:
		sbuf_puts(w->out, "null");
		return;
	case T_BOOL:
		sbuf_puts(w->out, *data ? "true" : "false");
		return;
	case T_INT:
		num_put(w->out, value_div(value_load(t, data), w->div, t->is_signed), t->is_signed);
		return;
	case T_ENUM:
		show_enum(w, t, value_load(t, data));
		return;
	case T_POINTER:
		num_put_addr(w->out, value_load(t, data));
		return;
	case T_STRING:
		show_string(w, t, data, len);
		return;
	case T_BUFFER:
		show_buffer(w, t, data, len);
		return;
	case T_ARRAY:
		sbuf_putc(w->out, '[');
		for (u32 i = 0; i < t->cnt; i++) {
			if (i)
				sbuf_putc(w->out, ',');
			show_value(w, t->elem, data + (size_t)i * t->elem->size, t->elem->size);
		}
		sbuf_putc(w->out, ']');
		return;
	case T_STRUCT:
		sbuf_puts(w->out, !show_members(w, t, data, false) ? "{}" : w->compact ? "}" : " }");
		return;
	case T_TUPLE:
		if (t->member_cnt && t->members[0].name)
			sbuf_puts(w->out, !show_members(w, t, data, false) ? "{}" : w->compact ? "}" : " }");
		else
			show_tuple(w, t, data, true);
		return;
	case T_SITE:
		show_site(w, t, value_load(t, data));
		return;
	case T_KSTACK:
	case T_USTACK:
		stack_text(w->n, t, data, len, w->out);
		return;
	case T_OPAQUE:
		show_opaque(w, t, data);
		return;
	case T_AGG:
		t->agg->text(w, t, data);
		return;
	}
}

/* What may be any text. A stack is not: no line of it begins with a comma. */
static bool is_text(const struct type *t)
{
	return t->kind == T_STRING || t->kind == T_OPAQUE || t->kind == T_SITE;
}

static void show_value(const struct show *w, const struct type *t, const u8 *data, u32 len)
{
	size_t start = w->out->len;

	show_plainly(w, t, data, len);
	if (w->marks && is_text(t))
		escape_exactly_from(w->out, start, w->marks, false);
}

void value_text(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out)
{
	show_value(&(struct show){ .n = n, .out = out }, t, data, t->size);
}

void value_text_n(const struct naming *n, const struct type *t, const u8 *data, u32 len, struct sbuf *out)
{
	show_value(&(struct show){ .n = n, .out = out }, t, data, len);
}

void value_show_text(const struct show *w, const struct type *t, const u8 *data)
{
	show_value(w, t, data, t->size);
}

/* How many parts of a key may have commas; a stack counts, since it may have some. */
static u32 text_parts(const struct type *t)
{
	u32 cnt = is_text(t) || t->kind == T_BUFFER || type_is_stack(t);

	type_complete(t);
	if (t->kind == T_ARRAY)
		return t->cnt * text_parts(t->elem);
	for (u32 i = 0; (t->kind == T_TUPLE || t->kind == T_STRUCT) && i < t->member_cnt; i++)
		cnt += text_parts(t->members[i].type);
	return cnt;
}

/* One part with commas among numbers can be told from these: only where there are several, commas are escaped. */
void value_key(const struct naming *n, const struct type *t, const u8 *data, bool is_json, struct sbuf *out)
{
	struct show w = { .n = n, .out = out, .compact = is_json };

	if (is_json)
		w.marks = text_parts(t) > 1 ? "," : "";

	if (t->kind == T_TUPLE && !(t->member_cnt && t->members[0].name))
		show_tuple(&w, t, data, false);
	else
		show_value(&w, t, data, t->size);
}
