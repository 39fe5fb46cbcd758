/* SPDX-License-Identifier: GPL-2.0-only */
/* printf formats: parsed once, at compile time, for the checker and for the run time. Grammar (reference 5.6):
 *   % [-] [+] [space] [#] [0] [width|*] [.[precision|*]] [h hh l ll L j z t …] conversion
 * Conversions: d i u o x X c s p, and r (buffer as text), rx, rh; gr (flags of an allocation); %% is text. */
#pragma once

#include "types/type.h"

enum fmt_conv { FMT_D, FMT_U, FMT_O, FMT_X, FMT_XX /* %X */, FMT_C, FMT_S, FMT_P, FMT_R, FMT_RX, FMT_RH, FMT_GR };

struct fmt_piece {
	bool is_text;
	const char *text; /* is_text: the text to copy; else the specifier as written */
	u32 len;
	enum fmt_conv conv;
	bool minus, plus, hash, zero;
	u32 width;
	bool has_prec; /* .N given: honoured for strings, as 0.17 did */
	u32 prec;
	u8 size; /* integer conversions: 1 2 4 8 bytes of the value are shown; 4 unless a length modifier says otherwise */
};

struct fmt {
	const char *text; /* what it was made of */
	u32 text_len;
	struct fmt_piece *pieces;
	u32 cnt;
	u32 arg_cnt;
};

/* NULL on a bad format; *why is then a message (in the arena), *at the offset in the text. */
const struct fmt *fmt_parse(struct arena *a, const char *text, u32 len, const char **why, u32 *at);
/* May this conversion show a value of type t? */
bool fmt_accepts(enum fmt_conv conv, const struct type *t);
