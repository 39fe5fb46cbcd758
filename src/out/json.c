/* -f json: one object per line. Always valid JSON, whatever bytes the traced programs hand in. */
#include "out/hist.h"
#include "out/num.h"
#include "out/tseries.h"
#include "out/value.h"

#define FLUSH_AT (64 << 10) /* a map with a million keys need not be in memory twice */

/* Bytes of the UTF-8 sequence at s, 0 if there is no valid one (RFC 3629: shortest form, no surrogates, up to U+10FFFF). */
static u32 utf8_len(const u8 *s, size_t left)
{
	u32 n, lo = 0x80, hi = 0xbf;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (left < n || s[1] < lo || s[1] > hi)
		return 0;
	for (u32 i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

void json_string(struct sbuf *out, const char *s, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	const u8 *p = (const u8 *)s, *end = p + len, *plain = p;

	sbuf_putc(out, '"');
	while (p < end) {
		u32 n = utf8_len(p, end - p);
		char esc[6] = { '\\', 'u', '0', '0', hex[*p >> 4], hex[*p & 15] };
		u32 esc_len = 6;

		if (n && *p >= ' ' && *p != '"' && *p != '\\') {
			p += n;
			continue;
		}
		if (*p == '"' || *p == '\\' || *p == '\n' || *p == '\r' || *p == '\t') {
			esc[1] = *p == '\n' ? 'n' : *p == '\r' ? 'r' : *p == '\t' ? 't' : (char)*p;
			esc_len = 2;
		}
		sbuf_add(out, plain, p - plain);
		sbuf_add(out, esc, esc_len);
		plain = ++p;
	}
	sbuf_add(out, plain, p - plain);
	sbuf_putc(out, '"');
}

static void json_puts(struct sbuf *out, const char *s)
{
	json_string(out, s, strlen(s));
}

/* Exact as a double: the bits from the highest to the lowest one that is set span at most 53. */
static bool fits_double(u64 v, bool is_signed)
{
	if (is_signed && (s64)v < 0)
		v = -v;
	return !v || 64 - __builtin_clzll(v) - __builtin_ctzll(v) <= 53;
}

void json_int(struct sbuf *out, u64 v, bool is_signed)
{
	bool quote = !fits_double(v, is_signed);

	if (quote)
		sbuf_putc(out, '"');
	num_put(out, v, is_signed);
	if (quote)
		sbuf_putc(out, '"');
}

struct show {
	const struct naming *n;
	struct sbuf *out;
	u64 div;
};

static void show_value(const struct show *w, const struct type *t, const u8 *data);

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
			json_string(w->out, (const char *)data, n);
			return;
		}
	}
	value_text(w->n, t, data, &text);
	json_string(w->out, sbuf_str(&text), text.len);
	sbuf_release(&text);
}

static bool show_members(const struct show *w, const struct type *t, const u8 *data, bool any)
{
	type_complete(t);
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i];

		if (m->name && !*m->name) {
			if (m->type->kind == T_STRUCT)
				any = show_members(w, m->type, data + m->off, any);
			continue;
		}
		if (any)
			sbuf_puts(w->out, ", ");
		any = true;
		json_puts(w->out, m->name ? m->name : "");
		sbuf_puts(w->out, ": ");
		if (m->bit_sz && m->type->kind == T_BOOL)
			sbuf_puts(w->out, value_load_member(m, data) ? "true" : "false");
		else if (m->bit_sz)
			show_int(w, value_load_member(m, data), m->type->is_signed);
		else
			show_value(w, m->type, data + m->off);
	}
	return any;
}

static void show_struct(const struct show *w, const struct type *t, const u8 *data)
{
	sbuf_putc(w->out, '{');
	show_members(w, t, data, false);
	sbuf_putc(w->out, '}');
}

static void show_value(const struct show *w, const struct type *t, const u8 *data)
{
	const u8 *bytes;
	u64 pair[2];
	u32 cnt;

	switch (t->kind) {
	case T_ERROR: case T_NONE: case T_VOID: case T_KIND_CNT:
		sbuf_puts(w->out, "null");
		return;
	case T_BOOL:
		sbuf_puts(w->out, *data ? "true" : "false");
		return;
	case T_INT:
		show_int(w, value_load(t, data), t->is_signed);
		return;
	case T_ENUM: case T_POINTER:
		json_int(w->out, value_load(t, data), t->is_signed);
		return;
	case T_STRING: case T_SITE: case T_KSYM: case T_USYM: case T_TIMESTAMP:
	case T_INET: case T_MAC: case T_USERNAME: case T_CGROUP_PATH:
	case T_KSTACK: case T_USTACK:
		show_as_text(w, t, data);
		return;
	case T_BUFFER:
		value_bytes(t, data, t->size, &bytes, &cnt);
		sbuf_putc(w->out, '[');
		for (u32 i = 0; i < cnt; i++) {
			if (i)
				sbuf_putc(w->out, ',');
			num_put_s64(w->out, (s8)bytes[i]);
		}
		sbuf_putc(w->out, ']');
		return;
	case T_ARRAY:
		sbuf_putc(w->out, '[');
		for (u32 i = 0; i < t->cnt; i++) {
			if (i)
				sbuf_putc(w->out, ',');
			show_value(w, t->elem, data + (size_t)i * t->elem->size);
		}
		sbuf_putc(w->out, ']');
		return;
	case T_STRUCT:
		show_struct(w, t, data);
		return;
	case T_TUPLE:
		if (t->member_cnt && t->members[0].name) {
			show_struct(w, t, data);
			return;
		}
		sbuf_putc(w->out, '[');
		for (u32 i = 0; i < t->member_cnt; i++) {
			if (i)
				sbuf_putc(w->out, ',');
			show_value(w, t->members[i].type, data + t->members[i].off);
		}
		sbuf_putc(w->out, ']');
		return;
	case T_COUNT: case T_SUM: case T_MIN: case T_MAX:
		memcpy(pair, data, 8);
		show_int(w, pair[0], t->kind != T_COUNT && t->is_signed);
		return;
	case T_AVG:
		show_int(w, value_average(t, data), t->is_signed);
		return;
	case T_STATS:
		memcpy(pair, data, 16);
		sbuf_puts(w->out, "{\"count\": ");
		json_int(w->out, pair[1], false);
		sbuf_puts(w->out, ", \"average\": ");
		show_int(w, value_average(t, data), t->is_signed);
		sbuf_puts(w->out, ", \"total\": ");
		json_int(w->out, pair[0], t->is_signed);
		sbuf_putc(w->out, '}');
		return;
	case T_TSERIES:
		tseries_json(w->n, t, data, w->out);
		return;
	case T_HIST: case T_LHIST:
		hist_json(t, data, w->div, w->out);
		return;
	}
}

void value_json_div(const struct naming *n, const struct type *t, const u8 *data, u64 div, struct sbuf *out)
{
	show_value(&(struct show){ .n = n, .out = out, .div = div }, t, data);
}

void value_json(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out)
{
	value_json_div(n, t, data, 0, out);
}

/* The sink. Each function builds its line in o->buf. */

static struct sbuf *line_begin(struct out *o, const char *kind)
{
	sbuf_reset(&o->buf);
	sbuf_puts(&o->buf, "{\"type\": ");
	json_puts(&o->buf, kind);
	return &o->buf;
}

static void line_end(struct out *o)
{
	sbuf_puts(&o->buf, "}\n");
	out_write(o, o->buf.s, o->buf.len);
}

static void json_attached(struct out *o, u32 probes)
{
	sbuf_printf(line_begin(o, "attached_probes"), ", \"count\": %u, \"data\": {\"probes\": %u}", probes, probes);
	line_end(o);
}

static void json_text(struct out *o, const char *kind, const char *s, size_t len)
{
	struct sbuf *b = line_begin(o, kind);

	if (len && s[len - 1] == '\n' && (str_eq(kind, "join") || str_eq(kind, "syscall")))
		len--;
	sbuf_puts(b, ", \"data\": ");
	json_string(b, s, len);
	line_end(o);
}

static void json_value(struct out *o, const struct type *t, const u8 *data)
{
	struct sbuf *b = line_begin(o, "value");

	sbuf_puts(b, ", \"data\": ");
	value_json(&o->naming, t, data, b);
	line_end(o);
}

static const char *map_kind(const struct type *val)
{
	switch (val->kind) {
	case T_TSERIES:
		return "tseries";
	case T_HIST: case T_LHIST:
		return "hist";
	case T_AVG: case T_STATS:
		return "stats";
	case T_ERROR: case T_NONE: case T_VOID: case T_BOOL: case T_INT: case T_ENUM: case T_POINTER: case T_STRING:
	case T_BUFFER: case T_ARRAY: case T_STRUCT: case T_TUPLE: case T_SITE: case T_KSYM: case T_USYM: case T_TIMESTAMP:
	case T_INET: case T_MAC: case T_USERNAME: case T_CGROUP_PATH:
	case T_COUNT: case T_SUM: case T_MIN: case T_MAX: case T_KIND_CNT:
	case T_KSTACK: case T_USTACK:
		return "map";
	}
	return "map";
}

static void json_map(struct out *o, const struct map_view *v)
{
	struct sbuf key = {}, *b;

	if (!v->cnt)
		return;
	b = line_begin(o, v->value_only ? "value" : map_kind(v->val));
	sbuf_puts(b, ", \"data\": ");
	if (v->value_only) {
		value_json_div(&o->naming, v->val, v->entries[0].val, v->div, b);
		line_end(o);
		return;
	}
	sbuf_putc(b, '{');
	json_puts(b, v->name);
	sbuf_puts(b, v->key ? ": {" : ": ");
	for (u32 i = 0; i < v->cnt; i++) {
		if (i)
			sbuf_puts(b, ", ");
		if (v->key) {
			sbuf_reset(&key);
			value_key(&o->naming, v->key, v->entries[i].key, true, &key);
			json_string(b, sbuf_str(&key), key.len);
			sbuf_puts(b, ": ");
		}
		value_json_div(&o->naming, v->val, v->entries[i].val, v->div, b);
		if (b->len >= FLUSH_AT) {
			out_write(o, b->s, b->len);
			sbuf_reset(b);
		}
	}
	sbuf_puts(b, v->key ? "}}" : "}");
	line_end(o);
	sbuf_release(&key);
}

static void json_lost(struct out *o, u64 events)
{
	sbuf_printf(line_begin(o, "lost_events"), ", \"count\": %llu, \"data\": {\"events\": %llu}", (unsigned long long)events,
		    (unsigned long long)events);
	line_end(o);
}

static void put_msg(struct sbuf *b, const char *msg)
{
	sbuf_puts(b, ", \"msg\": ");
	json_puts(b, msg);
}

static void put_place(struct sbuf *b, struct span at, const struct diag *d)
{
	u32 line, col;

	if (!d || at.src >= d->sources.cnt)
		return;
	diag_locate(d, at, &line, &col);
	sbuf_puts(b, ", \"filename\": ");
	json_puts(b, d->sources.at[at.src].name);
	sbuf_printf(b, ", \"line\": %u, \"col\": %u", line, col);
}

static void json_report(struct out *o, const char *kind, struct span at, const struct diag *d, const char *msg)
{
	struct sbuf *b;

	if (o->no_warnings && !str_eq(kind, "errorf"))
		return;
	b = line_begin(o, kind);
	put_msg(b, msg);
	put_place(b, at, d);
	line_end(o);
}

static void json_helper_error(struct out *o, struct span at, const struct diag *d, const char *msg, const char *helper,
			      int retcode)
{
	struct sbuf *b;

	if (o->no_warnings)
		return;
	b = line_begin(o, "helper_error");
	put_msg(b, msg);
	sbuf_puts(b, ", \"helper\": ");
	json_puts(b, helper);
	sbuf_printf(b, ", \"retcode\": %d", retcode);
	put_place(b, at, d);
	line_end(o);
}

static void json_before_maps(struct out *o)
{
	(void)o;
}

static void json_suite(struct out *o, const struct suite *s, enum suite_step step)
{
	const struct suite_result *r = &s->results[s->at];
	struct sbuf *b;

	if (step != SUITE_DONE || (s->is_bench && r->state == SUITE_SKIPPED))
		return;
	b = line_begin(o, s->is_bench ? "benchmark_result" : "test_result");
	sbuf_puts(b, ", \"data\": {");
	json_puts(b, r->name);
	if (s->is_bench && r->state == SUITE_PASSED) {
		sbuf_printf(b, ": {\"average\": %llu, \"iters\": %u}}", (unsigned long long)r->ns, r->times);
	} else {
		if (s->is_bench)
			sbuf_puts(b, ": {\"passed\": false, \"output\": ");
		else
			sbuf_printf(b, ": {\"duration\": %llu, \"passed\": %s, \"output\": ", (unsigned long long)r->ns, r->state == SUITE_PASSED ? "true" : "false");
		json_string(b, r->output, r->output_len);
		sbuf_puts(b, "}}");
	}
	line_end(o);
}

const struct sink sink_json = {
	.name = "json",
	.doc = "one JSON object per line",
	.attached = json_attached,
	.text = json_text,
	.value = json_value,
	.map = json_map,
	.lost = json_lost,
	.report = json_report,
	.helper_error = json_helper_error,
	.before_maps = json_before_maps,
	.suite = json_suite,
};
