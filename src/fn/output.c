/* SPDX-License-Identifier: GPL-2.0-only */
/* Output: functions whose records user space prints. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/escape.h"
#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "lang/provider.h"
#include "image/fmt.h"
#include "image/need.h"
#include "out/value.h"
#include "run/command.h"
#include "run/readfile.h"
#include "run/session.h"

/* printf: the format is parsed once, here; record and event share the result. */

void printf_check(struct check *k, struct expr *e)
{
	struct expr *text = e->call.args[0];
	const char *why = NULL;
	u32 at = 0, given = e->call.arg_cnt - 1, n = 0;
	const struct fmt *f = e->call.note; /* of an earlier round */

	if (!f || f->text != text->str.s)
		f = fmt_parse(check_arena(k), text->str.s, text->str.len, &why, &at);
	e->type = &type_none;
	if (!f) {
		check_fail(k, text, E_FORMAT, "%s(): %s", e->call.name, why);
		goto bad;
	}
	if (given < f->arg_cnt || given > f->arg_cnt) {
		check_fail(k, e, E_FORMAT, "%s: %s arguments for format string (%u supplied, %u expected)", e->call.name,
			   given < f->arg_cnt ? "not enough" : "too many", given, f->arg_cnt);
		goto bad;
	}
	for (u32 i = 0; i < f->cnt; i++) {
		const struct fmt_piece *p = &f->pieces[i];
		struct expr *a;

		if (p->is_text)
			continue;
		a = e->call.args[1 + n++];
		if (type_is_agg(a->type)) {
			check_fail(k, a, E_FORMAT, "an aggregation cannot be printed by %s(); use print()", e->call.name);
			goto bad;
		}
		if (!fmt_accepts(p->conv, a->type)) {
			check_fail(k, a, E_FORMAT, "%s: unsupported format specifier for type '%s': %.*s", e->call.name,
				   type_str(check_arena(k), a->type), (int)p->len, p->text);
			diag_hint(k->c->diag,
				  a->type->kind == T_BUFFER ? "buffers are shown by %%r" : "%%s shows a value of any type");
			goto bad;
		}
	}
	e->call.note = (void *)f;
	return;
bad:
	e->type = &type_error;
}

struct val printf_lower(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct rec *r = lower_rec_new(l, e);

	r->fmt = e->call.note;
	lower_emit(l, r, e->call.args + 1, e->call.arg_cnt - 1);
	return val_none();
}

/* In a pinned iterator: the kernel's own printf, into the iterator's file. */

#define SEQ_ARG_MAX 12

static const char *seq_conv(const struct fmt_piece *p)
{
	switch (p->conv) {
	case FMT_D:
		return p->size == 8 ? "lld" : "d";
	case FMT_U:
		return p->size == 8 ? "llu" : "u";
	case FMT_X:
		return p->size == 8 ? "llx" : "x";
	case FMT_XX:
		return p->size == 8 ? "llX" : "X";
	case FMT_C:
		return "c";
	case FMT_S:
		return "s";
	case FMT_P:
		return "llx";
	case FMT_O:
	case FMT_R:
	case FMT_RX:
	case FMT_RH:
	case FMT_GR:
		break;
	}
	return NULL;
}

static void check_seq_printf(struct check *k, struct expr *e)
{
	const struct fmt *f = e->call.note;
	u32 n = 1;

	if (f->arg_cnt > SEQ_ARG_MAX)
		check_fail(k, e, E_ARG_COUNT, "printf() in a pinned iterator takes up to %u values (%u provided)", SEQ_ARG_MAX,
			   f->arg_cnt);
	for (u32 i = 0; i < f->cnt && !is_poisoned(e); i++) {
		const struct fmt_piece *p = &f->pieces[i];
		struct expr *a = p->is_text ? NULL : e->call.args[n++];

		if (!a ||
		    (seq_conv(p) && !p->has_prec && (p->conv == FMT_S ? a->type->kind == T_STRING : type_is_scalar(a->type))))
			continue;
		check_fail(k, a, E_FORMAT,
			   "in a pinned iterator the kernel formats the text, and it does not support %.*s for %s", (int)p->len,
			   p->text, type_str(check_arena(k), a->type));
		diag_hint(k->c->diag, "it supports %%d, %%u, %%x, %%c, %%p for numbers, and %%s for strings");
		e->type = &type_error;
	}
}

static void check_printf(struct check *k, struct expr *e)
{
	printf_check(k, e);
	if (k->unit->writes_seq && !is_poisoned(e))
		check_seq_printf(k, e);
}

static const char *seq_format(struct arena *a, const struct fmt *f)
{
	struct sbuf b = {};
	const char *s;

	for (u32 i = 0; i < f->cnt; i++) {
		const struct fmt_piece *p = &f->pieces[i];

		for (u32 k = 0; p->is_text && k < p->len; k++)
			sbuf_printf(&b, p->text[k] == '%' ? "%%%%" : "%c", p->text[k]);
		if (p->is_text)
			continue;
		sbuf_printf(&b, "%s%%%s%s%s%s", p->conv == FMT_P ? "0x" : "", p->minus ? "-" : "", p->plus ? "+" : "",
			    p->hash ? "#" : "", p->zero ? "0" : "");
		if (p->width)
			sbuf_printf(&b, "%u", p->width);
		sbuf_puts(&b, seq_conv(p));
	}
	s = arena_strdup(a, sbuf_str(&b));
	sbuf_release(&b);
	return s;
}

static struct val lower_seq_printf(struct lower *l, struct expr *e)
{
	const char *text = seq_format(l->c->arena, e->call.note);
	u32 cnt = e->call.arg_cnt - 1, sz = strlen(text) + 1;
	struct mem values = {};
	vreg format;

	if (cnt)
		values = lower_temp(l, 8 * cnt, 8);
	for (u32 i = 0; i < cnt; i++) {
		struct expr *a = e->call.args[1 + i];
		vreg v = a->type->kind == T_STRING ? lower_addr(l, lower_mem(l, a)) : lower_reg(l, a);

		ir_store(&l->b, values.base, values.off + 8 * i, 8, opnd_reg(v));
	}
	format = ir_mapval(&l->b, MAP_IDX_CONST, lower_const(l, text, sz, 8));
	ir_call_of(&l->b, HELPER_seq_printf, opnd_reg(l->unit->provider->lower_seq(l)), opnd_reg(format), opnd_imm(sz),
		   cnt ? opnd_reg(lower_addr(l, values)) : opnd_imm(0), opnd_imm(8 * cnt));
	return val_none();
}

static struct val lower_printf(struct lower *l, struct expr *e, const struct mem *dst)
{
	return l->unit->writes_seq ? lower_seq_printf(l, e) : printf_lower(l, e, dst);
}

static void event_printf(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	sbuf_reset(&s->text);
	session_format(s, rec, data, len, &s->text);
	s->out.sink->text(&s->out, "printf", sbuf_str(&s->text), s->text.len);
}

/* print: a whole map by reference, or a value. */

static void check_print(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[0];
	bool is_map = a->kind == E_MAP && !a->map.key;

	e->type = &type_none;
	if (is_map && !a->map.map) {
		if (k->is_last) {
			check_fail(k, a, E_UNDEFINED_VARIABLE, "Undefined map: %s", a->map.name);
			compile_hint_undefined(k->c);
			e->type = &type_error;
		}
		return;
	}
	if (is_map && k->loops && k->is_last) {
		diag_warn(k->c->diag, e->span, W_LATE, "print() runs after the loop, and shows the values that %s has then",
			  a->map.name);
		diag_hint(k->c->diag, "printf() shows the current value");
	}
	if (!is_map && a->kind == E_MAP && type_is_agg(a->type) && e->call.arg_cnt > 1) {
		check_fail(k, e->call.args[1], E_ARG_COUNT, "top and div are for whole maps: print(@m, top, div)");
		e->type = &type_error;
	} else if (!is_map && e->call.arg_cnt > 1) {
		check_fail(k, e->call.args[1], E_ARG_COUNT, "top and div are for whole maps: print(@m, top, div)");
		e->type = &type_error;
	}
}

/* The key of an aggregation that user space reads, in the map's layout. It is the value of an internal call, so that it can be a
 * field of a record. */
static struct val lower_print_key(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *map = e->call.args[0];
	struct mem m, tail = l->tail;
	bool outer = l->zero_tails;

	if (type_is_scalar(e->type))
		return (struct val){ VAL_REG, .r = lower_scalar(l, map->map.key) };
	m = dst ? *dst : lower_temp(l, e->type->size, 8);
	l->zero_tails = true;
	l->tail = (struct mem){};
	lower_store(l, map->map.key, e->type, m);
	l->zero_tails = outer;
	l->tail = tail;
	return val_mem(m);
}

static const struct fn print_key_row = { .name = "print", .lower = lower_print_key };

static void print_by_key(struct lower *l, struct expr *e, struct rec *r)
{
	struct expr *field = arena_new(l->c->arena, struct expr);
	const struct map *m = e->call.args[0]->map.map;

	*field = *e;
	field->call.fn = &print_key_row;
	field->call.arg_cnt = 1;
	field->type = m->key;
	r->map = m->index + 1;
	/* A long key makes the record one of variable size, which only the data ring takes. */
	r->is_ctrl = m->key->size <= 64;
	lower_emit(l, r, &field, 1);
}

static struct val lower_print(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0];
	struct rec *r = lower_rec_new(l, e);

	if (a->kind == E_MAP && !a->map.key) {
		r->map = a->map.map->index + 1;
		r->reset = e->call.reset;
		for (u32 i = 1; i < e->call.arg_cnt; i++)
			r->num[i - 1] = e->call.args[i]->num.value;
		lower_emit(l, r, NULL, 0);
	} else if (a->kind == E_MAP && type_is_agg(a->type)) {
		print_by_key(l, e, r);
	} else {
		r->is_ctrl = false; /* may be long, and is data */
		lower_emit(l, r, &a, 1);
	}
	return val_none();
}

static void event_print(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const u8 *key;

	if (rec->map && rec->field_cnt) {
		if (session_field_whole(s, rec, data, len, 0, &key))
			session_print_key(s, image_rec_map(s->image, rec), key);
		else
			s->bad_records++;
	} else if (rec->map)
		session_print_map(s, image_rec_map(s->image, rec), rec->reset, rec->num[0], rec->num[1]);
	else
		session_print_value(s, rec, data, len, 0);
}

/* errorf, warnf: messages with the place in the script. */

static void report(struct session *s, const struct rec *rec, const u8 *data, u32 len, const char *kind)
{
	bool escapes = s->out.naming.escapes;

	sbuf_reset(&s->text);
	s->out.naming.escapes = s->out.err_is_terminal && s->out.sink == sink_find("text");
	session_format(s, rec, data, len, &s->text);
	s->out.naming.escapes = escapes;
	s->out.sink->report(&s->out, kind, rec->span, s->diag, sbuf_str(&s->text));
}

static void event_errorf(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	report(s, rec, data, len, "errorf");
}

static void event_warnf(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	report(s, rec, data, len, "warnf");
}

/* assert: a message and the end, unless the condition holds. */

static void check_assert(struct check *k, struct expr *e)
{
	check_cond(k, e->call.args[0]);
	e->type = is_poisoned(e->call.args[0]) ? &type_error : &type_none;
}

static struct val lower_assert(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct ir_block *holds = ir_block_new(l->b.f), *fails = ir_block_new(l->b.f);
	struct rec *r = lower_rec_new(l, e);
	u32 mark;

	r->text = e->call.args[1]->str.s;
	lower_branch(l, e->call.args[0], holds, fails);
	mark = lower_mark(l);
	ir_place(&l->b, fails);
	lower_emit(l, r, NULL, 0);
	lower_leave(l);
	lower_forget(l, mark);
	ir_place(&l->b, holds);
	return val_none();
}

static void event_assert(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	sbuf_reset(&s->text);
	sbuf_printf(&s->text, "assert failed: %s", rec->text);
	s->out.sink->report(&s->out, "errorf", rec->span, s->diag, sbuf_str(&s->text));
	session_exit(s, 1);
}

/* static_assert, fail: errors at compile time, unless they are in a branch that is never taken. */

static void check_static_assert(struct check *k, struct expr *e)
{
	struct expr *cond = e->call.args[0];
	u64 holds;

	e->type = &type_none;
	if (k->dead)
		return;
	if (!check_eval(cond, &holds)) {
		check_fail(k, cond, E_ARG_TYPE, "the condition of static_assert() must be known when the script is compiled");
		diag_hint(k->c->diag, "assert() checks at run time");
		e->type = &type_error;
	} else if (!holds) {
		check_fail(k, e, E_ASSERTION, "%s", e->call.args[1]->str.s);
	}
}

static void check_fail_row(struct check *k, struct expr *e)
{
	struct sbuf text = {};
	const struct fmt *f;
	u32 n = 1;

	printf_check(k, e);
	f = e->call.note;
	if (is_poisoned(e) || k->dead)
		return;
	for (u32 i = 0; i < f->cnt; i++) {
		const struct fmt_piece *p = &f->pieces[i];
		struct expr *a = p->is_text ? NULL : e->call.args[n++];

		if (!a) {
			sbuf_add(&text, p->text, p->len);
		} else if (a->kind == E_STR) {
			sbuf_puts(&text, a->str.s);
		} else if (expr_is_int(a)) {
			sbuf_printf(&text,
				    p->conv == FMT_X          ? "%llx" :
					    p->conv == FMT_XX ? "%llX" :
								"%lld",
				    (long long)a->num.value);
		} else {
			check_fail(k, a, E_ARG_TYPE, "fail() runs when the script is compiled: its arguments must be literals");
			e->type = &type_error;
			goto out;
		}
	}
	check_fail(k, e, E_ASSERTION, "%s", sbuf_str(&text));
out:
	sbuf_release(&text);
}

static struct val lower_to_nothing(struct lower *l, struct expr *e, const struct mem *dst)
{
	return val_none();
}

/* debugf: the kernel's own printf, into trace_pipe. */

static void check_debugf(struct check *k, struct expr *e)
{
	const struct fmt *f;
	u32 n = 1;

	printf_check(k, e);
	f = e->call.note;
	if (is_poisoned(e))
		return;
	if (f->arg_cnt > 3) {
		check_fail(k, e, E_ARG_COUNT, "debugf() takes up to 3 values (%u provided)", f->arg_cnt);
		return;
	}
	for (u32 i = 0; i < f->cnt; i++) {
		const struct fmt_piece *p = &f->pieces[i];
		struct expr *a = p->is_text ? NULL : e->call.args[n++];

		if (!a)
			continue;
		if (p->conv == FMT_S ? a->type->kind != T_STRING :
				       p->conv != FMT_D && p->conv != FMT_U && p->conv != FMT_X && p->conv != FMT_P) {
			check_fail(k, a, E_FORMAT, "debugf: the kernel does not support %.*s for %s", (int)p->len, p->text,
				   type_str(check_arena(k), a->type));
			diag_hint(k->c->diag, "it supports %%d, %%u, %%x, %%p, and %%s for strings");
			e->type = &type_error;
			return;
		}
	}
}

static struct val lower_debugf(struct lower *l, struct expr *e, const struct mem *dst)
{
	const struct expr *text = e->call.args[0];
	struct opnd args[5] = {};
	u32 cnt = 2;

	for (u32 i = 1; i < e->call.arg_cnt; i++) {
		struct expr *a = e->call.args[i];

		args[cnt++] = a->type->kind == T_STRING ? opnd_reg(lower_addr(l, lower_mem(l, a))) : opnd_reg(lower_reg(l, a));
	}
	args[0] = opnd_reg(ir_mapval(&l->b, MAP_IDX_CONST, lower_const(l, text->str.s, text->str.len + 1, 8)));
	args[1] = opnd_imm(text->str.len + 1);
	ir_call(&l->b, HELPER_trace_printk, args, cnt);
	return val_none();
}

/* cat: the start of a file. */

static void cat(struct session *s, const struct rec *rec, const char *path)
{
	struct sbuf all = {}, message = {};
	char *visible;
	const char *why;
	bool is_open;

	why = read_some(path, s->image->config.max_cat_bytes, &all, &is_open);
	if (!why) {
		if (s->out.naming.escapes)
			escape_from(&all, 0, true);
		s->out.sink->text(&s->out, "cat", sbuf_str(&all), all.len);
	} else {
		visible = s->out.err_is_terminal ? escape_text(path) : xstrdup(path);
		sbuf_printf(&message, "failed to %s file '%s' (%s)", is_open ? "read" : "open", visible, why);
		s->out.sink->report(&s->out, "errorf", rec->span, s->diag, sbuf_str(&message));
		free(visible);
	}
	sbuf_release(&message);
	sbuf_release(&all);
}

static void event_cat(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	sbuf_reset(&s->text);
	session_format_raw(s, rec, data, len, &s->text);
	command_after(s, rec, sbuf_str(&s->text), cat); /* system() may have made the file */
}

/* time: the wall clock when the event is handled. */

static void check_time(struct check *k, struct expr *e)
{
	e->type = &type_none;
}

static struct val lower_time(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct rec *r = lower_rec_new(l, e);

	r->text = e->call.arg_cnt ? e->call.args[0]->str.s : "%H:%M:%S\n";
	lower_emit(l, r, NULL, 0);
	return val_none();
}

static void event_time(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	char text[512];
	time_t now = time(NULL);
	struct tm tm;
	size_t n;

	localtime_r(&now, &tm);
	n = strftime(text, sizeof(text), rec->text, &tm);
	s->out.sink->text(&s->out, "time", text, n);
}

/* A timestamp is a u64 of nanoseconds. type.name is the format, type.cnt the clock. */
enum stamp_clock { STAMP_BOOT, STAMP_TAI };

/* strftime(3), with %f for microseconds, %l for milliseconds and %k for nanoseconds. */
static void text_timestamp(const struct show *w, const struct type *t, const u8 *data)
{
	/* Any number can be a timestamp: the sum may wrap around. */
	s64 ns = value_load(t, data) + (u64)(t->cnt == STAMP_TAI ? -w->n->tai_ahead_ns : w->n->boot_to_real_ns),
	    sec = ns / 1000000000, frac = ns % 1000000000;
	char own[256], text[1024], *at = own, *end = own + sizeof(own) - 16;
	const char *fmt = t->name ? t->name : "";
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

static const struct type type_timestamp;
static const struct opaque timestamp = {
	.name = "timestamp",
	.word = "timestamp",
	.type = &type_timestamp,
	.flags = OPAQUE_SCALAR | OPAQUE_PARAM | OPAQUE_OWN,
	.order = ORDER_NUMBER,
	.text = text_timestamp,
};
static const struct type type_timestamp = OPAQUE_TYPE(timestamp, 8, 8);

static void check_strftime(struct check *k, struct expr *e)
{
	enum nsecs_clock clock = nsecs_clock(e->call.args[1]);

	if (clock == NSECS_MONOTONIC) {
		check_fail(k, e->call.args[1], E_ARG_TYPE, "strftime() cannot convert the monotonic clock to the time of day");
		diag_hint(k->c->diag, "use nsecs, nsecs(tai) or nsecs(sw_tai)");
		e->type = &type_error;
		return;
	}
	e->type = type_opaque(check_arena(k), &timestamp, e->call.args[0]->str.s,
			      clock == NSECS_TAI || clock == NSECS_SW_TAI ? STAMP_TAI : STAMP_BOOT);
}

static struct val lower_strftime(struct lower *l, struct expr *e, const struct mem *dst)
{
	return (struct val){ VAL_REG, .r = lower_scalar(l, e->call.args[1]) };
}

/* join: the strings of an array of pointers. In the record they follow each other, each with its NUL. */

enum { JOIN_STRINGS = 16, JOIN_STR_SZ = 1024, JOIN_SZ = 8192 };

static void check_join(struct check *k, struct expr *e)
{
	e->type = &type_none;
}

/* Reads pointer after pointer until NULL and appends each string to the buffer that starts at dst: u32 length, bytes. */
static struct val lower_join_buffer(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0];
	struct ir_block *loop = ir_block_new(l->b.f), *have = ir_block_new(l->b.f), *room = ir_block_new(l->b.f),
			*add = ir_block_new(l->b.f), *bad = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	enum addr_space as = a->type->kind == T_POINTER && a->type->as != AS_NONE ? a->type->as : AS_ANY;
	struct mem m = *dst, slot = lower_temp(l, 8, 8);
	u32 helper;
	vreg arr = lower_reg(l, a), i = ir_vreg(l->b.f), used = ir_vreg(l->b.f), to = lower_addr(l, m), at, p, n;

	ir_mov_to(&l->b, i, opnd_imm(0));
	ir_mov_to(&l->b, used, opnd_imm(0));
	ir_jmp(&l->b, loop);
	ir_place(&l->b, loop);
	at = ir_alu(&l->b, IR_ADD, arr, opnd_reg(ir_alu(&l->b, IR_SHL, i, opnd_imm(3))));
	lower_zero(l, slot, 8);
	lower_read(l, (struct mem){ .base = at, .as = as }, 8, slot);
	p = ir_load(&l->b, slot.base, slot.off, 8);
	ir_br(&l->b, C_EQ, p, opnd_imm(0), done, have);
	ir_place(&l->b, have);
	ir_br(&l->b, C_UGT, used, opnd_imm(JOIN_SZ - JOIN_STR_SZ), done, room);
	ir_place(&l->b, room);
	at = ir_alu(&l->b, IR_ADD, ir_alu(&l->b, IR_ADD, to, opnd_reg(used)), opnd_imm(4));
	helper = as == AS_USER  ? HELPER_probe_read_user_str :
		as == AS_KERNEL ? HELPER_probe_read_kernel_str :
				  HELPER_probe_read_str;
	n = ir_call_of(&l->b, helper, opnd_reg(at), opnd_imm(JOIN_STR_SZ), opnd_reg(p));
	ir_br(&l->b, C_UGT, n, opnd_imm(JOIN_STR_SZ), bad, add);
	ir_place(&l->b, bad);
	lower_read_failed(l, helper, n);
	ir_jmp(&l->b, done);
	ir_place(&l->b, add);
	ir_alu_to(&l->b, IR_ADD, used, used, opnd_reg(n));
	ir_alu_to(&l->b, IR_ADD, i, i, opnd_imm(1));
	ir_br(&l->b, C_ULT, i, opnd_imm(JOIN_STRINGS), loop, done);
	ir_place(&l->b, done);
	ir_store(&l->b, to, 0, 4, opnd_reg(used));
	return val_mem(m);
}

static const struct fn join_buffer_row = { .name = "join", .lower = lower_join_buffer };

static struct val lower_join(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct rec *r = lower_rec_new(l, e);
	struct expr *field = arena_new(l->c->arena, struct expr);

	/* The record has one field, a buffer, which an internal call fills. */
	*field = *e;
	field->call.fn = &join_buffer_row;
	field->type = type_buffer(l->c->arena, JOIN_SZ);
	r->text = e->call.arg_cnt > 1 ? e->call.args[1]->str.s : " ";
	lower_emit(l, r, &field, 1);
	return val_none();
}

static void event_join(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const u8 *bytes;
	u32 cnt, n;
	bool first = true;

	if (!session_field(rec, data, len, 0, &bytes, &cnt) || cnt < 4)
		return;
	memcpy(&n, bytes, 4);
	n = MIN(n, cnt - 4);
	sbuf_reset(&s->text);
	for (u32 at = 4; at < 4 + n;) {
		u32 l = strnlen((const char *)bytes + at, 4 + n - at);

		size_t start;

		if (!first)
			sbuf_puts(&s->text, rec->text);
		first = false;
		start = s->text.len;
		sbuf_add(&s->text, bytes + at, l);
		if (s->out.naming.escapes)
			escape_from(&s->text, start, false);
		at += l + 1;
	}
	sbuf_putc(&s->text, '\n');
	s->out.sink->text(&s->out, "join", sbuf_str(&s->text), s->text.len);
}

/* exit: user space stops, the program ends here. */

static void check_exit(struct check *k, struct expr *e)
{
	e->type = &type_none;
}

static struct val lower_exit(struct lower *l, struct expr *e, const struct mem *dst)
{
	lower_emit(l, lower_rec_new(l, e), e->call.args, e->call.arg_cnt);
	lower_leave(l);
	ir_place(&l->b, ir_block_new(l->b.f)); /* what follows is never reached */
	return val_none();
}

static void event_exit(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const u8 *bytes;
	u32 cnt;

	session_exit(s, rec->field_cnt && session_field(rec, data, len, 0, &bytes, &cnt) ? bytes[0] : 0);
}

static const struct fn rows[] = {
	{ "printf", "(strlit format, …) none", "prints formatted values", "begin { printf(\"%s %d\\n\", comm, pid) }", FN_ASYNC,
	  check_printf, lower_printf, .event = event_printf },
	{ "print", "(map|any value, ?lit top, ?lit div) none",
	  "prints a value or a map; of a map, top selects that many largest entries, and div divides the values",
	  "begin { @[1] = count(); print(@); print(5) }", FN_ASYNC | FN_CTRL | FN_ALL_OF_MAP, check_print, lower_print,
	  .event = event_print },
	{ "errorf", "(strlit format, …) none", "reports an error with its position in the script; tracing continues",
	  "begin { errorf(\"bad value %d\", 5) }", FN_ASYNC, printf_check, printf_lower, .event = event_errorf },
	{ "warnf", "(strlit format, …) none", "reports a warning with its position in the script",
	  "begin { warnf(\"strange value %d\", 5) }", FN_ASYNC, printf_check, printf_lower, .event = event_warnf },
	{ "debugf", "(strlit format, …) none", "prints up to 3 values to /sys/kernel/tracing/trace_pipe, for debugging",
	  "begin { debugf(\"hit by %d\", pid) }", 0, check_debugf, lower_debugf },
	{ "cat", "(strlit format, …) none", "prints a file, up to max_cat_bytes", "begin { cat(\"/proc/%d/status\", pid) }",
	  FN_ASYNC, printf_check, printf_lower, .event = event_cat, .needs = NEED_BIT(ANY_FILE) },
	{ "assert", "(any condition, strlit message) none",
	  "if the condition is false, reports an error and ends tracing with exit status 1",
	  "begin { assert(1 + 1 == 2, \"cannot count\") }", FN_ASYNC | FN_CTRL | FN_LEAVES, check_assert, lower_assert,
	  .event = event_assert },
	{ "static_assert", "(any condition, strlit message) none",
	  "stops the compilation with an error if the condition is false",
	  "begin { static_assert(sizeof(uint64) == 8, \"strange machine\") }", 0, check_static_assert, lower_to_nothing },
	{ "fail", "(strlit format, …) none", "refuses to compile, unless it is in a branch that is never taken",
	  "begin { if (sizeof(uint64) != 8) { fail(\"strange machine\") } }", 0, check_fail_row, lower_to_nothing },
	{ "time", "(?strlit format) none", "prints the time of day; the default format is %H:%M:%S and a newline",
	  "begin { time(\"%H:%M\\n\") }", FN_ASYNC, check_time, lower_time, .event = event_time },
	{ "strftime", "(strlit format, int ns) timestamp", "a timestamp of nsecs as date and time; %f is microseconds",
	  "begin { print(strftime(\"%H:%M:%S.%f\", nsecs)) }", 0, check_strftime, lower_strftime },
	{ "join", "(ptr|int array, ?strlit separator) none", "prints the strings of an array of pointers, such as argv",
	  "tracepoint:syscalls:sys_enter_execve { join(args.argv) }", FN_ASYNC, check_join, lower_join, .event = event_join },
	{ "exit", "(?int code) none", "ends tracing; end probes still run, and maps are printed", "begin { exit(1) }",
	  FN_ASYNC | FN_CTRL | FN_LEAVES | FN_ENDS, check_exit, lower_exit, .event = event_exit },
};

FN_FAMILY_OF(fn_output, rows, &timestamp);
