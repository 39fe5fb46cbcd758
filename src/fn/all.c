/* SPDX-License-Identifier: GPL-2.0-only */
/* The families of functions. Only their rows have the names of functions. */
#include "fn/family.h"

#include <ctype.h>

#include "run/session.h"

static const struct fn_family *const families[] = {
	&fn_builtins, &fn_comm, &fn_output, &fn_maps, &fn_aggregations, &fn_memory, &fn_stacks,  &fn_system,
	&fn_strings,  &fn_net,  &fn_tasks,  &fn_meta, &fn_params,       &fn_typed,  &fn_packets, &fn_watch,
};

void session_event(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	rec->fn->event(s, rec, data, len);
}

const char *fn_name(const struct fn *fn)
{
	return fn->name;
}

u32 fn_needs(const struct fn *fn)
{
	return fn->needs;
}

const struct fn *fn_named(const char *name)
{
	u32 suffix;

	return str_eq(name, fn_watch_arg.name) ? &fn_watch_arg : fn_find(name, &suffix);
}

const struct fn *fn_at(u32 i)
{
	for (u32 f = 0; f < ARRAY_CNT(families); f++) {
		if (i < families[f]->cnt)
			return families[f]->rows ? &families[f]->rows[i] : families[f]->at(i);
		i -= families[f]->cnt;
	}
	return NULL;
}

/* Whether a word is the name of a row. The row is called argN, the word arg0. */
static bool is_called(const struct fn *fn, const char *name, u32 *suffix)
{
	char *end;
	size_t n;

	if (!(fn->flags & FN_SUFFIX))
		return str_eq(fn->name, name);
	n = strlen(fn->name) - 1;
	if (strncmp(fn->name, name, n) || !isdigit((u8)name[n]))
		return false;
	*suffix = strtoul(name + n, &end, 10);
	return !*end;
}

const struct fn *fn_find(const char *name, u32 *suffix)
{
	/* In bpftrace the word is a macro of its library with this value. */
	if (str_starts(name, "__builtin_"))
		name += strlen("__builtin_");
	for (u32 f = 0; f < ARRAY_CNT(families); f++) {
		const struct fn *rows = families[f]->rows;

		for (u32 i = 0; rows && i < families[f]->cnt; i++)
			if (rows[i].name[0] == name[0] && is_called(&rows[i], name, suffix))
				return &rows[i];
		for (u32 i = 0; !rows && i < families[f]->cnt; i++)
			if (families[f]->at(i)->name[0] == name[0] && is_called(families[f]->at(i), name, suffix))
				return families[f]->at(i);
	}
	return NULL;
}

const struct opaque *opaque_at(u32 i)
{
	for (u32 f = 0; f < ARRAY_CNT(families); f++)
		for (const struct opaque *const *v = families[f]->values; v && *v; v++)
			if (!i--)
				return *v;
	return NULL;
}

static const struct opaque *find_opaque(const char *text, bool by_word)
{
	for (u32 f = 0; f < ARRAY_CNT(families); f++) {
		for (const struct opaque *const *v = families[f]->values; v && *v; v++) {
			const char *own = by_word ? (*v)->word : (*v)->name;

			if (own && str_eq(own, text))
				return *v;
		}
	}
	return NULL;
}

const struct opaque *opaque_find(const char *name)
{
	return find_opaque(name, false);
}

const struct opaque *opaque_of_word(const char *word)
{
	return find_opaque(word, true);
}
