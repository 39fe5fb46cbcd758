/* SPDX-License-Identifier: GPL-2.0-only */
/* C definitions in a script: struct, union, enum and typedef, laid out as C does on x86-64.
 *
 * They become BTF, as the types of headers do, and precede the kernel's types: a name that the script defines means the script's.
 * Types that they mention and the script does not define are the kernel's. An array of char is a string, a pointer to a function
 * one to void; a pointer's address space is left open, so a member takes that of the pointer it was reached by. */
#pragma once

#include "lang/cpp.h"
#include "types/type.h"

/* The part of the host that C definitions use. */
extern const struct chost cdecl_host;

/* l is at `struct`, `union`, `enum` or `typedef`. Moves behind the definition and its `;`, also after an error, which is
 * reported. */
void cdecl_parse(struct cpp *c, struct lex *l);
/* After the last definition: the types of the script, and behind them the kernel's. NULL: there is no definition. Lives as long
 * as the compilation's arena. */
struct type_source *cdecl_types(struct cpp *c);

/* A constant of the system's headers that is no enumerator, such as AF_INET: what #include would have defined. */
bool header_constant(const char *name, s64 *value);
