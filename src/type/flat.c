/* SPDX-License-Identifier: GPL-2.0-only */
#include "type/flat.h"

static void add(struct flat *f, const struct btfraw *b, u32 id, u32 base, const struct btfc_chain *chain)
{
	const struct btfc_chain here = { id, chain };
	const struct btf_type *t = btfraw_type(b, id);

	for (u32 i = 0; i < btf_vlen(t); i++) {
		struct layout_member m = layout_member_of(b, t, i);
		u32 inner = btfc_strip(b, m.type, false);
		const struct btf_type *it = btfraw_type(b, inner);

		if (!*m.name && it && !btfc_chain_has(&here, inner) &&
		    (btf_kind(it) == BTF_KIND_STRUCT || btf_kind(it) == BTF_KIND_UNION))
			add(f, b, inner, base + m.off, &here);
		else
			vec_push(&f->at,
				 (struct flat_member){ .name = m.name,
						       .type = m.type,
						       .off = base + m.off,
						       .bit_sz = m.bit_sz,
						       .sz = m.sz,
						       .bit_off = m.bit_sz ? m.bit_off - 8 * m.off : 0 });
	}
}

void flat_get(struct flat *f, const struct btfraw *b, u32 id)
{
	f->at.cnt = 0;
	add(f, b, id, 0, NULL);
}

void flat_release(struct flat *f)
{
	vec_free(&f->at);
}
