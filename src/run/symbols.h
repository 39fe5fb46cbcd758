/* Names of user addresses during a run: keeps what is known of processes up to date, and answers the sinks' questions. */
#pragma once

#include "out/sink.h"

struct symbols;

/* has_kernel false: in the interpreter, nobody is watched. */
struct symbols *symbols_new(bool has_kernel, bool demangle);
void symbols_free(struct symbols *s); /* NULL is fine */
/* Sets uframe and usym, and what the functions for kernel addresses get as self. */
void symbols_naming(struct symbols *s, struct naming *n);
/* Processes that live now: pid alone, or all (0), as far as that does not take long. */
void symbols_remember(struct symbols *s, u32 pid);
/* To be called when the descriptor (-1: none) is readable, and now and then. */
int symbols_fd(const struct symbols *s);
void symbols_update(struct symbols *s);
