/* SPDX-License-Identifier: GPL-2.0-only */
/* Nothing waits for good, and what is changed on the machine is put back: the switch of RCU, files that never answer, commands.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/progress.h"
#include "check.h"
#include "kern/rcu.h"
#include "run/command.h"
#include "run/readfile.h"

static char dir[] = "/tmp/test_waits_XXXXXX", *switch_path, *state_path;
static struct arena arena;

static char *in_dir(const char *name)
{
	return arena_printf(&arena, "%s/%s", dir, name);
}

static char switch_now(void)
{
	char *text = NULL, c = 0;

	if (!io_read_file(switch_path, &text, NULL))
		c = text[0];
	free(text);
	return c;
}

static void set_switch(char c)
{
	int fd = open(switch_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(write(fd, &c, 1) == 1);
	close(fd);
}

/* A process that turns the switch on and waits to be killed. */
static int holder(void)
{
	int fds[2], pid;
	char c;

	CHECK(!pipe(fds));
	pid = fork();
	if (!pid) {
		c = rcu_hasten() ? 'y' : 'n';
		if (write(fds[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(read(fds[0], &c, 1) == 1 && c == 'y');
	close(fds[0]), close(fds[1]);
	return pid;
}

static void end(int pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_rcu(void)
{
	int one, two, fd;

	switch_path = in_dir("rcu_expedited");
	state_path = in_dir("run/rcu_expedited");
	rcu_set_paths(switch_path, in_dir("run"));
	for (char before = '0'; before <= '1'; before++) {
		set_switch(before);
		CHECK(rcu_hasten());
		CHECK(switch_now() == '1');
		rcu_calm();
		CHECK(switch_now() == before);
		/* One that is killed leaves it on, and the next run puts it back … */
		end(holder());
		CHECK(switch_now() == '1');
		rcu_recover();
		CHECK(switch_now() == before);
		/* … or takes over what it was before. */
		end(holder());
		CHECK(rcu_hasten());
		rcu_calm();
		CHECK(switch_now() == before);
	}
	/* Two at once: the last one turns it back, whoever came first, and a killed one does not count. */
	set_switch('0');
	one = holder();
	CHECK(rcu_hasten());
	rcu_calm();
	CHECK(switch_now() == '1');
	rcu_recover();
	CHECK(switch_now() == '1');
	two = holder();
	end(one);
	rcu_recover();
	CHECK(switch_now() == '1');
	end(two);
	rcu_recover();
	CHECK(switch_now() == '0');
	/* Any user can lock the switch: nobody waits for that. */
	fd = open(switch_path, O_RDONLY);
	CHECK(!flock(fd, LOCK_EX));
	CHECK(rcu_hasten());
	rcu_calm();
	CHECK(switch_now() == '0');
	/* Another boot: the file says nothing. */
	close(fd);
	fd = open(state_path, O_WRONLY | O_TRUNC);
	CHECK(write(fd, "another-boot 1\n1 1\n", 19) == 19);
	close(fd);
	rcu_recover();
	CHECK(switch_now() == '0');
	CHECK(rcu_hasten());
	rcu_calm();
	CHECK(switch_now() == '0');
	/* A folder that others can write to is not ours, and one that cannot be made is none: nothing is changed. */
	rcu_set_paths(switch_path, in_dir("open"));
	CHECK(!mkdir(in_dir("open"), 0700) && !chmod(in_dir("open"), 0777));
	CHECK(!rcu_hasten());
	rcu_set_paths(switch_path, "/proc/nothing/here");
	CHECK(!rcu_hasten());
	CHECK(switch_now() == '0');
	rcu_calm();
	rcu_recover();
}

static void test_read(void)
{
	char *fifo = in_dir("fifo"), *file = in_dir("file");
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), fd = open(file, O_WRONLY | O_CREAT, 0600), writer;
	struct sbuf text = {};
	bool is_open;

	CHECK(write(fd, "hello", 5) == 5);
	close(fd);
	CHECK(!read_some(file, 100, &text, &is_open) && is_open);
	CHECK(str_eq(sbuf_str(&text), "hello"));
	sbuf_reset(&text);
	CHECK(!read_some(file, 2, &text, &is_open));
	CHECK(str_eq(sbuf_str(&text), "he"));
	CHECK(read_some("/nonexistent", 2, &text, &is_open) && !is_open);
	/* Nobody writes to the FIFO; then somebody could, but does not. */
	CHECK(!mkfifo(fifo, 0600));
	CHECK(str_eq(read_some(fifo, 100, &text, &is_open), "it is a FIFO"));
	writer = open(fifo, O_RDWR);
	CHECK(str_eq(read_some(fifo, 100, &text, &is_open), "it is a FIFO"));
	close(writer);
	if (terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal))
		CHECK(str_eq(read_some(ptsname(terminal), 100, &text, &is_open), "it is a terminal"));
	CHECK(is_open);
	close(terminal);
	sbuf_release(&text);
}

static void note(struct session *s, const struct rec *rec, const char *text)
{
	(void)rec;
	out_write(&s->out, text, strlen(text));
}

static void add(struct session *s, const char *command)
{
	const char *words[] = { "/bin/sh", "-c", command };

	command_add(s, NULL, "system", command_words(words, 3));
}

static void test_commands(void)
{
	struct session s = { .out.sink = sink_find("text"), .out.err = stderr };
	char *text = NULL;
	size_t len;

	s.out.file = open_memstream(&text, &len);
	/* Output is in the order of the calls, and so are effects. */
	add(&s, "sleep 0.1; echo one; sleep 0.1; echo two");
	out_write(&s.out, "after\n", 6);
	command_after(&s, NULL, "later\n", note);
	out_write(&s.out, "last\n", 5);
	add(&s, "echo three");
	CHECK(commands_fd(s.commands) >= 0);
	commands_finish(&s);
	command_after(&s, NULL, "now\n", note);
	out_flush(&s.out);
	CHECK(str_eq(text, "one\ntwo\n\nafter\nlater\nlast\nthree\n\nnow\n"));
	/* A long output comes whole. */
	rewind(s.out.file);
	add(&s, "yes | head -c 3000000");
	commands_finish(&s);
	out_flush(&s.out);
	CHECK(ftell(s.out.file) == 3000001);
	/* Too many that wait are counted, and so are those that are given up; nothing of it takes long. */
	rewind(s.out.file);
	for (u32 i = 0; i < COMMANDS_MAX + 6; i++)
		add(&s, "sleep 100");
	out_write(&s.out, "end\n", 4);
	CHECK(commands_dropped(s.commands) == 6);
	commands_give_up(&s);
	CHECK(commands_given_up(s.commands) == COMMANDS_MAX);
	CHECK(commands_fd(s.commands) < 0);
	commands_refuse(&s, true);
	add(&s, "sleep 100");
	CHECK(commands_given_up(s.commands) == COMMANDS_MAX + 1);
	out_flush(&s.out);
	CHECK(ftell(s.out.file) == 4);
	commands_free(&s);
	fclose(s.out.file);
	free(text);
}

/* On a terminal a step of more than a second shows how far it is, and nothing of it stays. */
static void test_progress(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), slave, pid;
	struct sbuf seen = {};
	char part[256];
	ssize_t n;

	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		return;
	slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	pid = fork();
	if (!pid) {
		dup2(slave, 2);
		progress_enable(true);
		progress_begin("Attaching", 5956);
		progress_add(1200);
		progress_add(4);
		pause();
	}
	while (!strstr(sbuf_str(&seen), "Attaching: 1,204 of 5,956, ") && (n = read(terminal, part, sizeof(part))) > 0)
		sbuf_add(&seen, part, (size_t)n);
	CHECK(strstr(sbuf_str(&seen), "\rAttaching: 1,204 of 5,956, "));
	end(pid);
	/* A short step shows nothing; a long one removes its line before other text. */
	pid = fork();
	if (!pid) {
		dup2(slave, 2);
		progress_enable(true);
		progress_begin("Compiling", 0);
		progress_end();
		progress_begin("Detaching", 0);
		usleep(1500000);
		progress_hide();
		if (write(2, "text\n", 5) == 5)
			progress_end();
		_exit(0);
	}
	close(slave);
	waitpid(pid, NULL, 0);
	sbuf_reset(&seen);
	while ((n = read(terminal, part, sizeof(part))) > 0)
		sbuf_add(&seen, part, (size_t)n);
	CHECK(!strstr(sbuf_str(&seen), "Compiling"));
	CHECK(strstr(sbuf_str(&seen), "\rDetaching, 1 s\033[K\r\033[Ktext\r\n"));
	sbuf_release(&seen);
	close(terminal);
}

int main(void)
{
	arena_init(&arena);
	CHECK(mkdtemp(dir));
	test_rcu();
	test_read();
	test_commands();
	test_progress();
	CHECK(!system(arena_printf(&arena, "rm -r %s", dir)));
	arena_release(&arena);
	return check_end();
}
