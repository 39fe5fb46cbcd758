/* SPDX-License-Identifier: GPL-2.0-only */
/* Many uprobes on kernels without uprobe_multi (before 6.6): as events of tracefs (events.c).
 *
 * The event of a return probe does not carry its address. Those that use `probe` or `func` get a perf event each.
 */
#include <stdlib.h>

#include "arch/abi.h"
#include "probe/events.h"
#include "probe/user.h"

static vreg instruction(struct lower *l)
{
	return ir_load(&l->b, lower_ctx(l), abi.ip_off, 8);
}

struct opnd user_lower_site(struct lower *l)
{
	const struct unit *u = l->unit;

	if (u->variant != UP_EVENTS || (l->c->sites.at[u->site_first].variant & UP_RETURN))
		return lower_site_by_cookie(l);
	return events_lower_site(l, instruction);
}

/* ---- attaching ---- */

/* One event for the sites at [lo, hi) of m->order, which are of one group. */
static int link_event(const struct multi *m, u32 lo, u32 hi)
{
	struct attach_ctx *ctx = m->ctx;
	u32 fds = ctx->fds.cnt;
	char *name = event_name(m->u->site_first + lo, hi - lo);
	struct sbuf lines = {};
	int err;

	for (u32 i = lo; i < hi; i++) {
		const struct site *s = unit_site(ctx, m->u, m->order[i]);

		sbuf_printf(&lines, "%c:%s %s:0x%llx", s->variant & UP_RETURN ? 'r' : 'p', name, s->target,
			    (unsigned long long)s->addr);
		if (s->num)
			sbuf_printf(&lines, "(0x%llx)", (unsigned long long)s->num);
		sbuf_putc(&lines, '\n');
	}
	err = events_write(lines.s, lines.len);
	sbuf_release(&lines);
	if (err) {
		event_remove(name);
		free(name);
		return err;
	}
	err = event_open(ctx, m->u, name, ctx->filter_pid ? (s32)ctx->filter_pid : -1, ctx->filter_pid ? -1 : 0, m->prog_fd,
			 event_group(unit_site(ctx, m->u, m->order[lo])));
	/* The caller keeps what is returned. */
	return err ? err : ctx->fds.at[ctx->fds.cnt = fds];
}

int user_events_attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd, const char *(*hint)(int err))
{
	u32 *order = xzalloc(u->site_cnt * sizeof(*order)), cnt = 0, done = 0;
	struct multi m = { ctx, u, prog_fd, link_event, "cannot attach to the function", hint, order };

	events_remove_stale();
	for (u32 group = 0, lo = 0; cnt < u->site_cnt; group++, lo = cnt) {
		for (u32 i = 0; i < u->site_cnt; i++)
			if (event_group(unit_site(ctx, u, i)) == group)
				order[cnt++] = i;
		done += probe_attach_multi(&m, lo, cnt);
	}
	free(order);
	return (int)done;
}

/* tracefs takes paths without blanks. */
bool user_events_can(const struct compile *c, const struct unit *u)
{
	if (!target_has(c, KF_TRACE_EVENTS))
		return false;
	for (u32 i = 0; i < u->site_cnt; i++) {
		const char *path = c->sites.at[u->site_first + i].target;

		if (!path || strpbrk(path, " \t\n#;\"")) /* NULL: --check, not looked up */
			return false;
	}
	return true;
}
