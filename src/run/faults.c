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

void full_maps_tell(struct session *s)
{
	u32 n = s->c->maps.cnt;

	if (!s->full_told) {
		s->full_told = xrealloc(NULL, n * sizeof(*s->full_told));
		memset(s->full_told, 0, n * sizeof(*s->full_told));
	}
	for (u32 i = 0; i < n; i++) {
		const struct map *m = s->c->maps.at[i];
		struct sbuf msg = {};
		bool is_exact;

		if (s->full_told[i] || !map_lost(m, (const u8 *)s->head, &is_exact))
			continue;
		sbuf_printf(&msg, "map %s is full: what does not fit is lost, and counted; raise max_map_keys (it has room for %u keys)", m->name, m->max_entries);
		out_message(&s->out, DIAG_WARNING, s->c->diag, &m->first_use, sbuf_str(&msg));
		sbuf_release(&msg);
		s->full_told[i] = true;
	}
}
