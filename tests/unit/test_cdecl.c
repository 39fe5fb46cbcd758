/* SPDX-License-Identifier: GPL-2.0-only */
/* C definitions: each struct here is compiled by the C compiler and read by ours; sizes and offsets must agree. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "check.h"
#include "lang/compile.h"

static struct arena arena;
static struct diag diag;
static struct compile c;

#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wpedantic"

#define ALL                                                                                                                      \
	enum colour { RED, GREEN = 5, BLUE };                                                                                    \
	enum big { SMALL = 1, HUGE = 0x100000000 };                                                                              \
	enum minus { BELOW = -1, ABOVE };                                                                                        \
	struct plain {                                                                                                           \
		char a;                                                                                                          \
		short b;                                                                                                         \
		int c;                                                                                                           \
		long d;                                                                                                          \
		char e;                                                                                                          \
	};                                                                                                                       \
	struct strings {                                                                                                         \
		char comm[16];                                                                                                   \
		unsigned char raw[6];                                                                                            \
		char grid[2][8];                                                                                                 \
		char one;                                                                                                        \
		char *text;                                                                                                      \
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
	struct anon {                                                                                                            \
		char a;                                                                                                          \
		struct {                                                                                                         \
			int b;                                                                                                   \
			union {                                                                                                  \
				char c;                                                                                          \
				long d;                                                                                          \
			};                                                                                                       \
		};                                                                                                               \
		char e;                                                                                                          \
	};                                                                                                                       \
	union mix {                                                                                                              \
		char a;                                                                                                          \
		int b[3];                                                                                                        \
		struct {                                                                                                         \
			long c;                                                                                                  \
		} d;                                                                                                             \
		uint16_t e;                                                                                                      \
	};                                                                                                                       \
	struct pointers {                                                                                                        \
		struct pointers *next;                                                                                           \
		void (*fn)(int, char);                                                                                           \
		int (*table[4])(void);                                                                                           \
		const char *const *s;                                                                                            \
		char (*arr)[7];                                                                                                  \
		char z;                                                                                                          \
	};                                                                                                                       \
	struct bits {                                                                                                            \
		unsigned a : 3, b : 7;                                                                                           \
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
	struct bits3 {                                                                                                           \
		short a;                                                                                                         \
		unsigned b : 12;                                                                                                 \
		unsigned c : 20;                                                                                                 \
		unsigned char d : 5;                                                                                             \
		enum colour e : 6;                                                                                               \
	};                                                                                                                       \
	union bits4 {                                                                                                            \
		unsigned a : 5;                                                                                                  \
		long b : 41;                                                                                                     \
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
	struct sized {                                                                                                           \
		uint8_t a[3];                                                                                                    \
		uint32_t b[2][3];                                                                                                \
		unsigned long long c[4 / 2 + (1 << 1)];                                                                          \
		struct plain d[3];                                                                                               \
		char e[sizeof(struct plain) + 1];                                                                                \
	};                                                                                                                       \
	struct flexible {                                                                                                        \
		int len;                                                                                                         \
		char data[];                                                                                                     \
	};                                                                                                                       \
	struct words {                                                                                                           \
		unsigned a;                                                                                                      \
		long int b;                                                                                                      \
		short unsigned c;                                                                                                \
		signed char d;                                                                                                   \
		long long unsigned int e;                                                                                        \
		volatile const int f, *g;                                                                                        \
		enum big h;                                                                                                      \
		enum minus i;                                                                                                    \
	};

/* The same text for both compilers. */
ALL

#define STR2(...) #__VA_ARGS__
#define STR(...) STR2(__VA_ARGS__)

	static const struct type *
	find(const char *keyword, const char *name)
{
	const struct type *t = c.script_types->find(c.script_types, keyword, name);

	if (!t) {
		printf("%s %s was not found\n", keyword, name);
		exit(1);
	}
	return type_complete(t);
}

static void check_size(const char *keyword, const char *name, u32 size, u32 align)
{
	const struct type *t = find(keyword, name);

	if (t->size == size && t->align == align) {
		passed++;
		return;
	}
	failed++;
	printf("%s %s: size %u, align %u, wanted %u, %u\n", keyword, name, t->size, t->align, size, align);
}

static void check_offset(const char *keyword, const char *name, const char *member, u32 want)
{
	u32 off = ~0u;

	if (type_member(find(keyword, name), member, &off) && off == want) {
		passed++;
		return;
	}
	failed++;
	printf("%s %s.%s: offset %u, wanted %u\n", keyword, name, member, off, want);
}

/* bytes: the struct with nothing but this bit-field set to -1. */
static void check_bits(const char *keyword, const char *name, const char *member, const void *bytes)
{
	u32 off = 0, first = ~0u, cnt = 0;
	const struct type *t = find(keyword, name);
	const struct member *m = type_member(t, member, &off);

	for (u32 i = 0; i < 8 * t->size; i++) {
		if (((const u8 *)bytes)[i / 8] >> i % 8 & 1) {
			first = cnt ? first : i;
			cnt++;
		}
	}
	if (m && 8 * off + m->bit_off == first && m->bit_sz == cnt) {
		passed++;
		return;
	}
	failed++;
	printf("%s %s.%s: bits %u+%u, wanted %u+%u\n", keyword, name, member, m ? 8 * off + m->bit_off : 0, m ? m->bit_sz : 0,
	       first, cnt);
}

#define SIZE(k, n) check_size(#k, #n, sizeof(k n), _Alignof(k n))
#define OFF(k, n, m) check_offset(#k, #n, #m, offsetof(k n, m))
#define BITS(k, n, m)                                                                                                            \
	do {                                                                                                                     \
		k n v;                                                                                                           \
		memset(&v, 0, sizeof(v));                                                                                        \
		v.m = -1;                                                                                                        \
		check_bits(#k, #n, #m, &v);                                                                                      \
	} while (0)

static bool parse(const char *text)
{
	arena_init(&arena);
	diag_init(&diag, &arena);
	c = (struct compile){ .arena = &arena, .diag = &diag, .config = config_defaults };
	return lang_parse(&c, diag_add_source(&diag, "t.bt", text, strlen(text)));
}

static void test_layouts(void)
{
	struct sbuf out = {};
	bool ok = parse(STR(ALL) " begin { }");

	diag_print(&diag, DIAG_ERROR, false, &out);
	printf("%s", sbuf_str(&out));
	sbuf_release(&out);
	CHECK(ok);
	if (!ok)
		return;
	SIZE(enum, colour);
	SIZE(enum, big);
	SIZE(enum, minus);
	SIZE(struct, plain);
	OFF(struct, plain, b);
	OFF(struct, plain, c);
	OFF(struct, plain, d);
	OFF(struct, plain, e);
	SIZE(struct, strings);
	OFF(struct, strings, raw);
	OFF(struct, strings, grid);
	OFF(struct, strings, one);
	OFF(struct, strings, text);
	SIZE(struct, nested);
	OFF(struct, nested, in);
	OFF(struct, nested, d);
	OFF(struct, nested, e);
	OFF(struct, nested, p);
	OFF(struct, nested, f);
	SIZE(struct, anon);
	OFF(struct, anon, b);
	OFF(struct, anon, c);
	OFF(struct, anon, d);
	OFF(struct, anon, e);
	SIZE(union, mix);
	OFF(union, mix, d);
	SIZE(struct, pointers);
	OFF(struct, pointers, fn);
	OFF(struct, pointers, table);
	OFF(struct, pointers, s);
	OFF(struct, pointers, arr);
	OFF(struct, pointers, z);
	SIZE(struct, bits);
	BITS(struct, bits, a);
	BITS(struct, bits, b);
	BITS(struct, bits, c);
	BITS(struct, bits, d);
	BITS(struct, bits, e);
	OFF(struct, bits, g);
	SIZE(struct, bits2);
	BITS(struct, bits2, b);
	BITS(struct, bits2, c);
	BITS(struct, bits2, d);
	BITS(struct, bits2, e);
	SIZE(struct, bits3);
	BITS(struct, bits3, b);
	BITS(struct, bits3, c);
	BITS(struct, bits3, d);
	BITS(struct, bits3, e);
	SIZE(union, bits4);
	BITS(union, bits4, a);
	BITS(union, bits4, b);
	SIZE(struct, packed);
	OFF(struct, packed, b);
	OFF(struct, packed, c);
	OFF(struct, packed, f);
	BITS(struct, packed, d);
	BITS(struct, packed, e);
	SIZE(struct, packed2);
	OFF(struct, packed2, b);
	SIZE(struct, members);
	OFF(struct, members, b);
	OFF(struct, members, c);
	OFF(struct, members, d);
	SIZE(struct, wide);
	OFF(struct, wide, b);
	OFF(struct, wide, c);
	SIZE(struct, sized);
	OFF(struct, sized, b);
	OFF(struct, sized, c);
	OFF(struct, sized, d);
	OFF(struct, sized, e);
	SIZE(struct, flexible);
	OFF(struct, flexible, data);
	SIZE(struct, words);
	OFF(struct, words, b);
	OFF(struct, words, c);
	OFF(struct, words, d);
	OFF(struct, words, e);
	OFF(struct, words, f);
	OFF(struct, words, g);
	OFF(struct, words, h);
	OFF(struct, words, i);
	CHECK(find("struct", "strings")->members[0].type->kind == T_STRING);
	CHECK(find("struct", "strings")->members[1].type->kind == T_ARRAY);
	CHECK(find("struct", "strings")->members[2].type->elem->kind == T_STRING);
	CHECK(find("struct", "pointers")->members[1].type->elem->kind == T_VOID);
	CHECK(find("struct", "pointers")->members[2].type->kind == T_ARRAY);
	CHECK(find("struct", "pointers")->members[0].type->elem == find("struct", "pointers"));
	arena_release(&arena);
}

static void test_forward(void)
{
	const struct type *t;

	CHECK(parse(
		"struct a; struct b { struct a *p; struct later *q; }; struct a { long x[3]; }; typedef struct a a_t, *a_p; begin { }"));
	t = find("struct", "b");
	CHECK(t->members[0].type->elem->size == 24);
	CHECK(find("", "a_t")->size == 24);
	CHECK(find("", "a_p")->kind == T_POINTER);
	CHECK(type_complete(t->members[1].type->elem)->size == 0);
	arena_release(&arena);
}

static void check_error(const char *text, const char *want)
{
	bool ok = parse(text);

	if (!ok && diag.msgs.cnt == 1 && str_eq(diag.msgs.at[0].text, want)) {
		passed++;
	} else {
		failed++;
		printf("%s\n  got:  %s (%u messages)\n  want: %s\n", text, diag.msgs.cnt ? diag.msgs.at[0].text : "nothing",
		       diag.msgs.cnt, want);
	}
	arena_release(&arena);
}

static void test_errors(void)
{
	check_error("struct a { int x; }; struct a { int y; }; begin { }", "struct a is defined twice");
	check_error("struct a { struct a x; }; begin { }", "struct a cannot be a member of itself");
	check_error("struct a { struct b x; }; begin { }", "Unknown type: 'struct b'");
	check_error("struct a { nothing x; }; begin { }", "Unknown type: 'nothing'");
	check_error("struct a { int x; int x; }; begin { }", "there is a member 'x' already");
	check_error("struct a { int x[-1]; }; begin { }", "an array cannot have a negative length");
	check_error("struct a { int x[N]; }; begin { }", "Unknown constant: 'N'");
	check_error("struct a { int x : 33; }; begin { }", "a bit-field of this type has 1 to 32 bits");
	check_error("struct a { int *x : 3; }; begin { }", "a bit-field must be an integer");
	check_error("struct a { void x; }; begin { }", "'x' cannot be of type void");
	check_error("struct a { int x int y; } begin { }", "expected ';' after the member, found 'int'");
	check_error("struct a { int x; begin { }", "this '{' is not closed");
	check_error("enum a { X, X }; begin { }", "there is a constant 'X' already");
	check_error("#if 1\nbegin { }", "this condition has no #endif");
	check_error("#endif\nbegin { }", "there is no #if that this belongs to");
	check_error("#if 1 +\n#endif\nbegin { }", "expected a constant integer expression here");
	check_error("#if 1 / 0\n#endif\nbegin { }", "division by zero in a constant expression");
	check_error("#error not here\nbegin { }", "#error not here");
	check_error("#define\nbegin { }", "a name must follow #define");
	check_error("#define A 1 2\nbegin { print(A); }", "'A' is #defined as text that is not an expression");
	check_error("#define A\nbegin { print(A); }", "'A' is #defined as text that is not an expression");
	check_error("#define A(x) x x\nbegin { print(A(1)); }", "'A' is #defined as text that is not an expression");
	check_error("#unknown\nbegin { }", "this is not a preprocessor directive");
}

int main(void)
{
	test_layouts();
	test_forward();
	test_errors();
	return check_end();
}
