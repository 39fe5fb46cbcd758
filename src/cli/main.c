/* sonde: the pipeline, on one screen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "bpf/image.h"
#include "cli/cli.h"
#include "kern/btf.h"
#include "kern/feature.h"
#include "kern/kallsyms.h"
#include "kern/machine.h"
#include "probe/provider.h"
#include "run/child.h"
#include "sym/ids.h"

static bool use_colour(void)
{
	const char *mode = getenv("SONDE_COLOR") ? getenv("SONDE_COLOR") : getenv("BPFTRACE_COLOR");

	if (mode && str_eq(mode, "always"))
		return true;
	if (mode && str_eq(mode, "never"))
		return false;
	return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

static void show(struct sbuf *text, FILE *to)
{
	fwrite(sbuf_str(text), 1, text->len, to);
	fflush(to);
	sbuf_reset(text);
}

void show_diag(const struct diag *d, enum diag_level level)
{
	struct sbuf b = {};

	diag_print(d, level, use_colour(), &b);
	show(&b, stderr);
	sbuf_release(&b);
}

static bool name_ksym(void *self, u64 addr, struct sbuf *out)
{
	struct ksym sym;

	if (!kallsyms_find(addr, &sym))
		return false;
	sbuf_puts(out, sym.name);
	return true;
}

static bool name_kframe(void *self, u64 addr, u64 at, struct sbuf *out)
{
	struct ksym sym;

	if (!kallsyms_find(at, &sym))
		return false;
	sbuf_printf(out, "%s+%llu", sym.name, (unsigned long long)(addr - sym.addr));
	return true;
}

/* The way from a tracepoint to its program, as far as the compiler left calls of it. */
static bool hides_kframe(void *self, u64 addr)
{
	struct ksym sym;

	return kallsyms_find(addr, &sym) && (str_starts(sym.name, "__bpf_trace_") || str_starts(sym.name, "__traceiter_"));
}

bool read_script(const struct cli *cli, struct compile *c, u32 *src)
{
	const char *name = "stdin";
	char *text = NULL;
	size_t len = 0;
	int err = 0;

	if (cli->program) {
		text = arena_strdup(c->arena, cli->program);
		len = strlen(text);
	} else {
		char *read_text = NULL;

		if (!str_eq(cli->script_path, "-")) {
			name = cli->script_path;
			err = io_read_file(cli->script_path, &read_text, &len);
		} else {
			err = io_read_fd(STDIN_FILENO, &read_text, &len);
		}
		if (err || len > UINT32_MAX / 2) {
			diag_error_nowhere(c->diag, E_SYNTAX, "cannot read %s: %s", name, strerror(err ? -err : EFBIG));
			if (err == -ENOENT)
				diag_hint(c->diag, "a program on the command line needs -e: sonde -e '%s'", cli->script_path);
			return false;
		}
		text = arena_strndup(c->arena, read_text, len);
		free(read_text);
	}
	*src = diag_add_source(c->diag, name, text, len);
	return true;
}

/* text → tree → sites and units → types → image */
static bool compile(struct compile *c, u32 src, u32 debug)
{
	struct sbuf dump = {}, ir = {};
	bool ok = lang_parse(c, src);

	if (debug & DEBUG_AST && c->script)
		lang_print(c, &dump);
	show(&dump, stdout);
	ok = ok && lang_config(c) && lang_expand(c) && lang_check(c);
	if (debug & DEBUG_TYPES && c->units.cnt)
		lang_print_types(c, &dump);
	show(&dump, stdout);
	if (debug & DEBUG_IR)
		c->ir_text = &ir;
	if (ok && (lang_is_partial(c) || lang_wants_help(c)))
		return true;
	ok = ok && image_build(c);
	show(&ir, stdout);
	if (ok && debug & DEBUG_BPF)
		image_print(c->image, &dump);
	show(&dump, stdout);
	sbuf_release(&dump);
	sbuf_release(&ir);
	return ok;
}

static void describe_machine(const struct cli *cli, struct target *t)
{
	machine_target(t, KF_CHEAP);
	t->features &= ~cli->no_features;
	t->askable &= ~cli->no_features;
	t->allow_unsafe = cli->unsafe;
	t->is_check = cli->check;
	t->filter_pid = cli->run.pid;
	t->has_unwind_pids = cli->run.pid || cli->run.cmd || cli->run.unwind_pid_cnt;
	if (cli->run.child) {
		t->child_pid = cli->run.child->pid;
		t->child_exe = cli->run.child->file;
	}
}

static int list_probes(const struct cli *cli, struct diag *d)
{
	struct sbuf out = {};
	int n = probe_list(cli->list_pattern, cli->run.verbose, cli->run.pid, d, &out);

	show(&out, stdout);
	sbuf_release(&out);
	show_diag(d, DIAG_ERROR);
	return n < 0 || d->error_cnt ? 1 : 0;
}

/* -l with a program: its attach points, expanded. */
static int list_script(struct compile *c, u32 src, bool verbose)
{
	bool ok = lang_parse(c, src) && lang_config(c) && lang_expand(c);
	struct sbuf out = {};

	vec_for(s, &c->sites) {
		if (s->provider->flags & PROV_SELF || s->is_more)
			continue;
		sbuf_printf(&out, "%s\n", s->name);
		if (verbose && s->provider->list_params)
			s->provider->list_params(s->name, &out);
	}
	show(&out, stdout);
	sbuf_release(&out);
	show_diag(c->diag, DIAG_ERROR);
	return ok ? 0 : 1;
}

static int run(struct cli *cli, struct compile *c)
{
	struct sbuf why = {};
	u32 src;

	if (!read_script(cli, c, &src))
		goto failed;
	if (cli->run.cmd && !cli->check && !cli->list) {
		cli->run.child = child_start(cli->run.cmd, &why);
		if (!cli->run.child) {
			diag_error_nowhere(c->diag, E_NO_MATCH, "%s", sbuf_str(&why));
			goto failed;
		}
	}
	describe_machine(cli, (struct target *)c->target);
	if (cli->mode == MODE_COMPILER_BENCH)
		return compiler_bench(c, src);
	if (cli->list)
		return list_script(c, src, cli->run.verbose);
	if (!compile(c, src, cli->debug))
		goto failed;
	if (lang_wants_help(c)) {
		lang_print_opts(c, &why);
		show(&why, stdout);
		sbuf_release(&why);
		return 0;
	}
	if (!cli->no_warnings)
		show_diag(c->diag, DIAG_WARNING);
	if (cli->check || (cli->debug && !cli->run.use_vm))
		return 0;
	if (!cli->run.use_vm && !machine_may_trace(c->diag))
		goto failed;
	cli->run.colour = use_colour();
	cli->run.no_warnings = cli->no_warnings;
	cli->run.naming.ksym = name_ksym;
	cli->run.naming.username = ids_username;
	cli->run.naming.cgroup_path = ids_cgroup_path;
	cli->run.naming.kframe = name_kframe;
	cli->run.naming.khidden = hides_kframe;
	return session_run(c, &cli->run);
failed:
	sbuf_release(&why);
	show_diag(c->diag, DIAG_ERROR);
	return 1;
}

int cli_run(struct cli *cli)
{
	struct arena arena;
	struct diag diag;
	struct target target = {};
	int status;

	arena_init(&arena);
	diag_init(&diag, &arena);
	if (cli->list && !cli->program && !cli->script_path) {
		status = list_probes(cli, &diag);
	} else {
		struct compile c = { .arena = &arena, .diag = &diag, .target = &target, .params = cli->params, .param_cnt = cli->param_cnt,
				     .named = cli->named, .named_cnt = cli->named_cnt,
				     .config = config_defaults, .warns_more = cli->warnings,
				     .probe_filter = cli->probe_filter,
				     .mode = cli->mode == MODE_TEST ? RUN_TESTS : cli->mode == MODE_BENCH ? RUN_BENCHES : RUN_TRACE };

		status = run(cli, &c);
		child_free(cli->run.child);
	}
	arena_release(&arena);
	return status;
}

int main(int argc, char **argv)
{
	struct cli cli = {};
	const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
	int status;

	if (command)
		return command->run(argc - 1, argv + 1);
	status = cli_parse(&cli, argc, argv);
	if (status >= 0)
		return status;
	if (cli.info)
		return info_print();
	if (cli.mode == MODE_FORMAT)
		return fmt_run(&cli);
	return cli_run(&cli);
}
