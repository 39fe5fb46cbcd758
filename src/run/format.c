/* SPDX-License-Identifier: GPL-2.0-only */
/* Records to text: fields of a record, and the printf engine over a format that was parsed at compile time. Nothing here
 * allocates once the output buffer has grown to its size. */
#include "image/fmt.h"
#include "base/escape.h"
#include "base/num.h"
#include "out/value.h"
#include "run/session.h"

/* Fields in order; variable ones are found one after the other behind the fixed part. */
struct field_walk {
	const struct rec *rec;
	const u8 *data;
	u32 len, next, tail;
};

static struct field_walk walk_begin(const struct rec *rec, const u8 *data, u32 len)
{
	return (struct field_walk){ .rec = rec, .data = data, .len = len, .tail = rec->fixed_sz };
}

static bool walk_next(struct field_walk *w, const u8 **bytes, u32 *cnt)
{
	const struct rec_field *f = &w->rec->fields[w->next++];

	if (f->is_rest) {
		*bytes = w->data + w->tail;
		*cnt = w->len - w->tail;
		return w->tail <= w->len;
	}
	*cnt = f->is_var ? sizeof(u32) : f->type->size;
	if (f->off > w->len || *cnt > w->len - f->off)
		return false;
	*bytes = w->data + f->off;
	if (!f->is_var)
		return true;
	memcpy(cnt, *bytes, sizeof(u32));
	if (w->tail > w->len || *cnt > w->len - w->tail)
		return false;
	*bytes = w->data + w->tail;
	w->tail += *cnt;
	return true;
}

bool session_field(const struct rec *rec, const u8 *data, u32 len, u32 i, const u8 **bytes, u32 *byte_cnt)
{
	struct field_walk w = walk_begin(rec, data, len);

	if (i >= rec->field_cnt)
		return false;
	while (w.next < i)
		if (rec->fields[w.next].is_var) {
			if (!walk_next(&w, bytes, byte_cnt))
				return false;
		} else {
			w.next++;
		}
	return walk_next(&w, bytes, byte_cnt);
}

bool session_field_whole(struct session *s, const struct rec *rec, const u8 *data, u32 len, u32 i, const u8 **bytes)
{
	const struct type *t;
	u32 cnt;

	if (!session_field(rec, data, len, i, bytes, &cnt))
		return false;
	t = rec->fields[i].type;
	if (cnt >= t->size)
		return true;
	sbuf_reset(&s->whole);
	sbuf_add(&s->whole, *bytes, cnt);
	sbuf_fill(&s->whole, 0, t->size - cnt);
	*bytes = (const u8 *)s->whole.s;
	return true;
}

bool session_field_int(const struct rec *rec, const u8 *data, u32 len, u32 i, u64 *v)
{
	const u8 *bytes;
	u32 cnt;

	if (!session_field(rec, data, len, i, &bytes, &cnt) || rec->fields[i].is_var)
		return false;
	*v = value_load(rec->fields[i].type, bytes);
	return true;
}

void session_print_value(struct session *s, const struct rec *rec, const u8 *data, u32 len, u32 i)
{
	const u8 *bytes;

	bool escapes = s->out.naming.escapes;

	if (session_field_whole(s, rec, data, len, i, &bytes)) {
		s->out.naming.escapes &= !rec->fields[i].is_own;
		s->out.sink->value(&s->out, rec->fields[i].type, bytes);
		s->out.naming.escapes = escapes;
	} else {
		s->bad_records++;
	}
}

/* Pads what was added since `start` to the conversion's width. */
static void pad_from(const struct fmt_piece *p, size_t start, struct sbuf *out)
{
	size_t len = out->len - start, more;

	if (len >= p->width)
		return;
	more = p->width - len;
	sbuf_fill(out, ' ', more);
	if (p->minus)
		return;
	memmove(out->s + start + more, out->s + start, len);
	memset(out->s + start, ' ', more);
}

/* The low `size` bytes of v, as the conversion sees them. */
static u64 cut(u64 v, u32 size, bool is_signed)
{
	u32 unused = size < 8 ? 64 - 8 * size : 0;

	return is_signed ? (u64)((s64)(v << unused) >> unused) : v << unused >> unused;
}

/* sign or 0x, zeroes, digits; with C's rules for the flags. */
static void put_number(const struct fmt_piece *p, const char *prefix, u32 prefix_len, const char *digits, u32 len,
		       struct sbuf *out)
{
	u32 all = prefix_len + len, more = p->width > all ? p->width - all : 0;

	if (!more && !prefix_len) {
		sbuf_add(out, digits, len);
		return;
	}
	if (more && !p->minus && !p->zero)
		sbuf_fill(out, ' ', more);
	sbuf_add(out, prefix, prefix_len);
	if (more && !p->minus && p->zero)
		sbuf_fill(out, '0', more);
	sbuf_add(out, digits, len);
	if (more && p->minus)
		sbuf_fill(out, ' ', more);
}

static void put_int(const struct fmt_piece *p, u64 v, struct sbuf *out)
{
	u32 size = p->size ? p->size : 4, len = 0, prefix_len = 0;
	char buf[NUM_MAX], *digits = buf;
	const char *prefix = "";

	v = cut(v, size, p->conv == FMT_D);
	switch (p->conv) {
	case FMT_D:
		if ((s64)v < 0) {
			prefix = "-";
			prefix_len = 1;
			v = -v;
		} else if (p->plus) {
			prefix = "+";
			prefix_len = 1;
		}
		digits = num_dec(buf, v, &len);
		break;
	case FMT_U:
		digits = num_dec(buf, v, &len);
		break;
	case FMT_O:
		digits = num_oct(buf, v, &len);
		if (p->hash && v) {
			*--digits = '0';
			len++;
		}
		break;
	case FMT_X:
	case FMT_XX:
		digits = num_hex(buf, v, p->conv == FMT_XX, &len);
		if (p->hash && v) {
			prefix = p->conv == FMT_XX ? "0X" : "0x";
			prefix_len = 2;
		}
		break;
	case FMT_C:
	case FMT_S:
	case FMT_P:
	case FMT_R:
	case FMT_RX:
	case FMT_RH:
	case FMT_GR:
		BUG("not a conversion of integers: %d", p->conv);
	}
	put_number(p, prefix, prefix_len, digits, len, out);
}

static void put_pointer(const struct fmt_piece *p, u64 v, struct sbuf *out)
{
	char buf[NUM_MAX], *digits;
	u32 len;

	digits = num_hex(buf, v, false, &len);
	put_number(p, "0x", v ? 2 : 0, digits, len, out); /* null is a plain 0 */
}

static void put_string(const struct naming *n, const struct fmt_piece *p, const struct type *t, const u8 *bytes, u32 cnt,
		       struct sbuf *out)
{
	bool escapes = n->escapes && p->has_prec; /* here, because bytes are cut before they are made visible */
	size_t start = out->len;
	struct naming raw;

	if (escapes) {
		raw = *n;
		raw.escapes = false;
	}
	value_text_n(escapes ? &raw : n, t, bytes, cnt, out);
	if (p->has_prec && out->len - start > p->prec) {
		out->len = start + p->prec;
		out->s[out->len] = 0;
	}
	if (escapes)
		escape_from(out, start, type_is_stack(t));
	if (p->width)
		pad_from(p, start, out);
}

static void put_bytes(const struct fmt_piece *p, const struct type *t, const u8 *bytes, u32 cnt, enum bytes_style style,
		      struct sbuf *out)
{
	size_t start = out->len;

	value_bytes(t, bytes, cnt, &bytes, &cnt);
	value_put_bytes(bytes, cnt, style, out);
	if (p->width)
		pad_from(p, start, out);
}

/* Types without a number of their own (fmt_accepts() keeps them away) read as their first bytes. */
static u64 as_number(const struct type *t, const u8 *bytes, u32 cnt)
{
	u64 v = 0;

	if (t->size <= 8 && cnt >= t->size)
		return value_load(t, bytes);
	memcpy(&v, bytes, MIN(cnt, 8));
	return v;
}

/* Flags of the kernel's allocator, in the order in which names are looked for: whole sets before their parts. The bits are the
 * same in all kernels since 6.1 that have no debugging of memory built in. */
static const struct {
	u32 bits;
	const char *name;
} gfp_names[] = {
	{ 0x1c24ca, "GFP_TRANSHUGE" },
	{ 0x1c20ca, "GFP_TRANSHUGE_LIGHT" },
	{ 0x100cca, "GFP_HIGHUSER_MOVABLE" },
	{ 0x100cc2, "GFP_HIGHUSER" },
	{ 0x100cc0, "GFP_USER" },
	{ 0x400cc0, "GFP_KERNEL_ACCOUNT" },
	{ 0xcc0, "GFP_KERNEL" },
	{ 0xc40, "GFP_NOFS" },
	{ 0x820, "GFP_ATOMIC" },
	{ 0xc00, "GFP_NOIO" },
	{ 0x800, "GFP_NOWAIT" },
	{ 0x1, "GFP_DMA" },
	{ 0x2, "__GFP_HIGHMEM" },
	{ 0x4, "GFP_DMA32" },
	{ 0x8, "__GFP_MOVABLE" },
	{ 0x10, "__GFP_RECLAIMABLE" },
	{ 0x20, "__GFP_HIGH" },
	{ 0x40, "__GFP_IO" },
	{ 0x80, "__GFP_FS" },
	{ 0x100, "__GFP_ZERO" },
	{ 0x400, "__GFP_DIRECT_RECLAIM" },
	{ 0x800, "__GFP_KSWAPD_RECLAIM" },
	{ 0x1000, "__GFP_WRITE" },
	{ 0x2000, "__GFP_NOWARN" },
	{ 0x4000, "__GFP_RETRY_MAYFAIL" },
	{ 0x8000, "__GFP_NOFAIL" },
	{ 0x10000, "__GFP_NORETRY" },
	{ 0x20000, "__GFP_MEMALLOC" },
	{ 0x40000, "__GFP_COMP" },
	{ 0x80000, "__GFP_NOMEMALLOC" },
	{ 0x100000, "__GFP_HARDWALL" },
	{ 0x200000, "__GFP_THISNODE" },
	{ 0x400000, "__GFP_ACCOUNT" },
	{ 0x800000, "__GFP_ZEROTAGS" },
};

static void put_gfp(const struct fmt_piece *p, u64 flags, struct sbuf *out)
{
	size_t start = out->len;

	if (!flags)
		sbuf_putc(out, '0');
	for (u32 i = 0; i < ARRAY_CNT(gfp_names); i++) {
		if ((flags & gfp_names[i].bits) != gfp_names[i].bits)
			continue;
		sbuf_printf(out, "%s%s", out->len > start ? "|" : "", gfp_names[i].name);
		flags &= ~(u64)gfp_names[i].bits;
	}
	if (flags)
		sbuf_printf(out, "%s0x%llx", out->len > start ? "|" : "", (unsigned long long)flags);
	if (p->width)
		pad_from(p, start, out);
}

static void put_piece(const struct naming *n, const struct fmt_piece *p, const struct type *t, const u8 *bytes, u32 cnt,
		      struct sbuf *out)
{
	size_t start = out->len;

	switch (p->conv) {
	case FMT_D:
	case FMT_U:
	case FMT_O:
	case FMT_X:
	case FMT_XX:
		put_int(p, as_number(t, bytes, cnt), out);
		return;
	case FMT_C:
		sbuf_putc(out, (char)as_number(t, bytes, cnt));
		if (n->escapes)
			escape_from(out, start, false);
		pad_from(p, start, out);
		return;
	case FMT_S:
		put_string(n, p, t, bytes, cnt, out);
		return;
	case FMT_P:
		put_pointer(p, as_number(t, bytes, cnt), out);
		return;
	case FMT_GR:
		put_gfp(p, as_number(t, bytes, cnt), out);
		return;
	case FMT_R:
		put_bytes(p, t, bytes, cnt, BYTES_TEXT, out);
		return;
	case FMT_RX:
		put_bytes(p, t, bytes, cnt, BYTES_ESCAPED, out);
		return;
	case FMT_RH:
		put_bytes(p, t, bytes, cnt, BYTES_HEX, out);
		return;
	}
}

static void format(struct session *s, const struct naming *n, const struct rec *rec, const u8 *data, u32 len, struct sbuf *out)
{
	struct field_walk w = walk_begin(rec, data, len);
	const struct fmt *f = rec->fmt;
	struct naming own;

	if (n->escapes) {
		own = *n;
		own.escapes = false;
	}
	for (u32 i = 0; i < f->cnt; i++) {
		const struct fmt_piece *p = &f->pieces[i];
		const u8 *bytes;
		u32 cnt;

		if (p->is_text) {
			sbuf_add(out, p->text, p->len);
		} else if (w.next < rec->field_cnt && walk_next(&w, &bytes, &cnt)) {
			const struct rec_field *field = &rec->fields[w.next - 1];

			put_piece(n->escapes && field->is_own ? &own : n, p, field->type, bytes, cnt, out);
		} else {
			/* The record is shorter than its layout says. */
			sbuf_puts(out, "!{");
			sbuf_add(out, p->text, p->len);
			sbuf_putc(out, '}');
			s->bad_records++;
		}
	}
}

void session_format(struct session *s, const struct rec *rec, const u8 *data, u32 len, struct sbuf *out)
{
	format(s, &s->out.naming, rec, data, len, out);
}

void session_format_raw(struct session *s, const struct rec *rec, const u8 *data, u32 len, struct sbuf *out)
{
	struct naming n = s->out.naming;

	n.escapes = false;
	format(s, &n, rec, data, len, out);
}
