/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading and writing whole files. */
#pragma once

#include "base/base.h"

/* Reads a whole file, also of /proc or /sys, where the size is not known in advance. The result is NUL-terminated and malloc'ed;
 * *len (may be NULL) is its length without that NUL. Returns 0 or -errno. */
int io_read_file(const char *path, char **text, size_t *len);
int io_read_fd(int fd, char **text, size_t *len);
/* openat + read */
int io_read_at(int dir_fd, const char *path, char **text, size_t *len);
/* Writes everything or returns -errno. Waits for a slow reader. */
int io_write_all(int fd, const void *p, size_t n);
