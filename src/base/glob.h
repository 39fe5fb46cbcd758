/* SPDX-License-Identifier: GPL-2.0-only */
/* Wildcards as attach points have them: `*` matches any text, also none; nothing else is special. */
#pragma once

#include "base/base.h"

bool glob_match(const char *pattern, const char *s);

static inline bool has_wildcard(const char *s)
{
	return strchr(s, '*') != NULL;
}
