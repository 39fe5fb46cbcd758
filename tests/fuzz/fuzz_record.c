/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of the ring: a whole run of a script that sends one of each kind, whose records have made-up bytes. An input is a list of
 * records, each after its length in two bytes. */
#include "compiler.h"
#include "run/session.h"

static const char script[] =
	"begin { @a[1] = 2; @b = hist(3); @c[comm, (int8)1] = count();"
	" printf(\"%d %s %-5s|%5x %p %c %llu %r %rx\\n\", 1, \"two\", comm, 3, 4, 65, 5, buf(\"abc\", 3), buf(\"d\", 1));"
	" print((1, \"two\", (3, (int8)4))); print(@a); print(@a, 1, 2); print(@a[1]); clear(@b); zero(@a); print(5);"
	" time(\"%H\\n\"); printf(\"%s\\n\", strftime(\"%H:%M\", nsecs)); print(ntop(0x01020304)); print(macaddr(\"abcdef\"));"
	" print(kstack); print(ustack); print(ksym(1)); print(probe); errorf(\"%s\", comm); print(1 / (pid - pid)); exit(3); }";

/* An interpreter's object whose rings have the input. */
struct fake {
	struct object base;
	struct object *vm;
	const u8 *input;
	size_t len;
};

static int run_nothing(struct object *o, u32 prog, u32 *result)
{
	return 0;
}

static void *map_mem(struct object *o, u32 map)
{
	struct object *vm = ((struct fake *)o)->vm;

	return vm->ops->map_mem(vm, map);
}

static int map_read(struct object *o, u32 map, struct map_dump *out)
{
	struct object *vm = ((struct fake *)o)->vm;

	return vm->ops->map_read(vm, map, out);
}

static int map_lookup(struct object *o, u32 map, const void *key, void *value)
{
	struct object *vm = ((struct fake *)o)->vm;

	return vm->ops->map_lookup(vm, map, key, value);
}

static int map_delete(struct object *o, u32 map, const void *keys, u32 cnt)
{
	struct object *vm = ((struct fake *)o)->vm;

	return vm->ops->map_delete(vm, map, keys, cnt);
}

static int map_update(struct object *o, u32 map, const void *key, const void *value, u64 flags)
{
	struct object *vm = ((struct fake *)o)->vm;

	return vm->ops->map_update(vm, map, key, value, flags);
}

static int consume(struct object *o, object_record_fn fn, void *arg)
{
	struct fake *f = (struct fake *)o;
	int cnt = 0;

	for (; f->len >= 2; cnt++) {
		size_t len = MIN((size_t)(f->input[0] | f->input[1] << 8), f->len - 2);
		u8 *rec = xzalloc(len + 1);

		memcpy(rec, f->input + 2, len);
		if (len >= sizeof(struct rec_head))
			fn(arg, rec, len);
		free(rec);
		f->input += 2 + len;
		f->len -= 2 + len;
	}
	return cnt;
}

static int poll_fd(struct object *o)
{
	return -1;
}

static const struct object_ops ops = { .name = "fuzz",
				       .prog_run = run_nothing,
				       .map_mem = map_mem,
				       .map_read = map_read,
				       .map_lookup = map_lookup,
				       .map_delete = map_delete,
				       .map_update = map_update,
				       .consume = consume,
				       .poll_fd = poll_fd };

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct session_opts opts = { .use_vm = true, .quiet = true, .no_warnings = true, .output_path = "/dev/null" };
	struct fake fake = { .base.ops = &ops, .input = data, .len = len };
	struct fuzz_compiler f;

	fuzz_begin(&f, script, sizeof(script) - 1);
	if (!fuzz_compile(&f)) {
		struct sbuf why = {};

		diag_print(&f.diag, DIAG_ERROR, DIAG_PLAIN, &why);
		fputs(sbuf_str(&why), stderr);
		abort();
	}
	opts.format = len % 2 ? "json" : "text";
	fake.base.image = f.c.image;
	fake.vm = vm_object_load(f.c.image, &f.diag);
	session_run_object(&fake.base, &f.diag, &opts);
	fake.vm->ops->free(fake.vm);
	fuzz_end(&f);
	return 0;
}
