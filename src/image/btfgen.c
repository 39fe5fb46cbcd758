/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/btfgen.h"

#include <ctype.h>
#include <stdio.h>

#include "base/smap.h"
#include "image/uapi.h"
#include "types/btfformat.h"

/* The types that all functions share. */
enum { ID_INT = 1, ID_PTR, ID_MAIN_PROTO, ID_SUB_PROTO, ID_FIRST_FUNC };

#define LINE_TEXT_MAX 200u

/* Where the lines of a source start, found once: programs have thousands of instructions. */
struct line_starts {
	u32 *at;
	u32 cnt;
};

struct gen {
	struct arena *arena;
	const struct diag *diag;
	struct sbuf types, strs;
	struct smap offsets;        /* string → offset + 1 in strs */
	struct line_starts *starts; /* by source */
	u32 next_id;
};

void btfgen_name(char *out, u32 sz, const char *name)
{
	u32 n = 0;

	if (isdigit((u8)*name) || !*name)
		out[n++] = '_';
	for (; *name && n + 1 < sz; name++)
		out[n++] = isalnum((u8)*name) ? *name : '_';
	out[n] = 0;
}

static u32 add_str(struct gen *g, const char *s)
{
	uintptr_t known = (uintptr_t)smap_get(&g->offsets, s);

	if (!known) {
		known = g->strs.len + 1;
		sbuf_add(&g->strs, s, strlen(s) + 1);
		smap_put(&g->offsets, arena_strdup(g->arena, s), (void *)known);
	}
	return known - 1;
}

static void add_type(struct gen *g, u32 name_off, enum btf_kind kind, u32 vlen, u32 size_or_type)
{
	struct btf_type t = { .name_off = name_off, .info = (u32)kind << 24 | vlen, .size = size_or_type };

	sbuf_add(&g->types, &t, sizeof(t));
}

static void add_shared_types(struct gen *g)
{
	u32 encoding = (u32)BTF_INT_SIGNED << 24 | 32, param[2] = { add_str(g, "ctx"), ID_PTR };

	add_type(g, add_str(g, "int"), BTF_KIND_INT, 0, 4);
	sbuf_add(&g->types, &encoding, sizeof(encoding));
	add_type(g, 0, BTF_KIND_PTR, 0, 0);
	add_type(g, 0, BTF_KIND_FUNC_PROTO, 1, ID_INT);
	sbuf_add(&g->types, param, sizeof(param));
	/* The types of a subprogram's parameters do not matter: the verifier tracks the registers themselves. */
	add_type(g, 0, BTF_KIND_FUNC_PROTO, 0, ID_INT);
	g->next_id = ID_FIRST_FUNC;
}

/* ---- lines ---- */

static struct line_starts *starts_of(struct gen *g, u32 src)
{
	struct line_starts *s = &g->starts[src];
	const struct source *source = &g->diag->sources.at[src];
	u32 cnt = 1;

	if (s->at)
		return s;
	for (u32 i = 0; i < source->len; i++)
		cnt += source->text[i] == '\n';
	s->at = arena_alloc(g->arena, cnt * sizeof(*s->at));
	s->cnt = 1;
	for (u32 i = 0; i < source->len; i++)
		if (source->text[i] == '\n')
			s->at[s->cnt++] = i + 1;
	return s;
}

static void fill_line(struct gen *g, struct span span, u32 insn, struct btfgen_line *out)
{
	const struct source *source = &g->diag->sources.at[span.src];
	struct line_starts *s = starts_of(g, span.src);
	u32 lo = 0, hi = s->cnt, begin = MIN(span.begin, source->len), from, to, col;
	char text[LINE_TEXT_MAX + 1];

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->at[mid] <= begin)
			lo = mid;
		else
			hi = mid;
	}
	from = s->at[lo];
	to = lo + 1 < s->cnt ? s->at[lo + 1] - 1 : source->len;
	col = begin - from + 1;
	while (from < to && isspace((u8)source->text[from]))
		from++;
	snprintf(text, sizeof(text), "%.*s", (int)MIN(to - from, LINE_TEXT_MAX), source->text + from);
	*out = (struct btfgen_line){
		.insn = insn,
		.file_off = add_str(g, source->name),
		.text_off = add_str(g, text),
		.line_col = MIN(lo + 1, 0x3fffffu) << 10 | MIN(col, 0x3ffu),
	};
}

/* Whether instruction i is the second half of an LD_IMM64. */
static bool is_second_half(const struct image_prog *p, u32 i)
{
	return p->insns[i].code == 0;
}

/* The span for a function's first instruction, if it has no line: that of the next line, or else of the probe. */
static struct span start_span(const struct image_prog *p, u32 insn)
{
	for (u32 i = 0; i < p->line_cnt; i++)
		if (p->lines[i].insn >= insn)
			return p->lines[i].span;
	return p->line_cnt ? p->lines[p->line_cnt - 1].span : (struct span){};
}

static void add_lines(struct gen *g, const struct image_prog *p, struct btfgen_prog *out)
{
	u32 func = 0, func_cnt = out->func_cnt, i = 0;
	s64 last = -1;

	out->lines = arena_alloc(g->arena, (p->line_cnt + func_cnt) * sizeof(*out->lines));
	/* Two lists in order, merged: the lines, and the starts of functions. */
	while (func < func_cnt || i < p->line_cnt) {
		u32 start = func < func_cnt ? out->funcs[func].insn : UINT32_MAX;
		struct span span;
		u32 insn;

		if (i < p->line_cnt && p->lines[i].insn <= start) {
			insn = p->lines[i].insn;
			span = p->lines[i].span;
			i++;
		} else {
			insn = start;
			span = start_span(p, start);
		}
		if (insn == start)
			func++;
		if (insn <= last || insn >= p->insn_cnt || is_second_half(p, insn))
			continue;
		if (span.src >= g->diag->sources.cnt)
			span = (struct span){};
		if (!g->diag->sources.cnt)
			continue;
		fill_line(g, span, insn, &out->lines[out->line_cnt++]);
		last = insn;
	}
	/* The kernel takes lines for all functions or for none. */
	if (out->line_cnt && out->lines[0].insn != 0)
		out->line_cnt = 0;
}

/* ---- functions ---- */

static void add_func(struct gen *g, const char *name, bool is_main, u32 insn, struct btfgen_func *out)
{
	add_type(g, add_str(g, name), BTF_KIND_FUNC, is_main ? BTF_FUNC_GLOBAL : BTF_FUNC_STATIC,
		 is_main ? ID_MAIN_PROTO : ID_SUB_PROTO);
	*out = (struct btfgen_func){ insn, g->next_id++ };
}

static void add_prog(struct gen *g, const struct image_prog *p, u32 index, struct btfgen_prog *out)
{
	u32 cnt = MAX(1, p->func_starts.cnt);
	char main_name[64], name[96];

	if (p->name && *p->name)
		btfgen_name(main_name, sizeof(main_name), p->name);
	else
		snprintf(main_name, sizeof(main_name), "prog_%u", index);
	out->funcs = arena_alloc(g->arena, cnt * sizeof(*out->funcs));
	add_func(g, main_name, true, 0, &out->funcs[out->func_cnt++]);
	for (u32 i = 1; i < p->func_starts.cnt; i++) {
		u32 start = p->func_starts.at[i];

		BUG_ON(start >= p->insn_cnt || start <= out->funcs[out->func_cnt - 1].insn);
		snprintf(name, sizeof(name), "%s_%u", main_name, i);
		add_func(g, name, false, start, &out->funcs[out->func_cnt++]);
	}
	add_lines(g, p, out);
}

void btfgen_build(const struct image *img, const struct diag *d, struct arena *a, struct btf_blob *out)
{
	struct gen g = { .arena = a, .diag = d };
	struct btf_header h = { .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(h) };

	g.starts = arena_alloc(a, (g.diag->sources.cnt + 1) * sizeof(*g.starts));
	add_str(&g, "");
	add_shared_types(&g);
	out->progs = arena_alloc(a, img->progs.cnt * sizeof(*out->progs));
	for (u32 i = 0; i < img->progs.cnt; i++)
		if (img->progs.at[i].insn_cnt)
			add_prog(&g, &img->progs.at[i], i, &out->progs[i]);
	h.type_len = h.str_off = g.types.len;
	h.str_len = g.strs.len;
	out->len = sizeof(h) + h.type_len + h.str_len;
	out->data = arena_alloc(a, out->len);
	memcpy(out->data, &h, sizeof(h));
	memcpy(out->data + sizeof(h), g.types.s, h.type_len);
	memcpy(out->data + sizeof(h) + h.type_len, g.strs.s, h.str_len);
	sbuf_release(&g.types);
	sbuf_release(&g.strs);
	smap_release(&g.offsets);
}
