/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "kern/feature.h"
#include "c/headers.h"
#include "kern/tracefs.h"
#include "kern/types.h"
#include "out/sink.h"
#include "sym/debugfile.h"

const struct option_info option_table[] = {
#define OPTION_ROW(id, letter, name, arg, doc) { id, letter, name, arg, doc },
#include "cli/option.def"
#undef OPTION_ROW
};
const u32 option_cnt = ARRAY_CNT(option_table);

/* Options of bpftrace that are not supported, and why. */
static const struct {
	const char *name, *hint;
} elsewhere[] = {
	{ "emit-elf", "-d bpf prints the programs" },
	{ "emit-llvm", "LLVM is not used; -d ir prints the intermediate code" },
	{ "verify-llvm-ir", "LLVM is not used; the intermediate code is always verified" },
	{ "aot", "scripts are compiled when they start, which takes milliseconds; --check reports whether a script compiles" },
};

/* Stages, and bpftrace's names for similar ones. */
static const struct {
	const char *word;
	u32 stages;
} debug_words[] = {
	{ "ast", DEBUG_AST },        { "types", DEBUG_TYPES }, { "ir", DEBUG_IR },
	{ "bpf", DEBUG_BPF },        { "parse", DEBUG_AST },   { "codegen", DEBUG_IR },
	{ "codegen-opt", DEBUG_IR }, { "dis", DEBUG_BPF },     { "all", DEBUG_AST | DEBUG_TYPES | DEBUG_IR | DEBUG_BPF },
};

static bool parse_stages(const char *text, u32 *stages)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		u32 found = 0;

		for (u32 i = 0; i < ARRAY_CNT(debug_words); i++)
			if (strlen(debug_words[i].word) == n && !strncmp(debug_words[i].word, text, n))
				found = debug_words[i].stages;
		if (!found) {
			fprintf(stderr, "ERROR: -d takes ast, types, ir, bpf or all, not '%.*s'\n", (int)n, text);
			if ((n == 8 && !strncmp(text, "verifier", n)) || (n == 6 && !strncmp(text, "libbpf", n)))
				fputs("HINT: -v shows the verifier's log when it refuses a program\n", stderr);
			return false;
		}
		*stages |= found;
		text += n + (text[n] == ',');
	}
	return true;
}

static bool parse_pid(const char *option, const char *text, u32 *pid)
{
	char *end, path[64];
	unsigned long v = strtoul(text, &end, 0);

	if (*end || !*text || v == 0 || v > 0x400000) {
		fprintf(stderr, "ERROR: %s takes a process ID, not '%s'\n", option, text);
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%lu", v);
	if (access(path, F_OK) && access("/proc/self", F_OK)) {
		fprintf(stderr, "ERROR: cannot look for process %lu: /proc is not mounted\n", v);
		fputs("HINT: mount it: mount -t proc proc /proc\n", stderr);
		return false;
	}
	if (access(path, F_OK)) {
		fprintf(stderr, "ERROR: there is no process %lu\n", v);
		return false;
	}
	*pid = v;
	return true;
}

static bool take_unwind_pid(struct cli *cli, const char *text)
{
	static u32 pids[256];
	struct session_opts *run = &cli->run;

	if (run->unwind_pid_cnt == ARRAY_CNT(pids)) {
		fprintf(stderr, "ERROR: --dwarf-pid can be given at most %u times\n", (u32)ARRAY_CNT(pids));
		return false;
	}
	run->unwind_pids = pids;
	return parse_pid("--dwarf-pid", text, &pids[run->unwind_pid_cnt]) && ++run->unwind_pid_cnt;
}

/* "1%", "0.25" → millionths */
static bool parse_percent(const char *text, u32 *ppm)
{
	char *end;
	double v;

	if (!strchr("0123456789.", *text))
		return false;
	v = strtod(text, &end);
	end += *end == '%';
	*ppm = v > 0 && v <= 100 ? (u32)(v * 10000 + 0.5) : 0;
	return !*end && *ppm;
}

static int usage(const char *msg)
{
	if (msg)
		fprintf(stderr, "ERROR: %s\n", msg);
	fputs("HINT: sonde --help shows how it is used\n", stderr);
	return 1;
}

static int bad_format(void)
{
	struct sbuf b = {};

	sbuf_puts(&b, "-f takes ");
	format_names(&b);
	usage(sbuf_str(&b));
	sbuf_release(&b);
	return 1;
}

static int cannot_read(const char *path)
{
	fprintf(stderr, "ERROR: cannot read %s: %s\n", path, strerror(errno));
	return 1;
}

static bool is_directory(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return true;
	fprintf(stderr, "ERROR: -I takes a directory: %s: %s\n", path, strerror(stat(path, &st) ? errno : ENOTDIR));
	return false;
}

/* Of a command whose options were taken for ours: sonde -c ls -la. */
static void hint_quotes(const struct cli *cli, char **argv)
{
	const char *next = NULL;

	for (u32 i = 1; cli->run.cmd && argv[i] && !next; i++)
		next = argv[i] == cli->run.cmd ? argv[i + 1] : NULL;
	if (next && *next == '-')
		fprintf(stderr, "HINT: a command with arguments is quoted: -c '%s %s'\n", cli->run.cmd, next);
}

static int print_text(void (*fn)(struct sbuf *))
{
	struct sbuf b = {};

	fn(&b);
	fputs(sbuf_str(&b), stdout);
	sbuf_release(&b);
	return 0;
}

int help_main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? command_find(argv[1]) : NULL;
	char *ask[] = { argv[1], "--help", NULL };

	if (argc < 2 || (c && c->run == help_main))
		return print_text(help_print);
	if (c)
		return c->run(2, ask);
	fprintf(stderr, "ERROR: there is no command %s\n", argv[1]);
	return usage(NULL);
}

static int print_doc(const char *page)
{
	struct sbuf b = {};
	bool ok = doc_print(page, &b);

	fputs(sbuf_str(&b), stdout);
	sbuf_release(&b);
	return ok ? 0 : usage("--print-doc takes man, functions, probes, config or options");
}

static enum option_id by_letter(int got)
{
	if (got > OPT_FIRST && got < OPT_END)
		return got;
	for (u32 i = 0; i < option_cnt; i++)
		if (option_table[i].letter && option_table[i].letter == got)
			return option_table[i].id;
	return OPT_FIRST;
}

/* Names of features that can be disabled, because there are alternatives for them. */
static bool take_features(const char *text, u64 *bits)
{
	static const enum kern_feature known[] = { KF_KPROBE_MULTI,   KF_KPROBE_SESSION, KF_UPROBE_MULTI,
						   KF_UPROBE_SESSION, KF_RCU_EXPEDITED,  KF_STACK_IDS };

	while (*text) {
		size_t n = strcspn(text, ",");
		u64 found = 0;

		for (u32 i = 0; i < ARRAY_CNT(known); i++)
			if (strlen(kern_feature_name(known[i])) == n && !strncasecmp(kern_feature_name(known[i]), text, n))
				found = 1ull << known[i];
		if (!found) {
			fprintf(stderr,
				"ERROR: --no-feature takes kprobe_multi, kprobe_session, uprobe_multi, uprobe_session, rcu_expedited and stack_ids, not '%.*s'\n",
				(int)n, text);
			return false;
		}
		*bits |= found;
		text += n + (text[n] == ',');
	}
	return true;
}

static int take_mode(struct cli *cli, const char *word)
{
	static const struct {
		const char *word;
		enum cli_mode mode;
	} modes[] = { { "test", MODE_TEST },
		      { "bench", MODE_BENCH },
		      { "format", MODE_FORMAT },
		      { "compiler-bench", MODE_COMPILER_BENCH } };

	for (u32 i = 0; i < ARRAY_CNT(modes); i++) {
		if (str_eq(word, modes[i].word)) {
			cli->mode = modes[i].mode;
			return -1;
		}
	}
	if (str_eq(word, "codegen")) {
		cli->check = true;
		return -1;
	}
	return usage("--mode takes test, bench, format, codegen or compiler-bench");
}

/* One option; -1 to go on. */
static int take_option(struct cli *cli, enum option_id id)
{
	switch (id) {
	case OPT_EXECUTE:
		if (cli->program)
			return usage("-e can be given only once: write all probes into one program");
		cli->program = optarg;
		return -1;
	case OPT_LIST:
		cli->list = true;
		return -1;
	case OPT_CMD:
		cli->run.cmd = optarg;
		return -1;
	case OPT_PID:
		return parse_pid("-p", optarg, &cli->run.pid) ? -1 : 1;
	case OPT_DWARF_PID:
		return take_unwind_pid(cli, optarg) ? -1 : 1;
	case OPT_OUTPUT:
		cli->run.output_path = optarg;
		return -1;
	case OPT_FORMAT:
		if (!sink_find(optarg))
			return bad_format();
		cli->run.format = optarg;
		return -1;
	case OPT_BUFFER:
		if (!str_eq(optarg, "line") && !str_eq(optarg, "full") && !str_eq(optarg, "none"))
			return usage("-B takes line, full or none");
		cli->run.buffering = optarg;
		return -1;
	case OPT_RAW_STRINGS:
		cli->run.raw_strings = true;
		return -1;
	case OPT_QUIET:
		cli->run.quiet = true;
		return -1;
	case OPT_VERBOSE:
		cli->run.verbose = true;
		return -1;
	case OPT_DEBUGINFO:
		debugfile_set_path(optarg);
		return -1;
	case OPT_INCLUDE_DIR:
		kern_headers_add_dir(optarg);
		return is_directory(optarg) ? -1 : 1;
	case OPT_INCLUDE:
		kern_headers_include(optarg);
		return -1;
	case OPT_BTF:
		if (*optarg == '-')
			return usage("--btf takes a file; without the option the kernel's own types are used");
		setenv("SONDE_BTF", optarg, 1);
		cli->has_btf = true;
		return -1; /* check_environment() looks at it */
	case OPT_TRACEABLE:
		tracefs_set_functions(optarg);
		return access(optarg, R_OK) ? cannot_read(optarg) : -1;
	case OPT_USE_BTF:
	case OPT_USDT_FILE:
		return -1;
	case OPT_UNSAFE:
		cli->unsafe = true;
		return -1;
	case OPT_CHECK:
		cli->check = true;
		return -1;
	case OPT_NEEDS:
		cli->needs = cli->check = true;
		return -1;
	case OPT_KEEP_PRIVILEGES:
		cli->run.keep_privileges = true;
		return -1;
	case OPT_USER:
		cli->run.user = optarg;
		return -1;
	case OPT_FMT:
		cli->mode = MODE_FORMAT;
		return -1;
	case OPT_TEST:
		cli->mode = MODE_TEST;
		return -1;
	case OPT_BENCH:
		cli->mode = MODE_BENCH;
		return -1;
	case OPT_MODE:
		return take_mode(cli, optarg);
	case OPT_PROBE_FILTER:
		cli->probe_filter = optarg;
		return -1;
	case OPT_NO_FEATURE:
		return take_features(optarg, &cli->no_features) ? -1 : usage(NULL);
	case OPT_DRY_RUN:
		cli->run.dry_run = true;
		return -1;
	case OPT_VM:
		cli->run.use_vm = true;
		return -1;
	case OPT_DEBUG:
		return parse_stages(optarg, &cli->debug) ? -1 : 1;
	case OPT_WARNINGS:
		if (cli->warnings)
			return usage("-k can be given only once");
		cli->warnings = true;
		return -1;
	case OPT_NO_WARNINGS:
		cli->no_warnings = true;
		return -1;
	case OPT_COST:
		cli->run.cost = true;
		return -1;
	case OPT_MAX_CPU:
		return parse_percent(optarg, &cli->run.max_cpu_ppm) ?
			-1 :
			usage("--max-cpu takes a percentage above 0 and up to 100, such as 1% or 0.5%");
	case OPT_STRICT:
		cli->run.strict = true;
		return -1;
	case OPT_INFO:
		cli->info = true;
		return -1;
	case OPT_DOC:
		return print_doc(optarg);
	case OPT_HELP:
		return print_text(help_print);
	case OPT_VERSION:
		puts("sonde v" SONDE_VERSION);
		return 0;
	case OPT_FIRST:
	case OPT_END:
		break;
	}
	return usage(NULL);
}

/* getopt_long() failed: an unknown option ('?'), or one without its argument (':'). */
static int bad_option(const struct cli *cli, int got, char **argv)
{
	const char *names[ARRAY_CNT(option_table)], *word = argv[optind - 1], *near;
	bool is_long = str_starts(word, "--");

	if (got == ':') {
		const struct option_info *o = NULL;

		for (u32 i = 0; i < option_cnt; i++)
			if (is_long ? option_table[i].id == (enum option_id)optopt : option_table[i].letter == optopt)
				o = &option_table[i];
		if (is_long)
			fprintf(stderr, "ERROR: %s needs an argument: %s\n", word, o ? o->arg : "");
		else
			fprintf(stderr, "ERROR: -%c needs an argument: %s\n", optopt, o ? o->arg : "");
		return usage(NULL);
	}
	if (!is_long) {
		fprintf(stderr, "ERROR: there is no option -%c\n", optopt);
		hint_quotes(cli, argv);
		return usage(NULL);
	}
	fprintf(stderr, "ERROR: there is no option %s\n", word);
	hint_quotes(cli, argv);
	for (u32 i = 0; i < ARRAY_CNT(elsewhere); i++) {
		if (strlen(elsewhere[i].name) == strcspn(word + 2, "=") && str_starts(word + 2, elsewhere[i].name)) {
			fprintf(stderr, "HINT: %s\n", elsewhere[i].hint);
			return 1;
		}
	}
	for (u32 i = 0; i < option_cnt; i++)
		names[i] = option_table[i].name;
	near = nearest_name(word + 2, names, option_cnt);
	if (near && *near)
		fprintf(stderr, "HINT: did you mean --%s?\n", near);
	return usage(NULL);
}

/* The remaining arguments are for the script: options, which come after `--`, and others. Options go to the end. */
static void split_params(struct cli *cli, char **argv, u32 cnt)
{
	static char *named[256];
	u32 kept = 0;

	for (u32 i = 0; i < cnt; i++) {
		if (str_starts(argv[i], "--") && argv[i][2] && cli->named_cnt < ARRAY_CNT(named))
			named[cli->named_cnt++] = argv[i];
		else
			argv[kept++] = argv[i];
	}
	cli->named = named;
	cli->params = argv;
	cli->param_cnt = kept;
}

/* Also if the script needs no types: nobody would see that they are not those that were asked for. */
static bool types_are_readable(const char *path, const char *named_by)
{
	int err = kern_types_look(path);

	if (!err)
		return true;
	fprintf(stderr, "ERROR: cannot read %s (of %s): %s\n", path, named_by, err == -EINVAL ? "it is not BTF" : strerror(-err));
	fprintf(stderr, "HINT: %s takes a file of BTF, such as a copy of /sys/kernel/btf/vmlinux\n", named_by);
	return false;
}

/* Environment variables that are not configuration variables of the script: a wrong value would be ignored silently. */
static int check_environment(const struct cli *cli)
{
	static const char *const colour[] = { "SONDE_COLOR", "BPFTRACE_COLOR" }, *const btf[] = { "SONDE_BTF", "BPFTRACE_BTF" };

	for (u32 i = 0; i < 2; i++) {
		const char *v = getenv(colour[i]);

		if (v && !str_eq(v, "auto") && !str_eq(v, "always") && !str_eq(v, "never")) {
			fprintf(stderr, "ERROR: %s takes auto, always or never, not '%s'\n", colour[i], v);
			return 1;
		}
	}
	for (u32 i = 0; i < 2; i++) {
		const char *v = getenv(btf[i]);

		if (v && *v)
			return types_are_readable(v, cli->has_btf ? "--btf" : btf[i]) ? -1 : 1; /* ours wins */
	}
	return -1;
}

int cli_parse(struct cli *cli, int argc, char **argv)
{
	struct option longs[ARRAY_CNT(option_table) + 1] = {};
	char shorts[2 * ARRAY_CNT(option_table) + 2] = ":"; /* we report errors ourselves */
	u32 n = 1, long_cnt = 0;
	int got;

	for (u32 i = 0; i < option_cnt; i++) {
		const struct option_info *o = &option_table[i];

		if (o->letter) {
			shorts[n++] = o->letter;
			if (*o->arg)
				shorts[n++] = ':';
		}
		if (*o->name)
			longs[long_cnt++] = (struct option){ o->name, *o->arg ? required_argument : no_argument, NULL, o->id };
	}
	shorts[n] = 0;
	while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		int status = got == '?' || got == ':' ? bad_option(cli, got, argv) : take_option(cli, by_letter(got));

		if (status >= 0)
			return status;
	}
	if (cli->warnings && cli->no_warnings)
		return usage("-k and --no-warnings cannot be used together");
	if (cli->run.cmd && cli->run.pid)
		return usage("-c and -p cannot be used together");
	if (cli->run.user && !cli->run.cmd)
		return usage("--user needs -c: it is the user whom the command runs as");
	if (cli->run.cmd && cli->list) {
		fputs("ERROR: -c and -l cannot be used together\n", stderr);
		hint_quotes(cli, argv);
		return usage(NULL);
	}
	if (cli->check && !cli->needs && cli->mode != MODE_FORMAT)
		cli->image_path = cli->run.output_path;
	if (cli->list && !cli->program && optind < argc) {
		/* A pattern, unless it is the path of a script. */
		if (!strchr(argv[optind], ':') && !strchr(argv[optind], '*') && !access(argv[optind], R_OK))
			cli->script_path = argv[optind++];
		else
			cli->list_pattern = argv[optind++];
	} else if (!cli->program && !cli->list && !cli->info && cli->mode != MODE_FORMAT) {
		if (optind >= argc)
			return usage("no script was given: name a file, or use -e 'PROGRAM'");
		cli->script_path = argv[optind++];
	}
	split_params(cli, argv + optind, argc - optind);
	return check_environment(cli);
}
