/* SPDX-License-Identifier: GPL-2.0-only */
/* The inside of run/: signals, draining, the event loop. Only session.c and loop.c use it. */
#pragma once

#include <time.h>

#include "run/session.h"

/* The first SIGINT, SIGTERM or SIGHUP asks for an orderly end. One that comes some time after the end began gives up every wait
 * (for probes to be detached, for commands), but not the results: it may come from somebody who does not know that the end has
 * begun. The next one ends the process at once. Handlers, not a signalfd: commands that are started meanwhile must not inherit
 * blocked signals, and a write that hangs in a full pipe must not make us immune. */
int signals_begin(void);      /* 0 or -errno */
void signals_take_usr1(void); /* from now on SIGUSR1 wakes the loop; otherwise it does what it does to any process */
void signals_end(void);       /* as it was before */
int signals_caught(void);     /* which one, or 0 */
void signals_stopping(void);  /* the end has begun for another reason */
bool signals_insist(void);    /* one came some time after that: nothing is to be waited for any more */
int signals_fd(void);         /* readable after a signal */

/* Handles all records that are ready. Returns how many. */
int session_drain(struct session *s);

/* Tells of faults that were not told yet, and at the end how often they were. */
void faults_tell(struct session *s, bool is_end);
bool faults_possible(const struct session *s); /* there are places that it may tell of */
/* Adds the failed reads of each place to the account. */
void faults_account(struct session *s);
/* Tells of maps that had no room for an update, each once, while it can still be helped. How much was lost is told at the end. */
void full_maps_tell(struct session *s);
/* Of maps that lost updates since the last call: finds out why, as long as their keys are there. */
void full_maps_look(struct session *s);
bool full_maps_possible(const struct session *s);
/* Forgets what was counted so far. */
void faults_reset(struct session *s);

enum { LOOP_TICK_MS = 3000 };

struct loop {
	struct session *s;
	int pid_fd;    /* of the process whose end ends us, or -1 */
	bool is_brief; /* nothing will come but what is there */
	/* Called in the loop for each SIGUSR1; NULL if nobody wants it. False: it is time to end. */
	bool (*on_usr1)(void *arg);
	/* Called every tick_ms (0: LOOP_TICK_MS) or somewhat later; NULL if nobody wants it. */
	void (*on_tick)(void *arg);
	int tick_ms;
	void *arg;
};
/* Handles events until there is a reason to end. */
void loop_run(struct loop *l);

/* All maps in name order, as at the end. */
void session_print_maps(struct session *s);

u64 clock_ns(int clock);
