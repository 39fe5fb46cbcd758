/* SPDX-License-Identifier: GPL-2.0-only */
/* Formats of tracepoints from the kernel's types, for a user who may not read tracefs. */
#pragma once

#include "base/base.h"

/* The text of a format file (types/eventformat.h reads it), malloc'ed, from struct trace_event_raw_EVENT. Tracepoints of a class
 * that has another name, and system calls, have no such struct: NULL. */
char *event_format_of_types(const char *event);
