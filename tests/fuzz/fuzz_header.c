/* SPDX-License-Identifier: GPL-2.0-only */
/* A C header: preprocessor, declarations, constants. The BTF that it becomes must be sound. */
#include "c/header.h"
#include "fuzz.h"
#include "types/btf.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct cheader *h;
	struct type_source *src;
	const struct cmacro *m;
	char *text = fuzz_text(data, len);
	size_t btf_len;
	s64 value;
	u8 *btf;
	int err;

	/* Files of the machine are not to be read. */
	if (strstr(text, "include") || strstr(text, "import") || strstr(text, "embed")) {
		free(text);
		return -1;
	}
	h = cheader_new();
	cheader_add_text(h, "fuzz.h", text, strlen(text));
	btf = cheader_types(h, &btf_len);
	src = btf_open_mem(btf, btf_len, &err);
	if (!src)
		abort();
	cheader_constant(h, "A", &value);
	m = cheader_macro(h, "A");
	if (m)
		cheader_macro_text(h, m);
	btf_close(src);
	free(btf);
	cheader_free(h);
	free(text);
	return 0;
}
