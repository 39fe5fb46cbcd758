/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Files of /proc give a page at a time; a larger buffer only saves moving the rest of a cut line. */
#define BUF_SZ (64 * 1024)

/* Calls fn for the complete lines in [p, end); returns where the rest starts, NULL when fn had enough. */
static char *complete_lines(char *p, char *end, line_fn fn, void *arg)
{
	char *nl;

	while ((nl = memchr(p, '\n', end - p))) {
		*nl = 0;
		if (!fn(arg, p, nl - p))
			return NULL;
		p = nl + 1;
	}
	return p;
}

int lines_each_fd(int fd, line_fn fn, void *arg)
{
	char *buf = xzalloc(BUF_SZ + 1), *rest;
	size_t have = 0;
	int err = 0;

	for (;;) {
		ssize_t r = read(fd, buf + have, BUF_SZ - have);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			err = -errno;
		if (r <= 0)
			break;
		have += r;
		rest = complete_lines(buf, buf + have, fn, arg);
		if (!rest)
			goto out;
		have -= rest - buf;
		memmove(buf, rest, have);
		if (have == BUF_SZ)
			have = 0; /* no valid line has 64 KiB */
	}
	buf[have] = 0;
	if (!err && have)
		fn(arg, buf, have);
out:
	free(buf);
	return err;
}

void lines_each_text(const char *text, size_t len, line_fn fn, void *arg)
{
	char *copy = xzalloc(len + 1), *rest;

	memcpy(copy, text, len);
	rest = complete_lines(copy, copy + len, fn, arg);
	if (rest && rest < copy + len)
		fn(arg, rest, copy + len - rest);
	free(copy);
}
