/* SPDX-License-Identifier: GPL-2.0-only */
/* What print(), clear() and zero() do to a map of the script, the maps at the end, and whose addresses they have. */
#include <errno.h>
#include <stdlib.h>

#include "image/store.h"
#include "run/losses.h"
#include "run/mapread.h"
#include "run/session.h"
#include "run/symbols.h"

static void complain(struct session *s, const struct script_map *m, const char *what, int err)
{
	char *msg = xasprintf("cannot %s map %s: %s", what, m->name, strerror(-err));

	out_message(&s->out, DIAG_WARNING, s->diag, &m->first_use, msg);
	free(msg);
}

void session_print_map(struct session *s, const struct script_map *m, enum map_reset reset, s64 top, s64 div)
{
	struct map_snap snap;
	int err = map_snap_take(&snap, s->obj, m, reset, top, div);

	if (err) {
		complain(s, m, "read", err);
		return;
	}
	map_snap_default(&snap, m);
	s->out.sink->map(&s->out, &snap.view);
	losses_shown(s, &m->first_use, m->name);
	map_snap_release(&snap);
}

void session_print_key(struct session *s, const struct script_map *m, const void *key)
{
	struct map_snap snap;
	int err = map_snap_read_key(&snap, s->obj, m, key);

	if (err) {
		complain(s, m, "read", err);
		return;
	}
	s->out.sink->map(&s->out, &snap.view);
	losses_shown(s, &m->first_use, m->name);
	map_snap_release(&snap);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(const struct script_map *const *)a)->name, (*(const struct script_map *const *)b)->name);
}

void session_print_maps(struct session *s)
{
	u32 cnt = s->image->script_maps.cnt;
	const struct script_map **maps;

	s->out.sink->before_maps(&s->out);
	if (!cnt || !s->image->config.print_maps_on_exit)
		return;
	maps = xrealloc(NULL, cnt * sizeof(*maps));
	for (u32 i = 0; i < cnt; i++)
		maps[i] = &s->image->script_maps.at[i];
	qsort(maps, cnt, sizeof(*maps), compare_names);
	for (u32 i = 0; i < cnt && !s->out.write_err; i++) {
		struct map_snap snap;
		int err;

		err = map_snap_read(&snap, s->obj, maps[i], 0, 0);
		if (err) {
			complain(s, maps[i], "read", err);
			continue;
		}
		if (snap.view.cnt)
			s->out.sink->map(&s->out, &snap.view);
		losses_shown(s, &maps[i]->first_use, maps[i]->name);
		map_snap_release(&snap);
	}
	free(maps);
}

void session_reset_map(struct session *s, const struct script_map *m, enum map_reset reset)
{
	struct map_dump d = {};
	int err = m->top->store->take ? m->top->store->take(s->obj, m, m->top, reset, &d) : -EOPNOTSUPP;

	if (err)
		complain(s, m, reset == MAP_CLEAR ? "clear" : "zero", err);
	map_dump_release(&d);
}

/* ---- whose addresses are in maps ---- */

struct pids {
	vec(u32) at;
};

static bool has_user_addrs(const struct type *t)
{
	for (u32 i = 0; t && t->kind == T_TUPLE && i < t->member_cnt; i++)
		if (has_user_addrs(t->members[i].type))
			return true;
	return t && (t->kind == T_USTACK || type_has(t, OPAQUE_USER));
}

static void collect(struct pids *p, const struct type *t, const u8 *at)
{
	u64 pid = 0;

	if (!t || !at)
		return;
	for (u32 i = 0; t->kind == T_TUPLE && i < t->member_cnt; i++)
		collect(p, t->members[i].type, at + t->members[i].off);
	if (t->kind == T_USTACK)
		memcpy(&pid, at, 8);
	else if (type_has(t, OPAQUE_USER))
		memcpy(&pid, at + 8, 8);
	if (pid)
		vec_push(&p->at, (u32)pid);
}

void session_forget_processes(struct session *s)
{
	struct pids p = {};
	bool is_known = true;

	vec_for(m, &s->image->script_maps) {
		struct map_snap snap;

		if (!has_user_addrs(m->key) && !has_user_addrs(m->val))
			continue;
		if (map_snap_read(&snap, s->obj, m, 0, 0)) {
			is_known = false;
			break;
		}
		for (u32 i = 0; i < snap.view.cnt; i++) {
			collect(&p, m->key, snap.view.entries[i].key);
			collect(&p, m->val, snap.view.entries[i].val);
		}
		map_snap_release(&snap);
	}
	symbols_forget(s->symbols, p.at.at, p.at.cnt, is_known);
	vec_free(&p.at);
}
