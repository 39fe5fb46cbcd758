/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether an image holds together. Its bytes may come from a file that somebody damaged, or wrote on purpose: the kernel checks
 * the programs, this checks everything that user space relies on when it reads maps and records. */
#include "image/fmt.h"
#include "image/pack.h"
#include "image/store.h"
#include "image/uapi.h"

static bool has_data_map(const struct image *img)
{
	const struct data_layout *l = &img->data;
	const struct image_map *m = &img->maps.at[MAP_IDX_DATA];
	u64 parts = (u64)l->cpu_cnt * l->cpu_sz;

	return is_pow2(l->cpu_cnt) && l->shared_sz >= sizeof(struct data_head) && !(l->shared_sz % 8) && !(l->cpu_sz % 8) &&
		is_within(l->shared_sz, parts, l->total_sz) && m->type == BPF_MAP_TYPE_ARRAY && m->max_entries == 1 &&
		m->value_sz == l->total_sz && img->home.ncpus && img->home.ncpus <= l->cpu_cnt;
}

static bool maps_are_sound(const struct image *img)
{
	for (u32 i = 0; i < img->maps.cnt; i++) {
		const struct image_map *m = &img->maps.at[i];

		if (m->script_map > img->script_maps.cnt ||
		    m->init_sz > (i == MAP_IDX_CONST ? MIN(m->value_sz, img->const_sz) : 0))
			return false;
		if ((i == MAP_IDX_RING || i == MAP_IDX_CTRL) && m->type &&
		    (m->type != BPF_MAP_TYPE_RINGBUF || !is_pow2(m->max_entries)))
			return false;
	}
	return true;
}

static bool script_map_is_sound(const struct image *img, const struct script_map *m)
{
	return m->name && m->val && m->top && m->top->store->is_sound(img, m, m->top);
}

static bool prog_is_sound(const struct image *img, const struct image_prog *p)
{
	if (!p->name || !is_within(p->site_first, p->site_cnt, img->sites.cnt) || !p->site_cnt || !p->insn_cnt ||
	    p->session > img->progs.cnt || !p->func_starts.cnt || p->func_starts.at[0])
		return false;
	if (p->session &&
	    (img->progs.at[p->session - 1].session - 1 >= img->progs.cnt ||
	     img->progs.at[p->session - 1].is_joined == p->is_joined))
		return false;
	for (u32 i = 1; i < p->func_starts.cnt; i++)
		if (p->func_starts.at[i] <= p->func_starts.at[i - 1] || p->func_starts.at[i] >= p->insn_cnt)
			return false;
	for (u32 i = 0; i < p->insn_cnt; i++) {
		const struct insn *in = &p->insns[i];

		if (in->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if ((in->src == BPF_PSEUDO_MAP_FD || in->src == BPF_PSEUDO_MAP_VALUE) &&
		    ((u32)in->imm >= img->maps.cnt || !img->maps.at[in->imm].type))
			return false;
		if (++i >= p->insn_cnt)
			return false;
	}
	return true;
}

static bool rec_is_sound(const struct image *img, const struct rec *r)
{
	u32 args = r->fmt ? r->fmt->arg_cnt : 0;

	if (r->map > img->script_maps.cnt || r->reset > MAP_ZERO || args > r->field_cnt ||
	    r->fixed_sz < sizeof(struct rec_head) || r->fixed_end > r->fixed_sz)
		return false;
	for (u32 i = 0; i < r->field_cnt; i++) {
		const struct rec_field *f = &r->fields[i];

		if (!f->type || !is_within(f->off, f->is_rest ? 0 : f->is_var ? 4 : f->type->size, r->fixed_sz))
			return false;
	}
	return true;
}

const char *image_unsound(const struct image *img)
{
	if (img->mode > RUN_BENCHES || img->maps.cnt < MAP_IDX_USER || !has_data_map(img) || !maps_are_sound(img))
		return "its maps are impossible";
	vec_for(m, &img->script_maps)
		if (!script_map_is_sound(img, m))
			return "it says of a map of the script what cannot be";
	vec_for(s, &img->sites)
		if (!s->name)
			return "one of its probes has no name";
	vec_for(p, &img->progs)
		if (!prog_is_sound(img, p))
			return "one of its programs is impossible";
	vec_for(r, &img->recs)
		if (!rec_is_sound(img, *r))
			return "one of its records is impossible";
	vec_for(f, &img->faults)
		if (f->off % 8 || (f->is_read && !f->helper) ||
		    !is_within(f->off, sizeof(struct fault_count), img->data.total_sz))
			return "one of its counters is outside of its map";
	if (img->unwind.chunks >= img->maps.cnt || img->unwind.procs >= img->maps.cnt || img->unwind.files >= img->maps.cnt)
		return "its tables for unwinding are not there";
	if (img->late.child_pid && !is_within(img->late.child_pid - 1, sizeof(u64), img->const_sz))
		return "it has a constant outside of its constants";
	return NULL;
}
