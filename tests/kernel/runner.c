/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * runner: runs kernel tests (*.test), on the host or inside a lab guest.
 *
 *   runner [OPTION]... FILE...
 *
 *   --sonde PATH          the program under test (beside the runner, else in PATH)
 *   --filter GLOB         only tests whose name matches; may be repeated
 *   --jobs N              run N tests at a time (1)
 *   --scale-timeouts N    multiply timeout and settle, for emulated machines
 *   --verbose             show commands and output of tests that pass, too
 *   --slowest N           list the N tests that took longest, at the end
 *   --via-image PROGRAM   scripts run by way of a compiled image: PROGRAM is
 *                         via-image.c, built; commands find it as sonde
 *   --check               only read the files
 *
 * One static program that needs nothing but /bin/sh, because a guest has little
 * else. Each test prints one of
 *
 *   ok NAME
 *   skip NAME: reason
 *   not ok NAME              followed by indented details
 *
 * and the last line is "N passed, N failed, N skipped". Exit status: 0, 1 when
 * a test failed, 2 when a test file is malformed or the command line is wrong.
 *
 * A test file holds blocks of "key: value" lines, separated by blank lines.
 * Lines starting with # are comments. A value goes on in the following lines
 * that start with a blank, for the keys marked +; their common indentation (that
 * of the first of them) is removed. Keys marked * may be given several times.
 *
 *   name:           unique, of letters, digits and _ . : -
 *   run: +          the tracer's command, run by /bin/sh -c in a fresh folder;
 *                   PATH starts with the folder of the sonde under test, then
 *                   that of the runner (test programs), TESTDIR is the folder of
 *                   the test file
 *   after: +*       a workload: run the same way once the tracer is ready. When
 *                   it has ended, wait `settle`, then send the tracer a SIGINT
 *                   unless it is gone
 *   ready:          the tracer is ready when a line of its stdout or stderr
 *                   matches (default: ^Attached [0-9]+ probe on stderr). Without
 *                   an `after`, the SIGINT follows right after `settle`
 *   settle:         milliseconds (200)
 *   input: +*       lines for the tracer's stdin (/dev/null)
 *   expect: *       must match a line of stdout; several match lines in order
 *   expect-err: *   the same for stderr
 *   reject: *       no line of stdout may match ("reject: ^" = no output at all)
 *   reject-err: *   the same for stderr
 *   exact: *        these lines are the whole of stdout, byte for byte; only one
 *                   blank after the colon is not part of the line
 *   equal: *        A ||| B: two expressions with one group each; the first line
 *                   of stdout that matches A and the first that matches B
 *                   captured the same text
 *   status:         exit status: a number (0), nonzero, any; 128+N for a signal
 *   after-status:   the same for the workload (any)
 *   timeout:        seconds (20); then everything is killed and the test fails
 *   needs: *        words that must hold, else the test is skipped; !word must
 *                   not hold. See needs[] below for the words.
 *
 * Expressions are POSIX extended ones. A tracer that leaves a process behind
 * fails the test.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum {
	EXIT_MALFORMED = 2,
	TIMEOUT_S = 20,
	SETTLE_MS = 200,
	/* How long a process that is on its way out may take. */
	GRACE_MS = 1000,
	/* A tracer gone wild must not take the machine's memory with it. */
	OUTPUT_MAX = 64 << 20,
	/* What a failed test shows of each stream, and of each line. */
	SHOWN_LINES = 60,
	SHOWN_COLUMNS = 400,
};

enum { STATUS_ANY = -1, STATUS_NONZERO = -2 };

/* ---- small tools ------------------------------------------------------- */

/* A growing buffer; data is always terminated by a NUL past len. */
struct buf {
	char *data;
	size_t len, cap;
};

static _Noreturn void __attribute__((format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("runner: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_MALFORMED);
}

static void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		die("out of memory");
	return p;
}

static char *xstrdup(const char *s)
{
	return strcpy(xrealloc(NULL, strlen(s) + 1), s);
}

static char *__attribute__((format(printf, 1, 2))) xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		die("out of memory");
	va_end(ap);
	return s;
}

static void buf_reserve(struct buf *b, size_t more)
{
	if (b->len + more + 1 <= b->cap)
		return;
	b->cap = (b->len + more + 1) * 2;
	b->data = xrealloc(b->data, b->cap);
}

static void buf_add(struct buf *b, const void *data, size_t len)
{
	buf_reserve(b, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

static void __attribute__((format(printf, 2, 3))) buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		die("out of memory");
	buf_add(b, s, n);
	free(s);
}

static void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){};
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* ---- what a test file says --------------------------------------------- */

struct expression {
	char *text;
	regex_t re;
};

struct expressions {
	struct expression *v;
	int cnt;
};

struct pair {
	char *text;
	regex_t a, b;
};

struct test {
	const char *file;
	int line;
	char *name, *run, *after, *input, *needs;
	struct expression ready;
	bool has_ready, has_exact, has_settle, has_timeout, has_status, has_after_status;
	struct expressions expect, expect_err, reject, reject_err;
	struct buf exact;
	struct pair *equal;
	int equal_cnt;
	int status, after_status;
	int settle_ms, timeout_s;
};

static struct test *tests;
static int test_cnt;

struct place {
	const char *file;
	int line;
};

static _Noreturn void __attribute__((format(printf, 2, 3))) malformed(struct place at, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", at.file, at.line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_MALFORMED);
}

static void compile(regex_t *re, const char *text, struct place at)
{
	char why[200];
	int err = regcomp(re, text, REG_EXTENDED);

	if (err) {
		regerror(err, re, why, sizeof(why));
		malformed(at, "bad expression '%s': %s", text, why);
	}
}

static void expressions_add(struct expressions *list, const char *text, struct place at)
{
	struct expression *e;

	if (!*text)
		malformed(at, "an expression is missing (^ matches every line)");
	list->v = xrealloc(list->v, (list->cnt + 1) * sizeof(*list->v));
	e = &list->v[list->cnt++];
	e->text = xstrdup(text);
	compile(&e->re, text, at);
}

static void pair_add(struct test *t, const char *text, struct place at)
{
	const char *bar = strstr(text, "|||");
	struct pair *p;
	char *a, *b;

	if (!bar)
		malformed(at, "equal: wants two expressions separated by |||");
	t->equal = xrealloc(t->equal, (t->equal_cnt + 1) * sizeof(*t->equal));
	p = &t->equal[t->equal_cnt++];
	p->text = xstrdup(text);

	a = strndup(text, bar - text);
	b = xstrdup(bar + 3 + strspn(bar + 3, " \t"));
	while (*a && isblank((unsigned char)a[strlen(a) - 1]))
		a[strlen(a) - 1] = '\0';
	compile(&p->a, a, at);
	compile(&p->b, b, at);
	if (p->a.re_nsub != 1 || p->b.re_nsub != 1)
		malformed(at, "equal: wants exactly one group in each expression");
	free(a);
	free(b);
}

static int number(const char *text, int max, struct place at)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 0 || n > max)
		malformed(at, "'%s' is not a number from 0 to %d", text, max);
	return n;
}

static int status_number(const char *text, struct place at)
{
	if (!strcmp(text, "any"))
		return STATUS_ANY;
	if (!strcmp(text, "nonzero"))
		return STATUS_NONZERO;
	return number(text, 255, at);
}

static void once(bool *seen, const char *key, struct place at)
{
	if (*seen)
		malformed(at, "%s: given twice", key);
	*seen = true;
}

static void set_once(char **field, const char *key, const char *value, struct place at)
{
	if (*field)
		malformed(at, "%s: given twice", key);
	if (!*value)
		malformed(at, "%s: has no value", key);
	*field = xstrdup(value);
}

/* Adds value to *field, which holds several as lines. */
static void append_line(char **field, const char *value)
{
	char *joined = *field ? xasprintf("%s\n%s", *field, value) : xstrdup(value);

	free(*field);
	*field = joined;
}

static void check_needs(const char *words, struct place at);

static const struct test *find_test(const char *name)
{
	for (int i = 0; i < test_cnt; i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return NULL;
}

/* Keys whose values may go on in indented lines. */
static bool key_continues(const char *key)
{
	return !strcmp(key, "run") || !strcmp(key, "after") || !strcmp(key, "input");
}

static void test_set(struct test *t, const char *key, const char *value, struct place at)
{
	if (!strcmp(key, "name")) {
		const struct test *other = find_test(value);

		if (other)
			malformed(at, "the name '%s' is taken at %s:%d", value, other->file, other->line);
		if (value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-")])
			malformed(at, "'%s' is not a name: letters, digits and _ . : - only", value);
		set_once(&t->name, key, value, at);
	} else if (!strcmp(key, "run")) {
		set_once(&t->run, key, value, at);
	} else if (!strcmp(key, "after")) {
		append_line(&t->after, value);
	} else if (!strcmp(key, "input")) {
		append_line(&t->input, value);
	} else if (!strcmp(key, "needs")) {
		check_needs(value, at);
		append_line(&t->needs, value);
	} else if (!strcmp(key, "ready")) {
		once(&t->has_ready, key, at);
		t->ready.text = xstrdup(value);
		compile(&t->ready.re, value, at);
	} else if (!strcmp(key, "settle")) {
		once(&t->has_settle, key, at);
		t->settle_ms = number(value, 600000, at);
	} else if (!strcmp(key, "timeout")) {
		once(&t->has_timeout, key, at);
		t->timeout_s = number(value, 3600, at);
	} else if (!strcmp(key, "status")) {
		once(&t->has_status, key, at);
		t->status = status_number(value, at);
	} else if (!strcmp(key, "after-status")) {
		once(&t->has_after_status, key, at);
		t->after_status = status_number(value, at);
	} else if (!strcmp(key, "expect")) {
		expressions_add(&t->expect, value, at);
	} else if (!strcmp(key, "expect-err")) {
		expressions_add(&t->expect_err, value, at);
	} else if (!strcmp(key, "reject")) {
		expressions_add(&t->reject, value, at);
	} else if (!strcmp(key, "reject-err")) {
		expressions_add(&t->reject_err, value, at);
	} else if (!strcmp(key, "exact")) {
		t->has_exact = true;
		buf_printf(&t->exact, "%s\n", value);
	} else if (!strcmp(key, "equal")) {
		pair_add(t, value, at);
	} else {
		malformed(at, "unknown key '%s'", key);
	}
}

/* A block has ended: is it a whole test? */
static void test_finish(struct test *t)
{
	struct place at = { t->file, t->line };

	if (!t->name)
		malformed(at, "this test has no name:");
	if (!t->run)
		malformed(at, "test '%s' has no run:", t->name);
	if (t->has_settle && !t->after && !t->has_ready)
		malformed(at, "test '%s' has a settle: but no after: or ready:", t->name);
	if (t->has_after_status && !t->after)
		malformed(at, "test '%s' has an after-status: but no after:", t->name);
	tests = xrealloc(tests, (test_cnt + 1) * sizeof(*tests));
	tests[test_cnt++] = *t;
}

static void read_whole(const char *path, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	do {
		buf_reserve(b, 65536);
		n = read(fd, b->data + b->len, 65536);
		if (n < 0)
			die("%s: %s", path, strerror(errno));
		b->len += n;
	} while (n > 0);
	b->data[b->len] = '\0';
	close(fd);
}

/*
 * The reader collects one "key: value" at a time: a value is only complete when
 * a line comes that does not continue it.
 */
struct reader {
	struct test test;
	bool open; /* within a block */
	char key[32];
	struct buf value;
	bool has_key;
	size_t indent; /* of the first continuation line */
	bool has_indent;
	struct place key_at;
};

static void reader_end_key(struct reader *r)
{
	char *value = r->value.data;

	if (!r->has_key)
		return;
	/* Blanks at the end are a slip of the editor, except where bytes count. */
	if (strcmp(r->key, "exact") != 0)
		while (r->value.len && isspace((unsigned char)value[r->value.len - 1]))
			value[--r->value.len] = '\0';
	test_set(&r->test, r->key, value, r->key_at);
	buf_release(&r->value);
	r->has_key = r->has_indent = false;
}

static void reader_end_block(struct reader *r)
{
	reader_end_key(r);
	if (r->open)
		test_finish(&r->test);
	r->open = false;
}

static void reader_line(struct reader *r, char *line, struct place at)
{
	char *colon, *value;

	if (line[0] == '#')
		return;
	if (!line[strspn(line, " \t")]) {
		reader_end_block(r);
		return;
	}
	if (isblank((unsigned char)line[0])) {
		if (!r->has_key)
			malformed(at, "an indented line that continues nothing");
		if (!key_continues(r->key))
			malformed(at, "the value of %s: cannot go on in a second line", r->key);
		if (!r->has_indent)
			r->indent = strspn(line, " \t");
		r->has_indent = true;
		/* A line that is indented less loses what it has. */
		for (size_t i = 0; i < r->indent && isblank((unsigned char)*line); i++)
			line++;
		if (r->value.len)
			buf_add(&r->value, "\n", 1);
		buf_add(&r->value, line, strlen(line));
		return;
	}
	reader_end_key(r);
	colon = strchr(line, ':');
	if (!colon || strcspn(line, " \t") < (size_t)(colon - line) || colon - line >= (long)sizeof(r->key))
		malformed(at, "expected 'key: value', got '%s'", line);
	if (!r->open) {
		r->open = true;
		r->test = (struct test){ .file = at.file,
					 .line = at.line,
					 .settle_ms = SETTLE_MS,
					 .timeout_s = TIMEOUT_S,
					 .after_status = STATUS_ANY };
	}
	memcpy(r->key, line, colon - line);
	r->key[colon - line] = '\0';
	value = colon + 1;
	if (!strcmp(r->key, "exact"))
		value += *value == ' ';
	else
		value += strspn(value, " \t");
	r->value = (struct buf){};
	buf_add(&r->value, value, strlen(value));
	r->has_key = true;
	r->key_at = at;
}

static void read_tests(const char *file)
{
	struct reader r = {};
	struct buf b = {};
	int line_no = 0;
	char *line, *end;

	read_whole(file, &b);
	if (strlen(b.data) != b.len)
		malformed((struct place){ file, 1 }, "this is not a text file");
	for (line = b.data; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		reader_line(&r, line, (struct place){ file, ++line_no });
	}
	reader_end_block(&r);
	buf_release(&b);
}

/* ---- needs: what this system has --------------------------------------- */

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Whether the kernel has a symbol. The list is read once, it is long. */
static bool has_symbol(const char *name)
{
	static struct buf all;
	char *pattern;
	bool found;

	if (!all.data) {
		if (!exists("/proc/kallsyms"))
			return false;
		read_whole("/proc/kallsyms", &all);
	}
	/* "address type name" at the end of a line, so not of a module */
	pattern = xasprintf(" %s\n", name);
	found = strstr(all.data, pattern) != NULL;
	free(pattern);
	return found;
}

static bool kernel_at_least(const char *version)
{
	int major, minor, want_major, want_minor;
	struct utsname u;

	if (uname(&u) != 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2 ||
	    sscanf(version, "%d.%d", &want_major, &want_minor) != 2)
		return false;
	return major > want_major || (major == want_major && minor >= want_minor);
}

static bool has_root(void)
{
	return geteuid() == 0;
}
static bool has_kprobe(void)
{
	return exists("/sys/bus/event_source/devices/kprobe");
}
static bool has_uprobe(void)
{
	return exists("/sys/bus/event_source/devices/uprobe");
}
static bool has_btf(void)
{
	return exists("/sys/kernel/btf/vmlinux");
}
static bool has_smp(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}
static bool has_inject(void)
{
	return exists("/sys/kernel/debug/error_injection/list");
}

/* bpf_kprobe_multi_link_attach is no sign: without fprobe it is there as a stub. */
static bool has_fprobe(void)
{
	return has_symbol("register_fprobe_ips");
}
/* Those that Sonde uses: before 6.14 they miss entries. */
static bool has_session(void)
{
	return has_fprobe() && has_symbol("bpf_session_is_return") && kernel_at_least("6.14");
}
static bool has_uprobe_multi(void)
{
	return has_uprobe() && has_symbol("bpf_uprobe_multi_link_attach");
}

static bool in_guest(void)
{
	const char *s = getenv("SONDE_GUEST");

	return s && !strcmp(s, "1");
}

static bool on_host(void)
{
	return !in_guest();
}

/* A device folder is no sign either: ask for a cycle counter. */
static bool has_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = PERF_COUNT_HW_CPU_CYCLES, .disabled = 1
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_breakpoint(void)
{
	static long watched;
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
					.size = sizeof(attr),
					.bp_addr = (uintptr_t)&watched,
					.bp_len = sizeof(watched),
					.bp_type = 2 /* written */,
					.disabled = 1 };
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Some systems forbid fentry while they allow other programs. A load whose
 * target is no function fails everywhere, but where they are forbidden with
 * EPERM and where they are allowed with EINVAL.
 */
static bool has_fentry(void)
{
	struct bpf_insn insns[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attr;
	int fd;

	if (!has_btf())
		return false;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = BPF_TRACE_FENTRY;
	attr.attach_btf_id = 1;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = ARRAY_SIZE(insns);
	attr.license = (uintptr_t) "GPL";
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EPERM;
}

/* As unshare -m does it. In a chroot the root folder may be no mount point, which cannot be made private then. */
static bool has_mount_namespaces(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Whether the kernel has a file system; its module may have to be loaded. */
static bool has_fs(const char *name)
{
	char *look = xasprintf("grep -qw '%s' /proc/filesystems || modprobe -q '%s'", name, name);
	bool found = system(look) == 0;

	free(look);
	return found;
}

static bool has_command(const char *name)
{
	const char *path = getenv("PATH");
	bool found = false;

	while (path && *path && !found) {
		size_t len = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)len, path, name);

		found = access(file, X_OK) == 0;
		free(file);
		path += len + (path[len] == ':');
	}
	return found;
}

/* A word that ends in a colon takes an argument. */
static const struct need {
	const char *word, *doc;
	bool (*holds)(void);
	bool (*holds_arg)(const char *arg);
} needs[] = {
	{ "root", "root", has_root, NULL },
	{ "kprobe", "kprobes", has_kprobe, NULL },
	{ "fprobe", "fprobe (kprobe_multi)", has_fprobe, NULL },
	{ "session", "kprobe sessions", has_session, NULL },
	{ "fentry", "fentry programs", has_fentry, NULL },
	{ "uprobe", "uprobes", has_uprobe, NULL },
	{ "uprobe_multi", "uprobe_multi", has_uprobe_multi, NULL },
	{ "inject", "function error injection", has_inject, NULL },
	{ "btf", "kernel BTF", has_btf, NULL },
	{ "pmu", "a hardware PMU", has_pmu, NULL },
	{ "breakpoint", "hardware breakpoints", has_breakpoint, NULL },
	{ "smp", "more than one processor", has_smp, NULL },
	{ "mntns", "private mount namespaces (in a chroot: a root that is a mount point)", has_mount_namespaces, NULL },
	{ "qemu", "a lab guest", in_guest, NULL },
	{ "host", "the host", on_host, NULL },
	{ "file:", "the file", NULL, exists },
	{ "symbol:", "the kernel symbol", NULL, has_symbol },
	{ "kernel:", "a kernel of at least", NULL, kernel_at_least },
	{ "command:", "the command", NULL, has_command },
	{ "fs:", "the file system", NULL, has_fs },
};

/* The row of a word, and its argument ("" when it takes none). */
static const struct need *find_need(const char *word, const char **arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		size_t len = strlen(needs[i].word);

		if (needs[i].holds_arg ? !strncmp(word, needs[i].word, len) && word[len] : !strcmp(word, needs[i].word)) {
			*arg = word + len;
			return &needs[i];
		}
	}
	return NULL;
}

/* Takes the next word of *list, which moves on; NULL at the end. */
static char *next_word(const char **list)
{
	size_t len;
	char *word;

	*list += strspn(*list, " \t\n");
	len = strcspn(*list, " \t\n");
	if (!len)
		return NULL;
	word = strndup(*list, len);
	*list += len;
	return word;
}

static void check_needs(const char *words, struct place at)
{
	const char *arg;
	char *word;

	while ((word = next_word(&words))) {
		if (!find_need(word + (*word == '!'), &arg))
			malformed(at, "needs: does not know '%s'", word);
		free(word);
	}
}

/* Why a test cannot run here, or NULL. */
static char *unmet_need(const char *words)
{
	char *word;

	while (words && (word = next_word(&words))) {
		bool not = *word == '!';
		const char *arg;
		const struct need *n = find_need(word + not, &arg);
		bool holds = n->holds_arg ? n->holds_arg(arg) : n->holds();

		if (holds == not )
			return xasprintf("needs %s%s%s%s", not ? "a system without " : "", n->doc, *arg ? " " : "", arg);
		free(word);
	}
	return NULL;
}

/* ---- processes ---------------------------------------------------------- */

/*
 * The runner is a subreaper: whatever a test starts, even in the background and
 * in a session of its own, is and stays a descendant of the runner. So what a
 * test left behind is found by walking /proc.
 */
struct proc {
	pid_t pid, ppid, session;
	char state;
	char comm[64];
};

struct procs {
	struct proc *v;
	int cnt;
};

static bool proc_read(pid_t pid, struct proc *p)
{
	char path[64], text[512], *open_paren, *close_paren;
	ssize_t n;
	int fd, pgrp;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* "pid (comm) state ppid pgrp session": comm may hold anything, ) included. */
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');
	if (!open_paren || !close_paren)
		return false;
	p->pid = pid;
	snprintf(p->comm, sizeof(p->comm), "%.*s", (int)(close_paren - open_paren - 1), open_paren + 1);
	return sscanf(close_paren + 1, " %c %d %d %d", &p->state, &p->ppid, &pgrp, &p->session) == 4;
}

/* All descendants of this process that are not zombies. */
static struct procs descendants(void)
{
	struct procs all = {}, mine = {};
	DIR *dir = opendir("/proc");
	struct dirent *d;
	pid_t self = getpid();
	bool *in;
	bool grew;

	while (dir && (d = readdir(dir))) {
		struct proc p;

		if (!isdigit((unsigned char)d->d_name[0]) || !proc_read(atoi(d->d_name), &p))
			continue;
		all.v = xrealloc(all.v, (all.cnt + 1) * sizeof(*all.v));
		all.v[all.cnt++] = p;
	}
	if (dir)
		closedir(dir);
	in = xrealloc(NULL, all.cnt + 1);
	memset(in, 0, all.cnt + 1);
	do {
		grew = false;
		for (int i = 0; i < all.cnt; i++) {
			bool child = all.v[i].ppid == self;

			for (int j = 0; j < all.cnt && !child && !in[i]; j++)
				child = in[j] && all.v[j].pid == all.v[i].ppid;
			if (child && !in[i])
				in[i] = grew = true;
		}
	} while (grew);
	for (int i = 0; i < all.cnt; i++) {
		if (!in[i] || all.v[i].state == 'Z' || all.v[i].state == 'X')
			continue;
		mine.v = xrealloc(mine.v, (mine.cnt + 1) * sizeof(*mine.v));
		mine.v[mine.cnt++] = all.v[i];
	}
	free(in);
	free(all.v);
	return mine;
}

/* A child that we wait for; pid stays set after its end, for its session. */
struct child {
	pid_t pid;
	int pidfd;
	bool running;
	int status; /* as a shell would say it, once it has ended */
};

/* Everything that goes on while one test runs. */
struct run {
	const struct test *test;
	struct child tracer, workload;
	/* The pipes; -1 once closed. The workload's output is only shown. */
	int out_fd, err_fd, work_fd;
	struct buf out, err, work;
	size_t out_scanned, err_scanned; /* how far `ready` was looked for */
	bool too_much;
	struct buf problems; /* empty: the test passed */
};

static const char *sonde_path; /* absolute */
static int scale = 1;
static volatile sig_atomic_t interrupted;

static void __attribute__((format(printf, 2, 3))) problem(struct run *r, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		die("out of memory");
	va_end(ap);
	buf_printf(&r->problems, "%s\n", s);
	free(s);
}

/* Collects every child that has ended, the adopted ones included. */
static void reap(struct run *r)
{
	struct child *known[] = { &r->tracer, &r->workload };
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (known[i]->running && known[i]->pid == pid) {
				known[i]->running = false;
				known[i]->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
				close(known[i]->pidfd);
				known[i]->pidfd = -1;
			}
}

/*
 * Kills all descendants, for as long as there are any: between the look and the
 * kill one may have forked. False when some would not go.
 */
static bool kill_descendants(struct run *r)
{
	int64_t deadline = now_ms() + 10 * GRACE_MS;
	struct procs left;

	for (;;) {
		left = descendants();
		for (int i = 0; i < left.cnt; i++)
			kill(left.v[i].pid, SIGKILL);
		free(left.v);
		reap(r);
		if (!left.cnt)
			return true;
		if (now_ms() > deadline)
			return false;
		sleep_ms(5);
	}
}

static bool is_sonde(const struct proc *p)
{
	struct stat exe, sonde;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	if (stat(path, &exe) == 0 && stat(sonde_path, &sonde) == 0 && exe.st_dev == sonde.st_dev && exe.st_ino == sonde.st_ino)
		return true;
	/* A sonde that is a script has its interpreter there, but its own name. */
	return !strcmp(p->comm, "sonde");
}

/*
 * Sends SIGINT to the tracer. Not to its whole group, as a terminal would: the
 * shell around it would die at once, before the tracer has printed its maps. It
 * goes to the processes that are sonde; if there is none (another tracer is on
 * trial) to all but the shell; if the shell became the tracer, to that.
 */
static void interrupt_tracer(struct run *r)
{
	struct procs all = descendants();
	int sent = 0;

	for (int i = 0; i < all.cnt; i++)
		if (all.v[i].session != r->workload.pid && is_sonde(&all.v[i]) && kill(all.v[i].pid, SIGINT) == 0)
			sent++;
	for (int i = 0; i < all.cnt && !sent; i++)
		if (all.v[i].session == r->tracer.pid && all.v[i].pid != r->tracer.pid)
			kill(all.v[i].pid, SIGINT), sent++;
	if (!sent)
		kill(r->tracer.pid, SIGINT);
	free(all.v);
}

/* What the children are given: set up once, in main. */
static char *child_path;

/*
 * Starts /bin/sh -c command in dir, in a session of its own. Does not return in
 * the child.
 */
static void child_start(struct child *c, const struct test *t, const char *dir, const char *command, int in, int out, int err)
{
	char *test_dir, *slash;

	test_dir = realpath(t->file, NULL);
	if (test_dir && (slash = strrchr(test_dir, '/')))
		*slash = '\0';
	fflush(NULL);
	c->pid = fork();
	if (c->pid < 0)
		die("fork: %s", strerror(errno));
	if (c->pid == 0) {
		setsid();
		signal(SIGPIPE, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		if (chdir(dir) != 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
			_exit(127);
		setenv("PATH", child_path, 1);
		setenv("TESTDIR", test_dir ? test_dir : ".", 1);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		dprintf(2, "/bin/sh: %s\n", strerror(errno));
		_exit(127);
	}
	free(test_dir);
	c->running = true;
	/* Our child cannot vanish before we wait for it, so this finds it. */
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		die("pidfd_open: %s", strerror(errno));
}

/* A pipe whose reading end never blocks us. */
static void open_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) != 0)
		die("pipe: %s", strerror(errno));
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
}

static int open_stdin(const char *input)
{
	size_t len, done = 0;
	int fd;

	if (!input) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("/dev/null: %s", strerror(errno));
		return fd;
	}
	/* A file rather than a pipe: nobody has to feed it. */
	fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0)
		die("memfd_create: %s", strerror(errno));
	len = strlen(input);
	while (done < len) {
		ssize_t n = write(fd, input + done, len - done);

		if (n < 0)
			die("input: %s", strerror(errno));
		done += n;
	}
	if (write(fd, "\n", 1) != 1)
		die("input: %s", strerror(errno));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Reads what a pipe holds; closes it and sets *fd to -1 at its end. */
static void drain(struct run *r, int *fd, struct buf *b)
{
	static char text[65536];
	ssize_t n;

	if (*fd < 0)
		return;
	while ((n = read(*fd, text, sizeof(text))) > 0) {
		/* Past the limit the pipe is still emptied, or the tracer would hang. */
		if (b->len + n > OUTPUT_MAX)
			r->too_much = true;
		else
			buf_add(b, text, n);
		/* A flood must not keep us from looking at the clock. */
		if (n < (ssize_t)sizeof(text))
			return;
		break;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(*fd);
		*fd = -1;
	}
}

/* ---- lines -------------------------------------------------------------- */

/* Takes the next line from *pos; false at the end. A last line without newline counts. */
static bool next_line(const struct buf *b, size_t *pos, const char **line, size_t *len)
{
	const char *end;

	if (*pos >= b->len)
		return false;
	*line = b->data + *pos;
	end = memchr(*line, '\n', b->len - *pos);
	*len = end ? (size_t)(end - *line) : b->len - *pos;
	*pos += *len + 1;
	return true;
}

static bool line_matches(const regex_t *re, const char *line, size_t len, regmatch_t group[2])
{
	regmatch_t own[2];
	regmatch_t *m = group ? group : own;

	m[0].rm_so = 0;
	m[0].rm_eo = len;
	/* REG_STARTEND: the line is not terminated, and may hold a NUL. */
	return regexec(re, line, 2, m, REG_STARTEND) == 0;
}

/*
 * Whether a line from *pos on matches. Moves *pos past the lines that are
 * complete; one that is not is looked at again when it has grown.
 */
static bool scan(const struct buf *b, size_t *pos, const regex_t *re)
{
	const char *line;
	size_t at = *pos, len;

	while (next_line(b, &at, &line, &len)) {
		if (line_matches(re, line, len, NULL))
			return true;
		if (at <= b->len)
			*pos = at;
	}
	return false;
}

/* ---- one test ------------------------------------------------------------ */

static bool became_ready(struct run *r)
{
	static regex_t attached;
	static bool compiled;

	if (r->test->has_ready)
		return scan(&r->out, &r->out_scanned, &r->test->ready.re) || scan(&r->err, &r->err_scanned, &r->test->ready.re);
	if (!compiled)
		compiled = regcomp(&attached, "^Attached [0-9]+ probe", REG_EXTENDED) == 0;
	return scan(&r->err, &r->err_scanned, &attached);
}

static void start_workload(struct run *r, const char *dir)
{
	int null = open_stdin(NULL), fds[2];

	open_pipe(fds);
	child_start(&r->workload, r->test, dir, r->test->after, null, fds[1], fds[1]);
	close(fds[1]);
	close(null);
	r->work_fd = fds[0];
}

/* Waits for news of the pipes and children, at most until `until`. */
static void wait_news(struct run *r, int64_t until)
{
	struct pollfd fds[5];
	int64_t ms = until - now_ms();
	int n = 0;

	if (r->out_fd >= 0)
		fds[n++] = (struct pollfd){ .fd = r->out_fd, .events = POLLIN };
	if (r->err_fd >= 0)
		fds[n++] = (struct pollfd){ .fd = r->err_fd, .events = POLLIN };
	if (r->work_fd >= 0)
		fds[n++] = (struct pollfd){ .fd = r->work_fd, .events = POLLIN };
	if (r->tracer.running)
		fds[n++] = (struct pollfd){ .fd = r->tracer.pidfd, .events = POLLIN };
	if (r->workload.running)
		fds[n++] = (struct pollfd){ .fd = r->workload.pidfd, .events = POLLIN };
	/* Never longer than a second: a signal between a look and poll is not lost. */
	poll(fds, n, ms < 0 ? 0 : ms > 1000 ? 1000 : ms);
	drain(r, &r->out_fd, &r->out);
	drain(r, &r->err_fd, &r->err);
	drain(r, &r->work_fd, &r->work);
	reap(r);
}

/*
 * Runs the commands of a test to their end, in this order: the tracer becomes
 * ready, the workload runs, things settle, the tracer is interrupted, ends, and
 * closes its pipes.
 */
static void run_commands(struct run *r, const char *dir)
{
	const struct test *t = r->test;
	bool attaches = t->after || t->has_ready;
	bool ready = false, signalled = false;
	int64_t start = now_ms(), deadline = start + (int64_t)t->timeout_s * 1000 * scale;
	int64_t settled = -1, closed_by = -1;
	int in = open_stdin(t->input), out[2], err[2];

	open_pipe(out);
	open_pipe(err);
	child_start(&r->tracer, t, dir, t->run, in, out[1], err[1]);
	close(in);
	close(out[1]);
	close(err[1]);
	r->out_fd = out[0];
	r->err_fd = err[0];

	for (;;) {
		int64_t now = now_ms(), until = deadline;

		if (interrupted)
			return;
		if (now >= deadline) {
			problem(r, "timed out after %d s%s", t->timeout_s * scale,
				attaches && !ready          ? ": the tracer never became ready" :
					r->workload.running ? ": the workload did not end" :
					signalled           ? ": the tracer did not end after SIGINT" :
							      "");
			return;
		}
		if (attaches && !ready && became_ready(r)) {
			ready = true;
			if (t->after)
				start_workload(r, dir);
		}
		if (attaches && ready && !r->workload.running && settled < 0)
			settled = now + (int64_t)t->settle_ms * scale;
		if (settled >= 0 && !signalled) {
			if (now >= settled && r->tracer.running) {
				interrupt_tracer(r);
				signalled = true;
			} else if (settled < until) {
				until = settled;
			}
		}
		if (!r->tracer.running && !r->workload.running) {
			bool closed = r->out_fd < 0 && r->err_fd < 0;

			if (closed_by < 0)
				closed_by = now + GRACE_MS * scale;
			/* Open pipes without a tracer: somebody was left behind. */
			if (closed || now >= closed_by) {
				if (attaches && !ready)
					problem(r, "the tracer ended before it was ready");
				return;
			}
			if (closed_by < until)
				until = closed_by;
		}
		wait_news(r, until);
	}
}

/* Fails the test if the tracer left processes; ends whatever is there. */
static void clear_processes(struct run *r)
{
	int64_t deadline = now_ms() + GRACE_MS * scale;
	bool ended = !r->tracer.running && !r->workload.running;
	struct procs left;
	int of_tracer;

	/* Those on their way out get a moment; after a time-out there is no point. */
	for (;;) {
		reap(r);
		left = descendants();
		of_tracer = 0;
		/* The workload may leave something in the background, that is its affair. */
		for (int i = 0; i < left.cnt; i++)
			of_tracer += left.v[i].session != r->workload.pid;
		if (!of_tracer || !ended || now_ms() >= deadline)
			break;
		free(left.v);
		sleep_ms(10);
	}
	if (ended)
		for (int i = 0; i < left.cnt; i++)
			if (left.v[i].session != r->workload.pid)
				problem(r, "the tracer left a process: %d (%s)", left.v[i].pid, left.v[i].comm);
	free(left.v);
	if (!kill_descendants(r))
		problem(r, "processes are left that cannot be killed");
}

static bool status_fits(int want, int got)
{
	return want == STATUS_ANY || (want == STATUS_NONZERO ? got != 0 : got == want);
}

static void check_status(struct run *r, const char *whose, int want, int got)
{
	if (status_fits(want, got))
		return;
	if (want == STATUS_NONZERO)
		problem(r, "%s is 0, expected another", whose);
	else
		problem(r, "%s is %d, expected %d", whose, got, want);
}

static void check_expected(struct run *r, const struct expressions *list, const struct buf *b, const char *key)
{
	size_t pos = 0, len;
	const char *line;

	for (int i = 0; i < list->cnt; i++) {
		size_t any = 0;
		bool found = false;

		while (!found && next_line(b, &pos, &line, &len))
			found = line_matches(&list->v[i].re, line, len, NULL);
		if (found)
			continue;
		problem(r, "%s: no line matches: %s%s", key, list->v[i].text,
			i > 0 && scan(b, &any, &list->v[i].re) ?
				"\n(one does, but not after the line that matched the expression before)" :
				"");
		return;
	}
}

static void check_rejected(struct run *r, const struct expressions *list, const struct buf *b, const char *key)
{
	const char *line;
	size_t len;

	for (int i = 0; i < list->cnt; i++)
		for (size_t pos = 0; next_line(b, &pos, &line, &len);)
			if (line_matches(&list->v[i].re, line, len, NULL)) {
				problem(r, "%s: '%s' matches: %.*s", key, list->v[i].text,
					(int)(len < SHOWN_COLUMNS ? len : SHOWN_COLUMNS), line);
				break;
			}
}

static void check_exact(struct run *r)
{
	const struct buf *want = &r->test->exact, *got = &r->out;
	size_t want_pos = 0, got_pos = 0, want_len, got_len;
	const char *want_line, *got_line;
	int line_no = 0;

	if (!r->test->has_exact || (want->len == got->len && !memcmp(want->data, got->data, want->len)))
		return;
	for (;;) {
		bool more = next_line(want, &want_pos, &want_line, &want_len);
		bool came = next_line(got, &got_pos, &got_line, &got_len);

		line_no++;
		if (!more && !came) {
			problem(r, "exact: the last line has no newline");
			return;
		}
		if (!more) {
			problem(r, "exact: line %d is one too many: %.*s", line_no, (int)got_len, got_line);
			return;
		}
		if (!came) {
			problem(r, "exact: line %d is missing: %.*s", line_no, (int)want_len, want_line);
			return;
		}
		if (want_len != got_len || memcmp(want_line, got_line, want_len) != 0) {
			problem(r, "exact: line %d is:  %.*s\n           expected:  %.*s", line_no, (int)got_len, got_line,
				(int)want_len, want_line);
			return;
		}
	}
}

/* The text that the group captured on the first line that matches, or NULL. */
static char *captured(const struct buf *b, const regex_t *re)
{
	const char *line;
	size_t pos = 0, len;
	regmatch_t m[2];

	while (next_line(b, &pos, &line, &len))
		if (line_matches(re, line, len, m))
			return m[1].rm_so < 0 ? xstrdup("") : strndup(line + m[1].rm_so, m[1].rm_eo - m[1].rm_so);
	return NULL;
}

static void check_equal(struct run *r)
{
	for (int i = 0; i < r->test->equal_cnt; i++) {
		const struct pair *p = &r->test->equal[i];
		char *a = captured(&r->out, &p->a), *b = captured(&r->out, &p->b);

		if (!a || !b)
			problem(r, "equal: no line matches the %s of: %s", a ? "second" : "first", p->text);
		else if (strcmp(a, b) != 0)
			problem(r, "equal: '%s' is not '%s': %s", a, b, p->text);
		free(a);
		free(b);
	}
}

static void check_results(struct run *r)
{
	const struct test *t = r->test;

	if (r->too_much)
		problem(r, "more than %d MB of output", OUTPUT_MAX >> 20);
	check_status(r, "the exit status", t->status, r->tracer.status);
	if (r->workload.pid)
		check_status(r, "the workload's status", t->after_status, r->workload.status);
	check_expected(r, &t->expect, &r->out, "expect");
	check_expected(r, &t->expect_err, &r->err, "expect-err");
	check_rejected(r, &t->reject, &r->out, "reject");
	check_rejected(r, &t->reject_err, &r->err, "reject-err");
	check_exact(r);
	check_equal(r);
}

/* ---- reporting ------------------------------------------------------------ */

/* Adds one line, harmless to a terminal and of bounded length. */
static void show_line(struct buf *to, const char *line, size_t len)
{
	size_t shown = len < SHOWN_COLUMNS ? len : SHOWN_COLUMNS;

	for (size_t i = 0; i < shown; i++) {
		unsigned char c = line[i];

		if (c < ' ' && c != '\t')
			buf_printf(to, "\\x%02x", c);
		else if (c == 0x7f)
			buf_printf(to, "\\x7f");
		else
			buf_add(to, &c, 1);
	}
	if (shown < len)
		buf_printf(to, " ... (%zu bytes more)", len - shown);
	buf_add(to, "\n", 1);
}

static void show_text(struct buf *to, const char *title, const char *mark, const struct buf *b)
{
	const char *line;
	size_t pos, len, cnt = 0, i = 0;

	if (!b->len) {
		buf_printf(to, "    %s (empty)\n", title);
		return;
	}
	buf_printf(to, "    %s\n", title);
	for (pos = 0; next_line(b, &pos, &line, &len);)
		cnt++;
	for (pos = 0; next_line(b, &pos, &line, &len); i++) {
		/* Both ends of a long text matter: how it began, and how it ended. */
		if (cnt > SHOWN_LINES && i == SHOWN_LINES / 2)
			buf_printf(to, "      ... %zu lines left out ...\n", cnt - SHOWN_LINES);
		if (cnt > SHOWN_LINES && i >= SHOWN_LINES / 2 && i < cnt - SHOWN_LINES / 2)
			continue;
		buf_printf(to, "      %s", mark);
		show_line(to, line, len);
	}
	if (b->data[b->len - 1] != '\n')
		buf_printf(to, "      (no newline at the end)\n");
}

static void show_string(struct buf *to, const char *title, const char *mark, const char *text)
{
	struct buf b = { .data = (char *)text, .len = strlen(text) };
	bool ended = b.len && text[b.len - 1] == '\n';
	char *copy = ended ? NULL : xasprintf("%s\n", text);

	if (copy)
		b = (struct buf){ .data = copy, .len = strlen(copy) };
	show_text(to, title, mark, &b);
	free(copy);
}

/* What a test did, and what is wrong with it if anything is. */
static void show_run(struct buf *to, struct run *r)
{
	const struct test *t = r->test;

	buf_printf(to, "    at %s:%d\n", t->file, t->line);
	if (r->problems.len)
		show_string(to, "problem:", "", r->problems.data);
	show_string(to, "run:", "", t->run);
	if (t->after)
		show_string(to, "after:", "", t->after);
	if (r->tracer.running)
		buf_printf(to, "    status: (still running)\n");
	else
		buf_printf(to, "    status: %d\n", r->tracer.status);
	show_text(to, "stdout:", "| ", &r->out);
	show_text(to, "stderr:", "| ", &r->err);
	if (r->workload.pid) {
		if (!r->workload.running)
			buf_printf(to, "    workload's status: %d\n", r->workload.status);
		show_text(to, "workload's output:", "| ", &r->work);
	} else if (t->after) {
		buf_printf(to, "    the workload was not run\n");
	}
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_tree(const char *dir)
{
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- all tests ------------------------------------------------------------ */

/* Shared by the workers of --jobs. */
struct totals {
	atomic_int next; /* the first test that nobody has taken */
	atomic_int passed, failed, skipped;
	atomic_flag printing;
};

static struct totals *totals;
static int64_t *took_ms; /* of each test, shared like totals */
static const char *tmp_root;
static bool verbose;

/* One write per result, so that those of several workers do not mix. */
static void print_result(const struct buf *b)
{
	while (atomic_flag_test_and_set(&totals->printing))
		sleep_ms(1);
	fwrite(b->data, 1, b->len, stdout);
	fflush(stdout);
	atomic_flag_clear(&totals->printing);
}

static void run_test(const struct test *t)
{
	struct run r = { .test = t, .out_fd = -1, .err_fd = -1, .work_fd = -1 };
	char *reason = unmet_need(t->needs), *dir;
	struct buf result = {};

	if (reason) {
		buf_printf(&result, "skip %s: %s\n", t->name, reason);
		print_result(&result);
		buf_release(&result);
		free(reason);
		totals->skipped++;
		return;
	}
	dir = xasprintf("%s/sonde-test.XXXXXX", tmp_root);
	if (!mkdtemp(dir))
		die("%s: %s", dir, strerror(errno));
	/* Tests may drop privileges and still write here. */
	chmod(dir, 0777);

	run_commands(&r, dir);
	if (interrupted) {
		kill_descendants(&r);
		remove_tree(dir);
		_exit(128 + interrupted);
	}
	clear_processes(&r);
	/* What a killed process had still written, for the report. */
	drain(&r, &r.out_fd, &r.out);
	drain(&r, &r.err_fd, &r.err);
	drain(&r, &r.work_fd, &r.work);
	/* After a time-out the rest is known to be wrong. */
	if (!r.problems.len)
		check_results(&r);

	if (r.problems.len) {
		totals->failed++;
		buf_printf(&result, "not ok %s\n", t->name);
		show_run(&result, &r);
	} else {
		totals->passed++;
		buf_printf(&result, "ok %s\n", t->name);
		if (verbose)
			show_run(&result, &r);
	}
	print_result(&result);

	for (int *fd = (int[]){ r.out_fd, r.err_fd, r.work_fd, -2 }; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	buf_release(&result);
	buf_release(&r.out);
	buf_release(&r.err);
	buf_release(&r.work);
	buf_release(&r.problems);
	remove_tree(dir);
	free(dir);
}

static void work(void)
{
	int i;

	/* Descendants whose parent ends become ours, each worker's its own. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		die("prctl: %s", strerror(errno));
	while ((i = atomic_fetch_add(&totals->next, 1)) < test_cnt && !interrupted) {
		int64_t start = now_ms();

		run_test(&tests[i]);
		took_ms[i] = now_ms() - start;
	}
}

static void print_slowest(int cnt)
{
	while (cnt-- > 0) {
		int slowest = 0;

		for (int i = 1; i < test_cnt; i++)
			if (took_ms[i] > took_ms[slowest])
				slowest = i;
		if (!test_cnt || !took_ms[slowest])
			return;
		printf("# %.1f s: %s\n", took_ms[slowest] / 1000.0, tests[slowest].name);
		took_ms[slowest] = 0;
	}
}

/* True when every worker came to its end. */
static bool work_parallel(int jobs)
{
	pid_t pids[64];
	bool good = true;
	int status;

	fflush(NULL);
	for (int i = 0; i < jobs; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (pids[i] == 0) {
			/* Should the parent be killed, nobody would read the results. */
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			work();
			fflush(stdout);
			_exit(0);
		}
	}
	for (int i = 0; i < jobs; i++) {
		while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
			if (interrupted)
				kill(pids[i], SIGTERM);
		good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return good;
}

static void on_signal(int sig)
{
	interrupted = sig;
}

static char *dir_of(const char *path)
{
	char *dir = realpath(path, NULL), *slash;

	if (!dir)
		die("%s: %s", path, strerror(errno));
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	return dir;
}

/* What via-image.c is told by its environment. Images are left in the folder of its link. */
static void set_up_images(const char *dir)
{
	char *images = xasprintf("%s/images", dir);

	if (mkdir(images, 0777) != 0)
		die("%s: %s", images, strerror(errno));
	/* Tests may drop privileges and still write here. */
	chmod(images, 01777);
	setenv("VIA_IMAGE_SONDE", sonde_path, 1);
	setenv("VIA_IMAGE_DIR", images, 1);
	free(images);
}

/*
 * Finds the sonde under test and sets the PATH that commands see. A binary that
 * is not called sonde is given that name in *link_dir, which is to be removed; so
 * is the program of --via-image, which commands then run instead.
 */
static void set_up_path(const char *sonde, const char *via_image, char **link_dir)
{
	char *self = dir_of("/proc/self/exe"), *dir, *link, *target;
	const char *path = getenv("PATH");
	struct stat st;

	*link_dir = NULL;
	if (!path || !*path)
		path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
	if (!sonde) {
		/* Beside the runner, else the one that the user would get. */
		sonde = xasprintf("%s/sonde", self);
		for (const char *p = path; access(sonde, X_OK) != 0; p += strcspn(p, ":"), p += *p == ':') {
			if (!*p)
				die("no sonde found: give one by --sonde");
			sonde = xasprintf("%.*s/sonde", (int)strcspn(p, ":"), p);
		}
	}
	if (stat(sonde, &st) != 0)
		die("%s: %s", sonde, strerror(errno));
	if (!S_ISREG(st.st_mode) || access(sonde, X_OK) != 0)
		die("%s: not a program", sonde);
	sonde_path = realpath(sonde, NULL);
	dir = dir_of(sonde);
	target = via_image ? realpath(via_image, NULL) : xstrdup(sonde_path);
	if (!target)
		die("%s: %s", via_image, strerror(errno));
	if (via_image || strcmp(strrchr(sonde_path, '/') + 1, "sonde") != 0) {
		*link_dir = xasprintf("%s/sonde-bin.XXXXXX", tmp_root);
		if (!mkdtemp(*link_dir))
			die("%s: %s", *link_dir, strerror(errno));
		chmod(*link_dir, 0755);
		link = xasprintf("%s/sonde", *link_dir);
		if (symlink(target, link) != 0)
			die("%s: %s", link, strerror(errno));
		free(link);
		dir = *link_dir;
	}
	free(target);
	if (via_image)
		set_up_images(dir);
	child_path = xasprintf("%s:%s:%s", dir, self, path);
	/* needs: command: looks here too. */
	setenv("PATH", child_path, 1);
}

/* Results must not depend on who runs the tests. */
static void set_up_environment(void)
{
	extern char **environ;
	bool again;

	do {
		again = false;
		for (char **e = environ; *e && !again; e++) {
			char *name = strndup(*e, strcspn(*e, "="));

			if (!strncmp(name, "BPFTRACE_", 9) || (!strncmp(name, "SONDE_", 6) && strcmp(name, "SONDE_GUEST") != 0)) {
				unsetenv(name);
				again = true;
			}
			free(name);
		}
	} while (again);
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "UTC", 1);
	setenv("TERM", "dumb", 1);
}

/* Keeps the tests whose name matches one of the globs. */
static void filter_tests(char **globs, int glob_cnt)
{
	int kept = 0;

	for (int i = 0; i < test_cnt; i++) {
		bool keep = glob_cnt == 0;

		for (int g = 0; g < glob_cnt; g++)
			keep = keep || fnmatch(globs[g], tests[i].name, 0) == 0;
		if (keep)
			tests[kept++] = tests[i];
	}
	if (test_cnt && !kept)
		fprintf(stderr, "runner: no test matches the filter\n");
	test_cnt = kept;
}

static void usage(FILE *to)
{
	fputs("usage: runner [--sonde PATH] [--filter GLOB]... [--jobs N] [--scale-timeouts N] [--verbose] [--slowest N]\n"
	      "              [--via-image PROGRAM] [--check] FILE...\n",
	      to);
}

/* The argument of option argv[*i], if that is `name`. Moves *i on. */
static const char *option(char **argv, int *i, const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(argv[*i], name, len) && argv[*i][len] == '=')
		return argv[*i] + len + 1;
	if (strcmp(argv[*i], name) != 0)
		return NULL;
	if (!argv[*i + 1])
		die("%s wants an argument", name);
	return argv[++*i];
}

static int option_number(const char *text, const char *name, int max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < 1 || n > max)
		die("%s: '%s' is not a number from 1 to %d", name, text, max);
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	const char *sonde = NULL, *via_image = NULL, *value;
	char **globs = xrealloc(NULL, argc * sizeof(*globs)), *link_dir;
	int glob_cnt = 0, jobs = 1, slowest = 0, i;
	bool good = true, check = false;

	for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		if ((value = option(argv, &i, "--sonde"))) {
			sonde = value;
		} else if ((value = option(argv, &i, "--filter"))) {
			globs[glob_cnt++] = (char *)value;
		} else if ((value = option(argv, &i, "--jobs"))) {
			jobs = option_number(value, "--jobs", 64);
		} else if ((value = option(argv, &i, "--scale-timeouts"))) {
			scale = option_number(value, "--scale-timeouts", 100);
		} else if ((value = option(argv, &i, "--slowest"))) {
			slowest = option_number(value, "--slowest", 1000);
		} else if ((value = option(argv, &i, "--via-image"))) {
			via_image = value;
		} else if (!strcmp(argv[i], "--verbose")) {
			verbose = true;
		} else if (!strcmp(argv[i], "--check")) {
			check = true;
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			usage(stdout);
			return 0;
		} else if (!strcmp(argv[i], "--")) {
			i++;
			break;
		} else {
			usage(stderr);
			die("unknown option %s", argv[i]);
		}
	}
	if (i == argc) {
		usage(stderr);
		return EXIT_MALFORMED;
	}
	tmp_root = getenv("TMPDIR");
	if (!tmp_root || !*tmp_root)
		tmp_root = "/tmp";
	/* All files are read before anything runs: a slip is found at once. */
	for (; i < argc; i++)
		read_tests(argv[i]);
	if (check)
		return 0;
	filter_tests(globs, glob_cnt);

	set_up_environment();
	set_up_path(sonde, via_image, &link_dir);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);

	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	took_ms = mmap(NULL, (test_cnt + 1) * sizeof(*took_ms), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED || took_ms == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	if (jobs == 1)
		work();
	else
		good = work_parallel(jobs);
	if (link_dir)
		remove_tree(link_dir);
	if (!good)
		fprintf(stderr, "runner: a worker ended early\n");
	print_slowest(slowest);
	printf("%d passed, %d failed, %d skipped\n", totals->passed, totals->failed, totals->skipped);
	return totals->failed || !good ? 1 : 0;
}
