/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/join.h"

#include "image/disasm.h"
#include "image/uapi.h"
#include "kern/types.h"

/* r6 = ctx; r0 = bpf_session_is_return(ctx); r1 = r6; if (r0 == 0) goto the entry's code; goto the return's. (In some kernels the
 * function has no parameter, which is harmless.) */
enum { CHOICE = 5 };

struct part {
	const struct image_prog *p;
	u32 main_sz;          /* instructions of the main function; its subprograms follow */
	u32 main_at, subs_at; /* where both are now */
};

u32 join_kfunc_id(void)
{
	struct btf_func f;

	return kern_btf_func(NULL, "bpf_session_is_return", &f) && !f.module ? f.id : 0;
}

static u32 place_of(const struct part *part, u32 insn)
{
	return insn < part->main_sz ? part->main_at + insn : part->subs_at + insn - part->main_sz;
}

/* Functions move as a whole, so jumps stay as they are; references from one to another do not. */
static void copy_insns(const struct part *part, struct insn *out)
{
	const struct image_prog *p = part->p;

	for (u32 i = 0; i < p->insn_cnt; i++) {
		const struct insn *in = &p->insns[i];
		u32 at = place_of(part, i);

		out[at] = *in;
		if ((in->code == (BPF_JMP | BPF_CALL) && in->src == BPF_PSEUDO_CALL) ||
		    (insn_is_wide(in) && in->src == BPF_PSEUDO_FUNC))
			out[at].imm = (s32)(place_of(part, i + 1 + in->imm) - at - 1);
		if (insn_is_wide(in)) {
			i++;
			out[at + 1] = p->insns[i];
		}
	}
}

/* Of the main function, or of the subprograms. */
static void copy_lines(const struct part *part, bool of_subs, struct image_prog *out)
{
	for (u32 i = 0; i < part->p->line_cnt; i++) {
		struct line_info line = part->p->lines[i];

		if ((line.insn >= part->main_sz) != of_subs)
			continue;
		line.insn = place_of(part, line.insn);
		out->lines[out->line_cnt++] = line;
	}
}

static struct image_prog join(struct arena *a, const struct image_prog *entry, const struct image_prog *ret)
{
	struct part parts[2] = { { entry }, { ret } };
	struct image_prog out = *entry;
	u32 at = CHOICE;

	out.stack_sz = MAX(entry->stack_sz, ret->stack_sz);
	out.line_cnt = 0;
	memset(&out.func_starts, 0, sizeof(out.func_starts));

	for (u32 i = 0; i < 2; i++) {
		struct part *part = &parts[i];

		part->main_sz = part->p->func_starts.cnt > 1 ? part->p->func_starts.at[1] : part->p->insn_cnt;
		part->main_at = at;
		at += part->main_sz;
	}
	avec_push(a, &out.func_starts, 0);
	for (u32 i = 0; i < 2; i++) {
		struct part *part = &parts[i];

		part->subs_at = at;
		at += part->p->insn_cnt - part->main_sz;
		for (u32 k = 1; k < part->p->func_starts.cnt; k++)
			avec_push(a, &out.func_starts, place_of(part, part->p->func_starts.at[k]));
	}
	out.insn_cnt = at;
	out.insns = arena_alloc(a, at * sizeof(*out.insns));
	out.insns[0] = (struct insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst = BPF_REG_6, .src = BPF_REG_1 };
	out.insns[1] = (struct insn){ .code = BPF_JMP | BPF_CALL, .src = BPF_PSEUDO_KFUNC_CALL, .imm = (s32)join_kfunc_id() };
	out.insns[2] = (struct insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst = BPF_REG_1, .src = BPF_REG_6 };
	out.insns[3] = (struct insn){ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst = BPF_REG_0, .off = 1 };
	/* The long form: a program may have more instructions than a jump's 16 bits reach. */
	out.insns[4] = (struct insn){ .code = BPF_JMP32 | BPF_JA, .imm = (s32)(parts[1].main_at - CHOICE) };
	out.lines = arena_alloc(a, (1 + entry->line_cnt + ret->line_cnt) * sizeof(*out.lines));
	out.lines[out.line_cnt++] = (struct line_info){ 0, entry->span };
	for (u32 i = 0; i < 2; i++) {
		copy_insns(&parts[i], out.insns);
		copy_lines(&parts[i], false, &out);
	}
	for (u32 i = 0; i < 2; i++)
		copy_lines(&parts[i], true, &out);
	return out;
}

const struct image *join_sessions(struct arena *a, const struct image *img)
{
	struct image *copy = NULL;

	for (u32 i = 0; i < img->progs.cnt; i++) {
		const struct image_prog *entry = &img->progs.at[i];
		struct image_prog *ret;

		if (!entry->session || entry->is_joined)
			continue;
		if (!copy) {
			copy = arena_new(a, struct image);
			*copy = *img;
			memset(&copy->progs, 0, sizeof(copy->progs));
			vec_for(p, &img->progs)
				avec_push(a, &copy->progs, *p);
		}
		ret = &copy->progs.at[entry->session - 1];
		copy->progs.at[i] = join(a, &copy->progs.at[i], ret);
		ret->insn_cnt = ret->line_cnt = ret->func_starts.cnt = 0;
	}
	return copy ? copy : img;
}
