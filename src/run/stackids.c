#include "run/stackids.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* How long the thread waits until it looks again: at first new stacks come in numbers; if none came, twice as long, up to a second. */
enum { WAIT_LEAST_MS = 10, WAIT_MOST_MS = 1000 };

struct table {
	const struct map *map;
	struct stack_ids_head *head; /* shared with the programs … */
	u8 *states;                  /* … as these are */
	u64 **frames;                /* of each number that is known */
	u32 frames_sz;
	u32 known;
	bool is_over; /* nothing more is learned */
};

struct stack_ids {
	struct object *obj;
	struct table *tables;
	u32 cnt;
	pthread_t thread;
	bool has_thread, is_over;
	pthread_mutex_t lock;
	pthread_cond_t woken;
};

static void refuse(struct table *t, bool is_refused)
{
	__atomic_store_n(&t->head->refusal, is_refused ? STACK_IDS_REFUSED : 0, __ATOMIC_SEQ_CST);
}

static void refuse_all(struct stack_ids *s, bool is_refused)
{
	for (u32 i = 0; i < s->cnt; i++)
		refuse(&s->tables[i], is_refused);
}

struct stack_ids *stack_ids_new(struct object *obj, const struct compile *c)
{
	u8 *data = obj->ops->quiesce ? obj->ops->map_mem(obj, MAP_IDX_DATA) : NULL;
	struct stack_ids *s = NULL;

	vec_for(m, &c->maps) {
		if (!data || !(*m)->stack_ids.cnt)
			continue;
		if (!s) {
			s = xzalloc(sizeof(*s));
			s->obj = obj;
			s->tables = xzalloc(c->maps.cnt * sizeof(*s->tables));
		}
		struct table *t = &s->tables[s->cnt++];

		t->map = *m;
		t->head = (struct stack_ids_head *)(data + (*m)->stack_ids.off);
		t->states = (u8 *)(t->head + 1);
		t->frames = xzalloc((*m)->stack_ids.cnt * sizeof(*t->frames));
		t->frames_sz = obj->image->maps.at[(*m)->stack_ids.image_map].value_sz;
		refuse(t, true);
	}
	return s;
}

static bool has_news(const struct table *t)
{
	for (u32 i = 0; i < t->map->stack_ids.cnt; i++)
		if (__atomic_load_n(&t->states[i], __ATOMIC_RELAXED) == STACK_ID_SEEN)
			return !t->is_over;
	return false;
}

/* While no program asks. Returns how many are new, or -errno. */
static int read_stacks(const struct stack_ids *s, struct table *t)
{
	int cnt = 0;

	for (u32 i = 0; i < t->map->stack_ids.cnt; i++) {
		u64 *frames;
		int err;

		if (t->states[i] != STACK_ID_SEEN)
			continue;
		frames = xzalloc(t->frames_sz);
		err = s->obj->ops->map_lookup(s->obj, t->map->stack_ids.image_map, &i, frames);
		if (err) {
			free(frames);
			return err;
		}
		__atomic_store_n(&t->frames[i], frames, __ATOMIC_RELEASE);
		__atomic_store_n(&t->states[i], STACK_ID_KNOWN, __ATOMIC_RELEASE);
		cnt++;
	}
	return cnt;
}

/* Where there are so many stacks that most new ones find their place taken, asking is in vain too often. */
static bool is_crowded(const struct table *t)
{
	return t->known > t->map->stack_ids.cnt / 2;
}

int stack_ids_learn(struct stack_ids *s)
{
	bool is_any_new = false, is_over = true;
	int err, total = 0;

	for (u32 i = 0; i < s->cnt; i++)
		if (has_news(&s->tables[i])) {
			refuse(&s->tables[i], true);
			is_any_new = true;
		}
	if (!is_any_new)
		return 0;
	err = s->obj->ops->quiesce(s->obj);
	for (u32 i = 0; i < s->cnt; i++) {
		struct table *t = &s->tables[i];
		int cnt = err ? err : t->head->refusal && !t->is_over ? read_stacks(s, t) : 0;

		t->known += MAX(cnt, 0);
		total += MAX(cnt, 0);
		t->is_over |= cnt < 0 || is_crowded(t);
		is_over &= t->is_over;
		refuse(t, t->is_over);
	}
	return is_over ? -ENOSPC : total;
}

/* False: it is time to end. */
static bool wait_for(struct stack_ids *s, u32 ms)
{
	struct timespec until;
	bool is_over;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms % 1000 * 1000000l;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&s->lock);
	while (!s->is_over && !pthread_cond_timedwait(&s->woken, &s->lock, &until))
		;
	is_over = s->is_over;
	pthread_mutex_unlock(&s->lock);
	return !is_over;
}

static void *learn(void *arg)
{
	struct stack_ids *s = arg;
	u32 ms = WAIT_LEAST_MS;
	int got = 0;

	while (got >= 0 && wait_for(s, ms)) {
		got = stack_ids_learn(s);
		ms = got ? WAIT_LEAST_MS : MIN(2 * ms, WAIT_MOST_MS);
	}
	return NULL;
}

/* While a system call reads a map, the kernel runs no program of a kprobe or a perf event on that CPU. A thread that is preempted there, by one that is traced, would cost
 * all hits until it goes on; so nothing ordinary may preempt this one, or it does not run. */
static bool start_thread(struct stack_ids *s)
{
	pthread_attr_t attr;
	bool is_started;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &(struct sched_param){ .sched_priority = 1 });
	is_started = !pthread_create(&s->thread, &attr, learn, s);
	pthread_attr_destroy(&attr);
	return is_started;
}

void stack_ids_start(struct stack_ids *s)
{
	pthread_condattr_t clock;
	sigset_t all, before;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->woken, &clock);
	pthread_condattr_destroy(&clock);
	/* Signals are for the thread that waits for events. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	refuse_all(s, false); /* before there is a thread that may decide otherwise */
	s->has_thread = start_thread(s);
	if (!s->has_thread)
		refuse_all(s, true);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void stack_ids_stop(struct stack_ids *s)
{
	if (!s || !s->has_thread)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_signal(&s->woken);
	pthread_mutex_unlock(&s->lock);
}

void stack_ids_free(struct stack_ids *s)
{
	if (!s)
		return;
	stack_ids_stop(s);
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	for (u32 i = 0; i < s->cnt; i++) {
		for (u32 id = 0; id < s->tables[i].map->stack_ids.cnt; id++)
			free(s->tables[i].frames[id]);
		free(s->tables[i].frames);
	}
	free(s->tables);
	free(s);
}

const u64 *stack_ids_frames(const struct stack_ids *s, const struct map *m, u64 id)
{
	for (u32 i = 0; s && i < s->cnt; i++)
		if (s->tables[i].map == m && id < m->stack_ids.cnt)
			return __atomic_load_n(&s->tables[i].frames[id], __ATOMIC_ACQUIRE);
	return NULL;
}
