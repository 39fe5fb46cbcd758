/* SPDX-License-Identifier: GPL-2.0-only */
/* -f json: one object per line. Always valid JSON, whatever bytes the traced programs hand in. */
#include "base/escape.h"
#include "base/json.h"
#include "out/value.h"
#include "types/agg.h"

#define FLUSH_AT (64 << 10) /* a map with a million keys need not be in memory twice */

static void show_int(const struct show *w, u64 v, bool is_signed)
{
	json_int(w->out, value_div(v, w->div, is_signed), is_signed);
}

/* What has a text form only. */
static void show_as_text(const struct show *w, const struct type *t, const u8 *data)
{
	struct sbuf text = {};

	if (t->kind == T_STRING) {
		u32 n = strnlen((const char *)data, t->size);

		if (n < t->size) { /* nearly always: no copy needed */
			json_exact_string(w->out, (const char *)data, n);
			return;
		}
	}
	value_text(w->n, t, data, &text);
	if (t->kind == T_STRING)
		json_exact_string(w->out, sbuf_str(&text), text.len);
	else
		json_string(w->out, sbuf_str(&text), text.len);
	sbuf_release(&text);
}

static void show_members(const struct show *w, struct json *j, const struct type *t, const u8 *data)
{
	type_complete(t);
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i];

		if (m->name && !*m->name) {
			if (m->type->kind == T_STRUCT)
				show_members(w, j, m->type, data + m->off);
			continue;
		}
		json_put_key(j, m->name ? m->name : "", m->name ? strlen(m->name) : 0);
		json_value(j, NULL);
		if (m->bit_sz && m->type->kind == T_BOOL)
			sbuf_puts(w->out, value_load_member(m, data) ? "true" : "false");
		else if (m->bit_sz)
			show_int(w, value_load_member(m, data), m->type->is_signed);
		else
			value_show_json(w, m->type, data + m->off);
	}
}

static void show_struct(const struct show *w, const struct type *t, const u8 *data)
{
	struct json j = json_on(w->out, JSON_TIGHT_ARRAYS);

	json_open_object(&j, NULL);
	show_members(w, &j, t, data);
	json_close_object(&j);
}

void value_show_json(const struct show *w, const struct type *t, const u8 *data)
{
	struct json j = json_on(w->out, JSON_TIGHT_ARRAYS);
	const u8 *bytes;
	u32 cnt;

	switch (t->kind) {
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_KIND_CNT:
		sbuf_puts(w->out, "null");
		return;
	case T_BOOL:
		sbuf_puts(w->out, *data ? "true" : "false");
		return;
	case T_INT:
		show_int(w, value_load(t, data), t->is_signed);
		return;
	case T_ENUM:
	case T_POINTER:
		json_int(w->out, value_load(t, data), t->is_signed);
		return;
	case T_STRING:
	case T_SITE:
	case T_OPAQUE:
	case T_KSTACK:
	case T_USTACK:
		show_as_text(w, t, data);
		return;
	case T_BUFFER:
		value_bytes(t, data, t->size, &bytes, &cnt);
		json_open_array(&j, NULL);
		for (u32 i = 0; i < cnt; i++)
			json_put_int(&j, NULL, (s8)bytes[i], true);
		json_close_array(&j);
		return;
	case T_ARRAY:
		json_open_array(&j, NULL);
		for (u32 i = 0; i < t->cnt; i++) {
			json_value(&j, NULL);
			value_show_json(w, t->elem, data + (size_t)i * t->elem->size);
		}
		json_close_array(&j);
		return;
	case T_STRUCT:
		show_struct(w, t, data);
		return;
	case T_TUPLE:
		if (t->member_cnt && t->members[0].name) {
			show_struct(w, t, data);
			return;
		}
		json_open_array(&j, NULL);
		for (u32 i = 0; i < t->member_cnt; i++) {
			json_value(&j, NULL);
			value_show_json(w, t->members[i].type, data + t->members[i].off);
		}
		json_close_array(&j);
		return;
	case T_AGG:
		t->agg->json(w, t, data);
		return;
	}
}

void value_json(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out)
{
	value_show_json(&(struct show){ .n = n, .out = out }, t, data);
}

/* The sink. Each function builds its line in o->buf. */

static struct json line_begin(struct out *o, const char *kind)
{
	struct json j = json_on(&o->buf, JSON_SPACED);

	sbuf_reset(&o->buf);
	json_open_object(&j, NULL);
	json_put_text(&j, "type", kind);
	return j;
}

static void line_end(struct out *o, struct json *j)
{
	json_close_object(j);
	json_end_line(j);
	if (o->is_terminal)
		escape_json_from(&o->buf, 0);
	out_write(o, o->buf.s, o->buf.len);
}

/* A number, and the same as the only one of the data. */
static void count_line(struct out *o, const char *kind, const char *key, u64 n)
{
	struct json j = line_begin(o, kind);

	json_put_int(&j, "count", n, false);
	json_open_object(&j, "data");
	json_put_int(&j, key, n, false);
	json_close_object(&j);
	line_end(o, &j);
}

static void json_attached(struct out *o, u32 probes)
{
	count_line(o, "attached_probes", "probes", probes);
}

static void json_text(struct out *o, const char *kind, const char *s, size_t len)
{
	struct json j = line_begin(o, kind);

	if (len && s[len - 1] == '\n' && (str_eq(kind, "join") || str_eq(kind, "syscall")))
		len--;
	json_put_bytes(&j, "data", s, len);
	line_end(o, &j);
}

static void json_data(struct out *o, const struct type *t, const u8 *data)
{
	struct json j = line_begin(o, "value");

	value_json(&o->naming, t, data, json_value(&j, "data"));
	line_end(o, &j);
}

static const char *map_kind(const struct type *val)
{
	return val->kind == T_AGG && val->agg->json_kind ? val->agg->json_kind : "map";
}

static void json_map(struct out *o, const struct map_view *v)
{
	struct show w = { .n = &o->naming, .out = &o->buf, .div = v->div };
	struct sbuf key = {};
	struct json j;

	if (!v->cnt)
		return;
	j = line_begin(o, v->value_only ? "value" : map_kind(v->val));
	if (v->value_only) {
		json_value(&j, "data");
		value_show_json(&w, v->val, v->entries[0].val);
		line_end(o, &j);
		return;
	}
	json_open_object(&j, "data");
	json_put_key(&j, v->name, strlen(v->name));
	if (v->key)
		json_open_object(&j, NULL);
	for (u32 i = 0; i < v->cnt; i++) {
		if (v->key) {
			sbuf_reset(&key);
			value_key(&o->naming, v->key, v->entries[i].key, true, &key);
			json_put_key(&j, sbuf_str(&key), key.len);
		}
		json_value(&j, NULL);
		value_show_json(&w, v->val, v->entries[i].val);
		if (o->buf.len >= FLUSH_AT) {
			if (o->is_terminal)
				escape_json_from(&o->buf, 0);
			out_write(o, o->buf.s, o->buf.len);
			sbuf_reset(&o->buf);
		}
	}
	if (v->key)
		json_close_object(&j);
	json_close_object(&j);
	line_end(o, &j);
	sbuf_release(&key);
}

static void json_lost(struct out *o, u64 events)
{
	count_line(o, "lost_events", "events", events);
}

static void put_place(struct json *j, struct span at, const struct diag *d)
{
	u32 line, col;

	if (!d || at.src >= d->sources.cnt)
		return;
	diag_locate(d, at, &line, &col);
	json_put_text(j, "filename", d->sources.at[at.src].name);
	json_put_int(j, "line", line, false);
	json_put_int(j, "col", col, false);
}

static void json_report(struct out *o, const char *kind, struct span at, const struct diag *d, const char *msg)
{
	struct json j;

	if (o->no_warnings && !str_eq(kind, "errorf"))
		return;
	j = line_begin(o, kind);
	json_put_text(&j, "msg", msg);
	put_place(&j, at, d);
	line_end(o, &j);
}

static void json_helper_error(struct out *o, struct span at, const struct diag *d, const char *msg, const char *helper,
			      int retcode)
{
	struct json j;

	if (o->no_warnings)
		return;
	j = line_begin(o, "helper_error");
	json_put_text(&j, "msg", msg);
	json_put_text(&j, "helper", helper);
	json_put_int(&j, "retcode", retcode, true);
	put_place(&j, at, d);
	line_end(o, &j);
}

static void json_before_maps(struct out *o)
{
	(void)o;
}

static void json_suite(struct out *o, const struct suite *s, enum suite_step step)
{
	const struct suite_result *r = &s->results[s->at];
	struct json j;

	if (step != SUITE_DONE || (s->is_bench && r->state == SUITE_SKIPPED))
		return;
	j = line_begin(o, s->is_bench ? "benchmark_result" : "test_result");
	json_open_object(&j, "data");
	json_put_key(&j, r->name, strlen(r->name));
	json_open_object(&j, NULL);
	if (s->is_bench && r->state == SUITE_PASSED) {
		json_put_int(&j, "average", r->ns, false);
		json_put_int(&j, "iters", r->times, false);
	} else {
		if (!s->is_bench)
			json_put_int(&j, "duration", r->ns, false);
		json_put_bool(&j, "passed", !s->is_bench && r->state == SUITE_PASSED);
		json_put_bytes(&j, "output", r->output, r->output_len);
	}
	json_close_object(&j);
	json_close_object(&j);
	line_end(o, &j);
}

static void json_account(struct out *o, const struct account *a, const struct diag *d)
{
	struct json j = line_begin(o, "losses");
	struct sbuf msg = {};

	json_open_array(&j, "data");
	vec_for(r, &a->rows) {
		json_open_object(&j, NULL);
		json_put_text(&j, "kind", account_kind_name(r->kind));
		if (r->cnt != ACCOUNT_SOME)
			json_put_int(&j, "count", r->cnt, false);
		if (r->subject)
			json_put_text(&j, "subject", r->subject);
		if (r->reason)
			json_put_text(&j, "reason", r->reason);
		sbuf_reset(&msg);
		account_text(r, &msg);
		json_put_text(&j, "msg", sbuf_str(&msg));
		if (r->has_place)
			put_place(&j, r->at, d);
		json_close_object(&j);
	}
	json_close_array(&j);
	line_end(o, &j);
	sbuf_release(&msg);
}

static void put_percent(struct json *j, const char *key, u64 ns, const struct cost_view *v)
{
	sbuf_printf(json_value(j, key), "%.4f", cost_percent(ns, v->elapsed_ns, v->cpus));
}

static void json_cost(struct out *o, const struct cost_view *v, const struct diag *d)
{
	struct json j = line_begin(o, "cost");

	json_open_object(&j, "data");
	json_put_int(&j, "elapsed_ns", v->elapsed_ns, false);
	json_put_int(&j, "cpus", v->cpus, false);
	json_open_array(&j, "probes");
	for (u32 i = 0; i < v->cnt; i++) {
		const struct cost_row *r = &v->rows[i];

		json_open_object(&j, NULL);
		json_put_text(&j, "probe", r->probe);
		json_put_int(&j, "hits", r->hits, false);
		json_put_int(&j, "ns_per_hit", r->hits ? r->ns / r->hits : 0, false);
		put_percent(&j, "cpu_percent", r->ns, v);
		put_place(&j, r->at, d);
		json_close_object(&j);
	}
	json_close_array(&j);
	put_percent(&j, "own_cpu_percent", v->own_ns, v);
	json_close_object(&j);
	line_end(o, &j);
}

const struct sink sink_json = {
	.name = "json",
	.doc = "one JSON object per line",
	.attached = json_attached,
	.text = json_text,
	.value = json_data,
	.map = json_map,
	.lost = json_lost,
	.report = json_report,
	.helper_error = json_helper_error,
	.before_maps = json_before_maps,
	.suite = json_suite,
	.account = json_account,
	.cost = json_cost,
};
