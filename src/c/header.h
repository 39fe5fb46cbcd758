/* SPDX-License-Identifier: GPL-2.0-only */
/* C headers: reads them, and hands out their types as BTF and their macros.
 *
 *   struct cheader *h = cheader_new();
 *   cheader_use_kernel(h, NULL);          where the headers of the running kernel are, or cheader_use_user(h)
 *   cheader_add(h, "linux/sched.h", false);
 *   data = cheader_types(h, &len);
 *
 * A header that is missing or strange gives what it can; cheader_errors() says what was left out.
 */
#pragma once

#include "c/parse.h"

struct cheader;

struct cheader *cheader_new(void);
void cheader_free(struct cheader *h);

/* A directory to search before the others (-I). */
void cheader_add_dir(struct cheader *h, const char *dir);
/* The environment of kernel code: its directories, __KERNEL__, the configuration. dir: the kernel's build tree; NULL: the running
 * one's. False: not installed. */
bool cheader_use_kernel(struct cheader *h, const char *dir);
/* Is there such a header below the kernel's tree? */
bool cheader_is_kernel(const char *dir, const char *name);
/* Is there such a header for programs? */
bool cheader_is_user(const char *name);
/* The environment of programs: /usr/include. */
void cheader_use_user(struct cheader *h);

/* Reads a header. False: there is none of that name. */
bool cheader_add(struct cheader *h, const char *name, bool is_quoted);
/* Reads text as if it were one. */
void cheader_add_text(struct cheader *h, const char *name, const char *text, size_t len);

/* All types so far as BTF, malloc'ed. */
u8 *cheader_types(struct cheader *h, size_t *len);
/* NULL: not a macro. */
const struct cmacro *cheader_macro(struct cheader *h, const char *name);
/* A macro's body as text, with the macros in it replaced and its own parameters left; in the arena of h. NULL: not a macro, or
 * one with # or ##, whose text depends on the arguments. */
const char *cheader_macro_text(struct cheader *h, const struct cmacro *m);
/* The value of a macro or enumerator, if it is a constant. */
bool cheader_constant(struct cheader *h, const char *name, s64 *value);

u32 cheader_error_cnt(const struct cheader *h);
/* The first of them, one a line. */
const char *cheader_errors(const struct cheader *h);
u32 cheader_file_cnt(const struct cheader *h);
