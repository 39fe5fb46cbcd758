/* tracefs: which tracepoints there are, what their records look like, which functions can be traced.
 *
 * Works also where tracefs is not mounted: then it is mounted for this process only, at no place in the file tree, and is gone
 * when the process ends.
 */
#pragma once

#include "lang/type.h"

/* A directory descriptor of tracefs, the same at each call, or -errno. */
int tracefs_dir(void);
/* Reads a whole file of tracefs. As io_read_file(). */
int tracefs_read(const char *path, char **text, size_t *len);

/* Calls fn for each tracepoint whose category and name match (globs), in no order. Returns how many, or -errno. */
typedef void (*tracefs_event_fn)(void *arg, const char *category, const char *event);
int tracefs_each_event(const char *category, const char *event, tracefs_event_fn fn, void *arg);

/* The number that perf_event_open(2) wants, or -errno (-ENOENT: no such event). */
int tracefs_event_id(const char *category, const char *event);

/* The record of a tracepoint as a struct; the common fields at its start are left out. Types that the format only names are
 * looked up in `types` (may be NULL). Pointers of system call events lead to user memory. Returns 0 or -errno. */
int tracefs_event_format(const char *category, const char *event, struct arena *a, struct type_source *types,
                         const struct type **out);
/* The same from the text of a format file. NULL: it has no field. */
const struct type *tracefs_parse_format(const char *text, size_t len, const char *category, const char *event, struct arena *a,
					struct type_source *types);

/* Calls fn for each kernel function that can be traced (available_filter_functions, or all functions of kallsyms where that
 * cannot be read), until it returns false. module: NULL for the kernel itself. Returns 0 or -errno. */
typedef bool (*tracefs_function_fn)(void *arg, const char *name, const char *module);
int tracefs_each_function(tracefs_function_fn fn, void *arg);
/* Takes them from a file in that format instead. */
void tracefs_set_functions(const char *path);
bool tracefs_functions_are_set(void);
/* The same over a text in the format of available_filter_functions. */
void tracefs_parse_functions(const char *text, size_t len, tracefs_function_fn fn, void *arg);
