/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls: the name is looked up in the function table, and the arguments are checked against the row's signature. */
#include "lang/check.h"
#include "lang/cdecl.h"

#include <ctype.h>

#include "lang/provider.h"

enum param_kind {
	P_INT = 1,
	P_PTR = 2,
	P_STR = 4,
	P_LIT = 8,
	P_STRLIT = 16,
	P_MAP = 32,
	P_ANY = 64,
	P_WORD = 128,
	P_VAR = 256,
	P_TYPE = 1 << 12,
	P_PATH = 1 << 13
};

static const struct {
	const char *word, *name; /* as in signatures, as in messages */
	enum param_kind kind;
} param_kinds[] = {
	{ "int", "integer", P_INT },
	{ "ptr", "pointer", P_PTR },
	{ "str", "string", P_STR },
	{ "lit", "integer literal", P_LIT },
	{ "strlit", "string literal", P_STRLIT },
	{ "map", "map", P_MAP },
	{ "any", "value", P_ANY },
	{ "word", "name", P_WORD },
	{ "var", "variable", P_VAR },
	{ "type", "type (typeof)", P_TYPE },
	{ "path", "member", P_PATH },
};

struct param {
	u32 kinds;
	char name[32];
};

struct signature {
	struct param params[8];
	u32 cnt;
	u32 required;
	bool is_open; /* any number more */
	const char *result;
};

static u32 parse_kinds(const char **s)
{
	u32 kinds = 0;

	for (;;) {
		const char *end = *s;

		while (isalnum((u8)*end) || *end == '_')
			end++;
		for (u32 i = 0; i < ARRAY_CNT(param_kinds); i++)
			if (strlen(param_kinds[i].word) == (size_t)(end - *s) && !strncmp(param_kinds[i].word, *s, end - *s))
				kinds |= param_kinds[i].kind;
		*s = end;
		if (**s != '|')
			return kinds;
		++*s;
	}
}

/* "(ptr|int addr, ?int len) string". Rows are ours: a malformed one is a bug. */
static struct signature parse_signature(const struct fn *fn)
{
	struct signature sig = {};
	const char *s = fn->sig;
	bool optional = false;

	BUG_ON(*s != '(');
	s++;
	while (*s && *s != ')') {
		struct param *p;
		u32 n = 0;

		while (*s == ' ' || *s == ',')
			s++;
		if (str_starts(s, "…")) {
			sig.is_open = true;
			s += strlen("…");
			continue;
		}
		if (*s == '?') {
			optional = true;
			s++;
		}
		BUG_ON(sig.cnt == ARRAY_CNT(sig.params));
		p = &sig.params[sig.cnt++];
		p->kinds = parse_kinds(&s);
		if (!p->kinds)
			BUG("signature of %s: %s", fn->name, fn->sig);
		while (*s == ' ')
			s++;
		while ((isalnum((u8)*s) || *s == '_') && n + 1 < sizeof(p->name))
			p->name[n++] = *s++;
		if (!optional)
			sig.required++;
	}
	BUG_ON(*s != ')');
	for (s++; *s == ' '; s++)
		;
	sig.result = s;
	return sig;
}

static bool arg_fits(const struct expr *a, u32 kinds)
{
	if (kinds & P_ANY)
		return true;
	if ((kinds & P_MAP) && a->kind == E_MAP)
		return true;
	if ((kinds & (P_STRLIT | P_WORD)) && a->kind == E_STR)
		return true;
	if ((kinds & P_LIT) && expr_is_int(a))
		return true;
	if ((kinds & P_INT) && type_is_integral(a->type))
		return true;
	if ((kinds & P_PTR) && (a->type->kind == T_POINTER || a->type->kind == T_ARRAY))
		return true;
	return (kinds & P_STR) && (a->type->kind == T_STRING || a->type->kind == T_SITE);
}

static void describe_kinds(u32 kinds, struct sbuf *out)
{
	bool first = true;

	for (u32 i = 0; i < ARRAY_CNT(param_kinds); i++) {
		if (kinds & param_kinds[i].kind) {
			sbuf_printf(out, "%s%s", first ? "" : " or ", param_kinds[i].name);
			first = false;
		}
	}
}

/* a.b.c, all of it names. */
static bool is_path(const struct expr *e)
{
	while (e->kind == E_FIELD)
		e = e->field.base;
	return e->kind == E_CALL && !e->call.has_parens;
}

struct expr *check_as_str(struct check *k, struct expr *a)
{
	struct expr *str = arena_new(check_arena(k), struct expr);

	*str = (struct expr){ .kind = E_CALL, .span = a->span };
	str->call.name = "str";
	str->call.has_parens = true;
	str->call.args = arena_alloc(check_arena(k), sizeof(*str->call.args));
	str->call.args[0] = a;
	str->call.arg_cnt = 1;
	check_expr(k, str);
	return str;
}

static bool check_arg(struct check *k, struct expr *call, u32 n, u32 kinds, bool keeps_site)
{
	struct expr *a = call->call.args[n];
	struct sbuf want = {};
	u32 tried = k->c->diag->error_cnt;

	a->type = NULL; /* an error of an earlier pass may be gone by now */
	/* A map parameter means the map itself: its value is not read. */
	if ((kinds & P_MAP) && a->kind == E_MAP && !(a->map.key && (kinds & P_ANY))) {
		a->map.is_ref = true;
		if (a->map.key) {
			check_map_key(k, a);
		} else {
			struct map *m = compile_map(k->c, a->map.name);

			/* Its key is not known yet: the rest of the script decides. */
			if (m && m->key_known)
				check_map(k, a, m->has_key);
			a->map.map = m;
		}
		if (!a->type || a->type->kind != T_ERROR)
			a->type = a->map.map && a->map.map->val ? a->map.map->val : &type_s64;
		return k->c->diag->error_cnt == tried && a->type->kind != T_ERROR;
	}
	/* print(@m[k]): a value that cannot be read in an expression is passed as it is. */
	if ((kinds & P_MAP) && a->kind == E_MAP && compile_map(k->c, a->map.name)) {
		const struct type *val = compile_map(k->c, a->map.name)->val;

		if (val && type_is_agg(val) && !type_is_number_agg(val)) {
			a->map.is_ref = true;
			check_map_key(k, a);
			if (!is_poisoned(a))
				a->type = val;
			return !is_poisoned(a);
		}
	}
	/* A variable that receives a value need not exist yet. */
	if ((kinds & P_VAR) && a->kind == E_VAR) {
		a->type = &type_none;
		return true;
	}
	if (kinds & (P_TYPE | P_PATH)) {
		a->type = &type_none;
		if ((kinds & P_TYPE) ? a->kind == E_TYPEOF : is_path(a))
			return true;
		check_fail(k, a, E_ARG_TYPE,
			   (kinds & P_TYPE) ? "%s() expects a type here" : "%s() expects the name of a member here",
			   call->call.name);
		if (kinds & P_TYPE)
			diag_hint(k->c->diag, "write typeof(struct name)");
		return false;
	}
	/* A bare word means itself, and is a string from here on. */
	if ((kinds & P_WORD) && a->kind == E_CALL && !a->call.has_parens) {
		const char *word = a->call.name;

		a->kind = E_STR;
		a->str.s = word;
		a->str.len = strlen(word);
	}
	check_expr(k, a);
	/* The name of a probe is a number until it is needed as text. */
	if ((kinds & P_STR) && !(kinds & P_ANY) && a->type->kind == T_SITE && !keeps_site)
		a = call->call.args[n] = check_as_str(k, a);
	/* A missing positional parameter is 0 or "", whichever is wanted. */
	if (a->kind == E_INT && a->num.is_missing_param && (kinds & (P_STR | P_STRLIT)) && !(kinds & (P_INT | P_ANY))) {
		a->kind = E_STR;
		a->str.s = "";
		a->str.len = 0;
		a->type = type_string(check_arena(k), 1);
	}
	if (is_poisoned(a))
		return false;
	if (a->type->kind == T_NONE) {
		check_fail(k, a, E_NO_VALUE, "this expression has no value");
		return false;
	}
	if (type_is_agg(a->type) && a->kind == E_CALL) {
		check_fail(k, a, E_AGGREGATION, "%s() should be assigned directly to a map", a->call.name);
		diag_hint(k->c->diag, "write: @ = %s(…);", a->call.name);
		return false;
	}
	if (arg_fits(a, kinds))
		return true;
	describe_kinds(kinds, &want);
	if ((kinds & (P_LIT | P_STRLIT)) && !(kinds & ~(P_LIT | P_STRLIT))) {
		check_fail(k, a, E_ARG_TYPE, "%s() expects %s %s (%s provided)", call->call.name,
			   *sbuf_str(&want) == 'i' ? "an" : "a", sbuf_str(&want), type_str(check_arena(k), a->type));
		if (kinds & P_STRLIT)
			diag_hint(k->c->diag, "the text must be in the script itself, in quotes");
	} else {
		check_fail(k, a, E_ARG_TYPE, "%s() only supports %s arguments (%s provided)", call->call.name, sbuf_str(&want),
			   type_str(check_arena(k), a->type));
	}
	sbuf_release(&want);
	return false;
}

static const struct {
	const char *word;
	const struct type *type;
} results[] = {
	{ "none", &type_none },  { "bool", &type_bool }, { "int64", &type_s64 }, { "uint64", &type_u64 },
	{ "uint32", &type_u32 }, { "int32", &type_s32 }, { "uint8", &type_u8 },  { "string[16]", &type_comm },
};

/* An enumerator of the probed program's, the script's or the kernel's types, or a constant of a header, used as a plain word. */
static bool try_constant(struct check *k, struct expr *e)
{
	const struct provider *p = k->unit->provider;
	struct type_source *src = compile_types(k->c),
			   *own = p->types && !k->unit->is_assumed && !e->call.has_parens ? p->types(k->c, k->unit) : NULL;
	const struct type *t = NULL;
	s64 v;

	if (e->call.has_parens)
		return false;
	if (own && own->constant(own, e->call.name, &v, &t))
		src = NULL;
	else if (!(src && src->constant && src->constant(src, e->call.name, &v, &t))) {
		struct header_set *headers = k->c->target->headers;

		if (headers && !headers->is_used)
			headers = NULL;
		if (!(headers && headers->constant(headers, e->call.name, false, &v)) && !header_constant(e->call.name, &v) &&
		    !(headers && headers->constant(headers, e->call.name, true, &v)))
			return false;
		expr_become_int(e, v, v < 0);
		return true;
	}
	e->kind = E_CONST;
	e->num.value = v;
	e->num.negative = v < 0;
	e->num.enum_type = t ? t : &type_s64;
	e->type = e->num.enum_type;
	return true;
}

/* Names of other versions of the language that are not supported, and what to use instead. */
static const struct {
	const char *name, *hint;
} absent_names[] = {
	{ "stack", "kstack or ustack" },
	{ "printk", "debugf()" },
	{ "name", "probe" },
	{ "ntohs", "bswap() swaps the bytes of a number, by its size" },
	{ "htons", "bswap() swaps the bytes of a number, by its size" },
	{ "ntohl", "bswap() swaps the bytes of a number, by its size" },
	{ "htonl", "bswap() swaps the bytes of a number, by its size" },
};

static const char *absent_hint(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(absent_names); i++)
		if (str_eq(name, absent_names[i].name))
			return absent_names[i].hint;
	return NULL;
}

static bool is_in_capitals(const char *name)
{
	return name[1] && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == 0;
}

static void unknown_name(struct check *k, struct expr *e)
{
	const char *names[512], *near, *hint = absent_hint(e->call.name);
	u32 cnt = 0;

	for (u32 i = 0; fn_at(i) && cnt < ARRAY_CNT(names); i++)
		if (e->call.has_parens || (fn_at(i)->flags & FN_WORD))
			names[cnt++] = fn_at(i)->name;
	near = nearest_name(e->call.name, names, cnt);
	if (e->call.has_parens)
		check_fail(k, e, E_UNKNOWN_FUNCTION, "Unknown function: '%s'", e->call.name);
	else
		check_fail(k, e, E_UNKNOWN_IDENTIFIER, "Unknown identifier: '%s'", e->call.name);
	if (hint)
		diag_hint(k->c->diag, "%s", hint);
	else if (near)
		diag_hint(k->c->diag, "did you mean '%s'?", near);
	else if (e->call.has_parens)
		diag_hint(k->c->diag, "sonde --print-doc functions shows all of them");
	else if (is_in_capitals(e->call.name))
		diag_hint(k->c->diag, "if it is a C constant, include the header that defines it, or add #define %s …",
			  e->call.name);
	else
		diag_hint(k->c->diag, "variables start with $, maps with @, text is in \"quotes\"");
}

void compile_note_unsafe(struct compile *c, const char *name)
{
	vec_for(it, &c->unsafe)
		if (str_eq(*it, name))
			return;
	avec_push(c->arena, &c->unsafe, name);
}

/* --needs reports them, and the needs decide which privileges are kept. */
static void note_needs(struct compile *c, const struct fn *fn)
{
	c->needs |= fn->needs;
	c->features |= fn->features;
	if (fn->flags & FN_UNSAFE)
		compile_note_unsafe(c, fn->name);
}

void check_call(struct check *k, struct expr *e)
{
	struct signature sig;
	const struct fn *fn;
	bool ok = true;

	if (!e->call.fn)
		e->call.fn = fn_find(e->call.name, &e->call.suffix);
	fn = e->call.fn;
	if (fn && !e->call.has_parens && !(fn->flags & FN_WORD)) {
		if (try_constant(k, e))
			return;
		check_fail(k, e, E_UNKNOWN_IDENTIFIER, "%s is a function: it needs parentheses", e->call.name);
		diag_hint(k->c->diag, "write %s%s", e->call.name, fn->sig);
		return;
	}
	if (!fn) {
		for (u32 i = 0; i < e->call.arg_cnt; i++)
			check_expr(k, e->call.args[i]);
		if (!try_constant(k, e))
			unknown_name(k, e);
		return;
	}
	if ((fn->flags & FN_UNSAFE) && !k->c->target->allow_unsafe) {
		check_fail(k, e, E_UNSAFE, "%s() is an unsafe function being used in safe mode", fn->name);
		diag_hint(k->c->diag, "it changes the system or the traced program; --unsafe allows that");
		return;
	}
	note_needs(k->c, fn);
	sig = parse_signature(fn);
	if (e->call.arg_cnt < sig.required || (e->call.arg_cnt > sig.cnt && !sig.is_open)) {
		for (u32 i = 0; i < e->call.arg_cnt; i++)
			check_expr(k, e->call.args[i]);
		if (e->call.arg_cnt < sig.required && (sig.cnt > sig.required || sig.is_open))
			check_fail(k, e, E_ARG_COUNT, "%s() requires at least %u argument%s (%u provided)", fn->name,
				   sig.required, sig.required == 1 ? "" : "s", e->call.arg_cnt);
		else if (sig.cnt > sig.required)
			check_fail(k, e, E_ARG_COUNT, "%s() takes up to %u argument%s (%u provided)", fn->name, sig.cnt,
				   sig.cnt == 1 ? "" : "s", e->call.arg_cnt);
		else
			check_fail(k, e, E_ARG_COUNT, "%s() requires %u argument%s (%u provided)", fn->name, sig.required,
				   sig.required == 1 ? "" : "s", e->call.arg_cnt);
		diag_hint(k->c->diag, "%s%s", fn->name, fn->sig);
		return;
	}
	if (fn->prepare && !fn->prepare(k, e)) {
		e->type = &type_error;
		return;
	}
	for (u32 i = 0; i < e->call.arg_cnt; i++)
		ok &= check_arg(k, e, i, i < sig.cnt ? sig.params[i].kinds : P_ANY, fn->flags & FN_SITE);
	if (!ok) {
		e->type = &type_error;
		return;
	}
	if (fn->check) {
		fn->check(k, e);
	} else {
		for (u32 i = 0; i < ARRAY_CNT(results); i++)
			if (str_eq(results[i].word, sig.result))
				e->type = results[i].type;
		if (!e->type && opaque_find(sig.result))
			e->type = opaque_find(sig.result)->type;
		if (!e->type)
			BUG("signature of %s: unknown result '%s'", fn->name, sig.result);
	}
}
