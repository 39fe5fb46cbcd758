/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries over many types. */
#pragma once

#include "type/view.h"

enum type_query_kind { QUERY_NONE, QUERY_SIZES, QUERY_HOLES, QUERY_CONTAINS, QUERY_MEMBER };

struct type_query {
	enum type_query_kind what;
	const char *arg;
};

/* Has the type a name, and does it match one of the patterns, if there are any? */
bool type_is_wanted(const char *name, char **names, u32 cnt);
/* names: wildcards that the structs have to match, if there are any. Returns the exit status: 1 if nothing was found. */
int type_query(struct type_view *v, const struct type_query *q, char **names, u32 cnt, bool json, struct sbuf *out);
/* What changed in structs, unions and enums of the same name; all of them, or those that match. Status as of diff(1): 0 nothing,
 * 1 something. */
int type_diff(struct type_view *old, struct type_view *new, char **names, u32 cnt, bool json, struct sbuf *out);
