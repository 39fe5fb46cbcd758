/* SPDX-License-Identifier: GPL-2.0-only */
/* watchpoint: the processor's debug registers watch a few bytes of memory, and the program runs when these are read, written or
 * executed. A CPU has four of them (x86; arm64: mostly), which debuggers use, too.
 *
 * site.addr is the address, site.num the length, site.variant the mode (HW_BREAKPOINT_…); site.data is set where the address is
 * an argument of a function, which becomes known while tracing (probe/watch.h). With -p or -c the threads of that process are
 * watched, including new ones; else every CPU, which is for addresses of the kernel. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "base/glob.h"
#include "image/uapi.h"
#include "probe/watch.h"

extern const struct provider provider_watchpoint, provider_asyncwatchpoint;

/* What the processor can watch for. */
#if defined(__x86_64__)
static const char *const modes[] = { "rw", "w", "x" };
#elif defined(__aarch64__)
static const char *const modes[] = { "r", "w", "rw", "x" };
#elif defined(__powerpc64__)
static const char *const modes[] = { "r", "w", "rw" };
#else
static const char *const modes[] = {};
#endif

/* "wr" → "rw". False: a letter that is no mode, or twice the same. */
static bool read_mode(const char *text, char mode[4], u32 *bits)
{
	static const char letters[] = "rwx";
	static const u32 bit_of[] = { HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_X };
	u32 n = 0;

	*bits = 0;
	for (const char *p = text; *p; p++) {
		const char *at = strchr(letters, *p);

		if (!at || *bits & bit_of[at - letters])
			return false;
		*bits |= bit_of[at - letters];
	}
	for (u32 i = 0; i < 3; i++)
		if (*bits & bit_of[i])
			mode[n++] = letters[i];
	mode[n] = 0;
	return *bits != 0;
}

static bool is_available(const char *mode)
{
	for (u32 i = 0; i < ARRAY_CNT(modes); i++)
		if (str_eq(modes[i], mode))
			return true;
	return false;
}

static bool check_mode(struct diag *d, const struct attach_point *ap)
{
	struct sbuf all = {};
	char mode[4];
	u32 bits;

	if (!read_mode(ap->parts[3], mode, &bits)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not a mode of watchpoints", *ap->parts[3] ? ap->parts[3] : "\"\"");
		diag_hint(d, "a mode consists of r (read), w (write) and x (execute), each at most once");
		return false;
	}
	if (is_available(mode))
		return true;
	for (u32 i = 0; i < ARRAY_CNT(modes); i++)
		sbuf_printf(&all, "%s%s", i ? i + 1 == ARRAY_CNT(modes) ? " and " : ", " : "", modes[i]);
	if (all.len) {
		diag_error(d, ap->span, E_ATTACH_POINT, "this processor cannot watch for %s alone", mode);
		diag_hint(d, "it supports the modes %s", sbuf_str(&all));
	} else {
		diag_error(d, ap->span, E_ATTACH_POINT, "watchpoints are not supported on this processor");
	}
	sbuf_release(&all);
	return false;
}

/* FUNCTION+argN, or meant to be. */
static bool is_arg(const struct attach_point *ap)
{
	return strchr(ap->parts[1], '+');
}

static bool parse(struct diag *d, const struct attach_point *ap)
{
	u64 addr = 0, len;
	char mode[4];
	u32 bits;

	if (!probe_part_cnt(d, ap, 3, 3))
		return false;
	if (is_arg(ap)) {
		if (!watch_parse_arg(d, ap))
			return false;
	} else if (!probe_number(ap->parts[1], &addr)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not an address", *ap->parts[1] ? ap->parts[1] : "\"\"");
		diag_hint(
			d,
			"an address is a number, such as 0x10000000; those of the kernel's variables are in /proc/kallsyms. What an argument points to is "
			"FUNCTION+argN");
		return false;
	}
	if (!check_mode(d, ap))
		return false;
	read_mode(ap->parts[3], mode, &bits);
	if (!probe_number(ap->parts[2], &len) || (!(bits & HW_BREAKPOINT_X) && len != 1 && len != 2 && len != 4 && len != 8)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "the length of a watchpoint is 1, 2, 4 or 8 bytes, not %s",
			   *ap->parts[2] ? ap->parts[2] : "\"\"");
		return false;
	}
	if (!(bits & HW_BREAKPOINT_X) && addr % len) {
		diag_error(d, ap->span, E_ATTACH_POINT, "the address of a watchpoint must be a multiple of its length, %llu",
			   (unsigned long long)len);
		return false;
	}
	return true;
}

static int expand(struct site_sink *sink, const struct attach_point *ap, struct diag *d)
{
	char mode[4];
	struct site *s;
	u64 addr, len;
	u32 bits;

	/* Any address is possible, so none is listed. */
	if (!sink->c || !probe_number(ap->parts[2], &len) || !read_mode(ap->parts[3], mode, &bits))
		return 0;
	/* An instruction has a first byte only. The kernel wants this length for it, whatever the script says. */
	if (bits & HW_BREAKPOINT_X)
		len = sizeof(long);
	if (is_arg(ap)) {
		watch_expand_arg(sink, ap, d, len, mode, bits);
		return 0;
	}
	if (!probe_number(ap->parts[1], &addr))
		return 0;
	s = sink->add(sink,
		      arena_printf(sink->arena, "%s:%llu:%llu:%s", provider_find(ap->parts[0])->name, (unsigned long long)addr,
				   (unsigned long long)len, mode));
	s->addr = addr;
	s->num = len;
	s->variant = bits;
	return 0;
}

const char *watch_hint(int err)
{
	switch (-err) {
	case ENOSPC:
		return "all debug registers of the processor are in use: x86 has four, which other watchpoints and debuggers share";
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENOSYS:
		return "this kernel or machine has no hardware breakpoints";
	case EINVAL:
		return "the address may be out of range";
	}
	return NULL;
}

u64 watch_align(const struct site *s)
{
	return s->variant & HW_BREAKPOINT_X ? 1 : s->num;
}

int watch_open(struct attach_ctx *ctx, u32 site, u64 addr, int prog_fd, bool at_exec)
{
	const struct site *s = &ctx->image->sites.at[site];
	struct perf_event_attr ev = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_addr = addr,
		.bp_len = s->num,
		.bp_type = s->variant & ~(WATCH_ARG | WATCH_STOPS),
		.sample_period = 1,
		.disabled = at_exec,
		.enable_on_exec = at_exec,
	};

	return probe_perf_attach_all(ctx, &ev, prog_fd, site);
}

static int attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		int err = 0;

		if (s->variant & WATCH_ARG)
			watch_attach_later(ctx, u->site_first + i, prog_fd);
		else /* the command of -c is still a copy of ours, with other things at that address */
			err = watch_open(ctx, u->site_first + i, s->addr, prog_fd, ctx->has_child);
		if (err)
			probe_attach_failed(ctx, s, err, "cannot set the watchpoint", watch_hint(err));
		else
			done++;
	}
	return done;
}

const struct provider provider_watchpoint = {
	.name = "watchpoint",
	.alias = "w",
	.spec = "watchpoint:ADDRESS:LENGTH:MODE or watchpoint:FUNCTION+argN:LENGTH:MODE",
	.doc = "Runs when memory is written (mode w), read or written (rw), or executed (x). LENGTH is 1, 2, 4 or 8 bytes; for x any number is accepted. With -p or -c, it watches all threads of that "
	       "process; otherwise every CPU, for kernel addresses. FUNCTION+argN: each call of that function of the process's program adds a watchpoint on what the argument "
	       "points to; the process is stopped (SIGSTOP) while the watchpoint is set up.",
	.example = "watchpoint:0x10000000:8:rw { printf(\"hit\\n\"); exit(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_LIST_EXPLICIT,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.plan = watch_plan,
	.lower_reg = probe_regs_reg,
	.attr = probe_perf_attr,
	.attach = attach,
};

const struct provider provider_asyncwatchpoint = {
	.name = "asyncwatchpoint",
	.alias = "aw",
	.spec = "asyncwatchpoint:FUNCTION+argN:LENGTH:MODE or asyncwatchpoint:ADDRESS:LENGTH:MODE",
	.doc = "The same as watchpoint, but the process is not stopped while a watchpoint on an argument is set up, so the first accesses may be missed.",
	.example = "asyncwatchpoint:0x10000000:8:rw { printf(\"hit\\n\"); exit(); }",
	.flags = PROV_REG | PROV_CTX | PROV_SIGNAL | PROV_LIST_EXPLICIT,
	.ctx_struct = "bpf_perf_event_data",
	.parse = parse,
	.expand = expand,
	.plan = watch_plan,
	.lower_reg = probe_regs_reg,
	.attr = probe_perf_attr,
	.attach = attach,
};
