/* SPDX-License-Identifier: GPL-2.0-only */
/* Integers to digits, without printf. Each returns the first digit inside buf (which ends at buf + NUM_MAX) and sets *len. */
#pragma once

#include "base/sbuf.h"

#define NUM_MAX 24

static inline char *num_dec(char *buf, u64 v, u32 *len)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *end = buf + NUM_MAX, *p = end;

	for (; v >= 100; v /= 100) {
		p -= 2;
		memcpy(p, pairs + 2 * (v % 100), 2);
	}
	if (v >= 10) {
		p -= 2;
		memcpy(p, pairs + 2 * v, 2);
	} else {
		*--p = '0' + (char)v;
	}
	*len = end - p;
	return p;
}

static inline char *num_hex(char *buf, u64 v, bool upper, u32 *len)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char *end = buf + NUM_MAX, *p = end;

	do {
		*--p = digits[v & 15];
		v >>= 4;
	} while (v);
	*len = end - p;
	return p;
}

static inline char *num_oct(char *buf, u64 v, u32 *len)
{
	char *end = buf + NUM_MAX, *p = end;

	do {
		*--p = '0' + (v & 7);
		v >>= 3;
	} while (v);
	*len = end - p;
	return p;
}

static inline void num_put_u64(struct sbuf *out, u64 v)
{
	char buf[NUM_MAX], *p;
	u32 len;

	p = num_dec(buf, v, &len);
	sbuf_add(out, p, len);
}

static inline void num_put_s64(struct sbuf *out, s64 v)
{
	char buf[NUM_MAX + 1], *p;
	u32 len;

	p = num_dec(buf + 1, v < 0 ? -(u64)v : (u64)v, &len);
	if (v < 0) {
		*--p = '-';
		len++;
	}
	sbuf_add(out, p, len);
}

/* For people: 5,956. */
static inline void num_put_grouped(struct sbuf *out, u64 v)
{
	char buf[NUM_MAX], *p;
	u32 len;

	p = num_dec(buf, v, &len);
	for (u32 i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			sbuf_putc(out, ',');
		sbuf_putc(out, p[i]);
	}
}

/* By the sign of the type it came from. */
static inline void num_put(struct sbuf *out, u64 v, bool is_signed)
{
	if (is_signed)
		num_put_s64(out, (s64)v);
	else
		num_put_u64(out, v);
}

/* 0x… */
static inline void num_put_addr(struct sbuf *out, u64 v)
{
	char buf[2 + NUM_MAX], *p;
	u32 len;

	p = num_hex(buf + 2, v, false, &len);
	*--p = 'x';
	*--p = '0';
	sbuf_add(out, p, len + 2);
}
