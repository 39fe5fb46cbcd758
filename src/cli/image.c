/* SPDX-License-Identifier: GPL-2.0-only */
/* Images in files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "image/file.h"
#include "image/pack.h"
#include "kern/origin.h"
#include "run/child.h"

bool image_save(const struct image *img, struct diag *d, const char *path)
{
	struct image_origin here;
	struct sbuf bytes = {};
	int fd, err;

	kern_origin(img, d->arena, &here);
	image_file_write(img, d, &here, &bytes);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	err = fd < 0 ? -errno : io_write_all(fd, bytes.s, bytes.len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	sbuf_release(&bytes);
	if (err)
		diag_error_nowhere(d, E_LOAD, "cannot write to %s: %s", path, strerror(-err));
	return !err;
}

bool image_is_meant(const struct diag *d, u32 src)
{
	return image_file_is(d->sources.at[src].text, d->sources.at[src].len);
}

/* Options that decide how a script is compiled come too late. */
static const char *late_option(const struct cli *cli)
{
	if (cli->param_cnt || cli->named_cnt)
		return "parameters of the script";
	if (cli->probe_filter)
		return "--probe-filter";
	return cli->warnings ? "-k" : cli->unsafe ? "--unsafe" : cli->no_features ? "--no-feature" : cli->debug ? "-d" : NULL;
}

/* What was unknown when it was compiled. */
static bool set_late(struct image *img, const struct cli *cli, struct diag *d, const char *path)
{
	u64 pid = cli->run.child ? (u64)cli->run.child->pid : 0;

	if (!img->late.child_pid)
		return true;
	if (!pid && !cli->check && !cli->run.dry_run) {
		diag_error_nowhere(d, E_NO_MATCH, "%s uses cpid, which is the process of -c", path);
		diag_hint(d, "start a command: sonde %s -c COMMAND", path);
		return false;
	}
	memcpy(img->const_data + img->late.child_pid - 1, &pid, sizeof(pid));
	return true;
}

struct image *image_load(const struct cli *cli, struct diag *d, u32 src, const struct target *t)
{
	const struct source file = d->sources.at[src];
	const char *why = NULL, *option = late_option(cli);
	struct image_origin made_for = {}, here;
	struct image_home home = {
		.ncpus = t->ncpus, .pidns_dev = t->pidns_dev, .pidns_ino = t->pidns_ino, .filter_pid = t->filter_pid
	};
	struct image *img;

	if (option) {
		diag_error_nowhere(d, E_SYNTAX, "%s cannot be given for %s, which is compiled already", option, file.name);
		diag_hint(d, "give them when it is made: sonde --check -o %s …", file.name);
		return NULL;
	}
	d->sources.cnt = 0;
	img = image_file_read(file.text, file.len, d, &made_for, &why);
	if (!img) {
		diag_error_nowhere(d, E_LOAD, "%s cannot be read: %s", file.name, why);
		return NULL;
	}
	kern_origin(img, d->arena, &here);
	why = image_misfit(d->arena, img, &made_for, &here, &home);
	if (why) {
		diag_error_nowhere(d, E_LOAD, "%s cannot run here: %s", file.name, why);
		diag_hint(d, "compile the script on this machine: sonde --check -o %s SCRIPT", file.name);
	}
	if (why || !set_late(img, cli, d, file.name)) {
		image_free(img);
		return NULL;
	}
	return img;
}
