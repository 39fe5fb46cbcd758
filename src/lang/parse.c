/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/parse.h"

#include <ctype.h>

/* ---- tokens ---- */

/* After too many errors: act as if the text ended here. */
static bool gave_up(const struct parser *p)
{
	return p->diag->error_cnt - p->errors_before >= ERRORS_MAX;
}

void parse_advance(struct parser *p)
{
	p->prev = p->tok.span;
	if (gave_up(p)) {
		p->lex.pos = p->lex.len;
		p->end_reported = true;
	}
	p->tok = lex_next(&p->lex);
}

struct parse_mark parse_save(const struct parser *p)
{
	return (struct parse_mark){ p->lex.pos, p->lex.after_dot, p->tok, p->prev };
}

void parse_restore(struct parser *p, const struct parse_mark *m)
{
	p->lex.pos = m->pos;
	p->lex.after_dot = m->after_dot;
	p->tok = m->tok;
	p->prev = m->prev;
}

struct token parse_peek(struct parser *p)
{
	struct parse_mark m = parse_save(p);
	struct token t;

	parse_advance(p);
	t = p->tok;
	parse_restore(p, &m);
	return t;
}

bool parse_accept(struct parser *p, enum token_kind kind)
{
	if (p->tok.kind != kind)
		return false;
	parse_advance(p);
	return true;
}

bool parse_end_is_news(struct parser *p)
{
	bool is_news = !p->end_reported && !p->lex.cut_short;

	p->end_reported = true;
	return is_news;
}

bool parse_is_after_cut(const struct parser *p)
{
	return p->lex.cut_short && p->prev.end == p->lex.cut_end;
}

bool parse_expected(struct parser *p, const char *what)
{
	if (parse_is_after_cut(p) || (p->tok.kind == TOK_END && !parse_end_is_news(p)))
		return false;
	/* At the end of the text there is nothing to show: show the last thing before it. */
	diag_error(p->diag, p->tok.kind == TOK_END ? p->prev : p->tok.span, E_SYNTAX, "expected %s, found %s", what,
		   token_describe(&p->lex, &p->tok));
	return true;
}

bool parse_expected_after_expr(struct parser *p, const char *what)
{
	if (!parse_expected(p, what))
		return false;
	if (p->tok.kind == TOK_ASSIGN)
		diag_hint(p->diag, "'==' compares; an assignment is a statement of its own");
	return true;
}

bool parse_expect(struct parser *p, enum token_kind kind, const char *where)
{
	if (parse_accept(p, kind))
		return true;
	where = arena_printf(p->arena, "'%s' %s", token_kind_text(kind), where);
	if (kind == TOK_RPAREN || kind == TOK_RBRACKET)
		parse_expected_after_expr(p, where);
	else
		parse_expected(p, where);
	return false;
}

void parse_unsupported(struct parser *p, struct span at, const char *what)
{
	diag_error(p->diag, at, E_UNSUPPORTED, "%s not supported yet", what);
}

bool parse_enter(struct parser *p, u32 cost)
{
	if (p->nest + cost > NEST_MAX) {
		diag_error(p->diag, p->tok.span, E_TOO_BIG, "too many levels of nesting");
		diag_hint(p->diag, "the limit is %u levels", NEST_MAX / NEST_COST);
		return false;
	}
	p->nest += cost;
	return true;
}

void parse_leave(struct parser *p, u32 cost)
{
	p->nest -= cost;
}

/* ---- skipping ---- */

bool parse_skip_inside(struct parser *p)
{
	enum token_kind open = p->tok.kind, close;
	struct span at = p->tok.span;
	bool was_quiet = p->lex.quiet;
	u32 depth = 0;

	close = open == TOK_LPAREN ? TOK_RPAREN : open == TOK_LBRACKET ? TOK_RBRACKET : TOK_RBRACE;
	p->lex.quiet = true;
	for (; p->tok.kind != TOK_END; parse_advance(p)) {
		if (p->tok.kind == open)
			depth++;
		if (p->tok.kind == close && --depth == 0)
			break;
	}
	p->lex.quiet = was_quiet;
	if (p->tok.kind != TOK_END)
		return true;
	if (parse_end_is_news(p))
		diag_error(p->diag, at, E_UNTERMINATED, "this '%s' is not closed", token_kind_text(open));
	return false;
}

void parse_skip_balanced(struct parser *p)
{
	if (parse_skip_inside(p))
		parse_advance(p);
}

void parse_skip_to_block_end(struct parser *p)
{
	bool was_quiet = p->lex.quiet;

	p->lex.quiet = true;
	while (p->tok.kind != TOK_END && p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_SEMI)
		parse_advance(p);
	p->lex.quiet = was_quiet;
	if (p->tok.kind == TOK_LBRACE)
		parse_skip_balanced(p);
	else
		parse_accept(p, TOK_SEMI);
}

/* ---- raw text between the items ---- */

/* Whether the name `word` stands at pos; *after is the place behind it and the space that follows. */
static bool word_at(struct parser *p, const char *word, u32 *after)
{
	struct lex l = p->lex;
	u32 n = strlen(word);

	if (n > l.len - l.pos || memcmp(l.text + l.pos, word, n))
		return false;
	l.pos += n;
	if (l.pos < l.len && (l.text[l.pos] == '_' || isalnum((u8)l.text[l.pos])))
		return false;
	l.quiet = true;
	lex_skip_space(&l);
	*after = l.pos;
	return true;
}

static int byte_at(const struct parser *p, u32 pos)
{
	return pos < p->lex.len ? (u8)p->lex.text[pos] : -1;
}

static bool config_at(struct parser *p)
{
	struct lex l = p->lex;

	if (!word_at(p, "config", &l.pos) || byte_at(p, l.pos) != '=')
		return false;
	l.pos++;
	l.quiet = true;
	lex_skip_space(&l);
	return byte_at(p, l.pos) == '{';
}

/* Un-reads the look-ahead token: raw text follows. */
static void unread(struct parser *p)
{
	p->lex.pos = p->tok.span.begin;
	p->lex.after_dot = false;
}

/* ---- C, and what is not there yet, at the top level ---- */

/* cpp_line = "#" … end of line ; those that mean something are gone by now (lang/cpp.c). */
static void cpp_line(struct parser *p)
{
	u32 begin = p->lex.pos;
	struct lex *l = &p->lex;

	while (l->pos < l->len && l->text[l->pos] != '\n')
		l->pos++;
	diag_error(p->diag, (struct span){ l->src, begin, l->pos }, E_SYNTAX, "this is not a preprocessor directive");
	diag_hint(
		p->diag,
		"the directives are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif and #pragma; comments start with //");
}

/* ---- macros and functions ---- */

/* marg = "$" name | "@" name | name ; */
static bool macro_param(struct parser *p, struct macro_param *param)
{
	*param = (struct macro_param){ .span = p->tok.span, .name = p->tok.text };
	if (p->tok.kind == TOK_VAR) {
		param->kind = '$';
	} else if (p->tok.kind == TOK_MAP) {
		param->kind = '@';
	} else if (p->tok.kind != TOK_IDENT) {
		parse_expected(p, "a parameter: $variable, @map or a name");
		return false;
	}
	parse_advance(p);
	return true;
}

/* farg = "$" name ":" type ; */
static bool fn_param(struct parser *p, struct macro_param *param)
{
	*param = (struct macro_param){ .span = p->tok.span, .name = p->tok.text, .kind = '$' };
	if (p->tok.kind != TOK_VAR) {
		if (parse_expected(p, "a parameter"))
			diag_hint(p->diag, "fn name($a: int64, $b: string[16]): int64 { … }");
		return false;
	}
	parse_advance(p);
	if (!parse_expect(p, TOK_COLON, "and a type after the parameter"))
		return false;
	param->type = parse_type(p);
	return param->type != NULL;
}

static bool is_void(const struct type_ref *t)
{
	return t->name && !*t->keyword && str_eq(t->name, "void") && !t->suffix_cnt;
}

static bool macro_head(struct parser *p, struct macro *m)
{
	const char *what = m->is_fn ? "function" : "macro";
	vec(struct macro_param) params = {};

	parse_advance(p);
	m->name = p->tok.text;
	m->span = p->tok.span;
	parse_advance(p);
	if (!parse_expect(p, TOK_LPAREN, arena_printf(p->arena, "after the %s's name", what)))
		return false;
	if (p->tok.kind != TOK_RPAREN) {
		do {
			struct macro_param param;

			if (m->is_fn ? !fn_param(p, &param) : !macro_param(p, &param))
				return false;
			vec_for(o, &params) {
				if (o->kind == param.kind && str_eq(o->name, param.name)) {
					diag_error(p->diag, param.span, E_REDECLARED, "there is a parameter '%s' already",
						   param.name);
					return false;
				}
			}
			avec_push(p->arena, &params, param);
		} while (parse_accept(p, TOK_COMMA));
	}
	m->params = params.at;
	m->param_cnt = params.cnt;
	if (!parse_expect(p, TOK_RPAREN, "after the parameters"))
		return false;
	if (m->is_fn && parse_accept(p, TOK_COLON)) {
		m->result = parse_type(p);
		if (!m->result)
			return false;
		if (is_void(m->result))
			m->result = NULL;
	}
	if (p->tok.kind == TOK_LBRACE)
		return true;
	parse_expected(p, arena_printf(p->arena, "'{' to begin the %s's body", what));
	return false;
}

/* macro = "macro" name "(" [ marg { "," marg } ] ")" block ;
 * fn = "fn" name "(" [ farg { "," farg } ] ")" [ ":" type ] block ; */
static void macro(struct parser *p, bool is_fn)
{
	struct macro m = { .is_fn = is_fn };

	parse_advance(p);
	if (!macro_head(p, &m)) {
		parse_skip_to_block_end(p);
		unread(p);
		return;
	}
	m.body = parse_block(p);
	if (!is_fn)
		m.value = parse_take_value(p, m.body);
	avec_push(p->arena, &p->script->macros, m);
}

/* ---- config ---- */

/* cval = integer | string | "true" | "false" | name ; */
static bool config_value(struct parser *p, struct config_item *item)
{
	const struct token *t = &p->tok;

	item->num = t->num;
	item->text = t->text;
	if (t->kind == TOK_INT) {
		item->kind = CONFIG_INT;
		item->text = arena_strndup(p->arena, p->lex.text + t->span.begin, t->span.end - t->span.begin);
	} else if (t->kind == TOK_STR) {
		item->kind = CONFIG_STRING;
	} else if (t->kind == TOK_TRUE || t->kind == TOK_FALSE) {
		item->kind = CONFIG_BOOL;
		item->num = t->kind == TOK_TRUE;
	} else if (t->kind == TOK_IDENT) {
		item->kind = CONFIG_WORD;
	} else {
		parse_expected(p, "a value: a number, a string, true, false or a word");
		return false;
	}
	item->span = span_join(item->span, t->span);
	parse_advance(p);
	return true;
}

/* config_item = name "=" cval ; */
static bool config_item(struct parser *p)
{
	struct config_item item = { .span = p->tok.span, .name = p->tok.text };

	if (p->tok.kind != TOK_IDENT) {
		parse_expected(p, "the name of a configuration variable");
		return false;
	}
	parse_advance(p);
	if (!parse_expect(p, TOK_ASSIGN, "after the name") || !config_value(p, &item))
		return false;
	avec_push(p->arena, &p->script->config, item);
	if (p->tok.kind == TOK_RBRACE || p->tok.kind == TOK_END)
		return true;
	return parse_expect(p, TOK_SEMI, "between configuration variables");
}

/* Whether there are probes or map declarations; those of imported files do not count. */
static bool has_items(const struct parser *p)
{
	vec_for(pr, &p->script->probes)
		if ((*pr)->span.src == p->lex.src)
			return true;
	vec_for(d, &p->script->map_decls)
		if (d->span.src == p->lex.src)
			return true;
	return false;
}

/* config = "config" "=" "{" [ config_item { ";" config_item } [ ";" ] ] "}" ; */
static void config_block(struct parser *p)
{
	struct span at, open;

	parse_advance(p);
	at = p->tok.span;
	if (p->is_import) {
		diag_error(p->diag, at, E_IMPORT, "a file that is imported cannot have a config block");
	} else if (p->has_config) {
		diag_error(p->diag, at, E_SYNTAX, "a script has only one config block");
	} else if (has_items(p)) {
		diag_error(p->diag, at, E_SYNTAX, "the config block must come before all probes and map declarations");
	}
	p->has_config = true;
	parse_advance(p); /* the caller has seen "=" and "{" */
	parse_advance(p);
	open = p->tok.span;
	parse_advance(p);
	while (p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_END) {
		if (config_item(p))
			continue;
		p->lex.quiet = true;
		while (p->tok.kind != TOK_SEMI && p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_END)
			parse_advance(p);
		p->lex.quiet = false;
		parse_accept(p, TOK_SEMI);
	}
	if (p->tok.kind == TOK_END && parse_end_is_news(p))
		diag_error(p->diag, open, E_UNTERMINATED, "this config block is not closed");
}

/* ---- map declarations ---- */

static const char *const map_kinds[] = { "hash", "lruhash", "percpuhash", "percpulruhash" };

static bool map_kind(struct parser *p, struct map_decl *d)
{
	const char *near;

	d->kind = p->tok.text;
	for (u32 i = 0; p->tok.kind == TOK_IDENT && i < ARRAY_CNT(map_kinds); i++) {
		if (str_eq(d->kind, map_kinds[i])) {
			parse_advance(p);
			return true;
		}
	}
	if (p->tok.kind != TOK_IDENT) {
		parse_expected(p, "a kind of map, as in 'let @m = hash(100);'");
		return false;
	}
	diag_error(p->diag, p->tok.span, E_UNKNOWN_TYPE, "there is no kind of map called '%s'", d->kind);
	near = nearest_name(d->kind, map_kinds, ARRAY_CNT(map_kinds));
	if (near)
		diag_hint(p->diag, "did you mean '%s'?", near);
	diag_hint(p->diag, "the kinds are hash, lruhash, percpuhash and percpulruhash");
	parse_advance(p);
	return true;
}

/* mapdecl = "let" map "=" name "(" integer ")" [ ";" ] ; */
static bool map_decl(struct parser *p)
{
	struct map_decl d = { .span = p->tok.span };

	parse_advance(p);
	if (p->tok.kind != TOK_MAP) {
		if (parse_expected(p, "a map after 'let'"))
			diag_hint(p->diag, "only maps can be declared outside of probes: let @m = hash(100);");
		return false;
	}
	d.map = p->tok.text;
	parse_advance(p);
	if (!parse_expect(p, TOK_ASSIGN, "after the map") || !map_kind(p, &d) ||
	    !parse_expect(p, TOK_LPAREN, "after the kind of map"))
		return false;
	if (p->tok.kind != TOK_INT) {
		parse_expected(p, "the number of entries");
		return false;
	}
	d.max_entries = p->tok.num;
	if (!d.max_entries || d.max_entries > UINT32_MAX) {
		diag_error(p->diag, p->tok.span, E_BAD_LITERAL, "a map has 1 to 4294967295 entries");
	}
	parse_advance(p);
	if (!parse_expect(p, TOK_RPAREN, "after the number of entries"))
		return false;
	d.span = span_join(d.span, p->prev);
	avec_push(p->arena, &p->script->map_decls, d);
	parse_accept(p, TOK_SEMI);
	return true;
}

static void map_decl_item(struct parser *p)
{
	parse_advance(p);
	if (!map_decl(p)) {
		/* To the `;`, but not past what looks like the body of the next probe. */
		while (p->tok.kind != TOK_SEMI && p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_END)
			parse_advance(p);
		if (p->tok.kind == TOK_LBRACE)
			parse_skip_balanced(p);
		else
			parse_accept(p, TOK_SEMI);
	}
	unread(p);
}

/* ---- probes ---- */

/* From raw text on, over what is left of a broken item, its block included. */
static void skip_item(struct parser *p)
{
	p->lex.quiet = true;
	parse_advance(p);
	parse_skip_to_block_end(p);
	p->lex.quiet = false;
	if (p->tok.kind != TOK_RBRACE)
		unread(p);
}

/* predicate = "/" expr "/" ; where the closing "/" is the one that "{" follows. */
static void predicate(struct parser *p, struct probe *pr)
{
	p->lex.pos++;
	p->in_predicate = true;
	p->links = 0;
	parse_advance(p);
	pr->pred = parse_expr(p);
	p->in_predicate = false;
	if (pr->pred && p->tok.kind == TOK_SLASH) {
		parse_advance(p);
		return;
	}
	if (pr->pred && parse_expected_after_expr(p, "'/' to end the predicate") && p->tok.kind != TOK_ASSIGN)
		diag_hint(p->diag, "a predicate is an expression between slashes, followed by the probe's '{'");
	p->lex.quiet = true;
	while (p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_END)
		parse_advance(p);
	p->lex.quiet = false;
}

/* probe = attach { "," attach } [ "," ] [ predicate ] block ; */
static void probe(struct parser *p)
{
	struct probe *pr = arena_new(p->arena, struct probe);
	u32 begin = p->lex.pos, errors = p->diag->error_cnt;

	if (!parse_attach_points(p, pr)) {
		skip_item(p);
		return;
	}
	if (byte_at(p, p->lex.pos) == '/')
		predicate(p, pr);
	else
		parse_advance(p);
	if (p->tok.kind != TOK_LBRACE) {
		if (errors == p->diag->error_cnt)
			parse_expected(p, "'{' to begin the probe's actions");
		unread(p);
		skip_item(p);
		return;
	}
	pr->body = parse_block(p);
	pr->span = (struct span){ p->lex.src, begin, p->tok.span.end };
	avec_push(p->arena, &p->script->probes, pr);
}

/* What cannot begin an item. */
static void stray(struct parser *p, int c)
{
	struct span at = { p->lex.src, p->lex.pos, p->lex.pos + 1 };

	if (c == '}') {
		diag_error(p->diag, at, E_SYNTAX, "this '}' has no matching '{'");
		diag_hint(p->diag, "the probe above is already closed");
		p->lex.pos++;
	} else if (c == ';') {
		diag_error(p->diag, at, E_SYNTAX, "no ';' is needed after a probe");
		p->lex.pos++;
	} else {
		diag_error(p->diag, at, E_SYNTAX, "expected an attach point, found '%c'", c);
		diag_hint(p->diag, "a probe looks like this: kprobe:vfs_read { @reads = count(); }");
		skip_item(p);
	}
}

/* item = config | import | mapdecl | macro | fn | cpp_line | c_type | probe ; */
static void item(struct parser *p)
{
	int c = byte_at(p, p->lex.pos);
	u32 after;

	if (c == '#')
		cpp_line(p);
	else if (strchr("{};,/()[]=<>|&!?:", c) && c)
		stray(p, c);
	else if (word_at(p, "struct", &after) || word_at(p, "union", &after) || word_at(p, "enum", &after) ||
		 word_at(p, "typedef", &after))
		cdecl_parse(p->cpp, &p->lex);
	else if (config_at(p))
		config_block(p);
	else if (word_at(p, "import", &after) && byte_at(p, after) == '"')
		parse_import(p);
	else if (word_at(p, "macro", &after) && isalpha(byte_at(p, after)))
		macro(p, false);
	else if (word_at(p, "fn", &after) && isalpha(byte_at(p, after)))
		macro(p, true);
	else if (word_at(p, "let", &after))
		map_decl_item(p);
	else
		probe(p);
}

/* program = [ shebang ] { item } ; the order of items is checked where an item comes too late. */
void parse_items(struct parser *p, u32 src)
{
	const char *text = cpp_run(p->cpp, src);

	lex_init(&p->lex, p->arena, p->diag, src);
	p->lex.text = text;
	for (;;) {
		u32 begin;

		lex_skip_space(&p->lex);
		begin = p->lex.pos;
		if (begin >= p->lex.len)
			break;
		if (gave_up(p))
			break;
		item(p);
		/* Every item consumes text; if one does not, do not loop forever. */
		if (p->lex.pos <= begin)
			p->lex.pos = begin + 1;
	}
}

bool lang_parse(struct compile *c, u32 src)
{
	struct cpp cpp;
	struct imports imports = {};
	struct parser p = {
		.c = c, .arena = c->arena, .diag = c->diag, .cpp = &cpp, .imports = &imports, .grouping_at = NOWHERE
	};

	p.errors_before = c->diag->error_cnt;

	c->script = p.script = arena_new(c->arena, struct script);
	p.script->src = src;
	cpp_init(&cpp, c, &p);
	imports_add(&p, src);
	parse_items(&p, src);
	if (!c->parse_only && c->diag->error_cnt == p.errors_before)
		c->script_types = cdecl_types(&cpp);
	cpp_release(&cpp);
	if (gave_up(&p))
		diag_error_nowhere(c->diag, E_SYNTAX, "too many errors: the rest of the script was not read");
	if (c->parse_only)
		return c->diag->error_cnt == p.errors_before;
	if (c->diag->error_cnt == p.errors_before && !p.script->probes.cnt) {
		diag_error_nowhere(c->diag, E_EMPTY_SCRIPT, "the script has no probe");
		diag_hint(c->diag, "the shortest one is: begin { printf(\"hello\\n\"); }");
	}
	return c->diag->error_cnt == p.errors_before && lang_macros(c);
}
