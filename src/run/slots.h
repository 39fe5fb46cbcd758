/* The slots in front of a hash map (ir/lower_slots.c), as user space sees them. */
#pragma once

#include "run/object.h"

/* Adds what is in the slots of a map to what was read from its hash map, not yet summed up over the CPUs. Returns 0 or -errno. */
int slots_read(struct object *obj, const struct map *m, struct map_dump *d);
/* Takes all values away. The keys keep their slots, since programs may be about to use them. */
int slots_clear(struct object *obj, const struct map *m);
