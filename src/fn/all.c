/* The families of functions. Their rows are the only place where a function's name is written. */
#include "fn/family.h"

#include <ctype.h>

static const struct fn_family *const families[] = {
	&fn_builtins, &fn_comm, &fn_output, &fn_maps, &fn_aggregations, &fn_memory, &fn_stacks, &fn_system,
	&fn_strings, &fn_net, &fn_tasks, &fn_meta, &fn_params, &fn_typed, &fn_packets, &fn_watch,
};

const struct fn *fn_at(u32 i)
{
	for (u32 f = 0; f < ARRAY_CNT(families); f++) {
		if (i < families[f]->cnt)
			return &families[f]->rows[i];
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
	/* In bpftrace the word is a macro of its library, and this is what it stands for. */
	if (str_starts(name, "__builtin_"))
		name += strlen("__builtin_");
	for (u32 f = 0; f < ARRAY_CNT(families); f++) {
		const struct fn *rows = families[f]->rows;

		for (u32 i = 0; i < families[f]->cnt; i++)
			if (rows[i].name[0] == name[0] && is_called(&rows[i], name, suffix))
				return &rows[i];
	}
	return NULL;
}
