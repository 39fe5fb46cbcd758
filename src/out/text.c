/* The text that people read: the default format. */
#include "out/hist.h"
#include "out/num.h"
#include "out/tseries.h"
#include "out/value.h"

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
	bool is_series = v->val->kind == T_TSERIES, is_rows = v->val->kind == T_HIST || v->val->kind == T_LHIST || is_series;
	u64 end = 0;
	struct sbuf *b = &o->buf;

	sbuf_reset(b);
	for (u32 i = 0; is_series && i < v->cnt; i++)
		end = MAX(end, tseries_end(v->val, v->entries[i].val));
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
		if (is_series)
			tseries_text(&o->naming, v->val, v->entries[i].val, end, b);
		else
			value_text_div(&o->naming, v->val, v->entries[i].val, v->div, b);
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
	if (is_error || !o->no_warnings)
		out_message(o, is_error ? DIAG_ERROR : DIAG_WARNING, d, &at, msg);
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
	.doc = "text to read (the default)",
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
