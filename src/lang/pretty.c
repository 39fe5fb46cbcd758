/* SPDX-License-Identifier: GPL-2.0-only */
/* Places pieces on lines. First it builds a tree: a statement is a list of parts, each a piece or a block of statements; items of
 * the top level are statements, too. Then each statement is tried on one line. If it does not fit, or holds a block that needs
 * more lines, it is written as segments between its blocks, and segments that are too long are broken where the fewest brackets
 * are open. */
#include "lang/pretty.h"

#include "base/vec.h"

#define WIDTH 100
#define TAB 8
/* The indentation of a continuation line: not a tab, so that it does not look like the block that follows. */
#define CONTINUE 4

struct node;

struct part {
	const struct piece *piece; /* a block: its `{` */
	struct group *block;       /* NULL: only a piece */
};

struct node {
	vec(struct part) parts;
	bool is_probe;
};

/* The statements between braces, or all items. */
struct group {
	vec(struct node *) nodes;
	const struct piece *close; /* the `}`, NULL at the top level */
	bool is_list;              /* enum, config: several may share a line */
	bool by_comma;             /* an enum */
};

struct pretty {
	struct arena *arena;
	struct diag *diag;
	u32 src;
	struct pieces ps;
	u32 at; /* the next piece */
	struct sbuf *out;
};

/* ---- the tree ---- */

static const struct piece *look(const struct pretty *p)
{
	return p->at < p->ps.cnt ? &p->ps.at[p->at] : NULL;
}

/* The next piece that is no comment or preprocessor line. */
static const struct piece *look_ahead(const struct pretty *p)
{
	for (u32 i = p->at; i < p->ps.cnt; i++)
		if (p->ps.at[i].kind == PIECE_TOKEN || p->ps.at[i].kind == PIECE_RAW)
			return &p->ps.at[i];
	return NULL;
}

static bool is_silent(const struct piece *p)
{
	return p->kind == PIECE_COMMENT || p->kind == PIECE_DIRECTIVE;
}

/* Whether a statement may go on behind the `}` of a block in it. */
static bool goes_on(const struct pretty *p, const struct node *n, u32 parens)
{
	const struct piece *next = look_ahead(p), *first = n->parts.at[0].piece;

	if (!next || next->kind != PIECE_TOKEN)
		return false;
	if (parens || next->tok == TOK_ELSE || next->tok == TOK_SEMI)
		return true;
	if (first->is_c)
		return next->is_c && next->tok != TOK_RBRACE;
	if (piece_is(first, TOK_IF) || piece_is(first, TOK_WHILE) || piece_is(first, TOK_FOR) || piece_is(first, TOK_UNROLL) ||
	    piece_is(first, TOK_LBRACE))
		return false;
	return next->tok >= TOK_SHL_ASSIGN && next->tok != TOK_PLUS_PLUS && next->tok != TOK_MINUS_MINUS &&
		next->tok != TOK_RBRACE && next->tok != TOK_LBRACE && next->tok != TOK_LPAREN;
}

static struct group *read_group(struct pretty *p, bool is_top, bool is_list, bool by_comma);

static bool word_is(const struct pretty *p, const struct piece *at, const char *word)
{
	return at && at->end - at->begin == strlen(word) && !memcmp(p->ps.text + at->begin, word, strlen(word));
}

static void read_block(struct pretty *p, struct node *n)
{
	const struct piece *first = n->parts.cnt ? n->parts.at[0].piece : look(p), *open = look(p);
	bool is_enum = false, is_config = word_is(p, first, "config") && n->parts.cnt == 2;

	for (u32 i = 0; i < n->parts.cnt; i++)
		is_enum |= piece_is(n->parts.at[i].piece, TOK_ENUM);
	is_enum &= open->is_c;
	p->at++;
	avec_push(p->arena, &n->parts, (struct part){ open, read_group(p, false, is_enum || is_config, is_enum) });
}

static struct node *read_node(struct pretty *p, bool by_comma)
{
	struct node *n = arena_new(p->arena, struct node);
	const struct piece *x;
	u32 parens = 0;

	n->is_probe = look(p)->kind == PIECE_RAW;
	while ((x = look(p))) {
		if (piece_is(x, TOK_RBRACE))
			break;
		if (piece_is(x, TOK_LBRACE)) {
			read_block(p, n);
			if (p->ps.at[p->at - 1].ends_item || !goes_on(p, n, parens))
				break;
			continue;
		}
		p->at++;
		avec_push(p->arena, &n->parts, (struct part){ x });
		/* A comment or preprocessor line between statements stands for itself. */
		if (is_silent(x) && n->parts.cnt == 1)
			break;
		parens += piece_is(x, TOK_LPAREN);
		parens -= piece_is(x, TOK_RPAREN) && parens;
		if (x->ends_item || (!parens && (piece_is(x, TOK_SEMI) || (by_comma && piece_is(x, TOK_COMMA)))))
			break;
	}
	/* Behind the last token of a statement without `;` a comment is the next statement. */
	while (n->parts.cnt > 1 && !n->parts.at[n->parts.cnt - 1].block && is_silent(n->parts.at[n->parts.cnt - 1].piece)) {
		n->parts.cnt--;
		p->at--;
	}
	return n;
}

static struct group *read_group(struct pretty *p, bool is_top, bool is_list, bool by_comma)
{
	struct group *g = arena_new(p->arena, struct group);

	g->is_list = is_list;
	g->by_comma = by_comma;
	while (look(p)) {
		if (!piece_is(look(p), TOK_RBRACE)) {
			avec_push(p->arena, &g->nodes, read_node(p, by_comma));
			continue;
		}
		if (is_top) {
			diag_error(p->diag, (struct span){ p->src, look(p)->begin, look(p)->end }, E_UNSUPPORTED,
				   "this '}' has no matching '{' when all branches of #if are read");
			diag_hint(p->diag, "give each branch all of its braces");
			p->at++;
			continue;
		}
		g->close = look(p);
		p->at++;
		return g;
	}
	if (!is_top) {
		diag_error_nowhere(p->diag, E_UNSUPPORTED, "a '{' is not closed when all branches of #if are read");
		diag_hint(p->diag, "give each branch all of its braces");
	}
	return g;
}

/* ---- between two pieces ---- */

/* Whether the lexer would take the two for one token, or for the beginning of a comment. */
static bool would_join(const struct piece *a, const struct piece *b)
{
	if (a->opens_pred)
		return b->tok == TOK_STAR || b->tok == TOK_SLASH;
	return a->is_prefix && b->is_prefix &&
		(((a->tok == TOK_MINUS || a->tok == TOK_MINUS_MINUS) && (b->tok == TOK_MINUS || b->tok == TOK_MINUS_MINUS)) ||
		 (a->tok == TOK_AMP && b->tok == TOK_AMP));
}

static bool wants_space(const struct piece *a, const struct piece *b)
{
	bool a_is_word, opens;

	if (!a)
		return false;
	if (a->kind != PIECE_TOKEN || b->kind != PIECE_TOKEN)
		return !(piece_is(b, TOK_COMMA) || piece_is(b, TOK_RPAREN) || piece_is(b, TOK_SEMI) || a->is_prefix ||
			 b->is_prefix) ||
			is_silent(a) || is_silent(b);
	if (would_join(a, b))
		return true;
	if (a->opens_pred || b->closes_pred)
		return false;
	if (b->opens_pred || a->closes_pred)
		return true;
	if (b->tok == TOK_COMMA || b->tok == TOK_SEMI || b->tok == TOK_RPAREN || b->tok == TOK_RBRACKET)
		return false;
	if (a->tok == TOK_LPAREN || a->tok == TOK_LBRACKET || a->is_prefix || a->ends_cast || b->is_postfix || b->is_annotation)
		return false;
	if (a->tok == TOK_DOT || b->tok == TOK_DOT || a->tok == TOK_ARROW || b->tok == TOK_ARROW || a->tok == TOK_DOT_DOT ||
	    b->tok == TOK_DOT_DOT)
		return false;
	if (a->is_star)
		return b->tok == TOK_ASSIGN || b->tok == TOK_LBRACE;
	a_is_word = a->tok == TOK_IDENT || a->tok == TOK_VAR || a->tok == TOK_MAP || a->tok == TOK_PARAM || a->tok == TOK_INT ||
		a->tok == TOK_STR;
	opens = b->tok == TOK_LBRACKET || b->tok == TOK_LPAREN;
	/* A pointer to a function: int (*f)(int) */
	if (b->is_c && b->tok == TOK_LPAREN && a->tok == TOK_IDENT && b[1].is_star)
		return true;
	if (opens && (a_is_word || a->tok == TOK_RPAREN || a->tok == TOK_RBRACKET))
		return false;
	if (a->tok == TOK_QUESTION && b->tok == TOK_COLON)
		return false;
	if (b->tok == TOK_LPAREN &&
	    (a->tok == TOK_SIZEOF || a->tok == TOK_OFFSETOF || a->tok == TOK_TYPEOF || a->tok == TOK_TYPEINFO))
		return false;
	return true;
}

/* ---- one line ---- */

static u32 piece_len(const struct piece *x)
{
	return x->end - x->begin;
}

static bool has_newline(const struct pretty *p, u32 begin, u32 end)
{
	return memchr(p->ps.text + begin, '\n', end - begin) != NULL;
}

static bool is_line_comment(const struct pretty *p, const struct piece *x)
{
	return x->kind == PIECE_COMMENT && p->ps.text[x->begin + 1] == '/';
}

/* A piece that ends the line that it is on, or takes several. */
static bool breaks_line(const struct pretty *p, const struct piece *x)
{
	return x->kind == PIECE_DIRECTIVE || is_line_comment(p, x) ||
		(x->kind == PIECE_COMMENT && has_newline(p, x->begin, x->end));
}

static bool flat_node(struct pretty *p, const struct node *n, struct sbuf *out);

static bool flat_block(struct pretty *p, const struct part *part, struct sbuf *out)
{
	const struct group *g = part->block;

	if (!g->nodes.cnt) {
		sbuf_puts(out, "{}");
		return true;
	}
	if (!g->close || has_newline(p, part->piece->begin, g->close->end) || (g->nodes.cnt > 1 && !g->is_list))
		return false;
	sbuf_puts(out, "{ ");
	vec_for(n, &g->nodes) {
		if (!flat_node(p, *n, out))
			return false;
		sbuf_putc(out, ' ');
	}
	sbuf_putc(out, '}');
	return true;
}

/* Whether attach points stand on lines of their own. */
static bool is_long_head(const struct node *n)
{
	for (u32 i = 1; n->is_probe && i < n->parts.cnt && !n->parts.at[i].block && !n->parts.at[i].piece->opens_pred; i++)
		if (piece_is(n->parts.at[i - 1].piece, TOK_COMMA) && n->parts.at[i].piece->newlines)
			return true;
	return false;
}

/* False: it does not go on one line. */
static bool flat_node(struct pretty *p, const struct node *n, struct sbuf *out)
{
	const struct piece *before = NULL;

	if (is_long_head(n))
		return false;
	vec_for(part, &n->parts) {
		if (breaks_line(p, part->piece) && !(n->parts.cnt == 1 && !has_newline(p, part->piece->begin, part->piece->end)))
			return false;
		if (wants_space(before, part->piece))
			sbuf_putc(out, ' ');
		if (part->block) {
			if (!flat_block(p, part, out))
				return false;
			before = part->block->close;
		} else {
			sbuf_add(out, p->ps.text + part->piece->begin, piece_len(part->piece));
			before = part->piece;
		}
	}
	return true;
}

/* ---- several lines ---- */

struct word {
	const struct piece *piece;
	bool space;      /* before it, unless it begins a line */
	bool must_break; /* a line begins with it */
	u32 depth;       /* cost of a line that begins with it; UINT32_MAX: it cannot */
};

struct segment {
	vec(struct word) words;
	u32 depth;
};

static u32 tabs(struct pretty *p, u32 indent, u32 more)
{
	sbuf_fill(p->out, '\t', indent);
	sbuf_fill(p->out, ' ', more);
	return indent * TAB + more;
}

/* A comment over several lines keeps its shape: all lines move as far as the first. */
static void put_comment(struct pretty *p, const struct piece *x, u32 column)
{
	const char *s = p->ps.text + x->begin, *end = p->ps.text + x->end;
	int shift = (int)column - (int)x->column;

	for (;;) {
		const char *nl = memchr(s, '\n', end - s), *stop = nl ? nl : end;
		int col = 0;

		while (stop > s && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
			stop--;
		sbuf_add(p->out, s, stop - s);
		if (!nl)
			return;
		sbuf_putc(p->out, '\n');
		for (s = nl + 1; s < end && (*s == ' ' || *s == '\t'); s++)
			col = *s == '\t' ? (col + TAB) / TAB * TAB : col + 1;
		if (s < end && *s != '\n' && *s != '\r') {
			col = MAX(col + shift, 0);
			sbuf_fill(p->out, '\t', col / TAB);
			sbuf_fill(p->out, ' ', col % TAB);
		}
	}
}

static void put_word(struct pretty *p, const struct piece *x, u32 column)
{
	if (x->kind == PIECE_COMMENT)
		put_comment(p, x, column);
	else
		sbuf_add(p->out, p->ps.text + x->begin, piece_len(x));
}

static bool is_infix(const struct piece *x)
{
	if (x->kind != PIECE_TOKEN || x->is_prefix || x->is_postfix || x->is_star || x->is_annotation || x->opens_pred ||
	    x->closes_pred)
		return false;
	return (x->tok >= TOK_SHL && x->tok <= TOK_LOR) || (x->tok >= TOK_PLUS && x->tok <= TOK_CARET) || x->tok == TOK_LT ||
		x->tok == TOK_GT || x->tok == TOK_QUESTION || x->tok == TOK_COLON;
}

static bool is_assign(const struct piece *x)
{
	return x->kind == PIECE_TOKEN &&
		(x->tok == TOK_ASSIGN || x->tok == TOK_SHL_ASSIGN || x->tok == TOK_SHR_ASSIGN ||
		 (x->tok >= TOK_ADD_ASSIGN && x->tok <= TOK_XOR_ASSIGN));
}

/* What it costs to begin a line behind `a`: how deep it is in brackets, and how much belongs together there. */
static u32 break_cost(const struct piece *a, u32 depth)
{
	if (piece_is(a, TOK_COMMA))
		return 4 * depth;
	if (is_infix(a))
		return 4 * depth +
			(a->tok == TOK_LAND || a->tok == TOK_LOR || a->tok == TOK_QUESTION || a->tok == TOK_COLON ? 1 : 2);
	if (piece_is(a, TOK_LPAREN))
		return 4 * depth + 3;
	if (is_assign(a))
		return 6;
	return UINT32_MAX;
}

static void add_word(struct pretty *p, struct segment *s, const struct piece *x)
{
	const struct piece *before = s->words.cnt ? s->words.at[s->words.cnt - 1].piece : NULL;
	struct word w = { .piece = x,
			  .space = wants_space(before, x),
			  .depth = before ? break_cost(before, s->depth) : UINT32_MAX };

	if (before)
		w.must_break = breaks_line(p, before) || x->kind == PIECE_DIRECTIVE || (x->kind == PIECE_COMMENT && x->newlines);
	s->depth += piece_is(x, TOK_LPAREN) || piece_is(x, TOK_LBRACKET);
	s->depth -= (piece_is(x, TOK_RPAREN) || piece_is(x, TOK_RBRACKET)) && s->depth;
	avec_push(p->arena, &s->words, w);
}

/* Where the line that begins with word i ends: the index of the first word behind it. */
static u32 line_stop(const struct segment *s, u32 i, u32 column)
{
	u32 best = 0, best_cost = UINT32_MAX, used = column;

	for (u32 k = i; k < s->words.cnt; k++) {
		const struct word *w = &s->words.at[k];

		if (k > i && w->must_break)
			return k;
		/* A break must leave a word on this line, and gains nothing directly after its beginning. */
		if (k > i && w->depth != UINT32_MAX && w->depth <= best_cost && (used > column + (WIDTH - column) / 3 || !best)) {
			best = k;
			best_cost = w->depth;
		}
		used += piece_len(w->piece) + (k > i && w->space);
		if (used > WIDTH && best && w->piece->kind != PIECE_COMMENT)
			return best;
	}
	return s->words.cnt;
}

/* Writes the words, from the current column on; continuation lines are indented. */
static void put_segment(struct pretty *p, struct segment *s, u32 indent, u32 column)
{
	for (u32 i = 0; i < s->words.cnt;) {
		u32 stop = line_stop(s, i, column);

		for (u32 k = i; k < stop; k++) {
			const struct piece *x = s->words.at[k].piece;

			if (k > i && s->words.at[k].space) {
				sbuf_putc(p->out, ' ');
				column++;
			}
			put_word(p, x, column);
			column += piece_len(x);
		}
		i = stop;
		if (i < s->words.cnt) {
			sbuf_putc(p->out, '\n');
			column = s->words.at[i].piece->kind == PIECE_DIRECTIVE ? 0 : tabs(p, indent, CONTINUE);
		}
	}
	s->words.cnt = s->depth = 0;
}

static u32 segment_width(const struct segment *s)
{
	u32 used = 0;

	vec_for(w, &s->words)
		used += w->piece->kind == PIECE_COMMENT && w == s->words.at + s->words.cnt - 1 ? 0 :
												 piece_len(w->piece) + w->space;
	return used;
}

static void put_group(struct pretty *p, const struct group *g, u32 indent);

/* The part of a probe before its block: on one line if that is how it was written and it fits; else a line for each attach point,
 * the predicate and the brace. Returns the index of the block's part. */
static u32 put_head(struct pretty *p, const struct node *n)
{
	struct segment s = {};
	bool has_break = is_long_head(n), in_pred = false;
	u32 i;

	for (i = 0; i < n->parts.cnt && !n->parts.at[i].block; i++) {
		add_word(p, &s, n->parts.at[i].piece);
		has_break |= breaks_line(p, n->parts.at[i].piece);
	}
	if (!has_break && segment_width(&s) + 2 <= WIDTH) {
		put_segment(p, &s, 0, 0);
		sbuf_putc(p->out, ' ');
		return i;
	}
	s = (struct segment){};
	for (u32 k = 0; k < i; k++) {
		const struct piece *x = n->parts.at[k].piece;
		bool is_behind = x->kind == PIECE_COMMENT && !x->newlines; /* a comment on the line of what is before it */

		if (k && !is_behind &&
		    (x->opens_pred ||
		     (!in_pred && (is_silent(x) || !piece_is(x, TOK_COMMA)) && s.words.cnt &&
		      !s.words.at[s.words.cnt - 1].piece->is_prefix && !x->is_prefix))) {
			put_segment(p, &s, 0, 0);
			sbuf_putc(p->out, '\n');
		}
		in_pred |= x->opens_pred;
		add_word(p, &s, x);
	}
	put_segment(p, &s, 0, 0);
	sbuf_putc(p->out, '\n');
	return i;
}

static void put_broken(struct pretty *p, const struct node *n, u32 indent)
{
	struct segment s = {};
	u32 column = indent * TAB, i = 0;

	if (n->is_probe)
		i = put_head(p, n);
	for (; i < n->parts.cnt; i++) {
		const struct part *part = &n->parts.at[i];

		if (!part->block) {
			add_word(p, &s, part->piece);
			continue;
		}
		add_word(p, &s, part->piece);
		put_segment(p, &s, indent, column);
		if (part->block->nodes.cnt) {
			put_group(p, part->block, indent + 1);
			tabs(p, indent, 0);
		}
		column = indent * TAB;
		if (part->block->close)
			add_word(p, &s, part->block->close);
	}
	put_segment(p, &s, indent, column);
}

/* Without the line's end. */
static void put_node(struct pretty *p, const struct node *n, u32 indent)
{
	struct sbuf flat = {};

	if (n->parts.at[0].piece->kind == PIECE_DIRECTIVE) {
		put_word(p, n->parts.at[0].piece, 0);
		return;
	}
	tabs(p, indent, 0);
	if (flat_node(p, n, &flat) && (indent * TAB + flat.len <= WIDTH || n->parts.cnt == 1))
		sbuf_add(p->out, flat.s, flat.len);
	else
		put_broken(p, n, indent);
	sbuf_release(&flat);
}

/* A comment on the line of what is before it. */
static bool is_trailing(const struct node *n)
{
	const struct piece *x = n->parts.at[0].piece;

	return x->kind == PIECE_COMMENT && !x->newlines;
}

/* Behind a `{`: the statements, each on its lines. */
static void put_group(struct pretty *p, const struct group *g, u32 indent)
{
	for (u32 i = 0; i < g->nodes.cnt; i++) {
		const struct node *n = g->nodes.at[i];

		if (is_trailing(n)) {
			sbuf_putc(p->out, ' ');
			put_word(p, n->parts.at[0].piece, n->parts.at[0].piece->column);
			continue;
		}
		sbuf_puts(p->out, i && n->parts.at[0].piece->newlines > 1 ? "\n\n" : "\n");
		put_node(p, n, indent);
	}
	sbuf_putc(p->out, '\n');
}

/* ---- the top level ---- */

static bool is_item(const struct node *n)
{
	return !is_silent(n->parts.at[0].piece);
}

/* The item that a run of comments belongs to: the one right below them; NULL if there is none. */
static const struct node *item_below(const struct group *g, u32 i)
{
	for (; i < g->nodes.cnt; i++) {
		if (is_item(g->nodes.at[i]))
			return g->nodes.at[i];
		if (g->nodes.at[i]->parts.at[0].piece->kind == PIECE_DIRECTIVE)
			return NULL;
		if (i + 1 < g->nodes.cnt && g->nodes.at[i + 1]->parts.at[0].piece->newlines > 1)
			return NULL;
	}
	return NULL;
}

static bool takes_lines(struct pretty *p, const struct node *n)
{
	struct sbuf flat = {};
	bool fits = flat_node(p, n, &flat) && flat.len <= WIDTH;

	sbuf_release(&flat);
	return !fits;
}

static void put_items(struct pretty *p, const struct group *g)
{
	const struct node *above = NULL; /* the item before, if nothing but its comments is between */
	const struct node *item;

	for (u32 i = 0; i < g->nodes.cnt; i++) {
		const struct node *n = g->nodes.at[i];
		const struct piece *first = n->parts.at[0].piece;
		bool wants_blank;

		if (i && is_trailing(n)) {
			sbuf_putc(p->out, ' ');
			put_word(p, first, first->column);
			continue;
		}
		item = item_below(g, i);
		/* Items of several lines stand apart. */
		wants_blank = first->newlines > 1 || (above && item && (takes_lines(p, above) || takes_lines(p, item)));
		if (i)
			sbuf_puts(p->out, wants_blank ? "\n\n" : "\n");
		put_node(p, n, 0);
		above = is_item(n) ? n : NULL;
	}
	if (g->nodes.cnt)
		sbuf_putc(p->out, '\n');
}

bool lang_pretty(struct arena *a, struct diag *d, u32 src, struct sbuf *out)
{
	struct pretty p = { .arena = a, .diag = d, .src = src, .ps = pieces_read(a, d, src), .out = out };
	u32 errors = d->error_cnt;
	struct group *all = read_group(&p, true, false, false);

	if (d->error_cnt > errors)
		return false;
	put_items(&p, all);
	return true;
}
