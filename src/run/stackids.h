/* The kernel's numbers for stacks, as user space knows them; why it has to, and how it may, ir/lower_stackid.c tells. */
#pragma once

#include "run/object.h"

struct stack_ids;

/* NULL: no map of the script has such numbers. Until it is started, programs do not ask for numbers. */
struct stack_ids *stack_ids_new(struct object *obj, const struct compile *c);
/* From now on a thread looks for numbers that programs have seen, and learns them. Where it may not run all goes on, a bit slower. */
void stack_ids_start(struct stack_ids *s);
/* The thread is to end; it may take a moment, for which only stack_ids_free() waits. NULL is fine. */
void stack_ids_stop(struct stack_ids *s);
void stack_ids_free(struct stack_ids *s); /* NULL is fine */

/* One round of the thread: how many it has learned, or -ENOSPC if nothing more will be. */
int stack_ids_learn(struct stack_ids *s);

/* The frames of a number that a key in a slot has, and room for more, which is zero; NULL: not known. */
const u64 *stack_ids_frames(const struct stack_ids *s, const struct map *m, u64 id);
