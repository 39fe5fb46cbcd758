/* uprobe and uretprobe: functions and instructions of programs and libraries.
 *
 * Names and addresses are turned into file offsets here, at expansion (probe/user.h); site.func is the function.
 *
 * One function often has several names (read, __read, __libc_read). A wildcard that matches more than one of them still stands
 * for one place: it gets one site, or each call would be counted several times.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/glob.h"
#include "probe/user.h"
#include "sym/elf.h"

extern const struct provider provider_uprobe, provider_uretprobe;

/* ---- parsing ---- */

static bool is_address(const char *s)
{
	u64 v;

	return *s >= '0' && *s <= '9' && probe_number(s, &v);
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *plus, *func = ap->parts[ap->part_cnt - 1];
	u64 off;

	for (u32 i = 1; i + 1 < ap->part_cnt; i++) {
		if (str_eq(ap->parts[i], "cpp")) {
			diag_error(d, ap->span, E_UNSUPPORTED, "probing by C++ name (cpp) is not supported");
			diag_hint(d, "use the name as the symbol table has it (_Z…), with wildcards: \"*name*\"");
			return false;
		}
	}
	/* With -p the target may be left out. */
	if (!probe_part_cnt(d, ap, 1, 2))
		return false;
	if (ap->part_cnt == 3 && strchr(ap->parts[1], '@') && is_address(func) && access(ap->parts[1], F_OK)) {
		diag_error(d, ap->span, E_UNSUPPORTED, "probing by source line (FILE:LINE) is not supported");
		return false;
	}
	if (!*func || !*ap->parts[1]) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: the %s is missing", p->name,
			   !*ap->parts[1] ? "target" : "function");
		diag_hint(d, "write it as %s", p->spec);
		return false;
	}
	plus = strrchr(func, '+');
	if (!plus || plus == func)
		return true;
	if (plus[1] >= '0' && plus[1] <= '9' && p == &provider_uretprobe) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Offset not allowed");
		diag_hint(d, "a uretprobe is for the return from the whole function");
		return false;
	}
	if (plus[1] >= '0' && plus[1] <= '9' && !probe_number(plus + 1, &off)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Invalid offset: %s", plus + 1);
		return false;
	}
	return true;
}

/* ---- which places in a file ---- */

struct place {
	const struct sym_func *func;
	u64 file_off;
};

/* The name to keep of those at one place: the one programs call. */
static int by_place(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;
	size_t ua, ub;

	if (pa->file_off != pb->file_off)
		return pa->file_off < pb->file_off ? -1 : 1;
	if (!pa->func->bind != !pb->func->bind) /* STB_LOCAL is 0 */
		return pa->func->bind ? -1 : 1;
	ua = strspn(pa->func->name, "_");
	ub = strspn(pb->func->name, "_");
	if (ua != ub)
		return ua < ub ? -1 : 1;
	return strcmp(pa->func->name, pb->func->name);
}

static int by_func(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->func->name, ((const struct place *)b)->func->name);
}

static void add(struct site_sink *sink, const struct provider *p, const struct user_file *t, const char *func, const char *shown,
		u64 file_off, u64 off)
{
	struct site *s = sink->add(sink, arena_printf(sink->arena, "%s:%s:%s", p->name, t->shown, shown));

	if (!s)
		return;
	s->target = t->path;
	s->func = func ? arena_strdup(sink->arena, func) : NULL;
	s->addr = file_off;
	s->off = off;
	s->variant = p == &provider_uretprobe ? UP_RETURN : 0;
}

static void expand_wildcard(struct site_sink *sink, const struct provider *p, const struct user_file *t, struct sym_elf *elf,
			    const char *pattern)
{
	vec(struct place) places = {};
	const struct sym_func *f;
	u32 cnt, n = 0;
	u64 off;

	f = sym_elf_funcs(elf, &cnt);
	for (u32 i = 0; i < cnt; i++) {
		if (!glob_match(pattern, f[i].name) || !sym_elf_offset(elf, f[i].addr, &off))
			continue;
		if (!sink->c)
			add(sink, p, t, f[i].name, f[i].name, off, 0);
		else if (!f[i].is_ifunc)
			vec_push(&places, (struct place){ &f[i], off });
	}
	if (places.cnt) {
		qsort(places.at, places.cnt, sizeof(*places.at), by_place);
		for (u32 i = 0; i < places.cnt; i++)
			if (!i || places.at[i].file_off != places.at[n - 1].file_off)
				places.at[n++] = places.at[i];
		qsort(places.at, n, sizeof(*places.at), by_func);
	}
	for (u32 i = 0; i < n; i++)
		add(sink, p, t, places.at[i].func->name, places.at[i].func->name, places.at[i].file_off, 0);
	vec_free(&places);
}

static void expand_address(struct site_sink *sink, const struct provider *p, const struct user_file *t, struct sym_elf *elf, u64 addr)
{
	const struct sym_func *f = sym_elf_at(elf, addr);
	u64 off;

	if (!sym_elf_offset(elf, addr, &off)) {
		sink->why = arena_printf(sink->arena, "%s has nothing at address 0x%llx", t->shown, (unsigned long long)addr);
		return;
	}
	add(sink, p, t, f ? f->name : NULL, arena_printf(sink->arena, "%llu", (unsigned long long)addr), off, f ? addr - f->addr : 0);
}

static void expand_name(struct site_sink *sink, const struct provider *p, const struct user_file *t, struct sym_elf *elf,
			const char *text, const struct attach_point *ap, struct diag *d)
{
	const struct sym_func *f;
	const char *name, *near;
	u64 off, file_off;

	/* A name may hold a plus itself (operator+1 is none, but who knows what languages come up with). */
	f = sym_elf_find(elf, text);
	if (f) {
		off = 0;
	} else {
		if (!probe_func_offset(sink->arena, text, &name, &off))
			return;
		f = sym_elf_find(elf, name);
		if (!f) {
			near = sym_elf_nearest(elf, name);
			if (near)
				sink->hint = arena_printf(sink->arena, "did you mean %s:%s:%s?", p->name, ap->parts[1], near);
			else
				sink->why = arena_printf(sink->arena, "%s has no function %s", t->shown, name);
			return;
		}
	}
	if (off && off >= f->size && d) {
		if (!sink->allow_unsafe) {
			diag_error(d, ap->span, E_ATTACH_POINT, "Offset outside the function bounds ('%s' size is %llu)", f->name,
				   (unsigned long long)f->size);
			diag_hint(d, "--unsafe allows any offset; one inside of an instruction can crash the traced program");
			return;
		}
		diag_warn(d, ap->span, W_MISSING_PROBE, "Offset outside the function bounds ('%s' size is %llu)", f->name,
			  (unsigned long long)f->size);
	}
	if (f->is_ifunc && d)
		diag_warn(d, ap->span, W_MISSING_PROBE,
			  "%s is chosen from several implementations when the program starts (ifunc): the probe sees only that "
			  "choice being made",
			  f->name);
	if (!sym_elf_offset(elf, f->addr + off, &file_off)) {
		sink->why = arena_printf(sink->arena, "%s is not in the loaded part of %s", f->name, t->shown);
		return;
	}
	add(sink, p, t, f->name, off ? arena_printf(sink->arena, "%s+%llu", f->name, (unsigned long long)off) : f->name, file_off,
	    off);
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *func = ap->parts[ap->part_cnt - 1];
	user_files files = {};

	if (sink->c && !target_has(sink->c, KF_UPROBE)) {
		sink->why = "This kernel has no uprobes (CONFIG_UPROBE_EVENTS is not set)";
		return 0;
	}
	if (ap->part_cnt < 2 || ap->part_cnt > 3)
		return 0;
	if (ap->part_cnt == 3) {
		user_files_find(sink, &files, ap->parts[1], d);
	} else if (sink->filter_pid) {
		user_files_exe(sink, &files);
	} else if (d) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe type requires 2 arguments, found 1", p->name);
		diag_hint(d, "write it as %s; the target can be left out with -p", p->spec);
	}
	vec_for(t, &files) {
		struct sym_elf *elf;
		u64 addr;
		int err = sym_elf_open(t->path, &elf);

		if (err) {
			user_files_failed(sink, &files, t, err);
			continue;
		}
		if (has_wildcard(func))
			expand_wildcard(sink, p, t, elf, func);
		else if (is_address(func) && probe_number(func, &addr))
			expand_address(sink, p, t, elf, addr);
		else
			expand_name(sink, p, t, elf, func, ap, d);
		sym_elf_free(elf);
	}
	vec_free(&files);
	return 0;
}

static bool at_entry(const struct compile *c, const struct unit *u)
{
	for (u32 i = 0; i < u->site_cnt; i++)
		if (!c->sites.at[u->site_first + i].func || c->sites.at[u->site_first + i].off)
			return false;
	return true;
}

const struct provider provider_uprobe = {
	.name = "uprobe",
	.alias = "u",
	.spec = "uprobe:TARGET:FUNCTION[+OFFSET] or uprobe:TARGET:ADDRESS",
	.doc = "Runs when a function of a program or library is called, or an instruction of it is reached.",
	.example = "uprobe:/bin/bash:readline { @[pid] = count(); }",
	.flags = PROV_ARGN | PROV_REG | PROV_FUNC | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_USER_FILE | PROV_LIST_EXPLICIT | PROV_AT_SITE,
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = user_share_key,
	.plan = user_plan,
	.lower_argn = probe_regs_argn,
	.at_entry = at_entry,
	.lower_reg = probe_regs_reg,
	.attr = user_attr,
	.attach = user_attach,
};

const struct provider provider_uretprobe = {
	.name = "uretprobe",
	.alias = "ur",
	.spec = "uretprobe:TARGET:FUNCTION",
	.doc = "Runs when a function of a program or library returns.",
	.example = "uretprobe:/bin/bash:readline { printf(\"%s\\n\", str(retval)); }",
	.flags = PROV_RETVAL | PROV_REG | PROV_FUNC | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_LIST_EXPLICIT,
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = user_share_key,
	.plan = user_plan,
	.lower_retval = probe_regs_retval,
	.lower_reg = probe_regs_reg,
	.attr = user_attr,
	.attach = user_attach,
};
