/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared code of the user-space probe types (uprobe, uretprobe, usdt): finding the files of a target, and attaching to offsets in
 * them.
 *
 * For the kernel such a probe is a file (its inode) and an offset in it; it is hit in every process that maps the file, at any
 * address. A site has the file to open in site.target, the offset in site.addr, the offset of a USDT semaphore in site.num. */
#pragma once

#include "probe/probe.h"
#include "sym/objfile.h"

/* unit.variant */
enum {
	UP_PERF,    /* a perf event for each site */
	UP_MULTI,   /* a link for all */
	UP_SESSION, /* UP_MULTI of two units */
	UP_EVENTS,  /* an event of tracefs for many: probe/user_events.c */
};

/* site.variant: bits. Sites that differ in them do not share a program (user_share_key()). */
enum {
	UP_RETURN = 1 << 0,   /* the kernel probes the return of the function that starts there */
	UP_GO = 1 << 1,       /* a function of Go: arguments are in its registers … (site.data: a u64, the offset of its first
				 instruction) */
	UP_GO_STACK = 1 << 2, /* … or on the stack … */
	UP_GO_ASM = 1 << 3,   /* … or at an unknown location: added to UP_GO */
			      /* UP_EVENTS: from EVENT_GROUP_SHIFT on, the number of the event */
};

struct user_file {
	const char *shown; /* as `probe` shows it */
	const char *path;  /* to open: the same, or through /proc/PID/… */
	const char *whole; /* for the kernel: the same, or the archive that it is in */
};

typedef vec(struct user_file) user_files;

/* Adds the files that a target stands for:
 *   libc, libssl.so.3      a library, as the dynamic linker would find it
 *   a/path                 itself, in the mount namespace of the -p process
 *   /usr/lib/ * /libx*.so  what the pattern matches (without the blanks)
 *   app.zip!/lib/libx.so   a file in an archive
 *   name                   a program in PATH
 *   *                      everything that the -p process, or all processes, have mapped to execute
 * If there is none, sets sink->why. */
void user_files_find(struct site_sink *sink, user_files *out, const char *text, struct diag *d);
/* Everything that the -p process, or all processes, have mapped to execute. */
void user_files_mapped(struct site_sink *sink, user_files *out);
/* The program that the -p process runs. */
void user_files_exe(struct site_sink *sink, user_files *out);
/* Sets sink->why to the reason why the only file of an attach point could not be opened. */
void user_files_failed(struct site_sink *sink, const user_files *files, const struct user_file *f, int err);

/* Whether the kernel can put a probe on an instruction. USER_INSN_HARM: it decodes the instruction wrongly, and the program would
 * misbehave. */
enum user_insn { USER_INSN_FINE, USER_INSN_REFUSED, USER_INSN_HARM };
enum user_insn user_insn_look(struct bytes code);

/* Hooks of struct provider. */
u64 user_share_key(struct compile *c, const struct site *s, const struct body_uses *uses);
void user_plan(struct compile *c, struct unit *u, const struct body_uses *uses);
void user_attr(struct compile *c, const struct unit *u, struct prog_attr *attr);
int user_attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd);
struct opnd user_lower_site(struct lower *l);

/* Many sites on kernels without uprobe_multi. */
bool user_events_can(const struct compile *c, const struct unit *u);
int user_events_attach(struct attach_ctx *ctx, const struct image_prog *u, int prog_fd, const char *(*hint)(int err));
