/* SPDX-License-Identifier: GPL-2.0-only */
/* -l: probes and types by a pattern, or the attach points of a script. */
#include <stdio.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "kern/machine.h"
#include "lang/provider.h"

/* Names of functions and files may be anything. */
static void show_names(struct sbuf *names)
{
	if (isatty(STDOUT_FILENO))
		escape_from(names, 0, true);
	show_text(names, stdout);
}

int list_probes(const struct cli *cli, struct diag *d)
{
	struct target t = {};
	struct sbuf out = {};
	int n;

	machine_target(&t);
	t.filter_pid = cli->run.pid;
	progress_begin("Looking for probes", 0);
	n = probe_list(cli->list_pattern, cli->run.verbose, &t, d, &out);
	progress_end();
	show_names(&out);
	sbuf_release(&out);
	show_diag(d, DIAG_ERROR);
	return n < 0 || d->error_cnt ? 1 : 0;
}

/* -l with a program: its attach points, expanded. */
int list_script(struct compile *c, u32 src, bool verbose)
{
	bool ok = lang_parse(c, src) && lang_config(c) && lang_expand(c);
	struct sbuf out = {};

	vec_for(s, &c->sites) {
		if (s->provider->flags & PROV_SELF || s->is_more)
			continue;
		sbuf_printf(&out, "%s\n", s->name);
		if (verbose && s->provider->list_params)
			s->provider->list_params(c->target, s->name, &out);
	}
	show_names(&out);
	sbuf_release(&out);
	show_diag(c->diag, DIAG_ERROR);
	return ok ? 0 : 1;
}
