#include "kern/rcu.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "kern/sys.h"

struct rcu_haste rcu_hasten(void)
{
	struct rcu_haste h = { open("/sys/kernel/rcu_expedited", O_RDWR | O_CLOEXEC), 0 };

	if (h.fd < 0)
		return h;
	if (!flock(h.fd, LOCK_EX) && pread(h.fd, &h.before, 1, 0) == 1 && pwrite(h.fd, "1", 1, 0) == 1)
		return h;
	close(h.fd);
	h.fd = -1;
	return h;
}

void rcu_calm(struct rcu_haste *h)
{
	if (h->fd < 0)
		return;
	(void)!pwrite(h->fd, &h->before, 1, 0); /* it could be written a moment ago */
	close(h->fd); /* and with it goes the lock */
	h->fd = -1;
}

int rcu_waiter_open(struct rcu_waiter *w)
{
	struct bpf_map_create_attr inner = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 },
				   outer = { .map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS, .key_size = 4, .value_size = 4, .max_entries = 1 };

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
