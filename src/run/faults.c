/* SPDX-License-Identifier: GPL-2.0-only */
/* What went wrong inside of programs. They count it, each place by itself (struct fault); here it is told: the first time that it
 * is seen, and at the end how often it was, if more than once. */
#include "run/loop.h"

#include <stdlib.h>

#include "image/store.h"
#include "run/mapread.h"

/* The programs of other CPUs may be counting. */
static struct fault_count read_count(const struct session *s, const struct fault *f)
{
	const struct fault_count *c = (const void *)((const u8 *)s->head + f->off);

	u64 cnt = __atomic_load_n(&c->cnt, __ATOMIC_ACQUIRE); /* the error is at least as new, then */

	return (struct fault_count){ cnt, __atomic_load_n(&c->err, __ATOMIC_RELAXED) };
}

static void tell(struct session *s, const struct fault *f, struct fault_count c, u64 times)
{
	const char *text = f->text ? f->text : strerror(abs((int)c.err));
	struct sbuf msg = {};

	sbuf_puts(&msg, text);
	if (times > 1)
		sbuf_printf(&msg, " (%llu times)", (unsigned long long)times);
	if (f->helper)
		s->out.sink->helper_error(&s->out, f->span, s->diag, sbuf_str(&msg), f->helper, (int)c.err);
	else
		s->out.sink->report(&s->out, "runtime_error", f->span, s->diag, sbuf_str(&msg));
	sbuf_release(&msg);
}

/* Failed reads are told with -k only; otherwise they are in the closing account. */
static bool is_told(const struct session *s, const struct fault *f)
{
	return !f->is_read || s->image->warns_more;
}

bool faults_possible(const struct session *s)
{
	vec_for(f, &s->image->faults)
		if (is_told(s, f))
			return true;
	return false;
}

/* Why a read fails, by the helper that was to do it. The kernel says EFAULT of all of them. */
static const char *read_reason(const char *helper)
{
	if (str_starts(helper, "probe_read_user"))
		return "EFAULT, a bad user address, or a page that is not in memory now; read it later, when the program has touched it (at the exit of the system call, or at the return of the function)";
	if (str_starts(helper, "probe_read_kernel"))
		return "EFAULT, a bad kernel address, such as a null pointer or one of user space; test the pointer first, or use uptr()";
	return "EFAULT, a bad address, or a page of user space that is not in memory now; uptr() and kptr() say which memory is meant";
}

void faults_account(struct session *s)
{
	vec_for(f, &s->image->faults)
		if (s->head && f->is_read)
			account_add(&s->account, ACCOUNT_READS, &f->span, NULL, read_reason(f->helper), read_count(s, f).cnt);
	if (s->image->warns_more)
		account_told(&s->account, ACCOUNT_READS);
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
		struct fault_count c = is_told(s, f) ? read_count(s, f) : (struct fault_count){};

		if (c.cnt && !s->faults_told[i])
			tell(s, f, c, 1);
		if (c.cnt > 1 && is_end)
			tell(s, f, c, c.cnt);
		s->faults_told[i] |= c.cnt != 0;
	}
}

void faults_reset(struct session *s)
{
	faults_account(s);
	for (u32 i = 0; s->head && i < s->image->faults.cnt; i++) {
		memset((u8 *)s->head + s->image->faults.at[i].off, 0, sizeof(struct fault_count));
		if (s->faults_told)
			s->faults_told[i] = false;
	}
}

bool full_maps_possible(const struct session *s)
{
	vec_for(m, &s->image->script_maps)
		for (const struct layer *y = m->top; y; y = y->behind)
			if (y->store->lost)
				return s->head != NULL;
	return false;
}

void full_maps_look(struct session *s)
{
	bool is_exact;

	if (!s->lossy) {
		s->lossy = xrealloc(NULL, s->image->script_maps.cnt * sizeof(*s->lossy));
		memset(s->lossy, 0, s->image->script_maps.cnt * sizeof(*s->lossy));
	}
	for (u32 i = 0; i < s->image->script_maps.cnt; i++) {
		const struct script_map *m = &s->image->script_maps.at[i];

		if (s->lossy[i].is_known || !map_lost(m, (const u8 *)s->head, &is_exact))
			continue;
		s->lossy[i].is_full = map_is_full(s->obj, m);
		s->lossy[i].is_known = true;
	}
}

void full_maps_tell(struct session *s)
{
	full_maps_look(s);
	for (u32 i = 0; i < s->image->script_maps.cnt; i++) {
		const struct script_map *m = &s->image->script_maps.at[i];
		struct sbuf msg = {};

		if (s->lossy[i].is_told || !s->lossy[i].is_known)
			continue;
		if (s->lossy[i].is_full)
			sbuf_printf(
				&msg,
				"map %s is full: updates with new keys are lost, and counted; raise its limit of %u key%s (max_map_keys, or its declaration)",
				m->name, m->max_entries, m->max_entries == 1 ? "" : "s");
		else
			sbuf_printf(
				&msg,
				"map %s gets new keys faster than the kernel can allocate memory: lost updates are counted; insert fewer new keys at a time",
				m->name);
		out_message(&s->out, DIAG_WARNING, s->diag, &m->first_use, sbuf_str(&msg));
		sbuf_release(&msg);
		s->lossy[i].is_told = true;
	}
}
