#include "out/tseries.h"
#include "out/value.h"

#include <arpa/inet.h>
#include <time.h>

#include "out/hist.h"
#include "out/num.h"

struct show {
	const struct naming *n;
	struct sbuf *out;
	u64 div;
	bool compact;
};

static void show_value(const struct show *w, const struct type *t, const u8 *data, u32 len);

u64 value_load(const struct type *t, const u8 *data)
{
	u64 v = 0;

	switch (t->size) {
	case 1:
		return t->is_signed ? (u64)(s64)(s8)*data : *data;
	case 2:
		memcpy(&v, data, 2);
		return t->is_signed ? (u64)(s64)(s16)v : v;
	case 4:
		memcpy(&v, data, 4);
		return t->is_signed ? (u64)(s64)(s32)v : v;
	}
	memcpy(&v, data, MIN(t->size, 8));
	return v;
}

u64 value_load_member(const struct member *m, const u8 *data)
{
	unsigned __int128 bits = 0; /* a packed bit-field of 64 bits can touch nine bytes */
	u64 v;

	if (!m->bit_sz)
		return value_load(m->type, data + m->off);
	memcpy(&bits, data + m->off + m->bit_off / 8, (m->bit_off % 8 + m->bit_sz + 7) / 8);
	v = (u64)(bits >> m->bit_off % 8) << (64 - m->bit_sz);
	return m->type->is_signed ? (u64)((s64)v >> (64 - m->bit_sz)) : v >> (64 - m->bit_sz);
}

static u64 load_u64(const u8 *data)
{
	u64 v;

	memcpy(&v, data, 8);
	return v;
}

u64 value_average(const struct type *t, const u8 *data)
{
	u64 total = load_u64(data), cnt = load_u64(data + 8);

	return cnt ? value_div(total, cnt, t->is_signed) : 0;
}

static void show_string(const struct show *w, const struct type *t, const u8 *data, u32 len)
{
	const char *trailer = w->n->compile && w->n->compile->config.str_trunc_trailer ?
				      w->n->compile->config.str_trunc_trailer : "..";
	u32 n = strnlen((const char *)data, MIN(len, t->size));

	sbuf_add(w->out, data, n);
	/* No room was left for the NUL: the text was cut. */
	if (n && n == t->size && !t->is_fillable)
		sbuf_puts(w->out, trailer);
}

void value_bytes(const struct type *t, const u8 *data, u32 len, const u8 **bytes, u32 *cnt)
{
	u32 used;

	*bytes = data;
	*cnt = MIN(len, t->size);
	if (t->kind != T_BUFFER)
		return;
	*cnt = 0;
	if (len < 4)
		return;
	memcpy(&used, data, 4);
	*bytes = data + 4;
	*cnt = MIN(used, MIN(t->cnt, len - 4));
}

void value_put_bytes(const u8 *bytes, u32 cnt, enum bytes_style style, struct sbuf *out)
{
	static const char hex[] = "0123456789abcdef";

	for (u32 i = 0; i < cnt; i++) {
		char byte[] = { '\\', 'x', hex[bytes[i] >> 4], hex[bytes[i] & 15] };

		if (style == BYTES_HEX) {
			if (i)
				sbuf_putc(out, ' ');
			sbuf_add(out, byte + 2, 2);
		} else if (style == BYTES_TEXT && bytes[i] >= 32 && bytes[i] <= 126) {
			sbuf_putc(out, (char)bytes[i]);
		} else {
			sbuf_add(out, byte, 4);
		}
	}
}

static void show_enum(const struct show *w, const struct type *t, u64 v)
{
	u64 mask = t->size < 8 ? ((u64)1 << 8 * t->size) - 1 : ~(u64)0; /* the sign of consts need not be the type's */

	type_complete(t);
	for (u32 i = 0; i < t->const_cnt; i++) {
		if ((((u64)t->consts[i].value ^ v) & mask) == 0) {
			sbuf_puts(w->out, t->consts[i].name);
			return;
		}
	}
	num_put(w->out, v, t->is_signed);
}

/* Members of an anonymous struct or union are shown as members of the one around it. */
static bool show_members(const struct show *w, const struct type *t, const u8 *data, bool any)
{
	type_complete(t);
	for (u32 i = 0; i < t->member_cnt; i++) {
		const struct member *m = &t->members[i];

		if (m->name && !*m->name) {
			if (m->type->kind == T_STRUCT)
				any = show_members(w, m->type, data + m->off, any);
			continue; /* anything else without a name is padding */
		}
		sbuf_puts(w->out, !any ? w->compact ? "{" : "{ " : w->compact ? "," : ", ");
		any = true;
		sbuf_putc(w->out, '.');
		sbuf_puts(w->out, m->name ? m->name : "");
		sbuf_puts(w->out, w->compact ? "=" : " = ");
		if (m->bit_sz) {
			u64 v = value_load_member(m, data);

			if (m->type->kind == T_ENUM)
				show_enum(w, m->type, v);
			else if (m->type->kind == T_BOOL)
				sbuf_puts(w->out, v ? "true" : "false");
			else
				num_put(w->out, value_div(v, w->div, m->type->is_signed), m->type->is_signed);
		} else {
			show_value(w, m->type, data + m->off, m->type->size);
		}
	}
	return any;
}

static void show_tuple(const struct show *w, const struct type *t, const u8 *data, bool with_parens)
{
	if (with_parens)
		sbuf_putc(w->out, '(');
	for (u32 i = 0; i < t->member_cnt; i++) {
		if (i)
			sbuf_puts(w->out, w->compact ? "," : ", ");
		show_value(w, t->members[i].type, data + t->members[i].off, t->members[i].type->size);
	}
	if (with_parens)
		sbuf_putc(w->out, ')');
}

/* id: see site_value() */
static void show_site(const struct show *w, const struct type *t, u64 id)
{
	const struct compile *c = w->n->compile;

	if (!id) /* nothing was ever put there */
		return;
	if (c && id <= c->sites.cnt)
		sbuf_puts(w->out, site_text(&c->sites.at[id - 1], t->show));
	else
		num_put_u64(w->out, id);
}

static void show_usym(const struct show *w, const u8 *data)
{
	u64 addr = load_u64(data);
	u32 pid;

	memcpy(&pid, data + 8, 4);
	if (!w->n->usym || !w->n->usym(w->n->self, addr, pid, w->out))
		num_put_addr(w->out, addr);
}

static void show_inet(const struct show *w, const u8 *data)
{
	char text[INET6_ADDRSTRLEN];
	u32 family;

	memcpy(&family, data, 4);
	/* inet_ntop() refuses what is neither of the two */
	sbuf_puts(w->out, inet_ntop((int)family, data + 4, text, sizeof(text)) ? text : "(?)");
}

static void show_mac(const struct show *w, const u8 *data)
{
	sbuf_printf(w->out, "%02X:%02X:%02X:%02X:%02X:%02X", data[0], data[1], data[2], data[3], data[4], data[5]);
}

/* strftime(3), with %f for microseconds, %l for milliseconds and %k for nanoseconds. */
static void show_time(const struct show *w, const struct type *t, u64 stamp)
{
	s64 ns = (s64)stamp + (t->cnt == CLOCK_IS_TAI ? -w->n->tai_ahead_ns : w->n->boot_to_real_ns), sec = ns / 1000000000, frac = ns % 1000000000;
	char own[256], text[1024], *at = own, *end = own + sizeof(own) - 16;
	const char *fmt = t->name;
	static bool zone_is_read;
	struct tm tm;
	time_t when;
	size_t n;

	if (frac < 0) {
		frac += 1000000000;
		sec--;
	}
	if (!zone_is_read) {
		tzset(); /* localtime_r() may do without */
		zone_is_read = true;
	}
	when = sec;
	if (!localtime_r(&when, &tm))
		goto fail;
	for (; *fmt && at < end; fmt++) {
		if (fmt[0] == '%' && fmt[1]) {
			fmt++;
			if (*fmt == 'f')
				at += snprintf(at, 16, "%06u", (u32)(frac / 1000));
			else if (*fmt == 'l')
				at += snprintf(at, 16, "%03u", (u32)(frac / 1000000));
			else if (*fmt == 'k')
				at += snprintf(at, 16, "%09u", (u32)frac);
			else
				*at++ = '%', *at++ = *fmt;
		} else {
			*at++ = *fmt;
		}
	}
	if (*fmt)
		goto fail;
	/* A space in front: the result of an empty text and of a failure would be the same otherwise. */
	memmove(own + 1, own, at - own);
	own[0] = ' ';
	at[1] = 0;
	n = strftime(text, sizeof(text), own, &tm);
	if (!n)
		goto fail;
	sbuf_add(w->out, text + 1, n - 1);
	return;
fail:
	sbuf_puts(w->out, "(?)");
}

static void show_stats(const struct show *w, const struct type *t, const u8 *data)
{
	sbuf_puts(w->out, "{ .count = ");
	num_put_u64(w->out, load_u64(data + 8));
	sbuf_puts(w->out, ", .average = ");
	num_put(w->out, value_div(value_average(t, data), w->div, t->is_signed), t->is_signed);
	sbuf_puts(w->out, ", .total = ");
	num_put(w->out, load_u64(data), t->is_signed);
	sbuf_puts(w->out, " }");
}

static void show_value(const struct show *w, const struct type *t, const u8 *data, u32 len)
{
	const u8 *bytes;
	u32 cnt;

	switch (t->kind) {
	case T_ERROR: case T_NONE: case T_VOID: case T_KIND_CNT:
		sbuf_puts(w->out, "null");
		return;
	case T_BOOL:
		sbuf_puts(w->out, *data ? "true" : "false");
		return;
	case T_INT:
		num_put(w->out, value_div(value_load(t, data), w->div, t->is_signed), t->is_signed);
		return;
	case T_ENUM:
		show_enum(w, t, value_load(t, data));
		return;
	case T_POINTER:
		num_put_addr(w->out, value_load(t, data));
		return;
	case T_STRING:
		show_string(w, t, data, len);
		return;
	case T_BUFFER:
		value_bytes(t, data, len, &bytes, &cnt);
		value_put_bytes(bytes, cnt, BYTES_TEXT, w->out);
		return;
	case T_ARRAY:
		sbuf_putc(w->out, '[');
		for (u32 i = 0; i < t->cnt; i++) {
			if (i)
				sbuf_putc(w->out, ',');
			show_value(w, t->elem, data + (size_t)i * t->elem->size, t->elem->size);
		}
		sbuf_putc(w->out, ']');
		return;
	case T_STRUCT:
		sbuf_puts(w->out, !show_members(w, t, data, false) ? "{}" : w->compact ? "}" : " }");
		return;
	case T_TUPLE:
		if (t->member_cnt && t->members[0].name)
			sbuf_puts(w->out, !show_members(w, t, data, false) ? "{}" : w->compact ? "}" : " }");
		else
			show_tuple(w, t, data, true);
		return;
	case T_SITE:
		show_site(w, t, value_load(t, data));
		return;
	case T_KSYM:
		if (!w->n->ksym || !w->n->ksym(w->n->self, load_u64(data), w->out))
			num_put_addr(w->out, load_u64(data));
		return;
	case T_USYM:
		show_usym(w, data);
		return;
	case T_KSTACK: case T_USTACK:
		stack_text(w->n, t, data, len, w->out);
		return;
	case T_TIMESTAMP:
		show_time(w, t, load_u64(data));
		return;
	case T_INET:
		show_inet(w, data);
		return;
	case T_MAC:
		show_mac(w, data);
		return;
	case T_USERNAME:
		if (w->n->username)
			w->n->username(w->n->self, value_load(t, data), w->out);
		else
			num_put_u64(w->out, value_load(t, data));
		return;
	case T_CGROUP_PATH:
		if (w->n->cgroup_path)
			w->n->cgroup_path(w->n->self, load_u64(data), t->name, w->out);
		else
			num_put_u64(w->out, load_u64(data));
		return;
	case T_COUNT:
		num_put_u64(w->out, value_div(load_u64(data), w->div, false));
		return;
	case T_SUM: case T_MIN: case T_MAX:
		num_put(w->out, value_div(load_u64(data), w->div, t->is_signed), t->is_signed);
		return;
	case T_AVG:
		num_put(w->out, value_div(value_average(t, data), w->div, t->is_signed), t->is_signed);
		return;
	case T_STATS:
		show_stats(w, t, data);
		return;
	case T_TSERIES:
		tseries_text(w->n, t, data, 0, w->out);
		return;
	case T_HIST: case T_LHIST:
		hist_text(t, data, w->div, w->out);
		return;
	}
}

void value_text(const struct naming *n, const struct type *t, const u8 *data, struct sbuf *out)
{
	show_value(&(struct show){ .n = n, .out = out }, t, data, t->size);
}

void value_text_n(const struct naming *n, const struct type *t, const u8 *data, u32 len, struct sbuf *out)
{
	show_value(&(struct show){ .n = n, .out = out }, t, data, len);
}

void value_text_div(const struct naming *n, const struct type *t, const u8 *data, u64 div, struct sbuf *out)
{
	show_value(&(struct show){ .n = n, .out = out, .div = div }, t, data, t->size);
}

void value_key(const struct naming *n, const struct type *t, const u8 *data, bool compact, struct sbuf *out)
{
	struct show w = { .n = n, .out = out, .compact = compact };

	if (t->kind == T_TUPLE && !(t->member_cnt && t->members[0].name))
		show_tuple(&w, t, data, false);
	else
		show_value(&w, t, data, t->size);
}
