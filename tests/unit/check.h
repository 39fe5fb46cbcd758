/* What every unit test has: checks that count themselves, and a last line that says how many. */
#pragma once

#include <stdio.h>

#include "base/base.h"

static u32 passed, failed;

/* CHECK(condition) or CHECK(condition, "text %d", …), where the text says what was found instead. */
#define CHECK(cond, ...)                                                                                               \
	do {                                                                                                           \
		if (cond) {                                                                                            \
			passed++;                                                                                      \
		} else {                                                                                               \
			failed++;                                                                                      \
			printf("%s:%d: %s:", __FILE__, __LINE__, #cond);                                               \
			printf(" " __VA_ARGS__);                                                                       \
			printf("\n");                                                                                  \
		}                                                                                                      \
	} while (0)

/* The exit status of main(). */
static inline int check_end(void)
{
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
