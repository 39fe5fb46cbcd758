/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/origin.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "base/io.h"
#include "kern/machine.h"

#define BTF_DIR "/sys/kernel/btf"

/* A file that is not there hashes to the seed: the same on both sides, if it is not there on either. */
static u64 hash_file(const char *path, u64 seed)
{
	char *text;
	size_t len;

	if (io_read_file(path, &text, &len))
		return seed;
	seed = image_hash(text, len, seed);
	free(text);
	return seed;
}

static u64 hash_types(const struct image *img)
{
	const char *file = getenv("SONDE_BTF") ? getenv("SONDE_BTF") : getenv("BPFTRACE_BTF");
	u64 hash = hash_file(file ? file : BTF_DIR "/vmlinux", 0);

	vec_for(p, &img->progs) {
		char *path;

		if (!p->attr.module || strchr(p->attr.module, '/'))
			continue;
		path = xasprintf(BTF_DIR "/%s", p->attr.module);
		hash = hash_file(path, hash);
		free(path);
	}
	return hash;
}

void kern_origin(const struct image *img, struct arena *a, struct image_origin *o)
{
	char *fixture = machine_fixture("cpus"), *boot = NULL;
	struct utsname u = {};

	uname(&u);
	*o = (struct image_origin){ .machine = arena_strdup(a, u.machine), .types = hash_types(img) };
	if (fixture) {
		o->release = o->version = o->boot_id = "fixture";
	} else {
		o->release = arena_strdup(a, u.release);
		o->version = arena_strdup(a, u.version);
		o->build = hash_file("/sys/kernel/notes", 0);
		if (!io_read_file("/proc/sys/kernel/random/boot_id", &boot, NULL))
			boot[strcspn(boot, "\n")] = 0;
		o->boot_id = arena_strdup(a, boot ? boot : "");
	}
	free(boot);
	free(fixture);
}
