/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF of our own programs: a type for each function, and which script line each instruction came from. The kernel needs the
 * former for callbacks (bpf_loop, for_each_map_elem) and shows both in its tools (bpftool prog dump xlated linum), in stack
 * traces and in the verifier's log.
 *
 * All programs of an image share one BTF. Lines that the kernel would refuse (out of order, in the middle of an instruction) are
 * left out, and the line that it requires at the start of each function is added.
 */
#pragma once

#include "image/image.h"

/* As BPF_PROG_LOAD takes them. */
struct btfgen_func {
	u32 insn; /* first instruction */
	u32 type_id;
};

struct btfgen_line {
	u32 insn;
	u32 file_off, text_off; /* in the BTF's strings */
	u32 line_col;           /* line << 10 | column */
};

struct btfgen_prog {
	struct btfgen_func *funcs;
	struct btfgen_line *lines;
	u32 func_cnt, line_cnt;
};

struct btf_blob {
	u8 *data;
	u32 len;
	struct btfgen_prog *progs; /* one for each of image.progs */
};

/* Everything is allocated in the arena. d: where the script's lines are. */
void btfgen_build(const struct image *img, const struct diag *d, struct arena *a, struct btf_blob *out);
/* Makes a name that the kernel accepts for programs, maps and functions: at most sz - 1 of [A-Za-z0-9_], not starting with a
 * digit. */
void btfgen_name(char *out, u32 sz, const char *name);
