/* SPDX-License-Identifier: GPL-2.0-only */
/* sonde type --diff: members are matched by name, those of unnamed structs like the others. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/num.h"
#include "base/smap.h"
#include "type/flat.h"
#include "type/query.h"

struct differ {
	struct type_view *old, *new;
	struct sbuf *out, lines; /* lines: of the type that is being compared; an array if json */
	struct json in_lines;
	bool json;
	u32 cnt; /* lines */
};

static const char *type_text_of(const struct btfraw *b, u32 id, struct sbuf *to)
{
	sbuf_reset(to);
	btfc_name(b, id, to);
	return sbuf_str(to);
}

static void json_change(struct json *j, const char *change, const char *member)
{
	json_open_object(j, NULL);
	json_put_text(j, "change", change);
	json_put_text(j, "member", member);
}

static void one_side(struct differ *d, char sign, const struct btfraw *b, const struct flat_member *m)
{
	struct sbuf left = {}, right = {};

	d->cnt++;
	btfc_decl(b, m->type, m->name, &left, &right);
	if (d->json) {
		json_change(&d->in_lines, sign == '+' ? "added" : "removed", m->name);
		json_put_text(&d->in_lines, "member_type", type_text_of(b, m->type, &left));
		json_put_int(&d->in_lines, "offset", m->off, false);
		json_put_int(&d->in_lines, "size", m->sz, false);
		json_close_object(&d->in_lines);
	} else {
		sbuf_printf(&d->lines, "\t%c %s %s", sign, sbuf_str(&left), sbuf_str(&right));
		if (m->bit_sz)
			sbuf_printf(&d->lines, ":%u", m->bit_sz);
		sbuf_printf(&d->lines, ";  /* %u %u */\n", m->off, m->sz);
	}
	sbuf_release(&left);
	sbuf_release(&right);
}

static void changed_number(struct differ *d, const char *label, u32 from, u32 to, const char **sep)
{
	char key[32];

	if (from == to)
		return;
	if (d->json) {
		snprintf(key, sizeof(key), "old_%s", label);
		json_put_int(&d->in_lines, key, from, false);
		snprintf(key, sizeof(key), "new_%s", label);
		json_put_int(&d->in_lines, key, to, false);
	} else {
		sbuf_printf(&d->lines, "%s%s %u -> %u", *sep, label, from, to);
		*sep = ", ";
	}
}

static void both_sides(struct differ *d, const struct flat_member *m, const struct flat_member *n)
{
	struct sbuf a = {}, b = {};
	const char *sep = ": ";
	bool is_retyped;

	type_text_of(d->old->b, m->type, &a);
	type_text_of(d->new->b, n->type, &b);
	is_retyped = !str_eq(sbuf_str(&a), sbuf_str(&b));
	if (is_retyped || m->off != n->off || m->bit_off != n->bit_off || m->bit_sz != n->bit_sz || m->sz != n->sz) {
		d->cnt++;
		if (d->json)
			json_change(&d->in_lines, "changed", m->name);
		else
			sbuf_printf(&d->lines, "\t  %s", m->name);
		changed_number(d, "offset", m->off, n->off, &sep);
		changed_number(d, "bit_offset", m->bit_off, n->bit_off, &sep);
		changed_number(d, "bits", m->bit_sz, n->bit_sz, &sep);
		changed_number(d, "size", m->sz, n->sz, &sep);
		if (is_retyped && d->json) {
			json_put_text(&d->in_lines, "old_type", sbuf_str(&a));
			json_put_text(&d->in_lines, "new_type", sbuf_str(&b));
		} else if (is_retyped) {
			sbuf_printf(&d->lines, "%stype %s -> %s", sep, sbuf_str(&a), sbuf_str(&b));
		}
		if (d->json)
			json_close_object(&d->in_lines);
		else
			sbuf_putc(&d->lines, '\n');
	}
	sbuf_release(&a);
	sbuf_release(&b);
}

static void diff_members(struct differ *d, u32 old_id, u32 new_id)
{
	struct flat old = {}, new = {};
	struct smap by_name = {};

	flat_get(&old, d->old->b, old_id);
	flat_get(&new, d->new->b, new_id);
	vec_for(n, &new.at)
		if (*n->name && !smap_get(&by_name, n->name))
			smap_put(&by_name, n->name, n);
	vec_for(m, &old.at) {
		const struct flat_member *n = *m->name ? smap_get(&by_name, m->name) : NULL;

		if (n)
			both_sides(d, m, n);
		else if (*m->name)
			one_side(d, '-', d->old->b, m);
	}
	smap_release(&by_name);
	by_name = (struct smap){};
	vec_for(m, &old.at)
		if (*m->name && !smap_get(&by_name, m->name))
			smap_put(&by_name, m->name, m);
	vec_for(n, &new.at)
		if (*n->name && !smap_get(&by_name, n->name))
			one_side(d, '+', d->new->b, n);
	smap_release(&by_name);
	flat_release(&old);
	flat_release(&new);
}

static void enum_line(struct differ *d, const char *change, const char *name, long long from, long long to)
{
	d->cnt++;
	if (d->json) {
		json_change(&d->in_lines, change, name);
		if (!str_eq(change, "added"))
			num_put_s64(json_value(&d->in_lines, "old_value"), from);
		if (!str_eq(change, "removed"))
			num_put_s64(json_value(&d->in_lines, "new_value"), to);
		json_close_object(&d->in_lines);
	} else if (str_eq(change, "changed")) {
		sbuf_printf(&d->lines, "\t  %s: value %lld -> %lld\n", name, from, to);
	} else {
		bool is_new = str_eq(change, "added");

		sbuf_printf(&d->lines, "\t%c %s = %lld\n", is_new ? '+' : '-', name, is_new ? to : from);
	}
}

/* from's names that to lacks; and, once, values that differ. */
static void diff_enums(struct differ *d, const struct btf_type *old, const struct btf_type *new)
{
	for (u32 side = 0; side < 2; side++) {
		const struct btfraw *fb = side ? d->new->b : d->old->b, *tb = side ? d->old->b : d->new->b;
		const struct btf_type *from = side ? new : old, *to = side ? old : new;
		struct smap names = {};
		s64 v, there;

		for (u32 i = 0; i < btf_vlen(to); i++)
			smap_put(&names, btfc_enumerator(tb, to, i, &v), (void *)(uintptr_t)(i + 1));
		for (u32 i = 0; i < btf_vlen(from); i++) {
			const char *name = btfc_enumerator(fb, from, i, &v);
			uintptr_t at = (uintptr_t)smap_get(&names, name);

			if (!at) {
				enum_line(d, side ? "added" : "removed", name, v, v);
				continue;
			}
			btfc_enumerator(tb, to, at - 1, &there);
			if (!side && v != there)
				enum_line(d, "changed", name, v, there);
		}
		smap_release(&names);
	}
}

#define COMPARED (BTF_BIT(BTF_KIND_STRUCT) | BTF_BIT(BTF_KIND_UNION) | BTF_BIT(BTF_KIND_ENUM) | BTF_BIT(BTF_KIND_ENUM64))

static u32 same_kinds(enum btf_kind kind)
{
	u32 enums = BTF_BIT(BTF_KIND_ENUM) | BTF_BIT(BTF_KIND_ENUM64);

	return BTF_BIT(kind) & enums ? enums : BTF_BIT(kind);
}

/* The heading, then the lines. */
static void put_type(struct differ *d, const struct btf_type *t, const char *name, const char *change, u32 from, u32 to)
{
	bool has_sizes = str_eq(change, "changed");

	if (d->json) {
		struct json j = json_on(d->out, JSON_SPACED);

		json_open_object(&j, NULL);
		json_put_text(&j, "type", btfc_keyword(t));
		json_put_text(&j, "name", name);
		json_put_text(&j, "change", change);
		if (has_sizes) {
			json_put_int(&j, "old_size", from, false);
			json_put_int(&j, "new_size", to, false);
			sbuf_add(json_value(&j, "changes"), d->lines.s, d->lines.len);
		}
		json_close_object(&j);
		json_end_line(&j);
		return;
	}
	if (!has_sizes) {
		sbuf_printf(d->out, "%c %s %s\n", str_eq(change, "added") ? '+' : '-', btfc_keyword(t), name);
		return;
	}
	sbuf_printf(d->out, "  %s %s", btfc_keyword(t), name);
	if (from != to)
		sbuf_printf(d->out, ": size %u -> %u", from, to);
	sbuf_printf(d->out, "\n%s", sbuf_str(&d->lines));
}

static void diff_one(struct differ *d, u32 old_id, u32 new_id)
{
	const struct btf_type *o = btfraw_type(d->old->b, old_id), *n = btfraw_type(d->new->b, new_id);

	sbuf_reset(&d->lines);
	d->in_lines = json_on(&d->lines, JSON_SPACED);
	if (d->json)
		json_open_array(&d->in_lines, NULL);
	d->cnt = 0;
	if (btf_kind(o) == BTF_KIND_STRUCT || btf_kind(o) == BTF_KIND_UNION)
		diff_members(d, old_id, new_id);
	else
		diff_enums(d, o, n);
	if (d->json)
		json_close_array(&d->in_lines);
	if (d->cnt || o->size != n->size)
		put_type(d, o, btfraw_str(d->old->b, o->name_off), "changed", o->size, n->size);
}

int type_diff(struct type_view *old, struct type_view *new, char **names, u32 cnt, bool json, struct sbuf *out)
{
	struct differ d = { .old = old, .new = new, .out = out, .json = json };
	size_t before = out->len;

	for (u32 side = 0; side < 2; side++) {
		struct btfraw *from = side ? new->b : old->b, *to = side ? old->b : new->b;

		for (u32 id = 0; (id = btfraw_next(from, COMPARED, id));) {
			const struct btf_type *t = btfraw_type(from, id);
			const char *name = btfraw_str(from, t->name_off);
			u32 there;

			if (!type_is_wanted(name, names, cnt))
				continue;
			/* Names may come more than once: static types of several files. The first ones are compared. */
			if (btfraw_find(from, same_kinds(btf_kind(t)), name) != id)
				continue;
			there = btfraw_find(to, same_kinds(btf_kind(t)), name);
			if (!there)
				put_type(&d, t, name, side ? "added" : "removed", 0, 0);
			else if (!side)
				diff_one(&d, id, there);
		}
	}
	sbuf_release(&d.lines);
	return out->len != before;
}
