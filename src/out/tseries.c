#include "out/tseries.h"

#include <time.h>

#include "out/num.h"
#include "out/value.h"

enum { GRAPH_WIDTH = 53 }; /* with its borders */

static struct series_bucket bucket(const u8 *data, u64 i)
{
	struct series_bucket b;

	memcpy(&b, data + i * sizeof(b), sizeof(b));
	return b;
}

u64 tseries_end(const struct type *t, const u8 *data)
{
	u64 end = 0;

	for (u32 i = 0; i < t->cnt; i++)
		end = MAX(end, bucket(data, i).epoch);
	return end;
}

/* The value of interval `epoch`; false: nothing came, or it is too old and another one has its place. */
static bool value_at(const struct type *t, const u8 *data, u64 epoch, u64 *v)
{
	struct series_bucket b = bucket(data, epoch % t->cnt);

	*v = b.value;
	return b.epoch == epoch;
}

/* The first interval with a value, of the t->cnt ones up to end. */
static u64 first_of(const struct type *t, const u8 *data, u64 end)
{
	u64 e = end >= t->cnt ? end - t->cnt + 1 : 1, v;

	while (e <= end && !value_at(t, data, e, &v))
		e++;
	return e;
}

/* When an interval began, by the wall clock. */
static bool start_of(const struct naming *n, const struct type *t, u64 epoch, bool is_utc, struct tm *tm, u32 *frac)
{
	s64 ns = (s64)((epoch - 1) * t->interval) - n->tai_ahead_ns, sec = ns / 1000000000;
	time_t when;

	*frac = (u32)(ns % 1000000000 + 1000000000) % 1000000000;
	when = ns < 0 && *frac ? sec - 1 : sec;
	return is_utc ? gmtime_r(&when, tm) != NULL : localtime_r(&when, tm) != NULL;
}

/* How finely times are shown: digits behind the seconds, and what stands above them. */
static u32 digits_of(const struct type *t, const char **head)
{
	if (t->interval % 1000000000 == 0) {
		*head = "hh:mm:ss";
		return 0;
	}
	if (t->interval % 1000000 == 0) {
		*head = "hh:mm:ss.ms ";
		return 3;
	}
	*head = t->interval % 1000 == 0 ? "hh:mm:ss.μs    " : "hh:mm:ss.ns       ";
	return t->interval % 1000 == 0 ? 6 : 9;
}

static void put_time(const struct naming *n, const struct type *t, u64 epoch, u32 digits, struct sbuf *out)
{
	struct tm tm = {};
	char text[16];
	u32 frac;

	start_of(n, t, epoch, false, &tm, &frac);
	sbuf_printf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (!digits)
		return;
	snprintf(text, sizeof(text), "%09u", frac);
	sbuf_putc(out, '.');
	sbuf_add(out, text, digits);
}

static long double as_real(u64 v, bool is_signed)
{
	return is_signed ? (long double)(s64)v : (long double)v;
}

struct scale {
	u64 min, max;
	bool is_signed;
};

static u32 column(const struct scale *s, u64 v)
{
	long double min = as_real(s->min, s->is_signed);

	return (u32)((as_real(v, s->is_signed) - min) / (as_real(s->max, s->is_signed) - min) * (GRAPH_WIDTH - 1));
}

static struct scale scale_of(const struct type *t, const u8 *data, u64 first, u64 end)
{
	struct scale s = { .is_signed = t->is_signed };
	u64 v, lowest = t->is_signed ? (u64)INT64_MIN : 0, highest = t->is_signed ? INT64_MAX : UINT64_MAX;
	bool any = false;

	for (u64 e = first; e <= end; e++) {
		if (!value_at(t, data, e, &v))
			continue;
		if (!any || as_real(v, s.is_signed) < as_real(s.min, s.is_signed))
			s.min = v;
		if (!any || as_real(v, s.is_signed) > as_real(s.max, s.is_signed))
			s.max = v;
		any = true;
	}
	if (s.min == s.max) { /* all values are the same: in the middle */
		s.min -= s.min != lowest;
		s.max += s.max != highest;
	}
	return s;
}

/* The smallest value at the left end of the graph, the largest at the right one. */
static void put_bounds(const struct scale *s, u32 indent, struct sbuf *out)
{
	struct sbuf max = {};
	size_t start;

	num_put(&max, s->max, s->is_signed);
	sbuf_fill(out, ' ', indent);
	start = out->len;
	num_put(out, s->min, s->is_signed);
	while (out->len - start + max.len < GRAPH_WIDTH)
		sbuf_putc(out, ' ');
	sbuf_add(out, max.s, max.len);
	sbuf_putc(out, '\n');
	sbuf_release(&max);
}

static void put_row(const struct scale *s, bool has_value, u64 v, struct sbuf *out)
{
	char row[GRAPH_WIDTH];

	memset(row, ' ', sizeof(row));
	row[0] = row[GRAPH_WIDTH - 1] = '|';
	if (s->is_signed && (s64)s->min < 0 && (s64)s->max > 0)
		row[column(s, 0)] = '.';
	if (has_value)
		row[column(s, v)] = '*';
	sbuf_add(out, row, sizeof(row));
	sbuf_putc(out, ' ');
	if (has_value)
		num_put(out, v, s->is_signed);
	else
		sbuf_putc(out, '-');
	sbuf_putc(out, '\n');
}

static void put_edge(char end, struct sbuf *out)
{
	sbuf_putc(out, end);
	sbuf_fill(out, '_', GRAPH_WIDTH - 2);
	sbuf_putc(out, end);
	sbuf_putc(out, '\n');
}

void tseries_text(const struct naming *n, const struct type *t, const u8 *data, u64 end, struct sbuf *out)
{
	const char *head;
	struct scale s;
	u64 first, v;
	u32 digits, indent;

	if (!end)
		end = tseries_end(t, data);
	first = first_of(t, data, end);
	if (!end || first > end) {
		sbuf_puts(out, "<no data>\n");
		return;
	}
	s = scale_of(t, data, first, end);
	digits = digits_of(t, &head);
	indent = 8 + (digits ? 1 + digits : 0) + 1;
	put_bounds(&s, indent, out);
	sbuf_puts(out, head);
	sbuf_putc(out, ' ');
	put_edge('|', out);
	for (u64 e = first; e <= end; e++) {
		bool has_value = value_at(t, data, e, &v);

		put_time(n, t, e, digits, out);
		sbuf_putc(out, ' ');
		put_row(&s, has_value, v, out);
	}
	sbuf_fill(out, ' ', indent);
	put_edge('v', out);
	put_bounds(&s, indent, out);
}

void tseries_json(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out)
{
	u64 end = tseries_end(t, data), v;
	bool any = false;

	sbuf_putc(out, '[');
	for (u64 e = end ? first_of(t, data, end) : 1; e <= end; e++) {
		struct tm tm = {};
		u32 frac;

		if (!value_at(t, data, e, &v))
			continue;
		start_of(n, t, e, true, &tm, &frac);
		sbuf_printf(out, "%s{\"interval_start\":\"%04d-%02d-%02d %02d:%02d:%02d.%09u\",\"value\":", any ? "," : "", tm.tm_year + 1900, tm.tm_mon + 1,
			    tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, frac);
		json_int(out, v, t->is_signed);
		sbuf_putc(out, '}');
		any = true;
	}
	sbuf_putc(out, ']');
}
