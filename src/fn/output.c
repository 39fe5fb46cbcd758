/* Output: what user space prints when the record arrives. */
#include <time.h>

#include "bpf/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "kern/uapi.h"
#include "lang/check.h"
#include "lang/fmt.h"
#include "run/session.h"

/* printf: the format is parsed once, here; record and event share the result. */

void printf_check(struct check *k, struct expr *e)
{
	struct expr *text = e->call.args[0];
	const char *why = NULL;
	u32 at = 0, given = e->call.arg_cnt - 1, n = 0;
	const struct fmt *f = fmt_parse(check_arena(k), text->str.s, text->str.len, &why, &at);

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
			check_fail(k, a, E_FORMAT, "%s: unsupported format specifier for type '%s': %.*s", e->call.name, type_str(check_arena(k), a->type),
				   (int)p->len, p->text);
			diag_hint(k->c->diag, a->type->kind == T_BUFFER ? "buffers are shown by %%r" : "%%s shows a value of any type");
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
			diag_hint(k->c->diag, "nothing is ever assigned to it");
			e->type = &type_error;
		}
		return;
	}
	if (!is_map && e->call.arg_cnt > 1) {
		check_fail(k, e->call.args[1], E_ARG_COUNT, "top and div are for whole maps: print(@m, top, div)");
		e->type = &type_error;
	}
}

static struct val lower_print(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0];
	struct rec *r = lower_rec_new(l, e);

	if (a->kind == E_MAP && !a->map.key) {
		r->map = a->map.map;
		for (u32 i = 1; i < e->call.arg_cnt; i++)
			r->num[i - 1] = e->call.args[i]->num.value;
		lower_emit(l, r, NULL, 0);
	} else {
		r->is_ctrl = false; /* may be long, and is data */
		lower_emit(l, r, &a, 1);
	}
	return val_none();
}

static void event_print(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	if (rec->map)
		session_print_map(s, rec->map, rec->num[0], rec->num[1]);
	else
		session_print_value(s, rec, data, len, 0);
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

static void check_strftime(struct check *k, struct expr *e)
{
	enum nsecs_clock clock = nsecs_clock(e->call.args[1]);

	if (clock == NSECS_MONOTONIC) {
		check_fail(k, e->call.args[1], E_ARG_TYPE, "strftime() cannot tell the time of day from the monotonic clock");
		diag_hint(k->c->diag, "use nsecs, nsecs(tai) or nsecs(sw_tai)");
		e->type = &type_error;
		return;
	}
	e->type = type_timestamp(check_arena(k), e->call.args[0]->str.s,
				 clock == NSECS_TAI || clock == NSECS_SW_TAI ? CLOCK_IS_TAI : CLOCK_IS_BOOT);
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
	struct ir_block *loop = ir_block_new(l->b.f), *have = ir_block_new(l->b.f), *room = ir_block_new(l->b.f), *add = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	enum addr_space as = a->type->kind == T_POINTER && a->type->as != AS_NONE ? a->type->as : AS_ANY;
	struct mem m = *dst, slot = lower_temp(l, 8, 8);
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
	n = ir_call_of(&l->b, as == AS_USER ? HELPER_probe_read_user_str : as == AS_KERNEL ? HELPER_probe_read_kernel_str : HELPER_probe_read_str,
		       opnd_reg(at), opnd_imm(JOIN_STR_SZ), opnd_reg(p));
	ir_br(&l->b, C_UGT, n, opnd_imm(JOIN_STR_SZ), done, add);
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

	/* The record has one field, a buffer, which a call of our own fills. */
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

		if (!first)
			sbuf_puts(&s->text, rec->text);
		first = false;
		sbuf_add(&s->text, bytes + at, l);
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

/* Trouble that programs notice: sent like any record, with the place in the script. */

static void event_runtime_error(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	s->out.sink->report(&s->out, "runtime_error", rec->span, s->c->diag, rec->text);
}

const struct fn fn_runtime_error = { .name = "runtime error", .flags = FN_ASYNC, .event = event_runtime_error };

static const struct fn rows[] = {
	{ "printf", "(strlit format, …) none", "prints formatted values", "begin { printf(\"%s %d\\n\", comm, pid) }", FN_ASYNC, printf_check, printf_lower, .event = event_printf },
	{ "print", "(map|any value, ?lit top, ?lit div) none", "prints a value, or a map: its top largest entries, values divided by div", "begin { @[1] = count(); print(@); print(5) }", FN_ASYNC | FN_CTRL, check_print, lower_print, .event = event_print },
	{ "time", "(?strlit format) none", "prints the time of day, by default %H:%M:%S and a newline", "begin { time(\"%H:%M\\n\") }", FN_ASYNC, check_time, lower_time, .event = event_time },
	{ "strftime", "(strlit format, int ns) timestamp", "a time stamp of nsecs, as date and time; %f is microseconds", "begin { print(strftime(\"%H:%M:%S.%f\", nsecs)) }", 0, check_strftime, lower_strftime },
	{ "join", "(ptr|int array, ?strlit separator) none", "prints the strings of an array of pointers, as argv", "tracepoint:syscalls:sys_enter_execve { join(args.argv) }", FN_ASYNC, check_join, lower_join, .event = event_join },
	{ "exit", "(?int code) none", "ends tracing; end probes still run and maps are printed", "begin { exit(1) }", FN_ASYNC | FN_CTRL, check_exit, lower_exit, .event = event_exit },
};

FN_FAMILY(fn_output, rows);
