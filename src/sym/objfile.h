/* SPDX-License-Identifier: GPL-2.0-only */
/* An ELF file: its headers, sections and notes.
 *
 * The file is mapped, not read; all results point into the mapping (or into memory that a compressed section was unpacked to) and
 * is valid until objfile_free(). Files are not trusted: every offset and size is checked before it is used, and a section that
 * does not lie in the file is empty. Only 64-bit files of this machine's byte order and architecture are opened.
 *
 * Sonde reads ELF and DWARF itself: docs/design/symbols.md says why.
 */
#pragma once

#include <elf.h>

#include "base/base.h"

struct bytes {
	const u8 *at; /* NULL: none */
	size_t len;
};

struct objfile {
	const u8 *data;
	size_t len;
	const Elf64_Ehdr *eh;
	const Elf64_Phdr *ph;
	const Elf64_Shdr *sh;
	u32 ph_cnt, sh_cnt;
	struct bytes names;     /* of sections */
	struct bytes *unpacked; /* of compressed sections, by index; NULL: none was asked for yet */
	bool is_mapped;         /* else malloc'ed */
};

/* Returns 0; -ENOENT and its like when the file cannot be opened; -ENOEXEC when it is not such a file. off: where the ELF file
 * starts in the file (a member of an archive), len: how long it is, 0: up to the end. */
int objfile_open(struct objfile *o, const char *path, u64 off, u64 len);
/* The same from memory, malloc'ed, which now belongs to o, also on failure. */
int objfile_from_memory(struct objfile *o, void *data, size_t len);
void objfile_release(struct objfile *o);

/* The name of a section; "" if it has none. */
const char *objfile_section_name(const struct objfile *o, u32 i);
/* The section's index, 0 if there is none (or it has no bytes in this file). */
u32 objfile_find_section(const struct objfile *o, const char *name);
/* Its bytes, unpacked if need be. Empty if they are not in the file, or packed in a format that Sonde does not support. */
struct bytes objfile_section(struct objfile *o, u32 i);
struct bytes objfile_section_named(struct objfile *o, const char *name);
/* A string of a string table; NULL if it does not end in it. */
const char *bytes_str(struct bytes b, u64 off);

/* The build id; empty if there is none. */
struct bytes objfile_build_id(struct objfile *o);

/* Walks through the notes of a section: *off is 0 at first. False at the end. Names include their NUL. */
struct obj_note {
	u32 type;
	struct bytes name, desc;
};
bool objfile_next_note(struct bytes notes, u64 align, size_t *off, struct obj_note *out);
