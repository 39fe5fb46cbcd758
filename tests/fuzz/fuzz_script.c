/* SPDX-License-Identifier: GPL-2.0-only */
/* A script: --fmt, --check, and --vm. Formatting twice gives the same, and what is accepted must be well-formed code. */
#include "compiler.h"
#include "lang/pretty.h"

enum { STEPS = 20000, LEN_MAX = 4096 };

/* False: it cannot be formatted. */
static bool format(const char *text, size_t len, struct sbuf *out)
{
	struct fuzz_compiler f;
	bool ok;

	fuzz_begin(&f, text, len);
	f.c.parse_only = true;
	ok = lang_parse(&f.c, f.src) && lang_pretty(&f.arena, &f.diag, f.src, out);
	fuzz_end(&f);
	return ok;
}

/* is_good: the script is accepted. Of others the result may be wrong: `42. 42` becomes `42.42`. */
static void check_format(const char *text, size_t len, bool is_good)
{
	struct sbuf once = {}, twice = {};

	if (format(text, len, &once) && is_good && (!format(sbuf_str(&once), once.len, &twice) || !str_eq(sbuf_str(&once), sbuf_str(&twice)))) {
		fprintf(stderr, "formatted once:\n%s\ntwice:\n%s\n", sbuf_str(&once), sbuf_str(&twice));
		abort();
	}
	sbuf_release(&once);
	sbuf_release(&twice);
}

static bool check_run(const char *text, size_t len)
{
	struct fuzz_compiler f;
	struct object *obj;
	struct sbuf why = {};
	bool is_good;

	fuzz_begin(&f, text, len);
	is_good = fuzz_compile(&f);
	if (is_good) {
		obj = vm_object_load(f.c.image, &f.diag);
		for (u32 i = 0; obj && i < f.c.image->progs.cnt; i++) {
			vm_object_env(obj)->max_steps = STEPS;
			if (f.c.image->progs.at[i].flags & PROV_SELF)
				obj->ops->prog_run(obj, i, NULL);
		}
		if (obj)
			obj->ops->free(obj);
	}
	diag_print(&f.diag, DIAG_ERROR, DIAG_ESCAPE, &why);
	diag_print(&f.diag, DIAG_WARNING, DIAG_COLOUR, &why);
	sbuf_release(&why);
	fuzz_end(&f);
	return is_good;
}

/* Files of the machine are not to be read. */
static bool reads_files(const char *text)
{
	return strstr(text, "include") || strstr(text, "import") || strstr(text, ":/") || strstr(text, "cgroupid");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char *text;

	if (len > LEN_MAX)
		return -1;
	setenv("PATH", "/nowhere", 1);
	text = fuzz_text(data, len);
	if (!reads_files(text))
		check_format(text, len, check_run(text, len));
	free(text);
	return 0;
}
