/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/escape.h"

#include <stdlib.h>

#include "base/json.h"

static char *copy(const char *s, size_t len)
{
	return memcpy(xrealloc(NULL, len), s, len);
}

static bool is_c1(const u8 *p, size_t left)
{
	return left >= 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

/* How many bytes at p can be shown as they are, at least 1; 0: p[0] cannot. */
static size_t plain_len(const u8 *p, size_t left, bool keeps_lines)
{
	if (*p >= 0x80)
		return is_c1(p, left) ? 0 : utf8_len(p, left);
	return (*p >= ' ' && *p != 0x7f) || (keeps_lines && (*p == '\n' || *p == '\t'));
}

static void put_hex(struct sbuf *b, u8 c)
{
	static const char hex[] = "0123456789abcdef";

	sbuf_add(b, (char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
}

static void put_byte(struct sbuf *b, u8 c)
{
	if (c == '\n' || c == '\t' || c == '\r')
		sbuf_add(b, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", 2);
	else
		put_hex(b, c);
}

static size_t plain_start(const struct sbuf *b, size_t at, bool keeps_lines)
{
	size_t n;

	while (at < b->len && (n = plain_len((const u8 *)b->s + at, b->len - at, keeps_lines)))
		at += n;
	return at;
}

void escape_from(struct sbuf *b, size_t start, bool keeps_lines)
{
	size_t at = plain_start(b, start, keeps_lines), len = b->len - at;
	char *old;

	if (!len) /* nearly always */
		return;
	old = copy(b->s + at, len);
	b->len = at;
	for (size_t i = 0; i < len;) {
		size_t n = plain_len((u8 *)old + i, len - i, keeps_lines);

		if (n)
			sbuf_add(b, old + i, n);
		else
			put_byte(b, (u8)old[i]);
		i += n ? n : 1;
	}
	free(old);
}

/* The same for escape_exactly_from(). */
static size_t exact_len(const u8 *p, size_t left, const char *marks, bool is_ascii)
{
	if (*p >= 0x80)
		return is_ascii ? 0 : utf8_len(p, left);
	if (is_ascii && (*p < ' ' || *p == 0x7f))
		return 0;
	return !is_hex_escape(p, left) && (!*p || !strchr(marks, *p));
}

void escape_exactly_from(struct sbuf *b, size_t start, const char *marks, bool is_ascii)
{
	size_t at = start, len, n;
	char *old;

	while (at < b->len && (n = exact_len((const u8 *)b->s + at, b->len - at, marks, is_ascii)))
		at += n;
	len = b->len - at;
	if (!len) /* nearly always */
		return;
	old = copy(b->s + at, len);
	b->len = at;
	for (size_t i = 0; i < len; i += MAX(n, 1)) {
		n = exact_len((u8 *)old + i, len - i, marks, is_ascii);
		if (n)
			sbuf_add(b, old + i, n);
		else
			put_hex(b, (u8)old[i]);
	}
	free(old);
}

void escape_json_from(struct sbuf *b, size_t start)
{
	size_t at = start, len;
	char *old;

	while (at < b->len && b->s[at] != 0x7f && !is_c1((u8 *)b->s + at, b->len - at))
		at++;
	len = b->len - at;
	if (!len)
		return;
	old = copy(b->s + at, len);
	b->len = at;
	for (size_t i = 0; i < len; i++) {
		bool two = is_c1((u8 *)old + i, len - i);

		if (two || old[i] == 0x7f)
			sbuf_printf(b, "\\u%04x", (u8)old[i + two]);
		else
			sbuf_putc(b, old[i]);
		i += two;
	}
	free(old);
}

char *escape_text(const char *s)
{
	struct sbuf b = {};

	sbuf_puts(&b, s);
	escape_from(&b, 0, false);
	return b.s ? b.s : xstrdup("");
}
