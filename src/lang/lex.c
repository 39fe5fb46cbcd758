/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/lex.h"

#include <ctype.h>

static const char *const kind_texts[] = {
#define TOKEN_ROW(kind, text) text,
#define KEYWORD_ROW(kind, text) text,
#define OPERATOR_ROW(kind, text) text,
#include "lang/token.def"
#undef TOKEN_ROW
#undef KEYWORD_ROW
#undef OPERATOR_ROW
};

const char *token_kind_text(enum token_kind kind)
{
	return kind_texts[kind];
}

/* The byte `ahead` of the next one, or -1 at the end. NUL is a byte like any other. */
static int peek(const struct lex *l, u32 ahead)
{
	return l->pos + (u64)ahead < l->len ? (u8)l->text[l->pos + ahead] : -1;
}

static bool is_name_start(int c)
{
	return c == '_' || (c < 0x80 && isalpha(c));
}

static bool is_name_char(int c)
{
	return c == '_' || (c >= 0 && c < 0x80 && isalnum(c));
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static struct span span_from(const struct lex *l, u32 begin)
{
	return (struct span){ l->src, begin, l->pos };
}

/* Whether the error at `begin` was not reported before. */
static bool may_report(struct lex *l, u32 begin)
{
	if (l->quiet || begin < l->reported)
		return false;
	l->reported = begin + 1;
	return true;
}

void lex_init(struct lex *l, struct arena *arena, struct diag *diag, u32 src)
{
	const struct source *s = &diag->sources.at[src];

	*l = (struct lex){ .arena = arena, .diag = diag, .src = src, .text = s->text, .len = s->len };
	if (peek(l, 0) == 0xef && peek(l, 1) == 0xbb && peek(l, 2) == 0xbf)
		l->pos += 3;
	if (peek(l, 0) == '#' && peek(l, 1) == '!')
		while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
			l->pos++;
}

static void skip_block_comment(struct lex *l)
{
	u32 begin = l->pos;

	for (l->pos += 2; l->pos < l->len; l->pos++) {
		if (peek(l, 0) == '*' && peek(l, 1) == '/') {
			l->pos += 2;
			return;
		}
	}
	if (may_report(l, begin)) {
		l->cut_short = true;
		diag_error(l->diag, (struct span){ l->src, begin, begin + 2 }, E_UNTERMINATED, "this comment is not closed");
		diag_hint(l->diag, "a comment that starts with /* ends with */; comments do not nest");
	}
}

void lex_skip_space(struct lex *l)
{
	for (;;) {
		int c = peek(l, 0);

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f') {
			l->pos++;
		} else if (c == '/' && peek(l, 1) == '/') {
			while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
				l->pos++;
		} else if (c == '/' && peek(l, 1) == '*') {
			skip_block_comment(l);
		} else {
			return;
		}
	}
}

/* ---- numbers ---- */

static struct number bad(const char *why, const char *hint)
{
	return (struct number){ 0, why, hint };
}

static struct number too_big(void)
{
	return bad("this number is too big", "the largest one is 18446744073709551615 (0xffffffffffffffff)");
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Reads digits from *s on. False on overflow; *s is then still moved past them. */
static bool read_digits(const char **s, int base, u64 *value)
{
	bool fits = true;

	for (*value = 0; digit_value(**s) < base; ++*s)
		fits &= !__builtin_mul_overflow(*value, base, value) && !__builtin_add_overflow(*value, digit_value(**s), value);
	return fits;
}

static const struct {
	const char *text;
	u64 ns; /* 0: an integer suffix */
	u64 max;
} suffixes[] = {
	{ "u", 0, UINT32_MAX }, { "ul", 0, UINT64_MAX }, { "ull", 0, UINT64_MAX },  { "l", 0, INT64_MAX },
	{ "ll", 0, INT64_MAX }, { "ns", 1, 0 },          { "us", 1000, 0 },         { "ms", 1000000, 0 },
	{ "s", 1000000000, 0 }, { "m", 60000000000, 0 }, { "h", 3600000000000, 0 }, { "d", 86400000000000, 0 },
};

static struct number apply_suffix(struct arena *a, u64 value, const char *suffix, bool duration_ok)
{
	if (!*suffix)
		return (struct number){ .value = value };
	for (u32 i = 0; i < ARRAY_CNT(suffixes); i++) {
		bool is_int = !suffixes[i].ns;

		/* C's suffixes come in both cases; of the durations M could be taken for mega. */
		if (is_int ? strcasecmp(suffix, suffixes[i].text) != 0 : !str_eq(suffix, suffixes[i].text))
			continue;
		if (!is_int && !duration_ok)
			break;
		if (is_int && value > suffixes[i].max)
			return bad(arena_printf(a, "this number does not fit the type of its suffix '%s'", suffix),
				   arena_printf(a, "%llu is the largest one with this suffix; without it any 64-bit number fits",
						(unsigned long long)suffixes[i].max));
		if (!is_int && __builtin_mul_overflow(value, suffixes[i].ns, &value))
			return bad("this duration is too long", "durations are nanoseconds in 64 bits: 213503 days at most");
		return (struct number){ .value = value };
	}
	return bad(arena_printf(a, "'%s' cannot follow a number", suffix),
		   duration_ok ? "suffixes are u ul ull l ll for integers and ns us ms s m h d for durations" :
				 "the only suffixes here are u ul ull l ll");
}

/* s is at the e of COEFFICIENTeEXPONENT, the coefficient of `coeff_len` digits has been read. */
static struct number read_exponent(struct arena *a, u64 coeff, u32 coeff_len, const char *s)
{
	u64 exponent;

	if (coeff_len != 1 || coeff == 0)
		return bad("a number in scientific notation has one digit, 1 to 9, before its e", "10e3 is written 1e4");
	s++;
	if (*s == '-')
		return bad("an exponent cannot be negative", "all numbers are integers");
	if (*s < '1' || *s > '9')
		return bad("an exponent is a number that begins with a digit from 1 to 9", "as in 5e6, which is 5000000");
	if (!read_digits(&s, 10, &exponent) || exponent > 19)
		return too_big();
	while (exponent--)
		if (__builtin_mul_overflow(coeff, 10, &coeff))
			return too_big();
	return apply_suffix(a, coeff, s, true);
}

static struct number read_binary(struct arena *a, const char *s, bool binary_ok)
{
	u64 value;

	s += 2;
	if (!*s || digit_value(*s) > 1)
		return bad("binary digits must follow 0b", NULL);
	if (!read_digits(&s, 2, &value))
		return too_big();
	if (!binary_ok)
		return bad("binary numbers cannot be used in a script",
			   arena_printf(a, "write it in hexadecimal: 0x%llx", (unsigned long long)value));
	return apply_suffix(a, value, s, false);
}

struct number number_parse(struct arena *a, const char *text, u32 len, bool binary_ok)
{
	char *buf = arena_alloc(a, len + 1), *to = buf;
	const char *s = buf, *first;
	u64 value;

	if (!len || !is_digit((u8)text[0]))
		return bad("this is not a number", NULL);
	if (text[len - 1] == '_')
		return bad("a number cannot end in '_'", "'_' separates digits, as in 1_000_000");
	for (u32 i = 0; i < len; i++) {
		if (!text[i])
			return bad("this is not a number", NULL);
		if (text[i] != '_')
			*to++ = text[i];
	}
	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		s += 2;
		if (digit_value(*s) > 15)
			return bad("hexadecimal digits must follow 0x", NULL);
		if (!read_digits(&s, 16, &value))
			return too_big();
		return apply_suffix(a, value, s, false);
	}
	if (s[0] == '0' && (s[1] == 'b' || s[1] == 'B'))
		return read_binary(a, s, binary_ok);
	if (s[0] == '0' && is_digit(s[1])) {
		bool fits = read_digits(&s, 8, &value);

		if (is_digit(*s))
			return bad(arena_printf(a, "'%c' is not an octal digit", *s),
				   "a number that begins with 0 is octal; leave the 0 out for a decimal one");
		return fits ? apply_suffix(a, value, s, true) : too_big();
	}
	first = s;
	if (!read_digits(&s, 10, &value))
		return too_big();
	if (*s == 'e' || *s == 'E')
		return read_exponent(a, value, s - first, s);
	return apply_suffix(a, value, s, true);
}

static void take_digits(struct lex *l)
{
	while (is_digit(peek(l, 0)))
		l->pos++;
}

static void take_name(struct lex *l)
{
	while (is_name_char(peek(l, 0)))
		l->pos++;
}

static struct token lex_number(struct lex *l)
{
	struct token t = { .kind = TOK_INT };
	u32 begin = l->pos;
	bool is_hex, is_float = false;
	struct number n;

	if (l->after_dot)
		take_digits(l);
	else
		take_name(l);
	is_hex = l->pos - begin > 1 && (l->text[begin + 1] | 0x20) == 'x';
	if (!l->after_dot && !is_hex && (l->text[l->pos - 1] | 0x20) == 'e' && (peek(l, 0) == '-' || peek(l, 0) == '+') &&
	    is_digit(peek(l, 1))) {
		l->pos++;
		take_name(l);
	}
	if (!l->after_dot && peek(l, 0) == '.' && is_digit(peek(l, 1))) {
		is_float = true;
		while (is_name_char(peek(l, 0)) || (peek(l, 0) == '.' && is_digit(peek(l, 1))))
			l->pos++;
	}
	t.span = span_from(l, begin);
	n = is_float ?
		bad("fractions are not supported: all numbers are integers", "use a smaller unit: 1500ms instead of 1.5s") :
		number_parse(l->arena, l->text + begin, l->pos - begin, false);
	t.num = n.value;
	if (n.why && may_report(l, begin)) {
		diag_error(l->diag, t.span, E_BAD_LITERAL, "%s", n.why);
		if (n.hint)
			diag_hint(l->diag, "%s", n.hint);
	}
	return t;
}

/* ---- strings ---- */

/* At most max digits of the base. Returns how many there were. */
static u32 take_escape_digits(struct lex *l, int base, u32 max, u32 *value)
{
	u32 n = 0;

	for (*value = 0; n < max && peek(l, 0) >= 0 && digit_value(peek(l, 0)) < base; n++, l->pos++)
		*value = *value * base + digit_value(peek(l, 0));
	return n;
}

static void report_escape(struct lex *l, u32 begin, const char *what, const char *hint)
{
	if (!may_report(l, begin))
		return;
	diag_error(l->diag, span_from(l, begin), E_BAD_LITERAL, "%s", what);
	diag_hint(l->diag, "%s", hint);
}

/* escape = "\" ( "n" | "t" | "r" | '"' | "\" | octal [ octal [ octal ] ] | "x" hex [ hex ] ) ; */
static char lex_escape(struct lex *l)
{
	static const char known[] = "the escapes are \\n \\t \\r \\\" \\\\ \\ooo (octal) and \\xHH (hexadecimal)";
	u32 begin = l->pos++, value;
	int c = peek(l, 0);

	switch (c) {
	case 'n':
		l->pos++;
		return '\n';
	case 't':
		l->pos++;
		return '\t';
	case 'r':
		l->pos++;
		return '\r';
	case '"':
	case '\\':
		l->pos++;
		return c;
	case 'x':
		l->pos++;
		if (!take_escape_digits(l, 16, 2, &value))
			report_escape(l, begin, "hexadecimal digits must follow \\x", "as in \\x0a");
		return value;
	}
	if (c >= '0' && c <= '7') {
		take_escape_digits(l, 8, 3, &value);
		if (value > 0377)
			report_escape(l, begin, "this octal escape does not fit a byte", "the largest one is \\377");
		return value;
	}
	if (c >= 0x20 && c < 0x7f) {
		l->pos++;
		report_escape(l, begin, arena_printf(l->arena, "there is no escape sequence '\\%c'", c),
			      c == '%' ? "a percent sign in a format is written %%" : known);
		return c;
	}
	report_escape(l, begin, "a character must follow '\\'", known);
	return '\\';
}

static struct token lex_string(struct lex *l)
{
	struct token t = { .kind = TOK_STR };
	struct sbuf b = {};
	u32 begin = l->pos++;
	int c;

	while ((c = peek(l, 0)) >= 0 && c != '"' && c != '\n') {
		/* A backslash at the end of a line: the line's end is what is wrong. */
		if (c == '\\' && peek(l, 1) >= 0 && peek(l, 1) != '\n') {
			sbuf_putc(&b, lex_escape(l));
		} else {
			sbuf_putc(&b, c);
			l->pos++;
		}
	}
	if (c == '"')
		l->pos++;
	t.span = span_from(l, begin);
	t.text = arena_strndup(l->arena, sbuf_str(&b), b.len);
	t.len = b.len;
	sbuf_release(&b);
	/* By its end: an escape inside may have been reported. */
	if (c != '"' && may_report(l, t.span.end - 1)) {
		l->cut_short = true;
		l->cut_end = t.span.end;
		diag_error(l->diag, t.span, E_UNTERMINATED, "this string is not closed");
		diag_hint(l->diag, c == '\n' ? "a string ends on its line; write \\n for a line break" : "add a '\"' at its end");
	}
	return t;
}

/* 'x': does not exist in the language, but C programmers write it. */
static struct token lex_char(struct lex *l)
{
	u32 begin = l->pos, len = 0;
	struct token t = { .kind = TOK_STR };

	while (peek(l, 1 + len) >= 0 && peek(l, 1 + len) != '\n' && peek(l, 1 + len) != '\'')
		len++;
	if (peek(l, 1 + len) != '\'')
		len = 0;
	l->pos += len ? len + 2 : 1;
	t.span = span_from(l, begin);
	t.text = arena_strndup(l->arena, l->text + begin + 1, len);
	t.len = len;
	if (len == 1) {
		t.kind = TOK_INT;
		t.num = (u8)t.text[0];
	}
	if (!may_report(l, begin))
		return t;
	diag_error(l->diag, t.span, E_BAD_LITERAL, "single quotes have no meaning");
	if (len == 1)
		diag_hint(l->diag, "write \"%c\" for the string, %u for the character's code", t.text[0], (u8)t.text[0]);
	else
		diag_hint(l->diag, "strings are written in double quotes");
	return t;
}

/* ---- names and the rest ---- */

static struct token lex_name(struct lex *l)
{
	struct token t = { .kind = TOK_IDENT };
	u32 begin = l->pos;

	take_name(l);
	t.span = span_from(l, begin);
	t.len = l->pos - begin;
	t.text = arena_strndup(l->arena, l->text + begin, t.len);
	for (enum token_kind k = TOK_BREAK; token_is_keyword(k); k++)
		if (t.text[0] == kind_texts[k][0] && str_eq(t.text, kind_texts[k]))
			t.kind = k;
	return t;
}

/* variable = "$" name ; parameter = "$" ( positive number | "#" ) ; */
static struct token lex_dollar(struct lex *l)
{
	struct token t = { .kind = TOK_VAR };
	u32 begin = l->pos++;
	const char *digits;
	bool is_bad = false;

	if (peek(l, 0) == '#') {
		l->pos++;
		t.kind = TOK_PARAM;
	} else if (is_digit(peek(l, 0))) {
		t.kind = TOK_PARAM;
		take_name(l);
		digits = arena_strndup(l->arena, l->text + begin + 1, l->pos - begin - 1);
		/* No script has a million parameters; and the index has 32 bits. */
		is_bad = digits[0] == '0' || !read_digits(&digits, 10, &t.num) || *digits || t.num > 1000000;
		if (is_bad)
			t.num = 1;
	} else {
		take_name(l);
		t.len = l->pos - begin - 1;
		t.text = arena_strndup(l->arena, l->text + begin + 1, t.len);
		is_bad = !t.len;
	}
	t.span = span_from(l, begin);
	if (is_bad && may_report(l, begin)) {
		diag_error(l->diag, t.span, E_SYNTAX, "'$' must be followed by a name, a number from 1 on, or '#'");
		diag_hint(l->diag, "$name is a variable, $1 the first parameter, $# the number of parameters");
	}
	return t;
}

/* map = "@" [ name ] ; */
static struct token lex_map(struct lex *l)
{
	struct token t = { .kind = TOK_MAP };
	u32 begin = l->pos++;

	if (is_name_start(peek(l, 0)))
		take_name(l);
	t.span = span_from(l, begin);
	t.len = l->pos - begin;
	t.text = arena_strndup(l->arena, l->text + begin, t.len);
	return t;
}

/* Pasted text: typographic characters that look like ASCII ones. */
static const struct {
	const char *bytes, *hint;
} lookalikes[] = {
	{ "\xe2\x80\x9c", "strings are written in plain double quotes: \"" },
	{ "\xe2\x80\x9d", "strings are written in plain double quotes: \"" },
	{ "\xe2\x80\x98", "this is a typographic quote; strings are written in plain double quotes" },
	{ "\xe2\x80\x99", "this is a typographic quote; strings are written in plain double quotes" },
	{ "\xe2\x80\x93", "this is a dash; the minus sign is -" },
	{ "\xe2\x88\x92", "this is a typographic minus sign; write -" },
	{ "\xc2\xa0", "this is a no-break space; write a plain one" },
};

/* Bytes that begin no token: reported once, together. */
static void skip_unknown(struct lex *l)
{
	u32 begin = l->pos, left;
	int c = peek(l, 0);
	const char *hint = NULL;

	if (c == '#') {
		/* A preprocessor line too late, or a comment of another language. */
		while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
			l->pos++;
	} else if (c < 0x80) {
		l->pos++;
	} else {
		while (peek(l, 0) >= 0x80)
			l->pos++;
		left = l->len - begin;
		for (u32 i = 0; i < ARRAY_CNT(lookalikes); i++)
			if (strlen(lookalikes[i].bytes) <= left &&
			    !memcmp(l->text + begin, lookalikes[i].bytes, strlen(lookalikes[i].bytes)))
				hint = lookalikes[i].hint;
	}
	if (!may_report(l, begin))
		return;
	if (c >= 0x80)
		diag_error(l->diag, span_from(l, begin), E_SYNTAX, "unexpected character outside of a string");
	else if (c < 0x20 || c == 0x7f)
		diag_error(l->diag, span_from(l, begin), E_SYNTAX, "unexpected byte 0x%02x", c);
	else
		diag_error(l->diag, span_from(l, begin), E_SYNTAX, "unexpected character '%c'", c);
	if (c == '#')
		hint = "preprocessor directives come at the top of a script; comments start with //";
	if (hint)
		diag_hint(l->diag, "%s", hint);
}

static bool lex_operator(struct lex *l, struct token *t)
{
	for (enum token_kind k = TOK_SHL_ASSIGN; k < TOKEN_KIND_CNT; k++) {
		u32 n;

		/* The first character excludes nearly all rows. */
		if (l->text[l->pos] != kind_texts[k][0])
			continue;
		n = strlen(kind_texts[k]);
		if (n > l->len - l->pos || memcmp(l->text + l->pos, kind_texts[k], n))
			continue;
		t->kind = k;
		l->pos += n;
		t->span = span_from(l, l->pos - n);
		return true;
	}
	return false;
}

static struct token next(struct lex *l)
{
	for (;;) {
		struct token t = { .kind = TOK_END };
		int c;

		lex_skip_space(l);
		c = peek(l, 0);
		if (c < 0) {
			t.span = (struct span){ l->src, l->len, l->len };
			return t;
		}
		if (is_name_start(c))
			return lex_name(l);
		if (is_digit(c))
			return lex_number(l);
		if (c == '"')
			return lex_string(l);
		if (c == '\'')
			return lex_char(l);
		if (c == '$')
			return lex_dollar(l);
		if (c == '@')
			return lex_map(l);
		if (lex_operator(l, &t))
			return t;
		skip_unknown(l);
	}
}

struct token lex_next(struct lex *l)
{
	struct token t = next(l);

	l->after_dot = t.kind == TOK_DOT;
	return t;
}

const char *token_describe(const struct lex *l, const struct token *t)
{
	u32 len = t->span.end - t->span.begin;

	if (t->kind == TOK_END || t->kind == TOK_STR)
		return kind_texts[t->kind];
	if (len > 32)
		return arena_printf(l->arena, "'%.*s...'", 32, l->text + t->span.begin);
	return arena_printf(l->arena, "'%.*s'", (int)len, l->text + t->span.begin);
}
