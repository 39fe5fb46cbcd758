/* Types of a program, as types of the language; made when they are asked for.
 *
 * A struct is made without members and completed on demand, as those of the kernel (kern/btf.c). One that is only declared where it is used
 * is completed by the definition of another unit. Names of C++ and Rust have their namespaces in front ("ns::conn"); a bare name finds them too.
 */
#include <stdlib.h>

#include "sym/dwarf_int.h"

#define DEPTH_MAX 64

static const struct type not_found, in_progress; /* stand for something else in dbg.names and dbg.types */

enum { STATE_NEW, STATE_BUSY, STATE_DONE };

static struct dbg *of(struct type_source *src)
{
	return (struct dbg *)src;
}

/* ---- names ---- */

#define NAME_DEPTH 16

bool dbg_lang_has_scopes(u16 lang)
{
	return lang != 0x01 && lang != 0x02 && lang != 0x0c && lang != 0x1d && lang != 0x2c; /* C of 1989, unknown age, 1999, 2011, 2017 */
}

static bool is_scope(u16 tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Whether name ("a::b::c") ends in the entry's scopes and name; an empty rest: it is all of them. */
static bool matches(const char *name, const char *last, const struct scope *s, bool *is_whole)
{
	size_t n = strlen(name), m = strlen(last);

	*is_whole = false;
	if (n < m || strcmp(name + n - m, last) != 0)
		return false;
	for (n -= m; n; n -= m) {
		while (s && !*s->name)
			s = s->up;
		if (n < 3 || strncmp(name + n - 2, "::", 2) != 0 || !s)
			return false;
		n -= 2;
		m = strlen(s->name);
		if (n < m || strncmp(name + n - m, s->name, m) != 0)
			return false;
		s = s->up;
	}
	while (s && !*s->name) /* namespaces without name are not written */
		s = s->up;
	*is_whole = !s;
	return true;
}

void put_scope(const struct scope *s, struct sbuf *out)
{
	if (!s)
		return;
	put_scope(s->up, out);
	if (*s->name) {
		sbuf_puts(out, s->name);
		sbuf_puts(out, "::");
	}
}

static bool walk(const struct die *parent, const struct scope *in, u32 depth, walk_fn fn, void *arg)
{
	struct die d;

	if (depth > NAME_DEPTH || !die_child(parent, &d))
		return false;
	do {
		const char *name;

		if (fn(arg, &d, in))
			return true;
		if (!is_scope(d.tag) || !d.has_children || !dbg_lang_has_scopes(d.u->lang))
			continue;
		name = die_str(&d, AT_name);
		if ((d.tag == DW_TAG_namespace || d.tag == DW_TAG_module || name) && walk(&d, &(struct scope){ in, name ? name : "" }, depth + 1, fn, arg))
			return true;
	} while (die_next(&d));
	return false;
}

static bool walk_unit(struct unit *u, walk_fn fn, void *arg)
{
	struct die root;

	return unit_load(u) && die_read(u, u->die_off, &root) && walk(&root, NULL, 0, fn, arg);
}

bool walk_all(struct dbg *d, walk_fn fn, void *arg)
{
	if (d->prefer && walk_unit(d->prefer, fn, arg))
		return true;
	set_units(&d->main);
	vec_for(u, &d->main.units)
		if (u != d->prefer && walk_unit(u, fn, arg))
			return true;
	if (!d->main.alt)
		return false;
	set_units(&d->alt);
	vec_for(u, &d->alt.units)
		if (walk_unit(u, fn, arg))
			return true;
	return false;
}

/* ---- from entries to types ---- */

static const struct type *type_at(struct dbg *d, struct unit *u, u64 off);

static const struct type *type_of(struct dbg *d, const struct die *die)
{
	struct die with;
	struct unit *u;
	u64 off;

	if (!die_with(die, AT_type, &with) || !die_ref_place(&with, AT_type, &u, &off))
		return &type_void;
	return type_at(d, u, off);
}

const struct type *dbg_type_of(const struct die *die)
{
	return type_of(die->u->set->dbg, die);
}

/* An integer of any size: what does not fit a register is an array of the largest integers that fill it. */
static const struct type *int_of_size(struct dbg *d, u64 size, bool is_signed)
{
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return type_int((u32)size, is_signed);
	if (!size || size > INT32_MAX)
		return &type_void;
	return size % 8 ? type_array(&d->arena, &type_u8, (u32)size) : type_array(&d->arena, &type_u64, (u32)size / 8);
}

static bool is_char(const struct die *d)
{
	u64 enc = die_uint(d, AT_encoding, 0);
	const char *name = die_str(d, AT_name);

	return die_uint(d, AT_byte_size, 0) == 1 && (enc == DW_ATE_signed_char || enc == DW_ATE_unsigned_char) && name && str_eq(name, "char");
}

static const struct type *base_type(struct dbg *d, const struct die *die)
{
	u64 size = die_uint(die, AT_byte_size, 0), enc = die_uint(die, AT_encoding, 0);

	switch (enc) {
	case DW_ATE_boolean:
		return size == 1 ? &type_bool : int_of_size(d, size, false);
	case DW_ATE_signed: case DW_ATE_signed_char: case DW_ATE_float: case DW_ATE_complex_float: case DW_ATE_imaginary_float: case DW_ATE_decimal_float:
		return int_of_size(d, size, true);
	}
	/* Whether a plain char is signed depends on the machine; the language has one kind of it. */
	return int_of_size(d, size, is_char(die));
}

/* The entry behind const, typedef and their like. */
bool die_strip(const struct die *d, struct die *out)
{
	*out = *d;
	for (u32 depth = 0; depth < DEPTH_MAX; depth++) {
		struct die next;

		switch (out->tag) {
		case DW_TAG_const_type: case DW_TAG_volatile_type: case DW_TAG_restrict_type: case DW_TAG_atomic_type: case DW_TAG_typedef:
			if (!die_ref(out, AT_type, &next))
				return false;
			*out = next;
			break;
		default:
			return true;
		}
	}
	return false;
}

/* type: NULL for void. */
static bool spell(const struct die *type, u32 depth, struct sbuf *out)
{
	struct die of, bare;
	bool has_of = type && die_ref(type, AT_type, &of);
	const char *word = "", *name;

	if (!type) {
		sbuf_puts(out, "void");
		return true;
	}
	if (depth == DEPTH_MAX)
		return false;
	switch (type->tag) {
	case DW_TAG_pointer_type:
		if (!spell(has_of ? &of : NULL, depth + 1, out))
			return false;
		sbuf_putc(out, '*');
		return true;
	case DW_TAG_const_type: case DW_TAG_volatile_type: case DW_TAG_restrict_type:
		word = type->tag == DW_TAG_const_type ? "const" : type->tag == DW_TAG_volatile_type ? "volatile" : "restrict";
		/* What is said of a pointer stands behind it. */
		if (has_of && die_strip(&of, &bare) && bare.tag == DW_TAG_pointer_type && of.tag != DW_TAG_typedef) {
			if (!spell(&of, depth + 1, out))
				return false;
			sbuf_printf(out, " %s", word);
			return true;
		}
		sbuf_printf(out, "%s ", word);
		return spell(has_of ? &of : NULL, depth + 1, out);
	case DW_TAG_structure_type:
		word = "struct ";
		break;
	case DW_TAG_union_type:
		word = "union ";
		break;
	case DW_TAG_enumeration_type:
		word = "enum ";
		break;
	case DW_TAG_base_type: case DW_TAG_typedef:
		break;
	default:
		return false;
	}
	name = die_name(type);
	if (name)
		sbuf_printf(out, "%s%s", word, name);
	return name;
}

const char *dbg_spelling_of(const struct die *die)
{
	struct sbuf text = {};
	struct die with, type;
	const char *s = NULL;
	bool has_type = die_with(die, AT_type, &with) && die_ref(&with, AT_type, &type);

	if (!dbg_lang_has_scopes(die->u->lang) && spell(has_type ? &type : NULL, 0, &text))
		s = arena_strdup(&die->u->set->dbg->arena, sbuf_str(&text));
	sbuf_release(&text);
	return s;
}

static bool is_char_array(const struct die *array)
{
	struct die elem, bare;

	return die_ref(array, AT_type, &elem) && die_strip(&elem, &bare) && bare.tag == DW_TAG_base_type && is_char(&bare);
}

static const struct type *array_type(struct dbg *d, const struct die *die)
{
	const struct type *t = type_of(d, die);
	u64 cnt[8];
	u32 dims = 0;
	struct die range;

	if (die_child(die, &range)) {
		do {
			if (range.tag != DW_TAG_subrange_type)
				continue;
			if (dims == ARRAY_CNT(cnt))
				return &type_void;
			/* [] has neither; [0] may have an upper bound of -1. */
			cnt[dims++] = die_has(&range, AT_count) ? die_uint(&range, AT_count, 0) : die_uint(&range, AT_upper_bound, UINT64_MAX) + 1;
		} while (die_next(&range));
	}
	for (u32 i = dims; i-- > 0;) {
		if ((cnt[i] & 0xffffffff) == 0)
			cnt[i] = 0;
		if (cnt[i] > INT32_MAX || (u64)t->size * cnt[i] > INT32_MAX)
			return &type_void;
		if (i == dims - 1 && cnt[i] && is_char_array(die))
			t = type_char_array(&d->arena, (u32)cnt[i]);
		else
			t = type_array(&d->arena, t, (u32)cnt[i]);
	}
	return t;
}

/* The scopes around an entry are found by walking to it: once for each type that is made. */
struct find_scope {
	const struct die *die;
	struct sbuf name;
};

static bool see_scope(void *arg, const struct die *d, const struct scope *in)
{
	struct find_scope *f = arg;

	if (d->off != f->die->off)
		return d->off > f->die->off;
	put_scope(in, &f->name);
	return true;
}

static const char *full_name(struct dbg *d, const struct die *die)
{
	const char *name = die_name(die);
	struct find_scope f = { die };

	if (!name)
		return "";
	if (dbg_lang_has_scopes(die->u->lang)) {
		walk_unit(die->u, see_scope, &f);
		if (f.name.len)
			name = arena_printf(&d->arena, "%s%s", f.name.s, name);
		sbuf_release(&f.name);
	}
	return name;
}

static const struct type *named_type(struct dbg *d, const struct die *die, enum type_kind kind)
{
	struct type *t = arena_new(&d->arena, struct type);
	u64 size = die_uint(die, AT_byte_size, 0), align = die_uint(die, AT_alignment, 0);
	struct die under;

	if (size > INT32_MAX)
		return &type_void;
	t->kind = kind;
	t->name = full_name(d, die);
	t->size = (u32)size;
	t->align = is_pow2(align) && align <= 4096 ? (u32)align : size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
	t->is_union = die->tag == DW_TAG_union_type;
	t->src = &d->src;
	t->src_id = d->refs.cnt;
	vec_push(&d->refs, (struct die_ref){ die->u, die->off, STATE_NEW });
	if (kind != T_ENUM)
		return t;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return &type_void;
	if (die_ref(die, AT_type, &under) && die_strip(&under, &under)) {
		u64 enc = die_uint(&under, AT_encoding, 0);

		t->is_signed = enc == DW_ATE_signed || enc == DW_ATE_signed_char;
	} else {
		struct die e;

		/* C: unsigned unless one of its constants is negative. */
		if (die_child(die, &e))
			do {
				s64 v;

				if (e.tag == DW_TAG_enumerator && die_sdata(&e, AT_const_value, &v) && v < 0)
					t->is_signed = true;
			} while (die_next(&e));
	}
	return t;
}

static const struct type *convert(struct dbg *d, const struct die *die)
{
	switch (die->tag) {
	case DW_TAG_base_type:
		return base_type(d, die);
	case DW_TAG_pointer_type: case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type:
		return type_pointer(&d->arena, type_of(d, die), AS_USER);
	case DW_TAG_array_type:
		return array_type(d, die);
	case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_union_type:
		return named_type(d, die, T_STRUCT);
	case DW_TAG_enumeration_type:
		return named_type(d, die, T_ENUM);
	case DW_TAG_const_type: case DW_TAG_volatile_type: case DW_TAG_restrict_type: case DW_TAG_atomic_type: case DW_TAG_typedef: case DW_TAG_subrange_type:
		return type_of(d, die);
	case DW_TAG_ptr_to_member_type:
		return int_of_size(d, die_uint(die, AT_byte_size, 8), false);
	}
	return &type_void;
}

static const struct type *type_at(struct dbg *d, struct unit *u, u64 off)
{
	const struct type *t = dbg_map_get(&d->types, die_key(u, off));
	struct die die;

	if (t)
		return t == &in_progress ? &type_void : t;
	if (d->depth > DEPTH_MAX || !die_read(u, off, &die) || !die.tag)
		return &type_void;
	dbg_map_put(&d->types, die_key(u, off), (void *)&in_progress);
	d->depth++;
	t = convert(d, &die);
	d->depth--;
	dbg_map_put(&d->types, die_key(u, off), (void *)t);
	return t;
}

/* ---- completing structs and enums ---- */

/* False: it does not lie in the struct, so nothing in the struct can be believed. */
static bool place_member(struct dbg *d, const struct type *outer, const struct die *die, struct member *m)
{
	u64 bits = die_uint(die, AT_bit_size, 0), bit;

	m->name = die->tag == DW_TAG_inheritance ? "" : die_str(die, AT_name);
	if (!m->name)
		m->name = "";
	m->type = type_of(d, die);
	bit = 8 * die_uint(die, AT_data_member_location, 0);
	if (!bits) {
		m->off = (u32)(bit / 8);
		return bit / 8 <= outer->size && bit / 8 + m->type->size <= outer->size;
	}
	if (die_has(die, AT_data_bit_offset)) {
		bit = die_uint(die, AT_data_bit_offset, 0);
	} else if (die_has(die, AT_bit_offset)) {
		/* DWARF 4 and before: counted from the most significant bit of the unit. */
		bit += 8 * die_uint(die, AT_byte_size, m->type->size) - die_uint(die, AT_bit_offset, 0) - bits;
	}
	return bits <= 64 && bit / 8 < outer->size && type_place_bits(outer->size, m, bit, (u32)bits);
}

typedef vec(struct member) member_list;

/* Members below an entry; those of variants (Rust's enums) lie over each other. */
static bool gather(struct dbg *d, const struct type *outer, const struct die *parent, u32 depth, member_list *out)
{
	struct die die;

	if (depth > 4 || !die_child(parent, &die))
		return true;
	do {
		struct member m = {};

		if (die.tag == DW_TAG_variant_part || die.tag == DW_TAG_variant) {
			if (!gather(d, outer, &die, depth + 1, out))
				return false;
			continue;
		}
		if (die.tag != DW_TAG_member && die.tag != DW_TAG_inheritance)
			continue;
		/* static members of a class; virtual bases, whose place is only known at run time */
		if ((die_flag(&die, AT_external) || die_flag(&die, AT_declaration)) && !die_has(&die, AT_data_member_location))
			continue;
		if (die_has(&die, AT_data_member_location) && die.at[AT_data_member_location].p)
			continue;
		if (!place_member(d, outer, &die, &m))
			return false;
		vec_push(out, m);
	} while (die_next(&die));
	return true;
}

static void complete(struct dbg *d, struct type *t, u32 depth);

/* Structs inside of structs are completed at once: one that contains itself is found out, and not believed. */
static bool complete_inner(struct dbg *d, const struct type *t, u32 depth)
{
	while (t->kind == T_ARRAY)
		t = t->elem;
	if (t->kind != T_STRUCT || t->src != &d->src)
		return true;
	if (d->refs.at[t->src_id].state == STATE_BUSY || depth > DEPTH_MAX)
		return false;
	complete(d, (struct type *)t, depth + 1);
	return true;
}

struct definition {
	const char *name;
	u16 tag;
	struct die die;
	bool found;
};

static bool see_definition(void *arg, const struct die *d, const struct scope *in)
{
	struct definition *f = arg;
	const char *name;
	bool is_whole;

	if (d->tag != DW_TAG_structure_type && d->tag != DW_TAG_class_type && d->tag != DW_TAG_union_type)
		return false;
	if (die_flag(d, AT_declaration) || (d->tag == DW_TAG_union_type) != (f->tag == DW_TAG_union_type))
		return false;
	name = die_str(d, AT_name);
	if (!name || !matches(f->name, name, in, &is_whole) || !is_whole)
		return false;
	f->die = *d;
	return f->found = true;
}

static void complete(struct dbg *d, struct type *t, u32 depth)
{
	u32 id = t->src_id;
	struct die_ref *ref = &d->refs.at[id];
	member_list made = {};
	struct die die;
	bool ok;

	if (ref->state != STATE_NEW || !die_read(ref->u, ref->off, &die))
		return;
	ref->state = STATE_BUSY;
	if (die_flag(&die, AT_declaration)) {
		struct definition f = { .name = t->name, .tag = die.tag };

		if (!*t->name || !walk_all(d, see_definition, &f))
			goto out;
		die = f.die;
		t->size = (u32)MIN(die_uint(&die, AT_byte_size, 0), (u64)INT32_MAX);
		t->align = t->size % 8 == 0 ? 8 : t->size % 4 == 0 ? 4 : t->size % 2 == 0 ? 2 : 1;
	}
	ok = gather(d, t, &die, 0, &made);
	vec_for(m, &made)
		ok = ok && complete_inner(d, m->type, depth);
	if (ok && made.cnt) {
		t->members = arena_alloc(&d->arena, made.cnt * sizeof(*t->members));
		memcpy(t->members, made.at, made.cnt * sizeof(*t->members));
		t->member_cnt = made.cnt;
	}
out:
	vec_free(&made);
	d->refs.at[id].state = STATE_DONE;
	t->src = NULL;
}

static void complete_enum(struct dbg *d, struct type *t)
{
	struct die_ref *ref = &d->refs.at[t->src_id];
	vec(struct enum_const) made = {};
	struct die die, e;

	t->src = NULL;
	if (!die_read(ref->u, ref->off, &die) || !die_child(&die, &e))
		return;
	do {
		const char *name = die_str(&e, AT_name);

		if (e.tag == DW_TAG_enumerator && name)
			vec_push(&made, (struct enum_const){ name, (s64)die_uint(&e, AT_const_value, 0) });
	} while (die_next(&e));
	if (made.cnt) {
		t->consts = arena_alloc(&d->arena, made.cnt * sizeof(*t->consts));
		memcpy(t->consts, made.at, made.cnt * sizeof(*t->consts));
		t->const_cnt = made.cnt;
	}
	vec_free(&made);
}

static void source_complete(struct type_source *src, struct type *t)
{
	if (t->kind == T_ENUM)
		complete_enum(of(src), t);
	else
		complete(of(src), t, 0);
}

/* ---- by name ---- */

struct search {
	const char *keyword, *name;
	struct die best;
	bool found;
};

static bool is_wanted(const char *keyword, u16 tag, bool has_scopes)
{
	switch (tag) {
	case DW_TAG_structure_type: case DW_TAG_class_type:
		/* In C++, Rust and Go the name alone is the type's. */
		return str_eq(keyword, "struct") || (!*keyword && has_scopes);
	case DW_TAG_union_type:
		return str_eq(keyword, "union") || (!*keyword && has_scopes);
	case DW_TAG_enumeration_type:
		return str_eq(keyword, "enum") || (!*keyword && has_scopes);
	case DW_TAG_typedef: case DW_TAG_base_type:
		return !*keyword;
	}
	return false;
}

static bool see_name(void *arg, const struct die *d, const struct scope *in)
{
	struct search *s = arg;
	const char *name;
	bool is_whole;

	if (!is_wanted(s->keyword, d->tag, dbg_lang_has_scopes(d->u->lang)) || die_flag(d, AT_declaration))
		return false;
	name = die_str(d, AT_name);
	if (!name || !matches(s->name, name, in, &is_whole))
		return false;
	if (is_whole || !s->found)
		s->best = *d;
	s->found = true;
	return is_whole;
}

static const struct type *source_find(struct type_source *src, const char *keyword, const char *name)
{
	struct dbg *d = of(src);
	struct search s = { .keyword = keyword, .name = str_starts(name, "::") ? name + 2 : name };
	const char *key = arena_printf(&d->arena, "%llx %s %s", d->prefer ? (unsigned long long)d->prefer->off : 0, keyword, name);
	const struct type *t = smap_get(&d->names, key);

	if (!t) {
		walk_all(d, see_name, &s);
		t = s.found ? type_at(d, s.best.u, s.best.off) : &not_found;
		smap_put(&d->names, key, (void *)t);
	}
	return t == &not_found ? NULL : t;
}

struct constant {
	const char *name;
	struct die in;
	s64 value;
};

static bool see_enum(void *arg, const struct die *d, const struct scope *in)
{
	struct constant *c = arg;
	struct die e;

	(void)in;
	if (d->tag != DW_TAG_enumeration_type || !die_child(d, &e))
		return false;
	do {
		const char *name = die_str(&e, AT_name);

		if (e.tag == DW_TAG_enumerator && name && str_eq(name, c->name)) {
			c->in = *d;
			c->value = (s64)die_uint(&e, AT_const_value, 0);
			return true;
		}
	} while (die_next(&e));
	return false;
}

static bool source_constant(struct type_source *src, const char *name, s64 *value, const struct type **enum_type)
{
	struct constant c = { .name = name };

	if (!walk_all(of(src), see_enum, &c))
		return false;
	*value = c.value;
	if (enum_type)
		*enum_type = type_at(of(src), c.in.u, c.in.off);
	return true;
}

void dbg_types_init(struct dbg *d)
{
	d->src = (struct type_source){ .find = source_find, .complete = source_complete, .constant = source_constant };
}

struct type_source *dbg_types(struct dbg *d, u64 addr)
{
	struct unit *u = unit_of_addr(d, addr);

	if (u)
		d->prefer = u;
	return &d->src;
}
