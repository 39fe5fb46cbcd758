/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/demangle.h"

#include <stddef.h>

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>

static char *demangle(const char *name, int options)
{
	char *text;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	/* Rust's older names look like C++ ones, and are to be recognised first. */
	text = rust_demangle(name, options);
	return text ? text : cplus_demangle_v3(name, options);
}

char *sym_demangle(const char *name)
{
	return demangle(name, DMGL_PARAMS | DMGL_ANSI);
}

char *sym_demangle_short(const char *name, bool has_params)
{
	return demangle(name, (has_params ? DMGL_PARAMS | DMGL_RET_DROP : 0) | DMGL_ANSI);
}
#else
char *sym_demangle(const char *name)
{
	return NULL;
}

char *sym_demangle_short(const char *name, bool has_params)
{
	return NULL;
}
#endif
