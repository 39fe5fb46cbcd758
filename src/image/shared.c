/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/shared.h"

union word {
	u64 u64;
	u32 u32;
	u16 u16;
	u8 u8;
};

/* The largest access that begins at p. */
static u32 access_size(const u8 *p, u32 size)
{
	u32 n = 8;

	while (n > size || (uintptr_t)p & (n - 1))
		n /= 2;
	return n;
}

void shared_copy(u8 *to, const u8 *from, u32 size)
{
	for (u32 n; size; to += n, from += n, size -= n) {
		union word v;

		n = access_size(from, size);
		switch (n) {
		case 8:
			v.u64 = __atomic_load_n((const u64 *)from, __ATOMIC_RELAXED);
			break;
		case 4:
			v.u32 = __atomic_load_n((const u32 *)from, __ATOMIC_RELAXED);
			break;
		case 2:
			v.u16 = __atomic_load_n((const u16 *)from, __ATOMIC_RELAXED);
			break;
		default:
			v.u8 = __atomic_load_n(from, __ATOMIC_RELAXED);
		}
		memcpy(to, &v, n);
	}
}

void shared_take(u8 *to, u8 *from, u32 size)
{
	for (u32 n; size; to += n, from += n, size -= n) {
		union word v;

		n = access_size(from, size);
		switch (n) {
		case 8:
			v.u64 = __atomic_exchange_n((u64 *)from, 0, __ATOMIC_SEQ_CST);
			break;
		case 4:
			v.u32 = __atomic_exchange_n((u32 *)from, 0, __ATOMIC_SEQ_CST);
			break;
		case 2:
			v.u16 = __atomic_exchange_n((u16 *)from, 0, __ATOMIC_SEQ_CST);
			break;
		default:
			v.u8 = __atomic_exchange_n(from, 0, __ATOMIC_SEQ_CST);
		}
		memcpy(to, &v, n);
	}
}
