/* SPDX-License-Identifier: GPL-2.0-only */
/* Unwinds user stacks by tables (bpf/unwind.h): the code that runs in the probe.
 *
 * The walk is a bpf_loop, one iteration for each frame. Its state is in the scratch area, like all that the bodies of loops
 * share: the verifier does not track the contents and walks the body once. The searches inside have no backward jump; they take a
 * fixed number of steps.
 *
 * An iteration stores the current frame, finds its mapping (that of the previous iteration is tried first), the block's entry in
 * the index, the row, and then the caller's stack pointer, instruction pointer and frame pointer. Code that no table describes
 * (compiled at run time, for instance) is assumed to have frame pointers.
 */
#include "ir/lower.h"

#include "image/image.h"
#include "image/unwind.h"
#include "image/uapi.h"
#include "sym/cfi.h"

/* The registers that are read at the start, as they lie in the kernel's struct pt_regs. */
enum { REGS_BP = 32, REGS_IP = 128, REGS_CS = 136, REGS_SP = 152, REGS_FIRST = REGS_BP, REGS_SZ = REGS_SP + 8 - REGS_FIRST };

/* Offsets in the kernel's structs of a mapping. */
struct vma_layout {
	u32 start, pgoff, flags, ops, file, mm; /* struct vm_area_struct; the end follows the start */
	u32 vdso;                               /* struct mm_struct */
	u32 f_inode;                            /* struct file */
	u32 i_ino, i_sb;                        /* struct inode */
	u32 s_dev;                              /* struct super_block */
	bool has_backing; /* since 6.8, a file system such as overlayfs maps another file than the one that the process opened,
			     which /proc shows */
	u32 f_mode;       /* struct file */
	u32 user_dentry;  /* struct backing_file */
	u32 d_inode;      /* struct dentry */
};
/* Marks files that a file system opened internally. FMODE_BACKING would be more exact, but its value differs between kernels. */
enum { FMODE_NOACCOUNT = 1 << 29 };
/* Its records of running functions that have a uretprobe. */
struct return_layout {
	u32 utask;                       /* struct task_struct */
	u32 instances;                   /* struct uprobe_task: the innermost */
	u32 stack, orig_ret_vaddr, next; /* struct return_instance */
};
enum { RETURNS_MAX = 256 }; /* that are checked; the kernel allows 64 per thread */

enum { VM_EXEC = 4, PAGE_SHIFT = 12, NO_SUCH_VMA = -2 /* -ENOENT */ };

/* In the struct ucontext that the kernel leaves for a signal handler. */
enum { SIGNAL_BP = 120, SIGNAL_SP = 160, SIGNAL_IP = 168 };

struct state {
	u64 ip, sp, bp;
	u64 cnt;  /* frames so far */
	u64 back; /* 1: ip is where a call returns to, the call itself is before it; 0: where the thread is, or was interrupted */
	u64 why;  /* enum why */
	u64 pos;  /* of a search. In a register, the verifier would track each of its 256 possible values as a separate state */
	struct unwind_mapping map; /* that the last frame was in */
	struct unwind_part_key key;
	u64 chunk; /* key */
	u64 vma_start, vma_end, vma_off, vma_flags, vma_ops, vma_file, vma_vdso;
	u64 instance;   /* the kernel's record of a function with a uretprobe; 0: there are no more */
	u64 returns_to; /* the return address in that record; 0: it is not the right one */
	struct unwind_file_key file;
	u64 read[REGS_SZ / 8]; /* of the process's memory, and of its registers */
	u64 frames[];
};

/* Why a stack is incomplete. */
enum why { WHY_NOT, WHY_MAPPING, WHY_FILE, WHY_TABLE, WHY_RULE, WHY_READ, WHY_FRAME, WHY_STEPPED, WHY_CNT };

static const char *const why_text[WHY_CNT] = {
	[WHY_MAPPING] = "The stack was cut short: the memory mapping of a function was not known yet.",
	[WHY_FILE] =
		"The stack was cut short: it leads to a file whose unwind tables are not loaded. Those of the processes named by -p, -c and --dwarf-pid are.",
	[WHY_TABLE] = "The stack was cut short: the memory for unwind tables is full. Trace fewer processes.",
	[WHY_RULE] = "The stack was cut short: the unwind rule of a function is of a kind that is not supported.",
	[WHY_READ] = "The stack was cut short: the stack memory could not be read.",
	[WHY_FRAME] = "The stack was cut short: a function has neither an unwind table entry nor a frame pointer.",
	[WHY_STEPPED] = "The stack was cut short: the thread was single-stepping the instruction of a uprobe.",
};

/* The walk for stacks of one limit: a subprogram and its state. */
struct lower_walk {
	u32 limit, slot;
	const struct ir_func *body;
};

/* ---- shorthands of the body ---- */

struct body {
	struct lower *l;
	struct ir_build *b;
	vreg st;
	u32 limit;
	struct ir_block *stop; /* the walk is at its end */
	struct ir_block *next; /* the caller is known: next iteration */
	const struct image_unwind *maps;
};

#define ST(member) offsetof(struct state, member)

static vreg get(const struct body *w, u32 off)
{
	return ir_load(w->b, w->st, off, 8);
}

static void set(const struct body *w, u32 off, struct opnd v)
{
	ir_store(w->b, w->st, off, 8, v);
}

static struct ir_block *new_block(const struct body *w)
{
	return ir_block_new(w->b->f);
}

/* Goes on here if the condition holds, else to `no`. */
static void require(const struct body *w, enum ir_cond cond, vreg a, struct opnd b, struct ir_block *no)
{
	struct ir_block *yes = new_block(w);

	ir_br(w->b, cond, a, b, yes, no);
	ir_place(w->b, yes);
}

/* A block that ends the walk and records the reason. */
static struct ir_block *end_with(const struct body *w, enum why why)
{
	struct ir_block *here = w->b->cur, *blk = new_block(w), *first = new_block(w);

	ir_place(w->b, blk);
	ir_br(w->b, C_EQ, get(w, ST(why)), opnd_imm(WHY_NOT), first, w->stop);
	ir_place(w->b, first);
	set(w, ST(why), opnd_imm(why));
	ir_jmp(w->b, w->stop);
	w->b->cur = here;
	return blk;
}

/* size bytes of the process's memory, to state.read. */
static void read_user(const struct body *w, vreg addr, u32 size, struct ir_block *failed)
{
	vreg to = ir_alu(w->b, IR_ADD, w->st, opnd_imm(ST(read)));

	require(w, C_EQ, ir_call_of(w->b, HELPER_probe_read_user, opnd_reg(to), opnd_imm(size), opnd_reg(addr)), opnd_imm(0),
		failed);
}

static vreg lookup(const struct body *w, u32 map, u32 key_off, struct ir_block *none)
{
	vreg key = ir_alu(w->b, IR_ADD, w->st, opnd_imm(key_off)), v;

	v = ir_call_of(w->b, HELPER_map_lookup_elem, opnd_reg(ir_map(w->b, map)), opnd_reg(key));
	require(w, C_NE, v, opnd_imm(0), none);
	return v;
}

/* A table: numbers of `size` bytes, at base + first and every `stride` bytes from there. They are in order. */
struct sorted {
	vreg base, first;
	u32 stride, size;
	u32 off_max; /* of the last one that there can be */
};

/* pos += step if pos + step is at most `last` and the number there is at most x. One step of a search. */
static void search_step(const struct body *w, const struct sorted *t, u32 step, vreg last, vreg x)
{
	struct ir_block *in = new_block(w), *near = new_block(w), *take = new_block(w), *done = new_block(w);
	vreg at = ir_alu(w->b, IR_ADD, get(w, ST(pos)), opnd_imm(step)), off;

	ir_br(w->b, C_UGT, at, opnd_reg(last), done, in);
	ir_place(w->b, in);
	off = ir_alu(w->b, IR_ADD, ir_alu(w->b, IR_MUL, at, opnd_imm(t->stride)), opnd_reg(t->first));
	ir_br(w->b, C_UGT, off, opnd_imm(t->off_max), done, near); /* never: for the verifier */
	ir_place(w->b, near);
	ir_br(w->b, C_UGT, ir_load(w->b, ir_alu(w->b, IR_ADD, t->base, opnd_reg(off)), 0, t->size), opnd_reg(x), done, take);
	ir_place(w->b, take);
	set(w, ST(pos), opnd_reg(at));
	ir_jmp(w->b, done);
	ir_place(w->b, done);
}

/* The address of the last number that is at most x, of those up to number `last`; of the first one, if none is. first_step is a
 * power of two. */
static vreg search(const struct body *w, const struct sorted *t, u32 first_step, vreg last, vreg x, struct ir_block *never)
{
	vreg off;

	set(w, ST(pos), opnd_imm(0));
	for (u32 step = first_step; step; step /= 2)
		search_step(w, t, step, last, x);
	off = ir_alu(w->b, IR_ADD, ir_alu(w->b, IR_MUL, get(w, ST(pos)), opnd_imm(t->stride)), opnd_reg(t->first));
	require(w, C_ULE, off, opnd_imm(t->off_max), never);
	return ir_alu(w->b, IR_ADD, t->base, opnd_reg(off));
}

/* ---- the steps of a round ---- */

/* Looks pc up in the known mappings of the process: to state.map. Goes to unknown if no mapping has the address. */
static void find_mapping(const struct body *w, vreg pc, struct ir_block *unknown)
{
	struct sorted starts = { .stride = sizeof(struct unwind_mapping),
				 .size = 8,
				 .off_max = sizeof(struct unwind_part) - sizeof(struct unwind_mapping) };
	struct ir_block *other = new_block(w), *in_part = new_block(w);
	vreg part = ir_vreg(w->b->f), value = ir_vreg(w->b->f), last, m;

	ir_store(w->b, w->st, ST(key.part), 4, opnd_imm(0));
	ir_mov_to(w->b, value, opnd_reg(lookup(w, w->maps->procs, ST(key), unknown)));
	ir_mov_to(w->b, part, opnd_imm(0));
	for (u32 i = 0; i < UNWIND_PARTS - 1; i++) {
		struct ir_block *up = new_block(w);

		ir_br(w->b, C_ULT, pc, opnd_reg(ir_load(w->b, value, offsetof(struct unwind_part, later[i]), 8)),
		      i ? other : in_part, up);
		ir_place(w->b, up);
		ir_mov_to(w->b, part, opnd_imm(i + 1));
	}
	ir_jmp(w->b, other);
	ir_place(w->b, other);
	ir_store(w->b, w->st, ST(key.part), 4, opnd_reg(part));
	ir_mov_to(w->b, value, opnd_reg(lookup(w, w->maps->procs, ST(key), unknown)));
	ir_jmp(w->b, in_part);
	ir_place(w->b, in_part);
	last = ir_alu(w->b, IR_ADD, ir_load(w->b, value, offsetof(struct unwind_part, cnt), 8), opnd_imm(-1));
	starts.base = value;
	starts.first = ir_imm(w->b, offsetof(struct unwind_part, maps));
	m = search(w, &starts, pow2_up(UNWIND_MAPPINGS) / 2, last, pc, unknown);
	for (u32 i = 0; i < sizeof(struct unwind_mapping); i += 8)
		set(w, ST(map) + i, opnd_reg(ir_load(w->b, m, i, 8)));
	require(w, C_ULT, ir_alu(w->b, IR_SUB, pc, opnd_reg(get(w, ST(map.start)))), opnd_reg(get(w, ST(map.len))), unknown);
}

static bool find_vma_layout(const struct lower *l, struct vma_layout *v)
{
	static const char vma[] = "vm_area_struct";
	struct type_source *src = target_types(l->c->target);
	u32 end;

	v->has_backing = src && type_path(src, "file", TYPE_PATH("f_mode"), &v->f_mode, NULL) &&
		type_path(src, "backing_file", TYPE_PATH("user_path", "dentry"), &v->user_dentry, NULL) &&
		type_path(src, "dentry", TYPE_PATH("d_inode"), &v->d_inode, NULL);
	return src && type_path(src, vma, TYPE_PATH("vm_start"), &v->start, NULL) &&
		type_path(src, vma, TYPE_PATH("vm_end"), &end, NULL) && end == v->start + 8 &&
		type_path(src, vma, TYPE_PATH("vm_pgoff"), &v->pgoff, NULL) &&
		type_path(src, vma, TYPE_PATH("vm_flags"), &v->flags, NULL) &&
		type_path(src, vma, TYPE_PATH("vm_ops"), &v->ops, NULL) &&
		type_path(src, vma, TYPE_PATH("vm_file"), &v->file, NULL) &&
		type_path(src, "file", TYPE_PATH("f_inode"), &v->f_inode, NULL) &&
		type_path(src, "inode", TYPE_PATH("i_ino"), &v->i_ino, NULL) &&
		type_path(src, "inode", TYPE_PATH("i_sb"), &v->i_sb, NULL) &&
		type_path(src, "super_block", TYPE_PATH("s_dev"), &v->s_dev, NULL) &&
		type_path(src, vma, TYPE_PATH("vm_mm"), &v->mm, NULL) &&
		type_path(src, "mm_struct", TYPE_PATH("context", "vdso"), &v->vdso, NULL);
}

/* size bytes of the kernel's memory; zero if they cannot be read. */
static void read_kernel(const struct body *w, vreg base, u32 off, u32 size, u32 to)
{
	ir_call_of(w->b, HELPER_probe_read_kernel, opnd_reg(ir_alu(w->b, IR_ADD, w->st, opnd_imm(to))), opnd_imm(size),
		   opnd_reg(ir_alu(w->b, IR_ADD, base, opnd_imm(off))));
}

/* The inode of the file at state.vma_file, as /proc/PID/maps has it. */
static vreg file_inode(const struct body *w, const struct vma_layout *v)
{
	struct ir_block *backing = new_block(w), *done = new_block(w);
	vreg file = get(w, ST(vma_file));

	read_kernel(w, file, v->f_inode, 8, ST(read[0]));
	if (v->has_backing) {
		set(w, ST(read[1]), opnd_imm(0));
		read_kernel(w, file, v->f_mode, 4, ST(read[1]));
		ir_br(w->b, C_SET, get(w, ST(read[1])), opnd_imm(FMODE_NOACCOUNT), backing, done);
		ir_place(w->b, backing);
		read_kernel(w, file, v->user_dentry, 8, ST(read[0]));
		read_kernel(w, get(w, ST(read[0])), v->d_inode, 8, ST(read[0]));
		ir_jmp(w->b, done);
		ir_place(w->b, done);
	}
	return get(w, ST(read[0]));
}

/* The callback that the kernel calls with a mapping: stores its properties. Members are read by a helper, because what the
 * verifier knows of these pointers differs between kernels. */
static const struct ir_func *lower_on_vma(const struct body *w, u32 slot, const struct vma_layout *v)
{
	struct lower *l = w->l;
	struct body on = *w;
	struct lower_body body;
	vreg args[3], vma, inode;

	lower_body_begin(l, &body, args, 3);
	on.st = ir_slot_addr(&l->b, slot, 0);
	vma = ir_plain(&l->b, args[1]);
	read_kernel(&on, vma, v->start, 16, ST(vma_start));
	read_kernel(&on, vma, v->pgoff, 8, ST(vma_off));
	read_kernel(&on, vma, v->flags, 8, ST(vma_flags));
	read_kernel(&on, vma, v->ops, 8, ST(vma_ops));
	read_kernel(&on, vma, v->file, 8, ST(vma_file));
	inode = file_inode(&on, v);
	read_kernel(&on, inode, v->i_ino, 8, ST(file.ino));
	read_kernel(&on, inode, v->i_sb, 8, ST(read));
	read_kernel(&on, vma, v->mm, 8, ST(vma_vdso));
	read_kernel(&on, get(&on, ST(vma_vdso)), v->vdso, 8, ST(vma_vdso));
	set(&on, ST(file.dev), opnd_imm(0));
	read_kernel(&on, get(&on, ST(read)), v->s_dev, 4, ST(file.dev));
	ir_ret(&l->b, opnd_imm(0));
	return lower_body_end(l);
}

/* Asks the kernel what is mapped at pc: to state.map. */
static void ask_mapping(const struct body *w, vreg pc, u32 slot, const struct vma_layout *v)
{
	struct ir_block *got = new_block(w), *not_got = new_block(w), *no_code = new_block(w), *has_file = new_block(w),
			*no_file = new_block(w), *special = new_block(w), *other = new_block(w), *done = new_block(w);
	struct ir_block *unknown = end_with(w, WHY_MAPPING), *no_tables = end_with(w, WHY_FILE),
			*no_frame = end_with(w, WHY_FRAME);
	vreg err, file, off, start;

	err = ir_call_of(w->b, HELPER_find_vma, opnd_reg(ir_call(w->b, HELPER_get_current_task_btf, NULL, 0)), opnd_reg(pc),
			 opnd_reg(ir_func_addr(w->b, lower_on_vma(w, slot, v))), opnd_reg(lower_body_frame(w->l)), opnd_imm(0));
	ir_br(w->b, C_EQ, err, opnd_imm(0), got, not_got);
	ir_place(w->b, not_got);
	ir_br(w->b, C_EQ, err, opnd_imm(NO_SUCH_VMA), no_code, unknown);
	/* No code is mapped there: an earlier step was wrong. */
	ir_place(w->b, no_code);
	set(w, ST(cnt), opnd_reg(ir_alu(w->b, IR_SUB, get(w, ST(cnt)), opnd_reg(get(w, ST(back))))));
	ir_jmp(w->b, no_frame);

	ir_place(w->b, got);
	require(w, C_SET, get(w, ST(vma_flags)), opnd_imm(VM_EXEC), no_code);
	start = get(w, ST(vma_start));
	set(w, ST(map.start), opnd_reg(start));
	set(w, ST(map.len), opnd_reg(ir_alu(w->b, IR_SUB, get(w, ST(vma_end)), opnd_reg(start))));
	set(w, ST(map.index), opnd_imm(UNWIND_NO_TABLE));
	ir_br(w->b, C_NE, get(w, ST(vma_file)), opnd_imm(0), has_file, no_file);
	/* Code that was compiled at run time is plain memory. Other mappings without a file are the kernel's own: the vdso, which
	 * counts as a file (device and inode could not be read, so they are zero), and what it needs for uprobes. */
	ir_place(w->b, no_file);
	ir_br(w->b, C_EQ, get(w, ST(vma_ops)), opnd_imm(0), done, special);
	ir_place(w->b, special);
	ir_br(w->b, C_EQ, start, opnd_reg(get(w, ST(vma_vdso))), has_file, other);
	ir_place(w->b, other);
	set(w, ST(map.index), opnd_imm(UNWIND_FOR_UPROBES));
	ir_jmp(w->b, done);

	ir_place(w->b, has_file);
	file = lookup(w, w->maps->files, ST(file), no_tables);
	off = ir_alu(w->b, IR_ADD, ir_alu(w->b, IR_SUB, pc, opnd_reg(get(w, ST(map.start)))),
		     opnd_reg(ir_alu(w->b, IR_SHL, get(w, ST(vma_off)), opnd_imm(PAGE_SHIFT))));
	for (u32 i = 0; i < UNWIND_TABLES; i++) {
		struct ir_block *in = new_block(w), *next = new_block(w);
		u32 at = offsetof(struct unwind_file, tables[i]);
		vreg in_table = ir_alu(w->b, IR_SUB, off,
				       opnd_reg(ir_load(w->b, file, at + offsetof(struct unwind_table, off), 8)));

		ir_br(w->b, C_ULT, in_table, opnd_reg(ir_load(w->b, file, at + offsetof(struct unwind_table, size), 8)), in,
		      next);
		ir_place(w->b, in);
		set(w, ST(map.bias),
		    opnd_reg(ir_alu(w->b, IR_ADD, ir_alu(w->b, IR_SUB, pc, opnd_reg(off)),
				    opnd_reg(ir_load(w->b, file, at + offsetof(struct unwind_table, base), 8)))));
		set(w, ST(map.index),
		    opnd_reg(ir_load(w->b, file, at + offsetof(struct unwind_table, index), 8))); /* and blocks */
		ir_jmp(w->b, done);
		ir_place(w->b, next);
	}
	ir_jmp(w->b, done);
	ir_place(w->b, done);
}

/* The mapping of pc, to state.map: that of the previous iteration, or from our tables, or from the kernel. */
static void know_mapping(const struct body *w, vreg pc, u32 slot)
{
	struct ir_block *found = new_block(w), *look = new_block(w), *unknown = new_block(w);
	struct vma_layout v;

	ir_br(w->b, C_ULT, ir_alu(w->b, IR_SUB, pc, opnd_reg(get(w, ST(map.start)))), opnd_reg(get(w, ST(map.len))), found, look);
	ir_place(w->b, look);
	find_mapping(w, pc, unknown);
	ir_jmp(w->b, found);
	ir_place(w->b, unknown);
	if (find_vma_layout(w->l, &v))
		ask_mapping(w, pc, slot, &v);
	else
		ir_jmp(w->b, end_with(w, WHY_MAPPING));
	ir_jmp(w->b, found);
	ir_place(w->b, found);
}

static bool find_return_layout(const struct lower *l, struct return_layout *r)
{
	static const char instance[] = "return_instance";
	struct type_source *src = target_types(l->c->target);

	return src && type_path(src, "task_struct", TYPE_PATH("utask"), &r->utask, NULL) &&
		type_path(src, "uprobe_task", TYPE_PATH("return_instances"), &r->instances, NULL) &&
		type_path(src, instance, TYPE_PATH("stack"), &r->stack, NULL) &&
		type_path(src, instance, TYPE_PATH("orig_ret_vaddr"), &r->orig_ret_vaddr, NULL) &&
		type_path(src, instance, TYPE_PATH("next"), &r->next, NULL);
}

/* One iteration of the search for the function whose return address was on top of the stack. */
static const struct ir_func *lower_on_instance(const struct body *w, u32 slot, const struct return_layout *r)
{
	struct lower *l = w->l;
	struct body on = *w;
	struct lower_body body;
	struct ir_block *found, *not_found;
	vreg args[2], instance;

	lower_body_begin(l, &body, args, 2);
	on.st = ir_slot_addr(&l->b, slot, 0);
	on.stop = new_block(&on);
	found = new_block(&on);
	not_found = new_block(&on);
	instance = get(&on, ST(instance));
	require(&on, C_NE, instance, opnd_imm(0), on.stop);
	read_kernel(&on, instance, r->stack, 8, ST(read));
	ir_br(&l->b, C_EQ, get(&on, ST(read)), opnd_reg(ir_alu(&l->b, IR_ADD, get(&on, ST(sp)), opnd_imm(-8))), found, not_found);
	ir_place(&l->b, not_found);
	read_kernel(&on, instance, r->next, 8, ST(instance));
	ir_ret(&l->b, opnd_imm(0));
	ir_place(&l->b, found);
	read_kernel(&on, instance, r->orig_ret_vaddr, 8, ST(returns_to));
	ir_jmp(&l->b, on.stop);
	ir_place(&l->b, on.stop);
	ir_ret(&l->b, opnd_imm(1));
	return lower_body_end(l);
}

/* A function with a uretprobe returns to the kernel's trampoline, which is at the start of a page; other calls rarely return to
 * such an address. The kernel has a record of the original return address. */
static void leave_trampoline(const struct body *w, vreg ip, u32 slot)
{
	struct ir_block *other = new_block(w);
	struct return_layout r;
	const struct ir_func *f;

	if (!find_return_layout(w->l, &r))
		return;
	require(w, C_EQ, ir_alu(w->b, IR_AND, ip, opnd_imm((1 << PAGE_SHIFT) - 1)), opnd_imm(0), other);
	f = lower_on_instance(w, slot, &r);
	set(w, ST(returns_to), opnd_imm(0));
	read_kernel(w, ir_plain(w->b, ir_call(w->b, HELPER_get_current_task_btf, NULL, 0)), r.utask, 8, ST(instance));
	read_kernel(w, get(w, ST(instance)), r.instances, 8, ST(instance));
	ir_call_of(w->b, HELPER_loop, opnd_imm(RETURNS_MAX), opnd_reg(ir_func_addr(w->b, f)), opnd_reg(lower_body_frame(w->l)),
		   opnd_imm(0));
	ip = get(w, ST(returns_to));
	require(w, C_NE, ip, opnd_imm(0), other);
	/* The same frame again, with the address that it should have had. */
	set(w, ST(ip), opnd_reg(ip));
	set(w, ST(cnt), opnd_reg(ir_alu(w->b, IR_ADD, get(w, ST(cnt)), opnd_imm(-1))));
	ir_ret(w->b, opnd_imm(0));
	ir_place(w->b, other);
}

/* The row for pc; goes to no_table where there is none. */
static vreg find_row(const struct body *w, vreg pc, struct ir_block *no_table)
{
	struct ir_block *lost = end_with(w, WHY_TABLE);
	vreg rel = ir_alu(w->b, IR_SUB, pc, opnd_reg(get(w, ST(map.bias)))),
	     block = ir_alu(w->b, IR_SHR, rel, opnd_imm(UNWIND_BLOCK_BITS));
	struct sorted rows = { .stride = 8, .size = 1, .off_max = UNWIND_CHUNK_SZ - 8 };
	vreg entry, last, low, chunk, off;

	require(w, C_ULT, block, opnd_reg(ir_load(w->b, w->st, ST(map.blocks), 4)), no_table);
	chunk = ir_alu(w->b, IR_ADD, ir_load(w->b, w->st, ST(map.index), 4),
		       opnd_reg(ir_alu(w->b, IR_SHR, block, opnd_imm(UNWIND_ENTRY_BITS))));
	set(w, ST(chunk), opnd_reg(chunk));
	chunk = lookup(w, w->maps->chunks, ST(chunk), lost);
	off = ir_alu(w->b, IR_SHL, ir_alu(w->b, IR_AND, block, opnd_imm(UNWIND_ENTRIES - 1)), opnd_imm(2));
	entry = ir_load(w->b, ir_alu(w->b, IR_ADD, chunk, opnd_reg(off)), 0, 4);
	last = ir_alu(w->b, IR_SHR, entry, opnd_imm(UNWIND_POS_BITS));
	entry = ir_alu(w->b, IR_AND, entry, opnd_imm((1 << UNWIND_POS_BITS) - 1));
	rows.first = ir_alu(w->b, IR_SHL, ir_alu(w->b, IR_AND, entry, opnd_imm((1 << UNWIND_ROW_BITS) - 1)), opnd_imm(3));
	set(w, ST(chunk), opnd_reg(ir_alu(w->b, IR_SHR, entry, opnd_imm(UNWIND_ROW_BITS))));
	rows.base = lookup(w, w->maps->chunks, ST(chunk), lost);
	low = ir_alu(w->b, IR_AND, rel, opnd_imm(UNWIND_BLOCK - 1));
	return ir_load(w->b, search(w, &rows, UNWIND_BLOCK / 2, last, low, lost), 0, 8);
}

/* By the frame pointer: it points to the caller's frame pointer, and the return address is above that. */
static void follow_frame_pointer(const struct body *w, struct ir_block *failed)
{
	struct ir_block *no_frame = end_with(w, WHY_FRAME), *stepped = end_with(w, WHY_STEPPED);
	vreg bp = get(w, ST(bp));

	require(w, C_NE, get(w, ST(map.index)), opnd_imm(UNWIND_FOR_UPROBES), stepped);
	require(w, C_NE, bp, opnd_imm(0), w->stop); /* as the start of a program leaves it */
	require(w, C_UGE, bp, opnd_reg(get(w, ST(sp))), no_frame);
	read_user(w, bp, 16, failed);
	set(w, ST(sp), opnd_reg(ir_alu(w->b, IR_ADD, bp, opnd_imm(16))));
	set(w, ST(bp), opnd_reg(get(w, ST(read[0]))));
	set(w, ST(ip), opnd_reg(get(w, ST(read[1]))));
	ir_jmp(w->b, w->next);
}

/* Out of a signal handler: to where the thread was interrupted. */
static void follow_signal(const struct body *w, struct ir_block *failed)
{
	read_user(w, ir_alu(w->b, IR_ADD, get(w, ST(sp)), opnd_imm(SIGNAL_BP)), SIGNAL_IP + 8 - SIGNAL_BP, failed);
	set(w, ST(bp), opnd_reg(get(w, ST(read))));
	set(w, ST(sp), opnd_reg(get(w, ST(read) + SIGNAL_SP - SIGNAL_BP)));
	set(w, ST(ip), opnd_reg(get(w, ST(read) + SIGNAL_IP - SIGNAL_BP)));
	set(w, ST(back), opnd_imm(0));
	ir_ret(w->b, opnd_imm(0));
}

static vreg row_bits(const struct body *w, vreg row, u32 at, u32 cnt)
{
	return ir_alu(w->b, IR_AND, ir_alu(w->b, IR_SHR, row, opnd_imm(at)), opnd_imm((1 << cnt) - 1));
}

static vreg row_offset(const struct body *w, vreg row, u32 at, u32 cnt)
{
	return ir_alu(w->b, IR_SAR, ir_alu(w->b, IR_SHL, row, opnd_imm(64 - at - cnt)), opnd_imm(64 - cnt));
}

/* Where the caller's stack begins, by the row's kind. */
static vreg find_cfa(const struct body *w, vreg row, struct ir_block *no_table, struct ir_block *failed)
{
	struct ir_block *is[CFI_OTHER + 1], *done = new_block(w), *later = new_block(w), *other = end_with(w, WHY_RULE);
	vreg kind = row_bits(w, row, UNWIND_CFA, 4), off = row_offset(w, row, UNWIND_CFA_OFF, 32), cfa = ir_vreg(w->b->f), pc;

	is[CFI_NONE] = no_table;
	is[CFI_END] = w->stop;
	is[CFI_OTHER] = other;
	for (u32 i = CFI_SP; i <= CFI_SIGNAL; i++)
		is[i] = new_block(w);
	for (u32 i = CFI_SP; i < CFI_OTHER; i++) {
		struct ir_block *no = new_block(w);

		ir_br(w->b, C_EQ, kind, opnd_imm(i), is[i], no);
		ir_place(w->b, no);
	}
	ir_br(w->b, C_EQ, kind, opnd_imm(CFI_NONE), no_table, other);

	ir_place(w->b, is[CFI_SP]);
	ir_alu_to(w->b, IR_ADD, cfa, get(w, ST(sp)), opnd_reg(off));
	ir_jmp(w->b, done);

	ir_place(w->b, is[CFI_BP]);
	ir_alu_to(w->b, IR_ADD, cfa, get(w, ST(bp)), opnd_reg(off));
	ir_jmp(w->b, done);

	ir_place(w->b, is[CFI_BP_DEREF]);
	read_user(w, ir_alu(w->b, IR_ADD, get(w, ST(bp)), opnd_reg(off)), 8, failed);
	ir_mov_to(w->b, cfa, opnd_reg(get(w, ST(read))));
	ir_jmp(w->b, done);

	ir_place(w->b, is[CFI_PLT]);
	ir_alu_to(w->b, IR_ADD, cfa, get(w, ST(sp)), opnd_reg(off));
	pc = ir_alu(w->b, IR_AND, get(w, ST(ip)), opnd_imm(15));
	ir_br(w->b, C_ULT, pc, opnd_reg(row_offset(w, row, UNWIND_BP_OFF, 16)), done, later);
	ir_place(w->b, later);
	ir_alu_to(w->b, IR_ADD, cfa, cfa, opnd_imm(8));
	ir_jmp(w->b, done);

	ir_place(w->b, is[CFI_SIGNAL]);
	follow_signal(w, failed);

	ir_place(w->b, done);
	/* The stack grows down. If the caller's stack pointer is lower, an earlier step was wrong. */
	require(w, C_UGT, cfa, opnd_reg(get(w, ST(sp))), other);
	return cfa;
}

/* The caller's registers; sp last, because the location of the frame pointer may depend on its old value. */
static void find_caller(const struct body *w, vreg row, vreg cfa, struct ir_block *failed)
{
	struct ir_block *at_cfa = new_block(w), *not_cfa = new_block(w), *at_bp = new_block(w), *not_bp = new_block(w),
			*lost = new_block(w), *read = new_block(w), *done = new_block(w);
	vreg kind = row_bits(w, row, UNWIND_BP, 4), off = row_offset(w, row, UNWIND_BP_OFF, 16), from = ir_vreg(w->b->f);

	set(w, ST(sp), opnd_reg(cfa));
	read_user(w, ir_alu(w->b, IR_ADD, cfa, opnd_imm(-8)), 8, failed);
	set(w, ST(ip), opnd_reg(get(w, ST(read))));
	ir_br(w->b, C_EQ, kind, opnd_imm(CFI_BP_AT), at_cfa, not_cfa);
	ir_place(w->b, at_cfa);
	ir_alu_to(w->b, IR_ADD, from, cfa, opnd_reg(off));
	ir_jmp(w->b, read);
	ir_place(w->b, not_cfa);
	ir_br(w->b, C_EQ, kind, opnd_imm(CFI_BP_AT_BP), at_bp, not_bp);
	ir_place(w->b, at_bp);
	ir_alu_to(w->b, IR_ADD, from, get(w, ST(bp)), opnd_reg(off));
	ir_jmp(w->b, read);
	ir_place(w->b, read);
	read_user(w, from, 8, failed);
	set(w, ST(bp), opnd_reg(get(w, ST(read))));
	ir_jmp(w->b, done);
	ir_place(w->b, not_bp);
	ir_br(w->b, C_EQ, kind, opnd_imm(CFI_BP_LOST), lost, done);
	ir_place(w->b, lost);
	set(w, ST(bp), opnd_imm(0));
	ir_jmp(w->b, done);
	ir_place(w->b, done);
	ir_jmp(w->b, w->next);
}

/* ---- the loop ---- */

static void lower_round(struct body *w, u32 slot)
{
	struct ir_block *no_table = new_block(w), *failed;
	vreg cnt = get(w, ST(cnt)), ip = get(w, ST(ip)), pc, row;

	w->stop = new_block(w);
	w->next = new_block(w);
	failed = end_with(w, WHY_READ);
	require(w, C_ULT, cnt, opnd_imm(w->limit), w->stop);
	ir_store(w->b, ir_alu(w->b, IR_ADD, w->st, opnd_reg(ir_alu(w->b, IR_SHL, cnt, opnd_imm(3)))), ST(frames), 8,
		 opnd_reg(ip));
	set(w, ST(cnt), opnd_reg(ir_alu(w->b, IR_ADD, cnt, opnd_imm(1))));
	leave_trampoline(w, ip, slot);
	require(w, C_NE, cnt, opnd_imm(w->limit - 1), w->stop);
	pc = ir_alu(w->b, IR_SUB, ip, opnd_reg(get(w, ST(back))));
	know_mapping(w, pc, slot);
	row = find_row(w, pc, no_table);
	find_caller(w, row, find_cfa(w, row, no_table, failed), failed);
	ir_place(w->b, no_table);
	follow_frame_pointer(w, failed);
	ir_place(w->b, w->next);
	set(w, ST(back), opnd_imm(1));
	require(w, C_NE, get(w, ST(ip)), opnd_imm(0), w->stop);
	ir_ret(w->b, opnd_imm(0));
	ir_place(w->b, w->stop);
	ir_ret(w->b, opnd_imm(1));
}

/* The maps of the tables, once for the script. */
static const struct image_unwind *tables(struct lower *l)
{
	struct image *img = l->image;

	if (!img->unwind.chunks) {
		img->unwind.chunks = img->maps.cnt;
		avec_push(l->c->arena, &img->maps,
			  (struct image_map){ .name = "sonde_unwind",
					      .type = BPF_MAP_TYPE_HASH,
					      .key_sz = 8,
					      .value_sz = UNWIND_CHUNK_SZ,
					      .max_entries = UNWIND_CHUNKS_MAX,
					      .flags = BPF_F_NO_PREALLOC });
		img->unwind.procs = img->maps.cnt;
		avec_push(l->c->arena, &img->maps,
			  (struct image_map){ .name = "sonde_mapped",
					      .type = BPF_MAP_TYPE_HASH,
					      .key_sz = sizeof(struct unwind_part_key),
					      .value_sz = sizeof(struct unwind_part),
					      .max_entries = UNWIND_PROCS_MAX,
					      .flags = BPF_F_NO_PREALLOC });
		img->unwind.files = img->maps.cnt;
		avec_push(l->c->arena, &img->maps,
			  (struct image_map){ .name = "sonde_files",
					      .type = BPF_MAP_TYPE_HASH,
					      .key_sz = sizeof(struct unwind_file_key),
					      .value_sz = sizeof(struct unwind_file),
					      .max_entries = UNWIND_FILES_MAX,
					      .flags = BPF_F_NO_PREALLOC });
	}
	return &img->unwind;
}

static const struct lower_walk *find_walk(struct lower *l, u32 limit)
{
	struct body w = { .l = l, .b = &l->b, .limit = limit, .maps = tables(l) };
	struct lower_walk *walk;
	struct lower_body body;
	vreg args[2];

	vec_for(it, &l->walks)
		if ((*it)->limit == limit)
			return *it;
	walk = arena_new(l->c->arena, struct lower_walk);
	walk->limit = limit;
	/* In use from the program's start to its end: it is called from several places. */
	walk->slot = ir_slot_new_since(l->b.f, sizeof(struct state) + 8 * limit, 8, 0);
	lower_body_begin(l, &body, args, 2);
	w.st = ir_slot_addr(&l->b, walk->slot, 0);
	lower_round(&w, walk->slot);
	walk->body = lower_body_end(l);
	avec_push(l->c->arena, &l->walks, walk);
	return walk;
}

/* Counts the failures at this place of the script, each reason separately. */
static void tell_why(struct lower *l, struct span at, vreg why)
{
	struct ir_block *done = ir_block_new(l->b.f), *bad = ir_block_new(l->b.f);
	u32 mark = lower_mark(l);

	ir_br(&l->b, C_EQ, why, opnd_imm(WHY_NOT), done, bad);
	ir_place(&l->b, bad);
	for (u32 i = WHY_NOT + 1; i < WHY_CNT; i++) {
		struct ir_block *yes = ir_block_new(l->b.f), *no = ir_block_new(l->b.f);

		ir_br(&l->b, C_EQ, why, opnd_imm(i), yes, no);
		ir_place(&l->b, yes);
		lower_runtime_error(l, at, why_text[i]);
		ir_jmp(&l->b, done);
		ir_place(&l->b, no);
	}
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	lower_forget(l, mark);
}

vreg lower_unwind(struct lower *l, struct span at, struct mem to, u32 limit)
{
	const struct lower_walk *walk = find_walk(l, limit);
	struct ir_block *user = ir_block_new(l->b.f), *never = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	struct body w = { .l = l, .b = &l->b, .limit = limit };
	vreg regs, bytes = ir_vreg(l->b.f), err;

	w.st = ir_slot_addr(&l->b, walk->slot, 0);
	ir_store(&l->b, w.st, ST(key.pid), 4, opnd_reg(lower_pid(l)));
	ir_mov_to(&l->b, bytes, opnd_imm(0));
	lower_zero(l, to, 8 * limit);
	regs = ir_plain(&l->b,
			ir_call_of(&l->b, HELPER_task_pt_regs, opnd_reg(ir_call(&l->b, HELPER_get_current_task_btf, NULL, 0))));
	err = ir_call_of(&l->b, HELPER_probe_read_kernel, opnd_reg(ir_alu(&l->b, IR_ADD, w.st, opnd_imm(ST(read)))),
			 opnd_imm(REGS_SZ), opnd_reg(ir_alu(&l->b, IR_ADD, regs, opnd_imm(REGS_FIRST))));
	require(&w, C_EQ, err, opnd_imm(0), done);
	/* Threads of the kernel have no user registers. */
	ir_br(&l->b, C_SET, get(&w, ST(read) + REGS_CS - REGS_FIRST), opnd_imm(3), user, done);
	ir_place(&l->b, user);
	set(&w, ST(ip), opnd_reg(get(&w, ST(read) + REGS_IP - REGS_FIRST)));
	set(&w, ST(sp), opnd_reg(get(&w, ST(read) + REGS_SP - REGS_FIRST)));
	set(&w, ST(bp), opnd_reg(get(&w, ST(read) + REGS_BP - REGS_FIRST)));
	set(&w, ST(cnt), opnd_imm(0));
	set(&w, ST(back), opnd_imm(0));
	set(&w, ST(why), opnd_imm(WHY_NOT));
	set(&w, ST(map.len), opnd_imm(0));
	lower_body_loop(l, opnd_imm(2 * limit), walk->body, 2); /* a frame that leads to a trampoline takes two iterations */
	tell_why(l, at, get(&w, ST(why)));
	ir_alu_to(&l->b, IR_SHL, bytes, get(&w, ST(cnt)), opnd_imm(3));
	require(&w, C_ULE, bytes, opnd_imm(8 * limit), never); /* always */
	ir_call_of(&l->b, HELPER_probe_read_kernel, opnd_reg(lower_addr(l, to)), opnd_reg(bytes),
		   opnd_reg(ir_alu(&l->b, IR_ADD, w.st, opnd_imm(ST(frames)))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, never);
	ir_mov_to(&l->b, bytes, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return bytes;
}
