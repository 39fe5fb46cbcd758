/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of the DWARF reader: sections, units, entries (DIEs) and their attributes. Only sym/dwarf*.c include this.
 *
 * Nothing is built that was not asked for. Units are found by jumping from header to header; entries are decoded one at a time,
 * from the bytes, each time they are looked at; only abbreviation tables are kept. Every walk goes forward in the file and every
 * chain of references is followed a bounded number of times, so that a hostile file costs time in proportion to its size at most.
 */
#pragma once

#include "base/htab.h"
#include "base/smap.h"
#include "base/vec.h"
#include "sym/dwarf.h"
#include "sym/objfile.h"

/* clang-format off */
/* The numbers of the standard that are used here. */
enum {
	DW_TAG_array_type = 0x01, DW_TAG_class_type = 0x02, DW_TAG_enumeration_type = 0x04, DW_TAG_formal_parameter = 0x05, DW_TAG_lexical_block = 0x0b,
	DW_TAG_member = 0x0d, DW_TAG_pointer_type = 0x0f, DW_TAG_reference_type = 0x10, DW_TAG_compile_unit = 0x11, DW_TAG_structure_type = 0x13, DW_TAG_subroutine_type = 0x15,
	DW_TAG_typedef = 0x16, DW_TAG_union_type = 0x17, DW_TAG_unspecified_parameters = 0x18, DW_TAG_inheritance = 0x1c,
	DW_TAG_inlined_subroutine = 0x1d, DW_TAG_module = 0x1e, DW_TAG_ptr_to_member_type = 0x1f, DW_TAG_subrange_type = 0x21, DW_TAG_base_type = 0x24,
	DW_TAG_const_type = 0x26, DW_TAG_enumerator = 0x28, DW_TAG_subprogram = 0x2e, DW_TAG_variant_part = 0x33, DW_TAG_variant = 0x19, DW_TAG_volatile_type = 0x35,
	DW_TAG_restrict_type = 0x37, DW_TAG_namespace = 0x39, DW_TAG_unspecified_type = 0x3b, DW_TAG_partial_unit = 0x3c, DW_TAG_imported_unit = 0x3d,
	DW_TAG_rvalue_reference_type = 0x42, DW_TAG_atomic_type = 0x47, DW_TAG_skeleton_unit = 0x4a,
};

enum {
	FORM_addr = 0x01, FORM_block2 = 0x03, FORM_block4, FORM_data2, FORM_data4, FORM_data8, FORM_string, FORM_block, FORM_block1, FORM_data1, FORM_flag, FORM_sdata,
	FORM_strp, FORM_udata, FORM_ref_addr, FORM_ref1, FORM_ref2, FORM_ref4, FORM_ref8, FORM_ref_udata, FORM_indirect, FORM_sec_offset, FORM_exprloc,
	FORM_flag_present, FORM_strx, FORM_addrx, FORM_ref_sup4, FORM_strp_sup, FORM_data16, FORM_line_strp, FORM_ref_sig8, FORM_implicit_const, FORM_loclistx,
	FORM_rnglistx, FORM_ref_sup8, FORM_strx1, FORM_strx2, FORM_strx3, FORM_strx4, FORM_addrx1, FORM_addrx2, FORM_addrx3, FORM_addrx4,
	FORM_GNU_ref_alt = 0x1f20, FORM_GNU_strp_alt = 0x1f21,
};

enum { DW_ATE_address = 1, DW_ATE_boolean = 2, DW_ATE_complex_float = 3, DW_ATE_float = 4, DW_ATE_signed = 5, DW_ATE_signed_char = 6, DW_ATE_unsigned = 7, DW_ATE_unsigned_char = 8, DW_ATE_imaginary_float = 9, DW_ATE_decimal_float = 15, DW_ATE_UTF = 16 };

enum { DW_LANG_Rust = 0x1c, DW_LANG_Go = 0x16 };

enum { DW_CC_pass_by_reference = 4 };

enum {
	DW_OP_addr = 0x03, DW_OP_deref = 0x06, DW_OP_const1u = 0x08, DW_OP_const8s = 0x0f, DW_OP_constu = 0x10, DW_OP_consts = 0x11, DW_OP_plus_uconst = 0x23,
	DW_OP_lit0 = 0x30, DW_OP_lit31 = 0x4f, DW_OP_reg0 = 0x50, DW_OP_reg31 = 0x6f, DW_OP_breg0 = 0x70, DW_OP_breg31 = 0x8f, DW_OP_regx = 0x90,
	DW_OP_fbreg = 0x91, DW_OP_bregx = 0x92, DW_OP_piece = 0x93, DW_OP_call_frame_cfa = 0x9c, DW_OP_implicit_value = 0x9e, DW_OP_stack_value = 0x9f,
	DW_OP_entry_value = 0xa3, DW_OP_GNU_entry_value = 0xf3, DW_OP_GNU_parameter_ref = 0xfa,
};

/* Attributes that are looked at: AT_ROW(slot, number). All others are skipped. */
#define AT_ROWS(AT_ROW) \
	AT_ROW(sibling, 0x01) AT_ROW(location, 0x02) AT_ROW(name, 0x03) AT_ROW(byte_size, 0x0b) AT_ROW(bit_offset, 0x0c) AT_ROW(bit_size, 0x0d) \
	AT_ROW(stmt_list, 0x10) AT_ROW(low_pc, 0x11) AT_ROW(high_pc, 0x12) AT_ROW(language, 0x13) AT_ROW(comp_dir, 0x1b) AT_ROW(const_value, 0x1c) \
	AT_ROW(inline, 0x20) AT_ROW(upper_bound, 0x2f) AT_ROW(abstract_origin, 0x31) AT_ROW(artificial, 0x34) AT_ROW(count, 0x37) \
	AT_ROW(data_member_location, 0x38) AT_ROW(declaration, 0x3c) AT_ROW(encoding, 0x3e) AT_ROW(external, 0x3f) AT_ROW(frame_base, 0x40) \
	AT_ROW(specification, 0x47) AT_ROW(type, 0x49) AT_ROW(variable_parameter, 0x4b) AT_ROW(trampoline, 0x56) AT_ROW(ranges, 0x55) AT_ROW(entry_pc, 0x52) AT_ROW(call_file, 0x58) AT_ROW(call_line, 0x59) \
	AT_ROW(data_bit_offset, 0x6b) AT_ROW(linkage_name, 0x6e) AT_ROW(str_offsets_base, 0x72) AT_ROW(addr_base, 0x73) AT_ROW(rnglists_base, 0x74) \
	AT_ROW(dwo_name, 0x76) AT_ROW(loclists_base, 0x8c) AT_ROW(alignment, 0x88) AT_ROW(discr, 0x15) AT_ROW(discr_value, 0x16) \
	AT_ROW(decl_file, 0x3a) AT_ROW(decl_line, 0x3b) AT_ROW(import, 0x18) AT_ROW(calling_convention, 0x36) AT_ROW(mips_linkage_name, 0x2007) AT_ROW(gnu_dwo_name, 0x2130)

enum at {
#define AT_ROW(slot, number) AT_##slot,
	AT_ROWS(AT_ROW)
#undef AT_ROW
	AT_CNT
};

/* clang-format on */

/* ---- bytes ---- */

/* A place in a section. Reading past the end gives zeroes and sets bad. */
struct cur {
	const u8 *p, *end;
	bool bad;
};

u64 cur_uint(struct cur *c, u32 size);
u64 cur_uleb(struct cur *c);
s64 cur_sleb(struct cur *c);
const char *cur_str(struct cur *c); /* "" if it does not end */
void cur_skip(struct cur *c, u64 n);

static inline bool cur_done(const struct cur *c)
{
	return c->bad || c->p >= c->end;
}

/* From off to the end of b. */
static inline struct cur cur_at(struct bytes b, u64 off)
{
	return off <= b.len ? (struct cur){ b.at + off, b.at + b.len, false } : (struct cur){ b.at, b.at, true };
}

/* ---- units ---- */

struct abbrev_attr {
	u8 slot; /* enum at; AT_CNT: not of interest */
	u16 form;
	s64 implicit;
};

struct abbrev {
	u64 code;
	u16 tag;
	bool has_children;
	u32 attr_first, attr_cnt;
};

struct abbrevs {
	vec(struct abbrev) rows;
	vec(struct abbrev_attr) attrs;
};

struct dwarf_unit {
	struct dbg_set *set;
	u32 index;
	u64 off, end, die_off; /* in .debug_info: of the header, behind the unit, of the first entry */
	u64 abbrev_off;
	u8 version, addr_sz, off_sz;
	bool is_type; /* a type unit; sig is its name */
	u64 sig, type_off;
	/* From the first entry, once it was read (dwarf_unit_load()). */
	bool is_loaded, is_bad;
	struct abbrevs *abbrevs;
	u16 tag, lang;
	bool is_split;   /* the rest is in a .dwo file */
	bool has_ranges; /* says which addresses it has */
	u64 str_offsets_base, addr_base, rnglists_base, loclists_base, low_pc, stmt_list;
	bool has_lines;
	const char *name, *comp_dir;
};

/* From 64-bit numbers to pointers. */
struct dbg_entry {
	u64 key;
	void *val;
};
struct dbg_map {
	struct htab table; /* 1 + index into entries */
	vec(struct dbg_entry) entries;
};
void dbg_map_release(struct dbg_map *m);
void *dbg_map_get(const struct dbg_map *m, u64 key); /* NULL: none */
void dbg_map_put(struct dbg_map *m, u64 key, void *val);

/* Sections of one file: the debug file, or the one that it shares parts with (dwz). */
struct dbg_set {
	struct dbg *dbg;
	struct bytes info, abbrev, str, line, line_str, str_offsets, addr, rnglists, ranges, loclists, loc;
	vec(struct dwarf_unit) units; /* fixed once made: pointers stay valid */
	bool has_units;
	struct dbg_map sigs;        /* of type units → struct dwarf_unit */
	struct dbg_map abbrevs;     /* offset + 1 → struct abbrevs */
	struct dbg_map lines;       /* offset + 1 → struct line_table */
	u64 abbrev_left, line_left; /* how much may still be read: honest tables do not overlap */
	struct dbg_set *alt;
};

struct addr_range {
	u64 lo, hi;
};
typedef vec(struct addr_range) range_list;

struct unit_range {
	u64 lo, hi;
	struct dwarf_unit *u;
};

struct dbg {
	struct type_source src; /* must be first */
	const char *path;
	struct arena arena;
	struct objfile file, debug, alt_file; /* debug: separate; data NULL: none */
	struct dbg_set main, alt;
	struct dbg_map funcs;           /* entry → struct dbg_func */
	struct dbg_conv *conv;          /* types that were asked for; NULL: none yet */
	struct smap names;              /* "preferred-unit keyword name" → struct type */
	struct dwarf_unit *prefer;      /* where names are looked for first */
	u64 list_left;                  /* entries of range and location lists that may still be read */
	vec(struct unit_range) by_addr; /* sorted; made when first asked for */
	bool has_by_addr;
};

/* All units of the set; made when first asked for. */
void set_units(struct dbg_set *s);
/* Reads the first entry. False: the unit cannot be used. */
bool dwarf_unit_load(struct dwarf_unit *u);
/* The unit that has the offset, or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dbg_set *s, u64 off);
/* The unit with code at the address (as the file has it), or NULL. */
struct dwarf_unit *dwarf_unit_of_addr(struct dbg *d, u64 addr);

/* ---- entries ---- */

struct form_val {
	u16 form;
	u64 u;       /* number, offset, index; length of a block */
	const u8 *p; /* start of a block or string */
};

struct die {
	struct dwarf_unit *u;
	u64 off, next; /* next: of the entry behind it in the file: its first child, or what follows */
	u16 tag;       /* 0: the end of a list of children */
	bool has_children;
	u64 has; /* bits of enum at */
	struct form_val at[AT_CNT];
};

/* A value of a form outside of an entry. False: unknown form, or it does not end. */
bool form_read(struct cur *c, const struct dwarf_unit *u, u16 form, struct form_val *v);
/* Entry i of a table of numbers that starts at base. False: it is not in the table. */
bool table_entry(struct bytes table, u64 base, u64 i, u32 size, u64 *v);
const char *form_str(const struct dwarf_unit *u, const struct form_val *v);

/* Decodes the entry at off. False at the end of the unit, or if it is broken. */
bool die_read(struct dwarf_unit *u, u64 off, struct die *out);
/* Steps over the entry and its children. False at the end of the list that it is in. */
bool die_next(struct die *d);
/* Steps to the first child. False: there is none. */
bool die_child(const struct die *d, struct die *out);

static inline bool die_has(const struct die *d, enum at a)
{
	return d->has >> a & 1;
}

/* Of an attribute; absent or of another kind: NULL, false, dflt. */
const char *die_str(const struct die *d, enum at a);
bool die_addr(const struct die *d, enum at a, u64 *addr);
u64 die_uint(const struct die *d, enum at a, u64 dflt);
bool die_sdata(const struct die *d, enum at a, s64 *v); /* only where the sign is told */
bool die_flag(const struct die *d, enum at a);
bool die_ref(const struct die *d, enum at a, struct die *out);
bool die_ref_place(const struct die *d, enum at a, struct dwarf_unit **u, u64 *off);
bool die_block(const struct die *d, enum at a, struct bytes *out);

/* The name, also by way of abstract_origin and specification; NULL: none. */
const char *die_name(const struct die *d);
/* The entry that has attribute a: d itself, or what it refers to by abstract_origin or specification. False: none. */
bool die_with(const struct die *d, enum at a, struct die *out);
/* The addresses of a function, block or unit. False: it has none. Ranges are added. */
bool die_ranges(const struct die *d, range_list *out);
bool die_covers(const struct die *d, u64 addr);

/* The bytes of the entry of a location list that holds at addr. */
bool loclist_find(const struct die *d, enum at a, u64 addr, struct bytes *out);

static inline bool form_is_loclist(u16 form)
{
	return form == FORM_sec_offset || form == FORM_loclistx || form == FORM_data4 || form == FORM_data8;
}

static inline u64 die_key(const struct dwarf_unit *u, u64 off)
{
	return off << 1 | (u->set == &u->set->dbg->alt);
}

/* ---- lines ---- */

struct line_row {
	u64 addr;
	u32 file, line;
	u16 col;
	bool is_stmt, is_end;
};

struct line_table {
	vec(struct line_row) rows; /* sequences one after the other, each by rising addresses and closed by an is_end row */
	vec(const char *) files;   /* as rows number them; in the arena */
};

/* NULL: the unit has none. */
const struct line_table *dwarf_unit_lines(struct dwarf_unit *u);

/* ---- functions ---- */

struct scope_path {
	u64 offs[16]; /* of functions and inlined copies, outermost first */
	u32 cnt;
};

/* The innermost function (or inlined copy of one) that has the address, and in path (may be NULL) those around it. False: none.
 */
bool scope_at(struct dwarf_unit *u, u64 addr, struct die *out, struct scope_path *path);

/* Whether code can be there: what the linker threw away is left in the tables, at address 0 or so. */
bool dbg_is_code(const struct dbg *d, u64 addr);

/* ---- types ---- */

/* Namespaces and classes around an entry. */
struct scope {
	const struct scope *up;
	const char *name;
};

/* "a::b::" of a scope and those around it. */
void put_scope(const struct scope *s, struct sbuf *out);
/* Walks all entries that can be found by name: the preferred unit's first, then all, then what they share with other files. fn
 * returns true to end the walk. */
typedef bool (*walk_fn)(void *arg, const struct die *d, const struct scope *in);
bool walk_all(struct dbg *d, walk_fn fn, void *arg);

void dbg_types_init(struct dbg *d);
/* Whether types have namespaces and need no keyword in this language. */
bool dbg_lang_has_scopes(u16 lang);
/* An entry of a type as a type of the language, which is made when it is asked for first. */
const struct type *dbg_type_at(const struct die *d);
/* The type that an entry's DW_AT_type says; void if there is none. */
const struct type *dbg_type_of(const struct die *d);
void dbg_conv_free(struct dbg_conv *c);
/* The same as C spells it: "const char*"; NULL for other languages, and for types that a name alone does not tell. */
const char *dbg_spelling_of(const struct die *d);
/* The entry of a type behind const, typedef and their like. */
bool die_strip(const struct die *d, struct die *out);
/* The name of a type with the namespaces and classes around it ("ns::conn"); "" if it has none. */
const char *die_full_name(const struct die *d);
/* Where a struct that is only declared is defined, by its full name. False: nowhere. */
bool die_definition(struct dbg *d, const struct die *declared, const char *name, struct die *out);
