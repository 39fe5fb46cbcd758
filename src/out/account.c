/* SPDX-License-Identifier: GPL-2.0-only */
#include "out/account.h"

#include "out/sink.h"

#define SHOWN_MAX 10 /* messages of one kind */

enum { ACCOUNT_QUIET = 1 }; /* flags */

static const struct {
	const char *name;
	u32 flags;
	const char *text;
} kinds[] = {
#define ACCOUNT_ROW(id, name, flags, text) { name, flags, text },
#include "out/account.def"
#undef ACCOUNT_ROW
};

const char *account_kind_name(enum account_kind kind)
{
	return kinds[kind].name;
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? str_eq(a, b) : a == b;
}

static bool is_of(const struct account_row *r, enum account_kind kind, const struct span *at, const char *subject,
		  const char *reason)
{
	return r->kind == kind && r->has_place == (at != NULL) && (!at || !memcmp(&r->at, at, sizeof(*at))) &&
		is_same(r->subject, subject) && is_same(r->reason, reason);
}

static u64 place_of(const struct account_row *r)
{
	return r->has_place ? (u64)r->at.src << 32 | r->at.begin : 0;
}

void account_add(struct account *a, enum account_kind kind, const struct span *at, const char *subject, const char *reason, u64 n)
{
	struct account_row row = { .kind = kind, .has_place = at, .cnt = n };
	u32 i = a->rows.cnt;

	if (!n)
		return;
	if (at)
		row.at = *at;
	/* Rows are sorted by kind and place: the new one goes behind those of the same. */
	for (; i && a->rows.at[i - 1].kind >= kind; i--) {
		struct account_row *r = &a->rows.at[i - 1];

		if (is_of(r, kind, at, subject, reason)) {
			r->cnt = n == ACCOUNT_SOME || r->cnt == ACCOUNT_SOME ? ACCOUNT_SOME : r->cnt + n;
			return;
		}
	}
	while (i < a->rows.cnt && a->rows.at[i].kind == kind && place_of(&a->rows.at[i]) <= place_of(&row))
		i++;
	row.subject = copy(subject);
	row.reason = copy(reason);
	vec_push(&a->rows, row);
	memmove(&a->rows.at[i + 1], &a->rows.at[i], (a->rows.cnt - 1 - i) * sizeof(row));
	a->rows.at[i] = row;
}

void account_told(struct account *a, enum account_kind kind)
{
	vec_for(r, &a->rows)
		r->is_told |= r->kind == kind;
}

void account_release(struct account *a)
{
	vec_for(r, &a->rows) {
		free(r->subject);
		free(r->reason);
	}
	vec_free(&a->rows);
}

/* Appends what the word in braces at s stands for. Returns what follows it. */
static const char *put_word(const struct account_row *r, const char *s, struct sbuf *out)
{
	const char *end = strchr(s, '}');
	size_t len = (size_t)(end - s) - 1;
	bool is_one = r->cnt == 1;

	if (len == 1 && s[1] == 'n') {
		if (r->cnt == ACCOUNT_SOME)
			return end + 1 + (end[1] == ' ');
		sbuf_printf(out, "%llu", (unsigned long long)r->cnt);
	} else if (len == 1 && s[1] == 's') {
		sbuf_puts(out, is_one ? "" : "s");
	} else if (str_starts(s + 1, "was")) {
		sbuf_puts(out, is_one ? "was" : "were");
	} else if (str_starts(s + 1, "subject")) {
		sbuf_puts(out, r->subject ? r->subject : "this script");
	} else {
		BUG_ON(!str_starts(s + 1, "reason"));
		sbuf_puts(out, r->reason ? r->reason : "the reason is unknown");
	}
	return end + 1;
}

void account_text(const struct account_row *r, struct sbuf *out)
{
	for (const char *s = kinds[r->kind].text; *s;) {
		size_t n = strcspn(s, "{");

		sbuf_add(out, s, n);
		s += n;
		if (*s)
			s = put_word(r, s, out);
	}
}

/* Rows [first, end) are of one kind: what is left of them when enough were shown. */
static void show_rest(const struct account *a, u32 first, u32 end, struct out *o)
{
	struct sbuf msg = {};
	u64 cnt = 0;

	for (u32 i = first; i < end; i++)
		cnt += a->rows.at[i].cnt == ACCOUNT_SOME ? 0 : a->rows.at[i].cnt;
	sbuf_printf(&msg, "%u more messages like this, for %llu in all; -f json lists them", end - first,
		    (unsigned long long)cnt);
	out_message(o, DIAG_WARNING, NULL, NULL, sbuf_str(&msg));
	sbuf_release(&msg);
}

static void show_kind(const struct account *a, u32 first, u32 end, struct out *o, const struct diag *d)
{
	/* One more is better shown than counted. */
	u32 shown = end - first > SHOWN_MAX + 1 ? first + SHOWN_MAX : end;

	for (u32 i = first; i < shown; i++) {
		const struct account_row *r = &a->rows.at[i];
		struct sbuf msg = {};

		account_text(r, &msg);
		out_message(o, DIAG_WARNING, d, r->has_place ? &r->at : NULL, sbuf_str(&msg));
		sbuf_release(&msg);
	}
	if (shown < end)
		show_rest(a, shown, end, o);
}

void account_show(const struct account *a, struct out *o, const struct diag *d)
{
	for (u32 i = 0, end; i < a->rows.cnt; i = end) {
		enum account_kind kind = a->rows.at[i].kind;

		for (end = i; end < a->rows.cnt && a->rows.at[end].kind == kind; end++)
			;
		if (!a->rows.at[i].is_told && !(o->no_warnings && kinds[kind].flags & ACCOUNT_QUIET))
			show_kind(a, i, end, o, d);
	}
	if (!account_is_empty(a) && o->sink->account)
		o->sink->account(o, a, d);
}
