/* SPDX-License-Identifier: GPL-2.0-only */
/* rawtracepoint: tracepoints as the kernel's code calls them, with the arguments of the call instead of a record made from them.
 *
 * There are two variants. TYPED: the program names its tracepoint, and the verifier knows the types of the arguments: for bodies
 * that use args. RAW: a plain raw tracepoint, whose arguments are numbers; one program serves many of them.
 *
 * site.target is the module ("vmlinux" for the kernel itself), site.func the event, site.num the number of its typedef in that
 * BTF.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/glob.h"
#include "kern/sys.h"
#include "lang/check.h"
#include "probe/typed.h"

/* unit.variant */
enum { WAY_RAW, WAY_TYPED };

#define PREFIX "btf_trace_"

static bool parse(struct diag *d, const struct attach_point *ap)
{
	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	for (u32 i = 1; i < ap->part_cnt; i++) {
		if (*ap->parts[i])
			continue;
		diag_error(d, ap->span, E_ATTACH_POINT, "rawtracepoint probe: the %s is missing",
			   i == ap->part_cnt - 1 ? "event" : "module");
		diag_hint(d, "write it as rawtracepoint[:MODULE]:EVENT");
		return false;
	}
	return true;
}

struct found {
	const char *module, *event;
	u32 id;
};

struct search {
	struct arena *arena;
	const char *module, *event; /* patterns; NULL: any */
	bool module_seen;
	vec(struct found) found;
};

static bool add_event(void *arg, const char *module, const char *name, u32 id)
{
	struct search *s = arg;

	if (!str_starts(name, PREFIX))
		return true;
	name += strlen(PREFIX);
	module = module ? module : "vmlinux";
	if (s->module && !glob_match(s->module, module))
		return true;
	s->module_seen = true;
	if (!s->event || glob_match(s->event, name))
		avec_push(s->arena, &s->found,
			  (struct found){ arena_strdup(s->arena, module), arena_strdup(s->arena, name), id });
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int r = strcmp(x->module, y->module);

	return r ? r : strcmp(x->event, y->event);
}

static void add(struct site_sink *sink, const struct found *f, bool is_wild)
{
	struct site *s = sink->add(sink, arena_printf(sink->arena, "rawtracepoint:%s:%s", f->module, f->event));

	if (!s)
		return;
	s->target = f->module;
	s->func = f->event;
	s->num = f->id;
	s->is_wild = is_wild;
}

static void suggest(struct site_sink *sink, const char *module, const char *event)
{
	struct search all = { .arena = sink->arena, .module = module };
	const char **names, *near;

	btf_each(target_types(sink->target), BTF_KIND_TYPEDEF, add_event, &all);
	if (module && !all.module_seen) {
		sink->why = arena_printf(sink->arena, "Module %s is not loaded, or has no tracepoints", module);
		return;
	}
	names = arena_alloc(sink->arena, (all.found.cnt + 1) * sizeof(*names));
	for (u32 i = 0; i < all.found.cnt; i++)
		names[i] = all.found.at[i].event;
	near = nearest_name(event, names, all.found.cnt);
	if (near)
		sink->hint = arena_printf(sink->arena, "did you mean rawtracepoint:%s%s%s?", module ? module : "",
					  module ? ":" : "", near);
	else if (str_starts(event, "sys_enter_") || str_starts(event, "sys_exit_"))
		sink->hint = arena_printf(sink->arena,
					  "the kernel has no raw tracepoint for a single system call; use tracepoint:syscalls:%s",
					  event);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const char *module = ap->part_cnt > 2 ? ap->parts[1] : NULL, *event = ap->parts[ap->part_cnt - 1];
	struct search s = { .arena = sink->arena, .module = module, .event = event };
	struct btf_func f;

	(void)d;
	if (ap->part_cnt < 2 || ap->part_cnt > 3)
		return 0;
	if (!target_types(sink->target)) {
		probe_kernel_lacks(sink, "This kernel has no BTF (CONFIG_DEBUG_INFO_BTF is not set)");
		sink->cannot_tell = true;
		return 0;
	}
	if (!has_wildcard(event) && (!module || !has_wildcard(module))) {
		if (typed_find_raw_tp(sink->target, module, event, &f))
			add(sink, &(struct found){ f.module ? f.module : "vmlinux", arena_strdup(sink->arena, event), f.id },
			    false);
		else if (sink->c)
			suggest(sink, module, event);
		return 0;
	}
	btf_each(target_types(sink->target), BTF_KIND_TYPEDEF, add_event, &s);
	if (s.found.cnt)
		qsort(s.found.at, s.found.cnt, sizeof(*s.found.at), by_name);
	vec_for(it, &s.found)
		if (it == s.found.at || by_name(it, it - 1))
			add(sink, it, true);
	if (module && !s.module_seen && !has_wildcard(module))
		sink->why = arena_printf(sink->arena, "Module %s is not loaded, or has no tracepoints", module);
	return 0;
}

/* ---- units ---- */

static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	/* Before 6.9 there is no cookie to tell sites apart. */
	return uses->args || !target_has(c, KF_RAW_TP_COOKIE) ? (uintptr_t)s : 0;
}

static void plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	u->variant = uses->args ? WAY_TYPED : WAY_RAW;
}

static const struct type *args(struct compile *c, const struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];
	struct btf_func f;

	if (typed_find_raw_tp(c->target, s->target, s->func, &f))
		return typed_args(c->arena, &f);
	diag_error(c->diag, s->span, E_NO_ARGS, "The arguments of %s are unknown", s->name);
	return NULL;
}

static void lower_entry(struct lower *l)
{
	l->b.f->is_result_free = true; /* the kernel ignores the result of the program */
}

static struct val lower_argn(struct lower *l, u32 n)
{
	/* In a typed program the verifier may know the word as a pointer, or not allow it to be loaded. */
	if (l->unit->variant == WAY_TYPED)
		return val_reg(lower_load(l, (struct mem){ lower_ctx(l), 8 * n, AS_KERNEL }, &type_u64));
	return val_reg(ir_load(&l->b, lower_ctx(l), 8 * n, 8));
}

static struct val lower_arg_member(struct lower *l, const struct member *m, u32 off)
{
	return typed_word(l, m->type, off, 0);
}

static bool check_argn(struct check *k, struct expr *e, u32 n)
{
	/* An argument that one program reads for all sites must exist at each. */
	for (u32 i = 0; i < k->unit->site_cnt; i++) {
		const struct site *s = &k->c->sites.at[k->unit->site_first + i];
		struct btf_func f;

		if (!typed_find_raw_tp(k->c->target, s->target, s->func, &f) || n < f.param_sz / 8)
			continue;
		check_fail(k, e, E_NO_ARGS, "arg%u does not exist: %s has %u argument%s", n, s->name, f.param_sz / 8,
			   f.param_sz == 8 ? "" : "s");
		diag_hint(k->c->diag, "`sonde -lv` shows them");
		break;
	}
	return true;
}

/* The program and bpf_trace_runN. */
static u32 stack_skip(const struct unit *u)
{
	(void)u;
	return 2;
}

static void attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	const struct site *s = &c->sites.at[u->site_first];

	attr->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	if (u->variant == WAY_RAW)
		return;
	attr->type = BPF_PROG_TYPE_TRACING;
	attr->attach_type = BPF_TRACE_RAW_TP;
	attr->attach_btf_id = s->num;
	attr->module = str_eq(s->target, "vmlinux") ? NULL : s->target;
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		int fd = kern_raw_tp_open(u->variant == WAY_TYPED ? NULL : s->func, prog_fd,
					  u->site_cnt > 1 ? u->site_first + i : 0);

		if (fd < 0) {
			/* Declared in the kernel's types, but not compiled in. */
			if (fd == -ENOENT && s->is_wild) {
				done++;
				continue;
			}
			probe_attach_failed(ctx, s, fd, "cannot attach to the raw tracepoint", NULL);
			continue;
		}
		vec_push(&ctx->fds, fd);
		done++;
	}
	return done;
}

static void list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	struct btf_func f;
	char *module;
	const char *event = typed_split(site_name, &module);

	if (typed_find_raw_tp(t, module, event, &f))
		typed_list_params(&f, false, out);
	free(module);
}

const struct provider provider_rawtracepoint = {
	.name = "rawtracepoint",
	.alias = "rt",
	.spec = "rawtracepoint[:MODULE]:EVENT",
	.doc = "Runs at a tracepoint; args has the arguments that the kernel passes there, with their types, and argN has the same as numbers.",
	.example = "rawtracepoint:sched_switch { @[args.next.comm] = count(); }",
	.flags = PROV_ARGS | PROV_ARGN | PROV_PID_FILTER | PROV_SIGNAL | PROV_BTF_NULL | PROV_TYPED,
	.as = AS_KERNEL,
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
	.args = args,
	.check_argn = check_argn,
	.lower_entry = lower_entry,
	.lower_argn = lower_argn,
	.lower_arg_member = lower_arg_member,
	.stack_skip = stack_skip,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};
