/* SPDX-License-Identifier: GPL-2.0-only */
#include "lang/parse.h"

static struct stmt *stmt_new(struct parser *p, enum stmt_kind kind, struct span at)
{
	struct stmt *s = arena_new(p->arena, struct stmt);

	s->kind = kind;
	s->span = at;
	return s;
}

/* After an error in the statement at `begin`: to its end. Braces count, parentheses do not, because they may be what is wrong. */
static void recover(struct parser *p, u32 begin)
{
	u32 depth = 0;

	/* The end of the statement is inside the unterminated string. */
	if (parse_is_after_cut(p) && p->tok.span.begin > begin)
		return;
	p->lex.quiet = true;
	for (;;) {
		if (p->tok.kind == TOK_END || (p->tok.kind == TOK_RBRACE && depth == 0))
			break;
		if (p->tok.kind == TOK_SEMI && depth == 0) {
			p->lex.quiet = false;
			parse_advance(p);
			break;
		}
		if (p->tok.kind == TOK_LBRACE)
			depth++;
		if (p->tok.kind == TOK_RBRACE && --depth == 0) {
			/* A block ends a statement, unless an else follows. */
			p->lex.quiet = false;
			parse_advance(p);
			if (p->tok.kind != TOK_ELSE)
				break;
			p->lex.quiet = true;
		}
		parse_advance(p);
	}
	p->lex.quiet = false;
}

static bool on_later_line(const struct parser *p, struct span before, struct span at)
{
	return memchr(p->lex.text + before.end, '\n', at.begin - before.end) != NULL;
}

/* ";", which may be left out before "}". */
static bool end_of_stmt(struct parser *p)
{
	if (parse_accept(p, TOK_SEMI) || p->tok.kind == TOK_RBRACE || p->tok.kind == TOK_END)
		return true;
	if (parse_is_after_cut(p))
		return false;
	diag_error(p->diag, p->prev, E_SYNTAX, "expected ';' after this, found %s", token_describe(&p->lex, &p->tok));
	if (p->tok.kind == TOK_ASSIGN)
		diag_hint(p->diag, "an assignment has no value of its own: write two statements");
	if (p->tok.kind == TOK_LBRACE)
		diag_hint(p->diag, "if this is a new probe, a '}' is missing above it");
	/* A forgotten `;` at the end of a line: nothing else is wrong. */
	return on_later_line(p, p->prev, p->tok.span);
}

/* let = "let" var [ ":" type ] [ "=" expr ] ";" ; */
static bool let_stmt(struct parser *p, struct stmt **out)
{
	struct stmt *s = stmt_new(p, S_LET, p->tok.span);

	parse_advance(p);
	if (p->tok.kind == TOK_MAP) {
		diag_error(p->diag, p->tok.span, E_SYNTAX, "maps are declared outside of probes");
		diag_hint(p->diag, "move this declaration to the top level, or leave it out: maps need none");
		return false;
	}
	if (p->tok.kind != TOK_VAR) {
		parse_expected(p, "a variable after 'let'");
		return false;
	}
	s->let.name = p->tok.text;
	s->let.name_span = p->tok.span;
	parse_advance(p);
	if (parse_accept(p, TOK_COLON)) {
		s->let.type = parse_type(p);
		if (!s->let.type)
			return false;
	}
	if (parse_accept(p, TOK_ASSIGN)) {
		s->let.value = parse_expr(p);
		if (!s->let.value)
			return false;
	}
	s->span = span_join(s->span, p->prev);
	*out = s;
	return end_of_stmt(p);
}

/* cond = expr ; its parentheses are part of it, and so may be left out. */
static struct expr *condition(struct parser *p)
{
	/* In `if (x) print(x);` the braces are missing, it is no cast to x. */
	if (p->tok.kind == TOK_LPAREN)
		p->grouping_at = p->tok.span.begin;
	return parse_expr(p);
}

static struct block *body(struct parser *p, const char *where)
{
	struct block *b;

	if (p->tok.kind != TOK_LBRACE) {
		if (parse_expected_after_expr(p, arena_printf(p->arena, "'{' after %s", where)) && p->tok.kind != TOK_END &&
		    p->tok.kind != TOK_ASSIGN)
			diag_hint(p->diag, "braces are required, even around a single statement");
		return NULL;
	}
	b = parse_block(p);
	parse_advance(p);
	return b;
}

/* A block around one statement that has no braces of its own: an `else if`. */
static struct block *block_of(struct parser *p, struct stmt *s)
{
	struct block *b = arena_new(p->arena, struct block);

	b->span = s->span;
	b->stmts = arena_alloc(p->arena, sizeof(struct stmt *));
	b->stmts[b->cnt++] = s;
	return b;
}

/* if = "if" [ "comptime" ] cond block { "else" "if" [ "comptime" ] cond block } [ "else" block ] ;
 * A loop, not recursion: chains may be long. Links get their span's end and their place in the tree last to first. */
static bool if_chain(struct parser *p, struct stmt **out)
{
	vec(struct stmt *) chain = {};
	struct block *no = NULL;
	struct stmt *s;
	u32 cost = 0;
	bool ok = false;

	for (;;) {
		s = stmt_new(p, S_IF, p->tok.span);
		avec_push(p->arena, &chain, s);
		parse_advance(p);
		s->if_.is_comptime = parse_accept(p, TOK_COMPTIME);
		s->if_.cond = condition(p);
		if (!s->if_.cond)
			goto out;
		/* if (comptime …) says the same. */
		if (s->if_.cond->kind == E_UNARY && s->if_.cond->unary.op == UN_COMPTIME) {
			s->if_.is_comptime = true;
			s->if_.cond = s->if_.cond->unary.a;
		}
		s->if_.yes = body(p, "the condition");
		if (!s->if_.yes)
			goto out;
		if (!parse_accept(p, TOK_ELSE))
			break;
		if (p->tok.kind != TOK_IF) {
			no = body(p, "'else'");
			if (!no)
				goto out;
			break;
		}
		if (!parse_enter(p, 1))
			goto out;
		cost++;
	}
	for (u32 i = chain.cnt; i-- > 0;) {
		s = chain.at[i];
		s->span = span_join(s->span, p->prev);
		s->if_.no = no;
		s->is_open = true;
		no = block_of(p, s);
	}
	*out = chain.at[0];
	ok = true;
out:
	parse_leave(p, cost);
	return ok;
}

static bool if_stmt(struct parser *p, struct stmt **out)
{
	if (!if_chain(p, out))
		return false;
	(*out)->is_open = !parse_accept(p, TOK_SEMI);
	return true;
}

/* ---- blocks with a value ---- */

static bool block_has_value(const struct block *b)
{
	const struct stmt *last = b->cnt ? b->stmts[b->cnt - 1] : NULL;

	if (!last || !last->is_open)
		return false;
	if (last->kind == S_EXPR)
		return true;
	if (last->kind == S_BLOCK)
		return block_has_value(last->block);
	return last->kind == S_IF && last->if_.no && block_has_value(last->if_.yes) && block_has_value(last->if_.no);
}

static struct expr *expr_of(struct parser *p, enum expr_kind kind, struct span at)
{
	struct expr *e = arena_new(p->arena, struct expr);

	e->kind = kind;
	e->span = at;
	return e;
}

static struct expr *block_expr(struct parser *p, struct block *b)
{
	struct expr *value = parse_take_value(p, b), *e;

	if (value && !b->cnt)
		return value;
	e = expr_of(p, E_BLOCK, b->span);
	e->block.body = b;
	e->block.value = value;
	return e;
}

static struct expr *if_expr(struct parser *p, struct stmt *s)
{
	struct expr *e = expr_of(p, E_TERNARY, s->span);

	e->ternary.cond = s->if_.cond;
	e->ternary.is_comptime = s->if_.is_comptime;
	e->ternary.yes = block_expr(p, s->if_.yes);
	e->ternary.no = block_expr(p, s->if_.no);
	return e;
}

struct expr *parse_take_value(struct parser *p, struct block *b)
{
	struct stmt *last;

	if (!block_has_value(b))
		return NULL;
	last = b->stmts[--b->cnt];
	return last->kind == S_EXPR ? last->expr : last->kind == S_BLOCK ? block_expr(p, last->block) : if_expr(p, last);
}

/* blockexpr = "{" { stmt } [ expr ] "}" ; */
struct expr *parse_block_expr(struct parser *p)
{
	struct block *b = parse_block(p);

	parse_advance(p);
	return block_expr(p, b);
}

/* ifexpr = if ; where each branch ends in a value. */
struct expr *parse_if_expr(struct parser *p)
{
	struct block b = {};
	struct stmt *s = NULL;

	if (!if_chain(p, &s))
		return NULL;
	s->is_open = true;
	b.stmts = &s;
	b.cnt = 1;
	if (block_has_value(&b))
		return if_expr(p, s);
	diag_error(p->diag, s->span, E_NO_VALUE, "this 'if' has no value");
	diag_hint(p->diag, "it needs an 'else', and each of its blocks must end in an expression without ';'");
	return expr_of(p, E_INT, s->span);
}

/* loop = ( "while" | "unroll" ) cond block ; */
static bool loop_stmt(struct parser *p, struct stmt **out)
{
	bool is_while = p->tok.kind == TOK_WHILE;
	struct stmt *s = stmt_new(p, is_while ? S_WHILE : S_UNROLL, p->tok.span);

	parse_advance(p);
	s->loop.cond = condition(p);
	if (!s->loop.cond)
		return false;
	s->loop.body = body(p, is_while ? "the condition" : "the number");
	if (!s->loop.body)
		return false;
	s->span = span_join(s->span, p->prev);
	*out = s;
	return true;
}

/* jump = ( "break" | "continue" ) ";" ; */
static bool jump_stmt(struct parser *p, struct stmt **out)
{
	*out = stmt_new(p, p->tok.kind == TOK_BREAK ? S_BREAK : S_CONTINUE, p->tok.span);
	parse_advance(p);
	return end_of_stmt(p);
}

/* for = "for" [ "(" ] var ":" ( map | expr ".." expr ) [ ")" ] block ; */
static bool for_stmt(struct parser *p, struct stmt **out)
{
	struct stmt *s = stmt_new(p, S_FOR, p->tok.span);
	bool has_paren;
	struct expr *e;

	parse_advance(p);
	has_paren = parse_accept(p, TOK_LPAREN);
	if (p->tok.kind != TOK_VAR) {
		if (parse_expected(p, "the loop's variable"))
			diag_hint(p->diag, "for ($i : 0..10) { … } or for ($kv : @map) { … }");
		return false;
	}
	s->for_.name = p->tok.text;
	s->for_.name_span = p->tok.span;
	parse_advance(p);
	if (!parse_expect(p, TOK_COLON, "after the loop's variable"))
		return false;
	e = parse_expr(p);
	if (!e)
		return false;
	if (parse_accept(p, TOK_DOT_DOT)) {
		s->for_.from = e;
		s->for_.to = parse_expr(p);
		if (!s->for_.to)
			return false;
	} else if (e->kind == E_MAP && !e->map.key) {
		s->for_.map = e;
	} else {
		diag_error(p->diag, e->span, E_SYNTAX, "a loop iterates over a range or a map");
		diag_hint(p->diag,
			  e->kind == E_MAP ? "leave out the key: the loop visits all entries" :
					     "for ($i : 0..10) { … } or for ($kv : @map) { … }");
		return false;
	}
	if (has_paren && !parse_expect(p, TOK_RPAREN, "after the range or map"))
		return false;
	s->for_.body = body(p, "the range or map");
	if (!s->for_.body)
		return false;
	s->span = span_join(s->span, p->prev);
	*out = s;
	return true;
}

/* import inside of a block: later. */
static bool unsupported_stmt(struct parser *p)
{
	parse_unsupported(p, p->tok.span, "imports are");
	parse_skip_to_block_end(p);
	return true;
}

/* return = "return" [ expr ] ";" ; */
static bool return_stmt(struct parser *p, struct stmt **out)
{
	struct stmt *s = stmt_new(p, S_RETURN, p->tok.span);

	parse_advance(p);
	if (p->tok.kind != TOK_SEMI && p->tok.kind != TOK_RBRACE) {
		s->ret.expr = parse_expr(p);
		if (!s->ret.expr)
			return false;
	}
	s->span = span_join(s->span, p->prev);
	*out = s;
	return end_of_stmt(p);
}

/* asgop = "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=" ; */
static bool is_assign_op(enum token_kind kind, bool *has_op, enum binary_op *op)
{
	static const struct {
		enum token_kind kind;
		enum binary_op op;
	} ops[] = {
		{ TOK_ADD_ASSIGN, BIN_ADD }, { TOK_SUB_ASSIGN, BIN_SUB }, { TOK_MUL_ASSIGN, BIN_MUL },
		{ TOK_DIV_ASSIGN, BIN_DIV }, { TOK_MOD_ASSIGN, BIN_MOD }, { TOK_AND_ASSIGN, BIN_AND },
		{ TOK_OR_ASSIGN, BIN_OR },   { TOK_XOR_ASSIGN, BIN_XOR }, { TOK_SHL_ASSIGN, BIN_SHL },
		{ TOK_SHR_ASSIGN, BIN_SHR },
	};

	*has_op = false;
	if (kind == TOK_ASSIGN)
		return true;
	for (u32 i = 0; i < ARRAY_CNT(ops); i++) {
		if (ops[i].kind == kind) {
			*has_op = true;
			*op = ops[i].op;
			return true;
		}
	}
	return false;
}

static bool is_discard(const struct expr *e)
{
	return e->kind == E_CALL && !e->call.has_parens && str_eq(e->call.name, "_");
}

static void report_target(struct parser *p, const struct expr *e)
{
	diag_error(p->diag, e->span, E_NOT_ASSIGNABLE, "only variables and maps can be assigned to");
	if (e->kind == E_PARAM)
		diag_hint(p->diag, "positional parameters are constants; copy it to a variable: $x = $1");
	else if (e->kind == E_FIELD || e->kind == E_INDEX)
		diag_hint(p->diag, "traced memory, tuples and the elements of tuples are read-only");
	else if (e->kind == E_CALL && !e->call.has_parens)
		diag_hint(p->diag, "a variable is written $%s, a map @%s", e->call.name, e->call.name);
}

/* expr_stmt = expr ";" | ( var | map [ key ] ) asgop expr ";" | "_" "=" expr ";" ; */
static bool expr_stmt(struct parser *p, struct stmt **out)
{
	struct stmt *s = stmt_new(p, S_EXPR, p->tok.span);
	struct expr *e = parse_expr(p), *value;
	bool has_op;
	enum binary_op op = BIN_ADD;

	if (!e)
		return false;
	s->expr = e;
	if (is_assign_op(p->tok.kind, &has_op, &op)) {
		parse_advance(p);
		value = parse_expr(p);
		if (!value)
			return false;
		if (is_discard(e) && !has_op) {
			s->kind = S_DISCARD;
			s->expr = value;
		} else {
			if (e->kind != E_VAR && e->kind != E_MAP)
				report_target(p, e);
			s->kind = S_ASSIGN;
			s->assign = (typeof(s->assign)){ .target = e, .value = value, .has_op = has_op, .op = op };
		}
	}
	s->span = span_join(s->span, p->prev);
	s->is_open = p->tok.kind == TOK_RBRACE;
	*out = s;
	return end_of_stmt(p);
}

static bool block_stmt(struct parser *p, struct stmt **out)
{
	struct stmt *s = stmt_new(p, S_BLOCK, p->tok.span);

	s->block = parse_block(p);
	parse_advance(p);
	s->span = s->block->span;
	*out = s;
	s->is_open = !parse_accept(p, TOK_SEMI);
	return true;
}

/* stmt = let | if | return | block | expr_stmt | … ; an empty one (";") is nothing.
 * False: an error was reported and the rest of the statement is still there. *out stays NULL if there is nothing to keep. */
static bool stmt(struct parser *p, struct stmt **out)
{
	p->links = 0;
	switch ((int)p->tok.kind) { /* not all tokens: most begin an expression, or nothing */
	case TOK_SEMI:
		parse_advance(p);
		return true;
	case TOK_LET:
		return let_stmt(p, out);
	case TOK_IF:
		return if_stmt(p, out);
	case TOK_RETURN:
		return return_stmt(p, out);
	case TOK_LBRACE:
		return block_stmt(p, out);
	case TOK_WHILE:
	case TOK_UNROLL:
		return loop_stmt(p, out);
	case TOK_BREAK:
	case TOK_CONTINUE:
		return jump_stmt(p, out);
	case TOK_FOR:
		return for_stmt(p, out);
	case TOK_IMPORT:
		return unsupported_stmt(p);
	case TOK_ELSE:
		diag_error(p->diag, p->tok.span, E_SYNTAX, "'else' without an 'if' before it");
		return false;
	}
	return expr_stmt(p, out);
}

/* block = "{" { stmt } "}" ; */
struct block *parse_block(struct parser *p)
{
	struct block *b = arena_new(p->arena, struct block);
	vec(struct stmt *) stmts = {};
	struct span open = p->tok.span;

	BUG_ON(p->tok.kind != TOK_LBRACE);
	b->span = open;
	if (!parse_enter(p, NEST_COST)) {
		parse_skip_inside(p);
		return b;
	}
	parse_advance(p);
	while (p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_END) {
		u32 begin = p->tok.span.begin;
		struct stmt *s = NULL;

		if (!stmt(p, &s))
			recover(p, begin);
		else if (s)
			avec_push(p->arena, &stmts, s);
		/* In any case a token was consumed, or the block ends here. */
		BUG_ON(p->tok.span.begin == begin && p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_END);
	}
	parse_leave(p, NEST_COST);
	b->stmts = stmts.at;
	b->cnt = stmts.cnt;
	b->span.end = p->tok.span.end;
	if (p->tok.kind == TOK_END && parse_end_is_news(p)) {
		diag_error(p->diag, open, E_UNTERMINATED, "this block is not closed");
		diag_hint(p->diag, "its '}' is missing");
	}
	return b;
}
