/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading a map of the script as it is at this moment: summed up over the CPUs and in the order in which it is printed.
 *
 * Order: maps of integers, count, sum, min, max, avg and stats by value; hist and lhist by the number of values in them; all
 * others by key: integers as signed numbers, strings by their bytes, tuples field by field. What is equal by value is ordered
 * by key, so that the same contents always print the same way.
 */
#pragma once

#include "out/sink.h"
#include "image/object.h"

struct map_snap {
	struct map_view view; /* what the sinks take; points into the rest */
	struct map_dump dump;
	struct map_entry one; /* the entry of a map without key, or of one key */
};

/* top > 0: only the last (largest) top entries. div: as print() has it, 0 or 1: none. A scalar that was never set has no entry.
 * Returns 0 or -errno; map_snap_release() is needed after success only. */
int map_snap_read(struct map_snap *s, struct object *obj, const struct script_map *m, s64 top, s64 div);
/* The same, and in one step clears or zeroes the map. */
int map_snap_take(struct map_snap *s, struct object *obj, const struct script_map *m, enum map_reset reset, s64 top, s64 div);
/* The one entry of this key; a missing key has the value zero. */
int map_snap_read_key(struct map_snap *s, struct object *obj, const struct script_map *m, const void *key);
/* Gives an unset scalar the value zero, which is what print() shows for it. */
void map_snap_default(struct map_snap *s, const struct script_map *m);
void map_snap_release(struct map_snap *s);

/* < 0, 0, > 0: the order of two keys. */
int map_key_compare(const struct type *t, const u8 *a, const u8 *b);

/* How many updates of a map did not fit, or with *is_exact false just that some did not. data is the shared part of the data map.
 */
u64 map_lost(const struct script_map *m, const u8 *data, bool *is_exact);
/* Whether there is no room for new keys. */
bool map_is_full(struct object *obj, const struct script_map *m);
