/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files: symbols, notes of static probes, call frame information. */
#include "fuzz.h"
#include "probe/usdt_note.h"
#include "sym/cfi.h"
#include "sym/elf.h"

static void see_symbols(struct sym_elf *e)
{
	const struct sym_func *f;
	u32 cnt;
	u64 v;

	f = sym_elf_funcs(e, &cnt);
	for (u32 i = 0; i < MIN(cnt, 100u); i++) {
		sym_elf_find(e, f[i].name);
		sym_elf_at(e, f[i].addr);
		sym_elf_bytes(e, f[i].addr, 16);
		sym_elf_offset(e, f[i].addr, &v);
		sym_elf_near(e, f[i].addr + f[i].size);
	}
	sym_elf_find(e, "none@V1");
	sym_elf_symbol(e, "none", &v, &v);
	objfile_build_id(sym_elf_file(e));
}

static void see_frames(struct objfile *o)
{
	struct cfi cfi;

	cfi_read(o, &cfi);
	vec_for(r, &cfi.rows)
		cfi_find(&cfi, r->pc);
	cfi_release(&cfi);
}

static void see_notes(const char *path)
{
	usdt_notes notes = {};
	struct arena arena;

	arena_init(&arena);
	usdt_read(&arena, path, &notes);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct sym_elf *elf;
	char path[64];
	int fd = fuzz_file(data, len, path);

	if (!sym_elf_open(path, &elf)) {
		see_symbols(elf);
		see_frames(sym_elf_file(elf));
		sym_elf_free(elf);
	}
	see_notes(path);
	close(fd);
	return 0;
}
