/* SPDX-License-Identifier: GPL-2.0-only */
/* tracefs: the tracepoints, the formats of their records, and the functions that can be traced.
 *
 * Works also where tracefs is not mounted: it is then mounted for this process only, detached from the file tree, until the
 * process ends.
 */
#pragma once

#include "base/base.h"

/* A directory descriptor of tracefs, the same at each call, or -errno. */
int tracefs_dir(void);
/* Reads a whole file of tracefs. As io_read_file(). */
int tracefs_read(const char *path, char **text, size_t *len);

/* The file of tracefs to which new events (kprobes, uprobes) are written, and whether we may do that. */
#define TRACEFS_EVENTS_FILE "dynamic_events"
bool tracefs_can_make_events(void);

/* Calls fn for each tracepoint whose category and name match (globs), in no order. Returns how many, or -errno. */
typedef void (*tracefs_event_fn)(void *arg, const char *category, const char *event);
int tracefs_each_event(const char *category, const char *event, tracefs_event_fn fn, void *arg);

/* Where tracefs cannot be read, formats come from the kernel's types: for programs that are not attached. */
void tracefs_use_types(void);

/* The number that perf_event_open(2) wants, or -errno (-ENOENT: no such event). */
int tracefs_event_id(const char *category, const char *event);

/* The text of a tracepoint's format file (types/eventformat.h reads it), malloc'ed. Returns 0 or -errno. */
int tracefs_event_format(const char *category, const char *event, char **text);

/* Calls fn for each kernel function that can be traced (available_filter_functions, or all functions of kallsyms where that
 * cannot be read), until it returns false. module: NULL for the kernel itself. Returns 0 or -errno. */
typedef bool (*tracefs_function_fn)(void *arg, const char *name, const char *module);
int tracefs_each_function(tracefs_function_fn fn, void *arg);
/* The same with the places where they are patched (available_filter_functions_addrs, Linux 6.5). Returns 0 or -errno. */
int tracefs_each_function_at(bool (*fn)(void *arg, const char *name, u64 at), void *arg);
/* Takes them from a file in that format instead. */
void tracefs_set_functions(const char *path);
bool tracefs_functions_are_set(void);
/* The same over a text in the format of available_filter_functions. */
void tracefs_parse_functions(const char *text, size_t len, tracefs_function_fn fn, void *arg);
