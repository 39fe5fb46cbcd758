/* SPDX-License-Identifier: GPL-2.0-only */
/* x86-64: an instruction consists of prefixes, an opcode of one to three bytes or a VEX, EVEX or XOP prefix with one, and
 * operands that depend on the opcode: a ModRM byte, which may be followed by a SIB byte and a displacement, and an immediate
 * operand. The maps below have a letter for each opcode:
 *
 *   .  nothing            m  ModRM               x  not in 64-bit mode, or undefined
 *   b  8 bits             B  ModRM and 8 bits    p  prefix
 *   z  32 bits, 16 bits with prefix 66           Z  ModRM and that
 *   d  32 bits            w  16 bits             W  16 and 8 bits (enter)
 *   v  as z, 64 bits with REX.W                  o  64 bits, 32 bits with prefix 67
 *   3  group 3: ModRM, and 8 bits if it is a test (its reg field 0 or 1)     4  the same with z
 *   (control registers, 0F 20 to 0F 23, ignore the part of ModRM that would add operands)
 *   r  REX   e  escape to the second map   V  VEX   E  EVEX   X  XOP, or ModRM (pop)   F  escape to map 0F 38   A  to 0F 3A
 */
#include "sym/insn.h"

#if defined(__x86_64__)

static const char map1[] =
	/*       0123456789abcdef */
	/* 0x */ "mmmmbzxxmmmmbzxe"
		 /* 1x */ "mmmmbzxxmmmmbzxx"
		 /* 2x */ "mmmmbzpxmmmmbzpx"
		 /* 3x */ "mmmmbzpxmmmmbzpx"
		 /* 4x */ "rrrrrrrrrrrrrrrr"
		 /* 5x */ "................"
		 /* 6x */ "xxEmppppzZbB...."
		 /* 7x */ "bbbbbbbbbbbbbbbb"
		 /* 8x */ "BZxBmmmmmmmmmmmX"
		 /* 9x */ "..........x....."
		 /* ax */ "oooo....bz......"
		 /* bx */ "bbbbbbbbvvvvvvvv"
		 /* cx */ "BBw.VVBZW.w..bx."
		 /* dx */ "mmmmxxx.mmmmmmmm"
		 /* ex */ "bbbbbbbbddxb...."
		 /* fx */ "p.pp..34......mm";

static const char map2[] =
	/* 0x */ "mmmmx.....x.xm.B"
		 /* 1x */ "mmmmmmmmmmmmmmmm"
		 /* 2x */ "bbbbxxxxmmmmmmmm"
		 /* 3x */ "......x.FxAxxxxx"
		 /* 4x */ "mmmmmmmmmmmmmmmm"
		 /* 5x */ "mmmmmmmmmmmmmmmm"
		 /* 6x */ "mmmmmmmmmmmmmmmm"
		 /* 7x */ "BBBBmmm.mmxxmmmm"
		 /* 8x */ "dddddddddddddddd"
		 /* 9x */ "mmmmmmmmmmmmmmmm"
		 /* ax */ "...mBmxx...mBmmm"
		 /* bx */ "mmmmmmmmmmBmmmmm"
		 /* cx */ "mmBmBBBm........"
		 /* dx */ "mmmmmmmmmmmmmmmm"
		 /* ex */ "mmmmmmmmmmmmmmmm"
		 /* fx */ "mmmmmmmmmmmmmmmm";

#define INSN_MAX 15

struct cursor {
	const u8 *at, *end;
	bool is_cut;
};

static u8 next(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->is_cut = true;
	return 0;
}

static void skip(struct cursor *c, u32 n)
{
	if ((size_t)(c->end - c->at) < n)
		c->is_cut = true;
	else
		c->at += n;
}

/* ModRM, SIB and displacement. Returns the reg field. */
static u32 modrm(struct cursor *c)
{
	u8 m = next(c), mod = m >> 6, rm = m & 7;
	u32 disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	if (mod != 3 && rm == 4) {
		u8 sib = next(c);

		if (!mod && (sib & 7) == 5)
			disp = 4;
	} else if (!mod && rm == 5) { /* relative to the instruction pointer */
		disp = 4;
	}
	skip(c, disp);
	return m >> 3 & 7;
}

/* What follows the opcode of a VEX or EVEX instruction. Its maps are those of 0F, 0F 38 and 0F 3A, then two without immediates.
 */
static bool vector(struct cursor *c, u32 map, bool is_evex, u8 *out)
{
	u8 op = next(c);

	*out = op;
	if (!map || (map > 3 && !(is_evex && (map == 5 || map == 6))))
		return false;
	if (map == 1 && op == 0x77 && !is_evex) /* vzeroupper */
		return true;
	modrm(c);
	if (map == 3 || (map == 1 && map2[op] == 'B'))
		skip(c, 1);
	return true;
}

/* What follows the opcode. False: there is no such instruction. */
static bool operands(struct cursor *c, char shape, bool has_66, bool has_67, bool has_w)
{
	u32 z = has_66 && !has_w ? 2 : 4;

	switch (shape) {
	case '.':
		return true;
	case 'm':
		modrm(c);
		return true;
	case 'b':
		skip(c, 1);
		return true;
	case 'B':
		modrm(c);
		skip(c, 1);
		return true;
	case 'z':
		skip(c, z);
		return true;
	case 'Z':
		modrm(c);
		skip(c, z);
		return true;
	case 'd':
		skip(c, 4);
		return true;
	case 'w':
		skip(c, 2);
		return true;
	case 'W':
		skip(c, 3);
		return true;
	case 'v':
		skip(c, has_w ? 8 : z);
		return true;
	case 'o':
		skip(c, has_67 ? 4 : 8);
		return true;
	case '3':
		skip(c, modrm(c) < 2 ? 1 : 0);
		return true;
	case '4':
		skip(c, modrm(c) < 2 ? z : 0);
		return true;
	}
	return false;
}

struct machine_insn insn_decode(const u8 *p, size_t len)
{
	struct cursor c = { p, p + MIN(len, INSN_MAX) };
	bool has_66 = false, has_67 = false, has_w = false, ok;
	struct machine_insn insn = {};
	char shape;
	u8 op, b;

	for (op = next(&c); map1[op] == 'p' && !c.is_cut; op = next(&c)) {
		has_66 |= op == 0x66;
		has_67 |= op == 0x67;
		insn.has_lock |= op == 0xf0 || op == 0x26 || op == 0x2e || op == 0x36 || op == 0x3e;
	}
	if (map1[op] == 'r') {
		has_w = op & 8;
		op = next(&c);
		if (strchr("prVE", map1[op])) /* a REX that is not the last prefix does not count; compilers do not write that */
			return insn;
	}
	insn.op = op;
	shape = map1[op];
	switch (shape) {
	case 'e':
		op = next(&c);
		shape = map2[op];
		if (shape == 'F' || shape == 'A') {
			next(&c);
			shape = shape == 'F' ? 'm' : 'B';
		}
		ok = operands(&c, shape, has_66, has_67, has_w);
		break;
	case 'V':
		b = op == 0xc5 ? 1 : next(&c) & 0x1f;
		next(&c);
		insn.is_vector = true;
		ok = vector(&c, b, false, &insn.op);
		break;
	case 'E':
		b = next(&c) & 7;
		skip(&c, 2);
		insn.is_vector = true;
		ok = vector(&c, b, true, &insn.op);
		break;
	case 'X':
		/* In ModRM, where XOP has the number of a map, pop has zeroes. */
		b = c.at < c.end ? *c.at & 0x1f : 0;
		if (b < 8) {
			ok = operands(&c, 'm', has_66, has_67, has_w);
			break;
		}
		skip(&c, 2);
		insn.is_vector = true;
		insn.op = next(&c);
		modrm(&c);
		skip(&c, b == 8 ? 1 : b == 10 ? 4 : 0);
		ok = b <= 10;
		break;
	default: /* a letter of operands() */
		ok = operands(&c, shape, has_66, has_67, has_w);
		insn.is_return = op == 0xc3 || op == 0xc2;
		break;
	}
	insn.len = ok && !c.is_cut ? (u32)(c.at - p) : 0;
	return insn;
}

#elif defined(__aarch64__)

struct machine_insn insn_decode(const u8 *p, size_t len)
{
	u32 word;

	if (len < sizeof(word))
		return (struct machine_insn){};
	memcpy(&word, p, sizeof(word));
	return (struct machine_insn){ .len = sizeof(word), .is_return = (word & 0xfffffc1f) == 0xd65f0000 }; /* ret xN */
}

#endif

enum insn_start insn_starts_at(const u8 *code, size_t len, u64 off)
{
	for (u64 at = 0; at < off;) {
		u32 n = at < len ? insn_decode(code + at, len - at).len : 0;

		if (!n)
			return INSN_UNKNOWN;
		at += n;
		if (at > off)
			return INSN_INSIDE;
	}
	return INSN_START;
}
