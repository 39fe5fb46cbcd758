/* SPDX-License-Identifier: GPL-2.0-only */
/* The static probes (USDT) that a program or library declares, read from its notes.
 *
 * The description of an argument is valid for one place in the code: the same probe at two places (a function that was inlined
 * twice) may have its argument in a register at one and on the stack at the other. Each place is a separate struct usdt_note. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

enum usdt_kind {
	USDT_CONST, /* disp */
	USDT_REG,   /* part of a register */
	USDT_ADDR,  /* an address: that of the memory operand */
	USDT_MEM,   /* the memory operand itself */
	USDT_NONE,  /* not available: `why` */
};

#define USDT_NO_REG 0xffff

struct usdt_arg {
	enum usdt_kind kind;
	u8 size; /* 1, 2, 4, 8; of USDT_NONE: what the note says */
	bool is_signed;
	bool is_float;
	bool from_ip;    /* disp counts from the probe's own address */
	u8 shift;        /* USDT_REG: the part begins at this bit */
	u8 scale;        /* of index: 1, 2, 4, 8 */
	u16 base, index; /* USDT_REG: base; offsets in struct pt_regs, USDT_NO_REG: none */
	s64 disp;
	const char *text; /* as the note has it: "-4@%edi" */
	const char *why;
};

struct usdt_note {
	const char *provider, *name;
	u64 addr;     /* as the linker laid the file out */
	u64 file_off; /* the same in the file */
	u64 sem_off;  /* file offset of the semaphore, which counts the attached tracers; 0: none */
	struct usdt_arg *args;
	u32 arg_cnt;
};

typedef vec(struct usdt_note) usdt_notes;

/* Adds the probes of a file, in file order; everything lives in the arena. Returns 0 (also when there are none), -ENOENT and its
 * like when the file cannot be opened, -ENOEXEC when it is not a program or library of this machine. Notes that are broken are
 * left out. */
int usdt_read(struct arena *a, const char *path, usdt_notes *out);

/* One operand list ("-4@%edi 8@-8(%rbp)"). Symbols in it are left to symbol(), which gives the distance from the probe; false:
 * unknown. */
struct usdt_resolver {
	bool (*symbol)(struct usdt_resolver *r, const char *name, s64 *from_ip);
};
struct usdt_arg *usdt_parse_args(struct arena *a, const char *text, struct usdt_resolver *r, u32 *cnt);
