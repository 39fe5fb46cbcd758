/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/headers.h"

#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#include "c/header.h"
#include "types/btf.h"

/* Headers that are read together: types of one refer to those of the others. */
struct group {
	struct cheader *h;
	struct type_source *types; /* NULL: not read yet */
	vec(const char *) names;
	bool is_kernel;
	bool is_read;
};

struct headers {
	struct header_set set; /* must be first */
	struct type_source *kernel;
	struct group own, of_kernel, of_programs;
	vec(const char *) dirs;     /* -I */
	vec(const char *) included; /* --include */
	struct sbuf trouble;
};

static struct headers headers = { .of_kernel.is_kernel = true };

void kern_headers_add_dir(const char *dir)
{
	vec_push(&headers.dirs, dir);
}

void kern_headers_include(const char *name)
{
	vec_push(&headers.included, name);
}

static void make_types(struct group *g)
{
	size_t len;
	u8 *data = cheader_types(g->h, &len);
	int err;

	/* What was handed out stays valid: types of an earlier state are not closed. */
	g->types = btf_open_mem(data, len, &err);
	if (g->types)
		btf_open_pointers(g->types);
	free(data);
}

static void start(struct group *g)
{
	if (g->h)
		return;
	g->h = cheader_new();
	vec_for(dir, &headers.dirs)
		cheader_add_dir(g->h, *dir);
	if (!g->is_kernel || !cheader_use_kernel(g->h, NULL))
		cheader_use_user(g->h);
}

static void read_group(struct group *g)
{
	if (g->is_read)
		return;
	g->is_read = true;
	if (!g->names.cnt)
		return;
	start(g);
	vec_for(name, &g->names)
		cheader_add(g->h, *name, false);
	make_types(g);
}

/* ---- as a source of types ---- */

static const struct type *find_in(struct group *g, const char *keyword, const char *name)
{
	return g->types ? g->types->find(g->types, keyword, name) : NULL;
}

static const struct type *source_find(struct type_source *src, const char *keyword, const char *name)
{
	struct headers *h = (struct headers *)src;
	const struct type *t = find_in(&h->own, keyword, name);

	if (!t && h->kernel)
		t = h->kernel->find(h->kernel, keyword, name);
	if (!t) {
		read_group(&h->of_programs);
		t = find_in(&h->of_programs, keyword, name);
	}
	if (!t) {
		read_group(&h->of_kernel);
		t = find_in(&h->of_kernel, keyword, name);
	}
	return t;
}

static bool source_constant(struct type_source *src, const char *name, s64 *value, const struct type **enum_type)
{
	struct headers *h = (struct headers *)src;

	if (h->own.types && h->own.types->constant(h->own.types, name, value, enum_type))
		return true;
	return h->kernel && h->kernel->constant && h->kernel->constant(h->kernel, name, value, enum_type);
}

/* ---- as a set ---- */

static bool set_constant(struct header_set *set, const char *name, bool of_system, s64 *value)
{
	struct headers *h = (struct headers *)set;

	if (!of_system)
		return h->own.h && cheader_constant(h->own.h, name, value);
	read_group(&h->of_programs);
	if (h->of_programs.h && cheader_constant(h->of_programs.h, name, value))
		return true;
	read_group(&h->of_kernel);
	return h->of_kernel.h && cheader_constant(h->of_kernel.h, name, value);
}

static bool macro_in(struct group *g, struct arena *arena, const char *name, struct header_macro *out)
{
	const struct cmacro *m = g->h ? cheader_macro(g->h, name) : NULL;
	const char *text = m ? cheader_macro_text(g->h, m) : NULL;

	if (!text)
		return false;
	*out = (struct header_macro){ .text = arena_strdup(arena, text),
				      .is_function = m->is_function,
				      .param_cnt = m->param_cnt };
	out->params = arena_alloc(arena, (m->param_cnt + 1) * sizeof(*out->params));
	for (u32 i = 0; i < m->param_cnt; i++)
		out->params[i] = m->params[i]->name;
	return true;
}

static bool set_macro(struct header_set *set, struct arena *arena, const char *name, struct header_macro *out)
{
	struct headers *h = (struct headers *)set;

	if (macro_in(&h->own, arena, name, out))
		return true;
	read_group(&h->of_programs);
	if (macro_in(&h->of_programs, arena, name, out))
		return true;
	read_group(&h->of_kernel);
	return macro_in(&h->of_kernel, arena, name, out);
}

static bool in_own_dirs(const struct headers *h, const char *name)
{
	char path[4096];

	vec_for(dir, &h->dirs) {
		snprintf(path, sizeof(path), "%s/%s", *dir, name);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

/* A header that is not installed is no error if something stands for it: BTF for those of the kernel, by the folders of its tree;
 * a table of constants for those of programs, where none are installed. */
static bool is_replaced(const char *name, enum header_form form)
{
	static const char *const folders[] = { "linux/",   "net/",   "asm/", "asm-generic/", "uapi/", "trace/",
					       "block/",   "fs/",    "mm/",  "kernel/",      "scsi/", "rdma/",
					       "drivers/", "sound/", "drm/", "crypto/" };

	for (u32 i = 0; i < ARRAY_CNT(folders); i++)
		if (str_starts(name, folders[i]))
			return true;
	return form == HEADER_SYSTEM && !cheader_is_user("stdio.h");
}

static bool set_add(struct header_set *set, const char *name, enum header_form form)
{
	struct headers *h = (struct headers *)set;
	bool is_path = form == HEADER_PATH;
	u32 before;

	if (!is_path && !in_own_dirs(h, name)) {
		bool is_kernel = cheader_is_kernel(NULL, name);
		struct group *g = is_kernel ? &h->of_kernel : &h->of_programs;

		if (!is_kernel && !cheader_is_user(name) && !is_replaced(name, form))
			return false;
		vec_push(&g->names, xstrdup(name));
		g->is_read = false;
		return true;
	}
	start(&h->own);
	before = cheader_error_cnt(h->own.h);
	if (!cheader_add(h->own.h, name, is_path && *name != '/'))
		return false;
	sbuf_reset(&h->trouble);
	if (cheader_error_cnt(h->own.h) > before)
		sbuf_puts(&h->trouble, cheader_errors(h->own.h));
	make_types(&h->own);
	return true;
}

static const char *set_trouble(struct header_set *set, const char *path)
{
	struct headers *h = (struct headers *)set;

	if (!h->trouble.len)
		return NULL;
	h->trouble.s[strcspn(h->trouble.s, "\n")] = 0;
	return h->trouble.s;
}

struct header_set *kern_headers(struct type_source *types)
{
	headers.kernel = types;
	headers.set = (struct header_set){ .src = { .find = source_find, .constant = source_constant },
					   .add = set_add,
					   .constant = set_constant,
					   .macro = set_macro,
					   .trouble = set_trouble };
	vec_for(name, &headers.included) {
		if (!set_add(&headers.set, *name, access(*name, R_OK) ? HEADER_QUOTED : HEADER_PATH))
			fprintf(stderr, "WARNING: cannot find the header %s\n", *name);
		headers.set.is_used = true;
	}
	return &headers.set;
}
