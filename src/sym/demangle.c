#include "sym/demangle.h"

#include <stddef.h>

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>

char *sym_demangle(const char *name)
{
	char *text;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	/* Rust's older names look like C++ ones, and are to be recognised first. */
	text = rust_demangle(name, DMGL_PARAMS);
	return text ? text : cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
}
#else
char *sym_demangle(const char *name)
{
	return NULL;
}
#endif
