/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the kernel's long tables (kallsyms, filter functions) line by line, without keeping the text. */
#pragma once

#include "base/base.h"

/* Gets a line without its newline, NUL-terminated, which it may modify. Returns false to stop. */
typedef bool (*line_fn)(void *arg, char *line, u32 len);

/* Returns 0 or -errno. */
int lines_each_fd(int fd, line_fn fn, void *arg);
/* The same over a text, which is not changed. */
void lines_each_text(const char *text, size_t len, line_fn fn, void *arg);
