/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of C. */
#pragma once

#include "base/base.h"

struct cnumber {
	u64 value;
	bool is_unsigned;
	u8 longs;      /* l or ll */
	bool is_float; /* the value is cut */
	bool is_decimal;
};

/* False: no number. */
bool cnumber_parse(const char *s, u32 len, struct cnumber *n);
/* 'a', L'\n', 'ab' */
s64 cchar_value(const char *s, u32 len);
/* How strongly a binary operator binds, from 1 (||) to 10 (*); 0: it is none. op as in struct ctok. */
u32 cprecedence(u32 op);
/* op is an enum cop or a character. What C leaves open (a division by 0, a shift by 64) is 0. */
s64 cbinary(u32 op, s64 a, s64 b, bool is_unsigned);
