/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * via-image: stands in for sonde, and runs every script by way of a compiled image.
 *
 *   sonde OPTIONS SCRIPT PARAMETERS
 *
 * becomes two calls of the program that VIA_IMAGE_SONDE names:
 *
 *   sonde --check -o DIR/NAME.image COMPILE-OPTIONS SCRIPT PARAMETERS
 *   sonde RUN-OPTIONS DIR/NAME.image
 *
 * The second one replaces this process, so that signals, standard input and the
 * exit status are those of a plain call. If the first one fails, its status is the
 * result. Everything that is not the run of a script (a command such as `sonde
 * type`, --list, --check, --fmt, ...) is passed on as it is.
 *
 * DIR is VIA_IMAGE_DIR, which any user may write to. Images stay there: whoever
 * made the folder removes it. With VIA_IMAGE_LOG each pair of calls is appended to
 * that file, so that a test can see that there were two.
 *
 * Used by runner --via-image and by the drivers of tests/exec, which build it:
 *
 *   cc -std=gnu17 -static -O2 -Isrc -o DIR/sonde tests/kernel/via-image.c
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_CNT(a) (sizeof(a) / sizeof((a)[0]))

enum option_id {
	OPT_FIRST = 0x100, /* above every letter */
#define OPTION_ROW(id, letter, name, arg, doc) id,
#include "cli/option.def"
#undef OPTION_ROW
	OPT_END
};

static const struct {
	enum option_id id;
	char letter;
	const char *name, *arg;
} table[] = {
#define OPTION_ROW(id, letter, name, arg, doc) { id, letter, name, arg },
#include "cli/option.def"
#undef OPTION_ROW
};

/* Which of the two calls an option is for. */
enum part { TO_COMPILE = 1, TO_RUN = 2, TO_BOTH = 3, NO_SCRIPT = 4 };

/* No default: a new option needs a decision here, and the compiler asks for it. */
static enum part part_of(enum option_id id)
{
	switch (id) {
	case OPT_EXECUTE:
	case OPT_INCLUDE_DIR:
	case OPT_INCLUDE:
	case OPT_UNSAFE:
	case OPT_PROBE_FILTER:
	case OPT_NO_FEATURE:
	case OPT_TRACEABLE:
	case OPT_WARNINGS:
	case OPT_USE_BTF:
	case OPT_USDT_FILE:
		return TO_COMPILE;
	case OPT_OUTPUT:
	case OPT_FORMAT:
	case OPT_BUFFER:
	case OPT_QUIET:
	case OPT_DRY_RUN:
	case OPT_KEEP_PRIVILEGES:
	case OPT_VM:
	case OPT_RAW_STRINGS:
	case OPT_STRICT:
	case OPT_COST:
	case OPT_MAX_CPU:
		return TO_RUN;
	case OPT_BTF:
	case OPT_CMD:
	case OPT_USER:
	case OPT_DWARF_PID:
	case OPT_PID:
	case OPT_VERBOSE:
	case OPT_DEBUGINFO:
	case OPT_NO_WARNINGS:
		return TO_BOTH;
	case OPT_LIST:
	case OPT_CHECK:
	case OPT_NEEDS:
	case OPT_FMT:
	case OPT_TEST:
	case OPT_BENCH:
	case OPT_MODE:
	case OPT_DEBUG:
	case OPT_INFO:
	case OPT_DOC:
	case OPT_HELP:
	case OPT_VERSION:
		return NO_SCRIPT;
	case OPT_FIRST:
	case OPT_END:
		break;
	}
	return NO_SCRIPT;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "via-image: %s: %s\n", what, strerror(errno));
	exit(125);
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value) {
		fprintf(stderr, "via-image: %s is not set\n", name);
		exit(125);
	}
	return value;
}

static const char *sonde;

static _Noreturn void become(char **argv)
{
	execv(sonde, argv);
	die(sonde);
}

static void append_call(const char *log, char **argv)
{
	FILE *f = fopen(log, "a");

	if (!f)
		die(log);
	for (; *argv; argv++)
		fprintf(f, "%s%c", *argv, argv[1] ? ' ' : '\n');
	fclose(f);
}

struct call {
	char **argv;
	int cnt;
};

static void call_add(struct call *c, char *word)
{
	c->argv[c->cnt++] = word;
	c->argv[c->cnt] = NULL;
}

static void call_add_option(struct call *c, size_t row, char *arg)
{
	char *text;
	int n = table[row].letter ? asprintf(&text, "-%c", table[row].letter) : asprintf(&text, "--%s", table[row].name);

	if (n < 0)
		die("asprintf");
	call_add(c, text);
	if (arg)
		call_add(c, arg);
}

static size_t row_of(int got)
{
	size_t i = 0;

	while (i < ARRAY_CNT(table) && table[i].id != (enum option_id)got && (!table[i].letter || table[i].letter != got))
		i++;
	return i;
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len >= suffix_len && !strcmp(text + len - suffix_len, suffix);
}

/* Sorts the words into the two calls. False: this is not the run of a script. */
static bool split(int argc, char **argv, struct call *compile, struct call *run)
{
	struct option longs[ARRAY_CNT(table) + 1] = {};
	char shorts[2 * ARRAY_CNT(table) + 2] = ":";
	size_t n = 1, long_cnt = 0;
	bool has_program = false;
	int got;

	for (size_t i = 0; i < ARRAY_CNT(table); i++) {
		if (table[i].letter) {
			shorts[n++] = table[i].letter;
			if (*table[i].arg)
				shorts[n++] = ':';
		}
		if (*table[i].name)
			longs[long_cnt++] = (struct option){ table[i].name, *table[i].arg ? required_argument : no_argument, NULL,
							     table[i].id };
	}
	while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		size_t row = row_of(got);
		enum part part;

		if (got == '?' || got == ':' || row == ARRAY_CNT(table))
			return false;
		part = part_of(table[row].id);
		if (part == NO_SCRIPT)
			return false;
		has_program = has_program || table[row].id == OPT_EXECUTE;
		if (part & TO_COMPILE)
			call_add_option(compile, row, optarg);
		if (part & TO_RUN)
			call_add_option(run, row, optarg);
	}
	/* Nothing to run: sonde says what is wrong then. An image is compiled already. */
	if (!has_program && (optind == argc || has_suffix(argv[optind], ".image")))
		return false;
	if (optind < argc)
		call_add(compile, "--");
	for (int i = optind; i < argc; i++)
		call_add(compile, argv[i]);
	return true;
}

/* The exit status of a call, as a shell would say it. */
static int wait_for(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (pid == 0)
		become(argv);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct call compile = { calloc(2 * argc + 8, sizeof(char *)), 0 }, run = { calloc(2 * argc + 8, sizeof(char *)), 0 };
	const char *log = getenv("VIA_IMAGE_LOG");
	char **words = calloc(argc + 1, sizeof(char *)), *image;
	struct stat st;
	int fd, status;

	sonde = variable("VIA_IMAGE_SONDE");
	if (!compile.argv || !run.argv || !words)
		die("calloc");
	if (asprintf(&image, "%s/XXXXXX.image", variable("VIA_IMAGE_DIR")) < 0)
		die("asprintf");
	/* getopt_long() puts words in another order, which the plain call must not see. */
	memcpy(words, argv, argc * sizeof(char *));
	call_add(&compile, argv[0]);
	call_add(&compile, "--check");
	call_add(&compile, "-o");
	call_add(&compile, image);
	call_add(&run, argv[0]);
	/* A command has its name first; a script's path has a file behind it. */
	if (argc < 2 || (argv[1][0] != '-' && access(argv[1], F_OK) != 0) || !split(argc, words, &compile, &run))
		become(argv);
	fd = mkstemps(image, strlen(".image"));
	if (fd < 0)
		die(image);
	close(fd);
	call_add(&run, image);
	if (log) {
		append_call(log, compile.argv);
		append_call(log, run.argv);
	}
	status = wait_for(compile.argv);
	/* No image: the script's own --help was shown. */
	if (status || stat(image, &st) || !st.st_size) {
		unlink(image);
		return status;
	}
	become(run.argv);
}
