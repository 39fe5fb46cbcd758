/* Typed bytes: reading numbers out of them and showing them. */
#pragma once

#include "out/sink.h"

/* A scalar (bool, int, enum, pointer, site, ksym, timestamp; up to 8 bytes), extended to 64 bits by its type's sign. */
u64 value_load(const struct type *t, const u8 *data);
/* The same for a member of a struct at `data`, bit-fields included. */
u64 value_load_member(const struct member *m, const u8 *data);
/* The average of avg and stats: {total, count}. As s64 if the type is signed. */
u64 value_average(const struct type *t, const u8 *data);

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
/* With integers, aggregations and counts of hist divided by div (0 or 1: not). */
void value_text_div(const struct naming *n, const struct type *t, const u8 *data, u64 div, struct sbuf *out);
void value_json_div(const struct naming *n, const struct type *t, const u8 *data, u64 div, struct sbuf *out);
/* A stack of which len bytes were sent: a newline, and a line for each frame. */
void stack_text(const struct naming *n, const struct type *t, const u8 *data, u32 len, struct sbuf *out);
/* A map's key: a tuple stands without its parentheses; compact (JSON) leaves out the spaces between its parts. */
void value_key(const struct naming *n, const struct type *t, const u8 *data, bool compact, struct sbuf *out);

/* The bytes behind %r: a buffer's contents, or the value itself. */
void value_bytes(const struct type *t, const u8 *data, u32 len, const u8 **bytes, u32 *cnt);
enum bytes_style { BYTES_TEXT, BYTES_ESCAPED, BYTES_HEX }; /* %r %rx %rh */
void value_put_bytes(const u8 *bytes, u32 cnt, enum bytes_style style, struct sbuf *out);

/* A number; one that a double cannot hold exactly becomes a string. */
void json_int(struct sbuf *out, u64 v, bool is_signed);
