/* SPDX-License-Identifier: GPL-2.0-only */
#include "c/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "c/pp_int.h"

struct cheader {
	struct arena arena;
	struct pp *pp;
	struct cparse parse;
};

/* What GCC says about itself and x86-64, as far as headers ask. Version 12: new enough for every header, old enough for its #if.
 */
static const char *const predefined[][2] = {
	{ "__STDC__", "1" },
	{ "__STDC_VERSION__", "201112L" },
	{ "__STDC_HOSTED__", "1" },
	{ "__GNUC__", "12" },
	{ "__GNUC_MINOR__", "2" },
	{ "__GNUC_PATCHLEVEL__", "0" },
	{ "__GNUC_STDC_INLINE__", "1" },
	{ "__x86_64__", "1" },
	{ "__x86_64", "1" },
	{ "__amd64__", "1" },
	{ "__amd64", "1" },
	{ "__LP64__", "1" },
	{ "_LP64", "1" },
	{ "__linux__", "1" },
	{ "__linux", "1" },
	{ "linux", "1" },
	{ "__unix__", "1" },
	{ "__gnu_linux__", "1" },
	{ "__ELF__", "1" },
	{ "__CHAR_BIT__", "8" },
	{ "__SIZEOF_INT__", "4" },
	{ "__SIZEOF_LONG__", "8" },
	{ "__SIZEOF_LONG_LONG__", "8" },
	{ "__SIZEOF_SHORT__", "2" },
	{ "__SIZEOF_POINTER__", "8" },
	{ "__SIZEOF_SIZE_T__", "8" },
	{ "__SIZEOF_WCHAR_T__", "4" },
	{ "__SIZEOF_WINT_T__", "4" },
	{ "__SIZEOF_PTRDIFF_T__", "8" },
	{ "__SIZEOF_INT128__", "16" },
	{ "__SIZEOF_FLOAT__", "4" },
	{ "__SIZEOF_DOUBLE__", "8" },
	{ "__SIZEOF_LONG_DOUBLE__", "16" },
	{ "__BIGGEST_ALIGNMENT__", "16" },
	{ "__ORDER_LITTLE_ENDIAN__", "1234" },
	{ "__ORDER_BIG_ENDIAN__", "4321" },
	{ "__ORDER_PDP_ENDIAN__", "3412" },
	{ "__BYTE_ORDER__", "__ORDER_LITTLE_ENDIAN__" },
	{ "__FLOAT_WORD_ORDER__", "__ORDER_LITTLE_ENDIAN__" },
	{ "__SCHAR_MAX__", "0x7f" },
	{ "__SHRT_MAX__", "0x7fff" },
	{ "__INT_MAX__", "0x7fffffff" },
	{ "__LONG_MAX__", "0x7fffffffffffffffL" },
	{ "__LONG_LONG_MAX__", "0x7fffffffffffffffLL" },
	{ "__WCHAR_MAX__", "0x7fffffff" },
	{ "__SIZE_MAX__", "0xffffffffffffffffUL" },
	{ "__PTRDIFF_MAX__", "0x7fffffffffffffffL" },
	{ "__INTMAX_MAX__", "0x7fffffffffffffffL" },
	{ "__UINTMAX_MAX__", "0xffffffffffffffffUL" },
	{ "__SIZE_TYPE__", "long unsigned int" },
	{ "__PTRDIFF_TYPE__", "long int" },
	{ "__WCHAR_TYPE__", "int" },
	{ "__WINT_TYPE__", "unsigned int" },
	{ "__INTMAX_TYPE__", "long int" },
	{ "__UINTMAX_TYPE__", "long unsigned int" },
	{ "__CHAR16_TYPE__", "short unsigned int" },
	{ "__CHAR32_TYPE__", "unsigned int" },
	{ "__SIG_ATOMIC_TYPE__", "int" },
	{ "__INT8_TYPE__", "signed char" },
	{ "__INT16_TYPE__", "short int" },
	{ "__INT32_TYPE__", "int" },
	{ "__INT64_TYPE__", "long int" },
	{ "__UINT8_TYPE__", "unsigned char" },
	{ "__UINT16_TYPE__", "short unsigned int" },
	{ "__UINT32_TYPE__", "unsigned int" },
	{ "__UINT64_TYPE__", "long unsigned int" },
	{ "__INTPTR_TYPE__", "long int" },
	{ "__UINTPTR_TYPE__", "long unsigned int" },
	{ "__INT_LEAST8_TYPE__", "signed char" },
	{ "__INT_LEAST16_TYPE__", "short int" },
	{ "__INT_LEAST32_TYPE__", "int" },
	{ "__INT_LEAST64_TYPE__", "long int" },
	{ "__UINT_LEAST8_TYPE__", "unsigned char" },
	{ "__UINT_LEAST16_TYPE__", "short unsigned int" },
	{ "__UINT_LEAST32_TYPE__", "unsigned int" },
	{ "__UINT_LEAST64_TYPE__", "long unsigned int" },
	{ "__INT_FAST8_TYPE__", "signed char" },
	{ "__INT_FAST16_TYPE__", "long int" },
	{ "__INT_FAST32_TYPE__", "long int" },
	{ "__INT_FAST64_TYPE__", "long int" },
	{ "__UINT_FAST8_TYPE__", "unsigned char" },
	{ "__UINT_FAST16_TYPE__", "long unsigned int" },
	{ "__UINT_FAST32_TYPE__", "long unsigned int" },
	{ "__UINT_FAST64_TYPE__", "long unsigned int" },
	{ "__INT_WIDTH__", "32" },
	{ "__LONG_WIDTH__", "64" },
	{ "__SCHAR_WIDTH__", "8" },
	{ "__SHRT_WIDTH__", "16" },
	{ "__LONG_LONG_WIDTH__", "64" },
	{ "__GCC_ASM_FLAG_OUTPUTS__", "1" },
	{ "__OPTIMIZE__", "1" },
	{ "__USER_LABEL_PREFIX__", "" },
	{ "__REGISTER_PREFIX__", "" },
	{ "__GCC_HAVE_SYNC_COMPARE_AND_SWAP_8", "1" },
	{ "__SSE2__", "1" },
	{ "__SSE__", "1" },
};

/* Headers that belong to the compiler. */
static const char *const own_headers[][2] = {
	{ "stdarg.h", "#pragma once\ntypedef __builtin_va_list __gnuc_va_list;\ntypedef __builtin_va_list va_list;\n" },
	{ "stddef.h",
	  "typedef long unsigned int size_t;\ntypedef long int ptrdiff_t;\ntypedef int wchar_t;\ntypedef unsigned int wint_t;\n"
	  "typedef struct { long long __a __attribute__((aligned(8))); long double __b __attribute__((aligned(16))); } max_align_t;\n"
	  "#undef NULL\n#define NULL ((void *)0)\n#undef offsetof\n#define offsetof(t, m) __builtin_offsetof(t, m)\n" },
	{ "stdbool.h", "#define bool _Bool\n#define true 1\n#define false 0\n" },
	{ "limits.h",
	  "#define CHAR_BIT 8\n#define SCHAR_MAX 127\n#define SCHAR_MIN (-128)\n#define UCHAR_MAX 255\n#define CHAR_MAX 127\n"
	  "#define CHAR_MIN (-128)\n#define SHRT_MAX 32767\n#define SHRT_MIN (-32768)\n#define USHRT_MAX 65535\n"
	  "#define INT_MAX 2147483647\n#define INT_MIN (-2147483647 - 1)\n#define UINT_MAX 4294967295U\n"
	  "#define LONG_MAX 0x7fffffffffffffffL\n#define LONG_MIN (-LONG_MAX - 1)\n#define ULONG_MAX 0xffffffffffffffffUL\n" },
	{ "stdalign.h", "#define alignas _Alignas\n#define alignof _Alignof\n" },
	{ "stdnoreturn.h", "#define noreturn _Noreturn\n" },
	{ "float.h", "" },
	{ "stdatomic.h", "" },
};

struct cheader *cheader_new(void)
{
	struct cheader *h = xzalloc(sizeof(*h));

	arena_init(&h->arena);
	h->pp = pp_new(&h->arena, NULL);
	for (u32 i = 0; i < ARRAY_CNT(predefined); i++)
		pp_define(h->pp, predefined[i][0], predefined[i][1]);
	cparse_init(&h->parse, h->pp, &h->arena);
	for (u32 i = 0; i < ARRAY_CNT(own_headers); i++)
		pp_add_own(h->pp, own_headers[i][0], own_headers[i][1]);
	return h;
}

void cheader_free(struct cheader *h)
{
	if (!h)
		return;
	cparse_release(&h->parse);
	pp_free(h->pp);
	arena_release(&h->arena);
	free(h);
}

void cheader_add_dir(struct cheader *h, const char *dir)
{
	pp_add_dir(h->pp, dir);
}

void cheader_add_text(struct cheader *h, const char *name, const char *text, size_t len)
{
	pp_push_text(h->pp, name, text, len);
	cparse_all(&h->parse);
}

bool cheader_add(struct cheader *h, const char *name, bool is_quoted)
{
	if (!pp_include(h->pp, name, is_quoted))
		return false;
	cparse_all(&h->parse);
	return true;
}

/* Directories below a kernel's tree, in the order of its own build. */
static const char *const kernel_folders[] = { "arch/x86/include",      "arch/x86/include/generated",      "include",
					      "arch/x86/include/uapi", "arch/x86/include/generated/uapi", "include/uapi",
					      "include/generated/uapi" };

/* Debian splits the tree: what was made for one configuration (build), and what all have in common (source). */
static void kernel_trees(const char *dir, char *build, char *source, size_t sz)
{
	struct utsname u;
	char *arch, *name;

	if (!dir) {
		uname(&u);
		snprintf(build, sz, "/lib/modules/%s/build", u.release);
		snprintf(source, sz, "/lib/modules/%s/source", u.release);
		return;
	}
	snprintf(build, sz, "%s", dir);
	snprintf(source, sz, "%s", dir);
	/* linux-headers-6.1.0-9-cloud-amd64 → linux-headers-6.1.0-9-common */
	name = strrchr(source, '/') ? strrchr(source, '/') : source;
	arch = strstr(name, "-cloud-amd64");
	arch = arch ? arch : strstr(name, "-amd64");
	if (arch)
		snprintf(arch, source + sz - arch, "-common");
}

bool cheader_is_kernel(const char *dir, const char *name)
{
	char build[2048], source[2048], path[4300];

	kernel_trees(dir, build, source, sizeof(build));
	for (u32 i = 0; i < 2 * ARRAY_CNT(kernel_folders); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", i % 2 ? build : source, kernel_folders[i / 2], name);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

bool cheader_use_kernel(struct cheader *h, const char *dir)
{
	static const char *const first[] = { "linux/compiler-version.h", "linux/kconfig.h", "linux/version.h",
					     "linux/compiler_types.h" };
	char build[2048], source[2048], path[4300];
	bool found = false;
	s64 version;

	kernel_trees(dir, build, source, sizeof(build));
	for (u32 i = 0; i < 2 * ARRAY_CNT(kernel_folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", i % 2 ? build : source, kernel_folders[i / 2]);
		found |= !(i % 2 && str_eq(source, build)) && pp_add_dir(h->pp, path);
	}
	if (!found)
		return false;
	pp_define(h->pp, "__KERNEL__", "");
	pp_define(h->pp, "KBUILD_MODNAME", "\"sonde\"");
	pp_define(h->pp, "MODULE", "");
	pp_define(h->pp, "CC_USING_FENTRY", "");
	for (u32 i = 0; i < ARRAY_CNT(first); i++)
		cheader_add(h, first[i], false);
	/* The kernel is compiled with -fms-extensions since 6.19. */
	h->parse.has_tagged_members = cheader_constant(h, "LINUX_VERSION_CODE", &version) && version >= (6 << 16 | 19 << 8);
	return true;
}

static const char *const user_folders[] = { "/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include" };

/* The first directory of a list like that of CPATH, in arena; NULL at its end. Moves *list over it. */
static const char *next_dir(struct arena *arena, const char **list)
{
	while (*list && **list) {
		size_t n = strcspn(*list, ":");
		const char *dir = n ? arena_strndup(arena, *list, n) : NULL;

		*list += n + ((*list)[n] == ':');
		if (dir)
			return dir;
	}
	return NULL;
}

static bool is_in(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, R_OK);
}

bool cheader_is_user(const char *name)
{
	const char *cpath = getenv("CPATH"), *dir;
	struct arena arena;
	bool found = false;

	for (u32 i = 0; i < ARRAY_CNT(own_headers) && !found; i++)
		found = str_eq(own_headers[i][0], name);
	for (u32 i = 0; i < ARRAY_CNT(user_folders) && !found; i++)
		found = is_in(user_folders[i], name);
	arena_init(&arena);
	while (!found && (dir = next_dir(&arena, &cpath)))
		found = is_in(dir, name);
	arena_release(&arena);
	return found;
}

void cheader_use_user(struct cheader *h)
{
	const char *cpath = getenv("CPATH"), *dir;

	while ((dir = next_dir(&h->arena, &cpath)))
		pp_add_dir(h->pp, dir);
	for (u32 i = 0; i < ARRAY_CNT(user_folders); i++)
		pp_add_dir(h->pp, user_folders[i]);
}

u8 *cheader_types(struct cheader *h, size_t *len)
{
	return cparse_to_btf(&h->parse, len);
}

const struct cmacro *cheader_macro(struct cheader *h, const char *name)
{
	return pp_find_macro(h->pp, name);
}

const char *cheader_macro_text(struct cheader *h, const struct cmacro *m)
{
	struct sbuf b = {};
	const char *text;

	if (!pp_push_body(h->pp, m))
		return NULL;
	for (;;) {
		struct ctok t = pp_next(h->pp);

		if (t.kind == CTOK_END)
			break;
		if (b.len && t.has_space)
			sbuf_putc(&b, ' ');
		sbuf_add(&b, t.s, t.len);
	}
	text = arena_strdup(&h->arena, sbuf_str(&b));
	sbuf_release(&b);
	return text;
}

bool cheader_constant(struct cheader *h, const char *name, s64 *value)
{
	struct csym *sym = csym_get(&h->pp->syms, name, strlen(name));
	struct cvalue v;
	bool ok;

	if (sym->is_const && !sym->macro) {
		*value = sym->value;
		return true;
	}
	if (!sym->macro || sym->macro->is_function || !sym->macro->body_cnt)
		return false;
	pp_push_text(h->pp, sym->name, sym->name, sym->len);
	h->parse.nest = 0;
	h->parse.buf_cnt = 0;
	ok = cexpr(&h->parse, &v) && v.is_const && cty_is_int(v.type) && cparse_tok(&h->parse)->kind == CTOK_END;
	while (cparse_tok(&h->parse)->kind != CTOK_END)
		cparse_advance(&h->parse);
	h->parse.buf_cnt = 0;
	*value = v.v;
	return ok;
}

u32 cheader_error_cnt(const struct cheader *h)
{
	return h->pp->error_cnt;
}

const char *cheader_errors(const struct cheader *h)
{
	return sbuf_str(&h->pp->errors);
}

u32 cheader_file_cnt(const struct cheader *h)
{
	return h->pp->file_cnt;
}
