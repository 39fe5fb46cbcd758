/* SPDX-License-Identifier: GPL-2.0-only */
#include "type/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/escape.h"
#include "base/glob.h"
#include "base/io.h"
#include "c/header.h"
#include "types/btfelf.h"
#include "type/query.h"
#include "type/view.h"

#define BTF_DIR "/sys/kernel/btf"
#define FLUSH_AT (256 << 10)

enum type_option {
	TYPE_OPT_FIRST = 0x100,
#define TYPE_OPTION_ROW(id, letter, name, arg, doc) id,
#include "type/option.def"
#undef TYPE_OPTION_ROW
};

static const struct {
	enum type_option id;
	char letter;
	const char *name, *arg, *doc;
} options[] = {
#define TYPE_OPTION_ROW(id, letter, name, arg, doc) { id, letter, name, arg, doc },
#include "type/option.def"
#undef TYPE_OPTION_ROW
};

/* A file of types and what it builds on. */
struct type_file {
	struct btfraw base, own;
	bool is_split;
	struct dbg_places places;
	struct type_view view;
};

struct type_cmd {
	const char *btf, *module, *kernel, *exe;
	vec(const char *) headers, dirs;
	bool json, expand, verbose;
	u32 cacheline;
	struct type_query query;
	const char *diff[2];
};

static int fail(const char *fmt, ...) PRINTF_LIKE(1, 2);
static int fail(const char *fmt, ...)
{
	va_list ap;

	fputs("ERROR: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

static void flush(struct sbuf *out, size_t at)
{
	if (out->len < at || !out->len)
		return;
	if (isatty(STDOUT_FILENO))
		escape_from(out, 0, true); /* names of types may be anything */
	fwrite(out->s, 1, out->len, stdout);
	sbuf_reset(out);
}

static void close_file(struct type_file *f)
{
	btfc_aligns_release(&f->view.aligns);
	vec_free(&f->places.at);
	btfraw_release(&f->own);
	if (f->is_split)
		btfraw_release(&f->base);
}

/* Raw BTF, or an ELF file with a section .BTF (vmlinux, a module, a BPF object). base: NULL if it stands alone. */
static int open_btf(struct btfraw *b, const char *path, struct btfraw *base)
{
	int err = base ? -EINVAL : btfraw_map(b, path);

	if (err)
		err = btfraw_open(b, path, base);
	return err == -EINVAL ? btfelf_open(b, path, base) : err;
}

static void make_view(const struct type_cmd *cmd, struct type_file *f)
{
	f->view = (struct type_view){ .b = &f->own, .cacheline = cmd->cacheline, .expand = cmd->expand };
	btfc_aligns_init(&f->view.aligns, &f->own);
}

static bool is_sysfs(const char *path)
{
	return str_starts(path, BTF_DIR "/");
}

/* Types of C headers, by way of BTF. */
static int open_headers(const struct type_cmd *cmd, struct type_file *f)
{
	struct cheader *h = cheader_new();
	bool is_kernel = false;
	size_t len;
	u8 *data;
	int err;

	*f = (struct type_file){};
	vec_for(dir, &cmd->dirs)
		cheader_add_dir(h, *dir);
	vec_for(name, &cmd->headers)
		is_kernel |= cheader_is_kernel(cmd->kernel, *name);
	if (is_kernel)
		cheader_use_kernel(h, cmd->kernel);
	else
		cheader_use_user(h);
	vec_for(name, &cmd->headers) {
		if (cheader_add(h, *name, strchr(*name, '.') == *name || **name == '/'))
			continue;
		fail("cannot find the header %s", *name);
		fputs("HINT: -I DIR adds a directory to search; kernel headers are in Debian's package linux-headers-$(uname -r)\n",
		      stderr);
		cheader_free(h);
		return 1;
	}
	if (cmd->verbose)
		fprintf(stderr, "%s%u files read, %u places could not be parsed\n", cheader_errors(h), cheader_file_cnt(h),
			cheader_error_cnt(h));
	data = cheader_types(h, &len);
	cheader_free(h);
	err = btfraw_init(&f->own, data, len, false, NULL);
	if (err)
		return fail("cannot read types from the header: %s", strerror(-err));
	make_view(cmd, f);
	return 0;
}

/* Types of a program, by way of BTF. */
static int open_exe(const struct type_cmd *cmd, struct type_file *f)
{
	const char *why = "";
	struct dbg *d = dbg_of(cmd->exe, &why);
	size_t len;
	u8 *data;

	*f = (struct type_file){};
	if (!d) {
		fail("%s", why);
		fputs("HINT: compile it with -g, or install its debug package (Debian: NAME-dbgsym); --btf FILE reads BTF\n",
		      stderr);
		return 1;
	}
	data = dbg_to_btf(d, &len, &f->places);
	if (btfraw_init(&f->own, data, len, false, NULL))
		return fail("cannot read the types of %s", cmd->exe);
	make_view(cmd, f);
	f->view.places = &f->places;
	return 0;
}

/* path: a file; or NULL, and then the module's BTF or, without one, that of the kernel. */
static int open_file(const struct type_cmd *cmd, const char *path, const char *module, struct type_file *f)
{
	char of_module[512];
	int err;

	*f = (struct type_file){};
	if (!path && !module)
		path = getenv("SONDE_BTF") ? getenv("SONDE_BTF") : getenv("BPFTRACE_BTF");
	if (!path) {
		snprintf(of_module, sizeof(of_module), BTF_DIR "/%s", module ? module : "vmlinux");
		path = of_module;
	}
	/* Modules add to the kernel's types; so does a file that is not whole by itself. */
	err = is_sysfs(path) && !str_eq(path, BTF_DIR "/vmlinux") ? -EINVAL : open_btf(&f->own, path, NULL);
	if (!err && btfraw_check(&f->own))
		err = -EINVAL;
	if (err == -EINVAL && is_sysfs(path)) {
		err = open_btf(&f->base, BTF_DIR "/vmlinux", NULL);
		if (err)
			return fail("cannot read the kernel's types (" BTF_DIR "/vmlinux): %s", strerror(-err));
		f->is_split = true;
		err = open_btf(&f->own, path, &f->base);
		if (!err && btfraw_check(&f->own))
			err = -EINVAL;
	}
	if (err) {
		fail("cannot read types from %s: %s", path,
		     err == -EINVAL ? "neither BTF nor an ELF file with BTF" : strerror(-err));
		if (module)
			fputs("HINT: the module must be loaded: modprobe it first; lsmod lists the loaded ones\n", stderr);
		else if (err == -ENOENT && str_eq(path, BTF_DIR "/vmlinux"))
			fputs(access("/sys/kernel", F_OK) ?
				      "HINT: sysfs is not mounted at /sys: mount -t sysfs sysfs /sys; --btf FILE reads another file\n" :
				      "HINT: this kernel was built without CONFIG_DEBUG_INFO_BTF; --btf FILE reads another\n",
			      stderr);
		if (f->is_split)
			btfraw_release(&f->base);
		return 1;
	}
	make_view(cmd, f);
	return 0;
}

#define BODIES (BTF_BIT(BTF_KIND_STRUCT) | BTF_BIT(BTF_KIND_UNION) | BTF_BIT(BTF_KIND_ENUM) | BTF_BIT(BTF_KIND_ENUM64))
#define NAMED (BODIES | BTF_BIT(BTF_KIND_TYPEDEF) | BTF_BIT(BTF_KIND_INT) | BTF_BIT(BTF_KIND_FLOAT))

static const struct {
	const char *word;
	u32 kinds;
} keywords[] = {
	{ "struct", BTF_BIT(BTF_KIND_STRUCT) },
	{ "union", BTF_BIT(BTF_KIND_UNION) },
	{ "enum", BTF_BIT(BTF_KIND_ENUM) | BTF_BIT(BTF_KIND_ENUM64) },
	{ "typedef", BTF_BIT(BTF_KIND_TYPEDEF) },
};

static bool is_keyword(const char *word)
{
	for (u32 i = 0; i < ARRAY_CNT(keywords); i++)
		if (str_eq(word, keywords[i].word))
			return true;
	return false;
}

/* `struct x`, `union x`, `enum x`, or just x, which may be anything. */
static u32 kinds_of(const char **name)
{
	for (u32 i = 0; i < ARRAY_CNT(keywords); i++) {
		size_t n = strlen(keywords[i].word);

		if (str_starts(*name, keywords[i].word) && (*name)[n] == ' ') {
			*name += n + 1;
			return keywords[i].kinds;
		}
	}
	return NAMED;
}

static void show(const struct type_cmd *cmd, struct type_file *f, u32 id, struct sbuf *out)
{
	if (cmd->json)
		type_json(&f->view, id, out);
	else
		type_text(&f->view, id, out);
	flush(out, FLUSH_AT);
}

static int no_such_type(struct type_file *f, u32 kinds, const char *name)
{
	vec(const char *) names = {};
	const char *near;

	for (u32 id = 0; (id = btfraw_next(&f->own, kinds, id));)
		vec_push(&names, btfraw_str(&f->own, btfraw_type(&f->own, id)->name_off));
	near = nearest_name(name, names.at, names.cnt);
	fail("there is no type '%s'", name);
	if (near && *near)
		fprintf(stderr, "HINT: did you mean %s?\n", near);
	else
		fprintf(stderr, "HINT: sonde type '*%.*s*' shows types with such names\n", 12, name);
	vec_free(&names);
	return 1;
}

/* Struct before typedef, as a name alone may mean both; in a split file first what it adds. */
static u32 find(struct type_file *f, u32 kinds, const char *name)
{
	u32 order[] = { kinds & BODIES, kinds & ~BODIES };

	for (u32 i = 0; i < ARRAY_CNT(order); i++) {
		u32 id = order[i] ? btfraw_find(&f->own, order[i], name) : 0;

		if (!id && order[i] && f->is_split)
			id = btfraw_find(&f->base, order[i], name);
		if (id)
			return id;
	}
	/* A name of C++ or Rust without its namespaces. */
	for (u32 id = 0; (id = btfraw_next(&f->own, kinds, id));) {
		const char *full = btfraw_str(&f->own, btfraw_type(&f->own, id)->name_off);
		size_t n = strlen(full), m = strlen(name);

		if (n > m + 2 && str_eq(full + n - m, name) && !strncmp(full + n - m - 2, "::", 2))
			return id;
	}
	return 0;
}

static int show_named(const struct type_cmd *cmd, struct type_file *f, const char *name, struct sbuf *out)
{
	const char *whole = name;
	u32 kinds = kinds_of(&name), id, cnt = 0;

	if (!has_wildcard(name)) {
		id = find(f, kinds, name);
		if (!id)
			return no_such_type(f, kinds, name);
		show(cmd, f, id, out);
		return 0;
	}
	for (id = 0; (id = btfraw_next(&f->own, kinds, id));) {
		const char *of_type = btfraw_str(&f->own, btfraw_type(&f->own, id)->name_off);

		if (!*of_type || !glob_match(name, of_type))
			continue;
		show(cmd, f, id, out);
		cnt++;
	}
	return cnt ? 0 : fail("no type matches '%s'", whole);
}

/* Without a name: every struct and union. */
static void show_all(const struct type_cmd *cmd, struct type_file *f, struct sbuf *out)
{
	for (u32 id = 0; (id = btfraw_next(&f->own, BTF_BIT(BTF_KIND_STRUCT) | BTF_BIT(BTF_KIND_UNION), id));)
		if (*btfraw_str(&f->own, btfraw_type(&f->own, id)->name_off))
			show(cmd, f, id, out);
}

static int help(void)
{
	puts("USAGE:\n"
	     "    sonde type [OPTIONS] [NAME...]       NAME: task_struct, 'struct sock', 'enum zone*', pid_t\n"
	     "    sonde type --diff OLD NEW [NAME...]\n\n"
	     "Shows the memory layout of types: members with offset and size, holes, cache lines. Without a name: every struct and union.\n\n"
	     "OPTIONS:");
	for (u32 i = 0; i < ARRAY_CNT(options); i++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", options[i].letter ? '-' : ' ',
			 options[i].letter ? options[i].letter : ' ', options[i].letter ? ", " : "  ", options[i].name,
			 *options[i].arg ? " " : "", options[i].arg);
		printf("    %-26s %s\n", left, options[i].doc);
	}
	return 0;
}

static int bad_usage(const char *fmt, const char *what)
{
	fail(fmt, what);
	fputs("HINT: sonde type --help shows how it is used\n", stderr);
	return 1;
}

/* -1 to go on. */
static int take(struct type_cmd *cmd, enum type_option id)
{
	char *end;

	switch (id) {
	case TYPE_OPT_BTF:
		cmd->btf = optarg;
		return -1;
	case TYPE_OPT_MODULE:
		cmd->module = optarg;
		return -1;
	case TYPE_OPT_EXE:
		cmd->exe = optarg;
		return -1;
	case TYPE_OPT_HEADER:
		vec_push(&cmd->headers, optarg);
		return -1;
	case TYPE_OPT_KERNEL:
		cmd->kernel = optarg;
		return -1;
	case TYPE_OPT_INCLUDE:
		vec_push(&cmd->dirs, optarg);
		return -1;
	case TYPE_OPT_VERBOSE:
		cmd->verbose = true;
		return -1;
	case TYPE_OPT_EXPAND:
		cmd->expand = true;
		return -1;
	case TYPE_OPT_SIZES:
		cmd->query.what = QUERY_SIZES;
		return -1;
	case TYPE_OPT_HOLES:
		cmd->query.what = QUERY_HOLES;
		return -1;
	case TYPE_OPT_CONTAINS:
		cmd->query = (struct type_query){ QUERY_CONTAINS, optarg };
		return -1;
	case TYPE_OPT_MEMBER:
		cmd->query = (struct type_query){ QUERY_MEMBER, optarg };
		return -1;
	case TYPE_OPT_DIFF:
		cmd->diff[0] = optarg;
		return -1;
	case TYPE_OPT_JSON:
		cmd->json = true;
		return -1;
	case TYPE_OPT_CACHELINE:
		cmd->cacheline = strtoul(optarg, &end, 0);
		if (*end || cmd->cacheline < 8 || cmd->cacheline > 4096 || cmd->cacheline & (cmd->cacheline - 1))
			return bad_usage("--cacheline takes a power of two from 8 to 4096, not '%s'", optarg);
		return -1;
	case TYPE_OPT_HELP:
		return help();
	case TYPE_OPT_FIRST:
		break;
	}
	return 1;
}

static int parse(struct type_cmd *cmd, int argc, char **argv)
{
	struct option longs[ARRAY_CNT(options) + 1] = {};
	char shorts[2 * ARRAY_CNT(options) + 2] = ":";
	u32 n = 1;
	int got;

	for (u32 i = 0; i < ARRAY_CNT(options); i++) {
		longs[i] = (struct option){ options[i].name, *options[i].arg ? required_argument : no_argument, NULL,
					    options[i].id };
		if (options[i].letter) {
			shorts[n++] = options[i].letter;
			if (*options[i].arg)
				shorts[n++] = ':';
		}
	}
	while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		int status;

		if (got == '?')
			return bad_usage("there is no option %s", argv[optind - 1]);
		if (got == ':')
			return bad_usage("%s needs an argument", argv[optind - 1]);
		for (u32 i = 0; i < ARRAY_CNT(options); i++)
			if (options[i].letter && options[i].letter == got)
				got = options[i].id;
		status = take(cmd, got);
		if (status >= 0)
			return status;
	}
	if (cmd->diff[0]) {
		if (optind >= argc)
			return bad_usage("--diff needs two files, but only %s was given", cmd->diff[0]);
		cmd->diff[1] = argv[optind++];
	}
	if (cmd->btf && cmd->module)
		return bad_usage("--btf and --module %s cannot be used together", cmd->module);
	return -1;
}

static int diff(const struct type_cmd *cmd, char **names, u32 cnt, struct sbuf *out)
{
	struct type_file old, new;
	int status;

	if (open_file(cmd, cmd->diff[0], NULL, &old))
		return 2;
	if (open_file(cmd, cmd->diff[1], NULL, &new)) {
		close_file(&old);
		return 2;
	}
	status = type_diff(&old.view, &new.view, names, cnt, cmd->json, out);
	close_file(&old);
	close_file(&new);
	return status;
}

int type_main(int argc, char **argv)
{
	struct type_cmd cmd = { .cacheline = CACHELINE_SZ };
	int status = parse(&cmd, argc, argv);
	struct sbuf out = {};
	struct type_file f;

	if (status >= 0)
		return status;
	status = 0;
	if (cmd.diff[0]) {
		status = diff(&cmd, argv + optind, argc - optind, &out);
	} else if (cmd.exe                 ? open_exe(&cmd, &f) :
			   cmd.headers.cnt ? open_headers(&cmd, &f) :
					     open_file(&cmd, cmd.btf, cmd.module, &f)) {
		status = 1;
	} else {
		if (cmd.query.what)
			status = type_query(&f.view, &cmd.query, argv + optind, argc - optind, cmd.json, &out);
		else if (optind == argc)
			show_all(&cmd, &f, &out);
		for (int i = optind; !cmd.query.what && i < argc; i++) {
			char name[256];

			/* `struct task_struct` without quotes is two words. */
			if (i + 1 < argc && is_keyword(argv[i])) {
				snprintf(name, sizeof(name), "%s %s", argv[i], argv[i + 1]);
				i++;
			} else {
				snprintf(name, sizeof(name), "%s", argv[i]);
			}
			status |= show_named(&cmd, &f, name, &out);
		}
		close_file(&f);
	}
	flush(&out, 0);
	sbuf_release(&out);
	vec_free(&cmd.headers);
	vec_free(&cmd.dirs);
	return status;
}
