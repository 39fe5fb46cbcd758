/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that CPUs and user space share: the memory model.
 *
 * Programs of all CPUs and user space work on the data map at the same time, without locks. This is the one place that says who
 * writes what, which store publishes, which load acquires, and what may be seen torn. Whoever adds something to the data map
 * adds it here.
 *
 * The rules
 *
 *   1. An aligned word of up to eight bytes is read and written whole. Nothing larger is.
 *   2. Numbers that are added to change by atomic instructions only.
 *   3. To publish is to store data first, and then the word that says that there is data. Whoever sees that word sees the data.
 *   4. What one update changes is one word, wherever that is possible: then there is nothing to order.
 *
 * The instructions
 *
 *   In BPF, cmpxchg and atomic instructions that fetch are fully ordered: they come after all earlier accesses and before all
 *   later ones. Atomic instructions that do not fetch, plain loads and plain stores have the order of the processor.
 *
 *   On a TSO processor (arch/order.h) plain stores are visible in program order and plain loads take effect in it. So plain
 *   accesses publish and acquire, for free. Elsewhere the compiler orders them by lower_fence() and lower_acquire()
 *   (ir/lower.h), which are fetching additions of 0; target.is_weakly_ordered decides. User space uses __ATOMIC_RELEASE and
 *   __ATOMIC_ACQUIRE, which cost nothing on TSO.
 *
 *   A program stays on its CPU. What it shares with an interrupt on that CPU needs atomic instructions, but no order between
 *   CPUs.
 *
 * What is shared
 *
 *   scalars (store/scalar.c)
 *     @x = v stores the value, then a flag byte that publishes it. @x++ is an atomic addition, then the flag. User space
 *     acquires the flag. Programs do not look at it: a value that was never set is 0. A value of more than eight bytes (string,
 *     tuple) may be seen torn, by programs and by user space. delete(@x) zeroes the value, then the flag: a reader may see 0 in
 *     between. An assignment and a deletion on two CPUs at the same time have no order, and may leave the value of one and the
 *     flag of the other.
 *
 *   shares of CPUs (store/shares.c, store/sites.c)
 *     Only programs on that CPU update a share: each number by an atomic addition or, for min() and max(), by cmpxchg
 *     (agg/rank.h). User space and programs of other CPUs read each number whole. The numbers of one share may be seen torn:
 *     a total without its count (avg, stats), an interval whose number is that of the one before (tseries). No order could
 *     help, since the reader adds up CPUs that go on counting. At the end, nobody counts any more. A sum may be 0, so sum()
 *     has a flag as scalars have, which the program stores after the addition. User space takes a share word by word, with
 *     exchanges: an update meanwhile is in what was taken or stays. Values of aggregations in hash maps are such shares, too, or
 *     one that all CPUs add to.
 *
 *   cells of a CPU (store/cpucells.c)
 *     Zeroes at first. An interrupt is the only rival for a cell. A small key is in the mark: cmpxchg claims the cell, and
 *     nothing else is published. For a larger key, cmpxchg sets CELL_BEING_CLAIMED, plain stores put the key there, and a
 *     fetching addition, which is fully ordered, publishes it as CELL_CLAIMED. User space acquires the mark, then reads key and
 *     value. The value is a share.
 *
 *   cells of all CPUs (store/sharedcells.c)
 *     The key is in the mark, and a cell never changes its key. cmpxchg claims a cell, as one without value. An assignment
 *     stores the value, one word, and publishes it by the store of the mark. Programs and user space acquire the mark, then
 *     load the value: it is at least as new, and of that key. User space takes a value by cmpxchg to the negative mark, and then
 *     loads it. A deletion stores the negative mark, after all loads before it: a
 *     value that was read is not that of a later assignment. If the script uses the result of delete(), it is a cmpxchg, so
 *     that one CPU gets true. Assignments to one key on two CPUs have no order; one of the values stays.
 *
 *   stack ids (store/stackids.c)
 *     The refusal word: user space sets it, then waits for the end of all running programs (object_ops.quiesce, an RCU grace
 *     period), which orders everything. A state byte for each id: programs store STACK_ID_SEEN; user space stores the frames,
 *     then STACK_ID_KNOWN (release). A program that sees KNOWN uses the id in a key, and publishes that key by a fully ordered
 *     instruction. So whoever acquires the mark of the cell finds the frames. On a weakly ordered machine, a program that loads
 *     an old state after user space has allowed ids again may store SEEN over KNOWN. User space then stores KNOWN again.
 *
 *   turns (store_turn() of image/store.h)
 *     A word that user space changes between 0 and 1. A program loads it once for each use of the map, and works on that place.
 *     User space then waits for the end of all running programs (object_ops.quiesce), which orders everything: it reads and
 *     empties a place that no program uses.
 *
 *   losses (store/hash.c), and the counters of struct data_head
 *     Atomic additions; user space reads each number whole. A spill value is a share that all CPUs have in common.
 *
 *   counters of faults (struct fault_count)
 *     A program stores the error, then adds to the count, which publishes it. User space acquires the count. After two faults
 *     at once, the error is that of either.
 *
 *   known addresses of watchpoints (struct watch_known)
 *     User space stores single words, and programs compare them. An old one costs a record that was not needed. A program adds
 *     to `waiting` before it sends the record, and the ring orders both.
 *
 *   the guard (data_layout.guard_off) and the levels of the scratch area (bpf/frame.c)
 *     Only programs of one CPU share them: cmpxchg takes them, a plain store gives them back.
 *
 * Values that exist before programs run (data_head.start_ns, constants) need no order: loading and attaching have it. Rings and
 * hash maps are the kernel's. It publishes a record by its header, which kern/ring.c acquires, and an element by RCU.
 */
#pragma once

#include "base/base.h"

/* A number that programs may be changing: whole, if it is aligned. */
static inline u64 shared_word(const u8 *p)
{
	u64 v;

	if (((uintptr_t)p & 7) == 0)
		return __atomic_load_n((const u64 *)p, __ATOMIC_RELAXED);
	memcpy(&v, p, 8);
	return v;
}

/* Copies memory that programs may be changing: each part of it whole that fits one access. */
void shared_copy(u8 *to, const u8 *from, u32 size);
/* Moves it to `to`, and leaves zeroes: what fits one access is exchanged by one. So each number that programs add to is moved as
 * it was, and what they add later stays. */
void shared_take(u8 *to, u8 *from, u32 size);
