#include "lang/cdecl.h"

#define SIZE_MAX_BYTES (1u << 28)
#define NEST_MAX_C 64

struct tag {
	const char *keyword, *name;
	struct type *type;
	bool is_defined, is_open; /* open: its members are being read */
	struct span at;
};

struct ctypes {
	struct type_source src; /* first: see of() */
	struct type_source *base;
	struct arena *arena;
	struct diag *diag;
	vec(struct tag) tags;
	vec(struct {
		const char *name;
		const struct type *type;
	}) typedefs;
	vec(struct {
		const char *name;
		s64 value;
		const struct type *type;
	}) consts;
	u32 anon_cnt;
	u32 nest;
};

static struct ctypes *of(struct type_source *src)
{
	return (struct ctypes *)src;
}

/* char is told from int8 by its address: only arrays of char are strings. */
static const struct type type_char = { .kind = T_INT, .size = 1, .align = 1, .is_signed = true };

struct attrs {
	u32 align; /* 0: none given */
	bool packed;
};

static const struct type *parse_specifiers(struct ctypes *t, struct cstream *s, struct attrs *a);

/* ---- the source of types ---- */

static struct tag *find_tag(struct ctypes *t, const char *keyword, const char *name)
{
	vec_for(tag, &t->tags)
		if (*name && str_eq(tag->name, name) && str_eq(tag->keyword, keyword))
			return tag;
	return NULL;
}

const struct type *ctypes_own(struct type_source *src, const char *keyword, const char *name)
{
	struct ctypes *t = of(src);
	struct tag *tag = *keyword ? find_tag(t, keyword, name) : NULL;

	if (tag && tag->is_defined)
		return tag->type;
	if (!*keyword)
		vec_for(d, &t->typedefs)
			if (str_eq(d->name, name))
				return d->type;
	return NULL;
}

static const struct type *source_find(struct type_source *src, const char *keyword, const char *name)
{
	const struct type *own = ctypes_own(src, keyword, name);
	struct type_source *base = of(src)->base;

	return own ? own : base ? base->find(base, keyword, name) : NULL;
}

/* Only structs that were named but never defined are completed here: by the kernel's of that name. One that nobody knows stays empty. */
static void source_complete(struct type_source *src, struct type *type)
{
	struct ctypes *t = of(src);
	const struct type *found = t->base ? t->base->find(t->base, type->is_union ? "union" : "struct", type->name) : NULL;

	if (found)
		*type = *type_complete(found);
}

static bool source_constant(struct type_source *src, const char *name, s64 *value, const struct type **enum_type)
{
	struct ctypes *t = of(src);

	vec_for(c, &t->consts) {
		if (!str_eq(c->name, name))
			continue;
		*value = c->value;
		if (enum_type)
			*enum_type = c->type;
		return true;
	}
	return t->base && t->base->constant && t->base->constant(t->base, name, value, enum_type);
}

struct ctypes *ctypes_new(struct arena *arena, struct diag *diag, struct type_source *base)
{
	struct ctypes *t = arena_new(arena, struct ctypes);

	t->src = (struct type_source){ .find = source_find, .complete = source_complete, .constant = source_constant };
	t->base = base;
	t->arena = arena;
	t->diag = diag;
	return t;
}

struct type_source *ctypes_source(struct ctypes *t)
{
	return &t->src;
}

void ctypes_finish(struct ctypes *t)
{
	vec_for(tag, &t->tags)
		if (!tag->is_defined && tag->type->kind == T_STRUCT)
			tag->type->src = &t->src;
}

/* ---- attributes ---- */

static bool fail(struct ctypes *t, struct cstream *s, const char *what)
{
	if (s->tok.kind == TOK_END)
		diag_error(t->diag, s->prev, E_SYNTAX, "expected %s, found the end of the script", what);
	else
		diag_error(t->diag, s->tok.span, E_SYNTAX, "expected %s, found %s", what, token_describe(&s->lex, &s->tok));
	return false;
}

static bool at_word(const struct cstream *s, const char *word)
{
	return s->tok.kind == TOK_IDENT && str_eq(s->tok.text, word);
}

static bool expect(struct ctypes *t, struct cstream *s, enum token_kind kind, const char *what)
{
	return cstream_accept(s, kind) || fail(t, s, what);
}

/* tok is at "(": behind its ")". */
static bool skip_parens(struct ctypes *t, struct cstream *s)
{
	struct span open = s->tok.span;
	u32 depth = 0;

	do {
		if (s->tok.kind == TOK_LPAREN)
			depth++;
		else if (s->tok.kind == TOK_RPAREN)
			depth--;
		else if (s->tok.kind == TOK_END) {
			diag_error(t->diag, open, E_UNTERMINATED, "this '(' is not closed");
			return false;
		}
		cstream_advance(s);
	} while (depth);
	return true;
}

static bool constant_name(struct cstream *s, void *arg, s64 *value)
{
	struct ctypes *t = arg;
	struct attrs a = {};
	const struct type *type;

	if (s->tok.kind == TOK_SIZEOF) {
		cstream_advance(s);
		if (!expect(t, s, TOK_LPAREN, "'(' after sizeof"))
			return false;
		type = parse_specifiers(t, s, &a);
		if (!type)
			return false;
		while (cstream_accept(s, TOK_STAR))
			type = &type_u64;
		*value = type_complete(type)->size;
		return expect(t, s, TOK_RPAREN, "')' after the type");
	}
	if (!source_constant(&t->src, s->tok.text, value, NULL) && !header_constant(s->tok.text, value)) {
		diag_error(t->diag, s->tok.span, E_UNKNOWN_IDENTIFIER, "Unknown constant: '%s'", s->tok.text);
		diag_hint(t->diag, "#define it, or write the number");
		return false;
	}
	cstream_advance(s);
	return true;
}

static bool parse_align(struct ctypes *t, struct cstream *s, struct attrs *a)
{
	struct span at = s->tok.span;
	s64 n = 16;

	if (cstream_accept(s, TOK_LPAREN) && (!cstream_constant(s, constant_name, t, &n) || !expect(t, s, TOK_RPAREN, "')'")))
		return false;
	if (n < 1 || n > 4096 || (n & (n - 1))) {
		diag_error(t->diag, at, E_BAD_LITERAL, "an alignment is a power of two, up to 4096");
		return false;
	}
	a->align = MAX(a->align, n);
	return true;
}

/* attr = "__attribute__" "(" "(" [ name [ "(" … ")" ] { "," … } ] ")" ")" | "__packed" | "__aligned" "(" n ")" ; */
static bool parse_attrs(struct ctypes *t, struct cstream *s, struct attrs *a)
{
	for (;;) {
		if (at_word(s, "__packed")) {
			a->packed = true;
			cstream_advance(s);
			continue;
		}
		if (at_word(s, "__aligned")) {
			cstream_advance(s);
			if (!parse_align(t, s, a))
				return false;
			continue;
		}
		if (!at_word(s, "__attribute__") && !at_word(s, "__attribute"))
			return true;
		cstream_advance(s);
		if (!expect(t, s, TOK_LPAREN, "'((' after __attribute__") || !expect(t, s, TOK_LPAREN, "'((' after __attribute__"))
			return false;
		while (s->tok.kind == TOK_IDENT || token_is_keyword(s->tok.kind)) {
			const char *name = s->tok.text;

			cstream_advance(s);
			if (str_eq(name, "packed") || str_eq(name, "__packed__"))
				a->packed = true;
			if (str_eq(name, "aligned") || str_eq(name, "__aligned__")) {
				if (!parse_align(t, s, a))
					return false;
			} else if (s->tok.kind == TOK_LPAREN && !skip_parens(t, s)) {
				return false;
			}
			if (!cstream_accept(s, TOK_COMMA))
				break;
		}
		if (!expect(t, s, TOK_RPAREN, "'))' to close __attribute__((") || !expect(t, s, TOK_RPAREN, "'))' to close __attribute__(("))
			return false;
	}
}

/* ---- layout ---- */

struct layout {
	struct type *type;
	struct attrs attrs;
	u64 bits;  /* where the next member goes */
	u64 bytes; /* what the members took */
	u32 align;
	vec(struct member) members;
};

static bool add_member(struct ctypes *t, struct layout *l, struct member m, const struct attrs *a, struct span at)
{
	bool packed = l->attrs.packed || a->packed;
	u32 align = MAX(a->align, packed || !m.type->align ? 1 : m.type->align);

	l->align = MAX(l->align, align);
	l->bits = l->type->is_union ? 0 : ALIGN_UP(l->bits, 8 * (u64)align);
	m.off = l->bits / 8;
	l->bits += 8 * (u64)m.type->size;
	l->bytes = MAX(l->bytes, (l->bits + 7) / 8);
	if (l->bytes > SIZE_MAX_BYTES) {
		diag_error(t->diag, at, E_TOO_BIG, "this struct is too big");
		return false;
	}
	if (m.name)
		avec_push(t->arena, &l->members, m);
	return true;
}

/* A bit-field lies inside of one unit of its type, unless it is packed. One without a name only takes room. */
static bool add_bits(struct ctypes *t, struct layout *l, struct member m, s64 width, const struct attrs *a, struct span at)
{
	bool packed = l->attrs.packed || a->packed;
	u64 unit = 8 * (u64)m.type->size;

	if (!type_is_integral(m.type)) {
		diag_error(t->diag, at, E_TYPE_MISMATCH, "a bit-field must be an integer");
		return false;
	}
	if (width < 0 || (u64)width > unit || (!width && m.name)) {
		diag_error(t->diag, at, E_BAD_LITERAL, "a bit-field of this type has 1 to %u bits", (u32)unit);
		return false;
	}
	if (l->type->is_union)
		l->bits = 0;
	if (!width) {
		l->bits = ALIGN_UP(l->bits, unit);
		return true;
	}
	if (a->align)
		l->bits = ALIGN_UP(l->bits, 8 * (u64)a->align);
	else if (!packed && l->bits / unit != (l->bits + width - 1) / unit)
		l->bits = ALIGN_UP(l->bits, unit);
	if (m.name)
		l->align = MAX(l->align, MAX(a->align, packed ? 1 : m.type->align));
	m.off = l->bits / 8;
	m.bit_off = l->bits % 8;
	m.bit_sz = width;
	l->bits += width;
	l->bytes = MAX(l->bytes, (l->bits + 7) / 8);
	if (m.name)
		avec_push(t->arena, &l->members, m);
	return true;
}

/* ---- declarators ---- */

static const struct type *array_of(struct ctypes *t, struct cstream *s, const struct type *elem, s64 cnt)
{
	if (cnt < 0 || (elem->size && (u64)cnt > SIZE_MAX_BYTES / elem->size)) {
		diag_error(t->diag, s->prev, E_BAD_LITERAL, cnt < 0 ? "an array cannot have a negative length" : "this array is too big");
		return NULL;
	}
	if (elem->kind == T_VOID) {
		diag_error(t->diag, s->prev, E_UNKNOWN_TYPE, "there are no arrays of void");
		return NULL;
	}
	return elem == &type_char && cnt ? type_char_array(t->arena, cnt) : type_array(t->arena, elem, cnt);
}

/* suffixes = { "[" [ constant ] "]" } | "(" parameters ")" ; a function is void, so that a pointer to it is one to void. */
static const struct type *parse_suffixes(struct ctypes *t, struct cstream *s, const struct type *type)
{
	s64 dims[8];
	u32 cnt = 0;

	if (s->tok.kind == TOK_LPAREN)
		return skip_parens(t, s) ? &type_void : NULL;
	while (s->tok.kind == TOK_LBRACKET) {
		cstream_advance(s);
		if (cnt == ARRAY_CNT(dims)) {
			diag_error(t->diag, s->prev, E_TOO_BIG, "too many dimensions");
			return NULL;
		}
		dims[cnt] = 0;
		if (s->tok.kind != TOK_RBRACKET && !cstream_constant(s, constant_name, t, &dims[cnt]))
			return NULL;
		cnt++;
		if (!expect(t, s, TOK_RBRACKET, "']' after the length"))
			return NULL;
	}
	while (cnt && type)
		type = array_of(t, s, type, dims[--cnt]);
	return type;
}

static bool skip_qualifiers(struct cstream *s)
{
	static const char *const words[] = {
		"const", "volatile", "restrict", "__restrict", "static", "extern", "register", "inline", "__user", "__kernel", "__rcu", "__iomem",
		"__percpu", "__force", "__extension__", "__const", "__volatile__",
	};

	for (u32 i = 0; i < ARRAY_CNT(words); i++) {
		if (at_word(s, words[i])) {
			cstream_advance(s);
			return true;
		}
	}
	return false;
}

/* declarator = { "*" { qualifier } } ( name | "(" declarator ")" | nothing ) suffixes ; *name stays NULL without one. */
static const struct type *parse_declarator(struct ctypes *t, struct cstream *s, const struct type *type, struct attrs *a, const char **name,
					   struct span *at)
{
	if (++t->nest > NEST_MAX_C) {
		diag_error(t->diag, s->tok.span, E_TOO_BIG, "too many levels of nesting");
		return NULL;
	}
	*at = s->tok.span;
	while (cstream_accept(s, TOK_STAR)) {
		type = type_pointer(t->arena, type == &type_char ? &type_s8 : type, AS_NONE);
		while (skip_qualifiers(s))
			;
	}
	if (!parse_attrs(t, s, a))
		return NULL;
	if (s->tok.kind == TOK_LPAREN) {
		struct cstream inner = *s, after;

		/* What stands behind the parentheses applies first: read that, then come back. */
		if (!skip_parens(t, s))
			return NULL;
		type = parse_suffixes(t, s, type);
		if (!type)
			return NULL;
		after = *s;
		cstream_advance(&inner);
		type = parse_declarator(t, &inner, type, a, name, at);
		if (!type || !expect(t, &inner, TOK_RPAREN, "')'"))
			return NULL;
		*s = after;
	} else {
		if (s->tok.kind == TOK_IDENT || token_is_keyword(s->tok.kind)) {
			*name = s->tok.text;
			*at = s->tok.span;
			cstream_advance(s);
		}
		type = parse_suffixes(t, s, type);
	}
	t->nest--;
	return type && parse_attrs(t, s, a) ? type : NULL;
}

/* ---- struct, union, enum ---- */

static struct tag *tag_new(struct ctypes *t, const char *keyword, const char *name, struct span at)
{
	struct type *type = arena_new(t->arena, struct type);

	type->kind = str_eq(keyword, "enum") ? T_ENUM : T_STRUCT;
	type->is_union = str_eq(keyword, "union");
	type->name = name;
	type->align = 1;
	type->src_id = 0x80000000u + t->anon_cnt++;
	avec_push(t->arena, &t->tags, (struct tag){ .keyword = keyword, .name = name, .type = type, .at = at });
	return &t->tags.at[t->tags.cnt - 1];
}

static bool need_complete(struct ctypes *t, struct span at, const struct type *type, const char *name)
{
	vec_for(tag, &t->tags) {
		if (tag->type != type || tag->is_defined)
			continue;
		/* Not the script's: the kernel's, which then must be known. */
		if (!tag->is_open)
			source_complete(&t->src, tag->type);
		if (type->size || tag->type->member_cnt)
			return true;
		diag_error(t->diag, at, E_UNKNOWN_TYPE, tag->is_open ? "%s %s cannot be a member of itself" : "Unknown type: '%s %s'", tag->keyword,
			   tag->name);
		return false;
	}
	if (type->kind != T_VOID)
		return true;
	diag_error(t->diag, at, E_UNKNOWN_TYPE, "'%s' cannot be of type void", name ? name : "a member");
	return false;
}

/* member = specifiers [ declarator [ ":" constant ] { "," … } ] ";" ; without a declarator: an anonymous struct or union. */
static bool parse_member(struct ctypes *t, struct cstream *s, struct layout *l)
{
	struct attrs own = {};
	struct span at = s->tok.span;
	const struct type *base = parse_specifiers(t, s, &own);

	if (!base)
		return false;
	if (s->tok.kind == TOK_SEMI) {
		/* Without a name only what was defined here, without a tag, has members of its own. */
		if (base->kind == T_STRUCT && !*base->name && !add_member(t, l, (struct member){ .name = "", .type = base }, &own, at))
			return false;
		cstream_advance(s);
		return true;
	}
	do {
		struct member m = {};
		struct attrs a = own;
		s64 width;

		m.type = base;
		if (s->tok.kind != TOK_COLON)
			m.type = parse_declarator(t, s, base, &a, &m.name, &at);
		if (!m.type)
			return false;
		if (!m.name && s->tok.kind != TOK_COLON)
			return fail(t, s, "the name of a member");
		if (m.type == &type_char)
			m.type = &type_s8;
		if (!need_complete(t, at, m.type->kind == T_ARRAY ? m.type->elem : m.type, m.name))
			return false;
		if (m.name)
			vec_for(o, &l->members)
				if (str_eq(o->name, m.name)) {
					diag_error(t->diag, at, E_REDECLARED, "there is a member '%s' already", m.name);
					return false;
				}
		if (!cstream_accept(s, TOK_COLON)) {
			if (!add_member(t, l, m, &a, at))
				return false;
			continue;
		}
		if (!cstream_constant(s, constant_name, t, &width) || !parse_attrs(t, s, &a) || !add_bits(t, l, m, width, &a, at))
			return false;
	} while (cstream_accept(s, TOK_COMMA));
	/* C compilers accept it, with a warning, that the last one has none. */
	return s->tok.kind == TOK_RBRACE || expect(t, s, TOK_SEMI, "';' after the member");
}

static bool parse_members(struct ctypes *t, struct cstream *s, u32 tag_index, struct attrs attrs)
{
	struct layout l = { .type = t->tags.at[tag_index].type, .align = 1 };
	struct cstream ahead = *s;
	struct span open = s->tok.span;
	u32 depth = 0;

	/* Whether it is packed may stand behind it, and is needed for each member. */
	do {
		depth += ahead.tok.kind == TOK_LBRACE;
		depth -= ahead.tok.kind == TOK_RBRACE;
		if (ahead.tok.kind == TOK_END) {
			diag_error(t->diag, open, E_UNTERMINATED, "this '{' is not closed");
			return false;
		}
		cstream_advance(&ahead);
	} while (depth);
	if (!parse_attrs(t, &ahead, &attrs))
		return false;
	l.attrs = attrs;
	cstream_advance(s);
	while (s->tok.kind != TOK_RBRACE) {
		if (cstream_accept(s, TOK_SEMI))
			continue;
		if (!parse_member(t, s, &l))
			return false;
	}
	*s = ahead;
	l.align = MAX(l.align, attrs.align);
	l.type->members = l.members.at;
	l.type->member_cnt = l.members.cnt;
	l.type->align = l.align;
	l.type->size = ALIGN_UP(l.bytes, (u64)l.align);
	return true;
}

/* enumerators = "{" name [ "=" constant ] { "," … } [ "," ] "}" ; */
static bool parse_enumerators(struct ctypes *t, struct cstream *s, u32 tag_index)
{
	struct type *type = t->tags.at[tag_index].type;
	vec(struct enum_const) consts = {};
	s64 value = 0;
	bool is_big = false;

	type->size = type->align = 4;
	cstream_advance(s);
	while (s->tok.kind != TOK_RBRACE) {
		const char *name = s->tok.text;
		struct attrs ignored = {};

		if (s->tok.kind != TOK_IDENT)
			return fail(t, s, "the name of a constant");
		vec_for(c, &t->consts)
			if (str_eq(c->name, name)) {
				diag_error(t->diag, s->tok.span, E_REDECLARED, "there is a constant '%s' already", name);
				return false;
			}
		cstream_advance(s);
		if (!parse_attrs(t, s, &ignored))
			return false;
		if (cstream_accept(s, TOK_ASSIGN) && !cstream_constant(s, constant_name, t, &value))
			return false;
		avec_push(t->arena, &consts, (struct enum_const){ name, value });
		avec_push(t->arena, &t->consts, (typeof(*t->consts.at)){ name, value, type });
		type->is_signed |= value < 0;
		is_big |= value > UINT32_MAX || value < INT32_MIN;
		value++;
		if (!cstream_accept(s, TOK_COMMA))
			break;
	}
	vec_for(c, &consts)
		is_big |= type->is_signed && c->value > INT32_MAX;
	if (is_big)
		type->size = type->align = 8;
	type->consts = consts.at;
	type->const_cnt = consts.cnt;
	return expect(t, s, TOK_RBRACE, "',' or '}' after the constant");
}

/* Names a struct without defining it. */
static const struct type *named(struct ctypes *t, const char *keyword, const char *name, struct span at)
{
	const struct type *found;
	struct tag *tag = find_tag(t, keyword, name);

	if (tag)
		return tag->type;
	if (str_eq(keyword, "enum")) {
		found = t->base ? t->base->find(t->base, keyword, name) : NULL;
		return found ? found : &type_u32;
	}
	/* It may yet be defined; if it is not, it is the kernel's. */
	return tag_new(t, keyword, name, at)->type;
}

/* tagged = ( "struct" | "union" | "enum" ) { attr } [ name ] [ "{" … "}" { attr } ] ; */
static const struct type *parse_tagged(struct ctypes *t, struct cstream *s)
{
	const char *keyword = s->tok.text, *name = "";
	struct span at = s->tok.span;
	struct attrs attrs = {};
	struct tag *tag;
	u32 index;
	bool ok;

	cstream_advance(s);
	if (!parse_attrs(t, s, &attrs))
		return NULL;
	if (s->tok.kind == TOK_IDENT) {
		name = s->tok.text;
		at = s->tok.span;
		cstream_advance(s);
	}
	if (!parse_attrs(t, s, &attrs))
		return NULL;
	if (s->tok.kind != TOK_LBRACE)
		return *name ? named(t, keyword, name, at) : (fail(t, s, "a name or '{'"), NULL);
	if (++t->nest > NEST_MAX_C) {
		diag_error(t->diag, at, E_TOO_BIG, "too many levels of nesting");
		return NULL;
	}
	tag = find_tag(t, keyword, name);
	if (tag && (tag->is_defined || tag->is_open)) {
		diag_error(t->diag, at, E_REDECLARED, "%s %s is defined twice", keyword, name);
		return NULL;
	}
	if (!tag)
		tag = tag_new(t, keyword, name, at);
	tag->is_open = true;
	index = tag - t->tags.at;
	ok = str_eq(keyword, "enum") ? parse_enumerators(t, s, index) : parse_members(t, s, index, attrs);
	tag = &t->tags.at[index];
	tag->is_open = false;
	tag->is_defined = true;
	t->nest--;
	return ok && parse_attrs(t, s, &attrs) ? tag->type : NULL;
}

/* ---- specifiers ---- */

/* What headers of user space call their types; the kernel's BTF has most of them, too. */
static const struct {
	const char *name;
	const struct type *type;
} user_words[] = {
	{ "_Bool", &type_bool }, { "__int8_t", &type_s8 }, { "__uint8_t", &type_u8 }, { "__int16_t", &type_s16 }, { "__uint16_t", &type_u16 },
	{ "__int32_t", &type_s32 }, { "__uint32_t", &type_u32 }, { "__int64_t", &type_s64 }, { "__uint64_t", &type_u64 },
	{ "__u8", &type_u8 }, { "__u16", &type_u16 }, { "__u32", &type_u32 }, { "__u64", &type_u64 }, { "__s8", &type_s8 },
	{ "__s16", &type_s16 }, { "__s32", &type_s32 }, { "__s64", &type_s64 }, { "__be16", &type_u16 }, { "__be32", &type_u32 },
	{ "__be64", &type_u64 }, { "__le16", &type_u16 }, { "__le32", &type_u32 }, { "__le64", &type_u64 },
	{ "ssize_t", &type_s64 }, { "off_t", &type_s64 }, { "loff_t", &type_s64 }, { "ptrdiff_t", &type_s64 }, { "intptr_t", &type_s64 },
	{ "pid_t", &type_s32 }, { "uid_t", &type_u32 }, { "gid_t", &type_u32 }, { "mode_t", &type_u32 }, { "time_t", &type_s64 },
	{ "dev_t", &type_u64 }, { "ino_t", &type_u64 }, { "clockid_t", &type_s32 }, { "socklen_t", &type_u32 }, { "sa_family_t", &type_u16 },
	{ "in_addr_t", &type_u32 }, { "in_port_t", &type_u16 }, { "uint", &type_u32 }, { "ulong", &type_u64 }, { "ushort", &type_u16 },
	{ "u_char", &type_u8 }, { "u_short", &type_u16 }, { "u_int", &type_u32 }, { "u_long", &type_u64 }, { "gfp_t", &type_u32 },
	{ "sector_t", &type_u64 }, { "dma_addr_t", &type_u64 }, { "float", &type_u32 }, { "double", &type_u64 },
};

static const struct type *by_name(struct ctypes *t, struct cstream *s)
{
	const char *name = s->tok.text;
	const struct type *type = NULL;

	vec_for(d, &t->typedefs)
		if (str_eq(d->name, name))
			type = d->type;
	if (!type)
		type = type_of_word(name);
	if (!type && t->base)
		type = t->base->find(t->base, "", name);
	for (u32 i = 0; !type && i < ARRAY_CNT(user_words); i++)
		if (str_eq(user_words[i].name, name))
			type = user_words[i].type;
	if (!type) {
		diag_error(t->diag, s->tok.span, E_UNKNOWN_TYPE, "Unknown type: '%s'", name);
		if (find_tag(t, "struct", name) || (t->base && t->base->find(t->base, "struct", name)))
			diag_hint(t->diag, "did you mean 'struct %s'?", name);
		else if (!t->base)
			diag_hint(t->diag, "this system has no kernel type information (/sys/kernel/btf/vmlinux)");
	}
	return type;
}

/* specifiers = { qualifier | attr | tagged | name | "unsigned" | "long" | … } ; */
static const struct type *parse_specifiers(struct ctypes *t, struct cstream *s, struct attrs *a)
{
	u32 longs = 0, shorts = 0, chars = 0, ints = 0, big = 0;
	int sign = -1; /* 1: signed, 0: unsigned */
	const struct type *type = NULL;

	for (;;) {
		if (!parse_attrs(t, s, a))
			return NULL;
		if (skip_qualifiers(s))
			continue;
		if (!type && !longs && !shorts && !chars && !ints && sign < 0 &&
		    (s->tok.kind == TOK_STRUCT || s->tok.kind == TOK_UNION || s->tok.kind == TOK_ENUM)) {
			type = parse_tagged(t, s);
			if (!type)
				return NULL;
			continue;
		}
		if (s->tok.kind != TOK_IDENT || type)
			break;
		if (at_word(s, "long"))
			longs++;
		else if (at_word(s, "short"))
			shorts++;
		else if (at_word(s, "char"))
			chars++;
		else if (at_word(s, "int"))
			ints++;
		else if (at_word(s, "__int128") || (longs && at_word(s, "double")))
			big++;
		else if (at_word(s, "signed") || at_word(s, "__signed__"))
			sign = 1;
		else if (at_word(s, "unsigned"))
			sign = 0;
		else if (longs || shorts || chars || ints || big || sign >= 0)
			break;
		else {
			type = by_name(t, s);
			if (!type)
				return NULL;
		}
		cstream_advance(s);
	}
	if (type)
		return type;
	if (big) {
		struct type *wide = (struct type *)type_array(t->arena, &type_u64, 2);

		wide->align = 16;
		return wide;
	}
	if (chars)
		return sign < 0 ? &type_char : type_int(1, sign);
	if (shorts)
		return type_int(2, sign != 0);
	if (longs)
		return type_int(8, sign != 0);
	if (ints || sign >= 0)
		return type_int(4, sign != 0);
	fail(t, s, "a type");
	return NULL;
}

/* ---- definitions ---- */

static bool parse_typedef(struct ctypes *t, struct cstream *s)
{
	struct attrs own = {};
	const struct type *base;

	cstream_advance(s);
	base = parse_specifiers(t, s, &own);
	if (!base)
		return false;
	do {
		struct attrs a = own;
		const char *name = NULL;
		struct span at;
		const struct type *type = parse_declarator(t, s, base, &a, &name, &at);

		if (!type)
			return false;
		if (!name)
			return fail(t, s, "the name of the new type");
		avec_push(t->arena, &t->typedefs, (typeof(*t->typedefs.at)){ name, type });
	} while (cstream_accept(s, TOK_COMMA));
	return expect(t, s, TOK_SEMI, "';' after the typedef");
}

/* To the end of a definition in which something is wrong. */
static void recover(struct cstream *s)
{
	s->lex.quiet = true;
	for (; s->tok.kind != TOK_END; cstream_advance(s)) {
		if (s->braces == 0 && s->tok.kind == TOK_SEMI)
			break;
		if (s->braces == 1 && s->tok.kind == TOK_RBRACE) {
			cstream_advance(s);
			break;
		}
	}
	while (at_word(s, "__attribute__"))
		for (cstream_advance(s); s->tok.kind == TOK_LPAREN || s->tok.kind == TOK_RPAREN || s->tok.kind == TOK_COMMA || at_word(s, "packed") ||
					 at_word(s, "aligned") || s->tok.kind == TOK_INT;
		     cstream_advance(s))
			;
	cstream_accept(s, TOK_SEMI);
}

/* c_type = tagged [ ";" ] | "typedef" specifiers declarator { "," declarator } ";" ; */
bool ctypes_parse(struct ctypes *t, struct cstream *s)
{
	bool ok;

	t->nest = 0;
	if (at_word(s, "typedef")) {
		ok = parse_typedef(t, s);
	} else {
		ok = parse_tagged(t, s) != NULL;
		/* Variables that are declared along with it mean nothing here. */
		if (ok && s->tok.kind == TOK_SEMI)
			cstream_advance(s);
	}
	if (!ok)
		recover(s);
	return ok;
}
