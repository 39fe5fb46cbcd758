#include "kern/btf.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/smap.h"
#include "base/vec.h"
#include "kern/btfraw.h"
#include "kern/sys.h"

#define BTF_DIR "/sys/kernel/btf"

struct btf {
	struct type_source src; /* must be first */
	struct btfraw raw;
	struct btf *base;
	struct arena arena;
	const struct type **types; /* by number - first_id; NULL: not asked for yet */
	struct smap found;         /* "keyword name" → type, or &not_found */
	const char *module;        /* NULL: the kernel itself */
	u32 depth;                 /* of conversions: pointers to pointers to … */
	bool is_kernel;            /* names are also looked for in modules */
	bool has_open_pointers;    /* not the kernel's: they take the address space of the pointer they were reached by */
	bool is_checked;           /* not the kernel's own: nested structs are looked at before they are believed */
	bool modules_listed;
	vec(struct btf *) modules; /* listed in BTF_DIR; raw.data is NULL while closed */
};

static const struct type not_found;   /* stands for NULL in `found` */
static const struct type in_progress; /* stands for a type that is being made: a cycle */

#define KINDS_STRUCT BTF_BIT(BTF_KIND_STRUCT)
#define KINDS_UNION BTF_BIT(BTF_KIND_UNION)
#define KINDS_ENUM (BTF_BIT(BTF_KIND_ENUM) | BTF_BIT(BTF_KIND_ENUM64))
#define KINDS_PLAIN (BTF_BIT(BTF_KIND_TYPEDEF) | BTF_BIT(BTF_KIND_INT) | BTF_BIT(BTF_KIND_FLOAT))

static const struct type *type_at(struct btf *b, u32 id);

/* ---- from records to types ---- */

/* What tags say of memory. */
struct tags {
	bool is_user, is_percpu;
};

/* The first type that does not only decorate another one. NULL: void. */
static const struct btf_type *skip_mods(const struct btfraw *raw, u32 *id, struct tags *tags)
{
	for (u32 depth = 0; depth < 64; depth++) {
		const struct btf_type *t = btfraw_type(raw, *id);

		if (!t)
			return NULL;
		switch (btf_kind(t)) {
		case BTF_KIND_TYPE_TAG:
			if (tags && str_eq(btfraw_str(raw, t->name_off), "user"))
				tags->is_user = true;
			if (tags && str_eq(btfraw_str(raw, t->name_off), "percpu"))
				tags->is_percpu = true;
			*id = t->type;
			break;
		case BTF_KIND_TYPEDEF: case BTF_KIND_VOLATILE: case BTF_KIND_CONST: case BTF_KIND_RESTRICT:
			*id = t->type;
			break;
		case BTF_KIND_UNKN: case BTF_KIND_INT: case BTF_KIND_PTR: case BTF_KIND_ARRAY: case BTF_KIND_STRUCT:
		case BTF_KIND_UNION: case BTF_KIND_ENUM: case BTF_KIND_FWD: case BTF_KIND_FUNC: case BTF_KIND_FUNC_PROTO:
		case BTF_KIND_VAR: case BTF_KIND_DATASEC: case BTF_KIND_FLOAT: case BTF_KIND_DECL_TAG: case BTF_KIND_ENUM64:
		case BTF_KIND_CNT:
			return t;
		}
	}
	return NULL;
}

/* An integer of any size: what does not fit a register is an array of the largest integers that fill it. */
static const struct type *int_of_size(struct btf *b, u32 size, bool is_signed)
{
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return type_int(size, is_signed);
	if (!size)
		return &type_void;
	return size % 8 ? type_array(&b->arena, &type_u8, size) : type_array(&b->arena, &type_u64, size / 8);
}

static const struct type *int_type(struct btf *b, const struct btf_type *t)
{
	u32 enc = *(const u32 *)(t + 1) >> 24 & 0xf;

	if (enc & BTF_INT_BOOL && t->size == 1)
		return &type_bool;
	/* Whether a plain char is signed depends on the machine; the language has one kind of it. */
	return int_of_size(b, t->size, enc & BTF_INT_SIGNED || str_eq(btfraw_str(&b->raw, t->name_off), "char"));
}

static const struct type *pointer_type(struct btf *b, const struct btf_type *t)
{
	struct tags tags = {};
	u32 target = t->type;
	struct type *p;

	skip_mods(&b->raw, &target, &tags);
	p = (struct type *)type_pointer(&b->arena, type_at(b, t->type), tags.is_user ? AS_USER : b->has_open_pointers ? AS_NONE : AS_KERNEL);
	p->is_percpu = tags.is_percpu;
	return p;
}

static const struct type *array_type(struct btf *b, const struct btf_type *t)
{
	const struct btf_array *a = (const void *)(t + 1);
	const struct type *elem = type_at(b, a->type);
	u32 elem_id = a->type;
	const struct btf_type *raw = skip_mods(&b->raw, &elem_id, NULL);

	if ((u64)elem->size * a->nelems > INT32_MAX)
		return &type_void;
	if (raw && btf_kind(raw) == BTF_KIND_INT && a->nelems && str_eq(btfraw_str(&b->raw, raw->name_off), "char"))
		return type_char_array(&b->arena, a->nelems);
	return type_array(&b->arena, elem, a->nelems);
}

static const struct type *named_type(struct btf *b, const struct btf_type *t, u32 id, enum type_kind kind)
{
	struct type *made = arena_new(&b->arena, struct type);

	made->kind = kind;
	made->name = btfraw_str(&b->raw, t->name_off);
	made->src_id = id;
	if (btf_kind(t) == BTF_KIND_FWD) {
		made->is_union = btf_kflag(t);
		made->align = 1;
		return made;
	}
	made->src = &b->src;
	made->size = t->size;
	/* BTF does not tell the alignment; the largest that the size allows is never too small. */
	made->align = t->size % 8 == 0 ? 8 : t->size % 4 == 0 ? 4 : t->size % 2 == 0 ? 2 : 1;
	if (kind == T_ENUM)
		made->is_signed = btf_kflag(t);
	else
		made->is_union = btf_kind(t) == BTF_KIND_UNION;
	return made;
}

static const struct type *convert(struct btf *b, const struct btf_type *t, u32 id)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return int_type(b, t);
	case BTF_KIND_FLOAT:
		return int_of_size(b, t->size, true);
	case BTF_KIND_PTR:
		return pointer_type(b, t);
	case BTF_KIND_ARRAY:
		return array_type(b, t);
	case BTF_KIND_STRUCT: case BTF_KIND_UNION: case BTF_KIND_FWD:
		return t->size <= INT32_MAX || btf_kind(t) == BTF_KIND_FWD ? named_type(b, t, id, T_STRUCT) : &type_void;
	case BTF_KIND_ENUM: case BTF_KIND_ENUM64:
		if (t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8)
			return named_type(b, t, id, T_ENUM);
		return &type_void;
	case BTF_KIND_TYPEDEF: case BTF_KIND_VOLATILE: case BTF_KIND_CONST: case BTF_KIND_RESTRICT: case BTF_KIND_TYPE_TAG:
		return type_at(b, t->type);
	case BTF_KIND_UNKN: case BTF_KIND_FUNC: case BTF_KIND_FUNC_PROTO: case BTF_KIND_VAR: case BTF_KIND_DATASEC:
	case BTF_KIND_DECL_TAG: case BTF_KIND_CNT:
		return &type_void;
	}
	return &type_void;
}

static const struct type *type_at(struct btf *b, u32 id)
{
	const struct btf_type *t = btfraw_type(&b->raw, id);
	const struct type **slot;

	if (!t)
		return &type_void;
	if (id < b->raw.first_id)
		return type_at(b->base, id);
	slot = &b->types[id - b->raw.first_id];
	if (*slot == &in_progress || b->depth > 100)
		return &type_void;
	if (!*slot) {
		*slot = &in_progress;
		b->depth++;
		*slot = convert(b, t, id);
		b->depth--;
	}
	return *slot;
}

/* ---- completing structs and enums ---- */

/* False: it does not lie in the struct, so nothing in the struct can be believed. */
static bool place_member(struct btf *b, const struct type *outer, struct member *m, const struct btf_member *raw, bool kflag)
{
	u32 id = raw->type, bit_sz = 0;
	const struct btf_type *t;
	u64 bit = raw->offset;

	m->name = btfraw_str(&b->raw, raw->name_off);
	m->type = type_at(b, raw->type);
	if (kflag) {
		bit = raw->offset & 0xffffff;
		bit_sz = raw->offset >> 24;
	} else {
		/* Before 4.20 the integer type said it. */
		t = skip_mods(&b->raw, &id, NULL);
		if (t && btf_kind(t) == BTF_KIND_INT) {
			u32 enc = *(const u32 *)(t + 1), bits = enc & 0xff;

			if (bits && bits < 8 * (u64)t->size) {
				bit += enc >> 16 & 0xff;
				bit_sz = bits;
			}
		}
	}
	if (bit_sz)
		return type_place_bits(outer->size, m, bit, bit_sz);
	m->off = bit / 8;
	return bit / 8 + m->type->size <= outer->size;
}

/* Whether the structs inside of type `id` end: a broken file can have one that contains itself. Visits at most *budget. */
static bool nesting_ends(const struct btfraw *raw, u32 id, u32 depth, u32 *budget)
{
	const struct btf_type *t = skip_mods(raw, &id, NULL);
	const struct btf_member *m;

	if (!t)
		return true;
	if (depth > 32 || !*budget)
		return false;
	--*budget;
	if (btf_kind(t) == BTF_KIND_ARRAY)
		return nesting_ends(raw, ((const struct btf_array *)(t + 1))->type, depth + 1, budget);
	if (btf_kind(t) != BTF_KIND_STRUCT && btf_kind(t) != BTF_KIND_UNION)
		return true;
	m = (const void *)(t + 1);
	for (u32 i = 0; i < btf_vlen(t); i++)
		if (!nesting_ends(raw, m[i].type, depth + 1, budget))
			return false;
	return true;
}

static void complete_struct(struct btf *b, struct type *t, const struct btf_type *raw)
{
	const struct btf_member *m = (const void *)(raw + 1);
	u32 cnt = btf_vlen(raw), budget = 100000;
	struct member *made;

	if (b->is_checked && !nesting_ends(&b->raw, t->src_id, 0, &budget))
		return;
	made = arena_alloc(&b->arena, cnt * sizeof(*made));
	for (u32 i = 0; i < cnt; i++)
		if (!place_member(b, t, &made[i], &m[i], btf_kflag(raw)))
			return;
	t->members = made;
	t->member_cnt = cnt;
}

/* The value of enumerator i, and where its name is. */
static s64 enumerator(const struct btf_type *t, u32 i, u32 *name_off)
{
	if (btf_kind(t) == BTF_KIND_ENUM64) {
		const struct btf_enum64 *e = (const struct btf_enum64 *)(t + 1) + i;

		*name_off = e->name_off;
		return (s64)((u64)e->hi << 32 | e->lo);
	} else {
		const struct btf_enum *e = (const struct btf_enum *)(t + 1) + i;

		*name_off = e->name_off;
		return btf_kflag(t) ? (s64)e->val : (s64)(u32)e->val;
	}
}

static void source_complete(struct type_source *src, struct type *t)
{
	struct btf *b = (struct btf *)src;
	const struct btf_type *raw = btfraw_type(&b->raw, t->src_id);
	u32 cnt, name_off;

	t->src = NULL;
	if (!raw || t->member_cnt || t->const_cnt)
		return;
	if (t->kind == T_STRUCT && (btf_kind(raw) == BTF_KIND_STRUCT || btf_kind(raw) == BTF_KIND_UNION)) {
		complete_struct(b, t, raw);
	} else if (t->kind == T_ENUM && BTF_BIT(btf_kind(raw)) & KINDS_ENUM) {
		cnt = btf_vlen(raw);
		t->consts = arena_alloc(&b->arena, cnt * sizeof(*t->consts));
		for (u32 i = 0; i < cnt; i++) {
			t->consts[i].value = enumerator(raw, i, &name_off);
			t->consts[i].name = btfraw_str(&b->raw, name_off);
		}
		t->const_cnt = cnt;
	}
}

/* ---- modules ---- */

static void source_init(struct btf *b);

static void close_module(struct btf *m)
{
	free(m->types);
	m->types = NULL;
	arena_release(&m->arena);
	btfraw_release(&m->raw);
}

static bool open_module(struct btf *m)
{
	char *path;
	int err;

	if (m->raw.data)
		return true;
	path = xasprintf(BTF_DIR "/%s", m->module);
	err = btfraw_open(&m->raw, path, &m->base->raw);
	free(path);
	if (!err)
		m->types = xzalloc((size_t)m->raw.cap * sizeof(*m->types));
	return !err;
}

static void list_modules(struct btf *b)
{
	struct dirent *e;
	DIR *dir;

	if (b->modules_listed)
		return;
	b->modules_listed = true;
	dir = opendir(BTF_DIR);
	while (dir && (e = readdir(dir))) {
		struct btf *m;

		if (*e->d_name == '.' || str_eq(e->d_name, "vmlinux"))
			continue;
		m = xzalloc(sizeof(*m));
		source_init(m);
		m->base = b;
		m->module = xstrdup(e->d_name);
		vec_push(&b->modules, m);
	}
	if (dir)
		closedir(dir);
}

/* The kernel itself first, then its modules. A module stays open only if the name was in it: their types are many, and rarely
 * wanted. */
static u32 find_anywhere(struct btf *b, const char *module, u32 kinds, const char *name, struct btf **in)
{
	bool any = !module || !*module;
	u32 id = 0;

	*in = b;
	if (any || str_eq(module, "vmlinux"))
		id = btfraw_find(&b->raw, kinds, name);
	if (id || !b->is_kernel)
		return id;
	list_modules(b);
	vec_for(m, &b->modules) {
		bool was_open = (*m)->raw.data;

		if (!any && !str_eq(module, (*m)->module))
			continue;
		if (!open_module(*m))
			continue;
		id = btfraw_find(&(*m)->raw, kinds, name);
		if (id) {
			*in = *m;
			return id;
		}
		if (!was_open)
			close_module(*m);
	}
	return 0;
}

/* ---- struct type_source ---- */

static const struct type *source_find(struct type_source *src, const char *keyword, const char *name)
{
	struct btf *b = (struct btf *)src, *in;
	char *key = arena_printf(&b->arena, "%s %s", keyword, name);
	const struct type *t = smap_get(&b->found, key);
	u32 kinds, id;

	if (t)
		return t == &not_found ? NULL : t;
	kinds = str_eq(keyword, "struct")  ? KINDS_STRUCT
		: str_eq(keyword, "union") ? KINDS_UNION
		: str_eq(keyword, "enum")  ? KINDS_ENUM
					   : KINDS_PLAIN;
	id = find_anywhere(b, NULL, kinds, name, &in);
	t = id ? type_at(in, id) : NULL;
	smap_put(&b->found, key, (void *)(t ? t : &not_found));
	return t;
}

static bool source_constant(struct type_source *src, const char *name, s64 *value, const struct type **enum_type)
{
	struct btf *b = (struct btf *)src;

	for (u32 id = 0; (id = btfraw_next(&b->raw, KINDS_ENUM, id));) {
		const struct btf_type *t = btfraw_type(&b->raw, id);
		u32 name_off;

		for (u32 i = 0; i < btf_vlen(t); i++) {
			s64 v = enumerator(t, i, &name_off);

			if (!str_eq(btfraw_str(&b->raw, name_off), name))
				continue;
			*value = v;
			if (enum_type)
				*enum_type = type_at(b, id);
			return true;
		}
	}
	return false;
}

static u32 source_func_id(struct type_source *src, const char *name)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, "vmlinux", BTF_BIT(BTF_KIND_FUNC), name, &in);

	return id;
}

/* The kernel's BTF has variables of this kind only. */
static const struct type *source_percpu_var(struct type_source *src, const char *name)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, "vmlinux", BTF_BIT(BTF_KIND_VAR), name, &in);

	return id ? type_at(in, btfraw_type(&in->raw, id)->type) : NULL;
}

static void source_init(struct btf *b)
{
	b->src = (struct type_source){ .find = source_find, .complete = source_complete, .constant = source_constant,
				       .func_id = source_func_id, .percpu_var = source_percpu_var };
	arena_init(&b->arena);
}

static struct btf *open_raw(struct btfraw raw)
{
	struct btf *b = xzalloc(sizeof(*b));

	source_init(b);
	b->raw = raw;
	b->types = xzalloc((size_t)raw.cap * sizeof(*b->types));
	return b;
}

struct type_source *btf_open_file(const char *path, int *err)
{
	struct btfraw raw;
	struct btf *b;

	*err = btfraw_open(&raw, path, NULL);
	if (*err)
		return NULL;
	*err = btfraw_check(&raw);
	if (*err) {
		btfraw_release(&raw);
		return NULL;
	}
	b = open_raw(raw);
	b->is_checked = true;
	return &b->src;
}

struct type_source *btf_open_mem(const void *data, size_t len, int *err)
{
	u8 *copy = memcpy(xzalloc(len), data, len);
	struct btfraw raw;
	struct btf *b;

	*err = btfraw_init(&raw, copy, len, false, NULL);
	if (!*err)
		*err = btfraw_check(&raw);
	if (*err) {
		btfraw_release(&raw);
		return NULL;
	}
	b = open_raw(raw);
	b->is_checked = true;
	return &b->src;
}

void btf_open_pointers(struct type_source *src)
{
	((struct btf *)src)->has_open_pointers = true;
}

void btf_close(struct type_source *src)
{
	struct btf *b = (struct btf *)src;

	if (!b)
		return;
	vec_for(m, &b->modules) {
		close_module(*m);
		free((char *)(*m)->module);
		free(*m);
	}
	vec_free(&b->modules);
	smap_release(&b->found);
	close_module(b);
	free(b);
}

/* ---- functions ---- */

/* Parameters from `first` on. */
static bool fill_proto(struct btf *b, u32 proto_id, u32 first, struct btf_func *out)
{
	const struct btf_type *t = skip_mods(&b->raw, &proto_id, NULL);
	const struct btf_param *p;
	struct member *params;
	u32 cnt, off = 0;

	if (!t || btf_kind(t) != BTF_KIND_FUNC_PROTO)
		return false;
	p = (const void *)(t + 1);
	cnt = btf_vlen(t);
	/* `...` is a last parameter without name and type. */
	if (cnt && !p[cnt - 1].name_off && !p[cnt - 1].type) {
		out->is_variadic = true;
		cnt--;
	}
	if (cnt < first)
		return false;
	params = arena_alloc(&b->arena, (cnt - first) * sizeof(*params));
	for (u32 i = first; i < cnt; i++) {
		struct member *m = &params[i - first];

		m->name = btfraw_str(&b->raw, p[i].name_off);
		if (!*m->name)
			m->name = arena_printf(&b->arena, "arg%u", i - first);
		m->type = type_at(b, p[i].type);
		m->off = off;
		off += ALIGN_UP(MAX(1, m->type->size), 8);
	}
	out->params = params;
	out->param_cnt = cnt - first;
	out->raw = &b->raw;
	out->proto = proto_id;
	out->first = first;
	out->param_sz = off;
	out->ret = type_at(b, t->type);
	return true;
}

bool btf_find_func(struct type_source *src, const char *module, const char *name, struct btf_func *out)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, module, BTF_BIT(BTF_KIND_FUNC), name, &in);

	if (!id)
		return false;
	*out = (struct btf_func){ .id = id, .module = in->module };
	return fill_proto(in, btfraw_type(&in->raw, id)->type, 0, out);
}

bool btf_func_at(struct type_source *src, const char *module, u32 id, struct btf_func *out)
{
	struct btf *b = (struct btf *)src, *in = NULL;
	const struct btf_type *t;

	if (!module || str_eq(module, "vmlinux"))
		in = b;
	else
		list_modules(b);
	vec_for(m, &b->modules)
		if (!in && str_eq((*m)->module, module) && open_module(*m))
			in = *m;
	t = in ? btfraw_type(&in->raw, id) : NULL;
	if (!t || btf_kind(t) != BTF_KIND_FUNC)
		return false;
	*out = (struct btf_func){ .id = id, .module = in->module };
	return fill_proto(in, t->type, 0, out);
}

bool btf_find_raw_tp(struct type_source *src, const char *module, const char *name, struct btf_func *out)
{
	struct btf *b = (struct btf *)src, *in, *in2;
	const struct btf_type *ptr;
	char *text;
	u32 id, ptr_id;

	text = xasprintf("btf_trace_%s", name);
	id = find_anywhere(b, module, BTF_BIT(BTF_KIND_TYPEDEF), text, &in);
	free(text);
	if (!id)
		return false;
	*out = (struct btf_func){ .id = id, .module = in->module };
	ptr_id = id;
	ptr = skip_mods(&in->raw, &ptr_id, NULL);
	if (!ptr || btf_kind(ptr) != BTF_KIND_PTR || !fill_proto(in, ptr->type, 1, out))
		return false;
	/* The typedef is what the kernel wants to know, but its parameters have no names; one of the functions that the
	 * tracepoint macros define beside it does. */
	for (u32 i = 0; i < 2; i++) {
		struct btf_func fn = {};
		u32 func_id;

		text = xasprintf("%s%s", i ? "__bpf_trace_" : "__traceiter_", name);
		func_id = find_anywhere(b, in->module ? in->module : "vmlinux", BTF_BIT(BTF_KIND_FUNC), text, &in2);
		free(text);
		if (func_id && fill_proto(in2, btfraw_type(&in2->raw, func_id)->type, 1, &fn) && fn.param_cnt == out->param_cnt) {
			out->params = fn.params;
			break;
		}
	}
	return true;
}

u32 btf_find_id(struct type_source *src, const char *name, enum btf_kind kind, const char **module)
{
	struct btf *in;
	u32 id = find_anywhere((struct btf *)src, NULL, BTF_BIT(kind), name, &in);

	if (module)
		*module = in->module;
	return id;
}

static bool each_own(struct btf *b, enum btf_kind kind, btf_each_fn fn, void *arg)
{
	for (u32 id = 0; (id = btfraw_next(&b->raw, BTF_BIT(kind), id));)
		if (!fn(arg, b->module, btfraw_str(&b->raw, btfraw_type(&b->raw, id)->name_off), id))
			return false;
	return true;
}

void btf_each(struct type_source *src, enum btf_kind kind, btf_each_fn fn, void *arg)
{
	struct btf *b = (struct btf *)src;

	if (!each_own(b, kind, fn, arg) || !b->is_kernel)
		return;
	list_modules(b);
	vec_for(m, &b->modules) {
		bool was_open = (*m)->raw.data, go_on;

		if (!open_module(*m))
			continue;
		go_on = each_own(*m, kind, fn, arg);
		if (!was_open)
			close_module(*m);
		if (!go_on)
			return;
	}
}

void btf_print_c(struct type_source *src, const char *module, u32 id, struct sbuf *out)
{
	struct btf *b = (struct btf *)src;

	vec_for(m, &b->modules)
		if (module && str_eq((*m)->module, module))
			b = *m;
	btfraw_print_c(&b->raw, id, out);
}

/* ---- the running kernel ---- */

/* Asks for all bytes at once: where the file cannot be mapped it gives a page a read, which takes three times as long. */
static int open_by_id(struct btfraw *raw)
{
	char name[16] = "";
	struct bpf_btf_info info = { .name = (u64)(uintptr_t)name, .name_len = sizeof(name) };
	int fd = kern_fd_by_id(BPF_BTF_GET_FD_BY_ID, 1), err; /* the kernel's own is the first to exist */
	u32 len = sizeof(info);
	void *data;

	if (fd < 0)
		return fd;
	err = kern_obj_info(fd, &info, &len);
	if (!err && (!info.kernel_btf || !str_eq(name, "vmlinux")))
		err = -ENOENT;
	if (!err) {
		data = mmap(NULL, info.btf_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		info = (struct bpf_btf_info){ .btf = (u64)(uintptr_t)data, .btf_size = info.btf_size };
		len = sizeof(info);
		err = data == MAP_FAILED ? -errno : kern_obj_info(fd, &info, &len);
		if (!err)
			err = btfraw_init(raw, data, info.btf_size, true, NULL);
		if (err && data != MAP_FAILED)
			munmap(data, info.btf_size);
	}
	close(fd);
	return err;
}

struct type_source *kern_types(void)
{
	static struct btf *kernel;
	static bool tried;
	const char *path;
	struct btfraw raw;
	int err;

	if (tried)
		return kernel ? &kernel->src : NULL;
	tried = true;
	path = getenv("SONDE_BTF");
	if (!path || !*path)
		path = getenv("BPFTRACE_BTF");
	if (path && *path) {
		kernel = (struct btf *)btf_open_file(path, &err);
	} else if (!btfraw_map(&raw, BTF_DIR "/vmlinux") || !open_by_id(&raw) || !btfraw_open(&raw, BTF_DIR "/vmlinux", NULL)) {
		kernel = open_raw(raw);
		kernel->is_kernel = true;
	}
	return kernel ? &kernel->src : NULL;
}

bool kern_btf_func(const char *module, const char *name, struct btf_func *out)
{
	struct type_source *src = kern_types();

	return src && btf_find_func(src, module, name, out);
}

bool kern_btf_func_at(const char *module, u32 id, struct btf_func *out)
{
	struct type_source *src = kern_types();

	return src && btf_func_at(src, module, id, out);
}

u32 kern_btf_find_id(const char *name, enum btf_kind kind)
{
	struct type_source *src = kern_types();

	return src ? btf_find_id(src, name, kind, NULL) : 0;
}

int kern_btf_module_fd(const char *module)
{
	u32 id = 0;
	int err, fd;

	while (!(err = kern_next_id(BPF_BTF_GET_NEXT_ID, id, &id))) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (u64)(uintptr_t)name, .name_len = sizeof(name) };
		u32 len = sizeof(info);

		fd = kern_fd_by_id(BPF_BTF_GET_FD_BY_ID, id);
		if (fd == -ENOENT)
			continue; /* gone in between */
		if (fd < 0)
			return fd;
		if (!kern_obj_info(fd, &info, &len) && info.kernel_btf && str_eq(name, module))
			return fd;
		close(fd);
	}
	return err;
}
