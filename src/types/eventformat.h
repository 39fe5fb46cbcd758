/* SPDX-License-Identifier: GPL-2.0-only */
/* The format file of a tracepoint, as a struct type. */
#pragma once

#include "types/type.h"

/* The record that the text describes; the common fields at its start are left out. Types that the format only names are looked up
 * in `types` (may be NULL). Pointers of system call events lead to user memory. NULL: the text has no field. */
const struct type *event_format_parse(const char *text, size_t len, const char *category, const char *event, struct arena *a,
				      struct type_source *types);
