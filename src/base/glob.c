/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/glob.h"

bool glob_match(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	/* On a mismatch go back to the last star and let it match one character more: linear in practice, never recursive. */
	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
		} else if (*pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
