/* SPDX-License-Identifier: GPL-2.0-only */
/* Text of others on a terminal: a name or a string must not move the cursor, change colours or answer questions. */
#pragma once

#include "base/sbuf.h"

/* Makes control characters visible from byte `start` on: \n, \t, \x1b; also those of C1 (U+0080 to U+009F) and bytes that are not
 * UTF-8, which a terminal with another character set may take for one of these. keeps_lines: but for newlines and tabs. */
void escape_from(struct sbuf *b, size_t start, bool keeps_lines);
/* The same in the form that JSON has, in a text that is JSON: DEL and C1, which JSON itself allows. */
void escape_json_from(struct sbuf *b, size_t start);
/* Makes a text that stands for these bytes alone, from byte `start` on: bytes that are not UTF-8, those in `marks`, and a
 * backslash before xHH become \xHH. is_ascii: and all that are not printable ASCII. */
void escape_exactly_from(struct sbuf *b, size_t start, const char *marks, bool is_ascii);
/* A copy of s in the form of escape_from(), malloc'ed. */
char *escape_text(const char *s);
