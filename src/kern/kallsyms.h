/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols of the kernel and its modules (/proc/kallsyms). Addresses may be hidden (kptr_restrict, missing privilege): they are
 * all zero then, and count as unknown. */
#pragma once

#include "image/target.h"

/* The address of a symbol, 0 if unknown. Asks the kernel directly where that is allowed (microseconds), else reads the text up to
 * the symbol (tens of milliseconds); no table is built. */
u64 kallsyms_addr(const char *name);

/* The symbol that an address belongs to. The table is read at the first call and kept; it is read again for modules and BPF
 * programs that came later. What is in out is valid until the next call. */
bool kallsyms_find(u64 addr, struct ksym *out);

/* Calls fn for each symbol, in the file's order, until it returns false. Returns 0 or -errno. */
int kallsyms_each(ksym_fn fn, void *arg);

/* A table, for tests: the functions above use one of /proc/kallsyms. */
struct kallsyms;
struct kallsyms *kallsyms_new(const char *text, size_t len);
void kallsyms_free(struct kallsyms *k);
bool kallsyms_table_find(const struct kallsyms *k, u64 addr, struct ksym *out);
/* The address of a symbol in a text in the format of /proc/kallsyms; 0: not there. */
u64 kallsyms_scan(const char *text, size_t len, const char *name);
