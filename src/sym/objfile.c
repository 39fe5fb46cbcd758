/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/objfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

#define UNPACK_MAX (2ull << 30) /* of one section */
#define ZLIB_RATIO 1040         /* the best ratio of zlib: a section that claims more is invalid */

#ifndef ELFCOMPRESS_ZLIB
#define ELFCOMPRESS_ZLIB 1
#endif

static struct bytes slice(const struct objfile *o, u64 off, u64 len)
{
	return off <= o->len && len <= o->len - off ? (struct bytes){ o->data + off, len } : (struct bytes){};
}

/* Tables are used in place: where one is not aligned, or not in the file, there is none. */
static const void *table(const struct objfile *o, u64 off, u64 cnt, size_t entry, u32 given)
{
	struct bytes b = slice(o, off, cnt * entry);

	return cnt && given == entry && b.at && !((uintptr_t)b.at & 7) ? b.at : NULL;
}

static int parse(struct objfile *o)
{
	const Elf64_Ehdr *eh = (const void *)o->data;
	u64 sh_cnt, names;

	if (o->len < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_machine != OUR_MACHINE || ((uintptr_t)o->data & 7))
		return -ENOEXEC;
	o->eh = eh;
	o->ph = table(o, eh->e_phoff, eh->e_phnum, sizeof(*o->ph), eh->e_phentsize);
	o->ph_cnt = o->ph ? eh->e_phnum : 0;
	/* Files with many sections keep their number, and that of the names' one, in the first section. */
	o->sh = eh->e_shoff ? table(o, eh->e_shoff, 1, sizeof(*o->sh), eh->e_shentsize) : NULL;
	if (!o->sh)
		return 0;
	sh_cnt = eh->e_shnum ? eh->e_shnum : o->sh[0].sh_size;
	names = eh->e_shstrndx == SHN_XINDEX ? o->sh[0].sh_link : eh->e_shstrndx;
	o->sh = sh_cnt <= o->len / sizeof(*o->sh) ? table(o, eh->e_shoff, sh_cnt, sizeof(*o->sh), eh->e_shentsize) : NULL;
	o->sh_cnt = o->sh ? (u32)sh_cnt : 0;
	if (names < o->sh_cnt)
		o->names = objfile_section(o, (u32)names);
	return 0;
}

int objfile_open(struct objfile *o, const char *path, u64 off, u64 len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	struct stat st;
	void *p;

	*o = (struct objfile){};
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
	} else if (!S_ISREG(st.st_mode) || off >= (u64)st.st_size || len > (u64)st.st_size - off) {
		err = S_ISDIR(st.st_mode) ? -EISDIR : -ENOEXEC;
	} else if (off & (u64)(getpagesize() - 1)) { /* cannot be mapped */
		o->len = len ? len : (u64)st.st_size - off;
		o->data = p = malloc(o->len);
		err = p && pread(fd, p, o->len, (off_t)off) == (ssize_t)o->len ? parse(o) : -EIO;
	} else {
		o->len = len ? len : (u64)st.st_size - off;
		p = mmap(NULL, o->len, PROT_READ, MAP_PRIVATE, fd, (off_t)off);
		err = p == MAP_FAILED ? -errno : 0;
		if (!err) {
			o->data = p;
			o->is_mapped = true;
			err = parse(o);
		}
	}
	close(fd);
	if (err)
		objfile_release(o);
	return err;
}

int objfile_from_memory(struct objfile *o, void *data, size_t len)
{
	int err;

	*o = (struct objfile){ .data = data, .len = len };
	err = parse(o);
	if (err)
		objfile_release(o);
	return err;
}

void objfile_release(struct objfile *o)
{
	for (u32 i = 0; o->unpacked && i < o->sh_cnt; i++)
		free((void *)o->unpacked[i].at);
	free(o->unpacked);
	if (o->is_mapped)
		munmap((void *)o->data, o->len);
	else
		free((void *)o->data);
	*o = (struct objfile){};
}

const char *bytes_str(struct bytes b, u64 off)
{
	return off < b.len && memchr(b.at + off, 0, b.len - off) ? (const char *)b.at + off : NULL;
}

const char *objfile_section_name(const struct objfile *o, u32 i)
{
	const char *s = i < o->sh_cnt ? bytes_str(o->names, o->sh[i].sh_name) : NULL;

	return s ? s : "";
}

u32 objfile_find_section(const struct objfile *o, const char *name)
{
	for (u32 i = 1; i < o->sh_cnt; i++)
		if (o->sh[i].sh_type != SHT_NOBITS && str_eq(objfile_section_name(o, i), name))
			return i;
	return 0;
}

static struct bytes unpack(struct bytes packed)
{
	Elf64_Chdr ch;
	uLongf len;
	u8 *out;

	if (packed.len < sizeof(ch))
		return (struct bytes){};
	memcpy(&ch, packed.at, sizeof(ch));
	if (ch.ch_type != ELFCOMPRESS_ZLIB || ch.ch_size > UNPACK_MAX || ch.ch_size > packed.len * ZLIB_RATIO)
		return (struct bytes){};
	out = malloc(ch.ch_size + 1);
	len = ch.ch_size;
	if (!out || uncompress(out, &len, packed.at + sizeof(ch), packed.len - sizeof(ch)) != Z_OK || len != ch.ch_size) {
		free(out);
		return (struct bytes){};
	}
	return (struct bytes){ out, len };
}

struct bytes objfile_section(struct objfile *o, u32 i)
{
	const Elf64_Shdr *sh = i < o->sh_cnt ? &o->sh[i] : NULL;

	if (!sh || sh->sh_type == SHT_NOBITS || sh->sh_type == SHT_NULL)
		return (struct bytes){};
	if (!(sh->sh_flags & SHF_COMPRESSED))
		return slice(o, sh->sh_offset, sh->sh_size);
	if (!o->unpacked)
		o->unpacked = xzalloc(o->sh_cnt * sizeof(*o->unpacked));
	if (!o->unpacked[i].at)
		o->unpacked[i] = unpack(slice(o, sh->sh_offset, sh->sh_size));
	return o->unpacked[i];
}

struct bytes objfile_section_named(struct objfile *o, const char *name)
{
	u32 i = objfile_find_section(o, name);

	return i ? objfile_section(o, i) : (struct bytes){};
}

bool objfile_next_note(struct bytes notes, u64 align, size_t *off, struct obj_note *out)
{
	size_t a = align == 8 ? 8 : 4, left, desc_off;
	Elf64_Nhdr nh;

	if (*off > notes.len || notes.len - *off < sizeof(nh))
		return false;
	memcpy(&nh, notes.at + *off, sizeof(nh));
	left = notes.len - *off;
	desc_off = ALIGN_UP(sizeof(nh) + (size_t)nh.n_namesz, a);
	if (desc_off > left || nh.n_descsz > left - desc_off)
		return false;
	*out = (struct obj_note){ nh.n_type,
				  { notes.at + *off + sizeof(nh), nh.n_namesz },
				  { notes.at + *off + desc_off, nh.n_descsz } };
	*off += MIN(ALIGN_UP(desc_off + nh.n_descsz, a), left);
	return true;
}

static bool find_build_id(struct bytes notes, u64 align, struct bytes *out)
{
	struct obj_note n;

	for (size_t off = 0; objfile_next_note(notes, align, &off, &n);) {
		if (n.type == NT_GNU_BUILD_ID && n.name.len == 4 && !memcmp(n.name.at, "GNU", 4) && n.desc.len >= 2 &&
		    n.desc.len <= 64) {
			*out = n.desc;
			return true;
		}
	}
	return false;
}

struct bytes objfile_build_id(struct objfile *o)
{
	struct bytes id = {};

	for (u32 i = 1; i < o->sh_cnt; i++)
		if (o->sh[i].sh_type == SHT_NOTE && find_build_id(objfile_section(o, i), o->sh[i].sh_addralign, &id))
			return id;
	/* Section headers can be stripped; loaded segments cannot. */
	for (u32 i = 0; i < o->ph_cnt; i++)
		if (o->ph[i].p_type == PT_NOTE &&
		    find_build_id(slice(o, o->ph[i].p_offset, o->ph[i].p_filesz), o->ph[i].p_align, &id))
			return id;
	return id;
}
