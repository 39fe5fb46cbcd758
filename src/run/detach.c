/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that ends while probes are attached stays until the kernel has detached them, whatever signal it gets. So does a
 * thread that is closing one. To be able to leave at any moment, another process detaches: it gets all descriptors by fork(), we
 * close ours, which takes no time as long as it has them, and it closes them for good. */
#include "run/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/progress.h"
#include "run/attach.h"
#include "run/loop.h"

enum {
	MANY_WAITS = 8,    /* from so many waits of the kernel on … */
	MANY_PROBES = 256, /* … or so many probes, however they are attached, a process of its own is worth it */
	LOOK_MS = 200,
};

struct detaching {
	int pid;
	int done_fd; /* ends with that process */
	u32 *done;   /* shared with it: how far it is */
	u32 total;
};

static NORETURN void child_main(struct attach_ctx *ctx, int go_fd, u32 *done)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	char byte;

	for (u32 i = 0; i < ARRAY_CNT(ignored); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "sonde-detach");
	/* Whoever reads our output must not wait for this process. */
	close(STDIN_FILENO), close(STDOUT_FILENO), close(STDERR_FILENO);
	/* Until our parent has closed its descriptors: whoever closes the last one has to wait. */
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	ctx->done = done;
	probe_detach(ctx);
	_exit(0);
}

/* False: it has to be done here. */
static bool start(struct attach_ctx *ctx, struct detaching *d)
{
	int go[2], done[2];

	d->total = probe_waits(ctx);
	d->done = mmap(NULL, sizeof(*d->done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (d->done == MAP_FAILED)
		return false;
	if (pipe2(go, O_CLOEXEC))
		goto no_go;
	if (pipe2(done, O_CLOEXEC))
		goto no_done;
	d->pid = fork();
	if (!d->pid) {
		close(go[1]), close(done[0]);
		child_main(ctx, go[0], d->done);
	}
	close(go[0]), close(done[1]);
	if (d->pid > 0)
		probe_leave(ctx);
	else
		close(done[0]);
	d->done_fd = done[0];
	close(go[1]);
	if (d->pid > 0)
		return true;
	goto unmap;
no_done:
	close(go[0]), close(go[1]);
no_go:
unmap:
	munmap(d->done, sizeof(*d->done));
	return false;
}

/* False: a signal came first. */
static bool wait_for(struct detaching *d)
{
	struct pollfd p = { .fd = d->done_fd, .events = POLLIN };
	bool is_done = false;
	int r;

	while (!is_done && !signals_insist()) {
		progress_set(__atomic_load_n(d->done, __ATOMIC_RELAXED));
		r = poll(&p, 1, LOOK_MS);
		is_done = r > 0;
	}
	if (is_done)
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
	close(d->done_fd);
	munmap(d->done, sizeof(*d->done));
	return is_done;
}

bool detach_all(struct attach_ctx *ctx, u32 probes)
{
	struct detaching d = {};
	struct sbuf what = {};
	bool ok;

	if ((probe_waits(ctx) < MANY_WAITS && probes < MANY_PROBES) || !start(ctx, &d)) {
		progress_begin("Detaching", 0);
		probe_detach(ctx);
		progress_end();
		return true;
	}
	sbuf_puts(&what, "Detaching ");
	num_put_grouped(&what, probes);
	sbuf_puts(&what, " probes, Ctrl-C again to leave now");
	progress_begin(sbuf_str(&what), d.total > 1 ? d.total : 0);
	ok = wait_for(&d);
	progress_end();
	sbuf_release(&what);
	return ok;
}
