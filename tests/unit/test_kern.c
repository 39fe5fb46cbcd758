/* SPDX-License-Identifier: GPL-2.0-only */
/* kern/: BTF, tracefs formats, kallsyms, the verifier's log, rings and objects. What needs the running kernel's consent is
 * skipped without it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "image/btfgen.h"
#include "kern/feature.h"
#include "kern/kallsyms.h"
#include "kern/machine.h"
#include "kern/ring.h"
#include "kern/sys.h"
#include "kern/tracefs.h"
#include "kern/types.h"
#include "kern/vlog.h"
#include "lang/provider.h"
#include "image/object.h"
#include "types/btfraw.h"
#include "types/eventformat.h"

#define CHECK_STR(a, b)                                                                                                          \
	do {                                                                                                                     \
		const char *a_ = (a);                                                                                            \
		if (str_eq(a_, b)) {                                                                                             \
			CHECK_PASSED();                                                                                          \
		} else {                                                                                                         \
			failed++;                                                                                                \
			printf("%s:%d: failed: \"%s\" is not \"%s\"\n", __FILE__, __LINE__, a_, b);                              \
		}                                                                                                                \
	} while (0)

static struct arena arena;

/* ---- BTF ---- */

struct blob {
	struct sbuf types, strs;
	u32 cnt;
};

static u32 blob_str(struct blob *b, const char *s)
{
	u32 off;

	if (!b->strs.len)
		sbuf_add(&b->strs, "", 1);
	if (!*s)
		return 0;
	off = b->strs.len;
	sbuf_add(&b->strs, s, strlen(s) + 1);
	return off;
}

static void blob_words(struct blob *b, const u32 *words, u32 cnt)
{
	sbuf_add(&b->types, words, 4 * cnt);
}
#define WORDS(b, ...) blob_words(b, (u32[]){ __VA_ARGS__ }, sizeof((u32[]){ __VA_ARGS__ }) / 4)

static u32 blob_type(struct blob *b, const char *name, enum btf_kind kind, u32 vlen, u32 size_or_type)
{
	WORDS(b, blob_str(b, name), (u32)kind << 24 | vlen, size_or_type);
	return ++b->cnt;
}

#define KFLAG 0x80000000u

static u8 *blob_finish(struct blob *b, u32 *len)
{
	struct btf_header h = { BTF_MAGIC, 1, 0, sizeof(h), 0, b->types.len, b->types.len, b->strs.len };
	u8 *data = xzalloc(*len = sizeof(h) + b->types.len + b->strs.len);

	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), b->types.s, b->types.len);
	memcpy(data + sizeof(h) + b->types.len, b->strs.s, b->strs.len);
	sbuf_release(&b->types);
	sbuf_release(&b->strs);
	return data;
}

static u8 *sample_btf(u32 *len)
{
	struct blob b = {};
	u32 i32, chr, u32t, boolean, name, arr, arr2, node_ptr, color, fwd, proto, proto_ptr, anon;
	u32 node = 15, user, user_ptr, wide, dbl;

	i32 = blob_type(&b, "int", BTF_KIND_INT, 0, 4);
	WORDS(&b, BTF_INT_SIGNED << 24 | 32);
	chr = blob_type(&b, "char", BTF_KIND_INT, 0, 1);
	WORDS(&b, 8);
	u32t = blob_type(&b, "unsigned int", BTF_KIND_INT, 0, 4);
	WORDS(&b, 32);
	boolean = blob_type(&b, "_Bool", BTF_KIND_INT, 0, 1);
	WORDS(&b, BTF_INT_BOOL << 24 | 8);
	name = blob_type(&b, "", BTF_KIND_ARRAY, 0, 0);
	WORDS(&b, chr, i32, 16);
	arr = blob_type(&b, "", BTF_KIND_ARRAY, 0, 0);
	WORDS(&b, i32, i32, 3);
	arr2 = blob_type(&b, "", BTF_KIND_ARRAY, 0, 0);
	WORDS(&b, arr, i32, 2);
	node_ptr = blob_type(&b, "", BTF_KIND_PTR, 0, node);
	color = blob_type(&b, "color", BTF_KIND_ENUM, 2, 4);
	b.types.s[b.types.len - 5] |= 0x80; /* signed */
	WORDS(&b, blob_str(&b, "RED"), (u32)-1, blob_str(&b, "GREEN"), 5);
	fwd = blob_type(&b, "opaque", BTF_KIND_FWD, 0, 0);
	proto = blob_type(&b, "", BTF_KIND_FUNC_PROTO, 2, i32);
	WORDS(&b, blob_str(&b, "a"), i32, blob_str(&b, "n"), node_ptr);
	proto_ptr = blob_type(&b, "", BTF_KIND_PTR, 0, proto);
	anon = blob_type(&b, "", BTF_KIND_UNION, 2, 4);
	WORDS(&b, blob_str(&b, "as_int"), i32, 0, blob_str(&b, "as_char"), chr, 0);
	blob_type(&b, "do_it", BTF_KIND_FUNC, BTF_FUNC_GLOBAL, proto);
	CHECK(blob_type(&b, "node", BTF_KIND_STRUCT, 12, 96) == node);
	b.types.s[b.types.len - 5] |= 0x80; /* offsets with sizes of bit-fields */
	user = node + 1, user_ptr = node + 2, wide = node + 3, dbl = node + 4;
	WORDS(&b, blob_str(&b, "name"), name, 0);
	WORDS(&b, blob_str(&b, "next"), node_ptr, 128);
	WORDS(&b, blob_str(&b, "low"), u32t, 3 << 24 | 192);
	WORDS(&b, blob_str(&b, "high"), i32, 5 << 24 | 195);
	WORDS(&b, blob_str(&b, "flag"), boolean, 1 << 24 | 200);
	WORDS(&b, blob_str(&b, "grid"), arr2, 224);
	WORDS(&b, blob_str(&b, "paint"), color, 416);
	WORDS(&b, blob_str(&b, ""), anon, 448);
	WORDS(&b, blob_str(&b, "call"), proto_ptr, 512);
	WORDS(&b, blob_str(&b, "far"), user_ptr, 576);
	WORDS(&b, blob_str(&b, "wide"), wide, 640);
	WORDS(&b, blob_str(&b, "ratio"), dbl, 704);
	CHECK(blob_type(&b, "user", BTF_KIND_TYPE_TAG, 0, chr) == user);
	CHECK(blob_type(&b, "", BTF_KIND_PTR, 0, user) == user_ptr);
	CHECK(blob_type(&b, "wide", BTF_KIND_ENUM64, 1, 8) == wide);
	WORDS(&b, blob_str(&b, "WIDE_ONE"), 7, 1);
	CHECK(blob_type(&b, "double", BTF_KIND_FLOAT, 0, 8) == dbl);
	blob_type(&b, "node_t", BTF_KIND_TYPEDEF, 0, node);
	blob_type(&b, "", BTF_KIND_PTR, 0, fwd);
	blob_type(&b, "opaque_t", BTF_KIND_TYPEDEF, 0, b.cnt);
	/* A bit-field at the end of a packed struct, whose unit would reach past it. */
	blob_type(&b, "tight", BTF_KIND_STRUCT, 2, 5);
	b.types.s[b.types.len - 5] |= 0x80;
	WORDS(&b, blob_str(&b, "first"), i32, 0, blob_str(&b, "last"), u32t, 4 << 24 | 34);
	/* One that contains itself. */
	blob_type(&b, "snake", BTF_KIND_STRUCT, 1, 8);
	WORDS(&b, blob_str(&b, ""), b.cnt, 0);
	return blob_finish(&b, len);
}

static void check_member(const struct type *t, const char *name, const char *type, u32 off, u32 bit_off, u32 bit_sz)
{
	u32 at = 0;
	const struct member *m = type_member(t, name, &at);

	CHECK(m);
	if (!m)
		return;
	CHECK_STR(type_str(&arena, m->type), type);
	CHECK(at == off);
	CHECK(m->bit_off == bit_off && m->bit_sz == bit_sz);
}

static void test_btf(void)
{
	const struct type *t, *e;
	struct type_source *src;
	struct btf_func fn;
	s64 value = 0;
	u32 len, off;
	int err;
	u8 *data = sample_btf(&len);

	src = btf_open_mem(data, len, &err);
	CHECK(src && !err);
	free(data);
	if (!src)
		return;
	t = src->find(src, "struct", "node");
	CHECK(t && t->kind == T_STRUCT && t->size == 96 && !t->member_cnt);
	check_member(t, "name", "string[16]", 0, 0, 0);
	check_member(t, "next", "struct node *", 16, 0, 0);
	check_member(t, "low", "uint32", 24, 0, 3);
	check_member(t, "high", "int32", 24, 3, 5);
	check_member(t, "flag", "bool", 25, 0, 1);
	check_member(t, "grid", "int32[3][2]", 28, 0, 0);
	check_member(t, "paint", "enum color", 52, 0, 0);
	check_member(t, "as_int", "int32", 56, 0, 0);
	check_member(t, "as_char", "int8", 56, 0, 0);
	check_member(t, "call", "void *", 64, 0, 0);
	check_member(t, "far", "int8 *", 72, 0, 0);
	check_member(t, "wide", "enum wide", 80, 0, 0);
	check_member(t, "ratio", "int64", 88, 0, 0);
	CHECK(type_member(t, "next", &off)->type->as == AS_KERNEL);
	CHECK(type_member(t, "far", &off)->type->as == AS_USER);
	CHECK(type_member(t, "next", &off)->type->elem == t);
	CHECK(!type_member(t, "absent", &off));
	CHECK(src->find(src, "", "node_t") == t);
	CHECK(src->find(src, "struct", "node") == t);
	CHECK(!src->find(src, "union", "node"));
	CHECK(!src->find(src, "struct", "absent") && !src->find(src, "struct", "absent"));
	CHECK(src->find(src, "", "_Bool") == &type_bool);
	t = src->find(src, "", "opaque_t");
	CHECK(t && type_is_struct_ptr(t) && !type_complete(t->elem)->member_cnt);
	e = src->find(src, "enum", "color");
	CHECK(e && e->is_signed && type_complete(e)->const_cnt == 2 && e->consts[0].value == -1);
	CHECK(src->constant(src, "GREEN", &value, &t) && value == 5 && t == e);
	CHECK(src->constant(src, "WIDE_ONE", &value, &t) && value == (1ll << 32) + 7);
	CHECK(!src->constant(src, "BLUE", &value, &t));
	check_member(src->find(src, "struct", "tight"), "last", "uint32", 1, 26, 4);
	CHECK(!type_complete(src->find(src, "struct", "snake"))->member_cnt);
	CHECK(btf_find_func(src, NULL, "do_it", &fn) && fn.param_cnt == 2 && !fn.module && !fn.is_variadic);
	CHECK_STR(fn.params[1].name, "n");
	CHECK_STR(type_str(&arena, fn.params[1].type), "struct node *");
	CHECK(fn.params[1].off == 8 && fn.ret == &type_s32);
	CHECK(!btf_find_func(src, NULL, "node", &fn));
	CHECK(btf_find_id(src, "node", BTF_KIND_STRUCT, NULL) == 15);
	/* Past the limit at which names go through the hash table: the same answers. */
	for (u32 i = 0; i < 40; i++)
		CHECK(btf_find_id(src, i & 1 ? "node" : "none", BTF_KIND_STRUCT, NULL) == (i & 1 ? 15 : 0));
	CHECK(btf_find_id(src, "node_t", BTF_KIND_TYPEDEF, NULL) == 20);
	btf_close(src);
}

/* Three structs of 16 bytes: the first has a pointer to the second and, by value, the third. Members are written when they are
 * asked for. */
struct growing {
	struct btf_growth g; /* must be first */
	u32 ids[3], whole[3], ptr, int_id;
	u32 define_cnt[3];
};

static u32 growing_define(struct btf_growth *g, u32 id)
{
	struct growing *w = (struct growing *)g;
	struct btf_member m = { btfwriter_str(&g->w, "x"), w->int_id, 0 };

	for (u32 i = 0; i < 3; i++) {
		if (w->ids[i] != id || w->whole[i])
			continue;
		w->define_cnt[i]++;
		w->whole[i] = btfwriter_type(&g->w, BTF_KIND_STRUCT, "", 16, i ? 1 : 2, false);
		if (!i) {
			btfwriter_tail(&g->w, &(struct btf_member){ btfwriter_str(&g->w, "ptr"), w->ptr, 0 }, sizeof(m));
			m = (struct btf_member){ btfwriter_str(&g->w, "in"), w->ids[2], 0 };
		}
		btfwriter_tail(&g->w, &m, sizeof(m));
	}
	for (u32 i = 0; i < 3; i++)
		if (w->ids[i] == id)
			return w->whole[i];
	return id;
}

static u32 growing_align(struct btf_growth *g, u32 id)
{
	return id == ((struct growing *)g)->ids[2] ? 16 : 0;
}

static void test_btf_growth(void)
{
	static const char *const names[] = { "first", "second", "third" };
	struct growing w = { .g = { .define = growing_define, .align = growing_align } };
	const struct type *t, *p;
	struct type_source *src;
	const char *name;
	u32 off;

	btfwriter_init(&w.g.w, &arena);
	src = btf_open_growth(&w.g);
	for (u32 i = 0; i < 3; i++)
		w.ids[i] = btfwriter_type(&w.g.w, BTF_KIND_STRUCT, names[i], 16, 0, false);
	t = btf_type(src, w.ids[0]);
	CHECK(t->kind == T_STRUCT && t->size == 16 && t->align == 8 && btf_type(src, w.ids[0]) == t &&
	      btf_type(src, 0) == &type_void);
	name = t->name;
	w.int_id = btfwriter_int(&w.g.w, "int", 4, BTF_INT_SIGNED);
	w.ptr = btfwriter_type(&w.g.w, BTF_KIND_PTR, "", w.ids[1], 0, false);
	/* The writer's memory moves; names stay. */
	for (u32 i = 0; i < 1000; i++)
		btfwriter_type(&w.g.w, BTF_KIND_FLOAT, arena_printf(&arena, "float%u", i), 8, 0, false);
	CHECK(btf_type(src, w.ptr)->elem == btf_type(src, w.ids[1]) && btf_type(src, w.ptr)->as == AS_USER);
	CHECK(!w.define_cnt[0] && !w.define_cnt[1] && !w.define_cnt[2]);
	check_member(t, "ptr", "struct second *", 0, 0, 0);
	check_member(t, "in", "struct third", 0, 0, 0);
	CHECK(w.define_cnt[0] == 1 && !w.define_cnt[1] && w.define_cnt[2] == 1);
	CHECK(t->member_cnt == 2 && t->members[1].type->align == 16);
	check_member(t->members[1].type, "x", "int32", 0, 0, 0);
	p = t->members[0].type->elem;
	check_member(p, "x", "int32", 0, 0, 0);
	CHECK(w.define_cnt[0] == 1 && w.define_cnt[1] == 1 && w.define_cnt[2] == 1 && !type_member(p, "y", &off));
	CHECK_STR(name, "first");
	btf_close(src);
	btfwriter_release(&w.g.w);
}

/* A module's BTF goes on where the kernel's ends. */
static void test_btf_split(void)
{
	struct btfraw base, split;
	const struct btf_type *t;
	u32 len, first, id, str;
	u8 *data = sample_btf(&len), *more;
	struct blob b = {};

	CHECK(!btfraw_init(&base, data, len, false, NULL) && !btfraw_check(&base));
	first = base.first_id + base.cnt;
	sbuf_add(&b.strs, "extra", 6);
	str = base.str_len;
	WORDS(&b, str, (u32)BTF_KIND_STRUCT << 24 | 1, 96, 0, 15, 0);
	WORDS(&b, str, (u32)BTF_KIND_TYPEDEF << 24, first);
	more = blob_finish(&b, &len);
	CHECK(!btfraw_init(&split, more, len, false, &base) && !btfraw_check(&split));
	id = btfraw_find(&split, BTF_BIT(BTF_KIND_STRUCT), "extra");
	CHECK(id == first && btfraw_find(&split, BTF_BIT(BTF_KIND_TYPEDEF), "extra") == first + 1);
	CHECK(!btfraw_find(&base, BTF_BIT(BTF_KIND_STRUCT), "extra") && !btfraw_find(&split, BTF_BIT(BTF_KIND_STRUCT), "node"));
	t = btfraw_type(&split, ((const struct btf_member *)(btfraw_type(&split, id) + 1))->type);
	CHECK(t && t == btfraw_type(&base, 15));
	CHECK_STR(btfraw_str(&split, t->name_off), "node");
	CHECK(!btfraw_type(&split, first + 2) && !btfraw_type(&base, first) && !btfraw_type(&split, 0));
	CHECK_STR(btfraw_str(&split, str + 6), "");
	CHECK(btfraw_next(&split, BTF_BIT(BTF_KIND_TYPEDEF), 0) == first + 1 &&
	      !btfraw_next(&split, BTF_BIT(BTF_KIND_TYPEDEF), first + 1));
	btfraw_release(&split);
	btfraw_release(&base);
}

/* Asks everything that can be asked. The answers do not matter, only that there are some. */
static void exercise(struct type_source *src)
{
	static const char *const names[] = { "node", "tight", "snake", "node_t", "opaque_t", "color",
					     "wide", "int",   "char",  "double", "x" };
	static const char *const words[] = { "struct", "union", "enum", "" };
	const struct type *t;
	struct btf_func fn;
	struct sbuf text = {};
	s64 value;
	u32 off;

	for (u32 w = 0; w < ARRAY_CNT(words); w++) {
		for (u32 i = 0; i < ARRAY_CNT(names); i++) {
			t = src->find(src, words[w], names[i]);
			if (!t)
				continue;
			type_complete(t);
			type_print(t, &text);
			if (t->kind == T_STRUCT) {
				type_member(t, "as_char", &off);
				for (u32 m = 0; m < t->member_cnt; m++) {
					type_print(t->members[m].type, &text);
					if (t->members[m].off + t->members[m].type->size > t->size)
						CHECK(!"a member outside of its struct");
				}
			}
			sbuf_reset(&text);
		}
	}
	src->constant(src, "GREEN", &value, &t);
	src->constant(src, "ABSENT", &value, &t);
	btf_find_func(src, NULL, "do_it", &fn);
	btf_find_raw_tp(src, NULL, "do_it", &fn);
	sbuf_release(&text);
}

static void test_btf_broken(void)
{
	static const u8 garbage[64] = { 0x9f, 0xeb, 1, 0, 24, 0, 0, 0 };
	u32 len, seed = 1, opened = 0;
	u8 *data = sample_btf(&len);
	struct type_source *src;
	int err;

	CHECK(!btf_open_mem("", 0, &err) && err == -EINVAL);
	CHECK(!btf_open_mem(garbage, sizeof(garbage), &err) && err == -EINVAL);
	CHECK(!btf_open_file("/nonexistent/btf", &err) && err == -ENOENT);
	for (u32 n = 0; n < len; n++) {
		src = btf_open_mem(data, n, &err);
		CHECK(!src && err == -EINVAL);
		btf_close(src);
	}
	for (u32 i = 0; i < 20000; i++) {
		u8 *copy = memcpy(xzalloc(len), data, len);
		u32 flips = 1 + i % 4;

		for (u32 k = 0; k < flips; k++) {
			seed = seed * 1664525 + 1013904223;
			copy[(seed >> 8) % len] = i & 4 ? seed >> 24 : copy[(seed >> 8) % len] ^ 1u << (seed >> 29);
		}
		src = btf_open_mem(copy, len, &err);
		free(copy);
		if (src) {
			opened++;
			exercise(src);
			btf_close(src);
		}
	}
	CHECK(opened > 1000);
	free(data);
}

static bool count_func(void *arg, const char *module, const char *name, u32 id)
{
	u32 *cnt = arg;

	CHECK(module || id);
	if (*name)
		++*cnt;
	return *cnt < 1000;
}

static void test_btf_kernel(void)
{
	struct type_source *src = kern_types();
	const struct type *t, *e;
	struct btf_func fn;
	s64 value;
	u32 off, cnt = 0;

	if (!src) {
		printf("skipped: the kernel's BTF cannot be read\n");
		return;
	}
	t = src->find(src, "struct", "task_struct");
	CHECK(t && t->size > 1000);
	CHECK_STR(type_str(&arena, type_member(t, "comm", &off)->type), "string[16]");
	CHECK_STR(type_str(&arena, type_member(t, "pid", &off)->type), "int32");
	CHECK_STR(type_str(&arena, type_member(t, "real_parent", &off)->type), "struct task_struct *");
	CHECK(type_member(t, "in_execve", &off)->bit_sz == 1);
	CHECK(kern_btf_func(NULL, "vfs_read", &fn) && fn.param_cnt == 4);
	CHECK_STR(fn.params[0].name, "file");
	CHECK_STR(type_str(&arena, fn.params[0].type), "struct file *");
	CHECK(btf_find_raw_tp(src, NULL, "sched_switch", &fn) && fn.param_cnt >= 3);
	CHECK_STR(fn.params[1].name, "prev");
	CHECK(kern_btf_find_id("btf_trace_sched_switch", BTF_KIND_TYPEDEF) == fn.id);
	CHECK(!kern_btf_find_id("no_such_type_here", BTF_KIND_STRUCT));
	CHECK(src->constant(src, "BPF_MAP_TYPE_HASH", &value, &e) && value == 1);
	btf_each(src, BTF_KIND_FUNC, count_func, &cnt);
	CHECK(cnt == 1000);
}

/* ---- tracefs ---- */

static const char openat_format[] = "name: sys_enter_openat\nID: 700\nformat:\n"
				    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
				    "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
				    "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
				    "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
				    "\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
				    "\tfield:unsigned long addr;\toffset:48;\tsize:8;\tsigned:0;\n"
				    "\tfield:const char *const * argv;\toffset:56;\tsize:8;\tsigned:0;\n"
				    "\tfield:struct node * n;\toffset:64;\tsize:8;\tsigned:0;\n"
				    "\tfield:struct stranger * s;\toffset:72;\tsize:8;\tsigned:0;\n"
				    "\nprint fmt: \"dfd: 0x%08lx; offset:1;\", REC->dfd\n";

static const char mixed_format[] = "format:\n"
				   "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
				   "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				   "\tfield:char next_comm[TASK_COMM_LEN];\toffset:24;\tsize:16;\tsigned:0;\n"
				   "\tfield:pid_t pid;\toffset:40;\tsize:4;\tsigned:1;\n"
				   "\tfield:__data_loc char[] filename;\toffset:44;\tsize:4;\tsigned:0;\n"
				   "\tfield:__data_loc u64[] list;\toffset:48;\tsize:4;\tsigned:0;\n"
				   "\tfield:bool ok;\toffset:52;\tsize:1;\tsigned:0;\n"
				   "\tfield:enum zone_type zone;\toffset:56;\tsize:4;\tsigned:0;\n"
				   "\tfield:unsigned long args[6];\toffset:64;\tsize:48;\tsigned:0;\n"
				   "\tfield:u8 addr[ETH_ALEN];\toffset:112;\tsize:6;\tsigned:0;\n"
				   "\tfield:struct node * n;\toffset:120;\tsize:8;\tsigned:0;\n"
				   "\tfield:void __user * p;\toffset:128;\tsize:8;\tsigned:0;\n"
				   "\tfield:mystery_t m[2];\toffset:136;\tsize:8;\tsigned:1;\n"
				   "\tfield:blob_t odd;\toffset:144;\tsize:12;\tsigned:0;\n"
				   "\tfield:struct node whole;\toffset:160;\tsize:96;\tsigned:0;\n"
				   "\tfield:broken line\n"
				   "\tfield:;\toffset:1;\tsize:1;\tsigned:0;\n";

static void check_field(const struct type *t, const char *name, const char *type, u32 off, bool is_data_loc)
{
	u32 at = 0;
	const struct member *m = type_member(t, name, &at);

	CHECK(m);
	if (!m)
		return;
	CHECK_STR(type_str(&arena, m->type), type);
	CHECK(at == off && m->is_data_loc == is_data_loc);
}

static void test_format(void)
{
	u32 len, off;
	u8 *data = sample_btf(&len);
	struct type_source *src;
	const struct type *t;
	int err;

	src = btf_open_mem(data, len, &err);
	free(data);
	t = event_format_parse(openat_format, sizeof(openat_format) - 1, "syscalls", "sys_enter_openat", &arena, src);
	CHECK(t && t->member_cnt == 8 && t->size == 80);
	check_field(t, "__syscall_nr", "int32", 8, false);
	check_field(t, "dfd", "int32", 16, false);
	check_field(t, "filename", "int8 *", 24, false);
	check_field(t, "mode", "uint16", 40, false);
	check_field(t, "addr", "uint64", 48, false);
	check_field(t, "argv", "int8 **", 56, false);
	check_field(t, "n", "struct node *", 64, false);
	check_field(t, "s", "void *", 72, false);
	CHECK(type_member(t, "filename", &off)->type->as == AS_USER);
	CHECK(!type_member(t, "common_pid", &off));

	t = event_format_parse(mixed_format, sizeof(mixed_format) - 1, "sched", "mixed", &arena, src);
	CHECK(t && t->member_cnt == 14 && t->size == 256);
	CHECK_STR(t->name, "_tracepoint_sched_mixed");
	check_field(t, "prev_comm", "string[16]", 8, false);
	check_field(t, "next_comm", "string[16]", 24, false);
	check_field(t, "pid", "int32", 40, false);
	check_field(t, "filename", "int8 *", 44, true);
	check_field(t, "list", "uint64 *", 48, true);
	check_field(t, "ok", "bool", 52, false);
	check_field(t, "zone", "uint32", 56, false);
	check_field(t, "args", "uint64[6]", 64, false);
	check_field(t, "addr", "uint8[6]", 112, false);
	check_field(t, "n", "struct node *", 120, false);
	check_field(t, "p", "void *", 128, false);
	check_field(t, "m", "int32[2]", 136, false);
	check_field(t, "odd", "uint8[12]", 144, false);
	check_field(t, "whole", "struct node", 160, false);
	CHECK(type_member(t, "n", &off)->type->as == AS_KERNEL);
	CHECK(event_format_parse(mixed_format, sizeof(mixed_format) - 1, "sched", "mixed", &arena, NULL));
	CHECK(!event_format_parse("nonsense", 8, "a", "b", &arena, src));
	CHECK(!event_format_parse("", 0, "a", "b", &arena, src));
	for (u32 n = 0; n < sizeof(mixed_format); n++)
		event_format_parse(mixed_format, n, "a", "b", &arena, src);
	btf_close(src);
}

static bool take_function(void *arg, const char *name, const char *module)
{
	struct sbuf *out = arg;

	sbuf_printf(out, "%s/%s ", name, module ? module : "-");
	return !str_eq(name, "stop");
}

static void test_functions(void)
{
	static const char text[] = "vfs_read\nfoo [mod]\n__ftrace_invalid_address___12\nbar [m2]\t\nstop\nafter\n";
	struct sbuf out = {};

	tracefs_parse_functions(text, sizeof(text) - 1, take_function, &out);
	CHECK_STR(sbuf_str(&out), "vfs_read/- foo/mod bar/m2 stop/- ");
	sbuf_release(&out);
}

static void count_event(void *arg, const char *category, const char *event)
{
	CHECK_STR(category, "sched");
	CHECK(str_starts(event, "sched_sw"));
	++*(u32 *)arg;
}

static void test_tracefs(void)
{
	const struct type *t;
	u32 cnt = 0, off;
	char *text;

	if (tracefs_dir() < 0 || tracefs_event_id("sched", "sched_switch") == -EACCES) {
		printf("skipped: tracefs cannot be read: %s\n", strerror(tracefs_dir() < 0 ? -tracefs_dir() : EACCES));
		return;
	}
	CHECK(tracefs_event_id("sched", "sched_switch") > 0);
	CHECK(tracefs_event_id("sched", "no_such_event") == -ENOENT);
	CHECK(tracefs_event_id("..", "..") == -ENOENT);
	CHECK(tracefs_each_event("sched", "sched_sw*", count_event, &cnt) == (int)cnt && cnt >= 1);
	cnt = 0;
	CHECK(tracefs_each_event("sched", "sched_switch", count_event, &cnt) == 1 && cnt == 1);
	CHECK(tracefs_each_event("sched", "sched_sw", count_event, &cnt) == 0);
	CHECK(!tracefs_event_format("sched", "sched_switch", &text));
	t = event_format_parse(text, strlen(text), "sched", "sched_switch", &arena, kern_types());
	free(text);
	CHECK_STR(type_str(&arena, type_member(t, "prev_comm", &off)->type), "string[16]");
	CHECK(tracefs_event_format("sched", "no_such", &text) == -ENOENT);
}

/* ---- kallsyms ---- */

static void test_kallsyms(void)
{
	static const char text[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T alias\n"
				   "ffffffff81000100 t do_a\n"
				   "ffffffff81000200 T do_ab\n"
				   "ffffffffc0002000 t second\t[late]\n"
				   "ffffffffc0001000 t first\t[early]\n"
				   "not a line\n"
				   "ffffffffc0001080 t inner\t[early]";
	static const char ends[] =
		"ffffffff81000000 T _stext\nffffffff81000100 T last\nffffffff81002000 B _end\nffffffffc0000000 t bpf_prog_1_x\t[bpf]\n";
	struct kallsyms *k = kallsyms_new(text, sizeof(text) - 1);
	struct ksym s;

	CHECK(kallsyms_table_find(k, 0xffffffff81000000, &s) && s.addr == 0xffffffff81000000 && !s.module);
	CHECK_STR(s.name, "_stext");
	CHECK(kallsyms_table_find(k, 0xffffffff81000050, &s));
	CHECK_STR(s.name, "_stext");
	CHECK(kallsyms_table_find(k, 0xffffffff810001ff, &s));
	CHECK_STR(s.name, "do_a");
	CHECK(kallsyms_table_find(k, 0xffffffffc0001081, &s) && s.addr == 0xffffffffc0001080);
	CHECK_STR(s.name, "inner");
	CHECK_STR(s.module, "early");
	CHECK(kallsyms_table_find(k, 0xffffffffc0002000, &s));
	CHECK_STR(s.module, "late");
	CHECK(!kallsyms_table_find(k, 0xffffffff80ffffff, &s));
	CHECK(kallsyms_table_find(k, 0xffffffff81000200 + (4 << 20) - 1, &s) &&
	      !kallsyms_table_find(k, 0xffffffff81000200 + (4 << 20), &s));
	CHECK(!kallsyms_table_find(k, 0, &s));
	kallsyms_free(k);
	/* Behind the kernel, and far behind a module's last symbol, nothing has a name. */
	k = kallsyms_new(ends, sizeof(ends) - 1);
	CHECK(kallsyms_table_find(k, 0xffffffff81000fff, &s) && str_eq(s.name, "last"));
	CHECK(!kallsyms_table_find(k, 0xffffffff81002000, &s) && !kallsyms_table_find(k, 0xffffffffbfffffff, &s));
	CHECK(kallsyms_table_find(k, 0xffffffffc0000000 + (4 << 20) - 1, &s) && str_eq(s.name, "bpf_prog_1_x") &&
	      str_eq(s.module, "bpf"));
	CHECK(!kallsyms_table_find(k, 0xffffffffc0000000 + (4 << 20), &s));
	kallsyms_free(k);
	k = kallsyms_new("0000000000000000 T hidden\n", 26);
	CHECK(!kallsyms_table_find(k, 0xffffffff81000000, &s));
	kallsyms_free(k);

	CHECK(kallsyms_scan(text, sizeof(text) - 1, "do_a") == 0xffffffff81000100);
	CHECK(kallsyms_scan(text, sizeof(text) - 1, "do_ab") == 0xffffffff81000200);
	CHECK(kallsyms_scan(text, sizeof(text) - 1, "first") == 0xffffffffc0001000);
	CHECK(kallsyms_scan(text, sizeof(text) - 1, "inner") == 0xffffffffc0001080);
	CHECK(kallsyms_scan(text, sizeof(text) - 1, "_stext") == 0xffffffff81000000);
	CHECK(!kallsyms_scan(text, sizeof(text) - 1, "stext"));
	CHECK(!kallsyms_scan(text, sizeof(text) - 1, "early"));
	CHECK(!kallsyms_scan(text, sizeof(text) - 1, ""));
	CHECK(!kallsyms_scan("", 0, "x"));
}

static void test_kallsyms_kernel(void)
{
	u64 addr = kallsyms_addr("vfs_read");
	struct ksym s;

	if (!addr) {
		printf("skipped: addresses of kernel symbols are hidden\n");
		return;
	}
	CHECK(addr >> 63);
	CHECK(kallsyms_find(addr + 1, &s) && s.addr == addr);
	CHECK_STR(s.name, "vfs_read");
	CHECK(!kallsyms_addr("no_such_symbol_here"));
	CHECK(!kallsyms_find(4096, &s));
}

/* ---- the verifier's log ---- */

static void check_log(const char *log, s64 insn, const char *text)
{
	struct vlog v = vlog_explain(log);

	CHECK(v.insn == insn);
	CHECK_STR(v.text ? arena_strndup(&arena, v.text, v.len) : "", text);
}

static void test_vlog(void)
{
	struct vlog v;

	check_log("0: R1=ctx() R10=fp0\n; @x = 1; @ a.bt:1\n0: (bf) r6 = r1  ; R1=ctx()\n6: (85) call bpf_x#179\n"
		  "R1 type=ctx expected=fp\nprocessed 7 insns (limit 1000000) max_states_per_insn 0\n",
		  6, "R1 type=ctx expected=fp");
	check_log(
		"func#0 @0\n0: R1=ctx(off=0,imm=0) R10=fp0\n0: (b7) r0 = 0\nfrom 3 to 9: R0=inv0\n9: (79) r1 = *(u64 *)(r0 +0)\n"
		"R0 invalid mem access 'scalar'\nverification time 40 usec\nstack depth 0\n",
		9, "R0 invalid mem access 'scalar'");
	check_log("unreachable insn 7\nprocessed 0 insns\n", 7, "unreachable insn 7");
	check_log("", -1, "");
	check_log("BPF program is too large. Processed 1000001 insn\n", -1, "BPF program is too large. Processed 1000001 insn");
	v = vlog_explain("The address of function finish_task_switch cannot be found\nprocessed 0 insns\n");
	CHECK(v.is_about_place && v.has_no_address);
	v = vlog_explain("The function sum has 13 arguments. Too many.\nprocessed 0 insns\n");
	CHECK(v.is_about_place && !v.has_no_address);
	v = vlog_explain("0: (bf) r6 = r1\n1: (79) r0 = *(u64 *)(r6 +0)\nThe function cannot be found\n");
	CHECK(!v.is_about_place);
}

/* ---- the machine ---- */

static void add_cpu(void *arg, u32 cpu)
{
	sbuf_printf(arg, "%u ", cpu);
}

static void test_machine(void)
{
	struct target t = {};
	struct sbuf out = {};

	CHECK(cpu_list_each("0-2,5,7-8\n", add_cpu, &out));
	CHECK_STR(sbuf_str(&out), "0 1 2 5 7 8 ");
	CHECK(cpu_list_each("", add_cpu, &out));
	CHECK(!cpu_list_each("0-", add_cpu, &out) && !cpu_list_each("x", add_cpu, &out) && !cpu_list_each("3-1", add_cpu, &out));
	CHECK(!cpu_list_each("0-99999999", add_cpu, &out));
	sbuf_release(&out);
	CHECK(machine_cpus() >= 1);
	machine_target(&t);
	CHECK(t.ncpus == machine_cpus() && !t.features && t.machine == &kern_machine);
	for (u32 f = 0; f < KF_CNT; f++)
		CHECK(*kern_feature_name((enum kern_feature)f) && *kern_feature_doc((enum kern_feature)f));
}

/* ---- images made by hand ---- */

static const struct provider provider = { .name = "test" };

#define MOV_IMM(reg, v)                                                                                                          \
	{                                                                                                                        \
		BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, v                                                                        \
	}
#define MOV_REG(to, from)                                                                                                        \
	{                                                                                                                        \
		BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0                                                                      \
	}
#define ADD_IMM(reg, v)                                                                                                          \
	{                                                                                                                        \
		BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, v                                                                        \
	}
#define CALL(helper)                                                                                                             \
	{                                                                                                                        \
		BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_##helper                                                                     \
	}
#define EXIT()                                                                                                                   \
	{                                                                                                                        \
		BPF_JMP | BPF_EXIT, 0, 0, 0, 0                                                                                   \
	}
#define LD_MAP(reg, pseudo, map, off)                                                                                            \
	{ BPF_LD | BPF_IMM | BPF_DW, reg, pseudo, 0, map },                                                                      \
	{                                                                                                                        \
		0, 0, 0, 0, off                                                                                                  \
	}
#define STORE(base, off, reg)                                                                                                    \
	{                                                                                                                        \
		BPF_STX | BPF_MEM | BPF_DW, base, reg, off, 0                                                                    \
	}
#define STORE_IMM(base, off, v)                                                                                                  \
	{                                                                                                                        \
		BPF_ST | BPF_MEM | BPF_DW, base, 0, off, v                                                                       \
	}
#define LOAD(reg, base, off)                                                                                                     \
	{                                                                                                                        \
		BPF_LDX | BPF_MEM | BPF_DW, reg, base, off, 0                                                                    \
	}

/* Sends record `id` with the given value at +8 to the ring; R7 holds the position for the control ring's. */
#define SEND(map, id, value_insn)                                                                                                \
	STORE_IMM(BPF_REG_10, -16, id), value_insn, LD_MAP(BPF_REG_1, BPF_PSEUDO_MAP_FD, map, 0),                                \
		MOV_REG(BPF_REG_2, BPF_REG_10), ADD_IMM(BPF_REG_2, -16), MOV_IMM(BPF_REG_3, 16), MOV_IMM(BPF_REG_4, 0),          \
		CALL(ringbuf_output)
#define QUERY_POS()                                                                                                              \
	LD_MAP(BPF_REG_1, BPF_PSEUDO_MAP_FD, MAP_IDX_RING, 0), MOV_IMM(BPF_REG_2, BPF_RB_PROD_POS), CALL(ringbuf_query),         \
		MOV_REG(BPF_REG_7, BPF_REG_0)

static const char script[] = "begin\n{\n\t@x = 1;\n\tprintf(\"hi\");\n}\n";

static struct image *image_new(struct diag *d)
{
	struct image *img = arena_new(&arena, struct image);

	diag_init(d, &arena);
	diag_add_source(d, "a.bt", script, sizeof(script) - 1);
	img->config.license = "GPL";
	img->config.log_size = 100000;
	return img;
}

static struct image_prog *image_add(struct image *img, const struct insn *insns, u32 cnt)
{
	struct image_prog p = {
		.name = "test:1*prog", .provider = &provider, .attr.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insn_cnt = cnt
	};

	p.insns = arena_alloc(&arena, cnt * sizeof(*insns));
	memcpy(p.insns, insns, cnt * sizeof(*insns));
	avec_push(&arena, &p.func_starts, 0);
	avec_push(&arena, &img->progs, p);
	return &img->progs.at[img->progs.cnt - 1];
}

static void add_maps(struct image *img)
{
	static const char init[] = "initial";
	u32 page = sysconf(_SC_PAGESIZE);

	avec_push(&arena, &img->maps,
		  (struct image_map){ "data", BPF_MAP_TYPE_ARRAY, 4, 64, 1, BPF_F_MMAPABLE, init, sizeof(init), 0 });
	avec_push(&arena, &img->maps, (struct image_map){ "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, page, 0, NULL, 0, 0 });
	avec_push(&arena, &img->maps, (struct image_map){ "ctrl", BPF_MAP_TYPE_RINGBUF, 0, 0, page, 0, NULL, 0, 0 });
	avec_push(&arena, &img->maps, (struct image_map){ "scratch", 0, 0, 0, 0, 0, NULL, 0, 0 });
	avec_push(&arena, &img->maps,
		  (struct image_map){ "const", BPF_MAP_TYPE_ARRAY, 4, 64, 1, BPF_F_RDONLY_PROG, init, sizeof(init), 0 });
	avec_push(&arena, &img->maps, (struct image_map){ "@h", BPF_MAP_TYPE_HASH, 4, 12, 5000, BPF_F_NO_PREALLOC, NULL, 0, 0 });
	avec_push(&arena, &img->maps,
		  (struct image_map){ "@p", BPF_MAP_TYPE_PERCPU_HASH, 8, 12, 100, BPF_F_NO_PREALLOC, NULL, 0, 0 });
}

static void test_btfgen(void)
{
	static const struct insn insns[] = {
		MOV_IMM(BPF_REG_0, 0), LD_MAP(BPF_REG_1, 0, 1, 0), EXIT(), MOV_IMM(BPF_REG_0, 1), EXIT(),
	};
	struct line_info lines[] = {
		{ 1, { 0, 9, 16 } }, { 2, { 0, 9, 16 } }, { 3, { 0, 18, 30 } }, { 2, { 0, 0, 5 } }, { 99, { 0, 0, 5 } },
	};
	struct type_source *src;
	struct btf_blob blob;
	struct image_prog *p;
	struct btfraw raw;
	struct image *img;
	struct btf_func fn;
	struct diag d;
	char name[16];
	int err;

	img = image_new(&d);
	p = image_add(img, insns, ARRAY_CNT(insns));
	p->lines = lines;
	p->line_cnt = ARRAY_CNT(lines);
	avec_push(&arena, &p->func_starts, 4);
	btfgen_build(img, &d, &arena, &blob);
	src = btf_open_mem(blob.data, blob.len, &err);
	CHECK(src);
	CHECK(btf_find_func(src, NULL, "test_1_prog", &fn) && fn.id == blob.progs[0].funcs[0].type_id && fn.param_cnt == 1);
	CHECK(btf_find_func(src, NULL, "test_1_prog_1", &fn) && fn.id == blob.progs[0].funcs[1].type_id);
	CHECK(blob.progs[0].func_cnt == 2 && blob.progs[0].funcs[1].insn == 4);
	btf_close(src);
	/* Kept: 1, 3; added: 0 and 4; dropped: the second half of LD_IMM64, the one that goes back, the one past the end. */
	CHECK(blob.progs[0].line_cnt == 4);
	CHECK(blob.progs[0].lines[0].insn == 0 && blob.progs[0].lines[1].insn == 1);
	CHECK(blob.progs[0].lines[2].insn == 3 && blob.progs[0].lines[3].insn == 4);
	CHECK(blob.progs[0].lines[1].line_col == (3 << 10 | 2));
	CHECK(!btfraw_init(&raw, blob.data, blob.len, false, NULL));
	CHECK_STR(btfraw_str(&raw, blob.progs[0].lines[1].text_off), "@x = 1;");
	CHECK_STR(btfraw_str(&raw, blob.progs[0].lines[2].text_off), "printf(\"hi\");");
	CHECK_STR(btfraw_str(&raw, blob.progs[0].lines[2].file_off), "a.bt");
	raw.data = NULL; /* the arena's */
	btfraw_release(&raw);
	btfgen_name(name, sizeof(name), "@averylongname:which*goes on");
	CHECK_STR(name, "_averylongname_");
	btfgen_name(name, sizeof(name), "1x");
	CHECK_STR(name, "_1x");
	btfgen_name(name, sizeof(name), "");
	CHECK_STR(name, "_");
}

static void take_record(void *arg, const u8 *data, u32 len)
{
	sbuf_printf(arg, "%u/%u ", *(const u32 *)data, len);
}

static void take_words(void *arg, const u8 *data, u32 len)
{
	for (u32 i = 0; i < len / 8; i++)
		sbuf_printf(arg, "%llu ", (unsigned long long)((const u64 *)data)[i]);
}

/* The data is there once: what wraps goes on at its start, not behind its end. */
static void test_ring_wraps(void)
{
	u64 mem[40] = {}, pos[2] = { 232, 232 };
	struct ring r = { .consumer = &pos[0], .producer = &pos[1], .data = (u8 *)mem, .mask = 255, .pos = 232 };
	struct sbuf out = {};

	for (u32 i = 32; i < ARRAY_CNT(mem); i++)
		mem[i] = 666;
	mem[29] = 24, mem[30] = 1, mem[31] = 2, mem[0] = 3; /* 24 bytes, 8 of them at the start */
	mem[1] = 8, mem[2] = 4;
	pos[1] = 232 + 32 + 16;
	CHECK(rings_consume(&r, NULL, take_words, &out) == 2);
	CHECK_STR(sbuf_str(&out), "1 2 3 4 ");
	CHECK(pos[0] == pos[1]);
	/* The head is the last of the data. */
	sbuf_reset(&out);
	r.pos = pos[0] = 248, pos[1] = 248 + 24;
	mem[31] = 16, mem[0] = 5, mem[1] = 6;
	CHECK(rings_consume(&r, NULL, take_words, &out) == 1);
	CHECK_STR(sbuf_str(&out), "5 6 ");
	/* A length that cannot be. */
	sbuf_reset(&out);
	r.pos = pos[0] = 0, pos[1] = 8;
	mem[0] = 1 << 20;
	CHECK(rings_consume(&r, NULL, take_words, &out) == 1);
	sbuf_release(&out);
	free(r.whole);
}

/* A ring in ordinary memory, as the kernel would have filled it. */
static void test_rings(void)
{
	u64 mem[2][64] = {}, pos[4] = {};
	struct ring data = { .consumer = &pos[0], .producer = &pos[1], .data = (u8 *)mem[0], .mask = 255 };
	struct ring ctrl = { .consumer = &pos[2], .producer = &pos[3], .data = (u8 *)mem[1], .mask = 255 };
	u32 *d = (u32 *)mem[0], *c = (u32 *)mem[1];
	struct sbuf out = {};

	/* data: 1 at 0, a discarded one at 16, 2 at 32, 3 at 48 (busy); control: 9 belongs at 32, 10 at 64 */
	d[0] = 8, d[2] = 1;
	d[4] = 8 | BPF_RINGBUF_DISCARD_BIT, d[6] = 77;
	d[8] = 5, d[10] = 2;
	d[12] = 8 | BPF_RINGBUF_BUSY_BIT, d[14] = 3;
	pos[1] = 64;
	c[0] = 16, c[2] = 9, mem[1][2] = 32;
	c[6] = 16, c[8] = 10, mem[1][5] = 64;
	pos[3] = 48;
	CHECK(rings_consume(&data, &ctrl, take_record, &out) == 3);
	CHECK_STR(sbuf_str(&out), "1/8 9/8 2/5 ");
	CHECK(pos[0] == 48 && pos[2] == 24);
	sbuf_reset(&out);
	CHECK(rings_consume(&data, &ctrl, take_record, &out) == 0);
	d[12] = 8;
	CHECK(rings_consume(&data, &ctrl, take_record, &out) == 2);
	CHECK_STR(sbuf_str(&out), "3/8 10/8 ");
	CHECK(pos[0] == 64 && pos[2] == 48);
	sbuf_reset(&out);
	/* While a control record is being written, nothing may overtake it. */
	d[16] = 8, d[18] = 4;
	pos[1] = 80;
	c[12] = 16 | BPF_RINGBUF_BUSY_BIT, c[14] = 11, mem[1][8] = 64;
	pos[3] = 72;
	CHECK(rings_consume(&data, &ctrl, take_record, &out) == 0);
	c[12] = 16;
	CHECK(rings_consume(&data, &ctrl, take_record, &out) == 2);
	CHECK_STR(sbuf_str(&out), "11/8 4/8 ");
	CHECK(rings_consume(&data, NULL, take_record, &out) == 0 && rings_consume(NULL, &ctrl, take_record, &out) == 0);
	CHECK(rings_consume(NULL, NULL, take_record, &out) == 0);
	sbuf_release(&out);
}

static void check_maps(struct object *o)
{
	u32 h = MAP_IDX_USER, p = MAP_IDX_USER + 1, cpus = machine_cpus(), sum = 0;
	u8 *percpu = xzalloc(16 * cpus);
	struct map_dump dump;
	u8 value[12] = {};
	u64 key8 = 7;

	CHECK(!o->ops->map_read(o, h, &dump) && dump.cnt == 0);
	map_dump_release(&dump);
	for (u32 key = 0; key < 3000; key++) {
		memcpy(value, &key, 4);
		if (o->ops->map_update(o, h, &key, value, BPF_ANY))
			sum = 1;
	}
	CHECK(!sum);
	CHECK(!o->ops->map_read(o, h, &dump));
	CHECK(dump.cnt == 3000 && dump.key_sz == 4 && dump.stride == 12 && dump.cpu_cnt == 1 && dump.value_sz == 12);
	for (u32 i = 0; i < dump.cnt; i++)
		sum += !memcmp(dump.keys + 4 * i, dump.values + 12 * i, 4);
	CHECK(sum == 3000);
	map_dump_release(&dump);
	sum = 5;
	CHECK(!o->ops->map_lookup(o, h, &sum, value) && !memcmp(value, &sum, 4));
	CHECK(!o->ops->map_delete(o, h, &sum, 1) && !o->ops->map_delete(o, h, &sum, 1));
	CHECK(o->ops->map_lookup(o, h, &sum, value) == -ENOENT);
	{
		/* Those that are missing, at the start, inside, twice and at the end, do not keep it from the others. */
		u32 keys[] = { 5, 6, 5, 5, 7, 8, 8, 9, 5 };

		CHECK(!o->ops->map_delete(o, h, keys, ARRAY_CNT(keys)));
		for (sum = 5; sum < 10; sum++)
			CHECK(o->ops->map_lookup(o, h, &sum, value) == -ENOENT);
		CHECK(!o->ops->map_lookup(o, h, &sum, value));
	}

	for (u32 i = 0; i < cpus; i++)
		percpu[16 * i] = i + 1;
	CHECK(!o->ops->map_update(o, p, &key8, percpu, BPF_ANY));
	CHECK(!o->ops->map_read(o, p, &dump));
	CHECK(dump.cnt == 1 && dump.cpu_cnt == cpus && dump.value_sz == 16 && dump.stride == 16 * cpus);
	CHECK(dump.cnt == 1 && !memcmp(dump.values, percpu, 16 * cpus) && !memcmp(dump.keys, &key8, 8));
	map_dump_release(&dump);
	free(percpu);
}

static void test_object(void)
{
	/* Data, data, control, data: and they come out in this order. @data[8] = the first bytes of const. */
	static const struct insn sends[] = {
		SEND(MAP_IDX_RING, 1, STORE_IMM(BPF_REG_10, -8, 0)),
		SEND(MAP_IDX_RING, 2, STORE_IMM(BPF_REG_10, -8, 0)),
		QUERY_POS(),
		SEND(MAP_IDX_CTRL, 3, STORE(BPF_REG_10, -8, BPF_REG_7)),
		SEND(MAP_IDX_RING, 4, STORE_IMM(BPF_REG_10, -8, 0)),
		LD_MAP(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, MAP_IDX_CONST, 0),
		LOAD(BPF_REG_2, BPF_REG_1, 0),
		LD_MAP(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, MAP_IDX_DATA, 0),
		STORE(BPF_REG_1, 8, BPF_REG_2),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	/* bpf_loop(5, callback, NULL, 0): needs our BTF. The callback counts in @data[16]. */
	static const struct insn loops[] = {
		MOV_IMM(BPF_REG_1, 5),
		{ BPF_LD | BPF_IMM | BPF_DW, BPF_REG_2, BPF_PSEUDO_FUNC, 0, 6 },
		{},
		MOV_IMM(BPF_REG_3, 0),
		MOV_IMM(BPF_REG_4, 0),
		CALL(loop),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
		LD_MAP(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, MAP_IDX_DATA, 0),
		MOV_IMM(BPF_REG_2, 1),
		{ BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_1, BPF_REG_2, 16, BPF_ADD },
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	static struct line_info lines[] = { { 0, { 0, 9, 16 } }, { 5, { 0, 18, 30 } }, { 8, { 0, 9, 16 } } };
	struct pollfd pfd = { .events = POLLIN };
	struct image_prog *prog;
	struct bpf_prog_info info = {};
	struct sbuf out = {};
	struct object *o;
	struct image *img;
	struct diag d;
	u32 len = sizeof(info);
	u64 *mem;

	img = image_new(&d);
	add_maps(img);
	image_add(img, sends, ARRAY_CNT(sends));
	prog = image_add(img, loops, ARRAY_CNT(loops));
	avec_push(&arena, &prog->func_starts, 8);
	prog->lines = lines;
	prog->line_cnt = ARRAY_CNT(lines);
	o = kern_object_load(img, &d, false);
	diag_print(&d, DIAG_ERROR, false, &out);
	if (!o)
		printf("%s", sbuf_str(&out));
	sbuf_reset(&out);
	CHECK(o);
	if (!o)
		return;
	mem = o->ops->map_mem(o, MAP_IDX_DATA);
	CHECK(mem && !memcmp(mem, "initial", 8));
	CHECK(!o->ops->map_mem(o, MAP_IDX_RING) && !o->ops->map_mem(o, MAP_IDX_SCRATCH));
	pfd.fd = o->ops->poll_fd(o);
	CHECK(pfd.fd >= 0 && poll(&pfd, 1, 0) == 0);
	CHECK(o->ops->consume(o, take_record, &out) == 0);
	/* More often than the ring holds, so that positions wrap. */
	for (u32 i = 0; i < 300; i++) {
		int err = o->ops->prog_run(o, 0, NULL), ready = poll(&pfd, 1, 0), cnt;

		sbuf_reset(&out);
		cnt = o->ops->consume(o, take_record, &out);
		if (!err && ready == 1 && cnt == 4 && str_eq(sbuf_str(&out), "1/16 2/16 3/8 4/16 "))
			continue;
		CHECK(!"records in order");
		printf("%d %d %d %s\n", err, ready, cnt, sbuf_str(&out));
		break;
	}
	CHECK(!memcmp(mem + 1, "initial", 8));
	CHECK(poll(&pfd, 1, 0) == 0);
	CHECK(!o->ops->prog_run(o, 1, NULL) && mem[2] == 5);
	CHECK(!kern_obj_info(kern_object_prog_fd(o, 1), &info, &len));
	CHECK(info.type == BPF_PROG_TYPE_RAW_TRACEPOINT && info.nr_line_info == 3 && info.nr_func_info == 2 && info.btf_id);
	CHECK_STR(info.name, "test_1_prog");
	check_maps(o);
	o->ops->free(o);
	sbuf_release(&out);
}

static void test_refused(void)
{
	static const struct insn insns[] = { MOV_IMM(BPF_REG_0, 0), LOAD(BPF_REG_0, BPF_REG_0, 0), EXIT() };
	static struct line_info lines[] = { { 0, { 0, 9, 16 } }, { 1, { 0, 18, 30 } } };
	struct image_prog *prog;
	struct sbuf out = {};
	struct image *img;
	struct diag d;

	img = image_new(&d);
	prog = image_add(img, insns, ARRAY_CNT(insns));
	prog->lines = lines;
	prog->line_cnt = ARRAY_CNT(lines);
	CHECK(!kern_object_load(img, &d, false));
	diag_print(&d, DIAG_ERROR, false, &out);
	CHECK(d.error_cnt == 1 && d.msgs.at[0].tag == E_LOAD);
	CHECK(str_starts(sbuf_str(&out),
			 "a.bt:4:2-14: ERROR: the kernel refused the program for test:1*prog at instruction 1: R0 invalid mem"));
	sbuf_reset(&out);
	diag_init(&d, &arena);
	diag_add_source(&d, "a.bt", script, sizeof(script) - 1);
	CHECK(!kern_object_load(img, &d, true));
	diag_print(&d, DIAG_ERROR, false, &out);
	CHECK(strstr(sbuf_str(&out), "(79) r0 = *(u64 *)(r0 +0)"));
	sbuf_release(&out);
}

int main(void)
{
	struct diag d;

	arena_init(&arena);
	test_btf();
	test_btf_growth();
	test_btf_split();
	test_btf_broken();
	test_btf_kernel();
	test_format();
	test_functions();
	test_tracefs();
	test_kallsyms();
	test_kallsyms_kernel();
	test_vlog();
	test_machine();
	test_btfgen();
	test_ring_wraps();
	test_rings();
	diag_init(&d, &arena);
	if (machine_may_trace(&d)) {
		test_object();
		test_refused();
		CHECK(kern_features(~0ull) <= (1ull << KF_CNT) - 1);
	} else {
		printf("skipped: objects in the kernel: %s\n", d.msgs.at[0].text);
	}
	arena_release(&arena);
	return check_end();
}
