/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading BPF ring buffers (BPF_MAP_TYPE_RINGBUF).
 *
 * Two pages and the data are shared with the kernel: the producer position (read-only), the consumer position (ours), and the
 * data. A record starts with u32 length and u32 page offset; the length's upper bits say that it is still being written (busy) or
 * is to be skipped (discarded).
 *
 * The kernel offers the data twice in a row, so that no record wraps. It is mapped once: each page that is mapped counts as
 * memory of ours and takes time, and there are thousands. The one record in a round that wraps is copied.
 */
#pragma once

#include "image/object.h"

struct ring {
	u64 *consumer, *producer; /* shared */
	const u8 *data;
	u8 *whole;    /* the copy of a record that wraps; malloc'ed */
	u32 whole_sz; /* … and the room there */
	u64 mask;     /* size - 1 */
	u64 pos;      /* how far we have read; made visible to the kernel by ring_publish() */
	u32 page_sz;
};

/* Maps the ring of `size` bytes behind the descriptor. Returns 0 or -errno. */
int ring_init(struct ring *r, int fd, u32 size);
void ring_release(struct ring *r);

/* The position up to which records have been reserved. */
u64 ring_end(const struct ring *r);

enum ring_state { RING_EMPTY, RING_BUSY, RING_RECORD };
/* The next record that starts before `end`, discarded ones skipped; does not move on. */
enum ring_state ring_peek(struct ring *r, u64 end, const u8 **data, u32 *len);
/* Moves past the record that ring_peek() showed. */
void ring_skip(struct ring *r);
/* Returns the space of the records that were read to the kernel: pointers from ring_peek() become invalid. */
void ring_publish(struct ring *r);

/* Hands over what is ready in a data ring and a control ring, in the order in which it was sent; either may be NULL. A control
 * record has, after its struct rec_head, the data ring's position at the time it was sent. Returns how many. */
int rings_consume(struct ring *data, struct ring *ctrl, object_record_fn fn, void *arg);
