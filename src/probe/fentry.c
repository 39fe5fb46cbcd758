/* SPDX-License-Identifier: GPL-2.0-only */
/* fentry and fexit: entry to and return from kernel functions, and BPF programs, by trampolines.
 *
 * The kernel patches the function's first bytes to call a small piece of code that calls our program: cheaper than a kprobe, and
 * arguments and result have their types (BTF). The cost: a program is for one function, so a wildcard makes as many programs as
 * it has matches.
 *
 * site.target is the module ("vmlinux" for the kernel itself) or "bpf", site.func the function, site.num its number in that BTF;
 * of a BPF program site.addr is the program's id.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "base/smap.h"
#include "kern/sys.h"
#include "probe/typed.h"

/* site.variant */
enum { TARGET_KERNEL, TARGET_BPF };

/* Arguments in registers; since 6.6 the kernel's trampolines pass some from the stack, too. */
enum { REG_WORDS = 6, ALL_WORDS = 12 };

#define NO_BTF "This kernel has no BTF (CONFIG_DEBUG_INFO_BTF is not set)"

extern const struct provider provider_fentry, provider_fexit;

static bool is_bpf(const struct attach_point *ap)
{
	return ap->part_cnt > 2 && str_eq(ap->parts[1], "bpf");
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *func = ap->parts[ap->part_cnt - 1];

	if (!probe_part_cnt(d, ap, 1, is_bpf(ap) ? 3 : 2))
		return false;
	for (u32 i = 1; i < ap->part_cnt; i++) {
		if (*ap->parts[i])
			continue;
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: the %s is missing", p->name,
			   ap->parts[i] == func ? "function" : "module");
		diag_hint(d, "write it as %s", p->spec);
		return false;
	}
	if (is_bpf(ap) && ap->part_cnt == 4 && !has_wildcard(ap->parts[2])) {
		u64 id;

		if (!probe_number(ap->parts[2], &id) || id > UINT32_MAX) {
			diag_error(d, ap->span, E_ATTACH_POINT, "%s is not the number of a BPF program", ap->parts[2]);
			diag_hint(d, "`bpftool prog` shows them; * stands for any");
			return false;
		}
	}
	if (strchr(func, '+')) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Offset not allowed");
		diag_hint(d, "%s is for whole functions; kprobe:%s probes an instruction", p->name, func);
		return false;
	}
	return true;
}

/* ---- kernel functions ---- */

static struct site *add(struct site_sink *sink, const struct provider *p, const char *module, const char *func, u32 id)
{
	struct site *s = sink->add(sink, arena_printf(sink->arena, "%s:%s:%s", p->name, module, func));

	if (!s)
		return NULL;
	s->target = arena_strdup(sink->arena, module);
	s->func = arena_strdup(sink->arena, func);
	s->num = id;
	return s;
}

static u32 words_max(const struct site_sink *sink)
{
	return target_feature(sink->target, KF_FENTRY_STACK) ? ALL_WORDS : REG_WORDS;
}

/* Why programs cannot be attached to the function, or NULL. */
static const char *obstacle(const struct site_sink *sink, const struct btf_func *f)
{
	u32 max = words_max(sink);

	if (f->is_variadic)
		return "it takes a variable number of arguments";
	for (u32 i = 0; i < f->param_cnt; i++)
		if (f->params[i].type->size > 16)
			return "it takes a large struct by value";
	if (f->param_sz > 8 * max)
		return arena_printf(sink->arena,
				    "it has more than %u arguments, the most that this kernel can pass to a BPF program", max);
	return NULL;
}

struct found {
	const char *module, *func;
	u32 id;
};

struct search {
	struct site_sink *sink;
	const struct provider *provider;
	const char *func, *module; /* patterns; module NULL: any */
	struct smap traceable;     /* "module:func" of what ftrace lists; empty: unknown */
	bool module_seen;
	vec(struct found) found;
};

static bool add_traceable(void *arg, const char *name, const char *module)
{
	struct search *s = arg;

	if (glob_match(s->func, name)) {
		char *key = arena_printf(s->sink->arena, "%s:%s", module ? module : "vmlinux", name);

		if (!smap_get(&s->traceable, key))
			smap_put(&s->traceable, key, s);
	}
	return true;
}

static bool add_function(void *arg, const char *module, const char *name, u32 id)
{
	struct search *s = arg;

	module = module ? module : "vmlinux";
	if (s->module && !glob_match(s->module, module))
		return true;
	s->module_seen = true;
	if (!glob_match(s->func, name) || probe_is_banned(name))
		return true;
	if (s->traceable.entries.cnt && !smap_get(&s->traceable, arena_printf(s->sink->arena, "%s:%s", module, name)))
		return true;
	avec_push(s->sink->arena, &s->found,
		  (struct found){ arena_strdup(s->sink->arena, module), arena_strdup(s->sink->arena, name), id });
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int r = strcmp(x->module, y->module);

	return r ? r : strcmp(x->func, y->func);
}

static void expand_wildcard(struct search *s)
{
	const struct target *t = s->sink->target;

	t->machine->each_function(add_traceable, s);
	btf_each(target_types(t), BTF_KIND_FUNC, add_function, s);
	if (s->found.cnt)
		qsort(s->found.at, s->found.cnt, sizeof(*s->found.at), by_name);
	for (u32 i = 0; i < s->found.cnt; i++) {
		const struct found *f = &s->found.at[i];
		struct btf_func proto;
		struct site *site;

		if (i && !by_name(f, f - 1))
			continue; /* static functions may share a name: the right one cannot be determined */
		if (!typed_func_at(t, f->module, f->id, &proto) || obstacle(s->sink, &proto))
			continue;
		site = add(s->sink, s->provider, f->module, f->func, f->id);
		if (site)
			site->is_wild = true;
	}
	if (s->module && !s->module_seen && !has_wildcard(s->module))
		s->sink->why = arena_printf(s->sink->arena, "Module %s is not loaded, or has no BTF", s->module);
	smap_release(&s->traceable);
}

struct names {
	struct arena *arena;
	const char *module;
	vec(const char *) at;
	bool module_seen;
};

static bool add_name(void *arg, const char *module, const char *name, u32 id)
{
	struct names *n = arg;

	(void)id;
	if (n->module && !str_eq(n->module, module ? module : "vmlinux"))
		return true;
	n->module_seen = true;
	avec_push(n->arena, &n->at, arena_strdup(n->arena, name));
	return true;
}

static bool has_symbol(void *arg, const struct ksym *sym, char type)
{
	const char **name = arg;

	if (!ksym_is_text(type) || !str_eq(sym->name, *name))
		return true;
	*name = NULL;
	return false;
}

static void suggest(struct site_sink *sink, const struct provider *p, const char *module, const char *func)
{
	struct names all = { .arena = sink->arena, .module = module };
	const char *near, *wanted = func;

	btf_each(target_types(sink->target), BTF_KIND_FUNC, add_name, &all);
	if (module && !all.module_seen) {
		sink->why = arena_printf(sink->arena, "Module %s is not loaded, or has no BTF", module);
		return;
	}
	sink->target->machine->each_symbol(has_symbol, &wanted);
	if (!wanted) {
		sink->why = "The function exists, but the kernel has no type information for it";
		sink->hint = arena_printf(sink->arena, "probe it by %s:%s", p == &provider_fexit ? "kretprobe" : "kprobe", func);
		return;
	}
	near = nearest_name(func, all.at.at, all.at.cnt);
	if (near)
		sink->hint = arena_printf(sink->arena, "did you mean %s:%s%s%s?", p->name, module ? module : "",
					  module ? ":" : "", near);
}

static void expand_one(struct site_sink *sink, const struct provider *p, const char *module, const char *func)
{
	struct btf_func f;
	const char *why;

	if (!typed_find_func(sink->target, module, func, &f)) {
		if (sink->c)
			suggest(sink, p, module, func);
		return;
	}
	why = obstacle(sink, &f);
	if (why) {
		sink->why = arena_printf(sink->arena, "Programs cannot be attached to it: %s", why);
		sink->hint = arena_printf(sink->arena, "probe it by %s:%s", p == &provider_fexit ? "kretprobe" : "kprobe", func);
		return;
	}
	add(sink, p, f.module ? f.module : "vmlinux", func, f.id);
}

/* ---- BPF programs ---- */

struct bpf_search {
	struct site_sink *sink;
	const struct provider *provider;
	const char *func; /* pattern */
	u32 prog;
};

static void add_bpf_function(void *arg, const char *name, u32 id)
{
	struct bpf_search *s = arg;
	struct site *site;

	if (!glob_match(s->func, name))
		return;
	site = s->sink->add(s->sink, arena_printf(s->sink->arena, "%s:bpf:%u:%s", s->provider->name, s->prog, name));
	if (!site)
		return;
	site->target = "bpf";
	site->func = arena_strdup(s->sink->arena, name);
	site->num = id;
	site->addr = s->prog;
	site->variant = TARGET_BPF;
	site->is_wild = has_wildcard(s->func);
}

static int expand_bpf(struct site_sink *sink, const struct provider *p, const struct attach_point *ap)
{
	struct bpf_search s = { .sink = sink, .provider = p, .func = ap->parts[ap->part_cnt - 1] };
	const char *id_pattern = ap->part_cnt > 3 ? ap->parts[2] : "*";
	const struct machine *m = sink->target->machine;
	u64 only = 0;
	u32 id = 0;
	int err;

	if (!has_wildcard(id_pattern))
		probe_number(id_pattern, &only);
	while (!(err = m->next_prog(id, &id))) {
		char text[16];

		snprintf(text, sizeof(text), "%u", id);
		if (only ? only != id : !glob_match(id_pattern, text))
			continue;
		s.prog = id;
		m->each_prog_func(id, add_bpf_function, &s);
	}
	if (!sink->found && err == -ENOENT)
		sink->hint = "`bpftool prog` lists the loaded programs; only those with BTF can be probed";
	return err == -ENOENT ? 0 : err;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *module = ap->part_cnt > 2 ? ap->parts[1] : NULL, *func = ap->parts[ap->part_cnt - 1];

	(void)d;
	if (ap->part_cnt < 2 || ap->part_cnt > (is_bpf(ap) ? 4u : 3u))
		return 0;
	if (is_bpf(ap))
		return expand_bpf(sink, p, ap);
	if (!target_types(sink->target)) {
		probe_kernel_lacks(sink, NO_BTF);
		sink->cannot_tell = true;
		return 0;
	}
	if (has_wildcard(func) || (module && has_wildcard(module))) {
		struct search s = { .sink = sink, .provider = p, .func = func, .module = module };

		expand_wildcard(&s);
		return 0;
	}
	expand_one(sink, p, module, func);
	return 0;
}

/* ---- units ---- */

/* A program is bound to its function: none is shared. */
static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	(void)c, (void)uses;
	return (uintptr_t)s;
}

static bool proto_of(struct compile *c, const struct unit *u, struct btf_func *f)
{
	const struct site *s = &c->sites.at[u->site_first];

	return s->variant == TARGET_KERNEL && typed_func_at(c->target, s->target, s->num, f);
}

static const struct type *args(struct compile *c, const struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];
	struct btf_func f;

	if (proto_of(c, u, &f))
		return typed_args(c->arena, &f);
	diag_error(c->diag, s->span, E_NO_ARGS, "The arguments of %s are unknown", s->name);
	if (s->variant == TARGET_BPF)
		diag_hint(c->diag, "probes on BPF programs have no args");
	return NULL;
}

static const struct type *retval(struct compile *c, const struct unit *u)
{
	struct btf_func f;

	if (!proto_of(c, u, &f) || f.ret->kind == T_VOID || !type_is_scalar(f.ret))
		return NULL;
	return f.ret;
}

static struct val lower_arg_member(struct lower *l, const struct member *m, u32 off)
{
	return typed_word(l, m->type, off, HELPER_get_func_arg);
}

static struct val lower_retval(struct lower *l)
{
	struct btf_func f = {};

	BUG_ON(!proto_of(l->c, l->unit, &f));
	return typed_word(l, f.ret, f.param_sz, HELPER_get_func_ret);
}

/* The program and the trampoline. (Kernels since 7.0 jump there: then the function itself is not on the stack.) */
static u32 stack_skip(const struct unit *u)
{
	(void)u;
	return 2;
}

static void attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	const struct site *s = &c->sites.at[u->site_first];

	attr->type = BPF_PROG_TYPE_TRACING;
	attr->attach_type = u->provider == &provider_fexit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
	attr->attach_btf_id = s->num;
	if (s->variant == TARGET_BPF) {
		attr->prog_id = (u32)s->addr;
		c->is_of_boot = true;
	} else if (!str_eq(s->target, "vmlinux")) {
		attr->module = s->target;
	}
}

static const char *hint_for(int err)
{
	switch (-err) {
	case EBUSY:
		return "a live patch or another tracer has changed this function";
	case E2BIG:
		return "38 programs are already attached to this function, which is the kernel's limit";
	case EINVAL:
	case ENOENT:
	case ENOTSUPP_:
		return "the kernel cannot trace this function; a kprobe may be possible";
	default:
		return NULL;
	}
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	const struct site *s = unit_site(ctx, u, 0);
	int fd = kern_raw_tp_open(NULL, prog_fd, 0);

	if (fd >= 0) {
		vec_push(&ctx->fds, fd);
		return 1;
	}
	if (s->is_wild && fd != -EPERM && fd != -EMFILE) { /* not one of those that can be traced */
		ctx->left_out.sites++;
		return 0;
	}
	if (fd == -ENOTSUPP_) /* for which there is no text */
		probe_attach_failed(ctx, s, 0, "the kernel cannot trace this function", hint_for(fd));
	else
		probe_attach_failed(ctx, s, fd, "cannot attach to the function", hint_for(fd));
	return 0;
}

static void list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	bool is_exit = str_starts(site_name, "fexit:");
	struct btf_func f;
	char *module;
	const char *func = typed_split(site_name, &module);

	if (!str_starts(module, "bpf:") && typed_find_func(t, module, func, &f))
		typed_list_params(&f, is_exit, out);
	free(module);
}

const struct provider provider_fentry = {
	.name = "fentry",
	.alias = "f",
	.old_name = "kfunc",
	.spec = "fentry[:MODULE]:FUNCTION or fentry:bpf[:ID]:PROGRAM",
	.doc = "Runs when a kernel function or BPF program is called; args has the typed arguments.",
	.example = "fentry:vfs_read { @[comm] = sum(args.count); }",
	.flags = PROV_ARGS | PROV_FUNC | PROV_PID_FILTER | PROV_SIGNAL | PROV_REVERSE | PROV_TYPED,
	.features = KF_BIT(FENTRY) | KF_BIT(BTF),
	.as = AS_KERNEL,
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.args = args,
	.lower_arg_member = lower_arg_member,
	.stack_skip = stack_skip,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};

const struct provider provider_fexit = {
	.name = "fexit",
	.alias = "fr",
	.old_name = "kretfunc",
	.spec = "fexit[:MODULE]:FUNCTION or fexit:bpf[:ID]:PROGRAM",
	.doc = "Runs when a kernel function or BPF program returns; args has the typed arguments, retval the typed result.",
	.example = "fexit:vfs_read /retval > 0/ { @[comm] = sum(retval); }",
	.flags = PROV_ARGS | PROV_RETVAL | PROV_FUNC | PROV_PID_FILTER | PROV_SIGNAL | PROV_REVERSE | PROV_LIST_EXPLICIT |
		PROV_TYPED,
	.features = KF_BIT(FENTRY) | KF_BIT(BTF),
	.as = AS_KERNEL,
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.args = args,
	.retval = retval,
	.lower_arg_member = lower_arg_member,
	.lower_retval = lower_retval,
	.stack_skip = stack_skip,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};
