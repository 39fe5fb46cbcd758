/* SPDX-License-Identifier: GPL-2.0-only */
/* Building the image: maps are laid out, units lowered, and everything that depends on all of them (the size of the scratch area,
 * of the constants) decided, before the code is finished. */
#include "bpf/build.h"

#include "bpf/backend.h"
#include "image/disasm.h"
#include "lang/fn.h"
#include "ir/store.h"
#include "image/feature.h"
#include "image/uapi.h"
#include "lang/provider.h"

static void lay_out_maps(struct compile *c)
{
	struct image *img = c->image;
	struct data_room room = { .shared = sizeof(struct data_head) };

	img->data.cpu_cnt = pow2_up(c->target->ncpus);
	vec_for(it, &c->maps) {
		struct map *m = *it;

		room.flag_off = data_take(&room.shared, 1, 1);
		m->lay.max_entries = m->decl ? m->decl->max_entries : c->config.max_map_keys;
		m->lay.top = store_lay_out(c, m, &room, NULL);
	}
	if (c->needs_guard)
		img->data.guard_off = data_take(&room.cpu, 8, 8);
	img->data.shared_sz = ALIGN_UP(room.shared, 64);
	img->data.cpu_sz = ALIGN_UP(room.cpu, 64);
	img->data.total_sz = img->data.shared_sz + img->data.cpu_cnt * img->data.cpu_sz;
	for (u32 i = 0; i < MAP_IDX_USER; i++)
		avec_push(c->arena, &img->maps, (struct image_map){});
	vec_for(m, &c->maps)
		store_add_maps(c, *m);
}

/* Bytes of the event ring: a power of two of pages. All of them are allocated and mapped when it is made, which for a
 * megabyte takes a quarter of a millisecond and shows as a megabyte of ours: a script that seldom says something gets a small
 * one. One that says much gets what holds the ten million records of a second, 24 bytes each, for a few ticks of the clock: that
 * long the reader may have to wait for its CPU. */
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

/* Gives every program that asked for scratch (size) its place. */
static void place_scratch(struct build *b)
{
	u32 cpu_cnt = b->c->image->data.cpu_cnt, cnt = b->c->units.cnt, shared = 0;

	for (u32 i = 0; i < cnt; i++) {
		struct scratch_place *at = &b->progs[i].scratch;

		at->cpu_cnt = cpu_cnt;
		at->is_shared = b->c->units.at[i]->provider->flags & PROV_REENTRANT;
		if (at->is_shared)
			shared = MAX(shared, at->size);
	}
	b->scratch_sz = shared * SCRATCH_LEVELS * cpu_cnt;
	for (u32 i = 0; i < cnt; i++) {
		struct scratch_place *at = &b->progs[i].scratch;

		if (at->is_shared) {
			at->size = shared;
		} else {
			at->off = b->scratch_sz;
			b->scratch_sz += at->size * cpu_cnt;
		}
	}
}

static void make_fixed_maps(struct compile *c, u32 scratch_sz)
{
	struct image *img = c->image;
	struct image_map *m = img->maps.at;

	m[MAP_IDX_DATA] = (struct image_map){ .name = "sonde_data",
					      .type = BPF_MAP_TYPE_ARRAY,
					      .key_sz = 4,
					      .value_sz = img->data.total_sz,
					      .max_entries = 1,
					      .flags = BPF_F_MMAPABLE };
	if (img->recs.cnt)
		m[MAP_IDX_RING] = (struct image_map){ .name = "sonde_ring",
						      .type = BPF_MAP_TYPE_RINGBUF,
						      .max_entries = ring_size(c) };
	vec_for(r, &img->recs)
		if ((*r)->is_ctrl)
			m[MAP_IDX_CTRL] = (struct image_map){ .name = "sonde_ctrl",
							      .type = BPF_MAP_TYPE_RINGBUF,
							      .max_entries = 64 * 1024 };
	if (scratch_sz)
		m[MAP_IDX_SCRATCH] = (struct image_map){
			.name = "sonde_scratch", .type = BPF_MAP_TYPE_ARRAY, .key_sz = 4, .value_sz = scratch_sz, .max_entries = 1
		};
	if (img->const_sz)
		m[MAP_IDX_CONST] = (struct image_map){ .name = "sonde_const",
						       .type = BPF_MAP_TYPE_ARRAY,
						       .key_sz = 4,
						       .value_sz = ALIGN_UP(img->const_sz, 8),
						       .max_entries = 1,
						       .flags = BPF_F_RDONLY_PROG,
						       .init = img->const_data,
						       .init_sz = img->const_sz };
}

/* A program has the index of its unit. */
static u32 index_of(const struct compile *c, const struct unit *u)
{
	for (u32 i = 0; i < c->units.cnt; i++)
		if (c->units.at[i] == u)
			return i;
	BUG("a unit that is not in the script");
}

static struct image_prog prog_of(struct compile *c, const struct unit *u)
{
	struct image_prog p = {
		.name = u->name,
		.provider = u->provider,
		.flags = u->provider->flags,
		.span = u->probe->span,
		.site_first = u->site_first,
		.site_cnt = u->site_cnt,
		.variant = u->variant,
		.session = u->session ? index_of(c, u->session) + 1 : 0,
		.is_joined = u->is_joined,
		.uses_site = u->uses_site,
	};

	if (u->provider->attr)
		u->provider->attr(c, u, &p.attr);
	return p;
}

/* What is known of maps, sites and the machine only when all code is there. */
static void complete(struct compile *c)
{
	struct image *img = c->image;

	vec_for(it, &c->maps) {
		struct map *m = *it;

		m->lay.name = m->name;
		m->lay.first_use = m->first_use;
		m->lay.key = m->key;
		m->lay.val = m->val;
		avec_push(c->arena, &img->script_maps, m->lay);
	}
	img->sites.at = c->sites.at;
	img->sites.cnt = c->sites.cnt;
	img->config = c->config;
	img->mode = c->mode;
	img->warns_more = c->warns_more;
	img->home.ncpus = c->target->ncpus;
	img->home.pidns_dev = c->target->pidns_dev;
	img->home.pidns_ino = c->target->pidns_ino;
	img->home.filter_pid = c->target->filter_pid;
	img->home.is_of_boot = c->is_of_boot;
	img->needs = c->needs;
}

/* ---- the passes ---- */

static void must_be_sound(const struct ir_func *f, const char *after)
{
	const char *why = ir_verify(f);

	if (why)
		BUG("%s: after %s: %s", f->name, after, why);
}

/* Function i of a program: 0 is its main function. */
static struct ir_func *func_at(struct ir_func *f, u32 i)
{
	return i ? f->subs.at[i - 1] : f;
}

void build_begin(struct build *b, struct compile *c)
{
	*b = (struct build){ .c = c, .errors_before = c->diag->error_cnt };
	c->image = arena_new(c->arena, struct image);
	lay_out_maps(c);
	b->progs = arena_alloc(c->arena, (c->units.cnt + 1) * sizeof(*b->progs));
}

bool build_lower(struct build *b)
{
	for (u32 i = 0; i < b->c->units.cnt; i++)
		b->progs[i].main = lower_unit(b->c, b->c->units.at[i], &b->mem);
	return b->c->diag->error_cnt == b->errors_before;
}

bool build_simplify(struct build *b)
{
	for (u32 i = 0; i < b->c->units.cnt; i++) {
		struct ir_func *f = b->progs[i].main;

		for (u32 k = 0; k <= f->subs.cnt; k++) {
			must_be_sound(func_at(f, k), "lowering");
			ir_simplify(func_at(f, k));
			must_be_sound(func_at(f, k), "simplification");
		}
	}
	return true;
}

void build_print_ir(const struct build *b, struct sbuf *out)
{
	for (u32 i = 0; i < b->c->units.cnt; i++)
		ir_print(b->progs[i].main, out);
}

bool build_frames(struct build *b)
{
	for (u32 i = 0; i < b->c->units.cnt; i++) {
		frame_layout(b->progs[i].main);
		b->progs[i].scratch.size = b->progs[i].main->scratch_sz;
	}
	place_scratch(b);
	for (u32 i = 0; i < b->c->units.cnt; i++) {
		struct ir_func *f = b->progs[i].main;

		for (u32 k = 0; k <= f->subs.cnt; k++) {
			if (!func_at(f, k)->is_used)
				continue;
			frame_expand(func_at(f, k), &b->progs[i].scratch);
			ir_simplify(func_at(f, k));
			must_be_sound(func_at(f, k), "frame_expand");
		}
		frame_drop_unused(f);
	}
	return true;
}

static bool allocate(struct build *b, const struct unit *u, struct build_prog *p)
{
	struct diag *d = b->c->diag;
	struct ir_func *f = p->main;
	bool fits = true;
	u32 cnt = 0;

	p->regs = arena_alloc(&b->mem.funcs, (f->subs.cnt + 1) * sizeof(*p->regs));
	for (u32 i = 0; i <= f->subs.cnt && fits; i++) {
		if (!func_at(f, i)->is_used)
			continue;
		cnt++;
		p->regs[i] = regalloc(func_at(f, i));
		fits = p->regs[i] != NULL;
	}
	if (!fits || (f->subs.cnt && frame_stack(f) > STACK_SZ)) {
		diag_error(d, u->probe->span, E_TOO_BIG, "this probe needs more than the %d bytes of stack that a program has",
			   STACK_SZ);
		diag_hint(d,
			  f->subs.cnt ? "nest fewer loops, or do less in them" :
					"use fewer variables at the same time, or split it into several probes");
		return false;
	}
	if (cnt > FUNCS_MAX) {
		diag_error(d, u->probe->span, E_TOO_BIG, "this probe has %u loops, a program can have %d", cnt - 1,
			   FUNCS_MAX - 1);
		diag_hint(
			d,
			"a loop counts once for each iteration of an unroll around it, and for each call of the macro or function that it is in");
		return false;
	}
	return true;
}

bool build_registers(struct build *b)
{
	for (u32 i = 0; i < b->c->units.cnt; i++)
		if (!allocate(b, b->c->units.at[i], &b->progs[i]))
			return false;
	return true;
}

bool build_emit(struct build *b)
{
	struct compile *c = b->c;

	for (u32 i = 0; i < c->units.cnt; i++) {
		struct image_prog prog = prog_of(c, c->units.at[i]);
		struct span far;

		prog.stack_sz = b->progs[i].main->stack_sz;
		if (!emit(c->arena, b->progs[i].main, b->progs[i].regs, &prog, &far)) {
			diag_error(c->diag, far, E_TOO_BIG,
				   "the code that this may skip is too long: a jump can skip %d instructions", INT16_MAX);
			diag_hint(c->diag, "split it into several probes on the same event, or use a loop");
			return false;
		}
		if (!limits_check(c->diag, &b->mem.pass, c->image, &prog))
			return false;
		avec_push(c->arena, &c->image->progs, prog);
	}
	make_fixed_maps(c, b->scratch_sz);
	complete(c);
	return true;
}

void build_end(struct build *b)
{
	ir_mem_release(&b->mem);
}

bool image_build(struct compile *c)
{
	struct build b;
	bool ok;

	lang_uses(c);
	build_begin(&b, c);
	ok = build_lower(&b) && build_simplify(&b) && build_frames(&b) && build_registers(&b) && build_emit(&b);
	build_end(&b);
	return ok;
}

void image_print(const struct image *img, const struct diag *d, struct sbuf *out)
{
	for (u32 i = 0; i < img->maps.cnt; i++) {
		const struct image_map *m = &img->maps.at[i];

		if (m->type)
			sbuf_printf(out, "map %u %s type %u key %u value %u entries %u flags 0x%x\n", i, m->name, m->type,
				    m->key_sz, m->value_sz, m->max_entries, m->flags);
	}
	vec_for(p, &img->progs) {
		u32 line = 0, func = 1;

		sbuf_printf(out, "prog %s (%u instructions, %u bytes of stack)\n", p->name, p->insn_cnt, p->stack_sz);
		for (u32 i = 0; i < p->insn_cnt; i++) {
			if (func < p->func_starts.cnt && p->func_starts.at[func] == i)
				sbuf_printf(out, "subprogram %u\n", func++);
			for (; line < p->line_cnt && p->lines[line].insn <= i; line++) {
				u32 row, col;

				diag_locate(d, p->lines[line].span, &row, &col);
				sbuf_printf(out, "; line %u:%u\n", row, col);
			}
			sbuf_printf(out, "%4u: ", i);
			insn_print(&p->insns[i], p->insn_cnt - i, out);
			sbuf_putc(out, '\n');
			if (insn_is_wide(&p->insns[i]))
				i++;
		}
	}
}
