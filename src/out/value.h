/* SPDX-License-Identifier: GPL-2.0-only */
/* Typed bytes: extracting numbers from them, and showing them. */
#pragma once

#include "out/sink.h"

/* A scalar, extended to 64 bits by its type's sign; of a larger value the u64 that it begins with. */
u64 value_load(const struct type *t, const u8 *data);
/* The same for a member of a struct at `data`, bit-fields included. */
u64 value_load_member(const struct member *m, const u8 *data);

/* The suite() of the text format. */
void text_suite(struct out *o, const struct suite *s, enum suite_step step);

static inline u64 value_div(u64 v, u64 div, bool is_signed)
{
	if (div <= 1)
		return v;
	if (!is_signed)
		return v / div;
	return (s64)div < 0 ? 0 : (u64)((s64)v / (s64)div); /* a div larger than any s64 leaves nothing */
}

/* value_text() of a value of which only len bytes were sent: strings and buffers in the tail of a record. */
void value_text_n(const struct naming *n, const struct type *t, const u8 *data, u32 len, struct sbuf *out);
/* As w says. */
void value_show_text(const struct show *w, const struct type *t, const u8 *data);
void value_show_json(const struct show *w, const struct type *t, const u8 *data);
/* A stack of which len bytes were sent: a newline, and a line for each frame. */
void stack_text(const struct naming *n, const struct type *t, const u8 *data, u32 len, struct sbuf *out);
/* A map's key: a tuple stands without its parentheses. That of JSON has no spaces between its parts, is UTF-8, and differs from
 * that of all other keys of the map: in texts, \xHH stands for a byte that is not UTF-8, for a comma if several parts may have
 * some, and for a backslash before xHH. */
void value_key(const struct naming *n, const struct type *t, const u8 *data, bool is_json, struct sbuf *out);

/* The bytes behind %r: a buffer's contents, or the value itself. */
void value_bytes(const struct type *t, const u8 *data, u32 len, const u8 **bytes, u32 *cnt);
enum bytes_style { BYTES_TEXT, BYTES_ESCAPED, BYTES_HEX }; /* %r %rx %rh */
void value_put_bytes(const u8 *bytes, u32 cnt, enum bytes_style style, struct sbuf *out);
