/* SPDX-License-Identifier: GPL-2.0-only */
/* What must hold of every row of an aggregation and of an opaque value, also of one that is added tomorrow. */
#include "agg/tseries.h"
#include "lang/fn.h"
#include "lang/check.h"
#include "out/value.h"
#include "out_check.h"

/* The type of @ in a script. */
static struct target target = { .ncpus = 3 };

static const struct type *type_in(const char *script)
{
	struct compile *c = arena_new(&arena, struct compile);
	u32 src = diag_add_source(&diag, "stdin", script, strlen(script));

	*c = (struct compile){ .arena = &arena, .diag = &diag, .target = &target, .config = config_defaults };
	if (!lang_parse(c, src) || !lang_config(c) || !lang_expand(c) || !lang_check(c) || !c->maps.cnt)
		return NULL;
	return c->maps.at[0]->val;
}

static bool is_zero(const u8 *p, u32 size)
{
	for (u32 i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

/* As a file would store it: the row by its name, the rest as numbers. */
static void check_stored(const struct type *t)
{
	struct type copy = { .kind = t->kind,
			     .agg = agg_find(t->agg->name),
			     .size = t->size,
			     .align = t->align,
			     .cnt = t->cnt,
			     .is_signed = t->is_signed };

	memcpy(copy.param, t->param, sizeof(copy.param));
	CHECK(type_equal(t, &copy));
	copy.param[0]++;
	CHECK(!type_equal(t, &copy));
}

static void check_shares(const struct type *t)
{
	const struct agg *agg = t->agg;
	u32 n = t->size / 8, total_sz = agg_total_size(t);
	u64 *shares = xzalloc(3 * t->size), *sum = xzalloc(t->size), *added = xzalloc(t->size);
	struct sbuf b = {};
	bool is_exact = true;

	memset(sum, 0xee, total_sz);
	CHECK(!agg_sum(t, (u8 *)shares, t->size, 3, (u8 *)sum) && is_zero((u8 *)sum, total_sz));
	CHECK(agg->updates(t, (u8 *)shares, &is_exact) == 0 && is_exact);
	value_json(&naming, t, (u8 *)sum, &b);
	CHECK(json_valid(sbuf_str(&b)));
	sbuf_reset(&b);
	value_text(&naming, t, (u8 *)sum, &b);
	CHECK(!(agg->flags & AGG_ROWS) || !b.len || b.s[b.len - 1] == '\n');
	CHECK((agg->flags & AGG_ROWS) || !memchr(sbuf_str(&b), '\n', b.len));
	/* Two CPUs' shares come to the same whether they are summed up, or one is added to the other before. */
	for (u32 i = 0; i < n; i++)
		shares[i] = shares[n + i] = added[i] = 1;
	CHECK(agg->updates(t, (u8 *)shares, &is_exact) > 0);
	CHECK(agg_sum(t, (u8 *)shares, t->size, 2, (u8 *)sum));
	if (agg->add) {
		agg->add(t, (u8 *)added, (u8 *)shares);
		CHECK(agg_sum(t, (u8 *)added, t->size, 1, (u8 *)added)); /* in place */
		CHECK(!memcmp(sum, added, total_sz));
	}
	sbuf_reset(&b);
	value_json(&naming, t, (u8 *)sum, &b);
	CHECK(json_valid(sbuf_str(&b)));
	/* A word that tells does so alone: a program may be about to change the others. */
	for (u32 i = 0; agg->set_words >> i; i++) {
		memset(shares, 0, t->size);
		shares[i] = 1;
		CHECK(agg_sum(t, (u8 *)shares, t->size, 1, (u8 *)sum) == (agg->set_words >> i & 1), "%s: word %u", agg->name, i);
	}
	sbuf_release(&b);
	free(shares);
	free(sum);
	free(added);
}

static void test_aggregations(void)
{
	enum { PERCPU_MAX = 32 << 10 }; /* what the kernel allows of a value in a per-CPU map */
	const struct agg *agg;
	u32 cnt = 0, suffix;

	for (; (agg = agg_at(cnt)); cnt++) {
		const struct type *t = type_in(agg->fn->example);
		char *name = xasprintf("%s_t", agg->name);

		CHECK(agg_find(agg->name) == agg && fn_find(agg->name, &suffix) == agg->fn && (agg->fn->flags & FN_AGG));
		CHECK(t && type_is_agg(t) && t->agg == agg);
		if (!t || !type_is_agg(t))
			continue;
		CHECK(strstr(type_str(&arena, t), name) != NULL);
		CHECK(t->size && t->size % 8 == 0 && t->size <= PERCPU_MAX && agg_total_size(t) <= t->size);
		CHECK(t->size / 8 >= 32 || !(agg->set_words >> t->size / 8));
		CHECK(!(agg->flags & AGG_MAY_BE_0) || !agg->set_words);
		CHECK(!agg->types ||
		      (type_equal(t, &agg->types[t->is_signed]) && agg->types[1].is_signed && !agg->types[0].is_signed));
		check_stored(t);
		check_shares(t);
		free(name);
	}
	CHECK(cnt >= 9 && !agg_find("") && !agg_find("count_t"));
}

/* A program gives an interval its number, then its value: nothing is shown in between. */
static void test_series(void)
{
	for (enum series_fold fold = FOLD_LAST; fold <= FOLD_MAX; fold++) {
		const struct type *t = tseries_type(&arena, 1000, 1, fold, true);
		struct series_bucket b = { .epoch = 5 }, total;

		CHECK(agg_sum(t, (u8 *)&b, sizeof(b), 1, (u8 *)&total) == (fold == FOLD_SUM));
		b.meta = 1;
		CHECK(agg_sum(t, (u8 *)&b, sizeof(b), 1, (u8 *)&total) && total.epoch == 5);
	}
}

static void test_opaque_values(void)
{
	const struct opaque *o, *timestamp = opaque_find("timestamp");
	u8 zeroes[64] = {};
	u32 cnt = 0;

	for (; (o = opaque_at(cnt)); cnt++) {
		const struct type *t = o->type;
		struct sbuf b = {};

		CHECK(opaque_find(o->name) == o && (!o->word || opaque_of_word(o->word) == o));
		CHECK(t->kind == T_OPAQUE && t->opaque == o && t->size <= sizeof(zeroes) && t->size % t->align == 0);
		CHECK(type_is_scalar(t) == !!(o->flags & OPAQUE_SCALAR) && (!type_is_scalar(t) || t->size <= 8));
		CHECK_TEXT(type_str(&arena, t), o->name);
		CHECK(type_equal(t, type_opaque(&arena, o, NULL, 0)) && !type_equal(t, type_opaque(&arena, o, "x", 0)) &&
		      !type_equal(t, type_opaque(&arena, o, NULL, 1)));
		CHECK(!(o->flags & OPAQUE_PARAM) == (!o->word || type_of_word(o->word) == t || (o->flags & OPAQUE_SIZED)));
		value_json(&naming, type_opaque(&arena, o, o->flags & OPAQUE_PARAM ? "%H" : NULL, 0), zeroes, &b);
		CHECK(b.s[0] == '"' && json_valid(b.s));
		sbuf_release(&b);
	}
	CHECK(cnt >= 7 && timestamp && !opaque_find("") && !opaque_of_word("ksym_t"));
	CHECK(type_equal(type_opaque(&arena, timestamp, "%H", 0), type_opaque(&arena, timestamp, "%H", 0)));
	CHECK(!type_equal(type_opaque(&arena, timestamp, "%H", 0), type_opaque(&arena, timestamp, "%M", 0)));
}

int main(void)
{
	world_init();
	test_aggregations();
	test_series();
	test_opaque_values();
	return world_end();
}
