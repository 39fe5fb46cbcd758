/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/parse.h"

#include "lang/fn.h"

static struct expr *unary(struct parser *p);

static struct expr *expr_new(struct parser *p, enum expr_kind kind, struct span at)
{
	struct expr *e = arena_new(p->arena, struct expr);

	e->kind = kind;
	e->span = at;
	return e;
}

/* Replaces a part that was reported, so that the text around it can be parsed. */
static struct expr *placeholder(struct parser *p, struct span at)
{
	return expr_new(p, E_INT, span_join(at, p->prev));
}

/* Counts n nodes that may deepen the tree without nesting in the text. */
static bool count_links(struct parser *p, u32 n)
{
	p->links += n;
	if (p->links <= LINKS_MAX)
		return true;
	diag_error(p->diag, p->tok.span, E_TOO_BIG, "too many operators in one statement");
	diag_hint(p->diag, "the limit is %u; store parts of the expression in variables", LINKS_MAX);
	return false;
}

/* ---- names of the preprocessor ---- */

/* A macro with parameters that an included header defines. Headers are read only when something is called that nothing else
 * explains. */
static struct cmacro *find_in_headers(struct parser *p)
{
	struct header_set *headers = p->c->target && !p->c->parse_only ? p->c->target->headers : NULL;
	struct header_macro m;
	struct sbuf name = {};
	u32 at = p->lex.pos, suffix;

	while (at < p->lex.len && (p->lex.text[at] == ' ' || p->lex.text[at] == '\t'))
		at++;
	if (!headers || !headers->is_used || at >= p->lex.len || p->lex.text[at] != '(' || fn_find(p->tok.text, &suffix) ||
	    !headers->macro(headers, p->arena, p->tok.text, &m) || !m.is_function)
		return NULL;
	sbuf_printf(&name, "%s(", p->tok.text);
	for (u32 i = 0; i < m.param_cnt; i++)
		sbuf_printf(&name, "%s%s", i ? ", " : "", m.params[i]);
	sbuf_putc(&name, ')');
	pp_define(p->cpp->pp, sbuf_str(&name), m.text);
	sbuf_release(&name);
	return pp_find_macro(p->cpp->pp, p->tok.text);
}

/* What the name at tok is #defined as; NULL if it is not. */
static struct cmacro *find_define(struct parser *p)
{
	struct cmacro *m = p->tok.kind == TOK_IDENT && p->cpp ? pp_find_macro(p->cpp->pp, p->tok.text) : NULL;

	if (!m && p->tok.kind == TOK_IDENT && p->cpp)
		m = find_in_headers(p);
	/* A name is not replaced inside of its own value. */
	vec_for(name, &p->expanding)
		if (m && str_eq(*name, m->sym->name))
			return NULL;
	return m;
}

/* ---- types ---- */

/* Names that are types and nothing else; other names are types only where the syntax leaves no choice. */
static const char *const type_words[] = {
	"bool",   "int8",  "int16",     "int32", "int64", "uint8", "uint16", "uint32", "uint64", "void",     "string",
	"buffer", "inet",  "timestamp", "u8",    "u16",   "u32",   "u64",    "s8",     "s16",    "s32",      "s64",
	"__u8",   "__u16", "__u32",     "__u64", "__s8",  "__s16", "__s32",  "__s64",  "const",  "volatile",
};
/* C's integer types may take several of these: `unsigned long int`. */
static const char *const c_words[] = { "char", "short", "int", "long", "unsigned", "signed" };

static bool is_one_of(const char *s, const char *const *words, u32 cnt)
{
	for (u32 i = 0; i < cnt; i++)
		if (str_eq(s, words[i]))
			return true;
	return false;
}

static bool at_c_word(const struct parser *p)
{
	return p->tok.kind == TOK_IDENT && is_one_of(p->tok.text, c_words, ARRAY_CNT(c_words));
}

static bool at_qualifier(const struct parser *p)
{
	return p->tok.kind == TOK_IDENT && (str_eq(p->tok.text, "const") || str_eq(p->tok.text, "volatile"));
}

static bool at_type_word(const struct parser *p)
{
	const struct token *t = &p->tok;

	if (t->kind == TOK_STRUCT || t->kind == TOK_UNION || t->kind == TOK_ENUM || t->kind == TOK_TYPEOF)
		return true;
	if (t->kind != TOK_IDENT)
		return false;
	return is_one_of(t->text, type_words, ARRAY_CNT(type_words)) || at_c_word(p) ||
		(t->len > 2 && str_eq(t->text + t->len - 2, "_t"));
}

/* What follows `(name)` or `(type)`. */
enum follow {
	FOLLOW_NONE,   /* nothing that begins an expression */
	FOLLOW_EITHER, /* a prefix operator, which after a value would be an infix or postfix one */
	FOLLOW_EXPR,   /* only an expression begins like this */
};

static enum follow follow_of(enum token_kind kind)
{
	switch ((int)kind) { /* of the many tokens only these */
	case TOK_INT:
	case TOK_STR:
	case TOK_IDENT:
	case TOK_VAR:
	case TOK_PARAM:
	case TOK_MAP:
	case TOK_TRUE:
	case TOK_FALSE:
	case TOK_SIZEOF:
	case TOK_OFFSETOF:
	case TOK_TYPEINFO:
	case TOK_COMPTIME:
	case TOK_LPAREN:
	case TOK_BANG:
	case TOK_TILDE:
		return FOLLOW_EXPR;
	case TOK_MINUS:
	case TOK_STAR:
	case TOK_AMP:
	case TOK_PLUS_PLUS:
	case TOK_MINUS_MINUS:
		return FOLLOW_EITHER;
	}
	return FOLLOW_NONE;
}

/* What the text from tok to a `)` looks like. */
struct type_look {
	bool is_type;   /* it has the form of a type and a `)` behind it */
	bool is_known;  /* its name is only ever a type */
	bool is_marked; /* ends in `*` or `[]`, as no expression does */
	enum follow follow;
};

/* Looks at a possible type, up to the token behind its `)`. Consumes nothing. */
static struct type_look look_at_type(struct parser *p)
{
	struct parse_mark m = parse_save(p);
	struct type_look look = { .is_known = at_type_word(p) };
	bool has_keyword = false;

	while (at_qualifier(p))
		parse_advance(p);
	if (p->tok.kind == TOK_TYPEOF) {
		look.is_type = look.is_marked = true;
		goto out;
	}
	if (p->tok.kind == TOK_STRUCT || p->tok.kind == TOK_UNION || p->tok.kind == TOK_ENUM) {
		parse_advance(p);
		has_keyword = true;
	}
	while (at_c_word(p) && parse_peek(p).kind == TOK_IDENT)
		parse_advance(p);
	if (p->tok.kind != TOK_IDENT)
		goto out;
	parse_advance(p);
	while (has_keyword && p->tok.kind == TOK_COLON) { /* a::b */
		parse_advance(p);
		if (!parse_accept(p, TOK_COLON) || !parse_accept(p, TOK_IDENT))
			goto out;
	}
	for (;;) {
		look.is_marked = false;
		if (at_qualifier(p)) {
			parse_advance(p);
			look.is_marked = true;
		} else if (p->tok.kind == TOK_STAR) {
			parse_advance(p);
			look.is_marked = true;
		} else if (p->tok.kind == TOK_LBRACKET) {
			parse_advance(p);
			look.is_marked = !parse_accept(p, TOK_INT);
			if (!parse_accept(p, TOK_RBRACKET))
				goto out;
		} else {
			goto out;
		}
		if (p->tok.kind == TOK_RPAREN)
			break;
	}
out:
	if (p->tok.kind == TOK_RPAREN) {
		look.is_type = true;
		parse_advance(p);
		look.follow = follow_of(p->tok.kind);
	}
	parse_restore(p, &m);
	return look;
}

/* tok is at `(`: does it begin a cast? C decides by what is declared; here names are unknown until the checker, so the text must
 * do: `(uint64) - 1` is a cast, `(pid) - 1` is not, `(foo *)x` and `(foo)x` are, and `(foo) * x` is a product. */
static bool at_cast(struct parser *p)
{
	struct parse_mark m = parse_save(p);
	u32 at = p->tok.span.begin;
	struct type_look look;

	parse_advance(p);
	look = look_at_type(p);
	look.is_type &= !find_define(p);
	parse_restore(p, &m);
	if (!look.is_type)
		return false;
	if (look.is_marked)
		return true;
	if (look.is_known)
		return look.follow != FOLLOW_NONE;
	return look.follow == FOLLOW_EXPR && at != p->grouping_at;
}

static bool array_suffix(struct parser *p, struct type_suffix *s)
{
	s->is_array = true;
	parse_advance(p);
	if (p->tok.kind == TOK_INT) {
		s->has_len = true;
		s->len = p->tok.num;
		if (p->tok.num > UINT32_MAX)
			diag_error(p->diag, p->tok.span, E_BAD_LITERAL, "this array length is too big");
		parse_advance(p);
	}
	return parse_expect(p, TOK_RBRACKET, "after the array length");
}

/* Where a type or an expression may stand, a name alone is a type, unless it is that of a builtin. */
static bool is_value_name(struct parser *p)
{
	u32 suffix;
	const struct fn *fn = p->tok.kind == TOK_IDENT && !at_type_word(p) ? fn_find(p->tok.text, &suffix) : NULL;

	return find_define(p) || (fn && (fn->flags & FN_WORD));
}

static bool type_or_expr(struct parser *p, struct type_ref **ref, struct expr **e)
{
	if (look_at_type(p).is_type && !is_value_name(p))
		*ref = parse_type(p);
	else
		*e = parse_expr(p);
	return *ref || *e;
}

/* suffixes = { "*" | "[" [ integer ] "]" } ; */
static bool type_suffixes(struct parser *p, struct type_ref *ref)
{
	vec(struct type_suffix) list = {};

	for (;;) {
		struct type_suffix s = {};

		if (at_qualifier(p)) {
			parse_advance(p);
			continue;
		}
		if (p->tok.kind == TOK_LBRACKET) {
			if (!array_suffix(p, &s))
				return false;
		} else if (!parse_accept(p, TOK_STAR)) {
			break;
		}
		avec_push(p->arena, &list, s);
	}
	ref->suffixes = list.at;
	ref->suffix_cnt = list.cnt;
	return true;
}

/* typeof = "typeof" "(" ( type | expr ) ")" ; */
static bool type_of(struct parser *p, struct type_ref *ref)
{
	parse_advance(p);
	return parse_expect(p, TOK_LPAREN, "after 'typeof'") && type_or_expr(p, &ref->of_type, &ref->of_expr) &&
		parse_expect(p, TOK_RPAREN, "after the type or expression");
}

/* type = ( "struct" | "union" | "enum" ) name { "::" name } suffixes | name suffixes | C integer words suffixes | typeof suffixes
 * ; */
struct type_ref *parse_type(struct parser *p)
{
	struct type_ref *ref = arena_new(p->arena, struct type_ref);

	ref->span = p->tok.span;
	ref->keyword = "";
	while (at_qualifier(p))
		parse_advance(p);
	if (p->tok.kind == TOK_TYPEOF) {
		if (!type_of(p, ref) || !type_suffixes(p, ref))
			return NULL;
		ref->span = span_join(ref->span, p->prev);
		return ref;
	}
	if (p->tok.kind == TOK_STRUCT || p->tok.kind == TOK_UNION || p->tok.kind == TOK_ENUM) {
		ref->keyword = p->tok.text;
		parse_advance(p);
	}
	if (p->tok.kind != TOK_IDENT) {
		parse_expected(p, *ref->keyword ? arena_printf(p->arena, "a name after '%s'", ref->keyword) : "a type");
		return NULL;
	}
	ref->name = p->tok.text;
	if (!*ref->keyword && at_c_word(p)) {
		for (parse_advance(p); at_c_word(p); parse_advance(p))
			ref->name = arena_printf(p->arena, "%s %s", ref->name, p->tok.text);
	} else {
		parse_advance(p);
	}
	/* Names of C++ and Rust: struct net::conn */
	while (*ref->keyword && parse_accept(p, TOK_COLON)) {
		if (!parse_expect(p, TOK_COLON, "between the parts of a name"))
			return NULL;
		if (p->tok.kind != TOK_IDENT) {
			parse_expected(p, "a name after '::'");
			return NULL;
		}
		ref->name = arena_printf(p->arena, "%s::%s", ref->name, p->tok.text);
		parse_advance(p);
	}
	if (!type_suffixes(p, ref))
		return NULL;
	ref->span = span_join(ref->span, p->prev);
	return ref;
}

/* ---- primary expressions ---- */

/* args = [ expr { "," expr } ] ")" ; tok is behind the "(" */
static bool call_args(struct parser *p, struct expr *e)
{
	vec(struct expr *) args = {};

	if (p->tok.kind != TOK_RPAREN) {
		do {
			struct expr *arg = parse_expr(p);

			if (!arg)
				return false;
			avec_push(p->arena, &args, arg);
		} while (parse_accept(p, TOK_COMMA));
	}
	e->call.args = args.at;
	e->call.arg_cnt = args.cnt;
	return parse_expect(p, TOK_RPAREN, "after the arguments");
}

static struct expr *plain_call(struct parser *p);

static void set_span(struct expr *e, void *arg)
{
	e->span = *(struct span *)arg;
}

/* The name at tok is #defined: its value, read as an expression, stands for it. */
static struct expr *defined_value(struct parser *p, struct cmacro *m)
{
	struct token name = p->tok;
	struct lex lex = p->lex, value;
	struct cpp *cpp = p->cpp;
	struct expr *e = NULL;
	u32 errors = p->diag->error_cnt;

	if (m->is_function) {
		enum pp_call call = cpp_call(p->cpp, m, name.span, &p->lex, &value, &lex.pos);

		if (call == PP_NO_CALL)
			return plain_call(p);
		if (call == PP_FAILED) {
			p->lex.pos = lex.pos;
			parse_advance(p);
			return placeholder(p, name.span);
		}
		p->cpp = NULL; /* nothing is left to replace */
	}
	/* Nested #defines grow fast, so they are counted. */
	if (!count_links(p, 1) || !parse_enter(p, NEST_COST))
		return NULL;
	p->lex = m->is_function ? value : cpp_lex(cpp, m);
	p->lex.quiet = lex.quiet;
	avec_push(p->arena, &p->expanding, m->sym->name);
	parse_advance(p);
	if (p->tok.kind != TOK_END)
		e = parse_expr(p);
	if (errors == p->diag->error_cnt && (!e || p->tok.kind != TOK_END)) {
		diag_error(p->diag, name.span, E_SYNTAX, "'%s' is #defined as text that is not an expression", m->sym->name);
		e = NULL;
	}
	p->expanding.cnt--;
	p->cpp = cpp;
	p->lex = lex;
	p->tok = name;
	parse_leave(p, NEST_COST);
	parse_advance(p);
	if (!e)
		return placeholder(p, name.span);
	expr_walk(e, set_span, &name.span);
	/* A name for the name of a function. */
	if (e->kind == E_CALL && !e->call.has_parens && parse_accept(p, TOK_LPAREN)) {
		e->call.has_parens = true;
		if (!call_args(p, e))
			return NULL;
		e->span = span_join(e->span, p->prev);
	}
	return e;
}

/* call = name [ "(" args ] ; a name alone is a builtin or a constant: the checker knows. */
static struct expr *plain_call(struct parser *p)
{
	struct expr *e = expr_new(p, E_CALL, p->tok.span);

	e->call.name = p->tok.text;
	parse_advance(p);
	if (!parse_accept(p, TOK_LPAREN))
		return e;
	e->call.has_parens = true;
	if (!call_args(p, e))
		return NULL;
	e->span = span_join(e->span, p->prev);
	return e;
}

/* elements = expr { "," expr } [ "," ] close ; the first one has been read, tok is at a "," or at the end. */
static struct expr *tuple_rest(struct parser *p, struct expr *first, enum token_kind close)
{
	struct expr *e = expr_new(p, E_TUPLE, first->span);
	vec(struct expr *) elems = {};

	avec_push(p->arena, &elems, first);
	while (parse_accept(p, TOK_COMMA)) {
		struct expr *elem;

		if (p->tok.kind == close)
			break;
		elem = parse_expr(p);
		if (!elem)
			return NULL;
		avec_push(p->arena, &elems, elem);
	}
	e->span = span_join(e->span, p->prev);
	e->tuple.elems = elems.at;
	e->tuple.cnt = elems.cnt;
	return e;
}

/* tok is at `(`: whether `(name = …` begins a record. */
static bool at_record(struct parser *p)
{
	struct parse_mark m = parse_save(p);
	bool is_record = false;

	parse_advance(p);
	if (p->tok.kind == TOK_IDENT)
		is_record = parse_peek(p).kind == TOK_ASSIGN;
	parse_restore(p, &m);
	return is_record;
}

/* record = "(" name "=" expr { "," name "=" expr } [ "," ] ")" ; */
static struct expr *record(struct parser *p)
{
	struct expr *e = expr_new(p, E_TUPLE, p->tok.span);
	vec(struct expr *) elems = {};
	vec(const char *) names = {};

	parse_advance(p);
	do {
		struct expr *elem;

		if (p->tok.kind == TOK_RPAREN)
			break;
		if (p->tok.kind != TOK_IDENT || parse_peek(p).kind != TOK_ASSIGN) {
			if (parse_expected(p, "the name of a field and '='"))
				diag_hint(p->diag, "every field of a record has a name: (a = 1, b = 2)");
			return NULL;
		}
		vec_for(n, &names) {
			if (!str_eq(*n, p->tok.text))
				continue;
			diag_error(p->diag, p->tok.span, E_REDECLARED, "this record has two fields named '%s'", *n);
			return NULL;
		}
		avec_push(p->arena, &names, p->tok.text);
		parse_advance(p);
		parse_advance(p);
		elem = parse_expr(p);
		if (!elem)
			return NULL;
		avec_push(p->arena, &elems, elem);
	} while (parse_accept(p, TOK_COMMA));
	if (!parse_expect(p, TOK_RPAREN, "to close '('"))
		return NULL;
	e->span = span_join(e->span, p->prev);
	e->tuple.elems = elems.at;
	e->tuple.names = names.at;
	e->tuple.cnt = elems.cnt;
	return e;
}

/* paren = "(" ")" | "(" expr ")" | "(" expr "," [ expr { "," expr } ] [ "," ] ")" | record ; */
static struct expr *paren(struct parser *p)
{
	struct span open = p->tok.span;
	struct expr *e;

	if (p->grouping_at != open.begin && at_record(p))
		return record(p);
	parse_advance(p);
	if (parse_accept(p, TOK_RPAREN))
		return expr_new(p, E_TUPLE, span_join(open, p->prev));
	e = parse_expr(p);
	if (e && p->tok.kind == TOK_COMMA)
		e = tuple_rest(p, e, TOK_RPAREN);
	if (!e || !parse_expect(p, TOK_RPAREN, "to close '('"))
		return NULL;
	e->span = span_join(open, p->prev);
	return e;
}

/* key = "[" expr { "," expr } "]" ; several make a tuple. tok is at the "[". */
static struct expr *bracketed(struct parser *p, const char *what)
{
	struct expr *e;

	parse_advance(p);
	if (p->tok.kind == TOK_RBRACKET) {
		parse_expected(p, what);
		return NULL;
	}
	e = parse_expr(p);
	if (e && p->tok.kind == TOK_COMMA)
		e = tuple_rest(p, e, TOK_RBRACKET);
	if (!e || !parse_expect(p, TOK_RBRACKET, "to close '['"))
		return NULL;
	return e;
}

/* map = "@" [ name ] [ key ] ; */
static struct expr *map(struct parser *p)
{
	struct expr *e = expr_new(p, E_MAP, p->tok.span);

	e->map.name = p->tok.text;
	parse_advance(p);
	if (p->tok.kind != TOK_LBRACKET)
		return e;
	e->map.key = bracketed(p, "a key");
	if (!e->map.key)
		return NULL;
	e->span = span_join(e->span, p->prev);
	return e;
}

/* sizeof = ( "sizeof" | "typeinfo" ) "(" ( type | expr ) ")" ; */
static struct expr *size_of(struct parser *p)
{
	struct expr *e = expr_new(p, p->tok.kind == TOK_SIZEOF ? E_SIZEOF : E_TYPEINFO, p->tok.span);
	const char *where = e->kind == E_SIZEOF ? "after 'sizeof'" : "after 'typeinfo'";

	parse_advance(p);
	if (!parse_expect(p, TOK_LPAREN, where) || !type_or_expr(p, &e->of.ref, &e->of.a) ||
	    !parse_expect(p, TOK_RPAREN, "after the type or expression"))
		return NULL;
	e->span = span_join(e->span, p->prev);
	return e;
}

/* The same before a `,`: look_at_type() wants the `)`, so here a keyword or a name that is only a type decides, and a lone name.
 */
static bool offset_base(struct parser *p, struct expr *e)
{
	enum token_kind next = parse_peek(p).kind;

	if (at_type_word(p) || (p->tok.kind == TOK_IDENT && next == TOK_COMMA && !is_value_name(p)))
		e->of.ref = parse_type(p);
	else
		e->of.a = parse_expr(p);
	return e->of.ref || e->of.a;
}

/* offsetof = "offsetof" "(" ( type | expr ) "," name { "." name } ")" ; */
static struct expr *offset_of(struct parser *p)
{
	struct expr *e = expr_new(p, E_OFFSETOF, p->tok.span);
	vec(const char *) path = {};

	parse_advance(p);
	if (!parse_expect(p, TOK_LPAREN, "after 'offsetof'") || !offset_base(p, e) ||
	    !parse_expect(p, TOK_COMMA, "between the type and its member"))
		return NULL;
	do {
		if (p->tok.kind != TOK_IDENT && !token_is_keyword(p->tok.kind)) {
			parse_expected(p, "the name of a member");
			return NULL;
		}
		avec_push(p->arena, &path, p->tok.text);
		parse_advance(p);
	} while (parse_accept(p, TOK_DOT));
	if (!parse_expect(p, TOK_RPAREN, "after the member"))
		return NULL;
	e->of.path = path.at;
	e->of.path_cnt = path.cnt;
	e->span = span_join(e->span, p->prev);
	return e;
}

/* A type where a value would stand: macros take it. */
static struct expr *type_as_value(struct parser *p)
{
	struct expr *e = expr_new(p, E_TYPEOF, p->tok.span);

	e->of.ref = parse_type(p);
	if (!e->of.ref)
		return NULL;
	e->span = e->of.ref->span;
	return e;
}

static struct expr *integer(struct parser *p)
{
	struct expr *e = expr_new(p, E_INT, p->tok.span);

	e->num.value = p->tok.num;
	parse_advance(p);
	return e;
}

static struct expr *boolean(struct parser *p)
{
	struct expr *e = expr_new(p, E_BOOL, p->tok.span);

	e->num.value = p->tok.kind == TOK_TRUE;
	parse_advance(p);
	return e;
}

static struct expr *string(struct parser *p)
{
	struct expr *e = expr_new(p, E_STR, p->tok.span);

	e->str.s = p->tok.text;
	e->str.len = p->tok.len;
	parse_advance(p);
	return e;
}

static struct expr *variable(struct parser *p)
{
	struct expr *e = expr_new(p, E_VAR, p->tok.span);

	e->var.name = p->tok.text;
	parse_advance(p);
	return e;
}

static struct expr *parameter(struct parser *p)
{
	struct expr *e = expr_new(p, E_PARAM, p->tok.span);

	e->param.index = p->tok.num;
	parse_advance(p);
	return e;
}

/* primary = integer | string | bool | var | "$" N | "$#" | map | call | paren | sizeof | … ; */
static struct expr *primary(struct parser *p)
{
	struct cmacro *define;

	switch ((int)p->tok.kind) { /* most tokens begin no expression */
	case TOK_INT:
		return integer(p);
	case TOK_TRUE:
	case TOK_FALSE:
		return boolean(p);
	case TOK_STR:
		return string(p);
	case TOK_VAR:
		return variable(p);
	case TOK_PARAM:
		return parameter(p);
	case TOK_MAP:
		return map(p);
	case TOK_IDENT:
		define = find_define(p);
		return define ? defined_value(p, define) : plain_call(p);
	case TOK_LPAREN:
		return paren(p);
	case TOK_SIZEOF:
	case TOK_TYPEINFO:
		return size_of(p);
	case TOK_OFFSETOF:
		return offset_of(p);
	case TOK_TYPEOF:
		return type_as_value(p);
	case TOK_IF:
		return parse_if_expr(p);
	case TOK_LBRACE:
		return parse_block_expr(p);
	}
	parse_expected(p, "an expression");
	return NULL;
}

/* ---- operators ---- */

/* member = ( "." | "->" ) ( name | integer ) ; */
static struct expr *member(struct parser *p, struct expr *base)
{
	struct expr *e = expr_new(p, E_FIELD, base->span);
	bool is_arrow = p->tok.kind == TOK_ARROW;
	struct span at;

	parse_advance(p);
	at = p->tok.span;
	e->field.base = base;
	if (p->tok.kind == TOK_IDENT || token_is_keyword(p->tok.kind)) {
		e->field.name = p->tok.text;
	} else if (p->tok.kind == TOK_INT && !is_arrow) {
		e->field.name = arena_strndup(p->arena, p->lex.text + at.begin, at.end - at.begin);
	} else {
		parse_expected(p, is_arrow ? "the name of a member after '->'" : "the name of a member after '.'");
		return NULL;
	}
	parse_advance(p);
	e->span = span_join(e->span, at);
	return e;
}

static struct expr *subscript(struct parser *p, struct expr *base)
{
	struct expr *e = expr_new(p, E_INDEX, base->span);
	struct span open = p->tok.span;

	e->index.base = base;
	e->index.index = bracketed(p, "an index");
	if (!e->index.index)
		return NULL;
	if (e->index.index->kind == E_TUPLE) {
		diag_error(p->diag, span_join(open, p->prev), E_SYNTAX,
			   "only maps can have several keys in one pair of brackets");
		diag_hint(p->diag, "an array takes one index: $a[1][2]");
	}
	e->span = span_join(e->span, p->prev);
	return e;
}

/* tok is at the operator of a postfix form, behind the one of a prefix form. */
static struct expr *incdec(struct parser *p, struct expr *target, struct span at, bool is_dec, bool is_post)
{
	struct expr *e = expr_new(p, E_INCDEC, is_post ? span_join(target->span, at) : span_join(at, target->span));

	if (target->kind != E_VAR && target->kind != E_MAP) {
		diag_error(p->diag, target->span, E_NOT_ASSIGNABLE, "'%s' needs a variable or a map", is_dec ? "--" : "++");
		if (target->kind == E_CALL && !target->call.has_parens)
			diag_hint(p->diag, "a variable is written $%s, a map @%s", target->call.name, target->call.name);
	}
	e->incdec.target = target;
	e->incdec.is_dec = is_dec;
	e->incdec.is_post = is_post;
	return e;
}

/* postfix = primary { member | "[" expr "]" | "++" | "--" } ; */
static struct expr *postfix(struct parser *p)
{
	struct expr *e = primary(p);

	while (e) {
		enum token_kind kind = p->tok.kind;

		if (kind != TOK_DOT && kind != TOK_ARROW && kind != TOK_LBRACKET && kind != TOK_PLUS_PLUS &&
		    kind != TOK_MINUS_MINUS)
			break;
		if (!count_links(p, 1))
			return NULL;
		if (kind == TOK_DOT || kind == TOK_ARROW) {
			e = member(p, e);
		} else if (kind == TOK_LBRACKET) {
			e = subscript(p, e);
		} else {
			e = incdec(p, e, p->tok.span, kind == TOK_MINUS_MINUS, true);
			parse_advance(p);
		}
	}
	return e;
}

/* cast = "(" type ")" unary ; */
static struct expr *cast(struct parser *p)
{
	struct expr *e = expr_new(p, E_CAST, p->tok.span);

	parse_advance(p);
	e->cast.to = parse_type(p);
	if (!e->cast.to || !parse_expect(p, TOK_RPAREN, "after the type"))
		return NULL;
	e->cast.a = unary(p);
	if (!e->cast.a)
		return NULL;
	e->span = span_join(e->span, e->cast.a->span);
	return e;
}

/* -N is a literal. a is what followed the minus sign, `minus` the sign's place. */
static struct expr *negative(struct parser *p, struct expr *a, struct span minus)
{
	a->span = span_join(minus, a->span);
	if (a->num.value > (u64)INT64_MAX + 1) {
		diag_error(p->diag, a->span, E_BAD_LITERAL, "this number is too small");
		diag_hint(p->diag, "the smallest one is -9223372036854775808");
	}
	a->num.negative = a->num.value != 0;
	a->num.value = -a->num.value;
	return a;
}

static bool prefix_op(enum token_kind kind, enum unary_op *op)
{
	switch ((int)kind) { /* prefix operators only */
	case TOK_MINUS:
		*op = UN_NEG;
		return true;
	case TOK_BANG:
		*op = UN_NOT;
		return true;
	case TOK_TILDE:
		*op = UN_BITNOT;
		return true;
	case TOK_STAR:
		*op = UN_DEREF;
		return true;
	case TOK_AMP:
		*op = UN_ADDR;
		return true;
	case TOK_COMPTIME:
		*op = UN_COMPTIME;
		return true;
	}
	return false;
}

/* prefix = ( "-" | "!" | "~" | "*" | "&" | "++" | "--" | "comptime" ) unary ; tok is behind the operator. */
static struct expr *prefix(struct parser *p, struct token op_tok)
{
	bool is_literal = p->tok.kind == TOK_INT;
	u32 begin = p->tok.span.begin;
	struct expr *a = unary(p), *e;
	enum unary_op op = UN_NEG;

	if (!a)
		return NULL;
	if (op_tok.kind == TOK_PLUS_PLUS || op_tok.kind == TOK_MINUS_MINUS)
		return incdec(p, a, op_tok.span, op_tok.kind == TOK_MINUS_MINUS, false);
	if (op_tok.kind == TOK_MINUS && is_literal && a->kind == E_INT && a->span.begin == begin)
		return negative(p, a, op_tok.span);
	prefix_op(op_tok.kind, &op);
	e = expr_new(p, E_UNARY, span_join(op_tok.span, a->span));
	e->unary.op = op;
	e->unary.a = a;
	return e;
}

/* unary = prefix | cast | postfix ; */
static struct expr *unary(struct parser *p)
{
	struct token t = p->tok;
	bool is_cast = t.kind == TOK_LPAREN && at_cast(p);
	enum unary_op op;
	struct expr *e;

	if (!is_cast && !prefix_op(t.kind, &op) && t.kind != TOK_PLUS_PLUS && t.kind != TOK_MINUS_MINUS)
		return postfix(p);
	if (!parse_enter(p, NEST_COST))
		return NULL;
	if (is_cast) {
		e = cast(p);
	} else {
		parse_advance(p);
		e = prefix(p, t);
	}
	parse_leave(p, NEST_COST);
	return e;
}

struct infix {
	u8 prec; /* 0: none; higher binds tighter */
	enum binary_op op;
};

static struct infix infix_of(enum token_kind kind)
{
	static const struct infix table[TOKEN_KIND_CNT] = {
		[TOK_LOR] = { 1, BIN_LOR },   [TOK_LAND] = { 2, BIN_LAND },  [TOK_PIPE] = { 3, BIN_OR },
		[TOK_CARET] = { 4, BIN_XOR }, [TOK_AMP] = { 5, BIN_AND },    [TOK_EQ] = { 6, BIN_EQ },
		[TOK_NE] = { 6, BIN_NE },     [TOK_LT] = { 7, BIN_LT },      [TOK_LE] = { 7, BIN_LE },
		[TOK_GT] = { 7, BIN_GT },     [TOK_GE] = { 7, BIN_GE },      [TOK_SHL] = { 8, BIN_SHL },
		[TOK_SHR] = { 8, BIN_SHR },   [TOK_PLUS] = { 9, BIN_ADD },   [TOK_MINUS] = { 9, BIN_SUB },
		[TOK_STAR] = { 10, BIN_MUL }, [TOK_SLASH] = { 10, BIN_DIV }, [TOK_PERCENT] = { 10, BIN_MOD },
	};

	return table[kind];
}

/* In a predicate the `/` with a `{` behind it is its end. */
static bool at_predicate_end(struct parser *p)
{
	return p->in_predicate && p->tok.kind == TOK_SLASH && parse_peek(p).kind == TOK_LBRACE;
}

/* binary = unary { operator unary } ; by precedence: only operators that bind at least as tight as min_prec are taken here.
 *   || · && · | · ^ · & · == != · < <= > >= · << >> · + - · * / % ; all group from the left. */
static struct expr *binary(struct parser *p, u8 min_prec)
{
	struct expr *a = unary(p), *b, *e;

	while (a) {
		struct infix in = infix_of(p->tok.kind);

		if (!in.prec || in.prec < min_prec || at_predicate_end(p))
			break;
		if (!count_links(p, 1))
			return NULL;
		parse_advance(p);
		b = binary(p, in.prec + 1);
		if (!b)
			return NULL;
		e = expr_new(p, E_BINARY, span_join(a->span, b->span));
		e->binary.op = in.op;
		e->binary.a = a;
		e->binary.b = b;
		a = e;
	}
	return a;
}

/* ternary = binary [ "?" [ ternary ] ":" ternary ] ; */
static struct expr *ternary(struct parser *p)
{
	struct expr *cond = binary(p, 0), *e;

	if (!cond || !parse_accept(p, TOK_QUESTION))
		return cond;
	e = expr_new(p, E_TERNARY, cond->span);
	e->ternary.cond = cond;
	if (p->tok.kind != TOK_COLON) {
		e->ternary.yes = parse_expr(p);
		if (!e->ternary.yes)
			return NULL;
	}
	if (!parse_expect(p, TOK_COLON, "between the two values of '?'"))
		return NULL;
	e->ternary.no = parse_expr(p);
	if (!e->ternary.no)
		return NULL;
	e->span = span_join(e->span, e->ternary.no->span);
	return e;
}

/* expr = ternary ; */
struct expr *parse_expr(struct parser *p)
{
	struct expr *e;

	if (!parse_enter(p, NEST_COST))
		return NULL;
	e = ternary(p);
	parse_leave(p, NEST_COST);
	return e;
}
