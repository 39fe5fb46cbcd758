/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of user addresses during a run: keeps what is known of processes up to date, and answers the sinks' questions. */
#pragma once

#include "out/sink.h"

struct config;
struct symbols;

/* Sets what names kernel addresses, users and cgroups. */
void ksyms_naming(struct naming *n);

/* has_kernel false: in the interpreter, nobody is watched. */
struct symbols *symbols_new(bool has_kernel, const struct config *config);
void symbols_free(struct symbols *s); /* NULL is fine */
/* Sets uframe and usym, and what the functions for kernel addresses get as self. */
void symbols_naming(struct symbols *s, struct naming *n);
/* Notes the processes that live now: pid alone, or all (0). The latter is done bit by bit, by symbols_go_on(), which returns
 * false when there is nothing left to do; reading all of /proc at once would leave events waiting. */
void symbols_remember(struct symbols *s, u32 pid);
bool symbols_go_on(struct symbols *s);
/* What to wait for, -1: nothing now; *timeout (milliseconds, -1: none) becomes shorter if it is to be asked again before.
 * symbols_update() is to be called when the descriptor is readable, and now and then. */
int symbols_fd(const struct symbols *s, int *timeout);
void symbols_update(struct symbols *s);
/* From now on, u is told what processes map. False: the kernel does not tell us either. */
struct unwind;
bool symbols_tell(struct symbols *s, struct unwind *u);
/* So many processes are known that those which have ended should be forgotten. */
bool symbols_are_crowded(const struct symbols *s);
/* Forgets them, but for these IDs, which are sorted here; not is_known: there may be more than these, and nothing is forgotten
 * now. */
void symbols_forget(struct symbols *s, u32 *pids, u32 cnt, bool is_known);
/* Notices of the kernel that got lost: names of some processes may be missing. */
u64 symbols_lost(const struct symbols *s);
