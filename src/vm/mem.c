/* SPDX-License-Identifier: GPL-2.0-only */
/* Which memory a program may touch, and how.
 *
 * An address is looked for in the stack frames, the context, the ring records that the run has reserved, the maps and the extra
 * regions, in this order. Neighbouring objects have guards between them (map elements, frames), so an access that runs off the
 * end of its object is found although registers do not remember which object they point to.
 */
#include "vm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

static bool within(u64 addr, u32 size, u64 start, u64 len)
{
	return addr >= start && addr - start <= len && size <= len - (addr - start);
}

static bool overlaps(u64 addr, u64 start, u64 len)
{
	return addr >= start && addr - start < len;
}

/* The kernel gives one program 512 bytes for all frames of a call chain, each rounded up. */
static bool grow_stack(struct vm_run *r, struct vm_frame *f, u32 used)
{
	u32 sum = 0;

	f->used = used;
	for (u32 i = 0; i <= r->depth; i++)
		sum += ALIGN_UP(MAX(r->frames[i].used, 1u), 32);
	if (sum > MAX_BPF_STACK) {
		vm_fail(r, "the %u frames of this call chain use %u bytes of stack together, 512 is the limit", r->depth + 1,
			sum);
		return false;
	}
	return true;
}

static u8 *stack_access(struct vm_run *r, u32 depth, u64 addr, u32 size, enum vm_access acc)
{
	struct vm_frame *f = &r->frames[depth];
	s64 from_top = (s64)(addr - (u64)(f->mem + MAX_BPF_STACK));
	u32 off = MAX_BPF_STACK + from_top;

	if (!within(addr, size, (u64)f->mem, MAX_BPF_STACK)) {
		vm_fail(r, "%u bytes at r10%+lld of frame %u are outside of its 512 bytes of stack", size, (long long)from_top,
			depth);
		return NULL;
	}
	if ((acc == VM_LOAD || acc == VM_STORE || acc == VM_ATOMIC) && off % size) {
		vm_fail(r, "misaligned stack access: %u bytes at r10%+lld", size, (long long)from_top);
		return NULL;
	}
	if (acc == VM_STORE || acc == VM_OUT)
		memset(f->is_init + off, 1, size);
	for (u32 i = 0; i < size; i++) {
		if (!f->is_init[off + i]) {
			vm_fail(r, "stack byte r10%+lld of frame %u is read but was never written (%u bytes at r10%+lld)",
				(long long)(from_top + i), depth, size, (long long)from_top);
			return NULL;
		}
	}
	if (MAX_BPF_STACK - off > f->used && !grow_stack(r, f, MAX_BPF_STACK - off))
		return NULL;
	return f->mem + off;
}

static u8 *map_access(struct vm_run *r, struct vm_map *m, u64 addr, u32 size, enum vm_access acc)
{
	bool write = acc == VM_STORE || acc == VM_ATOMIC || acc == VM_OUT;
	const char *why = vm_map_locate(m, addr, size, write);

	if (why) {
		vm_fail(r, "%s: %u bytes at offset %llu of map %s", why, size, (unsigned long long)(addr - (u64)m->mem),
			m->def.name);
		return NULL;
	}
	return (u8 *)addr;
}

static u8 *ctx_access(struct vm_run *r, u64 addr, u32 size, enum vm_access acc)
{
	u64 off = addr - (u64)r->ctx;

	if (acc == VM_ATOMIC || ((acc == VM_STORE || acc == VM_OUT) && !r->ctx_writable)) {
		vm_fail(r, "the context is written to, at offset %llu", (unsigned long long)off);
		return NULL;
	}
	if ((acc == VM_LOAD || acc == VM_STORE) && off % size) {
		vm_fail(r, "misaligned context access: %u bytes at offset %llu", size, (unsigned long long)off);
		return NULL;
	}
	return (u8 *)addr;
}

static u8 *lookup(struct vm_run *r, u64 addr, u32 size, enum vm_access acc)
{
	u32 want = acc == VM_LOAD || acc == VM_IN ? VM_REGION_READ :
		acc == VM_ATOMIC                  ? VM_REGION_READ | VM_REGION_WRITE :
						    VM_REGION_WRITE;

	for (u32 i = r->depth + 1; i-- > 0;) {
		const struct vm_frame *f = &r->frames[i];

		if (overlaps(addr, (u64)f->guard, offsetof(struct vm_frame, is_init)))
			return stack_access(r, i, addr, size, acc);
	}
	if (within(addr, size, (u64)r->ctx, r->ctx_sz))
		return ctx_access(r, addr, size, acc);
	vec_for(res, &r->reservations)
		if (within(addr, size, (u64)res->data, res->size) && (res->ring || want == VM_REGION_READ))
			return (u8 *)addr;
	vec_for(m, &r->vm->maps)
		if (overlaps(addr, (u64)(*m)->mem, (*m)->mem_sz))
			return map_access(r, *m, addr, size, acc);
	vec_for(g, &r->vm->regions)
		if (within(addr, size, g->addr, g->size) && (g->flags & want) == want)
			return g->host + (addr - g->addr);
	vm_fail(r, "%s of %u bytes at 0x%llx%s, which the program may not touch",
		acc == VM_LOAD || acc == VM_IN ? "read" : "write", size, (unsigned long long)addr,
		addr < 4096 ? " (a NULL pointer?)" : "");
	return NULL;
}

u8 *vm_access(struct vm_run *r, u64 addr, u32 size, enum vm_access acc)
{
	u8 *p = lookup(r, addr, size, acc);

	if (p && acc == VM_ATOMIC && addr % size) {
		vm_fail(r, "misaligned atomic access: %u bytes at 0x%llx", size, (unsigned long long)addr);
		return NULL;
	}
	return p;
}

bool vm_is_internal(const struct vm_run *r, u64 addr)
{
	if (overlaps(addr, (u64)r->frames, sizeof(r->frames)))
		return true;
	vec_for(m, &r->vm->maps)
		if (overlaps(addr, (u64)(*m)->mem, (*m)->mem_sz))
			return true;
	return false;
}

/* Memory of this process that may not be mapped. process_vm_readv() answers EFAULT where a load would kill us; where a sandbox
 * forbids it, /proc/self/mem does the same. */
static bool read_self(void *dst, u64 addr, u32 size)
{
	struct iovec to = { dst, size }, from = { (void *)addr, size };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	int fd;

	if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
		fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return false;
		n = pread(fd, dst, size, (off_t)addr);
		close(fd);
	}
	return n == (ssize_t)size;
}

/* Reads up to size bytes that lie in one piece. Returns how many, 0: none can be read. */
static u32 probe_piece(struct vm_run *r, void *dst, u64 addr, u32 size, u32 spaces)
{
	u32 to_page_end = 4096 - (addr & 4095);

	vec_for(g, &r->vm->regions) {
		if (!overlaps(addr, g->addr, g->size))
			continue;
		if (!(g->flags & spaces))
			return 0;
		size = MIN((u64)size, g->size - (addr - g->addr));
		memcpy(dst, g->host + (addr - g->addr), size);
		return size;
	}
	if (!(spaces & VM_REGION_KERNEL) && vm_is_internal(r, addr))
		return 0;
	/* Page by page, because a string may end before a page that is not there. */
	size = MIN(size, to_page_end);
	return read_self(dst, addr, size) ? size : 0;
}

/* x86 tells a kernel read of an address that cannot be the kernel's from one that failed. */
static int probe_error(u64 addr, u32 spaces)
{
	return !(spaces & VM_REGION_USER) && addr >> 47 != 0x1ffff ? -ERANGE : -EFAULT;
}

int vm_probe(struct vm_run *r, void *dst, u64 addr, u32 size, u32 spaces)
{
	while (size) {
		u32 n = probe_piece(r, dst, addr, size, spaces);

		if (!n)
			return probe_error(addr, spaces);
		dst = (u8 *)dst + n;
		addr += n;
		size -= n;
	}
	return 0;
}

int vm_probe_str(struct vm_run *r, char *dst, u64 addr, u32 size, u32 spaces)
{
	u32 len = 0;

	if (!size)
		return 0;
	while (len < size) {
		char piece[256], *nul;
		u32 n = probe_piece(r, piece, addr + len, MIN(size - len, sizeof(piece)), spaces);

		if (!n)
			return probe_error(addr + len, spaces);
		nul = memchr(piece, 0, n);
		if (nul)
			n = nul - piece + 1;
		memcpy(dst + len, piece, n);
		len += n;
		if (nul)
			return len;
	}
	dst[size - 1] = 0;
	return size;
}

void vm_region_add(struct vm *vm, u64 addr, void *host, u64 size, u32 flags)
{
	vec_push(&vm->regions, (struct vm_region){ addr, size, host, flags });
}

void vm_region_drop(struct vm *vm, u64 addr)
{
	for (u32 i = 0; i < vm->regions.cnt; i++) {
		if (vm->regions.at[i].addr == addr) {
			vm->regions.at[i] = vm->regions.at[--vm->regions.cnt];
			return;
		}
	}
}
