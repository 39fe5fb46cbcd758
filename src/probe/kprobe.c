/* SPDX-License-Identifier: GPL-2.0-only */
/* kprobe and kretprobe: entry to, return from, and instructions of kernel functions.
 *
 * Three ways to attach: one perf event per site, which can do everything (offsets, addresses); one kprobe_multi link for many
 * functions at once, which takes whole functions only, and only those that ftrace can trace (not all that kprobes can); and
 * events of tracefs (events.c), each of many functions, on kernels without such links. Links and events take functions by name,
 * or, where the module matters or several functions have the name, by address. site.variant says which of them a site allows,
 * unit.variant which one was chosen.
 *
 * A name stands for all functions that have it (static ones, of different files): they are one probe. Reading all symbols to find
 * them takes too long for one function. So the kernel is tried first, which refuses such a name (EADDRNOTAVAIL; 6.7, and older
 * ones with that change. Those without it take the first function). Where functions are looked up anyway, each becomes a site.
 *
 * Before 6.7, events are also the only kprobes for which the kernel reports the hits that it missed (kprobe_profile): there even
 * one function becomes an event.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "base/progress.h"
#include "base/smap.h"
#include "kern/kallsyms.h"
#include "kern/sys.h"
#include "probe/events.h"
#include "probe/typed.h"
#include "run/loop.h"

/* site.variant: one of these, and from EVENT_GROUP_SHIFT on, with KP_EVENTS, the number of the event */
enum {
	SITE_SINGLE,    /* by perf event only */
	SITE_NAMED,     /* a function by name: by link, if ftrace knows it */
	SITE_LISTED,    /* one that ftrace lists */
	SITE_OF_MODULE, /* the same, of a module: by link, if its address is known */
	SITE_SHARED,    /* one of several functions that have the name: by its address in any case */
};

static u32 kind_of(const struct site *s)
{
	return s->variant & ((1u << EVENT_GROUP_SHIFT) - 1);
}

/* unit.variant */
enum { KP_PERF, KP_MULTI, KP_SESSION /* KP_MULTI of two units */, KP_EVENTS };

#define NO_KPROBES "This kernel has no kprobes (CONFIG_KPROBES is not set)"

extern const struct provider provider_kprobe, provider_kretprobe;

/* ---- parsing ---- */

static bool is_address(const char *s)
{
	u64 v;

	return *s >= '0' && *s <= '9' && probe_number(s, &v);
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *func = ap->parts[ap->part_cnt - 1], *plus;
	u64 off;

	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	if (!*func || !*ap->parts[1]) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: the %s is missing", p->name, *func ? "module" : "function");
		diag_hint(d, "write it as %s", p->spec);
		return false;
	}
	if (*func >= '0' && *func <= '9') {
		if (ap->part_cnt == 2 && is_address(func))
			return true;
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not the name of a function%s", func,
			   is_address(func) ? "" : ", nor an address");
		return false;
	}
	plus = strchr(func, '+');
	if (!plus)
		return true;
	if (p == &provider_kretprobe) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Offset not allowed");
		diag_hint(d, "a kretprobe is for the return from the whole function");
		return false;
	}
	if (!probe_number(plus + 1, &off)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Invalid offset: %s", plus + 1);
		return false;
	}
	if (has_wildcard(func)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "an offset needs one function, not a wildcard");
		return false;
	}
	return true;
}

/* ---- which functions ---- */

struct search {
	struct site_sink *sink;
	const char *func, *module; /* patterns; module NULL: any, and not shown */
	vec(const char *) names;   /* "func" or "module:func" */
	bool module_seen;
};

static bool add_function(void *arg, const char *name, const char *module)
{
	struct search *s = arg;

	if (s->module) {
		if (!glob_match(s->module, module ? module : "vmlinux"))
			return true;
		s->module_seen = true;
	}
	if (!glob_match(s->func, name) || probe_is_banned(name))
		return true;
	if (s->module)
		vec_push(&s->names, arena_printf(s->sink->arena, "%s:%s", module ? module : "vmlinux", name));
	else
		vec_push(&s->names, arena_strdup(s->sink->arena, name));
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* name: "func" or "module:func"; listed_cnt: functions of that name that ftrace lists, 0: not looked up */
static void add(struct site_sink *sink, const struct provider *p, const char *name, u64 off, u32 listed_cnt, bool is_wild)
{
	const char *colon = strchr(name, ':');
	struct site *s;

	if (off)
		s = sink->add(sink, arena_printf(sink->arena, "%s:%s+%llu", p->name, name, (unsigned long long)off));
	else
		s = sink->add(sink, arena_printf(sink->arena, "%s:%s", p->name, name));
	if (!s)
		return;
	if (colon)
		s->target = arena_strndup(sink->arena, name, colon - name);
	s->func = colon ? colon + 1 : name;
	s->off = off;
	s->num = listed_cnt;
	s->is_wild = is_wild;
	if (off || (colon && !listed_cnt))
		s->variant = SITE_SINGLE;
	else
		s->variant = colon ? SITE_OF_MODULE : listed_cnt ? SITE_LISTED : SITE_NAMED;
}

static int expand_wildcard(struct search *s, const struct provider *p)
{
	int err = s->sink->target->machine->each_function(add_function, s);

	if (s->names.cnt)
		qsort(s->names.at, s->names.cnt, sizeof(*s->names.at), by_text);
	for (u32 i = 0, same; i < s->names.cnt; i += same) {
		for (same = 1; i + same < s->names.cnt && str_eq(s->names.at[i], s->names.at[i + same]);)
			same++;
		add(s->sink, p, s->names.at[i], 0, same, true);
	}
	return s->names.cnt ? 0 : err;
}

/* ---- one function ---- */

struct lookup {
	const char *func, *module; /* module NULL: any */
	bool found, module_seen, any_text;
	u64 addr; /* of what was found, 0: hidden */
	struct arena *arena;
	vec(const char *) names; /* all, for a suggestion; only when wanted */
	bool want_names;
};

static bool look_at(void *arg, const struct ksym *sym, char type)
{
	struct lookup *l = arg;

	if (!ksym_is_text(type))
		return true;
	l->any_text = true;
	if (l->module && !str_eq(l->module, sym->module ? sym->module : "vmlinux"))
		return true;
	l->module_seen = true;
	if (str_eq(sym->name, l->func)) {
		l->found = true;
		l->addr = sym->addr;
		return false;
	}
	if (l->want_names)
		vec_push(&l->names, arena_strdup(l->arena, sym->name));
	return true;
}

struct extent {
	const char *func;
	u64 start, end; /* end: where the next symbol starts, UINT64_MAX: there is none */
	bool is_func;   /* the function is there */
};

static bool look_behind(void *arg, const struct ksym *sym, char type)
{
	struct extent *e = arg;

	(void)type;
	if (sym->addr == e->start)
		e->is_func |= str_eq(sym->name, e->func);
	else if (sym->addr > e->start && sym->addr < e->end)
		e->end = sym->addr;
	return true;
}

/* Bytes from the start of a function to what comes after it; 0: unknown. */
static u64 function_size(const struct machine *m, const char *func, u64 addr)
{
	struct extent e = { func, addr, UINT64_MAX };

	m->each_symbol(look_behind, &e);
	return addr && e.is_func && e.end != UINT64_MAX ? e.end - addr : 0;
}

/* False: it is not in the function, which was reported. */
static bool offset_is_inside(const struct machine *m, struct diag *d, const struct attach_point *ap, const char *func, u64 addr,
			     u64 off)
{
	u64 size = off && d ? function_size(m, func, addr) : 0;

	if (!size || off < size)
		return true;
	diag_error(d, ap->span, E_ATTACH_POINT, "Offset outside the function bounds ('%s' size is %llu)", func,
		   (unsigned long long)size);
	return false;
}

/* A function that the compiler has changed has a suffix: "func.isra.0". NULL: there is none. */
static const char *renamed(const char *func, const struct lookup *l)
{
	size_t len = strlen(func);

	vec_for(name, &l->names)
		if (str_starts(*name, func) && (*name)[len] == '.')
			return *name;
	return NULL;
}

static void expand_one(struct site_sink *sink, const struct provider *p, const char *module, const char *func, u64 off,
		       const struct attach_point *ap, struct diag *d)
{
	const char *name = module ? arena_printf(sink->arena, "%s:%s", module, func) : func, *near;
	const struct machine *m = sink->target->machine;
	struct lookup l = { .func = func, .module = module, .arena = sink->arena, .want_names = true };

	/* Fast: looks up one symbol. It cannot prove that there is none, because addresses may be hidden. A listing is of
	 * functions only. */
	l.addr = !module && sink->c ? target_kaddr(sink->target, func) : 0;
	l.found = l.addr;
	if (!l.found)
		m->each_symbol(look_at, &l);
	if (l.found || !l.any_text) { /* without a list of symbols the kernel reports it when the probe is attached */
		if (offset_is_inside(m, d, ap, func, l.addr, off))
			add(sink, p, name, off, 0, false);
	} else if (module && !l.module_seen) {
		sink->why = arena_printf(sink->arena, "Module %s is not loaded", module);
	} else {
		near = renamed(func, &l);
		if (!near)
			near = nearest_name(func, l.names.at, l.names.cnt);
		if (near)
			sink->hint = arena_printf(sink->arena, "did you mean %s:%s%s%s?", p->name, module ? module : "",
						  module ? ":" : "", near);
	}
	vec_free(&l.names);
}

/* One function of a given list, on a machine without kprobes: this machine's symbols do not apply to the machine of the list.
 * Some functions that can be probed are in no such list. */
static void expand_listed(struct search *s, const struct provider *p, u64 off)
{
	s->sink->target->machine->each_function(add_function, s);
	if (s->names.cnt)
		add(s->sink, p, s->names.at[0], off, s->names.cnt, false);
	else
		s->sink->cannot_tell = true;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *module = ap->part_cnt > 2 ? ap->parts[1] : NULL, *text = ap->parts[ap->part_cnt - 1], *func;
	const struct target *t = sink->target;
	bool is_trial = !sink->c || t->is_check, here = target_feature(t, KF_KPROBE);
	struct site *site;
	u64 off;
	int err;

	if (!here && !(is_trial && t->functions_are_given)) {
		probe_kernel_lacks(sink, NO_KPROBES);
		sink->cannot_tell = true;
		return 0;
	}
	if (ap->part_cnt < 2 || ap->part_cnt > 3)
		return 0;
	if (has_wildcard(text) || (module && has_wildcard(module))) {
		struct search s = { .sink = sink, .func = text, .module = module };

		err = expand_wildcard(&s, p);
		if (module && !s.module_seen && !has_wildcard(module))
			sink->why = arena_printf(sink->arena, "Module %s is not loaded", module);
		probe_tracefs_failed(sink, err);
		vec_free(&s.names);
		return err;
	}
	if (is_address(text)) {
		if (!probe_may_be_unsafe(sink)) {
			if (d) {
				diag_error(d, ap->span, E_UNSAFE, "Probing by address requires --unsafe");
				diag_hint(d, "a probe inside of an instruction can crash the system");
			}
			return 0;
		}
		probe_number(text, &off);
		site = sink->add(sink, arena_printf(sink->arena, "%s:%llu", p->name, (unsigned long long)off));
		if (site) {
			site->addr = off;
			site->variant = SITE_SINGLE;
		}
		return 0;
	}
	if (!probe_func_offset(sink->arena, text, &func, &off))
		return 0;
	if (here) {
		expand_one(sink, p, module, func, off, ap, d);
	} else {
		struct search s = { .sink = sink, .func = func, .module = module };

		expand_listed(&s, p, off);
		vec_free(&s.names);
	}
	return 0;
}

/* ---- units ---- */

static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	(void)c, (void)uses;
	return s->variant == SITE_NAMED ? SITE_LISTED : s->variant;
}

struct wanted {
	struct smap names; /* name → u64: how many functions of that name were seen */
	u32 left;
};

static bool count_function(void *arg, const char *name, const char *module)
{
	struct wanted *w = arg;
	u64 *seen = smap_get(&w->names, name);

	(void)module;
	if (seen && !(*seen)++)
		w->left--;
	return true;
}

/* Whether ftrace can trace all functions of the unit. Those from its list need no check; for the others, counts the functions of
 * the same name. */
static bool all_traceable(struct compile *c, const struct unit *u)
{
	struct wanted w = {};
	bool ok;

	for (u32 i = 0; i < u->site_cnt; i++) {
		struct site *s = &c->sites.at[u->site_first + i];

		if (s->variant == SITE_NAMED)
			smap_put(&w.names, s->func, &s->num);
	}
	w.left = w.names.entries.cnt;
	if (w.left)
		c->target->machine->each_function(count_function, &w);
	ok = !w.left;
	smap_release(&w.names);
	return ok;
}

struct functions {
	struct arena *arena;
	struct smap named; /* name_of() → struct places */
	bool has_modules;
};

/* Where the functions of one name are. */
struct places {
	vec(u64) addrs;
};

static bool take_address(void *arg, const struct ksym *sym, char type)
{
	struct functions *f = arg;
	char key[256]; /* longer than names of symbols with their module can be, or it is none of ours */
	struct places *p;

	if (!ksym_is_text(type) || !sym->addr)
		return true;
	if (f->has_modules)
		snprintf(key, sizeof(key), "%s:%s", sym->module ? sym->module : "vmlinux", sym->name);
	p = smap_get(&f->named, f->has_modules ? key : sym->name);
	if (p)
		avec_push(f->arena, &p->addrs, sym->addr);
	return true;
}

static const char *name_of(struct arena *a, const struct site *s)
{
	return s->target ? arena_printf(a, "%s:%s", s->target, s->func) : s->func;
}

/* ftrace patches a function at its start, or behind the landing pads and padding that may be there. */
static bool is_listed(const struct places *listed, u64 addr)
{
	enum { START_MAX = 32 };

	vec_for(at, &listed->addrs)
		if (*at - addr < START_MAX)
			return true;
	return false;
}

static void keep_listed(struct places *p, const struct places *listed)
{
	u32 kept = 0;

	for (u32 i = 0; i < p->addrs.cnt; i++)
		if (is_listed(listed, p->addrs.at[i]))
			p->addrs.at[kept++] = p->addrs.at[i];
	if (kept)
		p->addrs.cnt = kept;
}

static bool take_listed(void *arg, const char *name, u64 at)
{
	struct functions *f = arg;
	struct places *p = smap_get(&f->named, name);

	if (p)
		avec_push(f->arena, &p->addrs, at);
	return true;
}

/* ftrace lists fewer functions of some names than there are: finds out which, and drops the others, which a wildcard does not
 * match. Where the kernel does not tell (before 6.5), all stay, and attaching leaves out what the kernel refuses. */
static void find_listed(struct compile *c, const struct unit *u, struct places **places, u32 cnt)
{
	const struct machine *m = c->target->machine;
	const struct site *sites = &c->sites.at[u->site_first];
	struct functions f = { .arena = c->arena };

	for (u32 i = 0; i < cnt; i++)
		if (sites[i].is_wild && sites[i].num < places[i]->addrs.cnt && !smap_get(&f.named, sites[i].func))
			smap_put(&f.named, sites[i].func, arena_new(c->arena, struct places));
	if (f.named.entries.cnt && m->each_function_at)
		m->each_function_at(take_listed, &f);
	for (u32 i = 0; i < cnt; i++) {
		const struct places *listed = smap_get(&f.named, sites[i].func);

		if (listed)
			keep_listed(places[i], listed);
	}
	smap_release(&f.named);
}

/* Sets the site's address, and adds a site for each other function of the name. */
static void take_places(struct compile *c, struct unit *u, u32 i, const struct places *p)
{
	struct site *s = &c->sites.at[u->site_first + i];

	s->addr = p->addrs.at[0];
	if (p->addrs.cnt == 1)
		return;
	s->variant = SITE_SHARED;
	for (u32 k = 1; k < p->addrs.cnt; k++) {
		struct site more = c->sites.at[u->site_first + i];

		more.addr = p->addrs.at[k];
		more.is_more = true;
		avec_push(c->arena, &c->sites, more);
		u->site_cnt++;
	}
}

/* Finds the addresses of all functions of the unit, which then go by address. They have modules, or none has. The unit is the
 * newest: sites can be added to it. False: some are not known, and nothing was changed. */
static bool find_addresses(struct compile *c, struct unit *u)
{
	u32 cnt = u->site_cnt;
	struct places **places = xzalloc(cnt * sizeof(struct places *));
	struct functions f = { .arena = c->arena, .has_modules = c->sites.at[u->site_first].target };
	bool ok = true;

	for (u32 i = 0; i < cnt; i++) {
		const char *name = name_of(c->arena, &c->sites.at[u->site_first + i]);

		places[i] = smap_get(&f.named, name);
		if (!places[i]) { /* else it is in two attach points */
			places[i] = arena_new(c->arena, struct places);
			smap_put(&f.named, name, places[i]);
		}
	}
	c->is_of_boot = true;
	c->target->machine->each_symbol(take_address, &f);
	for (u32 i = 0; i < cnt; i++)
		ok = ok && places[i]->addrs.cnt;
	if (ok)
		find_listed(c, u, places, cnt);
	for (u32 i = 0; ok && i < cnt; i++)
		take_places(c, u, i, places[i]);
	smap_release(&f.named);
	free(places);
	return ok;
}

static bool has_shared_names(const struct compile *c, const struct unit *u)
{
	for (u32 i = 0; i < u->site_cnt; i++)
		if (c->sites.at[u->site_first + i].num > 1)
			return true;
	return false;
}

static bool can_use_link(struct compile *c, struct unit *u)
{
	if (u->site_cnt == 1 || !target_has(c, KF_KPROBE_MULTI))
		return false;
	switch (c->sites.at[u->site_first].variant) {
	case SITE_NAMED:
	case SITE_LISTED:
		if (!all_traceable(c, u))
			return false;
		if (has_shared_names(c, u))
			find_addresses(c, u); /* where they are hidden, of functions that share a name the first is taken */
		return true;
	case SITE_OF_MODULE:
		return find_addresses(c, u);
	}
	return false;
}

static bool can_use_events(struct compile *c, struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];

	if ((u->site_cnt < EVENT_SITES_MIN && target_has(c, KF_LINK_MISSED)) || !target_has(c, KF_TRACE_EVENTS))
		return false;
	if (u->site_cnt == 1)
		return s->func && !s->off;
	return s->variant != SITE_SINGLE && find_addresses(c, u) && u->site_cnt <= EVENT_SITES_MAX;
}

static void plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	(void)uses;
	if (can_use_link(c, u)) {
		u->variant = KP_MULTI;
		probe_pair(c, u, &provider_kprobe, &provider_kretprobe, KP_SESSION, KF_KPROBE_SESSION);
	} else if (can_use_events(c, u)) {
		u->variant = KP_EVENTS;
		events_group(c, u);
	} else {
		u->variant = KP_PERF;
	}
}

/* At a return, too. */
static vreg function_entry(struct lower *l)
{
	return ir_call_of(&l->b, HELPER_get_func_ip, opnd_reg(lower_ctx(l)));
}

static struct opnd lower_which(struct lower *l)
{
	return l->unit->variant == KP_EVENTS ? events_lower_site(l, function_entry) : lower_site_by_cookie(l);
}

static u32 link_type(u32 variant)
{
	return variant == KP_MULTI ? BPF_TRACE_KPROBE_MULTI : variant == KP_SESSION ? BPF_TRACE_KPROBE_SESSION : 0;
}

static void attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	(void)c;
	attr->type = BPF_PROG_TYPE_KPROBE;
	attr->attach_type = link_type(u->variant);
}

/* ---- attaching ---- */

static const char *hint_for(int err)
{
	switch (-err) {
	case EINVAL:
		return "the kernel does not allow probes on this function (see /sys/kernel/debug/kprobes/blacklist), or not at "
		       "this offset";
	case ENOENT:
	case ESRCH:
		return "the kernel has no function of this name that can be probed; it may have been inlined";
	case EADDRNOTAVAIL:
		return "several functions have this name: with an offset, use an address instead of the name; without an offset all are probed, if "
		       "kernel.kptr_restrict allows reading their addresses";
	default:
		return NULL;
	}
}

static int link_multi(const struct multi *m, u32 lo, u32 hi)
{
	bool by_addr = unit_site(m->ctx, m->u, lo)->addr; /* it is known for all or for none */
	u64 *which = xzalloc((hi - lo) * sizeof(u64)), *cookies = xzalloc((hi - lo) * sizeof(u64));
	struct bpf_link_create_attr attr = {
		.prog_fd = m->prog_fd,
		.attach_type = link_type(m->u->variant),
		.kprobe_multi = {
			.flags = m->u->provider == &provider_kretprobe ? BPF_F_KPROBE_MULTI_RETURN : 0,
			.cnt = hi - lo,
			.syms = by_addr ? 0 : (u64)(uintptr_t)which,
			.addrs = by_addr ? (u64)(uintptr_t)which : 0,
			.cookies = (u64)(uintptr_t)cookies,
		},
	};
	int fd;

	for (u32 i = lo; i < hi; i++) {
		const struct site *s = unit_site(m->ctx, m->u, i);

		which[i - lo] = by_addr ? s->addr : (u64)(uintptr_t)s->func;
		cookies[i - lo] = m->u->site_first + i;
	}
	fd = kern_link_create(&attr);
	free(which);
	free(cookies);
	return fd;
}

/* The function as the kernel takes it by name; malloc'ed. */
static char *kernel_name(const struct site *s)
{
	bool has_module = s->target && !str_eq(s->target, "vmlinux");

	return has_module ? xasprintf("%s:%s", s->target, s->func) : xstrdup(s->func);
}

/* addr 0: by name */
static int attach_perf_at(struct attach_ctx *ctx, const struct image_prog *u, u32 i, u64 addr, int prog_fd)
{
	int type = probe_pmu_type("kprobe"), bit = probe_pmu_bit("kprobe", "retprobe"), err;
	const struct site *s = unit_site(ctx, u, i);
	struct perf_event_attr ev = {
		.type = type,
		.config = u->provider == &provider_kretprobe ? 1ull << (bit & 63) : 0,
	};
	char *name = NULL;

	if (type < 0 || bit < 0)
		return -ENODEV;
	if (addr) {
		ev.kprobe_addr = addr;
	} else {
		name = kernel_name(s);
		ev.kprobe_func = (u64)(uintptr_t)name;
		ev.probe_offset = s->off;
	}
	/* As with tracepoints, one event on one CPU sees the hits of all. */
	err = probe_perf_attach(ctx, &ev, -1, 0, prog_fd, u->variant == KP_EVENTS ? event_group(s) : u->site_first + i);
	free(name);
	return err;
}

/* The kernel has refused the name of a function because several have it: asks where they are. An offset is not the same place in
 * all of them. */
static struct places find_namesakes(struct arena *a, const struct site *s)
{
	struct functions f = { .arena = a, .has_modules = s->target };
	struct places p = {};

	if (!s->off) {
		smap_put(&f.named, name_of(a, s), &p);
		kallsyms_each(take_address, &f);
		smap_release(&f.named);
	}
	return p;
}

/* What attaching to the functions of one name returned. */
struct namesakes {
	u32 done, refused;
	int err; /* the first one */
};

static void count_namesake(struct namesakes *n, int err)
{
	if (!err)
		n->done++;
	else if (!n->refused++)
		n->err = err;
}

/* Some of them are enough. The others are left out, which is reported. */
static int end_namesakes(struct attach_ctx *ctx, const struct site *s, const struct namesakes *n)
{
	if (!n->done)
		return n->err ? n->err : -EADDRNOTAVAIL;
	if (!n->refused)
		return 0;
	if (!probe_is_about_one(n->err))
		return n->err;
	ctx->left_out.places += n->refused;
	if (ctx->image->config.missing_probes != MISSING_IGNORE)
		diag_warn(ctx->diag, s->span, W_MISSING_PROBE,
			  "the kernel cannot probe %u of the %u functions that are called %s", n->refused, n->refused + n->done,
			  s->func);
	return 0;
}

static int attach_perf(struct attach_ctx *ctx, const struct image_prog *u, u32 i, int prog_fd)
{
	const struct site *s = unit_site(ctx, u, i);
	bool by_addr = !s->func || kind_of(s) == SITE_SHARED;
	int err = attach_perf_at(ctx, u, i, by_addr ? s->addr : 0, prog_fd);
	u32 before = ctx->fds.cnt;
	struct namesakes n = {};
	struct places p;

	if (err != -EADDRNOTAVAIL || by_addr)
		return err;
	p = find_namesakes(ctx->diag->arena, s);
	vec_for(addr, &p.addrs)
		count_namesake(&n, attach_perf_at(ctx, u, i, *addr, prog_fd));
	err = end_namesakes(ctx, s, &n);
	if (err)
		probe_undo(ctx, before);
	return err;
}

/* Reports a site that was not attached. */
static void report_site(struct attach_ctx *ctx, const struct site *s, int err)
{
	switch (-err) {
	case ENODEV:
		probe_attach_failed(ctx, s, 0, NO_KPROBES, NULL);
		return;
	case EILSEQ: /* whose text is about characters */
		probe_attach_failed(
			ctx, s, 0, "the offset is not at the start of an instruction",
			"offsets count bytes, and instructions have different lengths: disassemble the function to see where they start");
		return;
	default:
		probe_attach_failed(ctx, s, err, "cannot attach to the function", hint_for(err));
	}
}

/* Adds a place to the event. The kernel takes places without names for the same if their arguments are, so each has a mark of its
 * own. */
static int add_place(const struct image_prog *u, const char *event, const char *place, u64 mark)
{
	char *line = xasprintf("%c:%s %s i=\\%llu\n", u->provider == &provider_kretprobe ? 'r' : 'p', event, place,
			       (unsigned long long)mark);
	int err = events_write(line, strlen(line));

	free(line);
	return err;
}

static int add_address(const struct image_prog *u, const char *event, u64 addr)
{
	char *place = xasprintf("0x%llx", (unsigned long long)addr);
	int err = add_place(u, event, place, addr);

	free(place);
	return err;
}

/* Makes the function one more place of the event, or all functions of its name. */
static int add_to_event(struct attach_ctx *ctx, const struct image_prog *u, u32 i, const char *event)
{
	const struct site *s = unit_site(ctx, u, i);
	struct namesakes n = {};
	struct places p;
	char *name;
	int err;

	if (s->addr)
		return add_address(u, event, s->addr);
	name = kernel_name(s);
	err = add_place(u, event, name, i);
	free(name);
	if (err != -EADDRNOTAVAIL)
		return err;
	p = find_namesakes(ctx->diag->arena, s);
	vec_for(addr, &p.addrs)
		count_namesake(&n, add_address(u, event, *addr));
	return end_namesakes(ctx, s, &n);
}

/* An event of the sites that order[] lists. errs[] gets what cannot be part of it. */
static void attach_event(struct attach_ctx *ctx, const struct image_prog *u, const u32 *order, u32 cnt, int prog_fd, int *errs)
{
	char *name = event_name(u->site_first + order[0], cnt);
	u32 placed = 0;

	for (u32 k = 0; k < cnt && !signals_caught(); k++) {
		errs[order[k]] = add_to_event(ctx, u, order[k], name);
		placed += !errs[order[k]];
		progress_add(1);
	}
	if (!placed) {
		free(name);
		return;
	}
	if (signals_caught()) {
		event_remove(name);
		free(name);
		return;
	}
	if (!event_open(ctx, u, name, -1, 0, prog_fd, event_group(unit_site(ctx, u, order[0]))))
		return;
	/* One of them may be the cause: attached separately, each gets its own result. */
	for (u32 k = 0; k < cnt && !signals_caught(); k++)
		if (!errs[order[k]])
			errs[order[k]] = attach_perf(ctx, u, order[k], prog_fd);
}

/* One event serves all if the script does not ask for the function. But a signal has to wait until the kernel has enabled all
 * places of an event, which takes milliseconds for each. */
enum { PLACES_MAX = 512 };

static void attach_events(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd, int *errs)
{
	u32 *order = xzalloc(u->site_cnt * sizeof(*order)), seen = 0;

	events_remove_stale();
	for (u32 group = 0; seen < u->site_cnt && !signals_caught(); group++) {
		u32 cnt = 0;

		for (u32 i = 0; i < u->site_cnt; i++)
			if ((u->uses_site ? event_group(unit_site(ctx, u, i)) : i / PLACES_MAX) == group)
				order[cnt++] = i;
		seen += cnt;
		attach_event(ctx, u, order, cnt, prog_fd, errs);
	}
	free(order);
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	int *errs = xzalloc(u->site_cnt * sizeof(*errs));
	struct multi m = { ctx, u, prog_fd, link_multi, .errs = errs };
	u32 done;

	for (u32 i = 0; i < u->site_cnt; i++)
		errs[i] = -EINTR; /* until it was tried */
	switch (u->variant) {
	case KP_MULTI:
	case KP_SESSION:
		probe_attach_multi(&m, 0, u->site_cnt);
		break;
	case KP_EVENTS:
		attach_events(ctx, u, prog_fd, errs);
		break;
	case KP_PERF:
		for (u32 i = 0; i < u->site_cnt && !signals_caught(); i++)
			errs[i] = attach_perf(ctx, u, i, prog_fd);
		break;
	}
	done = probe_report_refused(ctx, u, errs, report_site);
	free(errs);
	return done;
}

/* ---- -lv ---- */

static void list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	const char *func = strrchr(site_name, ':') + 1, *rest = strchr(site_name, ':') + 1;
	char *module = func > rest ? xasprintf("%.*s", (int)(func - rest - 1), rest) : NULL;
	bool is_ret = str_starts(site_name, "kretprobe:");
	struct btf_func f;

	if (typed_find_func(t, module, func, &f))
		btf_func_print(&f, is_ret, out);
	free(module);
}

const struct provider provider_kprobe = {
	.name = "kprobe",
	.alias = "k",
	.spec = "kprobe[:MODULE]:FUNCTION[+OFFSET] or kprobe:ADDRESS",
	.doc = "Runs when a kernel function is called, or when an instruction of it is reached.",
	.example = "kprobe:vfs_read { @[comm] = count(); }",
	.flags = PROV_ARGN | PROV_REG | PROV_FUNC | PROV_CTX | PROV_PID_FILTER | PROV_OVERRIDE | PROV_SIGNAL | PROV_REVERSE,
	.needs = NEED_BIT(SAME_NAMES),
	.features = KF_BIT(KPROBE),
	.as = AS_KERNEL,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
	.lower_site = lower_which,
	.lower_argn = probe_regs_argn,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};

const struct provider provider_kretprobe = {
	.name = "kretprobe",
	.alias = "kr",
	.spec = "kretprobe[:MODULE]:FUNCTION",
	.doc = "Runs when a kernel function returns.",
	.example = "kretprobe:vfs_read /retval > 0/ { @[comm] = sum(retval); }",
	.flags = PROV_RETVAL | PROV_REG | PROV_FUNC | PROV_CTX | PROV_PID_FILTER | PROV_SIGNAL | PROV_LIST_EXPLICIT,
	.needs = NEED_BIT(SAME_NAMES),
	.features = KF_BIT(KPROBE),
	.as = AS_KERNEL,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
	.lower_site = lower_which,
	.lower_retval = probe_regs_retval,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};
