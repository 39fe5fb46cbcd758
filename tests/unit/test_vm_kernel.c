/* SPDX-License-Identifier: GPL-2.0-only */
/* The interpreter beside the kernel: random programs, map and ring operations give the same results in both. Programs are of the
 * kind BPF_PROG_TYPE_SYSCALL, whose context is read and written by the caller. Needs root; says so and passes without it. */
#include "image/disasm.h"
#include "vm_asm.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_INSNS = 600, SLOTS = 4, CTX_WORDS = 10 + 2 * SLOTS };

static bool has_v4;   /* instruction set version 4: kernel 6.6 */
static bool has_sdiv; /* the smallest number by -1 stopped the machine before 6.12 */

/* ---- the kernel's side ---- */

static int sys_bpf(int cmd, void *attr, u32 sz)
{
	long ret = syscall(SYS_bpf, cmd, attr, sz);

	return ret < 0 ? -errno : (int)ret;
}

static char log_buf[1 << 20];

/* maps: descriptors by index, put in place of the indexes. */
static int kern_load(const struct insn *insns, u32 cnt, const int *maps)
{
	struct insn copy[MAX_INSNS];
	struct bpf_prog_load_attr attr = {
		.prog_type = BPF_PROG_TYPE_SYSCALL,
		.insn_cnt = cnt,
		.insns = (u64)copy,
		.license = (u64) "GPL",
		.log_level = 1,
		.log_size = sizeof(log_buf),
		.log_buf = (u64)log_buf,
		.prog_flags = BPF_F_SLEEPABLE,
	};

	memcpy(copy, insns, cnt * sizeof(*copy));
	for (u32 i = 0; i < cnt; i++)
		if (copy[i].code == (BPF_LD | BPF_IMM | BPF_DW) && copy[i].src)
			copy[i].imm = maps[copy[i].imm];
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int kern_run(int fd, u64 *ctx, u32 sz)
{
	struct bpf_test_run_attr attr = { .prog_fd = fd, .ctx_size_in = sz, .ctx_in = (u64)ctx };

	return sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
}

static int kern_map(const struct image_map *d)
{
	struct bpf_map_create_attr attr = {
		d->type, d->key_sz, d->value_sz, d->max_entries, d->flags, 0, 0, "", 0, 0, 0, 0, 0, 0
	};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static bool loads(const struct insn *insns, u32 cnt)
{
	int fd = kern_load(insns, cnt, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ---- random programs ---- */

struct gen {
	struct insn insns[MAX_INSNS];
	u32 cnt;
};

static void add(struct gen *g, struct insn i)
{
	BUG_ON(g->cnt == MAX_INSNS);
	g->insns[g->cnt++] = i;
}

static u32 pick(u32 n)
{
	return rnd() % n;
}

static void add_alu(struct gen *g, u32 regs)
{
	static const u8 ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,  BPF_LSH,
				  BPF_RSH, BPF_NEG, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH, BPF_END };
	u8 op = ops[pick(ARRAY_CNT(ops))];
	u32 dst = pick(regs), src = pick(regs);
	bool is_64 = pick(2), is_x = pick(2), is_shift = op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH;
	u8 cls = is_64 ? BPF_ALU64 : BPF_ALU;
	s32 imm = (s32)rnd_value();
	s16 off = 0;

	if (op == BPF_END) {
		bool swap = has_v4 && pick(2);

		add(g,
		    INSN(swap ? BPF_ALU64 | BPF_END : BPF_ALU | BPF_END | (pick(2) ? BPF_TO_BE : BPF_TO_LE), dst, 0, 0,
			 16 << pick(3)));
		return;
	}
	if (op == BPF_NEG) {
		add(g, INSN(cls | op, dst, 0, 0, 0));
		return;
	}
	if ((op == BPF_DIV || op == BPF_MOD) && has_sdiv)
		off = pick(2);
	if (op == BPF_MOV && is_x && has_v4)
		off = (s16[]){ 0, 8, 16, is_64 ? 32 : 0 }[pick(4)];
	if ((op == BPF_DIV || op == BPF_MOD) && !imm)
		imm = -1;
	if (is_shift)
		imm &= is_64 ? 63 : 31;
	add(g, is_x ? INSN(cls | op | BPF_X, dst, src, off, 0) : INSN(cls | op | BPF_K, dst, 0, off, imm));
}

/* The slots lie below r10-8, where the context's address is. */
static s16 slot_off(u32 sz)
{
	return -8 - 8 * SLOTS + (s16)(pick(8 * SLOTS / sz) * sz);
}

static void add_mem(struct gen *g)
{
	static const u8 sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	static const u32 plain[] = { BPF_ADD, BPF_OR, BPF_AND, BPF_XOR };
	u32 log = pick(4), reg = pick(10);
	s16 off = slot_off(1 << log);

	switch (pick(4)) {
	case 0:
		add(g, STX(sizes[log], 10, off, reg));
		return;
	case 1:
		add(g, ST(sizes[log], 10, off, rnd_value()));
		return;
	case 2:
		add(g, has_v4 && log < 3 && pick(2) ? LDSX(sizes[log], reg, 10, off) : LDX(sizes[log], reg, 10, off));
		return;
	case 3:
		log = 2 + pick(2);
		add(g, ATOMIC(sizes[log], plain[pick(ARRAY_CNT(plain))], 10, slot_off(1 << log), reg));
		return;
	}
}

/* Those that fetch work on a map's value: on the stack, the verifier of 6.18 loses track of what it knows about the fetched
 * number and removes code that is needed. A cmpxchg of 4 bytes zero-extends r0 by the specification, but that kernel forgets it
 * (on x86) where its search joined two paths. Neither is our question. */
static void add_fetch(struct gen *g)
{
	static const u32 ops[] = { BPF_ADD | BPF_FETCH, BPF_OR | BPF_FETCH, BPF_AND | BPF_FETCH,
				   BPF_XOR | BPF_FETCH, BPF_XCHG,           BPF_CMPXCHG };
	u32 op = ops[pick(ARRAY_CNT(ops))], base = 1 + pick(9), reg = (base + 1 + pick(9)) % 10, off = 8 * pick(SLOTS);
	struct insn addr[] = { MAPVAL(base, 0, off) };
	bool is_64 = pick(2);

	add(g, addr[0]);
	add(g, addr[1]);
	add(g, ATOMIC(is_64 ? BPF_DW : BPF_W, op, base, is_64 ? 0 : 4 * pick(2), reg));
	if (op == BPF_CMPXCHG && !is_64)
		add(g, INSN(BPF_ALU | BPF_MOV | BPF_X, 0, 0, 0, 0));
	add(g, LDX(BPF_DW, base, base, 0)); /* the address itself is another in the kernel */
}

static void add_branch(struct gen *g)
{
	u8 op = conds[pick(ARRAY_CNT(conds))], cls = pick(2) ? BPF_JMP : BPF_JMP32;
	u32 at = g->cnt, skipped = 1 + pick(4);

	add(g, pick(2) ? INSN(cls | op | BPF_X, pick(10), pick(10), 0, 0) : INSN(cls | op | BPF_K, pick(10), 0, 0, rnd_value()));
	while (skipped--)
		add_alu(g, 10);
	g->insns[at].off = g->cnt - at - 1;
}

/* Loads all registers and slots (on the stack and in map 0) from the context, does something, and stores them there. */
static void make_program(struct gen *g)
{
	struct insn map2[] = { MAPVAL(2, 0, 0) }, map3[] = { MAPVAL(3, 0, 0) };
	u32 calls[8], call_cnt = 0, n = 5 + pick(40);

	g->cnt = 0;
	add(g, STX(BPF_DW, 10, -8, 1));
	add(g, map3[0]);
	add(g, map3[1]);
	for (u32 i = 0; i < SLOTS; i++) {
		add(g, LDX(BPF_DW, 2, 1, 8 * (10 + SLOTS + i)));
		add(g, STX(BPF_DW, 3, 8 * i, 2));
	}
	for (u32 i = 0; i < SLOTS; i++) {
		add(g, LDX(BPF_DW, 2, 1, 8 * (10 + i)));
		add(g, STX(BPF_DW, 10, -16 - 8 * i, 2));
	}
	for (u32 i = 10; i-- > 0;)
		if (i != 1)
			add(g, LDX(BPF_DW, i, 1, 8 * i));
	add(g, LDX(BPF_DW, 1, 1, 8));
	while (n--) {
		switch (pick(10)) {
		case 0:
		case 1:
			add_mem(g);
			break;
		case 2:
			add_branch(g);
			break;
		case 3:
			if (pick(2)) {
				struct insn two[] = { LD64(pick(10), rnd_value()) };

				add(g, two[0]);
				add(g, two[1]);
			} else if (call_cnt < ARRAY_CNT(calls)) {
				calls[call_cnt++] = g->cnt;
				add(g, CALLFN(0));
				for (u32 i = 1; i <= 5; i++)
					add(g, pick(2) ? MOVR(i, 0) : LDX(BPF_DW, i, 10, -16 - 8 * pick(SLOTS)));
			}
			break;
		case 4:
			add_fetch(g);
			break;
		case 5:
			add(g, has_v4 && pick(2) ? INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 0) : JA(0));
			break;
		default:
			add_alu(g, 10);
		}
	}
	/* all to the stack first: then there are registers to work with */
	for (u32 i = 0; i < 10; i++)
		add(g, STX(BPF_DW, 10, -16 - 8 * (SLOTS + i), i));
	add(g, LDX(BPF_DW, 1, 10, -8));
	for (u32 i = 0; i < 10 + SLOTS; i++) {
		add(g, LDX(BPF_DW, 2, 10, -16 - 8 * i));
		add(g, STX(BPF_DW, 1, 8 * (i < SLOTS ? 10 + i : i - SLOTS), 2));
	}
	add(g, map2[0]);
	add(g, map2[1]);
	for (u32 i = 0; i < SLOTS; i++) {
		add(g, LDX(BPF_DW, 3, 2, 8 * i));
		add(g, STX(BPF_DW, 1, 8 * (10 + SLOTS + i), 3));
	}
	add(g, MOV(0, 0));
	add(g, EXIT);
	for (u32 i = 0; i < call_cnt; i++)
		g->insns[calls[i]].imm = g->cnt - calls[i] - 1;
	if (call_cnt) {
		add(g, MOVR(0, 1));
		for (u32 i = pick(10); i-- > 0;)
			add_alu(g, 6);
		add(g, EXIT);
	}
}

static void print_program(const struct gen *g)
{
	struct sbuf text = {};

	for (u32 i = 0; i < g->cnt; i++) {
		sbuf_reset(&text);
		insn_print(&g->insns[i], g->cnt - i, &text);
		printf("\t%u: %s\n", i, sbuf_str(&text));
	}
	sbuf_release(&text);
}

static void test_programs(u32 program_cnt)
{
	const struct image_map slots = { "slots", BPF_MAP_TYPE_ARRAY, 4, 8 * SLOTS, 1, 0, NULL, 0, 0 };
	int maps[] = { kern_map(&slots) };
	struct vm *vm = vm_new(1);
	struct vm_fault fault;
	static struct gen g;

	CHECK(maps[0] >= 0 && vm_map_add(vm, &slots) == 0);

	for (u32 n = 0; n < program_cnt; n++) {
		struct vm_prog *p;
		bool same = true;
		int fd;

		make_program(&g);
		fd = kern_load(g.insns, g.cnt, maps);
		p = vm_prog_new(vm, g.insns, g.cnt, &fault);
		if (fd < 0 || !p) {
			printf("program %u: the kernel says %s %s, the interpreter %s\n", n, fd < 0 ? strerror(-fd) : "yes",
			       fd < 0 ? log_buf : "", p ? "yes" : fault.text);
			print_program(&g);
			same = false;
		}
		CHECK(fd >= 0 && p);
		for (u32 i = 0; i < 20 && same; i++) {
			u64 in[CTX_WORDS], a[CTX_WORDS], b[CTX_WORDS];

			for (u32 k = 0; k < CTX_WORDS; k++)
				a[k] = b[k] = in[k] = rnd_value();
			CHECK_EQ(kern_run(fd, a, sizeof(a)), 0);
			if (vm_run(vm, p, b, sizeof(b), VM_CTX_WRITABLE, NULL, &fault)) {
				printf("%s\n", fault.text);
				same = false;
			}
			same &= memcmp(a, b, sizeof(a)) == 0;
			CHECK(same);
			if (!same) {
				print_program(&g);
				for (u32 k = 0; k < CTX_WORDS; k++)
					printf("\tword %u: %016llx gives %016llx in the kernel, %016llx here\n", k,
					       (unsigned long long)in[k], (unsigned long long)a[k], (unsigned long long)b[k]);
			}
		}
		vm_prog_free(p);
		if (fd >= 0)
			close(fd);
	}
	close(maps[0]);
	vm_free(vm);
}

/* ---- maps and rings ---- */

/* A program in both. */
struct twin {
	struct vm *vm;
	struct vm_prog *p;
	int fd;
};

static bool twin_load(struct twin *t, struct vm *vm, const int *maps, const struct insn *insns, u32 cnt)
{
	struct vm_fault fault = {};

	t->vm = vm;
	t->p = vm_prog_new(vm, insns, cnt, &fault);
	t->fd = kern_load(insns, cnt, maps);
	CHECK(t->p && t->fd >= 0);
	if (t->fd < 0)
		printf("%s\n%s\n", strerror(-t->fd), log_buf);
	if (!t->p)
		printf("%s\n", fault.text);
	return t->p && t->fd >= 0;
}

#define TWIN_LOAD(t, vm, maps, ...)                                                                                              \
	twin_load(t, vm, maps, (struct insn[]){ __VA_ARGS__ }, sizeof((struct insn[]){ __VA_ARGS__ }) / sizeof(struct insn))

/* The words after the call are the same in both. */
static bool twin_run(struct twin *t, u64 *ctx, u32 words)
{
	struct vm_fault fault = {};
	u64 b[16];
	bool same;

	memcpy(b, ctx, 8 * words);
	CHECK_EQ(kern_run(t->fd, ctx, 8 * words), 0);
	if (vm_run(t->vm, t->p, b, 8 * words, VM_CTX_WRITABLE, NULL, &fault))
		printf("%s\n", fault.text);
	same = memcmp(ctx, b, 8 * words) == 0;
	CHECK(same);
	for (u32 i = 0; i < words && !same; i++)
		printf("\tword %u: %016llx in the kernel, %016llx here\n", i, (unsigned long long)ctx[i],
		       (unsigned long long)b[i]);
	return same;
}

static void twin_release(struct twin *t)
{
	vm_prog_free(t->p);
	if (t->fd >= 0)
		close(t->fd);
}

/* r6 is the context; word 1 is the key, at r10-8, word 2 the value, at r10-16; the result goes to word 4. */
#define ENTER                                                                                                                    \
	MOVR(6, 1), LDX(BPF_DW, 1, 6, 8), STX(BPF_DW, 10, -8, 1), LDX(BPF_DW, 1, 6, 16), STX(BPF_DW, 10, -16, 1), MAP(1, 0),     \
		MOVR(2, 10), ALU(BPF_ADD, 2, -8)
#define LEAVE STX(BPF_DW, 6, 32, 0), MOV(0, 0), EXIT

static void test_map(const struct image_map *def)
{
	struct vm *vm = vm_new(sysconf(_SC_NPROCESSORS_CONF));
	int fd = kern_map(def), maps[] = { fd };
	struct twin lookup = { .fd = -1 }, update = lookup, delete = lookup, add = lookup;
	struct twin *ops[] = { &lookup, &update, &update, &update, &delete, &add };
	bool ok;

	vm_env(vm)->cpu = 0;
	CHECK(fd >= 0);
	CHECK_EQ(vm_map_add(vm, def), 0);
	ok = TWIN_LOAD(&lookup, vm, maps, ENTER, CALL(map_lookup_elem), JMP(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 0), LEAVE);
	ok &= TWIN_LOAD(&update, vm, maps, ENTER, MOVR(3, 10), ALU(BPF_ADD, 3, -16), LDX(BPF_DW, 4, 6, 24), CALL(map_update_elem),
			LEAVE);
	ok &= TWIN_LOAD(&delete, vm, maps, ENTER, CALL(map_delete_elem), LEAVE);
	/* through an old pointer after an update: the new element does not see it, except in per-CPU maps and arrays */
	ok &= TWIN_LOAD(&add, vm, maps, ENTER, CALL(map_lookup_elem), MOVR(7, 0), JMP(BPF_JEQ, 0, 0, 18), MAP(1, 0), MOVR(2, 10),
			ALU(BPF_ADD, 2, -8), MOVR(3, 10), ALU(BPF_ADD, 3, -16), MOV(4, BPF_ANY), CALL(map_update_elem),
			MOV(1, 1000), ATOMIC(BPF_DW, BPF_ADD, 7, 0, 1), MAP(1, 0), MOVR(2, 10), ALU(BPF_ADD, 2, -8),
			CALL(map_lookup_elem), JMP(BPF_JEQ, 0, 0, 1), LDX(BPF_DW, 0, 0, 0), JA(0), LEAVE);
	for (u32 n = 0; n < 3000 && ok; n++) {
		u64 ctx[5] = { 0, pick(7), rnd() % 1000 + 1, pick(8) ? pick(3) : pick(6), 77 };
		u32 op = pick(ARRAY_CNT(ops));

		if (ctx[3] >= BPF_F_LOCK)
			ctx[3] = 1ull << 40; /* a lock needs a description of the value */
		if (!twin_run(ops[op], ctx, ARRAY_CNT(ctx))) {
			printf("operation %u on a map of type %u, key %llu, flags 0x%llx\n", op, def->type,
			       (unsigned long long)ctx[1], (unsigned long long)ctx[3]);
			break;
		}
	}
	for (u32 i = 0; i < 4; i++)
		twin_release((struct twin *[]){ &lookup, &update, &delete, &add }[i]);
	vm_free(vm);
	close(fd);
}

/* word 0: size, word 1: flags; words 2…6: the result and four queries */
#define QUERY(what) MAP(1, 0), MOV(2, what), CALL(ringbuf_query), STX(BPF_DW, 6, 24 + 8 * (what), 0)

static void test_ring(void)
{
	struct image_map ring = { "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0, NULL, 0, 0 };
	struct image_map text = { "text", BPF_MAP_TYPE_ARRAY, 4, 4096, 1, 0, NULL, 0, 0 };
	struct vm *vm = vm_new(1);
	int maps[] = { kern_map(&ring), kern_map(&text) };
	u64 *cons = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, maps[0], 0);
	struct twin output;
	const u8 *data;
	u32 len;
	bool ok;

	CHECK(vm_map_add(vm, &ring) == 0 && vm_map_add(vm, &text) == 1 && cons != MAP_FAILED);
	ok = TWIN_LOAD(&output, vm, maps, MOVR(6, 1), LDX(BPF_DW, 3, 6, 0), JMP(BPF_JLE, 3, 4096, 1), MOV(3, 0),
		       LDX(BPF_DW, 4, 6, 8), MAPVAL(2, 1, 0), MAP(1, 0), CALL(ringbuf_output), STX(BPF_DW, 6, 16, 0),
		       QUERY(BPF_RB_AVAIL_DATA), QUERY(BPF_RB_RING_SIZE), QUERY(BPF_RB_CONS_POS), QUERY(BPF_RB_PROD_POS),
		       MOV(0, 0), EXIT);
	for (u32 n = 0; n < 2000 && ok; n++) {
		u64 ctx[7] = { pick(4) ? pick(300) : pick(4200), pick(5) };

		ok = twin_run(&output, ctx, ARRAY_CNT(ctx));
		if (pick(20) == 0) {
			__atomic_store_n(cons, ctx[6], __ATOMIC_RELEASE);
			while (vm_ring_peek(vm_map(vm, 0), &data, &len))
				vm_ring_pop(vm_map(vm, 0));
		}
	}
	twin_release(&output);
	munmap(cons, 4096);
	close(maps[0]);
	close(maps[1]);
	vm_free(vm);
}

/* word 0: 8 bytes of text; word 1: size; word 2: result; words 3, 4: what was ones before */
static void test_read_str(void)
{
	struct image_map text = { "text", BPF_MAP_TYPE_ARRAY, 4, 16, 1, 0, NULL, 0, 0 };
	struct vm *vm = vm_new(1);
	int maps[] = { kern_map(&text) };
	struct twin read = { .fd = -1 };
	bool ok;

	CHECK_EQ(vm_map_add(vm, &text), 0);
	ok = TWIN_LOAD(&read, vm, maps, MOVR(6, 1), MAPVAL(3, 0, 0), LDX(BPF_DW, 1, 6, 0), STX(BPF_DW, 3, 0, 1),
		       JMP(BPF_JNE, 1, 0, 1), MOV(3, 0), ST(BPF_DW, 10, -8, -1), ST(BPF_DW, 10, -16, -1), MOVR(1, 10),
		       ALU(BPF_ADD, 1, -16), LDX(BPF_DW, 2, 6, 8), ALU(BPF_AND, 2, 15), CALL(probe_read_kernel_str),
		       STX(BPF_DW, 6, 16, 0), LDX(BPF_DW, 1, 10, -16), STX(BPF_DW, 6, 24, 1), LDX(BPF_DW, 1, 10, -8),
		       STX(BPF_DW, 6, 32, 1), MOV(0, 0), EXIT);
	for (u32 n = 0; n < 1000 && ok; n++) {
		u64 ctx[5] = { 0, pick(16) };

		if (pick(8)) /* else: from NULL, which cannot be read */
			memcpy(&ctx[0], "abcdefgh", pick(9));
		ok = twin_run(&read, ctx, ARRAY_CNT(ctx));
	}
	twin_release(&read);
	close(maps[0]);
	vm_free(vm);
}

int main(void)
{
	static const struct image_map defs[] = {
		{ "hash", BPF_MAP_TYPE_HASH, 8, 8, 4, BPF_F_NO_PREALLOC, NULL, 0, 0 },
		{ "pre", BPF_MAP_TYPE_HASH, 8, 8, 4, 0, NULL, 0, 0 },
		{ "percpu", BPF_MAP_TYPE_PERCPU_HASH, 8, 8, 4, BPF_F_NO_PREALLOC, NULL, 0, 0 },
		{ "lru", BPF_MAP_TYPE_LRU_HASH, 8, 8, 64, 0, NULL, 0, 0 }, /* large enough that nothing is evicted */
		{ "array", BPF_MAP_TYPE_ARRAY, 4, 8, 4, BPF_F_MMAPABLE, NULL, 0, 0 },
		{ "parray", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 4, 0, NULL, 0, 0 },
	};
	struct insn minimal[] = { MOV(0, 0), EXIT };
	struct insn v4[] = { MOV(0, 0), INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 0, 8, 0), EXIT };
	u32 major = 0, minor = 0;
	struct utsname u;
	cpu_set_t cpus;

	setlinebuf(stdout);
	if (!loads(minimal, ARRAY_CNT(minimal))) {
		printf("skipped: the kernel does not let us load programs (run as root)\n0 passed, 0 failed\n");
		return 0;
	}
	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	has_v4 = loads(v4, ARRAY_CNT(v4));
	has_sdiv = has_v4 && (major > 6 || (major == 6 && minor >= 12));
	/* per-CPU values are compared on CPU 0 */
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	test_programs(1000);
	for (u32 i = 0; i < ARRAY_CNT(defs); i++)
		test_map(&defs[i]);
	test_ring();
	test_read_str();
	return check_end();
}
