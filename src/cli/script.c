/* SPDX-License-Identifier: GPL-2.0-only */
/* What commands that read a script share: its text, and what there is to say of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "image/file.h"

bool use_colour(void)
{
	const char *mode = getenv("SONDE_COLOR") ? getenv("SONDE_COLOR") : getenv("BPFTRACE_COLOR");

	if (mode && str_eq(mode, "always"))
		return true;
	if (mode && str_eq(mode, "never"))
		return false;
	return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

void show_text(struct sbuf *text, FILE *to)
{
	progress_hide();
	fwrite(sbuf_str(text), 1, text->len, to);
	fflush(to);
	sbuf_reset(text);
}

void show_diag(const struct diag *d, enum diag_level level)
{
	struct sbuf b = {};

	diag_print(d, level, (use_colour() ? DIAG_COLOUR : 0) | (isatty(STDERR_FILENO) ? DIAG_ESCAPE : 0), &b);
	show_text(&b, stderr);
	sbuf_release(&b);
}

/* An image is not text either, but can be run. */
static bool is_binary(const char *text, size_t len)
{
	enum { LOOK_AT = 512 };

	return memchr(text, 0, MIN(len, (size_t)LOOK_AT)) && !image_file_is(text, len);
}

bool read_script(const struct cli *cli, struct diag *d, u32 *src)
{
	const char *name = "stdin";
	char *text = NULL;
	size_t len = 0;
	int err = 0;

	if (cli->program) {
		*src = diag_add_source(d, name, cli->program, strlen(cli->program));
		return true;
	}
	if (!str_eq(cli->script_path, "-")) {
		name = cli->script_path;
		err = io_read_file(cli->script_path, &text, &len);
	} else {
		err = io_read_fd(STDIN_FILENO, &text, &len);
	}
	if (err || len > UINT32_MAX / 2) {
		diag_error_nowhere(d, E_SYNTAX, "cannot read %s: %s", name, strerror(err ? -err : EFBIG));
		if (err == -ENOENT)
			diag_hint(d, "a program on the command line needs -e: sonde -e '%s'", cli->script_path);
		return false;
	}
	if (is_binary(text, len)) {
		diag_error_nowhere(d, E_SYNTAX, "%s is not a script: it is a binary file", name);
		diag_hint(d, "to trace a command: sonde -e 'PROGRAM' -c '%s'", name);
		free(text);
		return false;
	}
	*src = diag_add_source(d, name, text, len);
	free(text);
	return true;
}
