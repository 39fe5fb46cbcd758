/* SPDX-License-Identifier: GPL-2.0-only */
#include "probe/watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/glob.h"
#include "base/io.h"
#include "lang/fn.h"
#include "probe/user.h"
#include "sym/elf.h"

#define STILL_TRIES 1000 /* of 100 µs: how long to wait for a process to stop */

extern const struct provider provider_watchpoint;

/* The data for the probe at the function's entry: site.data. */
struct entry {
	const char *exe; /* NULL: the -p process's program */
	const char *func;
	u32 arg;
};

/* ---- attach points ---- */

bool watch_read_arg(struct arena *a, const char *text, const char **func, u32 *n)
{
	const char *plus = strrchr(text, '+');
	char *end;
	u64 v;

	if (!plus || plus == text || !str_starts(plus, "+arg") || !isdigit((u8)plus[4]))
		return false;
	v = strtoull(plus + 4, &end, 10);
	if (*end || v > UINT16_MAX)
		return false;
	if (func)
		*func = arena_strndup(a, text, plus - text);
	if (n)
		*n = (u32)v;
	return true;
}

bool watch_parse_arg(struct diag *d, const struct attach_point *ap)
{
	if (!watch_read_arg(d->arena, ap->parts[1], NULL, NULL)) {
		diag_error(d, ap->span, E_ATTACH_POINT, "%s is not an argument of a function", ap->parts[1]);
		diag_hint(d, "write it as FUNCTION+argN, with N counted from 0: %s:main+arg1:8:rw",
			  provider_find(ap->parts[0])->name);
		return false;
	}
	if (has_wildcard(ap->parts[1])) {
		diag_error(d, ap->span, E_ATTACH_POINT, "Wildcards are not allowed for watchpoints");
		diag_hint(d, "there are %u debug registers: name the function", WATCH_MAX);
		return false;
	}
	return true;
}

/* The file has that function, or sink says why not. */
static bool has_func(struct site_sink *sink, const user_files *files, const struct user_file *file, const struct attach_point *ap,
		     const struct entry *e)
{
	struct sym_elf *elf;
	const char *near;
	int err = sym_elf_open(file->path, &elf);
	bool ok;

	if (err) {
		user_files_failed(sink, files, file, err);
		return false;
	}
	ok = sym_elf_find(elf, e->func);
	if (!ok) {
		sink->why = arena_printf(sink->arena, "%s has no function %s", file->shown, e->func);
		near = sym_elf_nearest(elf, e->func);
		if (near)
			sink->hint = arena_printf(sink->arena, "did you mean %s:%s+arg%u:%s:%s?", ap->parts[0], near, e->arg,
						  ap->parts[2], ap->parts[3]);
	}
	sym_elf_free(elf);
	return ok;
}

void watch_expand_arg(struct site_sink *sink, const struct attach_point *ap, struct diag *d, u64 len, const char *mode, u32 bits)
{
	const struct target *t = sink->target;
	struct entry *e = arena_new(sink->arena, struct entry);
	user_files files = {};
	struct site *s;

	if (!watch_read_arg(sink->arena, ap->parts[1], &e->func, &e->arg))
		return;
	if (t->is_check && !t->filter_pid) {
		sink->cannot_tell = true; /* the command of -c is not started then */
		return;
	}
	if (!t->filter_pid && !t->child_exe) {
		diag_error(d, ap->span, E_ATTACH_POINT, "a watchpoint on an argument needs a process");
		diag_hint(d, "start with -p PID, or with -c COMMAND");
		return;
	}
	e->exe = t->filter_pid ? NULL : arena_printf(sink->arena, strchr(t->child_exe, '/') ? "%s" : "./%s", t->child_exe);
	if (e->exe)
		user_files_find(sink, &files, e->exe, d);
	else
		user_files_exe(sink, &files);
	if (files.cnt && has_func(sink, &files, &files.at[0], ap, e)) {
		s = sink->add(sink,
			      arena_printf(sink->arena, "%s:%s+arg%u:%llu:%s", provider_find(ap->parts[0])->name, e->func, e->arg,
					   (unsigned long long)len, mode));
		s->num = len;
		s->variant = bits | WATCH_ARG | (s->provider == &provider_watchpoint ? WATCH_STOPS : 0);
		s->data = e;
	}
	vec_free(&files);
}

/* ---- the probe at the function's entry ---- */

static struct expr *new_expr(struct compile *c, enum expr_kind kind, struct span span)
{
	struct expr *e = arena_new(c->arena, struct expr);

	e->kind = kind;
	e->span = span;
	return e;
}

/* uprobe:EXE:FUNC { watch(SITE, argN); } */
static struct probe *new_entry_probe(struct compile *c, const struct site *s, u32 index)
{
	const struct entry *e = s->data;
	struct expr *call = new_expr(c, E_CALL, s->span), *site = new_expr(c, E_INT, s->span),
		    *arg = new_expr(c, E_CALL, s->span);
	struct probe *p = arena_new(c->arena, struct probe);
	struct stmt *stmt = arena_new(c->arena, struct stmt);
	struct attach_point *ap = arena_new(c->arena, struct attach_point);

	site->num.value = index;
	arg->call.name = arena_printf(c->arena, "arg%u", e->arg);
	call->call.name = fn_watch_arg.name;
	call->call.fn = &fn_watch_arg;
	call->call.args = arena_alloc(c->arena, 2 * sizeof(*call->call.args));
	call->call.args[0] = site;
	call->call.args[1] = arg;
	call->call.arg_cnt = 2;
	call->call.has_parens = call->call.is_statement = true;
	stmt->kind = S_EXPR;
	stmt->span = s->span;
	stmt->expr = call;
	ap->span = s->span;
	ap->text = s->name;
	ap->parts = arena_alloc(c->arena, 3 * sizeof(*ap->parts));
	ap->parts[ap->part_cnt++] = "uprobe";
	if (e->exe)
		ap->parts[ap->part_cnt++] = e->exe;
	ap->parts[ap->part_cnt++] = e->func;
	p->span = s->span;
	p->aps = ap;
	p->ap_cnt = 1;
	p->body = arena_new(c->arena, struct block);
	p->body->span = s->span;
	p->body->stmts = arena_alloc(c->arena, sizeof(stmt));
	p->body->stmts[0] = stmt;
	p->body->cnt = 1;
	p->is_made = true;
	return p;
}

void watch_plan(struct compile *c, struct unit *u, const struct body_uses *uses)
{
	(void)uses;
	for (u32 i = 0; i < u->site_cnt; i++) {
		const struct site *s = &c->sites.at[u->site_first + i];

		if (s->data)
			avec_push(c->arena, &c->script->probes, new_entry_probe(c, s, u->site_first + i));
	}
}

/* ---- while tracing ---- */

bool watch_stops(const struct site *s)
{
	return s->variant & WATCH_STOPS;
}

void watch_attach_later(struct attach_ctx *ctx, u32 site, int prog_fd)
{
	struct watch *w = xzalloc(sizeof(*w));

	w->site = site;
	w->prog_fd = prog_fd;
	vec_push(&ctx->watches, w);
}

struct watch *watch_find(struct attach_ctx *ctx, u32 site)
{
	vec_for(w, &ctx->watches)
		if ((*w)->site == site)
			return *w;
	return NULL;
}

/* The thread has stopped, or has ended. */
static bool is_still(u32 pid, const char *tid)
{
	char *path = xasprintf("/proc/%u/task/%s/stat", pid, tid), *text = NULL, *end;
	bool is_still = true;

	/* "1234 (name) S …", and the name may be anything */
	if (!io_read_file(path, &text, NULL) && (end = strrchr(text, ')')) && end[1])
		is_still = strchr("TtZX", end[2]);
	free(text);
	free(path);
	return is_still;
}

void watch_wait(struct attach_ctx *ctx)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	u32 pid = ctx->filter_pid;
	char path[64];
	bool all = false;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	for (u32 tries = 0; tries < STILL_TRIES && !all; tries++) {
		struct dirent *ent;
		DIR *dir;

		if (tries)
			nanosleep(&nap, NULL);
		dir = opendir(path);
		if (!dir)
			return;
		for (all = true; all && (ent = readdir(dir));)
			all = ent->d_name[0] == '.' || is_still(pid, ent->d_name);
		closedir(dir);
	}
}

int watch_set(struct attach_ctx *ctx, struct watch *w, u64 addr)
{
	u32 before = ctx->fds.cnt, slot = WATCH_MAX;
	int err;

	for (u32 i = WATCH_MAX; i-- > 0;) {
		if (w->known->addrs[i] == addr)
			return 0; /* several threads sent it at the same time */
		if (!w->known->addrs[i])
			slot = i;
	}
	err = slot == WATCH_MAX ? -ENOSPC : watch_open(ctx, w->site, addr, w->prog_fd, false);
	__atomic_store_n(&w->known->is_full, err == -ENOSPC, __ATOMIC_RELAXED);
	if (err)
		return err;
	/* They are not in ctx->fds, so that they can be closed before the others. */
	for (u32 i = before; i < ctx->fds.cnt; i++)
		vec_push(&w->fds[slot], ctx->fds.at[i]);
	ctx->fds.cnt = before;
	__atomic_store_n(&w->known->addrs[slot], addr, __ATOMIC_RELAXED);
	return 0;
}

void watch_go_on(struct attach_ctx *ctx, struct watch_known *known)
{
	u64 waiting = __atomic_sub_fetch(&known->waiting, 1, __ATOMIC_RELAXED);

	vec_for(w, &ctx->watches)
		if ((*w)->known && (*w)->known != known)
			waiting += __atomic_load_n(&(*w)->known->waiting, __ATOMIC_RELAXED);
	if (!waiting)
		kill((pid_t)ctx->filter_pid, SIGCONT);
}

/* They are closed together there: each one takes long to close. */
static void give_back(struct attach_ctx *ctx, struct watch *w, u32 slot)
{
	vec_for(fd, &w->fds[slot])
		vec_push(&ctx->fds, *fd);
	vec_free(&w->fds[slot]);
}

void watch_unset(struct attach_ctx *ctx, u64 addr)
{
	u32 before = ctx->fds.cnt;

	vec_for(it, &ctx->watches) {
		struct watch *w = *it;

		for (u32 i = 0; i < WATCH_MAX && w->known && addr; i++) {
			if (w->known->addrs[i] != addr)
				continue;
			give_back(ctx, w, i);
			__atomic_store_n(&w->known->addrs[i], 0, __ATOMIC_RELAXED);
		}
	}
	if (ctx->fds.cnt == before)
		return;
	probe_undo(ctx, before);
	/* A debug register is free again. */
	vec_for(it, &ctx->watches)
		if ((*it)->known)
			__atomic_store_n(&(*it)->known->is_full, 0, __ATOMIC_RELAXED);
}

void watch_release(struct attach_ctx *ctx)
{
	vec_for(w, &ctx->watches) {
		for (u32 i = 0; i < WATCH_MAX; i++)
			give_back(ctx, *w, i);
		free(*w);
	}
	vec_free(&ctx->watches);
}
