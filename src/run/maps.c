/* What print(), clear() and zero() do to a map of the script, the maps at the end, and whose addresses they have. */
#include <errno.h>
#include <stdlib.h>

#include "run/agg.h"
#include "run/mapread.h"
#include "run/session.h"
#include "run/slots.h"
#include "run/symbols.h"

static void complain(struct session *s, const struct map *m, const char *what, int err)
{
	char *msg = xasprintf("cannot %s map %s: %s", what, m->name, strerror(-err));

	out_message(&s->out, DIAG_WARNING, s->c->diag, &m->first_use, msg);
	free(msg);
}

void session_print_map(struct session *s, const struct map *m, s64 top, s64 div)
{
	struct map_snap snap;
	int err = map_snap_read(&snap, s->obj, m, top, div);

	if (err) {
		complain(s, m, "read", err);
		return;
	}
	map_snap_default(&snap, m);
	s->out.sink->map(&s->out, &snap.view);
	map_snap_release(&snap);
}

void session_print_key(struct session *s, const struct map *m, const void *key)
{
	struct map_snap snap;
	int err = map_snap_read_key(&snap, s->obj, m, key);

	if (err) {
		complain(s, m, "read", err);
		return;
	}
	s->out.sink->map(&s->out, &snap.view);
	map_snap_release(&snap);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(struct map *const *)a)->name, (*(struct map *const *)b)->name);
}

void session_print_maps(struct session *s)
{
	u32 cnt = s->c->maps.cnt;
	struct map **maps;

	s->out.sink->before_maps(&s->out);
	if (!cnt || !s->c->config.print_maps_on_exit)
		return;
	maps = xrealloc(NULL, cnt * sizeof(*maps));
	memcpy(maps, s->c->maps.at, cnt * sizeof(*maps));
	qsort(maps, cnt, sizeof(*maps), compare_names);
	for (u32 i = 0; i < cnt && !s->out.write_err; i++) {
		struct map_snap snap;
		int err;

		if (!maps[i]->val)
			continue; /* declared, never used */
		err = map_snap_read(&snap, s->obj, maps[i], 0, 0);
		if (err) {
			complain(s, maps[i], "read", err);
			continue;
		}
		if (snap.view.cnt)
			s->out.sink->map(&s->out, &snap.view);
		map_snap_release(&snap);
	}
	free(maps);
}

/* min and max are {rank, is_set}: going upwards clears the rank first. An update between the two leaves a rank that is not
 * set, which is no value; the other way round it would leave a set rank of 0, which is a wrong one. */
static void zero_scalar(struct session *s, const struct map *m, bool keep_set)
{
	u32 size = type_is_agg(m->val) ? agg_cpu_size(m->val) : m->val->size;
	struct map_snap snap;
	struct scalar_place p;
	bool was_set;

	if (!map_scalar_place(s->obj, m, &p) || map_snap_read(&snap, s->obj, m, 0, 0))
		return;
	was_set = snap.view.cnt;
	map_snap_release(&snap);
	if (p.flag && !keep_set)
		__atomic_store_n(p.flag, 0, __ATOMIC_RELEASE);
	for (u32 cpu = 0; cpu < p.cpu_cnt; cpu++)
		zero_shared(p.value + (size_t)cpu * p.stride, size);
	if (p.flag && keep_set && was_set)
		__atomic_store_n(p.flag, 1, __ATOMIC_RELEASE); /* an aggregation of nothing would look unset */
}

static bool is_scalar(const struct map *m)
{
	return m->storage == MAP_SCALAR || m->storage == MAP_SCALAR_PERCPU;
}

static void clear_sites(struct session *s, const struct map *m)
{
	struct scalar_place p;

	if (!map_scalar_place(s->obj, m, &p))
		return;
	for (u32 cpu = 0; cpu < p.cpu_cnt; cpu++)
		zero_shared(p.value + (size_t)cpu * p.stride, m->max_entries * m->val->size);
}

static void clear_hash(struct session *s, const struct map *m, u32 image_map)
{
	const struct object_ops *ops = s->obj->ops;
	struct map_dump d = {};
	int err = ops->map_read(s->obj, image_map, &d);

	if (!err)
		err = ops->map_delete(s->obj, image_map, d.keys, d.cnt);
	if (err)
		complain(s, m, "clear", err);
	map_dump_release(&d);
}

void session_clear_map(struct session *s, const struct map *m)
{
	int err;

	switch (m->storage) {
	case MAP_SCALAR: case MAP_SCALAR_PERCPU:
		zero_scalar(s, m, false);
		return;
	case MAP_SITES_PERCPU:
		clear_sites(s, m);
		return;
	case MAP_HASH: case MAP_HASH_PERCPU:
		clear_hash(s, m, m->image_map);
		if (m->short_map)
			clear_hash(s, m, m->short_map);
		if (m->slots.cnt && (err = slots_clear(s->obj, m)))
			complain(s, m, "clear", err);
		return;
	}
}

void session_zero_map(struct session *s, const struct map *m)
{
	const struct object_ops *ops = s->obj->ops;
	struct map_dump d = {};
	u8 *zero;
	int err;

	if (is_scalar(m)) {
		zero_scalar(s, m, true);
		return;
	}
	err = ops->map_read(s->obj, m->image_map, &d);
	zero = xzalloc(d.stride);
	for (u32 i = 0; !err && i < d.cnt; i++)
		err = ops->map_update(s->obj, m->image_map, d.keys + (size_t)i * d.key_sz, zero);
	if (err)
		complain(s, m, "zero", err);
	free(zero);
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
	return t && (t->kind == T_USTACK || t->kind == T_USYM);
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
	else if (t->kind == T_USYM)
		memcpy(&pid, at + 8, 8);
	if (pid)
		vec_push(&p->at, (u32)pid);
}

void session_forget_processes(struct session *s)
{
	struct pids p = {};
	bool is_known = true;

	vec_for(m, &s->c->maps) {
		struct map_snap snap;

		if (!has_user_addrs((*m)->key) && !has_user_addrs((*m)->val))
			continue;
		if (map_snap_read(&snap, s->obj, *m, 0, 0)) {
			is_known = false;
			break;
		}
		for (u32 i = 0; i < snap.view.cnt; i++) {
			collect(&p, (*m)->key, snap.view.entries[i].key);
			collect(&p, (*m)->val, snap.view.entries[i].val);
		}
		map_snap_release(&snap);
	}
	symbols_forget(s->symbols, p.at.at, p.at.cnt, is_known);
	vec_free(&p.at);
}
