/* Help, man page and reference: printed from the tables, so that they cannot differ from what the program does. */
#include "base/diag.h"
#include "cli/cli.h"
#include "fn/fn.h"
#include "lang/config.h"
#include "probe/provider.h"

static void option_head(const struct option_info *o, struct sbuf *out)
{
	if (o->letter)
		sbuf_printf(out, "-%c", o->letter);
	if (*o->name)
		sbuf_printf(out, "%s--%s", o->letter ? ", " : "", o->name);
	if (*o->arg)
		sbuf_printf(out, " %s", o->arg);
}

void help_print(struct sbuf *out)
{
	sbuf_puts(out, "Usage:\n"
		       "    sonde [options] FILE [parameters]\n"
		       "    sonde [options] -e 'PROGRAM' [parameters]\n"
		       "    sonde [options] - [parameters]          (the program comes from standard input)\n"
		       "    sonde -l [PATTERN]                      (lists probes)\n");
	for (u32 i = 0; command_at(i); i++)
		sbuf_printf(out, "    sonde %-33s (%s)\n", command_at(i)->usage, command_at(i)->doc);
	sbuf_puts(out, "\nOptions:\n");
	for (u32 i = 0; i < option_cnt; i++) {
		struct sbuf head = {};

		option_head(&option_table[i], &head);
		sbuf_printf(out, "    %-22s %s\n", sbuf_str(&head), option_table[i].doc);
		sbuf_release(&head);
	}
	sbuf_puts(out, "\nExamples:\n"
		       "    sonde -e 't:syscalls:sys_enter_* { @[comm] = count(); }'\n"
		       "        count system calls by process, until Ctrl-C\n"
		       "    sonde -e 't:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }'\n"
		       "        show files as they are opened\n"
		       "    sonde -l 'tracepoint:sched:*'\n"
		       "        list the scheduler's tracepoints\n");
}

static void print_options(struct sbuf *out)
{
	sbuf_puts(out, "# Options\n\n| option | meaning |\n|---|---|\n");
	for (u32 i = 0; i < option_cnt; i++) {
		sbuf_puts(out, "| `");
		option_head(&option_table[i], out);
		sbuf_printf(out, "` | %s |\n", option_table[i].doc);
	}
}

static void print_functions(struct sbuf *out)
{
	const struct fn *fn;

	sbuf_puts(out, "# Builtins and functions\n\nA word without parentheses may be written with or without `()`. `?` marks the first optional parameter,\n"
		       "`lit` and `strlit` are literals, `…` means any number more.\n");
	for (u32 i = 0; (fn = fn_at(i)); i++) {
		sbuf_printf(out, "\n## %s\n\n`%s%s`", fn->name, fn->name, fn->sig);
		if (fn->flags & FN_WORD)
			sbuf_puts(out, " (a builtin)");
		if (fn->flags & FN_AGG)
			sbuf_puts(out, " (a map function: only as `@m[key] = …`)");
		if (fn->flags & FN_UNSAFE)
			sbuf_puts(out, " (needs `--unsafe`)");
		if (fn->flags & FN_ASYNC)
			sbuf_puts(out, " (done in user space, when the event arrives)");
		sbuf_printf(out, "\n\n%c%s.\n\n```\n%s\n```\n", fn->doc[0] >= 'a' && fn->doc[0] <= 'z' ? fn->doc[0] - 32 : fn->doc[0], fn->doc + 1,
			    fn->example);
	}
}

static void print_probes(struct sbuf *out)
{
	const struct provider *p;

	sbuf_puts(out, "# Probe types\n");
	for (u32 i = 0; (p = provider_at(i)); i++) {
		sbuf_printf(out, "\n## %s\n\n`%s`", p->name, p->spec);
		if (p->alias)
			sbuf_printf(out, "; short: `%s`", p->alias);
		sbuf_printf(out, "\n\n%s\n\n```\n%s\n```\n", p->doc, p->example);
	}
}

static void print_config(struct sbuf *out)
{
	u32 cnt;
	const struct config_info *rows = config_table(&cnt);

	sbuf_puts(out, "# Configuration variables\n\nIn the script: `config = { name = value; … }`; in the environment: `SONDE_NAME` or `BPFTRACE_NAME`, which win.\n\n"
		       "| name | default | meaning |\n|---|---|---|\n");
	for (u32 i = 0; i < cnt; i++)
		sbuf_printf(out, "| %s | %s | %s |\n", rows[i].name, rows[i].def, rows[i].doc);
}

static void print_errors(struct sbuf *out)
{
	sbuf_puts(out, "# Errors and warnings\n\n| tag | meaning |\n|---|---|\n");
	for (u32 i = 0; i < DIAG_TAG_CNT; i++)
		sbuf_printf(out, "| %s | %s |\n", diag_tag_name(i), diag_tag_summary(i));
}

/* roff wants its own characters escaped */
static void roff(struct sbuf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\')
			sbuf_puts(out, "\\e");
		else if (*s == '-')
			sbuf_puts(out, "\\-");
		else if (*s == '\'')
			sbuf_puts(out, "\\(aq");
		else
			sbuf_putc(out, *s);
	}
}

static void print_man(struct sbuf *out)
{
	const struct provider *p;
	const struct fn *fn;

	sbuf_puts(out, ".TH SONDE 8 \"\" \"sonde " SONDE_VERSION "\" \"System administration\"\n.SH NAME\nsonde \\- a tracer for Linux\n.SH SYNOPSIS\n"
		       ".B sonde\n[options] FILE [parameters]\n.br\n.B sonde\n[options] \\-e PROGRAM [parameters]\n.br\n.B sonde\n\\-l [PATTERN]\n"
		       ".SH DESCRIPTION\nSonde reads the bpftrace language, compiles it to BPF, attaches it to the kernel and to programs, and shows what happens.\n"
		       ".SH OPTIONS\n");
	for (u32 i = 0; i < option_cnt; i++) {
		struct sbuf head = {};

		option_head(&option_table[i], &head);
		sbuf_puts(out, ".TP\n.B ");
		roff(out, sbuf_str(&head));
		sbuf_putc(out, '\n');
		roff(out, option_table[i].doc);
		sbuf_putc(out, '\n');
		sbuf_release(&head);
	}
	sbuf_puts(out, ".SH COMMANDS\n");
	for (u32 i = 0; command_at(i); i++) {
		sbuf_puts(out, ".TP\n.B sonde ");
		roff(out, command_at(i)->usage);
		sbuf_putc(out, '\n');
		roff(out, command_at(i)->doc);
		sbuf_puts(out, "; its own \\-\\-help says more\n");
	}
	sbuf_puts(out, ".SH PROBES\n");
	for (u32 i = 0; (p = provider_at(i)); i++) {
		sbuf_puts(out, ".TP\n.B ");
		roff(out, p->spec);
		sbuf_putc(out, '\n');
		roff(out, p->doc);
		sbuf_putc(out, '\n');
	}
	sbuf_puts(out, ".SH FUNCTIONS\n");
	for (u32 i = 0; (fn = fn_at(i)); i++) {
		sbuf_puts(out, ".TP\n.B ");
		roff(out, fn->name);
		roff(out, fn->sig);
		sbuf_putc(out, '\n');
		roff(out, fn->doc);
		sbuf_putc(out, '\n');
	}
	sbuf_puts(out, ".SH EXIT STATUS\n0, or what exit(n) said; 1 when the script is wrong or could not run.\n.SH SEE ALSO\nbpf(2), perf_event_open(2)\n");
}

static const struct {
	const char *name;
	void (*print)(struct sbuf *out);
} pages[] = {
	{ "man", print_man }, { "functions", print_functions }, { "probes", print_probes },
	{ "config", print_config }, { "options", print_options }, { "errors", print_errors },
};

bool doc_print(const char *page, struct sbuf *out)
{
	for (u32 i = 0; i < ARRAY_CNT(pages); i++) {
		if (str_eq(pages[i].name, page)) {
			pages[i].print(out);
			return true;
		}
	}
	return false;
}
