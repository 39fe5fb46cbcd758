/* SPDX-License-Identifier: GPL-2.0-only */
/* The text that people read: the default format. */
#include "base/num.h"
#include "out/value.h"
#include "types/agg.h"

#define FLUSH_AT (64 << 10) /* a map with a million keys need not be in memory twice */

static void text_attached(struct out *o, u32 probes)
{
	out_flush(o);
	fprintf(o->err, "Attached %u probe%s\n", probes, probes == 1 ? "" : "s");
	fflush(o->err);
}

static void text_text(struct out *o, const char *kind, const char *s, size_t len)
{
	(void)kind;
	out_write(o, s, len);
}

static void text_value(struct out *o, const struct type *t, const u8 *data)
{
	sbuf_reset(&o->buf);
	value_text(&o->naming, t, data, &o->buf);
	sbuf_putc(&o->buf, '\n');
	out_write(o, o->buf.s, o->buf.len);
}

static void text_map(struct out *o, const struct map_view *v)
{
	const struct agg *agg = v->val->kind == T_AGG ? v->val->agg : NULL;
	bool is_rows = agg && (agg->flags & AGG_ROWS);
	struct sbuf *b = &o->buf;
	struct show w = { .n = &o->naming, .out = b, .div = v->div };

	sbuf_reset(b);
	for (u32 i = 0; agg && agg->extent && i < v->cnt; i++)
		w.extent = MAX(w.extent, agg->extent(v->val, v->entries[i].val));
	for (u32 i = 0; i < v->cnt; i++) {
		if (!v->value_only) {
			sbuf_puts(b, v->name);
			if (v->key) {
				sbuf_putc(b, '[');
				value_key(&o->naming, v->key, v->entries[i].key, false, b);
				sbuf_putc(b, ']');
			}
			/* Rows start on a line of their own. */
			sbuf_puts(b, is_rows ? ":\n" : ": ");
		}
		value_show_text(&w, v->val, v->entries[i].val);
		sbuf_putc(b, '\n');
		if (b->len >= FLUSH_AT) {
			out_write(o, b->s, b->len);
			sbuf_reset(b);
		}
	}
	out_write(o, b->s, b->len);
}

static void text_lost(struct out *o, u64 events)
{
	out_flush(o);
	fprintf(o->err, "Lost %llu events\n", (unsigned long long)events);
	fflush(o->err);
}

static void text_report(struct out *o, const char *kind, struct span at, const struct diag *d, const char *msg)
{
	bool is_error = str_eq(kind, "errorf");

	o->error_cnt += is_error || str_eq(kind, "runtime_error");
	if (is_error || str_eq(kind, "warnf")) {
		if (is_error || !o->no_warnings)
			out_own_message(o, is_error ? DIAG_ERROR : DIAG_WARNING, d, &at, msg);
	} else if (!o->no_warnings) {
		out_message(o, DIAG_WARNING, d, &at, msg);
	}
}

static void text_helper_error(struct out *o, struct span at, const struct diag *d, const char *msg, const char *helper,
			      int retcode)
{
	struct sbuf text = {};

	if (o->no_warnings)
		return;
	sbuf_printf(&text, "%s\nAdditional Info - helper: %s, retcode: %d", msg, helper, retcode);
	out_message(o, DIAG_WARNING, d, &at, sbuf_str(&text));
	sbuf_release(&text);
}

static void text_before_maps(struct out *o)
{
	out_write(o, "\n\n", 2);
}

const struct sink sink_text = {
	.name = "text",
	.doc = "human-readable text (the default)",
	.attached = text_attached,
	.text = text_text,
	.value = text_value,
	.map = text_map,
	.lost = text_lost,
	.report = text_report,
	.helper_error = text_helper_error,
	.before_maps = text_before_maps,
	.suite = text_suite,
};
