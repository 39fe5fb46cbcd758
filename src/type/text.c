/* SPDX-License-Identifier: GPL-2.0-only */
/* Types in the form of pahole, so that eyes and scripts carry over. */
#include "type/view.h"

#define TYPE_WIDTH 26
#define NAME_WIDTH 23

struct printer {
	struct type_view *v;
	struct sbuf *out;
	const struct btfc_chain *chain;
};

static void members(struct printer *p, const struct layout *l, u32 indent, u32 base, u32 *seen);

static void indented(struct printer *p, u32 indent)
{
	sbuf_fill(p->out, '\t', indent);
}

/* Columns get narrower with the depth, so that the comments stay in line. */
static int type_width(u32 indent)
{
	return TYPE_WIDTH - 8 * ((int)indent - 1);
}

/* Pads what was written since `from` to the column where comments stand. */
static void pad(struct printer *p, size_t from, u32 indent)
{
	int written = p->out->len - from, column = type_width(indent) + NAME_WIDTH;

	sbuf_fill(p->out, ' ', written < column ? column - written : 1);
}

static void attributes(struct sbuf *out, bool is_packed, u32 align)
{
	if (is_packed)
		sbuf_puts(out, " __attribute__((__packed__))");
	if (align)
		sbuf_printf(out, " __attribute__((__aligned__(%u)))", align);
}

static void place(struct printer *p, const struct layout_member *m, u32 base)
{
	if (m->bit_sz)
		sbuf_printf(p->out, "/* %5u:%2u %2u */\n", base + m->off, m->bit_off - 8 * m->off, m->sz);
	else
		sbuf_printf(p->out, "/* %5u %5u */\n", base + m->off, m->sz);
}

/* `name[0]` → `name[]` */
static void open_brackets(struct sbuf *declarator, const struct layout_member *m)
{
	char *at = m->is_flexible ? strstr(declarator->s, "[0]") : NULL;

	if (!at)
		return;
	memmove(at + 1, at + 2, strlen(at + 2) + 1);
	declarator->len--;
}

static void enumerators(struct sbuf *out, const struct btfraw *b, const struct btf_type *t, u32 indent)
{
	size_t width = 0;
	s64 v;

	for (u32 i = 0; i < btf_vlen(t); i++) {
		size_t n = strlen(btfc_enumerator(b, t, i, &v));

		width = n > width ? n : width;
	}
	for (u32 i = 0; i < btf_vlen(t); i++) {
		sbuf_fill(out, '\t', indent);
		sbuf_printf(out, "%-*s = ", (int)width, btfc_enumerator(b, t, i, &v));
		btfc_enum_value(t, v, out);
		sbuf_puts(out, ",\n");
	}
}

/* `const struct path {`; with the typedef's name, if it goes by one, in a comment. */
static void body_head(struct printer *p, const struct btf_type *t, const char *type, u32 indent)
{
	const char *word = btfc_keyword(t), *name = btfraw_str(p->v->b, t->name_off), *at = strstr(type, word);

	indented(p, indent);
	if (at)
		sbuf_add(p->out, type, at - type); /* const */
	else
		sbuf_printf(p->out, "/* typedef %.*s */ ", (int)strcspn(type, "*"), type);
	sbuf_printf(p->out, "%s%s%s {\n", word, *name ? " " : "", name);
}

/* A member whose type has to be spelt out: `struct { … } name[2];` */
static void member_with_body(struct printer *p, const struct layout_member *m, u32 inner, u32 indent, u32 base, u32 *seen)
{
	const struct btf_type *t = btfraw_type(p->v->b, inner);
	struct sbuf left = {}, right = {};
	const char *tail;
	size_t from;

	btfc_decl(p->v->b, m->type, m->name, &left, &right);
	open_brackets(&right, m);
	body_head(p, t, sbuf_str(&left), indent);
	if (btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION) {
		struct layout l = {};
		struct btfc_chain here = { inner, p->chain };

		p->chain = &here;
		layout_get(&l, &p->v->aligns, inner, p->v->cacheline);
		/* Behind a pointer it is not part of this struct. */
		members(p, &l, indent + 1, strchr(sbuf_str(&left), '*') ? 0 : base + m->off, seen);
		p->chain = here.up;
		indented(p, indent);
		from = p->out->len;
		sbuf_putc(p->out, '}');
		attributes(p->out, l.is_packed, l.align);
		layout_release(&l);
	} else {
		enumerators(p->out, p->v->b, t, indent + 1);
		indented(p, indent);
		from = p->out->len;
		sbuf_putc(p->out, '}');
	}
	/* Behind the brace: the asterisks of a pointer, the name, the brackets of an array. */
	tail = strchr(sbuf_str(&left), '*');
	if (tail)
		sbuf_printf(p->out, " %s", tail);
	if (right.len)
		sbuf_printf(p->out, " %s", sbuf_str(&right));
	if (m->bit_sz)
		sbuf_printf(p->out, ":%u", m->bit_sz);
	sbuf_putc(p->out, ';');
	pad(p, from, indent);
	place(p, m, base);
	sbuf_release(&left);
	sbuf_release(&right);
}

/* The type that a member shows in full: one without a name; all of them with --expand. 0: none. */
static u32 spelt_out(struct printer *p, const struct layout_member *m)
{
	u32 id = btfc_inner_anon(p->v->b, m->type);
	const struct btf_type *t;

	if (id || !p->v->expand)
		return id;
	id = btfc_strip(p->v->b, m->type, true);
	t = btfraw_type(p->v->b, id);
	return t && (btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION) ? id : 0;
}

static void member(struct printer *p, const struct layout_member *m, u32 indent, u32 base, u32 *seen)
{
	u32 inner = spelt_out(p, m);
	struct sbuf left = {}, right = {};
	int width = type_width(indent);
	size_t from;

	if (inner && !btfc_chain_has(p->chain, inner)) {
		member_with_body(p, m, inner, indent, base, seen);
		return;
	}
	btfc_decl(p->v->b, m->type, m->name, &left, &right);
	open_brackets(&right, m);
	indented(p, indent);
	from = p->out->len;
	sbuf_printf(p->out, "%-*s %s", width < 0 ? -width : width, sbuf_str(&left), sbuf_str(&right));
	if (m->bit_sz)
		sbuf_printf(p->out, ":%u", m->bit_sz);
	attributes(p->out, false, m->align);
	sbuf_putc(p->out, ';');
	pad(p, from, indent);
	place(p, m, base);
	sbuf_release(&left);
	sbuf_release(&right);
}

/* Remarks about a member form a paragraph. */
static void remark(struct printer *p, u32 indent, bool *in_paragraph, const char *fmt, u32 n, const char *unit)
{
	if (!*in_paragraph)
		sbuf_putc(p->out, '\n');
	*in_paragraph = true;
	indented(p, indent);
	sbuf_printf(p->out, fmt, n, unit);
}

static void cacheline_boundary(struct printer *p, u32 *seen, u32 off, u32 indent)
{
	u32 line = off / p->v->cacheline, in_line = off % p->v->cacheline;

	if (line <= *seen)
		return;
	*seen = line;
	indented(p, indent);
	sbuf_printf(p->out, "/* --- cacheline %u boundary (%u bytes)", line, line * p->v->cacheline);
	if (in_line)
		sbuf_printf(p->out, " was %u byte%s ago", in_line, in_line == 1 ? "" : "s");
	sbuf_puts(p->out, " --- */\n");
}

/* Two bit-fields with unused bits between them are separated by an unnamed one; its width is 0 if the second begins a new
 * unit. */
static void unnamed_bits(struct printer *p, const struct layout_member *last, const struct layout_member *m, u32 indent)
{
	bool same_unit = m->off == last->off;
	struct sbuf type = {};
	int width = type_width(indent);

	if (!same_unit) {
		sbuf_putc(p->out, '\n');
		indented(p, indent);
		sbuf_puts(p->out, "/* Force alignment to the next boundary: */\n");
	}
	btfc_name(p->v->b, same_unit ? m->type : last->type, &type);
	indented(p, indent);
	sbuf_printf(p->out, "%-*s :%u;\n\n", width < 0 ? -width : width, sbuf_str(&type), same_unit ? last->bit_hole : 0);
	sbuf_release(&type);
}

/* *seen: the last cache line whose boundary was shown. The members of a union all begin on the same one. */
static void members(struct printer *p, const struct layout *l, u32 indent, u32 base, u32 *seen)
{
	const struct layout_member *last = NULL;
	u32 unit = 0; /* the largest of the members that begin where the last one does */
	bool in_paragraph = false;

	if (l->pre_bit_hole)
		remark(p, indent, &in_paragraph, "/* XXX %u bit%s hole, try to pack */\n", l->pre_bit_hole,
		       l->pre_bit_hole == 1 ? "" : "s");
	if (l->pre_hole)
		remark(p, indent, &in_paragraph, "/* XXX %u byte%s hole, try to pack */\n", l->pre_hole,
		       l->pre_hole == 1 ? "" : "s");
	for (u32 i = 0; i < l->cnt; i++) {
		const struct layout_member *m = &l->at[i];

		if (l->is_union) {
			u32 own = *seen;

			member(p, m, indent, base, &own);
			continue;
		}
		if (last && last->sz) {
			if (m->off < last->off || (m->off == last->off && !last->bit_sz))
				remark(p, indent, &in_paragraph, "/* Bitfield combined with previous fields */\n", 0, "");
			else if (m->off > last->off && m->off < last->off + unit)
				remark(p, indent, &in_paragraph, "/* Bitfield combined with next fields */\n", 0, "");
		}
		unit = last && last->off == m->off && unit > m->sz ? unit : m->sz;
		if (last && last->bit_sz && last->bit_hole && m->bit_sz)
			unnamed_bits(p, last, m, indent);
		else if (in_paragraph)
			sbuf_putc(p->out, '\n');
		in_paragraph = false;
		cacheline_boundary(p, seen, base + m->off, indent);
		member(p, m, indent, base, seen);
		if (m->inner_padding)
			remark(p, indent, &in_paragraph, "/* XXX last struct has %u byte%s of padding */\n", m->inner_padding,
			       m->inner_padding == 1 ? "" : "s");
		if (m->bit_hole)
			remark(p, indent, &in_paragraph, "/* XXX %u bit%s hole, try to pack */\n", m->bit_hole,
			       m->bit_hole == 1 ? "" : "s");
		if (m->hole)
			remark(p, indent, &in_paragraph, "/* XXX %u byte%s hole, try to pack */\n", m->hole,
			       m->hole == 1 ? "" : "s");
		last = m;
	}
}

static void summary(struct printer *p, const struct layout *l)
{
	u32 line = p->v->cacheline, forced = 0, forced_holes = 0, forced_sum = 0;

	sbuf_printf(p->out, "\n\t/* size: %u, cachelines: %u, members: %u */\n", l->sz, (u32)(((u64)l->sz + line - 1) / line),
		    l->cnt);
	if (l->hole_sum || l->bit_hole_sum) {
		if (l->member_sum) {
			sbuf_printf(p->out, "\t/* sum members: %u", l->member_sum);
			if (l->hole_sum)
				sbuf_printf(p->out, ", holes: %u, sum holes: %u", l->hole_cnt, l->hole_sum);
			sbuf_puts(p->out, " */\n");
		}
		if (l->bitfield_sum) {
			sbuf_printf(p->out, "\t/* sum bitfield members: %u bits", l->bitfield_sum);
			if (l->bit_hole_sum)
				sbuf_printf(p->out, ", bit holes: %u, sum bit holes: %u bits", l->bit_hole_cnt, l->bit_hole_sum);
			else
				sbuf_printf(p->out, " (%u bytes)", l->bitfield_sum / 8);
			sbuf_puts(p->out, " */\n");
		}
	}
	if (l->padding)
		sbuf_printf(p->out, "\t/* padding: %u */\n", l->padding);
	if (l->inner_padding_cnt)
		sbuf_printf(p->out, "\t/* paddings: %u, sum paddings: %u */\n", l->inner_padding_cnt, l->inner_padding_sum);
	if (l->bit_padding)
		sbuf_printf(p->out, "\t/* bit_padding: %u bits */\n", l->bit_padding);
	for (u32 i = 0; i < l->cnt; i++) {
		if (!l->at[i].align)
			continue;
		forced++;
		if (i && l->at[i - 1].hole) {
			forced_holes++;
			forced_sum += l->at[i - 1].hole;
		}
	}
	if (forced) {
		sbuf_printf(p->out, "\t/* forced alignments: %u", forced);
		if (forced_holes)
			sbuf_printf(p->out, ", forced holes: %u, sum forced holes: %u", forced_holes, forced_sum);
		sbuf_puts(p->out, " */\n");
	}
	if (l->sz % line)
		sbuf_printf(p->out, "\t/* last cacheline: %u bytes */\n", l->sz % line);
}

/* Up to and with the closing brace. */
static void body(struct printer *p, u32 id)
{
	const struct btf_type *t = btfraw_type(p->v->b, id);
	const char *name = btfraw_str(p->v->b, t->name_off);
	u32 seen = 0;

	sbuf_printf(p->out, "%s%s%s {\n", btfc_keyword(t), *name ? " " : "", name);
	if (btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION) {
		struct layout l = {};
		struct btfc_chain here = { id };

		p->chain = &here;
		layout_get(&l, &p->v->aligns, id, p->v->cacheline);
		members(p, &l, 1, 0, &seen);
		p->chain = NULL;
		if (!l.is_union)
			summary(p, &l);
		sbuf_putc(p->out, '}');
		attributes(p->out, l.is_packed, l.align);
		layout_release(&l);
	} else {
		enumerators(p->out, p->v->b, t, 1);
		sbuf_putc(p->out, '}');
	}
}

static bool has_body(const struct btf_type *t)
{
	return t && btfc_keyword(t) && btf_kind(t) != BTF_KIND_FWD;
}

void type_text(struct type_view *v, u32 id, struct sbuf *out)
{
	struct printer p = { .v = v, .out = out };
	const struct btf_type *t = btfraw_type(v->b, id), *to;
	const char *name = btfraw_str(v->b, t->name_off), *file;
	u32 line;

	if (type_place(v, id, &file, &line))
		sbuf_printf(out, "/* %s:%u */\n", file, line);
	if (has_body(t)) {
		body(&p, id);
		sbuf_puts(out, ";\n");
		return;
	}
	if (btf_kind(t) != BTF_KIND_TYPEDEF) {
		struct sbuf left = {}, right = {};

		btfc_decl(v->b, id, "", &left, &right);
		sbuf_printf(out, "%s%s%s;", sbuf_str(&left), right.len ? " " : "", sbuf_str(&right));
		if (btfc_size(v->b, id))
			sbuf_printf(out, " /* size: %u */", btfc_size(v->b, id));
		sbuf_putc(out, '\n');
		sbuf_release(&left);
		sbuf_release(&right);
		return;
	}
	sbuf_puts(out, "typedef ");
	to = btfraw_type(v->b, t->type);
	if (has_body(to) && !*btfraw_str(v->b, to->name_off)) {
		body(&p, t->type);
		sbuf_printf(out, " %s;\n", name);
	} else {
		struct sbuf left = {}, right = {};

		btfc_decl(v->b, t->type, name, &left, &right);
		sbuf_printf(out, "%s %s;\n", sbuf_str(&left), sbuf_str(&right));
		sbuf_release(&left);
		sbuf_release(&right);
	}
}
