/* SPDX-License-Identifier: GPL-2.0-only */
/* /etc/ld.so.cache, in the format that glibc has written since 2.2:
 *
 *   "glibc-ld.so.cache1.1" | u32 lib_cnt | u32 strings_len | u8 flags, pad[3] | u32 extensions | u32 unused[3]
 *   lib_cnt entries of { s32 flags; u32 key; u32 value; u32 osversion; u64 hwcap }
 *   strings
 *
 * key (the soname) and value (the path) are offsets of strings from the start of that header. Older files, and those made for
 * both, begin with another header and its entries ("ld.so-1.7.0"); the new one then follows, aligned to 8. glibc sorts the
 * entries so that of several versions of a library the newest comes first. musl has no such file: there the directories are
 * searched.
 */
#include "sym/ldcache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"

#define OLD_MAGIC "ld.so-1.7.0"
#define OLD_HEAD_SZ 16
#define OLD_ENTRY_SZ 12
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define NEW_HEAD_SZ 48
#define NEW_ENTRY_SZ 24

/* entry.flags: the kind of library, 3 is "ELF, libc6", and what machine it is for */
#if defined(__x86_64__)
#define OUR_FLAGS 0x0303
static const char *const lib_dirs[] = {
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
	"/usr/local/lib",        "/usr/local/lib64",
};
#elif defined(__aarch64__)
#define OUR_FLAGS 0x0a03
static const char *const lib_dirs[] = {
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
	"/usr/local/lib",         "/usr/local/lib64",
};
#endif

/* "libc.so.6" is meant by "libc", "libc.so" and "libc.so.6". */
static bool names_library(const char *name, const char *file)
{
	size_t n = strlen(name);

	if (strncmp(file, name, n) != 0)
		return false;
	file += n;
	return !*file || str_starts(file, ".so") || (*file == '.' && strstr(name, ".so"));
}

static u32 get_u32(const char *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

char *sym_ldcache_lookup(const char *cache, size_t len, const char *name)
{
	const char *head = cache, *end = cache + len, *found = NULL;
	u32 cnt;

	if (len >= OLD_HEAD_SZ && !memcmp(head, OLD_MAGIC, strlen(OLD_MAGIC))) {
		size_t skip = ALIGN_UP(OLD_HEAD_SZ + (size_t)get_u32(head + 12) * OLD_ENTRY_SZ, 8);

		if (skip > len)
			return NULL;
		head += skip;
	}
	if ((size_t)(end - head) < NEW_HEAD_SZ || memcmp(head, NEW_MAGIC, strlen(NEW_MAGIC)) != 0)
		return NULL;
	len = end - head;
	cnt = get_u32(head + 20);
	if (cnt > (len - NEW_HEAD_SZ) / NEW_ENTRY_SZ)
		return NULL;
	for (u32 i = 0; i < cnt; i++) {
		const char *entry = head + NEW_HEAD_SZ + (size_t)i * NEW_ENTRY_SZ;
		u32 key = get_u32(entry + 4), value = get_u32(entry + 8);
		bool is_special = get_u32(entry + 16) || get_u32(entry + 20); /* for some CPUs only */

		if (get_u32(entry) != OUR_FLAGS || key >= len || value >= len || !memchr(head + key, 0, len - key) ||
		    !memchr(head + value, 0, len - value))
			continue;
		if (!names_library(name, head + key))
			continue;
		if (!is_special)
			return xstrdup(head + value);
		if (!found)
			found = head + value;
	}
	return found ? xstrdup(found) : NULL;
}

static char *find_in_process(const char *name, u32 pid)
{
	char path[64], *text, *line, *save, *found = NULL;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (io_read_file(path, &text, NULL))
		return NULL;
	for (line = strtok_r(text, "\n", &save); line && !found; line = strtok_r(NULL, "\n", &save)) {
		char *file = strchr(line, '/'), *base;

		if (!file)
			continue;
		base = strrchr(file, '/') + 1;
		if (names_library(name, base))
			found = xstrdup(file);
	}
	free(text);
	return found;
}

static char *find_in_dir(const char *name, const char *dir)
{
	struct dirent *ent;
	char *best = NULL;
	DIR *d = opendir(dir);

	if (!d)
		return NULL;
	while ((ent = readdir(d))) {
		struct stat st;

		if (!names_library(name, ent->d_name) || fstatat(dirfd(d), ent->d_name, &st, 0) || !S_ISREG(st.st_mode))
			continue;
		/* "libc.so" may be a linker script; the longer "libc.so.6" is the library. */
		if (!best || strlen(ent->d_name) > strlen(strrchr(best, '/') + 1)) {
			free(best);
			best = xasprintf("%s/%s", dir, ent->d_name);
		}
	}
	closedir(d);
	return best;
}

char *sym_find_library(const char *name, u32 pid)
{
	char *found = pid ? find_in_process(name, pid) : NULL, *cache;
	size_t len;

	if (!found && !io_read_file("/etc/ld.so.cache", &cache, &len)) {
		found = sym_ldcache_lookup(cache, len, name);
		free(cache);
	}
	for (u32 i = 0; !found && i < ARRAY_CNT(lib_dirs); i++)
		found = find_in_dir(name, lib_dirs[i]);
	return found;
}

char *sym_find_program(const char *name, const char *root, u32 *hits)
{
	const char *path = getenv("PATH");
	vec(struct stat) seen = {};
	char *found = NULL;

	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t n = strcspn(at, ":");
		char *file = xasprintf("%s%.*s/%s", root, (int)n, at, name);
		struct stat st;
		bool is_new = n && !stat(file, &st) && S_ISREG(st.st_mode) && !access(file, X_OK);

		/* /bin is often the same directory as /usr/bin */
		vec_for(s, &seen)
			if (is_new && s->st_dev == st.st_dev && s->st_ino == st.st_ino)
				is_new = false;
		if (is_new)
			vec_push(&seen, st);
		if (is_new && !found)
			found = xstrdup(file + strlen(root));
		free(file);
		at += n + (at[n] == ':');
	}
	if (hits)
		*hits = seen.cnt;
	vec_free(&seen);
	return found;
}
