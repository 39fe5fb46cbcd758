/* SPDX-License-Identifier: GPL-2.0-only */
/* -l: the probes of the target, and the types of its kernel. */
#include <errno.h>

#include "base/glob.h"
#include "probe/probe.h"
#include "types/btf.h"

struct lister {
	struct site_sink sink; /* must be first */
	vec(const char *) names;
};

static struct site *add_name(struct site_sink *sink, const char *name)
{
	struct lister *l = (struct lister *)sink;

	sink->found++;
	vec_push(&l->names, name);
	return NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a:b c" → its parts; quotes protect colons. */
static void split_pattern(struct arena *a, const char *text, size_t len, struct attach_point *ap)
{
	vec(const char *) parts = {};
	struct sbuf part = {};
	bool in_quotes = false;

	const char *word = arena_strndup(a, text, len);
	const struct provider *p = provider_find(word);

	/* Without a colon it is a name, whatever the probe type; unless it is a probe type. */
	if (!memchr(text, ':', len) && p && !(p->flags & (PROV_USER_FILE | PROV_SELF))) {
		avec_push(a, &parts, word);
		avec_push(a, &parts, "*");
		*ap = (struct attach_point){ .text = word, .parts = parts.at, .part_cnt = parts.cnt };
		return;
	}
	if (!memchr(text, ':', len))
		avec_push(a, &parts, "*");
	for (size_t i = 0; i <= len; i++) {
		if (i == len || (text[i] == ':' && !in_quotes)) {
			avec_push(a, &parts, arena_strdup(a, sbuf_str(&part)));
			sbuf_reset(&part);
		} else if (text[i] == '"') {
			in_quotes = !in_quotes;
		} else {
			sbuf_putc(&part, text[i]);
		}
	}
	sbuf_release(&part);
	*ap = (struct attach_point){ .text = arena_strndup(a, text, len), .parts = parts.at, .part_cnt = parts.cnt };
}

static int list_provider(struct lister *l, const struct provider *p, struct attach_point *ap, bool verbose, struct diag *d,
			 struct sbuf *out)
{
	const char *word = ap->parts[0];
	int err;

	/* -l uprobe:FILE: all of its functions. With -p a name alone is that of a function. */
	if ((p->flags & PROV_USER_FILE) && ap->part_cnt == 2 && (!l->sink.target->filter_pid || strchr(ap->parts[1], '/'))) {
		const char **parts = arena_alloc(l->sink.arena, 3 * sizeof(*parts));

		parts[0] = ap->parts[0];
		parts[1] = ap->parts[1];
		parts[2] = "*";
		ap->parts = parts;
		ap->part_cnt = 3;
	}
	l->names.cnt = 0;
	l->sink.found = 0;
	l->sink.hint = l->sink.why = NULL;
	ap->parts[0] = p->name;
	l->sink.ap = ap;
	err = p->expand(&l->sink, ap, NULL);
	ap->parts[0] = word;
	if (err)
		return err;
	if (!l->names.cnt && l->sink.why && d && !has_wildcard(word)) {
		diag_error_nowhere(d, E_NO_MATCH, "No matches for %s: %s", ap->text, l->sink.why);
		return 0;
	}
	if (l->names.cnt)
		qsort(l->names.at, l->names.cnt, sizeof(*l->names.at), by_text);
	for (u32 i = 0; i < l->names.cnt; i++) {
		if (i && str_eq(l->names.at[i], l->names.at[i - 1]))
			continue;
		sbuf_puts(out, l->names.at[i]);
		sbuf_putc(out, '\n');
		if (verbose && p->list_params)
			p->list_params(l->sink.target, l->names.at[i], out);
	}
	return l->names.cnt;
}

static int list_pattern(struct lister *l, struct attach_point *ap, bool verbose, struct diag *d, struct sbuf *out)
{
	const struct provider *p = provider_find(ap->parts[0]);
	int total = 0, n;

	if (p) {
		n = list_provider(l, p, ap, verbose, d, out);
		if (n < 0 && d) {
			diag_error_nowhere(d, E_NO_MATCH, "Cannot list %s: %s", ap->text,
					   l->sink.why ? l->sink.why : strerror(-n));
			if (l->sink.hint)
				diag_hint(d, "%s", l->sink.hint);
			else if (probe_errno_hint(n))
				diag_hint(d, "%s", probe_errno_hint(n));
		}
		return n;
	}
	if (!has_wildcard(ap->parts[0])) {
		if (d) {
			diag_error_nowhere(d, E_UNKNOWN_PROVIDER, "Invalid probe type: %s", ap->parts[0]);
			provider_hint(d, ap->parts[0]);
		}
		return -EINVAL;
	}
	/* A probe type that cannot be listed must not hide the others. */
	for (u32 i = 0; (p = provider_at(i)); i++)
		if (provider_is_meant(p, ap, l->sink.target->filter_pid) && (n = list_provider(l, p, ap, verbose, d, out)) > 0)
			total += n;
	return total;
}

/* ---- types ---- */

struct type_lister {
	struct type_source *src;
	const char *keyword, *pattern;
	bool verbose;
	struct arena *arena;
	vec(const char *) found; /* text to print, beginning with the name */
	vec(const char *) names; /* all, for a suggestion */
};

static bool add_type(void *arg, const char *module, const char *name, u32 id)
{
	struct type_lister *l = arg;
	struct sbuf text = {};

	if (!*name)
		return true;
	if (!glob_match(l->pattern, name)) {
		if (!has_wildcard(l->pattern))
			vec_push(&l->names, arena_strdup(l->arena, name));
		return true;
	}
	if (l->verbose)
		btf_print_c(l->src, module, id, &text);
	else
		sbuf_printf(&text, "%s %s\n", l->keyword, name);
	vec_push(&l->found, arena_strdup(l->arena, sbuf_str(&text)));
	sbuf_release(&text);
	return true;
}

static int list_types(const struct target *t, const char *keyword, const char *pattern, bool verbose, struct diag *d,
		      struct sbuf *out)
{
	struct arena arena;
	struct type_lister l = { target_types(t), keyword, pattern, verbose, &arena };
	int cnt = 0;

	if (!l.src) {
		const char *by = t->machine && t->machine->hidden_by ? t->machine->hidden_by() : NULL;

		diag_error_nowhere(d, E_KERNEL_FEATURE, "%s",
				   by ? by : "this kernel has no type information (CONFIG_DEBUG_INFO_BTF is not set)");
		return -ENOENT;
	}
	arena_init(&arena);
	if (str_eq(keyword, "enum")) {
		btf_each(l.src, BTF_KIND_ENUM, add_type, &l);
		btf_each(l.src, BTF_KIND_ENUM64, add_type, &l);
	} else {
		btf_each(l.src, str_eq(keyword, "union") ? BTF_KIND_UNION : BTF_KIND_STRUCT, add_type, &l);
	}
	if (l.found.cnt)
		qsort(l.found.at, l.found.cnt, sizeof(*l.found.at), by_text);
	for (u32 i = 0; i < l.found.cnt; i++) {
		/* Modules repeat what they share with others. */
		if (i && str_eq(l.found.at[i], l.found.at[i - 1]))
			continue;
		sbuf_puts(out, l.found.at[i]);
		cnt++;
	}
	if (!cnt && !has_wildcard(pattern)) {
		const char *near = nearest_name(pattern, l.names.at, l.names.cnt);

		diag_error_nowhere(d, E_UNKNOWN_TYPE, "the kernel has no %s %s", keyword, pattern);
		if (near)
			diag_hint(d, "did you mean %s %s?", keyword, near);
		cnt = -ENOENT;
	}
	vec_free(&l.found);
	vec_free(&l.names);
	arena_release(&arena);
	return cnt;
}

/* ---- all ---- */

/* The keyword that a pattern of types begins with, or NULL. *name: what follows it. */
static const char *keyword_of(const char *pattern, const char **name)
{
	static const char *const keywords[] = { "struct", "union", "enum" };

	for (u32 i = 0; i < ARRAY_CNT(keywords); i++) {
		size_t n = strlen(keywords[i]);

		if (str_starts(pattern, keywords[i]) && (!pattern[n] || pattern[n] == ' ')) {
			*name = pattern + n + strspn(pattern + n, " ");
			return keywords[i];
		}
	}
	return NULL;
}

/* One pattern of those between commas. */
static int list_one(struct lister *l, const char *pattern, bool verbose, struct diag *d, struct sbuf *out)
{
	u32 error_cnt = d ? d->error_cnt : 0;
	const char *name, *keyword = keyword_of(pattern, &name);
	struct attach_point ap;
	int n;

	if (keyword) {
		n = list_types(l->sink.target, keyword, *name ? name : "*", verbose, d, out);
	} else {
		split_pattern(l->sink.arena, pattern, strlen(pattern), &ap);
		n = list_pattern(l, &ap, verbose, d, out);
	}
	if (!n && d && d->error_cnt == error_cnt) {
		diag_error_nowhere(d, E_NO_MATCH, "No matches for %s", pattern);
		if (!has_wildcard(pattern) && !strchr(pattern, ':'))
			diag_hint(d, "a pattern finds more: sonde -l '*%s*'", pattern);
	}
	return n;
}

int probe_list(const char *pattern, bool verbose, const struct target *t, struct diag *d, struct sbuf *out)
{
	struct arena arena;
	struct lister l = { .sink = { .add = add_name, .target = t, .arena = &arena } };
	int total = 0, err = 0;

	arena_init(&arena);
	for (const char *at = pattern ? pattern : "*:*"; *at;) {
		bool in_quotes = false;
		const char *end;
		size_t len;
		int n;

		at += strspn(at, " \t,");
		for (end = at; *end && (in_quotes || *end != ','); end++)
			in_quotes ^= *end == '"';
		if (end == at)
			continue;
		for (len = end - at; at[len - 1] == ' '; len--)
			;
		n = list_one(&l, arena_strndup(&arena, at, len), verbose, d, out);
		if (n < 0)
			err = n;
		else
			total += n;
		at = end;
	}
	vec_free(&l.names);
	arena_release(&arena);
	return total || !err ? total : err;
}
