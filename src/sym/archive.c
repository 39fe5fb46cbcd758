/* SPDX-License-Identifier: GPL-2.0-only */
/* A ZIP archive ends in a record with the offset of its directory; the directory has the offset of each member's header, and the
 * member follows its header. All numbers are little endian and unaligned. */
#include "sym/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_SIZE 22    /* without its comment, which has up to 65535 bytes */
#define ENTRY_SIZE 46  /* of the directory, without name, extra field and comment */
#define HEADER_SIZE 30 /* of a member, without name and extra field */

static u32 get16(const u8 *p)
{
	return p[0] | (u32)p[1] << 8;
}

static u32 get32(const u8 *p)
{
	return get16(p) | get16(p + 2) << 16;
}

size_t archive_name_len(const char *path)
{
	const char *mark = strstr(path, "!/");

	return mark ? (size_t)(mark - path) : 0;
}

static int find_member(const u8 *d, u64 size, const char *name, u64 *off, u64 *len)
{
	u64 end = 0, at, cnt;

	for (u64 back = END_SIZE; back <= size && back <= END_SIZE + UINT16_MAX && !end; back++)
		if (get32(d + size - back) == 0x06054b50)
			end = size - back;
	if (!end)
		return -EILSEQ;
	cnt = get16(d + end + 10);
	at = get32(d + end + 16);
	for (; cnt > 0 && at + ENTRY_SIZE <= size && get32(d + at) == 0x02014b50; cnt--) {
		u32 name_len = get16(d + at + 28), more = get16(d + at + 30) + get16(d + at + 32);
		u64 header = get32(d + at + 42);

		if (at + ENTRY_SIZE + name_len > size)
			break;
		if (name_len != strlen(name) || memcmp(d + at + ENTRY_SIZE, name, name_len) != 0) {
			at += ENTRY_SIZE + name_len + more;
			continue;
		}
		*len = get32(d + at + 20);
		if (get16(d + at + 10) || *len == UINT32_MAX || header == UINT32_MAX)
			return -ENOTSUP;
		if (header + HEADER_SIZE > size || get32(d + header) != 0x04034b50)
			return -EILSEQ;
		*off = header + HEADER_SIZE + get16(d + header + 26) + get16(d + header + 28);
		return *off <= size && *len <= size - *off && *len ? 0 : -EILSEQ;
	}
	return -ENOENT;
}

static int find(const char *archive, const char *name, u64 *off, u64 *len)
{
	int fd = open(archive, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	struct stat st;
	void *data;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < END_SIZE) {
		close(fd);
		return -EILSEQ;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	err = data == MAP_FAILED ? -errno : find_member(data, (u64)st.st_size, name, off, len);
	if (data != MAP_FAILED)
		munmap(data, (size_t)st.st_size);
	close(fd);
	return err;
}

int archive_open(struct objfile *o, const char *path, u64 *base)
{
	size_t n = archive_name_len(path);
	char *archive;
	u64 len = 0;
	int err;

	*base = 0;
	*o = (struct objfile){};
	if (!n)
		return objfile_open(o, path, 0, 0);
	archive = xasprintf("%.*s", (int)n, path);
	err = find(archive, path + n + 2, base, &len);
	if (!err)
		err = objfile_open(o, archive, *base, len);
	free(archive);
	return err;
}
