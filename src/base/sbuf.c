/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/sbuf.h"

#include <stdio.h>
#include <stdlib.h>

static inline void reserve(struct sbuf *b, size_t more)
{
	if (b->len + more + 1 <= b->cap)
		return;
	b->cap = MAX(b->len + more + 1, b->cap ? 2 * b->cap : 64);
	b->s = xrealloc(b->s, b->cap);
}

static inline char *grow(struct sbuf *b, size_t n)
{
	reserve(b, n);
	b->len += n;
	b->s[b->len] = 0;
	return b->s + b->len - n;
}

void sbuf_release(struct sbuf *b)
{
	free(b->s);
	*b = (struct sbuf){};
}

void sbuf_reset(struct sbuf *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = 0;
}

char *sbuf_grow(struct sbuf *b, size_t n)
{
	return grow(b, n);
}

void sbuf_add(struct sbuf *b, const void *p, size_t n)
{
	char *to = grow(b, n);

	if (n)
		memcpy(to, p, n);
}

void sbuf_puts(struct sbuf *b, const char *s)
{
	sbuf_add(b, s, strlen(s));
}

void sbuf_putc(struct sbuf *b, char c)
{
	*grow(b, 1) = c;
}

void sbuf_fill(struct sbuf *b, char c, size_t n)
{
	memset(grow(b, n), c, n);
}

void sbuf_vprintf(struct sbuf *b, const char *fmt, va_list ap)
{
	va_list ap2;
	int n;

	va_copy(ap2, ap);
	n = vsnprintf(NULL, 0, fmt, ap2);
	va_end(ap2);
	BUG_ON(n < 0);
	reserve(b, n);
	vsnprintf(b->s + b->len, n + 1, fmt, ap);
	b->len += n;
}

void sbuf_printf(struct sbuf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(b, fmt, ap);
	va_end(ap);
}
