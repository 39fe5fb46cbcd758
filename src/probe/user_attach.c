/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "kern/sys.h"
#include "probe/events.h"
#include "probe/user.h"
#include "sym/insn.h"

u64 user_share_key(struct compile *c, const struct site *s, const struct body_uses *uses)
{
	(void)c, (void)uses;
	return s->variant;
}

extern const struct provider provider_uprobe, provider_uretprobe;

/* The kernel can handle entry and return in one session. Go functions return at other instructions. */
static bool has_two_sides(const struct compile *c, const struct unit *u)
{
	u32 variant = c->sites.at[u->site_first].variant;

	return u->provider == &provider_uprobe ? !(variant & (UP_GO | UP_GO_STACK)) :
						 u->provider == &provider_uretprobe && variant & UP_RETURN;
}

static u32 link_type(u32 variant)
{
	return variant == UP_MULTI ? BPF_TRACE_UPROBE_MULTI : variant == UP_SESSION ? BPF_TRACE_UPROBE_SESSION : 0;
}

void user_plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	(void)uses;
	u->variant = target_has(c, KF_UPROBE_MULTI) ? UP_MULTI : UP_PERF;
	if (u->variant == UP_MULTI && has_two_sides(c, u))
		probe_pair(c, u, &provider_uprobe, &provider_uretprobe, UP_SESSION, KF_UPROBE_SESSION);
	if (u->variant == UP_PERF && u->site_cnt >= EVENT_SITES_MIN && u->site_cnt <= EVENT_SITES_MAX && user_events_can(c, u)) {
		u->variant = UP_EVENTS;
		if (!(c->sites.at[u->site_first].variant & UP_RETURN))
			events_group(c, u);
	}
}

void user_attr(struct compile *c, const struct unit *u, struct prog_attr *attr)
{
	(void)c;
	attr->type = BPF_PROG_TYPE_KPROBE;
	attr->attach_type = link_type(u->variant);
}

/* The kernel replaces an instruction by a breakpoint, and executes a copy of the instruction elsewhere. Some it emulates, which
 * it recognises by their opcode, and it refuses those that it cannot move. Up to 6.18 at least it decodes vector instructions
 * (with a VEX or EVEX prefix) as if they had no such prefix: vpbroadcastb, 7a, is emulated as a conditional jump, which is 7a
 * without the prefix. */
enum user_insn user_insn_look(struct bytes code)
{
#if defined(__x86_64__)
	struct machine_insn insn = insn_decode(code.at, code.len);

	if (insn.has_lock)
		return USER_INSN_REFUSED;
	if (!insn.is_vector)
		return USER_INSN_FINE;
	switch (insn.op) {
	case 0x50 ... 0x57: /* push */
	case 0x70 ... 0x7f: /* jumps */
	case 0x90:          /* nop */
	case 0x9a:
	case 0x9d:          /* popf */
	case 0xc2 ... 0xc3: /* ret */
	case 0xca ... 0xcb:
	case 0xe8 ... 0xeb: /* call, jmp */
	case 0xff:
		return USER_INSN_HARM;
	case 0x06 ... 0x07: /* not in 64-bit mode */
	case 0x0e:
	case 0x16 ... 0x17:
	case 0x1e ... 0x1f:
	case 0x26 ... 0x27:
	case 0x2e ... 0x2f:
	case 0x36 ... 0x37:
	case 0x3e ... 0x3f:
	case 0x40 ... 0x4f: /* prefixes */
	case 0x60 ... 0x62:
	case 0x66 ... 0x67:
	case 0x6c ... 0x6f: /* input and output, and others that programs must not use */
	case 0xcc ... 0xcf:
	case 0xe4 ... 0xe7:
	case 0xec ... 0xef:
	case 0xf0 ... 0xf1:
	case 0xf4:
	case 0xfa ... 0xfb:
		return USER_INSN_REFUSED;
	}
#endif
	return USER_INSN_FINE;
}

static bool is_return(const struct attach_ctx *ctx, const struct image_prog *u)
{
	return unit_site(ctx, u, 0)->variant & UP_RETURN;
}

static const char *hint_for(int err)
{
	switch (-err) {
	case EOPNOTSUPP:
	case EINVAL:
	case ENOEXEC:
	case KERNEL_ENOTSUPP:
		return "the kernel cannot put a probe on the instruction at this address";
	default:
		return NULL;
	}
}

/* All sites in [lo, hi) are in one file. */
static int link_multi(const struct multi *m, u32 lo, u32 hi)
{
	u32 cnt = hi - lo;
	u64 *offsets = xzalloc(3 * cnt * sizeof(u64)), *cookies = offsets + cnt, *sems = cookies + cnt;
	struct bpf_link_create_attr attr = {
		.prog_fd = m->prog_fd,
		.attach_type = link_type(m->u->variant),
		.uprobe_multi = {
			.path = (u64)(uintptr_t)unit_site(m->ctx, m->u, lo)->target,
			.offsets = (u64)(uintptr_t)offsets,
			.cookies = (u64)(uintptr_t)cookies,
			.cnt = cnt,
			.flags = is_return(m->ctx, m->u) ? BPF_F_UPROBE_MULTI_RETURN : 0,
			.pid = m->ctx->filter_pid,
		},
	};
	int fd;

	for (u32 i = 0; i < cnt; i++) {
		const struct site *s = unit_site(m->ctx, m->u, lo + i);

		offsets[i] = s->addr;
		cookies[i] = m->u->site_first + lo + i;
		sems[i] = s->num;
		if (s->num)
			attr.uprobe_multi.ref_ctr_offsets = (u64)(uintptr_t)sems;
	}
	fd = kern_link_create(&attr);
	free(offsets);
	return fd;
}

static int attach_multi(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	struct multi m = { ctx, u, prog_fd, link_multi, "cannot attach to the function", hint_for };
	u32 done = 0;

	for (u32 lo = 0, hi; lo < u->site_cnt; lo = hi) {
		const char *file = unit_site(ctx, u, lo)->target;

		for (hi = lo + 1; hi < u->site_cnt && str_eq(unit_site(ctx, u, hi)->target, file); hi++)
			;
		done += probe_attach_multi(&m, lo, hi);
	}
	return done;
}

static int attach_perf(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	int type = probe_pmu_type("uprobe"), bit = probe_pmu_bit("uprobe", "retprobe"),
	    sem_bit = probe_pmu_bit("uprobe", "ref_ctr_offset");
	u32 done = 0;

	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = unit_site(ctx, u, i);
		struct perf_event_attr ev = {
			.type = type,
			.config = (is_return(ctx, u) ? 1ull << (bit & 63) : 0) | (s->num ? s->num << (sem_bit & 63) : 0),
			.uprobe_path = (u64)(uintptr_t)s->target,
			.probe_offset = s->addr,
		};
		int err;

		if (type < 0 || bit < 0 || (s->num && sem_bit < 0)) {
			probe_attach_failed(ctx, s, 0, "This kernel has no uprobes (CONFIG_UPROBE_EVENTS is not set)", NULL);
			continue;
		}
		if (s->num >> 32) { /* config has only these bits for it */
			probe_attach_failed(ctx, s, 0, "the file offset of its semaphore is too large for this kernel", NULL);
			continue;
		}
		err = probe_perf_attach(ctx, &ev, ctx->filter_pid ? (s32)ctx->filter_pid : -1, ctx->filter_pid ? -1 : 0, prog_fd,
					u->site_first + i);
		if (err)
			probe_attach_failed(ctx, s, err, "cannot attach to the function", hint_for(err));
		else
			done++;
	}
	return done;
}

int user_attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd)
{
	if (u->variant == UP_MULTI || u->variant == UP_SESSION)
		return attach_multi(ctx, u, prog_fd);
	/* Return probes of one event cannot be told apart. */
	if (u->variant == UP_EVENTS && !(is_return(ctx, u) && u->uses_site))
		return user_events_attach(ctx, u, prog_fd, hint_for);
	return attach_perf(ctx, u, prog_fd);
}
