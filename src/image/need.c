/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/need.h"

#include "base/sbuf.h"
#include "image/feature.h"
#include "image/image.h"
#include "image/uapi.h"

const struct need_info need_table[NEED_CNT] = {
#define NEED_ROW(id, start, kept, unless, doc) { start, kept, unless, doc },
#include "image/need.def"
#undef NEED_ROW
};

u64 needs_start(u32 needs)
{
	u64 caps = 0;

	for (u32 i = 0; i < NEED_CNT; i++)
		if (needs >> i & 1)
			caps |= need_table[i].start;
	return caps;
}

u64 needs_kept(u32 needs)
{
	u64 caps = 0;

	for (u32 i = 0; i < NEED_CNT; i++)
		if (needs >> i & 1)
			caps |= need_table[i].kept;
	return caps;
}

u32 image_needs(const struct image *img)
{
	u32 needs = NEED_BIT(PROGRAMS) | img->needs;

	vec_for(p, &img->progs)
		needs |= provider_needs(p->provider);
	/* A function that the compiler itself adds is in no call. */
	vec_for(r, &img->recs)
		needs |= fn_needs((*r)->fn);
	return needs;
}

static u64 attach_feature(u32 prog_type, u32 attach_type)
{
	switch (attach_type) {
	case BPF_TRACE_KPROBE_MULTI:
		return KF_BIT(KPROBE_MULTI);
	case BPF_TRACE_KPROBE_SESSION:
		return KF_BIT(KPROBE_SESSION);
	case BPF_TRACE_UPROBE_MULTI:
		return KF_BIT(UPROBE_MULTI);
	case BPF_TRACE_UPROBE_SESSION:
		return KF_BIT(UPROBE_SESSION);
	case BPF_TRACE_RAW_TP:
		return prog_type == BPF_PROG_TYPE_TRACING ? KF_BIT(TP_BTF) : 0;
	default:
		return 0;
	}
}

/* Sign-extending moves and loads. */
static bool is_v4(const struct insn *i)
{
	return i->code == (BPF_ALU64 | BPF_MOV | BPF_X) ? i->off : (i->code & 0xe7) == (BPF_LDX | BPF_MEMSX);
}

u64 image_features(const struct image *img)
{
	u64 features = 0;

	vec_for(p, &img->progs) {
		features |= attach_feature(p->attr.type, p->attr.attach_type);
		for (u32 i = 0; i < p->insn_cnt; i++)
			if (is_v4(&p->insns[i]))
				features |= KF_BIT(JMP32_V4);
	}
	vec_for(m, &img->maps)
		if (m->type == BPF_MAP_TYPE_STACK_TRACE)
			features |= KF_BIT(STACK_IDS);
	return features;
}

/* In the order that lists have them. */
static const struct {
	u32 cap;
	const char *name;
} names[] = {
#define NAME(name)                                                                                                               \
	{                                                                                                                        \
		CAPABILITY_##name, "CAP_" #name                                                                                  \
	}
	NAME(BPF),
	NAME(PERFMON),
	NAME(SYSLOG),
	NAME(SYS_PTRACE),
	NAME(DAC_READ_SEARCH),
	NAME(DAC_OVERRIDE),
	NAME(CHECKPOINT_RESTORE),
	NAME(SYS_ADMIN),
	NAME(SETUID),
	NAME(SETGID),
	NAME(KILL),
#undef NAME
};

const char *capability_name(u64 *caps)
{
	for (u32 i = 0; i < ARRAY_CNT(names); i++) {
		if (*caps >> names[i].cap & 1) {
			*caps &= ~(1ull << names[i].cap);
			return names[i].name;
		}
	}
	return NULL;
}

void capability_names(u64 caps, const char *between, struct sbuf *out)
{
	const char *sep = "", *name;

	while ((name = capability_name(&caps))) {
		sbuf_printf(out, "%s%s", sep, name);
		sep = between;
	}
}
