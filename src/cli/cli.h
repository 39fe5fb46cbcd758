/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line. */
#pragma once

#include <stdio.h>

#include "base/sbuf.h"
#include "lang/compile.h"
#include "run/session.h"

enum option_id {
	OPT_FIRST = 0x100, /* above every letter */
#define OPTION_ROW(id, letter, name, arg, doc) id,
#include "cli/option.def"
#undef OPTION_ROW
	OPT_END
};

struct option_info {
	enum option_id id;
	char letter;
	const char *name, *arg, *doc;
};
extern const struct option_info option_table[];
extern const u32 option_cnt;

enum debug_stage { DEBUG_AST = 1, DEBUG_TYPES = 2, DEBUG_IR = 4, DEBUG_BPF = 8 };

enum cli_mode { MODE_RUN, MODE_TEST, MODE_BENCH, MODE_FORMAT, MODE_COMPILER_BENCH };

struct cli {
	enum cli_mode mode;
	const char *program;     /* -e */
	const char *script_path; /* "-": standard input */
	char **params;
	u32 param_cnt;
	char **named; /* options of the script, behind -- */
	u32 named_cnt;
	bool list, check, needs, info, no_warnings, warnings, unsafe, has_btf;
	const char *list_pattern;
	const char *probe_filter;
	u64 no_features; /* bits of enum kern_feature */
	u32 debug;
	const char *image_path; /* --check -o: where the image goes */
	char *child_exe;        /* … and what -c would run then; malloc'ed */
	struct session_opts run;
};

/* Returns -1 to continue, or the exit status when there is nothing more to do (--help, bad usage). */
int cli_parse(struct cli *cli, int argc, char **argv);

/* sonde NAME …: a command that does not run a script. */
struct command {
	const char *name, *usage, *doc;
	int (*run)(int argc, char **argv);
};
const struct command *command_find(const char *name);
/* NULL past the end. */
const struct command *command_at(u32 i);
int help_main(int argc, char **argv);
int inject_main(int argc, char **argv);
/* Runs what the command line says; returns the exit status. */
int cli_run(struct cli *cli);

void help_print(struct sbuf *out);
/* The output formats of -f: "text or json". */
void format_names(struct sbuf *out);
/* A page of the reference, from the tables; false if there is no such page. */
bool doc_print(const char *page, struct sbuf *out);
int info_print(void);
/* --needs: of a script that was compiled, or of an image. */
void needs_of_script(const struct cli *cli, const struct compile *c);
void needs_of_image(const struct cli *cli, const struct image *img);
/* Measures the compiler on a source; returns the exit status. */
int compiler_bench(const struct compile *c, u32 src);
/* --fmt: formats scripts; returns the exit status. */
int fmt_run(const struct cli *cli);
/* The script's text: -e, a file, or standard input. False: reported. */
bool read_script(const struct cli *cli, struct diag *d, u32 *src);
/* -l; both return the exit status. */
int list_probes(const struct cli *cli, struct diag *d);
int list_script(struct compile *c, u32 src, bool verbose);

/* Prints what was found wrong. */
void show_diag(const struct diag *d, enum diag_level level);
void show_text(struct sbuf *text, FILE *to); /* and empties it */
bool use_colour(void);

/* --check -o FILE: writes the image of a script there. False: reported. */
bool image_save(const struct image *img, struct diag *d, const char *path);
/* The script's "source" is an image's file. */
bool image_is_meant(const struct diag *d, u32 src);
/* Makes it an image, if it can run here. NULL: reported. */
struct image *image_load(const struct cli *cli, struct diag *d, u32 src, const struct target *t);
