/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the kernel for one program, that long scripts reach.
 *
 * At a conditional jump the verifier goes on with the next instruction, and remembers the target for later. It can remember 8192
 * targets, and comes back to them only when it has reached an exit. So what counts are the conditional jumps on one path through
 * the program that are not taken. A jump whose outcome the verifier knows is not remembered; this is not known here, and it is
 * counted, too. */
#include "bpf/backend.h"
#include "image/disasm.h"
#include "image/uapi.h"

/* BPF_COMPLEXITY_LIMIT_JMP_SEQ, MAX_USED_MAPS, BPF_COMPLEXITY_LIMIT_INSNS */
enum { PENDING_MAX = 8192, USED_MAPS_MAX = 64, INSNS_MAX = 1000000 };

static bool is_jump(const struct insn *i)
{
	return (i->code & 7) == BPF_JMP && (i->code & 0xf0) != BPF_CALL && (i->code & 0xf0) != BPF_EXIT;
}

static bool is_func_addr(const struct insn *i)
{
	return insn_is_wide(i) && i->src == BPF_PSEUDO_FUNC;
}

static bool is_map_addr(const struct insn *i)
{
	return insn_is_wide(i) && (i->src == BPF_PSEUDO_MAP_FD || i->src == BPF_PSEUDO_MAP_VALUE);
}

/* From instruction `at` to an exit, given the same for all instructions after it. A callback is walked where its address is
 * passed to a helper, which takes one more place. Its code is after that of its caller. */
static u32 pending_after(const struct image_prog *p, const u32 *after, u32 at)
{
	const struct insn *i = &p->insns[at];
	u32 next = at + 1 + insn_is_wide(i), target;

	if ((i->code & 7) == BPF_JMP && (i->code & 0xf0) == BPF_EXIT)
		return 0;
	if (is_func_addr(i))
		return after[next] + 1 + after[at + 1 + i->imm];
	if (!is_jump(i))
		return after[next];
	target = at + 1 + i->off;
	if ((i->code & 0xf0) == BPF_JA)
		return target <= at ? 0 : after[target];
	/* The only jumps back are in the loop that looks for a free part of the scratch area: the verifier knows its end. */
	return target <= at ? after[next] : MAX(1 + after[next], after[target]);
}

/* The first instruction on the worst path at which too many targets are pending. */
static u32 first_excess(const struct image_prog *p, const u32 *after)
{
	u32 at = 0, pending = 0;

	while (pending <= PENDING_MAX) {
		const struct insn *i = &p->insns[at];
		u32 next = at + 1 + insn_is_wide(i), target = at + 1 + i->off;

		if (is_func_addr(i)) {
			/* The callback's own count in full: it is reported at the call. */
			pending += 1 + after[at + 1 + i->imm];
			if (pending > PENDING_MAX)
				return at;
		} else if (is_jump(i) && (i->code & 0xf0) == BPF_JA) {
			next = target;
		} else if (is_jump(i) && target > at) {
			if (after[target] > after[next])
				next = target;
			else if (++pending > PENDING_MAX)
				return at;
		}
		at = next;
	}
	return at;
}

static bool check_jumps(struct diag *d, struct arena *tmp, const struct image_prog *p)
{
	u32 *after = arena_alloc(tmp, (p->insn_cnt + 1) * sizeof(*after));

	for (u32 at = p->insn_cnt; at-- > 0;)
		after[at] = pending_after(p, after, at);
	if (after[0] <= PENDING_MAX)
		return true;
	diag_error(d, image_prog_span(p, first_excess(p, after)), E_TOO_BIG,
		   "this probe has %u branches in a row, a program can have %d", after[0], PENDING_MAX);
	diag_hint(d, "most statements have one: an 'if', a comparison, a printf, an update of a map");
	diag_hint(d, "split it into several probes on the same event, or use a loop");
	return false;
}

static bool check_maps(struct diag *d, struct arena *tmp, const struct image *img, const struct image_prog *p)
{
	bool *is_used;
	u32 cnt = 0, excess = 0;

	if (img->maps.cnt <= USED_MAPS_MAX)
		return true;
	is_used = arena_alloc(tmp, img->maps.cnt + 1);
	for (u32 at = 0; at < p->insn_cnt; at++) {
		const struct insn *i = &p->insns[at];

		if (!is_map_addr(i) || is_used[i->imm])
			continue;
		is_used[i->imm] = true;
		if (++cnt == USED_MAPS_MAX + 1)
			excess = at;
	}
	if (cnt <= USED_MAPS_MAX)
		return true;
	diag_error(d, image_prog_span(p, excess), E_TOO_BIG, "this probe uses %u maps of the kernel, a program can use %d", cnt,
		   USED_MAPS_MAX);
	diag_hint(d, "each map with a key needs one or more: use one map with a longer key, or split it into several probes");
	return false;
}

static bool check_length(struct diag *d, const struct image_prog *p)
{
	if (p->insn_cnt <= INSNS_MAX)
		return true;
	diag_error(d, image_prog_span(p, INSNS_MAX), E_TOO_BIG, "this probe needs %u instructions, a program can have %d",
		   p->insn_cnt, INSNS_MAX);
	diag_hint(d, "split it into several probes on the same event, or use a loop");
	return false;
}

bool limits_check(struct diag *d, struct arena *tmp, const struct image *img, const struct image_prog *p)
{
	bool fits = check_length(d, p) && check_maps(d, tmp, img, p) && check_jumps(d, tmp, p);

	arena_clear(tmp);
	return fits;
}
