/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/dwarf_int.h"

#include <errno.h>
#include <stdlib.h>

#include "sym/debugfile.h"

#define UNITS_MAX (1u << 24)

enum { DW_UT_compile = 1, DW_UT_type, DW_UT_partial, DW_UT_skeleton, DW_UT_split_compile, DW_UT_split_type };

/* ---- bytes ---- */

u64 cur_uint(struct cur *c, u32 size)
{
	u64 v = 0;

	if (size > 8 || (size_t)(c->end - c->p) < size) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	for (u32 i = 0; i < size; i++)
		v |= (u64)c->p[i] << 8 * i;
	c->p += size;
	return v;
}

u64 cur_uleb(struct cur *c)
{
	u64 v = 0;

	for (u32 shift = 0; c->p < c->end; shift += 7) {
		u8 b = *c->p++;

		if (shift < 64)
			v |= (u64)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

s64 cur_sleb(struct cur *c)
{
	u64 v = 0;

	for (u32 shift = 0; c->p < c->end;) {
		u8 b = *c->p++;

		if (shift < 64)
			v |= (u64)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			if (b & 0x40 && shift < 64)
				v |= ~0ull << shift;
			return (s64)v;
		}
	}
	c->bad = true;
	return 0;
}

const char *cur_str(struct cur *c)
{
	const char *s = (const char *)c->p;
	const u8 *nul = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;

	if (!nul) {
		c->bad = true;
		c->p = c->end;
		return "";
	}
	c->p = nul + 1;
	return s;
}

void cur_skip(struct cur *c, u64 n)
{
	if (n > (u64)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
	} else {
		c->p += n;
	}
}

/* ---- a map from numbers ---- */

static struct dbg_entry *map_find(const struct dbg_map *m, u64 key)
{
	htab_for(p, &m->table, u64_hash(key))
		if (m->entries.at[*p - 1].key == key)
			return &m->entries.at[*p - 1];
	return NULL;
}

void *dbg_map_get(const struct dbg_map *m, u64 key)
{
	const struct dbg_entry *e = map_find(m, key);

	return e ? e->val : NULL;
}

void dbg_map_put(struct dbg_map *m, u64 key, void *val)
{
	struct dbg_entry *e = map_find(m, key);

	if (e) {
		e->val = val;
		return;
	}
	vec_push(&m->entries, (struct dbg_entry){ key, val });
	htab_add(&m->table, u64_hash(key), m->entries.cnt);
}

void dbg_map_release(struct dbg_map *m)
{
	htab_release(&m->table);
	vec_free(&m->entries);
}

/* ---- abbreviations ---- */

static u8 slot_of(u64 number)
{
	switch (number) {
#define AT_ROW(slot, number)                                                                                                     \
	case number:                                                                                                             \
		return AT_##slot;
		AT_ROWS(AT_ROW)
#undef AT_ROW
	}
	return AT_CNT;
}

static struct abbrevs *abbrevs_get(struct dbg_set *s, u64 off)
{
	struct abbrevs *t = dbg_map_get(&s->abbrevs, off + 1);
	struct cur c = cur_at(s->abbrev, off);

	if (t)
		return t;
	t = arena_new(&s->dbg->arena, struct abbrevs);
	dbg_map_put(&s->abbrevs, off + 1, t);
	while (s->abbrev_left) {
		struct abbrev a = { .code = cur_uleb(&c), .attr_first = t->attrs.cnt };

		if (cur_done(&c) || !a.code)
			break;
		a.tag = (u16)cur_uleb(&c);
		a.has_children = cur_uint(&c, 1);
		while (!c.bad && s->abbrev_left) {
			u64 name = cur_uleb(&c), form = cur_uleb(&c);

			if (!name && !form)
				break;
			vec_push(
				&t->attrs,
				(struct abbrev_attr){ slot_of(name), (u16)form, form == FORM_implicit_const ? cur_sleb(&c) : 0 });
			s->abbrev_left--;
		}
		if (c.bad || !s->abbrev_left)
			break;
		a.attr_cnt = t->attrs.cnt - a.attr_first;
		vec_push(&t->rows, a);
		s->abbrev_left--;
	}
	return t;
}

static const struct abbrev *abbrev_find(const struct abbrevs *t, u64 code)
{
	/* Numbered from 1 on by every compiler. */
	if (code - 1 < t->rows.cnt && t->rows.at[code - 1].code == code)
		return &t->rows.at[code - 1];
	vec_for(a, &t->rows)
		if (a->code == code)
			return a;
	return NULL;
}

/* ---- units ---- */

void set_units(struct dbg_set *s)
{
	struct cur c = cur_at(s->info, 0);

	if (s->has_units)
		return;
	s->has_units = true;
	while (!cur_done(&c) && s->units.cnt < UNITS_MAX) {
		struct dwarf_unit u = { .set = s, .off = (u64)(c.p - s->info.at), .off_sz = 4, .addr_sz = 8 };
		u64 len = cur_uint(&c, 4), version;
		struct cur in;
		u8 kind = DW_UT_compile;

		if (len == 0xffffffff) {
			len = cur_uint(&c, 8);
			u.off_sz = 8;
		}
		if (c.bad || len > (u64)(c.end - c.p))
			break;
		in = (struct cur){ c.p, c.p + len, false };
		c.p += len;
		u.end = (u64)(c.p - s->info.at);
		version = cur_uint(&in, 2);
		if (version < 4 || version > 5)
			continue;
		u.version = (u8)version;
		if (u.version == 5) {
			kind = (u8)cur_uint(&in, 1);
			u.addr_sz = (u8)cur_uint(&in, 1);
			u.abbrev_off = cur_uint(&in, u.off_sz);
		} else {
			u.abbrev_off = cur_uint(&in, u.off_sz);
			u.addr_sz = (u8)cur_uint(&in, 1);
		}
		if (kind == DW_UT_type || kind == DW_UT_split_type) {
			u.is_type = true;
			u.sig = cur_uint(&in, 8);
			u.type_off = cur_uint(&in, u.off_sz);
		} else if (kind == DW_UT_skeleton || kind == DW_UT_split_compile) {
			cur_uint(&in, 8);
		}
		if (in.bad || u.addr_sz != 8)
			continue;
		u.die_off = (u64)(in.p - s->info.at);
		vec_push(&s->units, u);
	}
	vec_for(u, &s->units)
		if (u->is_type)
			dbg_map_put(&s->sigs, u->sig, u);
}

bool dwarf_unit_load(struct dwarf_unit *u)
{
	struct die d;
	u64 base = u->off_sz == 8 ? 16 : 8;

	if (u->is_loaded)
		return !u->is_bad;
	u->is_loaded = true;
	u->abbrevs = abbrevs_get(u->set, u->abbrev_off);
	/* Where tables start when nothing says so: behind their first header. */
	u->str_offsets_base = base;
	u->addr_base = base;
	u->is_bad = !die_read(u, u->die_off, &d) || !d.tag;
	if (u->is_bad)
		return false;
	u->tag = d.tag;
	u->str_offsets_base = die_uint(&d, AT_str_offsets_base, u->str_offsets_base);
	u->addr_base = die_uint(&d, AT_addr_base, u->addr_base);
	u->rnglists_base = die_uint(&d, AT_rnglists_base, u->off_sz == 8 ? 20 : 12);
	u->loclists_base = die_uint(&d, AT_loclists_base, u->off_sz == 8 ? 20 : 12);
	u->lang = (u16)die_uint(&d, AT_language, 0);
	u->is_split = die_has(&d, AT_dwo_name) || die_has(&d, AT_gnu_dwo_name);
	u->has_lines = die_has(&d, AT_stmt_list);
	u->stmt_list = die_uint(&d, AT_stmt_list, 0);
	die_addr(&d, AT_low_pc, &u->low_pc);
	u->name = die_str(&d, AT_name);
	u->comp_dir = die_str(&d, AT_comp_dir);
	return true;
}

struct dwarf_unit *dwarf_unit_at(struct dbg_set *s, u64 off)
{
	u32 lo = 0, hi;

	set_units(s);
	for (hi = s->units.cnt; lo < hi;) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->units.at[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || off >= s->units.at[lo - 1].end || !dwarf_unit_load(&s->units.at[lo - 1]))
		return NULL;
	return &s->units.at[lo - 1];
}

static int by_lo(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

struct dwarf_unit *dwarf_unit_of_addr(struct dbg *d, u64 addr)
{
	u32 lo = 0, hi;

	if (!d->has_by_addr) {
		range_list ranges = {};
		struct die root;

		d->has_by_addr = true;
		set_units(&d->main);
		vec_for(u, &d->main.units) {
			ranges.cnt = 0;
			if (u->is_type || !dwarf_unit_load(u) || !die_read(u, u->die_off, &root) || !die_ranges(&root, &ranges))
				continue;
			vec_for(r, &ranges)
				vec_push(&d->by_addr, (struct unit_range){ r->lo, r->hi, u });
		}
		vec_free(&ranges);
		if (d->by_addr.cnt)
			qsort(d->by_addr.at, d->by_addr.cnt, sizeof(*d->by_addr.at), by_lo);
	}
	for (hi = d->by_addr.cnt; lo < hi;) {
		u32 mid = lo + (hi - lo) / 2;

		if (d->by_addr.at[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Code that the linker threw away has ranges at address 0 or so, which may overlap real ones: look a little further back.
	 */
	for (u32 tries = 16; lo > 0 && tries > 0; tries--)
		if (addr < d->by_addr.at[--lo].hi)
			return d->by_addr.at[lo].u;
	return NULL;
}

/* ---- attributes ---- */

/* Reads a value of the form; false: unknown form, so that nothing behind it can be read. */
static bool read_form(struct cur *c, const struct dwarf_unit *u, u16 form, s64 implicit, struct form_val *v)
{
	for (u32 depth = 0; form == FORM_indirect && depth < 4; depth++)
		form = (u16)cur_uleb(c);
	v->form = form;
	v->p = NULL;
	switch (form) {
	case FORM_addr:
		v->u = cur_uint(c, u->addr_sz);
		return true;
	case FORM_block1:
	case FORM_block2:
	case FORM_block4:
	case FORM_block:
	case FORM_exprloc:
		v->u = form == FORM_block1  ? cur_uint(c, 1) :
			form == FORM_block2 ? cur_uint(c, 2) :
			form == FORM_block4 ? cur_uint(c, 4) :
					      cur_uleb(c);
		v->p = c->p;
		cur_skip(c, v->u);
		return true;
	case FORM_data1:
	case FORM_flag:
	case FORM_ref1:
	case FORM_strx1:
	case FORM_addrx1:
		v->u = cur_uint(c, 1);
		return true;
	case FORM_data2:
	case FORM_ref2:
	case FORM_strx2:
	case FORM_addrx2:
		v->u = cur_uint(c, 2);
		return true;
	case FORM_strx3:
	case FORM_addrx3:
		v->u = cur_uint(c, 3);
		return true;
	case FORM_data4:
	case FORM_ref4:
	case FORM_strx4:
	case FORM_addrx4:
	case FORM_ref_sup4:
		v->u = cur_uint(c, 4);
		return true;
	case FORM_data8:
	case FORM_ref8:
	case FORM_ref_sig8:
	case FORM_ref_sup8:
		v->u = cur_uint(c, 8);
		return true;
	case FORM_data16:
		v->p = c->p;
		v->u = 16;
		cur_skip(c, 16);
		return true;
	case FORM_string:
		v->p = (const u8 *)cur_str(c);
		return true;
	case FORM_strp:
	case FORM_line_strp:
	case FORM_strp_sup:
	case FORM_sec_offset:
	case FORM_ref_addr:
	case FORM_GNU_ref_alt:
	case FORM_GNU_strp_alt:
		v->u = cur_uint(c, u->off_sz);
		return true;
	case FORM_sdata:
		v->u = (u64)cur_sleb(c);
		return true;
	case FORM_udata:
	case FORM_ref_udata:
	case FORM_strx:
	case FORM_addrx:
	case FORM_loclistx:
	case FORM_rnglistx:
		v->u = cur_uleb(c);
		return true;
	case FORM_flag_present:
		v->u = 1;
		return true;
	case FORM_implicit_const:
		v->u = (u64)implicit;
		return true;
	}
	return false;
}

bool form_read(struct cur *c, const struct dwarf_unit *u, u16 form, struct form_val *v)
{
	return read_form(c, u, form, 0, v) && !c->bad;
}

bool die_read(struct dwarf_unit *u, u64 off, struct die *out)
{
	struct cur c = { u->set->info.at + off, u->set->info.at + u->end, off < u->off || off >= u->end };
	const struct abbrev *a;
	struct form_val skipped;
	u64 code;

	if (c.bad)
		return false;
	code = cur_uleb(&c);
	out->u = u;
	out->off = off;
	out->has = 0;
	if (c.bad)
		return false;
	if (!code) {
		out->tag = 0;
		out->has_children = false;
		out->next = (u64)(c.p - u->set->info.at);
		return true;
	}
	a = abbrev_find(u->abbrevs, code);
	if (!a)
		return false;
	out->tag = a->tag;
	out->has_children = a->has_children;
	for (u32 i = 0; i < a->attr_cnt; i++) {
		const struct abbrev_attr *at = &u->abbrevs->attrs.at[a->attr_first + i];

		if (!read_form(&c, u, at->form, at->implicit, at->slot < AT_CNT ? &out->at[at->slot] : &skipped) || c.bad)
			return false;
		if (at->slot < AT_CNT)
			out->has |= 1ull << at->slot;
	}
	out->next = (u64)(c.p - u->set->info.at);
	return true;
}

_Static_assert(AT_CNT <= 64, "struct die.has is 64 bits");

static bool is_unit_ref(u16 form)
{
	return form == FORM_ref1 || form == FORM_ref2 || form == FORM_ref4 || form == FORM_ref8 || form == FORM_ref_udata;
}

bool die_next(struct die *d)
{
	struct dwarf_unit *u = d->u;
	u64 off = d->next;

	if (d->has_children) {
		if (die_has(d, AT_sibling) && is_unit_ref(d->at[AT_sibling].form) && u->off + d->at[AT_sibling].u > d->off) {
			off = u->off + d->at[AT_sibling].u;
		} else {
			/* Over all children, by counting ends. */
			for (u32 depth = 1; depth;) {
				if (!die_read(u, off, d))
					return false;
				depth += !d->tag ? -1 : d->has_children;
				off = d->next;
				if (d->tag && d->has_children && die_has(d, AT_sibling) && is_unit_ref(d->at[AT_sibling].form) &&
				    u->off + d->at[AT_sibling].u > d->off) {
					off = u->off + d->at[AT_sibling].u;
					depth--;
				}
			}
		}
	}
	return die_read(u, off, d) && d->tag;
}

bool die_child(const struct die *d, struct die *out)
{
	return d->has_children && die_read(d->u, d->next, out) && out->tag;
}

bool table_entry(struct bytes table, u64 base, u64 i, u32 size, u64 *v)
{
	struct cur c;

	if (i > table.len || base > table.len)
		return false;
	c = cur_at(table, base + i * size);
	*v = cur_uint(&c, size);
	return !c.bad;
}

const char *form_str(const struct dwarf_unit *u, const struct form_val *v)
{
	const struct dbg_set *s = u->set;
	u64 off;

	switch (v->form) {
	case FORM_string:
		return (const char *)v->p;
	case FORM_strp:
		return bytes_str(s->str, v->u);
	case FORM_line_strp:
		return bytes_str(s->line_str, v->u);
	case FORM_strp_sup:
	case FORM_GNU_strp_alt:
		return s->alt ? bytes_str(s->alt->str, v->u) : NULL;
	case FORM_strx:
	case FORM_strx1:
	case FORM_strx2:
	case FORM_strx3:
	case FORM_strx4:
		return table_entry(s->str_offsets, u->str_offsets_base, v->u, u->off_sz, &off) ? bytes_str(s->str, off) : NULL;
	}
	return NULL;
}

const char *die_str(const struct die *d, enum at a)
{
	return die_has(d, a) ? form_str(d->u, &d->at[a]) : NULL;
}

bool die_addr(const struct die *d, enum at a, u64 *addr)
{
	const struct form_val *v = &d->at[a];

	if (!die_has(d, a))
		return false;
	if (v->form == FORM_addr) {
		*addr = v->u;
		return true;
	}
	if (v->form == FORM_addrx || (v->form >= FORM_addrx1 && v->form <= FORM_addrx4))
		return table_entry(d->u->set->addr, d->u->addr_base, v->u, 8, addr);
	return false;
}

bool die_sdata(const struct die *d, enum at a, s64 *out)
{
	if (!die_has(d, a) || (d->at[a].form != FORM_sdata && d->at[a].form != FORM_implicit_const))
		return false;
	*out = (s64)d->at[a].u;
	return true;
}

u64 die_uint(const struct die *d, enum at a, u64 dflt)
{
	if (!die_has(d, a))
		return dflt;
	switch (d->at[a].form) {
	case FORM_data1:
	case FORM_data2:
	case FORM_data4:
	case FORM_data8:
	case FORM_sdata:
	case FORM_udata:
	case FORM_implicit_const:
	case FORM_flag:
	case FORM_flag_present:
	case FORM_sec_offset:
		return d->at[a].u;
	}
	return dflt;
}

bool die_flag(const struct die *d, enum at a)
{
	return die_uint(d, a, 0);
}

bool die_block(const struct die *d, enum at a, struct bytes *out)
{
	const struct form_val *v = &d->at[a];

	if (!die_has(d, a) || !v->p || v->form == FORM_string)
		return false;
	*out = (struct bytes){ v->p, v->u };
	return true;
}

static struct dwarf_unit *dwarf_unit_of_sig(struct dbg_set *s, u64 sig)
{
	struct dwarf_unit *u;

	set_units(s);
	u = dbg_map_get(&s->sigs, sig);
	return u && dwarf_unit_load(u) ? u : NULL;
}

bool die_ref_place(const struct die *d, enum at a, struct dwarf_unit **u, u64 *off)
{
	const struct form_val *v = &d->at[a];

	if (!die_has(d, a))
		return false;
	*u = d->u;
	*off = v->u;
	if (is_unit_ref(v->form)) {
		*off += d->u->off;
	} else if (v->form == FORM_ref_addr) {
		if (*off < d->u->off || *off >= d->u->end)
			*u = dwarf_unit_at(d->u->set, *off);
	} else if (v->form == FORM_GNU_ref_alt || v->form == FORM_ref_sup4 || v->form == FORM_ref_sup8) {
		*u = d->u->set->alt ? dwarf_unit_at(d->u->set->alt, *off) : NULL;
	} else if (v->form == FORM_ref_sig8) {
		*u = dwarf_unit_of_sig(d->u->set, v->u);
		*off = *u ? (*u)->off + (*u)->type_off : 0;
	} else {
		return false;
	}
	return *u && *off >= (*u)->die_off && *off < (*u)->end;
}

bool die_ref(const struct die *d, enum at a, struct die *out)
{
	struct dwarf_unit *u;
	u64 off;

	return die_ref_place(d, a, &u, &off) && die_read(u, off, out) && out->tag;
}

bool die_with(const struct die *d, enum at a, struct die *out)
{
	struct die at = *d;

	for (u32 depth = 0; depth < 8; depth++) {
		struct die next;

		if (die_has(&at, a)) {
			*out = at;
			return true;
		}
		if (!die_ref(&at, AT_abstract_origin, &next) && !die_ref(&at, AT_specification, &next))
			return false;
		at = next;
	}
	return false;
}

const char *die_name(const struct die *d)
{
	struct die at;

	return die_with(d, AT_name, &at) ? die_str(&at, AT_name) : NULL;
}

/* ---- functions at addresses ---- */

/* path (may be NULL) receives the functions on the way, outermost first. */
static bool find_scope(const struct die *parent, u64 addr, u32 depth, struct die *out, struct scope_path *path)
{
	struct die d;

	if (depth > 32 || !die_child(parent, &d))
		return false;
	do {
		switch (d.tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (!die_covers(&d, addr))
				break;
			if (path && path->cnt < ARRAY_CNT(path->offs))
				path->offs[path->cnt++] = d.off;
			if (!find_scope(&d, addr, depth + 1, out, path))
				*out = d;
			return true;
		case DW_TAG_lexical_block:
			if (die_covers(&d, addr) && find_scope(&d, addr, depth + 1, out, path))
				return true;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			if (find_scope(&d, addr, depth + 1, out, path))
				return true;
			break;
		}
	} while (die_next(&d));
	return false;
}

bool scope_at(struct dwarf_unit *u, u64 addr, struct die *out, struct scope_path *path)
{
	struct die root;

	if (path)
		path->cnt = 0;
	return dwarf_unit_load(u) && die_read(u, u->die_off, &root) && find_scope(&root, addr, 0, out, path);
}

bool dbg_is_code(const struct dbg *d, u64 addr)
{
	for (u32 i = 0; i < d->file.ph_cnt; i++) {
		const Elf64_Phdr *ph = &d->file.ph[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X && addr >= ph->p_vaddr && addr - ph->p_vaddr < ph->p_filesz)
			return true;
	}
	return false;
}

bool dbg_is_split(struct dbg *d, u64 addr)
{
	const struct dwarf_unit *u = dwarf_unit_of_addr(d, addr);

	return u && u->is_split;
}

bool dbg_addr_of_offset(const struct dbg *d, u64 off, u64 *addr)
{
	for (u32 i = 0; i < d->file.ph_cnt; i++) {
		const Elf64_Phdr *ph = &d->file.ph[i];

		if (ph->p_type == PT_LOAD && off >= ph->p_offset && off - ph->p_offset < ph->p_filesz) {
			*addr = off - ph->p_offset + ph->p_vaddr;
			return true;
		}
	}
	return false;
}

/* ---- opening ---- */

static void set_init(struct dbg_set *s, struct dbg *d, struct objfile *o)
{
	*s = (struct dbg_set){
		.dbg = d,
		.info = objfile_section_named(o, ".debug_info"),
		.abbrev = objfile_section_named(o, ".debug_abbrev"),
		.str = objfile_section_named(o, ".debug_str"),
		.line = objfile_section_named(o, ".debug_line"),
		.line_str = objfile_section_named(o, ".debug_line_str"),
		.str_offsets = objfile_section_named(o, ".debug_str_offsets"),
		.addr = objfile_section_named(o, ".debug_addr"),
		.rnglists = objfile_section_named(o, ".debug_rnglists"),
		.ranges = objfile_section_named(o, ".debug_ranges"),
		.loclists = objfile_section_named(o, ".debug_loclists"),
		.loc = objfile_section_named(o, ".debug_loc"),
	};
	s->abbrev_left = s->abbrev.len;
	s->line_left = s->line.len;
}

static int open_from(const char *path, const char *name, bool may_fetch, struct dbg **out)
{
	struct dbg *d = xzalloc(sizeof(*d));
	struct objfile *with = &d->file;
	int err = objfile_open(&d->file, path, 0, 0);

	arena_init(&d->arena);
	if (!err && !objfile_find_section(&d->file, ".debug_info")) {
		err = debugfile_open(&d->file, name, may_fetch, &d->debug);
		with = &d->debug;
		if (!err && !objfile_find_section(with, ".debug_info"))
			err = -ENOENT;
	}
	if (err) {
		dbg_close(d);
		return err;
	}
	d->list_left = 200000000;
	set_init(&d->main, d, with);
	if (objfile_find_section(with, ".gnu_debugaltlink") && !debugfile_open_alt(with, NULL, &d->alt_file)) {
		set_init(&d->alt, d, &d->alt_file);
		d->main.alt = &d->alt;
	}
	d->path = arena_strdup(&d->arena, path);
	dbg_types_init(d);
	*out = d;
	return 0;
}

int dbg_open(const char *path, struct dbg **out)
{
	return open_from(path, path, true, out);
}

int dbg_open_as(const char *path, const char *name, u32 pid, struct dbg **out)
{
	char *seen = pid ? xasprintf("/proc/%u/root%s", pid, name) : xstrdup(name);
	int err = open_from(path, seen, false, out);

	free(seen);
	return err;
}

struct dbg *dbg_of(const char *path, const char **why)
{
	struct opened {
		const char *path, *why;
		struct dbg *d;
	};
	static vec(struct opened) all;
	struct opened o = { xstrdup(path) };
	int err;

	vec_for(a, &all) {
		if (str_eq(a->path, path)) {
			free((char *)o.path);
			*why = a->why;
			return a->d;
		}
	}
	err = dbg_open(path, &o.d);
	if (err == -ENOENT)
		o.why = xasprintf("%s has no debug information (DWARF), nor is there a debug file for it", path);
	else if (err)
		o.why = xasprintf("%s: %s", path, strerror(-err));
	vec_push(&all, o);
	*why = o.why;
	return o.d;
}

static void set_release(struct dbg_set *s)
{
	vec_for(e, &s->abbrevs.entries) {
		struct abbrevs *t = e->val;

		vec_free(&t->rows);
		vec_free(&t->attrs);
	}
	vec_for(e, &s->lines.entries) {
		struct line_table *t = e->val;

		vec_free(&t->rows);
		vec_free(&t->files);
	}
	vec_free(&s->units);
	dbg_map_release(&s->abbrevs);
	dbg_map_release(&s->lines);
	dbg_map_release(&s->sigs);
}

void dbg_close(struct dbg *d)
{
	if (!d)
		return;
	set_release(&d->main);
	set_release(&d->alt);
	objfile_release(&d->file);
	objfile_release(&d->debug);
	objfile_release(&d->alt_file);
	vec_free(&d->by_addr);
	dbg_conv_free(d->conv);
	dbg_map_release(&d->funcs);
	smap_release(&d->names);
	arena_release(&d->arena);
	free(d);
}
