/* SPDX-License-Identifier: GPL-2.0-only */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/loop.h"
#include "run/user.h"

#define TERM_WAIT_MS 200  /* between SIGTERM and SIGKILL */
#define KILL_WAIT_MS 2000 /* after SIGKILL */
#define EXEC_LOOK_MS 100  /* between two looks for a signal */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

char **child_split(const char *cmd, u32 *cnt, const char **why)
{
	/* Every word but the first needs a blank: half the bytes is more words than there can be. Words follow the array. */
	size_t len = strlen(cmd), max = len / 2 + 2;
	char **words = xzalloc(max * sizeof(*words) + 2 * len + 2), *at = (char *)(words + max);
	bool in_word = false;
	char quote = 0;

	*cnt = 0;
	for (; *cmd; cmd++) {
		if (!in_word) {
			if (is_blank(*cmd))
				continue;
			words[(*cnt)++] = at;
			in_word = true;
		}
		if (quote == '\'' && *cmd != '\'') {
			*at++ = *cmd;
		} else if (quote && *cmd == quote) {
			quote = 0;
		} else if (!quote && (*cmd == '\'' || *cmd == '"')) {
			quote = *cmd;
		} else if (*cmd == '\\' && cmd[1] && (!quote || strchr("\"\\$`\n", cmd[1]))) {
			cmd++;
			if (*cmd != '\n') /* a line that goes on */
				*at++ = *cmd;
		} else if (!quote && is_blank(*cmd)) {
			*at++ = 0;
			in_word = false;
		} else {
			*at++ = *cmd;
		}
	}
	if (quote || !*cnt) {
		*why = quote ? "a quote is not closed" : "it is empty";
		free(words);
		return NULL;
	}
	return words;
}

static bool can_run(const char *path)
{
	struct stat st;

	if (access(path, X_OK))
		return false;
	if (stat(path, &st))
		return false;
	if (S_ISREG(st.st_mode))
		return true;
	errno = EACCES;
	return false;
}

char *child_find(const char *name)
{
	const char *path = getenv("PATH"), *next;
	int err = ENOENT;

	if (strchr(name, '/') || !*name)
		return *name && can_run(name) ? xstrdup(name) : NULL;
	for (path = path ? path : "/usr/bin:/bin"; path; path = next) {
		const char *colon = strchr(path, ':');
		int len = colon ? (int)(colon - path) : (int)strlen(path);
		char *file = xasprintf("%.*s%s%s", len, path, len ? "/" : "", name);

		next = colon ? colon + 1 : NULL;
		if (can_run(file))
			return file;
		/* A directory of PATH that we may not look into is not worth telling. */
		if (errno == EACCES && !access(file, F_OK))
			err = EACCES;
		free(file);
	}
	errno = err;
	return NULL;
}

/* In the child: waits, then becomes the command. */
static NORETURN void child_main(const struct user *user, const char *file, char **argv, int go_fd, int fail_fd, int parent)
{
	int err = user ? -user_become(user) : 0;
	char go;
	ssize_t n;

	/* After that, because another user gets no such signal any more. The pipe ends with the tracer, which ends the waiting;
	 * this is for the time after the exec. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	/* The tracer waits for this before it attaches: what comes before is no event of the command's. */
	if (write(fail_fd, &err, sizeof(err)) < 0 || err)
		_exit(1);
	do {
		n = read(go_fd, &go, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(1);
	execvp(file, argv); /* file has a slash: not looked for again, but run by sh if it is a script without #! */
	err = errno;
	if (write(fail_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* The words of a command, and the file that it runs. NULL: *why says what is wrong with it. */
static char **find_command(const char *cmd, char **file, struct sbuf *why)
{
	const char *reason;
	char **argv;
	u32 cnt;

	argv = child_split(cmd, &cnt, &reason);
	if (!argv) {
		sbuf_printf(why, "cannot run the command '%s': %s", cmd, reason);
		return NULL;
	}
	*file = child_find(argv[0]);
	if (!*file) {
		sbuf_printf(why, "cannot run '%s': %s", argv[0], errno == ENOENT ? "there is no such command" : strerror(errno));
		free(argv);
		return NULL;
	}
	return argv;
}

char *child_exe(const char *cmd, struct sbuf *why)
{
	char *file = NULL;

	free(find_command(cmd, &file, why));
	return file;
}

/* Waits for what child_main() has to say before it waits itself: 0, or an errno. */
static int read_status(int fd)
{
	int err = 0;
	ssize_t n;

	do {
		n = read(fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? err : ESRCH;
}

struct child *child_start(const char *cmd, const char *user_name, struct sbuf *why)
{
	int go[2] = { -1, -1 }, fail[2] = { -1, -1 }, parent = getpid(), pid, err;
	struct child *c = NULL;
	struct user *user = NULL;
	char **argv, *file = NULL;

	if (user_name && !(user = user_find(user_name, why)))
		return NULL;
	argv = find_command(cmd, &file, why);
	if (!argv) {
		user_free(user);
		return NULL;
	}
	if (pipe2(go, O_CLOEXEC) || pipe2(fail, O_CLOEXEC))
		goto fail;
	pid = fork();
	if (pid == 0) {
		close(go[1]); /* or it would keep its own pipe open */
		child_main(user, file, argv, go[0], fail[1], parent);
	}
	if (pid < 0)
		goto fail;
	close(go[0]);
	close(fail[1]);
	err = read_status(fail[0]);
	c = xzalloc(sizeof(*c));
	*c = (struct child){ .pid = pid, .file = file, .go_fd = go[1], .fail_fd = fail[0] };
	c->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->pid_fd < 0 || err) {
		err = err ? err : errno;
		c->file = NULL;
		child_free(c);
		c = NULL;
		go[0] = go[1] = fail[0] = fail[1] = -1;
		errno = err;
		goto fail;
	}
	user_free(user);
	free(argv);
	return c;
fail:
	err = errno;
	sbuf_printf(why, "cannot start '%s'", argv[0]);
	if (user)
		sbuf_printf(why, " as user %s", user_name);
	sbuf_printf(why, ": %s", strerror(err));
	user_free(user);
	for (u32 i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (fail[i] >= 0)
			close(fail[i]);
	}
	free(file);
	free(argv);
	return NULL;
}

int child_resume(struct child *c, struct sbuf *why)
{
	struct pollfd p = { .fd = c->fail_fd, .events = POLLIN };
	int err = 0;
	ssize_t n;

	if (c->go_fd < 0)
		return 0;
	do {
		n = write(c->go_fd, "g", 1);
		err = n < 0 ? errno : 0;
	} while (err == EINTR);
	close(c->go_fd);
	c->go_fd = -1;
	if (err) {
		sbuf_printf(why, "cannot run the command: %s", err == EPIPE ? "its process was killed before" : strerror(err));
		return -err;
	}
	/* The file may be where nobody answers: a signal ends the wait. */
	while (poll(&p, 1, EXEC_LOOK_MS) <= 0)
		if (signals_caught())
			return 0;
	do {
		n = read(c->fail_fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(err))
		return 0; /* closed by the exec */
	sbuf_printf(why, "cannot run the command: %s", strerror(err));
	return -err;
}

bool child_has_ended(struct child *c)
{
	int r;

	if (c->is_reaped)
		return true;
	do {
		r = waitpid(c->pid, &c->status, WNOHANG);
	} while (r < 0 && errno == EINTR);
	c->is_reaped = r != 0; /* also if it is not ours any more */
	return c->is_reaped;
}

void child_kill(struct child *c)
{
	struct pollfd p = { .fd = c->pid_fd, .events = POLLIN };
	int r;

	if (child_has_ended(c))
		return;
	/* One that still waits has no handlers of its own to run. */
	if (c->go_fd < 0) {
		kill(c->pid, SIGTERM);
		do {
			r = c->pid_fd >= 0 ? poll(&p, 1, TERM_WAIT_MS) : 0;
		} while (r < 0 && errno == EINTR);
		if (child_has_ended(c))
			return;
	}
	kill(c->pid, SIGKILL);
	do {
		r = c->pid_fd >= 0 ? poll(&p, 1, KILL_WAIT_MS) : 0;
	} while (r < 0 && errno == EINTR);
	child_has_ended(c);
	c->is_reaped = true; /* one that waits for a device cannot even be killed: it is not waited for */
}

void child_free(struct child *c)
{
	if (!c)
		return;
	child_kill(c);
	if (c->pid_fd >= 0)
		close(c->pid_fd);
	if (c->go_fd >= 0)
		close(c->go_fd);
	if (c->fail_fd >= 0)
		close(c->fail_fd);
	free(c->file);
	free(c);
}
