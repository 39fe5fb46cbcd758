/* SPDX-License-Identifier: GPL-2.0-only */
/* The format file of a tracepoint, as a struct type.
 *
 * Each line gives a C declaration, its place and its size:
 *
 * 	field:const char * filename;	offset:24;	size:8;	signed:0;
 *
 * The declaration is text that macros produced, so it is parsed loosely: the stars, the brackets and the size decide whether it
 * is a pointer, an array or an integer, and how wide; the type's name only refines that.
 */
#include "types/eventformat.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

struct field {
	const char *keyword; /* "struct", "union", "enum" or "" */
	char base[128];      /* words of the type without qualifiers: "unsigned long" */
	char name[128];
	u32 stars;
	bool is_array;
	u32 array_len; /* as written, if it is a number; else 0 */
	bool is_data_loc;
	bool is_rel_loc;
	u32 off, size;
	bool is_signed;
};

static bool is_qualifier(const char *w)
{
	static const char *const words[] = { "const",    "volatile", "__user",   "__kernel",   "__iomem",  "__percpu", "__rcu",
					     "__seg_gs", "__seg_fs", "restrict", "__restrict", "register", "__force" };

	for (u32 i = 0; i < ARRAY_CNT(words); i++)
		if (str_eq(w, words[i]))
			return true;
	return false;
}

static void add_word(struct field *f, const char *w)
{
	size_t len = strlen(f->base), n = strlen(w);

	if (len + n + 2 > sizeof(f->base))
		return;
	if (len)
		f->base[len++] = ' ';
	memcpy(f->base + len, w, n + 1);
}

/* One word of the declaration that is not its name. */
static void take_word(struct field *f, const char *w)
{
	if (str_eq(w, "struct"))
		f->keyword = "struct";
	else if (str_eq(w, "union"))
		f->keyword = "union";
	else if (str_eq(w, "enum"))
		f->keyword = "enum";
	else if (str_eq(w, "__data_loc"))
		f->is_data_loc = true;
	else if (str_eq(w, "__rel_loc"))
		f->is_rel_loc = true;
	else if (!is_qualifier(w))
		add_word(f, w);
}

/* The declaration between "field:" and ';'. The last word is the name. */
static bool parse_decl(const char *p, const char *end, struct field *f)
{
	char word[128] = "";

	f->keyword = "";
	while (p < end) {
		if (isalpha((u8)*p) || *p == '_') {
			const char *w = p;

			while (p < end && (isalnum((u8)*p) || *p == '_'))
				p++;
			if (*word)
				take_word(f, word);
			snprintf(word, sizeof(word), "%.*s", (int)(p - w), w);
		} else if (*p == '[') {
			f->is_array = true;
			if (!f->array_len)
				f->array_len = strtoul(p + 1, NULL, 0);
			while (p < end && *p != ']')
				p++;
		} else {
			f->stars += *p == '*';
			p++;
		}
	}
	memcpy(f->name, word, sizeof(word));
	return *word;
}

static bool get_number(const char *p, const char *end, const char *key, u32 *out)
{
	const char *at = memmem(p, end - p, key, strlen(key));

	if (!at)
		return false;
	*out = strtoul(at + strlen(key), NULL, 10);
	return true;
}

static bool parse_line(const char *p, const char *end, struct field *f)
{
	const char *decl = memmem(p, end - p, "field:", 6), *semi;
	u32 sign = 0;

	if (!decl)
		return false;
	decl += 6;
	semi = memchr(decl, ';', end - decl);
	if (!semi || !parse_decl(decl, semi, f))
		return false;
	if (!get_number(semi, end, "offset:", &f->off) || !get_number(semi, end, "size:", &f->size))
		return false;
	get_number(semi, end, "signed:", &sign);
	f->is_signed = sign;
	return f->off <= 0xffff && f->size <= 0xffff;
}

/* ---- types ---- */

static const struct {
	const char *name;
	const struct type *type;
} c_types[] = {
	{ "char", &type_s8 },
	{ "signed char", &type_s8 },
	{ "unsigned char", &type_u8 },
	{ "short", &type_s16 },
	{ "unsigned short", &type_u16 },
	{ "int", &type_s32 },
	{ "unsigned", &type_u32 },
	{ "unsigned int", &type_u32 },
	{ "long", &type_s64 },
	{ "unsigned long", &type_u64 },
	{ "long long", &type_s64 },
	{ "unsigned long long", &type_u64 },
	{ "bool", &type_bool },
	{ "_Bool", &type_bool },
	{ "s8", &type_s8 },
	{ "u8", &type_u8 },
	{ "s16", &type_s16 },
	{ "u16", &type_u16 },
	{ "s32", &type_s32 },
	{ "u32", &type_u32 },
	{ "s64", &type_s64 },
	{ "u64", &type_u64 },
	{ "__s8", &type_s8 },
	{ "__u8", &type_u8 },
	{ "__s16", &type_s16 },
	{ "__u16", &type_u16 },
	{ "__s32", &type_s32 },
	{ "__u32", &type_u32 },
	{ "__s64", &type_s64 },
	{ "__u64", &type_u64 },
	{ "uint8_t", &type_u8 },
	{ "int32_t", &type_s32 },
	{ "uint32_t", &type_u32 },
	{ "int64_t", &type_s64 },
	{ "uint64_t", &type_u64 },
	{ "size_t", &type_u64 },
	{ "pid_t", &type_s32 },
	{ "umode_t", &type_u16 },
	{ "void", &type_void },
};

/* The type that the words name; NULL: unknown. */
static const struct type *base_type(const struct field *f, struct type_source *types)
{
	if (!*f->keyword)
		for (u32 i = 0; i < ARRAY_CNT(c_types); i++)
			if (str_eq(f->base, c_types[i].name))
				return c_types[i].type;
	return types ? types->find(types, f->keyword, f->base) : NULL;
}

static bool is_int_size(u32 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static const struct type *array_type(const struct field *f, struct arena *a, const struct type *base)
{
	if (base == &type_s8 && str_eq(f->base, "char"))
		return f->size ? type_char_array(a, f->size) : type_array(a, base, 0);
	if (f->stars)
		base = &type_u64;
	/* The length may be the name of a constant; it is computed from the sizes. */
	if (!base || !base->size || f->size % base->size) {
		u32 sz = f->array_len ? f->size / f->array_len : 1;

		base = is_int_size(sz) && sz * f->array_len == f->size ? type_int(sz, f->is_signed) : &type_u8;
	}
	return type_array(a, base, f->size / base->size);
}

static const struct type *plain_type(const struct field *f, struct arena *a, const struct type *base, bool is_syscall,
				     enum addr_space as)
{
	if (base && base->kind == T_POINTER && f->size == 8)
		return type_pointer(a, base->elem, as);
	if (base && base->kind == T_STRUCT && base->size == f->size)
		return base;
	if (base && base->kind == T_BOOL && f->size == 1)
		return base;
	/* Arguments of system calls take a whole register in the record, also narrower ones, whose upper part means nothing: an
	 * int that is -100 (AT_FDCWD) would be read as 4294967196. */
	if (is_syscall && f->size == 8 && base && type_is_integral(base) && base->size && base->size < 8)
		return base->kind == T_BOOL ? base : type_int(base->size, base->is_signed);
	if (is_int_size(f->size))
		return type_int(f->size, f->is_signed);
	return type_array(a, &type_u8, f->size);
}

static const struct type *field_type(const struct field *f, struct arena *a, struct type_source *types, bool is_syscall)
{
	enum addr_space as = is_syscall ? AS_USER : AS_KERNEL;
	const struct type *base = base_type(f, types);

	if (f->is_data_loc)
		return type_pointer(a, base && !f->stars ? base : &type_void, AS_KERNEL);
	if (f->is_rel_loc) /* only in sample code: the raw word */
		return type_int(4, false);
	if (f->is_array)
		return array_type(f, a, base);
	if (f->stars && f->size == 8) {
		if (!base)
			base = &type_void;
		for (u32 i = 0; i < f->stars; i++)
			base = type_pointer(a, base, as);
		return base;
	}
	return plain_type(f, a, base, is_syscall, as);
}

const struct type *event_format_parse(const char *text, size_t len, const char *category, const char *event, struct arena *a,
				      struct type_source *types)
{
	bool is_syscall = str_eq(category, "syscalls");
	const char *p = text, *end = text + len;
	struct type *t = arena_new(a, struct type);
	vec(struct member) members = {};
	bool any = false;

	t->kind = T_STRUCT;
	t->name = arena_printf(a, "_tracepoint_%s_%s", category, event);
	t->align = 8;
	for (; p < end;) {
		const char *nl = memchr(p, '\n', end - p);
		struct field f = {};

		if (!nl)
			nl = end;
		if (parse_line(p, nl, &f)) {
			any = true;
			if (f.off >= 8) {
				struct member m = {
					.name = arena_strdup(a, f.name),
					.type = field_type(&f, a, types, is_syscall),
					.off = f.off,
					.is_data_loc = f.is_data_loc,
				};

				avec_push(a, &members, m);
				t->size = MAX(t->size, f.off + f.size);
			}
		}
		p = nl + 1;
	}
	t->members = members.at;
	t->member_cnt = members.cnt;
	t->size = ALIGN_UP(MAX(t->size, 8), 8);
	return any ? t : NULL;
}
