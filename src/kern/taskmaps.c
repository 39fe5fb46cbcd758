/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/taskmaps.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "kern/machine.h"
#include "kern/sys.h"

#define DATA_SZ (256u << 10) /* for each CPU; a started program takes about a kilobyte */

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *head;
	const u8 *data;
};

struct taskmaps {
	vec(struct cpu_ring) rings;
	int epoll_fd;
	u64 lost;
	vec(u8) bytes; /* records of one round */
};

/* Records as PERF_SAMPLE_TIME and sample_id_all make them. */
struct rec_mmap2 {
	struct perf_event_header h;
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char filename[];
};

struct rec_fork {
	struct perf_event_header h;
	u32 pid, ppid, tid, ptid;
	u64 fork_time;
};

struct rec_lost {
	struct perf_event_header h;
	u64 id, lost;
};

static bool ring_open(struct taskmaps *t, u32 cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.wakeup_watermark = 1, /* early: mapped files must be opened while the process is alive */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	size_t page = sysconf(_SC_PAGESIZE);
	struct cpu_ring r = { .fd = kern_perf_open(&attr, -1, (s32)cpu, -1, PERF_FLAG_FD_CLOEXEC) };
	struct epoll_event ev = { .events = EPOLLIN };

	if (r.fd < 0)
		return r.fd == -ENODEV || r.fd == -ENXIO; /* the CPU went offline meanwhile */
	r.head = mmap(NULL, page + DATA_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
	if (r.head == MAP_FAILED) {
		close(r.fd);
		return false;
	}
	r.data = (const u8 *)r.head + page;
	vec_push(&t->rings, r);
	return !epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, r.fd, &ev);
}

struct taskmaps *taskmaps_open(void)
{
	struct taskmaps *t = xzalloc(sizeof(*t));
	u32 cnt, *cpus = machine_online(&cnt);
	bool ok = true;

	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (u32 i = 0; ok && i < cnt; i++)
		ok = ring_open(t, cpus[i]);
	free(cpus);
	if (t->epoll_fd >= 0 && ok && t->rings.cnt)
		return t;
	taskmaps_close(t);
	return NULL;
}

void taskmaps_close(struct taskmaps *t)
{
	if (!t)
		return;
	vec_for(r, &t->rings) {
		munmap(r->head, sysconf(_SC_PAGESIZE) + DATA_SZ);
		close(r->fd);
	}
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	vec_free(&t->rings);
	vec_free(&t->bytes);
	free(t);
}

int taskmaps_fd(const struct taskmaps *t)
{
	return t->epoll_fd;
}

u64 taskmaps_lost(const struct taskmaps *t)
{
	return t->lost;
}

/* The last eight bytes of a record are its time. */
static u64 time_of(const struct perf_event_header *h)
{
	u64 ns;

	memcpy(&ns, (const u8 *)h + h->size - 8, 8);
	return ns;
}

bool taskmaps_parse(const void *rec, u32 len, const struct taskmaps_ops *ops, void *arg)
{
	const struct perf_event_header *h = rec;

	if (len < sizeof(*h) || h->size > len || h->size < sizeof(*h) + 8)
		return false;
	if (h->type == PERF_RECORD_FORK && h->size >= sizeof(struct rec_fork) + 8) {
		const struct rec_fork *f = rec;

		if (f->pid == f->ppid)
			return false; /* a thread */
		ops->fork(arg, f->pid, f->ppid, time_of(h));
		return true;
	}
	if (h->type == PERF_RECORD_MMAP2 && h->size > sizeof(struct rec_mmap2) + 8 &&
	    !(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		const struct rec_mmap2 *m = rec;

		if (!memchr(m->filename, 0, h->size - 8 - sizeof(*m)) || (s32)m->pid < 0 || m->addr + m->len < m->addr)
			return false; /* (s32)pid -1: the kernel's own, such as modules */
		ops->mmap(
			arg,
			&(struct task_mmap){ m->pid, m->addr, m->len, m->pgoff, m->ino, (u64)m->maj << 32 | m->min, m->filename },
			time_of(h));
		return true;
	}
	return false;
}

/* Copies what is in a ring to t->bytes. */
static void ring_take(struct taskmaps *t, struct cpu_ring *r)
{
	u64 end = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE), at = r->head->data_tail;

	for (; at < end; at++) {
		u32 chunk = MIN(end - at, DATA_SZ - at % DATA_SZ);

		while (t->bytes.cnt + chunk > t->bytes.cap) {
			t->bytes.cap = t->bytes.cap ? 2 * t->bytes.cap : 64 << 10;
			t->bytes.at = xrealloc(t->bytes.at, t->bytes.cap);
		}
		memcpy(t->bytes.at + t->bytes.cnt, r->data + at % DATA_SZ, chunk);
		t->bytes.cnt += chunk;
		at += chunk - 1;
	}
	__atomic_store_n(&r->head->data_tail, end, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
	u64 x = time_of(*(struct perf_event_header *const *)a), y = time_of(*(struct perf_event_header *const *)b);

	return x < y ? -1 : x > y;
}

void taskmaps_drain(struct taskmaps *t, const struct taskmaps_ops *ops, void *arg)
{
	vec(struct perf_event_header *) recs = {};

	t->bytes.cnt = 0;
	vec_for(r, &t->rings)
		if (__atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE) != r->head->data_tail)
			ring_take(t, r);
	for (u32 at = 0; at + sizeof(struct perf_event_header) <= t->bytes.cnt;) {
		struct perf_event_header *h = (struct perf_event_header *)(t->bytes.at + at);

		if (h->size < sizeof(*h) + 8 || h->size > t->bytes.cnt - at)
			break;
		if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct rec_lost))
			t->lost += ((struct rec_lost *)h)->lost;
		else
			vec_push(&recs, h);
		at += h->size;
	}
	if (recs.cnt)
		qsort(recs.at, recs.cnt, sizeof(*recs.at), by_time);
	vec_for(h, &recs)
		taskmaps_parse(*h, (*h)->size, ops, arg);
	vec_free(&recs);
}
