/* SPDX-License-Identifier: GPL-2.0-only */
/* uprobe and uretprobe: functions, instructions and source lines of programs and libraries.
 *
 * Names, addresses and lines are turned into file offsets here, at expansion (probe/user.h); site.func is the function.
 *
 * One function often has several names (read, __read, __libc_read). A wildcard that matches more than one of them still stands
 * for one place: it gets one site, or each call would be counted several times.
 *
 * Functions of Go are probed at other places than those of C (sym/go.h): a return is as many places as there are return
 * instructions.
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#include "base/glob.h"
#include "lang/check.h"
#include "arch/abi.h"
#include "probe/uargs.h"
#include "sym/demangle.h"
#include "sym/dwarf.h"
#include "sym/elf.h"
#include "sym/go.h"
#include "sym/insn.h"

extern const struct provider provider_uprobe, provider_uretprobe;

/* ---- parsing ---- */

/* The parsed attach point. */
struct want {
	const char *target; /* NULL: the -p process's program */
	const char *func;   /* function, address or pattern */
	bool is_cpp;        /* func is a demangled C++ name */
	const char *source; /* FILE of FILE:LINE, else NULL */
	u64 line, col;
};

static bool is_address(const char *s)
{
	u64 v;

	return *s >= '0' && *s <= '9' && probe_number(s, &v);
}

/* TARGET@FILE:LINE[:COLUMN], unless there is a file with an @ in its name. */
static const char *source_at(const struct attach_point *ap)
{
	const char *at = ap->part_cnt >= 3 ? strrchr(ap->parts[1], '@') : NULL;

	return at && at > ap->parts[1] && access(ap->parts[1], F_OK) ? at : NULL;
}

/* False: malformed. has_pid: with -p the target can be left out. */
static bool read_parts(struct arena *a, const struct attach_point *ap, bool has_pid, struct want *w)
{
	const char *at = source_at(ap);
	u32 cnt = ap->part_cnt - 1;

	*w = (struct want){ .func = ap->parts[cnt] };
	if (at) {
		w->target = arena_strndup(a, ap->parts[1], at - ap->parts[1]);
		w->source = at + 1;
		return *w->source && cnt <= 3 && probe_number(ap->parts[2], &w->line) && w->line && w->line <= UINT32_MAX &&
			(cnt == 2 || (probe_number(ap->parts[3], &w->col) && w->col <= UINT32_MAX));
	}
	if (cnt == 3 || (cnt == 2 && has_pid && str_eq(ap->parts[1], "cpp"))) {
		w->is_cpp = str_eq(ap->parts[cnt - 1], "cpp");
		cnt--;
		if (!w->is_cpp)
			return false;
	}
	w->target = cnt == 2 ? ap->parts[1] : NULL;
	return cnt <= 2;
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	const struct provider *p = provider_find(ap->parts[0]);
	const char *plus, *func = ap->parts[ap->part_cnt - 1];
	struct want w;
	u64 off;

	if (ap->part_cnt > 4 && str_eq(ap->parts[2], "cpp")) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: there are colons in the name", p->name);
		diag_hint(d, "put the name in double quotes: %s:%s:cpp:\"space::function\"", ap->parts[0], ap->parts[1]);
		return false;
	}
	/* With -p the target may be left out. */
	if (!probe_part_cnt(d, ap, 1, 3))
		return false;
	if (!*func || !*ap->parts[1]) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: the %s is missing", p->name,
			   !*ap->parts[1] ? "target" : "function");
		diag_hint(d, "write it as %s", p->spec);
		return false;
	}
	if (!read_parts(d->arena, ap, false, &w)) {
		if (w.source) {
			diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: '%s' is not a line of a source file", p->name,
				   probe_rest(d->arena, ap));
			diag_hint(d, "write it as %s:TARGET@FILE:LINE or %s:TARGET@FILE:LINE:COLUMN", p->name, p->name);
		} else {
			diag_error(d, ap->span, E_ATTACH_POINT, "%s probe: '%s' is not a language", p->name, ap->parts[2]);
			diag_hint(d, "the only one is cpp: %s:%s:cpp:\"space::function\"", p->name, ap->parts[1]);
		}
		return false;
	}
	if (w.source && p == &provider_uretprobe) {
		diag_error(d, ap->span, E_ATTACH_POINT, "uretprobe probe: a line of a source file has no return");
		diag_hint(d, "use uprobe for lines, or name the function");
		return false;
	}
	if (w.source && (has_wildcard(w.target) || has_wildcard(w.source))) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Wildcards are not allowed for source locations");
		return false;
	}
	if (w.source || w.is_cpp)
		return true;
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

/* ---- from places to sites ---- */

/* The current file, and the attach point that is searched in it. */
struct search {
	struct site_sink *sink;
	const struct provider *p;
	const struct attach_point *ap;
	struct diag *d; /* NULL: only listing */
	const struct want *w;
	const struct user_file *file;
	struct sym_elf *elf;
	struct go_file go;
};

static bool is_return(const struct search *s)
{
	return s->p == &provider_uretprobe;
}

static PRINTF_LIKE(2, 3) void why(struct search *s, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;

	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	s->sink->why = arena_strdup(s->sink->arena, sbuf_str(&b));
	sbuf_release(&b);
}

static void did_you_mean(struct search *s, const char *name)
{
	s->sink->hint = arena_printf(s->sink->arena, s->w->is_cpp ? "did you mean %s:%s%scpp:\"%s\"?" : "did you mean %s:%s%s%s?",
				     s->p->name, s->w->target ? s->w->target : "", s->w->target ? ":" : "", name);
}

/* shown: what stands behind the file in the name of the probe. */
static struct site *add_at(struct search *s, const char *func, const char *shown, u64 file_off, u64 off)
{
	struct arena *a = s->sink->arena;
	struct site *site;

	site = s->sink->add(s->sink, arena_printf(a, "%s:%s:%s", s->p->name, s->file->shown, shown));
	if (!site)
		return NULL;
	site->target = s->file->whole;
	site->func = func ? arena_strdup(a, func) : NULL;
	site->addr = file_off;
	site->off = off;
	site->variant = is_return(s) ? UP_RETURN : 0;
	return site;
}

/* addr: as the file has it. */
static struct site *add(struct search *s, const char *func, const char *shown, u64 addr, u64 off)
{
	u64 file_off;

	if (sym_elf_offset(s->elf, addr, &file_off))
		return add_at(s, func, shown, file_off, off);
	why(s, "%s is not in the loaded part of %s", shown, s->file->shown);
	return NULL;
}

/* A function of Go. */
static void add_go(struct search *s, const struct sym_func *f, const char *func, const char *shown)
{
	u32 variant = go_on_stack(&s->go, f) ? UP_GO_STACK : f->is_go_asm ? UP_GO | UP_GO_ASM : UP_GO;
	u64 *start = arena_new(s->sink->arena, u64);
	go_addrs returns = {};
	struct site *site;

	sym_elf_offset(s->elf, f->addr, start);

	if (!is_return(s)) {
		site = add(s, func, shown, go_entry(s->elf, f), 0);
		if (!site)
			return;
		site->variant = variant;
		site->data = start;
		return;
	}
	if (!go_returns(s->elf, f, &returns))
		why(s, "%s: the return instructions of %s cannot be found", s->file->shown, f->name);
	else if (!returns.cnt)
		why(s, "%s: %s never returns", s->file->shown, f->name);
	else if (!s->sink->c)
		add(s, func, shown, f->addr, 0);
	else
		for (u32 i = 0; i < returns.cnt; i++) {
			site = add(s, func, shown, returns.at[i], 0);
			if (!site)
				continue;
			site->variant = variant;
			site->is_more = i > 0;
		}
	vec_free(&returns);
}

/* Classifies the first instruction of a function. */
static enum user_insn look_at(struct search *s, const struct sym_func *f)
{
	return user_insn_look(sym_elf_bytes(s->elf, go_has(&s->go, f) ? go_entry(s->elf, f) : f->addr, 16));
}

static void add_func(struct search *s, const struct sym_func *f, const char *func, const char *shown)
{
	if (go_has(&s->go, f))
		add_go(s, f, func, shown);
	else
		add(s, func, shown, f->addr, 0);
}

/* ---- patterns and C++ ---- */

struct place {
	const struct sym_func *func;
	const char *name; /* as C++ has it, or NULL */
};

/* The name to keep of those at one place: the one programs call. */
static int by_place(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;
	size_t ua, ub;

	if (pa->func->addr != pb->func->addr)
		return pa->func->addr < pb->func->addr ? -1 : 1;
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

/* Whether the pattern matches this C++ function. Without a parenthesis it matches all functions of that name. The result type,
 * which names of templates begin with, may be left out. Returns the whole name, in the arena, or NULL. */
static const char *match_cpp(struct search *s, const char *mangled, bool has_params)
{
	const char *pattern = s->w->func, *name = NULL;
	char *full = sym_demangle(mangled), *bare;

	if (!full)
		return NULL;
	bare = sym_demangle_short(mangled, has_params);
	if (glob_match(pattern, full) || (bare && glob_match(pattern, bare)))
		name = arena_strdup(s->sink->arena, full);
	free(bare);
	free(full);
	return name;
}

static void expand_pattern(struct search *s)
{
	bool has_params = strchr(s->w->func, '(');
	vec(struct place) places = {};
	const char *first = NULL;
	const struct sym_func *f;
	u32 cnt, n = 0, left_out = 0;
	u64 off;

	f = sym_elf_funcs(s->elf, &cnt);
	for (u32 i = 0; i < cnt; i++) {
		const char *name = s->w->is_cpp ? match_cpp(s, f[i].name, has_params) : NULL;

		if (s->w->is_cpp ? !name : !glob_match(s->w->func, f[i].name))
			continue;
		/* An ifunc resolver, which chooses an implementation, is not the function itself. */
		if (sym_elf_offset(s->elf, f[i].addr, &off) && (!s->sink->c || !f[i].is_ifunc))
			vec_push(&places, (struct place){ &f[i], name });
	}
	if (places.cnt && s->sink->c) {
		qsort(places.at, places.cnt, sizeof(*places.at), by_place);
		for (u32 i = 0; i < places.cnt; i++)
			if (!i || places.at[i].func->addr != places.at[n - 1].func->addr)
				places.at[n++] = places.at[i];
		places.cnt = n;
		qsort(places.at, n, sizeof(*places.at), by_func);
	}
	vec_for(pl, &places) {
		if (s->sink->c && look_at(s, pl->func) != USER_INSN_FINE) {
			if (!left_out++)
				first = pl->func->name;
			continue;
		}
		if (pl->name)
			add_func(s, pl->func, pl->name, arena_printf(s->sink->arena, "cpp:\"%s\"", pl->name));
		else
			add_func(s, pl->func, pl->func->name, pl->func->name);
	}
	if (left_out && s->d)
		diag_warn(s->d, s->ap->span, W_MISSING_PROBE,
			  "%u function%s of %s skipped: the kernel cannot probe %s first instruction (%s%s)", left_out,
			  left_out == 1 ? "" : "s", s->file->shown, left_out == 1 ? "its" : "their", first,
			  left_out == 1 ? "" : ", …");
	vec_free(&places);
}

static void suggest_cpp(struct search *s)
{
	bool has_params = strchr(s->w->func, '(');
	const struct sym_func *f;
	vec(const char *) names = {};
	const char *near;
	u32 cnt;

	f = sym_elf_funcs(s->elf, &cnt);
	for (u32 i = 0; i < cnt; i++) {
		char *name = sym_demangle_short(f[i].name, has_params);

		if (name)
			vec_push(&names, name);
	}
	near = nearest_name(s->w->func, names.at, names.cnt);
	if (near)
		did_you_mean(s, near);
	else if (!names.cnt)
		why(s, "%s has no C++ functions", s->file->shown);
	else
		why(s, "%s has no function %s", s->file->shown, s->w->func);
	vec_for(name, &names)
		free((char *)*name);
	vec_free(&names);
}

/* ---- names and addresses ---- */

/* Reports a questionable offset: an error, or with --unsafe a warning. Returns whether to continue. */
static PRINTF_LIKE(2, 3) bool dubious(struct search *s, const char *fmt, ...)
{
	struct sbuf b = {};
	va_list ap;
	bool ok;

	if (!s->d)
		return true;
	ok = probe_may_be_unsafe(s->sink);
	va_start(ap, fmt);
	sbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (ok) {
		diag_warn(s->d, s->ap->span, W_MISSING_PROBE, "%s", sbuf_str(&b));
	} else {
		diag_error(s->d, s->ap->span, E_ATTACH_POINT, "%s", sbuf_str(&b));
		diag_hint(s->d, "--unsafe allows any offset; one inside an instruction can crash the traced program");
	}
	sbuf_release(&b);
	return ok;
}

/* The probe would break the program. A return is caught at the function's entry, but not in Go. */
static bool check_harm(struct search *s, const struct sym_func *f, u64 addr)
{
	bool ok;

	if ((is_return(s) && f && go_has(&s->go, f)) || user_insn_look(sym_elf_bytes(s->elf, addr, 16)) != USER_INSN_HARM)
		return true;
	ok = !s->d || probe_may_be_unsafe(s->sink);
	if (s->d && ok) {
		diag_warn(s->d, s->ap->span, W_MISSING_PROBE,
			  "The kernel decodes the vector instruction there wrongly: the traced program may misbehave");
	} else if (s->d) {
		diag_error(s->d, s->ap->span, E_ATTACH_POINT,
			   "A probe there would make the traced program misbehave: the kernel decodes the vector instruction "
			   "wrongly");
		diag_hint(s->d, "probe another instruction of the function (+OFFSET) or its callers; --unsafe allows it");
	}
	return ok;
}

static bool check_offset(struct search *s, const struct sym_func *f, u64 off)
{
	struct bytes code = sym_elf_bytes(s->elf, f->addr, f->size);

	if (!off)
		return true;
	if (!f->size)
		return dubious(s, "The offset cannot be checked: the size of '%s' is unknown", f->name);
	if (off >= f->size)
		return dubious(s, "Offset outside the function bounds ('%s' size is %llu)", f->name, (unsigned long long)f->size);
	if (!code.len)
		return true; /* add() says so */
	switch (insn_starts_at(code.at, code.len, off)) {
	case INSN_START:
		return true;
	case INSN_INSIDE:
		return dubious(s, "'%s+%llu' is in the middle of an instruction", f->name, (unsigned long long)off);
	case INSN_UNKNOWN:
		return dubious(s, "The offset cannot be checked: Sonde cannot decode the instructions of '%s' before it",
			       f->name);
	}
	return true;
}

static bool is_code(const struct objfile *o, u64 addr)
{
	for (u32 i = 0; i < o->ph_cnt; i++)
		if (o->ph[i].p_type == PT_LOAD && (o->ph[i].p_flags & PF_X) && addr >= o->ph[i].p_vaddr &&
		    addr - o->ph[i].p_vaddr < o->ph[i].p_filesz)
			return true;
	return false;
}

static void expand_address(struct search *s, u64 addr)
{
	const struct sym_func *f = sym_elf_at(s->elf, addr);
	const char *shown = arena_printf(s->sink->arena, "%llu", (unsigned long long)addr);

	if (!is_code(sym_elf_file(s->elf), addr)) {
		why(s, "%s has no code at address 0x%llx", s->file->shown, (unsigned long long)addr);
		return;
	}
	if ((f && !check_offset(s, f, addr - f->addr)) || !check_harm(s, f, addr))
		return;
	if (f && go_has(&s->go, f) && addr == f->addr)
		add_go(s, f, f->name, shown);
	else if (f && go_has(&s->go, f) && is_return(s))
		why(s, "%s is a Go program: uretprobe supports whole functions only", s->file->shown);
	else
		add(s, f ? f->name : NULL, shown, addr, f ? addr - f->addr : 0);
}

/* Functions move between libraries: those of libpthread are in libc since glibc 2.34. Returns the library that the file is linked
 * with, in the same directory, and that has the function; NULL: none. */
static const char *library_with(struct search *s, const char *func)
{
	struct objfile *o = sym_elf_file(s->elf);
	struct bytes dynamic = objfile_section_named(o, ".dynamic"), names = objfile_section_named(o, ".dynstr");
	const char *slash = strrchr(s->file->path, '/');
	int dir_len = slash ? (int)(slash - s->file->path) : 0;
	Elf64_Dyn d;

	for (size_t off = 0; slash && off + sizeof(d) <= dynamic.len; off += sizeof(d)) {
		const char *name, *path;
		struct sym_elf *library;
		bool has_it;

		memcpy(&d, dynamic.at + off, sizeof(d));
		name = d.d_tag == DT_NEEDED ? bytes_str(names, d.d_un.d_val) : NULL;
		if (!name)
			continue;
		path = arena_printf(s->sink->arena, "%.*s/%s", dir_len, s->file->path, name);
		if (sym_elf_open(path, &library))
			continue;
		has_it = sym_elf_find(library, func);
		sym_elf_free(library);
		if (has_it)
			return path;
	}
	return NULL;
}

static void expand_name(struct search *s)
{
	const struct sym_func *f;
	const char *name, *near;
	u64 off = 0;

	/* A name may contain a plus itself, depending on the language. */
	f = sym_elf_find(s->elf, s->w->func);
	if (!f) {
		if (!probe_func_offset(s->sink->arena, s->w->func, &name, &off)) {
			why(s, "The text after the + is not a number");
			return;
		}
		f = sym_elf_find(s->elf, name);
		if (!f) {
			const char *library = library_with(s, name);

			near = library ? NULL : sym_elf_nearest(s->elf, name);
			if (library)
				s->sink->hint = arena_printf(s->sink->arena,
							     "did you mean %s:%s:%s? This file is linked with that library",
							     s->p->name, library, s->w->func);
			if (near)
				did_you_mean(s, near);
			else
				why(s, "%s has no function %s", s->file->shown, name);
			return;
		}
	}
	if (!check_offset(s, f, off) || !check_harm(s, f, f->addr + off))
		return;
	if (f->is_ifunc && s->d)
		diag_warn(
			s->d, s->ap->span, W_MISSING_PROBE,
			"%s is chosen from several implementations when the program starts (ifunc): the probe runs only when that "
			"choice is made",
			f->name);
	if (off)
		add(s, f->name, arena_printf(s->sink->arena, "%s+%llu", f->name, (unsigned long long)off), f->addr + off, off);
	else
		add_func(s, f, f->name, f->name);
}

/* ---- source lines ---- */

static void expand_line(struct search *s)
{
	const struct want *w = s->w;
	struct dbg_lines found = {};
	const char *missing;
	struct dbg *dbg = dbg_of(s->file->path, &missing);
	char shown[512];
	u32 done = 0;

	if (!dbg) {
		s->sink->why = missing;
		s->sink->hint =
			"a source line can be probed if the program was compiled with -g, or its debug information is installed";
		return;
	}
	dbg_find_line(dbg, w->source, (u32)w->line, (u32)w->col, &found);
	if (w->col)
		snprintf(shown, sizeof(shown), "%s:%llu:%llu", w->source, (unsigned long long)w->line,
			 (unsigned long long)w->col);
	else
		snprintf(shown, sizeof(shown), "%s:%llu", w->source, (unsigned long long)w->line);
	vec_for(place, &found.at) {
		const struct sym_func *f = sym_elf_at(s->elf, place->addr);
		struct site *site;

		if (!check_harm(s, f, place->addr))
			continue;
		site = add(s, f ? f->name : place->func, shown, place->addr, f ? place->addr - f->addr : 0);
		if (!site)
			continue;
		/* "uprobe:FILE@SOURCE:LINE", not "uprobe:FILE:SOURCE:LINE" */
		if (!s->ap->given_name)
			site->name = arena_printf(s->sink->arena, "%s:%s@%s", s->p->name, s->file->shown, shown);
		site->is_more = done++ > 0;
	}
	if (!found.at.cnt && !found.is_file_known)
		why(s, "%s was not compiled from a source file %s", s->file->shown, w->source);
	else if (!found.at.cnt && found.next_line)
		s->sink->hint = arena_printf(s->sink->arena, "the next line with code is %u", found.next_line);
	else if (!found.at.cnt)
		why(s, "%s has no code from that line on", w->source);
	vec_free(&found.at);
}

/* ---- expansion ---- */

static void expand_file(struct search *s)
{
	u32 before = s->sink->found;
	u64 addr;

	go_file_look(s->elf, &s->go);
	if (s->w->source) {
		expand_line(s);
	} else if (s->w->is_cpp || has_wildcard(s->w->func)) {
		expand_pattern(s);
		if (s->w->is_cpp && s->sink->found == before && !has_wildcard(s->w->func))
			suggest_cpp(s);
	} else if (is_address(s->w->func) && probe_number(s->w->func, &addr)) {
		expand_address(s, addr);
	} else {
		expand_name(s);
	}
}

/* A file that is no ELF file may have code nevertheless, which a process maps by itself: an address is an offset in it. False: it
 * is not that, or --unsafe is missing. */
static bool expand_flat(struct search *s)
{
	u64 off;

	if (s->w->source || s->w->is_cpp || !is_address(s->w->func) || !probe_number(s->w->func, &off))
		return false;
	if (!s->sink->target->allow_unsafe) {
		s->sink->hint = "--unsafe takes the number as an offset in the file";
		return false;
	}
	if (s->d)
		diag_warn(
			s->d, s->ap->span, W_MISSING_PROBE,
			"%s is not a program or library: %s is taken as an offset in the file, and the instruction there is not checked",
			s->file->shown, s->w->func);
	add_at(s, NULL, s->w->func, off, 0);
	return true;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	struct search s = { .sink = sink, .p = provider_find(ap->parts[0]), .ap = ap, .d = d };
	user_files files = {};
	struct want w;

	if (sink->c && !target_has(sink->c, KF_UPROBE)) {
		probe_kernel_lacks(sink, "This kernel has no uprobes (CONFIG_UPROBE_EVENTS is not set)");
		return 0;
	}
	if (ap->part_cnt < 2 || !read_parts(sink->arena, ap, sink->target->filter_pid, &w))
		return 0;
	s.w = &w;
	if (w.target) {
		user_files_find(sink, &files, w.target, d);
	} else if (sink->target->filter_pid) {
		user_files_exe(sink, &files);
	} else if (d) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s probe type requires 2 arguments, found 1", s.p->name);
		diag_hint(d, "write it as %s; the target can be left out with -p", s.p->spec);
	}
	vec_for(f, &files) {
		int err = sym_elf_open(f->path, &s.elf);

		s.file = f;
		if (err == -ENOEXEC && files.cnt == 1 && expand_flat(&s))
			continue;
		if (err) {
			user_files_failed(sink, &files, f, err);
			continue;
		}
		expand_file(&s);
		sym_elf_free(s.elf);
	}
	if (!sink->found && files.cnt > 1) {
		sink->why = arena_printf(sink->arena, "None of %u files has a match", files.cnt);
		sink->hint = NULL;
	}
	vec_free(&files);
	return 0;
}

/* ---- code ---- */

static u32 variant_of(const struct compile *c, const struct unit *u)
{
	return c->sites.at[u->site_first].variant;
}

/* There is no stack frame at the first instruction, after Go's check of the stack size, and at a return instruction. */
static bool at_entry(const struct compile *c, const struct unit *u)
{
	if (u->provider == &provider_uretprobe)
		return variant_of(c, u) & (UP_GO | UP_GO_STACK);
	for (u32 i = 0; i < u->site_cnt; i++)
		if (!c->sites.at[u->site_first + i].func || c->sites.at[u->site_first + i].off)
			return false;
	return true;
}

static bool check_argn(struct check *k, struct expr *e, u32 n)
{
	u32 variant = variant_of(k->c, k->unit);

	if (!(variant & (UP_GO | UP_GO_STACK)))
		return false;
	if (variant & UP_GO_ASM) {
		check_fail(k, e, E_NO_ARGS,
			   "the location of arg%u is unknown: the function is written in assembly, and the program is stripped",
			   n);
		diag_hint(k->c->diag, "most functions in assembly have it on the stack: sarg%u", n);
	} else if ((variant & UP_GO) && n >= abi.go_arg_cnt) {
		check_fail(k, e, E_NO_ARGS, "arg%u does not exist: %u arguments are passed in registers in Go on %s", n,
			   abi.go_arg_cnt, abi.name);
		diag_hint(k->c->diag, "a string takes two of them, a slice three");
	}
	return true;
}

static struct val lower_argn(struct lower *l, u32 n)
{
	u32 variant = variant_of(l->c, l->unit);

	if (variant & UP_GO)
		return val_reg(ir_load(&l->b, lower_ctx(l), abi.go_arg_off[n], 8));
	if (variant & UP_GO_STACK) /* above the address to return to */
		return val_reg(lower_load(l, (struct mem){ ir_load(&l->b, lower_ctx(l), abi.sp_off, 8), 8 + 8 * (s64)n, AS_USER },
					  &type_u64));
	return probe_regs_argn(l, n);
}

/* A result on the stack is behind the arguments. */
static const struct type *retval_type(struct compile *c, const struct unit *u)
{
	const struct site *s = &c->sites.at[u->site_first];

	if (!(s->variant & (UP_GO_STACK | UP_GO_ASM)))
		return &type_u64;
	diag_error(c->diag, s->span, E_NO_ARGS,
		   "retval of %s is unknown: Go functions before 1.17, and those in assembly, return it on the stack", s->name);
	diag_hint(c->diag, "read it from there: it follows the arguments, which start at reg(\"sp\") + 8");
	return NULL;
}

const struct provider provider_uprobe = {
	.name = "uprobe",
	.alias = "u",
	.spec = "uprobe:TARGET:FUNCTION[+OFFSET], uprobe:TARGET:cpp:\"NAME\", uprobe:TARGET:ADDRESS or uprobe:TARGET@FILE:LINE[:COLUMN]",
	.doc = "Runs when a function of a program or library is called, or when an instruction of it is reached.",
	.example = "uprobe:/bin/bash:readline { @[pid] = count(); }",
	.flags = PROV_ARGN | PROV_REG | PROV_FUNC | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_USER_FILE |
		PROV_LIST_EXPLICIT | PROV_AT_SITE | PROV_ARGS,
	.needs = NEED_BIT(USER_FILES) | NEED_BIT(UPROBE_EVENTS),
	.features = KF_BIT(UPROBE),
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = uargs_share_key,
	.plan = user_plan,
	.args = uargs_type,
	.missing_arg = uargs_missing,
	.types = uargs_types,
	.lower_arg_member = uargs_member,
	.list_params = uargs_list_params,
	.check_argn = check_argn,
	.lower_argn = lower_argn,
	.at_entry = at_entry,
	.lower_reg = probe_regs_reg,
	.lower_site = user_lower_site,
	.attr = user_attr,
	.attach = user_attach,
};

const struct provider provider_uretprobe = {
	.name = "uretprobe",
	.alias = "ur",
	.spec = "uretprobe:TARGET:FUNCTION or uretprobe:TARGET:cpp:\"NAME\"",
	.doc = "Runs when a function of a program or library returns.",
	.example = "uretprobe:/bin/bash:readline { printf(\"%s\\n\", str(retval)); }",
	.flags = PROV_RETVAL | PROV_REG | PROV_FUNC | PROV_CTX | PROV_SIGNAL | PROV_REENTRANT | PROV_REVERSE | PROV_LIST_EXPLICIT,
	.needs = NEED_BIT(USER_FILES) | NEED_BIT(UPROBE_EVENTS),
	.features = KF_BIT(UPROBE),
	.as = AS_USER,
	.ctx_struct = "pt_regs",
	.parse = parse,
	.expand = expand,
	.share_key = user_share_key,
	.plan = user_plan,
	.types = uargs_types,
	.list_params = uargs_list_params,
	.retval = retval_type,
	.lower_retval = probe_regs_retval,
	.lower_reg = probe_regs_reg,
	.lower_site = user_lower_site,
	.at_entry = at_entry,
	.attr = user_attr,
	.attach = user_attach,
};
