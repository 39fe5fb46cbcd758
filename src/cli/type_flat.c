#include "cli/type_flat.h"

static void add(struct flat *f, const struct btfraw *b, u32 id, u32 base, const struct ctype_chain *chain)
{
	const struct ctype_chain here = { id, chain };
	const struct btf_type *t = btfraw_type(b, id);
	const struct btf_member *m = ctype_members(t);

	for (u32 i = 0; i < btf_vlen(t); i++) {
		struct flat_member to = { .name = btfraw_str(b, m[i].name_off), .type = m[i].type, .sz = ctype_size(b, m[i].type),
					  .bit_sz = btf_member_bit_sz(t, &m[i]) };
		u32 bit = btf_member_bit_off(t, &m[i]), inner = ctype_strip(b, m[i].type, false);
		const struct btf_type *it = btfraw_type(b, inner);

		to.off = base + bit / 8;
		if (to.bit_sz && to.sz && to.sz <= 16) {
			to.off = base + bit / (8 * to.sz) * to.sz;
			to.bit_off = bit % (8 * to.sz);
		}
		if (!*to.name && it && !ctype_chain_has(&here, inner) && (btf_kind(it) == BTF_KIND_STRUCT || btf_kind(it) == BTF_KIND_UNION))
			add(f, b, inner, to.off, &here);
		else
			vec_push(&f->at, to);
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
