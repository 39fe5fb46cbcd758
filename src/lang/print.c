/* SPDX-License-Identifier: GPL-2.0-only */
/* The tree as text, for -d ast and -d types: a node a line, children two spaces further in.
 *
 *     probe <1:1>
 *       attach kprobe:vfs_read
 *       predicate
 *         ==
 *           name pid
 *           int 42
 *       body
 *         assign = <2:2>
 *           map @reads
 *             key
 *               name comm
 *           call count
 *
 * Probes and statements show where they begin, <line:column>. With types every expression ends in ` :: type`. Golden tests
 * compare this text, so it changes only together with them. */
#include "lang/compile.h"

const char *const binary_op_text[BIN_CNT] = {
	[BIN_ADD] = "+", [BIN_SUB] = "-", [BIN_MUL] = "*",  [BIN_DIV] = "/",  [BIN_MOD] = "%",   [BIN_AND] = "&",
	[BIN_OR] = "|",  [BIN_XOR] = "^", [BIN_SHL] = "<<", [BIN_SHR] = ">>", [BIN_EQ] = "==",   [BIN_NE] = "!=",
	[BIN_LT] = "<",  [BIN_LE] = "<=", [BIN_GT] = ">",   [BIN_GE] = ">=",  [BIN_LAND] = "&&", [BIN_LOR] = "||",
};

static const char *const unary_op_text[] = {
	[UN_NEG] = "-", [UN_NOT] = "!", [UN_BITNOT] = "~", [UN_DEREF] = "*", [UN_ADDR] = "&", [UN_COMPTIME] = "comptime",
};

struct printer {
	const struct compile *c;
	struct sbuf *out;
	u32 depth;
	bool with_types;
	/* The position that was located last: the next one is usually shortly after it. */
	struct span seen;
	u32 row, col;
};

static void block(struct printer *p, const struct block *b);

static void indent(struct printer *p)
{
	sbuf_fill(p->out, ' ', 2 * p->depth);
}

static void line(struct printer *p, const char *text)
{
	indent(p);
	sbuf_printf(p->out, "%s\n", text);
}

static void place(struct printer *p, struct span at)
{
	const struct source *s = &p->c->diag->sources.at[at.src];

	if (!p->row || at.src != p->seen.src || at.begin < p->seen.begin) {
		p->seen = (struct span){ .src = at.src };
		p->row = p->col = 1;
	}
	for (; p->seen.begin < at.begin && p->seen.begin < s->len; p->seen.begin++) {
		p->col++;
		if (s->text[p->seen.begin] == '\n') {
			p->row++;
			p->col = 1;
		}
	}
	sbuf_printf(p->out, " <%u:%u>\n", p->row, p->col);
}

/* In double quotes, with the escapes of the language; bytes that are no printable ASCII as \xHH. */
static void quoted(struct printer *p, const char *s, u32 len)
{
	sbuf_putc(p->out, '"');
	for (u32 i = 0; i < len; i++) {
		u8 c = s[i];

		if (c == '"' || c == '\\')
			sbuf_printf(p->out, "\\%c", c);
		else if (c == '\n')
			sbuf_puts(p->out, "\\n");
		else if (c == '\t')
			sbuf_puts(p->out, "\\t");
		else if (c == '\r')
			sbuf_puts(p->out, "\\r");
		else if (c < 0x20 || c >= 0x7f)
			sbuf_printf(p->out, "\\x%02x", c);
		else
			sbuf_putc(p->out, c);
	}
	sbuf_putc(p->out, '"');
}

static void type_ref(struct printer *p, const struct type_ref *ref)
{
	bool after_star = false;

	if (*ref->keyword)
		sbuf_printf(p->out, "%s ", ref->keyword);
	if (ref->name) {
		sbuf_puts(p->out, ref->name);
	} else { /* an expression is shown below the node that has it */
		sbuf_puts(p->out, "typeof(");
		if (ref->of_type)
			type_ref(p, ref->of_type);
		else
			sbuf_puts(p->out, "...");
		sbuf_putc(p->out, ')');
	}
	for (u32 i = 0; i < ref->suffix_cnt; i++) {
		const struct type_suffix *s = &ref->suffixes[i];

		if (!s->is_array)
			sbuf_puts(p->out, after_star ? "*" : " *");
		else if (s->has_len)
			sbuf_printf(p->out, "[%u]", s->len);
		else
			sbuf_puts(p->out, "[]");
		after_star = !s->is_array;
	}
}

/* The node's own line, without its end. */
static void head(struct printer *p, const struct expr *e)
{
	switch (e->kind) {
	case E_INT:
		if (e->num.negative)
			sbuf_printf(p->out, "int %lld", (long long)e->num.value);
		else
			sbuf_printf(p->out, "int %llu", (unsigned long long)e->num.value);
		break;
	case E_BOOL:
		sbuf_puts(p->out, e->num.value ? "bool true" : "bool false");
		break;
	case E_CONST:
		sbuf_printf(p->out, "const %lld", (long long)e->num.value);
		break;
	case E_STR:
		sbuf_puts(p->out, "string ");
		quoted(p, e->str.s, e->str.len);
		break;
	case E_PARAM:
		if (e->param.index)
			sbuf_printf(p->out, "param $%u", e->param.index);
		else
			sbuf_puts(p->out, "param $#");
		break;
	case E_CALL:
		sbuf_printf(p->out, "%s %s", e->call.has_parens ? "call" : "name", e->call.name);
		break;
	case E_VAR:
		sbuf_printf(p->out, "var $%s", e->var.name);
		break;
	case E_MAP:
		sbuf_printf(p->out, "map %s", e->map.name);
		break;
	case E_UNARY:
		sbuf_printf(p->out, "unary %s", unary_op_text[e->unary.op]);
		break;
	case E_BINARY:
		sbuf_puts(p->out, binary_op_text[e->binary.op]);
		break;
	case E_TERNARY:
		sbuf_puts(p->out, e->ternary.is_comptime ? "comptime ?:" : "?:");
		break;
	case E_CAST:
		sbuf_puts(p->out, "cast (");
		type_ref(p, e->cast.to);
		sbuf_putc(p->out, ')');
		break;
	case E_FIELD:
		sbuf_printf(p->out, "field .%s", e->field.name);
		break;
	case E_INDEX:
		sbuf_puts(p->out, "index");
		break;
	case E_TUPLE:
		sbuf_puts(p->out, e->tuple.names ? "record" : "tuple");
		for (u32 i = 0; e->tuple.names && i < e->tuple.cnt; i++)
			sbuf_printf(p->out, " %s", e->tuple.names[i]);
		break;
	case E_INCDEC:
		sbuf_printf(p->out, "%s %s", e->incdec.is_post ? "postfix" : "prefix", e->incdec.is_dec ? "--" : "++");
		break;
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		sbuf_puts(p->out,
			  e->kind == E_SIZEOF           ? "sizeof" :
				  e->kind == E_OFFSETOF ? "offsetof" :
				  e->kind == E_TYPEINFO ? "typeinfo" :
							  "type");
		if (e->of.ref) {
			sbuf_puts(p->out, " (");
			type_ref(p, e->of.ref);
			sbuf_putc(p->out, ')');
		}
		for (u32 i = 0; i < e->of.path_cnt; i++)
			sbuf_printf(p->out, "%s%s", i ? "." : " ", e->of.path[i]);
		break;
	case E_BLOCK:
		sbuf_puts(p->out, "block");
		break;
	}
}

static void expr(struct printer *p, const struct expr *e);

static void typeof_expr(struct printer *p, const struct type_ref *ref)
{
	if (ref && !ref->name) {
		typeof_expr(p, ref->of_type);
		expr(p, ref->of_expr);
	}
}

static void expr(struct printer *p, const struct expr *e)
{
	if (!e)
		return;
	indent(p);
	head(p, e);
	if (p->with_types && e->type) {
		sbuf_puts(p->out, " :: ");
		type_print(e->type, p->out);
	}
	sbuf_putc(p->out, '\n');
	p->depth++;
	switch (e->kind) {
	case E_INT:
	case E_BOOL:
	case E_STR:
	case E_PARAM:
	case E_CONST:
	case E_VAR:
		break;
	case E_CALL:
		for (u32 i = 0; i < e->call.arg_cnt; i++)
			expr(p, e->call.args[i]);
		break;
	case E_MAP:
		if (e->map.key) {
			line(p, "key");
			p->depth++;
			expr(p, e->map.key);
			p->depth--;
		}
		break;
	case E_UNARY:
		expr(p, e->unary.a);
		break;
	case E_BINARY:
		expr(p, e->binary.a);
		expr(p, e->binary.b);
		break;
	case E_TERNARY:
		expr(p, e->ternary.cond);
		expr(p, e->ternary.yes);
		expr(p, e->ternary.no);
		break;
	case E_CAST:
		typeof_expr(p, e->cast.to);
		expr(p, e->cast.a);
		break;
	case E_FIELD:
		expr(p, e->field.base);
		break;
	case E_INDEX:
		expr(p, e->index.base);
		expr(p, e->index.index);
		break;
	case E_TUPLE:
		for (u32 i = 0; i < e->tuple.cnt; i++)
			expr(p, e->tuple.elems[i]);
		break;
	case E_INCDEC:
		expr(p, e->incdec.target);
		break;
	case E_SIZEOF:
	case E_OFFSETOF:
	case E_TYPEINFO:
	case E_TYPEOF:
		typeof_expr(p, e->of.ref);
		expr(p, e->of.a);
		break;
	case E_BLOCK:
		block(p, e->block.body);
		if (e->block.value) {
			line(p, "value");
			p->depth++;
			expr(p, e->block.value);
			p->depth--;
		}
		break;
	}
	p->depth--;
}

static void let(struct printer *p, const struct stmt *s)
{
	sbuf_printf(p->out, "let $%s", s->let.name);
	if (s->let.type) {
		sbuf_puts(p->out, ": ");
		type_ref(p, s->let.type);
	}
}

static void named_block(struct printer *p, const char *name, const struct block *b)
{
	if (!b)
		return;
	line(p, name);
	p->depth++;
	block(p, b);
	p->depth--;
}

static void stmt(struct printer *p, const struct stmt *s)
{
	indent(p);
	switch (s->kind) {
	case S_EXPR:
		sbuf_puts(p->out, "expr");
		break;
	case S_ASSIGN:
		sbuf_printf(p->out, "assign %s=", s->assign.has_op ? binary_op_text[s->assign.op] : "");
		break;
	case S_LET:
		let(p, s);
		break;
	case S_IF:
		sbuf_puts(p->out, s->if_.is_comptime ? "if comptime" : "if");
		break;
	case S_BLOCK:
		sbuf_puts(p->out, "block");
		break;
	case S_RETURN:
		sbuf_puts(p->out, "return");
		break;
	case S_DISCARD:
		sbuf_puts(p->out, "discard");
		break;
	case S_WHILE:
		sbuf_puts(p->out, "while");
		break;
	case S_UNROLL:
		sbuf_puts(p->out, "unroll");
		break;
	case S_FOR:
		sbuf_printf(p->out, "for $%s", s->for_.name);
		break;
	case S_BREAK:
		sbuf_puts(p->out, "break");
		break;
	case S_CONTINUE:
		sbuf_puts(p->out, "continue");
		break;
	}
	place(p, s->span);
	p->depth++;
	switch (s->kind) {
	case S_EXPR:
	case S_DISCARD:
		expr(p, s->expr);
		break;
	case S_RETURN:
		expr(p, s->ret.expr);
		break;
	case S_ASSIGN:
		expr(p, s->assign.target);
		expr(p, s->assign.value);
		break;
	case S_LET:
		typeof_expr(p, s->let.type);
		expr(p, s->let.value);
		break;
	case S_IF:
		expr(p, s->if_.cond);
		named_block(p, "then", s->if_.yes);
		named_block(p, "else", s->if_.no);
		break;
	case S_BLOCK:
		block(p, s->block);
		break;
	case S_WHILE:
	case S_UNROLL:
		expr(p, s->loop.cond);
		named_block(p, "body", s->loop.body);
		break;
	case S_FOR:
		expr(p, s->for_.map);
		expr(p, s->for_.from);
		expr(p, s->for_.to);
		named_block(p, "body", s->for_.body);
		break;
	case S_BREAK:
	case S_CONTINUE:
		break;
	}
	p->depth--;
}

static void block(struct printer *p, const struct block *b)
{
	for (u32 i = 0; i < b->cnt; i++)
		stmt(p, b->stmts[i]);
}

static void predicate(struct printer *p, const struct expr *pred)
{
	if (!pred)
		return;
	line(p, "predicate");
	p->depth++;
	expr(p, pred);
	p->depth--;
}

static void attach_point(struct printer *p, const struct attach_point *ap)
{
	indent(p);
	sbuf_puts(p->out, "attach ");
	if (ap->given_name)
		sbuf_printf(p->out, "%s=", ap->given_name);
	sbuf_puts(p->out, ap->text);
	/* With quotes the parts differ from the text, so they are shown. */
	if (strchr(ap->text, '"')) {
		sbuf_puts(p->out, " parts");
		for (u32 i = 0; i < ap->part_cnt; i++)
			sbuf_printf(p->out, " [%s]", ap->parts[i]);
	}
	sbuf_putc(p->out, '\n');
}

static void probe(struct printer *p, const struct probe *pr)
{
	sbuf_puts(p->out, "probe");
	place(p, pr->span);
	p->depth++;
	for (u32 i = 0; i < pr->ap_cnt; i++)
		attach_point(p, &pr->aps[i]);
	predicate(p, pr->pred);
	named_block(p, "body", pr->body);
	p->depth--;
}

static void config(struct printer *p)
{
	const struct script *s = p->c->script;

	if (s->config.cnt)
		line(p, "config");
	p->depth++;
	vec_for(item, &s->config) {
		indent(p);
		sbuf_printf(p->out, "%s = ", item->name);
		switch (item->kind) {
		case CONFIG_INT:
			sbuf_printf(p->out, "%llu", (unsigned long long)item->num);
			break;
		case CONFIG_STRING:
			quoted(p, item->text, strlen(item->text));
			break;
		case CONFIG_BOOL:
		case CONFIG_WORD:
			sbuf_puts(p->out, item->text);
			break;
		}
		sbuf_putc(p->out, '\n');
	}
	p->depth--;
}

void lang_print(const struct compile *c, struct sbuf *out)
{
	struct printer p = { .c = c, .out = out };

	config(&p);
	vec_for(d, &c->script->map_decls) {
		sbuf_printf(out, "declare %s %s %llu", d->map, d->kind, (unsigned long long)d->max_entries);
		place(&p, d->span);
	}
	vec_for(pr, &c->script->probes)
		probe(&p, *pr);
}

static void map(struct printer *p, const struct map *m)
{
	sbuf_printf(p->out, "map %s", m->name);
	if (m->key) {
		sbuf_putc(p->out, '[');
		type_print(m->key, p->out);
		sbuf_putc(p->out, ']');
	}
	sbuf_puts(p->out, " :: ");
	if (m->val)
		type_print(m->val, p->out);
	else
		sbuf_puts(p->out, "unknown");
	sbuf_putc(p->out, '\n');
}

static void unit(struct printer *p, const struct unit *u)
{
	sbuf_printf(p->out, "unit %s\n", u->name ? u->name : "");
	p->depth++;
	for (u32 i = u->site_first; i < u->site_first + u->site_cnt; i++) {
		indent(p);
		sbuf_printf(p->out, "site %s\n", p->c->sites.at[i].name);
	}
	for (u32 i = 0; i < u->vars.cnt; i++) {
		const struct var *v = u->vars.at[i];

		indent(p);
		sbuf_printf(p->out, "var $%s :: ", v->name);
		if (v->type)
			type_print(v->type, p->out);
		else
			sbuf_puts(p->out, "unknown");
		sbuf_putc(p->out, '\n');
	}
	predicate(p, u->pred);
	named_block(p, "body", u->body);
	p->depth--;
}

void lang_print_types(const struct compile *c, struct sbuf *out)
{
	struct printer p = { .c = c, .out = out, .with_types = true };

	for (u32 i = 0; i < c->maps.cnt; i++)
		map(&p, c->maps.at[i]);
	for (u32 i = 0; i < c->units.cnt; i++)
		unit(&p, c->units.at[i]);
}
