/* Many uprobes on kernels without uprobe_multi (before 6.6).
 *
 * A perf event for each takes as long to close as the kernel needs to see every CPU pass a quiet point, some ten milliseconds: a minute for a
 * thousand. tracefs can make one event of many places (several lines of uprobe_events with one name), which is opened and closed like one.
 *
 * Such an event has one attach cookie for all of its places, so `probe` and `func` must be found otherwise: by the address. Files are mapped in
 * whole pages, so the low 12 bits of an address are those of the place in the file, wherever that is loaded. The places are therefore
 * divided into events such that no two places of one event have the same low bits; the cookie is the event's number, and a constant
 * table has the site for each number and low bits. Functions start at multiples of 16, mostly: that makes some 256 places for an event.
 *
 * Where a return probe is, its event does not say. Those with `probe` or `func` get a perf event each.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "bpf/image.h"
#include "kern/sys.h"
#include "kern/tracefs.h"
#include "kern/uapi.h"
#include "probe/abi.h"
#include "probe/user.h"

#define LOW_BITS 12
#define LOW_CNT (1u << LOW_BITS)

static u32 low_of(const struct site *s)
{
	return s->addr & (LOW_CNT - 1);
}

static u32 group_of(const struct site *s)
{
	return s->variant >> UP_GROUP_SHIFT;
}

void user_events_group(struct compile *c, struct unit *u)
{
	u32 seen[LOW_CNT] = {};

	for (u32 i = 0; i < u->site_cnt; i++) {
		struct site *s = &c->sites.at[u->site_first + i];

		if (!(s->variant & UP_RETURN))
			s->variant |= seen[low_of(s)]++ << UP_GROUP_SHIFT;
	}
}

/* ---- which site fired ---- */

struct opnd user_lower_site(struct lower *l)
{
	static const char what;
	const struct unit *u = l->unit;
	const struct site *sites = &l->c->sites.at[u->site_first];
	struct ir_block *known, *done;
	u32 group_cnt = 0, shift = 4, per, total;
	vreg cookie, d, i, at;
	u16 *table;

	cookie = ir_call_of(&l->b, HELPER_get_attach_cookie, opnd_reg(lower_ctx(l)));
	if (u->variant != UP_EVENTS || (sites[0].variant & UP_RETURN))
		return opnd_reg(cookie);
	d = lower_known(l, &what, 0);
	if (d)
		return opnd_reg(d);
	for (u32 n = 0; n < u->site_cnt; n++) {
		group_cnt = MAX(group_cnt, group_of(&sites[n]) + 1);
		while (sites[n].addr & ((1u << shift) - 1))
			shift--;
	}
	per = LOW_CNT >> shift;
	total = group_cnt * per;
	table = arena_alloc(l->c->arena, total * sizeof(*table));
	for (u32 n = 0; n < u->site_cnt; n++)
		table[group_of(&sites[n]) * per + (low_of(&sites[n]) >> shift)] = (u16)n;
	known = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	d = ir_vreg(l->b.f);
	i = ir_alu(&l->b, IR_AND, ir_load(&l->b, lower_ctx(l), abi.ip_off, 8), opnd_imm(LOW_CNT - 1));
	i = ir_alu(&l->b, IR_SHR, i, opnd_imm(shift));
	i = ir_alu(&l->b, IR_ADD, i, opnd_reg(ir_alu(&l->b, IR_SHL, cookie, opnd_imm(LOW_BITS - shift))));
	ir_mov_to(&l->b, d, opnd_imm(u->site_first));
	ir_br(&l->b, C_ULT, i, opnd_imm(total), known, done);
	ir_place(&l->b, known);
	at = ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_CONST, lower_table_u16(l, table, total)),
		    opnd_reg(ir_alu(&l->b, IR_SHL, i, opnd_imm(1))));
	ir_mov_to(&l->b, d, opnd_reg(ir_alu(&l->b, IR_ADD, ir_load(&l->b, at, 0, 2), opnd_imm(u->site_first))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_know(l, &what, 0, d);
	return opnd_reg(d);
}

/* ---- attaching ---- */

#define GROUP_PREFIX "sonde_"

static int write_events(const char *text, size_t len)
{
	int dir = tracefs_dir(), fd, err;

	if (dir < 0)
		return dir;
	fd = openat(dir, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = io_write_all(fd, text, len);
	close(fd);
	return err;
}

void user_events_remove(const char *name)
{
	char *text = xasprintf("-:%s\n", name);

	write_events(text, strlen(text));
	free(text);
}

/* What a Sonde that was killed has left behind. */
static void remove_stale(void)
{
	char *text, *save, *line;
	struct sbuf gone = {};

	if (tracefs_read("uprobe_events", &text, NULL))
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ':'), *end = name ? strchr(name, ' ') : NULL;
		int pid = name && str_starts(name + 1, GROUP_PREFIX) ? atoi(name + 1 + strlen(GROUP_PREFIX)) : 0;

		if (!end || pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		*end = 0;
		/* One line for each place, one event. */
		if (!strstr(sbuf_str(&gone), name + 1)) {
			sbuf_puts(&gone, name + 1);
			sbuf_putc(&gone, '\n');
			user_events_remove(name + 1);
		}
	}
	sbuf_release(&gone);
	free(text);
}

/* One event for the sites at [lo, hi) of m->order, which are of one group. */
static int link_event(const struct multi *m, u32 lo, u32 hi)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	struct attach_ctx *ctx = m->ctx;
	u32 fds = ctx->fds.cnt;
	char *category = xasprintf(GROUP_PREFIX "%d", (int)getpid()), *event = xasprintf("u%u_%u", m->u->site_first + lo, hi - lo);
	char *name = xasprintf("%s/%s", category, event);
	struct sbuf lines = {};
	int err;

	for (u32 i = lo; i < hi; i++) {
		const struct site *s = unit_site(ctx, m->u, m->order[i]);

		sbuf_printf(&lines, "%c:%s %s:0x%llx", s->variant & UP_RETURN ? 'r' : 'p', name, s->target, (unsigned long long)s->addr);
		if (s->num)
			sbuf_printf(&lines, "(0x%llx)", (unsigned long long)s->num);
		sbuf_putc(&lines, '\n');
	}
	err = write_events(lines.s, lines.len);
	if (!err) {
		int id = tracefs_event_id(category, event);

		attr.config = (u64)id;
		err = id < 0 ? id
			     : probe_perf_attach(ctx, &attr, ctx->filter_pid ? (s32)ctx->filter_pid : -1, ctx->filter_pid ? -1 : 0, m->prog_fd,
						 group_of(unit_site(ctx, m->u, m->order[lo])));
	}
	sbuf_release(&lines);
	free(category);
	free(event);
	if (err) {
		user_events_remove(name);
		free(name);
		return err;
	}
	vec_push(&ctx->events, name);
	/* The caller keeps what is returned. */
	return ctx->fds.at[ctx->fds.cnt = fds];
}

int user_events_attach(struct attach_ctx *ctx, const struct unit *u, int prog_fd, const char *(*hint)(int err))
{
	u32 *order = xzalloc(u->site_cnt * sizeof(*order)), cnt = 0, done = 0;
	struct multi m = { ctx, u, prog_fd, link_event, "cannot attach to the function", hint, order };

	remove_stale();
	for (u32 group = 0, lo = 0; cnt < u->site_cnt; group++, lo = cnt) {
		for (u32 i = 0; i < u->site_cnt; i++)
			if (group_of(unit_site(ctx, u, i)) == group)
				order[cnt++] = i;
		done += probe_attach_multi(&m, lo, cnt);
	}
	free(order);
	return (int)done;
}

/* tracefs takes paths without blanks. */
bool user_events_can(const struct compile *c, const struct unit *u)
{
	if (tracefs_dir() < 0)
		return false;
	for (u32 i = 0; i < u->site_cnt; i++) {
		const char *path = c->sites.at[u->site_first + i].target;

		if (!path || strpbrk(path, " \t\n#;\"")) /* NULL: --check, not looked up */
			return false;
	}
	return true;
}
