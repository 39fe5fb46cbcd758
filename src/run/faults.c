/* What went wrong inside of programs. They count it, each place by itself (struct fault); here it is told: the first time that it is seen, and
 * at the end how often it was, if more than once. */
#include "run/loop.h"

#include <stdlib.h>

#include "run/mapread.h"

/* The programs of other CPUs may be counting. */
static struct fault_count read_count(const struct session *s, const struct fault *f)
{
	const struct fault_count *c = (const void *)((const u8 *)s->head + f->off);

	return (struct fault_count){ __atomic_load_n(&c->cnt, __ATOMIC_RELAXED), __atomic_load_n(&c->err, __ATOMIC_RELAXED) };
}

static void tell(struct session *s, const struct fault *f, struct fault_count c, u64 times)
{
	const char *text = f->text ? f->text : strerror(abs((int)c.err));
	struct sbuf msg = {};

	sbuf_puts(&msg, text);
	if (times > 1)
		sbuf_printf(&msg, " (%llu times)", (unsigned long long)times);
	if (f->helper)
		s->out.sink->helper_error(&s->out, f->span, s->c->diag, sbuf_str(&msg), f->helper, (int)c.err);
	else
		s->out.sink->report(&s->out, "runtime_error", f->span, s->c->diag, sbuf_str(&msg));
	sbuf_release(&msg);
}

void faults_tell(struct session *s, bool is_end)
{
	u32 n = s->image->faults.cnt;

	if (!s->head || !n)
		return;
	if (!s->faults_told) {
		s->faults_told = xrealloc(NULL, n * sizeof(*s->faults_told));
		memset(s->faults_told, 0, n * sizeof(*s->faults_told));
	}
	for (u32 i = 0; i < n; i++) {
		const struct fault *f = &s->image->faults.at[i];
		struct fault_count c = read_count(s, f);

		if (c.cnt && !s->faults_told[i])
			tell(s, f, c, 1);
		if (c.cnt > 1 && is_end)
			tell(s, f, c, c.cnt);
		s->faults_told[i] |= c.cnt != 0;
	}
}

void faults_reset(struct session *s)
{
	for (u32 i = 0; s->head && i < s->image->faults.cnt; i++) {
		memset((u8 *)s->head + s->image->faults.at[i].off, 0, sizeof(struct fault_count));
		if (s->faults_told)
			s->faults_told[i] = false;
	}
}

bool full_maps_possible(const struct session *s)
{
	vec_for(it, &s->c->maps)
		if ((*it)->lost_off || (*it)->spill_off)
			return s->head != NULL;
	return false;
}

/* Keys are deleted and made all the time: nearly full is full. */
static bool is_full(const struct session *s, const struct map *m)
{
	struct map_dump d;
	bool full;

	if (s->obj->ops->map_read(s->obj, m->image_map, &d))
		return true;
	full = d.cnt >= m->max_entries - m->max_entries / 10;
	map_dump_release(&d);
	return full;
}

void full_maps_look(struct session *s)
{
	bool is_exact;

	if (!s->lossy) {
		s->lossy = xrealloc(NULL, s->c->maps.cnt * sizeof(*s->lossy));
		memset(s->lossy, 0, s->c->maps.cnt * sizeof(*s->lossy));
	}
	for (u32 i = 0; i < s->c->maps.cnt; i++) {
		const struct map *m = s->c->maps.at[i];

		if (s->lossy[i].is_known || !map_lost(m, (const u8 *)s->head, &is_exact))
			continue;
		s->lossy[i].is_full = is_full(s, m);
		s->lossy[i].is_known = true;
	}
}

void full_maps_tell(struct session *s)
{
	full_maps_look(s);
	for (u32 i = 0; i < s->c->maps.cnt; i++) {
		const struct map *m = s->c->maps.at[i];
		struct sbuf msg = {};

		if (s->lossy[i].is_told || !s->lossy[i].is_known)
			continue;
		if (s->lossy[i].is_full)
			sbuf_printf(&msg, "map %s is full: what does not fit is lost, and counted; raise max_map_keys (it has room for %u keys)", m->name, m->max_entries);
		else
			sbuf_printf(&msg, "map %s gets new keys faster than the kernel has memory for them: what is lost is counted", m->name);
		out_message(&s->out, DIAG_WARNING, s->c->diag, &m->first_use, sbuf_str(&msg));
		sbuf_release(&msg);
		s->lossy[i].is_told = true;
	}
}
