#include "kern/rcu.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

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
