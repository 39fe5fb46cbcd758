/* Reading a map of the script as it is at this moment: summed up over the CPUs and in the order in which it is printed.
 *
 * Order: maps of integers, count, sum, min, max, avg and stats by value; hist and lhist by the number of values in them; all
 * others by key: integers as signed numbers, strings by their bytes, tuples field by field. What is equal by value is ordered
 * by key, so that the same contents always print the same way.
 */
#pragma once

#include "out/sink.h"
#include "run/object.h"

struct map_snap {
	struct map_view view;  /* what the sinks take; points into the rest */
	struct map_dump dump;  /* hash maps */
	u8 *scalar;            /* others */
	struct map_entry one;
};

/* top > 0: only the last (largest) top entries. div: as print() has it, 0 or 1: none. A scalar that was never set has no entry.
 * Returns 0 or -errno; map_snap_release() is needed after success only. */
int map_snap_read(struct map_snap *s, struct object *obj, const struct map *m, s64 top, s64 div);
/* The one entry of this key; a missing key has the value zero. */
int map_snap_read_key(struct map_snap *s, struct object *obj, const struct map *m, const void *key);
/* Gives an unset scalar the value zero, which is what print() shows for it. */
void map_snap_default(struct map_snap *s, const struct map *m);
void map_snap_release(struct map_snap *s);

/* Bytes of a value in a view: the sum of an aggregation, else the value itself. */
u32 map_snap_value_size(const struct type *val);

/* Where a scalar map lives: its value (CPU 0's if per CPU), the distance from one CPU's to the next and how many there are;
 * the "was set" byte (NULL: none). False: the object has no data map. */
struct scalar_place {
	u8 *value;
	u8 *flag;
	u32 stride, cpu_cnt;
};
bool map_scalar_place(struct object *obj, const struct map *m, struct scalar_place *p);

/* Zeroes memory that programs may be updating: what fits one access is exchanged by one. */
void zero_shared(u8 *p, u32 size);

/* < 0, 0, > 0: the order of two keys. */
int map_key_compare(const struct type *t, const u8 *a, const u8 *b);

/* How many updates of a map did not fit, or with *is_exact false just that some did not. data is the shared part of the data map. */
u64 map_lost(const struct map *m, const u8 *data, bool *is_exact);
