/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of a program as BTF: those that a script asks for, one after the other, or all of them.
 *
 * An entry becomes a node, and a node becomes a record of the same number. Structs may refer to each other in circles: what is in
 * a struct or an enum is read after the struct has its number.
 *
 * For scripts (struct dbg.conv) records are written as soon as there are nodes. The first record of a struct or an enum has
 * nothing in it; a second one follows when a script looks into it (struct btf_growth). Typedefs and functions are left out, as
 * the language has no types for them.
 *
 * For `sonde type` every type that has a name is converted, and the records are written at the end. Compilers write the types of
 * a header into each unit that includes it: of structs, unions, enums, typedefs and base types of one name and size, the first is
 * kept.
 *
 * Derived types (pointers, arrays…) are kept once for what they are of. BTF has no form for base classes, which become members,
 * nor for references, which become pointers, nor for member functions, which are left out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sym/dwarf_int.h"
#include "types/btf.h"

#define DEPTH_MAX 64
#define VLEN_MAX 0xffffu
#define KFLAG_BIT_MAX 0xffffffu /* how far from the start of a struct with bit-fields its members can be */
#define NONE UINT32_MAX

struct node {
	enum btf_kind kind;
	bool kflag;
	const char *name;
	u32 size_or_type;
	struct dwarf_unit *u; /* of structs and enums: where their insides are */
	u64 off;
	/* of structs; parameters without offsets; constants: type is the low, offset the high half */
	vec(struct btf_member) members;
	struct btf_array array;
	u32 int_info; /* of an integer: encoding and bits */
	u32 align;    /* 0: not told */
	u32 whole;    /* for scripts: the number of the node with the insides; 0: not asked for yet; NONE: there is none */
	const char *file;
	u32 line;
};

struct dbg_conv {
	struct btf_growth growth; /* must be first */
	struct dbg *d;
	bool is_for_script;
	struct type_source *types; /* reads what is written; only for scripts */
	vec(struct node) nodes;
	u32 written;         /* nodes that have their record */
	struct smap known;   /* what a node is, as text → its number */
	struct dbg_map dies; /* die_key() → number; &void_mark: void, or being made */
	u32 depth;
};

static char void_mark;

/* prefix: the namespaces around the entry; NULL: not known. */
static u32 number_of(struct dbg_conv *c, const struct die *d, const char *prefix);

static u32 add(struct dbg_conv *c, struct node n)
{
	vec_push(&c->nodes, n);
	return c->nodes.cnt;
}

/* A node that is kept once: the text tells what it is. */
static u32 add_once(struct dbg_conv *c, struct node n, const char *fmt, ...) PRINTF_LIKE(3, 4);
static u32 add_once(struct dbg_conv *c, struct node n, const char *fmt, ...)
{
	char key[1100];
	va_list ap;
	u32 id;

	va_start(ap, fmt);
	vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	id = (uintptr_t)smap_get(&c->known, key);
	if (!id) {
		id = add(c, n);
		smap_put(&c->known, arena_strdup(&c->d->arena, key), (void *)(uintptr_t)id);
	}
	return id;
}

/* Whether the entry was met before. *id is its number; 0: it is void, or being made. */
static bool has_number(const struct dbg_conv *c, const struct dwarf_unit *u, u64 off, u32 *id)
{
	void *had = dbg_map_get(&c->dies, die_key(u, off));

	*id = had == &void_mark ? 0 : (uintptr_t)had;
	return had;
}

/* The type that an entry refers to; 0: void. */
static u32 target(struct dbg_conv *c, const struct die *d)
{
	struct dwarf_unit *u;
	struct die t;
	u64 off;
	u32 id;

	if (!die_ref_place(d, AT_type, &u, &off))
		return 0;
	if (has_number(c, u, off, &id)) /* most have, and need not be read */
		return id;
	return die_read(u, off, &t) ? number_of(c, &t, NULL) : 0;
}

/* The size as far as BTF can tell it. */
static u32 byte_size(const struct die *d, u64 dflt)
{
	return MIN(die_uint(d, AT_byte_size, dflt), (u64)UINT32_MAX);
}

/* A type that has nothing but what it is of. */
static u32 derived(struct dbg_conv *c, enum btf_kind kind, u32 of)
{
	return add_once(c, (struct node){ .kind = kind, .size_or_type = of }, "%d %u", kind, of);
}

static void place_of(const struct die *d, struct node *n)
{
	const struct line_table *lines = die_has(d, AT_decl_file) ? dwarf_unit_lines(d->u) : NULL;
	u64 file = die_uint(d, AT_decl_file, 0);

	if (lines && file < lines->files.cnt)
		n->file = lines->files.at[file];
	n->line = die_uint(d, AT_decl_line, 0);
}

static u32 int_of(struct dbg_conv *c, const char *name, u32 size, u32 encoding)
{
	struct node n = { .kind = BTF_KIND_INT, .name = name, .size_or_type = size };

	n.int_info = encoding << 24 | (size <= 16 ? 8 * size : 0); /* BTF has room for 255 bits */
	return add_once(c, n, "int %u %u %.1000s", size, encoding, name);
}

static u32 base_type(struct dbg_conv *c, const struct die *d)
{
	u32 size = byte_size(d, 0);
	const char *name = die_str(d, AT_name);
	u64 encoding = die_uint(d, AT_encoding, 0);
	bool is_char = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char;

	if (size > INT32_MAX)
		size = 0;
	/* BTF knows a character by its name alone; other languages call other things so. */
	if (!name || (c->is_for_script && !is_char))
		name = "";
	switch (encoding) {
	case DW_ATE_float:
	case DW_ATE_complex_float:
	case DW_ATE_imaginary_float:
	case DW_ATE_decimal_float:
		return add_once(c, (struct node){ .kind = BTF_KIND_FLOAT, .name = name, .size_or_type = size },
				"float %u %.1000s", size, name);
	case DW_ATE_boolean:
		return int_of(c, name, size, BTF_INT_BOOL);
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return int_of(c, name, size, BTF_INT_SIGNED);
	}
	return int_of(c, name, size, 0);
}

static u32 array_of(struct dbg_conv *c, u32 elem, u32 cnt)
{
	struct node n = { .kind = BTF_KIND_ARRAY, .array = { elem, int_of(c, "__ARRAY_SIZE_TYPE__", 4, 0), cnt } };

	return add_once(c, n, "array %u %u", elem, cnt);
}

/* An array of arrays has one entry for each dimension, outermost first. */
static u32 array_type(struct dbg_conv *c, const struct die *d)
{
	u32 dims[16], cnt = 0, id = target(c, d);
	struct die r;

	if (die_child(d, &r))
		do {
			u64 n;

			if (r.tag != DW_TAG_subrange_type)
				continue;
			if (cnt == ARRAY_CNT(dims))
				return 0;
			/* [] has neither; [0] may have an upper bound of -1, in 4 bytes or 8. */
			n = die_has(&r, AT_count) ? die_uint(&r, AT_count, 0) : die_uint(&r, AT_upper_bound, UINT64_MAX) + 1;
			dims[cnt++] = (u32)n ? MIN(n, (u64)UINT32_MAX) : 0;
		} while (die_next(&r));
	if (!cnt)
		return array_of(c, id, 0);
	while (cnt)
		id = array_of(c, id, dims[--cnt]);
	return id;
}

static u32 function_type(struct dbg_conv *c, const struct die *d)
{
	struct node n = { .kind = BTF_KIND_FUNC_PROTO, .size_or_type = target(c, d) };
	struct die p;

	if (die_child(d, &p))
		do {
			struct btf_member m = {};

			if (p.tag == DW_TAG_formal_parameter)
				m.type = target(c, &p);
			else if (p.tag != DW_TAG_unspecified_parameters)
				continue;
			vec_push(&n.members, m);
		} while (n.members.cnt < 255 && die_next(&p));
	return add(c, n);
}

/* As the type that it is made of. Without one, as in C: unsigned unless one of its constants is negative. */
static bool enum_is_signed(const struct die *d)
{
	struct die under, e;
	s64 v;

	if (die_ref(d, AT_type, &under) && die_strip(&under, &under)) {
		u64 encoding = die_uint(&under, AT_encoding, 0);

		return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	}
	if (die_child(d, &e))
		do
			if (e.tag == DW_TAG_enumerator && die_sdata(&e, AT_const_value, &v) && v < 0)
				return true;
		while (die_next(&e));
	return false;
}

static const char *name_in(struct dbg_conv *c, const char *prefix, const struct die *d)
{
	const char *name = die_str(d, AT_name);

	return !name ? "" : prefix && *prefix ? arena_printf(&c->d->arena, "%s%s", prefix, name) : name;
}

/* Structs, unions, enums: the insides are left for later. */
static u32 body_type(struct dbg_conv *c, const struct die *d, const char *prefix)
{
	struct node n = { .kind = BTF_KIND_STRUCT, .size_or_type = byte_size(d, 0), .u = d->u, .off = d->off };
	u64 align = die_uint(d, AT_alignment, 0);
	const char *slash;

	if (d->tag == DW_TAG_union_type)
		n.kind = BTF_KIND_UNION;
	if (d->tag == DW_TAG_enumeration_type) {
		n.kind = BTF_KIND_ENUM;
		n.kflag = enum_is_signed(d);
	}
	if (is_pow2(align) && align <= 4096)
		n.align = align;
	if (c->is_for_script) {
		n.name = die_full_name(d);
		return add(c, n);
	}
	n.name = name_in(c, prefix, d);
	if (die_flag(d, AT_declaration)) {
		struct node fwd = { .kind = BTF_KIND_FWD, .name = n.name, .kflag = n.kind == BTF_KIND_UNION };

		return *n.name ? add_once(c, fwd, "fwd %d %.1000s", n.kind, n.name) : add(c, fwd);
	}
	/* Files have structs of their own that share a name, and even a size. */
	place_of(d, &n);
	slash = n.file ? strrchr(n.file, '/') : NULL;
	if (!*n.name)
		return add(c, n);
	return add_once(c, n, "body %d %u %.600s %u %.400s", n.kind, n.size_or_type, n.name, n.line, slash ? slash : "");
}

static u32 typedef_type(struct dbg_conv *c, const struct die *d, const char *prefix)
{
	struct node n = { .kind = BTF_KIND_TYPEDEF, .size_or_type = target(c, d), .name = name_in(c, prefix, d) };

	place_of(d, &n);
	return add_once(c, n, "typedef %u %.1000s", n.size_or_type, n.name);
}

static u32 make(struct dbg_conv *c, const struct die *d, const char *prefix)
{
	switch (d->tag) {
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		return base_type(c, d);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return derived(c, BTF_KIND_PTR, target(c, d));
	case DW_TAG_ptr_to_member_type: /* an offset, or two words: nothing that a script could follow */
		return c->is_for_script ? int_of(c, "", byte_size(d, 8), 0) : derived(c, BTF_KIND_PTR, target(c, d));
	case DW_TAG_const_type:
		return derived(c, BTF_KIND_CONST, target(c, d));
	case DW_TAG_volatile_type:
	case DW_TAG_atomic_type:
		return derived(c, BTF_KIND_VOLATILE, target(c, d));
	case DW_TAG_restrict_type:
		return derived(c, BTF_KIND_RESTRICT, target(c, d));
	case DW_TAG_subrange_type:
		return target(c, d);
	case DW_TAG_typedef:
		return c->is_for_script ? target(c, d) : typedef_type(c, d, prefix);
	case DW_TAG_array_type:
		return array_type(c, d);
	case DW_TAG_subroutine_type:
		return c->is_for_script ? 0 : function_type(c, d);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return body_type(c, d, prefix);
	}
	return 0;
}

static u32 number_of(struct dbg_conv *c, const struct die *d, const char *prefix)
{
	u32 id;

	if (has_number(c, d->u, d->off, &id) || c->depth > DEPTH_MAX)
		return id;
	dbg_map_put(&c->dies, die_key(d->u, d->off), &void_mark);
	c->depth++;
	id = make(c, d, prefix);
	c->depth--;
	if (id)
		dbg_map_put(&c->dies, die_key(d->u, d->off), (void *)(uintptr_t)id);
	return id;
}

/* ---- insides ---- */

static u32 size_of(const struct dbg_conv *c, u32 id)
{
	while (id) {
		const struct node *n = &c->nodes.at[id - 1];

		if (n->kind == BTF_KIND_ARRAY || n->kind == BTF_KIND_FUNC_PROTO || n->kind == BTF_KIND_FWD)
			return 0;
		if (n->kind == BTF_KIND_PTR)
			return 8;
		if (n->kind != BTF_KIND_CONST && n->kind != BTF_KIND_VOLATILE && n->kind != BTF_KIND_RESTRICT &&
		    n->kind != BTF_KIND_TYPEDEF)
			return n->size_or_type;
		id = n->size_or_type; /* a smaller number: these are made after what they are of */
	}
	return 0;
}

struct found_member {
	const char *name;
	u32 type;
	u64 bit, width;
};

typedef vec(struct found_member) found_members;

static void find_member(struct dbg_conv *c, const struct die *m, found_members *out)
{
	u64 bit = 8 * die_uint(m, AT_data_member_location, 0), width = die_uint(m, AT_bit_size, 0);
	const char *name = die_str(m, AT_name);
	u32 type = target(c, m);

	/* Scripts find what a base class has as if it were in the class itself. */
	if (m->tag == DW_TAG_inheritance)
		name = c->is_for_script ? "" : "<ancestor>";
	if (die_has(m, AT_data_bit_offset))
		bit = die_uint(m, AT_data_bit_offset, 0);
	else if (width && die_has(m, AT_bit_offset)) /* DWARF 4 and before: counted from the other end of the unit */
		bit += 8 * die_uint(m, AT_byte_size, size_of(c, type)) - die_uint(m, AT_bit_offset, 0) - width;
	vec_push(out, (struct found_member){ name ? name : "", type, bit, width });
}

/* Members below an entry. Those of variants (Rust's enums) overlap, which no layout can show: only scripts see them. */
static void find_members(struct dbg_conv *c, const struct die *parent, u32 depth, found_members *out)
{
	struct die m;

	if (depth > 4 || !die_child(parent, &m))
		return;
	do {
		bool has_place = die_has(&m, AT_data_member_location);

		if (c->is_for_script && (m.tag == DW_TAG_variant_part || m.tag == DW_TAG_variant))
			find_members(c, &m, depth + 1, out);
		if (m.tag != DW_TAG_member && m.tag != DW_TAG_inheritance)
			continue;
		/* The place of a virtual base is only known at run time. Static members are variables. */
		if (has_place ? m.at[AT_data_member_location].p != NULL :
				die_flag(&m, AT_external) || die_flag(&m, AT_declaration))
			continue;
		find_member(c, &m, out);
	} while (out->cnt < VLEN_MAX && die_next(&m));
}

/* A bit-field that is farther from the start of its struct than BTF can tell: a struct without name around it is not. */
static void wrap_bits(struct dbg_conv *c, u32 outer_sz, struct found_member *m)
{
	struct node in = { .kind = BTF_KIND_STRUCT, .kflag = true };
	u64 at = m->bit / 64 * 8;
	u32 bit = m->bit % 64;

	if (at >= outer_sz)
		return;
	in.size_or_type = MIN(outer_sz - at, 16u);
	bit |= MIN(m->width, 255u) << 24;
	vec_push(&in.members, (struct btf_member){ btfwriter_str(&c->growth.w, m->name), m->type, bit });
	*m = (struct found_member){ "", add(c, in), 8 * at };
}

static void fill_struct(struct dbg_conv *c, const struct die *d, struct node *n)
{
	u32 size = n->size_or_type;
	found_members found = {};
	bool is_far = false;

	find_members(c, d, 0, &found);
	vec_for(m, &found) {
		n->kflag |= m->width != 0;
		is_far |= m->bit > KFLAG_BIT_MAX;
	}
	vec_for(m, &found) {
		if (n->kflag && is_far && m->width)
			wrap_bits(c, size, m);
		/* A member outside of the struct: the reader refuses the struct. But one can be larger than BTF can tell. */
		if (m->bit > UINT32_MAX && size > UINT32_MAX / 8)
			continue;
		m->bit = MIN(m->bit, (u64)UINT32_MAX);
		if (!is_far)
			m->bit |= MIN(m->width, 255u) << 24;
		vec_push(&n->members, (struct btf_member){ btfwriter_str(&c->growth.w, m->name), m->type, m->bit });
	}
	n->kflag &= !is_far;
	vec_free(&found);
}

static void fill_enum(struct dbg_conv *c, const struct die *d, struct node *n)
{
	bool is_wide = n->size_or_type > 4;
	struct die e;

	if (die_child(d, &e))
		do {
			const char *name = die_str(&e, AT_name);
			s64 v = (s64)die_uint(&e, AT_const_value, 0);

			if (e.tag != DW_TAG_enumerator || !name)
				continue;
			is_wide |= n->kflag ? (s32)v != v : (u32)v != v;
			vec_push(&n->members, (struct btf_member){ btfwriter_str(&c->growth.w, name), (u64)v, (u64)v >> 32 });
		} while (n->members.cnt < VLEN_MAX && die_next(&e));
	if (is_wide)
		n->kind = BTF_KIND_ENUM64;
}

static void fill(struct dbg_conv *c, const struct die *d, struct node *n)
{
	if (n->kind == BTF_KIND_ENUM)
		fill_enum(c, d, n);
	else
		fill_struct(c, d, n);
}

/* ---- writing ---- */

static void write_node(struct btfwriter *w, struct node *n)
{
	btfwriter_type(w, n->kind, n->name, n->kind == BTF_KIND_ARRAY ? 0 : n->size_or_type, n->members.cnt, n->kflag);
	if (n->kind == BTF_KIND_INT)
		btfwriter_tail(w, &n->int_info, sizeof(n->int_info));
	if (n->kind == BTF_KIND_ARRAY)
		btfwriter_tail(w, &n->array, sizeof(n->array));
	vec_for(m, &n->members) {
		if (n->kind == BTF_KIND_FUNC_PROTO)
			btfwriter_tail(w, &(struct btf_param){ 0, m->type }, sizeof(struct btf_param));
		else if (n->kind == BTF_KIND_ENUM)
			btfwriter_tail(w, &(struct btf_enum){ m->name_off, m->type }, sizeof(struct btf_enum));
		else if (n->kind == BTF_KIND_ENUM64)
			btfwriter_tail(w, &(struct btf_enum64){ m->name_off, m->type, m->offset }, sizeof(struct btf_enum64));
		else
			btfwriter_tail(w, m, sizeof(*m));
	}
	vec_free(&n->members);
}

static void write_all(struct dbg_conv *c)
{
	for (; c->written < c->nodes.cnt; c->written++)
		write_node(&c->growth.w, &c->nodes.at[c->written]);
}

static void conv_release(struct dbg_conv *c)
{
	btfwriter_release(&c->growth.w);
	vec_free(&c->nodes);
	smap_release(&c->known);
	dbg_map_release(&c->dies);
}

/* ---- all types ---- */

static bool see(void *arg, const struct die *d, const struct scope *in)
{
	struct dbg_conv *c = arg;
	struct sbuf prefix = {};

	switch (d->tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_typedef:
		if (!die_str(d, AT_name))
			break;
		put_scope(in, &prefix);
		number_of(c, d, sbuf_str(&prefix));
		sbuf_release(&prefix);
		break;
	}
	return false;
}

u8 *dbg_to_btf(struct dbg *d, size_t *len, struct dbg_places *places)
{
	struct dbg_conv c = { .d = d };
	struct die die;
	u8 *data;

	btfwriter_init(&c.growth.w, &d->arena);
	walk_all(d, see, &c);
	/* Filling finds more. */
	for (u32 i = 0; i < c.nodes.cnt; i++) {
		struct node n = c.nodes.at[i];

		if (!n.u || !die_read(n.u, n.off, &die))
			continue;
		fill(&c, &die, &n);
		c.nodes.at[i] = n;
	}
	write_all(&c);
	vec_for(n, &c.nodes)
		vec_push(&places->at, (typeof(*places->at.at)){ n->file, n->line });
	data = btfwriter_finish(&c.growth.w, len);
	conv_release(&c);
	return data;
}

/* ---- types for scripts ---- */

static u32 define(struct btf_growth *g, u32 id)
{
	struct dbg_conv *c = (struct dbg_conv *)g;
	struct node n;
	struct die d;
	u32 whole = 0;

	if (!id || !c->nodes.at[id - 1].u)
		return id;
	n = c->nodes.at[id - 1];
	if (n.whole)
		return n.whole == NONE ? 0 : n.whole;
	if (!die_read(n.u, n.off, &d))
		return 0;
	if (n.kind == BTF_KIND_ENUM || !die_flag(&d, AT_declaration)) {
		fill(c, &d, &n);
		n.u = NULL;
		whole = add(c, n);
		write_all(c);
	} else if (*n.name && die_definition(c->d, &d, n.name, &d)) {
		whole = define(g, number_of(c, &d, NULL));
	}
	c->nodes.at[id - 1].whole = whole ? whole : NONE;
	return whole;
}

static u32 align(struct btf_growth *g, u32 id)
{
	return ((struct dbg_conv *)g)->nodes.at[id - 1].align;
}

const struct type *dbg_type_at(const struct die *d)
{
	struct dbg *dbg = d->u->set->dbg;
	struct dbg_conv *c = dbg->conv;
	u32 id;

	if (!c) {
		c = dbg->conv = xzalloc(sizeof(*c));
		c->d = dbg;
		c->is_for_script = true;
		c->growth.define = define;
		c->growth.align = align;
		btfwriter_init(&c->growth.w, &dbg->arena);
		c->types = btf_open_growth(&c->growth);
	}
	id = number_of(c, d, NULL);
	write_all(c);
	return btf_type(c->types, id);
}

void dbg_conv_free(struct dbg_conv *c)
{
	if (!c)
		return;
	btf_close(c->types);
	conv_release(c);
	free(c);
}
