/* SPDX-License-Identifier: GPL-2.0-only */
/* C headers: what the preprocessor makes of text; layouts, beside those of the C compiler; damaged input. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "c/header.h"
#include "types/btfc.h"

/* ---- the preprocessor: text in, text out ---- */

static const struct {
	const char *in, *out;
} texts[] = {
	{ "a b  c\n+d", "a b c + d" },
	{ "#define X 1\nX + X", "1 + 1" },
	{ "#define X X + 1\nX", "X + 1" },
	{ "#define A B\n#define B A\nA B", "A B" },
	{ "#define F(x) x x\nF(1) F((1, 2)) F(F(3)) F", "1 1 ( 1 , 2 ) ( 1 , 2 ) 3 3 3 3 F" },
	{ "#define F(x, y) x-y\nF(1,) F(,2) F( (,) , b )", "1 - - 2 ( , ) - b" },
	{ "#define F() f\nF() F ( ) G()", "f f G ( )" },
	{ "#define F(x) #x\nF(a  \"b\\n\" 'c') F()", "\"a \\\"b\\\\n\\\" 'c'\" \"\"" },
	{ "#define CAT(a, b) a ## b\nCAT(x, 1) CAT(, y) CAT(x,) CAT(1, u) CAT(<, <) CAT(=, =)", "x1 y x 1u << ==" },
	{ "#define A 1\n#define CAT(a, b) a ## b\n#define XCAT(a, b) CAT(a, b)\nCAT(A, A) XCAT(A, A) CAT(A, )", "AA 11 1" },
	{ "#define V(f, ...) f(__VA_ARGS__)\nV(a) V(a, b, c)", "a ( ) a ( b , c )" },
	{ "#define V(f, a...) f(x, ## a)\nV(p) V(p, 1, 2)", "p ( x ) p ( x , 1 , 2 )" },
	{ "#define V(f, ...) f(0 __VA_OPT__(, __VA_ARGS__))\nV(p) V(p, 1)", "p ( 0 ) p ( 0 , 1 )" },
	{ "#define V(a, ...) [a|__VA_ARGS__|#__VA_ARGS__]\nV(1, 2, 3)", "[ 1 | 2 , 3 | \"2, 3\" ]" },
	{ "#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g" },
	{ "#define F(x) [x]\nF\n(\n1\n)\n", "[ 1 ]" },
	{ "#define EMPTY\n#define F(x) <x>\nF EMPTY (1)", "F ( 1 )" },
	{ "#if 1\nyes\n#else\nno\n#endif", "yes" },
	{ "#if 0\nno\n#elif 0\nno\n#elif 2 > 1\nyes\n#elif 1\nno\n#else\nno\n#endif end", "yes" },
	{ "#if 0\n#if 1\nno\n#else\nno\n#endif\nno ' unpaired\n#else\nyes\n#endif", "yes" },
	{ "#ifdef A\nno\n#else\nyes\n#endif\n#ifndef A\n#define A\nyes\n#endif\n#ifdef A\nyes\n#endif", "yes yes yes" },
	{ "#define A 3\n#if defined(A) && A == 3 && !defined B && A * 2 - 1 == 5 && (A << 2 | 1) == 13\nyes\n#endif", "yes" },
	{ "#if -1 < 0u\nno\n#else\nyes\n#endif\n#if (2 ? 3 : 4) == 3 && 'a' == 97 && 0x10 == 16 && 010 == 8 && 0b11 == 3\nyes\n#endif",
	  "yes yes" },
	{ "#if 1 / 0\nno\n#endif\n#if UNKNOWN || 10 % 4 == 2 && ~0 == -1\nyes\n#endif", "yes" },
	{ "#define E(x) x\n#if E(1) && E(defined E)\nyes\n#endif", "yes" },
	{ "#undef A\n#define A 1\n#undef A\nA", "A" },
	{ "a // b\nc /* d\n e */ f \\\ng", "a c f g" },
	{ "#define LONG 1 + \\\n 2\nLONG", "1 + 2" },
	{ "#define C3(a, b, c) a ## b ## c\nC3(1, , 2) C3(, , 3) C3(4, , ) C3(, 5, )C3(,,) 6", "12 3 4 5 6" },
	{ "#define S(a, b) a ## b #b # b\nS(x, 1)", "x1 \"1\" \"1\"" },
	{ "#define P x ## y\n#define X x\nP X ## y", "xy x ## y" },
	{ "#if 0 && 1 / 0 || (1 ? 2 : 1 / 0) == 2 && !(0 ? 1 / 0 : 0)\nyes\n#endif", "yes" },
	{ "#if 0\n##else\nno\n#else\nyes\n#endif", "yes" },
	{ "#if 1 << 40 > 1 && (1 == 1) << 40 > 1 && 0xffffffffffffffff > 1\nyes\n#endif", "yes" },
	{ "__LINE__\n\n__LINE__ __COUNTER__ __COUNTER__", "1 3 0 1" },
	{ "#if __has_include(<no/such/file.h>) || __has_attribute(x) || __has_builtin(__builtin_x)\nno\n#else\nyes\n#endif",
	  "yes" },
	{ "#define linux 1\n#if __has_include(<linux/own.h>) && __has_include(\"linux/own.h\") && linux == 1\nyes\n#endif",
	  "yes" },
	{ "_Pragma(\"x\") a\n#pragma pack(1)\nb", "a b" },
	{ "# 12 \"file\"\n#\na", "a" },
	/* How the kernel asks for its configuration. */
	{ "#define CONFIG_A 1\n#define PLACE_1 0,\n#define second(x, v, ...) v\n#define is1(v) is2(PLACE_##v)\n#define is2(j) second(j 1, 0)\n"
	  "#define is(x) is1(x)\nis(CONFIG_A) is(CONFIG_B)",
	  "1 0" },
};

static void test_texts(void)
{
	for (u32 i = 0; i < ARRAY_CNT(texts); i++) {
		struct sbuf got = {};
		struct arena arena;
		struct pp *pp;

		arena_init(&arena);
		pp = pp_new(&arena, NULL);
		pp_add_own(pp, "linux/own.h", "");
		pp_push_text(pp, "text", texts[i].in, strlen(texts[i].in));
		for (;;) {
			struct ctok t = pp_next(pp);

			if (t.kind == CTOK_END)
				break;
			sbuf_printf(&got, "%s%.*s", got.len ? " " : "", (int)t.len, t.s);
		}
		CHECK(str_eq(sbuf_str(&got), texts[i].out), "%s\n  wanted %s\n  got    %s", texts[i].in, texts[i].out,
		      sbuf_str(&got));
		sbuf_release(&got);
		pp_free(pp);
		arena_release(&arena);
	}
}

/* ---- layouts: the same text for both compilers ---- */

#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"

#define ALL                                                                                                                      \
	typedef unsigned int uns;                                                                                                \
	enum colour { RED, GREEN = 5, BLUE, LAST = (1 << 4) | GREEN };                                                           \
	enum huge { SMALL = 1, HUGE_VALUE = 0x100000000 };                                                                       \
	enum __attribute__((packed)) tiny { T_A, T_B = 200 };                                                                    \
	struct later;                                                                                                            \
	typedef struct later later_t;                                                                                            \
	struct later {                                                                                                           \
		char a;                                                                                                          \
		long b;                                                                                                          \
	};                                                                                                                       \
	struct plain {                                                                                                           \
		char a;                                                                                                          \
		short b;                                                                                                         \
		int c;                                                                                                           \
		long d;                                                                                                          \
		char e;                                                                                                          \
		later_t f;                                                                                                       \
		later_t g[2];                                                                                                    \
	};                                                                                                                       \
	struct nested {                                                                                                          \
		int a;                                                                                                           \
		struct {                                                                                                         \
			char b;                                                                                                  \
			long c;                                                                                                  \
		} in;                                                                                                            \
		union {                                                                                                          \
			int d;                                                                                                   \
			short e[5];                                                                                              \
		};                                                                                                               \
		struct plain p;                                                                                                  \
		char f;                                                                                                          \
	};                                                                                                                       \
	struct pointers {                                                                                                        \
		struct pointers *next;                                                                                           \
		void (*fn)(int, char);                                                                                           \
		int (*table[4])(void);                                                                                           \
		const char *const *s;                                                                                            \
		char (*arr)[7];                                                                                                  \
		char z;                                                                                                          \
		int (*(*deep)(int))[3];                                                                                          \
	};                                                                                                                       \
	struct bits {                                                                                                            \
		uns a : 3, b : 7;                                                                                                \
		int c : 22;                                                                                                      \
		unsigned long d : 40;                                                                                            \
		unsigned char e : 4;                                                                                             \
		_Bool f : 1;                                                                                                     \
		int g;                                                                                                           \
	};                                                                                                                       \
	struct bits2 {                                                                                                           \
		char a;                                                                                                          \
		int b : 9;                                                                                                       \
		int : 0;                                                                                                         \
		int c : 4;                                                                                                       \
		short : 5;                                                                                                       \
		short d : 12;                                                                                                    \
		long long e : 33;                                                                                                \
	};                                                                                                                       \
	struct packed {                                                                                                          \
		char a;                                                                                                          \
		int b;                                                                                                           \
		struct plain c;                                                                                                  \
		short d : 5;                                                                                                     \
		int e : 20;                                                                                                      \
		long f;                                                                                                          \
	} __attribute__((packed));                                                                                               \
	struct __attribute__((packed, aligned(4))) packed2 {                                                                     \
		char a;                                                                                                          \
		long b;                                                                                                          \
	};                                                                                                                       \
	struct members {                                                                                                         \
		char a;                                                                                                          \
		int b __attribute__((aligned(16)));                                                                              \
		char c;                                                                                                          \
		long d __attribute__((packed));                                                                                  \
	};                                                                                                                       \
	struct wide {                                                                                                            \
		char a;                                                                                                          \
		__int128 b;                                                                                                      \
		char c;                                                                                                          \
	} __attribute__((aligned(64)));                                                                                          \
	typedef int aligned_int __attribute__((aligned(32)));                                                                    \
	struct has_aligned {                                                                                                     \
		char a;                                                                                                          \
		aligned_int b;                                                                                                   \
		char c[sizeof(struct plain) % 7 + 1];                                                                            \
	};                                                                                                                       \
	struct sized {                                                                                                           \
		uint8_t a[3];                                                                                                    \
		uint32_t b[2][3];                                                                                                \
		unsigned long long c[4 / 2 + (1 << 1)];                                                                          \
		char e[sizeof(struct plain) + 1];                                                                                \
		char f[offsetof(struct plain, d)];                                                                               \
		char g[LAST];                                                                                                    \
	};                                                                                                                       \
	struct of {                                                                                                              \
		__typeof__(((struct plain *)0)->c) a;                                                                            \
		__typeof__(1 + 1ul) b;                                                                                           \
		__typeof__((char)1) c;                                                                                           \
		__typeof__(&((struct sized *)0)->b[1]) d;                                                                        \
		__typeof__(1 ? 2 : 3L) e;                                                                                        \
	};                                                                                                                       \
	struct expressions {                                                                                                     \
		char a[sizeof(int) == 4 ? 3 : 9], b[-1 < 1u ? 1 : 2], c[(unsigned char)257], d['a' - 90], e[~0u >> 28],          \
			f[sizeof("abc\n")], g[!0 + !!7], h[__alignof__(long)];                                                   \
	};                                                                                                                       \
	union mix {                                                                                                              \
		char a;                                                                                                          \
		int b[3];                                                                                                        \
		struct {                                                                                                         \
			long c;                                                                                                  \
		} d;                                                                                                             \
		uint16_t e;                                                                                                      \
	};                                                                                                                       \
	struct enums {                                                                                                           \
		enum colour a;                                                                                                   \
		enum huge b;                                                                                                     \
		enum tiny c;                                                                                                     \
		enum tiny d;                                                                                                     \
	};                                                                                                                       \
	static inline int skipped(int x)                                                                                         \
	{                                                                                                                        \
		struct inside {                                                                                                  \
			int y;                                                                                                   \
		} z = { x };                                                                                                     \
		return z.y;                                                                                                      \
	}                                                                                                                        \
	extern struct plain variable, *variables[3];                                                                             \
	struct of_variables {                                                                                                    \
		__typeof__(variable.d) a;                                                                                        \
		char b[sizeof(variables)];                                                                                       \
		char c[sizeof variable];                                                                                         \
	};                                                                                                                       \
	struct flexible {                                                                                                        \
		int len;                                                                                                         \
		char data[];                                                                                                     \
	};

ALL

#define STR2(...) #__VA_ARGS__
#define STR(...) STR2(__VA_ARGS__)

	static struct btfraw types;

static u32 find(const char *name)
{
	u32 id = btfraw_find(&types, BTF_BIT(BTF_KIND_STRUCT) | BTF_BIT(BTF_KIND_UNION), name);

	CHECK(id, "there is no %s", name);
	return id;
}

static u32 bit_off(u32 id, const char *name)
{
	const struct btf_type *t = btfraw_type(&types, id);
	const struct btf_member *m = btfc_members(t);

	for (u32 i = 0; i < btf_vlen(t); i++) {
		const char *of = btfraw_str(&types, m[i].name_off);
		u32 inner;

		if (str_eq(of, name))
			return btf_member_bit_off(t, &m[i]);
		inner = *of ? UINT32_MAX : bit_off(btfc_strip(&types, m[i].type, true), name);
		if (inner != UINT32_MAX)
			return btf_member_bit_off(t, &m[i]) + inner;
	}
	return UINT32_MAX;
}

#define SIZE(kw, name)                                                                                                           \
	do {                                                                                                                     \
		u32 id_ = find(#name);                                                                                           \
		if (id_)                                                                                                         \
			CHECK(btfraw_type(&types, id_)->size == sizeof(kw name), "%s: %u, not %zu", #name,                       \
			      btfraw_type(&types, id_)->size, sizeof(kw name));                                                  \
	} while (0)
#define OFF(kw, name, member)                                                                                                    \
	do {                                                                                                                     \
		u32 id_ = find(#name);                                                                                           \
		if (id_)                                                                                                         \
			CHECK(bit_off(id_, #member) == 8 * offsetof(kw name, member), "%s.%s: %d, not %zu", #name, #member,      \
			      (int)bit_off(id_, #member) / 8, offsetof(kw name, member));                                        \
	} while (0)
/* Bit-fields have no offsetof: set one to all ones and look where they are. */
#define BITS(name, member)                                                                                                       \
	do {                                                                                                                     \
		struct name x_;                                                                                                  \
		u8 *p_ = (u8 *)&x_;                                                                                              \
		u32 at_ = 0, id_ = find(#name);                                                                                  \
		memset(&x_, 0, sizeof(x_));                                                                                      \
		x_.member = -1;                                                                                                  \
		while (at_ < 8 * sizeof(x_) && !(p_[at_ / 8] >> at_ % 8 & 1))                                                    \
			at_++;                                                                                                   \
		if (id_)                                                                                                         \
			CHECK(bit_off(id_, #member) == at_, "%s.%s: bit %d, not %u", #name, #member, (int)bit_off(id_, #member), \
			      at_);                                                                                              \
	} while (0)

static void test_layouts(void)
{
	static const char text[] = STR(ALL);
	struct cheader *h = cheader_new();
	size_t len;
	u8 *data;
	s64 v = 0;

	cheader_add(h, "stddef.h", false);
	cheader_add_text(h, "all", text, sizeof(text) - 1);
	CHECK(cheader_error_cnt(h) == 0, "%s", cheader_errors(h));
	data = cheader_types(h, &len);
	CHECK(!btfraw_init(&types, data, len, false, NULL) && !btfraw_check(&types), "the BTF is wrong");
	SIZE(struct, plain);
	SIZE(struct, nested);
	SIZE(struct, pointers);
	SIZE(struct, bits);
	SIZE(struct, bits2);
	SIZE(struct, packed);
	SIZE(struct, packed2);
	SIZE(struct, members);
	SIZE(struct, wide);
	SIZE(struct, has_aligned);
	SIZE(struct, sized);
	SIZE(struct, of);
	SIZE(struct, expressions);
	SIZE(union, mix);
	SIZE(struct, enums);
	SIZE(struct, of_variables);
	SIZE(struct, flexible);
	OFF(struct, plain, b);
	OFF(struct, plain, d);
	OFF(struct, plain, f);
	OFF(struct, plain, g);
	OFF(struct, nested, in);
	OFF(struct, nested, d);
	OFF(struct, nested, e);
	OFF(struct, nested, p);
	OFF(struct, nested, f);
	OFF(struct, pointers, fn);
	OFF(struct, pointers, table);
	OFF(struct, pointers, s);
	OFF(struct, pointers, arr);
	OFF(struct, pointers, deep);
	BITS(bits, a);
	BITS(bits, b);
	BITS(bits, c);
	BITS(bits, d);
	BITS(bits, e);
	BITS(bits, f);
	OFF(struct, bits, g);
	BITS(bits2, b);
	BITS(bits2, c);
	BITS(bits2, d);
	BITS(bits2, e);
	OFF(struct, packed, b);
	OFF(struct, packed, c);
	BITS(packed, d);
	BITS(packed, e);
	OFF(struct, packed, f);
	OFF(struct, packed2, b);
	OFF(struct, members, b);
	OFF(struct, members, c);
	OFF(struct, members, d);
	OFF(struct, wide, b);
	OFF(struct, wide, c);
	OFF(struct, has_aligned, b);
	OFF(struct, has_aligned, c);
	OFF(struct, sized, b);
	OFF(struct, sized, c);
	OFF(struct, sized, e);
	OFF(struct, sized, f);
	OFF(struct, sized, g);
	OFF(struct, of, b);
	OFF(struct, of, c);
	OFF(struct, of, d);
	OFF(struct, of, e);
	OFF(struct, expressions, b);
	OFF(struct, expressions, c);
	OFF(struct, expressions, d);
	OFF(struct, expressions, e);
	OFF(struct, expressions, f);
	OFF(struct, expressions, g);
	OFF(struct, expressions, h);
	OFF(struct, enums, b);
	OFF(struct, enums, c);
	OFF(struct, enums, d);
	OFF(struct, of_variables, b);
	OFF(struct, of_variables, c);
	CHECK(!btfraw_find(&types, BTF_BIT(BTF_KIND_STRUCT), "inside"), "the body of a function was read");
	CHECK(cheader_constant(h, "LAST", &v) && v == LAST, "LAST is %lld", (long long)v);
	CHECK(cheader_constant(h, "HUGE_VALUE", &v) && v == HUGE_VALUE, "HUGE_VALUE is %lld", (long long)v);
	btfraw_release(&types);
	cheader_free(h);
}

/* The same by #pragma pack, which no macro can hold: once for the compiler, once as text. */
#pragma pack(push, 1)
struct pack1 {
	char a;
	int b;
	short c : 5;
	long d;
};
#pragma pack(push, 2)
struct pack2 {
	char a;
	int b;
	struct pack1 c;
	long d __attribute__((aligned(8)));
};
#pragma pack(pop)
struct pack3 {
	char a;
	long b;
};
#pragma pack(pop)
struct pack4 {
	char a;
	long b;
};
#pragma pack(4)
struct pack5 {
	char a;
	long b;
	char c;
};
#pragma pack()
struct pack6 {
	char a;
	long b;
	struct pack5 c;
};

static void test_pack(void)
{
	static const char text[] =
		"#pragma pack(push, 1)\nstruct pack1 { char a; int b; short c : 5; long d; };\n#pragma pack(push, 2)\n"
		"struct pack2 { char a; int b; struct pack1 c; long d __attribute__((aligned(8))); };\n#pragma pack(pop)\n"
		"struct pack3 { char a; long b; };\n#pragma pack(pop)\nstruct pack4 { char a; long b; };\n#pragma pack(4)\n"
		"struct pack5 { char a; long b; char c; };\n#pragma pack()\nstruct pack6 { char a; long b; struct pack5 c; };\n";
	struct cheader *h = cheader_new();
	size_t len;
	u8 *data;

	cheader_add_text(h, "pack", text, sizeof(text) - 1);
	CHECK(cheader_error_cnt(h) == 0, "%s", cheader_errors(h));
	data = cheader_types(h, &len);
	CHECK(!btfraw_init(&types, data, len, false, NULL) && !btfraw_check(&types), "the BTF is wrong");
	SIZE(struct, pack1);
	SIZE(struct, pack2);
	SIZE(struct, pack3);
	SIZE(struct, pack4);
	SIZE(struct, pack5);
	SIZE(struct, pack6);
	OFF(struct, pack1, b);
	OFF(struct, pack1, d);
	OFF(struct, pack2, b);
	OFF(struct, pack2, c);
	OFF(struct, pack2, d);
	OFF(struct, pack3, b);
	OFF(struct, pack4, b);
	OFF(struct, pack5, b);
	OFF(struct, pack5, c);
	OFF(struct, pack6, b);
	OFF(struct, pack6, c);
	btfraw_release(&types);
	cheader_free(h);
}

/* ---- constants and macros for scripts ---- */

static void test_macros(void)
{
	static const char text[] =
		"#define N 4\n#define MASK ((1u << N) - 1)\n#define TEXT \"x\"\n#define IN_CLASS(a) ((((int)(a)) & MASK) == 0)\n"
		"#define PASTE(a) a##1\n#define LATE sizeof(struct s)\nstruct s { long a[N]; };\n#define UNKNOWN_PLUS (NOWHERE + 1)\n";
	struct cheader *h = cheader_new();
	const char *body;
	s64 v = 0;

	cheader_add_text(h, "macros", text, sizeof(text) - 1);
	CHECK(cheader_constant(h, "N", &v) && v == 4, "N is %lld", (long long)v);
	CHECK(cheader_constant(h, "MASK", &v) && v == 15, "MASK is %lld", (long long)v);
	CHECK(cheader_constant(h, "LATE", &v) && v == 32, "LATE is %lld", (long long)v);
	CHECK(!cheader_constant(h, "TEXT", &v) && !cheader_constant(h, "IN_CLASS", &v) && !cheader_constant(h, "nothing", &v),
	      "not constants");
	CHECK(!cheader_constant(h, "UNKNOWN_PLUS", &v), "a name that is not known is no constant");
	CHECK(cheader_constant(h, "N", &v) && v == 4, "N is %lld after that", (long long)v);
	body = cheader_macro_text(h, cheader_macro(h, "IN_CLASS"));
	CHECK(body && str_eq(body, "((((int)(a)) & ((1u << 4) - 1)) == 0)"), "the body is %s", body ? body : "not there");
	CHECK(!cheader_macro_text(h, cheader_macro(h, "PASTE")), "## has no text");
	cheader_free(h);
}

/* ---- what is wrong ---- */

static const char *const wrong[] = {
	"struct a { int x; } struct b { int y; };",
	"struct a { int x[",
	"struct a { unknown_t x; int y; };",
	"typedef int;",
	"enum { A = , B };",
	"struct a { int x : 99; };",
	"int x = ;",
	"}}}}",
	"((((",
	"#if\n#endif",
	"#include",
	"#define",
	"#else",
	"#endif",
	"struct a { struct a b; };",
	"int a[-1];",
	"int f(int (*)(int (*)(int)));",
	"__attribute__((packed",
	"typedef struct { int a; } ; typeof(",
	"#define F(x\nF(1)",
	"\"unclosed",
	"'",
	"#define F(x) F(x) F(x)\nF(F(F(F(1))))",
	"#define A A A\nA",
	"struct a { int x[1 / 0]; };",
	"/* no end",
	"##define A\n#ifdef A\n##endif",
	"#define F(a,, b) 1\nF(1)",
	"#if 0\n/* no end",
	"struct a { __packed int x __aligned(; };",
	"#define V(...) __VA_OPT__(",
	"#if __has_include(",
};

/* Things inside of things, more than anybody needs: an error, and no more. */
static const struct {
	const char *before, *open, *middle, *close, *after, *error;
} deep[] = {
	{ "#if ", "(", "1", ")", "\n#endif\n", "this expression is nested too deeply" },
	{ "#if ", "1 ? 1 : ", "1", "", "\n#endif\n", "this expression is nested too deeply" },
	{ "int a[", "1 ? 1 : ", "1", "", "];", "this expression is nested too deeply" },
	{ "int a[", "~", "1", "", "];", "this expression is nested too deeply" },
	{ "typeof(", "typeof(", "int", ")", ") x;", "too many levels of nesting" },
	{ "struct a { ", "struct { ", "int x; ", "}; ", "};", "too many levels of nesting" },
	{ "int ", "(*", "x", ")(int)", ";", "too many levels of nesting" },
	{ "int x", "[1]", "", "", ";", "too many dimensions" },
	{ "#define F(x) x\nint x[", "F(", "1", ")", "];", "macros are nested too deeply" },
	{ "#define F(a, ...) ", "__VA_OPT__(", "1", ")", "\nint x[F(1, 2)];", "macros are nested too deeply" },
};

static void test_deep(void)
{
	for (u32 i = 0; i < ARRAY_CNT(deep); i++) {
		struct cheader *h = cheader_new();
		struct sbuf b = {};

		sbuf_puts(&b, deep[i].before);
		for (u32 k = 0; k < 1000; k++)
			sbuf_puts(&b, deep[i].open);
		sbuf_puts(&b, deep[i].middle);
		for (u32 k = 0; k < 1000; k++)
			sbuf_puts(&b, deep[i].close);
		sbuf_puts(&b, deep[i].after);
		cheader_add_text(h, "deep", sbuf_str(&b), b.len);
		CHECK(strstr(cheader_errors(h), deep[i].error), "%s%s: %s", deep[i].before, deep[i].open, cheader_errors(h));
		sbuf_release(&b);
		cheader_free(h);
	}
}

/* A macro with more parameters than anybody needs, called with fewer and with more arguments. */
static void test_many_params(void)
{
	struct cheader *h = cheader_new();
	struct sbuf b = {};
	s64 v = 0;

	sbuf_puts(&b, "#define F(a0");
	for (u32 i = 1; i < 1000; i++)
		sbuf_printf(&b, ", a%u", i);
	sbuf_puts(&b, ") a999 + 1\n#define FEW F(1)\n#define MANY F(7");
	for (u32 i = 1; i < 1000; i++)
		sbuf_puts(&b, ", 7");
	sbuf_puts(&b, ")\n");
	cheader_add_text(h, "many", sbuf_str(&b), b.len);
	CHECK(cheader_constant(h, "MANY", &v) && v == 8, "%lld", (long long)v);
	CHECK(cheader_constant(h, "FEW", &v) && v == 1, "%lld", (long long)v);
	sbuf_release(&b);
	cheader_free(h);
}

static size_t read_text(const char *text, size_t len)
{
	struct cheader *h = cheader_new();
	size_t out;

	cheader_add_text(h, "text", text, len);
	/* What stands behind the wrong part is still understood, or at least nothing breaks. */
	free(cheader_types(h, &out));
	cheader_free(h);
	return out;
}

static u64 seed = 1;

static u32 rnd(u32 below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

static void test_wrong(void)
{
	static const char text[] = STR(
		ALL) "\n#define F(a, b...) a ## _x { int q; } b\n#if defined(F) && 1\nstruct F(z, ;)\n#endif\n";
	static const char bits[] = "{}()[];,*#\n\"'0azAZ_ =<>!&|?:.\\%-+";

	for (u32 i = 0; i < ARRAY_CNT(wrong); i++)
		CHECK(read_text(wrong[i], strlen(wrong[i])) >= sizeof(struct btf_header), "%s", wrong[i]);
	for (u32 i = 0; i < 1500; i++) {
		char *bad = xzalloc(sizeof(text));
		u32 len = sizeof(text) - 1;

		memcpy(bad, text, len);
		for (u32 n = 1 + rnd(6); n; n--) {
			u32 at = rnd(len), cnt = 1 + rnd(20);

			if (rnd(3)) {
				bad[at] = bits[rnd(sizeof(bits) - 1)];
			} else if (at + cnt < len) {
				memmove(bad + at, bad + at + cnt, len - at - cnt);
				len -= cnt;
			}
		}
		CHECK(read_text(bad, len) >= sizeof(struct btf_header), "mutation %u", i);
		free(bad);
	}
	/* What follows a broken declaration. */
	{
		static const char after[] = "struct broken { nothing_t x; };\nint ) ( ;\nstruct good { int a; };\n";
		struct cheader *h = cheader_new();
		struct btfraw b;
		size_t len;
		u8 *data;

		cheader_add_text(h, "after", after, sizeof(after) - 1);
		CHECK(cheader_error_cnt(h) >= 2, "%u errors", cheader_error_cnt(h));
		data = cheader_types(h, &len);
		CHECK(!btfraw_init(&b, data, len, false, NULL) && btfraw_find(&b, BTF_BIT(BTF_KIND_STRUCT), "good"),
		      "good is lost");
		btfraw_release(&b);
		cheader_free(h);
	}
}

int main(void)
{
	test_texts();
	test_layouts();
	test_pack();
	test_macros();
	test_wrong();
	test_deep();
	test_many_params();
	return check_end();
}
