/* SPDX-License-Identifier: GPL-2.0-only */
/* Debug information of a program or library: DWARF 4 and 5.
 *
 *     struct dbg *d = dbg_of("/usr/bin/app", &why);           the file's, or its debug file's (sym/debugfile.h)
 *     dbg_find_line(d, "main.c", 12, 0, &found)               source line → addresses
 *     dbg_line_at(d, addr, &place)                            address → source line
 *     dbg_func_at(d, addr, name)                              function → parameters, where they are at its entry, result
 *     dbg_types(d, addr)                                      structs, unions, enums and typedefs by name, as types of the
 * language
 *
 * Addresses are those of the file (as in its symbol table); sym_elf_offset() turns them into file offsets. Results are valid
 * until dbg_close(). Reading is lazy: opening a file is cheap, and a query walks only the units that can answer it.
 *
 * Not read: DWARF 2 and 3, type units of DWARF 4 (-fdebug-types-section), split DWARF (.dwo).
 */
#pragma once

#include "base/vec.h"
#include "types/type.h"

struct dbg;

/* Returns 0; -ENOENT: there is no debug information; or another -errno when the file cannot be read. */
int dbg_open(const char *path, struct dbg **out);
/* The same of a file that is called `name` in the file system of process pid (0: ours); no server is asked for it. */
int dbg_open_as(const char *path, const char *name, u32 pid, struct dbg **out);
void dbg_close(struct dbg *d);
/* The same, opened once for the whole run and never closed. NULL: *why says what is missing (a sentence that starts with the
 * path). */
struct dbg *dbg_of(const char *path, const char **why);

/* ---- lines ---- */

struct dbg_place {
	u64 addr;
	const char *file; /* as the compiler had it, with its directory if that is known */
	u32 line, col;    /* col 0: unknown */
	const char *func; /* innermost function, also one that was inlined; NULL: unknown */
};

struct dbg_lines {
	vec(struct dbg_place) at; /* by address */
	bool is_file_known;
	u32 next_line; /* if the line has no code: the next line that has, 0 if there is none */
};

/* Where a line of a source file begins: one address for each function that it is in, and for each copy that was inlined. file:
 * the end of its path, whole components ("main.c", "src/main.c"). col 0: any. The caller frees out->at. */
void dbg_find_line(struct dbg *d, const char *file, u32 line, u32 col, struct dbg_lines *out);
/* The line that an address belongs to. False: unknown. */
bool dbg_line_at(struct dbg *d, u64 addr, struct dbg_place *out);

/* The functions that the code at addr belongs to, innermost first: those that were inlined there, then the one that has the code.
 * Of each the line that is executed in it. Returns how many there are, max at most; 0: nothing is known. */
u32 dbg_frames_at(struct dbg *d, u64 addr, struct dbg_place *frames, u32 max);

/* ---- functions ---- */

/* Where some bytes of a parameter are when the function is entered, before its first instruction has run. Registers have DWARF's
 * numbers. */
struct dbg_piece {
	enum dbg_where {
		DBG_REG,     /* in the register */
		DBG_MEM,     /* in memory, at register + num */
		DBG_REG_SUM, /* the value is register + num */
		DBG_CONST,   /* the value is num */
	} where;
	u16 reg;
	s64 num;
	u32 off, size; /* which bytes of the parameter */
};

struct dbg_param {
	const char *name; /* "" if it has none */
	const struct type *type;
	const char *spelling;       /* of its type, as the source has it; NULL if C cannot say it */
	struct dbg_piece pieces[9]; /* as many as Go has registers */
	u32 piece_cnt;              /* 0: not available; bytes that no piece has are padding */
	const char *why;            /* … for this reason: "…, which cannot be read" */
};

struct dbg_func {
	const char *name;
	const struct type *ret;   /* type_void: none */
	const char *ret_spelling; /* as dbg_param.spelling */
	struct dbg_param *params;
	u32 param_cnt;
	bool is_variadic;
};

/* The function that starts at addr, called `symbol` in the symbol table ("" if that is unknown); NULL: it is not described.
 *
 * A location that the compiler gives for the entry is used. Code that is not optimised has locations for parameters that are only
 * filled after the entry: there, and for functions that can be called from elsewhere, the calling convention (System V, of C, C++
 * and Rust) is used. Parameters in floating-point registers are not available: probes do not see those registers. */
const struct dbg_func *dbg_func_at(struct dbg *d, u64 addr, const char *symbol);

/* The debug information of the address is in another file (split DWARF, .dwo), which is not read. */
bool dbg_is_split(struct dbg *d, u64 addr);

/* The address of a file offset; false: nothing is loaded from there. */
bool dbg_addr_of_offset(const struct dbg *d, u64 off, u64 *addr);

/* Every type that has a name, as BTF (malloc'ed): for `sonde type`. places: one for each type, by its number - 1; file NULL:
 * unknown. The caller frees places->at. */
struct dbg_places {
	vec(struct {
		const char *file;
		u32 line;
	}) at;
};
u8 *dbg_to_btf(struct dbg *d, size_t *len, struct dbg_places *places);

/* Types by name. Of several with one name, those of the unit that has code at addr come first; 0: none does. */
struct type_source *dbg_types(struct dbg *d, u64 addr);
