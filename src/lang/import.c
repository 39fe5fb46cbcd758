/* SPDX-License-Identifier: GPL-2.0-only */
/* Other files: import "x.bt" takes over the macros, probes and C definitions of x.bt, #include "x.h" the types and constants of
 * x.h.
 *
 * Names are relative to the file that has the import; a directory stands for the scripts and headers in it. A file is read once.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/sbuf.h"
#include "base/trust.h"
#include "lang/parse.h"

#define DEPTH_MAX 32

static bool has_ending(const char *s, const char *ending)
{
	size_t n = strlen(s), m = strlen(ending);

	return n > m && str_eq(s + n - m, ending);
}

/* The name as it is opened and shown: beside the source that mentions it. */
static const char *beside(struct parser *p, u32 src, const char *name)
{
	const char *from = p->diag->sources.at[src].name, *slash = strrchr(from, '/');

	if (*name == '/' || !slash)
		return name;
	return arena_printf(p->arena, "%.*s/%s", (int)(slash - from), from, name);
}

/* False if it was there already. */
static bool add_path(struct parser *p, const char *name)
{
	char full[PATH_MAX];

	if (!realpath(name, full))
		return true;
	vec_for(known, &p->imports->paths)
		if (str_eq(*known, full))
			return false;
	avec_push(p->arena, &p->imports->paths, arena_strdup(p->arena, full));
	return true;
}

void imports_add(struct parser *p, u32 src)
{
	add_path(p, p->diag->sources.at[src].name);
}

static void refuse(struct parser *p, struct span at, const char *name, const char *why)
{
	diag_error(p->diag, at, E_IMPORT, "cannot import %s: %s", name, why);
}

static void read_file(struct parser *p, const char *name, struct span at)
{
	struct parser inner = { .c = p->c,
				.arena = p->arena,
				.diag = p->diag,
				.script = p->script,
				.cpp = p->cpp,
				.imports = p->imports,
				.grouping_at = NOWHERE,
				.is_import = true,
				.errors_before = p->errors_before };
	struct parser *outer = p->cpp->parser;
	char *text = NULL;
	size_t len = 0;
	int err;

	if (!add_path(p, name))
		return;
	err = io_read_file(name, &text, &len);
	if (!err && len > UINT32_MAX / 2)
		err = -EFBIG;
	if (err) {
		refuse(p, at, name, strerror(-err));
		free(text);
		return;
	}
	if (++p->imports->depth > DEPTH_MAX) {
		refuse(p, at, name, "imports are nested too deeply");
	} else {
		u32 src = diag_add_source(p->diag, name, arena_strndup(p->arena, text, len), len);

		p->diag->sources.at[src].is_imported = true;
		p->diag->sources.at[src].from = at;
		p->cpp->parser = &inner;
		parse_items(&inner, src);
		p->cpp->parser = outer;
	}
	p->imports->depth--;
	free(text);
}

static bool is_wanted(const char *name)
{
	return name[0] != '.' && (has_ending(name, ".bt") || has_ending(name, ".h"));
}

/* A script becomes part of this one; a header is read by the C front end. */
static void read_any(struct parser *p, const char *name, struct span at)
{
	struct header_set *headers = p->c->target ? p->c->target->headers : NULL;
	const char *trouble;

	if (!headers || !has_ending(name, ".h")) {
		read_file(p, name, at);
		return;
	}
	if (!add_path(p, name))
		return;
	if (!headers->add(headers, name, HEADER_PATH)) {
		refuse(p, at, name, "it cannot be read");
		return;
	}
	headers->is_used = true;
	trouble = headers->trouble(headers, name);
	if (trouble) {
		diag_warn(p->diag, at, E_IMPORT, "parts of %s could not be parsed", name);
		diag_hint(p->diag, "%s", trouble);
	}
}

/* The script often runs as root: nobody else may be able to change what runs. Who wrote the script that imports may. */
static bool is_safe(struct parser *p, const char *name, struct span at)
{
	const char *from = p->diag->sources.at[at.src].name;
	struct sbuf why = {};
	struct trust trust;
	bool ok;

	trust_init(&trust);
	trust_owner_of(&trust, from);
	ok = trust_path(&trust, name, &why);
	if (!ok) {
		refuse(p, at, name, sbuf_str(&why));
		diag_hint(p->diag,
			  "the file and all directories above it must belong to root or to you, and be writable by nobody else");
	}
	sbuf_release(&why);
	return ok;
}

static int wanted_entry(const struct dirent *d)
{
	return is_wanted(d->d_name);
}

/* Anything else might never end: a FIFO, a device. */
static bool is_file(struct parser *p, const char *name, struct span at)
{
	struct stat st;

	if (stat(name, &st) || S_ISREG(st.st_mode))
		return true; /* what is wrong is said when it is opened */
	refuse(p, at, name, "it is not a file");
	return false;
}

static void read_directory(struct parser *p, const char *name, struct span at)
{
	struct dirent **list;
	int n = scandir(name, &list, wanted_entry, alphasort);

	if (n < 0) {
		refuse(p, at, name, strerror(errno));
		return;
	}
	for (int i = 0; i < n; i++) {
		const char *path = arena_printf(p->arena, "%s/%s", name, list[i]->d_name);

		if (is_safe(p, path, at) && is_file(p, path, at))
			read_any(p, path, at);
		free(list[i]);
	}
	free(list);
}

static void import_path(struct parser *p, const char *name, struct span at)
{
	struct stat st;

	if (p->c->parse_only)
		return;
	if (stat(name, &st)) {
		refuse(p, at, name, strerror(errno));
		return;
	}
	if (!is_safe(p, name, at))
		return;
	if (S_ISDIR(st.st_mode)) {
		read_directory(p, name, at);
	} else if (is_wanted(strrchr(name, '/') ? strrchr(name, '/') + 1 : name)) {
		if (is_file(p, name, at))
			read_any(p, name, at);
	} else if (has_ending(name, ".c") || has_ending(name, ".o")) {
		parse_unsupported(p, at, "imports of compiled C are");
	} else {
		refuse(p, at, name, "it is neither a script (.bt), nor a header (.h), nor a directory");
	}
}

void parse_import(struct parser *p)
{
	struct span at;
	const char *name;

	parse_advance(p);
	parse_advance(p);
	at = p->tok.span;
	name = p->tok.text; /* the caller has seen that it is a string */
	parse_advance(p);
	/* What follows is raw again. */
	p->lex.pos = p->tok.kind == TOK_SEMI ? p->tok.span.end : p->tok.span.begin;
	p->lex.after_dot = false;
	if (p->tok.kind != TOK_SEMI)
		diag_error(p->diag, at, E_SYNTAX, "expected ';' after the import");
	if (*name)
		import_path(p, beside(p, p->lex.src, name), at);
	else
		refuse(p, at, "\"\"", "the name is empty");
}

static void missing_header(struct parser *p, const char *name, bool is_quoted, struct span at)
{
	diag_error(p->diag, at, E_IMPORT, "cannot find the header %s", name);
	if (is_quoted)
		diag_hint(p->diag,
			  "it is searched beside the script, in the directories of -I DIR and among the system's headers");
	else
		diag_hint(p->diag, "install the package that has it, or name its directory with -I DIR");
}

void parse_include(struct parser *p, const char *name, bool is_quoted, struct span at)
{
	struct header_set *headers = p->c->target && !p->c->parse_only ? p->c->target->headers : NULL;
	const char *path = beside(p, at.src, name);
	struct stat st;

	if (is_quoted && *name && !stat(path, &st) && S_ISREG(st.st_mode))
		import_path(p, path, at);
	else if (headers && headers->add(headers, name, is_quoted ? HEADER_QUOTED : HEADER_SYSTEM))
		headers->is_used = true;
	else if (headers)
		missing_header(p, name, is_quoted, at);
}
