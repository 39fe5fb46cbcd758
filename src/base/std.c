/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/std.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"

static bool is_out_closed;
static int out_err; /* errno of the first write to stdout that failed */

/* open() returns the lowest free number: the one that is closed, because those below it are open by now. */
static void fill_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		is_out_closed |= fd == STDOUT_FILENO;
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
	}
}

static ssize_t write_patiently(int fd, const char *p, size_t n)
{
	int err = io_write_all(fd, p, n);

	errno = -err;
	return err ? 0 : (ssize_t)n;
}

static ssize_t write_out(void *unused, const char *p, size_t n)
{
	ssize_t done = write_patiently(STDOUT_FILENO, p, n);

	if (!done && n && !out_err)
		out_err = errno;
	return done;
}

static ssize_t write_err(void *unused, const char *p, size_t n)
{
	return write_patiently(STDERR_FILENO, p, n);
}

void std_begin(void)
{
	FILE *out, *err;

	fill_closed();
	out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_out });
	err = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_err });
	if (!out || !err)
		return; /* the streams of the library do, with a reader that waits */
	if (isatty(STDOUT_FILENO))
		setvbuf(out, NULL, _IOLBF, 0);
	setvbuf(err, NULL, _IONBF, 0);
	stdout = out;
	stderr = err;
}

int std_end(int status)
{
	fflush(stdout);
	if (!out_err || out_err == EPIPE)
		return status;
	fprintf(stderr, "ERROR: cannot write the output: %s\n", is_out_closed ? "standard output is closed" : strerror(out_err));
	return status ? status : 1;
}
