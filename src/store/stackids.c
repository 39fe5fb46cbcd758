/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's stack ids.
 *
 * A stack as a key is up to a kilobyte, which is copied, hashed and compared for each event. The kernel can do all of that at
 * once: bpf_get_stackid() looks a stack up in a table and returns its index. A key that ends in such an id is small, and has a
 * cell (store/cells.h).
 *
 * But the id alone is not reliable. An entry of the table belongs to the first stack that gets it (others get an error), yet
 * two CPUs that insert different stacks at the same time both get the id, and one stack is lost; and while user space reads an
 * entry, the kernel removes it from the table, so that another stack may take the entry for a moment. So:
 *
 *   Programs mark the ids that they see, and use only those that user space has published as known. For any other id they copy
 *   the frames and update the hash map, as they would without ids.
 *
 *   User space looks for marks. When there are some, it makes programs stop requesting ids (stack_ids_head.refusal) and waits
 *   until those that requested one before have ended. Now no program accesses the table. It reads the marked stacks, publishes
 *   their ids as known, and lets programs request ids again. An entry that is in the table from then on stays there, because
 *   the kernel does not reassign it.
 *
 * Thus a known id stands for one stack, the one that was read; entries are never read while a program may access them. The same
 * stack may be in cells and in the hash map: user space adds them up.
 */
#include "store/stacks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "image/feature.h"
#include "image/pack.h"
#include "image/uapi.h"
#include "lang/provider.h"
#include "store/hash.h"

/* ---- user space: learning numbers ---- */

/* How long the thread waits until it looks again: at first new stacks come in numbers; if none came, twice as long, up to a
 * second. */
enum { WAIT_LEAST_MS = 10, WAIT_MOST_MS = 1000 };

struct table {
	const struct stack_ids_layer *layer;
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

/* Until start(), programs do not ask for numbers. */
static void *open_ids(struct object *obj)
{
	u8 *data = obj->ops->quiesce ? obj->ops->map_mem(obj, MAP_IDX_DATA) : NULL;
	struct stack_ids *s = NULL;

	vec_for(m, &obj->image->script_maps) {
		const struct stack_ids_layer *y = stack_ids_layer(m->top);
		struct table *t;

		if (!data || m->top->store != &store_stack_ids)
			continue;
		if (!s) {
			s = xzalloc(sizeof(*s));
			s->obj = obj;
			s->tables = xzalloc(obj->image->script_maps.cnt * sizeof(*s->tables));
		}
		t = &s->tables[s->cnt++];
		t->layer = y;
		t->head = (struct stack_ids_head *)(data + y->off);
		t->states = (u8 *)(t->head + 1);
		t->frames = xzalloc(y->cnt * sizeof(*t->frames));
		t->frames_sz = obj->image->maps.at[y->image_map].value_sz;
		refuse(t, true);
	}
	return s;
}

static bool has_news(const struct table *t)
{
	for (u32 i = 0; i < t->layer->cnt; i++)
		if (__atomic_load_n(&t->states[i], __ATOMIC_RELAXED) == STACK_ID_SEEN)
			return !t->is_over;
	return false;
}

/* While no program asks. Returns how many are new, or -errno. */
static int read_stacks(const struct stack_ids *s, struct table *t)
{
	int cnt = 0;

	for (u32 i = 0; i < t->layer->cnt; i++) {
		u64 *frames;
		int err;

		if (__atomic_load_n(&t->states[i], __ATOMIC_RELAXED) != STACK_ID_SEEN)
			continue;
		if (t->frames[i]) { /* a program had an old state */
			__atomic_store_n(&t->states[i], STACK_ID_KNOWN, __ATOMIC_RELEASE);
			continue;
		}
		frames = xzalloc(t->frames_sz);
		err = s->obj->ops->map_lookup(s->obj, t->layer->image_map, &i, frames);
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
	return t->known > t->layer->cnt / 2;
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

/* While a system call reads a map, the kernel runs no program of a kprobe or a perf event on that CPU. A thread that is preempted
 * there, by one that is traced, would cost all hits until it goes on; so nothing ordinary may preempt this one, or it does not
 * run. */
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

/* From now on a thread looks for numbers that programs have seen, and learns them. Where it may not run all goes on, a bit
 * slower. */
static void start(void *work)
{
	struct stack_ids *s = work;
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

/* The thread is to end; it may take a moment, for which only close_ids() waits. */
static void stop(void *work)
{
	struct stack_ids *s = work;

	if (!s->has_thread)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_signal(&s->woken);
	pthread_mutex_unlock(&s->lock);
}

static void close_ids(void *work)
{
	struct stack_ids *s = work;

	stop(s);
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	for (u32 i = 0; i < s->cnt; i++) {
		for (u32 id = 0; id < s->tables[i].layer->cnt; id++)
			free(s->tables[i].frames[id]);
		free(s->tables[i].frames);
	}
	free(s->tables);
	free(s);
}

/* The frames of a number, and room for more, which is zero; NULL: not known. */
static const u64 *frames_of(const struct stack_ids *s, const struct layer *y, u64 id)
{
	for (u32 i = 0; s && i < s->cnt; i++)
		if (s->tables[i].layer == stack_ids_layer(y) && id < s->tables[i].layer->cnt)
			return __atomic_load_n(&s->tables[i].frames[id], __ATOMIC_ACQUIRE);
	return NULL;
}

/* ---- user space: the map ---- */

static void pack(struct packer *p, struct layer *y)
{
	struct stack_ids_layer *s = (struct stack_ids_layer *)y;

	cells_pack(p, y);
	pack_value(p, &s->cnt);
	pack_value(p, &s->image_map);
	pack_value(p, &s->off);
}

static bool is_sound(const struct image *img, const struct script_map *m, const struct layer *y)
{
	const struct stack_ids_layer *s = stack_ids_layer(y);
	const struct store *behind = y->behind ? y->behind->store : NULL;
	const struct type *t;
	u32 off;

	if (!behind || (behind != &store_short_stacks && behind != &store_hash) || !behind->is_sound(img, m, y->behind))
		return false;
	t = key_last_stack(m->key, &off);
	return t && type_is_agg(m->val) && cells_of(y)->is_percpu && cells_are_sound(img, m, cells_of(y)) &&
		cells_of(y)->key_sz == off + type_stack_head(t) && t->cnt * 8 == m->key->size - cells_of(y)->key_sz &&
		is_pow2(s->cnt) && s->image_map < img->maps.cnt && img->maps.at[s->image_map].type == BPF_MAP_TYPE_STACK_TRACE &&
		img->maps.at[s->image_map].max_entries == s->cnt && img->maps.at[s->image_map].value_sz == t->cnt * 8 &&
		!(s->off % 8) && is_within(s->off, sizeof(struct stack_ids_head) + s->cnt, img->data.shared_sz);
}

/* The map's key, of one that ends in a number. All frames that there is room for count. */
static void expand(struct object *obj, const struct script_map *m, const struct layer *y, const u8 *head, u8 *key)
{
	u32 head_sz = cells_of(y)->key_sz;
	u64 id, cnt = (m->key->size - head_sz) / 8;
	const u64 *frames;

	memcpy(&id, head + head_sz - 8, 8);
	frames = frames_of(store_work(obj, &store_stack_ids), y, id);
	BUG_ON(!frames); /* or programs would not have used the number */
	memcpy(key, head, head_sz - 8);
	memcpy(key + head_sz - 8, &cnt, 8);
	memcpy(key + head_sz, frames, 8 * cnt);
}

/* How many frames a stack has is not known where a number stands for it, so no stack of the map ends with an address of 0. */
static void trim(const struct script_map *m, const struct layer *y, u8 *key)
{
	u32 head_sz = cells_of(y)->key_sz;
	u64 most = (m->key->size - head_sz) / 8, cnt, frame;

	memcpy(&cnt, key + head_sz - 8, 8);
	for (cnt = MIN(cnt, most); cnt; cnt--) {
		memcpy(&frame, key + head_sz + 8 * (cnt - 1), 8);
		if (frame)
			break;
	}
	memcpy(key + head_sz - 8, &cnt, 8);
}

static const struct cell_keys keys = { expand, trim };

static int read_map(struct object *obj, const struct script_map *m, const struct layer *y, struct map_dump *d)
{
	return cells_read(obj, m, y, &keys, MAP_KEEP, d);
}

static int take(struct object *obj, const struct script_map *m, const struct layer *y, enum map_reset how, struct map_dump *d)
{
	return cells_read(obj, m, y, &keys, how, d);
}

/* ---- layout ---- */

enum { IDS = 2048 };

static bool plan(const struct compile *c, const struct map *m, struct cells *t)
{
	enum { TIMES = 4 }; /* where a cell belongs to another key, the kernel has walked over the stack in vain */
	u32 off;
	const struct type *stack = key_last_stack(m->key, &off);

	*t = (struct cells){ .is_percpu = true };
	if (!stack || stack->cnt > STACK_ID_FRAMES)
		return false;
	t->key_sz = off + type_stack_head(stack);
	return cells_plan(m, TIMES * cells_bytes(c, true), t);
}

/* Nothing but updates and user space may look at the map. A sum that is 0 and one that was cleared would look the same. */
static bool fits(const struct compile *c, const struct map *m, const struct store *front)
{
	struct cells t;

	return !front && m->has_key && !m->decl && m->is_by_stack && !m->other_uses && type_is_agg(m->val) &&
		(agg_may_be_0(m->val) ? !m->is_cleared : m->val->agg->add != NULL) && target_has(c, KF_STACK_IDS) &&
		plan(c, m, &t);
}

static struct layer *lay_out(struct compile *c, struct map *m, struct data_room *room, const struct store *front)
{
	struct stack_ids_layer *y = arena_new(c->arena, struct stack_ids_layer);
	struct cells t;

	plan(c, m, &t);
	cells_lay_out(c, m, room, &store_stack_ids, &t, &y->front);
	y->cnt = IDS;
	c->image->waits = true;
	y->off = data_take(&room->shared, sizeof(struct stack_ids_head) + IDS, 64);
	return &y->front.base;
}

static void add_maps(struct compile *c, struct map *m, struct layer *y)
{
	struct stack_ids_layer *s = (struct stack_ids_layer *)y;
	u32 off;

	s->image_map = c->image->maps.cnt;
	avec_push(c->arena, &c->image->maps,
		  (struct image_map){ .name = "sonde_stacks",
				      .type = BPF_MAP_TYPE_STACK_TRACE,
				      .key_sz = 4,
				      .value_sz = key_last_stack(m->key, &off)->cnt * 8,
				      .max_entries = s->cnt });
}

/* ---- programs ---- */

static vreg head_of(struct lower *l, const struct layer *y)
{
	return ir_mapval(&l->b, MAP_IDX_DATA, stack_ids_layer(y)->off);
}

/* For the function that gives the stack: asks for the number. */
static vreg ask(struct lower *l, const struct stack_id *id, u64 flags)
{
	vreg asked = ir_load(&l->b, head_of(l, id->layer), offsetof(struct stack_ids_head, refusal), 8);

	if (flags)
		asked = ir_alu(&l->b, IR_OR, asked, opnd_imm(flags));
	return ir_call_of(&l->b, HELPER_get_stackid, opnd_reg(lower_ctx(l)),
			  opnd_reg(ir_map(&l->b, stack_ids_layer(id->layer)->image_map)), opnd_reg(asked));
}

/* The key of an update; of its last part only what precedes the frames, if id->r is set then. */
static struct mem lower_key(struct lower *l, struct layer *y, struct expr *e, struct stack_id *id)
{
	struct stack_id *outer = l->stack_id;
	struct mem key;

	*id = (struct stack_id){ .of = expr_last_of_key(e->map.key), .layer = y, .ask = ask };
	/* One of fewer frames than the map has room for is not what the kernel's table would have. */
	if (id->of->type->cnt * 8 == l->image->maps.at[stack_ids_layer(y)->image_map].value_sz)
		l->stack_id = id;
	key = lower_map_key(l, e);
	l->stack_id = outer;
	return key;
}

/* Goes to `mine`, with the key's cell in *s, or to `other`. */
static void claim(struct lower *l, const struct map *m, struct mem key, const struct stack_id *id, struct cell *s,
		  struct ir_block *mine, struct ir_block *other)
{
	struct ir_block *is_one = ir_block_new(l->b.f), *is_known = ir_block_new(l->b.f), *mark_it = ir_block_new(l->b.f);
	struct layer *y = id->layer;
	u32 mark = lower_mark(l);
	vreg state;

	mark_it->is_seldom = true;
	ir_br(&l->b, C_ULT, id->r, opnd_imm(stack_ids_layer(y)->cnt), is_one, other);
	ir_place(&l->b, is_one);
	state = ir_alu(&l->b, IR_ADD, head_of(l, y), opnd_reg(id->r));
	ir_br(&l->b, C_EQ, ir_load(&l->b, state, sizeof(struct stack_ids_head), 1), opnd_imm(STACK_ID_KNOWN), is_known, mark_it);
	ir_place(&l->b, mark_it);
	ir_store(&l->b, state, sizeof(struct stack_ids_head), 1, opnd_imm(STACK_ID_SEEN));
	ir_jmp(&l->b, other);
	ir_place(&l->b, is_known);
	/* Where the number of frames would be, the last of what precedes them. */
	ir_store(&l->b, key.base, key.off + cells_of(y)->key_sz - 8, 8, opnd_reg(id->r));
	*s = cell_by_key(l, y, m, key);
	cell_claim(l, s, mine, other);
	lower_forget(l, mark);
}

/* In the cell, or behind: then with the frames after all, so that the key is whole. */
static void element_by_id(struct lower *l, const struct map *m, struct mem key, const struct stack_id *id, vreg p)
{
	struct ir_block *mine = ir_block_new(l->b.f), *other = ir_block_new(l->b.f);
	struct layer *behind = id->layer->behind;
	u32 mark = lower_mark(l);
	struct cell s;

	claim(l, m, key, id, &s, mine, other);
	ir_place(&l->b, other);
	id->of->call.fn->lower(l, id->of, &id->at);
	behind->store->code->element(l, behind, m, key, p);
	lower_forget(l, mark);
	cell_meet(l, &s, p, mine);
}

/* Where a program runs seldom, the table would not pay: user space adds both up. */
static void update(struct lower *l, struct layer *y, struct expr *e, struct expr *call)
{
	struct stack_id id;
	struct mem key;
	vreg p;

	if (unit_is_rare(l->unit)) {
		lower_update_by_key(l, y->behind, e, call);
		return;
	}
	p = ir_vreg(l->b.f);
	key = lower_key(l, y, e, &id);
	lower_pin_args(l, call);
	if (id.r)
		element_by_id(l, e->map.map, key, &id, p);
	else
		y->behind->store->code->element(l, y->behind, e->map.map, key, p);
	lower_update_at(l, call, p);
}

static const struct store_code code = {
	.keeps_cpus_apart = true, .fits = fits, .lay_out = lay_out, .add_maps = add_maps, .update = update
};

const struct store store_stack_ids = {
	.name = "stack_ids",
	.code = &code,
	.layer_sz = sizeof(struct stack_ids_layer),
	.pack = pack,
	.is_sound = is_sound,
	.read = read_map,
	.take = take,
	.open = open_ids,
	.start = start,
	.stop = stop,
	.close = close_ids,
};
