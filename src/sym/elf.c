#include "sym/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

/* .gnu.version: the symbol is not the default of its name. */
#define VERSYM_IS_HIDDEN 0x8000

struct part {
	u64 addr, off, size; /* size: what the file has */
};

struct sym_elf {
	int fd, debug_fd;
	Elf *elf, *debug;
	struct arena arena;
	vec(struct part) parts;
	vec(struct sym_func) syms;   /* everything that was read, in file order */
	vec(struct sym_func) by_name; /* sorted, one for each name; made when first asked for */
	vec(u32) by_addr;            /* indexes into syms, sorted by address; made when first asked for */
	bool is_sorted, is_addr_sorted;
};

static void read_table(struct sym_elf *e, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, Elf_Data *versym)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	u32 cnt;

	if (!data || !sh->sh_entsize)
		return;
	cnt = sh->sh_size / sh->sh_entsize;
	for (u32 i = 0; i < cnt; i++) {
		struct sym_func f = { .version = "", .is_default = true };
		const char *name, *at;
		GElf_Versym ver;
		GElf_Sym sym;
		u32 type;

		if (!gelf_getsym(data, i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF || !sym.st_value)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		f.name = name;
		at = strchr(name, '@');
		if (at && at > name) {
			f.name = arena_strndup(&e->arena, name, at - name);
			f.version = at;
			f.is_default = at[1] == '@';
		}
		if (versym && gelf_getversym(versym, i, &ver) && (ver & VERSYM_IS_HIDDEN))
			f.is_default = false;
		f.addr = sym.st_value;
		f.size = sym.st_size;
		f.bind = GELF_ST_BIND(sym.st_info);
		f.is_ifunc = type == STT_GNU_IFUNC;
		vec_push(&e->syms, f);
	}
}

/* Reads the symbol tables of one file. Returns whether it has a full one. */
static bool read_symbols(struct sym_elf *e, Elf *elf)
{
	Elf_Data *versym = NULL;
	bool has_symtab = false;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_GNU_versym)
			versym = elf_getdata(scn, NULL);
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_SYMTAB) {
			has_symtab = true;
			read_table(e, elf, scn, &sh, NULL);
		} else if (sh.sh_type == SHT_DYNSYM) {
			read_table(e, elf, scn, &sh, versym);
		}
	}
	return has_symtab;
}

/* Finds the build id among the notes; writes it in hexadecimal. */
static bool build_id(Elf *elf, char *hex, size_t hex_sz)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		size_t off = 0, next, name_off, desc_off;
		Elf_Data *data;
		GElf_Nhdr nh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE || !(data = elf_getdata(scn, NULL)))
			continue;
		for (; (next = gelf_getnote(data, off, &nh, &name_off, &desc_off)) > 0; off = next) {
			const u8 *desc = (const u8 *)data->d_buf + desc_off;
			static const char digits[] = "0123456789abcdef";

			if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 ||
			    memcmp((const char *)data->d_buf + name_off, "GNU", 4) != 0 || nh.n_descsz < 2 ||
			    2 * nh.n_descsz + 1 > hex_sz)
				continue;
			for (u32 i = 0; i < nh.n_descsz; i++) {
				*hex++ = digits[desc[i] >> 4];
				*hex++ = digits[desc[i] & 15];
			}
			*hex = 0;
			return true;
		}
	}
	return false;
}

/* A stripped file's full symbol table may be installed apart from it. The addresses in it are those of the stripped file. */
static void read_debug_file(struct sym_elf *e)
{
	char id[2 * 64 + 1], path[256];

	if (!build_id(e->elf, id, sizeof(id)))
		return;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	e->debug_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (e->debug_fd < 0)
		return;
	e->debug = elf_begin(e->debug_fd, ELF_C_READ_MMAP, NULL);
	if (e->debug && elf_kind(e->debug) == ELF_K_ELF)
		read_symbols(e, e->debug);
}

static int read_file(struct sym_elf *e)
{
	GElf_Ehdr eh;
	size_t cnt;

	e->elf = elf_begin(e->fd, ELF_C_READ_MMAP, NULL);
	if (!e->elf || elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &eh) || gelf_getclass(e->elf) != ELFCLASS64)
		return -ENOEXEC;
	if ((eh.e_type != ET_EXEC && eh.e_type != ET_DYN) || eh.e_machine != OUR_MACHINE || elf_getphdrnum(e->elf, &cnt) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < cnt; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(e->elf, i, &ph) && ph.p_type == PT_LOAD)
			vec_push(&e->parts, (struct part){ ph.p_vaddr, ph.p_offset, ph.p_filesz });
	}
	if (!e->parts.cnt)
		return -ENOEXEC;
	if (!read_symbols(e, e->elf))
		read_debug_file(e);
	return 0;
}

int sym_elf_open(const char *path, struct sym_elf **out)
{
	struct sym_elf *e;
	int fd, err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	e = xzalloc(sizeof(*e));
	e->fd = fd;
	e->debug_fd = -1;
	arena_init(&e->arena);
	err = read_file(e);
	if (err) {
		sym_elf_free(e);
		return err;
	}
	*out = e;
	return 0;
}

void sym_elf_free(struct sym_elf *e)
{
	if (!e)
		return;
	if (e->debug)
		elf_end(e->debug);
	if (e->elf)
		elf_end(e->elf);
	if (e->debug_fd >= 0)
		close(e->debug_fd);
	close(e->fd);
	vec_free(&e->parts);
	vec_free(&e->syms);
	vec_free(&e->by_name);
	vec_free(&e->by_addr);
	arena_release(&e->arena);
	free(e);
}

/* The better of two symbols with one name comes first: the default version, one with a known size, the global one. */
static int better(const struct sym_func *a, const struct sym_func *b)
{
	if (a->is_default != b->is_default)
		return a->is_default ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if ((a->bind == STB_LOCAL) != (b->bind == STB_LOCAL))
		return a->bind == STB_LOCAL ? 1 : -1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int by_name(const void *a, const void *b)
{
	const struct sym_func *fa = a, *fb = b;
	int d = strcmp(fa->name, fb->name);

	return d ? d : better(fa, fb);
}

const struct sym_func *sym_elf_funcs(struct sym_elf *e, u32 *cnt)
{
	if (!e->is_sorted) {
		u32 n = 0;

		vec_for(f, &e->syms)
			vec_push(&e->by_name, *f);
		if (e->by_name.cnt)
			qsort(e->by_name.at, e->by_name.cnt, sizeof(*e->by_name.at), by_name);
		for (u32 i = 0; i < e->by_name.cnt; i++)
			if (!i || !str_eq(e->by_name.at[i].name, e->by_name.at[n - 1].name))
				e->by_name.at[n++] = e->by_name.at[i];
		e->by_name.cnt = n;
		e->is_sorted = true;
	}
	*cnt = e->by_name.cnt;
	return e->by_name.at;
}

const struct sym_func *sym_elf_find(struct sym_elf *e, const char *name)
{
	const char *version = strchr(name, '@');
	size_t len = version ? (size_t)(version - name) : strlen(name);
	const struct sym_func *best = NULL;

	/* One look-up does not pay for sorting. */
	vec_for(f, &e->syms) {
		if (strncmp(f->name, name, len) != 0 || f->name[len])
			continue;
		if (version && !str_eq(f->version, version))
			continue;
		if (!best || better(f, best) < 0)
			best = f;
	}
	return best;
}

static int by_addr(const void *a, const void *b, void *arg)
{
	const struct sym_func *syms = arg, *fa = &syms[*(const u32 *)a], *fb = &syms[*(const u32 *)b];

	if (fa->addr != fb->addr)
		return fa->addr < fb->addr ? -1 : 1;
	return better(fa, fb);
}

/* How many symbols start at or before the address, in by_addr. */
static u32 upto(struct sym_elf *e, u64 addr)
{
	u32 lo = 0, hi;

	if (!e->is_addr_sorted) {
		for (u32 i = 0; i < e->syms.cnt; i++)
			vec_push(&e->by_addr, i);
		if (e->by_addr.cnt)
			qsort_r(e->by_addr.at, e->by_addr.cnt, sizeof(u32), by_addr, e->syms.at);
		e->is_addr_sorted = true;
	}
	for (hi = e->by_addr.cnt; lo < hi;) {
		u32 mid = lo + (hi - lo) / 2;

		if (e->syms.at[e->by_addr.at[mid]].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct sym_func *sym_elf_at(struct sym_elf *e, u64 addr)
{
	u32 lo = upto(e, addr);

	/* The last symbol that starts before; what holds the address, if anything does, is shortly before. */
	while (lo > 0) {
		const struct sym_func *f = &e->syms.at[e->by_addr.at[--lo]], *first = f;

		if (addr - f->addr >= f->size)
			break;
		/* Of several names for one place, the best. */
		while (lo > 0 && e->syms.at[e->by_addr.at[lo - 1]].addr == f->addr) {
			f = &e->syms.at[e->by_addr.at[--lo]];
			if (addr - f->addr < f->size)
				first = f;
		}
		return first;
	}
	return NULL;
}

const struct sym_func *sym_elf_near(struct sym_elf *e, u64 addr)
{
	const struct sym_func *f = sym_elf_at(e, addr), *best = NULL;
	u64 off, start_off;

	if (f)
		return f;
	/* A short symbol may lie inside of a longer one. */
	for (u32 i = upto(e, addr), tries = 16; i > 0 && tries > 0; tries--) {
		f = &e->syms.at[e->by_addr.at[--i]];
		if (addr - f->addr < f->size)
			return f;
		if (!f->size && (!best || best->addr == f->addr) && sym_elf_offset(e, f->addr, &start_off) && sym_elf_offset(e, addr, &off) &&
		    off - start_off == addr - f->addr && tries == 16)
			best = f;
	}
	return best;
}

const char *sym_elf_nearest(struct sym_elf *e, const char *name)
{
	vec(const char *) names = {};
	const struct sym_func *f;
	const char *best;
	u32 cnt;

	f = sym_elf_funcs(e, &cnt);
	for (u32 i = 0; i < cnt; i++)
		vec_push(&names, f[i].name);
	best = nearest_name(name, names.at, names.cnt);
	vec_free(&names);
	return best;
}

static bool find_symbol(Elf *elf, const char *name, u64 *addr, u64 *size)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) || !sh.sh_entsize ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		for (u32 i = 0; i < sh.sh_size / sh.sh_entsize && gelf_getsym(data, (int)i, &sym); i++) {
			u32 type = GELF_ST_TYPE(sym.st_info);
			const char *s;

			if ((type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF ||
			    sym.st_shndx == SHN_ABS || !sym.st_value)
				continue;
			s = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (!s || strcspn(s, "@") != strlen(name) || strncmp(s, name, strlen(name)) != 0)
				continue;
			*addr = sym.st_value;
			*size = sym.st_size;
			return true;
		}
	}
	return false;
}

bool sym_elf_symbol(struct sym_elf *e, const char *name, u64 *addr, u64 *size)
{
	return find_symbol(e->elf, name, addr, size) || find_symbol(e->debug, name, addr, size);
}

bool sym_elf_is_fixed(const struct sym_elf *e)
{
	GElf_Ehdr eh;

	return gelf_getehdr(e->elf, &eh) && eh.e_type == ET_EXEC;
}

bool sym_elf_offset(const struct sym_elf *e, u64 addr, u64 *off)
{
	vec_for(p, &e->parts) {
		if (addr >= p->addr && addr - p->addr < p->size) {
			*off = addr - p->addr + p->off;
			return true;
		}
	}
	return false;
}

bool sym_elf_addr(const struct sym_elf *e, u64 off, u64 *addr)
{
	vec_for(p, &e->parts) {
		if (off >= p->off && off - p->off < p->size) {
			*addr = off - p->off + p->addr;
			return true;
		}
	}
	return false;
}
