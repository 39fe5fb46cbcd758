/* SPDX-License-Identifier: GPL-2.0-only */
/* Many probes on kernels that have no link for many.
 *
 * Closing a perf event waits for an RCU grace period, about ten milliseconds: a minute for a thousand events. tracefs can make
 * one event of many probes (several lines of dynamic_events with one name), which is opened and closed like one.
 *
 * Such an event has one attach cookie for all of its probes, so `probe` and `func` must be found in another way: by the address.
 * Its low 12 bits suffice. In user space they are those of the file offset, wherever the file is loaded, because files are mapped
 * in whole pages. The probes are therefore divided into events such that no two probes of one event have the same low bits; the
 * cookie is the event's number, and a constant table has the site for each number and low bits. Most functions start at a
 * multiple of 16, so an event has about 256 probes.
 */
#include "probe/events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "image/image.h"
#include "kern/tracefs.h"

#define LOW_BITS 12
#define LOW_CNT (1u << LOW_BITS)
#define GROUP_PREFIX "sonde_"

static u32 low_of(const struct site *s)
{
	return s->addr & (LOW_CNT - 1);
}

void events_group(struct compile *c, struct unit *u)
{
	u32 seen[LOW_CNT] = {};

	for (u32 i = 0; i < u->site_cnt; i++) {
		struct site *s = &c->sites.at[u->site_first + i];

		s->variant |= seen[low_of(s)]++ << EVENT_GROUP_SHIFT;
	}
}

/* ---- which site fired ---- */

struct opnd events_lower_site(struct lower *l, vreg (*address)(struct lower *l))
{
	static const char what;
	const struct unit *u = l->unit;
	const struct site *sites = &l->c->sites.at[u->site_first];
	u32 group_cnt = 0, shift = 4, per, total;
	vreg cookie, d = lower_known(l, &what, 0), i, at;
	struct ir_block *known, *done;
	u16 *table;

	if (d)
		return opnd_reg(d);
	for (u32 n = 0; n < u->site_cnt; n++) {
		group_cnt = MAX(group_cnt, event_group(&sites[n]) + 1);
		while (sites[n].addr & ((1u << shift) - 1))
			shift--;
	}
	per = LOW_CNT >> shift;
	total = group_cnt * per;
	table = arena_alloc(l->c->arena, total * sizeof(*table));
	for (u32 n = 0; n < u->site_cnt; n++)
		table[event_group(&sites[n]) * per + (low_of(&sites[n]) >> shift)] = (u16)n;
	known = ir_block_new(l->b.f);
	done = ir_block_new(l->b.f);
	d = ir_vreg(l->b.f);
	cookie = lower_cookie(l);
	i = ir_alu(&l->b, IR_AND, address(l), opnd_imm(LOW_CNT - 1));
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

/* ---- making and removing ---- */

int events_write(const char *lines, size_t len)
{
	int dir = tracefs_dir(), fd, err;

	if (dir < 0)
		return dir;
	/* Never with O_TRUNC, which would remove the events of all users. */
	fd = openat(dir, TRACEFS_EVENTS_FILE, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = io_write_all(fd, lines, len);
	close(fd);
	return err;
}

void event_remove(const char *name)
{
	char *text = xasprintf("-:%s\n", name);

	events_write(text, strlen(text));
	free(text);
}

void events_remove_stale(void)
{
	char *text, *save, *line;
	struct sbuf gone = {};

	if (tracefs_read(TRACEFS_EVENTS_FILE, &text, NULL))
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ':'), *end = name ? strchr(name, ' ') : NULL;
		int pid = name && str_starts(name + 1, GROUP_PREFIX) ? atoi(name + 1 + strlen(GROUP_PREFIX)) : 0;

		if (!end || pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		end[0] = '\n'; /* so that no name is found in a longer one */
		end[1] = 0;
		/* One line for each place, one event. */
		if (!strstr(sbuf_str(&gone), name + 1)) {
			sbuf_puts(&gone, name + 1);
			end[0] = 0;
			event_remove(name + 1);
		}
	}
	sbuf_release(&gone);
	free(text);
}

char *event_name(u32 first, u32 cnt)
{
	int pid = (int)getpid();

	/* The event's name has the number, too: kprobe_profile does not show the group. */
	return xasprintf(GROUP_PREFIX "%d/s%d_%u_%u", pid, pid, first, cnt);
}

int event_open(struct attach_ctx *ctx, const struct image_prog *u, char *name, s32 pid, s32 cpu, int prog_fd, u64 cookie)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	char *slash = strchr(name, '/');
	int id, err;

	*slash = 0;
	id = tracefs_event_id(name, slash + 1);
	*slash = '/';
	attr.config = (u64)id;
	err = id < 0 ? id : probe_perf_attach(ctx, &attr, pid, cpu, prog_fd, cookie);
	if (err) {
		event_remove(name);
		free(name);
		return err;
	}
	vec_push(&ctx->events, (struct trace_event){ name, u });
	return 0;
}

/* ---- what was missed ---- */

static const struct trace_event *find_event(const struct attach_ctx *ctx, const char *event)
{
	vec_for(e, &ctx->events)
		if (str_eq(strchr(e->name, '/') + 1, event))
			return e;
	return NULL;
}

bool events_missed(const struct attach_ctx *ctx, const struct image_prog *u, u64 *missed)
{
	const struct trace_event *e = NULL;
	char *text, *save, *line;
	bool found = false;

	*missed = 0;
	vec_for(it, &ctx->events)
		found |= it->prog == u;
	if (!found || tracefs_read("kprobe_profile", &text, NULL))
		return false;
	found = false;
	/* A line for each place: name of the event, hits, misses. */
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long misses;
		char name[128];

		if (sscanf(line, "%127s %*u %llu", name, &misses) != 2)
			continue;
		if (!e || !str_eq(strchr(e->name, '/') + 1, name)) /* places of one event come one after the other */
			e = find_event(ctx, name);
		if (e && e->prog == u) {
			*missed += misses;
			found = true;
		}
	}
	free(text);
	return found;
}
