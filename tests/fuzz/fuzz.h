/* SPDX-License-Identifier: GPL-2.0-only */
/* What fuzzing targets share. Each file is a program by libFuzzer: it calls LLVMFuzzerTestOneInput() with bytes that it makes up.
 * A target keeps no state from one input to the next, reads no file of the machine and writes none. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sbuf.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

/* For readers that want a path: a file in memory that has the bytes. Valid until the descriptor is closed. */
static inline int fuzz_file(const u8 *data, size_t len, char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, (const char *)data, len))
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* The bytes as a string. */
static inline char *fuzz_text(const u8 *data, size_t len)
{
	char *text = xzalloc(len + 1);

	if (len)
		memcpy(text, data, len);
	return text;
}
