/* SPDX-License-Identifier: GPL-2.0-only */
/* tracepoint: static trace points in the kernel's source. There are four ways to attach to them.
 *
 * PERF. The documented one: a perf event of type tracepoint; the program gets the record that the event's format file describes.
 * Closing such an event waits for all CPUs (tens of milliseconds), and the record is built for every hit.
 *
 * RAW. A raw tracepoint of the same name: no record is built, attaching and detaching are quick. The program gets the
 * tracepoint's own arguments, which say nothing about the format's fields; so this is for bodies that do not use args.
 *
 * ENTER, EXIT. The kernel has no tracepoint for a single system call. It has two for all, sys_enter and sys_exit, and a table of
 * the calls that have perf events. Hundreds of perf events are slow to open and close, so we do as the kernel does: one program
 * on the raw sys_enter (regs, number) or sys_exit (regs, result), which returns at once unless the number is one of ours. The
 * arguments of the format files are the six argument registers. Calls by 32-bit programs have other numbers and are ignored, as
 * the kernel ignores them here.
 *
 * Where the kernel has typed raw tracepoints (tp_btf) the registers can be read by plain loads, else by probe_read.
 *
 * Since 7.0 a preemptible kernel may preempt the program of a raw tracepoint, and skips it for other threads on that CPU
 * meanwhile, so that hits are lost. There, perf events are used for everything, because perf disables preemption; for system
 * calls the events raw_syscalls: sys_enter and sys_exit (RECORD), one for all, whose record holds the number, and the arguments
 * or the result.
 *
 * site.target is the category, site.func the event, site.num the system call's number; site.variant says which kind of event it
 * is, unit.variant which of the four ways is used.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "image/image.h"
#include "kern/sys.h"
#include "kern/tracefs.h"
#include "arch/abi.h"
#include "probe/probe.h"
#include "types/btf.h"
#include "types/eventformat.h"
#include "arch/syscall.h"

/* site.variant */
enum { EVENT_PLAIN, EVENT_SYS_ENTER, EVENT_SYS_EXIT };

/* unit.variant: one of the four ways; for system calls also whether registers can be loaded directly, whether a record has
 * everything, and whether the body uses the current task */
enum { WAY_PERF, WAY_RAW, WAY_ENTER, WAY_EXIT, WAY_MASK = 3, WAY_TYPED = 4, WAY_RECORD = 8, WAY_TASK = 16 };

/* Offsets in the records of system call events, those of raw_syscalls too. */
enum { OFF_NR = 8, OFF_FIRST_ARG = 16, OFF_RESULT = 16 };

static u32 way_of(u32 variant)
{
	return variant & WAY_MASK;
}

static bool is_typed(u32 variant)
{
	return variant & WAY_TYPED;
}

static bool has_record(u32 variant)
{
	return variant & WAY_RECORD;
}

/* ---- parsing and expansion ---- */

static bool parse(struct diag *d, const struct attach_point *ap)
{
	/* tracepoint:*open*: any category */
	if (ap->part_cnt == 2 && has_wildcard(ap->parts[1]))
		return true;
	if (!probe_part_cnt(d, ap, 2, 2))
		return false;
	for (u32 i = 1; i < 3; i++) {
		if (!*ap->parts[i]) {
			diag_error(d, ap->span, E_ATTACH_POINT, "tracepoint probe: the %s is missing",
				   i == 1 ? "category" : "event");
			diag_hint(d, "write it as tracepoint:CATEGORY:EVENT");
			return false;
		}
	}
	return true;
}

struct names {
	struct arena *arena;
	vec(const char *) at; /* "category:event" */
};

static void add_name(void *arg, const char *category, const char *event)
{
	struct names *n = arg;

	vec_push(&n->at, arena_printf(n->arena, "%s:%s", category, event));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_event(struct site_sink *sink, const char *name)
{
	struct site *s = sink->add(sink, arena_printf(sink->arena, "tracepoint:%s", name));
	const char *colon = strchr(name, ':');
	bool is_enter;
	int nr;

	if (!s)
		return;
	s->target = arena_strndup(sink->arena, name, colon - name);
	s->func = colon + 1;
	if (!str_eq(s->target, "syscalls"))
		return;
	is_enter = str_starts(s->func, "sys_enter_");
	if (!is_enter && !str_starts(s->func, "sys_exit_"))
		return;
	/* A call that is newer than our table is attached as an ordinary event. */
	nr = syscall_nr(s->func + strlen(is_enter ? "sys_enter_" : "sys_exit_"));
	if (nr < 0)
		return;
	s->variant = is_enter ? EVENT_SYS_ENTER : EVENT_SYS_EXIT;
	s->num = nr;
}

/* Suggests an existing event with a similar name. */
static void suggest(struct site_sink *sink, const char *category, const char *event)
{
	const char *near, *group = arena_printf(sink->arena, "%s:", category);
	struct names all = { .arena = sink->arena };
	bool has_group = false;

	if (sink->target->machine->each_event("*", "*", add_name, &all) > 0) {
		near = nearest_name(arena_printf(sink->arena, "%s%s", group, event), all.at.at, all.at.cnt);
		vec_for(name, &all.at)
			has_group |= str_starts(*name, group);
		if (near)
			sink->hint = arena_printf(sink->arena, "did you mean tracepoint:%s?", near);
		else if (!has_group)
			sink->hint = arena_printf(
				sink->arena,
				"there is no tracepoint category %s; the tracepoints of a module exist only while it is loaded",
				category);
	}
	vec_free(&all.at);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const char *category = ap->part_cnt > 2 ? ap->parts[1] : "*",
		   *event = ap->part_cnt > 1 ? ap->parts[ap->part_cnt - 1] : "*";
	struct names found = { .arena = sink->arena };
	int n;

	(void)d;
	if (ap->part_cnt > 3)
		return 0;
	n = sink->target->machine->each_event(category, event, add_name, &found);
	if (found.at.cnt)
		qsort(found.at.at, found.at.cnt, sizeof(*found.at.at), by_text);
	vec_for(name, &found.at)
		add_event(sink, *name);
	vec_free(&found.at);
	if (!n && sink->c && !has_wildcard(category) && !has_wildcard(event))
		suggest(sink, category, event);
	probe_tracefs_failed(sink, n);
	return MIN(n, 0);
}

/* ---- units ---- */

/* A hash of the fields, without what differs between any two events: name, number, text format. */
static u64 format_hash(const struct machine *m, const struct site *s)
{
	char *text, *from, *to;
	u64 h = 14695981039346656037ull; /* FNV-1a */

	if (m->event_format(s->target, s->func, &text)) {
		h ^= str_hash(s->name); /* shares with none; args() will report it */
	} else {
		from = strstr(text, "format:");
		from = from ? from : text;
		to = strstr(from, "\nprint fmt");
		for (; *from && from != to; from++)
			h = (h ^ (u8)*from) * 1099511628211ull;
		free(text);
	}
	return h;
}

/* A kernel function of this name exists for every tracepoint; for events that users made of probes (kprobes, …) there is none. */
static bool has_raw(struct compile *c, const struct site *s)
{
	static const char *const made_up[] = { "kprobes", "uprobes", "eprobes", "fprobes", "synthetic" };

	for (u32 i = 0; i < ARRAY_CNT(made_up); i++)
		if (str_eq(s->target, made_up[i]))
			return false;
	return target_kaddr(c->target, arena_printf(c->arena, "__traceiter_%s", s->func));
}

static u32 choose_way(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	switch (s->variant) {
	case EVENT_SYS_ENTER:
		return WAY_ENTER;
	case EVENT_SYS_EXIT:
		return WAY_EXIT;
	default:
		return !uses->args && target_has(c, KF_RAW_TP_EXACT) && has_raw(c, s) ? WAY_RAW : WAY_PERF;
	}
}

static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	u32 way = choose_way(c, s, uses);

	/* Before 6.9 a raw tracepoint has no cookie to tell sites apart: a program for each. */
	if (way == WAY_RAW && !target_has(c, KF_RAW_TP_COOKIE))
		return (u64)str_hash(s->name) << 8 | way;
	return way | (uses->args ? format_hash(c->target->machine, s) << 8 : 0);
}

/* Whether 32-bit programs are possible. Found by a symbol, because the configuration cannot be read everywhere. */
static bool runs_compat(const struct target *t)
{
#if defined(__x86_64__)
	return !t->machine->kaddr || t->machine->kaddr("do_fast_syscall_32");
#else
	(void)t;
	return false;
#endif
}

/* The body, or -p, reads from the current task. (In another PID namespace its IDs are not the right ones.) */
static bool wants_task(const struct compile *c, const struct body_uses *uses)
{
	return (uses->task || c->target->filter_pid) && !c->target->pidns_ino;
}

static void plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	u32 way = choose_way(c, &c->sites.at[u->site_first], uses);
	bool wants_regs;

	u->variant = way;
	if (way != WAY_ENTER && way != WAY_EXIT)
		return;
	if (wants_task(c, uses))
		u->variant |= WAY_TASK;
	/* sys_enter passes the number; otherwise the registers have it, the arguments, and how the call was made. */
	wants_regs = way == WAY_EXIT || uses->args || (runs_compat(c->target) && !wants_task(c, uses));
	if (!target_has(c, KF_RAW_TP_EXACT))
		u->variant |= WAY_RECORD;
	else if (wants_regs &&
		 target_has(c, KF_TP_BTF)) /* asking takes half a millisecond; it saves 15 to 40 ns for each argument and event */
		u->variant |= WAY_TYPED;
}

static const struct type *args(struct compile *c, const struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];
	const struct type *t = NULL;
	char *text;
	int err = c->target->machine->event_format(s->target, s->func, &text);

	if (!err) {
		t = event_format_parse(text, strlen(text), s->target, s->func, c->arena, target_types(c->target));
		free(text);
		err = t ? 0 : -EINVAL;
	}
	if (!err)
		return t;
	diag_error(c->diag, s->span, E_NO_ARGS, "Cannot read the format of %s: %s", s->name, strerror(-err));
	return NULL;
}

/* ---- code ---- */

static const char regs_known, site_known, nr_known, member_known; /* only their addresses matter */

static vreg regs(struct lower *l)
{
	vreg r = lower_known(l, &regs_known, 0);

	if (!r) {
		r = ir_load(&l->b, lower_ctx(l), 0, 8);
		lower_know(l, &regs_known, 0, r);
	}
	return r;
}

static vreg load_reg(struct lower *l, u32 off)
{
	if (is_typed(l->unit->variant))
		return ir_load(&l->b, regs(l), off, 8);
	return lower_load(l, (struct mem){ regs(l), off, AS_KERNEL }, &type_u64);
}

/* 32-bit calls
 *
 * The kernel sets a flag in the task during a 32-bit call, but getting the task is a helper call. If the body reads from the task
 * anyway, that costs nothing. Otherwise the registers nearly always suffice: the instruction syscall, with which 64-bit code
 * makes 64-bit calls, leaves the address of the next instruction in cx. No other entry to the kernel does; there cx is the second
 * argument, and 64-bit code that makes a 32-bit call (int 0x80) has no reason to pass its own address. So the task is read only
 * if cx is not that address, as for 32-bit calls, and after exec, a return from a signal, or a debugger that changed the
 * registers. Code that is not 64-bit makes no 64-bit call, whatever is in cx: a small program may have a string directly after
 * its last call, and its address still in cx.
 *
 * The verifier saves a state, to prune others against, only after it has walked eight instructions and two jumps since the last
 * one. The instruction to which the check of the task jumps back must be such a checkpoint, or the verifier walks all that
 * follows twice. The test of the code segment, with its register loaded before, is the first one. */

#define TS_COMPAT 2  /* thread_info.status */
#define USER_CS 0x33 /* regs.cs, low byte: the code is 64-bit. (In Xen's guests the high one is not 0.) */

static void leave_if_flagged(struct lower *l)
{
	struct type_source *src = target_types(l->c->target);
	const struct type *info = src ? src->find(src, "struct", "thread_info") : NULL;
	u32 off = 16; /* where it has been since 5.11 */
	vreg status;

	/* thread_info is the first member of task_struct */
	if (info)
		type_member(type_complete(info), "status", &off);
	if (info && target_has(l->c, KF_BTF))
		status = ir_load(&l->b, lower_task(l), off, 4);
	else
		status = lower_load(l, (struct mem){ ir_call(&l->b, HELPER_get_current_task, NULL, 0), off, AS_KERNEL },
				    &type_u32);
	probe_leave_if(l, C_SET, status, opnd_imm(TS_COMPAT));
}

static void leave_if_compat(struct lower *l)
{
	struct ir_block *ask, *go_on;
	u32 mark, cs_off, cx_off, ip_off;
	vreg cs, cx, ip;

	if (!runs_compat(l->c->target))
		return;
	if (!is_typed(l->unit->variant) || l->unit->variant & WAY_TASK || !abi_find_reg("cs", &cs_off) ||
	    !abi_find_reg("cx", &cx_off) || !abi_find_reg("ip", &ip_off)) {
		leave_if_flagged(l);
		return;
	}
	ask = ir_block_new(l->b.f);
	ask->is_seldom = true;
	go_on = ir_block_new(l->b.f);
	cx = ir_load(&l->b, regs(l), cx_off, 8);
	ip = ir_load(&l->b, regs(l), ip_off, 8);
	cs = ir_load(&l->b, regs(l), cs_off, 1);
	ir_br(&l->b, C_NE, cx, opnd_reg(ip), ask, go_on);
	mark = lower_mark(l);
	ir_place(&l->b, ask);
	leave_if_flagged(l);
	lower_forget(l, mark);
	ir_jmp(&l->b, go_on);
	ir_place(&l->b, go_on);
	probe_leave_if(l, C_NE, cs, opnd_imm(USER_CS));
}

/* Several system calls: a table has the unit's site for each number, counted from 1, or 0. */
static void find_site(struct lower *l, vreg nr)
{
	const struct unit *u = l->unit;
	const struct site *sites = &l->c->sites.at[u->site_first];
	u32 cnt = 0, off;
	u16 *table;
	vreg at, entry, site;

	for (u32 i = 0; i < u->site_cnt; i++)
		cnt = MAX(cnt, sites[i].num + 1);
	table = arena_alloc(l->c->arena, cnt * sizeof(*table));
	for (u32 i = 0; i < u->site_cnt; i++)
		table[sites[i].num] = i + 1;
	off = lower_table_u16(l, table, cnt);
	probe_leave_if(l, C_UGE, nr, opnd_imm(cnt));
	at = ir_alu(&l->b, IR_ADD, ir_mapval(&l->b, MAP_IDX_CONST, off), opnd_reg(ir_alu(&l->b, IR_SHL, nr, opnd_imm(1))));
	entry = ir_load(&l->b, at, 0, 2);
	probe_leave_if(l, C_EQ, entry, opnd_imm(0));
	site = ir_alu(&l->b, IR_ADD, entry, opnd_imm((s64)u->site_first - 1));
	lower_know_number(l, &site_known, 0, site);
}

static void lower_entry(struct lower *l)
{
	u32 way = way_of(l->unit->variant);
	vreg nr;

	/* A perf event is filtered by the result; on a raw tracepoint nobody looks at it. */
	l->b.f->is_result_free = way != WAY_PERF && !has_record(l->unit->variant);
	if (way != WAY_ENTER && way != WAY_EXIT)
		return;
	/* sys_enter(regs, number), sys_exit(regs, result) */
	if (has_record(l->unit->variant))
		nr = ir_load(&l->b, lower_ctx(l), OFF_NR, 8);
	else
		nr = way == WAY_ENTER ? ir_load(&l->b, lower_ctx(l), 8, 8) : load_reg(l, abi.sys_nr_off);
	lower_know_number(l, &nr_known, 0, nr);
	if (l->unit->site_cnt == 1)
		probe_leave_if(l, C_NE, nr, opnd_imm(l->c->sites.at[l->unit->site_first].num));
	else
		find_site(l, nr);
	leave_if_compat(l);
}

static struct opnd lower_tp_site(struct lower *l)
{
	u32 way = way_of(l->unit->variant);
	vreg site;

	if (l->unit->site_cnt == 1)
		return opnd_imm(l->unit->site_first);
	site = lower_known(l, &site_known, 0);
	if (site)
		return opnd_reg(site);
	BUG_ON(way == WAY_ENTER || way == WAY_EXIT);
	site = ir_call_of(&l->b, HELPER_get_attach_cookie, opnd_reg(lower_ctx(l)));
	lower_know_number(l, &site_known, 0, site);
	return opnd_reg(site);
}

/* A stack taken in a raw tracepoint's program begins with the program and bpf_trace_runN. Up to two more frames (__bpf_trace_X,
 * __traceiter_X) depend on the compiler's tail calls and on other tracers of the same event; programs of perf events see the
 * latter, too. */
static u32 stack_skip(const struct unit *u)
{
	return way_of(u->variant) == WAY_PERF || has_record(u->variant) ? 0 : 2;
}

/* The low bytes of a register, as the member's type has them. */
static vreg narrow(struct lower *l, vreg r, const struct type *t)
{
	if (t->size >= 8 || !t->size)
		return r;
	return ir_ext(&l->b, t->is_signed ? IR_SEXT : IR_ZEXT, r, t->size);
}

static vreg load_member(struct lower *l, u32 off)
{
	if (off == OFF_NR)
		return lower_known(l, &nr_known, 0);
	if (way_of(l->unit->variant) == WAY_EXIT)
		return ir_load(&l->b, lower_ctx(l), has_record(l->unit->variant) ? OFF_RESULT : 8, 8);
	BUG_ON(off < OFF_FIRST_ARG || (off - OFF_FIRST_ARG) / 8 >= ARRAY_CNT(abi.sys_arg_off));
	if (has_record(l->unit->variant))
		return ir_load(&l->b, lower_ctx(l), off, 8);
	return load_reg(l, abi.sys_arg_off[(off - OFF_FIRST_ARG) / 8]);
}

/* The predicate and the body often read the same one. */
static struct val syscall_member(struct lower *l, const struct member *m, u32 off)
{
	vreg r = lower_known(l, &member_known, off);

	if (!r) {
		r = narrow(l, load_member(l, off), m->type);
		lower_know(l, &member_known, off, r);
	}
	return val_reg(r);
}

static struct val lower_arg_member(struct lower *l, const struct member *m, u32 off)
{
	u32 way = way_of(l->unit->variant);
	vreg ctx = lower_ctx(l), v;

	BUG_ON(way == WAY_RAW);
	if (way != WAY_PERF)
		return syscall_member(l, m, off);
	if (m->is_data_loc) {
		/* the location of the data in the record: length << 16 | offset */
		v = ir_alu(&l->b, IR_AND, ir_load(&l->b, ctx, off, 4), opnd_imm(0xffff));
		return val_reg(ir_alu(&l->b, IR_ADD, ctx, opnd_reg(v)));
	}
	if (!type_is_scalar(m->type))
		return val_mem((struct mem){ ctx, off, AS_KERNEL });
	if (m->bit_sz)
		return val_reg(lower_load_bits(l, (struct mem){ ctx, off, AS_KERNEL }, m->type, m->bit_off, m->bit_sz));
	/* The verifier takes only aligned loads from a context. */
	if (off % m->type->size)
		return val_reg(lower_load(l, (struct mem){ ctx, off, AS_KERNEL }, m->type));
	v = ir_load(&l->b, ctx, off, m->type->size);
	return val_reg(m->type->is_signed ? narrow(l, v, m->type) : v);
}

/* ---- attaching ---- */

static void attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	const char *name = way_of(u->variant) == WAY_ENTER ? "btf_trace_sys_enter" : "btf_trace_sys_exit";
	struct type_source *src = target_types(c->target);

	if (way_of(u->variant) == WAY_PERF || has_record(u->variant)) {
		attr->type = BPF_PROG_TYPE_TRACEPOINT;
		return;
	}
	attr->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	if (!is_typed(u->variant))
		return;
	attr->type = BPF_PROG_TYPE_TRACING;
	attr->attach_type = BPF_TRACE_RAW_TP;
	attr->attach_btf_id = src ? btf_find_id(src, name, BTF_KIND_TYPEDEF, NULL) : 0;
}

/* The program is attached to the tracepoint itself and sees hits of all CPUs: one event on one CPU suffices. */
static int open_event(struct attach_ctx *ctx, const char *category, const char *event, int prog_fd, u64 cookie)
{
	struct perf_event_attr ev = { .type = PERF_TYPE_TRACEPOINT };
	int id = tracefs_event_id(category, event);

	if (id < 0)
		return id;
	ev.config = id;
	return probe_perf_attach(ctx, &ev, -1, 0, prog_fd, cookie);
}

static int attach_perf(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		int err = open_event(ctx, s->target, s->func, prog_fd, u->site_first + i);

		if (err)
			probe_attach_failed(ctx, s, err, "cannot attach to the tracepoint",
					    err == -EACCES ? "the script reads past the end of this event's record" : NULL);
		else
			done++;
	}
	return done;
}

static int attach_raw(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		int fd = kern_raw_tp_open(s->func, prog_fd, u->site_cnt > 1 ? u->site_first + i : 0);

		if (fd < 0) {
			probe_attach_failed(ctx, s, fd, "cannot attach to the raw tracepoint", NULL);
			continue;
		}
		vec_push(&ctx->fds, fd);
		done++;
	}
	return done;
}

/* One link serves all sites. */
static int attach_syscalls(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	const char *name = way_of(u->variant) == WAY_ENTER ? "sys_enter" : "sys_exit";
	int fd;

	if (has_record(u->variant)) {
		fd = open_event(ctx, "raw_syscalls", name, prog_fd, 0);
	} else {
		fd = kern_raw_tp_open(is_typed(u->variant) ? NULL : name, prog_fd, 0);
		if (fd >= 0)
			vec_push(&ctx->fds, fd);
	}
	if (fd < 0) {
		for (u32 i = 0; i < u->site_cnt; i++)
			probe_attach_failed(ctx, unit_site(ctx, u, i), fd, "cannot attach to the raw tracepoint", NULL);
		return 0;
	}
	return u->site_cnt;
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	switch (way_of(u->variant)) {
	case WAY_PERF:
		return attach_perf(ctx, u, prog_fd);
	case WAY_RAW:
		return attach_raw(ctx, u, prog_fd);
	default:
		return attach_syscalls(ctx, u, prog_fd);
	}
}

/* ---- -lv ---- */

static void list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	const char *event = strrchr(site_name, ':'), *rest = strchr(site_name, ':');
	char *category, *text, *line, *save;

	if (!event || !rest || event == rest)
		return;
	category = xasprintf("%.*s", (int)(event - rest - 1), rest + 1);
	if (!t->machine->event_format(category, event + 1, &text)) {
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			char *field = strstr(line, "field:"), *semi = field ? strchr(field, ';') : NULL;
			u32 off;

			if (!semi || sscanf(semi, "; offset:%u", &off) != 1 || off < 8)
				continue;
			sbuf_printf(out, "    %.*s\n", (int)(semi - field - 6), field + 6);
		}
		free(text);
	}
	free(category);
}

const struct provider provider_tracepoint = {
	.name = "tracepoint",
	.alias = "t",
	.spec = "tracepoint:CATEGORY:EVENT",
	.doc = "Runs at a static trace point in the kernel's source; args has the event's fields.",
	.example = "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }",
	/* A program that returned 0 would hide the event from other users of perf. */
	.flags = PROV_ARGS | PROV_PID_FILTER | PROV_SIGNAL | PROV_RETURNS_1,
	.needs = NEED_BIT(TRACEFS),
	.as = AS_KERNEL,
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
	.args = args,
	.lower_entry = lower_entry,
	.lower_arg_member = lower_arg_member,
	.lower_site = lower_tp_site,
	.stack_skip = stack_skip,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};
