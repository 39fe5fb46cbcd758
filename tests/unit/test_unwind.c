/* SPDX-License-Identifier: GPL-2.0-only */
/* dw_ustack, all of it but the kernel: run/unwind makes the tables of this very process, the interpreter runs the program that
 * walks up the stack, and what it finds is compared with what the compiler's own library finds, which throws exceptions by the
 * same tables. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "bpf/build.h"
#include "image/unwind.h"
#include "check.h"
#include "lang/compile.h"
#include "image/object.h"
#include "run/unwind.h"
#include "store/scalar.h"
#include "sym/cfi.h"
#include "sym/proc.h"
#include "vm/vm.h"

#ifdef __x86_64__

#ifdef __clang__
#define FUNC __attribute__((noinline, disable_tail_calls))
#else
#define FUNC __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls", "omit-frame-pointer")))
#endif

enum { LIMIT = 200 };

static struct arena arena;
static struct diag diag;
static struct target target = { .ncpus = 1, .has_unwind_pids = true };
static struct compile c;
static struct session session;
static u64 regs[21]; /* struct pt_regs */
static volatile int sink;

/* What a walk gave: a value as the script has it. */
struct taken {
	u64 pid, cnt, frames[LIMIT];
};

static const struct taken *walk(void)
{
	CHECK(!session.obj->ops->prog_run(session.obj, 0, NULL));
	return (const void *)((const u8 *)session.obj->ops->map_mem(session.obj, MAP_IDX_DATA) +
			      scalar_layer(c.image->script_maps.at[0].top)->data_off);
}

/* Faults that the last run counted; each reason has one. */
static u64 faults(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < c.image->faults.cnt; i++)
		sum += ((const struct fault_count *)((const u8 *)session.obj->ops->map_mem(session.obj, MAP_IDX_DATA) +
						     c.image->faults.at[i].off))
			       ->cnt;
	return sum;
}

struct wanted {
	u64 frames[LIMIT];
	u32 cnt;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *ctx, void *arg)
{
	struct wanted *w = arg;

	if (w->cnt == LIMIT || !_Unwind_GetIP(ctx))
		return _URC_END_OF_STACK;
	w->frames[w->cnt++] = _Unwind_GetIP(ctx);
	return _URC_NO_REASON;
}

/* Registers as a probe at this place would find them; then both walks, which differ in the first frame: they began at different
 * instructions. */
#define COMPARE(least)                                                                                                           \
	do {                                                                                                                     \
		struct wanted want = {};                                                                                         \
		u64 before = faults();                                                                                           \
		const struct taken *got;                                                                                         \
                                                                                                                                 \
		__asm__ volatile(                                                                                                \
			"lea 0f(%%rip), %%rax\n\tmov %%rax, 128(%0)\n\tmov %%rsp, 152(%0)\n\tmov %%rbp, 32(%0)\n0:" ::"r"(regs)  \
			: "rax", "memory");                                                                                      \
		_Unwind_Backtrace(on_frame, &want);                                                                              \
		got = walk();                                                                                                    \
		CHECK(got->cnt == want.cnt && want.cnt >= (least), "%s: %llu frames, not %u", __func__,                          \
		      (unsigned long long)got->cnt, want.cnt);                                                                   \
		for (u32 i = 1; i < want.cnt && i < got->cnt; i++)                                                               \
			CHECK(got->frames[i] == want.frames[i], "%s: frame %u: %llx, not %llx", __func__, i,                     \
			      (unsigned long long)got->frames[i], (unsigned long long)want.frames[i]);                           \
		CHECK(got->frames[0] == regs[16] && got->pid == (u32)getpid());                                                  \
		CHECK(faults() == before, "%s", __func__);                                                                       \
	} while (0)

FUNC static int down(int n)
{
	char buf[40];
	int r = 0;

	__asm__ volatile("" ::"r"(buf) : "memory");
	if (n)
		r = down(n - 1) + 1;
	else
		COMPARE(1);
	sink++;
	return r;
}

FUNC static int by_number(const void *a, const void *b)
{
	COMPARE(4);
	sink++;
	return *(const int *)a - *(const int *)b;
}

FUNC static void on_signal(int sig)
{
	COMPARE(5);
	sink++;
}

FUNC static void aligned(int n)
{
	_Alignas(64) char line[64];
	char *more = __builtin_alloca(n);

	__asm__ volatile("" ::"r"(line), "r"(more) : "memory");
	COMPARE(3);
	sink += (long)line % 64 + (long)more % 16;
}

static void test_walks(void)
{
	int v[] = { 3, 1, 2 };

	down(0);
	down(20);
	down(170);
	qsort(v, 3, sizeof(v[0]), by_number);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	aligned(64);
}

/* ---- what is cut ---- */

static u64 walk_from(u64 ip, u64 sp, u64 bp)
{
	regs[16] = ip;
	regs[19] = sp;
	regs[4] = bp;
	return walk()->cnt;
}

static void test_ends(void)
{
	u64 fake[4] = { 0, 0, 0, 0 }, before = faults();

	/* An address that is mapped nowhere. The interpreter has no mappings to ask for. */
	CHECK(walk_from(0x10, (uintptr_t)fake, 0) == 1 && faults() == before + 1);
	/* A stack that cannot be read. */
	CHECK(walk_from((uintptr_t)test_ends, 0x10, 0) == 1 && faults() == before + 2);
	/* The first word is the return address, and it is zero: the end, as threads have it. */
	CHECK(walk_from((uintptr_t)test_ends, (uintptr_t)fake, 0) == 1 && faults() == before + 2);
	/* No user registers: a thread of the kernel. */
	regs[17] = 0x10;
	CHECK(walk_from((uintptr_t)test_ends, (uintptr_t)fake, 0) == 0 && faults() == before + 2);
	regs[17] = 0x33;
	/* None at all. */
	vm_object_env(session.obj)->regs = 0;
	CHECK(walk()->cnt == 0 && faults() == before + 2);
	vm_object_env(session.obj)->regs = (uintptr_t)regs;
}

/* ---- code without tables ---- */

/* Code in more places than one part of a process's mappings has room for; in the middle of one there is a function with a frame
 * pointer. */
static void test_many_mappings(struct unwind *u)
{
	enum { PAGES = 700 };
	static const u8 code[] = {
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3
	}; /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	size_t page = (size_t)getpagesize();
	u8 *at = mmap(NULL, 2 * PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 frame[2] = { 0, 0 };

	CHECK(at != MAP_FAILED);
	for (u32 i = 0; i < PAGES; i++) {
		memcpy(mmap(at + 2 * i * page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		       code, sizeof(code));
		mprotect(at + 2 * i * page, page, PROT_READ | PROT_EXEC);
	}
	unwind_mapped(u, (u32)getpid());
	unwind_refresh(u);
	for (u32 i = 0; i < PAGES; i += 13) {
		u64 before = faults();

		CHECK(walk_from((uintptr_t)at + 2 * i * page + 6, (uintptr_t)frame, (uintptr_t)frame) == 1 && faults() == before,
		      "page %u", i);
		CHECK(walk_from((uintptr_t)at + (2 * i + 1) * page, (uintptr_t)frame, (uintptr_t)frame) == 1 &&
			      faults() == before + 1,
		      "hole %u", i);
	}
	/* All the rest is where it was. */
	down(3);
	munmap(at, 2 * PAGES * page);
	unwind_mapped(u, (u32)getpid());
	unwind_refresh(u);
	CHECK(walk_from((uintptr_t)at + 6, (uintptr_t)frame, (uintptr_t)frame) == 1);
	down(3);
}

/* ---- every row ---- */

/* The row that programs find for an address of this process: image/unwind.h, once more. */
static bool table_row(u64 pc, u64 *row)
{
	struct object *o = session.obj;
	struct unwind_part_key key = { (u32)getpid(), 0 };
	static struct unwind_part part;
	static u8 chunk[UNWIND_CHUNK_SZ];
	const struct unwind_mapping *m = NULL;
	u64 rel, at, pos;
	u32 entry, n;

	if (o->ops->map_lookup(o, c.image->unwind.procs, &key, &part))
		return false;
	for (u32 i = 0; i < part.cnt; i++)
		if (pc - part.maps[i].start < part.maps[i].len)
			m = &part.maps[i];
	if (!m || (rel = pc - m->bias) >> UNWIND_BLOCK_BITS >= m->blocks)
		return false;
	at = m->index + (rel >> UNWIND_BLOCK_BITS) / UNWIND_ENTRIES;
	if (o->ops->map_lookup(o, c.image->unwind.chunks, &at, chunk))
		return false;
	entry = ((u32 *)chunk)[(rel >> UNWIND_BLOCK_BITS) % UNWIND_ENTRIES];
	n = entry >> UNWIND_POS_BITS;
	pos = entry & ((1u << UNWIND_POS_BITS) - 1);
	at = pos >> UNWIND_ROW_BITS;
	pos &= (1u << UNWIND_ROW_BITS) - 1;
	if (pos + n >= UNWIND_ROWS || o->ops->map_lookup(o, c.image->unwind.chunks, &at, chunk))
		return false;
	while (n && (u8)((u64 *)chunk)[pos + n] > (rel & (UNWIND_BLOCK - 1)))
		n--;
	*row = ((u64 *)chunk)[pos + n];
	return true;
}

static void check_file(void *arg, const struct proc_map *m)
{
	u32 rows = 0, wrong = 0;
	struct objfile o;
	struct cfi cfi;
	u64 bias = 0;

	(void)arg;
	if (*m->path != '/' || objfile_open(&o, m->path, 0, 0))
		return;
	cfi_read(&o, &cfi);
	for (u32 i = 0; i < o.ph_cnt; i++)
		if (o.ph[i].p_type == PT_LOAD && o.ph[i].p_flags & PF_X)
			bias = m->start - m->off + o.ph[i].p_offset - o.ph[i].p_vaddr;
	for (u32 i = 0; i < cfi.rows.cnt; i++) {
		const struct cfi_row *r = &cfi.rows.at[i];

		/* At its address, and just before: there the row before it holds. */
		for (u64 pc = r->pc - (i > 0); pc <= r->pc; pc++) {
			const struct cfi_row *want = cfi_find(&cfi, pc);
			u64 got = 0;

			if (pc + bias >= m->end)
				continue;
			rows++;
			wrong += !table_row(pc + bias, &got) || (got >> UNWIND_CFA & 15) != want->cfa ||
				(got >> UNWIND_BP & 15) != want->bp || (s16)(got >> UNWIND_BP_OFF) != want->bp_off ||
				(s32)(got >> UNWIND_CFA_OFF) != want->cfa_off;
		}
	}
	CHECK(!wrong && rows > 10, "%s: %u of %u rows are wrong", m->path, wrong, rows);
	cfi_release(&cfi);
	objfile_release(&o);
}

/* ---- */

static bool make(const char *script)
{
	arena_init(&arena);
	diag_init(&diag, &arena);
	c = (struct compile){ .arena = &arena, .diag = &diag, .target = &target, .config = config_defaults };
	if (!lang_parse(&c, diag_add_source(&diag, "t.bt", script, strlen(script))) || !lang_config(&c) || !lang_expand(&c) ||
	    !lang_check(&c) || !image_build(&c))
		return false;
	session = (struct session){
		.image = c.image, .diag = &diag, .obj = vm_object_load(c.image, &diag), .out = { .file = stdout, .err = stderr }
	};
	return session.obj;
}

int main(void)
{
	struct unwind *u;
	int pid, status;

	CHECK(make("begin { @ = dw_ustack(200); }"));
	if (!session.obj)
		return check_end();
	regs[17] = 0x33; /* user mode */
	vm_object_env(session.obj)->regs = (uintptr_t)regs;
	u = unwind_new(&session);
	CHECK(u && !unwind_add(u, (u32)getpid()));
	CHECK(unwind_add(u, 0x3fffff) < 0);
	test_walks();
	test_ends();
	proc_maps_each((u32)getpid(), check_file, NULL);
	test_many_mappings(u);
	/* A child is unwound by what its parent has mapped, once it is known. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		passed_rounds = failed = 0;
		vm_object_env(session.obj)->pid = vm_object_env(session.obj)->ns_pid = (u32)getpid();
		unwind_forked(u, (u32)getpid(), (u32)getppid());
		unwind_refresh(u);
		down(2);
		fflush(stdout);
		_exit(failed || !passed_rounds);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%x", status);
	unwind_free(u);
	session.obj->ops->free(session.obj);
	arena_release(&arena);
	return check_end();
}

#else

int main(void)
{
	printf("skipped: stacks are unwound on x86-64 only\n");
	return check_end();
}

#endif
