/* C definitions in a script: struct, union, enum and typedef, laid out as C does on x86-64.
 *
 * They become types of the language and stand in front of the kernel's: a name that the script defines means the script's. What it uses
 * and does not define is looked up in the kernel's types. An array of char is a string, a pointer to a function one to void; a pointer's
 * address space is left open, so a member takes that of the pointer it was reached by. */
#pragma once

#include "lang/cpp.h"
#include "lang/type.h"

struct ctypes;

/* base: the kernel's types, or NULL. */
struct ctypes *ctypes_new(struct arena *arena, struct diag *diag, struct type_source *base);
/* s is at `struct`, `union`, `enum` or `typedef`; moves behind the definition and its `;`. False: reported, and moved behind it all the same. */
bool ctypes_parse(struct ctypes *t, struct cstream *s);
/* After the last definition. */
void ctypes_finish(struct ctypes *t);
/* Finds what the script defines, and behind it what base has. */
struct type_source *ctypes_source(struct ctypes *t);
/* Only what the script defines; NULL if it does not. src: of ctypes_source(). */
const struct type *ctypes_own(struct type_source *src, const char *keyword, const char *name);

/* A constant of the system's headers that is no enumerator, such as AF_INET: what #include would have defined. */
bool header_constant(const char *name, s64 *value);
