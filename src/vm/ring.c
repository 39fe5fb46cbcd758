/* SPDX-License-Identifier: GPL-2.0-only */
/* Ring buffers, with the kernel's arithmetic: positions only grow, each record has a header of 8 bytes and is rounded up to 8,
 * and one is refused when more than size - 1 bytes would be waiting. Memory is twice the size, so that a record that starts
 * before the end continues after it; nothing else is stored there, because records start below the size. */
#include "vm/internal.h"

static u32 *header(const struct vm_map *m, u64 pos)
{
	return (u32 *)(m->mem + (pos & (m->def.max_entries - 1)));
}

static u64 record_sz(u64 len)
{
	return ALIGN_UP(len + BPF_RINGBUF_HDR_SZ, 8);
}

/* NULL when there is no room. */
u8 *vm_ring_reserve(struct vm_map *m, u64 size)
{
	u32 *h = header(m, m->prod);
	u64 sz = record_sz(size);

	if (size > UINT32_MAX / 4 || sz > m->def.max_entries || m->prod + sz - m->cons > m->def.max_entries - 1)
		return NULL;
	h[0] = (u32)size | BPF_RINGBUF_BUSY_BIT;
	h[1] = 0;
	memset(h + 2, VM_POISON, sz - BPF_RINGBUF_HDR_SZ);
	m->prod += sz;
	return (u8 *)(h + 2);
}

void vm_ring_commit(struct vm_map *m, u8 *data, bool discard)
{
	u32 *h = (u32 *)(data - BPF_RINGBUF_HDR_SZ);

	(void)m;
	h[0] &= ~BPF_RINGBUF_BUSY_BIT;
	if (discard)
		h[0] |= BPF_RINGBUF_DISCARD_BIT;
}

u64 vm_ring_query(const struct vm_map *m, u64 what)
{
	switch (what) {
	case BPF_RB_AVAIL_DATA:
		return m->prod - m->cons;
	case BPF_RB_RING_SIZE:
		return m->def.max_entries;
	case BPF_RB_CONS_POS:
		return m->cons;
	case BPF_RB_PROD_POS:
		return m->prod;
	}
	return 0;
}

static void skip(struct vm_map *m)
{
	u32 len = *header(m, m->cons) & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	m->cons += record_sz(len);
}

bool vm_ring_peek(struct vm_map *m, const u8 **data, u32 *len)
{
	while (m->cons < m->prod) {
		u32 *h = header(m, m->cons);

		if (h[0] & BPF_RINGBUF_BUSY_BIT)
			return false;
		if (!(h[0] & BPF_RINGBUF_DISCARD_BIT)) {
			*data = (const u8 *)(h + 2);
			*len = h[0];
			return true;
		}
		skip(m);
	}
	return false;
}

void vm_ring_pop(struct vm_map *m)
{
	const u8 *data;
	u32 len;

	if (vm_ring_peek(m, &data, &len))
		skip(m);
}

u64 vm_ring_consumer(const struct vm_map *m)
{
	return m->cons;
}
