/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of those who have the switch on:
 *
 *   BOOT-ID 0         when it was written, and what the switch was before
 *   1234 567890       a process, by its ID and its start time
 *
 * An empty file: nobody has. A file of an earlier boot says nothing. Whoever changes it holds a lock for the few microseconds
 * which that takes; only root can open it, so only root could hold it for longer. */
#include "kern/rcu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sbuf.h"
#include "base/vec.h"
#include "kern/sys.h"

enum { LOCK_TRIES = 100, LOCK_NAP_NS = 10000000, TEXT_MAX = 64 << 10 };

static const char *switch_path = "/sys/kernel/rcu_expedited", *state_dir = "/run/sonde";

void rcu_set_paths(const char *path, const char *dir)
{
	switch_path = path;
	state_dir = dir;
}

/* ---- who has it on ---- */

struct holders {
	int fd; /* of the file, locked */
	char before;
	bool is_known; /* before is */
	vec(struct holder {
		int pid;
		u64 start;
	}) list;
};

/* When a process started, in ticks since the boot; 0: there is none. */
static u64 start_of(int pid)
{
	char path[64], *text, *at;
	u64 start = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (io_read_file(path, &text, NULL))
		return 0;
	/* "1234 (name) S …": the name may be anything, the start is the 20th word after it. */
	at = strrchr(text, ')');
	for (u32 i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	free(text);
	return start;
}

static bool read_boot(char boot[40])
{
	char *text;
	bool ok;

	if (io_read_file("/proc/sys/kernel/random/boot_id", &text, NULL))
		return false;
	ok = sscanf(text, "%39s", boot) == 1;
	free(text);
	return ok;
}

/* A directory that only we can change. */
static int open_dir(bool may_make)
{
	struct stat st;
	int fd;

	if (may_make && mkdir(state_dir, 0700) && errno != EEXIST)
		return -errno;
	fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

static bool lock(int fd)
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };

	for (u32 i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		nanosleep(&nap, NULL);
	}
	return false;
}

/* Keeps those who live. */
static void parse(struct holders *h, char *text)
{
	char boot[40], own[40], before, *line, *save;
	unsigned long long start;
	int pid;

	line = strtok_r(text, "\n", &save);
	if (!line || sscanf(line, "%39s %c", boot, &before) != 2 || !read_boot(own) || !str_eq(boot, own))
		return;
	h->before = before;
	h->is_known = true;
	while ((line = strtok_r(NULL, "\n", &save)))
		if (sscanf(line, "%d %llu", &pid, &start) == 2 && start_of(pid) == start)
			vec_push(&h->list, ((struct holder){ pid, start }));
}

static bool holders_open(struct holders *h, bool may_make)
{
	int dir = open_dir(may_make);
	struct stat st;
	char *text;

	*h = (struct holders){ .fd = -1 };
	if (dir < 0)
		return false;
	h->fd = openat(dir, "rcu_expedited", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (may_make ? O_CREAT : 0), 0600);
	close(dir);
	if (h->fd < 0)
		return false;
	if (!fstat(h->fd, &st) && S_ISREG(st.st_mode) && st.st_size < TEXT_MAX && lock(h->fd) &&
	    !io_read_fd(h->fd, &text, NULL)) {
		parse(h, text);
		free(text);
		return true;
	}
	close(h->fd);
	return false;
}

/* Returns whether the file says what h says. */
static bool holders_write(const struct holders *h)
{
	struct sbuf b = {};
	char boot[40];
	bool ok = read_boot(boot);

	/* Written over the old text before that is cut: whenever we are killed, the file has a first line. */
	if (h->list.cnt)
		sbuf_printf(&b, "%s %c\n", boot, h->before);
	vec_for(it, &h->list)
		sbuf_printf(&b, "%d %llu\n", it->pid, (unsigned long long)it->start);
	ok = ok && pwrite(h->fd, sbuf_str(&b), b.len, 0) == (ssize_t)b.len && !ftruncate(h->fd, (off_t)b.len);
	sbuf_release(&b);
	return ok;
}

static void holders_close(struct holders *h)
{
	vec_free(&h->list);
	close(h->fd); /* this also releases the lock */
}

/* ---- the switch ---- */

static bool read_switch(char *v)
{
	int fd = open(switch_path, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && pread(fd, v, 1, 0) == 1;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool write_switch(char v)
{
	int fd = open(switch_path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && pwrite(fd, &v, 1, 0) == 1;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A Sonde with another /run (in a container) uses the same switch: one that has it on holds a shared lock on it. Any user can
 * lock it, too, so nobody waits for that lock, and all that it does is to tell that a 1 may not be what it was before. */
static int use_fd = -1;

/* Returns whether somebody else does. */
static bool begin_use(void)
{
	bool is_used;

	use_fd = open(switch_path, O_RDONLY | O_CLOEXEC);
	if (use_fd < 0)
		return false;
	is_used = flock(use_fd, LOCK_EX | LOCK_NB) != 0;
	return flock(use_fd, LOCK_SH | LOCK_NB) != 0 || is_used;
}

static void end_use(void)
{
	if (use_fd >= 0)
		close(use_fd);
	use_fd = -1;
}

/* Without somebody who wants it on, it is as it was; then nobody needs to know any more. */
static void settle(struct holders *h)
{
	if (h->list.cnt || !h->is_known || write_switch(h->before))
		holders_write(h);
}

bool rcu_hasten(void)
{
	struct holder self = { getpid(), start_of(getpid()) };
	struct holders h;
	bool is_used, ok;

	if (!self.start || !holders_open(&h, true))
		return false;
	is_used = begin_use();
	ok = h.is_known || read_switch(&h.before);
	if (is_used && !h.is_known)
		h.before = '0';
	h.is_known = ok;
	if (ok) {
		vec_push(&h.list, self);
		/* First the file, then the switch: we may be killed in between. */
		ok = holders_write(&h) && write_switch('1');
		if (!ok) {
			h.list.cnt--;
			settle(&h);
		}
	}
	if (!ok)
		end_use();
	holders_close(&h);
	return ok;
}

void rcu_calm(void)
{
	struct holders h;
	u32 kept = 0;

	if (!holders_open(&h, false))
		return; /* the next run finds that we have ended */
	vec_for(it, &h.list)
		if (it->pid != getpid())
			h.list.at[kept++] = *it;
	h.list.cnt = kept;
	settle(&h);
	holders_close(&h);
	end_use();
}

void rcu_recover(void)
{
	struct holders h;
	struct stat st;
	char path[256];

	/* Nearly always there is nothing to do. */
	snprintf(path, sizeof(path), "%s/rcu_expedited", state_dir);
	if (lstat(path, &st) || !st.st_size || !holders_open(&h, false))
		return;
	settle(&h);
	holders_close(&h);
}

int rcu_waiter_open(struct rcu_waiter *w)
{
	struct bpf_map_create_attr inner = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 },
				   outer = { .map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
					     .key_size = 4,
					     .value_size = 4,
					     .max_entries = 1 };

	w->inner = kern_map_create(&inner);
	if (w->inner < 0)
		return w->inner;
	outer.inner_map_fd = (u32)w->inner;
	w->outer = kern_map_create(&outer);
	if (w->outer < 0)
		close(w->inner);
	return MIN(w->outer, 0);
}

int rcu_wait(const struct rcu_waiter *w)
{
	return kern_map_update(w->outer, &(u32){ 0 }, &w->inner, BPF_ANY);
}

void rcu_waiter_close(struct rcu_waiter *w)
{
	close(w->outer);
	close(w->inner);
}
