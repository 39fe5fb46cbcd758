/* Building the image: maps are laid out, units lowered, and everything that depends on all of them (the size of the scratch area, of the
 * constants) decided, before the code is finished. */
#include "bpf/image.h"

#include "bpf/backend.h"
#include "fn/fn.h"
#include "ir/lower.h"
#include "kern/feature.h"
#include "kern/uapi.h"
#include "probe/provider.h"

static u32 take(u32 *at, u32 size, u32 align)
{
	u32 off = ALIGN_UP(*at, align);

	*at = off + size;
	return off;
}

/* On how few CPUs all of them share one value of a key. */
enum { SHARING_CPUS = 8 };

/* Where the updates of an aggregation with key go. A value for each CPU is never waited for, but the kernel needs 10 µs and more to allocate one
 * when a new key comes, and in a burst of new keys fails to; a value in a plain hash map takes a tenth of a microsecond. What is one atomic instruction
 * goes there, unless so many CPUs might meet at one key that they would wait long for each other. Where slots are in front, which each CPU has for itself, they
 * seldom meet. */
static enum map_storage agg_storage(const struct compile *c, const struct map *m)
{
	bool is_one_add = m->val->kind != T_MIN && m->val->kind != T_MAX && m->val->kind != T_TSERIES;

	return is_one_add && !m->decl && (c->target->ncpus <= SHARING_CPUS || m->slots.cnt) ? MAP_HASH : MAP_HASH_PERCPU;
}

static void note_changes_in_place(const struct expr *e)
{
	const struct expr *of = e->kind == E_INCDEC ? e->incdec.target : e->kind == E_UNARY && e->unary.op == UN_ADDR ? e->unary.a : NULL;

	if (of && of->kind == E_MAP && of->map.map)
		of->map.map->element_uses++;
}

struct user {
	const struct compile *c;
	const struct unit *unit;
};

static void look_for_uses(struct expr *e, void *arg)
{
	const struct expr *first = e->kind == E_CALL && e->call.arg_cnt ? e->call.args[0] : NULL;
	const struct user *u = arg;
	struct map *m;
	u32 flags;

	if (e->kind == E_MAP && e->map.map) {
		bool is_sum = e->map.is_updated || e->map.is_added, is_busy = is_sum && !unit_is_rare(u->unit);

		e->map.map->is_busy |= is_busy;
		e->map.map->is_by_stack |= is_busy && e->map.key && fn_stack_has_id(u->c, u->unit, expr_last_of_key(e->map.key));
		e->map.map->other_uses += !is_sum;
		e->map.map->element_uses += e->map.is_changed || !e->map.key;
	}
	note_changes_in_place(e);
	if (!first || first->kind != E_MAP || !first->map.map || !e->call.fn)
		return;
	m = first->map.map;
	flags = e->call.fn->flags;
	if (flags & FN_ALL_OF_MAP) {
		m->other_uses -= !first->map.key;
		m->element_uses += first->map.key ? 1 : -1;
	} else if (flags & FN_BY_KEY) {
		m->element_uses -= !first->map.key;
	}
	m->is_churned |= flags & FN_REMOVES;
	m->is_cleared |= flags & FN_CLEARS;
}

static void count_uses(struct compile *c)
{
	vec_for(u, &c->units) {
		struct user user = { c, *u };

		if ((*u)->pred)
			expr_walk((*u)->pred, look_for_uses, &user);
		block_walk((*u)->body, look_for_uses, &user);
	}
}

/* They begin with 0, which is no site, see site_value(). */
static u32 site_value_cnt(const struct compile *c)
{
	return c->sites.cnt + 1;
}

/* An aggregation by probe needs no hash map: a script has so many probes. The value says whether there is one, so a sum, which may be 0, is not kept
 * like this; and nothing but updates and user space may look at the map, since programs would have to know of another kind. */
static bool is_by_site(const struct compile *c, const struct map *m)
{
	enum { CPU_BYTES_MAX = 8 << 10 };

	return m->key->kind == T_SITE && type_is_agg(m->val) && m->val->kind != T_SUM && m->val->kind != T_TSERIES && !m->decl && !m->other_uses &&
	       site_value_cnt(c) <= c->config.max_map_keys && site_value_cnt(c) <= CPU_BYTES_MAX / m->val->size;
}

/* What programs do with the map is to add to values. A sum that is 0 and one that was cleared would look the same. */
static bool may_be_summed(const struct map *m)
{
	bool is_sum = m->val->kind == T_SUM || (m->val->kind == T_INT && m->val->size == 8);

	return m->is_busy && !m->other_uses && (is_sum ? !m->is_cleared : type_is_agg(m->val) && m->val->kind != T_TSERIES);
}

/* What they do is to assign, to look and to delete. */
static bool may_be_shared(const struct map *m)
{
	return m->is_churned && !m->element_uses && slot_key_is_small(m->key) && type_is_scalar(m->val) && m->val->kind != T_BOOL;
}

/* The stack that a key ends in, with its offset; NULL: none. */
static const struct type *last_stack(const struct type *key, u32 *off)
{
	const struct member *last = key->kind == T_TUPLE && key->member_cnt ? &key->members[key->member_cnt - 1] : NULL;
	const struct type *t = last ? last->type : key;

	*off = last ? last->off : 0;
	return type_is_stack(t) && *off + t->size == key->size ? t : NULL;
}

/* Whether the kernel's number can stand for the stack that a key ends in, see ir/lower_stackid.c. *head: bytes of the key before the frames. */
static bool has_stack_ids(const struct compile *c, const struct map *m, u32 *head)
{
	u32 off;
	const struct type *t = last_stack(m->key, &off);

	if (!t || !m->is_by_stack || t->cnt > STACK_ID_FRAMES || !type_is_agg(m->val) || !target_has(c, KF_STACK_IDS))
		return false;
	*head = off + type_stack_head(t);
	return true;
}

/* Slots in front of the hash map, see ir/lower_slots.c. They come on top of the map's limit, so they have to be few beside it. */
static void lay_out_slots(const struct compile *c, struct map *m, u32 *shared, u32 *cpu)
{
	enum { CPU_BYTES = 16 << 10, ALL_CPUS_BYTES = 512 << 10, SHARED_BYTES = 64 << 10, LEAST = 16, SHARE = 16, STACKS_TIMES = 4, STACK_IDS = 2048 };
	struct map_slots s = { .is_percpu = may_be_summed(m), .key_sz = m->key->size };
	u32 bytes = s.is_percpu ? MIN(CPU_BYTES, ALL_CPUS_BYTES / c->image->data.cpu_cnt) : SHARED_BYTES;
	bool has_ids;

	if ((!s.is_percpu && !may_be_shared(m)) || m->decl)
		return;
	has_ids = s.is_percpu && has_stack_ids(c, m, &s.key_sz);
	if (has_ids)
		bytes *= STACKS_TIMES; /* where a slot is taken, the kernel has walked over the stack in vain */
	if (s.key_sz > SLOT_KEY_MAX)
		return;
	s.val_off = 8 + (slot_key_is_small(m->key) ? 0 : ALIGN_UP(s.key_sz, 8));
	s.size = s.val_off + ALIGN_UP(m->val->size, 8);
	s.cnt = pow2_up(bytes / s.size / 2 + 1);
	if (s.cnt < LEAST || s.cnt > m->max_entries / SHARE)
		return;
	s.off = take(s.is_percpu ? cpu : shared, s.cnt * s.size, 64);
	m->slots = s;
	if (has_ids)
		m->stack_ids = (struct map_stack_ids){ .cnt = STACK_IDS, .off = take(shared, sizeof(struct stack_ids_head) + STACK_IDS, 64) };
}

static void lay_out_map(struct compile *c, struct map *m, u32 *shared, u32 *cpu)
{
	bool is_agg = type_is_agg(m->val);

	m->flag_off = take(shared, 1, 1);
	m->max_entries = m->decl ? m->decl->max_entries : c->config.max_map_keys;
	if (m->has_key && is_by_site(c, m)) {
		m->storage = MAP_SITES_PERCPU;
		m->max_entries = site_value_cnt(c);
		m->data_off = take(cpu, m->max_entries * m->val->size, 8);
	} else if (m->has_key) {
		m->lost_off = take(shared, 8, 8);
		if (is_agg || type_is_integral(m->val))
			m->spill_off = take(shared, ALIGN_UP(m->val->size, 8), 8);
		lay_out_slots(c, m, shared, cpu);
		m->storage = is_agg ? agg_storage(c, m) : MAP_HASH;
	} else if (is_agg) {
		m->storage = MAP_SCALAR_PERCPU;
		m->data_off = take(cpu, m->val->size, 8);
	} else {
		m->storage = MAP_SCALAR;
		m->data_off = take(shared, ALIGN_UP(MAX(1, m->val->size), 8), 8);
	}
}

static u32 hash_type(const struct map *m)
{
	bool is_lru = m->decl && strstr(m->decl->kind, "lru"), is_percpu = m->storage == MAP_HASH_PERCPU;

	if (is_lru)
		return is_percpu ? BPF_MAP_TYPE_LRU_PERCPU_HASH : BPF_MAP_TYPE_LRU_HASH;
	return is_percpu ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
}

/* Elements are allocated when they are needed: start-up does not pay for keys that never come. But where entries come and go with every other event, as the
 * start times of a latency do (and no slots are in front of them), taking one from a list is quicker; and a program that makes many keys in one run may not get the memory for them in time.
 * (An LRU map has such a list anyway.) */
static bool is_preallocated(const struct map *m)
{
	enum { ELEMENT_HEAD = 48, BYTES_MAX = 8 << 20 };
	u64 size = ELEMENT_HEAD + ALIGN_UP(m->key->size, 8) + ALIGN_UP(m->val->size, 8);

	if (m->decl && strstr(m->decl->kind, "lru"))
		return true;
	return ((m->is_churned && !m->slots.cnt) || m->is_hurried) && m->storage == MAP_HASH && m->max_entries * size <= BYTES_MAX;
}

/* The kernel hashes and compares whole keys, and a stack that has room for 127 frames is a kilobyte, most of it zeroes. An aggregation by stack, of which nothing
 * but updates and user space knows, has a second hash map for stacks of few frames: its key is the start of the other's. */
static void add_short_map(struct compile *c, struct map *m, struct image_map like)
{
	enum { FEW_FRAMES = 24 };
	u32 off;
	const struct type *t = last_stack(m->key, &off);

	if (!t || t->cnt < 2 * FEW_FRAMES || !type_is_agg(m->val) || m->decl || m->other_uses)
		return;
	m->short_map = c->image->maps.cnt;
	m->short_cnt_off = off + type_stack_head(t) - 8;
	m->short_max = FEW_FRAMES;
	like.key_sz = off + type_stack_head(t) + (FEW_FRAMES << type_frame_shift(t));
	avec_push(c->arena, &c->image->maps, like);
}

static void add_stack_ids(struct compile *c, struct map *m)
{
	u32 off;

	if (!m->stack_ids.cnt)
		return;
	m->stack_ids.image_map = c->image->maps.cnt;
	avec_push(c->arena, &c->image->maps, (struct image_map){
		.name = "sonde_stacks", .type = BPF_MAP_TYPE_STACK_TRACE, .key_sz = 4, .value_sz = last_stack(m->key, &off)->cnt * 8,
		.max_entries = m->stack_ids.cnt });
}

/* "@start" is "start" to the kernel's tools; names have at most 15 letters. */
static const char *kernel_name(struct compile *c, const char *name)
{
	char *s = arena_strndup(c->arena, name[1] ? name + 1 : "anon", MIN(15, strlen(name[1] ? name + 1 : "anon")));

	return s;
}

static void lay_out_maps(struct compile *c)
{
	struct image *img = c->image;
	u32 shared = sizeof(struct data_head), cpu = 0;

	img->data.cpu_cnt = pow2_up(c->target->ncpus);
	count_uses(c);
	vec_for(m, &c->maps)
		lay_out_map(c, *m, &shared, &cpu);
	if (c->needs_guard)
		img->data.guard_off = take(&cpu, 8, 8);
	img->data.shared_sz = ALIGN_UP(shared, 64);
	img->data.cpu_sz = ALIGN_UP(cpu, 64);
	img->data.total_sz = img->data.shared_sz + img->data.cpu_cnt * img->data.cpu_sz;
	for (u32 i = 0; i < MAP_IDX_USER; i++)
		avec_push(c->arena, &img->maps, (struct image_map){});
	vec_for(pm, &c->maps) {
		struct map *m = *pm;

		if (m->storage != MAP_HASH && m->storage != MAP_HASH_PERCPU)
			continue;
		struct image_map hash = {
			.name = kernel_name(c, m->name),
			.type = hash_type(m),
			.key_sz = MAX(1, m->key->size),
			.value_sz = MAX(1, m->val->size),
			.max_entries = m->max_entries,
			.flags = is_preallocated(m) ? 0 : BPF_F_NO_PREALLOC,
			.map = m,
		};

		m->image_map = img->maps.cnt;
		avec_push(c->arena, &img->maps, hash);
		add_short_map(c, m, hash);
		add_stack_ids(c, m);
	}
}

/* Bytes of the event ring: a power of two of pages. All of them are allocated and mapped twice when it is made, which for a megabyte takes a third of a
 * millisecond and shows as two megabytes of ours: a script that seldom says something gets a small one. One that says much gets what holds the ten million
 * records of a second, 24 bytes each, for a few ticks of the clock: that long the reader may have to wait for its CPU. */
static u32 ring_size(const struct compile *c)
{
	enum { SMALL = 64 << 10, LARGE = 4 << 20, CPU_SHARE = 256 << 10, LARGEST = 32 << 20, RUNS = 16 };
	u64 pages = c->config.perf_rb_pages, few = c->image->rare_sz * RUNS;

	if (pages)
		return pow2_up(MAX(1, MIN(pages, 1 << 18))) * 4096;
	if (!c->image->sends_often && few < LARGE)
		return MAX(SMALL, pow2_up((u32)few));
	return MAX(LARGE, MIN(LARGEST, pow2_up(c->target->ncpus) * CPU_SHARE));
}

/* Gives every unit that asked for scratch (size) its place. Returns the bytes of all. */
static u32 place_scratch(struct compile *c, struct scratch_place *at)
{
	u32 cpu_cnt = c->image->data.cpu_cnt, shared = 0, total;

	for (u32 i = 0; i < c->units.cnt; i++) {
		at[i].cpu_cnt = cpu_cnt;
		at[i].is_shared = c->units.at[i]->provider->flags & PROV_REENTRANT;
		if (at[i].is_shared)
			shared = MAX(shared, at[i].size);
	}
	total = shared * SCRATCH_LEVELS * cpu_cnt;
	for (u32 i = 0; i < c->units.cnt; i++) {
		if (at[i].is_shared) {
			at[i].size = shared;
		} else {
			at[i].off = total;
			total += at[i].size * cpu_cnt;
		}
	}
	return total;
}

static void make_fixed_maps(struct compile *c, u32 scratch_sz)
{
	struct image *img = c->image;
	struct image_map *m = img->maps.at;

	m[MAP_IDX_DATA] = (struct image_map){ .name = "sonde_data", .type = BPF_MAP_TYPE_ARRAY, .key_sz = 4, .value_sz = img->data.total_sz,
					      .max_entries = 1, .flags = BPF_F_MMAPABLE };
	if (img->recs.cnt)
		m[MAP_IDX_RING] = (struct image_map){ .name = "sonde_ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = ring_size(c) };
	vec_for(r, &img->recs)
		if ((*r)->is_ctrl)
			m[MAP_IDX_CTRL] = (struct image_map){ .name = "sonde_ctrl", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 64 * 1024 };
	if (scratch_sz)
		m[MAP_IDX_SCRATCH] = (struct image_map){ .name = "sonde_scratch", .type = BPF_MAP_TYPE_ARRAY, .key_sz = 4,
							 .value_sz = scratch_sz, .max_entries = 1 };
	if (img->const_sz)
		m[MAP_IDX_CONST] = (struct image_map){ .name = "sonde_const", .type = BPF_MAP_TYPE_ARRAY, .key_sz = 4,
						       .value_sz = ALIGN_UP(img->const_sz, 8), .max_entries = 1, .flags = BPF_F_RDONLY_PROG,
						       .init = img->const_data, .init_sz = img->const_sz };
}

static void must_be_sound(const struct ir_func *f, const char *after)
{
	const char *why = ir_verify(f);

	if (why)
		BUG("%s: after %s: %s", f->name, after, why);
}

static void simplify(struct ir_func *f)
{
	for (u32 i = 0; i <= f->subs.cnt; i++) {
		struct ir_func *one = i ? f->subs.at[i - 1] : f;

		must_be_sound(one, "lowering");
		ir_simplify(one);
		must_be_sound(one, "simplification");
	}
}

static bool finish(struct compile *c, struct unit *u, struct ir_func *f, const struct scratch_place *scratch)
{
	struct image_prog prog = { .unit = u };
	u8 **regs = arena_alloc(&f->mem->funcs, (f->subs.cnt + 1) * sizeof(*regs));
	bool fits = true;
	u32 cnt = 0;

	for (u32 i = 0; i <= f->subs.cnt && fits; i++) {
		struct ir_func *one = i ? f->subs.at[i - 1] : f;

		if (!one->is_used)
			continue;
		cnt++;
		frame_expand(one, scratch);
		ir_simplify(one);
		must_be_sound(one, "frame_expand");
		regs[i] = regalloc(one);
		fits = regs[i] != NULL;
	}
	prog.stack_sz = f->stack_sz;
	if (!fits || (f->subs.cnt && frame_stack(f) > STACK_SZ)) {
		diag_error(c->diag, u->probe->span, E_TOO_BIG, "this probe needs more than the %d bytes of stack that a program has", STACK_SZ);
		diag_hint(c->diag, f->subs.cnt ? "nest fewer loops, or do less in them" : "use fewer variables at the same time, or split it into several probes");
		return false;
	}
	if (cnt > FUNCS_MAX) {
		diag_error(c->diag, u->probe->span, E_TOO_BIG, "this probe has %u loops, a program can have %d", cnt - 1, FUNCS_MAX - 1);
		diag_hint(c->diag, "a loop counts once for each round of an unroll, and each call of a macro or function, that it is in");
		return false;
	}
	if (!emit(c->arena, f, regs, &prog)) {
		diag_error(c->diag, u->probe->span, E_TOO_BIG, "this probe is too long for one program");
		diag_hint(c->diag, "split it into several probes on the same event");
		return false;
	}
	avec_push(c->arena, &c->image->progs, prog);
	return true;
}

static bool make_programs(struct compile *c, struct ir_mem *mem)
{
	struct ir_func **funcs = arena_alloc(&mem->funcs, (c->units.cnt + 1) * sizeof(*funcs));
	struct scratch_place *scratch = arena_alloc(&mem->funcs, (c->units.cnt + 1) * sizeof(*scratch));
	u32 before = c->diag->error_cnt, scratch_sz;

	for (u32 i = 0; i < c->units.cnt; i++) {
		funcs[i] = lower_unit(c, c->units.at[i], mem);
		simplify(funcs[i]);
		if (c->ir_text)
			ir_print(funcs[i], c->ir_text);
		frame_layout(funcs[i]);
		scratch[i].size = funcs[i]->scratch_sz;
	}
	if (c->diag->error_cnt != before)
		return false;
	scratch_sz = place_scratch(c, scratch);
	for (u32 i = 0; i < c->units.cnt; i++)
		if (!finish(c, c->units.at[i], funcs[i], &scratch[i]))
			return false;
	make_fixed_maps(c, scratch_sz);
	return true;
}

bool image_build(struct compile *c)
{
	struct ir_mem mem = {};
	bool ok;

	c->image = arena_new(c->arena, struct image);
	c->image->compile = c;
	lay_out_maps(c);
	ok = make_programs(c, &mem);
	ir_mem_release(&mem);
	return ok;
}

void image_print(const struct image *img, struct sbuf *out)
{
	for (u32 i = 0; i < img->maps.cnt; i++) {
		const struct image_map *m = &img->maps.at[i];

		if (m->type)
			sbuf_printf(out, "map %u %s type %u key %u value %u entries %u flags 0x%x\n", i, m->name, m->type, m->key_sz, m->value_sz,
				    m->max_entries, m->flags);
	}
	vec_for(p, &img->progs) {
		u32 line = 0, func = 1;

		sbuf_printf(out, "prog %s (%u instructions, %u bytes of stack)\n", p->unit->name, p->insn_cnt, p->stack_sz);
		for (u32 i = 0; i < p->insn_cnt; i++) {
			if (func < p->func_starts.cnt && p->func_starts.at[func] == i)
				sbuf_printf(out, "subprogram %u\n", func++);
			for (; line < p->line_cnt && p->lines[line].insn <= i; line++) {
				u32 row, col;

				diag_locate(img->compile->diag, p->lines[line].span, &row, &col);
				sbuf_printf(out, "; line %u:%u\n", row, col);
			}
			sbuf_printf(out, "%4u: ", i);
			insn_print(&p->insns[i], out);
			sbuf_putc(out, '\n');
			if (p->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW))
				i++;
		}
	}
}
