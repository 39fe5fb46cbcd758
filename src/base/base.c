/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

NORETURN void bug_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "sonde: internal error at %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\nThis is a bug in sonde: please report it, with the script.\n", stderr);
	abort();
}

static NORETURN void out_of_memory(void)
{
	fputs("sonde: out of memory\n", stderr);
	exit(1);
}

void *xzalloc(size_t sz)
{
	void *p = calloc(1, sz ? sz : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *xrealloc(void *p, size_t sz)
{
	p = realloc(p, sz ? sz : 1);
	if (!p)
		out_of_memory();
	return p;
}

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(xzalloc(n), s, n);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory();
	return s;
}
