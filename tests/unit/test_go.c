/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of Go's functions from .gopclntab, in each of its forms; whole and broken. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "sym/elf.h"
#include "sym/go.h"
#include "sym/gopclntab.h"

#define TEXT 0x401000

static u8 file[4096];
static u32 len;

static u32 put(const void *p, u32 n)
{
	u32 at = len;

	memcpy(file + len, p, n);
	len += n;
	return at;
}

static void put_num(u64 v, u32 size)
{
	put(&v, size);
}

/* The functions of the table: main.f, in assembly with an entry that translates for it, main.g, which assembly can call, main.h.
 */
static const struct {
	u32 name, off;
	u8 id, flags;
} funcs[] = { { 1, 0x00, 0, 4 }, { 1, 0x10, 21, 0 }, { 8, 0x40, 0, 0 }, { 8, 0x50, 21, 0 }, { 15, 0x60, 0, 0 } };
#define END_OFF 0x80
static const char names[] = "\0main.f\0main.g\0main.h";

struct form {
	u32 magic, header_words, text, names, list, entry_sz, record_sz, flags_at;
};

static const struct form forms[] = {
	{ 0xfffffffb, 1, 0, 0, 0, 8, 40, 0 },
	{ 0xfffffffa, 7, 0, 2, 6, 8, 44, 41 },
	{ 0xfffffff0, 8, 2, 3, 7, 4, 40, 37 },
	{ 0xfffffff1, 8, 2, 3, 7, 4, 44, 41 },
};

/* Where something is, counted from the start of the table. */
static void put_table(const struct form *f)
{
	u32 start = len, list, words = f->header_words, cnt = ARRAY_CNT(funcs), names_at;
	u64 base = f->entry_sz == 8 ? TEXT : 0, head[8] = { cnt, 1 };

	put_num(f->magic, 4);
	put_num(0x0801 << 16, 4); /* quantum 1, pointers of 8 */
	put(head, 8 * words);
	if (f->names) {
		names_at = put(names, sizeof(names)) - start;
		head[f->names] = names_at;
	}
	list = len - start;
	if (f->list)
		head[f->list] = list;
	if (f->text)
		head[f->text] = TEXT;
	for (u32 i = 0; i < cnt; i++) {
		u32 record = (2 * cnt + 1) * f->entry_sz + i * f->record_sz;

		put_num(base + funcs[i].off, f->entry_sz);
		put_num(f->list ? record : list + record, f->entry_sz);
	}
	put_num(base + END_OFF, f->entry_sz);
	for (u32 i = 0; i < cnt; i++) {
		u8 r[48] = {};
		u32 name = funcs[i].name + (f->names ? 0 : list + (2 * cnt + 1) * f->entry_sz + cnt * f->record_sz);

		memcpy(r + (f->entry_sz == 8 ? 8 : 4), &name, 4);
		if (f->flags_at) {
			r[f->flags_at - 1] = funcs[i].id;
			r[f->flags_at] = funcs[i].flags;
		}
		put(r, f->record_sz);
	}
	if (!f->names)
		put(names, sizeof(names));
	memcpy(file + start + 8, head, 8 * words);
}

static void make_file(const struct form *f)
{
	static const char section_names[] = "\0.gopclntab\0.shstrtab";
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 3,
			  .e_shstrndx = 2 };
	Elf64_Phdr ph = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = TEXT,
			  .p_filesz = sizeof(file),
			  .p_memsz = sizeof(file),
			  .p_align = 4096 };
	Elf64_Shdr sh[3] = { { 0 },
			     { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC },
			     { .sh_name = 12, .sh_type = SHT_STRTAB } };

	len = 0;
	memset(file, 0, sizeof(file));
	put(&eh, sizeof(eh));
	put(&ph, sizeof(ph));
	sh[1].sh_offset = len;
	sh[1].sh_addr = TEXT + len;
	put_table(f);
	sh[1].sh_size = len - sh[1].sh_offset;
	sh[2].sh_offset = put(section_names, sizeof(section_names));
	sh[2].sh_size = sizeof(section_names);
	len = ALIGN_UP(len, 8);
	eh.e_shoff = put(sh, sizeof(sh));
	memcpy(file, &eh, sizeof(eh));
	len = sizeof(file);
}

static u64 addr_of(struct sym_elf *e, const char *name, u64 size)
{
	const struct sym_func *f = sym_elf_find(e, name);

	return f && f->size == size ? f->addr - TEXT : UINT64_MAX;
}

static void test_forms(const char *path)
{
	for (u32 i = 0; i < ARRAY_CNT(forms); i++) {
		FILE *out = fopen(path, "w");
		struct sym_elf *e;
		struct go_file g;

		make_file(&forms[i]);
		fwrite(file, 1, len, out);
		fclose(out);
		CHECK(!sym_elf_open(path, &e), "form %u", i);
		go_file_look(e, &g);
		CHECK(g.is_go && g.text_lo == TEXT && g.text_hi == TEXT + END_OFF, "form %u: %llx", i,
		      (unsigned long long)g.text_hi);
		CHECK(addr_of(e, "main.h", 0x20) == 0x60, "form %u", i);
		CHECK(sym_elf_at(e, TEXT + 0x7f) == sym_elf_find(e, "main.h") && !sym_elf_at(e, TEXT + 0x80), "form %u", i);
		/* The oldest form does not tell what is assembly. */
		if (forms[i].flags_at) {
			CHECK(addr_of(e, "main.f", 0x30) == 0x10 && addr_of(e, "main.f.abi0", 0x10) == 0, "form %u", i);
			CHECK(addr_of(e, "main.g", 0x10) == 0x40 && addr_of(e, "main.g.abi0", 0x10) == 0x50, "form %u", i);
			CHECK(go_on_stack(&g, sym_elf_find(e, "main.f.abi0")) && !go_on_stack(&g, sym_elf_find(e, "main.f")),
			      "form %u", i);
		}
		sym_elf_free(e);
	}
}

/* Every number of the file may be any other one. */
static void test_broken(void)
{
	u32 seed = 1, opened = 0;

	for (u32 round = 0; round < 40000; round++) {
		struct objfile o;
		struct go_table t;
		u8 *copy = malloc(sizeof(file));

		if (round % 10000 == 0)
			make_file(&forms[round / 10000]);
		memcpy(copy, file, sizeof(file));
		for (u32 k = 0; k < 1 + round % 3; k++) {
			seed = seed * 1103515245 + 12345;
			copy[120 + (seed >> 4) % 500] ^= (u8)(1u << (seed >> 28 & 7));
		}
		if (objfile_from_memory(&o, copy, sizeof(file)))
			continue;
		if (go_table_open(&o, &t)) {
			opened++;
			for (u32 i = 0; i < t.cnt; i++) {
				struct go_func f;

				if (go_table_func(&t, i, &f) && (!f.size || strlen(f.name) > sizeof(file)))
					opened = 0;
			}
		}
		objfile_release(&o);
	}
	CHECK(opened > 1000, "%u", opened);
}

int main(void)
{
	char path[] = "/tmp/test_go_XXXXXX";
	int fd = mkstemp(path);

	test_forms(path);
	test_broken();
	close(fd);
	unlink(path);
	return check_end();
}
