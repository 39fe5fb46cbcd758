/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int io_read_fd(int fd, char **text, size_t *len)
{
	size_t cap = 4096, n = 0;
	struct stat st;
	char *p;

	/* The size is a hint only: files of /proc say 0. */
	if (!fstat(fd, &st) && st.st_size > 0)
		cap = (size_t)st.st_size + 2;
	p = xrealloc(NULL, cap);
	for (;;) {
		ssize_t r;

		if (n + 1 >= cap)
			p = xrealloc(p, cap *= 2);
		r = read(fd, p + n, cap - n - 1);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			r = -errno;
			free(p);
			return r;
		}
		if (r == 0)
			break;
		n += r;
	}
	p[n] = 0;
	*text = p;
	if (len)
		*len = n;
	return 0;
}

int io_read_at(int dir_fd, const char *path, char **text, size_t *len)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = io_read_fd(fd, text, len);
	close(fd);
	return err;
}

int io_read_file(const char *path, char **text, size_t *len)
{
	return io_read_at(AT_FDCWD, path, text, len);
}

/* A descriptor may be non-blocking without our doing: the flag belongs to everybody who shares a pipe or a terminal. */
static bool wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return errno == EINTR || (errno == EAGAIN && (poll(&p, 1, -1) >= 0 || errno == EINTR));
}

int io_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n) {
		ssize_t r = write(fd, s, n);

		if (r < 0 && wait_for_room(fd))
			continue;
		if (r < 0)
			return -errno;
		s += r;
		n -= r;
	}
	return 0;
}
