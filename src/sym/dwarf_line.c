/* SPDX-License-Identifier: GPL-2.0-only */
/* Line tables: from source lines to addresses and back. */
#include <stdlib.h>

#include "sym/dwarf_int.h"

enum {
	LNS_extended,
	LNS_copy,
	LNS_advance_pc,
	LNS_advance_line,
	LNS_set_file,
	LNS_set_column,
	LNS_negate_stmt,
	LNS_set_basic_block,
	LNS_const_add_pc,
	LNS_fixed_advance_pc
};
enum { LNE_end_sequence = 1, LNE_set_address, LNE_define_file };
enum { LNCT_path = 1, LNCT_directory_index = 2 };

#define FILES_MAX (1u << 20)

/* ---- the header: directories and files ---- */

static const char *join(struct arena *a, const char *dir, const char *name)
{
	return *name == '/' || !dir || !*dir ? name : arena_printf(a, "%s/%s", dir, name);
}

typedef vec(const char *) name_list;

static void read_names4(struct dwarf_unit *u, struct cur *c, struct line_table *t)
{
	struct arena *a = &u->set->dbg->arena;
	name_list dirs = {};
	const char *s;

	vec_push(&dirs, u->comp_dir);
	while (!cur_done(c) && *(s = cur_str(c)))
		vec_push(&dirs, join(a, u->comp_dir, s));
	vec_push(&t->files, u->name ? join(a, u->comp_dir, u->name) : "");
	while (!cur_done(c) && *(s = cur_str(c)) && t->files.cnt < FILES_MAX) {
		u64 dir = cur_uleb(c);

		cur_uleb(c);
		cur_uleb(c);
		vec_push(&t->files, join(a, dir < dirs.cnt ? dirs.at[dir] : NULL, s));
	}
	vec_free(&dirs);
}

/* One list of DWARF 5: entries that describe themselves. */
static void read_names5(struct dwarf_unit *u, struct cur *c, const name_list *dirs, name_list *out)
{
	struct arena *a = &u->set->dbg->arena;
	u32 format_cnt = (u32)cur_uint(c, 1);
	struct {
		u64 what, form;
	} format[256];
	u64 cnt;

	for (u32 i = 0; i < format_cnt; i++) {
		format[i].what = cur_uleb(c);
		format[i].form = cur_uleb(c);
	}
	cnt = cur_uleb(c);
	for (u64 k = 0; k < cnt && k < FILES_MAX && format_cnt && !cur_done(c); k++) {
		const char *name = NULL;
		u64 dir = 0;

		for (u32 i = 0; i < format_cnt; i++) {
			struct form_val v;

			if (!form_read(c, u, (u16)format[i].form, &v))
				return;
			if (format[i].what == LNCT_path)
				name = form_str(u, &v);
			else if (format[i].what == LNCT_directory_index)
				dir = v.u;
		}
		if (!name)
			name = "";
		vec_push(out, join(a, !dirs ? u->comp_dir : dir < dirs->cnt ? dirs->at[dir] : NULL, name));
	}
}

/* ---- the program ---- */

struct machine {
	u64 addr;
	u32 file, line;
	u16 col;
	bool is_stmt;
};

static void row_add(struct dbg_set *s, struct line_table *t, const struct machine *m, bool is_end)
{
	if (!s->line_left)
		return;
	s->line_left--;
	vec_push(&t->rows, (struct line_row){ m->addr, m->file, m->line, m->col, m->is_stmt, is_end });
}

static void run(struct dwarf_unit *u, struct cur *c, struct line_table *t, bool default_stmt, u32 min_len, s8 line_base,
		u8 line_range, u8 opcode_base, const u8 *lengths)
{
	const struct machine start = { .file = 1, .line = 1, .is_stmt = default_stmt };
	struct machine m = start;

	while (!cur_done(c) && u->set->line_left) {
		u8 op = (u8)cur_uint(c, 1);

		if (op >= opcode_base) {
			u8 k = op - opcode_base;

			m.addr += (u64)(k / line_range) * min_len;
			m.line += (u32)(line_base + k % line_range);
			row_add(u->set, t, &m, false);
			continue;
		}
		switch (op) {
		case LNS_extended: {
			u64 len = cur_uleb(c);
			struct cur in = *c;

			cur_skip(c, len);
			if (c->bad || !len)
				break;
			in.end = c->p;
			switch (cur_uint(&in, 1)) {
			case LNE_end_sequence:
				row_add(u->set, t, &m, true);
				m = start;
				break;
			case LNE_set_address:
				m.addr = cur_uint(&in, 8);
				break;
			}
			break;
		}
		case LNS_copy:
			row_add(u->set, t, &m, false);
			break;
		case LNS_advance_pc:
			m.addr += cur_uleb(c) * min_len;
			break;
		case LNS_advance_line:
			m.line += (u32)cur_sleb(c);
			break;
		case LNS_set_file:
			m.file = (u32)cur_uleb(c);
			break;
		case LNS_set_column:
			m.col = (u16)cur_uleb(c);
			break;
		case LNS_negate_stmt:
			m.is_stmt = !m.is_stmt;
			break;
		case LNS_const_add_pc:
			m.addr += (u64)((255 - opcode_base) / line_range) * min_len;
			break;
		case LNS_fixed_advance_pc:
			m.addr += cur_uint(c, 2);
			break;
		default: /* not needed, or newer than this code: the header has the number of operands */
			for (u32 i = 0; i < lengths[op - 1]; i++)
				cur_uleb(c);
			break;
		}
	}
}

static void read_table(struct dwarf_unit *u, struct line_table *t)
{
	struct cur c = cur_at(u->set->line, u->stmt_list), program;
	u64 len = cur_uint(&c, 4), header_len;
	u32 off_sz = 4, version, min_len;
	u8 opcode_base, line_range, lengths[256] = {};
	bool default_stmt;
	s8 line_base;
	struct dwarf_unit in = *u; /* the table may be of the other width than the unit */

	if (len == 0xffffffff) {
		len = cur_uint(&c, 8);
		off_sz = 8;
	}
	if (c.bad || len > (u64)(c.end - c.p))
		return;
	c.end = c.p + len;
	version = (u32)cur_uint(&c, 2);
	if (version < 2 || version > 5)
		return;
	if (version == 5)
		cur_skip(&c, 2); /* size of addresses, of segments */
	header_len = cur_uint(&c, off_sz);
	program = c;
	cur_skip(&program, header_len);
	min_len = (u32)cur_uint(&c, 1);
	if (version >= 4)
		cur_uint(&c, 1); /* operations in an instruction: 1 except on obsolete machines */
	default_stmt = cur_uint(&c, 1);
	line_base = (s8)cur_uint(&c, 1);
	line_range = (u8)cur_uint(&c, 1);
	opcode_base = (u8)cur_uint(&c, 1);
	for (u32 i = 1; i < opcode_base; i++)
		lengths[i - 1] = (u8)cur_uint(&c, 1);
	if (c.bad || program.bad || !line_range || !opcode_base)
		return;
	in.off_sz = (u8)off_sz;
	if (version == 5) {
		name_list dirs = {}, files = {};

		read_names5(&in, &c, NULL, &dirs);
		read_names5(&in, &c, &dirs, &files);
		vec_for(f, &files)
			vec_push(&t->files, *f);
		vec_free(&dirs);
		vec_free(&files);
	} else {
		read_names4(&in, &c, t);
	}
	run(u, &program, t, default_stmt, min_len, line_base, line_range, opcode_base, lengths);
}

const struct line_table *dwarf_unit_lines(struct dwarf_unit *u)
{
	struct line_table *t;

	if (!dwarf_unit_load(u) || !u->has_lines)
		return NULL;
	t = dbg_map_get(&u->set->lines, u->stmt_list + 1);
	if (!t) {
		t = arena_new(&u->set->dbg->arena, struct line_table);
		dbg_map_put(&u->set->lines, u->stmt_list + 1, t);
		read_table(u, t);
	}
	return t;
}

static const char *file_of(const struct line_table *t, u32 file)
{
	return file < t->files.cnt ? t->files.at[file] : "";
}

/* ---- address → line ---- */

bool dbg_line_at(struct dbg *d, u64 addr, struct dbg_place *out)
{
	struct dwarf_unit *u = dwarf_unit_of_addr(d, addr);
	const struct line_table *t = u ? dwarf_unit_lines(u) : NULL;
	const struct line_row *best = NULL;
	struct die scope;

	for (u32 i = 0; t && i + 1 < t->rows.cnt; i++) {
		const struct line_row *r = &t->rows.at[i];

		/* Of several rows for one address the last counts. */
		if (!r->is_end && r->addr <= addr && addr < r[1].addr)
			best = r;
	}
	if (!best || !best->line)
		return false;
	*out = (struct dbg_place){ addr, file_of(t, best->file), best->line, best->col,
				   scope_at(u, addr, &scope, NULL) ? die_name(&scope) : NULL };
	return true;
}

u32 dbg_frames_at(struct dbg *d, u64 addr, struct dbg_place *frames, u32 max)
{
	struct dwarf_unit *u = dwarf_unit_of_addr(d, addr);
	const struct line_table *t = u ? dwarf_unit_lines(u) : NULL;
	struct scope_path path = {};
	struct dbg_place at;
	struct die scope;
	u32 cnt = 0;

	if (!t || !max || !dbg_line_at(d, addr, &at))
		return 0;
	scope_at(u, addr, &scope, &path);
	frames[cnt++] = at;
	/* Each inlined copy has its call site: the line in the function around it. */
	for (u32 i = path.cnt; i-- > 1 && cnt < max;) {
		struct die inner, outer;

		if (!die_read(u, path.offs[i], &inner) || !die_read(u, path.offs[i - 1], &outer) ||
		    inner.tag != DW_TAG_inlined_subroutine)
			break;
		frames[cnt++] = (struct dbg_place){ addr, file_of(t, (u32)die_uint(&inner, AT_call_file, 0)),
						    (u32)die_uint(&inner, AT_call_line, 0), 0, die_name(&outer) };
	}
	return cnt;
}

/* ---- line → addresses ---- */

static bool path_ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return m && n >= m && str_eq(path + n - m, end) && (n == m || *end == '/' || path[n - m - 1] == '/');
}

struct hit {
	struct dbg_place place;
	u64 scope; /* die_key() of the innermost function, 0: none */
};

static int by_scope(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	return x->place.addr < y->place.addr ? -1 : x->place.addr > y->place.addr;
}

static int by_place(const void *a, const void *b)
{
	const struct dbg_place *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Compilers number the files of each unit on their own. */
static bool *wanted_files(const struct line_table *t, const char *file, bool *any)
{
	bool *is_wanted = xzalloc(t->files.cnt + 1);

	*any = false;
	for (u32 i = 0; i < t->files.cnt; i++)
		if (path_ends_with(t->files.at[i], file))
			*any = is_wanted[i] = true;
	return is_wanted;
}

void dbg_find_line(struct dbg *d, const char *file, u32 line, u32 col, struct dbg_lines *out)
{
	struct dbg_map seen = {};
	vec(struct hit) hits = {};

	*out = (struct dbg_lines){};
	if (str_starts(file, "./"))
		file += 2;
	set_units(&d->main);
	vec_for(u, &d->main.units) {
		const struct line_table *t = dwarf_unit_lines(u);
		bool *is_wanted, any;

		if (!t || dbg_map_get(&seen, (u64)(uintptr_t)t))
			continue;
		dbg_map_put(&seen, (u64)(uintptr_t)t, u);
		is_wanted = wanted_files(t, file, &any);
		out->is_file_known |= any;
		for (u32 i = 0; any && i + 1 < t->rows.cnt; i++) {
			const struct line_row *r = &t->rows.at[i];
			struct die scope;
			bool has_scope;

			if (r->is_end || !r->is_stmt || r->file >= t->files.cnt || !is_wanted[r->file] || r->line < line ||
			    !dbg_is_code(d, r->addr))
				continue;
			if (r->line > line || (col && r->col != col)) {
				if (r->line > line && (!out->next_line || r->line < out->next_line))
					out->next_line = r->line;
				continue;
			}
			has_scope = scope_at(u, r->addr, &scope, NULL);
			vec_push(&hits,
				 ((struct hit){
					 { r->addr, file_of(t, r->file), r->line, r->col, has_scope ? die_name(&scope) : NULL },
					 has_scope ? die_key(u, scope.off) : 0 }));
		}
		free(is_wanted);
	}
	if (hits.cnt)
		qsort(hits.at, hits.cnt, sizeof(*hits.at), by_scope);
	/* The compiler may split a line and put others between the parts: the first part in each function is where the line
	 * begins. */
	for (u32 i = 0; i < hits.cnt; i++)
		if (!i || !hits.at[i].scope || hits.at[i].scope != hits.at[i - 1].scope)
			vec_push(&out->at, hits.at[i].place);
	if (out->at.cnt)
		qsort(out->at.at, out->at.cnt, sizeof(*out->at.at), by_place);
	vec_free(&hits);
	dbg_map_release(&seen);
}
