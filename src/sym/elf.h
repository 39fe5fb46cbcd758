/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of an executable or shared library, and where they are in the file.
 *
 * Names come from .symtab, .dynsym and, when the file was stripped, from its separate debug file or .gnu_debugdata
 * (sym/debugfile.h), or from the table that programs of Go have (sym/gopclntab.h). A version is not part of a name:
 * `memcpy@@GLIBC_2.14` is memcpy. Where one name has several versions, the default one is meant; the others can be asked for by
 * their full spelling.
 *
 * Uprobes want file offsets, symbols have addresses as the linker laid the file out; the program headers translate.
 */
#pragma once

#include "sym/objfile.h"

struct sym_elf;

struct sym_func {
	const char *name;    /* valid as long as the file is open */
	const char *version; /* ".symtab" spelling after the name: "@@GLIBC_2.14", or "" */
	u64 addr, size;      /* size 0: unknown */
	u8 bind;             /* STB_GLOBAL … */
	bool is_default;     /* not an old version */
	bool is_go_asm;      /* from Go's own table, which does not describe the arguments of assembly */
	bool is_ifunc;       /* addr is the resolver that picks an implementation, not the function */
};

/* Returns 0, -ENOENT and its like when the file cannot be opened, -ENOEXEC when it is not an ELF file of this machine, or has
 * nothing to run. */
/* path may name a file in an archive (sym/archive.h): then file offsets are those in the archive, and its errors may come, too.
 */
int sym_elf_open(const char *path, struct sym_elf **out);
/* The same of a file that is called `name` in the file system of process pid (0: ours): there its debug file is looked for. */
int sym_elf_open_as(const char *path, const char *name, u32 pid, struct sym_elf **out);
void sym_elf_free(struct sym_elf *e);
/* The file itself: its sections and notes. */
struct objfile *sym_elf_file(struct sym_elf *e);

/* All functions, sorted by name, each name once (the default version). */
const struct sym_func *sym_elf_funcs(struct sym_elf *e, u32 *cnt);
/* By name, or by name with version ("f@V1"). NULL if there is none. */
const struct sym_func *sym_elf_find(struct sym_elf *e, const char *name);
/* The function whose [addr, addr + size) holds the address. */
const struct sym_func *sym_elf_at(struct sym_elf *e, u64 addr);
/* The same for showing where an address is: a function of unknown size reaches up to the next one. */
const struct sym_func *sym_elf_near(struct sym_elf *e, u64 addr);
/* "did you mean" */
const char *sym_elf_nearest(struct sym_elf *e, const char *name);

/* Any symbol that has an address: a function or a variable. False if there is none of that name. */
bool sym_elf_symbol(struct sym_elf *e, const char *name, u64 *addr, u64 *size);
/* Whether the file is loaded at its own addresses; libraries and position-independent programs are loaded anywhere. */
bool sym_elf_is_fixed(const struct sym_elf *e);

/* Address ↔ file offset. False when no loaded part of the file has it. */
bool sym_elf_offset(const struct sym_elf *e, u64 addr, u64 *off);
bool sym_elf_addr(const struct sym_elf *e, u64 off, u64 *addr);
/* The bytes at an address, at most max; empty if it is not in the file. */
struct bytes sym_elf_bytes(const struct sym_elf *e, u64 addr, u64 max);
