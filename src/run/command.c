/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "image/image.h"
#include "run/loop.h"

#define HELD_MAX (16 << 20)  /* bytes of output that are held back */
#define OUTPUT_MAX (1 << 20) /* of a command, before it is passed on in parts */
#define RECHECK_MS 100
#define TREE_MAX 32

extern char **environ;

struct command {
	struct command *next;
	const struct rec *rec;
	const char *name;
	char **words;  /* of a command */
	command_fn fn; /* not NULL: is called with text instead */
	char *text;
	struct sbuf after; /* what was printed after the call */
};

struct commands {
	struct command *first, *last; /* first: the one at hand */
	u32 cnt;
	bool refuses;
	int pid;            /* of the one at hand; 0: it is not started */
	int out_fd, pid_fd; /* out_fd -1: its output has ended; pid_fd -1: cannot be waited for by poll() */
	struct sbuf output;
	u64 dropped, given_up;
};

char **command_words(const char *const *words, u32 cnt)
{
	size_t sz = (cnt + 1) * sizeof(char *);
	char **own, *at;

	for (u32 i = 0; i < cnt; i++)
		sz += strlen(words[i]) + 1;
	own = xzalloc(sz);
	at = (char *)(own + cnt + 1);
	for (u32 i = 0; i < cnt; i++) {
		own[i] = at;
		at = stpcpy(at, words[i]) + 1;
	}
	return own;
}

static struct commands *get(struct session *s)
{
	if (!s->commands) {
		s->commands = xzalloc(sizeof(*s->commands));
		s->commands->out_fd = s->commands->pid_fd = -1;
	}
	return s->commands;
}

/* Returns 0 or -errno. */
static int spawn(struct commands *c, char **words)
{
	posix_spawn_file_actions_t actions;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	err = posix_spawnp(&c->pid, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		c->pid = 0;
		return -err;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	c->out_fd = fds[0];
	c->pid_fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return 0;
}

/* Output goes to the terminal or file while the command at hand is shown. */
static void show(struct session *s, const char *text, size_t len)
{
	struct sbuf *held = s->out.held;

	s->out.held = NULL;
	s->out.sink->text(&s->out, "syscall", text, len);
	s->out.held = held;
}

static void report(struct session *s, const struct command *cmd, int err)
{
	struct sbuf *held = s->out.held, why = {};

	sbuf_printf(&why, "%s(): cannot start %s: %s", cmd->name, cmd->words[0], strerror(-err));
	s->out.held = NULL;
	s->out.sink->report(&s->out, "runtime_error", cmd->rec->span, s->diag, sbuf_str(&why));
	s->out.held = held;
	sbuf_release(&why);
}

/* The first command is over: shows what was printed after it. */
static void pop(struct session *s)
{
	struct commands *c = s->commands;
	struct command *cmd = c->first;

	s->out.held = NULL;
	out_write(&s->out, sbuf_str(&cmd->after), cmd->after.len);
	c->first = cmd->next;
	if (!c->first)
		c->last = NULL;
	else
		s->out.held = &c->last->after;
	c->cnt--;
	if (s->flushes)
		out_flush(&s->out);
	sbuf_release(&cmd->after);
	free(cmd->words);
	free(cmd->text);
	free(cmd);
}

static void call(struct session *s, const struct command *cmd)
{
	s->out.held = NULL;
	cmd->fn(s, cmd->rec, cmd->text);
	pop(s);
}

/* Starts the first one that can be started. */
static void start(struct session *s)
{
	struct commands *c = s->commands;

	while (c->first && !c->pid) {
		int err;

		if (c->first->fn) {
			call(s, c->first);
			continue;
		}
		out_flush(&s->out); /* what is on the terminal already comes before what the command itself writes there */
		err = spawn(c, c->first->words);
		if (!err)
			return;
		report(s, c->first, err);
		pop(s);
	}
}

static void close_fds(struct commands *c)
{
	if (c->out_fd >= 0)
		close(c->out_fd);
	if (c->pid_fd >= 0)
		close(c->pid_fd);
	c->out_fd = c->pid_fd = -1;
	c->pid = 0;
}

static void add(struct session *s, const struct command *new)
{
	struct commands *c = get(s);
	struct command *cmd;

	if ((c->refuses && new->words) || c->cnt >= COMMANDS_MAX) {
		c->given_up += c->refuses;
		c->dropped += !c->refuses;
		free(new->words);
		free(new->text);
		return;
	}
	cmd = xzalloc(sizeof(*cmd));
	*cmd = *new;
	if (c->last)
		c->last->next = cmd;
	else
		c->first = cmd;
	c->last = cmd;
	c->cnt++;
	s->out.held = &cmd->after;
	start(s);
}

void command_add(struct session *s, const struct rec *rec, const char *name, char **words)
{
	add(s, &(struct command){ .rec = rec, .name = name, .words = words });
}

void command_after(struct session *s, const struct rec *rec, const char *text, command_fn fn)
{
	if (!s->commands || !s->commands->first)
		fn(s, rec, text);
	else
		add(s, &(struct command){ .rec = rec, .fn = fn, .text = xstrdup(text) });
}

/* A part of a long output. JSON drops a newline at the end of a text, so that one stays for the next part. */
static void pass_on(struct session *s, struct sbuf *output)
{
	size_t len = output->len;
	bool ends_line = output->s[len - 1] == '\n';

	show(s, output->s, len - ends_line);
	sbuf_reset(output);
	if (ends_line)
		sbuf_putc(output, '\n');
}

/* Reads what is there. False: the output has ended. */
static bool read_output(struct session *s)
{
	struct commands *c = s->commands;
	char chunk[16384];
	ssize_t n;

	for (u32 i = 0; i < 64; i++) { /* events want their turn, too */
		n = read(c->out_fd, chunk, sizeof(chunk));
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		sbuf_add(&c->output, chunk, (size_t)n);
		if (c->output.len >= OUTPUT_MAX)
			pass_on(s, &c->output);
	}
	return true;
}

static bool has_ended(const struct commands *c, int flags)
{
	int r;

	do {
		r = waitpid(c->pid, NULL, flags);
	} while (r < 0 && errno == EINTR);
	return r != 0;
}

void commands_go_on(struct session *s)
{
	struct commands *c = s->commands;

	if (!c || !c->pid)
		return;
	if (c->out_fd >= 0) {
		if (read_output(s))
			return;
		close(c->out_fd);
		c->out_fd = -1;
	}
	if (!has_ended(c, c->pid_fd >= 0 ? WNOHANG : 0))
		return;
	close_fds(c);
	sbuf_putc(&c->output, '\n');
	show(s, c->output.s, c->output.len);
	sbuf_reset(&c->output);
	pop(s);
	start(s);
}

int commands_fd(const struct commands *c)
{
	return !c || !c->pid ? -1 : c->out_fd >= 0 ? c->out_fd : c->pid_fd;
}

/* Until something happens: a signal, the command, or some time. */
static void wait_a_moment(struct session *s)
{
	struct pollfd fds[] = { { .fd = commands_fd(s->commands), .events = POLLIN } };

	poll(fds, 1, RECHECK_MS);
	commands_go_on(s);
}

static bool must_leave(const struct session *s, int caught_before)
{
	return signals_insist() || signals_caught() != caught_before || s->out.write_err;
}

static size_t held_size(const struct commands *c)
{
	size_t sz = 0;

	for (const struct command *cmd = c->first; cmd; cmd = cmd->next)
		sz += cmd->after.len;
	return sz;
}

void commands_make_room(struct session *s)
{
	if (!s->commands || !s->commands->first)
		return;
	while (s->commands->first && held_size(s->commands) > HELD_MAX && !signals_caught() && !must_leave(s, 0))
		wait_a_moment(s);
}

void commands_finish(struct session *s)
{
	int caught = signals_caught();

	if (!s->commands)
		return;
	while (s->commands->first && !must_leave(s, caught))
		wait_a_moment(s);
	commands_give_up(s);
}

/* The shell, and what it runs: a signal for the shell alone would leave that behind. The shell first, or it would go on with its
 * next line. */
static void end_tree(int pid, u32 depth)
{
	char path[64], *text = NULL, *at, *next;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (io_read_file(path, &text, NULL))
		text = NULL;
	kill(pid, SIGTERM);
	for (at = text; at && depth < TREE_MAX; at = next) {
		int child = (int)strtol(at, &next, 10);

		if (next == at)
			break;
		end_tree(child, depth + 1);
	}
	free(text);
}

void commands_give_up(struct session *s)
{
	struct commands *c = s->commands;

	if (!c)
		return;
	if (c->pid) {
		end_tree(c->pid, 0);
		if (c->out_fd >= 0)
			read_output(s);
		has_ended(c, WNOHANG); /* one that ignores the signal is not waited for */
		close_fds(c);
		show(s, sbuf_str(&c->output), c->output.len);
		sbuf_reset(&c->output);
		c->given_up++;
		pop(s);
	}
	while (c->first) {
		if (c->first->fn) {
			call(s, c->first);
		} else {
			c->given_up++;
			pop(s);
		}
	}
}

void commands_refuse(struct session *s, bool refuse)
{
	get(s)->refuses = refuse;
}

u64 commands_dropped(const struct commands *c)
{
	return c ? c->dropped : 0;
}

u64 commands_given_up(const struct commands *c)
{
	return c ? c->given_up : 0;
}

void commands_free(struct session *s)
{
	commands_give_up(s);
	if (s->commands)
		sbuf_release(&s->commands->output);
	free(s->commands);
	s->commands = NULL;
}
