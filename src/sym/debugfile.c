/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/debugfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "base/sbuf.h"

#define UNPACK_MAX (256u << 20) /* of .gnu_debugdata; real ones have some megabytes */

static const char *extra_dirs = "";

void debugfile_set_path(const char *dirs)
{
	extra_dirs = *dirs == '+' || *dirs == '-' ? dirs + 1 : dirs;
}

char *build_id_text(struct bytes id)
{
	struct sbuf b = {};

	for (size_t i = 0; i < id.len; i++)
		sbuf_printf(&b, "%02x", id.at[i]);
	return b.s ? b.s : xstrdup("");
}

/* ---- one candidate ---- */

struct search {
	struct bytes id;  /* of the file; empty: none */
	const char *link; /* name of the debug file; NULL: unknown */
	u32 crc;
	bool has_crc;
	struct objfile *out;
};

static bool same_bytes(struct bytes a, struct bytes b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

/* Opens path, and checks whether it is the right file. */
static bool try_file(const struct search *s, const char *path)
{
	struct bytes id;
	bool is_it;

	if (objfile_open(s->out, path, 0, 0))
		return false;
	id = objfile_build_id(s->out);
	is_it = s->id.len && id.len ? same_bytes(s->id, id) :
				      s->has_crc && (u32)crc32_z(crc32(0, NULL, 0), s->out->data, s->out->len) == s->crc;
	if (!is_it)
		objfile_release(s->out);
	return is_it;
}

static bool try_format(const struct search *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool try_format(const struct search *s, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	ok = try_file(s, sbuf_str(&b));
	sbuf_release(&b);
	return ok;
}

/* ---- directories ---- */

/* The path of the file in its own mount namespace; *root: the path to that namespace, "" for ours. */
static char *locate(const char *path, char **root)
{
	char target[4096], *end;
	ssize_t n = -1;
	u32 pid, used = 0;

	*root = xstrdup("");
	if (sscanf(path, "/proc/%u/root/%n", &pid, &used) == 1 && used) {
		free(*root);
		*root = xasprintf("/proc/%u/root", pid);
		return xstrdup(path + used - 1);
	}
	if (sscanf(path, "/proc/%u/%n", &pid, &used) == 1 && used &&
	    (!strncmp(path + used, "map_files/", 10) || str_eq(path + used, "exe")))
		n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0) {
		end = realpath(path, NULL);
		return end ? end : xstrdup(path);
	}
	target[n] = 0;
	free(*root);
	*root = xasprintf("/proc/%u/root", pid);
	return xstrdup(target);
}

/* Calls try for each directory of the search path until it returns true. */
static bool search_dirs(const struct search *s, const char *root, const char *dir,
			bool (*try)(const struct search *, const char *, const char *, const char *))
{
	char *all = xasprintf("%s%s:.debug:/usr/lib/debug", extra_dirs, *extra_dirs ? ":" : ""), *at = all, *one;
	bool found = false;

	while (!found && (one = strsep(&at, ":")))
		found = try(s, *one == '/' ? one : "", dir, *one == '/' ? root : one);
	free(all);
	return found;
}

/* base: an absolute directory, or "" for one beside the file, called `where` then. */
static bool try_id(const struct search *s, const char *base, const char *dir, const char *where)
{
	char *hex;
	bool ok;

	(void)dir;
	if (!*base)
		return false;
	hex = build_id_text(s->id);
	ok = try_format(s, "%s%s/.build-id/%.2s/%s.debug", where, base, hex, hex + 2) ||
		(*where && try_format(s, "%s/.build-id/%.2s/%s.debug", base, hex, hex + 2));
	free(hex);
	return ok;
}

static bool try_link(const struct search *s, const char *base, const char *dir, const char *where)
{
	if (!*base)
		return try_format(s, "%s/%s/%s", dir, where, s->link);
	/* dir begins with the path to the file's namespace. */
	return try_format(s, "%s%s%s/%s", where, base, dir + strlen(where), s->link) ||
		try_format(s, "%s%s/%s", where, base, s->link) ||
		(*where && try_format(s, "%s%s/%s", base, dir + strlen(where), s->link));
}

/* Fetches the file from debuginfod; the command prints its path. */
static bool fetch(const struct search *s)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *hex, *cmd, line[4096];
	FILE *f;
	bool ok = false;

	if (!urls || !*urls || !s->id.len)
		return false;
	hex = build_id_text(s->id);
	cmd = xasprintf("exec debuginfod-find debuginfo %s 2>/dev/null </dev/null", hex);
	f = popen(cmd, "re");
	if (f) {
		if (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = 0;
			ok = *line == '/' && try_file(s, line);
		}
		pclose(f);
	}
	free(cmd);
	free(hex);
	return ok;
}

int debugfile_open(struct objfile *of, const char *path, bool may_fetch, struct objfile *out)
{
	struct search s = { .id = objfile_build_id(of), .out = out };
	struct bytes link = objfile_section_named(of, ".gnu_debuglink");
	char *root, *full = locate(path, &root), *slash = strrchr(full, '/'), *dir, *name = NULL;
	size_t crc_off;
	bool found = false;

	dir = slash ? xasprintf("%s%.*s", root, (int)(slash - full), full) : xstrdup(".");
	s.link = bytes_str(link, 0);
	if (s.link && *s.link && !strchr(s.link, '/')) {
		crc_off = ALIGN_UP(strlen(s.link) + 1, 4);
		if (crc_off + 4 <= link.len) {
			memcpy(&s.crc, link.at + crc_off, 4);
			s.has_crc = true;
		}
	} else {
		s.link = name = xasprintf("%s.debug", slash ? slash + 1 : full);
	}
	if (s.id.len)
		found = search_dirs(&s, root, dir, try_id);
	if (!found && (s.id.len || s.has_crc))
		found = try_format(&s, "%s/%s", dir, s.link) || search_dirs(&s, root, dir, try_link);
	if (!found && may_fetch)
		found = fetch(&s);
	free(name);
	free(dir);
	free(full);
	free(root);
	return found ? 0 : -ENOENT;
}

int debugfile_open_alt(struct objfile *debug, const char *path, struct objfile *out)
{
	struct bytes link = objfile_section_named(debug, ".gnu_debugaltlink");
	const char *name = bytes_str(link, 0), *slash;
	struct search s = { .out = out };
	bool found;

	if (!name || !*name || strlen(name) + 1 >= link.len)
		return -ENOENT;
	s.id = (struct bytes){ link.at + strlen(name) + 1, link.len - strlen(name) - 1 };
	slash = path ? strrchr(path, '/') : NULL;
	found = *name == '/' ? try_file(&s, name) : slash && try_format(&s, "%.*s/%s", (int)(slash - path), path, name);
	if (!found)
		found = search_dirs(&s, "", "", try_id);
	/* Debian has them below this directory, whatever the link says. */
	slash = strrchr(name, '/');
	return found ||
			try_format(&s, "/usr/lib/debug/.dwz/%s",
				   strstr(name, ".dwz/") ? strstr(name, ".dwz/") + 5 :
					   slash         ? slash + 1 :
							   name) ?
		0 :
		-ENOENT;
}

/* ---- .gnu_debugdata ---- */

#ifdef HAVE_LZMA
int debugfile_open_packed(struct objfile *of, struct objfile *out)
{
	struct bytes packed = objfile_section_named(of, ".gnu_debugdata");
	lzma_stream z = LZMA_STREAM_INIT;
	size_t cap = 4 * packed.len + 65536;
	u8 *data;
	lzma_ret r;

	if (!packed.len || lzma_stream_decoder(&z, UNPACK_MAX, 0) != LZMA_OK)
		return -ENOENT;
	data = xzalloc(cap);
	z.next_in = packed.at;
	z.avail_in = packed.len;
	z.next_out = data;
	z.avail_out = cap;
	while ((r = lzma_code(&z, LZMA_FINISH)) == LZMA_OK && !z.avail_out && cap < UNPACK_MAX) {
		data = xrealloc(data, 2 * cap);
		z.next_out = data + cap;
		z.avail_out = cap;
		cap *= 2;
	}
	lzma_end(&z);
	if (r != LZMA_STREAM_END) {
		free(data);
		return -ENOENT;
	}
	return objfile_from_memory(out, data, (size_t)(z.next_out - data)) ? -ENOENT : 0;
}
#else
int debugfile_open_packed(struct objfile *of, struct objfile *out)
{
	(void)of, (void)out;
	return -ENOENT;
}
#endif
