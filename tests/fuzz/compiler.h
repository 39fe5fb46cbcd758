/* SPDX-License-Identifier: GPL-2.0-only */
/* The compiler for a machine that does not exist, so that results do not depend on this one. */
#pragma once

#include "bpf/build.h"
#include "fuzz.h"
#include "image/object.h"
#include "kern/machine.h"
#include "vm/vm.h"

struct fuzz_compiler {
	struct arena arena;
	struct diag diag;
	struct target target;
	struct compile c;
	u32 src;
};

static inline void fuzz_begin(struct fuzz_compiler *f, const char *text, size_t len)
{
	*f = (struct fuzz_compiler){};
	machine_target(&f->target); /* SONDE_TEST_MACHINE, which tests/fuzz/run sets */
	f->target.is_check = true;
	arena_init(&f->arena);
	diag_init(&f->diag, &f->arena);
	f->c = (struct compile){ .arena = &f->arena, .diag = &f->diag, .target = &f->target, .config = config_defaults };
	f->src = diag_add_source(&f->diag, "fuzz.bt", text, len);
}

static inline bool fuzz_compile(struct fuzz_compiler *f)
{
	struct compile *c = &f->c;

	return lang_parse(c, f->src) && lang_config(c) && lang_expand(c) && lang_check(c) && !lang_is_partial(c) &&
		!lang_wants_help(c) && image_build(c);
}

static inline void fuzz_end(struct fuzz_compiler *f)
{
	arena_release(&f->arena);
}
