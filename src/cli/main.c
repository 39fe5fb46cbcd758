/* SPDX-License-Identifier: GPL-2.0-only */
/* sonde: the pipeline, on one screen. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/std.h"
#include "bpf/build.h"
#include "c/headers.h"
#include "cli/cli.h"
#include "image/pack.h"
#include "kern/feature.h"
#include "kern/machine.h"
#include "kern/tracefs.h"
#include "run/child.h"
#include "run/symbols.h"

static void dump(struct sbuf *text)
{
	show_text(text, stdout);
	sbuf_release(text);
}

/* Each pass takes what the one before left in c, and returns false after it reported an error. */
static bool compile(struct compile *c, u32 src, u32 debug)
{
	struct sbuf text = {};
	struct build b;
	bool ok = lang_parse(c, src); /* text → tree, macros expanded */

	if (debug & DEBUG_AST && c->script)
		lang_print(c, &text);
	dump(&text);
	ok = ok && lang_config(c); /* config block and environment → configuration */
	ok = ok && lang_expand(c); /* attach points → sites and units */
	ok = ok && lang_check(c);  /* names, types, constants */
	if (debug & DEBUG_TYPES && c->units.cnt)
		lang_print_types(c, &text);
	dump(&text);
	if (!ok || lang_is_partial(c) || lang_wants_help(c))
		return ok;
	lang_uses(c);                  /* what bodies do with maps */
	build_begin(&b, c);            /* maps → where they are kept */
	ok = build_lower(&b);          /* tree → intermediate code */
	ok = ok && build_simplify(&b); /* … less of it */
	if (debug & DEBUG_IR && ok)
		build_print_ir(&b, &text);
	dump(&text);
	ok = ok && build_frames(&b);    /* stack slots → places */
	ok = ok && build_registers(&b); /* virtual registers → machine registers */
	ok = ok && build_emit(&b);      /* instructions, image */
	build_end(&b);
	if (ok && debug & DEBUG_BPF)
		image_print(c->image, c->diag, &text);
	dump(&text);
	return ok;
}

static bool compile_visibly(struct compile *c, u32 src, u32 debug)
{
	bool ok;

	progress_begin("Compiling", 0);
	ok = compile(c, src, debug);
	progress_end();
	return ok;
}

static void describe_machine(const struct cli *cli, struct target *t)
{
	machine_target(t);
	if (cli->run.use_vm)
		tracefs_use_types();
	t->headers = kern_headers(target_types(t));
	t->features &= ~cli->no_features;
	t->askable &= ~cli->no_features;
	t->allow_unsafe = cli->unsafe || cli->needs;
	t->is_check = cli->check && !cli->image_path;
	t->is_for_later = cli->image_path && cli->run.cmd;
	t->filter_pid = cli->run.pid;
	t->has_unwind_pids = cli->run.pid || cli->run.cmd || cli->run.unwind_pid_cnt;
	t->child_exe = cli->child_exe;
	if (cli->run.child) {
		t->child_pid = cli->run.child->pid;
		t->child_exe = cli->run.child->file;
	}
}

/* The image without the compiler: it goes through its bytes, as it does when it goes through a file. */
static struct image *take_image(const struct image *img)
{
	struct sbuf bytes = {};
	struct image *own;
	const char *why;

	image_pack(img, &bytes);
	own = image_unpack(bytes.s, bytes.len, &why);
	if (!own)
		BUG("the image that was compiled is not sound: %s", why);
	sbuf_release(&bytes);
	return own;
}

/* What a script is compiled to. *status: the exit status, where there is nothing to run. */
static struct image *image_of_script(const struct cli *cli, struct diag *d, struct target *t, u32 src, int *status)
{
	struct arena arena;
	struct compile c = {
		.arena = &arena,
		.diag = d,
		.target = t,
		.params = cli->params,
		.param_cnt = cli->param_cnt,
		.named = cli->named,
		.named_cnt = cli->named_cnt,
		.config = config_defaults,
		.warns_more = cli->warnings,
		.probe_filter = cli->probe_filter,
		.mode = cli->mode == MODE_TEST  ? RUN_TESTS :
			cli->mode == MODE_BENCH ? RUN_BENCHES :
						  RUN_TRACE,
	};
	struct image *img = NULL;
	struct sbuf text = {};

	arena_init(&arena);
	*status = 0;
	if (cli->mode == MODE_COMPILER_BENCH) {
		*status = compiler_bench(&c, src);
	} else if (cli->list) {
		*status = list_script(&c, src, cli->run.verbose);
	} else if (!compile_visibly(&c, src, cli->debug)) {
		*status = 1;
	} else if (lang_wants_help(&c)) {
		lang_print_opts(&c, &text);
		show_text(&text, stdout);
	} else {
		if (!cli->no_warnings)
			show_diag(d, DIAG_WARNING);
		if (cli->needs)
			needs_of_script(cli, &c);
		else if (cli->image_path)
			*status = image_save(c.image, d, cli->image_path) ? 0 : 1;
		else if (!cli->check && (!cli->debug || cli->run.use_vm))
			img = take_image(c.image);
	}
	sbuf_release(&text);
	arena_release(&arena);
	return img;
}

static bool will_trace(const struct cli *cli)
{
	return !cli->check && !cli->list && !cli->debug && !cli->run.use_vm && cli->mode != MODE_COMPILER_BENCH;
}

static int run(struct cli *cli, struct diag *d)
{
	struct target target = {};
	struct image *img = NULL;
	struct sbuf why = {};
	int status = 1;
	u32 src;

	if (!read_script(cli, d, &src))
		goto out;
	if (will_trace(cli) && !machine_may_open(d, MAP_IDX_USER))
		goto out;
	if (cli->run.cmd && !cli->check && !cli->list) {
		cli->run.child = child_start(cli->run.cmd, cli->run.user, &why);
		if (!cli->run.child) {
			diag_error_nowhere(d, E_NO_MATCH, "%s", sbuf_str(&why));
			goto out;
		}
	}
	if (cli->run.cmd && cli->image_path && !(cli->child_exe = child_exe(cli->run.cmd, &why))) {
		diag_error_nowhere(d, E_NO_MATCH, "%s", sbuf_str(&why));
		goto out;
	}
	describe_machine(cli, &target);
	if (image_is_meant(d, src)) {
		img = image_load(cli, d, src, &target);
		if (img && cli->needs)
			needs_of_image(cli, img);
		if (img && cli->check)
			status = 0;
	} else {
		img = image_of_script(cli, d, &target, src, &status);
	}
	if (!img || cli->check)
		goto out;
	status = 1;
	if (!cli->run.use_vm && !machine_may_trace(d))
		goto out;
	if (!cli->run.pid)
		cli->run.pid = img->home.filter_pid;
	cli->run.colour = use_colour();
	cli->run.no_warnings = cli->no_warnings;
	cli->run.may_hasten = !(cli->no_features & KF_BIT(RCU_EXPEDITED));
	ksyms_naming(&cli->run.naming);
	status = session_run(img, d, &cli->run);
	d->error_cnt = d->msgs.cnt = 0; /* it has shown what there was to say */
out:
	sbuf_release(&why);
	show_diag(d, DIAG_ERROR);
	image_free(img);
	return status;
}

int cli_run(struct cli *cli)
{
	struct arena arena;
	struct diag diag;
	int status;

	arena_init(&arena);
	diag_init(&diag, &arena);
	if (cli->list && !cli->program && !cli->script_path)
		status = list_probes(cli, &diag);
	else
		status = run(cli, &diag);
	child_free(cli->run.child);
	free(cli->child_exe);
	arena_release(&arena);
	return status;
}

static int start(int argc, char **argv)
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
	progress_enable(isatty(STDERR_FILENO) && !cli.run.quiet);
	return cli_run(&cli);
}

int main(int argc, char **argv)
{
	std_begin();
	return std_end(start(argc, argv));
}
