/* A header as programs have them. */
#ifndef SHAPES_H
#define SHAPES_H
#include <stddef.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHAPE_NAME_LEN 12
#define SHAPE_ID(kind, n) (((kind) << 8) | (n))
#define LIST_OF(type) struct { type *first; size_t cnt; }

enum shape_kind { SHAPE_NONE, SHAPE_CIRCLE = 4, SHAPE_SQUARE };

typedef struct shape shape_t;
struct shape {
	enum shape_kind kind : 8;
	unsigned int is_open : 1;
	char name[SHAPE_NAME_LEN];
	LIST_OF(shape_t) parts;
	bool (*draw)(const shape_t *self, int, ...);
	double area;
	union {
		struct { int x, y; } at;
		long packed_at;
	};
} __attribute__((aligned(16)));

static inline bool shape_is_open(const shape_t *s)
{
	return s->is_open ? true : false;
}
extern int shape_count(void);

#ifdef __cplusplus
}
#endif
#endif
