/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing byte string, always NUL-terminated once something was added (s may be NULL before that; sbuf_str() never is). */
#pragma once

#include "base/base.h"

struct sbuf {
	char *s;
	size_t len, cap;
};

void sbuf_release(struct sbuf *b);
void sbuf_reset(struct sbuf *b); /* empties, keeps the memory */
void sbuf_add(struct sbuf *b, const void *p, size_t n);
void sbuf_puts(struct sbuf *b, const char *s);
void sbuf_putc(struct sbuf *b, char c);
char *sbuf_grow(struct sbuf *b, size_t n); /* n more bytes, which the caller sets before the next call */
void sbuf_fill(struct sbuf *b, char c, size_t n);
void sbuf_printf(struct sbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sbuf_vprintf(struct sbuf *b, const char *fmt, va_list ap);

static inline const char *sbuf_str(const struct sbuf *b)
{
	return b->s ? b->s : "";
}
