/* SPDX-License-Identifier: GPL-2.0-only */
/* The vocabulary of the whole tree: integer names, assertions, small macros.
 *
 * Three kinds of trouble, three answers:
 *  - the script is wrong: diag_error() (diag.h), checking goes on;
 *  - the world is wrong: a function returns -errno, printed once where subject and reason are known;
 *  - we are wrong: BUG(), which stays on in release builds.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_CNT(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ALIGN_UP(x, a) (((x) + ((a)-1)) / (a) * (a))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))

/* Ends the process: an invariant of ours does not hold. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_ON(cond)                                                                                                             \
	do {                                                                                                                     \
		if (cond)                                                                                                        \
			BUG("%s", #cond);                                                                                        \
	} while (0)
NORETURN void bug_at(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* malloc and friends that end the process with a message when memory is out; memory is zeroed. */
void *xzalloc(size_t sz);
void *xrealloc(void *p, size_t sz);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

static inline bool str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static inline bool is_pow2(u64 x)
{
	return x && !(x & (x - 1));
}

/* The smallest power of two that is not below x (x >= 1). */
static inline u64 pow2_up(u64 x)
{
	u64 p = 1;

	while (p < x)
		p <<= 1;
	return p;
}
