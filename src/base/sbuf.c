#include "base/sbuf.h"

#include <stdio.h>
#include <stdlib.h>

static void reserve(struct sbuf *b, size_t more)
{
	if (b->len + more + 1 <= b->cap)
		return;
	b->cap = MAX(b->len + more + 1, b->cap ? 2 * b->cap : 64);
	b->s = xrealloc(b->s, b->cap);
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

void sbuf_add(struct sbuf *b, const void *p, size_t n)
{
	reserve(b, n);
	if (n)
		memcpy(b->s + b->len, p, n);
	b->len += n;
	b->s[b->len] = 0;
}

void sbuf_puts(struct sbuf *b, const char *s)
{
	sbuf_add(b, s, strlen(s));
}

void sbuf_putc(struct sbuf *b, char c)
{
	sbuf_add(b, &c, 1);
}

void sbuf_fill(struct sbuf *b, char c, size_t n)
{
	reserve(b, n);
	memset(b->s + b->len, c, n);
	b->len += n;
	b->s[b->len] = 0;
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
