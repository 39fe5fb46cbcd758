/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/uapi.h"

/* Space is returned to the kernel after this many bytes, so that a full ring drains while its records are printed. */
#define PUBLISH_SZ (64 * 1024)

int ring_init(struct ring *r, int fd, u32 size)
{
	u32 page = sysconf(_SC_PAGESIZE);
	u8 *p;

	*r = (struct ring){ .page_sz = page, .mask = (u64)size - 1 };
	r->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->consumer == MAP_FAILED) {
		r->consumer = NULL;
		return -errno;
	}
	p = mmap(NULL, page + (size_t)size, PROT_READ, MAP_SHARED, fd, page);
	if (p == MAP_FAILED) {
		int err = -errno;

		ring_release(r);
		return err;
	}
	r->producer = (u64 *)p;
	r->data = p + page;
	r->pos = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
	return 0;
}

void ring_release(struct ring *r)
{
	if (r->consumer)
		munmap(r->consumer, r->page_sz);
	if (r->producer)
		munmap(r->producer, r->page_sz + (size_t)(r->mask + 1));
	free(r->whole);
	*r = (struct ring){};
}

u64 ring_end(const struct ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

static u64 record_sz(u32 head)
{
	u32 len = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return ALIGN_UP((u64)len + BPF_RINGBUF_HDR_SZ, 8);
}

static u32 head_at(const struct ring *r, u64 pos)
{
	return __atomic_load_n((const u32 *)(r->data + (pos & r->mask)), __ATOMIC_ACQUIRE);
}

/* len bytes behind the head of the record at pos. */
static const u8 *record_at(struct ring *r, u64 pos, u32 len)
{
	u64 at = (pos + BPF_RINGBUF_HDR_SZ) & r->mask, room = r->mask + 1 - at;

	if (len <= room)
		return r->data + at;
	if (len > r->whole_sz) {
		r->whole = xrealloc(r->whole, len);
		r->whole_sz = len;
	}
	memcpy(r->whole, r->data + at, room);
	memcpy(r->whole + room, r->data, len - room);
	return r->whole;
}

enum ring_state ring_peek(struct ring *r, u64 end, const u8 **data, u32 *len)
{
	while (r->pos < end) {
		u32 head = head_at(r, r->pos);

		if (head & BPF_RINGBUF_BUSY_BIT)
			return RING_BUSY;
		if (head & BPF_RINGBUF_DISCARD_BIT) {
			r->pos += record_sz(head);
			continue;
		}
		/* Never more than there is, whatever its head says. */
		*len = (u32)MIN(head, r->mask + 1);
		*data = record_at(r, r->pos, *len);
		return RING_RECORD;
	}
	return RING_EMPTY;
}

void ring_skip(struct ring *r)
{
	r->pos += record_sz(head_at(r, r->pos));
}

void ring_publish(struct ring *r)
{
	__atomic_store_n(r->consumer, r->pos, __ATOMIC_RELEASE);
}

/* Everything that starts before `end`. False: one of them is still being written. */
static bool drain(struct ring *r, u64 end, object_record_fn fn, void *arg, int *cnt)
{
	u64 published = r->pos;
	enum ring_state state;
	const u8 *data;
	u32 len;

	while ((state = ring_peek(r, end, &data, &len)) == RING_RECORD) {
		fn(arg, data, len);
		ring_skip(r);
		++*cnt;
		if (r->pos - published >= PUBLISH_SZ) {
			ring_publish(r);
			published = r->pos;
		}
	}
	ring_publish(r);
	return state == RING_EMPTY;
}

/* Where in the data ring a control record belongs: its last eight bytes. */
static u64 ctrl_place(const u8 *data, u32 len)
{
	u64 place = 0;

	if (len >= sizeof(struct rec_head) + sizeof(place))
		memcpy(&place, data + len - sizeof(place), sizeof(place));
	return place;
}

int rings_consume(struct ring *data, struct ring *ctrl, object_record_fn fn, void *arg)
{
	/* The end of the data must be read before the control ring is looked at: a control record that was sent before one of the
	 * data records up to that end is then visible. */
	u64 end = data ? ring_end(data) : 0, ctrl_end;
	enum ring_state state = RING_EMPTY;
	const u8 *rec;
	int cnt = 0;
	u32 len;

	if (ctrl) {
		ctrl_end = ring_end(ctrl);
		while ((state = ring_peek(ctrl, ctrl_end, &rec, &len)) == RING_RECORD) {
			u64 place = ctrl_place(rec, len);

			/* Sent after `end`: data before it is not known to be complete, so its turn is the next time. */
			if (data && place > end)
				break;
			if (data && !drain(data, place, fn, arg, &cnt))
				goto out;
			fn(arg, rec, len - sizeof(place));
			cnt++;
			ring_skip(ctrl);
			ring_publish(ctrl);
		}
		/* Its place is not known yet: what follows in the data may belong after it. */
		if (state == RING_BUSY)
			goto out;
	}
	if (data)
		drain(data, end, fn, arg, &cnt);
out:
	if (ctrl)
		ring_publish(ctrl);
	return cnt;
}
