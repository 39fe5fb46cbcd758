/* SPDX-License-Identifier: GPL-2.0-only */
#include "types/btfelf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define MAX_SECTIONS 65536
#define MAX_BTF (1u << 30)

static bool read_at(int fd, void *to, size_t len, u64 off)
{
	return off <= INT64_MAX && pread(fd, to, len, off) == (ssize_t)len;
}

/* The section of that name; its header goes to *to. */
static bool find_section(int fd, const char *name, Elf64_Shdr *to)
{
	Elf64_Ehdr eh;
	Elf64_Shdr names;
	char got[16] = {};
	size_t len = strlen(name) + 1;

	if (!read_at(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_shentsize != sizeof(*to))
		return false;
	if (!read_at(fd, &names, sizeof(names), eh.e_shoff + (u64)eh.e_shstrndx * sizeof(names)))
		return false;
	for (u32 i = 0; i < eh.e_shnum && i < MAX_SECTIONS; i++)
		if (read_at(fd, to, sizeof(*to), eh.e_shoff + (u64)i * sizeof(*to)) &&
		    read_at(fd, got, len, names.sh_offset + to->sh_name) && !memcmp(got, name, len))
			return true;
	return false;
}

int btfelf_open(struct btfraw *b, const char *path, struct btfraw *base)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -EINVAL;
	Elf64_Shdr sec;
	struct stat st;
	u8 *data;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && find_section(fd, ".BTF", &sec) && sec.sh_size <= MAX_BTF && sec.sh_size <= (u64)st.st_size) {
		data = xzalloc(sec.sh_size + 1);
		err = read_at(fd, data, sec.sh_size, sec.sh_offset) ? btfraw_init(b, data, sec.sh_size, false, base) : -EIO;
		if (err) {
			free(data);
			*b = (struct btfraw){};
		}
	}
	close(fd);
	return err;
}
