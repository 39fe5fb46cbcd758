/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/json.h"

#include "base/num.h"

u32 utf8_len(const u8 *s, size_t left)
{
	u32 n, lo = 0x80, hi = 0xbf;

	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (left < n || s[1] < lo || s[1] > hi)
		return 0;
	for (u32 i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

static bool is_hex(u8 c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_hex_escape(const u8 *s, size_t left)
{
	return left >= 4 && s[0] == '\\' && s[1] == 'x' && is_hex(s[2]) && is_hex(s[3]);
}

static const char hex[] = "0123456789abcdef";

static void put_escape(struct sbuf *out, u8 c)
{
	char esc[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
	bool is_short = c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t';

	if (is_short)
		esc[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : (char)c;
	sbuf_add(out, esc, is_short ? 2 : 6);
}

/* As a text that is not JSON's. */
static void put_byte(struct sbuf *out, u8 c)
{
	char esc[] = { '\\', '\\', 'x', hex[c >> 4], hex[c & 15] };

	sbuf_add(out, esc, sizeof(esc));
}

static void put_string(struct sbuf *out, const char *s, size_t len, bool is_exact)
{
	const u8 *p = (const u8 *)s, *end = p + len, *plain = p;

	sbuf_putc(out, '"');
	while (p < end) {
		u32 n;

		if (*p >= ' ' && *p < 0x80 && *p != '"' && *p != '\\') {
			p++;
			continue;
		}
		n = *p < 0x80 ? 0 : utf8_len(p, end - p);
		if (n) {
			p += n;
			continue;
		}
		sbuf_add(out, plain, p - plain);
		if (*p >= 0x80 || (is_exact && is_hex_escape(p, end - p)))
			put_byte(out, *p);
		else
			put_escape(out, *p);
		plain = ++p;
	}
	sbuf_add(out, plain, p - plain);
	sbuf_putc(out, '"');
}

void json_string(struct sbuf *out, const char *s, size_t len)
{
	put_string(out, s, len, false);
}

void json_exact_string(struct sbuf *out, const char *s, size_t len)
{
	put_string(out, s, len, true);
}

/* Exact as a double: the bits from the highest to the lowest one that is set span at most 53. */
static bool fits_double(u64 v, bool is_signed)
{
	if (is_signed && (s64)v < 0)
		v = -v;
	return !v || 64 - __builtin_clzll(v) - __builtin_ctzll(v) <= 53;
}

void json_int(struct sbuf *out, u64 v, bool is_signed)
{
	bool quote = !fits_double(v, is_signed);

	if (quote)
		sbuf_putc(out, '"');
	num_put(out, v, is_signed);
	if (quote)
		sbuf_putc(out, '"');
}

struct sbuf *json_value(struct json *j, const char *key)
{
	bool is_tight = j->style == JSON_TIGHT || (j->style == JSON_TIGHT_ARRAYS && !key);
	size_t key_len = key ? strlen(key) : 0;
	char *p;

	/* Every event has several keys: bytes, not calls. */
	p = sbuf_grow(j->out, (j->needs_comma ? 2 - is_tight : 0) + (key ? key_len + 4 - is_tight : 0));
	if (j->needs_comma) {
		*p++ = ',';
		if (!is_tight)
			*p++ = ' ';
	}
	if (key) {
		*p++ = '"';
		memcpy(p, key, key_len);
		p += key_len;
		*p++ = '"';
		*p++ = ':';
		if (!is_tight)
			*p++ = ' ';
	}
	j->needs_comma = true;
	return j->out;
}

void json_put_key(struct json *j, const char *s, size_t len)
{
	if (j->needs_comma)
		sbuf_puts(j->out, j->style == JSON_TIGHT ? "," : ", ");
	json_string(j->out, s, len);
	sbuf_puts(j->out, j->style == JSON_TIGHT ? ":" : ": ");
	j->needs_comma = false;
}

static void open_list(struct json *j, const char *key, char bracket)
{
	sbuf_putc(json_value(j, key), bracket);
	j->needs_comma = false;
}

static void close_list(struct json *j, char bracket)
{
	sbuf_putc(j->out, bracket);
	j->needs_comma = true;
}

void json_open_object(struct json *j, const char *key)
{
	open_list(j, key, '{');
}

void json_close_object(struct json *j)
{
	close_list(j, '}');
}

void json_open_array(struct json *j, const char *key)
{
	open_list(j, key, '[');
}

void json_close_array(struct json *j)
{
	close_list(j, ']');
}

void json_put_bytes(struct json *j, const char *key, const char *s, size_t len)
{
	json_string(json_value(j, key), s, len);
}

void json_put_text(struct json *j, const char *key, const char *s)
{
	json_put_bytes(j, key, s, strlen(s));
}

void json_put_int(struct json *j, const char *key, u64 v, bool is_signed)
{
	json_int(json_value(j, key), v, is_signed);
}

void json_put_bool(struct json *j, const char *key, bool v)
{
	sbuf_puts(json_value(j, key), v ? "true" : "false");
}

void json_end_line(struct json *j)
{
	sbuf_putc(j->out, '\n');
	j->needs_comma = false;
}
