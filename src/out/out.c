/* SPDX-License-Identifier: GPL-2.0-only */
/* Where output goes: writing that notices errors, and messages on the side. */
#include <errno.h>

#include "base/progress.h"
#include "out/sink.h"

void out_write(struct out *o, const void *p, size_t n)
{
	if (o->write_err || !n)
		return;
	if (o->held) {
		sbuf_add(o->held, p, n);
		return;
	}
	progress_hide();
	if (fwrite_unlocked(p, 1, n, o->file) != n)
		o->write_err = errno ? errno : EIO;
}

void out_flush(struct out *o)
{
	if (!o->write_err && fflush_unlocked(o->file))
		o->write_err = errno ? errno : EIO;
}

static void put_message(struct out *o, enum diag_level level, const struct diag *d, const struct span *at, const char *msg,
			u32 style)
{
	struct diag_msg m = { .level = level, .text = msg };
	struct diag one = {};
	struct sbuf text = {};

	/* A diag of one message, so that the shape is the compiler's. */
	if (d && at && at->src < d->sources.cnt) {
		one = *d;
		m.span = *at;
		m.has_span = true;
	}
	one.msgs.at = &m;
	one.msgs.cnt = 1;
	diag_print(&one, level, style, &text);
	out_flush(o);
	progress_hide();
	fwrite(text.s, 1, text.len, o->err);
	fflush(o->err);
	sbuf_release(&text);
}

void out_message(struct out *o, enum diag_level level, const struct diag *d, const struct span *at, const char *msg)
{
	put_message(o, level, d, at, msg, (o->colour ? DIAG_COLOUR : 0) | (o->err_is_terminal ? DIAG_ESCAPE : 0));
}

void out_own_message(struct out *o, enum diag_level level, const struct diag *d, const struct span *at, const char *msg)
{
	put_message(o, level, d, at, msg, o->colour ? DIAG_COLOUR : 0);
}
