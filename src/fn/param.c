/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of a script on the command line: getopt(). Values are known when the script is compiled, so a call becomes a
 * literal. */
#include <ctype.h>

#include "fn/family.h"
#include "ir/lower.h"
#include "lang/check.h"
#include "lang/lex.h"

static struct val never_lowered(struct lower *l, struct expr *e, const struct mem *dst)
{
	BUG("%s() is a constant", e->call.name);
}

static struct script_opt *find_opt(struct compile *c, const char *name)
{
	vec_for(o, &c->opts)
		if (str_eq(o->name, name))
			return o;
	return NULL;
}

static bool is_name(const char *s)
{
	if (!isalnum((u8)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((u8)*s) && *s != '_' && *s != '-' && *s != '.')
			return false;
	return true;
}

static bool same_default(const struct expr *a, const struct expr *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind)
		return false;
	return a->kind == E_STR ? str_eq(a->str.s, b->str.s) : a->num.value == b->num.value;
}

/* The option that the call is about; every call of it must be the same. NULL after an error. */
static const struct script_opt *declare(struct check *k, struct expr *e)
{
	struct expr **args = e->call.args, *def = e->call.arg_cnt > 1 ? args[1] : NULL;
	const char *name = args[0]->str.s, *doc = e->call.arg_cnt > 2 ? args[2]->str.s : NULL;
	struct script_opt *o = find_opt(k->c, name);

	if (!is_name(name)) {
		check_fail(k, args[0], E_ARG_TYPE, "'%s' cannot be the name of an option", name);
		diag_hint(k->c->diag, "names are made of letters, digits, _, - and .");
		return NULL;
	}
	if (def && def->kind != E_STR && !expr_is_int(def)) {
		check_fail(k, def, E_ARG_TYPE,
			   "the default of an option must be a literal: a number, a string, true or false (%s provided)",
			   type_str(check_arena(k), def->type));
		return NULL;
	}
	if (!o) {
		avec_push(check_arena(k), &k->c->opts,
			  (struct script_opt){ .name = name, .doc = doc, .def = def, .first = e->span });
		return &k->c->opts.at[k->c->opts.cnt - 1];
	}
	if (!same_default(o->def, def)) {
		check_fail(k, e, E_ARG_TYPE, "the option --%s has another default elsewhere", name);
		diag_hint(k->c->diag, "every getopt() of one option must have the same default");
		return NULL;
	}
	if (o->doc && doc && !str_eq(o->doc, doc)) {
		check_fail(k, e, E_ARG_TYPE, "the option --%s has another description elsewhere", name);
		return NULL;
	}
	if (doc)
		o->doc = doc;
	return o;
}

/* The value of the option on the command line: the text after its last `=`, or "" without one. False: it was not given. */
static bool given(const struct compile *c, const char *name, const char **value)
{
	size_t n = strlen(name);
	bool found = false;

	for (u32 i = 0; i < c->named_cnt; i++) {
		const char *s = c->named[i] + 2;

		if (strncmp(s, name, n) || (s[n] && s[n] != '='))
			continue;
		*value = s[n] ? s + n + 1 : NULL;
		found = true;
	}
	return found;
}

static int bool_word(const char *s)
{
	static const char *const words[2][4] = { { "0", "false", "off", "no" }, { "1", "true", "on", "yes" } };

	for (u32 i = 0; i < 8; i++)
		if (!strcasecmp(s, words[i / 4][i % 4]))
			return i / 4;
	return -1;
}

static void become_bool(struct expr *e, bool is)
{
	struct span span = e->span;

	*e = (struct expr){ .kind = E_BOOL, .span = span, .type = &type_bool };
	e->num.value = is;
}

static void become_num(struct expr *e, u64 value, bool is_signed)
{
	expr_become_int(e, value, is_signed && (s64)value < 0);
	e->type = is_signed ? &type_s64 : &type_u64;
}

static void become_str(struct check *k, struct expr *e, const char *s)
{
	struct span span = e->span;

	*e = (struct expr){ .kind = E_STR, .span = span };
	e->str.s = s;
	e->str.len = strlen(s);
	e->type = type_string(check_arena(k), e->str.len + 1);
}

static void bad_value(struct check *k, struct expr *e, const char *wants, const char *value)
{
	if (k->is_last) {
		diag_error_nowhere(k->c->diag, E_ARG_TYPE, "program command line option --%s %s (value: %s)",
				   e->call.args[0]->str.s, wants, value ? value : "none");
	}
	e->type = &type_error;
}

static void check_getopt(struct check *k, struct expr *e)
{
	const struct script_opt *o = declare(k, e);
	const struct expr *def;
	const char *value = NULL;
	bool is_given, is_signed;

	if (!o) {
		e->type = &type_error;
		return;
	}
	def = o->def;
	is_given = given(k->c, o->name, &value);
	if (!def || def->kind == E_BOOL) {
		int word = value ? bool_word(value) : 1;

		if (is_given && word < 0)
			bad_value(k, e, "expects a boolean (true or false)", value);
		else
			become_bool(e, is_given ? word : def && def->num.value);
		return;
	}
	if (def->kind == E_STR) {
		if (is_given && !value)
			bad_value(k, e, "expects a string", value);
		else
			become_str(k, e, is_given ? value : def->str.s);
		return;
	}
	is_signed = def->num.negative;
	if (!is_given) {
		become_num(e, def->num.value, is_signed);
	} else if (!value) {
		bad_value(k, e, "expects an integer", value);
	} else {
		bool minus = *value == '-';
		struct number num = number_parse(check_arena(k), value + minus, strlen(value + minus), true);

		if (!value[minus] || num.why)
			bad_value(k, e, "invalid integer", value);
		else
			become_num(e, minus ? -num.value : num.value, is_signed);
	}
}

static const struct fn rows[] = {
	{ "getopt", "(strlit name, ?any default, ?strlit description) any",
	  "the value of an option of the script, given after --: `-- --name=value`; without a default it is true or false",
	  "begin { if (getopt(\"verbose\")) { print(getopt(\"depth\", 5, \"how far to look\")) } }", 0, check_getopt,
	  never_lowered },
};

FN_FAMILY(fn_params, rows);
