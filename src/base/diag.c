/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/diag.h"

#include <stdio.h>

#include "base/escape.h"

void diag_init(struct diag *d, struct arena *arena)
{
	*d = (struct diag){ .arena = arena, .known = { .arena = arena } };
}

u32 diag_add_source(struct diag *d, const char *name, const char *text, u32 len)
{
	avec_push(d->arena, &d->sources,
		  (struct source){ arena_strdup(d->arena, name), arena_strndup(d->arena, text, len), len });
	return d->sources.cnt - 1;
}

u32 diag_add_call(struct diag *d, struct span at)
{
	avec_push(d->arena, &d->calls, at);
	return d->calls.cnt;
}

static bool is_repetition(const struct diag_msg *a, const struct diag_msg *b)
{
	if (a->level != b->level || a->has_span != b->has_span || !str_eq(a->text, b->text))
		return false;
	return a->span.begin == b->span.begin && a->span.src == b->span.src;
}

static u32 msg_hash(const struct diag_msg *m)
{
	return str_hash(m->text) ^ u64_hash((u64)m->span.src << 32 | m->span.begin);
}

static void add(struct diag *d, enum diag_level level, const struct span *at, enum diag_tag tag, const char *fmt, va_list ap)
{
	struct diag_msg m = { .level = level, .tag = tag };
	struct sbuf b = {};

	if (d->muted)
		return;
	if (at) {
		m.span = *at;
		m.has_span = true;
	}
	sbuf_vprintf(&b, fmt, ap);
	m.text = arena_strdup(d->arena, sbuf_str(&b));
	sbuf_release(&b);
	htab_for(old, &d->known, msg_hash(&m))
		if (is_repetition(&d->msgs.at[*old - 1], &m))
			return;
	avec_push(d->arena, &d->msgs, m);
	htab_add(&d->known, msg_hash(&m), d->msgs.cnt);
	if (level == DIAG_ERROR)
		d->error_cnt++;
}

void diag_error(struct diag *d, struct span at, enum diag_tag tag, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(d, DIAG_ERROR, &at, tag, fmt, ap);
	va_end(ap);
}

void diag_warn(struct diag *d, struct span at, enum diag_tag tag, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(d, DIAG_WARNING, &at, tag, fmt, ap);
	va_end(ap);
}

void diag_error_nowhere(struct diag *d, enum diag_tag tag, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(d, DIAG_ERROR, NULL, tag, fmt, ap);
	va_end(ap);
}

void diag_hint(struct diag *d, const char *fmt, ...)
{
	struct diag_msg *m;
	struct sbuf b = {};
	const char *text;
	va_list ap;

	if (d->muted || !d->msgs.cnt)
		return;
	m = &d->msgs.at[d->msgs.cnt - 1];
	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	text = arena_strdup(d->arena, sbuf_str(&b));
	sbuf_release(&b);
	/* The message may have been a repetition that was not kept: its hint is then here already. */
	vec_for(h, &m->hints)
		if (str_eq(*h, text))
			return;
	avec_push(d->arena, &m->hints, text);
}

void diag_locate(const struct diag *d, struct span at, u32 *line, u32 *col)
{
	struct source *s = &((struct diag *)d)->sources.at[at.src]; /* the cache is not part of its observable state */
	u32 end = MIN(at.begin, s->len);

	if (s->seen_begin > end)
		s->seen_begin = s->seen_lines = 0;
	for (;;) {
		const char *nl = memchr(s->text + s->seen_begin, '\n', end - s->seen_begin);

		if (!nl)
			break;
		s->seen_begin = nl + 1 - s->text;
		s->seen_lines++;
	}
	*line = s->seen_lines + 1;
	*col = end - s->seen_begin + 1;
}

void diag_format_place(const struct diag *d, struct span at, struct sbuf *out)
{
	struct span last = { at.src, at.end > at.begin ? at.end : at.begin + 1, 0 };
	u32 line, col, line2, col2;

	diag_locate(d, at, &line, &col);
	last.begin--; /* the last byte of the span: an end at a line's start must not count as that line */
	diag_locate(d, last, &line2, &col2);
	if (line == line2)
		sbuf_printf(out, "%s:%u:%u-%u", d->sources.at[at.src].name, line, col, col2 + 1);
	else
		sbuf_printf(out, "%s:%u-%u", d->sources.at[at.src].name, line, line2);
}

#define EXCERPT_MAX 4096

/* Bytes that a terminal would not show as text. */
static bool is_control(char c)
{
	return ((u8)c < 0x20 && c != '\t') || c == 0x7f;
}

static void print_excerpt(const struct diag *d, struct span at, struct sbuf *out)
{
	const struct source *s = &d->sources.at[at.src];
	u32 begin = MIN(at.begin, s->len), end;

	while (begin > 0 && s->text[begin - 1] != '\n')
		begin--;
	for (end = begin; end < s->len && s->text[end] != '\n'; end++)
		;
	/* Not a script but a binary file: its bytes are not shown. */
	if (end - begin > EXCERPT_MAX)
		return;
	for (u32 i = begin; i < end; i++)
		sbuf_putc(out, is_control(s->text[i]) ? '?' : s->text[i]);
	sbuf_putc(out, '\n');
	if (at.end > end + 1)
		return; /* several lines: no underline */
	for (u32 i = begin; i < at.begin; i++)
		sbuf_putc(out, s->text[i] == '\t' ? '\t' : ' ');
	sbuf_fill(out, '~', MAX(1, MIN(at.end, end) > at.begin ? MIN(at.end, end) - at.begin : 1));
	sbuf_putc(out, '\n');
}

/* at NULL: it has no place. */
static void print_one(const struct diag *d, enum diag_level level, const struct span *at, const char *text, u32 style,
		      struct sbuf *out)
{
	bool colour = style & DIAG_COLOUR;
	size_t start;

	if (colour)
		sbuf_puts(out, level == DIAG_ERROR ? "\033[31m" : "\033[33m");
	start = out->len;
	if (at) {
		diag_format_place(d, *at, out);
		sbuf_puts(out, ": ");
	}
	sbuf_printf(out, "%s: %s", level == DIAG_ERROR ? "ERROR" : "WARNING", text);
	if (style & DIAG_ESCAPE)
		escape_from(out, start, true);
	sbuf_puts(out, colour ? "\033[0m\n" : "\n");
	if (at)
		print_excerpt(d, *at, out);
}

void diag_print(const struct diag *d, enum diag_level level, u32 style, struct sbuf *out)
{
	vec_for(m, &d->msgs) {
		u32 src;

		if (m->level != level)
			continue;
		print_one(d, level, m->has_span ? &m->span : NULL, m->text, style, out);
		vec_for(h, &m->hints) {
			size_t start = out->len;

			sbuf_printf(out, "HINT: %s\n", *h);
			if (style & DIAG_ESCAPE)
				escape_from(out, start, true);
		}
		if (!m->has_span)
			continue;
		for (u32 via = m->span.via; via; via = d->calls.at[via - 1].via)
			print_one(d, level, &d->calls.at[via - 1], "expanded from", style, out);
		for (src = m->span.src; d->sources.at[src].is_imported; src = d->sources.at[src].from.src)
			print_one(d, level, &d->sources.at[src].from, "imported from", style, out);
	}
}

static const char *const tag_names[] = {
#define ERROR_ROW(tag, summary) #tag,
#include "base/error.def"
#undef ERROR_ROW
};

const char *diag_tag_name(enum diag_tag tag)
{
	return tag_names[tag];
}

static u32 edit_distance(const char *a, const char *b, u32 limit)
{
	u32 row[65], before[65] = {}, n = strlen(a),
		     m = strlen(b); /* `before`: the row above the one that `row` still is in part */

	if (n > 64 || m > 64 || (n > m ? n - m : m - n) > limit)
		return limit + 1;
	for (u32 j = 0; j <= m; j++)
		row[j] = j;
	for (u32 i = 1; i <= n; i++) {
		u32 diagonal = row[0], swapped = 0, two_up = before[0];

		before[0] = row[0];
		row[0] = i;
		for (u32 j = 1; j <= m; j++) {
			u32 up = row[j];
			u32 best = diagonal + (a[i - 1] != b[j - 1]);

			best = MIN(best, up + 1);
			best = MIN(best, row[j - 1] + 1);
			/* Two transposed letters are one mistake. */
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, swapped + 1);
			swapped = two_up;
			two_up = before[j];
			before[j] = up;
			row[j] = best;
			diagonal = up;
		}
	}
	return row[m];
}

/* C programmers put underscores before a name that was made private: task_struct's `state` became `__state`. Compilers mark
 * copies of functions after the name: `finish_task_switch.isra.0`. A .cold function is not a copy but a part. */
static bool is_namesake(const char *name, const char *other)
{
	size_t len;

	name += strspn(name, "_");
	other += strspn(other, "_");
	len = strlen(name);
	return !strncmp(name, other, len) && (!other[len] || other[len] == '.') && !strstr(other, ".cold");
}

/* A function that was split or wrapped got a word after its name: __kmalloc became __kmalloc_noprof, tcp_drop tcp_drop_reason.
 * The shortest such name. */
static const char *longer_name(const char *name, const char *const *names, u32 cnt)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (u32 i = 0; i < cnt; i++)
		if (!strncmp(name, names[i], len) && names[i][len] == '_' && (!found || strlen(names[i]) < strlen(found)))
			found = names[i];
	return found;
}

const char *nearest_name(const char *name, const char *const *names, u32 cnt)
{
	u32 limit = MAX(1, strlen(name) / 3), best = limit + 1;
	const char *found = NULL, *longer;

	for (u32 i = 0; i < cnt; i++) {
		u32 dist = is_namesake(name, names[i]) ? 0 : edit_distance(name, names[i], limit);

		if (dist < best) {
			best = dist;
			found = names[i];
		}
	}
	/* One wrong letter is more likely than a changed name; several are less likely. */
	longer = best > 1 ? longer_name(name, names, cnt) : NULL;
	return longer ? longer : found;
}
