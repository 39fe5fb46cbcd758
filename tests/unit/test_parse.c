/* SPDX-License-Identifier: GPL-2.0-only */
/* The front of the compiler: lexer, parser, config, formats, copies. Without arguments: all checks, ends in "N passed, N failed".
 *
 *   test_parse FILE          the tree of FILE on stdout, messages on stderr
 *   test_parse --golden DIR  compares every DIR/NAME.bt with NAME.ast (tree) and NAME.err (messages), those that exist
 *   test_parse --mutate SEED CNT
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "base/io.h"
#include "lang/compile.h"
#include "image/fmt.h"
#include "lang/lex.h"

static void check_text(const char *what, const char *got, const char *want)
{
	if (str_eq(got, want)) {
		passed++;
		return;
	}
	failed++;
	printf("%s\n  got:  %s\n  want: %s\n", what, got, want);
}

/* ---- one compilation of a text ---- */

struct trial {
	struct arena arena;
	struct diag diag;
	struct compile c;
	u32 src;
	bool ok;
	struct sbuf out;
};

static void trial_start(struct trial *t, const char *name, const char *text, u32 len)
{
	*t = (struct trial){};
	arena_init(&t->arena);
	diag_init(&t->diag, &t->arena);
	t->c.arena = &t->arena;
	t->c.diag = &t->diag;
	t->c.config = config_defaults;
	t->src = diag_add_source(&t->diag, name, text, len);
}

static void trial_end(struct trial *t)
{
	sbuf_release(&t->out);
	arena_release(&t->arena);
}

static void trial_parse(struct trial *t, const char *text)
{
	trial_start(t, "t.bt", text, strlen(text));
	t->ok = lang_parse(&t->c, t->src);
}

static const char *messages(struct trial *t)
{
	sbuf_reset(&t->out);
	diag_print(&t->diag, DIAG_ERROR, false, &t->out);
	diag_print(&t->diag, DIAG_WARNING, false, &t->out);
	return sbuf_str(&t->out);
}

/* "E_SYNTAX E_BAD_LITERAL": the tags of all messages in order. */
static const char *tags(struct trial *t)
{
	sbuf_reset(&t->out);
	vec_for(m, &t->diag.msgs)
		sbuf_printf(&t->out, "%s%s", t->out.len ? " " : "", diag_tag_name(m->tag));
	return sbuf_str(&t->out);
}

/* ---- lexer ---- */

static void check_tokens(const char *text, const char *want)
{
	struct trial t;
	struct lex l;
	struct token tok;

	trial_start(&t, "t.bt", text, strlen(text));
	lex_init(&l, &t.arena, &t.diag, t.src);
	while ((tok = lex_next(&l)).kind != TOK_END) {
		if (t.out.len)
			sbuf_putc(&t.out, ' ');
		if (tok.kind == TOK_INT)
			sbuf_printf(&t.out, "%llu", (unsigned long long)tok.num);
		else if (tok.kind == TOK_PARAM)
			sbuf_printf(&t.out, "param:%llu", (unsigned long long)tok.num);
		else if (tok.kind == TOK_STR)
			sbuf_printf(&t.out, "\"%s\"", tok.text);
		else if (tok.kind == TOK_VAR)
			sbuf_printf(&t.out, "var:%s", tok.text);
		else if (tok.kind == TOK_IDENT || tok.kind == TOK_MAP)
			sbuf_printf(&t.out, "%s:%s", tok.kind == TOK_MAP ? "map" : "id", tok.text);
		else
			sbuf_puts(&t.out, token_kind_text(tok.kind));
	}
	check_text(text, sbuf_str(&t.out), want);
	CHECK(t.diag.error_cnt == 0);
	trial_end(&t);
}

static void test_tokens(void)
{
	check_tokens("", "");
	check_tokens("#!/usr/bin/env sonde\nx", "id:x");
	check_tokens("\xef\xbb\xbf#!/bin/x\nx", "id:x");
	check_tokens("a b_1 _", "id:a id:b_1 id:_");
	check_tokens("// c\na/* b */c /**/ d //", "id:a id:c id:d");
	check_tokens("/* // */a", "id:a");
	check_tokens("$a $_b1 $1 $12 $# @ @m @_1", "var:a var:_b1 param:1 param:12 param:0 map:@ map:@m map:@_1");
	check_tokens("@1", "map:@ 1");
	check_tokens("a+++b", "id:a ++ + id:b");
	check_tokens("a<<=b>>=c<=d>=e<f>g<<h>>i", "id:a <<= id:b >>= id:c <= id:d >= id:e < id:f > id:g << id:h >> id:i");
	check_tokens("+= -= *= /= %= &= |= ^=", "+= -= *= /= %= &= |= ^=");
	check_tokens("a->b.c==d!=e&&f||g&h|i^j~k!l",
		     "id:a -> id:b . id:c == id:d != id:e && id:f || id:g & id:h | id:i ^ id:j ~ id:k ! id:l");
	check_tokens("?:;,.()[]{}=", "? : ; , . ( ) [ ] { } =");
	check_tokens("1..5 $t.0.1 $t.0 .5", "1 .. 5 var:t . 0 . 1 var:t . 0 . 5");
	check_tokens("if else let iff returning", "if else let id:iff id:returning");
	check_tokens("\"a\\n\\t\\r\\\"\\\\\\101\\x41\\x4\\60\"",
		     "\"a\n\t\r\"\\AA\x04"
		     "0\"");
	check_tokens("\"%d // no comment /* */\"", "\"%d // no comment /* */\"");
	check_tokens("\"\xc3\xa9\"", "\"\xc3\xa9\"");
	check_tokens("a\r\n\tb\v\fc", "id:a id:b id:c");
}

static void check_number(const char *text, u64 want)
{
	struct trial t;
	struct number n;

	trial_start(&t, "t.bt", text, strlen(text));
	n = number_parse(&t.arena, text, strlen(text), false);
	if (n.why || n.value != want) {
		failed++;
		printf("%s: %llu %s\n", text, (unsigned long long)n.value, n.why ? n.why : "");
	} else {
		passed++;
	}
	trial_end(&t);
}

/* The text is one token, with exactly this message. */
static void check_bad(const char *text, enum diag_tag tag, const char *want)
{
	struct trial t;
	struct lex l;

	trial_start(&t, "t.bt", text, strlen(text));
	lex_init(&l, &t.arena, &t.diag, t.src);
	lex_next(&l);
	CHECK(lex_next(&l).kind == TOK_END);
	CHECK(t.diag.error_cnt == 1);
	if (t.diag.msgs.cnt) {
		CHECK(t.diag.msgs.at[0].tag == tag);
		check_text(text, t.diag.msgs.at[0].text, want);
		if (tag == E_BAD_LITERAL)
			CHECK(t.diag.msgs.at[0].hints.cnt == 1 || strstr(text, "0x"));
	}
	/* Lexed again: nothing more is said. */
	l.pos = 0;
	lex_next(&l);
	CHECK(t.diag.error_cnt == 1);
	trial_end(&t);
}

static void test_literals(void)
{
	struct trial t;

	check_number("0", 0);
	check_number("123", 123);
	check_number("1_000_000", 1000000);
	check_number("1__0", 10);
	check_number("18446744073709551615", UINT64_MAX);
	check_number("0x1F", 31);
	check_number("0XfF", 255);
	check_number("0xffff_ffff_ffff_ffff", UINT64_MAX);
	check_number("0x10ULL", 16);
	check_number("0755", 493);
	check_number("00", 0);
	check_number("5e6", 5000000);
	check_number("1E9", 1000000000);
	check_number("1e19", 10000000000000000000u);
	check_number("1u", 1);
	check_number("1U", 1);
	check_number("4294967295u", UINT32_MAX);
	check_number("7ul", 7);
	check_number("7UL", 7);
	check_number("18446744073709551615ull", UINT64_MAX);
	check_number("9223372036854775807l", INT64_MAX);
	check_number("9223372036854775807LL", INT64_MAX);
	check_number("5ns", 5);
	check_number("5us", 5000);
	check_number("5ms", 5000000);
	check_number("2s", 2000000000);
	check_number("3m", 180000000000);
	check_number("1h", 3600000000000);
	check_number("1d", 86400000000000);
	check_number("1e3ms", 1000000000);
	check_number("0ms", 0);

	check_bad("18446744073709551616", E_BAD_LITERAL, "this number is too big");
	check_bad("0x10000000000000000", E_BAD_LITERAL, "this number is too big");
	check_bad("02000000000000000000000", E_BAD_LITERAL, "this number is too big");
	check_bad("1e20", E_BAD_LITERAL, "this number is too big");
	check_bad("2e19", E_BAD_LITERAL, "this number is too big");
	check_bad("1_", E_BAD_LITERAL, "a number cannot end in '_'");
	check_bad("0x", E_BAD_LITERAL, "hexadecimal digits must follow 0x");
	check_bad("0xg", E_BAD_LITERAL, "hexadecimal digits must follow 0x");
	check_bad("0x1ms", E_BAD_LITERAL, "'ms' cannot follow a number");
	check_bad("0b101", E_BAD_LITERAL, "binary numbers cannot be used in a script");
	check_bad("089", E_BAD_LITERAL, "'8' is not an octal digit");
	check_bad("10e3", E_BAD_LITERAL, "a number in scientific notation has one digit, 1 to 9, before its e");
	check_bad("0e3", E_BAD_LITERAL, "a number in scientific notation has one digit, 1 to 9, before its e");
	check_bad("1e0", E_BAD_LITERAL, "an exponent is a number that begins with a digit from 1 to 9");
	check_bad("1e", E_BAD_LITERAL, "an exponent is a number that begins with a digit from 1 to 9");
	check_bad("2e-3", E_BAD_LITERAL, "an exponent cannot be negative");
	check_bad("2e+3", E_BAD_LITERAL, "an exponent is a number that begins with a digit from 1 to 9");
	check_bad("4294967296u", E_BAD_LITERAL, "this number does not fit the type of its suffix 'u'");
	check_bad("9223372036854775808l", E_BAD_LITERAL, "this number does not fit the type of its suffix 'l'");
	check_bad("1x", E_BAD_LITERAL, "'x' cannot follow a number");
	check_bad("1MS", E_BAD_LITERAL, "'MS' cannot follow a number");
	check_bad("300000d", E_BAD_LITERAL, "this duration is too long");
	check_bad("1.5", E_BAD_LITERAL, "fractions are not supported: all numbers are integers");
	check_bad("1.5s", E_BAD_LITERAL, "fractions are not supported: all numbers are integers");
	check_bad("'a'", E_BAD_LITERAL, "single quotes have no meaning");
	check_bad("'ab'", E_BAD_LITERAL, "single quotes have no meaning");
	check_bad("\"a", E_UNTERMINATED, "this string is not closed");
	check_bad("\"a\\", E_UNTERMINATED, "this string is not closed");
	check_bad("\"a\n", E_UNTERMINATED, "this string is not closed");
	check_bad("\"\\q\"", E_BAD_LITERAL, "there is no escape sequence '\\q'");
	check_bad("\"\\x\"", E_BAD_LITERAL, "hexadecimal digits must follow \\x");
	check_bad("\"\\400\"", E_BAD_LITERAL, "this octal escape does not fit a byte");
	check_bad("\"\\\x01\"", E_BAD_LITERAL, "a character must follow '\\'");
	check_bad("/* a", E_UNTERMINATED, "this comment is not closed");
	check_bad("$", E_SYNTAX, "'$' must be followed by a name, a number from 1 on, or '#'");
	check_bad("$0", E_SYNTAX, "'$' must be followed by a name, a number from 1 on, or '#'");
	check_bad("$1a", E_SYNTAX, "'$' must be followed by a name, a number from 1 on, or '#'");
	check_bad("`", E_SYNTAX, "unexpected character '`'");
	check_bad("\x01", E_SYNTAX, "unexpected byte 0x01");
	check_bad("\xe2\x80\x9c", E_SYNTAX, "unexpected character outside of a string");

	trial_start(&t, "t.bt", "", 0);
	CHECK(number_parse(&t.arena, "0b101", 5, true).value == 5);
	CHECK(number_parse(&t.arena, "0b12", 4, true).why != NULL);
	CHECK(number_parse(&t.arena, "", 0, true).why != NULL);
	CHECK(number_parse(&t.arena, "-1", 2, true).why != NULL);
	CHECK(number_parse(&t.arena, "1 ", 2, true).why != NULL);
	trial_end(&t);
	/* A NUL in a string is a byte of it. */
	trial_parse(&t, "begin { $a = \"x\\0y\"; }");
	CHECK(t.ok && t.c.script->probes.at[0]->body->stmts[0]->assign.value->str.len == 3);
	trial_end(&t);
	/* A bad escape and no end: both are told. */
	trial_parse(&t, "begin { $a = \"\\q; }\n");
	check_text("escape and end", tags(&t), "E_BAD_LITERAL E_UNTERMINATED");
	trial_end(&t);
}

/* ---- expressions ---- */

static void sexpr(const struct expr *e, struct sbuf *out);

static void sexpr_list(struct expr **list, u32 cnt, struct sbuf *out)
{
	for (u32 i = 0; i < cnt; i++) {
		sbuf_putc(out, ' ');
		sexpr(list[i], out);
	}
	sbuf_putc(out, ')');
}

static void sexpr_type(const struct type_ref *r, struct sbuf *out)
{
	if (r->name) {
		sbuf_printf(out, "<%s%s%s", r->keyword, *r->keyword ? " " : "", r->name);
	} else {
		sbuf_puts(out, "<typeof ");
		if (r->of_type)
			sexpr_type(r->of_type, out);
		else
			sexpr(r->of_expr, out);
	}
	for (u32 i = 0; i < r->suffix_cnt; i++) {
		if (!r->suffixes[i].is_array)
			sbuf_putc(out, '*');
		else if (r->suffixes[i].has_len)
			sbuf_printf(out, "[%u]", r->suffixes[i].len);
		else
			sbuf_puts(out, "[]");
	}
	sbuf_putc(out, '>');
}

static void sexpr(const struct expr *e, struct sbuf *out)
{
	static const char un[] = "-!~*&C";

	switch (e->kind) {
	case E_INT:
	case E_CONST:
		sbuf_printf(out, "%lld", (long long)e->num.value);
		break;
	case E_BOOL:
		sbuf_puts(out, e->num.value ? "true" : "false");
		break;
	case E_STR:
		sbuf_printf(out, "\"%s\"", e->str.s);
		break;
	case E_PARAM:
		sbuf_printf(out, "$%u", e->param.index);
		break;
	case E_CALL:
		sbuf_printf(out, e->call.has_parens ? "(%s" : "%s", e->call.name);
		if (e->call.has_parens)
			sexpr_list(e->call.args, e->call.arg_cnt, out);
		break;
	case E_VAR:
		sbuf_printf(out, "$%s", e->var.name);
		break;
	case E_MAP:
		sbuf_puts(out, e->map.name);
		if (e->map.key) {
			sbuf_putc(out, '[');
			sexpr(e->map.key, out);
			sbuf_putc(out, ']');
		}
		break;
	case E_UNARY:
		sbuf_printf(out, "(%c ", un[e->unary.op]);
		sexpr(e->unary.a, out);
		sbuf_putc(out, ')');
		break;
	case E_BINARY:
		sbuf_printf(out, "(%s ", binary_op_text[e->binary.op]);
		sexpr(e->binary.a, out);
		sbuf_putc(out, ' ');
		sexpr(e->binary.b, out);
		sbuf_putc(out, ')');
		break;
	case E_TERNARY:
		sbuf_puts(out, "(? ");
		sexpr(e->ternary.cond, out);
		sbuf_putc(out, ' ');
		if (e->ternary.yes)
			sexpr(e->ternary.yes, out);
		else
			sbuf_putc(out, '_');
		sbuf_putc(out, ' ');
		sexpr(e->ternary.no, out);
		sbuf_putc(out, ')');
		break;
	case E_CAST:
		sbuf_putc(out, '(');
		sexpr_type(e->cast.to, out);
		sbuf_putc(out, ' ');
		sexpr(e->cast.a, out);
		sbuf_putc(out, ')');
		break;
	case E_FIELD:
		sbuf_putc(out, '(');
		sexpr(e->field.base, out);
		sbuf_printf(out, " .%s)", e->field.name);
		break;
	case E_INDEX:
		sbuf_puts(out, "([] ");
		sexpr(e->index.base, out);
		sbuf_putc(out, ' ');
		sexpr(e->index.index, out);
		sbuf_putc(out, ')');
		break;
	case E_BLOCK:
		sbuf_printf(out, "({} %u ", e->block.body->cnt);
		if (e->block.value)
			sexpr(e->block.value, out);
		sbuf_putc(out, ')');
		break;
	case E_TUPLE:
		sbuf_puts(out, e->tuple.names ? "(=" : "(,");
		for (u32 i = 0; e->tuple.names && i < e->tuple.cnt; i++)
			sbuf_printf(out, " %s", e->tuple.names[i]);
		sexpr_list(e->tuple.elems, e->tuple.cnt, out);
		break;
	case E_INCDEC:
		sbuf_printf(out, e->incdec.is_post ? "(post%s " : "(pre%s ", e->incdec.is_dec ? "--" : "++");
		sexpr(e->incdec.target, out);
		sbuf_putc(out, ')');
		break;
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		sbuf_puts(out,
			  e->kind == E_SIZEOF           ? "(sizeof " :
				  e->kind == E_OFFSETOF ? "(offsetof " :
				  e->kind == E_TYPEINFO ? "(typeinfo " :
							  "(type ");
		if (e->of.ref)
			sexpr_type(e->of.ref, out);
		else
			sexpr(e->of.a, out);
		for (u32 i = 0; i < e->of.path_cnt; i++)
			sbuf_printf(out, "%c%s", i ? '.' : ' ', e->of.path[i]);
		sbuf_putc(out, ')');
		break;
	}
}

static void check_expr(const char *text, const char *want)
{
	struct trial t;
	char *script = xasprintf("begin { $r = %s; }", text);
	struct script *s;

	trial_parse(&t, script);
	s = t.c.script;
	if (!t.ok || s->probes.cnt != 1 || s->probes.at[0]->body->cnt != 1) {
		failed++;
		printf("%s\n%s", text, messages(&t));
	} else {
		const struct expr *e = s->probes.at[0]->body->stmts[0]->assign.value;

		sbuf_reset(&t.out);
		sexpr(e, &t.out);
		check_text(text, sbuf_str(&t.out), want);
		/* The span is the text, without the blanks around it. */
		check_text("span", arena_strndup(&t.arena, script + e->span.begin, e->span.end - e->span.begin), text);
		sbuf_reset(&t.out);
		sexpr(expr_copy(&t.arena, e), &t.out);
		check_text(text, sbuf_str(&t.out), want);
	}
	trial_end(&t);
	free(script);
}

static void test_precedence(void)
{
	check_expr("1 + 2 * 3", "(+ 1 (* 2 3))");
	check_expr("1 * 2 + 3", "(+ (* 1 2) 3)");
	check_expr("1 - 2 - 3", "(- (- 1 2) 3)");
	check_expr("8 / 4 / 2 % 3", "(% (/ (/ 8 4) 2) 3)");
	check_expr("(1 + 2) * 3", "(* (+ 1 2) 3)");
	check_expr("1 << 2 + 3", "(<< 1 (+ 2 3))");
	check_expr("1 >> 2 << 3", "(<< (>> 1 2) 3)");
	check_expr("1 < 2 << 3", "(< 1 (<< 2 3))");
	check_expr("1 < 2 == 3 > 4", "(== (< 1 2) (> 3 4))");
	check_expr("1 <= 2 != 3 >= 4", "(!= (<= 1 2) (>= 3 4))");
	check_expr("1 & 2 == 3", "(& 1 (== 2 3))");
	check_expr("1 ^ 2 & 3", "(^ 1 (& 2 3))");
	check_expr("1 | 2 ^ 3", "(| 1 (^ 2 3))");
	check_expr("1 && 2 | 3", "(&& 1 (| 2 3))");
	check_expr("1 || 2 && 3", "(|| 1 (&& 2 3))");
	check_expr("1 || 2 || 3", "(|| (|| 1 2) 3)");
	check_expr("1 || 2 ? 3 : 4", "(? (|| 1 2) 3 4)");
	check_expr("1 ? 2 : 3 ? 4 : 5", "(? 1 2 (? 3 4 5))");
	check_expr("1 ? 2 ? 3 : 4 : 5", "(? 1 (? 2 3 4) 5)");
	check_expr("$a ?: 5", "(? $a _ 5)");
	check_expr("$a ? : $b ?: 5", "(? $a _ (? $b _ 5))");
	check_expr("1 + 2 == 3 && 4 - 5 != 6 || !7", "(|| (&& (== (+ 1 2) 3) (!= (- 4 5) 6)) (! 7))");
	check_expr("-$a * ~$b", "(* (- $a) (~ $b))");
	check_expr("!$a == $b", "(== (! $a) $b)");
	check_expr("- - $a", "(- (- $a))");
	check_expr("*$p + 1", "(+ (* $p) 1)");
	check_expr("*$p.x", "(* ($p .x))");
	check_expr("&$x", "(& $x)");
	check_expr("$a & &$b", "(& $a (& $b))");
	check_expr("$a && &$b", "(&& $a (& $b))");
	check_expr("$a * *$b", "(* $a (* $b))");
	check_expr("-5", "-5");
	check_expr("- 5", "-5");
	check_expr("-9223372036854775808", "-9223372036854775808");
	check_expr("-0", "0");
	check_expr("3 - -5", "(- 3 -5)");
	check_expr("3 -5", "(- 3 5)");
	check_expr("-5 + 3", "(+ -5 3)");
	check_expr("-(5)", "(- 5)");
	check_expr("-5s", "-5000000000");
}

static void test_primaries(void)
{
	check_expr("pid", "pid");
	check_expr("pid()", "(pid)");
	check_expr("f (1, \"a\", $x)", "(f 1 \"a\" $x)");
	check_expr("str(arg0, 5)", "(str arg0 5)");
	check_expr("true && false", "(&& true false)");
	check_expr("$1 + $# + $23", "(+ (+ $1 $0) $23)");
	check_expr("@", "@");
	check_expr("@m", "@m");
	check_expr("@[pid]", "@[pid]");
	check_expr("@m[1, \"a\"]", "@m[(, 1 \"a\")]");
	check_expr("@m[(1, \"a\")]", "@m[(, 1 \"a\")]");
	check_expr("@m[(1, 2), 3]", "@m[(, (, 1 2) 3)]");
	check_expr("@m[1].a", "(@m[1] .a)");
	check_expr("@m[1][2]", "([] @m[1] 2)");
	check_expr("@m[@n[1]]", "@m[@n[1]]");
	check_expr("()", "(,)");
	check_expr("(1,)", "(, 1)");
	check_expr("(1, 2)", "(, 1 2)");
	check_expr("(1, 2, )", "(, 1 2)");
	check_expr("(1, (2, \"a\"))", "(, 1 (, 2 \"a\"))");
	check_expr("$t.0", "($t .0)");
	check_expr("$t.1.0", "(($t .1) .0)");
	check_expr("$t.10.0.3", "((($t .10) .0) .3)");
	check_expr("(1, 2).1", "((, 1 2) .1)");
	check_expr("args.filename", "(args .filename)");
	check_expr("args->filename", "(args .filename)");
	check_expr("curtask->mm.owner->pid", "(((curtask .mm) .owner) .pid)");
	check_expr("$x.if.for.struct", "((($x .if) .for) .struct)");
	check_expr("$a[1][2]", "([] ([] $a 1) 2)");
	check_expr("$a[$i + 1].b", "(([] $a (+ $i 1)) .b)");
	check_expr("$a++", "(post++ $a)");
	check_expr("--$a", "(pre-- $a)");
	check_expr("++@m[1] + @n--", "(+ (pre++ @m[1]) (post-- @n))");
	check_expr("-$a++", "(- (post++ $a))");
	check_expr("((((1))))", "1");
}

static void test_types(void)
{
	check_expr("(uint8)5", "(<uint8> 5)");
	check_expr("(uint64) - 1", "(<uint64> -1)");
	check_expr("(int32)-$x", "(<int32> (- $x))");
	check_expr("(int64*)arg0", "(<int64*> arg0)");
	check_expr("*(uint32 *)arg0", "(* (<uint32*> arg0))");
	check_expr("(struct task_struct *)arg0", "(<struct task_struct*> arg0)");
	check_expr("((struct sock *)arg0)->sk", "((<struct sock*> arg0) .sk)");
	check_expr("(struct sock *)arg0 + 1", "(+ (<struct sock*> arg0) 1)");
	check_expr("(union u)$x", "(<union u> $x)");
	check_expr("(enum e)1", "(<enum e> 1)");
	check_expr("(char *)arg1", "(<char*> arg1)");
	check_expr("(const char *)arg1", "(<char*> arg1)");
	check_expr("(char **)arg1", "(<char**> arg1)");
	check_expr("(unsigned long)arg0", "(<unsigned long> arg0)");
	check_expr("(unsigned long long *)arg0", "(<unsigned long long*> arg0)");
	check_expr("(long)arg0", "(<long> arg0)");
	check_expr("(size_t)arg0", "(<size_t> arg0)");
	check_expr("(pid_t) - 1", "(<pid_t> -1)");
	check_expr("(u32)1", "(<u32> 1)");
	check_expr("(uint8[4])$x", "(<uint8[4]> $x)");
	check_expr("(int8[])\"abc\"", "(<int8[]> \"abc\")");
	check_expr("(int8*[4])$x", "(<int8*[4]> $x)");
	check_expr("(string[16])$x", "(<string[16]> $x)");
	check_expr("(bool)pid", "(<bool> pid)");
	check_expr("(foo *)$x", "(<foo*> $x)");
	check_expr("(foo)$x", "(<foo> $x)");
	check_expr("(foo)(1)", "(<foo> 1)");
	check_expr("(uint8)(1 + 2)", "(<uint8> (+ 1 2))");
	check_expr("(uint8)(uint16)$x", "(<uint8> (<uint16> $x))");
	check_expr("(uint8)$x.a", "(<uint8> ($x .a))");
	check_expr("(pid) - 1", "(- pid 1)");
	check_expr("(a) * b", "(* a b)");
	check_expr("(a) & b", "(& a b)");
	check_expr("(a) + b", "(+ a b)");
	check_expr("(a)", "a");
	check_expr("(a[4])", "([] a 4)");
	check_expr("(a) ? 1 : 2", "(? a 1 2)");
	check_expr("sizeof(uint64)", "(sizeof <uint64>)");
	check_expr("sizeof(struct foo)", "(sizeof <struct foo>)");
	check_expr("sizeof(struct foo *)", "(sizeof <struct foo*>)");
	check_expr("sizeof(unsigned long)", "(sizeof <unsigned long>)");
	check_expr("sizeof(foo)", "(sizeof <foo>)");
	check_expr("sizeof(foo[4])", "(sizeof <foo[4]>)");
	check_expr("sizeof($x)", "(sizeof $x)");
	check_expr("sizeof(args.x)", "(sizeof (args .x))");
	check_expr("sizeof((foo))", "(sizeof foo)");
	check_expr("sizeof(1 + 2)", "(sizeof (+ 1 2))");
}

/* ---- attach points ---- */

/* want: for each attach point its parts, as "a|b|c", attach points separated by a blank; a name as "n=" before. */
static void check_attach(const char *script, const char *want)
{
	char *params[] = { "vfs_read", "kprobe:vfs_write", "" };
	struct trial t;

	trial_start(&t, "t.bt", script, strlen(script));
	t.c.params = params;
	t.c.param_cnt = ARRAY_CNT(params);
	t.ok = lang_parse(&t.c, t.src);
	if (!t.ok) {
		failed++;
		printf("%s\n%s", script, messages(&t));
		trial_end(&t);
		return;
	}
	vec_for(pr, &t.c.script->probes) {
		for (u32 i = 0; i < (*pr)->ap_cnt; i++) {
			const struct attach_point *ap = &(*pr)->aps[i];

			sbuf_puts(&t.out, t.out.len ? " " : "");
			if (ap->given_name)
				sbuf_printf(&t.out, "%s=", ap->given_name);
			for (u32 j = 0; j < ap->part_cnt; j++)
				sbuf_printf(&t.out, "%s%s", j ? "|" : "", ap->parts[j]);
		}
		if ((*pr)->pred) {
			sbuf_puts(&t.out, " /");
			sexpr((*pr)->pred, &t.out);
			sbuf_putc(&t.out, '/');
		}
	}
	check_text(script, sbuf_str(&t.out), want);
	trial_end(&t);
}

static void test_attach(void)
{
	check_attach("begin{}", "begin");
	check_attach("BEGIN { } END{}", "BEGIN END");
	check_attach("kprobe:a,kprobe:b , kprobe:c\n{}", "kprobe|a kprobe|b kprobe|c");
	check_attach("kprobe:a,{}", "kprobe|a");
	check_attach("kprobe:a, /1/ {}", "kprobe|a /1/");
	check_attach("kprobe:a /* c */ , // d\n kprobe:b {}", "kprobe|a kprobe|b");
	check_attach("uprobe:/bin/bash:readline {}", "uprobe|/bin/bash|readline");
	check_attach("uprobe:./a.out:f+0x10{}", "uprobe|./a.out|f+0x10");
	check_attach("uprobe:/bin/a:cpp:\"ns::f(int, char *)\" {}", "uprobe|/bin/a|cpp|ns::f(int, char *)");
	check_attach("uprobe:/bin/a:\"x\\\"y\\\\\"z {}", "uprobe|/bin/a|x\"y\\z");
	check_attach("uprobe:\"/a b/c\":\"{,}\"{}", "uprobe|/a b/c|{,}");
	check_attach("uprobe:/bin/a@f.c:12 {}", "uprobe|/bin/a@f.c|12");
	check_attach("usdt:/bin/a::p{}", "usdt|/bin/a||p");
	check_attach("k*:vfs_* {}", "k*|vfs_*");
	check_attach("kprobe:lookup_fast.constprop.* {}", "kprobe|lookup_fast.constprop.*");
	check_attach("profile:hz:99{}", "profile|hz|99");
	check_attach("begin/pid == 1/{}", "begin /(== pid 1)/");
	check_attach("begin /pid == 1/ {}", "begin /(== pid 1)/");
	check_attach("begin //comment\n{}", "begin");
	check_attach("kprobe:f /a / b == 1/ {}", "kprobe|f /(== (/ a b) 1)/");
	check_attach("kprobe:f /a/b/c/{}", "kprobe|f /(/ (/ a b) c)/");
	check_attach("kprobe:f /a / (b / c) /\n/* x */ // y\n{}", "kprobe|f /(/ a (/ b c))/");
	check_attach("kprobe:f /@x[tid]/ {}", "kprobe|f /@x[tid]/");
	check_attach("foo=kprobe:f {}", "foo=kprobe|f");
	check_attach("foo = kprobe:f, bar=kprobe:g {}", "foo=kprobe|f bar=kprobe|g");
	check_attach("config=kprobe:f {}", "config=kprobe|f");
	check_attach("kprobe:$1 {}", "kprobe|vfs_read");
	check_attach("kprobe:$1,kprobe:$1_x {}", "kprobe|vfs_read kprobe|vfs_read_x");
	check_attach("$2 {}", "kprobe|vfs_write");
	check_attach("kprobe:\"$1\"$3 {}", "kprobe|$1");
	check_attach("kprobe:x$9y {}", "kprobe|xy");
	check_attach("kprobe:f{} kprobe:g{}", "kprobe|f kprobe|g");
	check_attach("software:faults:1e3 {}", "software|faults|1e3");
}

/* ---- statements and recovery ---- */

/* The tags of all messages. */
static void check_tags(const char *script, const char *want)
{
	struct trial t;

	trial_parse(&t, script);
	CHECK(t.ok == !*want);
	check_text(script, tags(&t), want);
	trial_end(&t);
}

/* The first error's message. */
static void check_message(const char *script, const char *want)
{
	struct trial t;

	trial_parse(&t, script);
	check_text(script, t.diag.msgs.cnt ? t.diag.msgs.at[0].text : "", want);
	trial_end(&t);
}

static void test_statements(void)
{
	check_tags("begin { }", "");
	check_tags("begin { $a = 1 }", "");
	check_tags("begin { $a = 1; $b += 2; @m[1] <<= 3; @m++; ; f(); }", "");
	check_tags("begin { _ = f(); }", "");
	check_tags("begin { let $a; let $b = 1; let $c: uint8; let $d: struct x * = 0; let $e : string[4] = \"a\" }", "");
	check_tags("begin { if (1) { } else if 2 { } else { } $a = 1; }", "");
	check_tags("begin { if 1 { }; if $a == 1 && pid > 2 { f() } { { } } return; }", "");
	check_tags("begin { if (pid) { } if (pid) - 1 { } return 5 }", "");
	check_tags("begin { if (pid == 1) || (tid == 2) { f(); } }", "");
	check_tags("begin { delete(@m[1]); delete(@m, 1); print(@m, 5); $x = args->a; }", "");
	check_tags("let @m = hash(100); let @n = percpulruhash(1) begin { }", "");
	check_tags("config = { a = 1; b = \"x\"; c = true; d = word } begin { }", "");
	check_tags("config={}begin{}", "");
}

static void test_recovery(void)
{
	check_tags("", "E_EMPTY_SCRIPT");
	check_tags("  // nothing\n", "E_EMPTY_SCRIPT");
	check_tags("config = { max_strlen = 1 }", "E_EMPTY_SCRIPT");
	check_tags("begin { $a = ; $b = 1 + ; f(; }", "E_SYNTAX E_SYNTAX E_SYNTAX");
	check_tags("begin { $a = ; } end { $b = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { $a = 1\n$b = 2\n$c = 3 }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { if (1) { $a = ; } $b = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { if (1 + ) { $a = ; } else { $c = ; } $b = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { if (pid) print(1); $b = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { else { } $b = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { $a = 08; $b = \"\\q\"; $c = 1 +; }", "E_BAD_LITERAL E_BAD_LITERAL E_SYNTAX");
	check_tags("begin { f(1 2); f(\"a\" \"b\"); }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { pid = 1; 5++; $1 = 2; args.x = 3; --f(); }",
		   "E_NOT_ASSIGNABLE E_NOT_ASSIGNABLE E_NOT_ASSIGNABLE E_NOT_ASSIGNABLE E_NOT_ASSIGNABLE");
	check_tags("begin { ", "E_UNTERMINATED");
	check_tags("begin { if (1) { ", "E_UNTERMINATED");
	check_tags("begin { f(1", "E_SYNTAX");
	check_tags("begin { \"abc", "E_UNTERMINATED");
	check_tags("begin { /* abc", "E_UNTERMINATED");
	check_tags("begin", "E_SYNTAX");
	check_tags("begin /1/", "E_SYNTAX");
	check_tags("begin /1 { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin /1 +/ { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin } end { }", "E_SYNTAX");
	check_tags("begin { } } end { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { }; end { }", "E_SYNTAX");
	check_tags("{ f(); } end { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("kprobe:a kprobe:b { $a = ; } end { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("kprobe:a,,kprobe:b { } end { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("kprobe:\"a\n{ } end { $a = ; }", "E_UNTERMINATED E_SYNTAX");
	check_tags("kprobe:$x { } end { $a = ; }", "E_SYNTAX E_SYNTAX");
	check_tags("let $x = 1; begin { }", "E_SYNTAX");
	check_tags("let @x = tree(5); begin { }", "E_UNKNOWN_TYPE");
	check_tags("let @x = hash(0); let @y = hash(a); begin { $a = ; }", "E_BAD_LITERAL E_SYNTAX E_SYNTAX");
	check_tags("config = { a = ; b 1; = 3; c = 4 5 } begin { $a = ; }", "E_SYNTAX E_SYNTAX E_SYNTAX E_SYNTAX E_SYNTAX");
	check_tags("config = { a = 1 ", "E_UNTERMINATED");
	check_tags("begin { } config = { a = 1 }", "E_SYNTAX");
	check_tags("config = { } config = { } begin { }", "E_SYNTAX");
	check_tags("begin { let @a = hash(1); let 5; $b = ; }", "E_SYNTAX E_SYNTAX E_SYNTAX");
	check_tags("begin { $x[1, 2]; @m[]; @m[1,]; }", "E_SYNTAX E_SYNTAX");
	check_tags("begin { $a = 1 ? 2; $b = $c. ; $d->5; sizeof 5; }", "E_SYNTAX E_SYNTAX E_SYNTAX E_SYNTAX");
	check_tags("begin { -9223372036854775809; $a[1] = 5; }", "E_BAD_LITERAL E_NOT_ASSIGNABLE");
	check_tags("begin { \x01 f(); # g `\n ` }", "E_SYNTAX E_SYNTAX E_SYNTAX");
	check_message("begin { $a = 1 $b = 2; }", "expected ';' after this, found '$b'");
	check_message("begin { f(a = 1); }", "expected ')' after the arguments, found '='");
	check_message("begin { if (a = 1) { } }", "expected ')' to close '(', found '='");
}

static void test_unsupported(void)
{
	check_tags("import \"a.bt\"; macro f(x) { x } fn g($a: int32): int32 { return 1; } begin { $a = ; }",
		   "E_IMPORT E_SYNTAX");
	check_tags("begin { import \"a\"; $a = ; }", "E_UNSUPPORTED E_SYNTAX");
	check_tags("begin { for ($x : 1..5) { f(; } while (1) { } unroll (5) { if (1) { } } $a = ; }", "E_SYNTAX E_SYNTAX");
	check_message("begin { for (5) { } }", "expected the loop's variable, found '5'");
	check_message("begin { for ($x) { } }", "expected ':' after the loop's variable, found ')'");
	check_message("begin { for ($x : 1) { } }", "a loop iterates over a range or a map");
	check_message("begin { for ($x : @m[1]) { } }", "a loop iterates over a range or a map");
	check_message("begin { for ($x : 1..5 { } }", "expected ')' after the range or map, found '{'");
	check_message("begin { for ($x : 1..5) print(1); }", "expected '{' after the range or map, found 'print'");
}

/* n times `open`, then `middle`, then n times `close`. */
static char *nested(const char *before, const char *open, const char *middle, const char *close, const char *after, u32 n)
{
	struct sbuf b = {};

	sbuf_puts(&b, before);
	for (u32 i = 0; i < n; i++)
		sbuf_puts(&b, open);
	sbuf_puts(&b, middle);
	for (u32 i = 0; i < n; i++)
		sbuf_puts(&b, close);
	sbuf_puts(&b, after);
	return b.s;
}

static void check_nested(const char *before, const char *open, const char *middle, const char *close, const char *after, u32 n,
			 const char *want)
{
	char *text = nested(before, open, middle, close, after, n);
	struct trial t;

	trial_parse(&t, text);
	check_text(open, tags(&t), want);
	if (t.ok) {
		sbuf_reset(&t.out);
		lang_print(&t.c, &t.out);
		block_copy(&t.arena, t.c.script->probes.at[0]->body);
	}
	trial_end(&t);
	free(text);
}

static void test_depth(void)
{
	check_nested("begin { $a = ", "(", "1", ")", "; }", 190, "");
	check_nested("begin { $a = ", "(", "1", ")", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "(", "1", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "-", "$b", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "!", "$b", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "(uint8)", "$b", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "f(", "1", ")", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "@m[", "1", "]", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "1 ? ", "1", " : 2", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = 1", "+ 1", "", "", "; }", 1900, "");
	check_nested("begin { $a = 1", "+ 1", "", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = $b", ".c", "", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = $b", "[1]", "", "", "; }", 100000, "E_TOO_BIG");
	check_nested("begin { $a = ", "(", "$b", "?:1)", "; }", 9, "");
	check_nested("begin { $a = ", "(", "$b", "?:1)", "; }", 90, "");
	check_nested("begin ", "{", "", "}", "", 190, "");
	check_nested("begin ", "{", "", "}", "", 100000, "E_TOO_BIG");
	check_nested("begin ", "{", "", "", "", 100000, "E_TOO_BIG E_UNTERMINATED");
	check_nested("begin { ", "if (1) { ", "", "}", "}", 100000, "E_TOO_BIG");
	check_nested("begin { if (1) { }", " else if (1) { }", "", "", "}", 900, "");
	check_nested("begin { if (1) { }", " else if (1) { }", "", "", "}", 100000, "E_TOO_BIG");
}

/* ---- copy and walk ---- */

static void count_expr(struct expr *e, void *arg)
{
	(void)e;
	++*(u32 *)arg;
}

static void test_copy(void)
{
	static const char script[] = "begin /pid == 1/ { let $a: uint8 = (1, 2).0; if (@m[1, 2] > $a) { @m[1, 2]++; }"
				     " else { return; } $b = $c ? &$d : (uint64)f(args->x[1]); { _ = sizeof($b); } $a += -$b;"
				     " return 1; }";
	u32 before = 0, after = 0;
	struct block *copy;
	struct trial t;
	struct sbuf a = {}, b = {};

	trial_parse(&t, script);
	CHECK(t.ok);
	lang_print(&t.c, &a);
	block_walk(t.c.script->probes.at[0]->body, count_expr, &before);
	copy = block_copy(&t.arena, t.c.script->probes.at[0]->body);
	block_walk(copy, count_expr, &after);
	CHECK(before == after && before == 32);
	t.c.script->probes.at[0]->body = copy;
	lang_print(&t.c, &b);
	check_text("copy", sbuf_str(&b), sbuf_str(&a));
	CHECK(!expr_copy(&t.arena, NULL) && !block_copy(&t.arena, NULL));
	sbuf_release(&a);
	sbuf_release(&b);
	trial_end(&t);
}

/* What -d types shows: of a tree that was annotated by hand, as the checker would. */
static void test_print_types(void)
{
	struct map m = { .name = "@m", .key = &type_u32, .val = &type_s64 }, n = { .name = "@n" };
	struct var v = { .name = "a", .type = &type_comm }, w = { .name = "b" };
	struct unit u = { .name = "begin_1", .site_cnt = 1 };
	struct trial t;

	trial_parse(&t, "begin /true/ { @m[pid] = 5; }");
	u.pred = t.c.script->probes.at[0]->pred;
	u.body = t.c.script->probes.at[0]->body;
	u.pred->type = &type_bool;
	u.body->stmts[0]->assign.target->type = &type_s64;
	u.body->stmts[0]->assign.target->map.key->type = &type_u32;
	avec_push(&t.arena, &u.vars, &v);
	avec_push(&t.arena, &u.vars, &w);
	avec_push(&t.arena, &t.c.sites, (struct site){ .name = "begin" });
	avec_push(&t.arena, &t.c.units, &u);
	avec_push(&t.arena, &t.c.maps, &m);
	avec_push(&t.arena, &t.c.maps, &n);
	lang_print_types(&t.c, &t.out);
	check_text("types", sbuf_str(&t.out),
		   "map @m[uint32] :: int64\nmap @n :: unknown\nunit begin_1\n  site begin\n"
		   "  var $a :: string[16]\n  var $b :: unknown\n"
		   "  predicate\n    bool true :: bool\n  body\n    assign = <1:16>\n      map @m :: int64\n        key\n"
		   "          name pid :: uint32\n      int 5\n");
	trial_end(&t);
}

/* ---- config ---- */

static void config_of(struct trial *t, const char *block)
{
	char *text = xasprintf("config = { %s } begin { }", block);

	trial_start(t, "t.bt", NULL, 0);
	t->diag.sources.at[0].text = arena_strdup(&t->arena, text);
	t->diag.sources.at[0].len = strlen(text);
	t->ok = lang_parse(&t->c, t->src) && lang_config(&t->c);
	free(text);
}

static void check_config(const char *block, const char *want)
{
	struct trial t;

	config_of(&t, block);
	check_text(block, tags(&t), want);
	trial_end(&t);
}

static void test_config(void)
{
	struct trial t;
	u32 cnt;

	config_of(&t, "");
	CHECK(t.ok && t.c.config.max_strlen == 1024 && t.c.config.print_maps_on_exit);
	CHECK(t.c.config.missing_probes == MISSING_ERROR);
	CHECK(str_eq(t.c.config.license, "GPL") && str_eq(t.c.config.str_trunc_trailer, ".."));
	trial_end(&t);
	config_of(&t,
		  "max_strlen = 0x40; BPFTRACE_Max_Map_Keys = 7; missing_probes = warn; print_maps_on_exit = off; "
		  "license = \"GPL v2\"; stack_mode = perf; str_trunc_trailer = \"\"; cpp_demangle = 0; "
		  "cache_user_symbols = \"NONE\"; lazy_symbolication = No");
	CHECK(t.ok && t.c.config.max_strlen == 64 && t.c.config.max_map_keys == 7 && t.c.config.missing_probes == MISSING_WARN);
	CHECK(!t.c.config.print_maps_on_exit && str_eq(t.c.config.license, "GPL v2") && str_eq(t.c.config.stack_mode, "perf"));
	CHECK(str_eq(t.c.config.str_trunc_trailer, "") && !t.c.config.cpp_demangle && !t.c.config.lazy_symbolication);
	CHECK(str_eq(t.c.config.cache_user_symbols, "NONE"));
	trial_end(&t);
	config_of(&t, "strlen = 100; map_keys_max = 5; cat_bytes_max = 6; no_cpp_demangle = true");
	check_text("renamed", tags(&t), "W_CONFIG W_CONFIG W_CONFIG W_CONFIG");
	CHECK(t.ok && t.c.config.max_strlen == 100 && t.c.config.max_map_keys == 5 && t.c.config.max_cat_bytes == 6);
	CHECK(!t.c.config.cpp_demangle);
	trial_end(&t);
	check_config("symbol_source = \"dwarf\"; max_type_res_iterations = 0; unstable_macro = enable; use_blazesym = true", "");
	check_config("foo = 1", "E_UNKNOWN_CONFIG");
	check_config("btf = \"x\"; BPFTRACE_VMLINUX = \"x\"", "E_UNKNOWN_CONFIG E_UNKNOWN_CONFIG");
	check_config("max_strlen = 0", "E_UNKNOWN_CONFIG");
	check_config("max_strlen = 65536", "");
	check_config("max_strlen = 65537", "E_UNKNOWN_CONFIG");
	check_config("max_strlen = \"100\"; max_probes = many; log_size = true",
		     "E_UNKNOWN_CONFIG E_UNKNOWN_CONFIG E_UNKNOWN_CONFIG");
	check_config("print_maps_on_exit = 2; cpp_demangle = maybe", "E_UNKNOWN_CONFIG E_UNKNOWN_CONFIG");
	check_config("license = \"MIT\"; license = \"Dual MIT/GPL\"; stack_mode = foo", "E_UNKNOWN_CONFIG E_UNKNOWN_CONFIG");
	check_config("missing_probes = maybe; str_trunc_trailer = 5", "E_UNKNOWN_CONFIG E_UNKNOWN_CONFIG");

	setenv("BPFTRACE_MAX_STRLEN", "200", 1);
	setenv("BPFTRACE_STR_TRUNC_TRAILER", "5", 1);
	setenv("BPFTRACE_MAX_CAT_BYTES", "0b100", 1);
	setenv("SONDE_PRINT_MAPS_ON_EXIT", "no", 1);
	config_of(&t, "max_strlen = 100; print_maps_on_exit = true");
	CHECK(t.ok && t.c.config.max_strlen == 200 && !t.c.config.print_maps_on_exit && t.c.config.max_cat_bytes == 4);
	CHECK(str_eq(t.c.config.str_trunc_trailer, "5"));
	trial_end(&t);
	setenv("SONDE_MAX_STRLEN", "300", 1);
	setenv("BPFTRACE_MAP_KEYS_MAX", "9", 1);
	config_of(&t, "");
	CHECK(t.ok && t.c.config.max_strlen == 300 && t.c.config.max_map_keys == 9);
	check_text("renamed in the environment", tags(&t), "W_CONFIG");
	trial_end(&t);
	setenv("SONDE_MAX_STRLEN", "lots", 1);
	unsetenv("BPFTRACE_MAP_KEYS_MAX");
	config_of(&t, "");
	check_text("environment", messages(&t),
		   "environment:1:1-22: ERROR: max_strlen takes a number, not 'lots'\nSONDE_MAX_STRLEN=lots\n"
		   "~~~~~~~~~~~~~~~~~~~~~\n");
	trial_end(&t);
	unsetenv("BPFTRACE_MAX_STRLEN");
	unsetenv("BPFTRACE_STR_TRUNC_TRAILER");
	unsetenv("BPFTRACE_MAX_CAT_BYTES");
	unsetenv("SONDE_PRINT_MAPS_ON_EXIT");
	unsetenv("SONDE_MAX_STRLEN");

	CHECK(str_eq(config_table(&cnt)[0].name, "max_strlen") && str_eq(config_table(&cnt)[0].def, "1024") && cnt == 17);
}

/* ---- formats ---- */

/* want: a letter per conversion with its size, width and flags; "|text|" for text. */
static void check_fmt(const char *text, const char *want)
{
	static const char *const conv[] = { "d", "u", "o", "x", "X", "c", "s", "p", "r", "rx", "rh" };
	struct arena a;
	struct sbuf b = {};
	const char *why;
	u32 at, args = 0;
	const struct fmt *f;

	arena_init(&a);
	f = fmt_parse(&a, text, strlen(text), &why, &at);
	if (!f)
		sbuf_printf(&b, "%u: %s", at, why);
	for (u32 i = 0; f && i < f->cnt; i++) {
		const struct fmt_piece *p = &f->pieces[i];

		if (p->is_text) {
			sbuf_printf(&b, "|%.*s|", (int)p->len, p->text);
			continue;
		}
		args++;
		sbuf_printf(&b, "<%s%s%s%s%s%u", conv[p->conv], p->minus ? "-" : "", p->plus ? "+" : "", p->hash ? "#" : "",
			    p->zero ? "0," : ",", p->width);
		if (p->has_prec)
			sbuf_printf(&b, ".%u", p->prec);
		sbuf_printf(&b, ":%u>", p->size);
	}
	CHECK(!f || args == f->arg_cnt);
	check_text(text, sbuf_str(&b), want);
	sbuf_release(&b);
	arena_release(&a);
}

static void test_formats(void)
{
	static const struct type buffer = { .kind = T_BUFFER }, pointer = { .kind = T_POINTER }, string = { .kind = T_STRING };
	static const struct type enumeration = { .kind = T_ENUM };

	check_fmt("", "");
	check_fmt("plain", "|plain|");
	check_fmt("a %d b\n", "|a |<d,0:4>| b\n|");
	check_fmt("%i%u%o%x%X%c%s%p", "<d,0:4><u,0:4><o,0:4><x,0:4><X,0:4><c,0:4><s,0:4><p,0:8>");
	check_fmt("%hhd %hd %ld %lld %zu %jd %td %Lx",
		  "<d,0:1>| |<d,0:2>| |<d,0:8>| |<d,0:8>| |<u,0:8>| |<d,0:8>| |<d,0:8>| |<x,0:8>");
	check_fmt("%-+ #012.5lld", "<d-+#0,12.5:8>");
	check_fmt("%-16s|%6d|%08x", "<s-,16:4>|||<d,6:4>|||<x0,8:4>");
	check_fmt("%*d %.*s %.3s %.s", "<d,0:4>| |<s,0:4>| |<s,0.3:4>| |<s,0.0:4>");
	check_fmt("%r %rx %rh", "<r,0:4>| |<rx,0:4>| |<rh,0:4>");
	check_fmt("100%% %d%%", "|100||%|| |<d,0:4>|%|");
	check_fmt("%f", "0: unsupported format specifier: f");
	check_fmt("ab%5.2g", "2: unsupported format specifier: g");
	check_fmt("%n", "0: unsupported format specifier: n");
	check_fmt("%g", "0: unsupported format specifier: g");
	check_fmt("%d %y", "3: unknown format specifier: y");
	check_fmt("%\x01", "0: unknown format specifier: byte 0x01");
	check_fmt("50%", "2: the format ends inside a specifier: write %% for a percent sign");
	check_fmt("%l", "0: the format ends inside a specifier: write %% for a percent sign");
	check_fmt("%0-5d", "0: the flag '-' is in the wrong place: the order is - + space # 0, then the width");
	check_fmt("%99999d", "0: the width or precision is more than 65535");
	check_fmt("%.99999999999s", "0: the width or precision is more than 65535");

	CHECK(fmt_accepts(FMT_D, &type_s64) && fmt_accepts(FMT_X, &type_bool) && fmt_accepts(FMT_U, &pointer));
	CHECK(fmt_accepts(FMT_O, &enumeration) && !fmt_accepts(FMT_D, &string) && !fmt_accepts(FMT_X, &type_ksym));
	CHECK(fmt_accepts(FMT_S, &type_ksym) && fmt_accepts(FMT_S, &type_s8));
	CHECK(!fmt_accepts(FMT_S, &type_none) && !fmt_accepts(FMT_S, &type_void));
	CHECK(fmt_accepts(FMT_C, &type_s8) && !fmt_accepts(FMT_C, &pointer));
	CHECK(fmt_accepts(FMT_P, &pointer) && !fmt_accepts(FMT_P, &string));
	CHECK(fmt_accepts(FMT_R, &buffer) && fmt_accepts(FMT_RX, &buffer) && !fmt_accepts(FMT_RH, &string));
	CHECK(fmt_accepts(FMT_RH, &type_error));
}

/* ---- mutations ---- */

static const char *const samples[] = {
	"#!/usr/bin/env sonde\nconfig = { max_strlen = 64; missing_probes = warn }\nlet @a = hash(100);\n"
	"begin { printf(\"%s %d\\n\", comm, pid); }\n",
	"tracepoint:syscalls:sys_enter_openat,\ntracepoint:syscalls:sys_enter_open /pid == $1 && @on[tid] / 2 > 0/\n"
	"{\n\t@name[tid] = args->filename;\n\t@start[tid, \"x\"] = nsecs;\n}\n",
	"kprobe:vfs_read { $t = (struct task_struct *)curtask; if ($t->pid > 5) { @h = hist(arg2); } else if (1) { return; }"
	" else { @x[(1, 2)]++; } }",
	"uprobe:/bin/bash:cpp:\"a::b(int, char)\" /* c */ { let $a: uint64 = *(uint64 *)arg0; _ = $a ?: 5; --@m; // x\n}",
	"interval:s:1 { print(@a, 5, 1ms); clear(@a); $x = -0x1f + 0755 - 5e6 << 2 & ~3 | 4 ^ 5; delete(@a[1]); exit(); }",
	"#include <linux/fs.h>\nstruct a { int x; };\nmacro f(x) { x }\n"
	"begin { for ($i : 0..5) { } while (1) { break; } $r = (a=1); }",
	"#define A (B + 1)\n#define B 5 \\\n + 2\n#if defined(A) && B > 3 ? 1 : 0\nenum e { X = A << 2, Y, };\n#else\n#error no\n#endif\n"
	"struct s { unsigned a : 3, b[A]; union { char c[B]; struct s *(*f)(int); } __attribute__((packed, aligned(8))); };\n"
	"typedef struct { long x; } t_t, *t_p;\nbegin { print(A * Y); $p = (struct s *)arg0; }",
	"macro f($a, @m, x) { let $t = $a; $a = x; @m[$t] += x; if (x > 1) { $t } else if (x) { { $a } } else { 0 } }\n"
	"macro g() { 5 } begin { $v = 1; print(f($v, @a, g + f($v, @b, { $w = 2; $w }))); $z = if ($v) { g() } else { g }; f(1, 2, 3); }",
	"end { $a = sizeof(struct foo) + sizeof($b.1.0) + (unsigned long)5 * (pid) - ($x ? 1 : 2);"
	" { { $c = \"\\x41\\101\\\"\"; } } }",
};

static const char *const snippets[] = {
	"{",
	"}",
	"(",
	")",
	"[",
	"]",
	";",
	",",
	"/",
	"\"",
	"\\",
	"$",
	"@",
	"$1",
	"$#",
	"#",
	"/*",
	"*/",
	"//",
	"\n",
	" ",
	"else",
	"if",
	"=",
	"==",
	"?:",
	".",
	"->",
	"0x",
	"1e",
	"08",
	"'",
	"struct",
	"let",
	"config = {",
	"(uint8)",
	"++",
	"--",
	"kprobe:",
	":",
	"/ {",
	"..",
	"\xff",
	"\xe2\x80\x9c",
	"import \"",
	"macro",
	"offsetof(",
	"for (",
	"comptime",
	"typedef",
	"\n#if ",
	"\n#endif\n",
	"\n#define A A\n",
	"enum",
	"union {",
	"__attribute__((",
	": 5",
	"[A]",
};

static u32 rng_state = 12345;

static u32 rnd(u32 n)
{
	rng_state = rng_state * 1664525 + 1013904223;
	return (u32)(((u64)rng_state * n) >> 32);
}

static u32 mutate(char *text, u32 len, u32 cap)
{
	u32 at = rnd(len + 1), n;
	const char *s;

	switch (rnd(6)) {
	case 0: /* another byte */
		if (at < len)
			text[at] = rnd(256);
		return len;
	case 1: /* cut something out */
		n = rnd(MIN(len - at, 12) + 1);
		memmove(text + at, text + at + n, len - at - n);
		return len - n;
	case 2: /* cut the rest off */
		return rnd(4) ? len : at;
	case 3: /* repeat something */
		n = rnd(MIN(len - at, 20) + 1);
		if (len + n > cap)
			return len;
		memmove(text + at + n, text + at, len - at);
		return len + n;
	}
	s = snippets[rnd(ARRAY_CNT(snippets))];
	n = strlen(s);
	if (len + n > cap)
		return len;
	memmove(text + at + n, text + at, len - at);
	memcpy(text + at, s, n);
	return len + n;
}

static void check_span(struct expr *e, void *arg)
{
	const struct source *s = arg;

	if (e->span.begin > e->span.end || e->span.end > s->len)
		BUG("span %u-%u of %u", e->span.begin, e->span.end, s->len);
}

/* Whatever the bytes: no crash, a result that can be printed and copied or an error that can be shown. */
static void try_bytes(const char *text, u32 len)
{
	char *params[] = { "a:b", "\"" };
	struct trial t;

	trial_start(&t, "t.bt", text, len);
	t.c.params = params;
	t.c.param_cnt = ARRAY_CNT(params);
	t.ok = lang_parse(&t.c, t.src);
	if (t.ok != !t.diag.error_cnt)
		BUG("result and errors differ");
	if (t.ok)
		lang_config(&t.c);
	lang_print(&t.c, &t.out);
	vec_for(pr, &t.c.script->probes) {
		expr_walk((*pr)->pred, check_span, &t.diag.sources.at[t.src]);
		block_walk((*pr)->body, check_span, &t.diag.sources.at[t.src]);
		block_copy(&t.arena, (*pr)->body);
	}
	messages(&t);
	trial_end(&t);
}

/* Nothing but snippets. */
static u32 soup(char *text, u32 cap)
{
	u32 len = 0, times = rnd(60);

	if (rnd(2))
		len = sprintf(text, "begin { ");
	while (times--) {
		const char *s = snippets[rnd(ARRAY_CNT(snippets))];

		if (len + strlen(s) > cap)
			break;
		memcpy(text + len, s, strlen(s));
		len += strlen(s);
	}
	return len;
}

static void test_mutations(u32 cnt)
{
	enum { CAP = 2000 };
	struct arena a;

	for (u32 i = 0; i < cnt; i++) {
		const char *sample = samples[i % ARRAY_CNT(samples)];
		u32 len = strlen(sample), times = 1 + rnd(5);
		/* On the heap and of the exact size, so that a byte read too far is seen. */
		char *text = xzalloc(CAP), *exact;
		const char *why;
		u32 at;

		memcpy(text, sample, len);
		if (i % 4 == 3)
			len = soup(text, CAP);
		else
			while (times--)
				len = mutate(text, len, CAP);
		exact = malloc(len ? len : 1);
		memcpy(exact, text, len);
		try_bytes(exact, len);
		if (i % 8 == 0) {
			arena_init(&a);
			fmt_parse(&a, exact, MIN(len, 40), &why, &at);
			arena_release(&a);
		}
		free(exact);
		free(text);
	}
	passed++;
}

/* ---- golden files ---- */

static void run_file(struct trial *t, const char *path, char **text)
{
	const char *name = strrchr(path, '/');
	size_t len;

	if (io_read_file(path, text, &len) < 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	trial_start(t, name ? name + 1 : path, *text, len);
	t->ok = lang_parse(&t->c, t->src) && lang_config(&t->c);
}

static void check_golden(const char *bt, const char *ext, const char *got)
{
	char *path = xasprintf("%.*s.%s", (int)(strlen(bt) - 3), bt, ext), *want;

	if (io_read_file(path, &want, NULL) >= 0) {
		check_text(path, got, want);
		free(want);
	}
	free(path);
}

static void run_golden(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *ent;

	while (d && (ent = readdir(d))) {
		size_t n = strlen(ent->d_name);
		char *path, *text;
		struct trial t;

		if (n < 4 || !str_eq(ent->d_name + n - 3, ".bt"))
			continue;
		path = xasprintf("%s/%s", dir, ent->d_name);
		run_file(&t, path, &text);
		if (t.ok)
			lang_print(&t.c, &t.out);
		check_golden(path, "ast", sbuf_str(&t.out));
		check_golden(path, "err", messages(&t));
		trial_end(&t);
		free(text);
		free(path);
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		struct trial t;
		char *text;
		bool ok;

		run_file(&t, argv[1], &text);
		if (t.ok)
			lang_print(&t.c, &t.out);
		fputs(sbuf_str(&t.out), stdout);
		fputs(messages(&t), stderr);
		ok = t.ok;
		trial_end(&t);
		free(text);
		return !ok;
	}
	if (argc == 3 && str_eq(argv[1], "--golden")) {
		run_golden(argv[2]);
	} else if (argc == 4 && str_eq(argv[1], "--mutate")) {
		rng_state = atoi(argv[2]);
		test_mutations(atoi(argv[3]));
	} else {
		test_tokens();
		test_literals();
		test_precedence();
		test_primaries();
		test_types();
		test_attach();
		test_statements();
		test_recovery();
		test_unsupported();
		test_depth();
		test_copy();
		test_print_types();
		test_config();
		test_formats();
		test_mutations(25000);
	}
	return check_end();
}
