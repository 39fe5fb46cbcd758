/* SPDX-License-Identifier: GPL-2.0-only */
/* Help, manual page and reference, printed from the tables in the source, so that they always match the program. */
#include "cli/cli.h"
#include "lang/fn.h"
#include "image/config.h"
#include "out/sink.h"
#include "lang/provider.h"

struct doc_row {
	const char *name, *doc;
};

static const struct doc_row examples[] = {
	{ "sonde -e 't:syscalls:sys_enter_* { @[comm] = count(); }'", "count system calls by process, until Ctrl-C" },
	{ "sonde -e 't:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }'",
	  "show files as they are opened" },
	{ "sonde -e 'u:libc:malloc /pid == cpid/ { @bytes = hist(arg0); }' -c ls",
	  "show a histogram of the sizes that ls allocates" },
	{ "sonde -lv 'tracepoint:sched:*'", "list the scheduler's tracepoints and their arguments" },
	{ "sonde --check script.bt", "check a script without running it; needs no privileges" },
};

/* docs/check compares this table with the calls of getenv() in the source. */
static const struct doc_row environment[] = {
	{ "SONDE_NAME, BPFTRACE_NAME",
	  "set the configuration variable NAME, in upper case; they override the script, and SONDE_NAME overrides BPFTRACE_NAME" },
	{ "SONDE_COLOR, BPFTRACE_COLOR", "colour of messages: auto (the default: on a terminal), always or never" },
	{ "SONDE_BTF, BPFTRACE_BTF", "read the kernel's types from this file, as --btf does" },
	{ "CPATH", "directories that are searched for C headers before those of the system" },
	{ "DEBUGINFOD_URLS", "if set, debuginfod-find fetches debug files that are not on this machine" },
	{ "PATH", "where -c and probes in programs (uprobe:bash:…) find a program by its name" },
	{ "SUDO_UID", "imported files may belong to this user when Sonde runs as root" },
	{ "SONDE_TEST_MACHINE", "directory that describes a made-up machine; for the tests of Sonde" },
};

static const struct doc_row files[] = {
	{ "/sys/kernel/btf/vmlinux", "the kernel's types" },
	{ "/sys/kernel/tracing",
	  "tracefs: tracepoints and traceable functions; if it is not mounted, Sonde mounts it for itself only" },
	{ "/proc/kallsyms", "names and addresses of kernel symbols" },
	{ "/lib/modules/RELEASE/build", "the kernel's C headers" },
	{ "/usr/lib/debug", "debug files of programs and libraries" },
	{ "/tmp/perf-PID.map", "names of functions that a process compiled at run time" },
	{ "/sys/fs/bpf", "pinned iterators" },
	{ "/run/sonde/rcu_expedited",
	  "who has /sys/kernel/rcu_expedited on while many probes are detached; the next run turns it back if one was killed" },
};

static const struct doc_row exit_status[] = {
	{ "0",
	  "tracing ended: by exit(), by a signal such as Ctrl-C, or with the process of -c or -p. The exit status of that process has no effect" },
	{ "N", "the script called exit(N)" },
	{ "1",
	  "the command line or the script is wrong, the script could not run, assert() failed, a test of --test failed, --fmt --check found a script "
	  "that would change, or sonde type --diff found a difference" },
	{ "3", "with --strict: something was lost, and the messages at the end report what" },
};

static void option_head(const struct option_info *o, struct sbuf *out)
{
	if (o->letter)
		sbuf_printf(out, "-%c", o->letter);
	if (*o->name)
		sbuf_printf(out, "%s--%s", o->letter ? ", " : "", o->name);
	if (*o->arg)
		sbuf_printf(out, " %s", o->arg);
}

void format_names(struct sbuf *out)
{
	for (u32 i = 0; sink_at(i); i++)
		sbuf_printf(out, "%s%s", !i ? "" : sink_at(i + 1) ? ", " : " or ", sink_at(i)->name);
}

static void option_doc(const struct option_info *o, struct sbuf *out)
{
	sbuf_puts(out, o->doc);
	if (o->id == OPT_FORMAT) {
		sbuf_puts(out, ": ");
		format_names(out);
	}
}

void help_print(struct sbuf *out)
{
	sbuf_puts(out,
		  "Usage:\n"
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
		sbuf_printf(out, "    %-22s ", sbuf_str(&head));
		option_doc(&option_table[i], out);
		sbuf_putc(out, '\n');
		sbuf_release(&head);
	}
	sbuf_puts(out, "\nExamples:\n");
	for (u32 i = 0; i < ARRAY_CNT(examples); i++)
		sbuf_printf(out, "    %s\n        %s\n", examples[i].name, examples[i].doc);
}

static void print_options(struct sbuf *out)
{
	sbuf_puts(out, "# Options\n\n| option | meaning |\n|---|---|\n");
	for (u32 i = 0; i < option_cnt; i++) {
		sbuf_puts(out, "| `");
		option_head(&option_table[i], out);
		sbuf_puts(out, "` | ");
		option_doc(&option_table[i], out);
		sbuf_puts(out, " |\n");
	}
}

static void print_functions(struct sbuf *out)
{
	const struct fn *fn;

	sbuf_puts(
		out,
		"# Builtins and functions\n\nA builtin may be written with or without `()`. In a signature, `?` marks the first optional parameter,\n"
		"`lit` and `strlit` are literals, and `…` stands for any number of further arguments.\n");
	for (u32 i = 0; (fn = fn_at(i)); i++) {
		sbuf_printf(out, "\n## %s\n\n`%s%s`", fn->name, fn->name, fn->sig);
		if (fn->flags & FN_WORD)
			sbuf_puts(out, " (a builtin)");
		if (fn->flags & FN_AGG)
			sbuf_puts(out, " (a map function: only as `@m[key] = …`)");
		if (fn->flags & FN_UNSAFE)
			sbuf_puts(out, " (needs `--unsafe`)");
		if (fn->flags & FN_ASYNC)
			sbuf_puts(out, " (takes effect in user space, when the event is read)");
		sbuf_printf(out, "\n\n%c%s.\n\n```\n%s\n```\n",
			    fn->doc[0] >= 'a' && fn->doc[0] <= 'z' ? fn->doc[0] - 32 : fn->doc[0], fn->doc + 1, fn->example);
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

	sbuf_puts(
		out,
		"# Configuration variables\n\nA script sets them by `config = { name = value; … }`. The environment variables `SONDE_NAME` and `BPFTRACE_NAME` "
		"override the script.\n\n"
		"| name | default | meaning |\n|---|---|---|\n");
	for (u32 i = 0; i < cnt; i++)
		sbuf_printf(out, "| %s | %s | %s |\n", rows[i].name, rows[i].def, rows[i].doc);
}

/* Escapes the characters that are special in roff; its input is ASCII. */
static void roff(struct sbuf *out, const char *s)
{
	static const char dots[] = "…";

	if (*s == '.')
		sbuf_puts(out, "\\&");
	for (; *s; s++) {
		if (str_starts(s, dots)) {
			sbuf_puts(out, "...");
			s += strlen(dots) - 1;
			continue;
		}
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

static void roff_item(struct sbuf *out, const char *name, const char *doc)
{
	sbuf_puts(out, ".TP\n.B ");
	roff(out, name);
	sbuf_putc(out, '\n');
	roff(out, doc);
	sbuf_putc(out, '\n');
}

static void roff_rows(struct sbuf *out, const struct doc_row *rows, u32 cnt)
{
	for (u32 i = 0; i < cnt; i++)
		roff_item(out, rows[i].name, rows[i].doc);
}

static void man_options(struct sbuf *out)
{
	struct sbuf head = {}, doc = {};

	sbuf_puts(out, ".SH OPTIONS\n");
	for (u32 i = 0; i < option_cnt; i++) {
		sbuf_reset(&head);
		sbuf_reset(&doc);
		option_head(&option_table[i], &head);
		option_doc(&option_table[i], &doc);
		roff_item(out, sbuf_str(&head), sbuf_str(&doc));
	}
	sbuf_release(&head);
	sbuf_release(&doc);
}

static void man_tables(struct sbuf *out)
{
	const struct provider *p;
	const struct fn *fn;

	sbuf_puts(out, ".SH COMMANDS\nEach command has its own \\-\\-help.\n");
	for (u32 i = 0; command_at(i); i++) {
		sbuf_puts(out, ".TP\n.B sonde ");
		roff(out, command_at(i)->usage);
		sbuf_putc(out, '\n');
		roff(out, command_at(i)->doc);
		sbuf_putc(out, '\n');
	}
	sbuf_puts(out, ".SH PROBES\n");
	for (u32 i = 0; (p = provider_at(i)); i++)
		roff_item(out, p->spec, p->doc);
	sbuf_puts(out, ".SH FUNCTIONS\n");
	for (u32 i = 0; (fn = fn_at(i)); i++) {
		sbuf_puts(out, ".TP\n.B ");
		roff(out, fn->name);
		roff(out, fn->sig);
		sbuf_putc(out, '\n');
		roff(out, fn->doc);
		sbuf_putc(out, '\n');
	}
}

static void man_config(struct sbuf *out)
{
	u32 cnt;
	const struct config_info *rows = config_table(&cnt);

	sbuf_puts(
		out,
		".SH CONFIGURATION\nA script sets these variables by\n.B config = { name = value; ... }\nbefore its first probe. "
		"The environment can set them, too; see ENVIRONMENT. The default is in parentheses.\n");
	for (u32 i = 0; i < cnt; i++) {
		sbuf_printf(out, ".TP\n.BR %s \" (", rows[i].name);
		roff(out, rows[i].def);
		sbuf_puts(out, ")\"\n");
		roff(out, rows[i].doc);
		sbuf_putc(out, '\n');
	}
}

static void print_man(struct sbuf *out)
{
	sbuf_puts(
		out,
		".TH SONDE 8 \"\" \"sonde " SONDE_VERSION
		"\" \"System administration\"\n.SH NAME\nsonde \\- a tracer for Linux\n.SH SYNOPSIS\n"
		".B sonde\n[options] FILE [parameters]\n.br\n.B sonde\n[options] \\-e PROGRAM [parameters]\n.br\n.B sonde\n\\-l [PATTERN]\n"
		".br\n.B sonde\nCOMMAND [options]\n"
		".SH DESCRIPTION\nSonde reads the bpftrace language, compiles it to BPF, attaches it to the kernel and to programs, and shows what happens. "
		"If FILE is \\-, the script is read from standard input.\n");
	man_options(out);
	man_tables(out);
	man_config(out);
	sbuf_puts(out, ".SH EXIT STATUS\n");
	roff_rows(out, exit_status, ARRAY_CNT(exit_status));
	sbuf_puts(out, ".SH ENVIRONMENT\n");
	roff_rows(out, environment, ARRAY_CNT(environment));
	sbuf_puts(out, ".SH FILES\n");
	roff_rows(out, files, ARRAY_CNT(files));
	sbuf_puts(out, ".SH EXAMPLES\n");
	for (u32 i = 0; i < ARRAY_CNT(examples); i++) {
		sbuf_puts(out, ".TP\n");
		roff(out, examples[i].doc);
		sbuf_puts(out, "\n.EX\n");
		roff(out, examples[i].name);
		sbuf_puts(out, "\n.EE\n");
	}
	sbuf_puts(out, ".SH SEE ALSO\nbpf(2), perf_event_open(2)\n");
}

static const struct {
	const char *name;
	void (*print)(struct sbuf *out);
} pages[] = {
	{ "man", print_man },       { "functions", print_functions }, { "probes", print_probes },
	{ "config", print_config }, { "options", print_options },
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
