/* SPDX-License-Identifier: GPL-2.0-only */
/* printf formats. Unlike C's: the flags come in one order, `*` takes no argument, and there are conversions for buffers. */
#include "image/fmt.h"

#include "base/vec.h"

/* Wider columns are not useful, and a width costs memory at run time. */
#define WIDTH_MAX 65535

struct scan {
	struct arena *arena;
	const char *begin, *s, *end;
	const char *why; /* set: the format is bad */
};

static int at(const struct scan *sc)
{
	return sc->s < sc->end ? (u8)*sc->s : -1;
}

static bool take(struct scan *sc, char c)
{
	if (at(sc) != (u8)c)
		return false;
	sc->s++;
	return true;
}

/* [ N | "*" ] ; a star takes no argument and means nothing. True if there was a number. */
static bool take_number(struct scan *sc, u32 *value)
{
	bool found = false;

	if (take(sc, '*'))
		return false;
	for (*value = 0; at(sc) >= '0' && at(sc) <= '9'; sc->s++) {
		found = true;
		*value = MIN(*value * 10 + (at(sc) - '0'), WIDTH_MAX + 1);
	}
	if (*value > WIDTH_MAX)
		sc->why = arena_printf(sc->arena, "the width or precision is more than %d", WIDTH_MAX);
	return found;
}

/* Any run of h, l, L, j, z, t. Returns the size in bytes that it stands for. */
static u8 take_length(struct scan *sc)
{
	u8 size = 4;

	for (;; sc->s++) {
		switch (at(sc)) {
		case 'h':
			size = size == 2 ? 1 : 2;
			break;
		case 'l':
		case 'L':
		case 'j':
		case 'z':
		case 't':
			size = 8;
			break;
		default: /* a byte, not one of our enums */
			return size;
		}
	}
}

static void unsupported(struct scan *sc, const char *conv)
{
	sc->why = arena_printf(sc->arena, "unsupported format specifier: %s", conv);
}

/* conversion = d i u o x X c s p r rx rh gr ; */
static void take_conversion(struct scan *sc, struct fmt_piece *piece)
{
	int c = at(sc);

	if (c < 0) {
		sc->why = "the format ends inside a specifier: write %% for a percent sign";
		return;
	}
	sc->s++;
	switch (c) {
	case 'd':
	case 'i':
		piece->conv = FMT_D;
		return;
	case 'u':
		piece->conv = FMT_U;
		return;
	case 'o':
		piece->conv = FMT_O;
		return;
	case 'x':
		piece->conv = FMT_X;
		return;
	case 'X':
		piece->conv = FMT_XX;
		return;
	case 'c':
		piece->conv = FMT_C;
		return;
	case 's':
		piece->conv = FMT_S;
		return;
	case 'p':
		piece->conv = FMT_P;
		piece->size = 8;
		return;
	case 'r':
		piece->conv = take(sc, 'x') ? FMT_RX : take(sc, 'h') ? FMT_RH : FMT_R;
		return;
	case 'g':
		piece->conv = FMT_GR;
		if (!take(sc, 'r'))
			unsupported(sc, "g");
		return;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'G':
	case 'a':
	case 'A':
	case 'n':
		unsupported(sc, arena_printf(sc->arena, "%c", c));
		return;
	case '-':
	case '+':
	case ' ':
	case '#':
	case '0':
		sc->why = arena_printf(sc->arena,
				       "the flag '%c' is in the wrong place: the order is - + space # 0, then the width", c);
		return;
	}
	sc->why = c >= 0x20 && c < 0x7f ? arena_printf(sc->arena, "unknown format specifier: %c", c) :
					  arena_printf(sc->arena, "unknown format specifier: byte 0x%02x", c);
}

/* specifier = "%" [ "-" ] [ "+" ] [ " " ] [ "#" ] [ "0" ] [ N | "*" ] [ "." [ N | "*" ] ] { length } conversion ;
 * sc->s is behind the "%". */
static struct fmt_piece specifier(struct scan *sc)
{
	struct fmt_piece piece = { .text = sc->s - 1 };

	piece.minus = take(sc, '-');
	piece.plus = take(sc, '+');
	take(sc, ' ');
	piece.hash = take(sc, '#');
	piece.zero = take(sc, '0');
	take_number(sc, &piece.width);
	if (take(sc, '.')) {
		/* "%.s" is a precision of 0, as in C; "%.*s" none. */
		bool is_star = at(sc) == '*';

		take_number(sc, &piece.prec);
		piece.has_prec = !is_star;
	}
	piece.size = take_length(sc);
	if (!sc->why)
		take_conversion(sc, &piece);
	piece.len = sc->s - piece.text;
	return piece;
}

static struct fmt_piece plain_text(struct scan *sc)
{
	struct fmt_piece piece = { .is_text = true, .text = sc->s };

	while (at(sc) >= 0 && at(sc) != '%')
		sc->s++;
	piece.len = sc->s - piece.text;
	return piece;
}

const struct fmt *fmt_parse(struct arena *a, const char *text, u32 len, const char **why, u32 *at_off)
{
	struct fmt *f = arena_new(a, struct fmt);
	vec(struct fmt_piece) pieces = {};
	struct scan sc = { .arena = a };

	f->text = sc.begin = sc.s = arena_strndup(a, text, len);
	f->text_len = len;
	sc.end = sc.s + len;
	while (at(&sc) >= 0) {
		const char *start = sc.s;
		struct fmt_piece piece;

		if (!take(&sc, '%')) {
			piece = plain_text(&sc);
		} else if (take(&sc, '%')) {
			piece = (struct fmt_piece){ .is_text = true, .text = start, .len = 1 };
		} else {
			piece = specifier(&sc);
			f->arg_cnt++;
		}
		if (sc.why) {
			*why = sc.why;
			*at_off = start - sc.begin;
			return NULL;
		}
		avec_push(a, &pieces, piece);
	}
	f->pieces = pieces.at;
	f->cnt = pieces.cnt;
	return f;
}

bool fmt_accepts(enum fmt_conv conv, const struct type *t)
{
	if (t->kind == T_ERROR)
		return true; /* reported already */
	switch (conv) {
	case FMT_D:
	case FMT_U:
	case FMT_O:
	case FMT_X:
	case FMT_XX:
	case FMT_GR:
		return type_is_integral(t) || t->kind == T_POINTER;
	case FMT_C:
		return type_is_integral(t);
	case FMT_S:
		return t->kind != T_NONE && t->kind != T_VOID;
	case FMT_P:
		return t->kind == T_INT || t->kind == T_POINTER || t->kind == T_BOOL;
	case FMT_R:
	case FMT_RX:
	case FMT_RH:
		return t->kind == T_BUFFER;
	}
	return false;
}
