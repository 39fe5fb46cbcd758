/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/pack.h"

#include "image/fmt.h"
#include "image/store.h"

/* Types are written when they are met first, and are a number from then on. */
enum { TYPE_NONE, TYPE_FIRST };
enum { TYPE_DEPTH_MAX = 64, TYPE_SZ_MAX = 64 << 20 };

static void fail(struct packer *p, const char *why)
{
	if (!p->why)
		p->why = why;
	p->at = p->end;
}

void pack_bytes(struct packer *p, void *at, size_t n)
{
	if (p->out) {
		sbuf_add(p->out, at, n);
		return;
	}
	if ((size_t)(p->end - p->at) < n) {
		memset(at, 0, n);
		fail(p, "it ends too early");
		return;
	}
	memcpy(at, p->at, n);
	p->at += n;
}

void pack_bool(struct packer *p, bool *v)
{
	u8 byte = p->out ? *v : 0;

	pack_value(p, &byte);
	if (!p->out)
		*v = byte;
}

u32 pack_cnt(struct packer *p, u32 cnt)
{
	pack_value(p, &cnt);
	if (!p->out && cnt > (size_t)(p->end - p->at)) {
		fail(p, "it ends too early");
		return 0;
	}
	return cnt;
}

void pack_str(struct packer *p, const char **s)
{
	u32 cnt = pack_cnt(p, p->out && *s ? strlen(*s) + 1 : 0);

	if (p->out) {
		sbuf_add(p->out, *s, cnt);
		return;
	}
	*s = NULL;
	if (!cnt)
		return;
	if (memchr(p->at, 0, cnt) != p->at + cnt - 1) {
		fail(p, "a text in it has no end");
		return;
	}
	*s = (const char *)p->at;
	p->at += cnt;
}

enum { PLAIN_ALIGN = 8 };

void pack_plain(struct packer *p, void *ptr, u32 *cnt, size_t size)
{
	u32 n = pack_cnt(p, *cnt);

	if (p->out) {
		sbuf_fill(p->out, 0, -(p->out->len - p->start) % PLAIN_ALIGN);
		sbuf_add(p->out, *(void **)ptr, n * size);
		return;
	}
	p->at += MIN(-(uintptr_t)p->at % PLAIN_ALIGN, (size_t)(p->end - p->at));
	if ((size_t)(p->end - p->at) / size < n) {
		fail(p, "it ends too early");
		n = 0;
	}
	*cnt = n;
	*(const void **)ptr = p->at;
	p->at += n * size;
}

void pack_end(struct packer *p)
{
	vec_free(&p->types);
}

/* ---- types ---- */

static void pack_type(struct packer *p, const struct type **type);

static void pack_member(struct packer *p, struct member *m)
{
	pack_str(p, &m->name);
	pack_type(p, &m->type);
	pack_value(p, &m->off);
	pack_value(p, &m->bit_off);
	pack_value(p, &m->bit_sz);
	pack_value(p, &m->is_data_loc);
}

static void pack_const(struct packer *p, struct enum_const *c)
{
	pack_str(p, &c->name);
	pack_value(p, &c->value);
}

static void pack_agg(struct packer *p, const struct agg **row)
{
	const char *name = p->out && *row ? (*row)->name : NULL;

	pack_str(p, &name);
	if (p->out)
		return;
	*row = name ? agg_find(name) : NULL;
	if (name && !*row)
		fail(p, "it has an aggregation that this program does not know");
}

static void pack_opaque(struct packer *p, const struct opaque **row)
{
	const char *name = p->out && *row ? (*row)->name : NULL;

	pack_str(p, &name);
	if (p->out)
		return;
	*row = name ? opaque_find(name) : NULL;
	if (name && !*row)
		fail(p, "it has a kind of value that this program does not know");
}

static void pack_type_body(struct packer *p, struct type *t)
{
	pack_value(p, &t->kind);
	pack_value(p, &t->is_signed);
	pack_value(p, &t->is_union);
	pack_value(p, &t->is_percpu);
	pack_value(p, &t->is_fillable);
	pack_value(p, &t->is_flexible);
	pack_value(p, &t->as);
	pack_value(p, &t->show);
	pack_value(p, &t->stack_mode);
	pack_value(p, &t->size);
	pack_value(p, &t->align);
	pack_value(p, &t->cnt);
	pack_str(p, &t->name);
	pack_agg(p, &t->agg);
	pack_opaque(p, &t->opaque);
	pack_value(p, &t->param);
	pack_type(p, &t->elem);
	pack_array(p, &t->members, &t->member_cnt, pack_member);
	pack_array(p, &t->consts, &t->const_cnt, pack_const);
}

/* As much of a type as showing a value of it needs: nobody follows pointers any more. */
static struct type type_to_write(const struct type *t)
{
	struct type copy = *type_complete(t);

	if (copy.kind == T_POINTER)
		copy.elem = NULL;
	copy.src = NULL;
	return copy;
}

/* A value of the type lies in its size, with all its parts. */
static bool type_is_sound(const struct type *t)
{
	if (t->kind >= T_KIND_CNT || t->size > TYPE_SZ_MAX || t->show > SITE_FUNC || t->stack_mode > STACK_BUILD_ID)
		return false;
	switch (t->kind) {
	case T_ARRAY:
		return t->elem && (u64)t->cnt * t->elem->size <= t->size;
	case T_STRUCT:
	case T_TUPLE:
		for (u32 i = 0; i < t->member_cnt; i++) {
			const struct member *m = &t->members[i];
			u64 size = m->bit_sz ? (m->bit_off + m->bit_sz + 7u) / 8 : m->type ? m->type->size : 0;

			if (!m->type || m->bit_sz > 64 || !is_within(m->off, size, t->size))
				return false;
		}
		return true;
	case T_STRING:
		return true;
	case T_BUFFER:
		return (u64)t->cnt + 4 <= t->size;
	case T_KSTACK:
	case T_USTACK:
		return type_stack_head(t) + ((u64)t->cnt << type_frame_shift(t)) <= t->size;
	case T_AGG:
		return agg_type_is_sound(t);
	case T_OPAQUE:
		return t->opaque && t->size == t->opaque->type->size;
	case T_BOOL:
	case T_SITE:
		return t->size >= 1;
	case T_INT:
	case T_ENUM:
	case T_POINTER:
		return t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8;
	case T_NONE:
	case T_VOID:
		return true;
	case T_ERROR:
	case T_KIND_CNT:
		break;
	}
	return false;
}

static void pack_new_type(struct packer *p, const struct type **type)
{
	struct type copy;

	if (p->out) {
		vec_push(&p->types, *type);
		copy = type_to_write(*type);
		pack_type_body(p, &copy);
		return;
	}
	if (p->depth++ > TYPE_DEPTH_MAX) {
		fail(p, "its types are nested too deep");
		return;
	}
	struct type *t = arena_new(p->arena, struct type);
	u32 at = p->types.cnt;

	vec_push(&p->types, NULL); /* until it is whole, nobody may refer to it */
	pack_type_body(p, t);
	p->types.at[at] = *type = t;
	p->depth--;
	if (!p->why && !type_is_sound(t))
		fail(p, "one of its types is impossible");
}

static void pack_type(struct packer *p, const struct type **type)
{
	u32 id = TYPE_NONE;

	if (p->out && *type)
		for (id = 0; id < p->types.cnt && p->types.at[id] != *type; id++)
			;
	id += p->out && *type ? TYPE_FIRST : 0;
	pack_value(p, &id);
	if (id == p->types.cnt + TYPE_FIRST) {
		pack_new_type(p, type);
		return;
	}
	if (p->out)
		return;
	*type = NULL;
	if (id == TYPE_NONE)
		return;
	if (id < p->types.cnt + TYPE_FIRST)
		*type = p->types.at[id - TYPE_FIRST];
	if (!*type)
		fail(p, "it refers to a type that is not there");
}

/* ---- the image ---- */

static void pack_span(struct packer *p, struct span *s)
{
	pack_value(p, s);
}

static void pack_config(struct packer *p, struct config *c)
{
#define PACK_U(v) pack_value(p, v)
#define PACK_B(v) pack_value(p, v)
#define PACK_E(v) pack_value(p, v)
#define PACK_S(v) pack_str(p, v)
#define CONFIG_ROW(name, kind, def, doc) PACK_##kind(&c->name);
#include "image/config.def"
#undef CONFIG_ROW
}

static void pack_map(struct packer *p, struct image_map *m)
{
	pack_str(p, &m->name);
	pack_value(p, &m->type);
	pack_value(p, &m->key_sz);
	pack_value(p, &m->value_sz);
	pack_value(p, &m->max_entries);
	pack_value(p, &m->flags);
	pack_value(p, &m->init_sz); /* init is image.const_data */
	pack_value(p, &m->script_map);
}

/* A chain that is longer than any that the compiler makes is damage. */
enum { LAYERS_MAX = 8 };

/* From the first layer on, each by the name of its store; no name is the end. */
static void pack_layers(struct packer *p, struct layer **top)
{
	for (u32 i = 0; i <= LAYERS_MAX; i++, top = &(*top)->behind) {
		const char *name = p->out && *top ? (*top)->store->name : NULL;

		pack_str(p, &name);
		if (!name)
			return;
		if (!p->out) {
			const struct store *s = store_find(name);

			if (!s) {
				fail(p, "it stores a map in a way that this program does not know");
				return;
			}
			*top = arena_alloc(p->arena, s->layer_sz);
			(*top)->store = s;
		}
		(*top)->store->pack(p, *top);
	}
	fail(p, "a map of it has too many layers");
}

static void pack_script_map(struct packer *p, struct script_map *m)
{
	pack_str(p, &m->name);
	pack_span(p, &m->first_use);
	pack_type(p, &m->key);
	pack_type(p, &m->val);
	pack_layers(p, &m->top);
	pack_value(p, &m->max_entries);
	pack_value(p, &m->adds_sums);
}

static void pack_provider(struct packer *p, const struct provider **row)
{
	const char *name = p->out ? provider_name(*row) : NULL;

	pack_str(p, &name);
	if (!p->out && !(*row = name ? provider_named(name) : NULL))
		fail(p, "it has a probe of an unknown type");
}

static void pack_site(struct packer *p, struct site *s)
{
	pack_str(p, &s->name);
	pack_str(p, &s->func);
	pack_str(p, &s->target);
	pack_value(p, &s->addr);
	pack_value(p, &s->off);
	pack_value(p, &s->num);
	pack_value(p, &s->is_wild);
	pack_value(p, &s->is_more);
	pack_value(p, &s->variant);
	pack_span(p, &s->span);
}

static void pack_prog(struct packer *p, struct image_prog *g)
{
	pack_str(p, &g->name);
	pack_provider(p, &g->provider);
	pack_value(p, &g->flags);
	pack_span(p, &g->span);
	pack_value(p, &g->site_first);
	pack_value(p, &g->site_cnt);
	pack_value(p, &g->variant);
	pack_value(p, &g->session);
	pack_value(p, &g->is_joined);
	pack_value(p, &g->uses_site);
	pack_value(p, &g->attr.type);
	pack_value(p, &g->attr.attach_type);
	pack_value(p, &g->attr.attach_btf_id);
	pack_str(p, &g->attr.module);
	pack_value(p, &g->attr.prog_id);
	pack_value(p, &g->attr.is_sleepable);
	pack_plain(p, &g->insns, &g->insn_cnt, sizeof(*g->insns));
	pack_plain(p, &g->lines, &g->line_cnt, sizeof(*g->lines));
	pack_plain(p, &g->func_starts.at, &g->func_starts.cnt, sizeof(*g->func_starts.at));
	pack_value(p, &g->stack_sz);
}

static void pack_field(struct packer *p, struct rec_field *f)
{
	pack_type(p, &f->type);
	pack_value(p, &f->off);
	pack_value(p, &f->is_var);
	pack_value(p, &f->is_rest);
	pack_value(p, &f->is_own);
}

/* As the text that it was made of. */
static void pack_fmt(struct packer *p, const struct fmt **fmt)
{
	const char *text = p->out && *fmt ? (*fmt)->text : NULL, *why;
	u32 len = p->out && *fmt ? (*fmt)->text_len : 0, at;

	len = pack_cnt(p, text ? len + 1 : 0);
	if (p->out && len)
		sbuf_add(p->out, text, len - 1);
	if (p->out || !len)
		return;
	if ((size_t)(p->end - p->at) < len - 1) {
		fail(p, "it ends too early");
		return;
	}
	*fmt = fmt_parse(p->arena, (const char *)p->at, len - 1, &why, &at);
	p->at += len - 1;
	if (!*fmt)
		fail(p, "it has a format that is none");
}

static void pack_rec(struct packer *p, struct rec **rec)
{
	struct rec *r = p->out ? *rec : (*rec = arena_new(p->arena, struct rec));
	const char *name = p->out ? fn_name(r->fn) : NULL;

	pack_str(p, &name);
	if (!p->out && !(r->fn = name ? fn_named(name) : NULL))
		fail(p, "it has a record of an unknown function");
	pack_span(p, &r->span);
	pack_array(p, &r->fields, &r->field_cnt, pack_field);
	pack_value(p, &r->fixed_sz);
	pack_value(p, &r->fixed_end);
	pack_fmt(p, &r->fmt);
	pack_str(p, &r->text);
	pack_value(p, &r->map);
	pack_value(p, &r->num);
	pack_value(p, &r->reset);
	pack_value(p, &r->is_ctrl);
	pack_value(p, &r->is_awaited);
}

static void pack_fault(struct packer *p, struct fault *f)
{
	pack_span(p, &f->span);
	pack_str(p, &f->text);
	pack_str(p, &f->helper);
	pack_value(p, &f->off);
	pack_value(p, &f->is_read);
}

static void pack_image(struct packer *p, struct image *img)
{
	pack_config(p, &img->config);
	pack_value(p, &img->mode);
	pack_value(p, &img->warns_more);
	pack_value(p, &img->home.ncpus);
	pack_value(p, &img->home.pidns_dev);
	pack_value(p, &img->home.pidns_ino);
	pack_value(p, &img->home.filter_pid);
	pack_value(p, &img->home.is_of_boot);
	pack_value(p, &img->late);
	pack_vec(p, &img->maps, pack_map);
	pack_vec(p, &img->script_maps, pack_script_map);
	pack_vec(p, &img->sites, pack_site);
	pack_vec(p, &img->progs, pack_prog);
	pack_vec(p, &img->recs, pack_rec);
	pack_vec(p, &img->faults, pack_fault);
	pack_value(p, &img->data);
	pack_plain(p, &img->const_data, &img->const_sz, 1);
	pack_value(p, &img->max_rec_sz);
	pack_value(p, &img->unwind);
	pack_value(p, &img->waits);
	pack_value(p, &img->has_user_addrs);
	pack_value(p, &img->needs);
}

void image_pack(const struct image *img, struct sbuf *out)
{
	struct packer p = { .out = out, .start = out->len };

	pack_image(&p, (struct image *)img); /* which writing leaves as it is */
	pack_end(&p);
}

struct image *image_unpack(const void *bytes, size_t len, const char **why)
{
	struct arena *arena = xzalloc(sizeof(*arena));
	struct packer p = { .arena = arena };
	struct image *img;

	arena_init(arena);
	p.at = arena_memdup(arena, bytes, len); /* with the alignment that pack_plain() counts on */
	p.end = p.at + len;
	img = arena_new(arena, struct image);
	img->arena = arena;
	pack_image(&p, img);
	pack_end(&p);
	if (!p.why && p.at != p.end)
		p.why = "there is something behind its end";
	if (!p.why)
		p.why = image_unsound(img);
	if (!p.why && img->maps.at[MAP_IDX_CONST].type)
		img->maps.at[MAP_IDX_CONST].init = img->const_data;
	if (!p.why)
		return img;
	*why = p.why;
	image_free(img);
	return NULL;
}

void image_free(struct image *img)
{
	struct arena *arena = img ? img->arena : NULL;

	if (!arena)
		return;
	arena_release(arena);
	free(arena);
}
