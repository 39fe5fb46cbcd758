/* SPDX-License-Identifier: GPL-2.0-only */
/* usdt: static probes that programs and libraries declare (sys/sdt.h and its like); probe/usdt_note.c reads the declarations.
 *
 * A probe may be at several places in the code, each with its arguments in other locations. The places are sites. Sites whose
 * arguments have the same locations, as far as the script uses them, share a program. The locations are then known at compile
 * time: a load from the saved registers, or an address to read from. Nothing is looked up when the probe fires.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/glob.h"
#include "lang/check.h"
#include "arch/abi.h"
#include "probe/usdt_note.h"
#include "probe/user.h"

extern const struct provider provider_usdt;

/* ---- parsing ---- */

static bool parse(struct diag *d, const struct attach_point *ap)
{
	if (!probe_part_cnt(d, ap, 1, 3))
		return false;
	if (!*ap->parts[ap->part_cnt - 1]) {
		diag_error(d, ap->span, E_ATTACH_POINT, "usdt probe: the name is missing");
		diag_hint(d, "write it as %s", provider_usdt.spec);
		return false;
	}
	return true;
}

/* ---- which probes ---- */

struct wanted {
	const char *provider, *name; /* patterns */
};

/* The hint when a file has probes, but not this one. */
static void suggest(struct site_sink *sink, const struct user_file *f, const usdt_notes *notes, const struct wanted *w)
{
	const char **names = arena_alloc(sink->arena, (notes->cnt + 1) * sizeof(*names));
	const char *near, *other = NULL;
	u32 cnt = 0;

	vec_for(n, notes) {
		if (glob_match(w->provider, n->provider))
			names[cnt++] = n->name;
		if (glob_match(w->name, n->name))
			other = n->provider;
	}
	near = nearest_name(w->name, names, cnt);
	if (other) {
		sink->hint = arena_printf(sink->arena, "did you mean usdt:%s:%s:%s?", f->shown, other, w->name);
	} else if (near) {
		vec_for(n, notes)
			if (n->name == near)
				sink->hint = arena_printf(sink->arena, "did you mean usdt:%s:%s:%s?", f->shown, n->provider,
							  near);
	} else {
		sink->hint = arena_printf(sink->arena, "`sonde -l 'usdt:%s:*'` lists the probes of this file", f->shown);
	}
}

/* The same probe at a further place is one probe for the user. */
static bool is_seen(const usdt_notes *notes, const struct usdt_note *n)
{
	for (const struct usdt_note *p = notes->at; p < n; p++)
		if (str_eq(p->name, n->name) && str_eq(p->provider, n->provider))
			return true;
	return false;
}

static void expand_file(struct site_sink *sink, const user_files *files, const struct user_file *f, const struct wanted *w)
{
	u32 before = sink->found;
	usdt_notes notes = {};
	int err = usdt_read(sink->arena, f->path, &notes);

	if (err) {
		user_files_failed(sink, files, f, err);
		return;
	}
	vec_for(n, &notes) {
		struct site *s;

		if (!glob_match(w->provider, n->provider) || !glob_match(w->name, n->name))
			continue;
		s = sink->add(sink, arena_printf(sink->arena, "usdt:%s:%s:%s", f->shown, n->provider, n->name));
		if (!s)
			continue;
		s->target = f->whole;
		s->addr = n->file_off;
		s->num = n->sem_off;
		s->data = n;
		s->is_more = is_seen(&notes, n);
	}
	if (sink->found > before || files->cnt != 1)
		return;
	if (!notes.cnt)
		sink->why = arena_printf(sink->arena, "%s has no USDT probes", f->shown);
	else
		suggest(sink, f, &notes, w);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	/* usdt:TARGET:PROVIDER:NAME; the provider may be left out, and the target with -p. */
	u32 cnt = ap->part_cnt - 1;
	const char *target = cnt > 1 ? ap->parts[1] : "";
	struct wanted w = { cnt > 2 && *ap->parts[2] ? ap->parts[2] : "*", ap->parts[cnt] };
	user_files files = {};

	if (sink->c && !target_has(sink->c, KF_UPROBE)) {
		probe_kernel_lacks(sink, "This kernel has no uprobes (CONFIG_UPROBE_EVENTS is not set)");
		return 0;
	}
	if (cnt < 1 || cnt > 3)
		return 0;
	if (*target) {
		user_files_find(sink, &files, target, d);
	} else if (sink->target->filter_pid) {
		user_files_mapped(sink, &files);
	} else if (d) {
		diag_error(d, ap->span, E_ATTACH_POINT, "usdt probe: the target is missing");
		diag_hint(d, "write it as %s; the target can be left out with -p", provider_usdt.spec);
	}
	vec_for(f, &files)
		expand_file(sink, &files, f, &w);
	if (!sink->found && files.cnt > 1 && sink->target->filter_pid)
		sink->why = arena_printf(sink->arena, "Process %u has no such probe in its program and libraries",
					 sink->target->filter_pid);
	else if (!sink->found && files.cnt > 1)
		sink->why = arena_printf(sink->arena, "None of %u files has a match", files.cnt);
	vec_free(&files);
	return 0;
}

/* ---- arguments ---- */

static const struct usdt_arg *arg_of(const struct site *s, u32 n)
{
	const struct usdt_note *note = s->data;

	return note && n < note->arg_cnt ? &note->args[n] : NULL;
}

static u64 hash(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static u64 share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	u64 h = 0;

	(void)c;
	for (u32 n = 0; n < BODY_ARGN_MAX; n++) {
		const struct usdt_arg *a = uses->argn >> n & 1 ? arg_of(s, n) : NULL;

		if (!(uses->argn >> n & 1))
			continue;
		h = hash(h, n);
		if (!a) {
			h = hash(h, 1);
			continue;
		}
		/* An unavailable argument, and the reason, is reported for each place. */
		if (a->kind == USDT_NONE)
			h = hash(h, (u64)(uintptr_t)a->text);
		h = hash(h,
			 a->kind | (u64)a->size << 8 | (u64)a->is_signed << 16 | (u64)a->from_ip << 17 | (u64)a->shift << 24 |
				 (u64)a->scale << 32);
		h = hash(h, a->base | (u64)a->index << 16);
		h = hash(h, (u64)a->disp);
	}
	return h;
}

static bool check_argn(struct check *k, struct expr *e, u32 n)
{
	const struct site *s = &k->c->sites.at[k->unit->site_first];
	const struct usdt_note *note = s->data;
	const struct usdt_arg *a = arg_of(s, n);
	bool is_wild = has_wildcard(k->unit->probe->aps[s->ap_index].text); /* one of many must not prevent the others */

	e->type = &type_s64;
	if (!note) /* --check: not looked up */
		return true;
	if (n >= BODY_ARGN_MAX) {
		check_fail(k, e, E_NO_ARGS, "arg%u does not exist: a probe has %u arguments at most", n, BODY_ARGN_MAX);
	} else if (a && a->kind != USDT_NONE) {
		return true;
	} else if (is_wild && a) {
		diag_warn(k->c->diag, e->span, W_MISSING_PROBE, "arg%u of %s (%s) cannot be read: %s; it is 0 there", n, s->name,
			  a->text, a->why);
	} else if (is_wild) {
		diag_warn(k->c->diag, e->span, W_MISSING_PROBE, "%s%s no arg%u: it is 0 there", s->name,
			  k->unit->site_cnt == 1 ? " has" :
						   arena_printf(check_arena(k), " and %u more have", k->unit->site_cnt - 1),
			  n);
	} else if (a) {
		check_fail(k, e, E_NO_ARGS, "arg%u of %s (%s) cannot be read: %s", n, s->name, a->text, a->why);
	} else {
		check_fail(k, e, E_NO_ARGS, "arg%u does not exist: %s has %u argument%s", n, s->name, note->arg_cnt,
			   note->arg_cnt == 1 ? "" : "s");
	}
	return true;
}

/* The address that a memory operand means. */
static struct mem operand(struct lower *l, const struct usdt_arg *a)
{
	vreg ctx = lower_ctx(l), sum = 0;

	if (a->from_ip)
		sum = ir_load(&l->b, ctx, abi.ip_off, 8);
	if (a->base != USDT_NO_REG) {
		vreg base = ir_load(&l->b, ctx, a->base, 8);

		sum = sum ? ir_alu(&l->b, IR_ADD, sum, opnd_reg(base)) : base;
	}
	if (a->index != USDT_NO_REG) {
		vreg index = ir_load(&l->b, ctx, a->index, 8);

		if (a->scale > 1)
			index = ir_alu(&l->b, IR_SHL, index, opnd_imm(__builtin_ctz(a->scale)));
		sum = sum ? ir_alu(&l->b, IR_ADD, sum, opnd_reg(index)) : index;
	}
	/* The offset from a base in an instruction is an s32. */
	if (!sum)
		return (struct mem){ .base = ir_imm(&l->b, a->disp), .as = AS_USER };
	if (a->disp != (s32)a->disp)
		return (struct mem){ .base = ir_alu(&l->b, IR_ADD, sum, opnd_reg(ir_imm(&l->b, a->disp))), .as = AS_USER };
	return (struct mem){ .base = sum, .off = a->disp, .as = AS_USER };
}

static struct val lower_argn(struct lower *l, u32 n)
{
	const struct usdt_arg *a = arg_of(&l->c->sites.at[l->unit->site_first], n);
	vreg r;

	if (!a)
		return val_imm(0);
	switch (a->kind) {
	case USDT_CONST:
		return val_imm(a->disp);
	case USDT_ADDR:
		return val_reg(lower_addr(l, operand(l, a)));
	case USDT_MEM:
		return val_reg(lower_load(l, operand(l, a), type_int(a->size, a->is_signed)));
	case USDT_REG:
		r = ir_load(&l->b, lower_ctx(l), a->base, 8);
		if (a->shift)
			r = ir_alu(&l->b, IR_SHR, r, opnd_imm(a->shift));
		if (a->size < 8)
			r = ir_ext(&l->b, a->is_signed ? IR_SEXT : IR_ZEXT, r, a->size);
		return val_reg(r);
	case USDT_NONE:
		return val_imm(0);
	}
	BUG("operand of kind %d", a->kind);
}

/* ---- -lv ---- */

static void list_params(const struct target *t, const char *site_name, struct sbuf *out)
{
	/* usdt:PATH:PROVIDER:NAME, and a path may hold colons. */
	const char *name = strrchr(site_name, ':'), *provider = name;
	usdt_notes notes = {};
	struct arena arena;

	(void)t;
	while (provider > site_name && provider[-1] != ':')
		provider--;
	arena_init(&arena);
	usdt_read(&arena, arena_strndup(&arena, site_name + strlen("usdt:"), provider - 1 - site_name - strlen("usdt:")), &notes);
	vec_for(n, &notes) {
		if (!str_eq(n->name, name + 1) || strlen(n->provider) != (size_t)(name - provider) ||
		    strncmp(n->provider, provider, name - provider) != 0)
			continue;
		for (u32 i = 0; i < n->arg_cnt; i++) {
			const struct usdt_arg *a = &n->args[i];

			sbuf_printf(out, "    %s%u arg%u\n",
				    a->is_float          ? "float" :
					    a->is_signed ? "int" :
							   "uint",
				    a->size * 8, i);
		}
		break;
	}
	arena_release(&arena);
}

const struct provider provider_usdt = {
	.name = "usdt",
	.alias = "U",
	.spec = "usdt:TARGET[:PROVIDER]:NAME",
	.doc = "Runs when a program or library reaches a static probe in its source.",
	.example = "usdt:/usr/bin/python3:python:gc__start { printf(\"%d\\n\", arg0); }",
	.flags = PROV_ARGN | PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_USER_FILE |
		PROV_LIST_EXPLICIT | PROV_AT_SITE,
	.needs = NEED_BIT(USER_FILES) | NEED_BIT(UPROBE_EVENTS),
	.features = KF_BIT(UPROBE),
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = share_key,
	.plan = user_plan,
	.check_argn = check_argn,
	.lower_argn = lower_argn,
	.lower_reg = probe_regs_reg,
	.lower_site = user_lower_site,
	.attr = user_attr,
	.attach = user_attach,
	.list_params = list_params,
};
