/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables by which programs unwind user stacks (image/unwind.h): fills them for some processes, and keeps them up to date.
 *
 * A table is made once for each file, from its .eh_frame, and shared by all processes that map it. What a process has mapped is
 * read from /proc/PID/maps when it is added, and again whenever the kernel tells that it mapped something. What it starts is
 * added by itself.
 */
#pragma once

#include "run/session.h"

struct unwind;

/* Returns NULL if the script has no dw_ustack. */
struct unwind *unwind_new(struct session *s);
void unwind_free(struct unwind *u); /* NULL is fine */
/* A process whose stacks are to be unwound. Returns 0 or -errno. */
int unwind_add(struct unwind *u, u32 pid);
/* The same of one that is yet to become the program that is meant: it is looked at when it maps something. */
void unwind_expect(struct unwind *u, u32 pid);
/* A file that processes are going to map: its tables are made now, and those of the libraries that it is linked with. */
void unwind_prepare(struct unwind *u, const char *path);
/* Notices: pid has mapped something; pid was born of parent. They take effect by unwind_refresh(). */
void unwind_mapped(struct unwind *u, u32 pid);
void unwind_forked(struct unwind *u, u32 pid, u32 parent);
void unwind_refresh(struct unwind *u);
