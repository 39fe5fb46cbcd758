/* Symbols of the kernel and its modules (/proc/kallsyms). Addresses may be hidden from us (kptr_restrict, missing privilege):
 * they are all zero then, and count as unknown. */
#pragma once

#include "base/base.h"

/* The address of a symbol, 0 if unknown. Asks the kernel directly where that is allowed (microseconds), else reads the text up to
 * the symbol (tens of milliseconds); no table is built. self is not used: the signature is that of target.kaddr. */
u64 kallsyms_addr(void *self, const char *name);

struct ksym {
	u64 addr;           /* where the symbol starts */
	const char *name;
	const char *module; /* NULL: the kernel itself */
};

/* The symbol that an address belongs to. The table is read at the first call and kept; it is read again for modules and BPF programs that came
 * later. What is in out is valid until the next call. */
bool kallsyms_find(u64 addr, struct ksym *out);

/* Calls fn for each symbol, in the file's order, until it returns false. type is the letter of nm. Returns 0 or -errno. */
typedef bool (*kallsyms_fn)(void *arg, const struct ksym *sym, char type);
int kallsyms_each(kallsyms_fn fn, void *arg);

static inline bool kallsyms_is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* A table, for tests: the functions above use one of /proc/kallsyms. */
struct kallsyms;
struct kallsyms *kallsyms_new(const char *text, size_t len);
void kallsyms_free(struct kallsyms *k);
bool kallsyms_table_find(const struct kallsyms *k, u64 addr, struct ksym *out);
/* The address of a symbol in a text in the format of /proc/kallsyms; 0: not there. */
u64 kallsyms_scan(const char *text, size_t len, const char *name);
