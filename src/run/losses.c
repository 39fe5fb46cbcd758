/* SPDX-License-Identifier: GPL-2.0-only */
/* What got lost in a run, from everyone who counts it, to the closing account (out/account.h). */
#include "run/losses.h"

#include "image/store.h"
#include "run/command.h"
#include "run/loop.h"
#include "run/mapread.h"
#include "run/symbols.h"

#define KERNEL_FRAMES "no symbol of the kernel is there, or kernel.kptr_restrict hides the addresses"
#define USER_FRAMES                                                                                                              \
	"no file with symbols is mapped there (a stripped program, generated code, or a program without frame pointers); install its debug symbols, or try dw_ustack"

/* When the kernel misses the first half of a session it does not run the other either, and counts that as one; older ones (6.12)
 * try the other nevertheless, and count each that fails. */
const char *losses_probe(const struct session *s, u32 prog)
{
	const struct image_prog *p = &s->image->progs.at[prog];
	const char *name = p->site_cnt ? s->image->sites.at[p->site_first].name : p->name, *more = "";
	u32 cnt = 0;

	for (u32 i = 1; i < p->site_cnt; i++)
		cnt += !s->image->sites.at[p->site_first + i].is_more;
	if (cnt)
		more = arena_printf(s->diag->arena, " and %u more", cnt);
	return arena_printf(s->diag->arena, "%s%s%s", name, more,
			    !p->session ? "" :
				    cnt ? " and their returns" :
					  " and its return");
}

void losses_shown(struct session *s, const struct span *at, const char *where)
{
	struct shown n = s->shown;
	char *subject, *why;

	if (!n.cut && !n.nameless[0] && !n.nameless[1])
		return;
	s->shown = (struct shown){};
	subject = xasprintf("%s%s", where, *where == '@' ? "" : "()");
	why = xasprintf(n.cut_sz < s->image->config.max_strlen ? "longer than the %u bytes that the script has for it" :
								 "longer than max_strlen (%u bytes), which can be raised",
			n.cut_sz);
	account_add(&s->account, ACCOUNT_CUT, at, subject, why, n.cut);
	account_add(&s->account, ACCOUNT_NAMELESS, at, subject, KERNEL_FRAMES, n.nameless[0]);
	account_add(&s->account, ACCOUNT_NAMELESS, at, subject, USER_FRAMES, n.nameless[1]);
	free(why);
	free(subject);
}

static void add_hits(struct session *s, const struct attached *attached, u32 cnt)
{
	for (u32 i = 0; s->obj->ops->prog_missed && i < s->image->progs.cnt; i++) {
		u64 missed = s->obj->ops->prog_missed(s->obj, i);

		if (missed)
			account_add(&s->account, ACCOUNT_SKIPPED, &s->image->progs.at[i].span, losses_probe(s, i), NULL, missed);
	}
	for (u32 i = 0; i < cnt; i++) {
		const struct image_prog *p = &s->image->progs.at[attached[i].prog];
		bool has_return = p->flags & PROV_RETVAL || p->session;

		if (attached[i].missed)
			account_add(
				&s->account, ACCOUNT_MISSED, &p->span, losses_probe(s, attached[i].prog),
				has_return ?
					"too many calls were in progress at once, or another kprobe was running on that CPU; fexit has no such limit" :
					"another kprobe was running on that CPU; fentry has no such limit",
				attached[i].missed);
	}
}

static void add_maps(struct session *s)
{
	full_maps_look(s);
	for (u32 i = 0; i < s->image->script_maps.cnt; i++) {
		const struct script_map *m = &s->image->script_maps.at[i];
		bool is_exact;
		u64 lost = map_lost(m, (const u8 *)s->head, &is_exact);
		char *cure;

		if (!lost)
			continue;
		lost = is_exact ? lost : ACCOUNT_SOME;
		if (!s->lossy[i].is_full) {
			account_add(&s->account, ACCOUNT_MAP_HASTY, &m->first_use, m->name, NULL, lost);
			continue;
		}
		cure = xasprintf("raise its limit of %u key%s (max_map_keys, or its declaration)", m->max_entries,
				 m->max_entries == 1 ? "" : "s");
		account_add(&s->account, ACCOUNT_MAP_FULL, &m->first_use, m->name, cure, lost);
		free(cure);
	}
}

void losses_collect(struct session *s, const struct attached *attached, u32 attached_cnt)
{
	struct account *a = &s->account;

	account_add(a, ACCOUNT_BAD_RECORDS, NULL, NULL, NULL, s->bad_records);
	add_hits(s, attached, attached_cnt);
	account_add(a, ACCOUNT_COMMANDS, NULL, NULL, "too many were waiting; call system() and exec() less often",
		    commands_dropped(s->commands));
	account_add(a, ACCOUNT_COMMANDS, NULL, NULL, "Sonde was interrupted", commands_given_up(s->commands));
	account_add(a, ACCOUNT_LOST_MAPPINGS, NULL, NULL, NULL, symbols_lost(s->symbols));
	if (!s->head)
		return;
	add_maps(s);
	faults_account(s);
	account_add(a, ACCOUNT_NESTED, NULL, NULL, NULL, s->head->scratch_busy);
	account_add(a, ACCOUNT_GUARDED, NULL, NULL, NULL, s->head->guarded);
	account_add(a, ACCOUNT_STACKS, NULL, NULL, NULL, s->head->failed_stacks);
	account_add(a, ACCOUNT_LOST_CTRL, NULL, NULL, NULL, s->head->lost_ctrl);
	account_add(a, ACCOUNT_LOST_EVENTS, NULL, NULL, NULL, s->head->lost_events);
}
