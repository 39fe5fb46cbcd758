/* SPDX-License-Identifier: GPL-2.0-only */
/* Debug information: lines, inlined functions, parameters, types. */
#include "fuzz.h"
#include "sym/dwarf.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	enum { ADDR = 0x1000, STEP = 7, ADDRS = 64, FRAMES = 8 };
	struct dbg_place frames[FRAMES];
	struct dbg_places places = {};
	struct dbg_lines lines = {};
	struct dbg *d;
	char path[64];
	int fd = fuzz_file(data, len, path);
	size_t btf_len;

	if (!dbg_open(path, &d)) {
		dbg_find_line(d, "seed.c", 10, 0, &lines);
		vec_for(p, &lines.at)
			dbg_func_at(d, p->addr, "");
		vec_free(&lines.at);
		for (u64 addr = ADDR; addr < ADDR + STEP * ADDRS; addr += STEP) {
			dbg_line_at(d, addr, &frames[0]);
			dbg_frames_at(d, addr, frames, FRAMES);
			dbg_func_at(d, addr, "seed");
			dbg_is_split(d, addr);
		}
		dbg_types(d, ADDR)->find(dbg_types(d, ADDR), "struct", "seed");
		free(dbg_to_btf(d, &btf_len, &places));
		vec_free(&places.at);
		dbg_close(d);
	}
	close(fd);
	return 0;
}
