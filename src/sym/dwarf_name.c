/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of a program by name, and names of types. dwarf_btf.c makes the types.
 *
 * Names of C++ and Rust have their namespaces in front ("ns::conn"); a bare name finds them too. */
#include "sym/dwarf_int.h"

#define DEPTH_MAX 64

static const struct type not_found; /* stands for NULL in dbg.names */

static struct dbg *of(struct type_source *src)
{
	return (struct dbg *)src;
}

/* ---- names ---- */

#define NAME_DEPTH 16

bool dbg_lang_has_scopes(u16 lang)
{
	return lang != 0x01 && lang != 0x02 && lang != 0x0c && lang != 0x1d &&
		lang != 0x2c; /* C of 1989, unknown age, 1999, 2011, 2017 */
}

static bool is_scope(u16 tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
		tag == DW_TAG_union_type;
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
		if ((d.tag == DW_TAG_namespace || d.tag == DW_TAG_module || name) &&
		    walk(&d, &(struct scope){ in, name ? name : "" }, depth + 1, fn, arg))
			return true;
	} while (die_next(&d));
	return false;
}

static bool walk_unit(struct dwarf_unit *u, walk_fn fn, void *arg)
{
	struct die root;

	return dwarf_unit_load(u) && die_read(u, u->die_off, &root) && walk(&root, NULL, 0, fn, arg);
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

/* ---- of an entry ---- */

/* The entry behind const, typedef and their like. */
bool die_strip(const struct die *d, struct die *out)
{
	*out = *d;
	for (u32 depth = 0; depth < DEPTH_MAX; depth++) {
		struct die next;

		switch (out->tag) {
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_typedef:
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
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
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
	case DW_TAG_base_type:
	case DW_TAG_typedef:
		break;
	default:
		return false;
	}
	name = die_name(type);
	if (name)
		sbuf_printf(out, "%s%s", word, name);
	return name;
}

const struct type *dbg_type_of(const struct die *die)
{
	struct die with, type;

	return die_with(die, AT_type, &with) && die_ref(&with, AT_type, &type) ? dbg_type_at(&type) : &type_void;
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

const char *die_full_name(const struct die *die)
{
	const char *name = die_name(die);
	struct find_scope f = { die };

	if (!name)
		return "";
	if (dbg_lang_has_scopes(die->u->lang)) {
		walk_unit(die->u, see_scope, &f);
		if (f.name.len)
			name = arena_printf(&die->u->set->dbg->arena, "%s%s", f.name.s, name);
		sbuf_release(&f.name);
	}
	return name;
}

/* ---- by name ---- */

struct definition {
	const char *name;
	u16 tag;
	struct die die;
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
	return true;
}

bool die_definition(struct dbg *d, const struct die *declared, const char *name, struct die *out)
{
	struct definition f = { .name = name, .tag = declared->tag };

	if (!walk_all(d, see_definition, &f))
		return false;
	*out = f.die;
	return true;
}

struct search {
	const char *keyword, *name;
	struct die best;
	bool found;
};

static bool is_wanted(const char *keyword, u16 tag, bool has_scopes)
{
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		/* In C++, Rust and Go the name alone is the type's. */
		return str_eq(keyword, "struct") || (!*keyword && has_scopes);
	case DW_TAG_union_type:
		return str_eq(keyword, "union") || (!*keyword && has_scopes);
	case DW_TAG_enumeration_type:
		return str_eq(keyword, "enum") || (!*keyword && has_scopes);
	case DW_TAG_typedef:
	case DW_TAG_base_type:
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
	const char *key = arena_printf(&d->arena, "%llx %s %s", d->prefer ? (unsigned long long)d->prefer->off : 0, keyword,
				       name);
	const struct type *t = smap_get(&d->names, key);

	if (!t) {
		walk_all(d, see_name, &s);
		t = s.found ? dbg_type_at(&s.best) : &not_found;
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
		*enum_type = dbg_type_at(&c.in);
	return true;
}

void dbg_types_init(struct dbg *d)
{
	d->src = (struct type_source){ .find = source_find, .constant = source_constant };
}

struct type_source *dbg_types(struct dbg *d, u64 addr)
{
	struct dwarf_unit *u = dwarf_unit_of_addr(d, addr);

	if (u)
		d->prefer = u;
	return &d->src;
}
