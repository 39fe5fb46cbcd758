/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/number.h"

#include <stdio.h>
#include <stdlib.h>

#include "c/token.h"

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
}

bool cnumber_parse(const char *s, u32 len, struct cnumber *n)
{
	const char *p = s, *end = s + len;
	u32 base = 10;

	*n = (struct cnumber){};
	if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x') {
		base = 16;
		p += 2;
	} else if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'b') {
		base = 2;
		p += 2;
	} else if (*p == '0') {
		base = 8;
	}
	n->is_decimal = base == 10;
	for (const char *c = p; c < end; c++)
		if (*c == '.' || (base != 16 && (*c | 32) == 'e') || (base == 16 && (*c | 32) == 'p')) {
			char text[64];

			snprintf(text, sizeof(text), "%.*s", (int)len, s);
			n->is_float = true;
			n->value = (s64)strtod(text, NULL);
			return true;
		}
	for (; p < end && digit(*p) < (int)base; p++)
		n->value = n->value * base + digit(*p);
	for (; p < end; p++) {
		if ((*p | 32) == 'u')
			n->is_unsigned = true;
		else if ((*p | 32) == 'l')
			n->longs++;
		else
			return false;
	}
	/* A decimal one becomes wider and stays signed; others may become unsigned. */
	if (n->value >> 63)
		n->is_unsigned = true;
	return true;
}

s64 cchar_value(const char *s, u32 len)
{
	const char *p = memchr(s, '\'', len), *end = s + len;
	u64 v = 0; /* of more than a few characters the last ones stay */
	u32 cnt = 0;

	for (p = p ? p + 1 : end; p < end && *p != '\''; cnt++) {
		int c = (u8)*p++;

		if (c == '\\' && p < end) {
			static const char from[] = "ntrabfve0", to[] = "\n\t\r\a\b\f\v\033";
			const char *at = strchr(from, *p);

			if (*p == 'x') {
				c = 0;
				for (p++; p < end && digit(*p) < 16; p++)
					c = (c * 16 + digit(*p)) & 0xffff;
			} else if (*p >= '0' && *p <= '7') {
				c = 0;
				for (u32 i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
					c = c * 8 + *p++ - '0';
			} else {
				c = at && *at ? to[at - from] : *p;
				p++;
			}
		}
		v = v << 8 | (c & 255);
	}
	return cnt == 1 ? (s8)v : (s32)v;
}

u32 cprecedence(u32 op)
{
	switch (op) {
	case '*':
	case '/':
	case '%':
		return 10;
	case '+':
	case '-':
		return 9;
	case COP_SHL:
	case COP_SHR:
		return 8;
	case '<':
	case '>':
	case COP_LE:
	case COP_GE:
		return 7;
	case COP_EQ:
	case COP_NE:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case COP_ANDAND:
		return 2;
	case COP_OROR:
		return 1;
	}
	return 0;
}

s64 cbinary(u32 op, s64 a, s64 b, bool is_unsigned)
{
	u64 x = a, y = b;

	switch (op) {
	case '*':
		return x * y;
	case '/':
		return !b ? 0 : is_unsigned ? (s64)(x / y) : b == -1 ? (s64)(0 - x) : a / b;
	case '%':
		return !b ? 0 : is_unsigned ? (s64)(x % y) : b == -1 ? 0 : a % b;
	case '+':
		return x + y;
	case '-':
		return x - y;
	case COP_SHL:
		return y > 63 ? 0 : x << y;
	case COP_SHR:
		return y > 63 ? 0 : is_unsigned ? (s64)(x >> y) : a >> y;
	case '<':
		return is_unsigned ? x < y : a < b;
	case '>':
		return is_unsigned ? x > y : a > b;
	case COP_LE:
		return is_unsigned ? x <= y : a <= b;
	case COP_GE:
		return is_unsigned ? x >= y : a >= b;
	case COP_EQ:
		return a == b;
	case COP_NE:
		return a != b;
	case '&':
		return x & y;
	case '^':
		return x ^ y;
	case '|':
		return x | y;
	case COP_ANDAND:
		return a && b;
	case COP_OROR:
		return a || b;
	}
	return 0;
}
