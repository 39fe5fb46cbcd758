/* SPDX-License-Identifier: GPL-2.0-only */
/* sonde inject: makes calls of a kernel function fail, but only under a given chain of callers.
 *
 *   sonde inject kmalloc 'd_alloc_parallel(name->name == "bananas") => path_openat()'
 *
 * The failing function is given by a mode (kmalloc, bio, alloc_page), or is any function that allows error injection, with the
 * value to return (open_ctree=-12). The chain names callers from the inside to the outside, each with a condition on its
 * arguments; before it there may be a condition on the failing call itself: '(gfpflags & 1) => f()'. The syntax of BCC's tool of
 * this name is accepted, too: 'f(struct dentry *parent, const struct qstr *name)(STRCMP(name->name, 'bananas')) => g()'.
 *
 * The result is a script, which --print shows, and which runs like any other. For each thread @inside is the number of functions
 * of the chain, from the outside, that are running; recursive calls of one of them are counted in @again, so that only the
 * outermost return ends it.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cli/cli.h"
#include "kern/feature.h"
#include "arch/abi.h"
#include "kern/types.h"

struct param {
	const char *name, *type;
};

struct link {
	const char *func;         /* NULL: the failing function itself */
	const char *cond;         /* NULL: none */
	vec(struct param) params; /* as declared in the text, or as the kernel's types have them */
};

struct inject {
	struct arena *arena;
	const char *mode, *func, *value;
	struct link target;
	vec(struct link) chain; /* from the inside to the outside */
	vec(const char *) headers;
	double probability;
	s64 count; /* -1: any number */
	const char *spec;
};

static const struct {
	const char *mode, *func, *value;
} modes[] = {
	{ "kmalloc", "should_failslab", "-12" },
	{ "bio", "should_fail_bio", "-5" },
	{ "alloc_page", "should_fail_alloc_page", "1" },
};

static int bad(const char *what, const char *text)
{
	fprintf(stderr, "ERROR: %s%s%s\n", what, text ? ": " : "", text ? text : "");
	fputs("HINT: sonde inject kmalloc 'inner(argument == 1) => outer()'; sonde inject --help\n", stderr);
	return 1;
}

static void usage(FILE *out)
{
	fputs("USAGE: sonde inject [options] MODE CHAIN\n"
	      "Makes calls of a kernel function fail that come from a chain of callers.\n\n"
	      "MODE is kmalloc, bio or alloc_page, or FUNCTION=VALUE for another function that allows error injection\n"
	      "(/sys/kernel/debug/error_injection/list).\n"
	      "CHAIN is FUNCTION(CONDITION) => FUNCTION(CONDITION) => …, from the inside to the outside. Conditions are optional\n"
	      "and use the names of the function's arguments. (CONDITION) => … at the front is a condition on the failing call.\n\n"
	      "  -c COUNT         fail this many times\n"
	      "  -P PROBABILITY   fail with this probability, 0 to 1\n"
	      "  -p PID           only in this process\n"
	      "  -I HEADER        include a header, for types\n"
	      "      --print      print the script and stop\n"
	      "  -v               print the script, then run it\n"
	      "  -q               do not report the number of attached probes\n"
	      "  -h, --help       show this help\n",
	      out);
}

/* ---- reading the chain ---- */

static const char *skip_blank(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* The bracket that closes the one at s, or NULL. */
static const char *closing(const char *s)
{
	u32 depth = 0;
	char quote = 0;

	for (; *s; s++) {
		if (quote) {
			if (*s == '\\' && s[1])
				s++;
			else if (*s == quote)
				quote = 0;
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else if (*s == '(') {
			depth++;
		} else if (*s == ')' && !--depth) {
			return s;
		}
	}
	return NULL;
}

static const char *trimmed(struct arena *a, const char *s, const char *end)
{
	s = skip_blank(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	return end > s ? arena_strndup(a, s, end - s) : "";
}

/* "const struct qstr *name": only words and asterisks, the last word is the name. */
static bool read_declaration(struct arena *a, const char *text, struct param *p)
{
	const char *name = text + strlen(text);
	u32 words = 0;

	for (const char *s = text; *s; s++) {
		if (!isalnum((unsigned char)*s) && *s != '_' && *s != '*' && !isspace((unsigned char)*s))
			return false;
		if ((isalnum((unsigned char)*s) || *s == '_') && (s == text || (!isalnum((unsigned char)s[-1]) && s[-1] != '_')))
			words++;
	}
	while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	if (words < 2 || !*name)
		return false;
	p->name = arena_strdup(a, name);
	p->type = trimmed(a, text, name);
	/* Qualifiers are not needed here, and casts of the language do not have them. */
	while (str_starts(p->type, "const "))
		p->type = skip_blank(p->type + 6);
	return true;
}

static bool read_declarations(struct arena *a, const char *text, struct link *l)
{
	const char *end;

	for (const char *s = text; *s; s = *end ? end + 1 : end) {
		struct param p;

		end = s + strcspn(s, ",");
		if (!read_declaration(a, trimmed(a, s, end), &p))
			return false;
		avec_push(a, &l->params, p);
	}
	return true;
}

/* One link of the chain at *s. */
static const char *read_link(struct inject *in, const char **s, bool may_be_target)
{
	const char *at = skip_blank(*s), *name = at, *end, *text;
	struct link l = {};

	while (isalnum((unsigned char)*at) || *at == '_' || *at == '.')
		at++;
	if (at > name)
		l.func = arena_strndup(in->arena, name, at - name);
	at = skip_blank(at);
	if (!l.func && !may_be_target)
		return "the name of a function is missing";
	if (*at != '(')
		return l.func ? "a function is written with parentheses: f()" : "this is not a chain of calls";
	end = closing(at);
	if (!end)
		return "a bracket is not closed";
	text = trimmed(in->arena, at + 1, end);
	at = skip_blank(end + 1);
	if (*text && (!l.func || !read_declarations(in->arena, text, &l))) {
		l.cond = text;
		l.params.cnt = 0;
	}
	if (*at == '(') {
		if (l.cond)
			return "a function can have only one condition";
		end = closing(at);
		if (!end)
			return "a bracket is not closed";
		l.cond = trimmed(in->arena, at + 1, end);
		at = skip_blank(end + 1);
	}
	if (l.func)
		avec_push(in->arena, &in->chain, l);
	else
		in->target.cond = l.cond;
	*s = at;
	return NULL;
}

static const char *read_chain(struct inject *in)
{
	const char *s = in->spec, *why;

	for (bool first = true;; first = false) {
		why = read_link(in, &s, first);
		if (why)
			return why;
		if (!*s)
			return NULL;
		if (!str_starts(s, "=>"))
			return "functions are joined by =>";
		s += 2;
	}
}

/* ---- writing the script ---- */

/* Names of arguments that the text did not declare. */
static void find_params(struct inject *in, struct link *l, const char *func)
{
	struct btf_func f;

	if (l->params.cnt || !l->cond || !kern_btf_func(NULL, func, &f))
		return;
	for (u32 i = 0; i < f.param_cnt && f.params[i].type->size <= 8; i++)
		avec_push(in->arena, &l->params, (struct param){ f.params[i].name, type_str(in->arena, f.params[i].type) });
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The condition in the language: arguments are variables, 'text' is "text", STRCMP(a, b) compares. */
static void write_cond(const struct link *l, const char *cond, struct sbuf *out)
{
	for (const char *s = cond; *s;) {
		u32 len = 0;
		bool is_param = false;

		if (*s == '"' || *s == '\'') {
			const char *end = s + 1;

			while (*end && *end != *s)
				end += *end == '\\' && end[1] ? 2 : 1;
			sbuf_printf(out, "\"%.*s\"", (int)(end - s - 1), s + 1);
			s = *end ? end + 1 : end;
			continue;
		}
		if (str_starts(s, "STRCMP(") && (s == cond || !is_word(s[-1]))) {
			const char *end = closing(s + 6), *comma = end ? memchr(s, ',', end - s) : NULL;

			if (comma) {
				struct sbuf part = {};

				sbuf_printf(&part, "%.*s", (int)(comma - s - 7), s + 7);
				sbuf_puts(out, "(str(");
				write_cond(l, sbuf_str(&part), out);
				sbuf_reset(&part);
				sbuf_printf(&part, "%.*s", (int)(end - comma - 1), comma + 1);
				sbuf_puts(out, ") ==");
				write_cond(l, sbuf_str(&part), out);
				sbuf_puts(out, ")");
				sbuf_release(&part);
				s = end + 1;
				continue;
			}
		}
		while (is_word(s[len]))
			len++;
		if (!len) {
			sbuf_putc(out, *s++);
			continue;
		}
		vec_for(p, &l->params)
			is_param |= strlen(p->name) == len && !memcmp(p->name, s, len);
		/* the name of a member is not the name of an argument */
		if (s > cond && (s[-1] == '.' || s[-1] == '$' || s[-1] == '@' || (s[-1] == '>' && s - 1 > cond && s[-2] == '-')))
			is_param = false;
		sbuf_printf(out, "%s%.*s", is_param ? "$" : "", (int)len, s);
		s += len;
	}
}

static bool mentions(const char *cond, const char *name)
{
	u32 len = strlen(name);

	for (const char *s = cond; (s = strstr(s, name)); s += len)
		if ((s == cond || !is_word(s[-1])) && !is_word(s[len]))
			return true;
	return false;
}

/* Variables for the arguments that the condition names, and the condition's `if`, or just the start of a block. */
static void write_if(const struct link *l, const char *indent, struct sbuf *out)
{
	for (u32 i = 0; l->cond && i < l->params.cnt && i < abi.arg_cnt; i++)
		if (mentions(l->cond, l->params.at[i].name))
			sbuf_printf(out, "%s$%s = (%s)arg%u;\n", indent, l->params.at[i].name, l->params.at[i].type, i);
	if (!l->cond) {
		sbuf_printf(out, "%s{\n", indent);
		return;
	}
	sbuf_printf(out, "%sif (", indent);
	write_cond(l, l->cond, out);
	sbuf_puts(out, ") {\n");
}

static void write_target(const struct inject *in, struct sbuf *out)
{
	if (in->chain.cnt)
		sbuf_printf(out, "kprobe:%s /@inside[tid] == %u/\n{\n", in->func, in->chain.cnt);
	else
		sbuf_printf(out, "kprobe:%s\n{\n", in->func);
	write_if(&in->target, "\t", out);
	if (in->probability < 1)
		sbuf_printf(out, "\t\tif (rand %% 1000000 >= %u) { return; }\n", (u32)(in->probability * 1e6 + 0.5));
	if (in->count >= 0)
		sbuf_printf(out, "\t\t$n = @tries++;\n\t\tif ($n >= %lld) { return; }\n", (long long)in->count);
	sbuf_printf(out, "\t\t@failed++;\n\t\toverride(%s);\n\t}\n}\n\n", in->value);
}

static void write_script(const struct inject *in, struct sbuf *out)
{
	sbuf_printf(out, "// sonde inject %s '%s'\n", in->mode, in->spec);
	vec_for(h, &in->headers)
		sbuf_printf(out, "#include <%s>\n", *h);
	sbuf_puts(out, "config = { print_maps_on_exit = 0 }\n\n");
	/* Numbers count from the outside. */
	for (u32 i = 0; i < in->chain.cnt; i++) {
		const struct link *l = &in->chain.at[in->chain.cnt - 1 - i];

		sbuf_printf(out, "kprobe:%s\n{\n\tif (@inside[tid] == %u) {\n", l->func, i);
		write_if(l, "\t\t", out);
		sbuf_printf(
			out,
			"\t\t\t@inside[tid] = %u;\n\t\t}\n\t} else if (@inside[tid] > %u) {\n\t\t@again[tid, %u]++;\n\t}\n}\n\n",
			i + 1, i, i);
		sbuf_printf(out, "kretprobe:%s /@inside[tid] > %u/\n{\n", l->func, i);
		sbuf_printf(out, "\tif (@again[tid, %u] > 1) {\n\t\t@again[tid, %u]--;\n", i, i);
		sbuf_printf(out, "\t} else if (@again[tid, %u] == 1) {\n\t\tdelete(@again, (tid, %u));\n\t} else {\n", i, i);
		if (i)
			sbuf_printf(out, "\t\t@inside[tid] = %u;\n\t}\n}\n\n", i);
		else
			sbuf_puts(out, "\t\tdelete(@inside, tid);\n\t}\n}\n\n");
	}
	write_target(in, out);
	sbuf_printf(out, "end\n{\n\tprintf(\"%%d calls of %s failed\\n\", @failed);\n}\n", in->mode);
}

/* ---- the command ---- */

static bool read_number(const char *text, double lo, double hi, double *v)
{
	char *end;

	*v = strtod(text, &end);
	return end > text && !*end && *v >= lo && *v <= hi;
}

static const char *read_mode(struct inject *in, const char *text)
{
	const char *eq = strchr(text, '=');
	char *end;

	in->mode = text;
	for (u32 i = 0; i < ARRAY_CNT(modes); i++) {
		if (str_eq(text, modes[i].mode)) {
			in->func = modes[i].func;
			in->value = modes[i].value;
			return NULL;
		}
	}
	if (!eq || eq == text)
		return "MODE must be kmalloc, bio, alloc_page or FUNCTION=VALUE";
	in->func = in->mode = arena_strndup(in->arena, text, eq - text);
	for (const char *s = in->func; *s; s++)
		if (!is_word(*s) && *s != '.')
			return "this is not the name of a function";
	in->value = eq + 1;
	errno = 0;
	strtoll(in->value, &end, 0);
	return end == in->value || *end || errno ? "the value is not a number" : NULL;
}

/* -1 to go on, or the exit status. */
static int read_options(struct inject *in, struct cli *cli, int argc, char **argv, bool *print)
{
	static const struct option longs[] = { { "print", no_argument, NULL, 'S' }, { "help", no_argument, NULL, 'h' }, {} };
	const char *why;
	double v;
	int got;

	while ((got = getopt_long(argc, argv, "c:P:p:I:vqh", longs, NULL)) != -1) {
		switch (got) {
		case 'c':
			if (!read_number(optarg, -1, 1e15, &v) || v != (s64)v)
				return bad("-c takes a count", optarg);
			in->count = v;
			break;
		case 'P':
			if (!read_number(optarg, 0, 1, &in->probability))
				return bad("-P takes a probability between 0 and 1", optarg);
			break;
		case 'p':
			if (!read_number(optarg, 1, UINT32_MAX, &v) || v != (u32)v)
				return bad("-p takes a process ID", optarg);
			cli->run.pid = v;
			break;
		case 'I':
			avec_push(in->arena, &in->headers, optarg);
			break;
		case 'v':
			cli->run.verbose = true;
			break;
		case 'q':
			cli->run.quiet = true;
			break;
		case 'S':
			*print = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			fputs("HINT: sonde inject --help\n", stderr);
			return 1;
		}
	}
	if (optind >= argc)
		return bad("MODE is missing: kmalloc, bio, alloc_page or FUNCTION=VALUE", NULL);
	why = read_mode(in, argv[optind]);
	if (why)
		return bad(why, argv[optind]);
	if (optind + 1 >= argc)
		return bad("CHAIN is missing: the calls that lead to the failing one", NULL);
	if (optind + 2 < argc)
		return bad("CHAIN must be one argument, in quotes", argv[optind + 2]);
	in->spec = argv[optind + 1];
	return -1;
}

int inject_main(int argc, char **argv)
{
	struct cli cli = { .unsafe = true };
	struct arena arena;
	struct inject in = { .arena = &arena, .probability = 1, .count = -1 };
	struct sbuf script = {};
	bool print = false;
	const char *why;
	int status;

	arena_init(&arena);
	status = read_options(&in, &cli, argc, argv, &print);
	if (status >= 0)
		goto out;
	status = 1;
	why = read_chain(&in);
	if (why) {
		bad(why, in.spec);
		goto out;
	}
	find_params(&in, &in.target, in.func);
	vec_for(l, &in.chain)
		find_params(&in, l, l->func);
	write_script(&in, &script);
	if (print || cli.run.verbose)
		fputs(sbuf_str(&script), print ? stdout : stderr);
	if (print) {
		status = 0;
	} else if (!kern_has(KF_OVERRIDE)) {
		fputs("ERROR: this kernel cannot make functions fail: it was built without CONFIG_BPF_KPROBE_OVERRIDE, or this user is not permitted to\n",
		      stderr);
	} else {
		cli.program = sbuf_str(&script);
		status = cli_run(&cli);
	}
out:
	sbuf_release(&script);
	arena_release(&arena);
	return status;
}
