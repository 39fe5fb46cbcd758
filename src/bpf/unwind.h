/* Tables by which programs walk up user stacks (dw_ustack): their layout, which the code in ir/lower_unwind.c reads and run/unwind.c writes.
 *
 *   processes   hash: process and part → struct unwind_part, what it has mapped to execute, in order of addresses
 *   files       hash: device and inode → struct unwind_file, the tables that it has
 *   chunks      hash: number → UNWIND_CHUNK_SZ bytes, each part of an index or of rows
 *
 * The code of a file is cut into blocks of 256 bytes. The index has an entry for each: where its rows are, and how many. A row says how to get to
 * the caller, from its address in the block up to the next row; the first one of a block is in force at its start. All rows of a block are in one chunk.
 *
 * What a process maps is told to us a moment later. A program that meets an address of which it knows nothing therefore asks the kernel which file is
 * mapped there; but it cannot always: in interrupts only once, and not while another thread changes the mappings.
 *
 * Chunks are elements of a hash map because nobody knows at the start which files a process will map: an array would have to be as large as
 * all of them. An element fits a page together with what the kernel adds to it.
 */
#pragma once

#include "base/base.h"

enum {
	UNWIND_CHUNK_SZ = 4032,
	UNWIND_CHUNKS_MAX = 1 << 15,
	UNWIND_ROWS = UNWIND_CHUNK_SZ / 8,  /* in a chunk */
	UNWIND_ENTRY_BITS = 9,
	UNWIND_ENTRIES = 1 << UNWIND_ENTRY_BITS, /* of an index in a chunk */
	UNWIND_BLOCK_BITS = 8,
	UNWIND_BLOCK = 1 << UNWIND_BLOCK_BITS,
	UNWIND_MAPPINGS = 124,
	UNWIND_PARTS = 8,
	UNWIND_PROCS_MAX = 1 << 12,
	UNWIND_FILES_MAX = 1 << 12,
	UNWIND_TABLES = 4, /* of a file: it has one for each of its executable parts */
};

/* The table of one executable part of a file. */
struct unwind_table {
	u64 off, size; /* in the file */
	u64 base;      /* offset in the file - base: offset in the table */
	u32 index;     /* its first chunk */
	u32 blocks;
};

struct unwind_file_key {
	u64 dev, ino; /* as the kernel has them inside */
};

struct unwind_file {
	struct unwind_table tables[UNWIND_TABLES]; /* those that are not there have size 0 */
};

struct unwind_mapping {
	u64 start, len;
	u64 bias;  /* address - bias: offset in the table */
	u32 index; /* first chunk of the table's index */
	u32 blocks; /* 0: there is no table, and index is one of: */
};
enum { UNWIND_NO_TABLE, UNWIND_FOR_UPROBES /* code that the kernel made to step over probes */ };

struct unwind_part_key {
	u32 pid, part;
};

struct unwind_part {
	u64 cnt;                     /* mappings in this part; of the first 1 at least */
	u64 later[UNWIND_PARTS - 1]; /* in the first: where the others begin; UINT64_MAX: there is no such part */
	struct unwind_mapping maps[UNWIND_MAPPINGS];
};

/* An entry of an index: chunk << 9 | row in it, and above UNWIND_POS_BITS how many rows there are besides the first. */
enum { UNWIND_ROW_BITS = 9, UNWIND_POS_BITS = 24 };

/* A row is one word; these are its bits. Kinds are those of sym/cfi.h. */
enum { UNWIND_PC = 0 /* 8 */, UNWIND_CFA = 8 /* 4 */, UNWIND_BP = 12 /* 4 */, UNWIND_BP_OFF = 16 /* 16, signed */, UNWIND_CFA_OFF = 32 /* 32, signed */ };
