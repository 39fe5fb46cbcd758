/* SPDX-License-Identifier: GPL-2.0-only */
/* The addresses of an entry (ranges), and the location that is valid at an address (location lists). Both are lists, with
 * different formats in DWARF 4 and DWARF 5. */
#include "sym/dwarf_int.h"

/* ---- ranges ---- */

static void add_range(range_list *out, u64 lo, u64 hi)
{
	if (lo < hi)
		vec_push(out, (struct addr_range){ lo, hi });
}

/* Many entries may refer to one long list; this limit ends the walk in a hostile file. */
static bool list_step(const struct die *d)
{
	struct dbg *dbg = d->u->set->dbg;

	return dbg->list_left && dbg->list_left--;
}

static void read_ranges4(const struct die *d, u64 off, range_list *out)
{
	struct cur c = cur_at(d->u->set->ranges, off);
	u64 base = d->u->low_pc;

	while (!cur_done(&c) && list_step(d)) {
		u64 lo = cur_uint(&c, 8), hi = cur_uint(&c, 8);

		if (c.bad || (!lo && !hi))
			break;
		if (lo == UINT64_MAX)
			base = hi;
		else
			add_range(out, base + lo, base + hi);
	}
}

enum {
	RLE_end,
	RLE_base_addressx,
	RLE_startx_endx,
	RLE_startx_length,
	RLE_offset_pair,
	RLE_base_address,
	RLE_start_end,
	RLE_start_length
};

static u64 indexed_addr(const struct dwarf_unit *u, u64 i)
{
	u64 v = 0;

	table_entry(u->set->addr, u->addr_base, i, 8, &v);
	return v;
}

static void read_ranges5(const struct die *d, u64 off, range_list *out)
{
	struct cur c = cur_at(d->u->set->rnglists, off);
	u64 base = d->u->low_pc, lo, hi;

	while (!cur_done(&c) && list_step(d)) {
		switch (cur_uint(&c, 1)) {
		case RLE_base_addressx:
			base = indexed_addr(d->u, cur_uleb(&c));
			continue;
		case RLE_base_address:
			base = cur_uint(&c, 8);
			continue;
		case RLE_startx_endx:
			lo = indexed_addr(d->u, cur_uleb(&c));
			hi = indexed_addr(d->u, cur_uleb(&c));
			break;
		case RLE_startx_length:
			lo = indexed_addr(d->u, cur_uleb(&c));
			hi = lo + cur_uleb(&c);
			break;
		case RLE_offset_pair:
			lo = base + cur_uleb(&c);
			hi = base + cur_uleb(&c);
			break;
		case RLE_start_end:
			lo = cur_uint(&c, 8);
			hi = cur_uint(&c, 8);
			break;
		case RLE_start_length:
			lo = cur_uint(&c, 8);
			hi = lo + cur_uleb(&c);
			break;
		default: /* RLE_end, and bytes of which nothing is known */
			return;
		}
		if (!c.bad)
			add_range(out, lo, hi);
	}
}

bool die_ranges(const struct die *d, range_list *out)
{
	u32 before = out->cnt;
	u64 lo, hi, off;

	if (die_has(d, AT_ranges)) {
		off = d->at[AT_ranges].u;
		if (d->u->version == 4)
			read_ranges4(d, off, out);
		else if (d->at[AT_ranges].form != FORM_rnglistx)
			read_ranges5(d, off, out);
		else if (table_entry(d->u->set->rnglists, d->u->rnglists_base, off, d->u->off_sz, &off))
			read_ranges5(d, d->u->rnglists_base + off, out);
	} else if (die_addr(d, AT_low_pc, &lo) && die_has(d, AT_high_pc)) {
		if (!die_addr(d, AT_high_pc, &hi))
			hi = lo + die_uint(d, AT_high_pc, 0);
		add_range(out, lo, hi);
	}
	return out->cnt > before;
}

bool die_covers(const struct die *d, u64 addr)
{
	range_list ranges = {};
	bool found = false;

	if (!die_has(d, AT_ranges) && !die_has(d, AT_low_pc))
		return false;
	die_ranges(d, &ranges);
	vec_for(r, &ranges)
		found |= addr >= r->lo && addr < r->hi;
	vec_free(&ranges);
	return found;
}

/* ---- location lists ---- */

enum {
	LLE_end,
	LLE_base_addressx,
	LLE_startx_endx,
	LLE_startx_length,
	LLE_offset_pair,
	LLE_default_location,
	LLE_base_address,
	LLE_start_end,
	LLE_start_length,
	LLE_GNU_view_pair
};

static bool loclist4(const struct die *d, u64 off, u64 addr, struct bytes *out)
{
	struct cur c = cur_at(d->u->set->loc, off);
	u64 base = d->u->low_pc;

	while (!cur_done(&c) && list_step(d)) {
		u64 lo = cur_uint(&c, 8), hi = cur_uint(&c, 8), len;

		if (c.bad || (!lo && !hi))
			break;
		if (lo == UINT64_MAX) {
			base = hi;
			continue;
		}
		len = cur_uint(&c, 2);
		*out = (struct bytes){ c.p, len };
		cur_skip(&c, len);
		if (!c.bad && addr >= base + lo && addr < base + hi)
			return true;
	}
	return false;
}

static bool loclist5(const struct die *d, u64 off, u64 addr, struct bytes *out)
{
	struct cur c = cur_at(d->u->set->loclists, off);
	u64 base = d->u->low_pc, lo, hi;

	while (!cur_done(&c) && list_step(d)) {
		switch (cur_uint(&c, 1)) {
		case LLE_base_addressx:
			base = indexed_addr(d->u, cur_uleb(&c));
			continue;
		case LLE_base_address:
			base = cur_uint(&c, 8);
			continue;
		case LLE_GNU_view_pair:
			cur_uleb(&c);
			cur_uleb(&c);
			continue;
		case LLE_startx_endx:
			lo = indexed_addr(d->u, cur_uleb(&c));
			hi = indexed_addr(d->u, cur_uleb(&c));
			break;
		case LLE_startx_length:
			lo = indexed_addr(d->u, cur_uleb(&c));
			hi = lo + cur_uleb(&c);
			break;
		case LLE_offset_pair:
			lo = base + cur_uleb(&c);
			hi = base + cur_uleb(&c);
			break;
		case LLE_default_location:
			lo = 0;
			hi = UINT64_MAX;
			break;
		case LLE_start_end:
			lo = cur_uint(&c, 8);
			hi = cur_uint(&c, 8);
			break;
		case LLE_start_length:
			lo = cur_uint(&c, 8);
			hi = lo + cur_uleb(&c);
			break;
		default: /* LLE_end, and bytes of which nothing is known */
			return false;
		}
		*out = (struct bytes){ NULL, cur_uleb(&c) };
		out->at = c.p;
		cur_skip(&c, out->len);
		if (!c.bad && addr >= lo && addr < hi)
			return true;
	}
	return false;
}

bool loclist_find(const struct die *d, enum at a, u64 addr, struct bytes *out)
{
	u64 off = d->at[a].u;

	if (!die_has(d, a) || !form_is_loclist(d->at[a].form))
		return false;
	if (d->u->version == 4)
		return loclist4(d, off, addr, out);
	if (d->at[a].form == FORM_loclistx) {
		if (!table_entry(d->u->set->loclists, d->u->loclists_base, off, d->u->off_sz, &off))
			return false;
		off += d->u->loclists_base;
	}
	return loclist5(d, off, addr, out);
}
