/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/elf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
#include "sym/archive.h"
#include "sym/debugfile.h"
#include "sym/gopclntab.h"

/* .gnu.version: the symbol is not the default of its name. */
#define VERSYM_IS_HIDDEN 0x8000

struct part {
	u64 addr, off, size; /* size: what the file has */
};

/* A symbol table, its strings, and the version of each symbol. */
struct table {
	const Elf64_Sym *sym;
	u32 cnt;
	struct bytes names, versym;
	const char **versions; /* by the number in versym: "@V1"; NULL: unknown */
	u32 version_cnt;
};

struct sym_elf {
	struct objfile file;
	u64 base;               /* where the file begins in its archive */
	struct objfile more[2]; /* separate debug file, .gnu_debugdata */
	u32 more_cnt;
	vec(struct table) tables;
	struct arena arena;
	vec(struct part) parts;
	vec(struct sym_func) syms;    /* everything that was read, in file order */
	vec(struct sym_func) by_name; /* sorted, one for each name; made when first asked for */
	vec(u32) by_addr;             /* indexes into syms, sorted by address; made when first asked for */
	bool is_sorted, is_addr_sorted;
};

static void read_table(struct sym_elf *e, const struct table *t)
{
	for (u32 i = 0; i < t->cnt; i++) {
		struct sym_func f = { .version = "", .is_default = true };
		const Elf64_Sym *sym = &t->sym[i];
		u32 type = ELF64_ST_TYPE(sym->st_info);
		const char *name, *at;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF || !sym->st_value)
			continue;
		name = bytes_str(t->names, sym->st_name);
		if (!name || !*name)
			continue;
		f.name = name;
		at = strchr(name, '@');
		if (at && at > name) {
			f.name = arena_strndup(&e->arena, name, at - name);
			f.version = at;
			f.is_default = at[1] == '@';
		}
		if (t->versym.len / 2 > i) {
			u32 v = t->versym.at[2 * i] | (u32)t->versym.at[2 * i + 1] << 8, nr = v & ~VERSYM_IS_HIDDEN;

			f.is_default &= !(v & VERSYM_IS_HIDDEN);
			if (nr < t->version_cnt && t->versions[nr])
				f.version = f.is_default ? t->versions[nr] - 1 : t->versions[nr]; /* "@@V1" or "@V1" */
		}
		f.addr = sym->st_value;
		f.size = sym->st_size;
		f.bind = ELF64_ST_BIND(sym->st_info);
		f.is_ifunc = type == STT_GNU_IFUNC;
		vec_push(&e->syms, f);
	}
}

/* The names of the versions that a library defines (.gnu.version_d), each with two @ in front; the table points to the second. */
static void read_versions(struct sym_elf *e, struct objfile *o, struct table *t)
{
	for (u32 i = 1; i < o->sh_cnt; i++) {
		struct bytes data = o->sh[i].sh_type == SHT_GNU_verdef ? objfile_section(o, i) : (struct bytes){}, names;
		Elf64_Verdaux aux;
		Elf64_Verdef def;

		if (!data.at)
			continue;
		names = objfile_section(o, o->sh[i].sh_link);
		t->version_cnt = (u32)MIN(o->sh[i].sh_info, data.len / sizeof(def)) + 1;
		t->versions = arena_alloc(&e->arena, t->version_cnt * sizeof(*t->versions));
		for (u64 at = 0; at + sizeof(def) <= data.len; at += def.vd_next) {
			const char *name;

			memcpy(&def, data.at + at, sizeof(def));
			if (def.vd_cnt && at + def.vd_aux + sizeof(aux) <= data.len) {
				memcpy(&aux, data.at + at + def.vd_aux, sizeof(aux));
				name = bytes_str(names, aux.vda_name);
				/* The entry of the file itself is not the version of a symbol. */
				if (name && def.vd_ndx < t->version_cnt && !(def.vd_flags & VER_FLG_BASE))
					t->versions[def.vd_ndx] = arena_printf(&e->arena, "@@%s", name) + 1;
			}
			if (def.vd_next < sizeof(def))
				break;
		}
	}
}

/* Reads the symbol tables of one file. Returns whether it has a full one. */
static bool read_symbols(struct sym_elf *e, struct objfile *o)
{
	struct bytes versym = {};
	bool has_symtab = false;

	for (u32 i = 1; i < o->sh_cnt; i++)
		if (o->sh[i].sh_type == SHT_GNU_versym)
			versym = objfile_section(o, i);
	for (u32 i = 1; i < o->sh_cnt; i++) {
		bool is_full = o->sh[i].sh_type == SHT_SYMTAB;
		struct bytes data;
		struct table t;

		if ((!is_full && o->sh[i].sh_type != SHT_DYNSYM) || o->sh[i].sh_entsize != sizeof(Elf64_Sym))
			continue;
		data = objfile_section(o, i);
		if (!data.at || ((uintptr_t)data.at & 7))
			continue;
		t = (struct table){ (const void *)data.at, (u32)MIN(data.len / sizeof(Elf64_Sym), UINT32_MAX),
				    objfile_section(o, o->sh[i].sh_link), is_full ? (struct bytes){} : versym };
		if (!is_full)
			read_versions(e, o, &t);
		has_symtab |= is_full;
		vec_push(&e->tables, t);
		read_table(e, &t);
	}
	return has_symtab;
}

/* A stripped file's symbols may be elsewhere: in a separate file, or packed into a section. The addresses in them are those of
 * the stripped file. Returns whether there is a full table. */
static bool read_separate(struct sym_elf *e, const char *path)
{
	if (!debugfile_open(&e->file, path, false, &e->more[e->more_cnt])) {
		if (read_symbols(e, &e->more[e->more_cnt++]))
			return true;
	}
	return !debugfile_open_packed(&e->file, &e->more[e->more_cnt]) && read_symbols(e, &e->more[e->more_cnt++]);
}

static int by_name_off(const void *a, const void *b)
{
	u32 x = ((const struct go_func *)a)->name_off, y = ((const struct go_func *)b)->name_off;

	return x < y ? -1 : x > y;
}

/* Of two entries with one name, one takes its arguments from the stack (ABI 0), and one of them is a wrapper for the other.
 * Linkers call the ABI 0 entry NAME.abi0: it is either the function in assembly, or its wrapper. */
static bool is_abi0(const struct go_func *g, const struct go_func *other)
{
	return g->is_asm || (g->is_special && !other->is_asm && !other->is_special);
}

/* A Go program has its own table of functions. */
static void read_go(struct sym_elf *e)
{
	vec(struct go_func) funcs = {};
	struct go_table t;
	struct go_func f;

	if (!go_table_open(&e->file, &t))
		return;
	for (u32 i = 0; i < t.cnt; i++)
		if (go_table_func(&t, i, &f))
			vec_push(&funcs, f);
	if (funcs.cnt)
		qsort(funcs.at, funcs.cnt, sizeof(*funcs.at), by_name_off);
	for (u32 i = 0; i < funcs.cnt; i++) {
		const struct go_func *g = &funcs.at[i];
		const struct go_func *other = i && g[-1].name_off == g->name_off ? g - 1 :
			i + 1 < funcs.cnt && g[1].name_off == g->name_off        ? g + 1 :
										   NULL;
		const char *name = other && is_abi0(g, other) ? arena_printf(&e->arena, "%s.abi0", g->name) : g->name;

		vec_push(&e->syms,
			 (struct sym_func){ .name = name,
					    .version = "",
					    .addr = g->addr,
					    .size = g->size,
					    .bind = STB_LOCAL,
					    .is_default = true,
					    .is_go_asm = g->is_asm && name == g->name });
	}
	vec_free(&funcs);
}

static int read_file(struct sym_elf *e, const char *path)
{
	const struct objfile *o = &e->file;

	if (o->eh->e_type != ET_EXEC && o->eh->e_type != ET_DYN)
		return -ENOEXEC;
	for (u32 i = 0; i < o->ph_cnt; i++)
		if (o->ph[i].p_type == PT_LOAD)
			vec_push(&e->parts, (struct part){ o->ph[i].p_vaddr, o->ph[i].p_offset, o->ph[i].p_filesz });
	if (!e->parts.cnt)
		return -ENOEXEC;
	if (!read_symbols(e, &e->file) && !read_separate(e, path))
		read_go(e);
	return 0;
}

int sym_elf_open(const char *path, struct sym_elf **out)
{
	return sym_elf_open_as(path, path, 0, out);
}

int sym_elf_open_as(const char *path, const char *name, u32 pid, struct sym_elf **out)
{
	struct sym_elf *e = xzalloc(sizeof(*e));
	int err = archive_open(&e->file, path, &e->base);
	char *seen = pid ? xasprintf("/proc/%u/root%s", pid, name) : xstrdup(name);

	arena_init(&e->arena);
	if (!err)
		err = read_file(e, seen);
	free(seen);
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
	for (u32 i = 0; i < e->more_cnt; i++)
		objfile_release(&e->more[i]);
	objfile_release(&e->file);
	vec_free(&e->tables);
	vec_free(&e->parts);
	vec_free(&e->syms);
	vec_free(&e->by_name);
	vec_free(&e->by_addr);
	arena_release(&e->arena);
	free(e);
}

struct objfile *sym_elf_file(struct sym_elf *e)
{
	return &e->file;
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

	if (version && !version[strspn(version, "@")])
		return NULL;
	/* Sorting does not pay for a single lookup. */
	vec_for(f, &e->syms) {
		if (strncmp(f->name, name, len) != 0 || f->name[len])
			continue;
		/* "@@V" asks for the default one, "@V" for that version, default or not */
		if (version &&
		    (!str_eq(f->version + strspn(f->version, "@"), version + strspn(version, "@")) ||
		     (version[1] == '@' && !f->is_default)))
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

	/* The last symbol that starts at or before the address; the one that contains it, if any, is shortly before. */
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
		if (!f->size && (!best || best->addr == f->addr) && sym_elf_offset(e, f->addr, &start_off) &&
		    sym_elf_offset(e, addr, &off) && off - start_off == addr - f->addr && tries == 16)
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

bool sym_elf_symbol(struct sym_elf *e, const char *name, u64 *addr, u64 *size)
{
	size_t len = strlen(name);

	vec_for(t, &e->tables) {
		for (u32 i = 0; i < t->cnt; i++) {
			const Elf64_Sym *sym = &t->sym[i];
			u32 type = ELF64_ST_TYPE(sym->st_info);
			const char *s;

			if ((type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE && type != STT_GNU_IFUNC) ||
			    sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !sym->st_value)
				continue;
			s = bytes_str(t->names, sym->st_name);
			if (!s || strncmp(s, name, len) != 0 || (s[len] && s[len] != '@'))
				continue;
			*addr = sym->st_value;
			*size = sym->st_size;
			return true;
		}
	}
	return false;
}

bool sym_elf_is_fixed(const struct sym_elf *e)
{
	return e->file.eh->e_type == ET_EXEC;
}

static const struct part *part_of(const struct sym_elf *e, u64 addr)
{
	vec_for(p, &e->parts)
		if (addr >= p->addr && addr - p->addr < p->size)
			return p;
	return NULL;
}

bool sym_elf_offset(const struct sym_elf *e, u64 addr, u64 *off)
{
	const struct part *p = part_of(e, addr);

	if (p)
		*off = addr - p->addr + p->off + e->base;
	return p;
}

bool sym_elf_addr(const struct sym_elf *e, u64 off, u64 *addr)
{
	off -= e->base;
	vec_for(p, &e->parts) {
		if (off >= p->off && off - p->off < p->size) {
			*addr = off - p->off + p->addr;
			return true;
		}
	}
	return false;
}

struct bytes sym_elf_bytes(const struct sym_elf *e, u64 addr, u64 max)
{
	const struct part *p = part_of(e, addr);
	u64 off = p ? addr - p->addr + p->off : e->file.len, end = p ? p->off + p->size : 0;

	if (off >= e->file.len || end < off)
		return (struct bytes){};
	return (struct bytes){ e->file.data + off, MIN(max, MIN(end, e->file.len) - off) };
}
