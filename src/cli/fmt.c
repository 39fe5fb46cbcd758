/* SPDX-License-Identifier: GPL-2.0-only */
/* --fmt: formats scripts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "lang/pretty.h"

/* Writes to the file itself. */
static int write_over(const char *path, const struct sbuf *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = io_write_all(fd, sbuf_str(text), text->len);
	/* What was longer before is cut at last. */
	if (!err && !fstat(fd, &st) && S_ISREG(st.st_mode) && ftruncate(fd, (off_t)text->len))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* A new file in its place would lose what this one is: a device, one of several names, or with rights of its own. */
static bool is_special(const char *path, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || st->st_nlink > 1 || getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* The new file gets the owner and the mode of the old one. False: it cannot. */
static bool take_over(int fd, const struct stat *st)
{
	return !fchown(fd, st->st_uid, st->st_gid) && !fchmod(fd, st->st_mode & 07777);
}

/* Replaces the file completely or not at all: a script that is formatted in place must survive a full disk. If another file in
 * its place would be another user's, the text goes to the file itself, after there was room for a copy. */
static int replace_file(const char *path, const struct sbuf *text)
{
	char *real = realpath(path, NULL), *tmp;
	struct stat st = {};
	bool is_over = false;
	int fd, err;

	if (!real || stat(real, &st) || is_special(real, &st)) {
		err = write_over(path, text);
		free(real);
		return err;
	}
	tmp = xasprintf("%s.XXXXXX", real);
	fd = mkostemp(tmp, O_CLOEXEC);
	err = fd < 0 ? -errno : io_write_all(fd, sbuf_str(text), text->len);
	if (fd < 0 && (err == -EACCES || err == -EPERM || err == -EROFS)) /* a directory that we cannot write to */
		is_over = true;
	if (fd >= 0 && !err && !take_over(fd, &st))
		is_over = true;
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (is_over)
		err = write_over(real, text);
	else if (!err && rename(tmp, real))
		err = -errno;
	if ((err || is_over) && fd >= 0)
		unlink(tmp);
	free(tmp);
	free(real);
	return err;
}

/* One script. Returns the exit status. */
static int format_one(const struct cli *cli)
{
	struct arena arena;
	struct diag diag;
	struct target target = {};
	struct compile c = { .arena = &arena, .diag = &diag, .target = &target, .config = config_defaults, .parse_only = true };
	struct sbuf out = {};
	int status = 1, err;
	u32 src;

	arena_init(&arena);
	diag_init(&diag, &arena);
	if (read_script(cli, &diag, &src) && lang_parse(&c, src) && lang_pretty(&arena, &diag, src, &out)) {
		const struct source *s = &diag.sources.at[src];

		status = 0;
		if (cli->check) {
			status = out.len != s->len || memcmp(sbuf_str(&out), s->text, out.len);
			if (status)
				puts(s->name);
		} else if (cli->run.output_path) {
			err = replace_file(cli->run.output_path, &out);
			if (err) {
				fprintf(stderr, "ERROR: cannot write to %s: %s\n", cli->run.output_path, strerror(-err));
				status = 1;
			}
		} else {
			fwrite(sbuf_str(&out), 1, out.len, stdout);
		}
	}
	show_diag(&diag, DIAG_ERROR);
	sbuf_release(&out);
	arena_release(&arena);
	return status;
}

int fmt_run(const struct cli *cli)
{
	struct cli one = *cli;
	int status = 0;

	if (!cli->program && cli->param_cnt > 1 && cli->run.output_path) {
		fputs("ERROR: -o takes one script\n", stderr);
		return 1;
	}
	if (cli->program || !cli->param_cnt) {
		one.script_path = "-";
		status = format_one(&one);
	}
	for (u32 i = 0; !cli->program && i < cli->param_cnt; i++) {
		one.script_path = cli->params[i];
		status |= format_one(&one);
	}
	return status;
}
