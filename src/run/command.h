/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands of system() and exec(). They run in the background, one at a time, in the order of the calls, so that events are
 * handled meanwhile. Output stays in order: what is printed after a call is held back until its command has ended. At most
 * COMMANDS_MAX commands wait; further ones are not run, and counted. */
#pragma once

#include "run/session.h"

enum { COMMANDS_MAX = 1024 };

struct rec;

/* The words of a command: a NULL-terminated array that one free() releases. */
char **command_words(const char *const *words, u32 cnt);
/* Queues a command. The words become the queue's. name: of the function that was called, for messages. */
void command_add(struct session *s, const struct rec *rec, const char *name, char **words);
/* Calls fn(s, rec, text) when all commands before have ended, which may be now: their effects are then to be seen. */
typedef void (*command_fn)(struct session *s, const struct rec *rec, const char *text);
void command_after(struct session *s, const struct rec *rec, const char *text, command_fn fn);

/* Readable when the command at hand has something to say; -1: there is none. c may be NULL. */
int commands_fd(const struct commands *c);
/* To be called then. */
void commands_go_on(struct session *s);
/* Waits until so much of the output that is held back was shown that more can be kept. */
void commands_make_room(struct session *s);
/* Waits until all commands have ended, or a signal asks to leave: the others are then given up. */
void commands_finish(struct session *s);
/* Ends the command at hand and forgets those that wait, which are counted. What was printed after them is shown. */
void commands_give_up(struct session *s);
/* From now on (or not any more) commands are not run but counted: a signal wants the end, and events from before it are left. */
void commands_refuse(struct session *s, bool refuse);
/* How many were not run: because too many waited; because tracing was interrupted. */
u64 commands_dropped(const struct commands *c);
u64 commands_given_up(const struct commands *c);
void commands_free(struct session *s);
