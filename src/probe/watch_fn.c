/* SPDX-License-Identifier: GPL-2.0-only */
/* Watchpoints on arguments: the address goes from the function's entry to user space, which sets the watchpoint. See
 * probe/watch.h. */
#include <errno.h>
#include <signal.h>

#include "image/image.h"
#include "fn/family.h"
#include "image/need.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "probe/watch.h"
#include "run/session.h"

/* ---- at the entry of the function ---- */

static bool rec_stops(const struct compile *c, const struct rec *rec)
{
	return watch_stops(&c->sites.at[rec->num[0]]);
}

/* An address that no debug register can hold: the process is not stopped for it. */
static void leave_odd(struct lower *l, struct expr *e, vreg addr, u64 align, struct ir_block *done)
{
	struct ir_block *odd = ir_block_new(l->b.f), *even = ir_block_new(l->b.f);

	if (align == 1)
		return;
	ir_br(&l->b, C_NE, ir_alu(&l->b, IR_AND, addr, opnd_imm((s64)align - 1)), opnd_imm(0), odd, even);
	ir_place(&l->b, odd);
	lower_runtime_error(l, e->span, "the argument is not watched: its address is not a multiple of the watchpoint's length");
	ir_jmp(&l->b, done);
	ir_place(&l->b, even);
}

static struct val lower_watch_arg(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *site = e->call.args[0], *addr = e->call.args[1];
	struct ir_block *done = ir_block_new(l->b.f), *next;
	struct rec *r = lower_rec_new(l, e);
	u32 mark = lower_mark(l);
	vreg known, a;

	r->num[0] = (s64)site->num.value;
	r->num[1] = l->image->data.total_sz;
	l->image->data.total_sz += sizeof(struct watch_known);
	lower_pin(l, addr);
	a = lower_reg(l, addr);
	leave_odd(l, e, a, watch_align(&l->c->sites.at[site->num.value]), done);
	known = ir_mapval(&l->b, MAP_IDX_DATA, r->num[1]);
	for (u32 i = 0; i <= WATCH_MAX; i++) {
		vreg v = ir_load(&l->b, known, 8 * (s64)i, 8);

		next = ir_block_new(l->b.f);
		if (i < WATCH_MAX)
			ir_br(&l->b, C_EQ, v, opnd_reg(a), done, next);
		else
			ir_br(&l->b, C_NE, v, opnd_imm(0), done, next); /* is_full */
		ir_place(&l->b, next);
	}
	/* The signal takes effect when the thread returns to user space, for all threads. It must be sent to the thread itself: a
	 * pending signal of the process would be delivered to another thread. The record is sent after it, so that the reader of
	 * the record can resume the process. */
	if (rec_stops(l->c, r)) {
		ir_atomic_add(&l->b, known, offsetof(struct watch_known, waiting), 8, opnd_imm(1));
		signal_send(l, e->span, HELPER_send_signal_thread, opnd_imm(SIGSTOP));
	}
	lower_emit(l, r, &addr, 1);
	lower_unpin(l, addr);
	lower_forget(l, mark);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_none();
}

/* User space will not get the record, so it would not resume the process. */
static void lower_watch_lost(struct lower *l, const struct rec *rec)
{
	if (!rec_stops(l->c, rec))
		return;
	ir_atomic_add(&l->b, ir_mapval(&l->b, MAP_IDX_DATA, rec->num[1] + (s64)offsetof(struct watch_known, waiting)), 0, 8,
		      opnd_imm(-1));
	signal_send(l, rec->span, HELPER_send_signal_thread, opnd_imm(SIGCONT));
}

/* ---- in user space ---- */

static PRINTF_LIKE(3, 4) void tell(struct session *s, const struct site *site, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	out_message(&s->out, DIAG_WARNING, s->diag, &site->span, sbuf_str(&b));
	sbuf_release(&b);
}

static void set(struct session *s, struct watch *w, const struct site *site, u64 addr)
{
	int err = watch_set(s->attach, w, addr);

	if (!err || err == -ESRCH) /* it has ended */
		return;
	if (err == -ENOSPC) {
		if (!w->told_full)
			tell(s, site,
			     "0x%llx and all later addresses are not watched: all debug registers are in use (x86 has four); unwatch() frees one",
			     (unsigned long long)addr);
		w->told_full = true;
	} else if (!w->told_other) {
		tell(s, site, "0x%llx is not watched: %s (later failures are not reported)", (unsigned long long)addr,
		     strerror(-err));
		w->told_other = true;
	}
}

static void event_watch_arg(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const struct site *site = &s->image->sites.at[rec->num[0]];
	struct watch_known *known;
	struct watch *w;
	u64 addr;

	if (!s->attach || !s->head || !session_field_int(rec, data, len, 0, &addr))
		return;
	if (watch_stops(site))
		watch_wait(s->attach);
	known = (struct watch_known *)((u8 *)s->head + rec->num[1]);
	w = watch_find(s->attach, (u32)rec->num[0]);
	if (w) {
		w->known = known;
		set(s, w, site, addr);
	}
	if (watch_stops(site))
		watch_go_on(s->attach, known);
}

const struct fn fn_watch_arg = {
	"watch_arg",
	"(int site, int addr) none",
	"",
	"",
	FN_ASYNC | FN_CTRL | FN_AWAITED,
	.lower = lower_watch_arg,
	.event = event_watch_arg,
	.lost = lower_watch_lost,
	.needs = NEED_BIT(WATCHES),
};

/* ---- for scripts ---- */

static struct val lower_unwatch(struct lower *l, struct expr *e, const struct mem *dst)
{
	lower_emit(l, lower_rec_new(l, e), e->call.args, 1);
	return val_none();
}

static void event_unwatch(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	u64 addr;

	if (s->attach && session_field_int(rec, data, len, 0, &addr))
		watch_unset(s->attach, addr);
}

static const struct fn rows[] = {
	{ "unwatch", "(int addr) none",
	  "frees the debug register of a watchpoint on an argument (FUNCTION+argN) at this address; other watchpoints stay until the end",
	  "begin { unwatch(0x1234) }", FN_ASYNC | FN_CTRL, .lower = lower_unwatch, .event = event_unwatch },
};

FN_FAMILY(fn_watch, rows);
