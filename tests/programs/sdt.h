/* SPDX-License-Identifier: GPL-2.0-only */
/* Static probes (USDT) for test programs: a nop, and the note about it. Arguments are given as text, so that every form of operand can be
 * written, or by the compiler, as programs do it. */
#pragma once

#define SDT_STR(x) SDT_STR_(x)
#define SDT_STR_(x) #x

/* sem: a symbol, or 0. args: "8@%rax …" */
#define SDT_NOTE(provider, name, sem, args)                                                                            \
	"990:\tnop\n"                                                                                                  \
	"\t.pushsection .note.stapsdt,\"\",\"note\"\n"                                                                 \
	"\t.balign 4\n"                                                                                                \
	"\t.4byte 992f-991f, 994f-993f, 3\n"                                                                           \
	"991:\t.asciz \"stapsdt\"\n"                                                                                   \
	"992:\t.balign 4\n"                                                                                            \
	"993:\t.8byte 990b\n"                                                                                          \
	"\t.8byte _.stapsdt.base\n"                                                                                    \
	"\t.8byte " sem "\n"                                                                                           \
	"\t.asciz \"" provider "\"\n"                                                                                  \
	"\t.asciz \"" name "\"\n"                                                                                      \
	"\t.asciz \"" args "\"\n"                                                                                      \
	"994:\t.balign 4\n"                                                                                            \
	"\t.popsection\n"                                                                                              \
	"\t.ifndef _.stapsdt.base\n"                                                                                   \
	"\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                      \
	"\t.weak _.stapsdt.base\n"                                                                                     \
	"\t.hidden _.stapsdt.base\n"                                                                                   \
	"_.stapsdt.base:\t.space 1\n"                                                                                  \
	"\t.size _.stapsdt.base, 1\n"                                                                                  \
	"\t.popsection\n"                                                                                              \
	"\t.endif\n"

/* The compiler puts the arguments where it likes. size: "-4" for an int */
#define SDT1(provider, name, sem, s0, a0) __asm__ volatile(SDT_NOTE(provider, name, sem, s0 "@%0")::"nor"(a0))
#define SDT3(provider, name, sem, s0, a0, s1, a1, s2, a2)                                                              \
	__asm__ volatile(SDT_NOTE(provider, name, sem, s0 "@%0 " s1 "@%1 " s2 "@%2")::"nor"(a0), "nor"(a1), "nor"(a2))
