/* --fmt: lays scripts out anew. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "lang/pretty.h"

/* The file is there in full or not at all: a script that is laid out in place must survive a full disk. */
static int replace_file(const char *path, const struct sbuf *text)
{
	char *real = realpath(path, NULL), *tmp = xasprintf("%s.XXXXXX", real ? real : path);
	int fd = mkostemp(tmp, O_CLOEXEC), err = fd < 0 ? -errno : 0;
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	if (!err)
		err = io_write_all(fd, sbuf_str(text), text->len);
	if (!err && fchmod(fd, !stat(path, &st) ? st.st_mode & 07777 : 0666 & ~mask))
		err = -errno;
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && rename(tmp, real ? real : path))
		err = -errno;
	if (err && fd >= 0)
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
	if (read_script(cli, &c, &src) && lang_parse(&c, src) && lang_pretty(&arena, &diag, src, &out)) {
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
	return fflush(stdout) || ferror(stdout) ? 1 : status;
}
