/* SPDX-License-Identifier: GPL-2.0-only */
/* iter: runs once for each object of a kind that the kernel can list: tasks, their files, sockets, maps, ….
 *
 * The kernel runs the program while the iterator's file is read, and the reader gets what the program writes to that file (a
 * seq_file). The output of a script goes through the ring as usual; each run writes one byte to the file. So the session can
 * follow the progress, and reads only as much as the ring has room for: the ring never overflows, however many objects there are.
 *
 * Pinned (iter:NAME:PATH), the iterator outlives us. Then printf() writes to the file, by bpf_seq_printf(), and `cat PATH` shows
 * it.
 *
 * At the end the kernel runs the program once more, with a null pointer for the object; the script does not see that run.
 *
 * site.func is the kind, site.num the number of the function bpf_iter_KIND in the kernel's BTF, site.target the path of the pin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "image/image.h"
#include "kern/sys.h"
#include "probe/typed.h"

#define PREFIX "bpf_iter_"
#define BPFFS "/sys/fs/bpf"

static bool parse(struct diag *d, const struct attach_point *ap)
{
	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	for (u32 i = 1; i < ap->part_cnt; i++) {
		if (!*ap->parts[i]) {
			diag_error(d, ap->span, E_ATTACH_POINT, "iter probe: the %s is missing",
				   i == 1 ? "kind of object" : "path");
			diag_hint(d, "write it as iter:KIND[:PATH]");
			return false;
		}
		if (has_wildcard(ap->parts[i])) {
			diag_error(d, ap->span, E_ATTACH_POINT, "wildcards are not allowed for iter probe type");
			diag_hint(d, "`sonde -l 'iter:*'` shows the kinds");
			return false;
		}
	}
	return true;
}

/* "task" of a function bpf_iter_task that has its struct bpf_iter__task. */
static const char *kind_of(struct type_source *src, const char *func)
{
	const char *kind;
	char *name;
	bool ok;

	if (!str_starts(func, PREFIX))
		return NULL;
	kind = func + strlen(PREFIX);
	name = xasprintf(PREFIX "_%s", kind);
	ok = src->find(src, "struct", name);
	free(name);
	return ok ? kind : NULL;
}

struct kinds {
	struct type_source *src;
	struct arena *arena;
	const char *pattern;
	vec(const char *) at;
};

static bool add_kind(void *arg, const char *module, const char *name, u32 id)
{
	struct kinds *k = arg;
	const char *kind = kind_of(k->src, name);

	(void)module, (void)id;
	if (kind && glob_match(k->pattern, kind))
		avec_push(k->arena, &k->at, arena_strdup(k->arena, kind));
	return true;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	struct kinds all = { .src = target_types(sink->target),
			     .arena = sink->arena,
			     .pattern = ap->part_cnt > 1 ? ap->parts[1] : "*" };
	const char *near, *kind;
	struct btf_func f;
	struct site *s;

	(void)d;
	if (ap->part_cnt > 3)
		return 0;
	if (!all.src) {
		probe_kernel_lacks(sink, "This kernel has no BTF (CONFIG_DEBUG_INFO_BTF is not set)");
		sink->cannot_tell = true;
		return 0;
	}
	if (!sink->c) {
		btf_each(all.src, BTF_KIND_FUNC, add_kind, &all);
		vec_for(name, &all.at)
			sink->add(sink, arena_printf(sink->arena, "iter:%s", *name));
		return 0;
	}
	kind = arena_printf(sink->arena, PREFIX "%s", ap->parts[1]);
	if (!btf_find_func(all.src, "vmlinux", kind, &f) || !kind_of(all.src, kind)) {
		all.pattern = "*";
		btf_each(all.src, BTF_KIND_FUNC, add_kind, &all);
		near = nearest_name(ap->parts[1], all.at.at, all.at.cnt);
		sink->hint = near ? arena_printf(sink->arena, "did you mean iter:%s?", near) :
				    "`sonde -l 'iter:*'` shows the kinds";
		return 0;
	}
	s = sink->add(sink,
		      arena_printf(sink->arena, "iter:%s%s%s", ap->parts[1], ap->part_cnt > 2 ? ":" : "",
				   ap->part_cnt > 2 ? ap->parts[2] : ""));
	if (s) {
		s->func = ap->parts[1];
		s->num = f.id;
		if (ap->part_cnt > 2)
			s->target = *ap->parts[2] == '/' ? ap->parts[2] : arena_printf(sink->arena, BPFFS "/%s", ap->parts[2]);
	}
	return 0;
}

static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	(void)c, (void)uses;
	return (uintptr_t)s;
}

static const struct type *ctx_type(struct compile *c, const struct unit *u)
{
	struct type_source *src = target_types(c->target);

	return src ? src->find(src, "struct", arena_printf(c->arena, PREFIX "_%s", c->sites.at[u->site_first].func)) : NULL;
}

/* ---- code ---- */

static void plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	(void)uses;
	u->writes_seq = c->sites.at[u->site_first].target;
}

static vreg seq_file(struct lower *l)
{
	/* ctx->meta->seq: both are the first of their struct */
	return ir_load(&l->b, ir_load(&l->b, lower_ctx(l), 0, 8), 0, 8);
}

static void lower_entry(struct lower *l)
{
	const struct site *s = &l->c->sites.at[l->unit->site_first];
	struct btf_func f;
	u32 mark;

	if (typed_func_at(l->c->target, "vmlinux", s->num, &f) && f.param_cnt > 1 && type_is_struct_ptr(f.params[1].type))
		probe_leave_if(l, C_EQ, ir_load(&l->b, lower_ctx(l), f.params[1].off, 8), opnd_imm(0));
	if (s->target)
		return;
	mark = lower_const(l, ".", 1, 1);
	ir_call_of(&l->b, HELPER_seq_write, opnd_reg(seq_file(l)), opnd_reg(ir_mapval(&l->b, MAP_IDX_CONST, mark)), opnd_imm(1));
}

static struct val lower_ctx_member(struct lower *l, const struct member *m, u32 off)
{
	return typed_word(l, m->type, off, 0);
}

/* ---- attaching ---- */

static void attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	attr->type = BPF_PROG_TYPE_TRACING;
	attr->attach_type = BPF_TRACE_ITER;
	attr->attach_btf_id = c->sites.at[u->site_first].num;
}

static void make_parents(const char *path)
{
	char *copy = xstrdup(path);

	for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(copy, 0700); /* if not, pinning says why */
		*p = '/';
	}
	free(copy);
}

static int pin(struct attach_ctx *ctx, const struct site *s, int link_fd)
{
	struct bpf_obj_attr a = { .pathname = (u64)(uintptr_t)s->target, .bpf_fd = link_fd };
	int err;

	make_parents(s->target);
	err = kern_bpf(BPF_OBJ_PIN, &a, sizeof(a));
	if (err < 0) {
		probe_attach_failed(ctx, s, err, arena_printf(ctx->diag->arena, "cannot pin it to %s", s->target),
				    err == -EPERM || err == -EINVAL ?
					    "only a BPF file system can hold it (mount -t bpf bpf " BPFFS ")" :
					    NULL);
		return err;
	}
	fprintf(stdout, "Program pinned to %s\n", s->target);
	return 0;
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	const struct site *s = unit_site(ctx, u, 0);
	union bpf_iter_target target = {};
	struct bpf_link_create_attr a = { .prog_fd = prog_fd, .attach_type = BPF_TRACE_ITER };
	int link, fd;

	if (ctx->image->home.filter_pid && str_starts(s->func, "task")) {
		target.task.pid = ctx->image->home.filter_pid;
		a.iter.info = (u64)(uintptr_t)&target;
		a.iter.info_len = sizeof(target);
	}
	link = kern_link_create(&a);
	if (link < 0) {
		probe_attach_failed(ctx, s, link, "cannot create the iterator",
				    link == -EINVAL || link == -EBADF ?
					    "this kind of iterator needs a map to iterate over, which a script cannot name" :
					    NULL);
		return 0;
	}
	vec_push(&ctx->fds, link);
	if (s->target)
		return pin(ctx, s, link) ? 0 : 1;
	fd = kern_iter_create(link);
	if (fd < 0) {
		probe_attach_failed(ctx, s, fd, "cannot open the iterator", NULL);
		return 0;
	}
	vec_push(&ctx->iters, fd);
	return 1;
}

static void list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	char *func = xasprintf(PREFIX "%s", strchr(site_name, ':') + 1);
	struct btf_func f;

	if (typed_find_func(t, "vmlinux", func, &f))
		typed_list_params(&f, false, out);
	free(func);
}

const struct provider provider_iter = {
	.name = "iter",
	.alias = "it",
	.spec = "iter:KIND[:PATH]",
	.doc = "Runs once for each object of a kind (task, task_file, bpf_map, …), then ends; ctx has the object. With a path, the iterator is pinned there.",
	.example = "iter:task { printf(\"%d %s\\n\", ctx.task.pid, ctx.task.comm); }",
	.flags = PROV_CTX | PROV_BTF_NULL | PROV_ITER | PROV_REENTRANT | PROV_TYPED,
	.features = KF_BIT(BTF),
	.as = AS_KERNEL,
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = plan,
	.ctx_type = ctx_type,
	.lower_seq = seq_file,
	.lower_entry = lower_entry,
	.lower_ctx_member = lower_ctx_member,
	.attr = attr,
	.attach = attach,
	.list_params = list_params,
};
