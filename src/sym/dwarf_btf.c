/* All types of a program as BTF.
 *
 * Compilers write the types of a header into each unit that includes it: of structs, unions, enums, typedefs and base types of one name and
 * size, the first is kept. Derived types (pointers, arrays…) are kept once for what they are of. A struct's members are read when everything
 * found so far has a number, so that structs may refer to each other in circles.
 *
 * What BTF has no form for: a base class is a member called <ancestor>, a reference a pointer, a member function nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "kern/btfwriter.h"
#include "sym/dwarf_int.h"

#define DEPTH_MAX 64

struct node {
	enum btf_kind kind;
	const char *name;
	u32 size_or_type;
	bool kflag;
	struct unit *u; /* of structs and enums: where their insides are */
	u64 off;
	vec(struct btf_member) members; /* of structs; parameters without offsets; constants: type is the low, offset the high half */
	struct btf_array array;
	u32 encoding;
	const char *file;
	u32 line;
};

struct conv {
	struct dbg *d;
	struct btfwriter w;
	vec(struct node) nodes;
	struct smap known;   /* what a node is, as text → its number */
	struct dbg_map dies; /* die_key() → number */
	u32 depth;
	u32 uint_id;
};

static u32 number_of(struct conv *c, const struct die *d, const char *prefix);

static u32 add(struct conv *c, struct node n, const char *key)
{
	u32 id;

	vec_push(&c->nodes, n);
	id = c->nodes.cnt;
	if (key)
		smap_put(&c->known, arena_strdup(&c->d->arena, key), (void *)(uintptr_t)id);
	return id;
}

static u32 known(struct conv *c, const char *key)
{
	return (uintptr_t)smap_get(&c->known, key);
}

/* The type that an entry refers to; 0: void. */
static u32 target(struct conv *c, const struct die *d)
{
	struct die t;

	return die_ref(d, AT_type, &t) ? number_of(c, &t, NULL) : 0;
}

/* A type that has nothing but what it is of. */
static u32 derived(struct conv *c, enum btf_kind kind, u32 of)
{
	char key[48];
	u32 id;

	snprintf(key, sizeof(key), "%d %u", kind, of);
	id = known(c, key);
	return id ? id : add(c, (struct node){ .kind = kind, .size_or_type = of }, key);
}

static void place_of(const struct die *d, struct node *n)
{
	const struct line_table *lines = die_has(d, AT_decl_file) ? unit_lines(d->u) : NULL;
	u64 file = die_uint(d, AT_decl_file, 0);

	if (lines && file < lines->files.cnt)
		n->file = lines->files.at[file];
	n->line = die_uint(d, AT_decl_line, 0);
}

static u32 base_type(struct conv *c, const struct die *d, const char *name)
{
	u32 size = die_uint(d, AT_byte_size, 0), encoding = die_uint(d, AT_encoding, 0), id;
	char key[300];

	snprintf(key, sizeof(key), "base %u %u %s", size, encoding, name);
	id = known(c, key);
	if (id)
		return id;
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || encoding == DW_ATE_imaginary_float || encoding == DW_ATE_decimal_float)
		return add(c, (struct node){ .kind = BTF_KIND_FLOAT, .name = name, .size_or_type = size }, key);
	return add(c, (struct node){ .kind = BTF_KIND_INT, .name = name, .size_or_type = size,
				     .encoding = encoding == DW_ATE_boolean ? BTF_INT_BOOL :
						 encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ? BTF_INT_SIGNED : 0 }, key);
}

static u32 array_of(struct conv *c, u32 elem, u32 cnt)
{
	char key[64];
	u32 id;

	if (!c->uint_id)
		c->uint_id = add(c, (struct node){ .kind = BTF_KIND_INT, .name = "__ARRAY_SIZE_TYPE__", .size_or_type = 4 }, NULL);
	snprintf(key, sizeof(key), "array %u %u", elem, cnt);
	id = known(c, key);
	return id ? id : add(c, (struct node){ .kind = BTF_KIND_ARRAY, .array = { elem, c->uint_id, cnt } }, key);
}

/* An array of arrays has one entry for each dimension, outermost first. */
static u32 array_type(struct conv *c, const struct die *d)
{
	u32 dims[16], cnt = 0, id = target(c, d);
	struct die r;

	if (die_child(d, &r))
		do {
			if (r.tag != DW_TAG_subrange_type || cnt == ARRAY_CNT(dims))
				continue;
			dims[cnt] = die_has(&r, AT_count) ? die_uint(&r, AT_count, 0) : 0;
			if (!die_has(&r, AT_count) && die_has(&r, AT_upper_bound))
				dims[cnt] = die_uint(&r, AT_upper_bound, 0) + 1;
			cnt++;
		} while (die_next(&r));
	if (!cnt)
		return array_of(c, id, 0);
	while (cnt)
		id = array_of(c, id, dims[--cnt]);
	return id;
}

static u32 function_type(struct conv *c, const struct die *d)
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
	return add(c, n, NULL);
}

/* Structs, unions, enums: by name and size, with the insides left for later. One that is only declared is a forward declaration. */
static u32 body_type(struct conv *c, const struct die *d, const char *prefix)
{
	static const char *const words[] = { [BTF_KIND_STRUCT] = "struct", [BTF_KIND_UNION] = "union", [BTF_KIND_ENUM] = "enum" };
	enum btf_kind kind = d->tag == DW_TAG_union_type ? BTF_KIND_UNION : d->tag == DW_TAG_enumeration_type ? BTF_KIND_ENUM : BTF_KIND_STRUCT;
	const char *name = die_str(d, AT_name);
	struct node n = { .kind = kind, .size_or_type = die_uint(d, AT_byte_size, 0), .u = d->u, .off = d->off };
	const char *slash;
	char key[1100];
	u32 id;

	if (name && prefix && *prefix)
		name = arena_printf(&c->d->arena, "%s%s", prefix, name);
	n.name = name ? name : "";
	if (die_flag(d, AT_declaration)) {
		n.kind = BTF_KIND_FWD;
		n.kflag = kind == BTF_KIND_UNION;
		n.size_or_type = 0;
		n.u = NULL;
		snprintf(key, sizeof(key), "fwd %s %.1000s", words[kind], n.name);
	} else {
		/* Files have structs of their own that share a name, and even a size. */
		place_of(d, &n);
		slash = n.file ? strrchr(n.file, '/') : NULL;
		snprintf(key, sizeof(key), "%s %u %.600s %u %.400s", words[kind], n.size_or_type, n.name, n.line, slash ? slash : "");
	}
	id = name ? known(c, key) : 0;
	return id ? id : add(c, n, name ? key : NULL);
}

static u32 typedef_type(struct conv *c, const struct die *d, const char *prefix)
{
	const char *name = die_str(d, AT_name);
	struct node n = { .kind = BTF_KIND_TYPEDEF };
	char key[1100];
	u32 id, of = target(c, d);

	if (name && prefix && *prefix)
		name = arena_printf(&c->d->arena, "%s%s", prefix, name);
	n.name = name ? name : "";
	n.size_or_type = of;
	snprintf(key, sizeof(key), "typedef %u %.1000s", of, n.name);
	id = known(c, key);
	if (id)
		return id;
	place_of(d, &n);
	return add(c, n, key);
}

static u32 make(struct conv *c, const struct die *d, const char *prefix)
{
	const char *name = die_str(d, AT_name);

	switch (d->tag) {
	case DW_TAG_base_type: case DW_TAG_unspecified_type:
		return base_type(c, d, name ? name : "");
	case DW_TAG_pointer_type: case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type: case DW_TAG_ptr_to_member_type:
		return derived(c, BTF_KIND_PTR, target(c, d));
	case DW_TAG_const_type:
		return derived(c, BTF_KIND_CONST, target(c, d));
	case DW_TAG_volatile_type: case DW_TAG_atomic_type:
		return derived(c, BTF_KIND_VOLATILE, target(c, d));
	case DW_TAG_restrict_type:
		return derived(c, BTF_KIND_RESTRICT, target(c, d));
	case DW_TAG_typedef:
		return typedef_type(c, d, prefix);
	case DW_TAG_array_type:
		return array_type(c, d);
	case DW_TAG_subroutine_type:
		return function_type(c, d);
	case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_union_type: case DW_TAG_enumeration_type:
		return body_type(c, d, prefix);
	}
	return 0;
}

static u32 number_of(struct conv *c, const struct die *d, const char *prefix)
{
	u32 id = (uintptr_t)dbg_map_get(&c->dies, die_key(d->u, d->off));

	if (id || c->depth > DEPTH_MAX)
		return id;
	c->depth++;
	id = make(c, d, prefix);
	c->depth--;
	if (id)
		dbg_map_put(&c->dies, die_key(d->u, d->off), (void *)(uintptr_t)id);
	return id;
}

/* ---- insides ---- */

static u32 size_of(struct conv *c, u32 id)
{
	for (u32 i = 0; id && i < DEPTH_MAX; i++) {
		const struct node *n = &c->nodes.at[id - 1];

		if (n->kind == BTF_KIND_STRUCT || n->kind == BTF_KIND_UNION || n->kind == BTF_KIND_ENUM || n->kind == BTF_KIND_INT || n->kind == BTF_KIND_FLOAT)
			return n->size_or_type;
		if (n->kind == BTF_KIND_PTR)
			return 8;
		if (n->kind == BTF_KIND_ARRAY || n->kind == BTF_KIND_FUNC_PROTO || n->kind == BTF_KIND_FWD)
			return 0;
		id = n->size_or_type;
	}
	return 0;
}

static void add_member(struct conv *c, u32 at, const struct die *m, const char *name)
{
	u64 bit = 8 * die_uint(m, AT_data_member_location, 0), width = die_uint(m, AT_bit_size, 0);
	u32 type = target(c, m);
	struct node *n = &c->nodes.at[at];

	if (die_has(m, AT_data_bit_offset))
		bit = die_uint(m, AT_data_bit_offset, 0);
	else if (width && die_has(m, AT_bit_offset)) /* DWARF 3: counted from the other end of the unit */
		bit += 8 * die_uint(m, AT_byte_size, size_of(c, type)) - die_uint(m, AT_bit_offset, 0) - width;
	if (width > 128 || bit > 0xffffff)
		width = 0;
	n->kflag |= width != 0;
	vec_push(&n->members, (struct btf_member){ btfwriter_str(&c->w, name), type, bit | width << 24 });
}

static void fill_struct(struct conv *c, u32 at)
{
	struct die d, m;

	if (!die_read(c->nodes.at[at].u, c->nodes.at[at].off, &d) || !die_child(&d, &m))
		return;
	do {
		const char *name = die_str(&m, AT_name);

		if (c->nodes.at[at].members.cnt == 0xffff)
			return;
		if (m.tag == DW_TAG_inheritance)
			add_member(c, at, &m, "<ancestor>");
		/* Static members are variables. */
		else if (m.tag == DW_TAG_member && !die_flag(&m, AT_external) && !die_flag(&m, AT_declaration))
			add_member(c, at, &m, name ? name : "");
	} while (die_next(&m));
}

static void fill_enum(struct conv *c, u32 at)
{
	struct die d, e;

	if (!die_read(c->nodes.at[at].u, c->nodes.at[at].off, &d) || !die_child(&d, &e))
		return;
	do {
		u64 v = die_uint(&e, AT_const_value, 0);
		s64 sv;

		if (e.tag != DW_TAG_enumerator || c->nodes.at[at].members.cnt == 0xffff)
			continue;
		if (die_sdata(&e, AT_const_value, &sv)) {
			v = sv;
			c->nodes.at[at].kflag |= sv < 0;
		}
		vec_push(&c->nodes.at[at].members, (struct btf_member){ btfwriter_str(&c->w, die_str(&e, AT_name)), v, v >> 32 });
	} while (die_next(&e));
	if (c->nodes.at[at].size_or_type > 4)
		c->nodes.at[at].kind = BTF_KIND_ENUM64;
}

static bool see(void *arg, const struct die *d, const struct scope *in)
{
	struct conv *c = arg;
	struct sbuf prefix = {};

	switch (d->tag) {
	case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_union_type: case DW_TAG_enumeration_type: case DW_TAG_typedef:
		if (!die_str(d, AT_name))
			break;
		put_scope(in, &prefix);
		number_of(c, d, sbuf_str(&prefix));
		sbuf_release(&prefix);
		break;
	}
	return false;
}

/* ---- writing ---- */

static void write_node(struct conv *c, const struct node *n)
{
	struct btfwriter *w = &c->w;

	if (n->kind == BTF_KIND_INT)
		btfwriter_int(w, n->name, n->size_or_type, n->encoding);
	else
		btfwriter_type(w, n->kind, n->name, n->kind == BTF_KIND_ARRAY ? 0 : n->size_or_type, n->members.cnt, n->kflag);
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
			/* A bit-field's width stands above its offset, if the struct has any. */
			btfwriter_tail(w, &(struct btf_member){ m->name_off, m->type, n->kflag ? m->offset : m->offset & 0xffffff }, sizeof(*m));
	}
}

u8 *dbg_to_btf(struct dbg *d, size_t *len, struct dbg_places *places)
{
	struct conv c = { .d = d };
	u8 *data;

	btfwriter_init(&c.w, &d->arena);
	walk_all(d, see, &c);
	/* Filling finds more. */
	for (u32 i = 0; i < c.nodes.cnt; i++) {
		struct node *n = &c.nodes.at[i];

		if (!n->u)
			continue;
		if (n->kind == BTF_KIND_STRUCT || n->kind == BTF_KIND_UNION)
			fill_struct(&c, i);
		else if (n->kind == BTF_KIND_ENUM)
			fill_enum(&c, i);
	}
	vec_for(n, &c.nodes) {
		write_node(&c, n);
		vec_push(&places->at, (typeof(*places->at.at)){ n->file, n->line });
		vec_free(&n->members);
	}
	data = btfwriter_finish(&c.w, len);
	btfwriter_release(&c.w);
	vec_free(&c.nodes);
	smap_release(&c.known);
	free(c.dies.slot);
	return data;
}
