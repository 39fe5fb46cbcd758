/* SPDX-License-Identifier: GPL-2.0-only */
/* The closing account: what a run could not count, read or show, by cause. It is shown at the end, as messages and as one JSON
 * object, and not at all when there is nothing in it. --strict makes anything in it exit status 3.
 *
 * To add a cause: a row of out/account.def, and a call of account_add() where its number is known.
 */
#pragma once

#include "base/diag.h"

struct out; /* out/sink.h */

enum account_kind {
#define ACCOUNT_ROW(id, name, flags, text) id,
#include "out/account.def"
#undef ACCOUNT_ROW
	ACCOUNT_KIND_CNT
};

#define ACCOUNT_SOME UINT64_MAX /* it happened; how often is unknown */

struct account_row {
	enum account_kind kind;
	bool has_place, is_told;
	struct span at;
	char *subject, *reason; /* malloc'ed; NULL: none */
	u64 cnt;                /* or ACCOUNT_SOME */
};

struct account {
	vec(struct account_row) rows; /* by kind, then by place */
};

/* Adds n to the row of this kind, place, subject and reason. n = 0 adds nothing. at, subject, reason: NULL if there is none; they
 * are copied. May be called at any time, but walks over the rows of the kind: it is not for every event. */
void account_add(struct account *a, enum account_kind kind, const struct span *at, const char *subject, const char *reason,
		 u64 n);
/* The user got the messages of this kind already: only JSON and --strict still want them. */
void account_told(struct account *a, enum account_kind kind);
void account_release(struct account *a);

static inline bool account_is_empty(const struct account *a)
{
	return !a->rows.cnt;
}

/* Messages on o->err, and the object of formats that have one. Of many rows of one kind, the first ones and the sum of the others
 * are messages. */
void account_show(const struct account *a, struct out *o, const struct diag *d);

/* For sinks: the name of its kind, and its message. */
const char *account_kind_name(enum account_kind kind);
void account_text(const struct account_row *r, struct sbuf *out);
