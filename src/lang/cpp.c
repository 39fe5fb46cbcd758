#include "lang/cpp.h"

#include <ctype.h>

void cpp_init(struct cpp *c, struct arena *arena, struct diag *diag)
{
	*c = (struct cpp){ .arena = arena, .diag = diag };
}

const struct define *cpp_find(const struct cpp *c, const char *name)
{
	for (u32 i = c->defines.cnt; i-- > 0;)
		if (str_eq(c->defines.at[i].name, name))
			return &c->defines.at[i];
	return NULL;
}

static void undefine(struct cpp *c, const char *name)
{
	u32 kept = 0;

	for (u32 i = 0; i < c->defines.cnt; i++)
		if (!str_eq(c->defines.at[i].name, name))
			c->defines.at[kept++] = c->defines.at[i];
	c->defines.cnt = kept;
}

void cpp_predefine(struct cpp *c, const char *name, u64 value)
{
	const char *text = arena_printf(c->arena, "%llu", (unsigned long long)value);

	undefine(c, name);
	avec_push(c->arena, &c->defines, (struct define){ .name = name, .text = text, .end = strlen(text) });
}

struct lex cpp_lex(const struct cpp *c, const struct define *d)
{
	return (struct lex){ .arena = c->arena, .diag = c->diag, .src = d->at.src, .text = d->text, .len = d->end, .pos = d->begin };
}

/* ---- tokens with names replaced ---- */

static bool is_open(const struct cstream *s, const char *name)
{
	for (u32 i = 0; i < s->depth; i++)
		if (str_eq(s->inner[i].name, name))
			return true;
	return false;
}

static void fetch(struct cstream *s)
{
	for (;;) {
		const struct define *d;

		if (!s->depth) {
			lex_skip_space(&s->lex);
			s->at = s->lex.pos;
		}
		s->tok = lex_next(s->depth ? &s->inner[s->depth - 1].lex : &s->lex);
		if (s->tok.kind == TOK_END && s->depth) {
			s->depth--;
			continue;
		}
		d = s->tok.kind == TOK_IDENT && !s->is_raw ? cpp_find(s->cpp, s->tok.text) : NULL;
		if (!d || is_open(s, d->name) || s->depth == CSTREAM_DEPTH || s->replaced == CSTREAM_REPLACED_MAX)
			return;
		if (d->is_function) {
			struct lex *l = s->depth ? &s->inner[s->depth - 1].lex : &s->lex, text;
			u32 end;

			if (cpp_call(s->cpp, d, s->tok.span, l, &text, &end) != CPP_CALL)
				return;
			l->pos = end;
			s->inner[s->depth].lex = text;
		} else {
			s->inner[s->depth].lex = cpp_lex(s->cpp, d);
		}
		s->replaced++;
		s->inner[s->depth++].name = d->name;
	}
}

void cstream_init(struct cstream *s, const struct cpp *cpp, const struct lex *l)
{
	*s = (struct cstream){ .cpp = cpp, .lex = *l, .prev = { l->src, l->pos, l->pos } };
	fetch(s);
}

void cstream_advance(struct cstream *s)
{
	if (s->tok.kind == TOK_LBRACE)
		s->braces++;
	if (s->tok.kind == TOK_RBRACE && s->braces)
		s->braces--;
	s->prev = s->tok.span;
	fetch(s);
}

bool cstream_accept(struct cstream *s, enum token_kind kind)
{
	if (s->tok.kind != kind)
		return false;
	cstream_advance(s);
	return true;
}

/* ---- constant expressions ---- */

struct eval {
	struct cstream *s;
	cstream_name_fn name;
	void *arg;
	u32 depth;
};

static bool eval_ternary(struct eval *e, s64 *v);

static bool eval_fail(struct eval *e, const char *what)
{
	const struct token *t = &e->s->tok;

	diag_error(e->s->cpp->diag, t->kind == TOK_END ? e->s->prev : t->span, E_SYNTAX, "%s", what);
	return false;
}

static bool eval_unary(struct eval *e, s64 *v)
{
	struct cstream *s = e->s;
	enum token_kind kind = s->tok.kind;

	if (++e->depth > 200)
		return eval_fail(e, "this expression is nested too deeply");
	if (kind == TOK_MINUS || kind == TOK_PLUS || kind == TOK_TILDE || kind == TOK_BANG) {
		cstream_advance(s);
		if (!eval_unary(e, v))
			return false;
		*v = kind == TOK_MINUS ? (s64)(0 - (u64)*v) : kind == TOK_TILDE ? ~*v : kind == TOK_BANG ? !*v : *v;
	} else if (kind == TOK_LPAREN) {
		cstream_advance(s);
		if (!eval_ternary(e, v))
			return false;
		if (!cstream_accept(s, TOK_RPAREN))
			return eval_fail(e, "expected ')' here");
	} else if (kind == TOK_INT) {
		*v = s->tok.num;
		cstream_advance(s);
	} else if (kind == TOK_IDENT || kind == TOK_SIZEOF || token_is_keyword(kind)) {
		if (!e->name(s, e->arg, v))
			return false;
	} else {
		return eval_fail(e, "expected a constant integer expression here");
	}
	e->depth--;
	return true;
}

static u32 precedence(enum token_kind kind)
{
	switch ((int)kind) { /* infix operators only */
	case TOK_LOR: return 1;
	case TOK_LAND: return 2;
	case TOK_PIPE: return 3;
	case TOK_CARET: return 4;
	case TOK_AMP: return 5;
	case TOK_EQ: case TOK_NE: return 6;
	case TOK_LT: case TOK_LE: case TOK_GT: case TOK_GE: return 7;
	case TOK_SHL: case TOK_SHR: return 8;
	case TOK_PLUS: case TOK_MINUS: return 9;
	case TOK_STAR: case TOK_SLASH: case TOK_PERCENT: return 10;
	}
	return 0;
}

static s64 compute(enum token_kind op, s64 a, s64 b)
{
	switch ((int)op) { /* those of precedence() */
	case TOK_LOR: return a || b;
	case TOK_LAND: return a && b;
	case TOK_PIPE: return a | b;
	case TOK_CARET: return a ^ b;
	case TOK_AMP: return a & b;
	case TOK_EQ: return a == b;
	case TOK_NE: return a != b;
	case TOK_LT: return a < b;
	case TOK_LE: return a <= b;
	case TOK_GT: return a > b;
	case TOK_GE: return a >= b;
	case TOK_SHL: return b < 0 || b > 63 ? 0 : (s64)((u64)a << b);
	case TOK_SHR: return b < 0 || b > 63 ? 0 : a >> b;
	case TOK_PLUS: return (u64)a + (u64)b;
	case TOK_MINUS: return (u64)a - (u64)b;
	case TOK_STAR: return (u64)a * (u64)b;
	case TOK_SLASH: return b == -1 ? (s64)(0 - (u64)a) : a / b;
	case TOK_PERCENT: return b == -1 ? 0 : a % b;
	}
	return 0;
}

static bool eval_binary(struct eval *e, u32 min, s64 *v)
{
	if (!eval_unary(e, v))
		return false;
	for (;;) {
		enum token_kind op = e->s->tok.kind;
		u32 prec = precedence(op);
		s64 b;

		if (!prec || prec < min)
			return true;
		cstream_advance(e->s);
		if (!eval_binary(e, prec + 1, &b))
			return false;
		if (!b && (op == TOK_SLASH || op == TOK_PERCENT))
			return eval_fail(e, "division by zero in a constant expression");
		*v = compute(op, *v, b);
	}
}

static bool eval_ternary(struct eval *e, s64 *v)
{
	s64 yes, no;

	if (!eval_binary(e, 1, v))
		return false;
	if (!cstream_accept(e->s, TOK_QUESTION))
		return true;
	if (!eval_ternary(e, &yes))
		return false;
	if (!cstream_accept(e->s, TOK_COLON))
		return eval_fail(e, "expected ':' here");
	if (!eval_ternary(e, &no))
		return false;
	*v = *v ? yes : no;
	return true;
}

bool cstream_constant(struct cstream *s, cstream_name_fn name, void *arg, s64 *value)
{
	struct eval e = { s, name, arg };

	return eval_ternary(&e, value);
}

/* ---- lines ---- */

/* One #if and what belongs to it. */
struct cond {
	struct span at;
	bool is_on;      /* what follows is kept */
	bool was_on;     /* what is around it is kept */
	bool is_decided; /* one of its parts was kept */
	bool has_else;
};

struct scan {
	struct cpp *c;
	u32 src;
	const char *text; /* as it is, but without the backslashes that continue a line */
	char *out;
	u32 len, pos;
	bool at_line_start;
	vec(struct cond) conds;
};

static bool is_word(int c)
{
	return c == '_' || isalnum(c);
}

/* Moves over a comment if there is one. One without an end is none: the text may be an attach point with a path. */
static bool skip_comment(struct scan *s)
{
	const char *at = s->text + s->pos, *end;

	if (s->len - s->pos < 2 || at[0] != '/')
		return false;
	if (at[1] == '/') {
		while (s->pos < s->len && s->text[s->pos] != '\n')
			s->pos++;
		return true;
	}
	if (at[1] != '*')
		return false;
	end = memmem(at + 2, s->len - s->pos - 2, "*/", 2);
	if (!end)
		return false;
	s->pos = end + 2 - s->text;
	return true;
}

static void skip_quoted(struct scan *s)
{
	for (s->pos++; s->pos < s->len && s->text[s->pos] != '"' && s->text[s->pos] != '\n'; s->pos++)
		if (s->text[s->pos] == '\\' && s->pos + 1 < s->len && s->text[s->pos + 1] != '\n')
			s->pos++;
	if (s->pos < s->len && s->text[s->pos] == '"')
		s->pos++;
}

/* To the end of a line of the preprocessor, over comments, strings and the ends of lines that go on. */
static void skip_line(struct scan *s)
{
	while (s->pos < s->len && s->text[s->pos] != '\n') {
		if (s->text[s->pos] == '\\' && s->pos + 1 < s->len && s->text[s->pos + 1] == '\n') {
			((char *)s->text)[s->pos] = ' ';
			s->pos += 2;
		} else if (s->text[s->pos] == '"') {
			skip_quoted(s);
		} else if (!skip_comment(s)) {
			s->pos++;
		}
	}
}

static void skip_blanks(struct scan *s, u32 end)
{
	while (s->pos < end && (isspace((u8)s->text[s->pos]) || skip_comment(s)))
		if (s->pos < end && isspace((u8)s->text[s->pos]))
			s->pos++;
}

static const char *take_word(struct scan *s, u32 end, struct span *at)
{
	u32 begin = s->pos;

	if (begin < end && !isdigit((u8)s->text[begin]))
		while (s->pos < end && is_word((u8)s->text[s->pos]))
			s->pos++;
	*at = (struct span){ s->src, begin, s->pos };
	return arena_strndup(s->c->arena, s->text + begin, s->pos - begin);
}

static const char *take_name(struct scan *s, u32 end, struct span line)
{
	struct span at;
	const char *name;

	skip_blanks(s, end);
	name = take_word(s, end, &at);
	if (!*name)
		diag_error(s->c->diag, line, E_SYNTAX, "a name must follow");
	return name;
}

/* "(" [ name { "," name } ] [ "..." ] ")" ; pos is at the "(". */
static bool define_params(struct scan *s, u32 end, struct define *d)
{
	vec(const char *) params = {};
	struct span at;

	s->pos++;
	for (;;) {
		const char *name;

		skip_blanks(s, end);
		if (s->pos < end && s->text[s->pos] == ')' && !params.cnt)
			break;
		name = take_word(s, end, &at);
		if (!*name && end - s->pos >= 3 && !memcmp(s->text + s->pos, "...", 3)) {
			name = "__VA_ARGS__";
			d->is_variadic = true;
			s->pos += 3;
		}
		if (!*name) {
			diag_error(s->c->diag, d->at, E_SYNTAX, "the parameters of this macro are no list of names");
			return false;
		}
		avec_push(s->c->arena, &params, name);
		skip_blanks(s, end);
		if (s->pos < end && s->text[s->pos] == ')')
			break;
		if (s->pos >= end || s->text[s->pos] != ',' || d->is_variadic) {
			diag_error(s->c->diag, d->at, E_SYNTAX, "the parameters of this macro are not closed by ')'");
			return false;
		}
		s->pos++;
	}
	s->pos++;
	d->params = params.at;
	d->param_cnt = params.cnt;
	return true;
}

static void define_line(struct scan *s, u32 end, struct span line)
{
	struct define d = { .text = s->text };

	skip_blanks(s, end);
	d.name = take_word(s, end, &d.at);
	if (!*d.name) {
		diag_error(s->c->diag, line, E_SYNTAX, "a name must follow #define");
		return;
	}
	d.is_function = s->pos < end && s->text[s->pos] == '(';
	if (d.is_function && !define_params(s, end, &d))
		return;
	skip_blanks(s, end);
	d.begin = s->pos;
	d.end = end;
	undefine(s->c, d.name);
	avec_push(s->c->arena, &s->c->defines, d);
}

static void include_line(struct scan *s, u32 end, struct span line)
{
	u32 begin;
	char close;

	skip_blanks(s, end);
	if (!s->c->include || s->pos >= end || (s->text[s->pos] != '"' && s->text[s->pos] != '<'))
		return;
	close = s->text[s->pos] == '"' ? '"' : '>';
	begin = ++s->pos;
	while (s->pos < end && s->text[s->pos] != close)
		s->pos++;
	s->c->include(s->c->include_arg, arena_strndup(s->c->arena, s->text + begin, s->pos - begin), close == '"', line);
}

/* In #if: what is not defined is 0; defined(X) and defined X ask. */
static bool if_name(struct cstream *s, void *arg, s64 *value)
{
	bool parens;

	*value = s->tok.kind == TOK_TRUE;
	if (s->tok.kind != TOK_IDENT || !str_eq(s->tok.text, "defined")) {
		cstream_advance(s);
		if (s->tok.kind == TOK_LPAREN) {
			diag_error(s->cpp->diag, s->prev, E_SYNTAX, "no macro of this name has parameters");
			return false;
		}
		return true;
	}
	s->is_raw = true;
	cstream_advance(s);
	parens = cstream_accept(s, TOK_LPAREN);
	if (s->tok.kind != TOK_IDENT) {
		s->is_raw = false;
		diag_error(s->cpp->diag, s->prev, E_SYNTAX, "a name must follow 'defined'");
		return false;
	}
	*value = cpp_find(s->cpp, s->tok.text) != NULL;
	s->is_raw = !parens ? false : true;
	cstream_advance(s);
	s->is_raw = false;
	if (parens && !cstream_accept(s, TOK_RPAREN)) {
		diag_error(s->cpp->diag, s->prev, E_SYNTAX, "expected ')' after the name");
		return false;
	}
	return true;
}

static bool if_value(struct scan *s, u32 end)
{
	struct lex l = { .arena = s->c->arena, .diag = s->c->diag, .src = s->src, .text = s->text, .len = end, .pos = s->pos };
	struct cstream cs;
	s64 v;

	cstream_init(&cs, s->c, &l);
	if (!cstream_constant(&cs, if_name, NULL, &v))
		return false;
	if (cs.tok.kind != TOK_END)
		diag_error(s->c->diag, cs.tok.span, E_SYNTAX, "the condition should end here");
	return v != 0;
}

static bool is_on(const struct scan *s)
{
	return !s->conds.cnt || s->conds.at[s->conds.cnt - 1].is_on;
}

/* #else, #elif and #endif need an #if. */
static struct cond *open_cond(struct scan *s, struct span line)
{
	if (s->conds.cnt)
		return &s->conds.at[s->conds.cnt - 1];
	diag_error(s->c->diag, line, E_SYNTAX, "there is no #if that this belongs to");
	return NULL;
}

/* pos is behind the word. False: no such line; it is left to the parser. */
static bool directive(struct scan *s, const char *word, u32 end, struct span line)
{
	struct cond *cond;
	bool on = is_on(s);

	if (str_eq(word, "if") || str_eq(word, "ifdef") || str_eq(word, "ifndef")) {
		struct cond new = { .at = line, .was_on = on };

		if (on && str_eq(word, "if"))
			new.is_on = if_value(s, end);
		else if (on)
			new.is_on = (cpp_find(s->c, take_name(s, end, line)) != NULL) == str_eq(word, "ifdef");
		new.is_decided = new.is_on;
		avec_push(s->c->arena, &s->conds, new);
		return true;
	}
	if (str_eq(word, "else") || str_eq(word, "elif")) {
		cond = open_cond(s, line);
		if (!cond)
			return true;
		if (cond->has_else)
			diag_error(s->c->diag, line, E_SYNTAX, "this #if has had its #else");
		cond->has_else |= str_eq(word, "else");
		cond->is_on = cond->was_on && !cond->is_decided && (str_eq(word, "else") || if_value(s, end));
		cond->is_decided |= cond->is_on;
		return true;
	}
	if (str_eq(word, "endif")) {
		if (open_cond(s, line))
			s->conds.cnt--;
		return true;
	}
	if (on && str_eq(word, "include")) {
		include_line(s, end, line);
		return true;
	}
	if (!on || str_eq(word, "pragma") || str_eq(word, "warning") || str_eq(word, "line"))
		return true;
	if (str_eq(word, "define")) {
		define_line(s, end, line);
		return true;
	}
	if (str_eq(word, "undef")) {
		undefine(s->c, take_name(s, end, line));
		return true;
	}
	if (str_eq(word, "error")) {
		skip_blanks(s, end);
		diag_error(s->c->diag, line, E_SYNTAX, "#error %.*s", (int)(end - s->pos), s->text + s->pos);
		return true;
	}
	return false;
}

static void blank(struct scan *s, u32 begin, u32 end)
{
	for (u32 i = begin; i < end; i++)
		if (s->out[i] != '\n')
			s->out[i] = ' ';
}

static void hash_line(struct scan *s)
{
	u32 begin = s->pos, end;
	struct span at;
	const char *word;

	skip_line(s);
	end = s->pos;
	s->pos = begin + 1;
	while (s->pos < end && (s->text[s->pos] == ' ' || s->text[s->pos] == '\t'))
		s->pos++;
	word = take_word(s, end, &at);
	at.begin = begin;
	if (directive(s, word, end, at))
		blank(s, begin, end);
	s->pos = end;
}

/* Whether there may be anything to do. */
static bool has_lines(const char *text, u32 len)
{
	bool at_start = true;

	for (u32 i = 0; i < len; i++) {
		if (text[i] == '#' && at_start && !(i == 0 && len > 1 && text[1] == '!'))
			return true;
		at_start = text[i] == '\n' || (at_start && isspace((u8)text[i]));
	}
	return false;
}

const char *cpp_run(struct cpp *c, u32 src)
{
	const struct source *source = &c->diag->sources.at[src];
	struct scan s = { .c = c, .src = src, .len = source->len };

	if (!has_lines(source->text, source->len))
		return source->text;
	s.text = arena_strndup(c->arena, source->text, source->len);
	s.out = arena_strndup(c->arena, source->text, source->len);
	if (s.len > 1 && s.text[0] == '#' && s.text[1] == '!')
		while (s.pos < s.len && s.text[s.pos] != '\n')
			s.pos++;
	s.at_line_start = true;
	while (s.pos < s.len) {
		u32 begin = s.pos;

		if (s.at_line_start && s.text[s.pos] == '#') {
			hash_line(&s);
			continue;
		}
		if (s.text[s.pos] == '"') {
			skip_quoted(&s);
			s.at_line_start = false;
		} else if (!skip_comment(&s)) {
			s.at_line_start = s.text[s.pos] == '\n' || (s.at_line_start && isspace((u8)s.text[s.pos]));
			s.pos++;
		}
		if (!is_on(&s))
			blank(&s, begin, s.pos);
	}
	if (s.conds.cnt) {
		diag_error(c->diag, s.conds.at[s.conds.cnt - 1].at, E_UNTERMINATED, "this condition has no #endif");
	}
	return s.out;
}
