/* SPDX-License-Identifier: GPL-2.0-only */
/* The compiler knows of the machine what struct target says, and nothing else. Scripts are compiled, and probes are listed, for a
 * machine that exists only in this file. Meanwhile the process may not make a system call other than for memory and output. */
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/glob.h"
#include "bpf/build.h"
#include "image/feature.h"
#include "image/uapi.h"
#include "lang/provider.h"
#include "types/btf.h"
#include "types/btfwriter.h"

/* ---- the machine ---- */

static struct type_source *types;
static u32 asked_types; /* how often */

static u32 id_read, id_raw_hit, id_sys_enter, id_iter; /* numbers in its BTF */

static struct type_source *get_types(void)
{
	asked_types++;
	return types;
}

static bool has(u32 feature)
{
	return feature == KF_TP_BTF;
}

static const struct {
	const char *name, *module;
	u64 addr;
	char type;
	bool is_hidden; /* a function that cannot be traced */
} symbols[] = {
	{ "nova_read", NULL, 0xffffffff90000000, 'T' },
	{ "nova_write", NULL, 0xffffffff90000040, 't' },
	{ "nova_many", NULL, 0xffffffff90000100, 'T' },
	{ "__traceiter_comet", NULL, 0xffffffff90000200, 'T' },
	{ "nova_state", NULL, 0xffffffff91000000, 'D' },
	{ "dust_read", "dust", 0xffffffffd0000000, 't' },
	{ "nova_skip.isra.0", NULL, 0xffffffff90000280, 't', true },
	{ "twin_next", NULL, 0xffffffff90000300, 't', true },
	{ "twin_next", NULL, 0xffffffff90000340, 't' },
	{ "twin_stop", NULL, 0xffffffff90000380, 't' },
	{ "twin_stop", NULL, 0xffffffff900003c0, 't' },
};

static u64 kaddr(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(symbols); i++)
		if (str_eq(symbols[i].name, name))
			return symbols[i].addr;
	return 0;
}

static int each_symbol(ksym_fn fn, void *arg)
{
	for (u32 i = 0; i < ARRAY_CNT(symbols); i++)
		if (!fn(arg, &(struct ksym){ symbols[i].addr, symbols[i].name, symbols[i].module }, symbols[i].type))
			break;
	return 0;
}

static int each_function(bool (*fn)(void *arg, const char *name, const char *module), void *arg)
{
	for (u32 i = 0; i < ARRAY_CNT(symbols); i++)
		if (ksym_is_text(symbols[i].type) && !symbols[i].is_hidden && !fn(arg, symbols[i].name, symbols[i].module))
			break;
	return 0;
}

/* Behind the landing pad of each function. */
static int each_function_at(bool (*fn)(void *arg, const char *name, u64 at), void *arg)
{
	for (u32 i = 0; i < ARRAY_CNT(symbols); i++)
		if (ksym_is_text(symbols[i].type) && !symbols[i].is_hidden && !fn(arg, symbols[i].name, symbols[i].addr + 4))
			break;
	return 0;
}

#define COMMON "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"

static const struct {
	const char *category, *event, *format;
} events[] = {
	{ "nova", "comet",
	  "name: comet\nID: 1\n" COMMON "\tfield:u64 mass;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:struct nova_file * file;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n" },
	{ "nova", "comet_gone",
	  "name: comet_gone\nID: 2\n" COMMON "\tfield:int why;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n" },
	{ "syscalls", "sys_enter_openat",
	  "name: sys_enter_openat\nID: 3\n" COMMON "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n" },
};

static int each_event(const char *category, const char *event, void (*fn)(void *arg, const char *category, const char *event),
		      void *arg)
{
	int cnt = 0;

	for (u32 i = 0; i < ARRAY_CNT(events); i++) {
		if (!glob_match(category, events[i].category) || !glob_match(event, events[i].event))
			continue;
		fn(arg, events[i].category, events[i].event);
		cnt++;
	}
	return cnt;
}

static int event_format(const char *category, const char *event, char **text)
{
	for (u32 i = 0; i < ARRAY_CNT(events); i++) {
		if (str_eq(category, events[i].category) && str_eq(event, events[i].event)) {
			*text = xstrdup(events[i].format);
			return 0;
		}
	}
	return -ENOENT;
}

/* Programs 7 and 9. */
static int next_prog(u32 id, u32 *next)
{
	*next = id < 7 ? 7 : 9;
	return id < 9 ? 0 : -ENOENT;
}

static void each_prog_func(u32 prog, void (*fn)(void *arg, const char *name, u32 id), void *arg)
{
	if (prog == 7)
		fn(arg, "count_stars", 70);
	fn(arg, "helper", 10 * prog + 1);
}

static int each_pmu_event(void (*fn)(void *arg, const char *pmu, const char *name), void *arg)
{
	fn(arg, "warp", "jumps");
	return 0;
}

static int pmu_event(const char *pmu, const char *terms, struct pmu_event *ev, struct sbuf *why)
{
	if (str_eq(pmu, "warp") && str_eq(terms, "jumps")) {
		*ev = (struct pmu_event){ 99, { 1 } };
		return 0;
	}
	sbuf_puts(why, "the warp core is cold");
	return -ENODEV;
}

static s64 cgroup_id(const char *path)
{
	return str_eq(path, "/nova/group") ? 4242 : -ENOENT;
}

static const struct machine nova = {
	.has = has,
	.types = get_types,
	.kaddr = kaddr,
	.each_symbol = each_symbol,
	.each_function = each_function,
	.each_function_at = each_function_at,
	.each_event = each_event,
	.event_format = event_format,
	.next_prog = next_prog,
	.each_prog_func = each_prog_func,
	.each_pmu_event = each_pmu_event,
	.pmu_event = pmu_event,
	.cgroup_id = cgroup_id,
};

static const struct target target = {
	.ncpus = 2,
	.features = KF_BIT(KPROBE) | KF_BIT(KPROBE_MULTI) | KF_BIT(BTF) | KF_BIT(FENTRY) | KF_BIT(RAW_TP_EXACT),
	.askable = KF_BIT(TP_BTF),
	.machine = &nova,
};

/* ---- its types ---- */

static u32 proto(struct btfwriter *w, u32 ret, const char *const *names, const u32 *params, u32 cnt)
{
	u32 id = btfwriter_type(w, BTF_KIND_FUNC_PROTO, NULL, ret, cnt, false);

	for (u32 i = 0; i < cnt; i++) {
		struct btf_param p = { btfwriter_str(w, names ? names[i] : NULL), params[i] };

		btfwriter_tail(w, &p, sizeof(p));
	}
	return id;
}

static u32 func(struct btfwriter *w, const char *name, u32 proto_id)
{
	return btfwriter_type(w, BTF_KIND_FUNC, name, proto_id, 0, false);
}

static void member(struct btfwriter *w, const char *name, u32 type, u32 off)
{
	struct btf_member m = { btfwriter_str(w, name), type, 8 * off };

	btfwriter_tail(w, &m, sizeof(m));
}

static void raw_tp(struct btfwriter *w, const char *name, const char *const *names, const u32 *params, u32 cnt, u32 *id)
{
	static char text[4][64]; /* live as long as the writer's arena */
	static u32 used;
	char *def = text[used++], *iter = text[used++];
	u32 p = proto(w, 0, NULL, params, cnt);

	snprintf(def, sizeof(text[0]), "btf_trace_%s", name);
	snprintf(iter, sizeof(text[0]), "__traceiter_%s", name);
	*id = btfwriter_type(w, BTF_KIND_TYPEDEF, def, btfwriter_type(w, BTF_KIND_PTR, NULL, p, 0, false), 0, false);
	func(w, iter, proto(w, 0, names, params, cnt));
}

static void make_types(void)
{
	struct arena arena;
	struct btfwriter w;
	u32 t_int, t_long, t_ptr, t_file, t_file_ptr, p_read;
	size_t len;
	u8 *data;
	int err;

	arena_init(&arena);
	btfwriter_init(&w, &arena);
	t_int = btfwriter_int(&w, "int", 4, BTF_INT_SIGNED);
	t_long = btfwriter_int(&w, "long unsigned int", 8, 0);
	t_ptr = btfwriter_type(&w, BTF_KIND_PTR, NULL, 0, 0, false);
	t_file = btfwriter_type(&w, BTF_KIND_STRUCT, "nova_file", 16, 2, false);
	member(&w, "flags", t_int, 0);
	member(&w, "pos", t_long, 8);
	t_file_ptr = btfwriter_type(&w, BTF_KIND_PTR, NULL, t_file, 0, false);
	p_read = proto(&w, t_int, (const char *const[]){ "file", "size" }, (u32[]){ t_file_ptr, t_long }, 2);
	id_read = func(&w, "nova_read", p_read);
	func(&w, "nova_write", p_read);
	func(&w, "nova_many", proto(&w, 0, NULL, (u32[]){ t_int, t_int, t_int, t_int, t_int, t_int, t_int }, 7));
	raw_tp(&w, "comet", (const char *const[]){ "__data", "mass", "file" }, (u32[]){ t_ptr, t_long, t_file_ptr }, 3,
	       &id_raw_hit);
	raw_tp(&w, "sys_enter", (const char *const[]){ "__data", "regs", "id" }, (u32[]){ t_ptr, t_ptr, t_long }, 3,
	       &id_sys_enter);
	id_iter = func(&w, "bpf_iter_star",
		       proto(&w, t_int, (const char *const[]){ "meta", "file" }, (u32[]){ t_ptr, t_file_ptr }, 2));
	btfwriter_type(&w, BTF_KIND_STRUCT, "bpf_iter__star", 16, 2, false);
	member(&w, "meta", t_ptr, 0);
	member(&w, "file", t_file_ptr, 8);
	data = btfwriter_finish(&w, &len);
	types = btf_open_mem(data, len, &err);
	free(data);
	btfwriter_release(&w);
	arena_release(&arena);
	if (!types)
		BUG("the types cannot be read: %d", err);
}

/* ---- compiling ---- */

struct trial {
	struct arena arena;
	struct diag diag;
	struct compile c;
	struct sbuf text;          /* messages, or the names of all sites */
	const struct image *image; /* NULL: it was refused */
};

static void trial_run(struct trial *t, const char *script)
{
	u32 src;

	*t = (struct trial){};
	arena_init(&t->arena);
	diag_init(&t->diag, &t->arena);
	t->c = (struct compile){ .arena = &t->arena, .diag = &t->diag, .target = &target, .config = config_defaults };
	src = diag_add_source(&t->diag, "", script,
			      strlen(script)); /* of no file: the path of a file is looked up, for imports */
	if (lang_parse(&t->c, src) && lang_config(&t->c) && lang_expand(&t->c) && lang_check(&t->c) && image_build(&t->c)) {
		t->image = t->c.image;
		vec_for(s, &t->c.sites)
			sbuf_printf(&t->text, "%s%s", t->text.len ? " " : "", s->name);
	} else {
		diag_print(&t->diag, DIAG_ERROR, false, &t->text);
	}
}

static void trial_release(struct trial *t)
{
	sbuf_release(&t->text);
	arena_release(&t->arena);
}

/* It compiles, to programs with code; these are its sites. */
static void accept(int line, const char *script, const char *sites)
{
	struct trial t;
	bool has_code;

	trial_run(&t, script);
	has_code = t.image && t.image->progs.cnt;
	if (has_code)
		vec_for(p, &t.image->progs)
			has_code &= p->insn_cnt > 0;
	if (has_code && str_eq(sbuf_str(&t.text), sites)) {
		passed++;
	} else {
		failed++;
		printf("%s:%d: %s\n  got:  %s\n  want: %s\n", __FILE__, line, script, sbuf_str(&t.text), sites);
	}
	trial_release(&t);
}

static void refuse(int line, const char *script, const char *message, const char *hint)
{
	struct trial t;

	trial_run(&t, script);
	if (!t.image && strstr(sbuf_str(&t.text), message) && (!hint || strstr(sbuf_str(&t.text), hint))) {
		passed++;
	} else {
		failed++;
		printf("%s:%d: %s\n  got:  %s\n  want: %s %s\n", __FILE__, line, script, sbuf_str(&t.text), message,
		       hint ? hint : "");
	}
	trial_release(&t);
}

#define ACCEPT(script, sites) accept(__LINE__, script, sites)
#define REFUSE(script, message, hint) refuse(__LINE__, script, message, hint)

/* What the first program of the script is attached to. */
static struct prog_attr attr_of(const char *script)
{
	struct prog_attr attr = {};
	struct trial t;

	trial_run(&t, script);
	if (t.image)
		attr = t.image->progs.at[0].attr;
	else
		printf("%s\n", sbuf_str(&t.text));
	trial_release(&t);
	return attr;
}

static void test_tracepoints(void)
{
	ACCEPT("tracepoint:nova:* { @[probe] = count(); }", "tracepoint:nova:comet tracepoint:nova:comet_gone");
	ACCEPT("t:*comet { @ = sum(args.mass); }", "tracepoint:nova:comet");
	ACCEPT("t:nova:comet { @ = args.file->pos + (uint64)args.file->flags; }", "tracepoint:nova:comet");
	ACCEPT("t:nova:comet, t:nova:comet_gone { @ = count(); }", "tracepoint:nova:comet tracepoint:nova:comet_gone");
	ACCEPT("t:syscalls:sys_enter_openat { @[str(args.filename)] = count(); }", "tracepoint:syscalls:sys_enter_openat");
	CHECK(attr_of("t:syscalls:sys_enter_openat { @ = args.dfd; }").attach_btf_id == id_sys_enter); /* askable: TP_BTF */
	REFUSE("t:nova:comet { @ = args.colour; }", "colour", NULL);
	REFUSE("t:nova:commet {}", "No matches for tracepoint nova:commet.", "did you mean tracepoint:nova:comet?");
	REFUSE("t:sched:sched_switch {}", "No matches for tracepoint sched:sched_switch.",
	       "there is no tracepoint category sched");
}

static void test_functions(void)
{
	struct trial t;

	ACCEPT("kprobe:nova_read { @[arg0] = count(); }", "kprobe:nova_read");
	ACCEPT("k:nova_read+4 { @ = count(); }", "kprobe:nova_read+4");
	ACCEPT("k:nova_* { @[func] = count(); }", "kprobe:nova_many kprobe:nova_read kprobe:nova_write");
	ACCEPT("kr:dust:* { @ = retval; }", "kretprobe:dust:dust_read");
	ACCEPT("k:nova_read { @ = ((struct nova_file *)arg0)->pos; }", "kprobe:nova_read");
	REFUSE("k:nova_read+64 {}", "Offset outside the function bounds ('nova_read' size is 64)", NULL);
	REFUSE("k:nova_reed {}", "No matches for kprobe nova_reed.", "did you mean kprobe:nova_read?");
	REFUSE("k:nova_skip {}", "No matches for kprobe nova_skip.", "did you mean kprobe:nova_skip.isra.0?");
	REFUSE("k:ice:* {}", "Module ice is not loaded", NULL);
	REFUSE("k:vfs_read {}", "No matches for kprobe vfs_read.", NULL);

	/* Many functions by one link, those of modules by their addresses. */
	trial_run(&t, "k:dust:*, k:vmlinux:nova_* { @ = count(); }");
	CHECK(t.image && t.image->progs.cnt == 1 && t.image->sites.cnt == 4 &&
	      t.image->progs.at[0].attr.attach_type == BPF_TRACE_KPROBE_MULTI);
	CHECK(t.image && t.image->sites.at[0].addr == 0xffffffffd0000000);
	trial_release(&t);

	/* Of functions that share a name, those that can be traced. */
	trial_run(&t, "k:twin_* { @ = count(); }");
	CHECK(t.image && t.image->sites.cnt == 3 && t.image->sites.at[0].addr == 0xffffffff90000340 &&
	      t.image->sites.at[1].addr == 0xffffffff90000380 && t.image->sites.at[2].addr == 0xffffffff900003c0);
	trial_release(&t);
}

static void test_typed(void)
{
	struct prog_attr a;

	ACCEPT("fentry:nova_read { @ = sum(args.size); }", "fentry:vmlinux:nova_read");
	ACCEPT("fexit:nova_* /retval > 0/ { @[args.file->flags] = count(); }",
	       "fexit:vmlinux:nova_read fexit:vmlinux:nova_write");
	CHECK(attr_of("fentry:nova_read { @ = args.file->pos; }").attach_btf_id == id_read);
	REFUSE("fentry:nova_many {}", "it has more than 6 arguments", "kprobe:nova_many");
	REFUSE("fentry:nova_reed {}", "No matches for fentry nova_reed.", "did you mean fentry:nova_read?");
	REFUSE("fentry:dust_read {}", "the kernel has no type information for it", "kprobe:dust_read");
	REFUSE("fentry:ice:ice_read {}", "Module ice is not loaded, or has no BTF", NULL);

	ACCEPT("rawtracepoint:comet { @ = args.file->pos; }", "rawtracepoint:vmlinux:comet");
	ACCEPT("rt:vmlinux:com* { @ = arg0; }", "rawtracepoint:vmlinux:comet");
	CHECK(attr_of("rt:comet { @ = args.mass; }").attach_btf_id == id_raw_hit);
	REFUSE("rt:comet { @ = arg2; }", "arg2 does not exist", NULL);

	ACCEPT("iter:star { @ = ctx.file->flags; }", "iter:star");
	CHECK(attr_of("iter:star { @ = count(); }").attach_btf_id == id_iter);
	REFUSE("iter:stars {}", "No matches for iter stars.", "did you mean iter:star?");

	ACCEPT("fentry:bpf:* { @ = count(); }", "fentry:bpf:7:count_stars fentry:bpf:7:helper fentry:bpf:9:helper");
	ACCEPT("fexit:bpf:9:* { @ = count(); }", "fexit:bpf:9:helper");
	a = attr_of("fentry:bpf:count_stars { @ = count(); }");
	CHECK(a.prog_id == 7 && a.attach_btf_id == 70);
}

static void test_others(void)
{
	ACCEPT("hardware:warp/jumps/:5 { @ = count(); }", "hardware:warp/jumps/:5");
	ACCEPT("h:jumps { @ = count(); }", "hardware:jumps");
	ACCEPT("s:page-faults { @ = count(); }", "software:page-faults");
	REFUSE("h:warp/leaps/ {}", "warp/leaps/ is not a hardware probe: the warp core is cold", NULL);
	REFUSE("h:warp/leaps/:x {}", "warp/leaps/ is not a hardware probe: the warp core is cold", NULL);
	REFUSE("h:jumps:x {}", "x is not a count of events", NULL);
	ACCEPT("begin { printf(\"%x\", kaddr(\"nova_state\")); }", "begin");
	REFUSE("begin { printf(\"%x\", kaddr(\"jiffies\")); }", "Failed to resolve kernel symbol: jiffies", NULL);
	ACCEPT("begin { if (cgroup == cgroupid(\"/nova/group\")) { exit(); } }", "begin");
	ACCEPT("begin { print(sizeof(struct nova_file)); }", "begin");
	REFUSE("begin { print(sizeof(struct task_struct)); }", "Unknown type: 'struct task_struct'", NULL);
}

/* ---- listing ---- */

static void list(int line, const char *pattern, bool verbose, const char *want)
{
	struct sbuf out = {};
	struct arena arena;
	struct diag d;

	arena_init(&arena);
	diag_init(&d, &arena);
	probe_list(pattern, verbose, &target, &d, &out);
	diag_print(&d, DIAG_ERROR, false, &out);
	if (str_eq(sbuf_str(&out), want)) {
		passed++;
	} else {
		failed++;
		printf("%s:%d: -l %s:\n%s", __FILE__, line, pattern, sbuf_str(&out));
	}
	sbuf_release(&out);
	arena_release(&arena);
}

static void test_list(void)
{
	u32 before;

	list(__LINE__, "tracepoint:*", false,
	     "tracepoint:nova:comet\ntracepoint:nova:comet_gone\ntracepoint:syscalls:sys_enter_openat\n");
	list(__LINE__, "t:nova:comet", true, "tracepoint:nova:comet\n    u64 mass\n    struct nova_file * file\n");
	list(__LINE__, "kprobe:dust:*", false, "kprobe:dust:dust_read\n");
	list(__LINE__, "kprobe:nova_state", false, "ERROR: No matches for kprobe:nova_state\n"); /* no function */
	list(__LINE__, "fexit:nova_read", true,
	     "fexit:vmlinux:nova_read\n    struct nova_file * file\n    long unsigned int size\n    int retval\n");
	list(__LINE__, "kretprobe:nova_read", true, "kretprobe:nova_read\n    int retval\n");
	list(__LINE__, "rt:*", false, "rawtracepoint:vmlinux:comet\nrawtracepoint:vmlinux:sys_enter\n");
	list(__LINE__, "rt:comet", true,
	     "rawtracepoint:vmlinux:comet\n    long unsigned int mass\n    struct nova_file * file\n");
	list(__LINE__, "iter:*", false, "iter:star\n");
	list(__LINE__, "fentry:bpf:7:*", false, "fentry:bpf:7:count_stars\nfentry:bpf:7:helper\n");
	list(__LINE__, "hardware:*jumps*", false, "hardware:warp/jumps/:\n");
	list(__LINE__, "struct nova_*", false, "struct nova_file\n");

	/* Nothing is asked in vain: opening types takes long on a real machine. */
	before = asked_types;
	list(__LINE__, "software:dummy", false, "software:dummy:\n");
	list(__LINE__, "kprobe:nova_read", false, "kprobe:nova_read\n");
	CHECK(asked_types == before);
}

/* ---- nothing else is asked ---- */

static void forbidden(int sig, siginfo_t *info, void *context)
{
	static const char text[] = "the compiler made system call ";
	char digits[12], *p = digits + sizeof(digits);
	u32 nr = (u32)info->si_syscall;

	(void)sig, (void)context;
	*--p = '\n';
	do
		*--p = (char)('0' + nr % 10);
	while ((nr /= 10) > 0);
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) > 0 &&
	    write(STDOUT_FILENO, p, (size_t)(digits + sizeof(digits) - p)) > 0)
		_exit(3);
	_exit(2);
}

/* Classic BPF: <linux/filter.h> does not go with our numbers of the new one. */
struct filter_insn {
	u16 code;
	u8 jt, jf;
	u32 k;
};
struct filter {
	u16 len;
	struct filter_insn *insns;
};
enum { LOAD_WORD = 0x20, JUMP_IF_EQUAL = 0x15, RETURN = 0x06 };

/* From here on only memory and output: no file, no bpf(2), no perf_event_open(2). */
static bool lock_up(void)
{
	static const u32 allowed[] = {
		SYS_read,     SYS_write,       SYS_brk,           SYS_mmap,         SYS_munmap,         SYS_mremap,
		SYS_mprotect, SYS_madvise,     SYS_futex,         SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_exit_group,
		SYS_exit,     SYS_sigaltstack, SYS_clock_gettime, SYS_getpid,       SYS_gettid,         SYS_sched_yield,
	};
	struct filter_insn code[2 * ARRAY_CNT(allowed) + 2], *p = code;
	struct filter filter = { .insns = code };
	struct sigaction act = { .sa_sigaction = forbidden, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &act, NULL);
	*p++ = (struct filter_insn){ LOAD_WORD, .k = offsetof(struct seccomp_data, nr) };
	for (u32 i = 0; i < ARRAY_CNT(allowed); i++) {
		*p++ = (struct filter_insn){ JUMP_IF_EQUAL, 0, 1, allowed[i] };
		*p++ = (struct filter_insn){ RETURN, .k = SECCOMP_RET_ALLOW };
	}
	*p++ = (struct filter_insn){ RETURN, .k = SECCOMP_RET_TRAP };
	filter.len = (u16)(p - code);
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void run_all(void)
{
	test_tracepoints();
	test_functions();
	test_typed();
	test_others();
	test_list();
}

/* In a child with the filter; its counts come back by shared memory. */
static void run_locked_up(void)
{
	u32 *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		passed = failed = 0;
		if (!lock_up()) {
			printf("skipped: system calls cannot be filtered here: %s\n", strerror(errno));
			fflush(stdout);
			_exit(0);
		}
		run_all();
		fflush(stdout);
		counts[0] = passed;
		counts[1] = failed;
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "status %d", status);
	passed += counts[0];
	failed += counts[1];
	munmap(counts, 4096);
}

int main(void)
{
	static char out[4096]; /* stdio asks for the kind of file otherwise, when it makes its buffer */

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	make_types();
	run_all();
	run_locked_up();
	btf_close(types);
	return check_end();
}
