/* kprobe and kretprobe: entry to, return from, and instructions of kernel functions.
 *
 * Two ways to attach: one perf event per site, which can do everything (offsets, addresses), or one kprobe_multi link
 * for many functions at once, which takes whole functions only, and only those that ftrace can trace (not all that
 * kprobes can). It takes them by name, or, where the module matters, by address. site.variant says whether a site could go by the second;
 * unit.variant which one was taken.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "base/smap.h"
#include "kern/btf.h"
#include "kern/kallsyms.h"
#include "kern/sys.h"
#include "kern/tracefs.h"
#include "probe/probe.h"

/* site.variant */
enum {
	SITE_SINGLE, /* by perf event only */
	SITE_NAMED,  /* a function by name: by link, if ftrace knows it */
	SITE_LISTED, /* one that ftrace lists */
	SITE_OF_MODULE, /* the same, of a module: by link, if its address is known */
};

/* unit.variant */
enum { KP_PERF, KP_MULTI };

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

/* name: "func" or "module:func" */
static void add(struct site_sink *sink, const struct provider *p, const char *name, u64 off, bool is_listed)
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
	if (off || (colon && !is_listed))
		s->variant = SITE_SINGLE;
	else
		s->variant = colon ? SITE_OF_MODULE : is_listed ? SITE_LISTED : SITE_NAMED;
}

static int expand_wildcard(struct search *s, const struct provider *p)
{
	int err = tracefs_each_function(add_function, s);

	if (s->names.cnt)
		qsort(s->names.at, s->names.cnt, sizeof(*s->names.at), by_text);
	/* Static functions may share a name; one link takes a name once. */
	for (u32 i = 0; i < s->names.cnt; i++)
		if (!i || !str_eq(s->names.at[i], s->names.at[i - 1]))
			add(s->sink, p, s->names.at[i], 0, true);
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

	if (!kallsyms_is_text(type))
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
static u64 function_size(const char *func, u64 addr)
{
	struct extent e = { func, addr, UINT64_MAX };

	kallsyms_each(look_behind, &e);
	return addr && e.is_func && e.end != UINT64_MAX ? e.end - addr : 0;
}

/* False: it is not in the function, which was reported. */
static bool offset_is_inside(struct diag *d, const struct attach_point *ap, const char *func, u64 addr, u64 off)
{
	u64 size = off && d ? function_size(func, addr) : 0;

	if (!size || off < size)
		return true;
	diag_error(d, ap->span, E_ATTACH_POINT, "Offset outside the function bounds ('%s' size is %llu)", func, (unsigned long long)size);
	return false;
}

static void expand_one(struct site_sink *sink, const struct provider *p, const char *module, const char *func, u64 off,
		       const struct attach_point *ap, struct diag *d)
{
	const char *name = module ? arena_printf(sink->arena, "%s:%s", module, func) : func, *near;
	const struct target *t = sink->c ? sink->c->target : NULL;
	struct lookup l = { .func = func, .module = module, .arena = sink->arena, .want_names = true };

	/* Quick: asks for one symbol. It cannot tell that there is none, as addresses may be hidden. */
	l.addr = !module && t && t->kaddr ? t->kaddr(t->kaddr_self, func) : 0;
	l.found = l.addr;
	if (!l.found)
		kallsyms_each(look_at, &l);
	if (l.found || !l.any_text) { /* without a list of symbols the kernel has to tell, when the probe is attached */
		if (offset_is_inside(d, ap, func, l.addr, off))
			add(sink, p, name, off, false);
	} else if (module && !l.module_seen) {
		sink->why = arena_printf(sink->arena, "Module %s is not loaded", module);
	} else {
		near = nearest_name(func, l.names.at, l.names.cnt);
		if (near)
			sink->hint = arena_printf(sink->arena, "did you mean %s:%s%s%s?", p->name, module ? module : "",
						  module ? ":" : "", near);
	}
	vec_free(&l.names);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *module = ap->part_cnt > 2 ? ap->parts[1] : NULL, *text = ap->parts[ap->part_cnt - 1], *func;
	struct site *site;
	u64 off;
	int err;

	if (!(sink->c ? target_has(sink->c, KF_KPROBE) : kern_has(KF_KPROBE))) {
		sink->why = NO_KPROBES;
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
		vec_free(&s.names);
		return err;
	}
	if (is_address(text)) {
		if (!sink->allow_unsafe) {
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
	if (probe_func_offset(sink->arena, text, &func, &off))
		expand_one(sink, p, module, func, off, ap, d);
	return 0;
}

/* ---- units ---- */

static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	(void)c, (void)uses;
	return s->variant == SITE_NAMED ? SITE_LISTED : s->variant;
}

struct wanted {
	struct smap names; /* name → bool: seen */
	u32 left;
};

static bool tick_off(void *arg, const char *name, const char *module)
{
	struct wanted *w = arg;
	bool *seen = smap_get(&w->names, name);

	(void)module;
	if (seen && !*seen) {
		*seen = true;
		w->left--;
	}
	return w->left;
}

/* Whether ftrace can trace all functions of the unit. Those that came from its list need no look. */
static bool all_traceable(struct compile *c, const struct unit *u)
{
	bool *seen = xzalloc(u->site_cnt);
	struct wanted w = {};
	bool ok;

	for (u32 i = 0; i < u->site_cnt; i++)
		if (c->sites.at[u->site_first + i].variant == SITE_NAMED)
			smap_put(&w.names, c->sites.at[u->site_first + i].func, &seen[i]);
	w.left = w.names.cnt;
	if (w.left)
		tracefs_each_function(tick_off, &w);
	ok = !w.left;
	smap_release(&w.names);
	free(seen);
	return ok;
}

struct addresses {
	struct smap sites; /* "module:func" → struct site */
	u32 left;
};

static bool take_address(void *arg, const struct ksym *sym, char type)
{
	struct addresses *a = arg;
	char key[256]; /* longer than names of symbols with their module can be, or it is none of ours */
	struct site *s;

	if (!kallsyms_is_text(type) || !sym->addr)
		return true;
	snprintf(key, sizeof(key), "%s:%s", sym->module ? sym->module : "vmlinux", sym->name);
	s = smap_get(&a->sites, key);
	if (s && !s->addr) { /* of static functions with the same name the first one */
		s->addr = sym->addr;
		a->left--;
	}
	return a->left;
}

/* Whether the addresses of all functions of the unit, which have modules, are known. */
static bool find_addresses(struct compile *c, const struct unit *u)
{
	struct site *sites = &c->sites.at[u->site_first];
	struct addresses a = {};

	for (u32 i = 0; i < u->site_cnt; i++) {
		const char *key = arena_printf(c->arena, "%s:%s", sites[i].target, sites[i].func);

		if (!smap_get(&a.sites, key))
			smap_put(&a.sites, key, &sites[i]);
	}
	a.left = a.sites.cnt;
	kallsyms_each(take_address, &a);
	for (u32 i = 0; i < u->site_cnt; i++) { /* of two attach points */
		const struct site *same = smap_get(&a.sites, arena_printf(c->arena, "%s:%s", sites[i].target, sites[i].func));

		sites[i].addr = same->addr;
	}
	smap_release(&a.sites);
	return !a.left;
}

static void plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	(void)uses;
	u->variant = KP_PERF;
	if (u->site_cnt == 1 || !target_has(c, KF_KPROBE_MULTI))
		return;
	switch (c->sites.at[u->site_first].variant) {
	case SITE_SINGLE:
		return;
	case SITE_NAMED:
	case SITE_LISTED:
		u->variant = all_traceable(c, u) ? KP_MULTI : KP_PERF;
		return;
	case SITE_OF_MODULE:
		u->variant = find_addresses(c, u) ? KP_MULTI : KP_PERF;
		return;
	}
}

static int attr(struct compile *c, const struct unit *u, struct prog_attr *attr, struct diag *d)
{
	(void)c, (void)d;
	attr->type = BPF_PROG_TYPE_KPROBE;
	attr->attach_type = u->variant == KP_MULTI ? BPF_TRACE_KPROBE_MULTI : 0;
	return 0;
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
		return "the kernel has no such function that can be probed; it may have been inlined";
	case EADDRNOTAVAIL:
		return "several functions have this name: name the module, or probe by address";
	default:
		return NULL;
	}
}

static int link_multi(const struct multi *m, u32 lo, u32 hi)
{
	bool by_addr = unit_site(m->ctx, m->u, lo)->variant == SITE_OF_MODULE;
	u64 *which = xzalloc((hi - lo) * sizeof(u64)), *cookies = xzalloc((hi - lo) * sizeof(u64));
	struct bpf_link_create_attr attr = {
		.prog_fd = m->prog_fd,
		.attach_type = BPF_TRACE_KPROBE_MULTI,
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

static int attach_one(struct attach_ctx *ctx, const struct unit *u, u32 i, int prog_fd, int type, int bit)
{
	struct site *s = unit_site(ctx, u, i);
	struct perf_event_attr ev = {
		.type = type,
		.config = u->provider == &provider_kretprobe ? 1ull << bit : 0,
	};
	char *name = NULL;
	int err;

	if (s->func) {
		bool has_module = s->target && !str_eq(s->target, "vmlinux");

		name = has_module ? xasprintf("%s:%s", s->target, s->func) : xstrdup(s->func);
		ev.kprobe_func = (u64)(uintptr_t)name;
		ev.probe_offset = s->off;
	} else {
		ev.kprobe_addr = s->addr;
	}
	/* As with tracepoints, one event on one CPU sees the hits of all. */
	err = probe_perf_attach(ctx, &ev, -1, 0, prog_fd, u->site_first + i);
	free(name);
	return err;
}

static int attach(struct attach_ctx *ctx, const struct unit *u, int prog_fd)
{
	int type = probe_pmu_type("kprobe"), bit = probe_pmu_bit("kprobe", "retprobe");
	u32 done = 0;

	if (u->variant == KP_MULTI) {
		struct multi m = { ctx, u, prog_fd, link_multi, "cannot attach to the function", hint_for };

		return probe_attach_multi(&m, 0, u->site_cnt);
	}
	for (u32 i = 0; i < u->site_cnt; i++) {
		int err;

		if (type < 0 || bit < 0) {
			probe_attach_failed(ctx, unit_site(ctx, u, i), 0, NO_KPROBES, NULL);
			continue;
		}
		err = attach_one(ctx, u, i, prog_fd, type, bit);
		if (err == -EILSEQ) /* whose text speaks of characters */
			probe_attach_failed(ctx, unit_site(ctx, u, i), 0, "the offset is not at the start of an instruction",
					    "offsets count bytes, and instructions have different lengths: disassemble the function to see where they start");
		else if (err)
			probe_attach_failed(ctx, unit_site(ctx, u, i), err, "cannot attach to the function", hint_for(err));
		else
			done++;
	}
	return done;
}

/* ---- -lv ---- */

static void list_params(const char *site_name, struct sbuf *out)
{
	const char *func = strrchr(site_name, ':') + 1, *rest = strchr(site_name, ':') + 1;
	char *module = func > rest ? xasprintf("%.*s", (int)(func - rest - 1), rest) : NULL;
	bool is_ret = str_starts(site_name, "kretprobe:");
	struct btf_func f;

	if (kern_btf_func(module, func, &f))
		btf_func_print(&f, is_ret, out);
	free(module);
}

const struct provider provider_kprobe = {
	.name = "kprobe",
	.alias = "k",
	.spec = "kprobe[:MODULE]:FUNCTION[+OFFSET] or kprobe:ADDRESS",
	.doc = "Runs when a kernel function is called, or an instruction of it is reached.",
	.example = "kprobe:vfs_read { @[comm] = count(); }",
	.flags = PROV_ARGN | PROV_REG | PROV_FUNC | PROV_CTX | PROV_PID_FILTER | PROV_OVERRIDE | PROV_SIGNAL | PROV_REVERSE,
	.as = AS_KERNEL,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
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
	.as = AS_KERNEL,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
	.lower_retval = probe_regs_retval,
	.lower_reg = probe_regs_reg,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};
