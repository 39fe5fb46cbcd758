/* SPDX-License-Identifier: GPL-2.0-only */
/* The unwind tables of dw_ustack: their layout. The code of ir/lower_unwind.c reads them, run/unwind.c writes them.
 *
 *   processes   hash: process and part → struct unwind_part, its executable mappings by address
 *   files       hash: device and inode → struct unwind_file, the tables of the file
 *   chunks      hash: number → UNWIND_CHUNK_SZ bytes, each part of an index or of rows
 *
 * The code of a file is cut into blocks of 256 bytes. The index has an entry for each: the position and the number of its rows. A
 * row describes how to find the caller, from its address in the block up to the next row; the first row of a block applies from
 * the block's start. All rows of a block are in one chunk.
 *
 * User space learns of a new mapping with a delay. A program that meets an unknown address therefore asks the kernel which file
 * is mapped there. That is not always possible: in an interrupt only once, and not while another thread changes the mappings.
 *
 * Chunks are elements of a hash map because the files that a process will map are not known in advance: an array would need room
 * for all of them. An element and the kernel's header for it fit in a page.
 */
#pragma once

#include "base/base.h"

enum {
	UNWIND_CHUNK_SZ = 4032,
	UNWIND_CHUNKS_MAX = 1 << 15,
	UNWIND_ROWS = UNWIND_CHUNK_SZ / 8, /* in a chunk */
	UNWIND_ENTRY_BITS = 9,
	UNWIND_ENTRIES = 1 << UNWIND_ENTRY_BITS, /* of an index in a chunk */
	UNWIND_BLOCK_BITS = 8,
	UNWIND_BLOCK = 1 << UNWIND_BLOCK_BITS,
	UNWIND_MAPPINGS = 124,
	UNWIND_PARTS = 8,
	UNWIND_PROCS_MAX = 1 << 12,
	UNWIND_FILES_MAX = 1 << 12,
	UNWIND_TABLES = 4, /* of a file: one for each executable segment */
};

/* The table of one executable segment of a file. */
struct unwind_table {
	u64 off, size; /* in the file */
	u64 base;      /* offset in the file - base: offset in the table */
	u32 index;     /* its first chunk */
	u32 blocks;
};

struct unwind_file_key {
	u64 dev, ino; /* as the kernel has them internally */
};

struct unwind_file {
	struct unwind_table tables[UNWIND_TABLES]; /* unused ones have size 0 */
};

struct unwind_mapping {
	u64 start, len;
	u64 bias;   /* address - bias: offset in the table */
	u32 index;  /* first chunk of the table's index */
	u32 blocks; /* 0: there is no table, and index is one of: */
};
enum { UNWIND_NO_TABLE, UNWIND_FOR_UPROBES /* the kernel's out-of-line copies of probed instructions */ };

struct unwind_part_key {
	u32 pid, part;
};

struct unwind_part {
	u64 cnt;                     /* mappings in this part; at least 1 in the first part */
	u64 later[UNWIND_PARTS - 1]; /* in the first part: start addresses of the others; UINT64_MAX: there is no such part */
	struct unwind_mapping maps[UNWIND_MAPPINGS];
};

/* An entry of an index: chunk << 9 | row in it, and above UNWIND_POS_BITS the number of rows after the first. */
enum { UNWIND_ROW_BITS = 9, UNWIND_POS_BITS = 24 };

/* A row is one word; these are its bits. Kinds are those of sym/cfi.h. */
enum {
	UNWIND_PC = 0 /* 8 */,
	UNWIND_CFA = 8 /* 4 */,
	UNWIND_BP = 12 /* 4 */,
	UNWIND_BP_OFF = 16 /* 16, signed */,
	UNWIND_CFA_OFF = 32 /* 32, signed */
};
