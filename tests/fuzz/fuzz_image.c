/* SPDX-License-Identifier: GPL-2.0-only */
/* A compiled script in a file: what is accepted can be loaded into the interpreter and run there. */
#include "fuzz.h"
#include "image/file.h"
#include "image/object.h"
#include "image/pack.h"
#include "vm/vm.h"

enum { CPUS_MAX = 64, SIZE_MAX_ = 1 << 20, STEPS = 20000 };

static bool is_small(const struct image *img)
{
	u64 size = img->data.total_sz;

	vec_for(m, &img->maps)
		size += m->max_entries > SIZE_MAX_ || m->value_sz > SIZE_MAX_ ? SIZE_MAX_ : 0;
	return img->home.ncpus <= CPUS_MAX && size < SIZE_MAX_;
}

static void run(const struct image *img, struct diag *d)
{
	struct object *obj = vm_object_load(img, d);

	if (!obj)
		return;
	vm_object_env(obj)->max_steps = STEPS;
	for (u32 i = 0; i < MIN(img->progs.cnt, 8u); i++)
		if (img->progs.at[i].flags & PROV_SELF)
			obj->ops->prog_run(obj, i, NULL);
	obj->ops->free(obj);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct image_origin made_for = {};
	struct arena arena;
	struct diag diag;
	struct image *img;
	const char *why = NULL;

	arena_init(&arena);
	diag_init(&diag, &arena);
	img = image_file_read(data, len, &diag, &made_for, &why);
	if (!img && !why)
		abort();
	if (img && is_small(img))
		run(img, &diag);
	image_free(img);
	/* Most made-up bytes fail the file's checksum: the image in it, too. */
	img = image_unpack(data, len, &why);
	if (img && is_small(img))
		run(img, &diag);
	image_free(img);
	arena_release(&arena);
	return 0;
}
