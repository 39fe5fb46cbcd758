/* SPDX-License-Identifier: GPL-2.0-only */
/* Configuration variables: the script's config block, then the environment, which wins.
 *
 * Names are matched without regard to case and may have the prefix BPFTRACE_. An error in a variable of the environment is shown
 * like an error of the script: the assignment becomes a source called "environment".
 */
#include "lang/compile.h"
#include "lang/lex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct config config_defaults = {
#define CONFIG_ROW(name, kind, def, doc) .name = def,
#include "image/config.def"
#undef CONFIG_ROW
};

/* How a default is shown, by kind. */
#define DEFAULT_U(def) #def
#define DEFAULT_B(def) ((def) ? "true" : "false")
#define DEFAULT_S(def) def
#define DEFAULT_E(def) ((def) == MISSING_ERROR ? "error" : (def) == MISSING_WARN ? "warn" : "ignore")

static const struct config_info infos[] = {
#define CONFIG_ROW(name, kind, def, doc) { #name, #kind[0], DEFAULT_##kind(def), doc },
#include "image/config.def"
#undef CONFIG_ROW
};

static const size_t offsets[] = {
#define CONFIG_ROW(name, kind, def, doc) offsetof(struct config, name),
#include "image/config.def"
#undef CONFIG_ROW
};

const struct config_info *config_table(u32 *cnt)
{
	*cnt = ARRAY_CNT(infos);
	return infos;
}

static const char *const missing_words[] = { [MISSING_ERROR] = "error", [MISSING_WARN] = "warn", [MISSING_IGNORE] = "ignore" };

struct config_value config_get(const struct config *c, u32 i)
{
	const void *var = (const char *)c + offsets[i];

	switch (infos[i].kind) {
	case 'U':
		return (struct config_value){ .num = *(const config_U *)var };
	case 'B':
		return (struct config_value){ .num = *(const config_B *)var, .is_bool = true };
	case 'S':
		return (struct config_value){ .text = *(const config_S *)var };
	case 'E':
		return (struct config_value){ .text = missing_words[*(const config_E *)var] };
	}
	BUG("config kind %c", infos[i].kind);
}

/* Bounds of numbers; those without a row take any. */
static const struct {
	const char *name;
	u64 min, max;
} ranges[] = {
	{ "max_strlen", 1, 65536 },      { "max_map_keys", 1, UINT32_MAX },
	{ "max_probes", 1, UINT32_MAX }, { "max_bpf_progs", 1, UINT32_MAX },
	{ "max_cat_bytes", 1, 1 << 30 }, { "log_size", 128, UINT32_MAX >> 2 }, /* the kernel's own bounds */
	{ "perf_rb_pages", 0, 1 << 18 }, /* a ring buffer can have at most 2^31 bytes; half of that is always possible */
	{ "on_stack_limit", 0, 512 },
};

/* Words that a string variable may have; those without rows take any string. */
static const struct {
	const char *name, *word;
} choices[] = {
	{ "license", "GPL" },
	{ "license", "GPL v2" },
	{ "license", "GPL and additional rights" },
	{ "license", "Dual BSD/GPL" },
	{ "license", "Dual MIT/GPL" },
	{ "license", "Dual MPL/GPL" },
	{ "stack_mode", "bpftrace" },
	{ "stack_mode", "perf" },
	{ "stack_mode", "raw" },
	{ "stack_mode", "build_id" },
	{ "cache_user_symbols", "PER_PID" },
	{ "cache_user_symbols", "PER_PROGRAM" },
	{ "cache_user_symbols", "NONE" },
};

static const struct {
	const char *old, *now;
} renamed[] = {
	{ "strlen", "max_strlen" },
	{ "cat_bytes_max", "max_cat_bytes" },
	{ "map_keys_max", "max_map_keys" },
	{ "no_cpp_demangle", "cpp_demangle" }, /* and its meaning is inverted */
};

/* Accepted, without effect: they choose between alternatives that Sonde does not have, or enable what is always enabled. */
static const char *const ignored[] = {
	"symbol_source",    "max_type_res_iterations",   "use_blazesym",      "unstable_addr",
	"unstable_import",  "unstable_import_statement", "unstable_macro",    "unstable_map_decl",
	"unstable_tseries", "unstable_dw_ustack",        "unstable_typeinfo",
};

static const char *const env_only[] = { "btf", "kernel_source", "kernel_build", "vmlinux", "color" };

/* A value that is being assigned to its variable. */
struct setting {
	struct compile *c;
	const struct config_item *item;
	const struct config_info *info;
	void *var;
};

static bool in_list(const char *name, const char *const *list, u32 cnt)
{
	for (u32 i = 0; i < cnt; i++)
		if (str_eq(name, list[i]))
			return true;
	return false;
}

static void reject(struct setting *s, const char *expected)
{
	diag_error(s->c->diag, s->item->span, E_UNKNOWN_CONFIG, "%s takes %s, not '%s'", s->info->name, expected, s->item->text);
}

static void set_number(struct setting *s)
{
	u64 min = 0, max = UINT64_MAX;

	for (u32 i = 0; i < ARRAY_CNT(ranges); i++) {
		if (str_eq(ranges[i].name, s->info->name)) {
			min = ranges[i].min;
			max = ranges[i].max;
		}
	}
	if (s->item->kind != CONFIG_INT)
		reject(s, "a number");
	else if (s->item->num < min || s->item->num > max)
		reject(s,
		       arena_printf(s->c->arena, "a number from %llu to %llu", (unsigned long long)min, (unsigned long long)max));
	else
		*(config_U *)s->var = s->item->num;
}

/* 1 true on yes, 0 false off no. -1: neither. */
static int bool_of(const struct config_item *item)
{
	static const char *const yes[] = { "true", "on", "yes" }, *const no[] = { "false", "off", "no" };

	if (item->kind == CONFIG_INT)
		return item->num <= 1 ? (int)item->num : -1;
	for (u32 i = 0; i < ARRAY_CNT(yes); i++) {
		if (!strcasecmp(item->text, yes[i]))
			return 1;
		if (!strcasecmp(item->text, no[i]))
			return 0;
	}
	return -1;
}

static void set_bool(struct setting *s, bool invert)
{
	int value = bool_of(s->item);

	if (value < 0)
		reject(s, "1, true, on, yes or 0, false, off, no");
	else
		*(config_B *)s->var = (value == 1) != invert;
}

static void set_string(struct setting *s)
{
	const char *word = s->item->text;
	struct sbuf list = {};
	bool any = true;

	/* What older versions took: off, and the default. */
	if (str_eq(s->info->name, "cache_user_symbols") && (str_eq(word, "0") || str_eq(word, "1")))
		word = word[0] == '0' ? "NONE" : s->info->def;
	for (u32 i = 0; i < ARRAY_CNT(choices); i++) {
		if (!str_eq(choices[i].name, s->info->name))
			continue;
		any = false;
		if (!strcasecmp(choices[i].word, word)) {
			*(config_S *)s->var = choices[i].word;
			goto out;
		}
		sbuf_printf(&list, "%s%s", list.len ? ", " : "", choices[i].word);
	}
	/* In the environment everything is text. */
	if (any && s->item->span.src == s->c->script->src && s->item->kind != CONFIG_STRING && s->item->kind != CONFIG_WORD)
		reject(s, "a string");
	else if (any)
		*(config_S *)s->var = word;
	else
		reject(s, arena_printf(s->c->arena, "one of: %s", sbuf_str(&list)));
out:
	sbuf_release(&list);
}

static void set_missing_probes(struct setting *s)
{
	for (u32 i = 0; i < ARRAY_CNT(missing_words); i++) {
		if (!strcasecmp(missing_words[i], s->item->text)) {
			*(config_E *)s->var = i;
			return;
		}
	}
	reject(s, "one of: error, warn, ignore");
}

/* "BPFTRACE_Max_Strlen" → "max_strlen" */
static const char *plain_name(struct arena *a, const char *name)
{
	char *s = arena_strdup(a, name);

	for (char *at = s; *at; at++)
		*at = tolower((u8)*at);
	return str_starts(s, "bpftrace_") ? s + strlen("bpftrace_") : s;
}

static void report_unknown(struct compile *c, const struct config_item *item, const char *name)
{
	const char *names[ARRAY_CNT(infos)], *near;

	for (u32 i = 0; i < ARRAY_CNT(infos); i++)
		names[i] = infos[i].name;
	diag_error(c->diag, item->span, E_UNKNOWN_CONFIG, "%s: not a known configuration option", item->name);
	near = nearest_name(name, names, ARRAY_CNT(names));
	if (near)
		diag_hint(c->diag, "did you mean '%s'?", near);
	else
		diag_hint(c->diag, "sonde --print-doc config shows all of them");
}

static void apply(struct compile *c, const struct config_item *item)
{
	const char *name = plain_name(c->arena, item->name);
	bool invert = false;

	if (in_list(name, ignored, ARRAY_CNT(ignored)))
		return;
	if (in_list(name, env_only, ARRAY_CNT(env_only))) {
		diag_error(c->diag, item->span, E_UNKNOWN_CONFIG, "%s can only be set as an environment variable", item->name);
		return;
	}
	for (u32 i = 0; i < ARRAY_CNT(renamed); i++) {
		if (!str_eq(name, renamed[i].old))
			continue;
		diag_warn(c->diag, item->span, W_CONFIG, "%s is now called %s", renamed[i].old, renamed[i].now);
		invert = str_eq(name, "no_cpp_demangle");
		name = renamed[i].now;
		break;
	}
	for (u32 i = 0; i < ARRAY_CNT(infos); i++) {
		struct setting s = { c, item, &infos[i], (char *)&c->config + offsets[i] };

		if (!str_eq(name, infos[i].name))
			continue;
		switch (infos[i].kind) {
		case 'U':
			set_number(&s);
			return;
		case 'B':
			set_bool(&s, invert);
			return;
		case 'S':
			set_string(&s);
			return;
		case 'E':
			set_missing_probes(&s);
			return;
		}
		BUG("config kind %c", infos[i].kind);
	}
	report_unknown(c, item, name);
}

/* Applies PREFIX_NAME of the environment, if it is set. */
static void apply_env(struct compile *c, const char *prefix, const char *name)
{
	struct config_item item = { .name = name, .kind = CONFIG_STRING };
	char *var = arena_printf(c->arena, "%s%s", prefix, name), *text;
	struct number n;

	for (char *at = var; *at; at++)
		*at = toupper((u8)*at);
	item.text = getenv(var);
	if (!item.text)
		return;
	item.text = arena_strdup(c->arena, item.text);
	n = number_parse(c->arena, item.text, strlen(item.text), true);
	if (!n.why) {
		item.kind = CONFIG_INT;
		item.num = n.value;
	}
	text = arena_printf(c->arena, "%s=%s", var, item.text);
	item.span = (struct span){ diag_add_source(c->diag, "environment", text, strlen(text)), 0, strlen(text) };
	apply(c, &item);
}

/* Most environments have no variable of ours: looking at each once is less work than asking for each of ours. */
static bool env_has(const char *prefix)
{
	for (char **var = environ; var && *var; var++)
		if (str_starts(*var, prefix))
			return true;
	return false;
}

bool lang_config(struct compile *c)
{
	static const char *const prefixes[] = { "BPFTRACE_", "SONDE_" }; /* ours wins */
	u32 errors = c->diag->error_cnt;

	c->config = config_defaults;
	for (u32 i = 0; i < c->script->config.cnt; i++)
		apply(c, &c->script->config.at[i]);
	for (u32 i = 0; i < ARRAY_CNT(prefixes); i++) {
		if (!env_has(prefixes[i]))
			continue;
		for (u32 j = 0; j < ARRAY_CNT(renamed); j++)
			apply_env(c, prefixes[i], renamed[j].old);
		for (u32 j = 0; j < ARRAY_CNT(infos); j++)
			apply_env(c, prefixes[i], infos[j].name);
	}
	return c->diag->error_cnt == errors;
}
