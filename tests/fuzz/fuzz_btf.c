/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF of a file: every type is made and printed. */
#include "fuzz.h"
#include "types/btf.h"

struct walk {
	struct type_source *src;
	struct sbuf text;
	u32 cnt;
};

/* A few types suffice: what one of them needs is made along with it. */
enum { TYPES_MAX = 200, TEXT_MAX = 1 << 20 };

static bool see(void *arg, const char *module, const char *name, u32 id)
{
	struct walk *w = arg;

	if (w->text.len < TEXT_MAX)
		btf_print_c(w->src, module, id, &w->text);
	for (u32 i = 0; i < 4; i++) {
		static const char *const keywords[] = { "struct", "union", "enum", "" };
		const struct type *t = w->src->find(w->src, keywords[i], name);

		if (t)
			type_complete(t);
	}
	return ++w->cnt < TYPES_MAX;
}

static bool see_func(void *arg, const char *module, const char *name, u32 id)
{
	struct walk *w = arg;
	struct btf_func f;

	if (btf_func_at(w->src, module, id, &f) && w->text.len < TEXT_MAX) {
		btf_func_print(&f, false, &w->text);
		btf_func_print(&f, true, &w->text);
	}
	return ++w->cnt < TYPES_MAX;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static const enum btf_kind kinds[] = { BTF_KIND_STRUCT, BTF_KIND_UNION,   BTF_KIND_ENUM,
					       BTF_KIND_ENUM64, BTF_KIND_TYPEDEF, BTF_KIND_INT };
	struct walk w = {};
	s64 value;
	int err;

	w.src = btf_open_mem(data, len, &err);
	if (!w.src)
		return 0;
	for (u32 i = 0; i < ARRAY_CNT(kinds); i++, w.cnt = 0)
		btf_each(w.src, kinds[i], see, &w);
	btf_each(w.src, BTF_KIND_FUNC, see_func, &w);
	for (u32 i = 0; i < 16; i++)
		w.src->constant(w.src, "none", &value, NULL);
	btf_close(w.src);
	sbuf_release(&w.text);
	return 0;
}
