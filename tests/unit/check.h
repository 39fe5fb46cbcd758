/* SPDX-License-Identifier: GPL-2.0-only */
/* What every unit test has: checks that count themselves, and a last line that says how many. A check in a loop is one case,
 * however many rounds the loop makes; each round that fails is reported. */
#pragma once

#include <stdio.h>

#include "base/base.h"

static u32 passed, failed;
static u32 passed_rounds __attribute__((unused)); /* every check that held */

/* Counts the place where it stands, once. */
#define CHECK_PASSED()                                                                                                           \
	do {                                                                                                                     \
		static bool is_counted_;                                                                                         \
		passed_rounds++;                                                                                                 \
		passed += !is_counted_;                                                                                          \
		is_counted_ = true;                                                                                              \
	} while (0)

/* CHECK(condition) or CHECK(condition, "text %d", …), where the text says what was found instead. */
#define CHECK(cond, ...)                                                                                                         \
	do {                                                                                                                     \
		if (cond) {                                                                                                      \
			CHECK_PASSED();                                                                                          \
		} else {                                                                                                         \
			failed++;                                                                                                \
			printf("%s:%d: %s:", __FILE__, __LINE__, #cond);                                                         \
			printf(" " __VA_ARGS__);                                                                                 \
			printf("\n");                                                                                            \
		}                                                                                                                \
	} while (0)

/* The exit status of main(). */
static inline int check_end(void)
{
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
