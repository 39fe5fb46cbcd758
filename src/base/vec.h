/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing array of any element type: `vec(struct token) toks;`, zero-initialised, elements at `toks.at[0..cnt)`.
 * vec_push() grows on the heap (the owner calls vec_free()), avec_push() grows inside an arena (which frees it). One vec uses
 * one of the two throughout. Pointers to elements do not survive a push. */
#pragma once

#include <stdlib.h>

#include "base/arena.h"

#define vec(T)                                                                                                                   \
	struct {                                                                                                                 \
		T *at;                                                                                                           \
		u32 cnt, cap;                                                                                                    \
	}

#define vec_push(v, ...)                                                                                                         \
	do {                                                                                                                     \
		if ((v)->cnt == (v)->cap) {                                                                                      \
			(v)->cap = (v)->cap ? 2 * (v)->cap : 8;                                                                  \
			(v)->at = xrealloc((v)->at, (v)->cap * sizeof(*(v)->at));                                                \
		}                                                                                                                \
		(v)->at[(v)->cnt++] = (__VA_ARGS__);                                                                             \
	} while (0)

#define avec_push(arena, v, ...)                                                                                                 \
	do {                                                                                                                     \
		if ((v)->cnt == (v)->cap) {                                                                                      \
			u32 cap_ = (v)->cap ? 2 * (v)->cap : 4;                                                                  \
			(v)->at = arena_grow((arena), (v)->at, (v)->cap * sizeof(*(v)->at), cap_ * sizeof(*(v)->at));            \
			(v)->cap = cap_;                                                                                         \
		}                                                                                                                \
		(v)->at[(v)->cnt++] = (__VA_ARGS__);                                                                             \
	} while (0)

/* For a vec that is complete: returns its unused capacity to the arena, if the vec was the last to grow there. */
#define avec_trim(arena, v)                                                                                                      \
	do {                                                                                                                     \
		arena_shrink((arena), (v)->at, (v)->cap * sizeof(*(v)->at), (v)->cnt * sizeof(*(v)->at));                        \
		(v)->cap = (v)->cnt;                                                                                             \
	} while (0)

#define vec_free(v)                                                                                                              \
	do {                                                                                                                     \
		free((v)->at);                                                                                                   \
		(v)->at = NULL;                                                                                                  \
		(v)->cnt = (v)->cap = 0;                                                                                         \
	} while (0)

#define vec_for(it, v) for (typeof((v)->at + 0) it = (v)->at; it < (v)->at + (v)->cnt; it++)
