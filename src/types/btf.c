/* SPDX-License-Identifier: GPL-2.0-only */
#include "types/btf.h"

#include <stdlib.h>

#include "base/smap.h"
#include "base/vec.h"
#include "types/btfraw.h"

#define OWN_ID 0x80000000u /* added to the ids of a script's types: they differ from the kernel's */

/* Structs in structs of a file that may be broken: how deep, and how many members altogether. C++ nests deep: a tuple has one
 * level for each of its values. */
#define NEST_MAX 128
#define NEST_MEMBERS_MAX 1000000

/* Of an enum: the one with this number. */
struct constant {
	const char *name;
	s64 value;
	u32 id;
};

struct btf {
	struct type_source src; /* must be first */
	struct btfraw raw;
	struct btf *base;
	struct type_source *outer; /* has what is not defined here; may be NULL */
	struct arena arena;
	const struct type **types;      /* by number - first_id; NULL: not asked for yet */
	struct smap found;              /* "keyword name" → type, or &not_found */
	vec(struct constant) constants; /* of all enums, once there were several searches … */
	struct htab constant_at;        /* … 1 + index into them, by name */
	u32 constant_searches;
	const char *module;               /* NULL: the kernel itself */
	u32 depth;                        /* of conversions: pointers to pointers to … */
	const struct btf_modules *finder; /* names are also looked for in its modules; NULL: it has none */
	bool has_open_pointers;           /* not the kernel's: they take the address space of the pointer they were reached by */
	struct btf_growth *growth;        /* who writes the records; NULL: all are there */
	bool is_checked;                  /* not the kernel's own: nested structs are looked at before they are believed */
	bool is_own;                      /* made by btf_open_own() */
	bool modules_listed;
	vec(struct btf *) modules; /* that finder listed; raw.data is NULL while closed */
};

static const struct type not_found;   /* stands for NULL in `found` */
static const struct type in_progress; /* stands for a type that is being made: a cycle */

#define KINDS_STRUCT BTF_BIT(BTF_KIND_STRUCT)
#define KINDS_UNION BTF_BIT(BTF_KIND_UNION)
#define KINDS_ENUM (BTF_BIT(BTF_KIND_ENUM) | BTF_BIT(BTF_KIND_ENUM64))
#define KINDS_PLAIN (BTF_BIT(BTF_KIND_TYPEDEF) | BTF_BIT(BTF_KIND_INT) | BTF_BIT(BTF_KIND_FLOAT))

static const struct type *type_at(struct btf *b, u32 id);

/* A name for a type, as long as the types live: strings of a writer move when more is written. */
static const char *name_at(struct btf *b, u32 off)
{
	const char *name = btfraw_str(&b->raw, off);

	return !*name ? "" : b->growth ? arena_strdup(&b->arena, name) : name;
}

/* ---- from records to types ---- */

/* What tags say of memory. */
struct tags {
	bool is_user, is_percpu;
};

/* The first type that does not only decorate another one. NULL: void. */
static const struct btf_type *skip_mods(const struct btfraw *raw, u32 *id, struct tags *tags)
{
	for (u32 depth = 0; depth < 64; depth++) {
		const struct btf_type *t = btfraw_type(raw, *id);

		if (!t)
			return NULL;
		switch (btf_kind(t)) {
		case BTF_KIND_TYPE_TAG:
			if (tags && str_eq(btfraw_str(raw, t->name_off), "user"))
				tags->is_user = true;
			if (tags && str_eq(btfraw_str(raw, t->name_off), "percpu"))
				tags->is_percpu = true;
			*id = t->type;
			break;
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
			*id = t->type;
			break;
		case BTF_KIND_UNKN:
		case BTF_KIND_INT:
		case BTF_KIND_PTR:
		case BTF_KIND_ARRAY:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
		case BTF_KIND_ENUM:
		case BTF_KIND_FWD:
		case BTF_KIND_FUNC:
		case BTF_KIND_FUNC_PROTO:
		case BTF_KIND_VAR:
		case BTF_KIND_DATASEC:
		case BTF_KIND_FLOAT:
		case BTF_KIND_DECL_TAG:
		case BTF_KIND_ENUM64:
		case BTF_KIND_CNT:
			return t;
		}
	}
	return NULL;
}

/* An integer of any size: what does not fit a register is an array of the largest integers that fill it. */
static const struct type *int_of_size(struct btf *b, u32 size, bool is_signed)
{
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return type_int(size, is_signed);
	if (!size)
		return &type_void;
	return size % 8 ? type_array(&b->arena, &type_u8, size) : type_array(&b->arena, &type_u64, size / 8);
}

/* Rust's char has 4 bytes and is no text. */
static bool is_char(const struct btfraw *raw, const struct btf_type *t)
{
	return btf_kind(t) == BTF_KIND_INT && t->size == 1 && str_eq(btfraw_str(raw, t->name_off), "char");
}

static const struct type *int_type(struct btf *b, const struct btf_type *t)
{
	u32 enc = *(const u32 *)(t + 1) >> 24 & 0xf;

	if (enc & BTF_INT_BOOL && t->size == 1)
		return &type_bool;
	/* Whether a plain char is signed depends on the machine; the language has one kind of it. */
	return int_of_size(b, t->size, enc & BTF_INT_SIGNED || is_char(&b->raw, t));
}

static const struct type *pointer_type(struct btf *b, const struct btf_type *t)
{
	struct tags tags = {};
	u32 target = t->type;
	struct type *p;

	skip_mods(&b->raw, &target, &tags);
	p = (struct type *)type_pointer(&b->arena, type_at(b, t->type),
					tags.is_user || b->growth    ? AS_USER :
						b->has_open_pointers ? AS_NONE :
								       AS_KERNEL);
	p->is_percpu = tags.is_percpu;
	return p;
}

/* Where its size matters, a struct of outer's is completed. */
static const struct type *with_size(const struct type *t)
{
	return t->kind == T_STRUCT && !t->size ? type_complete(t) : t;
}

static const struct type *array_type(struct btf *b, const struct btf_type *t)
{
	const struct btf_array *a = (const void *)(t + 1);
	const struct type *elem = with_size(type_at(b, a->type));
	u32 elem_id = a->type;
	const struct btf_type *raw = skip_mods(&b->raw, &elem_id, NULL);

	if (a->nelems > INT32_MAX || (u64)elem->size * a->nelems > INT32_MAX)
		return &type_void;
	if (raw && is_char(&b->raw, raw) && a->nelems)
		return type_char_array(&b->arena, a->nelems);
	return type_array(&b->arena, elem, a->nelems);
}

static u32 own_align(struct btf *b, const struct btf_type *t, u32 id)
{
	const struct btf_type *tag = btfraw_type(&b->raw, id + 1);
	const char *text = tag && btf_kind(tag) == BTF_KIND_DECL_TAG && tag->type == id ? btfraw_str(&b->raw, tag->name_off) : "";

	return str_starts(text, BTF_ALIGN_TAG) ? strtoul(text + strlen(BTF_ALIGN_TAG), NULL, 10) : btf_guess_align(t->size);
}

/* An enum or typedef that is not defined here. */
static const struct type *outer_type(struct btf *b, const struct btf_type *t)
{
	bool is_enum = btf_kind(t) == BTF_KIND_ENUM;
	const char *name = btfraw_str(&b->raw, t->name_off);
	const struct type *found = is_enum ? NULL : type_of_word(name);

	if (!found && b->outer)
		found = b->outer->find(b->outer, is_enum ? "enum" : "", name);
	return found ? found : is_enum ? &type_u32 : &type_void;
}

static const struct type *named_type(struct btf *b, const struct btf_type *t, u32 id, enum type_kind kind)
{
	struct type *made = arena_new(&b->arena, struct type);

	made->kind = kind;
	made->name = name_at(b, t->name_off);
	made->src_id = b->is_own ? OWN_ID + id : id;
	if (btf_kind(t) == BTF_KIND_FWD) {
		made->is_union = btf_kflag(t);
		made->align = 1;
		made->src = b->outer ? &b->src : NULL;
		return made;
	}
	made->src = &b->src;
	made->size = t->size;
	made->align = b->growth ? b->growth->align(b->growth, id) : b->is_own && kind == T_STRUCT ? own_align(b, t, id) : 0;
	if (!made->align)
		made->align = btf_guess_align(t->size);
	if (kind == T_ENUM)
		made->is_signed = btf_kflag(t);
	else
		made->is_union = btf_kind(t) == BTF_KIND_UNION;
	return made;
}

static const struct type *convert(struct btf *b, const struct btf_type *t, u32 id)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return int_type(b, t);
	case BTF_KIND_FLOAT:
		return int_of_size(b, t->size, true);
	case BTF_KIND_PTR:
		return pointer_type(b, t);
	case BTF_KIND_ARRAY:
		return array_type(b, t);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FWD:
		return t->size <= INT32_MAX || btf_kind(t) == BTF_KIND_FWD ? named_type(b, t, id, T_STRUCT) : &type_void;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		if (b->is_own && !btf_vlen(t))
			return outer_type(b, t);
		if (t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8)
			return named_type(b, t, id, T_ENUM);
		return &type_void;
	case BTF_KIND_TYPEDEF:
		return b->is_own && btf_kflag(t) ? outer_type(b, t) : type_at(b, t->type);
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return type_at(b, t->type);
	case BTF_KIND_UNKN:
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_VAR:
	case BTF_KIND_DATASEC:
	case BTF_KIND_DECL_TAG:
	case BTF_KIND_CNT:
		return &type_void;
	}
	return &type_void;
}

static const struct type *type_at(struct btf *b, u32 id)
{
	const struct btf_type *t = btfraw_type(&b->raw, id);
	const struct type **slot;

	if (!t)
		return &type_void;
	if (id < b->raw.first_id)
		return type_at(b->base, id);
	slot = &b->types[id - b->raw.first_id];
	if (*slot == &in_progress || b->depth > 100)
		return &type_void;
	if (!*slot) {
		*slot = &in_progress;
		b->depth++;
		*slot = convert(b, t, id);
		b->depth--;
	}
	return *slot;
}

/* ---- completing structs and enums ---- */

/* False: it does not lie in the struct, so nothing in the struct can be believed. */
static bool place_member(struct btf *b, const struct type *outer, struct member *m, const struct btf_member *raw, bool kflag)
{
	u32 id = raw->type, bit_sz = 0;
	const struct btf_type *t;
	u64 bit = raw->offset;

	m->name = name_at(b, raw->name_off);
	m->type = with_size(type_at(b, raw->type));
	if (kflag) {
		bit = raw->offset & 0xffffff;
		bit_sz = raw->offset >> 24;
	} else {
		/* Before 4.20 the integer type said it. */
		t = skip_mods(&b->raw, &id, NULL);
		if (t && btf_kind(t) == BTF_KIND_INT) {
			u32 enc = *(const u32 *)(t + 1), bits = enc & 0xff;

			if (bits && bits < 8 * (u64)t->size) {
				bit += enc >> 16 & 0xff;
				bit_sz = bits;
			}
		}
	}
	if (bit_sz && b->is_own) { /* in a packed struct it may touch nine bytes */
		m->off = bit / 8;
		m->bit_off = bit % 8;
		m->bit_sz = bit_sz;
		return true;
	}
	if (bit_sz)
		return type_place_bits(outer->size, m, bit, bit_sz);
	m->off = bit / 8;
	return bit / 8 + m->type->size <= outer->size;
}

/* Reads on to what the writer has added since. Pointers to records become invalid. */
static void follow(struct btf *b)
{
	u32 cap = b->raw.cap;

	btfwriter_read(&b->growth->w, &b->raw);
	if (b->raw.cap == cap)
		return;
	b->types = xrealloc(b->types, (size_t)b->raw.cap * sizeof(*b->types));
	memset(b->types + cap, 0, (size_t)(b->raw.cap - cap) * sizeof(*b->types));
}

/* The record of a struct, union or enum with all that is in it; NULL: there is none. Pointers to other records become invalid. */
static const struct btf_type *whole(struct btf *b, u32 *id)
{
	if (b->growth) {
		*id = b->growth->define(b->growth, *id);
		follow(b);
	}
	return btfraw_type(&b->raw, *id);
}

/* Whether the structs inside of type `id` end: a broken file can have one that contains itself. Visits at most *budget. */
static bool nesting_ends(struct btf *b, u32 id, u32 depth, u32 *budget)
{
	const struct btf_type *t = skip_mods(&b->raw, &id, NULL);
	u32 cnt;

	if (!t)
		return true;
	if (depth > NEST_MAX || !*budget)
		return false;
	--*budget;
	if (btf_kind(t) == BTF_KIND_ARRAY)
		return nesting_ends(b, ((const struct btf_array *)(t + 1))->type, depth + 1, budget);
	if (btf_kind(t) != BTF_KIND_STRUCT && btf_kind(t) != BTF_KIND_UNION)
		return true;
	t = whole(b, &id);
	cnt = t ? btf_vlen(t) : 0;
	for (u32 i = 0; i < cnt; i++) {
		t = btfraw_type(&b->raw, id);
		if (!nesting_ends(b, ((const struct btf_member *)(t + 1))[i].type, depth + 1, budget))
			return false;
	}
	return true;
}

static void complete_struct(struct btf *b, struct type *t, const struct btf_type *raw)
{
	const struct btf_member *m = (const void *)(raw + 1);
	u32 cnt = btf_vlen(raw);
	struct member *made;

	/* One that was only declared gets its size where it is defined. */
	if (t->size != raw->size) {
		if (raw->size > INT32_MAX)
			return;
		t->size = raw->size;
		t->align = btf_guess_align(t->size);
	}
	made = arena_alloc(&b->arena, cnt * sizeof(*made));
	for (u32 i = 0; i < cnt; i++)
		if (!place_member(b, t, &made[i], &m[i], btf_kflag(raw)))
			return;
	t->members = made;
	t->member_cnt = cnt;
}

/* The value of enumerator i, and where its name is. */
static s64 enumerator(const struct btf_type *t, u32 i, u32 *name_off)
{
	if (btf_kind(t) == BTF_KIND_ENUM64) {
		const struct btf_enum64 *e = (const struct btf_enum64 *)(t + 1) + i;

		*name_off = e->name_off;
		return (s64)((u64)e->hi << 32 | e->lo);
	} else {
		const struct btf_enum *e = (const struct btf_enum *)(t + 1) + i;

		*name_off = e->name_off;
		return btf_kflag(t) ? (s64)e->val : (s64)(u32)e->val;
	}
}

static void source_complete(struct type_source *src, struct type *t)
{
	struct btf *b = (struct btf *)src;
	u32 id = b->is_own ? t->src_id - OWN_ID : t->src_id, budget = NEST_MEMBERS_MAX, cnt, name_off;
	const struct btf_type *raw;

	t->src = NULL;
	if (t->member_cnt || t->const_cnt || (b->is_checked && !nesting_ends(b, id, 0, &budget)))
		return;
	raw = whole(b, &id);
	if (!raw)
		return;
	if (btf_kind(raw) == BTF_KIND_FWD) {
		const struct type *found = b->outer->find(b->outer, t->is_union ? "union" : "struct", t->name);

		if (found)
			*t = *type_complete(found);
		return;
	}
	if (t->kind == T_STRUCT && (btf_kind(raw) == BTF_KIND_STRUCT || btf_kind(raw) == BTF_KIND_UNION)) {
		complete_struct(b, t, raw);
	} else if (t->kind == T_ENUM && BTF_BIT(btf_kind(raw)) & KINDS_ENUM) {
		cnt = btf_vlen(raw);
		t->consts = arena_alloc(&b->arena, cnt * sizeof(*t->consts));
		for (u32 i = 0; i < cnt; i++) {
			t->consts[i].value = enumerator(raw, i, &name_off);
			t->consts[i].name = name_at(b, name_off);
		}
		t->const_cnt = cnt;
	}
}

/* ---- modules ---- */

static void source_init(struct btf *b);

static void close_module(struct btf *m)
{
	free(m->types);
	m->types = NULL;
	arena_release(&m->arena);
	btfraw_release(&m->raw);
}

static bool open_module(struct btf *m)
{
	if (m->raw.data)
		return true;
	if (m->base->finder->open(&m->raw, m->module, &m->base->raw))
		return false;
	m->types = xzalloc((size_t)m->raw.cap * sizeof(*m->types));
	return true;
}

static void add_module(void *arg, const char *name)
{
	struct btf *b = arg, *m = xzalloc(sizeof(*m));

	source_init(m);
	m->base = b;
	m->module = xstrdup(name);
	vec_push(&b->modules, m);
}

static void list_modules(struct btf *b)
{
	if (b->modules_listed || !b->finder)
		return;
	b->modules_listed = true;
	b->finder->each(add_module, b);
}

/* The kernel itself first, then its modules. A module stays open only if the name was in it: their types are many, and rarely
 * wanted. */
static u32 find_anywhere(struct btf *b, const char *module, u32 kinds, const char *name, struct btf **in)
{
	bool any = !module || !*module;
	u32 id = 0;

	*in = b;
	if (any || str_eq(module, "vmlinux"))
		id = btfraw_find(&b->raw, kinds, name);
	if (id || !b->finder)
		return id;
	list_modules(b);
	vec_for(m, &b->modules) {
		bool was_open = (*m)->raw.data;

		if (!any && !str_eq(module, (*m)->module))
			continue;
		if (!open_module(*m))
			continue;
		id = btfraw_find(&(*m)->raw, kinds, name);
		if (id) {
			*in = *m;
			return id;
		}
		if (!was_open)
			close_module(*m);
	}
	return 0;
}

/* ---- struct type_source ---- */

const struct type *btf_find_own(struct type_source *src, const char *keyword, const char *name)
{
	struct btf *b = (struct btf *)src, *in;
	char *key = arena_printf(&b->arena, "%s %s", keyword, name);
	const struct type *t = smap_get(&b->found, key);
	u32 kinds, id;

	if (t)
		return t == &not_found ? NULL : t;
	kinds = str_eq(keyword, "struct") ? KINDS_STRUCT :
		str_eq(keyword, "union")  ? KINDS_UNION :
		str_eq(keyword, "enum")   ? KINDS_ENUM :
					    KINDS_PLAIN;
	id = find_anywhere(b, NULL, kinds, name, &in);
	t = id ? type_at(in, id) : NULL;
	smap_put(&b->found, key, (void *)(t ? t : &not_found));
	return t;
}

static const struct type *source_find(struct type_source *src, const char *keyword, const char *name)
{
	const struct type *t = btf_find_own(src, keyword, name);
	struct type_source *outer = ((struct btf *)src)->outer;

	return t || !outer ? t : outer->find(outer, keyword, name);
}

/* Calls fn for each constant, in the order of the records, until it returns true. */
static bool each_constant(struct btf *b, bool (*fn)(struct btf *b, const struct constant *c, const void *arg), const void *arg)
{
	for (u32 id = 0; (id = btfraw_next(&b->raw, KINDS_ENUM, id));) {
		const struct btf_type *t = btfraw_type(&b->raw, id);

		for (u32 i = 0; i < btf_vlen(t); i++) {
			struct constant c = { .id = id };
			u32 name_off;

			c.value = enumerator(t, i, &name_off);
			c.name = btfraw_str(&b->raw, name_off);
			if (fn(b, &c, arg))
				return true;
		}
	}
	return false;
}

static bool add_constant(struct btf *b, const struct constant *c, const void *arg)
{
	avec_push(&b->arena, &b->constants, *c);
	htab_add(&b->constant_at, str_hash(c->name), b->constants.cnt);
	return false;
}

/* arg: receives the constant whose name it has. */
static bool is_constant(struct btf *b, const struct constant *c, const void *arg)
{
	struct constant *found = (struct constant *)arg;

	if (!str_eq(c->name, found->name))
		return false;
	*found = *c;
	return true;
}

/* A search walks over all constants. After a few of them, a hash table is cheaper. */
static bool find_constant(struct btf *b, struct constant *found)
{
	enum { SEARCHES_BEFORE_HASH = 12 };

	if (b->constant_searches < SEARCHES_BEFORE_HASH) {
		b->constant_searches++;
		return each_constant(b, is_constant, found);
	}
	if (!b->constant_at.arena) {
		b->constant_at.arena = &b->arena;
		each_constant(b, add_constant, NULL);
	}
	htab_for(p, &b->constant_at, str_hash(found->name))
		if (is_constant(b, &b->constants.at[*p - 1], found))
			return true;
	return false;
}

static bool source_constant(struct type_source *src, const char *name, s64 *value, const struct type **enum_type)
{
	struct btf *b = (struct btf *)src;
	struct constant found = { .name = name };

	if (find_constant(b, &found)) {
		*value = found.value;
		if (enum_type)
			*enum_type = type_at(b, found.id);
		return true;
	}
	return b->outer && b->outer->constant && b->outer->constant(b->outer, name, value, enum_type);
}

static u32 source_func_id(struct type_source *src, const char *name)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, "vmlinux", BTF_BIT(BTF_KIND_FUNC), name, &in);

	return id;
}

/* The kernel's BTF has variables of this kind only. */
static const struct type *source_percpu_var(struct type_source *src, const char *name)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, "vmlinux", BTF_BIT(BTF_KIND_VAR), name, &in);

	return id ? type_at(in, btfraw_type(&in->raw, id)->type) : NULL;
}

static void source_init(struct btf *b)
{
	b->src = (struct type_source){ .find = source_find,
				       .complete = source_complete,
				       .constant = source_constant,
				       .func_id = source_func_id,
				       .percpu_var = source_percpu_var };
	arena_init(&b->arena);
}

static struct btf *open_raw(struct btfraw raw)
{
	struct btf *b = xzalloc(sizeof(*b));

	source_init(b);
	b->raw = raw;
	b->types = xzalloc((size_t)raw.cap * sizeof(*b->types));
	return b;
}

struct type_source *btf_open_file(const char *path, int *err)
{
	struct btfraw raw;
	struct btf *b;

	*err = btfraw_open(&raw, path, NULL);
	if (*err)
		return NULL;
	*err = btfraw_check(&raw);
	if (*err) {
		btfraw_release(&raw);
		return NULL;
	}
	b = open_raw(raw);
	b->is_checked = true;
	return &b->src;
}

struct type_source *btf_open_mem(const void *data, size_t len, int *err)
{
	u8 *copy = memcpy(xzalloc(len), data, len);
	struct btfraw raw;
	struct btf *b;

	*err = btfraw_init(&raw, copy, len, false, NULL);
	if (!*err)
		*err = btfraw_check(&raw);
	if (*err) {
		btfraw_release(&raw);
		return NULL;
	}
	b = open_raw(raw);
	b->is_checked = true;
	return &b->src;
}

struct type_source *btf_open_kernel(struct btfraw raw, const struct btf_modules *modules)
{
	struct btf *b = open_raw(raw);

	b->finder = modules;
	return &b->src;
}

struct type_source *btf_open_own(const void *data, size_t len, struct type_source *outer)
{
	struct btfraw raw;
	struct btf *b;

	if (btfraw_init(&raw, memcpy(xzalloc(len), data, len), len, false, NULL))
		BUG("BTF of our own cannot be read");
	b = open_raw(raw);
	b->is_own = b->has_open_pointers = true;
	b->outer = outer;
	return &b->src;
}

struct type_source *btf_open_growth(struct btf_growth *g)
{
	struct btf *b = open_raw((struct btfraw){});

	b->growth = g;
	b->is_checked = true;
	return &b->src;
}

const struct type *btf_type(struct type_source *src, u32 id)
{
	struct btf *b = (struct btf *)src;

	follow(b);
	return type_at(b, id);
}

void btf_open_pointers(struct type_source *src)
{
	((struct btf *)src)->has_open_pointers = true;
}

void btf_close(struct type_source *src)
{
	struct btf *b = (struct btf *)src;

	if (!b)
		return;
	vec_for(m, &b->modules) {
		close_module(*m);
		free((char *)(*m)->module);
		free(*m);
	}
	vec_free(&b->modules);
	smap_release(&b->found);
	close_module(b);
	free(b);
}

/* ---- functions ---- */

/* Parameters from `first` on. */
static bool fill_proto(struct btf *b, u32 proto_id, u32 first, struct btf_func *out)
{
	const struct btf_type *t = skip_mods(&b->raw, &proto_id, NULL);
	const struct btf_param *p;
	struct member *params;
	u32 cnt, off = 0;

	if (!t || btf_kind(t) != BTF_KIND_FUNC_PROTO)
		return false;
	p = (const void *)(t + 1);
	cnt = btf_vlen(t);
	/* `...` is a last parameter without name and type. */
	if (cnt && !p[cnt - 1].name_off && !p[cnt - 1].type) {
		out->is_variadic = true;
		cnt--;
	}
	if (cnt < first)
		return false;
	params = arena_alloc(&b->arena, (cnt - first) * sizeof(*params));
	for (u32 i = first; i < cnt; i++) {
		struct member *m = &params[i - first];

		m->name = btfraw_str(&b->raw, p[i].name_off);
		if (!*m->name)
			m->name = arena_printf(&b->arena, "arg%u", i - first);
		m->type = type_at(b, p[i].type);
		m->off = off;
		off += ALIGN_UP(MAX(1, m->type->size), 8);
	}
	out->params = params;
	out->param_cnt = cnt - first;
	out->raw = &b->raw;
	out->proto = proto_id;
	out->first = first;
	out->param_sz = off;
	out->ret = type_at(b, t->type);
	return true;
}

bool btf_find_func(struct type_source *src, const char *module, const char *name, struct btf_func *out)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, module, BTF_BIT(BTF_KIND_FUNC), name, &in);

	if (!id)
		return false;
	*out = (struct btf_func){ .id = id, .module = in->module };
	return fill_proto(in, btfraw_type(&in->raw, id)->type, 0, out);
}

bool btf_func_at(struct type_source *src, const char *module, u32 id, struct btf_func *out)
{
	struct btf *b = (struct btf *)src, *in = NULL;
	const struct btf_type *t;

	if (!module || str_eq(module, "vmlinux"))
		in = b;
	else
		list_modules(b);
	vec_for(m, &b->modules)
		if (!in && str_eq((*m)->module, module) && open_module(*m))
			in = *m;
	t = in ? btfraw_type(&in->raw, id) : NULL;
	if (!t || btf_kind(t) != BTF_KIND_FUNC)
		return false;
	*out = (struct btf_func){ .id = id, .module = in->module };
	return fill_proto(in, t->type, 0, out);
}

bool btf_find_raw_tp(struct type_source *src, const char *module, const char *name, struct btf_func *out)
{
	struct btf *b = (struct btf *)src, *in, *in2;
	const struct btf_type *ptr;
	char *text;
	u32 id, ptr_id;

	text = xasprintf("btf_trace_%s", name);
	id = find_anywhere(b, module, BTF_BIT(BTF_KIND_TYPEDEF), text, &in);
	free(text);
	if (!id)
		return false;
	*out = (struct btf_func){ .id = id, .module = in->module };
	ptr_id = id;
	ptr = skip_mods(&in->raw, &ptr_id, NULL);
	if (!ptr || btf_kind(ptr) != BTF_KIND_PTR || !fill_proto(in, ptr->type, 1, out))
		return false;
	/* The typedef is what the kernel wants to know, but its parameters have no names; one of the functions that the
	 * tracepoint macros define beside it does. */
	for (u32 i = 0; i < 2; i++) {
		struct btf_func fn = {};
		u32 func_id;

		text = xasprintf("%s%s", i ? "__bpf_trace_" : "__traceiter_", name);
		func_id = find_anywhere(b, in->module ? in->module : "vmlinux", BTF_BIT(BTF_KIND_FUNC), text, &in2);
		free(text);
		if (func_id && fill_proto(in2, btfraw_type(&in2->raw, func_id)->type, 1, &fn) && fn.param_cnt == out->param_cnt) {
			out->params = fn.params;
			break;
		}
	}
	return true;
}

u32 btf_find_id(struct type_source *src, const char *name, enum btf_kind kind, const char **module)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, NULL, BTF_BIT(kind), name, &in);

	if (module)
		*module = in->module;
	return id;
}

static bool each_own(struct btf *b, enum btf_kind kind, btf_each_fn fn, void *arg)
{
	for (u32 id = 0; (id = btfraw_next(&b->raw, BTF_BIT(kind), id));)
		if (!fn(arg, b->module, btfraw_str(&b->raw, btfraw_type(&b->raw, id)->name_off), id))
			return false;
	return true;
}

void btf_each(struct type_source *src, enum btf_kind kind, btf_each_fn fn, void *arg)
{
	struct btf *b = (struct btf *)src;

	if (!each_own(b, kind, fn, arg) || !b->finder)
		return;
	list_modules(b);
	vec_for(m, &b->modules) {
		bool was_open = (*m)->raw.data, go_on;

		if (!open_module(*m))
			continue;
		go_on = each_own(*m, kind, fn, arg);
		if (!was_open)
			close_module(*m);
		if (!go_on)
			return;
	}
}

void btf_print_c(struct type_source *src, const char *module, u32 id, struct sbuf *out)
{
	struct btf *b = (struct btf *)src;

	vec_for(m, &b->modules)
		if (module && str_eq((*m)->module, module))
			b = *m;
	btfraw_print_c(&b->raw, id, out);
}
